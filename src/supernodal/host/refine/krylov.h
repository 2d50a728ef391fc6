/* The passes over vectors of conjugate gradients and FGMRES (api/krylov.h) on the host. */
#ifndef GSV_HOST_KRYLOV_H
#define GSV_HOST_KRYLOV_H

#include "../../api/krylov.h"

/* The vectors of a block of columns are by rows: entry (i, j) is at [i * columns + j]. */
typedef struct gsv_host_krylov {
    gsv_krylov scalars;
    gpusolve_dtype dtype;
    int64_t n;
    void *r, *d, *basis;
    gsv_pair *partial; /* [blocks][count][columns] */
    gsv_pool *pool;
} gsv_host_krylov;

/* Memory for d, the basis, the scalars and the partial sums of `columns` columns; gsv_krylov_method.any is set. In bytes. */
int64_t gsv_host_krylov_bytes(gpusolve_dtype dtype, int64_t n, int64_t columns,
                              const gsv_krylov_method *method);
/* Deal it out: dtype, n, and columns, length of the scalars are set. */
void gsv_host_krylov_place(gsv_host_krylov *t, const gsv_krylov_method *method, void *memory);

void *gsv_host_krylov_vector(const gsv_host_krylov *t, int number);
void gsv_host_krylov_dots(gsv_host_krylov *t, int first, int count, int with, gsv_krylov_stage stage,
                          int step);
void gsv_host_krylov_sum(gsv_host_krylov *t, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step);
void gsv_host_krylov_stage(gsv_host_krylov *t, gsv_krylov_stage stage, int step);
/* Columns that are on. */
int gsv_host_krylov_on(const gsv_host_krylov *t);

#endif
