/*
 * CHOLMOD's own solves of a batch: cholmod_solve2 for one member after the other, on all threads, of which each takes a run of members and
 * keeps a workspace. Every member has a factor of its own, a copy of the one that gpusolve imported. The BLAS has one thread meanwhile.
 */
#include <omp.h>
#include <stdlib.h>

#include "batch_solver.h"

/* OpenBLAS's own switch, where the BLAS is OpenBLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

/* What a thread works with. */
typedef struct cholmod_worker {
    cholmod_common common;
    cholmod_dense *y, *e;
} cholmod_worker;

typedef struct cholmod_batch {
    bench_problem *problem;
    int64_t members, nrhs;
    int threads;
    cholmod_factor **factor; /* [members] */
    cholmod_worker *worker;  /* [threads] */
    double *b, *x;
} cholmod_batch;

static void destroy(void *context) {
    cholmod_batch *batch = context;

    if (!batch)
        return;
    for (int64_t m = 0; batch->factor && m < batch->members; m++)
        cholmod_free_factor(&batch->factor[m], &batch->problem->common);
    for (int t = 0; batch->worker && t < batch->threads; t++) {
        cholmod_free_dense(&batch->worker[t].y, &batch->worker[t].common);
        cholmod_free_dense(&batch->worker[t].e, &batch->worker[t].common);
        cholmod_finish(&batch->worker[t].common);
    }
    free(batch->factor);
    free(batch->worker);
    free(batch);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int64_t members,
                    bench_solver_facts *facts) {
    cholmod_batch *batch = calloc(1, sizeof *batch);
    int failed = !batch;

    (void)device;
    if (batch) {
        *batch = (cholmod_batch){.problem = problem, .members = members, .threads = threads};
        batch->factor = calloc((size_t)members, sizeof *batch->factor);
        batch->worker = calloc((size_t)threads, sizeof *batch->worker);
        failed = !batch->factor || !batch->worker;
        for (int t = 0; batch->worker && t < threads; t++)
            cholmod_start(&batch->worker[t].common);
        for (int64_t m = 0; m < members && !failed; m++)
            failed = !(batch->factor[m] = cholmod_copy_factor(problem->factor, &problem->common));
    }
    facts->factorise_ms = (double)members * problem->factorise_ms;
    facts->nnz_l = members * (int64_t)problem->factor->xsize;
    if (!failed)
        return batch;
    bench_solver_explain(facts, "out of memory for a factor for each member");
    destroy(batch);
    return NULL;
}

static int bind(void *context, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    cholmod_batch *batch = context;

    (void)facts;
    batch->nrhs = nrhs;
    batch->b = b;
    batch->x = x;
    return 0;
}

static int solve_member(const cholmod_batch *batch, cholmod_worker *worker, int64_t m) {
    const size_t n = (size_t)batch->problem->n, nrhs = (size_t)batch->nrhs;
    const int xtype = batch->problem->matrix->xtype;
    const size_t begin = (size_t)m * n * nrhs * (xtype == CHOLMOD_COMPLEX ? 2 : 1);
    cholmod_dense b = {.nrow = n,
                       .ncol = nrhs,
                       .nzmax = n * nrhs,
                       .d = n,
                       .x = batch->b + begin,
                       .xtype = xtype,
                       .dtype = CHOLMOD_DOUBLE},
                  x = b, *answer = &x; /* of the right size and type, so that CHOLMOD keeps it */

    x.x = batch->x + begin;
    return !cholmod_solve2(CHOLMOD_A, batch->factor[m], &b, NULL, &answer, NULL, &worker->y, &worker->e,
                           &worker->common) ||
           answer != &x;
}

static int solve(void *context) {
    cholmod_batch *batch = context;
    const int blas_threads = openblas_get_num_threads ? openblas_get_num_threads() : 1;
    int failed = 0;

    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
#pragma omp parallel for num_threads(batch->threads) schedule(static) reduction(| : failed)
    for (int64_t m = 0; m < batch->members; m++)
        failed |= solve_member(batch, &batch->worker[omp_get_thread_num()], m);
    if (openblas_set_num_threads)
        openblas_set_num_threads(blas_threads);
    return failed;
}

const bench_batch_solver bench_cholmod_batch_solver = {0, create, destroy, bind, solve};
