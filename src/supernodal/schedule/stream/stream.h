/*
 * The upper tree of the device's plan: what is in no branch (branches.h), as streams of pieces, one for each
 * sweep of one right-hand side, and one for each sweep of a block of them, forward without what is in a limb
 * (limbs.h). A piece is a range of a panel that fits into a slot of a block's shared memory, with all that a
 * block needs to know of it; a task is one piece or several that a block works off one after the other, because
 * their sums belong together. Blocks take tasks in the order of the stream (cuda/stream/one.cuh), in which a task
 * comes after all that it waits for.
 * Plain C; follows from the pattern and the device's tuning (schedule/machine.h).
 *
 *      forward    GSV_NARROW_PIECE    columns of a narrow supernode, all rows
 *                 GSV_TILES_PIECE     block rows of a wide one of at most GSV_WARP_TILE_COLUMNS columns
 *                 GSV_ROW_PIECE       columns of one block row of a wider one, or all of two (groups); where
 *                                     there are many tasks, one has up to four block rows
 *                 GSV_SHARE_PIECE     of every sixteen columns of one block row eight or four: two or four tasks
 *                                     share it, where there are fewer tasks than a device has blocks
 *                 GSV_FRONT_PIECE     no numbers: some rows of a front that is assembled once, and published
 *      backward   GSV_NARROW_PIECE    columns of a narrow supernode, all rows
 *                 GSV_COLUMNS_PIECE   block rows of sixteen columns of a wide one, or of eight where there are
 *                                     few tasks; where there are fewer still, every other block row
 *
 * For a block of right-hand sides the vectors are what there is most of, so a piece of a wide supernode is as
 * square as parallelism allows:
 *
 *      forward    GSV_NARROW_PIECE    as above; the last piece leaves room for the front
 *                 GSV_BLOCK_PIECE     columns of one, two or four block rows (groups), which several tasks
 *                                     share, a piece each in turn, where there are few; where there are many, a
 *                                     task that assembles its front has up to four times as many block rows
 *                 GSV_FRONT_PIECE     as above
 *      backward   GSV_NARROW_PIECE    as above
 *                 GSV_BLOCK_PIECE     block rows of one, two or four groups of sixteen columns
 *
 * What has the longest way ahead comes first: backward by the way to the deepest leaf; forward by the way to the root. In a
 * stream that is not large, forward, what is closest to its deepest leaf comes first. Within such a level the order is that of the numbers.
 * Within a supernode the backward stream's tasks go on by descending columns. Within a task block rows descend, for
 * the last ones have their numbers first. Tasks that share a block row follow each other, and the last one collects
 * their sums.
 *
 * Forward, nobody waits for what the rows of a triangle bring, x, and so a level has three phases: published fronts;
 * what its parents wait for; and the rest of the wide triangles, which keeps blocks busy while the next level's first
 * tasks wait, the longest block rows first.
 *
 * A piece brings its lists along, contiguous parts of gsv_schedule.gather_ptr and .gather, or of the rows:
 *
 *      a    forward: the rows of the front's own columns that the piece multiplies with, where every task
 *           assembles them for itself; none if pieces before have brought them
 *      b    forward: the rows that the task has results for, or publishes, with its first piece, or where a task has
 *           several groups of block rows with the first of each; backward: the rows whose numbers the piece reads, as
 *           places among the upper tree's columns
 */
#ifndef GSV_SCHEDULE_STREAM_STREAM_H
#define GSV_SCHEDULE_STREAM_STREAM_H

