#include "device.h"

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

gpusolve_status gsv_cuda_malloc(void **memory, int64_t bytes, gsv_message *message) {
    *memory = NULL;
    if (bytes == 0)
        return GPUSOLVE_OK;
    const cudaError_t error =
        gsv_allocation_fails() ? cudaErrorMemoryAllocation : cudaMalloc(memory, (size_t)bytes);
    if (error == cudaSuccess)
        return GPUSOLVE_OK;
    *memory = NULL;
    char call[64];
    snprintf(call, sizeof call, "allocating %lld bytes on the device", (long long)bytes);
    return gsv_cuda_check(error, call, message);
}

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
