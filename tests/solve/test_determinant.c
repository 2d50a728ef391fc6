/*
 * gpusolve_factor_logdet and gpusolve_factor_diagonal, on every backend: against sums of logarithms in long double, determinants that are known
 * exactly, CHOLMOD's factors, and the determinant of A itself by elimination. Products that would over- or underflow, terms that cancel, all
 * types and kinds, a million columns; the same bits whatever the threads and the backend. Results in host and in device memory.
 */
#include "testing.h"

#include "block_factor.h"
#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "memory.h"

enum { LOGDET, SIGN, SMALLEST, LARGEST, RESULTS };

/* What the library says, by host memory; by device memory it says the same. */
static void ask(gpusolve_handle *handle, gpusolve_backend backend, const gpusolve_factor *factor,
                double results[RESULTS]) {
    double there[RESULTS + 1];
    memset(results, 0xff, RESULTS * sizeof *results);
    CHECK_STATUS(gpusolve_factor_logdet(handle, factor, &results[LOGDET], &results[SIGN]), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_diagonal(handle, factor, &results[SMALLEST], &results[LARGEST]),
                 GPUSOLVE_OK);
    if (backend == GPUSOLVE_BACKEND_HOST)
        return;
    for (int apart = 0; apart < 2; apart++) { /* a number between them, or none */
        memset(there, 0xff, sizeof there);
        double *device = device_new(there, sizeof there);
        REQUIRE(device != NULL);
        CHECK_STATUS(gpusolve_factor_logdet(handle, factor, device, device + 1 + apart), GPUSOLVE_OK);
        CHECK(device_read(there, device, sizeof there) == 0);
        CHECK(memcmp(there, results, sizeof *there) == 0 && there[1 + apart] == results[SIGN]);
        CHECK(apart ? isnan(there[1]) : isnan(there[2]));
        CHECK_STATUS(gpusolve_factor_diagonal(handle, factor, NULL, device + 3), GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_factor_diagonal(handle, factor, device + 2, NULL), GPUSOLVE_OK);
        CHECK(device_read(there, device, sizeof there) == 0);
        CHECK(memcmp(there + 2, results + 2, 2 * sizeof *there) == 0 && isnan(there[4]));
        device_delete(device);
    }
}

/* The reference: a sum of logarithms, whose error is that of n roundings in long double of the largest partial sum. */
typedef struct reference {
    long double sum, most;
    double sign, smallest, largest;
    int64_t n;
} reference;

static void add_to(reference *r, double d) {
    const double size = fabs(d);
    if (r->n++ == 0)
        *r = (reference){0, 0, 1, size, size, 1};
    r->sum += logl((long double)size);
    r->most = fabsl(r->sum) > r->most ? fabsl(r->sum) : r->most;
    r->sign = d < 0 ? -r->sign : r->sign;
    r->smallest = size < r->smallest ? size : r->smallest;
    r->largest = size > r->largest ? size : r->largest;
}

static void check_against(const reference *r, int has_d, const double results[RESULTS]) {
    const double times = has_d ? 1 : 2, expected = times * (double)r->sum;
    const double rounding = times * (double)(r->most + 1) * (double)(r->n + 1) * (double)LDBL_EPSILON;
    CHECK_BELOW(fabs(results[LOGDET] - expected), 4 * DBL_EPSILON * fabs(expected) + rounding);
    CHECK(results[SIGN] == r->sign);
    CHECK(results[SMALLEST] == r->smallest && results[LARGEST] == r->largest);
}

/* -------------------------------------------------------------------------------- factors made by hand --- */

/* A factor with this diagonal in supernodes of `width` columns; zeros off the diagonal if `bare`. */
static void check_diagonal(gpusolve_backend backend, gpusolve_factor_kind kind, gpusolve_dtype dtype,
                           int32_t n, const double *diagonal, int32_t width, int bare,
                           double results[RESULTS]) {
    gpusolve_handle *handle = testing_handle(backend, 3);
    block_factor f = block_factor_create(kind, dtype, n, width, diagonal, bare ? 0 : 0.25);
    gpusolve_factor *factor = NULL;
    reference r = {.sign = 1, .smallest = 1, .largest = 1};
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    for (int32_t j = 0; j < n; j++)
        add_to(&r, block_factor_is_single(dtype) ? (double)(float)diagonal[j] : diagonal[j]);
    ask(handle, backend, factor, results);
    check_against(&r, kind == GPUSOLVE_SIMPLICIAL_LDL, results);
    gpusolve_factor_destroy(factor);
    block_factor_free(&f);
    gpusolve_destroy(handle);
}

