/*
 * The CUDA executor: a solve is a launch that brings b into the workspace, the sweeps, and a launch that
 * takes x out.
 *
 *      load    y = P b      (into x where the forward sweep is left out: the backward sweep reads x)
 *      forward y -> x       scale  in place       backward x -> y
 *      store   x = P' y
 *
 * For one right-hand side, and for a few that are solved side by side, the first launch of the forward sweep loads, and the last
 * one of the backward sweep stores (cuda/walk/one.cuh). Where the whole tree is in branches these are one launch
 * (cuda/walk/whole.cuh).
 *
 * All on the handle's stream. The sweeps of a workspace are graphs that were recorded when it was created
 * (cuda/workspace.h); while the stream is being captured their launches go into the user's graph one by one. Nothing is
 * allocated, and nothing waits, unless operands are in host memory: then they pass through whichever of y and x is free
 * at the time, or, of groups of one, through what room y has behind them, and the call waits for the result.
 */
#include "workspace.h"

#include "../batch/move.h"
#include "batch_apart.h"
#include "products/products.h"

#include "../import/fields.h"

typedef struct solve_call {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    gsv_cuda_workspace *work;
    cudaStream_t stream;
    unsigned steps;
    int capturing, b_on_device, x_on_device;
    const gsv_drawing *drawn;     /* what b is to become, for columns from here on; or NULL: b is there */
    const gsv_batch_apart *apart; /* NULL, or how b and x are a batch's */
    const void *mean;             /* NULL, or what the store adds to each column; x is on the device then */
} solve_call;

static gsv_launch launch_of(const solve_call *call, const gsv_run *run, gsv_upper upper) {
    return gsv_cuda_launch_of(&call->factor->plan, call->device, call->work, run, upper, call->stream);
}

static cudaError_t run_sweep(const solve_call *call, const gsv_run *run, int backward) {
    cudaGraphExec_t graph = *gsv_cuda_graph_of(call->work, run, backward);
    if (!call->capturing && graph)
        return cudaGraphLaunch(graph, call->stream);
    /* a refresh may have allowed groups that nobody has recorded */
    const gsv_upper upper = run->above[backward];
    const gsv_launch launch = launch_of(call, run, upper);
    return gsv_cuda_launchers(call->factor->numbers, upper)->sweep[backward](&launch);
}

static cudaError_t load(const solve_call *call, const gsv_run *run, gsv_device_dense from, void *to) {
    const int32_t *perm = call->steps & GSV_PERMUTE_IN ? call->device->plan.perm : NULL;
    /* sixteen real numbers are loaded as for a stream, which the backward sweep may be */
    const gsv_upper upper = run->columns == GSV_TASKS_16 && !gsv_is_complex(call->factor->dtype)
                                ? GSV_BLOCK_STREAM
                                : run->above[0];
    const gsv_launch launch = launch_of(call, run, upper);
    cudaError_t error = cudaSuccess;
    if (call->drawn && upper == GSV_TASKS)
        return gsv_cuda_draw_vectors(call->factor->dtype, call->drawn, to, run->columns, from.columns,
                                     &launch.vectors.state->broken, call->stream);
    if (call->drawn)
        error = gsv_cuda_draw(call->factor->dtype, call->drawn, from, call->stream);
    if (error != cudaSuccess)
        return error;
    if (call->apart && call->apart->extra[0])
        return gsv_cuda_load_apart(call->factor->dtype, &launch, perm ? call->device->plan.inverse : NULL,
                                   from, call->apart->each, call->apart->extra[0], to);
    return gsv_cuda_movers(call->factor->numbers, upper)
        ->load(&launch, perm, perm ? call->device->plan.inverse : NULL, from, to);
}

static cudaError_t scale(const solve_call *call, const gsv_run *run, void *v) {
    const void *d = call->steps & GSV_SCALE ? call->device->plan.d : NULL;
    const gsv_launch launch = launch_of(call, run, run->above[0]);
    return d ? gsv_cuda_movers(call->factor->numbers, run->above[0])->scale(&launch, d, v) : cudaSuccess;
}

