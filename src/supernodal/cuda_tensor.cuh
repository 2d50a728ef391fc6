/*
 * The tasks of both kinds of supernode on FP64 tensor cores, for 8 right-hand sides or more: the sums of
 * cuda_narrow.cuh and cuda_wide.cuh, term by term (tensor_product.cuh says why the bits are the same), with a
 * fraction of their instructions and registers.
 */
#ifndef GSV_CUDA_TENSOR_CUH
#define GSV_CUDA_TENSOR_CUH

#include "../dense_kernels/async_copy.cuh"
#include "../dense_kernels/tensor_product.cuh"
#include "cuda_narrow.cuh"
#include "cuda_wide.cuh"

namespace gsv {

/* Rows of vectors in shared memory, padded so that four neighbours (the k of a fragment) are in different
 * banks. */
template <int NR> struct tensor_row { static const int STRIDE = NR + 4; };

/*
 * [x1; u] = [W; -M] f1 + [0; f2] for one narrow supernode, by WARPS warps, eight rows a warp at a time. f1:
 * shared memory of the group, nc x tensor_row::STRIDE.
 */
template <int NR, int WARPS>
__device__ void forward_narrow_tensor(const gsv_device_plan &plan, const gsv_node &node, const double *y,
                                      double *x, double *u, double *f1, bool leaf) {
    constexpr int N = NR / 8, STEPS = GSV_NARROW_COLUMNS / 4, STRIDE = tensor_row<NR>::STRIDE;
    const int thread = threadIdx.x % (32 * WARPS), lane = thread % 32, warp = thread / 32;
    const int row = lane / 4, part = lane % 4, nr = node.nr, nc = node.nc;
    const double *panel = static_cast<const double *>(plan.panels) + node.panel;

    double a[STEPS];
    auto request = [&](int i) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int k = 4 * s + part;
            a[s] = k < nc && i >= k && i < nr ? load_panel(panel + gsv_narrow_column(nr, k) + i) : 0;
        }
    };
    request(8 * warp + row);
    wait_for_vectors();

    /* f1, two right-hand sides a thread */
    for (int e = 2 * thread; e < nc * NR; e += 64 * WARPS) {
        const int i = e / NR, c = e % NR;
        double sum[1][2];
        load_run(&y[int64_t(node.first_column + i) * NR + c], sum[0]);
        if (!leaf)
            gather<double, NR, 1, 2, 1>(plan, u, node.rows + i, 1, c, sum);
        if (!node.parts)
            sum[0][0] = sum[0][1] = not_a_number<double>(); /* this kernel cannot (cuda_sweep.cuh) */
        store_run(&f1[i * STRIDE + c], sum[0]);
    }
    synchronize_group<WARPS>(); /* f1 is complete */

    for (int base = 8 * warp; base < nr; base += 8 * WARPS) {
        const int i = base + row;
        double acc[N][2];
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = 0;
        if (!leaf && i >= nc && i < nr) {
            const uint32_t end = plan.gather_ptr[node.rows + i + 1];
            for (uint32_t g = plan.gather_ptr[node.rows + i]; g < end; g++) {
                const double *from = u + int64_t(plan.gather[g]) * NR + 2 * part;
#pragma unroll
                for (int n = 0; n < N; n++) {
                    double term[2];
                    load_run(from + 8 * n, term);
                    acc[n][0] += term[0];
                    acc[n][1] += term[1];
                }
            }
        }
        __syncwarp(); /* the multiplications are the warp's */
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (4 * s < nc) {
                const int k = 4 * s + part;
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(acc[n], a[s], k < nc ? f1[k * STRIDE + 8 * n + row] : 0);
            }
        request(i + 8 * WARPS);
        double *to = i < nc ? &x[int64_t(node.first_column + i) * NR] : &u[(node.update + i - nc) * NR];
        if (i < nr)
#pragma unroll
            for (int n = 0; n < N; n++)
                store_run(to + 8 * n + 2 * part, acc[n]);
    }
}

