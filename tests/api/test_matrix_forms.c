/*
 * gpusolve_matrix_create takes one matrix in every accepted form - rows or columns, one triangle or both,
 * either index type, packed or not, in any order, with duplicates, split complex - and makes the same matrix
 * of each: refinement gives the same bits. What is wrong with the arrays is said.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "memory.h"
#include "supernodal/api/executor.h"

typedef struct matrix_form {
    gpusolve_format format;
    gpusolve_triangle triangle;
    gpusolve_itype itype;
    int reversed;   /* each line backwards */
    int duplicates; /* every entry as two halves, the second at the end of the line */
    int unpacked;   /* gaps between lines, lengths in nz */
    int split;      /* imaginary parts in z */
    int noise;      /* entries of the triangle that does not count: NaNs */
} matrix_form;

typedef struct matrix_arrays { /* what a form is made of */
    gpusolve_matrix_data data;
    void *ptr, *nz, *index;
    double *x, *z;
} matrix_arrays;

static void put_index(gpusolve_itype itype, void *array, int64_t k, int64_t value) {
    if (itype == GPUSOLVE_INT32)
        ((int32_t *)array)[k] = (int32_t)value;
    else
        ((int64_t *)array)[k] = value;
}

/* Entry (i, j) of A, with its lower triangle by columns as dense[i + j n]. */
static double complex entry_of(const double complex *dense, int64_t n, int64_t i, int64_t j) {
    return i >= j ? dense[i + j * n] : conj(dense[j + i * n]);
}

static int counts(gpusolve_triangle triangle, int64_t i, int64_t j) {
    return triangle == GPUSOLVE_FULL || (triangle == GPUSOLVE_LOWER ? i >= j : i <= j);
}

static void put_number(const matrix_form *form, matrix_arrays *arrays, int64_t k, double complex value) {
    if (!testing_is_complex(arrays->data.dtype) || form->split)
        arrays->x[k] = creal(value);
    if (form->split)
        arrays->z[k] = cimag(value);
    else if (testing_is_complex(arrays->data.dtype))
        testing_store(GPUSOLVE_COMPLEX_DOUBLE, arrays->x, k, value);
}

/* One line (column or row): its entries, and with duplicates all of them again, each time one half. */
static int64_t put_line(const matrix_form *form, matrix_arrays *arrays, const double complex *dense,
                        int64_t line, int64_t place) {
    int64_t n = arrays->data.n;
    for (int copy = 0; copy <= form->duplicates; copy++)
        for (int64_t t = 0; t < n; t++) {
            int64_t across = form->reversed ? n - 1 - t : t;
            int64_t i = form->format == GPUSOLVE_CSC ? across : line,
                    j = form->format == GPUSOLVE_CSC ? line : across;
            double complex value = entry_of(dense, n, i, j);
            if (value == 0 || (!counts(form->triangle, i, j) && !form->noise))
                continue;
            put_index(form->itype, arrays->index, place, across);
            put_number(form, arrays, place,
                       counts(form->triangle, i, j) ? (form->duplicates ? value / 2 : value) : NAN);
            place++;
        }
    return place;
}

static matrix_arrays make_arrays(const matrix_form *form, const double complex *dense, int64_t n,
                                 gpusolve_dtype dtype) {
    matrix_arrays arrays;
    memset(&arrays, 0, sizeof arrays);
    size_t room = (size_t)(2 * n * n + 3 * n + 1);
    arrays.ptr = calloc((size_t)n + 1, 8);
    arrays.nz = calloc((size_t)n + 1, 8);
    arrays.index = calloc(room, 8);
    arrays.x = calloc(room, 16);
    arrays.z = calloc(room, 8);
    REQUIRE(arrays.ptr && arrays.nz && arrays.index && arrays.x && arrays.z);
    arrays.data =
        (gpusolve_matrix_data){sizeof arrays.data, form->format, form->triangle, dtype,    form->itype, n,
                               arrays.ptr,         NULL,         arrays.index,   arrays.x, NULL};
    if (form->unpacked)
        arrays.data.nz = arrays.nz;
    if (form->split)
        arrays.data.z = arrays.z;
    int64_t place = 0;
    for (int64_t line = 0; line < n; line++) {
        place += form->unpacked ? 3 : 0;
        put_index(form->itype, arrays.ptr, line, place);
        int64_t end = put_line(form, &arrays, dense, line, place);
        put_index(form->itype, arrays.nz, line, end - place);
        place = end;
    }
    put_index(form->itype, arrays.ptr, n, place);
    return arrays;
}

static void free_arrays(matrix_arrays *arrays) {
    free(arrays->ptr);
    free(arrays->nz);
    free(arrays->index);
    free(arrays->x);
    free(arrays->z);
}

typedef struct expectation {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_dense b, x;
    double error, norm_inf;
    int64_t nnz;
} expectation;

