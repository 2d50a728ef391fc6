/** @file
 * gpusolve's entries of inverses. */
#ifndef GPUSOLVE_INVERSE_H
#define GPUSOLVE_INVERSE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The diagonal of inv(A): the variances of the Gaussian field with the precision matrix A, say.
 * @param diagonal  [out, host] [n] doubles whatever the factor's dtype; the diagonal is real
 *
 * As gpusolve_inverse_entries with all pairs (j, j).
 */
GPUSOLVE_API gpusolve_status gpusolve_inverse_diagonal(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                       double *diagonal);

/**
 * Entries of inv(A) at pairs of a row and a column.
 * @param count    of pairs, >= 0
 * @param rows     [in, host] [count] of A's rows, in any order, pairs also more than once
 * @param columns  [in, host] [count]
 * @param values   [out, host] [count] numbers of the factor's dtype
 *
 * Exact but for rounding: each distinct column is solved for, with the accuracy of gpusolve_solve. Columns are taken in L's order, up to
 * 1024 at a time by a selection (gpusolve_selection.h), so that a block walks the part of the tree alone that its columns and rows reach. So
 * memory is bounded: on the backend by what gpusolve_inverse_cost says, on the host by some 35 MB, 8 bytes a pair and 12 bytes a row of A. It
 * takes least where rows and columns that go together are near each other in the tree: of A's own pattern, say. With a complex factor entry
 * (i, j) is the conjugate of entry (j, i). On failure the values are undefined.
 *
 * Blocks, on either backend.
 *
 * @retval GPUSOLVE_INVALID_ARGUMENT (CUDA) also: the handle's stream is being captured.
 * @retval GPUSOLVE_TIMED_OUT (CUDA) as in gpusolve_solve.
 */
GPUSOLVE_API gpusolve_status gpusolve_inverse_entries(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                      int64_t count, const int64_t *rows,
                                                      const int64_t *columns, void *values);

/** What entries of inv(A) should cost. */
typedef struct gpusolve_inverse_info {
    size_t size; /**< sizeof(gpusolve_inverse_info), set by the caller */
    int64_t
        columns; /**< right-hand sides that are solved for: distinct columns, those of more than 65536 pairs more than once */
    int64_t blocks; /**< of columns that go together */
    int64_t bytes;  /**< of L that is read: each block's part, once for every 32 columns, by both sweeps */
    int64_t memory_bytes; /**< on the backend while it runs, of the block with the most work */
    double predicted_ms;  /**< of this machine */
} gpusolve_inverse_info;

/**
 * What gpusolve_inverse_entries should cost, or gpusolve_inverse_diagonal if rows and columns are NULL and count is n. It counts what
 * each block reads, solves some of the blocks, seven at most, and predicts from their times: mostly within 10 % on a machine that does nothing else.
 * So it takes some percent of the time that it predicts, and all of it if there are no more blocks.
 * @param info  [in: size; out: the rest]
 */
GPUSOLVE_API gpusolve_status gpusolve_inverse_cost(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                   int64_t count, const int64_t *rows, const int64_t *columns,
                                                   gpusolve_inverse_info *info);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_INVERSE_H */
