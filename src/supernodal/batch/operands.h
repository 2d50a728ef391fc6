/* The blocks of a batch's solve: batch/operands.c checks them, batch/solve.c solves with them. */
#ifndef GSV_BATCH_OPERANDS_H
#define GSV_BATCH_OPERANDS_H

#include "batch.h"

/* The caller's b, or x. */
typedef struct gsv_batch_operand {
    const gpusolve_dense *dense; /* [count], or one of the first member */
    int strided;
    int64_t stride; /* numbers of the block's dtype */
    int on_device;
} gsv_batch_operand;

typedef struct gsv_batch_operands {
    gsv_batch_operand side[2]; /* b, x */
    int64_t columns;           /* of the widest member */
    int same_columns;          /* all members have as many */
    int parts;                 /* complex blocks, real factors: real parts, then imaginary parts */
} gsv_batch_operands;

enum { GSV_BATCH_B, GSV_BATCH_X };

/* Member m's block. */
gpusolve_dense gsv_batch_member_block(const gsv_batch_operand *operand, int64_t m);

/* Check b and x; fills in the rest. */
gpusolve_status gsv_batch_check_operands(gpusolve_handle *handle, const gpusolve_batch *batch,
                                         gsv_batch_operands *operands);

/*
 * Do the blocks make up one, of all rows? Then that is *whole: rows of a member right behind those of the member before, by the same
 * strides.
 */
int gsv_batch_is_whole(const gpusolve_batch *batch, const gsv_batch_operands *operands, int side,
                       gpusolve_dense *whole);

/*
 * Are the blocks columns at equal distances, in device memory, of members of one order? Then *whole is the block of all rows that they would be
 * if each were right behind the one before, and *extra by how many numbers they are farther apart.
 */
int gsv_batch_is_apart(const gpusolve_batch *batch, const gsv_batch_operands *operands, int side,
                       gpusolve_dense *whole, int64_t *extra);

#endif
