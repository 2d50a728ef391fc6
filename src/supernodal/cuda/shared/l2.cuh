/*
 * How long the L2 cache keeps a panel, or a number of a vector.
 *
 * A solve reads each panel once in each sweep. If the panels together are larger than L2, a panel is evicted before it is read
 * again, and meanwhile it takes the place of vectors, which are read again soon. Such panels are called transient
 * (cuda/factor.c decides), and they are the first to be evicted. The exception is a panel that several blocks read at
 * different times, each for other right-hand sides: it has the normal priority.
 *
 * With many right-hand sides, parts of vectors that are not read again are evicted first, too, or discarded: then they are
 * never written to memory (lessons/tasks.md).
 */
#ifndef GSV_CUDA_SHARED_L2_CUH
#define GSV_CUDA_SHARED_L2_CUH

#include "../../../dense_kernels/scalar.cuh"

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

/* Prefetch into L2: one place, or a run of bytes, a multiple of 16 on a multiple of 16. */
__device__ __forceinline__ void prefetch(const void *at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

__device__ __forceinline__ void prefetch_run(const void *from, int bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#endif
}

/* load_run of numbers that nobody reads again: in double precision they are the first to give way. Not by an intrinsic,
 * which reads pairs of doubles as integers: the compiler spills more. */
template <typename T, int N> __device__ __forceinline__ void load_run_once(const T *from, T (&to)[N]) {
    if constexpr (sizeof(typename traits<T>::real) == sizeof(double) && N * sizeof(T) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < int(N * sizeof(T) / 16); k++) {
            double *two = reinterpret_cast<double *>(to) + 2 * k;
            asm volatile("ld.global.cs.v2.f64 {%0, %1}, [%2];"
                         : "=d"(two[0]), "=d"(two[1])
                         : "l"(reinterpret_cast<const double *>(from) + 2 * k)
                         : "memory");
        }
    } else
        load_run(from, to);
}

enum { L2_LINE = 128 }; /* bytes */

/* What a line holds is wanted no more: L2 need not write it to memory. It is as if somebody wrote whatever there. */
__device__ __forceinline__ void discard_line(const void *line) {
#if __CUDA_ARCH__ >= 800
    asm volatile("discard.global.L2 [%0], %1;" ::"l"(line), "n"(int(L2_LINE)) : "memory");
#endif
}

} // namespace gsv
#endif
