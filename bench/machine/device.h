/* Where the operands lie and how time is told: the host, or a CUDA device. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stddef.h>

#include "gpusolve.h"
#include "measure.h"

typedef struct bench_device {
    int is_cuda;
    void *stream; /* to solve on; NULL on the host */
    char driver[64];
    double bandwidth; /* read-only stream, bytes/s */
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    int (*upload)(void *to, const void *from, size_t bytes);   /* from the host; 0 on success */
    int (*download)(void *to, const void *from, size_t bytes); /* to the host, once the stream is done */
    /* Time calls that solve on the stream; the call may be asynchronous. Returns as bench_time_blocking. */
    int (*time)(const struct bench_device *device, bench_call *call, void *context, int repeat,
                bench_times *times);
    /* The same of a peer's call, which may be slow, or refuse to be captured: the better of stream and graph.
     */
    int (*time_peer)(const struct bench_device *device, bench_call *call, void *context, int repeat,
                     bench_times *times);
    /* Wait, and take back errors that a peer has left behind, lest they be laid at another's door. */
    void (*recover)(void);
    /* Bytes of the device's memory that are taken, by whomever; -1: not known. */
    int64_t (*taken)(void);
    /* Bytes a second from pinned host memory to the device, in copies of 256 MiB: the best of several; NaN on the host,
     * and where it cannot be measured. */
    double (*bus)(void);
    void (*close)(struct bench_device *device);
} bench_device;

/* The handle's. 0, or -1 with the reason printed to stderr. Opening measures the bandwidth, unless it is given: not 0. */
int bench_device_open(bench_device *device, const gpusolve_handle *handle, int threads, double bandwidth);
int bench_device_open_host(bench_device *device, int threads, double bandwidth);
int bench_device_open_cuda(bench_device *device, double bandwidth);

#endif
