/*
 * Branches (branches.h): the lower tree, a subtree to a block of threads. The block copies the branch's
 * panels [W; -M] and lists to shared memory, which it may do before the vectors are there, and then walks the
 * subtree with barriers between its levels. Its vectors are in shared memory too, CHUNK right-hand sides at a
 * time: the panels are read once for all of them. One right-hand side has kernels of its own
 * (cuda_branch_one.cuh).
 *
 *      forward   level by level up. First a warp takes a node and adds what the children owe its own rows to
 *                y(cols); then a warp takes 32 rows of a front, a row a lane: x1 = W y(cols),
 *                u = f2 - M y(cols). x goes to global memory, and so do the update vectors of the branch's
 *                roots in the end.
 *      backward  level by level down, a warp to four columns: y(cols) = [W; -M]' [x(cols); y(rows below)],
 *                eight lanes a column, each with every eighth row.
 *
 * Bits. A forward result is f2, then its terms in ascending k, one by one; children in the order of the list.
 * A backward result is the sum of eight partial sums in ascending rows, as a tree. Neither depends on CHUNK.
 *
 * Synchronisation: barriers of the block, and wait_for_vectors. No block waits for another.
 *
 * Traffic: panels, 2 to 4 bytes of lists a front row, y, x and the outside rows once. A level costs one or
 * two barriers and two to four shared-memory reads that depend on each other, about half a microsecond.
 */
#ifndef GSV_CUDA_BRANCH_CUH
#define GSV_CUDA_BRANCH_CUH

#include "../dense_kernels/async_copy.cuh"
#include "../dense_kernels/overlap.cuh"
#include "cuda_gather.cuh"
#include "cuda_l2.cuh"

namespace gsv {

enum { BRANCH_BLOCK = 256, BRANCH_WARPS = BRANCH_BLOCK / 32 };

/* Rows of vectors in shared memory are padded so that eight of them start in different banks. */
template <typename T, int CHUNK> struct branch_row {
    static const int STRIDE = CHUNK + (sizeof(T) < 16 ? 16 / int(sizeof(T)) : 1);
};

/* Where things are in a block's shared memory, in bytes. */
struct branch_room {
    int lists, vector, second, bytes; /* the panels begin at 0 */
};

__host__ __device__ inline int round_up_16(int64_t bytes) {
    return int((bytes + 15) / 16 * 16);
}

/* second: the update rows of the forward sweep, or x of the backward sweep. */
template <typename T, int CHUNK> branch_room make_branch_room(const gsv_branches &branches) {
    const int64_t row = branch_row<T, CHUNK>::STRIDE * int64_t(sizeof(T));
    const int updates =
        branches.most_updates > branches.most_vector ? branches.most_updates : branches.most_vector;
    branch_room room;
    room.lists = round_up_16(branches.most_numbers * int64_t(sizeof(T)));
    room.vector = room.lists + round_up_16(branches.most_lists * int64_t(sizeof(uint16_t)));
    room.second = room.vector + round_up_16(branches.most_vector * row);
    room.bytes = room.second + round_up_16(updates * row);
    return room;
}

/* A branch's record in one trip: of fields that are read where they are wanted, a block waits for one after the
 * other, and the compiler reads them there unless it is told. */
__device__ __forceinline__ gsv_branch read_branch(const gsv_device_plan &plan, int which) {
    constexpr int WORDS = sizeof(gsv_branch) / sizeof(uint4);
    static_assert(sizeof(gsv_branch) % sizeof(uint4) == 0, "whole words");
    const uint4 *from = reinterpret_cast<const uint4 *>(plan.branches + which);
    uint4 word[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[k].x), "=r"(word[k].y), "=r"(word[k].z), "=r"(word[k].w)
                     : "l"(from + k));
    gsv_branch branch;
    memcpy(&branch, word, sizeof branch);
    return branch;
}

/* A launch over branches: its first one, how many there are in all its sweep's launches, and how many are walked at a
 * time, about. */
struct branch_launch {
    int first, all, at_once;
    launch_part part;
};

struct memory_run {
    const void *from;
    int bytes;
};

