/*
 * POTRI on every backend: both triangles, every precision, sizes on both sides of the tile's. The inverse M
 * of A = L L' is right if A (M e) is e, for a few unit vectors and one of ones; the other triangle holds NaNs
 * before and afterwards. What is refused, in the order of declaration.
 */
#include "testing.h"

#include "memory.h"
#include "triangular_cases.h"

static gpusolve_status call(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                            void *a, int64_t lda) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotri(handle, uplo, n, a, lda, NULL, 0);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotri(handle, uplo, n, a, lda, NULL, 0);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotri(handle, uplo, n, a, lda, NULL, 0);
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return gpusolve_zpotri(handle, uplo, n, a, lda, NULL, 0);
}

/* y = op(T) x for the triangle described by c */
static void apply(const triangular_case *c, const gpusolve_dense *a, gpusolve_trans trans, const wide *x,
                  wide *y) {
    triangular_case turned = *c;
    turned.trans = trans;
    for (int64_t i = 0; i < c->m; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < c->m; j++)
            y[i] += case_t(&turned, a, i, j) * x[j];
    }
}

/* Entry (i, j) of the Hermitian matrix of which one triangle is stored. */
static wide hermitian(const triangular_case *c, const gpusolve_dense *m, int64_t i, int64_t j) {
    const int stored = i == j || (i > j) == (c->uplo == GPUSOLVE_LOWER);
    return stored ? (wide)testing_get(m, i, j) : conjl((wide)testing_get(m, j, i));
}

static void check_inverse(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n) {
    triangular_case c = {.dtype = dtype, .uplo = uplo, .m = n, .n = 1, .lda_padding = 3};
    const gpusolve_dense l = case_a(&c, 5), m = case_a(&c, 5);
    wide *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y),
         *z = malloc((size_t)n * sizeof *z);
    REQUIRE(x && y && z);
    testing_in("%s: potri %s, %s, n %lld", testing_backend_name(gpusolve_get_backend(handle)),
               (const char *[]){"s", "d", "c", "z"}[dtype], uplo == GPUSOLVE_LOWER ? "lower" : "upper",
               (long long)n);
    for (int64_t i = 0; i < n; i++) /* a Cholesky factor has a real diagonal */
        for (int k = 0; k < 2; k++)
            testing_set(k ? &l : &m, i, i, creal(testing_get(&l, i, i)));
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    void *values = on_device ? device_new(m.values, testing_block_bytes(&m)) : m.values;
    REQUIRE(values);
    CHECK_STATUS(call(handle, dtype, uplo, n, values, m.ld), GPUSOLVE_OK);
    if (on_device) {
        CHECK(device_read(m.values, values, testing_block_bytes(&m)) == 0);
        device_delete(values);
    }
    const gpusolve_trans first = uplo == GPUSOLVE_LOWER ? GPUSOLVE_CONJ_TRANS : GPUSOLVE_NO_TRANS;
    const gpusolve_trans second = uplo == GPUSOLVE_LOWER ? GPUSOLVE_NO_TRANS : GPUSOLVE_CONJ_TRANS;
    double worst = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t unit = k == 3 ? -1 : k * (n - 1) / 2; /* e, or all ones */
        for (int64_t i = 0; i < n; i++) {
            x[i] = 0;
            for (int64_t j = 0; j < n; j++)
                if (unit < 0 || unit == j)
                    x[i] += hermitian(&c, &m, i, j);
        }
        apply(&c, &l, first, x, y);
        apply(&c, &l, second, y, z);
        for (int64_t i = 0; i < n; i++) {
            const double error = size_of(z[i] - (unit < 0 || unit == i ? 1 : 0));
            worst = testing_worse(worst, error);
        }
    }
    /* norm(A) norm(M) is below 1000 */
    CHECK_BELOW(worst / testing_epsilon(dtype), 1000);
    int untouched = testing_padding_untouched(&m);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (i != j && (i > j) != (uplo == GPUSOLVE_LOWER))
                untouched &= isnan(creal(testing_get(&m, i, j)));
    CHECK(untouched);
    free(l.values);
    free(m.values);
    free(x);
    free(y);
    free(z);
}

static void check_refused(gpusolve_handle *handle, gpusolve_status status, const char *name) {
    testing_in("potri misuse: %s", name);
    CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), name, strlen(name)) == 0);
}

static void check_misuse(gpusolve_handle *handle) {
    double host[4] = {1, 0, 0, 1};
    double *values =
        gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA ? device_new(host, sizeof host) : host;
    size_t bytes;
    REQUIRE(values);
    check_refused(handle, gpusolve_dpotri(handle, GPUSOLVE_FULL, -1, NULL, 0, NULL, 1), "uplo:");
    check_refused(handle, gpusolve_dpotri(handle, GPUSOLVE_UPPER, -1, NULL, 0, NULL, 1), "n:");
    check_refused(handle, gpusolve_dpotri(handle, GPUSOLVE_UPPER, 2, NULL, 0, NULL, 1), "A:");
    check_refused(handle, gpusolve_dpotri(handle, GPUSOLVE_UPPER, 2, values, 1, NULL, 1), "lda:");
    check_refused(handle, gpusolve_dpotri(handle, GPUSOLVE_UPPER, 2, values, 2, NULL, 1), "workspace:");
    check_refused(handle, gpusolve_potri_workspace(handle, (gpusolve_dtype)9, -1, NULL), "dtype:");
    check_refused(handle, gpusolve_potri_workspace(handle, GPUSOLVE_DOUBLE, -1, NULL), "n:");
    check_refused(handle, gpusolve_potri_workspace(handle, GPUSOLVE_DOUBLE, 1, NULL), "bytes:");
    CHECK_STATUS(gpusolve_potri_workspace(handle, GPUSOLVE_DOUBLE, 1, &bytes), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_dpotri(NULL, GPUSOLVE_UPPER, 0, NULL, 1, NULL, 0), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_UPPER, 0, NULL, 1, NULL, 0), GPUSOLVE_OK);
    if (values != host)
        device_delete(values);
}

/* The host's scratch cannot be had: A is as it was. (The device's is the handle's: test_cuda_trsm.) */
static void check_allocation(gpusolve_handle *handle) {
    testing_in("potri without memory");
    double a[4] = {2, 1, 0, 2};
    const double before[4] = {2, 1, 0, 2};
    const int64_t live = gsv_live_allocations();
    gsv_fail_allocation(1);
    CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_LOWER, 2, a, 2, NULL, 0), GPUSOLVE_OUT_OF_MEMORY);
    gsv_fail_allocation(0);
    CHECK(memcmp(a, before, sizeof a) == 0);
    CHECK(gsv_live_allocations() == live);
    CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_LOWER, 2, a, 2, NULL, 0), GPUSOLVE_OK);
    CHECK(gsv_live_allocations() == live);
}

int main(void) {
    static const int64_t sizes[] = {1, 2, 17, 64, 65, 200, 700};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 0);
        for (int dtype = 0; dtype < 4; dtype++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                check_inverse(handle, (gpusolve_dtype)dtype, GPUSOLVE_LOWER, sizes[i]);
                check_inverse(handle, (gpusolve_dtype)dtype, GPUSOLVE_UPPER, sizes[i]);
            }
        check_misuse(handle);
        if (backends[k] == GPUSOLVE_BACKEND_HOST)
            check_allocation(handle);
        gpusolve_destroy(handle);
    }
    return testing_done();
}
