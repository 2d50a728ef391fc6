/*
 * Out of memory, at every allocation of every call: the k-th one is made to fail for k = 1, 2, ... until the
 * call gets by without. Each time the status says so, nothing is left behind, and afterwards the factor
 * answers as before.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "memory.h"

enum { MOST_ALLOCATIONS = 10000, COLUMNS = 3 };

typedef struct allocation_world {
    gpusolve_backend backend;
    gpusolve_handle *handle; /* a new one for every attempt: it has no workspaces of its own */
    const cholmod_factor *l;
    const cholmod_sparse *a;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_dense b, x, expected;
} allocation_world;

/* A call that frees what it made, and checks that there is nothing to free where it failed. */
typedef gpusolve_status (*allocating_call)(allocation_world *w);

static gpusolve_status create(allocation_world *w) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = w->backend;
    gpusolve_handle *handle;
    gpusolve_status status = gpusolve_create(&handle, &options);
    CHECK((status == GPUSOLVE_OK) == (handle != NULL));
    gpusolve_destroy(handle);
    return status;
}

static gpusolve_status import(allocation_world *w) {
    gpusolve_factor *factor;
    gpusolve_status status = gpusolve_cholmod_import(w->handle, w->l, &factor);
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status query(allocation_world *w) {
    gpusolve_info info = {.size = sizeof info};
    return gpusolve_cholmod_query(w->handle, w->l, 4, &info);
}

static gpusolve_status refresh(allocation_world *w) {
    return gpusolve_cholmod_refresh(w->handle, w->factor, w->l);
}

static gpusolve_status workspace_create(allocation_world *w) {
    gpusolve_workspace *workspace;
    gpusolve_status status = gpusolve_workspace_create(w->handle, w->factor, 4, &workspace);
    CHECK((status == GPUSOLVE_OK) == (workspace != NULL));
    gpusolve_workspace_destroy(workspace);
    return status;
}

static gpusolve_status matrix_create(allocation_world *w) {
    gpusolve_matrix *matrix;
    gpusolve_status status = gpusolve_cholmod_matrix(w->handle, w->a, &matrix);
    CHECK((status == GPUSOLVE_OK) == (matrix != NULL));
    gpusolve_matrix_destroy(matrix);
    return status;
}

static gpusolve_status solve(allocation_world *w) {
    return gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x);
}

static gpusolve_status refine(allocation_world *w) {
    return gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &w->b, &w->x, NULL, NULL, NULL);
}

/* The handle's own workspace grows from one column to three: on failure the small one is still there. */
static gpusolve_status solve_wider(allocation_world *w) {
    gpusolve_dense b = w->b, x = w->x;
    b.cols = x.cols = 1;
    gpusolve_status status = gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &b, &x);
    return status ? status : solve(w);
}

/* With two parts, for the reaches of the two rows differ, and with one. */
static gpusolve_status select_rows(allocation_world *w) {
    const int64_t rows[] = {0, w->b.rows - 1};
    gpusolve_selection *selection;
    gpusolve_status status =
        gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, rows, 1, rows + 1, 2, &selection);
    CHECK((status == GPUSOLVE_OK) == (selection != NULL));
    gpusolve_selection_destroy(selection);
    if (!status)
        status = gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_L, 2, rows, 1, rows, 2, &selection);
    if (!status)
        gpusolve_selection_destroy(selection);
    return status;
}

static const struct {
    const char *name;
    allocating_call call;
    int allocates;
} calls[] = {{"create", create, 1},
             {"import", import, 1},
             {"query", query, 1},
             {"refresh", refresh, 0},
             {"workspace", workspace_create, 1},
             {"selection", select_rows, 1},
             {"matrix", matrix_create, 1},
             {"solve", solve, 1},
             {"solve, wider", solve_wider, 1},
             {"refine", refine, 1}};

/* One attempt with the k-th allocation failing; whether the call got by. */
static int attempt(allocation_world *w, allocating_call call, int64_t k) {
    int64_t live = gsv_live_allocations();
    w->handle = testing_handle(w->backend, 2);
    gsv_fail_allocation(k);
    gpusolve_status status = call(w);
    gsv_fail_allocation(0);
    if (status && call != create)
        CHECK(strstr(gpusolve_last_error(w->handle), "memory") != NULL);
    gpusolve_destroy(w->handle);
    CHECK(gsv_live_allocations() == live);
    CHECK(status == GPUSOLVE_OK || status == GPUSOLVE_OUT_OF_MEMORY ||
          status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
    return status == GPUSOLVE_OK;
}

static void check_answers(allocation_world *w) {
    w->handle = testing_handle(w->backend, 2);
    CHECK_STATUS(solve(w), GPUSOLVE_OK);
    CHECK(testing_same_bits(&w->x, 0, &w->expected, 0, COLUMNS));
    gpusolve_destroy(w->handle);
}

static void check_calls(allocation_world *w, const char *about) {
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        int64_t k = 1;
        testing_in("%s, %s", about, calls[c].name);
        for (; k < MOST_ALLOCATIONS; k++) {
            testing_in("%s, %s, allocation %d", about, calls[c].name, (int)k);
            if (attempt(w, calls[c].call, k))
                break;
        }
        CHECK(k < MOST_ALLOCATIONS && (k > 1 || !calls[c].allocates));
        check_answers(w);
    }
}

static void check_backend(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                          cholmod_common *common) {
    char about[128];
    snprintf(about, sizeof about, "%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    testing_in("%s", about);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    allocation_world world = {.backend = backend, .l = l, .a = a}, *w = &world;
    w->handle = testing_handle(backend, 2);
    REQUIRE(gpusolve_cholmod_import(w->handle, l, &w->factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(w->handle, a, &w->matrix) == GPUSOLVE_OK);
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    w->b = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    w->x = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    w->expected = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    testing_fill(&w->b, 71);
    CHECK_STATUS(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->expected), GPUSOLVE_OK);
    gpusolve_destroy(w->handle);

    check_calls(w, about);
    free(w->b.values);
    free(w->x.values);
    free(w->expected.values);
    gpusolve_matrix_destroy(w->matrix);
    gpusolve_factor_destroy(w->factor);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        for (int kind = 0; kind < 3; kind++) {
            check_backend(backends[i], "elasticity3d:5", (gpusolve_factor_kind)kind, &common);
            check_backend(backends[i], "grid2d:12@c", (gpusolve_factor_kind)kind, &common);
        }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
