/* Do two blocks of memory share a byte? Decided exactly. Lowest layer: includes nothing of the library. */
#ifndef GSV_OVERLAP_H
#define GSV_OVERLAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs of bytes at equal distances: run k, 0 <= k < runs, holds the bytes
 *
 *      start + k pitch, ..., start + k pitch + run - 1
 *
 * A column-major matrix with leading dimension ld has a run of rows * size bytes for each column, and a pitch
 * of ld * size. A vector with increment inc has a run of size bytes for each component. A block without runs
 * or with empty runs holds nothing, whatever its start. Runs may touch or overlap each other.
 */
typedef struct gsv_bytes_block {
    const void *start;
    uint64_t run;   /* bytes of a run */
    uint64_t pitch; /* bytes from the start of a run to the start of the next; not used if runs < 2 */
    uint64_t runs;
} gsv_bytes_block;

/* 1 if a byte belongs to both blocks, otherwise 0. Bytes beyond the address space do not exist. Takes
 * O(log(runs)) steps for any pitches, and O(1) for equal ones. */
int gsv_blocks_overlap(const gsv_bytes_block *a, const gsv_bytes_block *b);

/* 1 if every byte of the block has an address, otherwise 0. */
int gsv_block_is_addressable(const gsv_bytes_block *block);

#ifdef __cplusplus
}
#endif
#endif
