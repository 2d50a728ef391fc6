/* Workspaces of the CUDA executor: cuda_workspace.h. */
#include "cuda_workspace.h"

#include "../memory.h"
#include "../recording.h"
#include "import_fields.h"

/* --------------------------------------------------------------------------------------------- widths --- */

int gsv_cuda_class_index(const gsv_sweep_functions *sweeps, int block_columns, int64_t columns) {
    int k = 0;
    while (k + 1 < GSV_CLASSES && sweeps->classes[k] < columns && sweeps->classes[k + 1] > 0)
        k++;
    while (k > 0 && block_columns > 0 && sweeps->classes[k] < sweeps->block_class)
        k++;
    return k;
}

int gsv_cuda_largest_class(const gsv_plan *plan, const gsv_sweep_functions *sweeps, int64_t max_nrhs) {
    return gsv_cuda_class_index(sweeps, plan->tiles->stream.block_columns, max_nrhs);
}

/* Is the upper tree a stream for class k, of GSV_SIDE_COLUMNS? */
static int is_stream(const gsv_sweep_functions *sweeps, const gsv_sweep_form *form, int k) {
    return sweeps->block_class == GSV_SIDE_COLUMNS && sweeps->classes[k] == GSV_SIDE_COLUMNS &&
           form->block_columns >= GSV_SIDE_COLUMNS && !form->level_by_level && !form->level_by_level_above &&
           form->stream_blocks[k][0] > 0 && form->stream_blocks[k][1] > 0;
}

const gsv_sweep_functions *gsv_cuda_sweeps_of(gpusolve_dtype dtype, const gsv_sweep_form *form,
                                              gsv_cuda_width wide) {
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(dtype);
    return dtype == GPUSOLVE_FLOAT &&
                   (gsv_cuda_is_slim(wide) || (wide.many.columns == 0 && is_stream(sweeps, form, wide.k)))
               ? &gsv_sweep_m
               : sweeps;
}

int gsv_cuda_one_by_one(const gsv_plan *plan, const gsv_sweep_functions *sweeps, const gsv_sweep_form *form,
                        int k, int64_t columns) {
    enum { LEAST = 8192 }; /* numbers above the branches: with fewer, levels are faster for two */
    return columns == 2 && k > 0 && plan->tiles->stream.numbers >= LEAST && !is_stream(sweeps, form, k) &&
           gsv_cuda_streams_one(form);
}

/* Bytes of a vector's number, for nr right-hand sides: as many as any of their sweeps wants. */
static int64_t number_bytes(gpusolve_dtype dtype, int64_t nr) {
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    return nr > 1 && (dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT) ? 2 * number : number;
}

int gsv_cuda_before_many(const gsv_plan *plan, gpusolve_dtype dtype) {
    const gsv_many_functions *many = gsv_cuda_many(dtype);
    return many->slim && plan->tiles->stream.block_columns > 0 ? GSV_MANY_SLIM / 2 : many->few;
}

int gsv_cuda_slim_class(const gsv_sweep_functions *sweeps) {
    return gsv_cuda_class_index(sweeps, 0, GSV_MANY_SLIM);
}

int gsv_cuda_streams_back(const gsv_plan *plan, const gsv_sweep_form *form) {
    return plan->tiles->many.streams_back && form->block_columns >= GSV_MANY_SLIM &&
           !form->level_by_level_above &&
           form->stream_blocks[gsv_cuda_slim_class(gsv_cuda_sweeps(GPUSOLVE_DOUBLE))][1] > 0;
}

int gsv_cuda_many_columns(const gsv_plan *plan, gpusolve_dtype dtype, int64_t nrhs) {
    const int64_t groups = (nrhs + GSV_MANY_COLUMNS - 1) / GSV_MANY_COLUMNS;
    if (nrhs <= gsv_cuda_before_many(plan, dtype))
        return 0;
    if (nrhs <= GSV_MANY_LEAST)
        return nrhs <= GSV_MANY_SLIM ? GSV_MANY_SLIM : GSV_MANY_LEAST;
    return GSV_MANY_COLUMNS * (groups < GSV_MANY_GROUPS ? (int)groups : GSV_MANY_GROUPS);
}

