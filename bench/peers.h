/* Solvers that are timed beside gpusolve, in double precision, on the host. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "measure.h"
#include "problem.h"

enum { BENCH_CHOLMOD, BENCH_PARDISO, BENCH_PEERS }; /* in the order of their names */

typedef struct bench_peer {
    int wanted;
    const char *name;
    const char *absent; /* why it is not there, or NULL: then the rest was measured */
    bench_times solve;
    double error;        /* backward error of its answer */
    double factorise_ms; /* its ordering, analysis and factorisation */
    int64_t nnz_l;       /* numbers in its factor */
} bench_peer;

typedef struct bench_peers {
    bench_peer peer[BENCH_PEERS];
    bench_problem *problem;
    struct bench_pardiso *pardiso;
} bench_peers;

extern const char *const bench_peer_names[]; /* as the command line knows them; ends with NULL */

/* Factorise with those that are wanted (a bit each). A peer that cannot be had is absent, which is no
 * failure. */
void bench_peers_open(unsigned wanted, bench_problem *problem, int threads, bench_peers *peers);
void bench_peers_close(bench_peers *peers);

/* Check and time them on the right-hand sides that gpusolve gets, n x nrhs numbers of the problem's dtype.
 * Returns NULL, or what failed. */
const char *bench_peers_measure(bench_peers *peers, int64_t nrhs, const void *b, int repeat);

#endif
