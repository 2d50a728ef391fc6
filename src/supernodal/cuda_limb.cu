/* Launchers of the walks of limbs: cuda_limb.h. */
#include "cuda_limb.h"

#include "cuda_limb.cuh"

namespace gsv {

template <int NR>
static cudaError_t limb_forward(const gsv_limbs *limbs, const gsv_device_plan *device,
                                const gsv_device_vectors *vectors, int blocks, cudaStream_t stream) {
    const int walks = limbs->count * (NR / limb_room::ROW);
    return launch_allowed(limb_forward_kernel<NR>, walks < blocks ? walks : blocks, limb_room::BLOCK,
                          limb_room::BYTES, stream, *device, static_cast<const double *>(vectors->y),
                          static_cast<double *>(vectors->x), static_cast<double *>(vectors->u), walks);
}

} // namespace gsv

cudaError_t gsv_limb_reserve(void) {
    const cudaError_t error =
        gsv::allow_shared(reinterpret_cast<const void *>(gsv::limb_forward_kernel<8>), gsv::limb_room::BYTES);
    return error != cudaSuccess
               ? error
               : gsv::allow_shared(reinterpret_cast<const void *>(gsv::limb_forward_kernel<16>),
                                   gsv::limb_room::BYTES);
}

cudaError_t gsv_limb_forward(const gsv_limbs *limbs, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int nr, int blocks, cudaStream_t stream) {
    if (limbs->count == 0)
        return cudaSuccess;
    return nr == 8 ? gsv::limb_forward<8>(limbs, device, vectors, blocks, stream)
                   : gsv::limb_forward<16>(limbs, device, vectors, blocks, stream);
}
