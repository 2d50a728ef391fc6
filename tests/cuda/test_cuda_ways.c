/*
 * Devices other than the one at hand. Without streams, as before compute capability 9.0, and with as little shared memory as
 * a block has on 8.6 and 8.9, every number of columns is solved as tasks: all types, all systems, host and device
 * operands, against the host's numbers; the same bits for a column wherever it stands; with the option for them, in any
 * workspace; in a graph; and a selection. Likewise where one column is a stream and blocks are not, and where branches are
 * walked by warps alone. A device with too little shared memory for a factor says so.
 */
#include "cuda_problem.h"

#include <limits.h>

#include "gpusolve_selection.h"
#include "memory.h"
#include "supernodal/cuda/support.h"

enum { COLUMNS = 256, SYSTEMS = 9, SMALL_SHARED = 99 << 10, TOO_SMALL_SHARED = 20 << 10 };

typedef struct way {
    const char *name;
    int streams, shared;
    int64_t block_least;
} way;

static const way ways[] = {
    {"no streams", 0, INT_MAX, 0},
    {"no streams, 99 KB of shared memory", 0, SMALL_SHARED, 0},
    {"streams of one column alone", 1, INT_MAX, INT64_MAX},
};

static void take_way(const way *w) {
    tuning.streams = w->streams;
    tuning.shared_limit = w->shared;
    tuning.block_least = w->block_least;
}

/* The host's numbers. */
static void solve_on_host(const problem *p, gpusolve_system system, const gpusolve_dense *b,
                          const gpusolve_dense *x) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 0);
    gpusolve_factor *factor = NULL;
    if (p->dtype == GPUSOLVE_FLOAT || p->dtype == GPUSOLVE_COMPLEX_FLOAT)
        factor = import_rounded(handle, p->l);
    else
        REQUIRE(gpusolve_cholmod_import(handle, p->l, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, system, b, x), GPUSOLVE_OK);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_close(const problem *p, const gpusolve_dense *x, const gpusolve_dense *right,
                        int64_t first) {
    for (int64_t j = 0; j < x->cols; j++) {
        double difference = 0, largest = 0;
        for (int64_t i = 0; i < p->n; i++) {
            const double complex theirs = testing_get(right, i, first + j);
            difference = testing_worse(difference, cabs(testing_get(x, i, j) - theirs));
            largest = testing_worse(largest, cabs(theirs));
        }
        if (!CHECK_BELOW(difference, 45000 * testing_epsilon(p->dtype) * largest))
            return;
    }
}

/* Columns first .. first + cols - 1 in a workspace for max_nrhs, into x. */
static void solve_some(const problem *p, gpusolve_system system, const gpusolve_dense *b, int64_t first,
                       int64_t max_nrhs, gpusolve_order order, int on_device, const gpusolve_dense *x) {
    const gpusolve_dense from = testing_block(p->dtype, order, p->n, x->cols, 1);
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < p->n; i++)
            testing_set(&from, i, j, testing_get(b, i, first + j));
    CHECK_STATUS(testing_solve(p->handle, p->factor, workspace_for(p, max_nrhs), system, &from, x, on_device),
                 GPUSOLVE_OK);
    free(from.values);
}

static void check_system(const problem *p, gpusolve_system system) {
    static const int64_t widths[] = {1, 2, 5, 8, 16, 33, 64, 100, COLUMNS};
    const gpusolve_dense b = new_block(p, COLUMNS), right = new_block(p, COLUMNS);
    testing_fill(&b, 31);
    solve_on_host(p, system, &b, &right);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const int64_t cols = widths[w], first = (COLUMNS - cols) / 3;
        const gpusolve_dense x = new_block(p, cols), again = new_block(p, cols);
        solve_some(p, system, &b, first, cols, w % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, w % 3 > 0,
                   &x);
        check_close(p, &x, &right, first);
        solve_some(p, system, &b, first, cols, w % 2 ? GPUSOLVE_COL_MAJOR : GPUSOLVE_ROW_MAJOR, w % 3 == 0,
                   &again);
        CHECK(testing_same_bits(&again, 0, &x, 0, cols));
        solve_some(p, system, &b, first, COLUMNS, GPUSOLVE_COL_MAJOR, 1, &again);
        check_close(p, &again, &right, first);
        free(x.values);
        free(again.values);
    }
    free(b.values);
    free(right.values);
}

/* A column among others has the bits that it has in another place. */
static void check_places(const problem *p, int64_t cols) {
    const gpusolve_dense b = new_block(p, 2 * cols), x = new_block(p, cols), moved = new_block(p, cols);
    testing_fill(&b, 17);
    solve_some(p, GPUSOLVE_A, &b, 0, cols, GPUSOLVE_COL_MAJOR, 1, &x);
    solve_some(p, GPUSOLVE_A, &b, 3, cols, GPUSOLVE_ROW_MAJOR, 1, &moved);
    CHECK(testing_same_bits(&moved, 0, &x, 3, cols - 3));
    free(b.values);
    free(x.values);
    free(moved.values);
}

static void check_graph(const problem *p, int64_t cols) {
    const gpusolve_dense b = new_block(p, cols), expected = new_block(p, cols);
    testing_fill(&b, 8);
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, cols, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    check_replays(p, workspace, &b, &expected, 10);
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(expected.values);
}

