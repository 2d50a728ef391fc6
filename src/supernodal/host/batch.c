/* The blocks of a batch in host memory: a thread takes some members at a time, and moves column after column. */
#include <string.h>

#include "../../pool.h"
#include "../batch/move.h"

typedef struct moving {
    const gsv_batch_blocks *blocks;
    const gsv_batch_vectors *vectors;
    int gather;
} moving;

/* rows numbers of one column; `number` is a constant wherever this is called. */
static inline void move_column(const char *from, int64_t from_stride, char *to, int64_t to_stride,
                               int64_t rows, size_t number) {
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * to_stride * (int64_t)number, from + i * from_stride * (int64_t)number, number);
}

static inline void clear_column(char *to, int64_t to_stride, int64_t rows, size_t number) {
    for (int64_t i = 0; i < rows; i++)
        memset(to + i * to_stride * (int64_t)number, 0, number);
}

static inline void move_block(const moving *m, const gsv_batch_block *block, int64_t rows, size_t number) {
    const gsv_batch_vectors *v = m->vectors;
    for (int32_t c = 0; c < v->columns; c++) {
        const int64_t column = m->blocks->first_column + c;
        char *vector =
            (char *)v->values + (block->first_row * v->row_stride + c * v->column_stride) * (int64_t)number;
        if (column >= block->columns) {
            if (m->gather)
                clear_column(vector, v->row_stride, rows, number);
            continue;
        }
        char *user = (char *)block->values + column * block->column_stride * (int64_t)number;
        if (m->gather)
            move_column(user, block->row_stride, vector, v->row_stride, rows, number);
        else
            move_column(vector, v->row_stride, user, block->row_stride, rows, number);
    }
}

static void move_member(const moving *m, int64_t member) {
    const gsv_batch_blocks *blocks = m->blocks;
    gsv_batch_block block = blocks->first;
    if (!m->gather && blocks->active && !blocks->active[member])
        return;
    if (blocks->block) {
        block = blocks->block[member];
    } else {
        block.values = (char *)block.values + member * blocks->apart * (int64_t)blocks->number;
        block.first_row = (int32_t)(member * blocks->each);
    }
    const int64_t next =
        blocks->block && member + 1 < blocks->count ? blocks->block[member + 1].first_row : blocks->n;
    const int64_t rows = blocks->each >= 0 ? blocks->each : next - block.first_row;
    if (blocks->number == 4)
        move_block(m, &block, rows, 4);
    else if (blocks->number == 8)
        move_block(m, &block, rows, 8);
    else
        move_block(m, &block, rows, 16);
}

static void move_range(void *context, int64_t begin, int64_t end, int thread) {
    const moving *m = context;
    (void)thread;
    for (int64_t k = begin; k < end; k++)
        move_member(m, k);
}

enum { GRAIN = 12500 }; /* numbers that are worth waking a thread */

static gpusolve_status move(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                            const gsv_batch_vectors *vectors, int gather) {
    moving m = {blocks, vectors, gather};
    const int threads = gsv_pool_share(handle->pool, blocks->n * vectors->columns, GRAIN);
    const int64_t at_once = blocks->count / (8 * (int64_t)threads) + 1;
    gsv_pool_ranges(handle->pool, threads, blocks->count, at_once, move_range, &m);
    return GPUSOLVE_OK;
}

static gpusolve_status gather(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                              const gsv_batch_vectors *vectors) {
    return move(handle, blocks, vectors, 1);
}

static gpusolve_status scatter(gpusolve_handle *handle, const gsv_batch_blocks *blocks,
                               const gsv_batch_vectors *vectors) {
    return move(handle, blocks, vectors, 0);
}

const gsv_batch_functions gsv_host_batch = {.gather = gather, .scatter = scatter};
