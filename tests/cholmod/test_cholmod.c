/* gpusolve_cholmod.h: factors, matrices and dense operands of CHOLMOD's, imported and refreshed, and what is wrong with them. */
#include "cholmod_operands.h"

static void expect_import(gpusolve_handle *handle, const cholmod_factor *l, gpusolve_status expected,
                          const char *says) {
    testing_in("import: %s", says);
    gpusolve_factor *factor = (gpusolve_factor *)&factor;
    gpusolve_info info = {.size = sizeof info};
    const int64_t live = gsv_live_allocations();
    CHECK_STATUS(gpusolve_cholmod_import(handle, l, &factor), expected);
    CHECK(factor == NULL && strstr(gpusolve_last_error(handle), says) != NULL);
    CHECK_STATUS(gpusolve_cholmod_query(handle, l, 1, &info), expected);
    CHECK(gsv_live_allocations() == live);
}

static void test_bad_factors(gpusolve_handle *handle, cholmod_common *common) {
    expect_import(handle, NULL, GPUSOLVE_INVALID_ARGUMENT, "L: is NULL");
    for (int super = 0; super <= 1; super++) {
        cholmod_sparse *a = grid_matrix(6, 5, 1, CHOLMOD_REAL, common);
        cholmod_factor *l = factorize(a, super, common), bad = *l;
        bad.itype = 1; /* CHOLMOD_INTLONG */
        expect_import(handle, &bad, GPUSOLVE_NOT_SUPPORTED, "itype");
        bad = *l;
        bad.dtype = 99;
        expect_import(handle, &bad, GPUSOLVE_NOT_SUPPORTED, "dtype");
        bad = *l;
        bad.xtype = CHOLMOD_PATTERN;
        expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "symbolic");
        bad = *l;
        bad.xtype = 17;
        expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "xtype");
        bad = *l;
        bad.xtype = CHOLMOD_ZOMPLEX;
        bad.z = NULL;
        expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "z: is NULL");
        bad = *l;
        bad.n = (size_t)INT32_MAX;
        expect_import(handle, &bad, GPUSOLVE_TOO_LARGE, "data->n");
        bad.n = SIZE_MAX;
        expect_import(handle, &bad, GPUSOLVE_TOO_LARGE, "data->n");
        bad = *l;
        bad.minor = 31;
        expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "data->minor");
        bad.minor = 7;
        expect_import(handle, &bad, GPUSOLVE_NOT_POSITIVE_DEFINITE, "column 7");
        bad = *l;
        bad.x = NULL;
        expect_import(handle, &bad, GPUSOLVE_INVALID_ARGUMENT, "data->x: is NULL");
        if (super) {
            bad = *l;
            bad.is_ll = 0;
            expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "is_ll");
            bad = *l;
            bad.xsize--;
            expect_import(handle, &bad, GPUSOLVE_INVALID_FACTOR, "xsize");
        }
        cholmod_free_factor(&l, common);
        l = cholmod_analyze(a, common); /* symbolic, of either kind */
        REQUIRE(l != NULL);
        expect_import(handle, l, GPUSOLVE_INVALID_FACTOR, "symbolic");
        cholmod_free_factor(&l, common);
        cholmod_free_sparse(&a, common);
    }
}

/* Import, refresh after a second factorisation, solve, refine: x is the answer of the numbers L has now. */
static void test_refresh(gpusolve_handle *handle, int super, cholmod_common *common) {
    testing_in("refresh, is_super %d", super);
    cholmod_sparse *a = grid_matrix(11, 10, 1, CHOLMOD_REAL, common);
    cholmod_factor *l = factorize(a, super, common);
    cholmod_dense *b = random_dense(110, 1, 110, CHOLMOD_REAL, common);
    cholmod_dense *x = random_dense(110, 1, 110, CHOLMOD_REAL, common);
    gpusolve_factor *factor = NULL;
    gpusolve_dense b_view, x_view;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_dense_view(b, &b_view) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_dense_view(x, &x_view) == GPUSOLVE_OK);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < ((int *)a->p)[110]; k++)
            ((double *)a->x)[k] *= 1.5;
        REQUIRE(cholmod_factorize(a, l, common));
        CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b_view, &x_view), GPUSOLVE_OK);
        cholmod_dense *expected = cholmod_solve(CHOLMOD_A, l, b, common), *once;
        CHECK_BELOW(difference(x, expected), 1e-13);
        once = gpusolve_cholmod_solve(CHOLMOD_A, l, b, common);
        CHECK(once && difference(once, expected) < 1e-13);
        cholmod_free_dense(&once, common);
        cholmod_free_dense(&expected, common);
    }
    cholmod_factor symbolic = *l;
    symbolic.xtype = CHOLMOD_PATTERN;
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, &symbolic), GPUSOLVE_INVALID_FACTOR);
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, NULL), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b_view, &x_view), GPUSOLVE_OK);
    gpusolve_factor_destroy(factor);
    cholmod_free_dense(&b, common);
    cholmod_free_dense(&x, common);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* ---------------------------------------------------------------------------------------- A and dense --- */

