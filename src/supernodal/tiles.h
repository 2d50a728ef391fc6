/*
 * The device's part of the plan: how panels are stored, and which tasks each level of the tree consists of.
 * Plain C; a unit test runs the tasks on the host and the CUDA executor runs them on the device.
 *
 * The panels hold [W; -M] with W = inv(L1), M = L2 W, so that both sweeps are products (cuda_sweep.cuh):
 *
 *      forward    [x1; u] = [W; -M] f1 + [0; f2]          backward    x1 = [W; -M]' [y1; x(rows below)]
 *
 * panel_layout.h says how they are stored.
 *
 * The tasks of one level depend on lower levels (forward) or higher levels (backward) alone, except that
 * forward tasks follow the assemble tasks of their own level. An assemble task adds what the children owe to
 * rows of a wide front: own columns' rows where the right-hand side is, rows below where the update vector
 * will be.
 */
#ifndef GSV_TILES_H
#define GSV_TILES_H

#include "../dense_kernels/panel_layout.h"
#include "branches.h"
#include "limbs.h"
#include "many.h"
#include "plan.h"
#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_WARP_TILE_COLUMNS = 64, /* up to here a forward tile is a warp's, above a block's */
    GSV_TILES_PER_TASK = 8,     /* warps of a block */
    GSV_ASSEMBLE_ROWS = 64,     /* rows of an assemble task */
    GSV_BACKWARD_COLUMNS = 8    /* columns of a backward task */
};

/* One task. assemble: rows first .. first + count - 1 of the front; forward: block rows;
 * backward:
 * columns GSV_BACKWARD_COLUMNS first and on, count 1. */
typedef struct gsv_task {
    int32_t supernode, first, count;
} gsv_task;

/* Tasks of level k: task[ptr[k]] .. task[ptr[k + 1] - 1], forward and backward ones from the longest on. */
typedef struct gsv_task_list {
    int64_t *ptr; /* [nlevels + 1] */
    gsv_task *task;
} gsv_task_list;

/* Supernodes of level k: supernode[ptr[k]] .. supernode[ptr[k + 1] - 1]: those in no branch, and then the
 * others, both ascending. */
typedef struct gsv_supernode_list {
    int64_t *ptr;     /* [nlevels + 1] */
    int64_t *outside; /* [nlevels + 1] of those in no branch, outside[k] are in lower levels */
    int32_t *supernode;
} gsv_supernode_list;

struct gsv_tiles {
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
    gsv_task_list assemble, forward, backward; /* of wide supernodes */
    gsv_many many;
};

/* Numbers that a panel takes. */
int64_t gsv_panel_size(int64_t nr, int64_t nc);

/* Builds plan->tiles. GPUSOLVE_TOO_LARGE: the supernodes have 2^32 - 1 rows or more. */
gpusolve_status gsv_tiles_create(gsv_plan *plan, gsv_pool *pool, gsv_message *message);
void gsv_tiles_free(gsv_tiles *tiles); /* NULL is accepted */

/* The fronts' rows at their places: of the upper tree, rows [upper_rows], or of all supernodes. */
void gsv_tiles_list_rows(const gsv_plan *plan, int all, int32_t *rows);

#ifdef __cplusplus
}
#endif
#endif
