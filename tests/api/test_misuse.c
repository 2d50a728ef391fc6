/*
 * Every argument of every public function, wrong once: the status, and a sentence that names the argument.
 * After all of it the handle and the factor work as before.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "memory.h"

typedef struct misuse_world { /* good arguments to make one wrong in */
    gpusolve_backend backend;
    gpusolve_handle *handle;
    gpusolve_handle *other_backend; /* NULL where there is one backend alone */
    cholmod_factor *l;
    gpusolve_factor_data data;
    gpusolve_factor *factor, *other_factor, *complex_factor;
    gpusolve_matrix *matrix, *small_matrix, *complex_matrix;
    gpusolve_workspace *workspace, *other_workspace;
    gpusolve_dense b, x;
} misuse_world;

#define REFUSED(call, status, word) CHECK_REFUSED(w->handle, call, status, word)

static void *const somewhere = (void *)(uintptr_t)64; /* what an output must not keep when a call fails */

/* -------------------------------------------------------------------------------- handle and statuses --- */

static void check_statuses(void) {
    testing_in("statuses");
#define CHECK_ONE(name, value, message)                                     \
    CHECK(name == value && strcmp(gpusolve_status_name(name), #name) == 0); \
    CHECK(strcmp(gpusolve_status_message(name), message) == 0);
    GPUSOLVE_STATUS_LIST(CHECK_ONE)
#undef CHECK_ONE
    CHECK(strcmp(gpusolve_status_name((gpusolve_status)999), "unknown status") == 0);
    CHECK(strcmp(gpusolve_status_message((gpusolve_status)-1), "unknown status") == 0);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", GPUSOLVE_VERSION_MAJOR, GPUSOLVE_VERSION_MINOR,
             GPUSOLVE_VERSION_PATCH);
    CHECK(strcmp(gpusolve_version(), version) == 0);
}

static void check_refused_options(size_t size, int backend, int device, int threads) {
    gpusolve_options options = {size, (gpusolve_backend)backend, device, threads, NULL, 0};
    gpusolve_handle *handle = somewhere;
    CHECK_STATUS(gpusolve_create(&handle, &options), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(handle == NULL);
}

static void check_handles(void) {
    testing_in("handles");
    CHECK_STATUS(gpusolve_create(NULL, NULL), GPUSOLVE_INVALID_ARGUMENT);
    check_refused_options(0, GPUSOLVE_BACKEND_HOST, -1, 0);
    check_refused_options(sizeof(gpusolve_options) - 1, GPUSOLVE_BACKEND_HOST, -1, 0);
    check_refused_options(sizeof(gpusolve_options) + 8, GPUSOLVE_BACKEND_HOST, -1, 0);
    check_refused_options(sizeof(gpusolve_options), 3, -1, 0);
    check_refused_options(sizeof(gpusolve_options), -1, -1, 0);
    check_refused_options(sizeof(gpusolve_options), GPUSOLVE_BACKEND_HOST, -2, 0);
    check_refused_options(sizeof(gpusolve_options), GPUSOLVE_BACKEND_HOST, -1, -1);
    check_refused_options(sizeof(gpusolve_options), GPUSOLVE_BACKEND_HOST, -1, 1000000);
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.device = 100000;
    gpusolve_handle *handle = somewhere;
    CHECK_STATUS(gpusolve_create(&handle, &options), GPUSOLVE_NO_DEVICE);
    CHECK(handle == NULL);

    gpusolve_destroy(NULL);
    CHECK(strcmp(gpusolve_last_error(NULL), "") == 0);
    CHECK(gpusolve_get_backend(NULL) == GPUSOLVE_BACKEND_HOST);
    CHECK(gpusolve_get_device_name(NULL) != NULL);
    CHECK_STATUS(gpusolve_set_stream(NULL, NULL), GPUSOLVE_INVALID_ARGUMENT);

    CHECK_STATUS(gpusolve_create(&handle, NULL), GPUSOLVE_OK);
    CHECK(strcmp(gpusolve_last_error(handle), "") == 0);
    CHECK(gpusolve_get_backend(handle) != GPUSOLVE_BACKEND_AUTO);
    CHECK(strlen(gpusolve_get_device_name(handle)) > 3);
    CHECK_STATUS(gpusolve_set_stream(handle, NULL), GPUSOLVE_OK);
    gpusolve_destroy(handle);
    handle = testing_handle(GPUSOLVE_BACKEND_HOST, 3);
    CHECK(strcmp(gpusolve_get_device_name(handle), "host, 3 threads") == 0);
    gpusolve_destroy(handle);
}

/* --------------------------------------------------------------------------------------------- factor --- */

static void check_factor_calls(misuse_world *w) {
    gpusolve_factor *factor = somewhere;
    CHECK_STATUS(gpusolve_factor_create(NULL, &w->data, &factor), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(factor == NULL);
    factor = somewhere;
    REFUSED(gpusolve_factor_create(w->handle, NULL, &factor), GPUSOLVE_INVALID_ARGUMENT, "data");
    CHECK(factor == NULL);
    REFUSED(gpusolve_factor_create(w->handle, &w->data, NULL), GPUSOLVE_INVALID_ARGUMENT, "factor");
    gpusolve_factor_data wrong = w->data;
    wrong.size = 8;
    REFUSED(gpusolve_factor_create(w->handle, &wrong, &factor), GPUSOLVE_INVALID_ARGUMENT, "data->size");

    CHECK_STATUS(gpusolve_factor_refresh(NULL, w->factor, &w->data), GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_factor_refresh(w->handle, NULL, &w->data), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_factor_refresh(w->handle, w->factor, NULL), GPUSOLVE_INVALID_ARGUMENT, "data");
    REFUSED(gpusolve_factor_refresh(w->handle, w->factor, &wrong), GPUSOLVE_INVALID_ARGUMENT, "data->size");
    gpusolve_factor_destroy(NULL);
}

static void check_info_calls(misuse_world *w) {
    gpusolve_info info = {.size = sizeof info}, wrong = {.size = 4};
    CHECK_STATUS(gpusolve_query(NULL, &w->data, 1, &info), GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_query(w->handle, NULL, 1, &info), GPUSOLVE_INVALID_ARGUMENT, "data");
    REFUSED(gpusolve_query(w->handle, &w->data, -1, &info), GPUSOLVE_INVALID_ARGUMENT, "max_nrhs");
    REFUSED(gpusolve_query(w->handle, &w->data, INT64_MAX, &info), GPUSOLVE_TOO_LARGE, "max_nrhs");
    REFUSED(gpusolve_query(w->handle, &w->data, 1, NULL), GPUSOLVE_INVALID_ARGUMENT, "info");
    REFUSED(gpusolve_query(w->handle, &w->data, 1, &wrong), GPUSOLVE_INVALID_ARGUMENT, "info->size");

    CHECK_STATUS(gpusolve_factor_info(NULL, w->factor, 1, &info), GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_factor_info(w->handle, NULL, 1, &info), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_factor_info(w->handle, w->factor, -1, &info), GPUSOLVE_INVALID_ARGUMENT, "max_nrhs");
    REFUSED(gpusolve_factor_info(w->handle, w->factor, INT64_MAX / 8, &info), GPUSOLVE_TOO_LARGE, "max_nrhs");
    REFUSED(gpusolve_factor_info(w->handle, w->factor, 1, NULL), GPUSOLVE_INVALID_ARGUMENT, "info");
    REFUSED(gpusolve_factor_info(w->handle, w->factor, 1, &wrong), GPUSOLVE_INVALID_ARGUMENT, "info->size");

    /* a query foretells what the factor then says */
    gpusolve_info queried = {.size = sizeof queried};
    CHECK_STATUS(gpusolve_query(w->handle, &w->data, 7, &queried), GPUSOLVE_OK);
    CHECK(queried.prepare_bytes == 0 || queried.backend == GPUSOLVE_BACKEND_CUDA);
    CHECK_STATUS(gpusolve_factor_info(w->handle, w->factor, 7, &info), GPUSOLVE_OK);
    CHECK(queried.prepare_ms == 0 && queried.plan_ms > 0 && info.plan_ms > 0 && info.prepare_ms > 0);
    queried.plan_ms = info.plan_ms;
    queried.prepare_ms = info.prepare_ms;
    CHECK(memcmp(&queried, &info, sizeof info) == 0);

    char text[64];
    size_t needed;
    CHECK_STATUS(gpusolve_factor_summary(NULL, w->factor, text, sizeof text, &needed),
                 GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_factor_summary(w->handle, NULL, text, 64, &needed), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_factor_summary(w->handle, w->factor, NULL, 64, &needed), GPUSOLVE_INVALID_ARGUMENT,
            "text");
    memset(text, 'x', sizeof text);
    CHECK_STATUS(gpusolve_factor_summary(w->handle, w->factor, text, 20, &needed), GPUSOLVE_OK);
    CHECK(strlen(text) == 19 && text[20] == 'x' && needed > 64);
    CHECK_STATUS(gpusolve_factor_summary(w->handle, w->factor, text, 1, NULL), GPUSOLVE_OK);
    CHECK(text[0] == '\0');
    CHECK_STATUS(gpusolve_factor_summary(w->handle, w->factor, NULL, 0, NULL), GPUSOLVE_OK);
}

static void check_cost(misuse_world *w) {
    gpusolve_cost cost = {.size = sizeof cost};
    CHECK_STATUS(gpusolve_factor_cost(NULL, w->factor, 1, 0, &cost), GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_factor_cost(w->handle, NULL, 1, 0, &cost), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, -1, 0, &cost), GPUSOLVE_INVALID_ARGUMENT, "nrhs");
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, 1, -1, &cost), GPUSOLVE_INVALID_ARGUMENT,
            "bytes_per_s");
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, 1, NAN, &cost), GPUSOLVE_INVALID_ARGUMENT,
            "bytes_per_s");
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, 1, INFINITY, &cost), GPUSOLVE_INVALID_ARGUMENT,
            "bytes_per_s");
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, 1, 0, NULL), GPUSOLVE_INVALID_ARGUMENT, "cost");
    cost.size--;
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, 1, 0, &cost), GPUSOLVE_INVALID_ARGUMENT, "cost->size");
    cost.size++;
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, INT64_MAX, 0, &cost), GPUSOLVE_TOO_LARGE, "nrhs");
    CHECK(cost.tiers == 0 && cost.bytes == 0);
    CHECK_STATUS(gpusolve_factor_cost(w->handle, w->factor, 1, 0, &cost), GPUSOLVE_OK);
    /* as many columns as 64-bit counts hold: no loop over them, and finite times that grow like them */
    double before = 0;
    for (int64_t nrhs = 1; nrhs <= (int64_t)1 << 44; nrhs *= 2) {
        CHECK_STATUS(gpusolve_factor_cost(w->handle, w->factor, nrhs, 0, &cost), GPUSOLVE_OK);
        CHECK((nrhs < 1024 || cost.predicted_us >= 1.9 * before) && cost.wall_us > 0 &&
              isfinite(cost.predicted_us) && isfinite(cost.wall_us) && cost.flops > 0 &&
              cost.vector_bytes > 0);
        before = cost.predicted_us;
    }
    REFUSED(gpusolve_factor_cost(w->handle, w->factor, (int64_t)1 << 62, 0, &cost), GPUSOLVE_TOO_LARGE,
            "nrhs");
}

