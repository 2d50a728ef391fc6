/* What the files of a batch share. */
#ifndef GSV_BATCH_BATCH_H
#define GSV_BATCH_BATCH_H

#include "gpusolve_batch.h"

#include "../api/checks.h"
#include "move.h"

/* The arrays of a batch's forest (gpusolve_batch.forest), by the field that they are. */
enum {
    GSV_FOREST_SUPER,
    GSV_FOREST_PI,
    GSV_FOREST_PX, /* or p */
    GSV_FOREST_S,  /* or i */
    GSV_FOREST_PERM,
    GSV_FOREST_X,
    GSV_FOREST_DIAGONAL, /* no field: [n] double, of L, or D */
    GSV_FOREST_ARRAYS
};

struct gpusolve_batch {
    const gsv_executor *executor;
    int device;
    int64_t count;
    gpusolve_dtype dtype; /* of the members' numbers; that of b and x is the factor's */
    gpusolve_storage storage;
    int has_d;
    int64_t nplans;
    gsv_plan *plans;    /* [nplans] of members alone, without an executor's part; they are never split */
    int32_t *plan_of;   /* [count] */
    int64_t *row;       /* [count + 1] first row of each member */
    int64_t *supernode; /* [count + 1] first supernode */
    int64_t *number;    /* [count + 1] first number in forest.x */
    int64_t each;       /* rows of every member, or -1: they differ */
    /* All members as one factor's data, indices of 64 bits. L L': supernodal. L D L': compressed columns with all rows of their
     * supernodes. */
    gpusolve_factor_data forest;
    void *memory[GSV_FOREST_ARRAYS];
    int64_t bytes;           /* of memory */
    gpusolve_factor *factor; /* made of it */
    void *
        member_of; /* [n] int32_t, on the backend, of each row; NULL: the host's, or all have the same number of rows */
};

struct gpusolve_batch_workspace {
    const gsv_executor *executor;
    int device;
    uint64_t factor_id;
    int64_t columns;            /* that are solved at a time, at most */
    gpusolve_workspace *inner;  /* of the forest's factor */
    gsv_batch_block *blocks[2]; /* [count] of b and of x */
    void *vectors;              /* [n columns] numbers, on the backend */
    void *active;               /* [count] bytes, on the backend */
    void *
        host_vectors; /* [n columns] [host], where the backend is none: made by the first call that needs them */
    uint8_t *host_active; /* [count] [host] */
};

/* batch/members.c. Look at members `first` .. `first` + count - 1: structure, if plans are wanted, or pattern, then numbers. With
 * batch->plans NULL it makes them. statuses: [count] or NULL. The message names the first member at fault. */
gpusolve_status gsv_batch_look(gpusolve_handle *handle, gpusolve_batch *batch, int64_t first, int64_t count,
                               const gpusolve_factor_data *members, gpusolve_status *statuses);

/* batch/forest.c. Allocate the forest's arrays and fill in its pattern. *structure is the same for the plan. */
gpusolve_status gsv_batch_make_forest(gpusolve_handle *handle, gpusolve_batch *batch,
                                      gsv_structure *structure);
/* The numbers of members first .. first + count - 1, and their diagonals, into the forest's. */
gpusolve_status gsv_batch_copy_numbers(gpusolve_handle *handle, const gpusolve_batch *batch, int64_t first,
                                       int64_t count, const gpusolve_factor_data *members);

/* batch/workspace.c. Columns that a workspace for max_nrhs solves at a time: those of the widest run on the device. */
int64_t gsv_batch_columns(int64_t max_nrhs);
/* Its vectors in host memory, where the backend is another: NULL, out of memory. */
void *gsv_batch_host_vectors(const gpusolve_batch *batch, gpusolve_batch_workspace *workspace);

/* The batch is there, of the handle's backend and device. */
gpusolve_status gsv_batch_check(gpusolve_handle *handle, const gpusolve_batch *batch);

#endif
