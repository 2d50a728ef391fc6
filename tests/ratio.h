/* How good a solution is. */
#ifndef RATIO_H
#define RATIO_H

#include "cholmod_helpers.h"
#include "testing.h"

/* norm(b - M x) / (norm(M) norm(x) epsilon) of column j, infinity norms, M being the system's operator; NaN if a number is. */
static inline double testing_ratio(const testing_explicit *e, gpusolve_system system, const gpusolve_dense *x,
                                   const gpusolve_dense *b, int64_t j, double epsilon) {
    double complex *column = malloc(2 * (size_t)e->n * sizeof *column);
    REQUIRE(column != NULL);
    double complex *y = column + e->n;
    double r = 0, norm_x = 0;
    for (int i = 0; i < e->n; i++) {
        column[i] = testing_get(x, i, j);
        norm_x = fmax(norm_x, cabs(column[i]));
    }
    testing_multiply(e, system, column, y);
    for (int i = 0; i < e->n; i++)
        r = testing_worse(r, cabs(y[i] - testing_get(b, i, j)));
    free(column);
    return r == 0 ? 0 : r / (testing_norm(e, system) * norm_x * epsilon);
}

#endif
