/*
 * Branches (branches.h) for many right-hand sides in double precision, on FP64 tensor cores: a warp walks a
 * branch for eight right-hand sides of its own.
 *
 *      forward    x1 = W f1,  f(rows below) -= M f1        backward   y1 = [W; -M]' [x1; y(rows below)]
 *
 * A block has a branch and all or some of the right-hand sides. Its warps share the panels and lists, in
 * shared memory, and nothing else: right-hand sides know nothing of each other, so a warp needs no barrier
 * between the levels of the tree, only the order of its own instructions. What a node owes is added at once to
 * the rows it is owed to: the branch's own columns, and the rows below its roots. So a warp's vectors are
 * these rows, without update vectors in between; 64 bytes a row, for as many warps as fit.
 *
 * Most nodes are small leaves: up to four columns and 16 rows, at the lowest level. Nobody adds to their
 * columns and nobody below reads them, so these columns have no rows in shared memory: their right-hand sides
 * come straight from global memory, requested four leaves ahead. The others follow level by level, and as each
 * is done its rows are filled for the warp's next eight right-hand sides.
 *
 * Fragments of m8n8k4, in lane l = 4 g + q: a row g, term q; v term q, column g; sums row g, columns 2 q and
 * 2 q + 1. A row's four pairs of columns are exchanged as many_place says, so that four rows of a fragment are
 * in different banks.
 *
 * Bits: a sum takes its terms one after the other (tensor_product.cuh), nodes in the order of the list, which
 * follows from the branch alone. No column's bits depend on another's, on its place, or on how many there are.
 *
 * Synchronisation: barriers of the block until panels and lists are there; then each warp goes its own way.
 * No block waits for another.
 *
 * Traffic: panels and lists once a block; y, x and the outside rows once. What limits it is instructions, about
 * a hundred a node of the usual size and eight right-hand sides (grid2d:300, 256 columns: 88 million in the
 * forward sweep, where 370 MB would take 88 us).
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
    MANY_BRANCH_COLUMNS = 8,       /* right-hand sides of a warp at a time */
    MANY_SMALL_ROWS = 16,          /* of a small leaf at most, */
    MANY_SMALL_COLUMNS = 4,        /* and columns */
    MANY_AHEAD = 4                 /* so many small leaves ahead right-hand sides are requested */
};

/* Where things are in a block's shared memory, in bytes; the panels begin at 0. */
struct many_branch_layout {
    int nodes, ready, below, table, outside, vectors;

    inline __host__ __device__ explicit many_branch_layout(const gsv_branch &branch) {
        const int count = branch.end - branch.first, from = branch.at[GSV_AT_BACKWARD_LEVELS];
        nodes = round_up_16(branch.numbers * int64_t(sizeof(double)));
        ready = nodes + 2 * branch.at[GSV_AT_LEVEL_NODES];
        below = ready + count * int(sizeof(gsv_branch_node));
        table = below + 2 * (branch.at[GSV_AT_END] - from);
        outside = table + round_up_16(2 * branch.columns);
        vectors = round_up_16(outside + 4 * branch.outside_rows);
        /* fragments may reach 31 numbers past the panels, but not into what is written */
        const int reach = nodes + 32 * int(sizeof(double));
        vectors = (vectors > reach ? vectors : reach) + 127;
        vectors -= vectors % 128;
    }
};

/* Bytes of a warp's vectors with so many rows. */
inline __host__ __device__ int many_branch_share(int rows) {
    return rows * MANY_BRANCH_COLUMNS * int(sizeof(double));
}

