/*
 * gpusolve_cholmod_multiply and gpusolve_cholmod_inverse: every form of factor, both index types, real, complex and zomplex factors and
 * blocks. CHOLMOD's own solves take products back. Entries of the inverse are those of CHOLMOD's solve with the identity, on packed and
 * unpacked patterns of one triangle and of both. Then everything that can be wrong.
 */
#include "told.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod_operands.h"

enum { OPERATORS = 5 };

/* ---------------------------------------------------------------------------------------- products --- */

/* x of y = operation x, by CHOLMOD. */
static cholmod_dense *take_back(gpusolve_operator operation, cholmod_factor *l, cholmod_dense *y,
                                cholmod_common *common) {
    static const int systems[OPERATORS][2] = {
        {CHOLMOD_L, -1}, {CHOLMOD_Lt, -1}, {CHOLMOD_P, CHOLMOD_L}, {CHOLMOD_Lt, CHOLMOD_Pt}, {CHOLMOD_A, -1}};
    cholmod_dense *x = reference_solve(systems[operation][0], l, y, common);
    REQUIRE(x != NULL);
    if (systems[operation][1] >= 0) {
        cholmod_dense *between = x;
        x = reference_solve(systems[operation][1], l, between, common);
        REQUIRE(x != NULL);
        free_dense(&between, common);
    }
    return x;
}

/* Without what lies between its columns: CHOLMOD 3.0.14's permutations read a block as if d were n. */
static cholmod_dense *without_gaps(const cholmod_dense *y, cholmod_common *common) {
    cholmod_dense *packed = random_dense(y->nrow, y->ncol, y->nrow, y->xtype, common);
    const size_t parts = y->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    for (size_t j = 0; j < y->ncol; j++) {
        memcpy((double *)packed->x + parts * j * packed->d, (const double *)y->x + parts * j * y->d,
               parts * y->nrow * sizeof(double));
        if (y->xtype == CHOLMOD_ZOMPLEX)
            memcpy((double *)packed->z + j * packed->d, (const double *)y->z + j * y->d,
                   y->nrow * sizeof(double));
    }
    return packed;
}

/* Whether the rows between n and d hold what random_dense put there. */
static int gaps_are_as_before(const cholmod_dense *y, cholmod_common *common) {
    cholmod_dense *fresh = random_dense(y->nrow, y->ncol, y->d, y->xtype, common);
    int same = 1;
    for (size_t j = 0; j < y->ncol; j++)
        for (size_t i = y->nrow; i < y->d; i++)
            same = same && dense_at(y, i + j * y->d) == dense_at(fresh, i + j * y->d);
    free_dense(&fresh, common);
    return same;
}

/* given: the xtype of a block for the answer, or -1; IN_PLACE: x itself. */
enum { IN_PLACE = 99 };

static void check_product(gpusolve_handle *handle, const gpusolve_factor *factor, cholmod_factor *l,
                          gpusolve_operator operation, int x_xtype, size_t cols, int given,
                          cholmod_common *common) {
    const size_t n = l->n, padding = cols - 1;
    const int real = l->xtype == CHOLMOD_REAL && x_xtype == CHOLMOD_REAL, chosen = real ? CHOLMOD_REAL
                                                                                   : common->prefer_zomplex
                                                                                       ? CHOLMOD_ZOMPLEX
                                                                                       : CHOLMOD_COMPLEX;
    testing_in("operator %d, xtypes %d %d, form %d %d, itype %d, %zu columns, given %d", (int)operation,
               l->xtype, x_xtype, l->is_super, l->is_ll, l->itype, cols, given);
    const size_t objects = common->malloc_count;
    cholmod_dense *x = random_dense(n, cols, n + padding, x_xtype, common),
                  *before = random_dense(n, cols, n + padding, x_xtype, common),
                  *block = given == IN_PLACE ? x
                           : given >= 0      ? random_dense(n, cols, n + 2, given, common)
                                             : NULL,
                  *y = block;
    CHECK_STATUS(gpusolve_cholmod_multiply(handle, factor, operation, x, &y, common), GPUSOLVE_OK);
    CHECK(common->status == CHOLMOD_OK && handled == 0);
    if (CHECK(y != NULL)) {
        CHECK(block ? y == block : y->xtype == chosen && y->dtype == x->dtype && y->d == n);
        CHECK(y->nrow == n && y->ncol == cols && gaps_are_as_before(y, common));
        cholmod_dense *packed = without_gaps(y, common), *back = take_back(operation, l, packed, common);
        CHECK_BELOW(difference(back, before), 1e-12);
        CHECK_BELOW(1e-3, difference(y, before)); /* so y is not x */
        if (given != IN_PLACE)
            CHECK(difference(x, before) == 0);
        free_dense(&back, common);
        free_dense(&packed, common);
    }
    if (y != x)
        free_dense(&y, common);
    free_dense(&x, common);
    free_dense(&before, common);
    CHECK(common->malloc_count == objects);
}

