/* The plan's arrays on the device: the larger part of a factor that is not numbers. The numbers are there before
 * (cuda/values.c). */
#include "../../memory.h"
#include "../schedule/machine.h"
#include "support.h"

#include <string.h>

/* For one right-hand side, panels of up to this many times the L2 cache are marked as first to be evicted (cuda/shared/l2.cuh). On
 * an H200 that is faster for panels of 0.7 GB; for 2.4 GB it makes no difference. */
enum { TRANSIENT_FOR_ONE = 16 };

/* For one right-hand side, what branches read is marked as first to be evicted if the panels are more than this many times
 * the L2 cache: of 0.12 GB some is still in the cache when it is read again, of 0.35 GB none. */
enum { TRANSIENT_BRANCHES = 4 };

/* -------------------------------------------------------------------------------------------- layout --- */

enum {
    TINY,
    SMALL,
    WIDE,
    ROWS,
    GATHER_PTR,
    GATHER,
    BRANCHES,
    LISTS,
    WALKS,
    LIMBS,
    LIMB_CHUNKS,
    LIMB_LISTS,
    OUTSIDE_ROW,
    UPPER_COLUMN,
    FORWARD_PIECES,
    FORWARD_TASKS,
    BACKWARD_PIECES,
    BACKWARD_TASKS,
    BLOCK_FORWARD_PIECES,
    BLOCK_FORWARD_TASKS,
    BLOCK_BACKWARD_PIECES,
    BLOCK_BACKWARD_TASKS,
    UPPER_ROWS,
    TASKS, /* of list 0, and of the others */
    PERM = TASKS + GSV_TASK_LISTS,
    INVERSE,
    PARTS
};

typedef struct layout {
    int64_t start[PARTS + 1]; /* bytes from the start of the allocation */
    int64_t size[PARTS];      /* bytes */
    const void *from[PARTS];  /* on the host; NULL: filled otherwise */
} layout;

static void set_part(layout *l, int part, const void *from, int64_t bytes) {
    l->from[part] = from;
    l->size[part] = bytes;
}

/* A list takes pieces_part and the part after it. */
static void set_list(layout *l, int pieces_part, const gsv_piece_list *list) {
    const int64_t pieces = list->task ? list->task[list->tasks] : 0;
    set_part(l, pieces_part, list->piece, pieces * (int64_t)sizeof(gsv_piece));
    set_part(l, pieces_part + 1, list->task, (list->tasks + (int64_t)1) * 4);
}

static gsv_device_pieces list_at(const char *base, const layout *l, int pieces_part, const gsv_plan *plan,
                                 const gsv_piece_list *list) {
    return (gsv_device_pieces){(const gsv_piece *)(base + l->start[pieces_part]),
                               (const int32_t *)(base + l->start[pieces_part + 1]), list->tasks,
                               (uint32_t)plan->schedule->upper_updates};
}

/* Supernodes whose panels are in tiles: none is in a branch. */
static int64_t count_wide(const gsv_plan *plan) {
    int64_t count = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        count += !gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s));
    return count;
}

