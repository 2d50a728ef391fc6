/*
 * What the TRSV tests share: triangles of several kinds with NaN in everything that must not be read, the
 * call in four precisions, and LAPACK's and the componentwise ratio of an answer.
 */
#ifndef GPUSOLVE_TRSV_CASES_H
#define GPUSOLVE_TRSV_CASES_H

#include "../testing.h"
#include "gpusolve_dense.h"

typedef enum trsv_kind {
    TRSV_TAME,      /* well-conditioned */
    TRSV_RANDOM,    /* numbers in [-1, 1): the condition grows with 2^n */
    TRSV_GRADED,    /* rows of op(A) fall over sixteen orders (single: six) */
    TRSV_GRADED_T,  /* columns of op(A) do */
    TRSV_MINUS_ONE, /* ones on the diagonal, -1 elsewhere: the inverse has 2^n */
    TRSV_CHAIN,     /* large numbers beside the diagonal alone: the inverse of a block has their powers */
    TRSV_KAHAN,     /* Kahan's triangle: ill-conditioned, and no diagonal entry says so */
    TRSV_KINDS
} trsv_kind;

typedef struct trsv_case {
    gpusolve_dtype dtype;
    gpusolve_uplo uplo;
    gpusolve_trans trans;
    gpusolve_diag diag;
    trsv_kind kind;
    int64_t n, lda, incx;
    void *a, *x; /* x holds b at first, NaN between its numbers */
    size_t a_bytes, x_bytes;
    double complex *b; /* the numbers of b, as x holds them */
} trsv_case;

static inline int64_t trsv_place(const trsv_case *c, int64_t i) {
    return c->incx > 0 ? i * c->incx : (i - c->n + 1) * c->incx;
}

/* Is (i, j) of A read? */
static inline int trsv_is_read(const trsv_case *c, int64_t i, int64_t j) {
    return i == j ? c->diag == GPUSOLVE_NON_UNIT : (i > j) == (c->uplo == GPUSOLVE_LOWER);
}

/* The row of op(A) that A(i, j) is in, and its column, counted in the order in which they are solved for. */
static inline double complex trsv_number(const trsv_case *c, int64_t i, int64_t j, uint64_t *state) {
    const int turned = (c->uplo == GPUSOLVE_UPPER) != (c->trans != GPUSOLVE_NO_TRANS);
    int64_t row = c->trans == GPUSOLVE_NO_TRANS ? i : j, column = c->trans == GPUSOLVE_NO_TRANS ? j : i;
    if (turned) {
        row = c->n - 1 - row;
        column = c->n - 1 - column;
    }
    const double re = testing_random(state);
    const double im = testing_is_complex(c->dtype) ? testing_random(state) : 0;
    const double range = testing_epsilon(c->dtype) > 1e-10 ? 6 : 16, n = (double)c->n;
    const double big = testing_epsilon(c->dtype) > 1e-10 ? 100 : 1e8;
    switch (c->kind) {
    case TRSV_TAME:
        return row == column ? CMPLX(2 + re, im) : CMPLX(re, im) * 3 / n;
    case TRSV_RANDOM:
        return row == column ? CMPLX(1 + re / 2, im / 2)
                             : CMPLX(re, im) / (testing_is_complex(c->dtype) ? 1.5 : 1);
    case TRSV_GRADED:
        return CMPLX(row == column ? 1 + re / 2 : re / 2, im / 2) * pow(10, -range * (double)row / n);
    case TRSV_GRADED_T:
        return CMPLX(row == column ? 1 + re / 2 : re / 2, im / 2) * pow(10, -range * (double)column / n);
    case TRSV_MINUS_ONE:
        return row == column ? 1 : -1;
    case TRSV_CHAIN:
        return row == column ? 1 : row == column + 1 ? CMPLX(big * (1 + re / 4), 0) * (row % 3 ? 1 : 0) : 0;
    default:
        return CMPLX(pow(0.8, (double)row), 0) * (row == column ? 1 : -0.6);
    }
}

static inline trsv_case trsv_make(gpusolve_dtype dtype, gpusolve_uplo uplo, gpusolve_trans trans,
                                  gpusolve_diag diag, trsv_kind kind, int64_t n, int64_t padding,
                                  int64_t incx) {
    trsv_case c = {dtype, uplo, trans, diag, kind, n,   (n > 1 ? n : 1) + padding,
                   incx,  NULL, NULL,  0,    0,    NULL};
    uint64_t state = (uint64_t)(n * 131 + kind) * 2654435761u + 12345;
    c.a_bytes = (size_t)(c.lda * n) * testing_bytes(dtype);
    c.x_bytes = (size_t)((n - 1) * (incx < 0 ? -incx : incx) + 1) * testing_bytes(dtype);
    c.a = malloc(c.a_bytes);
    c.x = malloc(c.x_bytes);
    c.b = malloc((size_t)n * sizeof *c.b);
    REQUIRE(c.a && c.x && c.b);
    memset(c.a, 0xff, c.a_bytes);
    memset(c.x, 0xff, c.x_bytes);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (trsv_is_read(&c, i, j))
                testing_store(dtype, c.a, i + j * c.lda, trsv_number(&c, i, j, &state));
    for (int64_t i = 0; i < n; i++) {
        const double re = testing_random(&state), im = testing_random(&state);
        testing_store(dtype, c.x, trsv_place(&c, i), CMPLX(re, testing_is_complex(dtype) ? im : 0));
        c.b[i] = testing_fetch(dtype, c.x, trsv_place(&c, i));
    }
    return c;
}

