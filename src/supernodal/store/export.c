/*
 * From a factor back to plain arrays: export.h.
 *
 * L L' becomes a supernodal factor: supernodes that were split are whole again, for a slice's columns are those of its whole. L D L' has no
 * supernodal form, so it becomes compressed columns, with the zeros that supernodes hold.
 *
 * What is stored in single precision stays so, and comes back the same: the file has floats. Of L D L' it has doubles, for D is in double
 * precision.
 */
#include "export.h"

#include <string.h>

#include "../../memory.h"

/* Rows of the caller's supernode k. */
static const int32_t *whole_rows(const gsv_structure *l, int32_t k, int64_t *count) {
    const int32_t first = gsv_first_slice(l, k);
    *count = l->row_ptr[first + 1] - l->row_ptr[first];
    return l->rows + l->row_ptr[first];
}

/* An index array of either width. */
static void put(void *array, gpusolve_itype itype, int64_t k, int64_t value) {
    if (itype == GPUSOLVE_INT32)
        ((int32_t *)array)[k] = (int32_t)value;
    else
        ((int64_t *)array)[k] = value;
}

void gsv_exported_free(gsv_exported *exported) {
    for (size_t k = 0; k < sizeof exported->memory / sizeof *exported->memory; k++)
        gsv_free(exported->memory[k]);
    memset(exported, 0, sizeof *exported);
}

/* Numbers and row indices of the file, and where each column's diagonal stands. */
static void count_columns(const gpusolve_factor *factor, int64_t *column, gpusolve_factor_data *data) {
    const gsv_structure *l = &factor->plan.l;
    int64_t at = 0;
    for (int32_t k = 0; k < gsv_nwhole(l); k++) {
        int64_t nr;
        whole_rows(l, k, &nr);
        const int32_t begin = l->first_column[gsv_first_slice(l, k)],
                      end = l->first_column[gsv_first_slice(l, k + 1)];
        for (int32_t j = begin; j < end; j++) {
            column[j] = at + (factor->has_d ? 0 : j - begin);
            at += factor->has_d ? nr - (j - begin) : nr;
        }
        data->ssize += nr;
    }
    data->xsize = at;
}

static void fill_supernodal(const gsv_structure *l, gpusolve_factor_data *data, void *const *memory) {
    int64_t row = 0, number = 0;
    for (int32_t k = 0; k <= gsv_nwhole(l); k++) {
        const int32_t first = l->first_column[gsv_first_slice(l, k)];
        put(memory[GSV_EXPORTED_SUPER], data->itype, k, first);
        put(memory[GSV_EXPORTED_PI], data->itype, k, row);
        put(memory[GSV_EXPORTED_PX], data->itype, k, number);
        if (k == gsv_nwhole(l))
            break;
        int64_t nr;
        const int32_t *rows = whole_rows(l, k, &nr);
        for (int64_t i = 0; i < nr; i++)
            put(memory[GSV_EXPORTED_ROWS], data->itype, row + i, rows[i]);
        row += nr;
        number += nr * (l->first_column[gsv_first_slice(l, k + 1)] - first);
    }
    data->super = memory[GSV_EXPORTED_SUPER];
    data->pi = memory[GSV_EXPORTED_PI];
    data->px = memory[GSV_EXPORTED_PX];
    data->s = memory[GSV_EXPORTED_ROWS];
}

static void fill_simplicial(const gsv_structure *l, const int64_t *column, gpusolve_factor_data *data,
                            void *const *memory) {
    for (int32_t k = 0; k < gsv_nwhole(l); k++) {
        int64_t nr;
        const int32_t *rows = whole_rows(l, k, &nr);
        const int32_t begin = l->first_column[gsv_first_slice(l, k)];
        for (int32_t j = begin; j < l->first_column[gsv_first_slice(l, k + 1)]; j++) {
            put(memory[GSV_EXPORTED_PX], data->itype, j, column[j]);
            for (int64_t i = j - begin; i < nr; i++)
                put(memory[GSV_EXPORTED_ROWS], data->itype, column[j] + i - (j - begin), rows[i]);
        }
    }
    put(memory[GSV_EXPORTED_PX], data->itype, data->n, data->xsize);
    data->ssize = 0;
    data->p = memory[GSV_EXPORTED_PX];
    data->i = memory[GSV_EXPORTED_ROWS];
}

/* D takes the places of L's diagonal, which is one. */
static void put_d(const gpusolve_factor_data *data, const int64_t *column, const char *d, char *x) {
    const size_t number = gsv_dtype_bytes(data->dtype), real = gsv_real_bytes(data->dtype);
    for (int64_t j = 0; j < data->n; j++)
        memcpy(x + (size_t)column[j] * number, d + (size_t)j * real, real); /* imaginary parts are zero */
}

