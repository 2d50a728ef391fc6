/*
 * The factor on the device, in two allocations: D and the panels [W; -M], which cuda_upload.c brings, and the plan's
 * arrays, which follow when all panels are known to be good.
 */
#include "../memory.h"
#include "../recording.h"
#include "../trsm/cuda_panel_inverse.h"
#include "cuda_support.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Panels of so many times the L2 cache of an H200 pass as fast, for one right-hand side, if they are like everything
 * that it keeps (cuda_l2.cuh): 0.7 GB want to give way first, 2.4 GB do not. */
enum { TRANSIENT_FOR_ONE = 16 };

/* What branches read for one right-hand side is the first to give way where panels are more than so many times the L2
 * cache: of 0.12 GB some is still there when it is read again, of 0.35 GB none. */
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
    MANY_TASKS, /* of list 0, and of the others */
    PERM = MANY_TASKS + GSV_MANY_LISTS,
    INVERSE,
    PARTS
};

typedef struct layout {
    int64_t start[PARTS + 1]; /* bytes from the start of the allocation */
    int64_t size[PARTS];      /* bytes */
} layout;

static int64_t pieces_bytes(const gsv_piece_list *list) {
    return list->task ? list->task[list->tasks] * (int64_t)sizeof(gsv_piece) : 0;
}

/* pieces_part and the part after it have room for a list. */
static void set_list(layout *l, int pieces_part, const gsv_piece_list *list) {
    l->size[pieces_part] = pieces_bytes(list);
    l->size[pieces_part + 1] = (list->tasks + (int64_t)1) * 4;
}

static cudaError_t put_list(char *base, const layout *l, int pieces_part, const gsv_piece_list *list) {
    if (!list->task || l->size[pieces_part + 1] == 0)
        return cudaSuccess;
    const cudaError_t error = gsv_cuda_fill(base + l->start[pieces_part + 1], list->task,
                                            ((size_t)list->tasks + 1) * sizeof *list->task);
    return error != cudaSuccess || pieces_bytes(list) == 0
               ? error
               : gsv_cuda_fill(base + l->start[pieces_part], list->piece, (size_t)pieces_bytes(list));
}

static gsv_device_pieces list_at(const char *base, const layout *l, int pieces_part, const gsv_plan *plan,
                                 const gsv_piece_list *list) {
    return (gsv_device_pieces){(const gsv_piece *)(base + l->start[pieces_part]),
                               (const int32_t *)(base + l->start[pieces_part + 1]), list->tasks,
                               (uint32_t)plan->tiles->upper_updates};
}

/* Supernodes whose panels are in tiles: none is in a branch. */
static int64_t count_wide(const gsv_plan *plan) {
    int64_t count = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        count += !gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s));
    return count;
}

static layout make_layout(const gsv_plan *plan, gpusolve_dtype dtype) {
    const int64_t n = plan->l.n;
    const gsv_tiles *tiles = plan->tiles;
    const gsv_branches *branches = &tiles->branches;
    const int64_t rows = tiles->upper_rows;
    const int complex = dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;
    layout l = {.size = {
                    [ROWS] = rows * 4,
                    [GATHER_PTR] = (rows + 1) * 4,
                    [GATHER] = (int64_t)tiles->gather_ptr[rows] * 4,
                    [TINY] = tiles->tiny.count * (int64_t)sizeof(gsv_node),
                    [SMALL] = tiles->small.count * (int64_t)sizeof(gsv_node),
                    [WIDE] = count_wide(plan) * (int64_t)sizeof(gsv_node),
                    [BRANCHES] = branches->count * (int64_t)sizeof(gsv_branch),
                    [LISTS] = branches->nlists * 2,
                    [WALKS] = branches->nwalks * 2,
                    [OUTSIDE_ROW] = branches->noutside * 4,
                    [UPPER_COLUMN] = branches->upper_columns * (int64_t)4,
                    [UPPER_ROWS] = tiles->stream.nrows * 4,
                    [PERM] = plan->l.perm ? n * 4 : 0,
                    [INVERSE] = plan->l.perm ? n * 4 : 0,
                }};
    for (int k = 0; k < GSV_MANY_LISTS; k++)
        l.size[MANY_TASKS + k] = tiles->many.list[k].tasks * (int64_t)sizeof(gsv_many_task);
    set_list(&l, FORWARD_PIECES, &tiles->stream.forward);
    set_list(&l, BACKWARD_PIECES, &tiles->stream.backward);
    if (!complex && tiles->stream.block_columns > 0) {
        set_list(&l, BLOCK_FORWARD_PIECES, &tiles->stream.block_forward);
        set_list(&l, BLOCK_BACKWARD_PIECES, &tiles->stream.block_backward);
        l.size[LIMBS] = tiles->limbs.count * (int64_t)sizeof(gsv_limb);
        l.size[LIMB_CHUNKS] = tiles->limbs.nchunks * (int64_t)sizeof(gsv_limb_chunk);
        l.size[LIMB_LISTS] = tiles->limbs.nlists * 2;
    }
    for (int k = 0; k < PARTS; k++)
        l.start[k + 1] = (l.start[k] + l.size[k] + 255) / 256 * 256;
    return l;
}

