/*
 * Kernels of products with the factor: panels are E = [W; -M], W = inv(L1), M = L2 W, so
 *
 *      L1 v1 = W \ v1,   L2 v1 = M (L1 v1),      L1' v1 + L2' v2 = W' \ (v1 + M' v2)
 *
 * Vectors are doubles, or pairs, in groups of C columns, row by row: what a row has in a group is read at once. C is 8, or 1 for one column. A warp or a
 * block of threads has one piece of L and every `share` th group, one after the other, so a piece is read once from memory and for the other groups from
 * L1 or L2. Products are those of tensor cores, tiles of 16 rows and 16 terms for eight columns (fragment.cuh); one column is the first of eight. Nothing waits
 * for another block: what one kernel writes the next one reads. Every sum has one order, which neither C nor a column's neighbours change.
 *
 * Here: what the kernels share, rows and columns of the panels of wide supernodes, and the vectors' ends. narrow.cuh has narrow supernodes, triangle.cuh the
 * triangles of wide ones.
 */
#ifndef GSV_CUDA_PRODUCTS_MULTIPLY_CUH
#define GSV_CUDA_PRODUCTS_MULTIPLY_CUH

#include "../../../dense_kernels/fragment.cuh"
#include "../../../dense_kernels/panel_layout.h"
#include "../device_plan.h"
#include "lists.h"

namespace gsv {

enum {
    WARP = 32,
    WARPS = 8,
    THREADS = WARP * WARPS,
    GROUP = 8 /* columns of a fragment, and of a group where there are more than one */
};

/* P: a number of the panels. */
template <typename P, int C> struct product_vectors {
    typedef wide_number<P> T;
    const P *panels;
    const gsv_product_node *narrow, *wide;
    const int32_t *rows; /* of the update rows */
    int64_t n, updates;
    uint32_t groups;
    T *v, *w, *u; /* [groups][n][C], [groups][n][C], [groups][updates][C] */

    /* Where a row of v or w begins, and an update row of u. */
    __device__ __forceinline__ T *row(T *vector, uint32_t group, int64_t i) const {
        return vector + (group * n + i) * C;
    }
    __device__ __forceinline__ T *update_row(uint32_t group, int64_t i) const {
        return u + (group * updates + i) * C;
    }
};

/* What a block, or a warp, works on: `piece` of a list, and groups of columns, `group` and every `share` th behind it. */
struct product_item {
    uint32_t piece, group;
};

static __device__ __forceinline__ product_item item_of(uint32_t index, uint32_t share) {
    return product_item{index / share, index % share};
}

template <typename T, int N> static __device__ __forceinline__ void set_zero(T (&number)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++)
        number[k] = make<T>(0);
}

/* sum - a b */
template <typename T> static __device__ __forceinline__ T subtract_product(T sum, T a, T b) {
    return multiply_add(sum, negate(a), b);
}

template <typename T> static __device__ __forceinline__ T times_real(T a, typename traits<T>::real r) {
    if constexpr (traits<T>::is_complex)
        return T{a.re * r, a.im * r};
    else
        return a * r;
}

/* 1 / a for a diagonal entry, which is real. */
template <typename T> static __device__ __forceinline__ typename traits<T>::real over(T a) {
    if constexpr (traits<T>::is_complex)
        return 1 / a.re;
    else
        return 1 / a;
}

template <typename T> static __device__ __forceinline__ T from_lane(T a, int lane) {
    if constexpr (traits<T>::is_complex)
        return T{__shfl_sync(~0u, a.re, lane), __shfl_sync(~0u, a.im, lane)};
    else
        return __shfl_sync(~0u, a, lane);
}

/* ---------------------------------------------------------------------------------------------- tiles --- */

/*
 * A lane's part of a tile's product with 16 rows of eight columns: a tile of E, or of E' if TRANSPOSED. Lane l is (g, q) = (l / 4, l mod 4). It has two
 * of the product's rows, columns 2 q and 2 q + 1; four terms of each; and these rows of x, column g. They are dealt so that what a lane reads of a tile
 * stands side by side: two rows of a column, or four.
 */
