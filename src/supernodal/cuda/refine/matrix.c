/* A on the device, for refinement: all entries by rows, and how the rows are divided. */
#include "refine.h"

#include "../../../memory.h"

enum {
    SHARED_ROW = 16, /* entries of a row, on average, above which lanes share it */
    MORE_ENTRIES = 3 /* that are read, and not used */
};

/* A copy of an array on the device, with `more` bytes of zeros behind it. */
static gpusolve_status copy_of(void **copy, const void *array, int64_t bytes, int64_t more,
                               gsv_message *message) {
    const gpusolve_status status = gsv_cuda_malloc(copy, bytes + more, message);
    if (status != GPUSOLVE_OK)
        return status;
    cudaError_t error = cudaSuccess;
    if (bytes > 0)
        error = gsv_cuda_fill(*copy, array, (size_t)bytes);
    if (error == cudaSuccess && more > 0)
        error = gsv_cuda_clear((char *)*copy + bytes, (size_t)more);
    return gsv_cuda_check(error, "copying the matrix to the device", message);
}

static gpusolve_status fill(gsv_device_matrix *a, const gpusolve_matrix *matrix, const int64_t *row_ptr,
                            const int32_t *columns, const void *values, const gsv_divided_rows *divided,
                            gsv_message *message) {
    const int64_t each = (int64_t)gsv_dtype_bytes(matrix->dtype), index = (int64_t)sizeof *columns;
    gpusolve_status status = copy_of((void **)&a->row_ptr, row_ptr,
                                     ((int64_t)matrix->n + 1) * (int64_t)sizeof *row_ptr, 0, message);
    if (!status)
        status = copy_of((void **)&a->columns, columns, matrix->nnz * index, MORE_ENTRIES * index, message);
    if (!status)
        status = copy_of(&a->values, values, matrix->nnz * each, MORE_ENTRIES * each, message);
    if (!status)
        status = copy_of((void **)&a->pieces, divided->pieces,
                         divided->piece_count * (int64_t)sizeof *divided->pieces, 0, message);
    if (!status)
        status = copy_of((void **)&a->chunks, divided->chunks,
                         divided->chunk_count * (int64_t)sizeof *divided->chunks, 0, message);
    gsv_bundle *bundles = NULL;
    if (!status && a->shares_rows)
        status = gsv_bundle_rows(row_ptr, columns, matrix->n, &bundles, &a->bundle_count, message);
    if (!status && bundles)
        status =
            copy_of((void **)&a->bundles, bundles, a->bundle_count * (int64_t)sizeof *bundles, 0, message);
    gsv_free(bundles);
    a->piece_count = divided->piece_count;
    a->chunk_count = divided->chunk_count;
    return status;
}

gpusolve_status gsv_cuda_matrix_create(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                       const int64_t *row_ptr, const int32_t *columns, const void *values) {
    gsv_message *message = &handle->message;
    gsv_divided_rows divided;
    gsv_device_matrix *a = gsv_calloc(1, sizeof *a);
    matrix->state = a;
    if (!a)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "matrix: out of host memory");
    a->shares_rows = matrix->nnz > (int64_t)SHARED_ROW * matrix->n;
    gpusolve_status status =
        gsv_divide_rows(row_ptr, matrix->n, a->shares_rows ? GSV_WHOLE_ROW : GSV_LONG_ROW, &divided, message);
    const int previous = gsv_cuda_enter(handle->device);
    if (!status)
        status = fill(a, matrix, row_ptr, columns, values, &divided, message);
    gsv_cuda_leave(previous);
    gsv_divided_rows_free(&divided);
    if (status)
        gsv_cuda_matrix_destroy(matrix);
    return status;
}

void gsv_cuda_matrix_destroy(gpusolve_matrix *matrix) {
    gsv_device_matrix *a = matrix->state;
    if (!a)
        return;
    const int previous = gsv_cuda_enter(matrix->device);
    gsv_cuda_free(a->row_ptr);
    gsv_cuda_free(a->columns);
    gsv_cuda_free(a->values);
    gsv_cuda_free(a->pieces);
    gsv_cuda_free(a->chunks);
    gsv_cuda_free(a->bundles);
    gsv_free(a);
    matrix->state = NULL;
    gsv_cuda_leave(previous);
}
