/*
 * The table of all public calls, and how each is tried while the k-th allocation or thread fails, for every k until the call gets by.
 * test_allocation.c says what must hold. The calls are in faults_dense.h and faults_sparse.h.
 */
#ifndef FAULTS_WORLD_H
#define FAULTS_WORLD_H

#include "faults.h"

#include "batch/faults_batch.h"
#include "cholmod/faults_cholmod.h"
#include "faults_dense.h"
#include "faults_sparse.h"
#include "public_calls.h"

enum { MOST = 10000 };

/* What a call is expected to ask for, at least once. */
enum {
    NOTHING = 0,
    MEMORY = 1,
    ON_DEVICE = 2 /* on the CUDA backend alone */,
    DENSE = 4 /* needs a CBLAS */,
    KIND = 8 /* what depends on the kind of the factor */
};

static const struct {
    const char *name;
    gpusolve_status (*call)(world *w);
    int asks;
} calls[] = {
    {"gpusolve_status_name", status_name, NOTHING},
    {"gpusolve_status_message", status_message, NOTHING},
    {"gpusolve_version", version, NOTHING},
    {"gpusolve_create", create, MEMORY},
    {"gpusolve_destroy", destroy, NOTHING},
    {"gpusolve_last_error", last_error, NOTHING},
    {"gpusolve_report", report, NOTHING},
    {"gpusolve_get_backend", get_backend, NOTHING},
    {"gpusolve_get_device_name", get_device_name, NOTHING},
    {"gpusolve_set_stream", set_stream, NOTHING},
    {"gpusolve_factor_create", factor_create, MEMORY | KIND},
    {"gpusolve_factor_refresh", factor_refresh, MEMORY | KIND},
    {"gpusolve_factor_destroy", factor_destroy, NOTHING},
    {"gpusolve_query", query, MEMORY | KIND},
    {"gpusolve_factor_info", factor_info, NOTHING},
    {"gpusolve_factor_summary", factor_summary, NOTHING},
    {"gpusolve_factor_cost", factor_cost, NOTHING},
    {"gpusolve_factor_logdet", factor_logdet, NOTHING},
    {"gpusolve_factor_diagonal", factor_diagonal, NOTHING},
    {"gpusolve_factor_rcond", factor_rcond, MEMORY},
    {"gpusolve_workspace_create", workspace_create, MEMORY | KIND},
    {"gpusolve_workspace_destroy", workspace_destroy, NOTHING},
    {"gpusolve_workspace_check", workspace_check, NOTHING},
    {"gpusolve_solve", solve, MEMORY | KIND},
    {"gpusolve_matrix_create", matrix_create, MEMORY},
    {"gpusolve_matrix_destroy", matrix_destroy, NOTHING},
    {"gpusolve_refine", refine, MEMORY | KIND},
    {"gpusolve_refine_reserve", refine_reserve, MEMORY | KIND},
    {"gpusolve_refine_async", refine_async, NOTHING},
    {"gpusolve_sample", sample_field, MEMORY | KIND},
    {"gpusolve_multiply", multiply_all, MEMORY | KIND},
    {"gpusolve_inverse_entries", inverse_entries, MEMORY | KIND},
    {"gpusolve_inverse_diagonal", inverse_diagonal, MEMORY},
    {"gpusolve_inverse_cost", inverse_cost, MEMORY},
    {"gpusolve_selection_create", selection_create, MEMORY | KIND},
    {"gpusolve_selection_destroy", selection_destroy, NOTHING},
    {"gpusolve_selection_get_info", selection_get_info, NOTHING},
    {"gpusolve_solve_selected", solve_selected, ON_DEVICE | KIND},
    {"gpusolve_batch_create", batch_create, MEMORY | KIND},
    {"gpusolve_batch_refresh", batch_refresh, MEMORY | KIND},
    {"gpusolve_batch_destroy", batch_destroy, NOTHING},
    {"gpusolve_batch_get_info", batch_get_info, NOTHING},
    {"gpusolve_batch_get_count", batch_get_count, NOTHING},
    {"gpusolve_batch_get_dtype", batch_get_dtype, NOTHING},
    {"gpusolve_batch_get_offsets", batch_get_offsets, NOTHING},
    {"gpusolve_batch_get_factor", batch_get_factor, NOTHING},
    {"gpusolve_batch_workspace_create", batch_workspace_create, MEMORY | KIND},
    {"gpusolve_batch_workspace_destroy", batch_workspace_destroy, NOTHING},
    {"gpusolve_batch_workspace_check", batch_workspace_check, NOTHING},
    {"gpusolve_batch_solve", batch_solve, ON_DEVICE | KIND},
    {"gpusolve_batch_solve_strided", batch_solve_strided, ON_DEVICE | KIND},
    {"gpusolve_factor_data_save", factor_data_save, MEMORY | KIND},
    {"gpusolve_factor_save", factor_save, MEMORY | KIND},
    {"gpusolve_factor_load", factor_load, MEMORY | KIND},
    {"gpusolve_factor_map", factor_map, MEMORY | KIND},
    {"gpusolve_cholmod_import", cholmod_import, MEMORY},
    {"gpusolve_cholmod_import_stored", cholmod_import_stored, MEMORY},
    {"gpusolve_cholmod_refresh", cholmod_refresh, MEMORY},
    {"gpusolve_cholmod_query", cholmod_query, MEMORY},
    {"gpusolve_cholmod_matrix", cholmod_matrix, MEMORY},
    {"gpusolve_cholmod_dense_view", cholmod_dense_view, NOTHING},
    {"gpusolve_cholmod_solve_status", cholmod_solve_status, MEMORY},
    {"gpusolve_cholmod_solve", cholmod_solve_once, MEMORY},
    {"gpusolve_cholmod_refine", cholmod_refine_once, MEMORY},
    {"gpusolve_cholmod_multiply", cholmod_multiply, MEMORY},
    {"gpusolve_cholmod_inverse", cholmod_inverse, MEMORY},
    {"gpusolve_cholmod_batch_create", cholmod_batch_create, MEMORY},
    {"gpusolve_cholmod_batch_refresh", cholmod_batch_refresh, MEMORY},
    {"gpusolve_cholmod_batch_solve", cholmod_batch_solve, ON_DEVICE},
    {"gpusolve_strsv", strsv, ON_DEVICE | DENSE},
    {"gpusolve_dtrsv", dtrsv, ON_DEVICE | DENSE},
    {"gpusolve_ctrsv", ctrsv, ON_DEVICE | DENSE},
    {"gpusolve_ztrsv", ztrsv, ON_DEVICE | DENSE},
    {"gpusolve_trsv_query", trsv_query, NOTHING | DENSE},
    {"gpusolve_trsv_prepare", trsv_prepare, MEMORY | DENSE},
    {"gpusolve_trsv_solve", trsv_solve, NOTHING | DENSE},
    {"gpusolve_trsv_destroy", trsv_destroy, NOTHING | DENSE},
    {"gpusolve_trsm_workspace", trsm_workspace, ON_DEVICE | DENSE},
    {"gpusolve_trmm_workspace", trmm_workspace, ON_DEVICE | DENSE},
    {"gpusolve_strsm", strsm, ON_DEVICE | DENSE},
    {"gpusolve_dtrsm", dtrsm, ON_DEVICE | DENSE},
    {"gpusolve_ctrsm", ctrsm, ON_DEVICE | DENSE},
    {"gpusolve_ztrsm", ztrsm, ON_DEVICE | DENSE},
    {"gpusolve_strmm", strmm, ON_DEVICE | DENSE},
    {"gpusolve_dtrmm", dtrmm, ON_DEVICE | DENSE},
    {"gpusolve_ctrmm", ctrmm, ON_DEVICE | DENSE},
    {"gpusolve_ztrmm", ztrmm, ON_DEVICE | DENSE},
    {"gpusolve_staging_create", staging_create, MEMORY | DENSE},
    {"gpusolve_staging_destroy", staging_destroy, NOTHING | DENSE},
    {"gpusolve_staging_wait", trsm_staged, ON_DEVICE | DENSE},
    {"gpusolve_staging_is_done", staging_is_done, NOTHING | DENSE},
    {"gpusolve_staging_last_error", staging_last_error, NOTHING | DENSE},
    {"gpusolve_trsm_staged", trsm_staged, ON_DEVICE | DENSE},
    {"gpusolve_trmm_staged", trmm_staged, ON_DEVICE | DENSE},
    {"gpusolve_potrs_workspace", potrs_workspace, ON_DEVICE | DENSE},
    {"gpusolve_spotrs", spotrs, ON_DEVICE | DENSE},
    {"gpusolve_dpotrs", dpotrs, ON_DEVICE | DENSE},
    {"gpusolve_cpotrs", cpotrs, ON_DEVICE | DENSE},
    {"gpusolve_zpotrs", zpotrs, ON_DEVICE | DENSE},
    {"gpusolve_potri_workspace", potri_workspace, ON_DEVICE | DENSE},
    {"gpusolve_spotri", spotri, ON_DEVICE | DENSE},
    {"gpusolve_dpotri", dpotri, ON_DEVICE | DENSE},
    {"gpusolve_cpotri", cpotri, ON_DEVICE | DENSE},
    {"gpusolve_zpotri", zpotri, ON_DEVICE | DENSE},
};

