/*
 * Kernels of products with the factor: panels are [W; -M], W = inv(L1), M = L2 W, so
 *
 *      L1 v1 = W \ v1,   L2 v1 = M (L1 v1),      L1' v1 + L2' v2 = W' \ (v1 + M' v2)
 *
 * Vectors are doubles, or pairs, by columns. A warp has one column of one task, a block eight columns, and lanes have neighbouring rows of a
 * panel, which stand side by side in it. Nothing waits for another warp: what one kernel writes the next one reads. Every sum has one order: lanes take
 * every 32nd term and are added by a tree, or one lane adds all terms.
 *
 * A panel is read once for every eight columns, by warps that are not in step: from L2 or L1 mostly. The triangle of a wide supernode is a warp's
 * alone, whose steps follow each other, so a factor with wide supernodes is far from the speed of a solve.
 */
#ifndef GSV_CUDA_PRODUCTS_MULTIPLY_CUH
#define GSV_CUDA_PRODUCTS_MULTIPLY_CUH

#include "../../../dense_kernels/panel_layout.h"
#include "../../../dense_kernels/scalar.cuh"
#include "../device_plan.h"

namespace gsv {

enum { WARP = 32, WARPS = 8, THREADS = WARP * WARPS };

/* A supernode. */
struct product_node {
    int64_t panel, update; /* its first number; its first update row */
    int32_t first, nc, nr;
};

/* Rows, or columns, begin .. begin + 31 of what a supernode has of them. */
struct product_task {
    int32_t s, begin;
};

template <typename P> struct product_vectors {
    typedef wide_number<P> T;
    const P *panels;
    const product_node *nodes;
    const int32_t *rows; /* [updates] of the update rows */
    int64_t n, updates;
    int32_t columns;
    T *v, *w, *u; /* [columns][n], [columns][n], [columns][updates] */
};

/* Entry (i, j), i >= j, of [W; -M]. */
template <typename P>
static __device__ __forceinline__ wide_number<P> entry(const P *panel, const product_node &node, int32_t i,
                                                       int32_t j) {
    const int64_t at = gsv_is_narrow(node.nr, node.nc) ? gsv_narrow_column(node.nr, j) + i
                                                       : gsv_block_row_start(node.nc, i / GSV_TILE) +
                                                             int64_t(j) * GSV_TILE + i % GSV_TILE;
    return number_as<wide_number<P>>(panel[at]);
}

template <typename T> static __device__ __forceinline__ T product_of(T a, T b) {
    if constexpr (traits<T>::is_complex)
        return T{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    else
        return a * b;
}

template <typename T> static __device__ __forceinline__ T quotient_of(T a, T real) {
    if constexpr (traits<T>::is_complex)
        return T{a.re / real.re, a.im / real.re};
    else
        return a / real;
}

template <typename T> static __device__ __forceinline__ T from_lane(T a, int lane) {
    if constexpr (traits<T>::is_complex)
        return T{__shfl_sync(0xffffffffu, a.re, lane), __shfl_sync(0xffffffffu, a.im, lane)};
    else
        return __shfl_sync(0xffffffffu, a, lane);
}

/* The lanes' sum, in every lane. */
template <typename T> static __device__ __forceinline__ T sum_of_lanes(T a) {
    for (int step = WARP / 2; step > 0; step /= 2) {
        if constexpr (traits<T>::is_complex) {
            a.re += __shfl_xor_sync(0xffffffffu, a.re, step);
            a.im += __shfl_xor_sync(0xffffffffu, a.im, step);
        } else {
            a += __shfl_xor_sync(0xffffffffu, a, step);
        }
    }
    return a;
}

/* The column of a block's warp; -1: none, and the whole warp leaves. */
template <typename P> static __device__ __forceinline__ int32_t column_of(const product_vectors<P> &p) {
    const int32_t c = int32_t(blockIdx.y) * WARPS + int32_t(threadIdx.x) / WARP;
    return c < p.columns ? c : -1;
}

/* w1 = W \ v1 for supernode blockIdx.x: 32 rows at a time, from the top. */
template <typename P> static __global__ void __launch_bounds__(THREADS) times_lower(product_vectors<P> p) {
    typedef wide_number<P> T;
    const product_node node = p.nodes[blockIdx.x];
    const int32_t c = column_of(p), lane = int32_t(threadIdx.x) % WARP;
    if (c < 0)
        return;
    const P *panel = p.panels + node.panel;
    const T *v = p.v + c * p.n + node.first;
    T *w = p.w + c * p.n + node.first;
    for (int32_t begin = 0; begin < node.nc; begin += WARP) {
        const int32_t i = begin + lane, count = node.nc - begin < WARP ? node.nc - begin : WARP;
        T sum = lane < count ? v[i] : T();
        for (int32_t j = 0; j < begin && lane < count; j++)
            sum = add(sum, negate(product_of(entry(panel, node, i, j), w[j])));
        for (int32_t k = 0; k < count; k++) {
            if (lane == k)
                sum = quotient_of(sum, entry(panel, node, i, i));
            const T solved = from_lane(sum, k);
            if (lane > k && lane < count)
                sum = add(sum, negate(product_of(entry(panel, node, i, begin + k), solved)));
        }
        if (lane < count)
            w[i] = sum;
        __syncwarp(); /* the warp's lanes read w */
    }
}

/* u = M w1: update rows begin .. of a supernode. A lane adds the terms of its row. */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    times_below(product_vectors<P> p, const product_task *tasks) {
    typedef wide_number<P> T;
    const product_task task = tasks[blockIdx.x];
    const product_node node = p.nodes[task.s];
    const int32_t c = column_of(p), k = task.begin + int32_t(threadIdx.x) % WARP;
    if (c < 0 || k >= node.nr - node.nc)
        return;
    const P *panel = p.panels + node.panel;
    const T *w = p.w + c * p.n + node.first;
    T sum = T();
    for (int32_t j = 0; j < node.nc; j++)
        sum = add(sum, negate(product_of(entry(panel, node, node.nc + k, j), w[j])));
    p.u[c * p.updates + node.update + k] = sum;
}

/* w(i) += its update rows, which are update[ptr[i]] .. update[ptr[i + 1] - 1], ascending. A thread a row. */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    add_updates(product_vectors<P> p, const int64_t *ptr, const int32_t *update) {
    typedef wide_number<P> T;
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= p.n)
        return;
    for (int32_t c = int32_t(blockIdx.y); c < p.columns; c += int32_t(gridDim.y)) {
        T sum = p.w[c * p.n + i];
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
            sum = add(sum, p.u[c * p.updates + update[k]]);
        p.w[c * p.n + i] = sum;
    }
}

/* w1 = v1 + M' v2: columns begin .. of a supernode, one after the other. */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    transposed_below(product_vectors<P> p, const product_task *tasks) {
    typedef wide_number<P> T;
    const product_task task = tasks[blockIdx.x];
    const product_node node = p.nodes[task.s];
    const int32_t c = column_of(p), lane = int32_t(threadIdx.x) % WARP, m = node.nr - node.nc;
    if (c < 0)
        return;
    const P *panel = p.panels + node.panel;
    const T *v = p.v + c * p.n;
    const int32_t *rows = p.rows + node.update;
    const int32_t end = task.begin + WARP < node.nc ? task.begin + WARP : node.nc;
    for (int32_t j = task.begin; j < end; j++) {
        T sum = T();
        for (int32_t k = lane; k < m; k += WARP)
            sum = add(sum, negate(product_of(conjugate(entry(panel, node, node.nc + k, j)), v[rows[k]])));
        sum = sum_of_lanes(sum);
        if (lane == 0)
            p.w[c * p.n + node.first + j] = add(v[node.first + j], sum);
    }
}

/* w1 = W' \ w1 for supernode blockIdx.x: 32 rows at a time, from the bottom. */
template <typename P>
static __global__ void __launch_bounds__(THREADS) transposed_lower(product_vectors<P> p) {
    typedef wide_number<P> T;
    const product_node node = p.nodes[blockIdx.x];
    const int32_t c = column_of(p), lane = int32_t(threadIdx.x) % WARP;
    if (c < 0)
        return;
    const P *panel = p.panels + node.panel;
    T *w = p.w + c * p.n + node.first;
    for (int32_t begin = (node.nc - 1) / WARP * WARP; begin >= 0; begin -= WARP) {
        const int32_t count = node.nc - begin < WARP ? node.nc - begin : WARP;
        T own = lane < count ? w[begin + lane] : T();
        for (int32_t k = 0; k < count && begin + WARP < node.nc; k++) {
            T sum = T();
            for (int32_t i = begin + WARP + lane; i < node.nc; i += WARP)
                sum = add(sum, product_of(conjugate(entry(panel, node, i, begin + k)), w[i]));
            sum = sum_of_lanes(sum);
            if (lane == k)
                own = add(own, negate(sum));
        }
        for (int32_t k = count - 1; k >= 0; k--) {
            if (lane == k)
                own = quotient_of(own, entry(panel, node, begin + k, begin + k));
            const T solved = from_lane(own, k);
            if (lane < k)
                own = add(own,
                          negate(product_of(conjugate(entry(panel, node, begin + k, begin + lane)), solved)));
        }
        if (lane < count)
            w[begin + lane] = own;
        __syncwarp(); /* the warp's lanes read w */
    }
}

/* v(i, c) = x(perm ? perm[i] : i, c) */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    load_product(product_vectors<P> p, const int32_t *perm, gsv_device_dense x) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    for (int32_t c = int32_t(blockIdx.y); c < p.columns && i < p.n; c += int32_t(gridDim.y))
        p.v[c * p.n + i] = number_as<wide_number<P>>(
            static_cast<const P *>(x.values)[(perm ? perm[i] : i) * x.row_stride + c * x.column_stride]);
}

/* y(perm ? perm[i] : i, c) = v(i, c) */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    store_product(product_vectors<P> p, const int32_t *perm, gsv_device_dense y) {
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    for (int32_t c = int32_t(blockIdx.y); c < p.columns && i < p.n; c += int32_t(gridDim.y))
        static_cast<P *>(y.values)[(perm ? perm[i] : i) * y.row_stride + c * y.column_stride] =
            number_as<P>(p.v[c * p.n + i]);
}

/* v(i, c) *= d(i) */
template <typename P>
static __global__ void __launch_bounds__(THREADS)
    scale_product(product_vectors<P> p, const typename traits<P>::real *d) {
    typedef wide_number<P> T;
    const int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    for (int32_t c = int32_t(blockIdx.y); c < p.columns && i < p.n; c += int32_t(gridDim.y))
        p.v[c * p.n + i] = product_of(p.v[c * p.n + i], make<T>(double(d[i])));
}

} // namespace gsv
#endif
