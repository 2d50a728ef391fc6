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

template <int N> static int forward_room_bytes(const gsv_branch &branch) {
    return forward_room<N>(branch).bytes;
}

template <int N> static int backward_room_bytes(const gsv_branch &branch) {
    return backward_room<N>(branch).bytes;
}

template <int N> static branch_cut lower_cut(const gsv_branches *branches, bool backward) {
    return choose_cut(branches, backward ? backward_room_bytes<N> : forward_room_bytes<N>,
                      lower_resident<N>::BLOCKS, N == 1 ? SECOND_LAUNCH : SECOND_LAUNCH_OF_16);
}

template <int N> static int lower_launches(const gsv_branches *branches, int backward) {
    return launches_of(lower_cut<N>(branches, backward));
}

/* For one group of right-hand sides, or for several. */
template <int N> static auto forward_kernel(bool side) {
    if constexpr (8 * N == GSV_SIDE_COLUMNS)
        if (side)
            return lower_forward_kernel<N, LOWER_WARPS, lower_resident<N>::BLOCKS, true>;
    return lower_forward_kernel<N, LOWER_WARPS, lower_resident<N>::BLOCKS, false>;
}

template <int N>
static cudaError_t lower_forward(const gsv_branches *branches, const gsv_device_plan *device,
                                 const gsv_device_vectors *vectors, int64_t fill, int nr,
                                 cudaStream_t stream) {
    const int splits = splits_of<N>(branches, nr);
    return launch_cut(lower_cut<N>(branches, false), branches->count, lower_resident<N>::BLOCKS,
                      splits * vectors->groups, [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(
                              forward_kernel<N>(vectors->groups > 1),
                              {int64_t(end - of.first) * splits, vectors->groups}, 32 * LOWER_WARPS,
                              size_t(bytes), stream, *device, static_cast<const double *>(vectors->y),
                              static_cast<double *>(vectors->x), static_cast<double *>(vectors->u), nr,
                              splits, fill_of(branches, vectors, fill, of.first, end), of);
                      });
}

template <int N>
static cudaError_t lower_backward(const gsv_branches *branches, const gsv_device_plan *device,
                                  const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
    const int splits = splits_of<N>(branches, nr);
    return launch_cut(lower_cut<N>(branches, true), branches->count, lower_resident<N>::BLOCKS, splits,
                      [&](int32_t end, int bytes, const branch_launch &of) {
                          return launch_allowed(
                              lower_backward_kernel<N, LOWER_WARPS, lower_resident<N>::BLOCKS>,
                              int64_t(end - of.first) * splits, 32 * LOWER_WARPS, size_t(bytes), stream,
                              *device, static_cast<const double *>(vectors->x),
                              static_cast<double *>(vectors->y), nr, splits, of);
                      });
}

template <int N> static cudaError_t lower_reserve(const gsv_branches *branches) {
    const size_t forward = size_t(most_bytes(branches, forward_room_bytes<N>));
    cudaError_t error = cudaSuccess;
    for (int side = 0; side <= (8 * N == GSV_SIDE_COLUMNS) && error == cudaSuccess; side++)
        error = allow_shared(reinterpret_cast<const void *>(forward_kernel<N>(side)), forward);
    return error != cudaSuccess
               ? error
               : allow_shared(reinterpret_cast<const void *>(
                                  lower_backward_kernel<N, LOWER_WARPS, lower_resident<N>::BLOCKS>),
                              size_t(most_bytes(branches, backward_room_bytes<N>)));
}

} // namespace gsv

int gsv_lower_launches(const gsv_branches *branches, int backward, int nr) {
    return nr == 8 ? gsv::lower_launches<1>(branches, backward) : gsv::lower_launches<2>(branches, backward);
}

cudaError_t gsv_lower_reserve(const gsv_branches *branches) {
    const cudaError_t error = gsv::lower_reserve<1>(branches);
    return error != cudaSuccess ? error : gsv::lower_reserve<2>(branches);
}

cudaError_t gsv_lower_forward(const gsv_branches *branches, const gsv_device_plan *device,
                              const gsv_device_vectors *vectors, int64_t fill, int nr, cudaStream_t stream) {
    return nr == 8 ? gsv::lower_forward<1>(branches, device, vectors, fill, nr, stream)
                   : gsv::lower_forward<2>(branches, device, vectors, fill, nr, stream);
}

cudaError_t gsv_lower_backward(const gsv_branches *branches, const gsv_device_plan *device,
                               const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
    return nr == 8 ? gsv::lower_backward<1>(branches, device, vectors, nr, stream)
                   : gsv::lower_backward<2>(branches, device, vectors, nr, stream);
}
