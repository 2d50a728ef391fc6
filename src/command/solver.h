/* A's factor in gpusolve's hands. */
#ifndef GPUSOLVE_COMMAND_SOLVER_H
#define GPUSOLVE_COMMAND_SOLVER_H

#include "problem.h"

#include <stdio.h>

typedef struct command_solver {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    gpusolve_matrix *matrix; /* with --refine */
    double import_ms, solve_ms;
    double median_ms, least_ms,
        spread; /* with --repeat; spread: the middle half of the samples over the median */
    int steps;  /* with --refine: the most that a column took */
} command_solver;

/* COMMAND_DONE, or another exit status with the reason on standard error; to be released in either case. */
int solver_open(const command_options *options, command_solver *solver); /* the handle: finds the device */
int solver_import(const command_options *options, const command_problem *problem, command_solver *solver);
int solver_solve(const command_options *options, command_problem *problem, command_solver *solver); /* x */
int solver_repeat(const command_options *options, command_problem *problem,
                  command_solver *solver); /* times more solves */
void solver_release(command_solver *solver);

/* What --explain says. */
void solver_explain(const command_problem *problem, const command_solver *solver, FILE *file);

#endif
