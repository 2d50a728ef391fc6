/* The checks that stand between a caller's arguments and the executors, which take everything on trust. */
#include "checks.h"

#include <stdio.h>

#include "../import/fields.h"

gpusolve_status gsv_check_record(const char *name, const void *record, size_t size, gsv_message *message) {
    if (!record)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    if (*(const size_t *)record != size)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->size: is %zu, must be %zu", name,
                        *(const size_t *)record, size);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_check_owner(gpusolve_handle *handle, const char *name, const gsv_executor *executor,
                                int device) {
    return executor == handle->executor && device == handle->device
               ? GPUSOLVE_OK
               : gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s: belongs to another backend or device than the handle", name);
}

gpusolve_status gsv_check_factor_owner(gpusolve_handle *handle, const gpusolve_factor *factor) {
    return factor ? gsv_check_owner(handle, "factor", factor->executor, factor->device)
                  : gsv_fail_missing(&handle->message, "factor");
}

static gpusolve_status fail_broken_off(gpusolve_handle *handle) {
    return gsv_fail(&handle->message, GPUSOLVE_INVALID_FACTOR,
                    "factor: a refresh broke off half-way; refresh it again before solving with it");
}

gpusolve_status gsv_check_factor_prepared(gpusolve_handle *handle, const gpusolve_factor *factor) {
    const gpusolve_status status = gsv_check_factor_owner(handle, factor);
    return status || factor->prepared ? status : fail_broken_off(handle);
}

gpusolve_status gsv_check_factor(gpusolve_handle *handle, const gpusolve_factor *factor) {
    const gpusolve_status status = gsv_check_factor_prepared(handle, factor);
    return status || !factor->unusable ? status : fail_broken_off(handle);
}

gpusolve_status gsv_check_workspace(gpusolve_handle *handle, const gpusolve_factor *factor,
                                    const gpusolve_workspace *workspace) {
    if (workspace && workspace->factor_id != factor->id)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "workspace: was made for another factor");
    return GPUSOLVE_OK;
}

gpusolve_status gsv_check_matrix(gpusolve_handle *handle, const gpusolve_factor *factor,
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

gpusolve_status gsv_check_max_nrhs(const gsv_plan *plan, gpusolve_dtype dtype, int64_t first,
                                   int64_t max_nrhs, gsv_message *message) {
    if (max_nrhs < first)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "max_nrhs: is %lld, must be at least %lld",
                        (long long)max_nrhs, (long long)first);
    /* An executor holds fewer than 16 vectors of n numbers and 16 of all the update rows, for each column. */
    int64_t numbers = plan->update_ptr[plan->l.nsuper] + plan->l.n;
    int64_t bytes;
    if (max_nrhs > INT32_MAX || __builtin_mul_overflow(numbers, max_nrhs, &bytes) ||
        __builtin_mul_overflow(bytes, 16 * (int64_t)gsv_dtype_bytes(dtype), &bytes))
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "max_nrhs: %lld columns are too many",
                        (long long)max_nrhs);
    return GPUSOLVE_OK;
}

static int64_t at_least_1(int64_t value) {
    return value > 1 ? value : 1;
}

/* Numbers in one contiguous run (a column or a row of the block), and how many runs there are. */
static int64_t run_length(const gpusolve_dense *dense) {
    return dense->order == GPUSOLVE_COL_MAJOR ? dense->rows : dense->cols;
}

static int64_t run_count(const gpusolve_dense *dense) {
    return dense->order == GPUSOLVE_COL_MAJOR ? dense->cols : dense->rows;
}

/* Whether a factor of this dtype solves with such a block: of its own type, or complex ones with a real factor. */
static int goes_with(gpusolve_dtype factor, gpusolve_dtype block) {
    return block == factor || (factor == GPUSOLVE_FLOAT && block == GPUSOLVE_COMPLEX_FLOAT) ||
           (factor == GPUSOLVE_DOUBLE && block == GPUSOLVE_COMPLEX_DOUBLE);
}

gpusolve_status gsv_check_memory(gpusolve_handle *handle, const char *name, const void *values, size_t align,
                                 size_t number, int *on_device) {
    *on_device = 0;
    if (!values)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    if ((uintptr_t)values % align)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not aligned to %zu bytes", name,
                        align);
    return handle->executor->check_memory
               ? handle->executor->check_memory(handle, name, values, number, on_device)
               : GPUSOLVE_OK;
}

