/* Pieces of the streams: schedule/stream/pieces.h. Linear in the pieces. */
#include "pieces.h"

void gsv_begin_task(gsv_writer *w) {
    if (w->list->piece)
        w->list->task[w->tasks] = (int32_t)(w->list->tasks + w->pieces - w->tasks);
    w->tasks++;
    w->first = 1;
}

/* Take room for count 32-bit numbers from place `start` of an array on, brought from a multiple of 16 bytes
 * on; returns where the first of them will stand. */
static uint16_t take_room(int64_t *end, int64_t start, int64_t count) {
    const int64_t at = *end + start % 4 * 4;
    *end += ((start + count + 3) / 4 - start / 4) * 16;
    return (uint16_t)at;
}

/* Rows first .. first + rows - 1 of the front, as list b. */
void gsv_set_b(gsv_piece *piece, int32_t first, int32_t rows) {
    piece->b_first = first;
    piece->b_rows = (uint16_t)(first + rows < piece->nr ? rows : piece->nr - first);
}

void gsv_write_piece(const gsv_writer *w, const gsv_piece *from) {
    gsv_piece *piece = &w->list->piece[w->first ? w->tasks - 1 : w->list->tasks + w->pieces - w->tasks];
    int64_t end = 0, a = 0, b = 0;
    *piece = *from;
    if (!w->backward) {
        const uint32_t *ptr = w->plan->schedule->gather_ptr + from->row;
        piece->a_gather = from->a_rows > 0 ? ptr[from->a_first] : 0;
        piece->b_gather = ptr[from->b_first];
        a = from->a_rows > 0 ? (int64_t)ptr[from->a_first + from->a_rows] - piece->a_gather : 0;
        b = (int64_t)ptr[from->b_first + from->b_rows] - piece->b_gather;
    }
    if (a + b <= GSV_PIECE_LISTS / 4) {
        if (!w->backward) {
            piece->a_gathers = (uint16_t)a;
            piece->b_gathers = (uint16_t)b;
        }
        if (from->a_rows > 0) {
            piece->a_ptr_at = take_room(&end, from->row + from->a_first, from->a_rows + 1);
            piece->a_gather_at = take_room(&end, piece->a_gather, a);
        }
        if (from->b_rows > 0) {
            piece->b_ptr_at = take_room(&end, from->row + from->b_first, from->b_rows + !w->backward);
            piece->b_gather_at = take_room(&end, piece->b_gather, b);
        }
    }
    if (a + b > GSV_PIECE_LISTS / 4 || end > GSV_PIECE_LISTS)
        piece->flags |= GSV_PIECE_FAR;
    if (w->crowd &&
        !(from->flags & GSV_PIECE_PUBLISHED)) /* a task that waits for a front must not wait long */
        piece->flags |= GSV_PIECE_CROWD;
    if (w->alone)
        piece->flags |= GSV_PIECE_ALONE;
}

gsv_piece gsv_piece_of(const gsv_writer *w, int32_t s, int kind) {
    const gsv_plan *plan = w->plan;
    return (gsv_piece){.panel = plan->schedule->panel_ptr[s],
                       .row = w->row,
                       .update = (uint32_t)plan->schedule->update_place[s],
                       .published = w->place,
                       .first_column = plan->l.first_column[s],
                       .nr = gsv_rows(plan, s),
                       .nc = gsv_columns(plan, s),
                       .kind = (unsigned)kind & 15u};
}

/* Numbers of a piece at most. */
static int32_t most_numbers(const gsv_writer *w) {
    return w->plan->floats && !w->block ? GSV_PIECE_FLOATS : GSV_PIECE_NUMBERS;
}

/* A narrow supernode: one task, pieces of as many columns, a multiple of four, as fit; the last one leaves room for
 * the front of a block of right-hand sides. */
