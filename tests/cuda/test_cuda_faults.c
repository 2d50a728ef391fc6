/*
 * What goes wrong on the device ends in a status. A task of the stream that nobody does, so that others wait
 * for its numbers in vain: they give up, and the solve's status, or that of the next call that can know, is
 * GPUSOLVE_TIMED_OUT; afterwards the workspace solves as before. A NaN in b, also the one that stands for
 * "not there yet" between thread blocks, ends in NaNs, at once.
 *
 * The fault is made from outside: the counter from which blocks take tasks starts one higher, so that task 0
 * is never taken. For many right-hand sides a task's own count is changed on the device.
 */
#include "cuda_problem.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "supernodal/cuda/support.h"

enum { COLUMNS = 9 };

typedef struct world {
    problem p;
    gpusolve_workspace *workspace;
    cudaStream_t stream;
    gpusolve_dense b, x, expected, device_b, device_x; /* one column */
} world;

static void open_world(world *w, const char *spec) {
    open_problem(&w->p, spec);
    w->b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, 1, 0);
    w->x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, 1, 0);
    w->expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, 1, 0);
    testing_fill(&w->b, 3);
    REQUIRE(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(w->p.handle, w->stream), GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w->p.handle, w->p.factor, 1, &w->workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, w->workspace, GPUSOLVE_A, &w->b, &w->expected),
                 GPUSOLVE_OK);
    w->device_b = on_device(&w->b);
    w->device_x = on_device(&w->x);
}

static void close_world(world *w) {
    gpusolve_workspace_destroy(w->workspace);
    close_problem(&w->p);
    cudaStreamDestroy(w->stream);
    device_delete(w->device_b.values);
    device_delete(w->device_x.values);
    free(w->b.values);
    free(w->x.values);
    free(w->expected.values);
}

/* Task 0 of the next sweep of this kind is lost. */
static void lose_task(const world *w, const gpusolve_workspace *workspace, int backward) {
    const gsv_schedule *schedule = w->p.factor->plan.schedule;
    const gsv_cuda_workspace *state = workspace->state;
    const int one = 1;
    REQUIRE((backward ? schedule->stream.backward.tasks : schedule->stream.forward.tasks) > 1);
    char *at = (char *)state->vectors[0].state +
               (backward ? offsetof(gsv_stream_state, backward) : offsetof(gsv_stream_state, forward));
    REQUIRE(cudaStreamSynchronize(w->stream) == cudaSuccess && device_write(at, &one, sizeof one) == 0);
}

static void fetch(world *w) {
    CHECK(cudaStreamSynchronize(w->stream) == cudaSuccess);
    CHECK(device_read(w->x.values, w->device_x.values, testing_block_bytes(&w->x)) == 0);
}

static gpusolve_status solve_on_device(world *w) {
    return gpusolve_solve(w->p.handle, w->p.factor, w->workspace, GPUSOLVE_A, &w->device_b, &w->device_x);
}

/* The workspace is as good as new. */
static void check_again(world *w) {
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, w->workspace), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, w->workspace, GPUSOLVE_A, &w->b, &w->x),
                 GPUSOLVE_OK);
    CHECK(testing_same_bits(&w->x, 0, &w->expected, 0, 1));
    CHECK_STATUS(solve_on_device(w), GPUSOLVE_OK);
    fetch(w);
    CHECK(testing_same_bits(&w->x, 0, &w->expected, 0, 1));
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, w->workspace), GPUSOLVE_OK);
}

static void check_host_operands(world *w) {
    testing_in("a lost task, operands in host memory");
    lose_task(w, w->workspace, 0);
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, w->workspace, GPUSOLVE_A, &w->b, &w->x),
                 GPUSOLVE_TIMED_OUT);
    CHECK(strstr(gpusolve_last_error(w->p.handle), "gave up waiting") != NULL);
    CHECK(count_nans(&w->x) > 0);
    check_again(w);
}