gpusolve_status gsv_check_list(gpusolve_handle *handle, const char *name, int32_t n, int64_t count,
                               const int64_t *list) {
    if ((uintptr_t)list % sizeof *list)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is not aligned to %zu bytes", name,
                        sizeof *list);
    for (int64_t k = 0; list && k < count; k++)
        if (list[k] < 0 || list[k] >= n)
            return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s[%lld]: is %lld, the order is %d",
                            name, (long long)k, (long long)list[k], (int)n);
    return GPUSOLVE_OK;
}

static gpusolve_status check_values(gpusolve_handle *handle, const char *name, const gpusolve_dense *dense,
                                    gpusolve_dtype factor, int *on_device) {
    *on_device = 0;
    if (dense->rows == 0 || dense->cols == 0)
        return GPUSOLVE_OK;
    return gsv_check_memory(handle, name, dense->values, gsv_real_bytes(factor), gsv_dtype_bytes(factor),
                            on_device);
}

/* `rows` are what the block must have; `whose` says in the message what they are. */
static gpusolve_status check_dense(gsv_message *message, const char *name, const gpusolve_dense *dense,
                                   gpusolve_dtype dtype, int64_t rows, const char *whose) {
    if (!dense)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    if (!goes_with(dtype, dense->dtype))
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "%s->dtype: is %d, the factor's is %d", name,
                        (int)dense->dtype, (int)dtype);
    if (dense->order != GPUSOLVE_COL_MAJOR && dense->order != GPUSOLVE_ROW_MAJOR)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->order: %d is no gpusolve_order", name,
                        (int)dense->order);
    if (dense->rows != rows)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->rows: is %lld, %s is %lld", name,
                        (long long)dense->rows, whose, (long long)rows);
    if (dense->cols < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->cols: is %lld", name,
                        (long long)dense->cols);
    if (dense->ld < at_least_1(run_length(dense)))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->ld: is %lld, must be at least %lld", name,
                        (long long)dense->ld, (long long)at_least_1(run_length(dense)));
    int64_t bytes;
    if (__builtin_mul_overflow(dense->ld, run_count(dense), &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)gsv_dtype_bytes(dense->dtype), &bytes))
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "%s->ld: the block exceeds 64-bit addresses", name);
    return GPUSOLVE_OK;
}

gsv_bytes_block gsv_dense_bytes(const gpusolve_dense *dense) {
    const uint64_t number = gsv_dtype_bytes(dense->dtype);
    return (gsv_bytes_block){dense->values, (uint64_t)run_length(dense) * number,
                             (uint64_t)dense->ld * number, (uint64_t)run_count(dense)};
}

static gpusolve_status ask_capturing(gpusolve_handle *handle, int *capturing) {
    *capturing = 0;
    return handle->executor->is_capturing ? handle->executor->is_capturing(handle, capturing) : GPUSOLVE_OK;
}

gpusolve_status gsv_check_not_captured(gpusolve_handle *handle, const char *why) {
    int capturing;
    const gpusolve_status status = ask_capturing(handle, &capturing);
    return status || !capturing ? status
                                : gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                                           "handle: its stream is being captured, and %s", why);
}

gpusolve_status gsv_check_captured_memory(gpusolve_handle *handle, const char *name, int on_device) {
    int capturing;
    if (on_device)
        return GPUSOLVE_OK;
    const gpusolve_status status = ask_capturing(handle, &capturing);
    return status || !capturing
               ? status
               : gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s: is in host memory: a call that is captured wants device memory", name);
}

