#include "device.h"

#include <cublas_v2.h>
#include <stdio.h>

#include "memory.h"

gpusolve_status gsv_cuda_check(cudaError_t error, const char *call, gsv_message *message) {
    if (error == cudaSuccess)
        return GPUSOLVE_OK;
    cudaGetLastError(); /* clear it, so that it is not taken for somebody else's */
    return gsv_fail(message,
                    error == cudaErrorMemoryAllocation ? GPUSOLVE_OUT_OF_DEVICE_MEMORY : GPUSOLVE_CUDA_ERROR,
                    "%s: %s", call, cudaGetErrorString(error));
}

/* ------------------------------------------------------------------------------ what can run short --- */

/* Counts what was made, or says what was not. */
static gpusolve_status made(cudaError_t error, const char *call, gsv_message *message) {
    if (error == cudaSuccess)
        gsv_count_on_device(1);
    return gsv_cuda_check(error, call, message);
}

gpusolve_status gsv_cuda_malloc(void **memory, int64_t bytes, gsv_message *message) {
    *memory = NULL;
    if (bytes == 0)
        return GPUSOLVE_OK;
    const cudaError_t error =
        gsv_allocation_fails() ? cudaErrorMemoryAllocation : cudaMalloc(memory, (size_t)bytes);
    if (error != cudaSuccess)
        *memory = NULL;
    char call[64];
    snprintf(call, sizeof call, "allocating %lld bytes on the device", (long long)bytes);
    return made(error, call, message);
}

void gsv_cuda_free(void *memory) {
    if (!memory) /* no call at all, for cudaFree spoils a capture even so */
        return;
    gsv_count_on_device(-1);
    cudaFree(memory);
}

gpusolve_status gsv_cuda_pin(void **memory, size_t bytes, unsigned flags, gsv_message *message) {
    *memory = NULL;
    if (bytes == 0)
        return GPUSOLVE_OK;
    const cudaError_t error =
        gsv_allocation_fails() ? cudaErrorMemoryAllocation : cudaHostAlloc(memory, bytes, flags);
    if (error == cudaSuccess)
        return made(error, "cudaHostAlloc", message);
    *memory = NULL;
    cudaGetLastError();
    return gsv_fail(message,
                    error == cudaErrorMemoryAllocation ? GPUSOLVE_OUT_OF_MEMORY : GPUSOLVE_CUDA_ERROR,
                    "allocating %zu bytes of pinned host memory: %s", bytes, cudaGetErrorString(error));
}

void gsv_cuda_unpin(void *memory) {
    if (!memory)
        return;
    gsv_count_on_device(-1);
    cudaFreeHost(memory);
}

gpusolve_status gsv_cuda_stream(cudaStream_t *stream, gsv_message *message) {
    *stream = NULL;
    const cudaError_t error = gsv_allocation_fails()
                                  ? cudaErrorMemoryAllocation
                                  : cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        *stream = NULL;
    return made(error, "cudaStreamCreateWithFlags", message);
}

void gsv_cuda_stream_free(cudaStream_t stream) {
    if (!stream)
        return;
    gsv_count_on_device(-1);
    cudaStreamDestroy(stream);
}

gpusolve_status gsv_cuda_event(cudaEvent_t *event, gsv_message *message) {
    *event = NULL;
    const cudaError_t error = gsv_allocation_fails()
                                  ? cudaErrorMemoryAllocation
                                  : cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    if (error != cudaSuccess)
        *event = NULL;
    return made(error, "cudaEventCreateWithFlags", message);
}

void gsv_cuda_event_free(cudaEvent_t event) {
    if (!event)
        return;
    gsv_count_on_device(-1);
    cudaEventDestroy(event);
}

gpusolve_status gsv_cuda_graph(cudaGraphExec_t *exec, cudaGraph_t graph, gsv_message *message) {
    *exec = NULL;
    const cudaError_t error =
        gsv_allocation_fails() ? cudaErrorMemoryAllocation : cudaGraphInstantiate(exec, graph, 0);
    if (error != cudaSuccess)
        *exec = NULL;
    return made(error, "cudaGraphInstantiate", message);
}

void gsv_cuda_graph_free(cudaGraphExec_t exec) {
    if (!exec)
        return;
    gsv_count_on_device(-1);
    cudaGraphExecDestroy(exec);
}

gpusolve_status gsv_cuda_blas(struct cublasContext **blas, gsv_message *message) {
    *blas = NULL;
    const cublasStatus_t status = gsv_allocation_fails() ? CUBLAS_STATUS_ALLOC_FAILED : cublasCreate(blas);
    if (status == CUBLAS_STATUS_SUCCESS) {
        gsv_count_on_device(1);
        return GPUSOLVE_OK;
    }
    *blas = NULL;
    cudaGetLastError();
    return gsv_fail(
        message, status == CUBLAS_STATUS_ALLOC_FAILED ? GPUSOLVE_OUT_OF_DEVICE_MEMORY : GPUSOLVE_CUDA_ERROR,
        "cublasCreate: %s",
        status == CUBLAS_STATUS_ALLOC_FAILED ? "out of memory" : cublasGetStatusString(status));
}

void gsv_cuda_blas_free(struct cublasContext *blas) {
    if (!blas)
        return;
    gsv_count_on_device(-1);
    cublasDestroy(blas);
}

/* ------------------------------------------------------------------------------------------- copies --- */

cudaError_t gsv_cuda_fill(void *memory, const void *from, size_t bytes) {
    const cudaError_t error = cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice);
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamLegacy) : error;
}

cudaError_t gsv_cuda_clear(void *memory, size_t bytes) {
    const cudaError_t error = cudaMemset(memory, 0, bytes);
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamLegacy) : error;
}

int gsv_cuda_enter(int device) {
    int previous = device;
    cudaGetDevice(&previous);
    if (previous != device)
        cudaSetDevice(device);
    cudaGetLastError(); /* an error of the caller's own earlier calls is not this call's */
    return previous;
}

void gsv_cuda_leave(int previous) {
    int current = previous;
    cudaGetDevice(&current);
    if (current != previous)
        cudaSetDevice(previous);
}

int gsv_cuda_is_device(const void *pointer) {
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

gpusolve_status gsv_cuda_check_pointer(int device, const char *name, const void *pointer, int *where,
                                       gsv_message *message) {
    struct cudaPointerAttributes attributes;
    *where = GSV_PAGEABLE;
    const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    if (error == cudaErrorInvalidValue) { /* unknown to CUDA, in the words of some drivers */
        cudaGetLastError();
        return GPUSOLVE_OK;
    }
    if (error != cudaSuccess)
        return gsv_cuda_check(error, "cudaPointerGetAttributes", message);
    switch (attributes.type) {
    case cudaMemoryTypeHost:
        *where = GSV_PINNED;
        break;
    case cudaMemoryTypeManaged:
        *where = GSV_MANAGED;
        break;
    case cudaMemoryTypeDevice:
        if (attributes.device != device)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                            "%s: is in the memory of CUDA device %d, the handle's device is %d", name,
                            attributes.device, device);
        *where = GSV_ON_DEVICE;
        break;
    default:
        break;
    }
    return GPUSOLVE_OK;
}
