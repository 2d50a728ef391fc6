/*
 * The launchers of a run of columns (gsv_run): one type of table. Each kind of numbers has a table for the streams and one for the
 * tasks. gsv_cuda_launchers() says which table a step of a run takes. The streams' load_store.cuh, and the tasks'
 * transfer.cuh, say what the steps do.
 */
#ifndef GSV_CUDA_LAUNCHERS_H
#define GSV_CUDA_LAUNCHERS_H

#include "tasks/tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What every launcher is told. */
typedef struct gsv_launch {
    const gsv_plan *plan;
    const gsv_device_plan *device;
    const gsv_device_tasks *tasks;
    gsv_abilities abilities; /* in this workspace */
    const gsv_run *run;
    gsv_device_vectors vectors; /* of this run */
    cudaStream_t stream;
} gsv_launch;

typedef struct gsv_launchers {
    /* Let the kernels have their shared memory on the current device, where a block may have `shared` bytes, and say in
     * `abilities` which of them there are: stream_blocks, or teams. An error if there is too little for any. */
    cudaError_t (*reserve)(const gsv_branches *branches, int shared, gsv_abilities *abilities);
    /* to(i, c) = from(perm ? perm[i] : i, c) for c < from.columns, else 0; perm and its inverse, or NULL both. It fills what the
     * sweeps want filled with ABSENT, or some of it (gsv_device_vectors). */
    cudaError_t (*load)(const gsv_launch *launch, const int32_t *perm, const int32_t *inverse,
                        gsv_device_dense from, void *to);
    /* One sweep over branches and upper tree, forward and backward. NULL: none. */
    cudaError_t (*sweep[2])(const gsv_launch *launch);
    /* v(i, c) /= d(i) */
    cudaError_t (*scale)(const gsv_launch *launch, const void *d, void *v);
    /* to(i, c) = from(inverse ? inverse[i] : i, c). That of tasks makes their counters zero. */
    cudaError_t (*store)(const gsv_launch *launch, const int32_t *inverse, const void *from,
                         gsv_device_dense to);
    /* Streams of groups of one, NULL elsewhere: the load with the forward sweep, and the backward sweep with the store. b and x are
     * on the device, and neither is a vector of the sweeps. */
    cudaError_t (*forward_from)(const gsv_launch *launch, const int32_t *perm, gsv_device_dense b);
    cudaError_t (*backward_to)(const gsv_launch *launch, const int32_t *perm, gsv_device_dense x);
    /* Both of them in one launch, where the whole tree is in branches (gsv_run.whole). perm: of b and of x. */
    cudaError_t (*whole)(const gsv_launch *launch, const int32_t *perm, gsv_device_dense b,
                         gsv_device_dense x);
    /* Tasks, NULL elsewhere: how many launches the branches' part of a sweep is; and make the counters zero, before the first solve
     * and after one whose store has not been launched. */
    int (*branch_launches)(const gsv_branches *branches, const gsv_run *run, int backward);
    cudaError_t (*clear)(const gsv_launch *launch);
} gsv_launchers;

/* gsv_stream_m: of panels in single precision, for blocks of right-hand sides: vectors are in double precision, b and x in
 * single. gsv_stream_s, _c and _z are for groups of one. gsv_stream_ds, gsv_stream_zc: for groups of one with panels in single precision
 * and all else in double, without load, scale and store. gsv_tasks_m, gsv_tasks_c: of panels in single precision, with vectors in
 * double precision. */
extern const gsv_launchers gsv_stream_s, gsv_stream_d, gsv_stream_c, gsv_stream_z, gsv_stream_m,
    gsv_stream_ds, gsv_stream_zc;
extern const gsv_launchers gsv_tasks_m, gsv_tasks_d, gsv_tasks_c, gsv_tasks_z;

/* The table of a factor's numbers for one way through the upper tree; and the one for load, scale and store, which see vectors, b, x and
 * D, but no panel. */
const gsv_launchers *gsv_cuda_launchers(gsv_numbers numbers, gsv_upper upper);
const gsv_launchers *gsv_cuda_movers(gsv_numbers numbers, gsv_upper upper);

#ifdef __cplusplus
}
#endif
#endif
