/* Every argument of the functions for selections, wrong once: the status, and a sentence that names it. */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "memory.h"

typedef struct selection_world {
    gpusolve_handle *handle;
    gpusolve_handle *other_backend; /* NULL where there is one backend alone */
    gpusolve_factor *factor, *other_factor;
} selection_world;

#define REFUSED(call, status, word) CHECK_REFUSED(w->handle, call, status, word)

static void *const somewhere = (void *)(uintptr_t)64; /* what an output must not keep when a call fails */

static gpusolve_status select_rows(selection_world *w, int system, int64_t b_count, const int64_t *b_rows,
                                   int64_t x_count, const int64_t *x_rows, int64_t max_nrhs) {
    gpusolve_selection *selection = somewhere;
    const gpusolve_status status =
        gpusolve_selection_create(w->handle, w->factor, (gpusolve_system)system, b_count, b_rows, x_count,
                                  x_rows, max_nrhs, &selection);
    CHECK((status == GPUSOLVE_OK) == (selection != NULL));
    gpusolve_selection_destroy(selection);
    return status;
}

static void check_rows(selection_world *w) {
    const int64_t rows[] = {80, 3, 3}, high[] = {3, 81}, low[] = {-1};
    const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;
    REFUSED(select_rows(w, -1, 1, rows, 1, rows, 1), wrong, "system");
    REFUSED(select_rows(w, 9, 1, rows, 1, rows, 1), wrong, "system");
    REFUSED(select_rows(w, GPUSOLVE_D, 1, rows, 1, rows, 1), GPUSOLVE_NOT_SUPPORTED, "system");
    REFUSED(select_rows(w, GPUSOLVE_P, 1, rows, 1, rows, 1), GPUSOLVE_NOT_SUPPORTED, "system");
    REFUSED(select_rows(w, GPUSOLVE_A, -1, rows, 1, rows, 1), wrong, "b_count");
    REFUSED(select_rows(w, GPUSOLVE_A, 80, NULL, 1, rows, 1), wrong, "b_rows");
    REFUSED(select_rows(w, GPUSOLVE_A, 2, high, 1, rows, 1), wrong, "b_rows[1]: is 81");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, low, 1, rows, 1), wrong, "b_rows[0]: is -1");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, rows, -1, rows, 1), wrong, "x_count");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, rows, 82, NULL, 1), wrong, "x_rows");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, rows, 2, high, 1), wrong, "x_rows[1]: is 81");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, rows, 1, rows, 0), wrong, "max_nrhs");
    REFUSED(select_rows(w, GPUSOLVE_A, 1, rows, 1, rows, INT64_MAX), GPUSOLVE_TOO_LARGE, "max_nrhs");
    REFUSED(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, rows, 1, rows, 1, NULL), wrong,
            "selection");
    REFUSED(select_rows(w, GPUSOLVE_A, 3, rows, 1, rows, 1), wrong, "b_rows[2]: is 3");
}

static void check_calls(selection_world *w) {
    const int64_t rows[] = {80, 3, 40};
    const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_selection *selection = somewhere;
    gpusolve_selection_info info = {.size = sizeof info};
    gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 3, 0);
    gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 3, 3, 0), bad;
    testing_fill(&b, 1);
    CHECK_STATUS(gpusolve_selection_create(NULL, w->factor, GPUSOLVE_A, 1, rows, 1, rows, 1, &selection),
                 wrong);
    CHECK(selection == NULL);
    REFUSED(gpusolve_selection_create(w->handle, NULL, GPUSOLVE_A, 1, rows, 1, rows, 1, &selection), wrong,
            "factor");
    check_rows(w);
    gpusolve_selection_destroy(NULL);
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 2, rows, 3, rows, 2, &selection) ==
            GPUSOLVE_OK);

    CHECK_STATUS(gpusolve_selection_get_info(NULL, selection, &info), wrong);
    REFUSED(gpusolve_selection_get_info(w->handle, NULL, &info), wrong, "selection");
    REFUSED(gpusolve_selection_get_info(w->handle, selection, NULL), wrong, "info");
    info.size++;
    REFUSED(gpusolve_selection_get_info(w->handle, selection, &info), wrong, "info->size");

    CHECK_STATUS(gpusolve_solve_selected(NULL, w->factor, selection, &b, &x), wrong);
    REFUSED(gpusolve_solve_selected(w->handle, NULL, selection, &b, &x), wrong, "factor");
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, NULL, &b, &x), wrong, "selection");
    REFUSED(gpusolve_solve_selected(w->handle, w->other_factor, selection, &b, &x), wrong, "selection");
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, NULL, &x), wrong, "b");
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &b, NULL), wrong, "x");
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &x, &x), wrong, "b->rows");
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &b, &b), wrong, "x->rows");
    bad = b;
    bad.dtype = GPUSOLVE_FLOAT;
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &bad, &x), GPUSOLVE_TYPE_MISMATCH,
            "b->dtype");
    bad = x;
    bad.cols = 2;
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &b, &bad), wrong, "x->cols");
    bad = x;
    bad.values = (double *)b.values + 5;
    REFUSED(gpusolve_solve_selected(w->handle, w->factor, selection, &b, &bad), wrong, "x->values");
    if (w->other_backend)
        CHECK_STATUS(gpusolve_solve_selected(w->other_backend, w->factor, selection, &b, &x), wrong);
    CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, selection, &b, &x), GPUSOLVE_OK);
    gpusolve_selection_destroy(selection);
    free(b.values);
    free(x.values);
}

static gpusolve_factor *import(gpusolve_handle *handle, const char *spec, cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    gpusolve_factor *factor;
    REQUIRE(l != NULL && gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
    return factor;
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        testing_in("%s", testing_backend_name(backends[i]));
        selection_world w = {.handle = testing_handle(backends[i], 2)};
        if (count > 1)
            w.other_backend = testing_handle(backends[1 - i], 2);
        w.factor = import(w.handle, "grid2d:9", &common);
        w.other_factor = import(w.handle, "grid2d:8", &common);
        check_calls(&w);
        gpusolve_factor_destroy(w.factor);
        gpusolve_factor_destroy(w.other_factor);
        gpusolve_destroy(w.handle);
        gpusolve_destroy(w.other_backend);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
