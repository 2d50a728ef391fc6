/* device.h over the CUDA runtime. */
#include "device.h"

#include <cuda_runtime_api.h>

void *device_new(const void *host, size_t bytes) {
    void *device = NULL;
    if (cudaMalloc(&device, bytes ? bytes : 1) != cudaSuccess)
        return NULL;
    if (device_write(device, host, bytes) != 0) {
        cudaFree(device);
        return NULL;
    }
    return device;
}

/* cudaMemcpy and cudaMemset may return before the device's memory has changed. */
int device_write(void *device, const void *host, size_t bytes) {
    return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
           cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess;
}

int device_fill(void *device, int byte, size_t bytes) {
    return cudaMemset(device, byte, bytes) != cudaSuccess ||
           cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess;
}

int device_read(void *host, const void *device, size_t bytes) {
    return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}

void device_delete(void *device) {
    cudaFree(device);
}

void *device_stream(void) {
    cudaStream_t stream = NULL;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : NULL;
}

int device_wait(void *stream) {
    return cudaStreamSynchronize(stream) != cudaSuccess;
}

void device_stream_delete(void *stream) {
    if (stream)
        cudaStreamDestroy(stream);
}
