/*
 * POTRI and POTRS of triangles with zeros and NaNs on the diagonal do as LAPACK does. POTRI names the first
 * zero and leaves A alone; a NaN is no zero. POTRS checks nothing. Where the process has a LAPACK, as it has
 * with CHOLMOD, the host's answers are compared with LAPACK's own, too.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "testing.h"

#include <dlfcn.h>

#include "gpusolve_dense.h"

typedef void lapack_potri(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t length);
typedef void lapack_potrs(const char *uplo, const int *n, const int *nrhs, const void *a, const int *lda,
                          void *b, const int *ldb, int *info, size_t length);

enum { PADDING = 2, RHS = 3 };

static const char letters[] = "sdcz";

/* A function of the process' LAPACK, in a form that may be cast to any function; NULL: it has none. */
static void (*lapack(gpusolve_dtype dtype, const char *name))(void) {
    char symbol[16];
    void (*function)(void) = NULL;
    snprintf(symbol, sizeof symbol, "%c%s_", letters[dtype], name);
    void *address = dlsym(RTLD_DEFAULT, symbol);
    memcpy(&function, &address, sizeof function);
    return function;
}

static gpusolve_status potri(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                             void *a, int64_t lda) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotri(handle, uplo, n, a, lda, NULL, 0);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotri(handle, uplo, n, a, lda, NULL, 0);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotri(handle, uplo, n, a, lda, NULL, 0);
    default:
        return gpusolve_zpotri(handle, uplo, n, a, lda, NULL, 0);
    }
}

static gpusolve_status potrs(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                             const void *a, int64_t lda, void *b) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotrs(handle, uplo, n, RHS, a, lda, b, lda, NULL, 0);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotrs(handle, uplo, n, RHS, a, lda, b, lda, NULL, 0);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotrs(handle, uplo, n, RHS, a, lda, b, lda, NULL, 0);
    default:
        return gpusolve_zpotrs(handle, uplo, n, RHS, a, lda, b, lda, NULL, 0);
    }
}

/* One diagonal: zeros at some places, NaNs at others. */
typedef struct diagonal {
    int64_t zero[2], nan; /* -1: none */
} diagonal;

/* A Cholesky factor with that diagonal, all 0xff in the other triangle and the padding. */
static gpusolve_dense factor(gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n, const diagonal *d) {
    const gpusolve_dense a = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, n, PADDING);
    uint64_t state = (uint64_t)n + 7;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            const double re = testing_random(&state), im = testing_random(&state);
            if (i == j)
                testing_set(&a, i, j, 2 + re / 2);
            else if ((i > j) == (uplo == GPUSOLVE_LOWER))
                testing_set(&a, i, j, CMPLX(re, testing_is_complex(dtype) ? im : 0) / (double)n);
        }
    for (int k = 0; k < 2; k++)
        if (d->zero[k] >= 0)
            testing_set(&a, d->zero[k], d->zero[k], k ? -0.0 : 0.0);
    if (d->nan >= 0)
        testing_set(&a, d->nan, d->nan, NAN);
    return a;
}

static int64_t info_of(const diagonal *d) {
    int64_t first = -1;
    for (int k = 0; k < 2; k++)
        if (d->zero[k] >= 0 && (first < 0 || d->zero[k] < first))
            first = d->zero[k];
    return first + 1;
}

static int is_finite(double complex value) {
    return isfinite(creal(value)) && isfinite(cimag(value));
}

/* Call where the handle's operands lie. */
static gpusolve_status potri_at(gpusolve_handle *handle, gpusolve_uplo uplo, const gpusolve_dense *a) {
    const size_t bytes = testing_block_bytes(a);
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_HOST)
        return potri(handle, a->dtype, uplo, a->rows, a->values, a->ld);
    void *device = device_new(a->values, bytes);
    REQUIRE(device != NULL);
    const gpusolve_status status = potri(handle, a->dtype, uplo, a->rows, device, a->ld);
    CHECK(device_read(a->values, device, bytes) == 0);
    device_delete(device);
    return status;
}

static void check_potri(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                        const diagonal *d) {
    const gpusolve_dense a = factor(dtype, uplo, n, d), before = factor(dtype, uplo, n, d);
    const int64_t info = info_of(d);
    const gpusolve_status status = potri_at(handle, uplo, &a);
    if (info > 0) {
        char place[64];
        snprintf(place, sizeof place, "A: diagonal entry %lld,", (long long)info);
        CHECK_STATUS(status, GPUSOLVE_SINGULAR);
        CHECK(strstr(gpusolve_last_error(handle), place) != NULL);
        CHECK(memcmp(a.values, before.values, testing_block_bytes(&a)) == 0);
    } else {
        CHECK_STATUS(status, GPUSOLVE_OK);
        /* a diagonal entry is a sum over the rows of W from k on; a NaN above k may spread there, too */
        for (int64_t k = 0; k < n; k++)
            CHECK(d->nan < 0 ? is_finite(testing_get(&a, k, k))
                             : k > d->nan || isnan(creal(testing_get(&a, k, k))));
    }
    void (*const function)(void) = lapack(dtype, "potri");
    /* OpenBLAS misses a zero beside a NaN; LAPACK's own code finds it */
    if (function && (info == 0 || d->nan < 0)) {
        const gpusolve_dense l = factor(dtype, uplo, n, d);
        const int order = (int)n, ld = (int)l.ld;
        int got = -1;
        ((lapack_potri *)function)(uplo == GPUSOLVE_LOWER ? "L" : "U", &order, l.values, &ld, &got, 1);
        CHECK(got == info);
        if (info > 0)
            CHECK(memcmp(l.values, before.values, testing_block_bytes(&l)) == 0);
        free(l.values);
    }
    free(a.values);
    free(before.values);
}