#include "../../../dense_kernels/panel_layout.h"
#include "../../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* Numbers of a panel in a piece, at most: 24 KB of doubles, or, for one right-hand side, of floats (gsv_plan.floats); multiples of
     * the 256 of a tile of sixteen columns. Front rows that such a piece reads from memory, at most */
    GSV_PIECE_NUMBERS = 3072,
    GSV_PIECE_FLOATS = 6144,
    GSV_PIECE_ROWS = 384,
    GSV_PIECE_LISTS = 3072, /* bytes of lists that a slot has room for */
    GSV_FOLDED = 96,        /* columns of a piece at most, where its task assembles them */
    GSV_TOGETHER = 4,       /* block rows at most that a task which assembles their front has together */
    GSV_BLOCK_TOGETHER = 4, /* the same for a block of right-hand sides: groups of block rows at most */
    /* bytes for a block's backward piece, or a narrow one, with the front of 8 right-hand sides, and the number of rows
     * that are added for others; forward, for 8 alone, also with the rows that its results are added to */
    GSV_BLOCK_ROOM = 31744,
    GSV_BLOCK_ROOM_ROWS = 258,
    GSV_BLOCK_FORWARD_ROOM = 50304,
    GSV_BLOCK_SHARES = 6,   /* forward tasks that share block rows, at most */
    GSV_BLOCK_FIT_1 = 160,  /* columns of a forward piece that fit so, of one block row, */
    GSV_BLOCK_FIT_2 = 112,  /* two, */
    GSV_BLOCK_FIT_4 = 80,   /* four */
    GSV_BLOCK_COLUMNS = 16, /* of a block of right-hand sides, at most; forward half of them */
    GSV_GROUPS = 4,         /* block rows or groups of columns of a task at most: one for each warp */
    GSV_COLUMNS = 16, /* columns of a task of the backward stream for one right-hand side, or half as many */
    GSV_HALVED_ROWS =
        22,         /* block rows of a piece at most where two tasks have the same columns: their list fits */
    GSV_SHARES = 4, /* tasks, or two, that share the block rows of a supernode forward */
    GSV_FRONT_ROWS = 128,      /* of a GSV_FRONT_PIECE at most, */
    GSV_BLOCK_FRONT_ROWS = 64, /* for a block of right-hand sides */
    /* up to here each task of a wide front assembles the front's own columns anew; the rows of a wider front are
     * assembled once, and published */
    GSV_FOLD_COLUMNS = 512,
    GSV_BLOCK_FOLD_COLUMNS = 128,      /* the same for a block of right-hand sides, */
    GSV_BLOCK_LARGE_FOLD_COLUMNS = 160 /* in a large stream */
};

/* A sweep of a small factor mostly waits. So groups of GSV_SIDE_COLUMNS right-hand sides are solved side by side, each
 * by its share of a stream's blocks, as long as that is faster than all of them together as tasks (machine.h). */
enum {
    GSV_SIDE_COLUMNS = 8,
    GSV_SIDE = 8, /* groups at most */
    /* a triangle of more columns is solved with so only if it is well-conditioned: elsewhere the streams' sums lose more
     * than those of many right-hand sides (test_condition.c) */
    GSV_SIDE_WIDEST = 448
};

/* Right-hand sides of a small factor that are solved side by side as groups of one, at most. Each has the bits of one by itself. The
 * panels' bytes say how many (schedule/route.c). */
enum { GSV_ONES = 8 };

enum {
    GSV_NARROW_PIECE,
    GSV_TILES_PIECE,
    GSV_ROW_PIECE,
    GSV_COLUMNS_PIECE,
    GSV_BLOCK_PIECE,
    GSV_SHARE_PIECE,
    GSV_FRONT_PIECE,
    GSV_NO_PIECE
};
enum {
    GSV_PIECE_FIRST = 1,      /* of its task, or of one of the task's groups of block rows; */
    GSV_PIECE_LAST = 2,       /* the last one, as above */
    GSV_PIECE_FAR = 4,        /* its lists do not fit into a slot */
    GSV_PIECE_CROWD = 8,      /* its level has many tasks: a block may take the next one early */
    GSV_PIECE_PUBLISHED = 16, /* the supernode's front is published */
    GSV_PIECE_ALONE = 32,     /* its level has few tasks: a block takes no other one while this one waits */
    GSV_PIECE_ODD = 64,       /* of two tasks that share columns the second: other block rows; */
    GSV_PIECE_KEPT = 64       /* GSV_BLOCK_PIECE, forward: the next piece copies its front */
};