template <bool TRANSPOSED> struct tile_lane {
    int g, q;

    __device__ __forceinline__ tile_lane() : g(int(threadIdx.x) % WARP / 4), q(int(threadIdx.x) % 4) {}
    __device__ __forceinline__ int row(int i) const {
        return TRANSPOSED ? g + 8 * i : 2 * g + i;
    }
    __device__ __forceinline__ int term(int s) const {
        return TRANSPOSED ? 4 * q + s : q + 4 * s;
    }
};

template <typename T> using tile_sums = fragment<T, 2, GROUP>;

/*
 * A lane's numbers of a tile, whose numbers (i, j) are tile[16 j + i]; 0 for columns j that are not below `columns`. As they are: tile_numbers makes them
 * what is multiplied with.
 */
template <bool TRANSPOSED, typename P>
static __device__ __forceinline__ void read_tile(const P *tile, int32_t columns, P (&e)[2][4]) {
    const tile_lane<TRANSPOSED> lane;
    if constexpr (TRANSPOSED) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (lane.row(i) < columns)
                load_run(tile + lane.row(i) * GSV_TILE + lane.term(0), e[i]);
            else
                for (int s = 0; s < 4; s++)
                    e[i][s] = P();
        }
    } else {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            P two[2] = {P(), P()};
            if (lane.term(s) < columns)
                load_run(tile + lane.term(s) * GSV_TILE + lane.row(0), two);
            e[0][s] = two[0];
            e[1][s] = two[1];
        }
    }
}

template <bool TRANSPOSED, typename P>
static __device__ __forceinline__ void tile_numbers(const P (&e)[2][4], wide_number<P> (&a)[2][4]) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int s = 0; s < 4; s++)
            a[i][s] = TRANSPOSED ? conjugate(number_as<wide_number<P>>(e[i][s]))
                                 : number_as<wide_number<P>>(e[i][s]);
}

/* Column g of a row of C numbers. */
template <int C, typename T> static __device__ __forceinline__ T column_of_row(const T *row, int g) {
    if constexpr (C == 1)
        return g == 0 ? row[0] : make<T>(0);
    else
        return row[g];
}

/* Columns 2 q and 2 q + 1 of a row of C numbers, from there and to there. */
template <int C, typename T>
static __device__ __forceinline__ void load_columns(const T *row, int q, T (&two)[2]) {
    if constexpr (C == 1) {
        two[0] = q == 0 ? row[0] : make<T>(0);
        two[1] = make<T>(0);
    } else
        load_run(row + 2 * q, two);
}
template <int C, typename T>
static __device__ __forceinline__ void store_columns(T *row, int q, const T (&two)[2]) {
    if constexpr (C == 1) {
        if (q == 0)
            row[0] = two[0];
    } else
        store_run_global(row + 2 * q, two);
}

/* ---------------------------------------------------------------------- rows and columns of wide panels --- */

/*
 * finish(i, c, two) for each row i of 16 and even column c, by one thread, with sums of `tiles` tiles, columns c and c + 1. Warp t adds up tiles t, t + WARPS,
 * ..., which part(t, sums) does, and then the warps' sums are added in their order. turn: 0 and 1 in turns, so that one barrier is enough.
 */
template <typename T, bool TRANSPOSED, typename Part, typename Finish>
static __device__ __forceinline__ void sum_of_tiles(int32_t tiles, int turn, Part part, Finish finish) {
    __shared__ __align__(16) T parts[2][WARPS][GSV_TILE][GROUP];
    const tile_lane<TRANSPOSED> lane;
    const int warp = int(threadIdx.x) / WARP, warps = tiles < 1 ? 1 : tiles < WARPS ? tiles : WARPS;
    T sum[2][1][2];
    if (warp < warps) {
        tile_sums<T> sums;
        sums.clear();
        part(warp, sums);
        sums.result(sum);
#pragma unroll
        for (int i = 0; i < 2; i++)
            store_run(&parts[turn][warp][lane.row(i)][2 * lane.q], sum[i][0]);
    }
    __syncthreads(); /* all warps' sums are there */
    const int i = int(threadIdx.x) / 4, c = int(threadIdx.x) % 4 * 2;
    if (i < GSV_TILE) {
        T total[2];
        load_run(&parts[turn][0][i][c], total);
        for (int t = 1; t < warps; t++) {
            T two[2];
            load_run(&parts[turn][t][i][c], two);
            total[0] = add(total[0], two[0]);
            total[1] = add(total[1], two[1]);
        }
        finish(i, c, total);
    }
}

