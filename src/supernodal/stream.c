/* The streams of the device's plan: stream.h. Linear in the pieces. */
#include "stream.h"

#include "../memory.h"
#include "tiles.h"

#include <stdlib.h>

/* What is filled, in two rounds: count (list->piece is NULL), then write. */
typedef struct writer {
    const gsv_plan *plan;
    gsv_piece_list *list;
    int64_t pieces, tasks;
    int backward, crowd; /* crowd: the level has many tasks */
} writer;

static void begin_task(writer *w) {
    if (w->list->piece)
        w->list->task[w->tasks] = (int32_t)w->pieces;
    w->tasks++;
}

/* Take room for count 32-bit numbers from place `start` of an array on, brought from a multiple of 16 bytes
 * on; returns where the first of them will stand. */
static uint16_t take_room(int64_t *end, int64_t start, int64_t count) {
    const int64_t at = *end + start % 4 * 4;
    *end += ((start + count + 3) / 4 - start / 4) * 16;
    return (uint16_t)at;
}

/* Rows first .. first + rows - 1 of the front, as list b. */
static void set_b(gsv_piece *piece, int32_t first, int32_t rows) {
    piece->b_first = first;
    piece->b_rows = (uint16_t)(first + rows < piece->nr ? rows : piece->nr - first);
}

static void add_piece(writer *w, gsv_piece piece) {
    if (w->list->piece) {
        const uint32_t *ptr = w->plan->tiles->gather_ptr + piece.row;
        int64_t end = 0, a = 0, b = 0;
        if (!w->backward) {
            piece.a_gather = ptr[piece.a_first];
            piece.b_gather = ptr[piece.b_first];
            a = (int64_t)ptr[piece.a_first + piece.a_rows] - piece.a_gather;
            b = (int64_t)ptr[piece.b_first + piece.b_rows] - piece.b_gather;
        }
        if (a + b <= GSV_PIECE_LISTS / 4) {
            piece.a_gathers = (uint16_t)a;
            piece.b_gathers = (uint16_t)b;
            if (piece.a_rows > 0) {
                piece.a_ptr_at = take_room(&end, piece.row + piece.a_first, piece.a_rows + 1);
                piece.a_gather_at = take_room(&end, piece.a_gather, a);
            }
            if (piece.b_rows > 0) {
                piece.b_ptr_at = take_room(&end, piece.row + piece.b_first, piece.b_rows + !w->backward);
                piece.b_gather_at = take_room(&end, piece.b_gather, b);
            }
        }
        if (a + b > GSV_PIECE_LISTS / 4 || end > GSV_PIECE_LISTS)
            piece.flags |= GSV_PIECE_FAR;
        if (w->crowd)
            piece.flags |= GSV_PIECE_CROWD;
        w->list->piece[w->pieces] = piece;
    }
    w->pieces++;
}

static gsv_piece piece_of(const gsv_plan *plan, int32_t s, int kind, int32_t node) {
    return (gsv_piece){.panel = plan->tiles->panel_ptr[s],
                       .row = plan->tiles->row_place[s],
                       .update = (uint32_t)plan->tiles->update_place[s],
                       .first_column = plan->l.first_column[s],
                       .nr = gsv_rows(plan, s),
                       .nc = gsv_columns(plan, s),
                       .node = node,
                       .kind = (uint8_t)kind};
}

/* A narrow supernode: one task, pieces of as many columns, a multiple of four, as fit. */
static void add_narrow(writer *w, int32_t s) {
    gsv_piece piece = piece_of(w->plan, s, GSV_NARROW_PIECE, -1);
    const int64_t panel = piece.panel;
    begin_task(w);
    for (int32_t first = 0, end; first < piece.nc; first = end) {
        const int64_t start = gsv_narrow_column(piece.nr, first) + first;
        for (end = first; end < piece.nc;) {
            const int32_t next = end + 4 < piece.nc ? end + 4 : piece.nc;
            if (end > first && gsv_narrow_column(piece.nr, next) + next - start > GSV_PIECE_NUMBERS)
                break;
            end = next;
        }
        piece.panel = panel + start;
        piece.numbers = (int32_t)(gsv_narrow_column(piece.nr, end) + end - start);
        piece.first = first;
        piece.count = (int16_t)(end - first);
        piece.flags = (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == piece.nc ? GSV_PIECE_LAST : 0));
        set_b(&piece, 0, first == 0 ? piece.nr : 0);
        add_piece(w, piece);
    }
}

