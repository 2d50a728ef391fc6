/* Workspaces of the CUDA executor: cuda/workspace.h. */
#include "workspace.h"

#include "../../memory.h"
#include "../../recording.h"
#include "../import/fields.h"

#include <string.h>

/* --------------------------------------------------------------------------------------------- widths --- */

const gsv_sweep_functions *gsv_cuda_sweeps_of(gpusolve_dtype dtype, gsv_cuda_width wide) {
    return dtype == GPUSOLVE_FLOAT && (wide.many.columns > 0 || wide.each > 1) ? &gsv_sweep_m
                                                                               : gsv_cuda_sweeps(dtype);
}

int gsv_cuda_streams_one(const gsv_sweep_form *form) {
    return form->stream_blocks[GSV_ONE][0] >= GSV_ONES && form->stream_blocks[GSV_ONE][1] >= GSV_ONES;
}

int gsv_cuda_streamed(const gsv_sweep_form *form) {
    return form->block_columns > 0 && form->stream_blocks[GSV_EIGHT][0] > 0 ? GSV_SIDE_COLUMNS
                                                                            : gsv_cuda_streams_one(form);
}

int gsv_cuda_before_many(gpusolve_dtype dtype, const gsv_sweep_form *form) {
    const int streamed = gsv_cuda_streamed(form);
    return streamed == 1 ? gsv_cuda_many(dtype)->few : streamed;
}

int gsv_cuda_many_columns(int64_t nrhs, int same_bits) {
    const int64_t groups = (nrhs + GSV_MANY_COLUMNS - 1) / GSV_MANY_COLUMNS,
                  most = same_bits ? GSV_MANY_BROAD / GSV_MANY_COLUMNS : GSV_MANY_GROUPS;
    if (nrhs <= GSV_MANY_LEAST)
        return nrhs <= GSV_MANY_SLIM ? GSV_MANY_SLIM : GSV_MANY_LEAST;
    return GSV_MANY_COLUMNS * (int)(groups < most ? groups : most);
}

int gsv_cuda_streams_back(const gsv_plan *plan, const gsv_sweep_form *form) {
    return plan->tiles->many.streams_back && form->block_columns >= GSV_MANY_SLIM &&
           form->stream_blocks[GSV_SIXTEEN][1] > 0;
}

int gsv_cuda_side(const gsv_sweep_form *form) {
    return gsv_cuda_streamed(form) == GSV_SIDE_COLUMNS && form->stream_blocks[GSV_EIGHT][0] >= GSV_SIDE &&
                   form->stream_blocks[GSV_EIGHT][1] >= GSV_SIDE
               ? form->side
               : 1;
}

int gsv_cuda_side_groups(int side, int64_t columns) {
    static const int groups[] = {2, 3, 4, 6, GSV_SIDE};
    for (size_t k = 0; columns > GSV_SIDE_COLUMNS && k < sizeof groups / sizeof *groups; k++)
        if (groups[k] <= side && groups[k] * GSV_SIDE_COLUMNS >= columns)
            return groups[k];
    return 1;
}

/* Bytes of a vector's number where the width is more than 1: doubles. */
static int64_t wide_number_bytes(gpusolve_dtype dtype) {
    return gsv_is_complex(dtype) ? 2 * (int64_t)sizeof(double) : (int64_t)sizeof(double);
}

gsv_sweep_form gsv_cuda_form_for(const gsv_sweep_form *form, int same_bits) {
    gsv_sweep_form own = *form;
    if (same_bits)
        memset(own.stream_blocks, 0, sizeof own.stream_blocks);
    return own;
}

gsv_sweep_form gsv_cuda_form_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work) {
    return gsv_cuda_form_for(&device->form, work->same_bits);
}

/*
 * Up to so many bytes of panels 2, 3, 4 or GSV_ONES right-hand sides are solved side by side: as long as that is faster than
 * a block of eight, or than complex ones one after the other or as tasks. More than four real ones: with ONES_COLUMN bytes for
 * each column of L. (H200; lessons/streams.md)
 */
enum {
    REAL_2 = 68500000,
    REAL_3 = 28000000,
    REAL_4 = 16000000,
    ONES_COLUMN = 800,
    COMPLEX_2 = 256000000,
    COMPLEX_3 = 64000000,
    COMPLEX_4 = 32000000,
    COMPLEX_ALL = 28000000
};

