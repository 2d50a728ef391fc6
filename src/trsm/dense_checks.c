#include "dense_checks.h"

#include <limits.h>

#ifdef GPUSOLVE_WITH_CUDA
#include "../device.h"
#endif

gpusolve_status gsv_dense_invalid(gpusolve_handle *handle, const char *text) {
    return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s", text);
}

gpusolve_status gsv_dense_check_operand(gpusolve_handle *handle, const char *name, const void *memory) {
    if (!memory)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA && !gsv_cuda_is_device(memory))
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not in device memory", name);
#endif
    return GPUSOLVE_OK;
}

gpusolve_status gsv_dense_check_size(gpusolve_handle *handle, const char *name, int64_t value,
                                     int64_t least) {
    if (value < least)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: %lld, must be at least %lld", name,
                        (long long)value, (long long)least);
    if (value > INT_MAX)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "%s: %lld, more than 2^31 - 1", name,
                        (long long)value);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_dense_check_uplo(gpusolve_handle *handle, gpusolve_uplo uplo) {
    return uplo == GPUSOLVE_LOWER || uplo == GPUSOLVE_UPPER
               ? GPUSOLVE_OK
               : gsv_dense_invalid(handle, "uplo: is neither GPUSOLVE_LOWER nor GPUSOLVE_UPPER");
}

gpusolve_status gsv_dense_check_dtype(gpusolve_handle *handle, gpusolve_dtype dtype) {
    return (int)dtype >= GPUSOLVE_FLOAT && (int)dtype <= GPUSOLVE_COMPLEX_DOUBLE
               ? GPUSOLVE_OK
               : gsv_dense_invalid(handle, "dtype: is no gpusolve_dtype");
}

gpusolve_status gsv_dense_check_workspace(gpusolve_handle *handle, gsv_workspace_argument workspace) {
    if (workspace.bytes > 0 && !workspace.memory)
        return gsv_dense_invalid(handle, "workspace: is NULL, but workspace_bytes is not 0");
    if (!workspace.memory || handle->backend == GPUSOLVE_BACKEND_HOST)
        return GPUSOLVE_OK;
    if ((uintptr_t)workspace.memory % 256 != 0)
        return gsv_dense_invalid(handle, "workspace: is not aligned to 256 bytes");
    return gsv_dense_check_operand(handle, "workspace", workspace.memory);
}

gpusolve_status gsv_triangular_dispatch(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                        gsv_workspace_argument workspace) {
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(handle->device);
        const gpusolve_status status =
            gsv_triangular_cuda(handle, p, alpha, workspace.memory, workspace.bytes);
        gsv_cuda_leave(previous);
        return status;
    }
#endif
    (void)workspace;
    return gsv_triangular_host(handle, p, alpha);
}

gpusolve_status gsv_triangular_query(gpusolve_handle *handle, const gsv_triangular *p, size_t *bytes) {
    *bytes = 0;
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(handle->device);
        const gpusolve_status status = gsv_triangular_cuda_workspace(handle, p, bytes);
        gsv_cuda_leave(previous);
        return status;
    }
#endif
    (void)handle;
    (void)p;
    return GPUSOLVE_OK;
}
