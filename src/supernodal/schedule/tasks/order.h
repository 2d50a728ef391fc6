/*
 * In which order the tasks for many right-hand sides (schedule/tasks/tasks.h) begin.
 *
 * Level by level, a level's last tasks and the next one's first follow each other at once, and blocks wait that
 * could do something else. So the order is that in which the tasks would begin on an H200 if each took as long
 * as a task of its kind and size does, and a block that is free took, of the tasks that can begin, the one with
 * the longest way to the end of the sweep. Any order of the tasks in which those stand before others that these
 * wait for is right, and gives the same bits; this one is of that kind, whatever the times are.
 */
#ifndef GSV_SCHEDULE_TASKS_ORDER_H
#define GSV_SCHEDULE_TASKS_ORDER_H

#include "tasks.h"

/* In two steps. First ranks the tasks of a sweep, which stand supernode by supernode. step [tasks]: ascends level by level, in a level the
 * products' come last; of tasks with equally long ways the one whose step comes first is first, then the longest product. NULL:
 * out of memory. Then puts them into that order; once. Zero if out of memory: they stand as before. */
typedef struct gsv_task_planner gsv_task_planner;
gsv_task_planner *gsv_tasks_rank(gsv_task_list *list, const uint32_t *step, int backward);
int gsv_tasks_order(gsv_task_planner *planner);
void gsv_tasks_planner_free(gsv_task_planner *planner); /* NULL is accepted */

#endif
