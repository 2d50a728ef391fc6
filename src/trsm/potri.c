/* gpusolve_?potri: A := inv(L L') with L from A's lower triangle, or inv(U' U) with U from its upper one. */
#include "potri.h"

#include "dense_checks.h"

#ifdef GPUSOLVE_WITH_CUDA
#include "../device.h"
#endif

static gpusolve_status call(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo, int64_t n,
                            void *A, int64_t lda, gsv_workspace_argument workspace) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_dense_check_uplo(handle, uplo);
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_size(handle, "n", n, 0);
    if (status == GPUSOLVE_OK)
        status =
            gsv_dense_check_matrix(handle, dtype, &(gsv_matrix_argument){"A", "lda", A, n, n, lda, n > 0, 0});
    if (status == GPUSOLVE_OK)
        status = gsv_dense_check_workspace(handle, workspace);
    if (status == GPUSOLVE_OK && n > 0) {
        const gsv_bytes_triangle a = gsv_dense_triangle(dtype, A, n, lda, uplo, GPUSOLVE_NON_UNIT);
        const gsv_bytes_block scratch = gsv_dense_scratch(workspace);
        status = gsv_dense_check_apart(handle, "workspace", &scratch, &a);
    }
    if (status != GPUSOLVE_OK || n == 0)
        return status;
    const gsv_inverse_problem p = {dtype, uplo, n, A, lda};
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(handle->device);
        status = gsv_inverse_cuda(handle, &p, workspace.memory, workspace.bytes);
        gsv_cuda_leave(previous);
        return status;
    }
#endif
    return gsv_inverse_host(handle, &p);
}

gpusolve_status gpusolve_potri_workspace(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t n,
                                         size_t *bytes) {
    static const char *const sizes[2] = {"n", NULL};
    /* the largest product of the recursion: at most n rows and half as many vectors or the other way round */
    const gsv_triangular p = {.operation = GSV_MULTIPLY, .dtype = dtype, .side = GPUSOLVE_LEFT};
    return gsv_triangular_query(handle, p, sizes, n, n, bytes);
}

gpusolve_status gpusolve_spotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, float *A, int64_t lda,
                                void *workspace, size_t workspace_bytes) {
    return call(handle, GPUSOLVE_FLOAT, uplo, n, A, lda,
                (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_dpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, double *A,
                                int64_t lda, void *workspace, size_t workspace_bytes) {
    return call(handle, GPUSOLVE_DOUBLE, uplo, n, A, lda,
                (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_cpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, void *A, int64_t lda,
                                void *workspace, size_t workspace_bytes) {
    return call(handle, GPUSOLVE_COMPLEX_FLOAT, uplo, n, A, lda,
                (gsv_workspace_argument){workspace, workspace_bytes});
}

gpusolve_status gpusolve_zpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, void *A, int64_t lda,
                                void *workspace, size_t workspace_bytes) {
    return call(handle, GPUSOLVE_COMPLEX_DOUBLE, uplo, n, A, lda,
                (gsv_workspace_argument){workspace, workspace_bytes});
}
