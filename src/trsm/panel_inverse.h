/*
 * From panels [L1; L2] to [W; -M], W = inv(L1), M = L2 W, on the device: the triangular solve with many
 * right-hand sides X L1 = [I; -L2].
 */
#ifndef GSV_PANEL_INVERSE_H
#define GSV_PANEL_INVERSE_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One narrow panel of a batch: nr x nc, column-major with leading dimension nr at raw + from; the result is
 * packed by columns (tiles.h) at panels + to. */
typedef struct gsv_narrow_panel {
    int64_t from, to;
    int32_t nr, nc;
} gsv_narrow_panel;

/* All panels of a batch, one warp each. batch, raw, panels: [device]. */
cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, cudaStream_t stream);

/*
 * One wide panel: cuBLAS solves on a copy, then the result is packed in tiles at `packed`. raw: nr x nc,
 * [device], kept; solved: nr x nc numbers of scratch, [device]; the cuBLAS handle is on the same stream.
 * Numbers above the diagonal of raw are not read. GPUSOLVE_CUDA_ERROR where a launch or cuBLAS failed.
 */
gpusolve_status gsv_invert_wide(gpusolve_dtype dtype, cublasHandle_t cublas, const void *raw, void *solved,
                                void *packed, int32_t nr, int32_t nc, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
