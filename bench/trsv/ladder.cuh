/*
 * The ladder: simpler kernels for A x = b, A lower triangular, not transposed, x in place, double precision,
 * each one idea above the one before. They stay to be measured beside the library's; none is called by it.
 *
 *   shared     one block, n <= 128: A in shared memory at once; a diagonal block of 32 by one warp, then the
 *              rows below by a thread each (Hogg's shared-memory variant)
 *   register-a one block, n <= 128: A in registers, columns dealt to warps in turn, a barrier a column (his
 *              variant A)
 *   register-b the same, columns dealt in blocks of 16: a barrier a block (his variant B)
 *   launch     two launches for each 128 columns: `shared`, then the rows below (launch-synchronised)
 *   global     one launch, a block for each 32 rows, drawn from a counter; the solution is awaited through a
 *              counter with release and acquire (globally synchronised, no inversion, no prefetch)
 */
#ifndef GPUSOLVE_BENCH_TRSV_LADDER_CUH
#define GPUSOLVE_BENCH_TRSV_LADDER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

enum { LADDER_MOST = 128, LADDER_LD = 129 };

/* x(0 .. 32) -= what is left of a 32 x 32 triangle in shared memory, by one warp: returns this lane's x. */
__device__ inline double ladder_solve_32_warp(const double *a, int ld, double v, int n) {
    const int lane = threadIdx.x & 31;
    for (int j = 0; j < 32 && j < n; j++) {
        if (lane == j)
            v /= a[j + j * ld];
        const double x = __shfl_sync(~0u, v, j);
        if (lane > j)
            v -= a[lane + j * ld] * x;
    }
    return v;
}

/* A and x of order n <= 128 are in shared memory; 128 threads or more. */
__device__ inline void ladder_solve_shared_block(const double *a, double *x, int n) {
    const int tid = threadIdx.x;
    for (int k = 0; k < n; k += 32) {
        if (tid < 32)
            x[k + tid] = ladder_solve_32_warp(a + k + k * LADDER_LD, LADDER_LD, x[k + tid], n - k);
        __syncthreads();
        const int i = k + 32 + tid;
        if (i < n) {
            double sum = 0;
            for (int j = k; j < k + 32; j++)
                sum += a[i + j * LADDER_LD] * x[j];
            x[i] -= sum;
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(512) ladder_shared_kernel(int n, const double *a, int64_t lda, double *x) {
    extern __shared__ double ladder_numbers[];
    double *tile = ladder_numbers, *v = tile + LADDER_MOST * LADDER_LD;
    for (int k = threadIdx.x; k < n * n; k += blockDim.x)
        if (k % n >= k / n)
            tile[k % n + k / n * LADDER_LD] = a[k % n + k / n * lda];
    for (int i = threadIdx.x; i < LADDER_MOST; i += blockDim.x)
        v[i] = i < n ? x[i] : 0;
    __syncthreads();
    ladder_solve_shared_block(tile, v, n);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = v[i];
}

/* 32 warps. Warp w has columns w RUN + 32 RUN t .. + RUN - 1; RUN = 1: variant A, 16: variant B. */
template <int N, int RUN> struct ladder_register { static const int WARPS = N / RUN < 32 ? N / RUN : 32; };

template <int N, int RUN>
__global__ void __launch_bounds__(32 * ladder_register<N, RUN>::WARPS)
    ladder_register_kernel(int n, const double *a, int64_t lda, double *x) {
    constexpr int ROWS = N / 32, WARPS = ladder_register<N, RUN>::WARPS, COLUMNS = N / WARPS;
    __shared__ double v[N];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    double own[COLUMNS][ROWS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int j = c / RUN * RUN * WARPS + warp * RUN + c % RUN, i = 32 * r + lane;
            own[c][r] = i >= j && i < n ? a[i + j * lda] : i == j ? 1 : 0;
        }
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        v[i] = i < n ? x[i] : 0;
    __syncthreads();
#pragma unroll
    for (int t = 0; t < COLUMNS / RUN; t++)
        for (int w = 0; w < WARPS; w++) {
            if (warp == w)
#pragma unroll
                for (int c = 0; c < RUN; c++) {
                    const int j = t * RUN * WARPS + w * RUN + c;
                    double diagonal = 0;
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
                        diagonal = 32 * r <= j && j < 32 * r + 32 ? own[t * RUN + c][r] : diagonal;
                    const double xj = v[j] / __shfl_sync(~0u, diagonal, j & 31);
                    __syncwarp();
#pragma unroll
                    for (int r = 0; r < ROWS; r++) {
                        const int i = 32 * r + lane;
                        if (i == j)
                            v[i] = xj;
                        else if (i > j)
                            v[i] -= own[t * RUN + c][r] * xj;
                    }
                    __syncwarp();
                }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = v[i];
}

/* x(rows below) -= A(rows below, 128 columns) x(128): a thread a row. */
__global__ void __launch_bounds__(128)
    ladder_below_kernel(int rows, int columns, const double *a, int64_t lda, const double *x, double *y) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    __shared__ double v[LADDER_MOST];
    v[threadIdx.x] = int(threadIdx.x) < columns ? x[threadIdx.x] : 0;
    __syncthreads();
    if (i >= rows)
        return;
    double sum = 0;
#pragma unroll 16
    for (int j = 0; j < columns; j++)
        sum += a[i + j * lda] * v[j];
    y[i] -= sum;
}

__global__ void ladder_reset_kernel(int *counters) {
    counters[threadIdx.x] = 0; /* rows drawn, rows done */
}

/* 32 x 8 threads. */
__global__ void __launch_bounds__(256)
    ladder_global_kernel(int n, const double *a, int64_t lda, double *x, int *counters) {
    __shared__ double tile[32 * 33], partial[256];
    __shared__ int drawn;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0)
        drawn = atomicAdd(&counters[0], 1);
    __syncthreads();
    const int k = drawn, i = 32 * k + lane;
    for (int j = warp; j < 32; j += 8)
        tile[lane + 33 * j] = i < n && lane >= j ? a[i + (32 * k + j) * lda] : 0;
    double sum = 0;
    for (int c = 0; c < k; c++) {
        if (threadIdx.x == 0) {
            int done;
            do
                asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                             : "=r"(done)
                             : "l"(counters + 1)
                             : "memory");
            while (done <= c);
        }
        __syncthreads();
        if (i < n)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum += a[i + (32 * c + warp + 8 * j) * lda] * *(volatile double *)&x[32 * c + warp + 8 * j];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (warp > 0)
        return;
    double v = i < n ? x[i] : 0;
    for (int w = 0; w < 8; w++)
        v -= partial[32 * w + lane];
    v = ladder_solve_32_warp(tile, 33, v, n - 32 * k);
    if (i < n)
        *(volatile double *)&x[i] = v;
    __syncwarp();
    if (lane == 0)
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(counters + 1), "r"(k + 1) : "memory");
}

#endif