/* `count` floats at the end of x become doubles from its beginning on: a float is read before its place is written. */
static void widen(void *x, int64_t count) {
    double *to = x;
    const char *from = (const char *)x + (size_t)count * (sizeof(double) - sizeof(float));
    for (int64_t k = 0; k < count; k++) {
        float number;
        memcpy(&number, from + (size_t)k * sizeof number, sizeof number);
        to[k] = (double)number;
    }
}

static int allocate(const gpusolve_factor *factor, gsv_exported *exported) {
    gpusolve_factor_data *data = &exported->data;
    const size_t index = data->itype == GPUSOLVE_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    const size_t n = (size_t)data->n, nsuper = (size_t)data->nsuper;
    void **memory = exported->memory;
    if (!factor->has_d) {
        memory[GSV_EXPORTED_SUPER] = gsv_malloc(nsuper + 1, index);
        memory[GSV_EXPORTED_PI] = gsv_malloc(nsuper + 1, index);
    }
    memory[GSV_EXPORTED_PX] = gsv_malloc((factor->has_d ? n : nsuper) + 1, index);
    memory[GSV_EXPORTED_ROWS] = gsv_malloc((size_t)(factor->has_d ? data->xsize : data->ssize), index);
    memory[GSV_EXPORTED_PERM] = gsv_malloc(factor->plan.l.perm ? n : 0, index);
    memory[GSV_EXPORTED_X] = gsv_calloc((size_t)data->xsize, gsv_dtype_bytes(data->dtype));
    memory[GSV_EXPORTED_D] = gsv_malloc(factor->has_d ? n : 0, gsv_real_bytes(data->dtype));
    for (int k = factor->has_d ? GSV_EXPORTED_PX : 0; k < GSV_EXPORTED_ARRAYS; k++)
        if (!memory[k])
            return 0;
    return 1;
}

gpusolve_status gsv_export(gpusolve_handle *handle, const gpusolve_factor *factor, gsv_exported *exported) {
    const gsv_structure *l = &factor->plan.l;
    gpusolve_factor_data *data = &exported->data;
    memset(exported, 0, sizeof *exported);
    *data = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    data->kind = factor->has_d ? GPUSOLVE_SIMPLICIAL_LDL : GPUSOLVE_SUPERNODAL_LL;
    const int mixed = gsv_are_mixed(factor->numbers), widens = mixed && factor->has_d;
    data->storage = mixed ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
    data->dtype = factor->has_d ? factor->dtype : gsv_panel_dtype(factor->numbers);
    data->n = data->minor = l->n;
    data->nsuper = factor->has_d ? 0 : gsv_nwhole(l);
    data->allow_fill = factor->has_d; /* it is full */
    int64_t *column = exported->memory[GSV_EXPORTED_COLUMNS] = gsv_malloc((size_t)l->n, sizeof *column);
    if (column) {
        count_columns(factor, column, data);
        data->itype = data->xsize <= INT32_MAX && data->ssize <= INT32_MAX ? GPUSOLVE_INT32 : GPUSOLVE_INT64;
    }
    if (!column || !allocate(factor, exported)) {
        gsv_exported_free(exported);
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY,
                        "factor: out of host memory for a copy of L");
    }
    void *const *memory = exported->memory;
    if (factor->has_d)
        fill_simplicial(l, column, data, memory);
    else
        fill_supernodal(l, data, memory);
    for (int32_t k = 0; l->perm && k < l->n; k++)
        put(memory[GSV_EXPORTED_PERM], data->itype, k, l->perm[k]);
    data->perm = l->perm ? memory[GSV_EXPORTED_PERM] : NULL;
    data->x = memory[GSV_EXPORTED_X];
    const int64_t reals = data->xsize * (gsv_is_complex(data->dtype) ? 2 : 1);
    char *x = memory[GSV_EXPORTED_X];
    if (widens)
        x += (size_t)reals * (sizeof(double) - sizeof(float));
    const gpusolve_status status =
        l->n > 0 ? factor->executor->read_values(handle, factor, column, x, memory[GSV_EXPORTED_D])
                 : GPUSOLVE_OK;
    if (!status && widens)
        widen(memory[GSV_EXPORTED_X], reals);
    if (status)
        gsv_exported_free(exported);
    else if (factor->has_d)
        put_d(data, column, memory[GSV_EXPORTED_D], memory[GSV_EXPORTED_X]);
    return status;
}
