/* What is done with one import: made, refreshed, solved with, destroyed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "record.h"

/* ------------------------------------------------------------------------------- CHOLMOD's L, described --- */

static gpusolve_status describe(const preload_factor *L, gpusolve_factor_data *data) {
    const gpusolve_factor_data init = GPUSOLVE_FACTOR_DATA_INIT;
    const bool single = L->dtype == PRELOAD_SINGLE;
    *data = init;
    data->itype = L->itype == PRELOAD_LONG ? GPUSOLVE_INT64 : GPUSOLVE_INT32;
    if (L->xtype == PRELOAD_REAL)
        data->dtype = single ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    else
        data->dtype = single ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE;
    if (L->n > INT64_MAX || L->minor > INT64_MAX || L->nsuper > INT64_MAX || L->ssize > INT64_MAX ||
        L->xsize > INT64_MAX || L->nzmax > INT64_MAX || (L->is_super && !L->is_ll))
        return GPUSOLVE_INVALID_FACTOR;
    data->n = (int64_t)L->n;
    data->minor = (int64_t)L->minor;
    data->perm = L->ordering == PRELOAD_NATURAL ? NULL : L->Perm; /* as cholmod_solve takes it */
    data->x = L->x;
    data->z = L->xtype == PRELOAD_ZOMPLEX ? L->z : NULL;
    if (L->is_super) {
        data->kind = GPUSOLVE_SUPERNODAL_LL;
        data->nsuper = (int64_t)L->nsuper;
        data->ssize = (int64_t)L->ssize;
        data->xsize = (int64_t)L->xsize;
        data->super = L->super;
        data->pi = L->pi;
        data->px = L->px;
        data->s = L->s;
    } else {
        data->kind = L->is_ll ? GPUSOLVE_SIMPLICIAL_LL : GPUSOLVE_SIMPLICIAL_LDL;
        data->xsize = (int64_t)L->nzmax;
        data->p = L->p;
        data->i = L->i;
        data->nz = L->nz;
    }
    return GPUSOLVE_OK;
}

/* ------------------------------------------------------------------------------------ made and destroyed --- */

static void explain(preload_lease *lease, const char *what, gpusolve_status status) {
    const char *sentence = lease->engine->last_error(lease->handle);
    snprintf(lease->why, sizeof lease->why, "%s: %s: %.150s", what, lease->engine->status_name(status),
             sentence[0] ? sentence : lease->engine->status_message(status));
}

void preload_import_destroy(const preload_engine *engine, preload_import *import) {
    while (import->workspaces) {
        preload_workspace *next = import->workspaces->next;
        engine->workspace_destroy(import->workspaces->workspace);
        free(import->workspaces);
        import->workspaces = next;
    }
    while (import->selections) {
        preload_selection *next = import->selections->next;
        engine->selection_destroy(import->selections->selection);
        free(import->selections);
        import->selections = next;
    }
    engine->factor_destroy(import->factor);
    memset(import, 0, sizeof *import);
}

gpusolve_status preload_import_make(preload_lease *lease, preload_import *import, const preload_factor *L) {
    const preload_engine *engine = lease->engine;
    gpusolve_factor_data data;
    gpusolve_info info = {.size = sizeof info};
    gpusolve_status status = describe(L, &data);
    if (status != GPUSOLVE_OK) {
        snprintf(lease->why, sizeof lease->why, "L's fields do not describe a factor");
        return status;
    }
    if (import->factor) {
        status = engine->factor_refresh(lease->handle, import->factor, &data);
        if (status == GPUSOLVE_OK) {
            preload_add(COUNT_REFRESHES);
            return status;
        }
        explain(lease, "not refreshed", status);
        if (status == GPUSOLVE_NOT_POSITIVE_DEFINITE || status == GPUSOLVE_SINGULAR ||
            status == GPUSOLVE_NOT_FINITE)
            return status; /* the pattern may well fit the next numbers */
        preload_import_destroy(engine, import);
    }
    status = engine->factor_create(lease->handle, &data, &import->factor);
    if (status != GPUSOLVE_OK) {
        explain(lease, "not imported", status);
        return status;
    }
    if (engine->factor_info(lease->handle, import->factor, 0, &info) == GPUSOLVE_OK)
        import->factor_bytes = info.factor_bytes;
    preload_add(COUNT_IMPORTS);
    preload_log("imported: n=%lld, %.1f MB in %.1f ms", (long long)L->n, (double)info.factor_bytes / 1e6,
                info.plan_ms + info.prepare_ms);
    return GPUSOLVE_OK;
}

/* ----------------------------------------------------------------------------------------- whole solves --- */

/* Columns that a workspace for nrhs of them is made for. */
static int64_t roomy(int64_t nrhs) {
    return nrhs <= 1 ? 1 : nrhs <= 32 ? 32 : nrhs <= 64 ? 64 : 256;
}

/* The bytes of a workspace, of which the import keeps count. */
static int64_t workspace_bytes(preload_lease *lease, int64_t max_nrhs) {
    gpusolve_info info = {.size = sizeof info};
    const gpusolve_status status = lease->engine->factor_info(lease->handle, lease->factor, max_nrhs, &info);
    return status == GPUSOLVE_OK ? info.workspace_bytes : 0;
}

