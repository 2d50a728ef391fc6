/*
 * Trees at the edge: n = 0, n = 1, diagonal matrices, chains, and forests with many roots; every call, every
 * system, every kind of factor.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "ratio.h"

static void check_info(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t n) {
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_factor_info(handle, factor, 3, &info), GPUSOLVE_OK);
    CHECK(info.n == n && info.max_nrhs == 3 && info.backend == gpusolve_get_backend(handle));
    CHECK(n == 0 ? info.supernodes == 0 && info.levels == 0 && info.nnz_l == 0
                 : info.supernodes >= 1 && info.levels >= 1 && info.nnz_l >= n && info.widest_supernode >= 1);
    size_t needed = 0;
    CHECK_STATUS(gpusolve_factor_summary(handle, factor, NULL, 0, &needed), GPUSOLVE_OK);
    char *text = malloc(needed);
    REQUIRE(text != NULL && needed > 1);
    CHECK_STATUS(gpusolve_factor_summary(handle, factor, text, needed, NULL), GPUSOLVE_OK);
    CHECK(strlen(text) + 1 == needed);
    free(text);
}

/* ---------------------------------------------------------------------------------------------- n = 0 --- */

static void check_empty(gpusolve_backend backend, gpusolve_factor_kind kind, gpusolve_dtype dtype) {
    testing_in("%s, n = 0, kind %d, dtype %d", testing_backend_name(backend), (int)kind, (int)dtype);
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = kind;
    data.dtype = dtype;
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    check_info(handle, factor, 0);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &data), GPUSOLVE_OK);
    gpusolve_workspace *workspace;
    REQUIRE(gpusolve_workspace_create(handle, factor, 2, &workspace) == GPUSOLVE_OK);
    gpusolve_matrix_data matrix_data = {.size = sizeof matrix_data, .dtype = dtype};
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_matrix_create(handle, &matrix_data, &matrix) == GPUSOLVE_OK);
    for (int64_t cols = 0; cols <= 5; cols++) {
        gpusolve_dense b = {dtype, GPUSOLVE_COL_MAJOR, 0, cols, 1, NULL};
        for (int system = 0; system < 9; system++) {
            CHECK_STATUS(gpusolve_solve(handle, factor, workspace, (gpusolve_system)system, &b, &b),
                         GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_solve(handle, factor, NULL, (gpusolve_system)system, &b, &b), GPUSOLVE_OK);
        }
        double errors[5] = {9, 9, 9, 9, 9};
        int steps[5] = {9, 9, 9, 9, 9};
        CHECK_STATUS(gpusolve_refine(handle, factor, matrix, NULL, &b, &b, NULL, errors, steps), GPUSOLVE_OK);
        for (int j = 0; j < 5; j++)
            CHECK(j < cols ? errors[j] == 0 && steps[j] == 0 : errors[j] == 9 && steps[j] == 9);
    }
    gpusolve_matrix_destroy(matrix);
    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* ---------------------------------------------------------------------------------------------- n = 1 --- */

static void check_one(gpusolve_backend backend, gpusolve_factor_kind kind) {
    testing_in("%s, n = 1, kind %d", testing_backend_name(backend), (int)kind);
    gpusolve_handle *handle = testing_handle(backend, 2);
    static const int zero_one[] = {0, 1}, zero[] = {0};
    static const double four[] = {4};
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = kind;
    data.n = data.minor = data.nsuper = data.ssize = data.xsize = 1;
    data.super = data.pi = data.px = data.p = zero_one;
    data.s = data.i = data.perm = zero;
    data.x = four;
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    check_info(handle, factor, 1);
    /* L = 4 in L L', D = 4 in L D L' */
    static const double with_ll[] = {2, 2, 8, 8, 8, 8, 32, 32, 32},
                        with_ldl[] = {8, 8, 8, 8, 32, 32, 8, 32, 32};
    const double *expected = kind == GPUSOLVE_SIMPLICIAL_LDL ? with_ldl : with_ll;
    for (int system = 0; system < 9; system++) {
        double b[2] = {32, -32}, x[2] = {0, 0};
        gpusolve_dense block_b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 1, 2, 1, b};
        gpusolve_dense block_x = {GPUSOLVE_DOUBLE, GPUSOLVE_ROW_MAJOR, 1, 2, 2, x};
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, (gpusolve_system)system, &block_b, &block_x),
                     GPUSOLVE_OK);
        CHECK(x[0] == expected[system] && x[1] == -expected[system]);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* ------------------------------------------------------------------------------------------- matrices --- */

static void check_solution(gpusolve_handle *handle, const gpusolve_factor *factor, const testing_explicit *e,
                           gpusolve_dtype dtype, gpusolve_system system, int64_t nrhs, int on_device) {
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_ROW_MAJOR, e->n, nrhs, 1);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, e->n, nrhs, 1);
    testing_fill(&b, 2);
    CHECK_STATUS(testing_solve(handle, factor, NULL, system, &b, &x, on_device), GPUSOLVE_OK);
    for (int64_t j = 0; j < nrhs; j++)
        CHECK_BELOW(testing_ratio(e, system, &x, &b, j, DBL_EPSILON), 30);
    free(b.values);
    free(x.values);
}

static void check_matrix(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                         cholmod_common *common) {
    testing_in("%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    testing_explicit e;
    REQUIRE(testing_explicit_create(l, a, common, &e) == 0);
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    check_info(handle, factor, e.n);
    static const int64_t widths[] = {1, 3, 33};
    for (int system = 0; system < 9; system++)
        for (int w = 0; w < 3; w++)
            for (int on_device = 0; on_device <= (backend == GPUSOLVE_BACKEND_CUDA); on_device++)
                check_solution(handle, factor, &e, dtype, (gpusolve_system)system, widths[w], on_device);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    testing_explicit_free(&e);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    static const char *const specs[] = {"diag:1",         "diag:2",     "diag:777",
                                        "diag:500@c",     "tridiag:2",  "tridiag:700",
                                        "arrow:300,1,40", "forest:900", "forest:700@c"};
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        for (int kind = 0; kind < 3; kind++) {
            for (int dtype = 0; dtype < 4; dtype++)
                check_empty(backends[i], (gpusolve_factor_kind)kind, (gpusolve_dtype)dtype);
            check_one(backends[i], (gpusolve_factor_kind)kind);
            for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++)
                check_matrix(backends[i], specs[s], (gpusolve_factor_kind)kind, &common);
        }
    cholmod_finish(&common);
    return testing_done();
}
