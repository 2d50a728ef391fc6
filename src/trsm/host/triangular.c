/*
 * The host backend of triangular.h: the recursion over a CBLAS, whose own TRSM and TRMM are the leaves.
 */
#include "../triangular.h"

#include "../../handle.h"

#include <string.h>

#include "../../cblas.h"
#include "../../memory.h"
#include "../dense_checks.h"
#include "../potri.h"

static const char *offset(const gsv_triangular *p, const void *base, int64_t numbers) {
    return (const char *)base + numbers * gsv_number_bytes(p->dtype);
}

static gpusolve_status multiply(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta) {
    const gsv_cblas *blas = context;
    const int left = p->side == GPUSOLVE_LEFT;
    const int trans = GSV_NO_TRANS + (int)p->trans, lda = (int)p->lda, ldb = (int)p->ldb;
    const void *a = offset(p, p->a, gsv_place_in_a(p, to, from));
    const void *b = offset(p, p->b, gsv_place_in_b(p, from));
    void *c = (char *)offset(p, p->b, gsv_place_in_b(p, to));
    /* left: C = op(A) B; right: C = B op(A) */
    const int m = (int)(left ? to_size : p->vectors), n = (int)(left ? p->vectors : to_size);
    const int k = (int)from_size;
    const void *first = left ? a : b, *second = left ? b : a;
    const int ta = left ? trans : GSV_NO_TRANS, tb = left ? GSV_NO_TRANS : trans;
    const int ld1 = left ? lda : ldb, ld2 = left ? ldb : lda;
    const float alpha_c[2] = {(float)alpha.re, (float)alpha.im}, beta_c[2] = {(float)beta.re, (float)beta.im};
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        blas->sgemm(GSV_COL_MAJOR, ta, tb, m, n, k, alpha_c[0], first, ld1, second, ld2, beta_c[0], c, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        blas->dgemm(GSV_COL_MAJOR, ta, tb, m, n, k, alpha.re, first, ld1, second, ld2, beta.re, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        blas->cgemm(GSV_COL_MAJOR, ta, tb, m, n, k, alpha_c, first, ld1, second, ld2, beta_c, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        blas->zgemm(GSV_COL_MAJOR, ta, tb, m, n, k, &alpha, first, ld1, second, ld2, &beta, c, ldb);
        break;
    }
    return GPUSOLVE_OK;
}

static gpusolve_status leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                            gsv_number alpha) {
    const gsv_cblas *blas = context;
    const int side = GSV_LEFT + (int)p->side, uplo = p->uplo == GPUSOLVE_LOWER ? GSV_LOWER : GSV_UPPER;
    const int trans = GSV_NO_TRANS + (int)p->trans, diag = GSV_NON_UNIT + (int)p->diag;
    const int m = (int)(p->side == GPUSOLVE_LEFT ? size : p->vectors);
    const int n = (int)(p->side == GPUSOLVE_LEFT ? p->vectors : size);
    const int lda = (int)p->lda, ldb = (int)p->ldb, solve = p->operation == GSV_SOLVE;
    const void *a = offset(p, p->a, gsv_place_in_a(p, start, start));
    void *b = (char *)offset(p, p->b, gsv_place_in_b(p, start));
    const float alpha_c[2] = {(float)alpha.re, (float)alpha.im};
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        (solve ? blas->strsm : blas->strmm)(GSV_COL_MAJOR, side, uplo, trans, diag, m, n, alpha_c[0], a, lda,
                                            b, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        (solve ? blas->dtrsm : blas->dtrmm)(GSV_COL_MAJOR, side, uplo, trans, diag, m, n, alpha.re, a, lda, b,
                                            ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        (solve ? blas->ctrsm : blas->ctrmm)(GSV_COL_MAJOR, side, uplo, trans, diag, m, n, alpha_c, a, lda, b,
                                            ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        (solve ? blas->ztrsm : blas->ztrmm)(GSV_COL_MAJOR, side, uplo, trans, diag, m, n, &alpha, a, lda, b,
                                            ldb);
        break;
    }
    return GPUSOLVE_OK;
}

/*
 * Where the recursion stops: bench/trsm/host.c's times beside OpenBLAS's own calls, n = 256 to 4096. TRSM
 * gains 1.04 to 1.6 times with up to 128 vectors, more from smaller leaves the fewer there are; TRMM
 * gains 1.2 to 1.6 times with up to 8, and loses a tenth beyond 16. Beyond, both are left whole.
 */
static int64_t stop_for(const gsv_triangular *p) {
    if (p->operation == GSV_SOLVE && p->vectors <= 128)
        return p->vectors <= 64 ? 128 : 256;
    return p->operation == GSV_MULTIPLY && p->vectors <= 8 ? 128 : p->order;
}

gpusolve_status gsv_triangular_host(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha) {
    const gsv_cblas *blas;
    const gpusolve_status status = gsv_cblas_open(&blas, &handle->message);
    if (status != GPUSOLVE_OK)
        return status;
    if (gsv_is_zero(alpha)) {
        const int left = p->side == GPUSOLVE_LEFT;
        const int64_t m = left ? p->order : p->vectors, n = left ? p->vectors : p->order;
        for (int64_t j = 0; j < n; j++) /* b(:, j) = 0 */
            memset((char *)offset(p, p->b, j * p->ldb), 0, (size_t)(m * gsv_number_bytes(p->dtype)));
        return GPUSOLVE_OK;
    }
    const gsv_triangular_backend backend = {(void *)blas, stop_for(p), multiply, leaf};
    return gsv_triangular_run(p, alpha, &backend);
}

/* ------------------------------------------------------------------------------------------ potri.h --- */

static gpusolve_status triangular(void *context, const gsv_triangular *p, gsv_number alpha) {
    return gsv_triangular_host(context, p, alpha);
}

static gpusolve_status copy_triangle(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo,
                                     const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t n,
                                     int fill) {
    (void)context;
    const size_t number = (size_t)gsv_number_bytes(dtype);
    for (int64_t j = 0; j < n; j++) {
        const int64_t first = uplo == GPUSOLVE_LOWER ? j : 0, last = uplo == GPUSOLVE_LOWER ? n : j + 1;
        char *column = (char *)to + (size_t)(j * to_ld) * number;
        if (fill)
            memset(column, 0, (size_t)n * number);
        if (from)
            memcpy(column + (size_t)first * number,
                   (const char *)from + (size_t)(first + j * from_ld) * number,
                   (size_t)(last - first) * number);
        else if (gsv_is_single(dtype))
            *(float *)(column + (size_t)j * number) = 1;
        else
            *(double *)(column + (size_t)j * number) = 1;
    }
    return GPUSOLVE_OK;
}

static gpusolve_status rank_k(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo, int trans, int64_t n,
                              int64_t k, const void *a, int64_t lda, double beta, void *c, int64_t ldc) {
    const gsv_cblas *blas;
    gpusolve_handle *handle = context;
    const gpusolve_status status = gsv_cblas_open(&blas, &handle->message); /* long open */
    if (status != GPUSOLVE_OK)
        return status;
    const int fill = uplo == GPUSOLVE_LOWER ? GSV_LOWER : GSV_UPPER;
    const int real = trans ? GSV_TRANS : GSV_NO_TRANS, op = trans ? GSV_CONJ_TRANS : GSV_NO_TRANS;
    const int order = (int)n, depth = (int)k, ld_a = (int)lda, ld_c = (int)ldc;
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        blas->ssyrk(GSV_COL_MAJOR, fill, real, order, depth, 1, a, ld_a, (float)beta, c, ld_c);
        break;
    case GPUSOLVE_DOUBLE:
        blas->dsyrk(GSV_COL_MAJOR, fill, real, order, depth, 1, a, ld_a, beta, c, ld_c);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        blas->cherk(GSV_COL_MAJOR, fill, op, order, depth, 1, a, ld_a, (float)beta, c, ld_c);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        blas->zherk(GSV_COL_MAJOR, fill, op, order, depth, 1, a, ld_a, beta, c, ld_c);
        break;
    }
    return GPUSOLVE_OK;
}

static int64_t first_zero(const gsv_inverse_problem *p) {
    const char *number = p->a;
    for (int64_t k = 1; k <= p->n; k++, number += (p->lda + 1) * gsv_number_bytes(p->dtype))
        if (gsv_is_zero(gsv_number_at(p->dtype, number)))
            return k;
    return 0;
}

enum { TILE = 64 };

gpusolve_status gsv_inverse_host(gpusolve_handle *handle, const gsv_inverse_problem *p) {
    const gsv_cblas *blas;
    gpusolve_status status = gsv_cblas_open(&blas, &handle->message); /* before A changes */
    if (status == GPUSOLVE_OK)
        status = gsv_inverse_judge(handle, first_zero(p));
    if (status != GPUSOLVE_OK)
        return status;
    void *tile = gsv_malloc(TILE * TILE, (size_t)gsv_number_bytes(p->dtype));
    if (!tile)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for an inverse");
    const gsv_inverse_backend backend = {handle, TILE, tile, triangular, copy_triangle, rank_k};
    status = gsv_inverse_run(p, &backend);
    gsv_free(tile);
    return status;
}
