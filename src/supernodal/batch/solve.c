/*
 * gpusolve_batch_solve: one solve with the forest.
 *
 *      b, one block    ------------------------------>  solve  ------------------------------>  x, one block, no `active`
 *      b, other blocks --gather--> vectors of all rows                vectors --scatter-->  x, other blocks, or `active`
 *
 * The gather and the scatter are those of the memory that the blocks are in.
 */
#include "operands.h"

typedef struct batch_call {
    gpusolve_handle *handle;
    const gpusolve_batch *batch;
    gpusolve_batch_workspace *workspace;
    unsigned steps;
    gsv_batch_operands operands;
    const uint8_t *active; /* in the memory of x, or NULL */
    int is_whole[2];
    gpusolve_dense whole[2];
    gsv_batch_blocks blocks[2]; /* where they are not one */
    int is_apart; /* each is one, or columns at equal distances: then apart[k] is such a block */
    gpusolve_dense apart[2];
    gsv_batch_apart how;
} batch_call;

/* ------------------------------------------------------------------------------------------- operands --- */

static const gsv_batch_functions *functions_for(const batch_call *call, int side) {
#ifdef GPUSOLVE_WITH_CUDA
    if (call->operands.side[side].on_device)
        return &gsv_cuda_batch;
#endif
    (void)call;
    (void)side;
    return &gsv_host_batch;
}

/* Member m's block as one of the factor's type; part: of a complex one. */
static gsv_batch_block block_of(const batch_call *call, int side, int64_t m, int part) {
    gpusolve_dense block = gsv_batch_member_block(&call->operands.side[side], m);
    if (call->operands.parts)
        block = gsv_view_piece(GSV_PARTS, &block, part);
    return (gsv_batch_block){block.values, gsv_row_stride(&block), gsv_column_stride(&block),
                             (int32_t)(block.cols < INT32_MAX ? block.cols : INT32_MAX),
                             (int32_t)call->batch->row[m]};
}

static void list_blocks(batch_call *call, int side, int part) {
    const gpusolve_batch *batch = call->batch;
    const gsv_batch_operand *operand = &call->operands.side[side];
    gsv_batch_blocks *blocks = &call->blocks[side];
    *blocks = (gsv_batch_blocks){.count = batch->count,
                                 .n = batch->row[batch->count],
                                 .number = gsv_dtype_bytes(batch->factor->dtype),
                                 .each = batch->each,
                                 .member_of = batch->member_of,
                                 .active = side == GSV_BATCH_X ? call->active : NULL};
    if (operand->strided) {
        blocks->first = block_of(call, side, 0, part);
        blocks->apart = operand->stride * (call->operands.parts ? 2 : 1);
        return;
    }
    for (int64_t m = 0; m < batch->count; m++)
        call->workspace->blocks[side][m] = block_of(call, side, m, part);
    blocks->block = call->workspace->blocks[side];
}

/* Vectors in the memory of a side, with rows or columns of neighbours as x has them. */
static gpusolve_status vectors_for(const batch_call *call, int side, int64_t columns,
                                   gpusolve_dense *vectors) {
    const int backend_is_host = call->handle->backend == GPUSOLVE_BACKEND_HOST;
    const int64_t n = call->batch->row[call->batch->count];
    const gpusolve_order order = call->operands.side[GSV_BATCH_X].dense[0].order;
    void *values = backend_is_host || call->operands.side[side].on_device
                       ? call->workspace->vectors
                       : gsv_batch_host_vectors(call->batch, call->workspace);
    if (!values)
        return gsv_fail(&call->handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    *vectors = (gpusolve_dense){
        call->batch->factor->dtype, order, n, columns, order == GPUSOLVE_ROW_MAJOR ? columns : n, values};
    return GPUSOLVE_OK;
}

/* ---------------------------------------------------------------------------------------------- solve --- */

static gpusolve_status move(const batch_call *call, int side, int64_t first, const gpusolve_dense *vectors) {
    gsv_batch_blocks blocks = call->blocks[side];
    const gsv_batch_vectors to = {vectors->values, gsv_row_stride(vectors), gsv_column_stride(vectors),
                                  (int32_t)vectors->cols};
    const gsv_batch_functions *functions = functions_for(call, side);
    blocks.first_column = first;
    return side == GSV_BATCH_B ? functions->gather(call->handle, &blocks, &to)
                               : functions->scatter(call->handle, &blocks, &to);
}

/* A solve that reads and writes the blocks where they are. *done is 0 if the backend has none for this number of columns. */
static gpusolve_status solve_apart(const batch_call *call, int64_t first, int64_t columns, int *done) {
    const gpusolve_dense b = gsv_dense_columns(&call->apart[GSV_BATCH_B], first, columns),
                         x = gsv_dense_columns(&call->apart[GSV_BATCH_X], first, columns);
    const gsv_batch_functions *functions = functions_for(call, GSV_BATCH_X);
    *done = 0;
    return call->is_apart && functions->solve_apart
               ? functions->solve_apart(call->handle, call->batch->factor, call->workspace->inner,
                                        call->steps, &b, &x, &call->how, done)
               : GPUSOLVE_OK;
}

static gpusolve_status solve_columns(const batch_call *call, int64_t first, int64_t columns) {
    gpusolve_dense side[2];
    int done;
    gpusolve_status status = solve_apart(call, first, columns, &done);
    if (status || done)
        return status;
    for (int k = 0; k < 2 && !status; k++)
        if (call->is_whole[k])
            side[k] = gsv_dense_columns(&call->whole[k], first, columns);
        else
            status = vectors_for(call, k, columns, &side[k]);
    if (!status && !call->is_whole[GSV_BATCH_B])
        status = move(call, GSV_BATCH_B, first, &side[GSV_BATCH_B]);
    if (!status)
        status = call->handle->executor->solve(call->handle, call->batch->factor, call->workspace->inner,
                                               call->steps, &side[GSV_BATCH_B], &side[GSV_BATCH_X]);
    if (!status && !call->is_whole[GSV_BATCH_X])
        status = move(call, GSV_BATCH_X, first, &side[GSV_BATCH_X]);
    return status;
}

static gpusolve_status solve_part(batch_call *call, int part) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int side = 0; side < 2; side++)
        if (!call->is_whole[side])
            list_blocks(call, side, part);
    for (int64_t first = 0; first < call->operands.columns && !status; first += call->workspace->columns) {
        const int64_t left = call->operands.columns - first, most = call->workspace->columns;
        status = solve_columns(call, first, left < most ? left : most);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- calls --- */

/* `active` is memory that can be read; it becomes memory that x's scatter reads. */
static gpusolve_status bring_active(batch_call *call) {
    gpusolve_handle *handle = call->handle;
    int on_device = 0;
    gpusolve_status status = GPUSOLVE_OK;
    if (call->active && handle->executor->check_memory)
        status = handle->executor->check_memory(handle, "active", call->active, 1, &on_device);
    if (status || !call->active || on_device == call->operands.side[GSV_BATCH_X].on_device)
        return status;
#ifdef GPUSOLVE_WITH_CUDA
    gpusolve_batch_workspace *workspace = call->workspace;
    status = on_device ? gsv_cuda_batch_get(handle, call->active, call->batch->count, workspace->host_active)
                       : gsv_cuda_batch_put(handle, call->active, call->batch->count, workspace->active);
    call->active = on_device ? workspace->host_active : workspace->active;
#endif
    return status;
}

static gpusolve_status check_workspace(gpusolve_handle *handle, const gpusolve_batch *batch,
                                       const gpusolve_batch_workspace *workspace) {
    if (!workspace)
        return gsv_fail_missing(&handle->message, "workspace");
    return workspace->factor_id == batch->factor->id ? GPUSOLVE_OK
                                                     : gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                                                                "workspace: was made for another batch");
}

