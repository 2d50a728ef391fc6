/*
 * Selections: bytes choose the pattern of a factor, a system, and rows of b and of x, sound or not. Wrong rows are
 * refused, and nothing else is. What a selection solves is what the whole solve gives in those rows, number by
 * number, before and after a refresh.
 *
 *      byte 0  n, 1 to 16           byte 1  dtype (2 bits), L D L' (1), a permutation (1)
 *      n (n - 1) / 2 bits: the lower triangle of A; L gets what fills in
 *      system, max_nrhs, columns, b_count and rows, x_count and rows
 */
#include "bytes.h"

#include <string.h>

#include "gpusolve_selection.h"
#include "memory.h"

enum { MOST = 16, COLUMNS = 4, ENTRIES = MOST * (MOST + 1) / 2 };

typedef struct factor_arrays {
    int32_t p[MOST + 1], i[ENTRIES], perm[MOST];
    double x[2 * ENTRIES];
    float single[2 * ENTRIES];
} factor_arrays;

typedef struct rows {
    int64_t count, row[MOST + 2];
    int all; /* NULL is passed */
} rows;

static gpusolve_handle *handle;

static size_t number_bytes(gpusolve_dtype dtype) {
    static const size_t bytes[] = {4, 8, 8, 16};
    return bytes[dtype];
}

/* The pattern of A, and what is between: (i, k) where (i, j) and (k, j) are, j < k < i. */
static void fill_in(int n, fuzz_bytes *from, uint8_t l[MOST][MOST]) {
    uint8_t bits = 0;
    int left = 0;
    memset(l, 0, MOST * MOST);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            if (!left && i > j) {
                bits = fuzz_byte(from);
                left = 8;
            }
            l[i][j] = i == j || (bits & 1);
            if (i > j) {
                bits >>= 1;
                left--;
            }
        }
    for (int j = 0; j < n; j++)
        for (int k = j + 1; k < n; k++)
            for (int i = k + 1; i < n; i++)
                l[i][k] |= l[i][j] & l[k][j];
}

static gpusolve_factor_data make_factor(fuzz_bytes *from, factor_arrays *a) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    const int n = 1 + fuzz_byte(from) % MOST;
    const uint8_t kind = fuzz_byte(from);
    uint8_t l[MOST][MOST];
    fill_in(n, from, l);
    data.dtype = (gpusolve_dtype)(kind & 3);
    data.kind = kind & 4 ? GPUSOLVE_SIMPLICIAL_LDL : GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = n;
    const int parts = data.dtype >= GPUSOLVE_COMPLEX_FLOAT ? 2 : 1;
    int count = 0;
    for (int j = 0; j < n; j++) {
        a->p[j] = count;
        a->perm[j] = (j * 5 + 3) % n;
        for (int i = j; i < n; i++)
            if (l[i][j]) {
                a->i[count] = i;
                a->x[parts * count] = i == j ? 2 + j % 3 : (i * 7 + j * 3) % 11 / 16.0 - 0.25;
                if (parts == 2)
                    a->x[2 * count + 1] = i == j ? 0 : (i + j) % 5 / 16.0;
                count++;
            }
    }
    a->p[n] = count;
    for (int k = 0; k < parts * count; k++)
        a->single[k] = (float)a->x[k];
    data.xsize = count;
    data.p = a->p;
    data.i = a->i;
    data.perm = (kind & 8) && n % 5 != 0 ? a->perm : NULL; /* 5 j + 3 is a permutation unless 5 divides n */
    data.x =
        data.dtype == GPUSOLVE_FLOAT || data.dtype == GPUSOLVE_COMPLEX_FLOAT ? (const void *)a->single : a->x;
    return data;
}

/* Mostly in range, sometimes not; and whether they may be chosen. */
static int make_rows(int64_t n, int once, fuzz_bytes *from, rows *chosen) {
    int sound = 1;
    const uint8_t count = fuzz_byte(from);
    chosen->all = count >= 250;
    chosen->count = chosen->all ? n : count % (MOST + 3);
    for (int64_t k = 0; k < chosen->count; k++) {
        const int64_t row = chosen->all ? k : fuzz_index(from);
        chosen->row[k] = row < 240 && row >= 0 && row >= n + 1 ? row % n : row;
        sound = sound && chosen->row[k] >= 0 && chosen->row[k] < n;
        for (int64_t e = 0; e < k && once; e++)
            sound = sound && chosen->row[e] != chosen->row[k];
    }
    return sound;
}

static double part_of(gpusolve_dtype dtype, const void *values, int64_t k) {
    return dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? (double)((const float *)values)[k]
                                                                      : ((const double *)values)[k];
}

