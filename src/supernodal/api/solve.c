/*
 * gpusolve_solve: X = system \ B for the nine systems of P A P' = L D L'.
 *
 * Each system is a set of the five steps of A x = b, always run in this order:
 *
 *      y = P b,   y = L \ y,   y = D \ y,   y = L' \ y,   x = P' y
 *
 * This file checks the arguments, picks the steps and cuts B into blocks as wide as the workspace. It touches
 * no number: the executor's solve does.
 */
#include "checks.h"

static const unsigned table[] = {
    [GPUSOLVE_A] = GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT,
    [GPUSOLVE_LDLt] = GSV_FORWARD | GSV_SCALE | GSV_BACKWARD,
    [GPUSOLVE_LD] = GSV_FORWARD | GSV_SCALE,
    [GPUSOLVE_DLt] = GSV_SCALE | GSV_BACKWARD,
    [GPUSOLVE_L] = GSV_FORWARD,
    [GPUSOLVE_Lt] = GSV_BACKWARD,
    [GPUSOLVE_D] = GSV_SCALE,
    [GPUSOLVE_P] = GSV_PERMUTE_IN,
    [GPUSOLVE_Pt] = GSV_PERMUTE_OUT,
};

unsigned gsv_steps_of(gpusolve_system system) {
    return (unsigned)system < sizeof table / sizeof table[0] ? table[system] : 0;
}

/* b and x have the factor's type. */
static gpusolve_status solve_columns(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                                     const gpusolve_dense *x) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t first = 0; !status && first < b->cols; first += workspace->max_nrhs) {
        const int64_t left = b->cols - first;
        const int64_t cols = left < workspace->max_nrhs ? left : workspace->max_nrhs;
        const gpusolve_dense b_block = gsv_dense_columns(b, first, cols);
        const gpusolve_dense x_block = gsv_dense_columns(x, first, cols);
        status = handle->executor->solve(handle, factor, workspace, steps, &b_block, &x_block);
    }
    return status;
}

gpusolve_status gpusolve_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               gpusolve_workspace *workspace, gpusolve_system system, const gpusolve_dense *b,
                               const gpusolve_dense *x) {
    GSV_ENTER(handle);
    gsv_view view = GSV_AS_IT_IS;
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = gsv_check_workspace(handle, factor, workspace);
    if (!status && !gsv_steps_of(system))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "system: %d is no gpusolve_system",
                          (int)system);
    if (!status)
        status = gsv_check_operands(handle, factor, b, x, &view);
    if (status || b->rows == 0 || b->cols == 0)
        return status;

    if (!workspace)
        status = gsv_own_workspace(handle, factor, gsv_view_piece(view, b, 0).cols, &workspace);
    for (int64_t k = 0; !status && k < gsv_view_pieces(view, b); k++) {
        const gpusolve_dense from = gsv_view_piece(view, b, k), to = gsv_view_piece(view, x, k);
        status = solve_columns(handle, factor, workspace, gsv_steps_of(system), &from, &to);
    }
    return status;
}