/* Lets L2 have what a block brings that begins when this one's time is over: panels, lists(its record) and, if wanted,
 * the list of its outside rows; and the record of one that begins later yet. By a warp, when all that its own block
 * waits for has been requested: blocks that begin together read together, and memory has nothing to do while they all
 * walk. P: the panels' numbers. */
template <typename P, bool OUTSIDE, typename Lists>
__device__ __forceinline__ void prefetch_branch_warp(const gsv_device_plan &plan, int which,
                                                     const branch_launch &launch, const Lists &lists) {
    const int lane = threadIdx.x % 32, next = which + launch.at_once;
    if (next >= launch.all)
        return;
    const gsv_branch later = read_branch(plan, next);
    if (lane == 0)
        prefetch_run(static_cast<const P *>(plan.panels) + later.panel,
                     round_up_16(later.numbers * int64_t(sizeof(P))));
    if (lane == 1) {
        const memory_run run = lists(later);
        prefetch_run(run.from, run.bytes);
    }
    if (lane == 2 && next + launch.at_once < launch.all)
        prefetch(&plan.branches[next + launch.at_once]);
    if (OUTSIDE && lane > 2)
        for (int i = 32 * (lane - 3); i < later.outside_rows; i += 32 * 29)
            prefetch(plan.outside_row + later.outside + i);
}

/* Begin to copy bytes, a multiple of 16 on multiples of 16, to shared memory. THREADS: of the block, 0 where that
 * is not known. */
template <int THREADS>
__device__ __forceinline__ void begin_copy_block(void *to, const void *from, int bytes) {
    const unsigned shared = unsigned(__cvta_generic_to_shared(to));
    for (int at = 16 * threadIdx.x; at < bytes; at += 16 * (THREADS > 0 ? THREADS : int(blockDim.x)))
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + at),
                     "l"(static_cast<const char *>(from) + at)
                     : "memory");
}

/* Bring the panels, the nodes and the lists begin .. end - 1 of `at`; returns where list number `begin` would
 * start if all lists were there. */
template <typename T>
__device__ __forceinline__ void begin_branch(const gsv_device_plan &plan, const gsv_branch &branch,
                                             char *memory, const branch_room &room, int begin, int end) {
    begin_copy_block<BRANCH_BLOCK>(memory, static_cast<const T *>(plan.panels) + branch.panel,
                                   round_up_16(branch.numbers * int64_t(sizeof(T))));
    const uint16_t *lists = plan.branch_lists + branch.lists;
    uint16_t *to = reinterpret_cast<uint16_t *>(memory + room.lists);
    begin_copy_block<BRANCH_BLOCK>(to, lists, 2 * branch.at[GSV_AT_LEVEL_NODES]);
    begin_copy_block<BRANCH_BLOCK>(to + branch.at[begin], lists + branch.at[begin],
                                   2 * (branch.at[end] - branch.at[begin]));
}

