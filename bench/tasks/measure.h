/* What the two benchmarks of many right-hand sides share: calls that must succeed, times, numbers. */
#ifndef GPUSOLVE_BENCH_MANY_MEASURE_H
#define GPUSOLVE_BENCH_MANY_MEASURE_H

#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#define TRY(call)                                             \
    do {                                                      \
        const int error_ = int(call);                         \
        if (error_) {                                         \
            fprintf(stderr, "%s: error %d\n", #call, error_); \
            exit(1);                                          \
        }                                                     \
    } while (0)

/* From -1 on, below 1. */
inline double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return double(*state >> 11) * 0x1p-52 - 1;
}

/* The median of several samples, each many launches in a row, in microseconds. */
template <typename Launch> double time_of(Launch launch) {
    enum { REPEAT = 20, SAMPLES = 9 };
    cudaEvent_t begin, end;
    double times[SAMPLES];
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (double &us : times) {
        TRY(cudaEventRecord(begin));
        for (int k = 0; k < REPEAT; k++)
            launch();
        TRY(cudaEventRecord(end));
        TRY(cudaEventSynchronize(end));
        float ms;
        TRY(cudaEventElapsedTime(&ms, begin, end));
        us = 1e3 * ms / REPEAT;
    }
    TRY(cudaEventDestroy(begin));
    TRY(cudaEventDestroy(end));
    std::sort(times, times + SAMPLES);
    return times[SAMPLES / 2];
}

#endif
