/*
 * What a solve on the device is predicted to take (cuda/cost.c): no device is wanted. For plans made here it is within a
 * third of what an H200 has taken by bench/results/h200-cudss.jsonl, h200-complex.jsonl and, for a few right-hand sides,
 * gpusolve-bench, by itself and by gsv_cuda_cost, which knows how a solve goes about it; it grows with the right-hand
 * sides, not within a class, and with fewer bytes a second, and in single precision it is less; and blocks of 256 right-hand
 * sides add up.
 */
#include "plan_example.h"

#include "supernodal/cuda/support.h"

static int64_t upper_numbers(const gsv_plan *plan) {
    int64_t numbers = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        numbers += plan->schedule->branches.of[s] < 0 ? gsv_trapezoid(plan, s) : 0;
    return numbers;
}

static double predict_in(const gsv_plan *plan, int64_t nrhs, double bytes_per_s, gpusolve_dtype dtype) {
    const gpusolve_cost cost = {.nrhs = nrhs, .hops = 2 * (int64_t)plan->nlevels, .bytes_per_s = bytes_per_s};
    return gsv_cuda_predict(plan, &cost, upper_numbers(plan), (gsv_numbers)dtype);
}

static double predict(const gsv_plan *plan, int64_t nrhs, double bytes_per_s) {
    return predict_in(plan, nrhs, bytes_per_s, GPUSOLVE_DOUBLE);
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
        const double us = predict(&e.plan, nrhs, rate),
                     in_single = predict_in(&e.plan, nrhs, rate, GPUSOLVE_FLOAT);
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

/* The whole prediction, of a factor as an H200 would have it: all kernels fit. */
static void check_cost(const char *spec, gpusolve_dtype dtype, size_t count, const int64_t *columns,
                       const double *measured, cholmod_common *common) {
    plan_example e;
    open_example(&e, testing_load(spec, common), common);
    gsv_cuda_factor device = {
        .abilities = {.block_columns = testing_is_complex(dtype) ? 0 : e.plan.schedule->stream.block_columns,
                      .side = e.plan.schedule->stream.side,
                      .stream_blocks = {{396, 396}, {264, 396}, {0, 264}}}};
    if (testing_is_complex(dtype))
        memset(device.abilities.stream_blocks[1], 0,
               sizeof device.abilities.stream_blocks - sizeof *device.abilities.stream_blocks);
    gpusolve_factor factor = {
        .numbers = (gsv_numbers)dtype, .dtype = dtype, .plan = e.plan, .prepared = &device};
    double before = 0;
    for (size_t k = 0; k < count; k++) {
        testing_in("%s, type %d, %d columns", spec, (int)dtype, (int)columns[k]);
        const int64_t bytes = 2 * e.plan.nnz_l * (int64_t)testing_bytes(dtype);
        gpusolve_cost cost = {.nrhs = columns[k], .hops = 2 * (int64_t)e.plan.nlevels, .bytes = bytes};
        gsv_cuda_cost(NULL, &factor, &cost);
        const double ratio = cost.predicted_us / measured[k];
        if (!CHECK(ratio > 0.67 && ratio < 1.34))
            printf("predicted %.1f us, measured %.1f\n", cost.predicted_us, measured[k]);
        CHECK(cost.predicted_us >= before && cost.launches > 0);
        before = cost.predicted_us;
    }
    close_example(&e, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    common.nmethods = 1; /* as in these records */
    common.method[0].ordering = CHOLMOD_METIS;
    /* by a stream for 1 and 8, and by tasks, as before small factors had groups side by side */
    static const double grid2d_300[] = {53.9, 99.1, 138.5, 197.7, 285.6, 778.8},
                        grid3d_25[] = {48.1, 79.1, 104.2, 135.6, 149.0, 305.9};
    check_matrix("grid2d:300", grid2d_300, &common);
    check_matrix("grid3d:25", grid3d_25, &common);
    check_matrix("grid2d:20", NULL, &common);
    static const int64_t few[] = {1, 2, 3, 4, 8}, all[] = {1, 8, 16, 32, 64, 256},
                         complex_ones[] = {1, 2, 3, 16, 32, 64, 256};
    static const double few_of_20[] = {40.3, 42.9, 43.8, 44.8, 60.8},
                        few_of_25[] = {48.0, 53.4, 64.8, 78.7, 78.8},
                        few_of_300[] = {54.6, 71.4, 91.4, 99.6, 100.3},
                        floats_of_25[] = {47.3, 50.7, 54.2, 64.1, 81.6},
                        all_of_25[] = {48.1, 78.8, 85.2, 112.1, 147.7, 304.4},
                        complex_of_25[] = {71.3, 115.7, 166.3, 180, 233, 299, 957},
                        complex_of_300[] = {90.5, 151.3, 220.8, 301, 454, 712, 2324};
    check_cost("grid3d:20", GPUSOLVE_DOUBLE, 5, few, few_of_20, &common);
    check_cost("grid3d:25", GPUSOLVE_DOUBLE, 5, few, few_of_25, &common);
    check_cost("grid3d:25", GPUSOLVE_DOUBLE, 6, all, all_of_25, &common);
    check_cost("grid3d:25", GPUSOLVE_FLOAT, 5, few, floats_of_25, &common);
    check_cost("grid2d:300", GPUSOLVE_DOUBLE, 5, few, few_of_300, &common);
    check_cost("grid3d:25@c", GPUSOLVE_COMPLEX_DOUBLE, 7, complex_ones, complex_of_25, &common);
    check_cost("grid2d:300@c", GPUSOLVE_COMPLEX_DOUBLE, 7, complex_ones, complex_of_300, &common);
    cholmod_finish(&common);
    return testing_done();
}
