/* Workspaces of the CUDA executor: cuda/workspace.h. */
#include "workspace.h"

#include "../../memory.h"
#include "../../recording.h"
#include "../import/fields.h"

#include <string.h>

gsv_abilities gsv_cuda_abilities_of(const gsv_cuda_factor *device, const gsv_cuda_workspace *work) {
    return gsv_abilities_for(&device->abilities, work->same_bits);
}

/* Bytes of a vector's number where a run has more than one column: doubles. */
static int64_t wide_number_bytes(gsv_numbers numbers) {
    return gsv_is_complex(gsv_vector_dtype(numbers)) ? 2 * (int64_t)sizeof(double) : (int64_t)sizeof(double);
}

/* ------------------------------------------------------------------------------------------ workspace --- */

typedef struct workspace_layout {
    int64_t x, state, z, partial, counters, bytes; /* starts, in bytes; y starts at 0 */
    gsv_route_room room;
    int side; /* groups of GSV_SIDE_COLUMNS columns that there is room for */
} workspace_layout;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Bytes of the partial sums of tasks with rows of `row` bytes. */
static int64_t partial_bytes(const gsv_tasks *tasks, int64_t row, int64_t number) {
    int64_t most = 0;
    for (int list = 0; list < GSV_TASK_LISTS; list++) {
        const int64_t widest = list < gsv_task_list_of(0, 1) ? number * GSV_TASKS_BROAD : row;
        most = larger(most, tasks->list[list].slots * GSV_TASK_ROWS * (row < widest ? row : widest));
    }
    return most;
}

static workspace_layout make_workspace_layout(const gsv_plan *plan, gsv_numbers numbers,
                                              const gsv_abilities *abilities, int same_bits,
                                              int64_t max_nrhs) {
    const gsv_tasks *upper_tasks = &plan->schedule->tasks;
    const gsv_stream *upper = &plan->schedule->stream;
    const gsv_route_room room = gsv_route_room_of(plan, numbers, abilities, same_bits, max_nrhs);
    const int tasks = room.tasks, blocks = room.block, ones = room.ones;
    /* of the widest group of a stream */
    const int each = !blocks ? room.one : tasks > 0 ? GSV_BLOCK_COLUMNS : GSV_SIDE_COLUMNS;
    const int64_t own = (int64_t)gsv_vector_bytes(numbers),
                  number = tasks > 0 || blocks ? wide_number_bytes(numbers) : own;
    const int64_t row = number * each, wide = number * tasks, widest = larger(wide, row);
    const int64_t updates = plan->update_ptr[plan->l.nsuper];
    const int64_t beside = room.one ? ones * own : 0; /* of y twice, for b or x of the host */
    const int64_t groups = blocks ? widest / (GSV_SIDE_COLUMNS * number) : 0;
    const int side = groups < upper->side ? (int)groups : upper->side;
    int64_t rows = larger((upper->columns + upper->published + updates) * row, upper_tasks->updates * wide);
    if (side > 1)
        rows = larger(rows, side * gsv_side_upper(plan) * number);
    rows = larger(rows, beside * gsv_one_upper(plan));
    const int64_t sizes[] = {plan->l.n * larger(widest, 2 * beside),
                             plan->l.n * larger(widest, beside),
                             (int64_t)sizeof(gsv_stream_state) * larger(side, ones),
                             rows,
                             partial_bytes(upper_tasks, wide, number),
                             wide ? (int64_t)sizeof(int) * gsv_task_counters(plan) : 0};
    int64_t start[7] = {0};
    for (int k = 0; k < 6; k++)
        start[k + 1] = (start[k] + sizes[k] + 255) / 256 * 256;
    return (workspace_layout){.x = start[1],
                              .state = start[2],
                              .z = start[3],
                              .partial = start[4],
                              .counters = start[5],
                              .bytes = max_nrhs > 0 ? start[6] : 0,
                              .room = room,
                              .side = side > 1 ? side : 1};
}

