/*
 * The sweeps for many right-hand sides, 64 to 256 columns at a time, or 32, or sixteen.
 *
 * The same products as in the streams, [x1; u] = [W; -M] f1 + [0; f2] and its transpose, but the vectors
 * are blocks as wide as a matrix: a solve is bound by flops, 4 nnz(L) a column, and by what its vectors move,
 * no longer by the panels. For 216000 columns of L with 88 million numbers (grid3d:60) and 256 right-hand
 * sides: 90 Gflop are 1.6 ms at the rate of DGEMM (57.5 Tflop/s); y and x, written and read once a sweep and
 * brought in and out, are 3.5 GB, 0.8 ms; 0.8 million rows of update vectors (5 a column of L in all, but a
 * branch keeps its own in shared memory), written, and read forward and, as rows of the solution, backward,
 * are 5 GB, 1.1 ms of the memory's time or less, for the upper tree's are in the L2 cache now and then.
 *
 * - Branches (branches.h): a block walks a branch for a few right-hand sides at a time, all of its vectors in
 *   shared memory (cuda/walk/eight.cuh; for sixteen as for eight: cuda/walk/team.cuh).
 * - The upper tree: tasks (schedule/tasks/tasks.h), each for C right-hand sides, 64, 32 or 16: a narrow supernode, for all or some
 *   of these (cuda/tasks/narrow.cuh); rows of own columns of a wide one, to which is added what its children owe
 *   (cuda/tasks/gather.cuh); or a tile (cuda/tasks/tile.cuh, cuda/tasks/ends.cuh), which writes x(own columns) and u,
 *   the children's rows added as it goes, or the solution. A sweep is one launch. 33 to 64 right-hand sides are two
 *   tiles of 32 where the sweep is short, for it is latency then, and complex ones, from 17 on, are tiles of 32
 *   however many there are (cuda/tasks/launch.cuh). What a task of 32 right-hand sides or 16 has read and nobody reads
 *   again it discards (cuda/tasks/discard.cuh).
 *
 * Synchronisation. There is a block for each task, but which one is its task a block learns from a ticket in
 * memory when it begins: the tasks begin in their order (schedule/tasks/order.h). A block waits for its task's counter, one
 * thread polling, after it has asked for its panel, and advances another counter when its results are written
 * (release and acquire, device scope). That ends: a task waits for tasks before it alone, and these have
 * blocks that run already, the first of them without waiting. A forward tile waits twice: for its children,
 * to what they owe its rows below its sums add, and then for its own columns to be assembled. A backward tile waits
 * for the rows above its parent's and for the parent's when it comes to them, and has terms of own columns before. Of
 * a tile that is cut, the block whose range is done last adds the partial sums, so nobody waits for them. A wait that
 * takes about two seconds is given up (gives_up): what the block then writes is NaN. A launch begins when all blocks of
 * the one before have begun, takes its tasks, and waits in wait_for_vectors() for all of it. A block whose ticket says
 * that there is nothing left of that one looks at its task's counters while it reads its supernode.
 *
 * Bits. The sums have a fixed order: what the children owe, in the order of gsv_schedule.gather, then sixteen
 * terms after sixteen, range after range (cuda/tasks/tile.cuh; in branches, and forward in narrow supernodes,
 * one chain, backward in narrow ones four). It depends on the factor alone, so a column has the same bits
 * wherever it stands and whatever stands beside it, and with the same lists and walks of branches also with 16, 32 and 64
 * of them. But it is not the order of the stream for one (cuda/stream/one.cuh), where a sum has sixteen chains: that many sums of
 * a 32 x 32 tile do not fit into a warp's registers.
 *
 * Cost. A tile of 64 columns and sixteen terms are 65536 multiply-adds, 512 cycles of an SM's tensor cores,
 * and 48 KB through its shared memory, 384 cycles. What a task takes besides is latency, one trip after the
 * other: ticket; task; supernode, lists and counters; children's rows and the first vectors; the results' way
 * out. So blocks share an SM, and tiles are low: three blocks, or four with 32 columns or 16, two or three of complex
 * numbers.
 */
#ifndef GSV_CUDA_TASKS_TASKS_CUH
#define GSV_CUDA_TASKS_TASKS_CUH

#include "discard.cuh"
#include "ends.cuh"
#include "narrow.cuh"

