/*
 * Asynchronous refinement on the device: captured in a graph and replayed with other right-hand sides, for every method, real and complex, with
 * complex blocks of a real factor. Each replay has the bits of a call that is not captured. Steps that no column wants are left out of it.
 */
#include <float.h>

#include "cuda_problem.h"

#include "memory.h"

enum { COLUMNS = 5, ROUNDS = 3 };

typedef struct blocks {
    gpusolve_dense b, x; /* [device] */
    double *errors;      /* [device] */
    int *steps;          /* [device] */
} blocks;

typedef struct answer {
    gpusolve_dense x;
    double errors[COLUMNS];
    int steps[COLUMNS];
} answer;

#define QUEUE() \
    gpusolve_refine_async(p.handle, p.factor, matrix, workspace, &on.b, &on.x, &options, on.errors, on.steps)

static void fill_b(const blocks *on, const gpusolve_dense *host, int seed) {
    testing_fill(host, (uint64_t)seed);
    CHECK(device_write(on->b.values, host->values, testing_block_bytes(host)) == 0);
}

static void read_answer(const blocks *on, cudaStream_t stream, answer *a) {
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(a->x.values, on->x.values, testing_block_bytes(&a->x)) == 0);
    CHECK(device_read(a->errors, on->errors, sizeof a->errors) == 0);
    CHECK(device_read(a->steps, on->steps, sizeof a->steps) == 0);
}

static void check_capture(const char *spec, gpusolve_factor_kind kind, gpusolve_dtype of_b,
                          gpusolve_refine_method method) {
    testing_in("%s, kind %d, blocks of type %d, method %d", spec, (int)kind, (int)of_b, (int)method);
    problem p = {0};
    open_kind(&p, spec, kind, GPUSOLVE_DOUBLE);
    gpusolve_matrix *matrix = NULL;
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.max_steps = 4;
    options.restart = 2;
    /* the first correction of the automatic method leaves a tenth, so that rounding decides how a column goes on */
    const int by_krylov = method == GPUSOLVE_REFINE_CG || method == GPUSOLVE_REFINE_FGMRES;
    const size_t numbers = p.a->nzmax * (p.a->xtype == CHOLMOD_REAL ? 1 : 2);
    for (size_t k = 0; k < numbers; k++) /* equations ten percent off the factor's */
        ((double *)p.a->x)[k] *= 1.1;
    REQUIRE(gpusolve_cholmod_matrix(p.handle, p.a, &matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, 3, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine_reserve(p.handle, p.factor, matrix, workspace, &options), GPUSOLVE_OK);

    const gpusolve_dense b = testing_block(of_b, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 1);
    answer called = {.x = testing_block(of_b, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0)},
           replayed = {.x = testing_block(of_b, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0)};
    blocks on = {.b = b, .x = called.x};
    on.b.values = device_new(b.values, testing_block_bytes(&b));
    on.x.values = device_new(called.x.values, testing_block_bytes(&called.x));
    on.errors = device_new(called.errors, sizeof called.errors);
    on.steps = device_new(called.steps, sizeof called.steps);
    REQUIRE(on.b.values && on.x.values && on.errors && on.steps);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_refine_reserve(p.handle, p.factor, matrix, workspace, &options),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(QUEUE(), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int round = 0; round < ROUNDS; round++) {
        fill_b(&on, &b, 100 + round);
        testing_count_allocations();
        CHECK_STATUS(QUEUE(), GPUSOLVE_OK);
        CHECK(testing_allocations() == 0);
        read_answer(&on, stream, &called);
        CHECK(device_fill(on.x.values, 0xff, testing_block_bytes(&called.x)) == 0);
        CHECK(device_fill(on.errors, 0xff, sizeof called.errors) == 0);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        read_answer(&on, stream, &replayed);
        CHECK(testing_same_bits(&replayed.x, 0, &called.x, 0, COLUMNS));
        CHECK(memcmp(replayed.errors, called.errors, sizeof called.errors) == 0);
        CHECK(memcmp(replayed.steps, called.steps, sizeof called.steps) == 0);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK_BELOW(called.errors[j], by_krylov ? 1e-14 : 1e-5);
            CHECK(called.steps[j] >= 1 && called.steps[j] <= 4);
        }
    }
    CHECK_STATUS(gpusolve_workspace_check(p.handle, workspace), GPUSOLVE_OK);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_workspace_destroy(workspace);
    gpusolve_matrix_destroy(matrix);
    close_problem(&p);
    cudaStreamDestroy(stream);
    device_delete(on.b.values);
    device_delete(on.x.values);
    device_delete(on.errors);
    device_delete(on.steps);
    free(b.values);
    free(called.x.values);
    free(replayed.x.values);
}

