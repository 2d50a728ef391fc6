/*
 * gpusolve_cholmod.h with the objects of another CHOLMOD: a factor of order 2 is imported, refreshed and
 * solved with, in one call too, in every precision that this CHOLMOD has.
 */
#ifndef CHOLMOD_MOCK_CHECK_H
#define CHOLMOD_MOCK_CHECK_H

#include "objects.h"

#include "gpusolve_cholmod_batch.h"
#include "testing.h"

/* P = identity, L = [2 .; 1 3], A = [4 2; 2 10]; the solution of A x = b for b = [8; 22] is [1; 2]. */
static int32_t narrow[] = {0, 2, 4};
static int64_t wide[] = {0, 2, 4};
static int32_t narrow_rows[] = {0, 1};
static int64_t wide_rows[] = {0, 1};
static double doubles[] = {2, 1, NAN, 3};
static float floats[] = {2, 1, (float)NAN, 3};
static double right_hand_side[] = {8, 22};
static float right_hand_side_single[] = {8, 22};

/* One supernode of two columns. */
static cholmod_factor small_factor(int itype, int dtype) {
    static int32_t narrow_ends[3][2] = {{0, 2}, {0, 2}, {0, 4}};
    static int64_t wide_ends[3][2] = {{0, 2}, {0, 2}, {0, 4}};
    const int is_wide = itype == CHOLMOD_LONG;
    cholmod_factor l;
    memset(&l, 0, sizeof l);
    l.n = l.minor = 2;
    l.Perm = is_wide ? (void *)wide_rows : (void *)narrow_rows;
    l.nsuper = 1;
    l.ssize = 2;
    l.xsize = 4;
    l.super = is_wide ? (void *)wide_ends[0] : (void *)narrow_ends[0];
    l.pi = is_wide ? (void *)wide_ends[1] : (void *)narrow_ends[1];
    l.px = is_wide ? (void *)wide_ends[2] : (void *)narrow_ends[2];
    l.s = is_wide ? (void *)wide_rows : (void *)narrow_rows;
    l.x = dtype == CHOLMOD_DOUBLE ? (void *)doubles : (void *)floats;
    l.ordering = CHOLMOD_GIVEN;
    l.is_ll = l.is_super = l.is_monotonic = 1;
    l.itype = itype;
    l.xtype = CHOLMOD_REAL;
    l.dtype = dtype;
    return l;
}

static cholmod_dense small_dense(int dtype) {
    cholmod_dense b;
    memset(&b, 0, sizeof b);
    b.nrow = b.d = b.nzmax = 2;
    b.ncol = 1;
    b.x = dtype == CHOLMOD_DOUBLE ? (void *)right_hand_side : (void *)right_hand_side_single;
    b.xtype = CHOLMOD_REAL;
    b.dtype = dtype;
    return b;
}

static double entry(const cholmod_dense *x, size_t k) {
    return x->dtype == CHOLMOD_DOUBLE ? ((const double *)x->x)[k] : (double)((const float *)x->x)[k];
}

