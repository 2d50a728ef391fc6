/*
 * The CUDA executor: a solve is a launch that brings b into the workspace, the sweeps, and a launch that
 * takes x out.
 *
 *      load    y = P b      (into x where the forward sweep is left out: the backward sweep reads x)
 *      forward y -> x       scale  in place       backward x -> y
 *      store   x = P' y
 *
 * For one right-hand side on the device the first launch of the forward sweep loads, and the last one of the
 * backward sweep stores (cuda_branch_one.cuh).
 *
 * All on the handle's stream. The sweeps of a workspace are recorded as CUDA graphs when it is created, one
 * for each class of right-hand sides (1, 4, 8, 16, 32 side by side; with more, and in double precision with
 * more than 16, 32 and multiples of 64 up to 256 by kernels of their own, cuda_many.cuh; real numbers are 16 by
 * these, too, at least forward); while the stream is being captured their launches go into the user's graph one by
 * one. Nothing is allocated, and nothing waits, unless operands are in host memory: then they pass through whichever
 * of y and x is free at the time, and the call waits for the result.
 *
 * A wait that a kernel gives up is told to the host by a word of pinned memory, which the next call reads.
 */
#include "../memory.h"
#include "cuda_support.h"

#include <string.h>

/* -------------------------------------------------------------------------------------------- classes --- */

/* The smallest class that holds `columns`, or the largest there is; for more than one, where the upper tree is
 * a stream for blocks of right-hand sides (block_columns, as in gsv_sweep_form), a class that it is one for. */
static int class_index(const gsv_sweep_functions *sweeps, int block_columns, int64_t columns) {
    int k = 0;
    while (k + 1 < GSV_CLASSES && sweeps->classes[k] < columns && sweeps->classes[k + 1] > 0)
        k++;
    while (k > 0 && block_columns > 0 && sweeps->classes[k] < sweeps->block_class)
        k++;
    return k;
}

/* Of a workspace for so many columns. */
static int largest_class(const gsv_plan *plan, const gsv_sweep_functions *sweeps, int64_t max_nrhs) {
    return class_index(sweeps, plan->tiles->stream.block_columns, max_nrhs);
}

int gsv_cuda_before_many(const gsv_plan *plan, gpusolve_dtype dtype) {
    const gsv_many_functions *many = gsv_cuda_many(dtype);
    return many->slim && plan->tiles->stream.block_columns > 0 ? GSV_MANY_SLIM / 2 : many->few;
}

/* The class of so many columns. */
static int slim_class(const gsv_sweep_functions *sweeps) {
    return class_index(sweeps, 0, GSV_MANY_SLIM);
}

int gsv_cuda_streams_back(const gsv_plan *plan, const gsv_sweep_form *form) {
    return plan->tiles->many.streams_back && form->block_columns >= GSV_MANY_SLIM &&
           !form->level_by_level_above &&
           form->stream_blocks[slim_class(gsv_cuda_sweeps(GPUSOLVE_DOUBLE))][1] > 0;
}

/* So many columns side by side at most in the kernels for many right-hand sides; 0: it is not for these. */
static int many_columns(const gsv_plan *plan, gpusolve_dtype dtype, int64_t nrhs) {
    const int64_t groups = (nrhs + GSV_MANY_COLUMNS - 1) / GSV_MANY_COLUMNS;
    if (nrhs <= gsv_cuda_before_many(plan, dtype))
        return 0;
    if (nrhs <= GSV_MANY_LEAST)
        return nrhs <= GSV_MANY_SLIM ? GSV_MANY_SLIM : GSV_MANY_LEAST;
    return GSV_MANY_COLUMNS * (groups < GSV_MANY_GROUPS ? (int)groups : GSV_MANY_GROUPS);
}

int gsv_cuda_takes_many(const gsv_cuda_factor *device) {
    return device->many_fits && !device->form.substitute && !device->form.level_by_level;
}

/* ------------------------------------------------------------------------------------------ workspace --- */

typedef struct workspace_layout {
    int64_t x, state, z, partial, counters, bytes; /* starts, in bytes; y starts at 0 */
} workspace_layout;

