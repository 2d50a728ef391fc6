/* Solves with a batch of members that all are the problem's factor. */
#ifndef BENCH_BATCH_H
#define BENCH_BATCH_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_batch {
    int explain;        /* print the batch's summary, too: --explain */
    int64_t count;      /* of members: --batch; 0: nothing was measured */
    double wall_us;     /* the members' factors read twice, b read and x written, at the measured bandwidth */
    bench_times packed; /* each member's columns one behind the other, */
    bench_times whole;  /* and all members' rows below each other: one block */
    double error;       /* the larger one of the first and the last member's */
} bench_batch;

/* Measure solves for nrhs columns of each member; host_b: of one of them. Returns NULL, or what failed. */
const char *bench_batch_measure(const bench_device *device, gpusolve_handle *handle,
                                const bench_problem *problem, int64_t nrhs, const void *host_b, int repeat,
                                int64_t stored_bytes, bench_batch *result);

#endif
