/*
 * Reading a factor: file -> blocks -> arrays for the import.
 *
 * Threads take blocks in turn, read each to its place and compare its checksum while it is in the cache. Mapped values are
 * compared where they are. The block at fault that is named is the first one, whichever thread meets another.
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

typedef struct reading {
    const char *path;
    int fd;
    gsv_store_header header;
    uint64_t *checksums;
} reading;

/* A region on its way. */
typedef struct passage {
    const reading *r;
    const gsv_store_region *region;
    char *to;         /* where it is read to; NULL: it is there */
    const char *from; /* where it is then */
    int verify;
    _Atomic int64_t failed; /* the first block that cannot be read, or the number of blocks */
    _Atomic int64_t damaged;
    _Atomic int error;
} passage;

static void read_block(void *context, int64_t item, int member) {
    passage *p = context;
    const gsv_store_range block = gsv_store_block(p->region, item);
    const int64_t at = block.offset - p->region->offset, number = p->region->first + item;
    (void)member;
    if (item > atomic_load_explicit(&p->damaged, memory_order_relaxed))
        return; /* one before it is */
    const int error = p->to ? gsv_file_read(p->r->fd, p->to + at, (size_t)block.bytes, block.offset) : 0;
    if (error) {
        atomic_store(&p->error, error);
        gsv_lower(&p->failed, item);
    } else if (p->verify &&
               gsv_checksum(p->from + at, (size_t)block.bytes, (uint64_t)number) != p->r->checksums[number]) {
        gsv_lower(&p->damaged, item);
    }
}

/* Read a region to `to`, or look at it where it is mapped. */
static gpusolve_status pass_region(const reading *r, const gsv_store_region *region, const char *name,
                                   void *to, const void *mapped, int verify, gsv_pool *pool,
                                   gsv_message *message) {
    passage p = {.r = r, .region = region, .to = to, .from = to ? to : mapped, .verify = verify};
    if (!to && !verify)
        return GPUSOLVE_OK;
    atomic_init(&p.failed, region->blocks);
    atomic_init(&p.damaged, region->blocks);
    atomic_init(&p.error, 0);
    gsv_pool_each(pool, gsv_pool_share(pool, region->blocks, 1), region->blocks, read_block, &p);
    const int64_t damaged = atomic_load(&p.damaged);
    if (atomic_load(&p.failed) < region->blocks)
        return gsv_file_fail(r->path, "cannot be read", atomic_load(&p.error), message);
    if (damaged == region->blocks)
        return GPUSOLVE_OK;
    const gsv_store_range block = gsv_store_block(region, damaged);
    return gsv_fail(message, GPUSOLVE_INVALID_FILE,
                    "path: %s: is damaged: in its %s, between bytes %lld and %lld", gsv_path_end(r->path),
                    name, (long long)block.offset, (long long)(block.offset + block.bytes));
}

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

static gpusolve_status read_arrays(const reading *r, int how, gsv_pool *pool, gsv_stored *stored,
                                   gsv_message *message) {
    const gsv_store_header *h = &r->header;
    stored->structure = allocate(&h->structure);
    if (!(how & GSV_STORED_MAP))
        stored->values = allocate(&h->values);
    if (!stored->structure || (!(how & GSV_STORED_MAP) && !stored->values))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while loading");
    gpusolve_status status =
        pass_region(r, &h->structure, "structure", stored->structure, NULL, 1, pool, message);
    if (!status && (how & GSV_STORED_MAP)) {
        int error;
        stored->mapping = gsv_file_map(r->fd, h->file_bytes, &error);
        stored->mapped = h->file_bytes;
        if (!stored->mapping)
            return gsv_file_fail(r->path, "cannot be mapped", error, message);
    }
    const void *values = stored->mapping ? (const char *)stored->mapping + h->values.offset : stored->values;
    if (!status)
        status = pass_region(r, &h->values, "values", stored->values, values, (how & GSV_STORED_VERIFY) != 0,
                             pool, message);
    if (!status)
        describe(h, values, stored);
    return status;
}

gpusolve_status gsv_store_read(const char *path, int how, gsv_pool *pool, gsv_stored *stored,
                               gsv_message *message) {
    reading r = {.path = path, .fd = -1};
    int64_t bytes = 0;
    *stored = (gsv_stored){.mapping = NULL};
    gpusolve_status status = gsv_file_open(path, &r.fd, &bytes, message);
    if (status)
        return status;
    status = read_header(&r, bytes, message);
    if (!status)
        status = read_arrays(&r, how, pool, stored, message);
    gsv_file_close(r.fd); /* a mapping stays */
    gsv_free(r.checksums);
    if (status)
        gsv_stored_free(stored);
    return status;
}

void gsv_stored_free(gsv_stored *stored) {
    gsv_free(stored->structure);
    gsv_free(stored->values);
    if (stored->mapping)
        gsv_file_unmap(stored->mapping, stored->mapped);
    *stored = (gsv_stored){.mapping = NULL};
}
