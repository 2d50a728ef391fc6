/* The diagonal of a dense matrix on the device. */
#ifndef GSV_TRSM_CUDA_DIAGONAL_H
#define GSV_TRSM_CUDA_DIAGONAL_H

#include <cuda_runtime_api.h>

#include "gpusolve_dense.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *place [device, 8 bytes] = the place of the first zero on the diagonal of a, of order n, counted from 1;
 * 2^64 - 1: there is none. Asynchronous. */
cudaError_t gsv_cuda_first_zero(gpusolve_dtype dtype, const void *a, int64_t lda, int64_t n, uint64_t *place,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
