/* The CUDA backend of potri.h: cuBLAS's rank-k update, the library's own TRSM and TRMM. */
#include "../potri.h"

#include "../../device.h"
#include "context.h"
#include "diagonal.h"
#include "leaf/leaf.h"

typedef struct inverse_run {
    gpusolve_handle *handle;
    gsv_cuda_context *cuda;
    void *workspace;
    size_t workspace_bytes;
} inverse_run;

static gpusolve_status triangular(void *context, const gsv_triangular *p, gsv_number alpha) {
    const inverse_run *run = context;
    return gsv_triangular_cuda(run->handle, p, alpha, run->workspace, run->workspace_bytes);
}

static gpusolve_status copy_triangle(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo,
                                     const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t n,
                                     int fill) {
    const inverse_run *run = context;
    return gsv_cuda_check(gsv_leaf_functions_of(dtype)->copy_triangle(from, from_ld, to, to_ld, n,
                                                                      uplo == GPUSOLVE_LOWER, fill,
                                                                      (cudaStream_t)run->handle->stream),
                          "copying a triangle", &run->handle->message);
}

static gpusolve_status rank_k(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo, int trans, int64_t n,
                              int64_t k, const void *a, int64_t lda, double beta, void *c, int64_t ldc) {
    const inverse_run *run = context;
    const cublasFillMode_t fill = uplo == GPUSOLVE_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t real = trans ? CUBLAS_OP_T : CUBLAS_OP_N, op = trans ? CUBLAS_OP_C : CUBLAS_OP_N;
    const int order = (int)n, depth = (int)k, ld_a = (int)lda, ld_c = (int)ldc;
    const float one_s = 1, beta_s = (float)beta;
    const double one_d = 1;
    cublasHandle_t cublas = run->cuda->cublas;
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        status = cublasSsyrk(cublas, fill, real, order, depth, &one_s, a, ld_a, &beta_s, c, ld_c);
        break;
    case GPUSOLVE_DOUBLE:
        status = cublasDsyrk(cublas, fill, real, order, depth, &one_d, a, ld_a, &beta, c, ld_c);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        status = cublasCherk(cublas, fill, op, order, depth, &one_s, a, ld_a, &beta_s, c, ld_c);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        status = cublasZherk(cublas, fill, op, order, depth, &one_d, a, ld_a, &beta, c, ld_c);
        break;
    }
    if (status == CUBLAS_STATUS_SUCCESS)
        return GPUSOLVE_OK;
    cudaGetLastError();
    return gsv_fail(&run->handle->message, GPUSOLVE_CUDA_ERROR, "cuBLAS rank-k update: %s",
                    cublasGetStatusString(status));
}

/* GPUSOLVE_SINGULAR if there is a zero on the diagonal. Waits for the stream, whose earlier work may have made
 * A; while it is captured, A is not there yet, and nothing is looked at. The tile is free until the inversion
 * begins, and holds the answer. */
static gpusolve_status check_diagonal(const inverse_run *run, const gsv_inverse_problem *p) {
    const cudaStream_t stream = (cudaStream_t)run->handle->stream;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    uint64_t place = 0;
    cudaError_t error = cudaStreamIsCapturing(stream, &capture);
    if (error == cudaSuccess && capture != cudaStreamCaptureStatusNone)
        return GPUSOLVE_OK;
    enum cudaStreamCaptureMode mode =
        cudaStreamCaptureModeRelaxed; /* this thread may capture another stream */
    const int exchanged = cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess;
    if (error == cudaSuccess)
        error = gsv_cuda_first_zero(p->dtype, p->a, p->lda, p->n, run->cuda->tile, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(&place, run->cuda->tile, sizeof place, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (exchanged)
        cudaThreadExchangeStreamCaptureMode(&mode);
    if (error != cudaSuccess)
        return gsv_cuda_check(error, "looking at a diagonal", &run->handle->message);
    return gsv_inverse_judge(run->handle, place == UINT64_MAX ? 0 : (int64_t)place);
}

gpusolve_status gsv_inverse_cuda(gpusolve_handle *handle, const gsv_inverse_problem *p, void *workspace,
                                 size_t workspace_bytes) {
    inverse_run run = {handle, NULL, workspace, workspace_bytes};
    gpusolve_status status = gsv_cuda_context_of(handle, &run.cuda);
    if (status == GPUSOLVE_OK)
        status = check_diagonal(&run, p);
    if (status != GPUSOLVE_OK)
        return status;
    const gsv_inverse_backend backend = {&run,       GSV_CONTEXT_TILE, run.cuda->tile,
                                         triangular, copy_triangle,    rank_k};
    return gsv_inverse_run(p, &backend);
}
