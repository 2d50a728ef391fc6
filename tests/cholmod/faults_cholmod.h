/* The calls of gpusolve_cholmod.h and the headers beside it, one function each: api/faults.h says how. */
#ifndef FAULTS_CHOLMOD_H
#define FAULTS_CHOLMOD_H

#include "api/faults.h"
#include "batch/faults_batch.h"
#include "gpusolve_cholmod_batch.h"

static gpusolve_status cholmod_import(world *w) {
    gpusolve_factor *factor;
    const gpusolve_status status = FAULTY(w, gpusolve_cholmod_import(w->handle, w->l, &factor));
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status cholmod_import_stored(world *w) {
    gpusolve_factor *factor;
    const gpusolve_status status =
        FAULTY(w, gpusolve_cholmod_import_stored(w->handle, w->l, GPUSOLVE_STORAGE_SINGLE, &factor));
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status cholmod_refresh(world *w) {
    const gpusolve_status status = FAULTY(w, gpusolve_cholmod_refresh(w->handle, w->factor, w->l));
    if (status) /* the numbers are the same */
        CHECK_STATUS(gpusolve_cholmod_refresh(w->handle, w->factor, w->l), GPUSOLVE_OK);
    check_factor(w);
    return status;
}

static gpusolve_status cholmod_query(world *w) {
    gpusolve_info info = {.size = sizeof info};
    return FAULTY(w, gpusolve_cholmod_query(w->handle, w->l, 4, &info));
}

static gpusolve_status cholmod_matrix(world *w) {
    gpusolve_matrix *matrix;
    const gpusolve_status status = FAULTY(w, gpusolve_cholmod_matrix(w->handle, w->a, &matrix));
    CHECK((status == GPUSOLVE_OK) == (matrix != NULL));
    gpusolve_matrix_destroy(matrix);
    return status;
}

static gpusolve_status cholmod_dense_view(world *w) {
    gpusolve_dense view;
    return FAULTY(w, gpusolve_cholmod_dense_view(w->dense_b, &view));
}

/* CHOLMOD's own blocks come back too. */
static gpusolve_status cholmod_solve_status(world *w) {
    const size_t blocks = w->common->malloc_count;
    gpusolve_status status = GPUSOLVE_OK;
    cholmod_dense *x;
    FAULTY_VOID(w,
                x = gpusolve_cholmod_solve_status(CHOLMOD_A, w->l, w->dense_b, w->common, &status, w->said));
    CHECK((status == GPUSOLVE_OK) == (x != NULL) && (status == GPUSOLVE_OK) == (w->said[0] == '\0'));
    cholmod_free_dense(&x, w->common);
    CHECK(w->common->malloc_count == blocks);
    return status;
}

/* Checks that X is there or that Common has a status, frees X, and checks that CHOLMOD has as many `blocks` as before the call. */
static gpusolve_status check_cholmod_answer(world *w, cholmod_dense *x, size_t blocks) {
    const int memory = w->common->status == CHOLMOD_OUT_OF_MEMORY,
              device = w->common->status == CHOLMOD_GPU_PROBLEM;
    CHECK((w->common->status == CHOLMOD_OK) == (x != NULL));
    CHECK(x || memory || device);
    cholmod_free_dense(&x, w->common);
    CHECK(w->common->malloc_count == blocks);
    snprintf(w->said, sizeof w->said, "memory"); /* it says no more than a status of CHOLMOD's */
    return memory ? GPUSOLVE_OUT_OF_MEMORY : device ? GPUSOLVE_OUT_OF_DEVICE_MEMORY : GPUSOLVE_OK;
}

static gpusolve_status cholmod_solve_once(world *w) {
    const size_t blocks = w->common->malloc_count;
    cholmod_dense *x;
    FAULTY_VOID(w, x = gpusolve_cholmod_solve(CHOLMOD_A, w->l, w->dense_b, w->common));
    return check_cholmod_answer(w, x, blocks);
}

static gpusolve_status cholmod_refine_once(world *w) {
    const size_t blocks = w->common->malloc_count;
    cholmod_dense *x;
    FAULTY_VOID(w, x = gpusolve_cholmod_refine(w->a, w->l, w->dense_b, NULL, NULL, NULL, w->common));
    return check_cholmod_answer(w, x, blocks);
}

/* L' x with a complex x, so that a real factor's x passes through a block of twice the columns. */
static gpusolve_status cholmod_multiply(world *w) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(w->handle, &w->data, &factor) == GPUSOLVE_OK);
    const size_t blocks = w->common->malloc_count;
    cholmod_dense *x = cholmod_ones(w->l->n, 2, CHOLMOD_COMPLEX, w->common), *y = NULL;
    REQUIRE(x != NULL);
    const gpusolve_status status =
        FAULTY(w, gpusolve_cholmod_multiply(w->handle, factor, GPUSOLVE_TIMES_Lt, x, &y, w->common));
    CHECK((status == GPUSOLVE_OK) == (y != NULL));
    cholmod_free_dense(&x, w->common);
    cholmod_free_dense(&y, w->common);
    CHECK(w->common->malloc_count == blocks);
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status cholmod_inverse(world *w) {
    const size_t blocks = w->common->malloc_count;
    cholmod_sparse *z = NULL;
    const gpusolve_status status =
        FAULTY(w, gpusolve_cholmod_inverse(w->handle, w->factor, w->a, &z, w->common));
    CHECK((status == GPUSOLVE_OK) == (z != NULL));
    cholmod_free_sparse(&z, w->common);
    CHECK(w->common->malloc_count == blocks);
    return status;
}

static gpusolve_batch *cholmod_batch_of(world *w) {
    cholmod_factor *const l[] = {w->l, w->l};
    gpusolve_batch *batch;
    REQUIRE(gpusolve_cholmod_batch_create(w->handle, 2, l, GPUSOLVE_STORAGE_SAME, NULL, &batch, w->common) ==
            GPUSOLVE_OK);
    return batch;
}

static gpusolve_status cholmod_batch_create(world *w) {
    cholmod_factor *const l[] = {w->l, w->l};
    gpusolve_batch *batch;
    const gpusolve_status status = FAULTY(
        w, gpusolve_cholmod_batch_create(w->handle, 2, l, GPUSOLVE_STORAGE_SAME, NULL, &batch, w->common));
    CHECK((status == GPUSOLVE_OK) == (batch != NULL));
    if (batch)
        check_batch_answers(w, batch, &w->expected, &w->expected);
    gpusolve_batch_destroy(batch);
    return status;
}

/* If it fails the old numbers are there. */
static gpusolve_status cholmod_batch_refresh(world *w) {
    cholmod_factor *const l[] = {w->l};
    gpusolve_batch *batch = batch_of(w);
    const gpusolve_status status =
        FAULTY(w, gpusolve_cholmod_batch_refresh(w->handle, batch, 1, 1, l, NULL, w->common));
    check_batch_answers(w, batch, &w->expected, status ? &w->expected_other : &w->expected);
    gpusolve_batch_destroy(batch);
    return status;
}

static gpusolve_status cholmod_batch_solve(world *w) {
    const size_t blocks = w->common->malloc_count;
    gpusolve_batch *batch = cholmod_batch_of(w);
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    cholmod_dense *const b[] = {w->dense_b, w->dense_b};
    cholmod_dense *x[] = {NULL, NULL};
    const gpusolve_status status = FAULTY(
        w, gpusolve_cholmod_batch_solve(w->handle, batch, workspace, CHOLMOD_A, b, x, NULL, w->common));
    for (int m = 0; m < 2; m++) {
        CHECK((status == GPUSOLVE_OK) == (x[m] != NULL));
        cholmod_free_dense(&x[m], w->common);
    }
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    CHECK(w->common->malloc_count == blocks);
    return status;
}

#endif
