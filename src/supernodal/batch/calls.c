/*
 * A batch's life: gpusolve_batch_create, _refresh, _destroy, and what it says of itself.
 *
 *      members --look (members.c)--> plans --forest.c--> one factor's data --gsv_factor_make_of--> factor
 *                                                            ^
 *      members --look--> numbers ----------------------------+--gpusolve_factor_refresh--> factor
 */
#include <string.h>

#include "../../memory.h"
#include "../api/factor.h"
#include "batch.h"

gpusolve_status gsv_batch_check(gpusolve_handle *handle, const gpusolve_batch *batch) {
    return batch ? gsv_check_owner(handle, "batch", batch->executor, batch->device)
                 : gsv_fail_missing(&handle->message, "batch");
}

static gpusolve_status no_memory(gpusolve_handle *handle) {
    return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "batch: out of host memory");
}

static gpusolve_status check_members(gpusolve_handle *handle, int64_t count,
                                     const gpusolve_factor_data *members) {
    if (count < 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "count: is %lld", (long long)count);
    if (count > INT32_MAX - 1)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "count: %lld members are too many",
                        (long long)count);
    if (count > 0 && !members)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "members: is NULL");
    return GPUSOLVE_OK;
}

void gpusolve_batch_destroy(gpusolve_batch *batch) {
    if (!batch)
        return;
    gpusolve_factor_destroy(batch->factor);
    batch->executor->selection->release(batch->device, batch->member_of);
    for (int k = 0; k < GSV_FOREST_ARRAYS; k++)
        gsv_free(batch->memory[k]);
    for (int64_t k = 0; k < batch->nplans; k++)
        gsv_plan_free(&batch->plans[k]);
    gsv_free(batch->plans);
    gsv_free(batch->plan_of);
    gsv_free(batch->row);
    gsv_free(batch->supernode);
    gsv_free(batch->number);
    gsv_free(batch);
}

/* For the device, which member each row is of. */
static gpusolve_status list_rows(gpusolve_handle *handle, gpusolve_batch *batch) {
    const int64_t n = batch->row[batch->count];
    if (batch->executor->backend == GPUSOLVE_BACKEND_HOST || batch->each >= 0)
        return GPUSOLVE_OK;
    int32_t *list = gsv_malloc((size_t)n, sizeof *list);
    if (!list)
        return no_memory(handle);
    for (int64_t m = 0; m < batch->count; m++)
        for (int64_t i = batch->row[m]; i < batch->row[m + 1]; i++)
            list[i] = (int32_t)m;
    const gpusolve_status status =
        batch->executor->selection->allocate(handle, list, (size_t)n * sizeof *list, &batch->member_of);
    gsv_free(list);
    return status;
}

static gpusolve_status fill_batch(gpusolve_handle *handle, gpusolve_batch *batch,
                                  const gpusolve_factor_data *members, gpusolve_status *statuses) {
    const size_t count = (size_t)batch->count;
    batch->plans = gsv_calloc(count, sizeof *batch->plans);
    batch->plan_of = gsv_calloc(count, sizeof *batch->plan_of);
    batch->row = gsv_calloc(count + 1, sizeof *batch->row);
    batch->supernode = gsv_calloc(count + 1, sizeof *batch->supernode);
    batch->number = gsv_calloc(count + 1, sizeof *batch->number);
    if (!batch->plans || !batch->plan_of || !batch->row || !batch->supernode || !batch->number)
        return no_memory(handle);
    gsv_structure structure;
    gpusolve_status status = gsv_batch_look(handle, batch, 0, batch->count, members, statuses);
    if (!status)
        status = gsv_batch_make_forest(handle, batch, &structure);
    if (status)
        return status;
    status = gsv_batch_copy_numbers(handle, batch, 0, batch->count, members);
    if (status) {
        gsv_structure_free(&structure);
        return status;
    }
    status = gsv_factor_make_of(handle, &batch->forest, &structure, NULL, &batch->factor);
    return status ? status : list_rows(handle, batch);
}

gpusolve_status gpusolve_batch_create(gpusolve_handle *handle, int64_t count,
                                      const gpusolve_factor_data *members, gpusolve_status *statuses,
                                      gpusolve_batch **batch) {
    if (batch)
        *batch = NULL;
    GSV_ENTER(handle);
    gpusolve_status status = check_members(handle, count, members);
    if (!status && !batch)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "batch: is NULL");
    if (status)
        return status;
    gpusolve_batch *created = gsv_calloc(1, sizeof *created);
    if (!created)
        return no_memory(handle);
    created->executor = handle->executor;
    created->device = handle->device;
    created->count = count;
    created->dtype = GPUSOLVE_DOUBLE;
    if (count > 0) { /* what the others are compared with; it is checked like them */
        created->dtype = members[0].dtype;
        if (members[0].size == sizeof *members && members[0].storage == GPUSOLVE_STORAGE_SINGLE)
            created->storage = GPUSOLVE_STORAGE_SINGLE;
        created->has_d = gsv_import_has_d(&members[0]);
    }
    status = fill_batch(handle, created, members, statuses);
    if (status)
        gpusolve_batch_destroy(created);
    else
        *batch = created;
    return status;
}