/* What a block needs at least. */
inline int many_branch_bytes(const gsv_branches &branches) {
    int most = MANY_BRANCH_ROOM;
    for (int32_t b = 0; b < branches.count; b++) {
        const gsv_branch &branch = branches.branch[b];
        const int bytes =
            many_branch_layout(branch).vectors + many_branch_share(branch.columns + branch.outside_rows);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Columns 2 p and 2 p + 1 of a row of the vectors are the pair many_place(row) ^ p. */
__device__ __forceinline__ int many_place(int row) {
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
    double2 *vectors;             /* the warp's */
    int count, small;             /* nodes, and small leaves among them */
    int own;                      /* rows of the vectors for columns; the outside rows follow */
    int begin, end;               /* right-hand sides of the warp: begin, begin + step, ... */
    int step;

    /* columns: right-hand sides of all blocks of a branch, `splits`. Ends with lists that are there and panels
     * that are on their way. */
    __device__ __forceinline__ many_walk(const gsv_device_plan &plan, char *memory, int room, int columns,
                                         int splits)
        : branch(plan.branches[blockIdx.x / splits]) {
        const many_branch_layout at(branch);
        const uint16_t *lists = plan.branch_lists + branch.lists;
        const int from = branch.at[GSV_AT_BACKWARD_LEVELS], warp = threadIdx.x / 32;
        panels = reinterpret_cast<double *>(memory);
        nodes = reinterpret_cast<const gsv_branch_node *>(memory + at.nodes);
        ready = reinterpret_cast<gsv_branch_node *>(memory + at.ready);
        below = reinterpret_cast<uint16_t *>(memory + at.below) + branch.at[GSV_AT_BELOW] - from;
        table = reinterpret_cast<uint16_t *>(memory + at.table);
        outside_row = reinterpret_cast<int32_t *>(memory + at.outside);
        count = branch.end - branch.first;
        begin_copy_block<MANY_BRANCH_BLOCK>(memory + at.nodes, lists, 2 * branch.at[GSV_AT_LEVEL_NODES]);
        begin_copy_block<MANY_BRANCH_BLOCK>(memory + at.below, lists + from,
                                            2 * (branch.at[GSV_AT_END] - from));
        asm volatile("cp.async.commit_group;" ::: "memory");
        begin_copy_block<MANY_BRANCH_BLOCK>(memory, static_cast<const double *>(plan.panels) + branch.panel,
                                            at.nodes);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const int leaves = lists[branch.at[GSV_AT_LEVEL_NODES] + 1];
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads(); /* the lists are there */
        arrange_warp(leaves, warp == 0);
        __syncthreads(); /* the table is there */
        const int entries = branch.at[GSV_AT_END] - branch.at[GSV_AT_BELOW];
        for (int k = threadIdx.x; k < entries; k += MANY_BRANCH_BLOCK) {
            const int row = below[k];
            below[k] = row < branch.columns ? table[row] : uint16_t(many_place(own + row - branch.columns));
        }
        const int each = columns / splits, share = many_branch_share(own + branch.outside_rows);
        const int fit = share > 0 ? (room - at.vectors) / share : MANY_BRANCH_WARPS;
        const int most = fit < MANY_BRANCH_WARPS ? fit : MANY_BRANCH_WARPS;
        const int chunks = each / MANY_BRANCH_COLUMNS, rounds = (chunks + most - 1) / most;
        const int active = (chunks + rounds - 1) / rounds; /* warps, as even as can be */
        begin = int(blockIdx.x) % splits * each + MANY_BRANCH_COLUMNS * warp;
        end = warp < active ? int(blockIdx.x) % splits * each + each : begin;
        step = MANY_BRANCH_COLUMNS * active;
        vectors = reinterpret_cast<double2 *>(memory + at.vectors + warp * share);
    }

    /* Small leaves to the front, and rows of the vectors for the columns of the others. Every warp counts, one
     * writes. */
    __device__ __forceinline__ void arrange_warp(int leaves, bool write) {
        const int lane = threadIdx.x % 32;
        small = 0;
        for (int k = lane; k - lane < leaves; k += 32)
            small += __popc(__ballot_sync(~0u, k < leaves && is_small(nodes[k])));
        int before = 0; /* small leaves before node k - lane */
        own = 0;
        for (int k = lane; k - lane < count; k += 32) {
            gsv_branch_node node = {};
            if (k < count)
                node = nodes[k];
            const bool is = k < leaves && is_small(node);
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
                table[node.column + t] = uint16_t(many_place(node.update + t));
            before += __popc(mask);
            own += __shfl_sync(~0u, sum, 31);
        }
    }

    static __device__ __forceinline__ bool is_small(const gsv_branch_node &node) {
        return node.nr <= MANY_SMALL_ROWS && node.nc <= MANY_SMALL_COLUMNS;
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
            begin_copy_pair(vectors + (many_place(node.update + i) ^ pair),
                            from + (node.column + i) * columns + 2 * pair);
    }

    /* Small leaf k's right-hand sides, as a fragment; rows it has not are its last. */
    __device__ __forceinline__ double request(int k, const double *from, int columns) const {
        if (k >= small)
            return 0;
        const int q = threadIdx.x % 4, last = ready[k].nc - 1;
        return from[(ready[k].column + (q < last ? q : last)) * columns + threadIdx.x % 32 / 4];
    }
};

/* f(rows first .. first + 8 TILES - 1) of a node += the product, x(own rows) = the product. OWN: some of them
 * are own rows, and first is 0. SMALL: a small leaf, whose right-hand sides are `leaf`. */
template <int TILES, bool OWN, bool SMALL>
__device__ __forceinline__ void many_forward_rows(const many_walk &walk, const gsv_branch_node &node,
                                                  int first, double leaf, double *x, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc;
    const uint16_t *below = walk.below + node.below + first + g - nc;
    const double *panel = walk.panels + node.panel + gsv_narrow_column(nr, q) + first + g;
    double sum[TILES][2];
    int at[TILES];
    auto owed = [&](int m) {
        const int i = first + 8 * m + g;
        return i < nr && (!OWN || (SMALL && m > 0) || i >= nc);
    };
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        double2 f = make_double2(0, 0);
        at[m] = owed(m) ? below[8 * m] ^ q : 0;
        if (owed(m))
            f = walk.vectors[at[m]];
        sum[m][0] = f.x;
        sum[m][1] = f.y;
    }
    const double *v =
        reinterpret_cast<const double *>(walk.vectors + (many_place(node.update + q) ^ g / 2)) + g % 2;
    const int last = SMALL ? 1 : OWN && 8 * TILES < nc ? 8 * TILES : nc; /* terms */
    auto step = [&](int k0, bool whole) {
        const bool term = whole || k0 + q < nc;
        double b = leaf, a[TILES];
        if (!SMALL)
            b = term ? v[MANY_BRANCH_COLUMNS * k0] : 0;
#pragma unroll
        for (int m = 0; m < TILES; m++)
            a[m] = term && (!OWN || (SMALL && m > 0) || 8 * m + g >= k0 + q) ? panel[8 * m] : 0;
        panel += 4 * nr - 4 * (k0 + q) - 10; /* to column k0 + q + 4 */
#pragma unroll
        for (int m = 0; m < TILES; m++)
            multiply_add_warp(sum[m], a[m], b);
    };
    int k0 = 0;
    if (!SMALL)
#pragma unroll 2
        for (; k0 + 4 <= last; k0 += 4)
            step(k0, true);
    if (k0 < last)
        step(k0, false);
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const double2 pair = make_double2(sum[m][0], sum[m][1]);
        if (owed(m))
            walk.vectors[at[m]] = pair;
        else if (OWN && (!SMALL || m == 0) && first + 8 * m + g < nc)
            *reinterpret_cast<double2 *>(x + (node.column + 8 * m + g) * columns + 2 * q) = pair;
    }
}