static workspace_layout make_workspace_layout(const gsv_plan *plan, gpusolve_dtype dtype, int64_t max_nrhs) {
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(dtype);
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    const gsv_many *many = &plan->tiles->many;
    int64_t partial = 0;
    const int64_t row = number * sweeps->classes[largest_class(plan, sweeps, max_nrhs)];
    const gsv_stream *upper = &plan->tiles->stream;
    const int64_t wide = number * many_columns(plan, dtype, max_nrhs);
    const int64_t updates = plan->update_ptr[plan->l.nsuper];
    const int64_t few = row < number * GSV_BLOCK_COLUMNS ? row : number * GSV_BLOCK_COLUMNS;
    const int64_t streamed = (upper->columns + upper->published + updates) * few;
    const int64_t rows = streamed > updates * row ? streamed : updates * row;
    const int64_t widest = wide > row ? wide : row;
    for (int list = 0; list < GSV_MANY_LISTS; list++) {
        const int64_t most = list < gsv_many_list_of(0, 1) ? number * GSV_MANY_BROAD : wide;
        const int64_t bytes = many->list[list].slots * GSV_MANY_ROWS * (wide < most ? wide : most);
        partial = bytes > partial ? bytes : partial;
    }
    const int64_t sizes[] = {plan->l.n * widest,
                             plan->l.n * widest,
                             sizeof(gsv_stream_state),
                             many->updates * wide > rows ? many->updates * wide : rows,
                             partial,
                             wide ? (int64_t)sizeof(int) * gsv_many_counters(plan) : 0};
    int64_t start[7] = {0};
    for (int k = 0; k < 6; k++)
        start[k + 1] = (start[k] + sizes[k] + 255) / 256 * 256;
    return (workspace_layout){start[1], start[2], start[3], start[4], start[5], max_nrhs > 0 ? start[6] : 0};
}

/* z, f and u stand one after the other, with rows of nr numbers; z and f where the upper tree can be a
 * stream. */
static gsv_device_vectors vectors_of(const gsv_plan *plan, gpusolve_dtype dtype, const workspace_layout *l,
                                     char *base, int nr) {
    const int64_t row = (int64_t)gsv_dtype_bytes(dtype) * nr;
    const int streamed = nr <= GSV_BLOCK_COLUMNS;
    char *z = base + l->z, *f = z + (streamed ? plan->tiles->stream.columns * row : 0);
    return (gsv_device_vectors){.y = base,
                                .x = base + l->x,
                                .z = z,
                                .f = f,
                                .u = f + (streamed ? plan->tiles->stream.published * row : 0),
                                .state = (gsv_stream_state *)(base + l->state)};
}

static void count_bytes(const gsv_plan *plan, gpusolve_dtype dtype, int has_d, int64_t max_nrhs,
                        int64_t *factor_bytes, int64_t *workspace_bytes) {
    *factor_bytes = gsv_cuda_factor_bytes(plan, dtype, has_d);
    *workspace_bytes = make_workspace_layout(plan, dtype, max_nrhs).bytes;
}

/* How wide the vectors of a run are: many.columns > 0, many right-hand sides; or class k. */
typedef struct width {
    gsv_many_width many;
    int k;
} width;

/* Number k of those that there are: the classes, and then those of many right-hand sides. */
static width width_of(int k) {
    const int groups = k - GSV_CLASSES - 1, others = GSV_MANY_BROAD / GSV_MANY_COLUMNS;
    if (groups < -1)
        return (width){{0, 0}, k};
    if (groups < 0)
        return (width){{GSV_MANY_SLIM, 0}, 0};
    if (groups > others)
        return (width){{(groups - others) * GSV_MANY_COLUMNS, 1}, 0};
    return (width){{groups == 0 ? GSV_MANY_LEAST : groups * GSV_MANY_COLUMNS, 0}, 0};
}

static int is_slim(width wide) {
    return wide.many.columns == GSV_MANY_SLIM;
}

static int number_of(width wide) {
    if (wide.many.columns == 0)
        return wide.k;
    if (is_slim(wide))
        return GSV_CLASSES;
    return GSV_CLASSES + 1 + (wide.many.columns + (wide.many.broad ? GSV_MANY_BROAD : 0)) / GSV_MANY_COLUMNS;
}

