/*
 * gpusolve_?potrs: X = inv(L L') B with L from A = L L' (lower), or U from A = U' U (upper), in place: two
 * triangular solves.
 */
#include "dense_checks.h"

static gpusolve_status solve(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                             int64_t nrhs, const void *A, int64_t lda, void *B, int64_t ldb,
                             gsv_workspace_argument workspace) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_dense_check_uplo(handle, uplo);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "n", n, 0);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "nrhs", nrhs, 0);
    gsv_triangular p = {.operation = GSV_SOLVE,
                        .dtype = dtype,
                        .side = GPUSOLVE_LEFT,
                        .uplo = uplo,
                        .diag = GPUSOLVE_NON_UNIT,
                        .order = n,
                        .vectors = nrhs,
                        .a = A,
                        .lda = lda,
                        .b = B,
                        .ldb = ldb};
    if (status == GPUSOLVE_OK)
        status = gsv_triangular_check_operands(handle, &p, 1, 0);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_workspace(handle, workspace);
    if (status == GPUSOLVE_OK)
        status = gsv_triangular_check_apart(handle, &p, (gsv_number){1, 0}, workspace);
    const gpusolve_trans steps[2] = {uplo == GPUSOLVE_LOWER ? GPUSOLVE_NO_TRANS : GPUSOLVE_CONJ_TRANS,
                                     uplo == GPUSOLVE_LOWER ? GPUSOLVE_CONJ_TRANS : GPUSOLVE_NO_TRANS};
    for (int k = 0; k < 2 && status == GPUSOLVE_OK && n > 0 && nrhs > 0; k++) {
        p.trans = steps[k];
        status = gsv_triangular_dispatch(handle, &p, (gsv_number){1, 0}, workspace);
    }
    return status;
}

gpusolve_status gpusolve_potrs_workspace(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t n,
                                         int64_t nrhs, size_t *bytes) {
    static const char *const sizes[2] = {"n", "nrhs"};
    const gsv_triangular p = {.operation = GSV_SOLVE, .dtype = dtype, .side = GPUSOLVE_LEFT};
    return gsv_triangular_query(handle, p, sizes, n, nrhs, bytes);
}

gpusolve_status gpusolve_spotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, int64_t nrhs,
                                const float *A, int64_t lda, float *B, int64_t ldb, void *workspace,
                                size_t workspace_bytes) {
    return solve(handle, GPUSOLVE_FLOAT, uplo, n, nrhs, A, lda, B, ldb,
                 (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_dpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, int64_t nrhs,
                                const double *A, int64_t lda, double *B, int64_t ldb, void *workspace,
                                size_t workspace_bytes) {
    return solve(handle, GPUSOLVE_DOUBLE, uplo, n, nrhs, A, lda, B, ldb,
                 (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_cpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, int64_t nrhs,
                                const void *A, int64_t lda, void *B, int64_t ldb, void *workspace,
                                size_t workspace_bytes) {
    return solve(handle, GPUSOLVE_COMPLEX_FLOAT, uplo, n, nrhs, A, lda, B, ldb,
                 (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_zpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, int64_t nrhs,
                                const void *A, int64_t lda, void *B, int64_t ldb, void *workspace,
                                size_t workspace_bytes) {
    return solve(handle, GPUSOLVE_COMPLEX_DOUBLE, uplo, n, nrhs, A, lda, B, ldb,
                 (gsv_workspace_argument){workspace, workspace_bytes});
}