static layout make_layout(const gsv_plan *plan, gsv_numbers numbers) {
    const int64_t n = plan->l.n;
    const gsv_schedule *schedule = plan->schedule;
    const gsv_branches *branches = &schedule->branches;
    const gsv_limbs *limbs = &schedule->limbs;
    const int64_t rows = schedule->upper_rows;
    layout l = {.size = {[ROWS] = rows * 4,
                         [TINY] = schedule->tiny.count * (int64_t)sizeof(gsv_node),
                         [SMALL] = schedule->small.count * (int64_t)sizeof(gsv_node),
                         [WIDE] = count_wide(plan) * (int64_t)sizeof(gsv_node),
                         [INVERSE] = plan->l.perm ? n * 4 : 0}};
    set_part(&l, GATHER_PTR, schedule->gather_ptr, (rows + 1) * 4);
    set_part(&l, GATHER, schedule->gather, (int64_t)schedule->gather_ptr[rows] * 4);
    set_part(&l, BRANCHES, branches->branch, branches->count * (int64_t)sizeof(gsv_branch));
    set_part(&l, LISTS, branches->lists, branches->nlists * 2);
    set_part(&l, WALKS, branches->walks, branches->nwalks * 2);
    set_part(&l, OUTSIDE_ROW, branches->outside_row, branches->noutside * 4);
    set_part(&l, UPPER_COLUMN, branches->upper_column, branches->upper_columns * (int64_t)4);
    set_part(&l, UPPER_ROWS, schedule->stream.rows, schedule->stream.nrows * 4);
    set_part(&l, PERM, plan->l.perm, plan->l.perm ? n * 4 : 0);
    for (int k = 0; k < GSV_TASK_LISTS; k++)
        set_part(&l, TASKS + k, schedule->tasks.list[k].task,
                 schedule->tasks.list[k].tasks * (int64_t)sizeof(gsv_task));
    set_list(&l, FORWARD_PIECES, &schedule->stream.forward);
    set_list(&l, BACKWARD_PIECES, &schedule->stream.backward);
    if (!gsv_is_complex(gsv_vector_dtype(numbers)) && schedule->stream.block_columns > 0) {
        set_list(&l, BLOCK_FORWARD_PIECES, &schedule->stream.block_forward);
        set_list(&l, BLOCK_BACKWARD_PIECES, &schedule->stream.block_backward);
        set_part(&l, LIMBS, limbs->limb, limbs->count * (int64_t)sizeof(gsv_limb));
        set_part(&l, LIMB_CHUNKS, limbs->chunk, limbs->nchunks * (int64_t)sizeof(gsv_limb_chunk));
        set_part(&l, LIMB_LISTS, limbs->lists, limbs->nlists * 2);
    }
    for (int k = 0; k < PARTS; k++)
        l.start[k + 1] = (l.start[k] + l.size[k] + 255) / 256 * 256;
    return l;
}

int64_t gsv_cuda_factor_bytes(const gsv_plan *plan, gsv_numbers numbers, int has_d) {
    return make_layout(plan, numbers).start[PARTS] + gsv_cuda_values_bytes(plan, numbers, has_d);
}

/* ------------------------------------------------------------------------------------------ interface --- */

/* Lists that the plan does not have as they are. */
typedef struct made_lists {
    const gsv_plan *plan;
    int32_t *inverse; /* [n] of perm; NULL: there is no perm */
    int32_t *rows;    /* [upper_rows] */
} made_lists;

static void make_list(void *context, int64_t item, int member) {
    const made_lists *made = context;
    const int32_t *perm = made->plan->l.perm;
    (void)member;
    if (item == 0)
        gsv_schedule_list_rows(made->plan, made->rows);
    for (int32_t i = 0; item == 1 && i < made->plan->l.n; i++)
        made->inverse[perm[i]] = i;
}

static void free_lists(made_lists *made) {
    gsv_free(made->inverse);
    gsv_free(made->rows);
}

/* 0: out of memory. */
static int make_lists(const gsv_plan *plan, gsv_pool *pool, made_lists *made) {
    enum { ROWS_WORTH = 1 << 16 }; /* waking a thread */
    const int lists = plan->l.perm ? 2 : 1;
    *made = (made_lists){.plan = plan,
                         .inverse = lists > 1 ? gsv_malloc((size_t)plan->l.n, sizeof *made->inverse) : NULL,
                         .rows = gsv_malloc((size_t)plan->schedule->upper_rows, sizeof *made->rows)};
    if (!made->rows || (lists > 1 && !made->inverse)) {
        free_lists(made);
        return 0;
    }
    const int share = gsv_pool_share(pool, plan->l.n, ROWS_WORTH);
    gsv_pool_each(pool, share < lists ? share : lists, lists, make_list, made);
    return 1;
}

