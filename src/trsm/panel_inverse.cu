/*
 * [W; -M] row by row: row i of the result is the solution w of w L1 = e_i (i < nc) or w L1 = -L2(i, :), by
 * substitution from the last column to the first:
 *
 *      w(k) = (rhs(k) - sum over m > k of w(m) L1(m, k)) / L1(k, k)
 *
 * Every row is solved by itself, so that the rows of W and M are as accurate as substitution makes them.
 * In parts, the rows below a column block are products with its inverse instead.
 *
 * Narrow panels: a block of 32 threads for each, a thread for each row, L1 and the rows at work in shared
 * memory. Wide panels: cuBLAS TRSM, between a kernel that writes the right-hand side and one that packs the
 * result.
 */
#include "panel_inverse.h"

#include "../dense_kernels/scalar.cuh"
#include "../dense_kernels/panel_layout.h"

namespace gsv {

__device__ __forceinline__ double max_warp(double value) {
    for (int step = 16; step; step /= 2) {
        const double there = __shfl_xor_sync(~0u, value, step);
        value =
            value > there ? value : there; /* a NaN on either side may get lost: callers ask for it first */
    }
    return value;
}

/* k of the triangle l1 (nc x nc) with inverse w (row i at w + i ldw), as in panel_inverse.h, on every lane of
 * a warp; infinite if it is not a number. shared: 2 x 32 numbers. */
template <typename T>
__device__ double condition_warp(const T *l1, const T *w, int ldw, int nc, double *shared) {
    const int lane = threadIdx.x;
    double *e = shared, *t = shared + 32;
    double sum = 0;
    for (int j = 0; lane < nc && j <= lane; j++)
        sum += magnitude1(l1[j * nc + lane]);
    e[lane] = sum;
    __syncwarp(); /* e is complete */
    sum = 0;
    for (int j = 0; lane < nc && j <= lane; j++)
        sum += magnitude1(w[lane * ldw + j]) * e[j];
    t[lane] = sum;
    __syncwarp(); /* t = |W E| 1 is complete */
    double by_rows = 0;
    for (int j = 0; lane < nc && j <= lane; j++)
        by_rows += magnitude1(l1[j * nc + lane]) * t[j];
    by_rows = lane < nc ? by_rows / e[lane] : 0;
    __syncwarp(); /* t may go */
    sum = 0;
    for (int i = lane; i < nc; i++)
        sum += magnitude1(w[i * ldw + lane]);
    t[lane] = lane < nc ? sum * e[lane] : 0;
    __syncwarp(); /* t = |W E|' 1 is complete */
    double by_columns = 0;
    for (int i = lane; i < nc; i++)
        by_columns += magnitude1(l1[lane * nc + i]) / e[i] * t[i];
    const bool finite = isfinite(by_rows) && isfinite(by_columns);
    return __all_sync(~0u, finite) ? max_warp(by_rows > by_columns ? by_rows : by_columns) : double(INFINITY);
}

/* One warp, no other: barriers are __syncwarp. Shared: L1 (nc x nc) and 32 rows of nc + 1 numbers, the odd
 * one against bank conflicts. */
template <typename T>
__global__ void __launch_bounds__(32)
    invert_narrow_kernel(const gsv_narrow_panel *batch, const T *__restrict__ raw, T *__restrict__ panels) {
    __shared__ T l1[GSV_NARROW_COLUMNS * GSV_NARROW_COLUMNS];
    __shared__ T work[32 * (GSV_NARROW_COLUMNS + 1)];
    __shared__ double sums[64];
    const gsv_narrow_panel p = batch[blockIdx.x];
    const T *from = raw + p.from;
    T *to = panels + p.to;
    const int ldw = GSV_NARROW_COLUMNS + 1;
    T *w = work + threadIdx.x * ldw;
    for (int e = threadIdx.x; e < p.nc * p.nc; e += 32)
        l1[e] = from[int64_t(e / p.nc) * p.nr + e % p.nc];
    __syncwarp(); /* l1 is complete */
    bool keep = false;
    for (int base = 0; base < p.nr; base += 32) {
        const int i = base + threadIdx.x;
        const int last = i < p.nc ? i : p.nc - 1; /* W is lower triangular */
        if (i < p.nr && !keep)
            for (int k = last; k >= 0; k--) {
                T sum = i >= p.nc ? negate(from[int64_t(k) * p.nr + i]) : make<T>(i == k ? 1 : 0);
                for (int m = k + 1; m <= last; m++)
                    sum = multiply_add(sum, negate(w[m]), l1[k * p.nc + m]);
                w[k] = divide(sum, l1[k * p.nc + k]);
            }
        __syncwarp(); /* the rows are complete */
        if (base == 0) {
            keep = !(condition_warp(l1, work, ldw, p.nc, sums) <= GSV_INVERSION_LIMIT);
            if (threadIdx.x == 0)
                *p.parts = !keep;
        }
        if (i < p.nr)
            for (int k = 0; k <= last; k++)
                to[gsv_narrow_column(p.nr, k) + i] = !keep      ? w[k]
                                                     : i < p.nc ? l1[k * p.nc + i]
                                                                : negate(from[int64_t(k) * p.nr + i]);
        __syncwarp(); /* the rows may go */
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

enum { CONDITION_THREADS = 128 };

__device__ __forceinline__ void raise(double *to, double value) {
    /* Bit patterns of numbers >= 0 compare like the numbers, NaN above infinity. */
    atomicMax(reinterpret_cast<unsigned long long *>(to),
              __double_as_longlong(value) & 0x7fffffffffffffffull);
}

/* The column block that column or row i is in, for division number v: its first column, and its end. */
struct division {
    int32_t width, nc;
    __device__ division(int32_t nc, int v) : width(gsv_part_columns(nc, 1 << v)), nc(nc) {}
    __device__ int32_t first(int32_t i) const {
        return i / width * width;
    }
    __device__ int32_t end(int32_t i) const {
        return min(first(i) + width, nc);
    }
};

/*
 * k of a wide panel's triangle, or the largest of its diagonal blocks', for each division: a layer of blocks
 * (blockIdx.y) for each. Three launches: step 0 gives e, step 1 gives t = |W E| 1 and t2 = |W E|' 1, step 2
 * raises k[v], zero before. Blocks below nc take a column each, summed over its rows; the others take rows,
 * one a thread. scratch: GSV_DIVISIONS times e, t, t2.
 */
template <typename T>
__global__ void __launch_bounds__(CONDITION_THREADS)
    condition_kernel(int step, const T *l, const T *w, int32_t nr, int32_t nc, double *scratch, double *k) {
    const division blocks(nc, blockIdx.y);
    double *e = scratch + 3 * int64_t(nc) * blockIdx.y, *t = e + nc, *t2 = t + nc;
    const T *a = step == 1 ? w : l;
    if (blockIdx.x < nc) {
        const int32_t j = blockIdx.x, end = blocks.end(j);
        if (step == 0)
            return;
        double sum = 0;
        for (int32_t i = j + threadIdx.x; i < end; i += CONDITION_THREADS)
            sum += magnitude1(a[int64_t(j) * nr + i]) * (step == 1 ? 1 : t2[i] / e[i]);
        __shared__ double sums[CONDITION_THREADS];
        sums[threadIdx.x] = sum;
        __syncthreads(); /* sums is complete */
        if (threadIdx.x == 0) {
            for (int i = 1; i < CONDITION_THREADS; i++)
                sum += sums[i];
            if (step == 1)
                t2[j] = sum * e[j];
            else
                raise(&k[blockIdx.y], sum);
        }
        return;
    }
    const int32_t i = (blockIdx.x - nc) * CONDITION_THREADS + threadIdx.x;
    if (i >= nc)
        return;
    double sum = 0;
    for (int32_t j = blocks.first(i); j <= i; j++)
        sum += magnitude1(a[int64_t(j) * nr + i]) * (step == 0 ? 1 : step == 1 ? e[j] : t[j]);
    if (step == 0)
        e[i] = sum;
    else if (step == 1)
        t[i] = sum;
    else
        raise(&k[blockIdx.y], sum / e[i]);
}

/* The fewest column blocks that can all be trusted, or 0. */
__device__ __forceinline__ int32_t trusted_parts(const double *k) {
    for (int v = 0; v < GSV_DIVISIONS; v++)
        if (k[v] <= GSV_INVERSION_LIMIT)
            return 1 << v;
    return 0;
}

/*
 * Below each column block of a triangle that is inverted in parts: solved(i, j) = - sum over m of L(i, m)
 * W(m, j), m in the column block. A block of threads for a tile of 16 rows and 16 columns at a time, a thread
 * for each result; the block's other operands pass through shared memory. What is read of `solved` are the
 * diagonal blocks, which no thread writes. Nothing to do for one part or none.
 */
template <typename T>
__global__ void __launch_bounds__(GSV_TILE *GSV_TILE)
    rows_below_parts_kernel(const T *raw, T *solved, const double *k, int32_t nr, int32_t nc) {
    __shared__ T l[GSV_TILE][GSV_TILE + 1], w[GSV_TILE][GSV_TILE + 1]; /* [column][row] */
    const int32_t parts = trusted_parts(k);
    if (parts <= 1)
        return;
    const int r = threadIdx.x % GSV_TILE, q = threadIdx.x / GSV_TILE;
    const int32_t width = gsv_part_columns(nc, parts), j0 = GSV_TILE * blockIdx.y, j = j0 + q;
    const int32_t end = min((j0 / width + 1) * width, nc);
    for (int32_t i0 = end + GSV_TILE * blockIdx.x; i0 < nr; i0 += GSV_TILE * gridDim.x) {
        T sum = make<T>(0);
        for (int32_t m0 = j0; m0 < end; m0 += GSV_TILE) {
            const int32_t i = i0 + r, m = m0 + q, n = m0 + r;
            l[q][r] = i < nr && m < end ? raw[int64_t(m) * nr + i] : make<T>(0);
            w[q][r] = n < end && j < end && n >= j ? solved[int64_t(j) * nr + n] : make<T>(0);
            __syncthreads(); /* both tiles are complete */
            for (int p = 0; p < GSV_TILE; p++)
                sum = multiply_add(sum, l[p][r], w[q][p]);
            __syncthreads(); /* both tiles may go */
        }
        if (i0 + r < nr && j < end)
            solved[int64_t(j) * nr + i0 + r] = negate(sum);
    }
}

/* Block row blockIdx.x of a wide panel: [W; -M] of each column block or, where no division can be trusted, L1
 * negated but for its diagonal, and -L2. Zeros above the diagonal and below the last row. */
template <typename T>
__global__ void pack_kernel(const T *raw, const T *solved, const double *k, T *packed, int32_t *parts,
                            int32_t nr, int32_t nc) {
    const int32_t block_row = blockIdx.x, columns = gsv_block_row_columns(nc, block_row);
    const int32_t trusted = trusted_parts(k);
    const bool keep = trusted == 0;
    if (block_row == 0 && threadIdx.x == 0)
        *parts = trusted;
    T *tile = packed + gsv_block_row_start(nc, block_row);
    for (int32_t e = threadIdx.x; e < GSV_TILE * columns; e += blockDim.x) {
        const int32_t i = GSV_TILE * block_row + e % GSV_TILE, j = e / GSV_TILE;
        T value = make<T>(0);
        if (i >= j && i < nr) {
            value = keep ? raw[int64_t(j) * nr + i] : solved[int64_t(j) * nr + i];
            if (keep && i != j)
                value = negate(value);
        }
        tile[e] = value;
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
gpusolve_status invert_wide(cublasHandle_t cublas, const void *raw, void *solved, double *scratch,
                            void *packed, int32_t *parts, int32_t nr, int32_t nc, cudaStream_t stream) {
    const T *l = static_cast<const T *>(raw);
    T *w = static_cast<T *>(solved);
    double *k = scratch + GSV_DIVISIONS * 3 * int64_t(nc);
    const int64_t blocks = (int64_t(nr) * nc + 1023) / 1024;
    right_hand_side_kernel<T><<<unsigned(blocks < 4096 ? blocks : 4096), 256, 0, stream>>>(l, w, nr, nc);
    if (cudaGetLastError() != cudaSuccess || trsm(cublas, nr, nc, l, w) != CUBLAS_STATUS_SUCCESS ||
        cudaMemsetAsync(k, 0, GSV_DIVISIONS * sizeof *k, stream) != cudaSuccess)
        return GPUSOLVE_CUDA_ERROR;
    const unsigned row_blocks = unsigned((nc + CONDITION_THREADS - 1) / CONDITION_THREADS);
    for (int step = 0; step < 3; step++)
        condition_kernel<T><<<dim3(unsigned(nc) + row_blocks, GSV_DIVISIONS), CONDITION_THREADS, 0, stream>>>(
            step, l, w, nr, nc, scratch, k);
    const unsigned row_tiles = unsigned((nr + GSV_TILE - 1) / GSV_TILE);
    const unsigned column_tiles = unsigned((nc + GSV_TILE - 1) / GSV_TILE);
    rows_below_parts_kernel<T>
        <<<dim3(row_tiles < 64 ? row_tiles : 64, column_tiles), GSV_TILE * GSV_TILE, 0, stream>>>(l, w, k, nr,
                                                                                                  nc);
    pack_kernel<T><<<row_tiles, 256, 0, stream>>>(l, w, k, static_cast<T *>(packed), parts, nr, nc);
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
                                double *scratch, void *packed, int32_t *parts, int32_t nr, int32_t nc,
                                cudaStream_t stream) {
    using namespace gsv;
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return invert_wide<float>(cublas, raw, solved, scratch, packed, parts, nr, nc, stream);
    case GPUSOLVE_DOUBLE:
        return invert_wide<double>(cublas, raw, solved, scratch, packed, parts, nr, nc, stream);
    case GPUSOLVE_COMPLEX_FLOAT:
        return invert_wide<complex<float>>(cublas, raw, solved, scratch, packed, parts, nr, nc, stream);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return invert_wide<complex<double>>(cublas, raw, solved, scratch, packed, parts, nr, nc, stream);
    }
    return GPUSOLVE_INTERNAL_ERROR;
}
