/*
 * gpusolve_multiply on every backend: all operators against products with CHOLMOD's factor, and A itself; all types and kinds, also stored in
 * single precision, triangles of every width around a tile's edge and a stage's, both orders, in place, more columns than go at a time; a solve takes a
 * product back. Bits do not depend on the neighbours. New numbers, and numbers for which the factor is planned again. What is refused.
 */
#include "testing.h"

#include "block_factor.h"
#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_product.h"
#include "memory.h"

enum { OPERATORS = 5 };

/* The numbers of a factor, as they are, in single precision, and in double with L stored in single. */
enum { AS_THEY_ARE, SINGLE, STORED, PRECISIONS };

static gpusolve_status multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gpusolve_operator operation, const gpusolve_dense *x, const gpusolve_dense *y,
                                int on_device) {
    if (!on_device)
        return gpusolve_multiply(handle, factor, operation, x, y);
    gpusolve_dense from = *x, to = *y;
    from.values = device_new(x->values, testing_block_bytes(x));
    to.values = x->values == y->values ? from.values : device_new(y->values, testing_block_bytes(y));
    REQUIRE(from.values && to.values);
    const gpusolve_status status = gpusolve_multiply(handle, factor, operation, &from, &to);
    CHECK(device_read(y->values, to.values, testing_block_bytes(y)) == 0);
    device_delete(from.values);
    if (x->values != y->values)
        device_delete(to.values);
    return status;
}

/* y = operator x and the sum of the terms' sizes, which bounds the error, from the explicit factor. */
static void reference(const testing_explicit *e, gpusolve_operator operation, const double complex *x,
                      double complex *y, double *size) {
    const int n = e->n, first_p = operation == GPUSOLVE_TIMES_LtP || operation == GPUSOLVE_TIMES_A,
              lt = first_p || operation == GPUSOLVE_TIMES_Lt,
              l = operation != GPUSOLVE_TIMES_Lt && operation != GPUSOLVE_TIMES_LtP,
              last_p = operation == GPUSOLVE_TIMES_PtL || operation == GPUSOLVE_TIMES_A;
    double complex *v = malloc((size_t)n * sizeof *v), *w = malloc((size_t)n * sizeof *w);
    double *sv = malloc((size_t)n * sizeof *sv), *sw = malloc((size_t)n * sizeof *sw);
    REQUIRE(v && w && sv && sw);
    for (int i = 0; i < n; i++) {
        v[i] = x[first_p && e->perm ? e->perm[i] : i];
        sv[i] = cabs(v[i]);
    }
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 0 ? !lt : !l)
            continue;
        for (int i = 0; i < n; i++)
            w[i] = sw[i] = 0;
        for (int j = 0; j < n; j++)
            for (int k = e->p[j]; k < e->p[j + 1]; k++) {
                const int i = e->i[k], to = pass ? i : j, from = pass ? j : i;
                const double complex number = pass ? e->x[k] : conj(e->x[k]);
                w[to] += number * v[from];
                sw[to] += cabs(number) * sv[from];
            }
        for (int i = 0; i < n; i++) {
            const double d = operation == GPUSOLVE_TIMES_A && pass == 0 ? e->d[i] : 1;
            v[i] = d * w[i];
            sv[i] = fabs(d) * sw[i];
        }
    }
    for (int i = 0; i < n; i++) {
        y[last_p && e->perm ? e->perm[i] : i] = v[i];
        size[last_p && e->perm ? e->perm[i] : i] = sv[i];
    }
    free(v);
    free(w);
    free(sv);
    free(sw);
}

