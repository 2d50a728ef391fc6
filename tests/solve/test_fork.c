/*
 * fork() in the middle of everything: the parent's pool has run and another thread is solving meanwhile. Every
 * call in a child of its own, with the parent's handle and with a new one: it returns, and what it solves has the
 * parent's bits. The parent goes on. In a child of a process that has used a CUDA device, the device's calls end
 * with a status and the host's work.
 */
#define _DEFAULT_SOURCE /* alarm */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_dense.h"
#include "gpusolve_selection.h"
#include "handle.h"
#include "pool.h"

enum { COLUMNS = 9, THREADS = 3, PATIENCE_S = 120, RIGHT = 0, WRONG = 1 };

typedef struct world {
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_dense b, x, expected;
} world;

/* A handle whose threads work on small factors, too. */
static gpusolve_handle *eager_handle(gpusolve_backend backend) {
    gpusolve_handle *handle = testing_handle(backend, THREADS);
    gsv_pool_be_eager(handle->pool);
    return handle;
}

static int solves(world *w, gpusolve_handle *handle, const gpusolve_factor *factor) {
    memset(w->x.values, 0xff, testing_block_bytes(&w->x));
    return gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &w->b, &w->x) == GPUSOLVE_OK &&
           testing_same_bits(&w->x, 0, &w->expected, 0, COLUMNS);
}

/* ------------------------------------------------------------------------------------- in the child --- */

typedef int call(world *w, gpusolve_handle *handle);

static int solve(world *w, gpusolve_handle *handle) {
    return solves(w, handle, w->factor);
}

static int import(world *w, gpusolve_handle *handle) {
    gpusolve_factor *factor;
    if (gpusolve_cholmod_import(handle, w->l, &factor))
        return 0;
    const int right = solves(w, handle, factor);
    gpusolve_factor_destroy(factor);
    return right;
}

static int refresh(world *w, gpusolve_handle *handle) {
    return gpusolve_cholmod_refresh(handle, w->factor, w->l) == GPUSOLVE_OK && solves(w, handle, w->factor);
}

static int query(world *w, gpusolve_handle *handle) {
    gpusolve_info info = {.size = sizeof info};
    return gpusolve_cholmod_query(handle, w->l, COLUMNS, &info) == GPUSOLVE_OK && info.n == w->b.rows;
}

static int matrix(world *w, gpusolve_handle *handle) {
    gpusolve_matrix *made;
    if (gpusolve_cholmod_matrix(handle, w->a, &made))
        return 0;
    gpusolve_matrix_destroy(made);
    return 1;
}

static int refine(world *w, gpusolve_handle *handle) {
    double errors[COLUMNS];
    if (gpusolve_refine(handle, w->factor, w->matrix, NULL, &w->b, &w->x, NULL, errors, NULL))
        return 0;
    for (int j = 0; j < COLUMNS; j++)
        if (!(errors[j] < 30 * DBL_EPSILON))
            return 0;
    return 1;
}

static int selection(world *w, gpusolve_handle *handle) {
    gpusolve_selection *all;
    const int64_t n = w->b.rows;
    if (gpusolve_selection_create(handle, w->factor, GPUSOLVE_A, n, NULL, n, NULL, COLUMNS, &all))
        return 0;
    const int right = gpusolve_solve_selected(handle, w->factor, all, &w->b, &w->x) == GPUSOLVE_OK &&
                      testing_same_bits(&w->x, 0, &w->expected, 0, COLUMNS);
    gpusolve_selection_destroy(all);
    return right;
}

static int one_call(world *w, gpusolve_handle *handle) {
    cholmod_dense *b = cholmod_ones(w->a->nrow, 1, CHOLMOD_REAL, &w->common);
    cholmod_dense *x = gpusolve_cholmod_solve(CHOLMOD_A, w->l, b, &w->common);
    (void)handle;
    return x != NULL && isfinite(((double *)x->x)[0]);
}

static int dense(world *w, gpusolve_handle *handle) {
    double t[] = {2, 1, 0, 4}, b[] = {2, 9};
    (void)w;
    const gpusolve_status status = gpusolve_dtrsm(handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                                  GPUSOLVE_NON_UNIT, 2, 1, 1.0, t, 2, b, 2, NULL, 0);
    return status == GPUSOLVE_NOT_SUPPORTED || (status == GPUSOLVE_OK && b[0] == 1 && b[1] == 2);
}

static int destroy(world *w, gpusolve_handle *handle) {
    (void)handle;
    gpusolve_matrix_destroy(w->matrix);
    gpusolve_factor_destroy(w->factor);
    gpusolve_destroy(w->handle);
    return 1;
}

/* Where a fork has to be quiet, the parent holds this while it forks, and the thread that solves beside it in each round. */
static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;

static void keep_quiet(void) {
    if (TESTING_FORKS_ARE_QUIET)
        pthread_mutex_lock(&quiet);
}

static void end_quiet(void) {
    if (TESTING_FORKS_ARE_QUIET)
        pthread_mutex_unlock(&quiet);
}

