/* Launches of the kernels in cuda_sweep.cuh: the level-by-level sweeps, one level. */
#ifndef GSV_CUDA_LEVEL_LAUNCH_CUH
#define GSV_CUDA_LEVEL_LAUNCH_CUH

#include "../dense_kernels/overlap.cuh"
#include "cuda_sweep.cuh"

namespace gsv {

/* Blocks of BLOCK threads, which may begin while the kernel before them on the stream ends (wait_for_vectors).
 */
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), launch_grid blocks, size_t shared, cudaStream_t stream,
                   Arguments... arguments) {
    return launch_allowed(kernel, blocks, BLOCK, shared, stream, arguments...);
}

enum {
    FEW_SMALL = 264,
    FEW_TINY = 1056
}; /* two blocks of level_shape<FEW> an SM of an H200, and as many again */

/* The supernodes of level k that its launches are to solve. */
inline int32_t count_of(const gsv_supernode_list &list, bool branches, int32_t k) {
    const int64_t *ptr = branches ? list.outside : list.ptr;
    return int32_t(ptr[k + 1] - ptr[k]);
}

/* Where their nodes begin: with branches, the device has those outside alone. */
inline int64_t start_of(const gsv_supernode_list &list, bool branches, int32_t k) {
    return branches ? list.outside[k] : list.ptr[k];
}

/* Shared memory of the wide supernodes' tasks, in bytes: also of those that substitute. */
template <typename T, int NR> constexpr int forward_bytes() {
    constexpr int own = block_row_of<T, NR>::type::PARTIALS,
                  substitute = block_row<T, NR>::PARTIALS + 16 * NR;
    return (own > substitute ? own : substitute) * int(sizeof(T));
}

template <typename T, int NR> constexpr int backward_bytes() {
    if constexpr (on_tensor_cores<T, NR>::value)
        return backward_tensor_bytes<NR>() > stage<T, NR>::BYTES ? backward_tensor_bytes<NR>()
                                                                 : stage<T, NR>::BYTES;
    return stage<T, NR>::BYTES;
}

/* Level k's narrow supernodes and the tasks of one list, in the first pass. */
inline level_part part_of(const gsv_tiles *tiles, const gsv_device_plan &device, const gsv_sweep_form &form,
                          bool branches, int32_t k, const gsv_task_list &list, const gsv_task *tasks) {
    level_part part;
    part.small = device.small + start_of(tiles->small, branches, k);
    part.small_count = count_of(tiles->small, branches, k);
    part.tiny = device.tiny + start_of(tiles->tiny, branches, k);
    part.tiny_count = count_of(tiles->tiny, branches, k);
    part.tasks = tasks + list.ptr[k];
    part.task_count = int32_t(list.ptr[k + 1] - list.ptr[k]);
    part.turn = wide_pass{0, form.passes[k]};
    part.leaf = k == 0;
    return part;
}

inline kernel_mode mode_of(const gsv_sweep_form &form, const level_part &part) {
    if (form.substitute)
        return SUBSTITUTE;
    return part.small_count <= FEW_SMALL && part.tiny_count <= FEW_TINY ? FEW : MANY;
}

template <kernel_mode MODE> int64_t blocks_of(const level_part &part) {
    return int64_t(part.task_count) + blocks_for<level_shape<MODE>::SMALL>(part.small_count) +
           blocks_for<level_shape<MODE>::TINY>(part.tiny_count);
}

template <typename T, int NR, kernel_mode MODE>
cudaError_t forward_level(const gsv_plan *plan, const gsv_device_plan &device,
                          const gsv_device_vectors &vectors, int32_t k, const level_part &part,
                          cudaStream_t stream) {
    T *y = static_cast<T *>(vectors.y), *x = static_cast<T *>(vectors.x), *u = static_cast<T *>(vectors.u);
    if (blocks_of<MODE>(part) > 0) {
        const cudaError_t error = launch(forward_first_kernel<T, NR, MODE>, blocks_of<MODE>(part), 0, stream,
                                         device, y, x, u, part);
        if (error != cudaSuccess)
            return error;
    }
    const gsv_task_list &list = plan->tiles->forward;
    if (list.ptr[k] == list.ptr[k + 1])
        return cudaSuccess;
    cudaError_t error = cudaSuccess;
    wide_pass turn = part.turn;
    for (; turn.pass < turn.passes && error == cudaSuccess; turn.pass++)
        error = launch(forward_wide_kernel<T, NR, MODE == SUBSTITUTE>, list.ptr[k + 1] - list.ptr[k],
                       forward_bytes<T, NR>(), stream, device, y, x, u, device.forward + list.ptr[k], turn,
                       part.leaf);
    return error;
}

template <typename T, int NR, kernel_mode MODE>
cudaError_t backward_level(const gsv_device_plan &device, const gsv_device_vectors &vectors, level_part part,
                           cudaStream_t stream) {
    const T *x = static_cast<const T *>(vectors.x);
    T *y = static_cast<T *>(vectors.y);
    cudaError_t error = cudaSuccess;
    do {
        error = launch(backward_kernel<T, NR, MODE>, blocks_of<MODE>(part),
                       part.task_count > 0 ? backward_bytes<T, NR>() : 0, stream, device, x, y, part);
        part.small_count = part.tiny_count = 0; /* the first pass solved them */
    } while (error == cudaSuccess && ++part.turn.pass < part.turn.passes);
    return error;
}

} // namespace gsv
#endif
