/*
 * Branches (branches.h) for many right-hand sides in double precision: the walks of cuda_branch.cuh on FP64
 * tensor cores.
 *
 *      forward    [x1; u] = [W; -M] f1 + [0; f2]        backward   y1 = [W; -M]' [x1; y(rows below)]
 *
 * A block of eight warps has a branch, and all or some of the right-hand sides: its panels and lists stay in
 * shared memory, and so do the vectors of as many columns as fit beside them, C, a multiple of 8, in the same
 * room for every block, so that two blocks share an SM whatever the branches are like.
 *
 *   forward   level by level up: a warp adds to f of a node's own columns what its children owe; then it
 * takes 32 rows of a front and eight or sixteen right-hand sides: the sums begin as what the children owe
 *             these rows, and take the products in ascending k. x goes to global memory, u to shared memory,
 *             the roots' in the end to global memory.
 *   backward  level by level down: a warp takes a node, up to 32 columns, and eight or sixteen right-hand
 *             sides; the solution replaces x.
 *
 * Fragments of m8n8k4, in lane l = 4 g + q: a row g, term q; v term q, column g; sums row g, columns 2 q and
 * 2 q + 1. Rows of vectors are C + 4 numbers apart, so that the four terms of a fragment are in different
 * banks.
 *
 * Bits: every sum takes its terms one after the other in one order (tensor_product.cuh), whatever C is.
 *
 * Synchronisation: barriers of the block, two a level; wait_for_vectors. No block waits for another.
 *
 * Traffic: panels and lists once a block, y, x and the outside rows once. Shared memory: a multiplication of
 * 8 x 8 x 4 reads 32 to 96 numbers.
 */
#ifndef GSV_CUDA_MANY_BRANCH_CUH
#define GSV_CUDA_MANY_BRANCH_CUH

#include "../dense_kernels/tensor_product.cuh"
#include "cuda_branch.cuh"
#include "cuda_many.h"

namespace gsv {

enum {
    MANY_BRANCH_BLOCK = 512,
    MANY_BRANCH_WARPS = MANY_BRANCH_BLOCK / 32,
    MANY_BRANCH_ROOM = 226 * 1024, /* bytes of shared memory: all of an SM's */
    MANY_BRANCH_PAD = 4,
    MANY_BRANCH_MOST = 128 /* right-hand sides at a time */
};

/* Rows of vectors that a block has in shared memory. */
inline __host__ __device__ int many_branch_rows(const gsv_branch &branch) {
    return branch.columns + branch.updates;
}

/* Where vectors begin, in bytes. */
inline __host__ __device__ int many_branch_vectors(const gsv_branch &branch) {
    return round_up_16(branch.numbers * int64_t(sizeof(double))) + round_up_16(branch.at[GSV_AT_END] * 2);
}

/* What a block needs at least. */
inline int many_branch_bytes(const gsv_branches &branches) {
    int most = MANY_BRANCH_ROOM;
    for (int32_t b = 0; b < branches.count; b++) {
        const gsv_branch &branch = branches.branch[b];
        const int bytes = many_branch_vectors(branch) +
                          many_branch_rows(branch) * (8 + MANY_BRANCH_PAD) * int(sizeof(double));
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Begin to copy bytes, a multiple of 16 on multiples of 16, to shared memory. */
__device__ __forceinline__ void many_begin_copy_block(void *to, const void *from, int bytes) {
    const unsigned shared = unsigned(__cvta_generic_to_shared(to));
    for (int at = 16 * threadIdx.x; at < bytes; at += 16 * MANY_BRANCH_BLOCK)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + at),
                     "l"(static_cast<const char *>(from) + at)
                     : "memory");
}

/* A block's branch, and where its things are in shared memory. */
struct many_walk {
    const gsv_branch &branch;
    const double *panels;
    const uint16_t *lists;
    const gsv_branch_node *nodes;
    double *vectors;
    int stride, width; /* of a row of vectors: numbers from row to row, and right-hand sides at most */
    int begin, end;    /* right-hand sides of the block */

