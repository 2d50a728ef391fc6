/*
 * Triangles of wide supernodes: w1 = W \ v1 and w1 = W' \ w1, in stages of STAGE columns for all supernodes that have them. A stage is two launches:
 * the triangle on the diagonal, a block of threads for each supernode; and the product of what is beside it, by as many blocks as there are tiles' rows
 * or columns.
 *
 * The steps of a triangle follow each other, so they are short: 32 rows at a time are multiplied with the inverse of their triangle, which their warp has
 * computed before. All warps invert at once, so this takes as long as one, and serves all groups of columns that the block has. That inverse is a block of
 * L1 again.
 *
 * Synchronisation: a barrier of a block a step; no block waits for another, for stages are launches. Traffic: each number of W once for a group of columns,
 * and the vectors once a stage. Limits: 38 KB of shared memory a block, 78 KB for complex numbers.
 * On an H200 a triangle of all STAGE columns takes some 20 us, inversion included, for one group, and 26 for eight in as many blocks.
 */
#ifndef GSV_CUDA_PRODUCTS_TRIANGLE_CUH
#define GSV_CUDA_PRODUCTS_TRIANGLE_CUH

#include "multiply.cuh"

namespace gsv {

enum { STAGE = THREADS }; /* a warp for 32 of its rows */
static_assert(int(STAGE) == int(GSV_PRODUCT_STAGE), "the lists count such stages");

/* Rows of a triangle that are solved with together; a warp inverts them. PACKED: numbers of such a triangle. */
enum { STEP = WARP, STEPS = STAGE / STEP, PACKED = STEP * (STEP + 1) / 2 };

static __device__ __forceinline__ int packed_row(int i) {
    return i * (i + 1) / 2;
}

/* A triangle of a stage: rows and columns base .. base + size - 1 of a supernode. Rows and columns below are counted from base on. */
template <typename P> struct stage_triangle {
    typedef wide_number<P> T;
    const P *panel;
    int32_t nc, base, size;

    __device__ __forceinline__ const P *
    row(int32_t i) const { /* number (i, 0); (i, j) is GSV_TILE j behind it */
        const int32_t at = base + i;
        return panel + gsv_block_row_start(nc, at / GSV_TILE) + at % GSV_TILE + int64_t(base) * GSV_TILE;
    }
};

/*
 * d = inverse of rows and columns begin .. begin + 31, packed by rows, in shared memory, by a warp; beyond the triangle it is the identity. Numbers are
 * read by tiles, all before one is used. Then lane j has column j of the inverse in registers:
 *
 *      d(i, j) = (e(i, j) - sum over k < i of W(i, k) d(k, j)) / W(i, i)
 */
template <typename P>
static __device__ __forceinline__ void invert_step_warp(const stage_triangle<P> &of, int32_t begin,
                                                        wide_number<P> *d) {
    typedef wide_number<P> T;
    const int lane = int(threadIdx.x) % WARP, r = lane % GSV_TILE, odd = lane / GSV_TILE;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int i = half * GSV_TILE + r;
        const bool there = begin + i < of.size;
        const P *from = of.row(begin + (there ? i : 0)) + int64_t(begin) * GSV_TILE;
        P number[GSV_TILE];
#pragma unroll
        for (int k = 0; k < GSV_TILE; k++)
            number[k] = there && 2 * k + odd <= i ? from[(2 * k + odd) * GSV_TILE] : P();
#pragma unroll
        for (int k = 0; k < GSV_TILE; k++)
            if (2 * k + odd <= i)
                d[packed_row(i) + 2 * k + odd] =
                    there ? number_as<T>(number[k]) : make<T>(2 * k + odd == i ? 1 : 0);
    }
    __syncwarp(); /* the triangle is there */
    const auto reciprocal = over(d[packed_row(lane) + lane]);
    T column[STEP];
#pragma unroll
    for (int i = 0; i < STEP; i++) {
        T sum = make<T>(lane == i ? 1 : 0);
#pragma unroll
        for (int k = 0; k < i; k++)
            sum = subtract_product(sum, d[packed_row(i) + k], column[k]);
        column[i] = times_real(sum, __shfl_sync(~0u, reciprocal, i));
    }
    __syncwarp(); /* all lanes have read it */
#pragma unroll
    for (int i = 0; i < STEP; i++)
        if (lane <= i)
            d[packed_row(i) + lane] = column[i];
}

