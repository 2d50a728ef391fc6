/*
 * gpusolve_factor_create, _refresh, _destroy, _info and gpusolve_query: a factor's life.
 *
 *      data --import--> structure --tree, place--> tree --fill--> values --plan, prepare--> factor
 *                            ^                               |
 *                            +--------- cuts (split.h) ------+    once, on CUDA, for a factor with triangles that
 *                                                                 cannot be inverted
 *
 * What can be refused is refused before the backend allocates anything. No arithmetic happens here.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdatomic.h>
#include <time.h>

#include "../../memory.h"
#include "checks.h"
#include "factor.h"
#include "products/products.h"

double gsv_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* The import checks the rest of data. */
static gpusolve_status check_data(const gpusolve_factor_data *data, gsv_message *message) {
    return data ? GPUSOLVE_OK : gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data: is NULL");
}

/* gsv_plan.floats */
static int has_floats(const gpusolve_factor_data *data) {
    return gsv_import_numbers(data) == GSV_NUMBERS_DS;
}

/* The tree; takes over the structure. Leaves nothing behind on failure. */
static gpusolve_status make_tree(const gpusolve_handle *handle, gsv_structure *structure, int in_place,
                                 int floats, gsv_plan *plan, gsv_message *message) {
    const gpusolve_status status = gsv_plan_create(structure, handle->pool, plan, message);
    if (!status) {
        plan->in_place = in_place;
        plan->floats = floats;
        plan->machine = handle->machine;
    }
    return status;
}

static gpusolve_status import_tree(const gpusolve_handle *handle, const gpusolve_factor_data *data,
                                   gsv_plan *plan, gsv_message *message) {
    gsv_structure structure;
    const gpusolve_status status = gsv_import_structure(data, handle->pool, &structure, message);
    return status ? status : make_tree(handle, &structure, data->in_place, has_floats(data), plan, message);
}

/* The tree becomes one in which supernodes are cut so. On failure it is as before. */
static gpusolve_status split_tree(const gpusolve_handle *handle, gpusolve_factor *factor,
                                  const gsv_cuts *cuts, gsv_message *message) {
    const gsv_plan *old = &factor->plan;
    gsv_split_report *report = &factor->split;
    gsv_structure structure;
    gsv_plan plan;
    gpusolve_status status = gsv_structure_split(&old->l, cuts->at, &structure, message);
    if (!status)
        status = make_tree(handle, &structure, old->in_place, old->floats, &plan, message);
    if (status)
        return status;
    report->levels += plan.nlevels - old->nlevels;
    report->updates += plan.update_ptr[plan.l.nsuper] - old->update_ptr[old->l.nsuper];
    report->supernodes = report->slices = 0;
    for (int32_t k = 0; k < plan.l.nwhole; k++) {
        const int32_t slices = plan.l.slice_ptr[k + 1] - plan.l.slice_ptr[k];
        report->supernodes += slices > 1;
        report->slices += slices > 1 ? slices : 0;
    }
    gsv_plan_free(&factor->plan);
    factor->plan = plan;
    factor->plans++;
    return GPUSOLVE_OK;
}

/*
 * From a tree to a factor: its values, and, as long as there are triangles that cannot be inverted (split.h), a tree with
 * their supernodes cut, and the values again: once, for the cuts are a little finer than they need be. Then the rest of
 * the plan, which is the larger part of it. `cuts`: those that are known before.
 */
static gpusolve_status prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                               const gpusolve_factor_data *data, gsv_cuts *cuts) {
    const gsv_executor *executor = handle->executor;
    gpusolve_status status = GPUSOLVE_OK;
    do {
        const double start = gsv_milliseconds();
        if (cuts->at) {
            status = split_tree(handle, factor, cuts, &handle->message);
            factor->split.ms += gsv_milliseconds() - start;
            gsv_cuts_free(cuts);
        }
        const double split = gsv_milliseconds();
        if (!status && executor->place)
            status = executor->place(&factor->plan, &handle->message);
        if (!status && executor->fill)
            status = executor->fill(handle, factor, data, cuts);
        if (cuts->at)
            factor->split.ms += gsv_milliseconds() - split;
    } while (!status && cuts->at);
    gsv_cuts_free(cuts);
    const double start = gsv_milliseconds();
    if (!status)
        status = executor->plan(&factor->plan, handle->pool, &handle->message);
    factor->plan_ms += gsv_milliseconds() - start;
    return status ? status : executor->prepare(handle, factor, data);
}

/* All numbers, and the determinant, unless the executor does it. */
static gpusolve_status check_numbers(gpusolve_handle *handle, const gsv_plan *plan,
                                     const gpusolve_factor_data *data, gsv_determinant *determinant) {
    const int64_t n = plan->l.n;
    if (handle->executor->checks_numbers)
        return GPUSOLVE_OK;
    double *diagonal = gsv_malloc((size_t)n, sizeof *diagonal);
    if (!diagonal)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "factor: out of host memory");
    const gpusolve_status status =
        gsv_import_check_values(data, plan, handle->pool, diagonal, &handle->message);
    if (!status)
        *determinant = gsv_import_determinant(diagonal, n, gsv_import_has_d(data), handle->pool);
    gsv_free(diagonal);
    return status;
}

