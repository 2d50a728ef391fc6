/*
 * The sweeps for many right-hand sides, 64 to 256 columns at a time.
 *
 * The same products as in cuda_sweep.cuh, [x1; u] = [W; -M] f1 + [0; f2] and its transpose, but the vectors
 * are blocks as wide as a matrix: a solve is bound by flops, 4 nnz(L) a column, and by what its vectors move,
 * no longer by the panels. For 216000 columns of L with 88 million numbers (grid3d:60) and 256 right-hand
 * sides: 90 Gflop are 1.6 ms at the rate of DGEMM (57.5 Tflop/s); y and x, written and read once a sweep and
 * brought in and out, are 3.5 GB, 0.8 ms; 0.8 million rows of update vectors (5 a column of L in all, but a
 * branch keeps its own in shared memory), written, and read forward and, as rows of the solution, backward,
 * are 5 GB, 1.1 ms of the memory's time or less, for the upper tree's are in the L2 cache now and then.
 *
 * - Branches (branches.h): a block walks a branch for a few right-hand sides at a time, all of its vectors in
 *   shared memory (cuda_many_branch.cuh).
 * - The upper tree: level by level. Forward, a launch solves the narrow supernodes (cuda_many_narrow.cuh) and
 * adds to y(own columns) of the others what the children owe; the next has these others' tiles
 * (cuda_many_tile.cuh), which write x(own columns) and u, the children's rows added as they go; where the
 * tiles' terms are cut (many.h) a third adds the partial sums. Backward, tiles and sums likewise. A level
 * whose triangles are inverted in parts repeats all but the first for each part.
 *
 * Order: a launch begins while the one before it ends, and waits in wait_for_vectors() for all of it. No
 * block waits for another.
 *
 * Bits. The sums have a fixed order: sixteen terms after sixteen, range after range (cuda_many_tile.cuh; one
 * by one in narrow supernodes and branches); children in the order of gsv_tiles.gather. It depends on the
 * factor alone, so a column has the same bits wherever it stands and whatever stands beside it. But it is not
 * the order of cuda_sweep.cuh, where a sum has sixteen chains: that many sums of a 32 x 32 tile do not fit
 * into a warp's registers.
 *
 * Limits: supernodes that are solved by substitution are refused (NaN): the executor takes such factors 32
 * columns at a time, by cuda_sweep.cuh.
 */
#ifndef GSV_CUDA_MANY_CUH
#define GSV_CUDA_MANY_CUH

#include "cuda_many_narrow.cuh"