template <typename T, int CHUNK>
__global__ void __launch_bounds__(BRANCH_BLOCK, 2)
    branch_forward_kernel(gsv_device_plan plan, const T *y, T *x, T *u, int nrhs, branch_room room) {
    constexpr int STRIDE = branch_row<T, CHUNK>::STRIDE;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    const gsv_branch branch = read_branch(plan, blockIdx.x);
    begin_branch<T>(plan, branch, memory, room, GSV_AT_LEVEL_NODES, GSV_AT_BACKWARD_LEVELS);
    const T *panels = reinterpret_cast<const T *>(memory);
    const uint16_t *lists = reinterpret_cast<const uint16_t *>(memory + room.lists);
    const gsv_branch_node *nodes = reinterpret_cast<const gsv_branch_node *>(lists);
    const uint16_t *level_nodes = lists + branch.at[GSV_AT_LEVEL_NODES];
    const uint16_t *level_units = lists + branch.at[GSV_AT_FORWARD_LEVELS];
    const uint16_t *units = lists + branch.at[GSV_AT_FORWARD_UNITS];
    const uint16_t *gather_ptr = lists + branch.at[GSV_AT_GATHER_PTR];
    const uint16_t *gather = lists + branch.at[GSV_AT_GATHER];
    T *f = reinterpret_cast<T *>(memory + room.vector);
    T *updates = reinterpret_cast<T *>(memory + room.second);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int columns = branch.columns, levels = branch.levels, outside = branch.outside_rows;
    const bool refuse = branch.refuse; /* this kernel cannot (cuda_sweep.cuh) */
    T *shared_updates = u + (plan.outside_update + branch.outside) * nrhs;
    y += int64_t(branch.first_column) * nrhs;
    x += int64_t(branch.first_column) * nrhs;
    wait_for_vectors();

    for (int c0 = 0; c0 < nrhs; c0 += CHUNK) {
        for (int e = threadIdx.x; e < columns * CHUNK; e += BRANCH_BLOCK)
            f[e / CHUNK * STRIDE + e % CHUNK] = y[int64_t(e / CHUNK) * nrhs + c0 + e % CHUNK];
        if (c0 == 0)
            wait_for_own_copies();
        __syncthreads(); /* panels, lists and f are there; nobody reads the updates of the chunk before */
        for (int level = 0; level < levels; level++) {
            /* where every node is one unit, its warp can add to its columns too */
            const bool alone =
                level_units[level + 1] - level_units[level] == level_nodes[level + 1] - level_nodes[level];
            for (int k = level_nodes[level] + warp; level > 0 && !alone && k < level_nodes[level + 1];
                 k += BRANCH_WARPS) {
                const gsv_branch_node node = nodes[k];
                for (int e = lane; e < node.nc * CHUNK; e += 32) {
                    const int i = e / CHUNK, c = e % CHUNK;
                    const int end = gather_ptr[node.gather + i + 1];
                    T sum = f[(node.column + i) * STRIDE + c];
                    for (int g = gather_ptr[node.gather + i]; g < end; g++)
                        sum = add(sum, updates[gather[g] * STRIDE + c]);
                    f[(node.column + i) * STRIDE + c] = sum;
                }
            }
            if (level > 0 && !alone)
                __syncthreads(); /* f of the level is complete */
            for (int k = level_units[level] + warp; k < level_units[level + 1]; k += BRANCH_WARPS) {
                const gsv_branch_node node = nodes[units[2 * k]];
                const int i = units[2 * k + 1] + lane, nr = node.nr, nc = node.nc;
                T sum[CHUNK];
#pragma unroll
                for (int c = 0; c < CHUNK; c++)
                    sum[c] = make<T>(0);
                if (i >= nc && i < nr && level > 0) {
                    const int end = gather_ptr[node.gather + i + 1];
                    for (int g = gather_ptr[node.gather + i]; g < end; g++) {
                        T term[CHUNK];
                        load_run(&updates[gather[g] * STRIDE], term);
#pragma unroll
                        for (int c = 0; c < CHUNK; c++)
                            sum[c] = add(sum[c], term[c]);
                    }
                }
                if (level > 0 && alone) {
                    if (i < nc) {
                        T *own = &f[(node.column + i) * STRIDE];
                        const int end = gather_ptr[node.gather + i + 1];
                        for (int g = gather_ptr[node.gather + i]; g < end; g++)
#pragma unroll
                            for (int c = 0; c < CHUNK; c++)
                                own[c] = add(own[c], updates[gather[g] * STRIDE + c]);
                    }
                    __syncwarp(); /* the node's part of f is complete */
                }
                const T *column = panels + node.panel + (i < nr ? i : nr - 1);
                const T *v = f + node.column * STRIDE;
                const int last = i < nc ? i + 1 : nc;
#pragma unroll 4
                for (int p = 0; p < nc; p++) {
                    const T a = *column;
                    T b[CHUNK];
                    load_run(v + p * STRIDE, b);
                    column += nr - p - 1;
                    if (p < last)
#pragma unroll
                        for (int c = 0; c < CHUNK; c++)
                            sum[c] = multiply_add(sum[c], a, b[c]);
                }
                if (refuse)
#pragma unroll
                    for (int c = 0; c < CHUNK; c++)
                        sum[c] = not_a_number<T>();
                if (i < nc)
                    store_run(&x[int64_t(node.column + i) * nrhs + c0], sum);
                else if (i < nr)
                    store_run(&updates[(node.update + i - nc) * STRIDE], sum);
            }
            __syncthreads(); /* the level's updates are complete */
        }
        for (int e = threadIdx.x; e < outside * CHUNK; e += BRANCH_BLOCK)
            shared_updates[int64_t(e / CHUNK) * nrhs + c0 + e % CHUNK] =
                updates[e / CHUNK * STRIDE + e % CHUNK];
    }
}