/* The other allocation: D, and the panels from `panels` on. */
typedef struct values_layout {
    int64_t d, panels, bytes; /* d: bytes of D */
} values_layout;

static values_layout make_values_layout(const gsv_plan *plan, gpusolve_dtype dtype, int has_d) {
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    const int complex = dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;
    values_layout l = {.d = has_d ? plan->l.n * (complex ? number / 2 : number) : 0};
    l.panels = (l.d + 255) / 256 * 256;
    l.bytes = l.panels + (plan->tiles->panel_ptr[plan->l.nsuper] * number + 255) / 256 * 256;
    return l;
}

int64_t gsv_cuda_factor_bytes(const gsv_plan *plan, gpusolve_dtype dtype, int has_d) {
    return make_layout(plan, dtype).start[PARTS] + make_values_layout(plan, dtype, has_d).bytes;
}

/* --------------------------------------------------------------------------------------------- values --- */

/* By way of memory on the host, as large as D. */
static gpusolve_status copy_d(const gpusolve_factor *factor, const gsv_cuda_factor *device,
                              const gpusolve_factor_data *data, void *memory, gsv_message *message) {
    if (!factor->has_d)
        return GPUSOLVE_OK;
    const values_layout l = make_values_layout(&factor->plan, factor->dtype, 1);
    gsv_import_d(data, memory);
    return gsv_cuda_check(gsv_cuda_fill(device->values, memory, (size_t)l.d), "copying D to the device",
                          message);
}

/*
 * How much finer than it need be a supernode is cut when a refresh has made that necessary. A sequence of refreshes, of an
 * interior-point method say, makes triangles worse step by step. So what a triangle's k has grown by since the last values
 * is taken to go on for STEPS refreshes more, within limits. A jump says nothing of what is to come.
 */
static float finer_than_needed(float now, float before) {
    enum { STEPS = 5 };
    static const double MOST = 16, JUMP = 4;
    const double growth = fabs((double)now) / (double)before;
    if (!(growth <= JUMP))
        return (float)GSV_FINER;
    const double finer = pow(growth, STEPS);
    return (float)(finer < GSV_FINER ? GSV_FINER : finer > MOST ? MOST : finer);
}

/* The cuts for the values of a refresh, k [nsuper], and for those to come: sent again, for the device finds them. */
static gpusolve_status find_cuts_ahead(gpusolve_handle *handle, gpusolve_factor *factor,
                                       gsv_cuda_factor *device, const gpusolve_factor_data *data, float *k,
                                       gsv_cuts *cuts, int *touched) {
    const size_t nsuper = (size_t)factor->plan.l.nsuper;
    float *finer = gsv_malloc(nsuper, sizeof *finer);
    if (!finer)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    for (size_t s = 0; s < nsuper; s++)
        finer[s] = finer_than_needed(k[s], device->k[s]);
    gsv_cuts_free(cuts);
    const gpusolve_status status = gsv_cuda_upload(handle, factor, device, data, finer, k, cuts, touched);
    gsv_free(finer);
    return status;
}

