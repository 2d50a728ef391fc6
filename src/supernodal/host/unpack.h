/* Reading a factor's numbers back: read_values of executor.h. */
#ifndef GSV_HOST_UNPACK_H
#define GSV_HOST_UNPACK_H

#include "../api/executor.h"

gpusolve_status gsv_host_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d);

#endif
