/* The command line of gpusolve-bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "gpusolve.h"
#include "relax.h"

enum { BENCH_MAX_NRHS = 16 };

typedef struct bench_options {
    gpusolve_backend backend;
    int threads;                  /* 0: as many as OpenMP takes */
    int in_place;                 /* L is read where CHOLMOD has it */
    gpusolve_storage storage;     /* of L */
    int64_t nrhs[BENCH_MAX_NRHS]; /* numbers of right-hand sides to measure */
    int nrhs_count;
    int dtype; /* a gpusolve_dtype, or -1: double, real or complex as the matrix is */
    int refine;
    gpusolve_refine_method refine_method;
    int refine_steps; /* corrections that a column may get */
    int explain;
    int determinant;      /* time it, and the condition number */
    int sample;           /* time samples */
    int inverse;          /* time the inverse's diagonal */
    int multiply;         /* time products with the factor */
    const char *saved;    /* save the factor to a file in this folder, and load it; NULL: do not */
    int64_t batch;        /* members of a batch to solve with as well, or 0 */
    unsigned batch_peers; /* a bit for each of peers/batch.h */
    int64_t select;       /* rows of b and x to solve for as well, or 0 */
    unsigned peers;       /* a bit for each of peers.h */
    unsigned untimed;     /* of those, the ones whose answers are checked alone */
    int blas_threads;     /* CHOLMOD's; 0: as many as threads */
    int prepare;          /* make the factor twice */
    double bandwidth;     /* bytes/s, known; 0: to be measured */
    const char *gate;     /* NULL: none */
    int repeat;
    bench_relax relax;
    int list;
    int help;
    const char *json; /* NULL: none */
    char **matrices;  /* what is left of argv */
    int matrix_count;
} bench_options;

/* 0, or -1 with the complaint printed to stderr. */
int bench_options_parse(int argc, char **argv, bench_options *options);
void bench_options_usage(void);

#endif
