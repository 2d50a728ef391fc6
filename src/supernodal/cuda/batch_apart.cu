/*
 * Load and store (cuda/stream/load_store.cuh) for eight right-hand sides of a batch whose members' blocks are columns at equal distances.
 *
 * Row i of all members is row i % each of member i / each. So its place is that of a block of all rows, and `extra` numbers more for each
 * member before it. A thread has one row and several columns, so this costs it one division. Without these kernels each number would
 * go through memory once more on its way in, and once more on its way out.
 *
 * Otherwise these kernels are those of load_store.cuh: mapping, traffic, synchronisation.
 */
#include "../batch/move.h"
#include "batch_apart.h"
#include "stream/launch.cuh"

namespace gsv {

enum { COLUMNS = GSV_SIDE_COLUMNS };

/* What of a thread's numbers stands where: only for blocks whose rows are side by side. */
template <typename transfer>
static __device__ __forceinline__ typename transfer::share
share_apart(const gsv_device_dense &block, int32_t n, int64_t first, int32_t each, int64_t extra) {
    typename transfer::share own = transfer::share_of_thread(block, n, first, 0);
    const int32_t row = int32_t(first) + int32_t(threadIdx.x % transfer::ROWS);
    own.place += row / each * extra;
    return own;
}

template <typename N, int CUT>
static __global__ void __launch_bounds__(BLOCK)
    load_apart_kernel(int32_t n, const int32_t *inverse, gsv_device_dense from, int32_t each, int64_t extra,
                      vector_number<N> *to, absent_fill fill, gsv_stream_state *state) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, COLUMNS, CUT> transfer;
    wait_for_vectors(); /* the sweep may begin to read its panels */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        state->broken = 0; /* the waits of the solve before have ended */
    __shared__ T tile[transfer::ROWS * transfer::STRIDE];
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    const P *values = static_cast<const P *>(from.values);
    const typename transfer::share own = share_apart<transfer>(from, n, first, each, extra);
    P value[transfer::EACH];
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        value[k] = k >= own.there ? make<P>(0) : values[own.place + k * own.step];
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    fill.write_block(); /* while the values are on their way */
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        tile[own.tile + k * own.tile_step] = number_as<T>(value[k]);
    __syncthreads(); /* the tile is complete */
    transfer::store_runs(row, tile, to, COLUMNS, 0);
}

template <typename N, int CUT>
static __global__ void __launch_bounds__(BLOCK)
    store_apart_kernel(int32_t n, const int32_t *inverse, const vector_number<N> *from, gsv_device_dense to,
                       int32_t each, int64_t extra) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, COLUMNS, CUT> transfer;
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    store_block<transfer>(n, inverse, first, from, COLUMNS, 0, static_cast<P *>(to.values),
                          [&]() { return share_apart<transfer>(to, n, first, each, extra); });
}

/* Fills what launch_load of cuda/stream/launch.cuh fills. */
template <typename N>
static cudaError_t load_apart(const gsv_launch &l, const int32_t *inverse, gsv_device_dense from,
                              int32_t each, int64_t extra, void *to) {
    const gsv_device_vectors &vectors = l.vectors;
    const int32_t n = l.plan->l.n;
    int64_t fill = static_cast<char *>(vectors.f) - static_cast<char *>(vectors.z);
    if (l.plan->schedule->branches.count == 0)
        fill += forward_fill<N, COLUMNS>(l);
    return launch_transfer<vector_number<N>, COLUMNS>(n, 1, [&](int64_t blocks, auto cut) {
        load_apart_kernel<N, cut><<<unsigned(blocks), BLOCK, 0, l.stream>>>(
            n, inverse, from, each, extra, static_cast<vector_number<N> *>(to),
            absent_fill{static_cast<int4 *>(vectors.z), (fill + 15) / 16}, vectors.state);
        return cudaGetLastError();
    });
}

template <typename N>
static cudaError_t store_apart(const gsv_launch &l, const int32_t *inverse, const void *from,
                               gsv_device_dense to, int32_t each, int64_t extra) {
    const int32_t n = l.plan->l.n;
    return launch_transfer<vector_number<N>, COLUMNS>(n, 1, [&](int64_t blocks, auto cut) {
        return launch_allowed(store_apart_kernel<N, cut>, {blocks, 1}, BLOCK, 0, l.stream, n, inverse,
                              static_cast<const vector_number<N> *>(from), to, each, extra);
    });
}

} // namespace gsv

extern "C" cudaError_t gsv_cuda_load_apart(gpusolve_dtype dtype, const gsv_launch *launch,
                                           const int32_t *inverse, gsv_device_dense from, int32_t each,
                                           int64_t extra, void *to) {
    return dtype == GPUSOLVE_FLOAT
               ? gsv::load_apart<gsv::mixed<float>>(*launch, inverse, from, each, extra, to)
               : gsv::load_apart<double>(*launch, inverse, from, each, extra, to);
}

extern "C" cudaError_t gsv_cuda_store_apart(gpusolve_dtype dtype, const gsv_launch *launch,
                                            const int32_t *inverse, const void *from, gsv_device_dense to,
                                            int32_t each, int64_t extra) {
    return dtype == GPUSOLVE_FLOAT
               ? gsv::store_apart<gsv::mixed<float>>(*launch, inverse, from, to, each, extra)
               : gsv::store_apart<double>(*launch, inverse, from, to, each, extra);
}
