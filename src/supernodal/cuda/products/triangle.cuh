/*
 * Triangles of wide supernodes: w1 = W \ v1 and w1 = W' \ w1, in stages of STAGE columns for all supernodes that have them. A stage is two launches: the
 * triangle on the diagonal, a block of threads for each supernode, which takes 32 columns at a time; and the product of what is beside it, by as many blocks as
 * there are tiles' rows or columns. Narrow supernodes are further blocks of the first launch forward, and of the last one backward.
 */
#ifndef GSV_CUDA_PRODUCTS_TRIANGLE_CUH
#define GSV_CUDA_PRODUCTS_TRIANGLE_CUH

#include "multiply.cuh"

namespace gsv {

enum { STAGE = THREADS }; /* a thread for each of its rows */
static_assert(int(STAGE) == int(GSV_PRODUCT_STAGE), "the lists count such stages");

/* A triangle of a stage: rows and columns base .. base + size - 1 of a supernode. */
template <typename P> struct stage_triangle {
    typedef wide_number<P> T;
    const P *panel;
    int32_t nc, base, size;

    __device__ __forceinline__ const P *tile_row(int32_t i) const { /* number (i, 0), i local */
        const int32_t row = base + i;
        return panel + gsv_block_row_start(nc, row / GSV_TILE) + row % GSV_TILE + int64_t(base) * GSV_TILE;
    }
    __device__ __forceinline__ T entry(int32_t i, int32_t j) const {
        return number_as<T>(tile_row(i)[int64_t(j) * GSV_TILE]);
    }
    /* All of it to L2: it is read in small steps that wait for each other. */
    __device__ __forceinline__ void prefetch_block() const {
        for (int32_t i = 0; i < size; i += GSV_TILE) {
            const char *from = reinterpret_cast<const char *>(tile_row(i));
            const int32_t columns = i + GSV_TILE < size ? i + GSV_TILE : size;
            for (int32_t at = int32_t(threadIdx.x) * 128; at < columns * GSV_TILE * int32_t(sizeof(P));
                 at += THREADS * 128)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
        }
    }
    /* tile[j][i] = entry(begin + i, begin + j) for i >= j, else 0; where there are none, ones on the diagonal. */
    __device__ __forceinline__ void bring_block(int32_t begin, T (*tile)[WARP + 1]) const {
#pragma unroll
        for (int k = 0; k < WARP * WARP / THREADS; k++) {
            const int32_t e = int32_t(threadIdx.x) + k * THREADS, j = e / GSV_TILE % WARP,
                          i = e % GSV_TILE + e / (GSV_TILE * WARP) * GSV_TILE;
            const bool there = i >= j && begin + i < size;
            tile[j][i] = there ? entry(begin + i, begin + j) : make<T>(i == j ? 1 : 0);
        }
    }
};

/* W \ x, x in shared memory, by all threads of a block. */
template <typename P>
static __device__ __forceinline__ void solve_forward_block(const stage_triangle<P> &of, wide_number<P> *x,
                                                           wide_number<P> (*tile)[WARP + 1]) {
    typedef wide_number<P> T;
    const int32_t lane = int32_t(threadIdx.x) % WARP;
    for (int32_t begin = 0; begin < of.size; begin += WARP) {
        of.bring_block(begin, tile);
        __syncthreads(); /* the tile is complete, and x */
        if (threadIdx.x < WARP) {
            T own = x[begin + lane];
            const auto reciprocal = over(tile[lane][lane]);
#pragma unroll 8
            for (int32_t k = 0; k < WARP; k++) {
                const T solved = from_lane(times_real(own, reciprocal), k);
                own = lane == k ? solved : lane > k ? subtract_product(own, tile[k][lane], solved) : own;
            }
            x[begin + lane] = own;
        }
        __syncthreads(); /* x is solved for these rows */
        const int32_t i = begin + WARP + int32_t(threadIdx.x);
        if (i < of.size) {
            const P *row = of.tile_row(i) + int64_t(begin) * GSV_TILE;
            T sum = x[i];
#pragma unroll 16
            for (int32_t j = 0; j < WARP; j++)
                sum = subtract_product(sum, number_as<T>(row[j * GSV_TILE]), x[begin + j]);
            x[i] = sum;
        }
    }
    __syncthreads(); /* all of x is solved */
}

/* W' \ x */
template <typename P>
static __device__ __forceinline__ void solve_backward_block(const stage_triangle<P> &of, wide_number<P> *x,
                                                            wide_number<P> (*tile)[WARP + 1]) {
    typedef wide_number<P> T;
    const int32_t lane = int32_t(threadIdx.x) % WARP;
    for (int32_t begin = (of.size - 1) / WARP * WARP; begin >= 0; begin -= WARP) {
        of.bring_block(begin, tile);
        __syncthreads(); /* the tile is complete, and x */
        if (threadIdx.x < WARP) {
            T own = x[begin + lane];
            const auto reciprocal = over(tile[lane][lane]);
#pragma unroll 8
            for (int32_t k = WARP - 1; k >= 0; k--) {
                const T solved = from_lane(times_real(own, reciprocal), k);
                own = lane == k  ? solved
                      : lane < k ? subtract_product(own, conjugate(tile[lane][k]), solved)
                                 : own;
            }
            x[begin + lane] = own;
        }
        __syncthreads(); /* x is solved for these rows */
        const int32_t j = int32_t(threadIdx.x), count = of.size - begin < WARP ? of.size - begin : WARP;
        if (j < begin) {
            T sum = x[j];
            for (int32_t half = 0; half < count; half += GSV_TILE) {
                const P *column = of.tile_row(begin + half) + int64_t(j) * GSV_TILE;
#pragma unroll
                for (int32_t i = 0; i < GSV_TILE; i++) /* beyond the triangle x is 0 */
                    sum = subtract_product(sum, conjugate(number_as<T>(column[i])), x[begin + half + i]);
            }
            x[j] = sum;
        }
    }
    __syncthreads(); /* all of x is solved */
}

/* Stage `stage` of the first `count` wide supernodes: blocks 0 .. count columns - 1. Others have narrow supernodes. */
template <typename P, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS)
    stage_triangles(product_vectors<P> p, int32_t stage, int64_t count, int64_t narrow) {
    typedef wide_number<P> T;
    __shared__ T tile[WARP][WARP + 1], x[STAGE];
    const uint32_t blocks = uint32_t(count) * p.columns;
    if (blockIdx.x >= blocks) {
        gsv_product_node node;
        uint32_t column;
        if (!narrow_item_warp(p, blocks, narrow, node, column))
            return;
        if (BACKWARD)
            narrow_backward_warp(p, node, column);
        else
            narrow_forward_warp(p, node, column);
        return;
    }
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_node node = p.wide[of.item];
    const int32_t base = stage * STAGE, left = node.nc - base;
    const stage_triangle<P> triangle = {p.panels + node.panel, node.nc, base, left < STAGE ? left : STAGE};
    triangle.prefetch_block();
    const int64_t at = of.column * p.n + node.first + base + threadIdx.x;
    const bool own = int32_t(threadIdx.x) < triangle.size;
    x[threadIdx.x] = own ? (BACKWARD || stage > 0 ? p.w : p.v)[at] : make<T>(0);
    if (BACKWARD)
        solve_backward_block(triangle, x, tile);
    else
        solve_forward_block(triangle, x, tile);
    if (own)
        p.w[at] = x[threadIdx.x];
}

