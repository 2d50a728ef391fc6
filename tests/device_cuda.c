/* device.h over the CUDA runtime. */
#include "device.h"

#include <cuda_runtime_api.h>

void *device_new(const void *host, size_t bytes) {
    void *device = NULL;
    if (cudaMalloc(&device, bytes ? bytes : 1) != cudaSuccess)
        return NULL;
    if (cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
        cudaFree(device);
        return NULL;
    }
    return device;
}

int device_read(void *host, const void *device, size_t bytes) {
    return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}

void device_delete(void *device) {
    cudaFree(device);
}