/* A from its lower triangle, its upper, or all of it, packed or not, refines to the same backward error. */
static void test_matrix(gpusolve_handle *handle, cholmod_common *common) {
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++) {
        cholmod_sparse *lower = grid_matrix(7, 6, 2, xtype, common);
        cholmod_factor *l = factorize(lower, 1, common);
        cholmod_dense *b = random_dense(84, 1, 84, l->xtype, common),
                      *x = random_dense(84, 1, 84, l->xtype, common);
        gpusolve_factor *factor = NULL;
        gpusolve_dense b_view, x_view;
        REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
        REQUIRE(gpusolve_cholmod_dense_view(b, &b_view) == GPUSOLVE_OK);
        REQUIRE(gpusolve_cholmod_dense_view(x, &x_view) == GPUSOLVE_OK);
        for (int form = 0; form < 4; form++) {
            testing_in("matrix, xtype %d, form %d", xtype, form);
            cholmod_sparse *a = form == 1   ? cholmod_transpose(lower, 2, common)
                                : form == 2 ? cholmod_copy(lower, 0, 2, common)
                                            : cholmod_copy_sparse(lower, common);
            if (!a && form == 2) /* cholmod_copy takes real matrices only */
                continue;
            REQUIRE(a != NULL);
            cholmod_sparse shown = *a;
            int counts[84];
            if (form == 3) {
                for (int j = 0; j < 84; j++)
                    counts[j] = ((int *)a->p)[j + 1] - ((int *)a->p)[j];
                shown.packed = 0;
                shown.nz = counts;
            }
            gpusolve_matrix *matrix = NULL;
            double error = NAN;
            CHECK_STATUS(gpusolve_cholmod_matrix(handle, &shown, &matrix), GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_refine(handle, factor, matrix, NULL, &b_view, &x_view, NULL, &error, NULL),
                         GPUSOLVE_OK);
            CHECK_BELOW(error, 1e-15);
            gpusolve_matrix_destroy(matrix);
            cholmod_free_sparse(&a, common);
        }
        gpusolve_factor_destroy(factor);
        cholmod_free_dense(&b, common);
        cholmod_free_dense(&x, common);
        cholmod_free_factor(&l, common);
        cholmod_free_sparse(&lower, common);
    }
}

static void expect_matrix(gpusolve_handle *handle, const cholmod_sparse *a, gpusolve_status expected,
                          const char *says) {
    testing_in("matrix: %s", says);
    gpusolve_matrix *matrix = (gpusolve_matrix *)&matrix;
    CHECK_STATUS(gpusolve_cholmod_matrix(handle, a, &matrix), expected);
    CHECK(matrix == NULL && strstr(gpusolve_last_error(handle), says) != NULL);
}

static void test_bad_operands(gpusolve_handle *handle, cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(4, 3, 1, CHOLMOD_REAL, common), bad = *a;
    expect_matrix(handle, NULL, GPUSOLVE_INVALID_ARGUMENT, "A: is NULL");
    bad.nrow++;
    expect_matrix(handle, &bad, GPUSOLVE_INVALID_ARGUMENT, "not square");
    bad = *a;
    bad.packed = 0;
    bad.nz = NULL;
    expect_matrix(handle, &bad, GPUSOLVE_INVALID_ARGUMENT, "A->nz");
    bad = *a;
    bad.xtype = CHOLMOD_PATTERN;
    expect_matrix(handle, &bad, GPUSOLVE_INVALID_ARGUMENT, "xtype");
    bad = *a;
    bad.itype = 1;
    expect_matrix(handle, &bad, GPUSOLVE_NOT_SUPPORTED, "itype");
    cholmod_free_sparse(&a, common);

    testing_in("dense view");
    cholmod_dense *x = random_dense(3, 2, 5, CHOLMOD_COMPLEX, common);
    gpusolve_dense view;
    CHECK_STATUS(gpusolve_cholmod_dense_view(x, &view), GPUSOLVE_OK);
    CHECK(view.dtype == GPUSOLVE_COMPLEX_DOUBLE && view.order == GPUSOLVE_COL_MAJOR && view.rows == 3);
    CHECK(view.cols == 2 && view.ld == 5 && view.values == x->x);
    CHECK_STATUS(gpusolve_cholmod_dense_view(NULL, &view), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_cholmod_dense_view(x, NULL), GPUSOLVE_INVALID_ARGUMENT);
    x->xtype = CHOLMOD_ZOMPLEX;
    CHECK_STATUS(gpusolve_cholmod_dense_view(x, &view), GPUSOLVE_NOT_SUPPORTED);
    x->xtype = CHOLMOD_PATTERN;
    CHECK_STATUS(gpusolve_cholmod_dense_view(x, &view), GPUSOLVE_INVALID_ARGUMENT);
    x->xtype = CHOLMOD_COMPLEX;
    cholmod_free_dense(&x, common);
}

