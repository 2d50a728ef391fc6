/* The passes over vectors of conjugate gradients and FGMRES (api/krylov.h) on the device. */
#ifndef GSV_CUDA_REFINE_KRYLOV_H
#define GSV_CUDA_REFINE_KRYLOV_H

#include "../../api/krylov_step.h"
#include "refine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSV_KRYLOV_TILE = 8 }; /* columns of a block */

static inline int64_t gsv_krylov_tiles(int64_t columns) {
    return (columns + GSV_KRYLOV_TILE - 1) / GSV_KRYLOV_TILE;
}
/* Rows of a block, a multiple of the 32 that it does at a time, and blocks: by n alone, for sums depend on them. */
static inline int64_t gsv_krylov_rows(int64_t n) {
    const int64_t rows = (n + 255) / 256;
    return rows > 256 ? (rows + 31) / 32 * 32 : 256;
}
static inline int64_t gsv_krylov_blocks(int64_t n) {
    return (n + gsv_krylov_rows(n) - 1) / gsv_krylov_rows(n);
}

/* What all passes of a block of columns know. */
typedef struct gsv_krylov_device {
    gsv_krylov k;
    int32_t n;
    int64_t stride;            /* of the rows of all vectors */
    gsv_pair *partial;         /* [dots][tiles][blocks][GSV_KRYLOV_TILE] */
    int *arrived;              /* [dots][tiles] blocks that are through; zeros between launches */
    int *done;                 /* tiles whose sums are complete; zero between launches */
    gsv_refine_report *report; /* mapped; `on` is written after a stage */
} gsv_krylov_device;

/* One pass: `count` inner products of the vectors from `vectors` on with `with`, or a sum (gsv_krylov_sum). */
typedef struct gsv_krylov_pass {
    const void *vectors, *with; /* with: NULL if a sum has none */
    int64_t vector;             /* numbers from a vector to the next */
    void *out;                  /* NULL: inner products */
    double scale;
    int count, finished, norm;
    int stage, step;
} gsv_krylov_pass;

/* refine/krylov.cu */
cudaError_t gsv_krylov_launch_pass(gpusolve_dtype dtype, const gsv_krylov_device *device,
                                   const gsv_krylov_pass *pass, cudaStream_t stream);
/* A stage by itself, in every column. */
cudaError_t gsv_krylov_launch_stage(const gsv_krylov_device *device, int stage, int step,
                                    cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
