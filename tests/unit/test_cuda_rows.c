/*
 * How the rows of A are divided for residuals: every row is in one chunk, or all of its entries are in chunks that are pieces, once each;
 * chunks and pieces keep to their sizes.
 */
#include "testing.h"

#include "supernodal/cuda/refine/rows.h"

static uint64_t state = 3;

static int64_t below(int64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % limit;
}

/* A chunk of rows that are not long, or a long row that is one chunk. */
static void check_rows(const int64_t *row_ptr, const gsv_chunk *chunk, int64_t whole, int64_t *seen) {
    CHECK(chunk->rows >= 1 && chunk->rows <= GSV_CHUNK_ROWS);
    CHECK(chunk->entry == row_ptr[chunk->row] &&
          chunk->entry + chunk->entries == row_ptr[chunk->row + chunk->rows]);
    CHECK(chunk->entries <= (chunk->rows == 1 ? whole : GSV_CHUNK_ENTRIES));
    for (int32_t i = chunk->row; i < chunk->row + chunk->rows; i++)
        seen[i] += 1 + row_ptr[i + 1] - row_ptr[i];
}

/* A chunk that is a piece of a row of more than `whole` entries. */
static void check_piece(const int64_t *row_ptr, const gsv_divided_rows *divided, const gsv_chunk *chunk,
                        int64_t whole, int64_t *seen) {
    const int64_t begin = row_ptr[chunk->row], end = row_ptr[chunk->row + 1];
    REQUIRE(chunk->piece < divided->piece_count);
    const gsv_entry_piece piece = divided->pieces[chunk->piece];
    const int64_t entry = begin + (chunk->piece - piece.first) * (int64_t)GSV_ENTRY_PIECE;
    CHECK(end - begin > whole && piece.row == chunk->row && chunk->rows == 1);
    CHECK(chunk->entry == entry &&
          chunk->entries == (end - entry < GSV_ENTRY_PIECE ? end - entry : GSV_ENTRY_PIECE));
    CHECK(chunk->entries > 0);
    seen[chunk->row] += chunk->entries + (entry == begin); /* so a row counts once */
}

/* The pieces of all long rows, in order, and no others. */
static void check_list(const int64_t *row_ptr, int32_t n, const gsv_divided_rows *divided) {
    int32_t piece = 0;
    for (int32_t i = 0; i < n; i++) {
        const int64_t entries = row_ptr[i + 1] - row_ptr[i];
        const int32_t first = piece;
        for (int64_t k = 0; entries > GSV_LONG_ROW && k < entries; k += GSV_ENTRY_PIECE, piece++) {
            REQUIRE(piece < divided->piece_count);
            CHECK(divided->pieces[piece].row == i && divided->pieces[piece].first == first);
        }
    }
    CHECK(piece == divided->piece_count);
}

static void check_matrix(const int64_t *row_ptr, int32_t n, int64_t whole) {
    gsv_divided_rows divided;
    gsv_message message = {{0}};
    int64_t *seen = calloc((size_t)n + 1, sizeof *seen); /* entries of each row, and 1 */
    REQUIRE(seen && gsv_divide_rows(row_ptr, n, whole, &divided, &message) == GPUSOLVE_OK);
    check_list(row_ptr, n, &divided);
    int rows_begun = 0;
    for (int32_t c = 0; c < divided.chunk_count; c++) {
        const gsv_chunk *chunk = &divided.chunks[c];
        REQUIRE(chunk->row >= 0 && chunk->rows >= 1 && chunk->row + chunk->rows <= n);
        rows_begun |= chunk->piece < 0;
        CHECK(rows_begun == (chunk->piece < 0)); /* pieces come first */
        if (chunk->piece < 0)
            check_rows(row_ptr, chunk, whole, seen);
        else
            check_piece(row_ptr, &divided, chunk, whole, seen);
    }
    for (int32_t i = 0; i < n; i++)
        CHECK(seen[i] == 1 + row_ptr[i + 1] - row_ptr[i]);
    free(seen);
    gsv_divided_rows_free(&divided);
}

/* Rows of up to `usual` entries, and now and then one of up to `most`. */
static void check_random(int32_t n, int64_t usual, int64_t most) {
    int64_t *row_ptr = malloc(((size_t)n + 1) * sizeof *row_ptr);
    REQUIRE(row_ptr != NULL);
    testing_in("%d rows of up to %d entries, some of %d", (int)n, (int)usual, (int)most);
    row_ptr[0] = 0;
    for (int32_t i = 0; i < n; i++)
        row_ptr[i + 1] = row_ptr[i] + (below(50) ? below(usual + 1) : below(most + 1));
    check_matrix(row_ptr, n, GSV_LONG_ROW);
    check_matrix(row_ptr, n, GSV_WHOLE_ROW);
    free(row_ptr);
}

int main(void) {
    for (int32_t n = 0; n < 200; n += 1 + n / 7)
        for (int64_t usual = 0; usual <= 300; usual = 2 * usual + 1)
            check_random(n, usual, 20000);
    check_random(100000, 7, 7);
    check_random(100000, 7, 100000);
    check_random(20000, 128, 129);
    check_random(3000, 1, 5000);
    return testing_done();
}
