/* Clocks and medians. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

typedef struct bench_times { /* of one call, in microseconds */
    double median;
    double least;
    double spread; /* distance of the quartiles over the median */
    double stream; /* CUDA: median of the plain call in a stream; elsewhere the median */
    double graph;  /* CUDA: median of the call as a graph, NaN if it is not captured; elsewhere NaN */
} bench_times;

/* What is measured: returns 0, or anything else when it failed. */
typedef int bench_call(void *context);

double bench_now_us(void); /* a monotonic clock */

/* Sorts the samples. */
bench_times bench_summarise(double *samples, int count);

/* Time a call that returns when its work is done: warm-up, then repeat samples, each of enough calls to make
 * the clock exact. Returns 0, what the call returned, or -1 when out of memory. */
int bench_time_blocking(bench_call *call, void *context, int repeat, bench_times *times);

#endif
