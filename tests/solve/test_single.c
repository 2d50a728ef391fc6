/*
 * Single precision, real and complex, through the raw arrays of gpusolve_factor_data, for the CHOLMOD at hand
 * may not know it: a factor in double precision is rounded, and the rounded L is the L that every system must
 * solve with.
 */
#include "testing.h"

#include "ratio.h"

enum { COLUMNS = 17 };

static void check_factor(gpusolve_backend backend, const gpusolve_factor_data *data,
                         const testing_explicit *e, int on_device) {
    gpusolve_dtype dtype = data->dtype;
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, data, &factor) == GPUSOLVE_OK);
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, e->n, COLUMNS, 1);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_ROW_MAJOR, e->n, COLUMNS, 3);
    testing_fill(&b, 11);
    for (int system = 0; system < 9; system++) {
        CHECK_STATUS(testing_solve(handle, factor, NULL, (gpusolve_system)system, &b, &x, on_device),
                     GPUSOLVE_OK);
        CHECK(testing_padding_untouched(&x));
        for (int64_t j = 0; j < COLUMNS; j++)
            if (!CHECK_BELOW(testing_ratio(e, (gpusolve_system)system, &x, &b, j, (double)FLT_EPSILON), 30))
                printf("in system %d, column %d\n", system, (int)j);
    }
    /* operands in double precision do not go with it */
    gpusolve_dense wrong = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, e->n, 1, 0);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &wrong, &wrong), GPUSOLVE_TYPE_MISMATCH);
    free(wrong.values);
    free(b.values);
    free(x.values);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* Refinement against A rounded to single precision, which is not quite the A that was factorised. */
static void check_refine(gpusolve_backend backend, const gpusolve_factor_data *rounded,
                         const cholmod_sparse *a) {
    gpusolve_dtype dtype = rounded->dtype;
    size_t numbers = a->nzmax * (dtype == GPUSOLVE_FLOAT ? 1 : 2);
    float *values = malloc(numbers * sizeof *values);
    REQUIRE(values != NULL);
    for (size_t k = 0; k < numbers; k++)
        values[k] = (float)((const double *)a->x)[k];
    gpusolve_matrix_data data = testing_matrix_data(a);
    data.dtype = dtype;
    data.x = values;
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_factor_create(handle, rounded, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(handle, &data, &matrix) == GPUSOLVE_OK);
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_ROW_MAJOR, (int64_t)a->nrow, COLUMNS, 0);
    testing_fill(&b, 13);
    double errors[COLUMNS];
    CHECK_STATUS(gpusolve_refine(handle, factor, matrix, NULL, &b, &x, NULL, errors, NULL), GPUSOLVE_OK);
    for (int j = 0; j < COLUMNS; j++)
        CHECK_BELOW(errors[j], 2 * (double)FLT_EPSILON);
    free(values);
    free(b.values);
    free(x.values);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_kind(const char *spec, gpusolve_factor_kind kind, cholmod_common *common) {
    testing_in("%s, kind %d", spec, (int)kind);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    testing_explicit e;
    REQUIRE(testing_explicit_create(l, a, common, &e) == 0);
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = testing_round(l, &data);
    REQUIRE(rounded != NULL);
    testing_explicit_round(&e);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        for (int on_device = 0; on_device <= (backends[i] == GPUSOLVE_BACKEND_CUDA); on_device++) {
            testing_in("%s, kind %d, %s, %s", spec, (int)kind, testing_backend_name(backends[i]),
                       on_device ? "device pointers" : "host pointers");
            check_factor(backends[i], &data, &e, on_device);
            check_refine(backends[i], &data, a);
        }
    free(rounded);
    testing_explicit_free(&e);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    for (int kind = 0; kind < 3; kind++) {
        check_kind("elasticity3d:5", (gpusolve_factor_kind)kind, &common);
        check_kind("grid2d:20", (gpusolve_factor_kind)kind, &common);
        check_kind("grid3d:6@c", (gpusolve_factor_kind)kind, &common);
    }
    cholmod_finish(&common);
    return testing_done();
}