static cudaError_t store(const solve_call *call, const gsv_run *run, const void *from, gsv_device_dense to) {
    const int32_t *inverse = call->steps & GSV_PERMUTE_OUT ? call->device->plan.inverse : NULL;
    const gsv_launch launch = launch_of(call, run, run->above[0]);
    if (call->mean && run->above[0] == GSV_TASKS)
        return gsv_cuda_store_mean(call->factor->dtype, &launch, inverse, from, call->mean, to);
    if (call->apart && call->apart->extra[1])
        return gsv_cuda_store_apart(call->factor->dtype, &launch, inverse, from, to, call->apart->each,
                                    call->apart->extra[1]);
    return gsv_cuda_movers(call->factor->numbers, run->above[0])->store(&launch, inverse, from, to);
}

/* The launch for column j of several that are solved side by side, each as one: its vectors, and its part of the caller's block. */
static gsv_launch launch_of_one(const solve_call *call, const gsv_run *run, int j) {
    gsv_launch launch = launch_of(call, run, GSV_STREAM);
    gsv_device_vectors *own = &launch.vectors;
    const int64_t number = (int64_t)gsv_vector_bytes(call->factor->numbers),
                  vector = j * call->device->plan.one_vector * number,
                  upper = j * call->device->plan.one_upper * number;
    own->y = (char *)own->y + vector;
    own->x = (char *)own->x + vector;
    own->z = (char *)own->z + upper;
    own->f = (char *)own->f + upper;
    own->u = (char *)own->u + upper;
    own->state += j;
    own->groups = 1;
    return launch;
}

