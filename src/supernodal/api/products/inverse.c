/*
 * gpusolve_inverse_diagonal, gpusolve_inverse_entries, gpusolve_inverse_cost: entries of inv(A) at pairs of a row and a column.
 *
 *      inv(A)(i, j) = x(i),   A x = e(j)
 *
 * Pairs are sorted by their columns' places in L's order, where neighbours share most of their path to the root, and cut into blocks of at most COLUMNS
 * columns and PAIRS pairs. A block's unit vectors are solved for by a selection, WIDTH at a time: forward substitution walks what the columns reach of
 * the tree, backward substitution what the rows reach. So a block costs its part of L, and there is one part in memory at a time. The larger a
 * block, the fewer parts are copied; the smaller, the less of a part lies below other columns of the block alone.
 *
 * The cost is known from the pattern but for the machine: some blocks, one of each stratum of equally many blocks with about the same work, are
 * timed, and stand for their strata.
 */
#include "gpusolve_inverse.h"

#include <stdlib.h>
#include <string.h>

#include "../../../memory.h"
#include "../../tree/reach.h"
#include "../checks.h"
#include "gpusolve_selection.h"

enum { COLUMNS = 1024, PAIRS = 1 << 16, WIDTH = 32, SAMPLES = 7 };

typedef struct inverse_job {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    int64_t count;
    const int64_t *rows, *columns; /* NULL both: the diagonal */
    void *values;                  /* of the factor's type, or NULL */
    double *diagonal;              /* or NULL */
    int32_t *place;                /* [n] of A's columns in L's order */
    int64_t *order;                /* [count] pairs by their columns' places */
    /* of a block */
    int64_t *block_columns, *block_rows; /* [COLUMNS], [PAIRS] */
    char *b, *x;                         /* [COLUMNS x WIDTH], [PAIRS x WIDTH] numbers */
    uint8_t *reach;                      /* [nsuper] */
} inverse_job;

/* A block's pairs are order[begin] .. order[end - 1]. */
typedef struct pair_block {
    int64_t begin, end, columns;
    double work; /* bytes of L that its solves read */
} pair_block;

static int64_t row_of(const inverse_job *job, int64_t pair) {
    return job->rows ? job->rows[pair] : pair;
}

static int64_t column_of(const inverse_job *job, int64_t pair) {
    return job->columns ? job->columns[pair] : pair;
}

/* ------------------------------------------------------------------------------------------ arguments --- */

static gpusolve_status check_pairs(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t count,
                                   const int64_t *rows, const int64_t *columns) {
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status && (count < 0 || count > INT64_MAX / 64))
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "count: is %lld", (long long)count);
    const int64_t *const lists[2] = {rows, columns};
    for (int k = 0; k < 2 && !status; k++) {
        const char *name = k ? "columns" : "rows";
        status = lists[k] || count == 0
                     ? gsv_check_list(handle, name, factor->plan.l.n, count, lists[k])
                     : gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is NULL", name);
    }
    return status;
}

/* Host memory that results go to, of numbers whose parts have `part` bytes; and no capture. */
static gpusolve_status check_result(gpusolve_handle *handle, const char *name, const void *result,
                                    size_t part) {
    int on_device = 0;
    gpusolve_status status = gsv_check_memory(handle, name, result, part, part, &on_device);
    if (!status && on_device)
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "%s: is in device memory, results go to host memory", name);
    return status;
}

/* --------------------------------------------------------------------------------------------- blocks --- */

static void free_job(const inverse_job *job) {
    gsv_free(job->place);
    gsv_free(job->order);
    gsv_free(job->block_columns);
    gsv_free(job->block_rows);
    gsv_free(job->b);
    gsv_free(job->x);
    gsv_free(job->reach);
}

