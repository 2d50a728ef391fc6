/*
 * A workspace of the CUDA executor: one allocation on the device, where the vectors of every width stand, and the sweeps
 * as CUDA graphs, recorded when it is created, one for each class of right-hand sides (1, 4, 8, 16, 32 side by side; with
 * more, of real numbers with more than 16, of complex ones with more than 4, 16, 32 and multiples of 64 up to 256 by
 * kernels of their own, cuda_many.cuh; real numbers are 16 by these at least forward); and for some groups of eight real
 * numbers side by side (stream.h). Several groups of one, and one if its operands are on the device, are
 * launched without a graph, for the first launch reads b and the last one writes x.
 *
 * A wait that a kernel gives up is told to the host by a word of pinned memory, which the next call reads.
 */
#ifndef GSV_CUDA_WORKSPACE_H
#define GSV_CUDA_WORKSPACE_H

#include "cuda_support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How wide the vectors of a run are: many.columns > 0, many right-hand sides; or class k. groups > 0. */
typedef struct gsv_cuda_width {
    gsv_many_width many;
    int k;
    int groups; /* of class k, side by side: 1, but of GSV_SIDE_COLUMNS and of one there may be several */
} gsv_cuda_width;

static inline int gsv_cuda_is_slim(gsv_cuda_width wide) {
    return wide.many.columns == GSV_MANY_SLIM;
}

/* The smallest class that holds `columns`, or the largest there is; for more than one, where the upper tree is
 * a stream for blocks of right-hand sides (block_columns, as in gsv_sweep_form), a class that it is one for. */
int gsv_cuda_class_index(const gsv_sweep_functions *sweeps, int block_columns, int64_t columns);
/* Of a workspace for so many columns; of GSV_MANY_SLIM. */
int gsv_cuda_largest_class(const gsv_plan *plan, const gsv_sweep_functions *sweeps, int64_t max_nrhs);
int gsv_cuda_slim_class(const gsv_sweep_functions *sweeps);
/* So many columns side by side at most in the kernels for many right-hand sides; 0: it is not for these. */
int gsv_cuda_many_columns(const gsv_plan *plan, gpusolve_dtype dtype, int64_t nrhs);

/* The launchers of a precision for this width: of panels in single precision there are two (gsv_sweep_m). */
const gsv_sweep_functions *gsv_cuda_sweeps_of(gpusolve_dtype dtype, const gsv_sweep_form *form,
                                              gsv_cuda_width wide);

/* So many groups of GSV_SIDE_COLUMNS (gsv_cuda_side). */
gsv_cuda_width gsv_cuda_side_width(int groups);

/* What this workspace's sweeps may be: those of several columns have the sums of one only level by level. */
gsv_sweep_form gsv_cuda_form_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work);
/* The launches of one sweep, and where its graph is. */
cudaError_t gsv_cuda_launch_sweep(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                                  const gsv_cuda_workspace *work, gsv_cuda_width wide, int backward,
                                  cudaStream_t stream);
/* Its vectors, unless right-hand sides are many. */
gsv_device_vectors gsv_cuda_vectors_of(const gsv_cuda_workspace *work, gsv_cuda_width wide);
cudaGraphExec_t *gsv_cuda_graph_of(gsv_cuda_workspace *work, gsv_cuda_width wide, int backward);

/* What gsv_executor says of these. */
void gsv_cuda_count_bytes(const gsv_plan *plan, gpusolve_dtype dtype, int has_d, int64_t max_nrhs,
                          int64_t *factor_bytes, int64_t *workspace_bytes);
gpusolve_status gsv_cuda_workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          gpusolve_workspace *workspace);
void gsv_cuda_workspace_destroy(gpusolve_workspace *workspace);
/* Lay a workspace of an earlier plan of the factor out anew; what it has is kept if some graph has a solve with it. On
 * failure it is as before. */
gpusolve_status gsv_cuda_workspace_renew(gpusolve_handle *handle, const gpusolve_factor *factor,
                                         gpusolve_workspace *workspace);
gpusolve_status gsv_cuda_workspace_check(gpusolve_handle *handle, gpusolve_workspace *workspace);

#ifdef __cplusplus
}
#endif
#endif
