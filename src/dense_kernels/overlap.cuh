/* Kernels that begin while the one before them on the stream ends (programmatic dependent launch). */
#ifndef GSV_OVERLAP_CUH
#define GSV_OVERLAP_CUH

#include <cuda_runtime_api.h>

namespace gsv {

/* Everything that earlier kernels wrote is there afterwards. Each kernel launched by launch_overlapped calls
 * it before it touches memory that another kernel reads or writes, in every thread. */
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The next kernel may start, as far as there is room. */
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                              cudaStream_t stream, Arguments... arguments) {
    if (shared > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(
            reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
        if (error != cudaSuccess)
            return error;
    }
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(blocks));
    config.blockDim = dim3(unsigned(threads));
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

} // namespace gsv
#endif
