/*
 * What a solve on the device is predicted to take (cuda_cost.c): no device is wanted. For plans made here it is within a
 * third of what an H200 has taken by bench/results/h200-cudss.jsonl; it grows with the right-hand sides, not within a
 * class, and with fewer bytes a second; and blocks of 256 right-hand sides add up.
 */
#include "plan_example.h"

#include "supernodal/cuda_support.h"

static int64_t upper_bytes(const gsv_plan *plan) {
    int64_t numbers = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        numbers += plan->tiles->branches.of[s] < 0 ? gsv_trapezoid(plan, s) : 0;
    return numbers * (int64_t)sizeof(double);
}

static double predict(const gsv_plan *plan, int64_t nrhs, double bytes_per_s) {
    const gpusolve_cost cost = {.nrhs = nrhs, .hops = 2 * (int64_t)plan->nlevels, .bytes_per_s = bytes_per_s};
    return gsv_cuda_predict(&cost, plan->l.n, upper_bytes(plan));
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
        const double us = predict(&e.plan, nrhs, rate);
        CHECK(us >= before && us < 1e9);
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

int main(void) {
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
