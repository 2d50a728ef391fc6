/* Samples, and products with the factor, by the host executor (api/products/products.h). */
#ifndef GSV_HOST_PRODUCTS_H
#define GSV_HOST_PRODUCTS_H

#include "../../api/products/products.h"

/* multiply.c */
gpusolve_status gsv_host_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y);

/* Number `at` of an array of floats, or of doubles. */
static inline double gsv_get_real(int single, const void *from, int64_t at) {
    return single ? (double)((const float *)from)[at] : ((const double *)from)[at];
}
static inline void gsv_put_real(int single, void *to, int64_t at, double value) {
    if (single)
        ((float *)to)[at] = (float)value;
    else
        ((double *)to)[at] = value;
}

extern const gsv_product_functions gsv_host_products;

#endif
