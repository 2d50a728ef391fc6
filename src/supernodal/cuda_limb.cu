/* Launcher of the walks of limbs: cuda_limb.h. */
#include "cuda_limb.h"

#include "cuda_limb.cuh"

cudaError_t gsv_limb_reserve(void) {
    return gsv::allow_shared(reinterpret_cast<const void *>(gsv::limb_forward_kernel), gsv::limb_room::BYTES);
}

cudaError_t gsv_limb_forward(const gsv_limbs *limbs, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int blocks, cudaStream_t stream) {
    if (limbs->count == 0)
        return cudaSuccess;
    const int most = blocks / vectors->groups;
    return gsv::launch_allowed(gsv::limb_forward_kernel,
                               {limbs->count < most ? limbs->count : most, vectors->groups},
                               gsv::limb_room::BLOCK, gsv::limb_room::BYTES, stream, *device,
                               static_cast<const double *>(vectors->y), static_cast<double *>(vectors->x),
                               static_cast<double *>(vectors->u), int(limbs->count));
}
