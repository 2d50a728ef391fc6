/*
 * Batches of CHOLMOD's factors: every member's X is that of cholmod_solve, for every form of factor, both index types, all nine systems,
 * blocks of every xtype and members of several orders, in the caller's blocks, in place and in blocks that the call makes, with members
 * left out; after refreshes of some members; stored in single precision. Then everything that can be wrong.
 */
#include "told.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod_batch.h"

#include <float.h>

enum { MEMBERS = 4 };

typedef struct batch_case {
    cholmod_sparse *a[MEMBERS], *w[MEMBERS]; /* w: with 64-bit indices */
    cholmod_factor *l[MEMBERS];
    gpusolve_batch *batch;
    gpusolve_batch_workspace *workspace;
} batch_case;

/* Members 0 and 3 have one pattern. */
static void open_case(gpusolve_handle *handle, int xtype, int form, gpusolve_storage storage, batch_case *c,
                      cholmod_common *narrow, cholmod_common *common, cholmod_common *wide) {
    static const int grid[MEMBERS][3] = {{6, 5, 1}, {1, 1, 1}, {4, 3, 3}, {6, 5, 1}};
    gpusolve_status statuses[MEMBERS];
    for (int m = 0; m < MEMBERS; m++) {
        c->a[m] = grid_matrix(grid[m][0], grid[m][1], grid[m][2], xtype, narrow);
        c->w[m] = widen(c->a[m], wide);
        /* members of L L' are supernodal and simplicial in turn */
        c->l[m] = factor_of_form(c->a[m], c->w[m], form < 2 ? (form + m) % 2 : form, common);
        statuses[m] = GPUSOLVE_SINGULAR;
    }
    REQUIRE(gpusolve_cholmod_batch_create(handle, MEMBERS, c->l, storage, statuses, &c->batch, common) ==
            GPUSOLVE_OK);
    for (int m = 0; m < MEMBERS; m++)
        CHECK_STATUS(statuses[m], GPUSOLVE_OK);
    REQUIRE(gpusolve_batch_workspace_create(handle, c->batch, 2, &c->workspace) == GPUSOLVE_OK);
}

static void close_case(batch_case *c, cholmod_common *narrow, cholmod_common *common, cholmod_common *wide) {
    gpusolve_batch_workspace_destroy(c->workspace);
    gpusolve_batch_destroy(c->batch);
    for (int m = 0; m < MEMBERS; m++) {
        free_factor_of(&c->l[m], common);
        cholmod_free_sparse(&c->a[m], narrow);
        cholmod_l_free_sparse(&c->w[m], wide);
    }
}

/* How a solve is tried. */
typedef struct way {
    int sys;
    int mixed; /* members have blocks of xtypes in turn, beginning with b_xtype; else all have b_xtype */
    int b_xtype;
    int given; /* 0: the call makes X; 1: blocks of the caller's with gaps; 2: in place where the type is right */
    int active; /* leave member 2 out */
    double limit;
} way;

static cholmod_dense *block_for_answer(const way *w, int m, cholmod_dense *b, int expected,
                                       cholmod_common *common) {
    if (w->given == 0)
        return NULL;
    if (w->given == 2 && (b->xtype == CHOLMOD_REAL) == (expected == CHOLMOD_REAL))
        return b;
    const int xtype = expected == CHOLMOD_REAL ? CHOLMOD_REAL : m % 2 ? CHOLMOD_COMPLEX : CHOLMOD_ZOMPLEX;
    return random_dense(b->nrow, b->ncol, b->nrow + (size_t)m, xtype, common);
}