static void check_potrs(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                        const diagonal *d) {
    const gpusolve_dense a = factor(dtype, uplo, n, d);
    const gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, RHS, PADDING),
                         l = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, RHS, PADDING);
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    testing_fill(&b, 3);
    testing_fill(&l, 3);
    void *device_a = on_device ? device_new(a.values, testing_block_bytes(&a)) : a.values;
    void *device_b = on_device ? device_new(b.values, testing_block_bytes(&b)) : b.values;
    REQUIRE(device_a && device_b);
    CHECK_STATUS(potrs(handle, dtype, uplo, n, device_a, a.ld, device_b), GPUSOLVE_OK);
    if (on_device) {
        CHECK(device_read(b.values, device_b, testing_block_bytes(&b)) == 0);
        device_delete(device_a);
        device_delete(device_b);
    }
    const int bad = info_of(d) > 0 || d->nan >= 0;
    for (int64_t v = 0; v < RHS; v++) {
        int finite = 1;
        for (int64_t i = 0; i < n; i++)
            finite &= is_finite(testing_get(&b, i, v));
        CHECK(finite == !bad);
    }
    void (*const function)(void) = lapack(dtype, "potrs");
    if (function && !on_device) {
        const int order = (int)n, lda = (int)a.ld, ldb = (int)l.ld, nrhs = RHS;
        int info = -1, same = 1;
        ((lapack_potrs *)function)(uplo == GPUSOLVE_LOWER ? "L" : "U", &order, &nrhs, a.values, &lda,
                                   l.values, &ldb, &info, 1);
        CHECK(info == 0);
        for (int64_t v = 0; v < RHS; v++)
            for (int64_t i = 0; i < n; i++)
                same &= is_finite(testing_get(&b, i, v)) == is_finite(testing_get(&l, i, v));
        CHECK(same);
    }
    free(a.values);
    free(b.values);
    free(l.values);
}

static void check(gpusolve_handle *handle) {
    static const int64_t sizes[] = {1, 2, 3, 64, 65, 100, 300};
    for (int dtype = 0; dtype < 4; dtype++)
        for (int upper = 0; upper < 2; upper++)
            for (int s = 0; s < 7; s++) {
                const int64_t n = sizes[s], last = n - 1, half = n / 2;
                const diagonal cases[] = {{{-1, -1}, -1},   {{0, -1}, -1},   {{last, -1}, -1},
                                          {{-1, half}, -1}, {{last, 0}, -1}, {{last, -1}, 0},
                                          {{-1, -1}, 0},    {{-1, -1}, last}};
                for (int k = 0; k < 8; k++) {
                    if (n == 1 && k == 5) /* the zero and the NaN would be one entry */
                        continue;
                    testing_in("%s, %c, %s, n %lld, diagonal %d",
                               testing_backend_name(gpusolve_get_backend(handle)), letters[dtype],
                               upper ? "upper" : "lower", (long long)n, k);
                    const gpusolve_uplo uplo = upper ? GPUSOLVE_UPPER : GPUSOLVE_LOWER;
                    check_potri(handle, (gpusolve_dtype)dtype, uplo, n, &cases[k]);
                    check_potrs(handle, (gpusolve_dtype)dtype, uplo, n, &cases[k]);
                }
            }
}

/* A complex number with one part zero is no zero. */
static void check_parts(gpusolve_handle *handle) {
    testing_in("parts of a complex number");
    for (int dtype = GPUSOLVE_COMPLEX_FLOAT; dtype <= GPUSOLVE_COMPLEX_DOUBLE; dtype++)
        for (int k = 0; k < 2; k++) {
            const diagonal none = {{-1, -1}, -1};
            const gpusolve_dense a = factor((gpusolve_dtype)dtype, GPUSOLVE_LOWER, 3, &none);
            testing_set(&a, 1, 1, k ? CMPLX(0, 1) : CMPLX(1, 0));
            CHECK_STATUS(potri_at(handle, GPUSOLVE_LOWER, &a), GPUSOLVE_OK);
            free(a.values);
        }
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 1);
        float one = 1;
        if (backends[k] == GPUSOLVE_BACKEND_CUDA ||
            gpusolve_spotri(handle, GPUSOLVE_LOWER, 1, &one, 1, NULL, 0) != GPUSOLVE_NOT_SUPPORTED) {
            check(handle);
            check_parts(handle);
        }
        gpusolve_destroy(handle);
    }
    if (testing_checks == 0) {
        printf("skipped: neither a CBLAS nor a CUDA device\n");
        return TESTING_SKIPPED;
    }
    return testing_done();
}
