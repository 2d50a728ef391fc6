/* In place of CUDA's runtime and of what the library knows of a device: no device, no memory, and nothing happens. */
#ifndef GPUSOLVE_TESTS_NO_DEVICE_H
#define GPUSOLVE_TESTS_NO_DEVICE_H

#include "supernodal/cuda/batch_apart.h"
#include "supernodal/cuda/products/products.h"
#include "supernodal/cuda/support.h"

/* Every call is captured, so that a solve launches its sweeps one by one. */
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *capture) {
    (void)stream;
    *capture = cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    (void)stream, (void)mode;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    (void)stream;
    *graph = NULL;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    (void)graph;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    (void)graph, (void)stream;
    return cudaErrorUnknown;
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    *device = host;
    return cudaSuccess;
}
gpusolve_status gsv_cuda_check(cudaError_t error, const char *call, gsv_message *message) {
    return error == cudaSuccess ? GPUSOLVE_OK : gsv_fail(message, GPUSOLVE_CUDA_ERROR, "%s failed", call);
}
static char no_memory[16];
gpusolve_status gsv_cuda_malloc(void **memory, int64_t bytes, gsv_message *message) {
    (void)message;
    *memory = bytes > 0 ? no_memory : NULL;
    return GPUSOLVE_OK;
}
void gsv_cuda_free(void *memory) {
    (void)memory;
}
static int pinned_word;
gpusolve_status gsv_cuda_pin(void **memory, size_t bytes, unsigned flags, gsv_message *message) {
    (void)bytes, (void)flags, (void)message;
    *memory = &pinned_word;
    return GPUSOLVE_OK;
}
void gsv_cuda_unpin(void *memory) {
    (void)memory;
}
gpusolve_status gsv_cuda_stream(cudaStream_t *stream, gsv_message *message) {
    (void)message;
    *stream = NULL;
    return GPUSOLVE_OK;
}
void gsv_cuda_stream_free(cudaStream_t stream) {
    (void)stream;
}
gpusolve_status gsv_cuda_graph(cudaGraphExec_t *exec, cudaGraph_t graph, gsv_message *message) {
    (void)graph, (void)message;
    *exec = NULL;
    return GPUSOLVE_OK;
}
void gsv_cuda_graph_free(cudaGraphExec_t exec) {
    (void)exec;
}
cudaError_t gsv_cuda_fill(void *memory, const void *content, size_t bytes) {
    (void)memory, (void)content, (void)bytes;
    return cudaSuccess;
}
int gsv_cuda_enter(int device) {
    return device;
}
void gsv_cuda_leave(int previous) {
    (void)previous;
}
int gsv_cuda_is_device(const void *pointer) {
    (void)pointer;
    return 1;
}
gpusolve_status gsv_cuda_copy_determinant(gpusolve_handle *handle, const gpusolve_factor *factor, int first,
                                          int count, double *to) {
    (void)handle, (void)factor, (void)first, (void)count, (void)to;
    return GPUSOLVE_OK;
}
cudaError_t gsv_cuda_draw(gpusolve_dtype dtype, const gsv_drawing *drawing, gsv_device_dense x,
                          cudaStream_t stream) {
    (void)dtype, (void)drawing, (void)x, (void)stream;
    return cudaErrorUnknown;
}
cudaError_t gsv_cuda_draw_vectors(gpusolve_dtype dtype, const gsv_drawing *drawing, void *to, int columns,
                                  int drawn, int *broken, cudaStream_t stream) {
    (void)dtype, (void)drawing, (void)to, (void)columns, (void)drawn, (void)broken, (void)stream;
    return cudaErrorUnknown;
}
cudaError_t gsv_cuda_add_mean(gpusolve_dtype dtype, int64_t n, const void *mean, gsv_device_dense x,
                              cudaStream_t stream) {
    (void)dtype, (void)n, (void)mean, (void)x, (void)stream;
    return cudaErrorUnknown;
}
cudaError_t gsv_cuda_store_mean(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                const void *from, const void *mean, gsv_device_dense to) {
    (void)dtype, (void)launch, (void)inverse, (void)from, (void)mean, (void)to;
    return cudaErrorUnknown;
}
void gsv_cuda_recording_begins(void) {}
void gsv_cuda_recording_ends(void) {}
void gsv_cuda_refine_release(gpusolve_workspace *workspace) {
    (void)workspace;
}
gsv_device_dense gsv_cuda_dense(const gpusolve_dense *dense) {
    return (gsv_device_dense){dense->values, 1, dense->ld, (int32_t)dense->cols};
}
gsv_device_dense gsv_cuda_packed(const gpusolve_dense *dense, void *values) {
    return (gsv_device_dense){values, 1, dense->ld, (int32_t)dense->cols};
}
cudaError_t gsv_cuda_copy_block(gpusolve_handle *handle, const gpusolve_dense *host, void *device,
                                enum cudaMemcpyKind kind) {
    (void)handle, (void)host, (void)device, (void)kind;
    return cudaErrorUnknown;
}
int64_t gsv_cuda_factor_bytes(const gsv_plan *plan, gsv_numbers numbers, int has_d) {
    (void)plan, (void)numbers, (void)has_d;
    return 0;
}

/* No batches here: no block of right-hand sides is one of theirs. */
cudaError_t gsv_cuda_load_apart(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                gsv_device_dense from, int32_t each, int64_t extra, void *to) {
    (void)dtype, (void)launch, (void)inverse, (void)from, (void)each, (void)extra, (void)to;
    return cudaErrorUnknown;
}
cudaError_t gsv_cuda_store_apart(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                 const void *from, gsv_device_dense to, int32_t each, int64_t extra) {
    (void)dtype, (void)launch, (void)inverse, (void)from, (void)to, (void)each, (void)extra;
    return cudaErrorUnknown;
}

#endif