static gsv_device_dense column_of(const solve_call *call, gsv_device_dense block, int j) {
    const int64_t number = (int64_t)gsv_vector_bytes(call->factor->numbers);
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
 * One right-hand side, or several side by side, on the device: the sweeps' first launch loads, and the last one stores. Of a system
 * with one sweep, or none, columns are loaded or stored one by one.
 */
static cudaError_t launch_ones(const solve_call *call, const gsv_run *run, gsv_device_dense b,
                               gsv_device_dense x) {
    const gsv_device_plan *device = &call->device->plan;
    const gsv_launchers *launchers = gsv_cuda_launchers(call->factor->numbers, GSV_STREAM),
                        *movers = gsv_cuda_movers(call->factor->numbers, GSV_STREAM);
    const int32_t *perm = call->steps & GSV_PERMUTE_IN ? device->perm : NULL;
    const int32_t *perm_out = call->steps & GSV_PERMUTE_OUT ? device->perm : NULL;
    const gsv_launch launch = launch_of(call, run, GSV_STREAM);
    cudaError_t error = cudaSuccess;
    if (is_whole(call, run, b, x))
        return launchers->whole(&launch, perm, b, x);
    if (call->steps & GSV_FORWARD)
        error = launchers->forward_from(&launch, perm, b);
    else
        for (int j = 0; j < run->groups && error == cudaSuccess; j++) {
            const gsv_launch own = launch_of_one(call, run, j);
            error =
                movers->load(&own, perm, perm ? device->inverse : NULL, column_of(call, b, j), own.vectors.x);
        }
    if (error == cudaSuccess)
        error = scale(call, run, launch.vectors.x);
    if (error == cudaSuccess && (call->steps & GSV_BACKWARD))
        return launchers->backward_to(&launch, perm_out, x);
    for (int j = 0; j < run->groups && error == cudaSuccess; j++) {
        const gsv_launch own = launch_of_one(call, run, j);
        error = movers->store(&own, perm_out ? device->inverse : NULL, own.vectors.x, column_of(call, x, j));
    }
    return error;
}

/* The same from and to host memory, too. */
static cudaError_t launch_beside(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                 const gpusolve_dense *x) {
    /* y has room for as many columns again (cuda/workspace.c), for b until x is there */
    void *room = launch_of_one(call, run, run->groups).vectors.y;
    cudaError_t error = cudaSuccess;
    if (!call->b_on_device)
        error = gsv_cuda_copy_block(call->handle, b, room, cudaMemcpyHostToDevice);
    if (call->drawn)
        error = gsv_cuda_draw(call->factor->dtype, call->drawn, gsv_cuda_dense(b), call->stream);
    if (error == cudaSuccess)
        error = launch_ones(call, run, call->b_on_device ? gsv_cuda_dense(b) : gsv_cuda_packed(b, room),
                            call->x_on_device ? gsv_cuda_dense(x) : gsv_cuda_packed(x, room));
    if (error == cudaSuccess && !call->x_on_device)
        error = gsv_cuda_copy_block(call->handle, x, room, cudaMemcpyDeviceToHost);
    return error;
}

/* The mean, where the store has not added it. */
static cudaError_t add_mean(const solve_call *call, const gsv_run *run, const gpusolve_dense *x) {
    return call->mean && run->above[0] != GSV_TASKS
               ? gsv_cuda_add_mean(call->factor->dtype, call->factor->plan.l.n, call->mean, gsv_cuda_dense(x),
                                   call->stream)
               : cudaSuccess;
}

/* Columns of one run. b and x are views of these columns. */
static cudaError_t launch_columns(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                  const gpusolve_dense *x) {
    if (run->above[0] == GSV_STREAM)
        return launch_beside(call, run, b, x);

    const int backward_only = (call->steps & GSV_BACKWARD) && !(call->steps & GSV_FORWARD);
    const gsv_device_vectors *vectors = &call->work->tasks; /* x and y are all widths' */
    void *current = backward_only ? vectors->x : vectors->y;
    void *other = backward_only ? vectors->y : vectors->x;
    cudaError_t error = cudaSuccess;
    gsv_device_dense from = gsv_cuda_dense(b);
    if (!call->b_on_device) {
        error = gsv_cuda_copy_block(call->handle, b, other, cudaMemcpyHostToDevice);
        from = gsv_cuda_packed(b, other);
    }
    if (error == cudaSuccess)
        error = load(call, run, from, current);
    if (error == cudaSuccess && (call->steps & GSV_FORWARD)) {
        error = run_sweep(call, run, 0);
        current = vectors->x;
    }
    if (error == cudaSuccess)
        error = scale(call, run, current);
    if (error == cudaSuccess && (call->steps & GSV_BACKWARD)) {
        error = run_sweep(call, run, 1);
        current = vectors->y;
    }
    if (error != cudaSuccess)
        return error;

    other = current == vectors->y ? vectors->x : vectors->y;
    const gsv_device_dense to = call->x_on_device ? gsv_cuda_dense(x) : gsv_cuda_packed(x, other);
    error = store(call, run, current, to);
    if (error == cudaSuccess && !call->x_on_device)
        error = gsv_cuda_copy_block(call->handle, x, other, cudaMemcpyDeviceToHost);
    return error;
}

/* The same; if it fails the store, which makes the counters zero for the next solve, may not have been launched. */
static cudaError_t solve_columns(const solve_call *call, const gsv_run *run, const gpusolve_dense *b,
                                 const gpusolve_dense *x) {
    cudaError_t error = launch_columns(call, run, b, x);
    if (error == cudaSuccess)
        error = add_mean(call, run, x);
    if (error != cudaSuccess && run->above[0] == GSV_TASKS && !call->capturing) {
        const gsv_launch launch = launch_of(call, run, GSV_TASKS);
        gsv_cuda_movers(call->factor->numbers, GSV_TASKS)->clear(&launch);
    }
    return error;
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

gpusolve_status gsv_cuda_is_capturing(gpusolve_handle *handle, int *capturing) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const gpusolve_status status =
        gsv_cuda_check(cudaStreamIsCapturing((cudaStream_t)handle->stream, &capture), "cudaStreamIsCapturing",
                       &handle->message);
    *capturing = capture != cudaStreamCaptureStatusNone;
    return status;
}

static gsv_route route_of(const solve_call *call, int64_t columns) {
    const gsv_abilities abilities = gsv_cuda_abilities_of(call->device, call->work);
    return gsv_route_of(&call->factor->plan, call->factor->numbers, &abilities, call->work->same_bits,
                        (call->steps & (GSV_FORWARD | GSV_BACKWARD)) != 0, columns);
}

/* How a solve is more than its steps. */
typedef struct solve_more {
    const gsv_drawing *drawing;   /* what b becomes first, in device memory; or NULL */
    const void *mean;             /* solve_call.mean */
    const gsv_batch_apart *apart; /* solve_call.apart; NULL with the others */
    int *done;                    /* of b and x that are apart, whether they could be solved with */
} solve_more;

static gpusolve_status solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                             gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                             const gpusolve_dense *x, solve_more more) {
    const int previous = gsv_cuda_enter(handle->device);
    solve_call call = {.handle = handle,
                       .factor = factor,
                       .device = factor->prepared,
                       .stream = (cudaStream_t)handle->stream,
                       .steps = steps,
                       .apart = more.apart,
                       .mean = more.mean,
                       .b_on_device = gsv_cuda_is_device(b->values),
                       .x_on_device = gsv_cuda_is_device(x->values)};
    gpusolve_status status = gsv_cuda_is_capturing(handle, &call.capturing);
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
    const gsv_route route = route_of(&call, b->cols);
    if (more.apart)
        *more.done = on_device && route.widest.above[0] == GSV_BLOCK_STREAM && route.widest.groups == 1 &&
                     route.widest.columns == GSV_SIDE_COLUMNS;
    if (more.apart && !*more.done) {
        gsv_cuda_leave(previous);
        return status;
    }
    for (int64_t first = 0; first < b->cols && status == GPUSOLVE_OK; first += route.at_once) {
        const int64_t count = b->cols - first < route.at_once ? b->cols - first : route.at_once;
        const gpusolve_dense from = gsv_dense_columns(b, first, count),
                             to = gsv_dense_columns(x, first, count);
        const gsv_run run = gsv_route_run(&route, count);
        gsv_drawing drawn;
        if (more.drawing) {
            drawn = *more.drawing;
            drawn.first += first;
            call.drawn = &drawn;
        }
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

gpusolve_status gsv_cuda_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                               const gpusolve_dense *x) {
    return solve(handle, factor, workspace, steps, b, x, (solve_more){0});
}

gpusolve_status gsv_cuda_solve_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gsv_sample *sample,
                                      const gpusolve_dense *z, const void *mean, const gpusolve_dense *x) {
    const gsv_cuda_factor *device = factor->prepared;
    const gsv_drawing drawing = {sample->seed, sample->first, factor->plan.l.n,
                                 factor->has_d ? device->plan.d : NULL};
    return solve(handle, factor, workspace, GSV_BACKWARD | GSV_PERMUTE_OUT, z ? z : x, x,
                 (solve_more){.drawing = z ? NULL : &drawing, .mean = mean});
}

