/*
 * Factors stored in single precision, with b, x and all sums in double (gpusolve_factor_data.storage). All systems solve with the
 * L that was rounded, for numbers of columns on both sides of every change of way; refinement against A reaches double precision;
 * L has half the bytes; D and the determinant are those of double precision; a factor keeps its storage in a refresh and in a file; and
 * numbers that single precision cannot hold are refused, with nothing lost.
 */
#include "testing.h"

#include <unistd.h>

#include "cholmod_helpers.h"
#include "folder.h"
#include "gpusolve_determinant.h"
#include "gpusolve_product.h"
#include "gpusolve_refine.h"
#include "gpusolve_store.h"
#include "ratio.h"

enum { MOST = 130 };

static const int64_t counts[] = {1, 2, 3, 7, 8, 9, 16, 17, 24, 32, 33, 64, 65, MOST};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* How large the backward error of a solve with a rounded L may be, in epsilons of single precision; refined, in those of double. */
static const double ROUNDED = 8, REFINED = 4;

static void check_systems(gpusolve_handle *handle, const gpusolve_factor *factor, const testing_explicit *e,
                          gpusolve_dtype dtype, int on_device) {
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, e->n, 3, 1);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_ROW_MAJOR, e->n, 3, 3);
    testing_fill(&b, 11);
    for (int system = 0; system < 9; system++)
        for (b.cols = x.cols = 1; b.cols <= 3; b.cols++, x.cols++) {
            CHECK_STATUS(testing_solve(handle, factor, NULL, (gpusolve_system)system, &b, &x, on_device),
                         GPUSOLVE_OK);
            for (int64_t j = 0; j < b.cols; j++)
                if (!CHECK_BELOW(testing_ratio(e, (gpusolve_system)system, &x, &b, j, (double)FLT_EPSILON),
                                 30))
                    printf("in system %d, column %d of %d\n", system, (int)j, (int)b.cols);
        }
    b.cols = x.cols = 3;
    free(b.values);
    free(x.values);
}

/* The largest backward error of the columns. */
static double error_of(const cholmod_sparse *a, const gpusolve_dense *x, const gpusolve_dense *b) {
    const int64_t n = (int64_t)a->nrow;
    const double norm = testing_sparse_norm(a);
    double complex *column = malloc(2 * (size_t)n * sizeof *column);
    REQUIRE(column != NULL);
    double worst = 0;
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < n; i++) {
            column[i] = testing_get(x, i, j);
            column[n + i] = testing_get(b, i, j);
        }
        worst = testing_worse(worst, testing_backward_error(a, norm, column, column + n));
    }
    free(column);
    return worst;
}

/* Every number of columns, and refinement of some. */
static void check_columns(gpusolve_handle *handle, const gpusolve_factor *factor, const cholmod_sparse *a,
                          gpusolve_dtype dtype, int on_device) {
    const gpusolve_matrix_data data = testing_matrix_data(a);
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_matrix_create(handle, &data, &matrix) == GPUSOLVE_OK);
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, MOST, 0);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, MOST, 5);
    testing_fill(&b, 17);
    for (int k = 0; k < COUNTS; k++) {
        double errors[MOST];
        b.cols = x.cols = counts[k];
        CHECK_STATUS(testing_solve(handle, factor, NULL, GPUSOLVE_A, &b, &x, on_device), GPUSOLVE_OK);
        const double error = error_of(a, &x, &b);
        if (!CHECK_BELOW(error, ROUNDED * (double)FLT_EPSILON) || !CHECK_BELOW(DBL_EPSILON, error / 100))
            printf("with %d columns\n", (int)counts[k]); /* as small as that: L was never rounded */
        CHECK_STATUS(gpusolve_refine(handle, factor, matrix, NULL, &b, &x, NULL, errors, NULL), GPUSOLVE_OK);
        for (int64_t j = 0; j < counts[k]; j++)
            CHECK_BELOW(errors[j], REFINED * DBL_EPSILON);
        CHECK_BELOW(error_of(a, &x, &b), 2 * REFINED * DBL_EPSILON);
    }
    b.cols = x.cols = MOST;
    free(b.values);
    free(x.values);
    gpusolve_matrix_destroy(matrix);
}

