/*
 * Routes: how a block of right-hand sides crosses the tree on the device. A route follows from the plan, the type of the numbers,
 * what device and numbers allow (gsv_abilities), and the number of columns. It is chosen here and nowhere else; executor, workspace,
 * cost and summary read it. Plain C.
 *
 * A solve is one run or several, one after the other. A run has up to gsv_route.at_once columns, in groups side by side.
 *
 * | columns | upper tree | groups | bits |
 * |---|---|---|---|
 * | 1 | stream | 1 of 1 | 1 |
 * | 2 to 8 of a small factor | stream | 2 to 8 of 1 | 1 |
 * | 2 complex ones, in single precision 2 or 3, of other factors | stream, a run each | 1 of 1 | 1 |
 * | 2 to 8 real ones | block stream | 1 of 8 | 2 |
 * | 9 to 64 real ones of a small factor | block stream | 2, 3, 4, 6 or 8 of 8 | 2 |
 * | 9 to 16 real ones | tasks forward; backward the block stream if panels are small, else tasks | 1 of 16 | 3 |
 * | 17 to 32; complex ones from where streams end | tasks | 1 of 16 or 32 | 4 |
 * | 33 to 64 | tasks | 1 of 64 | 5 |
 * | more | tasks for broad vectors | 1 of 64 to 256 | 6 |
 *
 * A device without streams has tasks for all numbers of columns, with these bits. A handle with same_bits has them, too, and never
 * those for broad vectors: then 16, 32 and 64 columns have the same bits, 7. Every column of a set of bits has the same sums.
 *
 * The lower tree follows: with a stream each group is walked by blocks of threads, with a block stream by teams of warps; with
 * tasks a warp walks for eight columns, or for up to 32 a team.
 */
#ifndef GSV_SCHEDULE_ROUTE_H
#define GSV_SCHEDULE_ROUTE_H

#include "../../dtype.h"
#include "schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of columns that a group of a stream's sweep may have: 1, GSV_SIDE_COLUMNS, and backward and on their way in and out
 * also GSV_BLOCK_COLUMNS. */
enum { GSV_ONE, GSV_EIGHT, GSV_SIXTEEN, GSV_CLASSES };

static inline int gsv_class_of(int columns) {
    return columns == 1 ? GSV_ONE : columns == GSV_SIDE_COLUMNS ? GSV_EIGHT : GSV_SIXTEEN;
}

/* What the device, the plan and a factor's numbers allow. */
typedef struct gsv_abilities {
    int block_columns; /* the upper tree is a stream for blocks of up to this number of columns: as in the plan (stream.h), or 0 */
    /* groups of columns that are solved side by side, at most: as in the plan (stream.h), or 1 where a triangle of many columns
     * is not well-conditioned; 0: not known yet */
    int side;
    /* Blocks of the streams' kernels, forward and backward, that the device runs at a time, for each class; 0: none. All are 0 where
     * the device has no streams, and for handles with same_bits. */
    int stream_blocks[GSV_CLASSES][2];
    int teams; /* teams of warps may walk branches for tasks */
} gsv_abilities;

/* The abilities for a handle with same_bits, or another. */
gsv_abilities gsv_abilities_for(const gsv_abilities *abilities, int same_bits);

typedef enum gsv_upper { GSV_STREAM, GSV_BLOCK_STREAM, GSV_TASKS } gsv_upper;

/* How the columns of one run stand side by side. */
typedef struct gsv_run {
    gsv_upper above[2];
    int columns; /* of each group, filled up with zeros: 1, GSV_SIDE_COLUMNS; of tasks GSV_TASKS_16, GSV_TASKS_32, or a multiple of
                  * GSV_TASKS_64 */
    int groups;
    int whole; /* a stream of one column: all of the tree is in branches, so one launch may walk it up and down */
    /* tasks: */
    int broad; /* by the lists for broad vectors, also for the last columns of a solve that has broad ones */
    int plain; /* each warp walks branches alone: there is no room for teams of warps, or a column must have the same bits with any
                * number of columns */
} gsv_run;

/* How a solve's columns are dealt out to runs. */
typedef struct gsv_route {
    int bits;        /* 1 to 7: the set of bits, as gpusolve_solve numbers them */
    int64_t at_once; /* columns of a run; the last one may have fewer */
    gsv_run widest;  /* a run of that many */
    int least; /* tasks: columns that the last run's vectors have at least, so that it has the bits of the others */
} gsv_route;

/* The route of `columns` right-hand sides, at least 1. sweeps: 0 if the system has no triangle. abilities: gsv_abilities_for() the
 * handle. */
gsv_route gsv_route_of(const gsv_plan *plan, gsv_numbers numbers, const gsv_abilities *abilities,
                       int same_bits, int sweeps, int64_t columns);
/* The run of `columns` right-hand sides of that route, at most at_once. */
gsv_run gsv_route_run(const gsv_route *route, int64_t columns);

/* What a workspace needs room for, so that every route of up to max_nrhs columns can be taken in it. */
typedef struct gsv_route_room {
    int one;   /* the stream of one column */
    int ones;  /* groups of one column, at least 1 */
    int block; /* the block stream */
    int tasks; /* columns of tasks side by side, or 0 */
} gsv_route_room;
gsv_route_room gsv_route_room_of(const gsv_plan *plan, gsv_numbers numbers, const gsv_abilities *abilities,
                                 int same_bits, int64_t max_nrhs);

/* A run of tasks with vectors of `columns` columns. */
gsv_run gsv_run_of_tasks(const gsv_plan *plan, const gsv_abilities *abilities, int same_bits, int columns,
                         int broad);
/* A run of a stream: `groups` groups of 1 or GSV_SIDE_COLUMNS columns. */
gsv_run gsv_run_of_stream(int columns, int groups);

/* Is the upper tree a stream for one column? */
int gsv_streams_one(const gsv_abilities *abilities);
/* Columns that one run of a stream has at most, without groups: 0, 1 or GSV_SIDE_COLUMNS. */
int gsv_streamed(const gsv_abilities *abilities);
/* Up to this number of columns, without groups, the upper tree is a stream; more are tasks. */
int gsv_before_tasks(gsv_numbers numbers, const gsv_abilities *abilities);
/* Groups of GSV_SIDE_COLUMNS columns that are solved side by side, at most, and how many are needed for `columns` columns where at
 * most `side` are possible; 1: grouping is not used. */
int gsv_most_groups(const gsv_abilities *abilities);
int gsv_groups_for(int side, int64_t columns);
/* Groups of one column that are solved side by side, at most. */
int gsv_most_ones(const gsv_plan *plan, gsv_numbers numbers);

/* Complex columns, in double and in single precision, that the stream solves one after the other: more of them take less time as
 * tasks of GSV_TASKS_16. */
enum { GSV_FEW_COMPLEX = 2, GSV_FEW_IN_SINGLE = 3 };

#ifdef __cplusplus
}
#endif
#endif
