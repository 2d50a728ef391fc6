/*
 * How the triangles have come out of their inversion, and what follows from it: the nodes of the upper tree, which tell the
 * kernels, and the form of the sweeps. The kernels that walk branches know a branch's supernodes from its own lists
 * (branches.h).
 */
#include "../../memory.h"
#include "../../trsm/cuda/panels/inverse.h"
#include "support.h"

#include <string.h>

static gsv_node make_node(const gsv_plan *plan, int32_t s, const uint8_t *well) {
    return (gsv_node){.panel = plan->schedule->panel_ptr[s],
                      .rows = plan->schedule->row_place[s],
                      .update = plan->schedule->update_place[s],
                      .first_column = plan->l.first_column[s],
                      .nc = gsv_columns(plan, s),
                      .nr = gsv_rows(plan, s),
                      .well_conditioned = well[s]};
}

static int64_t list_narrow(const gsv_plan *plan, const gsv_supernode_list *list, const uint8_t *well,
                           gsv_node *nodes) {
    for (int64_t k = 0; k < list->count; k++)
        nodes[k] = make_node(plan, list->supernode[k], well);
    return list->count;
}

/* They ascend. */
static int64_t list_wide(const gsv_plan *plan, const uint8_t *well, gsv_node *nodes) {
    int64_t count = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            nodes[count++] = make_node(plan, s, well);
    return count;
}

static cudaError_t put_nodes(const gsv_plan *plan, const gsv_device_plan *device, const uint8_t *well,
                             gsv_node *nodes) {
    const gsv_node *const to[] = {device->tiny, device->small, device->wide};
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < 3 && error == cudaSuccess; k++) {
        const int64_t count = k == 0   ? list_narrow(plan, &plan->schedule->tiny, well, nodes)
                              : k == 1 ? list_narrow(plan, &plan->schedule->small, well, nodes)
                                       : list_wide(plan, well, nodes);
        if (count > 0)
            error = gsv_cuda_fill((void *)to[k], nodes, (size_t)count * sizeof *nodes);
    }
    return error;
}

/* May groups of right-hand sides be solved side by side? */
static int choose_side(const gsv_plan *plan, const uint8_t *well) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (gsv_columns(plan, s) > GSV_SIDE_WIDEST && !well[s])
            return 1;
    return plan->schedule->stream.side;
}

gpusolve_status gsv_cuda_place_nodes(gpusolve_factor *factor, gsv_cuda_factor *device, gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    const size_t nsuper = (size_t)plan->l.nsuper;
    uint8_t *well = device->well + nsuper;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        well[s] = !gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)) && device->k[s] <= GSV_WELL_LIMIT;
    if (device->placed && memcmp(well, device->well, nsuper) == 0)
        return GPUSOLVE_OK;
    device->placed = 0;
    gsv_node *nodes = gsv_malloc(nsuper, sizeof *nodes);
    if (!nodes)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    device->abilities.side = choose_side(plan, well);
    const cudaError_t error = put_nodes(plan, &device->plan, well, nodes);
    gpusolve_status status = gsv_cuda_check(error, "copying nodes to the device", message);
    factor->more_bytes = 0;
    for (const gsv_cuda_factor *old = factor->retired; old; old = old->next)
        factor->more_bytes += old->bytes + old->values_bytes;
    gsv_free(nodes);
    if (status == GPUSOLVE_OK) {
        memcpy(device->well, well, nsuper);
        device->placed = 1;
    }
    return status;
}
