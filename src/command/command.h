/* gpusolve-solve: what its files share. Only main.c ends the program. */
#ifndef GPUSOLVE_COMMAND_H
#define GPUSOLVE_COMMAND_H

#include <stdint.h>

#include "gpusolve.h"

/* The exit statuses, as the man page has them. */
enum {
    COMMAND_DONE = 0,                  /* x was written */
    COMMAND_FAILED = 1,                /* out of memory, no device, a solve that failed */
    COMMAND_USAGE = 2,                 /* the command line is wrong */
    COMMAND_BAD_FILE = 3,              /* a file cannot be read, or is not a matrix or not a b for it */
    COMMAND_NOT_POSITIVE_DEFINITE = 4, /* A is not, or is singular to rounding */
    COMMAND_NOT_WRITTEN = 5            /* a file cannot be written */
};

typedef enum command_ordering {
    ORDERING_METIS,
    ORDERING_NESDIS,
    ORDERING_AMD,
    ORDERING_NATURAL,
    ORDERING_BEST
} command_ordering;

typedef struct command_options {
    const char *matrix;      /* a path, "-", or a generator's spec */
    const char *right_sides; /* a path or "-"; NULL: one column of ones */
    const char *output;      /* a path or "-" */
    const char *residuals;   /* a path, "-" or NULL */
    gpusolve_system system;
    gpusolve_backend backend;
    int threads; /* 0: as many as there are processors */
    command_ordering ordering;
    gpusolve_storage storage;      /* of L */
    gpusolve_refine_method method; /* with refine */
    int repeat;                    /* timed solves; 0: x is computed once */
    int refine, explain, plot, quiet, help, version;
} command_options;

/* 0, or -1 with the reason on standard error. */
int command_parse(int argc, char **argv, command_options *options);

/* The text of --help, static. */
const char *command_usage(void);

/* "METIS", "AMD", ... */
const char *command_ordering_name(command_ordering ordering);

/* "richardson", "cg", ... */
const char *command_method_name(gpusolve_refine_method method);

/* Writes "gpusolve-solve: ", the message and a line's end to standard error, and returns status. */
__attribute__((format(printf, 2, 3))) int command_complain(int status, const char *format, ...);

/* Milliseconds of a clock that only goes forward. */
double command_now_ms(void);

#endif