    /* Begins to copy panels and lists. columns: right-hand sides of all blocks of a branch, `splits`. */
    __device__ __forceinline__ many_walk(const gsv_device_plan &plan, char *memory, int room, int columns,
                                         int splits)
        : branch(plan.branches[blockIdx.x / splits]) {
        const int list = round_up_16(branch.numbers * int64_t(sizeof(double)));
        panels = reinterpret_cast<const double *>(memory);
        lists = reinterpret_cast<const uint16_t *>(memory + list);
        nodes = reinterpret_cast<const gsv_branch_node *>(lists);
        vectors = reinterpret_cast<double *>(memory + many_branch_vectors(branch));
        many_begin_copy_block(memory, static_cast<const double *>(plan.panels) + branch.panel, list);
        many_begin_copy_block(memory + list, plan.branch_lists + branch.lists,
                              round_up_16(branch.at[GSV_AT_END] * 2));
        const int each = columns / splits;
        begin = blockIdx.x % splits * each;
        end = begin + each;
        const int fit =
            (room - many_branch_vectors(branch)) / int(sizeof(double)) / many_branch_rows(branch) -
            MANY_BRANCH_PAD;
        const int most = fit < MANY_BRANCH_MOST ? fit / 8 * 8 : MANY_BRANCH_MOST;
        const int chunks = (each + most - 1) / most;
        width = ((each + chunks - 1) / chunks + 7) / 8 * 8;
        stride = width + MANY_BRANCH_PAD;
    }

    /* Right-hand sides of the chunk that begins at c0. */
    __device__ __forceinline__ int columns_at(int c0) const {
        return c0 >= end ? 0 : end - c0 < width ? end - c0 : width;
    }

