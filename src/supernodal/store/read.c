/*
 * Reading a factor: file -> blocks -> arrays for the import.
 *
 * Threads take blocks in turn, read each to its place and compare its checksum while it is in the cache. Mapped values are
 * compared where they are. The block at fault that is named is the first one, whichever thread meets another.
 *
 * Blocks of the values are brought when somebody wants them (import/blocks.h): all at once, or each before its numbers travel to a device.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "store.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../../memory.h"
#include "../../spin.h"
#include "checksum.h"
#include "file.h"
#include "format.h"

/* A region on its way. */
typedef struct passage {
    const struct gsv_reading *r;
    const gsv_store_region *region;
    const char *name;
    char *to;         /* where it is read to; NULL: it is there */
    const char *from; /* where it is then */
    int verify;
    _Atomic int64_t failed; /* the first block that cannot be read, or the number of blocks */
    _Atomic int64_t damaged;
    _Atomic int error;
} passage;

enum { ABSENT, COMING, THERE };

typedef struct gsv_reading {
    const char *path;
    int fd;
    gsv_store_header header;
    uint64_t *checksums;
    passage values;
    _Atomic unsigned char *state; /* [blocks of the values] */
} reading;

static void read_block(void *context, int64_t item, int member) {
    passage *p = context;
    const gsv_store_range block = gsv_store_block(p->region, item);
    const int64_t at = block.offset - p->region->offset, number = p->region->first + item;
    (void)member;
    if (item > atomic_load_explicit(&p->damaged, memory_order_relaxed))
        return; /* one before it is */
    if (!p->to)
        gsv_file_expect(p->from + at, block.bytes);
    const int error = p->to ? gsv_file_read(p->r->fd, p->to + at, (size_t)block.bytes, block.offset) : 0;
    if (error) {
        atomic_store(&p->error, error);
        gsv_lower(&p->failed, item);
    } else if (p->verify &&
               gsv_checksum(p->from + at, (size_t)block.bytes, (uint64_t)number) != p->r->checksums[number]) {
        gsv_lower(&p->damaged, item);
    }
}

static void begin_passage(passage *p) {
    atomic_init(&p->failed, p->region->blocks);
    atomic_init(&p->damaged, p->region->blocks);
    atomic_init(&p->error, 0);
}

static gpusolve_status end_passage(const passage *p, gsv_message *message) {
    const gsv_store_region *region = p->region;
    const int64_t damaged = atomic_load(&p->damaged);
    if (atomic_load(&p->failed) < region->blocks)
        return gsv_file_fail(p->r->path, "cannot be read", atomic_load(&p->error), message);
    if (damaged == region->blocks)
        return GPUSOLVE_OK;
    const gsv_store_range block = gsv_store_block(region, damaged);
    return gsv_fail(message, GPUSOLVE_INVALID_FILE,
                    "path: %s: is damaged: in its %s, between bytes %lld and %lld", gsv_path_end(p->r->path),
                    p->name, (long long)block.offset, (long long)(block.offset + block.bytes));
}

static gpusolve_status read_structure(const reading *r, void *to, gsv_pool *pool, gsv_message *message) {
    const gsv_store_region *region = &r->header.structure;
    passage p = {.r = r, .region = region, .name = "structure", .to = to, .from = to, .verify = 1};
    begin_passage(&p);
    gsv_pool_each(pool, gsv_pool_share(pool, region->blocks, 1), region->blocks, read_block, &p);
    return end_passage(&p, message);
}

/* ------------------------------------------------------------------------------------------ numbers --- */

static int bring(void *context, int64_t block) {
    reading *r = context;
    passage *p = &r->values;
    unsigned char state = ABSENT;
    if (atomic_compare_exchange_strong(&r->state[block], &state, COMING)) {
        read_block(p, block, 0);
        atomic_store_explicit(&r->state[block], THERE, memory_order_release);
    }
    while (atomic_load_explicit(&r->state[block], memory_order_acquire) != THERE)
        sched_yield(); /* until the thread that brings it is through */
    return atomic_load_explicit(&p->damaged, memory_order_relaxed) == p->region->blocks &&
           atomic_load_explicit(&p->failed, memory_order_relaxed) == p->region->blocks;
}

/* Mapped pages take time to be given back, and one thread would do it for all in the end. */
static void leave(void *context, int64_t block) {
    const reading *r = context;
    const gsv_store_range range = gsv_store_block(r->values.region, block);
    gsv_file_leave(r->values.from + (range.offset - r->values.region->offset), range.bytes);
}

static void bring_one(void *context, int64_t item, int member) {
    (void)member;
    bring(context, item);
}

static gpusolve_status bring_all(void *context, gsv_pool *pool, gsv_message *message) {
    reading *r = context;
    const gsv_store_region *values = r->values.region;
    if (r->values.to || r->values.verify)
        gsv_pool_each(pool, gsv_pool_share(pool, values->blocks, 1), values->blocks, bring_one, r);
    else
        gsv_file_expect(r->values.from, values->bytes);
    return end_passage(&r->values, message);
}

/* ------------------------------------------------------------------------------------------- opening --- */

