/*
 * The import's entry points: the structure, the comparison with a plan, and the copies of panels and of D.
 * The checks of the fields are in import/fields.c, those of the numbers in import/values.c.
 */
#include "import.h"

#include <string.h>

#include "../../memory.h"
#include "fields.h"
#include "simplicial.h"

int gsv_import_has_d(const gpusolve_factor_data *data) {
    return data->kind == GPUSOLVE_SIMPLICIAL_LDL;
}

/* ------------------------------------------------------------------------------------------ structure --- */

enum {
    INDICES = 1 << 16,         /* to be copied or compared are worth waking a thread */
    INDICES_AT_ONCE = 1 << 13, /* of a thread */
    SUPERNODES_AT_ONCE = 256
};

typedef struct copying {
    int32_t *to;
    const void *from;
    gpusolve_itype itype;
} copying;

static void copy_range(void *context, int64_t begin, int64_t end, int member) {
    const copying *c = context;
    (void)member;
    for (int64_t k = begin; k < end; k++)
        c->to[k] = (int32_t)gsv_index(c->from, c->itype, k);
}

static void copy_indices(int32_t *to, const void *from, gpusolve_itype itype, int64_t count, gsv_pool *pool) {
    copying c = {to, from, itype};
    gsv_pool_ranges(pool, gsv_pool_share(pool, count, INDICES), count, INDICES_AT_ONCE, copy_range, &c);
}

static gpusolve_status supernodal_structure(const gpusolve_factor_data *data, gsv_pool *pool,
                                            gsv_structure *structure, gsv_message *message) {
    if (!gsv_structure_reserve(structure, (int32_t)data->nsuper, data->ssize))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for the factor's row indices");
    copy_indices(structure->first_column, data->super, data->itype, data->nsuper + 1, pool);
    for (int64_t k = 0; k <= data->nsuper; k++)
        structure->row_ptr[k] = gsv_index(data->pi, data->itype, k);
    copy_indices(structure->rows, data->s, data->itype, data->ssize, pool);
    return GPUSOLVE_OK;
}

/* n = 0: no supernodes, but arrays that can be asked. */
static gpusolve_status empty_structure(gsv_structure *structure, gsv_message *message) {
    if (!gsv_structure_reserve(structure, 0, 0))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for an empty factor");
    structure->first_column[0] = 0;
    structure->row_ptr[0] = 0;
    return GPUSOLVE_OK;
}