/* What follows from the triangles, which are all inverted. well: [nsuper], as is */
static gpusolve_status place_nodes(gpusolve_factor *factor, gsv_cuda_factor *device, uint8_t *well,
                                   gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        well[s] = !gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)) && device->k[s] <= GSV_WELL_LIMIT;
    return gsv_cuda_place_nodes(factor, device, well, message);
}

static uint8_t *new_well(const gpusolve_factor *factor, gsv_message *message) {
    uint8_t *well = gsv_malloc((size_t)factor->plan.l.nsuper, sizeof *well);
    if (!well)
        gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    return well;
}

/* All panels and D, as gsv_cuda_upload says. Memory is asked for before the first number changes. */
static gpusolve_status fill_values(gpusolve_handle *handle, gpusolve_factor *factor, gsv_cuda_factor *device,
                                   const gpusolve_factor_data *data, gsv_cuts *cuts, int *touched) {
    if (factor->plan.l.n == 0)
        return GPUSOLVE_OK;
    const double start = gsv_milliseconds();
    const values_layout l = make_values_layout(&factor->plan, factor->dtype, factor->has_d);
    float *k = gsv_malloc((size_t)factor->plan.l.nsuper, sizeof *k);
    void *d = factor->has_d ? gsv_malloc((size_t)l.d, 1) : NULL;
    gpusolve_status status =
        k && (d || !factor->has_d)
            ? gsv_cuda_upload(handle, factor, device, data, NULL, k, cuts, touched)
            : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK && cuts->at && device->k)
        status = find_cuts_ahead(handle, factor, device, data, k, cuts, touched);
    if (status == GPUSOLVE_OK && !cuts->at)
        status = copy_d(factor, device, data, d, &handle->message);
    if (status == GPUSOLVE_OK && !cuts->at) {
        gsv_free(device->k);
        device->k = k;
    } else {
        gsv_free(k);
    }
    gsv_free(d);
    device->values_ms = gsv_milliseconds() - start;
    return status;
}

/* ------------------------------------------------------------------------------------------ interface --- */

/* The inverse of perm [n], or NULL: out of memory, or there is no perm. */
static int32_t *invert(const gsv_plan *plan) {
    int32_t *inverse = plan->l.perm ? gsv_malloc((size_t)plan->l.n, sizeof *inverse) : NULL;
    for (int32_t i = 0; i < plan->l.n && inverse; i++)
        inverse[plan->l.perm[i]] = i;
    return inverse;
}

static cudaError_t put_rows(const gsv_plan *plan, void *to) {
    const size_t count = (size_t)plan->tiles->upper_rows;
    int32_t *rows = gsv_malloc(count, sizeof *rows);
    if (!rows)
        return cudaErrorMemoryAllocation;
    gsv_tiles_list_rows(plan, rows);
    const cudaError_t error = gsv_cuda_fill(to, rows, count * sizeof *rows);
    gsv_free(rows);
    return error;
}