/* What this workspace's sweeps may be: those of several columns have the sums of one only level by level. */
static gsv_sweep_form form_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work) {
    gsv_sweep_form form = device->form;
    if (work->same_bits)
        form.block_columns = 0;
    return form;
}

/* The launches of one sweep. */
static cudaError_t launch_sweep(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                                const gsv_cuda_workspace *work, width wide, int backward,
                                cudaStream_t stream) {
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(dtype);
    const gsv_many_functions *many = gsv_cuda_many(dtype);
    const gsv_sweep_form form = form_of(device, work);
    if (is_slim(wide) && backward && gsv_cuda_streams_back(plan, &form))
        return sweeps->backward(plan, &device->plan, &form, &work->vectors[slim_class(sweeps)], GSV_MANY_SLIM,
                                stream);
    if (wide.many.columns > 0)
        return (backward ? many->backward : many->forward)(
            plan, &device->plan, &device->many, is_slim(wide) ? &work->slim : &work->many, wide.many, stream);
    return (backward ? sweeps->backward : sweeps->forward)(plan, &device->plan, &form, &work->vectors[wide.k],
                                                           sweeps->classes[wide.k], stream);
}

/* Where the graph of a sweep is. */
static cudaGraphExec_t *graph_of(gsv_cuda_workspace *work, width wide, int backward) {
    return &work->sweep[number_of(wide)][backward];
}

/* Record one sweep. */
static cudaError_t record(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                          gsv_cuda_workspace *work, width wide, int backward, cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess)
        return error;
    const cudaError_t launched = launch_sweep(plan, device, dtype, work, wide, backward, stream);
    error = cudaStreamEndCapture(stream, &graph);
    if (launched != cudaSuccess)
        error = launched;
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(graph_of(work, wide, backward), graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return error;
}

static void workspace_destroy(gpusolve_workspace *workspace) {
    const int previous = gsv_cuda_enter(workspace->device);
    gsv_cuda_refine_release(workspace);
    gsv_cuda_workspace *state = workspace->state;
    if (state) {
        for (int k = 0; k < GSV_WIDTHS; k++)
            for (int backward = 0; backward < 2; backward++)
                if (state->sweep[k][backward])
                    cudaGraphExecDestroy(state->sweep[k][backward]);
        cudaFree(state->memory);
        cudaFreeHost(state->report);
        gsv_free(state);
        workspace->state = NULL;
    }
    gsv_cuda_leave(previous);
}

/* The state that a stream's launches find, and the word that they may leave. */
static gpusolve_status make_state(gsv_cuda_workspace *state, char *memory, gsv_message *message) {
    void *report = NULL;
    if (gsv_allocation_fails() || cudaHostAlloc(&report, sizeof(int), cudaHostAllocMapped) != cudaSuccess) {
        cudaGetLastError();
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of pinned host memory: %zu bytes", sizeof(int));
    }
    state->report = report;
    *state->report = 0;
    gsv_stream_state first = {.broken = 0};
    cudaError_t error = cudaHostGetDevicePointer((void **)&first.report, report, 0);
    if (error == cudaSuccess)
        error = gsv_cuda_fill(memory, &first, sizeof first);
    return gsv_cuda_check(error, "preparing a workspace", message);
}

static gpusolve_status workspace_check(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    const gsv_cuda_workspace *state = workspace->state;
    volatile int *report = state->report;
    if (!report || !*report)
        return GPUSOLVE_OK;
    *report = 0;
    return gsv_fail(&handle->message, GPUSOLVE_TIMED_OUT,
                    "a solve with this workspace gave up waiting on the device: its x has NaNs");
}

