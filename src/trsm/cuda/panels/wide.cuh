/*
 * [W; -M] of all wide panels of a batch (trsm/cuda/panels/inverse.h), W = inv(L1) and M = L2 W.
 *
 *      diagonal    tiles of W on the diagonal: 64 x 64, a block of threads each
 *      double      from inverses W11, W22 of h columns to those of 2 h, two launches: T = L21 W11, and then
 *                  W21 = -W22 T, a block a tile of 64 x 64; h = 64, 128, ...
 *      condition   k of the triangle, three launches
 *      cut         where a triangle that is not trusted must be cut (trsm/cuda/panels/cut.cuh)
 *      result      M, tile by tile, and everything into its place, unless the triangle must be cut
 *
 * A launch serves all panels of the batch, large and small ones together: a block finds its panel by the
 * prefix sums of their numbers of tiles. W stands in a square of whole tiles, with the identity beyond the
 * triangle's order; T, in the square's upper half, which nothing else uses, transposed.
 *
 * Every product is with an inverse, so each is as good as the rule that trusts the inverse (Higham, 14.2): M
 * = L2 W leaves u = f2 - L2 x1 a residual of eps |L2| |W| |f1|.
 *
 * Cost: nc^3 / 3 + (nr - nc) nc^2 flops and what tiles on the diagonal waste; W read and written once a
 * level.
 */
#ifndef GSV_TRSM_CUDA_PANELS_WIDE_CUH
#define GSV_TRSM_CUDA_PANELS_WIDE_CUH

#include "cut.cuh"
#include "narrow.cuh"

namespace gsv {

/* W of the diagonal tiles, as in trsm/cuda/leaf/invert.cuh, and k = 0. */
template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS)
    invert_diagonal_kernel(const __grid_constant__ gsv_wide_batch batch) {
    enum { LD = leaf_tile<T>::LD };
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ T reciprocals[64];
    T *l = reinterpret_cast<T *>(shared), *w = l + leaf_tile<T>::SIZE, *product = w + leaf_tile<T>::SIZE;
    const own_panel own(batch.panels, batch.starts, batch.count);
    const panel_view<T> panel(own.p, batch.raw, batch.inverse);
    const int64_t first = int64_t(own.block) * 64;
    if (own.block == 0 && threadIdx.x == 0)
        batch.k[own.index] = 0; /* for condition_kernel */
    for (int e = threadIdx.x; e < 64 * 64; e += LEAF_THREADS) {
        const int i = e % 64, j = e / 64;
        const bool inside = i >= j && first + i < panel.nc;
        copy_number_async(l + j * LD + i, inside ? panel.l(first + i, first + j) : panel.raw, inside);
        if (i / 16 != j / 16)
            w[j * LD + i] = make<T>(0);
    }
    wait_for_own_copies();
    __syncthreads(); /* the triangle is there */
    if (threadIdx.x < 64) {
        T &diagonal = l[threadIdx.x * LD + threadIdx.x];
        if (first + threadIdx.x >= panel.nc)
            diagonal = make<T>(1);
        reciprocals[threadIdx.x] = reciprocal(diagonal);
    }
    __syncthreads(); /* the diagonal, too */
    if (threadIdx.x / 32 < 4)
        invert_16_warp(l, reciprocals, w, int(threadIdx.x / 32) * 16);
    double_inverse_block<T, 16>(l, w, product);
    double_inverse_block<T, 32>(l, w, product);
    __syncthreads(); /* w is there */
    for (int e = threadIdx.x; e < 64 * 64; e += LEAF_THREADS)
        *panel.w(first + e % 64, first + e / 64) = w[e / 64 * LD + e % 64];
}

/* One tile of T = L21 W11 (LAST: of W21 = -W22 T), for blocks of 64 << level columns. T(i, j) stands where
 * W(j, i) would, counted from the blocks' first rows. */
