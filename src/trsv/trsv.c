/* gpusolve_?trsv:  op(A) x = b, in place. Arguments are checked here, for both backends. */
#include "trsv.h"

#include "../handle.h"

#include <limits.h>

#ifdef GPUSOLVE_WITH_CUDA
#include "../device.h"
#endif

static gpusolve_status invalid(gpusolve_handle *handle, const char *text) {
    return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s", text);
}

static gpusolve_status check_memory(gpusolve_handle *handle, const char *name, gpusolve_dtype dtype,
                                    const void *memory) {
#ifdef GPUSOLVE_WITH_CUDA
    static const unsigned number_bytes[4] = {4, 8, 8, 16};
#else
    (void)dtype;
#endif
    if (!memory)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s is NULL", name);
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA && !gsv_cuda_is_device(memory))
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s is not in device memory", name);
    if (handle->backend == GPUSOLVE_BACKEND_CUDA && (uintptr_t)memory % number_bytes[dtype] != 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s is not aligned to its numbers",
                        name);
#endif
    return GPUSOLVE_OK;
}

gpusolve_status gsv_trsv_check_matrix(gpusolve_handle *handle, const gsv_trsv *p) {
    if (p->uplo != GPUSOLVE_LOWER && p->uplo != GPUSOLVE_UPPER)
        return invalid(handle, "uplo is neither GPUSOLVE_LOWER nor GPUSOLVE_UPPER");
    if (p->trans != GPUSOLVE_NO_TRANS && p->trans != GPUSOLVE_TRANS && p->trans != GPUSOLVE_CONJ_TRANS)
        return invalid(handle, "trans is no gpusolve_trans");
    if (p->diag != GPUSOLVE_NON_UNIT && p->diag != GPUSOLVE_UNIT)
        return invalid(handle, "diag is no gpusolve_diag");
    if (p->n < 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "n = %lld is negative", (long long)p->n);
    if (p->n > INT_MAX)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "n = %lld is more than 2^31 - 1",
                        (long long)p->n);
    gpusolve_status status = p->n > 0 ? check_memory(handle, "A", p->dtype, p->a) : GPUSOLVE_OK;
    if (status)
        return status;
    if (p->lda < 1 || p->lda < p->n)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "lda = %lld is less than max(1, n)",
                        (long long)p->lda);
    if (p->lda > INT_MAX)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "lda = %lld is more than 2^31 - 1",
                        (long long)p->lda);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_trsv_check_vector(gpusolve_handle *handle, const gsv_trsv *p) {
    const gpusolve_status status = p->n > 0 ? check_memory(handle, "x", p->dtype, p->x) : GPUSOLVE_OK;
    if (status)
        return status;
    if (p->incx == 0)
        return invalid(handle, "incx is 0");
    if (p->incx > INT_MAX || p->incx < -INT_MAX)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "incx = %lld is more than 2^31 - 1",
                        (long long)p->incx);
    return GPUSOLVE_OK;
}

static gpusolve_status solve(gpusolve_handle *handle, gpusolve_dtype dtype, gpusolve_uplo uplo,
                             gpusolve_trans trans, gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                             void *x, int64_t incx) {
    if (!handle)
        return GPUSOLVE_INVALID_ARGUMENT;
    const gsv_trsv p = {dtype, uplo, trans, diag, n, A, lda, x, incx};
    gpusolve_status status = gsv_trsv_check_matrix(handle, &p);
    if (!status)
        status = gsv_trsv_check_vector(handle, &p);
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
