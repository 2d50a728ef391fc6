/*
 * One triangular operation, and the recursion that carries out all of them: TRSM and TRMM, every side, uplo,
 * trans and diag, on any backend.
 *
 * Canonical form. Seen from the vectors (the columns of B, or on the right side its rows), the operation is a
 * triangle T against them: T = op(A) on the left, T = op(A)' on the right. If T is upper, its rows and
 * columns are numbered from the other end, which makes it lower. So T is lower triangular in every case,
 *
 *      solve       x1 = T11 \ b1;   b2 = b2 - T21 x1;   x2 = T22 \ b2
 *      multiply    b2 = T22 b2;     b2 = b2 + T21 b1;   b1 = T11 b1
 *
 * are the two recursions, and they differ in their order alone. A range of T's indices is a range of A's and
 * of B's in every case, numbered from the other end or not.
 */
#ifndef GSV_TRSM_TRIANGULAR_H
#define GSV_TRSM_TRIANGULAR_H

#include "../dtype.h"
#include "../message.h"
#include "gpusolve_dense.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsv_triangular_operation { GSV_SOLVE, GSV_MULTIPLY } gsv_triangular_operation;

typedef struct gsv_number {
    double re, im;
} gsv_number;

static inline int gsv_is_zero(gsv_number number) {
    return number.re == 0 && number.im == 0;
}

typedef struct gsv_triangular {
    gsv_triangular_operation operation;
    gpusolve_dtype dtype;
    gpusolve_side side;
    gpusolve_uplo uplo;
    gpusolve_trans trans;
    gpusolve_diag diag;
    int64_t order;   /* of A */
    int64_t vectors; /* columns of B, or its rows on the right side */
    const void *a;
    int64_t lda;
    void *b;
    int64_t ldb;
} gsv_triangular;

/*
 * What a backend does, on ranges of A's indices:
 *
 *      multiply    b(to) = beta b(to) + alpha T(to, from) b(from), T(to, from) lying in the triangle
 *      leaf        the operation itself, with alpha, on the diagonal block of `size` from `start` on
 *
 * stop: the largest leaf.
 */
typedef struct gsv_triangular_backend {
    void *context;
    int64_t stop;
    gpusolve_status (*multiply)(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta);
    gpusolve_status (*leaf)(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                            gsv_number alpha);
} gsv_triangular_backend;

/* The operation with alpha != 0 on a problem that is not empty. */
gpusolve_status gsv_triangular_run(const gsv_triangular *p, gsv_number alpha,
                                   const gsv_triangular_backend *backend);

/* Is T lower without being numbered from the other end? */
static inline int gsv_is_forward(const gsv_triangular *p) {
    const int lower = p->uplo == GPUSOLVE_LOWER, plain = p->trans == GPUSOLVE_NO_TRANS;
    return p->side == GPUSOLVE_LEFT ? lower == plain : lower != plain;
}

static inline int64_t gsv_number_bytes(gpusolve_dtype dtype) {
    return (int64_t)gsv_dtype_bytes(dtype);
}

/* Where T(i, j) is: A's entry (i, j) or, when T is a transpose of A, (j, i); in numbers from A's start. */
static inline int64_t gsv_place_in_a(const gsv_triangular *p, int64_t i, int64_t j) {
    const int transposed = (p->side == GPUSOLVE_RIGHT) != (p->trans != GPUSOLVE_NO_TRANS);
    return transposed ? j + i * p->lda : i + j * p->lda;
}

/* Where number i of the first vector is. */
static inline int64_t gsv_place_in_b(const gsv_triangular *p, int64_t i) {
    return p->side == GPUSOLVE_LEFT ? i : i * p->ldb;
}

/* The two backends' ways to do it all, alpha == 0 included. */
gpusolve_status gsv_triangular_host(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha);
gpusolve_status gsv_triangular_cuda(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                    void *workspace, size_t workspace_bytes);
gpusolve_status gsv_triangular_cuda_workspace(gpusolve_handle *handle, const gsv_triangular *p,
                                              size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
