/*
 * Writing a factor: data -> blocks -> file.
 *
 * Threads take blocks in turn. A block is gathered from the caller's arrays into a buffer of the thread's own, its checksum is
 * computed while it is in the cache, and it is written to its place. The header is written last, for it holds the
 * checksum of the checksums.
 */
#include "store.h"

#include <stdatomic.h>
#include <string.h>

#include "../../memory.h"
#include "../import/fields.h"
#include "checksum.h"
#include "file.h"
#include "format.h"

typedef struct writing {
    const gpusolve_factor_data *data;
    gsv_store_header header;
    int64_t items;   /* panels, or simplicial columns */
    int64_t *starts; /* [items + 1] where each begins in the file's x: the file's px or p */
    int fd;
    char *buffers;       /* GSV_STORE_BLOCK bytes for each thread */
    uint64_t *checksums; /* of all blocks, padded to whole pages */
    _Atomic int error;
} writing;

/* -------------------------------------------------------------------------------------------- numbers --- */

/* Numbers from .. from + count - 1 of the caller's x. */
static void copy_numbers(const gpusolve_factor_data *data, int64_t from, int64_t count, char *to) {
    const size_t number = gsv_dtype_bytes(data->dtype), real = gsv_real_bytes(data->dtype);
    if (!data->z) {
        memcpy(to, (const char *)data->x + (size_t)from * number, (size_t)count * number);
        return;
    }
    const char *re = (const char *)data->x + (size_t)from * real,
               *im = (const char *)data->z + (size_t)from * real;
    for (int64_t k = 0; k < count; k++) {
        memcpy(to + (size_t)k * number, re + (size_t)k * real, real);
        memcpy(to + (size_t)k * number + real, im + (size_t)k * real, real);
    }
}

