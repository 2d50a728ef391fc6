/*
 * CHOLMOD's own solve, cholmod_solve2 with its workspace kept, on the factor that gpusolve imported. CHOLMOD has no refinement: a plain loop
 * of its calls stands for it, x = A \ b, and for each step r = b - A x, d = A \ r, x = x + d.
 */
#include <stdlib.h>
#include <string.h>

#include "solver.h"

typedef struct cholmod_solver {
    bench_problem *problem;
    cholmod_dense b, x; /* views of the caller's blocks */
    cholmod_dense *y, *e;
    int steps;
    cholmod_dense *r, *d; /* for steps */
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
    cholmod_free_dense(&solver->r, &solver->problem->common);
    cholmod_free_dense(&solver->d, &solver->problem->common);
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

static int refine(void *context, int steps) {
    cholmod_solver *solver = context;
    cholmod_common *common = &solver->problem->common;
    const cholmod_dense *x = &solver->x;

    solver->steps = steps;
    if (solver->r && solver->r->ncol != x->ncol)
        cholmod_free_dense(&solver->r, common);
    if (steps > 0 && !solver->r)
        solver->r = cholmod_allocate_dense(x->nrow, x->ncol, x->d, x->xtype, common);
    return steps > 0 && !solver->r;
}

/* x = x + A \ (b - A x) */
static int correct(cholmod_solver *solver) {
    double one[2] = {1, 0}, minus[2] = {-1, 0};
    cholmod_common *common = &solver->problem->common;
    const size_t numbers = solver->x.nrow * solver->x.ncol * (solver->x.xtype == CHOLMOD_COMPLEX ? 2 : 1);
    double *x = solver->x.x;

    memcpy(solver->r->x, solver->b.x, numbers * sizeof *x);
    if (!cholmod_sdmult(solver->problem->matrix, 0, minus, one, &solver->x, solver->r, common) ||
        !cholmod_solve2(CHOLMOD_A, solver->problem->factor, solver->r, NULL, &solver->d, NULL, &solver->y,
                        &solver->e, common))
        return 1;
    for (size_t k = 0; k < numbers; k++)
        x[k] += ((const double *)solver->d->x)[k];
    return 0;
}

static int solve(void *context) {
    cholmod_solver *solver = context;
    cholmod_dense *x = &solver->x; /* of the right size and type, so that CHOLMOD keeps it */
    int failed = !cholmod_solve2(CHOLMOD_A, solver->problem->factor, &solver->b, NULL, &x, NULL, &solver->y,
                                 &solver->e, &solver->problem->common) ||
                 x != &solver->x;

    for (int k = 0; k < solver->steps && !failed; k++)
        failed = correct(solver);
    return failed;
}

const bench_solver bench_cholmod_solver = {0, create, destroy, bind, solve, refine};
