/*
 * Branches (branches.h) for 8 right-hand sides or more, real numbers: the subtrees of cuda_branch.cuh,
 * a block of threads each, 8 N right-hand sides at a time, on FP64 tensor cores. With the upper tree level by level;
 * where it is a stream, forward, unless there are few outside rows (cuda_team_branch.cuh).
 *
 *      forward   level by level up: f1 = y(cols) + the children's rows, f2 = the children's rows; then
 *                x1 = W f1 and u = f2 - M f1, 32 rows of a front a warp. x and the roots' u go to global
 *                memory, the other u stay in shared memory. Small leaves, most of all supernodes, two a warp
 *      backward  level by level down: y(cols) = [W; -M]' [x(cols); y(rows below)], eight columns a warp
 *                (cuda_lower_back.cuh)
 *
 * Bits. The sums of cuda_tensor.cuh, term by term, and so those of one right-hand side: forward f2, then
 * ascending k one by one; backward eight chains, the rows i of one i mod 8, as a tree.
 *
 * Mapping. A warp holds rows as the result of a tensor product has them: row l / 4 of eight, numbers
 * 2 (l % 4) and one more of eight. Backward: where a level has no more units than there are warps, a warp
 * takes eight columns, and writes when all have read; where it has more, a warp takes a node, eight columns
 * after the other: a group reads no row of an earlier one, so that the solution takes x's place.
 *
 * Synchronisation: barriers of the block, and wait_for_vectors. No block waits for another of its launch, so all end;
 * of two launches, whose blocks have different shares of an SM, see launch_part.
 *
 * Fill. Where the upper tree is a stream, the forward sweep's blocks fill with ABSENT the memory that it is handed
 * over in (published.cuh), for they wait more than they move: when panels, lists and vectors are on their way. Of two
 * launches the second one does not wait for the load before that; but this began when all before it had ended, and does
 * not touch that memory, nor does anything else before the stream, which waits until these launches are over.
 *
 * Traffic: panels and lists once for each of the `splits` blocks that share a branch; y, x, and the outside
 * rows once. Cost: a level has one or two barriers, and what one warp takes for 32 rows of a front. The upper
 * levels of a branch have few such units, so that on an H200 the forward sweep waits for their instructions,
 * not for memory (an SM issues in 20 to 30 % of its cycles); the backward sweep is short of cycles (50 %).
 */
#ifndef GSV_CUDA_LOWER_CUH
#define GSV_CUDA_LOWER_CUH

#include "cuda_lower_room.cuh"
#include "cuda_tensor.cuh"

namespace gsv {

enum { LOWER_TILES = GSV_FORWARD_UNIT / 8, LEAF_ROWS = 16, LEAF_COLUMNS = 8 };

/* Begin to copy 16 bytes to shared memory. */
__device__ __forceinline__ void begin_copy_16(void *to, const void *from) {
    asm volatile(
        "cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
}

template <int WARPS> __device__ __forceinline__ void begin_copy_bytes(char *to, const void *from, int bytes) {
    for (int at = 16 * threadIdx.x; at < bytes; at += 16 * 32 * WARPS)
        begin_copy_16(to + at, static_cast<const char *>(from) + at);
}

/* What the warps of a block share in the forward sweep of one chunk of right-hand sides. P: the panels' numbers. */
template <typename P> struct forward_branch {
    const P *panels;
    double *f, *updates;
    const uint16_t *gather_ptr, *gather;
    int64_t outside_update; /* row of the update vectors of its first outside row */
    double *x, *u;          /* of the branch's first column, and of all update vectors, of the chunk */
    int outside, nrhs;
    bool refuse;
};

template <int N> using lower_tile = double[N][2]; /* eight rows of a warp */

/* The warp's lanes' numbers of a row, two each: to x or u, which are in global memory, or to an update vector, which is not. */
template <bool GLOBAL, int N>
__device__ __forceinline__ void put_numbers(double *to, const lower_tile<N> &acc) {
    const int c = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < N; n++)
        if constexpr (GLOBAL)
            store_run_global(to + 8 * n + c, acc[n]);
        else
            store_run(to + 8 * n + c, acc[n]);
}

/* Rows i of a tile to where they belong: x(cols), or the update vector. */
template <int N, typename Branch>
__device__ __forceinline__ void put_row(const Branch &b, const gsv_branch_node &node, int64_t root, int i,
                                        lower_tile<N> &acc) {
    if (b.refuse)
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = not_a_number<double>();
    if (i < node.nc)
        put_numbers<true, N>(&b.x[int64_t(node.column + i) * b.nrhs], acc);
    else if (i < node.nr && root >= 0)
        put_numbers<true, N>(&b.u[(root + i - node.nc) * b.nrhs], acc);
    else if (i < node.nr)
        put_numbers<false, N>(&b.updates[(node.update - b.outside + i - node.nc) * lower_row<N>::STRIDE],
                              acc);
}

/* A front of at most LEAF_ROWS rows and LEAF_COLUMNS columns without children, no root: its numbers,
 * requested before they are used. */
template <int N> struct small_leaf {
    gsv_branch_node node;
    double a[2][2], b[2][N];

    static __device__ __forceinline__ bool is(const gsv_branch_node &node, int outside) {
        return node.nr <= LEAF_ROWS && node.nc <= LEAF_COLUMNS && node.update >= outside;
    }

    template <typename Branch> __device__ __forceinline__ void request(const Branch &branch) {
        const int lane = threadIdx.x % 32, row = lane / 4, part = lane % 4, nr = node.nr, nc = node.nc;
        const auto *column = branch.panels + node.panel + gsv_narrow_column(nr, part) + row;
        const double *v = branch.f + (node.column + part) * lower_row<N>::STRIDE + row;
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const int k = 4 * s + part;
#pragma unroll
            for (int m = 0; m < 2; m++) {
                const int i = 8 * m + row;
                a[s][m] = k < nc && i >= k && i < nr ? column[8 * m] : 0;
            }
#pragma unroll
            for (int n = 0; n < N; n++)
                b[s][n] = k < nc ? v[4 * s * lower_row<N>::STRIDE + 8 * n] : 0;
            column += 4 * nr - 4 * part - 10; /* to column 4 + part */
        }
    }

