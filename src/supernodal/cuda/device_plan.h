/*
 * The device's copy of a plan, and the vectors of a solve.
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
    /* tasks alone (cuda/tasks/tasks.h): partial sums, and counters */
    void *partial;
    int *counters;
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

#ifdef __cplusplus
}
#endif
#endif
