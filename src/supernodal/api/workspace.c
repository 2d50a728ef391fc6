/*
 * Workspaces: what a solve writes. One for each solve that is under way; the handle keeps some of its own for
 * callers that pass NULL, one a factor, the least recently used making room.
 */
#include <string.h>

#include "../../memory.h"
#include "checks.h"

enum { OWN_COLUMNS = 32 }; /* a sweep over 32 columns reads L once, wider blocks gain little more */

gpusolve_status gpusolve_workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          int64_t max_nrhs, gpusolve_workspace **workspace) {
    if (workspace)
        *workspace = NULL;
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status)
        status = gsv_check_max_nrhs(&factor->plan, factor->dtype, 1, max_nrhs, &handle->message);
    if (status)
        return status;
    if (!workspace)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "workspace: is NULL");

    gpusolve_workspace *created = gsv_calloc(1, sizeof *created);
    if (!created)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    created->executor = handle->executor;
    created->device = handle->device;
    created->factor_id = factor->id;
    created->dtype = factor->dtype;
    created->n = factor->plan.l.n;
    created->max_nrhs = max_nrhs;
    status = handle->executor->workspace_create(handle, factor, created);
    if (status) {
        gsv_free(created);
        return status;
    }
    *workspace = created;
    return GPUSOLVE_OK;
}

void gpusolve_workspace_destroy(gpusolve_workspace *workspace) {
    if (!workspace)
        return;
    workspace->executor->workspace_destroy(workspace);
    gsv_free(workspace->columns);
    gsv_free(workspace);
}

gpusolve_status gpusolve_workspace_check(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    GSV_ENTER(handle);
    gpusolve_status status =
        workspace ? gsv_check_owner(handle, "workspace", workspace->executor, workspace->device)
                  : GPUSOLVE_OK;
    if (status || !handle->executor->workspace_check)
        return status;
    if (workspace)
        return handle->executor->workspace_check(handle, workspace);
    for (int k = 0; k < GSV_OWN_WORKSPACES; k++) {
        const gpusolve_status own =
            handle->own[k] ? handle->executor->workspace_check(handle, handle->own[k]) : GPUSOLVE_OK;
        status = status ? status : own;
    }
    return status;
}

static void destroy_own(gpusolve_handle *handle) {
    for (int k = 0; k < GSV_OWN_WORKSPACES; k++)
        gpusolve_workspace_destroy(handle->own[k]);
}

gpusolve_status gsv_own_workspace(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t nrhs,
                                  gpusolve_workspace **workspace) {
    int64_t columns = nrhs < OWN_COLUMNS ? nrhs : OWN_COLUMNS;
    int slot = 0;
    while (slot < GSV_OWN_WORKSPACES - 1 &&
           !(handle->own[slot] && handle->own[slot]->factor_id == factor->id))
        slot++;
    gpusolve_workspace *found = handle->own[slot];
    if (!found || found->factor_id != factor->id || found->max_nrhs < columns) {
        gpusolve_workspace *created;
        gpusolve_status status = gpusolve_workspace_create(handle, factor, columns, &created);
        if (status)
            return status;
        if (found)
            gsv_handle_wait(handle); /* an earlier solve may still be using it */
        gpusolve_workspace_destroy(found);
        found = created;
    }
    memmove(handle->own + 1, handle->own, (size_t)slot * sizeof handle->own[0]);
    handle->own[0] = found;
    handle->own_destroy = destroy_own;
    *workspace = found;
    return GPUSOLVE_OK;
}