typedef struct gsv_piece {
    int64_t panel;   /* first number of the piece; GSV_COLUMNS_PIECE, GSV_BLOCK_PIECE: of the panel */
    int64_t row;     /* of the supernode's first row: gsv_schedule.row_place; backward: in gsv_stream.rows */
    uint32_t update; /* row of its update vector */
    uint32_t published; /* forward: row of its published front, after which come sums of shared block rows;
                         * backward: place of its first column */
    int32_t first_column, nr, nc; /* of the supernode */
    int32_t first;                /* column, or block row */
    int32_t place;                /* (first) block row; backward: that of the (first) columns' diagonal */
    /* from panel on; GSV_SHARE_PIECE: 0; GSV_COLUMNS_PIECE and GSV_BLOCK_PIECE that are shared: among the
     * published fronts, row of the sums */
    int32_t numbers;
    int16_t count;                /* columns, or block rows */
    uint8_t kind : 4, groups : 4; /* groups: GSV_BLOCK_PIECE; GSV_ROW_PIECE: block rows; else
                                   * the tasks that share the work */
    uint8_t flags;
    union {
        int32_t a_first; /* first rows of the lists a and b, counted in the front */
        struct
        { /* GSV_BLOCK_PIECE that is published: number of this task among those that share its block rows, and how
                  * many share them */
            uint16_t share, shares;
        };
        /* forward, GSV_BLOCK_PIECE that is not published and has no list a: the front is that of the last piece, 1, or of
         * the last but one, 2 */
        int32_t ago;
        int32_t left; /* GSV_COLUMNS_PIECE: first column; GSV_SHARE_PIECE: of every sixteen, */
    };
    int32_t b_first;
    uint16_t a_rows, b_rows;
    union {
        uint16_t a_gathers; /* entries of gather, */
        uint16_t width;     /* and how many of them: 16 or 8 */
    };
    uint16_t b_gathers;
    uint32_t a_gather, b_gather; /* from these places on */
    /* where in a slot's room for lists each stands, in bytes; a list is brought from a multiple of 16 bytes
     * on */
    uint16_t a_ptr_at, a_gather_at, b_ptr_at, b_gather_at;
} gsv_piece;

/* The pieces of task t: piece[t], then piece[task[t]] .. piece[task[t + 1] - 1]. */
typedef struct gsv_piece_list {
    int32_t tasks;
    int32_t *task; /* [tasks + 1] task[tasks]: all pieces */
    gsv_piece *piece;
} gsv_piece_list;

typedef struct gsv_stream {
    gsv_piece_list forward, backward;             /* one right-hand side */
    gsv_piece_list block_forward, block_backward; /* a block of them; empty if block_columns is 0 */
    int block_columns; /* columns of a block at most: GSV_BLOCK_COLUMNS, or 0 if there is no stream for blocks */
    int side;          /* groups that are solved side by side at most; 1: none are */
    int large;         /* it has many numbers */
    int32_t *rows;     /* [nrows] the upper tree's fronts: places among its columns, which ascend */
    int64_t nrows, columns;      /* of the upper tree */
    int64_t published;           /* rows of all published fronts, and of sums */
    int64_t supernodes, numbers; /* of the upper tree, and of its panels */
    int64_t bytes;               /* memory of all this */
} gsv_stream;

/* Making them, from plan->schedule's panel_ptr, branches and limbs: the supernodes in the orders of the streams; then the upper tree's
 * columns have their places, in gsv_stream_places() shares. With update_place and gather_ptr each of GSV_STREAM_LISTS lists is counted, and
 * has memory; then all that there is to write, in gsv_stream_shares() shares. In each of the three steps several threads may work,
 * each on another share or list. upper: the supernodes in no branch, ascending. After gsv_stream_begin gsv_stream_end has to come in any
 * case, good: whether all has gone well. */
enum { GSV_STREAM_LISTS = 4 };
typedef struct gsv_stream_draft gsv_stream_draft;
struct gsv_supernode_list;
gpusolve_status gsv_stream_begin(const gsv_plan *plan, const struct gsv_supernode_list *upper,
                                 gsv_stream *stream, gsv_stream_draft **draft, gsv_message *message);
int64_t gsv_stream_places(const gsv_stream_draft *draft);
void gsv_stream_place(const gsv_stream_draft *draft, int64_t share);
gpusolve_status gsv_stream_count(gsv_stream_draft *draft, int list, gsv_message *message);
int64_t gsv_stream_shares(const gsv_stream_draft *draft);
void gsv_stream_write(const gsv_stream_draft *draft, int64_t share);
void gsv_stream_end(gsv_stream_draft *draft, int good);
/* Up to how many columns of a wide supernode each task for a block of right-hand sides assembles its front. */
int32_t gsv_stream_fold(const gsv_stream *stream);
void gsv_stream_free(gsv_stream *stream); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
