/** @file
 * One solve, or one refinement, from CHOLMOD's objects in a single call; included by gpusolve_cholmod.h, which says on what versions of
 * CHOLMOD it relies. Nothing is kept from call to call.
 */
#ifndef GPUSOLVE_CHOLMOD_SOLVE_H
#define GPUSOLVE_CHOLMOD_SOLVE_H

#include "gpusolve_cholmod.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name One-call solve
 * @{ */

/* The value of Common->status that says most about a gpusolve_status. */
static inline int gpusolve_cholmod_status_(gpusolve_status status) {
    switch (status) {
    case GPUSOLVE_OK:
        return CHOLMOD_OK;
    case GPUSOLVE_OUT_OF_MEMORY:
        return CHOLMOD_OUT_OF_MEMORY;
    case GPUSOLVE_TOO_LARGE:
        return CHOLMOD_TOO_LARGE;
    case GPUSOLVE_NOT_POSITIVE_DEFINITE:
    case GPUSOLVE_SINGULAR:
        return CHOLMOD_NOT_POSDEF;
    case GPUSOLVE_OUT_OF_DEVICE_MEMORY:
    case GPUSOLVE_NO_DEVICE:
    case GPUSOLVE_CUDA_ERROR:
        return CHOLMOD_GPU_PROBLEM;
    default:
        return CHOLMOD_INVALID;
    }
}

/* Common's status, and its error handler if there is one and the call has failed. */
static inline void gpusolve_cholmod_tell_(const gpusolve_handle *handle, gpusolve_status status,
                                          const char *file, int line, cholmod_common *Common) {
    Common->status = gpusolve_cholmod_status_(status);
    if (status != GPUSOLVE_OK && Common->error_handler && !Common->try_catch)
        Common->error_handler(Common->status, file, line,
                              handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
}

static inline cholmod_dense *gpusolve_cholmod_allocate_(const cholmod_dense *B, int xtype,
                                                        cholmod_common *Common) {
    const size_t d = B->nrow > 0 ? B->nrow : 1;
    return Common->itype == CHOLMOD_LONG
               ? cholmod_l_allocate_dense(B->nrow, B->ncol, d, xtype + B->dtype, Common)
               : cholmod_allocate_dense(B->nrow, B->ncol, d, xtype + B->dtype, Common);
}

static inline void gpusolve_cholmod_free_(cholmod_dense **X, cholmod_common *Common) {
    if (Common->itype == CHOLMOD_LONG)
        cholmod_l_free_dense(X, Common);
    else
        cholmod_free_dense(X, Common);
}

/* Change X in place to another xtype; 0 when out of memory. */
static inline int gpusolve_cholmod_convert_(int xtype, cholmod_dense *X, cholmod_common *Common) {
    return Common->itype == CHOLMOD_LONG ? cholmod_l_dense_xtype(xtype + X->dtype, X, Common)
                                         : cholmod_dense_xtype(xtype + X->dtype, X, Common);
}

/* The xtype of cholmod_solve's X. */
static inline int gpusolve_cholmod_xtype_(int sys, const cholmod_factor *L, const cholmod_dense *B,
                                          const cholmod_common *Common) {
    if (B->xtype == CHOLMOD_REAL && (L->xtype == CHOLMOD_REAL || sys == CHOLMOD_P || sys == CHOLMOD_Pt))
        return CHOLMOD_REAL;
    return Common->prefer_zomplex ? CHOLMOD_ZOMPLEX : CHOLMOD_COMPLEX;
}

/* B itself, or a complex copy of a B that is zomplex, or real with a complex L; NULL when out of memory. */
static inline cholmod_dense *gpusolve_cholmod_packed_(const cholmod_factor *L, cholmod_dense *B,
                                                      cholmod_common *Common) {
    cholmod_dense *copy;
    if (B->xtype == CHOLMOD_COMPLEX || (B->xtype == CHOLMOD_REAL && L->xtype == CHOLMOD_REAL))
        return B;
    copy = Common->itype == CHOLMOD_LONG ? cholmod_l_copy_dense(B, Common) : cholmod_copy_dense(B, Common);
    if (copy && !gpusolve_cholmod_convert_(CHOLMOD_COMPLEX, copy, Common))
        gpusolve_cholmod_free_(&copy, Common);
    return copy;
}

/* What a refinement has besides a solve. */
typedef struct gpusolve_cholmod_refinement_ {
    const cholmod_sparse *A;
    const gpusolve_refine_options *options;
    double *backward_error;
    int *steps;
} gpusolve_cholmod_refinement_;

static inline gpusolve_status gpusolve_cholmod_refine_(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                       const gpusolve_dense *b, const gpusolve_dense *x,
                                                       const gpusolve_cholmod_refinement_ *refinement) {
    gpusolve_matrix *matrix = NULL;
    gpusolve_status status;
    if (refinement->options && !refinement->options->solve_first)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT,
                               "options->solve_first: is 0, but there is no X with a first guess");
    status = gpusolve_cholmod_matrix(handle, refinement->A, &matrix);
    if (status == GPUSOLVE_OK)
        status = gpusolve_refine(handle, factor, matrix, NULL, b, x, refinement->options,
                                 refinement->backward_error, refinement->steps);
    gpusolve_matrix_destroy(matrix);
    return status;
}

/* X = system \ B, real or complex, with a factor that lives for this call alone. refinement: NULL, or A \ B is refined. */
static inline gpusolve_status gpusolve_cholmod_run_(gpusolve_handle *handle, int sys, const cholmod_factor *L,
                                                    const cholmod_dense *B, cholmod_dense *X,
                                                    const gpusolve_cholmod_refinement_ *refinement) {
    gpusolve_factor *factor = NULL;
    gpusolve_dense b, x;
    gpusolve_status status = gpusolve_cholmod_dense_view(B, &b);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_dense_view(X, &x);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_import(handle, L, &factor);
    if (status == GPUSOLVE_OK)
        status = refinement ? gpusolve_cholmod_refine_(handle, factor, &b, &x, refinement)
                            : gpusolve_solve(handle, factor, NULL, (gpusolve_system)sys, &b, &x);
    gpusolve_factor_destroy(factor);
    return status;
}

/* The faults that must be known before X can be allocated. */
static inline gpusolve_status gpusolve_cholmod_check_(gpusolve_handle *handle, int sys,
                                                      const cholmod_factor *L, const cholmod_dense *B,
                                                      const cholmod_common *Common) {
    gpusolve_factor_data data;
    gpusolve_dtype dtype;
    const char *text = NULL;
    gpusolve_status status;
    if (sys < CHOLMOD_A || sys > CHOLMOD_Pt)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "sys: is no system of cholmod_solve");
    status = gpusolve_cholmod_describe_(L, &data, &text);
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    if (L->itype != Common->itype)
        return gpusolve_report(handle, GPUSOLVE_TYPE_MISMATCH, "L->itype: is not that of Common");
    if (!B)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "B: is NULL");
    status = gpusolve_cholmod_dtype_(B->xtype, B->dtype, B->z, &dtype, &text);
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    if ((dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT) !=
        (data.dtype == GPUSOLVE_FLOAT || data.dtype == GPUSOLVE_COMPLEX_FLOAT))
        return gpusolve_report(handle, GPUSOLVE_TYPE_MISMATCH, "B: must be of L's precision");
    if (B->nrow != L->n || B->d < B->nrow || (!B->x && B->nrow > 0 && B->ncol > 0))
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT,
                               "B: must have L->n rows, a leading dimension d >= nrow, and numbers");
    return GPUSOLVE_OK;
}

