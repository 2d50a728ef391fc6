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

/* 1 / a; complex numbers scaled as Smith does, so that nothing overflows on the way, without a branch: lanes
 * differ. */
template <typename T> __device__ __forceinline__ T reciprocal(T a) {
    if constexpr (traits<T>::is_complex) {
        typedef typename traits<T>::real real;
        const bool wide = fabs(a.re) >= fabs(a.im);
        const real large = wide ? a.re : a.im, small = wide ? a.im : a.re;
        const real q = small / large, d = real(1) / fma(small, q, large);
        return wide ? T{d, -q * d} : T{q * d, -d};
    } else {
        return T(1) / a;
    }
}

template <typename T> __device__ __forceinline__ T shuffle(T a, int lane) {
    if constexpr (traits<T>::is_complex)
        return T{__shfl_sync(~0u, a.re, lane), __shfl_sync(~0u, a.im, lane)};
    else
        return __shfl_sync(~0u, a, lane);
}

template <typename T> __device__ __forceinline__ T multiply(T a, T b) {
    return multiply_add(make<T>(0), a, b);
}

/* (c0, c1) += a b by the FP64 tensor cores: 8 x 4 times 4 x 8, numbers where multiply_tiles_warp has them. */
__device__ __forceinline__ void multiply_8x8x4(double &c0, double &c1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c0), "+d"(c1)
        : "d"(a), "d"(b));
}
__device__ __forceinline__ void multiply_8x8x4(complex<double> &c0, complex<double> &c1, complex<double> a,
                                               complex<double> b) {
    multiply_8x8x4(c0.re, c1.re, a.re, b.re);
    multiply_8x8x4(c0.im, c1.im, a.re, b.im);
    multiply_8x8x4(c0.re, c1.re, -a.im, b.im);
    multiply_8x8x4(c0.im, c1.im, a.im, b.re);
}

/* c(0 .. 8, 8 q ..) += A(0 .. 8, k) B(k, 8 q ..) for first <= k < last, multiples of 8, and q < NC. The
 * warp's lane has row lane / 4 and the columns 8 q + 2 (lane % 4) + 0, 1 of c. Columns of B are aligned to 16
 * bytes. */
