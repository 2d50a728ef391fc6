/** @file
 * CHOLMOD's objects in gpusolve's terms. Header only: compiled in the program that includes it, which links
 * CHOLMOD; the gpusolve library itself needs no SuiteSparse. C11 and C++11; CHOLMOD 3.x, 4.x and 5.x.
 *
 *      cholmod_factorize(A, L, &common);
 *      gpusolve_cholmod_import(handle, L, &factor);       once
 *      gpusolve_solve(handle, factor, NULL, ...);         as often as wanted
 *      gpusolve_cholmod_refresh(handle, factor, L);       after L was factorised again on the same pattern
 *
 * or, for a single solve, X = gpusolve_cholmod_solve(CHOLMOD_A, L, B, &common), shaped like cholmod_solve
 * (gpusolve_cholmod_solve.h).
 *
 * Objects of CHOLMOD are [in, host]: read during the call, never changed. Faults are reported as by gpusolve.h.
 */
#ifndef GPUSOLVE_CHOLMOD_H
#define GPUSOLVE_CHOLMOD_H

#include "gpusolve.h"

#ifndef CHOLMOD_MAIN_VERSION /* else the program has included CHOLMOD's header itself */
#if __has_include(<cholmod.h>)
#include <cholmod.h>
#else
#include <suitesparse/cholmod.h>
#endif
#endif

#include <string.h>

/* ----------------------------------------------------------------------------- what is relied upon --- */

#if CHOLMOD_MAIN_VERSION < 3
#error "gpusolve_cholmod.h needs CHOLMOD 3.0 or newer"
#endif

#ifdef __cplusplus
#define GPUSOLVE_CHOLMOD_ASSERT(condition) static_assert(condition, #condition)
#else
#define GPUSOLVE_CHOLMOD_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define GPUSOLVE_CHOLMOD_SIZE(type, field) sizeof(((type *)0)->field)

GPUSOLVE_CHOLMOD_ASSERT(sizeof(int) == 4 && sizeof(size_t) == 8);
#if CHOLMOD_MAIN_VERSION < 4 /* indices were int and SuiteSparse_long, from 4 on int32_t and int64_t */
GPUSOLVE_CHOLMOD_ASSERT(sizeof(SuiteSparse_long) == 8);
#endif
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_INT == 0 && CHOLMOD_LONG == 2 && CHOLMOD_DOUBLE == 0 && CHOLMOD_NATURAL == 0);
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_PATTERN == 0 && CHOLMOD_REAL == 1 && CHOLMOD_COMPLEX == 2 &&
                        CHOLMOD_ZOMPLEX == 3);
#if CHOLMOD_MAIN_VERSION >= 5 /* the first with numbers in single precision */
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_SINGLE == 4);
#endif
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_A == (int)GPUSOLVE_A && CHOLMOD_LDLt == (int)GPUSOLVE_LDLt);
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_LD == (int)GPUSOLVE_LD && CHOLMOD_DLt == (int)GPUSOLVE_DLt);
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_L == (int)GPUSOLVE_L && CHOLMOD_Lt == (int)GPUSOLVE_Lt);
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_D == (int)GPUSOLVE_D && CHOLMOD_P == (int)GPUSOLVE_P);
GPUSOLVE_CHOLMOD_ASSERT(CHOLMOD_Pt == (int)GPUSOLVE_Pt);
/* cholmod_factor: sizes, index arrays, supernodes, kinds, in the order of every version from 3.0 on */
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, n) == 0);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, minor) == 8 && offsetof(cholmod_factor, Perm) == 16);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, nzmax) == 40 && offsetof(cholmod_factor, p) == 48);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, i) == 56 && offsetof(cholmod_factor, x) == 64);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, z) == 72 && offsetof(cholmod_factor, nz) == 80);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, nsuper) == 104 && offsetof(cholmod_factor, ssize) == 112);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, xsize) == 120 && offsetof(cholmod_factor, super) == 144);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, pi) == 152 && offsetof(cholmod_factor, px) == 160);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, s) == 168 && offsetof(cholmod_factor, ordering) == 176);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, is_ll) == 180);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, is_super) == 184 && offsetof(cholmod_factor, itype) == 192);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_factor, xtype) == 196 && offsetof(cholmod_factor, dtype) == 200);
GPUSOLVE_CHOLMOD_ASSERT(GPUSOLVE_CHOLMOD_SIZE(cholmod_factor, n) == 8);
GPUSOLVE_CHOLMOD_ASSERT(GPUSOLVE_CHOLMOD_SIZE(cholmod_factor, is_ll) == 4);
/* cholmod_dense and cholmod_sparse */
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_dense, d) == 24 && offsetof(cholmod_dense, x) == 32);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_dense, xtype) == 48 && offsetof(cholmod_dense, dtype) == 52);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_sparse, p) == 24 && offsetof(cholmod_sparse, i) == 32);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_sparse, nz) == 40 && offsetof(cholmod_sparse, x) == 48);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_sparse, z) == 56 && offsetof(cholmod_sparse, stype) == 64);
GPUSOLVE_CHOLMOD_ASSERT(offsetof(cholmod_sparse, itype) == 68 && offsetof(cholmod_sparse, packed) == 84);

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------- translation --- */
/* Names that end in an underscore are this header's own. */

