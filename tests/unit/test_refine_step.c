/*
 * What a residual says of a column: the backward error for norms of all sizes, against long double, and the decisions that follow.
 */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "supernodal/api/refine_step.h"

static uint64_t state = 7;

static uint64_t draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11;
}

/* A norm: zero, denormal, normal of any size, or the largest double. */
static double draw_norm(void) {
    switch (draw() % 16) {
    case 0:
        return 0;
    case 1:
        return ldexp((double)(1 + draw() % 1000), -1074);
    case 2:
        return DBL_MAX;
    default:
        return ldexp(1 + (double)draw() * 0x1p-53, (int)(draw() % 2046) - 1022);
    }
}

static void check_error(double norm_a, const double norms[3]) {
    const double error = gsv_refine_error(norm_a, norms);
    const long double sum = (long double)norm_a * norms[1] + norms[2];
    const long double expected = norms[0] == 0 ? 0 : norms[0] / sum;
    testing_in("norms %g %g %g, A %g", norms[0], norms[1], norms[2], norm_a);
    if (expected > DBL_MAX)
        CHECK(error == INFINITY || error >= DBL_MAX * (1 - 4 * DBL_EPSILON));
    else
        CHECK(fabsl(error - expected) <= 4 * DBL_EPSILON * expected + 0x1p-1074L);
}

static void check_not_finite(void) {
    testing_in("norms that are not finite");
    for (int which = 0; which < 4; which++)
        for (int kind = 0; kind < 2; kind++) {
            double norms[4] = {1, 2, 3, 4};
            norms[which] = kind ? INFINITY : NAN;
            CHECK(isnan(gsv_refine_error(norms[3], norms)));
        }
}

/* A column whose residuals have these norms, one after the other; norms of A and b are one, and x is next to nothing. */
static gsv_refine_column follow(const gsv_refine_rule *rule, const double residuals[], int count) {
    gsv_refine_column column = {0};
    for (int k = 0; k < count; k++) {
        const double norms[3] = {residuals[k], 0, 1};
        if (k == 0)
            gsv_refine_begin(rule, norms, &column);
        else if (column.active)
            gsv_refine_judge(rule, norms, 0, &column);
    }
    return column;
}

static void check_decisions(void) {
    const gsv_refine_rule rule = {.norm_a = 1, .min_gain = 2},
                          early = {.norm_a = 1, .tolerance = 1e-3, .min_gain = 2};
    testing_in("decisions");
    gsv_refine_column column = follow(&rule, (double[]){1e-2, 1e-4, 1e-6}, 3);
    CHECK(column.active && column.steps == 2 && column.place == GSV_REFINE_FIRST && column.error == 1e-6);
    /* too little is gained: kept, and the end */
    column = follow(&rule, (double[]){1e-2, 0.9e-2, 1e-6}, 3);
    CHECK(!column.active && column.steps == 1 && column.place == GSV_REFINE_SECOND && column.error == 0.9e-2);
    /* worse, or a NaN: taken back */
    column = follow(&rule, (double[]){1e-2, 1e-4, 1e-3, 1e-9}, 4);
    CHECK(!column.active && column.steps == 1 && column.place == GSV_REFINE_SECOND && column.error == 1e-4);
    column = follow(&rule, (double[]){1e-2, NAN, 1e-9}, 3);
    CHECK(!column.active && column.steps == 0 && column.place == GSV_REFINE_FIRST && column.error == 1e-2);
    /* at the tolerance */
    column = follow(&early, (double[]){1e-2, 1e-3, 1e-9}, 3);
    CHECK(!column.active && column.steps == 1 && column.error == 1e-3);
    column = follow(&early, (double[]){1e-4, 1e-9}, 2);
    CHECK(!column.active && column.steps == 0 && column.error == 1e-4);
    /* a residual of zero, a column of zeros in b, a NaN at the start */
    column = follow(&rule, (double[]){0}, 1);
    CHECK(!column.active && column.error == 0 && column.place == GSV_REFINE_FIRST);
    gsv_refine_begin(&rule, (double[]){5, 3, 0}, &column);
    CHECK(!column.active && column.error == 0 && column.place == GSV_REFINE_ZEROS);
    gsv_refine_begin(&rule, (double[]){NAN, 3, 1}, &column);
    CHECK(!column.active && isnan(column.error) && column.steps == 0);
}

/* GPUSOLVE_REFINE_AUTOMATIC: what a correction leaves of the error says which corrections follow. */
static void check_turn(void) {
    const gsv_refine_rule rule = {.norm_a = 1, .min_gain = 2, .turn = GSV_REFINE_TURN, .level = 1e-15};
    testing_in("turning to a Krylov method");
    gsv_refine_column column = follow(&rule, (double[]){1e-2, 0.9e-3}, 2); /* a good correction */
    CHECK(column.active && !column.krylov && !column.behind && column.steps == 1);
    column = follow(&rule, (double[]){1e-2, 1.1e-3}, 2); /* a poor one is kept, */
    CHECK(column.active && column.krylov && !column.behind && column.error == 1.1e-3 && column.steps == 1);
    column = follow(&rule, (double[]){1e-2, 0.99e-2}, 2); /* though it gains less than min_gain */
    CHECK(column.active && column.krylov && !column.behind && column.place == GSV_REFINE_SECOND);
    column = follow(&rule, (double[]){1e-2, 1e-1}, 2); /* harm is taken back */
    CHECK(column.active && column.krylov && column.behind && column.error == 1e-2 && column.steps == 0 &&
          column.used == 1 && column.place == GSV_REFINE_FIRST);
    column = follow(&rule, (double[]){1e-2, NAN}, 2);
    CHECK(column.active && column.krylov && column.behind && column.error == 1e-2);
    column =
        follow(&rule, (double[]){2e-15, 0.9e-15}, 2); /* at the level of rounding no correction is good */
    CHECK(!column.krylov && column.active && column.steps == 1);
    column = follow(&rule, (double[]){0.9e-15, 2e-15}, 2);
    CHECK(!column.krylov && !column.active && !column.behind && column.steps == 0);
    column = follow(&rule, (double[]){1e-2, 1e-4, 0.9e-4}, 3); /* a later one may be poor, */
    CHECK(column.krylov && column.active && !column.behind && column.steps == 2 && column.error == 0.9e-4);
    column = follow(&rule, (double[]){1e-2, 1e-4, 1e-3}, 3); /* or do harm */
    CHECK(column.krylov && column.active && column.behind && column.steps == 1 && column.used == 2 &&
          column.error == 1e-4 && column.place == GSV_REFINE_SECOND);
    column =
        follow(&rule, (double[]){1e-2, 1e-4, 0.9e-4, 0.8e-4}, 4); /* of a Krylov method's it is the last */
    CHECK(column.krylov && !column.active && column.steps == 3);
    column = (gsv_refine_column){0};
    gsv_refine_begin(&rule, (double[]){1e-2, 0, 1}, &column);
    column.taken = 5; /* of a Krylov method */
    gsv_refine_judge(&rule, (double[]){1e-9, 0, 1}, 0, &column);
    CHECK(column.steps == 5 && column.used == 5 && column.active && !column.krylov);
    column.taken = 0; /* which had no step to take */
    gsv_refine_judge(&rule, (double[]){1e-12, 0, 1}, 0, &column);
    CHECK(column.steps == 5 && !column.active);
}

int main(void) {
    for (int k = 0; k < 100000; k++) {
        const double norms[3] = {draw_norm(), draw_norm(), draw_norm()};
        check_error(draw_norm(), norms);
    }
    check_not_finite();
    check_decisions();
    check_turn();
    return testing_done();
}