static void check_workspace_calls(misuse_world *w) {
    gpusolve_workspace *workspace = somewhere;
    CHECK_STATUS(gpusolve_workspace_create(NULL, w->factor, 1, &workspace), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(workspace == NULL);
    REFUSED(gpusolve_workspace_create(w->handle, NULL, 1, &workspace), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_workspace_create(w->handle, w->factor, 0, &workspace), GPUSOLVE_INVALID_ARGUMENT,
            "max_nrhs");
    REFUSED(gpusolve_workspace_create(w->handle, w->factor, INT64_MAX, &workspace), GPUSOLVE_TOO_LARGE,
            "max_nrhs");
    REFUSED(gpusolve_workspace_create(w->handle, w->factor, 1, NULL), GPUSOLVE_INVALID_ARGUMENT, "workspace");
    gpusolve_workspace_destroy(NULL);
    CHECK_STATUS(gpusolve_workspace_check(NULL, w->workspace), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_workspace_check(w->handle, w->workspace), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_workspace_check(w->handle, NULL), GPUSOLVE_OK);
}

/* ---------------------------------------------------------------------------------------------- solve --- */

typedef gpusolve_status (*operand_call)(const misuse_world *w, const gpusolve_dense *b,
                                        const gpusolve_dense *x);

static gpusolve_status call_solve(const misuse_world *w, const gpusolve_dense *b, const gpusolve_dense *x) {
    return gpusolve_solve(w->handle, w->factor, w->workspace, GPUSOLVE_A, b, x);
}

static gpusolve_status call_refine(const misuse_world *w, const gpusolve_dense *b, const gpusolve_dense *x) {
    return gpusolve_refine(w->handle, w->factor, w->matrix, w->workspace, b, x, NULL, NULL, NULL);
}

/* Each field of b (which = 0) or x, in both orders. */
static void check_fields(const misuse_world *w, operand_call call, int which) {
    const char *names[][6] = {{"b:", "b->dtype", "b->order", "b->rows", "b->ld", "b->values"},
                              {"x:", "x->dtype", "x->order", "x->rows", "x->ld", "x->values"}};
    const char **name = names[which];
    gpusolve_dense b, x;
    gpusolve_dense *wrong = which ? &x : &b;
#define REFUSED_FIELD(field, value, status, word) \
    b = w->b;                                     \
    x = w->x;                                     \
    wrong->field = value;                         \
    REFUSED(call(w, &b, &x), status, word)
    REFUSED(which ? call(w, &w->b, NULL) : call(w, NULL, &w->x), GPUSOLVE_INVALID_ARGUMENT, name[0]);
    REFUSED_FIELD(dtype, GPUSOLVE_FLOAT, GPUSOLVE_TYPE_MISMATCH, name[1]);
    REFUSED_FIELD(dtype, GPUSOLVE_COMPLEX_DOUBLE, GPUSOLVE_TYPE_MISMATCH, name[1]);
    REFUSED_FIELD(dtype, (gpusolve_dtype)7, GPUSOLVE_TYPE_MISMATCH, name[1]);
    REFUSED_FIELD(order, (gpusolve_order)2, GPUSOLVE_INVALID_ARGUMENT, name[2]);
    REFUSED_FIELD(rows, w->b.rows - 1, GPUSOLVE_INVALID_ARGUMENT, name[3]);
    REFUSED_FIELD(rows, -1, GPUSOLVE_INVALID_ARGUMENT, name[3]);
    REFUSED_FIELD(cols, -1, GPUSOLVE_INVALID_ARGUMENT, which ? "x->cols" : "b->cols");
    REFUSED_FIELD(cols, w->b.cols - 1, GPUSOLVE_INVALID_ARGUMENT, "x->cols");
    REFUSED_FIELD(ld, w->b.rows - 1, GPUSOLVE_INVALID_ARGUMENT, name[4]);
    REFUSED_FIELD(ld, INT64_MIN, GPUSOLVE_INVALID_ARGUMENT, name[4]);
    REFUSED_FIELD(ld, INT64_MAX / 2, GPUSOLVE_TOO_LARGE, name[4]);
    REFUSED_FIELD(values, NULL, GPUSOLVE_INVALID_ARGUMENT, name[5]);
    b = w->b;
    x = w->x;
    wrong->order = GPUSOLVE_ROW_MAJOR;
    wrong->ld = w->b.cols - 1;
    REFUSED(call(w, &b, &x), GPUSOLVE_INVALID_ARGUMENT, name[4]);
#undef REFUSED_FIELD
}

static void check_aliasing(const misuse_world *w) {
    gpusolve_dense x = w->b;
    x.ld = w->b.ld + 1;
    REFUSED(call_solve(w, &w->b, &x), GPUSOLVE_INVALID_ARGUMENT, "x->values");
    x = w->b;
    x.order = GPUSOLVE_ROW_MAJOR;
    REFUSED(call_solve(w, &w->b, &x), GPUSOLVE_INVALID_ARGUMENT, "x->values");
    x = w->b;
    x.values = (double *)w->b.values + 1;
    REFUSED(call_solve(w, &w->b, &x), GPUSOLVE_INVALID_ARGUMENT, "x->values");
    REFUSED(call_solve(w, &x, &w->b), GPUSOLVE_INVALID_ARGUMENT, "x->values");
    REFUSED(call_refine(w, &w->b, &w->b), GPUSOLVE_INVALID_ARGUMENT, "x->values");
}

static void check_solve_calls(misuse_world *w) {
    CHECK_STATUS(gpusolve_solve(NULL, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_solve(w->handle, NULL, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_INVALID_ARGUMENT,
            "factor");
    REFUSED(gpusolve_solve(w->handle, w->factor, w->other_workspace, GPUSOLVE_A, &w->b, &w->x),
            GPUSOLVE_INVALID_ARGUMENT, "workspace");
    REFUSED(gpusolve_solve(w->handle, w->factor, NULL, (gpusolve_system)9, &w->b, &w->x),
            GPUSOLVE_INVALID_ARGUMENT, "system");
    REFUSED(gpusolve_solve(w->handle, w->factor, NULL, (gpusolve_system)-1, &w->b, &w->x),
            GPUSOLVE_INVALID_ARGUMENT, "system");
    REFUSED(gpusolve_solve(w->handle, w->complex_factor, NULL, GPUSOLVE_A, &w->b, &w->x),
            GPUSOLVE_TYPE_MISMATCH, "b->dtype");
    check_fields(w, call_solve, 0);
    check_fields(w, call_solve, 1);
    check_aliasing(w);
    /* no columns: the rest is still checked, values may be NULL */
    gpusolve_dense none = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->b.rows, 0, w->b.rows, NULL};
    CHECK_STATUS(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &none, &none), GPUSOLVE_OK);
    none.rows = 3;
    REFUSED(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &none, &none), GPUSOLVE_INVALID_ARGUMENT,
            "b->rows");
}