    __device__ __forceinline__ double *row(int i) const {
        return vectors + i * stride;
    }
};

/* visit(row, right-hand side) for rows x c numbers, two a thread. */
template <typename Visit> __device__ __forceinline__ void many_rows_block(int rows, int c, Visit visit) {
#pragma unroll 4
    for (int i = threadIdx.x / 16; i < rows; i += MANY_BRANCH_BLOCK / 16)
        for (int k = threadIdx.x % 16 * 2; k < c; k += 32)
            visit(i, k);
}

__device__ __forceinline__ void begin_copy_pair(double *to, const double *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}

/* Begin to bring the rows of the nodes begin .. end - 1, c right-hand sides: `from` is those of the branch's
 * first column. A warp takes a node. */
__device__ __forceinline__ void many_begin_nodes_block(const many_walk &walk, int begin, int end, int c,
                                                       const double *from, int columns) {
    const int lane = threadIdx.x % 32;
    for (int k = begin + int(threadIdx.x) / 32; k < end; k += MANY_BRANCH_WARPS) {
        const int first = walk.nodes[k].column, nc = walk.nodes[k].nc;
        for (int i = first + lane / 8; i < first + nc; i += 4)
            for (int e = lane % 8 * 2; e < c; e += 16)
                begin_copy_pair(walk.row(i) + e, from + int64_t(i) * columns + e);
    }
}

/* f(own columns of a node) += what its children owe, by a warp: the four rows of part `part` of so many, and
 * so on. */
__device__ __forceinline__ void many_gather_warp(const many_walk &walk, const gsv_branch_node &node, int part,
                                                 int parts, int columns) {
    const uint16_t *ptr = walk.lists + walk.branch.at[GSV_AT_GATHER_PTR] + node.gather;
    const uint16_t *gather = walk.lists + walk.branch.at[GSV_AT_GATHER];
    const int lane = threadIdx.x % 32;
    for (int i = 4 * part + lane / 8; i < node.nc; i += 4 * parts) {
        const int begin = ptr[i], end = ptr[i + 1];
        if (begin == end)
            continue;
        for (int c = lane % 8 * 2; c < columns; c += 32) { /* two runs of two at the same time */
            double *to = walk.row(node.column + i) + c;
            const int runs = c + 16 < columns ? 2 : 1;
            double sum[2][2] = {{0, 0}, {0, 0}};
#pragma unroll
            for (int r = 0; r < 2; r++)
                if (r < runs)
                    load_run(to + 16 * r, sum[r]);
            for (int g = begin; g < end; g++) {
                const double *from = walk.row(walk.branch.columns + gather[g]) + c;
#pragma unroll
                for (int r = 0; r < 2; r++)
                    if (r < runs) {
                        double term[2];
                        load_run(from + 16 * r, term);
                        sum[r][0] += term[0];
                        sum[r][1] += term[1];
                    }
            }
#pragma unroll
            for (int r = 0; r < 2; r++)
                if (r < runs)
                    store_run(to + 16 * r, sum[r]);
        }
    }
}

/* Rows first .. first + 31 of a front, N times eight right-hand sides from c on, by a warp. */
template <int N>
__device__ __forceinline__ void many_forward_unit(const many_walk &walk, const gsv_branch_node &node,
                                                  int first, int c, bool leaf, bool refuse, double *x,
                                                  int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc;
    double sum[4][N][2];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
            sum[m][n][0] = sum[m][n][1] = 0;
    if (!leaf) {
        const uint16_t *ptr = walk.lists + walk.branch.at[GSV_AT_GATHER_PTR] + node.gather;
        const uint16_t *gather = walk.lists + walk.branch.at[GSV_AT_GATHER];
        int at[4], count[4], most = 0;
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const int i = first + 8 * m + g;
            const bool owed = i >= nc && i < nr;
            at[m] = owed ? ptr[i] : 0;
            count[m] = owed ? ptr[i + 1] - at[m] : 0;
            most = count[m] > most ? count[m] : most;
        }
        for (int k = 0; k < most; k++) { /* the reads of all rows at the same time */
            double2 term[4][N];
#pragma unroll
            for (int m = 0; m < 4; m++)
                if (k < count[m]) {
                    const double *from = walk.row(walk.branch.columns + gather[at[m] + k]) + c + 2 * q;
#pragma unroll
                    for (int n = 0; n < N; n++)
                        term[m][n] = *reinterpret_cast<const double2 *>(from + 8 * n);
                }
#pragma unroll
            for (int m = 0; m < 4; m++)
                if (k < count[m])
#pragma unroll
                    for (int n = 0; n < N; n++) {
                        sum[m][n][0] += term[m][n].x;
                        sum[m][n][1] += term[m][n].y;
                    }
        }
        __syncwarp(); /* the multiplications are the warp's */
    }
    const int last = first + 32 < nc ? first + 32 : nc; /* terms */
    const double *v = walk.row(node.column) + c + g;
    int at = node.panel + gsv_narrow_column(nr, q) + first + g;
#pragma unroll 2
    for (int k0 = 0; k0 < last; k0 += 4) {
        const int k = k0 + q;
        double b[N], a[4];
#pragma unroll
        for (int n = 0; n < N; n++)
            b[n] = k < nc ? v[k * walk.stride + 8 * n] : 0;
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const int i = first + 8 * m + g;
            a[m] = k < nc && i >= k && i < nr ? walk.panels[at + 8 * m] : 0;
        }
        at += 4 * nr - 4 * k - 10; /* to column k + 4 */
#pragma unroll
        for (int m = 0; m < 4; m++)
            if (first + 8 * m < nr)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(sum[m][n], a[m], b[n]);
    }
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int i = first + 8 * m + g;
        if (i >= nr)
            continue;
        double *to = i < nc ? x + int64_t(node.column + i) * columns + c + 2 * q
                            : walk.row(walk.branch.columns + node.update + i - nc) + c + 2 * q;
#pragma unroll
        for (int n = 0; n < N; n++) {
            if (refuse)
                sum[m][n][0] = sum[m][n][1] = not_a_number<double>();
            store_run(to + 8 * n, sum[m][n]);
        }
    }
}

/* Units begin .. end - 1 of a level's, times c right-hand sides, dealt out to warps: visit(unit, right-hand
 * side, tiles of eight), two tiles at a time where there is enough for all warps. */
