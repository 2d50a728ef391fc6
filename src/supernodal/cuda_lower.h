/*
 * The branches for 8 right-hand sides or more by vectors in double precision: the launchers of cuda_lower.cuh and
 * cuda_team_branch.cuh, apart from those of cuda_launch.cuh, for their kernels are one for all classes. floats: panels
 * are float (gsv_device_plan.floats).
 */
#ifndef GSV_CUDA_LOWER_H
#define GSV_CUDA_LOWER_H

#include "cuda_sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Let the kernels have their shared memory on the current device; cudaErrorInvalidValue if it has less than
 * these branches want. */
cudaError_t gsv_lower_reserve(const gsv_branches *branches, int floats);

/* The branches' part of a sweep: one launch on the stream, or two. nr: 8, 16 or 32. fill: so many bytes from
 * vectors->f on, a multiple of 16, are filled with ABSENT, perhaps while the load before is still running (for 8). */
cudaError_t gsv_lower_forward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream);
cudaError_t gsv_lower_backward(const gsv_branches *branches, const gsv_device_plan *device,
                               const gsv_device_vectors *vectors, int nr, cudaStream_t stream);
/* How many launches the branches' part of a sweep is. */
int gsv_lower_launches(const gsv_branches *branches, int floats, int backward, int nr);

/* Likewise by teams of warps, for 8 or 16, with sums in another order; forward where branches->team_forward. */
cudaError_t gsv_team_reserve(const gsv_branches *branches, int floats);
cudaError_t gsv_team_forward(const gsv_branches *branches, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream);
cudaError_t gsv_team_backward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int nr, cudaStream_t stream);
int gsv_team_launches(const gsv_branches *branches, int backward, int nr);

#ifdef __cplusplus
}
#endif
#endif
