/*
 * gpusolve_factor_rcond, on every backend: never below the reciprocal condition number, at most three times that, and no worse than LAPACK's xLACN2,
 * which is written out here for dense inverses. Matrices whose condition number is known exactly. All types and kinds, norms far from 1,
 * matrices that are singular to working precision.
 */
#include "testing.h"

#include "block_factor.h"
#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "memory.h"

/* ------------------------------------------------------------------------------- dense references --- */

static double dense_norm(const double complex *m, int n) {
    double norm = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += cabs(m[i + j * n]);
        norm = testing_worse(norm, sum);
    }
    return norm;
}

/* By Gauss and Jordan with pivots; m is lost. */
static double complex *dense_inverse(double complex *m, int n) {
    double complex *inverse = calloc((size_t)n * (size_t)n, sizeof *inverse);
    REQUIRE(inverse != NULL);
    for (int i = 0; i < n; i++)
        inverse[i + i * n] = 1;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k; i < n; i++)
            pivot = cabs(m[i + k * n]) > cabs(m[pivot + k * n]) ? i : pivot;
        const double complex by = 1 / m[pivot + k * n];
        for (int j = 0; j < n; j++) {
            const double complex a = m[pivot + j * n] * by, b = inverse[pivot + j * n] * by;
            m[pivot + j * n] = m[k + j * n];
            inverse[pivot + j * n] = inverse[k + j * n];
            m[k + j * n] = a;
            inverse[k + j * n] = b;
        }
        for (int i = 0; i < n; i++) {
            const double complex times = m[i + k * n];
            for (int j = 0; j < n && i != k && times != 0; j++) {
                m[i + j * n] -= times * m[k + j * n];
                inverse[i + j * n] -= times * inverse[k + j * n];
            }
        }
    }
    return inverse;
}

static double vector_norm(const double complex *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += cabs(x[i]);
    return sum;
}

static void multiply(const double complex *m, int n, double complex *x) {
    double complex *y = calloc((size_t)n, sizeof *y);
    REQUIRE(y != NULL);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            y[i] += m[i + j * n] * x[j];
    memcpy(x, y, (size_t)n * sizeof *x);
    free(y);
}

static int largest_of(const double complex *x, int n) {
    int at = 0;
    for (int i = 1; i < n; i++)
        at = cabs(x[i]) > cabs(x[at]) ? i : at;
    return at;
}

/* DLACN2 and ZLACN2, for a matrix that is its own conjugate transpose. */
static double lacn2(const double complex *m, int n, int is_complex) {
    double complex *x = malloc((size_t)n * sizeof *x), *signs = calloc((size_t)n, sizeof *signs);
    REQUIRE(x && signs);
    for (int i = 0; i < n; i++)
        x[i] = 1.0 / n;
    multiply(m, n, x);
    double estimate = vector_norm(x, n);
    for (int step = 1, j = 0; n > 1 && step <= 5; step++) {
        int same = !is_complex && step > 1;
        for (int i = 0; i < n; i++) {
            const double complex sign = x[i] == 0 ? 1 : x[i] / cabs(x[i]);
            same &= sign == signs[i];
            x[i] = signs[i] = sign;
        }
        if (same)
            break;
        multiply(m, n, x);
        const int last = j;
        j = largest_of(x, n);
        if (step > 1 && cabs(x[last]) == cabs(x[j]))
            break;
        memset(x, 0, (size_t)n * sizeof *x);
        x[j] = 1;
        multiply(m, n, x);
        const double before = estimate;
        estimate = testing_worse(estimate, vector_norm(x, n));
        if (estimate <= before)
            break;
    }
    for (int i = 0; i < n && n > 1; i++)
        x[i] = (i % 2 ? -1 : 1) * (1 + (double)i / (n - 1));
    if (n > 1) {
        multiply(m, n, x);
        estimate = testing_worse(estimate, 2 * vector_norm(x, n) / (3.0 * n));
    }
    free(x);
    free(signs);
    return estimate;
}

/* --------------------------------------------------------------------------------------- the library --- */

