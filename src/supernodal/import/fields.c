/*
 * The checks of gpusolve_factor_data. An array is read only where the fields before it have said that it
 * exists, and every number that comes from the caller is compared before it is added to or multiplied.
 */
#include "fields.h"

#include "../../spin.h"

#include "../../memory.h"

static gpusolve_status check_scalars(const gpusolve_factor_data *data, gsv_message *message) {
    if (!data)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data: is NULL");
    if (data->size != sizeof *data)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "data->size: is %zu, must be %zu; start from GPUSOLVE_FACTOR_DATA_INIT", data->size,
                        sizeof *data);
    if ((int)data->kind < GPUSOLVE_SUPERNODAL_LL || (int)data->kind > GPUSOLVE_SIMPLICIAL_LDL)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->kind: %d is no gpusolve_factor_kind",
                        (int)data->kind);
    if ((int)data->dtype < GPUSOLVE_FLOAT || (int)data->dtype > GPUSOLVE_COMPLEX_DOUBLE)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->dtype: %d is no gpusolve_dtype",
                        (int)data->dtype);
    if ((int)data->itype < GPUSOLVE_INT32 || (int)data->itype > GPUSOLVE_INT64)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->itype: %d is no gpusolve_itype",
                        (int)data->itype);
    if (data->n < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->n: is %lld", (long long)data->n);
    if (data->n > INT32_MAX - 1)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "data->n: %lld exceeds %d", (long long)data->n,
                        INT32_MAX - 1);
    if (data->minor < 0 || data->minor > data->n)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "data->minor: %lld is not between 0 and n = %lld",
                        (long long)data->minor, (long long)data->n);
    if (data->minor < data->n)
        return gsv_fail(
            message, GPUSOLVE_NOT_POSITIVE_DEFINITE,
            "data->minor: the factorisation stopped at column %lld of %lld: not positive definite",
            (long long)data->minor, (long long)data->n);
    if ((int)data->storage < GPUSOLVE_STORAGE_SAME || (int)data->storage > GPUSOLVE_STORAGE_SINGLE)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->storage: %d is no gpusolve_storage",
                        (int)data->storage);
    if (data->storage == GPUSOLVE_STORAGE_SINGLE && data->in_place)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                        "data->storage: a factor that is read in place is stored as it is");
    return GPUSOLVE_OK;
}

static gpusolve_status check_pointers(const gpusolve_factor_data *data, gsv_message *message) {
    const int super = gsv_is_supernodal(data);
    const size_t index = data->itype == GPUSOLVE_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    const size_t real = gsv_real_bytes(data->dtype);
    const struct {
        const char *name;
        const void *array;
        int needed, read;
        size_t alignment;
    } arrays[] = {
        {"perm", data->perm, 0, 1, index},
        {"super", data->super, super, super, index},
        {"pi", data->pi, super, super, index},
        {"px", data->px, super, super, index},
        {"s", data->s, super, super, index},
        {"p", data->p, !super, !super, index},
        {"i", data->i, !super, !super, index},
        {"nz", data->nz, 0, !super, index},
        {"x", data->x, 1, 1, real},
        {"z", data->z, 0, 1, real},
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        if (arrays[k].needed && !arrays[k].array)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->%s: is NULL", arrays[k].name);
        if (arrays[k].read && (uintptr_t)arrays[k].array % arrays[k].alignment)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->%s: is not aligned to %zu bytes",
                            arrays[k].name, arrays[k].alignment);
    }
    if (data->z && !gsv_is_complex(data->dtype))
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->z: must be NULL for a real factor");
    if (data->in_place != 0 && data->in_place != 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->in_place: is %d, not 0 or 1",
                        data->in_place);
    if (data->allow_fill != 0 && data->allow_fill != 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->allow_fill: is %d, not 0 or 1",
                        data->allow_fill);
    if (data->in_place && (!super || data->z))
        return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED,
                        "data->in_place: only a supernodal factor without z can be read in place");
    return GPUSOLVE_OK;
}

static gpusolve_status check_perm(const gpusolve_factor_data *data, gsv_message *message) {
    if (!data->perm)
        return GPUSOLVE_OK;
    unsigned char *seen = gsv_calloc((size_t)data->n, 1);
    if (!seen)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while checking perm");
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t k = 0; k < data->n && !status; k++) {
        const int64_t row = gsv_index(data->perm, data->itype, k);
        if (row < 0 || row >= data->n)
            status = gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                              "perm[%lld] = %lld is not between 0 and n - 1 = %lld", (long long)k,
                              (long long)row, (long long)(data->n - 1));
        else if (seen[row])
            status =
                gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "perm[%lld] = %lld appears twice: no permutation",
                         (long long)k, (long long)row);
        else
            seen[row] = 1;
    }
    gsv_free(seen);
    return status;
}

