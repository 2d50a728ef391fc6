/** @file
 * Batches of CHOLMOD's factors, solved with CHOLMOD's blocks. Header only, like gpusolve_cholmod.h, which says on what versions of CHOLMOD
 * it relies. gpusolve_batch.h has everything else about batches: their workspaces, sizes and rows.
 *
 *      gpusolve_cholmod_batch_create(handle, count, L, GPUSOLVE_STORAGE_SAME, NULL, &batch, &common);
 *      gpusolve_batch_workspace_create(handle, batch, 1, &workspace);
 *      gpusolve_cholmod_batch_solve(handle, batch, workspace, CHOLMOD_A, B, X, NULL, &common);
 *
 * Common allocates what a call returns, and what it needs meanwhile. A failure is told as by gpusolve.h, and to Common as by
 * gpusolve_cholmod_solve.
 */
#ifndef GPUSOLVE_CHOLMOD_BATCH_H
#define GPUSOLVE_CHOLMOD_BATCH_H

#include "gpusolve_batch.h"
#include "gpusolve_cholmod_operands.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Batches
 * @{ */

/* The arrays of count members of which the first is number `first` of the batch; to be freed by the caller. *members is NULL if count is
 * none that gpusolve_batch_create takes, which says so. */
static inline gpusolve_status gpusolve_cholmod_members_(gpusolve_handle *handle, int64_t first, int64_t count,
                                                        cholmod_factor *const *L, gpusolve_storage storage,
                                                        gpusolve_status *statuses,
                                                        gpusolve_factor_data **members,
                                                        cholmod_common *Common) {
    gpusolve_status status = GPUSOLVE_OK;
    int64_t m;
    *members = NULL;
    if (count <= 0 || count >= INT32_MAX)
        return GPUSOLVE_OK;
    if (!L)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "L: is NULL");
    *members = (gpusolve_factor_data *)gpusolve_cholmod_new_((size_t)count, sizeof **members, Common);
    if (!*members)
        return gpusolve_cholmod_no_memory_(handle);
    for (m = 0; m < count; m++) {
        const char *why = NULL;
        char text[256];
        const gpusolve_status own = gpusolve_cholmod_describe_(L[m], &(*members)[m], &why);
        (*members)[m].storage = storage;
        if (statuses)
            statuses[m] = own;
        if (own != GPUSOLVE_OK && status == GPUSOLVE_OK) {
            snprintf(text, sizeof text, "members[%lld]: %s", (long long)(first + m), why);
            status = gpusolve_report(handle, own, text);
        }
    }
    return status;
}

static inline void gpusolve_cholmod_free_members_(int64_t count, gpusolve_factor_data *members,
                                                  cholmod_common *Common) {
    if (members)
        gpusolve_cholmod_delete_((size_t)count, sizeof *members, members, Common);
}

/**
 * gpusolve_batch_create of CHOLMOD's factors.
 * @param count     members, >= 0
 * @param L         [in, host] [count] each as in gpusolve_cholmod_import; all of one dtype, and all L L' (supernodal or simplicial) or
 *                  all L D L'. Not needed afterwards
 * @param storage   of L's numbers: GPUSOLVE_STORAGE_SAME, or GPUSOLVE_STORAGE_SINGLE for single precision (gpusolve_factor_data.storage)
 * @param statuses  [out, host] [count] or NULL, as in gpusolve_batch_create. If an L[m] is NULL, symbolic, or of a type that gpusolve has
 *                  not, the others' arrays are not looked at, and they have GPUSOLVE_OK
 * @param batch     [out, host] NULL on failure
 *
 * The sentence of a failure names the member: "members[17]: ...".
 */
static inline gpusolve_status gpusolve_cholmod_batch_create(gpusolve_handle *handle, int64_t count,
                                                            cholmod_factor *const *L,
                                                            gpusolve_storage storage,
                                                            gpusolve_status *statuses, gpusolve_batch **batch,
                                                            cholmod_common *Common) {
    gpusolve_factor_data *members = NULL;
    gpusolve_status status = gpusolve_cholmod_check_common_(handle, Common);
    if (batch)
        *batch = NULL;
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_members_(handle, 0, count, L, storage, statuses, &members, Common);
    if (status == GPUSOLVE_OK)
        status = gpusolve_batch_create(handle, count, members, statuses, batch);
    gpusolve_cholmod_free_members_(count, members, Common);
    return gpusolve_cholmod_end_(handle, status, __LINE__, Common);
}

