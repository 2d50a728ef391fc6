/* The host executor's own: what gsv_host_executor (executor.h) keeps in a factor and in a workspace. */
#ifndef GSV_HOST_EXECUTOR_H
#define GSV_HOST_EXECUTOR_H

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
void gsv_host_factor_free(gsv_host_factor *prepared); /* NULL is accepted */

typedef struct gsv_host_workspace {
    int32_t columns; /* the widest block of columns that y and u have room for */
    uint32_t runs;   /* the last run's number */
    int32_t nsignals;
    gsv_signal *signals;
    void *y, *u;
} gsv_host_workspace;

#endif
