/*
 * W = inv(T_kk) for every diagonal block T_kk of 64 rows, one thread block of 256 threads each, in shared
 * memory: diagonal blocks of 16 by substitution, a lane a column; then twice
 *
 *      inv [L11 0; L21 L22] = [W11 0; -W22 L21 W11, W22]       16 -> 32 -> 64
 *
 * A block whose inverse is not to be trusted is marked for substitution: the rule and the limit are
 * panel_inverse.h's. Rows beyond the triangle's order are those of the identity.
 *
 * Traffic: 2 k of T read, 4 k of W written, numbers, a block. Beside that the kernel clears what the solve
 * will exchange: fills memory with ABSENT (published.cuh).
 */
#ifndef GSV_CUDA_INVERT_CUH
#define GSV_CUDA_INVERT_CUH

#include "../dense_kernels/overlap.cuh"
#include "../dense_kernels/scalar.cuh"
#include "cuda_leaf.h"
#include "panel_inverse.h"

namespace gsv {

enum { LEAF_THREADS = 256, LEAF_WARPS = 8, INVERT_LD = GSV_LEAF_ROWS + 1 };

template <typename T> struct leaf_triangle {
    const T *a;
    int64_t row, column;
    int32_t order;
    bool conjugated, unit;

    __device__ __forceinline__ T load(int64_t i, int64_t j) const {
        const T value = load_panel(a + i * row + j * column);
        return conjugated ? conjugate(value) : value;
    }
    /* The diagonal entry, not read where it is one by agreement. */
    __device__ __forceinline__ T diagonal(int64_t i) const {
        return unit ? make<T>(1) : load(i, i);
    }
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

/* Sum over four neighbouring lanes, in each of them. */
__device__ __forceinline__ double sum_quad(double value) {
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}

/* Is k of panel_inverse.h beyond the limit, or not a number? All threads of the block get the answer. Four
 * lanes to a row (or column). sums: 3 x 64 doubles. */
template <typename T> __device__ bool too_ill_conditioned_block(const T *l, const T *w, double *sums) {
    double *e = sums, *t = sums + 64, *t2 = sums + 128;
    const int i = threadIdx.x / 4, part = threadIdx.x % 4;
    double sum = 0;
    for (int j = part; j <= i; j += 4)
        sum += magnitude1(l[j * INVERT_LD + i]);
    sum = sum_quad(sum);
    if (part == 0)
        e[i] = sum;
    __syncthreads(); /* e = |L| 1 */
    double by_rows = 0, by_columns = 0;
    for (int j = part; j <= i; j += 4)
        by_rows += magnitude1(w[j * INVERT_LD + i]) * e[j];
    for (int r = i + part; r < 64; r += 4)
        by_columns += magnitude1(w[i * INVERT_LD + r]);
    by_rows = sum_quad(by_rows);
    by_columns = sum_quad(by_columns) * e[i];
    if (part == 0) {
        t[i] = by_rows;
        t2[i] = by_columns;
    }
    __syncthreads(); /* t = |W E| 1, t2 = |W E|' 1 */
    by_rows = by_columns = 0;
    for (int j = part; j <= i; j += 4)
        by_rows += magnitude1(l[j * INVERT_LD + i]) * t[j];
    for (int r = i + part; r < 64; r += 4)
        by_columns += magnitude1(l[i * INVERT_LD + r]) / e[r] * t2[r];
    by_rows = sum_quad(by_rows) / e[i];
    by_columns = sum_quad(by_columns);
    return __syncthreads_or(!(by_rows <= GSV_INVERSION_LIMIT) || !(by_columns <= GSV_INVERSION_LIMIT));
}

/* The diagonal block of 16 rows from `first` on, by the lanes 0 .. 15 of a warp. reciprocals: of its
 * diagonal. */
template <typename T> __device__ void invert_16_warp(const T *l, const T *reciprocals, T *w, int first) {
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
            x[r] = multiply_add(x[r], negate(l[(first + k) * INVERT_LD + first + r]), x[k]);
    }
#pragma unroll
    for (int k = 0; k < 16; k++)
        w[(first + c) * INVERT_LD + first + k] = x[k];
}

/* From inverses of size H to inverses of twice that: L21 W11 goes above the diagonal of w, then W21 below. */
template <typename T, int H> __device__ void double_inverse_block(const T *l, T *w) {
    enum {
        PAIRS = 32 / H,
        COUNT = PAIRS * H * H / LEAF_THREADS
    }; /* results a thread: 2 or 4 rows of one column */
    const int pair = threadIdx.x / (LEAF_THREADS / PAIRS), within = threadIdx.x % (LEAF_THREADS / PAIRS);
    const int top = pair * 2 * H, middle = top + H;
    const int c = within % H, r0 = within / H; /* rows r0 + m H / COUNT */
    enum { STRIDE = H / COUNT };
    T sum[COUNT];
    __syncthreads(); /* the smaller inverses are there */
#pragma unroll
    for (int m = 0; m < COUNT; m++)
        sum[m] = make<T>(0);
    for (int k = c; k < H; k++) { /* W11 is lower triangular */
        const T right = w[(top + c) * INVERT_LD + top + k];
#pragma unroll
        for (int m = 0; m < COUNT; m++)
            sum[m] = multiply_add(sum[m], l[(top + k) * INVERT_LD + middle + r0 + m * STRIDE], right);
    }
#pragma unroll
    for (int m = 0; m < COUNT; m++)
        w[(middle + c) * INVERT_LD + top + r0 + m * STRIDE] = sum[m];
    __syncthreads(); /* L21 W11 is there */
#pragma unroll
    for (int m = 0; m < COUNT; m++)
        sum[m] = make<T>(0);
    for (int k = 0; k < H; k++) {
        const T right = w[(middle + c) * INVERT_LD + top + k];
#pragma unroll
        for (int m = 0; m < COUNT; m++) {
            const int r = r0 + m * STRIDE;
            if (k <= r) /* W22 is lower triangular; its place above the diagonal may hold anything */
                sum[m] = multiply_add(sum[m], negate(w[(middle + k) * INVERT_LD + middle + r]), right);
        }
    }
#pragma unroll
    for (int m = 0; m < COUNT; m++)
        w[(top + c) * INVERT_LD + middle + r0 + m * STRIDE] = sum[m];
}

template <typename T> struct invert_shared {
    static const int BYTES = 2 * GSV_LEAF_ROWS * INVERT_LD * int(sizeof(T));
};

template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS)
    invert_blocks_kernel(leaf_triangle<T> t, T *inverse, int32_t *substitute, int4 *clear,
                         int64_t clear_count, uint32_t *tickets, int64_t ticket_count) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ double sums[3 * 64];
    __shared__ T reciprocals[64];
    T *l = reinterpret_cast<T *>(shared), *w = l + GSV_LEAF_ROWS * INVERT_LD;
    const int first = int(blockIdx.x) * GSV_LEAF_ROWS;
    wait_for_earlier_kernels();
    let_next_kernel_start();
    /* rows in the order in which memory has them */
    const bool by_columns = t.row == 1 || t.row == -1;
    for (int e = threadIdx.x; e < 64 * 64; e += LEAF_THREADS) {
        const int i = by_columns ? e % 64 : e / 64, j = by_columns ? e / 64 : e % 64;
        T value = make<T>(i == j ? 1 : 0);
        if (first + i < t.order && (i > j || (i == j && !t.unit)))
            value = t.load(first + i, first + j);
        if (i >= j)
            l[j * INVERT_LD + i] = value;
        if (i == j)
            reciprocals[i] = reciprocal(value);
    }
    const int4 absent = {-1, -1, -1, -1};
    const int64_t every = int64_t(gridDim.x) * LEAF_THREADS,
                  mine = int64_t(blockIdx.x) * LEAF_THREADS + threadIdx.x;
    for (int64_t k = mine; k < clear_count; k += every)
        clear[k] = absent;
    for (int64_t k = mine; k < ticket_count; k += every)
        tickets[k] = 0;
    __syncthreads(); /* l is there */
    if (threadIdx.x / 32 < 4)
        invert_16_warp(l, reciprocals, w, int(threadIdx.x / 32) * 16);
    double_inverse_block<T, 16>(l, w);
    double_inverse_block<T, 32>(l, w);
    __syncthreads(); /* w is there */
    const bool ill = too_ill_conditioned_block(l, w, sums);
    if (threadIdx.x == 0)
        substitute[blockIdx.x] = ill;
    T *to = inverse + int64_t(blockIdx.x) * (64 * 64);
    for (int e = threadIdx.x; e < 64 * 64; e += LEAF_THREADS)
        to[e] = e % 64 >= e / 64 ? w[e / 64 * INVERT_LD + e % 64] : make<T>(0);
}

} // namespace gsv
#endif
