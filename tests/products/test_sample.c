/*
 * gpusolve_sample on every backend. The numbers that are drawn: a second formula, moments, the same bits on every
 * backend, whatever the block they are drawn in. The samples: against solves with L' and P', the covariance of many against the inverse of A by
 * elimination. All types and kinds, odd sizes, both orders, means, memory of both kinds; what is refused.
 */
#include "testing.h"

#include "block_factor.h"
#include "cholmod_helpers.h"
#include "dense_kernels/normal.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_sample.h"
#include "memory.h"

/* gpusolve_sample on host blocks; with on_device their copies in device memory are what the library sees. */
static gpusolve_status sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                              gpusolve_workspace *workspace, const gpusolve_sample_options *options,
                              const gpusolve_dense *x, int on_device) {
    if (!on_device)
        return gpusolve_sample(handle, factor, workspace, options, x);
    gpusolve_dense there = *x, z;
    gpusolve_sample_options own = *options;
    there.values = device_new(x->values, testing_block_bytes(x));
    REQUIRE(there.values != NULL);
    if (options->z) {
        z = *options->z;
        z.values = device_new(z.values, testing_block_bytes(&z));
        own.z = &z;
    }
    if (options->mean)
        own.mean = device_new(options->mean, (size_t)x->rows * testing_bytes(x->dtype));
    const gpusolve_status status = gpusolve_sample(handle, factor, workspace, &own, &there);
    CHECK(device_read(x->values, there.values, testing_block_bytes(x)) == 0);
    device_delete(there.values);
    if (options->z)
        device_delete(z.values);
    if (options->mean)
        device_delete((void *)(uintptr_t)own.mean);
    return status;
}

/* ------------------------------------------------------------------------------------ what is drawn --- */

/* z(row) of sample `column` by the formula of the header, with the C library's functions. */
static double complex reference(uint64_t seed, int64_t row, int64_t column, int is_complex) {
    uint64_t random[2];
    gsv_philox((uint64_t)(is_complex ? row : row / 2), (uint64_t)column, seed, random);
    const double u = 1 - (double)(random[0] >> 12) * 0x1p-52, v = (double)(random[1] >> 12) * 0x1p-52;
    const double r = sqrt((is_complex ? -1 : -2) * log(u)), angle = 6.283185307179586476925 * v;
    return is_complex ? CMPLX(r * cos(angle), r * sin(angle)) : r * (row % 2 ? sin(angle) : cos(angle));
}

/* The identity, of the type: x is z. */
static gpusolve_factor *identity(gpusolve_handle *handle, gpusolve_dtype dtype, int32_t n) {
    double *ones = malloc(((size_t)n + 1) * sizeof *ones);
    REQUIRE(ones != NULL);
    for (int32_t j = 0; j < n; j++)
        ones[j] = 1;
    block_factor f = block_factor_create(GPUSOLVE_SUPERNODAL_LL, dtype, n, 1, ones, 0);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    block_factor_free(&f);
    free(ones);
    return factor;
}

