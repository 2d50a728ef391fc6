/* oneMKL PARDISO, a peer that is looked for at run time: see README.md for how to get it. */
#ifndef BENCH_PARDISO_H
#define BENCH_PARDISO_H

#include "problem.h"

typedef struct bench_pardiso bench_pardiso;

/*
 * Find the library ($GPUSOLVE_MKL is its path; else libmkl_rt.so on the loader's path) and factorise the
 * problem's matrix with so many threads: positive definite, PARDISO's own METIS ordering, double. NULL: not
 * found, or it failed; *why says so.
 */
bench_pardiso *bench_pardiso_create(bench_problem *problem, int threads, const char **why);
void bench_pardiso_destroy(bench_pardiso *pardiso); /* NULL is accepted */

/* Solve for n x nrhs columns in double, the solve phase (33) alone, without refinement. 0, or its error. */
int bench_pardiso_solve(bench_pardiso *pardiso, int64_t nrhs, double *b, double *x);

double bench_pardiso_factorise_ms(const bench_pardiso *pardiso); /* analysis and factorisation */
int64_t bench_pardiso_nnz(const bench_pardiso *pardiso);         /* numbers in its factor */

#endif
