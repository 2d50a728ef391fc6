#include "device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read every number once, with as many threads as the solve has. */
static double sum(const double *x, size_t count, int threads) {
    double total = 0;

#pragma omp parallel for simd schedule(static) num_threads(threads) reduction(+ : total)
    for (size_t i = 0; i < count; i++)
        total += x[i];
    return total;
}

/* Bytes a second of a read-only stream that is larger than any cache; 0 when out of memory. */
static double measure_bandwidth(int threads) {
    size_t count = (size_t)1 << 27; /* 1 GiB */
    double *x = NULL, best = 0;

    while (count >= (size_t)1 << 20 && !(x = malloc(count * sizeof *x)))
        count /= 2;
    if (!x)
        return 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < count; i++)
        x[i] = 1;
    for (int i = 0; i < 5; i++) {
        double begin = bench_now_us();
        double total = sum(x, count, threads);
        double rate = (double)(count * sizeof *x) / (bench_now_us() - begin) * 1e6;

        if (total > 0 && rate > best)
            best = rate;
    }
    free(x);
    return best;
}

static int copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return 0;
}

static int time_calls(const bench_device *device, bench_call *call, void *context, int repeat,
                      bench_times *times) {
    (void)device;
    return bench_time_blocking(call, context, repeat, times);
}

static void recover(void) {}

static void close_device(bench_device *device) {
    (void)device;
}

int bench_device_open_host(bench_device *device, int threads) {
    *device = (bench_device){.bandwidth = measure_bandwidth(threads),
                             .allocate = malloc,
                             .release = free,
                             .upload = copy,
                             .download = copy,
                             .time = time_calls,
                             .time_peer = time_calls,
                             .recover = recover,
                             .close = close_device};
    if (!(device->bandwidth > 0)) {
        fprintf(stderr, "gpusolve-bench: no memory to measure the bandwidth with\n");
        return -1;
    }
    return 0;
}
