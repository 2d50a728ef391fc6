/*
 * All members as one block-diagonal factor: their arrays one after the other, with each member's first column, row and number added.
 *
 * L L' is a supernodal factor. L D L' has no supernodal form, so it is compressed columns, with all rows of their supernodes: zeros
 * where a member has no entry. The structure is made of the members' own, so supernodes are those of each member alone, and so are their bits.
 */
#include <string.h>

#include "../../memory.h"
#include "batch.h"

static const gsv_plan *plan_of(const gpusolve_batch *batch, int64_t member) {
    return &batch->plans[batch->plan_of[member]];
}

static int64_t rows_of(const gsv_plan *plan) {
    return plan->l.row_ptr[plan->l.nsuper];
}

/* Numbers of a member in forest.x. */
static int64_t numbers_of(const gpusolve_batch *batch, const gsv_plan *plan) {
    int64_t numbers = 0;
    if (batch->has_d)
        return plan->nnz_l;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        numbers += (int64_t)gsv_rows(plan, s) * gsv_columns(plan, s);
    return numbers;
}

/* Where each member begins, and how large the forest is. */
static gpusolve_status add_up(gpusolve_batch *batch, int64_t *rows, gsv_message *message) {
    *rows = 0;
    batch->each = batch->count > 0 ? plan_of(batch, 0)->l.n : -1;
    for (int64_t m = 0; m < batch->count; m++) {
        const gsv_plan *plan = plan_of(batch, m);
        batch->row[m + 1] = batch->row[m] + plan->l.n;
        batch->supernode[m + 1] = batch->supernode[m] + plan->l.nsuper;
        batch->number[m + 1] = batch->number[m] + numbers_of(batch, plan);
        *rows += rows_of(plan);
        if (plan->l.n != batch->each)
            batch->each = -1;
        if (batch->row[m + 1] > INT32_MAX - 1)
            return gsv_fail(message, GPUSOLVE_TOO_LARGE,
                            "members: the orders of the first %lld add up to %lld, which exceeds %d",
                            (long long)m + 1, (long long)batch->row[m + 1], INT32_MAX - 1);
    }
    return GPUSOLVE_OK;
}

static int any_perm(const gpusolve_batch *batch) {
    for (int64_t k = 0; k < batch->nplans; k++)
        if (batch->plans[k].l.perm)
            return 1;
    return 0;
}

static int allocate(gpusolve_batch *batch, int64_t rows, gsv_structure *structure) {
    const int64_t n = batch->row[batch->count], nsuper = batch->supernode[batch->count],
                  numbers = batch->number[batch->count];
    const int perm = any_perm(batch);
    const int64_t counts[GSV_FOREST_ARRAYS] = {
        [GSV_FOREST_SUPER] = batch->has_d ? 0 : nsuper + 1,
        [GSV_FOREST_PI] = batch->has_d ? 0 : nsuper + 1,
        [GSV_FOREST_PX] = (batch->has_d ? n : nsuper) + 1,
        [GSV_FOREST_S] = batch->has_d ? numbers : rows,
        [GSV_FOREST_PERM] = perm ? n : 0,
        [GSV_FOREST_X] = numbers,
        [GSV_FOREST_DIAGONAL] = n,
    };
    memset(structure, 0, sizeof *structure);
    for (int k = 0; k < GSV_FOREST_ARRAYS; k++) {
        const size_t each = k == GSV_FOREST_X ? gsv_dtype_bytes(batch->dtype) : sizeof(int64_t);
        batch->memory[k] = gsv_malloc((size_t)counts[k], each);
        if (!batch->memory[k])
            return 0;
        batch->bytes += counts[k] * (int64_t)each;
    }
    structure->n = (int32_t)n;
    if (perm && !(structure->perm = gsv_malloc((size_t)n, sizeof *structure->perm)))
        return 0;
    return gsv_structure_reserve(structure, (int32_t)nsuper, rows);
}