/* super: from 0 to n, strictly ascending, so that no supernode is empty. */
static gpusolve_status check_super(const gpusolve_factor_data *data, gsv_message *message) {
    if (data->nsuper < 1 || data->nsuper > data->n)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "data->nsuper: %lld is not between 1 and n = %lld",
                        (long long)data->nsuper, (long long)data->n);
    int64_t last = gsv_index(data->super, data->itype, 0);
    if (last != 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "super[0] = %lld is not 0", (long long)last);
    for (int64_t k = 1; k <= data->nsuper; k++) {
        const int64_t first = gsv_index(data->super, data->itype, k);
        if (first <= last)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "super[%lld] = %lld is not above super[%lld] = %lld", (long long)k,
                            (long long)first, (long long)(k - 1), (long long)last);
        last = first;
    }
    if (last != data->n)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "super[%lld] = %lld is not n = %lld",
                        (long long)data->nsuper, (long long)last, (long long)data->n);
    return GPUSOLVE_OK;
}

/* pi: from 0 to ssize; each supernode has at least the rows of its columns and at most n. */
static gpusolve_status check_pi(const gpusolve_factor_data *data, gsv_message *message) {
    int64_t start = gsv_index(data->pi, data->itype, 0);
    if (start != 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "pi[0] = %lld is not 0", (long long)start);
    for (int64_t k = 0; k < data->nsuper; k++) {
        const int64_t end = gsv_index(data->pi, data->itype, k + 1);
        const int64_t first = gsv_index(data->super, data->itype, k);
        const int64_t nc = gsv_index(data->super, data->itype, k + 1) - first;
        if (end < start || end > data->ssize)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "pi[%lld] = %lld is not between pi[%lld] = %lld and ssize = %lld",
                            (long long)(k + 1), (long long)end, (long long)k, (long long)start,
                            (long long)data->ssize);
        if (end - start < nc || end - start > data->n - first)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "pi[%lld] = %lld gives supernode %lld, of %lld columns from %lld on, %lld rows",
                            (long long)(k + 1), (long long)end, (long long)k, (long long)nc, (long long)first,
                            (long long)(end - start));
        start = end;
    }
    if (start != data->ssize)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "pi[%lld] = %lld is not ssize = %lld",
                        (long long)data->nsuper, (long long)start, (long long)data->ssize);
    return GPUSOLVE_OK;
}

/* px: panels one after the other, none reaching into the next, none beyond xsize. nr and nc are below 2^31 by
 * now. */
gpusolve_status gsv_check_px(const gpusolve_factor_data *data, gsv_message *message) {
    int64_t start = gsv_index(data->px, data->itype, 0);
    if (start < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "px[0] = %lld is negative", (long long)start);
    for (int64_t k = 0; k < data->nsuper; k++) {
        const int64_t end = gsv_index(data->px, data->itype, k + 1);
        const int64_t nr = gsv_index(data->pi, data->itype, k + 1) - gsv_index(data->pi, data->itype, k);
        const int64_t nc =
            gsv_index(data->super, data->itype, k + 1) - gsv_index(data->super, data->itype, k);
        if (end < start || end > data->xsize)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "px[%lld] = %lld is not between px[%lld] = %lld and xsize = %lld",
                            (long long)(k + 1), (long long)end, (long long)k, (long long)start,
                            (long long)data->xsize);
        if (end - start < nr * nc)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "px[%lld] = %lld leaves supernode %lld less than its %lld x %lld numbers",
                            (long long)(k + 1), (long long)end, (long long)k, (long long)nr, (long long)nc);
        start = end;
    }
    return GPUSOLVE_OK;
}

/* s: supernode k's own columns, then rows strictly ascending below them; message NULL: say nothing. */
static gpusolve_status check_rows(const gpusolve_factor_data *data, int64_t k, gsv_message *message) {
    const int64_t first = gsv_index(data->super, data->itype, k);
    const int64_t nc = gsv_index(data->super, data->itype, k + 1) - first;
    const int64_t start = gsv_index(data->pi, data->itype, k);
    const int64_t end = gsv_index(data->pi, data->itype, k + 1);
    int64_t last = first - 1;
    for (int64_t t = start; t < end; t++) {
        const int64_t row = gsv_index(data->s, data->itype, t);
        if (t < start + nc && row != first + (t - start))
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "s[%lld] = %lld is not column %lld of supernode %lld", (long long)t,
                            (long long)row, (long long)(first + (t - start)), (long long)k);
        if (row <= last)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "s[%lld] = %lld is not above s[%lld] = %lld in supernode %lld", (long long)t,
                            (long long)row, (long long)(t - 1), (long long)last, (long long)k);
        if (row >= data->n)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "s[%lld] = %lld is not below n = %lld",
                            (long long)t, (long long)row, (long long)data->n);
        last = row;
    }
    return GPUSOLVE_OK;
}

