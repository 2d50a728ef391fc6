/* The calls of gpusolve.h, gpusolve_selection.h and gpusolve_store.h, one function each: faults.h says how. */
#ifndef FAULTS_SPARSE_H
#define FAULTS_SPARSE_H

#include "faults.h"

#include "folder.h"

/* -------------------------------------------------------------------------------------- handle, texts --- */

static gpusolve_status status_name(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_status_name(GPUSOLVE_OUT_OF_MEMORY));
    CHECK(strcmp(text, "GPUSOLVE_OUT_OF_MEMORY") == 0);
    return GPUSOLVE_OK;
}

static gpusolve_status status_message(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_status_message(GPUSOLVE_OUT_OF_MEMORY));
    CHECK(strcmp(text, "out of host memory") == 0);
    return GPUSOLVE_OK;
}

static gpusolve_status version(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_version());
    CHECK(text[0] != '\0');
    return GPUSOLVE_OK;
}

/* There is no handle to ask: the status says it all. */
static gpusolve_status create(world *w) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = w->backend;
    gpusolve_handle *handle;
    const gpusolve_status status = FAULTY(w, gpusolve_create(&handle, &options));
    CHECK((status == GPUSOLVE_OK) == (handle != NULL));
    gpusolve_destroy(handle);
    snprintf(w->said, sizeof w->said, "%s", gpusolve_status_message(status));
    return status;
}

/* A handle that has workspaces of its own, and threads. */
static gpusolve_status destroy(world *w) {
    gpusolve_handle *handle = testing_handle(w->backend, w->threads);
    CHECK_STATUS(gpusolve_solve(handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_destroy(handle));
    return GPUSOLVE_OK;
}

static gpusolve_status last_error(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_last_error(w->handle));
    CHECK(text[0] == '\0');
    return GPUSOLVE_OK;
}

static gpusolve_status report(world *w) {
    const gpusolve_status status =
        FAULTY(w, gpusolve_report(w->handle, GPUSOLVE_NOT_SUPPORTED, "a sentence"));
    CHECK_STATUS(status, GPUSOLVE_NOT_SUPPORTED);
    CHECK(strcmp(gpusolve_last_error(w->handle), "a sentence") == 0);
    return GPUSOLVE_OK;
}

static gpusolve_status get_backend(world *w) {
    gpusolve_backend backend;
    FAULTY_VOID(w, backend = gpusolve_get_backend(w->handle));
    CHECK(backend == w->backend);
    return GPUSOLVE_OK;
}

static gpusolve_status get_device_name(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_get_device_name(w->handle));
    CHECK(text[0] != '\0');
    return GPUSOLVE_OK;
}

static gpusolve_status set_stream(world *w) {
    return FAULTY(w, gpusolve_set_stream(w->handle, NULL));
}

/* --------------------------------------------------------------------------------------------- factor --- */

