/*
 * Everything at once, for as long as wanted: threads that share factors, each with a handle, workspaces and
 * selections of its own, do in random order what the header allows, and every answer is compared with one that
 * was computed at the start. Run it under AddressSanitizer, and on a device.
 *
 *      soak [seconds] [seed] [host|cuda|both] [threads]       default 3 seconds a backend, 8 threads
 *
 * Prints the seed and how often each operation was done. On the host processes are forked off now and then, unless
 * the process has used a device: a child cannot.
 */
#define _DEFAULT_SOURCE /* alarm */
#include "soak_world.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

enum { MOST_THREADS = 64, CHILD_S = 300 };

/* X(name, weight): what a thread does next. */
#define OPERATIONS(X)        \
    X(solve, 40)             \
    X(solve_selected, 16)    \
    X(refine, 6)             \
    X(query, 8)              \
    X(workspace_create, 6)   \
    X(workspace_destroy, 5)  \
    X(selection_create, 6)   \
    X(selection_destroy, 5)  \
    X(handle_renew, 2)       \
    X(refresh, 4)            \
    X(refresh_refused, 2)    \
    X(factor_renew, 2)       \
    X(factor_of_ones_own, 3) \
    X(fork_off, 1)

enum {
#define OPERATION_ENUM(name, weight) OP_##name,
    OPERATIONS(OPERATION_ENUM)
#undef OPERATION_ENUM
        OPERATION_COUNT
};
_Static_assert((int)OPERATION_COUNT <= (int)MOST_OPERATIONS, "the threads count them");

static pthread_rwlock_t world = PTHREAD_RWLOCK_INITIALIZER; /* for writing: nobody else is at anything */
static _Atomic int stop, forks_allowed;

/* --------------------------------------------------------------------------------------------- solves --- */

/* With the handle's own workspace, one that was made for the factor, or one made for a factor that has gone. */
static void solve(thread *t) {
    owned_workspace *with = below(t, 2) ? &t->workspace[below(t, WORKSPACES)] : NULL;
    int index;
    slot *s = some_slot(t, &index);
    if (with && with->workspace)
        s = &slots[with->slot];
    pthread_rwlock_rdlock(&s->lock);
    if (!with || !with->workspace) {
        solve_some(t, t->handle, s, s->factor, s->variant, NULL, has_bits(t, t->same_bits));
    } else if (with->generation == s->generation) {
        solve_some(t, t->handle, s, s->factor, s->variant, with->workspace, has_bits(t, with->same_bits));
    } else {
        const gpusolve_dense x = copy_columns(&s->b, 0, 1, GPUSOLVE_COL_MAJOR, 0);
        RIGHT(t, gpusolve_solve(t->handle, s->factor, with->workspace, GPUSOLVE_A, &x, &x) ==
                     GPUSOLVE_INVALID_ARGUMENT);
        free(x.values);
    }
    pthread_rwlock_unlock(&s->lock);
}

static void refine(thread *t) {
    int index;
    slot *s = some_slot(t, &index);
    const int64_t cols = 1 + below(t, 5), first = below(t, WIDTH - cols + 1);
    const gpusolve_dense b = copy_columns(&s->b, first, cols, GPUSOLVE_COL_MAJOR, 0);
    const gpusolve_dense x = copy_columns(&s->b, first, cols, GPUSOLVE_COL_MAJOR, 1);
    double errors[5];
    pthread_rwlock_rdlock(&s->lock);
    if (RIGHT(t, b.values && x.values) &&
        RIGHT(t, gpusolve_refine(t->handle, s->factor, s->matrix[s->variant], NULL, &b, &x, NULL, errors,
                                 NULL) == GPUSOLVE_OK)) {
        RIGHT(t, is_answer(&x, &s->expected[s->variant][GPUSOLVE_A], first, 0));
        for (int64_t j = 0; j < cols; j++)
            RIGHT(t, errors[j] < 30 * testing_epsilon(b.dtype));
    }
    pthread_rwlock_unlock(&s->lock);
    free(b.values);
    free(x.values);
}

