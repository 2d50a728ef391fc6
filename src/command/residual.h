/* What is left of b when x is put into A x = b. */
#ifndef GPUSOLVE_COMMAND_RESIDUAL_H
#define GPUSOLVE_COMMAND_RESIDUAL_H

#include "problem.h"

#include <stdio.h>

enum { RESIDUAL_DECADES = 24 };

typedef struct command_residual {
    double *values;       /* b - A x, as x is laid out; NULL unless it was asked for */
    double worst;         /* the largest backward error of a column: norm(r) / (norm(A) norm(x) + norm(b)) */
    int64_t worst_column; /* counted from 1 */
    /* Of each component's abs(r_i) / (norm(A) norm(x) + norm(b)): how many are at least 10^-k but below 10^(1-k); the first
     * has what is larger, too. */
    int64_t decade[RESIDUAL_DECADES];
    int64_t smaller, zeros;
    int64_t largest_row, largest_column; /* of the largest of them, counted from 1; 0: all are zero */
} command_residual;

/* Products are summed in long double. keep: the values, too. 0, or -1 when out of memory; to be released. */
int residual_compute(const command_problem *problem, int keep, command_residual *residual);
void residual_release(command_residual *residual);

/* How many components are how large. */
void residual_plot(const command_residual *residual, FILE *file);

#endif
