/* What a peer of batches is to batch.c: one table of functions for each. */
#ifndef BENCH_BATCH_SOLVER_H
#define BENCH_BATCH_SOLVER_H

#include "solver.h"

typedef struct bench_batch_solver {
    int on_device; /* as in bench_solver */
    /* Order, analyse and factorise the problem's matrix in double, once for each member. NULL: it cannot be had, facts->why says so. */
    void *(*create)(bench_problem *problem, const bench_device *device, int threads, int64_t members,
                    bench_solver_facts *facts);
    void (*destroy)(void *solver); /* NULL is accepted */
    /* The next solves are x = A \ b of every member. Its n x nrhs numbers, column-major, lie right behind those of the member before. Nonzero:
     * it refuses, facts->why says so. */
    int (*bind)(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts);
    bench_call *solve; /* of the solver */
} bench_batch_solver;

extern const bench_batch_solver bench_cholmod_batch_solver;       /* cholmod_batch.c */
extern const bench_batch_solver bench_cudss_uniform_batch_solver; /* cudss_batch.c */
extern const bench_batch_solver bench_cudss_batch_solver;

#endif