void gsv_add_narrow(gsv_writer *w, int32_t s) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_NARROW_PIECE);
    const int64_t panel = piece.panel;
    const int64_t front = 8 * ((piece.nr + GSV_TILE - 1) / GSV_TILE * GSV_TILE);
    const int64_t all = gsv_narrow_column(piece.nr, piece.nc) + piece.nc;
    const int32_t most = w->block && all <= GSV_PIECE_NUMBERS && all + front > GSV_BLOCK_ROOM / 8
                             ? (piece.nc - 1) / 4 * 4
                             : piece.nc;
    gsv_begin_task(w);
    for (int32_t first = 0, end; first < piece.nc; first = end) {
        const int64_t start = gsv_narrow_column(piece.nr, first) + first;
        const int32_t stop = first < most ? most : piece.nc;
        for (end = first; end < stop;) {
            const int32_t next = end + 4 < stop ? end + 4 : stop;
            if (end > first && gsv_narrow_column(piece.nr, next) + next - start > most_numbers(w))
                break;
            end = next;
        }
        piece.panel = panel + start;
        piece.numbers = (int32_t)(gsv_narrow_column(piece.nr, end) + end - start);
        piece.first = first;
        piece.count = (int16_t)(end - first);
        piece.flags = (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == piece.nc ? GSV_PIECE_LAST : 0));
        gsv_set_b(&piece, 0, first == 0 ? piece.nr : 0);
        gsv_add_piece(w, &piece);
    }
}

/* A wide supernode of few columns, forward: each task a piece of as many block rows as fit. */
void gsv_add_tiles(gsv_writer *w, int32_t s) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_TILES_PIECE);
    const int64_t panel = piece.panel;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    for (int32_t first = 0, end; first < last; first = end) {
        const int64_t start = gsv_block_row_start(piece.nc, first);
        for (end = first + 1; end < last && end - first < GSV_TILES_PER_TASK &&
                              gsv_block_row_start(piece.nc, end + 1) - start <= most_numbers(w);)
            end++;
        gsv_begin_task(w);
        piece.panel = panel + start;
        piece.numbers = (int32_t)(gsv_block_row_start(piece.nc, end) - start);
        piece.first = first;
        piece.count = (int16_t)(end - first);
        piece.flags = GSV_PIECE_FIRST | GSV_PIECE_LAST;
        piece.a_rows = (uint16_t)piece.nc;
        gsv_set_b(&piece, GSV_TILE * first, GSV_TILE * (end - first));
        gsv_add_piece(w, &piece);
    }
}

/* Tasks that share a block row of `columns` columns, where they do. */
static int shares_of_row(int32_t columns) {
    const int32_t most = GSV_PIECE_NUMBERS / GSV_TILE;
    return columns > 2 * most ? GSV_SHARES : columns > most ? 2 : 1;
}

