#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/machine/device.h"

enum { SYSTEMS = 3 };
static const gpusolve_system systems[SYSTEMS] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt};

/* A solve with operands where the backend has them. */
typedef struct solve {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    gpusolve_system system;
    gpusolve_dense b, x;
} solve;

static int call(void *context) {
    solve *s = context;
    return (int)gpusolve_solve(s->handle, s->factor, s->workspace, s->system, &s->b, &s->x);
}

/* The largest error of a solution that is 1 everywhere; NaN if some number is, or a call fails. */
static double error_of(solve *s, const bench_device *device, double *host) {
    const size_t count = (size_t)(s->x.rows * s->x.cols);
    double error = 0;
    s->system = GPUSOLVE_LDLt;
    if (call(s) || device->download(host, s->x.values, count * sizeof *host))
        return NAN;
    for (size_t k = 0; k < count; k++) {
        const double here = fabs(host[k] - 1);
        error = here > error || isnan(here) ? here : error; /* a NaN stays */
    }
    return error;
}

/* One line: a number of right-hand sides, all of them b. */
static int time_width(const char *spec, solve *s, const bench_device *device, int64_t cols, const double *b,
                      double stored_bytes, int repeat) {
    const int64_t n = s->b.rows;
    const size_t bytes = (size_t)(n * cols) * sizeof *b;
    bench_times times[SYSTEMS];
    double *host = malloc(bytes), error = NAN;
    s->b.cols = s->x.cols = cols;
    s->b.values = device->allocate(bytes);
    s->x.values = device->allocate(bytes);
    int status = !host || !s->b.values || !s->x.values ||
                 gpusolve_workspace_create(s->handle, s->factor, cols, &s->workspace);
    for (int64_t j = 0; j < cols && !status; j++)
        status = device->upload((double *)s->b.values + j * n, b, (size_t)n * sizeof *b);
    if (!status)
        status = !((error = error_of(s, device, host)) < 1e-9);
    for (int k = 0; k < SYSTEMS && !status; k++) {
        s->system = systems[k];
        status = device->time(device, call, s, repeat, &times[k]);
    }
    if (status)
        fprintf(stderr, "gpusolve-prepare-bench: %s, %lld right-hand sides, error %.1e: %s\n", spec,
                (long long)cols, error, gpusolve_last_error(s->handle));
    else
        printf("%-18s nrhs %5lld  A %10.1f us, L %10.1f, L' %10.1f  panels at %.0f GB/s: %.1f\n", spec,
               (long long)cols, times[0].median, times[1].median, times[2].median, 1e-9 * device->bandwidth,
               2e6 * stored_bytes / device->bandwidth);
    gpusolve_workspace_destroy(s->workspace);
    s->workspace = NULL;
    device->release(s->b.values);
    device->release(s->x.values);
    free(host);
    return status ? -1 : 0;
}

int prepare_time_solves(const char *spec, gpusolve_handle *handle, const gpusolve_factor *factor, int64_t n,
                        const double *b, double stored_bytes, const char *list, int repeat, int threads) {
    bench_device device;
    const gpusolve_dense block = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, NULL};
    solve s = {handle, factor, NULL, GPUSOLVE_A, block, block};
    if (bench_device_open(&device, handle, threads, 0))
        return -1;
    int status = gpusolve_set_stream(handle, device.stream) != GPUSOLVE_OK;
    for (const char *at = list; !status && *at;) {
        char *end;
        const long cols = strtol(at, &end, 10);
        if (end == at || cols < 1 || (*end && *end != ',')) {
            fprintf(stderr, "gpusolve-prepare-bench: numbers of right-hand sides, not %s\n", at);
            status = -1;
            break;
        }
        status = time_width(spec, &s, &device, cols, b, stored_bytes, repeat);
        at = *end ? end + 1 : end;
    }
    gpusolve_set_stream(handle, NULL);
    device.close(&device);
    return status ? -1 : 0;
}
