#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "gpusolve_sample.h"

typedef struct sample_case {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    const gpusolve_dense *b, *x;
    gpusolve_sample_options options;
} sample_case;

static int call_half(void *context) {
    sample_case *c = context;

    return (int)gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_Lt, c->b, c->x);
}

static int call_sample(void *context) {
    sample_case *c = context;

    return (int)gpusolve_sample(c->handle, c->factor, c->workspace, &c->options, c->x);
}

/* The first column: by the call, and by a solve with L' and one with P'. */
static int compare(const bench_device *device, sample_case *c, int *same) {
    gpusolve_dense b = *c->b, x = *c->x;
    const size_t bytes = (size_t)b.rows * (b.dtype == GPUSOLVE_COMPLEX_DOUBLE ? 16
                                           : b.dtype == GPUSOLVE_FLOAT        ? 4
                                                                              : 8);
    void *one = malloc(bytes + 1), *two = malloc(bytes + 1);
    int failed = !one || !two;

    b.cols = x.cols = 1;
    c->options.z = &b;
    failed = failed || gpusolve_sample(c->handle, c->factor, c->workspace, &c->options, &x) ||
             device->download(one, x.values, bytes) ||
             gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_Lt, &b, &x) ||
             gpusolve_solve(c->handle, c->factor, c->workspace, GPUSOLVE_Pt, &x, &x) ||
             device->download(two, x.values, bytes);
    *same = !failed && memcmp(one, two, bytes) == 0;
    free(one);
    free(two);
    return failed;
}

const char *bench_sample_measure(const bench_device *device, gpusolve_handle *handle,
                                 const gpusolve_factor *factor, gpusolve_workspace *workspace,
                                 const gpusolve_dense *b, const gpusolve_dense *x, int repeat,
                                 bench_sample *sample) {
    sample_case c = {handle, factor, workspace, b, x, GPUSOLVE_SAMPLE_OPTIONS_INIT};

    if (!sample->wanted)
        return NULL;
    if (compare(device, &c, &sample->same))
        return "sampling";
    if (device->time(device, call_half, &c, repeat, &sample->half))
        return "timing half a solve";
    c.options.z = b;
    if (device->time(device, call_sample, &c, repeat, &sample->given))
        return "timing samples of given numbers";
    c.options.z = NULL;
    if (device->time(device, call_sample, &c, repeat, &sample->drawn))
        return "timing samples";
    c.options.mean = b->values;
    if (device->time(device, call_sample, &c, repeat, &sample->mean))
        return "timing samples with a mean";
    return NULL;
}
