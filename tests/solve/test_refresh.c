/*
 * New numbers on an old pattern: after a refresh the answers are those of a fresh import, bit for bit; a
 * refresh that is refused leaves the old answers, bit for bit.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "memory.h"

enum { COLUMNS = 3 };

/* Another positive definite matrix on the same pattern. */
static void change_values(cholmod_sparse *a) {
    const int *p = a->p, *row = a->i;
    int parts = a->xtype == CHOLMOD_REAL ? 1 : 2;
    double *x = a->x;
    for (int j = 0; j < (int)a->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            for (int part = 0; part < parts; part++)
                x[k * parts + part] *= row[k] == j ? 3 + 0.001 * (j % 7) : 1.5;
}

static gpusolve_dense solve(gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_dtype dtype,
                            int64_t n) {
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    testing_fill(&b, 5);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    free(b.values);
    return x;
}

static gpusolve_dense solve_fresh(gpusolve_handle *handle, const cholmod_factor *l, gpusolve_dtype dtype) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    gpusolve_dense x = solve(handle, factor, dtype, (int64_t)l->n);
    gpusolve_factor_destroy(factor);
    return x;
}

/* The factor answers as it did before: x are its old answers. */
static void check_unchanged(gpusolve_handle *handle, const gpusolve_factor *factor, const gpusolve_dense *x) {
    gpusolve_dense now = solve(handle, factor, x->dtype, x->rows);
    CHECK(testing_same_bits(x, 0, &now, 0, COLUMNS));
    free(now.values);
}

/* The number where supernode 0's (column 0's) diagonal stands in L->x. */
static double *first_diagonal(const cholmod_factor *l) {
    const int *start = l->is_super ? l->px : l->p;
    return (double *)l->x + start[0] * (l->xtype == CHOLMOD_REAL ? 1 : 2);
}

static void check_refused_values(gpusolve_handle *handle, gpusolve_factor *factor, cholmod_factor *l,
                                 const gpusolve_dense *x) {
    double *diagonal = first_diagonal(l), kept = *diagonal;
    *diagonal = NAN;
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_NOT_FINITE);
    check_unchanged(handle, factor, x);
    *diagonal = INFINITY;
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_NOT_FINITE);
    *diagonal = 0;
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_SINGULAR);
    check_unchanged(handle, factor, x);
    *diagonal = kept;
    l->minor = 1;
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_NOT_POSITIVE_DEFINITE);
    l->minor = l->n;
    check_unchanged(handle, factor, x);
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_OK);
    check_unchanged(handle, factor, x);
}

/* A factor of another matrix, and of the same matrix as another kind. */
static void check_refused_patterns(gpusolve_handle *handle, gpusolve_factor *factor,
                                   gpusolve_factor_kind kind, const gpusolve_dense *x,
                                   cholmod_common *common) {
    int is_complex = testing_is_complex(x->dtype);
    const char *const others[] = {is_complex ? "arrow:729,3,2@c" : "arrow:729,3,2",
                                  is_complex ? "grid3d:8@c" : "grid3d:8"};
    for (int i = 0; i < 2; i++) {
        cholmod_sparse *a = testing_load(others[i], common);
        REQUIRE(a != NULL);
        cholmod_factor *l = testing_factorize(a, kind, common);
        REQUIRE(l != NULL);
        CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_PATTERN_MISMATCH);
        CHECK(gpusolve_last_error(handle)[0] != '\0');
        check_unchanged(handle, factor, x);
        cholmod_free_factor(&l, common);
        cholmod_free_sparse(&a, common);
    }
    cholmod_sparse *a = testing_load(is_complex ? "grid3d:9" : "grid3d:9@c", common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL);
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_TYPE_MISMATCH);
    check_unchanged(handle, factor, x);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

static void check_kinds(gpusolve_handle *handle, gpusolve_factor *factor, gpusolve_factor_kind kind,
                        cholmod_sparse *a, const gpusolve_dense *x, cholmod_common *common) {
    if (kind == GPUSOLVE_SUPERNODAL_LL) { /* the same L by columns fits into the same panels */
        cholmod_factor *l = testing_factorize(a, kind, common);
        REQUIRE(l != NULL && cholmod_change_factor(l->xtype, 1, 0, 1, 1, l, common));
        CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_OK);
        check_unchanged(handle, factor, x);
        cholmod_free_factor(&l, common);
    }
    gpusolve_factor_kind other =
        kind == GPUSOLVE_SIMPLICIAL_LDL ? GPUSOLVE_SIMPLICIAL_LL : GPUSOLVE_SIMPLICIAL_LDL;
    cholmod_factor *l = testing_factorize(a, other, common);
    REQUIRE(l != NULL);
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_PATTERN_MISMATCH);
    check_unchanged(handle, factor, x);
    cholmod_free_factor(&l, common);
}

static void check_backend(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                          cholmod_common *common) {
    testing_in("%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    gpusolve_dense old = solve(handle, factor, dtype, (int64_t)l->n);

    change_values(a);
    REQUIRE(cholmod_factorize(a, l, common) && l->minor == l->n);
    check_unchanged(handle, factor, &old); /* the factor is a copy: nothing happens behind the user's back */
    int64_t allocations = gsv_live_allocations();
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_OK);
    CHECK(gsv_live_allocations() == allocations);
    gpusolve_dense fresh = solve_fresh(handle, l, dtype);
    CHECK(!testing_same_bits(&old, 0, &fresh, 0, COLUMNS));
    check_unchanged(handle, factor, &fresh);

    check_refused_values(handle, factor, l, &fresh);
    check_refused_patterns(handle, factor, kind, &fresh, common);
    check_kinds(handle, factor, kind, a, &fresh, common);
    free(old.values);
    free(fresh.values);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
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
            check_backend(backends[i], "grid3d:9", (gpusolve_factor_kind)kind, &common);
            check_backend(backends[i], "grid3d:9@c", (gpusolve_factor_kind)kind, &common);
        }
    cholmod_finish(&common);
    return testing_done();
}