/* row -= two, of columns c and c + 1 of a row of C numbers; from: what the row has. */
template <int C, typename T>
static __device__ __forceinline__ void subtract_columns(const T *from, T *row, int c, const T (&two)[2]) {
    T had[2];
    load_columns<C>(from, c / 2, had);
    const T has[2] = {add(had[0], negate(two[0])), add(had[1], negate(two[1]))};
    store_columns<C>(row, c / 2, has);
}

/* Sums of E(i, j) w(j), begin <= j < end, for a block row: finish(its row, ...). */
template <int C, typename P, typename Finish>
static __device__ __forceinline__ void multiply_block_row(const P *block_row, const wide_number<P> *w,
                                                          int32_t begin, int32_t end, int turn,
                                                          Finish finish) {
    typedef wide_number<P> T;
    const tile_lane<false> lane;
    const int32_t tiles = (end - begin + GSV_TILE - 1) / GSV_TILE;
    const auto part = [&](int32_t t, tile_sums<T> &sums) {
#pragma unroll 1
        for (; t < tiles; t += WARPS) {
            const int32_t j = begin + t * GSV_TILE;
            P e[2][4];
            T a[2][4], x[4][1];
            read_tile<false>(block_row + int64_t(j) * GSV_TILE, end - j, e);
#pragma unroll
            for (int s = 0; s < 4; s++)
                x[s][0] = lane.term(s) < end - j ? column_of_row<C>(w + int64_t(j + lane.term(s)) * C, lane.g)
                                                 : make<T>(0);
            tile_numbers<false>(e, a);
            sums.add_product(a, x);
        }
    };
    sum_of_tiles<T, false>(tiles, turn, part, finish);
}

/*
 * Sums of conj(E(i, j)) x(i) over the rows of block rows first .. end - 1, for columns j = begin .. begin + 15 that are below `last`: finish(j - begin, ...).
 * x(i, g) is a row's number in column g of the group, 0 for rows that do not count.
 */
template <typename P, typename X, typename Finish>
static __device__ __forceinline__ void multiply_block_columns(const P *panel, int32_t nc, int32_t first,
                                                              int32_t end, int32_t begin, int32_t last, X x,
                                                              int turn, Finish finish) {
    typedef wide_number<P> T;
    const tile_lane<true> lane;
    const auto part = [&](int32_t t, tile_sums<T> &sums) {
#pragma unroll 1
        for (int32_t b = first + t; b < end; b += WARPS) {
            P e[2][4];
            T a[2][4], terms[4][1];
            read_tile<true>(panel + gsv_block_row_start(nc, b) + int64_t(begin) * GSV_TILE, last - begin, e);
#pragma unroll
            for (int s = 0; s < 4; s++)
                terms[s][0] = x(b * GSV_TILE + lane.term(s), lane.g);
            tile_numbers<true>(e, a);
            sums.add_product(a, terms);
        }
    };
    sum_of_tiles<T, true>(end - first, turn, part, finish);
}

/* Blocks that a multiprocessor is to hold at once: loads of few tiles each take long, so others have to be under way. */
template <typename P> constexpr int blocks_of() {
    return traits<P>::is_complex ? 1 : 4;
}

/* u = M w1: a block row. */
template <typename P, int C>
static __global__ void __launch_bounds__(THREADS, blocks_of<P>())
    times_below(product_vectors<P, C> p, const gsv_product_task *tasks, uint32_t share) {
    typedef wide_number<P> T;
    const product_item of = item_of(blockIdx.x, share);
    const gsv_product_task task = tasks[of.piece];
    const gsv_product_node node = p.wide[task.node];
    const P *block_row = p.panels + node.panel + gsv_block_row_start(node.nc, task.begin);
    int turn = 0;
    for (uint32_t group = of.group; group < p.groups; group += share, turn ^= 1)
        multiply_block_row<C>(block_row, p.row(p.w, group, node.first), 0, node.nc, turn,
                              [&](int32_t r, int c, const T(&two)[2]) {
                                  const int32_t i = task.begin * GSV_TILE + r - node.nc;
                                  const T less[2] = {negate(two[0]), negate(two[1])};
                                  if (i >= 0 && i < node.nr - node.nc)
                                      store_columns<C>(p.update_row(group, node.update + i), c / 2, less);
                              });
}