/* The header and the checksums. */
static gpusolve_status read_header(reading *r, int64_t bytes, gsv_message *message) {
    gsv_store_header *h = &r->header;
    const int64_t there = bytes < GSV_STORE_PAGE ? bytes : GSV_STORE_PAGE;
    int error = gsv_file_read(r->fd, h, (size_t)there, 0);
    if (error)
        return gsv_file_fail(r->path, "cannot be read", error, message);
    const gpusolve_status status = gsv_store_check_header(h, there, bytes, r->path, message);
    if (status)
        return status;
    r->checksums = gsv_malloc((size_t)h->table.bytes, 1);
    if (!r->checksums)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while loading");
    error = gsv_file_read(r->fd, r->checksums, (size_t)h->table.bytes, h->table.offset);
    if (error)
        return gsv_file_fail(r->path, "cannot be read", error, message);
    if (gsv_checksum(r->checksums, (size_t)h->table.bytes, 0) == h->table_checksum)
        return GPUSOLVE_OK;
    return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is damaged: in its checksums",
                    gsv_path_end(r->path));
}

/* Memory for a region. Large ones on huge pages, where the system gives them: it takes less time to have them. */
static void *allocate(const gsv_store_region *region) {
    enum { LARGE = 16 << 20 };
    void *memory = gsv_malloc((size_t)region->bytes, 1);
#ifdef MADV_HUGEPAGE
    if (memory && region->bytes >= LARGE) {
        const uintptr_t begin = ((uintptr_t)memory + GSV_STORE_PAGE - 1) & ~((uintptr_t)GSV_STORE_PAGE - 1);
        const uintptr_t end = ((uintptr_t)memory + (size_t)region->bytes) & ~((uintptr_t)GSV_STORE_PAGE - 1);
        madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* advice: no harm if it is refused */
    }
#endif
    return memory;
}

static const void *array_at(const gsv_stored *stored, const gsv_store_header *h, gsv_store_array which) {
    const gsv_store_range *array = &h->array[which];
    if (array->bytes == 0)
        return NULL;
    return (const char *)stored->structure + (array->offset - h->structure.offset);
}

static void describe(const gsv_store_header *h, const void *values, gsv_stored *stored) {
    stored->data = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    gpusolve_factor_data *data = &stored->data;
    data->kind = (gpusolve_factor_kind)h->kind;
    data->dtype = (gpusolve_dtype)h->dtype;
    data->itype = (gpusolve_itype)h->itype;
    data->allow_fill = h->allow_fill;
    data->storage = (gpusolve_storage)h->storage;
    data->n = data->minor = h->n;
    data->nsuper = h->nsuper;
    data->ssize = h->ssize;
    data->xsize = h->xsize;
    data->perm = array_at(stored, h, GSV_STORE_PERM);
    data->super = array_at(stored, h, GSV_STORE_SUPER);
    data->pi = array_at(stored, h, GSV_STORE_PI);
    data->px = array_at(stored, h, GSV_STORE_PX);
    data->s = array_at(stored, h, GSV_STORE_S);
    data->p = array_at(stored, h, GSV_STORE_P);
    data->i = array_at(stored, h, GSV_STORE_I);
    data->x = values;
}

/* Room for the values, or where they are. */
static gpusolve_status place_values(reading *r, int how, gsv_stored *stored, gsv_message *message) {
    const gsv_store_header *h = &r->header;
    int error;
    r->state = gsv_calloc((size_t)h->values.blocks, sizeof *r->state);
    if (!(how & GSV_STORED_MAP))
        stored->values = allocate(&h->values);
    if (!r->state || (!(how & GSV_STORED_MAP) && !stored->values))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while loading");
    if (how & GSV_STORED_MAP) {
        stored->mapping = gsv_file_map(r->fd, h->file_bytes, &error);
        stored->mapped = h->file_bytes;
        if (!stored->mapping)
            return gsv_file_fail(r->path, "cannot be mapped", error, message);
    }
    const void *values = stored->mapping ? (const char *)stored->mapping + h->values.offset : stored->values;
    r->values = (passage){.r = r,
                          .region = &h->values,
                          .name = "values",
                          .to = stored->values,
                          .from = values,
                          .verify = (how & GSV_STORED_VERIFY) != 0};
    begin_passage(&r->values);
    stored->numbers = (gsv_blocks){.context = r,
                                   .count = h->values.blocks,
                                   .bytes = GSV_STORE_BLOCK,
                                   .bring = bring,
                                   .leave = stored->mapping ? leave : NULL,
                                   .bring_all = bring_all};
    describe(h, values, stored);
    return GPUSOLVE_OK;
}

static gpusolve_status open_file(reading *r, int how, gsv_pool *pool, gsv_stored *stored,
                                 gsv_message *message) {
    int64_t bytes = 0;
    gpusolve_status status = gsv_file_open(r->path, &r->fd, &bytes, message);
    if (!status)
        status = read_header(r, bytes, message);
    if (status)
        return status;
    stored->structure = allocate(&r->header.structure);
    if (!stored->structure)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while loading");
    status = read_structure(r, stored->structure, pool, message);
    return status ? status : place_values(r, how, stored, message);
}

gpusolve_status gsv_store_open(const char *path, int how, gsv_pool *pool, gsv_stored *stored,
                               gsv_message *message) {
    *stored = (gsv_stored){.reading = gsv_calloc(1, sizeof *stored->reading)};
    if (!stored->reading)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while loading");
    stored->reading->path = path;
    stored->reading->fd = -1;
    const gpusolve_status status = open_file(stored->reading, how, pool, stored, message);
    if (status)
        gsv_stored_free(stored);
    return status;
}

void gsv_stored_free(gsv_stored *stored) {
    reading *r = stored->reading;
    if (r) {
        if (r->fd >= 0)
            gsv_file_close(r->fd);
        gsv_free(r->checksums);
        gsv_free((void *)r->state);
        gsv_free(r);
    }
    gsv_free(stored->structure);
    gsv_free(stored->values);
    if (stored->mapping)
        gsv_file_unmap(stored->mapping, stored->mapped);
    *stored = (gsv_stored){.mapping = NULL};
}
