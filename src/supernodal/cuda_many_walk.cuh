/*
 * What a block has in shared memory while its warps walk a branch for many right-hand sides, and how it comes
 * there (cuda_many_branch.cuh has the walks).
 *
 *      panels      as in global memory
 *      nodes       as in the branch's lists; and `ready`: small leaves to the front
 *      below       as in the lists, each row by its place in the vectors
 *      packs       of small leaves, their rows and their fragments
 *      vectors     for each warp: rows for the columns of all nodes but small leaves, then the outside rows,
 *                  64 bytes a row; so many warps walk as have room
 *
 * Mapping: one warp puts the nodes in order while a thread of another deals the small leaves out to packs;
 * then all threads translate `below`, and a warp makes a pack. Five barriers of the block and two or
 * three trips through L2 before the first product.
 */
#ifndef GSV_CUDA_MANY_WALK_CUH
#define GSV_CUDA_MANY_WALK_CUH

#include "../dense_kernels/tensor_product.cuh"
#include "cuda_branch.cuh"
#include "cuda_many.h"

namespace gsv {

enum {
    MANY_BRANCH_BLOCK = 512,
    MANY_BRANCH_WARPS = MANY_BRANCH_BLOCK / 32,
    MANY_BRANCH_ROOM = 226 * 1024, /* bytes of shared memory: all of an SM's */
    MANY_BRANCH_COLUMNS = 8,       /* right-hand sides of a warp at a time */
    MANY_SMALL_ROWS = 16,          /* of a small leaf at most, */
    MANY_SMALL_COLUMNS = 4,        /* and columns */
    MANY_AHEAD = 4                 /* so many packs ahead right-hand sides are requested */
};

inline __host__ __device__ bool many_is_small(const gsv_branch_node &node) {
    return node.nr <= MANY_SMALL_ROWS && node.nc <= MANY_SMALL_COLUMNS;
}

/*
 * A pack: small leaves that stand side by side, with up to four columns in all, as if they were one node. Its
 * rows are the leaves' columns, 0 to 3, and from 4 on the union of their rows below. Fragments of four
 * numbers a row, zeros where a leaf has none.
 */
struct many_pack {
    uint16_t fragment; /* its first one */
    uint16_t list;     /* its first row: columns, then places of the rows below */
    uint16_t rows, nc;
    uint16_t leaf, leaves; /* those it is made of */
    uint16_t unused[2];
};

/* The packs of the small leaves, greedily, to `to` if that is not NULL; their rows are as many as they can be.
 * Returns totals: .leaves packs, .fragment fragments of `height` rows each, .list rows. */
inline __host__ __device__ many_pack many_list_packs(const gsv_branch_node *nodes, int leaves, int height,
                                                     many_pack *to) {
    many_pack pack = {};
    int fragments = 0, list = 0, small = 0, packs = 0;
    for (int k = 0; k <= leaves; k++) {
        const bool end = k == leaves;
        if (!end && !many_is_small(nodes[k]))
            continue;
        const int nr = end ? 0 : nodes[k].nr, nc = end ? 0 : nodes[k].nc;
        if (pack.leaves > 0 && (end || pack.nc + nc > MANY_SMALL_COLUMNS)) {
            if (to)
                to[packs] = pack;
            packs++;
            fragments += (pack.rows + height - 1) / height;
            list += pack.rows;
            pack.leaves = 0;
        }
        if (pack.leaves == 0) {
            pack.fragment = uint16_t(fragments);
            pack.list = uint16_t(list);
            pack.leaf = uint16_t(small);
            pack.rows = MANY_SMALL_COLUMNS;
            pack.nc = 0;
        }
        pack.leaves++;
        pack.nc = uint16_t(pack.nc + nc);
        pack.rows = uint16_t(pack.rows + nr - nc);
        small++;
    }
    pack.leaves = uint16_t(packs);
    return pack;
}

/* Where things are in a block's shared memory, in bytes; the panels begin at 0. */
struct many_branch_layout {
    int nodes, ready, below, table, outside, packs;

