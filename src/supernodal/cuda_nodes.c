/*
 * How the triangles have come out of their inversion, and what follows from it: the nodes, which tell the
 * kernels; the form of the sweeps; and, where branches cannot be walked, the lists of their supernodes.
 *
 * The kernels that walk branches know a branch's supernodes from its own lists (branches.h), so what a level's
 * kernels want to know of them, their nodes, rows and gather lists, is not on the device: it would be the
 * larger half of all that is there beside the panels. A factor that has to be solved with level by level,
 * because a triangle in a branch is kept for substitution, or because the device has too little shared memory
 * for a branch, gets all lists then, in an allocation of their own, and keeps them. What the upper tree's
 * kernels read stays where it is: a graph that somebody has captured may point to it.
 */
#include "../memory.h"
#include "cuda_support.h"

#include <string.h>

/* The lists of all supernodes. */
enum { ROWS, GATHER_PTR, GATHER, TINY, SMALL, LISTS };

typedef struct layout {
    int64_t start[LISTS + 1], size[LISTS]; /* bytes */
} layout;

static layout make_layout(const gsv_plan *plan) {
    const gsv_tiles *tiles = plan->tiles;
    const int64_t rows = plan->l.row_ptr[plan->l.nsuper], node = (int64_t)sizeof(gsv_node);
    layout l = {.size = {[ROWS] = rows * 4,
                         [GATHER_PTR] = (rows + 1) * 4,
                         [GATHER] = plan->update_ptr[plan->l.nsuper] * 4,
                         [TINY] = tiles->tiny.ptr[plan->nlevels] * node,
                         [SMALL] = tiles->small.ptr[plan->nlevels] * node}};
    for (int k = 0; k < LISTS; k++)
        l.start[k + 1] = (l.start[k] + l.size[k] + 255) / 256 * 256;
    return l;
}

static gpusolve_status out_of_memory(gsv_message *message) {
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
}

cudaError_t gsv_cuda_put_rows(const gsv_plan *plan, int all, void *to) {
    const int64_t count = all ? plan->l.row_ptr[plan->l.nsuper] : plan->tiles->upper_rows;
    int32_t *rows = gsv_malloc((size_t)count, sizeof *rows);
    if (!rows)
        return cudaErrorMemoryAllocation;
    gsv_tiles_list_rows(plan, all, rows);
    const cudaError_t error = gsv_cuda_fill(to, rows, (size_t)count * sizeof *rows);
    gsv_free(rows);
    return error;
}

/* Lists of all supernodes, but for the nodes: into device->lists, or nothing. */
static gpusolve_status make_lists(const gsv_plan *plan, gsv_cuda_factor *device, gsv_message *message) {
    const layout l = make_layout(plan);
    void *memory;
    gpusolve_status status = gsv_cuda_malloc(&memory, l.start[LISTS], message);
    if (status != GPUSOLVE_OK)
        return status;
    char *base = memory;
    cudaError_t error = gsv_cuda_put_rows(plan, 1, base + l.start[ROWS]);
    if (error == cudaSuccess)
        error =
            gsv_cuda_fill(base + l.start[GATHER_PTR], plan->tiles->gather_ptr, (size_t)l.size[GATHER_PTR]);
    if (error == cudaSuccess && l.size[GATHER] > 0)
        error = gsv_cuda_fill(base + l.start[GATHER], plan->tiles->gather, (size_t)l.size[GATHER]);
    status = gsv_cuda_check(error, "copying lists to the device", message);
    if (status != GPUSOLVE_OK) {
        gsv_cuda_free(memory);
        return status;
    }
    device->lists = memory;
    device->lists_bytes = l.start[LISTS];
    return GPUSOLVE_OK;
}

/* From now on the sweeps go level by level: where they find the lists of all supernodes. */
static void use_lists(const gsv_plan *plan, gsv_cuda_factor *device) {
    const layout l = make_layout(plan);
    const char *base = device->lists;
    device->plan.rows = (const int32_t *)(base + l.start[ROWS]);
    device->plan.gather_ptr = (const uint32_t *)(base + l.start[GATHER_PTR]);
    device->plan.gather = (const uint32_t *)(base + l.start[GATHER]);
    device->plan.tiny = (const gsv_node *)(base + l.start[TINY]);
    device->plan.small = (const gsv_node *)(base + l.start[SMALL]);
}

static gsv_node make_node(const gsv_plan *plan, int32_t s, const int32_t *parts) {
    return (gsv_node){.panel = plan->tiles->panel_ptr[s],
                      .rows = plan->tiles->row_place[s],
                      .update = plan->tiles->update_place[s],
                      .first_column = plan->l.first_column[s],
                      .nc = gsv_columns(plan, s),
                      .nr = gsv_rows(plan, s),
                      .parts = (int16_t)gsv_parts_of(parts[s]),
                      .well_conditioned = parts[s] >= GSV_WELL_CONDITIONED};
}

/* The nodes of a list, level by level: of all its supernodes, or of those in no branch. */
static int64_t list_narrow(const gsv_plan *plan, const gsv_supernode_list *list, int all,
                           const int32_t *parts, gsv_node *nodes) {
    int64_t count = 0;
    for (int32_t k = 0; k < plan->nlevels; k++) {
        const int64_t end = all ? list->ptr[k + 1] : list->ptr[k] + list->outside[k + 1] - list->outside[k];
        for (int64_t i = list->ptr[k]; i < end; i++)
            nodes[count++] = make_node(plan, list->supernode[i], parts);
    }
    return count;
}