static inline int64_t gpusolve_cholmod_size_(size_t size) {
    return size > (size_t)INT64_MAX ? INT64_MAX : (int64_t)size;
}

/* The dtype of an object's numbers; why it has none in *text. */
static inline gpusolve_status gpusolve_cholmod_dtype_(int xtype, int dtype, const void *z, gpusolve_dtype *to,
                                                      const char **text) {
    int single = 0;
#if CHOLMOD_MAIN_VERSION >= 5
    single = dtype == CHOLMOD_SINGLE;
#endif
    if (dtype != CHOLMOD_DOUBLE && !single) {
        *text = "dtype: the numbers are not of a precision that this version of CHOLMOD computes in";
        return GPUSOLVE_NOT_SUPPORTED;
    }
    if (xtype == CHOLMOD_PATTERN) {
        *text = "xtype: is CHOLMOD_PATTERN: there are no numbers";
        return GPUSOLVE_INVALID_ARGUMENT;
    }
    if (xtype != CHOLMOD_REAL && xtype != CHOLMOD_COMPLEX && xtype != CHOLMOD_ZOMPLEX) {
        *text = "xtype: is none of CHOLMOD_REAL, CHOLMOD_COMPLEX, CHOLMOD_ZOMPLEX";
        return GPUSOLVE_INVALID_ARGUMENT;
    }
    if (xtype == CHOLMOD_ZOMPLEX && !z) {
        *text = "z: is NULL, but xtype is CHOLMOD_ZOMPLEX";
        return GPUSOLVE_INVALID_ARGUMENT;
    }
    if (xtype == CHOLMOD_REAL)
        *to = single ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    else
        *to = single ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE;
    return GPUSOLVE_OK;
}

static inline gpusolve_status gpusolve_cholmod_itype_(int itype, gpusolve_itype *to, const char **text) {
    if (itype != CHOLMOD_INT && itype != CHOLMOD_LONG) {
        *text = "itype: is neither CHOLMOD_INT nor CHOLMOD_LONG";
        return GPUSOLVE_NOT_SUPPORTED;
    }
    *to = itype == CHOLMOD_INT ? GPUSOLVE_INT32 : GPUSOLVE_INT64;
    return GPUSOLVE_OK;
}