static void check_solve(gpusolve_handle *handle, const batch_case *c, const way *w, cholmod_common *common) {
    static const uint8_t most[MEMBERS] = {1, 7, 0, 255};
    const size_t objects = common->malloc_count;
    cholmod_dense *b[MEMBERS], *x[MEMBERS], *block[MEMBERS], *expected[MEMBERS];
    testing_in("sys %d, itype %d, xtypes %d %d, mixed %d, given %d, active %d, prefer_zomplex %d", w->sys,
               c->l[0]->itype, c->l[0]->xtype, w->b_xtype, w->mixed, w->given, w->active,
               common->prefer_zomplex);
    for (int m = 0; m < MEMBERS; m++) {
        const size_t n = c->l[m]->n, gap = w->sys == CHOLMOD_Pt ? 0 : (size_t)m; /* 3.0.14's own fault */
        const int xtype = w->mixed ? 1 + (w->b_xtype + m) % 3 : w->b_xtype;
        b[m] = random_dense(n, 1 + (size_t)m % 3, n + gap, xtype, common);
        expected[m] = reference_solve(w->sys, c->l[m], b[m], common);
        REQUIRE(expected[m] != NULL);
        x[m] = block[m] = block_for_answer(w, m, b[m], expected[m]->xtype, common);
    }
    cholmod_dense *untouched = w->active ? b[2] : NULL;
    if (w->active) { /* what is not looked at may be anything */
        b[2] = NULL;
        if (x[2] == untouched)
            x[2] = block[2] = NULL;
    }
    CHECK_STATUS(gpusolve_cholmod_batch_solve(handle, c->batch, c->workspace, w->sys, b, x,
                                              w->active ? most : NULL, common),
                 GPUSOLVE_OK);
    CHECK(common->status == CHOLMOD_OK && handled == 0);
    for (int m = 0; m < MEMBERS; m++) {
        const int is_active = !w->active || most[m];
        CHECK(block[m] ? x[m] == block[m] : (x[m] != NULL) == is_active);
        if (is_active && CHECK(x[m] != NULL)) {
            CHECK(block[m] || x[m]->xtype == expected[m]->xtype);
            CHECK(x[m]->nrow == expected[m]->nrow && x[m]->ncol == expected[m]->ncol);
            CHECK_BELOW(difference(x[m], expected[m]), w->limit);
        }
        if (!is_active && x[m]) {
            cholmod_dense *fresh = random_dense(x[m]->nrow, x[m]->ncol, x[m]->d, x[m]->xtype, common);
            CHECK(difference(x[m], fresh) == 0);
            free_dense(&fresh, common);
        }
    }
    if (w->active)
        b[2] = untouched;
    for (int m = 0; m < MEMBERS; m++) {
        if (x[m] != b[m])
            free_dense(&x[m], common);
        free_dense(&b[m], common);
        free_dense(&expected[m], common);
    }
    CHECK(common->malloc_count == objects);
}

static void check_solves(gpusolve_handle *handle, const batch_case *c, cholmod_common *common) {
    int turn = 0;
    for (int sys = CHOLMOD_A; sys <= CHOLMOD_Pt; sys++)
        for (int b_xtype = CHOLMOD_REAL; b_xtype <= CHOLMOD_ZOMPLEX; b_xtype++)
            for (int mixed = 0; mixed <= 1; mixed++)
                for (int given = 0; given <= 2; given++, turn++) {
                    const way w = {sys, mixed, b_xtype, given, turn % 4 == 3, 1e-13};
                    common->prefer_zomplex = turn % 5 < 2;
                    check_solve(handle, c, &w, common);
                }
    common->prefer_zomplex = 0;
}

/* Twice A(m) has twice D, or L times the root of 2. */
static void factorise_twice(batch_case *c, int m, cholmod_common *common) {
    const size_t entries = (size_t)((int *)c->a[m]->p)[c->a[m]->ncol];
    const int split = c->a[m]->xtype == CHOLMOD_ZOMPLEX;
    for (size_t k = 0; k < entries * (c->a[m]->xtype == CHOLMOD_COMPLEX ? 2 : 1); k++) {
        ((double *)c->a[m]->x)[k] *= 2;
        ((double *)c->w[m]->x)[k] *= 2;
    }
    for (size_t k = 0; split && k < entries; k++) {
        ((double *)c->a[m]->z)[k] *= 2;
        ((double *)c->w[m]->z)[k] *= 2;
    }
    common->final_ll = c->l[m]->is_ll;
    REQUIRE(is_wide(common) ? cholmod_l_factorize(c->w[m], c->l[m], common)
                            : cholmod_factorize(c->a[m], c->l[m], common));
    common->final_ll = 0;
}

