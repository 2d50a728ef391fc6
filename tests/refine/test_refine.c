/*
 * gpusolve_refine: what it reports is true, errors never grow, columns end when they should and are then left
 * alone. Factors of a slightly different matrix make refinement work for its result.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

enum { COLUMNS = 9 };

typedef struct refine_case {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    cholmod_sparse *a;
    double norm_a;
    gpusolve_dtype dtype;
    int64_t n;
} refine_case;

/* A itself, and the factor of A with its numbers scaled by `scale` and its diagonal raised by the factor
 * `diagonal`. */
static refine_case make_case(gpusolve_backend backend, int threads, const char *spec, double scale,
                             double diagonal, cholmod_common *common) {
    refine_case refine = {0};
    refine.handle = testing_handle(backend, threads);
    refine.a = testing_load(spec, common);
    REQUIRE(refine.a != NULL);
    refine.norm_a = testing_sparse_norm(refine.a);
    refine.dtype = refine.a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    refine.n = (int64_t)refine.a->nrow;
    REQUIRE(gpusolve_cholmod_matrix(refine.handle, refine.a, &refine.matrix) == GPUSOLVE_OK);
    cholmod_sparse *changed = cholmod_copy_sparse(refine.a, common);
    REQUIRE(changed != NULL);
    int parts = testing_is_complex(refine.dtype) ? 2 : 1;
    const int *p = changed->p;
    for (int k = 0; k < parts * p[refine.n]; k++)
        ((double *)changed->x)[k] *= scale;
    for (int j = 0; j < refine.n; j++) /* the diagonal comes first in a lower triangle */
        ((double *)changed->x)[parts * p[j]] *= diagonal;
    cholmod_factor *l = testing_factorize(changed, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL && gpusolve_cholmod_import(refine.handle, l, &refine.factor) == GPUSOLVE_OK);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&changed, common);
    return refine;
}

static void free_case(refine_case *refine, cholmod_common *common) {
    gpusolve_matrix_destroy(refine->matrix);
    gpusolve_factor_destroy(refine->factor);
    gpusolve_destroy(refine->handle);
    cholmod_free_sparse(&refine->a, common);
}

/* gpusolve_refine on host blocks; with on_device their copies in device memory are what the library sees. */
static gpusolve_status run(const refine_case *refine, gpusolve_workspace *workspace, const gpusolve_dense *b,
                           const gpusolve_dense *x, const gpusolve_refine_options *options, double *errors,
                           int *steps, int on_device) {
    gpusolve_dense device_b = *b, device_x = *x;
    if (on_device) {
        device_b.values = device_new(b->values, testing_block_bytes(b));
        device_x.values = device_new(x->values, testing_block_bytes(x));
        REQUIRE(device_b.values != NULL && device_x.values != NULL);
    }
    gpusolve_status status = gpusolve_refine(refine->handle, refine->factor, refine->matrix, workspace,
                                             &device_b, &device_x, options, errors, steps);
    if (on_device) {
        CHECK(device_read(x->values, device_x.values, testing_block_bytes(x)) == 0);
        device_delete(device_b.values);
        device_delete(device_x.values);
    }
    return status;
}

static gpusolve_dense block(const refine_case *refine, int64_t cols) {
    return testing_block(refine->dtype, GPUSOLVE_COL_MAJOR, refine->n, cols, 0);
}

static double true_error(const refine_case *refine, const gpusolve_dense *x, const gpusolve_dense *b,
                         int64_t j) {
    double complex *column = malloc(2 * (size_t)refine->n * sizeof *column);
    REQUIRE(column != NULL);
    for (int64_t i = 0; i < refine->n; i++) {
        column[i] = testing_get(x, i, j);
        column[refine->n + i] = testing_get(b, i, j);
    }
    double error = testing_backward_error(refine->a, refine->norm_a, column, column + refine->n);
    free(column);
    return error;
}

/* The reported errors are the errors, but for what rounding does to a residual of that size. */
static void check_reported(const refine_case *refine, const gpusolve_dense *x, const gpusolve_dense *b,
                           const double *errors) {
    for (int64_t j = 0; j < b->cols; j++)
        CHECK_BELOW(fabs(true_error(refine, x, b, j) - errors[j]), 1e-3 * errors[j] + 20 * DBL_EPSILON);
}