/* Forward, before stage `stage`: w(i) -= E(i, j) w(j) for the columns j of the stage before and the rows i of the triangle that are below them. A block has a
 * supernode and a column; in the grid's second dimension it has a block row. */
template <typename P>
static __global__ void __launch_bounds__(THREADS) stage_rows(product_vectors<P> p, int32_t stage) {
    typedef wide_number<P> T;
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_node node = p.wide[of.item];
    const int32_t base = stage * STAGE, row = base / GSV_TILE + int32_t(blockIdx.y);
    if (row * GSV_TILE >= node.nc)
        return;
    const T sum = sum_of_row_block(p.panels + node.panel + gsv_block_row_start(node.nc, row),
                                   p.w + of.column * p.n + node.first, base - STAGE, base);
    const int32_t i = row * GSV_TILE + int32_t(threadIdx.x);
    if (threadIdx.x >= GSV_TILE || i >= node.nc)
        return;
    const int64_t at = of.column * p.n + node.first + i;
    p.w[at] = add((stage > 1 ? p.w : p.v)[at], negate(sum));
}

/* Backward, after stage `stage`: w(j) -= conj(E(i, j)) w(i) for its rows i and the columns j before it, 16 at a time in the grid's second dimension. */
template <typename P>
static __global__ void __launch_bounds__(THREADS) stage_columns(product_vectors<P> p, int32_t stage) {
    typedef wide_number<P> T;
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_node node = p.wide[of.item];
    const int32_t base = stage * STAGE, end = base + STAGE < node.nc ? base + STAGE : node.nc,
                  begin = int32_t(blockIdx.y) * GSV_TILE;
    T *w = p.w + of.column * p.n + node.first;
    const T sum =
        sum_of_column_block(p.panels + node.panel, node.nc, base / GSV_TILE, (end + GSV_TILE - 1) / GSV_TILE,
                            begin, base, [&](int32_t i) { return i < end ? w[i] : make<T>(0); });
    if (threadIdx.x < GSV_TILE)
        w[begin + threadIdx.x] = add(w[begin + threadIdx.x], negate(sum));
}

} // namespace gsv
#endif
