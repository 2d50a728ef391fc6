#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpusolve_batch.h"

typedef struct batched_case {
    gpusolve_handle *handle;
    const bench_device *device;
    const bench_problem *problem;
    gpusolve_batch *batch;
    gpusolve_batch_workspace *workspace;
    int64_t count, nrhs, stride;
    gpusolve_dense b, x; /* of the first member, values on the device */
    size_t number, member_bytes;
    char *host_x;
} batched_case;

static int call(void *context) {
    batched_case *c = context;

    return (int)gpusolve_batch_solve_strided(c->handle, c->batch, c->workspace, GPUSOLVE_A, &c->b, c->stride,
                                             &c->x, c->stride, NULL);
}

/* Blocks of members, packed or one below the other. */
static void lay_out(batched_case *c, int whole) {
    c->stride = whole ? c->problem->n : c->problem->n * c->nrhs;
    c->b.ld = c->x.ld = whole ? c->problem->n * c->count : c->problem->n;
}

/* Column j of member m. */
static size_t place_of(const batched_case *c, int64_t m, int64_t j) {
    return (size_t)(m * c->stride + j * c->b.ld) * c->number;
}

static int upload(const batched_case *c, const char *host_b) {
    const size_t column = (size_t)c->problem->n * c->number;

    for (int64_t m = 0; m < c->count; m++)
        for (int64_t j = 0; j < c->nrhs; j++)
            if (c->device->upload((char *)c->b.values + place_of(c, m, j), host_b + (size_t)j * column,
                                  column))
                return -1;
    return 0;
}

/* The larger error of the first and the last member. */
static int find_error(const batched_case *c, const void *host_b, double *error) {
    const size_t column = (size_t)c->problem->n * c->number;

    for (int last = 0; last < 2; last++) {
        for (int64_t j = 0; j < c->nrhs; j++)
            if (c->device->download(c->host_x + (size_t)j * column,
                                    (char *)c->x.values + place_of(c, last ? c->count - 1 : 0, j), column))
                return -1;
        const double own = bench_problem_error(c->problem, c->nrhs, host_b, c->host_x);

        if (own < 0)
            return -1;
        *error = own > *error || isnan(own) ? own : *error;
    }
    return 0;
}

static const char *measure(batched_case *c, const void *host_b, int repeat, bench_batch *result) {
    for (int whole = 0; whole < 2; whole++) {
        bench_times *times = whole ? &result->whole : &result->packed;

        lay_out(c, whole);
        if (upload(c, host_b))
            return "copying a batch's right-hand sides";
        if (call(c))
            return "solving a batch";
        if (find_error(c, host_b, &result->error))
            return "copying a batch's solutions";
        if (c->device->time(c->device, call, c, repeat, times))
            return "timing a batch";
    }
    return NULL;
}

static const char *prepare(batched_case *c) {
    gpusolve_factor_data *members = malloc((size_t)c->count * sizeof *members);
    const size_t bytes = c->member_bytes * (size_t)c->count;
    const char *failed = "allocating memory for a batch";

    c->host_x = malloc(c->member_bytes + 1);
    c->b.values = c->device->allocate(bytes + 1);
    c->x.values = c->device->allocate(bytes + 1);
    if (members && c->host_x && c->b.values && c->x.values) {
        for (int64_t m = 0; m < c->count; m++)
            members[m] = bench_problem_factor(c->problem);
        failed = gpusolve_batch_create(c->handle, c->count, members, NULL, &c->batch) ? "making a batch"
                 : gpusolve_batch_workspace_create(c->handle, c->batch, c->nrhs, &c->workspace)
                     ? "making a batch's workspace"
                     : NULL;
    }
    free(members);
    return failed;
}

static void print_summary(const batched_case *c) {
    static char text[8192]; /* what is longer is cut off */

    if (!gpusolve_factor_summary(c->handle, gpusolve_batch_get_factor(c->batch), text, sizeof text, NULL))
        fputs(text, stdout);
}

const char *bench_batch_measure(const bench_device *device, gpusolve_handle *handle,
                                const bench_problem *problem, int64_t nrhs, const void *host_b, int repeat,
                                int64_t stored_bytes, bench_batch *result) {
    const size_t number = bench_problem_number_bytes(problem);
    const int64_t n = problem->n;
    batched_case c = {.handle = handle,
                      .device = device,
                      .problem = problem,
                      .count = result->count,
                      .nrhs = nrhs,
                      .b = {problem->dtype, GPUSOLVE_COL_MAJOR, n, nrhs, n, NULL},
                      .x = {problem->dtype, GPUSOLVE_COL_MAJOR, n, nrhs, n, NULL},
                      .number = number,
                      .member_bytes = (size_t)(n * nrhs) * number};
    const char *failed;

    if (result->count == 0)
        return NULL;
    result->wall_us = 1e6 * (double)result->count * (2 * (double)stored_bytes + 2 * (double)c.member_bytes) /
                      device->bandwidth;
    failed = prepare(&c);
    if (!failed && result->explain)
        print_summary(&c);
    if (!failed)
        failed = measure(&c, host_b, repeat, result);
    gpusolve_batch_workspace_destroy(c.workspace);
    gpusolve_batch_destroy(c.batch);
    device->release(c.b.values);
    device->release(c.x.values);
    free(c.host_x);
    return failed;
}