/* The sum of the chains of 8 kinds of row as a tree: neighbours 4, then 2, then 1 apart. */
__device__ __forceinline__ double add_eight(double (&p)[8]) {
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/*
 * y(cols) = [W; -M]' [x(cols); y(rows below)] for one narrow supernode, by WARPS warps: eight columns and
 * eight or sixteen right-hand sides a warp at a time. A chain is the rows i of one i mod 8.
 */
template <int NR, int WARPS>
__device__ void backward_narrow_tensor(const gsv_device_plan &plan, const gsv_node &node, const double *x,
                                       double *y) {
    constexpr int N = NR >= 16 ? 2 : 1, PIECES = NR / 8 / N;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % WARPS, part = lane % 4;
    const int nr = node.nr, nc = node.nc;
    const double *panel = static_cast<const double *>(plan.panels) + node.panel;
    const int32_t *rows = plan.rows + node.rows;
    const int units = (nc + 7) / 8 * PIECES;

    double a[8];
    int32_t row[8];
    auto request = [&](int first, int i0) {
        const int j = first + lane / 4;
        const double *column = panel + gsv_narrow_column(nr, j < nc ? j : 0);
#pragma unroll
        for (int p = 0; p < 8; p++) {
            const int i = i0 + 8 * part + p;
            a[p] = j < nc && i >= j && i < nr ? __ldg(column + i) : 0; /* through L1: lanes share sectors */
            row[p] = i < nr ? rows[i] : 0;
        }
    };
    if (warp < units)
        request(warp / PIECES * 8, warp / PIECES * 8);
    wait_for_vectors();
    for (int unit = warp; unit < units; unit += WARPS) {
        const int first = unit / PIECES * 8, c0 = unit % PIECES * 8 * N;
        if (unit > warp)
            request(first, first);
        double acc[8][N][2];
#pragma unroll
        for (int e = 0; e < 8 * N * 2; e++)
            (&acc[0][0][0])[e] = 0;
        for (int i0 = first; i0 < nr; i0 += 32) {
            double b[8][N];
#pragma unroll
            for (int p = 0; p < 8; p++) {
                const int i = i0 + 8 * part + p;
                const double *from = (i < nc ? x : y) + int64_t(row[p]) * NR + c0 + lane / 4;
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[p][n] = i < nr ? from[8 * n] : 0;
            }
#pragma unroll
            for (int p = 0; p < 8; p++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(acc[p][n], a[p], b[p][n]);
            if (i0 + 32 < nr)
                request(first, i0 + 32);
        }
        const int j = first + lane / 4;
        if (j < nc)
#pragma unroll
            for (int n = 0; n < N; n++) {
                double total[2];
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    double kinds[8];
#pragma unroll
                    for (int p = 0; p < 8; p++)
                        kinds[p] = acc[p][n][c];
                    total[c] = node.parts ? add_eight(kinds) : not_a_number<double>();
                }
                store_run(&y[int64_t(node.first_column + j) * NR + c0 + 8 * n + 2 * part], total);
            }
    }
}

/* A forward task of a supernode of at most GSV_WARP_TILE_COLUMNS columns, as forward_warp_tiles. */
template <int NR>
__device__ void forward_warp_tiles_tensor(const gsv_device_plan &plan, const gsv_task &task,
                                          const gsv_node &node, const column_block &block, double *y,
                                          double *x, double *u, bool leaf) {
    constexpr int N = NR / 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, block_row = task.first + warp;
    if (warp >= task.count || GSV_TILE * block_row < block.first) {
        wait_for_vectors();
        return;
    }
    tensor_tile<NR, 2> product(static_cast<const double *>(plan.panels) + node.panel +
                                   gsv_block_row_start(node.nc, block_row) + GSV_TILE * block.first,
                               columns_of(node, block, block_row), 0);
    wait_for_vectors();
    result_row<double, NR, 2> result[2][N];
    auto request = [&](int m, int n) {
        result[m][n].request(node, block, y, x, u, GSV_TILE * block_row + 8 * m + lane / 4,
                             8 * n + 2 * (lane % 4), leaf);
    };
    if (N == 1) { /* more do not fit in registers */
        request(0, 0);
        request(1, 0);
    }
    double acc[2][2][N][2];
    product.run(y + int64_t(node.first_column + block.first) * NR, acc);
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < N; n++) {
            double sum[2] = {acc[0][m][n][0] + acc[1][m][n][0], acc[0][m][n][1] + acc[1][m][n][1]};
            if (N > 1)
                request(m, n);
            result[m][n].finish(block, sum);
        }
}