/* Tiles of a step's rows, and numbers from one row of y to the next: with a gap, so that lanes with other rows meet other banks. */
enum { TILES = STEP / GSV_TILE, Y_ROW = GROUP + 2, Y_NUMBERS = STEP * Y_ROW };

/* A lane's part of eight columns of 32 rows of y, as what a tile is multiplied with. */
template <bool BACKWARD, typename T>
static __device__ __forceinline__ void read_step(const T *y, T (&x)[TILES][4][1]) {
    const tile_lane<BACKWARD> lane;
#pragma unroll
    for (int k = 0; k < TILES; k++)
#pragma unroll
        for (int s = 0; s < 4; s++)
            x[k][s][0] = y[(k * GSV_TILE + lane.term(s)) * Y_ROW + lane.g];
}

/* A lane's part of tile (m, k) of an inverse, or of its transpose. */
template <bool BACKWARD, typename T>
static __device__ __forceinline__ void read_inverse(const T *d, int m, int k, T (&a)[2][4]) {
    const tile_lane<BACKWARD> lane;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int r = m * GSV_TILE + lane.row(i), j = k * GSV_TILE + lane.term(s);
            if constexpr (BACKWARD)
                a[i][s] = j >= r ? conjugate(d[packed_row(j) + r]) : make<T>(0);
            else
                a[i][s] = j <= r ? d[packed_row(r) + j] : make<T>(0);
        }
}

/*
 * What a warp needs of the inverse for its step. Real numbers are read in the step before, while others have to wait; complex ones, for which there are no
 * registers, when they are used. Tiles beyond the diagonal are not touched.
 */
template <typename T, bool BACKWARD, bool EARLY = !traits<T>::is_complex> struct step_inverse {
    T tiles[TILES][TILES][2][4];

    __device__ __forceinline__ void read(const T *d) {
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int k = 0; k < TILES; k++)
                read_inverse<BACKWARD>(d, m, k, tiles[m][k]);
    }
    __device__ __forceinline__ void multiply(tile_sums<T> &sums, int m, int k, const T (&x)[4][1]) const {
        sums.add_product(tiles[m][k], x);
    }
};
template <typename T, bool BACKWARD> struct step_inverse<T, BACKWARD, false> {
    const T *from;

    __device__ __forceinline__ void read(const T *d) {
        from = d;
    }
    __device__ __forceinline__ void multiply(tile_sums<T> &sums, int m, int k, const T (&x)[4][1]) const {
        T a[2][4];
        read_inverse<BACKWARD>(from, m, k, a);
        sums.add_product(a, x);
    }
};

/*
 * y = d x, or d' x, for a step, by the warp whose rows they are; own = -x. y goes to the step's first row on, `to`, as far as there are `rows`. x passes through
 * the memory of y.
 */
template <int C, bool BACKWARD, typename T>
static __device__ __forceinline__ void solve_step_warp(const step_inverse<T, BACKWARD> &d,
                                                       const tile_sums<T> (&own)[TILES], T *y, T *to,
                                                       int32_t rows) {
    const tile_lane<BACKWARD> lane;
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        T less[2][1][2];
        own[m].result(less);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int r = m * GSV_TILE + lane.row(i);
            T x[2] = {negate(less[i][0][0]), negate(less[i][0][1])};
            if (r >= rows)
                set_zero(x);
            store_run(y + r * Y_ROW + 2 * lane.q, x);
        }
    }
    __syncwarp(); /* x is there */
    T x[TILES][4][1];
    read_step<BACKWARD>(y, x);
    __syncwarp(); /* x has been read */
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        tile_sums<T> sums;
        sums.clear();
