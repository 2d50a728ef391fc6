/*
 * What one residual says of a column: its backward error, and whether the correction is kept and another one is worth it. Both executors
 * decide with these functions, the CUDA one on the device, so that the same norms end in the same decision.
 */
#ifndef GSV_API_REFINE_STEP_H
#define GSV_API_REFINE_STEP_H

#include <math.h>
#include <stdint.h>

#include "../../dense_kernels/host_device.h"

/* When a column ends (gpusolve_refine_options). */
typedef struct gsv_refine_rule {
    double norm_a, tolerance, min_gain;
    int krylov; /* columns begin with the Krylov method (krylov.h); else with plain corrections, d = A \ r */
    int twice, componentwise; /* gpusolve_refine_options */
    double rounding;          /* the unit of the precision */
    /* A column of which a plain correction leaves more than this part of the error goes on with the Krylov method; 0: none does. */
    double turn;
    /* Unless its error is at the level of rounding: there a correction gains little, however good the factor is. */
    double level;
} gsv_refine_rule;

/* GPUSOLVE_REFINE_AUTOMATIC. At a contraction of c a plain correction gains log10(1 / c) digits, a step of conjugate gradients
 * log10((1 + sqrt(1 - c^2)) / c), for some passes over vectors more: 1 and 1.3 at 0.1, 0.3 and 0.57 at 0.5. */
#define GSV_REFINE_TURN 0.1
/* In units of the rounding of the factor's precision. */
#define GSV_REFINE_LEVEL 16.0

/* Where a column's x is: in one of two vectors, or nowhere, for it is zero. */
enum { GSV_REFINE_FIRST = 0, GSV_REFINE_SECOND = 1, GSV_REFINE_ZEROS = 2 };

typedef struct gsv_refine_column {
    double error; /* of the x that is kept */
    double norm_b;
    double change; /* norm(d) / norm(x) of the last correction kept; with `twice` */
    int steps;     /* in the corrections kept */
    int used;      /* in all corrections */
    int taken;     /* in the correction that is judged next: 1, unless a Krylov method has made it */
    unsigned char active, place;
    unsigned char krylov; /* corrections are a Krylov method's */
    unsigned char
        behind; /* its last plain correction did harm, and the column goes on: its x is in the other vector, and R not its own */
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

/* By the option: of norms (of the residual, of x, of b), or, componentwise, norms[0] as it is. */
static inline GSV_HOST_DEVICE double gsv_refine_error_of(const gsv_refine_rule *rule, const double norms[3]) {
    const double error = gsv_refine_error(rule->norm_a, norms);
    return rule->componentwise && !isnan(error) ? norms[0] : error;
}

/* After the first residual. A column of zeros in b has zeros for x. */
static inline GSV_HOST_DEVICE void gsv_refine_begin(const gsv_refine_rule *rule, const double norms[3],
                                                    gsv_refine_column *column) {
    const int zero = norms[2] == 0;
    column->error = zero ? 0 : gsv_refine_error_of(rule, norms);
    column->norm_b = norms[2];
    column->steps = column->used = 0;
    column->taken = 1;
    column->change = INFINITY;
    column->krylov = rule->krylov != 0;
    column->behind = 0;
    column->place = zero ? GSV_REFINE_ZEROS : GSV_REFINE_FIRST;
    column->active = !zero && column->error > rule->tolerance;
}

/* After the residual of an active column's corrected x, which is in the other vector; norm_d: of the correction, read with `twice`. */
static inline GSV_HOST_DEVICE void gsv_refine_judge(const gsv_refine_rule *rule, const double norms[3],
                                                    double norm_d, gsv_refine_column *column) {
    const double before = column->error, error = gsv_refine_error_of(rule, norms);
    const double change = norms[1] > 0 ? norm_d / norms[1] : 0, last = column->change;
    /* none of these for a NaN */
    const int shrinks = rule->twice && error <= rule->level && change < last;
    const int better = error <= before || shrinks;
    const int turns = rule->turn > 0 && !column->krylov && !(error <= rule->turn * before) &&
                      !(error <= rule->level) && !(error <= rule->tolerance) && before > rule->level;
    column->used += column->taken;
    column->active = turns != 0;
    if (turns)
        column->krylov = 1;
    column->behind = turns && !better;
    if (!better)
        return;
    column->error = error;
    column->change = change;
    column->steps += column->taken;
    column->place = column->place == GSV_REFINE_FIRST ? GSV_REFINE_SECOND : GSV_REFINE_FIRST;
    if (!(error > rule->tolerance) || column->taken == 0)
        return;
    if (rule->twice ? change > rule->rounding && change * rule->min_gain <= last
                    : error * rule->min_gain <= before)
        column->active = 1;
}

/* Where a block's columns report: column j to place base + (first + j) / each. Of a complex column, whose parts are columns here, the worse
 * one is reported: the real part first, then the other one. */
typedef struct gsv_refine_results {
    double *backward_error; /* or NULL, */
    int *steps;             /* as this */
    int64_t base, first;
    int each;   /* 2: both parts are in the block, side by side */
    int second; /* all columns are imaginary parts */
} gsv_refine_results;

static inline GSV_HOST_DEVICE int gsv_refine_is_second(const gsv_refine_results *to, int64_t j) {
    return to->second || (to->each == 2 && (to->first + j) % 2 == 1);
}

static inline GSV_HOST_DEVICE void gsv_refine_note(const gsv_refine_results *to, int64_t j,
                                                   const gsv_refine_column *column) {
    const int64_t at = to->base + (to->first + j) / to->each;
    const int second = gsv_refine_is_second(to, j);
    if (to->backward_error && !(second && to->backward_error[at] >= column->error) &&
        !(second && isnan(to->backward_error[at])))
        to->backward_error[at] = column->error;
    if (to->steps && !(second && to->steps[at] >= column->steps))
        to->steps[at] = column->steps;
}

#endif
