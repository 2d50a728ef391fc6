/* The log-determinant, as it is copied to where the operands are, and the condition number. */
#ifndef BENCH_DETERMINANT_H
#define BENCH_DETERMINANT_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_determinant {
    int wanted;    /* --determinant */
    double logdet; /* what the timed call has stored */
    double rcond;  /* with 1 for the norm of A */
    bench_times copy, estimate;
} bench_determinant;

/* Measure both, with a workspace for a solve. Returns NULL, or what failed. */
const char *bench_determinant_measure(const bench_device *device, gpusolve_handle *handle,
                                      const gpusolve_factor *factor, gpusolve_workspace *workspace,
                                      int repeat, bench_determinant *determinant);

/* Whether the logarithm is that of the problem's factor, summed in long double. */
int bench_determinant_is_right(const bench_problem *problem, const bench_determinant *determinant);

#endif