/* A wide supernode of few columns, forward: each task a piece of as many block rows as fit. */
static void add_tiles(writer *w, int32_t s, int32_t node) {
    gsv_piece piece = piece_of(w->plan, s, GSV_TILES_PIECE, node);
    const int64_t panel = piece.panel;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    for (int32_t first = 0, end; first < last; first = end) {
        const int64_t start = gsv_block_row_start(piece.nc, first);
        for (end = first + 1; end < last && end - first < GSV_TILES_PER_TASK &&
                              gsv_block_row_start(piece.nc, end + 1) - start <= GSV_PIECE_NUMBERS;)
            end++;
        begin_task(w);
        piece.panel = panel + start;
        piece.numbers = (int32_t)(gsv_block_row_start(piece.nc, end) - start);
        piece.first = first;
        piece.count = (int16_t)(end - first);
        piece.flags = GSV_PIECE_FIRST | GSV_PIECE_LAST;
        piece.a_rows = (uint16_t)piece.nc;
        set_b(&piece, GSV_TILE * first, GSV_TILE * (end - first));
        add_piece(w, piece);
    }
}

/* A wide supernode, forward: each block row a task, in pieces of columns. */
static void add_rows(writer *w, int32_t s, int32_t node, uint32_t published) {
    gsv_piece piece = piece_of(w->plan, s, GSV_ROW_PIECE, node);
    const int64_t panel = piece.panel;
    const int32_t most = GSV_PIECE_NUMBERS / GSV_TILE;
    piece.published = published;
    for (int32_t row = 0; GSV_TILE * row < piece.nr; row++) {
        const int32_t columns = gsv_block_row_columns(piece.nc, row);
        begin_task(w);
        for (int32_t first = 0; first < columns; first += most) {
            const int32_t end = first + most < columns ? first + most : columns;
            piece.panel = panel + gsv_block_row_start(piece.nc, row) + GSV_TILE * first;
            piece.numbers = GSV_TILE * (end - first);
            piece.place = row;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == columns ? GSV_PIECE_LAST : 0));
            piece.a_first = first;
            piece.a_rows = (uint16_t)(piece.nc <= GSV_FOLD_COLUMNS ? end - first : 0);
            set_b(&piece, GSV_TILE * row, first == 0 ? GSV_TILE : 0);
            add_piece(w, piece);
        }
    }
}

/* A wide supernode, backward: sixteen columns a task, in pieces of block rows. */
static void add_columns(writer *w, int32_t s, int32_t node) {
    gsv_piece piece = piece_of(w->plan, s, GSV_COLUMNS_PIECE, node);
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, most = GSV_PIECE_NUMBERS / (16 * GSV_TILE);
    for (int32_t place = (piece.nc - 1) / 16; place >= 0; place--) {
        begin_task(w);
        for (int32_t end = last, first; end > place; end = first) {
            first = end - most > place ? end - most : place;
            piece.place = place;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((end == last ? GSV_PIECE_FIRST : 0) | (first == place ? GSV_PIECE_LAST : 0));
            set_b(&piece, GSV_TILE * first, GSV_TILE * (end - first));
            add_piece(w, piece);
        }
    }
}

/* A supernode of the upper tree, to be sorted. */
typedef struct member {
    int64_t numbers;
    int32_t level, s, node;
    uint32_t published;
} member;

/* Levels ascend; wide ones first, the largest first. */
static int in_stream(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if ((x->node < 0) != (y->node < 0))
        return x->node < 0 ? 1 : -1;
    if (x->numbers != y->numbers)
        return x->numbers < y->numbers ? 1 : -1;
    return x->s < y->s ? -1 : x->s > y->s;
}

/* Levels descend for the other sweep, with the same order within a level. */
static int in_stream_back(const void *a, const void *b) {
    const member *x = a, *y = b;
    return x->level != y->level ? (x->level < y->level ? 1 : -1) : in_stream(a, b);
}