/* Block row `row` of a wide supernode, which `shares` tasks share: each has, of every sixteen columns, 16 / shares. */
static void add_shares(gsv_writer *w, gsv_piece piece, int32_t row, int shares) {
    const int32_t columns = gsv_block_row_columns(piece.nc, row), each = GSV_TILE / shares;
    const int32_t fit = most_numbers(w) / (GSV_TILE * each) * GSV_TILE;
    const int32_t pieces = (columns + fit - 1) / fit;
    const int32_t most = ((columns + pieces - 1) / pieces + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
    const int64_t panel = piece.panel + gsv_block_row_start(piece.nc, row);
    const bool wants = GSV_TILE * (row + 1) > piece.nc; /* the last task: what its rows are owed */
    piece.kind = GSV_SHARE_PIECE;
    piece.groups = (unsigned)shares & 15u;
    piece.place = row;
    piece.numbers = 0;
    piece.a_rows = 0;
    for (int32_t left = 0; left < GSV_TILE; left += each) {
        gsv_begin_task(w);
        piece.left = left;
        for (int32_t first = 0; first < columns; first += most) {
            const int32_t end = first + most < columns ? first + most : columns;
            piece.panel = panel + GSV_TILE * (int64_t)(first + left);
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags = (uint8_t)(GSV_PIECE_PUBLISHED | (first == 0 ? GSV_PIECE_FIRST : 0) |
                                    (end == columns ? GSV_PIECE_LAST : 0));
            gsv_set_b(&piece, GSV_TILE * row, first == 0 && wants && left + each == GSV_TILE ? GSV_TILE : 0);
            gsv_add_piece(w, &piece);
        }
    }
}

/* Numbers of the lists of some rows of a front. */
static int64_t entries(const gsv_writer *w, int32_t first, int32_t rows) {
    const uint32_t *ptr = w->plan->schedule->gather_ptr + w->row + first;
    return rows + 1 + (int64_t)ptr[rows] - ptr[0];
}

/* After which block row, up to most, a task ends that assembles its front: its first piece's lists fit into a
 * slot. */
static int32_t end_of_rows(const gsv_writer *w, int32_t s, int32_t row, int32_t most) {
    const int32_t nr = gsv_rows(w->plan, s), nc = gsv_columns(w->plan, s),
                  last = (nr + GSV_TILE - 1) / GSV_TILE;
    const int32_t fit = GSV_PIECE_NUMBERS / GSV_TILE, alignment = 12; /* of the four lists */
    for (;; most /= 2) {
        const int32_t end = row + most < last ? row + most : last;
        const int32_t columns = gsv_block_row_columns(nc, end - 1), first = GSV_TILE * row;
        const int32_t rows = GSV_TILE * end < nr ? GSV_TILE * end - first : nr - first;
        if (most == 1 || entries(w, 0, columns < fit ? columns : fit) + entries(w, first, rows) + alignment <=
                             GSV_PIECE_LISTS / 4)
            return end;
    }
}

void gsv_add_fronts(gsv_writer *w, gsv_piece piece) {
    const int32_t alignment = 6; /* of the two lists */
    const int32_t most = w->block ? GSV_BLOCK_FRONT_ROWS : GSV_FRONT_ROWS;
    piece.kind = GSV_FRONT_PIECE;
    piece.flags = GSV_PIECE_FIRST | GSV_PIECE_LAST | GSV_PIECE_PUBLISHED;
    for (int32_t first = 0, rows; first < piece.nc; first += rows) {
        rows = piece.nc - first < most ? piece.nc - first : most;
        while (rows > GSV_TILE && entries(w, first, rows) + alignment > GSV_PIECE_LISTS / 4)
            rows = (rows / 2 + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        gsv_begin_task(w);
        piece.place = first / GSV_TILE;
        gsv_set_b(&piece, first, rows);
        gsv_add_piece(w, &piece);
    }
}

/* Block rows `begin` to `stop` - 1 of a wide supernode, a few a task, in pieces of columns, or of two block rows.
 * folded: every task assembles the front for itself. */
static void add_rows(gsv_writer *w, int32_t s, gsv_piece piece, bool shared, bool folded, int32_t begin,
                     int32_t stop) {
    const int64_t panel = piece.panel;
    /* columns of a piece, where it brings the lists of their rows, and elsewhere */
    const int32_t most_listed = GSV_PIECE_NUMBERS / GSV_TILE, most_plain = most_numbers(w) / GSV_TILE;
    const int32_t together = folded ? w->together : 1,
                  pair = together > 1 && 2 * piece.nc <= most_plain ? 2 : 1;
    const gsv_piece plain = piece;
    for (int32_t row = begin, end_row; row < stop; row = end_row) {
        const int shares = shared ? shares_of_row(gsv_block_row_columns(plain.nc, row)) : 1;
        end_row = row + 1;
        if (shares > 1) {
            add_shares(w, plain, row, shares);
            continue;
        }
        end_row = end_of_rows(w, s, row, together);
        end_row = end_row < stop ? end_row : stop;
        const bool wants = folded || GSV_TILE * end_row > piece.nc; /* results are added to some rows */
        const int32_t widest = gsv_block_row_columns(piece.nc, end_row - 1);
        gsv_begin_task(w);
        for (int32_t r = row, assembled = 0, rows; r < end_row; r += rows) {
            rows = r + pair <= end_row ? pair : 1;
            const int32_t columns = gsv_block_row_columns(piece.nc, r + rows - 1),
                          most = folded && assembled < columns ? most_listed : most_plain;
            for (int32_t first = 0; first < columns; first += most) {
                const int32_t end = first + most < columns ? first + most : columns;
                const bool begins = r == row && first == 0, ends = r + rows == end_row && end == columns;
                piece = plain;
                piece.panel = panel + gsv_block_row_start(piece.nc, r) + GSV_TILE * first;
                piece.numbers =
                    rows == 1
                        ? GSV_TILE * (end - first)
                        : (int32_t)(gsv_block_row_start(piece.nc, r + 2) - gsv_block_row_start(piece.nc, r));
                piece.groups = (unsigned)rows & 15u;
                piece.place = r;
                piece.first = first;
                piece.count = (int16_t)(end - first);
                piece.flags = (uint8_t)((begins ? GSV_PIECE_FIRST : 0) | (ends ? GSV_PIECE_LAST : 0) |
                                        (folded ? 0 : GSV_PIECE_PUBLISHED));
                piece.a_first = folded ? first : 0;
                if (folded && first == assembled && assembled < widest) {
                    piece.a_rows = (uint16_t)(first + most < widest ? most : widest - first);
                    assembled = first + piece.a_rows;
                }
                gsv_set_b(&piece, GSV_TILE * row, begins && wants ? GSV_TILE * (end_row - row) : 0);
                gsv_add_piece(w, &piece);
            }
        }
    }
}

void gsv_add_rows(gsv_writer *w, int32_t s, uint32_t published, bool shared, gsv_phase phase) {
    gsv_piece piece = gsv_piece_of(w, s, GSV_ROW_PIECE);
    const bool folded = piece.nc <= GSV_FOLD_COLUMNS && !shared;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    const int32_t below =
        piece.nr > piece.nc ? piece.nc / GSV_TILE : last; /* the first one that others wait for */
    piece.published = published;
    if (phase == GSV_FRONTS && !folded)
        gsv_add_fronts(w, piece);
    if (phase == GSV_TRIANGLES) {
        if (folded)
            add_rows(w, s, piece, shared, folded, 0, below);
        else
            for (int32_t row = below; row-- > 0;)
                add_rows(w, s, piece, shared, folded, row, row + 1);
    }
    if (phase == GSV_AWAITED)
        add_rows(w, s, piece, shared, folded, below, last);
}

/* Every other block row of a few columns, from the last one or the one before it up, in pieces of about the same
 * size. */
static void add_half(gsv_writer *w, gsv_piece piece, int32_t last, int odd) {
    const int32_t runs = (last - odd - piece.place + 1) / 2;
    const int32_t pieces = (runs + GSV_HALVED_ROWS - 1) / GSV_HALVED_ROWS,
                  most = (runs + pieces - 1) / pieces;
    piece.groups = 2;
    piece.numbers = (int32_t)w->sums;
    gsv_begin_task(w);
    for (int32_t done = 0, count; done < runs; done += count) {
        count = done + most < runs ? most : runs - done;
        piece.first = last - odd - 1 - 2 * (done + count - 1);
        piece.count = (int16_t)count;
        piece.flags = (uint8_t)((done == 0 ? GSV_PIECE_FIRST : 0) |
                                (done + count == runs ? GSV_PIECE_LAST : 0) | (odd ? GSV_PIECE_ODD : 0));
        gsv_set_b(&piece, GSV_TILE * piece.first, GSV_TILE * (2 * count - 1));
        gsv_add_piece(w, &piece);
    }
}

/* A wide supernode, backward. A task has a few columns, which begin at a multiple of their number, in pieces of block
 * rows. A GSV_COLUMNS_PIECE has an even number of block rows unless it is the last of its task. */
void gsv_add_columns(gsv_writer *w, int32_t s, int kind) {
    gsv_piece piece = gsv_piece_of(w, s, kind);
    const int32_t width = kind == GSV_BLOCK_PIECE ? 16 * w->groups : w->width;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    const int32_t fit = most_numbers(w) / (GSV_TILE * width), rows = GSV_PIECE_ROWS / GSV_TILE;
    const int32_t most = w->block ? GSV_BLOCK_ROOM / (8 * GSV_TILE * (width + 8)) : fit < rows ? fit : rows;
    piece.groups = (unsigned)w->groups & 15u;
    for (int32_t left = (piece.nc - 1) / width * width; left >= 0; left -= width) {
        piece.place = left / GSV_TILE;
        if (kind == GSV_COLUMNS_PIECE) {
            piece.left = left;
            piece.width = (uint16_t)width;
        }
        if (kind == GSV_COLUMNS_PIECE && w->sums >= 0 && last - piece.place > most) {
            add_half(w, piece, last, 0);
            add_half(w, piece, last, 1);
            continue;
        }
        gsv_begin_task(w);
        for (int32_t end = last, first; end > piece.place; end = first) {
            first = end - most > piece.place ? end - most : piece.place;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((end == last ? GSV_PIECE_FIRST : 0) | (first == piece.place ? GSV_PIECE_LAST : 0));
            gsv_set_b(&piece, GSV_TILE * first, GSV_TILE * (end - first));
            gsv_add_piece(w, &piece);
        }
    }
}