static void check_kinds(gpusolve_backend backend) {
    static const int32_t sizes[] = {0, 1, 2, 5, 64, 1023, 1024, 1025, 5000};
    static const int32_t widths[] = {1, 3, 40};
    double *diagonal = malloc(5000 * sizeof *diagonal), results[RESULTS];
    REQUIRE(diagonal != NULL);
    for (int kind = 0; kind < 3; kind++)
        for (int dtype = 0; dtype < 4; dtype++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                    const int32_t n = sizes[k];
                    uint64_t state = 17 * k + 1;
                    testing_in("%s, kind %d, dtype %d, n %d, width %d", testing_backend_name(backend), kind,
                               dtype, (int)n, (int)widths[w]);
                    for (int32_t j = 0; j < n; j++) {
                        diagonal[j] = exp(2 * testing_random(&state));
                        if (kind == GPUSOLVE_SIMPLICIAL_LDL && testing_random(&state) < -0.4)
                            diagonal[j] = -diagonal[j];
                    }
                    check_diagonal(backend, (gpusolve_factor_kind)kind, (gpusolve_dtype)dtype, n, diagonal,
                                   widths[w], 0, results);
                }
    free(diagonal);
}

/* log det A, of the first n numbers of a pattern repeated, must be this number but for two units in the last place. */
static void check_exact(gpusolve_backend backend, gpusolve_factor_kind kind, const double *pattern, int count,
                        int32_t n, double expected) {
    double *diagonal = malloc((size_t)n * sizeof *diagonal), results[RESULTS];
    REQUIRE(diagonal != NULL);
    for (int32_t j = 0; j < n; j++)
        diagonal[j] = pattern[j % count];
    testing_in("%s, kind %d, n %d, %g %g ...", testing_backend_name(backend), (int)kind, (int)n, diagonal[0],
               diagonal[n > 1]);
    check_diagonal(backend, kind, GPUSOLVE_DOUBLE, n, diagonal, 1, 1, results);
    CHECK(fabs(results[LOGDET] - expected) <= 2 * DBL_EPSILON * fabs(expected));
    free(diagonal);
}

/* Determinants whose logarithm is known, and whose product or whose sum goes astray if it is taken as it is. */
static void check_extremes(gpusolve_backend backend) {
    static const double ln2 = 0.69314718055994530942; /* the nearest number is 2^-56 too small */
    static const gpusolve_factor_kind ll = GPUSOLVE_SUPERNODAL_LL, ldl = GPUSOLVE_SIMPLICIAL_LDL;
    const double two[] = {2}, halves[] = {0.5}, far[] = {0x1p1000, 0x1p-1000}, up[] = {0x1p1000},
                 down[] = {0x1p-1000}, least[] = {0x1p-1074}, near_one[] = {1 + 0x1p-30, 0x1p-900, 0x1p900},
                 below_one[] = {1 - 0x1p-30, 0x1p-900, 0x1p900}, mixed[] = {0x1p-1074, 0x1p1023, 0x1p51},
                 thirds[] = {3, 1 / 3.0};
    check_exact(backend, ll, two, 1, 4096, 8192 * ln2);
    check_exact(backend, ll, halves, 1, 4096, -8192 * ln2);
    check_exact(backend, ll, far, 2, 5000, 0);
    check_exact(backend, ll, up, 1, 2048, 0x1p12 * 1000 * ln2);
    check_exact(backend, ll, down, 1, 2048, -0x1p12 * 1000 * ln2);
    check_exact(backend, ldl, least, 1, 2048, (double)(-2048 * 1074.0L * 0.693147180559945309417232121458L));
    check_exact(backend, ldl, mixed, 3, 3000, 0);
    check_exact(backend, ll, near_one, 3, 3, 2 * log1p(0x1p-30));
    check_exact(backend, ll, below_one, 3, 3, 2 * log1p(-0x1p-30));
    /* 3 times the double nearest to 1/3 is 1 - 2^-54 */
    check_exact(backend, ll, thirds, 2, 2, 2 * log1p(-0x1p-54));
    check_exact(backend, ll, thirds, 2, 2000, 2000 * log1p(-0x1p-54));
    for (int kind = 0; kind < 3; kind++) {
        const double wild[] = {1e300, 3e-160, 7e200, 1e-300, 5, 1e-7};
        double diagonal[3000], results[RESULTS];
        for (int j = 0; j < 3000; j++)
            diagonal[j] = wild[(j * 7 + j / 11) % 6];
        testing_in("%s, kind %d, from 1e-300 to 1e300", testing_backend_name(backend), kind);
        check_diagonal(backend, (gpusolve_factor_kind)kind, GPUSOLVE_DOUBLE, 3000, diagonal, 1, 1, results);
    }
}