__device__ __forceinline__ void many_forward_node(const many_walk &walk, const gsv_branch_node &node,
                                                  double *x, int columns) {
    if (node.nr <= 16)
        many_forward_rows<2, true, false>(walk, node, 0, 0, x, columns);
    else
        many_forward_rows<4, true, false>(walk, node, 0, 0, x, columns);
    int first = GSV_NARROW_COLUMNS;
    for (; node.nr - first > 16; first += 32)
        many_forward_rows<4, false, false>(walk, node, first, 0, x, columns);
    if (node.nr > first)
        many_forward_rows<2, false, false>(walk, node, first, 0, x, columns);
}

/* splits: blocks of a branch; room: bytes of shared memory; RESIDENT blocks an SM. */
template <int RESIDENT>
__global__ void __launch_bounds__(MANY_BRANCH_BLOCK, RESIDENT)
    many_branch_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int columns,
                               int splits, int room) {
    extern __shared__ int4 shared[];
    const many_walk walk(plan, reinterpret_cast<char *>(shared), room, columns, splits);
    const gsv_branch &branch = walk.branch;
    const int lane = threadIdx.x % 32, outside = branch.outside_rows;
    const int64_t first = int64_t(branch.first_column) * columns;
    double2 *sums = walk.vectors;
    wait_for_vectors();
    double ahead[MANY_AHEAD];
    if (walk.begin < walk.end) {
        for (int k = walk.small; k < walk.count; k++)
            walk.begin_node_warp(walk.ready[k], y + first + walk.begin, columns);
#pragma unroll
        for (int e = 0; e < MANY_AHEAD; e++)
            ahead[e] = walk.request(e, y + first + walk.begin, columns);
        for (int e = 4 * walk.own + lane; e < 4 * (walk.own + outside); e += 32)
            sums[e] = make_double2(0, 0);
    }
    end_copies();
    __syncthreads(); /* the panels are there, and each warp's rows */
    if (plan.branch_refuse[blockIdx.x / splits]) {
        walk.refuse_block();
        __syncthreads(); /* nobody multiplies with what the panels were */
    }
    for (int c = walk.begin; c < walk.end; c += walk.step) {
        const double *from = y + first + c, *next = c + walk.step < walk.end ? from + walk.step : nullptr;
        double *to = x + first + c, *out = u + (plan.outside_update + branch.outside) * columns + c;
        for (int k = 0; k < walk.small; k += MANY_AHEAD) {
#pragma unroll
            for (int e = 0; e < MANY_AHEAD; e++) {
                if (k + e >= walk.small)
                    break;
                const gsv_branch_node node = walk.ready[k + e];
                if (node.nr <= 8)
                    many_forward_rows<1, true, true>(walk, node, 0, ahead[e], to, columns);
                else
                    many_forward_rows<2, true, true>(walk, node, 0, ahead[e], to, columns);
                __syncwarp(); /* the next one may add to the same rows */
                ahead[e] = walk.request(k + e + MANY_AHEAD, from, columns);
            }
        }
        if (next)
#pragma unroll
            for (int e = 0; e < MANY_AHEAD; e++)
                ahead[e] = walk.request(e, next, columns);
        for (int k = walk.small; k < walk.count; k++) {
            const gsv_branch_node node = walk.ready[k];
            many_forward_node(walk, node, to, columns);
            __syncwarp(); /* what it owes is there, and its own rows have been read */
            if (next)
                walk.begin_node_warp(node, next, columns);
        }
#pragma unroll 2
        for (int i = lane / 4; i < outside; i += 8) {
            double2 *at = sums + (many_place(walk.own + i) ^ lane % 4);
            *reinterpret_cast<double2 *>(out + i * columns + 2 * (lane % 4)) = *at;
            *at = make_double2(0, 0);
        }
        end_copies();
        __syncwarp(); /* the rows are those of the next right-hand sides */
    }
}

