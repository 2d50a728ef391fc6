/*
 * Is a solution with a made-up factor right? If |b - M x| is at most RANDOM_LIMIT times epsilon times (|M| |x| + |b|), row by
 * row, and, where triangles are ill-conditioned on purpose, in the maximum norm. All columns are looked at at once: a sum of
 * them with random weights is the solution of the same sum of right-hand sides.
 */
#ifndef RANDOM_CHECK_H
#define RANDOM_CHECK_H

#include "random_factor.h"

static const double RANDOM_LIMIT = 300;

/* The columns' sum with these weights. */
static inline random_vector random_combine(const gpusolve_dense *v, const double *weight) {
    random_vector sum = random_vector_new(v->rows);
    for (int64_t j = 0; j < v->cols; j++)
        for (int64_t i = 0; i < v->rows; i++) {
            const double complex value = weight[j] * testing_get(v, i, j);
            sum.value[i] += value;
            sum.size[i] += fabs(creal(value)) + fabs(cimag(value));
        }
    return sum;
}

/* v = M v, in the order in which right is b = M x: of A that of P b. */
static inline void random_apply(const random_factor *f, gpusolve_system system, random_vector *v) {
    const int both = system == GPUSOLVE_A || system == GPUSOLVE_LDLt;
    if (both || system == GPUSOLVE_DLt || system == GPUSOLVE_Lt)
        random_multiply(f, 1, v);
    if (both || system == GPUSOLVE_DLt || system == GPUSOLVE_LD || system == GPUSOLVE_D)
        random_scale(f, v);
    if (both || system == GPUSOLVE_LD || system == GPUSOLVE_L)
        random_multiply(f, 0, v);
}

/* In epsilons: the largest error of a row over what it is made of, or over the least that is not denormal, for down a long
 * chain numbers become that small; of steep factors the largest error over the largest row. */
static inline double random_error(const random_factor *f, gpusolve_system system, const gpusolve_dense *b,
                                  const gpusolve_dense *x, uint64_t *state) {
    double *weight = random_array(b->cols, sizeof *weight);
    for (int64_t j = 0; j < b->cols; j++)
        weight[j] = testing_random(state);
    random_vector right = random_combine(b, weight), left = random_combine(x, weight);
    if (system == GPUSOLVE_A)
        random_permute(f, &left);
    if (system == GPUSOLVE_Pt) /* P x = b */
        random_permute(f, &left);
    if (system == GPUSOLVE_A || system == GPUSOLVE_P)
        random_permute(f, &right);
    random_apply(f, system, &left);
    const gpusolve_dtype dtype = random_vector_dtype(f);
    const double least =
        dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? (double)FLT_MIN : DBL_MIN;
    double error = 0, size = least, ratio = 0;
    for (int64_t i = 0; i < f->data.n; i++) {
        const double complex difference = right.value[i] - left.value[i];
        const double here = fabs(creal(difference)) + fabs(cimag(difference)),
                     scale = left.size[i] + right.size[i] + least;
        error = testing_worse(error, here);
        size = testing_worse(size, scale);
        ratio = testing_worse(ratio, here / scale);
    }
    random_vector_free(&right);
    random_vector_free(&left);
    free(weight);
    return (f->steep ? error / size : ratio) / random_epsilon(f);
}

#endif
