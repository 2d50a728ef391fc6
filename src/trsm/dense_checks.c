#include "dense_checks.h"

#include <limits.h>

#ifdef GPUSOLVE_WITH_CUDA
#include "../device.h"
#endif

gpusolve_status gsv_dense_invalid(gpusolve_handle *handle, const char *text) {
    return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s", text);
}

gpusolve_status gsv_dense_check_operand(gpusolve_handle *handle, const char *name, gpusolve_dtype dtype,
                                        const void *memory, int anywhere) {
    if (!memory)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    const int is_complex = gsv_is_complex(dtype);
    int64_t alignment = gsv_number_bytes(dtype) / (is_complex ? 2 : 1);
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        int where = GSV_PAGEABLE;
        const int previous = gsv_cuda_enter(handle->device);
        const gpusolve_status status =
            gsv_cuda_check_pointer(handle->device, name, memory, &where, &handle->message);
        gsv_cuda_leave(previous);
        if (status != GPUSOLVE_OK)
            return status;
        const int on_device = where == GSV_ON_DEVICE || where == GSV_MANAGED;
        if (!on_device && !anywhere)
            return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not in device memory", name);
        if (on_device)
            alignment = gsv_number_bytes(dtype);
    }
#else
    (void)anywhere;
#endif
    if ((uintptr_t)memory % (uintptr_t)alignment != 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not aligned to %lld bytes", name,
                        (long long)alignment);
    return GPUSOLVE_OK;
}

gsv_bytes_block gsv_dense_block(gpusolve_dtype dtype, const void *memory, int64_t rows, int64_t columns,
                                int64_t ld) {
    const uint64_t number = (uint64_t)gsv_number_bytes(dtype);
    return (gsv_bytes_block){memory, (uint64_t)rows * number, (uint64_t)ld * number, (uint64_t)columns};
}

gsv_bytes_triangle gsv_dense_triangle(gpusolve_dtype dtype, const void *memory, int64_t n, int64_t ld,
                                      gpusolve_uplo uplo, gpusolve_diag diag) {
    const uint64_t number = (uint64_t)gsv_number_bytes(dtype);
    return (gsv_bytes_triangle){.start = memory,
                                .number = number,
                                .pitch = (uint64_t)ld * number,
                                .n = (uint64_t)n,
                                .lower = uplo == GPUSOLVE_LOWER,
                                .unit = diag == GPUSOLVE_UNIT};
}

gpusolve_status gsv_dense_check_apart(gpusolve_handle *handle, const char *name,
                                      const gsv_bytes_block *operand, const gsv_bytes_triangle *a) {
    return gsv_triangle_overlaps(a, operand)
               ? gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: overlaps A", name)
               : GPUSOLVE_OK;
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

gpusolve_status gsv_dense_check_matrix(gpusolve_handle *handle, gpusolve_dtype dtype,
                                       const gsv_matrix_argument *matrix) {
    const int64_t rows = matrix->rows;
    gpusolve_status status = GPUSOLVE_OK;
    if (matrix->is_used)
        status =
            gsv_dense_check_operand(handle, matrix->name, dtype, matrix->memory, matrix->may_be_anywhere);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, matrix->ld_name, matrix->ld, rows > 1 ? rows : 1);
    const gsv_bytes_block bytes = gsv_dense_block(dtype, matrix->memory, rows, matrix->columns, matrix->ld);
    if (status == GPUSOLVE_OK && matrix->is_used && !gsv_block_is_addressable(&bytes))
        status = gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "%s: %s ends beyond 64-bit addresses",
                          matrix->ld_name, matrix->name);
    return status;
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
    return gsv_dense_check_operand(handle, "workspace", GPUSOLVE_FLOAT, workspace.memory, 0);
}

gsv_bytes_block gsv_dense_scratch(gsv_workspace_argument workspace) {
    return (gsv_bytes_block){workspace.memory, workspace.bytes, 0, 1};
}

