/* Checks of dense calls' arguments: each writes the message that names the argument. */
#ifndef GSV_DENSE_CHECKS_H
#define GSV_DENSE_CHECKS_H

#include "../handle.h"
#include "triangular.h"

typedef struct gsv_workspace_argument {
    void *memory;
    size_t bytes;
} gsv_workspace_argument;

gpusolve_status gsv_dense_invalid(gpusolve_handle *handle, const char *text);

/* least <= value < 2^31 */
gpusolve_status gsv_dense_check_size(gpusolve_handle *handle, const char *name, int64_t value, int64_t least);

/* Not NULL, and in device memory where the handle's backend wants it there. */
gpusolve_status gsv_dense_check_operand(gpusolve_handle *handle, const char *name, const void *memory);

gpusolve_status gsv_dense_check_side(gpusolve_handle *handle, gpusolve_side side);
gpusolve_status gsv_dense_check_uplo(gpusolve_handle *handle, gpusolve_uplo uplo);
gpusolve_status gsv_dense_check_dtype(gpusolve_handle *handle, gpusolve_dtype dtype);
gpusolve_status gsv_dense_check_workspace(gpusolve_handle *handle, gsv_workspace_argument workspace);

/* The arguments of a TRSM or TRMM from side to ldb, in that order; fills in p's order and vectors. alpha:
 * NULL where the caller's was. anywhere: operands may be in host memory whatever the backend. */
gpusolve_status gsv_triangular_check(gpusolve_handle *handle, gsv_triangular *p, int64_t m, int64_t n,
                                     const gsv_number *alpha, int anywhere);

gsv_number gsv_number_at(gpusolve_dtype dtype, const void *number);

/* The operation on the handle's backend; everything was checked and nothing is empty. */
gpusolve_status gsv_triangular_dispatch(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                        gsv_workspace_argument workspace);

/*
 * A size query as the public calls make it: *bytes = 0, checks in the order dtype, side, the two sizes,
 * bytes, then the bytes of workspace that p is fastest with; 0 on the host. p: without order and vectors,
 * which are the sizes, exchanged on the right side. names: of the sizes; the second is NULL where there is
 * one alone.
 */
gpusolve_status gsv_triangular_query(gpusolve_handle *handle, gsv_triangular p, const char *const names[2],
                                     int64_t m, int64_t n, size_t *bytes);

#endif
