/* Making a factor whose structure is known. */
#ifndef GSV_API_FACTOR_H
#define GSV_API_FACTOR_H

#include "executor.h"

/*
 * gpusolve_factor_create, once its arguments are there: for calls that have found the data elsewhere.
 * - structure: NULL, or the data's: then of the data only its numbers, and the fields that say where they are, are read. It is taken
 *   over, also on failure.
 * - blocks: NULL, or the numbers are to be brought so. Only of L L' with supernodes, and an executor that does it
 */
gpusolve_status gsv_factor_make_of(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                   gsv_structure *structure, const gsv_blocks *blocks,
                                   gpusolve_factor **factor);

/* gpusolve_factor_refresh of columns first .. end - 1, which are whole trees. data is what the factor was made of, with the numbers of the other columns
 * as the factor has them. The new ones have been checked; nothing else is, unless they are all. diagonal [n]: of L, or D. */
gpusolve_status gsv_factor_refresh_columns(gpusolve_handle *handle, gpusolve_factor *factor,
                                           const gpusolve_factor_data *data, int32_t first, int32_t end,
                                           const double *diagonal);

#endif
