/*
 * gpusolve_factor_cost: bytes, flops and hops of a solve, from the plan, and the time that they should take:
 *
 *      wall = max(bytes / bytes_per_s, flops / flops_per_s)
 *      predicted = max((bytes + vector bytes) / bytes_per_s, flops / flops_per_s) + hops x hop_us
 *
 * An executor says how it deals the tree out, what its machine does, and may know a better prediction (cuda/cost.c,
 * host/executor.c).
 */
#include "checks.h"
#include "summary.h"

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* A number of L takes a multiplication and an addition a sweep and column; complex ones eight operations. */
static int64_t flops_per_number(gpusolve_dtype dtype) {
    return gsv_is_complex(dtype) ? 8 : 2;
}

gpusolve_status gpusolve_factor_cost(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t nrhs,
                                     double bytes_per_s, gpusolve_cost *cost) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor_prepared(handle, factor);
    if (!status && nrhs < 0)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "nrhs: is %lld", (long long)nrhs);
    if (!status && !(bytes_per_s >= 0 && bytes_per_s < 1e300))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "bytes_per_s: is %g", bytes_per_s);
    if (!status)
        status = gsv_check_record("cost", cost, sizeof *cost, &handle->message);
    if (status)
        return status;

    const gsv_plan *plan = &factor->plan;
    /* A column: b in, y out and in, x out; the update vectors out and in. */
    const int64_t moved = 4 * (int64_t)plan->l.n + 2 * plan->update_ptr[plan->l.nsuper];
    int64_t flops, vector_bytes;
    if (__builtin_mul_overflow(2 * flops_per_number(factor->dtype) * plan->nnz_l, nrhs, &flops) ||
        __builtin_mul_overflow(moved * (int64_t)gsv_vector_bytes(factor->numbers), nrhs, &vector_bytes))
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "nrhs: %lld columns are too many",
                        (long long)nrhs);
    *cost = (gpusolve_cost){.size = sizeof *cost,
                            .nrhs = nrhs,
                            .bytes = 2 * plan->nnz_l * (int64_t)gsv_panel_bytes(factor->numbers),
                            .vector_bytes = vector_bytes,
                            .flops = flops,
                            .hops = 2 * (int64_t)plan->nlevels,
                            .bytes_per_s = bytes_per_s};
    factor->executor->cost(handle, factor, cost);
    const double bytes = (double)cost->bytes, all = bytes + (double)cost->vector_bytes;
    const double compute_us = cost->flops_per_s > 0 ? 1e6 * (double)cost->flops / cost->flops_per_s : 0;
    cost->wall_us = larger(1e6 * bytes / cost->bytes_per_s, compute_us);
    if (!(cost->predicted_us > 0))
        cost->predicted_us =
            larger(1e6 * all / cost->bytes_per_s, compute_us) + (double)cost->hops * cost->hop_us;
    cost->predicted_us = larger(cost->predicted_us, cost->wall_us);
    return GPUSOLVE_OK;
}

void gsv_cost_add(gpusolve_cost *cost, const char *name, int64_t supernodes, int64_t numbers,
                  gsv_numbers of) {
    if (supernodes > 0 && cost->tiers < GPUSOLVE_MAX_TIERS)
        cost->tier[cost->tiers++] = (gpusolve_tier){name, supernodes, numbers * (int64_t)gsv_panel_bytes(of)};
}
