/* What follows from the norms of a residual, for every column, by the block of the launch that ends last. */
#ifndef GSV_CUDA_REFINE_DECIDE_CUH
#define GSV_CUDA_REFINE_DECIDE_CUH

#include "refine.h"

namespace gsv {

/* Every column's decision, by the block that ends last; without a report there is none. Norms are zeros again. */
static __device__ __noinline__ void decide(int count, int first, const gsv_refine_rule rule,
                                           unsigned long long *norms_of, gsv_refine_column *columns,
                                           gsv_refine_report *report) {
    int active = 0, krylov = 0, behind = 0;
#pragma unroll 1
    for (int base = 0; base < count; base += blockDim.x) {
        const int j = base + threadIdx.x;
        gsv_refine_column column = {};
        double norms[3];
        if (j < count) {
            for (int k = 0; k < 3; k++) {
                norms[k] = __longlong_as_double(__ldcg(&norms_of[3 * j + k]));
                norms_of[3 * j + k] = 0;
            }
        }
        if (j < count && report) {
            column = columns[j];
            const double norm_d = norms[2]; /* with care, after a correction */
            if (!first)
                norms[2] = column.norm_b;
            if (first)
                gsv_refine_begin(&rule, norms, &column);
            else if (column.active)
                gsv_refine_judge(&rule, norms, norm_d, &column);
            columns[j] = column;
            report->columns[j] = column;
        }
        active += __syncthreads_count(column.active);
        krylov += __syncthreads_count(column.active && column.krylov);
        behind += __syncthreads_count(column.behind);
    }
    if (threadIdx.x == 0 && report) {
        report->active = active;
        report->krylov = krylov;
        report->behind = behind;
    }
}

/* Is this the last of `all` blocks that come here? Then it sees what the others have written. All threads come here. */
__device__ __forceinline__ bool is_last_of(int *count, int all) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(count, 1) + 1 == all;
        if (last)
            *count = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

} // namespace gsv
#endif
