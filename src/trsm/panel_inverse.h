/*
 * From panels [L1; L2] to [W; -M], W = inv(L1), M = L2 W, on the device: the triangular solve with many
 * right-hand sides X L1 = [I; -L2]. Selective: a triangle that is too ill-conditioned for its inverse to be
 * trusted keeps its panel as [L1; -L2], to be solved with by substitution (cuda_substitute.cuh).
 *
 * The rule. Multiplying by W = inv(L1) instead of substituting leaves a residual of up to about eps |L1| |W|
 * |b| (Higham, Accuracy and Stability of Numerical Algorithms, 14.2). With rows scaled to sums of one, L =
 * inv(E) L1, W E its inverse,
 *
 *      k = max(norm(|L| |W E|, inf), norm(|L|' |W E|', inf))
 *
 * computed from the numbers themselves, no estimate. k above GSV_INVERSION_LIMIT, or not a number:
 * substitution.
 */
#ifndef GSV_PANEL_INVERSE_H
#define GSV_PANEL_INVERSE_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At 1000 the products with the top of a shell of 240 000 unknowns lose a factor of ten in backward error to
 * substitution. Of the collection's matrices here three have a larger k anywhere: ex15 3e5, s3rmt3m3 1e4,
 * bcsstk19 3e3. */
enum { GSV_INVERSION_LIMIT = 300 };

/* One narrow panel of a batch: nr x nc, column-major with leading dimension nr at raw + from; the result is
 * packed by columns (panel_layout.h) at panels + to. *substitute [device] becomes 1 where the panel is kept
 * as [L1; -L2], else 0. */
typedef struct gsv_narrow_panel {
    int64_t from, to;
    int32_t *substitute;
    int32_t nr, nc;
} gsv_narrow_panel;

/* All panels of a batch, one warp each. batch, raw, panels: [device]. */
cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, cudaStream_t stream);

/* Scratch of gsv_invert_wide for nc columns, beside the solution: numbers of type double. */
static inline int64_t gsv_invert_wide_scratch(int64_t nc) {
    return 3 * nc + 1;
}

/*
 * One wide panel: cuBLAS solves on a copy, then the result is packed in tiles at `packed`; a panel that is
 * kept stands there as [L1; -L2], L1 negated but for its diagonal. raw: nr x
 * nc, kept; solved: nr x nc numbers of scratch; scratch: see above; *substitute: as above; all [device]. The
 * cuBLAS handle is on the same stream. Numbers above the diagonal of raw are not read. GPUSOLVE_CUDA_ERROR
 * where a launch or cuBLAS failed.
 */
gpusolve_status gsv_invert_wide(gpusolve_dtype dtype, cublasHandle_t cublas, const void *raw, void *solved,
                                double *scratch, void *packed, int32_t *substitute, int32_t nr, int32_t nc,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