/* The next solve says so, and leaves x alone. */
static void check_next_solve(world *w) {
    testing_in("a lost task, operands in device memory");
    lose_task(w, w->workspace, 1);
    CHECK_STATUS(solve_on_device(w), GPUSOLVE_OK);
    fetch(w);
    CHECK(count_nans(&w->x) > 0);
    CHECK(device_fill(w->device_x.values, 0x11, testing_block_bytes(&w->x)) == 0);
    CHECK_STATUS(solve_on_device(w), GPUSOLVE_TIMED_OUT);
    fetch(w);
    for (size_t k = 0; k < testing_block_bytes(&w->x); k++)
        CHECK(((unsigned char *)w->x.values)[k] == 0x11);
    check_again(w);
}

/* A graph of the caller's: the question after it gets the answer, once. */
static void check_graph(world *w) {
    testing_in("a lost task in a graph");
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(solve_on_device(w), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(w->stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    lose_task(w, w->workspace, 0);
    CHECK(cudaGraphLaunch(exec, w->stream) == cudaSuccess);
    fetch(w);
    CHECK(count_nans(&w->x) > 0);
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, NULL),
                 GPUSOLVE_OK); /* it is none of the handle's own */
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, w->workspace), GPUSOLVE_TIMED_OUT);
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, w->workspace), GPUSOLVE_OK);
    CHECK(cudaGraphLaunch(exec, w->stream) == cudaSuccess);
    fetch(w);
    CHECK(testing_same_bits(&w->x, 0, &w->expected, 0, 1));
    check_again(w);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

/* In the handle's own workspace, while refining. */
static void check_refinement(world *w) {
    testing_in("a lost task, refinement");
    gpusolve_matrix *matrix = NULL;
    REQUIRE(gpusolve_cholmod_matrix(w->p.handle, w->p.a, &matrix) == GPUSOLVE_OK);
    double error = 0;
    CHECK_STATUS(gpusolve_refine(w->p.handle, w->p.factor, matrix, NULL, &w->b, &w->x, NULL, &error, NULL),
                 GPUSOLVE_OK);
    CHECK_BELOW(error, 1e-15);
    lose_task(w, w->p.handle->own[0], 0);
    CHECK_STATUS(gpusolve_refine(w->p.handle, w->p.factor, matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
                 GPUSOLVE_TIMED_OUT);
    CHECK_STATUS(gpusolve_workspace_check(w->p.handle, NULL), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine(w->p.handle, w->p.factor, matrix, NULL, &w->b, &w->x, NULL, &error, NULL),
                 GPUSOLVE_OK);
    CHECK_BELOW(error, 1e-15);
    gpusolve_matrix_destroy(matrix);
}

/* How a task can be kept waiting: for its own counter; forward, for what its rows are owed; backward, in the
 * midst of a tile, for the rows of its parent, or for those above them. */
enum { OWN_FORWARD, OWED_FORWARD, PARENT, ABOVE, WAITS };

static int is_backward(int wait) {
    return wait == PARENT || wait == ABOVE;
}

/* Does it wait so? If so, what it waits for is made to come never. */
static int keep_waiting(gsv_task *task, int wait) {
    const int32_t never = 1 << 30;
    const int is_tile = task->kind == GSV_TASK_PRODUCT, counts = task->count > 0, owes = task->owing > 0;
    const int has_parents = is_tile && task->near < task->end && task->begin < task->far;
    const int has_above = is_tile && task->far < task->end;
    const int waits = wait == OWN_FORWARD    ? counts
                      : wait == OWED_FORWARD ? owes
                      : wait == PARENT       ? counts && has_parents
                                             : owes && has_above;
    if (waits && wait != OWED_FORWARD) /* if the parent's are there, so are those above them */
        task->count = never;
    if (waits && (wait == OWED_FORWARD || wait == ABOVE))
        task->owing = never;
    return waits;
}

/* Many right-hand sides, in broad vectors or others: a task that waits for more than ever comes. A quick run tries each way of
 * waiting in one of the two. */
static void check_many(world *w, int64_t cols) {
    const int broad = cols > GSV_TASKS_BROAD;
    static const char *const names[] = {"forward", "forward, what is owed", "backward, the parent's rows",
                                        "backward, rows above the parent's"};
    const gsv_cuda_factor *device = w->p.factor->prepared;
    gpusolve_workspace *workspace;
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, cols, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, cols, 0);
    const gpusolve_dense expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, cols, 0);
    testing_fill(&b, 19);
    REQUIRE(gpusolve_workspace_create(w->p.handle, w->p.factor, cols, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    for (int wait = testing_few() ? broad : 0; wait < WAITS; wait += testing_few() ? 2 : 1) {
        testing_in("a counter of %d right-hand sides, %s", (int)cols, names[wait]);
        const int list = gsv_task_list_of(is_backward(wait), broad);
        const int64_t ntasks = w->p.factor->plan.schedule->tasks.list[list].tasks;
        const gsv_task *tasks = device->tasks.task[list];
        gsv_task task, kept;
        int64_t t = 0;
        for (; t < ntasks; t++) {
            REQUIRE(device_read(&task, &tasks[t], sizeof task) == 0);
            kept = task;
            if (keep_waiting(&kept, wait))
                break;
        }
        REQUIRE(t < ntasks);
        REQUIRE(device_write((void *)&tasks[t], &kept, sizeof kept) == 0);
        CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, workspace, GPUSOLVE_A, &b, &x),
                     GPUSOLVE_TIMED_OUT);
        CHECK(count_nans(&x) > 0);
        REQUIRE(device_write((void *)&tasks[t], &task, sizeof task) == 0);
        CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x, 0, &expected, 0, cols));
    }
    free(b.values);
    free(x.values);
    free(expected.values);
    gpusolve_workspace_destroy(workspace);
}

