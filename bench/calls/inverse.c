#include "inverse.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "gpusolve_inverse.h"

enum { PROBES = 32 }; /* entries that are compared, evenly spread */

static double real_at(const bench_problem *problem, const void *x, int64_t at) {
    const int is_complex =
        problem->dtype == GPUSOLVE_COMPLEX_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_DOUBLE;

    at *= is_complex ? 2 : 1;
    return problem->dtype == GPUSOLVE_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_FLOAT
               ? (double)((const float *)x)[at]
               : ((const double *)x)[at];
}

static void set_one(const bench_problem *problem, void *x, int64_t at) {
    const int is_complex =
        problem->dtype == GPUSOLVE_COMPLEX_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_DOUBLE;

    at *= is_complex ? 2 : 1;
    if (problem->dtype == GPUSOLVE_FLOAT || problem->dtype == GPUSOLVE_COMPLEX_FLOAT)
        ((float *)x)[at] = 1;
    else
        ((double *)x)[at] = 1;
}

/* A x = e_j for some j, accurate to the last bits: x(j) is the inverse's entry. */
static int compare(gpusolve_handle *handle, const gpusolve_factor *factor, const gpusolve_matrix *matrix,
                   const bench_problem *problem, const double *diagonal, double *error) {
    const int64_t n = problem->n, cols = n < PROBES ? n : PROBES;
    const size_t number = bench_problem_number_bytes(problem), numbers = (size_t)(n * cols) + 1;
    void *e = calloc(numbers, number), *x = calloc(numbers, number);
    const gpusolve_dense b = {problem->dtype, GPUSOLVE_COL_MAJOR, n, cols, n ? n : 1, e};
    gpusolve_dense there = b;
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    int failed = !e || !x;

    there.values = x;
    options.twice = 1;
    for (int64_t k = 0; !failed && k < cols; k++)
        set_one(problem, e, k * n + k * n / cols);
    failed = failed || gpusolve_refine(handle, factor, matrix, NULL, &b, &there, &options, NULL, NULL);
    *error = 0;
    for (int64_t k = 0; !failed && k < cols; k++) {
        const int64_t j = k * n / cols;
        const double wanted = real_at(problem, x, k * n + j), off = fabs(diagonal[j] - wanted) / fabs(wanted);

        if (!(off <= *error)) /* NaN stays */
            *error = off;
    }
    free(e);
    free(x);
    return failed;
}

const char *bench_inverse_measure(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  const gpusolve_matrix *matrix, const bench_problem *problem,
                                  bench_inverse *inverse) {
    gpusolve_inverse_info info = {.size = sizeof info};
    double *diagonal, begin;
    int failed;

    if (!inverse->wanted)
        return NULL;
    diagonal = malloc((size_t)problem->n * sizeof *diagonal + 1);
    failed = !diagonal || gpusolve_inverse_diagonal(handle, factor, diagonal);
    begin = bench_now_us();
    failed = failed || gpusolve_inverse_cost(handle, factor, problem->n, NULL, NULL, &info);
    inverse->asked_ms = 1e-3 * (bench_now_us() - begin);
    inverse->predicted_ms = info.predicted_ms;
    inverse->bytes = (double)info.bytes;
    begin = bench_now_us();
    failed = failed || gpusolve_inverse_diagonal(handle, factor, diagonal);
    inverse->ms = 1e-3 * (bench_now_us() - begin);
    failed = failed || compare(handle, factor, matrix, problem, diagonal, &inverse->error);
    free(diagonal);
    return failed ? "computing the diagonal of the inverse" : NULL;
}

int bench_inverse_is_right(const bench_problem *problem, const bench_inverse *inverse) {
    const double epsilon =
        problem->storage == GPUSOLVE_STORAGE_SINGLE ? (double)FLT_EPSILON : bench_problem_epsilon(problem);

    return inverse->error < 4096 * epsilon; /* 1e-12 in double precision */
}