static void check_refresh(gpusolve_handle *handle, batch_case *c, cholmod_common *common) {
    static const int ranges[][2] = {{1, 1}, {2, 2}, {0, MEMBERS}, {MEMBERS, 0}};
    const way w = {CHOLMOD_A, 0, CHOLMOD_REAL, 1, 0, 1e-13};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const int first = ranges[k][0], count = ranges[k][1];
        gpusolve_status statuses[MEMBERS] = {GPUSOLVE_SINGULAR, GPUSOLVE_SINGULAR, GPUSOLVE_SINGULAR,
                                             GPUSOLVE_SINGULAR};
        for (int m = first; m < first + count; m++)
            factorise_twice(c, m, common);
        CHECK_STATUS(
            gpusolve_cholmod_batch_refresh(handle, c->batch, first, count, c->l + first, statuses, common),
            GPUSOLVE_OK);
        CHECK(common->status == CHOLMOD_OK);
        for (int m = 0; m < MEMBERS; m++)
            CHECK_STATUS(statuses[m], m < count ? GPUSOLVE_OK : GPUSOLVE_SINGULAR);
        check_solve(handle, c, &w, common);
    }
}

static void test_against_cholmod(gpusolve_backend backend, cholmod_common *narrow, cholmod_common *wide) {
    gpusolve_handle *handle = testing_handle(backend, 2);
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
        for (int form = 0; form < 3; form++)
            for (int is_narrow = 0; is_narrow <= 1; is_narrow++) {
                cholmod_common *common = is_narrow ? narrow : wide;
                batch_case c;
                open_case(handle, xtype, form, GPUSOLVE_STORAGE_SAME, &c, narrow, common, wide);
                check_solves(handle, &c, common);
                check_refresh(handle, &c, common);
                close_case(&c, narrow, common, wide);
            }
    gpusolve_destroy(handle);
}

/* L in single precision: near, and no nearer than that lets it be. */
static void test_stored(gpusolve_backend backend, cholmod_common *narrow, cholmod_common *wide) {
    gpusolve_handle *handle = testing_handle(backend, 2);
    for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_COMPLEX; xtype++) {
        const way near = {CHOLMOD_A, 1, CHOLMOD_REAL, 0, 0, 10 * (double)FLT_EPSILON};
        batch_case c;
        open_case(handle, xtype, 0, GPUSOLVE_STORAGE_SINGLE, &c, narrow, narrow, wide);
        check_solve(handle, &c, &near, narrow);
        for (int m = 0; m < MEMBERS; m++)
            factorise_twice(&c, m, narrow);
        CHECK_STATUS(gpusolve_cholmod_batch_refresh(handle, c.batch, 0, MEMBERS, c.l, NULL, narrow),
                     GPUSOLVE_OK);
        check_solve(handle, &c, &near, narrow);
        cholmod_dense *b[MEMBERS], *x[MEMBERS] = {NULL};
        for (int m = 0; m < MEMBERS; m++)
            b[m] = random_dense(c.l[m]->n, 1, c.l[m]->n, CHOLMOD_REAL, narrow);
        REQUIRE(gpusolve_cholmod_batch_solve(handle, c.batch, c.workspace, CHOLMOD_A, b, x, NULL, narrow) ==
                GPUSOLVE_OK);
        cholmod_dense *exact = reference_solve(CHOLMOD_A, c.l[0], b[0], narrow);
        CHECK_BELOW(1e-12, difference(x[0], exact));
        free_dense(&exact, narrow);
        for (int m = 0; m < MEMBERS; m++) {
            free_dense(&b[m], narrow);
            free_dense(&x[m], narrow);
        }
        close_case(&c, narrow, narrow, wide);
    }
    gpusolve_destroy(handle);
}

/* ---------------------------------------------------------------------------------------- refusals --- */

static void refuse_factors(gpusolve_handle *handle, int64_t count, cholmod_factor *const *l, int bad,
                           gpusolve_status expected, const char *says, cholmod_common *common) {
    gpusolve_status statuses[MEMBERS] = {GPUSOLVE_BUSY, GPUSOLVE_BUSY, GPUSOLVE_BUSY, GPUSOLVE_BUSY};
    gpusolve_batch *batch = (gpusolve_batch *)&batch;
    const refusal before = before_refusal(common);
    const gpusolve_status status = gpusolve_cholmod_batch_create(handle, count, l, GPUSOLVE_STORAGE_SAME,
                                                                 bad >= 0 ? statuses : NULL, &batch, common);
    check_refusal(handle, before, status, expected, says, common);
    CHECK(batch == NULL);
    for (int m = 0; m < MEMBERS && bad >= 0; m++)
        CHECK_STATUS(statuses[m], m == bad ? expected : GPUSOLVE_OK);
}

