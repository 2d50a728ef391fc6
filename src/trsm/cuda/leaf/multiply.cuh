/*
 * Multiply: b(i) = alpha sum over j <= i of T(i, j) b(j), from a copy of b in the layout of solve's exchange;
 * T(i, i) has zeros above its diagonal.
 *
 * A task is up to `chunk` neighbouring blocks T(i, j) of one block of 64 rows, for one group of N vectors.
 * Where one chunk holds every row, tasks write b; else they write their sums to `partial`,
 * [group][block][chunk][64][N], and a second kernel adds those in the order of the chunks. Rows are cut so
 * that a few long ones do not keep the machine waiting: with few vectors the product is bound by reading T.
 *
 * Traffic: T once for each group, b three times; with chunks, 64 N numbers out and in again for each.
 */
#ifndef GSV_TRSM_CUDA_LEAF_MULTIPLY_CUH
#define GSV_TRSM_CUDA_LEAF_MULTIPLY_CUH

#include "leaf.cuh"

namespace gsv {

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    multiply_kernel(const __grid_constant__ leaf_problem<T> p, int chunk, int chunks, T *partial) {
    typedef leaf_shape<T, N> S;
    extern __shared__ __align__(16) unsigned char shared[];
    const leaf_lane lane;
    const int group = int(blockIdx.x) % p.groups, task = int(blockIdx.x) / p.groups;
    const int block = p.blocks - 1 - task / chunks, begin = task % chunks * chunk; /* long rows first */
    if (begin > block)
        return;
    fragment<T, 8, N> sum;
    T r[2][S::PATCH][2];
    int patience = 0;
    wait_for_earlier_kernels();
    let_next_kernel_start();
    sum.clear();
    sum_blocks_warp<T, N, false>(p, p.exchange + int64_t(group) * p.exchange_rows * N, block, begin,
                                 min(begin + chunk, block + 1), sum, patience);
    add_warps_block<T, N>(sum, reinterpret_cast<T *>(shared), r);
    if (chunks == 1) {
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < S::PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    r[u][t][e] = multiply(p.alpha, r[u][t][e]);
        store_block<T, N>(p, block, group, r);
        return;
    }
    T *to = partial + ((int64_t(group) * p.blocks + block) * chunks + task % chunks) * (GSV_LEAF_ROWS * N);
    if (lane.active<S>())
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < S::PATCH; t++)
                store_run(to + (lane.row() + 8 * u) * N + lane.column<S>() + 8 * t, r[u][t]);
}

/* b = alpha times the sum of the chunks. A thread block a block of rows of one group. */
template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS)
    add_chunks_kernel(const __grid_constant__ leaf_problem<T> p, int chunk, int chunks, const T *partial) {
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const int group = int(blockIdx.x) % p.groups, block = int(blockIdx.x) / p.groups;
    const T *from = partial + (int64_t(group) * p.blocks + block) * chunks * (GSV_LEAF_ROWS * N);
    const bool by_rows = p.b_row == 1 || p.b_row == -1;
    for (int e = threadIdx.x; e < GSV_LEAF_ROWS * N; e += LEAF_THREADS) {
        const int i = by_rows ? e % GSV_LEAF_ROWS : e / N, c = by_rows ? e / GSV_LEAF_ROWS : e % N;
        const int64_t row = block * GSV_LEAF_ROWS + i, v = group * N + c;
        T sum = make<T>(0);
        for (int k = 0; k * chunk <= block; k++)
            sum = add(sum, from[k * (GSV_LEAF_ROWS * N) + i * N + c]);
        if (row < p.t.order && v < p.vectors)
            p.b[row * p.b_row + v * p.b_column] = multiply(p.alpha, sum);
    }
}

/* exchange = b, zeros where there is none. A thread block a block of rows of one group. */
template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS)
    copy_vectors_kernel(const __grid_constant__ leaf_problem<T> p) {
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const int group = int(blockIdx.x) % p.groups, block = int(blockIdx.x) / p.groups;
    T *to = p.exchange + (group * p.exchange_rows + block * GSV_LEAF_ROWS) * N;
    const bool by_rows = p.b_row == 1 || p.b_row == -1;
    for (int e = threadIdx.x; e < GSV_LEAF_ROWS * N; e += LEAF_THREADS) {
        const int i = by_rows ? e % GSV_LEAF_ROWS : e / N, c = by_rows ? e / GSV_LEAF_ROWS : e % N;
        const int64_t row = block * GSV_LEAF_ROWS + i, v = group * N + c;
        to[i * N + c] = row < p.t.order && v < p.vectors ? p.b[row * p.b_row + v * p.b_column] : make<T>(0);
    }
}

} // namespace gsv
#endif
