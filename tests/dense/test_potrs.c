/* POTRS on every backend: both triangles, every precision; what it refuses, in the order of declaration. */
#include "testing.h"

#include "triangular_cases.h"

static gpusolve_status call(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                            int64_t nrhs, const void *a, int64_t lda, void *b, int64_t ldb) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_spotrs(handle, uplo, n, nrhs, a, lda, b, ldb, NULL, 0);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dpotrs(handle, uplo, n, nrhs, a, lda, b, ldb, NULL, 0);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_cpotrs(handle, uplo, n, nrhs, a, lda, b, ldb, NULL, 0);
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return gpusolve_zpotrs(handle, uplo, n, nrhs, a, lda, b, ldb, NULL, 0);
}

/* With x known in advance: b = L (L' x) in higher precision. The triangle is so well-conditioned that x comes
 * back. */
static void check_solution(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                           int64_t nrhs) {
    const triangular_case c = {
        .dtype = dtype, .uplo = uplo, .m = n, .n = nrhs, .lda_padding = 2, .ldb_padding = 1};
    const gpusolve_dense a = case_a(&c, 3), x = case_b(&c, 4), b = case_b(&c, 4);
    triangular_case first = c, second = c; /* the factors of A in the order in which they meet x */
    first.trans = uplo == GPUSOLVE_LOWER ? GPUSOLVE_CONJ_TRANS : GPUSOLVE_NO_TRANS;
    second.trans = uplo == GPUSOLVE_LOWER ? GPUSOLVE_NO_TRANS : GPUSOLVE_CONJ_TRANS;
    wide *half = malloc((size_t)n * sizeof *half);
    REQUIRE(half);
    testing_in("%s: potrs %s, %s, n %lld", testing_backend_name(gpusolve_get_backend(handle)),
               (const char *[]){"s", "d", "c", "z"}[dtype], uplo == GPUSOLVE_LOWER ? "lower" : "upper",
               (long long)n);
    for (int64_t v = 0; v < nrhs; v++) {
        for (int64_t i = 0; i < n; i++) {
            half[i] = 0;
            for (int64_t j = 0; j < n; j++)
                half[i] += case_t(&first, &a, i, j) * (wide)testing_get(&x, j, v);
        }
        for (int64_t i = 0; i < n; i++) {
            wide sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += case_t(&second, &a, i, j) * half[j];
            testing_set(&b, i, v, (double complex)sum);
        }
    }
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    void *device_a = on_device ? device_new(a.values, testing_block_bytes(&a)) : a.values;
    void *device_b = on_device ? device_new(b.values, testing_block_bytes(&b)) : b.values;
    REQUIRE(device_a && device_b);
    CHECK_STATUS(call(handle, dtype, uplo, n, nrhs, device_a, a.ld, device_b, b.ld), GPUSOLVE_OK);
    if (on_device) {
        CHECK(device_read(b.values, device_b, testing_block_bytes(&b)) == 0);
        device_delete(device_a);
        device_delete(device_b);
    }
    double worst = 0;
    for (int64_t v = 0; v < nrhs; v++)
        for (int64_t i = 0; i < n; i++) {
            const double error = size_of((wide)testing_get(&b, i, v) - (wide)testing_get(&x, i, v));
            worst = testing_worse(worst, error);
        }
    /* norm(A) norm(inv(A)) of these triangles' products is below 1000 */
    CHECK_BELOW(worst / testing_epsilon(dtype), 1000);
    CHECK(testing_padding_untouched(&b));
    free(half);
    free(a.values);
    free(b.values);
    free(x.values);
}

static void check_refused(gpusolve_handle *handle, gpusolve_status status, const char *name) {
    testing_in("potrs misuse: %s", name);
    CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), name, strlen(name)) == 0);
}

static void check_misuse(gpusolve_handle *handle) {
    double host[4] = {1, 0, 0, 1};
    double *values =
        gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA ? device_new(host, sizeof host) : host;
    size_t bytes;
    REQUIRE(values);
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_FULL, -1, -1, NULL, 0, NULL, 0, NULL, 1), "uplo:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, -1, -1, NULL, 0, NULL, 0, NULL, 1), "n:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, -1, NULL, 0, NULL, 0, NULL, 1), "nrhs:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, NULL, 0, NULL, 0, NULL, 1), "A:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, values, 1, NULL, 0, NULL, 1), "lda:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, values, 2, NULL, 0, NULL, 1), "B:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, values, 2, values, 1, NULL, 1),
                  "ldb:");
    check_refused(handle, gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, values, 2, values, 2, NULL, 1),
                  "workspace:");
    check_refused(handle, gpusolve_potrs_workspace(handle, (gpusolve_dtype)-1, -1, -1, NULL), "dtype:");
    check_refused(handle, gpusolve_potrs_workspace(handle, GPUSOLVE_FLOAT, -1, -1, NULL), "n:");
    check_refused(handle, gpusolve_potrs_workspace(handle, GPUSOLVE_FLOAT, 1, -1, NULL), "nrhs:");
    check_refused(handle, gpusolve_potrs_workspace(handle, GPUSOLVE_FLOAT, 1, 1, NULL), "bytes:");
    CHECK_STATUS(gpusolve_potrs_workspace(handle, GPUSOLVE_FLOAT, 1, 1, &bytes), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_dpotrs(NULL, GPUSOLVE_LOWER, 0, 0, NULL, 1, NULL, 1, NULL, 0),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 0, 5, NULL, 1, NULL, 1, NULL, 0), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 5, 0, NULL, 5, NULL, 5, NULL, 0), GPUSOLVE_OK);
    if (values != host)
        device_delete(values);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 0);
        for (int dtype = 0; dtype < 4; dtype++)
            for (int64_t n = 1; n < 300; n = 5 * n + 2) {
                check_solution(handle, (gpusolve_dtype)dtype, GPUSOLVE_LOWER, n, 3);
                check_solution(handle, (gpusolve_dtype)dtype, GPUSOLVE_UPPER, n, 11);
            }
        check_misuse(handle);
        gpusolve_destroy(handle);
    }
    return testing_done();
}