template <typename Visit>
__device__ __forceinline__ void many_deal_block(int begin, int end, int c, Visit visit) {
    const int warp = threadIdx.x / 32, tiles = c / 8, pairs = (tiles + 1) / 2, units = end - begin;
    const bool two = units * pairs >= MANY_BRANCH_WARPS;
    const int parts = two ? pairs : tiles;
    for (int k = warp; k < units * parts; k += MANY_BRANCH_WARPS) {
        const int unit = begin + k / parts, tile = k % parts * (two ? 2 : 1);
        visit(unit, 8 * tile, two && tile + 1 < tiles ? 2 : 1);
    }
}

/* splits: blocks of a branch; RESIDENT blocks an SM. */
template <int RESIDENT>
__global__ void __launch_bounds__(MANY_BRANCH_BLOCK, RESIDENT)
    many_branch_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int columns,
                               int splits, int room) {
    extern __shared__ int4 shared[];
    const many_walk walk(plan, reinterpret_cast<char *>(shared), room, columns, splits);
    const gsv_branch &branch = walk.branch;
    const uint16_t *level_nodes = walk.lists + branch.at[GSV_AT_LEVEL_NODES];
    const uint16_t *level_units = walk.lists + branch.at[GSV_AT_FORWARD_LEVELS];
    const uint16_t *units = walk.lists + branch.at[GSV_AT_FORWARD_UNITS];
    const bool refuse = plan.branch_refuse[blockIdx.x / splits]; /* this kernel cannot (cuda_sweep.cuh) */
    const int own = branch.columns, levels = branch.levels, outside = branch.outside_rows;
    double *shared_updates = u + (plan.outside_update + branch.outside) * columns;
    wait_for_vectors();
    const double *from = y + int64_t(branch.first_column) * columns;
    many_rows_block(own, walk.width, [&](int i, int k) {
        begin_copy_pair(walk.row(i) + k, from + int64_t(i) * columns + walk.begin + k);
    });
    for (int c0 = walk.begin; c0 < walk.end; c0 += walk.width) {
        const int c = walk.columns_at(c0), next = walk.columns_at(c0 + walk.width);
        double *to = x + int64_t(branch.first_column) * columns + c0;
        end_copies();
        __syncthreads(); /* panels, lists and f are there; the updates may go */
        for (int level = 0; level < levels; level++) {
            if (level > 0) {
                const int begin = level_nodes[level], nodes = level_nodes[level + 1] - begin;
                const int parts = nodes >= MANY_BRANCH_WARPS      ? 1
                                  : 8 * nodes > MANY_BRANCH_WARPS ? MANY_BRANCH_WARPS / nodes
                                                                  : 8;
                for (int k = threadIdx.x / 32; k < nodes * parts; k += MANY_BRANCH_WARPS)
                    many_gather_warp(walk, walk.nodes[begin + k / parts], k % parts, parts, c);
                __syncthreads(); /* f of the level is complete */
            }
            many_deal_block(level_units[level], level_units[level + 1], c, [&](int unit, int tile, int n) {
                const gsv_branch_node node = walk.nodes[units[2 * unit]];
                const int first = units[2 * unit + 1];
                if (n == 2)
                    many_forward_unit<2>(walk, node, first, tile, level == 0, refuse, to, columns);
                else
                    many_forward_unit<1>(walk, node, first, tile, level == 0, refuse, to, columns);
            });
            __syncthreads(); /* the level's updates are complete, and nobody reads its f any more */
            many_begin_nodes_block(walk, level_nodes[level], level_nodes[level + 1], next,
                                   from + c0 + walk.width, columns);
        }
        many_rows_block(outside, c, [&](int i, int k) {
            *reinterpret_cast<double2 *>(shared_updates + int64_t(i) * columns + c0 + k) =
                *reinterpret_cast<const double2 *>(walk.row(own + i) + k);
        });
    }
}

/* A node, N times eight right-hand sides from c on, by a warp: own rows of the vectors, x, become the
 * solution. */
