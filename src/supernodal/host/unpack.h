/* Reading a factor's numbers back: read_values of executor.h. */
#ifndef GSV_HOST_UNPACK_H
#define GSV_HOST_UNPACK_H

#include "../api/executor.h"

gpusolve_status gsv_host_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d);

/* The panel of supernode s alone: column j of L, its diagonal first, goes to x[column[j]] and on. By the calling thread. */
void gsv_host_read_panel(const gpusolve_factor *factor, const int64_t *column, int32_t s, void *x);

#endif
