/* Launchers of cuda_pipe.cuh, apart from those of cuda_launch.cuh: their kernels are in double precision
 * alone, and take as long to compile as all others. */
#ifndef GSV_CUDA_PIPE_H
#define GSV_CUDA_PIPE_H

#include "cuda_sweep.cuh"

namespace gsv {

/* The wide supernodes of level k in one pass (part.turn): one launch on the stream. nr: 8, 16 or 32. */
cudaError_t launch_pipe_forward(const gsv_tiles *tiles, const gsv_device_plan &device,
                                const gsv_sweep_form &form, const gsv_device_vectors &vectors, int32_t k,
                                const wide_pass &turn, bool leaf, int nr, cudaStream_t stream);

/* part: its tasks are of the list pipe_backward. few: the narrow supernodes in the form FEW. */
cudaError_t launch_pipe_backward(const gsv_device_plan &device, const gsv_sweep_form &form,
                                 const gsv_device_vectors &vectors, const level_part &part, bool few, int nr,
                                 cudaStream_t stream);

/* Let the kernels have their shared memory on the current device. blocks: as many as it has SMs, or 0 if it
 * has too little of that. */
cudaError_t count_pipe_blocks(int *blocks);

} // namespace gsv
#endif
