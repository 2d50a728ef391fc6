/* The loops of products on the host, for each kind of numbers, instruction set and number of columns (times.h). */
#ifndef GSV_HOST_TIMES_HOST_H
#define GSV_HOST_TIMES_HOST_H

#include <stdint.h>

#include "../../../dense_kernels/lanes_host.h"

typedef void gsv_host_times_loop(const void *panel, int64_t nr, int64_t nc, const double *from, double *to);

typedef struct gsv_host_times {
    gsv_host_times_loop *panel, *transpose;
} gsv_host_times;

/* One column, or eight; panels of doubles or floats, real or complex. */
extern const gsv_host_times *const gsv_host_times_d[GSV_ISA_COUNT][2],
    *const gsv_host_times_ds[GSV_ISA_COUNT][2], *const gsv_host_times_z[GSV_ISA_COUNT][2],
                                                    *const gsv_host_times_zc[GSV_ISA_COUNT][2];

#endif
