/*
 * The sweeps over the tree, level by level, on panels [W; -M] (tiles.h): each level is one or two launches.
 *
 *   forward, level k     first launch   narrow supernodes gather f1 and f2 from y and the children's update
 *                                       vectors, multiply, and write x(cols) and u: a warp for a tiny one, a
 *                                       block for a small one.
 *                                       wide supernodes: y(cols) += and u = the children's update rows
 *                                       (assemble tasks).
 *                        second launch  wide supernodes: a forward task multiplies block rows with y(cols)
 * and writes x(cols) or adds to u. Only if there are any. backward, level k    one launch     y(cols) = [W;
 * -M]' [x(cols); y(rows below)]: a warp for a tiny supernode, a block for a small one, a block for 16 columns
 * of a wide one.
 *
 * Order. A launch begins while the one before it ends (programmatic dependent launch): a block reads its task
 * and requests the first numbers of its panel, which no launch writes, and then waits in wait_for_vectors()
 * until all of the launch before is over and its writes are seen. Every thread of every block waits there, so
 * a launch is over only after the one before it: the levels are ordered like without the overlap. The wait is
 * for an earlier launch on the same stream and never for a block of its own, so it ends.
 *
 * x and y are different arrays, so tasks of one supernode neither wait for nor disturb each other. Children's
 * rows are added in the order of gsv_tiles.gather; there are no atomics; sums do not depend on NR
 * (tile_product.cuh, and below): the same bits in every run and beside any neighbours.
 *
 * Traffic of a sweep: the panels once, gather lists and update vectors once, about nr + 2 nc rows of vectors
 * a supernode. Cost of a level: one or two launches, and in each the reads that depend on each other: gather
 * list, update row (forward), row index, vector (backward).
 */
#ifndef GSV_CUDA_SWEEP_CUH
#define GSV_CUDA_SWEEP_CUH

#include "../dense_kernels/tile_product.cuh"
#include "cuda_sweep.h"