namespace gsv {

/*
 * Row i of a forward tile: N runs of two right-hand sides from c on, `apart` apart. Own columns of the column
 * block are x; those of blocks to come have the product added to y; rows below are u, and what the children
 * owe has been added, or, in passes to come, u is there.
 */
template <typename T, int N>
__device__ __forceinline__ void many_finish_forward(const many_tile &tile, int i, int c, int apart, T *y,
                                                    T *x, T *u, T (&sum)[N][2]) {
    const gsv_node &node = tile.node;
    if (i < tile.block.first || i >= node.nr)
        return;
    T *to = i < tile.block.end ? x + int64_t(node.first_column + i) * tile.columns
            : i < node.nc      ? y + int64_t(node.first_column + i) * tile.columns
                               : u + (node.update + i - node.nc) * tile.columns;
#pragma unroll
    for (int t = 0; t < N; t++) {
        T *at = to + c + t * apart;
        if (i >= tile.block.end && (i < node.nc || tile.block.first > 0)) {
            T f[2];
            load_run(at, f);
            sum[t][0] = add(f[0], sum[t][0]);
            sum[t][1] = add(f[1], sum[t][1]);
        }
        if (tile.block.refuse)
            sum[t][0] = sum[t][1] = not_a_number<T>();
        store_run(at, sum[t]);
    }
}

/* Column j of a backward tile. */
template <typename T, int N>
__device__ __forceinline__ void many_finish_backward(const many_tile &tile, int j, int c, int apart, T *y,
                                                     T (&sum)[N][2]) {
    if (j < tile.block.first || j >= tile.block.end)
        return;
#pragma unroll
    for (int t = 0; t < N; t++) {
        if (tile.block.refuse)
            sum[t][0] = sum[t][1] = not_a_number<T>();
        store_run(y + int64_t(tile.node.first_column + j) * tile.columns + c + t * apart, sum[t]);
    }
}

__device__ __forceinline__ many_tile many_tile_of(const gsv_device_plan &plan, const gsv_many_task &task,
                                                  wide_pass turn, bool backward, int groups) {
    const gsv_node node = many_node(plan, task.node);
    const column_block block(node, turn, backward);
    many_tile tile = {node,
                      block,
                      task.first,
                      task.begin > block.first ? task.begin : block.first,
                      backward || task.end < block.end ? task.end : block.end,
                      groups * GSV_MANY_COLUMNS,
                      int(blockIdx.x) % groups * GSV_MANY_COLUMNS,
                      0,
                      0};
    const int corner = task.first + GSV_MANY_ROWS < node.nc ? task.first + GSV_MANY_ROWS : node.nc;
    tile.inside = backward ? (corner + GSV_TILE - 1) / GSV_TILE * GSV_TILE - GSV_TILE : tile.begin;
    tile.inside_end = backward || tile.end < task.first + GSV_TILE ? tile.end : task.first + GSV_TILE;
    return tile;
}

/* Has the tile rows, or columns, that this pass is about? */
__device__ __forceinline__ bool many_is_concerned(const many_tile &tile, bool backward) {
    return tile.block.first < tile.node.nc && tile.first + GSV_MANY_ROWS > tile.block.first &&
           (!backward || tile.first < tile.block.end);
}

/* What the children owe row i, where the tile is to add it. */
__device__ __forceinline__ many_children many_owed(const gsv_device_plan &plan, const many_tile &tile,
                                                   int i) {
    if (i < tile.node.nc || i >= tile.node.nr || tile.block.first > 0)
        return {0, 0, {0, 0}};
    return many_children_of(plan, tile.node.rows + i);
}

/* The tiles of a level. partial: partial sums of the tiles that are cut. DIVIDED: some triangle of the level
 * is inverted in parts (cuda_many_tile.cuh). */
template <typename T, bool BACKWARD, bool DIVIDED>
__global__ void __launch_bounds__(BLOCK, many_shape<T>::RESIDENT)
    many_tile_kernel(gsv_device_plan plan, const gsv_many_task *tasks, int groups, T *y, T *x, T *u,
                     T *partial, wide_pass turn) {
    extern __shared__ int4 shared[];
    __shared__ alignas(16) char memory[sizeof(many_tile)]; /* what all threads know alike: not in registers */
    __shared__ many_children children[BACKWARD ? 1 : GSV_MANY_ROWS];
    const gsv_many_task &task = tasks[blockIdx.x / groups];
    many_tile &tile = *reinterpret_cast<many_tile *>(memory);
    if (threadIdx.x == 0)
        tile = many_tile_of(plan, task, turn, BACKWARD, groups);
    __syncthreads(); /* the tile is there */
    if (!BACKWARD && task.slot < 0 && threadIdx.x < GSV_MANY_ROWS)
        children[threadIdx.x] = many_owed(plan, tile, tile.first + int(threadIdx.x));
    wait_for_vectors();
    if (!many_is_concerned(tile, BACKWARD))
        return;
    fragment<T, 4, 32> sums;
    many_product_block<T, BACKWARD, DIVIDED>(plan, tile, BACKWARD ? x : y, y, reinterpret_cast<T *>(shared),
                                             sums);
    T result[4][4][2];
    sums.result(result);
    const int lane = threadIdx.x % 32, r = many_warp_row() + lane / 4;
    const int c = tile.c0 + many_warp_column() + 2 * (lane % 4);
    if (task.slot >= 0) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            T *to = partial + (int64_t(task.slot) * GSV_MANY_ROWS + r + 8 * i) * tile.columns + c;
#pragma unroll
            for (int t = 0; t < 4; t++)
                store_run(to + 8 * t, result[i][t]);
        }
        return;
    }
    if (BACKWARD) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            many_finish_backward(tile, tile.first + r + 8 * i, c, 8, y, result[i]);
        return;
    }
    __syncthreads(); /* the children's lists are there, if the product has no steps */
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        T(&two)[2][4][2] = *reinterpret_cast<T(*)[2][4][2]>(&result[i]);
        const many_children owed[2] = {children[r + 8 * i], children[r + 8 * i + 8]};
        many_add_children(plan, u, owed, tile.columns, c, 8, two);
        many_finish_forward(tile, tile.first + r + 8 * i, c, 8, y, x, u, two[0]);
        many_finish_forward(tile, tile.first + r + 8 * i + 8, c, 8, y, x, u, two[1]);
    }
}

enum { MANY_SUM_ROWS = 8 }; /* rows of a block of many_sum_kernel */

/* Adds the partial sums of the tiles that are cut. A block: eight rows of a tile, two of a row's numbers a
 * thread. */
