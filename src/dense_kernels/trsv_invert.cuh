/*
 * Blocks of a triangular matrix in shared memory: loading, inverting, judging and multiplying them. NB x NB,
 * entry (i, j) at i + j LD of its tile; LD = NB + 4 keeps the fragments of an 8 x 8 x 4 product free of bank
 * conflicts. All functions ending in _block are called by the 256 threads of a block together.
 */
#ifndef GSV_TRSV_INVERT_CUH
#define GSV_TRSV_INVERT_CUH

#include "scalar.cuh"

namespace gsv {

enum { TRSV_THREADS = 256, TRSV_WARPS = 8 };

/* A number of global memory to shared memory, asynchronously; 0 where wanted is false: then nothing is read.
 */
template <typename T> __device__ __forceinline__ void copy_async(T *to, const T *from, bool wanted) {
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    const int bytes = wanted ? int(sizeof(T)) : 0;
    if constexpr (sizeof(T) == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes)
                     : "memory");
    else if constexpr (sizeof(T) == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                     : "memory");
}
__device__ __forceinline__ void copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* 1 / a; complex numbers scaled as Smith does, so that nothing overflows on the way. */
template <typename T> __device__ __forceinline__ T reciprocal(T a) {
    if constexpr (traits<T>::is_complex) {
        typedef typename traits<T>::real real;
        if (fabs(a.re) >= fabs(a.im)) {
            const real q = a.im / a.re, d = real(1) / fma(a.im, q, a.re);
            return T{d, -q * d};
        }
        const real q = a.re / a.im, d = real(1) / fma(a.re, q, a.im);
        return T{q * d, -d};
    } else {
        return T(1) / a;
    }
}

template <typename T> __device__ __forceinline__ T multiply(T a, T b) {
    return multiply_add(make<T>(0), a, b);
}

/* c(0 .. 8, 8 q ..) += A(0 .. 8, k) B(k, 8 q ..) for first <= k < last, multiples of 4, and q < NC. The
 * warp's lane has row lane / 4 and the columns 8 q + 2 (lane % 4) + 0, 1 of c. */
template <typename T, int NC>
__device__ __forceinline__ void multiply_tiles_warp(const T *a, int lda, const T *b, int ldb, int first,
                                                    int last, int lane, T (&c)[2 * NC]) {
    if constexpr (sizeof(T) == 8 && !traits<T>::is_complex) {
        const double *from_a = a + (lane >> 2) + (lane & 3) * lda,
                     *from_b = b + (lane & 3) + (lane >> 2) * ldb;
#pragma unroll 2
        for (int k = first; k < last; k += 4) {
            const double left = from_a[k * lda];
#pragma unroll
            for (int q = 0; q < NC; q++) {
                const double right = from_b[k + 8 * q * ldb];
                asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                    : "+d"(c[2 * q]), "+d"(c[2 * q + 1])
                    : "d"(left), "d"(right));
            }
        }
    } else {
        const T *from_a = a + (lane >> 2), *from_b = b + 2 * (lane & 3) * ldb;
#pragma unroll 4
        for (int k = first; k < last; k++) {
            const T left = from_a[k * lda];
#pragma unroll
            for (int q = 0; q < NC; q++) {
                c[2 * q] = multiply_add(c[2 * q], left, from_b[k + 8 * q * ldb]);
                c[2 * q + 1] = multiply_add(c[2 * q + 1], left, from_b[k + (8 * q + 1) * ldb]);
            }
        }
    }
}

/* Where c of the above goes: to(row, column) = +-c. */
template <typename T, int NC>
__device__ __forceinline__ void store_tiles_warp(T *to, int ld, int lane, bool minus, const T (&c)[2 * NC]) {
#pragma unroll
    for (int q = 0; q < NC; q++)
#pragma unroll
        for (int b = 0; b < 2; b++)
            to[(lane >> 2) + (8 * q + 2 * (lane & 3) + b) * ld] = minus ? negate(c[2 * q + b]) : c[2 * q + b];
}

/* w = inv(l) of a 16 x 16 lower triangle by one warp; both in shared memory. Column lane % 16 by forward
 * substitution, column after column of l, so that a step is one multiplication and one multiply-add deep. */
