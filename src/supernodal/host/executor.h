/* What the files of the host executor share: what it keeps in a factor and in a workspace; packing and reading panels. */
#ifndef GSV_HOST_EXECUTOR_H
#define GSV_HOST_EXECUTOR_H

#include "../import/import.h"
#include "run.h"

typedef struct gsv_host_factor {
    int isa;            /* lanes_host.h; tests lower it */
    int64_t *start;     /* [nsuper] each panel's place in values */
    void *packed;       /* panels, NULL where they stay in the caller's memory, */
    const void *values; /* which is here then; else packed */
    void *d;            /* [n] real numbers, or NULL */
} gsv_host_factor;

/* A factor with memory for `numbers` real numbers of panels, and for D; NULL: out of memory. */
gsv_host_factor *gsv_host_factor_create(const gpusolve_factor *factor, int64_t numbers);

typedef struct gsv_host_workspace {
    int32_t columns; /* the widest block of columns that y and u have room for */
    uint32_t runs;   /* the last run's number */
    int32_t nsignals;
    gsv_signal *signals;
    void *y, *u;
} gsv_host_workspace;

/* pack.c. Where each panel goes, packed as panel_host.h says: start[s] in real numbers of the type, each panel on a cache line, in the order
 * in which the subtrees visit them. start may be NULL. Returns the real numbers of all panels, slack included. */
int64_t gsv_host_pack_layout(const gsv_plan *plan, gpusolve_dtype dtype, int64_t *start);
/* Fill values, on the handle's threads; data has been checked. fresh: NULL, or the columns whose panels are filled. GPUSOLVE_OUT_OF_MEMORY:
 * nothing is written. */
gpusolve_status gsv_host_pack(gpusolve_handle *handle, const gpusolve_factor_data *data, const gsv_plan *plan,
                              const gsv_fresh *fresh, const int64_t *start, void *values);
/* Where the caller has each panel in data->x, in real numbers: start [nsuper]. */
void gsv_host_in_place_layout(const gsv_plan *plan, const gpusolve_factor_data *data, int64_t *start);

/* unpack.c: read_values of executor.h, and the panel of supernode s alone, by the calling thread: column j of L, its diagonal first, goes to
 * x[column[j]] and on. */
gpusolve_status gsv_host_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d);
void gsv_host_read_panel(const gpusolve_factor *factor, const int64_t *column, int32_t s, void *x);

extern const gsv_selection_functions gsv_host_selection; /* selection.c */

#endif
