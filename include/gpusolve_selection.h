/** @file
 * gpusolve's selections: sparse right-hand sides, and parts of solutions. */
#ifndef GPUSOLVE_SELECTION_H
#define GPUSOLVE_SELECTION_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sparse right-hand sides and parts of solutions: some rows of b may be nonzero, some rows of x are wanted,
 * the same ones for solve after solve. A selection knows which part of the tree that takes: forward
 * substitution the supernodes between the rows of b and the roots, backward substitution those between the
 * roots and the rows of x. It holds a copy of their numbers and, like a workspace, all that a solve writes:
 * one for each solve that is under way at the same time.
 */
typedef struct gpusolve_selection gpusolve_selection;

/**
 * Prune the tree, copy its part of the factor.
 * @param system     one that solves with L or L': A, LDLt, LD, DLt, L or Lt (others: GPUSOLVE_NOT_SUPPORTED)
 * @param b_count    how many rows of b
 * @param b_rows     [in, host] [b_count] which: each once, in any order; b is zero in all others.
 *                   NULL: all n of them
 * @param x_count    how many rows of x
 * @param x_rows     [in, host] [x_count] which, in any order, also more than once.
 *                   NULL: all n of them
 * @param max_nrhs   >= 1; more columns than that are solved in blocks of max_nrhs, and of 32 at most
 * @param selection  [out, host] NULL on failure
 *
 * Rows are counted as the system counts its b and x: as those of A for A, in the factor's order otherwise.
 * Blocks. It serves the factor it was made for; destroy it before or after the factor, once the solves that
 * use it are done.
 */
GPUSOLVE_API gpusolve_status gpusolve_selection_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                       gpusolve_system system, int64_t b_count,
                                                       const int64_t *b_rows, int64_t x_count,
                                                       const int64_t *x_rows, int64_t max_nrhs,
                                                       gpusolve_selection **selection);
/** Free the selection. The caller has waited for the solves that use it. */
GPUSOLVE_API void gpusolve_selection_destroy(gpusolve_selection *selection);

/** What of the tree a selection walks. */
typedef struct gpusolve_selection_info {
    size_t size;                 /**< sizeof(gpusolve_selection_info), set by the caller */
    int64_t forward_supernodes;  /**< that forward substitution walks, */
    int64_t forward_bytes;       /**< and their stored lower trapezoids */
    int64_t backward_supernodes; /**< the same of backward substitution */
    int64_t backward_bytes;
    int64_t memory_bytes; /**< on the backend, of the selection */
} gpusolve_selection_info;

/** What there is of the tree, to be compared with gpusolve_info. */
GPUSOLVE_API gpusolve_status gpusolve_selection_get_info(gpusolve_handle *handle,
                                                         const gpusolve_selection *selection,
                                                         gpusolve_selection_info *info);

/**
 * x = system \ b, of what the selection selects.
 * @param selection  [in] made for this factor. The first solve after a refresh copies the numbers anew: it blocks,
 *                   and cannot be captured
 * @param b          [in] b_count x nrhs: row k is row b_rows[k] of b; the factor's dtype, or complex as in gpusolve_solve
 * @param x          [out] x_count x nrhs: row k is row x_rows[k] of x; may be b itself (same values, order and ld), else
 *                   must not share a byte with it
 *
 * Host: the numbers are those of gpusolve_solve, bit for bit but for the sign of zeros. CUDA: the same if
 * both calls give a column the first of the sets of bits that gpusolve_solve lists. They do for one column, and for
 * up to 8 columns of a small factor, if gpusolve_solve solves these side by side. In the other sets, that of
 * options.same_bits among them, the order of a sum depends on the tree, of which a selection has a part. So its numbers
 * agree with those of gpusolve_solve to rounding. Otherwise as gpusolve_solve.
 */
GPUSOLVE_API gpusolve_status gpusolve_solve_selected(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                     gpusolve_selection *selection, const gpusolve_dense *b,
                                                     const gpusolve_dense *x);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_SELECTION_H */