namespace gsv {

enum { BLOCK = 256, BLOCK_WARPS = BLOCK / 32, PHASES = 8 };

/* Let the next launch begin; wait for the one before. On devices without the overlap both are nothing. */
__device__ __forceinline__ void wait_for_vectors() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

template <int WARPS> __device__ __forceinline__ void synchronize_group() {
    if constexpr (WARPS == 1)
        __syncwarp();
    else
        __syncthreads();
}

/* What the children owe front row `row` (counted over all fronts), right-hand side c, added to sum one by
 * one. */
template <typename T, int NR>
__device__ __forceinline__ T gather(const gsv_device_plan &plan, const T *u, int64_t row, int c, T sum) {
    const uint32_t end = plan.gather_ptr[row + 1];
    for (uint32_t k = plan.gather_ptr[row]; k < end; k++)
        sum = add(sum, u[int64_t(plan.gather[k]) * NR + c]);
    return sum;
}

/* ------------------------------------------------------------------------------------------- forward --- */

/*
 * How WARPS warps cover the rows of a narrow supernode, forward: NR lanes a row, Q rows a lane. The first
 * pass covers all columns that there can be, so that it gathers f1 along with its part of f2. AHEAD columns
 * of it are requested early.
 */
template <int NR, int WARPS> struct forward_map {
    static const int SIDE = 32 * WARPS / NR; /* rows side by side */
    static const int MOST = WARPS == 1 ? GSV_TINY_COLUMNS : GSV_NARROW_COLUMNS;
    static const int Q = SIDE >= 2 * MOST ? 1 : SIDE >= MOST ? (WARPS == 1 ? 2 : 1) : MOST / SIDE;
    static const int PASS = SIDE * Q;
    static const int AHEAD = NR == 1 ? 8 : 1;
};

/* [x1; u] = [W; -M] f1 + [0; f2] for one narrow supernode. f1: shared memory of the group, MOST x NR. A row's
 * sum is f2, then its terms in ascending k. */
template <typename T, int NR, int WARPS>
__device__ void forward_narrow(const gsv_device_plan &plan, const gsv_node &node, const T *y, T *x, T *u,
                               T *f1, bool leaf) {
    typedef forward_map<NR, WARPS> map;
    constexpr int Q = map::Q, SIDE = map::SIDE, AHEAD = map::AHEAD;
    const int thread = threadIdx.x % (32 * WARPS), c = thread % NR, first = thread / NR;
    const int nr = node.nr, nc = node.nc;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;

    T ahead[AHEAD][Q];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
#pragma unroll
        for (int q = 0; q < Q; q++)
            if (k < nc && first + q * SIDE >= k && first + q * SIDE < nr)
                ahead[k][q] = load_panel(panel + gsv_narrow_column(nr, k) + first + q * SIDE);
    wait_for_vectors();

    for (int base = first; base - first < nr; base += map::PASS) {
        T sum[Q];
#pragma unroll
        for (int q = 0; q < Q; q++) {
            const int i = base + q * SIDE;
            T f = make<T>(0);
            if (i < nc)
                f = y[int64_t(node.first_column + i) * NR + c];
            if (i < nr && !leaf)
                f = gather<T, NR>(plan, u, node.rows + i, c, f);
            sum[q] = f;
            if (i < nc) {
                f1[i * NR + c] = f;
                sum[q] = make<T>(0);
            }
        }
        if (base == first)
            synchronize_group<WARPS>(); /* f1 is complete: the first pass covers it */

        const T *column = panel;
        int k0 = 0;
        if (base == first) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (k < nc) {
                    const T b = f1[k * NR + c];
#pragma unroll
                    for (int q = 0; q < Q; q++)
                        if (first + q * SIDE >= k && first + q * SIDE < nr)
                            sum[q] = multiply_add(sum[q], ahead[k][q], b);
                }
            k0 = AHEAD;
            column += gsv_narrow_column(nr, AHEAD);
        }
#pragma unroll(Q == 1 ? 8 : Q <= 4 ? 4 : 2)
        for (int k = k0; k < nc; k++) {
            const T b = f1[k * NR + c];
#pragma unroll
            for (int q = 0; q < Q; q++) {
                const int i = base + q * SIDE;
                if (i >= k && i < nr)
                    sum[q] = multiply_add(sum[q], load_panel(column + i), b);
            }
            column += nr - k - 1;
        }
#pragma unroll
        for (int q = 0; q < Q; q++) {
            const int i = base + q * SIDE;
            if (i < nc)
                x[int64_t(node.first_column + i) * NR + c] = sum[q];
            else if (i < nr)
                u[(node.update + i - nc) * NR + c] = sum[q];
        }
    }
}

/* The part of a level that one launch is about. */
struct level_part {
    const int32_t *small, *tiny;
    const gsv_task *tasks; /* assemble, or backward */
    int32_t small_count, tiny_count, task_count;
    bool leaf; /* no supernode of the level has children */
};

/* First launch of a level: a block for each small supernode, a warp for each tiny one, a block for each
 * assemble task. */