static gpusolve_status copy_perm(const gpusolve_factor_data *data, gsv_pool *pool, gsv_structure *structure,
                                 gsv_message *message) {
    if (!data->perm || data->n == 0)
        return GPUSOLVE_OK;
    structure->perm = gsv_malloc((size_t)data->n, sizeof *structure->perm);
    if (!structure->perm)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for the permutation");
    copy_indices(structure->perm, data->perm, data->itype, data->n, pool);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_import_structure(const gpusolve_factor_data *data, gsv_pool *pool,
                                     gsv_structure *structure, gsv_message *message) {
    memset(structure, 0, sizeof *structure);
    gpusolve_status status = gsv_check_fields(data, pool, message);
    if (status)
        return status;
    structure->n = (int32_t)data->n;
    if (data->n == 0)
        status = empty_structure(structure, message);
    else if (gsv_is_supernodal(data))
        status = supernodal_structure(data, pool, structure, message);
    else
        status = gsv_simplicial_structure(data, structure, message);
    if (!status)
        status = copy_perm(data, pool, structure, message);
    if (status)
        gsv_structure_free(structure);
    return status;
}

/* -------------------------------------------------------------------------------------------- pattern --- */

static gpusolve_status compare(const char *name, int64_t k, int64_t got, int64_t planned,
                               gsv_message *message) {
    if (got == planned)
        return GPUSOLVE_OK;
    return gsv_fail(message, GPUSOLVE_PATTERN_MISMATCH, "%s[%lld] = %lld, but %lld was planned", name,
                    (long long)k, (long long)got, (long long)planned);
}

/* Rows of the caller's supernode k: those of its first slice. */
static int64_t planned_rows(const gsv_structure *l, int32_t k) {
    const int32_t first = gsv_first_slice(l, k);
    return l->row_ptr[first + 1] - l->row_ptr[first];
}

static gpusolve_status compare_perm(const gpusolve_factor_data *data, const gsv_structure *l,
                                    gsv_message *message) {
    gpusolve_status status = GPUSOLVE_OK;
    if (data->perm || l->perm) /* no permutation is the identity */
        for (int64_t k = 0; k < l->n && !status; k++)
            status = compare("perm", k, data->perm ? gsv_index(data->perm, data->itype, k) : k,
                             l->perm ? l->perm[k] : k, message);
    return status;
}

/* super and pi: how many supernodes there are, and where they and their rows begin. */
static gpusolve_status compare_starts(const gpusolve_factor_data *data, const gsv_structure *l,
                                      gsv_message *message) {
    const int32_t nwhole = gsv_nwhole(l);
    if (data->nsuper != nwhole)
        return gsv_fail(message, GPUSOLVE_PATTERN_MISMATCH,
                        "data->nsuper: is %lld, but %d supernodes were planned", (long long)data->nsuper,
                        (int)nwhole);
    gpusolve_status status = GPUSOLVE_OK;
    for (int32_t k = 0; k <= nwhole && !status; k++)
        status = compare("super", k, gsv_index(data->super, data->itype, k),
                         l->first_column[gsv_first_slice(l, k)], message);
    int64_t start = 0;
    for (int32_t k = 0; k <= nwhole && !status; k++) {
        status = compare("pi", k, gsv_index(data->pi, data->itype, k), start, message);
        start += k < nwhole ? planned_rows(l, k) : 0;
    }
    return status;
}

/* An index array beside what was planned. */
typedef struct comparison {
    const gpusolve_factor_data *data;
    const gsv_structure *l;
    _Atomic int different;
} comparison;

static int differ(const void *array, gpusolve_itype itype, int64_t from, const int32_t *planned,
                  int64_t count) {
    int different = 0;
    for (int64_t k = 0; k < count; k++)
        different |= gsv_index(array, itype, from + k) != planned[k];
    return different;
}

static void compare_perm_range(void *context, int64_t begin, int64_t end, int member) {
    comparison *c = context;
    (void)member;
    if (differ(c->data->perm, c->data->itype, begin, c->l->perm + begin, end - begin))
        c->different = 1;
}

/* s of the caller's supernode k. message: the first row that differs is named; NULL: nothing is. */
static gpusolve_status compare_rows(const gpusolve_factor_data *data, const gsv_structure *l, int32_t k,
                                    gsv_message *message) {
    const int64_t at = gsv_index(data->pi, data->itype, k), count = planned_rows(l, k);
    const int32_t *rows = l->rows + l->row_ptr[gsv_first_slice(l, k)];
    gpusolve_status status = GPUSOLVE_OK;
    if (differ(data->s, data->itype, at, rows, count))
        for (int64_t i = 0; i < count && !status; i++)
            status = compare("s", at + i, gsv_index(data->s, data->itype, at + i), rows[i], message);
    return status;
}

static void compare_rows_range(void *context, int64_t begin, int64_t end, int member) {
    comparison *c = context;
    (void)member;
    for (int32_t k = (int32_t)begin; k < end; k++)
        if (compare_rows(c->data, c->l, k, NULL))
            c->different = 1;
}

int gsv_import_is_planned(const gpusolve_factor_data *data, const gsv_plan *plan, gsv_pool *pool) {
    const gsv_structure *l = &plan->l;
    if (gsv_check_outline(data, NULL) || data->n == 0 || data->n != l->n || !gsv_is_supernodal(data) ||
        !data->perm != !l->perm || compare_starts(data, l, NULL) ||
        data->ssize != gsv_index(data->pi, data->itype, data->nsuper))
        return 0;
    comparison c = {.data = data, .l = l};
    if (l->perm)
        gsv_pool_ranges(pool, gsv_pool_share(pool, l->n, INDICES), l->n, INDICES_AT_ONCE, compare_perm_range,
                        &c);
    gsv_pool_ranges(pool, gsv_pool_share(pool, data->ssize, INDICES), data->nsuper, SUPERNODES_AT_ONCE,
                    compare_rows_range, &c);
    return !c.different && gsv_check_px(data, NULL) == GPUSOLVE_OK;
}

/* Every entry of column j must be among the rows of its supernode, the diagonal first; both ascend. */
static gpusolve_status place_column(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s,
                                    int32_t j, gsv_message *message) {
    const gsv_column_range column = gsv_simplicial_column(data, j);
    const int32_t *row = plan->l.rows + plan->l.row_ptr[s] + (j - plan->l.first_column[s]);
    const int32_t *end = plan->l.rows + plan->l.row_ptr[s + 1];
    int64_t t = column.start;
    if (gsv_index(data->i, data->itype, t) == j)
        for (; t < column.start + column.count; t++, row++) {
            const int64_t i = gsv_index(data->i, data->itype, t);
            while (row < end && *row < i)
                row++;
            if (row == end || *row != i)
                break;
        }
    if (t == column.start + column.count)
        return GPUSOLVE_OK;
    /* no place: is the column a column at all? */
    const gpusolve_status status = gsv_read_column(data, j, column, NULL, message);
    if (status)
        return status;
    return gsv_fail(message, GPUSOLVE_PATTERN_MISMATCH,
                    "i[%lld] = %lld: this row of column %d has no place in the planned pattern", (long long)t,
                    (long long)gsv_index(data->i, data->itype, t), (int)j);
}

gpusolve_status gsv_import_check_pattern(const gpusolve_factor_data *data, const gsv_plan *plan,
                                         gsv_message *message) {
    const gsv_structure *l = &plan->l;
    gpusolve_status status = gsv_check_fields(data, NULL, message);
    if (status)
        return status;
    if (data->n != l->n)
        return gsv_fail(message, GPUSOLVE_PATTERN_MISMATCH, "data->n: is %lld, but %d was planned",
                        (long long)data->n, (int)l->n);
    if (data->n == 0 || (status = compare_perm(data, l, message)))
        return status;
    if (gsv_is_supernodal(data)) {
        status = compare_starts(data, l, message);
        for (int32_t k = 0; k < data->nsuper && !status; k++)
            status = compare_rows(data, l, k, message);
        return status;
    }
    for (int32_t s = 0; s < l->nsuper && !status; s++)
        for (int32_t j = l->first_column[s]; j < l->first_column[s + 1] && !status; j++)
            status = place_column(data, plan, s, j, message);
    return status;
}

/* --------------------------------------------------------------------------------------------- values --- */

static void narrow(const double *from, int64_t count, float *to, int64_t step) {
    for (int64_t k = 0; k < count; k++)
        to[k * step] = (float)from[k];
}

/* copy_numbers from double precision to single. */
static void narrow_numbers(const gpusolve_factor_data *data, int64_t start, int64_t count, float *to) {
    const int64_t parts = gsv_is_complex(data->dtype) && !data->z ? 2 : 1;
    const double *x = data->x, *z = data->z;
    if (z) {
        narrow(x + start, count, to, 2);
        narrow(z + start, count, to + 1, 2);
    } else {
        narrow(x + parts * start, parts * count, to, 1);
    }
}

/* to[k] = number `start + k` of the caller's, complex numbers interleaved, as panels have them. */
static void copy_numbers(const gpusolve_factor_data *data, int64_t start, int64_t count, void *to) {
    if (gsv_panel_dtype(gsv_import_numbers(data)) != data->dtype) {
        narrow_numbers(data, start, count, to);
    } else if (!data->z) {
        const size_t bytes = gsv_dtype_bytes(data->dtype);
        memcpy(to, (const char *)data->x + (size_t)start * bytes, (size_t)count * bytes);
    } else if (gsv_is_single(data->dtype)) {
        const float *x = (const float *)data->x + start, *z = (const float *)data->z + start;
        float *f = to;
        for (int64_t k = 0; k < count; k++) {
            f[2 * k] = x[k];
            f[2 * k + 1] = z[k];
        }
    } else {
        const double *x = (const double *)data->x + start, *z = (const double *)data->z + start;
        double *d = to;
        for (int64_t k = 0; k < count; k++) {
            d[2 * k] = x[k];
            d[2 * k + 1] = z[k];
        }
    }
}

static void set_one(gpusolve_dtype dtype, void *number) {
    memset(number, 0, gsv_dtype_bytes(dtype));
    if (gsv_is_single(dtype))
        *(float *)number = 1;
    else
        *(double *)number = 1;
}

/* Places first .. first + count - 1 of a simplicial column in its panel, whose rows from the diagonal on are
 * `rows`: its entries where it has any, else zeros. */
static void scatter_column(const gpusolve_factor_data *data, gsv_column_range column, const int32_t *rows,
                           int64_t first, int64_t count, char *to) {
    const size_t bytes = gsv_panel_bytes(gsv_import_numbers(data));
    memset(to, 0, (size_t)count * bytes);
    for (int64_t t = column.start, place = 0; t < column.start + column.count; t++, place++) {
        while (rows[place] != gsv_index(data->i, data->itype, t))
            place++;
        if (place >= first + count)
            break;
        if (place >= first)
            copy_numbers(data, t, 1, to + (size_t)(place - first) * bytes);
    }
}

void gsv_import_column(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s, int32_t k,
                       int64_t first, int64_t count, void *to) {
    const int32_t nr = gsv_rows(plan, s);
    const gsv_column_range column = gsv_stored_column(data, plan, s, plan->l.first_column[s] + k);
    if (column.count == nr - k) /* every place is taken */
        copy_numbers(data, column.start + first, count, to);
    else
        scatter_column(data, column, plan->l.rows + plan->l.row_ptr[s] + k, first, count, to);
    if (first == 0 && count > 0 && gsv_import_has_d(data))
        set_one(gsv_panel_dtype(gsv_import_numbers(data)), to);
}

void gsv_import_panel(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s, void *panel) {
    const size_t bytes = gsv_panel_bytes(gsv_import_numbers(data));
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    for (int32_t k = 0; k < nc; k++) {
        char *top = (char *)panel + (size_t)k * (size_t)nr * bytes;
        memset(top, 0, (size_t)k * bytes);
        gsv_import_column(data, plan, s, k, 0, nr - k, top + (size_t)k * bytes);
    }
}

void gsv_import_d(const gpusolve_factor_data *data, void *d) {
    const int64_t stride = gsv_is_complex(data->dtype) && !data->z ? 2 : 1;
    const int single = gsv_is_single(data->dtype),
              narrow_d = gsv_is_single(gsv_vector_dtype(gsv_import_numbers(data)));
    for (int64_t j = 0; j < data->n; j++) {
        const int64_t at = gsv_simplicial_column(data, j).start * stride;
        const double entry = single ? (double)((const float *)data->x)[at] : ((const double *)data->x)[at];
        if (narrow_d)
            ((float *)d)[j] = (float)entry;
        else
            ((double *)d)[j] = entry;
    }
}
