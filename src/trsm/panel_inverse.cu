/*
 * [W; -M] row by row: row i of the result is the solution w of w L1 = e_i (i < nc) or w L1 = -L2(i, :), by
 * substitution from the last column to the first:
 *
 *      w(k) = (rhs(k) - sum over m > k of w(m) L1(m, k)) / L1(k, k)
 *
 * Every row is solved by itself, so that the rows of W and M are as accurate as substitution makes them.
 *
 * Narrow panels: a block of 32 threads for each, a thread for each row, L1 and the rows at work in shared
 * memory. Wide panels: cuBLAS TRSM, between a kernel that writes the right-hand side and one that packs the
 * result.
 */
#include "panel_inverse.h"

#include "../dense_kernels/scalar.cuh"
#include "../dense_kernels/panel_layout.h"

namespace gsv {

/* One warp, no other: barriers are __syncwarp. Shared: L1 (nc x nc) and 32 rows of nc + 1 numbers, the odd
 * one against bank conflicts. */
template <typename T>
__global__ void __launch_bounds__(32)
    invert_narrow_kernel(const gsv_narrow_panel *batch, const T *__restrict__ raw, T *__restrict__ panels) {
    __shared__ T l1[GSV_NARROW_COLUMNS * GSV_NARROW_COLUMNS];
    __shared__ T work[32 * (GSV_NARROW_COLUMNS + 1)];
    const gsv_narrow_panel p = batch[blockIdx.x];
    const T *from = raw + p.from;
    T *to = panels + p.to;
    T *w = work + threadIdx.x * (GSV_NARROW_COLUMNS + 1);
    for (int e = threadIdx.x; e < p.nc * p.nc; e += 32)
        l1[e] = from[int64_t(e / p.nc) * p.nr + e % p.nc];
    __syncwarp(); /* l1 is complete */
    for (int i = threadIdx.x; i < p.nr; i += 32) {
        const int last = i < p.nc ? i : p.nc - 1; /* W is lower triangular */
        for (int k = last; k >= 0; k--) {
            T sum = i >= p.nc ? negate(from[int64_t(k) * p.nr + i]) : make<T>(i == k ? 1 : 0);
            for (int m = k + 1; m <= last; m++)
                sum = multiply_add(sum, negate(w[m]), l1[k * p.nc + m]);
            if constexpr (traits<T>::is_complex)
                w[k] = divide_real(sum, l1[k * p.nc + k].re); /* the diagonal of a Cholesky factor is real */
            else
                w[k] = sum / l1[k * p.nc + k];
        }
        for (int k = 0; k <= last; k++)
            to[gsv_narrow_column(p.nr, k) + i] = w[k];
    }
}

/* solved = [I; -L2] */
template <typename T>
__global__ void right_hand_side_kernel(const T *raw, T *solved, int32_t nr, int32_t nc) {
    for (int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < int64_t(nr) * nc;
         e += int64_t(gridDim.x) * blockDim.x) {
        const int32_t i = int32_t(e % nr), j = int32_t(e / nr);
        solved[e] = i >= nc ? negate(raw[e]) : make<T>(i == j ? 1 : 0);
    }
}

/* Block row blockIdx.x of a wide panel from the solved one: zeros above the diagonal and below the last row.
 */
template <typename T> __global__ void pack_kernel(const T *solved, T *packed, int32_t nr, int32_t nc) {
    const int32_t block_row = blockIdx.x, columns = gsv_block_row_columns(nc, block_row);
    T *tile = packed + gsv_block_row_start(nc, block_row);
    for (int32_t e = threadIdx.x; e < GSV_TILE * columns; e += blockDim.x) {
        const int32_t i = GSV_TILE * block_row + e % GSV_TILE, j = e / GSV_TILE;
        tile[e] = i >= j && i < nr ? solved[int64_t(j) * nr + i] : make<T>(0);
    }
}

cublasStatus_t trsm(cublasHandle_t cublas, int m, int n, const float *l, float *b) {
    const float one = 1;
    return cublasStrsm(cublas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                       m, n, &one, l, m, b, m);
}

cublasStatus_t trsm(cublasHandle_t cublas, int m, int n, const double *l, double *b) {
    const double one = 1;
    return cublasDtrsm(cublas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                       m, n, &one, l, m, b, m);
}

cublasStatus_t trsm(cublasHandle_t cublas, int m, int n, const complex<float> *l, complex<float> *b) {
    const cuComplex one = {1, 0};
    return cublasCtrsm(cublas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                       m, n, &one, reinterpret_cast<const cuComplex *>(l), m,
                       reinterpret_cast<cuComplex *>(b), m);
}

cublasStatus_t trsm(cublasHandle_t cublas, int m, int n, const complex<double> *l, complex<double> *b) {
    const cuDoubleComplex one = {1, 0};
    return cublasZtrsm(cublas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                       m, n, &one, reinterpret_cast<const cuDoubleComplex *>(l), m,
                       reinterpret_cast<cuDoubleComplex *>(b), m);
}

template <typename T>
cudaError_t invert_narrow(const gsv_narrow_panel *batch, int64_t count, const void *raw, void *panels,
                          cudaStream_t stream) {
    if (count == 0)
        return cudaSuccess;
    invert_narrow_kernel<T>
        <<<unsigned(count), 32, 0, stream>>>(batch, static_cast<const T *>(raw), static_cast<T *>(panels));
    return cudaGetLastError();
}

template <typename T>
gpusolve_status invert_wide(cublasHandle_t cublas, const void *raw, void *solved, void *packed, int32_t nr,
                            int32_t nc, cudaStream_t stream) {
    const T *l = static_cast<const T *>(raw);
    T *b = static_cast<T *>(solved);
    const int64_t blocks = (int64_t(nr) * nc + 1023) / 1024;
    right_hand_side_kernel<T><<<unsigned(blocks < 4096 ? blocks : 4096), 256, 0, stream>>>(l, b, nr, nc);
    if (cudaGetLastError() != cudaSuccess || trsm(cublas, nr, nc, l, b) != CUBLAS_STATUS_SUCCESS)
        return GPUSOLVE_CUDA_ERROR;
    pack_kernel<T>
        <<<unsigned((nr + GSV_TILE - 1) / GSV_TILE), 256, 0, stream>>>(b, static_cast<T *>(packed), nr, nc);
    return cudaGetLastError() == cudaSuccess ? GPUSOLVE_OK : GPUSOLVE_CUDA_ERROR;
}

} // namespace gsv