#pragma unroll
        for (int k = 0; k < TILES; k++)
            if (BACKWARD ? k >= m : k <= m)
                d.multiply(sums, m, k, x[k]);
        T sum[2][1][2];
        sums.result(sum);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int r = m * GSV_TILE + lane.row(i);
            store_run(y + r * Y_ROW + 2 * lane.q, sum[i][0]);
            if (r < rows)
                store_columns<C>(to + r * C, lane.q, sum[i][0]);
        }
    }
}

/*
 * W \ v, or W' \ v if BACKWARD, by a block of threads: a warp has 32 rows. A step: the warp of its rows computes y = d x, and the warps of the rows behind
 * it, or before it, add E y to their sums. The numbers of E for the next step are requested before that begins. y: room for two steps, by turns.
 */
template <typename P, int C, bool BACKWARD>
static __device__ __forceinline__ void solve_stage_block(const stage_triangle<P> &of, const wide_number<P> *d,
                                                         wide_number<P> *y, const wide_number<P> *v,
                                                         wide_number<P> *to, int &turn) {
    typedef wide_number<P> T;
    const tile_lane<BACKWARD> lane;
    const int32_t first = int32_t(threadIdx.x) / WARP * STEP, last = (of.size - 1) / STEP * STEP;
    tile_sums<T> sums[TILES]; /* E y - v */
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        T from[2][1][2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int32_t r = first + m * GSV_TILE + lane.row(i);
            T two[2] = {make<T>(0), make<T>(0)};
            if (r < of.size)
                load_columns<C>(v + r * C, lane.q, two);
            from[i][0][0] = negate(two[0]);
            from[i][0][1] = negate(two[1]);
        }
        sums[m].set(from);
    }
    P e[TILES][TILES][2][4];
    const auto request = [&](int32_t begin) {
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                const int32_t mine = first + m * GSV_TILE, steps = begin + k * GSV_TILE,
                              row = BACKWARD ? steps : mine, column = BACKWARD ? mine : steps;
                const bool there = (BACKWARD ? first < begin : first > begin) && row < of.size;
                read_tile<BACKWARD>(of.row(there ? row : 0) + int64_t(column) * GSV_TILE,
                                    there ? GSV_TILE : 0, e[m][k]);
            }
    };
    step_inverse<T, BACKWARD> inverse;
    const auto next = [](int32_t begin) { return BACKWARD ? begin - STEP : begin + STEP; };
    request(BACKWARD ? last : 0);
    if (first == (BACKWARD ? last : 0))
        inverse.read(d);
    for (int32_t step = 0; step <= last; step += STEP, turn ^= 1) {
        const int32_t begin = BACKWARD ? last - step : step;
        T *ys = y + turn * Y_NUMBERS;
        if (first == begin)
            solve_step_warp<C, BACKWARD>(inverse, sums, ys, to + begin * C, of.size - begin);
        if (first == next(begin))
            inverse.read(d);
        __syncthreads(); /* y is there; the one before it has been read */
        if (BACKWARD ? first < begin : first > begin) {
            T x[TILES][4][1];
            read_step<BACKWARD>(ys, x);
#pragma unroll
            for (int m = 0; m < TILES; m++)
#pragma unroll
                for (int k = 0; k < TILES; k++) {
                    T a[2][4];
                    tile_numbers<BACKWARD>(e[m][k], a);
                    sums[m].add_product(a, x[k]);
                }
        }
        request(next(begin));
    }
}

