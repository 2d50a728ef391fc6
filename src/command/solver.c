/* Importing, solving, refining, timing. b and x are in host memory, so times on a device include the copies. */
#define _POSIX_C_SOURCE 200809L

#include "solver.h"

#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int complain(const command_options *options, const command_solver *solver, gpusolve_status status,
                    const char *what) {
    const char *text = solver->handle ? gpusolve_last_error(solver->handle) : "";
    const int is_singular = status == GPUSOLVE_SINGULAR || status == GPUSOLVE_NOT_POSITIVE_DEFINITE;
    return command_complain(is_singular ? COMMAND_NOT_POSITIVE_DEFINITE : COMMAND_FAILED, "%s: %s: %s",
                            problem_name(options), what, text[0] ? text : gpusolve_status_message(status));
}

int solver_open(const command_options *options, command_solver *solver) {
    gpusolve_options create = GPUSOLVE_OPTIONS_INIT;
    memset(solver, 0, sizeof *solver);
    create.backend = options->backend;
    create.threads = options->threads;
    const gpusolve_status status = gpusolve_create(&solver->handle, &create);
    return status ? command_complain(COMMAND_FAILED, "%s", gpusolve_status_message(status)) : COMMAND_DONE;
}

void solver_release(command_solver *solver) {
    gpusolve_workspace_destroy(solver->workspace);
    gpusolve_matrix_destroy(solver->matrix);
    gpusolve_factor_destroy(solver->factor);
    gpusolve_destroy(solver->handle);
}

static gpusolve_status import_matrix(const gsm_matrix *a, command_solver *solver) {
    int64_t *rows = malloc(((size_t)a->nnz + 1) * sizeof *rows);
    gpusolve_matrix_data data = {.size = sizeof data,
                                 .format = GPUSOLVE_CSC,
                                 .triangle = GPUSOLVE_LOWER,
                                 .dtype = a->is_complex ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE,
                                 .itype = GPUSOLVE_INT64,
                                 .n = a->n,
                                 .ptr = a->colptr,
                                 .index = rows,
                                 .x = a->values};
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    for (int64_t k = 0; rows && k < a->nnz; k++)
        rows[k] = a->rowidx[k];
    if (rows)
        status = gpusolve_matrix_create(solver->handle, &data, &solver->matrix);
    free(rows);
    return status;
}

int solver_import(const command_options *options, const command_problem *p, command_solver *solver) {
    const double begin = command_now_ms();
    progress_stage("preparing %s", problem_name(options));
    gpusolve_status status =
        gpusolve_cholmod_import_stored(solver->handle, p->factor, options->storage, &solver->factor);
    if (!status)
        status = gpusolve_workspace_create(solver->handle, solver->factor, p->cols > 0 ? p->cols : 1,
                                           &solver->workspace);
    if (!status && options->refine)
        status = import_matrix(&p->a, solver);
    solver->import_ms = command_now_ms() - begin;
    return status ? complain(options, solver, status, "preparing the factor") : COMMAND_DONE;
}

static gpusolve_dense dense(const command_problem *p, double *values) {
    return (gpusolve_dense){p->is_complex ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE,
                            GPUSOLVE_COL_MAJOR,
                            p->a.n,
                            p->cols,
                            p->a.n > 0 ? p->a.n : 1,
                            values};
}

static gpusolve_status solve_once(const command_options *options, const command_problem *p,
                                  const command_solver *solver, int *steps) {
    const gpusolve_dense b = dense(p, p->b), x = dense(p, p->x);
    gpusolve_refine_options refine = GPUSOLVE_REFINE_OPTIONS_INIT;
    refine.method = options->method;
    if (options->refine)
        return gpusolve_refine(solver->handle, solver->factor, solver->matrix, solver->workspace, &b, &x,
                               &refine, NULL, steps);
    return gpusolve_solve(solver->handle, solver->factor, solver->workspace, options->system, &b, &x);
}

int solver_solve(const command_options *options, command_problem *p, command_solver *solver) {
    const int64_t count = p->a.n * p->cols * (p->is_complex ? 2 : 1);
    int *steps = calloc((size_t)p->cols + 1, sizeof *steps);
    if (!steps)
        return command_complain(COMMAND_FAILED, "out of memory");
    progress_stage("solving with %s", problem_name(options));
    const double begin = command_now_ms();
    const gpusolve_status status = solve_once(options, p, solver, steps);
    solver->solve_ms = command_now_ms() - begin;
    for (int64_t j = 0; j < p->cols; j++)
        solver->steps = steps[j] > solver->steps ? steps[j] : solver->steps;
    free(steps);
    if (status)
        return complain(options, solver, status, "solving");
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(p->x[k]))
            return command_complain(COMMAND_FAILED, "%s: x has numbers that are not finite: it overflows",
                                    problem_name(options));
    return COMMAND_DONE;
}

static int compare(const void *left, const void *right) {
    const double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

/* The first solve, which made x, was the warm-up; the same numbers come again. */
int solver_repeat(const command_options *options, command_problem *p, command_solver *solver) {
    const int count = options->repeat;
    double *samples = malloc(((size_t)count + 1) * sizeof *samples);
    gpusolve_status status = GPUSOLVE_OK;
    if (!samples)
        return command_complain(COMMAND_FAILED, "out of memory");
    progress_stage("timing %s", problem_name(options));
    for (int i = 0; i < count && !status; i++) {
        const double begin = command_now_ms();
        status = solve_once(options, p, solver, NULL);
        samples[i] = command_now_ms() - begin;
    }
    if (!status) {
        qsort(samples, (size_t)count, sizeof *samples, compare);
        solver->median_ms = 0.5 * (samples[(count - 1) / 2] + samples[count / 2]);
        solver->least_ms = samples[0];
        solver->spread = solver->median_ms > 0
                             ? (samples[3 * (count - 1) / 4] - samples[(count - 1) / 4]) / solver->median_ms
                             : 0;
    }
    free(samples);
    return status ? complain(options, solver, status, "solving again") : COMMAND_DONE;
}

void solver_explain(const command_problem *p, const command_solver *solver, FILE *file) {
    static char text[8192]; /* what is longer is cut off */
    gpusolve_cost cost = {.size = sizeof cost};
    if (!gpusolve_factor_summary(solver->handle, solver->factor, text, sizeof text, NULL))
        fputs(text, file);
    if (gpusolve_factor_cost(solver->handle, solver->factor, p->cols, 0, &cost))
        return;
    const double stored = 0.5 * (double)cost.bytes;
    fprintf(file,
            "a solve with %" PRId64 " column%s: L read twice %.3f MB, vectors %.3f MB, %.4g Gflop, %" PRId64
            " hops\n",
            cost.nrhs, cost.nrhs == 1 ? "" : "s", 1e-6 * (double)cost.bytes, 1e-6 * (double)cost.vector_bytes,
            1e-9 * (double)cost.flops, cost.hops);
    fprintf(file, "  the memory allows %.4f ms, predicted %.4f ms, on a machine like the one of the model\n",
            1e-3 * cost.wall_us, 1e-3 * cost.predicted_us);
    for (int i = 0; i < cost.tiers; i++)
        fprintf(file, "  %-12s %9" PRId64 " supernodes %12.3f MB %6.1f%%\n", cost.tier[i].name,
                cost.tier[i].supernodes, 1e-6 * (double)cost.tier[i].bytes,
                stored > 0 ? 100 * (double)cost.tier[i].bytes / stored : 0);
}
