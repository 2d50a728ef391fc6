/* The tasks of supernodes whose triangles are inverted in parts (many_order.h). */
#ifndef GSV_MANY_PARTS_H
#define GSV_MANY_PARTS_H

#include "many_order.h"

/* Which supernodes the wide ones are, [nsuper], and room: a level's tasks by supernode. */
typedef struct gsv_many_index {
    int32_t *wide;
    int64_t *first, *next; /* [nsuper], [tasks of the list] */
} gsv_many_index;

/* How the tasks of a list become those of a schedule; two rounds: count (schedule->task is NULL), then fill. Level
 * k has schedule->task[ptr[k]] .. schedule->task[ptr[k + 1] - 1]. */
void gsv_many_divide(const gsv_plan *plan, const gsv_many_list *list, int backward, const int32_t *parts,
                     const gsv_many_index *index, gsv_many_schedule *schedule, int64_t *ptr);
/* Counts that are waited for, of counters advanced by another number of tiles than the list has: done [counters]
 * is room. */
void gsv_many_recount(const gsv_many_list *list, gsv_many_schedule *schedule, int32_t *done);

#endif
