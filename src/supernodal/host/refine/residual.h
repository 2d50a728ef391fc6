/* A on the host, and residuals against it. */
#ifndef GSV_HOST_RESIDUAL_H
#define GSV_HOST_RESIDUAL_H

#include "../../api/executor.h"

#include <stdatomic.h>

enum {
    GSV_HOST_PASS = 32,       /* columns for which A is read once */
    GSV_HOST_SUMS = 8,        /* columns whose sums are in registers */
    GSV_HOST_ROWS = 128,      /* a thread's share of rows at a time */
    GSV_HOST_SERIAL = 1 << 14 /* multiplications that are worth waking a thread */
};

/* The residuals of at most GSV_HOST_PASS columns of a block: R = B - A X. */
typedef struct gsv_host_residuals {
    const gpusolve_matrix *matrix;
    const void *b, *x;
    void *r;
    int64_t columns, b_stride;                      /* numbers between rows, of B by itself */
    int64_t first, count;                           /* of the pass */
    int careful, twice, componentwise;              /* careful: as careful.inc does it */
    const void *d;                                  /* the last correction, for its norm, or NULL */
    char wanted[GSV_HOST_PASS / GSV_HOST_SUMS + 1]; /* of each GSV_HOST_SUMS columns: is any worked on? */
    _Atomic int64_t next;                           /* block of rows */
    _Atomic uint64_t norms[GSV_HOST_PASS][4];       /* bits of doubles that are not negative */
} gsv_host_residuals;

/* Norms of a pass's columns, of R, X and B, and with care of D: the largest moduli, and a NaN for a number among them that is not finite. */
typedef struct gsv_host_norms {
    double most[4][GSV_HOST_PASS], poison[GSV_HOST_PASS];
} gsv_host_norms;

/* gpusolve_matrix.state */
typedef struct gsv_host_matrix {
    int64_t *row_ptr;
    int32_t *columns;
    void *values;
} gsv_host_matrix;

/* Rows begin .. end - 1 of a pass. */
typedef void gsv_host_rows(const gsv_host_residuals *t, int64_t begin, int64_t end, gsv_host_norms *norms);
gsv_host_rows gsv_host_careful_rows; /* careful.c */

/* The pass from column `first` on of a block of `columns` columns. */
gsv_host_residuals gsv_host_pass_of(const gpusolve_matrix *matrix, int64_t columns, int64_t first,
                                    const void *b, int64_t b_stride, const void *x, void *r);
/* Compute them where `state`, unless it is NULL, has an active column among GSV_HOST_SUMS. */
void gsv_host_find_residuals(gsv_pool *pool, gsv_host_residuals *found, const gsv_refine_column *state);
/* Of the pass' column number `column`, of R (or the error by components), X, B or D: the largest modulus, or NaN. */
double gsv_host_norm_of(const gsv_host_residuals *t, int64_t column, int which);

#endif
