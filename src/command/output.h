/* Files that are written whole or not at all. */
#ifndef GPUSOLVE_COMMAND_OUTPUT_H
#define GPUSOLVE_COMMAND_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

typedef struct command_output {
    const char *path; /* as the user gave it, for messages */
    char *target; /* the file itself, where path is a link; NULL: written as it is, not by a temporary file */
    char *temporary; /* in the folder of target */
    FILE *file;
} command_output;

/*
 * Opens path; "-" is standard output. A regular file, or one that does not exist, is written under a temporary name beside it
 * and renamed when it is complete; on SIGINT, SIGTERM and SIGHUP the temporary file is removed. What is no regular file (a
 * device, a pipe) is written directly. 0, or -1 with the reason on standard error.
 */
int output_open(command_output *out, const char *path);

/* A dense block, column-major, in the Matrix Market format: "matrix array", real or complex. Numbers have as many digits as it
 * takes to read the same ones back. 0 or -1, with the reason on standard error. */
int output_block(command_output *out, int64_t rows, int64_t cols, int is_complex, const double *values);

/* Puts the file in its place. 0 or -1, with the reason on standard error: then path is what it was before. */
int output_commit(command_output *out);

/* Gives everything back; a file that was not put in its place is removed. May be called twice, and of zeros. */
void output_discard(command_output *out);

#endif