/**
 * gpusolve_batch_refresh with the numbers that these factors have now.
 * @param first,count  which members, within the batch; count may be 0
 * @param L            [in, host] [count] new factors, or the same ones factorised again, on their old patterns
 * @param statuses     [out, host] [count] as in gpusolve_cholmod_batch_create; or NULL
 */
static inline gpusolve_status
gpusolve_cholmod_batch_refresh(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first, int64_t count,
                               cholmod_factor *const *L, gpusolve_status *statuses, cholmod_common *Common) {
    gpusolve_factor_data *members = NULL;
    const int64_t all = gpusolve_batch_get_count(batch);
    const int is_within =
        batch && first >= 0 && first <= all; /* else gpusolve_batch_refresh says what is wrong */
    gpusolve_status status = gpusolve_cholmod_check_common_(handle, Common);
    if (status == GPUSOLVE_OK && is_within && count > all - first)
        status = gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT,
                                 "count: is more than the batch has members from the first one on");
    else if (status == GPUSOLVE_OK && is_within)
        status = gpusolve_cholmod_members_(handle, first, count, L, GPUSOLVE_STORAGE_SAME, statuses, &members,
                                           Common);
    if (status == GPUSOLVE_OK)
        status = gpusolve_batch_refresh(handle, batch, first, count, members, statuses);
    gpusolve_cholmod_free_members_(count, members, Common);
    return gpusolve_cholmod_end_(handle, status, __LINE__, Common);
}

/* ------------------------------------------------------------------------------------------ solves --- */

/* One member in a solve. */
typedef struct gpusolve_cholmod_member_ {
    int is_active;
    cholmod_dense *x;    /* the answer: the caller's block, or `made` */
    cholmod_dense *made; /* by this call; NULL if the caller gave one */
    cholmod_dense *work; /* packed: what is not as gpusolve_batch_solve wants it passes through; or NULL */
} gpusolve_cholmod_member_;

/* What a solve works with. */
typedef struct gpusolve_cholmod_run_of_ {
    int64_t count;
    gpusolve_dtype dtype;              /* of the factors */
    int packed;                        /* the xtype of all blocks that gpusolve_batch_solve gets */
    int64_t *offsets;                  /* [count + 1] */
    gpusolve_cholmod_member_ *members; /* [count] */
    gpusolve_dense *views;             /* [2 * count] of b, then of x */
} gpusolve_cholmod_run_of_;

static inline void gpusolve_cholmod_run_free_(gpusolve_cholmod_run_of_ *run, cholmod_common *Common) {
    const size_t count = (size_t)run->count;
    size_t m;
    for (m = 0; run->members && m < count; m++) {
        if (run->members[m].work)
            gpusolve_cholmod_free_(&run->members[m].work, Common);
        if (run->members[m].made)
            gpusolve_cholmod_free_(&run->members[m].made, Common);
    }
    if (run->offsets)
        gpusolve_cholmod_delete_(count + 1, sizeof *run->offsets, run->offsets, Common);
    if (run->members)
        gpusolve_cholmod_delete_(count + 1, sizeof *run->members, run->members, Common);
    if (run->views)
        gpusolve_cholmod_delete_(2 * count + 1, sizeof *run->views, run->views, Common);
}

