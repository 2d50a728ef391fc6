/*
 * A handle's threads on the host: every item is done once and seen by the caller, by members with numbers of
 * their own, run after run, while the helpers look out and while they sleep; with several handles at a time,
 * inside an OpenMP region, without memory or threads, and in a process that was forked off.
 */
#define _DEFAULT_SOURCE /* usleep */
#include "testing.h"

#ifdef GPUSOLVE_TEST_OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"
#include "memory.h"
#include "pool.h"

enum { MOST_ITEMS = 1000, MOST_THREADS = 7 };

typedef struct tally {
    int done[MOST_ITEMS];
    _Atomic int busy[MOST_THREADS]; /* 1 while that member is in an item */
    _Atomic int wrong;
    int threads;
} tally;

static void count_item(void *context, int64_t item, int member) {
    tally *t = context;
    if (member < 0 || member >= t->threads || atomic_exchange(&t->busy[member], 1)) {
        t->wrong++;
        return;
    }
    t->done[item]++; /* not atomic: nobody else may touch it */
    atomic_store(&t->busy[member], 0);
}

static int all_done_once(const tally *t, int64_t count) {
    int right = !t->wrong;
    for (int64_t i = 0; i < MOST_ITEMS; i++)
        right = right && t->done[i] == (i < count);
    return right;
}

static int try_each(gpusolve_handle *handle, int threads, int64_t count) {
    tally t = {.threads = threads};
    gsv_pool_each(handle->pool, threads, count, count_item, &t);
    return all_done_once(&t, count);
}

static void check_items(void) {
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, threads);
        testing_in("%d threads", threads);
        for (int wanted = 1; wanted <= threads; wanted++)
            for (int64_t count = 0; count <= MOST_ITEMS; count = count * 3 + 1)
                CHECK(try_each(handle, wanted, count));
        for (int repeat = 0; repeat < 2000; repeat++)
            CHECK(try_each(handle, 1 + repeat % threads, repeat % 20));
        for (int repeat = 0; repeat < 20; repeat++) { /* helpers fall asleep in between, or are about to */
            usleep((unsigned)(250 + 20 * repeat));
            CHECK(try_each(handle, threads, MOST_ITEMS));
        }
        gpusolve_destroy(handle);
    }
}

/* Each member waits until another one has come: helpers do come, if they have the time. */
static void meet(void *context, int member) {
    _Atomic int *come = context;
    (void)member;
    atomic_fetch_add(come, 1);
    for (int i = 0; i < 5000 && atomic_load(come) < 3; i++)
        usleep(1000);
}

static void check_helpers_come(void) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 3);
    testing_in("helpers");
    for (int repeat = 0; repeat < 5; repeat++) {
        _Atomic int come = 0;
        gsv_pool_run(handle->pool, 3, meet, &come);
        CHECK(come == 3);
        usleep((unsigned)repeat * 1000);
    }
    gpusolve_destroy(handle);
}

static void *tasks_runs(void *argument) {
    int *failures = argument;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle;
    options.backend = GPUSOLVE_BACKEND_HOST;
    options.threads = 3;
    if (gpusolve_create(&handle, &options)) {
        *failures = 1;
        return NULL;
    }
    for (int repeat = 0; repeat < 300; repeat++)
        *failures += !try_each(handle, gsv_pool_threads(handle->pool), 50);
    gpusolve_destroy(handle);
    return NULL;
}

static void check_several_handles(void) {
    enum { HANDLES = 4 };
    pthread_t threads[HANDLES];
    int failures[HANDLES] = {0};
    testing_in("several handles");
    for (int i = 0; i < HANDLES; i++)
        REQUIRE(pthread_create(&threads[i], NULL, tasks_runs, &failures[i]) == 0);
    for (int i = 0; i < HANDLES; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK(failures[i] == 0);
    }
}

/* OpenMP's rule: a parallel region inside another one has one thread, unless nesting is allowed. */
static void check_inside_region(void) {
#ifdef GPUSOLVE_TEST_OPENMP
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 3);
    int inside = 0, nested = 0, right = 0;
    testing_in("inside a parallel region");
    CHECK(gsv_pool_threads(handle->pool) == 3);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        inside = gsv_pool_threads(handle->pool);
        right = try_each(handle, inside, MOST_ITEMS);
        omp_set_max_active_levels(2);
        nested = gsv_pool_threads(handle->pool);
    }
    omp_set_max_active_levels(1);
    CHECK(inside == 1 && right && nested == 3);
    gpusolve_destroy(handle);
#endif
}

/* No memory for the pool: there is no handle. No thread to be had: the others do the work, down to the caller
 * alone. */