template <typename T, int NR>
__global__ void __launch_bounds__(BLOCK)
    forward_first_kernel(gsv_device_plan plan, T *y, T *x, T *u, level_part part) {
    constexpr int TINY = GSV_TINY_COLUMNS * NR;
    __shared__ alignas(16) T f1[BLOCK_WARPS * TINY];
    const int warp = threadIdx.x / 32;
    int block = blockIdx.x;
    if (block < part.small_count) {
        forward_narrow<T, NR, BLOCK_WARPS>(plan, plan.node[part.small[block]], y, x, u, f1, part.leaf);
        return;
    }
    block -= part.small_count;
    const int tiny_blocks = (part.tiny_count + BLOCK_WARPS - 1) / BLOCK_WARPS;
    if (block < tiny_blocks) {
        const int k = block * BLOCK_WARPS + warp;
        if (k < part.tiny_count)
            forward_narrow<T, NR, 1>(plan, plan.node[part.tiny[k]], y, x, u, f1 + warp * TINY, part.leaf);
        else
            wait_for_vectors();
        return;
    }
    const gsv_task task = part.tasks[block - tiny_blocks];
    const gsv_node node = plan.node[task.supernode];
    wait_for_vectors();
    for (int e = threadIdx.x; e < task.count * NR; e += BLOCK) {
        const int i = task.first + e / NR, c = e % NR;
        if (i < node.nc) {
            T *at = &y[int64_t(node.first_column + i) * NR + c];
            *at = gather<T, NR>(plan, u, node.rows + i, c, *at);
        } else {
            u[(node.update + i - node.nc) * NR + c] = gather<T, NR>(plan, u, node.rows + i, c, make<T>(0));
        }
    }
}

/* Where result row i, right-hand side c, of a wide supernode goes: into x, or onto what is in u. */
template <typename T, int NR, int N>
__device__ __forceinline__ void finish_row(const gsv_node &node, T *x, T *u, int i, int c, bool leaf,
                                           T (&sum)[N]) {
    if (i < node.nc) {
        store_run(&x[int64_t(node.first_column + i) * NR + c], sum);
    } else if (i < node.nr) {
        T *to = &u[(node.update + i - node.nc) * NR + c];
        if (!leaf) {
            T f[N];
            load_run(to, f);
#pragma unroll
            for (int j = 0; j < N; j++)
                sum[j] = add(f[j], sum[j]);
        }
        store_run(to, sum);
    }
}

/* A forward task of a supernode of at most GSV_WARP_TILE_COLUMNS columns: a block row for each warp. */
template <typename T, int NR>
__device__ void forward_warp_tiles(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                                   const T *y, T *x, T *u, bool leaf) {
    constexpr int RT = patch<NR>::RT, CT = patch<NR>::CT;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, member = lane % 16;
    if (warp >= task.count) {
        wait_for_vectors();
        return;
    }
    const int block_row = task.first + warp;
    tile_product<T, NR, 2> product(static_cast<const T *>(plan.panels) + node.panel +
                                       gsv_block_row_start(node.nc, block_row),
                                   gsv_block_row_columns(node.nc, block_row), lane / 16, member);
    wait_for_vectors();
    T acc[RT][CT];
    product.run(y + int64_t(node.first_column) * NR, acc);
#pragma unroll
    for (int i = 0; i < RT; i++) {
#pragma unroll
        for (int j = 0; j < CT; j++)
            acc[i][j] = add(acc[i][j], shuffle_xor(acc[i][j], 16));
        /* the two halves of the warp hold the same sums: they take the rows by turns */
        if (RT == 1 ? lane < 16 : i % 2 == lane / 16)
            finish_row<T, NR, CT>(node, x, u, GSV_TILE * block_row + member % (16 / RT) * RT + i,
                                  member / (16 / RT) * CT, leaf, acc[i]);
    }
}

