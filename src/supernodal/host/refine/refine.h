/* The host executor's share of refinement: A by rows, the four vectors, residuals and corrections. See
 * executor.h for what each function does; it has the name of its place in the table. */
#ifndef GSV_HOST_REFINE_H
#define GSV_HOST_REFINE_H

#include "../../api/executor.h"

gpusolve_status gsv_host_matrix_create(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                       const int64_t *row_ptr, const int32_t *columns, const void *values);
void gsv_host_matrix_destroy(gpusolve_matrix *matrix);

gpusolve_status gsv_host_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                        const gpusolve_refine_options *options);
void gsv_host_refine_release(gpusolve_workspace *workspace);
gpusolve_status gsv_host_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns,
                                const gsv_refine_results *to);

#endif
