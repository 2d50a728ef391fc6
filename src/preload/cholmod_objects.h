/*
 * CHOLMOD's objects as CHOLMOD 3, 4 and 5 lay them out: the fields that the preload library reads, and those before them. It needs no
 * header of CHOLMOD, because one binary must serve every version. cholmod_common differs from version to version, so it
 * stays opaque. tests/preload/test_layout.c compares these structures with CHOLMOD's own.
 */
#ifndef PRELOAD_CHOLMOD_OBJECTS_H
#define PRELOAD_CHOLMOD_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct preload_common preload_common; /* cholmod_common; passed on, never read */

enum { PRELOAD_INT = 0, PRELOAD_LONG = 2 };                                               /* itype */
enum { PRELOAD_PATTERN = 0, PRELOAD_REAL = 1, PRELOAD_COMPLEX = 2, PRELOAD_ZOMPLEX = 3 }; /* xtype */
enum { PRELOAD_DOUBLE = 0, PRELOAD_SINGLE = 4 }; /* dtype; single precision came with CHOLMOD 5 */
enum { PRELOAD_NATURAL = 0 };                    /* ordering */

typedef struct preload_factor {
    size_t n, minor;
    void *Perm, *ColCount, *IPerm;
    size_t nzmax;
    void *p, *i, *x, *z, *nz, *next, *prev;
    size_t nsuper, ssize, xsize, maxcsize, maxesize;
    void *super, *pi, *px, *s;
    int ordering, is_ll, is_super, is_monotonic, itype, xtype, dtype, useGPU;
} preload_factor;

typedef struct preload_dense {
    size_t nrow, ncol, nzmax, d;
    void *x, *z;
    int xtype, dtype;
} preload_dense;

typedef struct preload_sparse {
    size_t nrow, ncol, nzmax;
    void *p, *i, *nz, *x, *z;
    int stype, itype, xtype, dtype, sorted, packed;
} preload_sparse;

/* Entry k of an index array of the type itype. */
static inline int64_t preload_index(const void *array, int itype, int64_t k) {
    return itype == PRELOAD_LONG ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static inline void preload_set_index(void *array, int itype, int64_t k, int64_t value) {
    if (itype == PRELOAD_LONG)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

/* Bytes of one real number of that dtype. */
static inline size_t preload_real_bytes(int dtype) {
    return dtype == PRELOAD_SINGLE ? sizeof(float) : sizeof(double);
}

/* Bytes of one number in the array x of an object: both parts where x holds both. */
static inline size_t preload_number_bytes(int xtype, int dtype) {
    return preload_real_bytes(dtype) * (xtype == PRELOAD_COMPLEX ? 2 : 1);
}

#endif
