/* What a peer is to peers.c: one table of functions for each. */
#ifndef BENCH_SOLVER_H
#define BENCH_SOLVER_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_solver_facts {
    double factorise_ms; /* its ordering, analysis and factorisation */
    int64_t nnz_l;       /* numbers in its factor */
    char why[160];       /* it is absent, or refuses, because */
} bench_solver_facts;

/* Write facts->why, cut off where it is too long; returns -1. */
__attribute__((format(printf, 2, 3))) int bench_solver_explain(bench_solver_facts *facts, const char *format,
                                                               ...);

typedef struct bench_solver {
    int on_device; /* its operands are in the device's memory, and its solve is on the device's stream */
    /* Order, analyse and factorise in double. NULL: it cannot be had, facts->why says so. */
    void *(*create)(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts);
    void (*destroy)(void *solver); /* NULL is accepted */
    /* The next solves are x = A \ b, n x nrhs numbers each, column-major. All that need not be done again for
     * the next b. Nonzero: it refuses, facts->why says so. */
    int (*bind)(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts);
    bench_call *solve; /* of the solver */
    /* How many steps of refinement the next solves take. NULL: it has none. */
    int (*refine)(void *solver, int steps);
} bench_solver;

extern const bench_solver bench_cholmod_solver;  /* cholmod_solver.c */
extern const bench_solver bench_pardiso_solver;  /* pardiso.c */
extern const bench_solver bench_cusparse_solver; /* cusparse.c */
extern const bench_solver bench_cudss_solver;    /* cudss.c */

/* Modes of bench_pardiso_solver: levels of its scheduling. */
enum { BENCH_PARDISO_TWO_LEVELS, BENCH_PARDISO_ONE_LEVEL };

/* Modes of bench_cudss_solver. */
enum {
    BENCH_CUDSS_DEFAULT,
    BENCH_CUDSS_SINGLE,        /* factors in single precision but for their diagonal blocks */
    BENCH_CUDSS_DETERMINISTIC, /* the same bits every time */
    BENCH_CUDSS_REFINE         /* two steps of refinement */
};

#endif
