/*
 * Samples on the device: no allocation once the workspace is there, a CUDA graph that gives the same samples at each launch and follows a refresh,
 * host memory refused inside a capture, blocks of both orders with odd leading dimensions, memory of both kinds in one call.
 */
#include "cuda_problem.h"

#include <cuda_runtime_api.h>

#include "gpusolve_product.h"
#include "gpusolve_sample.h"
#include "memory.h"

static void check_graph(const char *spec, gpusolve_factor_kind kind, gpusolve_dtype dtype, int64_t cols,
                        gpusolve_order order) {
    testing_in("%s, kind %d, dtype %d, %d columns", spec, (int)kind, (int)dtype, (int)cols);
    problem p = {0};
    open_kind(&p, spec, kind, dtype);
    const gpusolve_dense x = testing_block(dtype, order, p.n, cols, 3),
                         expected = testing_block(dtype, order, p.n, cols, 3),
                         mean = testing_block(dtype, GPUSOLVE_COL_MAJOR, p.n, 1, 0);
    testing_fill(&mean, 9);
    gpusolve_dense there = on_device(&x);
    void *mean_there = device_new(mean.values, testing_block_bytes(&mean));
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT, host_mean;
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    options.seed = 5;
    options.first = 3;
    options.mean = mean_there;
    host_mean = options;
    host_mean.mean = mean.values;
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, cols, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    /* all in host memory; the mean there and x on the device; both on the device */
    CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &host_mean, &expected), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &host_mean, &there), GPUSOLVE_OK);
    CHECK(device_read(x.values, there.values, testing_block_bytes(&x)) == 0);
    CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &options, &x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    testing_count_allocations();
    for (int round = 0; round < 5; round++)
        CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &options, &there), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);

    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_REFUSED(p.handle, gpusolve_sample(p.handle, p.factor, workspace, &options, &x),
                  GPUSOLVE_INVALID_ARGUMENT, "x: is in host memory");
    CHECK_REFUSED(p.handle, gpusolve_sample(p.handle, p.factor, workspace, &host_mean, &there),
                  GPUSOLVE_INVALID_ARGUMENT, "options->mean: is in host memory");
    host_mean = options;
    host_mean.z = &x;
    CHECK_REFUSED(p.handle, gpusolve_sample(p.handle, p.factor, workspace, &host_mean, &there),
                  GPUSOLVE_INVALID_ARGUMENT, "options->z: is in host memory");
    CHECK_REFUSED(p.handle, gpusolve_multiply(p.handle, p.factor, GPUSOLVE_TIMES_L, &there, &there),
                  GPUSOLVE_INVALID_ARGUMENT, "captured");
    CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &options, &there), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int round = 0; round < 3; round++) {
        if (round == 2 && !testing_is_complex(dtype) && dtype == GPUSOLVE_DOUBLE) { /* L becomes 2 L, D 2 D */
            for (size_t k = 0; k < (kind ? p.l->nzmax : p.l->xsize); k++)
                if (kind != GPUSOLVE_SIMPLICIAL_LDL)
                    ((double *)p.l->x)[k] *= 2;
            for (size_t j = 0; kind == GPUSOLVE_SIMPLICIAL_LDL && j < p.l->n; j++)
                ((double *)p.l->x)[((int32_t *)p.l->p)[j]] *= 4;
            CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_sample(p.handle, p.factor, workspace, &options, &expected), GPUSOLVE_OK);
            CHECK(!testing_same_bits(&x, 0, &expected, 0, cols));
        }
        CHECK(device_fill(there.values, 0xff, testing_block_bytes(&x)) == 0);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(device_read(x.values, there.values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    }
    CHECK_STATUS(gpusolve_workspace_check(p.handle, workspace), GPUSOLVE_OK);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_workspace_destroy(workspace);
    close_problem(&p);
    cudaStreamDestroy(stream);
    device_delete(there.values);
    device_delete(mean_there);
    free(x.values);
    free(expected.values);
    free(mean.values);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: wants a CUDA device\n");
        return TESTING_SKIPPED;
    }
    static const int64_t columns[] = {1, 5, 64, 256};
    for (int c = 0; c < 4; c++) {
        const gpusolve_order order = c % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR;
        check_graph("grid3d:14", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, columns[c], order);
        check_graph("grid2d:33", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE, columns[c], order);
        check_graph("grid2d:33", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT, columns[c], order);
        check_graph("grid2d:20@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE, columns[c], order);
        check_graph("grid2d:20@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_FLOAT, columns[c], order);
    }
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