/* One member's supernodes and rows into the structure; its rows begin at row_at. */
static void add_structure(const gpusolve_batch *batch, int64_t member, int64_t row_at,
                          gsv_structure *structure) {
    const gsv_structure *l = &plan_of(batch, member)->l;
    const int32_t first = (int32_t)batch->row[member];
    const int64_t k0 = batch->supernode[member];
    for (int32_t k = 0; k < l->nsuper; k++) {
        structure->first_column[k0 + k] = first + l->first_column[k];
        structure->row_ptr[k0 + k] = row_at + l->row_ptr[k];
    }
    for (int64_t i = 0; i < l->row_ptr[l->nsuper]; i++)
        structure->rows[row_at + i] = first + l->rows[i];
    for (int32_t i = 0; structure->perm && i < l->n; i++)
        structure->perm[first + i] = first + (l->perm ? l->perm[i] : i);
}

static void make_structure(const gpusolve_batch *batch, gsv_structure *structure) {
    int64_t row_at = 0;
    for (int64_t m = 0; m < batch->count; m++) {
        add_structure(batch, m, row_at, structure);
        row_at += rows_of(plan_of(batch, m));
    }
    structure->first_column[structure->nsuper] = structure->n;
    structure->row_ptr[structure->nsuper] = row_at;
}

/* The fields of a supernodal factor. */
static void fill_supernodal(gpusolve_batch *batch, const gsv_structure *l) {
    int64_t *super = batch->memory[GSV_FOREST_SUPER], *pi = batch->memory[GSV_FOREST_PI],
            *px = batch->memory[GSV_FOREST_PX], *s = batch->memory[GSV_FOREST_S];
    int64_t number = 0;
    for (int32_t k = 0; k <= l->nsuper; k++) {
        super[k] = l->first_column[k];
        pi[k] = l->row_ptr[k];
        px[k] = number;
        if (k < l->nsuper)
            number += (l->row_ptr[k + 1] - l->row_ptr[k]) * (l->first_column[k + 1] - l->first_column[k]);
    }
    for (int64_t i = 0; i < l->row_ptr[l->nsuper]; i++)
        s[i] = l->rows[i];
    batch->forest.nsuper = l->nsuper;
    batch->forest.ssize = l->row_ptr[l->nsuper];
    batch->forest.super = super;
    batch->forest.pi = pi;
    batch->forest.px = px;
    batch->forest.s = s;
}

/* Those of compressed columns. */
static void fill_simplicial(gpusolve_batch *batch, const gsv_structure *l) {
    int64_t *p = batch->memory[GSV_FOREST_PX], *i = batch->memory[GSV_FOREST_S];
    int64_t at = 0;
    for (int32_t k = 0; k < l->nsuper; k++)
        for (int32_t j = l->first_column[k]; j < l->first_column[k + 1]; j++) {
            p[j] = at;
            for (int64_t t = l->row_ptr[k] + j - l->first_column[k]; t < l->row_ptr[k + 1]; t++)
                i[at++] = l->rows[t];
        }
    p[l->n] = at;
    batch->forest.p = p;
    batch->forest.i = i;
    batch->forest.allow_fill = 1; /* it is full */
}

gpusolve_status gsv_batch_make_forest(gpusolve_handle *handle, gpusolve_batch *batch,
                                      gsv_structure *structure) {
    int64_t rows;
    const gpusolve_status status = add_up(batch, &rows, &handle->message);
    if (status)
        return status;
    if (!allocate(batch, rows, structure)) {
        gsv_structure_free(structure);
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY,
                        "batch: out of host memory for a copy of the members");
    }
    make_structure(batch, structure);
    gpusolve_factor_data *forest = &batch->forest;
    *forest = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    forest->kind = batch->has_d ? GPUSOLVE_SIMPLICIAL_LDL : GPUSOLVE_SUPERNODAL_LL;
    forest->dtype = batch->dtype;
    forest->storage = batch->storage;
    forest->itype = GPUSOLVE_INT64;
    forest->n = forest->minor = structure->n;
    forest->xsize = batch->number[batch->count];
    if (batch->has_d)
        fill_simplicial(batch, structure);
    else
        fill_supernodal(batch, structure);
    int64_t *perm = batch->memory[GSV_FOREST_PERM];
    for (int32_t k = 0; structure->perm && k < structure->n; k++)
        perm[k] = structure->perm[k];
    forest->perm = structure->perm ? perm : NULL;
    forest->x = batch->memory[GSV_FOREST_X];
    return GPUSOLVE_OK;
}

