/*
 * Products on FP64 tensor cores, eight right-hand sides a fragment, with the bits of the products in
 * tile_product.cuh.
 *
 * mma.m8n8k4 on doubles adds its four terms to the sum one after the other, in ascending k, each as a fused
 * multiply-add (test_bits.c holds the solves to that). So a chain of terms k0, k1, k2, ... of one partial sum
 * is the same sum on tensor cores if they take it four terms at a time: the k of a fragment are not
 * neighbours but steps of one chain. Terms that do not exist are 0 times 0: no sum here is ever -0, so they
 * change nothing.
 *
 * Fragments, in lane l:  A  row l / 4, k l % 4     B  k l % 4, column l / 4     C  row l / 4, columns 2 (l %
 * 4) and one more.
 */
#ifndef GSV_TENSOR_PRODUCT_CUH
#define GSV_TENSOR_PRODUCT_CUH

#include "panel_layout.h"
#include "scalar.cuh"

namespace gsv {

/* The products that have this form. */
template <typename T, int NR> struct on_tensor_cores { static const bool value = false; };
template <int NR> struct on_tensor_cores<double, NR> { static const bool value = NR >= 8; };

__device__ __forceinline__ void multiply_add_warp(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

/*
 * Chains first and first + 1 of a tile of 16 rows: chain g has the terms k = g, g + KG, g + 2 KG, ... A
 * warp's; acc: chain, upper or lower eight rows, fragment of right-hand sides.
 */
template <int NR, int KG> struct tensor_tile {
    static const int N = NR / 8;
    const double *tile;
    int columns, k;
    double ahead[2][2];

    __device__ __forceinline__ tensor_tile(const double *from, int columns, int first)
        : tile(from + threadIdx.x % 32 / 4), columns(columns), k(first + KG * (threadIdx.x % 4)) {
        request(k);
    }

    __device__ __forceinline__ void request(int at) {
#pragma unroll
        for (int g = 0; g < 2; g++)
#pragma unroll
            for (int m = 0; m < 2; m++)
                ahead[g][m] = at + g < columns ? load_panel(tile + 16 * int64_t(at + g) + 8 * m) : 0;
    }

    /* v: [columns][NR]. Ends with acc = the sums of the two chains. */
    __device__ __forceinline__ void run(const double *v, double (&acc)[2][2][N][2]) {
#pragma unroll
        for (int e = 0; e < 2 * 2 * N * 2; e++)
            (&acc[0][0][0][0])[e] = 0;
        const int column = threadIdx.x % 32 / 4;
        const int steps = (columns - k + KG * (threadIdx.x % 4) + 4 * KG - 1) / (4 * KG); /* of the warp */
        for (int step = 0; step < steps; step++, k += 4 * KG) {
            double a[2][2], b[2][N];
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[g][n] = k + g < columns ? v[int64_t(k + g) * NR + 8 * n + column] : 0;
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int m = 0; m < 2; m++)
                    a[g][m] = ahead[g][m];
            request(k + 4 * KG);
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int n = 0; n < N; n++)
                        multiply_add_warp(acc[g][m][n], a[g][m], b[g][n]);
        }
    }
};

} // namespace gsv
#endif
