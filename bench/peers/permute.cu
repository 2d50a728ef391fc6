#include "permute.h"

#include <cuda_runtime.h>

/* A thread for each number of doubles `parts`, columns in the grid's second dimension (in strides of it). */
static __global__ void permute(int64_t n, int64_t nrhs, int parts, const int *perm, int inverse,
                               const double *from, double *to) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int64_t other = perm ? perm[i] : i;
    const int64_t source = inverse ? i : other, target = inverse ? other : i;
    for (int64_t c = blockIdx.y; c < nrhs; c += gridDim.y)
        for (int part = 0; part < parts; part++)
            to[(c * n + target) * parts + part] = from[(c * n + source) * parts + part];
}

int bench_permute(int64_t n, int64_t nrhs, int parts, const void *perm, int inverse, const void *from,
                  void *to, void *stream) {
    if (n == 0 || nrhs == 0)
        return 0;
    const dim3 blocks((unsigned)((n + 255) / 256), (unsigned)(nrhs < 64 ? nrhs : 64));
    permute<<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(
        n, nrhs, parts, static_cast<const int *>(perm), inverse, static_cast<const double *>(from),
        static_cast<double *>(to));
    return cudaGetLastError() != cudaSuccess;
}
