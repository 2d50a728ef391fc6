/* What solves with made-up numbers take (main.c): both sweeps, and each by itself. */
#ifndef BENCH_PREPARE_SOLVE_H
#define BENCH_PREPARE_SOLVE_H

#include <stdint.h>

#include "gpusolve.h"

/* Prints a line for each of the comma-separated numbers of right-hand sides in `list`. b [n, host]: L L' x = b
 * has the solution x = 1; stored_bytes: of the lower trapezoids; threads: that the host's bandwidth is measured with. Returns 0, or -1 with the reason printed to
 * stderr: a call failed, or an answer is off by 1e-9. */
int prepare_time_solves(const char *spec, gpusolve_handle *handle, const gpusolve_factor *factor, int64_t n,
                        const double *b, double stored_bytes, const char *list, int repeat, int threads);

#endif
