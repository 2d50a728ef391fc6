/*
 * From panels [L1; L2] to [W; -M], W = inv(L1), M = L2 W, on the device: all panels of a batch together.
 *
 * Raw panels are trapezoids packed by columns, without gaps (panel_layout.h, narrow panels): entry (i, j), i
 * >= j, of a panel with nr rows stands at j nr - j (j - 1) / 2 + i - j. Nothing above the diagonal travels.
 *
 * Selective: where a triangle is too ill-conditioned for its inverse to be trusted, its panel is left out, and cuts
 * are found instead: columns before which its supernode must be split, so that every triangle that results can
 * be trusted (../supernodal/split.h). The next call has panels that are split so.
 *
 * The rule. Multiplying by W = inv(L1) instead of substituting leaves a residual of up to about eps |L1| |W|
 * |b| (Higham, Accuracy and Stability of Numerical Algorithms, 14.2). With rows scaled to sums of one, L =
 * inv(E) L1, W E its inverse,
 *
 *      k = max(norm(|L| |W E|, inf), norm(|L|' |W E|', inf))
 *
 * computed from the numbers themselves, no estimate. A triangle is trusted if k <= GSV_INVERSION_LIMIT, which
 * no NaN is; one of GSV_LARGE_COLUMNS or more, whose slices would wait for each other for long, if k <=
 * GSV_LARGE_LIMIT. With k <= GSV_WELL_LIMIT a triangle is well-conditioned: the order in which sums with its
 * inverse are added up matters little.
 *
 * Cuts. The inverse of a diagonal block is the diagonal block of the inverse, so one inverse gives the k of every
 * block. From the first column on, each slice is as wide as the rule allows, so there are as few as possible, for
 * each waits for the one before it. The rule for slices divides the limits by `finer`, GSV_FINER, GSV_NARROW_FINER or more: what two
 * slices lose may add up, and numbers may get worse with the next refresh. One column has k = 1.
 */
#ifndef GSV_TRSM_CUDA_PANELS_INVERSE_H
#define GSV_TRSM_CUDA_PANELS_INVERSE_H

#include <cuda_runtime_api.h>

#include "../../../dense_kernels/panel_layout.h"
#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A solve must lose less than a factor of ten in backward error to substitution. Triangles that are made to grow
 * until they are just trusted may lose more in single columns: test_condition.c holds them to 20, and those of
 * 960 columns to 25, with k = 148 as with k = 223. The largest supernodes of solids have k = 16 to
 * 180, those of a shell of 240 000 unknowns 204 to 224 and its root 356; s3rmt3m3 has 4e3, bcsstk19 330 and ex15
 * 4e5. */
enum {
    GSV_INVERSION_LIMIT = 150,
    GSV_LARGE_LIMIT = 225,
    GSV_LARGE_COLUMNS = 576,
    GSV_WELL_LIMIT = 40, /* one chain of terms loses up to 7 times what substitution does
                            * (gpusolve-orders-bench) */
    GSV_WIDE_SUMS = 4, /* numbers for each column of a wide triangle that k and the cuts are computed with */
    GSV_INVERT_TILE = 64,  /* rows and columns of the tiles that W and M are computed in */
    GSV_INVERT_LEVELS = 26 /* doublings from one tile to the widest triangle, at most */
};

/* Launches over all wide panels of a batch: the diagonal tiles; rows (32 a block) and then columns (8) of the
 * condition's sums; tiles of the result; and for each level the tiles of the lower left blocks. */
enum {
    GSV_INVERT_DIAGONAL,
    GSV_INVERT_CONDITION,
    GSV_INVERT_RESULT,
    GSV_INVERT_DOUBLE,
    GSV_INVERT_STAGES = GSV_INVERT_DOUBLE + GSV_INVERT_LEVELS
};

/* For wide panels, and for narrow ones: with 2 test_condition's smallest triangles lose a tenth too much. */
#define GSV_FINER 2.0
#define GSV_NARROW_FINER 2.5

