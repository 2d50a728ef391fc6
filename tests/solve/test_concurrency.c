/*
 * One factor, many threads: each with a handle of its own solves again and again, and gets the bits that a
 * lone solve gives. As POSIX threads, whose host solves have teams of threads of their own, and inside an
 * OpenMP region, where teams shrink to one.
 */
#include "testing.h"

#include <pthread.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

enum { THREADS = 8, REPEATS = 12, COLUMNS = 6 };

typedef struct task {
    gpusolve_backend backend;
    const gpusolve_factor *factor;
    int id;
    gpusolve_dense b, expected, alone; /* alone: the first column, which may have other bits on a device */
    int failures;
} task;

/* Count what goes wrong; the checks are made by the main thread. */
static void *run(void *argument) {
    task *mine = argument;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = mine->backend;
    options.threads = 1 + mine->id % 3;
    gpusolve_handle *handle;
    if (gpusolve_create(&handle, &options)) {
        mine->failures++;
        return NULL;
    }
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        int64_t cols = 1 + (mine->id + repeat) % COLUMNS;
        gpusolve_dense b = mine->b, x = mine->b;
        b.cols = x.cols = cols;
        x.values = malloc(testing_block_bytes(&x));
        if (!x.values || gpusolve_solve(handle, mine->factor, NULL, GPUSOLVE_A, &b, &x) ||
            !testing_same_bits(&x, 0, cols > 1 ? &mine->expected : &mine->alone, 0, cols))
            mine->failures++;
        free(x.values);
    }
    gpusolve_destroy(handle);
    return NULL;
}

static void make_tasks(task *tasks, gpusolve_handle *handle, const gpusolve_factor *factor, int64_t n) {
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (task){.backend = gpusolve_get_backend(handle), .factor = factor, .id = i};
        tasks[i].b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
        tasks[i].expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
        testing_fill(&tasks[i].b, 100 + (uint64_t)i);
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &tasks[i].b, &tasks[i].expected),
                     GPUSOLVE_OK);
        gpusolve_dense column = tasks[i].b;
        column.cols = 1;
        tasks[i].alone = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &column, &tasks[i].alone), GPUSOLVE_OK);
    }
}

static void free_tasks(task *tasks) {
    for (int i = 0; i < THREADS; i++) {
        CHECK(tasks[i].failures == 0);
        free(tasks[i].b.values);
        free(tasks[i].expected.values);
        free(tasks[i].alone.values);
    }
}

static void check_backend(gpusolve_backend backend, const cholmod_factor *l) {
    testing_in("%s", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    task tasks[THREADS];
    make_tasks(tasks, handle, factor, (int64_t)l->n);

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, &tasks[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++)
        run(&tasks[i]);

    free_tasks(tasks);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    cholmod_sparse *a = testing_load("elasticity3d:8", &common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, &common);
    REQUIRE(l != NULL && l->minor == l->n);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        check_backend(backends[i], l);
    cholmod_free_factor(&l, &common);
    cholmod_free_sparse(&a, &common);
    cholmod_finish(&common);
    return testing_done();
}