/* A forward task of a wider supernode: one block row for the block, sixteen groups of sixteen threads. */
template <typename T, int NR>
__device__ void forward_block_tile(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                                   const T *y, T *x, T *u, bool leaf, T *partial) {
    constexpr int RT = patch<NR>::RT, CT = patch<NR>::CT;
    const int group = threadIdx.x / 16, member = threadIdx.x % 16;
    tile_product<T, NR, 16> product(static_cast<const T *>(plan.panels) + node.panel +
                                        gsv_block_row_start(node.nc, task.first),
                                    gsv_block_row_columns(node.nc, task.first), group, member);
    wait_for_vectors();
    T acc[RT][CT];
    product.run(y + int64_t(node.first_column) * NR, acc);

    const int r = member % (16 / RT) * RT, c = member / (16 / RT) * CT;
#pragma unroll
    for (int i = 0; i < RT; i++) {
#pragma unroll
        for (int j = 0; j < CT; j++)
            acc[i][j] = add(acc[i][j], shuffle_xor(acc[i][j], 16));
        if (group % 2 == 0)
            store_run(&partial[(group / 2 * 16 + r + i) * NR + c], acc[i]);
    }
    __syncthreads(); /* the eight partial sums of a result come from eight warps */

    constexpr int N = NR >= 16 ? NR / 16 : 1;
    const int e = threadIdx.x * N;
    if (e < 16 * NR) {
        T sum[N];
#pragma unroll
        for (int j = 0; j < N; j++) {
            T p[8];
#pragma unroll
            for (int w = 0; w < 8; w++)
                p[w] = partial[w * 16 * NR + e + j];
            sum[j] = add(add(add(p[0], p[1]), add(p[2], p[3])), add(add(p[4], p[5]), add(p[6], p[7])));
        }
        finish_row<T, NR, N>(node, x, u, GSV_TILE * task.first + e / NR, e % NR, leaf, sum);
    }
}

/* Second launch of a level: the forward tasks of wide supernodes. */
template <typename T, int NR>
__global__ void __launch_bounds__(BLOCK)
    forward_wide_kernel(gsv_device_plan plan, const T *y, T *x, T *u, const gsv_task *tasks, bool leaf) {
    extern __shared__ int4 shared[];
    const gsv_task task = tasks[blockIdx.x];
    const gsv_node node = plan.node[task.supernode];
    if (node.nc <= GSV_WARP_TILE_COLUMNS)
        forward_warp_tiles<T, NR>(plan, task, node, y, x, u, leaf);
    else
        forward_block_tile<T, NR>(plan, task, node, y, x, u, leaf, reinterpret_cast<T *>(shared));
}

/* ------------------------------------------------------------------------------------------ backward --- */

/*
 * How WARPS warps cover the columns of a narrow supernode, backward: a column's sum is eight sums, over the
 * rows i mod 8, and these are added as a tree. NR lanes a row, LANES rows side by side on the lanes and OWN =
 * 8 / LANES phases on each; COLUMNS columns side by side on the lanes of a warp, Q on each. AHEAD steps of
 * the panel are requested early.
 */
template <int NR> struct backward_map {
    static const int LANES = 32 / NR < PHASES ? 32 / NR : PHASES;
    static const int OWN = PHASES / LANES;
    static const int COLUMNS = 32 / (NR * LANES);
    static const int Q = NR == 1 ? 1 : 2;
    static const int AHEAD = NR == 1 ? 8 : 1;
};

template <typename T, int N> __device__ __forceinline__ T sum_tree(const T (&terms)[N]) {
    if constexpr (N == 1)
        return terms[0];
    else if constexpr (N == 2)
        return add(terms[0], terms[1]);
    else {
        T half[N / 2];
#pragma unroll
        for (int k = 0; k < N / 2; k++)
            half[k] = add(terms[2 * k], terms[2 * k + 1]);
        return sum_tree(half);
    }
}

