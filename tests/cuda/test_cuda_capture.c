/*
 * What a solve on the device promises beside the answer: it can be captured into a graph and replayed on new
 * numbers, it allocates nothing, it runs on the handle's stream, several streams may solve with one factor at
 * once, and operands in host memory are refused while a stream is captured. A factor that is refreshed
 * answers with the new numbers, from an old graph too.
 */
#include "cuda_problem.h"

#include <cuda_runtime_api.h>

#include "memory.h"

enum { COLUMNS = 9, MANY = 40, STREAMS = 4 };

static void check_capture(const char *spec) {
    testing_in("%s", spec);
    problem p = {0};
    open_problem(&p, spec);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 3);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    const gpusolve_dense expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    testing_fill(&b, 1);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, COLUMNS, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);

    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, workspace, GPUSOLVE_A, &b, &device_x),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strstr(gpusolve_last_error(p.handle), "b is in host memory") != NULL);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, workspace, GPUSOLVE_A, &device_b, &device_x),
                 GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    CHECK(device_fill(device_x.values, 0xff, testing_block_bytes(&x)) == 0);
    for (int round = 0; round < 3; round++)
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
    CHECK(testing_same_bits(&x, 0, &expected, 0, COLUMNS));

    /* new numbers: 4 A has the factor 2 L, so x becomes x / 4, to the last bit */
    for (size_t k = 0; k < p.l->xsize; k++)
        ((double *)p.l->x)[k] *= 2;
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
    for (int64_t k = 0; k < p.n * COLUMNS; k++)
        ((double *)expected.values)[k] /= 4;
    CHECK(testing_same_bits(&x, 0, &expected, 0, COLUMNS));

    /* no solve allocates */
    testing_count_allocations();
    for (int round = 0; round < 20; round++)
        CHECK_STATUS(gpusolve_solve(p.handle, p.factor, workspace, GPUSOLVE_A, &device_b, &device_x),
                     GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);

    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_workspace_destroy(workspace);
    close_problem(&p);
    cudaStreamDestroy(stream);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* Capture one solve of L x = b; the status that it had. */
static gpusolve_status capture(problem *p, gpusolve_workspace *workspace, const gpusolve_dense *b,
                               const gpusolve_dense *x, cudaStream_t stream, cudaGraphExec_t *exec) {
    cudaGraph_t graph = NULL;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    const gpusolve_status status = gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_L, b, x);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(exec, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);
    return status;
}

/* Launch it: x on the host. */
static void replay(cudaGraphExec_t exec, cudaStream_t stream, const gpusolve_dense *device_x,
                   const gpusolve_dense *x) {
    CHECK(device_fill(device_x->values, 0, testing_block_bytes(x)) == 0);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(x->values, device_x->values, testing_block_bytes(x)) == 0);
}

/*
 * Numbers with which the widest triangle must be split, if `split`, in the place of ones with which it can be inverted: a
 * graph that was captured before must not give a wrong answer, and a workspace from before must give the
 * right one, once it has been laid out anew. growth: of that inverse.
 */
static void check_refresh(const char *spec, double growth, int split, int64_t columns) {
    testing_in("refresh of %s, growth %g, %lld columns", spec, growth, (long long)columns);
    problem p = {0};
    open_problem(&p, spec);
    const int32_t *super = p.l->super, *pi = p.l->pi, *px = p.l->px;
    size_t widest = 0;
    for (size_t s = 1; s < p.l->nsuper; s++)
        if (super[s + 1] - super[s] > super[widest + 1] - super[widest])
            widest = s;
    const int nc = super[widest + 1] - super[widest], nr = pi[widest + 1] - pi[widest];
    double *panel = (double *)p.l->x + px[widest];
    double *before = malloc((size_t)nc * (size_t)nr * sizeof *before);
    REQUIRE(before);
    memcpy(before, panel, (size_t)nc * (size_t)nr * sizeof *before);

    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, columns, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, columns, 0);
    const gpusolve_dense expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, columns, 0);
    testing_fill(&b, 7);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    gpusolve_workspace *workspace = NULL, *other = NULL;
    cudaStream_t stream = NULL;
    cudaGraphExec_t old = NULL, refused = NULL, new = NULL;
    gpusolve_info info = {.size = sizeof info};
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, columns, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(capture(&p, workspace, &device_b, &device_x, stream, &old), GPUSOLVE_OK);

    for (int j = 0; j < nc; j++)
        for (int i = j + 1; i < nc; i++)
            panel[i + (int64_t)j * nr] = -(pow(growth, 1.0 / nc) - 1) * panel[i + (int64_t)i * nr];
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, columns, &info), GPUSOLVE_OK);
    CHECK(info.plans == 1 + split && info.split_supernodes == split);
    CHECK(info.split_slices >= 2 * split &&
          info.supernodes == (int64_t)p.l->nsuper + info.split_slices - split);
    replay(old, stream, &device_x, &x);
    CHECK(count_nans(&x) == (split ? p.n * columns : 0));
    CHECK_STATUS(gpusolve_workspace_check(p.handle, workspace), GPUSOLVE_OK);

    /* inside a capture nothing can be laid out anew */
    CHECK_STATUS(capture(&p, workspace, &device_b, &device_x, stream, &refused),
                 split ? GPUSOLVE_INVALID_ARGUMENT : GPUSOLVE_OK);
    CHECK(!split || strstr(gpusolve_last_error(p.handle), "planned the factor again") != NULL);

    /* L x = b with the numbers there are now, by the workspace from before and by one from now */
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, workspace, GPUSOLVE_L, &b, &x), GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, columns, &other) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, other, GPUSOLVE_L, &b, &expected), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, columns));
    CHECK(count_nans(&x) == 0);
    replay(old, stream, &device_x, &x);
    CHECK(split ? count_nans(&x) == p.n * columns : testing_same_bits(&x, 0, &expected, 0, columns));
    CHECK_STATUS(capture(&p, workspace, &device_b, &device_x, stream, &new), GPUSOLVE_OK);
    replay(new, stream, &device_x, &x);
    CHECK(testing_same_bits(&x, 0, &expected, 0, columns));

    /* the old numbers: what was split stays so */
    memcpy(panel, before, (size_t)nc * (size_t)nr * sizeof *before);
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, columns, &info), GPUSOLVE_OK);
    CHECK(info.plans == 1 + split);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, other, GPUSOLVE_L, &b, &expected), GPUSOLVE_OK);
    replay(new, stream, &device_x, &x);
    CHECK(testing_same_bits(&x, 0, &expected, 0, columns));

    cudaGraphExecDestroy(old);
    cudaGraphExecDestroy(refused);
    cudaGraphExecDestroy(new);
    gpusolve_workspace_destroy(workspace);
    gpusolve_workspace_destroy(other);
    close_problem(&p);
    cudaStreamDestroy(stream);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(before);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* One factor, a handle and a workspace for each stream, all under way together. */