template <typename T, bool BACKWARD>
__global__ void __launch_bounds__(BLOCK)
    many_sum_kernel(gsv_device_plan plan, const gsv_many_task *tasks, int groups, T *y, T *x, T *u,
                    const T *partial, wide_pass turn) {
    constexpr int SHARES = GSV_MANY_ROWS / MANY_SUM_ROWS;
    const gsv_many_task task = tasks[blockIdx.x / (groups * SHARES)];
    const many_tile tile = many_tile_of(plan, task, turn, BACKWARD, groups);
    const int share = blockIdx.x / groups % SHARES, c = tile.c0 + threadIdx.x % 32 * 2;
    wait_for_vectors();
    if (!many_is_concerned(tile, BACKWARD))
        return;
#pragma unroll
    for (int r = 0; r < MANY_SUM_ROWS; r += BLOCK_WARPS) {
        const int row = share * MANY_SUM_ROWS + r + threadIdx.x / 32, i = tile.first + row;
        const T *from = partial + (int64_t(task.slot) * GSV_MANY_ROWS + row) * tile.columns + c;
        T sums[1][1][2], (&sum)[1][2] = sums[0];
        load_run(from, sum[0]);
#pragma unroll 4
        for (int k = 1; k < task.slots; k++) {
            T term[2];
            load_run(from + int64_t(k) * GSV_MANY_ROWS * tile.columns, term);
            sum[0][0] = add(sum[0][0], term[0]);
            sum[0][1] = add(sum[0][1], term[1]);
        }
        if (BACKWARD)
            many_finish_backward(tile, i, c, 0, y, sum);
        else {
            const many_children owed[1] = {many_owed(plan, tile, i)};
            many_add_children(plan, u, owed, tile.columns, c, 0, sums);
            many_finish_forward(tile, i, c, 0, y, x, u, sum);
        }
    }
}

/* ----------------------------------------------------------------------------------- in, out, scaling --- */

/* Rows and columns of a block of the two kernels below: 32 x 32 numbers, in shared memory between reading in
 * the one direction and writing in the other. */
enum { MANY_TRANSFER = 32 };

/* visit(row, column) for this thread's share of 32 x 32, by turns; neighbours along rows or columns. */
template <typename Visit> __device__ __forceinline__ void many_along(bool rows, Visit visit) {
#pragma unroll
    for (int k = 0; k < MANY_TRANSFER * MANY_TRANSFER / BLOCK; k++) {
        const int e = k * BLOCK + threadIdx.x, a = e % MANY_TRANSFER, b = e / MANY_TRANSFER;
        visit(rows ? a : b, rows ? b : a);
    }
}

/* to(inverse ? inverse[i] : i, c) = from(i, c), zero from from.columns on. */
template <typename T>
__global__ void __launch_bounds__(BLOCK)
    many_load_kernel(int32_t n, const int32_t *inverse, gsv_device_dense from, T *to) {
    __shared__ T tile[MANY_TRANSFER][MANY_TRANSFER + 1];
    const int64_t first = int64_t(blockIdx.x) * MANY_TRANSFER;
    const int columns = gridDim.y * MANY_TRANSFER, c0 = blockIdx.y * MANY_TRANSFER;
    const T *values = static_cast<const T *>(from.values);
    many_along(from.row_stride == 1, [&](int r, int c) {
        const int64_t i = first + r;
        tile[r][c] = i < n && c0 + c < from.columns
                         ? values[i * from.row_stride + (c0 + c) * from.column_stride]
                         : make<T>(0);
    });
    __syncthreads(); /* the tile is complete */
    many_along(false, [&](int r, int c) {
        const int64_t i = first + r;
        if (i < n)
            to[(inverse ? inverse[i] : i) * columns + c0 + c] = tile[r][c];
    });
}

/* to(i, c) = from(inverse ? inverse[i] : i, c) */
template <typename T>
__global__ void __launch_bounds__(BLOCK)
    many_store_kernel(int32_t n, const int32_t *inverse, const T *from, gsv_device_dense to) {
    __shared__ T tile[MANY_TRANSFER][MANY_TRANSFER + 1];
    const int64_t first = int64_t(blockIdx.x) * MANY_TRANSFER;
    const int columns = gridDim.y * MANY_TRANSFER, c0 = blockIdx.y * MANY_TRANSFER;
    T *values = static_cast<T *>(to.values);
    many_along(false, [&](int r, int c) {
        const int64_t i = first + r;
        if (i < n)
            tile[r][c] = from[(inverse ? inverse[i] : i) * columns + c0 + c];
    });
    __syncthreads(); /* the tile is complete */
    many_along(to.row_stride == 1, [&](int r, int c) {
        const int64_t i = first + r;
        if (i < n && c0 + c < to.columns)
            values[i * to.row_stride + (c0 + c) * to.column_stride] = tile[r][c];
    });
}

template <typename T>
__global__ void many_scale_kernel(int32_t n, const typename traits<T>::real *d, T *v, int columns) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * columns)
        v[e] = divide_real(v[e], d[e / columns]);
}

} // namespace gsv
#endif
