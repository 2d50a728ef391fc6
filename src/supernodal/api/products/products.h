/* What samples, and products with the factor, want of an executor (executor.h). */
#ifndef GSV_API_PRODUCTS_H
#define GSV_API_PRODUCTS_H

#include "../executor.h"

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

/* The steps of a product, in this order. */
enum {
    GSV_TIMES_P = 1,  /* v(i) = x(perm(i)), else v = x */
    GSV_TIMES_LT = 2, /* v = L' v */
    GSV_TIMES_D = 4,  /* v = D v, nothing for L L' */
    GSV_TIMES_L = 8,  /* v = L v */
    GSV_TIMES_PT = 16 /* y(perm(i)) = v(i), else y = v */
};

typedef struct gsv_product_functions {
    /* x = mean + P' L' \ (D^(-1/2) z), column by column. z may be x. D is positive. Memory may be the host's or the backend's; waits unless all
     * of it is the device's. */
    gpusolve_status (*sample)(gpusolve_handle *handle, const gpusolve_factor *factor,
                              gpusolve_workspace *workspace, const gsv_sample *sample,
                              const gpusolve_dense *x);
    /* y = the steps' product with x, blocks of the factor's type, y may be x. Memory may be the host's or the backend's. Waits. */
    gpusolve_status (*multiply)(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                const gpusolve_dense *x, const gpusolve_dense *y);
    /* Memory on the backend that the factor keeps for products, beside what `bytes` of the executor says. NULL: none. */
    int64_t (*kept_bytes)(const gpusolve_factor *factor);
} gsv_product_functions;

/* All memory on the backend that a factor keeps beside that. */
static inline int64_t gsv_more_bytes(const gpusolve_factor *factor) {
    const gsv_product_functions *products = factor->executor->products;
    return factor->more_bytes + (products->kept_bytes ? products->kept_bytes(factor) : 0);
}

#ifdef __cplusplus
}
#endif
#endif