/* --------------------------------------------------------------------------------------------- refine --- */

static void check_refine_options(misuse_world *w) {
    gpusolve_refine_options options;
#define REFUSED_OPTION(field, value, word)                                                              \
    options = (gpusolve_refine_options)GPUSOLVE_REFINE_OPTIONS_INIT;                                    \
    options.field = value;                                                                              \
    REFUSED(gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &w->b, &w->x, &options, NULL, NULL), \
            GPUSOLVE_INVALID_ARGUMENT, word)
    REFUSED_OPTION(size, 3, "options->size");
    REFUSED_OPTION(max_steps, -1, "options->max_steps");
    REFUSED_OPTION(tolerance, -1e-9, "options->tolerance");
    REFUSED_OPTION(tolerance, NAN, "options->tolerance");
    REFUSED_OPTION(min_gain, 0.5, "options->min_gain");
    REFUSED_OPTION(min_gain, NAN, "options->min_gain");
    REFUSED_OPTION(solve_first, 2, "options->solve_first");
    REFUSED_OPTION(method, (gpusolve_refine_method)4, "options->method");
    REFUSED_OPTION(method, (gpusolve_refine_method)-1, "options->method");
    REFUSED_OPTION(restart, 0, "options->restart");
    REFUSED_OPTION(twice, 2, "options->twice");
    REFUSED_OPTION(componentwise, -1, "options->componentwise");
    REFUSED_OPTION(restart, 257, "options->restart");
