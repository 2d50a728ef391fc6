/*
 * The CUDA executor: a solve is a launch that brings b into the workspace, the sweeps, and a launch that
 * takes x out.
 *
 *      load    y = P b      (into x where the forward sweep is left out: the backward sweep reads x)
 *      forward y -> x       scale  in place       backward x -> y
 *      store   x = P' y
 *
 * For one right-hand side on the device, and for a few that are solved side by side, the first launch of the forward sweep
 * loads, and the last one of the backward sweep stores (cuda/walk/one.cuh). Where the whole tree is in branches these are one
 * launch (cuda/walk/whole.cuh).
 *
 * All on the handle's stream. The sweeps of a workspace are graphs that were recorded when it was created
 * (cuda/workspace.h); while the stream is being captured their launches go into the user's graph one by one. Nothing is
 * allocated, and nothing waits, unless operands are in host memory: then they pass through whichever of y and x is free
 * at the time, or, of columns side by side, through what room y has behind them, and the call waits for the result.
 */
#include "workspace.h"

#include "../import/fields.h"

typedef struct solve_call {
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    gsv_cuda_workspace *work;
    const gsv_sweep_functions *sweeps;
    const gsv_tasks_functions *tasks;
    cudaStream_t stream;
    unsigned steps;
    int capturing, b_on_device, x_on_device;
} solve_call;

static cudaError_t run_sweep(const solve_call *call, const gsv_run *run, int backward) {
    cudaGraphExec_t graph = *gsv_cuda_graph_of(call->work, run, backward);
    if (call->capturing || !graph) /* a refresh may have allowed groups that nobody has recorded */
        return gsv_cuda_launch_sweep(&call->factor->plan, call->device, call->factor->dtype, call->work, run,
                                     backward, call->stream);
    return cudaGraphLaunch(graph, call->stream);
}

static cudaError_t load(const solve_call *call, const gsv_run *run, const int32_t *perm,
                        const int32_t *inverse, gsv_device_dense from, void *to) {
    const gsv_plan *plan = &call->factor->plan;
    gsv_abilities abilities = gsv_cuda_abilities_of(call->device, call->work);
    const int tasks = run->above[0] == GSV_TASKS;
    if (tasks && !(run->columns == GSV_TASKS_16 && !gsv_is_complex(call->factor->dtype)))
        return call->tasks->load(plan, inverse, from, to, run->columns, &call->work->tasks, call->stream);
    if (tasks && run->above[1] == GSV_TASKS)
        abilities.block_columns = 0; /* no stream wants anything filled */
    const gsv_device_vectors vectors = gsv_cuda_vectors_of(call->work, run);
    return gsv_cuda_sweeps_of(call->factor->dtype, run)
        ->load(plan, &abilities, perm, inverse, from, to, &vectors, run->columns, call->stream);
}

static cudaError_t store(const solve_call *call, const gsv_run *run, const int32_t *inverse, const void *from,
                         gsv_device_dense to) {
    if (run->above[0] == GSV_TASKS)
        return call->tasks->store(&call->factor->plan, inverse, from, to, run->columns, &call->work->tasks,
                                  call->stream);
    return gsv_cuda_sweeps_of(call->factor->dtype, run)
        ->store(call->factor->plan.l.n, inverse, from, to, run->columns, run->groups, call->stream);
}

static cudaError_t scale(const solve_call *call, const gsv_run *run, void *v) {
    const int32_t n = call->factor->plan.l.n;
    const void *d = call->device->plan.d;
    if (run->above[0] == GSV_TASKS)
        return call->tasks->scale(n, d, v, run->columns, call->stream);
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps_of(call->factor->dtype, run);
    const gsv_device_plan *plan = &call->device->plan;
    const int64_t group = run->columns > 1 ? plan->side_vector * (int64_t)sizeof(double)
                                           : plan->one_vector * (int64_t)gsv_dtype_bytes(call->factor->dtype);
    cudaError_t error = cudaSuccess;
    for (int g = 0; g < run->groups && error == cudaSuccess; g++)
        error = sweeps->scale(n, d, (char *)v + g * group, run->columns, call->stream);
    return error;
}