static void check_drawn(gpusolve_backend backend, gpusolve_dtype dtype, int32_t n, int64_t cols,
                        gpusolve_order order, uint64_t seed, int64_t first) {
    testing_in("%s, drawn, dtype %d, n %d, %d columns, order %d", testing_backend_name(backend), dtype,
               (int)n, (int)cols, (int)order);
    gpusolve_handle *handle = testing_handle(backend, 3);
    gpusolve_factor *factor = identity(handle, dtype, n);
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    options.seed = seed;
    options.first = first;
    for (int on_device = 0; on_device <= (backend == GPUSOLVE_BACKEND_CUDA); on_device++) {
        const gpusolve_dense x = testing_block(dtype, order, n, cols, 3),
                             bits = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, cols, 0);
        double worst = 0;
        CHECK_STATUS(sample(handle, factor, NULL, &options, &x, on_device), GPUSOLVE_OK);
        CHECK(testing_padding_untouched(&x));
        for (int64_t c = 0; c < cols; c++)
            for (int64_t i = 0; i < n; i++) {
                const int complex_numbers = testing_is_complex(dtype);
                const gsv_normals z =
                    gsv_normal(seed, complex_numbers ? i : i / 2, first + c, complex_numbers);
                testing_set(&bits, i, c, complex_numbers ? CMPLX(z.a, z.b) : i % 2 ? z.b : z.a);
                worst = testing_worse(
                    worst, cabs(testing_get(&x, i, c) - reference(seed, i, first + c, complex_numbers)));
            }
        CHECK(testing_same_bits(&x, 0, &bits, 0, cols));
        if (n > 0 && cols > 0)
            CHECK_BELOW(worst, 20 * testing_epsilon(dtype));
        free(x.values);
        free(bits.values);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* Mean, variance, the fourth moment, neighbours' products, and how often |z| is above 1, 2 and 3, of N numbers: within 5 standard deviations. */
static void check_moments(gpusolve_backend backend) {
    const int32_t n = 50001;
    const int64_t cols = testing_few() ? 4 : 40;
    const double count = (double)n * (double)cols;
    testing_in("%s, moments", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = identity(handle, GPUSOLVE_DOUBLE, n);
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    options.seed = 12345;
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, cols, 0);
    CHECK_STATUS(gpusolve_sample(handle, factor, NULL, &options, &x), GPUSOLVE_OK);
    const double *z = x.values;
    double m1 = 0, m2 = 0, m4 = 0, rows = 0, columns = 0, above[3] = {0, 0, 0};
    for (int64_t k = 0; k < n * cols; k++) {
        const double square = z[k] * z[k];
        m1 += z[k];
        m2 += square;
        m4 += square * square;
        rows += k + 1 < n * cols ? z[k] * z[k + 1] : 0;
        columns += k + n < n * cols ? z[k] * z[k + n] : 0;
        for (int a = 0; a < 3; a++)
            above[a] += fabs(z[k]) > a + 1;
    }
    CHECK_BELOW(fabs(m1 / count), 5 / sqrt(count));
    CHECK_BELOW(fabs(m2 / count - 1), 5 * sqrt(2 / count));
    CHECK_BELOW(fabs(m4 / count - 3), 5 * sqrt(96 / count));
    CHECK_BELOW(fabs(rows / count), 5 / sqrt(count));
    CHECK_BELOW(fabs(columns / count), 5 / sqrt(count));
    for (int a = 0; a < 3; a++) {
        const double p = erfc((a + 1) / sqrt(2));
        CHECK_BELOW(fabs(above[a] / count - p), 5 * sqrt(p / count));
    }
    free(x.values);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* ---------------------------------------------------------------------------------------- samples of A --- */

/* A matrix, its factor by CHOLMOD, and the import. */
typedef struct field {
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_dtype dtype;
    int64_t n;
    float *rounded;
    gpusolve_factor_data data;
} field;

static field open_field(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind, int single,
                        int same_bits) {
    field f = {.handle = testing_handle_bits(backend, 3, same_bits)};
    testing_in("%s, %s, kind %d%s", testing_backend_name(backend), spec, (int)kind, single ? ", single" : "");
    cholmod_start(&f.common);
    f.a = testing_load(spec, &f.common);
    REQUIRE(f.a);
    f.l = testing_factorize(f.a, kind, &f.common);
    REQUIRE(f.l);
    f.data = testing_factor_data(f.l);
    if (single)
        f.rounded = testing_round(f.l, &f.data);
    REQUIRE(gpusolve_factor_create(f.handle, &f.data, &f.factor) == GPUSOLVE_OK);
    f.dtype = f.data.dtype;
    f.n = f.data.n;
    return f;
}

static void close_field(field *f) {
    gpusolve_factor_destroy(f->factor);
    gpusolve_destroy(f->handle);
    free(f->rounded);
    cholmod_free_factor(&f->l, &f->common);
    cholmod_free_sparse(&f->a, &f->common);
    cholmod_finish(&f->common);
}

/* x = mean + P' L' \ (D^(-1/2) z) by the library's own solves, which other tests check. */
static void expect(const field *f, gpusolve_workspace *workspace, const gpusolve_dense *z, const void *mean,
                   const gpusolve_dense *x, int on_device) {
    const int32_t *p = f->data.p;
    for (int64_t c = 0; c < z->cols; c++)
        for (int64_t i = 0; i < f->n; i++) {
            double complex number = testing_get(z, i, c);
            if (f->data.kind == GPUSOLVE_SIMPLICIAL_LDL) {
                const double root = sqrt(creal(testing_fetch(f->dtype, f->data.x, p[i])));
                number = CMPLX(creal(number) / root, cimag(number) / root);
            }
            testing_set(x, i, c, number);
        }
    CHECK_STATUS(testing_solve(f->handle, f->factor, workspace, GPUSOLVE_Lt, x, x, on_device), GPUSOLVE_OK);
    CHECK_STATUS(testing_solve(f->handle, f->factor, workspace, GPUSOLVE_Pt, x, x, on_device), GPUSOLVE_OK);
    for (int64_t c = 0; c < z->cols && mean; c++)
        for (int64_t i = 0; i < f->n; i++) {
            const double complex m = testing_fetch(f->dtype, mean, i), number = testing_get(x, i, c);
            const double re = creal(number) + creal(m), im = cimag(number) + cimag(m);
            testing_set(x, i, c, CMPLX(re, im));
        }
}

/* The caller's z, elsewhere and in place, and z that is drawn: the bits of solves one step at a time. */
static void check_samples(const field *f, int64_t cols, int64_t max_nrhs, gpusolve_order order, int with_mean,
                          int on_device) {
    const gpusolve_dense z = testing_block(f->dtype, order, f->n, cols, 2),
                         x = testing_block(f->dtype, order, f->n, cols, 1),
                         expected = testing_block(f->dtype, order, f->n, cols, 0),
                         mean = testing_block(f->dtype, GPUSOLVE_COL_MAJOR, f->n, 1, 0);
    gpusolve_workspace *workspace = NULL;
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    REQUIRE(gpusolve_workspace_create(f->handle, f->factor, max_nrhs, &workspace) == GPUSOLVE_OK);
    testing_fill(&mean, 11);
    if (with_mean)
        options.mean = mean.values;
    options.z = &z;
    testing_fill(&z, 5);
    expect(f, workspace, &z, options.mean, &expected, on_device);
    CHECK_STATUS(sample(f->handle, f->factor, workspace, &options, &x, on_device), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    if (!on_device) { /* in place */
        options.z = &x;
        for (int64_t c = 0; c < cols; c++)
            for (int64_t i = 0; i < f->n; i++)
                testing_set(&x, i, c, testing_get(&z, i, c));
        CHECK_STATUS(gpusolve_sample(f->handle, f->factor, workspace, &options, &x), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    }
    options.z = NULL;
    options.seed = 99;
    options.first = 7;
    for (int64_t c = 0; c < cols; c++)
        for (int64_t i = 0; i < f->n; i++) {
            const int pairs = testing_is_complex(f->dtype);
            const gsv_normals pair = gsv_normal(99, pairs ? i : i / 2, 7 + c, pairs);
            testing_set(&z, i, c, pairs ? CMPLX(pair.a, pair.b) : i % 2 ? pair.b : pair.a);
        }
    CHECK_STATUS(sample(f->handle, f->factor, workspace, &options, &x, on_device), GPUSOLVE_OK);
    if (f->data.kind ==
        GPUSOLVE_SIMPLICIAL_LDL) { /* z is divided before it is rounded to the factor's precision */
        expect(f, workspace, &z, options.mean, &expected, on_device);
        double worst = 0, largest = 0;
        for (int64_t c = 0; c < cols; c++)
            for (int64_t i = 0; i < f->n; i++) {
                worst = testing_worse(worst, cabs(testing_get(&x, i, c) - testing_get(&expected, i, c)));
                largest = testing_worse(largest, cabs(testing_get(&expected, i, c)));
            }
        CHECK_BELOW(worst, 30 * testing_epsilon(f->dtype) * largest);
    } else {
        expect(f, workspace, &z, options.mean, &expected, on_device);
        CHECK(testing_same_bits(&x, 0, &expected, 0, cols) && testing_padding_untouched(&x));
    }
    gpusolve_workspace_destroy(workspace);
    free(z.values);
    free(x.values);
    free(expected.values);
    free(mean.values);
}

/* Sample k by itself, and in blocks of other widths, has the bits that it has among all. */
static void check_blocks(gpusolve_backend backend, const char *spec) {
    field f = open_field(backend, spec, GPUSOLVE_SUPERNODAL_LL, 0, 1);
    const int64_t cols = 75;
    const gpusolve_dense all = testing_block(f.dtype, GPUSOLVE_COL_MAJOR, f.n, cols, 0),
                         x = testing_block(f.dtype, GPUSOLVE_COL_MAJOR, f.n, cols, 0);
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    options.seed = UINT64_MAX;
    options.first = INT64_C(1) << 33;
    CHECK_STATUS(gpusolve_sample(f.handle, f.factor, NULL, &options, &all), GPUSOLVE_OK);
    for (int64_t k = 0; k < cols; k += 14) {
        const gpusolve_dense one = {f.dtype, GPUSOLVE_COL_MAJOR, f.n, 1, f.n, x.values};
        options.first = (INT64_C(1) << 33) + k;
        CHECK_STATUS(gpusolve_sample(f.handle, f.factor, NULL, &options, &one), GPUSOLVE_OK);
        CHECK(testing_same_bits(&one, 0, &all, k, 1));
    }
    for (int64_t max_nrhs = 1; max_nrhs <= 64; max_nrhs *= 4) {
        gpusolve_workspace *workspace = NULL;
        options.first = INT64_C(1) << 33;
        REQUIRE(gpusolve_workspace_create(f.handle, f.factor, max_nrhs, &workspace) == GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_sample(f.handle, f.factor, workspace, &options, &x), GPUSOLVE_OK);
        CHECK(testing_same_bits(&x, 0, &all, 0, cols));
        gpusolve_workspace_destroy(workspace);
    }
    options.seed--;
    CHECK_STATUS(gpusolve_sample(f.handle, f.factor, NULL, &options, &x), GPUSOLVE_OK);
    CHECK(!testing_same_bits(&x, 0, &all, 0, 1));
    free(all.values);
    free(x.values);
    close_field(&f);
}

/* E (x - mean) conj(x - mean)' = inv(A), from many samples: entries of the sum vary by sqrt(c_ii c_jj + |c_ij|^2) at most. */
static void check_covariance(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind) {
    field f = open_field(backend, spec, kind, 0, 0);
    const int64_t samples = testing_few() ? 4000 : 40000, n = f.n;
    double complex *m = testing_invert(f.a), *c = m + n * n, *sums = calloc((size_t)(n * n), sizeof *sums),
                   *mean = calloc((size_t)n, sizeof *mean);
    const gpusolve_dense x = testing_block(f.dtype, GPUSOLVE_ROW_MAJOR, n, samples, 0),
                         shift = testing_block(f.dtype, GPUSOLVE_COL_MAJOR, n, 1, 0);
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    REQUIRE(sums && mean);
    testing_fill(&shift, 3);
    options.seed = 2026;
    options.mean = shift.values;
    CHECK_STATUS(gpusolve_sample(f.handle, f.factor, NULL, &options, &x), GPUSOLVE_OK);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < samples; k++)
            mean[i] += testing_get(&x, i, k) / (double)samples;
        CHECK_BELOW(cabs(mean[i] - testing_get(&shift, i, 0)),
                    6 * sqrt(creal(c[i * n + i]) / (double)samples));
    }
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double complex sum = 0;
            for (int64_t k = 0; k < samples; k++)
                sum += (testing_get(&x, i, k) - testing_get(&shift, i, 0)) *
                       conj(testing_get(&x, j, k) - testing_get(&shift, j, 0));
            const double complex expected = c[j * n + i];
            const double spread = sqrt(creal(c[i * n + i]) * creal(c[j * n + j]) + pow(cabs(expected), 2));
            worst = testing_worse(worst, cabs(sum / (double)samples - expected) / spread);
        }
    CHECK_BELOW(worst, 6 / sqrt((double)samples));
    free(m);
    free(sums);
    free(mean);
    free(x.values);
    free(shift.values);
    close_field(&f);
}

/* ------------------------------------------------------------------------------------------- refusals --- */

static void check_refusals(gpusolve_backend backend) {
    testing_in("%s, refusals", testing_backend_name(backend));
    gpusolve_handle *h = testing_handle(backend, 1);
    gpusolve_factor *f = identity(h, GPUSOLVE_DOUBLE, 5), *other = identity(h, GPUSOLVE_DOUBLE, 5);
    gpusolve_workspace *foreign = NULL;
    double numbers[15] = {0}, more[15] = {0}, mean[5] = {0};
    const gpusolve_dense good = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 5, 3, 5, numbers};
    gpusolve_dense x = good, z = good;
    gpusolve_sample_options o = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    REQUIRE(gpusolve_workspace_create(h, other, 1, &foreign) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_sample(NULL, f, NULL, &o, &x), GPUSOLVE_INVALID_ARGUMENT);
#define REFUSED(status, word) CHECK_REFUSED(h, gpusolve_sample(h, f, NULL, &o, &x), status, word)
    CHECK_REFUSED(h, gpusolve_sample(h, NULL, NULL, &o, &x), GPUSOLVE_INVALID_ARGUMENT, "factor");
    CHECK_REFUSED(h, gpusolve_sample(h, f, foreign, &o, &x), GPUSOLVE_INVALID_ARGUMENT, "workspace");
    CHECK_REFUSED(h, gpusolve_sample(h, f, NULL, &o, NULL), GPUSOLVE_INVALID_ARGUMENT, "x: is NULL");
    o.size--;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "options->size");
    o.size++;
    o.first = -1;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "options->first");
    o.first = INT64_MAX - 2;
    REFUSED(GPUSOLVE_TOO_LARGE, "options->first");
    o.first = 0;
    x.dtype = GPUSOLVE_FLOAT;
    REFUSED(GPUSOLVE_TYPE_MISMATCH, "x->dtype");
    x.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    REFUSED(GPUSOLVE_TYPE_MISMATCH, "x->dtype");
    x = good;
    x.rows = 4;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "x->rows");
    x = good;
    x.values = NULL;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "x->values: is NULL");
    x = good;
    z.values = more;
    o.z = &z;
    z.cols = 2;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "x->cols");
    z.cols = 3;
    z.ld = 4;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "options->z->ld");
    z.ld = 5;
    z.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    REFUSED(GPUSOLVE_TYPE_MISMATCH, "options->z->dtype");
    z = good;
    z.values = numbers + 1;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "overlaps options->z");
    o.z = NULL;
    o.mean = numbers + 14;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "options->mean: shares");
    o.mean = (char *)mean + 1;
    REFUSED(GPUSOLVE_INVALID_ARGUMENT, "options->mean: is not aligned");
    o.mean = mean;
    for (int k = 0; k < 15; k++)
        CHECK(numbers[k] == 0 && more[k] == 0);
    x.cols = 0;
    CHECK_STATUS(gpusolve_sample(h, f, NULL, &o, &x), GPUSOLVE_OK);
    x.cols = 3;
    CHECK_STATUS(gpusolve_sample(h, f, NULL, NULL, &x), GPUSOLVE_OK); /* the defaults */
    CHECK(fabs(numbers[0] - creal(reference(0, 0, 0, 0))) < 1e-14 && numbers[14] != 0);