/* ------------------------------------------------------------------------------- steps that are left out --- */

/* At the top; others are in their bodies. */
static int conditional_nodes(cudaGraph_t graph) {
    size_t count = 0;
    int found = 0;
    REQUIRE(cudaGraphGetNodes(graph, NULL, &count) == cudaSuccess);
    cudaGraphNode_t *nodes = malloc((count + 1) * sizeof *nodes);
    REQUIRE(nodes != NULL && cudaGraphGetNodes(graph, nodes, &count) == cudaSuccess);
    for (size_t k = 0; k < count; k++) {
        enum cudaGraphNodeType type;
        REQUIRE(cudaGraphNodeGetType(nodes[k], &type) == cudaSuccess);
        found += type == cudaGraphNodeTypeConditional;
    }
    free(nodes);
    return found;
}

/* Milliseconds of `count` launches of a graph, or, without one, of calls. */
static float time_of(cudaGraphExec_t exec, const problem *p, const gpusolve_matrix *matrix,
                     gpusolve_workspace *workspace, const blocks *on, const gpusolve_refine_options *options,
                     cudaStream_t stream, int count) {
    cudaEvent_t begin, end;
    float ms = 0;
    REQUIRE(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess);
    REQUIRE(cudaEventRecord(begin, stream) == cudaSuccess);
    for (int k = 0; k < count; k++) {
        if (exec)
            CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        else
            CHECK_STATUS(gpusolve_refine_async(p->handle, p->factor, matrix, workspace, &on->b, &on->x,
                                               options, on->errors, on->steps),
                         GPUSOLVE_OK);
    }
    REQUIRE(cudaEventRecord(end, stream) == cudaSuccess && cudaEventSynchronize(end) == cudaSuccess);
    REQUIRE(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return ms;
}

/* A step is a conditional node of the graph. With room for many steps a replay takes those that are wanted, and so a small part of the time of
 * the call, which takes all. */
static void check_left_out(gpusolve_refine_method method) {
    enum { MOST = 40, REPLAYS = 5 };
    testing_in("steps that are left out, method %d", (int)method);
    problem p = {0};
    open_kind(&p, "grid2d:200", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE);
    gpusolve_matrix *matrix = NULL;
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.max_steps = method == GPUSOLVE_REFINE_AUTOMATIC ? 12 : MOST;
    REQUIRE(gpusolve_cholmod_matrix(p.handle, p.a, &matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, COLUMNS, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine_reserve(p.handle, p.factor, matrix, workspace, &options), GPUSOLVE_OK);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    answer a = {.x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0)};
    blocks on = {.b = b, .x = a.x};
    on.b.values = device_new(b.values, testing_block_bytes(&b));
    on.x.values = device_new(a.x.values, testing_block_bytes(&a.x));
    on.errors = device_new(a.errors, sizeof a.errors);
    on.steps = device_new(a.steps, sizeof a.steps);
    REQUIRE(on.b.values && on.x.values && on.errors && on.steps);
    fill_b(&on, &b, 7);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK_STATUS(QUEUE(), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    CHECK(conditional_nodes(graph) ==
          (method == GPUSOLVE_REFINE_RICHARDSON ? 3 : 1)); /* sixteen in a chain */
    (void)time_of(exec, &p, matrix, workspace, &on, &options, stream, 1);
    const float replays = time_of(exec, &p, matrix, workspace, &on, &options, stream, REPLAYS);
    read_answer(&on, stream, &a);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(a.errors[j] <= DBL_EPSILON && a.steps[j] <= 2);
    const float calls = time_of(NULL, &p, matrix, workspace, &on, &options, stream, REPLAYS);
    CHECK_BELOW(replays, 0.2 * calls);
    printf("method %d, %d steps at most: %.0f us a replay, %.0f us a call\n", (int)method, options.max_steps,
           1e3 * replays / REPLAYS, 1e3 * calls / REPLAYS);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_workspace_destroy(workspace);
    gpusolve_matrix_destroy(matrix);
    close_problem(&p);
    cudaStreamDestroy(stream);
    device_delete(on.b.values);
    device_delete(on.x.values);
    device_delete(on.errors);
    device_delete(on.steps);
    free(b.values);
    free(a.x.values);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: wants a CUDA device\n");
        return TESTING_SKIPPED;
    }
    for (int m = GPUSOLVE_REFINE_RICHARDSON; m <= GPUSOLVE_REFINE_AUTOMATIC; m++) {
        const gpusolve_refine_method method = (gpusolve_refine_method)m;
        check_capture("grid2d:40", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, method);
        check_capture("grid2d:40", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE, method);
        check_capture("grid3d:8", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE, method);
        check_capture("grid3d:8@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE, method);
        check_left_out(method);
    }
    return testing_done();
}