gpusolve_status gsv_check_aliasing(gsv_message *message, const char *b_name, const gpusolve_dense *b,
                                   const char *x_name, const gpusolve_dense *x) {
    if (b->rows == 0 || x->rows == 0 || b->cols == 0)
        return GPUSOLVE_OK;
    if (b->values == x->values) {
        if (b->order != x->order || b->ld != x->ld)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                            "%s->values: is %s->values, but with another order or leading dimension", x_name,
                            b_name);
        return GPUSOLVE_OK;
    }
    const gsv_bytes_block of_b = gsv_dense_bytes(b), of_x = gsv_dense_bytes(x);
    if (gsv_blocks_overlap(&of_b, &of_x))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "%s->values: overlaps %s without being %s",
                        x_name, b_name, b_name);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_check_blocks(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t b_rows,
                                 int64_t x_rows, const char *whose, const gpusolve_dense *b,
                                 const gpusolve_dense *x, gsv_view *view, int on_device[2]) {
    gsv_message *message = &handle->message;
    int b_on_device = 0, x_on_device = 0;
    gpusolve_status status = check_dense(message, "b", b, dtype, b_rows, whose);
    if (!status)
        status = check_values(handle, "b->values", b, dtype, &b_on_device);
    if (!status)
        status = check_dense(message, "x", x, dtype, x_rows, whose);
    if (!status && x->dtype != b->dtype)
        status = gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "x->dtype: is %d, b->dtype is %d", (int)x->dtype,
                          (int)b->dtype);
    if (!status && x->cols != b->cols)
        status = gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "x->cols: is %lld, b has %lld",
                          (long long)x->cols, (long long)b->cols);
    if (!status)
        status = check_values(handle, "x->values", x, dtype, &x_on_device);
    if (status)
        return status;
    if (on_device) {
        on_device[0] = b_on_device;
        on_device[1] = x_on_device;
    }
    const int on_host = handle->executor->check_memory && !(b_on_device && x_on_device);
    *view = b->dtype == dtype                                                  ? GSV_AS_IT_IS
            : b->order == GPUSOLVE_ROW_MAJOR && x->order == GPUSOLVE_ROW_MAJOR ? GSV_PAIRS
            : b->cols == 1 || on_host                                          ? GSV_COLUMN_PAIRS
                                                                               : GSV_PARTS;
    return gsv_check_aliasing(message, "b", b, "x", x);
}

gpusolve_status gsv_check_operands(gpusolve_handle *handle, const gpusolve_factor *factor,
                                   const gpusolve_dense *b, const gpusolve_dense *x, gsv_view *view) {
    const int64_t n = factor->plan.l.n;
    return gsv_check_blocks(handle, factor->dtype, n, n, "the factor's order", b, x, view, NULL);
}

gpusolve_status gsv_check_selected(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t b_rows,
                                   int64_t x_rows, const gpusolve_dense *b, const gpusolve_dense *x,
                                   gsv_view *view) {
    return gsv_check_blocks(handle, factor->dtype, b_rows, x_rows, "the selection's count", b, x, view, NULL);
}

gpusolve_status gsv_check_block(gpusolve_handle *handle, const gpusolve_factor *factor, const char *name,
                                const gpusolve_dense *dense, int *on_device) {
    gsv_message *message = &handle->message;
    *on_device = 0;
    const gpusolve_status status =
        check_dense(message, name, dense, factor->dtype, factor->plan.l.n, "the factor's order");
    if (status)
        return status;
    if (dense->dtype != factor->dtype)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "%s->dtype: is %d, the factor's is %d", name,
                        (int)dense->dtype, (int)factor->dtype);
    char values[32];
    snprintf(values, sizeof values, "%s->values", name);
    return check_values(handle, values, dense, factor->dtype, on_device);
}

/* -------------------------------------------------------------------------------------------- columns --- */

int64_t gsv_view_pieces(gsv_view view, const gpusolve_dense *dense) {
    return view == GSV_PARTS ? 2 : view == GSV_COLUMN_PAIRS ? dense->cols : 1;
}

gpusolve_dense gsv_view_piece(gsv_view view, const gpusolve_dense *dense, int64_t piece) {
    gpusolve_dense real = *dense;
    const int64_t part = (int64_t)gsv_real_bytes(dense->dtype);
    if (view == GSV_AS_IT_IS)
        return real;
    real.dtype = gsv_is_single(dense->dtype) ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    if (view == GSV_PARTS) {
        real.order = (gpusolve_order)(dense->order + GSV_EVERY_OTHER);
        real.values = (char *)dense->values + piece * part;
        return real;
    }
    /* the two numbers of an entry become neighbours in a row */
    real.order = GPUSOLVE_ROW_MAJOR;
    real.cols = view == GSV_PAIRS ? 2 * dense->cols : 2;
    real.ld = dense->order == GPUSOLVE_ROW_MAJOR ? 2 * dense->ld : 2;
    if (dense->values)
        real.values = (char *)dense->values + piece * gsv_column_stride(dense) * 2 * part;
    return real;
}