template <typename T, int CHUNK>
__global__ void __launch_bounds__(BRANCH_BLOCK, 2)
    branch_backward_kernel(gsv_device_plan plan, const T *x, T *y, int nrhs, branch_room room) {
    constexpr int STRIDE = branch_row<T, CHUNK>::STRIDE, LANES = 32 / GSV_BACKWARD_UNIT;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    const gsv_branch branch = read_branch(plan, blockIdx.x);
    begin_branch<T>(plan, branch, memory, room, GSV_AT_BACKWARD_LEVELS, GSV_AT_END);
    const T *panels = reinterpret_cast<const T *>(memory);
    const uint16_t *lists = reinterpret_cast<const uint16_t *>(memory + room.lists);
    const gsv_branch_node *nodes = reinterpret_cast<const gsv_branch_node *>(lists);
    const uint16_t *level_units = lists + branch.at[GSV_AT_BACKWARD_LEVELS];
    const uint16_t *units = lists + branch.at[GSV_AT_BACKWARD_UNITS];
    const uint16_t *below = lists + branch.at[GSV_AT_BELOW];
    T *solution = reinterpret_cast<T *>(memory + room.vector);
    T *f = reinterpret_cast<T *>(memory + room.second);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int columns = branch.columns, outside = branch.outside_rows;
    const bool refuse = branch.refuse;
    const int32_t *outside_row = plan.outside_row + branch.outside;
    const int64_t first_column = branch.first_column;
    wait_for_vectors();

    for (int c0 = 0; c0 < nrhs; c0 += CHUNK) {
        for (int e = threadIdx.x; e < columns * CHUNK; e += BRANCH_BLOCK)
            f[e / CHUNK * STRIDE + e % CHUNK] = x[(first_column + e / CHUNK) * nrhs + c0 + e % CHUNK];
        for (int e = threadIdx.x; e < outside * CHUNK; e += BRANCH_BLOCK)
            solution[(columns + e / CHUNK) * STRIDE + e % CHUNK] =
                y[int64_t(outside_row[e / CHUNK]) * nrhs + c0 + e % CHUNK];
        if (c0 == 0)
            wait_for_own_copies();
        __syncthreads(); /* panels, lists, f and the outside rows are there */
        for (int level = branch.levels - 1; level >= 0; level--) {
            for (int k = level_units[level] + warp; k < level_units[level + 1]; k += BRANCH_WARPS) {
                const gsv_branch_node node = nodes[units[2 * k]];
                const int first = units[2 * k + 1], j = first + lane / LANES, phase = lane % LANES;
                const int nr = node.nr, nc = node.nc;
                const T *column = panels + node.panel + gsv_narrow_column(nr, j < nc ? j : 0);
                T sum[CHUNK];
#pragma unroll
                for (int c = 0; c < CHUNK; c++)
                    sum[c] = make<T>(0);
#pragma unroll 4
                for (int i = first / LANES * LANES + phase; i < nr; i += LANES) {
                    const T *from = i < nc ? f + (node.column + i) * STRIDE
                                           : solution + below[node.below + i - nc] * STRIDE;
                    T b[CHUNK];
                    load_run(from, b);
                    if (i >= j && j < nc) {
                        const T a = conjugate(column[i]);
#pragma unroll
                        for (int c = 0; c < CHUNK; c++)
                            sum[c] = multiply_add(sum[c], a, b[c]);
                    }
                }
                typedef reduce_lanes<T, CHUNK, LANES / 2> reduce;
                int c = 0;
                reduce::run(sum, lane, c);
                if (phase % reduce::COPIES == 0 && j < nc) {
                    T total[reduce::RESULTS];
#pragma unroll
                    for (int q = 0; q < reduce::RESULTS; q++)
                        total[q] = refuse ? not_a_number<T>() : sum[q];
                    store_run(&solution[(node.column + j) * STRIDE + c], total);
                    store_run(&y[(first_column + node.column + j) * nrhs + c0 + c], total);
                }
            }
            __syncthreads(); /* the level's solution is there */
        }
    }
}

} // namespace gsv
#endif
