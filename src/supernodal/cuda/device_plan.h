/*
 * The device's copy of a plan, and the launchers of the two sweeps: one table of functions for each
 * precision. The kernels and what they do are in cuda/stream/load_store.cuh.
 */
#ifndef GSV_CUDA_DEVICE_PLAN_H
#define GSV_CUDA_DEVICE_PLAN_H

#include <cuda_runtime_api.h>

#include "../schedule/route.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel wants to know of a supernode, in one read. */
typedef struct gsv_node {
    int64_t panel;  /* start of its panel */
    int64_t rows;   /* start of its rows, and of its front's gather_ptr */
    int64_t update; /* row of its update vector */
    int32_t first_column, nc, nr;
    int32_t well_conditioned; /* of a wide panel: k <= GSV_WELL_LIMIT (trsm/cuda/panels/inverse.h) */
} gsv_node;

/* A stream of the upper tree (stream.h). */
typedef struct gsv_device_pieces {
    const gsv_piece *piece;
    const int32_t *task; /* [tasks + 1] */
    int32_t tasks;
    uint32_t upper; /* rows of the upper tree's update vectors: the first ones */
} gsv_device_pieces;

/* Device pointers, all read-only during a solve. */
typedef struct gsv_device_plan {
    const gsv_node *tiny, *small, *wide; /* the first two in the order of gsv_schedule; wide ones ascend */
    const int32_t *rows;                 /* [rows] */
    const uint32_t *gather_ptr;          /* [rows + 1] */
    const uint32_t *gather;              /* [update rows] */
    const int32_t *perm, *inverse;       /* [n] or NULL; perm[inverse[i]] = i */
    const gsv_branch *branches;          /* [count] */
    const uint16_t *branch_lists, *branch_walks;
    const int32_t *outside_row;
    const gsv_limb *limbs; /* [count] */
    const gsv_limb_chunk *limb_chunks;
    const uint16_t *limb_lists;
    uint32_t outside_update;     /* row of the update vectors of the first outside row; the others follow */
    const int32_t *upper_column; /* [upper_columns] those that are in no branch, ascending */
    gsv_device_pieces forward_pieces, backward_pieces; /* one right-hand side */
    gsv_device_pieces block_forward, block_backward;   /* a block of them */
    const int32_t *upper_rows;                         /* of the stream */
    const void *panels;                                /* numbers */
    /* the first to give way in L2 (cuda/shared/l2.cuh): for one right-hand side, those of the upper tree, and those of branches,
     * with their lists */
    int transient, transient_for_one, transient_branches;
    int floats;    /* panels are float */
    const void *d; /* [n] real numbers, or NULL */
    /* where groups of right-hand sides are solved side by side (gsv_device_vectors.groups), from one of them to the next:
     * numbers of y and x, and of z, f and u; the same of groups of one */
    int64_t side_vector, side_upper, one_vector, one_upper;
} gsv_device_plan;

/*
 * What a solve writes. Row i of each holds the NR right-hand sides of one class side by side.
 *   y  [n] the permuted right-hand side; the forward sweep adds to it; the backward sweep leaves the solution
 *      here
 *   x  [n] the forward sweep's result
 *   u  [update rows] update vectors
 */
typedef struct gsv_device_vectors {
    void *y, *x, *u;
    /* the upper tree's solution [stream.columns], and fronts of wide supernodes [stream.published], one after
     * the other, and then comes u. Where the upper tree is a stream, they and the upper rows of u, for several
     * right-hand sides those that are handed over (gsv_schedule.handed_updates), are filled
     * with ABSENT before: by the load, but that, for several right-hand sides, f and u are left to the branches'
     * launch of the forward sweep, if there is one. The backward sweep wants only z, and for one right-hand side f. */
    void *z, *f;
    struct gsv_stream_state *state;
    /* this number of groups of GSV_SIDE_COLUMNS right-hand sides are solved side by side (stream.h), or 1: each has all of these
     * for itself, one behind the other, and blocks (., g) of each launch */
    int groups;
} gsv_device_vectors;

