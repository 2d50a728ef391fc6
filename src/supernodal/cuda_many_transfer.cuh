/*
 * Many right-hand sides on their way in, and solutions out: between the caller's matrix, by columns or by rows,
 * and vectors whose rows are in L's order, a row's right-hand sides side by side.
 *
 * A block has 64 rows of 32 right-hand sides, through shared memory, so that both sides are read and written in
 * whole lines; asynchronous copies, so that all of a block's numbers are on their way at once. Each number is
 * read once and written once. Blocks that follow each other have the right-hand sides of the same rows, for
 * L's order scatters rows.
 */
#ifndef GSV_CUDA_MANY_TRANSFER_CUH
#define GSV_CUDA_MANY_TRANSFER_CUH

#include "../dense_kernels/overlap.cuh"
#include "cuda_many.h"
#include "cuda_many_stages.cuh"

namespace gsv {

enum { MANY_TRANSFER_ROWS = 64, MANY_TRANSFER = 32 };

template <typename T> using many_transfer_tile = T[MANY_TRANSFER_ROWS][MANY_TRANSFER + 1];

/* Blocks for n rows. */
inline int64_t many_transfer_blocks(int32_t n, int columns) {
    return (int64_t(n) + MANY_TRANSFER_ROWS - 1) / MANY_TRANSFER_ROWS * (columns / MANY_TRANSFER);
}

/* visit(row, column) for this thread's share of a block's numbers; neighbours along rows or columns. */
template <typename Visit> __device__ __forceinline__ void many_along(bool rows, Visit visit) {
    constexpr int EACH = MANY_TRANSFER_ROWS * MANY_TRANSFER / BLOCK;
    if (rows)
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int e = k * BLOCK + threadIdx.x;
            visit(e % MANY_TRANSFER_ROWS, e / MANY_TRANSFER_ROWS);
        }
    else
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int e = k * BLOCK + threadIdx.x;
            visit(e / MANY_TRANSFER, e % MANY_TRANSFER);
        }
}

/* to(inverse ? inverse[i] : i, c) = from(i, c), zero from from.columns on; *broken = 0. */
template <typename T>
__global__ void __launch_bounds__(BLOCK)
    many_load_kernel(int32_t n, const int32_t *inverse, gsv_device_dense from, T *to, int columns,
                     int *broken) {
    let_next_kernel_start(); /* which waits for all of this one, and brings what it may before */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *broken = 0; /* the waits of the solve before have ended */
    __shared__ many_transfer_tile<T> tile;
    const int groups = columns / MANY_TRANSFER, c0 = blockIdx.x % groups * MANY_TRANSFER;
    const int64_t first = int64_t(blockIdx.x / groups) * MANY_TRANSFER_ROWS;
    const T *values = static_cast<const T *>(from.values);
    many_along(from.row_stride == 1, [&](int r, int c) {
        const int64_t i = first + r;
        const bool there = i < n && c0 + c < from.columns;
        const int64_t at = i * from.row_stride + (c0 + c) * from.column_stride;
        begin_copy<int(sizeof(T))>(&tile[r][c], values + (there ? at : 0), there);
    });
    commit_copies();
    wait_for_copies<0>();
    __syncthreads(); /* the tile is complete */
    many_along(false, [&](int r, int c) {
        const int64_t i = first + r;
        if (i < n)
            to[(inverse ? inverse[i] : i) * columns + c0 + c] = tile[r][c];
    });
}

/* to(i, c) = from(inverse ? inverse[i] : i, c); and so many counters are zero, for the next solve. */
template <typename T>
__global__ void __launch_bounds__(BLOCK, 5)
    many_store_kernel(int32_t n, const int32_t *inverse, const T *from, gsv_device_dense to, int columns,
                      int *counters, int64_t count, gsv_stamp stamp) {
    __shared__ many_transfer_tile<T> tile;
    const int groups = columns / MANY_TRANSFER, c0 = blockIdx.x % groups * MANY_TRANSFER;
    const int64_t first = int64_t(blockIdx.x / groups) * MANY_TRANSFER_ROWS;
    T *values = static_cast<T *>(to.values);
    wait_for_vectors();
    many_along(false, [&](int r, int c) {
        const int64_t i = first + r, row = i < n && inverse ? inverse[i] : i;
        begin_copy<int(sizeof(T))>(&tile[r][c], from + (i < n ? row * columns + c0 + c : 0), i < n);
    });
    const bool stale = is_stale(stamp);
    commit_copies();
    for (int64_t k = int64_t(blockIdx.x) * BLOCK + threadIdx.x; k < count; k += int64_t(gridDim.x) * BLOCK)
        counters[k] = 0;
    wait_for_copies<0>();
    __syncthreads(); /* the tile is complete */
    many_along(to.row_stride == 1, [&](int r, int c) {
        const int64_t i = first + r;
        if (i < n && c0 + c < to.columns)
            values[i * to.row_stride + (c0 + c) * to.column_stride] = stale ? not_a_number<T>() : tile[r][c];
    });
}

template <typename T>
__global__ void many_scale_kernel(int32_t n, const typename traits<T>::real *d, T *v, int columns) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * columns)
        v[e] = divide_real(v[e], d[e / columns]);
}

} // namespace gsv
#endif
