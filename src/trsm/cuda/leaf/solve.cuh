/*
 * Solve, after Hogg's triangular solve in one launch, for N vectors at a time: blocks i of 64 rows,
 *
 *      x(i) = W_i (alpha b(i) - sum over j < i of T(i, j) x(j)),      W_i = inv(T(i, i))
 *
 * A task is one block i of one group of N vectors. Thread blocks draw tasks in the order of i, so what a task
 * waits for was drawn by a thread block that is running, the lowest unfinished task waits for nothing, and
 * every wait ends. x(j) is handed over as data that is its own flag (published.cuh): [group][row][N].
 *
 * What the next task waits for is the way from x(i - 1) to x(i). It is one product,
 *
 *      x(i) = y - P x(i - 1),     P = W_i T(i, i - 1),     y = W_i (alpha b(i) - sum over j < i - 1 ...)
 *
 * where P is formed at the start of the task and y while x(i - 1) is waited for. (With enough tasks that the
 * machine is full, P is left out: it costs 64 columns' work.) T(i, j) x(j) for the j
 * before i - LAG is trsm/cuda/leaf/leaf.cuh's sum; with LAG = 2, T(i, i - 2) is met alone, so that the eight warps'
 * sums are added before x(i - 2) is there. W_i, P and T(i, i - 2) wait in shared memory, requested when the
 * task begins. In these products a warp has 16 rows and all columns, and takes the vectors from shared
 * memory.
 *
 * A block whose inverse is not to be trusted (trsm/cuda/leaf/invert.cuh) is solved with by substitution in shared
 * memory.
 *
 * Traffic: T once for each group of vectors (from L2 where groups run together), b once in, once out.
 * Bits: every sum has one order, which depends on nothing but the sizes and N.
 * Limits: N is 32 at most for real numbers, 16 for complex<float>, 8 for complex<double>; LAG is 1
 * for complex<double>, for the shared memory's.
 */
#ifndef GSV_TRSM_CUDA_LEAF_SOLVE_CUH
#define GSV_TRSM_CUDA_LEAF_SOLVE_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "leaf.cuh"

namespace gsv {

template <typename T, int N> struct solve_shape : leaf_shape<T, N> {
    typedef leaf_shape<T, N> base;
    static const int LAG = sizeof(T) <= 8 ? 2 : 1;
    static const int TILE_LD = leaf_tile<T>::LD, TILE = leaf_tile<T>::SIZE;
    static const int VECTORS = GSV_LEAF_ROWS * base::LD;
    static const int WORK = base::SUMS > 3 * VECTORS ? base::SUMS : 3 * VECTORS;
    static const int BYTES = ((LAG + 1) * TILE + VECTORS + WORK) * int(sizeof(T));
};

/* b(block) of a group of vectors to shared memory, row by row, zeros where there is none. */
template <typename T, int N>
__device__ __forceinline__ void request_vectors_block(const leaf_problem<T> &p, int block, int group, T *to) {
    const bool by_rows = p.b_row == 1 || p.b_row == -1;
    for (int e = threadIdx.x; e < GSV_LEAF_ROWS * N; e += LEAF_THREADS) {
        const int i = by_rows ? e % GSV_LEAF_ROWS : e / N, c = by_rows ? e / GSV_LEAF_ROWS : e % N;
        const int64_t row = block * GSV_LEAF_ROWS + i, v = group * N + c;
        const bool inside = row < p.t.order && v < p.vectors;
        copy_number_async(to + i * leaf_shape<T, N>::LD + c,
                          inside ? p.b + row * p.b_row + v * p.b_column : p.b, inside);
    }
}

/* 16 rows of a tile in shared memory, 64 columns, as fragments: [eight columns][u][s]. */
template <typename T>
__device__ __forceinline__ void load_rows(const T *tile, int ld, const leaf_lane &lane, T (&a)[8][2][2]) {
#pragma unroll
    for (int h = 0; h < 8; h++)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int s = 0; s < 2; s++)
                a[h][u][s] = tile[(8 * h + 4 * s + lane.q) * ld + lane.row() + 8 * u];
}

/* c = a v, 16 rows by 8 K columns: number (k, n) of v at k k_step + n n_step; columns of a from 0 to 8 steps
 * - 1. Two sums in turn, to halve the chain. */