/* The largest error over the largest sum of sizes of a column, in units of epsilon, must be below `limit`: of A x, too. */
static void check_operator(gpusolve_handle *handle, const gpusolve_factor *factor, const testing_explicit *e,
                           gpusolve_dtype dtype, gpusolve_operator operation, int64_t cols,
                           gpusolve_order order, int in_place, int on_device, double limit, double epsilon) {
    const int64_t n = e->n;
    const gpusolve_dense x = testing_block(dtype, order, n, cols, 2),
                         other = testing_block(dtype, order, n, cols, 1), y = in_place ? x : other;
    double complex *from = malloc((size_t)(n * cols) * sizeof *from),
                   *expected = malloc((size_t)n * sizeof *expected);
    double *size = malloc((size_t)n * sizeof *size);
    REQUIRE(from && expected && size);
    testing_fill(&x, 31);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t i = 0; i < n; i++)
            from[i + c * n] = testing_get(&x, i, c);
    CHECK_STATUS(multiply(handle, factor, operation, &x, &y, on_device), GPUSOLVE_OK);
    CHECK(testing_padding_untouched(&y));
    double worst = 0;
    for (int64_t c = 0; c < cols; c++) {
        double error = 0, largest = 0;
        reference(e, operation, from + c * n, expected, size);
        for (int64_t i = 0; i < n; i++) {
            error = testing_worse(error, cabs(testing_get(&y, i, c) - expected[i]));
            largest = size[i] > largest ? size[i] : largest;
        }
        worst = testing_worse(worst, error / largest);
    }
    CHECK_BELOW(worst, limit * epsilon);
    /* a column by itself has the same bits */
    if (!in_place && cols > 1) {
        const gpusolve_dense one = testing_block(dtype, order, n, 1, 0),
                             result = testing_block(dtype, order, n, 1, 0);
        for (int64_t i = 0; i < n; i++)
            testing_set(&one, i, 0, from[i + (cols - 1) * n]);
        CHECK_STATUS(multiply(handle, factor, operation, &one, &result, on_device), GPUSOLVE_OK);
        CHECK(testing_same_bits(&result, 0, &y, cols - 1, 1));
        free(one.values);
        free(result.values);
    }
    free(from);
    free(expected);
    free(size);
    free(x.values);
    free(other.values);
}

/* L to single precision; D only with vectors in single precision. */
static void round_explicit(testing_explicit *e, int precision) {
    double *d = malloc((size_t)e->n * sizeof *d);
    REQUIRE(d);
    memcpy(d, e->d, (size_t)e->n * sizeof *d);
    testing_explicit_round(e);
    if (precision == STORED)
        memcpy(e->d, d, (size_t)e->n * sizeof *d);
    free(d);
}

/* All operators, for 1, 3 and 67 columns: more than go at a time. */
static void check_operators(gpusolve_handle *handle, const gpusolve_factor *factor, const testing_explicit *e,
                            gpusolve_dtype dtype, int devices, double limit, double epsilon) {
    for (int operation = 0; operation < OPERATORS; operation++)
        for (int on_device = 0; on_device <= devices; on_device++) {
            const gpusolve_operator o = (gpusolve_operator)operation;
            check_operator(handle, factor, e, dtype, o, 1, GPUSOLVE_COL_MAJOR, 0, on_device, limit, epsilon);
            check_operator(handle, factor, e, dtype, o, 3, GPUSOLVE_ROW_MAJOR, 1, on_device, limit, epsilon);
            check_operator(handle, factor, e, dtype, o, 67, GPUSOLVE_COL_MAJOR, 0, on_device, limit, epsilon);
        }
}