/* ---------------------------------------------------------------------------------------- convergence --- */

static void check_convergence(gpusolve_backend backend, const char *spec, int on_device,
                              cholmod_common *common) {
    testing_in("%s%s, %s, convergence", testing_backend_name(backend), on_device ? ", device pointers" : "",
               spec);
    refine_case refine = make_case(backend, 2, spec, 1, 1.0001, common);
    gpusolve_dense b = block(&refine, COLUMNS), x = block(&refine, COLUMNS);
    testing_fill(&b, 41);
    double errors[COLUMNS], before[COLUMNS];
    int steps[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;

    options.max_steps = 0;
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, before, steps, on_device), GPUSOLVE_OK);
    check_reported(&refine, &x, &b, before);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(steps[j] == 0 && before[j] > 1e-10);
    /* every further step is allowed for, one at a time */
    double last[COLUMNS];
    memcpy(last, before, sizeof last);
    for (options.max_steps = 1; options.max_steps <= 4; options.max_steps++) {
        CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, on_device), GPUSOLVE_OK);
        check_reported(&refine, &x, &b, errors);
        for (int j = 0; j < COLUMNS; j++)
            CHECK(steps[j] <= options.max_steps && errors[j] <= last[j]);
        memcpy(last, errors, sizeof last);
    }
    /* to the end; defaults are the same as NULL */
    CHECK_STATUS(run(&refine, NULL, &b, &x, NULL, errors, steps, on_device), GPUSOLVE_OK);
    check_reported(&refine, &x, &b, errors);
    for (int j = 0; j < COLUMNS; j++) {
        CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
        CHECK(steps[j] >= 2 && steps[j] <= 10);
    }
    /* a tolerance ends it before */
    options = (gpusolve_refine_options)GPUSOLVE_REFINE_OPTIONS_INIT;
    options.tolerance = 1e-9;
    int fewer[COLUMNS];
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, fewer, on_device), GPUSOLVE_OK);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(errors[j] <= 1e-9 && errors[j] > DBL_EPSILON && fewer[j] < steps[j]);
    /* as does a gain that no step can give; outputs may be NULL */
    options.tolerance = 0;
    options.min_gain = 1e300;
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, NULL, steps, on_device), GPUSOLVE_OK);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(steps[j] == 1);
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, NULL, NULL, on_device), GPUSOLVE_OK);
    free(b.values);
    free(x.values);
    free_case(&refine, common);
}

/* By default a column ends with the first x whose error is at or below epsilon; a tolerance of 0 goes on to where nothing is gained. */
static void check_epsilon(gpusolve_backend backend, const char *spec, int on_device, cholmod_common *common) {
    testing_in("%s%s, %s, epsilon", testing_backend_name(backend), on_device ? ", device pointers" : "",
               spec);
    refine_case refine = make_case(backend, 2, spec, 1, 1.0001, common);
    gpusolve_dense b = block(&refine, COLUMNS), x = block(&refine, COLUMNS), last = block(&refine, COLUMNS);
    testing_fill(&b, 44);
    double errors[COLUMNS], before[COLUMNS], least[COLUMNS];
    int steps[COLUMNS], fewer[COLUMNS], most[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    CHECK(options.tolerance == GPUSOLVE_REFINE_EPSILON);
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, on_device), GPUSOLVE_OK);
    options.tolerance = DBL_EPSILON;
    CHECK_STATUS(run(&refine, NULL, &b, &last, &options, before, fewer, on_device), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &last, 0, COLUMNS));
    options.tolerance = 0;
    CHECK_STATUS(run(&refine, NULL, &b, &last, &options, least, most, on_device), GPUSOLVE_OK);
    for (int j = 0; j < COLUMNS; j++) {
        CHECK_BELOW(errors[j], DBL_EPSILON);
        CHECK(least[j] <= errors[j] && steps[j] >= 2 && steps[j] <= most[j]);
        /* one step less is not enough */
        options = (gpusolve_refine_options)GPUSOLVE_REFINE_OPTIONS_INIT;
        options.max_steps = steps[j] - 1;
        CHECK_STATUS(run(&refine, NULL, &b, &last, &options, before, fewer, on_device), GPUSOLVE_OK);
        CHECK(before[j] > DBL_EPSILON && fewer[j] == steps[j] - 1);
    }
    /* what is good enough is left as it is */
    options = (gpusolve_refine_options)GPUSOLVE_REFINE_OPTIONS_INIT;
    options.solve_first = 0;
    memcpy(last.values, x.values, testing_block_bytes(&x));
    CHECK_STATUS(run(&refine, NULL, &b, &last, &options, errors, steps, on_device), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &last, 0, COLUMNS));
    for (int j = 0; j < COLUMNS; j++)
        CHECK(steps[j] == 0 && errors[j] <= DBL_EPSILON);
    free(b.values);
    free(x.values);
    free(last.values);
    free_case(&refine, common);
}

