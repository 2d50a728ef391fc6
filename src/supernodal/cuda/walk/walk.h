/*
 * The launchers of the walks that streams and tasks share: of branches by teams of warps (cuda/walk/team.cuh), for 8 or 16 columns with
 * vectors in double precision, and of limbs (cuda/walk/limb.cuh). floats: panels are float (gsv_device_plan.floats).
 */
#ifndef GSV_CUDA_WALK_WALK_H
#define GSV_CUDA_WALK_WALK_H

#include "../device_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Let the kernels for nr right-hand sides, 8 or 16, have their shared memory on the current device, where a block may have
 * `most` bytes; cudaErrorInvalidValue if that is less than these branches want. */
cudaError_t gsv_team_reserve(const gsv_branches *branches, int floats, int nr, int most);

/* The branches' part of a sweep: one launch on the stream, or two. fill: number of bytes from vectors->f on, a multiple of 16,
 * are filled with ABSENT, perhaps while the load before is still running. */
cudaError_t gsv_team_forward(const gsv_branches *branches, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream);
cudaError_t gsv_team_backward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int nr, cudaStream_t stream);
/* How many launches the branches' part of a sweep is. */
int gsv_team_launches(const gsv_branches *branches, int backward, int nr);

/* Let the kernel have its shared memory on the current device; cudaErrorInvalidValue if it has less. */
cudaError_t gsv_limb_reserve(void);
/* The limbs' part of the forward sweep of eight right-hand sides, one launch of at most `blocks` blocks, if there are any
 * limbs. The stream that follows is SECOND_OF_TWO (launch_part). */
cudaError_t gsv_limb_forward(const gsv_limbs *limbs, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int blocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