static void check_matrix(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind, int precision,
                         double limit, cholmod_common *common) {
    static const char *const names[] = {"", ", single", ", stored in single"};
    testing_in("%s, %s, kind %d%s", testing_backend_name(backend), spec, (int)kind, names[precision]);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l);
    gpusolve_handle *handle = testing_handle(backend, 3);
    gpusolve_factor *factor = NULL;
    gpusolve_factor_data data = testing_factor_data(l);
    testing_explicit e;
    REQUIRE(testing_explicit_create(l, a, common, &e) == 0);
    float *rounded = precision == SINGLE ? testing_round(l, &data) : NULL;
    data.storage = precision == STORED ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
    if (precision)
        round_explicit(&e, precision);
    /* of a stored factor the inverses of triangles, or on the host of the diagonal, are rounded, too */
    const double epsilon = precision == STORED ? (double)FLT_EPSILON : testing_epsilon(data.dtype);
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    check_operators(handle, factor, &e, data.dtype, backend == GPUSOLVE_BACKEND_CUDA, limit, epsilon);
    /* A \ (A x) = x */
    const gpusolve_dense x = testing_block(data.dtype, GPUSOLVE_COL_MAJOR, e.n, 2, 0),
                         y = testing_block(data.dtype, GPUSOLVE_COL_MAJOR, e.n, 2, 0);
    testing_fill(&x, 4);
    CHECK_STATUS(gpusolve_multiply(handle, factor, GPUSOLVE_TIMES_LtP, &x, &y), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_Lt, &y, &y), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_Pt, &y, &y), GPUSOLVE_OK);
    double worst = 0;
    for (int64_t c = 0; c < 2; c++)
        for (int64_t i = 0; i < e.n; i++)
            worst = testing_worse(worst, cabs(testing_get(&x, i, c) - testing_get(&y, i, c)));
    CHECK_BELOW(worst, 1e5 * epsilon);
    free(x.values);
    free(y.values);
    free(rounded);
    testing_explicit_free(&e);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* Dense triangles of every width around a tile's edge, L x by the formula: the diagonal is 2 or more, off it 1/4 (1 + i). The last column by itself has the
 * same bits. */
static void check_widths(gpusolve_backend backend, gpusolve_dtype dtype) {
    static const int32_t widths[] = {1,  2,  15,  16,  17,  31,  32,  33,  47,
                                     64, 65, 100, 255, 256, 257, 300, 513, 530};
    gpusolve_handle *handle = testing_handle(backend, 2);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        const int32_t width = widths[k], n = 2 * width + 1;
        double *diagonal = malloc((size_t)n * sizeof *diagonal);
        const double complex off = testing_is_complex(dtype) ? CMPLX(0.25, 0.25) : 0.25;
        REQUIRE(diagonal);
        for (int32_t j = 0; j < n; j++)
            diagonal[j] = 2 + j % 5;
        testing_in("%s, dtype %d, width %d", testing_backend_name(backend), (int)dtype, (int)width);
        block_factor f = block_factor_create(GPUSOLVE_SUPERNODAL_LL, dtype, n, width, diagonal, 0.25);
        gpusolve_factor *factor = NULL;
        REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
        const gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 9, 0),
                             y = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 9, 0);
        testing_fill(&x, 8);
        for (int transposed = 0; transposed < 2; transposed++) {
            double worst = 0;
            CHECK_STATUS(
                gpusolve_multiply(handle, factor, transposed ? GPUSOLVE_TIMES_Lt : GPUSOLVE_TIMES_L, &x, &y),
                GPUSOLVE_OK);
            for (int64_t c = 0; c < 9; c++)
                for (int32_t i = 0; i < n; i++) {
                    const int32_t begin = i / width * width, end = begin + width < n ? begin + width : n;
                    double complex sum = diagonal[i] * testing_get(&x, i, c);
                    for (int32_t j = transposed ? i + 1 : begin; j < (transposed ? end : i); j++)
                        sum += (transposed ? conj(off) : off) * testing_get(&x, j, c);
                    worst = testing_worse(worst, cabs(sum - testing_get(&y, i, c)));
                }
            CHECK_BELOW(worst, 300 * (1 + width / 4.0) * testing_epsilon(dtype));
            gpusolve_dense last = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, 1, 0);
            for (int32_t i = 0; i < n; i++)
                testing_set(&last, i, 0, testing_get(&x, i, 8));
            CHECK_STATUS(gpusolve_multiply(handle, factor, transposed ? GPUSOLVE_TIMES_Lt : GPUSOLVE_TIMES_L,
                                           &last, &last),
                         GPUSOLVE_OK);
            CHECK(testing_same_bits(&last, 0, &y, 8, 1));
            free(last.values);
        }
        free(x.values);
        free(y.values);
        gpusolve_factor_destroy(factor);
        block_factor_free(&f);
        free(diagonal);
    }
    gpusolve_destroy(handle);
}

