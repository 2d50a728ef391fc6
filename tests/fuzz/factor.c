/*
 * Import: bytes become a gpusolve_factor_data whose arrays are as long as the header says that they may be read,
 * and no longer. What is refused says why and leaves nothing behind. What is accepted solves: with L, L' and D
 * as the arrays say, to rounding; the same bits with one column and with three; the same bits after a refresh
 * with the same numbers and after one that was refused.
 *
 *      byte 0  kind (2 bits), dtype (2), itype, imaginary parts of their own, perm, nz
 *      byte 1  in place, minor differs from n, which index changes before the last refresh (6 bits; the last of
 *              them also allows any fill)
 *      n, nsuper or p's last, ssize, xsize, then the arrays: fuzz_index and fuzz_number a number
 */
#include "bytes.h"

#include <complex.h>
#include <float.h>
#include <string.h>

#include "gpusolve.h"
#include "memory.h"

enum { MOST_ROWS = 24, MOST_NUMBERS = 160, COLUMNS = 3 };

typedef struct shape {
    int64_t count[8]; /* entries of perm, super, pi, px, s, p, i, nz */
} shape;

static const void **array_of(gpusolve_factor_data *data, int which) {
    const void **arrays[] = {&data->perm, &data->super, &data->pi, &data->px,
                             &data->s,    &data->p,     &data->i,  &data->nz};
    return arrays[which];
}

static int is_complex(const gpusolve_factor_data *data) {
    return data->dtype == GPUSOLVE_COMPLEX_FLOAT || data->dtype == GPUSOLVE_COMPLEX_DOUBLE;
}

static int is_single(const gpusolve_factor_data *data) {
    return data->dtype == GPUSOLVE_FLOAT || data->dtype == GPUSOLVE_COMPLEX_FLOAT;
}

/* -------------------------------------------------------------------------------- from bytes to arrays --- */

static int64_t get_index(const gpusolve_factor_data *data, const void *array, int64_t k) {
    return data->itype == GPUSOLVE_INT64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static void set_index(const gpusolve_factor_data *data, const void *array, int64_t k, int64_t value) {
    void *to = (void *)(uintptr_t)array;
    if (data->itype == GPUSOLVE_INT64)
        ((int64_t *)to)[k] = value;
    else
        ((int32_t *)to)[k] = (int32_t)value;
}

static void *make_indices(const gpusolve_factor_data *data, int64_t count, fuzz_bytes *from) {
    void *array = fuzz_array(count, data->itype == GPUSOLVE_INT64 ? 8 : 4);
    for (int64_t k = 0; k < count; k++)
        set_index(data, array, k, fuzz_index(from));
    return array;
}

static void *make_numbers(const gpusolve_factor_data *data, int64_t count, fuzz_bytes *from) {
    void *array = fuzz_array(count, is_single(data) ? 4 : 8);
    for (int64_t k = 0; k < count; k++)
        if (is_single(data))
            ((float *)array)[k] = (float)fuzz_number(from);
        else
            ((double *)array)[k] = fuzz_number(from);
    return array;
}

/* A size that the arrays have. An order beyond 2^31 - 1 is said as well, with arrays that nobody may read. */
static int64_t make_size(fuzz_bytes *from, int64_t most, int is_order, int64_t *entries) {
    const int64_t size = fuzz_index(from);
    const int64_t said = size <= most || (is_order && size > INT32_MAX) ? size : size % (most + 1);
    *entries = said > most || said < 0 ? 0 : said;
    return said;
}

static gpusolve_factor_data make_data(fuzz_bytes *from, shape *has, int *change) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    const uint8_t first = fuzz_byte(from), second = fuzz_byte(from);
    int64_t rows, supernodes, entries, numbers;
    data.kind = (gpusolve_factor_kind)(first & 3);
    data.dtype = (gpusolve_dtype)(first >> 2 & 3);
    data.itype = (gpusolve_itype)(first >> 4 & 1);
    data.in_place = second & 1;
    data.allow_fill = second >> 7;
    *change = second >> 2;
    data.n = make_size(from, MOST_ROWS, 1, &rows);
    data.nsuper = make_size(from, MOST_ROWS, 0, &supernodes);
    data.ssize = make_size(from, MOST_NUMBERS, 0, &entries);
    data.xsize = make_size(from, MOST_NUMBERS, 0, &numbers);
    data.minor = second & 2 ? fuzz_index(from) : data.n;
    memset(has, 0, sizeof *has);
    if (first & 64)
        data.perm = make_indices(&data, has->count[0] = rows, from);
    if (data.kind == GPUSOLVE_SUPERNODAL_LL) {
        const int64_t pointers = data.nsuper >= 0 ? supernodes + 1 : 0;
        data.super = make_indices(&data, has->count[1] = pointers, from);
        data.pi = make_indices(&data, has->count[2] = pointers, from);
        data.px = make_indices(&data, has->count[3] = pointers, from);
        data.s = make_indices(&data, has->count[4] = entries, from);
    } else {
        const int64_t pointers = data.n >= 0 && data.n <= MOST_ROWS ? rows + 1 : 0;
        data.p = make_indices(&data, has->count[5] = pointers, from);
        const int64_t last = pointers ? get_index(&data, data.p, pointers - 1) : 0;
        data.i = make_indices(&data, has->count[6] = last < 0 || last > numbers ? numbers : last, from);
        if (first & 128)
            data.nz = make_indices(&data, has->count[7] = rows, from);
    }
    const int split = is_complex(&data) && (first & 32);
    data.x = make_numbers(&data, is_complex(&data) && !split ? 2 * numbers : numbers, from);
    data.z = split ? make_numbers(&data, numbers, from) : NULL;
    return data;
}

