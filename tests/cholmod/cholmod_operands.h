/* Matrices and right-hand sides in the forms in which CHOLMOD has them, and how far two answers are apart. */
#ifndef CHOLMOD_OPERANDS_H
#define CHOLMOD_OPERANDS_H

#include "api/import_cases.h"

/* The same matrix with 64-bit indices. */
static inline cholmod_sparse *widen(const cholmod_sparse *a, cholmod_common *common) {
    const size_t n = a->ncol, entries = (size_t)((const int *)a->p)[n];
    cholmod_sparse *w = cholmod_l_allocate_sparse(n, n, entries, a->sorted, 1, a->stype, a->xtype, common);
    REQUIRE(w != NULL);
    for (size_t j = 0; j <= n; j++)
        ((SuiteSparse_long *)w->p)[j] = ((const int *)a->p)[j];
    for (size_t t = 0; t < entries; t++)
        ((SuiteSparse_long *)w->i)[t] = ((const int *)a->i)[t];
    memcpy(w->x, a->x, entries * (a->xtype == CHOLMOD_COMPLEX ? 16 : 8));
    if (a->xtype == CHOLMOD_ZOMPLEX)
        memcpy(w->z, a->z, entries * 8);
    return w;
}

static inline cholmod_factor *factorize_wide(cholmod_sparse *a, int supernodal, cholmod_common *common) {
    common->supernodal = supernodal ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    cholmod_factor *l = cholmod_l_analyze(a, common);
    REQUIRE(l && cholmod_l_factorize(a, l, common));
    return l;
}

static inline int is_wide(const cholmod_common *common) {
    return common->itype == CHOLMOD_LONG;
}

static inline cholmod_dense *reference_solve(int sys, cholmod_factor *l, cholmod_dense *b,
                                             cholmod_common *common) {
    return is_wide(common) ? cholmod_l_solve(sys, l, b, common) : cholmod_solve(sys, l, b, common);
}

static inline void free_dense(cholmod_dense **x, cholmod_common *common) {
    is_wide(common) ? cholmod_l_free_dense(x, common) : cholmod_free_dense(x, common);
}

static inline cholmod_dense *random_dense(size_t n, size_t cols, size_t d, int xtype,
                                          cholmod_common *common) {
    cholmod_dense *b = is_wide(common) ? cholmod_l_allocate_dense(n, cols, d, xtype, common)
                                       : cholmod_allocate_dense(n, cols, d, xtype, common);
    REQUIRE(b != NULL);
    uint64_t state = 7;
    for (size_t k = 0; k < d * cols * (xtype == CHOLMOD_COMPLEX ? 2 : 1); k++)
        ((double *)b->x)[k] = testing_random(&state);
    for (size_t k = 0; xtype == CHOLMOD_ZOMPLEX && k < d * cols; k++)
        ((double *)b->z)[k] = testing_random(&state);
    return b;
}

static inline double complex dense_at(const cholmod_dense *x, size_t k) {
    const double *re = x->x, *im = x->z;
    if (x->xtype == CHOLMOD_COMPLEX)
        return CMPLX(re[2 * k], re[2 * k + 1]);
    return x->xtype == CHOLMOD_ZOMPLEX ? CMPLX(re[k], im[k]) : re[k];
}

/* The largest difference over the largest number. */
static inline double difference(const cholmod_dense *x, const cholmod_dense *y) {
    double most = 0, largest = 1e-300;
    for (size_t j = 0; j < x->ncol; j++)
        for (size_t i = 0; i < x->nrow; i++) {
            const double complex a = dense_at(x, i + j * x->d), b = dense_at(y, i + j * y->d);
            most = cabs(a - b) > most || isnan(cabs(a - b)) ? cabs(a - b) : most;
            largest = cabs(b) > largest ? cabs(b) : largest;
        }
    return most / largest;
}

#endif
