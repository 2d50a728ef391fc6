/* A selection (selection.c), and how it is made (selection_make.c). */
#ifndef GSV_API_SELECTION_H
#define GSV_API_SELECTION_H

#include "executor.h"
#include "gpusolve_selection.h"

/* A factor by itself, of some supernodes of the whole one. */
typedef struct gsv_part {
    gpusolve_factor *factor;
    int32_t *supernodes; /* of the whole factor */
    gpusolve_workspace *workspace;
    gpusolve_dense y;
    unsigned steps;
} gsv_part;

struct gpusolve_selection {
    const gsv_executor *executor;
    int device;
    uint64_t factor_id, refreshes; /* of the factor when the numbers were copied, */
    int64_t plans;                 /* and when the parts were made */
    unsigned steps;
    int64_t b_count, x_count, max_nrhs;
    int32_t *b_rows, *x_rows; /* in L's order */
    int parts;                /* 1 or 2 */
    gsv_part part[2];
    gsv_row_list in, between, out;
    gpusolve_selection_info info;
    int captured;                /* some graph has a solve with it */
    gpusolve_selection *retired; /* as it was of earlier plans, kept for graphs that were captured; or NULL */
};

/* While a selection is made. */
typedef struct gsv_selection_making {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_selection *made;
    uint8_t *reach[2]; /* [nsuper] of each part */
    int32_t *shift[2]; /* [nsuper] gsv_reach_structure */
    int32_t *scratch;  /* [n] */
} gsv_selection_making;

gpusolve_status gsv_selection_no_memory(const gsv_selection_making *m);
/* made->b_rows and x_rows, from the caller's rows. GPUSOLVE_OUT_OF_MEMORY. */
gpusolve_status gsv_selection_read_rows(gsv_selection_making *m, const int64_t *b_rows,
                                        const int64_t *x_rows);
/* Parts and lists, for the rows there are. After a failure the caller destroys what there is of them. */
gpusolve_status gsv_selection_fill(gsv_selection_making *m);

#endif
