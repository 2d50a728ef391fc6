/*
 * gpusolve_cholmod.h against CHOLMOD itself: every form of factor, both index types, real, complex and
 * zomplex, all nine systems; X comes back in the type in which cholmod_solve returns it. Then everything that
 * can be wrong.
 */
#include "import_cases.h"

static const char *last_message; /* what the error handler was told */
static int last_status, handled;

static void remember(int status, const char *file, int line, const char *message) {
    static char text[256];
    (void)file;
    (void)line;
    snprintf(text, sizeof text, "%s", message);
    last_message = text;
    last_status = status;
    handled++;
}

/* ------------------------------------------------------------------------------ both index types --- */

/* The same matrix with 64-bit indices. */
static cholmod_sparse *widen(const cholmod_sparse *a, cholmod_common *common) {
    const size_t n = a->ncol, entries = (size_t)((const int *)a->p)[n];
    cholmod_sparse *w = cholmod_l_allocate_sparse(n, n, entries, a->sorted, 1, a->stype, a->xtype, common);
    REQUIRE(w != NULL);
    for (size_t j = 0; j <= n; j++)
        ((SuiteSparse_long *)w->p)[j] = ((const int *)a->p)[j];
    for (size_t t = 0; t < entries; t++)
        ((SuiteSparse_long *)w->i)[t] = ((const int *)a->i)[t];
    memcpy(w->x, a->x, entries * (a->xtype == CHOLMOD_COMPLEX ? 16 : 8));
    if (a->xtype == CHOLMOD_ZOMPLEX)
        memcpy(w->z, a->z, entries * 8);
    return w;
}

static cholmod_factor *factorize_wide(cholmod_sparse *a, int supernodal, cholmod_common *common) {
    common->supernodal = supernodal ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    cholmod_factor *l = cholmod_l_analyze(a, common);
    REQUIRE(l && cholmod_l_factorize(a, l, common));
    return l;
}

static int is_wide(const cholmod_common *common) {
    return common->itype == CHOLMOD_LONG;
}

static cholmod_dense *reference_solve(int sys, cholmod_factor *l, cholmod_dense *b, cholmod_common *common) {
    return is_wide(common) ? cholmod_l_solve(sys, l, b, common) : cholmod_solve(sys, l, b, common);
}

static void free_dense(cholmod_dense **x, cholmod_common *common) {
    is_wide(common) ? cholmod_l_free_dense(x, common) : cholmod_free_dense(x, common);
}

static cholmod_dense *random_dense(size_t n, size_t cols, size_t d, int xtype, cholmod_common *common) {
    cholmod_dense *b = is_wide(common) ? cholmod_l_allocate_dense(n, cols, d, xtype, common)
                                       : cholmod_allocate_dense(n, cols, d, xtype, common);
    REQUIRE(b != NULL);
    uint64_t state = 7;
    for (size_t k = 0; k < d * cols * (xtype == CHOLMOD_COMPLEX ? 2 : 1); k++)
        ((double *)b->x)[k] = testing_random(&state);
    for (size_t k = 0; xtype == CHOLMOD_ZOMPLEX && k < d * cols; k++)
        ((double *)b->z)[k] = testing_random(&state);
    return b;
}

static double complex dense_at(const cholmod_dense *x, size_t k) {
    const double *re = x->x, *im = x->z;
    if (x->xtype == CHOLMOD_COMPLEX)
        return CMPLX(re[2 * k], re[2 * k + 1]);
    return x->xtype == CHOLMOD_ZOMPLEX ? CMPLX(re[k], im[k]) : re[k];
}

/* The largest difference over the largest number. */
static double difference(const cholmod_dense *x, const cholmod_dense *y) {
    double most = 0, largest = 1e-300;
    for (size_t j = 0; j < x->ncol; j++)
        for (size_t i = 0; i < x->nrow; i++) {
            const double complex a = dense_at(x, i + j * x->d), b = dense_at(y, i + j * y->d);
            most = cabs(a - b) > most || isnan(cabs(a - b)) ? cabs(a - b) : most;
            largest = cabs(b) > largest ? cabs(b) : largest;
        }
    return most / largest;
}