static void check_solve(int itype, int dtype) {
    testing_in("CHOLMOD %d, itype %d, dtype %d", CHOLMOD_MAIN_VERSION, itype, dtype);
    cholmod_common common = {.itype = itype, .dtype = dtype};
    cholmod_factor l = small_factor(itype, dtype);
    cholmod_dense b = small_dense(dtype);
    gpusolve_status status;
    char message[256];
    cholmod_dense *x = gpusolve_cholmod_solve_status(CHOLMOD_A, &l, &b, &common, &status, message);
    CHECK_STATUS(status, GPUSOLVE_OK);
    if (CHECK(x != NULL)) {
        CHECK(x->dtype == dtype && x->xtype == CHOLMOD_REAL && common.status == CHOLMOD_OK);
        CHECK_BELOW(fabs(entry(x, 0) - 1) + fabs(entry(x, 1) - 2), 1e-5);
    }
    mock_free_dense(&x, &common);

    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    gpusolve_factor *factor = NULL;
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_cholmod_query(handle, &l, 1, &info), GPUSOLVE_OK);
    CHECK(info.dtype == (dtype == CHOLMOD_DOUBLE ? GPUSOLVE_DOUBLE : GPUSOLVE_FLOAT) && info.nnz_l == 3);
    CHECK_STATUS(gpusolve_cholmod_import(handle, &l, &factor), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, &l), GPUSOLVE_OK);
    gpusolve_factor_destroy(factor);

    gpusolve_matrix *matrix = NULL;
    cholmod_sparse a;
    memset(&a, 0, sizeof a);
    a.nrow = a.ncol = 2;
    a.nzmax = 4;
    a.p = itype == CHOLMOD_LONG ? (void *)wide : (void *)narrow;
    int32_t narrow_index[] = {0, 1, 0, 1};
    int64_t wide_index[] = {0, 1, 0, 1};
    double full[] = {4, 2, 2, 10};
    float full_single[] = {4, 2, 2, 10};
    a.i = itype == CHOLMOD_LONG ? (void *)wide_index : (void *)narrow_index;
    a.x = dtype == CHOLMOD_DOUBLE ? (void *)full : (void *)full_single;
    a.itype = itype;
    a.xtype = CHOLMOD_REAL;
    a.dtype = dtype;
    a.sorted = a.packed = 1;
    CHECK_STATUS(gpusolve_cholmod_matrix(handle, &a, &matrix), GPUSOLVE_OK);
    gpusolve_matrix_destroy(matrix);
    gpusolve_destroy(handle);
    CHECK(common.malloc_count == 0);
}

/* L->Perm swaps the two rows, and is not read if the ordering is CHOLMOD_NATURAL: then the solution is that of
 * check_solve. Otherwise it is that of [10 2; 2 4] x = [8; 22]. */
static void check_natural(void) {
    testing_in("CHOLMOD %d, ordering NATURAL", CHOLMOD_MAIN_VERSION);
    int32_t swap[] = {1, 0};
    const double permuted[] = {-1.0 / 3, 17.0 / 3};
    for (int ordering = CHOLMOD_NATURAL; ordering <= CHOLMOD_GIVEN; ordering++) {
        cholmod_common common = {.itype = CHOLMOD_INT};
        cholmod_factor l = small_factor(CHOLMOD_INT, CHOLMOD_DOUBLE);
        l.Perm = swap;
        l.ordering = ordering;
        cholmod_dense b = small_dense(CHOLMOD_DOUBLE);
        cholmod_dense *x = gpusolve_cholmod_solve(CHOLMOD_A, &l, &b, &common);
        const double *expected = ordering == CHOLMOD_NATURAL ? (const double[]){1, 2} : permuted;
        if (CHECK(x != NULL))
            CHECK_BELOW(fabs(entry(x, 0) - expected[0]) + fabs(entry(x, 1) - expected[1]), 1e-14);
        mock_free_dense(&x, &common);
        x = gpusolve_cholmod_solve(CHOLMOD_P, &l, &b, &common);
        if (CHECK(x != NULL))
            CHECK(entry(x, 0) == (ordering == CHOLMOD_NATURAL ? 8 : 22));
        mock_free_dense(&x, &common);

        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
        gpusolve_factor *factor = NULL;
        gpusolve_info info = {.size = sizeof info};
        CHECK_STATUS(gpusolve_cholmod_import(handle, &l, &factor), GPUSOLVE_OK);
        l.Perm = ordering == CHOLMOD_NATURAL ? NULL : swap; /* never read, or the same */
        CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, &l), GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_cholmod_query(handle, &l, 1, &info), GPUSOLVE_OK);
        l.ordering = !ordering;
        l.Perm = swap;
        CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, &l), GPUSOLVE_PATTERN_MISMATCH);
        gpusolve_factor_destroy(factor);
        gpusolve_destroy(handle);
    }
}