/* The vectors of a stream for nr right-hand sides: z, f and u stand one after the other, with rows of nr numbers. */
static gsv_device_vectors vectors_of(const gsv_plan *plan, gsv_numbers numbers, const workspace_layout *l,
                                     char *base, int nr) {
    const int64_t row = nr * (nr > 1 ? wide_number_bytes(numbers) : (int64_t)gsv_vector_bytes(numbers));
    char *z = base + l->z, *f = z + plan->schedule->stream.columns * row;
    return (gsv_device_vectors){.y = base,
                                .x = base + l->x,
                                .z = z,
                                .f = f,
                                .u = f + plan->schedule->stream.published * row,
                                .state = (gsv_stream_state *)(base + l->state),
                                .groups = 1};
}

void gsv_cuda_count_bytes(int device, int same_bits, const gsv_plan *plan, gsv_numbers numbers, int has_d,
                          int64_t max_nrhs, int64_t *factor_bytes, int64_t *workspace_bytes) {
    gsv_abilities abilities;
    const int previous = gsv_cuda_enter(device);
    if (gsv_cuda_ask_device(plan, numbers, &abilities) != cudaSuccess)
        cudaGetLastError(); /* it has no streams, then */
    gsv_cuda_leave(previous);
    abilities = gsv_abilities_for(&abilities, same_bits);
    *factor_bytes = gsv_cuda_factor_bytes(plan, numbers, has_d);
    *workspace_bytes = make_workspace_layout(plan, numbers, &abilities, same_bits, max_nrhs).bytes;
}

/* Run number k of all that are possible: one group, tasks, and groups side by side. */
static gsv_run run_of(const gsv_plan *plan, const gsv_abilities *abilities, int same_bits, int k) {
    const int tasks = k - GSV_STREAM_WIDTHS, groups = tasks - 1, others = GSV_TASKS_BROAD / GSV_TASKS_64;
    if (tasks >= GSV_TASKS_WIDTHS)
        return gsv_run_of_stream(GSV_SIDE_COLUMNS, tasks - GSV_TASKS_WIDTHS + 2);
    if (tasks < 0)
        return gsv_run_of_stream(GSV_SIDE_COLUMNS, 1);
    const int broad = groups > others, columns = groups < 0 ? GSV_TASKS_16
                                                 : groups == 0
                                                     ? GSV_TASKS_32
                                                     : (broad ? groups - others : groups) * GSV_TASKS_64;
    return gsv_run_of_tasks(plan, abilities, same_bits, columns, broad);
}

static int number_of(const gsv_run *run) {
    if (run->groups > 1)
        return GSV_STREAM_WIDTHS + GSV_TASKS_WIDTHS + run->groups - 2;
    if (run->above[0] != GSV_TASKS)
        return 0;
    if (run->columns == GSV_TASKS_16)
        return GSV_STREAM_WIDTHS;
    return GSV_STREAM_WIDTHS + 1 + (run->columns + (run->broad ? GSV_TASKS_BROAD : 0)) / GSV_TASKS_64;
}

gsv_launch gsv_cuda_launch_of(const gsv_plan *plan, const gsv_cuda_factor *device,
                              const gsv_cuda_workspace *work, const gsv_run *run, gsv_upper upper,
                              cudaStream_t stream) {
    gsv_launch launch = {.plan = plan,
                         .device = &device->plan,
                         .tasks = &device->tasks,
                         .abilities = gsv_cuda_abilities_of(device, work),
                         .run = run,
                         .vectors = upper != GSV_TASKS             ? work->vectors[gsv_class_of(run->columns)]
                                    : run->columns == GSV_TASKS_16 ? work->tasks_16
                                                                   : work->tasks,
                         .stream = stream};
    launch.vectors.groups = run->groups;
    return launch;
}

cudaGraphExec_t *gsv_cuda_graph_of(gsv_cuda_workspace *work, const gsv_run *run, int backward) {
    return &work->sweep[number_of(run)][backward];
}