int gsv_cuda_side(const gsv_sweep_form *form) {
    const int k =
        gsv_cuda_class_index(gsv_cuda_sweeps(GPUSOLVE_DOUBLE), form->block_columns, GSV_SIDE_COLUMNS);
    return form->block_columns > 0 && !form->level_by_level_above && !form->level_by_level &&
                   form->stream_blocks[k][0] >= GSV_SIDE && form->stream_blocks[k][1] >= GSV_SIDE
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

int gsv_cuda_streams_one(const gsv_sweep_form *form) {
    return !form->level_by_level && !form->level_by_level_above && form->stream_blocks[0][0] >= GSV_ONES &&
           form->stream_blocks[0][1] >= GSV_ONES;
}

/*
 * Up to so many bytes of panels 2, 3, 4 or GSV_ONES right-hand sides are solved side by side: as long as that is faster than
 * a block of eight, or than complex ones level by level or as tasks. More than four real ones: with ONES_COLUMN bytes for
 * each column of L. (H200; LESSONS.md)
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

int gsv_cuda_takes_many(const gsv_cuda_factor *device) {
    return device->many_fits && !device->form.substitute && !device->form.level_by_level;
}

gsv_cuda_width gsv_cuda_side_width(int groups) {
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(GPUSOLVE_DOUBLE);
    return (gsv_cuda_width){{0, 0}, gsv_cuda_class_index(sweeps, 0, GSV_SIDE_COLUMNS), groups};
}

/* ------------------------------------------------------------------------------------------ workspace --- */

typedef struct workspace_layout {
    int64_t x, state, z, partial, counters, bytes; /* starts, in bytes; y starts at 0 */
    int side, ones;                                /* groups that there is room for, of eight and of one */
} workspace_layout;

static workspace_layout make_workspace_layout(const gsv_plan *plan, gpusolve_dtype dtype, int64_t max_nrhs) {
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(dtype);
    const int64_t number = number_bytes(dtype, max_nrhs);
    const gsv_many *many = &plan->tiles->many;
    int64_t partial = 0;
    const int64_t row = number * sweeps->classes[gsv_cuda_largest_class(plan, sweeps, max_nrhs)];
    const gsv_stream *upper = &plan->tiles->stream;
    const int64_t wide = number * gsv_cuda_many_columns(plan, dtype, max_nrhs);
    const int64_t updates = plan->update_ptr[plan->l.nsuper];
    const int64_t few = row < number * GSV_BLOCK_COLUMNS ? row : number * GSV_BLOCK_COLUMNS;
    const int64_t streamed = (upper->columns + upper->published + updates) * few;
    const int64_t widest = wide > row ? wide : row;
    const int ones = max_nrhs > 1 ? gsv_cuda_most_ones(plan, dtype) : 1;
    const int64_t each =
        ones > 1 ? ones * (int64_t)gsv_dtype_bytes(dtype) : 0; /* of y twice, for b or x of the host */
    const int64_t groups = sweeps->block_class > 0 ? widest / (GSV_SIDE_COLUMNS * number) : 0;
    const int side = groups < upper->side ? (int)groups : upper->side;
    int64_t rows = streamed > updates * row ? streamed : updates * row;
    if (side > 1 && side * gsv_side_upper(plan) * number > rows)
        rows = side * gsv_side_upper(plan) * number;
    if (each * gsv_one_upper(plan) > rows)
        rows = each * gsv_one_upper(plan);
    for (int list = 0; list < GSV_MANY_LISTS; list++) {
        const int64_t most = list < gsv_many_list_of(0, 1) ? number * GSV_MANY_BROAD : wide;
        const int64_t bytes = many->list[list].slots * GSV_MANY_ROWS * (wide < most ? wide : most);
        partial = bytes > partial ? bytes : partial;
    }
    const int64_t sizes[] = {plan->l.n * (widest > 2 * each ? widest : 2 * each),
                             plan->l.n * (widest > each ? widest : each),
                             (int64_t)sizeof(gsv_stream_state) * (side > ones ? side : ones),
                             many->updates * wide > rows ? many->updates * wide : rows,
                             partial,
                             wide ? (int64_t)sizeof(int) * gsv_many_counters(plan) : 0};
    int64_t start[7] = {0};
    for (int k = 0; k < 6; k++)
        start[k + 1] = (start[k] + sizes[k] + 255) / 256 * 256;
    return (workspace_layout){
        start[1], start[2], start[3], start[4], start[5], max_nrhs > 0 ? start[6] : 0, side > 1 ? side : 1,
        ones};
}

/* z, f and u stand one after the other, with rows of nr numbers; z and f where the upper tree can be a
 * stream. */
static gsv_device_vectors vectors_of(const gsv_plan *plan, gpusolve_dtype dtype, const workspace_layout *l,
                                     char *base, int nr) {
    const int64_t row = number_bytes(dtype, nr) * nr;
    const int streamed = nr <= GSV_BLOCK_COLUMNS;
    char *z = base + l->z, *f = z + (streamed ? plan->tiles->stream.columns * row : 0);
    return (gsv_device_vectors){.y = base,
                                .x = base + l->x,
                                .z = z,
                                .f = f,
                                .u = f + (streamed ? plan->tiles->stream.published * row : 0),
                                .state = (gsv_stream_state *)(base + l->state),
                                .groups = 1};
}

void gsv_cuda_count_bytes(const gsv_plan *plan, gpusolve_dtype dtype, int has_d, int64_t max_nrhs,
                          int64_t *factor_bytes, int64_t *workspace_bytes) {
    *factor_bytes = gsv_cuda_factor_bytes(plan, dtype, has_d);
    *workspace_bytes = make_workspace_layout(plan, dtype, max_nrhs).bytes;
}

/* Number k of those that there are: the classes, those of many right-hand sides, and those side by side. */
static gsv_cuda_width width_of(int k) {
    const int groups = k - GSV_CLASSES - 1, others = GSV_MANY_BROAD / GSV_MANY_COLUMNS;
    if (k >= GSV_CLASSES + GSV_MANY_WIDTHS)
        return gsv_cuda_side_width(k - (GSV_CLASSES + GSV_MANY_WIDTHS) + 2);
    if (groups < -1)
        return (gsv_cuda_width){{0, 0}, k, 1};
    if (groups < 0)
        return (gsv_cuda_width){{GSV_MANY_SLIM, 0}, 0, 1};
    if (groups > others)
        return (gsv_cuda_width){{(groups - others) * GSV_MANY_COLUMNS, 1}, 0, 1};
    return (gsv_cuda_width){{groups == 0 ? GSV_MANY_LEAST : groups * GSV_MANY_COLUMNS, 0}, 0, 1};
}

static int number_of(gsv_cuda_width wide) {
    if (wide.groups > 1)
        return GSV_CLASSES + GSV_MANY_WIDTHS + wide.groups - 2;
    if (wide.many.columns == 0)
        return wide.k;
    if (gsv_cuda_is_slim(wide))
        return GSV_CLASSES;
    return GSV_CLASSES + 1 + (wide.many.columns + (wide.many.broad ? GSV_MANY_BROAD : 0)) / GSV_MANY_COLUMNS;
}

gsv_sweep_form gsv_cuda_form_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work) {
    gsv_sweep_form form = device->form;
    if (work->same_bits)
        form.block_columns = 0;
    return form;
}