static gpusolve_status fill_factor(gpusolve_handle *handle, gpusolve_factor *factor,
                                   const gpusolve_factor_data *data, gsv_structure *structure) {
    double start = gsv_milliseconds();
    gsv_cuts cuts = {0};
    gpusolve_status status = structure ? make_tree(handle, structure, data->in_place, has_floats(data),
                                                   &factor->plan, &handle->message)
                                       : import_tree(handle, data, &factor->plan, &handle->message);
    if (status)
        return status;
    double planned = gsv_milliseconds();
    factor->numbers = gsv_import_numbers(data);
    factor->dtype = gsv_vector_dtype(factor->numbers);
    factor->has_d = gsv_import_has_d(data);
    factor->plans = 1;
    factor->plan_ms = planned - start;
    status = check_numbers(handle, &factor->plan, data, &factor->determinant);
    factor->check_ms = gsv_milliseconds() - planned;
    if (!status)
        status = prepare(handle, factor, data, &cuts);
    factor->prepare_ms = gsv_milliseconds() - start - factor->plan_ms;
    if (status) {
        handle->executor->release(factor);
        gsv_plan_free(&factor->plan);
    }
    return status;
}

gpusolve_status gsv_factor_make_of(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                   gsv_structure *structure, const gsv_blocks *blocks,
                                   gpusolve_factor **factor) {
    static _Atomic uint64_t last_id;
    gpusolve_factor *created = gsv_calloc(1, sizeof *created);
    if (!created && structure)
        gsv_structure_free(structure);
    if (!created)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "factor: out of host memory");
    created->executor = handle->executor;
    created->device = handle->device;
    created->id = atomic_fetch_add(&last_id, 1) + 1;
    created->blocks = blocks;
    const gpusolve_status status = fill_factor(handle, created, data, structure);
    created->blocks = NULL;
    if (status) {
        gsv_free(created);
        return status;
    }
    *factor = created;
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_factor_create(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                       gpusolve_factor **factor) {
    if (factor)
        *factor = NULL;
    GSV_ENTER(handle);
    const gpusolve_status status = check_data(data, &handle->message);
    if (status)
        return status;
    if (!factor)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "factor: is NULL");
    return gsv_factor_make_of(handle, data, NULL, NULL, factor);
}

static gpusolve_status check_kind(const gpusolve_factor *factor, const gpusolve_factor_data *data,
                                  gsv_message *message) {
    if (gsv_import_numbers(data) != factor->numbers)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "data->dtype: %d is not the factor's %d",
                        (int)data->dtype, (int)factor->dtype);
    if (gsv_import_has_d(data) != factor->has_d)
        return gsv_fail(message, GPUSOLVE_PATTERN_MISMATCH, "data->kind: is %d, but the factor is %s",
                        (int)data->kind, factor->has_d ? "L D L'" : "L L'");
    if (data->in_place != factor->plan.in_place)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "data->in_place: is %d, but the factor was made with %d", data->in_place,
                        factor->plan.in_place);
    return GPUSOLVE_OK;
}

/* Into the memory there is, or, where the new triangles cannot be inverted as the factor is split, or an earlier call has
 * lost the memory, into new memory. */
static gpusolve_status new_values(gpusolve_handle *handle, gpusolve_factor *factor,
                                  const gpusolve_factor_data *data, const gsv_fresh *fresh) {
    gsv_cuts cuts = {0};
    const gpusolve_status status =
        factor->prepared ? handle->executor->refresh(handle, factor, data, fresh, &cuts) : GPUSOLVE_OK;
    if (status || (factor->prepared && !cuts.at)) {
        gsv_cuts_free(&cuts);
        return status;
    }
    factor->unusable = 1; /* unless this ends well */
    factor->split.ms = 0;
    const gpusolve_status again = prepare(handle, factor, data, &cuts);
    if (again && handle->executor->drop) /* a part of a factor is of no use to anybody */
        handle->executor->drop(factor);
    return again;
}

gpusolve_status gpusolve_factor_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                        const gpusolve_factor_data *data) {
    GSV_ENTER(handle);
    gsv_message *message = &handle->message;
    const double start = gsv_milliseconds();
    gsv_determinant determinant = {0};
    gpusolve_factor_data own;
    gpusolve_status status = gsv_check_factor_owner(handle, factor);
    if (!status)
        status = check_data(data, message);
    if (!status && data->size == sizeof *data) { /* else it is refused below */
        own = *data;
        own.storage = gsv_are_mixed(factor->numbers) ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
        data = &own;
    }
    if (!status)
        status = gsv_import_is_planned(data, &factor->plan, handle->pool)
                     ? GPUSOLVE_OK
                     : gsv_import_check_pattern(data, &factor->plan, message);
    if (!status)
        status = check_kind(factor, data, message);
    if (!status)
        status = check_numbers(handle, &factor->plan, data, &determinant);
    if (!status) {
        factor->check_ms = gsv_milliseconds() - start;
        status = new_values(handle, factor, data, NULL);
    }
    if (!status) {
        factor->unusable = 0;
        factor->refreshes++;
        if (!handle->executor->checks_numbers)
            factor->determinant = determinant;
    }
    return status;
}

