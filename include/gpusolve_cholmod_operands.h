/** @file
 * Products with a factor and entries of the inverse, from and to CHOLMOD's objects. Header only, like gpusolve_cholmod.h, which it includes, and
 * which says on what versions of CHOLMOD it relies.
 *
 *      gpusolve_cholmod_import(handle, L, &factor);
 *      gpusolve_cholmod_multiply(handle, factor, GPUSOLVE_TIMES_L, X, &Y, &common);
 *      gpusolve_cholmod_inverse(handle, factor, A, &Z, &common);
 *
 * Samples, determinants, condition numbers and the inverse's diagonal need no calls of their own: they take that factor, and
 * gpusolve_cholmod_dense_view (docs/guides/cholmod.md).
 *
 * Common allocates what a call returns, and what it needs meanwhile. A failure is told as by gpusolve.h, and to Common as by
 * gpusolve_cholmod_solve. What a call was to return is then as it was before, but for the numbers in blocks that the caller has given.
 */
#ifndef GPUSOLVE_CHOLMOD_OPERANDS_H
#define GPUSOLVE_CHOLMOD_OPERANDS_H

#include "gpusolve_cholmod.h"
#include "gpusolve_inverse.h"
#include "gpusolve_product.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------- memory --- */

static inline void *gpusolve_cholmod_new_(size_t count, size_t size, cholmod_common *Common) {
    return Common->itype == CHOLMOD_LONG ? cholmod_l_malloc(count, size, Common)
                                         : cholmod_malloc(count, size, Common);
}

static inline void gpusolve_cholmod_delete_(size_t count, size_t size, void *memory, cholmod_common *Common) {
    if (Common->itype == CHOLMOD_LONG)
        cholmod_l_free(count, size, memory, Common);
    else
        cholmod_free(count, size, memory, Common);
}

static inline gpusolve_status gpusolve_cholmod_no_memory_(gpusolve_handle *handle) {
    return gpusolve_report(handle, GPUSOLVE_OUT_OF_MEMORY, "Common: no memory for a call's arrays");
}

static inline gpusolve_status gpusolve_cholmod_check_common_(gpusolve_handle *handle,
                                                             const cholmod_common *Common) {
    return Common ? GPUSOLVE_OK : gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "Common: is NULL");
}

/* The last thing a call does. */
static inline gpusolve_status gpusolve_cholmod_end_(gpusolve_handle *handle, gpusolve_status status, int line,
                                                    cholmod_common *Common) {
    if (Common)
        gpusolve_cholmod_tell_(handle, status, "gpusolve_cholmod_operands.h", line, Common);
    return status;
}

/* ---------------------------------------------------------------------------------- dense operands --- */

static inline int gpusolve_cholmod_is_real_(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_DOUBLE;
}

/* One real number. */
static inline void gpusolve_cholmod_move_(void *to, const void *from, size_t bytes) {
    if (bytes == sizeof(double))
        memcpy(to, from, sizeof(double));
    else
        memcpy(to, from, sizeof(float));
}

/* to = from, of one shape and precision; each has its own xtype and leading dimension. An imaginary part for which `to` has no place is
 * dropped. */
static inline void gpusolve_cholmod_copy_(const cholmod_dense *from, cholmod_dense *to) {
    static const double zero = 0; /* of either precision */
    const size_t bytes = from->dtype == CHOLMOD_DOUBLE ? sizeof(double) : sizeof(float);
    const size_t step = from->xtype == CHOLMOD_COMPLEX ? 2 : 1,
                 to_step = to->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    size_t i, j;
    for (j = 0; j < from->ncol; j++)
        for (i = 0; i < from->nrow; i++) {
            const size_t at = i + j * from->d, to_at = i + j * to->d;
            const char *re = (const char *)from->x + at * step * bytes, *im = (const char *)&zero;
            char *to_re = (char *)to->x + to_at * to_step * bytes;
            if (from->xtype == CHOLMOD_COMPLEX)
                im = re + bytes;
            if (from->xtype == CHOLMOD_ZOMPLEX)
                im = (const char *)from->z + at * bytes;
            gpusolve_cholmod_move_(to_re, re, bytes);
            if (to->xtype == CHOLMOD_COMPLEX)
                gpusolve_cholmod_move_(to_re + bytes, im, bytes);
            if (to->xtype == CHOLMOD_ZOMPLEX)
                gpusolve_cholmod_move_((char *)to->z + to_at * bytes, im, bytes);
        }
}

