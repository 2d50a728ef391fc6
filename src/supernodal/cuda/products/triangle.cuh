/*
 * Triangles of wide supernodes: w1 = W \ v1 and w1 = W' \ w1, in stages of STAGE columns for all supernodes that have them. A stage is two launches:
 * the triangle on the diagonal, a block of threads for each supernode; and the product of what is beside it, by as many blocks as there are tiles' rows
 * or columns.
 *
 * The steps of a triangle follow each other, so they are short: 32 rows at a time are multiplied with the inverse of their triangle, which a warp has
 * computed before. Each warp inverts one of them, so this takes as long as one. That inverse is a block of L1 again.
 *
 * Synchronisation: barriers of a block, two a step; no block waits for another, for stages are launches. Traffic: each number of W once for a column, and
 * the vectors once a stage. Limits: 36 KB of shared memory a block, 72 KB for complex numbers. On an H200 a triangle's launch takes 11 to 13 us.
 */
#ifndef GSV_CUDA_PRODUCTS_TRIANGLE_CUH
#define GSV_CUDA_PRODUCTS_TRIANGLE_CUH

#include "multiply.cuh"

namespace gsv {

enum { STAGE = THREADS }; /* a thread for each of its rows */
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

/* The sum over the eight lanes that have a row's, or a column's, terms. */
template <typename T> static __device__ __forceinline__ T sum_of_eight(T sum) {
    sum = add(sum, shuffle_xor(sum, 4));
    sum = add(sum, shuffle_xor(sum, 2));
    return add(sum, shuffle_xor(sum, 1));
}

/*
 * W \ x, x in shared memory, by all threads of a block. A step: y = d x for its rows, eight threads a row; x -= E y for the rows below, a thread a
 * row. The numbers of E for the next step are requested before that begins.
 */
template <typename P>
static __device__ __forceinline__ void solve_forward_block(const stage_triangle<P> &of, wide_number<P> *x,
                                                           wide_number<P> *y, const wide_number<P> *d,
                                                           wide_number<P> *to) {
    typedef wide_number<P> T;
    const int thread = int(threadIdx.x), r = thread / 8, q = thread % 8 * 4;
    P e[STEP];
    const auto request = [&](int32_t begin) { /* of the rows below this step */
                                              const int32_t i = begin + STEP + thread;
                                              const P *from =
                                                  of.row(i < of.size ? i : 0) + int64_t(begin) * GSV_TILE;
#pragma unroll
                                              for (int j = 0; j < STEP; j++)
                                                  e[j] = i < of.size ? from[j * GSV_TILE] : P();
    };
    request(0);
    for (int32_t begin = 0; begin < of.size; begin += STEP) {
        const T *of_step = d + begin / STEP * PACKED + packed_row(r);
        T sum = make<T>(0);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (q + k <= r)
                sum = multiply_add(sum, of_step[q + k], x[begin + q + k]);
        sum = sum_of_eight(sum);
        if (q == 0)
            y[r] = sum;
        __syncthreads(); /* y is there, and x has been read */
        const int32_t i = begin + STEP + thread;
        T part[4] = {make<T>(0), make<T>(0), make<T>(0), make<T>(0)};
#pragma unroll
        for (int j = 0; j < STEP; j++)
            part[j % 4] = multiply_add(part[j % 4], number_as<T>(e[j]), y[j]);
        request(begin + STEP);
        if (i < of.size)
            x[i] = add(x[i], negate(add(add(part[0], part[1]), add(part[2], part[3]))));
        if (thread < STEP && begin + thread < of.size)
            to[begin + thread] = y[thread];
        __syncthreads(); /* x is there, and y has been read */
    }
}

/* Sums over lanes whose numbers differ in bits below 2 HALF, of 2 HALF numbers each: lane r has the sum of number r in number[0]. */
template <int HALF, typename T, int N> static __device__ __forceinline__ void add_across(T (&number)[N]) {
    const bool upper = threadIdx.x & HALF;
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        const T kept = upper ? number[k + HALF] : number[k], sent = upper ? number[k] : number[k + HALF];
        number[k] = add(kept, shuffle_xor(sent, HALF));
    }
    if constexpr (HALF > 1)
        add_across<HALF / 2>(number);
}

/*
 * W' \ x. As above, but for the update x -= E' y of the columns before a step: a warp has 32 columns, a lane one row of a tile and every second column;
 * the sums over the rows end in the lanes that have the columns.
 */
