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

enum { MOST_RESTART = 256 };

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
    const gpusolve_refine_options *options;
    gsv_refine_column *columns; /* [most_columns] of the block under way */
    gsv_view view;
    int64_t piece; /* of the view, the one under way */
} refinement;

typedef struct results { /* the caller's arrays, or NULL */
    double *backward_error;
    int *steps;
} results;

static gpusolve_status check_options(const gpusolve_refine_options *options, gsv_message *message) {
    if (options->size != sizeof *options)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->size: is %zu, must be %zu",
                        options->size, sizeof *options);
    if (options->max_steps < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->max_steps: is %d", options->max_steps);
    if (!(options->tolerance >= 0))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "options->tolerance: is %g, must not be negative",
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
    return GPUSOLVE_OK;
}

/* What is known of column j of the piece. For a complex column that is the worse of its two parts; the real one is known
 * first. */
static void report(const refinement *block, int64_t j, const gsv_refine_column *column, const results *to) {
    int64_t at = j;
    int second = 0;
    if (block->view == GSV_PAIRS) {
        at = j / 2;
        second = j % 2 == 1;
    } else if (block->view == GSV_COLUMN_PAIRS) {
        at = block->piece;
        second = j == 1;
    } else if (block->view == GSV_PARTS) {
        second = block->piece == 1;
    }
    if (to->backward_error && !(second && to->backward_error[at] >= column->error) &&
        !(second && isnan(to->backward_error[at])))
        to->backward_error[at] = column->error;
    if (to->steps && !(second && to->steps[at] >= column->steps))
        to->steps[at] = column->steps;
}

static gpusolve_status refine_columns(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x,
                                      const results *to) {
    const int64_t max_nrhs = most_columns(block->workspace);
    for (int64_t first = 0; first < b->cols; first += max_nrhs) {
        const int64_t left = b->cols - first, cols = left < max_nrhs ? left : max_nrhs;
        const gpusolve_dense b_block = gsv_dense_columns(b, first, cols);
        const gpusolve_dense x_block = gsv_dense_columns(x, first, cols);
        const gpusolve_status status =
            block->handle->executor->refine(block->handle, block->factor, block->matrix, block->workspace,
                                            block->options, &b_block, &x_block, block->columns);
        if (status)
            return status;
        for (int64_t j = 0; j < cols; j++)
            report(block, first + j, &block->columns[j], to);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status refine_pieces(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x,
                                     const results *to) {
    gpusolve_status status = GPUSOLVE_OK;
    for (block->piece = 0; !status && block->piece < gsv_view_pieces(block->view, b); block->piece++) {
        const gpusolve_dense from = gsv_view_piece(block->view, b, block->piece);
        const gpusolve_dense into = gsv_view_piece(block->view, x, block->piece);
        status = refine_columns(block, &from, &into, to);
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

static gpusolve_status check_results(const gpusolve_dense *b, const gpusolve_dense *x, const results *to,
                                     gsv_message *message) {
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
                             const gpusolve_refine_options *options, const results *to, gsv_view *view) {
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

gpusolve_status gpusolve_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_dense *b, const gpusolve_dense *x,
                                const gpusolve_refine_options *options, double *backward_error, int *steps) {
    static const gpusolve_refine_options defaults = GPUSOLVE_REFINE_OPTIONS_INIT;
    GSV_ENTER(handle);
    if (!options)
        options = &defaults;
    const results to = {backward_error, steps};
    gsv_view view = GSV_AS_IT_IS;
    gpusolve_status status = check(handle, factor, matrix, workspace, b, x, options, &to, &view);
    if (status)
        return status;
    if (b->rows == 0 || b->cols == 0) {
        if (backward_error)
            memset(backward_error, 0, (size_t)b->cols * sizeof *backward_error);
        if (steps)
            memset(steps, 0, (size_t)b->cols * sizeof *steps);
        return GPUSOLVE_OK;
    }

    const int64_t cols = gsv_view_piece(view, b, 0).cols;
    if (!workspace)
        status = gsv_own_workspace(handle, factor, cols, &workspace);
    if (!status && !workspace->refine)
        status = handle->executor->refine_reserve(handle, workspace);
    if (status)
        return status;
    size_t width = (size_t)(cols < most_columns(workspace) ? cols : most_columns(workspace));
    refinement block = {.handle = handle,
                        .factor = factor,
                        .matrix = matrix,
                        .workspace = workspace,
                        .options = options,
                        .view = view};
    block.columns = gsv_malloc(width, sizeof *block.columns);
    if (!block.columns)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "refine: out of host memory");
    status = refine_pieces(&block, b, x, &to);
    if (!status && handle->executor->workspace_check)
        status = handle->executor->workspace_check(handle, workspace);
    gsv_free(block.columns);
    return status;
}