/* They ascend. */
static int64_t list_wide(const gsv_plan *plan, const int32_t *parts, gsv_node *nodes) {
    int64_t count = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            nodes[count++] = make_node(plan, s, parts);
    return count;
}

static cudaError_t put_nodes(const gsv_plan *plan, gsv_cuda_factor *device, const int32_t *parts,
                             gsv_node *nodes) {
    const gsv_supernode_list *narrow[] = {&plan->tiles->tiny, &plan->tiles->small};
    const layout l = make_layout(plan);
    int64_t count = list_wide(plan, parts, nodes);
    cudaError_t error = count > 0
                            ? gsv_cuda_fill((void *)device->plan.wide, nodes, (size_t)count * sizeof *nodes)
                            : cudaSuccess;
    for (int k = 0; k < 4 && error == cudaSuccess; k++) {
        const int all = k / 2;
        if (all && !device->lists)
            break;
        count = list_narrow(plan, narrow[k % 2], all, parts, nodes);
        char *lists = device->lists;
        void *to = all ? (void *)(lists + l.start[TINY + k % 2]) : device->upper[k % 2];
        if (count > 0)
            error = gsv_cuda_fill(to, nodes, (size_t)count * sizeof *nodes);
    }
    return error;
}

/* Triangle s is inverted in so many parts: count it, and widen the form of the sweeps to what it wants. */
static void read_parts(const gsv_plan *plan, int32_t s, int32_t parts, gsv_cuda_factor *device,
                       gsv_branch *branches) {
    gsv_sweep_form *form = &device->form;
    uint8_t *passes = &form->passes[plan->level[s]];
    const int32_t nc = gsv_columns(plan, s);
    if (parts == 1)
        return;
    device->divided += parts > 1;
    device->substituted += parts == 0;
    if (*passes < parts || (parts == 0 && !form->substitute))
        form->changes++;
    *passes = parts > *passes ? (uint8_t)parts : *passes;
    form->substitute |= parts == 0;
    if (parts == 0 || nc <= GSV_WARP_TILE_COLUMNS) {
        form->changes += !form->level_by_level_above;
        form->stamp.value += !form->level_by_level_above;
        form->level_by_level_above = 1;
    }
    if (plan->tiles->branches.of[s] >= 0) {
        branches[plan->tiles->branches.of[s]].refuse = 1;
        form->changes += !form->level_by_level;
        form->level_by_level = 1;
    }
}

/* May groups of right-hand sides be solved side by side? */
static int choose_side(const gsv_plan *plan, const int32_t *parts) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (gsv_columns(plan, s) > GSV_SIDE_WIDEST && parts[s] < GSV_WELL_CONDITIONED)
            return 1;
    return plan->tiles->stream.side;
}

/* Are branches in the way? Where one has a triangle that is not inverted whole, or they cannot be walked. */
static int wants_lists(const gsv_plan *plan, const gsv_cuda_factor *device, const int32_t *parts) {
    if (device->form.level_by_level)
        return plan->tiles->branches.count > 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (gsv_parts_of(parts[s]) != 1 && plan->tiles->branches.of[s] >= 0)
            return 1;
    return 0;
}

gpusolve_status gsv_cuda_place_nodes(gpusolve_factor *factor, gsv_cuda_factor *device, const int32_t *parts,
                                     gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    const size_t nsuper = (size_t)plan->l.nsuper;
    if (device->placed && memcmp(parts, device->parts, nsuper * sizeof *parts) == 0)
        return GPUSOLVE_OK;
    device->placed = 0;
    gpusolve_status status = GPUSOLVE_OK;
    if (!device->lists && wants_lists(plan, device, parts))
        status = make_lists(plan, device, message);
    if (status != GPUSOLVE_OK)
        return status;
    gsv_node *nodes = gsv_malloc(nsuper, sizeof *nodes);
    const size_t nbranches = (size_t)plan->tiles->branches.count;
    gsv_branch *branches = gsv_malloc(nbranches, sizeof *branches);
    if (nodes && branches) {
        if (nbranches > 0)
            memcpy(branches, plan->tiles->branches.branch, nbranches * sizeof *branches);
        device->divided = device->substituted = 0;
        device->form.side = choose_side(plan, parts);
        for (int32_t s = 0; s < plan->l.nsuper; s++)
            read_parts(plan, s, gsv_parts_of(parts[s]), device, branches);
        if (device->lists && device->form.level_by_level)
            use_lists(plan, device);
        /* first of all: what was captured for others leaves the new numbers alone */
        cudaError_t error = gsv_cuda_set_stamp(factor, device);
        if (error == cudaSuccess)
            error = put_nodes(plan, device, parts, nodes);
        if (error == cudaSuccess && nbranches > 0)
            error = gsv_cuda_fill((void *)device->plan.branches, branches, nbranches * sizeof *branches);
        status = gsv_cuda_check(error, "copying nodes to the device", message);
        factor->more_bytes = device->lists_bytes;
        for (const gsv_cuda_factor *old = device->retired; old; old = old->retired)
            factor->more_bytes += old->bytes;
    } else {
        status = out_of_memory(message);
    }
    gsv_free(nodes);
    gsv_free(branches);
    if (status == GPUSOLVE_OK) {
        memcpy(device->parts, parts, nsuper * sizeof *parts);
        device->placed = 1;
    }
    return status;
}