static void check_products(gpusolve_handle *handle, cholmod_factor *l, cholmod_common *common) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    for (int op = 0; op < OPERATORS; op++)
        for (int x_xtype = CHOLMOD_REAL; x_xtype <= CHOLMOD_ZOMPLEX; x_xtype++) {
            const gpusolve_operator operation = (gpusolve_operator)op;
            const int real = l->xtype == CHOLMOD_REAL && x_xtype == CHOLMOD_REAL;
            for (int prefer = 0; prefer <= 1; prefer++) {
                common->prefer_zomplex = prefer;
                check_product(handle, factor, l, operation, x_xtype, 1 + (size_t)prefer, -1, common);
            }
            common->prefer_zomplex = 0;
            for (int given = CHOLMOD_REAL; given <= CHOLMOD_ZOMPLEX; given++)
                if ((given == CHOLMOD_REAL) == real)
                    check_product(handle, factor, l, operation, x_xtype, 3, given, common);
            if ((x_xtype == CHOLMOD_REAL) == real)
                check_product(handle, factor, l, operation, x_xtype, 2, IN_PLACE, common);
        }
    gpusolve_factor_destroy(factor);
}

/* ---------------------------------------------------------------------------------------- inverses --- */

static int64_t index_of(const void *array, const cholmod_common *common, size_t k) {
    return is_wide(common) ? ((const SuiteSparse_long *)array)[k] : ((const int *)array)[k];
}

static void free_sparse(cholmod_sparse **a, cholmod_common *common) {
    if (is_wide(common))
        cholmod_l_free_sparse(a, common);
    else
        cholmod_free_sparse(a, common);
}

/* The pattern of s with every column backwards, behind gaps. */
static cholmod_sparse *loosen(const cholmod_sparse *s, cholmod_common *common) {
    const size_t n = s->ncol, entries = (size_t)index_of(s->p, common, n);
    cholmod_sparse *loose =
        is_wide(common)
            ? cholmod_l_allocate_sparse(n, n, 2 * entries + 1, 0, 0, s->stype, CHOLMOD_PATTERN, common)
            : cholmod_allocate_sparse(n, n, 2 * entries + 1, 0, 0, s->stype, CHOLMOD_PATTERN, common);
    REQUIRE(loose != NULL);
    const gpusolve_itype itype = is_wide(common) ? GPUSOLVE_INT64 : GPUSOLVE_INT32;
    for (size_t k = 0; k < loose->nzmax; k++)
        set_index(loose->i, itype, (int64_t)k, -7);
    for (size_t j = 0; j <= n; j++)
        set_index(loose->p, itype, (int64_t)j, 2 * index_of(s->p, common, j) + (j < n));
    for (size_t j = 0; j < n; j++) {
        const int64_t begin = index_of(s->p, common, j), end = index_of(s->p, common, j + 1);
        set_index(loose->nz, itype, (int64_t)j, end - begin);
        for (int64_t k = begin; k < end; k++)
            set_index(loose->i, itype, 2 * begin + 1 + end - 1 - k, index_of(s->i, common, (size_t)k));
    }
    return loose;
}

/* inv(A), n x n, by CHOLMOD. */
static cholmod_dense *invert(cholmod_factor *l, cholmod_common *common) {
    cholmod_dense *e = is_wide(common) ? cholmod_l_eye(l->n, l->n, CHOLMOD_REAL, common)
                                       : cholmod_eye(l->n, l->n, CHOLMOD_REAL, common);
    REQUIRE(e != NULL);
    cholmod_dense *x = reference_solve(CHOLMOD_A, l, e, common);
    REQUIRE(x != NULL);
    free_dense(&e, common);
    return x;
}

static double complex number_of(const cholmod_sparse *z, int64_t k) {
    const double *re = z->x, *im = z->z;
    if (z->xtype == CHOLMOD_COMPLEX)
        return CMPLX(re[2 * k], re[2 * k + 1]);
    return z->xtype == CHOLMOD_ZOMPLEX ? CMPLX(re[k], im[k]) : re[k];
}

