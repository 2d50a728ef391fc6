/* Pieces of the streams (stream.h), supernode by supernode, for stream.c, which deals with levels. */
#ifndef GSV_SCHEDULE_STREAM_PIECES_H
#define GSV_SCHEDULE_STREAM_PIECES_H

#include <stdbool.h>

#include "stream.h"
#include "../schedule.h"

/* What is filled, in two rounds: count (list->piece is NULL), then write. */
typedef struct gsv_writer {
    const gsv_plan *plan;
    gsv_piece_list *list;
    int64_t pieces, tasks;
    int backward, block; /* block: for a block of right-hand sides */
    int large;           /* the stream is (gsv_machine.large_stream) */
    int32_t fold;        /* gsv_stream_fold */
    int64_t enough;      /* tasks of a level, of the larger kind */
    int first;           /* the next piece is the first one of its task */
    int alone;           /* of a level: it has few tasks */
    int few;             /* of a level: it may be alone, which the tasks between it and the root say: */
    int64_t upward;      /* backward these, forward all but these */
    int crowd, groups;   /* of a level: it has many tasks; groups of a task of a wide supernode */
    int32_t width;       /* of a level: columns of a task for one right-hand side, backward; */
    int32_t together;  /* block rows of one that assembles their front, forward; for a block groups of them */
    int64_t row;       /* of a supernode, as gsv_piece.row */
    uint32_t place;    /* backward: of its first column */
    int64_t sums;      /* backward: of the tasks that share its columns, or -1 */
    int64_t quantum;   /* of a level: numbers of a task for a block, about */
    int64_t published; /* rows of published fronts and of sums, so far */
} gsv_writer;

/* The phases of a level of the forward stream (stream.h). Everything but the block rows of wide supernodes is in the second. */
typedef enum gsv_phase { GSV_FRONTS, GSV_AWAITED, GSV_TRIANGLES } gsv_phase;

/* Add supernode s: a narrow one; */
void gsv_add_narrow(gsv_writer *w, int32_t s);
/* a wide one, forward: of few columns, or of more, what it has in a phase of its level;
 * published: row of its front among the published ones, shared: tasks share block rows */
void gsv_add_tiles(gsv_writer *w, int32_t s);
void gsv_add_rows(gsv_writer *w, int32_t s, uint32_t published, bool shared, gsv_phase phase);
/* the same for a block of right-hand sides; */
void gsv_add_block_rows(gsv_writer *w, int32_t s, uint32_t published, gsv_phase phase);
/* backward, kind: GSV_COLUMNS_PIECE or GSV_BLOCK_PIECE. */
void gsv_add_columns(gsv_writer *w, int32_t s, int kind);
/* Tasks that share a range of `numbers` numbers in `pieces` pieces, for a block of right-hand sides. */
int32_t gsv_shares_of(const gsv_writer *w, int64_t numbers, int32_t pieces);

/* What those share: a task begins; its next piece, which is counted or written, and then its lists are placed; rows first .. first +
 * rows - 1 of the front as list b; a piece of supernode s; the tasks that assemble and publish its front. */
void gsv_begin_task(gsv_writer *w);
void gsv_write_piece(const gsv_writer *w, const gsv_piece *piece);
static inline void gsv_add_piece(gsv_writer *w, const gsv_piece *piece) {
    if (w->list->piece)
        gsv_write_piece(w, piece);
    w->pieces++;
    w->first = 0;
}
void gsv_set_b(gsv_piece *piece, int32_t first, int32_t rows);
gsv_piece gsv_piece_of(const gsv_writer *w, int32_t s, int kind);
void gsv_add_fronts(gsv_writer *w, gsv_piece piece);

#endif
