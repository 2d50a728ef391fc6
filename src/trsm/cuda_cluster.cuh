/*
 * Kernels for many vectors in which a cluster of thread blocks has a group of N vectors, and a thread block
 * whole blocks of 64 rows of them, so that what rows need of each other goes through the cluster:
 *
 *      step        x(i) = T(i, i) \ (alpha b(i) - sum over j < i of T(i, j) x(j)) for STEP neighbouring
 *                  blocks i; those before them are there
 *      product     b(i) = alpha sum over j <= i of T(i, j) b(j) for all i, in place
 *
 * Sums. T(i, j) meets b(j) as in cuda_leaf.cuh: warp w takes columns 8 w .. + 7 of T(i, j), all 64 rows, and
 * all N vectors; both come from global memory (from L2) straight into the registers that the product wants
 * them in, DEPTH tiles ahead; in the end the eight warps' sums are added in one order.
 *
 * step. Each thread block has one block of rows. Once its sum is there, x(i) goes from thread block to thread
 * block of the cluster: it is W_i times the rest (or the substitution, where W_i is not to be trusted), is
 * stored into the shared memory of the thread blocks after it, and after the cluster's barrier those take
 * T(k, i) x(i) off theirs. T(k, i) and W_k wait in shared memory.
 *
 * product. Each thread block has several blocks of rows: c, 2 C - 1 - c, 2 C + c, ... in a cluster of C, so
 * that all have about as many tiles. It keeps the results in shared memory until the whole cluster has read
 * what it needs, and writes then: no copy of b.
 *
 * Synchronisation: barriers of the cluster, which all its thread blocks run through equally often; the first
 * says that all of them are there, so that their shared memory may be written.
 * Traffic: T once for each group of N vectors, from L2, which bounds the rate: 64 x 64 numbers of T for 64 x
 * 64 x N multiply-adds; b once for each block of rows below it.
 * Bits: every sum has one order, which depends on nothing but the sizes, N and C.
 * Limits: sm_90, for clusters; STEP and N for the shared memory's sake.
 */
#ifndef GSV_CUDA_CLUSTER_CUH
#define GSV_CUDA_CLUSTER_CUH

#include "cuda_solve.cuh"

namespace gsv {

/* ------------------------------------------------------------------------------------------- clusters --- */

__device__ __forceinline__ void arrive_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ int rank_in_cluster() {
    uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return int(rank);
}

/* Two numbers to the same place in the shared memory of thread block `rank`; aligned to their size, 16 bytes
 * at most each. */
template <typename T>
__device__ __forceinline__ void store_pair_cluster(T *to, int rank, const T (&pair)[2]) {
#if __CUDA_ARCH__ >= 900
    uint32_t place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place)
        : "r"(uint32_t(__cvta_generic_to_shared(to))), "r"(rank));
    const uint64_t *words = reinterpret_cast<const uint64_t *>(pair);
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(place), "l"(words[0]) : "memory");
    } else {
#pragma unroll
        for (int k = 0; k < int(sizeof(T)) / 8; k++)
            asm volatile("st.shared::cluster.v2.b64 [%0], {%1, %2};" ::"r"(place + 16 * k), "l"(words[2 * k]),
                         "l"(words[2 * k + 1])
                         : "memory");
    }
#endif
}

/* ----------------------------------------------------------------------------------------------- sums --- */

template <typename T, int N> struct cluster_shape : leaf_shape<T, N> {
    typedef leaf_shape<T, N> base;
    static const int STEP = sizeof(T) <= 8 ? 4 : 2; /* thread blocks of a cluster that solves */
    static const int DEPTH = base::SUM_REGISTERS >= 128 || sizeof(T) > 8 ? 1 : 2;
    static const int TILE_LD = leaf_tile<T>::LD, TILE = leaf_tile<T>::SIZE;
    static const int VECTORS = GSV_LEAF_ROWS * base::LD;
    static const int BESIDE = (STEP - 1) * TILE > base::SUMS ? (STEP - 1) * TILE : base::SUMS;
    static const int STEP_BYTES = (TILE + BESIDE + STEP * VECTORS) * int(sizeof(T));
    static const int RESULT = GSV_LEAF_ROWS * N; /* of a block of rows */
    static constexpr int product_bytes(int rows) {
        return (base::SUMS + rows * RESULT) * int(sizeof(T));
    }
};