int gsv_cuda_ones_limit = GSV_ONES;

static int ones_by_size(const gsv_plan *plan, gpusolve_dtype dtype) {
    const int64_t bytes = plan->tiles->panel_ptr[plan->l.nsuper] * (int64_t)gsv_dtype_bytes(dtype);
    if (gsv_is_complex(dtype))
        return bytes <= COMPLEX_ALL ? GSV_ONES
               : bytes <= COMPLEX_4 ? 4
               : bytes <= COMPLEX_3 ? 3
               : bytes <= COMPLEX_2 ? 2
                                    : 1;
    return bytes + ONES_COLUMN * (int64_t)plan->l.n <= REAL_4 ? GSV_ONES
           : bytes <= REAL_4                                  ? 4
           : bytes <= REAL_3                                  ? 3
           : bytes <= REAL_2                                  ? 2
                                                              : 1;
}

int gsv_cuda_most_ones(const gsv_plan *plan, gpusolve_dtype dtype) {
    const int most = ones_by_size(plan, dtype);
    return most < gsv_cuda_ones_limit ? most : gsv_cuda_ones_limit;
}

int gsv_cuda_ones(const gsv_plan *plan, gpusolve_dtype dtype, const gsv_sweep_form *form, int64_t columns) {
    return columns > 1 && columns <= gsv_cuda_most_ones(plan, dtype) && gsv_cuda_streams_one(form)
               ? (int)columns
               : 1;
}

/* ------------------------------------------------------------------------------------------ workspace --- */

typedef struct workspace_layout {
    int64_t x, state, z, partial, counters, bytes; /* starts, in bytes; y starts at 0 */
    int side, ones;                                /* groups that there is room for, of eight and of one */
    int tasks;                                     /* right-hand sides side by side as tasks, at most */
    int blocks;                                    /* there are streams for blocks of right-hand sides */
} workspace_layout;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Bytes of the partial sums of tasks with rows of so many bytes. */
static int64_t partial_bytes(const gsv_many *many, int64_t row, int64_t number) {
    int64_t most = 0;
    for (int list = 0; list < GSV_MANY_LISTS; list++) {
        const int64_t widest = list < gsv_many_list_of(0, 1) ? number * GSV_MANY_BROAD : row;
        most = larger(most, many->list[list].slots * GSV_MANY_ROWS * (row < widest ? row : widest));
    }
    return most;
}

static workspace_layout make_workspace_layout(const gsv_plan *plan, gpusolve_dtype dtype,
                                              const gsv_sweep_form *form, int same_bits, int64_t max_nrhs) {
    const gsv_many *many = &plan->tiles->many;
    const gsv_stream *upper = &plan->tiles->stream;
    const int tasks =
        max_nrhs > gsv_cuda_before_many(dtype, form) ? gsv_cuda_many_columns(max_nrhs, same_bits) : 0;
    const int blocks = max_nrhs > 1 && gsv_cuda_streamed(form) == GSV_SIDE_COLUMNS;
    /* of the widest group of a stream */
    const int each = !blocks ? gsv_cuda_streams_one(form) : tasks > 0 ? GSV_BLOCK_COLUMNS : GSV_SIDE_COLUMNS;
    const int64_t own = (int64_t)gsv_dtype_bytes(dtype),
                  number = tasks > 0 || blocks ? wide_number_bytes(dtype) : own;
    const int64_t row = number * each, wide = number * tasks, widest = larger(wide, row);
    const int64_t updates = plan->update_ptr[plan->l.nsuper];
    const int ones = max_nrhs > 1 && gsv_cuda_streams_one(form) ? gsv_cuda_most_ones(plan, dtype) : 1;
    const int64_t beside = ones > 1 ? ones * own : 0; /* of y twice, for b or x of the host */
    const int64_t groups = blocks ? widest / (GSV_SIDE_COLUMNS * number) : 0;
    const int side = groups < upper->side ? (int)groups : upper->side;
    int64_t rows = larger((upper->columns + upper->published + updates) * row, many->updates * wide);
    if (side > 1)
        rows = larger(rows, side * gsv_side_upper(plan) * number);
    rows = larger(rows, beside * gsv_one_upper(plan));
    const int64_t sizes[] = {plan->l.n * larger(widest, 2 * beside),
                             plan->l.n * larger(widest, beside),
                             (int64_t)sizeof(gsv_stream_state) * larger(side, ones),
                             rows,
                             partial_bytes(many, wide, number),
                             wide ? (int64_t)sizeof(int) * gsv_many_counters(plan) : 0};
    int64_t start[7] = {0};
    for (int k = 0; k < 6; k++)
        start[k + 1] = (start[k] + sizes[k] + 255) / 256 * 256;
    return (workspace_layout){.x = start[1],
                              .state = start[2],
                              .z = start[3],
                              .partial = start[4],
                              .counters = start[5],
                              .bytes = max_nrhs > 0 ? start[6] : 0,
                              .side = side > 1 ? side : 1,
                              .ones = ones,
                              .tasks = tasks,
                              .blocks = blocks};
}

