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

/* The tasks of each list (gsv_many_list_of()) [device], read-only during a solve. */
typedef struct gsv_device_many {
    int32_t shared; /* bytes of shared memory that a block may have */
    int32_t teams;  /* there is room for teams of warps that walk the branches (cuda/walk/team.cuh) */
    const gsv_many_task *task[GSV_MANY_LISTS];
} gsv_device_many;

/*
 * What a solve writes. Row i of each holds `columns` right-hand sides side by side: GSV_MANY_SLIM, GSV_MANY_LEAST, or a
 * multiple of GSV_MANY_COLUMNS.
 *   y, x      [n] as in gsv_device_vectors
 *   u         [gsv_many.updates] update vectors
 *   partial   [gsv_many_list.slots][GSV_MANY_ROWS] partial sums
 *   counters  gsv_many_counters(), zero between solves, for their store makes them so: of the forward sweep,
 *             and behind them of the backward sweep, the next task, with room for GSV_MANY_TILES of them, so that the
 *             others stand in sectors of their own; and the list's counters, of each GSV_MANY_TILES, one for each
 *             tile of right-hand sides
 */
typedef struct gsv_many_vectors {
    void *y, *x, *u, *partial;
    int *counters;
    gsv_stream_state *state; /* broken and report are used */
} gsv_many_vectors;

/* Counters of a sweep, whichever of its lists it takes. */
static inline int64_t gsv_many_sweep_counters(const gsv_plan *plan, int backward) {
    const gsv_many_list *list = plan->tiles->many.list;
    const int64_t usual = list[gsv_many_list_of(backward, 0)].counters,
                  broad = list[gsv_many_list_of(backward, 1)].counters;
    return (1 + (int64_t)(usual > broad ? usual : broad)) * GSV_MANY_TILES;
}

static inline int64_t gsv_many_counters(const gsv_plan *plan) {
    return gsv_many_sweep_counters(plan, 0) + gsv_many_sweep_counters(plan, 1);
}

typedef cudaError_t gsv_many_sweep(const gsv_plan *plan, const gsv_device_plan *device,
                                   const gsv_device_many *many, const gsv_many_vectors *vectors,
                                   gsv_many_width width, cudaStream_t stream);

typedef struct gsv_many_functions {
    /* How many launches of both sweeps are the branches', for so many right-hand sides. */
    int (*branch_launches)(const gsv_branches *branches, gsv_many_width width);
    /* One sweep over all levels, on the stream. */
    gsv_many_sweep *forward, *backward;
    /* Let the kernels have their shared memory on the current device, where a block may have many->shared bytes, and set
     * many->teams; an error if a block wants more. */
    cudaError_t (*reserve)(const gsv_branches *branches, gsv_device_many *many);
    /* Makes the counters zero: before the first solve, and after one whose store has not been launched. */
    cudaError_t (*clear)(const gsv_plan *plan, const gsv_many_vectors *vectors, cudaStream_t stream);
    /* As in gsv_sweep_functions; besides nothing is broken. */
    cudaError_t (*load)(const gsv_plan *plan, const int32_t *inverse, gsv_device_dense from, void *to,
                        int columns, const gsv_many_vectors *vectors, cudaStream_t stream);
    /* Likewise; besides the counters are zero again. */
    cudaError_t (*store)(const gsv_plan *plan, const int32_t *inverse, const void *from, gsv_device_dense to,
                         int columns, const gsv_many_vectors *vectors, cudaStream_t stream);
    cudaError_t (*scale)(int32_t n, const void *d, void *v, int columns, cudaStream_t stream);
} gsv_many_functions;

/* gsv_many_m, gsv_many_c: of panels in single precision: vectors are in double precision, b and x in single. */
extern const gsv_many_functions gsv_many_m, gsv_many_d, gsv_many_c, gsv_many_z;

#ifdef __cplusplus
}
#endif
#endif