/* The same without a workspace, and with one for one column and for two. */
static double ask(gpusolve_handle *handle, const gpusolve_factor *factor, const gpusolve_matrix *matrix,
                  double norm) {
    double rcond = -1, again = -1;
    CHECK_STATUS(gpusolve_factor_rcond(handle, factor, NULL, matrix, norm, &rcond), GPUSOLVE_OK);
    for (int64_t columns = 1; columns <= 2; columns++) {
        gpusolve_workspace *workspace = NULL;
        REQUIRE(gpusolve_workspace_create(handle, factor, columns, &workspace) == GPUSOLVE_OK);
        for (int k = 0; k < 2; k++) {
            double before = again;
            CHECK_STATUS(gpusolve_factor_rcond(handle, factor, workspace, matrix, norm, &again), GPUSOLVE_OK);
            CHECK(k == 0 || before == again);
            CHECK(fabs(again - rcond) <= 1e-3 * rcond);
        }
        gpusolve_workspace_destroy(workspace);
    }
    return rcond;
}

/* A = L D L' of these arrays, in supernodes or columns of one block: dense. */
static double complex *dense_product(const block_factor *f, int n) {
    double complex *l = calloc((size_t)n * (size_t)n, sizeof *l),
                   *a = calloc((size_t)n * (size_t)n, sizeof *a);
    REQUIRE(l && a);
    const int has_d = f->data.kind == GPUSOLVE_SIMPLICIAL_LDL;
    int64_t at = 0;
    for (int j = 0; j < n; j++)
        for (int i = f->data.kind == GPUSOLVE_SUPERNODAL_LL ? 0 : j; i < n; i++)
            l[i + j * n] = testing_fetch(f->data.dtype, f->x, at++);
    for (int k = 0; k < n; k++) {
        const double complex d = has_d ? l[k + k * n] : 1;
        l[k + k * n] = has_d ? 1 : l[k + k * n];
        for (int j = k; j < n; j++)
            for (int i = k; i < n; i++)
                a[i + j * n] += l[i + k * n] * d * conj(l[j + k * n]);
    }
    free(l);
    return a;
}