/* The pairs by their columns' places: a counting sort. GPUSOLVE_OUT_OF_MEMORY. */
static int sort_pairs(const inverse_job *job) {
    const gsv_structure *l = &job->factor->plan.l;
    int64_t *next = gsv_calloc((size_t)l->n + 1, sizeof *next);
    if (!next)
        return 0;
    for (int32_t i = 0; i < l->n; i++)
        job->place[l->perm ? l->perm[i] : i] = i;
    for (int64_t k = 0; k < job->count; k++)
        next[job->place[column_of(job, k)] + 1]++;
    for (int32_t i = 0; i < l->n; i++)
        next[i + 1] += next[i];
    for (int64_t k = 0; k < job->count; k++)
        job->order[next[job->place[column_of(job, k)]]++] = k;
    gsv_free(next);
    return 1;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Memory for the largest block, and the order. After a failure the caller frees what there is. */
static gpusolve_status make_job(inverse_job *job) {
    const size_t n = (size_t)job->factor->plan.l.n, number = gsv_dtype_bytes(job->factor->dtype);
    const size_t columns = (size_t)smaller(job->count, COLUMNS), pairs = (size_t)smaller(job->count, PAIRS);
    job->place = gsv_malloc(n, sizeof *job->place);
    job->order = gsv_malloc((size_t)job->count, sizeof *job->order);
    job->block_columns = gsv_malloc(columns, sizeof *job->block_columns);
    job->block_rows = gsv_malloc(pairs, sizeof *job->block_rows);
    job->b = gsv_malloc(columns * WIDTH, number);
    job->x = gsv_malloc(pairs * WIDTH, number);
    job->reach = gsv_malloc((size_t)job->factor->plan.l.nsuper, 1);
    if (job->place && job->order && job->block_columns && job->block_rows && job->b && job->x && job->reach &&
        sort_pairs(job))
        return GPUSOLVE_OK;
    return gsv_fail(&job->handle->message, GPUSOLVE_OUT_OF_MEMORY, "inverse: out of host memory");
}

/* The block that begins with order[begin]; its columns and rows are listed. */
static pair_block take_block(const inverse_job *job, int64_t begin) {
    pair_block block = {begin, begin, 0, 0};
    int64_t last = -1;
    for (; block.end < job->count && block.end - begin < PAIRS; block.end++) {
        const int64_t column = column_of(job, job->order[block.end]);
        if (column != last && block.columns == COLUMNS)
            break;
        if (column != last)
            job->block_columns[block.columns++] = column;
        last = column;
        job->block_rows[block.end - begin] = row_of(job, job->order[block.end]);
    }
    return block;
}

static gpusolve_status make_selection(const inverse_job *job, const pair_block *block,
                                      gpusolve_selection **selection) {
    return gpusolve_selection_create(job->handle, job->factor, GPUSOLVE_A, block->columns, job->block_columns,
                                     block->end - block->begin, job->block_rows,
                                     smaller(block->columns, WIDTH), selection);
}

static void put_value(const inverse_job *job, int64_t pair, const char *number) {
    const gpusolve_dtype dtype = job->factor->dtype;
    if (job->values)
        memcpy((char *)job->values + (size_t)pair * gsv_dtype_bytes(dtype), number, gsv_dtype_bytes(dtype));
    if (job->diagonal && gsv_is_single(dtype))
        job->diagonal[pair] = *(const float *)(const void *)number;
    else if (job->diagonal)
        job->diagonal[pair] = *(const double *)(const void *)number;
}

/* Columns first .. first + cols - 1 of the block; *pair: of order, the first pair of these columns, becomes that of the next ones. */
static gpusolve_status solve_columns(const inverse_job *job, const pair_block *block,
                                     gpusolve_selection *selection, int64_t first, int64_t cols,
                                     int64_t *pair) {
    const gpusolve_dtype dtype = job->factor->dtype;
    const int64_t pairs = block->end - block->begin, number = (int64_t)gsv_dtype_bytes(dtype);
    const gpusolve_dense b = {dtype, GPUSOLVE_COL_MAJOR, block->columns, cols, block->columns, job->b},
                         x = {dtype, GPUSOLVE_COL_MAJOR, pairs, cols, pairs, job->x};
    memset(job->b, 0, (size_t)(block->columns * cols * number));
    for (int64_t c = 0; c < cols; c++) {
        char *one = job->b + (first + c + c * block->columns) * number;
        if (gsv_is_single(dtype))
            *(float *)(void *)one = 1;
        else
            *(double *)(void *)one = 1;
    }
    const gpusolve_status status = gpusolve_solve_selected(job->handle, job->factor, selection, &b, &x);
    for (int64_t c = 0; c < cols && !status; c++)
        for (; *pair < block->end && column_of(job, job->order[*pair]) == job->block_columns[first + c];
             ++*pair)
            put_value(job, job->order[*pair], job->x + (*pair - block->begin + c * pairs) * number);
    return status;
}

/* *memory becomes the selection's and what a solve of it stages, if that is more. */
static gpusolve_status note_memory(const inverse_job *job, const pair_block *block,
                                   const gpusolve_selection *selection, int64_t *memory) {
    gpusolve_selection_info info = {.size = sizeof info};
    const gpusolve_status status = gpusolve_selection_get_info(job->handle, selection, &info);
    const int64_t staged = smaller(block->columns, WIDTH) * (int64_t)gsv_dtype_bytes(job->factor->dtype) *
                           (block->end - block->begin);
    if (!status && info.memory_bytes + staged > *memory)
        *memory = info.memory_bytes + staged;
    return status;
}

static gpusolve_status solve_block(const inverse_job *job, const pair_block *block, int64_t *memory) {
    gpusolve_selection *selection = NULL;
    int64_t pair = block->begin;
    gpusolve_status status = make_selection(job, block, &selection);
    for (int64_t first = 0; first < block->columns && !status; first += WIDTH)
        status = solve_columns(job, block, selection, first, smaller(block->columns - first, WIDTH), &pair);
    if (!status && memory)
        status = note_memory(job, block, selection, memory);
    gpusolve_selection_destroy(selection);
    return status;
}

static gpusolve_status solve_all(inverse_job *job) {
    gpusolve_status status = job->count > 0 ? make_job(job) : GPUSOLVE_OK;
    for (int64_t begin = 0; begin < job->count && !status;) {
        const pair_block block = take_block(job, begin);
        status = solve_block(job, &block, NULL);
        begin = block.end;
    }
    free_job(job);
    return status;
}

gpusolve_status gpusolve_inverse_entries(gpusolve_handle *handle, const gpusolve_factor *factor,
                                         int64_t count, const int64_t *rows, const int64_t *columns,
                                         void *values) {
    GSV_ENTER(handle);
    inverse_job job = {.handle = handle,
                       .factor = factor,
                       .count = count,
                       .rows = rows,
                       .columns = columns,
                       .values = values};
    gpusolve_status status = check_pairs(handle, factor, count, rows, columns);
    if (!status && count > 0)
        status = check_result(handle, "values", values, gsv_real_bytes(factor->dtype));
    if (!status)
        status = gsv_check_not_captured(handle, "entries of the inverse wait for solves");
    return status ? status : solve_all(&job);
}

gpusolve_status gpusolve_inverse_diagonal(gpusolve_handle *handle, const gpusolve_factor *factor,
                                          double *diagonal) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor(handle, factor);
    if (!status && factor->plan.l.n > 0)
        status = check_result(handle, "diagonal", diagonal, sizeof *diagonal);
    if (!status)
        status = gsv_check_not_captured(handle, "entries of the inverse wait for solves");
    if (status)
        return status;
    inverse_job job = {.handle = handle, .factor = factor, .count = factor->plan.l.n, .diagonal = diagonal};
    return solve_all(&job);
}