static gpusolve_status copy_plan(gpusolve_handle *handle, const gpusolve_factor *factor,
                                 gsv_cuda_factor *device) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    layout l = make_layout(plan, factor->numbers);
    const int64_t panels =
        plan->schedule->panel_ptr[plan->l.nsuper] * (int64_t)gsv_panel_bytes(factor->numbers);
    char *base = device->memory;
    made_lists made;
    device->well = gsv_malloc(2 * (size_t)plan->l.nsuper, sizeof *device->well);
    if (!device->k) /* a part's, whose values are copied */
        device->k = gsv_malloc((size_t)plan->l.nsuper, sizeof *device->k);
    if (!device->well || !device->k || !make_lists(plan, handle->pool, &made))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    l.from[ROWS] = made.rows;
    l.from[INVERSE] = made.inverse;
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < PARTS && error == cudaSuccess; k++)
        if (l.from[k] && l.size[k] > 0)
            error = gsv_cuda_fill_shared(handle, base + l.start[k], l.from[k], (size_t)l.size[k]);
    for (int k = 0; k < GSV_TASK_LISTS; k++)
        device->tasks.task[k] = (const gsv_task *)(base + l.start[TASKS + k]);
    int l2 = 0, id = 0;
    if (error == cudaSuccess)
        error = cudaGetDevice(&id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, id);
    free_lists(&made);
    device->plan = (gsv_device_plan){
        .tiny = (const gsv_node *)(base + l.start[TINY]),
        .small = (const gsv_node *)(base + l.start[SMALL]),
        .wide = (const gsv_node *)(base + l.start[WIDE]),
        .rows = (const int32_t *)(base + l.start[ROWS]),
        .gather_ptr = (const uint32_t *)(base + l.start[GATHER_PTR]),
        .gather = (const uint32_t *)(base + l.start[GATHER]),
        .branches = (const gsv_branch *)(base + l.start[BRANCHES]),
        .branch_lists = (const uint16_t *)(base + l.start[LISTS]),
        .branch_walks = (const uint16_t *)(base + l.start[WALKS]),
        .limbs = (const gsv_limb *)(base + l.start[LIMBS]),
        .limb_chunks = (const gsv_limb_chunk *)(base + l.start[LIMB_CHUNKS]),
        .limb_lists = (const uint16_t *)(base + l.start[LIMB_LISTS]),
        .outside_row = (const int32_t *)(base + l.start[OUTSIDE_ROW]),
        .outside_update = (uint32_t)plan->schedule->upper_updates,
        .upper_column = (const int32_t *)(base + l.start[UPPER_COLUMN]),
        .perm = plan->l.perm ? (const int32_t *)(base + l.start[PERM]) : NULL,
        .inverse = plan->l.perm ? (const int32_t *)(base + l.start[INVERSE]) : NULL,
        .forward_pieces = list_at(base, &l, FORWARD_PIECES, plan, &plan->schedule->stream.forward),
        .backward_pieces = list_at(base, &l, BACKWARD_PIECES, plan, &plan->schedule->stream.backward),
        .block_forward = list_at(base, &l, BLOCK_FORWARD_PIECES, plan, &plan->schedule->stream.block_forward),
        .block_backward =
            list_at(base, &l, BLOCK_BACKWARD_PIECES, plan, &plan->schedule->stream.block_backward),
        .upper_rows = (const int32_t *)(base + l.start[UPPER_ROWS]),
        .side_vector = plan->l.n * (int64_t)GSV_SIDE_COLUMNS,
        .side_upper = gsv_side_upper(plan),
        .one_vector = plan->l.n,
        .one_upper = gsv_one_upper(plan),
        .panels = device->plan.panels,
        .floats = gsv_panel_dtype(factor->numbers) == GPUSOLVE_FLOAT,
        .transient = panels > l2,
        .transient_branches = panels / TRANSIENT_BRANCHES > l2,
        .transient_for_one = panels > l2 && panels < TRANSIENT_FOR_ONE * (int64_t)l2,
        .d = device->plan.d,
    };
    return gsv_cuda_check(error, "copying the plan to the device", message);
}

