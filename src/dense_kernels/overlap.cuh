/* Kernels that begin while the one before them on the stream ends (programmatic dependent launch). */
#ifndef GSV_OVERLAP_CUH
#define GSV_OVERLAP_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

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

/* Bytes. An asynchronous copy, by eight threads or in bulk, of a line of memory to what is not a line of shared
 * memory writes two. Dynamic shared memory begins with one only if it says so: it stands behind the static. */
enum { SHARED_LINE = 128 };

/* Bytes of shared memory that an H200's SM has, and that it keeps for each block. */
enum { SHARED_OF_SM = 228 << 10, SHARED_OF_BLOCK = 1 << 10 };

/* Let a kernel have all shared memory of the device: no less than `bytes` a block. Always all of it, so that
 * no thread takes from another what a larger problem of that thread is to be launched with. */
inline cudaError_t allow_shared(const void *kernel, size_t bytes) {
    int device = 0, most = 0;
    cudaFuncAttributes own;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&own, kernel);
    if (error != cudaSuccess)
        return error;
    if (bytes + own.sharedSizeBytes > size_t(most))
        return cudaErrorInvalidValue;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                most - int(own.sharedSizeBytes));
}

/* This number of blocks, and as many again for each of the others of some groups. */
struct launch_grid {
    int64_t blocks;
    int groups;
    launch_grid(int64_t blocks, int groups = 1) : blocks(blocks), groups(groups) {}
};

/* Launch so that the kernel may begin early. More than 48 KB of shared memory has been allowed before. */
template <typename... Parameters, typename... Arguments>
cudaError_t launch_allowed(void (*kernel)(Parameters...), launch_grid grid, int threads, size_t shared,
                           cudaStream_t stream, Arguments... arguments) {
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(grid.blocks), unsigned(grid.groups));
    config.blockDim = dim3(unsigned(threads));
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

/* The same, with any shared memory that the device has. */
template <typename... Parameters, typename... Arguments>
cudaError_t launch_overlapped(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared,
                              cudaStream_t stream, Arguments... arguments) {
    if (shared > 48 * 1024) {
        const cudaError_t error = allow_shared(reinterpret_cast<const void *>(kernel), shared);
        if (error != cudaSuccess)
            return error;
    }
    return launch_allowed(kernel, blocks, threads, shared, stream, arguments...);
}

} // namespace gsv
#endif