static void query(thread *t) {
    gpusolve_info info = {.size = sizeof info};
    gpusolve_cost cost = {.size = sizeof cost};
    char text[512];
    size_t needed = 0;
    int index;
    slot *s = some_slot(t, &index);
    pthread_rwlock_rdlock(&s->lock);
    RIGHT(t, gpusolve_factor_info(t->handle, s->factor, 1 + below(t, 64), &info) == GPUSOLVE_OK);
    RIGHT(t, info.n == s->b.rows && info.dtype == s->b.dtype && info.backend == t->backend);
    RIGHT(t, gpusolve_factor_summary(t->handle, s->factor, text, sizeof text, &needed) == GPUSOLVE_OK);
    RIGHT(t, needed > 1 && memchr(text, '\0', sizeof text) != NULL);
    RIGHT(t, gpusolve_factor_cost(t->handle, s->factor, below(t, 300), 0, &cost) == GPUSOLVE_OK);
    RIGHT(t, gpusolve_workspace_check(t->handle, NULL) == GPUSOLVE_OK);
    pthread_rwlock_unlock(&s->lock);
    RIGHT(t, gpusolve_query(t->handle, &s->data[0], 1 + below(t, 64), &info) == GPUSOLVE_OK);
    RIGHT(t, info.n == s->b.rows);
}

/* ------------------------------------------------------------------------- workspaces and selections --- */

static void workspace_destroy(thread *t) {
    owned_workspace *old = &t->workspace[below(t, WORKSPACES)];
    gpusolve_workspace_destroy(old->workspace);
    old->workspace = NULL;
}

static void workspace_create(thread *t) {
    owned_workspace *to = &t->workspace[below(t, WORKSPACES)];
    slot *s = some_slot(t, &to->slot);
    gpusolve_workspace_destroy(to->workspace);
    pthread_rwlock_rdlock(&s->lock);
    to->generation = s->generation;
    to->same_bits = t->same_bits;
    RIGHT(t, gpusolve_workspace_create(t->handle, s->factor, 1 + below(t, WIDTH), &to->workspace) ==
                 GPUSOLVE_OK);
    pthread_rwlock_unlock(&s->lock);
}

static void selection_destroy(thread *t) {
    owned_selection *old = &t->selection[below(t, SELECTIONS)];
    gpusolve_selection_destroy(old->selection);
    old->selection = NULL;
}

/* Some rows, each once: a start, and steps so small that none comes again. */
static int64_t some_rows(thread *t, int64_t n, int64_t *rows) {
    const int64_t count = 1 + below(t, MOST_ROWS), step = 1 + below(t, n / MOST_ROWS), start = below(t, n);
    for (int64_t k = 0; k < count; k++)
        rows[k] = (start + k * step) % n;
    return count;
}

static void selection_create(thread *t) {
    owned_selection *to = &t->selection[below(t, SELECTIONS)];
    slot *s = some_slot(t, &to->slot);
    gpusolve_selection_destroy(to->selection);
    to->system = (gpusolve_system)below(t, GPUSOLVE_Lt + 1);
    to->b_count = some_rows(t, s->b.rows, to->b_rows);
    to->x_count = some_rows(t, s->b.rows, to->x_rows);
    pthread_rwlock_rdlock(&s->lock);
    to->generation = s->generation;
    RIGHT(t, gpusolve_selection_create(t->handle, s->factor, to->system, to->b_count, to->b_rows, to->x_count,
                                       to->x_rows, 1 + below(t, 8), &to->selection) == GPUSOLVE_OK);
    pthread_rwlock_unlock(&s->lock);
}