static gpusolve_status workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        gpusolve_workspace *workspace) {
    const gsv_plan *plan = &factor->plan;
    const gsv_cuda_factor *device = factor->prepared;
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(factor->dtype);
    gsv_cuda_workspace *state = gsv_calloc(1, sizeof *state);
    if (!state)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory");
    workspace->state = state;

    const int previous = gsv_cuda_enter(handle->device);
    const workspace_layout l = make_workspace_layout(plan, factor->dtype, workspace->max_nrhs);
    gpusolve_status status = gsv_cuda_malloc(&state->memory, l.bytes, &handle->message);
    cudaStream_t stream = NULL;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate",
                                &handle->message);
    char *base = state->memory;
    state->many = (gsv_many_vectors){.y = base,
                                     .x = base + l.x,
                                     .u = base + l.z,
                                     .partial = base + l.partial,
                                     .counters = (int *)(base + l.counters),
                                     .state = (gsv_stream_state *)(base + l.state)};
    if (status == GPUSOLVE_OK && base)
        status = make_state(state, base + l.state, &handle->message);
    state->changes = device->form.changes;
    const int classes = largest_class(plan, sweeps, workspace->max_nrhs) + 1;
    state->same_bits = handle->same_bits;
    const int many = gsv_cuda_takes_many(device) && !state->same_bits
                         ? many_columns(&factor->plan, factor->dtype, workspace->max_nrhs)
                         : 0;
    /* even where this factor's triangles cannot be taken so: a refreshed one's may be */
    if (status == GPUSOLVE_OK && many_columns(&factor->plan, factor->dtype, workspace->max_nrhs) > 0) {
        const cudaError_t error = gsv_cuda_many(factor->dtype)->clear(plan, &state->many, stream);
        status = gsv_cuda_check(error == cudaSuccess ? cudaStreamSynchronize(stream) : error,
                                "preparing a workspace", &handle->message);
    }
    for (int k = 0; k < classes; k++)
        state->vectors[k] = vectors_of(plan, factor->dtype, &l, base, sweeps->classes[k]);
    state->slim = state->many;
    if (slim_class(sweeps) < classes)
        state->slim.u = state->vectors[slim_class(sweeps)].f;
    for (int k = 0; k < GSV_WIDTHS && plan->l.n > 0 && status == GPUSOLVE_OK; k++) {
        const width wide = width_of(k);
        const int side = wide.many.columns, few = gsv_cuda_before_many(plan, factor->dtype);
        if (side > 0 ? side > many || side <= few || (wide.many.broad && many <= GSV_MANY_BROAD)
                     : k >= classes || (many > 0 && sweeps->classes[k] > few))
            continue;
        cudaError_t error = record(plan, device, factor->dtype, state, wide, 0, stream);
        if (error == cudaSuccess)
            error = record(plan, device, factor->dtype, state, wide, 1, stream);
        status = gsv_cuda_check(error, "recording the sweeps", &handle->message);
    }
    if (stream)
        cudaStreamDestroy(stream);
    gsv_cuda_leave(previous);
    if (status != GPUSOLVE_OK)
        workspace_destroy(workspace);
    return status;
}

/* ---------------------------------------------------------------------------------------------- solve --- */

typedef struct solve_call {
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    gsv_cuda_workspace *work;
    const gsv_sweep_functions *sweeps;
    const gsv_many_functions *many;
    cudaStream_t stream;
    unsigned steps;
    int capturing, b_on_device, x_on_device;
} solve_call;

static cudaError_t run_sweep(const solve_call *call, width wide, int backward) {
    /* After a refresh a triangle may want more launches than the graphs have. */
    if (call->capturing || call->work->changes != call->device->form.changes)
        return launch_sweep(&call->factor->plan, call->device, call->factor->dtype, call->work, wide,
                            backward, call->stream);
    return cudaGraphLaunch(*graph_of(call->work, wide, backward), call->stream);
}

static cudaError_t load(const solve_call *call, width wide, const int32_t *perm, const int32_t *inverse,
                        gsv_device_dense from, void *to) {
    const gsv_plan *plan = &call->factor->plan;
    gsv_sweep_form form = form_of(call->device, call->work);
    if (wide.many.columns > 0 && !is_slim(wide))
        return call->many->load(plan, inverse, from, to, wide.many.columns, &call->work->many, call->stream);
    if (is_slim(wide) && !gsv_cuda_streams_back(plan, &form))
        form.block_columns = 0; /* no stream wants anything filled */
    const int k = is_slim(wide) ? slim_class(call->sweeps) : wide.k;
    return call->sweeps->load(plan, &form, perm, inverse, from, to, &call->work->vectors[k],
                              call->sweeps->classes[k], call->stream);
}

