/* A from its file, b from its own, and A's factor by CHOLMOD. */
#ifndef GPUSOLVE_COMMAND_PROBLEM_H
#define GPUSOLVE_COMMAND_PROBLEM_H

#include "command.h"
#include "matrices/block.h"
#include "matrices/matrix.h"

#include "gpusolve_cholmod.h"

typedef struct command_problem {
    gsm_matrix a;  /* lower triangle */
    double norm_a; /* norm(A, inf) */
    int64_t cols;
    int is_complex; /* b and x are: where A is, or the b that was given */
    double *b, *x;  /* n x cols, column-major; complex numbers as pairs */
    double read_ms, factorise_ms;
    const char *ordering; /* what CHOLMOD took */
    cholmod_common common;
    cholmod_factor *factor;
} command_problem;

/* An empty problem, to be released. */
void problem_start(command_problem *problem);

/* Reads A and b, and allocates x. COMMAND_DONE, or another exit status with the reason on standard error. */
int problem_read(const command_options *options, command_problem *problem);

/* Orders A, and factorises it with supernodes. As above. */
int problem_factorise(const command_options *options, command_problem *problem);

/* A factorisation that stopped, or a factor that gpusolve found to be singular: the column of A that is to blame. */
int problem_blame(const command_options *options, const command_problem *problem, int64_t column_of_factor,
                  const char *what);

/* A's name for messages: "standard input" for -. */
const char *problem_name(const command_options *options);

void problem_release(command_problem *problem);

#endif