/* Borrow L's arrays; what is wrong with L in *text. Needs no handle. */
static inline gpusolve_status gpusolve_cholmod_describe_(const cholmod_factor *L, gpusolve_factor_data *data,
                                                         const char **text) {
    const gpusolve_factor_data init = GPUSOLVE_FACTOR_DATA_INIT;
    gpusolve_status status;
    *data = init;
    if (!L) {
        *text = "L: is NULL";
        return GPUSOLVE_INVALID_ARGUMENT;
    }
    status = gpusolve_cholmod_itype_(L->itype, &data->itype, text);
    if (status != GPUSOLVE_OK)
        return status;
    if (L->xtype == CHOLMOD_PATTERN) {
        *text = "xtype: L is symbolic: cholmod_factorize has not given it numbers";
        return GPUSOLVE_INVALID_FACTOR;
    }
    status = gpusolve_cholmod_dtype_(L->xtype, L->dtype, L->z, &data->dtype, text);
    if (status != GPUSOLVE_OK)
        return status == GPUSOLVE_INVALID_ARGUMENT ? GPUSOLVE_INVALID_FACTOR : status;
    if (L->is_super && !L->is_ll) {
        *text = "is_ll: a supernodal factor is L L', never L D L'";
        return GPUSOLVE_INVALID_FACTOR;
    }
    data->n = gpusolve_cholmod_size_(L->n);
    data->minor = gpusolve_cholmod_size_(L->minor);
    data->perm = L->ordering == CHOLMOD_NATURAL ? NULL : L->Perm; /* as cholmod_solve takes it */
    data->x = L->x;
    data->z = L->xtype == CHOLMOD_ZOMPLEX ? L->z : NULL;
    if (L->is_super) {
        data->kind = GPUSOLVE_SUPERNODAL_LL;
        data->nsuper = gpusolve_cholmod_size_(L->nsuper);
        data->ssize = gpusolve_cholmod_size_(L->ssize);
        data->xsize = gpusolve_cholmod_size_(L->xsize);
        data->super = L->super;
        data->pi = L->pi;
        data->px = L->px;
        data->s = L->s;
    } else {
        data->kind = L->is_ll ? GPUSOLVE_SIMPLICIAL_LL : GPUSOLVE_SIMPLICIAL_LDL;
        data->xsize = gpusolve_cholmod_size_(L->nzmax);
        data->p = L->p;
        data->i = L->i;
        data->nz = L->nz;
    }
    return GPUSOLVE_OK;
}

/* ------------------------------------------------------------------------------------ the factor --- */
/** @name The factor
 * @{ */

/**
 * gpusolve_factor_create of a cholmod_factor: supernodal L L', or simplicial L L' or L D L', packed or not,
 * its columns in any order; real, complex or zomplex; of either itype; double, and single where CHOLMOD has
 * it. If L->ordering is CHOLMOD_NATURAL, P is the identity and L->Perm is not read, as in cholmod_solve.
 * @param L       [in, host] numeric; unchanged, not needed afterwards
 * @param factor  [out, host] the new factor; NULL on failure
 *
 * @retval GPUSOLVE_NOT_POSITIVE_DEFINITE L->minor < L->n
 * @retval GPUSOLVE_INVALID_FACTOR L is symbolic, or its arrays are not a factor's
 * @retval GPUSOLVE_NOT_SUPPORTED itype CHOLMOD_INTLONG; dtype
 *
 * Else as gpusolve_factor_create.
 */
static inline gpusolve_status gpusolve_cholmod_import(gpusolve_handle *handle, const cholmod_factor *L,
                                                      gpusolve_factor **factor) {
    gpusolve_factor_data data;
    const char *text = NULL;
    const gpusolve_status status = gpusolve_cholmod_describe_(L, &data, &text);
    if (factor)
        *factor = NULL;
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    return gpusolve_factor_create(handle, &data, factor);
}

/** gpusolve_cholmod_import of a factor that keeps L so: with GPUSOLVE_STORAGE_SINGLE in single precision, and b, x and all sums in
 * double (gpusolve_factor_data.storage). */
static inline gpusolve_status gpusolve_cholmod_import_stored(gpusolve_handle *handle, const cholmod_factor *L,
                                                             gpusolve_storage storage,
                                                             gpusolve_factor **factor) {
    gpusolve_factor_data data;
    const char *text = NULL;
    const gpusolve_status status = gpusolve_cholmod_describe_(L, &data, &text);
    if (factor)
        *factor = NULL;
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    data.storage = storage;
    return gpusolve_factor_create(handle, &data, factor);
}

/** gpusolve_factor_refresh with the numbers that L has now. Simplicial or supernodal, L must fit the planned
 * pattern. */
static inline gpusolve_status gpusolve_cholmod_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                                       const cholmod_factor *L) {
    gpusolve_factor_data data;
    const char *text = NULL;
    const gpusolve_status status = gpusolve_cholmod_describe_(L, &data, &text);
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    return gpusolve_factor_refresh(handle, factor, &data);
}

