/* See rows.h. */
#include "rows.h"

#include <string.h>

#include "../../../memory.h"

enum {
    WANTED_CHUNKS = 4096, /* about as many as a device has room for warps, if there are rows enough */
    FEWEST_ROWS = 8       /* of a chunk, where that leaves fewer chunks */
};

static int64_t pieces_of(const int64_t *row_ptr, int32_t row) {
    const int64_t entries = row_ptr[row + 1] - row_ptr[row];
    return entries > GSV_LONG_ROW ? (entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE : 0;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t rows_of_a_chunk(int32_t n) {
    const int64_t rows = n / WANTED_CHUNKS;
    return rows < FEWEST_ROWS ? FEWEST_ROWS : smaller(rows, GSV_CHUNK_ROWS);
}

/* The pieces of long rows. Returns how many there are. */
static int64_t cut_long_rows(const int64_t *row_ptr, int32_t n, gsv_entry_piece *to) {
    int64_t piece = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t first = piece, end = first + pieces_of(row_ptr, i);
        for (; piece < end; piece++)
            if (to)
                to[piece] = (gsv_entry_piece){i, (int32_t)first};
    }
    return piece;
}

/* A chunk for each piece of a row of more than `whole` entries. Returns how many these are. */
static int64_t list_pieces(const int64_t *row_ptr, int32_t n, int64_t whole, gsv_chunk *to) {
    int64_t piece = 0, chunks = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t count = pieces_of(row_ptr, i);
        if (row_ptr[i + 1] - row_ptr[i] > whole)
            for (int64_t k = 0; k < count; k++, chunks++) {
                const int64_t entry = row_ptr[i] + k * GSV_ENTRY_PIECE;
                if (to)
                    to[chunks] = (gsv_chunk){entry, (int32_t)smaller(GSV_ENTRY_PIECE, row_ptr[i + 1] - entry),
                                             i, 1, (int32_t)(piece + k)};
            }
        piece += count;
    }
    return chunks;
}

/* Chunks of the other rows. Returns how many these are. */
static int64_t list_rows(const int64_t *row_ptr, int32_t n, int64_t whole, gsv_chunk *to) {
    const int64_t most = rows_of_a_chunk(n);
    int64_t chunks = 0;
    for (int32_t i = 0; i < n;) {
        const int32_t first = i;
        while (i < n && i - first < most && !pieces_of(row_ptr, i) &&
               row_ptr[i + 1] - row_ptr[first] <= GSV_CHUNK_ENTRIES)
            i++;
        if (i == first) { /* a long row */
            i++;
            if (row_ptr[i] - row_ptr[first] > whole)
                continue;
        }
        if (to)
            to[chunks] =
                (gsv_chunk){row_ptr[first], (int32_t)(row_ptr[i] - row_ptr[first]), first, i - first, -1};
        chunks++;
    }
    return chunks;
}

gpusolve_status gsv_divide_rows(const int64_t *row_ptr, int32_t n, int64_t whole, gsv_divided_rows *divided,
                                gsv_message *message) {
    memset(divided, 0, sizeof *divided);
    const int64_t pieces = cut_long_rows(row_ptr, n, NULL), apart = list_pieces(row_ptr, n, whole, NULL),
                  chunks = apart + list_rows(row_ptr, n, whole, NULL);
    if (pieces > INT32_MAX || chunks > INT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE, "matrix: has too many entries");
    divided->pieces = pieces ? gsv_malloc((size_t)pieces, sizeof *divided->pieces) : NULL;
    divided->chunks = chunks ? gsv_malloc((size_t)chunks, sizeof *divided->chunks) : NULL;
    if ((pieces && !divided->pieces) || (chunks && !divided->chunks)) {
        gsv_divided_rows_free(divided);
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "matrix: out of host memory");
    }
    divided->piece_count = (int32_t)pieces;
    divided->chunk_count = (int32_t)chunks;
    cut_long_rows(row_ptr, n, divided->pieces);
    list_pieces(row_ptr, n, whole, divided->chunks);
    list_rows(row_ptr, n, whole, divided->chunks ? divided->chunks + apart : NULL);
    return GPUSOLVE_OK;
}

void gsv_divided_rows_free(gsv_divided_rows *divided) {
    gsv_free(divided->pieces);
    gsv_free(divided->chunks);
    memset(divided, 0, sizeof *divided);
}