static void free_data(gpusolve_factor_data *data) {
    for (int k = 0; k < 8; k++)
        free((void *)(uintptr_t)*array_of(data, k));
    free((void *)(uintptr_t)data->x);
    free((void *)(uintptr_t)data->z);
}

/* --------------------------------------------------------------------------------------- what it means --- */

static double part_of(const gpusolve_factor_data *data, const void *array, int64_t k) {
    return is_single(data) ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* CMPLX, which clang 14 has not. */
static double complex complex_of(double re, double im) {
    const double parts[2] = {re, im};
    double complex number;
    memcpy(&number, parts, sizeof number);
    return number;
}

static double complex number_of(const gpusolve_factor_data *data, int64_t k) {
    if (!is_complex(data))
        return part_of(data, data->x, k);
    return data->z ? complex_of(part_of(data, data->x, k), part_of(data, data->z, k))
                   : complex_of(part_of(data, data->x, 2 * k), part_of(data, data->x, 2 * k + 1));
}

/* L and D of an accepted factor, in full. */
static void expand(const gpusolve_factor_data *data, double complex l[MOST_ROWS][MOST_ROWS],
                   double complex *d) {
    memset(l, 0, sizeof(double complex[MOST_ROWS][MOST_ROWS]));
    for (int64_t j = 0; j < data->n; j++)
        d[j] = 1;
    for (int64_t s = 0; data->kind == GPUSOLVE_SUPERNODAL_LL && data->n > 0 && s < data->nsuper; s++) {
        const int64_t first = get_index(data, data->super, s),
                      nc = get_index(data, data->super, s + 1) - first;
        const int64_t start = get_index(data, data->pi, s), nr = get_index(data, data->pi, s + 1) - start;
        for (int64_t c = 0; c < nc; c++)
            for (int64_t r = c; r < nr; r++)
                l[get_index(data, data->s, start + r)][first + c] =
                    number_of(data, get_index(data, data->px, s) + c * nr + r);
    }
    for (int64_t j = 0; data->kind != GPUSOLVE_SUPERNODAL_LL && j < data->n; j++) {
        const int64_t start = get_index(data, data->p, j);
        const int64_t end = data->nz ? start + get_index(data, data->nz, j) : get_index(data, data->p, j + 1);
        for (int64_t k = start; k < end; k++)
            l[get_index(data, data->i, k)][j] = number_of(data, k);
        if (data->kind == GPUSOLVE_SIMPLICIAL_LDL) {
            d[j] = l[j][j];
            l[j][j] = 1;
        }
    }
}

typedef struct block {
    double values[2 * MOST_ROWS * COLUMNS]; /* or floats */
} block;

static gpusolve_dense view(const gpusolve_factor_data *data, block *of, int64_t cols) {
    return (gpusolve_dense){data->dtype, GPUSOLVE_COL_MAJOR,        data->n,
                            cols,        data->n > 0 ? data->n : 1, of->values};
}

static double complex entry(const gpusolve_factor_data *data, const block *of, int64_t i, int64_t j) {
    const int64_t k = i + j * data->n;
    const void *values = of->values;
    return is_complex(data) ? complex_of(part_of(data, values, 2 * k), part_of(data, values, 2 * k + 1))
                            : part_of(data, values, k);
}

static void make_right_sides(const gpusolve_factor_data *data, block *b) {
    const int64_t count = data->n * COLUMNS * (is_complex(data) ? 2 : 1);
    for (int64_t k = 0; k < count; k++)
        if (is_single(data))
            ((float *)b->values)[k] = (float)(1 + k % 7);
        else
            b->values[k] = (double)(1 + k % 7);
}

/* norm(op(L) x - b) by rows; numbers near overflow or underflow prove nothing. */
static void check_triangle(const gpusolve_factor_data *data, double complex l[MOST_ROWS][MOST_ROWS],
                           int backward, const block *b, const block *x) {
    const double large = is_single(data) ? 1e12 : 1e100, eps = is_single(data) ? FLT_EPSILON : DBL_EPSILON;
    for (int64_t j = 0; j < COLUMNS; j++) {
        for (int64_t i = 0; i < data->n; i++)
            if (!(cabs(entry(data, x, i, j)) < large))
                return;
        for (int64_t i = 0; i < data->n; i++) {
            double complex sum = -entry(data, b, i, j);
            double size = cabs(sum);
            for (int64_t k = 0; k < data->n; k++) {
                const double complex a = backward ? conj(l[k][i]) : l[i][k];
                sum += a * entry(data, x, k, j);
                size += cabs(a) * cabs(entry(data, x, k, j));
            }
            FUZZ_CHECK(cabs(sum) <= 100 * eps * size + 1e-25 || !(size < large));
        }
    }
}

/* ---------------------------------------------------------------------------------------------- target --- */

static gpusolve_handle *handle;

static void solve(const gpusolve_factor_data *data, const gpusolve_factor *factor, gpusolve_system system,
                  block *b, block *x, int64_t cols) {
    const gpusolve_dense from = view(data, b, cols), to = view(data, x, cols);
    memset(x, 0xff, sizeof *x);
    FUZZ_CHECK(gpusolve_solve(handle, factor, NULL, system, &from, &to) == GPUSOLVE_OK);
}

/* One NaN is as good as another. */
static int same_bits(const gpusolve_factor_data *data, const block *x, const block *y, int64_t cols) {
    const size_t bytes = is_single(data) ? 4 : 8;
    const int64_t count = data->n * cols * (is_complex(data) ? 2 : 1);
    for (int64_t k = 0; k < count; k++)
        if (memcmp((const char *)x->values + (size_t)k * bytes, (const char *)y->values + (size_t)k * bytes,
                   bytes) != 0 &&
            !(isnan(part_of(data, x->values, k)) && isnan(part_of(data, y->values, k))))
            return 0;
    return 1;
}

/* Three of the nine systems, by the input: more inputs a second, and each system among them. */
static void check_solves(const gpusolve_factor_data *data, const gpusolve_factor *factor, int change,
                         block *b) {
    static double complex l[MOST_ROWS][MOST_ROWS], d[MOST_ROWS];
    block x, y;
    expand(data, l, d);
    for (int system = change % 3; system <= GPUSOLVE_Pt; system += 3) {
        solve(data, factor, (gpusolve_system)system, b, &x, COLUMNS);
        solve(data, factor, (gpusolve_system)system, b, &y, 1);
        FUZZ_CHECK(same_bits(data, &x, &y, 1));
        if (system == GPUSOLVE_L || system == GPUSOLVE_Lt)
            check_triangle(data, l, system == GPUSOLVE_Lt, b, &x);
        for (int64_t i = 0; i < data->n && system == GPUSOLVE_P; i++)
            FUZZ_CHECK(entry(data, &x, i, 2) ==
                       entry(data, b, data->perm ? get_index(data, data->perm, i) : i, 2));
    }
}

/* Same numbers; then numbers with a NaN; then a changed index: refused, it leaves the factor as it was. */
static void check_refreshes(gpusolve_factor_data *data, const shape *has, gpusolve_factor *factor, int change,
                            block *b) {
    block x, y;
    solve(data, factor, GPUSOLVE_A, b, &x, COLUMNS);
    FUZZ_CHECK(gpusolve_factor_refresh(handle, factor, data) == GPUSOLVE_OK);
    solve(data, factor, GPUSOLVE_A, b, &y, COLUMNS);
    FUZZ_CHECK(same_bits(data, &x, &y, COLUMNS));
    if (data->in_place || data->n == 0)
        return; /* the numbers are the caller's to keep; there are none */
    void *numbers = (void *)(uintptr_t)data->x;
    const int64_t at = change % (data->xsize > 0 ? data->xsize : 1) * (is_complex(data) && !data->z ? 2 : 1);
    if (data->xsize > 0) {
        const double old = part_of(data, numbers, at);
        if (is_single(data))
            ((float *)numbers)[at] = NAN;
        else
            ((double *)numbers)[at] = NAN;
        const gpusolve_status status = gpusolve_factor_refresh(handle, factor, data);
        FUZZ_CHECK(status == GPUSOLVE_OK ||
                   status == GPUSOLVE_NOT_FINITE); /* OK: it stands where nobody reads */
        if (is_single(data))
            ((float *)numbers)[at] = (float)old;
        else
            ((double *)numbers)[at] = old;
    }
    const int which = change % 8;
    if (has->count[which]) {
        const int64_t place = change / 8 % has->count[which];
        const void *array = *array_of(data, which);
        const int64_t old = get_index(data, array, place);
        /* A place that nobody reads may hold the least integer. */
        const uint64_t one = change & 1 ? 1 : UINT64_MAX;
        set_index(data, array, place, (int64_t)((uint64_t)old + one));
        const gpusolve_status status = gpusolve_factor_refresh(handle, factor, data);
        FUZZ_CHECK(status != GPUSOLVE_OUT_OF_MEMORY && status != GPUSOLVE_INTERNAL_ERROR);
        FUZZ_CHECK(status == GPUSOLVE_OK || gpusolve_last_error(handle)[0]);
        set_index(data, array, place, old);
        if (status == GPUSOLVE_OK)
            return;
    }
    solve(data, factor, GPUSOLVE_A, b, &y, COLUMNS);
    FUZZ_CHECK(same_bits(data, &x, &y, COLUMNS));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!handle) {
        gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
        options.backend = GPUSOLVE_BACKEND_HOST;
        options.threads = 1;
        FUZZ_CHECK(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    }
    fuzz_bytes from = {bytes, size};
    shape has;
    int change;
    gpusolve_factor_data data = make_data(&from, &has, &change);
    gpusolve_info info = {.size = sizeof info};
    gpusolve_factor *factor;
    block b;
    const int64_t live = gsv_live_allocations();
    const gpusolve_status queried = gpusolve_query(handle, &data, 2, &info);
    FUZZ_CHECK(gsv_live_allocations() == live);
    const gpusolve_status status = gpusolve_factor_create(handle, &data, &factor);
    FUZZ_CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (status == GPUSOLVE_OK) {
        FUZZ_CHECK(queried == GPUSOLVE_OK && data.n <= MOST_ROWS);
        make_right_sides(&data, &b);
        check_solves(&data, factor, change, &b);
        check_refreshes(&data, &has, factor, change, &b);
    } else {
        FUZZ_CHECK(gpusolve_last_error(handle)[0]);
        FUZZ_CHECK(status != GPUSOLVE_OUT_OF_MEMORY && status != GPUSOLVE_INTERNAL_ERROR);
        FUZZ_CHECK(gsv_live_allocations() == live);
    }
    gpusolve_factor_destroy(factor);
    if (status == GPUSOLVE_OK) { /* the handle's own workspaces go with it */
        gpusolve_destroy(handle);
        handle = NULL;
        FUZZ_CHECK(gsv_live_allocations() == 0);
    }
    free_data(&data);
    return 0;
}
