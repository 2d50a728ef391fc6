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

/*
 * The numbers of a triangle of a column-major matrix of order n: number (i, j) has `number` bytes from
 * start + i number + j pitch on, and belongs to the triangle if i > j (lower), if i < j (otherwise), or if
 * i = j unless `unit`. What lies in the other triangle and between the columns does not belong to it.
 */
typedef struct gsv_bytes_triangle {
    const void *start;
    uint64_t number;
    uint64_t pitch; /* >= n number */
    uint64_t n;
    int lower, unit;
} gsv_bytes_triangle;

/* 1 if a byte belongs to both, otherwise 0. The whole matrix is addressable. Takes O(log n) steps if the
 * block meets no square on the diagonal, and at most O(n log n). */
int gsv_triangle_overlaps(const gsv_bytes_triangle *triangle, const gsv_bytes_block *block);

/* 1 if every byte of the block has an address, otherwise 0. */
int gsv_block_is_addressable(const gsv_bytes_block *block);

#ifdef __cplusplus
}
#endif
#endif