/* The one call that all are: allocates X, solves or refines, tells Common. */
static inline cholmod_dense *gpusolve_cholmod_call_(int sys, const cholmod_factor *L, cholmod_dense *B,
                                                    cholmod_common *Common,
                                                    const gpusolve_cholmod_refinement_ *refinement,
                                                    gpusolve_status *status, char *message) {
    gpusolve_handle *handle = NULL;
    cholmod_dense *X = NULL, *packed = NULL;
    gpusolve_status result = Common ? gpusolve_create(&handle, NULL) : GPUSOLVE_INVALID_ARGUMENT;
    if (result == GPUSOLVE_OK)
        result = gpusolve_cholmod_check_(handle, sys, L, B, Common);
    if (result == GPUSOLVE_OK) {
        packed = gpusolve_cholmod_packed_(L, B, Common);
        X = packed ? gpusolve_cholmod_allocate_(packed, packed->xtype, Common) : NULL;
        result = X ? gpusolve_cholmod_run_(handle, sys, L, packed, X, refinement)
                   : gpusolve_report(handle, GPUSOLVE_OUT_OF_MEMORY, "Common: no memory for a dense matrix");
    }
    if (result == GPUSOLVE_OK && X->xtype != gpusolve_cholmod_xtype_(sys, L, B, Common) &&
        !gpusolve_cholmod_convert_(gpusolve_cholmod_xtype_(sys, L, B, Common), X, Common))
        result = gpusolve_report(handle, GPUSOLVE_OUT_OF_MEMORY, "Common: no memory for a dense matrix");
    if (packed && packed != B)
        gpusolve_cholmod_free_(&packed, Common);
    if (X && result != GPUSOLVE_OK)
        gpusolve_cholmod_free_(&X, Common);

    if (status)
        *status = result;
    if (message) {
        const char *text = handle ? gpusolve_last_error(handle) : gpusolve_status_message(result);
        message[0] = '\0';
        if (result != GPUSOLVE_OK)
            strncat(message, text, 255);
    }
    if (Common)
        gpusolve_cholmod_tell_(handle, result, "gpusolve_cholmod_solve.h", __LINE__, Common);
    gpusolve_destroy(handle);
    return X;
}