static gpusolve_status factor_create(world *w) {
    gpusolve_factor *factor;
    const gpusolve_status status = FAULTY(w, gpusolve_factor_create(w->handle, &w->data, &factor));
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (factor) {
        CHECK_STATUS(gpusolve_solve(w->handle, factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_OK);
        check_x(&w->x, &w->expected);
    }
    gpusolve_factor_destroy(factor);
    return status;
}

/*
 * After a refresh: it has the new numbers, or, where it failed, the old ones: triangles that are inverted as before need
 * no memory once the first number changes. Then the old numbers come back.
 */
static gpusolve_status check_refreshed(world *w, gpusolve_status status) {
    gpusolve_handle *handle = testing_handle(w->backend, w->threads);
    const gpusolve_status solved = gpusolve_solve(handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x);
    CHECK_STATUS(solved, GPUSOLVE_OK);
    check_x(&w->x, status == GPUSOLVE_OK ? &w->expected_other : &w->expected);
    CHECK_STATUS(gpusolve_factor_refresh(handle, w->factor, &w->data), GPUSOLVE_OK);
    gpusolve_destroy(handle);
    check_factor(w);
    return status;
}

static gpusolve_status factor_refresh(world *w) {
    return check_refreshed(w, FAULTY(w, gpusolve_factor_refresh(w->handle, w->factor, &w->other)));
}

static gpusolve_status factor_destroy(world *w) {
    gpusolve_factor *factor;
    CHECK_STATUS(gpusolve_factor_create(w->handle, &w->data, &factor), GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_factor_destroy(factor));
    return GPUSOLVE_OK;
}

static gpusolve_status query(world *w) {
    gpusolve_info info = {.size = sizeof info};
    return FAULTY(w, gpusolve_query(w->handle, &w->data, 4, &info));
}

static gpusolve_status factor_info(world *w) {
    gpusolve_info info = {.size = sizeof info};
    return FAULTY(w, gpusolve_factor_info(w->handle, w->factor, 4, &info));
}

static gpusolve_status factor_summary(world *w) {
    char text[4096];
    size_t needed;
    return FAULTY(w, gpusolve_factor_summary(w->handle, w->factor, text, sizeof text, &needed));
}

static gpusolve_status factor_cost(world *w) {
    gpusolve_cost cost = {.size = sizeof cost};
    return FAULTY(w, gpusolve_factor_cost(w->handle, w->factor, 4, 0, &cost));
}

static gpusolve_status factor_logdet(world *w) {
    double logdet, sign;
    return FAULTY(w, gpusolve_factor_logdet(w->handle, w->factor, &logdet, &sign));
}

static gpusolve_status factor_diagonal(world *w) {
    double smallest, largest;
    return FAULTY(w, gpusolve_factor_diagonal(w->handle, w->factor, &smallest, &largest));
}

static gpusolve_status factor_rcond(world *w) {
    double rcond = -1;
    const gpusolve_status status =
        FAULTY(w, gpusolve_factor_rcond(w->handle, w->factor, NULL, w->matrix, 0, &rcond));
    CHECK(status == GPUSOLVE_OK ? rcond > 0 && rcond < 1 : rcond == -1);
    return status;
}

/* ---------------------------------------------------------------------------------------------- solve --- */

static gpusolve_status workspace_create(world *w) {
    gpusolve_workspace *workspace;
    const gpusolve_status status =
        FAULTY(w, gpusolve_workspace_create(w->handle, w->factor, COLUMNS, &workspace));
    CHECK((status == GPUSOLVE_OK) == (workspace != NULL));
    if (workspace) {
        CHECK_STATUS(gpusolve_solve(w->handle, w->factor, workspace, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_OK);
        check_x(&w->x, &w->expected);
    }
    gpusolve_workspace_destroy(workspace);
    return status;
}

static gpusolve_status workspace_destroy(world *w) {
    gpusolve_workspace *workspace;
    CHECK_STATUS(gpusolve_workspace_create(w->handle, w->factor, 4, &workspace), GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_workspace_destroy(workspace));
    return GPUSOLVE_OK;
}

static gpusolve_status workspace_check(world *w) {
    return FAULTY(w, gpusolve_workspace_check(w->handle, w->workspace));
}

/* The handle's own workspace grows from one column to three: on failure the small one is still there. */
static gpusolve_status solve(world *w) {
    gpusolve_dense b = w->b, x = w->x;
    b.cols = x.cols = 1;
    gpusolve_status status = FAULTY(w, gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &b, &x));
    if (status)
        return status;
    status = FAULTY(w, gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x));
    if (status) {
        CHECK_STATUS(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
        return status;
    }
    check_x(&w->x, &w->expected);
    return FAULTY(w, gpusolve_solve(w->handle, w->factor, w->workspace, GPUSOLVE_Lt, &w->b, &w->x));
}

static gpusolve_status matrix_create(world *w) {
    const gpusolve_matrix_data data = testing_matrix_data(w->a);
    gpusolve_matrix *matrix;
    const gpusolve_status status = FAULTY(w, gpusolve_matrix_create(w->handle, &data, &matrix));
    CHECK((status == GPUSOLVE_OK) == (matrix != NULL));
    gpusolve_matrix_destroy(matrix);
    return status;
}

static gpusolve_status matrix_destroy(world *w) {
    const gpusolve_matrix_data data = testing_matrix_data(w->a);
    gpusolve_matrix *matrix;
    CHECK_STATUS(gpusolve_matrix_create(w->handle, &data, &matrix), GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_matrix_destroy(matrix));
    return GPUSOLVE_OK;
}

static gpusolve_status refine(world *w) {
    double error[COLUMNS];
    const gpusolve_status status =
        FAULTY(w, gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &w->b, &w->x, NULL, error, NULL));
    for (int j = 0; j < COLUMNS && status == GPUSOLVE_OK; j++)
        CHECK_BELOW(error[j], 1e-14);
    return status;
}

