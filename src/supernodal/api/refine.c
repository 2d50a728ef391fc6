/*
 * gpusolve_refine: iterative refinement of A X = B, each column on its own.
 *
 *      x = F \ b;   until done: r = b - A x,  x = x + d,  d = F \ r or what a Krylov method makes of some such steps (krylov.c)
 *
 *      error(x) = norm(b - A x) / (norm(A) norm(x) + norm(b)), infinity norms
 *
 * A column ends when its error is at or below the tolerance, when a step gains less than min_gain, or when a
 * step makes it worse; that step is then taken back (refine_step.h). A column that has ended is not written again: the
 * columns still under way share sweeps with it and no more. The executor has the loop; this file checks, cuts a block into what a workspace
 * holds, and reports. The real and the imaginary parts of a complex b with a real A are columns of their own.
 */
#include <math.h>
#include <string.h>

#include "../../memory.h"
#include "checks.h"
#include "krylov.h"

enum { MOST_RESTART = 256 };

static const gpusolve_refine_options defaults = GPUSOLVE_REFINE_OPTIONS_INIT;

/* Of a block. The device counts on rows of its vectors below 2^32 bytes. */
static int64_t most_columns(const gpusolve_workspace *workspace) {
    enum { MOST = 1 << 16 };
    return workspace->max_nrhs < MOST ? workspace->max_nrhs : MOST;
}

typedef struct refinement { /* of a block of columns */
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    gpusolve_refine_options options; /* with the tolerance as a number */
    gsv_refine_column *columns;      /* [most_columns] of the block under way */
    gsv_view view;
    gsv_refine_results to;
    int asynchronous; /* on a device */
} refinement;

static gpusolve_status check_options(const gpusolve_refine_options *options, gsv_message *message) {
    if (options->size != sizeof *options)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->size: is %zu, must be %zu",
                        options->size, sizeof *options);
    if (options->max_steps < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->max_steps: is %d", options->max_steps);
    if (!(options->tolerance >= 0) && options->tolerance != GPUSOLVE_REFINE_EPSILON)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "options->tolerance: is %g, must be GPUSOLVE_REFINE_EPSILON or not negative",
                        options->tolerance);
    if (!(options->min_gain >= 1))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->min_gain: is %g, must be at least 1",
                        options->min_gain);
    if (options->solve_first != 0 && options->solve_first != 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->solve_first: is %d, must be 0 or 1",
                        options->solve_first);
    if ((unsigned)options->method > GPUSOLVE_REFINE_AUTOMATIC)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->method: is %d", (int)options->method);
    if (options->restart < 1 || options->restart > MOST_RESTART)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->restart: is %d, must be from 1 to %d",
                        options->restart, MOST_RESTART);
    if (options->twice != 0 && options->twice != 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->twice: is %d, must be 0 or 1",
                        options->twice);
    if (options->componentwise != 0 && options->componentwise != 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->componentwise: is %d, must be 0 or 1",
                        options->componentwise);
    return GPUSOLVE_OK;
}

/* The options, checked, with the tolerance that GPUSOLVE_REFINE_EPSILON stands for. */
static gpusolve_refine_options with_tolerance(const gpusolve_refine_options *options,
                                              const gpusolve_factor *factor) {
    gpusolve_refine_options all = *options;
    if (all.tolerance == GPUSOLVE_REFINE_EPSILON)
        all.tolerance = all.twice ? 0 : 2 * gsv_rounding_of(factor->dtype);
    return all;
}

/* Where the results of a piece go. */
static void place_results(refinement *block, int64_t piece) {
    gsv_refine_results *to = &block->to;
    to->each = block->view == GSV_PAIRS || block->view == GSV_COLUMN_PAIRS ? 2 : 1;
    to->base = block->view == GSV_COLUMN_PAIRS ? piece : 0;
    to->second = block->view == GSV_PARTS && piece == 1;
}

