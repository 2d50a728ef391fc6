/*
 * gpusolve_matrix_create: from any accepted form of a symmetric (Hermitian) A to all its entries by rows,
 * columns ascending, and norm(A, inf).
 *
 * The entries are bucketed by column and then by row, so that each row comes out sorted and the duplicates of
 * an entry side by side, in the order they were given in. Linear in the number of entries. Numbers are summed
 * in double precision and rounded once. The diagonal of a Hermitian matrix is real: its imaginary parts are
 * not read, as in the factorisation.
 */
#include <math.h>
#include <string.h>

#include "../../memory.h"
#include "executor.h"

typedef struct matrix_entry {
    int32_t row, column;
    double re, im;
} matrix_entry;

/* A by rows (columns): line i holds entries ptr[i] .. ptr[i + 1] - 1 */
typedef struct line_set {
    int64_t *ptr;   /* [n + 1] */
    int32_t *index; /* position in the line */
    double *values; /* parts numbers an entry */
} line_set;

static int parts_of(gpusolve_dtype dtype) {
    return gsv_is_complex(dtype) ? 2 : 1;
}

static int64_t integer(const gpusolve_matrix_data *data, const void *array, int64_t k) {
    return data->itype == GPUSOLVE_INT32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

static double number(const gpusolve_matrix_data *data, const void *array, int64_t k) {
    return gsv_is_single(data->dtype) ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

static int64_t line_begin(const gpusolve_matrix_data *data, int64_t line) {
    return integer(data, data->ptr, line);
}

static int64_t line_length(const gpusolve_matrix_data *data, int64_t line) {
    return data->nz ? integer(data, data->nz, line) : line_begin(data, line + 1) - line_begin(data, line);
}

/* Whether entry k of a line is given by the triangle that counts. */
static int read_entry(const gpusolve_matrix_data *data, int64_t line, int64_t k, matrix_entry *entry) {
    int32_t across = (int32_t)integer(data, data->index, k);
    entry->row = data->format == GPUSOLVE_CSC ? across : (int32_t)line;
    entry->column = data->format == GPUSOLVE_CSC ? (int32_t)line : across;
    if ((data->triangle == GPUSOLVE_LOWER && entry->row < entry->column) ||
        (data->triangle == GPUSOLVE_UPPER && entry->row > entry->column))
        return 0;
    entry->im = 0;
    if (parts_of(data->dtype) == 1 || data->z)
        entry->re = number(data, data->x, k);
    else
        entry->re = number(data, data->x, 2 * k);
    if (parts_of(data->dtype) == 2 && entry->row != entry->column)
        entry->im = data->z ? number(data, data->z, k) : number(data, data->x, 2 * k + 1);
    return 1;
}

static gpusolve_status check_fields(const gpusolve_matrix_data *data, gsv_message *message) {
    if (!data)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data: is NULL");
    if (data->size != sizeof *data)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->size: is %zu, must be %zu", data->size,
                        sizeof *data);
    if (data->format != GPUSOLVE_CSC && data->format != GPUSOLVE_CSR)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->format: %d is no gpusolve_format",
                        (int)data->format);
    if (data->triangle != GPUSOLVE_FULL && data->triangle != GPUSOLVE_LOWER &&
        data->triangle != GPUSOLVE_UPPER)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->triangle: %d is no gpusolve_triangle",
                        (int)data->triangle);
    if ((unsigned)data->dtype > GPUSOLVE_COMPLEX_DOUBLE)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->dtype: %d is no gpusolve_dtype",
                        (int)data->dtype);
    if (data->itype != GPUSOLVE_INT32 && data->itype != GPUSOLVE_INT64)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->itype: %d is no gpusolve_itype",
                        (int)data->itype);
    if (data->n < 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->n: is %lld", (long long)data->n);
    if (data->n > INT32_MAX - 1)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "data->n: %lld exceeds 32 bits", (long long)data->n);
    if (!data->ptr && data->n > 0)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->ptr: is NULL");
    if (data->z && parts_of(data->dtype) == 1)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->z: must be NULL for a real matrix");
    return GPUSOLVE_OK;
}

static gpusolve_status check_aligned(const char *name, const void *array, size_t bytes,
                                     gsv_message *message) {
    if ((uintptr_t)array % bytes)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->%s: is not aligned to %zu bytes", name,
                        bytes);
    return GPUSOLVE_OK;
}

/* NULL is aligned. */
static gpusolve_status check_alignment(const gpusolve_matrix_data *data, gsv_message *message) {
    const size_t index = data->itype == GPUSOLVE_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    const size_t real = gsv_is_single(data->dtype) ? sizeof(float) : sizeof(double);
    gpusolve_status status = check_aligned("ptr", data->ptr, index, message);
    if (!status)
        status = check_aligned("nz", data->nz, index, message);
    if (!status)
        status = check_aligned("index", data->index, index, message);
    if (!status)
        status = check_aligned("x", data->x, real, message);
    return status ? status : check_aligned("z", data->z, real, message);
}

