#include "context.h"

#include "../../memory.h"
#include "../../device.h"

static void destroy(gpusolve_handle *handle) {
    gsv_cuda_context *context = handle->dense;
    const int previous = gsv_cuda_enter(handle->device);
    gsv_cuda_blas_free(context->cublas);
    gsv_cuda_free(context->cublas_workspace);
    gsv_cuda_free(context->scratch);
    gsv_cuda_free(context->tile);
    gsv_cuda_free(context->ticket);
    gsv_free(context);
    handle->dense = NULL;
    handle->dense_destroy = NULL;
    gsv_cuda_leave(previous);
}

static gpusolve_status create(gpusolve_handle *handle) {
    gsv_message *message = &handle->message;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    gpusolve_status status = gsv_cuda_check(cudaStreamIsCapturing((cudaStream_t)handle->stream, &capture),
                                            "cudaStreamIsCapturing", message);
    if (status != GPUSOLVE_OK)
        return status;
    if (capture != cudaStreamCaptureStatusNone)
        return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED,
                        "the first dense call of a handle cannot be captured: query a workspace before");
    gsv_cuda_context *context = gsv_calloc(1, sizeof *context);
    if (!context)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for dense calls");
    handle->dense = context;
    handle->dense_destroy = destroy;
    status = gsv_cuda_malloc(&context->cublas_workspace, GSV_CONTEXT_BYTES, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&context->scratch, GSV_CONTEXT_BYTES, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&context->tile, GSV_CONTEXT_TILE * GSV_CONTEXT_TILE * 16, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&context->ticket, GSV_CONTEXT_TICKET, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(gsv_cuda_clear(context->ticket, GSV_CONTEXT_TICKET), "cudaMemset", message);
    if (status == GPUSOLVE_OK)
        status =
            gsv_cuda_check(cudaDeviceGetAttribute(&context->device.shared_bytes,
                                                  cudaDevAttrMaxSharedMemoryPerBlockOptin, handle->device),
                           "cudaDeviceGetAttribute", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(
            cudaDeviceGetAttribute(&context->device.clusters, cudaDevAttrClusterLaunch, handle->device),
            "cudaDeviceGetAttribute", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_blas(&context->cublas, message);
    if (status != GPUSOLVE_OK)
        destroy(handle);
    return status;
}

gpusolve_status gsv_cuda_context_of(gpusolve_handle *handle, gsv_cuda_context **context) {
    if (!handle->dense) {
        const gpusolve_status status = create(handle);
        if (status != GPUSOLVE_OK)
            return status;
    }
    gsv_cuda_context *found = handle->dense;
    *context = found;
    /* A new stream takes the workspace away again, so it is given each time. */
    if (cublasSetStream(found->cublas, (cudaStream_t)handle->stream) != CUBLAS_STATUS_SUCCESS ||
        cublasSetWorkspace(found->cublas, found->cublas_workspace, GSV_CONTEXT_BYTES) !=
            CUBLAS_STATUS_SUCCESS)
        return gsv_fail(&handle->message, GPUSOLVE_CUDA_ERROR, "cuBLAS refused the handle's stream");
    return GPUSOLVE_OK;
}
