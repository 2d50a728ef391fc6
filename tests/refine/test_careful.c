/*
 * Refinement with residuals in twice the precision: x is right to the last bits, not its residual alone. And backward errors by components: as a
 * reference in long double has them, and as the rule that ends a column. All four types, all methods.
 *
 * Numbers of A are multiples of 1/64, those of x integers, so b = A x is exact in single precision.
 */
#include "testing.h"

#include <float.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

enum { COLUMNS = 4 };

typedef struct careful_case {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    cholmod_sparse *a;
    gpusolve_dtype dtype;
    int64_t n;
    gpusolve_dense b, x, exact;
} careful_case;

static double complex entry(const cholmod_sparse *a, int k) {
    const double *x = a->x;
    return a->xtype == CHOLMOD_REAL ? x[k] : CMPLX(x[2 * k], x[2 * k + 1]);
}

/* A in the case's precision, which holds its numbers exactly. */
static void make_matrix(careful_case *c) {
    gpusolve_matrix_data data = testing_matrix_data(c->a);
    const int *p = c->a->p;
    const size_t numbers = (size_t)p[c->n] * (testing_is_complex(c->dtype) ? 2 : 1);
    float *rounded = malloc(numbers * sizeof *rounded);
    REQUIRE(rounded != NULL);
    for (size_t k = 0; k < numbers; k++)
        rounded[k] = (float)((const double *)c->a->x)[k];
    data.dtype = c->dtype;
    if (c->dtype == GPUSOLVE_FLOAT || c->dtype == GPUSOLVE_COMPLEX_FLOAT)
        data.x = rounded;
    REQUIRE(gpusolve_matrix_create(c->handle, &data, &c->matrix) == GPUSOLVE_OK);
    free(rounded);
}

/* The factor of A with every diagonal entry times `diagonal`. `scale`: rows and columns are multiplied by powers of two up to it. */
static careful_case make_case(gpusolve_backend backend, const char *spec, int single, double diagonal,
                              int scale, cholmod_common *common) {
    careful_case c = {.handle = testing_handle_bits(backend, 2, 1), .a = testing_load(spec, common)};
    REQUIRE(c.a != NULL);
    const int is_complex = c.a->xtype != CHOLMOD_REAL, *p = c.a->p, *rows = c.a->i;
    double *numbers = c.a->x;
    c.n = (int64_t)c.a->nrow;
    c.dtype = is_complex ? single ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE
              : single   ? GPUSOLVE_FLOAT
                         : GPUSOLVE_DOUBLE;
    for (int k = 0; k < p[c.n] * (is_complex ? 2 : 1); k++)
        numbers[k] = nearbyint(64 * numbers[k]) / 64;
    for (int j = 0; j < (int)c.n && scale > 0; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            for (int part = 0; part <= is_complex; part++)
                numbers[k * (1 + is_complex) + part] *= ldexp(1, j * 7 % scale + rows[k] * 7 % scale);
    make_matrix(&c);
    cholmod_sparse *changed = cholmod_copy_sparse(c.a, common);
    REQUIRE(changed != NULL);
    for (int j = 0; j < (int)c.n; j++)
        ((double *)changed->x)[p[j] * (1 + is_complex)] *= diagonal;
    cholmod_factor *l = testing_factorize(changed, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = single ? testing_round(l, &data) : NULL;
    REQUIRE(gpusolve_factor_create(c.handle, &data, &c.factor) == GPUSOLVE_OK);
    free(rounded);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&changed, common);

    c.b = testing_block(c.dtype, GPUSOLVE_COL_MAJOR, c.n, COLUMNS, 0);
    c.x = testing_block(c.dtype, GPUSOLVE_COL_MAJOR, c.n, COLUMNS, 0);
    c.exact = testing_block(c.dtype, GPUSOLVE_COL_MAJOR, c.n, COLUMNS, 0);
    double complex *x = malloc((size_t)c.n * sizeof *x), *b = malloc((size_t)c.n * sizeof *b);
    REQUIRE(x && b);
    for (int64_t j = 0; j < COLUMNS; j++) {
        for (int64_t i = 0; i < c.n; i++) {
            x[i] = (double)((i * i + 3 * i * (j + 1)) % 199 - 99);
            if (is_complex)
                x[i] = CMPLX(creal(x[i]), (double)(i * (j + 5) % 101 - 50));
            if (scale > 0) /* A x has terms of one size in each row */
                x[i] =
                    ldexp(creal(x[i]), -(int)(i * 7 % scale)) + I * ldexp(cimag(x[i]), -(int)(i * 7 % scale));
            testing_set(&c.exact, i, j, x[i]);
        }
        testing_sparse_multiply(c.a, x, b);
        for (int64_t i = 0; i < c.n; i++)
            testing_set(&c.b, i, j, b[i]);
    }
    free(x);
    free(b);
    return c;
}

static void free_case(careful_case *c, cholmod_common *common) {
    gpusolve_matrix_destroy(c->matrix);
    gpusolve_factor_destroy(c->factor);
    gpusolve_destroy(c->handle);
    cholmod_free_sparse(&c->a, common);
    free(c->b.values);
    free(c->x.values);
    free(c->exact.values);
}

/* max |x - exact| / max |exact| of a column */
static double forward_error(const careful_case *c, int64_t j) {
    double most = 0, size = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const double error = cabs(testing_get(&c->x, i, j) - testing_get(&c->exact, i, j));
        most = error > most || isnan(error) ? error : most;
        size = fmax(size, cabs(testing_get(&c->exact, i, j)));
    }
    return most / size;
}