/* Beside the whole solve of a right-hand side that is zero elsewhere. */
static void check_selected(thread *t, slot *s, const owned_selection *with) {
    const int64_t cols = 1 + below(t, 6), first = below(t, WIDTH - cols + 1);
    const gpusolve_dense whole = copy_columns(&s->b, first, cols, GPUSOLVE_COL_MAJOR, 0);
    gpusolve_dense b = whole, x = whole, expected = whole;
    b.rows = b.ld = with->b_count;
    x.rows = x.ld = expected.rows = expected.ld = with->x_count;
    b.values = malloc(testing_block_bytes(&b));
    x.values = malloc(testing_block_bytes(&x));
    expected.values = malloc(testing_block_bytes(&expected));
    if (RIGHT(t, whole.values && b.values && x.values && expected.values)) {
        memset(whole.values, 0, testing_block_bytes(&whole));
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = 0; k < with->b_count; k++) {
                const double complex number = testing_get(&s->b, with->b_rows[k], first + j);
                testing_set(&b, k, j, number);
                testing_set(&whole, with->b_rows[k], j, number);
            }
        RIGHT(t, gpusolve_solve(t->handle, s->factor, NULL, with->system, &whole, &whole) == GPUSOLVE_OK);
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = 0; k < with->x_count; k++)
                testing_set(&expected, k, j, testing_get(&whole, with->x_rows[k], j));
        RIGHT(t, gpusolve_solve_selected(t->handle, s->factor, with->selection, &b, &x) == GPUSOLVE_OK);
        double worst = 0, largest = 0;
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = 0; k < whole.rows; k++)
                largest = testing_worse(largest, cabs(testing_get(&whole, k, j)));
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = 0; k < with->x_count; k++)
                worst = testing_worse(worst, cabs(testing_get(&x, k, j) - testing_get(&expected, k, j)));
        RIGHT(t,
              worst <= (t->backend == GPUSOLVE_BACKEND_HOST ? 0 : 1e5 * testing_epsilon(x.dtype) * largest));
    }
    free(whole.values);
    free(b.values);
    free(x.values);
    free(expected.values);
}

static void solve_selected(thread *t) {
    owned_selection *with = &t->selection[below(t, SELECTIONS)];
    gpusolve_selection_info info = {.size = sizeof info};
    if (!with->selection)
        return;
    slot *s = &slots[with->slot];
    pthread_rwlock_rdlock(&s->lock);
    RIGHT(t, gpusolve_selection_get_info(t->handle, with->selection, &info) == GPUSOLVE_OK);
    if (with->generation == s->generation) {
        check_selected(t, s, with);
    } else {
        const gpusolve_dense x = copy_columns(&s->b, 0, 1, GPUSOLVE_COL_MAJOR, 0);
        RIGHT(t, gpusolve_solve_selected(t->handle, s->factor, with->selection, &x, &x) ==
                     GPUSOLVE_INVALID_ARGUMENT);
        free(x.values);
    }
    pthread_rwlock_unlock(&s->lock);
}

/* --------------------------------------------------------------------------- factors and handles --- */

static void handle_renew(thread *t) {
    gpusolve_destroy(t->handle);
    new_handle(t);
}

static void refresh(thread *t) {
    int index;
    slot *s = some_slot(t, &index);
    pthread_rwlock_wrlock(&s->lock);
    const int variant = (int)below(t, VARIANTS);
    if (RIGHT(t, gpusolve_factor_refresh(t->handle, s->factor, &s->data[variant]) == GPUSOLVE_OK))
        s->variant = variant;
    pthread_rwlock_unlock(&s->lock);
}

/* Of another pattern, or of another type: the factor is as it was. */
static void refresh_refused(thread *t) {
    int index;
    slot *s = some_slot(t, &index);
    const gpusolve_factor_data *wrong = &slots[(index + 1) % SLOTS].data[0];
    pthread_rwlock_wrlock(&s->lock);
    RIGHT(t, gpusolve_factor_refresh(t->handle, s->factor, wrong) != GPUSOLVE_OK);
    solve_some(t, t->handle, s, s->factor, s->variant, NULL, has_bits(t, t->same_bits));
    pthread_rwlock_unlock(&s->lock);
}