static void check_streams(const char *spec) {
    testing_in("%s, %d streams", spec, STREAMS);
    problem p = {0};
    open_problem(&p, spec);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_ROW_MAJOR, p.n, COLUMNS, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_ROW_MAJOR, p.n, COLUMNS, 0);
    const gpusolve_dense expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_ROW_MAJOR, p.n, COLUMNS, 0);
    testing_fill(&b, 2);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, NULL, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    const gpusolve_dense device_b = on_device(&b);
    gpusolve_dense results[STREAMS];
    gpusolve_handle *handles[STREAMS];
    gpusolve_workspace *workspaces[STREAMS];
    cudaStream_t streams[STREAMS];
    for (int k = 0; k < STREAMS; k++) {
        REQUIRE(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking) == cudaSuccess);
        handles[k] = testing_handle(GPUSOLVE_BACKEND_CUDA, 0);
        CHECK_STATUS(gpusolve_set_stream(handles[k], streams[k]), GPUSOLVE_OK);
        REQUIRE(gpusolve_workspace_create(handles[k], p.factor, COLUMNS, &workspaces[k]) == GPUSOLVE_OK);
        results[k] = on_device(&x);
    }
    for (int round = 0; round < 25; round++)
        for (int k = 0; k < STREAMS; k++)
            CHECK_STATUS(
                gpusolve_solve(handles[k], p.factor, workspaces[k], GPUSOLVE_A, &device_b, &results[k]),
                GPUSOLVE_OK);
    for (int k = 0; k < STREAMS; k++) {
        CHECK(cudaStreamSynchronize(streams[k]) == cudaSuccess);
        CHECK(device_read(x.values, results[k].values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, &expected, 0, COLUMNS));
        gpusolve_workspace_destroy(workspaces[k]);
        gpusolve_destroy(handles[k]);
        cudaStreamDestroy(streams[k]);
        device_delete(results[k].values);
    }
    device_delete(device_b.values);
    close_problem(&p);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* A small factor made later leaves a large one what its kernels need. */
static void check_two_factors(const char *first, const char *second) {
    testing_in("%s, then %s", first, second);
    problem large = {0}, small = {0};
    open_problem(&large, first);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, large.n, 1, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, large.n, 1, 0);
    const gpusolve_dense expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, large.n, 1, 0);
    testing_fill(&b, 4);
    CHECK_STATUS(gpusolve_solve(large.handle, large.factor, NULL, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    open_problem(&small, second);
    gpusolve_workspace *workspace = NULL;
    if (CHECK_STATUS(gpusolve_workspace_create(large.handle, large.factor, 1, &workspace), GPUSOLVE_OK))
        CHECK_STATUS(gpusolve_solve(large.handle, large.factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, 1));
    gpusolve_workspace_destroy(workspace);
    close_problem(&small);
    close_problem(&large);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* The summary says how the device's supernodes are dealt out, every one of them. */
static void check_summary(const char *spec) {
    testing_in("summary of %s", spec);
    problem p = {0};
    open_problem(&p, spec);
    char text[8192];
    long long branches = -1, inside = -1, above = -1;
    CHECK_STATUS(gpusolve_factor_summary(p.handle, p.factor, text, sizeof text, NULL), GPUSOLVE_OK);
    const char *walks = strstr(text, "branches: "), *stream = strstr(text, "stream: ");
    if (CHECK(walks && stream)) {
        CHECK(sscanf(walks, "branches: %lld, a block each, with %lld", &branches, &inside) == 2);
        CHECK(sscanf(stream, "stream: %lld", &above) == 1);
    }
    CHECK(branches > 0 && inside > branches && above > 0 && inside + above == (long long)p.l->nsuper);
    CHECK(strstr(text, "split: ") == NULL);
    close_problem(&p);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    check_capture("grid2d:60");
    check_capture("grid3d:14");
    check_summary("grid3d:14");
    /* one column, a block, groups side by side, tasks */
    static const int64_t columns[] = {1, 5, COLUMNS, MANY};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        const char *spec = columns[k] >= COLUMNS ? "grid3d:14" : "grid3d:26";
        check_refresh(spec, 30, 0, columns[k]); /* well-conditioned no longer, but whole */
        check_refresh(spec, 1e4, 1, columns[k]);
        check_refresh(spec, 1e60, 1, columns[k]);
    }
    check_two_factors("grid2d:120", "grid2d:12");
    check_streams("grid3d:14");
    check_streams("elasticity3d:6");
    return testing_done();
}
