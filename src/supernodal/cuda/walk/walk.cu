/* Launchers of the walks of branches by teams of warps, and of limbs: cuda/walk/walk.h. */
#include "walk.h"

#include "launches.cuh"
#include "limb.cuh"
#include "team.cuh"

namespace gsv {

enum { TEAM_RESIDENT = 8 }; /* blocks an SM at most, about, forward */

template <int NR> static int team_forward_room(const gsv_branch &branch) {
    return gsv_branch_walk_bytes(&branch, GSV_PACKED, TEAM_FORWARD * NR / GSV_WALK_COLUMNS);
}

template <int NR> static int team_backward_room(const gsv_branch &branch) {
    return gsv_branch_walk_bytes(&branch, GSV_LOOKED_UP, NR / GSV_WALK_COLUMNS);
}

template <int NR> static branch_cut team_cut(const gsv_branches *branches, bool backward) {
    const int second = NR == 8 ? SECOND_LAUNCH : SECOND_LAUNCH_OF_16;
    return backward ? choose_cut(branches, team_backward_room<NR>, team_backward<NR>::RESIDENT, second)
                    : choose_cut(branches, team_forward_room<NR>, TEAM_RESIDENT, second);
}

/* For one group of right-hand sides, or for several. P: the panels' numbers. */
template <typename P, int NR> static auto forward_kernel(bool side) {
    if constexpr (NR == GSV_SIDE_COLUMNS)
        if (side)
            return team_forward_kernel<P, NR, true>;
    return team_forward_kernel<P, NR, false>;
}

template <typename P, int NR> static auto backward_kernel(bool side) {
    if constexpr (NR == GSV_SIDE_COLUMNS)
        if (side)
            return team_backward_kernel<P, NR, true>;
    return team_backward_kernel<P, NR, false>;
}

template <typename P, int NR>
static cudaError_t walk_forward(const gsv_branches *branches, const gsv_device_plan *device,
                                const gsv_device_vectors *vectors, int64_t fill, cudaStream_t stream) {
    return launch_cut(team_cut<NR>(branches, false), branches->count, TEAM_RESIDENT, vectors->groups,
                      [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(
                              forward_kernel<P, NR>(vectors->groups > 1), {end - of.first, vectors->groups},
                              team_threads<TEAM_FORWARD, NR>(), size_t(bytes), stream, *device,
                              static_cast<const double *>(vectors->y), static_cast<double *>(vectors->x),
                              static_cast<double *>(vectors->u), bytes,
                              fill_of(branches, vectors, fill, of.first, end), of);
                      });
}

template <typename P, int NR>
static cudaError_t walk_back(const gsv_branches *branches, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, cudaStream_t stream) {
    typedef team_backward<NR> shape;
    return launch_cut(team_cut<NR>(branches, true), branches->count, shape::RESIDENT, vectors->groups,
                      [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(backward_kernel<P, NR>(vectors->groups > 1),
                                                {end - of.first, vectors->groups}, shape::THREADS,
                                                size_t(bytes), stream, *device,
                                                static_cast<const double *>(vectors->x),
                                                static_cast<double *>(vectors->y), bytes, of);
                      });
}

template <int NR> static int team_launches(const gsv_branches *branches, int backward) {
    return launches_of(team_cut<NR>(branches, backward));
}

template <typename P, int NR> static cudaError_t team_reserve(const gsv_branches *branches, int most) {
    const int forward = most_bytes(branches, team_forward_room<NR>),
              backward = most_bytes(branches, team_backward_room<NR>);
    if (forward > most || backward > most)
        return cudaErrorInvalidValue;
    cudaError_t error = cudaSuccess;
    for (int side = 0; side <= (NR == GSV_SIDE_COLUMNS) && error == cudaSuccess; side++) {
        error = allow_shared(reinterpret_cast<const void *>(forward_kernel<P, NR>(side)), size_t(forward));
        if (error == cudaSuccess)
            error =
                allow_shared(reinterpret_cast<const void *>(backward_kernel<P, NR>(side)), size_t(backward));
    }
    return error;
}

/* For panels of floats or doubles; for one group of right-hand sides, or for several. */
static auto limb_kernel(bool floats, bool side) {
    if (floats)
        return side ? limb_forward_kernel<float, true> : limb_forward_kernel<float, false>;
    return side ? limb_forward_kernel<double, true> : limb_forward_kernel<double, false>;
}

} // namespace gsv

cudaError_t gsv_team_reserve(const gsv_branches *branches, int floats, int nr, int most) {
    return gsv::dispatch_panels(floats, nr, [&](auto p, auto columns) {
        return gsv::team_reserve<decltype(p), columns>(branches, most);
    });
}

cudaError_t gsv_team_forward(const gsv_branches *branches, const gsv_device_plan *device,
                             const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream) {
    return gsv::dispatch_panels(device->floats, nr, [&](auto p, auto columns) {
        return gsv::walk_forward<decltype(p), columns>(branches, device, vectors, fill, stream);
    });
}

cudaError_t gsv_team_backward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
    return gsv::dispatch_panels(device->floats, nr, [&](auto p, auto columns) {
        return gsv::walk_back<decltype(p), columns>(branches, device, vectors, stream);
    });
}

int gsv_team_launches(const gsv_branches *branches, int backward, int nr) {
    return nr == 8 ? gsv::team_launches<8>(branches, backward) : gsv::team_launches<16>(branches, backward);
}

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