/* Workspaces and selections of the old one stay where they are, and are refused from now on. */
static void factor_renew(thread *t) {
    int index;
    slot *s = some_slot(t, &index);
    pthread_rwlock_wrlock(&s->lock);
    gpusolve_factor_destroy(s->factor);
    s->generation++;
    s->variant = (int)below(t, VARIANTS);
    RIGHT(t, gpusolve_factor_create(t->handle, &s->data[s->variant], &s->factor) == GPUSOLVE_OK);
    pthread_rwlock_unlock(&s->lock);
}

/* Made, used and destroyed in any order: handle, workspace and factor. */
static void factor_of_ones_own(thread *t) {
    int index, variant = (int)below(t, VARIANTS);
    const slot *s = some_slot(t, &index);
    gpusolve_handle *mine = t->handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace = NULL;
    new_handle(t);
    gpusolve_handle *other = t->handle;
    if (RIGHT(t, gpusolve_factor_create(other, &s->data[variant], &factor) == GPUSOLVE_OK) &&
        RIGHT(t, gpusolve_workspace_create(other, factor, 1 + below(t, WIDTH), &workspace) == GPUSOLVE_OK))
        solve_some(t, other, s, factor, variant, workspace, has_bits(t, t->same_bits));
    if (factor && below(t, 2))
        solve_some(t, other, s, factor, variant, NULL, has_bits(t, t->same_bits));
    const int64_t order = below(t, 6);
    for (int k = 0; k < 3; k++)
        switch ((order / 2 + (order % 2 ? 2 * k : k)) % 3) {
        case 0:
            gpusolve_destroy(other);
            break;
        case 1:
            gpusolve_factor_destroy(factor);
            break;
        default:
            gpusolve_workspace_destroy(workspace);
        }
    t->handle = mine;
    gpusolve_destroy(t->handle);
    new_handle(t);
}

/* ---------------------------------------------------------------------------------------------- forks --- */

/* In the child nobody else runs: a factor that nobody was changing is solved with, by the handle that came along and
 * by a new one. */
static int child(thread *t, const slot *s) {
    const long before = atomic_load(&failures);
    solve_some(t, t->handle, s, s->factor, s->variant, NULL, 1);
    new_handle(t);
    solve_some(t, t->handle, s, s->factor, s->variant, NULL, 1);
    gpusolve_factor *factor;
    if (RIGHT(t, gpusolve_factor_create(t->handle, &s->data[0], &factor) == GPUSOLVE_OK))
        solve_some(t, t->handle, s, factor, 0, NULL, 1);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(t->handle);
    fflush(stdout);
    return atomic_load(&failures) != before;
}