/* Where lines start and how long they are. Before any entry is read: a start that is wrong leads anywhere. */
static gpusolve_status check_lines(const gpusolve_matrix_data *data, gsv_message *message) {
    const int64_t limit = INT64_MAX / 64; /* no sum or byte count below overflows */
    int any = 0;
    for (int64_t line = 0; line < data->n; line++) {
        int64_t begin = line_begin(data, line);
        int64_t next = data->nz ? integer(data, data->nz, line) : line_begin(data, line + 1);
        if (begin < 0 || begin > limit || next > limit || next < (data->nz ? 0 : begin))
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                            "data->%s: line %lld starts at %lld, then %lld", data->nz ? "nz" : "ptr",
                            (long long)line, (long long)begin, (long long)next);
        any |= line_length(data, line) > 0;
    }
    if (any && !data->index)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->index: is NULL");
    if (any && !data->x)
        return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT, "data->x: is NULL");
    return GPUSOLVE_OK;
}

static gpusolve_status check_entries(const gpusolve_matrix_data *data, int64_t line, gsv_message *message) {
    for (int64_t k = line_begin(data, line), end = k + line_length(data, line); k < end; k++) {
        int64_t across = integer(data, data->index, k);
        if (across < 0 || across >= data->n)
            return gsv_fail(message, GPUSOLVE_INVALID_ARGUMENT,
                            "data->index: entry %lld is %lld, the order is %lld", (long long)k,
                            (long long)across, (long long)data->n);
        matrix_entry entry;
        if (read_entry(data, line, k, &entry) && !(isfinite(entry.re) && isfinite(entry.im)))
            return gsv_fail(message, GPUSOLVE_NOT_FINITE, "data->%s: entry %lld is not finite",
                            data->z && isfinite(entry.re) ? "z" : "x", (long long)k);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status allocate(line_set *lines, int64_t n, int64_t nnz, int parts) {
    lines->ptr = gsv_calloc((size_t)n + 1, sizeof *lines->ptr);
    lines->index = gsv_malloc((size_t)nnz, sizeof *lines->index);
    lines->values = gsv_malloc((size_t)nnz, (size_t)parts * sizeof *lines->values);
    return lines->ptr && lines->index && lines->values ? GPUSOLVE_OK : GPUSOLVE_OUT_OF_MEMORY;
}

static void release(line_set *lines) {
    gsv_free(lines->ptr);
    gsv_free(lines->index);
    gsv_free(lines->values);
}

static int is_mirrored(const gpusolve_matrix_data *data, const matrix_entry *entry) {
    return data->triangle != GPUSOLVE_FULL && entry->row != entry->column;
}

static int64_t count_entries(const gpusolve_matrix_data *data) {
    int64_t nnz = 0;
    matrix_entry entry;
    for (int64_t line = 0; line < data->n; line++)
        for (int64_t k = line_begin(data, line), end = k + line_length(data, line); k < end; k++)
            if (read_entry(data, line, k, &entry))
                nnz += 1 + is_mirrored(data, &entry);
    return nnz;
}

/* Counts of lines in ptr[1 ..] become starts in ptr[0 ..]: the place of line i's next entry while lines are
 * filled. */
static void counts_to_starts(int64_t *ptr, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ptr[i + 1] += ptr[i];
}

/* Filling has moved every start to the next line's: move them back. */
static void rewind_starts(int64_t *ptr, int64_t n) {
    memmove(ptr + 1, ptr, (size_t)n * sizeof *ptr);
    ptr[0] = 0;
}

static void put(line_set *lines, int parts, int32_t line, int32_t across, double re, double im) {
    int64_t place = lines->ptr[line]++;
    lines->index[place] = across;
    lines->values[place * parts] = re;
    if (parts == 2)
        lines->values[place * 2 + 1] = im;
}

static void bucket_by_columns(const gpusolve_matrix_data *data, int parts, line_set *columns) {
    matrix_entry entry;
    for (int64_t line = 0; line < data->n; line++)
        for (int64_t k = line_begin(data, line), end = k + line_length(data, line); k < end; k++)
            if (read_entry(data, line, k, &entry)) {
                columns->ptr[entry.column + 1]++;
                if (is_mirrored(data, &entry))
                    columns->ptr[entry.row + 1]++;
            }
    counts_to_starts(columns->ptr, data->n);
    for (int64_t line = 0; line < data->n; line++)
        for (int64_t k = line_begin(data, line), end = k + line_length(data, line); k < end; k++)
            if (read_entry(data, line, k, &entry)) {
                put(columns, parts, entry.column, entry.row, entry.re, entry.im);
                if (is_mirrored(data, &entry))
                    put(columns, parts, entry.row, entry.column, entry.re, -entry.im);
            }
    rewind_starts(columns->ptr, data->n);
}

static void bucket_by_rows(const line_set *columns, int64_t n, int parts, line_set *rows) {
    for (int64_t k = 0; k < columns->ptr[n]; k++)
        rows->ptr[columns->index[k] + 1]++;
    counts_to_starts(rows->ptr, n);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = columns->ptr[j]; k < columns->ptr[j + 1]; k++)
            put(rows, parts, columns->index[k], j, columns->values[k * parts],
                parts == 2 ? columns->values[2 * k + 1] : 0);
    rewind_starts(rows->ptr, n);
}

/* Sum neighbours with the same column, in place. */
static void sum_duplicates(line_set *rows, int64_t n, int parts) {
    int64_t end = 0;
    for (int64_t i = 0, k = 0; i < n; i++) {
        int64_t begin = end;
        for (; k < rows->ptr[i + 1]; k++) {
            int is_new = end == begin || rows->index[end - 1] != rows->index[k];
            end += is_new;
            rows->index[end - 1] = rows->index[k];
            for (int p = 0; p < parts; p++) {
                double value = rows->values[k * parts + p];
                rows->values[(end - 1) * parts + p] =
                    is_new ? value : rows->values[(end - 1) * parts + p] + value;
            }
        }
        rows->ptr[i + 1] = end;
    }
}

/* Round doubles to floats where they stand: number k is read before its place is written. */
static void narrow(double *values, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        float narrowed = (float)values[k];
        memcpy((char *)values + k * (int64_t)sizeof narrowed, &narrowed, sizeof narrowed);
    }
}