/* The sums of TILES times eight columns take STEPS times four rows below, from row i0 on. WHOLE: so many there
 * are; else rows that are not there are the last one, times zero. panel: row q below of the lane's columns. */
template <int TILES, int STEPS, bool WHOLE>
__device__ __forceinline__ void many_backward_below(const many_walk &walk, const gsv_branch_node &node,
                                                    int i0, const double *const (&panel)[TILES],
                                                    double (&sum)[TILES][2]) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, rows = node.nr - node.nc;
    const double *vectors = reinterpret_cast<const double *>(walk.vectors) + g % 2;
    double b[STEPS], a[STEPS][TILES];
#pragma unroll
    for (int e = 0; e < STEPS; e++) {
        const int i = i0 + 4 * e + q;
        const int at = walk.below[node.below + (WHOLE || i < rows ? i : rows - 1)];
        b[e] = vectors[2 * (at ^ g / 2)];
#pragma unroll
        for (int m = 0; m < TILES; m++)
            a[e][m] = WHOLE || i < rows ? panel[m][i0 + 4 * e] : 0;
    }
#pragma unroll
    for (int e = 0; e < STEPS; e++)
#pragma unroll
        for (int m = 0; m < TILES; m++)
            multiply_add_warp(sum[m], a[e][m], b[e]);
}

/* A node of up to 8 TILES columns. SMALL: a small leaf, whose own rows are `leaf`; else these become the
 * solution. */