static gpusolve_status refine_columns(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x) {
    const int64_t max_nrhs = most_columns(block->workspace);
    for (int64_t first = 0; first < b->cols; first += max_nrhs) {
        const int64_t left = b->cols - first, cols = left < max_nrhs ? left : max_nrhs;
        const gpusolve_dense b_block = gsv_dense_columns(b, first, cols);
        const gpusolve_dense x_block = gsv_dense_columns(x, first, cols);
        block->to.first = first;
        const gpusolve_status status = block->handle->executor->refine(
            block->handle, block->factor, block->matrix, block->workspace, &block->options, &b_block,
            &x_block, block->columns, block->asynchronous ? &block->to : NULL);
        if (status)
            return status;
        for (int64_t j = 0; j < cols && !block->asynchronous; j++)
            gsv_refine_note(&block->to, j, &block->columns[j]);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status refine_pieces(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t piece = 0; !status && piece < gsv_view_pieces(block->view, b); piece++) {
        const gpusolve_dense from = gsv_view_piece(block->view, b, piece);
        const gpusolve_dense into = gsv_view_piece(block->view, x, piece);
        place_results(block, piece);
        status = refine_columns(block, &from, &into);
    }
    return status;
}

/* An array of `count` results: aligned, and apart from b, x and the `before` arrays in others. */
static gpusolve_status check_result(const char *name, const void *array, int64_t count, size_t each,
                                    const gsv_bytes_block *others, int before, gsv_message *message) {
    const gsv_bytes_block bytes = {array, (uint64_t)count * each, 0, 1};
    if (!array || count == 0)
        return GPUSOLVE_OK;
    if ((uintptr_t)array % each)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not aligned to %zu bytes", name, each);
    for (int k = 0; k < before; k++)
        if (gsv_blocks_overlap(&bytes, &others[k]))
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s: overlaps %s", name,
                            k == 0   ? "b"
                            : k == 1 ? "x"
                                     : "backward_error");
    return GPUSOLVE_OK;
}

static gpusolve_status check_results(const gpusolve_dense *b, const gpusolve_dense *x,
                                     const gsv_refine_results *to, gsv_message *message) {
    const uint64_t errors = to->backward_error ? (uint64_t)b->cols * sizeof *to->backward_error : 0;
    const gsv_bytes_block others[] = {
        gsv_dense_bytes(b), gsv_dense_bytes(x), {to->backward_error, errors, 0, 1}};
    const gpusolve_status status = check_result("backward_error", to->backward_error, b->cols,
                                                sizeof *to->backward_error, others, 2, message);
    return status ? status : check_result("steps", to->steps, b->cols, sizeof *to->steps, others, 3, message);
}

static gpusolve_status check(gpusolve_handle *handle, const gpusolve_factor *factor,
                             const gpusolve_matrix *matrix, const gpusolve_workspace *workspace,
                             const gpusolve_dense *b, const gpusolve_dense *x,
                             const gpusolve_refine_options *options, const gsv_refine_results *to,
                             gsv_view *view) {
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = gsv_check_matrix(handle, factor, matrix);
    if (!status)
        status = gsv_check_workspace(handle, factor, workspace);
    if (!status)
        status = gsv_check_operands(handle, factor, b, x, view);
    if (!status && b->values == x->values && b->rows > 0 && b->cols > 0)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "x->values: must not be b->values");
    if (!status)
        status = check_options(options, &handle->message);
    return status ? status : check_results(b, x, to, &handle->message);
}

/* Make all that is not there yet. */
static gpusolve_status reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                               const gpusolve_refine_options *options) {
    if (!workspace->columns)
        workspace->columns = gsv_malloc((size_t)most_columns(workspace), sizeof *workspace->columns);
    if (!workspace->columns)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "refine: out of host memory");
    return handle->executor->refine_reserve(handle, factor, matrix, workspace, options);
}

static gpusolve_status refine_and_wait(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x) {
    const gsv_executor *executor = block->handle->executor;
    gpusolve_status status =
        reserve(block->handle, block->factor, block->matrix, block->workspace, &block->options);
    block->columns = block->workspace->columns;
    if (!status)
        status = refine_pieces(block, b, x);
    if (!status && executor->workspace_check)
        status = executor->workspace_check(block->handle, block->workspace);
    return status;
}

