/* Samples, and products with the factor, by the host executor (api/products.h). */
#ifndef GSV_HOST_PRODUCTS_H
#define GSV_HOST_PRODUCTS_H

#include "../../api/products.h"

/* sample.c */
gpusolve_status gsv_host_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gpusolve_workspace *workspace, const gsv_sample *sample,
                                const gpusolve_dense *x);

extern const gsv_product_functions gsv_host_products;

#endif