/* ------------------------------------------------------------------------------------ special columns --- */

/* A column that is good enough is not touched while its neighbours are worked on. */
static void check_frozen(gpusolve_backend backend, cholmod_common *common) {
    testing_in("%s, frozen columns", testing_backend_name(backend));
    refine_case refine = make_case(backend, 2, "grid2d:23", 1, 1.0001, common);
    gpusolve_dense b = block(&refine, 4), x = block(&refine, 4), solved = block(&refine, 4);
    testing_fill(&b, 43);
    double errors[4];
    int steps[4];
    CHECK_STATUS(run(&refine, NULL, &b, &solved, NULL, errors, steps, 0), GPUSOLVE_OK);
    memcpy(x.values, solved.values, testing_block_bytes(&x));
    for (int64_t j = 1; j < 4; j += 2)
        for (int64_t i = 0; i < refine.n; i++)
            testing_set(&x, i, j, 1);
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.solve_first = 0;
    options.tolerance = 1e-13;
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, 0), GPUSOLVE_OK);
    for (int64_t j = 0; j < 4; j++) {
        CHECK_BELOW(errors[j], 1.01e-13);
        CHECK(j % 2 ? steps[j] >= 2 : steps[j] == 0);
        CHECK(testing_same_bits(&x, j, &solved, j, 1) == (j % 2 == 0));
    }
    free(b.values);
    free(x.values);
    free(solved.values);
    free_case(&refine, common);
}

/* Corrections ten times too long make everything worse: all are taken back. */
static void check_reverted(gpusolve_backend backend, cholmod_common *common) {
    testing_in("%s, corrections that do harm", testing_backend_name(backend));
    refine_case refine = make_case(backend, 2, "grid2d:23", 0.1, 1, common);
    gpusolve_dense b = block(&refine, 3), x = block(&refine, 3), guess = block(&refine, 3);
    testing_fill(&b, 47);
    testing_fill(&guess, 48);
    memcpy(x.values, guess.values, testing_block_bytes(&x));
    double errors[3], first[3];
    int steps[3];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.solve_first = 0;
    options.max_steps = 0;
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, first, steps, 0), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &guess, 0, 3));
    options.max_steps = 5;
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, 0), GPUSOLVE_OK);
    for (int64_t j = 0; j < 3; j++) {
        CHECK(errors[j] <= first[j]);
        CHECK((steps[j] == 0) == testing_same_bits(&x, j, &guess, j, 1));
    }
    check_reported(&refine, &x, &b, errors);
    free(b.values);
    free(x.values);
    free(guess.values);
    free_case(&refine, common);
}