enum {
    ROWS = 1 << 15,          /* to be checked are worth waking a thread */
    SUPERNODES_AT_ONCE = 256 /* of a thread */
};

typedef struct row_check {
    const gpusolve_factor_data *data;
    _Atomic int64_t first; /* the first supernode at fault so far, or nsuper */
} row_check;

static void check_range(void *context, int64_t begin, int64_t end, int member) {
    row_check *c = context;
    (void)member;
    for (int64_t k = begin; k < end && k < c->first; k++)
        if (check_rows(c->data, k, NULL) != GPUSOLVE_OK)
            gsv_lower(&c->first, k);
}

/* All supernodes'. The first one at fault is named, whichever thread meets it. */
static gpusolve_status check_s(const gpusolve_factor_data *data, gsv_pool *pool, gsv_message *message) {
    row_check c = {.data = data};
    atomic_init(&c.first, data->nsuper);
    gsv_pool_ranges(pool, gsv_pool_share(pool, data->ssize, ROWS), data->nsuper, SUPERNODES_AT_ONCE,
                    check_range, &c);
    return c.first == data->nsuper ? GPUSOLVE_OK : check_rows(data, c.first, message);
}

/* p and nz: columns in any order (only with nz), inside p[n] <= xsize, no more entries than that in all. */
static gpusolve_status check_p(const gpusolve_factor_data *data, gsv_message *message) {
    const int64_t end = gsv_index(data->p, data->itype, data->n);
    if (end < 0 || end > data->xsize)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "p[%lld] = %lld is not between 0 and xsize = %lld",
                        (long long)data->n, (long long)end, (long long)data->xsize);
    int64_t left = end;
    for (int64_t j = 0; j < data->n; j++) {
        const int64_t start = gsv_index(data->p, data->itype, j);
        if (start < 0 || start > end)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "p[%lld] = %lld is not between 0 and p[n] = %lld", (long long)j, (long long)start,
                            (long long)end);
        const int64_t next = gsv_index(data->p, data->itype, j + 1);
        if (!data->nz && (next < start || next > end))
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "p[%lld] = %lld is not between p[%lld] = %lld and p[n] = %lld, and nz is NULL",
                            (long long)(j + 1), (long long)next, (long long)j, (long long)start,
                            (long long)end);
        const gsv_column_range column = gsv_simplicial_column(data, j);
        if (column.count < 1 || column.count > data->n - j || column.count > end - start)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "column %lld has %lld entries from p[%lld] = %lld on (p[n] = %lld)", (long long)j,
                            (long long)column.count, (long long)j, (long long)start, (long long)end);
        if (column.count > left)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "the columns up to %lld hold more entries than p[n] = %lld: they overlap",
                            (long long)j, (long long)end);
        left -= column.count;
    }
    return GPUSOLVE_OK;
}

gpusolve_status gsv_check_outline(const gpusolve_factor_data *data, gsv_message *message) {
    const gpusolve_status status = check_scalars(data, message);
    return status || data->n == 0 ? status : check_pointers(data, message);
}

gpusolve_status gsv_check_fields(const gpusolve_factor_data *data, gsv_pool *pool, gsv_message *message) {
    gpusolve_status status = check_scalars(data, message);
    if (status || data->n == 0) /* nothing more to look at: with n = 0 the arrays may be NULL */
        return status;
    if (!(status = check_pointers(data, message)))
        status = check_perm(data, message);
    if (status)
        return status;
    if (!gsv_is_supernodal(data))
        return check_p(data, message);
    if (!(status = check_super(data, message)) && !(status = check_pi(data, message)) &&
        !(status = gsv_check_px(data, message)))
        status = check_s(data, pool, message);
    return status;
}

gpusolve_status gsv_read_column(const gpusolve_factor_data *data, int32_t j, gsv_column_range column,
                                int32_t *rows, gsv_message *message) {
    int64_t last = -1;
    for (int64_t k = 0; k < column.count; k++) {
        const int64_t t = column.start + k, row = gsv_index(data->i, data->itype, t);
        if (k == 0 && row != j)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "i[%lld] = %lld, the first of column %d, is not %d", (long long)t, (long long)row,
                            (int)j, (int)j);
        if (row <= last)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                            "i[%lld] = %lld is not above i[%lld] = %lld: column %d is not sorted",
                            (long long)t, (long long)row, (long long)(t - 1), (long long)last, (int)j);
        if (row >= data->n)
            return gsv_fail(message, GPUSOLVE_INVALID_FACTOR, "i[%lld] = %lld is not below n = %lld",
                            (long long)t, (long long)row, (long long)data->n);
        if (rows)
            rows[k] = (int32_t)row;
        last = row;
    }
    return GPUSOLVE_OK;
}