/* -------------------------------------------------------------------------------------------- numbers --- */

typedef struct copying {
    const gpusolve_batch *batch;
    const gpusolve_factor_data *members;
    int64_t first;
    char *x;
    double *diagonal; /* of member `first` */
    _Atomic int failed;
} copying;

/* The real part of the number at `from`. */
static double real_of(gpusolve_dtype dtype, const char *from) {
    return gsv_is_single(dtype) ? (double)*(const float *)(const void *)from
                                : *(const double *)(const void *)from;
}

/* D takes the places of L's diagonal, which is one. */
static int copy_columns(const gpusolve_factor_data *data, const gsv_plan *plan, char *to, double *diagonal) {
    const size_t number = gsv_dtype_bytes(data->dtype), real = gsv_real_bytes(data->dtype);
    char *d = gsv_malloc((size_t)plan->l.n, real);
    if (!d)
        return 0;
    gsv_import_d(data, d);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        for (int32_t k = 0; k < gsv_columns(plan, s); k++) {
            const int64_t count = gsv_rows(plan, s) - k;
            gsv_import_column(data, plan, s, k, 0, count, to);
            memcpy(to, d + (size_t)(plan->l.first_column[s] + k) * real, real); /* imaginary parts are zero */
            *diagonal++ = real_of(data->dtype, to);
            to += (size_t)count * number;
        }
    gsv_free(d);
    return 1;
}

static void copy_panels(const gpusolve_factor_data *data, const gsv_plan *plan, char *to, double *diagonal) {
    const size_t number = gsv_dtype_bytes(data->dtype);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const size_t nr = (size_t)gsv_rows(plan, s), nc = (size_t)gsv_columns(plan, s);
        gsv_import_panel(data, plan, s, to);
        for (size_t k = 0; k < nc; k++)
            *diagonal++ = real_of(data->dtype, to + k * (nr + 1) * number);
        to += nr * nc * number;
    }
}

static void copy_members(void *context, int64_t begin, int64_t end, int thread) {
    copying *c = context;
    const gpusolve_batch *batch = c->batch;
    (void)thread;
    for (int64_t k = begin; k < end; k++) {
        const int64_t m = c->first + k;
        gpusolve_factor_data data = c->members[k];
        data.storage =
            GPUSOLVE_STORAGE_SAME; /* the forest's numbers are rounded on their way to the backend */
        char *to =
            c->x + (size_t)(batch->number[m] - batch->number[c->first]) * gsv_dtype_bytes(batch->dtype);
        double *diagonal = c->diagonal + (batch->row[m] - batch->row[c->first]);
        if (!batch->has_d)
            copy_panels(&data, plan_of(batch, m), to, diagonal);
        else if (!copy_columns(&data, plan_of(batch, m), to, diagonal))
            c->failed = 1;
    }
}

enum { MEMBERS_AT_ONCE = 4, NUMBERS = 1 << 16 /* that are worth waking a thread */ };

gpusolve_status gsv_batch_copy_numbers(gpusolve_handle *handle, const gpusolve_batch *batch, int64_t first,
                                       int64_t count, const gpusolve_factor_data *members) {
    copying c = {.batch = batch, .members = members, .first = first};
    c.x = (char *)batch->memory[GSV_FOREST_X] + (size_t)batch->number[first] * gsv_dtype_bytes(batch->dtype);
    c.diagonal = (double *)batch->memory[GSV_FOREST_DIAGONAL] + batch->row[first];
    const int64_t numbers = batch->number[first + count] - batch->number[first];
    gsv_pool_ranges(handle->pool, gsv_pool_share(handle->pool, numbers, NUMBERS), count, MEMBERS_AT_ONCE,
                    copy_members, &c);
    return c.failed ? gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY,
                               "batch: out of host memory for the numbers of D")
                    : GPUSOLVE_OK;
}
