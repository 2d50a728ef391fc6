/*
 * The file that a factor is saved in: the plain arrays of a gpusolve_factor_data, in the writer's byte order, without gaps
 * between columns or panels, without z and nz, with zeros above the diagonals. It holds nothing of a backend.
 *
 *      page 0      header
 *      page 1 ..   checksums of all blocks, 8 bytes each
 *      next page   structure: perm, super, pi, px, s, or perm, p, i, each on a multiple of 64 bytes
 *      next page   values: x, to the end of the file
 *
 * Structure and values are cut into blocks of 1 MB, which are read, written and checked by several threads. Every byte
 * of the file is under some checksum: the header under its own, the page or pages of checksums under one in the header.
 * Where everything stands follows from six sizes in the header. A reader computes it from them and compares.
 */
#ifndef GSV_STORE_FORMAT_H
#define GSV_STORE_FORMAT_H

#include "../../message.h"

enum {
    GSV_STORE_VERSION = 2, /* of a factor that is to be stored as it is: 1 */
    GSV_STORE_PAGE = 4096,
    GSV_STORE_BLOCK = 1 << 20,
    GSV_STORE_ORDER = 0x01020304 /* as the writer's bytes */
};

typedef enum gsv_store_array {
    GSV_STORE_PERM,
    GSV_STORE_SUPER,
    GSV_STORE_PI,
    GSV_STORE_PX,
    GSV_STORE_S,
    GSV_STORE_P,
    GSV_STORE_I,
    GSV_STORE_X,
    GSV_STORE_ARRAYS
} gsv_store_array;

/* Bytes of the file. */
typedef struct gsv_store_range {
    int64_t offset, bytes;
} gsv_store_range;

/* The structure or the values: cut into blocks from its offset on, with checksums from number `first` on. */
typedef struct gsv_store_region {
    int64_t offset, bytes, first, blocks;
} gsv_store_region;

/* The first page. */
typedef struct gsv_store_header {
    uint8_t magic[8];
    uint32_t order;
    uint32_t version;
    /* what the factor is */
    int32_t kind, dtype, itype;
    int32_t has_perm, allow_fill, storage; /* storage: 0 in version 1 */
    int64_t n, nsuper, ssize, xsize;
    /* what follows from it */
    int64_t file_bytes, block_bytes;
    gsv_store_range array[GSV_STORE_ARRAYS]; /* bytes 0: there is none */
    gsv_store_range table;                   /* checksums of the blocks */
    gsv_store_region structure, values;
    /* what depends on the contents */
    uint64_t table_checksum;
    char writer[16]; /* version of the library that wrote it, for people */
    uint8_t rest[3768];
    uint64_t checksum; /* of all before it */
} gsv_store_header;

_Static_assert(sizeof(gsv_store_header) == GSV_STORE_PAGE, "the header is a page");

/* Fill in everything but the two checksums, from kind .. xsize. 0: there is no factor of such sizes. */
int gsv_store_lay_out(gsv_store_header *header);

/* Whether a page, of which `bytes` were there, begins a file that this library can read, of file_bytes. The sentence names the
 * path, and says what is wrong: foreign, of another byte order, newer, damaged or truncated. */
gpusolve_status gsv_store_check_header(const gsv_store_header *header, int64_t bytes, int64_t file_bytes,
                                       const char *path, gsv_message *message);

/* Its checksum, to be compared or set. */
uint64_t gsv_store_header_checksum(const gsv_store_header *header);

/* The bytes of a block of a region. */
gsv_store_range gsv_store_block(const gsv_store_region *region, int64_t block);

#endif
