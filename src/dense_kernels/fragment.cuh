/*
 * Products of small tiles by one warp: c += a x, c having 8 I rows and N columns, a taken 8 columns at a
 * time.
 *
 * Lane l is (g, q) = (l / 4, l mod 4). It holds
 *      a   rows g + 8 i, columns q and q + 4 of the eight          a[i][s], s = 0, 1
 *      c   rows g + 8 i, columns 8 t + 2 q and 8 t + 2 q + 1       c[i][t][e]
 *      x   rows q and q + 4, columns 8 t + g                       x[s][t]
 * for every number type: these are the fragments of the FP64 tensor cores' m16n8k8 (on sm_80 four m8n8k4),
 * four real products for a complex one. float and complex<float> have no tensor core of their precision: they
 * are widened and summed in double, at the rate of FP32 without tensor cores (H200: 57 of 60 Tflop/s), with a
 * quarter of the registers that lanes with whole rows of sums would take. Devices whose FP64 is slow are not
 * what this library is for.
 */
#ifndef GSV_FRAGMENT_CUH
#define GSV_FRAGMENT_CUH

#include "scalar.cuh"

namespace gsv {

/* c += a x: a 16 x 8, x 8 x 8 */
__device__ __forceinline__ void mma_warp(double (&c)[4], double a0, double a1, double a2, double a3,
                                         double x0, double x1) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(x0), "d"(x1));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a0), "d"(x0));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2]), "+d"(c[3])
        : "d"(a1), "d"(x0));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a2), "d"(x1));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2]), "+d"(c[3])
        : "d"(a3), "d"(x1));
#endif
}

/* The same with sixteen terms: columns q, q + 4, q + 8, q + 12 of a, these rows of x. */
__device__ __forceinline__ void mma_warp(double (&c)[4], const double (&low)[4], const double (&high)[4],
                                         const double (&x)[4]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
        "%11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(low[0]), "d"(high[0]), "d"(low[1]), "d"(high[1]), "d"(low[2]), "d"(high[2]), "d"(low[3]),
          "d"(high[3]), "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]));
#else
    mma_warp(c, low[0], high[0], low[1], high[1], x[0], x[1]);
    mma_warp(c, low[2], high[2], low[3], high[3], x[2], x[3]);
#endif
}

/* I rows of eight, N columns. */
template <typename T, int I, int N> struct fragment {
    static const int XS = N / 8;
    double c[I / 2][N / 8][4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < I / 2; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    c[i][t][e] = 0;
    }

    __device__ __forceinline__ void add_product(const T (&a)[I][2], const T (&x)[2][XS]) {
#pragma unroll
        for (int i = 0; i < I / 2; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                mma_warp(c[i][t], a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], x[0][t],
                         x[1][t]);
    }

    __device__ __forceinline__ void set(const T (&from)[I][N / 8][2]) {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    c[i / 2][t][2 * (i % 2) + e] = double(from[i][t][e]);
    }

    /* sixteen columns of a at a time */
    __device__ __forceinline__ void add_product(const T (&a)[I][4], const T (&x)[4][XS]) {
#pragma unroll
        for (int i = 0; i < I / 2; i++) {
            const double low[4] = {a[2 * i][0], a[2 * i][1], a[2 * i][2], a[2 * i][3]};
            const double high[4] = {a[2 * i + 1][0], a[2 * i + 1][1], a[2 * i + 1][2], a[2 * i + 1][3]};
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                const double terms[4] = {x[0][t], x[1][t], x[2][t], x[3][t]};
                mma_warp(c[i][t], low, high, terms);
            }
        }
    }

    __device__ __forceinline__ void result(T (&to)[I][N / 8][2]) const {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    to[i][t][e] = T(c[i / 2][t][2 * (i % 2) + e]);
    }
};

template <typename R, int I, int N> struct fragment<complex<R>, I, N> {
    static const int XS = N / 8;
    double re[I / 2][N / 8][4], im[I / 2][N / 8][4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < I / 2; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    re[i][t][e] = im[i][t][e] = 0;
    }

    __device__ __forceinline__ void set(const complex<R> (&from)[I][N / 8][2]) {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    re[i / 2][t][2 * (i % 2) + e] = double(from[i][t][e].re);
                    im[i / 2][t][2 * (i % 2) + e] = double(from[i][t][e].im);
                }
    }

    __device__ __forceinline__ void add_product(const complex<R> (&a)[I][2], const complex<R> (&x)[2][XS]) {
#pragma unroll
        for (int i = 0; i < I; i += 2)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                mma_warp(re[i / 2][t], a[i][0].re, a[i + 1][0].re, a[i][1].re, a[i + 1][1].re, x[0][t].re,
                         x[1][t].re);
                mma_warp(im[i / 2][t], a[i][0].re, a[i + 1][0].re, a[i][1].re, a[i + 1][1].re, x[0][t].im,
                         x[1][t].im);
                mma_warp(re[i / 2][t], -a[i][0].im, -a[i + 1][0].im, -a[i][1].im, -a[i + 1][1].im, x[0][t].im,
                         x[1][t].im);
                mma_warp(im[i / 2][t], a[i][0].im, a[i + 1][0].im, a[i][1].im, a[i + 1][1].im, x[0][t].re,
                         x[1][t].re);
            }
    }

    __device__ __forceinline__ void add_product(const complex<R> (&a)[I][4], const complex<R> (&x)[4][XS]) {
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
            complex<R> half[I][2], terms[2][XS];
#pragma unroll
            for (int e = 0; e < 2; e++) {
#pragma unroll
                for (int i = 0; i < I; i++)
                    half[i][e] = a[i][s + e];
#pragma unroll
                for (int t = 0; t < XS; t++)
                    terms[e][t] = x[s + e][t];
            }
            add_product(half, terms);
        }
    }

    __device__ __forceinline__ void result(complex<R> (&to)[I][N / 8][2]) const {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    to[i][t][e] = {R(re[i / 2][t][2 * (i % 2) + e]), R(im[i / 2][t][2 * (i % 2) + e])};
    }
};

} // namespace gsv
#endif
