/* Samples, and products with the factor, by the CUDA executor (api/products/products.h). */
#ifndef GSV_CUDA_PRODUCTS_H
#define GSV_CUDA_PRODUCTS_H

#include "../../api/products/products.h"
#include "../launchers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers that are drawn: samples first, first + 1, ... of a seed, n rows, over the roots of d [device, real numbers], or of ones if it is
 * NULL. */
typedef struct gsv_drawing {
    uint64_t seed;
    int64_t first, n;
    const void *d;
} gsv_drawing;

/* sample.cu. Into a block of the factor's numbers; and into a vector of a run of tasks, `columns` numbers side by side in a row, those from `drawn` on
 * zeros, as their load would have left it (cuda/tasks/transfer.cuh). */
cudaError_t gsv_cuda_draw(gpusolve_dtype dtype, const gsv_drawing *drawing, gsv_device_dense x,
                          cudaStream_t stream);
cudaError_t gsv_cuda_draw_vectors(gpusolve_dtype dtype, const gsv_drawing *drawing, void *to, int columns,
                                  int drawn, int *broken, cudaStream_t stream);

/* sample.cu: x(i, c) += mean(i). mean.cu: the store of tasks (gsv_launchers) that does this, too. */
cudaError_t gsv_cuda_add_mean(gpusolve_dtype dtype, int64_t n, const void *mean, gsv_device_dense x,
                              cudaStream_t stream);
cudaError_t gsv_cuda_store_mean(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                const void *from, const void *mean, gsv_device_dense to);

/* executor.c: the steps GSV_BACKWARD and GSV_PERMUTE_OUT of z, or of what is drawn if z is NULL, and the mean added. All is on the device:
 * z and mean, or NULL, are in the place of the sample's own. */
gpusolve_status gsv_cuda_solve_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gsv_sample *sample,
                                      const gpusolve_dense *z, const void *mean, const gpusolve_dense *x);

/* multiply.cu */
gpusolve_status gsv_cuda_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y);

extern const gsv_product_functions gsv_cuda_products;

#ifdef __cplusplus
}
#endif
#endif