/* A complex factor with a zomplex right-hand side: packed on the way in, unpacked on the way out. */
static void check_zomplex(int dtype) {
    testing_in("CHOLMOD %d, zomplex, dtype %d", CHOLMOD_MAIN_VERSION, dtype);
    cholmod_common common = {.itype = CHOLMOD_INT, .dtype = dtype, .prefer_zomplex = 1};
    double complex_doubles[] = {2, 0, 1, 1, 0, 0, 3, 0}; /* L = [2 .; 1+i 3] */
    float complex_floats[] = {2, 0, 1, 1, 0, 0, 3, 0};
    cholmod_factor l = small_factor(CHOLMOD_INT, dtype);
    l.xtype = CHOLMOD_COMPLEX;
    l.x = dtype == CHOLMOD_DOUBLE ? (void *)complex_doubles : (void *)complex_floats;
    double im[] = {2, 5};
    float im_single[] = {2, 5};
    cholmod_dense b = small_dense(dtype);
    b.xtype = CHOLMOD_ZOMPLEX;
    b.z = dtype == CHOLMOD_DOUBLE ? (void *)im : (void *)im_single;
    cholmod_dense *x = gpusolve_cholmod_solve(CHOLMOD_L, &l, &b, &common);
    if (CHECK(x != NULL) && CHECK(x->xtype == CHOLMOD_ZOMPLEX && x->dtype == dtype)) {
        /* x1 = (8 + 2i) / 2 = 4 + i; x2 = (22 + 5i - (1 + i)(4 + i)) / 3 = (19 + 0i) / 3 */
        const double z0 = dtype == CHOLMOD_DOUBLE ? ((double *)x->z)[0] : (double)((float *)x->z)[0];
        const double z1 = dtype == CHOLMOD_DOUBLE ? ((double *)x->z)[1] : (double)((float *)x->z)[1];
        CHECK_BELOW(fabs(entry(x, 0) - 4) + fabs(z0 - 1), 1e-5);
        CHECK_BELOW(fabs(entry(x, 1) - 19.0 / 3) + fabs(z1), 1e-5);
    }
    mock_free_dense(&x, &common);
    CHECK(common.malloc_count == 0);
}

/* A real factor with a complex and with a zomplex right-hand side, and a complex factor with a real one. */
static void check_mixed(int dtype) {
    testing_in("CHOLMOD %d, real and complex, dtype %d", CHOLMOD_MAIN_VERSION, dtype);
    double both[] = {8, 4, 22, 10}, im[] = {4, 10}, complex_l[] = {2, 0, 1, 0, 0, 0, 3, 0};
    float both_single[] = {8, 4, 22, 10}, im_single[] = {4, 10},
          complex_l_single[] = {2, 0, 1, 0, 0, 0, 3, 0};
    const int is_double = dtype == CHOLMOD_DOUBLE;
    for (int form = 0; form < 3; form++) {
        cholmod_common common = {.itype = CHOLMOD_INT, .dtype = dtype};
        cholmod_factor l = small_factor(CHOLMOD_INT, dtype);
        cholmod_dense b = small_dense(dtype);
        b.xtype = form == 0 ? CHOLMOD_COMPLEX : form == 1 ? CHOLMOD_ZOMPLEX : CHOLMOD_REAL;
        if (form == 0)
            b.x = is_double ? (void *)both : (void *)both_single;
        if (form == 1)
            b.z = is_double ? (void *)im : (void *)im_single;
        if (form == 2) {
            l.xtype = CHOLMOD_COMPLEX;
            l.x = is_double ? (void *)complex_l : (void *)complex_l_single;
        }
        cholmod_dense *x = gpusolve_cholmod_solve(CHOLMOD_A, &l, &b, &common);
        if (CHECK(x != NULL) && CHECK(x->xtype == CHOLMOD_COMPLEX && x->dtype == dtype)) {
            /* [4 2; 2 10] x = [8 + 4i; 22 + 10i] */
            const double imaginary = form < 2;
            CHECK_BELOW(fabs(entry(x, 0) - 1) + fabs(entry(x, 2) - 2), 1e-5);
            CHECK_BELOW(fabs(entry(x, 1) - imaginary * 20 / 36) + fabs(entry(x, 3) - imaginary * 32 / 36),
                        1e-5);
        }
        mock_free_dense(&x, &common);
        CHECK(common.malloc_count == 0);
    }
}

