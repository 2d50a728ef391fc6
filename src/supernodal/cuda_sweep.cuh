/*
 * The sweeps over the tree, level by level, on panels [W; -M] (tiles.h): each level is one or two launches,
 * or a few more. The lower tree may come first, and last, in a launch of its own (cuda_branch.cuh), and for
 * one right-hand side the upper tree is a launch of its own too, not level by level (cuda_stream.cuh). The
 * products have three forms with the same sums: cuda_narrow.cuh, cuda_wide.cuh, and on tensor cores
 * cuda_tensor.cuh.
 *
 * - forward, first launch of a level. Narrow supernodes gather f1 and f2 from y and the children's update
 *   vectors, multiply, and write x(cols) and u: a group of warps each. Wide ones: y(cols) += and u = the
 *   children's update rows (assemble tasks).
 * - forward, second launch, if the level has wide supernodes. A task multiplies block rows with y(cols) and
 *   writes x(cols) or adds to u. Where wide supernodes are inverted in parts, a launch for each part.
 * - backward, one launch a level, and likewise one more for each part but the first. y(cols) =
 *   [W; -M]' [x(cols); y(rows below)]: a group of warps for a narrow supernode, a block for eight columns of
 * a wide one.
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

#include "../dense_kernels/overlap.cuh"
#include "cuda_narrow.cuh"
#include "cuda_substitute.cuh"
#include "cuda_tensor.cuh"
#include "cuda_transfer.cuh"

namespace gsv {

/*
 * The form of a kernel. A level with few narrow supernodes is about latency: many warps for each (FEW). A
 * level with many is about throughput: as few as their rows keep busy (MANY). Neither changes any sum. Where
 * a triangle of the factor is kept for substitution, all levels run the form that can substitute
 * (SUBSTITUTE): it costs registers. The others answer NaN for such a supernode, so that a graph captured
 * before a refresh that brought the first one gives no wrong answer; and so does a level with fewer passes
 * than a supernode has parts.
 */
enum kernel_mode { MANY, FEW, SUBSTITUTE };

template <kernel_mode MODE> struct level_shape {
    static const int SMALL = MODE == FEW ? 8 : 4, TINY = MODE == FEW ? 4 : 1;
};

/* Blocks of a kernel that an SM shall hold: what its registers allow without spilling. */
template <typename T, int NR> constexpr int resident() {
    constexpr int bytes = NR * int(sizeof(T)) * (traits<T>::is_complex ? 4 : 1);
    if (on_tensor_cores<T, NR>::value)
        return NR == 8 ? 3 : 2; /* three spill a little, and are faster: there is more under way */
    return bytes <= 4 ? 4 : bytes <= 32 ? 3 : bytes <= 128 ? 2 : 1;
}

/* The part of a level that one launch is about. */
struct level_part {
    const gsv_node *small, *tiny;
    const gsv_task *tasks; /* assemble, or backward */
    int32_t small_count, tiny_count, task_count;
    wide_pass turn;
    bool leaf; /* no supernode of the level has children */
};

/* So many blocks for count supernodes, each with WARPS warps. */
template <int WARPS> __host__ __device__ __forceinline__ int blocks_for(int count) {
    return (count + BLOCK_WARPS / WARPS - 1) / (BLOCK_WARPS / WARPS);
}

/* This warp's supernode of a list, block `block` of those that the list takes; NULL past its end. */
template <int WARPS>
__device__ __forceinline__ const gsv_node *node_of_warp(const gsv_node *list, int count, int block) {
    const int k = block * (BLOCK_WARPS / WARPS) + threadIdx.x / (32 * WARPS);
    return k < count ? &list[k] : nullptr;
}

/* A narrow supernode by WARPS warps, in the form that suits it. */
template <typename T, int NR, int WARPS, bool SUBSTITUTES>
__device__ __forceinline__ void forward_node(const gsv_device_plan &plan, const gsv_node &node, const T *y,
                                             T *x, T *u, T *f1, bool leaf) {
    if constexpr (on_tensor_cores<T, NR>::value)
        if (!SUBSTITUTES || node.parts) {
            forward_narrow_tensor<NR, WARPS>(plan, node, y, x, u, f1, leaf);
            return;
        }
    if constexpr (!on_tensor_cores<T, NR>::value || SUBSTITUTES)
        forward_narrow<T, NR, WARPS, SUBSTITUTES>(plan, node, y, x, u, f1, leaf);
}

template <typename T, int NR, int WARPS, bool SUBSTITUTES>
__device__ __forceinline__ void backward_node(const gsv_device_plan &plan, const gsv_node &node, const T *x,
                                              T *y) {
    if constexpr (on_tensor_cores<T, NR>::value)
        if (!SUBSTITUTES || node.parts) {
            backward_narrow_tensor<NR, WARPS>(plan, node, x, y);
            return;
        }
    if constexpr (!on_tensor_cores<T, NR>::value || SUBSTITUTES)
        backward_narrow<T, NR, WARPS, SUBSTITUTES>(plan, node, x, y);
}