/* gpusolve_report: the words of an adapter. */
static void test_report(gpusolve_handle *handle) {
    testing_in("report");
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_STATUS(gpusolve_report(handle, GPUSOLVE_NOT_SUPPORTED, "100% no"), GPUSOLVE_NOT_SUPPORTED);
    CHECK(!strcmp(gpusolve_last_error(handle), "100% no"));
    CHECK_STATUS(gpusolve_report(handle, GPUSOLVE_OK, "fine"), GPUSOLVE_OK);
    CHECK(!strcmp(gpusolve_last_error(handle), "100% no"));
    CHECK_STATUS(gpusolve_report(handle, GPUSOLVE_TOO_LARGE, NULL), GPUSOLVE_TOO_LARGE);
    CHECK(!strcmp(gpusolve_last_error(handle), gpusolve_status_message(GPUSOLVE_TOO_LARGE)));
    CHECK_STATUS(gpusolve_report(handle, GPUSOLVE_TOO_LARGE, longer), GPUSOLVE_TOO_LARGE);
    CHECK(strlen(gpusolve_last_error(handle)) == 255);
    CHECK_STATUS(gpusolve_report(NULL, GPUSOLVE_TOO_LARGE, "x"), GPUSOLVE_INVALID_ARGUMENT);
}

/* A program that looks at the last call's status alone learns why the factor is NULL. */
static void test_cause(gpusolve_handle *handle, cholmod_common *common) {
    testing_in("the cause of a factor that is NULL");
    cholmod_sparse *a = cholmod_speye(3, 3, CHOLMOD_REAL, common);
    cholmod_dense *b = cholmod_ones(3, 1, CHOLMOD_REAL, common);
    REQUIRE(a && b);
    a->stype = -1;
    ((double *)a->x)[1] = -1;
    common->supernodal = CHOLMOD_SUPERNODAL;
    cholmod_factor *l = cholmod_analyze(a, common);
    REQUIRE(l != NULL);
    cholmod_factorize(a, l, common);
    common->supernodal = CHOLMOD_AUTO;
    gpusolve_factor *factor;
    gpusolve_dense view;
    CHECK_STATUS(gpusolve_cholmod_dense_view(b, &view), GPUSOLVE_OK);
    for (int times = 0; times < 3; times++) { /* the cause stays, however often the call is made */
        if (times == 0)
            expect_import(handle, l, GPUSOLVE_NOT_POSITIVE_DEFINITE, "not positive definite");
        factor = NULL;
        CHECK_REFUSED(handle, gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &view, &view),
                      GPUSOLVE_INVALID_ARGUMENT, "factor: is NULL; the call that failed before said: ");
        CHECK(strstr(gpusolve_last_error(handle), "not positive definite") != NULL);
    }
    gpusolve_handle *other = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    for (int times = 0; times < 2; times++) { /* no cause, no words of one */
        CHECK_REFUSED(other, gpusolve_solve(other, factor, NULL, GPUSOLVE_A, &view, &view),
                      GPUSOLVE_INVALID_ARGUMENT, "factor: is NULL");
        CHECK(!strcmp(gpusolve_last_error(other), "factor: is NULL"));
    }
    gpusolve_destroy(other);
    cholmod_free_factor(&l, common);
    cholmod_free_dense(&b, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common narrow;
    REQUIRE(cholmod_start(&narrow));
    narrow.print = 0;
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        gpusolve_handle *handle = testing_handle(backends[k], 2);
        test_bad_factors(handle, &narrow);
        test_refresh(handle, 0, &narrow);
        test_refresh(handle, 1, &narrow);
        test_matrix(handle, &narrow);
        test_bad_operands(handle, &narrow);
        test_report(handle);
        test_cause(handle, &narrow);
        gpusolve_destroy(handle);
    }
    testing_in("all");
    cholmod_finish(&narrow);
    CHECK(narrow.malloc_count == 0);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
