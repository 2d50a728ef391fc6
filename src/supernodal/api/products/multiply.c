/*
 * gpusolve_multiply: y = L x, L' x, P' L x, L' P x or A x. Each is a set of the five steps of A x = P' L D L' P x, in this order. Checks the
 * arguments; the executor's `multiply` does the rest.
 */
#include "gpusolve_product.h"

#include "../checks.h"
#include "products.h"

static const unsigned steps_of[] = {
    [GPUSOLVE_TIMES_L] = GSV_TIMES_L,
    [GPUSOLVE_TIMES_Lt] = GSV_TIMES_LT,
    [GPUSOLVE_TIMES_PtL] = GSV_TIMES_L | GSV_TIMES_PT,
    [GPUSOLVE_TIMES_LtP] = GSV_TIMES_P | GSV_TIMES_LT,
    [GPUSOLVE_TIMES_A] = GSV_TIMES_P | GSV_TIMES_LT | GSV_TIMES_D | GSV_TIMES_L | GSV_TIMES_PT,
};

gpusolve_status gpusolve_multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                  gpusolve_operator operation, const gpusolve_dense *x,
                                  const gpusolve_dense *y) {
    GSV_ENTER(handle);
    int on_device = 0;
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status && (unsigned)operation >= sizeof steps_of / sizeof *steps_of)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "operation: %d is no gpusolve_operator", (int)operation);
    if (!status)
        status = gsv_check_block(handle, factor, "x", x, &on_device);
    if (!status)
        status = gsv_check_block(handle, factor, "y", y, &on_device);
    if (!status && x->cols != y->cols)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "y->cols: is %lld, x has %lld",
                          (long long)y->cols, (long long)x->cols);
    if (!status)
        status = gsv_check_aliasing(&handle->message, "x", x, "y", y);
    if (!status)
        status = gsv_check_not_captured(handle, "gpusolve_multiply waits");
    if (status || x->rows == 0 || x->cols == 0)
        return status;
    return handle->executor->products->multiply(handle, factor, steps_of[operation], x, y);
}