/* What the blocks of a stream's launch share; zeros between launches, but for broken and report. */
typedef struct gsv_stream_state {
    int forward, backward;           /* tasks taken */
    int forward_left, backward_left; /* blocks that have left */
    int broken;  /* somebody has lost patience: the answer has NaNs; zero again with the next load */
    int *report; /* [host, mapped] becomes 1 with it, and stays so until the host has read it */
} gsv_stream_state;

/* z, f and u of GSV_SIDE_COLUMNS right-hand sides: numbers. */
static inline int64_t gsv_side_upper(const gsv_plan *plan) {
    const gsv_stream *upper = &plan->schedule->stream;
    return (upper->columns + upper->published + plan->update_ptr[plan->l.nsuper]) * GSV_SIDE_COLUMNS;
}

/* The same of one right-hand side beside others: a multiple of 16 bytes. */
static inline int64_t gsv_one_upper(const gsv_plan *plan) {
    return (gsv_side_upper(plan) / GSV_SIDE_COLUMNS + 3) / 4 * 4;
}

/* A user's block of right-hand sides on the device. */
typedef struct gsv_device_dense {
    void *values;
    int64_t row_stride, column_stride; /* numbers */
    int32_t columns;
} gsv_device_dense;

/* One sweep over branches and stream, in launches: of groups of 1 or GSV_SIDE_COLUMNS right-hand sides, nr, backward also
 * of GSV_BLOCK_COLUMNS. */
typedef cudaError_t gsv_sweep_function(const gsv_plan *plan, const gsv_device_plan *device,
                                       const gsv_abilities *abilities, const gsv_device_vectors *vectors,
                                       int nr, cudaStream_t stream);

typedef cudaError_t gsv_sweep_one_function(const gsv_plan *plan, const gsv_device_plan *device,
                                           const gsv_abilities *abilities, const gsv_device_vectors *vectors,
                                           const int32_t *perm, gsv_device_dense dense, cudaStream_t stream);

typedef cudaError_t gsv_sweep_whole_function(const gsv_plan *plan, const gsv_device_plan *device, int groups,
                                             const int32_t *perm, gsv_device_dense b, gsv_device_dense x,
                                             cudaStream_t stream);

typedef struct gsv_sweep_functions {
    gsv_sweep_function *forward, *backward;
    /* For one right-hand side, or groups of one: the load with the forward sweep, in two launches, and the backward sweep
     * with the store. b and x are on the device, and neither is a vector of the sweeps. NULL: none. */
    gsv_sweep_one_function *forward_from, *backward_to;
    /* Both of them in one launch, where the whole tree is in branches (gsv_branches_are_all). perm: of b and of x. NULL: none. */
    gsv_sweep_whole_function *whole;
    /* Blocks of the stream's kernels that the current device runs at a time, for each class, where a block may have `most`
     * bytes of shared memory; 0: it cannot, or not those that walk the branches then. */
    cudaError_t (*stream_blocks)(const gsv_branches *branches, int most, int (*blocks)[2]);
    /* to(i, c) = from(perm ? perm[i] : i, c) for c < from.columns, else 0; perm and its inverse, or NULL
     * both. Besides fills with ABSENT what the sweeps of nr right-hand sides want so, or some of it
     * (gsv_device_vectors). */
    cudaError_t (*load)(const gsv_plan *plan, const gsv_abilities *abilities, const int32_t *perm,
                        const int32_t *inverse, gsv_device_dense from, void *to,
                        const gsv_device_vectors *vectors, int nr, cudaStream_t stream);
    /* to(i, c) = from(inverse ? inverse[i] : i, c), from: vectors of `groups` groups (gsv_device_vectors) */
    cudaError_t (*store)(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int nr,
                         int groups, cudaStream_t stream);
    /* v(i, c) /= d(i) */
    cudaError_t (*scale)(int32_t n, const void *d, void *v, int nr, cudaStream_t stream);
} gsv_sweep_functions;

/* gsv_sweep_m: of panels in single precision, for blocks of right-hand sides: vectors are in double precision, b and x in
 * single. gsv_sweep_s, _c and _z are for one right-hand side, or groups of one. */
extern const gsv_sweep_functions gsv_sweep_s, gsv_sweep_d, gsv_sweep_c, gsv_sweep_z, gsv_sweep_m;

#ifdef __cplusplus
}
#endif
#endif