static cudaError_t store(const solve_call *call, width wide, const int32_t *inverse, const void *from,
                         gsv_device_dense to) {
    return wide.many.columns > 0
               ? call->many->store(&call->factor->plan, inverse, from, to, wide.many.columns,
                                   &call->work->many, call->device->many.stamp, call->stream)
               : call->sweeps->store(call->factor->plan.l.n, inverse, from, to, call->sweeps->classes[wide.k],
                                     call->stream);
}

static cudaError_t scale(const solve_call *call, width wide, void *v) {
    const int32_t n = call->factor->plan.l.n;
    const void *d = call->device->plan.d;
    return wide.many.columns > 0 ? call->many->scale(n, d, v, wide.many.columns, call->stream)
                                 : call->sweeps->scale(n, d, v, call->sweeps->classes[wide.k], call->stream);
}

/* Columns of one run. b and x are views of these columns. */
static cudaError_t launch_columns(const solve_call *call, width wide, const gpusolve_dense *b,
                                  const gpusolve_dense *x) {
    const int32_t *perm = call->steps & GSV_PERMUTE_IN ? call->device->plan.perm : NULL;
    const int32_t *inverse_in = perm ? call->device->plan.inverse : NULL;
    const int32_t *inverse_out = call->steps & GSV_PERMUTE_OUT ? call->device->plan.inverse : NULL;
    const int backward_only = (call->steps & GSV_BACKWARD) && !(call->steps & GSV_FORWARD);
    const gsv_device_vectors *vectors = &call->work->vectors[0]; /* x and y are all classes' */
    void *current = backward_only ? vectors->x : vectors->y;
    void *other = backward_only ? vectors->y : vectors->x;
    cudaError_t error = cudaSuccess;

    /* one right-hand side: the sweeps' first launch loads, and the last one stores */
    const gsv_sweep_form *form = &call->device->form;
    const int one = wide.many.columns == 0 && call->sweeps->classes[wide.k] == 1 && call->b_on_device &&
                    call->x_on_device && !form->level_by_level && !form->level_by_level_above &&
                    form->stream_blocks[0][0] > 0;
    const int from_b = one && (call->steps & GSV_FORWARD), to_x = one && (call->steps & GSV_BACKWARD);
    gsv_device_dense from = gsv_cuda_dense(b);
    if (from_b) {
        error = call->sweeps->forward_from(&call->factor->plan, &call->device->plan, form, vectors, perm,
                                           from, call->stream);
        current = vectors->x;
    }
    if (!call->b_on_device) {
        error = gsv_cuda_copy_block(b, other, cudaMemcpyHostToDevice, call->stream);
        from = gsv_cuda_packed(b, other);
    }
    if (error == cudaSuccess && !from_b)
        error = load(call, wide, perm, inverse_in, from, current);
    if (error == cudaSuccess && (call->steps & GSV_FORWARD) && !from_b) {
        error = run_sweep(call, wide, 0);
        current = vectors->x;
    }
    if (error == cudaSuccess && (call->steps & GSV_SCALE) && call->device->plan.d)
        error = scale(call, wide, current);
    if (error == cudaSuccess && to_x)
        return call->sweeps->backward_to(&call->factor->plan, &call->device->plan, form, vectors,
                                         call->steps & GSV_PERMUTE_OUT ? call->device->plan.perm : NULL,
                                         gsv_cuda_dense(x), call->stream);
    if (error == cudaSuccess && (call->steps & GSV_BACKWARD)) {
        error = run_sweep(call, wide, 1);
        current = vectors->y;
    }
    if (error != cudaSuccess)
        return error;

    other = current == vectors->y ? vectors->x : vectors->y;
    const gsv_device_dense to = call->x_on_device ? gsv_cuda_dense(x) : gsv_cuda_packed(x, other);
    error = store(call, wide, inverse_out, current, to);
    if (error == cudaSuccess && !call->x_on_device)
        error = gsv_cuda_copy_block(x, other, cudaMemcpyDeviceToHost, call->stream);
    return error;
}

/* The same; if it fails the store, which makes the counters zero for the next solve, may not have been launched. */
static cudaError_t solve_columns(const solve_call *call, width wide, const gpusolve_dense *b,
                                 const gpusolve_dense *x) {
    const cudaError_t error = launch_columns(call, wide, b, x);
    if (error != cudaSuccess && wide.many.columns > 0 && !call->capturing)
        call->many->clear(&call->factor->plan, &call->work->many, call->stream);
    return error;
}

