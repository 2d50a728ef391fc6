/* The calls of gpusolve_batch.h, one function each: faults.h says how. Batches are of two members, the world's factor and one with other numbers. */
#ifndef FAULTS_BATCH_H
#define FAULTS_BATCH_H

#include "api/faults.h"

static gpusolve_batch *batch_of(world *w) {
    const gpusolve_factor_data members[] = {w->data, w->other};
    gpusolve_batch *batch;
    REQUIRE(gpusolve_batch_create(w->handle, 2, members, NULL, &batch) == GPUSOLVE_OK);
    return batch;
}

static gpusolve_batch_workspace *batch_workspace_of(world *w, const gpusolve_batch *batch) {
    gpusolve_batch_workspace *workspace;
    REQUIRE(gpusolve_batch_workspace_create(w->handle, batch, COLUMNS, &workspace) == GPUSOLVE_OK);
    return workspace;
}

/* Solve, with nothing that fails: the members answer as expected, or as they would alone but for rounding on a device. */
static void check_batch_answers(world *w, const gpusolve_batch *batch, const gpusolve_dense *first,
                                const gpusolve_dense *second) {
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    gpusolve_dense other = w->x;
    other.values = malloc(testing_block_bytes(&w->x) + 1);
    REQUIRE(other.values != NULL);
    const gpusolve_dense b[] = {w->b, w->b}, x[] = {w->x, other};
    CHECK_STATUS(gpusolve_batch_solve(w->handle, batch, workspace, GPUSOLVE_A, b, x, NULL), GPUSOLVE_OK);
    CHECK(testing_near(&w->x, first) && testing_near(&other, second));
    free(other.values);
    gpusolve_batch_workspace_destroy(workspace);
}

static gpusolve_status batch_create(world *w) {
    const gpusolve_factor_data members[] = {w->data, w->other};
    gpusolve_status statuses[2];
    gpusolve_batch *batch;
    const gpusolve_status status = FAULTY(w, gpusolve_batch_create(w->handle, 2, members, statuses, &batch));
    CHECK((status == GPUSOLVE_OK) == (batch != NULL));
    if (batch)
        check_batch_answers(w, batch, &w->expected, &w->expected_other);
    gpusolve_batch_destroy(batch);
    return status;
}

/* If it fails the old numbers are there. */
static gpusolve_status batch_refresh(world *w) {
    gpusolve_batch *batch = batch_of(w);
    const gpusolve_status status = FAULTY(w, gpusolve_batch_refresh(w->handle, batch, 0, 1, &w->other, NULL));
    check_batch_answers(w, batch, status ? &w->expected : &w->expected_other, &w->expected_other);
    gpusolve_batch_destroy(batch);
    return status;
}

static gpusolve_status batch_destroy(world *w) {
    gpusolve_batch *batch = batch_of(w);
    FAULTY_VOID(w, gpusolve_batch_destroy(batch));
    return GPUSOLVE_OK;
}

static gpusolve_status batch_get_info(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_info info = {.size = sizeof info};
    const gpusolve_status status = FAULTY(w, gpusolve_batch_get_info(w->handle, batch, 1, &info));
    gpusolve_batch_destroy(batch);
    return status;
}

static gpusolve_status batch_get_count(world *w) {
    gpusolve_batch *batch = batch_of(w);
    int64_t count = 0;
    FAULTY_VOID(w, count = gpusolve_batch_get_count(batch));
    CHECK(count > 0);
    gpusolve_batch_destroy(batch);
    return GPUSOLVE_OK;
}

static gpusolve_status batch_get_dtype(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_dtype dtype = GPUSOLVE_FLOAT;
    FAULTY_VOID(w, dtype = gpusolve_batch_get_dtype(batch));
    CHECK(dtype == w->data.dtype);
    gpusolve_batch_destroy(batch);
    return GPUSOLVE_OK;
}

static gpusolve_status batch_get_offsets(world *w) {
    gpusolve_batch *batch = batch_of(w);
    int64_t offsets[3];
    const gpusolve_status status = FAULTY(w, gpusolve_batch_get_offsets(w->handle, batch, offsets));
    gpusolve_batch_destroy(batch);
    return status;
}

static gpusolve_status batch_get_factor(world *w) {
    gpusolve_batch *batch = batch_of(w);
    const gpusolve_factor *factor = NULL;
    FAULTY_VOID(w, factor = gpusolve_batch_get_factor(batch));
    CHECK(factor != NULL);
    gpusolve_batch_destroy(batch);
    return GPUSOLVE_OK;
}

static gpusolve_status batch_workspace_create(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_workspace *workspace;
    const gpusolve_status status =
        FAULTY(w, gpusolve_batch_workspace_create(w->handle, batch, COLUMNS, &workspace));
    CHECK((status == GPUSOLVE_OK) == (workspace != NULL));
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    return status;
}

static gpusolve_status batch_workspace_destroy(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    FAULTY_VOID(w, gpusolve_batch_workspace_destroy(workspace));
    gpusolve_batch_destroy(batch);
    return GPUSOLVE_OK;
}

static gpusolve_status batch_workspace_check(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    const gpusolve_status status = FAULTY(w, gpusolve_batch_workspace_check(w->handle, workspace));
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    return status;
}

/* Blocks in host memory: with CUDA the vectors for them are made by the first call. */
static gpusolve_status batch_solve(world *w) {
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    gpusolve_dense other = w->x;
    other.values = malloc(testing_block_bytes(&w->x) + 1);
    REQUIRE(other.values != NULL);
    const gpusolve_dense b[] = {w->b, w->b}, x[] = {w->x, other};
    const gpusolve_status status =
        FAULTY(w, gpusolve_batch_solve(w->handle, batch, workspace, GPUSOLVE_A, b, x, NULL));
    if (status)
        CHECK_STATUS(gpusolve_batch_solve(w->handle, batch, workspace, GPUSOLVE_A, b, x, NULL), GPUSOLVE_OK);
    CHECK(testing_near(&w->x, &w->expected) && testing_near(&other, &w->expected_other));
    free(other.values);
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    return status;
}

/* Both members have the same b; the second one's x is left alone. */
static gpusolve_status batch_solve_strided(world *w) {
    static const uint8_t active[] = {1, 0};
    gpusolve_batch *batch = batch_of(w);
    gpusolve_batch_workspace *workspace = batch_workspace_of(w, batch);
    const int64_t stride = (int64_t)(testing_block_bytes(&w->x) / testing_bytes(w->x.dtype));
    gpusolve_dense x = w->x;
    x.values = malloc(2 * testing_block_bytes(&w->x) + 1);
    REQUIRE(x.values != NULL);
    const gpusolve_status status =
        FAULTY(w, gpusolve_batch_solve_strided(w->handle, batch, workspace, GPUSOLVE_A, &w->b, 0, &x, stride,
                                               active));
    if (status)
        CHECK_STATUS(gpusolve_batch_solve_strided(w->handle, batch, workspace, GPUSOLVE_A, &w->b, 0, &x,
                                                  stride, active),
                     GPUSOLVE_OK);
    CHECK(testing_near(&x, &w->expected));
    free(x.values);
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    return status;
}

#endif
