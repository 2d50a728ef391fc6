/* Iterative refinement: how long it takes, and what it comes to. Beside it, where L is stored in single precision, a solve with L as it is. */
#ifndef BENCH_REFINE_H
#define BENCH_REFINE_H

#include "../machine/device.h"
#include "problem.h"

typedef struct bench_refinement {
    int wanted; /* --refine */
    gpusolve_refine_method method;
    int most_steps;  /* --refine-steps: that a column may get */
    bench_times all; /* the whole call, the first solve too */
    bench_times
        queued; /* gpusolve_refine_async with as many steps as a column kept at most; on CUDA as a graph, as solves are timed */
    bench_times residual; /* of the x that is there */
    int least, most;      /* steps that a column kept */
    double error;         /* of the refined x */
    bench_times
        whole; /* a solve with a factor whose L is stored as it is, if the problem's is stored in single precision, */
    double whole_error; /* and its error */
} bench_refinement;

/* As the command line and the record call the methods, in the order of the enumeration; ends with NULL. */
extern const char *const bench_refine_methods[];

/* What is refined, and where its answer goes. */
typedef struct bench_refine_case {
    const bench_device *device;
    gpusolve_handle *handle;
    const bench_problem *problem;
    const gpusolve_factor *factor;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    const gpusolve_dense *b, *x; /* where the device's operands are */
    void *host_x;                /* gets the answer */
    size_t bytes;                /* of it */
    int repeat;
} bench_refine_case;

/* Refine, and time it and one residual. Returns NULL, or what failed. */
const char *bench_refine_measure(const bench_refine_case *c, bench_refinement *refinement);

/* Make the problem's factor once more, with L as it is, and time a solve with it. Returns NULL, or what failed. */
const char *bench_refine_measure_whole(const bench_refine_case *c, bench_refinement *refinement);

#endif
