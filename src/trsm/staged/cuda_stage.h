/* What a stage consists of: streams, events, memory (cuda_stage.c makes them), for cuda_staged.c. */
#ifndef GSV_TRSM_STAGED_CUDA_STAGE_H
#define GSV_TRSM_STAGED_CUDA_STAGE_H

#include "cuda_staged.h"
#include "cuda_transfer.h"
#include "plan.h"

struct gsv_stage {
    gpusolve_handle *inner;
    cudaStream_t compute;
    gsv_transfer in, out;
    char *memory; /* [device] */
    int64_t bytes;
    cudaEvent_t arrived, left;          /* of what was issued last */
    cudaEvent_t used[GSV_TILE_RING];    /* slots of the ring */
    cudaEvent_t finished[2], stored[2]; /* chunks in a buffer: computed, gone out */
};

#endif
