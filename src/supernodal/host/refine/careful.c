/*
 * The residual with care, on the host: summed in twice the precision, or with its error by components, or both (careful.inc).
 *
 * A sum is a pair of doubles: hi + p = s + e exactly (Knuth's TwoSum), p = a x with its error by a fused multiply-add, and lo collects the
 * errors. This file is compiled without contraction of products and sums, which would spoil the errors.
 */
#include "residual.h"

#include <math.h>

typedef struct twofold {
    double hi, lo;
} twofold;

/* sum + a b */
static inline void add_product(twofold *sum, double a, double b) {
    const double p = a * b, error = fma(a, b, -p), s = sum->hi + p, part = s - sum->hi;
    sum->lo += ((sum->hi - (s - part)) + (p - part)) + error;
    sum->hi = s;
}

/* |a|, NaN if a part of a is */
static inline double modulus_of(double re, double im) {
    return isnan(re) || isnan(im) ? NAN : hypot(re, im);
}

#define REAL float
#define PARTS 1
#define NAME careful_s
#include "careful.inc"

#define REAL double
#define PARTS 1
#define NAME careful_d
#include "careful.inc"

#define REAL float
#define PARTS 2
#define NAME careful_c
#include "careful.inc"

#define REAL double
#define PARTS 2
#define NAME careful_z
#include "careful.inc"

void gsv_host_careful_rows(const gsv_host_residuals *t, int64_t begin, int64_t end, gsv_host_norms *norms) {
    switch (t->matrix->dtype) {
    case GPUSOLVE_FLOAT:
        careful_s(t, begin, end, norms);
        break;
    case GPUSOLVE_DOUBLE:
        careful_d(t, begin, end, norms);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        careful_c(t, begin, end, norms);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        careful_z(t, begin, end, norms);
        break;
    }
}