#undef REFUSED_OPTION
}

static void check_refine_calls(misuse_world *w) {
    CHECK_STATUS(gpusolve_refine(NULL, w->factor, w->matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
                 GPUSOLVE_INVALID_ARGUMENT);
    REFUSED(gpusolve_refine(w->handle, NULL, w->matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_refine(w->handle, w->factor, NULL, NULL, &w->b, &w->x, NULL, NULL, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "matrix");
    REFUSED(gpusolve_refine(w->handle, w->factor, w->small_matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "matrix");
    REFUSED(gpusolve_refine(w->handle, w->factor, w->complex_matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
            GPUSOLVE_TYPE_MISMATCH, "matrix");
    REFUSED(
        gpusolve_refine(w->handle, w->factor, w->matrix, w->other_workspace, &w->b, &w->x, NULL, NULL, NULL),
        GPUSOLVE_INVALID_ARGUMENT, "workspace");
    REFUSED(gpusolve_refine_reserve(w->handle, w->factor, w->small_matrix, w->workspace, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "matrix");
    REFUSED(gpusolve_refine_reserve(w->handle, w->factor, w->matrix, NULL, NULL), GPUSOLVE_INVALID_ARGUMENT,
            "workspace");
    REFUSED(gpusolve_refine_reserve(w->handle, w->factor, w->matrix, w->other_workspace, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "workspace");
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    REFUSED(gpusolve_refine_async(w->handle, w->factor, w->matrix, NULL, &w->b, &w->x, &options, NULL, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "workspace");
    options.method = (gpusolve_refine_method)(GPUSOLVE_REFINE_AUTOMATIC + 1);
    REFUSED(gpusolve_refine_async(w->handle, w->factor, w->matrix, w->workspace, &w->b, &w->x, &options, NULL,
                                  NULL),
            GPUSOLVE_INVALID_ARGUMENT, "options->method");
    options.method = GPUSOLVE_REFINE_AUTOMATIC;
    options.restart = 0;
    REFUSED(gpusolve_refine_reserve(w->handle, w->factor, NULL, w->workspace, &options),
            GPUSOLVE_INVALID_ARGUMENT, "options->restart");
    check_fields(w, call_refine, 0);
    check_fields(w, call_refine, 1);
    check_refine_options(w);

    gpusolve_matrix *matrix = somewhere;
    gpusolve_matrix_data data = {.size = sizeof data, .dtype = GPUSOLVE_DOUBLE}; /* n = 0 */
    CHECK_STATUS(gpusolve_matrix_create(NULL, &data, &matrix), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(matrix == NULL);
    REFUSED(gpusolve_matrix_create(w->handle, NULL, &matrix), GPUSOLVE_INVALID_ARGUMENT, "data");
    REFUSED(gpusolve_matrix_create(w->handle, &data, NULL), GPUSOLVE_INVALID_ARGUMENT, "matrix");
    gpusolve_matrix_destroy(NULL);
}

/* ------------------------------------------------------------------------------ one backend's objects --- */

static void check_other_backend(misuse_world *w) {
    if (!w->other_backend)
        return;
    gpusolve_handle *mine = w->handle;
    gpusolve_workspace *workspace;
    gpusolve_info info = {.size = sizeof info};
    w->handle = w->other_backend;
    REFUSED(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &w->b, &w->x), GPUSOLVE_INVALID_ARGUMENT,
            "factor");
    REFUSED(gpusolve_workspace_create(w->handle, w->factor, 1, &workspace), GPUSOLVE_INVALID_ARGUMENT,
            "factor");
    REFUSED(gpusolve_workspace_check(w->handle, w->workspace), GPUSOLVE_INVALID_ARGUMENT, "workspace");
    REFUSED(gpusolve_factor_refresh(w->handle, w->factor, &w->data), GPUSOLVE_INVALID_ARGUMENT, "factor");
    REFUSED(gpusolve_factor_info(w->handle, w->factor, 1, &info), GPUSOLVE_INVALID_ARGUMENT, "factor");
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(w->handle, &w->data, &factor) == GPUSOLVE_OK);
    REFUSED(gpusolve_refine(w->handle, factor, w->matrix, NULL, &w->b, &w->x, NULL, NULL, NULL),
            GPUSOLVE_INVALID_ARGUMENT, "matrix");
    REFUSED(gpusolve_solve(w->handle, factor, w->workspace, GPUSOLVE_A, &w->b, &w->x),
            GPUSOLVE_INVALID_ARGUMENT, "workspace");
    gpusolve_factor_destroy(factor);
    w->handle = mine;
}

static void import(misuse_world *w, const char *spec, cholmod_common *common, cholmod_factor **l,
                   gpusolve_factor **factor, gpusolve_matrix **matrix) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(*l != NULL && gpusolve_cholmod_import(w->handle, *l, factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(w->handle, a, matrix) == GPUSOLVE_OK);
    cholmod_free_sparse(&a, common);
}

static void check_backend(gpusolve_backend backend, int backends, cholmod_common *common) {
    testing_in("%s", testing_backend_name(backend));
    misuse_world world = {.backend = backend, .handle = testing_handle(backend, 2)}, *w = &world;
    if (backends > 1)
        w->other_backend = testing_handle(
            backend == GPUSOLVE_BACKEND_HOST ? GPUSOLVE_BACKEND_CUDA : GPUSOLVE_BACKEND_HOST, 2);
    cholmod_factor *other, *complex_other;
    import(w, "grid2d:9", common, &w->l, &w->factor, &w->matrix);
    import(w, "grid2d:8", common, &other, &w->other_factor, &w->small_matrix);
    import(w, "grid2d:9@c", common, &complex_other, &w->complex_factor, &w->complex_matrix);
    w->data = testing_factor_data(w->l);
    REQUIRE(gpusolve_workspace_create(w->handle, w->factor, 2, &w->workspace) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w->handle, w->other_factor, 2, &w->other_workspace) == GPUSOLVE_OK);
    w->b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 81, 3, 0);
    w->x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 81, 3, 0);
    testing_fill(&w->b, 1);
    gpusolve_dense before = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 81, 3, 0);
    CHECK_STATUS(call_solve(w, &w->b, &before), GPUSOLVE_OK);
    gpusolve_dense untouched = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 81, 3, 0);
    check_other_backend(w); /* what a handle keeps for its next calls is there from here on */
    int64_t live = gsv_live_allocations();

    check_factor_calls(w);
    check_info_calls(w);
    check_cost(w);
    check_workspace_calls(w);
    check_solve_calls(w);
    check_refine_calls(w);
    check_other_backend(w);

    CHECK(gsv_live_allocations() == live);
    CHECK(testing_same_bits(&w->x, 0, &untouched, 0, 3));
    CHECK_STATUS(call_solve(w, &w->b, &w->x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&w->x, 0, &before, 0, 3));
    free(w->b.values);
    free(w->x.values);
    free(before.values);
    free(untouched.values);
    gpusolve_workspace_destroy(w->workspace);
    gpusolve_workspace_destroy(w->other_workspace);
    gpusolve_matrix_destroy(w->matrix);
    gpusolve_matrix_destroy(w->small_matrix);
    gpusolve_matrix_destroy(w->complex_matrix);
    gpusolve_factor_destroy(w->factor);
    gpusolve_factor_destroy(w->other_factor);
    gpusolve_factor_destroy(w->complex_factor);
    cholmod_free_factor(&w->l, common);
    cholmod_free_factor(&other, common);
    cholmod_free_factor(&complex_other, common);
    gpusolve_destroy(w->handle);
    gpusolve_destroy(w->other_backend);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_statuses();
    check_handles();
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        check_backend(backends[i], count, &common);
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