static void test_factor_refusals(gpusolve_handle *handle, batch_case *c, cholmod_common *common) {
    cholmod_factor *l[MEMBERS], bad;
    memcpy(l, c->l, sizeof l);
    refuse_factors(handle, -1, l, -1, GPUSOLVE_INVALID_ARGUMENT, "count: is -1", common);
    refuse_factors(handle, INT64_MAX, l, -1, GPUSOLVE_TOO_LARGE, "count: ", common);
    refuse_factors(handle, 1, NULL, -1, GPUSOLVE_INVALID_ARGUMENT, "L: is NULL", common);
    l[2] = NULL;
    refuse_factors(handle, MEMBERS, l, 2, GPUSOLVE_INVALID_ARGUMENT, "members[2]: L: is NULL", common);
    l[2] = &bad;
    bad = *c->l[2];
    bad.xtype = CHOLMOD_PATTERN;
    refuse_factors(handle, MEMBERS, l, 2, GPUSOLVE_INVALID_FACTOR, "members[2]: xtype: L is symbolic",
                   common);
    bad = *c->l[2];
    bad.itype = 1;
    refuse_factors(handle, MEMBERS, l, 2, GPUSOLVE_NOT_SUPPORTED, "members[2]: itype", common);
    bad = *c->l[2];
    bad.minor = 3;
    refuse_factors(handle, MEMBERS, l, 2, GPUSOLVE_NOT_POSITIVE_DEFINITE, "members[2]: ", common);
    const refusal before = before_refusal(common);
    check_refusal(handle, before,
                  gpusolve_cholmod_batch_create(handle, 1, c->l, GPUSOLVE_STORAGE_SAME, NULL, NULL, common),
                  GPUSOLVE_INVALID_ARGUMENT, "batch: is NULL", common);
    gpusolve_batch *batch = NULL;
    CHECK_STATUS(gpusolve_cholmod_batch_create(handle, 1, c->l, GPUSOLVE_STORAGE_SAME, NULL, &batch, NULL),
                 GPUSOLVE_INVALID_ARGUMENT);
    CHECK(batch == NULL && strstr(gpusolve_last_error(handle), "Common: is NULL") != NULL);
}

static void refuse_refresh(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first, int64_t count,
                           cholmod_factor *const *l, gpusolve_status expected, const char *says,
                           cholmod_common *common) {
    const refusal before = before_refusal(common);
    const gpusolve_status status =
        gpusolve_cholmod_batch_refresh(handle, batch, first, count, l, NULL, common);
    check_refusal(handle, before, status, expected, says, common);
}

static void test_refresh_refusals(gpusolve_handle *handle, batch_case *c, cholmod_common *common) {
    const gpusolve_status invalid = GPUSOLVE_INVALID_ARGUMENT;
    cholmod_factor bad = *c->l[3], *const one[] = {&bad};
    refuse_refresh(handle, NULL, 0, 1, c->l, invalid, "batch", common);
    refuse_refresh(handle, c->batch, -1, 1, c->l, invalid, "first: is -1", common);
    refuse_refresh(handle, c->batch, 5, 0, c->l, invalid, "first: is 5", common);
    refuse_refresh(handle, c->batch, 1, MEMBERS, c->l, invalid, "count: is more than", common);
    refuse_refresh(handle, c->batch, 1, -1, c->l, invalid, "count: is -1", common);
    refuse_refresh(handle, c->batch, 1, 1, NULL, invalid, "L: is NULL", common);
    refuse_refresh(handle, c->batch, 1, 1, c->l, GPUSOLVE_PATTERN_MISMATCH, "members[1]: ", common);
    bad.xtype = CHOLMOD_PATTERN;
    refuse_refresh(handle, c->batch, 3, 1, one, GPUSOLVE_INVALID_FACTOR, "members[3]: xtype", common);
    CHECK_STATUS(gpusolve_cholmod_batch_refresh(handle, c->batch, 0, 1, c->l, NULL, NULL), invalid);
}

static void refuse_solve(gpusolve_handle *handle, const batch_case *c, int sys, cholmod_dense *const *b,
                         cholmod_dense **x, gpusolve_status expected, const char *says,
                         cholmod_common *common) {
    const refusal before = before_refusal(common);
    const gpusolve_status status =
        gpusolve_cholmod_batch_solve(handle, c->batch, c->workspace, sys, b, x, NULL, common);
    check_refusal(handle, before, status, expected, says, common);
}

