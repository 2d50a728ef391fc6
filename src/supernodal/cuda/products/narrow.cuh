/*
 * Products with narrow supernodes. A warp has a supernode and a group of columns; the warps of a block have groups of the same supernode, where there are several.
 *
 * Triangle: lane i has row i of the group's columns. A step takes one row, which is a result, to all lanes, and they subtract its multiples. With one column it goes
 * by a shuffle, else through the warp's shared memory. Rows below: tiles of 16 rows on tensor cores, whose terms are the triangle's rows.
 *
 * Synchronisation: within a warp alone. Traffic: the panel once a group, from L1 for the other warps of the block, and the group's rows once. Limits: 16 KB of shared
 * memory a block, 32 KB for complex numbers.
 */
#ifndef GSV_CUDA_PRODUCTS_NARROW_CUH
#define GSV_CUDA_PRODUCTS_NARROW_CUH

#include "multiply.cuh"

namespace gsv {

enum {
    AHEAD = 8, /* numbers of a panel that a lane requests at a time */
    NARROW_TILES = GSV_NARROW_COLUMNS / GSV_TILE
};
static_assert(int(GSV_NARROW_COLUMNS) == int(WARP), "a lane for each row of a triangle");

/* A narrow supernode's numbers; (i, j) and its conjugate are 0 where it does not count. */
template <typename P> struct narrow_panel {
    typedef wide_number<P> T;
    const P *panel;
    int32_t nr, nc;

    __device__ __forceinline__ T number(int32_t i, int32_t j, bool counts) const {
        return counts ? number_as<T>(panel[gsv_narrow_column(nr, j) + i]) : make<T>(0);
    }
    /* A lane's numbers of the tile of rows from i and columns from j. */
    template <bool TRANSPOSED>
    __device__ __forceinline__ void tile(int32_t i, int32_t j, T (&a)[2][4]) const {
        const tile_lane<TRANSPOSED> lane;
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int s = 0; s < 4; s++) {
                const int32_t row = i + (TRANSPOSED ? lane.term(s) : lane.row(r)),
                              column = j + (TRANSPOSED ? lane.row(r) : lane.term(s));
                const T e = number(row, column, row < nr && column < nc);
                a[r][s] = TRANSPOSED ? conjugate(e) : e;
            }
    }
};

/* A warp's shared memory: a row of eight columns for each of the triangle's rows. */
template <typename T> using narrow_rows = T[GSV_NARROW_COLUMNS][GROUP];

/* What lane j has, for all lanes of a warp, by its row of `at`, where it stays if there is more than one column. */
template <typename T, int C>
static __device__ __forceinline__ void row_of_lane(const T (&own)[C], int32_t j, narrow_rows<T> &at,
                                                   T (&row)[C]) {
    if constexpr (C == 1) {
        row[0] = from_lane(own[0], j);
    } else {
        if (int32_t(threadIdx.x) % WARP == j)
            store_run(at[j], own);
        __syncwarp(); /* the row is there */
        load_run(at[j], row);
    }
}

/*
 * own = W \ own, or W' \ own if BACKWARD, by a warp: lane i has row i, less than nc. A step takes what a row has, which is its result, from the rows
 * behind it, or before it; rows are over their diagonal from the beginning.
 */
template <bool BACKWARD, typename P, int C>
static __device__ __forceinline__ void
solve_narrow_warp(const narrow_panel<P> &e, narrow_rows<wide_number<P>> &at, wide_number<P> (&own)[C]) {
    typedef wide_number<P> T;
    const int32_t lane = int32_t(threadIdx.x) % WARP, nc = e.nc;
    const auto reciprocal = over(lane < nc ? e.number(lane, lane, true) : make<T>(1));
#pragma unroll
    for (int c = 0; c < C; c++)
        own[c] = times_real(own[c], reciprocal);
    for (int32_t first = 0; first < nc; first += AHEAD) {
        const int32_t begin = BACKWARD ? (nc - 1) / AHEAD * AHEAD - first : first;
        T ahead[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int32_t j = begin + k;
            const T number = BACKWARD ? conjugate(e.number(j, lane, lane < j && j < nc))
                                      : e.number(lane, j, j < lane && lane < nc);
            ahead[k] = times_real(number, reciprocal);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int t = BACKWARD ? AHEAD - 1 - k : k;
            const int32_t j = begin + t;
            if (j < nc) {
                T row[C];
                row_of_lane(own, j, at, row);
                if (BACKWARD ? lane < j : lane > j)
#pragma unroll
                    for (int c = 0; c < C; c++)
                        own[c] = subtract_product(own[c], ahead[t], row[c]);
            }
        }
    }
}

