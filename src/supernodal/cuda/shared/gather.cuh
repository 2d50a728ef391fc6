/* What the kernels of the sweeps share: the wait for the launch before, and the end of every other wait. */
#ifndef GSV_CUDA_SHARED_GATHER_CUH
#define GSV_CUDA_SHARED_GATHER_CUH

#include "../../../dense_kernels/published.cuh"
#include "../../../dense_kernels/reduce_lanes.cuh"
#include "../device_plan.h"

namespace gsv {

enum { BLOCK = 256 };
enum { MULTIPROCESSORS = 132 }; /* of an H200; for others what follows from it is a guess */

/* Let the next launch begin; wait for the one before. On devices without the overlap both are nothing. */
__device__ __forceinline__ void wait_for_vectors() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

/*
 * If two launches have nothing to do with each other, blocks of the second need not wait for the last block of the first.
 * Blocks of the first let them start only when what is before both launches has ended. The next kernel counts on
 * the end of both, so the second launch's blocks wait for the end of the first when they are done.
 * So it may be, too, where the second one's blocks poll all that they want of the first one.
 */
enum launch_part { THE_ONLY, FIRST_OF_TWO, SECOND_OF_TWO };

__device__ __forceinline__ void wait_for_vectors(launch_part part) {
#if __CUDA_ARCH__ >= 900
    if (part == FIRST_OF_TWO)
        cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    if (part == THE_ONLY)
        cudaGridDependencySynchronize();
#endif
}

/* wait_for_vectors, at one of two places. If a launch has more blocks than run at a time, the launch before has ended long ago
 * when the later ones begin. So they wait at their beginning, because the next launch can begin when the last of them
 * has waited. */
struct vectors_wait {
    const launch_part part;
    const bool late;
    __device__ __forceinline__ vectors_wait(launch_part part, int at_once)
        : part(part), late(int(blockIdx.x) >= at_once) {
        if (late)
            wait_for_vectors(part);
    }
    __device__ __forceinline__ void finish() const { /* the others, where they want the vectors */
        if (!late)
            wait_for_vectors(part);
    }
};

__device__ __forceinline__ void wait_for_first_part(launch_part part) {
#if __CUDA_ARCH__ >= 900
    if (part == SECOND_OF_TWO)
        cudaGridDependencySynchronize();
#endif
}

/* The part of a block's own group, if several groups of right-hand sides are solved side by side (gsv_device_vectors.groups). */
template <typename T> __device__ __forceinline__ T *of_group(T *first, int64_t apart) {
    return first + int64_t(blockIdx.y) * apart;
}

/* Is it time to stop polling? Every poll counts in n, from 1 on; when somebody loses patience, all do. */
__device__ __forceinline__ bool gives_up(int n, gsv_stream_state *state) {
    if (n % 1024 == 0 && *static_cast<volatile int *>(&state->broken))
        return true;
    if (n < PATIENCE)
        return false;
    *static_cast<volatile int *>(&state->broken) = 1;
    *static_cast<volatile int *>(state->report) = 1;
    return true;
}

} // namespace gsv
#endif
