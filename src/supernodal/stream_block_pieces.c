/* Pieces of the forward stream for a block of right-hand sides: stream_pieces.h. Linear in the pieces. */
#include "stream_pieces.h"

_Static_assert((int)GSV_BLOCK_LARGE_FOLD_COLUMNS <= 2 * (int)GSV_BLOCK_FIT_4,
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

/* Of block rows row .. end_row - 1 of a wide supernode whose front is published, columns begin .. end - 1: to rows of the
 * front, which they publish, or to results; adds: to what these rows begin with. */
typedef struct column_range {
    int32_t row, end_row, begin, end;
    bool publishes, adds;
} column_range;

/* Pieces of about the same size: one task has them, or several share them, as many as there are pieces and tasks; the
 * other tasks change nothing. */
static void add_range(gsv_writer *w, gsv_piece piece, column_range of, int32_t tasks) {
    const int32_t columns = of.end - of.begin, width = width_of(columns, most_columns(w, false)),
                  runs = (columns + width - 1) / width, shares = tasks < runs ? tasks : runs;
    const int32_t top = GSV_TILE * of.row, from = of.publishes || top > piece.nc ? top : piece.nc;
    piece.place = of.row;
    place_sums(w, &piece, shares);
    for (int32_t share = 0; share < shares; share++) {
        gsv_begin_task(w);
        for (int32_t k = share; k < runs; k += shares) {
            const int32_t first = of.begin + k * width, last = k + shares >= runs;
            piece.first = first;
            piece.count = (int16_t)(first + width < of.end ? width : of.end - first);
            piece.flags = (uint8_t)((k == share ? GSV_PIECE_FIRST : 0) | (last ? GSV_PIECE_LAST : 0) |
                                    GSV_PIECE_PUBLISHED | (last && of.publishes ? GSV_PIECE_PUBLISHES : 0));
            piece.share = (uint16_t)share;
            gsv_set_b(&piece, from,
                      of.adds && k == 0 && from < GSV_TILE * of.end_row ? GSV_TILE * of.end_row - from : 0);
            gsv_add_piece(w, piece);
        }
    }
    for (int32_t share = shares; share < tasks; share++)
        gsv_add_nothing(w, piece);
}

/* Tasks that share block rows up to end_row - 1. */
static int32_t tasks_of(const gsv_writer *w, gsv_piece piece, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1),
                  width = width_of(columns, most_columns(w, false));
    return gsv_shares_of(w, (int64_t)columns * GSV_TILE * w->groups, (columns + width - 1) / width);
}

/* w->groups block rows of a wide supernode from `row` on whose front is published. */
static void add_published(gsv_writer *w, gsv_piece piece, int32_t row, int32_t end_row) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1);
    add_range(w, piece, (column_range){row, end_row, 0, columns, false, true}, tasks_of(w, piece, end_row));
}

/* Likewise, of a triangle that is inverted in parts, rows of a part after the first. Others wait for what the columns
 * before that part bring, which are rows of the front, but nobody for what its own columns do. So some of the tasks that
 * share them have the former, in the second phase, and some the latter, in the third; if there is but one, or there are
 * rows below the triangle among them, one has all, in the second, and the others nothing. */
static void add_later_part(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t row, int32_t end_row,
                           gsv_phase phase) {
    const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1), tasks = tasks_of(w, piece, end_row);
    const int32_t part = gsv_part_columns(piece.nc, parts), before = GSV_TILE * row / part * part;
    const bool mixed = piece.nr > piece.nc && GSV_TILE * end_row > piece.nc;
    int32_t first =
        (int32_t)(((int64_t)tasks * before + columns / 2) / columns); /* tasks of the columns before */
    first = first < 1 ? 1 : first < tasks ? first : tasks - 1;
    if (tasks > 1 && !mixed && phase == GSV_AWAITED)
        add_range(w, piece, (column_range){row, end_row, 0, before, true, true}, first);
    else if (tasks > 1 && !mixed)
        add_range(w, piece, (column_range){row, end_row, before, columns, false, false}, tasks - first);
    else if (phase == GSV_AWAITED) {
        piece.place = row;
        place_sums(w, &piece, 1);
        gsv_begin_task(w);
        add_part(w, piece, parts, end_row, columns, most_columns(w, false));
        for (int32_t share = 1; share < tasks; share++)
            gsv_add_nothing(w, piece);
    }
}

/* A wide supernode whose front is published and whose triangle is inverted in parts: what it has in a phase. below: the
 * first block row that others wait for, of a whole triangle. */
static void add_parts(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t below, gsv_phase phase) {
    const int32_t nc = piece.nc, part = gsv_part_columns(nc, parts), groups = w->groups,
                  second = part / GSV_TILE, last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    if (phase == GSV_FRONTS)
        gsv_add_fronts(w, piece, part);
    for (int32_t row = second; phase == GSV_AWAITED && row < last; row += groups) {
        const int32_t end = row + groups < last ? row + groups : last;
        if (GSV_TILE * row < nc)
            add_later_part(w, piece, parts, row, end, phase);
        else
            add_published(w, piece, row, end);
    }
    for (int32_t row = below - groups; phase == GSV_TRIANGLES && row >= 0; row -= groups) {
        const int32_t end = row + groups < last ? row + groups : last;
        if (row < second)
            add_published(w, piece, row, end);
        else
            add_later_part(w, piece, parts, row, end, phase);
    }
}

/* So many groups of block rows from `row` on; returns where they end. parts: of a triangle whose front is not published. */
static int32_t add_groups(gsv_writer *w, gsv_piece piece, int32_t parts, int32_t row, int32_t groups) {
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, end = row + groups * w->groups;
    if (piece.nc <= w->fold)
        add_folded(w, piece, parts, row, end < last ? end : last);
    else
        add_published(w, piece, row, end < last ? end : last);
    return end;
}

void gsv_add_block_rows(gsv_writer *w, int32_t s, int32_t node, uint32_t published, gsv_phase phase) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_BLOCK_PIECE, node);
    const int32_t parts = gsv_divided_in(w, s);
    const bool folded = piece.nc <= w->fold, divided = parts > 0;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, groups = w->groups;
    const int32_t below = piece.nr > piece.nc
                              ? piece.nc / GSV_TILE / groups * groups
                              : (last + groups - 1) / groups * groups; /* as in gsv_add_rows */
    piece.published = published;
    piece.groups = (unsigned)groups & 15u;
    if (divided && !folded) {
        add_parts(w, piece, parts, below, phase);
        return;
    }
    if (phase == GSV_FRONTS && !folded)
        gsv_add_fronts(w, piece, piece.nc);
    if (phase == (divided ? GSV_AWAITED : GSV_TRIANGLES)) {
        for (int32_t row = 0; row < below; row += groups)
            add_groups(w, piece, parts, folded ? row : below - groups - row, 1);
    }
    if (phase == GSV_AWAITED)
        for (int32_t row = below; row < last;)
            row = add_groups(w, piece, parts, row, folded ? w->together : 1);
}