/* One block row by the whole block, as block_row: a warp has chains 2 w and 2 w + 1 of sixteen. */
template <int NR> struct tensor_block_row {
    static const int N = NR / 8, RUN = NR >= 16 ? NR / 16 : 1;
    static const int STRIDE = NR >= 16 ? NR + 8 : NR; /* of a row of partial sums, against bank conflicts */
    static const int PARTIALS = 8 * 16 * STRIDE;
    tensor_tile<NR, 16> product;

    __device__ __forceinline__ tensor_block_row(const double *tile, int columns)
        : product(tile, columns, threadIdx.x / 32 * 2) {}

    static __device__ __forceinline__ bool has_result() {
        return threadIdx.x * RUN < 16 * NR;
    }

    __device__ __forceinline__ void run(const double *v, double *partial, double (&sum)[RUN]) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        double acc[2][2][N][2];
        product.run(v, acc);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                const double both[2] = {acc[0][m][n][0] + acc[1][m][n][0], acc[0][m][n][1] + acc[1][m][n][1]};
                store_run(&partial[(warp * 16 + 8 * m + lane / 4) * STRIDE + 8 * n + 2 * (lane % 4)], both);
            }
        __syncthreads(); /* the eight partial sums of a result come from eight warps */
        const int e = threadIdx.x * RUN;
        if (has_result())
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                double p[8];
#pragma unroll
                for (int w = 0; w < 8; w++)
                    p[w] = partial[(w * 16 + e / NR) * STRIDE + e % NR + j];
                sum[j] = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
            }
    }
};

template <typename T, int NR, bool TENSOR = on_tensor_cores<T, NR>::value> struct block_row_of {
    typedef block_row<T, NR> type;
};
template <typename T, int NR> struct block_row_of<T, NR, true> { typedef tensor_block_row<NR> type; };

/* A forward task of a wider supernode: one block row. */
template <typename T, int NR>
__device__ void forward_block_tile(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                                   const column_block &block, T *y, T *x, T *u, bool leaf, T *partial) {
    typedef typename block_row_of<T, NR>::type row;
    if (GSV_TILE * task.first < block.first) {
        wait_for_vectors();
        return;
    }
    row product(static_cast<const T *>(plan.panels) + node.panel + gsv_block_row_start(node.nc, task.first) +
                    GSV_TILE * block.first,
                columns_of(node, block, task.first));
    wait_for_vectors();
    result_row<T, NR, row::RUN> result;
    const int e = threadIdx.x * row::RUN;
    if (row::has_result())
        result.request(node, block, y, x, u, GSV_TILE * task.first + e / NR, e % NR, leaf);
    T sum[row::RUN];
    product.run(y + int64_t(node.first_column + block.first) * NR, partial, sum);
    if (row::has_result())
        result.finish(block, sum);
}

/*
 * How a backward task's panel comes through shared memory, in stages of GROUP steps, a step eight block rows.
 * Eight columns of a block row are contiguous, and one warp copies them; the four rows that a chain takes at
 * a time are in four block rows. Columns and block rows are padded so that the eight lanes that read at the
 * same time, two columns in four block rows, are in different banks.
 */
