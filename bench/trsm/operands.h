/* Device memory of a run, and the graph that is timed: what measure.c and machine.c share. */
#ifndef GPUSOLVE_BENCH_TRSM_OPERANDS_H
#define GPUSOLVE_BENCH_TRSM_OPERANDS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>

#include "measure.h"
#include "peers.h"

#define TRY(call)                                                               \
    do {                                                                        \
        const int code_ = (int)(call);                                          \
        if (code_ != 0) {                                                       \
            fprintf(stderr, "gpusolve-trsm-bench: %s gave %d\n", #call, code_); \
            return -1;                                                          \
        }                                                                       \
    } while (0)

/* A, and B before, during and elsewhere. */
typedef struct bench_device_memory {
    void *a, *before, *b, *other, *workspace, *cublas_workspace;
    size_t bytes, workspace_bytes;
    int64_t n;
    char dtype;
} bench_device_memory;

extern bench_device_memory bench_memory;

size_t bench_number_bytes(int dtype);

/* a and before for this call's sizes: A has ones on the diagonal, and its rows sum to about 1.25, so that B
 * keeps its size however often it is solved for. */
int bench_fill(const bench_call *call, int dtype);

/* The call's triangle and sizes as the peers take them. */
peer_triangle bench_triangle_of(const bench_call *call);

int bench_capture(bench_machine *machine); /* begin */

/* Replay a graph: median, least and spread of one, in microseconds. Replays are grouped to at least 0.2 ms.
 */
int bench_replay(cudaGraph_t graph, cudaStream_t stream, double *median, double *least, double *spread);

/* For qsort of doubles. */
int bench_compare_numbers(const void *a, const void *b);

#endif
