/* A matrix, its factor by CHOLMOD, and the error of a solution: what the answers are checked against. */
#ifndef BENCH_PROBLEM_H
#define BENCH_PROBLEM_H

#include <cholmod.h>

#include "gpusolve.h"
#include "matrices/matrix.h"
#include "relax.h"

typedef struct bench_problem {
    char name[128];           /* bench_relax_name() */
    gpusolve_dtype dtype;     /* of the factor that is solved with */
    gpusolve_storage storage; /* of its L */
    int64_t n;
    int64_t nnz_a;        /* of both triangles */
    double norm_a;        /* norm(A, inf) */
    double factorise_ms;  /* CHOLMOD's ordering, analysis and factorisation */
    const char *ordering; /* "METIS", or what CHOLMOD took instead */
    cholmod_common common;
    cholmod_sparse *matrix; /* lower triangle, double */
    cholmod_factor *factor; /* supernodal L L', double */
    void *single_factor;    /* the factor's numbers in single precision, for dtypes s and c */
    void *single_matrix;
} bench_problem;

/* Load and factorise; dtype -1: double, real or complex as the matrix is. 0, or -1 with the reason on stderr.
 */
int bench_problem_create(const char *spec, int dtype, const bench_relax *relax, bench_problem *problem);
void bench_problem_destroy(bench_problem *problem);

/* The arrays as gpusolve takes them, with the problem's storage. */
gpusolve_factor_data bench_problem_factor(const bench_problem *problem);
gpusolve_matrix_data bench_problem_matrix(const bench_problem *problem);

/* The upper triangle's values by rows, in double, for the matrix's p and i: those of the lower one by
 * columns, conjugated where A is complex, in memory that is *owned then (free it), else NULL. NULL: out of
 * memory. */
const double *bench_problem_upper(const bench_problem *problem, double **owned);

/* What a number of the problem's dtype takes, and the distance of 1 to the next one. */
size_t bench_problem_number_bytes(const bench_problem *problem);
double bench_problem_epsilon(const bench_problem *problem);

/* B = A X for an X with entries spread evenly over [-1, 1), the same ones each time; n x nrhs numbers of the
 * dtype. -1 when out of memory. */
int bench_problem_right_side(const bench_problem *problem, int64_t nrhs, void *b);

/* The largest over the columns of norm(b - A x, inf) / (norm(A, inf) norm(x, inf) + norm(b, inf)), NaN if any
 * is; computed in double. b and x are n x nrhs numbers of the dtype. A negative number when out of memory. */
double bench_problem_error(const bench_problem *problem, int64_t nrhs, const void *b, const void *x);

#endif
