/*
 * Where the wide triangles of a batch that are not trusted must be cut (trsm/cuda/panels/inverse.h): from the first column
 * on, slices as wide as the rule allows.
 *
 * k of the slice [a, b), with the rows i and columns j in it, sums over that range, and E the row sums of |L1| in it:
 *
 *      rows       r(i) = sum over j <= i of |l(i, j)| t(j) / e(i),   e(i) = sum of |l(i, j)|,  t(i) = sum of |w(i, j)| e(j)
 *      columns    c(j) = sum over i >= j of |l(i, j)| s(i),          s(i) = sum over m >= i of |w(m, i)|
 *
 * The largest of all r and c is k. r(i) depends on a alone, so while a slice grows its rows are computed once; c
 * depends on b, too, and is computed for each b that is tried. A slice grows by doubling, and then its end is found by
 * bisection, to within a sixteenth of its width. That gives the least number of slices, but the last of them is
 * what the others leave. So the same is tried with lower limits, CUT_STEP from one to the next, as long as
 * that takes no more slices: the worst of them is better then.
 *
 * Mapping: a block of threads for each panel of the batch, which ends at once where no cut is wanted. Rows: a
 * lane each, thirty-two at a time, whose columns the warps share. Columns: a warp each. All sums have one order, so cuts
 * do not depend on timing. Synchronisation: barriers of the block. W and L come from L2 or memory, a few times each.
 */
#ifndef GSV_TRSM_CUDA_PANELS_CUT_CUH
#define GSV_TRSM_CUDA_PANELS_CUT_CUH

#include "narrow.cuh"
#include "view.cuh"

