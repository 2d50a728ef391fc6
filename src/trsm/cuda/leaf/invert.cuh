/*
 * W = inv(T_kk) for every diagonal block T_kk of 64 rows, one thread block of 256 threads each, in shared
 * memory: diagonal blocks of 16 by substitution, a lane a column; then twice
 *
 *      inv [L11 0; L21 L22] = [W11 0; -W22 L21 W11, W22]       16 -> 32 -> 64
 *
 * A block whose inverse is not to be trusted is marked for substitution: the rule and the limit are
 * trsm/cuda/panels/inverse.h's. Rows beyond the triangle's order are those of the identity.
 *
 * Traffic: 2 k of T read, 4 k of W written, numbers, a block. Beside that the kernel clears what the solve
 * will exchange: fills memory with ABSENT (published.cuh).
 */
#ifndef GSV_TRSM_CUDA_LEAF_INVERT_CUH
#define GSV_TRSM_CUDA_LEAF_INVERT_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../../../dense_kernels/fragment.cuh"
#include "../../../dense_kernels/overlap.cuh"
#include "../../../dense_kernels/scalar.cuh"
#include "leaf.h"
#include "../panels/inverse.h"

namespace gsv {

enum { LEAF_THREADS = 256, LEAF_WARPS = 8 };

template <typename T> struct leaf_triangle {
    const T *a;
    int64_t row, column;
    int32_t order;
    bool conjugated, unit;
};

template <typename T> __device__ __forceinline__ T multiply(T a, T b) {
    return multiply_add(make<T>(0), a, b);
}

/* 1 / a; for complex numbers by Smith's method, which does not overflow in between. */
template <typename T> __device__ __forceinline__ T reciprocal(T a) {
    if constexpr (traits<T>::is_complex) {
        typedef typename traits<T>::real real;
        if (fabs(a.re) >= fabs(a.im)) {
            const real ratio = a.im / a.re, whole = fma(a.im, ratio, a.re);
            return T{real(1) / whole, -ratio / whole};
        }
        const real ratio = a.re / a.im, whole = fma(a.re, ratio, a.im);
        return T{ratio / whole, real(-1) / whole};
    } else {
        return T(1) / a;
    }
}

/* a / b */
template <typename T> __device__ __forceinline__ T quotient(T a, T b) {
    if constexpr (traits<T>::is_complex)
        return multiply(a, reciprocal(b));
    else
        return a / b;
}

/* How tiles of 64 x 64 lie in shared memory, column by column: no bank conflicts for fragments. */
template <typename T> struct leaf_tile {
    static const int LD = sizeof(T) == 4 ? 72 : sizeof(T) == 8 ? 68 : 66;
    static const int SIZE = GSV_LEAF_ROWS * LD;
};

/* Copy one number to shared memory in the background; zero where it must not be read. */
template <typename T> __device__ __forceinline__ void copy_number_async(T *to, const T *from, bool read) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
        "l"(from), "n"(int(sizeof(T))), "r"(read ? int(sizeof(T)) : 0)
        : "memory");
}

/* T(block, j) to shared memory, column by column, rows beyond the order as zeros; for j == block the lower
 * triangle of it, with zeros above, and on the diagonal where that is ones by agreement. */
template <typename T>
__device__ __forceinline__ void request_tile_block(const leaf_triangle<T> &t, int block, int j, T *to,
                                                   int ld) {
    const bool by_columns = t.row == 1 || t.row == -1; /* neighbouring threads take neighbouring numbers */
    const int rows = t.order - block * GSV_LEAF_ROWS;
    const T *from = t.a + int64_t(block * GSV_LEAF_ROWS) * t.row + int64_t(j * GSV_LEAF_ROWS) * t.column;
#pragma unroll 4
    for (int e = threadIdx.x; e < GSV_LEAF_ROWS * GSV_LEAF_ROWS; e += LEAF_THREADS) {
        const int low = e % GSV_LEAF_ROWS, high = e / GSV_LEAF_ROWS;
        const int i = by_columns ? low : high, k = by_columns ? high : low;
        const bool inside = i < rows && (j < block || k < i || (k == i && !t.unit));
        copy_number_async(to + k * ld + i, inside ? from + i * t.row + k * t.column : t.a, inside);
    }
}

