/* gpusolve_?trsv:  op(A) x = b, in place. Arguments are checked here, for both backends. */
#include "trsv.h"

#include <limits.h>

#include "../trsm/dense_checks.h"

#ifdef GPUSOLVE_WITH_CUDA
#include "../device.h"
#include "trsv_cuda.h"
#endif

gpusolve_status gsv_trsv_check_matrix(gpusolve_handle *handle, const gsv_trsv *p) {
    gpusolve_status status = gsv_dense_check_shape(handle, p->uplo, p->trans, p->diag);
    if (!status)
        status = gsv_dense_check_size(handle, "n", p->n, 0);
    if (!status)
        status = gsv_dense_check_matrix(
            handle, p->dtype, &(gsv_matrix_argument){"A", "lda", p->a, p->n, p->n, p->lda, p->n > 0, 0});
    return status;
}

gpusolve_status gsv_trsv_check_vector(gpusolve_handle *handle, const gsv_trsv *p, int reads_a) {
    const gpusolve_status status =
        p->n > 0 ? gsv_dense_check_operand(handle, "x", p->dtype, p->x, 0) : GPUSOLVE_OK;
    if (status)
        return status;
    if (p->incx == 0)
        return gsv_dense_invalid(handle, "incx: is 0");
    if (p->incx > INT_MAX || p->incx < -INT_MAX)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "incx: %lld, its size is more than 2^31 - 1",
                        (long long)p->incx);
    const gsv_bytes_block x = gsv_dense_block(p->dtype, p->x, 1, p->n, p->incx < 0 ? -p->incx : p->incx);
    if (!gsv_block_is_addressable(&x))
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "incx: %lld, x ends beyond 64-bit addresses",
                        (long long)p->incx);
    const gsv_bytes_triangle a = gsv_dense_triangle(p->dtype, p->a, p->n, p->lda, p->uplo, p->diag);
    return reads_a ? gsv_dense_check_apart(handle, "x", &x, &a) : GPUSOLVE_OK;
}

static gpusolve_status solve(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo,
                             gpusolve_trans trans, gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                             void *x, int64_t incx) {
    GSV_ENTER(handle);
    const gsv_trsv p = {dtype, uplo, trans, diag, n, A, lda, x, incx};
    gpusolve_status status = gsv_trsv_check_matrix(handle, &p);
#ifdef GPUSOLVE_WITH_CUDA
    if (!status && handle->backend == GPUSOLVE_BACKEND_CUDA)
        status = gsv_trsv_cuda_check(handle, &p);
#endif
    if (!status)
        status = gsv_trsv_check_vector(handle, &p, 1);
    if (status || n == 0)
        return status;
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA) {
        const int previous = gsv_cuda_enter(handle->device);
        status = gsv_trsv_cuda(handle, &p);
        gsv_cuda_leave(previous);
        return status;
    }
#endif
    return gsv_trsv_blas(handle, &p);
}

gpusolve_status gpusolve_strsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                               gpusolve_diag diag, int64_t n, const float *A, int64_t lda, float *x,
                               int64_t incx) {
    return solve(handle, GPUSOLVE_FLOAT, uplo, trans, diag, n, A, lda, x, incx);
}

gpusolve_status gpusolve_dtrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                               gpusolve_diag diag, int64_t n, const double *A, int64_t lda, double *x,
                               int64_t incx) {
    return solve(handle, GPUSOLVE_DOUBLE, uplo, trans, diag, n, A, lda, x, incx);
}

gpusolve_status gpusolve_ctrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                               gpusolve_diag diag, int64_t n, const void *A, int64_t lda, void *x,
                               int64_t incx) {
    return solve(handle, GPUSOLVE_COMPLEX_FLOAT, uplo, trans, diag, n, A, lda, x, incx);
}

gpusolve_status gpusolve_ztrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                               gpusolve_diag diag, int64_t n, const void *A, int64_t lda, void *x,
                               int64_t incx) {
    return solve(handle, GPUSOLVE_COMPLEX_DOUBLE, uplo, trans, diag, n, A, lda, x, incx);
}
