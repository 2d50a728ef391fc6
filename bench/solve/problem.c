#include "problem.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusolve_cholmod.h"
#include "../machine/measure.h"

#ifndef BENCH_PROGRAM /* who says what is wrong */
#define BENCH_PROGRAM "gpusolve-bench"
#endif

static int is_single(const bench_problem *problem) {
    return problem->dtype == GPUSOLVE_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_FLOAT;
}

/* Real numbers that make up one number. */
static int parts(const bench_problem *problem) {
    return problem->dtype == GPUSOLVE_COMPLEX_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_DOUBLE ? 2 : 1;
}

size_t bench_problem_number_bytes(const bench_problem *problem) {
    return (size_t)parts(problem) * (is_single(problem) ? sizeof(float) : sizeof(double));
}

double bench_problem_epsilon(const bench_problem *problem) {
    return is_single(problem) ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* ------------------------------------------------------------------------------------------ factorise --- */

static void *round_to_single(const double *from, size_t count) {
    float *to = malloc((count ? count : 1) * sizeof *to);

    for (size_t i = 0; to && i < count; i++)
        to[i] = (float)from[i];
    return to;
}

static cholmod_sparse *to_cholmod(const gsm_matrix *a, cholmod_common *common) {
    size_t n = (size_t)a->n, nnz = (size_t)a->nnz;
    cholmod_sparse *matrix =
        cholmod_allocate_sparse(n, n, nnz, 1, 1, -1, a->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, common);
    int *p, *i;

    if (!matrix)
        return NULL;
    p = matrix->p;
    i = matrix->i;
    for (size_t j = 0; j <= n; j++)
        p[j] = (int)a->colptr[j];
    for (size_t k = 0; k < nnz; k++)
        i[k] = a->rowidx[k];
    memcpy(matrix->x, a->values, nnz * (a->is_complex ? 2 : 1) * sizeof(double));
    return matrix;
}

/* A by METIS, supernodal; where CHOLMOD was built without METIS, by what it prefers. */
static void factorise(bench_problem *problem) {
    cholmod_common *c = &problem->common;

    c->supernodal = CHOLMOD_SUPERNODAL;
    c->nmethods = 1;
    c->method[0].ordering = CHOLMOD_METIS;
    problem->ordering = "METIS";
    problem->factor = cholmod_analyze(problem->matrix, c);
    if (!problem->factor && c->status == CHOLMOD_NOT_INSTALLED) {
        c->nmethods = 0;
        problem->ordering = "default";
        problem->factor = cholmod_analyze(problem->matrix, c);
    }
    if (problem->factor)
        cholmod_factorize(problem->matrix, problem->factor, c);
}

/* NULL, or why there is no factor; text may be used for that. */
static const char *cholmod_failure(const bench_problem *problem, char *text, size_t size) {
    const cholmod_factor *factor = problem->factor;

    if (factor && factor->minor < factor->n) {
        (void)snprintf(
            text, size,
            "is not positive definite: CHOLMOD stops at column %zu of P A P', column %d of A, counted from 0",
            factor->minor, ((const int *)factor->Perm)[factor->minor]);
        return text;
    }
    if (problem->common.status == CHOLMOD_NOT_POSDEF)
        return "is not positive definite";
    if (problem->common.status == CHOLMOD_OUT_OF_MEMORY)
        return "does not fit in memory";
    if (problem->common.status == CHOLMOD_TOO_LARGE)
        return "is too large for CHOLMOD's int interface";
    if (problem->common.status < CHOLMOD_OK || !problem->factor)
        return "cannot be factorised";
    return NULL;
}

static int choose_dtype(const gsm_matrix *a, int dtype, bench_problem *problem) {
    int wants_complex = dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;

    if (dtype >= 0 && wants_complex != (a->is_complex != 0)) {
        fprintf(stderr, BENCH_PROGRAM ": %s is %s\n", a->name,
                a->is_complex
                    ? "complex: it takes --dtype c or z"
                    : "real: it takes --dtype s or d (KIND:ARGUMENTS@c makes a generated matrix complex)");
        return -1;
    }
    problem->dtype = dtype >= 0      ? (gpusolve_dtype)dtype
                     : a->is_complex ? GPUSOLVE_COMPLEX_DOUBLE
                                     : GPUSOLVE_DOUBLE;
    return 0;
}

static double modulus(const double *x, int number_parts) {
    return number_parts == 2 ? hypot(x[0], x[1]) : fabs(x[0]);
}

int bench_problem_create(const char *spec, int dtype, const bench_relax *relax, bench_problem *problem) {
    char message[256], text[160];
    gsm_matrix a;
    const char *failure = NULL;
    double begin;

    memset(problem, 0, sizeof *problem);
    if (gsm_load(spec, &a, message, sizeof message)) {
        fprintf(stderr, BENCH_PROGRAM ": %s\n", message);
        return -1;
    }
    if (choose_dtype(&a, dtype, problem)) {
        gsm_free(&a);
        return -1;
    }
    bench_relax_name(relax, a.name, problem->name, sizeof problem->name);
    problem->n = a.n;
    problem->nnz_a = gsm_nonzeros(&a);
    problem->norm_a = gsm_norm(&a);

    cholmod_start(&problem->common);
    problem->common.print = 0;
    if (problem->norm_a < 0)
        failure = "does not fit in memory";
    else if (a.nnz > INT32_MAX)
        failure = "is too large for CHOLMOD's int interface";
    else if (!(problem->matrix = to_cholmod(&a, &problem->common)))
        failure = "does not fit in memory";
    gsm_free(&a);

    if (!failure) {
        bench_relax_apply(relax, &problem->common);
        begin = bench_now_us();
        factorise(problem);
        problem->factorise_ms = 1e-3 * (bench_now_us() - begin);
        failure = cholmod_failure(problem, text, sizeof text);
    }
    if (!failure && is_single(problem)) {
        problem->single_factor =
            round_to_single(problem->factor->x, problem->factor->xsize * (size_t)parts(problem));
        problem->single_matrix =
            round_to_single(problem->matrix->x, problem->matrix->nzmax * (size_t)parts(problem));
        if (!problem->single_factor || !problem->single_matrix)
            failure = "does not fit in memory";
    }
    if (!failure)
        return 0;
    fprintf(stderr, BENCH_PROGRAM ": %s %s\n", problem->name, failure);
    bench_problem_destroy(problem);
    return -1;
}

void bench_problem_destroy(bench_problem *problem) {
    free(problem->single_factor);
    free(problem->single_matrix);
    cholmod_free_factor(&problem->factor, &problem->common);
    cholmod_free_sparse(&problem->matrix, &problem->common);
    cholmod_finish(&problem->common);
}

gpusolve_factor_data bench_problem_factor(const bench_problem *problem) {
    gpusolve_factor_data data;
    const char *text;

    gpusolve_cholmod_describe_(problem->factor, &data,
                               &text); /* it was made here: there is nothing wrong with it */
    data.dtype = problem->dtype;
    data.storage = problem->storage;
    if (problem->single_factor)
        data.x = problem->single_factor;
    return data;
}

gpusolve_matrix_data bench_problem_matrix(const bench_problem *problem) {
    gpusolve_matrix_data data = {.size = sizeof data,
                                 .format = GPUSOLVE_CSC,
                                 .triangle = GPUSOLVE_LOWER,
                                 .dtype = problem->dtype,
                                 .itype = GPUSOLVE_INT32,
                                 .n = problem->n,
                                 .ptr = problem->matrix->p,
                                 .index = problem->matrix->i,
                                 .x = problem->single_matrix ? problem->single_matrix : problem->matrix->x};

    return data;
}

const double *bench_problem_upper(const bench_problem *problem, double **owned) {
    const cholmod_sparse *a = problem->matrix;
    const double *values = a->x;
    const size_t nnz = (size_t)((const int *)a->p)[a->ncol];

    *owned = NULL;
    if (a->xtype != CHOLMOD_COMPLEX)
        return values;
    *owned = malloc((2 * nnz + 1) * sizeof **owned);
    for (size_t k = 0; *owned && k < nnz; k++) {
        (*owned)[2 * k] = values[2 * k];
        (*owned)[2 * k + 1] = -values[2 * k + 1];
    }
    return *owned;
}

/* ---------------------------------------------------------------------------------------------- check --- */

static void put(const bench_problem *problem, void *values, size_t k, double value) {
    if (is_single(problem))
        ((float *)values)[k] = (float)value;
    else
        ((double *)values)[k] = value;
}

static double get(const bench_problem *problem, const void *values, size_t k) {
    return is_single(problem) ? (double)((const float *)values)[k] : ((const double *)values)[k];
}

/* r = r - A x from A's lower triangle, real. Rows may have very many entries: their sums are taken in long double. */
static void subtract_real(const cholmod_sparse *matrix, const double *x, long double *r) {
    const int *p = matrix->p, *index = matrix->i;
    const double *values = matrix->x;

    for (size_t j = 0; j < matrix->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) {
            size_t i = (size_t)index[k];

            r[i] -= (long double)values[k] * x[j];
            if (i != j)
                r[j] -= (long double)values[k] * x[i];
        }
}

/* The same for a Hermitian A: the upper triangle is the conjugate of the lower one. */
static void subtract_complex(const cholmod_sparse *matrix, const double *x, long double *r) {
    const int *p = matrix->p, *index = matrix->i;

    for (size_t j = 0; j < matrix->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) {
            const double *values = (const double *)matrix->x + 2 * (size_t)k;
            const long double a[2] = {values[0], values[1]};
            size_t i = (size_t)index[k];

            r[2 * i] -= a[0] * x[2 * j] - a[1] * x[2 * j + 1];
            r[2 * i + 1] -= a[0] * x[2 * j + 1] + a[1] * x[2 * j];
            if (i != j) {
                r[2 * j] -= a[0] * x[2 * i] + a[1] * x[2 * i + 1];
                r[2 * j + 1] -= a[0] * x[2 * i + 1] - a[1] * x[2 * i];
            }
        }
}

static void subtract(const bench_problem *problem, const double *x, long double *r) {
    if (parts(problem) == 2)
        subtract_complex(problem->matrix, x, r);
    else
        subtract_real(problem->matrix, x, r);
}

int bench_problem_right_side(const bench_problem *problem, int64_t nrhs, void *b) {
    size_t length = (size_t)problem->n * (size_t)parts(problem);
    double *x = malloc((length + 1) * sizeof *x);
    long double *r = malloc((length + 1) * sizeof *r);
    uint64_t state = 1;
    int failed;

    for (size_t j = 0; x && r && j < (size_t)nrhs; j++) {
        for (size_t k = 0; k < length; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
            x[k] = 1 - (double)(state >> 11) * 0x1p-52;
            r[k] = 0;
        }
        subtract(problem, x, r); /* r = A (-x) */
        for (size_t k = 0; k < length; k++)
            put(problem, b, j * length + k, (double)r[k]);
    }
    failed = !x || !r;
    free(x);
    free(r);
    return failed ? -1 : 0;
}

/* norm(x, inf), NaN if an entry is one. */
static double norm_inf(const double *x, size_t n, int number_parts) {
    double norm = 0;

    for (size_t i = 0; i < n; i++) {
        double value = modulus(x + i * (size_t)number_parts, number_parts);

        if (!(value <= norm))
            norm = value;
        if (isnan(norm))
            break;
    }
    return norm;
}

double bench_problem_error(const bench_problem *problem, int64_t nrhs, const void *b, const void *x) {
    int number_parts = parts(problem);
    size_t n = (size_t)problem->n, length = n * (size_t)number_parts;
    double *xj = malloc((length + 1) * sizeof *xj), *bj = malloc((length + 1) * sizeof *bj);
    long double *r = malloc((length + 1) * sizeof *r);
    double worst = 0;

    if (!xj || !bj || !r)
        worst = -1;
    for (size_t j = 0; worst >= 0 && j < (size_t)nrhs; j++) {
        double norm_b, norm_x, norm_r;

        for (size_t k = 0; k < length; k++) {
            xj[k] = get(problem, x, j * length + k);
            r[k] = bj[k] = get(problem, b, j * length + k);
        }
        norm_b = norm_inf(bj, n, number_parts);
        norm_x = norm_inf(xj, n, number_parts);
        subtract(problem, xj, r);
        for (size_t k = 0; k < length; k++)
            bj[k] = (double)r[k];
        norm_r = norm_inf(bj, n, number_parts);
        if (norm_r != 0) {
            double error = norm_r / (problem->norm_a * norm_x + norm_b);

            if (!(error <= worst))
                worst = error; /* a NaN ends the loop as well */
        }
    }
    free(xj);
    free(bj);
    free(r);
    return worst;
}
