/* The checks of a batch's blocks, and whether they are one block together. */
#include "operands.h"

gpusolve_dense gsv_batch_member_block(const gsv_batch_operand *operand, int64_t m) {
    gpusolve_dense block = operand->dense[operand->strided ? 0 : m];
    if (operand->strided && block.values)
        block.values = (char *)block.values + m * operand->stride * (int64_t)gsv_dtype_bytes(block.dtype);
    return block;
}

static gpusolve_status check_member(gpusolve_handle *handle, const gpusolve_batch *batch,
                                    const gsv_batch_operands *operands, int64_t m, int on_device[2]) {
    const int64_t rows = batch->row[m + 1] - batch->row[m];
    gsv_view view;
    const gpusolve_status status = gsv_check_blocks(
        handle, batch->factor->dtype, rows, rows, "the member's order", &operands->side[GSV_BATCH_B].dense[m],
        &operands->side[GSV_BATCH_X].dense[m], &view, on_device);
    if (!status)
        return status;
    const gsv_message said = handle->message;
    return gsv_fail(&handle->message, status, "member %lld: %.200s", (long long)m, said.text);
}

/* A block that lies in no memory at all goes with either. */
static int is_empty(const gpusolve_dense *dense) {
    return dense->rows == 0 || dense->cols == 0;
}

static gpusolve_status check_place(gpusolve_handle *handle, gsv_batch_operand *operand, const char *name,
                                   int64_t m, int on_device, int *known) {
    if (is_empty(&operand->dense[m]))
        return GPUSOLVE_OK;
    if (*known && operand->on_device != on_device)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "member %lld: %s->values is in %s memory, unlike those before", (long long)m, name,
                        on_device ? "device" : "host");
    operand->on_device = on_device;
    *known = 1;
    return GPUSOLVE_OK;
}

static gpusolve_status check_array(gpusolve_handle *handle, const gpusolve_batch *batch,
                                   gsv_batch_operands *operands) {
    int known[2] = {0, 0};
    gpusolve_status status = GPUSOLVE_OK;
    operands->columns = 0;
    operands->same_columns = 1;
    for (int64_t m = 0; m < batch->count && !status; m++) {
        int on_device[2];
        const gpusolve_dense *b = &operands->side[GSV_BATCH_B].dense[m];
        status = check_member(handle, batch, operands, m, on_device);
        if (!status)
            status = check_place(handle, &operands->side[GSV_BATCH_B], "b", m, on_device[0], &known[0]);
        if (!status)
            status = check_place(handle, &operands->side[GSV_BATCH_X], "x", m, on_device[1], &known[1]);
        if (!status && b->dtype != operands->side[GSV_BATCH_B].dense[0].dtype)
            status = gsv_fail(&handle->message, GPUSOLVE_TYPE_MISMATCH,
                              "member %lld: b->dtype is %d, the first member's is %d", (long long)m,
                              (int)b->dtype, (int)operands->side[GSV_BATCH_B].dense[0].dtype);
        if (status)
            return status;
        if (m > 0 && b->cols != operands->columns)
            operands->same_columns = 0;
        if (b->cols > operands->columns)
            operands->columns = b->cols;
    }
    return status;
}

/* Blocks at equal distances: in 64 bits, and, of x, without a byte in two of them. */
static gpusolve_status check_stride(gpusolve_handle *handle, const char *name, int64_t count,
                                    const gsv_batch_operand *operand) {
    const gpusolve_dense *dense = operand->dense;
    const int down = dense->order == GPUSOLVE_COL_MAJOR, x = name[0] == 'x';
    const int64_t run = down ? dense->rows : dense->cols, runs = down ? dense->cols : dense->rows,
                  extent = (runs - 1) * dense->ld + run;
    int64_t all, bytes;
    if (operand->stride < 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s_stride: is %lld", name,
                        (long long)operand->stride);
    if (count < 2 || is_empty(dense))
        return GPUSOLVE_OK;
    if (__builtin_mul_overflow(count - 1, operand->stride, &all) ||
        __builtin_add_overflow(all, extent, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)gsv_dtype_bytes(dense->dtype), &bytes))
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE,
                        "%s_stride: the members' blocks exceed 64-bit addresses", name);
    if (x && operand->stride < extent && !(operand->stride >= run && (runs == 1 || dense->ld >= all + run)))
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "x_stride: is %lld: the members' blocks, of %lld x %lld with ld %lld, overlap",
                        (long long)operand->stride, (long long)dense->rows, (long long)dense->cols,
                        (long long)dense->ld);
    return GPUSOLVE_OK;
}

