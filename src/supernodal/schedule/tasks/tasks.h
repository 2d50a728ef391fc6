/*
 * Many right-hand sides on the device: what the sweeps over the upper tree consist of when the vectors are
 * wide blocks (cuda/tasks/tasks.cuh). Plain C; follows from the pattern alone.
 *
 * Each sweep is a list of tasks. A task is a narrow supernode, with all of a tile's right-hand
 * sides or, where a level has few of them, with some of these; or rows of a wide one to which is added what
 * the children owe; or a tile: a product of GSV_TASK_ROWS rows of a panel, or half as many where a level has
 * few tiles, with its front (forward), or of some of its columns with the rows of the solution (backward).
 * Where a level has few tiles and long ones their terms are cut into ranges of equal length, so that there is
 * work for every multiprocessor: then each range is a task, its partial sums have a slot of their own, and the
 * range that is done last adds all of them, in ascending order. All this follows from the level alone, and from
 * whether vectors are broad, with more than GSV_TASKS_BROAD columns: a task is several blocks there, so that fewer
 * tiles, and ranges, are enough. So there are two lists for each sweep, and two sets of bits of a column.
 *
 * Whoever runs the tasks in the order of the list (schedule/tasks/order.h), each once, may begin a task as soon as its counter says
 * so: a counter is advanced by tasks that stand before the ones that wait for it. A tile need not wait before it begins:
 * forward it reads what its rows are owed while its own columns are being assembled, backward it has terms for which it
 * needs neither the parent nor, for some of them, anything (`owed`).
 *
 * Branches (branches.h) have kernels of their own: forward they come first, backward last.
 */
#ifndef GSV_SCHEDULE_TASKS_TASKS_H
#define GSV_SCHEDULE_TASKS_TASKS_H

#include "../../../dense_kernels/panel_layout.h"
#include "../../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_TASK_ROWS = 64,   /* of a tile, half of them where a level has few */
    GSV_TASKS_64 = 64,    /* right-hand sides of a tile: vectors are a multiple of it wide, */
    GSV_TASKS_32 = 32,    /* or so wide, */
    GSV_TASKS_16 = 16,    /* or so wide */
    GSV_TASKS_GROUPS = 4, /* times, at most */
    /* tiles of right-hand sides side by side, at most */
    GSV_TASK_TILES = GSV_TASKS_GROUPS * GSV_TASKS_64 / GSV_TASKS_32,
    GSV_TASKS_BROAD = 64, /* vectors with more right-hand sides are broad */
    GSV_TASK_TERMS = 128, /* a tile of no more terms than that is not cut */
    /* forward tasks of a sweep that is short, and terms of its products */
    GSV_TASK_SHORT_TASKS = 12000,
    GSV_TASK_SHORT_TERMS = 1 << 18,
    /* numbers of the upper tree: with fewer, streams_back */
    GSV_TASK_STREAMED = 40 << 20,
    GSV_TASK_PARTS =
        2, /* of a tile's right-hand sides: a narrow supernode has at most this number of tasks */
    GSV_TASK_ASSEMBLE = 32, /* rows of an assemble task */
    GSV_TASK_LISTED =
        1024,          /* terms that a task's rows are owed: a block has room for a list of this length */
    GSV_TASK_KIND = 29 /* node = kind << GSV_TASK_KIND | place among those of that kind in no branch */
};

enum { GSV_TASK_TINY, GSV_TASK_SMALL, GSV_TASK_WIDE };         /* of a node */
enum { GSV_TASK_NARROW, GSV_TASK_ASSEMBLY, GSV_TASK_PRODUCT }; /* of a task */
enum { GSV_TASK_LISTS = 4 };                                   /* gsv_task_list_of() */

/* What begins when counter `wait` has reached `count` (at once, if count is 0), and advances `signal`, if
 * that is no -1, when it is done. */
typedef struct gsv_task {
    int16_t kind;
    int16_t rows;  /* product: of the tile, or its columns */
    int16_t slots; /* product: ranges, some hundreds at most, if it is one of several, else 0, */
    int16_t range; /* and which */
    int32_t node;
    int32_t first; /* product: its first row or column; assembly: the first row */
    /* product: its terms, columns or rows of the panel; assembly: end of the rows; narrow: which of the
     * GSV_TASK_PARTS parts of the right-hand sides */
    int32_t begin, end;
    /* product that is one of several ranges: where the first one's partial sums are, and the counter of those that
     * are done */
    int32_t slot, met;
    int32_t wait, count, signal;
    /* forward product, its first range: what its rows are owed is there when counter `owed` has reached
     * `owing`, before what it waits for; 0: it is owed nothing. Backward: so are the rows of the solution that
     * belong to the parent's parent and what is above it, those of terms `far` and on; own columns, those before
     * term `near`, are there from the beginning. What it waits for are terms near .. far - 1. */
    int32_t owed, owing;
    /* All but products backward: what a block lists before it knows the supernode. These are `listed_rows` rows, from row
     * `row` of all fronts on; of a product, forward, those of the update vector that it begins with. Forward they are
     * owed, together, gsv_schedule.gather from `list` on: `listed` terms, GSV_TASK_LISTED + 1 if they are more. */
    uint32_t row;
    union {
        struct {
            int32_t near, far;
        };
        struct {
            uint32_t list;
            int16_t listed_rows, listed;
        };
    };
} gsv_task;

/* A sweep's tasks, in the order in which they begin. */
typedef struct gsv_task_list {
    gsv_task *task; /* [tasks] */
    int64_t tasks, slots;
    int32_t counters;
} gsv_task_list;

typedef struct gsv_tasks {
    gsv_task_list list[GSV_TASK_LISTS];
    int64_t updates;  /* rows of update vectors that these sweeps write: the first ones */
    int32_t is_short; /* few tasks, and little to multiply: latency */
    /* of GSV_TASKS_16 right-hand sides the backward sweep is not these tasks but the stream's (stream.h) */
    int32_t streams_back;
    int64_t bytes; /* memory of all this */
} gsv_tasks;

/* The number of a sweep's list, for broad vectors or others. */
static inline int gsv_task_list_of(int backward, int broad) {
    return 2 * broad + backward;
}

/* How many pieces a whole is cut into; and a number of rows or columns rounded up to whole tiles. */
static inline GSV_HOST_DEVICE int32_t gsv_pieces_of(int32_t whole, int32_t piece) {
    return (whole + piece - 1) / piece;
}
static inline GSV_HOST_DEVICE int32_t gsv_whole_tiles(int32_t count) {
    return gsv_pieces_of(count, GSV_TILE) * GSV_TILE;
}

/* Making them, from plan->schedule's row_place and gather_ptr: what the lists have in common; the tasks of each list; their order; and the
 * end, with tasks == NULL if something has failed. In the second step and in the third several threads may each take another list.
 * upper: the supernodes in no branch, ascending. After gsv_tasks_begin gsv_tasks_end has to come in any case. */
typedef struct gsv_tasks_draft gsv_tasks_draft;
struct gsv_supernode_list;
gpusolve_status gsv_tasks_begin(const gsv_plan *plan, const struct gsv_supernode_list *upper,
                                gsv_tasks_draft **draft, gsv_message *message);
gpusolve_status gsv_tasks_add(gsv_tasks_draft *draft, int list, gsv_tasks *tasks, gsv_message *message);
gpusolve_status gsv_tasks_sort(const gsv_tasks_draft *draft, int list, gsv_message *message);
void gsv_tasks_end(gsv_tasks_draft *draft, gsv_tasks *tasks);
void gsv_tasks_free(gsv_tasks *tasks); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
