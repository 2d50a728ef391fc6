/*
 * gpusolve_?trsv against its equation: every precision, triangle, transposition and diagonal at sizes around
 * every edge of a block, with padded and strided operands, and on triangles built to break solving by
 * explicit inversion.
 */
#include "trsv_cases.h"

static const char letters[] = "sdcz";

static void check_case(gpusolve_handle *handle, gpusolve_dtype dtype, int variant, trsv_kind kind, int64_t n,
                       int64_t padding, int64_t incx) {
    const gpusolve_uplo uplo = variant & 1 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER;
    const gpusolve_diag diag = variant & 2 ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT;
    const gpusolve_trans trans = (gpusolve_trans)(variant / 4);
    testing_in("%s, %ctrsv %s %c %s, kind %d, n %lld, lda n + %lld, incx %lld",
               testing_backend_name(gpusolve_get_backend(handle)), letters[dtype],
               uplo == GPUSOLVE_UPPER ? "upper" : "lower", "NTC"[trans], diag == GPUSOLVE_UNIT ? "unit" : "",
               (int)kind, (long long)n, (long long)padding, (long long)incx);
    trsv_case c = trsv_make(dtype, uplo, trans, diag, kind, n, padding, incx);
    CHECK_STATUS(trsv_solve(handle, &c), GPUSOLVE_OK);
    const trsv_ratios ratios = trsv_measure(&c);
    CHECK_BELOW(ratios.lapack, 30);
    CHECK_BELOW(ratios.component, 10);
    CHECK(ratios.padding);
    trsv_free(&c);
}

/* A of groups of three rows that know nothing of one another: where b is zero in a whole group, so is x, to
 * the last bit, and a row whose every term is zero has no residual. */
static void check_zeros(gpusolve_handle *handle, gpusolve_dtype dtype, int variant, int64_t n) {
    const gpusolve_uplo uplo = variant & 1 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER;
    const gpusolve_trans trans = (gpusolve_trans)(variant / 4);
    const int turned = (uplo == GPUSOLVE_UPPER) != (trans != GPUSOLVE_NO_TRANS);
    testing_in("%s, zeros in b, dtype %d, variant %d, n %lld",
               testing_backend_name(gpusolve_get_backend(handle)), (int)dtype, variant, (long long)n);
    trsv_case c =
        trsv_make(dtype, uplo, trans, variant & 2 ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT, TRSV_CHAIN, n, 0, 1);
    for (int64_t i = 0; i < n; i++)
        if ((turned ? n - 1 - i : i) / 3 % 2) {
            testing_store(dtype, c.x, i, 0);
            c.b[i] = 0;
        }
    CHECK_STATUS(trsv_solve(handle, &c), GPUSOLVE_OK);
    int64_t zeros = 0, expected = 0;
    for (int64_t i = 0; i < n; i++)
        if ((turned ? n - 1 - i : i) / 3 % 2) {
            expected++;
            zeros += testing_fetch(dtype, c.x, i) == 0;
        }
    CHECK(zeros == expected);
    const trsv_ratios ratios = trsv_measure(&c);
    CHECK_BELOW(ratios.lapack, 30);
    CHECK_BELOW(ratios.component, 10);
    trsv_free(&c);
}

static void check_backend(gpusolve_backend backend) {
    static const int64_t edges[] = {1,  2,  3,  8,   15,  16,  17,  31,  32,  33,  47,  48,  49, 63,
                                    64, 65, 95, 127, 128, 129, 191, 192, 193, 255, 256, 257, 321};
    static const int64_t strides[] = {1, 2, -1, -3};
    gpusolve_handle *handle = testing_handle(backend, 0);
    for (int dtype = 0; dtype < 4; dtype++) {
        for (int variant = 0; variant < 12; variant += testing_few() ? 5 : 1) {
            for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
                check_case(handle, (gpusolve_dtype)dtype, variant, TRSV_TAME, edges[k], (int64_t)(k % 3) * 5,
                           strides[(k + (size_t)variant) % 4]);
            for (int kind = TRSV_RANDOM; kind < TRSV_KINDS; kind++) {
                check_case(handle, (gpusolve_dtype)dtype, variant, (trsv_kind)kind, 30, 1, 1);
                check_case(handle, (gpusolve_dtype)dtype, variant, (trsv_kind)kind, 61, 0, 1);
                check_case(handle, (gpusolve_dtype)dtype, variant, (trsv_kind)kind, 100, 3, -2);
            }
        }
        for (int variant = 0; variant < 12; variant++) {
            check_zeros(handle, (gpusolve_dtype)dtype, variant, 50);
            check_zeros(handle, (gpusolve_dtype)dtype, variant, 300);
        }
        check_case(handle, (gpusolve_dtype)dtype, dtype, TRSV_TAME, 1000, 0, 1);
        check_case(handle, (gpusolve_dtype)dtype, dtype + 4, TRSV_TAME, 1201, 7, 1);
    }
    if (backend == GPUSOLVE_BACKEND_CUDA) { /* rows that two blocks of threads read (trsv_launch.cuh) */
        check_case(handle, GPUSOLVE_COMPLEX_DOUBLE, 0, TRSV_TAME, 4701, 2, 1);
        check_case(handle, GPUSOLVE_COMPLEX_DOUBLE, 5, TRSV_TAME, 4700, 0, -1);
        check_case(handle, GPUSOLVE_FLOAT, 1, TRSV_TAME, 9100, 0, 1);
    }
    /* more than single precision can hold: the solution grows with the order */
    for (int variant = 0; variant < 12; variant++)
        for (int kind = TRSV_RANDOM; kind < TRSV_KINDS; kind++)
            for (int dtype = GPUSOLVE_DOUBLE; dtype < 4; dtype += 2) {
                check_case(handle, (gpusolve_dtype)dtype, variant, (trsv_kind)kind, 161, 0, 1);
                check_case(handle, (gpusolve_dtype)dtype, variant, (trsv_kind)kind, 401, 1, 1);
            }
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++)
        if (trsv_is_supported(backends[k]))
            check_backend(backends[k]);
    if (testing_checks == 0) {
        printf("skipped: neither a CBLAS nor a CUDA device\n");
        return TESTING_SKIPPED;
    }
    return testing_done();
}