/* w1 = W \ v1, u = M w1 */
template <typename P, int C>
static __device__ __forceinline__ void narrow_forward_warp(const product_vectors<P, C> &p,
                                                           const gsv_product_node &node, uint32_t group,
                                                           narrow_rows<wide_number<P>> &at) {
    typedef wide_number<P> T;
    const int32_t row = int32_t(threadIdx.x) % WARP, nc = node.nc;
    const narrow_panel<P> e = {p.panels + node.panel, node.nr, nc};
    const tile_lane<false> lane;
    T own[C];
    set_zero(own);
    if (row < nc)
        load_run(p.row(p.v, group, node.first + row), own);
    solve_narrow_warp<false>(e, at, own);
    if (row < nc)
        store_run_global(p.row(p.w, group, node.first + row), own);
    if constexpr (C == 1)
        at[row][0] = own[0];
    __syncwarp(); /* w1 is there */
    T x[NARROW_TILES][4][1];
#pragma unroll
    for (int t = 0; t < NARROW_TILES; t++)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int32_t j = t * GSV_TILE + lane.term(s);
            x[t][s][0] = j < nc ? column_of_row<C>(at[j], lane.g) : make<T>(0);
        }
    for (int32_t i = nc; i < node.nr; i += GSV_TILE) {
        tile_sums<T> sums;
        sums.clear();
#pragma unroll
        for (int t = 0; t < NARROW_TILES; t++)
            if (t * GSV_TILE < nc) {
                T a[2][4];
                e.template tile<false>(i, t * GSV_TILE, a);
                sums.add_product(a, x[t]);
            }
        T sum[2][1][2];
        sums.result(sum);
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (i + lane.row(r) < node.nr) {
                const T less[2] = {negate(sum[r][0][0]), negate(sum[r][0][1])};
                store_columns<C>(p.update_row(group, node.update + i + lane.row(r) - nc), lane.q, less);
            }
    }
}

/* w1 = W' \ (v1 + M' v2) */
template <typename P, int C>
static __device__ __forceinline__ void narrow_backward_warp(const product_vectors<P, C> &p,
                                                            const gsv_product_node &node, uint32_t group,
                                                            narrow_rows<wide_number<P>> &at) {
    typedef wide_number<P> T;
    const int32_t column = int32_t(threadIdx.x) % WARP, nc = node.nc;
    const narrow_panel<P> e = {p.panels + node.panel, node.nr, nc};
    const int32_t *list = p.rows + node.update - nc;
    const T *v = p.row(p.v, group, 0);
    const tile_lane<true> lane;
    T own[C];
    set_zero(own);
    if (column < nc)
        load_run(v + int64_t(node.first + column) * C, own);
    tile_sums<T> sums[NARROW_TILES];
#pragma unroll
    for (int t = 0; t < NARROW_TILES; t++)
        sums[t].clear();
    for (int32_t i = nc; i < node.nr; i += GSV_TILE) {
        T x[4][1];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int32_t r = i + lane.term(s);
            x[s][0] = r < node.nr ? column_of_row<C>(v + int64_t(list[r]) * C, lane.g) : make<T>(0);
        }
#pragma unroll
        for (int t = 0; t < NARROW_TILES; t++)
            if (t * GSV_TILE < nc) {
                T a[2][4];
                e.template tile<true>(i, t * GSV_TILE, a);
                sums[t].add_product(a, x);
            }
    }
#pragma unroll
    for (int t = 0; t < NARROW_TILES; t++) {
        T sum[2][1][2];
        sums[t].result(sum);
#pragma unroll
        for (int r = 0; r < 2; r++)
            store_run(&at[t * GSV_TILE + lane.row(r)][2 * lane.q], sum[r][0]);
    }
    __syncwarp(); /* the sums are there */
#pragma unroll
    for (int c = 0; c < C; c++)
        own[c] = add(own[c], negate(at[column][c]));
    __syncwarp(); /* and have been read */
    solve_narrow_warp<true>(e, at, own);
    if (column < nc)
        store_run_global(p.row(p.w, group, node.first + column), own);
}

template <typename P, int C, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS, BACKWARD ? 1 : blocks_of<P>())
    narrow_supernodes(product_vectors<P, C> p, int64_t count) {
    __shared__ __align__(16) narrow_rows<wide_number<P>> rows[WARPS];
    const int warp = int(threadIdx.x) / WARP;
    const product_item of = item_of(blockIdx.x * WARPS + warp, p.groups);
    if (of.piece >= count)
        return;
    const gsv_product_node node = p.narrow[of.piece];
    if constexpr (BACKWARD)
        narrow_backward_warp(p, node, of.group, rows[warp]);
    else
        narrow_forward_warp(p, node, of.group, rows[warp]);
}

} // namespace gsv
#endif
