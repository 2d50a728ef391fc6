/*
 * The sweeps for many right-hand sides on the device: one table of functions for each precision. The kernels
 * and what they do are in cuda/tasks/tasks.cuh.
 */
#ifndef GSV_CUDA_TASKS_TASKS_H
#define GSV_CUDA_TASKS_TASKS_H

#include "../../../dense_kernels/panel_layout.h"
#include "../device_plan.h"
#include "../../schedule/tasks/tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tasks of each list (gsv_task_list_of()) [device], read-only during a solve. */
typedef struct gsv_device_tasks {
    int32_t shared; /* bytes of shared memory that a block may have */
    int32_t teams;  /* there is room for teams of warps that walk the branches (cuda/walk/team.cuh) */
    const gsv_task *task[GSV_TASK_LISTS];
} gsv_device_tasks;

/*
 * What a solve writes. Row i of each holds `columns` right-hand sides side by side: GSV_TASKS_16, GSV_TASKS_32, or a
 * multiple of GSV_TASKS_64.
 *   y, x      [n] as in gsv_device_vectors
 *   u         [gsv_tasks.updates] update vectors
 *   partial   [gsv_task_list.slots][GSV_TASK_ROWS] partial sums
 *   counters  gsv_task_counters(), zero between solves, for their store makes them so: of the forward sweep,
 *             and behind them of the backward sweep, the next task, with room for GSV_TASK_TILES of them, so that the
 *             others stand in sectors of their own; and the list's counters, of each GSV_TASK_TILES, one for each
 *             tile of right-hand sides
 */
typedef struct gsv_tasks_vectors {
    void *y, *x, *u, *partial;
    int *counters;
    gsv_stream_state *state; /* broken and report are used */
} gsv_tasks_vectors;

/* Counters of a sweep, whichever of its lists it takes. */
static inline int64_t gsv_task_sweep_counters(const gsv_plan *plan, int backward) {
    const gsv_task_list *list = plan->schedule->tasks.list;
    const int64_t usual = list[gsv_task_list_of(backward, 0)].counters,
                  broad = list[gsv_task_list_of(backward, 1)].counters;
    return (1 + (int64_t)(usual > broad ? usual : broad)) * GSV_TASK_TILES;
}

static inline int64_t gsv_task_counters(const gsv_plan *plan) {
    return gsv_task_sweep_counters(plan, 0) + gsv_task_sweep_counters(plan, 1);
}

typedef cudaError_t gsv_tasks_sweep(const gsv_plan *plan, const gsv_device_plan *device,
                                    const gsv_device_tasks *tasks, const gsv_tasks_vectors *vectors,
                                    gsv_tasks_width width, cudaStream_t stream);

typedef struct gsv_tasks_functions {
    /* The number of launches for branches in both sweeps together, with vectors of this width. */
    int (*branch_launches)(const gsv_branches *branches, gsv_tasks_width width);
    /* One sweep over all levels, on the stream. */
    gsv_tasks_sweep *forward, *backward;
    /* Let the kernels have their shared memory on the current device, where a block may have tasks->shared bytes, and set
     * tasks->teams; an error if a block wants more. */
    cudaError_t (*reserve)(const gsv_branches *branches, gsv_device_tasks *tasks);
    /* Makes the counters zero: before the first solve, and after one whose store has not been launched. */
    cudaError_t (*clear)(const gsv_plan *plan, const gsv_tasks_vectors *vectors, cudaStream_t stream);
    /* As in gsv_sweep_functions. It also clears the word that says that a wait was given up. */
    cudaError_t (*load)(const gsv_plan *plan, const int32_t *inverse, gsv_device_dense from, void *to,
                        int columns, const gsv_tasks_vectors *vectors, cudaStream_t stream);
    /* As in gsv_sweep_functions. It also makes the counters zero. */
    cudaError_t (*store)(const gsv_plan *plan, const int32_t *inverse, const void *from, gsv_device_dense to,
                         int columns, const gsv_tasks_vectors *vectors, cudaStream_t stream);
    cudaError_t (*scale)(int32_t n, const void *d, void *v, int columns, cudaStream_t stream);
} gsv_tasks_functions;

/* gsv_tasks_m, gsv_tasks_c: of panels in single precision: vectors are in double precision, b and x in single. */
extern const gsv_tasks_functions gsv_tasks_m, gsv_tasks_d, gsv_tasks_c, gsv_tasks_z;

#ifdef __cplusplus
}
#endif
#endif
