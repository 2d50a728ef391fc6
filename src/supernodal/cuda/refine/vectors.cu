/* The vectors of refinement: to and from the caller's blocks, and x + d where the residual does not add it up. */
#include "../../../dense_kernels/scalar.cuh"
#include "refine.h"

namespace gsv {

enum {
    THREADS = 256,
    TILE_COLUMNS = 32,
    TILE_NUMBERS = 1024, /* so the fewer columns there are, the more rows a tile has */
    EACH = TILE_NUMBERS / THREADS,
    MOST_TILES = 65535
};

/* A block of a tile's numbers in the order in which they lie in memory. */
struct tile_walk {
    int rows, columns;
    bool down; /* columns are contiguous, or nearly */
    __device__ int row(int k) const {
        return down ? k % rows : k / columns;
    }
    __device__ int column(int k) const {
        return down ? k / rows : k % columns;
    }
};

__device__ __forceinline__ bool goes_down(const gsv_device_dense &dense) {
    return dense.row_stride <= dense.column_stride;
}

template <typename T> __device__ __forceinline__ T &at(const gsv_device_dense &dense, int64_t i, int64_t j) {
    return static_cast<T *>(dense.values)[i * dense.row_stride + j * dense.column_stride];
}

/* to(i, j) = from(i, j), or, with `kept`, the x that is kept of column j: in from or in second, or zeros. Grid: x over tiles of rows, y over tiles of columns. Either
 * side is read and written in the order of its memory: the tile is turned in shared memory. */
template <typename T>
__global__ void __launch_bounds__(THREADS) copy_kernel(int32_t n, gsv_device_dense from, gsv_device_dense to,
                                                       const gsv_refine_column *kept, const void *second) {
    __shared__ T tile[TILE_NUMBERS + TILE_COLUMNS];
    const int width = to.columns < TILE_COLUMNS ? to.columns : TILE_COLUMNS, height = TILE_NUMBERS / width;
    const int64_t first = int64_t(blockIdx.x) * height;
    const int rows = int(n - first < height ? n - first : height);
    for (int64_t column = int64_t(blockIdx.y) * width; column < to.columns;
         column += int64_t(gridDim.y) * width) {
        const int columns = int(to.columns - column < width ? to.columns - column : width);
        const tile_walk in = {rows, columns, goes_down(from)}, out = {rows, columns, goes_down(to)};
        T numbers[EACH]; /* all of a thread's are under way at once */
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int k = threadIdx.x + e * THREADS, i = in.row(k), j = in.column(k);
            gsv_device_dense source = from;
            if (k >= rows * columns)
                continue;
            const int place = kept ? kept[column + j].place : GSV_REFINE_FIRST;
            if (place == GSV_REFINE_SECOND)
                source.values = const_cast<void *>(second);
            numbers[e] = place == GSV_REFINE_ZEROS ? make<T>(0) : at<T>(source, first + i, column + j);
        }
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int k = threadIdx.x + e * THREADS;
            if (k < rows * columns)
                tile[in.column(k) * (height + 1) + in.row(k)] = numbers[e];
        }
        __syncthreads();
        for (int k = threadIdx.x; k < rows * columns; k += THREADS) {
            const int i = out.row(k), j = out.column(k);
            at<T>(to, first + i, column + j) = tile[j * (height + 1) + i];
        }
        __syncthreads();
    }
}

/* X + D to the other vector, in active columns. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    add_kernel(int64_t count, int32_t columns, int64_t stride, gsv_refine_vectors v) {
    const int64_t k = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (k >= count)
        return;
    const int64_t j = k % stride;
    if (j >= columns)
        return;
    const gsv_refine_column column = v.columns[j];
    if (column.active)
        static_cast<T *>(v.x[1 - column.place])[k] =
            add(static_cast<const T *>(v.x[column.place])[k], static_cast<const T *>(v.d)[k]);
}

template <typename T> struct vector_calls {
    static cudaError_t copy(int32_t n, gsv_device_dense from, gsv_device_dense to,
                            const gsv_refine_column *kept, const void *second, cudaStream_t stream) {
        const int64_t tiles = (int64_t(to.columns) + TILE_COLUMNS - 1) / TILE_COLUMNS;
        const int height = TILE_NUMBERS / (to.columns < TILE_COLUMNS ? to.columns : TILE_COLUMNS);
        const dim3 grid(unsigned((int64_t(n) + height - 1) / height),
                        unsigned(tiles < MOST_TILES ? tiles : MOST_TILES));
        copy_kernel<T><<<grid, THREADS, 0, stream>>>(n, from, to, kept, second);
        return cudaGetLastError();
    }
    static cudaError_t add(int32_t n, int32_t columns, int64_t stride, const gsv_refine_vectors *v,
                           cudaStream_t stream) {
        const int64_t count = int64_t(n) * stride;
        add_kernel<T>
            <<<unsigned((count + THREADS - 1) / THREADS), THREADS, 0, stream>>>(count, columns, stride, *v);
        return cudaGetLastError();
    }
};

/* call(a number of this kind) */
template <typename Call> cudaError_t for_numbers(gpusolve_dtype dtype, Call call) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return call(float());
    case GPUSOLVE_DOUBLE:
        return call(double());
    case GPUSOLVE_COMPLEX_FLOAT:
        return call(complex<float>());
    case GPUSOLVE_COMPLEX_DOUBLE:
        return call(complex<double>());
    }
    return cudaErrorInvalidValue;
}

} // namespace gsv

cudaError_t gsv_refine_copy(gpusolve_dtype dtype, int32_t n, gsv_device_dense from, gsv_device_dense to,
                            cudaStream_t stream) {
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::vector_calls<decltype(number)>::copy(n, from, to, nullptr, nullptr, stream);
    });
}

cudaError_t gsv_refine_keep(gpusolve_dtype dtype, int32_t n, const gsv_refine_vectors *v, gsv_device_dense to,
                            cudaStream_t stream) {
    const gsv_device_dense from = {v->x[0], gsv_refine_stride(dtype, to.columns), 1, to.columns};
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::vector_calls<decltype(number)>::copy(n, from, to, v->columns, v->x[1], stream);
    });
}

cudaError_t gsv_refine_add(gpusolve_dtype dtype, int32_t n, int32_t columns, const gsv_refine_vectors *v,
                           cudaStream_t stream) {
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::vector_calls<decltype(number)>::add(n, columns, gsv_refine_stride(dtype, columns), v,
                                                        stream);
    });
}
