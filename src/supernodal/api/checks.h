/* Argument checks that several public routines share. Each names the argument at fault in the handle's
 * message. */
#ifndef GSV_API_CHECKS_H
#define GSV_API_CHECKS_H

#include "../../overlap.h"
#include "executor.h"

/* A public record, which begins with its size, is there and has that size. */
gpusolve_status gsv_check_record(const char *name, const void *record, size_t size, gsv_message *message);

/* An object of this executor and device is of the handle's. */
gpusolve_status gsv_check_owner(gpusolve_handle *handle, const char *name, const gsv_executor *executor,
                                int device);

/* The factor is there and of the handle's backend and device. */
gpusolve_status gsv_check_factor_owner(gpusolve_handle *handle, const gpusolve_factor *factor);

/* The same, and it has memory on the backend: no refresh has lost it. */
gpusolve_status gsv_check_factor_prepared(gpusolve_handle *handle, const gpusolve_factor *factor);

/* The same, and no refresh has left it unusable. */
gpusolve_status gsv_check_factor(gpusolve_handle *handle, const gpusolve_factor *factor);

/* The workspace was made for this factor. NULL passes: the handle's own will be used. */
gpusolve_status gsv_check_workspace(gpusolve_handle *handle, const gpusolve_factor *factor,
                                    const gpusolve_workspace *workspace);

/* The matrix is there, of the handle's backend and device, and of the factor's type and order. */
gpusolve_status gsv_check_matrix(gpusolve_handle *handle, const gpusolve_factor *factor,
                                 const gpusolve_matrix *matrix);

/* first <= max_nrhs, and the vectors of a workspace of that many columns can be counted in 64 bits. */
gpusolve_status gsv_check_max_nrhs(const gsv_plan *plan, gpusolve_dtype dtype, int64_t first,
                                   int64_t max_nrhs, gsv_message *message);

/* How blocks become ones of the factor's type. Complex ones, with a real factor, are real blocks with twice as many
 * columns, in one piece or in several. */
typedef enum gsv_view {
    GSV_AS_IT_IS,
    GSV_PAIRS,       /* by rows: one piece, whose columns are real and imaginary parts by turns */
    GSV_PARTS,       /* two pieces: all real parts, all imaginary parts */
    GSV_COLUMN_PAIRS /* a piece for each column, with its real and its imaginary part */
} gsv_view;

/*
 * b and x are dense blocks of one width and one type, which goes with the factor's; their memory can be used, and x is b or
 * shares no byte with it. *view is how to look at them both.
 */
gpusolve_status gsv_check_operands(gpusolve_handle *handle, const gpusolve_factor *factor,
                                   const gpusolve_dense *b, const gpusolve_dense *x, gsv_view *view);

/* One block by itself: n rows, the factor's own type, memory that can be used. */
gpusolve_status gsv_check_block(gpusolve_handle *handle, const gpusolve_factor *factor, const char *name,
                                const gpusolve_dense *dense, int *on_device);

/* A caller's memory is there, a multiple of `align`, and, with numbers of `number` bytes, of use to the backend. on_device: check_memory of
 * executor.h. */
gpusolve_status gsv_check_memory(gpusolve_handle *handle, const char *name, const void *values, size_t align,
                                 size_t number, int *on_device);

/* A list of rows or columns, NULL if there is none: aligned, and each is below n. */
gpusolve_status gsv_check_list(gpusolve_handle *handle, const char *name, int32_t n, int64_t count,
                               const int64_t *list);

/* The handle's stream is not being captured; `why` goes on after "handle: its stream is being captured, and ". */
gpusolve_status gsv_check_not_captured(gpusolve_handle *handle, const char *why);

/* Memory on the device, or the handle's stream is not being captured. */
gpusolve_status gsv_check_captured_memory(gpusolve_handle *handle, const char *name, int on_device);

/* x is b, or shares no byte with it. */
gpusolve_status gsv_check_aliasing(gsv_message *message, const char *b_name, const gpusolve_dense *b,
                                   const char *x_name, const gpusolve_dense *x);

/* The same as gsv_check_operands, of blocks with these numbers of rows. */
gpusolve_status gsv_check_selected(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t b_rows,
                                   int64_t x_rows, const gpusolve_dense *b, const gpusolve_dense *x,
                                   gsv_view *view);

/* The same; `whose` says in messages what the numbers of rows are. on_device: NULL, or whether kernels read and write b, and x. */
gpusolve_status gsv_check_blocks(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t b_rows,
                                 int64_t x_rows, const char *whose, const gpusolve_dense *b,
                                 const gpusolve_dense *x, gsv_view *view, int on_device[2]);

/* The pieces of a block, which has columns, and one of them. Piece k of b goes with piece k of x. */
int64_t gsv_view_pieces(gsv_view view, const gpusolve_dense *dense);
gpusolve_dense gsv_view_piece(gsv_view view, const gpusolve_dense *dense, int64_t piece);

/* The bytes of a block's numbers, without its padding. */
gsv_bytes_block gsv_dense_bytes(const gpusolve_dense *dense);

/* The steps of a system, 0 if there is no such system. */
unsigned gsv_steps_of(gpusolve_system system);

/* The handle's own workspace for this factor, wide enough for min(nrhs, 32) columns: found, made, or made
 * anew. */
gpusolve_status gsv_own_workspace(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t nrhs,
                                  gpusolve_workspace **workspace);

#endif
