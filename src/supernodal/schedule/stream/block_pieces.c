/* Pieces of the forward stream for a block of right-hand sides: schedule/stream/pieces.h. Linear in the pieces. */
#include "pieces.h"

_Static_assert((int)GSV_BLOCK_LARGE_FOLD_COLUMNS <= 2 * (int)GSV_BLOCK_FIT_4,
               "a front is that of two pieces at most");

/* Tasks that share a range of `numbers` numbers, for a block of right-hand sides. */
int32_t gsv_shares_of(const gsv_writer *w, int64_t numbers, int32_t pieces) {
    const int64_t most = (numbers + w->quantum - 1) / w->quantum;
    const int64_t shares = most < pieces ? most : pieces;
    return shares < GSV_BLOCK_SHARES ? (int32_t)shares : GSV_BLOCK_SHARES;
}

/* Where the sums of such tasks are. */
static void place_sums(gsv_writer *w, gsv_piece *piece, int32_t shares) {
    piece->shares = (uint16_t)shares;
    piece->numbers = (int32_t)w->published;
    w->published += shares > 1 ? (int64_t)shares * GSV_TILE * w->groups : 0;
}

/* Pieces of a range of columns are about as wide as each other, and at most so wide. */
static int32_t width_of(int32_t columns, int32_t most) {
    const int32_t pieces = (columns + most - 1) / most, even = (columns + pieces - 1) / pieces;
    return (even + 31) / 32 * 32 < most ? (even + 31) / 32 * 32 : most;
}

/* Columns of a piece of folded block rows, or of others, at most. */
static int32_t most_columns(const gsv_writer *w, bool folded) {
    const int32_t fit = w->groups == 1 ? GSV_BLOCK_FIT_1 : w->groups == 2 ? GSV_BLOCK_FIT_2 : GSV_BLOCK_FIT_4;
    return folded && fit > GSV_FOLDED ? GSV_FOLDED : fit;
}

/* The task of block rows row .. end_row - 1 that assembles their front: for each w->groups of them the same columns, in
 * one piece or two. The first group's have the front. A ring has two slots: so of two pieces each finds its part of the
 * front where it was two pieces before, and of one the next piece copies it, and then both slots have it. */
static void add_folded(gsv_writer *w, gsv_piece piece, int32_t row, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1), most = most_columns(w, true),
                  width = width_of(columns, most);
    gsv_begin_task(w);
    for (int32_t top = row, stop; top < end_row; top = stop) {
        stop = top + w->groups < end_row ? top + w->groups : end_row;
        piece.place = top;
        for (int32_t first = 0; first < columns; first += width) {
            const int32_t end = first + width < columns ? first + width : columns;
            const bool all = end - first == columns, keeps = all && top == row && stop < end_row;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags = (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) |
                                    (end == columns ? GSV_PIECE_LAST : 0) | (keeps ? GSV_PIECE_KEPT : 0));
            piece.a_rows = (uint16_t)(top == row ? end - first : 0);
            if (top == row)
                piece.a_first = first;
            else
                piece.ago = all && top == row + w->groups ? 1 : 2;
            /* the rows that results are added to */
            gsv_set_b(&piece, GSV_TILE * top, first == 0 ? GSV_TILE * (stop - top) : 0);
            gsv_add_piece(w, &piece);
        }
    }
}

/* Block rows row .. end_row - 1 of a wide supernode whose front is published, in pieces of about the same size: one task has
 * them, or several share them. */
static void add_published(gsv_writer *w, gsv_piece piece, int32_t row, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1),
                  width = width_of(columns, most_columns(w, false)), runs = (columns + width - 1) / width,
                  shares = gsv_shares_of(w, (int64_t)columns * GSV_TILE * w->groups, runs);
    const int32_t top = GSV_TILE * row, below = top > piece.nc ? top : piece.nc;
    piece.place = row;
    place_sums(w, &piece, shares);
    for (int32_t share = 0; share < shares; share++) {
        gsv_begin_task(w);
        for (int32_t k = share; k < runs; k += shares) {
            const int32_t first = k * width;
            piece.first = first;
            piece.count = (int16_t)(first + width < columns ? width : columns - first);
            piece.flags = (uint8_t)((k == share ? GSV_PIECE_FIRST : 0) |
                                    (k + shares >= runs ? GSV_PIECE_LAST : 0) | GSV_PIECE_PUBLISHED);
            piece.share = (uint16_t)share;
            gsv_set_b(&piece, below, k == 0 && below < GSV_TILE * end_row ? GSV_TILE * end_row - below : 0);
            gsv_add_piece(w, &piece);
        }
    }
}

/* Adds `groups` groups of block rows from `row` on; returns where they end. */
static int32_t add_groups(gsv_writer *w, gsv_piece piece, int32_t row, int32_t groups) {
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, end = row + groups * w->groups;
    if (piece.nc <= w->fold)
        add_folded(w, piece, row, end < last ? end : last);
    else
        add_published(w, piece, row, end < last ? end : last);
    return end;
}

void gsv_add_block_rows(gsv_writer *w, int32_t s, uint32_t published, gsv_phase phase) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_BLOCK_PIECE);
    const bool folded = piece.nc <= w->fold;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, groups = w->groups;
    const int32_t below = piece.nr > piece.nc
                              ? piece.nc / GSV_TILE / groups * groups
                              : (last + groups - 1) / groups * groups; /* as in gsv_add_rows */
    piece.published = published;
    piece.groups = (unsigned)groups & 15u;
    if (phase == GSV_FRONTS && !folded)
        gsv_add_fronts(w, piece);
    for (int32_t row = 0; phase == GSV_TRIANGLES && row < below; row += groups)
        add_groups(w, piece, folded ? row : below - groups - row, 1);
    if (phase == GSV_AWAITED)
        for (int32_t row = below; row < last;)
            row = add_groups(w, piece, row, folded ? w->together : 1);
}
