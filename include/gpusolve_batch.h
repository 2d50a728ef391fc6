/** @file
 * gpusolve's batches: many factors solved together in one call. */
#ifndef GPUSOLVE_BATCH_H
#define GPUSOLVE_BATCH_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Several factors, the members, of any orders and patterns, with one dtype. Inside they are one block-diagonal factor, so that one solve walks
 * all of their trees at the same time. What gpusolve.h says of factors holds for a batch: it is immutable but for a refresh, and any
 * number of threads, each with a handle of the same backend and device, may solve with it at once.
 */
typedef struct gpusolve_batch gpusolve_batch;
/** What a solve with a batch writes. */
typedef struct gpusolve_batch_workspace gpusolve_batch_workspace;

/**
 * Import the members: gpusolve_factor_create for all of them. Blocks. The arrays are not needed afterwards.
 * @param count     members, >= 0
 * @param members   [in, host] [count] all of one dtype, and all L L' (supernodal or simplicial) or all L D L'. Members with the same index arrays
 *                  (the same pointers, or the same contents if they are supernodal) share what follows from them. All have one storage, too.
 *                  in_place is not looked at
 * @param statuses  [out, host] [count] what is wrong with each member, GPUSOLVE_OK where nothing is; or NULL. Written if the members have
 *                  been looked at
 * @param batch     [out, host] NULL on failure
 *
 * If a member is refused so is the batch: the call returns the status of the first one, and the sentence names it ("members[17]: ...").
 * Columns in that sentence are the member's own.
 *
 * The batch keeps a copy of the members' numbers in host memory, so that a refresh of some of them needs no others.
 *
 * @retval GPUSOLVE_TYPE_MISMATCH a member has another dtype or storage than the first one, or is L D L' where that is L L' (or the other way round).
 * @retval GPUSOLVE_TOO_LARGE the orders' sum exceeds 2^31 - 1.
 */
GPUSOLVE_API gpusolve_status gpusolve_batch_create(gpusolve_handle *handle, int64_t count,
                                                   const gpusolve_factor_data *members,
                                                   gpusolve_status *statuses, gpusolve_batch **batch);

/**
 * Take new values for members first .. first + count - 1, on their old patterns; the others keep theirs. As gpusolve_factor_refresh: blocks, must not
 * run while another thread solves with the batch, and after a failure the batch is as before (but on CUDA after a fault of the device). The numbers of
 * these members are brought to the backend, and no others, unless one of them asks for finer supernodes (gpusolve_info.plans).
 * @param first, count  which, within the batch; count may be 0
 * @param members       [in, host] [count]
 * @param statuses      [out, host] [count] as in gpusolve_batch_create; or NULL
 *
 * @retval GPUSOLVE_PATTERN_MISMATCH a member's pattern is not the one that it was created with.
 */
GPUSOLVE_API gpusolve_status gpusolve_batch_refresh(gpusolve_handle *handle, gpusolve_batch *batch,
                                                    int64_t first, int64_t count,
                                                    const gpusolve_factor_data *members,
                                                    gpusolve_status *statuses);

/** Free the batch. The caller has waited for the solves that use it. */
GPUSOLVE_API void gpusolve_batch_destroy(gpusolve_batch *batch);

/** What a batch is, and takes. */
typedef struct gpusolve_batch_info {
    size_t size; /**< sizeof(gpusolve_batch_info), set by the caller */
    int64_t count;
    int64_t n;               /**< sum of the members' orders */
    int64_t patterns;        /**< members that share their pattern count once */
    int64_t factor_bytes;    /**< on the backend, of all members */
    int64_t workspace_bytes; /**< on the backend, of one workspace for max_nrhs columns */
    int64_t host_bytes;      /**< of the copy of the members' numbers, and of their patterns */
} gpusolve_batch_info;

/** Sizes of a batch, and of a workspace for max_nrhs >= 0 columns.
 * @param info  [in: size; out: the rest] */
GPUSOLVE_API gpusolve_status gpusolve_batch_get_info(gpusolve_handle *handle, const gpusolve_batch *batch,
                                                     int64_t max_nrhs, gpusolve_batch_info *info);

/** The number of members; 0 for NULL. At no cost, unlike gpusolve_batch_get_info, which counts bytes by supernode. */
GPUSOLVE_API int64_t gpusolve_batch_get_count(const gpusolve_batch *batch);

/** The type of b and x, if they are not complex of a real batch's precision: the members' dtype, or double precision if they are stored in
 * single precision; GPUSOLVE_DOUBLE for NULL. At no cost. */
GPUSOLVE_API gpusolve_dtype gpusolve_batch_get_dtype(const gpusolve_batch *batch);

/** Where each member's rows begin among those of all members: the sums of the orders before it.
 * @param offsets  [out, host] [count + 1] the last one is n */