/* Number k of an object's numbers. */
static double number_at(const void *numbers, int dtype, size_t k) {
    return dtype == CHOLMOD_DOUBLE ? ((const double *)numbers)[k] : (double)((const float *)numbers)[k];
}

/* L x, A x and inv(A) on the pattern of L, for x = [8; 22]; and two of the factor as a batch. */
static void check_operands(int itype, int dtype) {
    testing_in("CHOLMOD %d, operands, itype %d, dtype %d", CHOLMOD_MAIN_VERSION, itype, dtype);
    const double products[2][2] = {{16, 74}, {76, 236}}, inverse[3] = {10.0 / 36, -2.0 / 36, 4.0 / 36};
    cholmod_common common = {.itype = itype, .dtype = dtype};
    cholmod_factor l = small_factor(itype, dtype);
    cholmod_dense x = small_dense(dtype);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_cholmod_import(handle, &l, &factor) == GPUSOLVE_OK);
    for (int k = 0; k < 2; k++) {
        cholmod_dense *y = NULL;
        CHECK_STATUS(gpusolve_cholmod_multiply(handle, factor, k ? GPUSOLVE_TIMES_A : GPUSOLVE_TIMES_L, &x,
                                               &y, &common),
                     GPUSOLVE_OK);
        if (CHECK(y != NULL) && CHECK(y->dtype == dtype && y->xtype == CHOLMOD_REAL))
            CHECK_BELOW(fabs(entry(y, 0) - products[k][0]) + fabs(entry(y, 1) - products[k][1]), 1e-4);
        mock_free_dense(&y, &common);
    }

    int32_t narrow_index[] = {0, 1, 1};
    int64_t wide_index[] = {0, 1, 1};
    static int32_t narrow_p[] = {0, 2, 3};
    static int64_t wide_p[] = {0, 2, 3};
    cholmod_sparse pattern = {.nrow = 2, .ncol = 2, .nzmax = 3, .stype = -1, .itype = itype}, *z = NULL;
    pattern.dtype = dtype;
    pattern.sorted = pattern.packed = 1;
    pattern.p = itype == CHOLMOD_LONG ? (void *)wide_p : (void *)narrow_p;
    pattern.i = itype == CHOLMOD_LONG ? (void *)wide_index : (void *)narrow_index;
    CHECK_STATUS(gpusolve_cholmod_inverse(handle, factor, &pattern, &z, &common), GPUSOLVE_OK);
    if (CHECK(z != NULL) && CHECK(z->dtype == dtype && z->xtype == CHOLMOD_REAL && z->stype == -1)) {
        const size_t bytes = itype == CHOLMOD_LONG ? 8 : 4;
        CHECK(memcmp(z->p, pattern.p, 3 * bytes) == 0 && memcmp(z->i, pattern.i, 3 * bytes) == 0);
        for (size_t k = 0; k < 3; k++)
            CHECK_BELOW(fabs(number_at(z->x, dtype, k) - inverse[k]), 1e-6);
    }
    mock_free_sparse(&z, &common);
    gpusolve_factor_destroy(factor);

    cholmod_factor *const both[] = {&l, &l};
    cholmod_dense *const b[] = {&x, &x};
    cholmod_dense *answers[] = {NULL, NULL};
    gpusolve_batch *batch = NULL;
    gpusolve_batch_workspace *workspace = NULL;
    CHECK_STATUS(gpusolve_cholmod_batch_create(handle, 2, both, GPUSOLVE_STORAGE_SAME, NULL, &batch, &common),
                 GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_cholmod_batch_refresh(handle, batch, 1, 1, both, NULL, &common), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_batch_workspace_create(handle, batch, 1, &workspace), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_cholmod_batch_solve(handle, batch, workspace, CHOLMOD_A, b, answers, NULL, &common),
                 GPUSOLVE_OK);
    for (int m = 0; m < 2; m++) {
        if (CHECK(answers[m] != NULL) && CHECK(answers[m]->dtype == dtype))
            CHECK_BELOW(fabs(entry(answers[m], 0) - 1) + fabs(entry(answers[m], 1) - 2), 1e-5);
        mock_free_dense(&answers[m], &common);
    }
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    gpusolve_destroy(handle);
    CHECK(common.malloc_count == 0);
}