    template <typename Branch> __device__ __forceinline__ void finish(const Branch &branch) {
        const int row = threadIdx.x % 32 / 4, c = threadIdx.x % 4 * 2;
        double acc[2][N][2];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                acc[m][n][0] = acc[m][n][1] = 0;
#pragma unroll
                for (int s = 0; s < 2; s++)
                    multiply_add_warp(acc[m][n], a[s][m], b[s][n]);
                if (branch.refuse)
                    acc[m][n][0] = acc[m][n][1] = not_a_number<double>();
            }
        const int nc = node.nc, nr = node.nr;
        double *to = branch.updates + (node.update - branch.outside + row - nc) * lower_row<N>::STRIDE + c;
        double *x = branch.x + int64_t(node.column + row) * branch.nrhs + c;
#pragma unroll
        for (int n = 0; n < N; n++) {
            if (row < nc)
                store_run_global(x + 8 * n, acc[0][n]);
            else if (row < nr)
                store_run(to + 8 * n, acc[0][n]);
            if (8 + row < nr)
                store_run(to + 8 * lower_row<N>::STRIDE + 8 * n, acc[1][n]);
        }
    }
};

/* Rows begin .. end - 1 of the 32 from `first` on: what the children owe them, added to acc, child by child.
 */
template <int N, typename Branch>
__device__ __forceinline__ void gather_rows_warp(const Branch &b, const gsv_branch_node &node, int first,
                                                 int begin, int end, lower_tile<N> (&acc)[LOWER_TILES]) {
    const int row = threadIdx.x % 32 / 4, from = threadIdx.x % 4 * 2 - b.outside * lower_row<N>::STRIDE;
    const uint16_t *ptr = b.gather_ptr + node.gather + first + row;
    int at[LOWER_TILES], last[LOWER_TILES];
    bool more = false;
#pragma unroll
    for (int m = 0; m < LOWER_TILES; m++) {
        const int i = first + 8 * m + row;
        at[m] = last[m] = 0;
        if (i >= begin && i < end) {
            at[m] = ptr[8 * m];
            last[m] = ptr[8 * m + 1];
        }
        more |= at[m] < last[m];
    }
    while (more) {
        more = false;
#pragma unroll
        for (int m = 0; m < LOWER_TILES; m++)
            if (at[m] < last[m]) {
                const double *term = &b.updates[b.gather[at[m]] * lower_row<N>::STRIDE + from];
#pragma unroll
                for (int n = 0; n < N; n++) {
                    const double2 two = *reinterpret_cast<const double2 *>(term + 8 * n);
                    acc[m][n][0] += two.x;
                    acc[m][n][1] += two.y;
                }
                at[m]++;
                more |= at[m] < last[m];
            }
    }
}

/* f(cols) += what the children owe: rows 0 .. nc - 1, all in the front's first 32. Leaves zeros in their acc.
 */
