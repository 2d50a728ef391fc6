/*
 * gpusolve_cholmod_solve against cholmod_solve: every form of factor, both index types, real, complex and zomplex factors
 * with right-hand sides of each kind, all nine systems; X comes back in the type in which cholmod_solve returns it. Then
 * everything that can be wrong.
 */
#include "cholmod_operands.h"

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
        for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
            for (size_t cols = 1; cols <= 3; cols++)
                compare_solves(l, xtype, cols, (size_t)prefer, common);
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

int main(void) {
    cholmod_common narrow, wide;
    REQUIRE(cholmod_start(&narrow) && cholmod_l_start(&wide));
    narrow.print = wide.print = 0;
    test_against_cholmod(&narrow, &wide);
    test_natural(&narrow, &wide);
    test_refusals(&narrow);
    testing_in("all");
    cholmod_finish(&narrow);
    cholmod_l_finish(&wide);
    CHECK(narrow.malloc_count == 0 && wide.malloc_count == 0);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