/* y(cols) = [W; -M]' [x(cols); y(rows below)] for one narrow supernode. */
template <typename T, int NR, int WARPS>
__device__ void backward_narrow(const gsv_device_plan &plan, const gsv_node &node, const T *x, T *y) {
    typedef backward_map<NR> map;
    constexpr int OWN = map::OWN, Q = map::Q, AHEAD = map::AHEAD, STEP = map::COLUMNS * Q;
    const int lane = threadIdx.x % 32, warp = WARPS == 1 ? 0 : threadIdx.x / 32;
    const int c = lane % NR, phase = lane / NR % map::LANES * OWN, first = lane / (NR * map::LANES);
    const int nr = node.nr, nc = node.nc;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const int32_t *rows = plan.rows + node.rows;

    bool waited = false;
    for (int base = warp * STEP; base < nc || !waited; base += WARPS * STEP) {
        const T *column[Q];
        T sum[Q][OWN];
#pragma unroll
        for (int q = 0; q < Q; q++) {
            column[q] = panel + gsv_narrow_column(nr, base + q * map::COLUMNS + first);
#pragma unroll
            for (int p = 0; p < OWN; p++)
                sum[q][p] = make<T>(0);
        }
        const int top = base / PHASES * PHASES; /* rows above the diagonal add nothing */
        for (int i0 = top; i0 < nr || !waited; i0 += PHASES * AHEAD) {
            T a[AHEAD][Q][OWN];
            int32_t row[AHEAD][OWN];
#pragma unroll
            for (int s = 0; s < AHEAD; s++)
#pragma unroll
                for (int p = 0; p < OWN; p++) {
                    const int i = i0 + s * PHASES + phase + p;
                    if (i >= nc && i < nr)
                        row[s][p] = rows[i];
#pragma unroll
                    for (int q = 0; q < Q; q++) {
                        const int j = base + q * map::COLUMNS + first;
                        if (j < nc && i >= j && i < nr)
                            a[s][q][p] = load_panel(column[q] + i);
                    }
                }
            if (!waited)
                wait_for_vectors();
            waited = true;
            T f[AHEAD][OWN];
#pragma unroll
            for (int s = 0; s < AHEAD; s++)
#pragma unroll
                for (int p = 0; p < OWN; p++) {
                    const int i = i0 + s * PHASES + phase + p;
                    if (i < nr)
                        f[s][p] = i < nc ? x[int64_t(node.first_column + i) * NR + c]
                                         : y[int64_t(row[s][p]) * NR + c];
                }
#pragma unroll
            for (int s = 0; s < AHEAD; s++)
#pragma unroll
                for (int p = 0; p < OWN; p++) {
                    const int i = i0 + s * PHASES + phase + p;
#pragma unroll
                    for (int q = 0; q < Q; q++) {
                        const int j = base + q * map::COLUMNS + first;
                        if (j < nc && i >= j && i < nr)
                            sum[q][p] = multiply_add(sum[q][p], conjugate(a[s][q][p]), f[s][p]);
                    }
                }
        }
#pragma unroll
        for (int q = 0; q < Q; q++) {
            T total = sum_tree(sum[q]);
#pragma unroll
            for (int mask = NR; mask < NR * map::LANES; mask *= 2)
                total = add(total, shuffle_xor(total, mask));
            const int j = base + q * map::COLUMNS + first;
            if (phase == 0 && j < nc)
                y[int64_t(node.first_column + j) * NR + c] = total;
        }
    }
}

/* Rows of [x(cols); y(rows below)] that a block keeps in shared memory at a time, and how they are padded:
 * rows of 16 bytes or more start 16 bytes further round the banks each. */
template <typename T, int NR> struct stage {
    static const int ROWS = NR == 1 ? 512 : NR == 4 ? 256 : NR == 8 ? 128 : 64;
    static const int PAD = NR * sizeof(T) >= 16 ? 16 / int(sizeof(T)) : 0;
    static const int STRIDE = NR + PAD;
    static_assert(ROWS / GSV_TILE % patch<NR>::AHEAD == 0, "a stage holds whole steps");
};