namespace gsv {

enum {
    CUT_THREADS = 1024,
    CUT_WARPS = CUT_THREADS / 32,
    CUT_FIRST = 16,
    CUT_PRECISION = 16,
    CUT_BALANCED = 1024 /* columns of a triangle that lower limits are tried for, at most */
};

/* May a triangle of `columns` columns be inverted? Not if k is a NaN. */
__device__ __forceinline__ bool is_trusted(double k, int32_t columns, double finer) {
    return k * finer <= (columns >= GSV_LARGE_COLUMNS ? GSV_LARGE_LIMIT : GSV_INVERSION_LIMIT);
}

template <typename T> struct slice_search {
    panel_view<T> panel;
    double *e, *t, *r, *s;            /* [nc] */
    double (*partial)[CUT_WARPS][33]; /* [2], shared */
    double finer;
    int32_t first, computed; /* rows first .. computed - 1 have e, t and r */

    __device__ __forceinline__ double l(int32_t i, int32_t j) const {
        return double(magnitude1(*panel.l(i, j)));
    }
    __device__ __forceinline__ double w(int32_t i, int32_t j) const {
        return double(magnitude1(*panel.w(i, j)));
    }

    /* to(i) = sum over first <= j <= i of entry(i, j), from row `computed` to row end - 1. */
    template <typename Entry, typename Store>
    __device__ __forceinline__ void sum_rows(int32_t end, Entry entry, Store store) const {
        const int32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        int turn = 0;
        for (int32_t row = computed; row < end; row += 32, turn ^= 1) {
            const int32_t i = row + lane;
            double sum = 0;
            if (i < end)
                for (int32_t j = first + warp; j <= i; j += CUT_WARPS)
                    sum += entry(i, j);
            partial[turn][warp][lane] = sum;
            __syncthreads(); /* the partial sums of these rows are there; those of the rows before may go */
            sum = partial[turn][lane][warp];
            for (int other = 16; other; other /= 2)
                sum += __shfl_xor_sync(~0u, sum, other);
            if (lane == 0 && row + warp < end)
                store(row + warp, sum);
        }
        __syncthreads(); /* all are stored */
    }

    __device__ __forceinline__ void compute_rows(int32_t end) {
        sum_rows(
            end, [&](int32_t i, int32_t j) { return l(i, j); }, [&](int32_t i, double sum) { e[i] = sum; });
        sum_rows(
            end, [&](int32_t i, int32_t j) { return w(i, j) * e[j]; },
            [&](int32_t i, double sum) { t[i] = sum; });
        sum_rows(
            end, [&](int32_t i, int32_t j) { return l(i, j) * t[j]; },
            [&](int32_t i, double sum) { r[i] = sum / e[i]; });
        computed = end;
    }

    /* sum over j <= i < end of entry(i, j), on all lanes of a warp */
    template <typename Entry>
    __device__ __forceinline__ double sum_column(int32_t j, int32_t end, Entry entry) const {
        double sum = 0;
        for (int32_t i = j + int32_t(threadIdx.x % 32); i < end; i += 32)
            sum += entry(i);
        for (int other = 16; other; other /= 2)
            sum += __shfl_xor_sync(~0u, sum, other);
        return sum;
    }

    /* May the slice end before column `end`? All threads get the same answer. */
    __device__ __forceinline__ bool may_end(int32_t end) {
        const int32_t warp = threadIdx.x / 32, columns = end - first;
        if (end > computed)
            compute_rows(end);
        bool good = true;
        for (int32_t i = first + int32_t(threadIdx.x); i < end; i += CUT_THREADS)
            good = good && is_trusted(r[i], columns, finer);
        if (!__syncthreads_and(good))
            return false;
        for (int32_t j = first + warp; j < end; j += CUT_WARPS) {
            const double sum = sum_column(j, end, [&](int32_t i) { return w(i, j); });
            if (threadIdx.x % 32 == 0)
                s[j] = sum;
        }
        __syncthreads(); /* s is complete */
        for (int32_t j = first + warp; j < end && good; j += CUT_WARPS)
            good = is_trusted(sum_column(j, end, [&](int32_t i) { return l(i, j) * s[i]; }), columns, finer);
        return __syncthreads_and(good);
    }

    /* The end of the slice that begins with column `first`. */
    __device__ __forceinline__ int32_t widest(int32_t nc) {
        int32_t low = first + 1, high = nc + 1; /* it may end at low, and not at high */
        computed = first;
        for (int32_t width = CUT_FIRST; low < nc; width *= 2) {
            const int32_t end = min(first + width, nc);
            if (!may_end(end)) {
                high = end;
                break;
            }
            low = end;
        }
        while (low < nc && high - low > max(1, (low - first) / CUT_PRECISION)) {
            const int32_t middle = low + (high - low) / 2;
            if (may_end(middle))
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    /* Set `mark` in cut where slices begin. Returns how many do. */
    __device__ __forceinline__ int32_t mark_slices(int32_t nc, uint8_t *cut, int mark) {
        int32_t count = 0;
        for (first = 0; first < nc;) {
            const int32_t end = widest(nc);
            if (end < nc && threadIdx.x == 0)
                cut[end] |= uint8_t(mark);
            count++;
            first = end;
        }
        return count;
    }
};

template <typename T>
__global__ void __launch_bounds__(CUT_THREADS) cut_kernel(const __grid_constant__ gsv_wide_batch batch) {
    __shared__ double partial[2][CUT_WARPS][33];
    const gsv_wide_panel p = batch.panels[blockIdx.x];
    if (is_trusted(batch.k[blockIdx.x], p.nc, batch.eager ? p.finer : 1))
        return;
    double *sums = batch.sums + p.sums;
    slice_search<T> search{panel_view<T>(p, batch.raw, batch.inverse),
                           sums,
                           sums + p.nc,
                           sums + 2 * int64_t(p.nc),
                           sums + 3 * int64_t(p.nc),
                           partial,
                           p.finer,
                           0,
                           0};
    /* try number v sets bit v where a slice begins; all threads count alike */
    int best = 0;
    const int32_t fewest = search.mark_slices(p.nc, p.cut, 1);
    for (int v = 1; v <= CUT_BALANCE && p.nc <= CUT_BALANCED && fewest <= CUT_FEW; v++) {
        search.finer *= CUT_STEP;
        if (search.mark_slices(p.nc, p.cut, 1 << v) > fewest)
            break;
        best = v;
    }
    __syncthreads(); /* all marks are there */
    for (int32_t j = int32_t(threadIdx.x); j < p.nc; j += CUT_THREADS)
        p.cut[j] = p.cut[j] >> best & 1;
}

} // namespace gsv
#endif