/* Asks the batch, and makes the arrays. */
static inline gpusolve_status gpusolve_cholmod_run_begin_(gpusolve_handle *handle,
                                                          const gpusolve_batch *batch,
                                                          gpusolve_cholmod_run_of_ *run,
                                                          cholmod_common *Common) {
    const size_t count = (size_t)gpusolve_batch_get_count(batch);
    run->count = (int64_t)count;
    run->dtype = gpusolve_batch_get_dtype(batch);
    run->offsets = (int64_t *)gpusolve_cholmod_new_(count + 1, sizeof *run->offsets, Common);
    run->members = (gpusolve_cholmod_member_ *)gpusolve_cholmod_new_(count + 1, sizeof *run->members, Common);
    run->views = (gpusolve_dense *)gpusolve_cholmod_new_(2 * count + 1, sizeof *run->views, Common);
    if (run->members)
        memset(run->members, 0, (count + 1) * sizeof *run->members);
    if (!run->offsets || !run->members || !run->views)
        return gpusolve_cholmod_no_memory_(handle);
    return gpusolve_batch_get_offsets(handle, batch, run->offsets);
}

/* The xtype of X[m] that cholmod_solve would choose. */
static inline int gpusolve_cholmod_run_xtype_(const gpusolve_cholmod_run_of_ *run, int sys,
                                              const cholmod_dense *B, const cholmod_common *Common) {
    const int real = gpusolve_cholmod_is_real_(run->dtype) || sys == CHOLMOD_P || sys == CHOLMOD_Pt;
    return gpusolve_cholmod_answer_(real && B->xtype == CHOLMOD_REAL, Common);
}

/* Checks the blocks, and chooses the type in which all are solved. */
static inline gpusolve_status gpusolve_cholmod_run_check_(gpusolve_handle *handle, int sys,
                                                          cholmod_dense *const *B, cholmod_dense *const *X,
                                                          const uint8_t *active,
                                                          gpusolve_cholmod_run_of_ *run,
                                                          const cholmod_common *Common) {
    gpusolve_status status = GPUSOLVE_OK;
    int64_t m;
    if (sys < CHOLMOD_A || sys > CHOLMOD_Pt)
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, "sys: is no system of cholmod_solve");
    if (run->count > 0 && (!B || !X))
        return gpusolve_report(handle, GPUSOLVE_INVALID_ARGUMENT, B ? "X: is NULL" : "B: is NULL");
    run->packed = gpusolve_cholmod_is_real_(run->dtype) ? CHOLMOD_REAL : CHOLMOD_COMPLEX;
    for (m = 0; m < run->count && status == GPUSOLVE_OK; m++) {
        const int64_t n = run->offsets[m + 1] - run->offsets[m];
        char name[40];
        run->members[m].is_active = !active || active[m];
        if (!run->members[m].is_active)
            continue;
        snprintf(name, sizeof name, "B[%lld]", (long long)m);
        status = gpusolve_cholmod_check_block_(handle, name, B[m], n, run->dtype);
        if (status != GPUSOLVE_OK)
            return status;
        if (B[m]->xtype != CHOLMOD_REAL)
            run->packed = CHOLMOD_COMPLEX;
        snprintf(name, sizeof name, "X[%lld]", (long long)m);
        if (X[m])
            status = gpusolve_cholmod_check_answer_(
                handle, name, X[m], B[m], gpusolve_cholmod_run_xtype_(run, sys, B[m], Common), n, run->dtype);
    }
    return status;
}

/* Makes the blocks that are missing, and describes all. */
static inline gpusolve_status gpusolve_cholmod_run_blocks_(gpusolve_handle *handle, int sys,
                                                           cholmod_dense *const *B, cholmod_dense *const *X,
                                                           gpusolve_cholmod_run_of_ *run,
                                                           cholmod_common *Common) {
    const int real_factors = gpusolve_cholmod_is_real_(run->dtype);
    gpusolve_status status = GPUSOLVE_OK;
    int64_t m;
    for (m = 0; m < run->count && status == GPUSOLVE_OK; m++) {
        gpusolve_cholmod_member_ *member = &run->members[m];
        gpusolve_dense *b = &run->views[m], *x = &run->views[run->count + m];
        if (!member->is_active) { /* no columns */
            memset(b, 0, sizeof *b);
            b->dtype = run->packed == CHOLMOD_REAL || !real_factors ? run->dtype
                       : run->dtype == GPUSOLVE_FLOAT               ? GPUSOLVE_COMPLEX_FLOAT
                                                                    : GPUSOLVE_COMPLEX_DOUBLE;
            b->order = GPUSOLVE_COL_MAJOR;
            b->rows = run->offsets[m + 1] - run->offsets[m];
            b->ld = b->rows > 0 ? b->rows : 1;
            *x = *b;
            continue;
        }
        if (!X[m])
            member->made =
                gpusolve_cholmod_allocate_(B[m], gpusolve_cholmod_run_xtype_(run, sys, B[m], Common), Common);
        member->x = X[m] ? X[m] : member->made;
        if (!member->x)
            return gpusolve_cholmod_no_memory_(handle);
        if (B[m]->xtype != run->packed || member->x->xtype != run->packed) {
            member->work = gpusolve_cholmod_allocate_(B[m], run->packed, Common);
            if (!member->work)
                return gpusolve_cholmod_no_memory_(handle);
            if (B[m]->xtype != run->packed)
                gpusolve_cholmod_copy_(B[m], member->work);
        }
        status = gpusolve_cholmod_dense_view(B[m]->xtype == run->packed ? B[m] : member->work, b);
        if (status == GPUSOLVE_OK)
            status =
                gpusolve_cholmod_dense_view(member->x->xtype == run->packed ? member->x : member->work, x);
    }
    return status;
}