gpusolve_status gsv_cuda_solve_apart(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                                     const gpusolve_dense *x, const gsv_batch_apart *apart, int *done) {
    return solve(handle, factor, workspace, steps, b, x, (solve_more){.apart = apart, .done = done});
}

const gsv_executor gsv_cuda_executor = {
    .backend = GPUSOLVE_BACKEND_CUDA,
    .place = gsv_schedule_place,
    .plan = gsv_schedule_create,
    .bytes = gsv_cuda_count_bytes,
    .prepare_bytes = gsv_cuda_upload_bytes,
    .brings_blocks = 1,
    .checks_numbers = 1,
    .fill = gsv_cuda_fill_factor,
    .prepare = gsv_cuda_prepare,
    .refresh = gsv_cuda_refresh,
    .read_values = gsv_cuda_read_values,
    .release = gsv_cuda_release,
    .drop = gsv_cuda_drop,
    .expire = gsv_cuda_expire,
    .is_capturing = gsv_cuda_is_capturing,
    .handle_destroy = gsv_cuda_handle_destroy,
    .workspace_create = gsv_cuda_workspace_create,
    .workspace_destroy = gsv_cuda_workspace_destroy,
    .workspace_check = gsv_cuda_workspace_check,
    .check_memory = gsv_cuda_check_memory,
    .solve = gsv_cuda_solve,
    .matrix_create = gsv_cuda_matrix_create,
    .matrix_destroy = gsv_cuda_matrix_destroy,
    .refine_reserve = gsv_cuda_refine_reserve,
    .refine = gsv_cuda_refine,
    .copy_determinant = gsv_cuda_copy_determinant,
    .summary = gsv_cuda_summary,
    .cost = gsv_cuda_cost,
    .selection = &gsv_cuda_selection,
    .products = &gsv_cuda_products,
};