/* norm(A, inf) = max over rows of the sum of moduli; not finite if a number is not, also once it is rounded.
 */
static double norm_inf(const line_set *rows, int64_t n, gpusolve_dtype dtype) {
    int parts = parts_of(dtype);
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = rows->ptr[i]; k < rows->ptr[i + 1]; k++) {
            double re = rows->values[k * parts], im = parts == 2 ? rows->values[2 * k + 1] : 0;
            sum += gsv_is_single(dtype) ? hypot((double)(float)re, (double)(float)im) : hypot(re, im);
        }
        norm = sum <= norm ? norm : sum;
    }
    return norm;
}

/* All entries of A by rows: sorted, summed, in double precision. Frees what it made on failure. */
static gpusolve_status expand(const gpusolve_matrix_data *data, line_set *rows, gsv_message *message) {
    int parts = parts_of(data->dtype);
    int64_t nnz = count_entries(data);
    line_set columns = {NULL, NULL, NULL};
    gpusolve_status status = allocate(&columns, data->n, nnz, parts);
    if (!status)
        status = allocate(rows, data->n, nnz, parts);
    if (!status) {
        bucket_by_columns(data, parts, &columns);
        bucket_by_rows(&columns, data->n, parts, rows);
        sum_duplicates(rows, data->n, parts);
    }
    release(&columns);
    if (status) {
        release(rows);
        return gsv_fail(message, status, "matrix: out of host memory");
    }
    return GPUSOLVE_OK;
}

static gpusolve_status fill_matrix(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                   const gpusolve_matrix_data *data) {
    line_set rows = {NULL, NULL, NULL};
    gpusolve_status status = expand(data, &rows, &handle->message);
    if (status)
        return status;
    matrix->nnz = rows.ptr[data->n];
    matrix->norm_inf = norm_inf(&rows, data->n, data->dtype);
    if (gsv_is_single(data->dtype))
        narrow(rows.values, matrix->nnz * parts_of(data->dtype));
    if (isfinite(matrix->norm_inf))
        status = handle->executor->matrix_create(handle, matrix, rows.ptr, rows.index, rows.values);
    else
        status = gsv_fail(&handle->message, GPUSOLVE_NOT_FINITE, "data->x: sums of entries overflow");
    release(&rows);
    return status;
}

gpusolve_status gpusolve_matrix_create(gpusolve_handle *handle, const gpusolve_matrix_data *data,
                                       gpusolve_matrix **matrix) {
    if (matrix)
        *matrix = NULL;
    GSV_ENTER(handle);
    gpusolve_status status = check_fields(data, &handle->message);
    if (!status)
        status = check_alignment(data, &handle->message);
    if (!status)
        status = check_lines(data, &handle->message);
    for (int64_t line = 0; !status && line < data->n; line++)
        status = check_entries(data, line, &handle->message);
    if (status)
        return status;
    if (!matrix)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "matrix: is NULL");

    gpusolve_matrix *created = gsv_calloc(1, sizeof *created);
    if (!created)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "matrix: out of host memory");
    created->executor = handle->executor;
    created->device = handle->device;
    created->dtype = data->dtype;
    created->n = (int32_t)data->n;
    status = fill_matrix(handle, created, data);
    if (status) {
        gsv_free(created);
        return status;
    }
    *matrix = created;
    return GPUSOLVE_OK;
}

void gpusolve_matrix_destroy(gpusolve_matrix *matrix) {
    if (!matrix)
        return;
    matrix->executor->matrix_destroy(matrix);
    gsv_free(matrix);
}
