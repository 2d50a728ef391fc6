/*
 * gpusolve_sample: x = mean + P' L' \ (D^(-1/2) z). Checks the arguments; the executor's `sample` does the rest.
 */
#include "gpusolve_sample.h"

#include "../checks.h"
#include "products.h"

static gpusolve_status check_mean(gpusolve_handle *handle, const gpusolve_factor *factor, const void *mean,
                                  const gpusolve_dense *x) {
    const size_t number = gsv_dtype_bytes(factor->dtype);
    const int64_t n = factor->plan.l.n;
    int on_device = 0;
    if (!mean || n == 0)
        return GPUSOLVE_OK;
    gpusolve_status status =
        gsv_check_memory(handle, "options->mean", mean, gsv_real_bytes(factor->dtype), number, &on_device);
    if (!status)
        status = gsv_check_captured_memory(handle, "options->mean", on_device);
    const gsv_bytes_block of_mean = {(void *)(uintptr_t)mean, (uint64_t)n * number, (uint64_t)n * number, 1},
                          of_x = gsv_dense_bytes(x);
    if (!status && x->cols > 0 && gsv_blocks_overlap(&of_mean, &of_x))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "options->mean: shares memory with x");
    return status;
}

static gpusolve_status check_options(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const gpusolve_sample_options *options) {
    int on_device = 0;
    gpusolve_status status = gsv_check_record("options", options, sizeof *options, &handle->message);
    if (status)
        return status;
    if (!options->z && options->first < 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "options->first: is %lld",
                        (long long)options->first);
    if (!options->z)
        return GPUSOLVE_OK;
    status = gsv_check_block(handle, factor, "options->z", options->z, &on_device);
    return status || options->z->rows == 0 || options->z->cols == 0
               ? status
               : gsv_check_captured_memory(handle, "options->z", on_device);
}

static gpusolve_status check_x(gpusolve_handle *handle, const gpusolve_factor *factor,
                               const gpusolve_sample_options *options, const gpusolve_dense *x) {
    int on_device = 0;
    gpusolve_status status = gsv_check_block(handle, factor, "x", x, &on_device);
    if (status)
        return status;
    if (options->z && options->z->cols != x->cols)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "x->cols: is %lld, options->z has %lld",
                        (long long)x->cols, (long long)options->z->cols);
    if (!options->z && x->cols > INT64_MAX - options->first)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "options->first: %lld and %lld columns more",
                        (long long)options->first, (long long)x->cols);
    if (options->z)
        status = gsv_check_aliasing(&handle->message, "options->z", options->z, "x", x);
    if (!status && x->rows > 0 && x->cols > 0)
        status = gsv_check_captured_memory(handle, "x", on_device);
    return status ? status : check_mean(handle, factor, options->mean, x);
}

/* Every column may have its numbers alone: blocks as wide as the workspace. */
static gpusolve_status sample_columns(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gpusolve_sample_options *options,
                                      const gpusolve_dense *x) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t first = 0; !status && first < x->cols; first += workspace->max_nrhs) {
        const int64_t left = x->cols - first;
        const int64_t cols = left < workspace->max_nrhs ? left : workspace->max_nrhs;
        const gpusolve_dense block = gsv_dense_columns(x, first, cols);
        gpusolve_dense z = block;
        gsv_sample sample = {.seed = options->seed, .first = options->first + first, .mean = options->mean};
        if (options->z) {
            z = gsv_dense_columns(options->z, first, cols);
            sample.z = &z;
        }
        status = handle->executor->products->sample(handle, factor, workspace, &sample, &block);
    }
    return status;
}

gpusolve_status gpusolve_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gpusolve_workspace *workspace, const gpusolve_sample_options *options,
                                const gpusolve_dense *x) {
    static const gpusolve_sample_options defaults = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status && factor->determinant.negative > 0 && factor->has_d)
        status = gsv_fail(&handle->message, GPUSOLVE_NOT_POSITIVE_DEFINITE,
                          "factor: %.0f entries of D are negative, so A is no precision matrix",
                          factor->determinant.negative);
    if (!status)
        status = gsv_check_workspace(handle, factor, workspace);
    options = options ? options : &defaults;
    if (!status)
        status = check_options(handle, factor, options);
    if (!status)
        status = check_x(handle, factor, options, x);
    if (status || x->rows == 0 || x->cols == 0)
        return status;
    if (!workspace)
        status = gsv_own_workspace(handle, factor, x->cols, &workspace);
    return status ? status : sample_columns(handle, factor, workspace, options, x);
}