static void check_entries(gpusolve_handle *handle, const gpusolve_factor *factor, const cholmod_factor *l,
                          const cholmod_sparse *s, const cholmod_dense *inverse, cholmod_common *common) {
    const int chosen = l->xtype == CHOLMOD_REAL ? CHOLMOD_REAL
                       : common->prefer_zomplex ? CHOLMOD_ZOMPLEX
                                                : CHOLMOD_COMPLEX;
    const size_t objects = common->malloc_count;
    cholmod_sparse *z = NULL;
    double worst = 0;
    testing_in("the inverse, xtypes %d %d, form %d %d, itype %d, stype %d, packed %d", l->xtype, s->xtype,
               l->is_super, l->is_ll, l->itype, s->stype, s->packed);
    CHECK_STATUS(gpusolve_cholmod_inverse(handle, factor, s, &z, common), GPUSOLVE_OK);
    if (!CHECK(z != NULL))
        return;
    CHECK(common->status == CHOLMOD_OK && handled == 0);
    CHECK(is_wide(common) ? cholmod_l_check_sparse(z, common) : cholmod_check_sparse(z, common));
    CHECK(z->nrow == l->n && z->ncol == l->n && z->stype == s->stype && z->sorted == s->sorted && z->packed);
    CHECK(z->xtype == chosen && z->dtype == CHOLMOD_DOUBLE && z->itype == s->itype);
    int64_t count = 0, same = 1;
    for (size_t j = 0; j < l->n; j++) {
        const int64_t begin = index_of(s->p, common, j),
                      end = s->packed ? index_of(s->p, common, j + 1) : begin + index_of(s->nz, common, j);
        same = same && index_of(z->p, common, j) == count;
        for (int64_t k = begin; k < end; k++, count++) {
            const int64_t i = index_of(s->i, common, (size_t)k);
            same = same && index_of(z->i, common, (size_t)count) == i;
            worst = testing_worse(worst,
                                  cabs(number_of(z, count) - dense_at(inverse, (size_t)i + j * inverse->d)));
        }
    }
    CHECK(same && index_of(z->p, common, l->n) == count && count > 0);
    CHECK_BELOW(worst, 1e-14); /* the largest entries are some 0.15 */
    free_sparse(&z, common);
    CHECK(common->malloc_count == objects);
}

static void check_inverse(gpusolve_handle *handle, cholmod_sparse *a, cholmod_factor *l,
                          cholmod_common *common) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    cholmod_dense *inverse = invert(l, common);
    for (int stype = -1; stype <= 1; stype++) {
        cholmod_sparse *s = is_wide(common) ? cholmod_l_copy(a, stype, 0, common)
                                            : cholmod_copy(a, stype, 0, common); /* its pattern */
        REQUIRE(s != NULL && s->xtype == CHOLMOD_PATTERN);
        cholmod_sparse *loose = loosen(s, common);
        common->prefer_zomplex = stype == 0;
        check_entries(handle, factor, l, s, inverse, common);
        check_entries(handle, factor, l, loose, inverse, common);
        free_sparse(&loose, common);
        free_sparse(&s, common);
    }
    common->prefer_zomplex = 0;
    check_entries(handle, factor, l, a, inverse, common); /* with numbers */
    free_dense(&inverse, common);
    gpusolve_factor_destroy(factor);
}

/* --------------------------------------------------------------------------------------- all of it --- */

static void test_against_cholmod(gpusolve_backend backend, cholmod_common *narrow, cholmod_common *wide) {
    gpusolve_handle *handle = testing_handle(backend, 2);
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
        for (int form = 0; form < 3; form++) {
            cholmod_sparse *a = grid_matrix(7, 6, 2, xtype, narrow), *w = widen(a, wide);
            for (int is_narrow = 0; is_narrow <= 1; is_narrow++) {
                cholmod_common *common = is_narrow ? narrow : wide;
                cholmod_factor *l = factor_of_form(a, w, form, common);
                check_products(handle, l, common);
                check_inverse(handle, is_narrow ? a : w, l, common);
                free_factor_of(&l, common);
            }
            cholmod_free_sparse(&a, narrow);
            cholmod_l_free_sparse(&w, wide);
        }
    gpusolve_destroy(handle);
}

/* --------------------------------------------------------------------------------------- refusals --- */

