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
template <int NR> struct on_tensor_cores<mixed<float>, NR> : on_tensor_cores<double, NR> {};

__device__ __forceinline__ void multiply_add_warp(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

/*
 * Chains first and first + 1 of a tile of 16 rows: chain g has the terms k = g, g + KG, g + 2 KG, ... A
 * warp's; acc: chain, upper or lower eight rows, fragment of right-hand sides.
 *
 * What limits it is how long numbers take to arrive. A warp requests the tile's numbers of GROUP steps while
 * it multiplies those of the GROUP before, and the vectors' of all GROUP before it waits for one.
 */
template <int NR, int KG> struct tensor_tile {
    static const int N = NR / 8, STEP = 4 * KG, GROUP = NR >= 32 ? 1 : 2;
    const double *tile;
    int columns, k;
    double ahead[GROUP][2][2];

    __device__ __forceinline__ tensor_tile(const double *from, int columns, int first)
        : tile(from + threadIdx.x % 32 / 4), columns(columns), k(first + KG * (threadIdx.x % 4)) {
        request();
    }

    __device__ __forceinline__ void request() {
        const double *from = tile + 16 * int64_t(k);
#pragma unroll
        for (int s = 0; s < GROUP; s++)
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int m = 0; m < 2; m++)
                    ahead[s][g][m] =
                        k + s * STEP + g < columns ? load_panel(from + 16 * (s * STEP + g) + 8 * m) : 0;
    }

    /* v: [columns][NR]. Ends with acc = the sums of the two chains. */
    __device__ __forceinline__ void run(const double *v, double (&acc)[2][2][N][2]) {
#pragma unroll
        for (int e = 0; e < 2 * 2 * N * 2; e++)
            (&acc[0][0][0][0])[e] = 0;
        v += threadIdx.x % 32 / 4;
        /* lanes begin up to three k of their chain apart, and all take so many steps */
        for (int left = columns - k + KG * (threadIdx.x % 4); left > 0; left -= GROUP * STEP) {
            double a[GROUP][2][2], b[GROUP][2][N];
            const double *from = v + int64_t(k) * NR;
#pragma unroll
            for (int s = 0; s < GROUP; s++)
#pragma unroll
                for (int g = 0; g < 2; g++)
#pragma unroll
                    for (int n = 0; n < N; n++)
                        b[s][g][n] = k + s * STEP + g < columns ? from[(s * STEP + g) * NR + 8 * n] : 0;
#pragma unroll
            for (int e = 0; e < GROUP * 4; e++)
                (&a[0][0][0])[e] = (&ahead[0][0][0])[e];
            k += GROUP * STEP;
            request();
#pragma unroll
            for (int s = 0; s < GROUP; s++)
#pragma unroll
                for (int g = 0; g < 2; g++)
#pragma unroll
                    for (int m = 0; m < 2; m++)
#pragma unroll
                        for (int n = 0; n < N; n++)
                            multiply_add_warp(acc[g][m][n], a[s][g][m], b[s][g][n]);
        }
    }
};

} // namespace gsv
#endif