/** gpusolve_query: what an imported L would need, before anything is allocated on the backend. */
static inline gpusolve_status gpusolve_cholmod_query(gpusolve_handle *handle, const cholmod_factor *L,
                                                     int64_t max_nrhs, gpusolve_info *info) {
    gpusolve_factor_data data;
    const char *text = NULL;
    const gpusolve_status status = gpusolve_cholmod_describe_(L, &data, &text);
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    return gpusolve_query(handle, &data, max_nrhs, info);
}

/** @} */

/* -------------------------------------------------------------------------------- A, for refinement --- */
/** @name A, for refinement
 * @{ */

/**
 * gpusolve_matrix_create of a cholmod_sparse: packed or not, sorted or not; its lower triangle (stype < 0),
 * its upper (stype > 0) or all of it (stype 0).
 * @param A       [in, host] square, with numbers
 * @param matrix  [out, host] NULL on failure
 */
static inline gpusolve_status gpusolve_cholmod_matrix(gpusolve_handle *handle, const cholmod_sparse *A,
                                                      gpusolve_matrix **matrix) {
    gpusolve_matrix_data data;
    const char *text = NULL;
    gpusolve_status status;
    if (matrix)
        *matrix = NULL;
    if (!A)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "A: is NULL");
    if (A->nrow != A->ncol)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT,
                               "A->nrow: differs from ncol: A is not square");
    if (!A->packed && !A->nz && A->ncol > 0)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "A->nz: is NULL, but A is not packed");
    memset(&data, 0, sizeof data);
    data.size = sizeof data;
    status = gpusolve_cholmod_itype_(A->itype, &data.itype, &text);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_dtype_(A->xtype, A->dtype, A->z, &data.dtype, &text);
    if (status != GPUSOLVE_OK)
        return gpusolve_report(handle, status, text);
    data.format = GPUSOLVE_CSC;
    data.triangle = A->stype == 0 ? GPUSOLVE_FULL : A->stype < 0 ? GPUSOLVE_LOWER : GPUSOLVE_UPPER;
    data.n = gpusolve_cholmod_size_(A->ncol);
    data.ptr = A->p;
    data.nz = A->packed ? NULL : A->nz;
    data.index = A->i;
    data.x = A->x;
    data.z = A->xtype == CHOLMOD_ZOMPLEX ? A->z : NULL;
    return gpusolve_matrix_create(handle, &data, matrix);
}

/** @} */

/* --------------------------------------------------------------------------------- dense operands --- */
/** @name Dense operands
 * @{ */

/**
 * Describe a real or complex cholmod_dense to gpusolve_solve and gpusolve_refine; nothing is copied.
 * @param X     [in, host]
 * @param view  [out, host] borrows X's numbers; they may be written through it. All zeros on failure
 *
 * @retval GPUSOLVE_NOT_SUPPORTED X is zomplex (cholmod_dense_xtype makes it complex), or of another dtype
 * @retval GPUSOLVE_INVALID_ARGUMENT NULL, or no numbers
 *
 * There is no handle, so the status says it all.
 */
static inline gpusolve_status gpusolve_cholmod_dense_view(const cholmod_dense *X, gpusolve_dense *view) {
    const char *text = NULL;
    gpusolve_status status;
    if (!view)
        return GPUSOLVE_INVALID_ARGUMENT;
    memset(view, 0, sizeof *view);
    if (!X)
        return GPUSOLVE_INVALID_ARGUMENT;
    if (X->xtype == CHOLMOD_ZOMPLEX)
        return GPUSOLVE_NOT_SUPPORTED;
    status = gpusolve_cholmod_dtype_(X->xtype, X->dtype, NULL, &view->dtype, &text);
    if (status != GPUSOLVE_OK)
        return status;
    view->order = GPUSOLVE_COL_MAJOR;
    view->rows = gpusolve_cholmod_size_(X->nrow);
    view->cols = gpusolve_cholmod_size_(X->ncol);
    view->ld = X->d > 0 ? gpusolve_cholmod_size_(X->d) : 1;
    view->values = X->x;
    return GPUSOLVE_OK;
}

/** @} */

#ifdef __cplusplus
}
#endif

#undef GPUSOLVE_CHOLMOD_SIZE
#undef GPUSOLVE_CHOLMOD_ASSERT

#include "gpusolve_cholmod_solve.h"

#endif /* GPUSOLVE_CHOLMOD_H */