namespace gsv {

/*
 * Tasks, each for each group of right-hand sides, a block for each of both. ticket: the next task, counting
 * groups first. The plan stays among the parameters: not all that reads it is inlined.
 */
template <typename Kind, int C, bool BACKWARD>
__global__ void __launch_bounds__(tasks_shape<Kind, C, BACKWARD>::THREADS,
                                  tasks_shape<Kind, C, BACKWARD>::RESIDENT)
    tasks_sweep_kernel(const __grid_constant__ gsv_device_plan plan, const gsv_task *tasks, int groups,
                       gsv_tasks_vectors v, int *ticket, int *counters) {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    extern __shared__ __align__(SHARED_LINE) int4 memory[];
    __shared__ tasks_work work;
    __shared__ alignas(16) char tile_memory[sizeof(tasks_tile)];
    tasks_tile &tile = *reinterpret_cast<tasks_tile *>(tile_memory);
    tasks_lists<BACKWARD> &lists = tasks_block_lists<BACKWARD>();
    T *y = static_cast<T *>(v.y), *x = static_cast<T *>(v.x), *u = static_cast<T *>(v.u);
    T *shared = reinterpret_cast<T *>(memory);
    if (threadIdx.x == 32)
        tasks_ask_for_later<Kind>(tasks, groups);
    int group = 0; /* thread 0's */
    if (threadIdx.x == 0) {
        const int taken = atomicAdd(ticket, 1), which = task_of<Kind>(taken, groups);
        group = taken - which * groups;
        static_assert(sizeof(gsv_task) == 64, "four reads");
#pragma unroll
        for (int k = 0; k < 4; k++)
            reinterpret_cast<int4 *>(&work.task)[k] = reinterpret_cast<const int4 *>(tasks + which)[k];
        work.counters = counters + group;
        work.lost = 0;
        work.alone = taken >= tasks_at_once<shape::THREADS>();
        work.over = work.owed = 0;
    }
    __syncthreads(); /* the task is there */
    if (threadIdx.x == 0)
        tile = tasks_tile_of(plan, work.task, BACKWARD, C * groups, C * group);
    else if (threadIdx.x >= 32) {
        lists.begin(plan, work.task, threadIdx.x - 32, shape::THREADS - 32);
        if (work.alone) { /* nothing to wait for: a trip beside those for the supernode and lists */
            wait_for_vectors();
            tasks_look_block(work);
        }
    }
    __syncthreads(); /* the supernode is there, and what the look has found */
    auto ready = [&]() {
        wait_for_vectors();
        if (threadIdx.x == 0)
            work.lost |= work.task.count > 0 && !work.over &&
                         !tasks_reaches(tasks_counter(work, work.task.wait), work.task.count, v.state);
        __syncthreads(); /* what the task reads is there, and its lists in shared memory */
        return !work.lost;
    };
    /* The first range of a tile waits for what is owed to its rows before it waits for its vectors, which are
     * being assembled from the same children meanwhile. */
    auto owed = [&]() {
        if (!BACKWARD && work.task.owing == 0) {
            ready();
            return true;
        }
        wait_for_vectors();
        if (BACKWARD) {
            if (!work.alone) {
                tasks_look_block(work);
                __syncthreads(); /* it is known what is there */
            }
            return true;
        }
        if (threadIdx.x == 0 && !work.owed) {
            work.lost = !tasks_reaches(tasks_counter(work, work.task.owed), work.task.owing, v.state);
            work.over = tasks_has(tasks_counter(work, work.task.wait), work.task.count);
        }
        __syncthreads(); /* what is owed is there, and its lists in shared memory */
        return work.over != 0;
    };
    /* Backward: for the rows of the parent, or for those of its parent and what is above it. */
    auto await = [&](bool nearest) {
        if (work.over || (work.owed && !nearest))
            return;
        if (threadIdx.x == 0)
            work.lost |= nearest
                             ? !tasks_reaches(tasks_counter(work, work.task.wait), work.task.count, v.state)
                             : !tasks_reaches(tasks_counter(work, work.task.owed), work.task.owing, v.state);
        __syncthreads(); /* they are there */
    };
    bool done = true;
    if (work.task.kind == GSV_TASK_PRODUCT) {
        T *partial = static_cast<T *>(v.partial);
        done = tasks_tile_block<Kind, C, BACKWARD>(plan, work, tile, lists, y, x, u, C * groups, partial,
                                                   shared, owed, ready, await);
    } else if (work.task.kind == GSV_TASK_NARROW) {
        const int begin = tasks_narrow_part<Kind, C, BACKWARD>(work.task.begin),
                  end = tasks_narrow_part<Kind, C, BACKWARD>(work.task.end);
        if (begin == end)
            ready(); /* another task has its right-hand sides */
        else if constexpr (BACKWARD)
            tasks_narrow_backward_block<Kind, C>(plan, tile.node, begin, end, tile.columns, tile.c0, x, y,
                                                 shared, ready);
        else
            tasks_narrow_forward_block<Kind, C>(plan, tile.node, work.task, lists, begin, end, tile.columns,
                                                tile.c0, y, x, u, shared, ready);
    } else if constexpr (!BACKWARD) {
        tasks_assemble_block<T, C, shape::THREADS>(plan, tile.node, work.task, lists, tile.columns, tile.c0,
                                                   y, u, ready);
    }
    const bool signals = done && work.task.signal >= 0;
    if (signals || shape::DISCARDS)
        __syncthreads(); /* the results are written, and all has been read */
    if (signals && threadIdx.x == 0)
        tasks_advance(tasks_counter(work, work.task.signal));
    if constexpr (shape::DISCARDS)
        tasks_discard_block<Kind, C, BACKWARD>(plan, work, tile, lists, done, v);
}

} // namespace gsv
#endif