template <int NR> struct backward_stage {
    static const int GROUP = NR >= 32 ? 1 : 2, STAGES = 4 / GROUP;
    static const int COLUMN = GSV_TILE + 2, TILE = 8 * COLUMN + 2; /* numbers */
    static const int ROWS = 8 * GSV_TILE; /* of a step, in whose places their lists are */
    static const int PANEL_BYTES = GROUP * 8 * TILE * 8, BYTES = PANEL_BYTES + GROUP * ROWS * 4;
    static_assert(STAGES * BYTES <= 48 * 1024, "what a launch may have without asking");
};

/*
 * A backward task: eight columns of a wide supernode. A chain is row r of the tiles of every other block row;
 * warp w has the chains r = 4 (w mod 4) .. + 3 of half w / 4. The panel comes through shared memory, so that
 * whole lines are read; what a warp multiplies it with is read by no other warp and comes straight from
 * global memory. The chains meet in shared memory, in the order of reduce_lanes: 2 x 2 x 4 x 8 x NR numbers
 * and then fewer.
 */
template <int NR>
__device__ void backward_wide_tensor(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                                     const column_block &block, const double *x, double *y, double *shared) {
    constexpr int N = NR / 8, CHAINS = 4, LANE = CHAINS * N * 2;
    typedef backward_stage<NR> stage;
    constexpr int GROUP = stage::GROUP, STAGES = stage::STAGES;
    const int first_column = GSV_BACKWARD_COLUMNS * task.first;
    if (first_column < block.first || first_column >= block.end) {
        wait_for_vectors();
        return;
    }
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = warp / 4, quarter = warp % 4;
    const int column = first_column + lane / 4, nr = node.nr, nc = node.nc, r = 4 * quarter;
    const int last = (nr + GSV_TILE - 1) / GSV_TILE, top = first_column / GSV_TILE;
    const double *panel =
        static_cast<const double *>(plan.panels) + node.panel + GSV_TILE * int64_t(first_column);
    const int32_t *rows = plan.rows + node.rows;
    char *memory = reinterpret_cast<char *>(shared);

    /* Block row k of a step, of half k mod 2, counts from the last one that the steps before have left. */
    auto block_row = [&](int step, int k) { return last - 1 - 8 * step - k; };
    auto bring = [&](int number) {
        char *to = memory + number % STAGES * stage::BYTES;
#pragma unroll
        for (int s = 0; s < GROUP; s++) {
            const int step = GROUP * number + s, mine = block_row(step, warp);
            const double *from = panel + (mine >= top ? gsv_block_row_start(nc, mine) : 0);
            double *tile = reinterpret_cast<double *>(to) + (8 * s + warp) * stage::TILE;
#pragma unroll
            for (int e = 2 * lane; e < 8 * GSV_TILE; e += 64)
                begin_copy<16>(tile + e / GSV_TILE * stage::COLUMN + e % GSV_TILE, from + e,
                               mine >= top && first_column + e / GSV_TILE < nc);
            if (threadIdx.x < stage::ROWS) {
                const int i = GSV_TILE * block_row(step, threadIdx.x / GSV_TILE) + threadIdx.x % GSV_TILE;
                const bool there = i >= GSV_TILE * top && i < nr;
                begin_copy<4>(to + stage::PANEL_BYTES + (s * stage::ROWS + threadIdx.x) * 4,
                              rows + (there ? i : 0), there);
            }
        }
        commit_copies();
    };
#pragma unroll
    for (int number = 0; number < STAGES - 1; number++)
        bring(number);
    wait_for_vectors();

    double acc[CHAINS][N][2];
#pragma unroll
    for (int e = 0; e < LANE; e++)
        (&acc[0][0][0])[e] = 0;
    const int end = node.first_column + block.end; /* rows before it read x: y is for them to write */
    const int stages = (last - top + 8 * GROUP - 1) / (8 * GROUP);
    for (int number = 0; number < stages; number++) {
        wait_for_copies<STAGES - 2>();
        __syncthreads(); /* the stage is complete, and nobody reads the one before */
        const char *from = memory + number % STAGES * stage::BYTES;
        const int k = half + 2 * (lane % 4);
        double b[GROUP][CHAINS][N];
#pragma unroll
        for (int s = 0; s < GROUP; s++) {
            const int first = GSV_TILE * block_row(GROUP * number + s, k) + r;
            const int4 four = *reinterpret_cast<const int4 *>(from + stage::PANEL_BYTES +
                                                              (s * stage::ROWS + GSV_TILE * k + r) * 4);
            const int32_t row[CHAINS] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int p = 0; p < CHAINS; p++) {
                const double *vector = (row[p] < end ? x : y) + int64_t(row[p]) * NR + lane / 4;
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[s][p][n] = first >= GSV_TILE * top && first + p < nr ? vector[8 * n] : 0;
            }
        }
        bring(number + STAGES - 1);
#pragma unroll
        for (int s = 0; s < GROUP; s++) {
            const double *tile = reinterpret_cast<const double *>(from) + (8 * s + k) * stage::TILE;
            double a[CHAINS];
            load_run(tile + lane / 4 * stage::COLUMN + r, a);
#pragma unroll
            for (int p = 0; p < CHAINS; p++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(acc[p][n], a[p], b[s][p][n]);
        }
    }
    wait_for_own_copies();
    __syncthreads(); /* nobody reads or fills a stage: shared memory is free */

    /* chains 8 apart are quarters 2 apart, chains 4 apart the quarters that are left; a lane's numbers LANE +
     * 2 apart, against bank conflicts */
    double *mine = shared + ((half * 2 + quarter % 2) * 32 + lane) * (LANE + 2);
    double *flat = &acc[0][0][0];
    if (quarter >= 2)
#pragma unroll
        for (int e = 0; e < LANE; e += 2)
            *reinterpret_cast<double2 *>(mine + e) = make_double2(flat[e], flat[e + 1]);
    __syncthreads(); /* quarters 2 and 3 are there */
    if (quarter < 2) {
#pragma unroll
        for (int e = 0; e < LANE; e++)
            flat[e] += mine[e];
        if (quarter == 1)
#pragma unroll
            for (int e = 0; e < LANE; e += 2)
                *reinterpret_cast<double2 *>(mine + e) = make_double2(flat[e], flat[e + 1]);
    }
    __syncthreads(); /* quarter 1 is there, in the place of quarter 3 */
    double total[N][2];
    if (quarter == 0) {
        const double *other = mine + 32 * (LANE + 2);
#pragma unroll
        for (int e = 0; e < LANE; e++)
            flat[e] += other[e];
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int c = 0; c < 2; c++)
                total[n][c] = (acc[0][n][c] + acc[2][n][c]) + (acc[1][n][c] + acc[3][n][c]);
        if (half == 1)
#pragma unroll
            for (int n = 0; n < N; n++)
                *reinterpret_cast<double2 *>(mine + 2 * n) = make_double2(total[n][0], total[n][1]);
    }
    __syncthreads(); /* the second half's sums are there */
    if (quarter == 0 && half == 0 && column < nc) {
        const double *other = mine + 64 * (LANE + 2);
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int c = 0; c < 2; c++)
                total[n][c] = block.refuse ? not_a_number<double>() : total[n][c] + other[2 * n + c];
            store_run(&y[int64_t(node.first_column + column) * NR + 8 * n + 2 * (lane % 4)], total[n]);
        }
    }
}

/* Bytes of shared memory of a backward task. */
template <int NR> constexpr int backward_tensor_bytes() {
    constexpr int sums = 4 * 32 * (4 * (NR / 8) * 2 + 2) * int(sizeof(double)),
                  stages = backward_stage<NR>::STAGES * backward_stage<NR>::BYTES;
    return sums > stages ? sums : stages;
}

} // namespace gsv
#endif
