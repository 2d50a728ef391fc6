/*
 * Many right-hand sides on their way in, and solutions out: between the caller's matrix, by columns or by rows,
 * and vectors whose rows are in L's order, a row's right-hand sides side by side.
 *
 * A block has some rows of 32 right-hand sides, or sixteen, through shared memory (cuda/shared/transfer.cuh), so that both sides are
 * read and written in whole lines; all of a block's numbers are on their way at once, and the places of its rows in
 * L's order are known before these have come. Each number is read once and written once. Blocks that follow each
 * other have the right-hand sides of the same rows, for L's order scatters rows.
 */
#ifndef GSV_CUDA_TASKS_TRANSFER_CUH
#define GSV_CUDA_TASKS_TRANSFER_CUH

#include "../../../dense_kernels/overlap.cuh"
#include "tasks.h"
#include "stages.cuh"
#include "../shared/transfer.cuh"

namespace gsv {

enum {
    TASKS_TRANSFER = 32,
    TASKS_TRANSFERS = 6 /* blocks an SM: there are registers for these */
};

/* to(inverse ? inverse[i] : i, c) = from(i, c), zero from from.columns on; *broken = 0. */
template <typename Kind, int W, int CUT>
__global__ void __launch_bounds__(BLOCK, TASKS_TRANSFERS)
    tasks_load_kernel(int32_t n, const int32_t *inverse, gsv_device_dense from, vector_number<Kind> *to,
                      int columns, int *broken) {
    typedef panel_number<Kind> P;
    typedef vector_number<Kind> T;
    typedef gsv::transfer<T, W, CUT> transfer;
    let_next_kernel_start(); /* which waits for all of this one, and brings what it may before */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *broken = 0; /* the waits of the solve before have ended */
    __shared__ P tile[transfer::ROWS * transfer::STRIDE];
    const int groups = columns / W, c0 = blockIdx.x % groups * W;
    const int64_t first = int64_t(blockIdx.x / groups) * transfer::ROWS;
    const P *values = static_cast<const P *>(from.values);
    const typename transfer::share own = transfer::share_of_thread(from, n, first, c0);
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        begin_copy<int(sizeof(P))>(&tile[own.tile + k * own.tile_step],
                                   values + (k < own.there ? own.place + k * own.step : 0), k < own.there);
    commit_copies();
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    wait_for_copies<0>();
    __syncthreads(); /* the tile is complete */
    transfer::store_runs(row, tile, to, columns, c0);
}

/* to(i, c) = from(inverse ? inverse[i] : i, c); and `counters` counters become zero, for the next solve. */
template <typename Kind, int W, int CUT>
__global__ void __launch_bounds__(BLOCK, TASKS_TRANSFERS)
    tasks_store_kernel(int32_t n, const int32_t *inverse, const vector_number<Kind> *from,
                       gsv_device_dense to, int columns, int *counters, int64_t count) {
    typedef panel_number<Kind> P;
    typedef vector_number<Kind> T;
    typedef gsv::transfer<T, W, CUT> transfer;
    const int groups = columns / W, c0 = blockIdx.x % groups * W;
    const int64_t first = int64_t(blockIdx.x / groups) * transfer::ROWS;
    store_block<transfer>(n, inverse, first, from, columns, c0, static_cast<P *>(to.values), [&]() {
        const typename transfer::share own = transfer::share_of_thread(to, n, first, c0);
        for (int64_t k = int64_t(blockIdx.x) * BLOCK + threadIdx.x; k < count;
             k += int64_t(gridDim.x) * BLOCK)
            counters[k] = 0;
        return own;
    });
}

template <typename Kind>
__global__ void tasks_scale_kernel(int32_t n, const typename traits<Kind>::real *d, vector_number<Kind> *v,
                                   int columns) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * columns)
        v[e] = divide_real<vector_number<Kind>>(v[e], d[e / columns]);
}

} // namespace gsv
#endif
