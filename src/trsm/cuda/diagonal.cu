/*
 * The first zero on a diagonal: the least k for which a[(k - 1) (lda + 1)] is zero. The threads of the launch
 * take the entries in turn; one that finds a zero lowers the place with atomicMin. A NaN is no zero, -0 is
 * one, and a complex number is zero if both parts are. Reads n sectors of 32 bytes.
 */
#include "diagonal.h"

namespace {

constexpr int THREADS = 256, MOST_BLOCKS = 128;

typedef unsigned long long int place_type; /* what atomicMin takes */

/* PARTS real numbers make a number. */
template <typename T, int PARTS>
__global__ void first_zero_kernel(const T *a, int64_t step, int64_t n, place_type *place) {
    for (int64_t k = int64_t(blockIdx.x) * THREADS + threadIdx.x; k < n; k += int64_t(gridDim.x) * THREADS) {
        bool zero = true;
        for (int part = 0; part < PARTS; part++)
            zero = zero && a[k * step * PARTS + part] == 0;
        if (zero)
            atomicMin(place, place_type(k + 1));
    }
}

template <typename T, int PARTS>
void launch(const void *a, int64_t lda, int64_t n, uint64_t *place, cudaStream_t stream) {
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    first_zero_kernel<T, PARTS>
        <<<unsigned(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), THREADS, 0, stream>>>(
            static_cast<const T *>(a), lda + 1, n, reinterpret_cast<place_type *>(place));
}

} // namespace

cudaError_t gsv_cuda_first_zero(gpusolve_dtype dtype, const void *a, int64_t lda, int64_t n, uint64_t *place,
                                cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(place, 0xff, sizeof *place, stream);
    if (error != cudaSuccess)
        return error;
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        launch<float, 1>(a, lda, n, place, stream);
        break;
    case GPUSOLVE_DOUBLE:
        launch<double, 1>(a, lda, n, place, stream);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        launch<float, 2>(a, lda, n, place, stream);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        launch<double, 2>(a, lda, n, place, stream);
        break;
    }
    return cudaGetLastError();
}