static void check_dense(gpusolve_backend backend, gpusolve_factor_kind kind, gpusolve_dtype dtype, int n,
                        double scale) {
    double *diagonal = malloc((size_t)n * sizeof *diagonal);
    uint64_t state = 99 + (uint64_t)n;
    REQUIRE(diagonal != NULL);
    testing_in("%s, kind %d, dtype %d, n %d, scale %g", testing_backend_name(backend), (int)kind, (int)dtype,
               n, scale);
    for (int j = 0; j < n; j++)
        diagonal[j] = scale * exp(0.7 * testing_random(&state)) *
                      (kind == GPUSOLVE_SIMPLICIAL_LDL && j % 3 == 1 ? -1 : 1);
    block_factor f = block_factor_create(kind, dtype, n, n, diagonal, 0);
    for (int64_t k = 0; k < f.data.xsize; k++) /* what is off the diagonal, and stored */
        if (testing_fetch(dtype, f.x, k) == 0)
            testing_store(dtype, f.x, k,
                          CMPLX(testing_random(&state), testing_random(&state)) *
                              (kind == GPUSOLVE_SIMPLICIAL_LDL ? 0.4 : 0.4 * scale) / sqrt(n));
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    double complex *a = dense_product(&f, n);
    const double norm = dense_norm(a, n);
    double complex *inverse = dense_inverse(a, n);
    const double exact = 1 / norm / dense_norm(inverse, n);
    const double lapack = 1 / norm / lacn2(inverse, n, testing_is_complex(dtype));
    const double rcond = ask(handle, factor, NULL, norm);
    const double near = block_factor_is_single(dtype) ? 1e-3 : 1e-9;
    CHECK(exact > 1e-6 && exact <= 1);
    CHECK_BELOW(exact * (1 - near), rcond);
    CHECK_BELOW(rcond, 3 * exact);
    CHECK_BELOW(rcond, lapack * (1 + near));
    free(a);
    free(inverse);
    free(diagonal);
    block_factor_free(&f);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

/* Diagonal matrices: the condition number is largest / smallest. */
static void check_diagonal(gpusolve_backend backend, gpusolve_factor_kind kind, int n, const double *pattern,
                           int count, double expected) {
    double *diagonal = malloc(((size_t)n + 1) * sizeof *diagonal), norm = 0;
    REQUIRE(diagonal != NULL);
    for (int j = 0; j < n; j++) {
        diagonal[j] = pattern[j % count];
        const double entry = kind == GPUSOLVE_SIMPLICIAL_LDL ? fabs(diagonal[j]) : diagonal[j] * diagonal[j];
        norm = entry > norm ? entry : norm;
    }
    testing_in("%s, kind %d, n %d, diagonal of %g ...", testing_backend_name(backend), (int)kind, n,
               pattern[0]);
    gpusolve_handle *handle = testing_handle(backend, 1);
    gpusolve_factor *factor = NULL;
    block_factor f = block_factor_create(kind, GPUSOLVE_DOUBLE, n, 1, diagonal, 0);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    const double rcond = ask(handle, factor, NULL, norm);
    CHECK(fabs(rcond - expected) <= 1e-14 * expected);
    free(diagonal);
    block_factor_free(&f);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_diagonals(gpusolve_backend backend) {
    const double one[] = {1}, three[] = {2, 0.5, 3}, up[] = {0x1p500, 0x1p480}, down[] = {0x1p-500, 0x1p-480},
                 signs[] = {-4, 1, -0.25}, singular[] = {1, 0x1p-520}, wide[] = {1e10, 1e-10};
    for (int kind = 0; kind < 3; kind++) {
        const gpusolve_factor_kind k = (gpusolve_factor_kind)kind;
        const int has_d = k == GPUSOLVE_SIMPLICIAL_LDL;
        check_diagonal(backend, k, 0, one, 1, 1);
        check_diagonal(backend, k, 1, three, 3, 1);
        check_diagonal(backend, k, 3000, one, 1, 1);
        check_diagonal(backend, k, 301, three, 3, has_d ? 1 / 6.0 : 1 / 36.0);
        check_diagonal(backend, k, 30, up, 2, has_d ? 0x1p-20 : 0x1p-40);
        check_diagonal(backend, k, 30, down, 2, has_d ? 0x1p-20 : 0x1p-40);
        check_diagonal(backend, k, 30, wide, 2, has_d ? 1e-20 : 1e-40);
        if (has_d)
            check_diagonal(backend, k, 30, signs, 3, 1 / 16.0);
        else
            check_diagonal(backend, k, 7, singular, 2, 0); /* inv(A) overflows */
    }
}

/* tridiag(-1, 2, -1) of odd order n: norm(inv(A)) = (n + 1)^2 / 8, and the first vector finds it. */
static void check_tridiagonal(gpusolve_backend backend, int n, cholmod_common *common) {
    cholmod_sparse *a =
        cholmod_allocate_sparse((size_t)n, (size_t)n, 2 * (size_t)n, 1, 1, -1, CHOLMOD_REAL, common);
    REQUIRE(a != NULL);
    int *p = a->p, *i = a->i, at = 0;
    double *x = a->x;
    for (int j = 0; j < n; j++) {
        p[j] = at;
        i[at] = j;
        x[at++] = 2;
        if (j + 1 < n) {
            i[at] = j + 1;
            x[at++] = -1;
        }
    }
    p[n] = at;
    testing_in("%s, tridiagonal, n %d", testing_backend_name(backend), n);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_matrix *matrix = NULL;
    REQUIRE(l && gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(handle, a, &matrix) == GPUSOLVE_OK);
    const double expected = 2 / ((double)(n + 1) * (double)(n + 1));
    const double rcond = ask(handle, factor, matrix, NAN), by_norm = ask(handle, factor, NULL, 4);
    CHECK_BELOW(fabs(rcond - expected), 1e-16 * n * n * expected + 1e-13 * expected);
    CHECK(by_norm == rcond);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* A's own arrays against its dense inverse. */
static void check_matrix(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                         cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    const int n = (int)a->nrow;
    testing_in("%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    cholmod_factor *l = testing_factorize(a, kind, common);
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_matrix *matrix = NULL;
    double complex *dense = calloc((size_t)n * (size_t)n, sizeof *dense), *e = calloc((size_t)n, sizeof *e);
    REQUIRE(l && dense && e && gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(handle, a, &matrix) == GPUSOLVE_OK);
    for (int j = 0; j < n; j++) {
        e[j] = 1;
        testing_sparse_multiply(a, e, dense + j * n);
        e[j] = 0;
    }
    const double norm = dense_norm(dense, n);
    double complex *inverse = dense_inverse(dense, n);
    const double exact = 1 / norm / dense_norm(inverse, n);
    const double rcond = ask(handle, factor, matrix, 0);
    CHECK_BELOW(exact * (1 - 1e-7), rcond);
    CHECK_BELOW(rcond, 3 * exact);
    free(dense);
    free(e);
    free(inverse);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

static void check_misuse(gpusolve_backend backend, cholmod_common *common) {
    const double diagonal[] = {3, 2, 5};
    gpusolve_handle *handle = testing_handle(backend, 1);
    block_factor f = block_factor_create(GPUSOLVE_SIMPLICIAL_LL, GPUSOLVE_DOUBLE, 3, 2, diagonal, 0.25);
    block_factor g = block_factor_create(GPUSOLVE_SIMPLICIAL_LL, GPUSOLVE_DOUBLE, 2, 2, diagonal, 0.25);
    gpusolve_factor *factor = NULL, *small = NULL;
    gpusolve_workspace *other = NULL;
    gpusolve_matrix *matrix = NULL;
    cholmod_sparse *a = testing_load("grid2d:4", common);
    double rcond = 7;
    testing_in("%s, misuse", testing_backend_name(backend));
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_factor_create(handle, &g.data, &small) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(handle, small, 2, &other) == GPUSOLVE_OK);
    REQUIRE(gpusolve_cholmod_matrix(handle, a, &matrix) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_rcond(NULL, factor, NULL, NULL, 1, &rcond), GPUSOLVE_INVALID_ARGUMENT);
#define BAD(call, word) CHECK_REFUSED(handle, call, GPUSOLVE_INVALID_ARGUMENT, word)
    BAD(gpusolve_factor_rcond(handle, NULL, NULL, NULL, 1, &rcond), "factor");
    BAD(gpusolve_factor_rcond(handle, factor, other, NULL, 1, &rcond), "workspace");
    BAD(gpusolve_factor_rcond(handle, factor, NULL, matrix, 1, &rcond), "matrix");
    BAD(gpusolve_factor_rcond(handle, factor, NULL, NULL, -1, &rcond), "norm_1");
    BAD(gpusolve_factor_rcond(handle, factor, NULL, NULL, NAN, &rcond), "norm_1");
    BAD(gpusolve_factor_rcond(handle, factor, NULL, NULL, INFINITY, &rcond), "norm_1");
    BAD(gpusolve_factor_rcond(handle, factor, NULL, NULL, 1, NULL), "rcond");
#undef BAD
    CHECK(rcond == 7);
    CHECK_STATUS(gpusolve_factor_rcond(handle, factor, NULL, NULL, 0, &rcond), GPUSOLVE_OK);
    CHECK(rcond == 0);
    gpusolve_matrix_destroy(matrix);
    gpusolve_workspace_destroy(other);
    gpusolve_factor_destroy(factor);
    gpusolve_factor_destroy(small);
    block_factor_free(&f);
    block_factor_free(&g);
    gpusolve_destroy(handle);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    static const char *const specs[] = {"grid2d:11", "grid3d:5@c", "arrow:100,3,7", "shell:4"};
    static const int sizes[] = {1, 2, 3, 10, 64, 90};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    cholmod_common common;
    cholmod_start(&common);
    for (int b = 0; b < count; b++) {
        for (int kind = 0; kind < 3; kind++) {
            for (int dtype = 0; dtype < 4; dtype++)
                for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                    for (int far = -1; far <= 1; far++)
                        check_dense(backends[b], (gpusolve_factor_kind)kind, (gpusolve_dtype)dtype, sizes[k],
                                    ldexp(1, 10 * far));
            for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
                check_matrix(backends[b], specs[k], (gpusolve_factor_kind)kind, &common);
        }
        check_diagonals(backends[b]);
        check_tridiagonal(backends[b], 3, &common);
        check_tridiagonal(backends[b], 999, &common);
        check_misuse(backends[b], &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
