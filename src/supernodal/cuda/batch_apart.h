/* Blocks of a batch's members that are columns at equal distances, for runs of one group of GSV_SIDE_COLUMNS columns as a stream. */
#ifndef GSV_CUDA_BATCH_APART_H
#define GSV_CUDA_BATCH_APART_H

#include "launchers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* gsv_launchers.load and .store, of a block whose rows are side by side: row i of it is i + i / each * extra numbers from its first.
 * inverse: NULL, or of the permutation. */
cudaError_t gsv_cuda_load_apart(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                gsv_device_dense from, int32_t each, int64_t extra, void *to);
cudaError_t gsv_cuda_store_apart(gpusolve_dtype dtype, const gsv_launch *launch, const int32_t *inverse,
                                 const void *from, gsv_device_dense to, int32_t each, int64_t extra);

#ifdef __cplusplus
}
#endif
#endif
