/*
 * gpusolve_?trsm and gpusolve_?trmm:  op(A) X = alpha B,  X op(A) = alpha B,  B := alpha op(A) B,
 * B := alpha B op(A). Arguments are checked here, for both backends; what is empty ends here.
 */
#include "dense_checks.h"

/* p: order and vectors are still to be filled in. alpha: NULL where the caller's was. */
static gpusolve_status call(gpusolve_handle *handle, gsv_triangular *p, int64_t m, int64_t n,
                            const gsv_number *alpha, gsv_workspace_argument workspace) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_triangular_check(handle, p, m, n, alpha, 0);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_workspace(handle, workspace);
    if (status == GPUSOLVE_OK)
        status = gsv_triangular_check_apart(handle, p, *alpha, workspace);
    return status != GPUSOLVE_OK || m == 0 || n == 0 ? status
                                                     : gsv_triangular_dispatch(handle, p, *alpha, workspace);
}

static const char *const sizes[2] = {"m", "n"};

gpusolve_status gpusolve_trsm_workspace(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_side side,
                                        int64_t m, int64_t n, size_t *bytes) {
    const gsv_triangular p = {.operation = GSV_SOLVE, .dtype = dtype, .side = side};
    return gsv_triangular_query(handle, p, sizes, m, n, bytes);
}

gpusolve_status gpusolve_trmm_workspace(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_side side,
                                        int64_t m, int64_t n, size_t *bytes) {
    const gsv_triangular p = {.operation = GSV_MULTIPLY, .dtype = dtype, .side = side};
    return gsv_triangular_query(handle, p, sizes, m, n, bytes);
}

static gsv_number real_number(double alpha) {
    return (gsv_number){alpha, 0};
}

static gsv_number single_complex(const void *alpha) {
    return alpha ? gsv_number_at(GPUSOLVE_COMPLEX_FLOAT, alpha) : real_number(0);
}

static gsv_number double_complex(const void *alpha) {
    return alpha ? gsv_number_at(GPUSOLVE_COMPLEX_DOUBLE, alpha) : real_number(0);
}

/* The body of a public call; `given` is 0 where alpha is a NULL pointer. */
#define CALL(operation, dtype, number, given)                                                 \
    do {                                                                                      \
        gsv_triangular p = {operation, dtype, side, uplo, trans, diag, 0, 0, A, lda, B, ldb}; \
        const gsv_number value = number(alpha);                                               \
        return call(handle, &p, m, n, (given) ? &value : NULL,                                \
                    (gsv_workspace_argument){workspace, workspace_bytes});                    \
    } while (0)

gpusolve_status gpusolve_strsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n, float alpha,
                               const float *A, int64_t lda, float *B, int64_t ldb, void *workspace,
                               size_t workspace_bytes) {
    CALL(GSV_SOLVE, GPUSOLVE_FLOAT, real_number, 1);
}

gpusolve_status gpusolve_dtrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n, double alpha,
                               const double *A, int64_t lda, double *B, int64_t ldb, void *workspace,
                               size_t workspace_bytes) {
    CALL(GSV_SOLVE, GPUSOLVE_DOUBLE, real_number, 1);
}

gpusolve_status gpusolve_ctrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                               const void *alpha, const void *A, int64_t lda, void *B, int64_t ldb,
                               void *workspace, size_t workspace_bytes) {
    CALL(GSV_SOLVE, GPUSOLVE_COMPLEX_FLOAT, single_complex, alpha != NULL);
}

gpusolve_status gpusolve_ztrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                               const void *alpha, const void *A, int64_t lda, void *B, int64_t ldb,
                               void *workspace, size_t workspace_bytes) {
    CALL(GSV_SOLVE, GPUSOLVE_COMPLEX_DOUBLE, double_complex, alpha != NULL);
}

gpusolve_status gpusolve_strmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n, float alpha,
                               const float *A, int64_t lda, float *B, int64_t ldb, void *workspace,
                               size_t workspace_bytes) {
    CALL(GSV_MULTIPLY, GPUSOLVE_FLOAT, real_number, 1);
}

gpusolve_status gpusolve_dtrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n, double alpha,
                               const double *A, int64_t lda, double *B, int64_t ldb, void *workspace,
                               size_t workspace_bytes) {
    CALL(GSV_MULTIPLY, GPUSOLVE_DOUBLE, real_number, 1);
}

gpusolve_status gpusolve_ctrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                               const void *alpha, const void *A, int64_t lda, void *B, int64_t ldb,
                               void *workspace, size_t workspace_bytes) {
    CALL(GSV_MULTIPLY, GPUSOLVE_COMPLEX_FLOAT, single_complex, alpha != NULL);
}

gpusolve_status gpusolve_ztrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                               gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                               const void *alpha, const void *A, int64_t lda, void *B, int64_t ldb,
                               void *workspace, size_t workspace_bytes) {
    CALL(GSV_MULTIPLY, GPUSOLVE_COMPLEX_DOUBLE, double_complex, alpha != NULL);
}