template <typename T>
__device__ __forceinline__ void invert_16_warp(const T *l, int ld, T *w, int wld, int lane) {
    const int m = lane & 15;
    const T own = reciprocal(l[m + m * ld]);
    T s[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        s[i] = make<T>(i == m ? 1 : 0);
#pragma unroll
    for (int j = 0; j < 16; j++) {
        T r;
        if constexpr (traits<T>::is_complex)
            r = T{__shfl_sync(~0u, own.re, j), __shfl_sync(~0u, own.im, j)};
        else
            r = __shfl_sync(~0u, own, j);
        s[j] = multiply(s[j], r);
        const T x = negate(s[j]);
#pragma unroll
        for (int i = j + 1; i < 16; i++)
            s[i] = multiply_add(s[i], l[i + j * ld], x);
    }
    if (lane < 16)
#pragma unroll
        for (int i = 0; i < 16; i++)
            w[i + m * wld] = s[i];
}

/* Off-diagonal blocks of the inverse: for every pair of diagonal blocks of order S in w, W21 = -W22 (L21
 * W11). The product in parentheses stands in w's upper block meanwhile. Begins and ends with a barrier
 * passed. */
template <typename T, int NB, int S>
__device__ __forceinline__ void join_inverses_block(const T *l, T *w, int ld) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    constexpr int ROWS = S / 8, TILES = NB / (2 * S) * ROWS * ROWS, NC = TILES > 8 ? TILES / 8 : 1;
    constexpr int GROUPS = ROWS / NC; /* of NC tiles side by side */
    const int pair = warp / (ROWS * GROUPS), r = 8 * (warp % ROWS), c = 8 * NC * (warp / ROWS % GROUPS);
    const int top = 2 * S * pair;
    const bool works = warp < TILES / NC;
    if (works) {
        T sum[2 * NC];
#pragma unroll
        for (int i = 0; i < 2 * NC; i++)
            sum[i] = make<T>(0);
        multiply_tiles_warp<T, NC>(l + (top + S + r) + top * ld, ld, w + top + (top + c) * ld, ld, c, S, lane,
                                   sum);
        store_tiles_warp<T, NC>(w + (top + r) + (top + S + c) * ld, ld, lane, false, sum);
    }
    __syncthreads(); /* L21 W11 is complete */
    if (works) {
        T sum[2 * NC];
#pragma unroll
        for (int i = 0; i < 2 * NC; i++)
            sum[i] = make<T>(0);
        multiply_tiles_warp<T, NC>(w + (top + S + r) + (top + S) * ld, ld, w + top + (top + S + c) * ld, ld,
                                   0, r + 8, lane, sum);
        store_tiles_warp<T, NC>(w + (top + S + r) + (top + c) * ld, ld, lane, true, sum);
    }
    __syncthreads(); /* and so is W21 */
}

/* w = inv(l), NB x NB, from the 16 x 16 triangles up (Higham's method, by blocks: backward stable as long as
 * judge_inverse_block says so). Above the diagonal w is undefined: see clear_upper_block. */
template <typename T, int NB> __device__ __forceinline__ void invert_block(const T *l, T *w, int ld) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (warp < NB / 16)
        invert_16_warp(l + 16 * warp * (ld + 1), ld, w + 16 * warp * (ld + 1), ld, lane);
    __syncthreads(); /* the diagonal blocks are complete */
    join_inverses_block<T, NB, 16>(l, w, ld);
    if constexpr (NB >= 64)
        join_inverses_block<T, NB, 32>(l, w, ld);
}

/* Thread (row, part) of a product of an NB x NB block with a vector: LANES lanes share a row, and each has E
 * numbers of it, in pairs of columns 2 LANES apart, so that a pair is one aligned load of the vector. */
template <int NB> struct row_share {
    static const int LANES = TRSV_THREADS / NB, E = NB / LANES;
    static __device__ __forceinline__ int row() {
        return threadIdx.x / LANES;
    }
    static __device__ __forceinline__ int column(int e) {
        return 2 * int(threadIdx.x % LANES) + 2 * LANES * (e / 2) + e % 2;
    }
    template <typename T> static __device__ __forceinline__ T sum(T v) {
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2)
            v = add(v, shuffle_xor(v, step));
        return v;
    }
};

/*
 * May w stand in for l? With rows of l scaled to sums of one, l = E ls:  norm(|ls| |w E|, inf) and
 * norm(|ls|' |w E|', inf) must not exceed the limit: the rule of trsm/panel_inverse.h. Moduli of complex
 * numbers within a factor of sqrt(2). scratch: 3 NB real numbers. The same answer in every thread; a NaN
 * anywhere is a no.
 */