/* A product and the inverse of a complex factor, zomplex on both sides. */
static void check_zomplex_operands(int dtype) {
    testing_in("CHOLMOD %d, zomplex operands, dtype %d", CHOLMOD_MAIN_VERSION, dtype);
    cholmod_common common = {.itype = CHOLMOD_LONG, .dtype = dtype, .prefer_zomplex = 1};
    double complex_doubles[] = {2, 0, 1, 1, 0, 0, 3, 0}, im[] = {2, 5}; /* L = [2 .; 1+i 3] */
    float complex_floats[] = {2, 0, 1, 1, 0, 0, 3, 0}, im_single[] = {2, 5};
    cholmod_factor l = small_factor(CHOLMOD_LONG, dtype);
    l.xtype = CHOLMOD_COMPLEX;
    l.x = dtype == CHOLMOD_DOUBLE ? (void *)complex_doubles : (void *)complex_floats;
    cholmod_dense x = small_dense(dtype), *y = NULL;
    x.xtype = CHOLMOD_ZOMPLEX;
    x.z = dtype == CHOLMOD_DOUBLE ? (void *)im : (void *)im_single;
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_cholmod_import(handle, &l, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_cholmod_multiply(handle, factor, GPUSOLVE_TIMES_L, &x, &y, &common), GPUSOLVE_OK);
    if (CHECK(y != NULL) && CHECK(y->xtype == CHOLMOD_ZOMPLEX && y->dtype == dtype)) {
        /* y1 = 2 (8 + 2i); y2 = (1 + i)(8 + 2i) + 3 (22 + 5i) = 6 + 10i + 66 + 15i */
        CHECK_BELOW(fabs(entry(y, 0) - 16) + fabs(number_at(y->z, dtype, 0) - 4), 1e-4);
        CHECK_BELOW(fabs(entry(y, 1) - 72) + fabs(number_at(y->z, dtype, 1) - 25), 1e-4);
    }
    mock_free_dense(&y, &common);

    /* A = [4 2-2i; 2+2i 11], det A = 36: inv(A) = [11 -2+2i; -2-2i 4] / 36 */
    static int64_t p[] = {0, 2, 3}, i[] = {1, 0, 1};
    const double expected[3][2] = {{-2, -2}, {11, 0}, {4, 0}};
    cholmod_sparse pattern = {.nrow = 2, .ncol = 2, .nzmax = 3, .p = p, .i = i, .stype = -1}, *z = NULL;
    pattern.itype = CHOLMOD_LONG;
    pattern.packed = 1;
    CHECK_STATUS(gpusolve_cholmod_inverse(handle, factor, &pattern, &z, &common), GPUSOLVE_OK);
    if (CHECK(z != NULL) && CHECK(z->xtype == CHOLMOD_ZOMPLEX && z->dtype == dtype && !z->sorted))
        for (size_t k = 0; k < 3; k++) {
            CHECK_BELOW(fabs(number_at(z->x, dtype, k) - expected[k][0] / 36), 1e-6);
            CHECK_BELOW(fabs(number_at(z->z, dtype, k) - expected[k][1] / 36), 1e-6);
        }
    mock_free_sparse(&z, &common);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    CHECK(common.malloc_count == 0);
}

#endif
