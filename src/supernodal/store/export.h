/* A factor's numbers, read back from where the backend has them, in plain arrays of their own. */
#ifndef GSV_STORE_EXPORT_H
#define GSV_STORE_EXPORT_H

#include "../api/executor.h"

enum {
    GSV_EXPORTED_SUPER,
    GSV_EXPORTED_PI,
    GSV_EXPORTED_PX, /* or p */
    GSV_EXPORTED_ROWS,
    GSV_EXPORTED_PERM,
    GSV_EXPORTED_X,
    GSV_EXPORTED_D,
    GSV_EXPORTED_COLUMNS, /* int64_t [n]: where each column's diagonal stands in x */
    GSV_EXPORTED_ARRAYS
};

typedef struct gsv_exported {
    gpusolve_factor_data data;
    void *memory[GSV_EXPORTED_ARRAYS];
} gsv_exported;

/* After a failure nothing is left. */
gpusolve_status gsv_export(gpusolve_handle *handle, const gpusolve_factor *factor, gsv_exported *exported);
void gsv_exported_free(gsv_exported *exported); /* leaves zeros */

#endif