static gpusolve_status check_side(gpusolve_handle *handle, gpusolve_side side) {
    return side == GPUSOLVE_LEFT || side == GPUSOLVE_RIGHT
               ? GPUSOLVE_OK
               : gsv_dense_invalid(handle, "side: is no gpusolve_side");
}

gpusolve_status gsv_dense_check_shape(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                      gpusolve_diag diag) {
    gpusolve_status status = gsv_dense_check_uplo(handle, uplo);
    if (status == GPUSOLVE_OK && trans != GPUSOLVE_NO_TRANS && trans != GPUSOLVE_TRANS &&
        trans != GPUSOLVE_CONJ_TRANS)
        status = gsv_dense_invalid(handle, "trans: is no gpusolve_trans");
    if (status == GPUSOLVE_OK && diag != GPUSOLVE_NON_UNIT && diag != GPUSOLVE_UNIT)
        status = gsv_dense_invalid(handle, "diag: is no gpusolve_diag");
    return status;
}

static gsv_bytes_block vectors_of(const gsv_triangular *p) {
    const int left = p->side == GPUSOLVE_LEFT;
    return gsv_dense_block(p->dtype, p->b, left ? p->order : p->vectors, left ? p->vectors : p->order,
                           p->ldb);
}

gpusolve_status gsv_triangular_check_operands(gpusolve_handle *handle, const gsv_triangular *p, int reads_a,
                                              int anywhere) {
    const int left = p->side == GPUSOLVE_LEFT, empty = p->order == 0 || p->vectors == 0;
    const gsv_matrix_argument a = {"A", "lda", p->a, p->order, p->order, p->lda, reads_a && !empty, anywhere};
    const gsv_matrix_argument b = {
        "B",    "ldb",  p->b,    left ? p->order : p->vectors, left ? p->vectors : p->order,
        p->ldb, !empty, anywhere};
    const gpusolve_status status = gsv_dense_check_matrix(handle, p->dtype, &a);
    return status == GPUSOLVE_OK ? gsv_dense_check_matrix(handle, p->dtype, &b) : status;
}

gpusolve_status gsv_triangular_check(gpusolve_handle *handle, gsv_triangular *p, int64_t m, int64_t n,
                                     const gsv_number *alpha, int anywhere) {
    gpusolve_status status = check_side(handle, p->side);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_shape(handle, p->uplo, p->trans, p->diag);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "m", m, 0);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "n", n, 0);
    if (status != GPUSOLVE_OK)
        return status;
    if (!alpha)
        return gsv_dense_invalid(handle, "alpha: is NULL");
    p->order = p->side == GPUSOLVE_LEFT ? m : n;
    p->vectors = p->side == GPUSOLVE_LEFT ? n : m;
    return gsv_triangular_check_operands(handle, p, !gsv_is_zero(*alpha), anywhere);
}

gpusolve_status gsv_triangular_check_apart(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                           gsv_workspace_argument workspace) {
    const gsv_bytes_triangle a = gsv_dense_triangle(p->dtype, p->a, p->order, p->lda, p->uplo, p->diag);
    const gsv_bytes_block b = vectors_of(p), scratch = gsv_dense_scratch(workspace);
    gpusolve_status status = GPUSOLVE_OK;
    if (p->order == 0 || p->vectors == 0)
        return status;
    if (!gsv_is_zero(alpha))
        status = gsv_dense_check_apart(handle, "B", &b, &a);
    if (status == GPUSOLVE_OK && gsv_blocks_overlap(&scratch, &b))
        status = gsv_dense_invalid(handle, "workspace: overlaps B");
    if (status == GPUSOLVE_OK && !gsv_is_zero(alpha))
        status = gsv_dense_check_apart(handle, "workspace", &scratch, &a);
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
    GSV_ENTER(handle);
    gpusolve_status status = gsv_dense_check_dtype(handle, p.dtype);
    if (status == GPUSOLVE_OK)
        status = check_side(handle, p.side);
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
