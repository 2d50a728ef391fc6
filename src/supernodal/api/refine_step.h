/*
 * What one residual says of a column: its backward error, and whether the correction is kept and another one is worth it. Both executors
 * decide with these functions, the CUDA one on the device, so that the same norms end in the same decision.
 */
#ifndef GSV_API_REFINE_STEP_H
#define GSV_API_REFINE_STEP_H

#include <math.h>

#include "../../dense_kernels/host_device.h"

/* When a column ends (gpusolve_refine_options). */
typedef struct gsv_refine_rule {
    double norm_a, tolerance, min_gain;
} gsv_refine_rule;

/* Where a column's x is: in one of two vectors, or nowhere, for it is zero. */
enum { GSV_REFINE_FIRST = 0, GSV_REFINE_SECOND = 1, GSV_REFINE_ZEROS = 2 };

typedef struct gsv_refine_column {
    double error; /* of the x that is kept */
    double norm_b;
    int steps; /* corrections kept */
    unsigned char active, place;
} gsv_refine_column;

/* norm(b - A x) / (norm(A) norm(x) + norm(b)); norms: of the residual, of x, of b. The product of two norms may lie outside of
 * a double's range: it is taken by mantissas and exponents. NaN unless every norm is finite. */
static inline GSV_HOST_DEVICE double gsv_refine_error(double norm_a, const double norms[3]) {
    int exponent[4];
    double mantissa[4];
    if (!isfinite(norms[0]) || !isfinite(norms[1]) || !isfinite(norms[2]) || !isfinite(norm_a))
        return NAN;
    if (norms[0] == 0)
        return 0;
    for (int k = 0; k < 4; k++)
        mantissa[k] = frexp(k < 3 ? norms[k] : norm_a, &exponent[k]);
    const double product = mantissa[3] * mantissa[1];
    const int of_product = exponent[3] + exponent[1];
    if (product == 0 && norms[2] == 0)
        return INFINITY;
    const int top = product == 0               ? exponent[2]
                    : norms[2] == 0            ? of_product
                    : of_product > exponent[2] ? of_product
                                               : exponent[2];
    const double sum = (product == 0 ? 0 : ldexp(product, of_product - top)) +
                       (norms[2] == 0 ? 0 : ldexp(mantissa[2], exponent[2] - top));
    return ldexp(mantissa[0] / sum, exponent[0] - top);
}

/* After the first residual. A column of zeros in b has zeros for x. */
static inline GSV_HOST_DEVICE void gsv_refine_begin(const gsv_refine_rule *rule, const double norms[3],
                                                    gsv_refine_column *column) {
    const int zero = norms[2] == 0;
    column->error = zero ? 0 : gsv_refine_error(rule->norm_a, norms);
    column->norm_b = norms[2];
    column->steps = 0;
    column->place = zero ? GSV_REFINE_ZEROS : GSV_REFINE_FIRST;
    column->active = !zero && column->error > rule->tolerance;
}

/* After the residual of an active column's corrected x, which is in the other vector. */
static inline GSV_HOST_DEVICE void gsv_refine_judge(const gsv_refine_rule *rule, const double norms[3],
                                                    gsv_refine_column *column) {
    const double before = column->error, error = gsv_refine_error(rule->norm_a, norms);
    column->active = 0;
    if (!(error <= before)) /* so for a NaN */
        return;
    column->error = error;
    column->steps++;
    column->place = column->place == GSV_REFINE_FIRST ? GSV_REFINE_SECOND : GSV_REFINE_FIRST;
    column->active = error > rule->tolerance && error * rule->min_gain <= before;
}

#endif