/* Of a stream for nr right-hand sides: z, f and u stand one after the other, with rows of nr numbers. */
static gsv_device_vectors vectors_of(const gsv_plan *plan, gpusolve_dtype dtype, const workspace_layout *l,
                                     char *base, int nr) {
    const int64_t row = nr * (nr > 1 ? wide_number_bytes(dtype) : (int64_t)gsv_dtype_bytes(dtype));
    char *z = base + l->z, *f = z + plan->tiles->stream.columns * row;
    return (gsv_device_vectors){.y = base,
                                .x = base + l->x,
                                .z = z,
                                .f = f,
                                .u = f + plan->tiles->stream.published * row,
                                .state = (gsv_stream_state *)(base + l->state),
                                .groups = 1};
}

void gsv_cuda_count_bytes(int device, int same_bits, const gsv_plan *plan, gpusolve_dtype dtype, int has_d,
                          int64_t max_nrhs, int64_t *factor_bytes, int64_t *workspace_bytes) {
    gsv_sweep_form form;
    const int previous = gsv_cuda_enter(device);
    if (gsv_cuda_ask_device(plan, dtype, &form) != cudaSuccess)
        cudaGetLastError(); /* it has no streams, then */
    gsv_cuda_leave(previous);
    form = gsv_cuda_form_for(&form, same_bits);
    *factor_bytes = gsv_cuda_factor_bytes(plan, dtype, has_d);
    *workspace_bytes = make_workspace_layout(plan, dtype, &form, same_bits, max_nrhs).bytes;
}

/* Number k of those that there are: of one group, of tasks, and of groups side by side. */
static gsv_cuda_width width_of(int k) {
    const int groups = k - GSV_STREAM_WIDTHS - 1, others = GSV_MANY_BROAD / GSV_MANY_COLUMNS;
    if (k >= GSV_STREAM_WIDTHS + GSV_MANY_WIDTHS)
        return (gsv_cuda_width){.each = GSV_SIDE_COLUMNS,
                                .groups = k - (GSV_STREAM_WIDTHS + GSV_MANY_WIDTHS) + 2};
    if (groups < -1)
        return (gsv_cuda_width){.each = k == GSV_ONE ? 1 : GSV_SIDE_COLUMNS, .groups = 1};
    if (groups < 0)
        return (gsv_cuda_width){.many = {.columns = GSV_MANY_SLIM}};
    if (groups > others)
        return (gsv_cuda_width){.many = {.columns = (groups - others) * GSV_MANY_COLUMNS, .broad = 1}};
    return (gsv_cuda_width){.many = {.columns = groups == 0 ? GSV_MANY_LEAST : groups * GSV_MANY_COLUMNS}};
}

static int number_of(gsv_cuda_width wide) {
    if (wide.groups > 1)
        return GSV_STREAM_WIDTHS + GSV_MANY_WIDTHS + wide.groups - 2;
    if (wide.many.columns == 0)
        return gsv_class_of(wide.each);
    if (gsv_cuda_is_slim(wide))
        return GSV_STREAM_WIDTHS;
    return GSV_STREAM_WIDTHS + 1 +
           (wide.many.columns + (wide.many.broad ? GSV_MANY_BROAD : 0)) / GSV_MANY_COLUMNS;
}

