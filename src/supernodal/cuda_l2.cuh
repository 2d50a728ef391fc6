/*
 * How long the L2 cache keeps a panel. A solve reads panels once in each sweep, from the first to the last and
 * back; where all of them are more than L2 has room for, what is read is gone before it is wanted again, and
 * has taken the place of vectors, which are wanted soon. So transient panels are the first to give way; which are,
 * cuda_prepare.c knows. But where several blocks want the same panel, each for other right-hand sides, not all of
 * them at the same time, they are like everything.
 */
#ifndef GSV_CUDA_L2_CUH
#define GSV_CUDA_L2_CUH

#include <stdint.h>

namespace gsv {

typedef uint64_t l2_policy; /* of a copy */

/* The first to give way; */
__device__ __forceinline__ l2_policy l2_first() {
    l2_policy policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* or, if it is not transient, like everything. */
__device__ __forceinline__ l2_policy l2_policy_of(bool transient) {
    l2_policy normal;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(normal));
    return transient ? l2_first() : normal;
}

/* Let L2 have it: one place, or a run of bytes, a multiple of 16 on a multiple of 16. */
__device__ __forceinline__ void prefetch(const void *at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

__device__ __forceinline__ void prefetch_run(const void *from, int bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#endif
}

} // namespace gsv
#endif
