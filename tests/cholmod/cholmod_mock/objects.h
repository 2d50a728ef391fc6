/*
 * The public face of a CHOLMOD that is not installed here, as far as gpusolve_cholmod.h looks at it: names,
 * types and the order of fields. MOCK_MAIN_VERSION says which CHOLMOD. The few functions work, on malloc.
 */
#ifndef CHOLMOD_MOCK_OBJECTS_H
#define CHOLMOD_MOCK_OBJECTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHOLMOD_MAIN_VERSION MOCK_MAIN_VERSION

enum { CHOLMOD_INT = 0, CHOLMOD_LONG = 2 };
#if CHOLMOD_MAIN_VERSION < 5
enum { CHOLMOD_INTLONG = 1, CHOLMOD_SINGLE = 1 };
#else
#define CHOLMOD_SINGLE 4
#endif
enum { CHOLMOD_DOUBLE = 0 };
enum { CHOLMOD_NATURAL = 0, CHOLMOD_GIVEN = 1 };
enum { CHOLMOD_PATTERN, CHOLMOD_REAL, CHOLMOD_COMPLEX, CHOLMOD_ZOMPLEX };
enum {
    CHOLMOD_A,
    CHOLMOD_LDLt,
    CHOLMOD_LD,
    CHOLMOD_DLt,
    CHOLMOD_L,
    CHOLMOD_Lt,
    CHOLMOD_D,
    CHOLMOD_P,
    CHOLMOD_Pt
};
enum {
    CHOLMOD_OK = 0,
    CHOLMOD_OUT_OF_MEMORY = -2,
    CHOLMOD_TOO_LARGE = -3,
    CHOLMOD_INVALID = -4,
    CHOLMOD_GPU_PROBLEM = -5,
    CHOLMOD_NOT_POSDEF = 1
};

typedef struct cholmod_common_struct {
    int prefer_zomplex;
    int try_catch;
    void (*error_handler)(int status, const char *file, int line, const char *message);
    int itype;
    int dtype;
    int status;
    size_t malloc_count;
} cholmod_common;

typedef struct cholmod_sparse_struct {
    size_t nrow, ncol, nzmax;
    void *p, *i, *nz, *x, *z;
    int stype, itype, xtype, dtype, sorted, packed;
} cholmod_sparse;

typedef struct cholmod_factor_struct {
    size_t n, minor;
    void *Perm, *ColCount, *IPerm;
    size_t nzmax;
    void *p, *i, *x, *z, *nz, *next, *prev;
    size_t nsuper, ssize, xsize, maxcsize, maxesize;
    void *super, *pi, *px, *s;
    int ordering, is_ll, is_super, is_monotonic, itype, xtype, dtype, useGPU;
} cholmod_factor;

typedef struct cholmod_dense_struct {
    size_t nrow, ncol, nzmax, d;
    void *x, *z;
    int xtype, dtype;
} cholmod_dense;

static inline int mock_free_dense(cholmod_dense **x, cholmod_common *common) {
    if (x && *x) {
        free((*x)->x);
        free((*x)->z);
        free(*x);
        *x = NULL;
        common->malloc_count--;
    }
    return 1;
}

static inline cholmod_dense *mock_allocate_dense(size_t nrow, size_t ncol, size_t d, int xdtype,
                                                 cholmod_common *common) {
    cholmod_dense *x = (cholmod_dense *)calloc(1, sizeof *x);
    if (!x)
        return NULL;
    common->malloc_count++;
    x->nrow = nrow;
    x->ncol = ncol;
    x->d = d;
    x->nzmax = d * ncol;
    x->xtype = xdtype % 4;
    x->dtype = xdtype - xdtype % 4;
    x->x = calloc(2 * x->nzmax + 1, sizeof(double));
    x->z = x->xtype == CHOLMOD_ZOMPLEX ? calloc(x->nzmax + 1, sizeof(double)) : NULL;
    if (!x->x || (x->xtype == CHOLMOD_ZOMPLEX && !x->z))
        mock_free_dense(&x, common);
    return x;
}