template <int N>
__device__ __forceinline__ void many_backward_node(const many_walk &walk, const gsv_branch_node &node, int c,
                                                   bool refuse, double *y, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc;
    const uint16_t *below = walk.lists + walk.branch.at[GSV_AT_BELOW] + node.below;
    double sum[4][N][2];
    int at[4]; /* row q of this lane's column of each tile */
#pragma unroll
    for (int m = 0; m < 4; m++) {
        at[m] = node.panel + gsv_narrow_column(nr, 8 * m + g) + q;
#pragma unroll
        for (int n = 0; n < N; n++)
            sum[m][n][0] = sum[m][n][1] = 0;
    }
#pragma unroll 4
    for (int i0 = 0; i0 < nr; i0 += 4) {
        const int i = i0 + q;
        const double *v = walk.row(i < nc ? node.column + i : i < nr ? below[i - nc] : 0) + c + g;
        double b[N];
#pragma unroll
        for (int n = 0; n < N; n++)
            b[n] = i < nr ? v[8 * n] : 0;
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const int j = 8 * m + g;
            if (8 * m < nc) {
                const double a = j < nc && i >= j && i < nr ? walk.panels[at[m] + i0] : 0;
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(sum[m][n], a, b[n]);
            }
        }
    }
    __syncwarp(); /* x has been read by all lanes */
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int j = 8 * m + g;
        if (j >= nc)
            continue;
#pragma unroll
        for (int n = 0; n < N; n++) {
            if (refuse)
                sum[m][n][0] = sum[m][n][1] = not_a_number<double>();
            store_run(walk.row(node.column + j) + c + 8 * n + 2 * q, sum[m][n]);
            store_run(y + int64_t(node.column + j) * columns + c + 8 * n + 2 * q, sum[m][n]);
        }
    }
}

template <int RESIDENT>
__global__ void __launch_bounds__(MANY_BRANCH_BLOCK, RESIDENT)
    many_branch_backward_kernel(gsv_device_plan plan, const double *x, double *y, int columns, int splits,
                                int room) {
    extern __shared__ int4 shared[];
    const many_walk walk(plan, reinterpret_cast<char *>(shared), room, columns, splits);
    const gsv_branch &branch = walk.branch;
    const uint16_t *level_nodes = walk.lists + branch.at[GSV_AT_LEVEL_NODES];
    const bool refuse = plan.branch_refuse[blockIdx.x / splits]; /* this kernel cannot (cuda_sweep.cuh) */
    const int own = branch.columns, outside = branch.outside_rows;
    const int32_t *outside_row = plan.outside_row + branch.outside;
    end_copies();
    __syncthreads(); /* panels and lists are there */
    wait_for_vectors();
    for (int c0 = walk.begin; c0 < walk.end; c0 += walk.width) {
        const int c = walk.columns_at(c0);
        const double *from = x + int64_t(branch.first_column) * columns + c0;
        double *to = y + int64_t(branch.first_column) * columns + c0;
        many_rows_block(outside, c, [&](int i, int k) {
            begin_copy_pair(walk.row(own + i) + k, y + int64_t(outside_row[i]) * columns + c0 + k);
        });
        many_begin_nodes_block(walk, level_nodes[1], level_nodes[branch.levels], c, from, columns);
        asm volatile("cp.async.commit_group;" ::: "memory");
        many_begin_nodes_block(walk, 0, level_nodes[1], c, from, columns);
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
        __syncthreads(); /* the outside rows and x of all levels but the lowest are there */
        for (int level = branch.levels - 1; level >= 0; level--) {
            if (level == 0) {
                end_copies();
                __syncthreads(); /* x of the lowest level is there */
            }
            many_deal_block(level_nodes[level], level_nodes[level + 1], c, [&](int k, int tile, int n) {
                const gsv_branch_node node = walk.nodes[k];
                if (n == 2)
                    many_backward_node<2>(walk, node, tile, refuse, to, columns);
                else
                    many_backward_node<1>(walk, node, tile, refuse, to, columns);
            });
            __syncthreads(); /* the level's solution is there; after the last: the vectors may go */
        }
    }
}

} // namespace gsv
#endif
