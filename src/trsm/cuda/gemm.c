#include "gemm.h"

#include <cuda_runtime_api.h>

static const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};

static gpusolve_status checked(cublasStatus_t status, const char *call, gsv_message *message) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return GPUSOLVE_OK;
    cudaGetLastError(); /* so that it is not taken for somebody else's */
    return gsv_fail(message, GPUSOLVE_CUDA_ERROR, "%s: %s", call, cublasGetStatusString(status));
}

gpusolve_status gsv_cuda_gemm(cublasHandle_t cublas, const gsv_triangular *p, const void *a, const void *b,
                              void *c, int64_t to_size, int64_t from_size, gsv_number alpha, gsv_number beta,
                              gsv_message *message) {
    const int left = p->side == GPUSOLVE_LEFT, lda = (int)p->lda, ldb = (int)p->ldb;
    /* left: C = op(A) B; right: C = B op(A) */
    const int m = (int)(left ? to_size : p->vectors), n = (int)(left ? p->vectors : to_size),
              k = (int)from_size;
    const void *first = left ? a : b, *second = left ? b : a;
    const cublasOperation_t op1 = left ? operations[p->trans] : CUBLAS_OP_N;
    const cublasOperation_t op2 = left ? CUBLAS_OP_N : operations[p->trans];
    const int ld1 = left ? lda : ldb, ld2 = left ? ldb : lda;
    const float alpha_s = (float)alpha.re, beta_s = (float)beta.re;
    const cuComplex alpha_c = {alpha_s, (float)alpha.im}, beta_c = {beta_s, (float)beta.im};
    const cuDoubleComplex alpha_z = {alpha.re, alpha.im}, beta_z = {beta.re, beta.im};
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        status = cublasSgemm(cublas, op1, op2, m, n, k, &alpha_s, first, ld1, second, ld2, &beta_s, c, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        status = cublasDgemm(cublas, op1, op2, m, n, k, &alpha.re, first, ld1, second, ld2, &beta.re, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        status = cublasCgemm(cublas, op1, op2, m, n, k, &alpha_c, first, ld1, second, ld2, &beta_c, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        status = cublasZgemm(cublas, op1, op2, m, n, k, &alpha_z, first, ld1, second, ld2, &beta_z, c, ldb);
        break;
    }
    return checked(status, "cuBLAS GEMM", message);
}

gpusolve_status gsv_cuda_trmm(cublasHandle_t cublas, const gsv_triangular *p, int64_t start, int64_t size,
                              int64_t vectors, gsv_number alpha, const void *c, int64_t ldc, void *b,
                              gsv_message *message) {
    const int left = p->side == GPUSOLVE_LEFT, lda = (int)p->lda, ldb = (int)p->ldb, ld = (int)ldc;
    const void *a = (const char *)p->a + gsv_place_in_a(p, start, start) * gsv_number_bytes(p->dtype);
    const int m = (int)(left ? size : vectors), n = (int)(left ? vectors : size);
    const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t uplo = p->uplo == GPUSOLVE_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasDiagType_t diag = p->diag == GPUSOLVE_UNIT ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const cublasOperation_t op = operations[p->trans];
    const float alpha_s = (float)alpha.re;
    const cuComplex alpha_c = {alpha_s, (float)alpha.im};
    const cuDoubleComplex alpha_z = {alpha.re, alpha.im};
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        status = cublasStrmm(cublas, side, uplo, op, diag, m, n, &alpha_s, a, lda, c, ld, b, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        status = cublasDtrmm(cublas, side, uplo, op, diag, m, n, &alpha.re, a, lda, c, ld, b, ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        status = cublasCtrmm(cublas, side, uplo, op, diag, m, n, &alpha_c, a, lda, c, ld, b, ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        status = cublasZtrmm(cublas, side, uplo, op, diag, m, n, &alpha_z, a, lda, c, ld, b, ldb);
        break;
    }
    return checked(status, "cuBLAS TRMM", message);
}

gpusolve_status gsv_cuda_trsm(cublasHandle_t cublas, const gsv_triangular *p, int64_t start, int64_t size,
                              gsv_number alpha, gsv_message *message) {
    const int left = p->side == GPUSOLVE_LEFT, lda = (int)p->lda, ldb = (int)p->ldb;
    const void *a = (const char *)p->a + gsv_place_in_a(p, start, start) * gsv_number_bytes(p->dtype);
    void *b = (char *)p->b + gsv_place_in_b(p, start) * gsv_number_bytes(p->dtype);
    const int m = (int)(left ? size : p->vectors), n = (int)(left ? p->vectors : size);
    const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t uplo = p->uplo == GPUSOLVE_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasDiagType_t diag = p->diag == GPUSOLVE_UNIT ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const cublasOperation_t op = operations[p->trans];
    const float alpha_s = (float)alpha.re;
    const cuComplex alpha_c = {alpha_s, (float)alpha.im};
    const cuDoubleComplex alpha_z = {alpha.re, alpha.im};
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        status = cublasStrsm(cublas, side, uplo, op, diag, m, n, &alpha_s, a, lda, b, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        status = cublasDtrsm(cublas, side, uplo, op, diag, m, n, &alpha.re, a, lda, b, ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        status = cublasCtrsm(cublas, side, uplo, op, diag, m, n, &alpha_c, a, lda, b, ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        status = cublasZtrsm(cublas, side, uplo, op, diag, m, n, &alpha_z, a, lda, b, ldb);
        break;
    }
    return checked(status, "cuBLAS TRSM", message);
}