/* The same numbers conjugated in place, by the threads that copied them, once the copies have arrived. */
template <typename T>
__device__ __forceinline__ void conjugate_tile_block(const leaf_triangle<T> &t, T *tile, int ld) {
    if constexpr (traits<T>::is_complex) {
        const bool by_columns = t.row == 1 || t.row == -1;
        if (t.conjugated)
            for (int e = threadIdx.x; e < GSV_LEAF_ROWS * GSV_LEAF_ROWS; e += LEAF_THREADS) {
                const int low = e % GSV_LEAF_ROWS, high = e / GSV_LEAF_ROWS;
                T *at = tile + (by_columns ? high * ld + low : low * ld + high);
                *at = conjugate(*at);
            }
    }
}

/* Sum over four neighbouring lanes, in each of them. */
__device__ __forceinline__ double sum_quad(double value) {
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}

/* Is k of trsm/cuda/panels/inverse.h beyond the limit, or not a number? All threads of the block get the answer.
 * Four lanes to a row (or column) i. l and w: zeros above the diagonal. sums: 4 x 64 doubles. */
template <typename T> __device__ bool too_ill_conditioned_block(const T *l, const T *w, double *sums) {
    enum { LD = leaf_tile<T>::LD };
    double *e = sums, *inverse_e = sums + 64, *t = sums + 128, *t2 = sums + 192;
    const int i = threadIdx.x / 4, part = threadIdx.x % 4;
    double sum = 0;
#pragma unroll
    for (int m = 0; m < 16; m++)
        sum += magnitude1(l[(part + 4 * m) * LD + i]);
    sum = sum_quad(sum);
    if (part == 0) {
        e[i] = sum;
        inverse_e[i] = 1 / sum;
    }
    __syncthreads(); /* e = |L| 1 */
    double by_rows = 0, by_columns = 0;
#pragma unroll
    for (int m = 0; m < 16; m++) {
        by_rows += magnitude1(w[(part + 4 * m) * LD + i]) * e[part + 4 * m];
        by_columns += magnitude1(w[i * LD + part + 4 * m]);
    }
    by_rows = sum_quad(by_rows);
    by_columns = sum_quad(by_columns);
    if (part == 0) {
        t[i] = by_rows;
        t2[i] = by_columns; /* e(i) / e(i) */
    }
    __syncthreads(); /* t = |W E| 1, t2 = inv(E) |W E|' 1 */
    by_rows = by_columns = 0;
#pragma unroll
    for (int m = 0; m < 16; m++) {
        by_rows += magnitude1(l[(part + 4 * m) * LD + i]) * t[part + 4 * m];
        by_columns += magnitude1(l[i * LD + part + 4 * m]) * t2[part + 4 * m];
    }
    by_rows = sum_quad(by_rows) * inverse_e[i];
    by_columns = sum_quad(by_columns);
    return __syncthreads_or(!(by_rows <= GSV_INVERSION_LIMIT) || !(by_columns <= GSV_INVERSION_LIMIT));
}

/* The diagonal block of 16 rows from `first` on, by the lanes 0 .. 15 of a warp. reciprocals: of the
 * diagonal. */
