/* Launchers of cuda_lower.cuh: cuda_lower.h. */
#include "cuda_lower.h"

#include "cuda_branch_cut.cuh"
#include "cuda_launch.cuh"
#include "cuda_lower_back.cuh"

namespace gsv {

/* Few warps a block, and many blocks: the upper levels of a branch have work for few. Measured on an H200
 * against blocks of six and of eight warps. */
enum { LOWER_WARPS = 4, LOWER_FEW = 800 };

template <int N> struct lower_resident { static const int BLOCKS = N == 1 ? 4 : 3; }; /* an SM */

/* Chunks of 8 N right-hand sides, at most nr. */
template <int N> static int splits_of(const gsv_branches *branches, int nr) {
    int splits = 1; /* blocks that share a branch: more than one where there are few branches */
    while (splits < nr / (8 * N) && branches->count * int64_t(splits) < LOWER_FEW)
        splits *= 2;
    return splits;
}

/* P: the panels' numbers. */
template <typename P, int N> static int forward_room_bytes(const gsv_branch &branch) {
    return forward_room<P, N>(branch).bytes;
}

template <typename P, int N> static int backward_room_bytes(const gsv_branch &branch) {
    return backward_room<P, N>(branch).bytes;
}

template <typename P, int N> static branch_cut lower_cut(const gsv_branches *branches, bool backward) {
    return choose_cut(branches, backward ? backward_room_bytes<P, N> : forward_room_bytes<P, N>,
                      lower_resident<N>::BLOCKS, N == 1 ? SECOND_LAUNCH : SECOND_LAUNCH_OF_16);
}

/* For one group of right-hand sides, or for several. */
template <typename P, int N> static auto forward_kernel(bool side) {
    if constexpr (8 * N == GSV_SIDE_COLUMNS)
        if (side)
            return lower_forward_kernel<P, N, LOWER_WARPS, lower_resident<N>::BLOCKS, true>;
    return lower_forward_kernel<P, N, LOWER_WARPS, lower_resident<N>::BLOCKS, false>;
}

template <typename P, int N>
static cudaError_t lower_forward(const gsv_branches *branches, const gsv_device_plan *device,
                                 const gsv_device_vectors *vectors, int64_t fill, int nr,
                                 cudaStream_t stream) {
    const int splits = splits_of<N>(branches, nr);
    return launch_cut(lower_cut<P, N>(branches, false), branches->count, lower_resident<N>::BLOCKS,
                      splits * vectors->groups, [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(
                              forward_kernel<P, N>(vectors->groups > 1),
                              {int64_t(end - of.first) * splits, vectors->groups}, 32 * LOWER_WARPS,
                              size_t(bytes), stream, *device, static_cast<const double *>(vectors->y),
                              static_cast<double *>(vectors->x), static_cast<double *>(vectors->u), nr,
                              splits, fill_of(branches, vectors, fill, of.first, end), of);
                      });
}

template <typename P, int N>
static cudaError_t lower_backward(const gsv_branches *branches, const gsv_device_plan *device,
                                  const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
    const int splits = splits_of<N>(branches, nr);
    return launch_cut(lower_cut<P, N>(branches, true), branches->count, lower_resident<N>::BLOCKS, splits,
                      [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(
                              lower_backward_kernel<P, N, LOWER_WARPS, lower_resident<N>::BLOCKS>,
                              int64_t(end - of.first) * splits, 32 * LOWER_WARPS, size_t(bytes), stream,
                              *device, static_cast<const double *>(vectors->x),
                              static_cast<double *>(vectors->y), nr, splits, of);
                      });
}

template <typename P, int N> static cudaError_t lower_reserve(const gsv_branches *branches) {
    const size_t forward = size_t(most_bytes(branches, forward_room_bytes<P, N>));
    cudaError_t error = cudaSuccess;
    for (int side = 0; side <= (8 * N == GSV_SIDE_COLUMNS) && error == cudaSuccess; side++)
        error = allow_shared(reinterpret_cast<const void *>(forward_kernel<P, N>(side)), forward);
    return error != cudaSuccess
               ? error
               : allow_shared(reinterpret_cast<const void *>(
                                  lower_backward_kernel<P, N, LOWER_WARPS, lower_resident<N>::BLOCKS>),
                              size_t(most_bytes(branches, backward_room_bytes<P, N>)));
}

} // namespace gsv

int gsv_lower_launches(const gsv_branches *branches, int floats, int backward, int nr) {
    return gsv::dispatch_panels(floats, nr, [&](auto p, auto columns) {
        return gsv::launches_of(gsv::lower_cut<decltype(p), columns / 8>(branches, backward));
    });
}

cudaError_t gsv_lower_reserve(const gsv_branches *branches, int floats) {
    cudaError_t error = cudaSuccess;
    for (int nr = 8; nr <= 16 && error == cudaSuccess; nr += 8)
        error = gsv::dispatch_panels(floats, nr, [&](auto p, auto columns) {
            return gsv::lower_reserve<decltype(p), columns / 8>(branches);
        });
    return error;
}

cudaError_t gsv_lower_forward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream) {
    return gsv::dispatch_panels(device->floats, nr, [&](auto p, auto columns) {
        return gsv::lower_forward<decltype(p), columns / 8>(branches, device, vectors, fill, nr, stream);
    });
}

cudaError_t gsv_lower_backward(const gsv_branches *branches, const gsv_device_plan *device,
                               const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
    return gsv::dispatch_panels(device->floats, nr, [&](auto p, auto columns) {
        return gsv::lower_backward<decltype(p), columns / 8>(branches, device, vectors, nr, stream);
    });
}