template <int N, typename Branch>
__device__ __forceinline__ void add_to_columns_warp(const Branch &b, const gsv_branch_node &node, int end,
                                                    lower_tile<N> (&acc)[LOWER_TILES]) {
    const int row = threadIdx.x % 32 / 4, c = threadIdx.x % 4 * 2, nc = node.nc;
    double *f = &b.f[(node.column + row) * lower_row<N>::STRIDE + c];
#pragma unroll
    for (int m = 0; m < LOWER_TILES; m++)
        if (8 * m + row < nc)
#pragma unroll
            for (int n = 0; n < N; n++)
                load_run(f + 8 * m * lower_row<N>::STRIDE + 8 * n, acc[m][n]);
    gather_rows_warp<N>(b, node, 0, 0, end, acc);
#pragma unroll
    for (int m = 0; m < LOWER_TILES; m++)
        if (8 * m + row < nc)
#pragma unroll
            for (int n = 0; n < N; n++) {
                store_run(f + 8 * m * lower_row<N>::STRIDE + 8 * n, acc[m][n]);
                acc[m][n][0] = acc[m][n][1] = 0;
            }
}

/* TILES tiles of rows from `first` on: acc += [W; -M] f(cols). */
template <int N, int TILES, typename Branch>
__device__ __forceinline__ void multiply_rows_warp(const Branch &b, const gsv_branch_node &node, int first,
                                                   lower_tile<N> (&acc)[LOWER_TILES]) {
    const int lane = threadIdx.x % 32, row = lane / 4, part = lane % 4, nr = node.nr, nc = node.nc;
    const auto *column = b.panels + node.panel + gsv_narrow_column(nr, part) + first + row;
    const double *v = b.f + (node.column + part) * lower_row<N>::STRIDE + row;
#pragma unroll 2
    for (int s = 0; s < nc; s += 4) {
        const int k = s + part;
        const unsigned rows = k < nc ? nr - k : 0; /* of column k */
        double f[N];
#pragma unroll
        for (int n = 0; n < N; n++)
            f[n] = k < nc ? v[8 * n] : 0;
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            const double a = unsigned(first + row - k + 8 * m) < rows ? column[8 * m] : 0;
#pragma unroll
            for (int n = 0; n < N; n++)
                multiply_add_warp(acc[m][n], a, f[n]);
        }
        column += 4 * nr - 4 * k - 10; /* to column k + 4 */
        v += 4 * lower_row<N>::STRIDE;
    }
}

