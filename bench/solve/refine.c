#include "refine.h"

#include <limits.h>
#include <stdlib.h>

const char *const bench_refine_methods[] = {"richardson", "cg", "fgmres", "automatic", NULL};

typedef struct refine_call {
    const bench_refine_case *c;
    gpusolve_refine_options options;
    double *errors;
    int *steps;
} refine_call;

static int call_refine(void *context) {
    const refine_call *call = context;
    const bench_refine_case *c = call->c;

    return (int)gpusolve_refine(c->handle, c->factor, c->matrix, c->workspace, c->b, c->x, &call->options,
                                call->errors, call->steps);
}

static int call_queued(void *context) {
    const refine_call *call = context;
    const bench_refine_case *c = call->c;

    return (int)gpusolve_refine_async(c->handle, c->factor, c->matrix, c->workspace, c->b, c->x,
                                      &call->options, NULL, NULL);
}

static const char *measure(refine_call *call, bench_refinement *refinement) {
    const bench_refine_case *c = call->c;

    if (call_refine(call) || c->device->download(c->host_x, c->x->values, c->bytes))
        return "refining";
    refinement->least = INT_MAX;
    refinement->most = 0;
    for (int64_t j = 0; j < c->b->cols; j++) {
        if (call->steps[j] < refinement->least)
            refinement->least = call->steps[j];
        if (call->steps[j] > refinement->most)
            refinement->most = call->steps[j];
    }
    if (bench_time_blocking(call_refine, call, c->repeat, &refinement->all))
        return "timing the refinement";
    call->options.max_steps = refinement->most;
    if (gpusolve_refine_reserve(c->handle, c->factor, c->matrix, c->workspace, &call->options))
        return "making room for a refinement without waiting";
    if (c->device->time(c->device, call_queued, call, c->repeat, &refinement->queued))
        return "timing a refinement without waiting";
    call->options.solve_first = call->options.max_steps = 0; /* of the x that is there */
    if (bench_time_blocking(call_refine, call, c->repeat, &refinement->residual))
        return "timing the residual";
    return NULL;
}

const char *bench_refine_measure(const bench_refine_case *c, bench_refinement *refinement) {
    refine_call call = {.c = c,
                        .options = GPUSOLVE_REFINE_OPTIONS_INIT,
                        .errors = calloc((size_t)c->b->cols, sizeof *call.errors),
                        .steps = calloc((size_t)c->b->cols, sizeof *call.steps)};
    const char *failed = "allocating memory";

    call.options.method = refinement->method;
    call.options.max_steps = refinement->most_steps;
    if (call.errors && call.steps)
        failed = measure(&call, refinement);
    free(call.errors);
    free(call.steps);
    return failed;
}

static int call_solve(void *context) {
    const bench_refine_case *c = context;

    return (int)gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_A, c->b, c->x);
}

const char *bench_refine_measure_whole(const bench_refine_case *c, bench_refinement *refinement) {
    gpusolve_factor_data data = bench_problem_factor(c->problem);
    gpusolve_factor *factor = NULL;
    bench_refine_case whole = *c;
    const char *failed = NULL;

    data.storage = GPUSOLVE_STORAGE_SAME;
    if (gpusolve_factor_create(c->handle, &data, &factor))
        return "importing the factor with L as it is";
    whole.factor = factor;
    whole.workspace = NULL;
    if (gpusolve_workspace_create(c->handle, factor, c->b->cols, &whole.workspace))
        failed = "making a workspace for L as it is";
    else if (call_solve(&whole) || c->device->download(c->host_x, c->x->values, c->bytes))
        failed = "solving with L as it is";
    else if (c->device->time(c->device, call_solve, &whole, c->repeat, &refinement->whole))
        failed = "timing a solve with L as it is";
    gpusolve_workspace_destroy(whole.workspace);
    gpusolve_factor_destroy(factor);
    return failed;
}
