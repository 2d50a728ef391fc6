/*
 * In which order the tasks for many right-hand sides (many.h) begin.
 *
 * Level by level, a level's last tasks and the next one's first follow each other at once, and blocks wait that
 * could do something else. So the order is that in which the tasks would begin on an H200 if each took as long
 * as a task of its kind and size does, and a block that is free took, of the tasks that can begin, the one with
 * the longest way to the end of the sweep. Any order of the tasks in which those stand before others that these
 * wait for is right, and gives the same bits; this one is of that kind, whatever the times are.
 *
 * A level with several passes has launches of its own: there, and where it stands, the order is the list's.
 */
#ifndef GSV_MANY_ORDER_H
#define GSV_MANY_ORDER_H

#include "many.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tasks of plan->tiles->many.backward, or .forward, in that order. passes: [nlevels] of each level, as in
 * gsv_sweep_form. order: as long as the list. */
gpusolve_status gsv_many_order(const gsv_plan *plan, int backward, const uint8_t *passes,
                               gsv_many_task *order, gsv_message *message);

#ifdef __cplusplus
}
#endif
#endif