static void refuse_product(gpusolve_handle *handle, const gpusolve_factor *factor, int operation,
                           const cholmod_dense *x, cholmod_dense **y, cholmod_common *common,
                           gpusolve_status expected, const char *says) {
    const cholmod_dense *given = y ? *y : NULL;
    const refusal before = before_refusal(common);
    const gpusolve_status status =
        gpusolve_cholmod_multiply(handle, factor, (gpusolve_operator)operation, x, y, common);
    check_refusal(handle, before, status, expected, says, common);
    CHECK(!y || *y == given);
}

static void test_product_refusals(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  cholmod_common *common) {
    const gpusolve_status invalid = GPUSOLVE_INVALID_ARGUMENT, mismatch = GPUSOLVE_TYPE_MISMATCH;
    cholmod_dense *x = random_dense(30, 2, 31, CHOLMOD_REAL, common),
                  *y = random_dense(30, 2, 30, CHOLMOD_REAL, common),
                  *same = random_dense(30, 2, 30, CHOLMOD_REAL, common), bad, *given = y, *none = NULL;
    refuse_product(handle, NULL, 0, x, &given, common, invalid, "factor");
    refuse_product(handle, factor, 0, NULL, &given, common, invalid, "X: is NULL");
    refuse_product(handle, factor, 0, x, NULL, common, invalid, "Y: is NULL");
    refuse_product(handle, factor, 5, x, &given, common, invalid, "operation");
    refuse_product(handle, factor, 5, x, &none, common, invalid, "operation");
    bad = *x;
    bad.nrow = 29;
    refuse_product(handle, factor, 0, &bad, &none, common, invalid, "X: must have");
    bad = *x;
    bad.d = 29;
    refuse_product(handle, factor, 0, &bad, &none, common, invalid, "X: must have");
    bad = *x;
    bad.x = NULL;
    refuse_product(handle, factor, 0, &bad, &none, common, invalid, "X: must have");
    bad = *x;
    bad.xtype = CHOLMOD_ZOMPLEX;
    refuse_product(handle, factor, 0, &bad, &none, common, invalid, "X: z: is NULL");
    bad.xtype = CHOLMOD_PATTERN;
    refuse_product(handle, factor, 0, &bad, &none, common, invalid, "X: xtype");
    bad = *x;
    bad.dtype = 99;
    refuse_product(handle, factor, 0, &bad, &none, common, GPUSOLVE_NOT_SUPPORTED, "X: dtype");
    bad = *x;
    bad.ncol = SIZE_MAX / 4 + 1;
    refuse_product(handle, factor, 0, &bad, &none, common, GPUSOLVE_TOO_LARGE, "X: has too many columns");
    bad = *y;
    given = &bad;
    bad.ncol = 1;
    refuse_product(handle, factor, 0, x, &given, common, invalid, "Y: has another number of columns");
    bad.ncol = 2;
    bad.nrow = 29;
    refuse_product(handle, factor, 0, x, &given, common, invalid, "Y: must have");
    bad.nrow = 30;
    bad.xtype = CHOLMOD_COMPLEX;
    refuse_product(handle, factor, 0, x, &given, common, mismatch, "the answer is real");
    given = y;
    refuse_product(handle, factor, 0, &bad, &given, common, mismatch, "the answer is complex");
    bad = *x; /* another block that shares memory with x */
    bad.x = (double *)x->x + 1;
    given = &bad;
    refuse_product(handle, factor, 0, x, &given, common, invalid, "y");
    CHECK(difference(y, same) == 0);
    CHECK_STATUS(gpusolve_cholmod_multiply(handle, factor, GPUSOLVE_TIMES_L, x, &none, NULL), invalid);
    CHECK(none == NULL && strstr(gpusolve_last_error(handle), "Common: is NULL") != NULL);
    free_dense(&x, common);
    free_dense(&y, common);
    free_dense(&same, common);
}

static void refuse_inverse(gpusolve_handle *handle, const gpusolve_factor *factor, const cholmod_sparse *s,
                           cholmod_common *common, gpusolve_status expected, const char *says) {
    cholmod_sparse *z = (cholmod_sparse *)&z;
    const refusal before = before_refusal(common);
    const gpusolve_status status = gpusolve_cholmod_inverse(handle, factor, s, &z, common);
    check_refusal(handle, before, status, expected, says, common);
    CHECK(z == NULL);
}

