/* The sweeps for many right-hand sides (cuda/tasks/tasks.cuh): what a block is at. The task that its ticket is for, the tile
 * that the task is about, and the counters that tasks wait for and advance. */
#ifndef GSV_CUDA_TASKS_TASK_CUH
#define GSV_CUDA_TASKS_TASK_CUH

#include "gather.cuh"
#include "stages.cuh"

namespace gsv {

__device__ __forceinline__ int tasks_within(int k, int least, int most) {
    return k < least ? least : k < most ? k : most;
}

__device__ __forceinline__ tasks_tile tasks_tile_of(const gsv_device_plan &plan, const gsv_task &task,
                                                    bool backward, int columns, int c0) {
    const gsv_node node = tasks_node(plan, task.node);
    tasks_tile tile = {node, task.first, task.begin, task.end, task.first + task.rows, task.rows, columns, c0,
                       0,    0,          0,          0};
    const int corner = tile.last < node.nc ? tile.last : node.nc, behind = backward ? node.nc : node.nr;
    tile.last = tile.last < behind ? tile.last : behind;
    tile.inside = backward ? gsv_whole_tiles(corner) - GSV_TILE : tile.begin;
    tile.near = backward ? tasks_within(task.near, tile.begin, tile.end) : tile.begin;
    tile.far = backward ? tasks_within(task.far, tile.near, tile.end) : tile.end;
    tile.inside_end = backward || tile.end < task.first + GSV_TILE ? tile.end : task.first + GSV_TILE;
    return tile;
}

/* 2^32 / groups, rounded up: k / groups is this times k, >> 32, for k < 2^30, without a division. */
__device__ __forceinline__ uint64_t tasks_reciprocal(int groups) {
    static_assert(GSV_TASKS_GROUPS <= 4, "exact for these");
    return groups == 1 ? 1ull << 32 : groups == 2 ? 1ull << 31 : groups == 3 ? 0x55555556ull : 1ull << 30;
}

/* The task that a ticket is for. Only complex numbers have more groups than GSV_TASKS_GROUPS; then the number is even. */
template <typename Kind> __device__ __forceinline__ int task_of(int ticket, int groups) {
    const bool twice = traits<Kind>::is_complex && groups > GSV_TASKS_GROUPS;
    return int(uint32_t(ticket) * tasks_reciprocal(twice ? groups / 2 : groups) >> 32) >> twice;
}

/* Prefetch into L2 a task that a block takes some time from now; its own will be near that of ticket blockIdx.x. A task
 * that must come from memory takes up to half of the time that passes before a block knows its supernode. */
template <typename Kind>
__device__ __forceinline__ void tasks_ask_for_later(const gsv_task *tasks, int groups) {
    constexpr unsigned LATER = 128; /* blocks */
    if (blockIdx.x + LATER >= gridDim.x)
        return;
    prefetch(tasks + task_of<Kind>(blockIdx.x + LATER, groups)); /* one line of L2 */
}

/* What a block is at, in its shared memory. */
struct alignas(16) tasks_work {
    gsv_task task;
    int *counters; /* of the task's right-hand sides */
    int lost, last;
    int alone;      /* the launch before has surely ended */
    int over, owed; /* `wait` has been reached, and `owed`, as far as is known */
};

/* Counter k of the task's right-hand sides. */
__device__ __forceinline__ int *tasks_counter(const tasks_work &work, int k) {
    return work.counters + int64_t(k) * GSV_TASK_TILES;
}

/* Has a counter reached `count`? By one thread. */
__device__ __forceinline__ bool tasks_has(const int *counter, int count) {
    int value;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value >= count;
}

/* Sooner or later? By one thread. */
__device__ __forceinline__ bool tasks_reaches(const int *counter, int count, gsv_stream_state *state) {
    for (int n = 1;; n++) {
        if (tasks_has(counter, count))
            return true;
        if (gives_up(n, state))
            return false;
    }
}

/* Advance a counter, by one thread. A block that sees the new value sees what this block wrote before its last barrier. */
__device__ __forceinline__ void tasks_advance(int *counter) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ int tasks_meet(int *counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

/* What a task waits for is looked at, by two threads beside each other: it may be there. Known behind a barrier. */
__device__ __forceinline__ void tasks_look_block(tasks_work &work) {
    const gsv_task &task = work.task;
    if (threadIdx.x == 32)
        work.over = task.count == 0 || tasks_has(tasks_counter(work, task.wait), task.count);
    if (threadIdx.x == 64)
        work.owed = task.owing == 0 || tasks_has(tasks_counter(work, task.owed), task.owing);
}

/* More blocks than the device runs at a time. A block whose ticket is this large begins after a block of its launch has
 * ended. Each block waits for the launch before, so that launch has ended, too. */
template <int THREADS> __device__ __forceinline__ int tasks_at_once() {
    constexpr int MOST = 2048 / THREADS; /* of a multiprocessor */
    unsigned processors;
    asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
    return MOST * int(processors);
}

} // namespace gsv
#endif