gpusolve_status gsv_factor_refresh_columns(gpusolve_handle *handle, gpusolve_factor *factor,
                                           const gpusolve_factor_data *data, int32_t first, int32_t end,
                                           const double *diagonal) {
    const double start = gsv_milliseconds();
    if (first == end)
        return GPUSOLVE_OK;
    const int all = first == 0 && end == factor->plan.l.n;
    if (all || factor->unusable || !factor->prepared)
        return gpusolve_factor_refresh(handle, factor, data);
    const gsv_fresh fresh = {first, end, diagonal,
                             gsv_import_determinant(diagonal, factor->plan.l.n, factor->has_d, handle->pool)};
    factor->check_ms = gsv_milliseconds() - start;
    const gpusolve_status status = new_values(handle, factor, data, &fresh);
    if (!status) {
        factor->unusable = 0;
        factor->refreshes++;
        factor->determinant = fresh.determinant;
    }
    return status;
}

void gpusolve_factor_destroy(gpusolve_factor *factor) {
    if (!factor)
        return;
    factor->executor->release(factor);
    gsv_plan_free(&factor->plan);
    gsv_free(factor);
}

static void fill_info(const gpusolve_handle *handle, const gsv_plan *plan, gsv_numbers numbers, int has_d,
                      int64_t max_nrhs, gpusolve_info *info) {
    const gsv_executor *executor = handle->executor;
    *info =
        (gpusolve_info){.size = sizeof *info,
                        .backend = executor->backend,
                        .dtype = gsv_vector_dtype(numbers),
                        .n = plan->l.n,
                        .nnz_l = plan->nnz_l,
                        .stored_bytes = plan->nnz_l * (int64_t)gsv_panel_bytes(numbers),
                        .supernodes = plan->l.nsuper,
                        .levels = plan->nlevels,
                        .widest_supernode = plan->widest,
                        .update_rows = plan->update_ptr[plan->l.nsuper],
                        .prepare_bytes = executor->prepare_bytes ? executor->prepare_bytes(plan, numbers) : 0,
                        .plan_bytes = plan->bytes,
                        .max_nrhs = max_nrhs,
                        .plans = 1};
    executor->bytes(handle->device, handle->same_bits, plan, numbers, has_d, max_nrhs, &info->factor_bytes,
                    &info->workspace_bytes);
}

gpusolve_status gpusolve_query(gpusolve_handle *handle, const gpusolve_factor_data *data, int64_t max_nrhs,
                               gpusolve_info *info) {
    GSV_ENTER(handle);
    gpusolve_status status = check_data(data, &handle->message);
    if (!status && max_nrhs < 0)
        status =
            gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "max_nrhs: is %lld", (long long)max_nrhs);
    if (!status)
        status = gsv_check_record("info", info, sizeof *info, &handle->message);
    if (status)
        return status;

    gsv_plan plan;
    double start = gsv_milliseconds();
    status = import_tree(handle, data, &plan, &handle->message);
    if (status)
        return status;
    status = handle->executor->plan(&plan, handle->pool, &handle->message);
    if (status) {
        gsv_plan_free(&plan);
        return status;
    }
    status =
        gsv_check_max_nrhs(&plan, gsv_vector_dtype(gsv_import_numbers(data)), 0, max_nrhs, &handle->message);
    if (!status) {
        fill_info(handle, &plan, gsv_import_numbers(data), gsv_import_has_d(data), max_nrhs, info);
        info->plan_ms = gsv_milliseconds() - start;
    }
    gsv_plan_free(&plan);
    return status;
}

gpusolve_status gpusolve_factor_info(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t max_nrhs,
                                     gpusolve_info *info) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor_prepared(handle, factor);
    if (!status)
        status = gsv_check_max_nrhs(&factor->plan, factor->dtype, 0, max_nrhs, &handle->message);
    if (!status)
        status = gsv_check_record("info", info, sizeof *info, &handle->message);
    if (status)
        return status;
    fill_info(handle, &factor->plan, factor->numbers, factor->has_d, max_nrhs, info);
    info->factor_bytes += gsv_more_bytes(factor);
    info->plan_ms = factor->plan_ms;
    info->prepare_ms = factor->prepare_ms;
    info->split_supernodes = factor->split.supernodes;
    info->split_slices = factor->split.slices;
    info->split_levels = factor->split.levels;
    info->split_update_rows = factor->split.updates;
    info->split_ms = factor->split.ms;
    info->plans = factor->plans;
    return GPUSOLVE_OK;
}
