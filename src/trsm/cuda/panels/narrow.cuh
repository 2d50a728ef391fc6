/*
 * [W; -M] of narrow panels, row by row: row i is the solution w of w L1 = e_i (i < nc) or w L1 = -L2(i, :),
 * by substitution from the last column to the first:
 *
 *      w(k) = (rhs(k) - sum over m > k of w(m) L1(m, k)) / L1(k, k)
 *
 * Every row is solved by itself, so that the rows of W and M are as accurate as substitution makes them. A
 * block of one or two warps for each panel, a thread for each row; L1 and the rows at work in shared memory. Eight
 * columns at a time have their sums in registers, so that eight products are on their way together. The
 * panel is read and written once; nr nc^2 flops.
 */
#ifndef GSV_TRSM_CUDA_PANELS_NARROW_CUH
#define GSV_TRSM_CUDA_PANELS_NARROW_CUH

#include "../../../dense_kernels/scalar.cuh"
#include "inverse.h"

namespace gsv {

__device__ __forceinline__ double max_warp(double value) {
    for (int step = 16; step; step /= 2) {
        const double there = __shfl_xor_sync(~0u, value, step);
        value =
            value > there ? value : there; /* a NaN on either side may get lost: callers ask for it first */
    }
    return value;
}

enum {
    CUT_BALANCE = 7,                    /* lower limits that are tried for slices, at most, */
    CUT_FEW = 8,                        /* if there are at most this number */
    NARROW_GROUP = 8,                   /* columns whose sums are in registers */
    NARROW_L1 = GSV_NARROW_COLUMNS + 2, /* from row to row of L1, and of W and M: against bank conflicts */
    NARROW_W = GSV_NARROW_COLUMNS + 1
};

/* k of the triangle l1 (nc x nc) with inverse w, as in trsm/cuda/panels/inverse.h, on every
 * lane of a warp; infinite if it is not a number. shared: 2 x 32 numbers. */
template <typename T> __device__ double condition_warp(const T *l1, const T *w, int nc, double *shared) {
    const int lane = threadIdx.x % 32;
    double *e = shared, *t = shared + 32;
    double sum = 0;
    __syncwarp(); /* the call before has read e and t */
    for (int j = 0; lane < nc && j <= lane; j++)
        sum += magnitude1(l1[lane * NARROW_L1 + j]);
    e[lane] = sum;
    __syncwarp(); /* e is complete */
    sum = 0;
    for (int j = 0; lane < nc && j <= lane; j++)
        sum += magnitude1(w[lane * NARROW_W + j]) * e[j];
    t[lane] = sum;
    __syncwarp(); /* t = |W E| 1 is complete */
    double by_rows = 0;
    for (int j = 0; lane < nc && j <= lane; j++)
        by_rows += magnitude1(l1[lane * NARROW_L1 + j]) * t[j];
    by_rows = lane < nc ? by_rows / e[lane] : 0;
    __syncwarp(); /* t may go */
    sum = 0;
    for (int i = lane; i < nc; i++)
        sum += magnitude1(w[i * NARROW_W + lane]);
    t[lane] = lane < nc ? sum * e[lane] : 0;
    __syncwarp(); /* t = |W E|' 1 is complete */
    double by_columns = 0;
    for (int i = lane; i < nc; i++)
        by_columns += magnitude1(l1[i * NARROW_L1 + lane]) / e[i] * t[i];
    const bool finite = isfinite(by_rows) && isfinite(by_columns);
    return __all_sync(~0u, finite) ? max_warp(by_rows > by_columns ? by_rows : by_columns) : double(INFINITY);
}

/* From one of them to the next. */
#define CUT_STEP 1.4142

/* The slices of a triangle, l1 and w as above, that are as wide as they may be with k <= limit: bit j is set if one begins
 * with column j > 0. A warp; all lanes get the result. */
template <typename T>
__device__ uint32_t slice_warp(const T *l1, const T *w, int nc, double limit, double *shared) {
    uint32_t cuts = 0;
    for (int first = 0, end; first < nc; first = end) {
        const T *own_l1 = l1 + first * (NARROW_L1 + 1), *own_w = w + first * (NARROW_W + 1);
        end = first + 1;
        while (end < nc && condition_warp(own_l1, own_w, end + 1 - first, shared) <= limit)
            end++;
        if (end < nc)
            cuts |= 1u << end;
    }
    return cuts;
}

/* The columns before which a triangle must be cut: as few as possible, and then so that the worst slice is as good as this
 * many slices allow, to within a factor of sqrt(2). */
template <typename T>
__device__ void cut_warp(const T *l1, const T *w, int nc, double limit, double *shared, uint8_t *cut) {
    uint32_t cuts = slice_warp(l1, w, nc, limit, shared);
    for (int k = 0; k < CUT_BALANCE && __popc(cuts) < CUT_FEW; k++) {
        const uint32_t others = slice_warp(l1, w, nc, limit /= CUT_STEP, shared);
        if (__popc(others) > __popc(cuts))
            break;
        cuts = others;
    }
    const int lane = threadIdx.x % 32;
    if (lane < nc && (cuts >> lane & 1))
        cut[lane] = 1;
}

/* One row: w holds the right-hand side, and then the solution. */
template <typename T> __device__ __forceinline__ void solve_row(T *w, const T *l1, int nc) {
    for (int k0 = (nc - 1) / NARROW_GROUP * NARROW_GROUP; k0 >= 0; k0 -= NARROW_GROUP) {
        const int width = min(NARROW_GROUP, nc - k0);
        T sum[NARROW_GROUP];
#pragma unroll
        for (int j = 0; j < NARROW_GROUP; j++)
            sum[j] = j < width ? w[k0 + j] : make<T>(0);
        for (int m = nc - 1; m >= k0 + NARROW_GROUP; m--) {
            const T factor = negate(w[m]);
#pragma unroll
            for (int j = 0; j < NARROW_GROUP; j++)
                sum[j] = multiply_add(sum[j], factor, l1[m * NARROW_L1 + k0 + j]);
        }
#pragma unroll
        for (int j = NARROW_GROUP - 1; j >= 0; j--)
            if (j < width) {
                const T *row = l1 + (k0 + j) * NARROW_L1 + k0;
                sum[j] = divide(sum[j], row[j]);
                w[k0 + j] = sum[j];
                const T factor = negate(sum[j]);
#pragma unroll
                for (int i = 0; i < j; i++)
                    sum[i] = multiply_add(sum[i], factor, row[i]);
            }
    }
}

template <typename T> struct narrow_shape {
    enum { WARPS = sizeof(T) <= 8 ? 2 : 1, THREADS = 32 * WARPS };
};

/* Shared: L1 by rows, and for each warp 32 rows. Warp v has rows 32 v, ..., 32 v + 31 and every WARPS-th 32 behind. */
template <typename T>
__global__ void __launch_bounds__(narrow_shape<T>::THREADS)
    invert_narrow_kernel(const gsv_narrow_panel *batch, const T *__restrict__ raw, T *__restrict__ panels,
                         int eager) {
    enum { THREADS = narrow_shape<T>::THREADS };
    __shared__ T l1[GSV_NARROW_COLUMNS * NARROW_L1];
    __shared__ T work[THREADS * NARROW_W];
    __shared__ double sums[64];
    __shared__ int is_trusted;
    const gsv_narrow_panel p = batch[blockIdx.x];
    const T *from = raw + p.from;
    T *to = panels + p.to;
    T *w = work + threadIdx.x * NARROW_W;
    for (int e = threadIdx.x; e < p.nc * p.nc; e += THREADS)
        if (e % p.nc >= e / p.nc)
            l1[e % p.nc * NARROW_L1 + e / p.nc] = from[gsv_narrow_column(p.nr, e / p.nc) + e % p.nc];
    __syncthreads(); /* l1 is complete */
    for (int i = threadIdx.x; i - int(threadIdx.x) < p.nr; i += THREADS) {
        if (i < p.nr) {
#pragma unroll 8
            for (int k = 0; k < p.nc; k++)
                w[k] = i >= p.nc ? negate(from[gsv_narrow_column(p.nr, k) + i]) : make<T>(i == k ? 1 : 0);
            solve_row(w, l1, p.nc);
        }
        if (i < THREADS) { /* the first rows */
            __syncwarp();  /* which have W */
            if (threadIdx.x < 32) {
                const double k = condition_warp(l1, work, p.nc, sums), slice = GSV_INVERSION_LIMIT / p.finer;
                const bool trusted = k <= GSV_INVERSION_LIMIT;
                if (!trusted || (eager && !(k <= slice)))
                    cut_warp(l1, work, p.nc, slice, sums, p.cut);
                if (threadIdx.x == 0) {
                    is_trusted = trusted;
                    *p.k = float(trusted ? k : -k);
                }
            }
            __syncthreads(); /* is_trusted is known */
            if (!is_trusted)
                return;
        }
        const int last = i < p.nc ? i : p.nc - 1; /* W is lower triangular */
        if (i < p.nr)
            for (int k = 0; k <= last; k++)
                to[gsv_narrow_column(p.nr, k) + i] = w[k];
        __syncwarp(); /* the rows may go */
    }
}

template <typename T>
cudaError_t invert_narrow(const gsv_narrow_panel *batch, int64_t count, const void *raw, void *panels,
                          int eager, cudaStream_t stream) {
    if (count == 0)
        return cudaSuccess;
    invert_narrow_kernel<T><<<unsigned(count), narrow_shape<T>::THREADS, 0, stream>>>(
        batch, static_cast<const T *>(raw), static_cast<T *>(panels), eager);
    return cudaGetLastError();
}

} // namespace gsv
#endif
