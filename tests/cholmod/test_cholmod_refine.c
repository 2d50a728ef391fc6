/*
 * gpusolve_cholmod_refine: the factor of a matrix that differs from A by a thousandth, both index types, real, complex and zomplex
 * objects; X solves A X = B to the last bits and comes back in the type in which cholmod_solve returns it. Then everything that can be wrong.
 */
#include "told.h"

#include "cholmod_helpers.h"

#include <float.h>

/* A with its diagonal a thousandth larger; real and zomplex, or complex. */
static cholmod_sparse *changed(const cholmod_sparse *a, cholmod_common *common) {
    cholmod_sparse *copy = cholmod_copy_sparse((cholmod_sparse *)a, common);
    REQUIRE(copy != NULL);
    for (size_t j = 0; j < copy->ncol; j++)
        for (int k = ((int *)copy->p)[j]; k < ((int *)copy->p)[j + 1]; k++)
            if ((size_t)((int *)copy->i)[k] == j)
                ((double *)copy->x)[copy->xtype == CHOLMOD_COMPLEX ? 2 * k : k] *= 1.001;
    return copy;
}

/* The backward error of column j of X. */
static double error_of(const cholmod_sparse *a, const cholmod_dense *x, const cholmod_dense *b, size_t j) {
    double complex *xs = malloc(a->nrow * sizeof *xs), *bs = malloc(a->nrow * sizeof *bs);
    REQUIRE(xs && bs);
    for (size_t i = 0; i < a->nrow; i++) {
        xs[i] = dense_at(x, i + j * x->d);
        bs[i] = dense_at(b, i + j * b->d);
    }
    const double error = testing_backward_error(a, testing_sparse_norm(a), xs, bs);
    free(xs);
    free(bs);
    return error;
}

/* a: the same matrix as `given`, with 32-bit indices, real or complex. */
static void check_refinement(const cholmod_sparse *a, const cholmod_sparse *given, cholmod_factor *l,
                             int b_xtype, size_t cols, size_t padding, cholmod_common *common) {
    enum { MOST = 3 };
    double errors[MOST + 1] = {NAN, NAN, NAN, 77};
    int steps[MOST + 1] = {-1, -1, -1, 77};
    testing_in("xtypes %d %d %d, itype %d, prefer_zomplex %d, %zu columns", given->xtype, l->xtype, b_xtype,
               l->itype, common->prefer_zomplex, cols);
    cholmod_dense *b = random_dense(l->n, cols, l->n + padding, b_xtype, common);
    const size_t objects = common->malloc_count;
    const int64_t live = gsv_live_allocations();
    cholmod_dense *x = gpusolve_cholmod_refine(given, l, b, NULL, errors, steps, common);
    CHECK(common->status == CHOLMOD_OK && handled == 0);
    if (CHECK(x != NULL)) {
        cholmod_dense *same = reference_solve(CHOLMOD_A, l, b, common);
        REQUIRE(same != NULL);
        CHECK(x->xtype == same->xtype && x->dtype == same->dtype && x->nrow == same->nrow &&
              x->ncol == same->ncol);
        for (size_t j = 0; j < cols; j++) {
            CHECK_BELOW(error_of(a, x, b, j), 4 * DBL_EPSILON);
            CHECK_BELOW(errors[j], 4 * DBL_EPSILON);
            CHECK(steps[j] >= 2);                  /* each gains some three digits of sixteen */
            CHECK(error_of(a, same, b, j) > 1e-6); /* so L alone does not solve with A */
        }
        free_dense(&same, common);
    }
    CHECK(errors[MOST] == 77 && steps[MOST] == 77);
    free_dense(&x, common);
    CHECK(common->malloc_count == objects && gsv_live_allocations() == live);

    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.max_steps = 1;
    x = gpusolve_cholmod_refine(given, l, b, &options, NULL, steps, common);
    if (CHECK(x != NULL))
        for (size_t j = 0; j < cols; j++)
            CHECK(steps[j] == 1);
    free_dense(&x, common);
    free_dense(&b, common);
}