/* A million columns; the bits do not depend on the threads, the supernodes or the backend. */
static void check_many(const gpusolve_backend *backends, int count) {
    const int32_t n = testing_few() ? 100000 : 1000000;
    double *diagonal = malloc((size_t)n * sizeof *diagonal), first[RESULTS];
    uint64_t state = 5;
    REQUIRE(diagonal != NULL);
    for (int32_t j = 0; j < n; j++)
        diagonal[j] = exp(20 * testing_random(&state));
    for (int b = 0; b < count; b++)
        for (int threads = 1; threads <= 5; threads += 2)
            for (int32_t width = 1; width <= 4; width += 3) {
                double results[RESULTS];
                gpusolve_handle *handle = testing_handle(backends[b], threads);
                block_factor f =
                    block_factor_create(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, n, width, diagonal, 0.25);
                gpusolve_factor *factor = NULL;
                testing_in("%s, %d columns, %d threads, width %d", testing_backend_name(backends[b]), (int)n,
                           threads, (int)width);
                REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
                ask(handle, backends[b], factor, results);
                if (b == 0 && threads == 1 && width == 1) {
                    reference r = {.sign = 1};
                    for (int32_t j = 0; j < n; j++)
                        add_to(&r, diagonal[j]);
                    check_against(&r, 0, results);
                    memcpy(first, results, sizeof first);
                }
                CHECK(memcmp(results, first, sizeof first) == 0);
                gpusolve_factor_destroy(factor);
                block_factor_free(&f);
                gpusolve_destroy(handle);
            }
    free(diagonal);
}

/* ------------------------------------------------------------------------------------------- CHOLMOD --- */

/* log |det A| by elimination with pivots, in long double. */
static long double log_by_elimination(const cholmod_sparse *a) {
    const int n = (int)a->nrow;
    double complex *e = calloc((size_t)n, sizeof *e), *column = malloc((size_t)n * sizeof *column);
    long double complex *m = malloc((size_t)n * (size_t)n * sizeof *m);
    long double sum = 0;
    REQUIRE(e && column && m);
    for (int j = 0; j < n; j++) {
        e[j] = 1;
        testing_sparse_multiply(a, e, column);
        e[j] = 0;
        for (int i = 0; i < n; i++)
            m[i + j * n] = column[i];
    }
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k; i < n; i++)
            pivot = cabsl(m[i + k * n]) > cabsl(m[pivot + k * n]) ? i : pivot;
        for (int j = k; j < n; j++) {
            const long double complex t = m[k + j * n];
            m[k + j * n] = m[pivot + j * n];
            m[pivot + j * n] = t;
        }
        sum += logl(cabsl(m[k + k * n]));
        for (int i = k + 1; i < n; i++) {
            const long double complex l = m[i + k * n] / m[k + k * n];
            for (int j = k + 1; j < n && l != 0; j++)
                m[i + j * n] -= l * m[k + j * n];
        }
    }
    free(e);
    free(column);
    free(m);
    return sum;
}

/* CHOLMOD's diagonal, as these arrays have it. */
static reference sum_diagonal(const gpusolve_factor_data *data) {
    const int32_t *super = data->super, *pi = data->pi, *px = data->px, *p = data->p;
    reference r = {.sign = 1, .smallest = 1, .largest = 1};
    if (data->kind == GPUSOLVE_SUPERNODAL_LL) {
        for (int64_t s = 0; s < data->nsuper; s++)
            for (int32_t k = 0; k < super[s + 1] - super[s]; k++)
                add_to(&r, creal(testing_fetch(data->dtype, data->x,
                                               px[s] + (int64_t)k * (pi[s + 1] - pi[s] + 1))));
    } else {
        for (int64_t j = 0; j < data->n; j++)
            add_to(&r, creal(testing_fetch(data->dtype, data->x, p[j])));
    }
    return r;
}

static void check_cholmod(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind, int single,
                          cholmod_common *common) {
    testing_in("%s, %s, kind %d%s", testing_backend_name(backend), spec, (int)kind, single ? ", single" : "");
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL);
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = single ? testing_round(l, &data) : NULL;
    double results[RESULTS];
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    reference r = sum_diagonal(&data);
    ask(handle, backend, factor, results);
    check_against(&r, kind == GPUSOLVE_SIMPLICIAL_LDL, results);
    if (a->nrow <= 150) {
        const double by_elimination = (double)log_by_elimination(a);
        CHECK_BELOW(fabs(results[LOGDET] - by_elimination),
                    (single ? 1e-6 : 1e-13) * (double)a->nrow + 1e-12 * fabs(by_elimination));
    }
    /* new numbers: L, or D, times two */
    const int64_t numbers = data.xsize * (testing_is_complex(data.dtype) ? 2 : 1);
    for (int64_t k = 0; k < numbers; k++)
        if (single)
            rounded[k] *= 2;
        else
            ((double *)l->x)[k] *= 2;
    r = sum_diagonal(&data);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &data), GPUSOLVE_OK);
    ask(handle, backend, factor, results);
    check_against(&r, kind == GPUSOLVE_SIMPLICIAL_LDL, results);
    free(rounded);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* ------------------------------------------------------------------------------------------- refusals --- */

