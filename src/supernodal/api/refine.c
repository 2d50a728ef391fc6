/*
 * gpusolve_refine: iterative refinement of A X = B, each column on its own.
 *
 *      x = A \ b;   until done: r = b - A x,  x = x + A \ r
 *
 *      error(x) = norm(b - A x) / (norm(A) norm(x) + norm(b)), infinity norms
 *
 * A column ends when its error is at or below the tolerance, when a step gains less than min_gain, or when a
 * step makes it worse; that step is then taken back. A column that has ended is not written again: the
 * columns still under way share sweeps with it and no more. Residuals are in the factor's precision; this
 * file sees their norms alone. The real and the imaginary parts of a complex b with a real A are columns of their own.
 */
#include <math.h>
#include <string.h>

#include "../../memory.h"
#include "checks.h"

typedef struct column_state { /* of the block under way */
    double error;
    int steps;
    int active;
} column_state;

typedef struct refinement { /* of a block of columns */
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    const gpusolve_refine_options *options;
    int64_t cols;
    column_state *columns; /* [max_nrhs] */
    double *norms;         /* [3 max_nrhs] of residual, x, b */
    unsigned char *mask;   /* [max_nrhs] */
    gsv_view view;
    int64_t piece; /* of the view, the one under way */
} refinement;

typedef struct results { /* the caller's arrays, or NULL */
    double *backward_error;
    int *steps;
} results;

static gpusolve_status check_matrix(gpusolve_handle *handle, const gpusolve_factor *factor,
                                    const gpusolve_matrix *matrix) {
    gsv_message *message = &handle->message;
    if (!matrix)
        return gsv_fail_missing(message, "matrix");
    if (matrix->executor != handle->executor || matrix->device != handle->device)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "matrix: belongs to another backend or device than the handle");
    if (matrix->dtype != factor->dtype)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "matrix: has dtype %d, the factor %d",
                        (int)matrix->dtype, (int)factor->dtype);
    if (matrix->n != factor->plan.l.n)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "matrix: has order %d, the factor %d",
                        (int)matrix->n, (int)factor->plan.l.n);
    return GPUSOLVE_OK;
}

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
    return GPUSOLVE_OK;
}

/* In long double, whose exponent range holds the product of any two norms. NaN unless every norm is finite.
 */
static double error_of(double norm_a, const double norms[3]) {
    double r = norms[0], x = norms[1], b = norms[2];
    if (!isfinite(r) || !isfinite(x) || !isfinite(b))
        return NAN;
    if (r == 0)
        return 0;
    return (double)(r / ((long double)norm_a * x + b));
}

static gpusolve_status residual(refinement *block) {
    return block->handle->executor->refine_residual(block->handle, block->matrix, block->workspace,
                                                    block->cols, block->norms);
}

static gpusolve_status update(refinement *block, gsv_refine_update update) {
    if (!memchr(block->mask, 1, (size_t)block->cols))
        return GPUSOLVE_OK;
    return block->handle->executor->refine_update(block->handle, block->workspace, block->cols, block->mask,
                                                  update);
}

/* First errors; columns of zeros in b are answered here. */
static gpusolve_status start(refinement *block) {
    gpusolve_status status = residual(block);
    if (status)
        return status;
    for (int64_t j = 0; j < block->cols; j++) {
        column_state *column = &block->columns[j];
        block->mask[j] = block->norms[3 * j + 2] == 0;
        column->error = block->mask[j] ? 0 : error_of(block->matrix->norm_inf, block->norms + 3 * j);
        column->steps = 0;
        column->active = !block->mask[j] && column->error > block->options->tolerance;
    }
    return update(block, GSV_REFINE_ZERO);
}

static int any_active(const refinement *block) {
    for (int64_t j = 0; j < block->cols; j++)
        if (block->columns[j].active)
            return 1;
    return 0;
}

/* One correction of every active column, kept where it does no harm. */
static gpusolve_status step(refinement *block) {
    gpusolve_status status =
        block->handle->executor->refine_solve(block->handle, block->factor, block->workspace, block->cols, 0);
    if (status)
        return status;
    for (int64_t j = 0; j < block->cols; j++)
        block->mask[j] = (unsigned char)block->columns[j].active;
    status = update(block, GSV_REFINE_ADD);
    if (!status)
        status = residual(block);
    if (status)
        return status;

    for (int64_t j = 0; j < block->cols; j++) {
        column_state *column = &block->columns[j];
        block->mask[j] = 0;
        if (!column->active)
            continue;
        double before = column->error;
        double error = error_of(block->matrix->norm_inf, block->norms + 3 * j);
        if (error <= before) { /* false for a NaN */
            column->error = error;
            column->steps++;
            column->active = error > block->options->tolerance && error * block->options->min_gain <= before;
        } else {
            column->active = 0;
            block->mask[j] = 1;
        }
    }
    return update(block, GSV_REFINE_REVERT);
}

static gpusolve_status refine_block(refinement *block, const gpusolve_dense *b, const gpusolve_dense *x) {
    gpusolve_handle *handle = block->handle;
    const gsv_executor *executor = handle->executor;
    gpusolve_status status = executor->refine_load(handle, block->workspace, GSV_REFINE_B, b);
    if (status)
        return status;
    if (block->options->solve_first)
        status = executor->refine_solve(handle, block->factor, block->workspace, block->cols, 1);
    else
        status = executor->refine_load(handle, block->workspace, GSV_REFINE_X, x);
    if (!status)
        status = start(block);
    for (int i = 0; !status && i < block->options->max_steps && any_active(block); i++)
        status = step(block);
    return status ? status : executor->refine_store(handle, block->workspace, x);
}

/* What is known of column j of the piece. For a complex column that is the worse of its two parts; the real one is known
 * first. */
static void report(const refinement *block, int64_t j, const column_state *column, const results *to) {
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
    int64_t max_nrhs = block->workspace->max_nrhs;
    for (int64_t first = 0; first < b->cols; first += max_nrhs) {
        int64_t left = b->cols - first;
        block->cols = left < max_nrhs ? left : max_nrhs;
        gpusolve_dense b_block = gsv_dense_columns(b, first, block->cols);
        gpusolve_dense x_block = gsv_dense_columns(x, first, block->cols);
        gpusolve_status status = refine_block(block, &b_block, &x_block);
        if (status)
            return status;
        for (int64_t j = 0; j < block->cols; j++)
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
        status = check_matrix(handle, factor, matrix);
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
    size_t width = (size_t)(cols < workspace->max_nrhs ? cols : workspace->max_nrhs);
    refinement block = {.handle = handle,
                        .factor = factor,
                        .matrix = matrix,
                        .workspace = workspace,
                        .options = options,
                        .view = view};
    block.columns = gsv_malloc(width, sizeof *block.columns);
    block.norms = gsv_malloc(3 * width, sizeof *block.norms);
    block.mask = gsv_malloc(width, sizeof *block.mask);
    if (block.columns && block.norms && block.mask) {
        status = refine_pieces(&block, b, x, &to);
        if (!status && handle->executor->workspace_check)
            status = handle->executor->workspace_check(handle, workspace);
    }
    if (!block.columns || !block.norms || !block.mask)
        status = gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "refine: out of host memory");
    gsv_free(block.columns);
    gsv_free(block.norms);
    gsv_free(block.mask);
    return status;
}