/* w1 = v1 + M' v2: 16 columns. */
template <typename P, int C>
static __global__ void __launch_bounds__(THREADS)
    transposed_below(product_vectors<P, C> p, const gsv_product_task *tasks, uint32_t share) {
    typedef wide_number<P> T;
    const product_item of = item_of(blockIdx.x, share);
    const gsv_product_task task = tasks[of.piece];
    const gsv_product_node node = p.wide[task.node];
    const int32_t *list = p.rows + node.update - node.nc;
    int turn = 0;
    for (uint32_t group = of.group; group < p.groups; group += share, turn ^= 1) {
        const T *v = p.row(p.v, group, 0);
        const auto below = [&](int32_t i, int g) {
            return i >= node.nc && i < node.nr ? column_of_row<C>(v + int64_t(list[i]) * C, g) : make<T>(0);
        };
        const auto finish = [&](int32_t r, int c, const T(&two)[2]) {
            const int32_t j = node.first + task.begin + r;
            if (task.begin + r < node.nc)
                subtract_columns<C>(v + int64_t(j) * C, p.row(p.w, group, j), c, two);
        };
        multiply_block_columns(p.panels + node.panel, node.nc, node.nc / GSV_TILE,
                               (node.nr + GSV_TILE - 1) / GSV_TILE, task.begin, node.nc, below, turn, finish);
    }
}

/* --------------------------------------------------------------------------------------------- vectors --- */

/*
 * v(i, c) = x(perm ? perm[i] : i, c) for the columns of x, 0 for those that fill the last group. N: a number of x. A thread has a row, in the grid's
 * second dimension of one group.
 */
template <typename N, int C>
static __global__ void __launch_bounds__(THREADS)
    load_product(int64_t n, wide_number<N> *v, const int32_t *perm, gsv_device_dense x, int32_t columns) {
    typedef wide_number<N> T;
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const N *from = static_cast<const N *>(x.values) + (perm ? perm[i] : i) * x.row_stride;
    T row[C];
#pragma unroll
    for (int k = 0; k < C; k++) {
        const int32_t c = int32_t(blockIdx.y) * C + k;
        row[k] = c < columns ? number_as<T>(from[c * x.column_stride]) : make<T>(0);
    }
    store_run_global(v + (blockIdx.y * n + i) * C, row);
}

/* v(i, c) *= d(i) */
template <typename N, int C>
static __global__ void __launch_bounds__(THREADS)
    scale_product(int64_t n, wide_number<N> *v, const typename traits<N>::real *d) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n)
        return;
    wide_number<N> row[C];
    load_run(v + (blockIdx.y * n + i) * C, row);
#pragma unroll
    for (int k = 0; k < C; k++)
        row[k] = times_real(row[k], double(d[i]));
    store_run_global(v + (blockIdx.y * n + i) * C, row);
}

/* y(perm ? perm[i] : i, c) = w(i, c) and, unless ptr is NULL, the update rows of row i, ascending. */
template <typename N, int C>
static __global__ void __launch_bounds__(THREADS)
    store_product(int64_t n, const wide_number<N> *w, const int64_t *ptr, const int32_t *update,
                  const wide_number<N> *u, int64_t updates, const int32_t *perm, gsv_device_dense y,
                  int32_t columns) {
    typedef wide_number<N> T;
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n)
        return;
    T sum[C];
    load_run(w + (blockIdx.y * n + i) * C, sum);
    const int64_t end = ptr ? ptr[i + 1] : 0;
#pragma unroll 2
    for (int64_t k = ptr ? ptr[i] : 0; k < end; k++) {
        T add_to[C];
        load_run(u + (blockIdx.y * updates + update[k]) * C, add_to);
#pragma unroll
        for (int c = 0; c < C; c++)
            sum[c] = add(sum[c], add_to[c]);
    }
    N *to = static_cast<N *>(y.values) + (perm ? perm[i] : i) * y.row_stride;
#pragma unroll
    for (int k = 0; k < C; k++) {
        const int32_t c = int32_t(blockIdx.y) * C + k;
        if (c < columns)
            to[c * y.column_stride] = number_as<N>(sum[k]);
    }
}

} // namespace gsv
#endif
