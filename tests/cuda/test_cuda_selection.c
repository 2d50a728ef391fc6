/*
 * Solves with a selection on the device: captured into a graph and replayed on new right-hand sides, without
 * an allocation, on the handle's stream; host memory is refused while a stream is captured; after a refresh
 * the same graph answers with the new numbers once these have been copied.
 */
#include "testing.h"

#include <cuda_runtime_api.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "memory.h"

enum { COLUMNS = 9, B_ROWS = 3, X_ROWS = 5 };

typedef struct selection_world {
    double tolerance; /* b has numbers up to 1 */
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_selection *selection;
    gpusolve_dense b, x, expected, device_b, device_x;
    int64_t b_rows[B_ROWS], x_rows[X_ROWS];
    cudaStream_t stream;
    cudaGraphExec_t exec;
} selection_world;

static gpusolve_dense block(int64_t rows) {
    return testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, rows, COLUMNS, 2);
}

static gpusolve_dense on_device(const gpusolve_dense *host) {
    gpusolve_dense device = *host;
    device.values = device_new(host->values, testing_block_bytes(host));
    REQUIRE(device.values);
    return device;
}

/* expected: the rows of the whole solve. */
static void solve_whole(selection_world *w) {
    const int64_t n = (int64_t)w->l->n;
    gpusolve_dense whole = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    memset(whole.values, 0, testing_block_bytes(&whole));
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t k = 0; k < B_ROWS; k++)
            testing_set(&whole, w->b_rows[k], j, testing_get(&w->b, k, j));
    CHECK_STATUS(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &whole, &whole), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t k = 0; k < X_ROWS; k++)
            testing_set(&w->expected, k, j, testing_get(&whole, w->x_rows[k], j));
    free(whole.values);
}

static void capture(selection_world *w) {
    cudaGraph_t graph = NULL;
    REQUIRE(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->b, &w->device_x),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strstr(gpusolve_last_error(w->handle), "b is in host memory") != NULL);
    CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->device_b, &w->device_x),
                 GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(w->stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&w->exec, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);
}

static void replay(selection_world *w) {
    REQUIRE(device_write(w->device_b.values, w->b.values, testing_block_bytes(&w->b)) == 0);
    REQUIRE(device_fill(w->device_x.values, 0xff, testing_block_bytes(&w->x)) == 0);
    CHECK(cudaGraphLaunch(w->exec, w->stream) == cudaSuccess &&
          cudaStreamSynchronize(w->stream) == cudaSuccess);
    CHECK(device_read(w->x.values, w->device_x.values, testing_block_bytes(&w->x)) == 0);
    CHECK(testing_padding_untouched(&w->x));
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t k = 0; k < X_ROWS; k++)
            CHECK(cabs(testing_get(&w->x, k, j) - testing_get(&w->expected, k, j)) <= w->tolerance);
}

static void check_matrix(const char *spec, int one_reach, int same_bits, cholmod_common *common) {
    testing_in("%s, %s, same bits %d", spec, one_reach ? "one reach" : "two reaches", same_bits);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    selection_world world = {.tolerance = 1e-11,
                             .handle = testing_handle_bits(GPUSOLVE_BACKEND_CUDA, 0, same_bits)},
                    *w = &world;
    w->l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(w->l != NULL && gpusolve_cholmod_import(w->handle, w->l, &w->factor) == GPUSOLVE_OK);
    const int64_t n = (int64_t)w->l->n;
    for (int64_t k = 0; k < B_ROWS; k++)
        w->b_rows[k] = n / 7 + k * (n / 5);
    for (int64_t k = 0; k < X_ROWS; k++)
        w->x_rows[k] = one_reach ? w->b_rows[k % B_ROWS] : n - 1 - k * (n / 11);
    w->b = block(B_ROWS);
    w->x = block(X_ROWS);
    w->expected = block(X_ROWS);
    testing_fill(&w->b, 1);
    w->device_b = on_device(&w->b);
    w->device_x = on_device(&w->x);
    REQUIRE(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(w->handle, w->stream), GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, B_ROWS, w->b_rows, X_ROWS, w->x_rows,
                                      COLUMNS, &w->selection) == GPUSOLVE_OK);
    capture(w);
    for (uint64_t seed = 1; seed < 4; seed++) {
        testing_fill(&w->b, seed);
        solve_whole(w);
        replay(w);
    }

    for (size_t k = 0; k < w->l->xsize; k++)
        ((double *)w->l->x)[k] *= 1.25;
    CHECK_STATUS(gpusolve_cholmod_refresh(w->handle, w->factor, w->l), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->device_b, &w->device_x),
                 GPUSOLVE_OK);
    solve_whole(w);
    replay(w);

    testing_count_allocations();
    for (int round = 0; round < 20; round++)
        CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->device_b, &w->device_x),
                     GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(cudaStreamSynchronize(w->stream) == cudaSuccess);

    cudaGraphExecDestroy(w->exec);
    gpusolve_selection_destroy(w->selection);
    gpusolve_factor_destroy(w->factor);
    gpusolve_destroy(w->handle);
    cudaStreamDestroy(w->stream);
    device_delete(w->device_b.values);
    device_delete(w->device_x.values);
    free(w->b.values);
    free(w->x.values);
    free(w->expected.values);
    cholmod_free_factor(&w->l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    cholmod_common common;
    cholmod_start(&common);
    for (int way = 0; way < 4; way++) {
        check_matrix("grid2d:60", way / 2, way % 2, &common);
        check_matrix("grid3d:14", way / 2, way % 2, &common);
    }
    cholmod_finish(&common);
    return testing_done();
}
