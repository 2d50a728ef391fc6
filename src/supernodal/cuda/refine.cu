/*
 * Refinement on the device: R = B - A X with the norms that the backward error needs, and the updates of X.
 * Vectors are n x max_nrhs, column-major, without padding.
 *
 * The residual has a thread for each entry of R, which walks its row of A in order: the same bits in every
 * run. Norms are maxima of bit patterns: those of numbers >= 0 compare like the numbers, NaN above infinity,
 * so that one NaN makes the norm NaN, and a maximum does not depend on the order of the atomics.
 */
#include "../../dense_kernels/scalar.cuh"
#include "../../memory.h"
#include "support.h"

#include <string.h>

namespace gsv {

enum { BLOCK = 256 };

struct device_matrix {
    int64_t *row_ptr;
    int32_t *columns;
    void *values;
};

struct refine_vectors {
    void *memory;
    void *b, *x, *saved, *r;
    unsigned long long *norms; /* [3 max_nrhs] bit patterns of doubles */
    unsigned char *mask;       /* [max_nrhs] */
};

__device__ __forceinline__ double magnitude(float a) {
    return fabs(double(a));
}
__device__ __forceinline__ double magnitude(double a) {
    return fabs(a);
}
template <typename R> __device__ __forceinline__ double magnitude(complex<R> a) {
    return isnan(a.re) || isnan(a.im) ? double(NAN) : hypot(double(a.re), double(a.im));
}

/* The largest of the block's values, as a bit pattern, added to *to. */
__device__ void max_block(double value, unsigned long long *to) {
    unsigned long long bits = __double_as_longlong(value) & 0x7fffffffffffffffull;
    for (int step = 16; step; step /= 2) {
        const unsigned long long there = __shfl_xor_sync(~0u, bits, step);
        bits = there > bits ? there : bits;
    }
    if (threadIdx.x % 32 == 0 && bits > 0)
        atomicMax(to, bits);
}

/* Grid: x over rows, y over columns. R = B - A X and its column's three norms. */
template <typename T>
__global__ void __launch_bounds__(BLOCK)
    residual_kernel(int32_t n, const int64_t *row_ptr, const int32_t *columns, const T *values, const T *b,
                    const T *x, T *r, unsigned long long *norms) {
    const int32_t i = blockIdx.x * BLOCK + threadIdx.x;
    const int64_t column = int64_t(blockIdx.y) * n;
    double size[3] = {0, 0, 0};
    if (i < n) {
        T sum = b[column + i];
        size[2] = magnitude(sum);
        size[1] = magnitude(x[column + i]);
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            sum = multiply_add(sum, negate(values[k]), x[column + columns[k]]);
        r[column + i] = sum;
        size[0] = magnitude(sum);
    }
    for (int k = 0; k < 3; k++)
        max_block(size[k], &norms[3 * blockIdx.y + k]);
}

/* ADD: saved = x, x += r; REVERT: x = saved; ZERO: x = 0; in masked columns. */
template <typename T>
__global__ void __launch_bounds__(BLOCK) update_kernel(int32_t n, const unsigned char *mask,
                                                       gsv_refine_update update, const T *r, T *x, T *saved) {
    const int32_t i = blockIdx.x * BLOCK + threadIdx.x;
    const int64_t at = int64_t(blockIdx.y) * n + i;
    if (i >= n || !mask[blockIdx.y])
        return;
    if (update == GSV_REFINE_ZERO) {
        x[at] = make<T>(0);
    } else if (update == GSV_REFINE_REVERT) {
        x[at] = saved[at];
    } else {
        const T old = x[at];
        saved[at] = old;
        x[at] = add(old, r[at]);
    }
}

/* to(i, j) = from(i, j), any strides. */
template <typename T>
__global__ void __launch_bounds__(BLOCK) copy_kernel(int32_t n, gsv_device_dense from, gsv_device_dense to) {
    const int64_t i = blockIdx.x * int64_t(BLOCK) + threadIdx.x, j = blockIdx.y;
    if (i < n)
        static_cast<T *>(to.values)[i * to.row_stride + j * to.column_stride] =
            static_cast<const T *>(from.values)[i * from.row_stride + j * from.column_stride];
}

dim3 grid_of(int32_t n, int64_t columns) {
    return dim3(unsigned((int64_t(n) + BLOCK - 1) / BLOCK), unsigned(columns));
}

/* A grid has 65535 blocks at most in y; that is how many columns go at a time. */
enum { MOST_COLUMNS = 65535 };

struct residual_launch {
    int32_t n;
    const device_matrix *a;
    const refine_vectors *v;
    int64_t columns;
    cudaStream_t stream;
    template <typename T> cudaError_t run() const {
        for (int64_t first = 0; first < columns; first += MOST_COLUMNS) {
            const int64_t count = columns - first < MOST_COLUMNS ? columns - first : MOST_COLUMNS,
                          at = first * n;
            residual_kernel<T><<<grid_of(n, count), BLOCK, 0, stream>>>(
                n, a->row_ptr, a->columns, static_cast<const T *>(a->values),
                static_cast<const T *>(v->b) + at, static_cast<const T *>(v->x) + at,
                static_cast<T *>(v->r) + at, v->norms + 3 * first);
        }
        return cudaGetLastError();
    }
};

struct update_launch {
    int32_t n;
    const refine_vectors *v;
    int64_t columns;
    gsv_refine_update update;
    cudaStream_t stream;
    template <typename T> cudaError_t run() const {
        for (int64_t first = 0; first < columns; first += MOST_COLUMNS) {
            const int64_t count = columns - first < MOST_COLUMNS ? columns - first : MOST_COLUMNS,
                          at = first * n;
            update_kernel<T><<<grid_of(n, count), BLOCK, 0, stream>>>(
                n, v->mask + first, update, static_cast<const T *>(v->r) + at, static_cast<T *>(v->x) + at,
                static_cast<T *>(v->saved) + at);
        }
        return cudaGetLastError();
    }
};

struct copy_launch {
    int32_t n;
    gsv_device_dense from, to;
    cudaStream_t stream;
    template <typename T> cudaError_t run() const {
        for (int64_t first = 0; first < from.columns; first += MOST_COLUMNS) {
            const int64_t count = from.columns - first < MOST_COLUMNS ? from.columns - first : MOST_COLUMNS;
            gsv_device_dense source = from, target = to;
            source.values = static_cast<T *>(from.values) + first * from.column_stride;
            target.values = static_cast<T *>(to.values) + first * to.column_stride;
            copy_kernel<T><<<grid_of(n, count), BLOCK, 0, stream>>>(n, source, target);
        }
        return cudaGetLastError();
    }
};

template <typename L> cudaError_t dispatch(gpusolve_dtype dtype, const L &launch) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return launch.template run<float>();
    case GPUSOLVE_DOUBLE:
        return launch.template run<double>();
    case GPUSOLVE_COMPLEX_FLOAT:
        return launch.template run<complex<float>>();
    case GPUSOLVE_COMPLEX_DOUBLE:
        return launch.template run<complex<double>>();
    }
    return cudaErrorInvalidValue;
}