/* ----------------------------------------------------------------------------------------------- cost --- */

/* Bytes of L in the reach of some of A's rows. */
static double reached_bytes(const inverse_job *job, int64_t count, const int64_t *rows) {
    const gsv_plan *plan = &job->factor->plan;
    double numbers = 0;
    memset(job->reach, 0, (size_t)plan->l.nsuper);
    for (int64_t k = 0; k < count; k++)
        for (int32_t s = gsv_supernode_of(plan, job->place[rows[k]]); s >= 0 && !job->reach[s];
             s = plan->parent[s]) {
            job->reach[s] = 1;
            numbers += (double)gsv_trapezoid(plan, s);
        }
    return numbers * (double)gsv_dtype_bytes(job->factor->dtype);
}

static int by_work(const void *a, const void *b) {
    const pair_block *x = a, *y = b;
    return x->work != y->work ? (x->work < y->work ? -1 : 1) : (x->begin > y->begin) - (x->begin < y->begin);
}

/* The blocks, with their work, to be freed; NULL: out of memory. */
static pair_block *list_blocks(const inverse_job *job, gpusolve_inverse_info *info) {
    int64_t count = 0;
    for (int64_t begin = 0; begin < job->count; count++)
        begin = take_block(job, begin).end;
    pair_block *blocks = gsv_malloc((size_t)count, sizeof *blocks);
    double bytes = 0;
    info->blocks = count;
    for (int64_t k = 0, begin = 0; k < count && blocks; k++) {
        pair_block block = take_block(job, begin);
        begin = block.end;
        block.work = (reached_bytes(job, block.columns, job->block_columns) +
                      reached_bytes(job, block.end - block.begin, job->block_rows)) *
                     (double)((block.columns + WIDTH - 1) / WIDTH);
        blocks[k] = block;
        bytes += block.work;
        info->columns += block.columns;
    }
    info->bytes = (int64_t)bytes;
    return blocks;
}

