/*
 * op(A) x = b with host pointers: CBLAS's own trsv. The prototypes are the reference CBLAS's with 32-bit
 * integers; its enumerations are ints. They stand here because cblas.h has no one place or name among the
 * libraries.
 */
#include "trsv.h"

#include "../handle.h"

#ifdef GPUSOLVE_WITH_CBLAS

enum { COL_MAJOR = 102, NO_TRANS = 111, UPPER = 121, LOWER = 122, NON_UNIT = 131 };

extern void cblas_strsv(int order, int uplo, int trans, int diag, int n, const float *a, int lda, float *x,
                        int incx);
extern void cblas_dtrsv(int order, int uplo, int trans, int diag, int n, const double *a, int lda, double *x,
                        int incx);
extern void cblas_ctrsv(int order, int uplo, int trans, int diag, int n, const void *a, int lda, void *x,
                        int incx);
extern void cblas_ztrsv(int order, int uplo, int trans, int diag, int n, const void *a, int lda, void *x,
                        int incx);

gpusolve_status gsv_trsv_blas(gpusolve_handle *handle, const gsv_trsv *p) {
    (void)handle;
    const int uplo = p->uplo == GPUSOLVE_LOWER ? LOWER : UPPER, trans = NO_TRANS + (int)p->trans;
    const int diag = NON_UNIT + (int)p->diag, n = (int)p->n, lda = (int)p->lda, incx = (int)p->incx;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        cblas_strsv(COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_DOUBLE:
        cblas_dtrsv(COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        cblas_ctrsv(COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        cblas_ztrsv(COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    }
    return GPUSOLVE_OK;
}

#else

gpusolve_status gsv_trsv_blas(gpusolve_handle *handle, const gsv_trsv *p) {
    (void)p;
    return gsv_fail(&handle->message, GPUSOLVE_NOT_SUPPORTED,
                    "dense calls on the host: this build has no CBLAS");
}

#endif
