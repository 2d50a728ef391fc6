/* What samples, and products with the factor, want of an executor (executor.h). */
#ifndef GSV_API_PRODUCTS_H
#define GSV_API_PRODUCTS_H

#include "executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples first, first + 1, ... of a seed, or of the caller's numbers. */
typedef struct gsv_sample {
    uint64_t seed;
    int64_t first;
    const gpusolve_dense *z; /* the caller's numbers, in L's order; NULL: drawn (dense_kernels/normal.h) */
    const void *mean;        /* [n] numbers of the factor's type, in A's order; NULL: zeros */
} gsv_sample;

typedef struct gsv_product_functions {
    /* x = mean + P' L' \ (D^(-1/2) z), column by column. z may be x. D is positive. Memory may be the host's or the backend's; waits unless all
     * of it is the device's. */
    gpusolve_status (*sample)(gpusolve_handle *handle, const gpusolve_factor *factor,
                              gpusolve_workspace *workspace, const gsv_sample *sample,
                              const gpusolve_dense *x);
} gsv_product_functions;

#ifdef __cplusplus
}
#endif
#endif