/* A diagonal with a zero or a NaN makes no factor, and a refresh with it leaves the determinant as it was. */
static void check_bad_numbers(gpusolve_backend backend, gpusolve_factor_kind kind) {
    double diagonal[] = {3, 2, 5}, before[RESULTS], after[RESULTS];
    static const struct {
        double number;
        gpusolve_status status;
    } bad[] = {{0, GPUSOLVE_SINGULAR}, {NAN, GPUSOLVE_NOT_FINITE}, {INFINITY, GPUSOLVE_NOT_FINITE}};
    gpusolve_handle *handle = testing_handle(backend, 1);
    block_factor good = block_factor_create(kind, GPUSOLVE_DOUBLE, 3, 2, diagonal, 0.25);
    gpusolve_factor *factor = NULL, *none = NULL;
    testing_in("%s, kind %d, bad numbers", testing_backend_name(backend), (int)kind);
    REQUIRE(gpusolve_factor_create(handle, &good.data, &factor) == GPUSOLVE_OK);
    ask(handle, backend, factor, before);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        diagonal[1] = bad[k].number;
        block_factor f = block_factor_create(kind, GPUSOLVE_DOUBLE, 3, 2, diagonal, 0.25);
        CHECK_REFUSED(handle, gpusolve_factor_create(handle, &f.data, &none), bad[k].status, "1");
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f.data), bad[k].status);
        block_factor_free(&f);
    }
    ask(handle, backend, factor, after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    gpusolve_factor_destroy(factor);
    block_factor_free(&good);
    gpusolve_destroy(handle);
}

static void check_misuse(gpusolve_backend backend) {
    const double diagonal[] = {3, 2, 5};
    double room[3] = {1, 1, 1};
    double *const odd = (double *)((char *)room + 4);
    gpusolve_handle *handle = testing_handle(backend, 1);
    block_factor f = block_factor_create(GPUSOLVE_SIMPLICIAL_LL, GPUSOLVE_DOUBLE, 3, 2, diagonal, 0.25);
    gpusolve_factor *factor = NULL;
    testing_in("%s, misuse", testing_backend_name(backend));
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_logdet(NULL, factor, room, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_factor_diagonal(NULL, factor, room, NULL), GPUSOLVE_INVALID_ARGUMENT);
#define BAD(call, word) CHECK_REFUSED(handle, call, GPUSOLVE_INVALID_ARGUMENT, word)
    BAD(gpusolve_factor_logdet(handle, NULL, room, NULL), "factor");
    BAD(gpusolve_factor_diagonal(handle, NULL, room, NULL), "factor");
    BAD(gpusolve_factor_logdet(handle, factor, odd, NULL), "logdet");
    BAD(gpusolve_factor_logdet(handle, factor, room, odd), "sign");
    BAD(gpusolve_factor_logdet(handle, factor, room, room), "sign");
    BAD(gpusolve_factor_diagonal(handle, factor, odd, NULL), "smallest");
    BAD(gpusolve_factor_diagonal(handle, factor, NULL, odd), "largest");
    BAD(gpusolve_factor_diagonal(handle, factor, room, room), "largest");
#undef BAD
    CHECK(room[0] == 1 && room[1] == 1 && room[2] == 1);
    testing_count_allocations();
    CHECK_STATUS(gpusolve_factor_logdet(handle, factor, NULL, NULL), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_logdet(handle, factor, NULL, room + 1), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(room[0] == 1 && room[1] == 1 && room[2] == 1);
    gpusolve_factor_destroy(factor);
    block_factor_free(&f);
    gpusolve_destroy(handle);
}

int main(void) {
    static const char *const specs[] = {"grid2d:11",  "grid2d:60",     "grid3d:5",
                                        "grid3d:5@c", "arrow:100,3,7", "shell:4"};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    cholmod_common common;
    cholmod_start(&common);
    for (int k = 0; k < count; k++) {
        check_kinds(backends[k]);
        check_extremes(backends[k]);
        for (int kind = 0; kind < 3; kind++) {
            for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
                for (int single = 0; single < 2; single++)
                    check_cholmod(backends[k], specs[s], (gpusolve_factor_kind)kind, single, &common);
            check_bad_numbers(backends[k], (gpusolve_factor_kind)kind);
        }
        check_misuse(backends[k]);
    }
    check_many(backends, count);
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