/* b with rows whose bits are all ones, from row `first` on: NaN in x, no wait in vain, and no harm done. */
static void check_nan(world *w, gpusolve_system system, int64_t cols, int64_t first, int64_t count) {
    testing_in("NaN in rows %lld .. of b, system %d, %lld columns", (long long)first, (int)system,
               (long long)cols);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, cols, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, cols, 0);
    testing_fill(&b, 9);
    for (int64_t j = 0; j < cols; j++)
        memset((double *)b.values + j * w->p.n + first, 0xff, (size_t)count * sizeof(double));
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, NULL, system, &b, &x), GPUSOLVE_OK);
    CHECK(count_nans(&x) >= cols * count);
    for (int64_t j = 0; j < cols; j++)
        CHECK(isnan(((double *)x.values)[j * w->p.n + first]));
    free(b.values);
    free(x.values);
}

static void check_nans(world *w) {
    static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_LDLt, GPUSOLVE_L, GPUSOLVE_Lt};
    for (size_t k = 0; k < sizeof systems / sizeof *systems; k++)
        for (int64_t cols = 1; cols <= COLUMNS; cols += COLUMNS - 1) {
            check_nan(w, systems[k], cols, 0, w->p.n);
            check_nan(w, systems[k], cols, 0, 1);
            check_nan(w, systems[k], cols, w->p.n / 2, 1);
            check_nan(w, systems[k], cols, w->p.n - 1, 1);
        }
    check_again(w);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    world w = {0};
    open_world(&w, "grid3d:14");
    check_nans(&w);
    if (!gsv_streams_one(&((gsv_cuda_factor *)w.p.factor->prepared)->abilities)) {
        printf("no stream on this device: no task to lose\n");
    } else {
        check_host_operands(&w);
        check_next_solve(&w);
        check_graph(&w);
        check_refinement(&w);
    }
    close_world(&w);
    tuning.groups = 1; /* as large factors are solved with */
    open_world(&w, "grid3d:14");
    check_many(&w, GSV_TASKS_BROAD);
    check_many(&w, GSV_TASKS_BROAD + 1);
    close_world(&w);
    return testing_done();
}
