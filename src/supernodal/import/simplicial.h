/* Supernodes for a simplicial factor. */
#ifndef GSV_IMPORT_SIMPLICIAL_H
#define GSV_IMPORT_SIMPLICIAL_H

#include "../tree/plan.h"

/*
 * Group the columns of a simplicial factor, whose fields gsv_check_fields has passed, into supernodes:
 * nsuper, first_column, row_ptr and rows of the structure, whose n is set. Checks the row indices on the way.
 * On failure the arrays may be set or not: the caller frees the structure.
 */
gpusolve_status gsv_simplicial_structure(const gpusolve_factor_data *data, gsv_structure *structure,
                                         gsv_message *message);

#endif