cudaError_t gsv_cuda_launch_sweep(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                                  const gsv_cuda_workspace *work, gsv_cuda_width wide, int backward,
                                  cudaStream_t stream) {
    const gsv_many_functions *many = gsv_cuda_many(dtype);
    const gsv_sweep_form form = gsv_cuda_form_of(device, work);
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps_of(dtype, wide);
    if (gsv_cuda_is_slim(wide) && backward && gsv_cuda_streams_back(plan, &form))
        return sweeps->backward(plan, &device->plan, &form, &work->vectors[GSV_SIXTEEN], GSV_MANY_SLIM,
                                stream);
    if (wide.many.columns > 0) {
        wide.many.plain = work->same_bits || !device->many.teams;
        return (backward ? many->backward : many->forward)(plan, &device->plan, &device->many,
                                                           gsv_cuda_is_slim(wide) ? &work->slim : &work->many,
                                                           wide.many, stream);
    }
    const gsv_device_vectors vectors = gsv_cuda_vectors_of(work, wide);
    return (backward ? sweeps->backward : sweeps->forward)(plan, &device->plan, &form, &vectors, wide.each,
                                                           stream);
}

gsv_device_vectors gsv_cuda_vectors_of(const gsv_cuda_workspace *work, gsv_cuda_width wide) {
    gsv_device_vectors vectors = work->vectors[gsv_class_of(wide.each)];
    vectors.groups = wide.groups;
    return vectors;
}

cudaGraphExec_t *gsv_cuda_graph_of(gsv_cuda_workspace *work, gsv_cuda_width wide, int backward) {
    return &work->sweep[number_of(wide)][backward];
}