/* Tasks of one supernode. */
static int64_t tasks_of(const writer *w, const member *m) {
    const int32_t nr = gsv_rows(w->plan, m->s), nc = gsv_columns(w->plan, m->s);
    return m->node < 0 ? 1 : w->backward ? (nc + 15) / 16 : (nr + GSV_TILE - 1) / GSV_TILE;
}

static void write_stream(writer *w, const member *members, int64_t count) {
    w->pieces = w->tasks = 0;
    for (int64_t k = 0; k < count; k++) {
        const member *m = &members[k];
        if (k == 0 || m->level != m[-1].level) {
            int64_t tasks = 0;
            for (int64_t l = k; l < count && members[l].level == m->level; l++)
                tasks += tasks_of(w, &members[l]);
            w->crowd = tasks >= GSV_CROWD;
        }
        if (m->node < 0)
            add_narrow(w, m->s);
        else if (w->backward)
            add_columns(w, m->s, m->node);
        else if (gsv_columns(w->plan, m->s) <= GSV_WARP_TILE_COLUMNS)
            add_tiles(w, m->s, m->node);
        else
            add_rows(w, m->s, m->node, m->published);
    }
}

static gpusolve_status fill_list(const gsv_plan *plan, gsv_stream *stream, int backward,
                                 const member *members, int64_t count, gsv_message *message) {
    gsv_piece_list *list = backward ? &stream->backward : &stream->forward;
    writer w = {.plan = plan, .list = list, .backward = backward};
    write_stream(&w, members, count);
    if (w.pieces >= INT32_MAX)
        return gsv_fail(message, GPUSOLVE_TOO_LARGE,
                        "the device would have %lld pieces of panels to solve with, "
                        "%d is the limit",
                        (long long)w.pieces, INT32_MAX - 1);
    list->task = gsv_malloc((size_t)w.tasks + 1, sizeof *list->task);
    list->piece = gsv_malloc((size_t)w.pieces + 1, sizeof *list->piece);
    if (!list->task || !list->piece)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    write_stream(&w, members, count);
    list->tasks = (int32_t)w.tasks;
    list->task[w.tasks] = (int32_t)w.pieces;
    stream->bytes += 4 * (w.tasks + 1) + (int64_t)sizeof *list->piece * w.pieces;
    return GPUSOLVE_OK;
}

gpusolve_status gsv_stream_create(const gsv_plan *plan, gsv_stream *stream, gsv_message *message) {
    *stream = (gsv_stream){0};
    const int32_t nsuper = plan->l.nsuper, *of = plan->tiles->branches.of;
    int64_t count = 0;
    for (int32_t s = 0; s < nsuper; s++)
        count += of[s] < 0;
    member *members = gsv_malloc((size_t)count + 1, sizeof *members);
    if (!members)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    count = 0;
    int32_t wide = 0;
    for (int32_t s = 0; s < nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int narrow = gsv_is_narrow(nr, nc);
        const int64_t numbers = gsv_panel_size(nr, nc);
        if (of[s] < 0) {
            members[count++] =
                (member){numbers, plan->level[s], s, narrow ? -1 : wide, (uint32_t)stream->published};
            if (!narrow && nc > GSV_WARP_TILE_COLUMNS)
                stream->published += nc;
            stream->numbers += numbers;
        }
        wide += !narrow;
    }
    stream->supernodes = count;
    if (count > 1)
        qsort(members, (size_t)count, sizeof *members, in_stream);
    gpusolve_status status = fill_list(plan, stream, 0, members, count, message);
    if (count > 1)
        qsort(members, (size_t)count, sizeof *members, in_stream_back);
    if (status == GPUSOLVE_OK)
        status = fill_list(plan, stream, 1, members, count, message);
    gsv_free(members);
    if (status != GPUSOLVE_OK)
        gsv_stream_free(stream);
    return status;
}

void gsv_stream_free(gsv_stream *stream) {
    gsv_free(stream->forward.task);
    gsv_free(stream->forward.piece);
    gsv_free(stream->backward.task);
    gsv_free(stream->backward.piece);
    *stream = (gsv_stream){0};
}