/* Column j of several that are solved side by side, each as one: its vectors, and its part of the caller's block. */
static gsv_device_vectors vectors_of_one(const solve_call *call, int j) {
    const int64_t number = (int64_t)gsv_dtype_bytes(call->factor->dtype),
                  vector = j * call->device->plan.one_vector * number,
                  upper = j * call->device->plan.one_upper * number;
    const gsv_device_vectors *all = &call->work->vectors[GSV_ONE];
    return (gsv_device_vectors){.y = (char *)all->y + vector,
                                .x = (char *)all->x + vector,
                                .z = (char *)all->z + upper,
                                .f = (char *)all->f + upper,
                                .u = (char *)all->u + upper,
                                .state = all->state + j,
                                .groups = 1};
}

static gsv_device_dense column_of(const solve_call *call, gsv_device_dense block, int j) {
    const int64_t number = (int64_t)gsv_dtype_bytes(call->factor->dtype);
    return (gsv_device_dense){(char *)block.values + j * block.column_stride * number, block.row_stride,
                              block.column_stride, 1};
}

/*
 * Does one launch do it all? The system must have both sweeps and nothing between them. Some blocks of that launch write x
 * before others have read b, so if both are the same memory each number must have the same place in both.
 */
static int is_whole(const solve_call *call, const gsv_run *run, gsv_device_dense b, gsv_device_dense x) {
    const unsigned sweeps = GSV_FORWARD | GSV_BACKWARD, places = GSV_PERMUTE_IN | GSV_PERMUTE_OUT;
    const unsigned permuted = call->steps & places;
    return run->whole && (call->steps & sweeps) == sweeps && (permuted == 0 || permuted == places) &&
           !((call->steps & GSV_SCALE) && call->device->plan.d) &&
           (b.values != x.values || (b.row_stride == x.row_stride && b.column_stride == x.column_stride));
}

/*
 * One right-hand side on the device, or several side by side: the sweeps' first launch loads, and the last one stores. A
 * system with one sweep alone is loaded, or stored, column by column.
 */
static cudaError_t launch_ones(const solve_call *call, const gsv_run *run, gsv_device_dense b,
                               gsv_device_dense x) {
    const gsv_plan *plan = &call->factor->plan;
    const gsv_device_plan *device = &call->device->plan;
    const gsv_abilities *abilities = &call->device->abilities;
    const int32_t *perm = call->steps & GSV_PERMUTE_IN ? device->perm : NULL;
    const int32_t *perm_out = call->steps & GSV_PERMUTE_OUT ? device->perm : NULL;
    const gsv_device_vectors vectors = gsv_cuda_vectors_of(call->work, run);
    cudaError_t error = cudaSuccess;
    if (is_whole(call, run, b, x))
        return call->sweeps->whole(plan, device, run->groups, perm, b, x, call->stream);
    if (call->steps & GSV_FORWARD)
        error = call->sweeps->forward_from(plan, device, abilities, &vectors, perm, b, call->stream);
    else
        for (int j = 0; j < run->groups && error == cudaSuccess; j++) {
            const gsv_device_vectors own = vectors_of_one(call, j);
            error = call->sweeps->load(plan, abilities, perm, perm ? device->inverse : NULL,
                                       column_of(call, b, j), own.x, &own, 1, call->stream);
        }
    if (error == cudaSuccess && (call->steps & GSV_SCALE) && device->d)
        error = scale(call, run, vectors.x);
    if (error != cudaSuccess)
        return error;
    if (call->steps & GSV_BACKWARD)
        return call->sweeps->backward_to(plan, device, abilities, &vectors, perm_out, x, call->stream);
    for (int j = 0; j < run->groups && error == cudaSuccess; j++)
        error = call->sweeps->store(plan->l.n, perm_out ? device->inverse : NULL, vectors_of_one(call, j).x,
                                    column_of(call, x, j), 1, 1, call->stream);
    return error;
}