/* Time one block of each stratum; the first one twice, for it finds nothing ready. */
static gpusolve_status time_blocks(const inverse_job *job, pair_block *blocks, gpusolve_inverse_info *info) {
    const int64_t strata = smaller(info->blocks, SAMPLES);
    gpusolve_status status = GPUSOLVE_OK;
    qsort(blocks, (size_t)info->blocks, sizeof *blocks, by_work);
    for (int64_t k = -1; k < strata && !status; k++) {
        const int64_t stratum = k < 0 ? 0 : k, begin = stratum * info->blocks / strata,
                      end = (stratum + 1) * info->blocks / strata;
        const pair_block *middle = blocks + (begin + end) / 2;
        double work = 0;
        for (int64_t i = begin; i < end; i++)
            work += blocks[i].work;
        take_block(job, middle->begin);
        const double started = gsv_milliseconds();
        status = solve_block(job, middle, &info->memory_bytes);
        if (k >= 0)
            info->predicted_ms += (gsv_milliseconds() - started) * work / middle->work;
    }
    return status;
}

/* The block with the most work, whose part is the largest, or nearly. */
static gpusolve_status measure_memory(const inverse_job *job, const pair_block *block, int64_t *memory) {
    gpusolve_selection *selection = NULL;
    take_block(job, block->begin);
    gpusolve_status status = make_selection(job, block, &selection);
    if (!status)
        status = note_memory(job, block, selection, memory);
    gpusolve_selection_destroy(selection);
    return status;
}

gpusolve_status gpusolve_inverse_cost(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t count,
                                      const int64_t *rows, const int64_t *columns,
                                      gpusolve_inverse_info *info) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor(handle, factor);
    const int diagonal = !status && !rows && !columns && count == factor->plan.l.n;
    if (!status && !diagonal)
        status = check_pairs(handle, factor, count, rows, columns);
    if (!status)
        status = gsv_check_record("info", info, sizeof *info, &handle->message);
    if (!status)
        status = gsv_check_not_captured(handle, "entries of the inverse wait for solves");
    if (status)
        return status;
    inverse_job job = {.handle = handle, .factor = factor, .count = count, .rows = rows, .columns = columns};
    gpusolve_inverse_info found = {.size = sizeof found};
    pair_block *blocks = NULL;
    if (count > 0) {
        status = make_job(&job);
        blocks = status ? NULL : list_blocks(&job, &found);
        if (!status && !blocks)
            status = gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "inverse: out of host memory");
        if (!status)
            status = time_blocks(&job, blocks, &found);
        if (!status)
            status = measure_memory(&job, blocks + found.blocks - 1, &found.memory_bytes);
    }
    gsv_free(blocks);
    free_job(&job);
    if (!status)
        *info = found;
    return status;
}