/* ------------------------------------------------------------------------------------ one-call solve --- */

/* x(perm(i)) = b(i), of the type of CHOLMOD's own answer. CHOLMOD 3.0.14's x = P' b reads b as if d were n.
 */
static cholmod_dense *permute_back(cholmod_factor *l, cholmod_dense *b, cholmod_common *common) {
    cholmod_dense *x = reference_solve(CHOLMOD_Pt, l, b, common);
    REQUIRE(x != NULL);
    for (size_t j = 0; j < b->ncol; j++)
        for (size_t i = 0; i < b->nrow; i++) {
            const size_t row = l->ordering == CHOLMOD_NATURAL ? i
                               : is_wide(common)              ? (size_t)((SuiteSparse_long *)l->Perm)[i]
                                                              : (size_t)((int *)l->Perm)[i];
            const double complex value = dense_at(b, i + j * b->d);
            const size_t at = row + j * x->d;
            ((double *)x->x)[x->xtype == CHOLMOD_COMPLEX ? 2 * at : at] = creal(value);
            if (x->xtype == CHOLMOD_COMPLEX)
                ((double *)x->x)[2 * at + 1] = cimag(value);
            if (x->xtype == CHOLMOD_ZOMPLEX)
                ((double *)x->z)[at] = cimag(value);
        }
    return x;
}

static void compare_solves(cholmod_factor *l, int b_xtype, size_t cols, size_t padding,
                           cholmod_common *common) {
    cholmod_dense *b = random_dense(l->n, cols, l->n + padding, b_xtype, common);
    const size_t objects = common->malloc_count;
    for (int sys = CHOLMOD_A; sys <= CHOLMOD_Pt; sys++) {
        testing_in("sys %d, xtypes %d %d, is_super %d, is_ll %d, itype %d, prefer_zomplex %d, %zu columns",
                   sys, l->xtype, b_xtype, l->is_super, l->is_ll, l->itype, common->prefer_zomplex, cols);
        gpusolve_status status;
        char message[256];
        cholmod_dense *x = gpusolve_cholmod_solve_status(sys, l, b, common, &status, message);
        testing_check(x != NULL, __FILE__, __LINE__, "%s", message);
        CHECK(status == GPUSOLVE_OK && common->status == CHOLMOD_OK && !message[0]);
        cholmod_dense *expected =
            sys == CHOLMOD_Pt ? permute_back(l, b, common) : reference_solve(sys, l, b, common);
        if (x && CHECK(expected != NULL)) {
            CHECK(x->xtype == expected->xtype && x->dtype == expected->dtype);
            CHECK(x->nrow == expected->nrow && x->ncol == expected->ncol && x->d == expected->d);
            CHECK_BELOW(difference(x, expected), 1e-13);
        }
        free_dense(&x, common);
        free_dense(&expected, common);
        CHECK(common->malloc_count == objects);
    }
    free_dense(&b, common);
}

static void compare_forms(cholmod_factor *l, cholmod_common *common) {
    for (int prefer = 0; prefer <= 1; prefer++) {
        common->prefer_zomplex = prefer;
        if (l->xtype == CHOLMOD_REAL)
            compare_solves(l, CHOLMOD_REAL, 3, (size_t)prefer, common);
        for (int xtype = CHOLMOD_COMPLEX; l->xtype != CHOLMOD_REAL && xtype <= CHOLMOD_ZOMPLEX; xtype++)
            compare_solves(l, xtype, 2, (size_t)prefer, common);
    }
    common->prefer_zomplex = 0;
    compare_solves(l, l->xtype, 0, 0, common);
}

static void test_against_cholmod(cholmod_common *narrow, cholmod_common *wide) {
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
        for (int form = 0; form < 3; form++) {
            cholmod_sparse *a = grid_matrix(9, 8, 2, xtype, narrow);
            cholmod_factor *l = factorize(a, form == 0, narrow);
            if (form > 0)
                REQUIRE(cholmod_change_factor(l->xtype, form == 1, 0, 1, 1, l, narrow));
            compare_forms(l, narrow);
            cholmod_free_factor(&l, narrow);

            cholmod_sparse *w = widen(a, wide);
            l = factorize_wide(w, form == 0, wide);
            if (form > 0)
                REQUIRE(cholmod_l_change_factor(l->xtype, form == 1, 0, 1, 1, l, wide));
            compare_forms(l, wide);
            cholmod_l_free_factor(&l, wide);
            cholmod_l_free_sparse(&w, wide);
            cholmod_free_sparse(&a, narrow);
        }
}

