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

gpusolve_status gsv_dense_check_side(gpusolve_handle *handle, gpusolve_side side) {
    return side == GPUSOLVE_LEFT || side == GPUSOLVE_RIGHT
               ? GPUSOLVE_OK
               : gsv_dense_invalid(handle, "side: is no gpusolve_side");
}

static gpusolve_status check_shape(gpusolve_handle *handle, const gsv_triangular *p, int64_t m, int64_t n) {
    gpusolve_status status = gsv_dense_check_side(handle, p->side);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_uplo(handle, p->uplo);
    if (status == GPUSOLVE_OK && p->trans != GPUSOLVE_NO_TRANS && p->trans != GPUSOLVE_TRANS &&
        p->trans != GPUSOLVE_CONJ_TRANS)
        status = gsv_dense_invalid(handle, "trans: is no gpusolve_trans");
    if (status == GPUSOLVE_OK && p->diag != GPUSOLVE_NON_UNIT && p->diag != GPUSOLVE_UNIT)
        status = gsv_dense_invalid(handle, "diag: is no gpusolve_diag");
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "m", m, 0);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "n", n, 0);
    return status;
}

/* Anywhere: host memory will do as well. */
static gpusolve_status check_operand(gpusolve_handle *handle, const char *name, const void *memory,
                                     int anywhere) {
    return anywhere && memory ? GPUSOLVE_OK : gsv_dense_check_operand(handle, name, memory);
}

gpusolve_status gsv_triangular_check(gpusolve_handle *handle, gsv_triangular *p, int64_t m, int64_t n,
                                     const gsv_number *alpha, int anywhere) {
    gpusolve_status status = check_shape(handle, p, m, n);
    if (status != GPUSOLVE_OK)
        return status;
    if (!alpha)
        return gsv_dense_invalid(handle, "alpha: is NULL");
    const int empty = m == 0 || n == 0, zero = alpha->re == 0 && alpha->im == 0;
    p->order = p->side == GPUSOLVE_LEFT ? m : n;
    p->vectors = p->side == GPUSOLVE_LEFT ? n : m;
    if (!empty && !zero)
        status = check_operand(handle, "A", p->a, anywhere);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "lda", p->lda, p->order > 1 ? p->order : 1);
    if (status == GPUSOLVE_OK && !empty)
        status = check_operand(handle, "B", p->b, anywhere);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "ldb", p->ldb, m > 1 ? m : 1);
    return status;
}

gsv_number gsv_number_at(gpusolve_dtype dtype, const void *number) {
    const float *single = number;
    const double *twice = number;
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return (gsv_number){single[0], 0};
    case GPUSOLVE_DOUBLE:
        return (gsv_number){twice[0], 0};
    case GPUSOLVE_COMPLEX_FLOAT:
        return (gsv_number){single[0], single[1]};
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return (gsv_number){twice[0], twice[1]};
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

gpusolve_status gsv_triangular_query(gpusolve_handle *handle, gsv_triangular p, const char *const names[2],
                                     int64_t m, int64_t n, size_t *bytes) {
    if (bytes)
        *bytes = 0;
    if (!handle)
        return GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_status status = gsv_dense_check_dtype(handle, p.dtype);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_side(handle, p.side);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, names[0], m, 0);
    if (status == GPUSOLVE_OK && names[1])
        status = gsv_dense_check_size(handle, names[1], n, 0);
    if (status == GPUSOLVE_OK && !bytes)
        status = gsv_dense_invalid(handle, "bytes: is NULL");
    if (status != GPUSOLVE_OK)
        return status;
    p.order = p.side == GPUSOLVE_LEFT ? m : n;
    p.vectors = p.side == GPUSOLVE_LEFT ? n : m;
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(handle->device);
        status = gsv_triangular_cuda_workspace(handle, &p, bytes);
        gsv_cuda_leave(previous);
    }
#endif
    return status;
}
