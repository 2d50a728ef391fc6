#include "bandwidth.h"

#include <cuda_runtime.h>

/*
 * Reads count 16-byte words: a grid-stride loop, four loads in flight a thread. The sum goes back to memory
 * only if it is a value that the zeros in x never add up to, so that the loads cannot be left out.
 */
static __global__ void read_stream(double2 *x, size_t count) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    double total = 0;

#pragma unroll 4
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        double2 v = __ldcs(x + i);
        total += v.x + v.y;
    }
    if (total == 1)
        x[0].x = total;
}

int bench_bandwidth_read(void *x, size_t bytes, void *stream) {
    int device = 0, processors = 0;

    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return -1;
    read_stream<<<processors * 16, 256, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<double2 *>(x),
                                                                                bytes / sizeof(double2));
    return cudaGetLastError() != cudaSuccess;
}