/* CHOLMOD does not read L->Perm if the ordering is CHOLMOD_NATURAL. */
static void test_natural(cholmod_common *narrow, cholmod_common *wide) {
    for (int super = 0; super <= 1; super++) {
        cholmod_sparse *a = grid_matrix(9, 8, 1, CHOLMOD_REAL, narrow), *w = widen(a, wide);
        cholmod_factor *l = factorize(a, super, narrow), *lw = factorize_wide(w, super, wide);
        for (int ordering = CHOLMOD_NATURAL; ordering <= CHOLMOD_GIVEN; ordering++) {
            l->ordering = lw->ordering = ordering;
            compare_solves(l, CHOLMOD_REAL, 2, 0, narrow);
            compare_solves(lw, CHOLMOD_REAL, 2, 0, wide);
        }
        cholmod_free_factor(&l, narrow);
        cholmod_l_free_factor(&lw, wide);
        cholmod_free_sparse(&a, narrow);
        cholmod_l_free_sparse(&w, wide);
    }
}

/* A fault of the one-call form: NULL, both statuses, the handler told, nothing left behind. */
static void expect_refusal(int sys, cholmod_factor *l, cholmod_dense *b, cholmod_common *common,
                           gpusolve_status expected, int cholmod_status, const char *says) {
    testing_in("%s", says);
    const size_t objects = common->malloc_count;
    const int64_t live = gsv_live_allocations();
    gpusolve_status status = GPUSOLVE_OK;
    char message[256] = "";
    handled = 0;
    CHECK(gpusolve_cholmod_solve_status(sys, l, b, common, &status, message) == NULL);
    CHECK_STATUS(status, expected);
    CHECK(common->status == cholmod_status && last_status == cholmod_status && handled == 1);
    testing_check(strstr(message, says) != NULL, __FILE__, __LINE__, "\"%s\" does not say so", message);
    CHECK(!strcmp(message, last_message));
    common->try_catch = 1;
    common->status = CHOLMOD_OK;
    CHECK(gpusolve_cholmod_solve(sys, l, b, common) == NULL && common->status == cholmod_status &&
          handled == 1);
    common->try_catch = 0;
    CHECK(common->malloc_count == objects && gsv_live_allocations() == live);
}

