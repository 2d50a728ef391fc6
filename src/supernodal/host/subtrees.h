/*
 * The host executor's part of the plan: the elimination tree cut into many subtrees, each the work of one
 * thread, and a top whose supernodes are cut into row tiles and column blocks for all threads. The cut
 * follows from the pattern alone, never from the number of threads.
 *
 * Where threads could not share the work they do not try. A subtree in which nearly all supernodes stand one
 * above the other is one thread's, however heavy. In the top, supernodes that are too small to be shared and
 * stand one above the other make a path: one piece of work, in which nothing is handed over. The two sweeps
 * have paths of their own: one block of columns has many rows for threads to share forward, and none
 * backward. How many threads a solve gets follows from the times that are computed here once for 1, 2, 4, .. threads (subtree_times.c).
 *
 * Work is handed out by ticket. Forward tickets are the subtree tasks, heaviest first, and then the forward
 * steps; backward tickets are the backward steps and then the subtree tasks. Every piece of work comes after
 * all that it waits for, so a thread only ever waits for work that a running thread already holds: nothing
 * can deadlock, with any number of threads.
 */
#ifndef GSV_HOST_SUBTREES_H
#define GSV_HOST_SUBTREES_H

#include "../tree/plan.h"

enum {
    GSV_WHOLE_PATH = -1, /* a step's part */
    GSV_NO_PATH = -2,    /* a supernode's path_child where it is on no path */
    GSV_TIMED = 11       /* numbers of threads with a time: 1, 2, 4 .. 1024 */
};

typedef struct gsv_step { /* a piece of a supernode of the top, or a path */
    int32_t s;            /* a path: its lowest supernode forward, its highest one backward */
    int32_t part;         /* forward: column block j, or block count + row tile; backward: column block */
} gsv_step;

typedef enum gsv_way { GSV_UP, GSV_DOWN } gsv_way;
typedef enum gsv_sweeps { GSV_NO_SWEEP, GSV_SWEEP_UP, GSV_SWEEP_DOWN, GSV_BOTH_SWEEPS } gsv_sweeps;

struct gsv_subtrees {
    /* subtree tasks: task t works on supernodes order[task_ptr[t]] .. order[task_ptr[t + 1] - 1], one subtree
     * or several small ones, children before parents, one subtree after the other */
    int32_t ntasks;
    int32_t *task_ptr; /* [ntasks + 1] */
    int32_t *heaviest; /* [ntasks] the tasks by falling cost */
    int32_t *order;    /* [nsuper] the supernodes of the tasks, then the top, parents after children */
    /* the top */
    int32_t ntop;
    int32_t *path_child[2]; /* up, down: [nsuper] the child on the same path, -1: none; or GSV_NO_PATH */
    int64_t nforward, nbackward;
    gsv_step *forward, *backward;
    /* signals, one a column block of the top and one a task: what a thread may wait for */
    int32_t top_blocks; /* supernode s is in the top if signal[s] < top_blocks */
    int32_t *signal;    /* [nsuper] first column block's signal (top), or the task's */
    /* update vectors: rows [offset[s], offset[s] + nr - nc) of one array of update_rows rows. Those of
     * subtree roots and of the top have rows of their own; inside a subtree they live on two stacks, by even
     * and odd depth, so that a supernode's vector can grow while its children's are read and a small memory
     * stays in the cache. */
    int64_t *offset;
    int64_t update_rows;
    double ns[2][GSV_TIMED][2]; /* time for 1 and for GSV_MAX_COLUMNS columns with 2^k threads, up and down */
    int64_t bytes;              /* memory of all this */
};

/* Builds plan->subtrees, which gsv_plan_free frees; NULL after a failure. GPUSOLVE_OUT_OF_MEMORY, GPUSOLVE_TOO_LARGE.
 * Linear in the structure. */
gpusolve_status gsv_subtrees_create(gsv_plan *plan, gsv_message *message);

/* Whether a supernode is in the top and, on the way up or down, in column blocks and row tiles. */
static inline int gsv_in_blocks(const gsv_subtrees *subtrees, gsv_way way, int32_t s) {
    return subtrees->signal[s] < subtrees->top_blocks && subtrees->path_child[way][s] == GSV_NO_PATH;
}

/* What sweeps over `cols` columns, up to GSV_MAX_COLUMNS, should take with `threads` threads. */
double gsv_subtrees_us(const gsv_subtrees *subtrees, gsv_sweeps sweeps, int32_t cols, int threads);

/* The threads that they should have: 1 where more would not be faster by 15 %. */
int gsv_subtrees_threads(const gsv_subtrees *subtrees, gsv_sweeps sweeps, int32_t cols, int available);

#endif
