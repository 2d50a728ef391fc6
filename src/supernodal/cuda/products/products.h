/* Samples, and products with the factor, by the CUDA executor (api/products.h). */
#ifndef GSV_CUDA_PRODUCTS_H
#define GSV_CUDA_PRODUCTS_H

#include "../../api/products.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sample.cu */
gpusolve_status gsv_cuda_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gpusolve_workspace *workspace, const gsv_sample *sample,
                                const gpusolve_dense *x);

/* multiply.cu */
gpusolve_status gsv_cuda_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y);

extern const gsv_product_functions gsv_cuda_products;

#ifdef __cplusplus
}
#endif
#endif