static void check_form(const matrix_form *form, const expectation *expected, const double complex *dense) {
    matrix_arrays arrays = make_arrays(form, dense, expected->b.rows, expected->b.dtype);
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_matrix_create(expected->handle, &arrays.data, &matrix) == GPUSOLVE_OK);
    free_arrays(&arrays); /* the matrix is a copy */
    CHECK(matrix->nnz == expected->nnz);
    CHECK(matrix->norm_inf == expected->norm_inf);
    gpusolve_dense x = testing_block(expected->b.dtype, GPUSOLVE_COL_MAJOR, expected->b.rows, 1, 0);
    double error;
    CHECK_STATUS(gpusolve_refine(expected->handle, expected->factor, matrix, NULL, &expected->b, &x, NULL,
                                 &error, NULL),
                 GPUSOLVE_OK);
    CHECK(error == expected->error);
    CHECK(testing_same_bits(&x, 0, &expected->x, 0, 1));
    free(x.values);
    gpusolve_matrix_destroy(matrix);
}

static double complex *dense_of(const cholmod_sparse *a) {
    int64_t n = (int64_t)a->nrow;
    double complex *dense = calloc((size_t)(n * n), sizeof *dense);
    REQUIRE(dense != NULL);
    const int *p = a->p, *row = a->i;
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    for (int j = 0; j < n; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            dense[row[k] + j * n] = testing_fetch(dtype, a->x, k);
    return dense;
}

static void check_forms(const expectation *expected, const double complex *dense, const char *about) {
    const int step = testing_few() ? 3 : 1; /* 3: every pair of bits has all its four values */
    for (int bits = 0; bits < 1 << 7; bits += step)
        for (int triangle = 0; triangle < 3; triangle++) {
            matrix_form form = {(gpusolve_format)(bits & 1),
                                (gpusolve_triangle)triangle,
                                (gpusolve_itype)(bits >> 1 & 1),
                                bits >> 2 & 1,
                                bits >> 3 & 1,
                                bits >> 4 & 1,
                                bits >> 5 & 1,
                                bits >> 6 & 1};
            if (form.split && !testing_is_complex(expected->b.dtype))
                continue;
            testing_in("%s, format %d, triangle %d, itype %d, reversed %d, duplicates %d, unpacked %d, split "
                       "%d, noise %d",
                       about, form.format, form.triangle, form.itype, form.reversed, form.duplicates,
                       form.unpacked, form.split, form.noise);
            check_form(&form, expected, dense);
        }
}

/* --------------------------------------------------------------------------------------------- faults --- */

static void check_refused(gpusolve_handle *handle, const gpusolve_matrix_data *data, gpusolve_status status,
                          const char *word) {
    gpusolve_matrix *matrix = (gpusolve_matrix *)(uintptr_t)1;
    int64_t live = gsv_live_allocations();
    CHECK_STATUS(gpusolve_matrix_create(handle, data, &matrix), status);
    CHECK(matrix == NULL);
    if (!CHECK(strstr(gpusolve_last_error(handle), word) != NULL))
        printf("\"%s\" is missing in: %s\n", word, gpusolve_last_error(handle));
    CHECK(gsv_live_allocations() == live);
}

static void check_faults(gpusolve_backend backend) {
    testing_in("%s, faults", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 1);
    int32_t ptr[] = {0, 2, 3}, nz[] = {2, 1}, index[] = {0, 1, 1};
    double x[] = {4, 1, 4}, z[] = {0, 0, 0};
    gpusolve_matrix_data good = {sizeof good, GPUSOLVE_CSC, GPUSOLVE_LOWER, GPUSOLVE_DOUBLE, GPUSOLVE_INT32,
                                 2,           ptr,          NULL,           index,           x,
                                 NULL};
    gpusolve_matrix_data data = good;
#define REFUSED(field, value, status, word) \
    data = good;                            \
    data.field = value;                     \
    check_refused(handle, &data, status, word)
    REFUSED(size, 8, GPUSOLVE_INVALID_ARGUMENT, "data->size");
    REFUSED(format, (gpusolve_format)2, GPUSOLVE_INVALID_ARGUMENT, "data->format");
    REFUSED(triangle, (gpusolve_triangle)3, GPUSOLVE_INVALID_ARGUMENT, "data->triangle");
    REFUSED(dtype, (gpusolve_dtype)4, GPUSOLVE_INVALID_ARGUMENT, "data->dtype");
    REFUSED(itype, (gpusolve_itype)2, GPUSOLVE_INVALID_ARGUMENT, "data->itype");
    REFUSED(n, -1, GPUSOLVE_INVALID_ARGUMENT, "data->n");
    REFUSED(n, INT64_MAX, GPUSOLVE_TOO_LARGE, "data->n");
    REFUSED(ptr, NULL, GPUSOLVE_INVALID_ARGUMENT, "data->ptr");
    REFUSED(index, NULL, GPUSOLVE_INVALID_ARGUMENT, "data->index");
    REFUSED(x, NULL, GPUSOLVE_INVALID_ARGUMENT, "data->x");
    REFUSED(z, z, GPUSOLVE_INVALID_ARGUMENT, "data->z");
#undef REFUSED
#define REFUSED(array, k, value, status, word)      \
    do {                                            \
        data = good;                                \
        data.nz = nz;                               \
        __typeof__(array[0]) kept = array[k];       \
        array[k] = value;                           \
        check_refused(handle, &data, status, word); \
        array[k] = kept;                            \
    } while (0)
    REFUSED(index, 1, 2, GPUSOLVE_INVALID_ARGUMENT, "data->index");
    REFUSED(index, 2, -1, GPUSOLVE_INVALID_ARGUMENT, "data->index");
    REFUSED(ptr, 0, -1, GPUSOLVE_INVALID_ARGUMENT, "data->nz");
    REFUSED(nz, 1, -1, GPUSOLVE_INVALID_ARGUMENT, "data->nz");
    REFUSED(x, 1, NAN, GPUSOLVE_NOT_FINITE, "data->x");
    REFUSED(x, 2, -INFINITY, GPUSOLVE_NOT_FINITE, "data->x");
#undef REFUSED
    data = good;
    ptr[1] = 4; /* beyond ptr[2] */
    check_refused(handle, &data, GPUSOLVE_INVALID_ARGUMENT, "data->ptr");
    ptr[1] = 2;
    int64_t huge[] = {0, INT64_MAX, INT64_MAX};
    data.itype = GPUSOLVE_INT64;
    data.ptr = huge;
    check_refused(handle, &data, GPUSOLVE_INVALID_ARGUMENT, "data->ptr");
    huge[0] = INT64_MIN;
    check_refused(handle, &data, GPUSOLVE_INVALID_ARGUMENT, "data->ptr");
    double huge_x[] = {1.7e308, 1.7e308, 1.7e308};
    data = good;
    data.x = huge_x;
    check_refused(handle, &data, GPUSOLVE_NOT_FINITE, "data->x");
    double one_z[] = {0, NAN, 0};
    data = good;
    data.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    data.z = one_z;
    check_refused(handle, &data, GPUSOLVE_NOT_FINITE, "data->z");

    gpusolve_matrix *matrix;
    CHECK_STATUS(gpusolve_matrix_create(handle, &good, &matrix), GPUSOLVE_OK);
    CHECK(matrix != NULL && matrix->nnz == 4 && matrix->norm_inf == 5);
    gpusolve_matrix_destroy(matrix);
    gpusolve_destroy(handle);
}

static void check_backend(gpusolve_backend backend, const char *spec, cholmod_common *common) {
    testing_in("%s, %s", testing_backend_name(backend), spec);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    double complex *dense = dense_of(a);
    /* a factor of a neighbour of A, so that refinement reads every entry of A before it is done */
    double shift[2] = {0.01, 0};
    cholmod_factor *l = cholmod_analyze(a, common);
    REQUIRE(l != NULL && cholmod_factorize_p(a, shift, NULL, 0, l, common));
    expectation expected = {.handle = testing_handle(backend, 2)};
    REQUIRE(gpusolve_cholmod_import(expected.handle, l, &expected.factor) == GPUSOLVE_OK);
    gpusolve_dtype dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    expected.b = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, 1, 0);
    expected.x = testing_block(dtype, GPUSOLVE_COL_MAJOR, (int64_t)a->nrow, 1, 0);
    testing_fill(&expected.b, 61);
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_cholmod_matrix(expected.handle, a, &matrix) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_refine(expected.handle, expected.factor, matrix, NULL, &expected.b, &expected.x,
                                 NULL, &expected.error, NULL),
                 GPUSOLVE_OK);
    CHECK_BELOW(expected.error, 2 * DBL_EPSILON);
    CHECK_BELOW(fabs(matrix->norm_inf - testing_sparse_norm(a)), 1e-14 * matrix->norm_inf);
    CHECK(matrix->nnz == 2 * (int64_t)a->nzmax - (int64_t)a->nrow);
    expected.norm_inf = matrix->norm_inf;
    expected.nnz = matrix->nnz;
    check_forms(&expected, dense, testing_backend_name(backend));
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(expected.factor);
    gpusolve_destroy(expected.handle);
    free(expected.b.values);
    free(expected.x.values);
    free(dense);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        check_backend(backends[i], "grid2d:6", &common);
        check_backend(backends[i], "grid2d:6@c", &common);
        check_faults(backends[i]);
    }
    cholmod_finish(&common);
    return testing_done();
}