/* First launch of a level: blocks for small supernodes, for tiny ones, and for assemble tasks. */
template <typename T, int NR, kernel_mode MODE>
__global__ void __launch_bounds__(BLOCK, resident<T, NR>())
    forward_first_kernel(gsv_device_plan plan, T *y, T *x, T *u, level_part part) {
    constexpr int SMALL = level_shape<MODE>::SMALL, TINY = level_shape<MODE>::TINY;
    constexpr int STRIDE = on_tensor_cores<T, NR>::value ? tensor_row<NR>::STRIDE : NR;
    __shared__ alignas(16) T f1[BLOCK_WARPS * GSV_TINY_COLUMNS * STRIDE];
    const int warp = threadIdx.x / 32;
    int block = blockIdx.x;
    const gsv_node *node = nullptr;
    if (block < blocks_for<SMALL>(part.small_count)) {
        node = node_of_warp<SMALL>(part.small, part.small_count, block);
        if (node)
            forward_node<T, NR, SMALL, MODE == SUBSTITUTE>(
                plan, *node, y, x, u, f1 + warp / SMALL * GSV_NARROW_COLUMNS * STRIDE, part.leaf);
        else
            wait_for_vectors();
        return;
    }
    block -= blocks_for<SMALL>(part.small_count);
    if (block < blocks_for<TINY>(part.tiny_count)) {
        node = node_of_warp<TINY>(part.tiny, part.tiny_count, block);
        if (node)
            forward_node<T, NR, TINY, MODE == SUBSTITUTE>(
                plan, *node, y, x, u, f1 + warp / TINY * GSV_TINY_COLUMNS * STRIDE, part.leaf);
        else
            wait_for_vectors();
        return;
    }
    block -= blocks_for<TINY>(part.tiny_count);
    assemble_wide<T, NR>(plan, part.tasks[block], y, u);
}

/* Second launch of a level: the forward tasks of wide supernodes. */
template <typename T, int NR, bool SUBSTITUTES>
__global__ void __launch_bounds__(BLOCK, resident<T, NR>())
    forward_wide_kernel(gsv_device_plan plan, T *y, T *x, T *u, const gsv_task *tasks, wide_pass turn,
                        bool leaf) {
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    const gsv_task task = tasks[blockIdx.x];
    const gsv_node node = plan.wide[task.supernode];
    T *memory = reinterpret_cast<T *>(shared);
    const column_block block(node, turn, false);
    if (SUBSTITUTES && !node.parts) {
        if (task.first == 0 && turn.pass == 0)
            substitute_forward_wide<T, NR>(plan, node, y, x, u, leaf, memory);
        else
            wait_for_vectors();
    } else if (block.first >= node.nc)
        wait_for_vectors();
    else if (node.nc <= GSV_WARP_TILE_COLUMNS) {
        if constexpr (on_tensor_cores<T, NR>::value)
            forward_warp_tiles_tensor<NR>(plan, task, node, block, y, x, u, leaf);
        else
            forward_warp_tiles<T, NR>(plan, task, node, block, y, x, u, leaf);
    } else
        forward_block_tile<T, NR>(plan, task, node, block, y, x, u, leaf, memory);
}

template <typename T, int NR>
__device__ __forceinline__ void backward_task(const gsv_device_plan &plan, const gsv_task &task,
                                              const gsv_node &node, const column_block &block, const T *x,
                                              T *y, T *shared) {
    if constexpr (on_tensor_cores<T, NR>::value)
        backward_wide_tensor<NR>(plan, task, node, block, x, y, shared);
    else
        backward_wide<T, NR>(plan, task, node, block, x, y, shared);
}

/* A level of the backward sweep: wide tasks on the first blocks, for they are the longest. */
template <typename T, int NR, kernel_mode MODE>
__global__ void __launch_bounds__(BLOCK, resident<T, NR>())
    backward_kernel(gsv_device_plan plan, const T *x, T *y, level_part part) {
    constexpr int SMALL = level_shape<MODE>::SMALL, TINY = level_shape<MODE>::TINY;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    int block = blockIdx.x;
    const gsv_node *node = nullptr;
    if (block < part.task_count) {
        const gsv_task task = part.tasks[block];
        const gsv_node wide = plan.wide[task.supernode];
        T *memory = reinterpret_cast<T *>(shared);
        if (MODE != SUBSTITUTE || wide.parts)
            backward_task<T, NR>(plan, task, wide, column_block(wide, part.turn, true), x, y, memory);
        else if (task.first == 0 && part.turn.pass == 0)
            substitute_backward_wide<T, NR>(plan, wide, x, y, memory);
        else
            wait_for_vectors();
        return;
    }
    block -= part.task_count;
    if (block < blocks_for<SMALL>(part.small_count)) {
        node = node_of_warp<SMALL>(part.small, part.small_count, block);
        if (node)
            backward_node<T, NR, SMALL, MODE == SUBSTITUTE>(plan, *node, x, y);
        else
            wait_for_vectors();
        return;
    }
    block -= blocks_for<SMALL>(part.small_count);
    node = node_of_warp<TINY>(part.tiny, part.tiny_count, block);
    if (node)
        backward_node<T, NR, TINY, MODE == SUBSTITUTE>(plan, *node, x, y);
    else
        wait_for_vectors();
}