static void test_refusals(cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(6, 5, 1, CHOLMOD_REAL, common);
    cholmod_sparse *c = grid_matrix(6, 5, 1, CHOLMOD_COMPLEX, common);
    cholmod_factor *l = factorize(a, 1, common), *lc = factorize(c, 1, common);
    cholmod_dense *b = random_dense(30, 2, 30, CHOLMOD_REAL, common);
    cholmod_dense *bc = random_dense(30, 2, 30, CHOLMOD_COMPLEX, common);
    cholmod_dense *bz = random_dense(30, 2, 30, CHOLMOD_ZOMPLEX, common);
    common->error_handler = remember;

    expect_refusal(-1, l, b, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "sys");
    expect_refusal(9, l, b, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "sys");
    expect_refusal(CHOLMOD_A, NULL, b, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "L: is NULL");
    expect_refusal(CHOLMOD_A, l, NULL, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "B: is NULL");
    expect_refusal(CHOLMOD_A, lc, b, common, GPUSOLVE_TYPE_MISMATCH, CHOLMOD_INVALID, "B: must be real");
    expect_refusal(CHOLMOD_P, lc, b, common, GPUSOLVE_TYPE_MISMATCH, CHOLMOD_INVALID, "B: must be real");
    expect_refusal(CHOLMOD_A, l, bc, common, GPUSOLVE_TYPE_MISMATCH, CHOLMOD_INVALID, "B: must be real");
    expect_refusal(CHOLMOD_A, l, bz, common, GPUSOLVE_TYPE_MISMATCH, CHOLMOD_INVALID, "B: must be real");
    cholmod_dense bad = *b;
    bad.nrow = 29;
    expect_refusal(CHOLMOD_A, l, &bad, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID,
                   "B: must have L->n rows");
    bad = *b;
    bad.d = 29;
    expect_refusal(CHOLMOD_A, l, &bad, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID,
                   "B: must have L->n rows");
    bad = *b;
    bad.x = NULL;
    expect_refusal(CHOLMOD_A, l, &bad, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID,
                   "B: must have L->n rows");
    bad = *b;
    bad.xtype = CHOLMOD_PATTERN;
    expect_refusal(CHOLMOD_A, l, &bad, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "xtype");
    bad = *bz;
    bad.z = NULL;
    expect_refusal(CHOLMOD_A, lc, &bad, common, GPUSOLVE_INVALID_ARGUMENT, CHOLMOD_INVALID, "z: is NULL");
    bad = *b;
    bad.dtype = 99;
    expect_refusal(CHOLMOD_A, l, &bad, common, GPUSOLVE_NOT_SUPPORTED, CHOLMOD_INVALID, "dtype");
    common->itype = CHOLMOD_LONG;
    expect_refusal(CHOLMOD_A, l, b, common, GPUSOLVE_TYPE_MISMATCH, CHOLMOD_INVALID, "L->itype");
    common->itype = CHOLMOD_INT;
    gpusolve_status status = GPUSOLVE_OK;
    CHECK(!gpusolve_cholmod_solve_status(CHOLMOD_A, l, b, NULL, &status, NULL) &&
          status == GPUSOLVE_INVALID_ARGUMENT);
    CHECK(!gpusolve_cholmod_solve(CHOLMOD_A, l, b, NULL));

    for (int super = 0; super <= 1; super++) {
        for (size_t k = 0; k < (size_t)((int *)a->p)[30];
             k++) /* not positive definite: row 20 has a negative diagonal */
            if (((int *)a->i)[k] == 20 && (int)k >= ((int *)a->p)[20] && (int)k < ((int *)a->p)[21])
                ((double *)a->x)[k] = -9;
        common->final_ll = 1;
        common->error_handler = NULL;
        cholmod_factor *broken = factorize(a, super, common);
        common->error_handler = remember;
        REQUIRE(broken->minor < broken->n);
        expect_refusal(CHOLMOD_A, broken, b, common, GPUSOLVE_NOT_POSITIVE_DEFINITE, CHOLMOD_NOT_POSDEF,
                       "data->minor: the factorisation stopped");
        cholmod_free_factor(&broken, common);
    }
    const double diagonal = ((double *)l->x)[0];
    ((double *)l->x)[0] = NAN;
    expect_refusal(CHOLMOD_A, l, b, common, GPUSOLVE_NOT_FINITE, CHOLMOD_INVALID, "column 0 ");
    ((double *)l->x)[0] = 0;
    expect_refusal(CHOLMOD_A, l, b, common, GPUSOLVE_SINGULAR, CHOLMOD_NOT_POSDEF, "L(0,0)");
    ((double *)l->x)[0] = diagonal;

    common->error_handler = NULL;
    cholmod_free_dense(&b, common);
    cholmod_free_dense(&bc, common);
    cholmod_free_dense(&bz, common);
    cholmod_free_factor(&l, common);
    cholmod_free_factor(&lc, common);
    cholmod_free_sparse(&a, common);
    cholmod_free_sparse(&c, common);
}

/* ---------------------------------------------------------------------------------- the factor's life --- */

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

int main(void) {
    cholmod_common narrow, wide;
    REQUIRE(cholmod_start(&narrow) && cholmod_l_start(&wide));
    narrow.print = wide.print = 0;
    test_against_cholmod(&narrow, &wide);
    test_natural(&narrow, &wide);
    test_refusals(&narrow);
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
        gpusolve_destroy(handle);
    }
    testing_in("all");
    cholmod_finish(&narrow);
    cholmod_l_finish(&wide);
    CHECK(narrow.malloc_count == 0 && wide.malloc_count == 0);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
