/*
 * The prepared form: against its equation in every variant, on triangles that must not be inverted, again and
 * again with the same bits, and its illegal arguments one by one.
 */
#include "trsv_cases.h"

#include "src/memory.h"

static void check_case(gpusolve_handle *handle, gpusolve_dtype dtype, int variant, trsv_kind kind, int64_t n,
                       int64_t padding, int64_t incx) {
    const gpusolve_uplo uplo = variant & 1 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER;
    const gpusolve_diag diag = variant & 2 ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT;
    const gpusolve_trans trans = (gpusolve_trans)(variant / 4);
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    testing_in("%s, prepared %ctrsv, variant %d, kind %d, n %lld, lda n + %lld, incx %lld",
               testing_backend_name(gpusolve_get_backend(handle)), "sdcz"[dtype], variant, (int)kind,
               (long long)n, (long long)padding, (long long)incx);
    trsv_case c = trsv_make(dtype, uplo, trans, diag, kind, n, padding, incx);
    void *first = malloc(c.x_bytes), *again = malloc(c.x_bytes);
    void *a = on_device ? device_new(c.a, c.a_bytes) : c.a, *b = malloc(c.x_bytes);
    REQUIRE(first && again && a && b);
    memcpy(b, c.x, c.x_bytes);
    gpusolve_trsv *prepared = NULL;
    CHECK_STATUS(gpusolve_trsv_prepare(handle, dtype, uplo, trans, diag, n, a, c.lda, &prepared),
                 GPUSOLVE_OK);
    for (int round = 0; round < 4; round++) {
        void *x = on_device ? device_new(b, c.x_bytes) : memcpy(c.x, b, c.x_bytes);
        CHECK_STATUS(gpusolve_trsv_solve(handle, prepared, x, incx), GPUSOLVE_OK);
        if (on_device) {
            CHECK(device_read(c.x, x, c.x_bytes) == 0);
            device_delete(x);
        }
        memcpy(round == 0 ? first : again, c.x, c.x_bytes);
        CHECK(round == 0 || memcmp(first, again, c.x_bytes) == 0);
    }
    const trsv_ratios ratios = trsv_measure(&c);
    CHECK_BELOW(ratios.lapack, 30);
    CHECK_BELOW(ratios.component, 10);
    CHECK(ratios.padding);
    gpusolve_trsv_destroy(prepared);
    if (on_device)
        device_delete(a);
    free(b);
    free(first);
    free(again);
    trsv_free(&c);
}