/* Whether X is a block of n rows in the factor's precision. `name` begins the sentence. */
static inline gpusolve_status gpusolve_cholmod_check_block_(gpusolve_handle *handle, const char *name,
                                                            const cholmod_dense *X, int64_t n,
                                                            gpusolve_dtype factor_dtype) {
    const int single = factor_dtype == GPUSOLVE_FLOAT || factor_dtype == GPUSOLVE_COMPLEX_FLOAT;
    gpusolve_status status = GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_dtype dtype;
    const char *why = "is NULL";
    char text[256];
    if (X) {
        status = gpusolve_cholmod_dtype_(X->xtype, X->dtype, X->z, &dtype, &why);
        if (status == GPUSOLVE_OK && single != (dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT)) {
            status = GPUSOLVE_TYPE_MISMATCH;
            why = "dtype: is not the factor's precision";
        } else if (status == GPUSOLVE_OK) {
            if (gpusolve_cholmod_size_(X->nrow) != n || X->d < X->nrow ||
                (!X->x && X->nrow > 0 && X->ncol > 0)) {
                status = GPUSOLVE_INVALID_ARGUMENT;
                why = "must have the factor's order of rows, a leading dimension d >= nrow, and numbers";
            } else if (X->ncol > (size_t)INT64_MAX / 2) {
                status = GPUSOLVE_TOO_LARGE;
                why = "has too many columns";
            }
        }
    }
    if (status == GPUSOLVE_OK)
        return GPUSOLVE_OK;
    snprintf(text, sizeof text, "%s: %s", name, why);
    return gpusolve_report(handle, status, text);
}

/* Whether an answer of this xtype, real or not, has its place in Y, which the caller has given. */
static inline gpusolve_status gpusolve_cholmod_check_answer_(gpusolve_handle *handle, const char *name,
                                                             const cholmod_dense *Y, const cholmod_dense *X,
                                                             int xtype, int64_t n,
                                                             gpusolve_dtype factor_dtype) {
    gpusolve_status status = gpusolve_cholmod_check_block_(handle, name, Y, n, factor_dtype);
    const char *why = NULL;
    char text[256];
    if (status != GPUSOLVE_OK)
        return status;
    if (Y->ncol != X->ncol) {
        status = GPUSOLVE_INVALID_ARGUMENT;
        why = "has another number of columns than the operand";
    } else if ((Y->xtype == CHOLMOD_REAL) != (xtype == CHOLMOD_REAL)) {
        status = GPUSOLVE_TYPE_MISMATCH;
        why = xtype == CHOLMOD_REAL ? "xtype: is not CHOLMOD_REAL, but the answer is real"
                                    : "xtype: is CHOLMOD_REAL, but the answer is complex";
    }
    if (status == GPUSOLVE_OK)
        return GPUSOLVE_OK;
    snprintf(text, sizeof text, "%s: %s", name, why);
    return gpusolve_report(handle, status, text);
}

/* cholmod_solve's choice. */
static inline int gpusolve_cholmod_answer_(int real, const cholmod_common *Common) {
    return real ? CHOLMOD_REAL : Common->prefer_zomplex ? CHOLMOD_ZOMPLEX : CHOLMOD_COMPLEX;
}

/* ---------------------------------------------------------------------------------------- products --- */
/** @name Products
 * @{ */

/* Y = operation X by way of a block that is packed as the factor's numbers are: complex, or real with twice the columns, first the real
 * parts of X and then the imaginary ones. */
static inline gpusolve_status gpusolve_cholmod_multiply_packed_(gpusolve_handle *handle,
                                                                const gpusolve_factor *factor, int real,
                                                                gpusolve_operator operation,
                                                                const cholmod_dense *X, cholmod_dense *Y,
                                                                cholmod_common *Common) {
    cholmod_dense shape = *X, parts, *work;
    gpusolve_dense view;
    gpusolve_status status;
    shape.ncol = real ? 2 * X->ncol : X->ncol;
    work = gpusolve_cholmod_allocate_(&shape, real ? CHOLMOD_REAL : CHOLMOD_COMPLEX, Common);
    if (!work)
        return gpusolve_cholmod_no_memory_(handle);
    parts = *work;
    parts.ncol = X->ncol;
    if (real) {
        parts.xtype = CHOLMOD_ZOMPLEX;
        parts.z = (char *)work->x +
                  X->ncol * work->d * (work->dtype == CHOLMOD_DOUBLE ? sizeof(double) : sizeof(float));
    }
    gpusolve_cholmod_copy_(X, &parts);
    status = gpusolve_cholmod_dense_view(work, &view);
    if (status == GPUSOLVE_OK)
        status = gpusolve_multiply(handle, factor, operation, &view, &view);
    if (status == GPUSOLVE_OK)
        gpusolve_cholmod_copy_(&parts, Y);
    gpusolve_cholmod_free_(&work, Common);
    return status;
}