static gpusolve_status refine_reserve(world *w) {
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    gpusolve_workspace *workspace;
    CHECK_STATUS(gpusolve_workspace_create(w->handle, w->factor, COLUMNS, &workspace), GPUSOLVE_OK);
    options.method = GPUSOLVE_REFINE_FGMRES;
    const gpusolve_status status =
        FAULTY(w, gpusolve_refine_reserve(w->handle, w->factor, w->matrix, workspace, &options));
    gpusolve_workspace_destroy(workspace);
    return status;
}

/* On the host it is the call that waits; on a device it wants memory there, and says so. */
static gpusolve_status refine_async(world *w) {
    double error[COLUMNS];
    gpusolve_workspace *workspace;
    CHECK_STATUS(gpusolve_workspace_create(w->handle, w->factor, COLUMNS, &workspace), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine_reserve(w->handle, w->factor, w->matrix, workspace, NULL), GPUSOLVE_OK);
    gpusolve_status status = FAULTY(w, gpusolve_refine_async(w->handle, w->factor, w->matrix, workspace,
                                                             &w->b, &w->x, NULL, error, NULL));
    gpusolve_workspace_destroy(workspace);
    if (w->backend == GPUSOLVE_BACKEND_CUDA) {
        CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
        return GPUSOLVE_OK;
    }
    for (int j = 0; j < COLUMNS && status == GPUSOLVE_OK; j++)
        CHECK_BELOW(error[j], 1e-14);
    return status;
}

static gpusolve_status sample_field(world *w) {
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    gpusolve_status status = FAULTY(w, gpusolve_sample(w->handle, w->factor, NULL, &options, &w->x));
    if (status)
        return status;
    options.z = &w->b;
    options.mean = w->expected.values;
    status = FAULTY(w, gpusolve_sample(w->handle, w->factor, w->workspace, &options, &w->x));
    return status;
}

/* With a factor of its own: the first product on a device makes lists, which stay with the factor. */
static gpusolve_status multiply_all(world *w) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(w->handle, &w->data, &factor) == GPUSOLVE_OK);
    const gpusolve_status status =
        FAULTY(w, gpusolve_multiply(w->handle, factor, GPUSOLVE_TIMES_A, &w->expected, &w->x));
    if (status == GPUSOLVE_OK)
        CHECK(testing_near(&w->x, &w->b));
    gpusolve_factor_destroy(factor);
    return status;
}

static gpusolve_status inverse_entries(world *w) {
    const int64_t rows[] = {0, w->b.rows - 1, 1}, columns[] = {1, 0, 1};
    double complex values[3];
    return FAULTY(w, gpusolve_inverse_entries(w->handle, w->factor, 3, rows, columns, values));
}

static gpusolve_status inverse_diagonal(world *w) {
    double *diagonal = malloc((size_t)w->b.rows * sizeof *diagonal);
    REQUIRE(diagonal != NULL);
    diagonal[0] = -1;
    const gpusolve_status status = FAULTY(w, gpusolve_inverse_diagonal(w->handle, w->factor, diagonal));
    CHECK(status != GPUSOLVE_OK || diagonal[0] > 0);
    free(diagonal);
    return status;
}

static gpusolve_status inverse_cost(world *w) {
    gpusolve_inverse_info info = {.size = sizeof info, .columns = -1};
    const gpusolve_status status =
        FAULTY(w, gpusolve_inverse_cost(w->handle, w->factor, w->b.rows, NULL, NULL, &info));
    CHECK(info.columns == (status == GPUSOLVE_OK ? w->b.rows : -1));
    return status;
}

