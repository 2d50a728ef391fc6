/* CHOLMOD for tests: matrices, factors, their explicit form, and the operators of the nine systems. 32-bit
 * indices. */
#ifndef GPUSOLVE_CHOLMOD_HELPERS_H
#define GPUSOLVE_CHOLMOD_HELPERS_H

#include <cholmod.h>

#include "complex_number.h"
#include "gpusolve.h"
#include "matrices/matrix.h"

/* NULL where CHOLMOD is out of memory. The lower triangle is stored (stype -1). */
cholmod_sparse *testing_sparse(const gsm_matrix *matrix, cholmod_common *common);
/* Loads a matrix (gsm_load); prints the reason where that fails. */
cholmod_sparse *testing_load(const char *spec, cholmod_common *common);

/* A copy of A's arrays by reference, for gpusolve_matrix_create. */
gpusolve_matrix_data testing_matrix_data(const cholmod_sparse *a);

/* The arrays of a factor, by reference. */
gpusolve_factor_data testing_factor_data(const cholmod_factor *l);

/* Its numbers in single precision, to be freed, to which the arrays in *data point then. NULL: out of memory. */
float *testing_round(const cholmod_factor *l, gpusolve_factor_data *data);

/* Analyse and factorise. A simplicial factor is packed and its columns are in order. NULL: CHOLMOD failed. */
cholmod_factor *testing_factorize(cholmod_sparse *a, gpusolve_factor_kind kind, cholmod_common *common);

/* P A P' = L D L' by columns, in full view. D is all ones for L L'. */
typedef struct testing_explicit {
    int n;
    int *p;            /* [n + 1] */
    int *i;            /* rows, the diagonal first */
    double complex *x; /* a diagonal of ones for L D L' */
    double *d;
    int *perm;
    const cholmod_sparse *a; /* borrowed */
} testing_explicit;

/* 0 on success. */
int testing_explicit_create(const cholmod_factor *l, const cholmod_sparse *a, cholmod_common *common,
                            testing_explicit *e);
void testing_explicit_round(testing_explicit *e); /* its numbers to single precision */
void testing_explicit_free(testing_explicit *e);

/* y = M x, where M is the system's operator: b = M x is what x solves. For A and LDLt, M comes from A itself.
 */
void testing_multiply(const testing_explicit *e, gpusolve_system system, const double complex *x,
                      double complex *y);
/* norm(M, inf) */
double testing_norm(const testing_explicit *e, gpusolve_system system);

/* y = A x; norm(A, inf) */
void testing_sparse_multiply(const cholmod_sparse *a, const double complex *x, double complex *y);

/* A beside its inverse, 2 n columns of n numbers, by elimination without pivots: A is positive definite. To be freed. */
double complex *testing_invert(const cholmod_sparse *a);
double testing_sparse_norm(const cholmod_sparse *a);

/* norm(b - A x) / (norm(A) norm(x) + norm(b)), infinity norms; norm_a from testing_sparse_norm. */
double testing_backward_error(const cholmod_sparse *a, double norm_a, const double complex *x,
                              const double complex *b);

#endif
