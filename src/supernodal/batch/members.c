/*
 * Members one by one: is each a factor, does it go with the others, has it the pattern that is wanted, and are its numbers good?
 * What follows from a pattern is made once for members that share it.
 */
#include "../../memory.h"
#include "../import/fields.h"
#include "batch.h"

typedef struct looking {
    gpusolve_handle *handle;
    gpusolve_batch *batch;
    const gpusolve_factor_data *members;
    int64_t first;          /* the number of members[0] in the batch */
    int planned;            /* the batch has its plans: they are compared with */
    gpusolve_status *found; /* [count] what is wrong */
} looking;

/* A member's data as the batch looks at it: all numbers are copied anyway, and a refresh keeps the storage. */
static gpusolve_factor_data read_member(const looking *l, int64_t k) {
    gpusolve_factor_data read = l->members[k];
    if (read.size != sizeof read) /* it is refused */
        return read;
    read.in_place = 0;
    if (l->planned)
        read.storage = l->batch->storage;
    return read;
}

static gpusolve_status check_kind(const gpusolve_batch *batch, const gpusolve_factor_data *data,
                                  gsv_message *message) {
    if (data->dtype != batch->dtype)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "data->dtype: is %d, the batch's is %d",
                        (int)data->dtype, (int)batch->dtype);
    if (gsv_import_has_d(data) != batch->has_d)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "data->kind: is %d, but the batch is of factors %s",
                        (int)data->kind, batch->has_d ? "L D L'" : "L L'");
    if (data->storage != batch->storage)
        return gsv_fail(message, GPUSOLVE_TYPE_MISMATCH, "data->storage: is %d, the batch's is %d",
                        (int)data->storage, (int)batch->storage);
    return GPUSOLVE_OK;
}

/* -------------------------------------------------------------------------------------------- pattern --- */

static int same_arrays(const gpusolve_factor_data *a, const gpusolve_factor_data *b) {
    return a->kind == b->kind && a->itype == b->itype && a->n == b->n && a->perm == b->perm &&
           a->nsuper == b->nsuper && a->ssize == b->ssize && a->xsize == b->xsize && a->super == b->super &&
           a->pi == b->pi && a->px == b->px && a->s == b->s && a->p == b->p && a->i == b->i &&
           a->nz == b->nz && a->allow_fill == b->allow_fill;
}

static gpusolve_status make_plan(const looking *l, const gpusolve_factor_data *data, gsv_plan *plan,
                                 gsv_message *message) {
    gsv_structure structure;
    const gpusolve_status status = gsv_import_structure(data, l->handle->pool, &structure, message);
    return status ? status : gsv_plan_create(&structure, l->handle->pool, plan, message);
}

/* Plan a member, unless it has the pattern of the last plan. planned: NULL, or data of that plan. */
static gpusolve_status plan_member(const looking *l, int64_t k, const gpusolve_factor_data *data,
                                   const gpusolve_factor_data *planned) {
    gpusolve_batch *batch = l->batch;
    if (!planned || !(same_arrays(data, planned) ||
                      gsv_import_is_planned(data, &batch->plans[batch->nplans - 1], l->handle->pool))) {
        const gpusolve_status status = make_plan(l, data, &batch->plans[batch->nplans], NULL);
        if (status)
            return status;
        batch->nplans++;
    }
    batch->plan_of[l->first + k] = (int32_t)(batch->nplans - 1);
    return GPUSOLVE_OK;
}

static const gsv_plan *plan_of(const looking *l, int64_t k) {
    return &l->batch->plans[l->batch->plan_of[l->first + k]];
}

static gpusolve_status compare_pattern(const looking *l, int64_t k, const gpusolve_factor_data *data,
                                       gsv_message *message) {
    return gsv_import_is_planned(data, plan_of(l, k), l->handle->pool)
               ? GPUSOLVE_OK
               : gsv_import_check_pattern(data, plan_of(l, k), message);
}

/* Of all members. Returns what ends the look: out of memory. */
static gpusolve_status look_at_patterns(const looking *l, int64_t count) {
    gpusolve_factor_data planned = GPUSOLVE_FACTOR_DATA_INIT;
    for (int64_t k = 0; k < count; k++) {
        const gpusolve_factor_data data = read_member(l, k);
        gpusolve_status status = gsv_check_outline(&data, NULL);
        if (!status)
            status = check_kind(l->batch, &data, NULL);
        if (!status && l->planned)
            status = compare_pattern(l, k, &data, NULL);
        else if (!status && !(status = plan_member(l, k, &data, l->batch->nplans > 0 ? &planned : NULL)))
            planned = data;
        if (status == GPUSOLVE_OUT_OF_MEMORY)
            return status;
        l->found[k] = status;
    }
    return GPUSOLVE_OK;
}

/* -------------------------------------------------------------------------------------------- numbers --- */

static void look_at_numbers(void *context, int64_t begin, int64_t end, int thread) {
    const looking *l = context;
    (void)thread;
    for (int64_t k = begin; k < end; k++)
        if (!l->found[k]) {
            const gpusolve_factor_data data = read_member(l, k);
            l->found[k] = gsv_import_check_values(&data, plan_of(l, k), NULL, NULL, NULL);
        }
}

/* Say what is wrong with member k: what was found comes out once more. */
static gpusolve_status explain(const looking *l, int64_t k) {
    const gpusolve_factor_data data = read_member(l, k);
    gsv_message said = {""};
    gsv_plan plan;
    gpusolve_status status = gsv_check_outline(&data, &said);
    if (!status)
        status = check_kind(l->batch, &data, &said);
    if (!status && l->planned)
        status = compare_pattern(l, k, &data, &said);
    if (!status && !(status = make_plan(l, &data, &plan, &said))) {
        status = gsv_import_check_values(&data, &plan, NULL, NULL, &said);
        gsv_plan_free(&plan);
    }
    return gsv_fail(&l->handle->message, status, "members[%lld]: %.200s", (long long)(l->first + k),
                    said.text);
}

enum { MEMBERS_AT_ONCE = 4, NUMBERS = 1 << 16 /* that are worth waking a thread */ };

static int64_t count_numbers(const looking *l, int64_t count) {
    int64_t numbers = 0;
    for (int64_t k = 0; k < count; k++)
        numbers += l->found[k] ? 0 : plan_of(l, k)->nnz_l;
    return numbers;
}

gpusolve_status gsv_batch_look(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first, int64_t count,
                               const gpusolve_factor_data *members, gpusolve_status *statuses) {
    gpusolve_status *found = gsv_calloc((size_t)count, sizeof *found);
    looking l = {handle, batch, members, first, batch->nplans > 0, found};
    gpusolve_status status = found ? look_at_patterns(&l, count) : GPUSOLVE_OUT_OF_MEMORY;
    if (status) {
        gsv_free(found);
        return gsv_fail(&handle->message, status, "batch: out of host memory");
    }
    gsv_pool_ranges(handle->pool, gsv_pool_share(handle->pool, count_numbers(&l, count), NUMBERS), count,
                    MEMBERS_AT_ONCE, look_at_numbers, &l);
    for (int64_t k = 0; k < count; k++) {
        if (statuses)
            statuses[k] = found[k];
        if (found[k] && !status)
            status = explain(&l, k);
    }
    gsv_free(found);
    return status;
}
