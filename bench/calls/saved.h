/* Factors in files: how long it takes to save one, and to have it on the backend again. */
#ifndef BENCH_SAVED_H
#define BENCH_SAVED_H

#include "../machine/device.h"
#include "../solve/problem.h"

typedef struct bench_saved {
    const char *folder; /* --saved; NULL: not wanted */
    double bytes;       /* of the file */
    double save_ms;     /* with the disk */
    double load_ms;     /* gpusolve_factor_load, from the page cache; medians */
    double map_ms;      /* gpusolve_factor_map */
    double trusted_ms;  /* gpusolve_factor_map without a look at the checksums of the numbers */
    double bus;         /* bytes/s from pinned memory to the device; NaN on the host */
    int same;           /* every loaded factor had the determinant of the saved one, to the last bit */
} bench_saved;

/* Save the problem's arrays to a file in the folder, load it again, and delete it. Returns NULL, or what failed. */
const char *bench_saved_measure(const bench_device *device, gpusolve_handle *handle,
                                const gpusolve_factor *factor, const bench_problem *problem, int repeat,
                                bench_saved *saved);

#endif