/* One narrow panel of a batch: raw at `from`, the result at `to`, in numbers; it is packed in the same way.
 * *k [device] becomes k, or -k where the triangle is not trusted: then the panel is not written, and of cut [device]
 * [nc], zeros before, the columns that slices must begin with become 1. They do, too, if the triangle is trusted, but
 * would not be if it were a slice, and the batch is `eager`. */
typedef struct gsv_narrow_panel {
    int64_t from, to;
    float *k;
    uint8_t *cut;
    int32_t nr, nc;
    float finer;
} gsv_narrow_panel;

/* One wide panel; its result is packed in tiles (panel_layout.h). The rest is as above. */
typedef struct gsv_wide_panel {
    int64_t from, to; /* numbers */
    int64_t inverse;  /* its room in `inverse`: gsv_wide_inverse(nc) numbers */
    int64_t sums;     /* its room in `sums`: GSV_WIDE_SUMS * nc */
    float *k;
    uint8_t *cut;
    int32_t nr, nc;
    float finer;
} gsv_wide_panel;

/* The wide panels of a batch. starts says which blocks of a launch are whose: prefix sums. */
typedef struct gsv_wide_batch {
    int32_t count, levels;
    const gsv_wide_panel *panels; /* [device] [count] */
    const int32_t *starts;        /* [device] [GSV_INVERT_DOUBLE + levels][count + 1] */
    int32_t blocks[GSV_INVERT_STAGES];
    const void *raw; /* [device], like the following */
    void *packed;    /* all panels */
    void *inverse;   /* numbers */
    double *sums;    /* numbers of type double, of all panels, and then one for each panel */
    double *k;       /* those */
    int eager;
} gsv_wide_batch;

/* Room for the inverse of a triangle of nc columns: whole tiles. */
static inline GSV_HOST_DEVICE int64_t gsv_wide_order(int64_t nc) {
    return (nc + GSV_INVERT_TILE - 1) / GSV_INVERT_TILE * GSV_INVERT_TILE;
}

static inline int64_t gsv_wide_inverse(int64_t nc) {
    return gsv_wide_order(nc) * gsv_wide_order(nc);
}

/* Doublings that a triangle of nc columns wants. */
static inline int32_t gsv_wide_levels(int64_t nc) {
    int32_t levels = 0;
    while (((int64_t)GSV_INVERT_TILE << levels) < nc)
        levels++;
    return levels;
}

/* On the host: fill starts and batch->levels and ->blocks for panels (both [host] here; count is set). */
void gsv_wide_plan(const gsv_wide_panel *panels, int32_t *starts, gsv_wide_batch *batch);

/* All narrow panels of a batch, one or two warps each. batch, raw, panels: [device]. */
cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, int eager, cudaStream_t stream);

/* All wide panels of a batch, in two steps. W and k of their triangles, and cuts, in 5 + 2 levels launches: `packed` is
 * left as it is. */
cudaError_t gsv_invert_triangles(gpusolve_dtype dtype, const gsv_wide_batch *batch, cudaStream_t stream);
/* Then the panels, in one launch. */
cudaError_t gsv_write_wide(gpusolve_dtype dtype, const gsv_wide_batch *batch, cudaStream_t stream);

/* Let the current device's kernels have their shared memory: before the first gsv_invert_triangles. */
cudaError_t gsv_invert_reserve(gpusolve_dtype dtype);

/* What each precision's file has (trsm/cuda/panels/inverse_d.cu and so on). */
typedef struct gsv_invert_functions {
    cudaError_t (*reserve)(void);
    cudaError_t (*narrow)(const gsv_narrow_panel *batch, int64_t count, const void *raw, void *panels,
                          int eager, cudaStream_t stream);
    cudaError_t (*triangles)(const gsv_wide_batch *batch, cudaStream_t stream);
    cudaError_t (*write)(const gsv_wide_batch *batch, cudaStream_t stream);
} gsv_invert_functions;

extern const gsv_invert_functions gsv_invert_s, gsv_invert_d, gsv_invert_c, gsv_invert_z;

#ifdef __cplusplus
}
#endif
#endif