/* T(block, j) b(j), this warp's part, for j from 0 to end - 1. j == block: zeros above the diagonal. */
template <typename T, int N>
__device__ __forceinline__ void sum_tiles_warp(const leaf_problem<T> &p, int group, int block, int end,
                                               fragment<T, 8, N> &sum) {
    enum { AHEAD = cluster_shape<T, N>::DEPTH, XS = N / 8 };
    const leaf_lane lane;
    const int first = block * GSV_LEAF_ROWS, rows = p.t.order - first, column = 8 * lane.warp + lane.q;
    const T *a_at = p.t.a + int64_t(first + lane.g) * p.t.row + column * p.t.column;
    const T *b_at = p.b + column * p.b_row + int64_t(group * N + lane.g) * p.b_column;
    const int vectors = p.vectors - group * N - lane.g; /* of this lane's, 8 apart */
    T a[AHEAD + 1][8][2], x[AHEAD + 1][2][XS];
    const auto load = [&](int j, T(&to)[8][2], T(&v)[2][XS]) {
        const bool diagonal = j == block;
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const int k = column + 4 * s; /* in the tile */
            const bool there = !diagonal || k < rows;
#pragma unroll
            for (int t = 0; t < XS; t++)
                v[s][t] = there && 8 * t < vectors ? b_at[4 * s * p.b_row + 8 * t * p.b_column] : make<T>(0);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int r = lane.g + 8 * i;
                const bool inside = r < rows && (!diagonal || k < r || (k == r && !p.t.unit));
                to[i][s] = inside ? load_panel(a_at + 8 * i * p.t.row + 4 * s * p.t.column) : make<T>(0);
                if (diagonal && k == r && p.t.unit)
                    to[i][s] = make<T>(1);
            }
        }
        a_at += GSV_LEAF_ROWS * p.t.column;
        b_at += GSV_LEAF_ROWS * p.b_row;
    };
#pragma unroll
    for (int d = 0; d < AHEAD; d++)
        if (d < end)
            load(d, a[d], x[d]);
    for (int j0 = 0; j0 < end; j0 += AHEAD + 1)
#pragma unroll
        for (int d = 0; d <= AHEAD; d++)
            if (j0 + d < end) {
                if (j0 + d + AHEAD < end)
                    load(j0 + d + AHEAD, a[(d + AHEAD) % (AHEAD + 1)], x[(d + AHEAD) % (AHEAD + 1)]);
                if (traits<T>::is_complex && p.t.conjugated)
#pragma unroll
                    for (int i = 0; i < 8; i++)
#pragma unroll
                        for (int s = 0; s < 2; s++)
                            a[d][i][s] = conjugate(a[d][i][s]);
                sum.add_product(a[d], x[d]);
            }
}

