/* Solvers that are timed beside gpusolve, in double precision, on the host or on the device. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "../machine/device.h"
#include "../solve/problem.h"

enum { /* in the order of their names */
       BENCH_CHOLMOD,
       BENCH_PARDISO,
       BENCH_PARDISO_ONE,
       BENCH_CUSPARSE,
       BENCH_CUDSS,
       BENCH_CUDSS_FP32,
       BENCH_CUDSS_BITS, /* deterministic */
       BENCH_CUDSS_REFINE2,
       BENCH_CHOLMOD_REFINED,
       BENCH_CUDSS_REFINED,
       BENCH_CUDSS_FP32_REFINED,
       BENCH_PEERS
};

typedef struct bench_peer {
    int wanted;
    const char *name;
    char absent[160];    /* why it is not there, or "" */
    char refused[160];   /* why it does not solve for the present number of right-hand sides, or "" */
    int untimed;         /* its answers are checked alone */
    int refines;         /* takes steps of refinement */
    int steps;           /* corrections in each solve */
    bench_times solve;   /* measured if it neither is absent nor refuses, unless it is untimed */
    double error;        /* backward error of its answer */
    double factorise_ms; /* its ordering, analysis and factorisation */
    int64_t nnz_l;       /* numbers in its factor */
    void *state;
} bench_peer;

typedef struct bench_peers {
    bench_peer peer[BENCH_PEERS];
    bench_problem *problem;
    const bench_device *device;
} bench_peers;

extern const char *const bench_peer_names[]; /* as the command line knows them; ends with NULL */

/* Factorise with those that are wanted (a bit each). A peer that cannot be had is absent, which is no
 * failure. */
void bench_peers_open(unsigned wanted, bench_problem *problem, const bench_device *device, int threads,
                      bench_peers *peers);
void bench_peers_close(bench_peers *peers);

/* A bit for each peer that refines. */
unsigned bench_peers_that_refine(void);

/* Check and time them on the right-hand sides that gpusolve gets, n x nrhs numbers of the problem's dtype. A
 * peer may refuse. A peer on the device is alone there meanwhile (gate.h). One that refines takes as few steps, at most
 * most_steps, as bring the backward error of its answer to that wanted, or to the unit of rounding if that is more; it takes
 * none beyond the first that does not halve the error. Returns NULL, or what failed. */
const char *bench_peers_measure(bench_peers *peers, int64_t nrhs, const void *b, int repeat, double wanted,
                                int most_steps);

#endif