/**
 * gpusolve_batch_solve with CHOLMOD's blocks: X[m] = sys \ B[m] for every member m.
 * @param workspace  [in] made for this batch
 * @param sys        CHOLMOD_A .. CHOLMOD_Pt
 * @param B          [in, host] [count] of the member's order, any number of columns, any leading dimension, of the factors' precision; each
 *                   real, complex or zomplex, whatever the factors are
 * @param X          [in, out, host] [count] X[m]: a block for the answer, of B[m]'s shape, with any leading dimension; it may be B[m]. If
 *                   X[m] is NULL the call makes a block, to be freed with cholmod_free_dense (cholmod_l_free_dense for CHOLMOD_LONG)
 * @param active     [in, host] [count] bytes: where there is 0 B[m] and X[m] are not looked at, and stay as they are. NULL: all members
 *
 * X[m] is real if B[m] is and either the factors are or sys is CHOLMOD_P or CHOLMOD_Pt. Otherwise it is complex or zomplex: as the
 * caller's block is, or as Common->prefer_zomplex says. That is cholmod_solve's choice. Where all blocks and the factors are real, or all
 * blocks are complex, none is copied.
 *
 * @retval GPUSOLVE_TYPE_MISMATCH another precision, or a block that is real for an answer that is not, or the other way round.
 *
 * If an operand is refused, the sentence names it ("B[17]: ..."), and no block is changed. Else as gpusolve_batch_solve with blocks in
 * host memory.
 */
static inline gpusolve_status gpusolve_cholmod_batch_solve(gpusolve_handle *handle,
                                                           const gpusolve_batch *batch,
                                                           gpusolve_batch_workspace *workspace, int sys,
                                                           cholmod_dense *const *B, cholmod_dense **X,
                                                           const uint8_t *active, cholmod_common *Common) {
    gpusolve_cholmod_run_of_ run;
    gpusolve_status status = gpusolve_cholmod_check_common_(handle, Common);
    int64_t m;
    memset(&run, 0, sizeof run);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_run_begin_(handle, batch, &run, Common);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_run_check_(handle, sys, B, X, active, &run, Common);
    if (status == GPUSOLVE_OK)
        status = gpusolve_cholmod_run_blocks_(handle, sys, B, X, &run, Common);
    if (status == GPUSOLVE_OK)
        status = gpusolve_batch_solve(handle, batch, workspace, (gpusolve_system)sys, run.views,
                                      run.views + run.count, NULL);
    for (m = 0; m < run.count && status == GPUSOLVE_OK; m++) {
        gpusolve_cholmod_member_ *member = &run.members[m];
        if (!member->is_active)
            continue;
        if (member->x->xtype != run.packed)
            gpusolve_cholmod_copy_(member->work, member->x);
        X[m] = member->x;
        member->made = NULL;
    }
    if (Common)
        gpusolve_cholmod_run_free_(&run, Common);
    return gpusolve_cholmod_end_(handle, status, __LINE__, Common);
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_CHOLMOD_BATCH_H */
