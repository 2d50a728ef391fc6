/*
 * What batches want of a backend: numbers that move between the members' blocks and vectors over the rows of all members. One table for
 * each kind of memory.
 */
#ifndef GSV_BATCH_MOVE_H
#define GSV_BATCH_MOVE_H

#include "../../handle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A member's block: entry (i, j) is number i row_stride + j column_stride. */
typedef struct gsv_batch_block {
    void *values;
    int64_t row_stride, column_stride;
    int32_t columns;
    int32_t first_row; /* of the member, among those of all */
} gsv_batch_block;

/* The blocks of b or of x: an array of them, or blocks at equal distances. */
typedef struct gsv_batch_blocks {
    int64_t count;
    int64_t n;     /* rows of all members */
    size_t number; /* bytes: 4, 8 or 16 */
    int64_t each;  /* rows of every member, or -1: they have different ones */
    const int32_t *
        member_of; /* [n] of each row, where the blocks are; needed on the device alone, and where each is -1 */
    const gsv_batch_block *block; /* [count] [host]; NULL: strided */
    gsv_batch_block first;        /* strided: of member 0, */
    int64_t apart;                /* and numbers from one member's to the next one's */
    const uint8_t *active;        /* [count] in the memory of the blocks; NULL: all members */
    int64_t first_column;         /* that moves */
} gsv_batch_blocks;

/* Vectors over all rows, in the same memory. */
typedef struct gsv_batch_vectors {
    void *values;
    int64_t row_stride, column_stride;
    int32_t columns; /* that move */
} gsv_batch_vectors;

/* Members' blocks that are columns at equal distances: b and x as blocks of all rows, which `extra` numbers more for each member before a row
 * make of them; 0: they are such blocks. */
typedef struct gsv_batch_apart {
    int32_t each;
    int64_t extra[2];
} gsv_batch_apart;

typedef struct gsv_batch_functions {
    /* vectors(row, c) = block(row, first_column + c), zero where the member's block has no such column; `active` is not read. */
    gpusolve_status (*gather)(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                              const gsv_batch_vectors *vectors);
    /* The other way, for columns that there are, of active members. */
    gpusolve_status (*scatter)(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                               const gsv_batch_vectors *vectors);
    /* gsv_executor.solve with such blocks: its load reads b, and its store writes x, where these are. If it cannot do that for this
     * number of columns it does nothing, and *done is 0. NULL: it never can. */
    gpusolve_status (*solve_apart)(gpusolve_handle *handle, const gpusolve_factor *factor,
                                   gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                                   const gpusolve_dense *x, const gsv_batch_apart *apart, int *done);
} gsv_batch_functions;

extern const gsv_batch_functions gsv_host_batch;
#ifdef GPUSOLVE_WITH_CUDA
extern const gsv_batch_functions gsv_cuda_batch;
/* cuda/executor.c: its solve_apart. */
gpusolve_status gsv_cuda_solve_apart(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                                     const gpusolve_dense *x, const gsv_batch_apart *apart, int *done);
/* Copy bytes from the host to device memory by launches on the handle's stream, which hold them: for a capture, too. */
gpusolve_status gsv_cuda_batch_put(gpusolve_handle *handle, const uint8_t *from, int64_t count, uint8_t *to);
/* Copy bytes from device memory, behind what the stream holds, and wait. */
gpusolve_status gsv_cuda_batch_get(gpusolve_handle *handle, const uint8_t *from, int64_t count, uint8_t *to);
#endif

#ifdef __cplusplus
}
#endif
#endif