GPUSOLVE_API gpusolve_status gpusolve_batch_get_offsets(gpusolve_handle *handle, const gpusolve_batch *batch,
                                                        int64_t *offsets);

/**
 * The batch as one factor of order n, block-diagonal: rows offsets[i] .. offsets[i + 1] - 1 are member i's. For gpusolve_solve with one
 * block of all members' rows, gpusolve_refine, gpusolve_factor_info, gpusolve_factor_summary and the like. For sparse right-hand sides of
 * some members and parts of their solutions: gpusolve_selection_create, with rows counted from offsets[i].
 * @return [host] valid as long as the batch; NULL for NULL
 */
GPUSOLVE_API const gpusolve_factor *gpusolve_batch_get_factor(const gpusolve_batch *batch);

/**
 * A workspace: one for each solve that is under way at the same time.
 * @param max_nrhs   >= 1 columns of each member; more are solved in blocks of max_nrhs
 * @param workspace  [out, host] NULL on failure
 *
 * It serves the batch it was made for; destroy it before or after the batch, once the solves that use it are done.
 */
GPUSOLVE_API gpusolve_status gpusolve_batch_workspace_create(gpusolve_handle *handle,
                                                             const gpusolve_batch *batch, int64_t max_nrhs,
                                                             gpusolve_batch_workspace **workspace);
/** Free the workspace. The caller has waited for the solves that use it. */
GPUSOLVE_API void gpusolve_batch_workspace_destroy(gpusolve_batch_workspace *workspace);

/** gpusolve_workspace_check of a batch's workspace: has a solve given up a wait?
 * @retval GPUSOLVE_TIMED_OUT yes, see gpusolve_solve. */
GPUSOLVE_API gpusolve_status gpusolve_batch_workspace_check(gpusolve_handle *handle,
                                                            gpusolve_batch_workspace *workspace);

/**
 * Solve one of the nine systems for every member: x[i] = system \ b[i].
 * @param workspace  [in] made for this batch
 * @param b          [in, host] [count] member i's block, of its order and any number of columns, in any order, with any leading dimension: the
 *                   factors' dtype, or complex of their precision if they are real. All blocks are in host memory, or all in device memory
 * @param x          [out, host] [count] b[i]'s columns and dtype; x[i] may be b[i] itself (same values, order and ld), else shares no byte with it.
 *                   No block of x shares a byte with another member's blocks. All in host memory, or all in device memory
 * @param active     [in, host or device] [count] bytes: where there is 0 the member's x is left as it was. NULL: all members. In device memory they
 *                   are read when the solve runs, by a graph each time it is launched
 *
 * The arrays b and x themselves are in host memory, and are not needed after the call. A solve takes as long as if every member had as many columns
 * as the one with the most, active or not.
 *
 * The cheapest blocks are those that together are one block of n rows: equal strides, and each member's rows right behind those of the member before.
 * On CUDA up to 8 real columns at equal distances cost no more, if the batch is not small. Others are gathered, and scattered afterwards. x is
 * scattered if there is `active`.
 *
 * A member's bits are those of gpusolve_solve with it alone, on CUDA where both take the same set of bits (gpusolve_solve) and do
 * so by the number of columns: a batch is a larger factor than its members.
 *
 * CUDA: with all blocks in device memory the call is asynchronous on the handle's stream, allocates nothing, copies nothing to or
 * from the host, and can be captured. A graph holds the addresses of the blocks, and the bytes of an `active` in host memory. Otherwise as
 * gpusolve_solve.
 */
GPUSOLVE_API gpusolve_status gpusolve_batch_solve(gpusolve_handle *handle, const gpusolve_batch *batch,
                                                  gpusolve_batch_workspace *workspace, gpusolve_system system,
                                                  const gpusolve_dense *b, const gpusolve_dense *x,
                                                  const uint8_t *active);

/**
 * The same for members of one order whose blocks are at equal distances.
 * @param b         [in] the first member's block
 * @param b_stride  numbers of b->dtype from one member's block to the next one's; 0: all members have the same b
 * @param x         [out] the first member's block
 * @param x_stride  the same of x; not 0 if there is more than one member
 *
 * For n columns each of order m, packed by columns: ld = m, stride = m n. Rows of all members below each other: stride = m.
 *
 * @retval GPUSOLVE_NOT_SUPPORTED the members have different orders.
 */
GPUSOLVE_API gpusolve_status gpusolve_batch_solve_strided(gpusolve_handle *handle,
                                                          const gpusolve_batch *batch,
                                                          gpusolve_batch_workspace *workspace,
                                                          gpusolve_system system, const gpusolve_dense *b,
                                                          int64_t b_stride, const gpusolve_dense *x,
                                                          int64_t x_stride, const uint8_t *active);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_BATCH_H */