static inline gpusolve_status gpusolve_cholmod_multiply_(gpusolve_handle *handle,
                                                         const gpusolve_factor *factor, int real,
                                                         gpusolve_operator operation, const cholmod_dense *X,
                                                         cholmod_dense *Y, cholmod_common *Common) {
    const int xtype = real ? CHOLMOD_REAL : CHOLMOD_COMPLEX;
    gpusolve_dense x, y;
    gpusolve_status status;
    if (X->xtype != xtype || Y->xtype != xtype)
        return gpusolve_cholmod_multiply_packed_(handle, factor, real, operation, X, Y, Common);
    status = gpusolve_cholmod_dense_view(X, &x);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_dense_view(Y, &y);
    return status == GPUSOLVE_OK ? gpusolve_multiply(handle, factor, operation, &x, &y) : status;
}

/**
 * gpusolve_multiply of a cholmod_dense: Y = operation X.
 * @param X  [in, host] n x any number of columns, any leading dimension, of the factor's precision; real, complex or zomplex, whatever
 *           the factor is
 * @param Y  [in, out, host] *Y: a block for the answer, of X's shape, with any leading dimension; it may be X. If *Y is NULL the call
 *           makes a block, to be freed with cholmod_free_dense (cholmod_l_free_dense for CHOLMOD_LONG)
 *
 * Y is real if the factor and X are, otherwise complex or zomplex: as the caller's block is, or as Common->prefer_zomplex says. Where X,
 * Y and the factor are all real or all complex, nothing is copied.
 *
 * @retval GPUSOLVE_TYPE_MISMATCH another precision, or a block that is real for an answer that is not, or the other way round.
 *
 * Else as gpusolve_multiply.
 */
static inline gpusolve_status gpusolve_cholmod_multiply(gpusolve_handle *handle,
                                                        const gpusolve_factor *factor,
                                                        gpusolve_operator operation, const cholmod_dense *X,
                                                        cholmod_dense **Y, cholmod_common *Common) {
    gpusolve_info info;
    cholmod_dense *answer = NULL;
    int xtype = CHOLMOD_REAL, real = 0;
    gpusolve_status status = gpusolve_cholmod_check_common_(handle, Common);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    if (status == GPUSOLVE_OK)
        status = gpusolve_factor_info(handle, factor, 0, &info);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_check_block_(handle, "X", X, info.n, info.dtype);
    if (status == GPUSOLVE_OK && !Y)
        status = gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "Y: is NULL");
    if (status == GPUSOLVE_OK) {
        real = gpusolve_cholmod_is_real_(info.dtype);
        xtype = gpusolve_cholmod_answer_(real && X->xtype == CHOLMOD_REAL, Common);
        if (*Y)
            status = gpusolve_cholmod_check_answer_(handle, "Y", *Y, X, xtype, info.n, info.dtype);
    }
    if (status == GPUSOLVE_OK) {
        answer = *Y ? *Y : gpusolve_cholmod_allocate_(X, xtype, Common);
        status = answer ? gpusolve_cholmod_multiply_(handle, factor, real, operation, X, answer, Common)
                        : gpusolve_cholmod_no_memory_(handle);
        if (status == GPUSOLVE_OK)
            *Y = answer;
        else if (!*Y)
            gpusolve_cholmod_free_(&answer, Common);
    }
    return gpusolve_cholmod_end_(handle, status, __LINE__, Common);
}

/** @} */

/* ------------------------------------------------------------------------- entries of the inverse --- */
/** @name Entries of the inverse
 * @{ */

static inline int64_t gpusolve_cholmod_get_(const void *array, int itype, size_t k) {
    return itype == CHOLMOD_LONG ? ((const int64_t *)array)[k] : (int64_t)((const int32_t *)array)[k];
}

