/* How the rows of A are divided among the warps of a residual. Plain C: it reads no number and no device. */
#ifndef GSV_CUDA_REFINE_ROWS_H
#define GSV_CUDA_REFINE_ROWS_H

#include <stdint.h>

#include "../../../message.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_LONG_ROW = 128,    /* a row with more entries is long: its sum is made of the sums of pieces */
    GSV_ENTRY_PIECE = 128, /* entries of a piece */
    GSV_WHOLE_ROW = 1024,  /* where lanes share rows, a long row with at most as many entries is one chunk */
    GSV_CHUNK_ENTRIES = 192,
    GSV_CHUNK_ROWS = 32,
    GSV_BUNDLE_ROWS = 3
};

/* A piece of a long row: entries GSV_ENTRY_PIECE (its number - first) and on of the row; first: the row's first piece. */
typedef struct gsv_entry_piece {
    int32_t row, first;
} gsv_entry_piece;

/* Consecutive rows, none of which is long; or a piece of a long row; or the whole of one. */
typedef struct gsv_chunk {
    int64_t entry; /* the first */
    int32_t entries;
    int32_t row;   /* the first, or the long one */
    int32_t rows;  /* or 1 */
    int32_t piece; /* of rows -1 */
} gsv_chunk;

/* Consecutive rows with one pattern. */
typedef struct gsv_bundle {
    int64_t entry;       /* the first row's first */
    int32_t entries;     /* of each row */
    int32_t row;         /* the first */
    int32_t rows;        /* at most GSV_BUNDLE_ROWS */
    int32_t first_piece; /* the first row's; -1: rows are not long */
} gsv_bundle;

/* The pieces of all long rows, in order; all chunks, pieces first. NULL where there are none. */
typedef struct gsv_divided_rows {
    gsv_entry_piece *pieces;
    gsv_chunk *chunks;
    int32_t piece_count, chunk_count;
} gsv_divided_rows;

/* row_ptr [n + 1], ascending. A long row of at most `whole` entries is one chunk. All zeros on failure. */
gpusolve_status gsv_divide_rows(const int64_t *row_ptr, int32_t n, int64_t whole, gsv_divided_rows *divided,
                                gsv_message *message);
void gsv_divided_rows_free(gsv_divided_rows *divided);

/* All rows in bundles, in order. NULL where that is not worth it: neighbouring rows differ, or one has more than GSV_WHOLE_ROW entries. */
gpusolve_status gsv_bundle_rows(const int64_t *row_ptr, const int32_t *columns, int32_t n,
                                gsv_bundle **bundles, int32_t *count, gsv_message *message);

#ifdef __cplusplus
}
#endif
#endif