    inline __host__ __device__ explicit many_branch_layout(const gsv_branch &branch) {
        const int count = branch.end - branch.first, from = branch.at[GSV_AT_BACKWARD_LEVELS];
        nodes = round_up_16(branch.numbers * int64_t(sizeof(double)));
        ready = nodes + 2 * branch.at[GSV_AT_LEVEL_NODES];
        below = ready + count * int(sizeof(gsv_branch_node));
        table = below + 2 * (branch.at[GSV_AT_END] - from);
        outside = table + round_up_16(2 * branch.columns);
        packs = round_up_16(outside + 4 * branch.outside_rows);
        /* fragments may reach 31 numbers past the panels, but not into what is written */
        const int reach = nodes + 32 * int(sizeof(double));
        packs = packs > reach ? packs : reach;
    }
};

/* Bytes of a warp's vectors with so many rows. */
inline __host__ __device__ int many_branch_share(int rows) {
    return rows * MANY_BRANCH_COLUMNS * int(sizeof(double));
}

/* Behind the packs are their lists, their fragments, and then the vectors. */
inline __host__ __device__ int many_fragments_at(const many_branch_layout &at, const many_pack &all) {
    return (at.packs + all.leaves * int(sizeof(many_pack)) + 2 * all.list + 127) / 128 * 128;
}
inline __host__ __device__ int many_vectors_at(const many_branch_layout &at, const many_pack &all) {
    return many_fragments_at(at, all) + all.fragment * 32 * int(sizeof(double));
}

/* What a block needs at least. */
inline int many_branch_bytes(const gsv_branches &branches) {
    int most = MANY_BRANCH_ROOM;
    for (int32_t b = 0; b < branches.count; b++) {
        const gsv_branch &branch = branches.branch[b];
        const many_branch_layout at(branch);
        const int share = many_branch_share(branch.columns + branch.outside_rows);
        /* no more than this, which is soon said; where it is too much, what it is */
        const int below = branch.at[GSV_AT_END] - branch.at[GSV_AT_BELOW];
        many_pack all = {};
        all.leaves = uint16_t(branch.end - branch.first);
        all.list = uint16_t(MANY_SMALL_COLUMNS * all.leaves + below);
        all.fragment = uint16_t(2 * all.leaves + below / 4);
        if (many_vectors_at(at, all) + share > MANY_BRANCH_ROOM) {
            const uint16_t *lists = branches.lists + branch.lists;
            all = many_list_packs(reinterpret_cast<const gsv_branch_node *>(lists),
                                  lists[branch.at[GSV_AT_LEVEL_NODES] + 1], 4, nullptr);
        }
        const int bytes = many_vectors_at(at, all) + share;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Columns 2 p and 2 p + 1 of a row of the vectors are the pair many_pair_of_row(row) ^ p. */
__device__ __forceinline__ int many_pair_of_row(int row) {
    return row * (MANY_BRANCH_COLUMNS / 2) + (row & 2);
}

__device__ __forceinline__ void begin_copy_pair(double2 *to, const double *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}

/* A block's branch, and where its things are in shared memory. */
struct many_walk {
    const gsv_branch &branch;
    double *panels;
    const gsv_branch_node *nodes; /* as they were copied */
    gsv_branch_node *ready;       /* small leaves, then the others; .update: its first row of the vectors */
    uint16_t *below;              /* as in the branch's lists, but places of rows */
    uint16_t *table;              /* [columns] places of the columns that have one */
    int32_t *outside_row;         /* [outside rows], of the backward sweep */
    many_pack *packs;
    uint16_t *lists;   /* of the packs */
    double *fragments; /* of the packs */
    double2 *vectors;  /* the warp's */
    int npacks;
    int count, small; /* nodes, and small leaves among them */
    int own;          /* rows of the vectors for columns; the outside rows follow */
    int begin, end;   /* right-hand sides of the warp: begin, begin + step, ... */
    int step;

    /* columns: right-hand sides of all blocks of a branch, `splits`. Ends with lists that are there and panels
     * that are on their way. */
    __device__ __forceinline__ many_walk(const gsv_device_plan &plan, char *memory, int room, int columns,
                                         int splits, int height)
        : branch(plan.branches[blockIdx.x / splits]) {
        const many_branch_layout at(branch);
        const uint16_t *list = plan.branch_lists + branch.lists;
        const int from = branch.at[GSV_AT_BACKWARD_LEVELS], warp = threadIdx.x / 32;
        panels = reinterpret_cast<double *>(memory);
        nodes = reinterpret_cast<const gsv_branch_node *>(memory + at.nodes);
        ready = reinterpret_cast<gsv_branch_node *>(memory + at.ready);
        below = reinterpret_cast<uint16_t *>(memory + at.below) + branch.at[GSV_AT_BELOW] - from;
        table = reinterpret_cast<uint16_t *>(memory + at.table);
        outside_row = reinterpret_cast<int32_t *>(memory + at.outside);
        count = branch.end - branch.first;
        begin_copy_block<MANY_BRANCH_BLOCK>(memory + at.nodes, list, 2 * branch.at[GSV_AT_LEVEL_NODES]);
        begin_copy_block<MANY_BRANCH_BLOCK>(memory + at.below, list + from,
                                            2 * (branch.at[GSV_AT_END] - from));
        asm volatile("cp.async.commit_group;" ::: "memory");
        begin_copy_block<MANY_BRANCH_BLOCK>(memory, static_cast<const double *>(plan.panels) + branch.panel,
                                            at.nodes);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const int leaves = list[branch.at[GSV_AT_LEVEL_NODES] + 1];
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads(); /* the lists are there */
        __shared__ many_pack all;
        packs = reinterpret_cast<many_pack *>(memory + at.packs);
        if (threadIdx.x == 32)
            all = many_list_packs(nodes, leaves, height, packs);
        arrange_warp(leaves, warp == 0);
        __syncthreads(); /* table and packs are there */
        npacks = all.leaves;
        lists = reinterpret_cast<uint16_t *>(packs + npacks);
        fragments = reinterpret_cast<double *>(memory + many_fragments_at(at, all));
        const int start = many_vectors_at(at, all);
        const int entries = branch.at[GSV_AT_END] - branch.at[GSV_AT_BELOW];
        for (int k = threadIdx.x; k < entries; k += MANY_BRANCH_BLOCK) {
            const int row = below[k];
            below[k] =
                row < branch.columns ? table[row] : uint16_t(many_pair_of_row(own + row - branch.columns));
        }
        const int each = columns / splits, share = many_branch_share(own + branch.outside_rows);
        const int fit = share > 0 ? (room - start) / share : MANY_BRANCH_WARPS;
        const int most = fit < MANY_BRANCH_WARPS ? fit : MANY_BRANCH_WARPS;
        const int chunks = each / MANY_BRANCH_COLUMNS, rounds = (chunks + most - 1) / most;
        const int active = (chunks + rounds - 1) / rounds; /* warps, as even as can be */
        begin = int(blockIdx.x) % splits * each + MANY_BRANCH_COLUMNS * warp;
        end = warp < active ? int(blockIdx.x) % splits * each + each : begin;
        step = MANY_BRANCH_COLUMNS * active;
        vectors = reinterpret_cast<double2 *>(memory + start + warp * share);
    }

    /* Small leaves to the front, and rows of the vectors for the columns of the others. Every warp counts, one
     * writes. */
    __device__ __forceinline__ void arrange_warp(int leaves, bool write) {
        const int lane = threadIdx.x % 32;
        small = 0;
        for (int k = lane; k - lane < leaves; k += 32)
            small += __popc(__ballot_sync(~0u, k < leaves && many_is_small(nodes[k])));
        int before = 0; /* small leaves before node k - lane */
        own = 0;
        for (int k = lane; k - lane < count; k += 32) {
            gsv_branch_node node = {};
            if (k < count)
                node = nodes[k];
            const bool is = k < leaves && many_is_small(node);
            const unsigned mask = __ballot_sync(~0u, is);
            const int place = before + __popc(mask & ((1u << lane) - 1)), rows = is ? 0 : node.nc;
            int sum = rows; /* of the lanes up to this one */
#pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                const int other = __shfl_up_sync(~0u, sum, d);
                sum += lane >= d ? other : 0;
            }
            node.update = uint16_t(own + sum - rows);
            if (write && k < count)
                ready[is ? place : small + k - place] = node;
            for (int t = 0; write && t < rows; t++)
                table[node.column + t] = uint16_t(many_pair_of_row(node.update + t));
            before += __popc(mask);
            own += __shfl_sync(~0u, sum, 31);
        }
    }

    /* Nothing that this branch's panels are multiplied with is a solution: these kernels cannot
     * (cuda_sweep.cuh). */
    __device__ __forceinline__ void refuse_block() const {
        for (int k = threadIdx.x; k < branch.numbers; k += MANY_BRANCH_BLOCK)
            panels[k] = not_a_number<double>();
    }

    /* Begin to bring a node's rows, by a warp: `from` is the right-hand sides of the branch's first column. */
    __device__ __forceinline__ void begin_node_warp(const gsv_branch_node &node, const double *from,
                                                    int columns) const {
        const int pair = threadIdx.x % 4;
        for (int i = threadIdx.x % 32 / 4; i < node.nc; i += 8)
            begin_copy_pair(vectors + (many_pair_of_row(node.update + i) ^ pair),
                            from + (node.column + i) * columns + 2 * pair);
    }

    /* The packs' lists and fragments: of the forward sweep eight rows of them by four columns, of the backward
     * sweep the other way round, four rows. A warp a pack. */
    template <bool BACKWARD> __device__ __forceinline__ void make_packs_block() const {
        constexpr int H = BACKWARD ? 4 : 8;
        const int lane = threadIdx.x % 32;
        for (int p = threadIdx.x / 32; p < npacks; p += MANY_BRANCH_WARPS) {
            const many_pack pack = packs[p];
            uint16_t *rows_of = lists + pack.list;
            double *to = fragments + 32 * pack.fragment;
            auto put = [&](int row, int column, double value) {
                to[row / H * 32 + (BACKWARD ? column * 4 + row % 4 : row % 8 * 4 + column)] = value;
            };
            for (int e = lane; e < (pack.rows + H - 1) / H * 32; e += 32)
                to[e] = 0;
            __syncwarp(); /* the zeros are there */
            int rows = MANY_SMALL_COLUMNS, columns = 0;
            for (int k = 0; k < pack.leaves; k++) {
                const gsv_branch_node node = ready[pack.leaf + k];
                const int i = lane / 4, j = lane % 4, owes = node.nr - node.nc;
                const bool is = lane < owes;
                if (i < node.nc && j <= i)
                    put(columns + i, columns + j, panels[node.panel + gsv_narrow_column(node.nr, j) + i]);
                if (lane < node.nc)
                    rows_of[columns + lane] = uint16_t(node.column + lane);
                const int place = is ? below[node.below + lane] : 0;
                int at = 0; /* among the rows of leaves before */
                for (int r = MANY_SMALL_COLUMNS; r < rows; r++)
                    at = rows_of[r] == place ? r : at;
                const bool fresh = is && at == 0;
                const unsigned mask = __ballot_sync(~0u, fresh);
                if (fresh) {
                    at = rows + __popc(mask & ((1u << lane) - 1));
                    rows_of[at] = uint16_t(place);
                }
                for (int c = 0; is && c < node.nc; c++)
                    put(at, columns + c, panels[node.panel + gsv_narrow_column(node.nr, c) + node.nc + lane]);
                rows += __popc(mask);
                columns += node.nc;
                __syncwarp(); /* the rows are there */
            }
            if (lane == 0)
                packs[p].rows = uint16_t(rows);
            __syncwarp();
        }
    }

    /* Pack k's right-hand sides, as a fragment. */
    __device__ __forceinline__ double request(int k, const double *from, int columns) const {
        const int q = threadIdx.x % 4;
        if (k >= npacks || q >= packs[k].nc)
            return 0;
        return from[lists[packs[k].list + q] * columns + threadIdx.x % 32 / 4];
    }
};

} // namespace gsv
#endif