static gpusolve_dense columns_of(const gpusolve_dense *dense, int64_t first, int64_t count) {
    gpusolve_dense view = *dense;
    const int64_t step = dense->order == GPUSOLVE_ROW_MAJOR ? 1 : dense->ld;
    view.values = (char *)dense->values + first * step * (int64_t)gsv_dtype_bytes(dense->dtype);
    view.cols = count;
    return view;
}

gpusolve_status gsv_cuda_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                               const gpusolve_dense *x) {
    const int previous = gsv_cuda_enter(handle->device);
    solve_call call = {.factor = factor,
                       .device = factor->prepared,
                       .work = workspace->state,
                       .sweeps = gsv_cuda_sweeps(factor->dtype),
                       .many = gsv_cuda_many(factor->dtype),
                       .stream = (cudaStream_t)handle->stream,
                       .steps = steps,
                       .b_on_device = gsv_cuda_is_device(b->values),
                       .x_on_device = gsv_cuda_is_device(x->values)};
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    gpusolve_status status = gsv_cuda_check(cudaStreamIsCapturing(call.stream, &capture),
                                            "cudaStreamIsCapturing", &handle->message);
    call.capturing = capture != cudaStreamCaptureStatusNone;
    const int on_device = call.b_on_device && call.x_on_device;
    if (status == GPUSOLVE_OK)
        status = workspace_check(handle, workspace);
    if (status == GPUSOLVE_OK && call.capturing && !on_device)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s is in host memory: a solve that is captured wants device memory",
                          call.b_on_device ? "x" : "b");
    const int64_t columns =
        call.sweeps->classes[largest_class(&factor->plan, call.sweeps, workspace->max_nrhs)];
    const int block_columns = form_of(call.device, call.work).block_columns;
    const int has_many = !call.work->same_bits && gsv_cuda_takes_many(call.device);
    const int many = has_many ? many_columns(&factor->plan, factor->dtype, workspace->max_nrhs) : 0;
    const int is_many = many > 0 && b->cols > gsv_cuda_before_many(&factor->plan, factor->dtype);
    const int64_t most = is_many ? many : columns;
    /* all columns have the bits of one width, those of the last block too */
    const int broad = is_many && many > GSV_MANY_BROAD && b->cols > GSV_MANY_BROAD;
    const int64_t least = b->cols > GSV_MANY_LEAST && many > GSV_MANY_LEAST ? GSV_MANY_COLUMNS
                          : b->cols > GSV_MANY_SLIM && many > GSV_MANY_SLIM ? GSV_MANY_LEAST
                                                                            : GSV_MANY_SLIM;
    for (int64_t first = 0; first < b->cols && status == GPUSOLVE_OK; first += most) {
        const int64_t count = b->cols - first < most ? b->cols - first : most;
        const gpusolve_dense b_part = columns_of(b, first, count), x_part = columns_of(x, first, count);
        const int side =
            is_many ? many_columns(&factor->plan, factor->dtype, count > least ? count : least) : 0;
        const width wide = {{side, broad}, class_index(call.sweeps, block_columns, count)};
        status = gsv_cuda_check(solve_columns(&call, wide, &b_part, &x_part), "solving", &handle->message);
    }
    if (status == GPUSOLVE_OK && !on_device)
        status =
            gsv_cuda_check(cudaStreamSynchronize(call.stream), "waiting for the solution", &handle->message);
    if (status == GPUSOLVE_OK && !on_device)
        status = workspace_check(handle, workspace);
    gsv_cuda_leave(previous);
    return status;
}

const gsv_executor gsv_cuda_executor = {
    .backend = GPUSOLVE_BACKEND_CUDA,
    .plan = gsv_tiles_create,
    .bytes = count_bytes,
    .prepare_bytes = gsv_cuda_upload_bytes,
    .checks_numbers = 1,
    .prepare = gsv_cuda_prepare,
    .refresh = gsv_cuda_refresh,
    .release = gsv_cuda_release,
    .handle_destroy = gsv_cuda_handle_destroy,
    .workspace_create = workspace_create,
    .workspace_destroy = workspace_destroy,
    .workspace_check = workspace_check,
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