static gpusolve_status copy_plan(const gpusolve_factor *factor, gsv_cuda_factor *device,
                                 gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    const layout l = make_layout(plan, factor->dtype);
    const gsv_branches *branches = &plan->tiles->branches;
    const int64_t panels = plan->tiles->panel_ptr[plan->l.nsuper] * (int64_t)gsv_dtype_bytes(factor->dtype);
    char *base = device->memory;
    int32_t *inverse = invert(plan);
    device->well = gsv_malloc((size_t)plan->l.nsuper, sizeof *device->well);
    if (!device->well || (plan->l.perm && !inverse)) {
        gsv_free(inverse);
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    }
    const void *from[PARTS] = {
        [GATHER_PTR] = plan->tiles->gather_ptr,
        [GATHER] = plan->tiles->gather,
        [BRANCHES] = branches->branch,
        [LISTS] = branches->lists,
        [WALKS] = branches->walks,
        [LIMBS] = plan->tiles->limbs.limb,
        [LIMB_CHUNKS] = plan->tiles->limbs.chunk,
        [LIMB_LISTS] = plan->tiles->limbs.lists,
        [OUTSIDE_ROW] = branches->outside_row,
        [UPPER_COLUMN] = branches->upper_column,
        [UPPER_ROWS] = plan->tiles->stream.rows,
        [PERM] = plan->l.perm,
        [INVERSE] = inverse,
    };
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < PARTS && error == cudaSuccess; k++)
        if (from[k] && l.size[k] > 0)
            error = gsv_cuda_fill(base + l.start[k], from[k], (size_t)l.size[k]);
    const gsv_stream *streams = &plan->tiles->stream;
    const gsv_piece_list *lists[] = {&streams->forward, &streams->backward, &streams->block_forward,
                                     &streams->block_backward};
    static const int parts[] = {FORWARD_PIECES, BACKWARD_PIECES, BLOCK_FORWARD_PIECES, BLOCK_BACKWARD_PIECES};
    for (int k = 0; k < 4 && error == cudaSuccess; k++)
        error = put_list(base, &l, parts[k], lists[k]);
    for (int k = 0; k < GSV_MANY_LISTS && error == cudaSuccess; k++) {
        device->many.task[k] = (const gsv_many_task *)(base + l.start[MANY_TASKS + k]);
        if (l.size[MANY_TASKS + k] > 0)
            error = gsv_cuda_fill(base + l.start[MANY_TASKS + k], plan->tiles->many.list[k].task,
                                  (size_t)l.size[MANY_TASKS + k]);
    }
    if (error == cudaSuccess && l.size[ROWS] > 0)
        error = put_rows(plan, base + l.start[ROWS]);
    int l2 = 0, id = 0;
    if (error == cudaSuccess)
        error = cudaGetDevice(&id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, id);
    gsv_free(inverse);
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
        .outside_update = (uint32_t)plan->tiles->upper_updates,
        .upper_column = (const int32_t *)(base + l.start[UPPER_COLUMN]),
        .perm = plan->l.perm ? (const int32_t *)(base + l.start[PERM]) : NULL,
        .inverse = plan->l.perm ? (const int32_t *)(base + l.start[INVERSE]) : NULL,
        .forward_pieces = list_at(base, &l, FORWARD_PIECES, plan, &plan->tiles->stream.forward),
        .backward_pieces = list_at(base, &l, BACKWARD_PIECES, plan, &plan->tiles->stream.backward),
        .block_forward = list_at(base, &l, BLOCK_FORWARD_PIECES, plan, &plan->tiles->stream.block_forward),
        .block_backward = list_at(base, &l, BLOCK_BACKWARD_PIECES, plan, &plan->tiles->stream.block_backward),
        .upper_rows = (const int32_t *)(base + l.start[UPPER_ROWS]),
        .side_vector = plan->l.n * (int64_t)GSV_SIDE_COLUMNS,
        .side_upper = gsv_side_upper(plan),
        .one_vector = plan->l.n,
        .one_upper = gsv_one_upper(plan),
        .panels = device->plan.panels,
        .floats = factor->dtype == GPUSOLVE_FLOAT,
        .transient = panels > l2,
        .transient_branches = panels / TRANSIENT_BRANCHES > l2,
        .transient_for_one = panels > l2 && panels < TRANSIENT_FOR_ONE * (int64_t)l2,
        .d = device->plan.d,
    };
    return gsv_cuda_check(error, "copying the plan to the device", message);
}

int gsv_cuda_shared_limit = INT_MAX, gsv_cuda_streams_allowed = 1;