template <typename T, bool LAST>
__global__ void __launch_bounds__(PRODUCT_THREADS, product_shape<T>::BLOCKS)
    double_kernel(const __grid_constant__ gsv_wide_batch batch, int level) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *shared = reinterpret_cast<T *>(memory);
    const own_panel own(batch.panels, batch.starts + int64_t(GSV_INVERT_DOUBLE + level) * (batch.count + 1),
                        batch.count);
    const panel_view<T> panel(own.p, batch.raw, batch.inverse);
    const int half = 1 << level, pair = own.block / (half * half), tile = own.block % (half * half);
    const int64_t h = int64_t(half) * 64, top = 2 * h * pair, middle = top + h;
    const int64_t i0 = int64_t(tile / half) * 64, j0 = int64_t(tile % half) * 64; /* in the block */
    product_sum<T> sum;
    sum.clear();
    const int64_t row = middle + i0 + product_row();
    if constexpr (LAST)
        product_block<T, true>(sum, 0, i0 + 64, panel.w_row(row, middle + product_term()), true,
                               panel.w(top + j0, middle), panel.order, shared);
    else
        product_block<T, false>(sum, j0, h, panel.l_row(row, top + j0 + product_term()), row < panel.nc,
                                panel.w(top + j0, top + j0), panel.order, shared);
    T result[4][4][2];
    sum.result(result);
    const int64_t i1 = i0 + product_lane::row(), j1 = j0 + product_lane::column();
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int t = 0; t < 4; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                if constexpr (LAST)
                    *panel.w(middle + i1 + 8 * u, top + j1 + 8 * t + e) = negate(result[u][t][e]);
                else
                    *panel.w(top + j1 + 8 * t + e, middle + i1 + 8 * u) = result[u][t][e];
}

/* ------------------------------------------------------------------------------------------ condition --- */

enum { CONDITION_THREADS = 256 };

__device__ __forceinline__ void raise(double *to, double value) {
    /* Bit patterns of numbers >= 0 compare like the numbers, NaN above infinity. */
    atomicMax(reinterpret_cast<unsigned long long *>(to),
              __double_as_longlong(value) & 0x7fffffffffffffffull);
}

/*
 * k of each panel's triangle. Three launches: step 0 gives e, step 1 gives t = |W E| 1 and t2 = |W E|' 1, step 2
 * raises k, zero before. The first blocks of a panel have 32 rows each, warp w the columns w, w + 8,
 * ...; the others 8 columns, a warp each.
 */
template <typename T>
__global__ void __launch_bounds__(CONDITION_THREADS)
    condition_kernel(const __grid_constant__ gsv_wide_batch batch, int step) {
    __shared__ double sums[8][32];
    const own_panel own(batch.panels, batch.starts + int64_t(GSV_INVERT_CONDITION) * (batch.count + 1),
                        batch.count);
    const panel_view<T> panel(own.p, batch.raw, batch.inverse);
    const int32_t nc = own.p.nc, row_blocks = (nc + 31) / 32, lane = threadIdx.x % 32,
                  warp = threadIdx.x / 32;
    double *e = batch.sums + own.p.sums, *t = e + nc, *t2 = t + nc, *k = batch.k + own.index;
    auto entry = [&](int32_t i, int32_t j) {
        return double(magnitude1(step == 1 ? *panel.w(i, j) : *panel.l(i, j)));
    };
    double sum = 0;
    if (own.block >= row_blocks) {
        const int32_t j = (own.block - row_blocks) * 8 + warp;
        if (step == 0 || j >= nc)
            return;
        for (int32_t i = j + lane; i < nc; i += 32)
            sum += entry(i, j) * (step == 1 ? 1 : t2[i] / e[i]);
        for (int other = 16; other; other /= 2)
            sum += __shfl_xor_sync(~0u, sum, other);
        if (lane == 0) {
            if (step == 1)
                t2[j] = sum * e[j];
            else
                raise(k, sum);
        }
        return;
    }
    const int32_t i = own.block * 32 + lane;
    if (i < nc)
        for (int32_t j = warp; j <= i; j += 8)
            sum += entry(i, j) * (step == 0 ? 1 : step == 1 ? e[j] : t[j]);
    sums[warp][lane] = sum;
    __syncthreads(); /* sums is complete */
    if (warp > 0 || i >= nc)
        return;
    for (int w = 1; w < 8; w++)
        sum += sums[w][lane];
    if (step == 0)
        e[i] = sum;
    else if (step == 1)
        t[i] = sum;
    else
        raise(k, sum / e[i]);
}

/* --------------------------------------------------------------------------------------------- result --- */

/* A tile of 64 x 64 of a panel's result: rows of W are copied, rows of -M computed; zeros above the diagonal
 * and below the last row. */
