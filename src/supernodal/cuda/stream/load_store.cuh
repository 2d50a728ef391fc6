/*
 * What a sweep begins and ends with: right-hand sides into vectors in L's order, the solution out of them, and the division
 * by D in between. Each number is read once and written once. For one right-hand side on the device, and several side by
 * side, cuda/walk/one.cuh does the first two.
 */
#ifndef GSV_CUDA_STREAM_LOAD_STORE_CUH
#define GSV_CUDA_STREAM_LOAD_STORE_CUH

#include "../../../dense_kernels/overlap.cuh"
#include "../shared/transfer.cuh"

namespace gsv {

/* to(i, c) = from(perm[i], c), zero from from.columns on. For one right-hand side a block has rows of the
 * vector, for more rows of the user's: whole rows can be written anywhere. inverse: of perm.
 * Fills what the sweeps want ABSENT (published.cuh), but for what the branches' forward kernel fills. */
template <typename N, int NR, int CUT, bool SIDE>
__global__ void __launch_bounds__(BLOCK)
    load_kernel(int32_t n, const int32_t *perm, const int32_t *inverse, gsv_device_dense from,
                vector_number<N> *to, absent_fill fill, gsv_stream_state *state, int64_t side_upper) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, NR, CUT> transfer;
    if constexpr (SIDE) {
        from.values = of_group(static_cast<P *>(from.values), NR * from.column_stride);
        from.columns -= NR * blockIdx.y;
        to = of_group(to, int64_t(n) * NR);
        fill.at = of_group(fill.at, side_upper * int64_t(sizeof(T)) / 16);
        state = of_group(state, 1);
    }
    wait_for_vectors(); /* the sweep may begin to read its panels */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        state->broken = 0; /* the waits of the solve before have ended */
    __shared__ T tile[transfer::ROWS * transfer::STRIDE];
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    const P *values = static_cast<const P *>(from.values);
    if (NR > 1)
        perm = nullptr;
    else
        inverse = nullptr;
    const typename transfer::share own = transfer::share_of_thread(from, n, first, 0);
    P value[transfer::EACH];
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        value[k] = k >= own.there ? make<P>(0)
                   : perm ? values[perm[first + threadIdx.x] * from.row_stride] /* one right-hand side */
                          : values[own.place + k * own.step];
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    fill.write_block(); /* while the values are on their way */
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        tile[own.tile + k * own.tile_step] = number_as<T>(value[k]);
    __syncthreads(); /* the tile is complete */
    transfer::store_runs(row, tile, to, NR, 0);
}

/* to(perm[i], c) = from(i, c): a block has rows of the user's. */
template <typename N, int NR, int CUT, bool SIDE>
__global__ void __launch_bounds__(BLOCK)
    store_kernel(int32_t n, const int32_t *inverse, const vector_number<N> *from, gsv_device_dense to) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, NR, CUT> transfer;
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    if constexpr (SIDE) {
        to.values = of_group(static_cast<P *>(to.values), NR * to.column_stride);
        to.columns -= NR * blockIdx.y;
        from = of_group(from, int64_t(n) * NR);
    }
    store_block<transfer>(n, inverse, first, from, NR, 0, static_cast<P *>(to.values),
                          [&]() { return transfer::share_of_thread(to, n, first, 0); });
}

template <typename N, int NR>
__global__ void scale_kernel(int32_t n, const typename traits<N>::real *d, vector_number<N> *v) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * NR)
        v[e] = divide_real<vector_number<N>>(v[e], d[e / NR]);
}

} // namespace gsv
#endif
