/* What a solve with a batch writes: the workspace of the forest's factor, and vectors over all rows, for blocks that are not one. */
#include "../../memory.h"
#include "batch.h"

enum { WIDEST = 256 }; /* columns that the device's tasks have side by side (gpusolve_workspace_create) */

int64_t gsv_batch_columns(int64_t max_nrhs) {
    return max_nrhs < WIDEST ? max_nrhs : WIDEST;
}

static size_t vector_bytes(const gpusolve_batch *batch, const gpusolve_batch_workspace *workspace) {
    return (size_t)(batch->row[batch->count] * workspace->columns) * gsv_dtype_bytes(batch->factor->dtype);
}

void *gsv_batch_host_vectors(const gpusolve_batch *batch, gpusolve_batch_workspace *workspace) {
    if (!workspace->host_vectors)
        workspace->host_vectors = gsv_malloc(vector_bytes(batch, workspace), 1);
    return workspace->host_vectors;
}

static gpusolve_status fill_workspace(gpusolve_handle *handle, const gpusolve_batch *batch, int64_t max_nrhs,
                                      gpusolve_batch_workspace *workspace) {
    const gsv_selection_functions *memory = handle->executor->selection;
    const size_t count = (size_t)batch->count;
    gpusolve_status status = gpusolve_workspace_create(handle, batch->factor, max_nrhs, &workspace->inner);
    if (!status)
        status = memory->allocate(handle, NULL, vector_bytes(batch, workspace), &workspace->vectors);
    if (!status && handle->backend == GPUSOLVE_BACKEND_CUDA)
        status = memory->allocate(handle, NULL, count, &workspace->active);
    if (status)
        return status;
    for (int side = 0; side < 2; side++)
        workspace->blocks[side] = gsv_malloc(count, sizeof *workspace->blocks[side]);
    workspace->host_active = gsv_malloc(count, 1);
    return workspace->blocks[0] && workspace->blocks[1] && workspace->host_active
               ? GPUSOLVE_OK
               : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
}

gpusolve_status gpusolve_batch_workspace_create(gpusolve_handle *handle, const gpusolve_batch *batch,
                                                int64_t max_nrhs, gpusolve_batch_workspace **workspace) {
    if (workspace)
        *workspace = NULL;
    GSV_ENTER(handle);
    gpusolve_status status = gsv_batch_check(handle, batch);
    if (!status)
        status =
            gsv_check_max_nrhs(&batch->factor->plan, batch->factor->dtype, 1, max_nrhs, &handle->message);
    if (!status && !workspace)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "workspace: is NULL");
    if (status)
        return status;
    gpusolve_batch_workspace *created = gsv_calloc(1, sizeof *created);
    if (!created)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    created->executor = handle->executor;
    created->device = handle->device;
    created->factor_id = batch->factor->id;
    created->columns = gsv_batch_columns(max_nrhs);
    status = fill_workspace(handle, batch, max_nrhs, created);
    if (status)
        gpusolve_batch_workspace_destroy(created);
    else
        *workspace = created;
    return status;
}

void gpusolve_batch_workspace_destroy(gpusolve_batch_workspace *workspace) {
    if (!workspace)
        return;
    gpusolve_workspace_destroy(workspace->inner);
    workspace->executor->selection->release(workspace->device, workspace->vectors);
    workspace->executor->selection->release(workspace->device, workspace->active);
    for (int side = 0; side < 2; side++)
        gsv_free(workspace->blocks[side]);
    gsv_free(workspace->host_vectors);
    gsv_free(workspace->host_active);
    gsv_free(workspace);
}

gpusolve_status gpusolve_batch_workspace_check(gpusolve_handle *handle, gpusolve_batch_workspace *workspace) {
    GSV_ENTER(handle);
    const gpusolve_status status =
        workspace ? gsv_check_owner(handle, "workspace", workspace->executor, workspace->device)
                  : gsv_fail_missing(&handle->message, "workspace");
    return status ? status : gpusolve_workspace_check(handle, workspace->inner);
}