static inline void trsv_free(trsv_case *c) {
    free(c->a);
    free(c->x);
    free(c->b);
}

static inline gpusolve_status trsv_call(gpusolve_handle *handle, const trsv_case *c, const void *a, void *x) {
    switch (c->dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_strsv(handle, c->uplo, c->trans, c->diag, c->n, a, c->lda, x, c->incx);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dtrsv(handle, c->uplo, c->trans, c->diag, c->n, a, c->lda, x, c->incx);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_ctrsv(handle, c->uplo, c->trans, c->diag, c->n, a, c->lda, x, c->incx);
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return gpusolve_ztrsv(handle, c->uplo, c->trans, c->diag, c->n, a, c->lda, x, c->incx);
}

/* Solve where the handle's operands lie; x comes back to c->x. */
static inline gpusolve_status trsv_solve(gpusolve_handle *handle, trsv_case *c) {
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_HOST)
        return trsv_call(handle, c, c->a, c->x);
    void *a = device_new(c->a, c->a_bytes), *x = device_new(c->x, c->x_bytes);
    REQUIRE(a && x);
    const gpusolve_status status = trsv_call(handle, c, a, x);
    CHECK(device_read(c->x, x, c->x_bytes) == 0);
    device_delete(a);
    device_delete(x);
    return status;
}

/* The host backend of a build without a CBLAS has no dense calls. */
static inline int trsv_is_supported(gpusolve_backend backend) {
    gpusolve_handle *handle = testing_handle(backend, 0);
    double a = 2, x = 1;
    const gpusolve_status status =
        gpusolve_dtrsv(handle, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, 1, &a, 1, &x, 1);
    gpusolve_destroy(handle);
    return status != GPUSOLVE_NOT_SUPPORTED;
}

typedef struct trsv_ratios {
    double lapack;    /* norm(op(A) x - b) / (norm(op(A)) norm(x) eps), maximum norm */
    double component; /* max over i of |op(A) x - b|(i) / (|op(A)| |x| + |b|)(i), in units of n eps */
    int padding;      /* what lies between the numbers of x is untouched */
} trsv_ratios;

static inline trsv_ratios trsv_measure(const trsv_case *c) {
    const int64_t n = c->n;
    trsv_ratios ratios = {0, 0, 1};
    long double complex *x = malloc((size_t)n * sizeof *x), *r = malloc((size_t)n * sizeof *r);
    long double *scale = malloc((size_t)n * sizeof *scale), *rows = malloc((size_t)n * sizeof *rows);
    REQUIRE(x && r && scale && rows);
    for (int64_t i = 0; i < n; i++) {
        x[i] = testing_fetch(c->dtype, c->x, trsv_place(c, i));
        const int unit = c->diag == GPUSOLVE_UNIT;
        r[i] = c->b[i] - (unit ? x[i] : 0);
        scale[i] = cabs(c->b[i]) + (unit ? cabsl(x[i]) : 0);
        rows[i] = unit;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            if (!trsv_is_read(c, i, j))
                continue;
            long double complex a = testing_fetch(c->dtype, c->a, i + j * c->lda);
            if (c->trans == GPUSOLVE_CONJ_TRANS)
                a = conjl(a);
            const int64_t row = c->trans == GPUSOLVE_NO_TRANS ? i : j, column = i + j - row;
            r[row] -= a * x[column];
            scale[row] += cabsl(a) * cabsl(x[column]);
            rows[row] += cabsl(a);
        }
    long double residual = 0, norm = 0, size = 0;
    const double eps = testing_epsilon(c->dtype);
    for (int64_t i = 0; i < n; i++) {
        /* where |op(A)| |x| + |b| is zero, so must the residual be */
        const double relative =
            scale[i] == 0 && r[i] == 0 ? 0 : (double)(cabsl(r[i]) / scale[i]) / ((double)n * eps);
        ratios.component = testing_worse(ratios.component, relative);
        if (cabsl(r[i]) > residual || isnan(cabsl(r[i]))) /* a NaN stays */
            residual = cabsl(r[i]);
        norm = fmaxl(norm, rows[i]);
        size = fmaxl(size, cabsl(x[i]));
    }
    ratios.lapack = (double)(residual / (norm * size * eps));
    const size_t number = testing_bytes(c->dtype);
    const int64_t stride = c->incx < 0 ? -c->incx : c->incx;
    for (int64_t k = 0; k < (n - 1) * stride + 1; k++)
        if (k % stride)
            for (size_t byte = 0; byte < number; byte++)
                ratios.padding &= ((unsigned char *)c->x)[(size_t)k * number + byte] == 0xff;
    free(x);
    free(r);
    free(scale);
    free(rows);
    return ratios;
}

#endif
