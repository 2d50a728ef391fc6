/*
 * The device's part of the plan: how panels, fronts and update vectors are stored, and what the ways through the tree consist
 * of: branches, limbs, streams and tasks. Plain C; unit tests run it on the host and the CUDA executor on the device.
 *
 * The panels hold [W; -M] with W = inv(L1), M = L2 W, so that both sweeps are products:
 *
 *      forward    [x1; u] = [W; -M] f1 + [0; f2]          backward    x1 = [W; -M]' [y1; x(rows below)]
 *
 * panel_layout.h says how they are stored.
 */
#ifndef GSV_SCHEDULE_SCHEDULE_H
#define GSV_SCHEDULE_SCHEDULE_H

#include "../../dense_kernels/panel_layout.h"
#include "walk/branches.h"
#include "walk/limbs.h"
#include "tasks/tasks.h"
#include "../tree/plan.h"
#include "stream/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_WARP_TILE_COLUMNS = 64, /* up to here a block row of a wide panel is a warp's work, above a block's */
    GSV_TILES_PER_TASK = 8      /* such block rows of a task at most: warps of a block */
};

/* Narrow supernodes in no branch, ascending. */
typedef struct gsv_supernode_list {
    int64_t count;
    int32_t *supernode; /* [count] */
} gsv_supernode_list;

struct gsv_schedule {
    int is_whole; /* 0: gsv_schedule_place has been there, gsv_schedule_create has not */
    int64_t
        *panel_ptr; /* [nsuper + 1] start of each panel, in numbers; wide ones on a multiple of GSV_TILE */
    int64_t
        *row_place; /* [nsuper] the device's first row of each front: those of the upper tree first, in 0 ..
                            * upper_rows - 1, then those in branches */
    int64_t upper_rows;
    uint32_t *gather_ptr;  /* [rows + 1] front row row_place[s] + i is owed gather[gather_ptr[.]] .. */
    int64_t *update_place; /* [nsuper] the device's first row of each update vector: those of the upper tree
                            * first, in 0 .. upper_updates - 1, of which limbs keep those from handed_updates on to
                            * themselves, then those that branches leave it, before shared_updates, then what
                            * branches keep to themselves */
    int64_t handed_updates, upper_updates, shared_updates;
    uint32_t *gather; /* [update rows] rows of update vectors, at their places; children ascend */
    gsv_supernode_list tiny, small;
    gsv_branches branches;
    gsv_limbs limbs;
    gsv_stream stream;
    gsv_tasks tasks;
};

/* Numbers that a panel takes. */
int64_t gsv_panel_size(int64_t nr, int64_t nc);

/* What a factor's values need: which supernodes are branches and limbs, and where each panel stands. It makes
 * plan->schedule, with nothing else in it, unless it is there. GPUSOLVE_TOO_LARGE: as below. */
gpusolve_status gsv_schedule_place(gsv_plan *plan, gsv_message *message);
/* Builds plan->schedule, or what it lacks. After a failure there is none. GPUSOLVE_TOO_LARGE: the supernodes have 2^32 - 1 rows or more. */
gpusolve_status gsv_schedule_create(gsv_plan *plan, gsv_pool *pool, gsv_message *message);
void gsv_schedule_free(gsv_schedule *schedule); /* NULL is accepted */

/* The upper tree's fronts' rows at their places: rows [upper_rows]. */
void gsv_schedule_list_rows(const gsv_plan *plan, int32_t *rows);

#ifdef __cplusplus
}
#endif
#endif
