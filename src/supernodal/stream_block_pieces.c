/* Pieces of the forward stream for a block of right-hand sides: stream_pieces.h. Linear in the pieces. */
#include "stream_pieces.h"

_Static_assert((int)GSV_BLOCK_FOLD_COLUMNS <= 2 * (int)GSV_BLOCK_FIT_4,
               "a front is that of two pieces at most");

/* Tasks that share a range of so many numbers, for a block of right-hand sides. */
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

/* All pieces of some block rows of a triangle that is inverted in parts: they publish rows of the front, those of the
 * first part as they are assembled, and others when the columns before their part are complete. */
static void add_part(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t end_row, int32_t columns,
                     int32_t most) {
    const int32_t top = GSV_TILE * piece.place, part = gsv_part_columns(piece.nc, parts);
    const int32_t before = top < piece.nc ? top / part * part : 0; /* columns of other parts */
    const int32_t own =
        before > 0 || top > piece.nc ? top : piece.nc; /* rows that are added to, from here on */
    piece.share = 0;
    piece.shares = 1;
    if (top < part && top < piece.nc) {
        gsv_piece front = piece;
        front.kind = GSV_FRONT_PIECE;
        front.groups = 0;
        front.flags = GSV_PIECE_FIRST | GSV_PIECE_PUBLISHED | GSV_PIECE_PUBLISHES;
        front.numbers = 0;
        gsv_set_b(&front, top, (GSV_TILE * end_row < piece.nc ? GSV_TILE * end_row : piece.nc) - top);
        gsv_add_piece(w, front);
    }
    for (int32_t k = 0; k < 2; k++) {
        const int32_t from = k == 0 ? 0 : before, to = k == 0 ? before : columns;
        for (int32_t first = from, width = from < to ? width_of(to - from, most) : 0; first < to;
             first += width) {
            const int32_t end = first + width < to ? first + width : to;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == columns ? GSV_PIECE_LAST : 0) |
                          GSV_PIECE_PUBLISHED | (end == before ? GSV_PIECE_PUBLISHES : 0));
            gsv_set_b(&piece, own, first == 0 && own < GSV_TILE * end_row ? GSV_TILE * end_row - own : 0);
            gsv_add_piece(w, piece);
        }
    }
}

/* Columns of a piece of folded block rows, or of others, at most. */
static int32_t most_columns(const gsv_writer *w, bool folded) {
    const int32_t fit = w->groups == 1 ? GSV_BLOCK_FIT_1 : w->groups == 2 ? GSV_BLOCK_FIT_2 : GSV_BLOCK_FIT_4;
    return folded && fit > GSV_FOLDED ? GSV_FOLDED : fit;
}

/* The task of block rows row .. end_row - 1 that assembles their front: for each w->groups of them the same columns, in
 * one piece or two. The first group's have the front. A ring has two slots: so of two pieces each finds its part of the
 * front where it was two pieces before, and of one the next piece copies it, and then both slots have it. */
static void add_folded(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t row, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1), most = most_columns(w, true),
                  width = width_of(columns, most);
    gsv_begin_task(w);
    for (int32_t top = row, stop; top < end_row; top = stop) {
        stop = top + w->groups < end_row ? top + w->groups : end_row;
        piece.place = top;
        if (parts > 0) {
            add_part(w, piece, parts, stop, columns, most);
            continue;
        }
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
            gsv_add_piece(w, piece);
        }
    }
}

/* w->groups block rows of a wide supernode from `row` on whose front is published, in pieces of columns of about the
 * same size: one task, or several that share the pieces. */
static void add_published(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t row, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1),
                  width = width_of(columns, most_columns(w, false)), runs = (columns + width - 1) / width;
    const int32_t shares = gsv_shares_of(w, (int64_t)columns * GSV_TILE * w->groups, runs);
    piece.place = row;
    place_sums(w, &piece, shares);
    if (parts > 0) {
        gsv_begin_task(w);
        add_part(w, piece, parts, end_row, columns, most_columns(w, false));
        for (int32_t share = 1; share < shares; share++)
            gsv_add_nothing(w, piece);
        return;
    }
    for (int32_t share = 0; share < shares; share++) {
        gsv_begin_task(w);
        for (int32_t k = share; k < runs; k += shares) {
            const int32_t first = k * width, end = first + width < columns ? first + width : columns;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags = (uint8_t)((k == share ? GSV_PIECE_FIRST : 0) |
                                    (k + shares >= runs ? GSV_PIECE_LAST : 0) | GSV_PIECE_PUBLISHED);
            piece.share = (uint16_t)share;
            piece.shares = (uint16_t)shares;
            /* the rows that results are added to */
            const int32_t from = GSV_TILE * row > piece.nc ? GSV_TILE * row : piece.nc;
            gsv_set_b(&piece, from, first == 0 && from < GSV_TILE * end_row ? GSV_TILE * end_row - from : 0);
            gsv_add_piece(w, piece);
        }
    }
}

/* So many groups of block rows from `row` on; returns where they end. */
static int32_t add_groups(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t row, int32_t groups) {
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, end = row + groups * w->groups;
    (piece.nc <= GSV_BLOCK_FOLD_COLUMNS ? add_folded : add_published)(w, piece, parts, row,
                                                                      end < last ? end : last);
    return end;
}

void gsv_add_block_rows(gsv_writer *w, int32_t s, int32_t node, uint32_t published, gsv_phase phase) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_BLOCK_PIECE, node);
    const int32_t parts = gsv_divided_in(w, s);
    const bool folded = piece.nc <= GSV_BLOCK_FOLD_COLUMNS, divided = parts > 0;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, groups = w->groups;
    const int32_t below = piece.nr > piece.nc
                              ? piece.nc / GSV_TILE / groups * groups
                              : (last + groups - 1) / groups * groups; /* as in gsv_add_rows */
    piece.published = published;
    piece.groups = (unsigned)groups & 15u;
    if (phase == GSV_FRONTS && !folded)
        gsv_add_fronts(w, piece, divided ? 0 : piece.nc);
    if (phase == (divided ? GSV_AWAITED : GSV_TRIANGLES)) {
        for (int32_t row = 0; row < below; row += groups)
            add_groups(w, piece, parts, folded || divided ? row : below - groups - row, 1);
    }
    if (phase == GSV_AWAITED)
        for (int32_t row = below; row < last;)
            row = add_groups(w, piece, parts, row, folded ? w->together : 1);
}
