/*
 * From panels [L1; L2] to [W; -M], W = inv(L1), M = L2 W, on the device: the triangular solve with many
 * right-hand sides X L1 = [I; -L2].
 *
 * Selective: where the triangle is too ill-conditioned for its inverse to be trusted, a wide panel is
 * inverted in 2, 4, ... GSV_MOST_PARTS column blocks, each with the panel [W; -M] of its own triangle and all
 * rows below, as if it were a supernode and the next block its parent: the fewest blocks that can all be
 * trusted. Where there are none, and always where a narrow triangle cannot, the panel stays [L1; -L2], to be
 * solved with by substitution (cuda_substitute.cuh).
 *
 * The rule. Multiplying by W = inv(L1) instead of substituting leaves a residual of up to about eps |L1| |W|
 * |b| (Higham, Accuracy and Stability of Numerical Algorithms, 14.2). With rows scaled to sums of one, L =
 * inv(E) L1, W E its inverse,
 *
 *      k = max(norm(|L| |W E|, inf), norm(|L|' |W E|', inf))
 *
 * computed from the numbers themselves, no estimate. A triangle is trusted if k <= GSV_INVERSION_LIMIT, which
 * no NaN is. The inverses of the diagonal blocks are the diagonal blocks of the inverse, so one inverse gives
 * the k of every division.
 */
#ifndef GSV_PANEL_INVERSE_H
#define GSV_PANEL_INVERSE_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "../dense_kernels/panel_layout.h"
#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A solve must lose less than a factor of ten in backward error to substitution. With 300 triangles that are
 * made to grow lose up to 14 (test_condition.c); inverted whole, the root of a shell of 240 000 unknowns, k =
 * 360, lost more than ten. Large supernodes of real matrices have 50 to 150; of those here larger ones are in
 * shells (a few), s3rmt3m3 (4e3), bcsstk19 (330) and ex15 (4e5). */
enum {
    GSV_INVERSION_LIMIT = 150,
    GSV_DIVISIONS = 5 /* into 1, 2, 4, 8, GSV_MOST_PARTS column blocks */
};

/* One narrow panel of a batch: nr x nc, column-major with leading dimension nr at raw + from; the result is
 * packed by columns (panel_layout.h) at panels + to. *parts [device] becomes 1, or 0 where the panel is kept
 * as [L1; -L2]. */
typedef struct gsv_narrow_panel {
    int64_t from, to;
    int32_t *parts;
    int32_t nr, nc;
} gsv_narrow_panel;

/* All panels of a batch, one warp each. batch, raw, panels: [device]. */
cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, cudaStream_t stream);

/* Scratch of gsv_invert_wide for nc columns, beside the solution: numbers of type double. */
static inline int64_t gsv_invert_wide_scratch(int64_t nc) {
    return GSV_DIVISIONS * (3 * nc + 1);
}

/*
 * One wide panel: cuBLAS solves on a copy, then the result is packed in tiles at `packed`; a panel that is
 * kept stands there as [L1; -L2], L1 negated but for its diagonal. raw: nr x nc, kept; solved: nr x nc
 * numbers of scratch; scratch: see above; *parts: the column blocks, 0 for a panel that is kept; all
 * [device]. The cuBLAS handle is on the same stream. Numbers above the diagonal of raw are not read.
 * GPUSOLVE_CUDA_ERROR where a launch or cuBLAS failed.
 */
gpusolve_status gsv_invert_wide(gpusolve_dtype dtype, cublasHandle_t cublas, const void *raw, void *solved,
                                double *scratch, void *packed, int32_t *parts, int32_t nr, int32_t nc,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
