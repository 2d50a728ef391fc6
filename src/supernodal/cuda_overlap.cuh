/* Launches that begin while the one before ends. */
#ifndef GSV_CUDA_OVERLAP_CUH
#define GSV_CUDA_OVERLAP_CUH

namespace gsv {

/* Launch so that the kernel may begin while the one before it on the stream ends (wait_for_vectors). */
template <typename... Parameters, typename... Arguments>
cudaError_t launch_block(void (*kernel)(Parameters...), int64_t blocks, int block, size_t shared,
                         cudaStream_t stream, Arguments... arguments) {
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(blocks));
    config.blockDim = dim3(unsigned(block));
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

} // namespace gsv
#endif