template <typename T> __device__ void invert_16_warp(const T *l, const T *reciprocals, T *w, int first) {
    enum { LD = leaf_tile<T>::LD };
    const int c = threadIdx.x % 32;
    if (c >= 16)
        return;
    T x[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        x[k] = make<T>(k == c ? 1 : 0);
#pragma unroll
    for (int k = 0; k < 16; k++) {
        x[k] = multiply(x[k], reciprocals[first + k]);
#pragma unroll
        for (int r = k + 1; r < 16; r++)
            x[r] = multiply_add(x[r], negate(l[(first + k) * LD + first + r]), x[k]);
    }
#pragma unroll
    for (int k = 0; k < 16; k++)
        w[(first + c) * LD + first + k] = x[k];
}

/* c = a x for 16 rows, eight columns and 8 STEPS terms, everything in shared memory: a(i, k) at i + k LD,
 * x(k, n) at k + n LD, and so c, times sign. */
template <typename T, int STEPS>
__device__ __forceinline__ void small_product_warp(const T *a, const T *x, T *c, int sign) {
    typedef fragment<T, 2, 8> F;
    enum { LD = leaf_tile<T>::LD };
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    F sum;
    sum.clear();
#pragma unroll
    for (int h = 0; h < STEPS; h++) {
        T row[2][2], column[2][F::XS];
#pragma unroll
        for (int s = 0; s < 2; s++) {
            row[0][s] = a[(8 * h + 4 * s + q) * LD + g];
            row[1][s] = a[(8 * h + 4 * s + q) * LD + g + 8];
#pragma unroll
            for (int t = 0; t < F::XS; t++)
                column[s][t] = x[(g + 8 * t) * LD + 8 * h + 4 * s + q];
        }
        sum.add_product(row, column);
    }
    T r[2][1][2];
    sum.result(r);
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            c[(2 * q + e) * LD + g + 8 * u] = sign < 0 ? negate(r[u][0][e]) : r[u][0][e];
}

/* From inverses of size H to inverses of twice that. product: 32 columns of scratch for L21 W11. */
template <typename T, int H> __device__ void double_inverse_block(const T *l, T *w, T *product) {
    enum { LD = leaf_tile<T>::LD, ROWS = H / 16, COLUMNS = H / 8, TILES = 32 / H * ROWS * COLUMNS };
    const int warp = threadIdx.x / 32, pair = warp / (ROWS * COLUMNS);
    const int i = warp / COLUMNS % ROWS * 16, j = warp % COLUMNS * 8;
    const int top = pair * 2 * H, middle = top + H;
    __syncthreads(); /* the smaller inverses are there */
    if (warp < TILES)
        small_product_warp<T, H / 8>(l + top * LD + middle + i, w + (top + j) * LD + top,
                                     product + (pair * H + j) * LD + i, 1);
    __syncthreads(); /* L21 W11 is there */
    if (warp < TILES)
        small_product_warp<T, H / 8>(w + middle * LD + middle + i, product + (pair * H + j) * LD,
                                     w + (top + j) * LD + middle + i, -1);
}

template <typename T> struct invert_shared {
    static const int BYTES = (2 * leaf_tile<T>::SIZE + leaf_tile<T>::SIZE / 2) * int(sizeof(T));
};

template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS)
    invert_blocks_kernel(const __grid_constant__ leaf_triangle<T> t, T *inverse, int32_t *substitute,
                         int4 *clear, int64_t clear_count) {
    enum { LD = leaf_tile<T>::LD };
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ double sums[4 * 64];
    __shared__ T reciprocals[64];
    T *l = reinterpret_cast<T *>(shared), *w = l + leaf_tile<T>::SIZE, *product = w + leaf_tile<T>::SIZE;
    const int block = int(blockIdx.x);
    wait_for_earlier_kernels();
    let_next_kernel_start();
    request_tile_block(t, block, block, l, LD);
    const int4 absent = {-1, -1, -1, -1};
    const int64_t every = int64_t(gridDim.x) * LEAF_THREADS;
    for (int64_t k = int64_t(block) * LEAF_THREADS + threadIdx.x; k < clear_count; k += every)
        clear[k] = absent;
    for (int e = threadIdx.x; e < 64 * 64; e += LEAF_THREADS)
        if (e / 64 / 16 != e % 64 / 16)
            w[e / 64 * LD + e % 64] = make<T>(0);
    wait_for_own_copies();
    conjugate_tile_block(t, l, LD);
    __syncthreads(); /* the triangle is there */
    if (threadIdx.x < 64) {
        T &diagonal = l[threadIdx.x * LD + threadIdx.x];
        if (t.unit || block * GSV_LEAF_ROWS + int(threadIdx.x) >= t.order)
            diagonal = make<T>(1);
        reciprocals[threadIdx.x] = reciprocal(diagonal);
    }
    __syncthreads(); /* the diagonal, too */
    if (threadIdx.x / 32 < 4)
        invert_16_warp(l, reciprocals, w, int(threadIdx.x / 32) * 16);
    double_inverse_block<T, 16>(l, w, product);
    double_inverse_block<T, 32>(l, w, product);
    __syncthreads(); /* w is there */
    T *to = inverse + int64_t(block) * (64 * 64);
#pragma unroll
    for (int m = 0; m < 16; m++) {
        const int e = threadIdx.x + m * LEAF_THREADS;
        to[e] = w[e / 64 * LD + e % 64];
    }
    const bool ill = too_ill_conditioned_block(l, w, sums);
    if (threadIdx.x == 0)
        substitute[block] = ill;
}

} // namespace gsv
#endif
