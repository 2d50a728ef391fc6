/* What tests of the CUDA backend share: a matrix, CHOLMOD's factor, its import on the device, and solves in a graph. */
#ifndef GPUSOLVE_TESTS_CUDA_PROBLEM_H
#define GPUSOLVE_TESTS_CUDA_PROBLEM_H

#include "testing.h"

#include <cuda_runtime_api.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "tuning.h"

typedef struct problem {
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_dtype dtype; /* of a type in single precision: rounded */
    int64_t n;
} problem;

/* The factor, rounded to single precision. */
static inline gpusolve_factor *import_rounded(gpusolve_handle *handle, const cholmod_factor *l) {
    gpusolve_factor *factor = NULL;
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = testing_round(l, &data);
    REQUIRE(rounded);
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    free(rounded);
    return factor;
}

/* Import L in this precision, again if it was before: into a plan by the tuning of now (tuning.h). */
static inline void import_as(problem *p, gpusolve_dtype dtype) {
    gpusolve_factor_destroy(p->factor);
    p->factor = NULL;
    p->dtype = dtype;
    if (dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT)
        p->factor = import_rounded(p->handle, p->l);
    else
        REQUIRE(gpusolve_cholmod_import(p->handle, p->l, &p->factor) == GPUSOLVE_OK);
}

static inline void open_kind(problem *p, const char *spec, gpusolve_factor_kind kind, gpusolve_dtype dtype) {
    cholmod_start(&p->common);
    p->a = testing_load(spec, &p->common);
    REQUIRE(p->a);
    p->l = testing_factorize(p->a, kind, &p->common);
    REQUIRE(p->l);
    p->handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0);
    p->factor = NULL;
    import_as(p, dtype);
    p->n = (int64_t)p->l->n;
}

static inline void open_problem(problem *p, const char *spec) {
    open_kind(p, spec, GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE);
}

static inline void close_problem(problem *p) {
    gpusolve_factor_destroy(p->factor);
    gpusolve_destroy(p->handle);
    cholmod_free_factor(&p->l, &p->common);
    cholmod_free_sparse(&p->a, &p->common);
    cholmod_finish(&p->common);
}

/*
 * A workspace for so many columns of the problem's factor, made when it is first asked for: making one records a graph for each
 * width, which takes far longer than a solve. forget_workspaces() before the factor is another.
 */
enum { MOST_KEPT = 300 };
static gpusolve_workspace *kept_workspaces[MOST_KEPT + 1];

static inline gpusolve_workspace *workspace_for(const problem *p, int64_t max_nrhs) {
    gpusolve_workspace **kept = &kept_workspaces[max_nrhs];
    if (!*kept)
        REQUIRE(gpusolve_workspace_create(p->handle, p->factor, max_nrhs, kept) == GPUSOLVE_OK);
    return *kept;
}

static inline void forget_workspaces(void) {
    for (int k = 0; k <= MOST_KEPT; k++) {
        gpusolve_workspace_destroy(kept_workspaces[k]);
        kept_workspaces[k] = NULL;
    }
}

/* So many columns of its numbers. */
static inline gpusolve_dense new_block(const problem *p, int64_t cols) {
    return testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, cols, 0);
}

/* Columns first .. first + cols - 1 of a block by columns. */
static inline gpusolve_dense columns_of(const gpusolve_dense *b, int64_t first, int64_t cols) {
    gpusolve_dense part = *b;
    part.values = (char *)b->values + (size_t)(first * b->ld) * testing_bytes(b->dtype);
    part.cols = cols;
    return part;
}

/* All bits of a number ones: the pattern of what is not there yet. */
static inline void set_all_ones(const gpusolve_dense *b, int64_t i, int64_t j) {
    memset((char *)b->values + (size_t)(j * b->ld + i) * testing_bytes(b->dtype), 0xff,
           testing_bytes(b->dtype));
}

static inline int64_t count_nans(const gpusolve_dense *x) {
    int64_t nans = 0;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++)
            nans += isnan(creal(testing_get(x, i, j)));
    return nans;
}

/* A block of the user's in device memory, filled from the host's. */
static inline gpusolve_dense on_device(const gpusolve_dense *host) {
    gpusolve_dense device = *host;
    device.values = device_new(host->values, testing_block_bytes(host));
    REQUIRE(device.values);
    return device;
}

/* Workspaces for so many columns, of a handle that wants it so, give all of them the bits of one column by itself. */
static inline void check_same_bits(const problem *p, const int64_t *widths, size_t count, int64_t columns) {
    const gpusolve_dense b = new_block(p, columns), x = new_block(p, columns),
                         expected = new_block(p, columns);
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.same_bits = 1;
    gpusolve_handle *handle;
    REQUIRE(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    testing_fill(&b, 5);
    for (int64_t j = 0; j < columns; j++) {
        const gpusolve_dense from = columns_of(&b, j, 1), to = columns_of(&expected, j, 1);
        CHECK_STATUS(gpusolve_solve(handle, p->factor, NULL, GPUSOLVE_A, &from, &to), GPUSOLVE_OK);
    }
    for (size_t w = 0; w < count; w++) {
        gpusolve_workspace *workspace;
        testing_in("same bits, a workspace for %d columns", (int)widths[w]);
        REQUIRE(gpusolve_workspace_create(handle, p->factor, widths[w], &workspace) == GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_solve(handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x, 0, &expected, 0, columns));
        gpusolve_workspace_destroy(workspace);
    }
    gpusolve_destroy(handle);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* A solve of A x = b is captured, and has these bits whenever it is replayed: a tenth as often in a quick run. */
static inline void check_replays(const problem *p, gpusolve_workspace *workspace, const gpusolve_dense *b,
                                 const gpusolve_dense *expected, int runs) {
    const gpusolve_dense x = testing_block(b->dtype, GPUSOLVE_COL_MAJOR, p->n, b->cols, 0);
    const gpusolve_dense device_b = on_device(b), device_x = on_device(&x);
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p->handle, stream), GPUSOLVE_OK);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &device_b, &device_x),
                 GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int run = 0; run < runs; run += testing_few() ? 10 : 1) {
        CHECK(device_fill(device_x.values, 0xff, testing_block_bytes(&x)) == 0);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, expected, 0, b->cols));
    }
    CHECK_STATUS(gpusolve_workspace_check(p->handle, workspace), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_set_stream(p->handle, NULL), GPUSOLVE_OK);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(x.values);
}

#endif
