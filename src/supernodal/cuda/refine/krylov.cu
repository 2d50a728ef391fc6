/*
 * Inner products and sums of vectors for the Krylov methods, each followed by a stage of every column's scalars (api/krylov_step.h) in the same launch.
 *
 * Mapping: a block of 256 threads has 8 columns (grid's y) and a range of rows (x), 32 at a time: thread t has column t % 8 and rows
 * t / 8, t / 8 + 32, .. of it. The z of the grid counts inner products. So the terms that a thread adds, and the order in which sums are
 * joined, depend on n alone: a column has the same bits among any number of others, on any device, in every run.
 *
 * A block leaves its columns' sums in memory and counts itself; the one that counts the last block of its columns and its product adds the sums up,
 * in the order of the blocks, and counts that; the one that counts the last of these does the stage for all columns. Each has a fence between what
 * it writes and its count, and one between its count and what it reads, so it sees what it adds up.
 *
 * Nothing waits for another block, so nothing can deadlock. Traffic: each vector once, but for `with`, which inner products read once each.
 */
#include "../shared/for_numbers.cuh"
#include "decide.cuh"
#include "krylov.h"

namespace gsv {

enum {
    KRYLOV_THREADS = 256,
    KRYLOV_SLOTS = KRYLOV_THREADS / GSV_KRYLOV_TILE,
    KRYLOV_WARPS = KRYLOV_THREADS / 32
};

__device__ __forceinline__ gsv_pair pair_of(float a) {
    return gsv_pair{double(a), 0};
}
__device__ __forceinline__ gsv_pair pair_of(double a) {
    return gsv_pair{a, 0};
}
template <typename R> __device__ __forceinline__ gsv_pair pair_of(complex<R> a) {
    return gsv_pair{double(a.re), double(a.im)};
}

template <typename T> __device__ __forceinline__ T number_of(gsv_pair a) {
    typedef typename traits<T>::real real;
    if constexpr (traits<T>::is_complex)
        return T{real(a.re), real(a.im)};
    else
        return T(a.re);
}

/* sum + f a, sum + conj(a) b */
template <typename T> __device__ __forceinline__ gsv_pair add_product(gsv_pair sum, gsv_pair f, T a) {
    const gsv_pair v = pair_of(a);
    sum.re = fma(f.re, v.re, sum.re);
    if constexpr (traits<T>::is_complex) {
        sum.re = fma(-f.im, v.im, sum.re);
        sum.im = fma(f.re, v.im, sum.im);
        sum.im = fma(f.im, v.re, sum.im);
    }
    return sum;
}
template <typename T> __device__ __forceinline__ gsv_pair add_inner(gsv_pair sum, T a, T b) {
    return add_product(sum, gsv_pair_conjugate(pair_of(a)), b);
}

/* The sums of a block's columns, of all its threads', for threads 0 .. 7. All threads come here. */
__device__ __forceinline__ gsv_pair join_block(gsv_pair sum) {
    __shared__ gsv_pair of_warp[KRYLOV_WARPS][GSV_KRYLOV_TILE];
#pragma unroll
    for (int mask = GSV_KRYLOV_TILE; mask < 32; mask *= 2) {
        sum.re += __shfl_xor_sync(~0u, sum.re, mask);
        sum.im += __shfl_xor_sync(~0u, sum.im, mask);
    }
    __syncthreads(); /* an earlier sum has been read */
    if (threadIdx.x % 32 < GSV_KRYLOV_TILE)
        of_warp[threadIdx.x / 32][threadIdx.x % 32] = sum;
    __syncthreads();
    gsv_pair total = {0, 0};
    if (threadIdx.x < GSV_KRYLOV_TILE)
        for (int w = 0; w < KRYLOV_WARPS; w++)
            total = gsv_pair_add(total, of_warp[w][threadIdx.x]);
    return total;
}

/* One stage of every column, by one block. */
__device__ __noinline__ void do_stage(const gsv_krylov k, gsv_refine_report *report, int stage, int step) {
    int on = 0;
#pragma unroll 1
    for (int base = 0; base < k.columns; base += blockDim.x) {
        const int j = base + threadIdx.x;
        on += __syncthreads_count(j < k.columns && gsv_krylov_do(&k, gsv_krylov_stage(stage), step, j));
    }
    if (threadIdx.x == 0)
        report->on = on;
}

/* A block's sums `sum` to those of all blocks, and the stage after the last one. */
__device__ __forceinline__ void finish_pass(const gsv_krylov_device &d, const gsv_krylov_pass &pass,
                                            gsv_pair sum) {
    const int tiles = gridDim.y, blocks = gridDim.x, slot = threadIdx.x / GSV_KRYLOV_TILE,
              lane = threadIdx.x % GSV_KRYLOV_TILE, column = blockIdx.y * GSV_KRYLOV_TILE + lane;
    gsv_pair *partial = d.partial + (int64_t(blockIdx.z) * tiles + blockIdx.y) * blocks * GSV_KRYLOV_TILE;
    sum = join_block(sum);
    if (threadIdx.x < GSV_KRYLOV_TILE)
        partial[int64_t(blockIdx.x) * GSV_KRYLOV_TILE + lane] = sum;
    if (!is_last_of(&d.arrived[blockIdx.z * tiles + blockIdx.y], blocks))
        return;
    gsv_pair total = {0, 0};
    for (int b = slot; b < blocks; b += KRYLOV_SLOTS) {
        const double2 part = __ldcg(reinterpret_cast<const double2 *>(&partial[b * GSV_KRYLOV_TILE + lane]));
        total = gsv_pair_add(total, gsv_pair{part.x, part.y});
    }
    total = join_block(total);
    if (threadIdx.x < GSV_KRYLOV_TILE && column < d.k.columns)
        d.k.found[int64_t(blockIdx.z) * d.k.columns + column] = total;
    if (is_last_of(d.done, tiles * gridDim.z))
        do_stage(d.k, d.report, pass.stage, pass.step);
}

/* Inner products of columns that are on; at the begin of a cycle, of all active ones. */
template <typename T>
__global__ void __launch_bounds__(KRYLOV_THREADS, 4)
    dots_kernel(const gsv_krylov_device d, const gsv_krylov_pass pass, int rows) {
    const int column = blockIdx.y * GSV_KRYLOV_TILE + threadIdx.x % GSV_KRYLOV_TILE;
    const int64_t begin = int64_t(blockIdx.x) * rows, end = d.n - begin < rows ? d.n : begin + rows;
    const bool live = column < d.k.columns &&
                      (pass.stage == GSV_KRYLOV_BEGIN ? d.k.outer[column].active : d.k.column[column].on);
    const T *a = static_cast<const T *>(pass.vectors) + blockIdx.z * pass.vector + column;
    const T *w = static_cast<const T *>(pass.with) + column;
    gsv_pair sum = {0, 0};
    if (live)
#pragma unroll 4
        for (int64_t i = begin + threadIdx.x / GSV_KRYLOV_TILE; i < end; i += KRYLOV_SLOTS)
            sum = add_inner(sum, a[i * d.stride], w[i * d.stride]);
    finish_pass(d, pass, sum);
}

/* out = scale with + sum of factor[k] vector k, and its norm. Each number is read and written by one thread, so out may be any of the vectors. */
template <typename T>
__global__ void __launch_bounds__(KRYLOV_THREADS, 4)
    sum_kernel(const gsv_krylov_device d, const gsv_krylov_pass pass, int rows) {
    const int column = blockIdx.y * GSV_KRYLOV_TILE + threadIdx.x % GSV_KRYLOV_TILE;
    const int64_t begin = int64_t(blockIdx.x) * rows, end = d.n - begin < rows ? d.n : begin + rows;
    const bool there = column < d.k.columns;
    const bool live = there && (pass.finished ? d.k.outer[column].active : d.k.column[column].on);
    int count = pass.count;
    if (live && pass.finished && d.k.column[column].steps < count)
        count = d.k.column[column].steps;
    const gsv_pair *factor = d.k.factor + column;
    gsv_pair norm = {0, 0};
    if (live)
#pragma unroll 1
        for (int64_t i = begin + threadIdx.x / GSV_KRYLOV_TILE; i < end; i += KRYLOV_SLOTS) {
            const int64_t at = i * d.stride + column;
            gsv_pair sum = {0, 0};
            if (pass.with)
                sum = gsv_pair_scaled(pair_of(static_cast<const T *>(pass.with)[at]), pass.scale);
            const T *v = static_cast<const T *>(pass.vectors) + at;
#pragma unroll 4
            for (int k = 0; k < count; k++)
                sum = add_product(sum, factor[int64_t(k) * d.k.columns], v[k * pass.vector]);
            const T out = number_of<T>(sum);
            static_cast<T *>(pass.out)[at] = out;
            norm.re = add_inner(norm, out, out).re;
        }
    if (pass.norm)
        finish_pass(d, pass, norm);
}

__global__ void __launch_bounds__(KRYLOV_THREADS)
    stage_kernel(const gsv_krylov_device d, int stage, int step) {
    do_stage(d.k, d.report, stage, step);
}

template <typename T>
cudaError_t launch_pass(const gsv_krylov_device *d, const gsv_krylov_pass *pass, cudaStream_t stream) {
    const int rows = int(gsv_krylov_rows(d->n));
    const dim3 grid(unsigned(gsv_krylov_blocks(d->n)), unsigned(gsv_krylov_tiles(d->k.columns)),
                    pass->out ? 1u : unsigned(pass->count));
    if (pass->out)
        sum_kernel<T><<<grid, KRYLOV_THREADS, 0, stream>>>(*d, *pass, rows);
    else
        dots_kernel<T><<<grid, KRYLOV_THREADS, 0, stream>>>(*d, *pass, rows);
    return cudaGetLastError();
}

} // namespace gsv

cudaError_t gsv_krylov_launch_pass(gpusolve_dtype dtype, const gsv_krylov_device *device,
                                   const gsv_krylov_pass *pass, cudaStream_t stream) {
    return gsv::for_numbers(
        dtype, [&](auto number) { return gsv::launch_pass<decltype(number)>(device, pass, stream); });
}

cudaError_t gsv_krylov_launch_stage(const gsv_krylov_device *device, int stage, int step,
                                    cudaStream_t stream) {
    gsv::stage_kernel<<<1, gsv::KRYLOV_THREADS, 0, stream>>>(*device, stage, step);
    return cudaGetLastError();
}
