/* Solvers that are timed beside a batch, in double precision, on the host or on the device: each member has a factor of its own. */
#ifndef BENCH_BATCH_PEERS_H
#define BENCH_BATCH_PEERS_H

#include "peers.h"

enum { /* in the order of their names */
       BENCH_BATCH_CHOLMOD,
       BENCH_BATCH_CUDSS_UNIFORM,
       BENCH_BATCH_CUDSS,
       BENCH_BATCH_PEERS
};

typedef struct bench_batch_peers {
    bench_peer peer[BENCH_BATCH_PEERS]; /* factorise_ms: of all members; nnz_l 0: it does not say */
    int64_t members;
    bench_problem *problem;
    const bench_device *device;
} bench_batch_peers;

extern const char *const bench_batch_peer_names[]; /* as the command line knows them; ends with NULL */

/* Factorise all members with those that are wanted (a bit each). A peer that cannot be had is absent, which is no failure. */
void bench_batch_peers_open(unsigned wanted, int64_t members, bench_problem *problem,
                            const bench_device *device, int threads, bench_batch_peers *peers);
void bench_batch_peers_close(bench_batch_peers *peers);

/* Check the first and the last member's answers and time them; b: n x nrhs numbers of the problem's dtype, which every member gets. A peer may
 * refuse. One on the device is alone there meanwhile (gate.h). Returns NULL, or what failed. */
const char *bench_batch_peers_measure(bench_batch_peers *peers, int64_t nrhs, const void *b, int repeat);

#endif