/* Each row of the selection's x beside the whole solve's. Zeros may differ in their signs. */
static void check_solve(const gpusolve_factor *factor, const gpusolve_factor_data *data,
                        gpusolve_system system, gpusolve_selection *selection, const rows *b_rows,
                        const rows *x_rows, int64_t cols) {
    const size_t number = number_bytes(data->dtype);
    const int parts = data->dtype >= GPUSOLVE_COMPLEX_FLOAT ? 2 : 1;
    char *b = fuzz_array(b_rows->count * cols, number), *x = fuzz_array(x_rows->count * cols, number);
    char *whole = fuzz_array(data->n * cols, number);
    const gpusolve_dense of_b = {
        data->dtype, GPUSOLVE_COL_MAJOR, b_rows->count, cols, b_rows->count > 0 ? b_rows->count : 1, b};
    const gpusolve_dense of_x = {data->dtype, GPUSOLVE_ROW_MAJOR, x_rows->count, cols, cols, x};
    const gpusolve_dense of_whole = {data->dtype, GPUSOLVE_COL_MAJOR, data->n, cols, data->n, whole};
    for (int64_t j = 0; j < cols; j++)
        for (int64_t k = 0; k < b_rows->count; k++) {
            char *to = b + (size_t)(k + j * b_rows->count) * number;
            for (int c = 0; c < parts; c++)
                if (number == 4u * (unsigned)parts)
                    ((float *)(void *)to)[c] = (float)(1 + (k + j + c) % 3);
                else
                    ((double *)(void *)to)[c] = (double)(1 + (k + j + c) % 3);
            memcpy(whole + (size_t)(b_rows->row[k] + j * data->n) * number, to, number);
        }
    FUZZ_CHECK(gpusolve_solve(handle, factor, NULL, system, &of_whole, &of_whole) == GPUSOLVE_OK);
    FUZZ_CHECK(gpusolve_solve_selected(handle, factor, selection, &of_b, &of_x) == GPUSOLVE_OK);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t k = 0; k < x_rows->count; k++)
            for (int c = 0; c < parts; c++)
                FUZZ_CHECK(part_of(data->dtype, x, (k * cols + j) * parts + c) ==
                           part_of(data->dtype, whole, (x_rows->row[k] + j * data->n) * parts + c));
    free(b);
    free(x);
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_bytes from = {bytes, size};
    factor_arrays arrays;
    rows b_rows, x_rows;
    gpusolve_factor *factor;
    gpusolve_selection *selection;
    if (!handle) {
        gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
        options.backend = GPUSOLVE_BACKEND_HOST;
        options.threads = 1;
        FUZZ_CHECK(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    }
    const gpusolve_factor_data data = make_factor(&from, &arrays);
    FUZZ_CHECK(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    const gpusolve_system system = (gpusolve_system)(fuzz_byte(&from) % 10);
    const int64_t most = fuzz_byte(&from) % 5, cols = fuzz_byte(&from) % (COLUMNS + 1);
    const int sound_b = make_rows(data.n, 1, &from, &b_rows), sound_x = make_rows(data.n, 0, &from, &x_rows);
    const int64_t live = gsv_live_allocations();
    const gpusolve_status status =
        gpusolve_selection_create(handle, factor, system, b_rows.count, b_rows.all ? NULL : b_rows.row,
                                  x_rows.count, x_rows.all ? NULL : x_rows.row, most, &selection);
    FUZZ_CHECK((status == GPUSOLVE_OK) == (selection != NULL));
    if (system > GPUSOLVE_Pt)
        FUZZ_CHECK(status == GPUSOLVE_INVALID_ARGUMENT);
    else if (system > GPUSOLVE_Lt)
        FUZZ_CHECK(status == GPUSOLVE_NOT_SUPPORTED);
    else
        FUZZ_CHECK(status == (sound_b && sound_x && most > 0 ? GPUSOLVE_OK : GPUSOLVE_INVALID_ARGUMENT));
    if (status == GPUSOLVE_OK && cols > 0) {
        check_solve(factor, &data, system, selection, &b_rows, &x_rows, cols);
        for (int k = 0; k < arrays.p[data.n]; k++) { /* other numbers */
            arrays.x[k] *= 0.75;
            arrays.single[k] *= 0.75f;
        }
        FUZZ_CHECK(gpusolve_factor_refresh(handle, factor, &data) == GPUSOLVE_OK);
        check_solve(factor, &data, system, selection, &b_rows, &x_rows, cols);
    }
    if (status != GPUSOLVE_OK)
        FUZZ_CHECK(gpusolve_last_error(handle)[0] && gsv_live_allocations() == live);
    gpusolve_factor_destroy(factor);
    gpusolve_selection_destroy(selection);
    if (fuzz_byte(&from) % 16 == 0) { /* and with it the workspaces of its own */
        gpusolve_destroy(handle);
        handle = NULL;
        FUZZ_CHECK(gsv_live_allocations() == 0);
    }
    return 0;
}
