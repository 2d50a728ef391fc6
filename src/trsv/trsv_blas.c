/*
 * op(A) x = b with host pointers: CBLAS's own trsv.
 *
 * A CBLAS may count from one end of x to the other in 32 bits, and OpenBLAS does so if incx < 0: its pointer is
 * then 2^32 numbers off. A vector that is longer than that goes through a copy without gaps.
 */
#include "trsv.h"

#include <limits.h>
#include <string.h>

#include "../cblas.h"
#include "../memory.h"
#include "../trsm/dense_checks.h"

static void solve(const gsv_cblas *blas, const gsv_trsv *p) {
    const int uplo = p->uplo == GPUSOLVE_LOWER ? GSV_LOWER : GSV_UPPER, trans = GSV_NO_TRANS + (int)p->trans;
    const int diag = GSV_NON_UNIT + (int)p->diag, n = (int)p->n, lda = (int)p->lda, incx = (int)p->incx;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        blas->strsv(GSV_COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_DOUBLE:
        blas->dtrsv(GSV_COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        blas->ctrsv(GSV_COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        blas->ztrsv(GSV_COL_MAJOR, uplo, trans, diag, n, p->a, lda, p->x, incx);
        break;
    }
}

/* From x to `packed` or back; component i is at x[i |incx|], counted from the end if incx < 0. */
static void copy(const gsv_trsv *p, char *packed, int back) {
    const size_t number = (size_t)gsv_number_bytes(p->dtype);
    const size_t step = (size_t)(p->incx < 0 ? -p->incx : p->incx) * number;
    for (size_t i = 0; i < (size_t)p->n; i++) {
        char *x = (char *)p->x + i * step;
        memcpy(back ? x : packed + i * number, back ? packed + i * number : x, number);
    }
}

gpusolve_status gsv_trsv_blas(gpusolve_handle *handle, const gsv_trsv *p) {
    const gsv_cblas *blas;
    const gpusolve_status status = gsv_cblas_open(&blas, &handle->message);
    if (status != GPUSOLVE_OK)
        return status;
    const int64_t step = p->incx < 0 ? -p->incx : p->incx;
    if ((p->n - 1) * step < INT_MAX / 2) { /* complex numbers may be counted twice */
        solve(blas, p);
        return GPUSOLVE_OK;
    }
    char *packed = gsv_malloc((size_t)p->n, (size_t)gsv_number_bytes(p->dtype));
    if (!packed)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for TRSV");
    gsv_trsv dense = *p;
    dense.x = packed;
    dense.incx = p->incx < 0 ? -1 : 1;
    copy(p, packed, 0);
    solve(blas, &dense);
    copy(p, packed, 1);
    gsv_free(packed);
    return GPUSOLVE_OK;
}