static void check_arguments(gpusolve_backend backend) {
    testing_in("%s, arguments", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 0), *other = testing_handle(GPUSOLVE_BACKEND_HOST, 0);
    const int on_device = backend == GPUSOLVE_BACKEND_CUDA;
    double host[9] = {1, 1, 1, 0, 1, 1, 0, 0, 1}, right[3] = {1, 2, 3};
    void *a = on_device ? device_new(host, sizeof host) : (void *)host;
    void *x = on_device ? device_new(right, sizeof right) : (void *)right;
    gpusolve_trsv *prepared = NULL;
    size_t bytes = 1;
    const gpusolve_uplo low = GPUSOLVE_LOWER;
    const gpusolve_trans plain = GPUSOLVE_NO_TRANS;
    const gpusolve_diag full = GPUSOLVE_NON_UNIT;
    CHECK_STATUS(gpusolve_trsv_query(NULL, GPUSOLVE_DOUBLE, 3, &bytes), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_trsv_query(handle, (gpusolve_dtype)9, -1, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "dtype:", 6) == 0);
    CHECK_STATUS(gpusolve_trsv_query(handle, GPUSOLVE_DOUBLE, -1, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "n:", 2) == 0);
    CHECK_STATUS(gpusolve_trsv_query(handle, GPUSOLVE_DOUBLE, (int64_t)1 << 31, &bytes), GPUSOLVE_TOO_LARGE);
    /* 2^61 numbers */
    CHECK_STATUS(gpusolve_trsv_query(handle, GPUSOLVE_FLOAT, INT32_MAX, &bytes),
                 on_device ? GPUSOLVE_TOO_LARGE : GPUSOLVE_OK);
    CHECK(bytes == 0);
    CHECK_STATUS(gpusolve_trsv_query(handle, GPUSOLVE_DOUBLE, 3, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "bytes:", 6) == 0);
    CHECK_STATUS(gpusolve_trsv_query(handle, GPUSOLVE_DOUBLE, 3, &bytes), GPUSOLVE_OK);
    CHECK(on_device ? bytes >= 6 * sizeof(double) : bytes == 0);

    CHECK_STATUS(gpusolve_trsv_prepare(NULL, GPUSOLVE_DOUBLE, low, plain, full, 3, a, 3, &prepared),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_trsv_prepare(handle, (gpusolve_dtype)9, low, plain, full, 3, a, 3, &prepared),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "dtype:", 6) == 0);
    CHECK_STATUS(gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, low, plain, full, 3, a, 2, &prepared),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "lda:", 4) == 0 && !prepared);
    CHECK_STATUS(gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, low, plain, full, 3, a, 3, NULL),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "prepared:", 9) == 0);
    CHECK_STATUS(gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, low, plain, full, 3, a, 3, &prepared),
                 GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_trsv_solve(NULL, prepared, x, 1), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_trsv_solve(handle, NULL, x, 1), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "prepared:", 9) == 0);
    CHECK_STATUS(gpusolve_trsv_solve(handle, prepared, NULL, 1), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "x:", 2) == 0);
    CHECK_STATUS(gpusolve_trsv_solve(handle, prepared, x, 0), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strncmp(gpusolve_last_error(handle), "incx:", 5) == 0);
    if (on_device) {
        CHECK_STATUS(gpusolve_trsv_solve(other, prepared, x, 1), GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(other), "prepared:", 9) == 0);
    }
    CHECK_STATUS(gpusolve_trsv_solve(handle, prepared, x, 1), GPUSOLVE_OK);
    if (on_device)
        CHECK(device_read(right, x, sizeof right) == 0);
    CHECK(right[0] == 1 && right[1] == 1 && right[2] == 1);
    gpusolve_trsv_destroy(prepared);
    gpusolve_trsv_destroy(NULL);

    /* n = 0 */
    CHECK_STATUS(gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, low, plain, full, 0, NULL, 1, &prepared),
                 GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_trsv_solve(handle, prepared, NULL, 1), GPUSOLVE_OK);
    gpusolve_trsv_destroy(prepared);

    /* whichever allocation fails, nothing is left behind */
    const int64_t before = gsv_live_allocations();
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    for (int k = 1; k < 20 && status != GPUSOLVE_OK; k++) {
        gsv_fail_allocation(k);
        status = gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, low, plain, full, 3, a, 3, &prepared);
        gsv_fail_allocation(0);
        CHECK(status == GPUSOLVE_OK || status == GPUSOLVE_OUT_OF_MEMORY ||
              status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
        CHECK(status == GPUSOLVE_OK || (!prepared && gsv_live_allocations() == before));
    }
    CHECK(status == GPUSOLVE_OK);
    gpusolve_trsv_destroy(prepared);
    if (on_device) {
        device_delete(a);
        device_delete(x);
    }
    gpusolve_destroy(handle);
    gpusolve_destroy(other);
}

static void check_backend(gpusolve_backend backend) {
    static const int64_t edges[] = {1, 7, 8, 9, 65, 255, 256, 257, 520};
    gpusolve_handle *handle = testing_handle(backend, 0);
    for (int variant = 0; variant < 12; variant++) {
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
            check_case(handle, (gpusolve_dtype)((k + (size_t)variant) % 4), variant, TRSV_TAME, edges[k],
                       (int64_t)(k % 3), k % 2 ? -2 : 1);
        for (int kind = TRSV_RANDOM; kind < TRSV_KINDS; kind++)
            check_case(handle, variant % 2 ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE, variant,
                       (trsv_kind)kind, 150, 0, 1);
    }
    for (int dtype = 0; dtype < 4; dtype++)
        for (int64_t n = 2047; n < 2052; n += 2)
            check_case(handle, (gpusolve_dtype)dtype, dtype * 3 % 8 + (int)(n % 4), TRSV_TAME, n, 1, 1);
    check_case(handle, GPUSOLVE_DOUBLE, 0, TRSV_TAME, 4500, 0, 1);
    check_case(handle, GPUSOLVE_DOUBLE, 5, TRSV_TAME, 2100, 3, 1);
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++)
        if (trsv_is_supported(backends[k])) {
            check_arguments(backends[k]);
            check_backend(backends[k]);
        }
    if (testing_checks == 0) {
        printf("skipped: neither a CBLAS nor a CUDA device\n");
        return TESTING_SKIPPED;
    }
    return testing_done();
}