/* The same of several, from and to host memory, too. */
static cudaError_t launch_beside(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                 const gpusolve_dense *x) {
    /* y has room for as many columns again (cuda/workspace.c), for b until x is there */
    void *room = vectors_of_one(call, run->groups).y;
    cudaError_t error = cudaSuccess;
    if (!call->b_on_device)
        error = gsv_cuda_copy_block(b, room, cudaMemcpyHostToDevice, call->stream);
    if (error == cudaSuccess)
        error = launch_ones(call, run, call->b_on_device ? gsv_cuda_dense(b) : gsv_cuda_packed(b, room),
                            call->x_on_device ? gsv_cuda_dense(x) : gsv_cuda_packed(x, room));
    if (error == cudaSuccess && !call->x_on_device)
        error = gsv_cuda_copy_block(x, room, cudaMemcpyDeviceToHost, call->stream);
    return error;
}

/* Columns of one run. b and x are views of these columns. */
static cudaError_t launch_columns(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                  const gpusolve_dense *x) {
    const int is_one = run->above[0] == GSV_STREAM;
    if (is_one && run->groups > 1)
        return launch_beside(call, run, b, x);
    if (is_one && call->b_on_device && call->x_on_device && (call->steps & (GSV_FORWARD | GSV_BACKWARD)))
        return launch_ones(call, run, gsv_cuda_dense(b), gsv_cuda_dense(x));

    const int32_t *perm = call->steps & GSV_PERMUTE_IN ? call->device->plan.perm : NULL;
    const int32_t *inverse_in = perm ? call->device->plan.inverse : NULL;
    const int32_t *inverse_out = call->steps & GSV_PERMUTE_OUT ? call->device->plan.inverse : NULL;
    const int backward_only = (call->steps & GSV_BACKWARD) && !(call->steps & GSV_FORWARD);
    const gsv_device_vectors *vectors = &call->work->vectors[GSV_ONE]; /* x and y are all widths' */
    void *current = backward_only ? vectors->x : vectors->y;
    void *other = backward_only ? vectors->y : vectors->x;
    cudaError_t error = cudaSuccess;
    gsv_device_dense from = gsv_cuda_dense(b);
    if (!call->b_on_device) {
        error = gsv_cuda_copy_block(b, other, cudaMemcpyHostToDevice, call->stream);
        from = gsv_cuda_packed(b, other);
    }
    if (error == cudaSuccess)
        error = load(call, run, perm, inverse_in, from, current);
    if (error == cudaSuccess && (call->steps & GSV_FORWARD)) {
        error = run_sweep(call, run, 0);
        current = vectors->x;
    }
    if (error == cudaSuccess && (call->steps & GSV_SCALE) && call->device->plan.d)
        error = scale(call, run, current);
    if (error == cudaSuccess && (call->steps & GSV_BACKWARD)) {
        error = run_sweep(call, run, 1);
        current = vectors->y;
    }
    if (error != cudaSuccess)
        return error;

    other = current == vectors->y ? vectors->x : vectors->y;
    const gsv_device_dense to = call->x_on_device ? gsv_cuda_dense(x) : gsv_cuda_packed(x, other);
    error = store(call, run, inverse_out, current, to);
    if (error == cudaSuccess && !call->x_on_device)
        error = gsv_cuda_copy_block(x, other, cudaMemcpyDeviceToHost, call->stream);
    return error;
}

/* The same; if it fails the store, which makes the counters zero for the next solve, may not have been launched. */
static cudaError_t solve_columns(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                 const gpusolve_dense *x) {
    const cudaError_t error = launch_columns(call, run, b, x);
    if (error != cudaSuccess && run->above[0] == GSV_TASKS && !call->capturing)
        call->tasks->clear(&call->factor->plan, &call->work->tasks, call->stream);
    return error;
}

static gpusolve_dense columns_of(const gpusolve_dense *dense, int64_t first, int64_t count) {
    gpusolve_dense view = *dense;
    view.values =
        (char *)dense->values + first * gsv_column_stride(dense) * (int64_t)gsv_dtype_bytes(dense->dtype);
    view.cols = count;
    return view;
}

/* The factor may have been planned again. */
static gpusolve_status prepare_workspace(gpusolve_handle *handle, const gpusolve_factor *factor,
                                         gpusolve_workspace *workspace, int capturing) {
    gsv_cuda_workspace *work = workspace->state;
    if (work->plans != factor->plans && capturing)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                        "workspace: a refresh has planned the factor again; solve with it once outside of a "
                        "capture first");
    if (work->plans != factor->plans)
        return gsv_cuda_workspace_renew(handle, factor, workspace);
    if (capturing) {
        work->captured = 1;
        __atomic_store_n(&((gsv_cuda_factor *)factor->prepared)->captured, 1, __ATOMIC_RELAXED);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status is_capturing(gpusolve_handle *handle, int *capturing) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const gpusolve_status status =
        gsv_cuda_check(cudaStreamIsCapturing((cudaStream_t)handle->stream, &capture), "cudaStreamIsCapturing",
                       &handle->message);
    *capturing = capture != cudaStreamCaptureStatusNone;
    return status;
}

