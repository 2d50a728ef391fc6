/* What the parts of the import share: reading an index array of either width, finding a column, checking the
 * fields. */
#ifndef GSV_IMPORT_FIELDS_H
#define GSV_IMPORT_FIELDS_H

#include "import.h"

/* Entry k of an index array of this type. */
static inline int64_t gsv_index(const void *array, gpusolve_itype itype, int64_t k) {
    return itype == GPUSOLVE_INT32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

static inline int gsv_is_supernodal(const gpusolve_factor_data *data) {
    return data->kind == GPUSOLVE_SUPERNODAL_LL;
}

/* A column of L in the caller's arrays: its numbers, the diagonal first, are x[start] .. x[start + count -
 * 1]. */
typedef struct gsv_column_range {
    int64_t start;
    int64_t count;
} gsv_column_range;

/* Simplicial: the same places of data->i are the row indices. */
static inline gsv_column_range gsv_simplicial_column(const gpusolve_factor_data *data, int64_t j) {
    gsv_column_range column = {gsv_index(data->p, data->itype, j), 0};
    column.count = data->nz ? gsv_index(data->nz, data->itype, j)
                            : gsv_index(data->p, data->itype, j + 1) - column.start;
    return column;
}

/* Column j of supernode s of either kind of factor; the data has been checked against the plan. */
static inline gsv_column_range gsv_stored_column(const gpusolve_factor_data *data, const gsv_plan *plan,
                                                 int32_t s, int32_t j) {
    if (!gsv_is_supernodal(data))
        return gsv_simplicial_column(data, j);
    const int32_t whole = gsv_whole(&plan->l, s), first = gsv_first_slice(&plan->l, whole);
    const int64_t k = j - plan->l.first_column[first], nr = gsv_rows(plan, first);
    const gsv_column_range column = {gsv_index(data->px, data->itype, whole) + k * nr + k, nr - k};
    return column;
}

/*
 * Check all fields but the numbers and, of a simplicial factor, the row indices; read nothing that is not
 * known to be there. In a supernodal factor it is then left to check that parents contain their children.
 */
gpusolve_status gsv_check_fields(const gpusolve_factor_data *data, gsv_pool *pool, gsv_message *message);

/* Parts of these checks: the scalars, and that the arrays are there; the panels' places, once super and pi have
 * passed. */
gpusolve_status gsv_check_outline(const gpusolve_factor_data *data, gsv_message *message);
gpusolve_status gsv_check_px(const gpusolve_factor_data *data, gsv_message *message);

/* Check the row indices of a simplicial factor's column: j first, strictly ascending, below n. Copies them to
 * rows, which holds column.count of them, unless rows is NULL. */
gpusolve_status gsv_read_column(const gpusolve_factor_data *data, int32_t j, gsv_column_range column,
                                int32_t *rows, gsv_message *message);

#endif
