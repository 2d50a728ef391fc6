/*
 * The same bits in RUNS solves, while another stream keeps the device's memory and multiprocessors busy, and
 * from THREADS threads at once on one factor, each with a handle, a stream and a workspace of its own, with
 * other widths side by side. And factors prepared again and again, and refreshed, have the same numbers, and so
 * have solutions however a stream's tasks are cut and ordered.
 */
#include "cuda_problem.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "supernodal/api/executor.h"
#include "supernodal/schedule/schedule.h"

enum { RUNS = 100, THREADS = 8, COLUMNS = 9, LOAD_BYTES = 64 << 20 };

typedef struct task {
    const problem *p;
    gpusolve_dense b, expected; /* [host] COLUMNS columns, of which cols are solved for */
    int64_t cols;
    int failures;
} task;

/* RUNS solves with operands in device memory; counts those that go wrong. load: NULL or a stream to keep busy
 * with copies from one half of `memory` to the other. */
static void solve_often(task *mine, cudaStream_t load, char *memory) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    gpusolve_handle *handle = NULL;
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    gpusolve_dense b = mine->b, x = mine->b, got = mine->b;
    b.cols = x.cols = got.cols = mine->cols;
    const size_t bytes = testing_block_bytes(&b);
    got.values = malloc(bytes);
    b.values = device_new(mine->b.values, bytes);
    x.values = device_new(mine->b.values, bytes);
    if (!got.values || !b.values || !x.values ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
        gpusolve_create(&handle, &options) || gpusolve_set_stream(handle, stream) ||
        gpusolve_workspace_create(handle, mine->p->factor, mine->cols, &workspace)) {
        mine->failures = RUNS;
    } else {
        for (int run = 0; run < RUNS; run++) {
            for (int k = 0; load && k < 4; k++)
                mine->failures +=
                    cudaMemcpyAsync(memory + LOAD_BYTES / 2 * (k % 2), memory + LOAD_BYTES / 2 * (1 - k % 2),
                                    LOAD_BYTES / 2, cudaMemcpyDeviceToDevice, load) != cudaSuccess;
            mine->failures +=
                cudaMemsetAsync(x.values, 0xff, bytes, stream) != cudaSuccess ||
                gpusolve_solve(handle, mine->p->factor, workspace, GPUSOLVE_A, &b, &x) ||
                cudaMemcpyAsync(got.values, x.values, bytes, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
                cudaStreamSynchronize(stream) != cudaSuccess ||
                !testing_same_bits(&got, 0, &mine->expected, 0, mine->cols);
        }
        mine->failures += gpusolve_workspace_check(handle, workspace) != GPUSOLVE_OK;
    }
    gpusolve_workspace_destroy(workspace);
    gpusolve_destroy(handle);
    if (stream)
        cudaStreamDestroy(stream);
    device_delete(b.values);
    device_delete(x.values);
    free(got.values);
}

static void *run_thread(void *argument) {
    solve_often(argument, NULL, NULL);
    return NULL;
}

static task make_task(const problem *p, int64_t cols, uint64_t seed) {
    task t = {.p = p, .cols = cols};
    t.b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    t.expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    testing_fill(&t.b, seed);
    gpusolve_dense b = t.b, expected = t.expected; /* as many at a time as solve_often has */
    b.cols = expected.cols = cols;
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, NULL, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    return t;
}

static void free_task(task *t) {
    CHECK(t->failures == 0);
    free(t->b.values);
    free(t->expected.values);
}

static void check_load(const problem *p, int64_t cols) {
    testing_in("%d runs of %lld columns beside another stream's copies", RUNS, (long long)cols);
    task t = make_task(p, cols, 5);
    cudaStream_t load = NULL;
    void *memory = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaMalloc(&memory, LOAD_BYTES) == cudaSuccess);
    REQUIRE(device_fill(memory, 0, LOAD_BYTES) == 0);
    solve_often(&t, load, memory);
    CHECK(cudaStreamSynchronize(load) == cudaSuccess);
    cudaFree(memory);
    cudaStreamDestroy(load);
    free_task(&t);
}

static void check_threads(const problem *p) {
    testing_in("%d threads of %d runs", THREADS, RUNS);
    task tasks[THREADS];
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++)
        tasks[k] = make_task(p, k % 4 == 3 ? COLUMNS : 1 + k % 2, 20 + (uint64_t)k);
    for (int k = 0; k < THREADS; k++)
        REQUIRE(pthread_create(&threads[k], NULL, run_thread, &tasks[k]) == 0);
    for (int k = 0; k < THREADS; k++)
        REQUIRE(pthread_join(threads[k], NULL) == 0);
    for (int k = 0; k < THREADS; k++)
        free_task(&tasks[k]);
}

/* Factors of the same numbers, made by other numbers of threads and refreshed: the panels are the same. */
static void check_prepare(const problem *p) {
    testing_in("prepared again");
    task t = make_task(p, COLUMNS, 6);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    for (int threads = 1; threads <= 16; threads *= 2) {
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, threads);
        gpusolve_factor *factor = NULL;
        REQUIRE(gpusolve_cholmod_import(handle, p->l, &factor) == GPUSOLVE_OK);
        for (int refreshes = 0; refreshes < 4; refreshes++) {
            CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &t.b, &x), GPUSOLVE_OK);
            CHECK(testing_same_bits(&x, 0, &t.expected, 0, COLUMNS));
            CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, p->l), GPUSOLVE_OK);
        }
        gpusolve_factor_destroy(factor);
        gpusolve_destroy(handle);
    }
    free(x.values);
    free_task(&t);
}

/* With block rows in tasks of several, and the farthest from the root first, as only large factors have them. */
static void check_tasks(const problem *p, const char *spec) {
    testing_in("%s, other tasks", spec);
    const int64_t together = tuning.together_tasks, large = tuning.large_stream;
    task t = make_task(p, 1, 7);
    problem other = {0};
    tuning.together_tasks = tuning.large_stream = 0;
    open_problem(&other, spec);
    tuning.together_tasks = together;
    tuning.large_stream = large;
    CHECK(other.factor->plan.schedule->stream.forward.tasks < p->factor->plan.schedule->stream.forward.tasks);
    t.p = &other;
    solve_often(&t, NULL, NULL);
    free_task(&t);
    close_problem(&other);
}

int main(void) {
    static const char *const specs[] = {"grid3d:20", "elasticity3d:8", "grid3d:26"};
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        testing_in("%s", specs[k]);
        problem p = {0};
        open_problem(&p, specs[k]);
        check_load(&p, 1);
        check_load(&p, COLUMNS);
        check_threads(&p);
        check_prepare(&p);
        check_tasks(&p, specs[k]);
        close_problem(&p);
    }
    return testing_done();
}
