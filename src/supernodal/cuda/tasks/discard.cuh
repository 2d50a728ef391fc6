/*
 * The sweeps for many right-hand sides (cuda/tasks/tasks.cuh): what a task has read and nobody reads again, forward the rows of
 * its children's update vectors, each of which one task alone reads, and the ranges' sums of a tile that is cut.
 *
 * Most of it was written a short time ago and is in the L2 cache, which is yet to write it to memory. Discarded it need
 * not, and has room for other lines. A discard is a write of no particular value, so it comes when all threads of the
 * block have read, and to places that nobody writes until the sweep is over. Nobody waits for it, for the task's results
 * have been signalled. But an SM takes some cycles a line: with tiles of 64 right-hand sides it costs more than it saves.
 */
#ifndef GSV_CUDA_TASKS_DISCARD_CUH
#define GSV_CUDA_TASKS_DISCARD_CUH

#include "../shared/l2.cuh"
#include "narrow.cuh"
#include "task.cuh"

namespace gsv {

/* Right-hand sides of a block, C of them, in lines of a row of a vector. */
template <typename T, int C> struct tasks_lines {
    static_assert(C * sizeof(T) % L2_LINE == 0, "whole lines");
    static const int EACH = L2_LINE / int(sizeof(T)), /* numbers of a line */
        COUNT = C / EACH;
};

/* What the rows of a task were owed, WIDTH right-hand sides from c on. */
template <typename T, int WIDTH, int THREADS>
__device__ __forceinline__ void tasks_discard_owed_block(const gsv_device_plan &plan, const gsv_task &task,
                                                         const tasks_lists<false> &lists, int columns, int c,
                                                         const T *u) {
    typedef tasks_lines<T, WIDTH> lines;
    const T *from = u + c + threadIdx.x % lines::COUNT * lines::EACH;
    const uint32_t *list = lists.list_of(plan, task);
    const uint32_t count = task.listed > 0 ? lists.begin_of(task, task.listed_rows) : 0;
    for (uint32_t k = threadIdx.x / lines::COUNT; k < count; k += THREADS / lines::COUNT)
        discard_line(tasks_row(from, list[k], columns));
}

/* The sums of a tile's ranges. */
template <typename Kind, int C, bool BACKWARD>
__device__ __forceinline__ void tasks_discard_sums_block(const gsv_task &task, const tasks_tile &tile,
                                                         const vector_number<Kind> *partial) {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    typedef tasks_lines<T, C> lines;
    const T *from = partial + tile.c0 + threadIdx.x % lines::COUNT * lines::EACH;
    for (int k = threadIdx.x / lines::COUNT; k < task.slots * shape::ROWS; k += shape::THREADS / lines::COUNT)
        if (k % shape::ROWS < tile.height)
            discard_line(from + (int64_t(task.slot) * shape::ROWS + k) * tile.columns);
}

/* Discard what a task has read, when all threads of the block have read it. done: a tile's sums are complete, and this block
 * has written them. */
template <typename Kind, int C, bool BACKWARD>
__device__ __forceinline__ void
tasks_discard_block(const gsv_device_plan &plan, const tasks_work &work, const tasks_tile &tile,
                    const tasks_lists<BACKWARD> &lists, bool done, const gsv_tasks_vectors &v) {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    const gsv_task &task = work.task;
    const T *u = static_cast<const T *>(v.u);
    if (work.lost)
        return; /* somebody may be writing it */
    if (task.kind == GSV_TASK_PRODUCT && done && task.slots > 0)
        tasks_discard_sums_block<Kind, C, BACKWARD>(task, tile, static_cast<const T *>(v.partial));
    if constexpr (!BACKWARD) {
        typedef tasks_narrow_room<Kind, C, false> room;
        if (task.kind != GSV_TASK_NARROW) {
            tasks_discard_owed_block<T, C, shape::THREADS>(plan, task, lists, tile.columns, tile.c0, u);
            return;
        }
        for (int part = tasks_narrow_part<Kind, C, false>(task.begin);
             part < tasks_narrow_part<Kind, C, false>(task.end); part++)
            tasks_discard_owed_block<T, room::WIDTH, shape::THREADS>(plan, task, lists, tile.columns,
                                                                     tile.c0 + part * room::WIDTH, u);
    }
}

} // namespace gsv
#endif