/* From any xtype to complex or zomplex, in the precision x has. */
static inline int mock_dense_xtype(int to_xdtype, cholmod_dense *x, cholmod_common *common) {
    cholmod_dense *y = mock_allocate_dense(x->nrow, x->ncol, x->d, to_xdtype, common), swap;
    if (!y || y->dtype != x->dtype)
        return 0;
    const size_t bytes = x->dtype == CHOLMOD_DOUBLE ? sizeof(double) : sizeof(float);
    const int is_complex = x->xtype == CHOLMOD_COMPLEX;
    const double zero = 0; /* of either precision */
    for (size_t k = 0; k < x->nzmax; k++) {
        const char *re = (const char *)x->x + (is_complex ? 2 * k : k) * bytes;
        const char *im = is_complex ? re + bytes
                         : x->z     ? (const char *)x->z + k * bytes
                                    : (const char *)&zero;
        char *to = (char *)y->x + (y->z ? k : 2 * k) * bytes;
        memcpy(to, re, bytes);
        memcpy(y->z ? (char *)y->z + k * bytes : to + bytes, im, bytes);
    }
    swap = *x;
    *x = *y;
    *y = swap;
    return mock_free_dense(&y, common);
}

static inline cholmod_dense *mock_copy_dense(cholmod_dense *x, cholmod_common *common) {
    cholmod_dense *y = mock_allocate_dense(x->nrow, x->ncol, x->d, x->xtype + x->dtype, common);
    const size_t bytes = x->dtype == CHOLMOD_DOUBLE ? sizeof(double) : sizeof(float);
    if (y)
        memcpy(y->x, x->x, x->nzmax * bytes * (x->xtype == CHOLMOD_COMPLEX ? 2 : 1));
    if (y && x->z)
        memcpy(y->z, x->z, x->nzmax * bytes);
    return y;
}

static inline void *mock_malloc(size_t n, size_t size, cholmod_common *common) {
    void *memory = calloc(n ? n : 1, size);
    if (memory)
        common->malloc_count++;
    return memory;
}

static inline void *mock_free(size_t n, size_t size, void *memory, cholmod_common *common) {
    (void)n;
    (void)size;
    if (memory)
        common->malloc_count--;
    free(memory);
    return NULL;
}

static inline int mock_free_sparse(cholmod_sparse **a, cholmod_common *common) {
    if (a && *a) {
        free((*a)->p);
        free((*a)->i);
        free((*a)->x);
        free((*a)->z);
        free(*a);
        *a = NULL;
        common->malloc_count--;
    }
    return 1;
}

static inline cholmod_sparse *mock_allocate_sparse(size_t nrow, size_t ncol, size_t nzmax, int sorted,
                                                   int packed, int stype, int xdtype,
                                                   cholmod_common *common) {
    cholmod_sparse *a = (cholmod_sparse *)calloc(1, sizeof *a);
    if (!a)
        return NULL;
    common->malloc_count++;
    a->nrow = nrow;
    a->ncol = ncol;
    a->nzmax = nzmax;
    a->sorted = sorted;
    a->packed = packed;
    a->stype = stype;
    a->itype = common->itype;
    a->xtype = xdtype % 4;
    a->dtype = xdtype - xdtype % 4;
    a->p = calloc(ncol + 1, sizeof(int64_t));
    a->i = calloc(nzmax + 1, sizeof(int64_t));
    a->x = calloc(2 * nzmax + 1, sizeof(double));
    a->z = a->xtype == CHOLMOD_ZOMPLEX ? calloc(nzmax + 1, sizeof(double)) : NULL;
    if (!a->p || !a->i || !a->x || (a->xtype == CHOLMOD_ZOMPLEX && !a->z))
        mock_free_sparse(&a, common);
    return a;
}

#define cholmod_malloc mock_malloc
#define cholmod_l_malloc mock_malloc
#define cholmod_free mock_free
#define cholmod_l_free mock_free
#define cholmod_allocate_sparse mock_allocate_sparse
#define cholmod_l_allocate_sparse mock_allocate_sparse
#define cholmod_free_sparse mock_free_sparse
#define cholmod_l_free_sparse mock_free_sparse
#define cholmod_allocate_dense mock_allocate_dense
#define cholmod_l_allocate_dense mock_allocate_dense
#define cholmod_free_dense mock_free_dense
#define cholmod_l_free_dense mock_free_dense
#define cholmod_dense_xtype mock_dense_xtype
#define cholmod_l_dense_xtype mock_dense_xtype
#define cholmod_copy_dense mock_copy_dense
#define cholmod_l_copy_dense mock_copy_dense

#endif