static void check_refusals(gpusolve_backend backend) {
    testing_in("%s, refusals", testing_backend_name(backend));
    const double ones[] = {1, 1, 1, 1, 1};
    gpusolve_handle *h = testing_handle(backend, 1);
    block_factor block = block_factor_create(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, 5, 2, ones, 0);
    gpusolve_factor *f = NULL;
    REQUIRE(gpusolve_factor_create(h, &block.data, &f) == GPUSOLVE_OK);
    double a[15] = {1, 2, 3}, b[15] = {0};
    const gpusolve_dense good_x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 5, 3, 5, a},
                         good_y = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 5, 3, 5, b};
    gpusolve_dense x = good_x, y = good_y;
    CHECK_STATUS(gpusolve_multiply(NULL, f, GPUSOLVE_TIMES_L, &x, &y), GPUSOLVE_INVALID_ARGUMENT);
#define REFUSED(status, word)                                                          \
    CHECK_REFUSED(h, gpusolve_multiply(h, f, GPUSOLVE_TIMES_L, &x, &y), status, word); \
    x = good_x;                                                                        \
    y = good_y
    CHECK_REFUSED(h, gpusolve_multiply(h, NULL, GPUSOLVE_TIMES_L, &x, &y), GPUSOLVE_INVALID_ARGUMENT,
                  "factor");
    CHECK_REFUSED(h, gpusolve_multiply(h, f, (gpusolve_operator)5, &x, &y), GPUSOLVE_INVALID_ARGUMENT,
                  "operation");
    CHECK_REFUSED(h, gpusolve_multiply(h, f, (gpusolve_operator)-1, &x, &y), GPUSOLVE_INVALID_ARGUMENT,
                  "operation");
    CHECK_REFUSED(h, gpusolve_multiply(h, f, GPUSOLVE_TIMES_L, NULL, &y), GPUSOLVE_INVALID_ARGUMENT,
                  "x: is NULL");
    CHECK_REFUSED(h, gpusolve_multiply(h, f, GPUSOLVE_TIMES_L, &x, NULL), GPUSOLVE_INVALID_ARGUMENT,
                  "y: is NULL");
    x.rows = 4;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "x->rows");
    y.ld = 4;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "y->ld");
    y.cols = 2;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "y->cols");
    y.dtype = GPUSOLVE_FLOAT;
    REFUSED(GPUSOLVE_TYPE_MISMATCH, "y->dtype");
    x.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    REFUSED(GPUSOLVE_TYPE_MISMATCH, "x->dtype");
    y.values = NULL;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "y->values");
    y.values = a + 1;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "y->values: overlaps x");
    y.values = a;
    y.order = GPUSOLVE_ROW_MAJOR;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "y->values: is x->values");
#undef REFUSED
    for (int k = 0; k < 15; k++)
        CHECK(b[k] == 0);
    CHECK_STATUS(gpusolve_multiply(h, f, GPUSOLVE_TIMES_A, &x, &y), GPUSOLVE_OK);
    CHECK(b[0] == 1 && b[1] == 2 && b[2] == 3 && b[14] == 0);
    x.cols = y.cols = 0;
    CHECK_STATUS(gpusolve_multiply(h, f, GPUSOLVE_TIMES_A, &x, &y), GPUSOLVE_OK);
    gpusolve_factor_destroy(f);
    block_factor_free(&block);
    gpusolve_destroy(h);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    cholmod_common common;
    cholmod_start(&common);
    for (int b = 0; b < count; b++) {
        static const char *const specs[] = {"grid2d:23", "grid3d:7", "grid3d:5@c", "arrow:100,3,7",
                                            "shell:4"};
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int kind = 0; kind < 3; kind++)
                for (int precision = 0; precision < PRECISIONS; precision++)
                    check_matrix(backends[b], specs[s], (gpusolve_factor_kind)kind, precision,
                                 s == 4 ? 2000 : 100, &common);
        for (int dtype = 0; dtype < 4; dtype++)
            check_widths(backends[b], (gpusolve_dtype)dtype);
        check_refusals(backends[b]);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
