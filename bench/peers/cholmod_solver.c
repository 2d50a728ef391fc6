/* CHOLMOD's own solve, cholmod_solve2 with its workspace kept, on the factor that gpusolve imported. */
#include <stdlib.h>

#include "solver.h"

typedef struct cholmod_solver {
    bench_problem *problem;
    cholmod_dense b, x; /* views of the caller's blocks */
    cholmod_dense *y, *e;
} cholmod_solver;

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    cholmod_solver *solver = calloc(1, sizeof *solver);

    (void)device;
    (void)threads; /* set once for the BLAS, in main.c */
    (void)mode;
    if (!solver) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    solver->problem = problem;
    facts->factorise_ms = problem->factorise_ms;
    facts->nnz_l = (int64_t)problem->factor->xsize;
    return solver;
}

static void destroy(void *context) {
    cholmod_solver *solver = context;

    if (!solver)
        return;
    cholmod_free_dense(&solver->y, &solver->problem->common);
    cholmod_free_dense(&solver->e, &solver->problem->common);
    free(solver);
}

static int bind(void *context, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    cholmod_solver *solver = context;
    const size_t n = (size_t)solver->problem->n;

    (void)facts;
    solver->b = (cholmod_dense){.nrow = n,
                                .ncol = (size_t)nrhs,
                                .nzmax = n * (size_t)nrhs,
                                .d = n,
                                .x = b,
                                .xtype = solver->problem->matrix->xtype,
                                .dtype = CHOLMOD_DOUBLE};
    solver->x = solver->b;
    solver->x.x = x;
    return 0;
}

static int solve(void *context) {
    cholmod_solver *solver = context;
    cholmod_dense *x = &solver->x; /* of the right size and type, so that CHOLMOD keeps it */

    return !cholmod_solve2(CHOLMOD_A, solver->problem->factor, &solver->b, NULL, &x, NULL, &solver->y,
                           &solver->e, &solver->problem->common) ||
           x != &solver->x;
}

const bench_solver bench_cholmod_solver = {0, create, destroy, bind, solve};
