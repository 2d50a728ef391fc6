/*
 * How a triangular operation is carried out on the device, and where things lie in the memory at hand: a
 * user's workspace, or what the handle keeps.
 *
 * Solve: one launch inverts all diagonal blocks of 64 and clears what the leaves exchange, in two buffers in
 * turn: each leaf clears the next one's. Where the memory does not hold that, each leaf inverts its own
 * blocks, and takes as many vectors at a time as fit.
 *
 * Multiply: few vectors go through the library's own kernels (trsm/cuda/leaf/multiply.cuh), many through cuBLAS's
 * product out of place, from a copy of as many vectors as fit.
 *
 * Where the device gives a thread block too little shared memory for a solve's kernel, the leaves are
 * cuBLAS's.
 */
#ifndef GSV_TRSM_CUDA_PLAN_H
#define GSV_TRSM_CUDA_PLAN_H

#include "leaf/leaf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device: the shared memory that a thread block can have, and whether there are clusters of blocks. */
typedef struct gsv_leaf_device {
    int shared_bytes, clusters;
} gsv_leaf_device;

typedef struct gsv_leaf_plan {
    int group;     /* vectors side by side; 0: through cuBLAS */
    int serial;    /* solve: through solve_panel */
    int cluster;   /* multiply: through product, in clusters of this number of blocks; 0: without clusters */
    int64_t stop;  /* rows of the largest leaf */
    int64_t panel; /* vectors at a time */
    int64_t inverse_order; /* solve: rows of T whose inverses are kept at once */
    int64_t chunk;         /* multiply: see trsm/cuda/leaf/leaf.h */
    /* bytes from the start */
    int64_t inverse, substitute, exchange[2], buffer_bytes, partial, end;
} gsv_leaf_plan;

/* The plan for unlimited memory, and the best one for a given amount, which is at least GSV_CONTEXT_BYTES. */
gsv_leaf_plan gsv_leaf_whole_plan(const gsv_triangular *p, gsv_leaf_device device);
gsv_leaf_plan gsv_leaf_plan_for(const gsv_triangular *p, gsv_leaf_device device, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