/* max |b - A x|(i) / (|A| |x| + |b|)(i) of a column */
static double componentwise_error(const careful_case *c, int64_t j) {
    const int *p = c->a->p, *rows = c->a->i;
    long double complex *r = calloc((size_t)c->n, sizeof *r);
    long double *size = calloc((size_t)c->n, sizeof *size), most = 0;
    REQUIRE(r && size);
    for (int64_t i = 0; i < c->n; i++) {
        r[i] = testing_get(&c->b, i, j);
        size[i] = cabsl(r[i]);
    }
    for (int col = 0; col < (int)c->n; col++)
        for (int k = p[col]; k < p[col + 1]; k++) {
            const long double complex a = entry(c->a, k), x = testing_get(&c->x, col, j),
                                      y = testing_get(&c->x, rows[k], j);
            r[rows[k]] -= a * x;
            size[rows[k]] += cabsl(a) * cabsl(x);
            if (rows[k] != col) {
                r[col] -= conjl(a) * y;
                size[col] += cabsl(a) * cabsl(y);
            }
        }
    for (int64_t i = 0; i < c->n; i++)
        if (cabsl(r[i]) > 0)
            most = fmaxl(most, cabsl(r[i]) / size[i]);
    free(r);
    free(size);
    return (double)most;
}

static gpusolve_status run(const careful_case *c, const gpusolve_refine_options *options, double *errors,
                           int *steps) {
    return gpusolve_refine(c->handle, c->factor, c->matrix, NULL, &c->b, &c->x, options, errors, steps);
}

