/*
 * How the rows of A are divided for residuals: every row is in one chunk, or all of its entries are in chunks that are pieces, once each;
 * chunks and pieces keep to their sizes. Every row is in one bundle, whose rows have one pattern.
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

/* Each row is in one bundle, beside rows with its pattern. Returns how many bundles there are. */
static int32_t check_bundles(const int64_t *row_ptr, const int32_t *columns, int32_t n) {
    gsv_bundle *bundles = NULL;
    int32_t count = 0, row = 0;
    int64_t piece = 0;
    gsv_message message = {{0}};
    REQUIRE(gsv_bundle_rows(row_ptr, columns, n, &bundles, &count, &message) == GPUSOLVE_OK);
    CHECK((count > 0) == (bundles != NULL) && 5 * (int64_t)count <= 2 * (int64_t)n);
    for (int32_t c = 0; c < count; c++) {
        const gsv_bundle *bundle = &bundles[c];
        REQUIRE(bundle->row == row && bundle->rows >= 1 && bundle->rows <= GSV_BUNDLE_ROWS &&
                row + bundle->rows <= n);
        const int64_t entries = bundle->entries, begin = row_ptr[row],
                      pieces = (entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE;
        CHECK(bundle->entry == begin && entries <= GSV_WHOLE_ROW);
        CHECK(bundle->first_piece == (entries > GSV_LONG_ROW ? piece : -1));
        for (const int32_t end = row + bundle->rows; row < end; row++) {
            REQUIRE(row_ptr[row + 1] - row_ptr[row] == entries);
            CHECK(memcmp(&columns[row_ptr[row]], &columns[begin], (size_t)entries * sizeof *columns) == 0);
            piece += entries > GSV_LONG_ROW ? pieces : 0;
        }
    }
    CHECK(count == 0 || row == n);
    free(bundles);
    return count;
}

/* Rows of `width` entries: `same` rows have one pattern, then the next one begins `shift` columns on; one row in `lacking` lacks an entry. Where none does
 * there are `expected` bundles. */
static void check_patterns(int32_t n, int32_t width, int32_t same, int32_t shift, int64_t lacking,
                           int32_t expected) {
    int64_t *row_ptr = malloc(((size_t)n + 1) * sizeof *row_ptr);
    int32_t *columns = malloc((size_t)n * (size_t)width * sizeof *columns);
    REQUIRE(row_ptr && columns);
    testing_in("%d rows of %d entries, %d with one pattern, shifted by %d", (int)n, (int)width, (int)same,
               (int)shift);
    int64_t entries = row_ptr[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t without = lacking && below(lacking) == 0 ? (int32_t)below(width) : width;
        for (int32_t k = 0; k < width; k++)
            if (k != without)
                columns[entries++] = i / same * shift + k;
        row_ptr[i + 1] = entries;
    }
    const int32_t count = check_bundles(row_ptr, columns, n);
    CHECK(lacking || count == expected);
    free(row_ptr);
    free(columns);
}

int main(void) {
    for (int32_t n = 0; n < 200; n += 1 + n / 7)
        for (int64_t usual = 0; usual <= 300; usual = 2 * usual + 1)
            check_random(n, usual, 20000);
    check_random(100000, 7, 7);
    check_random(100000, 7, 100000);
    check_random(20000, 128, 129);
    check_random(3000, 1, 5000);
    check_patterns(300, 20, 3, 10, 0, 100);
    check_patterns(300, 81, 6, 10, 0, 100);
    check_patterns(300, 81, 5, 10, 0, 120);
    check_patterns(300, 300, 300, 10, 0, 100);
    check_patterns(300, GSV_WHOLE_ROW, 3, 10, 0, 100);
    check_patterns(300, GSV_WHOLE_ROW + 1, 3, 10, 0, 0); /* rows are too long */
    check_patterns(300, 20, 2, 10, 0, 0);                /* too few have one pattern */
    check_patterns(300, 20, 1, 1, 0, 0);
    check_patterns(301, 130, 3, 10, 40, 0);
    check_patterns(4000, 20, 12, 10, 50, 0);
    return testing_done();
}