/* The solution's last row and first, from two rows of b. */
static void check_selection(const problem *p) {
    const int64_t rows[] = {1, p->n / 2}, wanted[] = {p->n - 1, 0};
    const gpusolve_dense few = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, 2, 3, 0),
                         got = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, 2, 3, 0), b = new_block(p, 3);
    gpusolve_selection *selection;
    testing_fill(&few, 12);
    memset(b.values, 0, testing_block_bytes(&b));
    for (int64_t j = 0; j < 3; j++)
        for (int k = 0; k < 2; k++)
            testing_set(&b, rows[k], j, testing_get(&few, k, j));
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, NULL, GPUSOLVE_A, &b, &b), GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(p->handle, p->factor, GPUSOLVE_A, 2, rows, 2, wanted, 3, &selection) ==
            GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(p->handle, p->factor, selection, &few, &got), GPUSOLVE_OK);
    for (int64_t j = 0; j < 3; j++) {
        double largest = 0;
        for (int64_t i = 0; i < p->n; i++)
            largest = testing_worse(largest, cabs(testing_get(&b, i, j)));
        for (int k = 0; k < 2; k++)
            CHECK_BELOW(cabs(testing_get(&got, k, j) - testing_get(&b, wanted[k], j)),
                        1000 * testing_epsilon(p->dtype) * largest);
    }
    gpusolve_selection_destroy(selection);
    free(few.values);
    free(got.values);
    free(b.values);
}

/* What is said of the factor: which way, and what its workspaces take. */
static void check_words(const problem *p, const way *w) {
    const gsv_cuda_factor *device = p->factor->prepared;
    char text[8192];
    gpusolve_info one = {.size = sizeof one}, sixteen = {.size = sizeof sixteen};
    gpusolve_cost cost = {.size = sizeof cost};
    CHECK(gsv_streams_one(&device->abilities) == w->streams &&
          gsv_streamed(&device->abilities) == w->streams);
    CHECK_STATUS(gpusolve_factor_summary(p->handle, p->factor, text, sizeof text, NULL), GPUSOLVE_OK);
    CHECK((strstr(text, "not used: not on this device") != NULL) == !w->streams);
    CHECK_STATUS(gpusolve_factor_info(p->handle, p->factor, 1, &one), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p->handle, p->factor, 16, &sixteen), GPUSOLVE_OK);
    CHECK((one.workspace_bytes == sixteen.workspace_bytes) == !w->streams);
    CHECK_STATUS(gpusolve_factor_cost(p->handle, p->factor, 1, 0, &cost), GPUSOLVE_OK);
    CHECK(cost.launches > 0 && cost.predicted_us > 0);
}

typedef struct subject {
    const char *spec;
    gpusolve_factor_kind kind;
    gpusolve_dtype dtype;
} subject;

static void check_subject(const subject *s, const way *w) {
    problem p;
    testing_in("%s, kind %d, type %d, %s", s->spec, (int)s->kind, (int)s->dtype, w->name);
    open_kind(&p, s->spec, s->kind, s->dtype);
    check_words(&p, w);
    for (int system = 0; system < SYSTEMS; system += testing_few() ? 4 : 1) {
        testing_in("%s, kind %d, type %d, %s, system %d", s->spec, (int)s->kind, (int)s->dtype, w->name,
                   system);
        check_system(&p, (gpusolve_system)system);
    }
    testing_in("%s, kind %d, type %d, %s", s->spec, (int)s->kind, (int)s->dtype, w->name);
    check_places(&p, 16);
    check_places(&p, 32);
    check_places(&p, 64);
    check_places(&p, 128);
    check_graph(&p, 1);
    check_graph(&p, 20);
    if (s->kind == GPUSOLVE_SUPERNODAL_LL)
        check_selection(&p);
    static const int64_t widths[] = {1, 4, 16, 20, 50, 100};
    check_same_bits(&p, widths, sizeof widths / sizeof *widths, 70);
    forget_workspaces();
    close_problem(&p);
}

/* Of a factor with branches on a device that has no room for one. */
static void check_refused(void) {
    testing_in("too little shared memory");
    problem p;
    gpusolve_factor *factor = NULL;
    open_problem(&p, "grid2d:60");
    REQUIRE(p.factor->plan.schedule->branches.count > 0);
    gpusolve_factor_data data = testing_factor_data(p.l);
    const int64_t live = gsv_live_allocations();
    tuning.shared_limit = TOO_SMALL_SHARED;
    CHECK_STATUS(gpusolve_factor_create(p.handle, &data, &factor), GPUSOLVE_NOT_SUPPORTED);
    tuning.shared_limit = INT_MAX;
    CHECK(factor == NULL && strstr(gpusolve_last_error(p.handle), "shared memory") != NULL);
    CHECK(gsv_live_allocations() == live);
    close_problem(&p);
}

int main(void) {
    static const subject subjects[] = {{"elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"grid2d:41", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE},
                                       {"elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT},
                                       {"grid3d:12@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE},
                                       {"grid2d:31@c", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_COMPLEX_DOUBLE},
                                       {"grid3d:11@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_FLOAT},
                                       {"grid3d:14", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"diag:3000", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"forest:900", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT}};
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    const int64_t least = tuning.block_least;
    tuning.ones = 1; /* two and more are not solved one by one */
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        take_way(&ways[k]);
        for (size_t s = 0; s < sizeof subjects / sizeof *subjects; s += testing_few() ? 2 : 1)
            check_subject(&subjects[s], &ways[k]);
    }
    take_way(&(way){"as it is", 1, INT_MAX, least});
    tuning.ones = GSV_ONES;
    check_refused();
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