/* With `twice` x is right to the last bits, where plain residuals leave what the condition number makes of rounding. */
static void check_twice(gpusolve_backend backend, const char *spec, int single, gpusolve_refine_method method,
                        cholmod_common *common) {
    testing_in("%s, %s, single %d, method %d, twice", testing_backend_name(backend), spec, single,
               (int)method);
    careful_case c = make_case(backend, spec, single, 1.0001, 0, common);
    const double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    double errors[COLUMNS], plain[COLUMNS];
    int steps[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.max_steps = 30;
    CHECK_STATUS(run(&c, &options, errors, steps), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++)
        plain[j] = forward_error(&c, j);
    options.twice = 1;
    CHECK_STATUS(run(&c, &options, errors, steps), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++) {
        CHECK_BELOW(forward_error(&c, j), epsilon);
        CHECK(plain[j] > 2 * epsilon);
        CHECK_BELOW(errors[j], epsilon);
        CHECK(steps[j] >= 2 && steps[j] < 30);
    }
    free_case(&c, common);
}

/* What is reported, what a tolerance does, and how small it becomes where rows and columns are badly scaled. */
static void check_componentwise(gpusolve_backend backend, const char *spec, int single, int twice,
                                cholmod_common *common) {
    testing_in("%s, %s, single %d, twice %d, componentwise", testing_backend_name(backend), spec, single,
               twice);
    careful_case c = make_case(backend, spec, single, 1.0001, single ? 0 : 20, common);
    const double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    double errors[COLUMNS];
    int steps[COLUMNS], fewer[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.twice = twice;
    options.componentwise = 1;
    CHECK_STATUS(run(&c, &options, errors, steps), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++) {
        CHECK_BELOW(fabs(errors[j] - componentwise_error(&c, j)), 4 * epsilon);
        CHECK_BELOW(errors[j], 8 * epsilon);
        CHECK(steps[j] >= 1);
    }
    options.max_steps = 0;
    CHECK_STATUS(run(&c, &options, errors, fewer), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++) {
        const double expected = componentwise_error(&c, j);
        CHECK_BELOW(fabs(errors[j] - expected), 1e-3 * expected + 4 * epsilon);
        CHECK(expected > 1e-6);
    }
    options.max_steps = 10;
    options.tolerance = 1e-6;
    CHECK_STATUS(run(&c, &options, errors, fewer), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++)
        CHECK(errors[j] <= 1e-6 && fewer[j] >= 1 && fewer[j] <= steps[j]);
    free_case(&c, common);
}

/* Columns with a NaN, with zeros in b, or with nothing to correct. */
static void check_odd_columns(gpusolve_backend backend, cholmod_common *common) {
    testing_in("%s, odd columns with care", testing_backend_name(backend));
    careful_case c = make_case(backend, "grid2d:30", 0, 1.0001, 0, common);
    double errors[COLUMNS];
    int steps[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.twice = options.componentwise = 1;
    testing_set(&c.b, 7, 1, NAN);
    for (int64_t i = 0; i < c.n; i++)
        testing_set(&c.b, i, 2, 0);
    CHECK_STATUS(run(&c, &options, errors, steps), GPUSOLVE_OK);
    CHECK(isnan(errors[1]) && steps[1] == 0);
    CHECK(errors[2] == 0 && steps[2] == 0 && testing_get(&c.x, 3, 2) == 0);
    CHECK_BELOW(forward_error(&c, 0), DBL_EPSILON);
    CHECK_BELOW(forward_error(&c, 3), DBL_EPSILON);
    options.solve_first = 0; /* the exact answer is left as it is */
    for (int64_t i = 0; i < c.n; i++)
        testing_set(&c.x, i, 0, testing_get(&c.exact, i, 0));
    CHECK_STATUS(run(&c, &options, errors, steps), GPUSOLVE_OK);
    CHECK(errors[0] == 0 && steps[0] == 0 && forward_error(&c, 0) == 0);
    free_case(&c, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        for (int m = GPUSOLVE_REFINE_RICHARDSON; m <= GPUSOLVE_REFINE_AUTOMATIC; m++)
            for (int single = 0; single < 2; single++) {
                check_twice(backends[i], "grid2d:60", single, (gpusolve_refine_method)m, &common);
                check_twice(backends[i], "grid2d:50@c", single, (gpusolve_refine_method)m, &common);
            }
        for (int twice = 0; twice < 2; twice++)
            for (int single = 0; single < 2; single++) {
                check_componentwise(backends[i], "grid2d:30", single, twice, &common);
                check_componentwise(backends[i], "grid3d:8@c", single, twice, &common);
            }
        check_odd_columns(backends[i], &common);
    }
    cholmod_finish(&common);
    return testing_done();
}