/* ----------------------------------------------------------------------------------------------- step --- */

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    solve_step_kernel(const __grid_constant__ leaf_problem<T> p, int first_block) {
    typedef cluster_shape<T, N> S;
    enum { PATCH = S::PATCH, STEP = S::STEP };
    extern __shared__ __align__(16) unsigned char shared[];
    T *const inverse = reinterpret_cast<T *>(shared), *const beside = inverse + S::TILE;
    T *const xs = beside + S::BESIDE, *const rs = xs + (STEP - 1) * S::VECTORS;
    const leaf_lane lane;
    const bool active = lane.active<S>();
    const int rank = rank_in_cluster(), group = int(blockIdx.x) / STEP, block = first_block + rank;
    const int first = block * GSV_LEAF_ROWS, rows = min(p.t.order - first, int(GSV_LEAF_ROWS));
    const bool mine = block < p.blocks; /* the last cluster may have fewer blocks of rows */
    arrive_cluster();
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const bool substitute = mine && p.substitute[block] != 0;
    if (substitute) {
        request_tile_block(p.t, block, block, inverse, S::TILE_LD);
    } else if (mine) {
        const T *from = p.inverse + int64_t(block) * (GSV_LEAF_ROWS * GSV_LEAF_ROWS);
        for (int e = threadIdx.x; e < GSV_LEAF_ROWS * GSV_LEAF_ROWS; e += LEAF_THREADS)
            copy_number_async(inverse + e / GSV_LEAF_ROWS * S::TILE_LD + e % GSV_LEAF_ROWS, from + e, true);
    }
    T r[2][PATCH][2];
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < PATCH; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                r[u][t][e] = make<T>(0);
    if (mine && first_block > 0) {
        fragment<T, 8, N> sum;
        sum.clear();
        sum_tiles_warp<T, N>(p, group, block, first_block, sum);
        add_warps_block<T, N>(sum, beside, r);
        __syncthreads(); /* the sums may go */
    }
    if (mine)
        for (int k = 0; k < rank; k++)
            request_tile_block(p.t, block, first_block + k, beside + k * S::TILE, S::TILE_LD);
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < PATCH; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) { /* r = alpha b - sum */
                const int64_t i = first + lane.row() + 8 * u;
                const int64_t v = group * N + lane.column<S>() + 8 * t + e;
                const T b =
                    active && i < p.t.order && v < p.vectors ? p.b[i * p.b_row + v * p.b_column] : make<T>(0);
                r[u][t][e] = add(multiply(p.alpha, b), negate(r[u][t][e]));
            }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (mine) {
        if (substitute)
            conjugate_tile_block(p.t, inverse, S::TILE_LD);
        for (int k = 0; k < rank; k++)
            conjugate_tile_block(p.t, beside + k * S::TILE, S::TILE_LD);
    }
    __syncthreads(); /* the tiles are in shared memory */
    wait_cluster();  /* all thread blocks are there */
    T a[8][2][2], c[2][PATCH][2];
    for (int k = 0; k < STEP; k++) {
        if (k == rank && mine) { /* x(i) = W_i r */
            if (active)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < PATCH; t++)
                        store_run(rs + (lane.row() + 8 * u) * S::LD + lane.column<S>() + 8 * t, r[u][t]);
            __syncthreads(); /* the right-hand side is in shared memory */
            if (substitute) {
                substitute_block<T, N>(inverse, rows, p.t.unit, rs);
                if (active)
#pragma unroll
                    for (int u = 0; u < 2; u++)
#pragma unroll
                        for (int t = 0; t < PATCH; t++)
                            load_run(rs + (lane.row() + 8 * u) * S::LD + lane.column<S>() + 8 * t, r[u][t]);
            } else if (active) {
                load_rows(inverse, S::TILE_LD, lane, a);
                short_product_warp<T, PATCH>(a, rs + lane.warp / 4 * S::WIDTH, S::LD, 1,
                                             2 * (lane.warp % 4) + 2, r);
            }
            for (int to = rank + 1; to < STEP && active; to++)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < PATCH; t++)
                        store_pair_cluster(xs + k * S::VECTORS + (lane.row() + 8 * u) * S::LD +
                                               lane.column<S>() + 8 * t,
                                           to, r[u][t]);
            store_block<T, N>(p, block, group, r);
        }
        if (k + 1 == STEP)
            break;
        if (k < rank && mine && active)
            load_rows(beside + k * S::TILE, S::TILE_LD, lane, a);
        arrive_cluster();
        wait_cluster(); /* x(k) is with those after it */
        if (k < rank && mine && active) {
            short_product_warp<T, PATCH>(a, xs + k * S::VECTORS + lane.warp / 4 * S::WIDTH, S::LD, 1, 8, c);
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < PATCH; t++)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        r[u][t][e] = add(r[u][t][e], negate(c[u][t][e]));
        }
    }
}

/* -------------------------------------------------------------------------------------------- product --- */

/* The m-th block of rows of thread block `rank`: there and back again through the cluster. */
__device__ __forceinline__ int block_of_rank(int m, int rank, int size) {
    return m * size + (m % 2 ? size - 1 - rank : rank);
}

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    product_kernel(const __grid_constant__ leaf_problem<T> p, int cluster) {
    typedef cluster_shape<T, N> S;
    extern __shared__ __align__(16) unsigned char shared[];
    T *const sums = reinterpret_cast<T *>(shared), *const results = sums + S::SUMS;
    const leaf_lane lane;
    const int rank = int(blockIdx.x) % cluster, group = int(blockIdx.x) / cluster;
    T r[2][S::PATCH][2];
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const auto place = [&](int m, int u, int t) {
        return results + m * S::RESULT + (lane.row() + 8 * u) * N + lane.column<S>() + 8 * t;
    };
    for (int m = 0; block_of_rank(m, rank, cluster) < p.blocks; m++) {
        const int block = block_of_rank(m, rank, cluster);
        fragment<T, 8, N> sum;
        sum.clear();
        sum_tiles_warp<T, N>(p, group, block, block + 1, sum);
        add_warps_block<T, N>(sum, sums, r);
        if (lane.active<S>())
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < S::PATCH; t++)
                    store_run(place(m, u, t), r[u][t]);
        __syncthreads(); /* the sums may go */
    }
    arrive_cluster();
    wait_cluster(); /* b has been read */
    for (int m = 0; block_of_rank(m, rank, cluster) < p.blocks; m++) {
        if (lane.active<S>())
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < S::PATCH; t++) {
                    load_run(place(m, u, t), r[u][t]);
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        r[u][t][e] = multiply(p.alpha, r[u][t][e]);
                }
        store_block<T, N>(p, block_of_rank(m, rank, cluster), group, r);
    }
}

} // namespace gsv
#endif
