/*
 * Narrow supernodes (panel_layout.h): one group of warps does the whole of one, on a panel packed by columns.
 * What a thread adds, and in which order, follows from the panel's shape alone: not from the number of warps,
 * nor from NR.
 */
#ifndef GSV_CUDA_NARROW_CUH
#define GSV_CUDA_NARROW_CUH

#include "cuda_gather.cuh"

namespace gsv {

/* Barrier of the WARPS warps that work on one supernode; a block's groups have barriers of their own. */
template <int WARPS> __device__ __forceinline__ void synchronize_group() {
    if constexpr (WARPS == 1)
        __syncwarp();
    else
        asm volatile("barrier.sync %0, %1;" ::"r"(int(1 + threadIdx.x / (32 * WARPS))), "r"(32 * WARPS)
                     : "memory");
}

/* A thread's patch of a narrow supernode: rows (columns) by right-hand sides. Smaller than a tile's, for
 * these kernels live on the number of warps that wait at the same time. */
template <int NR> struct narrow_patch {
    static const int RT = NR >= 32 ? 2 : NR >= 16 ? 1 : patch<NR>::RT;
    static const int CT = patch<NR>::CT;
    static const int GROUPS = NR / CT; /* lanes that share a row */
};

/*
 * A supernode whose L1 is not to be inverted: f1 = L1
 * \ f1 in shared memory, column by column, nc steps with a barrier each. Threads share the rows below column
 * k; its own entry is divided at the end, so that a step reads what no thread writes.
 */
template <typename T, int NR, int WARPS>
__device__ void substitute_forward(const T *panel, int nr, int nc, T *f1) {
    const int thread = threadIdx.x % (32 * WARPS), c = thread % NR, row = thread / NR;
    for (int k = 0; k < nc; k++) {
        const T *column = panel + gsv_narrow_column(nr, k);
        const T value = divide(f1[k * NR + c], column[k]);
#pragma unroll 1
        for (int i = k + 1 + row; i < nc; i += 32 * WARPS / NR)
            f1[i * NR + c] = multiply_add(f1[i * NR + c], negate(column[i]), value);
        synchronize_group<WARPS>(); /* row k + 1 is complete */
    }
    for (int k = row; k < nc; k += 32 * WARPS / NR)
        f1[k * NR + c] = divide(f1[k * NR + c], panel[gsv_narrow_column(nr, k) + k]);
    synchronize_group<WARPS>(); /* f1 is the solution */
}

/* y(cols) = L1' \ y(cols), row by row from the last, likewise. */
template <typename T, int NR, int WARPS>
__device__ void substitute_backward(const T *panel, int nr, int nc, T *y) {
    const int thread = threadIdx.x % (32 * WARPS), c = thread % NR, row = thread / NR;
    for (int k = nc - 1; k >= 0; k--) {
        synchronize_group<WARPS>(); /* row k is complete */
        const T value = divide(y[k * NR + c], panel[gsv_narrow_column(nr, k) + k]);
#pragma unroll 1
        for (int i = row; i < k; i += 32 * WARPS / NR)
            y[i * NR + c] =
                multiply_add(y[i * NR + c], negate(conjugate(panel[gsv_narrow_column(nr, i) + k])), value);
    }
    synchronize_group<WARPS>(); /* nobody reads what is divided next */
    for (int k = row; k < nc; k += 32 * WARPS / NR)
        y[k * NR + c] = divide(y[k * NR + c], panel[gsv_narrow_column(nr, k) + k]);
}

/*
 * [x1; u] = [W; -M] f1 + [0; f2] for one narrow supernode, by WARPS warps. A thread owns a patch of RT rows,
 * SIDE apart so that neighbouring lanes read neighbouring numbers, by CT right-hand sides; a pass is 32 WARPS
 * rows, and the first one holds all columns, so that it gathers f1 along with its part of f2. A result is f2,
 * then its terms in ascending k, one by one. f1: shared memory of the group, nc x NR.
 */
template <typename T, int NR, int WARPS, bool SUBSTITUTE>
__device__ void forward_narrow(const gsv_device_plan &plan, const gsv_node &node, const T *y, T *x, T *u,
                               T *f1, bool leaf) {
    constexpr int RT = narrow_patch<NR>::RT, CT = narrow_patch<NR>::CT, AHEAD = patch<NR>::AHEAD;
    constexpr int SIDE = 32 * WARPS / narrow_patch<NR>::GROUPS, PASS = SIDE * RT;
    static_assert(PASS >= (WARPS == 1 ? GSV_TINY_COLUMNS : GSV_NARROW_COLUMNS),
                  "the first pass holds all columns");
    const int thread = threadIdx.x % (32 * WARPS), first = thread % SIDE, c = thread / SIDE * CT;
    const int nr = node.nr, nc = node.nc;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const bool substitute = SUBSTITUTE && !node.parts, refuse = !SUBSTITUTE && !node.parts;

    /* Columns k .. k + AHEAD - 1 of the pass at base. Lanes below the last row read the last row again, and
     * lanes above the diagonal what stands before the column: places in the panel all the same. */
    T ahead[AHEAD][RT];
    const T *column = panel;
    auto request = [&](int k, int base) {
#pragma unroll
        for (int p = 0; p < AHEAD; p++)
            if (k + p < nc) {
#pragma unroll
                for (int q = 0; q < RT; q++) {
                    const int i = base + q * SIDE;
                    ahead[p][q] = load_panel(column + (i < nr ? i : nr - 1));
                }
                column += nr - (k + p) - 1;
            }
    };
    request(0, first);
    wait_for_vectors();

    for (int base = first; base - first < nr; base += PASS) {
        T sum[RT][CT];
#pragma unroll
        for (int q = 0; q < RT; q++) {
#pragma unroll
            for (int j = 0; j < CT; j++)
                sum[q][j] = make<T>(0);
            if (base + q * SIDE < nc)
                load_run(&y[int64_t(node.first_column + base + q * SIDE) * NR + c], sum[q]);
        }
        if (!leaf)
            gather<T, NR, RT, CT, SIDE>(plan, u, node.rows + base, (nr - base + SIDE - 1) / SIDE, c, sum);
        if (base == first) {
#pragma unroll
            for (int q = 0; q < RT; q++)
                if (base + q * SIDE < nc) {
                    if (refuse)
#pragma unroll
                        for (int j = 0; j < CT; j++)
                            sum[q][j] = not_a_number<T>();
                    store_run(&f1[(base + q * SIDE) * NR + c], sum[q]);
#pragma unroll
                    for (int j = 0; j < CT; j++)
                        sum[q][j] = make<T>(0);
                }
            synchronize_group<WARPS>(); /* f1 is complete */
            if (substitute) {
                substitute_forward<T, NR, WARPS>(panel, nr, nc, f1);
#pragma unroll
                for (int q = 0; q < RT; q++)
                    if (base + q * SIDE < nc)
                        load_run(&f1[(base + q * SIDE) * NR + c], sum[q]);
            }
        }

        for (int k = 0; k < nc; k += AHEAD) {
            T a[AHEAD][RT];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
#pragma unroll
                for (int q = 0; q < RT; q++)
                    a[p][q] = ahead[p][q];
            request(k + AHEAD, base);
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (k + p < nc) {
                    T b[CT];
                    load_run(&f1[(k + p) * NR + c], b);
#pragma unroll
                    for (int q = 0; q < RT; q++)
#pragma unroll
                        for (int j = 0; j < CT; j++) {
                            const T added = multiply_add(sum[q][j], a[p][q], b[j]);
                            const int top = substitute ? nc : k + p; /* rows above have their result */
                            sum[q][j] = base + q * SIDE >= top ? added : sum[q][j];
                        }
                }
        }
        if (base - first + PASS < nr) {
            column = panel;
            request(0, base + PASS);
        }
#pragma unroll
        for (int q = 0; q < RT; q++) {
            const int i = base + q * SIDE;
            if (i < nc)
                store_run(&x[int64_t(node.first_column + i) * NR + c], sum[q]);
            else if (i < nr)
                store_run(&u[(node.update + i - nc) * NR + c], sum[q]);
        }
    }
}

/*
 * y(cols) = [W; -M]' [x(cols); y(rows below)] for one narrow supernode, by WARPS warps, four columns each at
 * a time. A column's sum is eight sums, over the rows i mod 8, added as a tree. In a warp, eight lanes take
 * the eight kinds of row, and each owns a patch of JT columns by CT right-hand sides.
 */
template <typename T, int NR, int WARPS, bool SUBSTITUTE>
__device__ void backward_narrow(const gsv_device_plan &plan, const gsv_node &node, const T *x, T *y) {
    constexpr int JT = patch<NR>::RT, CT = patch<NR>::CT, GROUPS = NR / CT;
    constexpr int AHEAD = NR == 1 ? (WARPS == 1 ? 4 : 8) : 2, STEP = 32 / PHASES / GROUPS * JT;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % WARPS;
    const int phase = lane % PHASES, c = lane / PHASES % GROUPS * CT, first = lane / PHASES / GROUPS * JT;
    const int nr = node.nr, nc = node.nc;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const bool substitute = SUBSTITUTE && !node.parts, refuse = !SUBSTITUTE && !node.parts;
    const int32_t *rows = plan.rows + node.rows;

    bool waited = false;
    for (int base = STEP * warp; base < nc || !waited; base += STEP * WARPS) {
        const T *column[JT];
#pragma unroll
        for (int q = 0; q < JT; q++)
            column[q] = panel + gsv_narrow_column(nr, base + first + q);
        T sum[JT * CT];
#pragma unroll
        for (int k = 0; k < JT * CT; k++)
            sum[k] = make<T>(0);
        /* rows above the diagonal add nothing; a warp that has no columns comes by once, to wait */
        for (int i0 = base / PHASES * PHASES; i0 < nr || !waited; i0 += PHASES * AHEAD) {
            T a[AHEAD][JT], f[AHEAD][CT];
            int32_t row[AHEAD];
#pragma unroll
            for (int s = 0; s < AHEAD; s++) {
                const int i = i0 + s * PHASES + phase;
                if (i >= nc && i < nr)
                    row[s] = rows[i];
#pragma unroll
                for (int q = 0; q < JT; q++)
                    if (base + first + q < nc && i >= (substitute ? nc : base + first + q) && i < nr)
                        a[s][q] = load_panel(column[q] + i);
            }
            if (!waited)
                wait_for_vectors();
            waited = true;
#pragma unroll
            for (int s = 0; s < AHEAD; s++) {
                const int i = i0 + s * PHASES + phase;
                if (i < nc)
                    load_run(&x[int64_t(node.first_column + i) * NR + c], f[s]);
                else if (i < nr)
                    load_run(&y[int64_t(row[s]) * NR + c], f[s]);
            }
#pragma unroll
            for (int s = 0; s < AHEAD; s++) {
                const int i = i0 + s * PHASES + phase;
#pragma unroll
                for (int q = 0; q < JT; q++)
                    if (base + first + q < nc && i >= (substitute ? nc : base + first + q) && i < nr)
#pragma unroll
                        for (int j = 0; j < CT; j++)
                            sum[q * CT + j] = multiply_add(sum[q * CT + j], conjugate(a[s][q]), f[s][j]);
            }
        }
        typedef reduce_lanes<T, JT * CT, PHASES / 2> reduce;
        int result = 0;
        reduce::run(sum, lane, result);
        const int j = base + first + result / CT;
        if (phase % reduce::COPIES == 0 && j < nc) {
            T total[reduce::RESULTS];
#pragma unroll
            for (int k = 0; k < reduce::RESULTS; k++)
                total[k] = refuse ? not_a_number<T>() : sum[k];
            if (substitute) {
                T own[reduce::RESULTS];
                load_run(&x[int64_t(node.first_column + j) * NR + c + result % CT], own);
#pragma unroll
                for (int k = 0; k < reduce::RESULTS; k++)
                    total[k] = add(own[k], total[k]);
            }
            store_run(&y[int64_t(node.first_column + j) * NR + c + result % CT], total);
        }
    }
    if (substitute)
        substitute_backward<T, NR, WARPS>(panel, nr, nc, y + int64_t(node.first_column) * NR);
}

} // namespace gsv
#endif
