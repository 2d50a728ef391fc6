/*
 * Kernels of products with the factor: panels are E = [W; -M], W = inv(L1), M = L2 W, so
 *
 *      L1 v1 = W \ v1,   L2 v1 = M (L1 v1),      L1' v1 + L2' v2 = W' \ (v1 + M' v2)
 *
 * Vectors are doubles, or pairs, by columns. A warp or a block of threads has one column of one piece of L; blocks that follow each other have
 * the columns of the same piece, so a panel is read once from memory and for the other columns from L2. Nothing waits for another block: what one
 * kernel writes the next one reads. Every sum has one order, which no column's neighbours change.
 *
 * Here: narrow supernodes, a warp each, and rows and columns of the panels of wide ones. triangle.cuh has the triangles of wide ones.
 */
#ifndef GSV_CUDA_PRODUCTS_MULTIPLY_CUH
#define GSV_CUDA_PRODUCTS_MULTIPLY_CUH

#include "../../../dense_kernels/panel_layout.h"
#include "../../../dense_kernels/scalar.cuh"
#include "../device_plan.h"
#include "lists.h"

namespace gsv {

enum {
    WARP = 32,
    WARPS = 8,
    THREADS = WARP * WARPS,
    AHEAD = 8 /* numbers of a panel that a lane requests at a time */
};

/* P: a number of the panels. */
template <typename P> struct product_vectors {
    typedef wide_number<P> T;
    const P *panels;
    const gsv_product_node *narrow, *wide;
    const int32_t *rows; /* of the update rows */
    int64_t n, updates;
    uint32_t columns;
    T *v, *w, *u; /* [columns][n], [columns][n], [columns][updates] */
};

/* What a block, or a warp, works on: `item` of a list, and a column. */
struct product_item {
    uint32_t item, column;
};

template <typename P>
static __device__ __forceinline__ product_item item_of(const product_vectors<P> &p, uint32_t index) {
    return product_item{index / p.columns, index % p.columns};
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

/* ---------------------------------------------------------------------------------- narrow supernodes --- */

/* w1 = W \ v1, u = M w1. Lane i has row i of w1, then rows i, i + 32, ... of u. */
template <typename P>
static __device__ __forceinline__ void narrow_forward_warp(const product_vectors<P> &p,
                                                           const gsv_product_node &node, uint32_t c) {
    typedef wide_number<P> T;
    const int32_t lane = int32_t(threadIdx.x) % WARP, nc = node.nc;
    const P *panel = p.panels + node.panel;
    auto entry = [&](int32_t i, int32_t j, bool there) {
        return there ? number_as<T>(panel[gsv_narrow_column(node.nr, j) + i]) : make<T>(0);
    };
    T own = lane < nc ? p.v[c * p.n + node.first + lane] : make<T>(0);
    const T diagonal = lane < nc ? entry(lane, lane, true) : make<T>(1);
    const auto reciprocal = over(diagonal);
    for (int32_t begin = 0; begin < nc; begin += AHEAD) {
        T e[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            e[k] = entry(lane, begin + k, begin + k < lane && lane < nc);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int32_t j = begin + k; /* beyond nc: numbers of lanes that have zeros */
            const T solved = from_lane(times_real(own, reciprocal), j);
            own = lane == j ? solved : lane > j ? subtract_product(own, e[k], solved) : own;
        }
    }
    if (lane < nc)
        p.w[c * p.n + node.first + lane] = own;
    for (int32_t rows = nc; rows < node.nr; rows += WARP) {
        const int32_t i = rows + lane;
        T sum = make<T>(0);
        for (int32_t begin = 0; begin < nc; begin += AHEAD) {
            T e[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                e[k] = entry(i, begin + k, i < node.nr && begin + k < nc);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                sum = subtract_product(sum, e[k], from_lane(own, begin + k));
        }
        if (i < node.nr)
            p.u[c * p.updates + node.update + i - nc] = sum;
    }
}

/* w1 = W' \ (v1 + M' v2). Lane j has column j in the end; sums of M' v2 are added over the lanes, which have rows. */
template <typename P>
static __device__ __forceinline__ void narrow_backward_warp(const product_vectors<P> &p,
                                                            const gsv_product_node &node, uint32_t c) {
    typedef wide_number<P> T;
    const int32_t lane = int32_t(threadIdx.x) % WARP, nc = node.nc;
    const P *panel = p.panels + node.panel;
    const T *v = p.v + c * p.n;
    const int32_t *list = p.rows + node.update - nc;
    auto entry = [&](int32_t i, int32_t j, bool there) {
        return there ? conjugate(number_as<T>(panel[gsv_narrow_column(node.nr, j) + i])) : make<T>(0);
    };
    T own = lane < nc ? v[node.first + lane] : make<T>(0);
    const T diagonal = lane < nc ? entry(lane, lane, true) : make<T>(1);
    const auto reciprocal = over(diagonal);
    for (int32_t begin = 0; begin < nc && node.nr > nc; begin += AHEAD) {
        T sum[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            sum[k] = make<T>(0);
        for (int32_t i = nc + lane; i < node.nr; i += WARP) {
            const T x = v[list[i]];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                sum[k] = multiply_add(sum[k], entry(i, begin + k, begin + k < nc), x);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            for (int step = WARP / 2; step > 0; step /= 2)
                sum[k] = add(sum[k], shuffle_xor(sum[k], step));
            if (lane == begin + k && lane < nc)
                own = add(own, negate(sum[k]));
        }
    }
    for (int32_t begin = (nc - 1) / AHEAD * AHEAD; begin >= 0; begin -= AHEAD) {
        T e[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            e[k] = entry(begin + k, lane, lane < begin + k && begin + k < nc);
#pragma unroll
        for (int k = AHEAD - 1; k >= 0; k--) {
            const int32_t i = begin + k;
            const T solved = from_lane(times_real(own, reciprocal), i);
            own = lane == i ? solved : lane < i ? subtract_product(own, e[k], solved) : own;
        }
    }
    if (lane < nc)
        p.w[c * p.n + node.first + lane] = own;
}

template <typename P, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS) narrow_supernodes(product_vectors<P> p, int64_t count) {
    const product_item of = item_of(p, blockIdx.x * WARPS + threadIdx.x / WARP);
    if (of.item >= count)
        return;
    if (BACKWARD)
        narrow_backward_warp(p, p.narrow[of.item], of.column);
    else
        narrow_forward_warp(p, p.narrow[of.item], of.column);
}

/* ---------------------------------------------------------------------- rows and columns of wide panels --- */

/*
 * The block's sum of E(i, j) w(j), begin <= j < end, for each row i of a block row: threads 0 .. 15 have it, of row threadIdx.x. Thread t has row t % 16
 * and columns t / 16, t / 16 + 16, ..., so the block reads 256 numbers that stand side by side. The 16 partial sums are added in pairs within warps, then
 * in the order of the warps.
 */
template <typename P>
static __device__ __forceinline__ wide_number<P> sum_of_row_block(const P *block_row, const wide_number<P> *w,
                                                                  int32_t begin, int32_t end) {
    typedef wide_number<P> T;
    __shared__ T part[WARPS][GSV_TILE];
    const int32_t row = int32_t(threadIdx.x) % GSV_TILE;
    T sum = make<T>(0);
#pragma unroll 4
    for (int32_t j = begin + int32_t(threadIdx.x) / GSV_TILE; j < end; j += THREADS / GSV_TILE)
        sum = multiply_add(sum, number_as<T>(block_row[j * GSV_TILE + row]), w[j]);
    sum = add(sum, shuffle_xor(sum, GSV_TILE));
    if (threadIdx.x % WARP < GSV_TILE)
        part[threadIdx.x / WARP][row] = sum;
    __syncthreads(); /* all warps' sums are there */
    sum = part[0][row];
    for (int warp = 1; warp < WARPS; warp++)
        sum = add(sum, part[warp][row]);
    return sum;
}

/*
 * The block's sum of conj(E(i, j)) x(i) over the rows of block rows first .. end - 1, for columns j = begin .. begin + 15 that are below `last`: threads
 * 0 .. 15 have it, of column begin + threadIdx.x. x(i) is 0 for rows that do not count. A warp has every eighth block row; a lane has one row of it and
 * every second column, so the warp reads 32 numbers that stand side by side. Sums are added over the rows by a tree, then in the order of the warps.
 */
template <typename P, typename X>
static __device__ __forceinline__ wide_number<P> sum_of_column_block(const P *panel, int32_t nc,
                                                                     int32_t first, int32_t end,
                                                                     int32_t begin, int32_t last, X x) {
    typedef wide_number<P> T;
    enum { PAIRS = GSV_TILE / 2 };
    __shared__ T part[WARPS][GSV_TILE];
    const int32_t lane = int32_t(threadIdx.x) % WARP, warp = int32_t(threadIdx.x) / WARP,
                  row = lane % GSV_TILE, odd = lane / GSV_TILE;
    T sum[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++)
        sum[k] = make<T>(0);
    for (int32_t b = first + warp; b < end; b += WARPS) {
        const P *at = panel + gsv_block_row_start(nc, b) + int64_t(begin) * GSV_TILE + lane;
        const T own = x(b * GSV_TILE + row);
#pragma unroll
        for (int k = 0; k < PAIRS; k++)
            if (begin + 2 * k + odd < last)
                sum[k] = multiply_add(sum[k], conjugate(number_as<T>(at[k * WARP])), own);
    }
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        for (int step = GSV_TILE / 2; step > 0; step /= 2)
            sum[k] = add(sum[k], shuffle_xor(sum[k], step));
        if (row == 0)
            part[warp][2 * k + odd] = sum[k];
    }
    __syncthreads(); /* all warps' sums are there */
    T total = part[0][row];
    for (int other = 1; other < WARPS; other++)
        total = add(total, part[other][row]);
    return total;
}

/* u = M w1: a block of threads for a block row. */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    times_below(product_vectors<P> p, const gsv_product_task *tasks) {
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_task task = tasks[of.item];
    const gsv_product_node node = p.wide[task.node];
    const wide_number<P> sum =
        sum_of_row_block(p.panels + node.panel + gsv_block_row_start(node.nc, task.begin),
                         p.w + of.column * p.n + node.first, 0, node.nc);
    const int32_t i = task.begin * GSV_TILE + int32_t(threadIdx.x);
    if (threadIdx.x < GSV_TILE && i >= node.nc && i < node.nr)
        p.u[of.column * p.updates + node.update + i - node.nc] = negate(sum);
}

/* w1 = v1 + M' v2: a block of threads for 16 columns. */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    transposed_below(product_vectors<P> p, const gsv_product_task *tasks) {
    typedef wide_number<P> T;
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_task task = tasks[of.item];
    const gsv_product_node node = p.wide[task.node];
    const T *v = p.v + of.column * p.n;
    const int32_t *list = p.rows + node.update - node.nc;
    const T sum = sum_of_column_block(
        p.panels + node.panel, node.nc, node.nc / GSV_TILE, (node.nr + GSV_TILE - 1) / GSV_TILE, task.begin,
        node.nc, [&](int32_t i) { return i >= node.nc && i < node.nr ? v[list[i]] : make<T>(0); });
    const int32_t j = task.begin + int32_t(threadIdx.x);
    if (threadIdx.x < GSV_TILE && j < node.nc)
        p.w[of.column * p.n + node.first + j] = add(v[node.first + j], negate(sum));
}

/* --------------------------------------------------------------------------------------------- vectors --- */

/* v(i, c) = x(perm ? perm[i] : i, c). N: a number of x. A thread has a row, in the grid's second dimension of one column. */
template <typename N>
static __global__ void __launch_bounds__(THREADS)
    load_product(int64_t n, wide_number<N> *v, const int32_t *perm, gsv_device_dense x) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x, c = blockIdx.y;
    if (i < n)
        v[c * n + i] = number_as<wide_number<N>>(
            static_cast<const N *>(x.values)[(perm ? perm[i] : i) * x.row_stride + c * x.column_stride]);
}

/* v(i, c) *= d(i) */
template <typename N>
static __global__ void __launch_bounds__(THREADS)
    scale_product(int64_t n, wide_number<N> *v, const typename traits<N>::real *d) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x, c = blockIdx.y;
    if (i < n)
        v[c * n + i] = times_real(v[c * n + i], double(d[i]));
}

/* y(perm ? perm[i] : i, c) = w(i, c) and, unless ptr is NULL, the update rows of row i, ascending. */
template <typename N>
static __global__ void __launch_bounds__(THREADS)
    store_product(int64_t n, const wide_number<N> *w, const int64_t *ptr, const int32_t *update,
                  const wide_number<N> *u, int64_t updates, const int32_t *perm, gsv_device_dense y) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x, c = blockIdx.y;
    if (i >= n)
        return;
    wide_number<N> sum = w[c * n + i];
    const int64_t end = ptr ? ptr[i + 1] : 0;
#pragma unroll 4
    for (int64_t k = ptr ? ptr[i] : 0; k < end; k++)
        sum = add(sum, u[c * updates + update[k]]);
    static_cast<N *>(y.values)[(perm ? perm[i] : i) * y.row_stride + c * y.column_stride] = number_as<N>(sum);
}

} // namespace gsv
#endif