template <typename P>
static __device__ __forceinline__ void solve_backward_block(const stage_triangle<P> &of, wide_number<P> *x,
                                                            wide_number<P> *y, const wide_number<P> *d,
                                                            wide_number<P> *to) {
    typedef wide_number<P> T;
    const int thread = int(threadIdx.x), r = thread / 8, q = thread % 8 * 4, lane = thread % WARP,
              row = lane % GSV_TILE, first = thread / WARP * WARP;
    P e[2][GSV_TILE];
    const auto request =
        [&](int32_t begin) { /* of the columns before this step */
#pragma unroll
                             for (int half = 0; half < 2; half++) {
                                 const bool there = first < begin && begin + half * GSV_TILE < of.size;
                                 const P *from = of.row(there ? begin + half * GSV_TILE : 0) +
                                                 int64_t(first) * GSV_TILE + lane;
#pragma unroll
                                 for (int k = 0; k < GSV_TILE; k++)
                                     e[half][k] = there ? from[k * WARP] : P();
                             }
        };
    const int32_t last = (of.size - 1) / STEP * STEP;
    request(last);
    for (int32_t begin = last; begin >= 0; begin -= STEP) {
        const T *of_step = d + begin / STEP * PACKED + r;
        T sum = make<T>(0);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (q + k >= r)
                sum = multiply_add(sum, conjugate(of_step[packed_row(q + k)]), x[begin + q + k]);
        sum = sum_of_eight(sum);
        if (q == 0)
            y[r] = sum;
        __syncthreads(); /* y is there, and x has been read */
        T terms[GSV_TILE];
#pragma unroll
        for (int k = 0; k < GSV_TILE; k++) {
            terms[k] = multiply_add(make<T>(0), conjugate(number_as<T>(e[0][k])), y[row]);
            terms[k] = multiply_add(terms[k], conjugate(number_as<T>(e[1][k])), y[GSV_TILE + row]);
        }
        request(begin - STEP);
        add_across<GSV_TILE / 2>(terms);
        const int32_t j = first + 2 * row + lane / GSV_TILE;
        if (j < begin)
            x[j] = add(x[j], negate(terms[0]));
        if (thread < STEP && begin + thread < of.size)
            to[begin + thread] = y[thread];
        __syncthreads(); /* x is there, and y has been read */
    }
}

/* Stage `stage` of the first wide supernodes: a block for a supernode and a column. */
template <typename P, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS) stage_triangles(product_vectors<P> p, int32_t stage) {
    typedef wide_number<P> T;
    extern __shared__ __align__(16) char shared[];
    const product_item of = item_of(p, blockIdx.x);
    const gsv_product_node node = p.wide[of.item];
    const int32_t base = stage * STAGE, left = node.nc - base;
    const stage_triangle<P> triangle = {p.panels + node.panel, node.nc, base, left < STAGE ? left : STAGE};
    T *x = reinterpret_cast<T *>(shared), *y = x + STAGE, *d = y + STEP;
    const int32_t warp = int32_t(threadIdx.x) / WARP;
    const int64_t at = of.column * p.n + node.first + base;
    const bool own = int32_t(threadIdx.x) < triangle.size;
    x[threadIdx.x] = own ? (BACKWARD || stage > 0 ? p.w : p.v)[at + threadIdx.x] : make<T>(0);
    if (warp * STEP < triangle.size)
        invert_step_warp(triangle, warp * STEP, d + warp * PACKED);
    __syncthreads(); /* x is there, and all inverses */
    if (BACKWARD)
        solve_backward_block(triangle, x, y, d, p.w + at);
    else
        solve_forward_block(triangle, x, y, d, p.w + at);
}

/* Bytes of shared memory of stage_triangles. */
template <typename P> constexpr int stage_bytes() {
    return (STAGE + STEP + STEPS * PACKED) * int(sizeof(wide_number<P>));
}

/* Forward, before stage `stage`: w(i) -= E(i, j) w(j) for the columns j of the stage before and the rows i of the triangle that are below them. A block
 * has a supernode and a column; in the grid's second dimension it has a block row. */
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

/* Backward, after stage `stage`: w(j) -= conj(E(i, j)) w(i) for its rows i and the columns j before it, 16 at a time in the grid's second
 * dimension. */
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