static gpusolve_status check_strided(gpusolve_handle *handle, const gpusolve_batch *batch,
                                     gsv_batch_operands *operands) {
    gsv_batch_operand *b = &operands->side[GSV_BATCH_B], *x = &operands->side[GSV_BATCH_X];
    gsv_view view;
    int on_device[2];
    if (batch->count > 0 && batch->each < 0)
        return gsv_fail(
            &handle->message, GPUSOLVE_NOT_SUPPORTED,
            "batch: its members have different orders, so their blocks are not at equal distances");
    const int64_t each = batch->count > 0 ? batch->each : 0;
    gpusolve_status status = gsv_check_blocks(handle, batch->factor->dtype, each, each, "the members' order",
                                              b->dense, x->dense, &view, on_device);
    if (!status)
        status = check_stride(handle, "b", batch->count, b);
    if (!status)
        status = check_stride(handle, "x", batch->count, x);
    if (!status && b->dense->values == x->dense->values && b->stride != x->stride && batch->count > 1 &&
        !is_empty(b->dense))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "x_stride: is %lld, but x is b, and b_stride is %lld", (long long)x->stride,
                          (long long)b->stride);
    if (status)
        return status;
    b->on_device = on_device[0];
    x->on_device = on_device[1];
    operands->columns = b->dense->cols;
    operands->same_columns = 1;
    return GPUSOLVE_OK;
}

gpusolve_status gsv_batch_check_operands(gpusolve_handle *handle, const gpusolve_batch *batch,
                                         gsv_batch_operands *operands) {
    const gsv_batch_operand *b = &operands->side[GSV_BATCH_B], *x = &operands->side[GSV_BATCH_X];
    const int needed = b->strided || batch->count > 0;
    if (needed && !b->dense)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "b: is NULL");
    if (needed && !x->dense)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "x: is NULL");
    const gpusolve_status status =
        b->strided ? check_strided(handle, batch, operands) : check_array(handle, batch, operands);
    if (!status && needed)
        operands->parts = b->dense->dtype != batch->factor->dtype;
    return status;
}

int gsv_batch_is_whole(const gpusolve_batch *batch, const gsv_batch_operands *operands, int side,
                       gpusolve_dense *whole) {
    const gsv_batch_operand *operand = &operands->side[side];
    const int64_t n = batch->row[batch->count];
    int found = 0;
    if (operands->parts || !operands->same_columns)
        return 0;
    for (int64_t m = 0; m < batch->count; m++) {
        const gpusolve_dense block = gsv_batch_member_block(operand, m);
        if (block.rows == 0)
            continue;
        if (!found)
            *whole = block;
        found = 1;
        if (block.order != whole->order ||
            (block.ld != whole->ld && (block.cols > 1 || block.order == GPUSOLVE_ROW_MAJOR)))
            return 0;
        const int64_t first = batch->row[m] * gsv_row_stride(whole) * (int64_t)gsv_dtype_bytes(whole->dtype);
        if ((char *)block.values != (char *)whole->values + first)
            return 0;
        if (operand->strided && m > 0) /* the others follow */
            break;
    }
    whole->rows = n;
    if (whole->order == GPUSOLVE_COL_MAJOR && whole->ld < n) {
        if (whole->cols > 1)
            return 0;
        whole->ld = n;
    }
    return found;
}

int gsv_batch_is_apart(const gpusolve_batch *batch, const gsv_batch_operands *operands, int side,
                       gpusolve_dense *whole, int64_t *extra) {
    const gsv_batch_operand *operand = &operands->side[side];
    if (operands->parts || !operands->same_columns || !operand->on_device || batch->each <= 0 ||
        batch->count < 2)
        return 0;
    *whole = gsv_batch_member_block(operand, 0);
    const gpusolve_dense second = gsv_batch_member_block(operand, 1);
    const int64_t number = (int64_t)gsv_dtype_bytes(whole->dtype),
                  bytes = (char *)second.values - (char *)whole->values;
    if (whole->order != GPUSOLVE_COL_MAJOR || bytes % number)
        return 0;
    for (int64_t m = 1; !operand->strided && m < batch->count; m++) {
        const gpusolve_dense *block = &operand->dense[m];
        if (block->order != whole->order || block->ld != whole->ld ||
            (char *)block->values - (char *)whole->values != m * bytes)
            return 0;
    }
    whole->rows = batch->row[batch->count];
    *extra = bytes / number - batch->each;
    return 1;
}
