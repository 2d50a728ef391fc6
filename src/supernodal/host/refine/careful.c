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

#define GSV_TEMPLATE "../supernodal/host/refine/careful.inc"
#include "../../../dense_kernels/kinds_host.h"

void gsv_host_careful_rows(const gsv_host_residuals *t, int64_t begin, int64_t end, gsv_host_norms *norms) {
    static gsv_host_rows *const of[] = {GSV_KINDS(careful)};
    of[t->matrix->dtype](t, begin, end, norms);
}
