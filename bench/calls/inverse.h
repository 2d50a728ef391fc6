/* The diagonal of A's inverse: how long it takes, how long it was predicted to take, and how exact it is. */
#ifndef BENCH_INVERSE_H
#define BENCH_INVERSE_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_inverse {
    int wanted;          /* --inverse */
    double asked_ms;     /* the prediction's own time */
    double predicted_ms; /* gpusolve_inverse_cost */
    double ms;           /* gpusolve_inverse_diagonal, once, after a call that warms up */
    double bytes;        /* of L that it reads */
    double
        error; /* the largest relative error of some entries; against solves that are refined with residuals in twice the precision */
} bench_inverse;

/* Measure it, with A on the handle's backend. Returns NULL, or what failed. */
const char *bench_inverse_measure(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  const gpusolve_matrix *matrix, const bench_problem *problem,
                                  bench_inverse *inverse);

/* Whether the error is as small as the factor's precision lets it be. */
int bench_inverse_is_right(const bench_problem *problem, const bench_inverse *inverse);

#endif
