/*
 * Solve, as cuda_solve.cuh does it, where there are more than enough tasks to keep the machine busy:
 *
 *      x(i) = W_i (alpha b(i) - sum over j < i of T(i, j) x(j)),      W_i = inv(T(i, i))
 *
 * A task is a block i of 64 rows of one group of N vectors; tasks are drawn in the order of i, and x(j) is
 * handed over as data that is its own flag, so every wait ends (cuda_solve.cuh says why).
 *
 * The tiles T(i, 0), T(i, 1), ..., W_i pass through two slots of shared memory: while one is multiplied with,
 * the next is on its way, and so is x(j + 1), in registers, polled when its turn comes. One barrier a tile.
 * Two thread blocks share a multiprocessor: while one waits, the other computes.
 *
 * A block whose inverse is not to be trusted is solved with by substitution in shared memory.
 *
 * Traffic: T and x once for each group, from L2: 96 bytes for 64 x N multiply-adds and column of T.
 * Bits: every sum has one order, which depends on nothing but the sizes and N.
 */
#ifndef GSV_CUDA_WIDE_CUH
#define GSV_CUDA_WIDE_CUH

#include "cuda_solve.cuh"
#include "cuda_tile.cuh"

namespace gsv {

template <typename T, int N> struct wide_shape : tile_shape<T, N> {
    typedef tile_shape<T, N> base;
    static const int BYTES = 2 * (base::TILE + base::ROWS_OF_VECTORS) * int(sizeof(T));
    static const int PIECES = GSV_LEAF_ROWS * N / base::CHUNK; /* of 16 bytes, of x(j) */
    static const int MINE = (PIECES + LEAF_THREADS - 1) / LEAF_THREADS;
};

/* This thread's pieces of x(j), absent ones among them. */
template <typename T, int N>
__device__ __forceinline__ void ask_for_vectors(const T *from,
                                                T (&piece)[wide_shape<T, N>::MINE][wide_shape<T, N>::CHUNK]) {
    typedef wide_shape<T, N> S;
#pragma unroll
    for (int m = 0; m < S::MINE; m++)
        if (S::PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < S::PIECES)
            load_relaxed16(from + (threadIdx.x + m * LEAF_THREADS) * S::CHUNK, piece[m]);
}

/* The same to shared memory, row by row, once they are there. patience: polls left, 0 once something was
 * lost. */
template <typename T, int N>
__device__ __forceinline__ void keep_vectors(const T *from, T *to,
                                             T (&piece)[wide_shape<T, N>::MINE][wide_shape<T, N>::CHUNK],
                                             int &patience) {
    typedef wide_shape<T, N> S;
    for (;;) {
        bool absent = false;
#pragma unroll
        for (int m = 0; m < S::MINE; m++)
            if (S::PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < S::PIECES)
#pragma unroll
                for (int e = 0; e < S::CHUNK; e++)
                    absent |= is_absent(piece[m][e]);
        if (!absent || patience == 0)
            break;
        patience--;
        ask_for_vectors<T, N>(from, piece);
    }
#pragma unroll
    for (int m = 0; m < S::MINE; m++) {
        const int k = (threadIdx.x + m * LEAF_THREADS) * S::CHUNK;
        if (S::PIECES % LEAF_THREADS == 0 || threadIdx.x + m * LEAF_THREADS < S::PIECES)
            store_run(to + k / N * S::LD + k % N, piece[m]);
    }
}

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 2)
    solve_wide_kernel(const __grid_constant__ leaf_problem<T> p) {
    typedef wide_shape<T, N> S;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ uint32_t drawn;
    T *const tiles = reinterpret_cast<T *>(shared), *const vectors = tiles + 2 * S::TILE;
    const leaf_lane lane;
    const bool owner = lane.warp < 4; /* of 16 rows' results */

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
    if (block > 0)
        request_view_block(p.t, block, 0, tiles);
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const bool substitute = p.substitute[block] != 0;
    const auto request =
        [&](int j) { /* what is multiplied with in turn j */
                     T *const to = tiles + j % 2 * S::TILE;
                     if (j < block)
                         request_view_block(p.t, block, j, to);
                     else if (substitute)
                         request_tile_block(p.t, block, block, to, S::RUN);
                     else
                         copy_runs_block<T, GSV_LEAF_ROWS>(
                             to, S::RUN, p.inverse + int64_t(block) * (GSV_LEAF_ROWS * GSV_LEAF_ROWS),
                             GSV_LEAF_ROWS, GSV_LEAF_ROWS, true, [](int, int) { return true; });
        };
    /* the sum begins with -alpha b */
    T c[2][N / 8][2];
    fragment<T, 2, N> sum;
    for_each_result<N>([&](int u, int t, int e, int i, int n) {
        const int64_t row = first + i, v = int64_t(group) * N + n;
        c[u][t][e] = owner && row < p.t.order && v < p.vectors
                         ? negate(multiply(p.alpha, p.b[row * p.b_row + v * p.b_column]))
                         : make<T>(0);
    });
    sum.start(c);
    if (block == 0)
        request(0);
    T piece[S::MINE][S::CHUNK];
    if (block > 0)
        ask_for_vectors<T, N>(published, piece);
    for (int j = 0; j < block; j++) {
        T *const x = vectors + j % 2 * S::ROWS_OF_VECTORS;
        keep_vectors<T, N>(published + int64_t(j) * GSV_LEAF_ROWS * N, x, piece, patience);
        wait_for_copies();
        __syncthreads(); /* T(i, j) and x(j) are there, and all have done with turn j - 1 */
        request(j + 1);
        if (j + 1 < block)
            ask_for_vectors<T, N>(published + int64_t(j + 1) * GSV_LEAF_ROWS * N, piece);
        product_warp<T, N>(sum, view_of_tile(p.t, tiles + j % 2 * S::TILE), p.t.conjugated,
                           tile_view<T>{x, S::LD, 1});
    }
    T *const part = vectors + block % 2 * S::ROWS_OF_VECTORS;
    T *const rs = vectors + (block + 1) % 2 * S::ROWS_OF_VECTORS, *const last = tiles + block % 2 * S::TILE;
    add_two_halves_block<T, N>(sum, part, c);
    if (owner)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                c[u][t][0] = negate(c[u][t][0]);
                c[u][t][1] = negate(c[u][t][1]);
                store_run(rs + (lane.row() + 8 * u) * S::LD + 8 * t + 2 * lane.q, c[u][t]);
            }
    wait_for_copies();
    if (substitute)
        conjugate_tile_block(p.t, last, S::RUN);
    __syncthreads(); /* the right-hand side of T_ii is there, and W_i or T_ii; part may go */
    if (substitute) {
        substitute_block<T, N>(last, rows, p.t.unit, rs);
        if (owner)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < N / 8; t++)
                    load_run(rs + (lane.row() + 8 * u) * S::LD + 8 * t + 2 * lane.q, c[u][t]);
    } else {
        sum.clear();
        product_warp<T, N>(sum, tile_view<T>{last, 1, S::RUN}, false, tile_view<T>{rs, S::LD, 1});
        add_two_halves_block<T, N>(sum, part, c);
    }
    if (owner && block + 1 < p.blocks)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                publish_pair(published + int64_t(first + lane.row() + 8 * u) * N + 8 * t + 2 * lane.q,
                             c[u][t][0], c[u][t][1]);
    for_each_result<N>([&](int u, int t, int e, int i, int n) {
        const int64_t row = first + i, v = int64_t(group) * N + n;
        if (owner && row < p.t.order && v < p.vectors)
            p.b[row * p.b_row + v * p.b_column] = c[u][t][e];
    });
    if (p.next_exchange) {
        int4 *clear = reinterpret_cast<int4 *>(p.next_exchange + (group * p.exchange_rows + first) * N);
        const int4 absent = {-1, -1, -1, -1};
        for (int k = threadIdx.x; k < GSV_LEAF_ROWS * N / S::CHUNK; k += LEAF_THREADS)
            clear[k] = absent;
    }
}

} // namespace gsv
#endif