/* The item that holds number `at` of the file's x. */
static int64_t item_of(const writing *w, int64_t at) {
    int64_t low = 0, high = w->items; /* starts[low] <= at < starts[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (w->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Numbers begin .. end - 1 of panel k, of which those above the diagonal are zero. */
static void gather_panel(const writing *w, int64_t k, int64_t begin, int64_t end, char *to) {
    const gpusolve_factor_data *data = w->data;
    const size_t number = gsv_dtype_bytes(data->dtype);
    const int64_t nr = gsv_index(data->pi, data->itype, k + 1) - gsv_index(data->pi, data->itype, k);
    const int64_t from = gsv_index(data->px, data->itype, k);
    while (begin < end) {
        const int64_t column = begin / nr, stop = (column + 1) * nr;
        const int64_t last = stop < end ? stop : end, below = column * nr + column;
        const int64_t first = below < begin ? begin : below < last ? below : last;
        memset(to, 0, (size_t)(first - begin) * number);
        copy_numbers(data, from + first, last - first, to + (size_t)(first - begin) * number);
        to += (size_t)(last - begin) * number;
        begin = last;
    }
}

/* Numbers begin .. end - 1 of the file's x. */
static void gather_values(const writing *w, int64_t begin, int64_t end, char *to) {
    const gpusolve_factor_data *data = w->data;
    const size_t number = gsv_dtype_bytes(data->dtype);
    for (int64_t k = item_of(w, begin); begin < end; k++) {
        const int64_t start = w->starts[k], last = w->starts[k + 1] < end ? w->starts[k + 1] : end;
        if (gsv_is_supernodal(data))
            gather_panel(w, k, begin - start, last - start, to);
        else
            copy_numbers(data, gsv_simplicial_column(data, k).start + begin - start, last - begin, to);
        to += (size_t)(last - begin) * number;
        begin = last;
    }
}

/* ------------------------------------------------------------------------------------------ structure --- */

static size_t index_bytes(const gpusolve_factor_data *data) {
    return data->itype == GPUSOLVE_INT32 ? sizeof(int32_t) : sizeof(int64_t);
}

/* Indices begin .. end - 1 of starts. */
static void gather_starts(const writing *w, int64_t begin, int64_t end, char *to) {
    for (int64_t k = begin; k < end; k++)
        if (w->data->itype == GPUSOLVE_INT32) {
            const int32_t start = (int32_t)w->starts[k];
            memcpy(to + (size_t)(k - begin) * sizeof start, &start, sizeof start);
        } else {
            memcpy(to + (size_t)(k - begin) * sizeof w->starts[k], &w->starts[k], sizeof w->starts[k]);
        }
}

/* Indices begin .. end - 1 of the file's i. */
static void gather_rows(const writing *w, int64_t begin, int64_t end, char *to) {
    const gpusolve_factor_data *data = w->data;
    const size_t index = index_bytes(data);
    for (int64_t j = item_of(w, begin); begin < end; j++) {
        const int64_t last = w->starts[j + 1] < end ? w->starts[j + 1] : end;
        const int64_t from = gsv_simplicial_column(data, j).start + begin - w->starts[j];
        memcpy(to, (const char *)data->i + (size_t)from * index, (size_t)(last - begin) * index);
        to += (size_t)(last - begin) * index;
        begin = last;
    }
}

/* Elements begin .. end - 1 of an array. */
static void gather(const writing *w, int array, int64_t begin, int64_t end, char *to) {
    const gpusolve_factor_data *data = w->data;
    const void *const same[GSV_STORE_ARRAYS] = {[GSV_STORE_PERM] = data->perm,
                                                [GSV_STORE_SUPER] = data->super,
                                                [GSV_STORE_PI] = data->pi,
                                                [GSV_STORE_S] = data->s};
    const size_t index = index_bytes(data);
    if (array == GSV_STORE_X)
        gather_values(w, begin, end, to);
    else if (array == GSV_STORE_I)
        gather_rows(w, begin, end, to);
    else if (same[array])
        memcpy(to, (const char *)same[array] + (size_t)begin * index, (size_t)(end - begin) * index);
    else
        gather_starts(w, begin, end, to);
}

/* ---------------------------------------------------------------------------------------------- blocks --- */

/* The bytes of the file in this range, which is in the structure or in the values. */
static void gather_block(const writing *w, gsv_store_range block, char *to) {
    const gsv_store_header *h = &w->header;
    for (int k = 0; k < GSV_STORE_ARRAYS; k++) {
        const gsv_store_range *array = &h->array[k];
        const int64_t element =
            k == GSV_STORE_X ? (int64_t)gsv_dtype_bytes(w->data->dtype) : (int64_t)index_bytes(w->data);
        const int64_t begin = block.offset > array->offset ? block.offset : array->offset;
        const int64_t last = block.offset + block.bytes, stop = array->offset + array->bytes;
        const int64_t end = last < stop ? last : stop;
        if (begin < end)
            gather(w, k, (begin - array->offset) / element, (end - array->offset) / element,
                   to + (begin - block.offset));
    }
}

static void write_block(void *context, int64_t item, int member) {
    writing *w = context;
    const gsv_store_header *h = &w->header;
    const int in_values = item >= h->values.first;
    const gsv_store_region *region = in_values ? &h->values : &h->structure;
    const gsv_store_range block = gsv_store_block(region, item - region->first);
    char *buffer = w->buffers + (size_t)member * GSV_STORE_BLOCK;
    if (atomic_load_explicit(&w->error, memory_order_relaxed))
        return;
    if (!in_values) /* there are gaps between its arrays */
        memset(buffer, 0, (size_t)block.bytes);
    gather_block(w, block, buffer);
    w->checksums[item] = gsv_checksum(buffer, (size_t)block.bytes, (uint64_t)item);
    const int error = gsv_file_write(w->fd, buffer, (size_t)block.bytes, block.offset);
    if (error)
        atomic_store(&w->error, error);
}

static gpusolve_status write_blocks(writing *w, const char *path, gsv_pool *pool, gsv_message *message) {
    gsv_store_header *h = &w->header;
    const int64_t blocks = h->structure.blocks + h->values.blocks;
    const int threads = gsv_pool_share(pool, blocks, 1);
    w->buffers = gsv_malloc((size_t)threads, GSV_STORE_BLOCK);
    w->checksums = gsv_calloc((size_t)h->table.bytes, 1);
    if (!w->buffers || !w->checksums)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while saving");
    atomic_init(&w->error, 0);
    gsv_pool_each(pool, threads, blocks, write_block, w);
    int error = atomic_load(&w->error);
    h->table_checksum = gsv_checksum(w->checksums, (size_t)h->table.bytes, 0);
    h->checksum = gsv_store_header_checksum(h);
    if (!error)
        error = gsv_file_write(w->fd, w->checksums, (size_t)h->table.bytes, h->table.offset);
    if (!error)
        error = gsv_file_write(w->fd, h, sizeof *h, 0);
    return error ? gsv_file_fail(path, "cannot be written", error, message) : GPUSOLVE_OK;
}

/* ----------------------------------------------------------------------------------------------- whole --- */

static gpusolve_status find_starts(writing *w, gsv_message *message) {
    const gpusolve_factor_data *data = w->data;
    w->items = data->n == 0 ? 0 : gsv_is_supernodal(data) ? data->nsuper : data->n;
    w->starts = gsv_malloc((size_t)w->items + 1, sizeof *w->starts);
    if (!w->starts)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while saving");
    w->starts[0] = 0;
    for (int64_t k = 0; k < w->items; k++) {
        int64_t numbers;
        if (gsv_is_supernodal(data))
            numbers = (gsv_index(data->pi, data->itype, k + 1) - gsv_index(data->pi, data->itype, k)) *
                      (gsv_index(data->super, data->itype, k + 1) - gsv_index(data->super, data->itype, k));
        else
            numbers = gsv_simplicial_column(data, k).count;
        w->starts[k + 1] = w->starts[k] + numbers;
    }
    return GPUSOLVE_OK;
}

static gpusolve_status fill_header(writing *w, gsv_message *message) {
    const gpusolve_factor_data *data = w->data;
    const int supernodal = gsv_is_supernodal(data) && data->n > 0;
    gsv_store_header *h = &w->header;
    *h = (gsv_store_header){.kind = (int32_t)data->kind,
                            .dtype = (int32_t)data->dtype,
                            .itype = (int32_t)data->itype,
                            .has_perm = data->perm && data->n > 0,
                            .allow_fill = data->allow_fill,
                            .storage = (int32_t)data->storage,
                            .n = data->n,
                            .nsuper = supernodal ? data->nsuper : 0,
                            .ssize = supernodal ? data->ssize : 0,
                            .xsize = w->starts[w->items]};
    const char *version = gpusolve_version();
    const size_t length = strlen(version);
    memcpy(h->writer, version, length < sizeof h->writer ? length : sizeof h->writer - 1);
    return gsv_store_lay_out(h)
               ? GPUSOLVE_OK
               : gsv_fail(message, GPUSOLVE_TOO_LARGE, "data: the factor is too large for a file");
}

gpusolve_status gsv_store_write(const gpusolve_factor_data *data, const char *path, gsv_pool *pool,
                                gsv_message *message) {
    writing w = {.data = data};
    gsv_new_file file = {.fd = -1};
    gpusolve_status status = find_starts(&w, message);
    if (!status)
        status = fill_header(&w, message);
    if (!status)
        status = gsv_new_file_begin(path, w.header.file_bytes, &file, message);
    if (!status) {
        w.fd = file.fd;
        status = write_blocks(&w, path, pool, message);
        if (!status)
            status = gsv_new_file_commit(&file, message);
        else
            gsv_new_file_abandon(&file);
    }
    gsv_free(w.starts);
    gsv_free(w.buffers);
    gsv_free(w.checksums);
    return status;
}
