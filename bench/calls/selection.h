/* Solves with few rows of b and x, beside the whole solve that they are part of. */
#ifndef BENCH_SELECTION_H
#define BENCH_SELECTION_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_selection {
    int64_t rows;  /* of b and of x: --select; 0: nothing was measured */
    int64_t bytes; /* of the stored lower trapezoids that both sweeps read */
    bench_times solve;
    int same; /* whether the numbers are those of the whole solve */
} bench_selection;

/* Measure solves for nrhs columns with as many rows as selection->rows says, or all there are, evenly spread.
 * Returns NULL, or what failed. */
const char *bench_selection_measure(const bench_device *device, gpusolve_handle *handle,
                                    const gpusolve_factor *factor, const bench_problem *problem, int64_t nrhs,
                                    int repeat, bench_selection *selection);

#endif
