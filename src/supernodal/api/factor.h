/* Making a factor whose structure is known. */
#ifndef GSV_API_FACTOR_H
#define GSV_API_FACTOR_H

#include "executor.h"

/* gsv_factor_make, of data that goes with a structure: only its numbers, and the fields that say where they are, are read. Takes over the
 * structure, also on failure. NULL: it is imported. */
gpusolve_status gsv_factor_make_of(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                   gsv_structure *structure, gpusolve_factor **factor);

#endif
