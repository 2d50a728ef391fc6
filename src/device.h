/* The current CUDA device: errors, memory, and whose turn it is. In builds with CUDA alone. */
#ifndef GSV_DEVICE_H
#define GSV_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Translate a CUDA error, clear it, and say which call failed. cudaSuccess gives GPUSOLVE_OK. */
gpusolve_status gsv_cuda_check(cudaError_t error, const char *call, gsv_message *message);

/*
 * Everything that the library makes on a device is made by one of these functions. Each asks
 * gsv_allocation_fails() first, and gsv_live_on_device() counts what it made. On failure the pointer is NULL.
 * The functions that free accept NULL.
 */
/* Device memory. bytes == 0 gives NULL and success. */
gpusolve_status gsv_cuda_malloc(void **memory, int64_t bytes, gsv_message *message);
void gsv_cuda_free(void *memory);
/* Pinned host memory; flags as for cudaHostAlloc. bytes == 0 gives NULL and success. */
gpusolve_status gsv_cuda_pin(void **memory, size_t bytes, unsigned flags, gsv_message *message);
void gsv_cuda_unpin(void *memory);
/* A stream that does not wait for the legacy stream; an event without a time. */
gpusolve_status gsv_cuda_stream(cudaStream_t *stream, gsv_message *message);
void gsv_cuda_stream_free(cudaStream_t stream);
gpusolve_status gsv_cuda_event(cudaEvent_t *event, gsv_message *message);
void gsv_cuda_event_free(cudaEvent_t event);
/* cudaGraphInstantiate. */
gpusolve_status gsv_cuda_graph(cudaGraphExec_t *exec, cudaGraph_t graph, gsv_message *message);
void gsv_cuda_graph_free(cudaGraphExec_t exec);
/* A cublasHandle_t, which is a pointer to this. */
struct cublasContext;
gpusolve_status gsv_cuda_blas(struct cublasContext **blas, gsv_message *message);
void gsv_cuda_blas_free(struct cublasContext *blas);

/* Fill device memory from pageable host memory, or with zeros. Both have happened when they return, for
 * streams of every kind: cudaMemcpy and cudaMemset may return earlier, and only the legacy stream and those
 * that wait for it come after them. */
cudaError_t gsv_cuda_fill(void *memory, const void *from, size_t bytes);
cudaError_t gsv_cuda_clear(void *memory, size_t bytes);

/* Make a device current, and the one before again. Each public call of the CUDA executor is between the two.
 */
int gsv_cuda_enter(int device);
void gsv_cuda_leave(int previous);

/* Is this pointer one that kernels can use (device or managed memory)? */
int gsv_cuda_is_device(const void *pointer);

/* Where a caller's memory is. Kernels and cuBLAS get pointers of the last two kinds alone. */
enum {
    GSV_PAGEABLE = 0, /* host memory that CUDA does not know */
    GSV_PINNED = 1,   /* host memory of cudaHostAlloc or cudaHostRegister, mapped or not */
    GSV_MANAGED = 2,  /* cudaMallocManaged */
    GSV_ON_DEVICE = 3 /* of this device: cudaMalloc, a memory pool's, mapped by the driver's functions */
};

/*
 * Find out where a caller's memory is; one query of the CUDA runtime, allowed while a stream is captured.
 * Memory of another device than `device` is refused with a sentence that names the argument and both devices.
 * Peer access does not change that: the caller may disable it again at any time, and the next kernel that
 * uses the memory then ends the process' CUDA context.
 * - name: of the argument, for the sentence.
 * - where: [out] one of the above; GSV_PAGEABLE on failure.
 */
gpusolve_status gsv_cuda_check_pointer(int device, const char *name, const void *pointer, int *where,
                                       gsv_message *message);

#ifdef __cplusplus
}
#endif
#endif