static cudaError_t shared_of_block(const gsv_plan *plan, int *most) {
    const int limit = gsv_machine_of(plan)->shared_limit;
    int id = 0;
    cudaError_t error = cudaGetDevice(&id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(most, cudaDevAttrMaxSharedMemoryPerBlockOptin, id);
    if (*most > limit)
        *most = limit;
    return error;
}

cudaError_t gsv_cuda_ask_device(const gsv_plan *plan, gsv_numbers numbers, gsv_abilities *abilities) {
    const gsv_branches *branches = &plan->schedule->branches;
    int most = 0;
    *abilities = (gsv_abilities){.block_columns = plan->schedule->stream.block_columns};
    cudaError_t error = shared_of_block(plan, &most);
    if (error != cudaSuccess || !gsv_machine_of(plan)->streams)
        return error;
    const gsv_launchers *one = gsv_cuda_launchers(numbers, GSV_STREAM),
                        *block = gsv_cuda_launchers(numbers, GSV_BLOCK_STREAM);
    error = one->reserve(branches, most, abilities);
    if (error == cudaSuccess && block != one)
        error = block->reserve(branches, most, abilities);
    if (error == cudaSuccess && !gsv_streams_one(abilities)) /* all, or none */
        memset(abilities->stream_blocks, 0, sizeof abilities->stream_blocks);
    return error;
}

/* Let the tasks have their shared memory, which every factor wants. */
static gpusolve_status reserve_tasks(const gpusolve_factor *factor, gsv_cuda_factor *device,
                                     gsv_message *message) {
    int most = 0;
    const gpusolve_status status =
        gsv_cuda_check(shared_of_block(&factor->plan, &most), "asking the device", message);
    if (status != GPUSOLVE_OK)
        return status;
    device->tasks.shared = most;
    if (gsv_cuda_launchers(factor->numbers, GSV_TASKS)
            ->reserve(&factor->plan.schedule->branches, most, &device->abilities) == cudaSuccess)
        return GPUSOLVE_OK;
    cudaGetLastError();
    return gsv_fail(
        message, GPUSOLVE_NOT_SUPPORTED,
        "factor: the device has %d bytes of shared memory for a block of threads, and this factor needs more",
        most);
}

gpusolve_status gsv_cuda_prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data) {
    const int previous = gsv_cuda_enter(handle->device);
    const double start = gsv_milliseconds();
    gsv_message *message = &handle->message;
    gpusolve_status status = data ? GPUSOLVE_OK : gsv_cuda_make_values(factor, message);
    gsv_cuda_factor *device = factor->prepared;
    const int64_t bytes = make_layout(&factor->plan, factor->numbers).start[PARTS];
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&device->memory, bytes, message);
    if (status == GPUSOLVE_OK) /* lists are copied in runs of 16 bytes, with the gaps behind them */
        status = gsv_cuda_check(gsv_cuda_clear(device->memory, (size_t)bytes), "cudaMemset", message);
    if (status == GPUSOLVE_OK) {
        device->bytes = bytes;
        status = copy_plan(handle, factor, device);
    }
    if (status == GPUSOLVE_OK) {
        const cudaError_t error = gsv_cuda_ask_device(&factor->plan, factor->numbers, &device->abilities);
        status = gsv_cuda_check(error, "asking what the device can run", message);
    }
    if (status == GPUSOLVE_OK)
        status = reserve_tasks(factor, device, message);
    const double placed = gsv_milliseconds();
    if (status == GPUSOLVE_OK && data && factor->plan.l.n > 0)
        status = gsv_cuda_place_nodes(factor, device, message);
    if (status == GPUSOLVE_OK) {
        device->plan_ms = placed - start;
        device->nodes_ms = gsv_milliseconds() - placed;
    } else {
        gsv_cuda_drop(factor);
    }
    gsv_cuda_leave(previous);
    return status;
}