enum { CALLS = sizeof calls / sizeof calls[0] };

static void check_table(void) {
    testing_in("the table of calls");
    for (size_t k = 0; k < sizeof public_calls / sizeof public_calls[0]; k++) {
        int found = 0;
        for (int c = 0; c < CALLS; c++)
            found |= strcmp(calls[c].name, public_calls[k]) == 0;
        testing_check(found, __FILE__, __LINE__, "%s is in a public header, but not in the table",
                      public_calls[k]);
    }
    CHECK(CALLS == sizeof public_calls / sizeof public_calls[0]);
}

/* One attempt with the k-th failing (0: none). Whether it came to that one. */
static int attempt(world *w, int c, int64_t k) {
    testing_in("%s, %s, %s %d", testing_backend_name(w->backend), calls[c].name,
               w->fault == FAULT_ALLOCATION ? "allocation" : "thread", (int)k);
    const int64_t live = gsv_live_allocations(), on_device = gsv_live_on_device();
    w->handle = testing_handle(w->backend, w->threads);
    w->k = k;
    w->reached = 0;
    w->said[0] = '\0';
    memset(w->x.values, 0xff, testing_block_bytes(&w->x));
    const gpusolve_status status = calls[c].call(w);
    const int reached = w->reached && k > 0;
    CHECK(status == GPUSOLVE_OK || status == GPUSOLVE_OUT_OF_MEMORY ||
          status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
    CHECK(status == GPUSOLVE_OK || reached);
    if (status) {
        const char *said = w->said[0] ? w->said : gpusolve_last_error(w->handle);
        testing_check(strstr(said, w->fault == FAULT_ALLOCATION ? "memory" : "thread") != NULL, __FILE__,
                      __LINE__, "what failed is missing in: %s", said);
        w->k = 0; /* and with the same handle; on a device that takes long, so every fourth time */
        if (w->backend == GPUSOLVE_BACKEND_HOST || k % 4 == 1)
            CHECK_STATUS(calls[c].call(w), GPUSOLVE_OK);
    }
    gpusolve_destroy(w->handle);
    CHECK(gsv_live_allocations() == live && gsv_live_on_device() == on_device);
    return reached;
}

static void check_calls(world *w) {
    for (int c = 0; c < CALLS; c++) {
        const int asks = calls[c].asks;
        const int no_threads =
            w->fault == FAULT_THREAD && w->backend == GPUSOLVE_BACKEND_HOST; /* BLAS's own */
        if ((asks & DENSE) && (!w->has_dense || no_threads))
            continue;
        if (w->only_kind && !(asks & KIND))
            continue;
        forget_dense(w);
        attempt(w, c, 0);
        int64_t k = 1;
        while (k < MOST && attempt(w, c, k))
            k++;
        w->failures += k - 1;
        const int must = (asks & MEMORY) || ((asks & ON_DEVICE) && w->backend == GPUSOLVE_BACKEND_CUDA);
        CHECK(k < MOST && (k > 1 || !must || w->fault != FAULT_ALLOCATION));
        check_factor(w);
    }
}

/* Other numbers on the same pattern, twice as large: the whole of L, or D alone, which stands on the diagonal. */
static void make_other(world *w) {
    const int64_t numbers = w->data.xsize * (w->data.dtype == GPUSOLVE_DOUBLE ? 1 : 2);
    const int step = w->data.dtype == GPUSOLVE_DOUBLE ? 1 : 2;
    double *x = malloc((size_t)numbers * sizeof *x);
    REQUIRE(x != NULL);
    memcpy(x, w->data.x, (size_t)numbers * sizeof *x);
    if (w->data.kind == GPUSOLVE_SIMPLICIAL_LDL)
        for (int64_t j = 0; j < w->data.n; j++)
            x[((const int32_t *)w->data.p)[j] * step] *= 2;
    else
        for (int64_t k = 0; k < numbers; k++)
            x[k] *= 2;
    w->other = w->data;
    w->other.x = w->other_numbers = x;
}

static void make_expected(world *w, const gpusolve_factor_data *data, gpusolve_dense *expected) {
    gpusolve_factor *factor;
    *expected = testing_block(w->b.dtype, GPUSOLVE_COL_MAJOR, w->b.rows, COLUMNS, 0);
    REQUIRE(gpusolve_factor_create(w->handle, data, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(w->handle, factor, NULL, GPUSOLVE_A, &w->b, expected), GPUSOLVE_OK);
    gpusolve_factor_destroy(factor);
}

static void open_world(world *w, const char *spec, gpusolve_factor_kind kind) {
    w->a = testing_load(spec, w->common);
    REQUIRE(w->a != NULL);
    w->l = testing_factorize(w->a, kind, w->common);
    REQUIRE(w->l != NULL && w->l->minor == w->l->n);
    w->data = testing_factor_data(w->l);
    make_other(w);
    w->handle = testing_handle(w->backend, w->threads);
    w->dense_b = cholmod_ones(w->a->nrow, COLUMNS, w->a->xtype, w->common);
    REQUIRE(w->dense_b != NULL);
    w->b = testing_block(w->data.dtype, GPUSOLVE_COL_MAJOR, w->data.n, COLUMNS, 0);
    w->x = testing_block(w->data.dtype, GPUSOLVE_COL_MAJOR, w->data.n, COLUMNS, 0);
    testing_fill(&w->b, 71);
    make_expected(w, &w->data, &w->expected);
    make_expected(w, &w->other, &w->expected_other);
    CHECK(!testing_near(&w->expected_other, &w->expected));
    const gpusolve_matrix_data matrix = testing_matrix_data(w->a);
    REQUIRE(gpusolve_factor_create(w->handle, &w->data, &w->factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(w->handle, &matrix, &w->matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w->handle, w->factor, COLUMNS, &w->workspace) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, w->data.n, NULL, w->data.n, NULL,
                                      COLUMNS, &w->selection) == GPUSOLVE_OK);
    open_dense(w);
    w->has_dense = w->backend == GPUSOLVE_BACKEND_CUDA;
    if (!w->has_dense) {
        gpusolve_dense b = w->dense[GPUSOLVE_DOUBLE].b;
        w->has_dense = gpusolve_dtrsv(w->handle, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_UNIT, 1,
                                      b.values, 1, b.values, 1) != GPUSOLVE_NOT_SUPPORTED;
    }
    w->staging = new_staging(w);
    gpusolve_destroy(w->handle);
}

static void close_world(world *w) {
    forget_dense(w);
    close_dense(w);
    gpusolve_staging_destroy(w->staging);
    gpusolve_selection_destroy(w->selection);
    gpusolve_workspace_destroy(w->workspace);
    gpusolve_matrix_destroy(w->matrix);
    gpusolve_factor_destroy(w->factor);
    free(w->b.values);
    free(w->x.values);
    free(w->expected.values);
    free(w->expected_other.values);
    free(w->other_numbers);
    cholmod_free_dense(&w->dense_b, w->common);
    cholmod_free_factor(&w->l, w->common);
    cholmod_free_sparse(&w->a, w->common);
}

static void check_world(gpusolve_backend backend, fault what, const char *spec, gpusolve_factor_kind kind,
                        cholmod_common *common) {
    const int64_t live = gsv_live_allocations(), on_device = gsv_live_on_device();
    const int first =
        kind == GPUSOLVE_SUPERNODAL_LL; /* on a device, the others do only what may differ for them */
    world w = {.only_kind = backend == GPUSOLVE_BACKEND_CUDA && !first,
               .backend = backend,
               .fault = what,
               .common = common,
               .threads = what == FAULT_THREAD ? 4 : 2};
    testing_in("%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    open_world(&w, spec, kind);
    check_calls(&w);
    close_world(&w);
    printf("%s, %s, kind %d: %lld %s failed\n", testing_backend_name(backend), spec, (int)kind,
           (long long)w.failures, what == FAULT_THREAD ? "threads" : "allocations");
    testing_in("%s, %s, kind %d, at the end", testing_backend_name(backend), spec, (int)kind);
    CHECK(w.failures > 0);
    CHECK(gsv_live_allocations() == live && gsv_live_on_device() == on_device);
}

#endif