/* Record one sweep. */
static gpusolve_status record(const gsv_plan *plan, const gsv_cuda_factor *device, gsv_numbers numbers,
                              gsv_cuda_workspace *work, const gsv_run *run, int backward, cudaStream_t stream,
                              gsv_message *message) {
    cudaGraph_t graph = NULL;
    cudaError_t launched = cudaSuccess;
    gsv_cuda_recording_begins();
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) {
        const gsv_launch launch = gsv_cuda_launch_of(plan, device, work, run, run->above[backward], stream);
        launched = gsv_cuda_launchers(numbers, run->above[backward])->sweep[backward](&launch);
        error = cudaStreamEndCapture(stream, &graph);
    }
    gsv_cuda_recording_ends();
    if (launched != cudaSuccess)
        error = launched;
    gpusolve_status status = gsv_cuda_check(error, "recording the sweeps", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_graph(gsv_cuda_graph_of(work, run, backward), graph, message);
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
static gpusolve_status make_states(gsv_cuda_workspace *state, char *memory, int count, gsv_message *message) {
    void *report;
    const gpusolve_status status = gsv_cuda_pin(&report, sizeof(int), cudaHostAllocMapped, message);
    if (status != GPUSOLVE_OK)
        return status;
    state->report = report;
    *state->report = 0;
    gsv_stream_state first = {.broken = 0};
    cudaError_t error = cudaHostGetDevicePointer((void **)&first.report, report, 0);
    for (int g = 0; g < count && error == cudaSuccess; g++)
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

/* Does the workspace have room for this run, and is it possible? */
static int has_run(const workspace_layout *l, const gsv_abilities *abilities, const gsv_run *run) {
    if (run->groups > 1) {
        const int most = gsv_most_groups(abilities), side = most < l->side ? most : l->side;
        return gsv_groups_for(side, run->groups * GSV_SIDE_COLUMNS) == run->groups;
    }
    if (run->above[0] == GSV_TASKS)
        return run->columns <= l->room.tasks && (!run->broad || l->room.tasks > GSV_TASKS_BROAD);
    return l->room.block;
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
    const gsv_abilities abilities = gsv_cuda_abilities_of(device, state);
    const workspace_layout l =
        make_workspace_layout(plan, factor->numbers, &abilities, state->same_bits, workspace->max_nrhs);
    gpusolve_status status = gsv_cuda_malloc(&state->memory, l.bytes, &handle->message);
    cudaStream_t stream = NULL;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_stream(&stream, &handle->message);
    char *base = state->memory;
    state->tasks = (gsv_device_vectors){.y = base,
                                        .x = base + l.x,
                                        .u = base + l.z,
                                        .state = (gsv_stream_state *)(base + l.state),
                                        .partial = base + l.partial,
                                        .counters = (int *)(base + l.counters),
                                        .groups = 1};
    if (status == GPUSOLVE_OK && base)
        status = make_states(state, base + l.state, (int)larger(l.side, l.room.ones), &handle->message);
    if (status == GPUSOLVE_OK && l.room.tasks > 0) {
        const gsv_launch launch = {.plan = plan, .vectors = state->tasks, .stream = stream};
        const cudaError_t error = gsv_cuda_movers(factor->numbers, GSV_TASKS)->clear(&launch);
        status = gsv_cuda_check(error == cudaSuccess ? cudaStreamSynchronize(stream) : error,
                                "preparing a workspace", &handle->message);
    }
    static const int columns[GSV_CLASSES] = {1, GSV_SIDE_COLUMNS, GSV_BLOCK_COLUMNS};
    for (int k = 0; k < GSV_CLASSES; k++)
        state->vectors[k] = vectors_of(plan, factor->numbers, &l, base, columns[k]);
    state->tasks_16 = state->tasks;
    if (l.room.block && l.room.tasks > 0)
        state->tasks_16.u = state->vectors[GSV_SIXTEEN].f;
    for (int k = 0; k < GSV_WIDTHS && plan->l.n > 0 && status == GPUSOLVE_OK; k++) {
        const gsv_run run = run_of(plan, &abilities, state->same_bits, k);
        if (!has_run(&l, &abilities, &run))
            continue;
        status = record(plan, device, factor->numbers, state, &run, 0, stream, &handle->message);
        if (status == GPUSOLVE_OK)
            status = record(plan, device, factor->numbers, state, &run, 1, stream, &handle->message);
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