/* ----------------------------------------------------------------------------------------- selections --- */

/* With two parts, for the reaches of the two rows differ, and with one. */
static gpusolve_status selection_create(world *w) {
    const int64_t rows[] = {0, w->b.rows - 1};
    gpusolve_selection *selection;
    gpusolve_status status = FAULTY(
        w, gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, rows, 1, rows + 1, 2, &selection));
    CHECK((status == GPUSOLVE_OK) == (selection != NULL));
    gpusolve_selection_destroy(selection);
    if (status)
        return status;
    status = FAULTY(
        w, gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_L, 2, rows, 1, rows, 2, &selection));
    CHECK((status == GPUSOLVE_OK) == (selection != NULL));
    gpusolve_selection_destroy(selection);
    return status;
}

static gpusolve_status selection_destroy(world *w) {
    const int64_t rows[] = {0, w->b.rows - 1};
    gpusolve_selection *selection;
    CHECK_STATUS(
        gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, rows, 1, rows + 1, 2, &selection),
        GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_selection_destroy(selection));
    return GPUSOLVE_OK;
}

static gpusolve_status selection_get_info(world *w) {
    gpusolve_selection_info info = {.size = sizeof info};
    return FAULTY(w, gpusolve_selection_get_info(w->handle, w->selection, &info));
}

/* Of a factor with new numbers, which the selection copies; where it cannot, it can the next time. */
static gpusolve_status solve_selected(world *w) {
    CHECK_STATUS(gpusolve_factor_refresh(w->handle, w->factor, &w->other), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_refresh(w->handle, w->factor, &w->data), GPUSOLVE_OK);
    const gpusolve_status status =
        FAULTY(w, gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->b, &w->x));
    if (status)
        CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, w->selection, &w->b, &w->x), GPUSOLVE_OK);
    CHECK(testing_near(&w->x, &w->expected));
    return status;
}

/* ----------------------------------------------------------------------------------------------- files --- */

/* A path that is this process's own. */
static const char *saved_path(void) {
    static char path[256];
    snprintf(path, sizeof path, "%s/gpusolve-faults-%ld", testing_folder(), (long)getpid());
    return path;
}

static gpusolve_status factor_data_save(world *w) {
    const gpusolve_status status = FAULTY(w, gpusolve_factor_data_save(w->handle, &w->data, saved_path()));
    CHECK((unlink(saved_path()) == 0) == (status == GPUSOLVE_OK));
    return status;
}

static gpusolve_status factor_save(world *w) {
    const gpusolve_status status = FAULTY(w, gpusolve_factor_save(w->handle, w->factor, saved_path()));
    CHECK((unlink(saved_path()) == 0) == (status == GPUSOLVE_OK));
    return status;
}

/* A factor that was loaded answers like any other. */
static gpusolve_status check_loaded(world *w, gpusolve_status status, gpusolve_factor *factor) {
    CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    if (factor) {
        CHECK_STATUS(gpusolve_solve(w->handle, factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_OK);
        check_x(&w->x, &w->expected);
    }
    gpusolve_factor_destroy(factor);
    CHECK(unlink(saved_path()) == 0);
    return status;
}

static gpusolve_status factor_load(world *w) {
    gpusolve_factor *factor;
    CHECK_STATUS(gpusolve_factor_data_save(w->handle, &w->data, saved_path()), GPUSOLVE_OK);
    const gpusolve_status status = FAULTY(w, gpusolve_factor_load(w->handle, saved_path(), &factor));
    return check_loaded(w, status, factor);
}

static gpusolve_status factor_map(world *w) {
    gpusolve_factor *factor;
    CHECK_STATUS(gpusolve_factor_data_save(w->handle, &w->data, saved_path()), GPUSOLVE_OK);
    const gpusolve_status status = FAULTY(w, gpusolve_factor_map(w->handle, saved_path(), NULL, &factor));
    return check_loaded(w, status, factor);
}

#endif
