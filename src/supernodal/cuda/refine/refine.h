/*
 * Refinement on the device: what its files share. The vectors of a block of columns are by rows: entry (i, j) is at [i * stride + j],
 * so that an entry of A meets the numbers of all columns side by side.
 */
#ifndef GSV_CUDA_REFINE_H
#define GSV_CUDA_REFINE_H

#include "../../api/refine_step.h"
#include "../support.h"
#include "rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* gpusolve_matrix.state: all entries by rows, on the device. Entries are read four at a time: there is room for three more. */
typedef struct gsv_device_matrix {
    int64_t *row_ptr;
    int32_t *columns;
    void *values;
    int shares_rows; /* lanes share the entries of a row: there are many on average (matrix.c) */
    gsv_entry_piece *pieces;
    int32_t piece_count;
    gsv_chunk *chunks; /* pieces first */
    int32_t chunk_count;
    gsv_bundle *bundles; /* for several columns, in place of chunks; or NULL */
    int32_t bundle_count;
} gsv_device_matrix;

/* What the host learns of a residual: the columns still active, those of them that a Krylov method corrects, those that are behind, and each
 * column as it stands; and of a stage of such a method, the columns that are on. Mapped: kernels write it. */
typedef struct gsv_refine_report {
    int active, krylov, behind, on;
    gsv_refine_column columns[];
} gsv_refine_report;

/* Chains of conditional nodes in one another (condition.cu), and the most nodes in one. */
enum { GSV_REFINE_CHAINS = 2, GSV_REFINE_CHAIN = 16 };

/* workspace->refine */
typedef struct gsv_refine_vectors {
    void *memory;
    void *b, *x[2], *r, *d; /* n x (stride of max_nrhs); d = A \ r */
    unsigned long long
        *norms; /* [3 max_nrhs] bit patterns of doubles: of residual, x, b; zeros between launches */
    gsv_refine_column *columns; /* [max_nrhs] */
    int *done;                  /* blocks that have ended; zero between launches */
    gsv_refine_report *report;  /* [host, mapped] */
    gsv_refine_report *report_on_device;
    void *partial; /* sums of pieces, made when a matrix has some: [pieces][stride] */
    int *
        arrived; /* [pieces][tiles of columns] pieces of a row that are there, at its first one; zeros between launches */
    int64_t partial_bytes, arrived_bytes;
    void *krylov; /* a Krylov method's vectors and scalars, made when one wants them */
    int64_t krylov_bytes;
    cudaStream_t bodies
        [GSV_REFINE_CHAINS]; /* nothing runs there: bodies of conditional nodes are captured from them */
} gsv_refine_vectors;

/* One residual of a block of columns, with the decision that follows from it; without one where v.report_on_device is NULL. */
typedef struct gsv_residual {
    gsv_device_matrix a;
    gsv_refine_rule rule;
    int32_t n, columns;
    int64_t stride;     /* of the rows of all vectors (gsv_refine_stride), */
    uint32_t row_bytes; /* and in bytes */
    int stretch;        /* chunks that a block does one after the other; the launch says how many */
    int first;          /* else of a correction */
    int b_packed;       /* 16 bytes of a row of b can be read at once */
    gsv_device_dense b;
    const void *x;
    const void
        *d;    /* R = B - A (X + D); NULL: there is no D. Of one column only, where no lanes share a row */
    void *sum; /* to be X + D */
    const void *change; /* with care: the last correction, for its norm, or NULL */
    gsv_refine_vectors v;
} gsv_residual;

/* Numbers from a row of a vector to the next: each row begins at a multiple of 16 bytes, but where a column is all there is. */
static inline int64_t gsv_refine_stride(gpusolve_dtype dtype, int64_t columns) {
    const int64_t pack = 16 / (int64_t)gsv_dtype_bytes(dtype);
    return columns == 1 ? 1 : (columns + pack - 1) / pack * pack;
}

enum { GSV_RESIDUAL_TILE = 32 }; /* columns; blocks take as many together, or all there are */
static inline int64_t gsv_residual_tiles(int64_t columns) {
    return (columns + GSV_RESIDUAL_TILE - 1) / GSV_RESIDUAL_TILE;
}

/* refine/residual.cu */
cudaError_t gsv_refine_residual(gpusolve_dtype dtype, const gsv_residual *job, int multiprocessors,
                                cudaStream_t stream);

/* refine/careful.cu: the same summed in twice the precision or with its error by components, as job->rule says. X + D has been added. */
cudaError_t gsv_refine_careful_residual(gpusolve_dtype dtype, const gsv_residual *job, int multiprocessors,
                                        cudaStream_t stream);

/* refine/vectors.cu: to(i, j) = from(i, j), whatever the strides. */
cudaError_t gsv_refine_copy(gpusolve_dtype dtype, int32_t n, gsv_device_dense from, gsv_device_dense to,
                            cudaStream_t stream);
/* to(i, j) = the x that is kept of column j. */
cudaError_t gsv_refine_keep(gpusolve_dtype dtype, int32_t n, const gsv_refine_vectors *v, gsv_device_dense to,
                            cudaStream_t stream);
/* Report columns 0 .. count - 1, in device memory; NULL: zeros. */
cudaError_t gsv_refine_tell(const gsv_refine_column *columns, int32_t count, const gsv_refine_results *to,
                            cudaStream_t stream);
/* job->sum = job->x + job->d in active columns. */
cudaError_t gsv_refine_add(gpusolve_dtype dtype, const gsv_residual *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
