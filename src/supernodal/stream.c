/* The streams of the device's plan: stream.h. Linear in the pieces. */
#include "stream.h"

#include "../memory.h"
#include "tiles.h"

#include <stdbool.h>
#include <stdlib.h>

int64_t gsv_stream_block_least = GSV_BLOCK_LEAST;

/* What is filled, in two rounds: count (list->piece is NULL), then write. */
typedef struct writer {
    const gsv_plan *plan;
    gsv_piece_list *list;
    int64_t pieces, tasks;
    int backward, block; /* block: for a block of right-hand sides */
    int first;           /* the next piece is the first one of its task */
    int alone;           /* of a level: it has few tasks */
    int crowd, groups;   /* of a level: it has many tasks; groups of a task of a wide supernode */
    int32_t width;       /* of a level: columns of a task for one right-hand side, backward */
    int64_t row;         /* of a supernode, as gsv_piece.row */
    uint32_t place;      /* backward: of its first column */
    int64_t sums;        /* backward: of the tasks that share its columns, or -1 */
} writer;

static void begin_task(writer *w) {
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
static void set_b(gsv_piece *piece, int32_t first, int32_t rows) {
    piece->b_first = first;
    piece->b_rows = (uint16_t)(first + rows < piece->nr ? rows : piece->nr - first);
}

static void add_piece(writer *w, gsv_piece piece) {
    if (w->list->piece) {
        int64_t end = 0, a = 0, b = 0;
        if (!w->backward) {
            const uint32_t *ptr = w->plan->tiles->gather_ptr + piece.row;
            piece.a_gather = ptr[piece.a_first];
            piece.b_gather = ptr[piece.b_first];
            a = (int64_t)ptr[piece.a_first + piece.a_rows] - piece.a_gather;
            b = (int64_t)ptr[piece.b_first + piece.b_rows] - piece.b_gather;
        }
        if (a + b <= GSV_PIECE_LISTS / 4) {
            if (!w->backward) {
                piece.a_gathers = (uint16_t)a;
                piece.b_gathers = (uint16_t)b;
            }
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
        if (w->alone)
            piece.flags |= GSV_PIECE_ALONE;
        w->list->piece[w->first ? w->tasks - 1 : w->list->tasks + w->pieces - w->tasks] = piece;
    }
    w->pieces++;
    w->first = 0;
}

static gsv_piece piece_of(const writer *w, int32_t s, int kind, int32_t node) {
    const gsv_plan *plan = w->plan;
    return (gsv_piece){.panel = plan->tiles->panel_ptr[s],
                       .row = w->row,
                       .update = (uint32_t)plan->tiles->update_place[s],
                       .published = w->place,
                       .first_column = plan->l.first_column[s],
                       .nr = gsv_rows(plan, s),
                       .nc = gsv_columns(plan, s),
                       .node = node,
                       .kind = (unsigned)kind & 15u};
}

/* A narrow supernode: one task, pieces of as many columns, a multiple of four, as fit. */
static void add_narrow(writer *w, int32_t s) {
    gsv_piece piece = piece_of(w, s, GSV_NARROW_PIECE, -1);
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
    gsv_piece piece = piece_of(w, s, GSV_TILES_PIECE, node);
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

/* A block row of a wide supernode whose columns several tasks share: of each sixteen, 16 / shares are one's. */
static void add_shares(writer *w, gsv_piece piece, int32_t row, int shares) {
    const int32_t columns = gsv_block_row_columns(piece.nc, row), each = GSV_TILE / shares;
    const int32_t fit = GSV_PIECE_NUMBERS / (GSV_TILE * each) * GSV_TILE;
    const int32_t pieces = (columns + fit - 1) / fit;
    const int32_t most = ((columns + pieces - 1) / pieces + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
    const int64_t panel = piece.panel + gsv_block_row_start(piece.nc, row);
    piece.kind = GSV_SHARE_PIECE;
    piece.groups = (unsigned)shares & 15u;
    piece.place = row;
    piece.numbers = 0;
    piece.a_rows = 0;
    for (int32_t left = 0; left < GSV_TILE; left += each) {
        begin_task(w);
        piece.left = left;
        for (int32_t first = 0; first < columns; first += most) {
            const int32_t end = first + most < columns ? first + most : columns;
            piece.panel = panel + GSV_TILE * (int64_t)(first + left);
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags = (uint8_t)(GSV_PIECE_PUBLISHED | (first == 0 ? GSV_PIECE_FIRST : 0) |
                                    (end == columns ? GSV_PIECE_LAST : 0));
            /* the first task publishes rows of the triangle, the last one adds to those below */
            const int wants = left + each == GSV_TILE || (left == 0 && GSV_TILE * row < piece.nc);
            set_b(&piece, GSV_TILE * row, first == 0 && wants ? GSV_TILE : 0);
            add_piece(w, piece);
        }
    }
}

/* A wide supernode, forward: each block row a task, in pieces of columns. */
static void add_rows(writer *w, int32_t s, int32_t node, uint32_t published, bool shared) {
    gsv_piece piece = piece_of(w, s, GSV_ROW_PIECE, node);
    const int64_t panel = piece.panel;
    const int32_t most = GSV_PIECE_NUMBERS / GSV_TILE;
    const int is_folded = piece.nc <= GSV_FOLD_COLUMNS && !shared;
    piece.published = published;
    const gsv_piece plain = piece;
    for (int32_t row = 0; GSV_TILE * row < piece.nr; row++) {
        const int32_t columns = gsv_block_row_columns(piece.nc, row);
        const int fit = columns > 2 * most ? GSV_SHARES : columns > most ? 2 : 1;
        if (shared && fit > 1) {
            add_shares(w, plain, row, fit);
            continue;
        }
        begin_task(w);
        for (int32_t first = 0; first < columns; first += most) {
            const int32_t end = first + most < columns ? first + most : columns;
            piece = plain;
            piece.panel = panel + gsv_block_row_start(piece.nc, row) + GSV_TILE * first;
            piece.numbers = GSV_TILE * (end - first);
            piece.place = row;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == columns ? GSV_PIECE_LAST : 0) |
                          (is_folded ? 0 : GSV_PIECE_PUBLISHED));
            piece.a_first = first;
            piece.a_rows = (uint16_t)(is_folded ? end - first : 0);
            set_b(&piece, GSV_TILE * row, first == 0 ? GSV_TILE : 0);
            add_piece(w, piece);
        }
    }
}

/* A wide supernode, for a block of right-hand sides, forward: w->groups block rows a task, in pieces of
 * columns of about the same size. */
static void add_block_rows(writer *w, int32_t s, int32_t node, uint32_t published) {
    gsv_piece piece = piece_of(w, s, GSV_BLOCK_PIECE, node);
    const int32_t fit = GSV_PIECE_NUMBERS / (GSV_TILE * w->groups);
    const int32_t most = piece.nc <= GSV_FOLD_COLUMNS && fit > GSV_FOLDED ? GSV_FOLDED : fit;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE;
    piece.published = published;
    piece.groups = (unsigned)w->groups & 15u;
    for (int32_t row = 0; row < last; row += w->groups) {
        const int32_t end_row = row + w->groups < last ? row + w->groups : last;
        const int32_t columns = gsv_block_row_columns(piece.nc, end_row - 1);
        const int32_t pieces = (columns + most - 1) / most;
        const int32_t width = ((columns + pieces - 1) / pieces + 31) / 32 * 32 < most
                                  ? ((columns + pieces - 1) / pieces + 31) / 32 * 32
                                  : most;
        begin_task(w);
        for (int32_t first = 0; first < columns; first += width) {
            const int32_t end = first + width < columns ? first + width : columns;
            piece.place = row;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((first == 0 ? GSV_PIECE_FIRST : 0) | (end == columns ? GSV_PIECE_LAST : 0));
            piece.a_first = first;
            piece.a_rows = (uint16_t)(piece.nc <= GSV_FOLD_COLUMNS ? end - first : 0);
            set_b(&piece, GSV_TILE * row, first == 0 || end == columns ? GSV_TILE * w->groups : 0);
            add_piece(w, piece);
        }
    }
}

/* Every other block row of a few columns, from the last one or the one before it up, in pieces of about the same
 * size. */
static void add_half(writer *w, gsv_piece piece, int32_t last, int odd) {
    const int32_t runs = (last - odd - piece.place + 1) / 2;
    const int32_t pieces = (runs + GSV_HALVED_ROWS - 1) / GSV_HALVED_ROWS,
                  most = (runs + pieces - 1) / pieces;
    piece.groups = 2;
    piece.numbers = (int32_t)w->sums;
    begin_task(w);
    for (int32_t done = 0, count; done < runs; done += count) {
        count = done + most < runs ? most : runs - done;
        piece.first = last - odd - 1 - 2 * (done + count - 1);
        piece.count = (int16_t)count;
        piece.flags = (uint8_t)((done == 0 ? GSV_PIECE_FIRST : 0) |
                                (done + count == runs ? GSV_PIECE_LAST : 0) | (odd ? GSV_PIECE_ODD : 0));
        set_b(&piece, GSV_TILE * piece.first, GSV_TILE * (2 * count - 1));
        add_piece(w, piece);
    }
}

/* A wide supernode, backward: a few columns a task, which begin at a multiple of so many, in pieces of block
 * rows; of these all but a task's last piece of GSV_COLUMNS_PIECE have an even number. */
static void add_columns(writer *w, int32_t s, int32_t node, int kind) {
    gsv_piece piece = piece_of(w, s, kind, node);
    const int32_t width = kind == GSV_BLOCK_PIECE ? 16 * w->groups : w->width;
    const int32_t last = (piece.nr + GSV_TILE - 1) / GSV_TILE, most = GSV_PIECE_NUMBERS / (GSV_TILE * width);
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
        begin_task(w);
        for (int32_t end = last, first; end > piece.place; end = first) {
            first = end - most > piece.place ? end - most : piece.place;
            piece.first = first;
            piece.count = (int16_t)(end - first);
            piece.flags =
                (uint8_t)((end == last ? GSV_PIECE_FIRST : 0) | (first == piece.place ? GSV_PIECE_LAST : 0));
            set_b(&piece, GSV_TILE * first, GSV_TILE * (end - first));
            add_piece(w, piece);
        }
    }
}

/* A supernode of the upper tree, to be sorted. */
typedef struct member {
    int64_t numbers, row, sums;
    int32_t level, s, node;
    bool shared; /* tasks share its block rows */
    uint32_t published, place;
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

/* Tasks of one supernode, of so many groups. */
static int64_t tasks_of(const writer *w, const member *m, int groups) {
    const int32_t nr = gsv_rows(w->plan, m->s), nc = gsv_columns(w->plan, m->s);
    const int32_t units = w->backward ? (nc + GSV_COLUMNS - 1) / GSV_COLUMNS : (nr + GSV_TILE - 1) / GSV_TILE;
    return m->node < 0 ? 1 : (units + groups - 1) / groups;
}

static int64_t tasks_of_level(const writer *w, const member *members, int64_t count, int groups) {
    int64_t tasks = 0;
    for (int64_t k = 0; k < count && members[k].level == members[0].level; k++)
        tasks += tasks_of(w, &members[k], groups);
    return tasks;
}

/* Tasks of a block of right-hand sides are as large as leaves every SM of the device one. */
static void begin_level(writer *w, const member *members, int64_t count) {
    w->groups = w->block ? GSV_GROUPS : 1;
    while (w->groups > 1 && tasks_of_level(w, members, count, w->groups) < GSV_ENOUGH)
        w->groups /= 2;
    const int64_t tasks = tasks_of_level(w, members, count, w->groups);
    w->crowd = tasks >= GSV_CROWD;
    w->width = GSV_COLUMNS / (tasks < GSV_HALF ? 2 : 1);
    /* of this level and of those between it and the root; list->tasks is known when pieces are written */
    const int64_t upward = w->backward ? w->tasks + tasks : w->list->tasks - w->tasks;
    w->alone = !w->block && tasks * (!w->backward && members->shared ? GSV_SHARES : 1) < GSV_ALONE &&
               upward < GSV_ALONE_UPWARD;
}

static void write_stream(writer *w, const member *members, int64_t count) {
    w->pieces = w->tasks = 0;
    for (int64_t k = 0; k < count; k++) {
        const member *m = &members[k];
        if (k == 0 || m->level != m[-1].level)
            begin_level(w, m, count - k);
        w->row = w->backward ? m->row : w->plan->tiles->row_place[m->s];
        w->place = m->place;
        w->sums = w->backward && !w->block ? m->sums : -1;
        if (m->node < 0)
            add_narrow(w, m->s);
        else if (w->backward)
            add_columns(w, m->s, m->node, w->block ? GSV_BLOCK_PIECE : GSV_COLUMNS_PIECE);
        else if (w->block)
            add_block_rows(w, m->s, m->node, m->published);
        else if (gsv_columns(w->plan, m->s) <= GSV_WARP_TILE_COLUMNS)
            add_tiles(w, m->s, m->node);
        else
            add_rows(w, m->s, m->node, m->published, m->shared);
    }
}

static gpusolve_status fill_list(const gsv_plan *plan, gsv_stream *stream, int backward, int block,
                                 const member *members, int64_t count, gsv_message *message) {
    gsv_piece_list *list = block      ? backward ? &stream->block_backward : &stream->block_forward
                           : backward ? &stream->backward
                                      : &stream->forward;
    writer w = {.plan = plan, .list = list, .backward = backward, .block = block};
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
    list->tasks = (int32_t)w.tasks;
    write_stream(&w, members, count);
    list->task[w.tasks] = (int32_t)w.pieces;
    stream->bytes += 4 * (w.tasks + 1) + (int64_t)sizeof *list->piece * w.pieces;
    return GPUSOLVE_OK;
}

/* The upper tree's supernodes; counts what the stream has of each. */
static void list_members(const gsv_plan *plan, gsv_stream *stream, member *members) {
    const int32_t nsuper = plan->l.nsuper, *of = plan->tiles->branches.of;
    int64_t count = 0;
    int32_t wide = 0;
    for (int32_t s = 0; s < nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int narrow = gsv_is_narrow(nr, nc);
        const int64_t numbers = gsv_panel_size(nr, nc);
        if (of[s] < 0) {
            members[count++] = (member){.numbers = numbers,
                                        .row = stream->nrows,
                                        .level = plan->level[s],
                                        .s = s,
                                        .node = narrow ? -1 : wide,
                                        .place = (uint32_t)stream->columns};
            stream->numbers += numbers;
            stream->nrows += nr;
            stream->columns += nc;
        }
        wide += !narrow;
    }
}

/* Where published fronts stand, and which supernodes' block rows are shared: of few tasks. members: sorted for
 * the forward stream. */
static void place_published(const gsv_plan *plan, gsv_stream *stream, member *members, int64_t count) {
    const writer forward = {.plan = plan}, backward = {.plan = plan, .backward = 1};
    int64_t tasks = 0, tasks_back = 0;
    for (int64_t k = 0; k < count; k++) {
        member *m = &members[k];
        const int32_t nr = gsv_rows(plan, m->s), nc = gsv_columns(plan, m->s);
        if (k == 0 || m->level != m[-1].level) {
            tasks = tasks_of_level(&forward, m, count - k, 1);
            tasks_back = tasks_of_level(&backward, m, count - k, 1);
        }
        m->sums = -1;
        m->published = (uint32_t)stream->published;
        if (m->node < 0 || nc <= GSV_WARP_TILE_COLUMNS)
            continue;
        stream->published += nc;
        m->shared = tasks < GSV_SHARED && nc > GSV_SHARED_COLUMNS;
        if (m->shared) /* sixteen sums of every task of a block row but the last */
            stream->published += (GSV_SHARES - 1) * GSV_TILE * ((nr + GSV_TILE - 1) / GSV_TILE);
        if (tasks_back < GSV_HALVED) {
            m->sums = stream->published;
            stream->published += nc;
        }
    }
}

/* The places of the upper tree's rows. Whatever is below it is of the upper tree too. */
static bool place_rows(const gsv_plan *plan, gsv_stream *stream, const member *members) {
    int32_t *place = gsv_malloc((size_t)plan->l.n + 1, sizeof *place);
    stream->rows = gsv_malloc((size_t)stream->nrows + 1, sizeof *stream->rows);
    if (!place || !stream->rows) {
        gsv_free(place);
        return false;
    }
    for (int64_t k = 0; k < stream->supernodes; k++)
        for (int32_t j = 0; j < gsv_columns(plan, members[k].s); j++)
            place[plan->l.first_column[members[k].s] + j] = (int32_t)members[k].place + j;
    for (int64_t k = 0; k < stream->supernodes; k++)
        for (int32_t i = 0; i < gsv_rows(plan, members[k].s); i++)
            stream->rows[members[k].row + i] = place[plan->l.rows[plan->l.row_ptr[members[k].s] + i]];
    gsv_free(place);
    stream->bytes += 4 * (stream->nrows + 1);
    return true;
}

gpusolve_status gsv_stream_create(const gsv_plan *plan, gsv_stream *stream, gsv_message *message) {
    *stream = (gsv_stream){0};
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        stream->supernodes += plan->tiles->branches.of[s] < 0;
    const int64_t count = stream->supernodes;
    member *members = gsv_malloc((size_t)count + 1, sizeof *members);
    gpusolve_status status = GPUSOLVE_OK;
    if (members)
        list_members(plan, stream, members);
    if (stream->numbers >= gsv_stream_block_least)
        stream->block_columns = stream->numbers >= GSV_BLOCK_WIDE * gsv_stream_block_least ? 16 : 8;
    if (!members || !place_rows(plan, stream, members))
        status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
    for (int backward = 0; backward < 2 && status == GPUSOLVE_OK; backward++) {
        if (count > 1)
            qsort(members, (size_t)count, sizeof *members, backward ? in_stream_back : in_stream);
        if (!backward)
            place_published(plan, stream, members, count);
        for (int block = 0; block <= (stream->block_columns > 0) && status == GPUSOLVE_OK; block++)
            status = fill_list(plan, stream, backward, block, members, count, message);
    }
    gsv_free(members);
    if (status != GPUSOLVE_OK)
        gsv_stream_free(stream);
    return status;
}

void gsv_stream_free(gsv_stream *stream) {
    gsv_piece_list *lists[] = {&stream->forward, &stream->backward, &stream->block_forward,
                               &stream->block_backward};
    for (int k = 0; k < 4; k++) {
        gsv_free(lists[k]->task);
        gsv_free(lists[k]->piece);
    }
    gsv_free(stream->rows);
    *stream = (gsv_stream){0};
}
