/*
 * A workspace of the CUDA executor: one allocation on the device, where the vectors of every width stand, and the sweeps
 * as CUDA graphs, recorded when it is created, one for each width: GSV_SIDE_COLUMNS as a stream (stream.h), also in some numbers of
 * groups side by side; 16, 32 and multiples of 64 up to 256 as tasks (schedule/tasks/tasks.h). Groups of one are launched without a
 * graph, for the first launch reads b and the last one writes x.
 *
 * schedule/route.h says which of them a solve takes.
 *
 * A wait that a kernel gives up is told to the host by a word of pinned memory, which the next call reads.
 */
#ifndef GSV_CUDA_WORKSPACE_H
#define GSV_CUDA_WORKSPACE_H

#include "support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is possible in this workspace. */
gsv_abilities gsv_cuda_abilities_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work);
/* What the launchers of one way through the upper tree are told for this run; and where a sweep's graph is. */
gsv_launch gsv_cuda_launch_of(const gsv_plan *plan, const gsv_cuda_factor *device,
                              const gsv_cuda_workspace *work, const gsv_run *run, gsv_upper upper,
                              cudaStream_t stream);
cudaGraphExec_t *gsv_cuda_graph_of(gsv_cuda_workspace *work, const gsv_run *run, int backward);

/* What gsv_executor says of these. */
void gsv_cuda_count_bytes(int device, int same_bits, const gsv_plan *plan, gsv_numbers numbers, int has_d,
                          int64_t max_nrhs, int64_t *factor_bytes, int64_t *workspace_bytes);
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
