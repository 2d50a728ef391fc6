/*
 * The residual R = B - A X of a block of columns, the norms that its backward errors need, and what follows from them for each column,
 * in one launch. A is read once for up to 32 columns.
 *
 * Mapping: a lane has the numbers of one column, or of as many side by side as make 16 bytes; the warp's other lanes divide rows and,
 * where A's rows have many entries, those of a row. The sum of a row is always made of four chains, every fourth entry going to the same
 * one, and so its bits do not depend on the number of columns. Either a lane has all four, which is best for short rows and for many
 * columns; or two or four lanes share them (SHARED_ROWS: rows have more than 16 entries on average). There are three walks over the rows:
 * residual_one.cuh for one column, residual_bundles.cuh for more where neighbouring rows have one pattern, residual_chunks.cuh for more elsewhere.
 *
 * A row of more than GSV_LONG_ROW entries is done in pieces, so that no warp has much more to do than others. Each piece leaves its
 * sums in memory and counts itself there; the warp that counts the last piece of a row adds up the sums, in the order of the pieces. It
 * has seen all of them: each warp has a fence between its sums and its count, and this one has a fence between the count and its
 * reads.
 *
 * Norms are maxima of bit patterns: those of numbers >= 0 compare like the numbers, and NaN is above infinity. So one NaN makes
 * the norm NaN, and no norm depends on the order of the atomics. The block that ends last decides (refine_step.h), tells the host, and
 * makes the norms and counts zero for the next launch.
 *
 * Nothing waits for another block, so nothing can deadlock.
 */
#include "../shared/for_numbers.cuh"
#include "decide.cuh"
#include "residual_bundles.cuh"
#include "residual_chunks.cuh"
#include "residual_one.cuh"

namespace gsv {

template <typename T, typename Columns>
__global__ void __launch_bounds__(Columns::THREADS, Columns::BLOCKS) residual_kernel(const gsv_residual job) {
    extern __shared__ __align__(16) char memory[];
    Columns columns(job);
    if (__syncthreads_or(columns.here)) { /* else every column of the tile has ended */
        columns.run(memory);
        columns.publish();
    }
    if (is_last_of(job.v.done, int(gridDim.x * gridDim.y)))
        decide(job.columns, job.first, job.rule, job.v.norms, job.v.columns, job.v.report_on_device);
}

/* C: columns of a tile. */
template <typename T, int C, typename Columns>
cudaError_t launch(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    constexpr size_t shared = Columns::SHARED;
    const int64_t wanted = Columns::blocks(*job);
    const unsigned tiles = unsigned((job->columns + C - 1) / C);
    const int64_t blocks = int64_t(multiprocessors) * Columns::BLOCKS,
                  most = blocks / tiles > 1 ? blocks / tiles : 1;
    if (shared > 48 << 10) {
        const cudaError_t error = cudaFuncSetAttribute(
            residual_kernel<T, Columns>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
        if (error != cudaSuccess)
            return error;
    }
    const dim3 grid(unsigned(wanted < most ? wanted : most), tiles);
    gsv_residual own = *job;
    own.stretch = Columns::stretch(*job, grid.x);
    residual_kernel<T, Columns><<<grid, Columns::THREADS, shared, stream>>>(own);
    return cudaGetLastError();
}

template <typename T, bool SHARED_ROWS>
cudaError_t for_columns(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    if (job->columns == 1)
        return launch<T, 1, one_column<T, SHARED_ROWS>>(job, multiprocessors, stream);
    if constexpr (SHARED_ROWS)
        if (job->a.bundles)
            return job->columns <= 8 ? launch<T, 8, bundle_columns<T, 1>>(job, multiprocessors, stream)
                                     : launch<T, 32, bundle_columns<T, 4>>(job, multiprocessors, stream);
    if (job->columns <= 4)
        return launch<T, 4, chunk_columns<T, 4, SHARED_ROWS>>(job, multiprocessors, stream);
    if (job->columns <= 8)
        return launch<T, 8, chunk_columns<T, 8, SHARED_ROWS>>(job, multiprocessors, stream);
    return launch<T, 32, chunk_columns<T, 32, SHARED_ROWS>>(job, multiprocessors, stream);
}

template <typename T>
cudaError_t residual(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    return job->a.shares_rows ? for_columns<T, true>(job, multiprocessors, stream)
                              : for_columns<T, false>(job, multiprocessors, stream);
}

} // namespace gsv

cudaError_t gsv_refine_residual(gpusolve_dtype dtype, const gsv_residual *job, int multiprocessors,
                                cudaStream_t stream) {
    return gsv::for_numbers(
        dtype, [&](auto number) { return gsv::residual<decltype(number)>(job, multiprocessors, stream); });
}
