/* Equations with A + E, and the factor of A: what tests of refinement by Krylov methods work with. */
#ifndef GPUSOLVE_TESTS_KRYLOV_CASE_H
#define GPUSOLVE_TESTS_KRYLOV_CASE_H

#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

typedef struct krylov_case {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    cholmod_sparse *a; /* A + E */
    cholmod_factor *l; /* of A */
    double norm_a;
    gpusolve_dtype dtype;
    int64_t n;
} krylov_case;

static inline double draw_part(void) {
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) * 0x1p-31;
}

static inline double complex entry(const cholmod_sparse *a, int k) {
    const double *x = a->x;
    return a->xtype == CHOLMOD_REAL ? x[k] : CMPLX(x[2 * k], x[2 * k + 1]);
}

static inline void add_to_entry(cholmod_sparse *a, int k, double complex value) {
    double *x = a->x;
    if (a->xtype == CHOLMOD_REAL) {
        x[k] += creal(value);
    } else {
        x[2 * k] += creal(value);
        x[2 * k + 1] += cimag(value);
    }
}

/* A + E with norm(E) = part norm(A): E has A's pattern, is Hermitian, and positive semidefinite by its dominant diagonal. */
static inline cholmod_sparse *disturbed(const cholmod_sparse *a, double part, cholmod_common *common) {
    cholmod_sparse *e = cholmod_copy_sparse((cholmod_sparse *)a, common),
                   *sum = cholmod_copy_sparse((cholmod_sparse *)a, common);
    REQUIRE(e && sum);
    const int n = (int)a->nrow, *p = a->p, *rows = a->i;
    for (int k = 0; k < p[n]; k++)
        add_to_entry(e, k, -entry(e, k));
    for (int j = 0; j < n; j++)
        for (int k = p[j] + 1; k < p[j + 1]; k++) { /* the diagonal comes first in a lower triangle */
            const double complex value = draw_part() * entry(a, k);
            add_to_entry(e, k, value);
            add_to_entry(e, p[j], cabs(value));
            add_to_entry(e, p[rows[k]], cabs(value));
        }
    const double scale = part * testing_sparse_norm(a) / testing_sparse_norm(e);
    for (int k = 0; k < p[n]; k++)
        add_to_entry(sum, k, scale * entry(e, k));
    cholmod_free_sparse(&e, common);
    return sum;
}

/* The factor is of A times `scale`, with `shift` taken from the diagonal of both matrices. */
static inline krylov_case make_case(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                                    double part, double scale, double shift, cholmod_common *common) {
    krylov_case c = {.handle = testing_handle_bits(backend, 2, 1)};
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    const int *p = a->p;
    for (int j = 0; j < (int)a->nrow; j++)
        add_to_entry(a, p[j], -shift);
    c.a = disturbed(a, part, common);
    for (int k = 0; k < p[a->nrow]; k++)
        add_to_entry(a, k, (scale - 1) * entry(a, k));
    c.norm_a = testing_sparse_norm(c.a);
    c.dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    c.n = (int64_t)a->nrow;
    REQUIRE(gpusolve_cholmod_matrix(c.handle, c.a, &c.matrix) == GPUSOLVE_OK);
    c.l = testing_factorize(a, kind, common);
    REQUIRE(c.l != NULL && gpusolve_cholmod_import(c.handle, c.l, &c.factor) == GPUSOLVE_OK);
    cholmod_free_sparse(&a, common);
    return c;
}

static inline void free_case(krylov_case *c, cholmod_common *common) {
    gpusolve_matrix_destroy(c->matrix);
    gpusolve_factor_destroy(c->factor);
    gpusolve_destroy(c->handle);
    cholmod_free_factor(&c->l, common);
    cholmod_free_sparse(&c->a, common);
}

static inline gpusolve_dense block(const krylov_case *c, int64_t cols) {
    return testing_block(c->dtype, GPUSOLVE_COL_MAJOR, c->n, cols, 0);
}

static inline gpusolve_status run(const krylov_case *c, gpusolve_workspace *workspace,
                                  const gpusolve_dense *b, const gpusolve_dense *x,
                                  const gpusolve_refine_options *options, double *errors, int *steps) {
    return gpusolve_refine(c->handle, c->factor, c->matrix, workspace, b, x, options, errors, steps);
}

#endif