/* Of b and x, each one block or columns at equal distances, not both of them one block. */
static void find_apart(batch_call *call) {
    call->is_apart = !(call->is_whole[0] && call->is_whole[1]) && !call->active;
    for (int side = 0; side < 2 && call->is_apart; side++)
        if (call->is_whole[side])
            call->apart[side] = call->whole[side];
        else
            call->is_apart = gsv_batch_is_apart(call->batch, &call->operands, side, &call->apart[side],
                                                &call->how.extra[side]);
    call->how.each = (int32_t)call->batch->each;
}

static gpusolve_status solve(batch_call *call, gpusolve_system system) {
    gpusolve_handle *handle = call->handle;
    gpusolve_status status = gsv_batch_check(handle, call->batch);
    if (!status)
        status = gsv_check_factor(handle, call->batch->factor);
    if (!status)
        status = check_workspace(handle, call->batch, call->workspace);
    if (!status && !gsv_steps_of(system))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "system: %d is no gpusolve_system",
                          (int)system);
    if (!status)
        status = gsv_batch_check_operands(handle, call->batch, &call->operands);
    if (!status && call->batch->count > 0)
        status = bring_active(call);
    if (status || call->batch->row[call->batch->count] == 0 || call->operands.columns == 0)
        return status;
    call->steps = gsv_steps_of(system);
    for (int side = 0; side < 2; side++)
        call->is_whole[side] = gsv_batch_is_whole(call->batch, &call->operands, side, &call->whole[side]) &&
                               !(side == GSV_BATCH_X && call->active);
    find_apart(call);
    for (int part = 0; part <= call->operands.parts && !status; part++)
        status = solve_part(call, part);
    return status;
}

gpusolve_status gpusolve_batch_solve(gpusolve_handle *handle, const gpusolve_batch *batch,
                                     gpusolve_batch_workspace *workspace, gpusolve_system system,
                                     const gpusolve_dense *b, const gpusolve_dense *x,
                                     const uint8_t *active) {
    GSV_ENTER(handle);
    batch_call call = {.handle = handle,
                       .batch = batch,
                       .workspace = workspace,
                       .operands = {.side = {{.dense = b}, {.dense = x}}},
                       .active = active};
    return solve(&call, system);
}

gpusolve_status gpusolve_batch_solve_strided(gpusolve_handle *handle, const gpusolve_batch *batch,
                                             gpusolve_batch_workspace *workspace, gpusolve_system system,
                                             const gpusolve_dense *b, int64_t b_stride,
                                             const gpusolve_dense *x, int64_t x_stride,
                                             const uint8_t *active) {
    GSV_ENTER(handle);
    batch_call call = {.handle = handle,
                       .batch = batch,
                       .workspace = workspace,
                       .operands = {.side = {{.dense = b, .strided = 1, .stride = b_stride},
                                             {.dense = x, .strided = 1, .stride = x_stride}}},
                       .active = active};
    return solve(&call, system);
}
