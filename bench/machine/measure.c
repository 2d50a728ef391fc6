#define _POSIX_C_SOURCE 200809L
#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double bench_now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int compare(const void *left, const void *right) {
    double l = *(const double *)left, r = *(const double *)right;

    return (l > r) - (l < r);
}

bench_times bench_summarise(double *samples, int count) {
    double median;

    qsort(samples, (size_t)count, sizeof *samples, compare);
    median = 0.5 * (samples[(count - 1) / 2] + samples[count / 2]);
    return (bench_times){
        .median = median,
        .least = samples[0],
        .spread = median > 0 ? (samples[3 * (count - 1) / 4] - samples[(count - 1) / 4]) / median : 0,
        .stream = median,
        .graph = NAN};
}

/* OpenBLAS's threads spin for tens of milliseconds after their last call: let them fall asleep before
 * anything else is timed. */
static void settle(void) {
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 100000000};

    nanosleep(&pause, NULL);
}

int bench_time_blocking(bench_call *call, void *context, int repeat, bench_times *times) {
    enum { SAMPLE_US = 200, WARM_UP_US = 20000 };
    double *samples = malloc((size_t)repeat * sizeof *samples);
    double begin = bench_now_us(), last;
    int status, calls = 0;

    if (!samples)
        return -1;
    settle();
    do {
        last = bench_now_us();
        status = call(context);
        last = bench_now_us() - last;
        calls++;
    } while (!status && (calls < 2 || bench_now_us() - begin < WARM_UP_US));

    calls = last < SAMPLE_US ? 1 + (int)(SAMPLE_US / (last + 0.1)) : 1;
    for (int i = 0; i < repeat && !status; i++) {
        begin = bench_now_us();
        for (int j = 0; j < calls && !status; j++)
            status = call(context);
        samples[i] = (bench_now_us() - begin) / calls;
    }
    if (!status)
        *times = bench_summarise(samples, repeat);
    free(samples);
    return status;
}