static inline void gpusolve_cholmod_set_(void *array, int itype, size_t k, int64_t value) {
    if (itype == CHOLMOD_LONG)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

/* Where column j of S lies: *begin .. *end - 1. */
static inline void gpusolve_cholmod_column_(const cholmod_sparse *S, size_t j, int64_t *begin, int64_t *end) {
    *begin = gpusolve_cholmod_get_(S->p, S->itype, j);
    *end = S->packed ? gpusolve_cholmod_get_(S->p, S->itype, j + 1)
                     : *begin + gpusolve_cholmod_get_(S->nz, S->itype, j);
}

/* S is a pattern of order n; *count: its entries. */
static inline gpusolve_status gpusolve_cholmod_check_pattern_(gpusolve_handle *handle,
                                                              const cholmod_sparse *S, int64_t n,
                                                              const cholmod_common *Common, int64_t *count) {
    gpusolve_itype itype;
    const char *text = NULL;
    gpusolve_status status = GPUSOLVE_INVALID_ARGUMENT;
    int64_t begin, end;
    size_t j;
    *count = 0;
    if (!S)
        return gpusolve_report(handle, status, "S: is NULL");
    if (S->nrow != S->ncol || gpusolve_cholmod_size_(S->ncol) != n)
        return gpusolve_report(handle, status, "S: must have the factor's order of rows and of columns");
    if (gpusolve_cholmod_itype_(S->itype, &itype, &text) != GPUSOLVE_OK)
        return gpusolve_report(handle, GPUSOLVE_NOT_SUPPORTED, text);
    if (S->itype != Common->itype)
        return gpusolve_report(handle, GPUSOLVE_TYPE_MISMATCH, "S->itype: is not that of Common");
    if (!S->p || (!S->packed && !S->nz && n > 0))
        return gpusolve_report(handle, status, "S: has no p, or is not packed and has no nz");
    for (j = 0; j < S->ncol; j++) {
        gpusolve_cholmod_column_(S, j, &begin, &end);
        if (begin < 0 || end < begin || end > gpusolve_cholmod_size_(S->nzmax))
            return gpusolve_report(handle, status, "S->p: a column does not lie within nzmax entries");
        if (end > begin && !S->i)
            return gpusolve_report(handle, status, "S->i: is NULL");
        *count += end - begin;
    }
    if (*count > (itype == GPUSOLVE_INT32 ? INT32_MAX : INT64_MAX / 64))
        return gpusolve_report(handle, GPUSOLVE_TOO_LARGE, "S: has too many entries");
    return GPUSOLVE_OK;
}

/* CHOLMOD's dtype of the factor's numbers, if it has one. */
static inline gpusolve_status gpusolve_cholmod_precision_(gpusolve_handle *handle,
                                                          gpusolve_dtype factor_dtype, int *dtype) {
    int known = factor_dtype == GPUSOLVE_DOUBLE || factor_dtype == GPUSOLVE_COMPLEX_DOUBLE;
    *dtype = CHOLMOD_DOUBLE;
#if CHOLMOD_MAIN_VERSION >= 5
    if (!known)
        *dtype = CHOLMOD_SINGLE;
    known = 1;
#endif
    return known ? GPUSOLVE_OK
                 : gpusolve_report(handle, GPUSOLVE_NOT_SUPPORTED,
                                   "factor: is in single precision, which this version of CHOLMOD has not");
}

static inline cholmod_sparse *gpusolve_cholmod_allocate_sparse_(const cholmod_sparse *S, int64_t count,
                                                                int xdtype, cholmod_common *Common) {
    return Common->itype == CHOLMOD_LONG ? cholmod_l_allocate_sparse(S->nrow, S->ncol, (size_t)count,
                                                                     S->sorted, 1, S->stype, xdtype, Common)
                                         : cholmod_allocate_sparse(S->nrow, S->ncol, (size_t)count, S->sorted,
                                                                   1, S->stype, xdtype, Common);
}

static inline void gpusolve_cholmod_free_sparse_(cholmod_sparse **Z, cholmod_common *Common) {
    if (Common->itype == CHOLMOD_LONG)
        cholmod_l_free_sparse(Z, Common);
    else
        cholmod_free_sparse(Z, Common);
}

/* S's pattern into Z, and as pairs of a row and a column. */
static inline void gpusolve_cholmod_pairs_(const cholmod_sparse *S, cholmod_sparse *Z, int64_t *rows,
                                           int64_t *columns) {
    int64_t begin, end, count = 0;
    size_t j;
    for (j = 0; j < S->ncol; j++) {
        gpusolve_cholmod_set_(Z->p, Z->itype, j, count);
        gpusolve_cholmod_column_(S, j, &begin, &end);
        for (; begin < end; begin++, count++) {
            rows[count] = gpusolve_cholmod_get_(S->i, S->itype, (size_t)begin);
            columns[count] = (int64_t)j;
            gpusolve_cholmod_set_(Z->i, Z->itype, (size_t)count, rows[count]);
        }
    }
    gpusolve_cholmod_set_(Z->p, Z->itype, S->ncol, count);
}

/* The numbers of Z. `pairs`: memory for the rows, then the columns; `numbers`: for complex numbers of a zomplex Z, else NULL. */
static inline gpusolve_status gpusolve_cholmod_entries_(gpusolve_handle *handle,
                                                        const gpusolve_factor *factor,
                                                        const cholmod_sparse *S, int64_t count,
                                                        int64_t *pairs, void *numbers, cholmod_sparse *Z) {
    cholmod_dense from, to;
    gpusolve_status status;
    gpusolve_cholmod_pairs_(S, Z, pairs, pairs + count);
    status = gpusolve_inverse_entries(handle, factor, count, pairs, pairs + count, numbers ? numbers : Z->x);
    if (status == GPUSOLVE_OK && numbers) {
        memset(&from, 0, sizeof from);
        from.nrow = from.d = (size_t)count;
        from.ncol = 1;
        from.dtype = Z->dtype;
        to = from;
        from.xtype = CHOLMOD_COMPLEX;
        from.x = numbers;
        to.xtype = CHOLMOD_ZOMPLEX;
        to.x = Z->x;
        to.z = Z->z;
        gpusolve_cholmod_copy_(&from, &to);
    }
    return status;
}

/**
 * Entries of inv(A) where S has entries: gpusolve_inverse_entries on the pattern of a cholmod_sparse. With S = A they are what the
 * derivative of log det A needs.
 * @param S  [in, host] n x n, packed or not, sorted or not, one triangle or all of it; of any xtype, for its pattern alone is read. Its
 *           itype must be Common's
 * @param Z  [out, host] the entries, packed, in S's order, with S's stype: real if the factor is, otherwise complex, or zomplex if
 *           Common->prefer_zomplex says so. To be freed with cholmod_free_sparse (cholmod_l_free_sparse for CHOLMOD_LONG). NULL on failure
 *
 * As gpusolve_inverse_entries, with 16 bytes more of memory for each entry.
 *
 * @retval GPUSOLVE_INVALID_ARGUMENT S is not square or not of the factor's order, or its arrays are not a pattern.
 */
static inline gpusolve_status gpusolve_cholmod_inverse(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                       const cholmod_sparse *S, cholmod_sparse **Z,
                                                       cholmod_common *Common) {
    gpusolve_info info;
    cholmod_sparse *made = NULL;
    int64_t count = 0, *pairs = NULL;
    void *numbers = NULL;
    size_t bytes;
    int dtype = CHOLMOD_DOUBLE;
    gpusolve_status status = gpusolve_cholmod_check_common_(handle, Common);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    if (Z)
        *Z = NULL;
    if (status == GPUSOLVE_OK)
        status = gpusolve_factor_info(handle, factor, 0, &info);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_check_pattern_(handle, S, info.n, Common, &count);
    if (status == GPUSOLVE_OK && !Z)
        status = gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "Z: is NULL");
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_precision_(handle, info.dtype, &dtype);
    if (status == GPUSOLVE_OK) {
        const int xtype = gpusolve_cholmod_answer_(gpusolve_cholmod_is_real_(info.dtype), Common);
        bytes = info.dtype == GPUSOLVE_COMPLEX_FLOAT ? 2 * sizeof(float) : 2 * sizeof(double);
        made = gpusolve_cholmod_allocate_sparse_(S, count, xtype + dtype, Common);
        pairs = (int64_t *)gpusolve_cholmod_new_((size_t)count, 2 * sizeof *pairs, Common);
        if (xtype == CHOLMOD_ZOMPLEX)
            numbers = gpusolve_cholmod_new_((size_t)count, bytes, Common);
        status = made && pairs && (numbers || xtype != CHOLMOD_ZOMPLEX)
                     ? gpusolve_cholmod_entries_(handle, factor, S, count, pairs, numbers, made)
                     : gpusolve_cholmod_no_memory_(handle);
        if (numbers)
            gpusolve_cholmod_delete_((size_t)count, bytes, numbers, Common);
        if (pairs)
            gpusolve_cholmod_delete_((size_t)count, 2 * sizeof *pairs, pairs, Common);
        if (status == GPUSOLVE_OK)
            *Z = made;
        else if (made)
            gpusolve_cholmod_free_sparse_(&made, Common);
    }
    return gpusolve_cholmod_end_(handle, status, __LINE__, Common);
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_CHOLMOD_OPERANDS_H */
