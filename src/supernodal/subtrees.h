/*
 * The host executor's part of the plan: the elimination tree cut into many subtrees, each the work of one
 * thread, and a top whose supernodes are cut into row tiles and column blocks for all threads. The cut
 * follows from the pattern alone, never from the number of threads.
 *
 * Work is handed out by ticket. Forward tickets are the subtree tasks, heaviest first, and then the forward
 * steps; backward tickets are the backward steps and then the subtree tasks. Every piece of work comes after
 * all that it waits for, so a thread only ever waits for work that a running thread already holds: nothing
 * can deadlock, with any number of threads.
 */
#ifndef GSV_SUBTREES_H
#define GSV_SUBTREES_H

#include "plan.h"

typedef struct gsv_step { /* a piece of a supernode of the top */
    int32_t s;
    int32_t part; /* forward: column block j, or block count + row tile; backward: column block */
} gsv_step;

struct gsv_subtrees {
    /* subtree tasks: task t works on supernodes order[task_ptr[t]] .. order[task_ptr[t + 1] - 1], one subtree
     * or several small ones, children before parents, one subtree after the other */
    int32_t ntasks;
    int32_t *task_ptr; /* [ntasks + 1] */
    int32_t *heaviest; /* [ntasks] the tasks by falling cost */
    int32_t *order;    /* [nsuper] the supernodes of the tasks, then the top, by rising level */
    /* the top */
    int32_t ntop;
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
    int64_t bytes; /* memory of all this */
};

/* GPUSOLVE_OUT_OF_MEMORY, GPUSOLVE_TOO_LARGE. Linear in the structure. */
gpusolve_status gsv_subtrees_create(const gsv_plan *plan, gsv_subtrees **subtrees, gsv_message *message);
void gsv_subtrees_free(gsv_subtrees *subtrees);

#endif