static void test_inverse_refusals(gpusolve_handle *handle, const gpusolve_factor *factor, cholmod_sparse *a,
                                  cholmod_common *common) {
    const gpusolve_status invalid = GPUSOLVE_INVALID_ARGUMENT;
    int p[31], nz[30], *i = a->i;
    cholmod_sparse bad = *a;
    memcpy(p, a->p, sizeof p);
    refuse_inverse(handle, NULL, a, common, invalid, "factor");
    refuse_inverse(handle, factor, NULL, common, invalid, "S: is NULL");
    bad.nrow = 29;
    refuse_inverse(handle, factor, &bad, common, invalid, "S: must have the factor's order");
    bad.ncol = 29;
    refuse_inverse(handle, factor, &bad, common, invalid, "S: must have the factor's order");
    bad = *a;
    bad.itype = CHOLMOD_LONG;
    refuse_inverse(handle, factor, &bad, common, GPUSOLVE_TYPE_MISMATCH, "S->itype");
    bad.itype = 77;
    refuse_inverse(handle, factor, &bad, common, GPUSOLVE_NOT_SUPPORTED, "itype");
    bad = *a;
    bad.p = NULL;
    refuse_inverse(handle, factor, &bad, common, invalid, "has no p");
    bad = *a;
    bad.packed = 0;
    refuse_inverse(handle, factor, &bad, common, invalid, "has no nz");
    bad = *a;
    bad.i = NULL;
    refuse_inverse(handle, factor, &bad, common, invalid, "S->i: is NULL");
    bad = *a;
    bad.p = p;
    p[0] = -1;
    refuse_inverse(handle, factor, &bad, common, invalid, "S->p");
    p[0] = 0;
    p[7] = p[9];
    refuse_inverse(handle, factor, &bad, common, invalid, "S->p");
    memcpy(p, a->p, sizeof p);
    p[30] = (int)a->nzmax + 1;
    refuse_inverse(handle, factor, &bad, common, invalid, "S->p");
    bad.packed = 0;
    bad.nz = nz;
    for (int j = 0; j < 30; j++)
        nz[j] = 1;
    nz[4] = -1;
    refuse_inverse(handle, factor, &bad, common, invalid, "S->p");
    const int row = i[3];
    i[3] = 30;
    refuse_inverse(handle, factor, a, common, invalid, "rows[3]: is 30");
    i[3] = -1;
    refuse_inverse(handle, factor, a, common, invalid, "rows[3]: is -1");
    i[3] = row;
    const refusal before = before_refusal(common);
    check_refusal(handle, before, gpusolve_cholmod_inverse(handle, factor, a, NULL, common), invalid,
                  "Z: is NULL", common);
    cholmod_sparse *z = NULL;
    CHECK_STATUS(gpusolve_cholmod_inverse(handle, factor, a, &z, NULL), invalid);
    CHECK(z == NULL && strstr(gpusolve_last_error(handle), "Common: is NULL") != NULL);
    CHECK_STATUS(gpusolve_cholmod_inverse(NULL, factor, a, &z, common), invalid);
}

static void test_refusals(cholmod_common *common) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    cholmod_sparse *a = grid_matrix(6, 5, 1, CHOLMOD_REAL, common);
    cholmod_factor *l = factorize(a, 1, common);
    gpusolve_factor *factor, *single;
    REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    test_product_refusals(handle, factor, common);
    test_inverse_refusals(handle, factor, a, common);

    /* a factor in single precision, which did not come from this CHOLMOD */
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = testing_round(l, &data);
    REQUIRE(rounded && gpusolve_factor_create(handle, &data, &single) == GPUSOLVE_OK);
    cholmod_dense *x = random_dense(30, 1, 30, CHOLMOD_REAL, common), *y = NULL;
    refuse_product(handle, single, 0, x, &y, common, GPUSOLVE_TYPE_MISMATCH, "X: dtype");
#if CHOLMOD_MAIN_VERSION < 5
    refuse_inverse(handle, single, a, common, GPUSOLVE_NOT_SUPPORTED, "single precision");
#endif
    free_dense(&x, common);
    gpusolve_factor_destroy(single);
    gpusolve_factor_destroy(factor);
    free(rounded);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
    gpusolve_destroy(handle);
}

int main(void) {
    cholmod_common narrow, wide;
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    REQUIRE(cholmod_start(&narrow) && cholmod_l_start(&wide));
    narrow.error_handler = wide.error_handler = remember;
    for (int k = 0; k < count; k++)
        test_against_cholmod(backends[k], &narrow, &wide);
    test_refusals(&narrow);
    testing_in("all");
    cholmod_finish(&narrow);
    cholmod_l_finish(&wide);
    CHECK(narrow.malloc_count == 0 && wide.malloc_count == 0);
    return testing_done();
}