template <typename T, int NB>
__device__ __forceinline__ bool judge_inverse_block(const T *l, const T *w, int ld,
                                                    typename traits<T>::real limit,
                                                    typename traits<T>::real *scratch) {
    typedef typename traits<T>::real real;
    typedef row_share<NB> share;
    real *e = scratch, *columns = scratch + NB, *v = scratch + 2 * NB;
    const int row = share::row();
    real rows = 0, below = 0;
#pragma unroll
    for (int k = 0; k < share::E; k++) {
        const int other = share::column(k);
        if (other <= row)
            rows += magnitude1(l[row + other * ld]);
        if (other >= row)
            below += magnitude1(w[other + row * ld]);
    }
    rows = share::sum(rows);
    below = share::sum(below);
    if (threadIdx.x % share::LANES == 0) {
        e[row] = rows;
        columns[row] = below;
    }
    __syncthreads(); /* e and columns are complete */
    real second = 0;
    below = 0;
#pragma unroll
    for (int k = 0; k < share::E; k++) {
        const int other = share::column(k);
        if (other <= row)
            second += magnitude1(w[row + other * ld]) * e[other];
        if (other >= row)
            below += magnitude1(l[other + row * ld]) * columns[other];
    }
    second = share::sum(second);
    below = share::sum(below);
    if (threadIdx.x % share::LANES == 0)
        v[row] = second;
    __syncthreads(); /* v is complete */
    real first = 0;
#pragma unroll
    for (int k = 0; k < share::E; k++) {
        const int other = share::column(k);
        if (other <= row)
            first += magnitude1(l[row + other * ld]) * v[other];
    }
    first = share::sum(first);
    return !__syncthreads_or(!(first <= limit * rows) || !(below <= limit));
}

/* s = w s by a block, w lower triangular: NB x NB each, w's upper blocks of 16 not read. */
template <typename T, int NB> __device__ __forceinline__ void fold_block(const T *w, T *s, int ld) {
    constexpr int ROWS = NB / 8, NC = ROWS * ROWS / TRSV_WARPS;
    static_assert(ROWS * (ROWS / NC) == TRSV_WARPS, "a warp has NC tiles of one row");
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    /* of two warps on one scheduler (w and w + 4) one has many rows of w to go through, the other few */
    const int row = ROWS == 8 ? (warp < 4 ? warp : 11 - warp) : warp % ROWS;
    const int r = 8 * row, c = 8 * NC * (warp / ROWS);
    T sum[2 * NC];
#pragma unroll
    for (int i = 0; i < 2 * NC; i++)
        sum[i] = make<T>(0);
    multiply_tiles_warp<T, NC>(w + r, ld, s + c * ld, ld, 0, r + 8, lane, sum);
    __syncthreads(); /* all of s is read */
    store_tiles_warp<T, NC>(s + r + c * ld, ld, lane, false, sum);
    __syncthreads(); /* the product is complete */
}

/* y = inv(L) y by one warp, L lower, NB x NB, leading dimension LD, in shared memory. */
template <typename T, int NB, int LD> __device__ __forceinline__ void substitute_warp(const T *l, T *y) {
    constexpr int Q = NB / 32;
    const int lane = threadIdx.x & 31;
    T v[Q], d[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) {
        v[q] = y[lane + 32 * q];
        d[q] = reciprocal(l[(lane + 32 * q) * (LD + 1)]);
    }
#pragma unroll
    for (int h = 0; h < Q; h++)
        for (int j = 0; j < 32; j++) {
            if (lane == j)
                v[h] = multiply(v[h], d[h]);
            T x;
            if constexpr (traits<T>::is_complex)
                x = T{__shfl_sync(~0u, v[h].re, j), __shfl_sync(~0u, v[h].im, j)};
            else
                x = __shfl_sync(~0u, v[h], j);
            x = negate(x);
#pragma unroll
            for (int q = h; q < Q; q++)
                if (lane + 32 * q > j + 32 * h)
                    v[q] = multiply_add(v[q], l[lane + 32 * q + (j + 32 * h) * LD], x);
        }
#pragma unroll
    for (int q = 0; q < Q; q++)
        y[lane + 32 * q] = v[q];
}

} // namespace gsv
#endif