static void test_solve_refusals(gpusolve_handle *handle, batch_case *c, cholmod_common *common) {
    const gpusolve_status invalid = GPUSOLVE_INVALID_ARGUMENT, mismatch = GPUSOLVE_TYPE_MISMATCH;
    cholmod_dense *b[MEMBERS], *x[MEMBERS] = {NULL}, *good, bad;
    for (int m = 0; m < MEMBERS; m++)
        b[m] = random_dense(c->l[m]->n, 2, c->l[m]->n, CHOLMOD_REAL, common);
    x[0] = random_dense(c->l[0]->n, 2, c->l[0]->n, CHOLMOD_REAL, common);
    good = random_dense(c->l[0]->n, 2, c->l[0]->n, CHOLMOD_REAL, common);
    refuse_solve(handle, c, -1, b, x, invalid, "sys: ", common);
    refuse_solve(handle, c, 9, b, x, invalid, "sys: ", common);
    refuse_solve(handle, c, CHOLMOD_A, NULL, x, invalid, "B: is NULL", common);
    refuse_solve(handle, c, CHOLMOD_A, b, NULL, invalid, "X: is NULL", common);
    cholmod_dense *const third = b[2];
    b[2] = NULL;
    refuse_solve(handle, c, CHOLMOD_A, b, x, invalid, "B[2]: is NULL", common);
    b[2] = &bad;
    bad = *third;
    bad.nrow--;
    refuse_solve(handle, c, CHOLMOD_A, b, x, invalid, "B[2]: must have", common);
    bad = *third;
    bad.xtype = CHOLMOD_ZOMPLEX;
    refuse_solve(handle, c, CHOLMOD_A, b, x, invalid, "B[2]: z: is NULL", common);
    b[2] = third;
    bad = *third;
    bad.ncol = 1;
    x[2] = &bad;
    refuse_solve(handle, c, CHOLMOD_A, b, x, invalid, "X[2]: has another number", common);
    bad = *third;
    bad.xtype = CHOLMOD_COMPLEX;
    refuse_solve(handle, c, CHOLMOD_A, b, x, mismatch, "X[2]: xtype", common);
    bad = *third; /* shares memory with b, but is not b */
    bad.x = (double *)third->x + 1;
    refuse_solve(handle, c, CHOLMOD_A, b, x, invalid, "member 2: ", common);
    x[2] = NULL;

    batch_case other = *c;
    other.workspace = NULL;
    refuse_solve(handle, &other, CHOLMOD_A, b, x, invalid, "workspace", common);
    other.batch = NULL;
    refuse_solve(handle, &other, CHOLMOD_A, b, x, invalid, "batch", common);
    CHECK_STATUS(gpusolve_cholmod_batch_solve(handle, c->batch, c->workspace, CHOLMOD_A, b, x, NULL, NULL),
                 invalid);
    CHECK(!x[1] && !x[2] && !x[3] && difference(x[0], good) == 0);
    free_dense(&good, common);
    free_dense(&x[0], common);
    for (int m = 0; m < MEMBERS; m++)
        free_dense(&b[m], common);
}

static void test_refusals(cholmod_common *narrow, cholmod_common *wide) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    batch_case c;
    open_case(handle, CHOLMOD_REAL, 0, GPUSOLVE_STORAGE_SAME, &c, narrow, narrow, wide);
    test_factor_refusals(handle, &c, narrow);
    test_refresh_refusals(handle, &c, narrow);
    test_solve_refusals(handle, &c, narrow);
    const way w = {CHOLMOD_A, 0, CHOLMOD_REAL, 0, 0, 1e-13};
    testing_in("after all refusals");
    check_solve(handle, &c, &w, narrow);
    close_case(&c, narrow, narrow, wide);
    gpusolve_destroy(handle);
}

int main(void) {
    cholmod_common narrow, wide;
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    REQUIRE(cholmod_start(&narrow) && cholmod_l_start(&wide));
    narrow.error_handler = wide.error_handler = remember;
    for (int k = 0; k < count; k++) {
        test_against_cholmod(backends[k], &narrow, &wide);
        test_stored(backends[k], &narrow, &wide);
    }
    test_refusals(&narrow, &wide);
    testing_in("all");
    cholmod_finish(&narrow);
    cholmod_l_finish(&wide);
    CHECK(narrow.malloc_count == 0 && wide.malloc_count == 0);
    return testing_done();
}