template <typename T>
__global__ void __launch_bounds__(PRODUCT_THREADS, product_shape<T>::BLOCKS)
    result_kernel(const __grid_constant__ gsv_wide_batch batch) {
    extern __shared__ __align__(16) unsigned char memory[];
    const own_panel own(batch.panels, batch.starts + int64_t(GSV_INVERT_RESULT) * (batch.count + 1),
                        batch.count);
    const panel_view<T> panel(own.p, batch.raw, batch.inverse);
    const int32_t nr = own.p.nr, nc = own.p.nc, tiles = int32_t(panel.order / 64);
    const int32_t i0 = own.block / tiles * 64, j0 = own.block % tiles * 64;
    if (j0 >= i0 + 64)
        return;
    const double k = batch.k[own.index];
    const bool trusted = is_trusted(k, nc, 1);
    if (own.block == 0 && threadIdx.x == 0)
        *own.p.k = float(trusted ? k : -k);
    if (!trusted)
        return;
    T *packed = static_cast<T *>(batch.packed) + own.p.to;
    const int32_t rows = (nr + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
    auto store = [&](int32_t i, int32_t j, T value) {
        if (i < rows && j < gsv_block_row_columns(nc, i / GSV_TILE))
            packed[gsv_block_row_start(nc, i / GSV_TILE) + GSV_TILE * int64_t(j) + i % GSV_TILE] =
                i >= j && i < nr ? value : make<T>(0);
    };
    if (i0 + 64 <= nc) {
        for (int e = threadIdx.x; e < 64 * 64; e += PRODUCT_THREADS) {
            const int32_t i = i0 + e % 64, j = j0 + e / 64;
            store(i, j, i >= j && i < nr && j < nc ? *panel.w(i, j) : make<T>(0));
        }
        return;
    }
    product_sum<T> sum;
    sum.clear();
    const int32_t row = i0 + product_row();
    product_block<T, false>(sum, j0, nc, panel.l_row(row, j0 + product_term()), row >= nc && row < nr,
                            panel.w(j0, j0), panel.order, reinterpret_cast<T *>(memory));
    T result[4][4][2];
    sum.result(result);
    const int32_t i1 = i0 + product_lane::row(), j1 = j0 + product_lane::column();
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int t = 0; t < 4; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int32_t i = i1 + 8 * u, j = j1 + 8 * t + e;
                store(i, j, i < nc && j < nc && i >= j ? *panel.w(i, j) : negate(result[u][t][e]));
            }
}

/* ------------------------------------------------------------------------------------------ launchers --- */

template <typename T> cudaError_t reserve_wide() {
    cudaError_t error = cudaFuncSetAttribute(
        invert_diagonal_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, invert_shared<T>::BYTES);
    const int bytes = product_shape<T>::BYTES;
    if (error == cudaSuccess)
        error =
            cudaFuncSetAttribute(double_kernel<T, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess)
        error =
            cudaFuncSetAttribute(double_kernel<T, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(result_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return error;
}

template <typename T> cudaError_t invert_triangles(const gsv_wide_batch *batch, cudaStream_t stream) {
    if (batch->count == 0)
        return cudaSuccess;
    const int bytes = product_shape<T>::BYTES;
    invert_diagonal_kernel<T>
        <<<unsigned(batch->blocks[GSV_INVERT_DIAGONAL]), LEAF_THREADS, invert_shared<T>::BYTES, stream>>>(
            *batch);
    for (int level = 0; level < batch->levels; level++) {
        const unsigned blocks = unsigned(batch->blocks[GSV_INVERT_DOUBLE + level]);
        double_kernel<T, false><<<blocks, PRODUCT_THREADS, bytes, stream>>>(*batch, level);
        double_kernel<T, true><<<blocks, PRODUCT_THREADS, bytes, stream>>>(*batch, level);
    }
    for (int step = 0; step < 3; step++)
        condition_kernel<T>
            <<<unsigned(batch->blocks[GSV_INVERT_CONDITION]), CONDITION_THREADS, 0, stream>>>(*batch, step);
    cut_kernel<T><<<unsigned(batch->count), CUT_THREADS, 0, stream>>>(*batch);
    return cudaGetLastError();
}

template <typename T> cudaError_t write_wide(const gsv_wide_batch *batch, cudaStream_t stream) {
    if (batch->count == 0)
        return cudaSuccess;
    result_kernel<T>
        <<<unsigned(batch->blocks[GSV_INVERT_RESULT]), PRODUCT_THREADS, product_shape<T>::BYTES, stream>>>(
            *batch);
    return cudaGetLastError();
}

/* clang-format off */
#define GSV_DEFINE_INVERT(name, type) \
    extern "C" const gsv_invert_functions name = {gsv::reserve_wide<type>, gsv::invert_narrow<type>, \
                                                    gsv::invert_triangles<type>, gsv::write_wide<type>}
/* clang-format on */

} // namespace gsv
#endif
