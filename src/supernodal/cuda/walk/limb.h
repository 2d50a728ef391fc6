/* The launcher of cuda/walk/limb.cuh, apart from those of cuda/stream/launch.cuh, for its kernel is of one number type. */
#ifndef GSV_CUDA_WALK_LIMB_H
#define GSV_CUDA_WALK_LIMB_H

#include "../device_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

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