/* Numbers of some members into the copy, and from there to the backend; on failure the copy is as before. */
static gpusolve_status new_numbers(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first,
                                   int64_t count, const gpusolve_factor_data *members) {
    const size_t number = gsv_dtype_bytes(batch->dtype),
                 bytes = (size_t)(batch->number[first + count] - batch->number[first]) * number;
    const int64_t row = batch->row[first], end = batch->row[first + count];
    const size_t diagonal_bytes = (size_t)(end - row) * sizeof(double);
    char *place = (char *)batch->memory[GSV_FOREST_X] + (size_t)batch->number[first] * number;
    double *all = batch->memory[GSV_FOREST_DIAGONAL], *diagonal = all + row;
    char *old = gsv_malloc(bytes + diagonal_bytes, 1);
    if (!old)
        return no_memory(handle);
    memcpy(old, place, bytes);
    memcpy(old + bytes, diagonal, diagonal_bytes);
    gpusolve_status status = gsv_batch_copy_numbers(handle, batch, first, count, members);
    if (!status)
        status = gsv_factor_refresh_columns(handle, batch->factor, &batch->forest, (int32_t)row, (int32_t)end,
                                            all);
    if (status) {
        memcpy(place, old, bytes);
        memcpy(diagonal, old + bytes, diagonal_bytes);
    }
    gsv_free(old);
    return status;
}

gpusolve_status gpusolve_batch_refresh(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first,
                                       int64_t count, const gpusolve_factor_data *members,
                                       gpusolve_status *statuses) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_batch_check(handle, batch);
    if (!status && (first < 0 || first > batch->count))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "first: is %lld of %lld members",
                          (long long)first, (long long)batch->count);
    if (!status)
        status = check_members(handle, count, members);
    if (!status && count > batch->count - first)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "count: is %lld, but the batch has %lld members from the first one on",
                          (long long)count, (long long)(batch->count - first));
    if (status || count == 0)
        return status;
    status = gsv_batch_look(handle, batch, first, count, members, statuses);
    return status ? status : new_numbers(handle, batch, first, count, members);
}

gpusolve_status gpusolve_batch_get_info(gpusolve_handle *handle, const gpusolve_batch *batch,
                                        int64_t max_nrhs, gpusolve_batch_info *info) {
    GSV_ENTER(handle);
    gpusolve_info inner = {.size = sizeof inner};
    gpusolve_status status = gsv_batch_check(handle, batch);
    if (!status)
        status = gpusolve_factor_info(handle, batch->factor, max_nrhs, &inner);
    if (!status)
        status = gsv_check_record("info", info, sizeof *info, &handle->message);
    if (status)
        return status;
    const int64_t n = batch->row[batch->count],
                  vectors = gsv_batch_columns(max_nrhs) * n * (int64_t)gsv_dtype_bytes(batch->factor->dtype);
    *info = (gpusolve_batch_info){.size = sizeof *info,
                                  .count = batch->count,
                                  .n = n,
                                  .patterns = batch->nplans,
                                  .factor_bytes = inner.factor_bytes +
                                                  (batch->member_of ? n * (int64_t)sizeof(int32_t) : 0),
                                  .workspace_bytes = inner.workspace_bytes + vectors + batch->count,
                                  .host_bytes = batch->bytes + inner.plan_bytes};
    for (int64_t k = 0; k < batch->nplans; k++)
        info->host_bytes += batch->plans[k].bytes;
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_batch_get_offsets(gpusolve_handle *handle, const gpusolve_batch *batch,
                                           int64_t *offsets) {
    GSV_ENTER(handle);
    const gpusolve_status status = gsv_batch_check(handle, batch);
    if (status)
        return status;
    if (!offsets)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "offsets: is NULL");
    memcpy(offsets, batch->row, (size_t)(batch->count + 1) * sizeof *offsets);
    return GPUSOLVE_OK;
}

int64_t gpusolve_batch_get_count(const gpusolve_batch *batch) {
    return batch ? batch->count : 0;
}

gpusolve_dtype gpusolve_batch_get_dtype(const gpusolve_batch *batch) {
    return batch ? batch->factor->dtype : GPUSOLVE_DOUBLE;
}

const gpusolve_factor *gpusolve_batch_get_factor(const gpusolve_batch *batch) {
    return batch ? batch->factor : NULL;
}