/* Record one sweep. */
static gpusolve_status record(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                              gsv_cuda_workspace *work, gsv_cuda_width wide, int backward,
                              cudaStream_t stream, gsv_message *message) {
    cudaGraph_t graph = NULL;
    cudaError_t launched = cudaSuccess;
    gsv_cuda_recording_begins();
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        launched = gsv_cuda_launch_sweep(plan, device, dtype, work, wide, backward, stream);
        error = cudaStreamEndCapture(stream, &graph);
    }
    gsv_cuda_recording_ends();
    if (launched != cudaSuccess)
        error = launched;
    gpusolve_status status = gsv_cuda_check(error, "recording the sweeps", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_graph(gsv_cuda_graph_of(work, wide, backward), graph, message);
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

static void free_states(gsv_cuda_workspace *state) {
    while (state) {
        gsv_cuda_workspace *retired = state->retired;
        for (int k = 0; k < GSV_WIDTHS; k++)
            for (int backward = 0; backward < 2; backward++)
                gsv_cuda_graph_free(state->sweep[k][backward]);
        gsv_cuda_free(state->memory);
        gsv_cuda_unpin(state->report);
        gsv_free(state);
        state = retired;
    }
}

void gsv_cuda_workspace_destroy(gpusolve_workspace *workspace) {
    const int previous = gsv_cuda_enter(workspace->device);
    gsv_cuda_refine_release(workspace);
    free_states(workspace->state);
    workspace->state = NULL;
    gsv_cuda_leave(previous);
}

/* The states that a stream's launches find, one for each group, and the word that they may leave. */
static gpusolve_status make_states(gsv_cuda_workspace *state, char *memory, gsv_message *message) {
    void *report;
    const gpusolve_status status = gsv_cuda_pin(&report, sizeof(int), cudaHostAllocMapped, message);
    if (status != GPUSOLVE_OK)
        return status;
    state->report = report;
    *state->report = 0;
    gsv_stream_state first = {.broken = 0};
    cudaError_t error = cudaHostGetDevicePointer((void **)&first.report, report, 0);
    for (int g = 0; (g < state->side || g < state->ones) && error == cudaSuccess; g++)
        error = gsv_cuda_fill(memory + (size_t)g * sizeof first, &first, sizeof first);
    return gsv_cuda_check(error, "preparing a workspace", message);
}

gpusolve_status gsv_cuda_workspace_check(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    const gsv_cuda_workspace *state = workspace->state;
    volatile int *report = state->report;
    if (!report || !*report)
        return GPUSOLVE_OK;
    *report = 0;
    return gsv_fail(&handle->message, GPUSOLVE_TIMED_OUT,
                    "a solve with this workspace gave up waiting on the device: its x has NaNs");
}

/* Does the workspace have this width? */
static int has_width(const workspace_layout *l, const gsv_sweep_form *form, gsv_cuda_width wide) {
    if (wide.groups > 1) {
        const int side = gsv_cuda_side(form) < l->side ? gsv_cuda_side(form) : l->side;
        return gsv_cuda_side_groups(side, wide.groups * GSV_SIDE_COLUMNS) == wide.groups;
    }
    if (wide.many.columns > 0)
        return wide.many.columns <= l->tasks && (!wide.many.broad || l->tasks > GSV_MANY_BROAD);
    return wide.each == 1 ? gsv_cuda_streams_one(form) : l->blocks;
}

gpusolve_status gsv_cuda_workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          gpusolve_workspace *workspace) {
    const gsv_plan *plan = &factor->plan;
    const gsv_cuda_factor *device = factor->prepared;
    gsv_cuda_workspace *state = gsv_calloc(1, sizeof *state);
    if (!state)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory");
    workspace->state = state;
    state->plans = factor->plans;

    const int previous = gsv_cuda_enter(handle->device);
    state->same_bits = handle->same_bits;
    const gsv_sweep_form form = gsv_cuda_form_of(device, state);
    const workspace_layout l =
        make_workspace_layout(plan, factor->dtype, &form, state->same_bits, workspace->max_nrhs);
    state->side = l.side;
    state->ones = l.ones;
    state->tasks = l.tasks;
    gpusolve_status status = gsv_cuda_malloc(&state->memory, l.bytes, &handle->message);
    cudaStream_t stream = NULL;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_stream(&stream, &handle->message);
    char *base = state->memory;
    state->many = (gsv_many_vectors){.y = base,
                                     .x = base + l.x,
                                     .u = base + l.z,
                                     .partial = base + l.partial,
                                     .counters = (int *)(base + l.counters),
                                     .state = (gsv_stream_state *)(base + l.state)};
    if (status == GPUSOLVE_OK && base)
        status = make_states(state, base + l.state, &handle->message);
    state->changes = device->form.changes;
    if (status == GPUSOLVE_OK && l.tasks > 0) {
        const cudaError_t error = gsv_cuda_many(factor->dtype)->clear(plan, &state->many, stream);
        status = gsv_cuda_check(error == cudaSuccess ? cudaStreamSynchronize(stream) : error,
                                "preparing a workspace", &handle->message);
    }
    static const int columns[GSV_CLASSES] = {1, GSV_SIDE_COLUMNS, GSV_BLOCK_COLUMNS};
    for (int k = 0; k < GSV_CLASSES; k++)
        state->vectors[k] = vectors_of(plan, factor->dtype, &l, base, columns[k]);
    state->slim = state->many;
    if (l.blocks && l.tasks > 0)
        state->slim.u = state->vectors[GSV_SIXTEEN].f;
    for (int k = 0; k < GSV_WIDTHS && plan->l.n > 0 && status == GPUSOLVE_OK; k++) {
        const gsv_cuda_width wide = width_of(k);
        if (!has_width(&l, &form, wide))
            continue;
        status = record(plan, device, factor->dtype, state, wide, 0, stream, &handle->message);
        if (status == GPUSOLVE_OK)
            status = record(plan, device, factor->dtype, state, wide, 1, stream, &handle->message);
    }
    gsv_cuda_stream_free(stream);
    if (status != GPUSOLVE_OK) {
        free_states(state);
        workspace->state = NULL;
    }
    gsv_cuda_leave(previous);
    return status;
}

gpusolve_status gsv_cuda_workspace_renew(gpusolve_handle *handle, const gpusolve_factor *factor,
                                         gpusolve_workspace *workspace) {
    gsv_cuda_workspace *old = workspace->state;
    const gpusolve_status status = gsv_cuda_workspace_create(handle, factor, workspace);
    gsv_cuda_workspace *renewed = workspace->state;
    if (status != GPUSOLVE_OK) {
        workspace->state = old;
        return status;
    }
    if (old->captured) {
        renewed->retired = old;
        return status;
    }
    renewed->retired = old->retired;
    old->retired = NULL;
    const int previous = gsv_cuda_enter(handle->device);
    free_states(old);
    gsv_cuda_leave(previous);
    return status;
}