/* Against a factor that is stored as it is: half of L's bytes, the same determinant, and about the same condition. */
static void check_beside(gpusolve_handle *handle, const gpusolve_factor *factor,
                         const gpusolve_factor_data *data, const cholmod_sparse *a) {
    gpusolve_factor_data same = *data;
    gpusolve_factor *whole;
    gpusolve_matrix *matrix;
    const gpusolve_matrix_data of_a = testing_matrix_data(a);
    same.storage = GPUSOLVE_STORAGE_SAME;
    REQUIRE(gpusolve_factor_create(handle, &same, &whole) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(handle, &of_a, &matrix) == GPUSOLVE_OK);
    gpusolve_info half = {.size = sizeof half}, full = {.size = sizeof full}, query = {.size = sizeof query};
    CHECK_STATUS(gpusolve_factor_info(handle, factor, 8, &half), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(handle, whole, 8, &full), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_query(handle, data, 8, &query), GPUSOLVE_OK);
    CHECK(half.dtype == full.dtype && 2 * half.stored_bytes == full.stored_bytes);
    CHECK(full.factor_bytes - half.factor_bytes >= half.stored_bytes - 64 * half.supernodes);
    CHECK(query.dtype == half.dtype && query.stored_bytes == half.stored_bytes);
    CHECK(half.plans > 1 ||
          (query.factor_bytes == half.factor_bytes && query.workspace_bytes == half.workspace_bytes));
    gpusolve_cost cost = {.size = sizeof cost}, of_whole = {.size = sizeof of_whole};
    CHECK_STATUS(gpusolve_factor_cost(handle, factor, 1, 1e12, &cost), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_cost(handle, whole, 1, 1e12, &of_whole), GPUSOLVE_OK);
    CHECK(2 * cost.bytes == of_whole.bytes && cost.vector_bytes == of_whole.vector_bytes);
    double logdet[2], sign[2], rcond[2];
    CHECK_STATUS(gpusolve_factor_logdet(handle, factor, &logdet[0], &sign[0]), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_logdet(handle, whole, &logdet[1], &sign[1]), GPUSOLVE_OK);
    CHECK(logdet[0] == logdet[1] && sign[0] == sign[1]);
    CHECK_STATUS(gpusolve_factor_rcond(handle, factor, NULL, matrix, 0, &rcond[0]), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_rcond(handle, whole, NULL, matrix, 0, &rcond[1]), GPUSOLVE_OK);
    CHECK_BELOW(fabs(rcond[0] / rcond[1] - 1), 0.01);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(whole);
}

/* From and to a file, whose L has floats, and of L D L' doubles. */
static void check_file(gpusolve_handle *handle, const gpusolve_factor *factor,
                       const gpusolve_factor_data *data, const testing_explicit *e, gpusolve_dtype dtype) {
    char path[256];
    snprintf(path, sizeof path, "%s/test_stored.%d", testing_folder(), (int)getpid());
    for (int from_data = 0; from_data < 2; from_data++) {
        gpusolve_factor *loaded = NULL;
        CHECK_STATUS(from_data ? gpusolve_factor_data_save(handle, data, path)
                               : gpusolve_factor_save(handle, factor, path),
                     GPUSOLVE_OK);
        if (CHECK_STATUS(gpusolve_factor_load(handle, path, &loaded), GPUSOLVE_OK)) {
            gpusolve_info info = {.size = sizeof info};
            CHECK_STATUS(gpusolve_factor_info(handle, loaded, 1, &info), GPUSOLVE_OK);
            CHECK(info.dtype == dtype && 2 * info.stored_bytes == info.nnz_l * (int64_t)testing_bytes(dtype));
            check_systems(handle, loaded, e, dtype, 0);
        }
        gpusolve_factor_destroy(loaded);
        remove(path);
    }
}

/* Solves one column of ones. */
static gpusolve_dense solution_of(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  gpusolve_dtype dtype, int64_t n) {
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 1, 0);
    for (int64_t i = 0; i < n; i++)
        testing_set(&x, i, 0, 1);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &x, &x), GPUSOLVE_OK);
    return x;
}

