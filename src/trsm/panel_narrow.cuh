/*
 * [W; -M] of narrow panels, row by row: row i is the solution w of w L1 = e_i (i < nc) or w L1 = -L2(i, :),
 * by substitution from the last column to the first:
 *
 *      w(k) = (rhs(k) - sum over m > k of w(m) L1(m, k)) / L1(k, k)
 *
 * Every row is solved by itself, so that the rows of W and M are as accurate as substitution makes them. A
 * block of 32 threads for each panel, a thread for each row, L1 and the rows at work in shared memory. The
 * panel is read and written once; nr nc^2 flops.
 */
#ifndef GSV_PANEL_NARROW_CUH
#define GSV_PANEL_NARROW_CUH

#include "../dense_kernels/scalar.cuh"
#include "cuda_panel_inverse.h"

namespace gsv {

__device__ __forceinline__ double max_warp(double value) {
    for (int step = 16; step; step /= 2) {
        const double there = __shfl_xor_sync(~0u, value, step);
        value =
            value > there ? value : there; /* a NaN on either side may get lost: callers ask for it first */
    }
    return value;
}

/* k of the triangle l1 (nc x nc) with inverse w (row i at w + i ldw), as in cuda_panel_inverse.h, on every
 * lane of a warp; infinite if it is not a number. shared: 2 x 32 numbers. */
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
        if (e % p.nc >= e / p.nc)
            l1[e] = from[gsv_narrow_column(p.nr, e / p.nc) + e % p.nc];
    __syncwarp(); /* l1 is complete */
    bool keep = false;
    for (int base = 0; base < p.nr; base += 32) {
        const int i = base + threadIdx.x;
        const int last = i < p.nc ? i : p.nc - 1; /* W is lower triangular */
        if (i < p.nr && !keep)
            for (int k = last; k >= 0; k--) {
                T sum = i >= p.nc ? negate(from[gsv_narrow_column(p.nr, k) + i]) : make<T>(i == k ? 1 : 0);
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
                to[gsv_narrow_column(p.nr, k) + i] = !keep ? w[k]
                                                     : i < p.nc
                                                         ? l1[k * p.nc + i]
                                                         : negate(from[gsv_narrow_column(p.nr, k) + i]);
        __syncwarp(); /* the rows may go */
    }
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

} // namespace gsv
#endif
