/*
 * In which order the tasks for many right-hand sides (many.h) begin, when it is known how the triangles are
 * inverted.
 *
 * Level by level, a level's last tasks and the next one's first follow each other at once, and blocks wait that
 * could do something else. So the order is that in which the tasks would begin on an H200 if each took as long
 * as a task of its kind and size does, and a block that is free took, of the tasks that can begin, the one with
 * the longest way to the end of the sweep. Any order of the tasks in which those stand before others that these
 * wait for is right, and gives the same bits; this one is of that kind, whatever the times are.
 *
 * A supernode whose triangle is inverted in parts has its tiles once for each part, with the terms, or columns,
 * of that part: a pass, forward from the first part on, backward from the last. A pass waits for all tiles of
 * those before it, by a counter of the supernode's own; the last one does what tiles of other supernodes do. A
 * pass becomes about as many tasks as the supernode has in the list; their ranges have the supernode's slots,
 * pass after pass, so a workspace has room for all divisions. Levels that have such supernodes are launches of
 * their own, for their kernel has the code of their sums, too.
 */
#ifndef GSV_MANY_ORDER_H
#define GSV_MANY_ORDER_H

#include "many.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tasks of one launch. */
typedef struct gsv_many_run {
    int64_t begin, end;
    int divided; /* some are of supernodes inverted in parts */
} gsv_many_run;

typedef struct gsv_many_schedule {
    gsv_many_task *task;
    int64_t tasks;
    gsv_many_run *run;
    int32_t runs;
} gsv_many_schedule;

/* The tasks of plan->tiles->many.list[number]. parts: [nsuper] as gsv_wide_panel.parts
 * says, 0 is taken for 1. */
gpusolve_status gsv_many_schedule_create(const gsv_plan *plan, int number, const int32_t *parts,
                                         gsv_many_schedule *schedule, gsv_message *message);
void gsv_many_schedule_free(gsv_many_schedule *schedule); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
