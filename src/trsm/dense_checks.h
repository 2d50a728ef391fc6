/* Checks of dense calls' arguments: each writes the message that names the argument. */
#ifndef GSV_TRSM_DENSE_CHECKS_H
#define GSV_TRSM_DENSE_CHECKS_H

#include "../handle.h"
#include "../overlap.h"
#include "triangular.h"

typedef struct gsv_workspace_argument {
    void *memory;
    size_t bytes;
} gsv_workspace_argument;

gpusolve_status gsv_dense_invalid(gpusolve_handle *handle, const char *text);

/* least <= value < 2^31 */
gpusolve_status gsv_dense_check_size(gpusolve_handle *handle, const char *name, int64_t value, int64_t least);

/*
 * Not NULL, not in another device's memory, and aligned: on the device to a number, in host memory to its
 * real part. With the CUDA backend host memory is refused, unless the operand may be anywhere.
 */
gpusolve_status gsv_dense_check_operand(gpusolve_handle *handle, const char *name, gpusolve_dtype dtype,
                                        const void *memory, int anywhere);

/*
 * The bytes of an operand, for the two checks below: `columns` runs of `rows` numbers, a leading dimension
 * apart; and one triangle of a matrix of order n.
 */
gsv_bytes_block gsv_dense_block(gpusolve_dtype dtype, const void *memory, int64_t rows, int64_t columns,
                                int64_t ld);
gsv_bytes_triangle gsv_dense_triangle(gpusolve_dtype dtype, const void *memory, int64_t n, int64_t ld,
                                      gpusolve_uplo uplo, gpusolve_diag diag);

/* A dense matrix as the caller passed it. */
typedef struct gsv_matrix_argument {
    const char *name, *ld_name;
    const void *memory;
    int64_t rows, columns, ld;
    int is_used;         /* 0: nothing is read or written, and the pointer is not looked at */
    int may_be_anywhere; /* as for gsv_dense_check_operand */
} gsv_matrix_argument;

/* The pointer, then max(1, rows) <= ld < 2^31, then that the matrix ends inside the address space. */
gpusolve_status gsv_dense_check_matrix(gpusolve_handle *handle, gpusolve_dtype dtype,
                                       const gsv_matrix_argument *matrix);

/* The operand `name`, which is written, shares no byte with the triangle that is read: the one of A. */
gpusolve_status gsv_dense_check_apart(gpusolve_handle *handle, const char *name,
                                      const gsv_bytes_block *operand, const gsv_bytes_triangle *a);

gpusolve_status gsv_dense_check_uplo(gpusolve_handle *handle, gpusolve_uplo uplo);
gpusolve_status gsv_dense_check_shape(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                      gpusolve_diag diag);
gpusolve_status gsv_dense_check_dtype(gpusolve_handle *handle, gpusolve_dtype dtype);
gpusolve_status gsv_dense_check_workspace(gpusolve_handle *handle, gsv_workspace_argument workspace);
gsv_bytes_block gsv_dense_scratch(gsv_workspace_argument workspace);

/* A, lda, B, ldb in that order. p is complete and its sizes are checked. */
gpusolve_status gsv_triangular_check_operands(gpusolve_handle *handle, const gsv_triangular *p, int reads_a,
                                              int anywhere);

/* The last check, when all arguments are right: A, B and the workspace do not overlap. Nothing if the call is
 * empty; alpha = 0: A is not read. */
gpusolve_status gsv_triangular_check_apart(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                           gsv_workspace_argument workspace);

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