/* Columns: a good one, one with a NaN, one of zeros, one with an infinity, a good one. */
static void check_odd_columns(gpusolve_backend backend, int solve_first, cholmod_common *common) {
    testing_in("%s, odd columns, solve_first %d", testing_backend_name(backend), solve_first);
    refine_case refine = make_case(backend, 2, "grid3d:7@c", 1, 1.0001, common);
    gpusolve_dense b = block(&refine, 5), x = block(&refine, 5), clean = block(&refine, 5);
    testing_fill(&b, 53);
    testing_fill(&x, 54);
    testing_fill(&clean, 54);
    double errors[5], clean_errors[5];
    int steps[5], clean_steps[5];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.solve_first = solve_first;
    CHECK_STATUS(run(&refine, NULL, &b, &clean, &options, clean_errors, clean_steps, 0), GPUSOLVE_OK);
    testing_set(&b, 17, 1, CMPLX(0, NAN));
    for (int64_t i = 0; i < refine.n; i++)
        testing_set(&b, i, 2, 0);
    testing_set(&b, 5, 3, INFINITY);
    CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, 0), GPUSOLVE_OK);
    CHECK(isnan(errors[1]) && steps[1] == 0);
    CHECK(errors[2] == 0 && steps[2] == 0);
    CHECK(isnan(errors[3]) && steps[3] == 0);
    for (int64_t i = 0; i < refine.n; i++)
        if (!CHECK(testing_get(&x, i, 2) == 0))
            break;
    for (int64_t j = 0; j < 5; j += 4) {
        CHECK(errors[j] == clean_errors[j] && steps[j] == clean_steps[j] && steps[j] > 0);
        CHECK(testing_same_bits(&x, j, &clean, j, 1));
    }
    if (!solve_first) { /* a NaN in the guess */
        testing_fill(&b, 53);
        testing_set(&x, 0, 0, NAN);
        CHECK_STATUS(run(&refine, NULL, &b, &x, &options, errors, steps, 0), GPUSOLVE_OK);
        CHECK(isnan(errors[0]) && steps[0] == 0);
    }
    free(b.values);
    free(x.values);
    free(clean.values);
    free_case(&refine, common);
}

/* --------------------------------------------------------------------------------- layouts and widths --- */

/* The same bits whatever the order, the padding, the workspace, the threads, or where the operands are. */
static void check_layouts(gpusolve_backend backend, cholmod_common *common) {
    testing_in("%s, layouts", testing_backend_name(backend));
    refine_case refine = make_case(backend, 3, "elasticity3d:8", 1, 1.0001, common);
    gpusolve_destroy(refine.handle);
    refine.handle = testing_handle_bits(backend, 3, 1); /* any workspace, the same bits, on a device too */
    gpusolve_dense b = block(&refine, COLUMNS), expected = block(&refine, COLUMNS);
    testing_fill(&b, 59);
    double expected_errors[COLUMNS], errors[COLUMNS];
    int expected_steps[COLUMNS], steps[COLUMNS];
    CHECK_STATUS(run(&refine, NULL, &b, &expected, NULL, expected_errors, expected_steps, 0), GPUSOLVE_OK);
    for (int trial = 0; trial < 8; trial++) {
        gpusolve_order order = trial % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR;
        int on_device = backend == GPUSOLVE_BACKEND_CUDA && trial >= 4;
        gpusolve_workspace *workspace = NULL;
        if (trial != 1)
            REQUIRE(gpusolve_workspace_create(refine.handle, refine.factor, 1 + trial, &workspace) ==
                    GPUSOLVE_OK);
        gpusolve_dense b2 = testing_block(refine.dtype, order, refine.n, COLUMNS, trial);
        gpusolve_dense x2 = testing_block(refine.dtype, order, refine.n, COLUMNS, 1);
        testing_fill(&b2, 59);
        CHECK_STATUS(run(&refine, workspace, &b2, &x2, NULL, errors, steps, on_device), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x2, 0, &expected, 0, COLUMNS));
        CHECK(memcmp(errors, expected_errors, sizeof errors) == 0 &&
              memcmp(steps, expected_steps, sizeof steps) == 0);
        CHECK(testing_padding_untouched(&x2));
        free(b2.values);
        free(x2.values);
        gpusolve_workspace_destroy(workspace);
    }
    for (int threads = 1; threads <= 4 && backend == GPUSOLVE_BACKEND_HOST; threads++) {
        refine_case other = make_case(backend, threads, "elasticity3d:8", 1, 1.0001, common);
        gpusolve_dense x2 = block(&other, COLUMNS);
        CHECK_STATUS(run(&other, NULL, &b, &x2, NULL, errors, steps, 0), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x2, 0, &expected, 0, COLUMNS));
        CHECK(memcmp(errors, expected_errors, sizeof errors) == 0);
        free(x2.values);
        free_case(&other, common);
    }
    free(b.values);
    free(expected.values);
    free_case(&refine, common);
}

