/*
 * Products on FP64 tensor cores, eight right-hand sides a fragment.
 *
 * mma.m8n8k4 on doubles adds its four terms to the sum one after the other, in ascending k, each as a fused
 * multiply-add (test_bits.c holds the solves to that). So a chain of terms is the same sum however they are dealt to
 * fragments. Terms that do not exist are 0 times 0: no sum here is ever -0, so they change nothing.
 *
 * Fragments, in lane l:  A  row l / 4, k l % 4     B  k l % 4, column l / 4     C  row l / 4, columns 2 (l % 4) and one more.
 */
#ifndef GSV_TENSOR_PRODUCT_CUH
#define GSV_TENSOR_PRODUCT_CUH

#include <cuda_runtime_api.h>

namespace gsv {

__device__ __forceinline__ void multiply_add_warp(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

} // namespace gsv
#endif