static preload_workspace *take_workspace(preload_lease *lease, int64_t max_nrhs) {
    preload_import *import = &lease->record->import;
    preload_lock_tools();
    preload_workspace **place = &import->workspaces;
    while (*place && (*place)->max_nrhs != max_nrhs)
        place = &(*place)->next;
    preload_workspace *taken = *place;
    if (taken)
        *place = taken->next;
    preload_unlock_tools();
    if (taken)
        return taken;
    taken = calloc(1, sizeof *taken);
    if (!taken)
        return NULL;
    taken->max_nrhs = max_nrhs;
    const gpusolve_status status =
        lease->engine->workspace_create(lease->handle, lease->factor, max_nrhs, &taken->workspace);
    if (status != GPUSOLVE_OK) {
        explain(lease, "no workspace", status);
        free(taken);
        return NULL;
    }
    const int64_t bytes = workspace_bytes(lease, max_nrhs);
    preload_lock_tools();
    import->tool_bytes += bytes;
    preload_unlock_tools();
    return taken;
}

bool preload_lease_solve(preload_lease *lease, int system, const gpusolve_dense *b, const gpusolve_dense *x) {
    snprintf(lease->why, sizeof lease->why, "out of memory");
    preload_workspace *workspace = take_workspace(lease, roomy(b->cols));
    if (!workspace)
        return false;
    const gpusolve_status status = lease->engine->solve(lease->handle, lease->factor, workspace->workspace,
                                                        (gpusolve_system)system, b, x);
    if (status != GPUSOLVE_OK)
        explain(lease, "not solved", status);
    preload_lock_tools();
    workspace->next = lease->record->import.workspaces;
    lease->record->import.workspaces = workspace;
    preload_unlock_tools();
    return status == GPUSOLVE_OK;
}

/* ------------------------------------------------------------------------------------------ selections --- */

preload_selection *preload_take_selection(preload_lease *lease, int system, int64_t b_count,
                                          const int64_t *b_rows, int64_t max_nrhs) {
    preload_lock_tools();
    preload_selection **place = &lease->record->import.selections;
    while (*place &&
           !((*place)->system == system && (*place)->b_count == b_count && (*place)->max_nrhs >= max_nrhs &&
             !memcmp((*place)->b_rows, b_rows, (size_t)b_count * sizeof *b_rows)))
        place = &(*place)->next;
    preload_selection *taken = *place;
    if (taken)
        *place = taken->next;
    preload_unlock_tools();
    return taken;
}

preload_selection *preload_make_selection(preload_lease *lease, int system, int64_t b_count,
                                          const int64_t *b_rows, int64_t x_count, const int64_t *x_rows,
                                          int64_t max_nrhs) {
    const size_t rows = (size_t)b_count + (x_rows ? (size_t)x_count : 0);
    gpusolve_selection_info info = {.size = sizeof info};
    preload_selection *made = malloc(sizeof *made + rows * sizeof(int64_t));
    snprintf(lease->why, sizeof lease->why, "out of memory");
    if (!made)
        return NULL;
    memset(made, 0, sizeof *made);
    made->system = system;
    made->all_x = x_rows == NULL;
    made->b_count = b_count;
    made->x_count = x_count;
    made->max_nrhs = max_nrhs;
    made->b_rows = (int64_t *)(made + 1);
    made->x_rows = x_rows ? made->b_rows + b_count : NULL;
    memcpy(made->b_rows, b_rows, (size_t)b_count * sizeof *b_rows);
    if (x_rows)
        memcpy(made->x_rows, x_rows, (size_t)x_count * sizeof *x_rows);
    const gpusolve_status status =
        lease->engine->selection_create(lease->handle, lease->factor, (gpusolve_system)system, b_count,
                                        made->b_rows, x_count, made->x_rows, max_nrhs, &made->selection);
    if (status != GPUSOLVE_OK) {
        explain(lease, "no selection", status);
        free(made);
        return NULL;
    }
    if (lease->engine->selection_get_info(lease->handle, made->selection, &info) == GPUSOLVE_OK)
        made->bytes = info.memory_bytes;
    preload_lock_tools();
    lease->record->import.tool_bytes += made->bytes;
    preload_unlock_tools();
    return made;
}

void preload_put_selection(preload_lease *lease, preload_selection *selection) {
    preload_import *import = &lease->record->import;
    preload_selection *old = NULL;
    int kept = 1;
    preload_lock_tools();
    selection->next = import->selections;
    import->selections = selection;
    preload_selection *last = selection;
    int64_t bytes = selection->bytes; /* of those that stay: no more than the factor, but for the newest */
    while (last->next && kept < PRELOAD_KEPT_SELECTIONS &&
           bytes + last->next->bytes <= import->factor_bytes) {
        last = last->next;
        bytes += last->bytes;
        kept++;
    }
    old = last->next;
    last->next = NULL;
    for (preload_selection *gone = old; gone; gone = gone->next)
        import->tool_bytes -= gone->bytes;
    preload_unlock_tools();
    while (old) {
        preload_selection *next = old->next;
        lease->engine->selection_destroy(old->selection);
        free(old);
        old = next;
    }
}

bool preload_rows_again(preload_lease *lease, int system, int64_t b_count, const int64_t *b_rows) {
    uint64_t hash = (uint64_t)b_count * 31 + (uint64_t)system + 1;
    for (int64_t k = 0; k < b_count; k++)
        hash = (hash ^ (uint64_t)b_rows[k]) * UINT64_C(0x100000001b3);
    preload_lock_tools();
    const bool again = lease->record->last_rows == hash;
    lease->record->last_rows = hash;
    preload_unlock_tools();
    return again;
}