/* A backward task: 16 columns of a wide supernode, all block rows from the diagonal down. */
template <typename T, int NR>
__device__ void backward_block_tile(const gsv_device_plan &plan, const gsv_task &task, const T *x, T *y,
                                    T *f) {
    constexpr int JT = patch<NR>::RT, CT = patch<NR>::CT;
    typedef stage<T, NR> stage;
    const gsv_node node = plan.node[task.supernode];
    const int r = threadIdx.x % 16, group = threadIdx.x / 16;
    const int nr = node.nr, nc = node.nc, top = GSV_TILE * task.first;
    const int32_t *rows = plan.rows + node.rows;
    transposed_product<T, NR> product(static_cast<const T *>(plan.panels) + node.panel, nc, task.first,
                                      (nr + GSV_TILE - 1) / GSV_TILE, r, group);
    wait_for_vectors();

    T acc[JT * CT];
#pragma unroll
    for (int k = 0; k < JT * CT; k++)
        acc[k] = make<T>(0);
    for (int start = top; start < nr; start += stage::ROWS) {
        const int padded = (nr - start + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        const int count = padded < stage::ROWS ? padded : stage::ROWS;
        for (int e = threadIdx.x; e < count * NR; e += BLOCK) {
            const int i = start + e / NR, c = e % NR;
            T value = make<T>(0);
            if (i < nc)
                value = x[int64_t(node.first_column + i) * NR + c];
            else if (i < nr)
                value = y[int64_t(rows[i]) * NR + c];
            f[e / NR * stage::STRIDE + c] = value;
        }
        __syncthreads(); /* f is complete */
        product.run(start / GSV_TILE, (start + count) / GSV_TILE, f + r * stage::STRIDE,
                    GSV_TILE * stage::STRIDE, acc);
        __syncthreads(); /* all have read f before it is overwritten */
    }
    int base = 0;
    reduce16<T, JT * CT>::run(acc, r, base);
    constexpr int N = NR >= 16 ? NR / 16 : 1;
    const int writers = NR >= 16 ? 1 : 16 / NR; /* so many lanes hold the same result */
    const int j = group % (16 / JT) * JT + base / CT, c = group / (16 / JT) * CT + base % CT;
    if (r % writers == 0 && top + j < nc) {
        T result[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            result[k] = acc[k];
        store_run(&y[int64_t(node.first_column + top + j) * NR + c], result);
    }
}

/* A level of the backward sweep: wide tasks on the first blocks, for they are the longest, then a block for
 * each small supernode, then a warp for each tiny one. */
template <typename T, int NR>
__global__ void __launch_bounds__(BLOCK)
    backward_kernel(gsv_device_plan plan, const T *x, T *y, level_part part) {
    extern __shared__ int4 shared[];
    int block = blockIdx.x;
    if (block < part.task_count) {
        backward_block_tile<T, NR>(plan, part.tasks[block], x, y, reinterpret_cast<T *>(shared));
        return;
    }
    block -= part.task_count;
    if (block < part.small_count) {
        backward_narrow<T, NR, BLOCK_WARPS>(plan, plan.node[part.small[block]], x, y);
        return;
    }
    block -= part.small_count;
    const int k = block * BLOCK_WARPS + threadIdx.x / 32;
    if (k < part.tiny_count)
        backward_narrow<T, NR, 1>(plan, plan.node[part.tiny[k]], x, y);
    else
        wait_for_vectors();
}

/* ----------------------------------------------------------------------------------- in, out, scaling --- */

template <typename T, int NR>
__global__ void load_kernel(int32_t n, const int32_t *perm, gsv_device_dense from, T *to) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    const int64_t i = e / NR;
    const int c = e % NR;
    if (i < n)
        to[e] = c < from.columns
                    ? static_cast<const T *>(
                          from.values)[(perm ? perm[i] : i) * from.row_stride + c * from.column_stride]
                    : make<T>(0);
}

template <typename T, int NR>
__global__ void store_kernel(int32_t n, const int32_t *perm, const T *from, gsv_device_dense to) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    const int64_t i = e / NR;
    const int c = e % NR;
    if (i < n && c < to.columns)
        static_cast<T *>(to.values)[(perm ? perm[i] : i) * to.row_stride + c * to.column_stride] = from[e];
}

template <typename T, int NR>
__global__ void scale_kernel(int32_t n, const typename traits<T>::real *d, T *v) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * NR)
        v[e] = divide_real(v[e], d[e / NR]);
}

} // namespace gsv
#endif
