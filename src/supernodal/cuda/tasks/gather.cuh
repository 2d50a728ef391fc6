/* What the children owe, for the kernels for many right-hand sides: lists that are in shared memory before
 * they are wanted, and sums over them in their order. */
#ifndef GSV_CUDA_TASKS_GATHER_CUH
#define GSV_CUDA_TASKS_GATHER_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../../../dense_kernels/kept.cuh"
#include "../shared/gather.cuh"
#include "../shared/l2.cuh"
#include "tasks.h"

namespace gsv {

__device__ __forceinline__ gsv_node tasks_node(const gsv_device_plan &plan, int32_t node) {
    const int kind = node >> GSV_TASK_KIND, at = node & ((1 << GSV_TASK_KIND) - 1);
    return (kind == GSV_TASK_TINY ? plan.tiny : kind == GSV_TASK_SMALL ? plan.small : plan.wide)[at];
}

/* Row `row` of vectors with `columns` columns: one multiplication of 32 by 32 bits. */
template <typename T>
__device__ __forceinline__ const T *tasks_row(const T *vectors, uint32_t row, int columns) {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(vectors) +
                                       uint64_t(row) * (uint32_t(columns) * uint32_t(sizeof(T))));
}

/* What a block has of its task's rows in shared memory (gsv_task.listed_rows), on its way as soon as the task is
 * known, before its supernode is. Forward, what they are owed: row k has terms begin_of(k) .. begin_of(k + 1) - 1 of the
 * task's list, which stays where it is if it is of more than GSV_TASK_LISTED. */
template <bool BACKWARD> struct tasks_lists {
    uint32_t ptr[GSV_NARROW_ROWS + 1], term[GSV_TASK_LISTED];

    /* Called by `threads` threads; this one is number `thread`. One group of copies. */
    __device__ __forceinline__ void begin(const gsv_device_plan &plan, const gsv_task &task, int thread,
                                          int threads) {
        if (task.listed_rows > 0)
            for (int k = thread; k <= task.listed_rows; k += threads)
                begin_copy<4>(ptr + k, plan.gather_ptr + int64_t(task.row) + k, true);
        if (task.listed <= GSV_TASK_LISTED)
            for (int k = thread; k < task.listed; k += threads)
                begin_copy<4>(term + k, plan.gather + int64_t(task.list) + k, true);
        commit_copies();
    }

    __device__ __forceinline__ uint32_t begin_of(const gsv_task &task, int k) const {
        return ptr[k] - task.list;
    }
    __device__ __forceinline__ const uint32_t *list_of(const gsv_device_plan &plan,
                                                       const gsv_task &task) const {
        return task.listed <= GSV_TASK_LISTED ? term : plan.gather + task.list;
    }
};

/* Backward, a narrow supernode's: which rows of the solution they are. */
template <> struct tasks_lists<true> {
    int32_t row[GSV_NARROW_ROWS];

    __device__ __forceinline__ void begin(const gsv_device_plan &plan, const gsv_task &task, int thread,
                                          int threads) {
        if (task.kind == GSV_TASK_NARROW)
            for (int k = thread; k < task.listed_rows; k += threads)
                begin_copy<4>(row + k, plan.rows + int64_t(task.row) + k, true);
        commit_copies();
    }
};

/* The lists of this block. Code that is out of line calls this, too: an argument would be a pointer into any memory. */
template <bool BACKWARD> __device__ __forceinline__ tasks_lists<BACKWARD> &tasks_block_lists() {
    __shared__ tasks_lists<BACKWARD> lists;
    return lists;
}

/* Sums of two right-hand sides over ROWS rows' children, list[at[r]] .. list[end[r] - 1] for row r. AHEAD terms
 * of all rows are looked up, and then asked for, together, and the next ones are looked up while they come. What is
 * read under a condition is zero before: else the compiler keeps registers for it all round a kernel's loop over a
 * tile. */
template <typename T, int ROWS, int AHEAD> struct tasks_owed_sums {
    uint32_t at[ROWS], end[ROWS], row[AHEAD][ROWS];
    T sum[ROWS][2], term[AHEAD][ROWS][2];

    /* The AHEAD terms that are `skip` behind those that are next. */
    __device__ __forceinline__ void look_up(const uint32_t *list, int skip = 0) {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                row[a][r] = 0;
                if (at[r] + skip + a < end[r])
                    row[a][r] = list[at[r] + skip + a];
            }
    }

    /* u: of the right-hand sides */
    __device__ __forceinline__ void ask(const T *u, int columns) {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                term[a][r][0] = term[a][r][1] = make<T>(0);
                if (at[r] + a < end[r])
                    load_run_once(tasks_row(u, row[a][r], columns), term[a][r]);
            }
    }

    __device__ __forceinline__ void add_terms() {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (at[r] + a < end[r]) {
                    sum[r][0] = add(sum[r][0], term[a][r][0]);
                    sum[r][1] = add(sum[r][1], term[a][r][1]);
                }
    }

    /* All terms. The first ones have been asked for. */
    __device__ __forceinline__ void add_all(const uint32_t *list, const T *u, int columns) {
        for (;;) {
            bool more = false;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                more |= at[r] + AHEAD < end[r];
            look_up(list, AHEAD);
            add_terms();
            if (!more)
                return;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                at[r] += AHEAD;
            ask(u, columns);
        }
    }
};

/* y(rows of the task, an assembly) += what the children owe them, right-hand sides c0 on; NaN, if ready() says that it is
 * not there. All rows at the same time, two numbers a thread. */
template <typename T, int C, int THREADS, typename Ready>
__device__ __forceinline__ void tasks_assemble_block(const gsv_device_plan &plan, const gsv_node &node,
                                                     const gsv_task &task, const tasks_lists<false> &lists,
                                                     int columns, int c0, T *y, const T *u, Ready ready) {
    constexpr int AT_ONCE = THREADS / (C / 2), ROWS = GSV_TASK_ASSEMBLE / AT_ONCE;
    constexpr int AHEAD = sizeof(T) < 16 && THREADS > 2 * C ? 3 : 2;
    const int c = c0 + int(threadIdx.x) % (C / 2) * 2, k0 = int(threadIdx.x) / (C / 2);
    tasks_owed_sums<T, ROWS, AHEAD> owed;
    wait_for_copies<0>();
    __syncthreads(); /* the lists are there */
    const uint32_t *list = lists.list_of(plan, task);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int k = k0 + r * AT_ONCE;
        owed.at[r] = owed.end[r] = 0;
        if (k < task.listed_rows) {
            owed.at[r] = lists.begin_of(task, k);
            owed.end[r] = lists.begin_of(task, k + 1);
        }
    }
    owed.look_up(list);
    const bool refuse = !ready();
    bool owing[ROWS]; /* the others stay as they are */
    T *const to = y + int64_t(node.first_column + task.first + k0) * columns + c;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        owing[r] = owed.at[r] < owed.end[r];
        if (owing[r])
            load_run(to + r * AT_ONCE * columns, owed.sum[r]);
    }
    owed.ask(u + c, columns);
    owed.add_all(list, u + c, columns);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (refuse)
            owed.sum[r][0] = owed.sum[r][1] = not_a_number<T>();
        if (owing[r])
            store_run(to + r * AT_ONCE * columns, owed.sum[r]);
    }
}

} // namespace gsv
#endif
