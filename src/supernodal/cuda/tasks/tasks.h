/* The lists, the vectors and the counters of the tasks on the device. The kernels and what they do are in cuda/tasks/tasks.cuh. */
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
    const gsv_task *task[GSV_TASK_LISTS];
} gsv_device_tasks;

/*
 * What a solve writes. Row i of each holds `columns` right-hand sides side by side: GSV_TASKS_16, GSV_TASKS_32, or a
 * multiple of GSV_TASKS_64.
 *   y, x      [n] as in gsv_device_vectors
 *   u         [gsv_tasks.updates] update vectors
 *   partial   [gsv_task_list.slots][GSV_TASK_ROWS] partial sums
 *   counters  [gsv_task_counters()] zero between solves, for their store makes them so. For each sweep, forward first: the number of
 *             the next task, alone in the space of GSV_TASK_TILES counters, so that the others are in sectors of their own; and then
 *             GSV_TASK_TILES for each counter of the sweep's list, one for each tile of right-hand sides
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

#ifdef __cplusplus
}
#endif
#endif