/* ----------------------------------------------------------------------------------- in, out, scaling --- */

/* to(i, c) = from(perm[i], c), zero from from.columns on. For one right-hand side a block has rows of the
 * vector, for more rows of the user's: whole rows can be written anywhere. inverse: of perm. Who is stale loads
 * NaNs. Fills what the sweeps want ABSENT (published.cuh), but for what the branches' forward kernel fills. */
template <typename N, int NR, int CUT, bool SIDE>
__global__ void __launch_bounds__(BLOCK)
    load_kernel(int32_t n, const int32_t *perm, const int32_t *inverse, gsv_device_dense from,
                vector_number<N> *to, absent_fill fill, gsv_stream_state *state, gsv_stamp stamp,
                int64_t side_upper) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, NR, CUT> transfer;
    if constexpr (SIDE) {
        from.values = of_group(static_cast<P *>(from.values), NR * from.column_stride);
        from.columns -= NR * blockIdx.y;
        to = of_group(to, int64_t(n) * NR);
        fill.at = of_group(fill.at, side_upper * int64_t(sizeof(T)) / 16);
        state = of_group(state, 1);
    }
    wait_for_vectors(); /* the sweep may begin to read its panels */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        state->broken = 0; /* the waits of the solve before have ended */
    __shared__ T tile[transfer::ROWS * transfer::STRIDE];
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    const P *values = static_cast<const P *>(from.values);
    if (NR > 1)
        perm = nullptr;
    else
        inverse = nullptr;
    const typename transfer::share own = transfer::share_of_thread(from, n, first, 0);
    P value[transfer::EACH];
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        value[k] = k >= own.there ? make<P>(0)
                   : perm ? values[perm[first + threadIdx.x] * from.row_stride] /* one right-hand side */
                          : values[own.place + k * own.step];
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    fill.write_block(); /* while the values are on their way */
    const bool stale = is_stale(stamp);
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++)
        tile[own.tile + k * own.tile_step] = stale ? not_a_number<T>() : number_as<T>(value[k]);
    __syncthreads(); /* the tile is complete */
#pragma unroll
    for (int k = 0; k < transfer::RUNS; k++)
        if (row[k] >= 0) {
            T run[transfer::RUN];
#pragma unroll
            for (int j = 0; j < transfer::RUN; j++)
                run[j] = tile[transfer::run_place(k) + j];
            store_run_global(&to[int64_t(row[k]) * NR + transfer::run_column()], run);
        }
}

/* to(perm[i], c) = from(i, c): a block has rows of the user's. */
template <typename N, int NR, int CUT, bool SIDE>
__global__ void __launch_bounds__(BLOCK)
    store_kernel(int32_t n, const int32_t *inverse, const vector_number<N> *from, gsv_device_dense to) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    typedef gsv::transfer<T, NR, CUT> transfer;
    __shared__ T tile[transfer::ROWS * transfer::STRIDE];
    const int64_t first = int64_t(blockIdx.x) * transfer::ROWS;
    if constexpr (SIDE) {
        to.values = of_group(static_cast<P *>(to.values), NR * to.column_stride);
        to.columns -= NR * blockIdx.y;
        from = of_group(from, int64_t(n) * NR);
    }
    P *values = static_cast<P *>(to.values);
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    wait_for_vectors();
    T run[transfer::RUNS][transfer::RUN];
#pragma unroll
    for (int k = 0; k < transfer::RUNS; k++)
        if (row[k] >= 0)
            load_run(&from[int64_t(row[k]) * NR + transfer::run_column()], run[k]);
    const typename transfer::share own = transfer::share_of_thread(to, n, first, 0);
#pragma unroll
    for (int k = 0; k < transfer::RUNS; k++)
        if (row[k] >= 0) {
#pragma unroll
            for (int j = 0; j < transfer::RUN; j++)
                tile[transfer::run_place(k) + j] = run[k][j];
        }
    __syncthreads(); /* the tile is complete */
    P *at = values + own.place;
    const T *number = tile + own.tile;
#pragma unroll
    for (int k = 0; k < transfer::EACH; k++, at += own.step, number += own.tile_step)
        if (k < own.there)
            *at = number_as<P>(*number);
}

template <typename N, int NR>
__global__ void scale_kernel(int32_t n, const typename traits<N>::real *d, vector_number<N> *v) {
    const int64_t e = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (e < int64_t(n) * NR)
        v[e] = divide_real<vector_number<N>>(v[e], d[e / NR]);
}

} // namespace gsv
#endif