static void check_without_memory(void) {
    const int64_t live = gsv_live_allocations();
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_HOST;
    options.threads = 3;
    gpusolve_handle *handle;
    for (int k = 1; k <= 3; k++) {
        testing_in("allocation %d fails", k);
        gsv_fail_allocation(k);
        CHECK_STATUS(gpusolve_create(&handle, &options), GPUSOLVE_OUT_OF_MEMORY);
        gsv_fail_allocation(0);
        CHECK(handle == NULL && gsv_live_allocations() == live);
    }
    for (int k = 1; k <= 3; k++) {
        testing_in("thread %d fails", k);
        REQUIRE(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
        gsv_fail_thread(k);
        CHECK(try_each(handle, 3, MOST_ITEMS));
        gsv_fail_thread(0);
        CHECK(try_each(handle, 3, MOST_ITEMS));
        gpusolve_destroy(handle);
        CHECK(gsv_live_allocations() == live);
    }
}

/* Of small work no thread is worth waking, and none is started. */
static void check_share(void) {
    gsv_pool *pool;
    testing_in("share");
    REQUIRE(gsv_pool_create(4, &pool) == 0);
    CHECK(gsv_pool_share(NULL, 1000, 1) == 1);
    CHECK(gsv_pool_share(pool, 0, 10) == 1 && gsv_pool_share(pool, 19, 10) == 1);
    CHECK(gsv_pool_share(pool, 20, 10) == 2 && gsv_pool_share(pool, 1000, 10) == 4);
    CHECK(gsv_pool_share(pool, INT64_MAX, 1) == 4);
    gsv_pool_be_eager(pool);
    CHECK(gsv_pool_share(pool, 0, 10) == 1 && gsv_pool_share(pool, 3, 10) == 3);
    gsv_pool_destroy(pool);
    REQUIRE(gsv_pool_create(1, &pool) == 0);
    CHECK(pool == NULL);
}

static int default_threads_with(const char *number, const char *limit) {
    fflush(stdout);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (limit)
            setenv("OMP_THREAD_LIMIT", limit, 1);
        else
            unsetenv("OMP_THREAD_LIMIT");
        if (number)
            setenv("OMP_NUM_THREADS", number, 1);
        else
            unsetenv("OMP_NUM_THREADS");
        /* a name more than needed: gpusolve-tests wants it, and the program of this test alone does not mind */
        execl("/proc/self/exe", "test_pool", "test_pool", "threads", (char *)NULL);
        _exit(255);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* As the second program of default_threads_with: the threads of a handle by default, 254 for 1024. */
static int print_default_threads(void) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_HOST;
    gpusolve_handle *handle;
    if (gpusolve_create(&handle, &options))
        return 255;
    const int threads = handle->threads;
    gpusolve_destroy(handle);
    return threads == 1024 ? 254 : threads;
}

static void check_default_threads(void) {
    testing_in("default threads");
    const int all = default_threads_with(NULL, NULL);
    CHECK(all >= 1 && all <= 254);
    CHECK(default_threads_with("3", NULL) == 3);
    CHECK(default_threads_with("5,2", NULL) == 5);
    CHECK(default_threads_with("1025", NULL) == 254);
    CHECK(default_threads_with("7", "4") == 4);
    CHECK(default_threads_with("2", "4") == 2);
    CHECK(default_threads_with("many", NULL) == all);
    CHECK(default_threads_with("0", NULL) == all);
}

/* A child process has none of its parent's helpers: it starts its own, and both can end their handles. */
static void check_fork(void) {
    testing_in("fork");
    for (int use = 0; use < 2; use++) {
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 3);
        CHECK(try_each(handle, 3, MOST_ITEMS));
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            int right = 1;
            for (int repeat = 0; use && repeat < 100; repeat++)
                right = right && try_each(handle, 3, repeat);
            if (use) {
                _Atomic int come = 0;
                gsv_pool_run(handle->pool, 3, meet, &come);
                right = right && come == 3;
            }
            gpusolve_destroy(handle);
            _exit(right ? 0 : 1);
        }
        CHECK(try_each(handle, 3, MOST_ITEMS));
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        gpusolve_destroy(handle);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[argc - 1], "threads") == 0)
        return print_default_threads();
    check_share();
    check_items();
    check_helpers_come();
    check_several_handles();
    check_without_memory();
    if (!TESTING_CHILDREN_HAVE_NO_THREADS) { /* ThreadSanitizer, which does not see OpenMP's barriers either */
        check_default_threads();
        check_fork();
        check_inside_region();
    }
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