template <int TILES, bool SMALL>
__device__ __forceinline__ void many_backward_node(const many_walk &walk, const gsv_branch_node &node,
                                                   double leaf, double *y, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc, rows = nr - nc;
    const double *vectors = reinterpret_cast<const double *>(walk.vectors) + g % 2;
    const double *panel[TILES];
    double sum[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int j = 8 * m + g < nc ? 8 * m + g : nc - 1;
        panel[m] = walk.panels + node.panel + gsv_narrow_column(nr, j) + q;
        sum[m][0] = sum[m][1] = 0;
    }
#pragma unroll 2
    for (int i0 = 0; i0 < (SMALL ? 1 : nc); i0 += 4) {
        const int i = i0 + q;
        const double b =
            SMALL ? leaf : vectors[2 * (many_place(node.update + (i < nc ? i : nc - 1)) ^ g / 2)];
#pragma unroll
        for (int m = 0; m < TILES; m++)
            multiply_add_warp(sum[m], i < nc && i >= 8 * m + g ? panel[m][i0] : 0, b);
    }
#pragma unroll
    for (int m = 0; m < TILES; m++)
        panel[m] += nc;
    if (SMALL) {
        if (rows > 8)
            many_backward_below<TILES, 4, false>(walk, node, 0, panel, sum);
        else if (rows > 4)
            many_backward_below<TILES, 2, false>(walk, node, 0, panel, sum);
        else if (rows > 0)
            many_backward_below<TILES, 1, false>(walk, node, 0, panel, sum);
    } else {
        int i0 = 0;
        for (; i0 + 16 <= rows; i0 += 16)
            many_backward_below<TILES, 4, true>(walk, node, i0, panel, sum);
        for (; i0 < rows; i0 += 8)
            many_backward_below<TILES, 2, false>(walk, node, i0, panel, sum);
        __syncwarp(); /* x has been read by all lanes */
    }
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int j = 8 * m + g;
        const double2 pair = make_double2(sum[m][0], sum[m][1]);
        if (j < nc)
            *reinterpret_cast<double2 *>(y + (node.column + j) * columns + 2 * q) = pair;
        if (!SMALL && j < nc)
            walk.vectors[many_place(node.update + j) ^ q] = pair;
    }
}

template <int RESIDENT>
__global__ void __launch_bounds__(MANY_BRANCH_BLOCK, RESIDENT)
    many_branch_backward_kernel(gsv_device_plan plan, const double *x, double *y, int columns, int splits,
                                int room) {
    extern __shared__ int4 shared[];
    const many_walk walk(plan, reinterpret_cast<char *>(shared), room, columns, splits);
    const gsv_branch &branch = walk.branch;
    const int lane = threadIdx.x % 32, outside = branch.outside_rows;
    const int64_t first = int64_t(branch.first_column) * columns;
    for (int i = threadIdx.x; i < outside; i += MANY_BRANCH_BLOCK)
        walk.outside_row[i] = plan.outside_row[branch.outside + i];
    end_copies();
    __syncthreads(); /* panels and lists are there */
    if (plan.branch_refuse[blockIdx.x / splits]) {
        walk.refuse_block();
        __syncthreads(); /* nobody multiplies with what the panels were */
    }
    wait_for_vectors();
    for (int c = walk.begin; c < walk.end; c += walk.step) {
        const double *from = x + first + c;
        double *to = y + first + c;
        double ahead[MANY_AHEAD];
#pragma unroll 2
        for (int i = lane / 4; i < outside; i += 8)
            begin_copy_pair(walk.vectors + (many_place(walk.own + i) ^ lane % 4),
                            y + c + int64_t(walk.outside_row[i]) * columns + 2 * (lane % 4));
        for (int k = walk.count - 1; k >= walk.small; k--)
            walk.begin_node_warp(walk.ready[k], from, columns);
#pragma unroll
        for (int e = 0; e < MANY_AHEAD; e++)
            ahead[e] = walk.request(e, from, columns);
        end_copies();
        __syncwarp(); /* the rows are there */
        for (int k = walk.count - 1; k >= walk.small; k--) {
            const gsv_branch_node node = walk.ready[k];
            if (node.nc <= 8)
                many_backward_node<1, false>(walk, node, 0, to, columns);
            else if (node.nc <= 16)
                many_backward_node<2, false>(walk, node, 0, to, columns);
            else
                many_backward_node<4, false>(walk, node, 0, to, columns);
            __syncwarp(); /* the node's solution is there */
        }
        for (int k = 0; k < walk.small; k += MANY_AHEAD) {
#pragma unroll
            for (int e = 0; e < MANY_AHEAD; e++) {
                if (k + e >= walk.small)
                    break;
                many_backward_node<1, true>(walk, walk.ready[k + e], ahead[e], to, columns);
                ahead[e] = walk.request(k + e + MANY_AHEAD, from, columns);
            }
        }
        __syncwarp(); /* the rows may go */
    }
}

} // namespace gsv
#endif
