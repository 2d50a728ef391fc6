/* See rows.h. */
#include "rows.h"

#include <string.h>

#include "../../../memory.h"

enum {
    WANTED_CHUNKS = 4096, /* about as many as a device has room for warps, if there are rows enough */
    FEWEST_ROWS = 8,      /* of a chunk, where that leaves fewer chunks */
    BUNDLED_ROWS =
        5 /* in two bundles, from which on these are worth it: with 4 the gain is small, and a loss for few columns */
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

/* Rows from `row` on with the pattern of that one, itself included. */
static int32_t same_rows(const int64_t *row_ptr, const int32_t *columns, int32_t n, int32_t row) {
    const int64_t entries = row_ptr[row + 1] - row_ptr[row];
    int32_t i = row + 1;
    while (i < n && row_ptr[i + 1] - row_ptr[i] == entries &&
           memcmp(&columns[row_ptr[i]], &columns[row_ptr[row]], (size_t)entries * sizeof *columns) == 0)
        i++;
    return i - row;
}

/* Rows with one pattern are dealt to as few bundles as can be, of about one size. Returns how many there are, or 0 where a row is too long. */
static int64_t list_bundles(const int64_t *row_ptr, const int32_t *columns, int32_t n, gsv_bundle *to) {
    int64_t piece = 0, bundles = 0;
    for (int32_t i = 0; i < n;) {
        const int64_t entries = row_ptr[i + 1] - row_ptr[i], pieces = pieces_of(row_ptr, i);
        if (entries > GSV_WHOLE_ROW)
            return 0;
        const int32_t same = same_rows(row_ptr, columns, n, i), end = i + same;
        for (int32_t left = (same + GSV_BUNDLE_ROWS - 1) / GSV_BUNDLE_ROWS; left > 0; left--, bundles++) {
            const int32_t rows = (end - i + left - 1) / left;
            if (to)
                to[bundles] =
                    (gsv_bundle){row_ptr[i], (int32_t)entries, i, rows, pieces ? (int32_t)piece : -1};
            piece += rows * pieces;
            i += rows;
        }
    }
    return bundles;
}

gpusolve_status gsv_bundle_rows(const int64_t *row_ptr, const int32_t *columns, int32_t n,
                                gsv_bundle **bundles, int32_t *count, gsv_message *message) {
    const int64_t all = list_bundles(row_ptr, columns, n, NULL);
    *bundles = NULL;
    *count = 0;
    if (all == 0 || all * BUNDLED_ROWS > 2 * (int64_t)n)
        return GPUSOLVE_OK;
    *bundles = gsv_malloc((size_t)all, sizeof **bundles);
    if (!*bundles)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "matrix: out of host memory");
    *count = (int32_t)list_bundles(row_ptr, columns, n, *bundles);
    return GPUSOLVE_OK;
}