/* 32 rows of a front from `first` on. begin: the first row whose children's rows are not added yet. */
template <int N, typename Branch>
__device__ __forceinline__ void forward_unit_warp(const Branch &b, const gsv_branch_node &node, int first,
                                                  int begin) {
    const bool is_root = node.update < b.outside && node.nr > node.nc;
    const int64_t root = is_root ? b.outside_update + node.update : -1;
    lower_tile<N> acc[LOWER_TILES];
#pragma unroll
    for (int m = 0; m < LOWER_TILES; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[m][n][0] = acc[m][n][1] = 0;
    if (begin == 0 && node.gather != GSV_NO_GATHER)
        add_to_columns_warp<N>(b, node, node.nr, acc);
    else if (node.gather != GSV_NO_GATHER)
        gather_rows_warp<N>(b, node, first, begin, node.nr, acc);
    __syncwarp(); /* f(cols) is complete; the multiplications are the warp's */
    if (node.nr - first <= 16)
        multiply_rows_warp<N, 2>(b, node, first, acc);
    else
        multiply_rows_warp<N, LOWER_TILES>(b, node, first, acc);
#pragma unroll
    for (int m = 0; m < LOWER_TILES; m++)
        if (first + 8 * m < node.nr)
            put_row<N>(b, node, root, first + 8 * m + threadIdx.x % 32 / 4, acc[m]);
}

/* The lists of a branch that its forward sweep reads. */
struct forward_lists {
    const uint16_t *lists;
    __device__ __forceinline__ memory_run operator()(const gsv_branch &branch) const {
        return {lists + branch.lists, 2 * branch.at[GSV_AT_BACKWARD_LEVELS]};
    }
};

/* SIDE: of several groups of right-hand sides (gsv_device_vectors.groups). */
template <typename P, int N, int WARPS, int RESIDENT, bool SIDE>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    lower_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int nrhs, int splits,
                         absent_fill fill, branch_launch launch) {
    constexpr int CHUNK = lower_row<N>::NUMBERS, STRIDE = lower_row<N>::STRIDE;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    if constexpr (SIDE) {
        y = of_group(y, plan.side_vector);
        x = of_group(x, plan.side_vector);
        u = of_group(u, plan.side_upper);
        fill.at = of_group(fill.at, plan.side_upper / 2);
    }
    const int which = launch.first + blockIdx.x / splits;
    const vectors_wait vectors(launch.part, launch.at_once * splits);
    const gsv_branch branch = read_branch(plan, which);
    const lower_room room = forward_room<P, N>(branch);
    begin_copy_bytes<WARPS>(memory, static_cast<const P *>(plan.panels) + branch.panel, room.lists);
    begin_copy_bytes<WARPS>(memory + room.lists, plan.branch_lists + branch.lists, room.vector - room.lists);
    const uint16_t *lists = reinterpret_cast<const uint16_t *>(memory + room.lists);
    const gsv_branch_node *nodes = reinterpret_cast<const gsv_branch_node *>(lists);
    const uint16_t *level_nodes = lists + branch.at[GSV_AT_LEVEL_NODES];
    const uint16_t *level_units = lists + branch.at[GSV_AT_FORWARD_LEVELS];
    const uint16_t *units = lists + branch.at[GSV_AT_FORWARD_UNITS];
    const int warp = threadIdx.x / 32, columns = branch.columns, levels = branch.levels;
    const int64_t first_column = branch.first_column;
    forward_branch<P> b;
    b.panels = reinterpret_cast<const P *>(memory);
    b.f = reinterpret_cast<double *>(memory + room.vector);
    b.updates = reinterpret_cast<double *>(memory + room.updates);
    b.gather_ptr = lists + branch.at[GSV_AT_GATHER_PTR];
    b.gather = lists + branch.at[GSV_AT_GATHER];
    b.outside_update = plan.outside_update + branch.outside;
    b.outside = branch.outside_rows;
    b.nrhs = nrhs;
    b.refuse = branch.refuse; /* this kernel cannot (cuda_sweep.cuh) */
    vectors.finish();

    for (int c0 = CHUNK * (blockIdx.x % splits); c0 < nrhs; c0 += CHUNK * splits) {
        const double *from = y + first_column * nrhs + c0;
        for (int e = threadIdx.x; e < columns * (CHUNK / 2); e += 32 * WARPS) {
            const int i = e / (CHUNK / 2), c = e % (CHUNK / 2) * 2;
            begin_copy_16(&b.f[i * STRIDE + c], from + int64_t(i) * nrhs + c);
        }
        b.x = x + first_column * nrhs + c0;
        b.u = u + c0;
        if (c0 < CHUNK * splits) { /* while all that is on its way */
            fill.write_block();
            if (warp == WARPS - 1 && blockIdx.x % splits == 0)
                prefetch_branch_warp<P, false>(plan, which, launch, forward_lists{plan.branch_lists});
        }
        wait_for_own_copies();
        __syncthreads(); /* panels, lists and f are there; nobody reads the updates of the chunk before */
        const int leaves = level_units[1];
        for (int k = warp; k < leaves; k += 2 * WARPS) {
            small_leaf<N> one, two;
            const bool second = k + WARPS < leaves;
            one.node = nodes[units[2 * k]];
            two.node = nodes[units[2 * (second ? k + WARPS : k)]];
            const bool small_one = small_leaf<N>::is(one.node, b.outside);
            const bool small_two = small_leaf<N>::is(two.node, b.outside);
            if (small_one)
                one.request(b);
            if (small_two)
                two.request(b);
            if (small_one)
                one.finish(b);
            else
                forward_unit_warp<N>(b, one.node, units[2 * k + 1], 0);
            if (small_two && second)
                two.finish(b);
            else if (second)
                forward_unit_warp<N>(b, two.node, units[2 * (k + WARPS) + 1], 0);
        }
        __syncthreads(); /* the leaves' updates are complete */
        for (int level = 1; level < levels; level++) {
            const int begin = level_units[level], end = level_units[level + 1];
            /* where every node is one unit, its warp adds to its columns too */
            const bool alone = end - begin == level_nodes[level + 1] - level_nodes[level];
            if (!alone) {
                for (int k = level_nodes[level] + warp; k < level_nodes[level + 1]; k += WARPS) {
                    const gsv_branch_node node = nodes[k];
                    lower_tile<N> acc[LOWER_TILES];
                    add_to_columns_warp<N>(b, node, node.nc, acc);
                }
                __syncthreads(); /* f of the level is complete */
            }
            for (int k = begin + warp; k < end; k += WARPS) {
                const gsv_branch_node node = nodes[units[2 * k]];
                forward_unit_warp<N>(b, node, units[2 * k + 1], alone ? 0 : node.nc);
            }
            __syncthreads(); /* the level's updates are complete; after the last one f may be written */
        }
    }
    wait_for_first_part(launch.part);
}

} // namespace gsv
#endif