static cudaError_t shared_of_block(int *most) {
    int id = 0;
    cudaError_t error = cudaGetDevice(&id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(most, cudaDevAttrMaxSharedMemoryPerBlockOptin, id);
    if (*most > gsv_cuda_shared_limit)
        *most = gsv_cuda_shared_limit;
    return error;
}

static void free_one(gsv_cuda_factor *device) {
    gsv_cuda_free(device->memory);
    gsv_cuda_free(device->values);
    gsv_upload_plan_free(device->upload);
    gsv_free(device->well);
    gsv_free(device->k);
    gsv_free(device);
}

/* Every number that a sweep multiplies by becomes NaN, and so does every number that it computes. */
gpusolve_status gsv_cuda_expire(gpusolve_factor *factor, gsv_message *message) {
    const gsv_cuda_factor *device = factor->prepared;
    cudaError_t error = device->values_bytes > 0
                            ? cudaMemset(device->values, 0xff, (size_t)device->values_bytes)
                            : cudaSuccess;
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(cudaStreamLegacy);
    return gsv_cuda_check(error, "telling graphs that their factor is another", message);
}

/* What there is of an earlier plan. A graph that was captured with it reads its memory, to the end, and stores NaN. */
static gpusolve_status retire(gpusolve_factor *factor, gsv_message *message) {
    gsv_cuda_factor *old = factor->prepared;
    gpusolve_status status = GPUSOLVE_OK;
    if (old && old->captured) {
        status = gsv_cuda_expire(factor, message);
        old->next = factor->retired;
        factor->retired = old;
    } else if (old) {
        free_one(old);
    }
    factor->prepared = NULL;
    return status;
}

cudaError_t gsv_cuda_ask_device(const gsv_plan *plan, gpusolve_dtype dtype, gsv_sweep_form *form) {
    const gsv_branches *branches = &plan->tiles->branches;
    int most = 0;
    *form = (gsv_sweep_form){.block_columns = plan->tiles->stream.block_columns};
    cudaError_t error = shared_of_block(&most);
    if (error != cudaSuccess || !gsv_cuda_streams_allowed)
        return error;
    error = gsv_cuda_sweeps(dtype)->stream_blocks(branches, most, form->stream_blocks);
    if (error == cudaSuccess && dtype == GPUSOLVE_FLOAT) {
        int blocks[GSV_CLASSES][2];
        error = gsv_sweep_m.stream_blocks(branches, most, blocks);
        memcpy(form->stream_blocks[GSV_EIGHT], blocks[GSV_EIGHT], 2 * sizeof blocks[0]);
    }
    if (error == cudaSuccess && !gsv_cuda_streams_one(form)) /* all, or none */
        memset(form->stream_blocks, 0, sizeof form->stream_blocks);
    return error;
}

/* Lets the tasks have their shared memory, which every factor wants. */
static gpusolve_status reserve_tasks(const gpusolve_factor *factor, gsv_device_many *many,
                                     gsv_message *message) {
    int most = 0;
    const gpusolve_status status = gsv_cuda_check(shared_of_block(&most), "asking the device", message);
    if (status != GPUSOLVE_OK)
        return status;
    many->shared = most;
    if (gsv_cuda_many(factor->dtype)->reserve(&factor->plan.tiles->branches, many) == cudaSuccess)
        return GPUSOLVE_OK;
    cudaGetLastError();
    return gsv_fail(
        message, GPUSOLVE_NOT_SUPPORTED,
        "factor: the device has %d bytes of shared memory for a block of threads, and this factor needs more",
        most);
}

/* factor->prepared with memory for the values, in the place of what was there. */
static gpusolve_status make_values(gpusolve_factor *factor, gsv_message *message) {
    gpusolve_status status = retire(factor, message);
    if (status != GPUSOLVE_OK)
        return status;
    gsv_cuda_factor *device = gsv_calloc(1, sizeof *device);
    if (!device)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    factor->prepared = device;
    const values_layout l = make_values_layout(&factor->plan, factor->dtype, factor->has_d);
    status = gsv_cuda_malloc(&device->values, l.bytes, message);
    if (status != GPUSOLVE_OK)
        return status;
    device->values_bytes = l.bytes;
    device->plan.panels = (char *)device->values + l.panels;
    device->plan.d = factor->has_d ? device->values : NULL;
    /* branches are copied with the gaps between panels */
    return gsv_cuda_check(gsv_cuda_clear(device->values, (size_t)l.bytes), "cudaMemset", message);
}

gpusolve_status gsv_cuda_fill_factor(gpusolve_handle *handle, gpusolve_factor *factor,
                                     const gpusolve_factor_data *data, gsv_cuts *cuts) {
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = make_values(factor, &handle->message);
    if (status == GPUSOLVE_OK)
        status = fill_values(handle, factor, factor->prepared, data, cuts, NULL);
    if (status != GPUSOLVE_OK)
        gsv_cuda_drop(factor);
    gsv_cuda_leave(previous);
    return status;
}

gpusolve_status gsv_cuda_prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data) {
    const int previous = gsv_cuda_enter(handle->device);
    const double start = gsv_milliseconds();
    gsv_message *message = &handle->message;
    gpusolve_status status = data ? GPUSOLVE_OK : make_values(factor, message);
    gsv_cuda_factor *device = factor->prepared;
    const int64_t bytes = make_layout(&factor->plan, factor->dtype).start[PARTS];
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&device->memory, bytes, message);
    if (status == GPUSOLVE_OK) {
        device->bytes = bytes;
        status = copy_plan(factor, device, message);
    }
    if (status == GPUSOLVE_OK) {
        const cudaError_t error = gsv_cuda_ask_device(&factor->plan, factor->dtype, &device->form);
        status = gsv_cuda_check(error, "asking what the device can run", message);
    }
    if (status == GPUSOLVE_OK)
        status = reserve_tasks(factor, &device->many, message);
    const double placed = gsv_milliseconds();
    uint8_t *well = status == GPUSOLVE_OK && data ? new_well(factor, message) : NULL;
    if (status == GPUSOLVE_OK && data && factor->plan.l.n > 0)
        status = well ? place_nodes(factor, device, well, message) : GPUSOLVE_OUT_OF_MEMORY;
    gsv_free(well);
    if (status == GPUSOLVE_OK) {
        device->plan_ms = placed - start;
        device->form_ms = gsv_milliseconds() - placed;
    } else {
        gsv_cuda_drop(factor);
    }
    gsv_cuda_leave(previous);
    return status;
}

