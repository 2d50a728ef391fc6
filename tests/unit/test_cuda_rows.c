/*
 * How the rows of A are divided for residuals: every row is in one chunk, or all of its entries are in pieces, once each; chunks and
 * pieces keep to their sizes.
 */
#include "testing.h"

#include "supernodal/cuda/refine/rows.h"

static uint64_t state = 3;

static int64_t below(int64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % limit;
}

/* A chunk of rows. */
static void check_rows(const int64_t *row_ptr, const gsv_chunk *chunk, int *seen) {
    CHECK(chunk->rows >= 1 && chunk->rows <= GSV_CHUNK_ROWS && chunk->entries <= GSV_CHUNK_ENTRIES);
    CHECK(chunk->entry == row_ptr[chunk->row] &&
          chunk->entry + chunk->entries == row_ptr[chunk->row + chunk->rows]);
    for (int32_t i = chunk->row; i < chunk->row + chunk->rows; i++) {
        CHECK(row_ptr[i + 1] - row_ptr[i] <= GSV_LONG_ROW);
        seen[i]++;
    }
}

/* A chunk of pieces, which must go on where the one before has ended: at *entry, with piece *piece. */
static void check_pieces(const int64_t *row_ptr, const gsv_divided_rows *divided, const gsv_chunk *chunk,
                         int *seen, int64_t *entry, int32_t *piece) {
    const int64_t begin = row_ptr[chunk->row], end = row_ptr[chunk->row + 1];
    if (chunk->entry == begin)
        *entry = begin;
    CHECK(end - begin > GSV_LONG_ROW && chunk->entry == *entry && chunk->piece == *piece);
    CHECK(chunk->rows == 1 && chunk->entries <= GSV_CHUNK_ENTRIES &&
          (chunk->entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE == chunk->rows);
    for (int32_t p = chunk->piece; p < chunk->piece + chunk->rows; p++)
        CHECK(divided->pieces[p].row == chunk->row &&
              begin + (p - divided->pieces[p].first) * (int64_t)GSV_ENTRY_PIECE ==
                  chunk->entry + (p - chunk->piece) * (int64_t)GSV_ENTRY_PIECE);
    *entry += chunk->entries;
    *piece += chunk->rows;
    if (*entry == end)
        seen[chunk->row]++;
}

static void check_matrix(const int64_t *row_ptr, int32_t n) {
    gsv_divided_rows divided;
    gsv_message message = {{0}};
    int *seen = calloc((size_t)n + 1, sizeof *seen);
    REQUIRE(seen && gsv_divide_rows(row_ptr, n, &divided, &message) == GPUSOLVE_OK);
    int64_t entry = 0;
    int32_t piece = 0, rows_begun = 0;
    for (int32_t c = 0; c < divided.chunk_count; c++) {
        rows_begun |= divided.chunks[c].piece < 0;
        CHECK(rows_begun == (divided.chunks[c].piece < 0)); /* pieces come first */
        if (divided.chunks[c].piece < 0)
            check_rows(row_ptr, &divided.chunks[c], seen);
        else
            check_pieces(row_ptr, &divided, &divided.chunks[c], seen, &entry, &piece);
    }
    CHECK(piece == divided.piece_count);
    for (int32_t i = 0; i < n; i++)
        CHECK(seen[i] == 1);
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
    check_matrix(row_ptr, n);
    free(row_ptr);
}

int main(void) {
    for (int32_t n = 0; n < 200; n += 1 + n / 7)
        for (int64_t usual = 0; usual <= 300; usual = 2 * usual + 1)
            check_random(n, usual, 20000);
    check_random(100000, 7, 7);
    check_random(100000, 7, 100000);
    check_random(20000, 192, 193);
    check_random(3000, 1, 5000);
    return testing_done();
}