static void test_refinement(cholmod_common *narrow, cholmod_common *wide) {
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
        for (int super = 0; super <= 1; super++) {
            cholmod_sparse *a = grid_matrix(9, 8, 2, xtype, narrow), *w = widen(a, wide);
            cholmod_sparse *other = changed(a, narrow), *other_wide = widen(other, wide);
            cholmod_factor *l = factorize(other, super, narrow),
                           *lw = factorize_wide(other_wide, super, wide);
            cholmod_sparse *packed = cholmod_copy_sparse(a, narrow);
            REQUIRE(packed &&
                    (xtype != CHOLMOD_ZOMPLEX || cholmod_sparse_xtype(CHOLMOD_COMPLEX, packed, narrow)));
            for (int b_xtype = CHOLMOD_REAL; b_xtype <= CHOLMOD_ZOMPLEX; b_xtype++)
                for (size_t cols = 1; cols <= 3; cols++) {
                    narrow->prefer_zomplex = wide->prefer_zomplex = cols == 2;
                    check_refinement(packed, a, l, b_xtype, cols, cols - 1, narrow);
                    check_refinement(packed, w, lw, b_xtype, cols, cols - 1, wide);
                }
            narrow->prefer_zomplex = wide->prefer_zomplex = 0;
            cholmod_free_factor(&l, narrow);
            cholmod_l_free_factor(&lw, wide);
            cholmod_free_sparse(&a, narrow);
            cholmod_free_sparse(&packed, narrow);
            cholmod_free_sparse(&other, narrow);
            cholmod_l_free_sparse(&w, wide);
            cholmod_l_free_sparse(&other_wide, wide);
        }
}

/* NULL, the status, the handler told what it `says`, nothing left behind. */
static void expect_refusal(const cholmod_sparse *a, cholmod_factor *l, cholmod_dense *b,
                           const gpusolve_refine_options *options, cholmod_common *common, const char *says) {
    testing_in("%s", says);
    const size_t objects = common->malloc_count;
    const int64_t live = gsv_live_allocations();
    handled = 0;
    CHECK(gpusolve_cholmod_refine(a, l, b, options, NULL, NULL, common) == NULL);
    CHECK(handled == 1 && common->status == CHOLMOD_INVALID && last_status == CHOLMOD_INVALID);
    testing_check(strstr(last_message, says) != NULL, __FILE__, __LINE__, "\"%s\" does not say so",
                  last_message);
    CHECK(common->malloc_count == objects && gsv_live_allocations() == live);
    handled = 0;
}

static void test_refusals(cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(6, 5, 1, CHOLMOD_REAL, common);
    cholmod_sparse *c = grid_matrix(6, 5, 1, CHOLMOD_COMPLEX, common);
    cholmod_sparse *small = grid_matrix(6, 4, 1, CHOLMOD_REAL, common);
    cholmod_factor *l = factorize(a, 1, common);
    cholmod_dense *b = random_dense(30, 2, 30, CHOLMOD_REAL, common);
    expect_refusal(NULL, l, b, NULL, common, "A: is NULL");
    expect_refusal(a, NULL, b, NULL, common, "L: is NULL");
    expect_refusal(a, l, NULL, NULL, common, "B: is NULL");
    expect_refusal(small, l, b, NULL, common, "matrix: has order 24, the factor 30");
    expect_refusal(c, l, b, NULL, common, "matrix: has dtype");
    cholmod_sparse bad = *a;
    bad.ncol = 29;
    expect_refusal(&bad, l, b, NULL, common, "A is not square");
    bad = *a;
    bad.xtype = CHOLMOD_PATTERN;
    expect_refusal(&bad, l, b, NULL, common, "xtype");
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.solve_first = 0;
    expect_refusal(a, l, b, &options, common, "options->solve_first");
    options.solve_first = 1;
    options.max_steps = -1;
    expect_refusal(a, l, b, &options, common, "options->max_steps");
    CHECK(gpusolve_cholmod_refine(a, l, b, NULL, NULL, NULL, NULL) == NULL);
    free_dense(&b, common);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&small, common);
    cholmod_free_sparse(&c, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common narrow, wide;
    REQUIRE(cholmod_start(&narrow) && cholmod_l_start(&wide));
    narrow.error_handler = wide.error_handler = remember;
    test_refinement(&narrow, &wide);
    test_refusals(&narrow);
    testing_in("all");
    cholmod_finish(&narrow);
    cholmod_l_finish(&wide);
    CHECK(narrow.malloc_count == 0 && wide.malloc_count == 0);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
