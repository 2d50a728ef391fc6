/* Launchers of cuda_pipe.cuh: cuda_pipe.h. */
#include "cuda_pipe.h"

#include "cuda_overlap.cuh"
#include "cuda_pipe.cuh"

namespace gsv {

template <int NR>
static cudaError_t forward(const gsv_tiles *tiles, const gsv_device_plan &device, const gsv_sweep_form &form,
                           const gsv_device_vectors &vectors, int32_t k, const wide_pass &turn, bool leaf,
                           cudaStream_t stream) {
    const gsv_task_list &piped = tiles->pipe_forward, &narrower = tiles->pipe_tiles;
    const int count = int(piped.ptr[k + 1] - piped.ptr[k]);
    const int pipes = count < form.pipe_blocks ? count : form.pipe_blocks;
    return launch_block(pipe_forward_kernel<NR>, pipes + narrower.ptr[k + 1] - narrower.ptr[k], PIPE_BLOCK,
                        count > 0 ? pipe_bytes<forward_pipe<NR>>() : 0, stream, device,
                        static_cast<double *>(vectors.y), static_cast<double *>(vectors.x),
                        static_cast<double *>(vectors.u), device.pipe_forward + piped.ptr[k], count, pipes,
                        device.pipe_tiles + narrower.ptr[k], turn, leaf);
}

template <int NR, kernel_mode MODE>
static cudaError_t backward(const gsv_device_plan &device, const gsv_sweep_form &form,
                            const gsv_device_vectors &vectors, const level_part &part, cudaStream_t stream) {
    const int pipes = part.task_count < form.pipe_blocks ? part.task_count : form.pipe_blocks;
    return launch_block(pipe_backward_kernel<NR, MODE>,
                        pipes + blocks_for<level_shape<MODE>::SMALL, GSV_PIPE_WARPS>(part.small_count) +
                            blocks_for<level_shape<MODE>::TINY, GSV_PIPE_WARPS>(part.tiny_count),
                        PIPE_BLOCK, pipe_bytes<backward_pipe<NR>>(), stream, device,
                        static_cast<const double *>(vectors.x), static_cast<double *>(vectors.y), part,
                        pipes);
}

template <int NR> static cudaError_t reserve(int most, bool *fits) {
    most -= int(sizeof(pipe_tasks)); /* static */
    *fits = *fits && pipe_bytes<forward_pipe<NR>>() <= most && pipe_bytes<backward_pipe<NR>>() <= most;
    if (!*fits)
        return cudaSuccess;
    const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaError_t error =
        cudaFuncSetAttribute(pipe_forward_kernel<NR>, attribute, pipe_bytes<forward_pipe<NR>>());
    if (error == cudaSuccess)
        error =
            cudaFuncSetAttribute(pipe_backward_kernel<NR, MANY>, attribute, pipe_bytes<backward_pipe<NR>>());
    if (error == cudaSuccess)
        error =
            cudaFuncSetAttribute(pipe_backward_kernel<NR, FEW>, attribute, pipe_bytes<backward_pipe<NR>>());
    return error;
}

cudaError_t launch_pipe_forward(const gsv_tiles *tiles, const gsv_device_plan &device,
                                const gsv_sweep_form &form, const gsv_device_vectors &vectors, int32_t k,
                                const wide_pass &turn, bool leaf, int nr, cudaStream_t stream) {
    return nr == 8    ? forward<8>(tiles, device, form, vectors, k, turn, leaf, stream)
           : nr == 16 ? forward<16>(tiles, device, form, vectors, k, turn, leaf, stream)
                      : forward<32>(tiles, device, form, vectors, k, turn, leaf, stream);
}

cudaError_t launch_pipe_backward(const gsv_device_plan &device, const gsv_sweep_form &form,
                                 const gsv_device_vectors &vectors, const level_part &part, bool few, int nr,
                                 cudaStream_t stream) {
    if (few)
        return nr == 8    ? backward<8, FEW>(device, form, vectors, part, stream)
               : nr == 16 ? backward<16, FEW>(device, form, vectors, part, stream)
                          : backward<32, FEW>(device, form, vectors, part, stream);
    return nr == 8    ? backward<8, MANY>(device, form, vectors, part, stream)
           : nr == 16 ? backward<16, MANY>(device, form, vectors, part, stream)
                      : backward<32, MANY>(device, form, vectors, part, stream);
}

cudaError_t count_pipe_blocks(int *blocks) {
    int device = 0, most = 0, processors = 0;
    bool fits = true;
    *blocks = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = reserve<8>(most, &fits);
    if (error == cudaSuccess)
        error = reserve<16>(most, &fits);
    if (error == cudaSuccess)
        error = reserve<32>(most, &fits);
    if (error == cudaSuccess && fits)
        *blocks = processors;
    return error;
}

} // namespace gsv