gpusolve_dense internal_dense(const gpusolve_workspace *workspace, void *values, int64_t columns) {
    return {workspace->dtype, GPUSOLVE_COL_MAJOR, workspace->n, columns, workspace->n, values};
}

} // namespace gsv

/* ----------------------------------------------------------------------------------------- the matrix --- */

gpusolve_status gsv_cuda_matrix_create(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                       const int64_t *row_ptr, const int32_t *columns, const void *values) {
    gsv_message *message = &handle->message;
    gsv::device_matrix *state = static_cast<gsv::device_matrix *>(gsv_calloc(1, sizeof *state));
    if (!state)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory");
    matrix->state = state;
    const int previous = gsv_cuda_enter(handle->device);
    const int64_t value_bytes = matrix->nnz * int64_t(gsv_dtype_bytes(matrix->dtype));
    gpusolve_status status =
        gsv_cuda_malloc(reinterpret_cast<void **>(&state->row_ptr), (int64_t(matrix->n) + 1) * 8, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(reinterpret_cast<void **>(&state->columns), matrix->nnz * 4, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&state->values, value_bytes, message);
    if (status == GPUSOLVE_OK) {
        cudaError_t error = gsv_cuda_fill(state->row_ptr, row_ptr, (size_t(matrix->n) + 1) * 8);
        if (error == cudaSuccess && matrix->nnz > 0)
            error = gsv_cuda_fill(state->columns, columns, size_t(matrix->nnz) * 4);
        if (error == cudaSuccess && matrix->nnz > 0)
            error = gsv_cuda_fill(state->values, values, size_t(value_bytes));
        status = gsv_cuda_check(error, "copying the matrix to the device", message);
    }
    gsv_cuda_leave(previous);
    if (status != GPUSOLVE_OK)
        gsv_cuda_matrix_destroy(matrix);
    return status;
}

void gsv_cuda_matrix_destroy(gpusolve_matrix *matrix) {
    gsv::device_matrix *state = static_cast<gsv::device_matrix *>(matrix->state);
    if (!state)
        return;
    const int previous = gsv_cuda_enter(matrix->device);
    gsv_cuda_free(state->row_ptr);
    gsv_cuda_free(state->columns);
    gsv_cuda_free(state->values);
    gsv_free(state);
    matrix->state = nullptr;
    gsv_cuda_leave(previous);
}

/* ---------------------------------------------------------------------------------------- the vectors --- */

gpusolve_status gsv_cuda_refine_reserve(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    if (workspace->refine)
        return GPUSOLVE_OK;
    gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(gsv_calloc(1, sizeof *v));
    if (!v)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory");
    const int64_t columns = workspace->max_nrhs;
    const int64_t vector =
        (workspace->n * columns * int64_t(gsv_dtype_bytes(workspace->dtype)) + 255) / 256 * 256;
    const int previous = gsv_cuda_enter(handle->device);
    const gpusolve_status status = gsv_cuda_malloc(&v->memory, 4 * vector + columns * 25, &handle->message);
    gsv_cuda_leave(previous);
    if (status != GPUSOLVE_OK) {
        gsv_free(v);
        return status;
    }
    char *base = static_cast<char *>(v->memory);
    v->b = base;
    v->x = base + vector;
    v->saved = base + 2 * vector;
    v->r = base + 3 * vector;
    v->norms = reinterpret_cast<unsigned long long *>(base + 4 * vector);
    v->mask = reinterpret_cast<unsigned char *>(v->norms + 3 * columns);
    workspace->refine = v;
    return GPUSOLVE_OK;
}

void gsv_cuda_refine_release(gpusolve_workspace *workspace) {
    gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    if (!v)
        return;
    gsv_cuda_free(v->memory);
    gsv_free(v);
    workspace->refine = nullptr;
}

gpusolve_status gsv_cuda_refine_load(gpusolve_handle *handle, gpusolve_workspace *workspace,
                                     gsv_refine_vector which, const gpusolve_dense *from) {
    const gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    void *values = which == GSV_REFINE_B ? v->b : v->x;
    const gpusolve_dense to = gsv::internal_dense(workspace, values, from->cols);
    cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const int previous = gsv_cuda_enter(handle->device);
    cudaError_t error = cudaSuccess;
    gsv_device_dense source = gsv_cuda_dense(from);
    if (!gsv_cuda_is_device(from->values)) {
        error = gsv_cuda_copy_block(handle, from, v->r,
                                    cudaMemcpyHostToDevice); /* R is free: it is computed later */
        source = gsv_cuda_packed(from, v->r);
    }
    if (error == cudaSuccess)
        error = gsv::dispatch(workspace->dtype,
                              gsv::copy_launch{workspace->n, source, gsv_cuda_dense(&to), stream});
    gsv_cuda_leave(previous);
    return gsv_cuda_check(error, "copying a vector for refinement", &handle->message);
}

gpusolve_status gsv_cuda_refine_store(gpusolve_handle *handle, gpusolve_workspace *workspace,
                                      const gpusolve_dense *to) {
    const gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    const gpusolve_dense from = gsv::internal_dense(workspace, v->x, to->cols);
    cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const int previous = gsv_cuda_enter(handle->device);
    const bool on_device = gsv_cuda_is_device(to->values);
    const gsv_device_dense target = on_device ? gsv_cuda_dense(to) : gsv_cuda_packed(to, v->r);
    cudaError_t error = gsv::dispatch(workspace->dtype,
                                      gsv::copy_launch{workspace->n, gsv_cuda_dense(&from), target, stream});
    if (error == cudaSuccess && !on_device)
        error = gsv_cuda_copy_block(handle, to, v->r, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    gsv_cuda_leave(previous);
    return gsv_cuda_check(error, "copying the refined solution", &handle->message);
}

/* ------------------------------------------------------------------------------------------ the steps --- */

gpusolve_status gsv_cuda_refine_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, int64_t cols, int first) {
    const gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    const gpusolve_dense b = gsv::internal_dense(workspace, first ? v->b : v->r, cols);
    const gpusolve_dense x = gsv::internal_dense(workspace, first ? v->x : v->r, cols);
    return gsv_cuda_solve(handle, factor, workspace,
                          GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT, &b, &x);
}

gpusolve_status gsv_cuda_refine_residual(gpusolve_handle *handle, const gpusolve_matrix *matrix,
                                         gpusolve_workspace *workspace, int64_t cols, double *norms) {
    const gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const size_t bytes = size_t(3 * cols) * sizeof *norms;
    const int previous = gsv_cuda_enter(handle->device);
    cudaError_t error = cudaMemsetAsync(v->norms, 0, bytes, stream);
    if (error == cudaSuccess)
        error = gsv::dispatch(workspace->dtype,
                              gsv::residual_launch{workspace->n,
                                                   static_cast<const gsv::device_matrix *>(matrix->state), v,
                                                   cols, stream});
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(norms, v->norms, bytes, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    gsv_cuda_leave(previous);
    return gsv_cuda_check(error, "computing the residual", &handle->message);
}

gpusolve_status gsv_cuda_refine_update(gpusolve_handle *handle, gpusolve_workspace *workspace, int64_t cols,
                                       const unsigned char *mask, gsv_refine_update update) {
    const gsv::refine_vectors *v = static_cast<gsv::refine_vectors *>(workspace->refine);
    cudaStream_t stream = static_cast<cudaStream_t>(handle->stream);
    const int previous = gsv_cuda_enter(handle->device);
    cudaError_t error = cudaMemcpyAsync(v->mask, mask, size_t(cols), cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = gsv::dispatch(workspace->dtype, gsv::update_launch{workspace->n, v, cols, update, stream});
    gsv_cuda_leave(previous);
    return gsv_cuda_check(error, "updating the solution", &handle->message);
}
