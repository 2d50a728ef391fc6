/*
 * Many right-hand sides on the device: what the sweeps over the upper tree consist of when the vectors are
 * wide blocks, 64 columns or more (cuda_many.cuh). Plain C; follows from the pattern alone.
 *
 * A level is a list of tiles, each a product of GSV_MANY_ROWS rows of a panel with its front (forward) or of
 * so many of its columns with the rows of the solution (backward). Where a level has few tiles and long ones
 * their terms are cut into ranges of equal length, so that there is work for every multiprocessor: then each
 * range is a task, its partial sums have a slot of their own, and a sum task adds them in ascending order.
 * The cuts follow from the level alone, not from the number of columns: so do the bits of a column.
 *
 * Branches (branches.h) have kernels of their own, and so have the narrow supernodes above them.
 */
#ifndef GSV_MANY_H
#define GSV_MANY_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_FEW_COLUMNS = 32,  /* right-hand sides up to here have other kernels */
    GSV_MANY_ROWS = 128,   /* of a tile */
    GSV_MANY_COLUMNS = 64, /* right-hand sides of a tile: vectors are a multiple of it wide */
    GSV_MANY_GROUPS = 4,   /* so many times at most */
    GSV_MANY_TERMS = 256,  /* a tile of no more terms than that is not cut */
    GSV_MANY_TASKS = 132,  /* a level with so many tasks of equal length is not cut further */
    GSV_MANY_ASSEMBLE = 8, /* rows of an assemble task */
    GSV_MANY_KIND = 29     /* node = kind << GSV_MANY_KIND | place among those of that kind in no branch */
};

enum { GSV_MANY_TINY, GSV_MANY_SMALL, GSV_MANY_WIDE };

typedef struct gsv_many_task {
    int32_t node;
    int32_t first;      /* tile: its first row or column; assemble: the first row */
    int32_t begin, end; /* tile: its terms, columns or rows of the panel; assemble: end of the rows */
    int32_t slot;       /* of the partial sums; -1: the tile has all terms */
    int32_t slots;      /* sum: so many, from slot on */
} gsv_many_task;

/* Tasks of level k: task[ptr[k]] .. task[ptr[k + 1] - 1], tiles from the longest on. */
typedef struct gsv_many_list {
    int64_t *ptr; /* [nlevels + 1] */
    gsv_many_task *task;
} gsv_many_list;

enum {
    GSV_MANY_NARROWS,    /* narrow supernodes: whole, a task each, in both sweeps */
    GSV_MANY_ASSEMBLIES, /* the others: rows of own columns += what the children owe, if there are children */
    GSV_MANY_FORWARD,
    GSV_MANY_FORWARD_SUMS,
    GSV_MANY_BACKWARD,
    GSV_MANY_BACKWARD_SUMS,
    GSV_MANY_LISTS
};

typedef struct gsv_many {
    gsv_many_list list[GSV_MANY_LISTS];
    int64_t slots;   /* the most of any level and sweep */
    int64_t updates; /* rows of update vectors that these sweeps write: the first ones */
    int64_t bytes;   /* memory of all this */
} gsv_many;

/* From plan->tiles, which is complete but for this. */
gpusolve_status gsv_many_create(const gsv_plan *plan, gsv_many *many, gsv_message *message);
void gsv_many_free(gsv_many *many); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
