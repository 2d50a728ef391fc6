/* trsm/cuda/panels/inverse.h: the batch's plan, and whose kernels run. */
#include "inverse.h"

/* Blocks of threads that a panel has in a launch. */
static int64_t blocks_of(const gsv_wide_panel *p, int32_t stage) {
    const int64_t tiles = gsv_wide_order(p->nc) / GSV_INVERT_TILE;
    if (stage == GSV_INVERT_DIAGONAL)
        return tiles;
    if (stage == GSV_INVERT_CONDITION)
        return (p->nc + 31) / 32 + (p->nc + 7) / 8;
    if (stage == GSV_INVERT_RESULT)
        return gsv_wide_order(p->nr) / GSV_INVERT_TILE * tiles;
    const int64_t half = (int64_t)1 << (stage - GSV_INVERT_DOUBLE), pair = 2 * half; /* tiles */
    const int64_t left = tiles % pair > half ? tiles % pair - half : 0;
    return (tiles / pair * half + left) * half;
}

void gsv_wide_plan(const gsv_wide_panel *panels, int32_t *starts, gsv_wide_batch *batch) {
    batch->levels = 0;
    for (int32_t i = 0; i < batch->count; i++)
        if (gsv_wide_levels(panels[i].nc) > batch->levels)
            batch->levels = gsv_wide_levels(panels[i].nc);
    for (int32_t stage = 0; stage < GSV_INVERT_DOUBLE + batch->levels; stage++) {
        int64_t at = 0;
        for (int32_t i = 0; i < batch->count; i++) {
            *starts++ = (int32_t)at;
            at += blocks_of(&panels[i], stage);
        }
        *starts++ = batch->blocks[stage] = (int32_t)at;
    }
}

static const gsv_invert_functions *functions_of(gpusolve_dtype dtype) {
    static const gsv_invert_functions *const of[] = {&gsv_invert_s, &gsv_invert_d, &gsv_invert_c,
                                                     &gsv_invert_z};
    return of[dtype];
}

cudaError_t gsv_invert_reserve(gpusolve_dtype dtype) {
    return functions_of(dtype)->reserve();
}

cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, int eager, cudaStream_t stream) {
    return functions_of(dtype)->narrow(batch, count, raw, panels, eager, stream);
}

cudaError_t gsv_invert_triangles(gpusolve_dtype dtype, const gsv_wide_batch *batch, cudaStream_t stream) {
    return functions_of(dtype)->triangles(batch, stream);
}

cudaError_t gsv_write_wide(gpusolve_dtype dtype, const gsv_wide_batch *batch, cudaStream_t stream) {
    return functions_of(dtype)->write(batch, stream);
}
