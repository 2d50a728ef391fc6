/* Samples, and products with the factor, by the host executor (api/products/products.h). */
#ifndef GSV_HOST_PRODUCTS_H
#define GSV_HOST_PRODUCTS_H

#include "../../api/products/products.h"

/* sample.c */
gpusolve_status gsv_host_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gpusolve_workspace *workspace, const gsv_sample *sample,
                                const gpusolve_dense *x);

/* multiply.c */
gpusolve_status gsv_host_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y);

extern const gsv_product_functions gsv_host_products;

#endif