gpusolve_status gpusolve_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_dense *b, const gpusolve_dense *x,
                                const gpusolve_refine_options *options, double *backward_error, int *steps) {
    GSV_ENTER(handle);
    refinement block = {.handle = handle,
                        .factor = factor,
                        .matrix = matrix,
                        .workspace = workspace,
                        .view = GSV_AS_IT_IS,
                        .to = {.backward_error = backward_error, .steps = steps}};
    if (!options)
        options = &defaults;
    gpusolve_status status = check(handle, factor, matrix, workspace, b, x, options, &block.to, &block.view);
    if (status)
        return status;
    block.options = with_tolerance(options, factor);
    if (b->rows == 0 || b->cols == 0) {
        if (backward_error)
            memset(backward_error, 0, (size_t)b->cols * sizeof *backward_error);
        if (steps)
            memset(steps, 0, (size_t)b->cols * sizeof *steps);
        return GPUSOLVE_OK;
    }
    if (!workspace)
        status = gsv_own_workspace(handle, factor, gsv_view_piece(block.view, b, 0).cols, &block.workspace);
    return status ? status : refine_and_wait(&block, b, x);
}

gpusolve_status gpusolve_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                        const gpusolve_refine_options *options) {
    GSV_ENTER(handle);
    if (!options)
        options = &defaults;
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status && matrix)
        status = gsv_check_matrix(handle, factor, matrix);
    if (!status && !workspace)
        status = gsv_fail_missing(&handle->message, "workspace");
    if (!status)
        status = gsv_check_workspace(handle, factor, workspace);
    if (!status)
        status = check_options(options, &handle->message);
    if (!status)
        status = gsv_check_not_captured(handle, "a reserve may allocate");
    return status ? status : reserve(handle, factor, matrix, workspace, options);
}

static gpusolve_status check_on_device(gpusolve_handle *handle, const char *name, const void *values,
                                       size_t each) {
    int on_device = 0;
    const gpusolve_status status =
        values ? handle->executor->check_memory(handle, name, values, each, &on_device) : GPUSOLVE_OK;
    if (status || on_device || !values)
        return status;
    return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                    "%s: is in host memory: an asynchronous refinement wants device memory", name);
}

/* Nothing of it is in host memory, if there is other memory. */
static gpusolve_status check_asynchronous(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x,
                                          const gpusolve_refine_options *options) {
    gpusolve_handle *handle = block->handle;
    if (!block->workspace)
        return gsv_fail_missing(&handle->message, "workspace");
    gpusolve_status status = check(handle, block->factor, block->matrix, block->workspace, b, x, options,
                                   &block->to, &block->view);
    if (status || !handle->executor->check_memory)
        return status;
    status = check_on_device(handle, "b->values", b->values, gsv_dtype_bytes(b->dtype));
    if (!status)
        status = check_on_device(handle, "x->values", x->values, gsv_dtype_bytes(x->dtype));
    if (!status)
        status = check_on_device(handle, "backward_error", block->to.backward_error,
                                 sizeof *block->to.backward_error);
    return status ? status : check_on_device(handle, "steps", block->to.steps, sizeof *block->to.steps);
}

gpusolve_status gpusolve_refine_async(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                      const gpusolve_dense *b, const gpusolve_dense *x,
                                      const gpusolve_refine_options *options, double *backward_error,
                                      int *steps) {
    GSV_ENTER(handle);
    refinement block = {.handle = handle,
                        .factor = factor,
                        .matrix = matrix,
                        .workspace = workspace,
                        .view = GSV_AS_IT_IS,
                        .to = {.backward_error = backward_error, .steps = steps},
                        .asynchronous = 1};
    if (!options)
        options = &defaults;
    const gpusolve_status status = check_asynchronous(&block, b, x, options);
    if (status)
        return status;
    block.options = with_tolerance(options, factor);
    if (!handle->executor->check_memory) /* the host's own: nothing is left for later */
        return gpusolve_refine(handle, factor, matrix, workspace, b, x, options, backward_error, steps);
    return b->cols > 0 ? refine_pieces(&block, b, x) : GPUSOLVE_OK;
}