cudaError_t gsv_cuda_launch_sweep(const gsv_plan *plan, const gsv_cuda_factor *device, gpusolve_dtype dtype,
                                  const gsv_cuda_workspace *work, gsv_cuda_width wide, int backward,
                                  cudaStream_t stream) {
    const gsv_many_functions *many = gsv_cuda_many(dtype);
    const gsv_sweep_form form = gsv_cuda_form_of(device, work);
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps_of(dtype, &form, wide);
    if (gsv_cuda_is_slim(wide) && backward && gsv_cuda_streams_back(plan, &form))
        return sweeps->backward(plan, &device->plan, &form, &work->vectors[gsv_cuda_slim_class(sweeps)],
                                GSV_MANY_SLIM, stream);
    if (wide.many.columns > 0)
        return (backward ? many->backward : many->forward)(plan, &device->plan, &device->many,
                                                           gsv_cuda_is_slim(wide) ? &work->slim : &work->many,
                                                           wide.many, stream);
    const gsv_device_vectors vectors = gsv_cuda_vectors_of(work, wide);
    return (backward ? sweeps->backward : sweeps->forward)(plan, &device->plan, &form, &vectors,
                                                           sweeps->classes[wide.k], stream);
}

gsv_device_vectors gsv_cuda_vectors_of(const gsv_cuda_workspace *work, gsv_cuda_width wide) {
    gsv_device_vectors vectors = work->vectors[wide.k];
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

gpusolve_status gsv_cuda_workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          gpusolve_workspace *workspace) {
    const gsv_plan *plan = &factor->plan;
    const gsv_cuda_factor *device = factor->prepared;
    const gsv_sweep_functions *sweeps = gsv_cuda_sweeps(factor->dtype);
    gsv_cuda_workspace *state = gsv_calloc(1, sizeof *state);
    if (!state)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory");
    workspace->state = state;
    state->plans = factor->plans;

    const int previous = gsv_cuda_enter(handle->device);
    const workspace_layout l = make_workspace_layout(plan, factor->dtype, workspace->max_nrhs);
    state->side = l.side;
    state->ones = l.ones;
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
    const int classes = gsv_cuda_largest_class(plan, sweeps, workspace->max_nrhs) + 1;
    state->same_bits = handle->same_bits;
    const gsv_sweep_form form = gsv_cuda_form_of(device, state);
    const int side = gsv_cuda_side(&form) < state->side ? gsv_cuda_side(&form) : state->side;
    const int many = gsv_cuda_takes_many(device) && !state->same_bits
                         ? gsv_cuda_many_columns(&factor->plan, factor->dtype, workspace->max_nrhs)
                         : 0;
    /* even where this factor's triangles cannot be taken so: a refreshed one's may be */
    if (status == GPUSOLVE_OK &&
        gsv_cuda_many_columns(&factor->plan, factor->dtype, workspace->max_nrhs) > 0) {
        const cudaError_t error = gsv_cuda_many(factor->dtype)->clear(plan, &state->many, stream);
        status = gsv_cuda_check(error == cudaSuccess ? cudaStreamSynchronize(stream) : error,
                                "preparing a workspace", &handle->message);
    }
    for (int k = 0; k < classes; k++)
        state->vectors[k] = vectors_of(plan, factor->dtype, &l, base, sweeps->classes[k]);
    state->slim = state->many;
    if (gsv_cuda_many(factor->dtype)->slim && gsv_cuda_slim_class(sweeps) < classes)
        state->slim.u = state->vectors[gsv_cuda_slim_class(sweeps)].f;
    for (int k = 0; k < GSV_WIDTHS && plan->l.n > 0 && status == GPUSOLVE_OK; k++) {
        const gsv_cuda_width wide = width_of(k);
        const int beside = wide.many.columns, few = gsv_cuda_before_many(plan, factor->dtype);
        if (wide.groups > 1 ? gsv_cuda_side_groups(side, wide.groups * GSV_SIDE_COLUMNS) != wide.groups
            : beside > 0    ? beside > many || beside <= few || (wide.many.broad && many <= GSV_MANY_BROAD)
                            : k >= classes || (many > 0 && sweeps->classes[k] > few))
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
