/* Samples of the field whose precision matrix the problem is, beside the half of a solve that they are. */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_sample {
    int wanted;              /* --sample */
    int same;                /* one sample has the bits of two solves, L' and P' */
    bench_times half;        /* L' x = b */
    bench_times given;       /* a sample of b */
    bench_times drawn, mean; /* of numbers that are drawn; with a mean added */
} bench_sample;

/* Measure all for the columns of b and x, which are where the device's operands are; b's first column is the mean. Returns NULL, or what
 * failed. */
const char *bench_sample_measure(const bench_device *device, gpusolve_handle *handle,
                                 const gpusolve_factor *factor, gpusolve_workspace *workspace,
                                 const gpusolve_dense *b, const gpusolve_dense *x, int repeat,
                                 bench_sample *sample);

#endif