/**
 * gpusolve_cholmod_solve that also says what went wrong.
 * @param status   [out, host] or NULL
 * @param message  [out, host] 256 characters, "" on success; or NULL
 */
static inline cholmod_dense *gpusolve_cholmod_solve_status(int sys, cholmod_factor *L, cholmod_dense *B,
                                                           cholmod_common *Common, gpusolve_status *status,
                                                           char *message) {
    return gpusolve_cholmod_call_(sys, L, B, Common, NULL, status, message);
}

/**
 * Solve one system once, in the shape of cholmod_solve: X = sys \ B. Imports L anew in every call and keeps
 * nothing, so it never answers from old numbers; who solves more than once imports once.
 * @param sys     CHOLMOD_A .. CHOLMOD_Pt
 * @param L       [in, host] as in gpusolve_cholmod_import
 * @param B       [in, host] n x nrhs, any leading dimension, of L's precision; real, complex or zomplex, whatever L is
 * @param Common  [in, out] its itype must be L's. Allocates X and, for a B that is zomplex, or real with a complex L, a copy
 *                of it
 *
 * @return X, to be freed with cholmod_free_dense (cholmod_l_free_dense for CHOLMOD_LONG), of B's precision: real if L and B
 * are, or if B is and sys is CHOLMOD_P or CHOLMOD_Pt; otherwise complex, or zomplex if Common->prefer_zomplex says so. That is
 * cholmod_solve's choice. On failure NULL.
 *
 * Runs on the default backend. A failure sets Common->status (CHOLMOD_INVALID, CHOLMOD_OUT_OF_MEMORY, CHOLMOD_TOO_LARGE,
 * CHOLMOD_NOT_POSDEF, CHOLMOD_GPU_PROBLEM) and calls Common->error_handler, if there is one, with the sentence that explains it.
 * Prints nothing.
 */
static inline cholmod_dense *gpusolve_cholmod_solve(int sys, cholmod_factor *L, cholmod_dense *B,
                                                    cholmod_common *Common) {
    return gpusolve_cholmod_call_(sys, L, B, Common, NULL, NULL, NULL);
}

/**
 * Solve A X = B once and refine X against A: gpusolve_refine in the shape of gpusolve_cholmod_solve. L may be the factor of a matrix
 * that differs a little from A. Imports A and L anew in every call; who refines more than once imports them once
 * (gpusolve_cholmod_import, gpusolve_cholmod_matrix) and calls gpusolve_refine.
 * @param A               [in, host] as in gpusolve_cholmod_matrix, of L's order, precision and kind: both real, or both not
 * @param L,B,Common      as in gpusolve_cholmod_solve
 * @param options         [in, host] NULL for the defaults. solve_first must be 1: there is no X yet
 * @param backward_error  [out, host] B->ncol numbers, or NULL
 * @param steps           [out, host] B->ncol counts of the corrections kept, or NULL
 *
 * @return X, as gpusolve_cholmod_solve gives it for CHOLMOD_A. On failure NULL, told in the same way; backward_error and steps may
 * have been written.
 */
static inline cholmod_dense *gpusolve_cholmod_refine(const cholmod_sparse *A, const cholmod_factor *L,
                                                     cholmod_dense *B, const gpusolve_refine_options *options,
                                                     double *backward_error, int *steps,
                                                     cholmod_common *Common) {
    gpusolve_cholmod_refinement_ refinement;
    refinement.A = A;
    refinement.options = options;
    refinement.backward_error = backward_error;
    refinement.steps = steps;
    return gpusolve_cholmod_call_(CHOLMOD_A, L, B, Common, &refinement, NULL, NULL);
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_CHOLMOD_SOLVE_H */