template <typename T, int NC>
__device__ __forceinline__ void multiply_tiles_warp(const T *a, int lda, const T *b, int ldb, int first,
                                                    int last, int lane, T (&c)[2 * NC]) {
    if constexpr (sizeof(typename traits<T>::real) == 8) {
        const T *from_a = a + (lane >> 2) + (lane & 3) * lda, *from_b = b + (lane & 3) + (lane >> 2) * ldb;
        /* few tiles: two sums each, so that a product need not wait for the one before */
        constexpr int SUMS = NC <= 2 ? 2 : 1;
        T sum[SUMS][2 * NC];
#pragma unroll
        for (int h = 0; h < SUMS; h++)
#pragma unroll
            for (int i = 0; i < 2 * NC; i++)
                sum[h][i] = h == 0 ? c[i] : make<T>(0);
#pragma unroll 2
        for (int k = first; k < last; k += 8)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const T left = from_a[(k + 4 * h) * lda];
#pragma unroll
                for (int q = 0; q < NC; q++)
                    multiply_8x8x4(sum[h % SUMS][2 * q], sum[h % SUMS][2 * q + 1], left,
                                   from_b[k + 4 * h + 8 * q * ldb]);
            }
#pragma unroll
        for (int i = 0; i < 2 * NC; i++)
            c[i] = SUMS == 2 ? add(sum[0][i], sum[SUMS - 1][i]) : sum[0][i];
    } else {
        constexpr int RUN = 16 / int(sizeof(T));
        const T *from_a = a + (lane >> 2), *from_b = b + 2 * (lane & 3) * ldb;
#pragma unroll 2
        for (int k = first; k < last; k += RUN) {
            T left[RUN];
#pragma unroll
            for (int i = 0; i < RUN; i++)
                left[i] = from_a[(k + i) * lda];
#pragma unroll
            for (int q = 0; q < 2 * NC; q++) {
                T right[RUN];
                load_run(from_b + k + (8 * (q / 2) + q % 2) * ldb, right);
#pragma unroll
                for (int i = 0; i < RUN; i++)
                    c[q] = multiply_add(c[q], left[i], right[i]);
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

/*
 * w = inv(l) of four 8 x 8 lower triangles by one warp; both in shared memory. Lanes 8 g .. 8 g + 7 have
 * triangle g, at the l and w that they pass, and a column each: forward substitution, column after column of
 * l, so that a step is one multiplication and one multiply-add deep.
 */
template <typename T>
__device__ __forceinline__ void invert_8_warp(const T *l, int ld, T *w, int wld, int lane) {
    const int m = lane & 7;
    const T own = reciprocal(l[m + m * ld]);
    T s[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        s[i] = make<T>(i == m ? 1 : 0);
#pragma unroll
    for (int j = 0; j < 8; j++) {
        s[j] = multiply(s[j], shuffle(own, (lane & 24) + j));
        const T x = negate(s[j]);
#pragma unroll
        for (int i = j + 1; i < 8; i++)
            s[i] = multiply_add(s[i], l[i + j * ld], x);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        w[i + m * wld] = s[i];
}

/*
 * w = inv(l), NB x NB, from the 8 x 8 triangles up: for every pair of diagonal blocks of order S, W21 = -W22
 * (L21 W11), S = 8, 16, ... The product in parentheses stands in w's upper block meanwhile, so that above its
 * diagonal blocks of 8 w is undefined. (Higham's method 2B by blocks; as good as judge_inverse_block says.)
 * Loops stay loops: this runs once, and fetching instructions costs more than branching.
 */
template <typename T, int NB> __device__ __forceinline__ void invert_block(const T *l, T *w, int ld) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (warp < NB / 32) {
        const int at = 8 * (4 * warp + (lane >> 3)) * (ld + 1);
        invert_8_warp(l + at, ld, w + at, ld, lane);
    }
    __syncthreads(); /* the diagonal blocks are complete */
#pragma unroll 1
    for (int q = 0; (16 << q) <= NB; q++) {
        const int s = 8 << q, tiles = (NB / 16) << q;
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
#pragma unroll 1
            for (int t = warp; t < tiles; t += TRSV_WARPS) {
                const int r = 8 * (t & ((1 << q) - 1)), c = 8 * (t >> q & ((1 << q) - 1)),
                          top = 2 * s * (t >> 2 * q);
                const T *left = half == 0 ? l + top * ld : w + (top + s) * ld;
                const T *right = half == 0 ? w + top + (top + c) * ld : w + top + (top + s + c) * ld;
                T *to = half == 0 ? w + top + r + (top + s + c) * ld : w + top + s + r + (top + c) * ld;
                T sum[2] = {make<T>(0), make<T>(0)};
                multiply_tiles_warp<T, 1>(left + top + s + r, ld, right, ld, half == 0 ? c : 0,
                                          half == 0 ? s : r + 8, lane, sum);
                store_tiles_warp<T, 1>(to, ld, lane, half == 1, sum);
            }
            __syncthreads(); /* L21 W11 is complete, and so is W21 */
        }
    }
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
 * May w stand in for l? With rows of l scaled to sums of one, l = E ls, norm(|ls| |w E|, inf) must not exceed
 * the limit: the rule of trsm/cuda/panels/inverse.h for solving forward alone. Moduli of complex numbers
 * within a factor of sqrt(2). scratch: 2 NB real numbers. The same answer in every thread; a NaN anywhere is
 * a no.
 */
template <typename T, int NB>
__device__ __forceinline__ bool judge_inverse_block(const T *l, const T *w, int ld,
                                                    typename traits<T>::real limit,
                                                    typename traits<T>::real *scratch) {
    typedef typename traits<T>::real real;
    typedef row_share<NB> share;
    const int row = share::row();
    real rows = 0, last = 0; /* (|l| e)(row), in the end (|l| |w| |l| e)(row), e being ones */
#pragma unroll 1
    for (int step = 0; step < 3; step++) {
        const T *m = step == 1 ? w : l;
        const real *v = scratch + (step == 2 ? NB : 0);
        real s = 0;
#pragma unroll
        for (int k = 0; k < share::E; k++) {
            const int other = share::column(k);
            if (other <= row)
                s += magnitude1(m[row + other * ld]) * (step == 0 ? 1 : v[other]);
        }
        s = share::sum(s);
        if (step < 2 && threadIdx.x % share::LANES == 0)
            scratch[step * NB + row] = s;
        rows = step == 0 ? s : rows;
        last = s;
        __syncthreads(); /* the rows' sums are complete */
    }
    return !__syncthreads_or(!(last <= limit * rows));
}

/* s = w s by a block, w lower triangular: NB x NB each; above w's diagonal blocks of 8 nothing is read. */
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
#pragma unroll 1
        for (int j = 0; j < 32; j++) {
            const T x = shuffle(multiply(v[h], d[h]), j);
            if (lane == j)
                v[h] = x;
#pragma unroll
            for (int q = h; q < Q; q++)
                if (lane + 32 * q > j + 32 * h)
                    v[q] = multiply_add(v[q], l[lane + 32 * q + (j + 32 * h) * LD], negate(x));
        }
#pragma unroll
    for (int q = 0; q < Q; q++)
        y[lane + 32 * q] = v[q];
}

} // namespace gsv
#endif