gpusolve_status gsv_cuda_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data, gsv_cuts *cuts) {
    const int previous = gsv_cuda_enter(handle->device);
    gsv_cuda_factor *device = factor->prepared;
    int touched = 0;
    gpusolve_status status =
        gsv_cuda_synchronize_device("waiting for the solves before a refresh", &handle->message);
    uint8_t *well =
        status == GPUSOLVE_OK ? new_well(factor, &handle->message) : NULL; /* before a number changes */
    if (status == GPUSOLVE_OK && !well)
        status = GPUSOLVE_OUT_OF_MEMORY;
    device->plan_ms = 0;
    if (status == GPUSOLVE_OK)
        status = fill_values(handle, factor, device, data, cuts, &touched);
    const double filled = gsv_milliseconds();
    if (status == GPUSOLVE_OK && !cuts->at && factor->plan.l.n > 0)
        status = place_nodes(factor, device, well, &handle->message);
    device->form_ms = gsv_milliseconds() - filled;
    factor->unusable = status != GPUSOLVE_OK && (touched || factor->unusable);
    gsv_free(well);
    gsv_cuda_leave(previous);
    return status;
}

static void free_list(int device, gsv_cuda_factor *list) {
    if (!list)
        return;
    const int previous = gsv_cuda_enter(device);
    while (list) {
        gsv_cuda_factor *next = list->next;
        free_one(list);
        list = next;
    }
    gsv_cuda_leave(previous);
}

/* What graphs have that were captured with it stays. */
void gsv_cuda_drop(gpusolve_factor *factor) {
    const int previous = gsv_cuda_enter(factor->device);
    gsv_message ignored;
    retire(factor, &ignored);
    gsv_cuda_leave(previous);
}

void gsv_cuda_release(gpusolve_factor *factor) {
    free_list(factor->device, factor->prepared);
    factor->prepared = NULL;
    free_list(factor->device, factor->retired);
    factor->retired = NULL;
}
