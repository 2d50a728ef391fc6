/*
 * What the pieces of subtrees.h cost on the host, and the time of both sweeps by the number of threads.
 *
 * The time is found by going through the tickets as the threads would: the thread that is free first draws
 * the next one, waits for what the piece reads, and is busy for as long as the piece costs. A wait for
 * another thread's piece ends HANDOVER_NS after that piece.
 */
#ifndef GSV_HOST_SUBTREE_TIMES_H
#define GSV_HOST_SUBTREE_TIMES_H

#include "subtrees.h"

/* Times of one supernode for one column, up and down, in nanoseconds. */
typedef struct gsv_supernode_ns {
    double alone[2];  /* one thread does it all */
    double shared[2]; /* as many threads as it has pieces share it, hand-overs included */
} gsv_supernode_ns;

gsv_supernode_ns gsv_supernode_time(const gsv_plan *plan, int32_t s);

/* Fills t->ns. 0, or -1 if there is no memory. */
int gsv_subtrees_time(const gsv_plan *plan, gsv_subtrees *t);

#endif
