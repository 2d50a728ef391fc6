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

/* A factor, equations, and what a refinement of them works with. */
typedef struct world {
    problem p;
    gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    cudaStream_t stream;
    gpusolve_refine_options options;
    gpusolve_dense b; /* [host] */
    blocks on;
} world;

static gpusolve_status queue(const world *w) {
    return gpusolve_refine_async(w->p.handle, w->p.factor, w->matrix, w->workspace, &w->on.b, &w->on.x,
                                 &w->options, w->on.errors, w->on.steps);
}

/* The equations' matrix is `scale` times the factor's; the workspace is for `columns` columns. */
static void open_world(world *w, const char *spec, gpusolve_factor_kind kind, gpusolve_dtype of_b,
                       double scale, int columns) {
    open_kind(&w->p, spec, kind, GPUSOLVE_DOUBLE);
    const size_t numbers = w->p.a->nzmax * (w->p.a->xtype == CHOLMOD_REAL ? 1 : 2);
    for (size_t k = 0; k < numbers; k++)
        ((double *)w->p.a->x)[k] *= scale;
    REQUIRE(gpusolve_cholmod_matrix(w->p.handle, w->p.a, &w->matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w->p.handle, w->p.factor, columns, &w->workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(w->p.handle, w->stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine_reserve(w->p.handle, w->p.factor, w->matrix, w->workspace, &w->options),
                 GPUSOLVE_OK);
    w->b = testing_block(of_b, GPUSOLVE_COL_MAJOR, w->p.n, COLUMNS, 1);
    const gpusolve_dense x = testing_block(of_b, GPUSOLVE_COL_MAJOR, w->p.n, COLUMNS, 0);
    const answer nothing = {.x = x};
    w->on = (blocks){.b = w->b, .x = x};
    w->on.b.values = device_new(w->b.values, testing_block_bytes(&w->b));
    w->on.x.values = device_new(x.values, testing_block_bytes(&x));
    w->on.errors = device_new(nothing.errors, sizeof nothing.errors);
    w->on.steps = device_new(nothing.steps, sizeof nothing.steps);
    REQUIRE(w->on.b.values && w->on.x.values && w->on.errors && w->on.steps);
    free(x.values);
}

static void close_world(world *w) {
    gpusolve_workspace_destroy(w->workspace);
    gpusolve_matrix_destroy(w->matrix);
    close_problem(&w->p);
    cudaStreamDestroy(w->stream);
    device_delete(w->on.b.values);
    device_delete(w->on.x.values);
    device_delete(w->on.errors);
    device_delete(w->on.steps);
    free(w->b.values);
}

static answer new_answer(const world *w) {
    return (answer){.x = testing_block(w->on.x.dtype, GPUSOLVE_COL_MAJOR, w->p.n, COLUMNS, 0)};
}

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
    world w = {.options = GPUSOLVE_REFINE_OPTIONS_INIT};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    w.options.method = method;
    w.options.max_steps = 4;
    w.options.restart = 2;
    /* the first correction of the automatic method leaves a tenth, so that rounding decides how a column goes on */
    const int by_krylov = method == GPUSOLVE_REFINE_CG || method == GPUSOLVE_REFINE_FGMRES;
    open_world(&w, spec, kind, of_b, 1.1, 3);
    answer called = new_answer(&w), replayed = new_answer(&w);
    REQUIRE(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_refine_reserve(w.p.handle, w.p.factor, w.matrix, w.workspace, &w.options),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(queue(&w), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(w.stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int round = 0; round < ROUNDS; round++) {
        fill_b(&w.on, &w.b, 100 + round);
        testing_count_allocations();
        CHECK_STATUS(queue(&w), GPUSOLVE_OK);
        CHECK(testing_allocations() == 0);
        read_answer(&w.on, w.stream, &called);
        CHECK(device_fill(w.on.x.values, 0xff, testing_block_bytes(&called.x)) == 0);
        CHECK(device_fill(w.on.errors, 0xff, sizeof called.errors) == 0);
        CHECK(cudaGraphLaunch(exec, w.stream) == cudaSuccess);
        read_answer(&w.on, w.stream, &replayed);
        CHECK(testing_same_bits(&replayed.x, 0, &called.x, 0, COLUMNS));
        CHECK(memcmp(replayed.errors, called.errors, sizeof called.errors) == 0);
        CHECK(memcmp(replayed.steps, called.steps, sizeof called.steps) == 0);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK_BELOW(called.errors[j], by_krylov ? 1e-14 : 1e-5);
            CHECK(called.steps[j] >= 1 && called.steps[j] <= 4);
        }
    }
    CHECK_STATUS(gpusolve_workspace_check(w.p.handle, w.workspace), GPUSOLVE_OK);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    close_world(&w);
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
static float time_of(cudaGraphExec_t exec, const world *w, int count) {
    cudaEvent_t begin, end;
    float ms = 0;
    REQUIRE(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess);
    REQUIRE(cudaEventRecord(begin, w->stream) == cudaSuccess);
    for (int k = 0; k < count; k++) {
        if (exec)
            CHECK(cudaGraphLaunch(exec, w->stream) == cudaSuccess);
        else
            CHECK_STATUS(queue(w), GPUSOLVE_OK);
    }
    REQUIRE(cudaEventRecord(end, w->stream) == cudaSuccess && cudaEventSynchronize(end) == cudaSuccess);
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
    world w = {.options = GPUSOLVE_REFINE_OPTIONS_INIT};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    w.options.method = method;
    w.options.max_steps = method == GPUSOLVE_REFINE_AUTOMATIC ? 12 : MOST;
    open_world(&w, "grid2d:200", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, 1, COLUMNS);
    answer a = new_answer(&w);
    fill_b(&w.on, &w.b, 7);
    REQUIRE(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK_STATUS(queue(&w), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(w.stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    CHECK(conditional_nodes(graph) ==
          (method == GPUSOLVE_REFINE_RICHARDSON ? 3 : 1)); /* sixteen in a chain */
    (void)time_of(exec, &w, 1);
    const float replays = time_of(exec, &w, REPLAYS);
    read_answer(&w.on, w.stream, &a);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(a.errors[j] <= DBL_EPSILON && a.steps[j] <= 2);
    const float calls = time_of(NULL, &w, REPLAYS);
    CHECK_BELOW(replays, 0.2 * calls);
    printf("method %d, %d steps at most: %.0f us a replay, %.0f us a call\n", (int)method,
           w.options.max_steps, 1e3 * replays / REPLAYS, 1e3 * calls / REPLAYS);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    close_world(&w);
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
