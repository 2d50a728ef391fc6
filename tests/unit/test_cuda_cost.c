/*
 * What a solve on the device is predicted to take (cuda_cost.c): no device is wanted. For plans made here it is within a
 * third of what an H200 has taken by bench/results/h200-cudss.jsonl; it grows with the right-hand sides, not within a
 * class, and with fewer bytes a second, and in single precision it is less; and blocks of 256 right-hand sides add up. How many groups are side by side.
 */
#include "plan_example.h"

#include "supernodal/cuda_support.h"

static int64_t upper_numbers(const gsv_plan *plan) {
    int64_t numbers = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        numbers += plan->tiles->branches.of[s] < 0 ? gsv_trapezoid(plan, s) : 0;
    return numbers;
}

static double predict_in(const gsv_plan *plan, int64_t nrhs, double bytes_per_s, int floats) {
    const gpusolve_cost cost = {.nrhs = nrhs, .hops = 2 * (int64_t)plan->nlevels, .bytes_per_s = bytes_per_s};
    return gsv_cuda_predict(&cost, plan->l.n, upper_numbers(plan), floats);
}

static double predict(const gsv_plan *plan, int64_t nrhs, double bytes_per_s) {
    return predict_in(plan, nrhs, bytes_per_s, 0);
}

static const int64_t counts[] = {1, 8, 16, 32, 64, 256};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* measured: microseconds for `counts`, or NULL */
static void check_matrix(const char *spec, const double *measured, cholmod_common *common) {
    const double rate = 4656e9;
    plan_example e;
    open_example(&e, testing_load(spec, common), common);
    testing_in("%s", spec);
    for (int k = 0; measured && k < COUNTS; k++) {
        const double ratio = predict(&e.plan, counts[k], rate) / measured[k];
        CHECK(ratio > 0.67 && ratio < 1.34);
    }
    double before = 0;
    for (int64_t nrhs = 1; nrhs <= 300; nrhs++) {
        const double us = predict(&e.plan, nrhs, rate), in_single = predict_in(&e.plan, nrhs, rate, 1);
        CHECK(us >= before && us < 1e9);
        CHECK(in_single < us && in_single > 0.5 * us);
        before = us;
    }
    CHECK(predict(&e.plan, 0, rate) == 0);
    CHECK(predict(&e.plan, 2, rate) == predict(&e.plan, 8, rate));
    CHECK(predict(&e.plan, 17, rate) == predict(&e.plan, 32, rate));
    CHECK(predict(&e.plan, 65, rate) == predict(&e.plan, 128, rate));
    CHECK(predict(&e.plan, 128, rate) > predict(&e.plan, 64, rate));
    CHECK(predict(&e.plan, 192, rate) > predict(&e.plan, 128, rate));
    const double broad = predict(&e.plan, 256, rate);
    CHECK_BELOW(fabs(predict(&e.plan, 1024, rate) - 4 * broad), 1e-9 * broad);
    CHECK_BELOW(fabs(predict(&e.plan, 264, rate) - broad - predict(&e.plan, 8, rate)), 1e-9 * broad);
    for (int k = 0; k < COUNTS; k++)
        CHECK(predict(&e.plan, counts[k], rate / 2) > predict(&e.plan, counts[k], rate));
    close_example(&e, common);
}

/* Groups side by side: enough for all columns, no more than there may be, or none. */
static void check_groups(void) {
    testing_in("groups side by side");
    for (int side = 0; side <= GSV_SIDE; side++)
        for (int64_t columns = 0; columns <= 2 * GSV_SIDE * GSV_SIDE_COLUMNS; columns++) {
            const int groups = gsv_cuda_side_groups(side, columns);
            CHECK(groups == 1 || (groups <= side && groups * GSV_SIDE_COLUMNS >= columns));
            CHECK(columns > GSV_SIDE_COLUMNS || groups == 1);
            CHECK(groups <= 4 ? groups == 1 || (groups - 1) * GSV_SIDE_COLUMNS < columns
                              : (groups - 2) * GSV_SIDE_COLUMNS < columns);
        }
    static const int64_t cases[][3] = {{8, 9, 2},  {8, 17, 3}, {4, 32, 4}, {8, 40, 6}, {8, 64, 8}, {8, 65, 1},
                                       {3, 24, 3}, {3, 25, 1}, {4, 33, 1}, {8, 8, 1},  {1, 16, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        CHECK(gsv_cuda_side_groups((int)cases[k][0], cases[k][1]) == cases[k][2]);
}

int main(void) {
    check_groups();
    cholmod_common common;
    cholmod_start(&common);
    common.nmethods = 1; /* as in these records */
    common.method[0].ordering = CHOLMOD_METIS;
    static const double grid2d_300[] = {53.9, 99.1, 138.5, 197.7, 285.6, 778.8},
                        grid3d_25[] = {48.1, 79.1, 104.2, 135.6, 149.0, 305.9};
    check_matrix("grid2d:300", grid2d_300, &common);
    check_matrix("grid3d:25", grid3d_25, &common);
    check_matrix("grid2d:20", NULL, &common);
    cholmod_finish(&common);
    return testing_done();
}
