/*
 * Solve for many vectors: a thread block has a group of N vectors and takes all blocks of the leaf, one after
 * the other, so that nothing is handed over between thread blocks,
 *
 *      x(i) = W_i (alpha b(i) - sum over j < i of T(i, j) x(j)),      W_i = inv(T(i, i))
 *
 * x stays in shared memory. Warp w has rows 16 (w mod 4) .. + 15 of each product, all N vectors, and half w /
 * 4 of the 64 terms; the two halves are added through shared memory. T(i, j) and W_i come from L2 straight
 * into the registers that the product (fragment.cuh) wants them in, AHEAD of their use, in the order T(1, 0),
 * W_1, T(2, 0), ...
 *
 * Blocks whose inverse is not to be trusted are solved with by substitution in shared memory.
 *
 * Traffic: T and W once for each group, from L2; b once in, once out. Shared memory bounds the leaf:
 * GSV_PANEL_ROWS.
 */
#ifndef GSV_CUDA_PANEL_CUH
#define GSV_CUDA_PANEL_CUH

#include "cuda_solve.cuh"

namespace gsv {

template <typename T, int N> struct panel_shape {
    static const int LD = leaf_shape<T, N>::LD;
    static const int AHEAD = sizeof(T) <= 4 ? 3 : sizeof(T) <= 8 && N <= 16 ? 2 : 1; /* as registers allow */
    static const int BYTES =
        ((GSV_PANEL_ROWS + 2 * GSV_LEAF_ROWS) * LD + leaf_tile<T>::SIZE) * int(sizeof(T));
};

/* Half a tile's columns, 16 rows, of the next T(i, j), j < i, or W_i, j == i: [eight columns][u][s]. */
template <typename T> struct panel_stream {
    const leaf_problem<T> &p;
    int row, column; /* of this lane in a tile */
    int i, j;

    __device__ __forceinline__ panel_stream(const leaf_problem<T> &problem, int row, int column)
        : p(problem), row(row), column(column), i(0), j(0) {}

    __device__ __forceinline__ void next(T (&a)[4][2][2]) {
        if (i >= p.blocks)
            return;
        const bool inverse = j == i;
        const int64_t row_step = inverse ? 1 : p.t.row, column_step = inverse ? GSV_LEAF_ROWS : p.t.column;
        const T *from = inverse ? p.inverse + int64_t(i) * (GSV_LEAF_ROWS * GSV_LEAF_ROWS)
                                : p.t.a + int64_t(i) * GSV_LEAF_ROWS * row_step +
                                      int64_t(j) * GSV_LEAF_ROWS * column_step;
        from += row * row_step + column * column_step;
        const int rows = inverse ? GSV_LEAF_ROWS : p.t.order - i * GSV_LEAF_ROWS;
#pragma unroll
        for (int h = 0; h < 4; h++)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int s = 0; s < 2; s++) {
                    a[h][u][s] = row + 8 * u < rows
                                     ? load_panel(from + 8 * u * row_step + (8 * h + 4 * s) * column_step)
                                     : make<T>(0);
                    if (traits<T>::is_complex && p.t.conjugated && !inverse)
                        a[h][u][s] = conjugate(a[h][u][s]);
                }
        if (inverse)
            i++, j = 0;
        else
            j++;
    }
};

/* sum += a v, v in shared memory at this warp's first term. */
template <typename T, int N>
__device__ __forceinline__ void panel_product_warp(fragment<T, 2, N> &sum, const T (&a)[4][2][2],
                                                   const T *v) {
    typedef fragment<T, 2, N> F;
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
#pragma unroll
    for (int h = 0; h < 4; h++) {
        T x[2][F::XS];
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int t = 0; t < F::XS; t++)
                x[s][t] = v[(8 * h + 4 * s + q) * panel_shape<T, N>::LD + g + 8 * t];
        sum.add_product(a[h], x);
    }
}

