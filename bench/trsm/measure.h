/* One call of the dense API beside its peer: checked, then timed. */
#ifndef GPUSOLVE_BENCH_TRSM_MEASURE_H
#define GPUSOLVE_BENCH_TRSM_MEASURE_H

#include <stdint.h>

#include "gpusolve_dense.h"

typedef struct bench_machine {
    char name[256];
    int driver;
    double bandwidth; /* GB/s, read */
    double gflops[4]; /* of GEMM, by dtype */
    gpusolve_handle *handle;
    void *cublas, *cusolver, *stream;
} bench_machine;

typedef struct bench_call {
    const char *operation; /* trsm, trmm, potrs, potri */
    char dtype;
    char variant[5];
    int64_t n, nrhs;
} bench_call;

typedef struct bench_result {
    double own_us, own_min_us, own_spread; /* spread: (90th percentile - 10th) / median */
    double peer_us;                        /* 0: not measured */
    const char *peer;
    double own_error; /* the tests' ratio: below 30 */
    int wrong;
} bench_result;

int bench_dtype_index(char letter); /* s, d, c, z: 0 .. 3 */
int bench_open(bench_machine *machine, const char *dtypes);
void bench_close(bench_machine *machine);
double bench_wall(const bench_call *call, const bench_machine *machine); /* microseconds */

/* 0 if it could be measured, right or wrong; otherwise it has said why. */
int bench_run(bench_machine *machine, const bench_call *call, int with_peer, bench_result *result);

#endif