gpusolve_status gsv_cuda_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                               const gpusolve_dense *x) {
    const int previous = gsv_cuda_enter(handle->device);
    solve_call call = {.factor = factor,
                       .device = factor->prepared,
                       .sweeps = gsv_cuda_sweeps(factor->dtype),
                       .tasks = gsv_cuda_tasks(factor->dtype),
                       .stream = (cudaStream_t)handle->stream,
                       .steps = steps,
                       .b_on_device = gsv_cuda_is_device(b->values),
                       .x_on_device = gsv_cuda_is_device(x->values)};
    gpusolve_status status = is_capturing(handle, &call.capturing);
    const int on_device = call.b_on_device && call.x_on_device;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_workspace_check(handle, workspace);
    if (status == GPUSOLVE_OK)
        status = prepare_workspace(handle, factor, workspace, call.capturing);
    call.work = workspace->state;
    if (status == GPUSOLVE_OK && call.capturing && !on_device)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s is in host memory: a solve that is captured wants device memory",
                          call.b_on_device ? "x" : "b");
    const gsv_abilities abilities = gsv_cuda_abilities_of(call.device, call.work);
    const gsv_route route = gsv_route_of(&factor->plan, factor->dtype, &abilities, call.work->same_bits,
                                         (steps & (GSV_FORWARD | GSV_BACKWARD)) != 0, b->cols);
    for (int64_t first = 0; first < b->cols && status == GPUSOLVE_OK; first += route.at_once) {
        const int64_t count = b->cols - first < route.at_once ? b->cols - first : route.at_once;
        const gpusolve_dense from = columns_of(b, first, count), to = columns_of(x, first, count);
        const gsv_run run = gsv_route_run(&route, count);
        status = gsv_cuda_check(solve_columns(&call, &run, &from, &to), "solving", &handle->message);
    }
    if (status == GPUSOLVE_OK && !on_device)
        status =
            gsv_cuda_check(cudaStreamSynchronize(call.stream), "waiting for the solution", &handle->message);
    if (status == GPUSOLVE_OK && !on_device)
        status = gsv_cuda_workspace_check(handle, workspace);
    gsv_cuda_leave(previous);
    return status;
}

const gsv_executor gsv_cuda_executor = {
    .backend = GPUSOLVE_BACKEND_CUDA,
    .place = gsv_schedule_place,
    .plan = gsv_schedule_create,
    .bytes = gsv_cuda_count_bytes,
    .prepare_bytes = gsv_cuda_upload_bytes,
    .checks_numbers = 1,
    .fill = gsv_cuda_fill_factor,
    .prepare = gsv_cuda_prepare,
    .refresh = gsv_cuda_refresh,
    .release = gsv_cuda_release,
    .drop = gsv_cuda_drop,
    .expire = gsv_cuda_expire,
    .is_capturing = is_capturing,
    .handle_destroy = gsv_cuda_handle_destroy,
    .workspace_create = gsv_cuda_workspace_create,
    .workspace_destroy = gsv_cuda_workspace_destroy,
    .workspace_check = gsv_cuda_workspace_check,
    .check_memory = gsv_cuda_check_memory,
    .solve = gsv_cuda_solve,
    .matrix_create = gsv_cuda_matrix_create,
    .matrix_destroy = gsv_cuda_matrix_destroy,
    .refine_reserve = gsv_cuda_refine_reserve,
    .refine_load = gsv_cuda_refine_load,
    .refine_store = gsv_cuda_refine_store,
    .refine_solve = gsv_cuda_refine_solve,
    .refine_residual = gsv_cuda_refine_residual,
    .refine_update = gsv_cuda_refine_update,
    .summary = gsv_cuda_summary,
    .cost = gsv_cuda_cost,
    .selection = &gsv_cuda_selection,
};
