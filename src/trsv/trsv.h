/* One triangular solve with one vector, op(A) x = b, as the backends take it: every argument checked. */
#ifndef GSV_TRSV_H
#define GSV_TRSV_H

#include "gpusolve_dense.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsv_trsv {
    gpusolve_dtype dtype;
    gpusolve_uplo uplo;
    gpusolve_trans trans;
    gpusolve_diag diag;
    int64_t n; /* > 0 */
    const void *a;
    int64_t lda;
    void *x;
    int64_t incx;
} gsv_trsv;

/* trsv.c: what a caller passed, in the order of declaration: uplo .. lda, then x and incx. reads_a: the solve
 * reads A, so that x must not overlap it. */
gpusolve_status gsv_trsv_check_matrix(gpusolve_handle *handle, const gsv_trsv *p);
gpusolve_status gsv_trsv_check_vector(gpusolve_handle *handle, const gsv_trsv *p, int reads_a);

/* trsv_blas.c: host pointers, to CBLAS. GPUSOLVE_NOT_SUPPORTED in a build without one. */
gpusolve_status gsv_trsv_blas(gpusolve_handle *handle, const gsv_trsv *p);

/* trsv_cuda.c: device pointers, on the handle's stream; the handle's device is current. */
gpusolve_status gsv_trsv_cuda(gpusolve_handle *handle, const gsv_trsv *p);

#ifdef __cplusplus
}
#endif
#endif