static void fork_off(thread *t) {
    if (!atomic_load(&forks_allowed))
        return;
    if (TESTING_FORKS_ARE_QUIET) { /* this thread gives its place among the readers up for a moment */
        pthread_rwlock_unlock(&world);
        pthread_rwlock_wrlock(&world);
    }
    int index, status = -1;
    slot *s = some_slot(t, &index);
    pthread_rwlock_rdlock(&s->lock);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_S); /* one that hangs is a failure, not the end of the soak */
        _exit(child(t, s));
    }
    pthread_rwlock_unlock(&s->lock);
    if (TESTING_FORKS_ARE_QUIET) {
        pthread_rwlock_unlock(&world);
        pthread_rwlock_rdlock(&world);
    }
    RIGHT(t, pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* -------------------------------------------------------------------------------------------- threads --- */

static const struct {
    const char *name;
    int weight;
    void (*work)(thread *t);
} operations[OPERATION_COUNT] = {
#define OPERATION_ENTRY(name, weight) {#name, weight, name},
    OPERATIONS(OPERATION_ENTRY)
#undef OPERATION_ENTRY
};

static int next_operation(thread *t) {
    int all = 0, k = 0;
    for (int op = 0; op < OPERATION_COUNT; op++)
        all += operations[op].weight;
    for (int64_t left = below(t, all); left >= operations[k].weight; k++)
        left -= operations[k].weight;
    return k;
}

static void *live(void *argument) {
    thread *t = argument;
    t->doing = "the start";
    t->stream = t->backend == GPUSOLVE_BACKEND_CUDA ? device_stream() : NULL;
    new_handle(t);
    while (!atomic_load(&stop)) {
        const int op = next_operation(t);
        t->doing = operations[op].name;
        t->begun++;
        pthread_rwlock_rdlock(&world);
        operations[op].work(t);
        pthread_rwlock_unlock(&world);
        t->done[op]++;
    }
    gpusolve_destroy(t->handle); /* before what it made */
    device_stream_delete(t->stream);
    return NULL;
}

static void soak(gpusolve_backend backend, double seconds, uint64_t seed, int threads,
                 cholmod_common *common) {
    static thread team[MOST_THREADS];
    const int64_t live_before = gsv_live_allocations(), device_before = gsv_live_on_device();
    long total = 0;
    printf("%s: %g s, seed %llu, %d threads\n", testing_backend_name(backend), seconds,
           (unsigned long long)seed, threads);
    fflush(stdout);
    gpusolve_handle *handle = testing_handle_bits(backend, 2, 1);
    for (int k = 0; k < SLOTS; k++)
        open_slot(&slots[k], k, handle, common);
    gpusolve_destroy(handle);
    atomic_store(&stop, 0);
    for (int k = 0; k < threads; k++) {
        team[k] = (thread){.id = k, .backend = backend};
        team[k].state = (seed * 1000003 + (uint64_t)k) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        testing_random_bits(&team[k].state);
        REQUIRE(pthread_create(&team[k].thread, NULL, live, &team[k]) == 0);
    }
    const struct timespec sleep = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&sleep, NULL);
    atomic_store(&stop, 1);
    for (int k = 0; k < threads; k++)
        REQUIRE(pthread_join(team[k].thread, NULL) == 0);
    for (int k = 0; k < SLOTS; k++)
        close_slot(&slots[k], common);
    for (int k = 0; k < threads; k++) { /* after the factors that they were made for */
        for (int i = 0; i < WORKSPACES; i++)
            gpusolve_workspace_destroy(team[k].workspace[i].workspace);
        for (int i = 0; i < SELECTIONS; i++)
            gpusolve_selection_destroy(team[k].selection[i].selection);
    }
    for (int op = 0; op < OPERATION_COUNT; op++) {
        long done = 0;
        for (int k = 0; k < threads; k++)
            done += team[k].done[op];
        printf("    %-20s %ld\n", operations[op].name, done);
        total += done;
    }
    printf("    %-20s %ld, %ld failures\n", "in all", total, atomic_load(&failures));
    testing_in("%s, seed %llu", testing_backend_name(backend), (unsigned long long)seed);
    CHECK(total > 0 && atomic_load(&failures) == 0);
    CHECK(gsv_live_allocations() == live_before && gsv_live_on_device() == device_before);
}

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *where = argc > 3 ? argv[3] : "both";
    const int threads = argc > 4 ? atoi(argv[4]) : 8;
    cholmod_common common;
    cholmod_start(&common);
    REQUIRE(threads >= 1 && threads <= MOST_THREADS);
    if (strcmp(where, "cuda") !=
        0) { /* first: children of a process that has used a device are not allowed it */
        atomic_store(&forks_allowed, !TESTING_CHILDREN_HAVE_NO_THREADS);
        soak(GPUSOLVE_BACKEND_HOST, seconds, seed, threads, &common);
        atomic_store(&forks_allowed, 0);
    }
    gpusolve_backend backends[2];
    const int has_device = strcmp(where, "host") != 0 && testing_backends(backends) > 1;
    if (has_device)
        soak(GPUSOLVE_BACKEND_CUDA, seconds, seed, threads, &common);
    if (!has_device && strcmp(where, "cuda") == 0) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    cholmod_finish(&common);
    return testing_done();
}