/* Run the call in a child and return how that ended: its exit status, or 256 and the signal's number. */
static int in_child(world *w, call *run, gpusolve_handle *handle) {
    fflush(stdout);
    keep_quiet();
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S); /* what hangs ends by the signal */
        _exit(run(w, handle ? handle : eager_handle(w->handle->backend)) ? RIGHT : WRONG);
    }
    end_quiet();
    REQUIRE(child > 0);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* ------------------------------------------------------------------------------------ in the parent --- */

typedef struct solver {
    world *w;
    _Atomic int stop;
    int runs, failures;
} solver;

static void *keep_solving(void *argument) {
    solver *s = argument;
    keep_quiet();
    gpusolve_handle *handle = eager_handle(GPUSOLVE_BACKEND_HOST);
    gpusolve_factor *factor = NULL;
    gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, s->w->b.rows, COLUMNS, 0);
    do {
        s->failures += gpusolve_cholmod_import(handle, s->w->l, &factor) != GPUSOLVE_OK ||
                       gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &s->w->b, &x) != GPUSOLVE_OK ||
                       !testing_same_bits(&x, 0, &s->w->expected, 0, COLUMNS);
        gpusolve_factor_destroy(factor);
        s->runs++;
        end_quiet();
        if (TESTING_FORKS_ARE_QUIET)
            usleep(100); /* a mutex is not fair: its last owner would take it again */
        keep_quiet();
    } while (!s->stop);
    free(x.values);
    gpusolve_destroy(handle);
    end_quiet();
    return NULL;
}

static void check_host(world *w) {
    static const struct {
        const char *name;
        call *run;
    } calls[] = {{"solve", solve},      {"import", import},  {"refresh", refresh},     {"query", query},
                 {"matrix", matrix},    {"refine", refine},  {"selection", selection}, {"one call", one_call},
                 {"dense trsm", dense}, {"destroy", destroy}};
    solver beside = {.w = w};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, keep_solving, &beside) == 0);
    for (int repeat = 0; repeat < 3; repeat++)
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
            for (int own = 0; own < 2; own++) {
                testing_in("%s in a child, with %s handle", calls[k].name, own ? "its own" : "its parent's");
                CHECK(in_child(w, calls[k].run, own ? NULL : w->handle) == RIGHT);
                CHECK(solves(w, w->handle, w->factor)); /* the parent */
            }
    beside.stop = 1;
    REQUIRE(pthread_join(thread, NULL) == 0);
    testing_in("beside the forks");
    CHECK(beside.runs > 0 && beside.failures == 0);
}

/* CUDA cannot be used in a child of a process that has used it: each call says so and returns. */
static int device_refuses(world *w, gpusolve_handle *handle) {
    gpusolve_handle *other;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    if (gpusolve_solve(handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x) == GPUSOLVE_OK)
        return 0;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    if (gpusolve_create(&other, &options) == GPUSOLVE_OK)
        return 0;
    options.backend = GPUSOLVE_BACKEND_AUTO;
    if (gpusolve_create(&other, &options) || gpusolve_get_backend(other) != GPUSOLVE_BACKEND_HOST)
        return 0;
    gpusolve_factor *factor;
    return gpusolve_cholmod_import(other, w->l, &factor) == GPUSOLVE_OK &&
           gpusolve_solve(other, factor, NULL, GPUSOLVE_A, &w->b, &w->x) == GPUSOLVE_OK;
}

static void check_cuda(world *w) {
    testing_in("CUDA");
    CHECK(in_child(w, device_refuses, w->handle) == RIGHT);
    CHECK(in_child(w, destroy, w->handle) == RIGHT);
    CHECK(solves(w, w->handle, w->factor));
}

static void check_backend(gpusolve_backend backend) {
    world w;
    cholmod_start(&w.common);
    w.a = testing_load("grid2d:30", &w.common);
    REQUIRE(w.a != NULL);
    w.l = testing_factorize(w.a, GPUSOLVE_SUPERNODAL_LL, &w.common);
    REQUIRE(w.l != NULL);
    const int64_t n = (int64_t)w.a->nrow;
    w.handle = eager_handle(backend);
    REQUIRE(gpusolve_cholmod_import(w.handle, w.l, &w.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(w.handle, w.a, &w.matrix) == GPUSOLVE_OK);
    w.b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    w.x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    w.expected = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    testing_fill(&w.b, 1);
    REQUIRE(gpusolve_solve(w.handle, w.factor, NULL, GPUSOLVE_A, &w.b, &w.expected) == GPUSOLVE_OK);
    CHECK(solves(&w, w.handle, w.factor));
    if (backend == GPUSOLVE_BACKEND_HOST)
        check_host(&w);
    else
        check_cuda(&w);
    free(w.b.values);
    free(w.x.values);
    free(w.expected.values);
    gpusolve_matrix_destroy(w.matrix);
    gpusolve_factor_destroy(w.factor);
    gpusolve_destroy(w.handle);
    cholmod_free_factor(&w.l, &w.common);
    cholmod_free_sparse(&w.a, &w.common);
    cholmod_finish(&w.common);
}

int main(void) {
    if (TESTING_CHILDREN_HAVE_NO_THREADS)
        return TESTING_SKIPPED;
    check_backend(GPUSOLVE_BACKEND_HOST); /* first: its children have no CUDA */
    gpusolve_backend backends[2];
    if (testing_backends(backends) == 2)
        check_backend(GPUSOLVE_BACKEND_CUDA);
    return testing_done();
}
