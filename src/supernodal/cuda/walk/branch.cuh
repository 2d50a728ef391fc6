/*
 * What the walks of branches (branches.h) have in common. A block of threads walks a branch, the whole of which it copies to
 * shared memory: the panels and the lists before the vectors are there. For one right-hand side see cuda/walk/one.cuh, for
 * few of them cuda/walk/team.cuh, for many cuda/walk/eight.cuh.
 */
#ifndef GSV_CUDA_WALK_BRANCH_CUH
#define GSV_CUDA_WALK_BRANCH_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../../../dense_kernels/overlap.cuh"
#include "../shared/gather.cuh"
#include "../shared/l2.cuh"

namespace gsv {

__host__ __device__ inline int round_up_16(int64_t bytes) {
    return int((bytes + 15) / 16 * 16);
}

/* Read a branch's record in one trip. Left to itself the compiler reads each field where it is used, and a block waits for
 * one after the other. */
__device__ __forceinline__ gsv_branch read_branch(const gsv_device_plan &plan, int which) {
    constexpr int WORDS = sizeof(gsv_branch) / sizeof(uint4);
    static_assert(sizeof(gsv_branch) % sizeof(uint4) == 0, "whole words");
    const uint4 *from = reinterpret_cast<const uint4 *>(plan.branches + which);
    uint4 word[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[k].x), "=r"(word[k].y), "=r"(word[k].z), "=r"(word[k].w)
                     : "l"(from + k));
    gsv_branch branch;
    memcpy(&branch, word, sizeof branch);
    return branch;
}

/* A launch over branches: its first one, how many there are in all its sweep's launches, and how many are walked at a
 * time, about. */
struct branch_launch {
    int first, all, at_once;
    launch_part part;
};

struct memory_run {
    const void *from;
    int bytes;
};

/* Prefetch into L2 what a block copies that begins when this one ends: panels, lists(its record) and, if wanted, the list
 * of its outside rows; and the record of a block that begins later still. A warp does so when everything that its own
 * block waits for has been requested: blocks that begin together read together, and memory is idle while they all walk.
 * P: the type of the panels' numbers. */
template <typename P, bool OUTSIDE, typename Lists>
__device__ __forceinline__ void prefetch_branch_warp(const gsv_device_plan &plan, int which,
                                                     const branch_launch &launch, const Lists &lists) {
    const int lane = threadIdx.x % 32, next = which + launch.at_once;
    if (next >= launch.all)
        return;
    const gsv_branch later = read_branch(plan, next);
    if (lane == 0)
        prefetch_run(static_cast<const P *>(plan.panels) + later.panel,
                     round_up_16(later.numbers * int64_t(sizeof(P))));
    if (lane == 1) {
        const memory_run run = lists(later);
        prefetch_run(run.from, run.bytes);
    }
    if (lane == 2 && next + launch.at_once < launch.all)
        prefetch(&plan.branches[next + launch.at_once]);
    if (OUTSIDE && lane > 2)
        for (int i = 32 * (lane - 3); i < later.outside_rows; i += 32 * 29)
            prefetch(plan.outside_row + later.outside + i);
}

/* Begin to copy bytes, a multiple of 16 on multiples of 16, to shared memory. THREADS: of the block, 0 where that
 * is not known. */
template <int THREADS>
__device__ __forceinline__ void begin_copy_block(void *to, const void *from, int bytes) {
    const unsigned shared = unsigned(__cvta_generic_to_shared(to));
    for (int at = 16 * threadIdx.x; at < bytes; at += 16 * (THREADS > 0 ? THREADS : int(blockDim.x)))
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + at),
                     "l"(static_cast<const char *>(from) + at)
                     : "memory");
}

} // namespace gsv
#endif
