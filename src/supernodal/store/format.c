/* Where everything in a saved factor's file stands, and whether a header is one: format.h. */
#include "format.h"

#include <string.h>

#include "../../dtype.h"
#include "checksum.h"
#include "file.h"

/* No text begins so, and a transfer that changes line ends, or drops an eighth bit, changes it. */
static const uint8_t MAGIC[8] = {0x89, 'g', 's', 'v', '\r', '\n', 0x1a, '\n'};

enum { LINE = 64 };
static const int64_t MOST = (int64_t)1 << 48; /* numbers or indices of an array: no sum here overflows */

static int64_t round_up(int64_t bytes, int64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static int sizes_are_possible(const gsv_store_header *h) {
    const int supernodal = h->kind == GPUSOLVE_SUPERNODAL_LL;
    return h->kind >= GPUSOLVE_SUPERNODAL_LL && h->kind <= GPUSOLVE_SIMPLICIAL_LDL &&
           h->dtype >= GPUSOLVE_FLOAT && h->dtype <= GPUSOLVE_COMPLEX_DOUBLE &&
           (h->itype == GPUSOLVE_INT32 || h->itype == GPUSOLVE_INT64) && h->n >= 0 && h->n < INT32_MAX &&
           h->nsuper >= 0 && h->nsuper <= h->n && h->ssize >= 0 && h->ssize <= MOST && h->xsize >= 0 &&
           h->xsize <= MOST && (supernodal || (h->nsuper == 0 && h->ssize == 0)) &&
           (h->has_perm == 0 || h->has_perm == 1) && (h->allow_fill == 0 || h->allow_fill == 1) &&
           h->storage >= GPUSOLVE_STORAGE_SAME && h->storage <= GPUSOLVE_STORAGE_SINGLE;
}

/* The arrays' sizes. */
static void size_arrays(gsv_store_header *h) {
    const int64_t index = h->itype == GPUSOLVE_INT32 ? 4 : 8;
    gsv_store_range *array = h->array;
    array[GSV_STORE_PERM].bytes = h->has_perm ? h->n * index : 0;
    if (h->kind == GPUSOLVE_SUPERNODAL_LL) {
        array[GSV_STORE_SUPER].bytes = (h->nsuper + 1) * index;
        array[GSV_STORE_PI].bytes = (h->nsuper + 1) * index;
        array[GSV_STORE_PX].bytes = (h->nsuper + 1) * index;
        array[GSV_STORE_S].bytes = h->ssize * index;
    } else {
        array[GSV_STORE_P].bytes = (h->n + 1) * index;
        array[GSV_STORE_I].bytes = h->xsize * index;
    }
    array[GSV_STORE_X].bytes = h->xsize * (int64_t)gsv_dtype_bytes((gpusolve_dtype)h->dtype);
}

static int64_t blocks_of(int64_t bytes) {
    return (bytes + GSV_STORE_BLOCK - 1) / GSV_STORE_BLOCK;
}

int gsv_store_lay_out(gsv_store_header *h) {
    if (!sizes_are_possible(h))
        return 0;
    memcpy(h->magic, MAGIC, sizeof MAGIC);
    h->order = GSV_STORE_ORDER;
    h->version = h->storage == GPUSOLVE_STORAGE_SAME ? 1 : GSV_STORE_VERSION;
    h->block_bytes = GSV_STORE_BLOCK;
    memset(h->array, 0, sizeof h->array);
    memset(h->rest, 0, sizeof h->rest);
    size_arrays(h);
    int64_t structure = 0;
    for (int k = 0; k < GSV_STORE_X; k++)
        structure += round_up(h->array[k].bytes, LINE);
    structure = round_up(structure, GSV_STORE_PAGE);
    const int64_t x = h->array[GSV_STORE_X].bytes, blocks = blocks_of(structure) + blocks_of(x);
    h->table = (gsv_store_range){GSV_STORE_PAGE, round_up(8 * blocks, GSV_STORE_PAGE)};
    h->structure = (gsv_store_region){h->table.offset + h->table.bytes, structure, 0, blocks_of(structure)};
    h->values = (gsv_store_region){h->structure.offset + structure, x, h->structure.blocks, blocks_of(x)};
    int64_t at = h->structure.offset;
    for (int k = 0; k < GSV_STORE_X; k++) {
        h->array[k].offset = at;
        at += round_up(h->array[k].bytes, LINE);
    }
    h->array[GSV_STORE_X].offset = h->values.offset;
    h->file_bytes = h->values.offset + x;
    return 1;
}

uint64_t gsv_store_header_checksum(const gsv_store_header *header) {
    return gsv_checksum(header, offsetof(gsv_store_header, checksum), 0);
}

gsv_store_range gsv_store_block(const gsv_store_region *region, int64_t block) {
    const int64_t begin = block * GSV_STORE_BLOCK, left = region->bytes - begin;
    return (gsv_store_range){region->offset + begin, left < GSV_STORE_BLOCK ? left : GSV_STORE_BLOCK};
}

/* Does everything stand where its sizes put it? */
static int is_laid_out(const gsv_store_header *header) {
    gsv_store_header computed = *header;
    return gsv_store_lay_out(&computed) && memcmp(&computed, header, sizeof computed) == 0;
}

static uint32_t swapped(uint32_t value) {
    return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

gpusolve_status gsv_store_check_header(const gsv_store_header *h, int64_t bytes, int64_t file_bytes,
                                       const char *path, gsv_message *message) {
    const size_t there = bytes < (int64_t)sizeof MAGIC ? (size_t)bytes : sizeof MAGIC;
    if (there == 0 || memcmp(h->magic, MAGIC, there) != 0)
        return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is not a factor that gpusolve has saved",
                        gsv_path_end(path));
    if (bytes < GSV_STORE_PAGE)
        return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is truncated: it has only %lld bytes",
                        gsv_path_end(path), (long long)bytes);
    if (h->order == swapped(GSV_STORE_ORDER))
        return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED,
                        "path: %s: was saved on a machine with the other byte order", gsv_path_end(path));
    if (h->order == GSV_STORE_ORDER && h->version > GSV_STORE_VERSION)
        return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED,
                        "path: %s: is newer: its format has version %u, and this library (%s) knows %d",
                        gsv_path_end(path), (unsigned)h->version, gpusolve_version(), GSV_STORE_VERSION);
    if (h->checksum != gsv_store_header_checksum(h) || !is_laid_out(h))
        return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is damaged: in its header",
                        gsv_path_end(path));
    if (file_bytes < h->file_bytes)
        return gsv_fail(message, GPUSOLVE_INVALID_FILE, "path: %s: is truncated: it has %lld bytes of %lld",
                        gsv_path_end(path), (long long)file_bytes, (long long)h->file_bytes);
    if (file_bytes > h->file_bytes)
        return gsv_fail(message, GPUSOLVE_INVALID_FILE,
                        "path: %s: is damaged: it has %lld bytes, but its header says %lld",
                        gsv_path_end(path), (long long)file_bytes, (long long)h->file_bytes);
    return GPUSOLVE_OK;
}
