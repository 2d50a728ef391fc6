/* Launcher of the walks of limbs: cuda/walk/limb.h. */
#include "limb.h"

#include "limb.cuh"

namespace gsv {

/* For panels of floats or doubles; for one group of right-hand sides, or for several. */
static auto limb_kernel(bool floats, bool side) {
    if (floats)
        return side ? limb_forward_kernel<float, true> : limb_forward_kernel<float, false>;
    return side ? limb_forward_kernel<double, true> : limb_forward_kernel<double, false>;
}

} // namespace gsv

cudaError_t gsv_limb_reserve(void) {
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < 4 && error == cudaSuccess; k++)
        error = gsv::allow_shared(reinterpret_cast<const void *>(gsv::limb_kernel(k / 2, k % 2)),
                                  gsv::limb_room::BYTES);
    return error;
}

cudaError_t gsv_limb_forward(const gsv_limbs *limbs, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int blocks, cudaStream_t stream) {
    if (limbs->count == 0)
        return cudaSuccess;
    const int most = blocks / vectors->groups;
    return gsv::launch_allowed(gsv::limb_kernel(device->floats, vectors->groups > 1),
                               {limbs->count < most ? limbs->count : most, vectors->groups},
                               gsv::limb_room::BLOCK, gsv::limb_room::BYTES, stream, *device,
                               static_cast<const double *>(vectors->y), static_cast<double *>(vectors->x),
                               static_cast<double *>(vectors->u), int(limbs->count));
}