#undef REFUSED
    gpusolve_workspace_destroy(foreign);
    gpusolve_factor_destroy(other);
    gpusolve_factor_destroy(f);

    /* D with two negative entries, whose determinant is positive; a refresh may bring them, and take them away */
    double d[] = {1, -2, 3, 4, -5}, positive[] = {1, 2, 3, 4, 5};
    block_factor bad = block_factor_create(GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE, 5, 2, d, 0.5),
                 fine = block_factor_create(GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE, 5, 2, positive, 0.5);
    REQUIRE(gpusolve_factor_create(h, &bad.data, &f) == GPUSOLVE_OK);
    CHECK_REFUSED(h, gpusolve_sample(h, f, NULL, NULL, &x), GPUSOLVE_NOT_POSITIVE_DEFINITE,
                  "2 entries of D are negative");
    CHECK_STATUS(gpusolve_factor_refresh(h, f, &fine.data), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_sample(h, f, NULL, NULL, &x), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_refresh(h, f, &bad.data), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_sample(h, f, NULL, NULL, &x), GPUSOLVE_NOT_POSITIVE_DEFINITE);
    gpusolve_factor_destroy(f);
    block_factor_free(&bad);
    block_factor_free(&fine);
    gpusolve_destroy(h);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int b = 0; b < count; b++) {
        static const int32_t sizes[] = {0, 1, 2, 3, 255, 1023, 1024, 1025, 2049};
        for (int dtype = 0; dtype < 4; dtype++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                check_drawn(backends[b], (gpusolve_dtype)dtype, sizes[k], k % 3 ? 3 : 37,
                            k % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, 77 + k, (int64_t)(5 * k) << 30);
        check_moments(backends[b]);
        static const char *const specs[] = {"grid2d:31", "grid3d:9", "grid3d:6@c"};
        for (int s = 0; s < 3; s++)
            for (int kind = 0; kind < 3; kind++)
                for (int single = 0; single < 2; single++) {
                    field f = open_field(backends[b], specs[s], (gpusolve_factor_kind)kind, single, 0);
                    const int on_device = backends[b] == GPUSOLVE_BACKEND_CUDA;
                    for (int way = 0; way <= on_device; way++) {
                        check_samples(&f, 1, 1, GPUSOLVE_COL_MAJOR, 1, way);
                        check_samples(&f, 7, 32, GPUSOLVE_ROW_MAJOR, 0, way);
                        check_samples(&f, 70, 33, GPUSOLVE_COL_MAJOR, 1, way);
                        check_samples(&f, 33, 64, GPUSOLVE_ROW_MAJOR, 1, way);
                    }
                    close_field(&f);
                }
        check_blocks(backends[b], "grid2d:40");
        check_blocks(backends[b], "grid3d:12");
        for (int kind = 0; kind < 3; kind++) {
            check_covariance(backends[b], "grid2d:5", (gpusolve_factor_kind)kind);
            check_covariance(backends[b], "grid2d:4@c", (gpusolve_factor_kind)kind);
        }
        check_refusals(backends[b]);
    }
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
