#define _DEFAULT_SOURCE /* madvise */
#include "device.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SUMS = 32 }; /* independent ones: a single sum waits for its additions, not for the memory */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
static double
sum(const double *x, size_t count) {
    double sums[SUMS] = {0}, total = 0;

    for (size_t i = 0; i + SUMS <= count; i += SUMS)
        for (int k = 0; k < SUMS; k++)
            sums[k] += x[i + (size_t)k];
    for (int k = 0; k < SUMS; k++)
        total += sums[k];
    return total;
}

/* Read every number once, with as many threads as the solve has. */
static double read_all(const double *x, size_t count, int threads) {
    double total = 0;

#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        const size_t part = count / (size_t)omp_get_num_threads();

        total += sum(x + part * (size_t)omp_get_thread_num(), part);
    }
    return total;
}

/* Bytes a second of a read-only stream that is larger than any cache, on huge pages where the system has
 * them, as the library's own memory is; 0 when out of memory. */
static double measure_bandwidth(int threads) {
    enum { HUGE_PAGE = 1 << 21 };
    size_t count = (size_t)1 << 27; /* 1 GiB */
    double *x = NULL, best = 0;

    while (count >= (size_t)1 << 20 && !(x = aligned_alloc(HUGE_PAGE, count * sizeof *x)))
        count /= 2;
    if (!x)
        return 0;
#ifdef MADV_HUGEPAGE
    madvise(x, count * sizeof *x, MADV_HUGEPAGE);
#endif
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < count; i++)
        x[i] = 1;
    for (int i = 0; i < 5; i++) {
        double begin = bench_now_us();
        double total = read_all(x, count, threads);
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

static int64_t taken(void) {
    return -1;
}

static double no_bus(void) {
    return NAN;
}

static void close_device(bench_device *device) {
    (void)device;
}

int bench_device_open_host(bench_device *device, int threads, double bandwidth) {
    *device = (bench_device){.bandwidth = bandwidth > 0 ? bandwidth : measure_bandwidth(threads),
                             .allocate = malloc,
                             .release = free,
                             .upload = copy,
                             .download = copy,
                             .time = time_calls,
                             .time_peer = time_calls,
                             .recover = recover,
                             .taken = taken,
                             .bus = no_bus,
                             .close = close_device};
    if (!(device->bandwidth > 0)) {
        fprintf(stderr, "gpusolve-bench: no memory to measure the bandwidth with\n");
        return -1;
    }
    return 0;
}

int bench_device_open(bench_device *device, const gpusolve_handle *handle, int threads, double bandwidth) {
#ifdef GPUSOLVE_WITH_CUDA
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA)
        return bench_device_open_cuda(device, bandwidth);
#endif
    (void)handle;
    return bench_device_open_host(device, threads, bandwidth);
}