/* Stage `stage` of the first wide supernodes: `share` blocks for a supernode. */
template <typename P, int C, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS)
    stage_triangles(product_vectors<P, C> p, int32_t stage, uint32_t share) {
    typedef wide_number<P> T;
    extern __shared__ __align__(16) char shared[];
    const product_item of = item_of(blockIdx.x, share);
    const gsv_product_node node = p.wide[of.piece];
    const int32_t base = stage * STAGE, left = node.nc - base, warp = int32_t(threadIdx.x) / WARP;
    const stage_triangle<P> triangle = {p.panels + node.panel, node.nc, base, left < STAGE ? left : STAGE};
    T *y = reinterpret_cast<T *>(shared), *d = y + 2 * Y_NUMBERS + warp * PACKED;
    if (warp * STEP < triangle.size)
        invert_step_warp(triangle, warp * STEP, d);
    __syncwarp(); /* a warp's inverse is its own */
    int turn = 0;
    for (uint32_t group = of.group; group < p.groups; group += share)
        solve_stage_block<P, C, BACKWARD>(triangle, d, y,
                                          p.row(BACKWARD || stage > 0 ? p.w : p.v, group, node.first + base),
                                          p.row(p.w, group, node.first + base), turn);
}

/* Bytes of shared memory of stage_triangles. */
template <typename P> constexpr int stage_bytes() {
    return (2 * Y_NUMBERS + STEPS * PACKED) * int(sizeof(wide_number<P>));
}

/* Forward, before stage `stage`: w(i) -= E(i, j) w(j) for the columns j of the stage before and the rows i of the triangle that are below them, a block row of
 * them for each of the grid's second dimension. */
template <typename P, int C>
static __global__ void __launch_bounds__(THREADS, blocks_of<P>())
    stage_rows(product_vectors<P, C> p, int32_t stage, uint32_t share) {
    typedef wide_number<P> T;
    const product_item of = item_of(blockIdx.x, share);
    const gsv_product_node node = p.wide[of.piece];
    const int32_t base = stage * STAGE, row = base / GSV_TILE + int32_t(blockIdx.y);
    if (row * GSV_TILE >= node.nc)
        return;
    const P *block_row = p.panels + node.panel + gsv_block_row_start(node.nc, row);
    int turn = 0;
    for (uint32_t group = of.group; group < p.groups; group += share, turn ^= 1)
        multiply_block_row<C>(block_row, p.row(p.w, group, node.first), base - STAGE, base, turn,
                              [&](int32_t r, int c, const T(&two)[2]) {
                                  const int32_t i = row * GSV_TILE + r;
                                  if (i < node.nc)
                                      subtract_columns<C>(p.row(stage > 1 ? p.w : p.v, group, node.first + i),
                                                          p.row(p.w, group, node.first + i), c, two);
                              });
}

/* Backward, after stage `stage`: w(j) -= conj(E(i, j)) w(i) for its rows i and the columns j before it, 16 for each of the grid's second dimension. */
template <typename P, int C>
static __global__ void __launch_bounds__(THREADS)
    stage_columns(product_vectors<P, C> p, int32_t stage, uint32_t share) {
    typedef wide_number<P> T;
    const product_item of = item_of(blockIdx.x, share);
    const gsv_product_node node = p.wide[of.piece];
    const int32_t base = stage * STAGE, end = base + STAGE < node.nc ? base + STAGE : node.nc,
                  begin = int32_t(blockIdx.y) * GSV_TILE;
    int turn = 0;
    for (uint32_t group = of.group; group < p.groups; group += share, turn ^= 1) {
        T *w = p.row(p.w, group, node.first);
        const auto rows = [&](int32_t i, int g) {
            return i < end ? column_of_row<C>(w + int64_t(i) * C, g) : make<T>(0);
        };
        const auto finish = [&](int32_t r, int c, const T(&two)[2]) {
            T *row = w + int64_t(begin + r) * C;
            subtract_columns<C>(row, row, c, two);
        };
        multiply_block_columns(p.panels + node.panel, node.nc, base / GSV_TILE,
                               (end + GSV_TILE - 1) / GSV_TILE, begin, base, rows, turn, finish);
    }
}

} // namespace gsv
#endif