/* The sum of both halves in the warps 0 to 3. part: 64 x LD of shared memory, free before. */
template <typename T, int N>
__device__ __forceinline__ void add_halves_block(const fragment<T, 2, N> &sum, T *part, const leaf_lane &lane,
                                                 T (&c)[2][N / 8][2]) {
    enum { LD = panel_shape<T, N>::LD };
    sum.result(c);
    T *at = part + lane.row() * LD + 2 * lane.q;
    if (lane.warp >= 4)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                store_run(at + 8 * u * LD + 8 * t, c[u][t]);
    __syncthreads(); /* the other half is there */
    if (lane.warp < 4)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                T other[2];
                load_run(at + 8 * u * LD + 8 * t, other);
                c[u][t][0] = add(c[u][t][0], other[0]);
                c[u][t][1] = add(c[u][t][1], other[1]);
            }
}

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    solve_panel_kernel(const __grid_constant__ leaf_problem<T> p) {
    typedef panel_shape<T, N> S;
    enum { LD = S::LD };
    extern __shared__ __align__(16) unsigned char shared[];
    T *const xs = reinterpret_cast<T *>(shared), *const part = xs + GSV_PANEL_ROWS * LD;
    T *const rs = part + GSV_LEAF_ROWS * LD, *const tile = rs + GSV_LEAF_ROWS * LD;
    const leaf_lane lane;
    const bool owner = lane.warp < 4; /* of 16 rows' results */
    const int half = lane.warp / 4 * 32;
    panel_stream<T> stream(p, lane.row(), half + lane.q);
    T a[S::AHEAD + 1][4][2][2]; /* the tile in use, and those that were asked for */
    T c[2][N / 8][2], b[2][N / 8][2];
    fragment<T, 2, N> sum;
    const auto shift = [&]() {
#pragma unroll
        for (int k = 0; k < S::AHEAD; k++)
#pragma unroll
            for (int h = 0; h < 4; h++)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int s = 0; s < 2; s++)
                        a[k][h][u][s] = a[k + 1][h][u][s];
    };
    wait_for_earlier_kernels();
    let_next_kernel_start();
#pragma unroll
    for (int k = 0; k < S::AHEAD; k++)
        stream.next(a[k]);
    for (int block = 0; block < p.blocks; block++) {
        const int first = block * GSV_LEAF_ROWS, rows = min(p.t.order - first, int(GSV_LEAF_ROWS));
        const bool substitute = p.substitute[block] != 0;
        const auto place = [&](int u, int t, int e) {
            return p.b + int64_t(first + lane.row() + 8 * u) * p.b_row +
                   (int64_t(blockIdx.x) * N + 8 * t + 2 * lane.q + e) * p.b_column;
        };
        const auto inside = [&](int u, int t, int e) {
            return owner && lane.row() + 8 * u < rows &&
                   int(blockIdx.x) * N + 8 * t + 2 * lane.q + e < p.vectors;
        };
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    b[u][t][e] = inside(u, t, e) ? *place(u, t, e) : make<T>(0);
        sum.clear();
        for (int j = 0; j < block; j++) {
            stream.next(a[S::AHEAD]);
            panel_product_warp<T, N>(sum, a[0], xs + (j * GSV_LEAF_ROWS + half) * LD);
            shift();
        }
        add_halves_block<T, N>(sum, part, lane, c);
        if (owner)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < N / 8; t++) {
                    c[u][t][0] = add(multiply(p.alpha, b[u][t][0]), negate(c[u][t][0]));
                    c[u][t][1] = add(multiply(p.alpha, b[u][t][1]), negate(c[u][t][1]));
                    store_run(rs + (lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
                }
        __syncthreads(); /* the right-hand side of T_ii is there, and part may go */
        stream.next(a[S::AHEAD]);
        if (substitute) {
            request_tile_block(p.t, block, block, tile, leaf_tile<T>::LD);
            asm volatile("cp.async.wait_all;" ::: "memory");
            conjugate_tile_block(p.t, tile, leaf_tile<T>::LD);
            __syncthreads(); /* T_ii is there */
            substitute_block<T, N>(tile, rows, p.t.unit, rs);
            if (owner)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < N / 8; t++)
                        load_run(rs + (lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
        } else {
            sum.clear();
            panel_product_warp<T, N>(sum, a[0], rs + half * LD);
            add_halves_block<T, N>(sum, part, lane, c);
        }
        shift();
        if (owner)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < N / 8; t++) {
                    store_run(xs + (first + lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        if (inside(u, t, e))
                            *place(u, t, e) = c[u][t][e];
                }
        __syncthreads(); /* x(i) is there, and part and rs may go */
    }
}

} // namespace gsv
#endif