template <typename T, int K>
__device__ __forceinline__ void short_product_warp(const T (&a)[8][2][2], const T *v, int k_step, int n_step,
                                                   int steps, T (&c)[2][K][2]) {
    typedef fragment<T, 2, 8 * K> F;
    const leaf_lane lane;
    F even, odd;
    even.clear();
    odd.clear();
#pragma unroll
    for (int h = 0; h < 8; h++)
        if (h < steps) {
            T x[2][F::XS];
#pragma unroll
            for (int s = 0; s < 2; s++)
#pragma unroll
                for (int t = 0; t < F::XS; t++)
                    x[s][t] = v[(8 * h + 4 * s + lane.q) * k_step + (lane.g + 8 * t) * n_step];
            if (h % 2)
                odd.add_product(a[h], x);
            else
                even.add_product(a[h], x);
        }
    T d[2][K][2];
    even.result(c);
    odd.result(d);
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < K; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                c[u][t][e] = add(c[u][t][e], d[u][t][e]);
}

/* x(j) to shared memory, row by row, as soon as it is there. The caller's barrier follows. */
template <typename T, int N>
__device__ __forceinline__ void fetch_vectors_block(const T *from, T *to, int &patience) {
    typedef leaf_shape<T, N> S;
    enum { PIECES = GSV_LEAF_ROWS * N / S::CHUNK, MINE = (PIECES + LEAF_THREADS - 1) / LEAF_THREADS };
    T piece[MINE][S::CHUNK];
    for (;;) { /* all at once: each is a trip to L2 */
        bool absent = false;
#pragma unroll
        for (int m = 0; m < MINE; m++)
            if (PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < PIECES)
                load_relaxed16(from + (threadIdx.x + m * LEAF_THREADS) * S::CHUNK, piece[m]);
#pragma unroll
        for (int m = 0; m < MINE; m++)
            if (PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < PIECES)
#pragma unroll
                for (int e = 0; e < S::CHUNK; e++)
                    absent |= is_absent(piece[m][e]);
        if (!absent || patience == 0)
            break;
        patience--;
    }
#pragma unroll
    for (int m = 0; m < MINE; m++) {
        const int k = (threadIdx.x + m * LEAF_THREADS) * S::CHUNK;
        if (PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < PIECES)
            store_run(to + k / N * S::LD + k % N, piece[m]);
    }
}