cudaError_t gsv_invert_narrow(gpusolve_dtype dtype, const gsv_narrow_panel *batch, int64_t count,
                              const void *raw, void *panels, cudaStream_t stream) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gsv::invert_narrow<float>(batch, count, raw, panels, stream);
    case GPUSOLVE_DOUBLE:
        return gsv::invert_narrow<double>(batch, count, raw, panels, stream);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gsv::invert_narrow<gsv::complex<float>>(batch, count, raw, panels, stream);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return gsv::invert_narrow<gsv::complex<double>>(batch, count, raw, panels, stream);
    }
    return cudaErrorInvalidValue;
}

gpusolve_status gsv_invert_wide(gpusolve_dtype dtype, cublasHandle_t cublas, const void *raw, void *solved,
                                void *packed, int32_t nr, int32_t nc, cudaStream_t stream) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gsv::invert_wide<float>(cublas, raw, solved, packed, nr, nc, stream);
    case GPUSOLVE_DOUBLE:
        return gsv::invert_wide<double>(cublas, raw, solved, packed, nr, nc, stream);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gsv::invert_wide<gsv::complex<float>>(cublas, raw, solved, packed, nr, nc, stream);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return gsv::invert_wide<gsv::complex<double>>(cublas, raw, solved, packed, nr, nc, stream);
    }
    return GPUSOLVE_INTERNAL_ERROR;
}