/* A refresh, which keeps the storage, whatever the data says; one with numbers that are too large or too small; and one from the rounded numbers themselves. */
static void check_refresh(gpusolve_handle *handle, gpusolve_factor *factor, const gpusolve_factor_data *data,
                          const cholmod_factor *l, gpusolve_dtype dtype) {
    const int has_d = data->kind == GPUSOLVE_SIMPLICIAL_LDL;
    const gpusolve_dense before = solution_of(handle, factor, dtype, data->n);
    gpusolve_factor_data other = *data;
    other.storage = GPUSOLVE_STORAGE_SAME;
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_OK); /* it keeps its storage */
    double *x = malloc((size_t)data->xsize * testing_bytes(data->dtype));
    REQUIRE(x != NULL);
    other = *data;
    other.x = x;
    memcpy(x, data->x, (size_t)data->xsize * testing_bytes(data->dtype));
    x[0] = 0x1p-53; /* the diagonal of column 0 */
    if (has_d)
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_OK);
    else
        CHECK_REFUSED(handle, gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_NOT_SUPPORTED,
                      "below 2^-52");
    x[0] = 0x1p60;
    if (has_d)
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_OK);
    else
        CHECK_REFUSED(handle, gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_NOT_SUPPORTED,
                      "column 0");
    memcpy(x, data->x, (size_t)data->xsize * testing_bytes(data->dtype));
    x[testing_is_complex(data->dtype) ? 3 : 1] = -0x1p52; /* the next entry, or its imaginary part */
    CHECK_REFUSED(handle, gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_NOT_SUPPORTED,
                  "too large");
    x[testing_is_complex(data->dtype) ? 3 : 1] = NAN;
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &other), GPUSOLVE_NOT_FINITE);
    if (has_d)
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, data), GPUSOLVE_OK);
    gpusolve_dense after = solution_of(handle, factor, dtype, data->n);
    CHECK(testing_same_bits(&before, 0, &after, 0, 1));
    free(after.values);

    gpusolve_factor_data single = *data;
    float *rounded = testing_round(l, &single);
    REQUIRE(rounded != NULL);
    if (!has_d) { /* D would be rounded */
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &single), GPUSOLVE_OK);
        after = solution_of(handle, factor, dtype, data->n);
        CHECK(testing_same_bits(&before, 0, &after, 0, 1));
        free(after.values);
    }
    free(rounded);
    free(x);
    free(before.values);
}

static void check_refusals(gpusolve_handle *handle, const gpusolve_factor_data *data) {
    gpusolve_factor *factor;
    gpusolve_factor_data wrong = *data;
    wrong.storage = (gpusolve_storage)2;
    CHECK_REFUSED(handle, gpusolve_factor_create(handle, &wrong, &factor), GPUSOLVE_INVALID_ARGUMENT,
                  "data->storage");
    wrong = *data;
    wrong.in_place = 1;
    CHECK_REFUSED(handle, gpusolve_factor_create(handle, &wrong, &factor), GPUSOLVE_INVALID_ARGUMENT,
                  "in place");
    CHECK(factor == NULL);
}

static void check_factor(gpusolve_backend backend, const gpusolve_factor_data *data,
                         const testing_explicit *e, const cholmod_sparse *a, const cholmod_factor *l) {
    const gpusolve_dtype dtype = data->dtype;
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, data, &factor) == GPUSOLVE_OK);
    for (int on_device = 0; on_device <= (backend == GPUSOLVE_BACKEND_CUDA); on_device++) {
        check_systems(handle, factor, e, dtype, on_device);
        check_columns(handle, factor, a, dtype, on_device);
    }
    check_beside(handle, factor, data, a);
    check_file(handle, factor, data, e, dtype);
    check_refresh(handle, factor, data, l, dtype);
    check_refusals(handle, data);
    gpusolve_dense wrong = testing_block(testing_is_complex(dtype) ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_FLOAT,
                                         GPUSOLVE_COL_MAJOR, data->n, 1, 0);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &wrong, &wrong), GPUSOLVE_TYPE_MISMATCH);
    CHECK_STATUS(gpusolve_multiply(handle, factor, GPUSOLVE_TIMES_L, &wrong, &wrong), GPUSOLVE_TYPE_MISMATCH);
    free(wrong.values);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_kind(const char *spec, gpusolve_factor_kind kind, cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    testing_explicit e;
    REQUIRE(testing_explicit_create(l, a, common, &e) == 0);
    testing_explicit_round(&e);
    gpusolve_factor_data data = testing_factor_data(l);
    data.storage = GPUSOLVE_STORAGE_SINGLE;
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        testing_in("%s, kind %d, %s", spec, (int)kind, testing_backend_name(backends[i]));
        check_factor(backends[i], &data, &e, a, l);
    }
    testing_explicit_free(&e);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    for (int kind = 0; kind < 3; kind++) {
        check_kind("grid2d:20", (gpusolve_factor_kind)kind, &common);
        check_kind("grid3d:6@c", (gpusolve_factor_kind)kind, &common);
    }
    check_kind("elasticity3d:7", GPUSOLVE_SUPERNODAL_LL, &common);
    check_kind("grid2d:70", GPUSOLVE_SUPERNODAL_LL, &common);
    check_kind("grid3d:14", GPUSOLVE_SUPERNODAL_LL, &common);
    check_kind("grid3d:12@c", GPUSOLVE_SUPERNODAL_LL, &common);
    cholmod_finish(&common);
    return testing_done();
}