/* r = T_ii \ r by columns, in shared memory, by the whole block; the vectors' results are in r. */
template <typename T, int N>
__device__ __noinline__ void substitute_block(const T *tile, int rows, bool unit, T *r) {
    enum { LD = leaf_shape<T, N>::LD, TILE_LD = leaf_tile<T>::LD };
    for (int k = 0; k < rows; k++) {
        if (threadIdx.x < N && !unit)
            r[k * LD + threadIdx.x] = quotient(r[k * LD + threadIdx.x], tile[k * TILE_LD + k]);
        __syncthreads(); /* x(k) is there */
        for (int e = threadIdx.x; e < (rows - k - 1) * N; e += LEAF_THREADS) {
            const int i = k + 1 + e / N, c = e % N;
            r[i * LD + c] = multiply_add(r[i * LD + c], negate(tile[k * TILE_LD + i]), r[k * LD + c]);
        }
        __syncthreads(); /* x(k) is taken off all rows below */
    }
}

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1) solve_kernel(const __grid_constant__ leaf_problem<T> p) {
    typedef solve_shape<T, N> S;
    enum { PATCH = S::PATCH };
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ uint32_t drawn;
    T *const inverse = reinterpret_cast<T *>(shared), *const last = inverse + S::TILE;
    T *const before_last = last + S::TILE, *const bs = last + S::LAG * S::TILE, *const work = bs + S::VECTORS;
    T *const xs = work, *const x_last = xs + S::VECTORS, *const rs = x_last + S::VECTORS;
    const leaf_lane lane;
    const bool active = lane.active<S>();

    /* Before the kernel that this one follows is done: that is the one that inverts, or cuBLAS's GEMM, and
     * neither touches T or the ticket. */
    if (threadIdx.x == 0) {
        drawn = atomicAdd(p.ticket, 1);
        if (drawn + 1 == uint32_t(p.blocks) * uint32_t(p.groups))
            *p.ticket = 0; /* for the next kernel: nobody draws any more */
    }
    __syncthreads(); /* drawn is there */
    const int group = int(drawn) % p.groups, block = int(drawn) / p.groups, first = block * GSV_LEAF_ROWS;
    const int rows = min(p.t.order - first, int(GSV_LEAF_ROWS));
    T *const published = p.exchange + int64_t(group) * p.exchange_rows * N;
    int patience = PATIENCE;

    /* T(i, i - 1), T(i, i - 2), W_i (or T_ii, for substitution), b(i) */
    if (block >= 1)
        request_tile_block(p.t, block, block - 1, last, S::TILE_LD);
    if (S::LAG == 2 && block >= 2)
        request_tile_block(p.t, block, block - 2, before_last, S::TILE_LD);
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const bool substitute = p.substitute[block] != 0, premultiplied = p.premultiplied && !substitute;
    if (substitute) {
        request_tile_block(p.t, block, block, inverse, S::TILE_LD);
    } else {
        const T *from = p.inverse + int64_t(block) * (GSV_LEAF_ROWS * GSV_LEAF_ROWS);
        for (int e = threadIdx.x; e < GSV_LEAF_ROWS * GSV_LEAF_ROWS; e += LEAF_THREADS)
            copy_number_async(inverse + e / GSV_LEAF_ROWS * S::TILE_LD + e % GSV_LEAF_ROWS, from + e, true);
    }
    request_vectors_block<T, N>(p, block, group, bs);
    wait_for_own_copies();
    if (block >= 1)
        conjugate_tile_block(p.t, last, S::TILE_LD);
    if (S::LAG == 2 && block >= 2)
        conjugate_tile_block(p.t, before_last, S::TILE_LD);
    if (substitute)
        conjugate_tile_block(p.t, inverse, S::TILE_LD);
    __syncthreads(); /* the tiles are in shared memory */

    T a[8][2][2]; /* 16 rows of a tile */
    if (block >= 1 && premultiplied) {
        /* P = W_i T(i, i - 1), in the place of T(i, i - 1): warps 0 to 3 the first 32 columns, 4 to 7 the
         * others */
        T c[4][2][1][2];
        load_rows(inverse, S::TILE_LD, lane, a);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const T *v = last + (lane.warp / 4 * 32 + 8 * k) * S::TILE_LD;
            short_product_warp<T, 1>(a, v, 1, S::TILE_LD, 2 * (lane.warp % 4) + 2, c[k]);
        }
        __syncthreads(); /* T(i, i - 1) may go */
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    last[(lane.warp / 4 * 32 + 8 * k + 2 * lane.q + e) * S::TILE_LD + lane.row() + 8 * u] =
                        c[k][u][0][e];
    }

    T r[2][PATCH][2];
    if (block > S::LAG) {
        fragment<T, 8, N> sum;
        sum.clear();
        sum_blocks_warp<T, N, true>(p, published, block, 0, block - S::LAG, sum, patience);
        add_warps_block<T, N>(sum, work, r);
    } else {
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    r[u][t][e] = make<T>(0);
    }
    __syncthreads(); /* P is there, and the partial sums may go */
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < PATCH; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (active)
                    r[u][t][e] = add(
                        multiply(p.alpha, bs[(lane.row() + 8 * u) * S::LD + lane.column<S>() + 8 * t + e]),
                        negate(r[u][t][e]));

    /* r = r - T(i, i - 2) x(i - 2), and without P, T(i, i - 1) x(i - 1) as well */
    T c[2][PATCH][2];
    const auto subtract = [&](const T *tile, int j, T *to) {
        if (active)
            load_rows(tile, S::TILE_LD, lane, a);
        fetch_vectors_block<T, N>(published + int64_t(j) * GSV_LEAF_ROWS * N, to, patience);
        __syncthreads(); /* x(j) is in shared memory */
        if (active) {
            short_product_warp<T, PATCH>(a, to + lane.warp / 4 * S::WIDTH, S::LD, 1, 8, c);
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < PATCH; t++)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        r[u][t][e] = add(r[u][t][e], negate(c[u][t][e]));
        }
    };
    if (S::LAG == 2 && block >= 2)
        subtract(before_last, block - 2, xs);
    if (block >= 1 && !premultiplied)
        subtract(last, block - 1, x_last);
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
    } else {
        if (active) { /* y */
            load_rows(inverse, S::TILE_LD, lane, a);
            short_product_warp<T, PATCH>(a, rs + lane.warp / 4 * S::WIDTH, S::LD, 1, 2 * (lane.warp % 4) + 2,
                                         r);
        }
        if (block >= 1 && premultiplied)
            subtract(last, block - 1, x_last);
    }
    if (active && block + 1 < p.blocks)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
                publish_pair(published + int64_t(first + lane.row() + 8 * u) * N + lane.column<S>() + 8 * t,
                             r[u][t][0], r[u][t][1]);
    store_block<T, N>(p, block, group, r);
    if (p.next_exchange) {
        int4 *clear = reinterpret_cast<int4 *>(p.next_exchange + (group * p.exchange_rows + first) * N);
        const int4 absent = {-1, -1, -1, -1};
        for (int k = threadIdx.x; k < GSV_LEAF_ROWS * N / S::CHUNK; k += LEAF_THREADS)
            clear[k] = absent;
    }
}

} // namespace gsv
#endif
