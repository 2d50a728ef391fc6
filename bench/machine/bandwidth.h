/* A read-only stream on the CUDA device: what the wall is computed from. */
#ifndef BENCH_BANDWIDTH_H
#define BENCH_BANDWIDTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read bytes (a multiple of 16) at x once, on a cudaStream_t. Asynchronous. 0 on success. */
int bench_bandwidth_read(void *x, size_t bytes, void *stream);

#ifdef __cplusplus
}
#endif
#endif