/* Blocks of all widths, in either order, also of matrices with rows that are nearly full, which are done in pieces, or that have one pattern, which are done
 * together. Each column has the bits that it has alone, and every run has the same. */
static void check_widths(gpusolve_backend backend, const char *spec, cholmod_common *common) {
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 17, 32, 33, 64, 70, 128, 129, 150};
    testing_in("%s, widths, %s", testing_backend_name(backend), spec);
    refine_case refine = make_case(backend, 2, spec, 1, 1.0001, common);
    gpusolve_destroy(refine.handle);
    refine.handle = testing_handle_bits(backend, 2, 1);
    const int64_t most = widths[sizeof widths / sizeof *widths - 1];
    gpusolve_dense b = block(&refine, most), expected = block(&refine, most);
    testing_fill(&b, 61);
    gpusolve_workspace *narrow, *wide;
    REQUIRE(gpusolve_workspace_create(refine.handle, refine.factor, 1, &narrow) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(refine.handle, refine.factor, most, &wide) == GPUSOLVE_OK);
    double *errors = malloc((size_t)most * sizeof *errors), *found = malloc((size_t)most * sizeof *found);
    int *steps = malloc((size_t)most * sizeof *steps), *counts = malloc((size_t)most * sizeof *counts);
    REQUIRE(errors && found && steps && counts);
    CHECK_STATUS(run(&refine, narrow, &b, &expected, NULL, errors, steps, 0), GPUSOLVE_OK);
    check_reported(&refine, &expected, &b, errors);
    for (int64_t j = 0; j < most; j++) {
        CHECK_BELOW(errors[j], 4 * DBL_EPSILON);
        CHECK(steps[j] >= 1);
    }
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int trial = 0; trial < 4; trial++) {
            const int64_t cols = widths[w];
            const int on_device = backend == GPUSOLVE_BACKEND_CUDA && trial >= 2;
            gpusolve_dense b2 = testing_block(
                refine.dtype, trial % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, refine.n, cols, trial);
            gpusolve_dense x2 = testing_block(
                refine.dtype, trial % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, refine.n, cols, 1);
            for (int64_t j = 0; j < cols; j++)
                for (int64_t i = 0; i < refine.n; i++)
                    testing_set(&b2, i, j, testing_get(&b, i, j));
            CHECK_STATUS(run(&refine, wide, &b2, &x2, NULL, found, counts, on_device), GPUSOLVE_OK);
            CHECK(testing_same_bits(&x2, 0, &expected, 0, cols));
            CHECK(memcmp(found, errors, (size_t)cols * sizeof *found) == 0 &&
                  memcmp(counts, steps, (size_t)cols * sizeof *counts) == 0);
            CHECK(testing_padding_untouched(&x2));
            free(b2.values);
            free(x2.values);
        }
    gpusolve_workspace_destroy(narrow);
    gpusolve_workspace_destroy(wide);
    free(errors);
    free(found);
    free(steps);
    free(counts);
    free(b.values);
    free(expected.values);
    free_case(&refine, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        for (int on_device = 0; on_device <= (backends[i] == GPUSOLVE_BACKEND_CUDA); on_device++) {
            check_convergence(backends[i], "grid2d:23", on_device, &common);
            check_convergence(backends[i], "elasticity3d:6", on_device, &common);
            check_convergence(backends[i], "grid3d:8@c", on_device, &common);
            check_epsilon(backends[i], "elasticity3d:6", on_device, &common);
            check_epsilon(backends[i], "grid3d:8@c", on_device, &common);
        }
        check_frozen(backends[i], &common);
        check_reverted(backends[i], &common);
        check_odd_columns(backends[i], 0, &common);
        check_odd_columns(backends[i], 1, &common);
        check_layouts(backends[i], &common);
        check_widths(backends[i], "grid2d:23", &common);
        check_widths(backends[i], "arrow:900,5,3", &common);
        check_widths(backends[i], "arrow:700,150,2@c", &common);
        check_widths(backends[i], "elasticity3d:4", &common); /* rows of a node have one pattern, */
        check_widths(backends[i], "elasticity3d:3@c", &common);
        check_widths(backends[i], "arrow:150,149,1", &common); /* as all of a full matrix have */
    }
    cholmod_finish(&common);
    return testing_done();
}
