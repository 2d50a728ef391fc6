/*
 * Branches (branches.h) for many right-hand sides on FP64 tensor cores: a warp walks a branch for eight right-hand
 * sides of its own, or for four complex ones, whose real and imaginary parts stand side by side. `columns` counts real
 * ones, or parts. A complex number of the panels is two products, of its parts with a row of these and with i times it
 * (eight_walk::factor).
 *
 *      forward    x1 = W f1,  f(rows below) -= M f1        backward   y1 = [W; -M]' [x1; y(rows below)]
 *
 * A block has a branch and all or some of the right-hand sides. Its warps share the panels and the lists of
 * schedule/walk/packs.h, in shared memory (cuda/walk/eight_room.cuh), and nothing else: right-hand sides know nothing of each
 * other, so a warp needs no barrier between the levels of the tree, only the order of its own instructions.
 * What a node owes is added at once to the rows it is owed to: the branch's own columns, and the rows below its
 * roots. So a warp's vectors are these rows, without update vectors in between.
 *
 * Most nodes are small leaves: up to four columns and 16 rows, at the lowest level. Packs of them, up to four
 * columns side by side, are multiplied with as one node. Nobody adds to their columns and nobody below reads
 * them, so these columns have no rows in shared memory: their right-hand sides come straight from global
 * memory, requested four packs ahead. The others follow level by level, and as each is done its rows are
 * filled for the warp's next eight right-hand sides.
 *
 * Fragments of m8n8k4, in lane l = 4 g + q: a row g, term q; v term q, column g; sums row g, columns 2 q and
 * 2 q + 1.
 *
 * Where there are few right-hand sides, a team of two or four warps walks for the same eight, for one alone is one wait
 * after the other (cuda/walk/team.cuh). Backward every second or fourth node and pack is a warp's, so the walk is here.
 *
 * Bits: a sum takes its terms one after the other (tensor_product.cuh), nodes in the order of the list, which
 * follows from the branch alone. No column's bits depend on another's, on its place, or on how many there are; nor on
 * teams, for backward all of a node's sums are one warp's.
 *
 * Synchronisation: barriers of the block until panels and packs are there; then each warp goes its own way,
 * with its rows in order: __syncwarp between nodes; a team meets between levels, for a node reads rows of higher levels
 * alone and writes its own. No block waits for another of its launch; launch_part
 * (cuda/shared/gather.cuh) says what two launches wait for.
 *
 * Traffic: panels and lists once a block; y, x and the outside rows once. What limits it is instructions.
 */
#ifndef GSV_CUDA_WALK_EIGHT_CUH
#define GSV_CUDA_WALK_EIGHT_CUH

#include "eight_room.cuh"

namespace gsv {

/* TEAM warps that share eight right-hand sides, of TEAMS such teams in a block. Barriers by numbers that are constants: by
 * one that is not, a block takes all 16 that it may have, and an SM has 64. */
template <int TEAM, int TEAMS> struct team_of {
    static_assert(TEAM == 1 || TEAMS == 1 || TEAMS == 2 || TEAMS == 4, "barriers");
    static __device__ __forceinline__ int member() {
        return TEAM == 1 ? 0 : threadIdx.x / 32 % TEAM;
    }
    template <int NUMBER> static __device__ __forceinline__ void meet_at() {
        asm volatile("barrier.sync %0, %1;" ::"n"(NUMBER), "n"(32 * TEAM) : "memory");
    }
    static __device__ __forceinline__ void meet() { /* all of the team wait until all have come */
        if (TEAM == 1)
            __syncwarp();
        else if (TEAMS == 1)
            __syncthreads();
        else if (threadIdx.x < 32 * TEAM)
            meet_at<1>();
        else if (TEAMS == 2 || threadIdx.x < 64 * TEAM)
            meet_at<2>();
        else if (threadIdx.x < 96 * TEAM)
            meet_at<3>();
        else
            meet_at<4>();
    }
};

/* f(rows below) += the product, x(own rows) = the product, for a pack of up to 8 TILES rows, or more; b: its
 * right-hand sides. */
template <int TILES, typename Walk>
__device__ __forceinline__ void eight_forward_pack(const Walk &walk, const gsv_branch_pack &pack, double b,
                                                   double *x, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, rows = pack.rows;
    const uint16_t *list = walk.rows + pack.list + g;
    const typename Walk::factor v = walk.template factor_of<false>(b);
    auto number = [&](int e) {
        return walk.template pack_number<Walk::PACKS>(32 * pack.numbers + lane + e, true);
    };
    double sum[TILES][2];
    int at[TILES];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        double2 f = make_double2(0, 0);
        at[m] = 8 * m + g < rows ? list[8 * m] : 0;
        if (8 * m + g < rows && (m > 0 || g >= GSV_PACK_COLUMNS))
            f = walk.vectors[at[m] ^ q];
        sum[m][0] = f.x;
        sum[m][1] = f.y;
    }
#pragma unroll
    for (int m = 0; m < TILES; m++)
        walk.add_product_warp(sum[m], number(32 * m), v);
    for (int t = 8 * TILES; t < rows; t += 8) { /* more than most have */
        const int place = t + g < rows ? list[t] ^ q : 0;
        double2 f = make_double2(0, 0);
        if (t + g < rows)
            f = walk.vectors[place];
        double more[2] = {f.x, f.y};
        walk.add_product_warp(more, number(4 * t), v);
        if (t + g < rows)
            walk.vectors[place] = make_double2(more[0], more[1]);
    }
#pragma unroll
    for (int m = 0; m < TILES; m++)
        if (8 * m + g < rows && (m > 0 || g >= GSV_PACK_COLUMNS))
            walk.vectors[at[m] ^ q] = make_double2(sum[m][0], sum[m][1]);
    if (g < pack.nc)
        store_run_global<true>(x + at[0] * columns + 2 * q, sum[0]);
}

/* Every TEAM-th pack, those of this member. The right-hand sides of the first ones are in `ahead`, or on their way there. */
template <int TEAM, typename Walk>
__device__ __forceinline__ void eight_forward_packs(const Walk &walk, int member,
                                                    double (&ahead)[EIGHT_AHEAD], const double *from,
                                                    double *to, int columns) {
    for (int k = member; k < walk.npacks; k += TEAM * EIGHT_AHEAD) {
#pragma unroll
        for (int e = 0; e < EIGHT_AHEAD; e++) {
            if (k + TEAM * e >= walk.npacks)
                break;
            const gsv_branch_pack pack = walk.packs[k + TEAM * e];
            if (pack.rows <= 8)
                eight_forward_pack<1>(walk, pack, ahead[e], to, columns);
            else if (pack.rows <= 16)
                eight_forward_pack<2>(walk, pack, ahead[e], to, columns);
            else
                eight_forward_pack<3>(walk, pack, ahead[e], to, columns);
            __syncwarp(); /* the next one may add to the same rows */
            ahead[e] = walk.request(k + TEAM * (e + EIGHT_AHEAD), from, columns);
        }
    }
}

/* x of the 8 OWN columns of a node or less, and f(rows below first .. first + 8 BELOW - 1) += the product. */
template <int OWN, int BELOW, typename Walk>
__device__ __forceinline__ void eight_forward_rows(const Walk &walk, const gsv_branch_node &node, int first,
                                                   double *x, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc;
    const uint16_t *below = walk.below + node.below + first + g;
    const auto *panel = walk.panels + node.panel + gsv_narrow_column(nr, q) + g;
    const auto *under = panel + nc + first;
    const int rows = nr - nc - first - g; /* 8 m < rows: there is row m below */
    double own[OWN > 0 ? OWN : 1][2], sum[BELOW][2];
    int at[BELOW];
#pragma unroll
    for (int m = 0; m < BELOW; m++) {
        double2 f = make_double2(0, 0);
        at[m] = 8 * m < rows ? below[8 * m] ^ q : 0;
        if (8 * m < rows)
            f = walk.vectors[at[m]];
        sum[m][0] = f.x;
        sum[m][1] = f.y;
    }
#pragma unroll
    for (int m = 0; m < OWN; m++)
        own[m][0] = own[m][1] = 0;
    const double *v =
        reinterpret_cast<const double *>(walk.vectors + (gsv_walk_place(node.update + q) ^ g / 2)) + g % 2;
    int to = 4 * nr - 4 * q - 10; /* to column k0 + q + 4 */
    auto step = [&](int k0, bool whole) {
        const bool term = whole || k0 + q < nc;
        double b = 0;
        typename Walk::number_type a[OWN + BELOW];
        if (term)
            b = v[GSV_WALK_COLUMNS * k0];
        const typename Walk::factor factor = walk.template factor_of<false>(b);
#pragma unroll
        for (int m = 0; m < OWN; m++) {
            a[m] = {};
            if (term && 8 * m + g >= k0 + q)
                a[m] = number_as<typename Walk::number_type>(panel[8 * m]);
        }
#pragma unroll
        for (int m = 0; m < BELOW; m++) {
            a[OWN + m] = {};
            if (term)
                a[OWN + m] = number_as<typename Walk::number_type>(under[8 * m]);
        }
        panel += to;
        under += to;
        to -= 16;
#pragma unroll
        for (int m = 0; m < OWN; m++)
            walk.add_product_warp(own[m], a[m], factor);
#pragma unroll
        for (int m = 0; m < BELOW; m++)
            walk.add_product_warp(sum[m], a[OWN + m], factor);
    };
    int k0 = 0;
#pragma unroll 2
    for (; k0 + 4 <= nc; k0 += 4)
        step(k0, true);
    if (k0 < nc)
        step(k0, false);
#pragma unroll
    for (int m = 0; m < BELOW; m++)
        if (8 * m < rows)
            walk.vectors[at[m]] = make_double2(sum[m][0], sum[m][1]);
#pragma unroll
    for (int m = 0; m < OWN; m++)
        if (8 * m + g < nc)
            store_run_global<true>(x + (node.column + 8 * m + g) * columns + 2 * q, own[m]);
}

template <typename Walk>
__device__ __forceinline__ void eight_forward_node(const Walk &walk, const gsv_branch_node &node, double *x,
                                                   int columns) {
    const int rows = node.nr - node.nc;
    if (node.nc <= 8)
        eight_forward_rows<1, 4>(walk, node, 0, x, columns);
    else if (node.nc <= 16)
        eight_forward_rows<2, 4>(walk, node, 0, x, columns);
    else
        eight_forward_rows<4, 4>(walk, node, 0, x, columns);
    int first = 32;
    for (; rows - first > 16; first += 32)
        eight_forward_rows<0, 4>(walk, node, first, x, columns);
    if (rows > first)
        eight_forward_rows<0, 2>(walk, node, first, x, columns);
}

/* splits: blocks of a branch; room: bytes of shared memory. */
template <typename P>
__global__ void __launch_bounds__(EIGHT_BLOCK)
    eight_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int columns, int splits,
                         int room, branch_launch launch) {
    const int which = launch.first + blockIdx.x / splits;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    const eight_walk<P> walk(plan, reinterpret_cast<char *>(shared), room, columns, splits, which);
    const gsv_branch &branch = walk.branch;
    const int lane = threadIdx.x % 32, outside = branch.outside_rows;
    const int64_t first = int64_t(branch.first_column) * columns;
    double2 *sums = walk.vectors;
    wait_for_copies<1>();
    wait_for_vectors(launch.part);
    __syncthreads(); /* the lists are there */

    double ahead[EIGHT_AHEAD];
    if (walk.begin < walk.end) {
        for (int k = 0; k < walk.count; k++)
            walk.begin_node_warp(walk.nodes[k], y + first + walk.begin, columns);
        for (int e = 4 * walk.own + lane; e < 4 * (walk.own + outside); e += 32)
            sums[e] = make_double2(0, 0);
#pragma unroll
        for (int e = 0; e < EIGHT_AHEAD; e++)
            ahead[e] = walk.request(e, y + first + walk.begin, columns);
    }
    if (columns == GSV_TASKS_32 && threadIdx.x >= blockDim.x - 32) /* with more it is no better */
        prefetch_branch_warp<P, false>(plan, which, launch, walk_lists{plan.branch_walks});
    commit_copies();
    wait_for_copies<1>();
    __syncthreads(); /* the panels are there */
    if constexpr (eight_walk<P>::PACKS == GSV_PACKED)
        walk.fill_packs_block();
    wait_for_own_copies();
    __syncthreads(); /* the packs are there, and each warp's rows */
    for (int c = walk.begin; c < walk.end; c += walk.step) {
        const double *from = y + first + c, *next = c + walk.step < walk.end ? from + walk.step : nullptr;
        double *to = x + first + c, *out = u + (plan.outside_update + branch.outside) * columns + c;
        eight_forward_packs<1>(walk, 0, ahead, from, to, columns);
        if (next)
#pragma unroll
            for (int e = 0; e < EIGHT_AHEAD; e++)
                ahead[e] = walk.request(e, next, columns);
        for (int k = 0; k < walk.count; k++) {
            const gsv_branch_node node = walk.nodes[k];
            eight_forward_node(walk, node, to, columns);
            __syncwarp(); /* what it owes is there, and its own rows have been read */
            if (next)
                walk.begin_node_warp(node, next, columns);
        }
#pragma unroll 2
        for (int i = lane / 4; i < outside; i += 8) {
            double2 *at = sums + (gsv_walk_place(walk.own + i) ^ lane % 4);
            store_run_global(out + i * columns + 2 * (lane % 4), *at);
            *at = make_double2(0, 0);
        }
        wait_for_own_copies();
        __syncwarp(); /* the rows are those of the next right-hand sides */
    }
    wait_for_first_part(launch.part);
}

/* The sums of TILES times eight columns take STEPS times four rows below, from row i0 on. WHOLE: all of these
 * rows exist. Otherwise the last row, times zero, stands for each missing one. panel: row q below of the lane's columns. */
template <int TILES, int STEPS, bool WHOLE, typename Walk, typename Panel>
__device__ __forceinline__ void eight_backward_below(const Walk &walk, const gsv_branch_node &node, int i0,
                                                     const Panel (&panel)[TILES], double (&sum)[TILES][2]) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, rows = node.nr - node.nc;
    const double *vectors = reinterpret_cast<const double *>(walk.vectors) + g % 2;
    typename Walk::factor b[STEPS];
    typename Walk::number_type a[STEPS][TILES];
#pragma unroll
    for (int e = 0; e < STEPS; e++) {
        const int i = i0 + 4 * e + q;
        const int at = walk.below[node.below + (WHOLE || i < rows ? i : rows - 1)];
        b[e] = walk.template factor_of<true>(vectors[2 * (at ^ g / 2)]);
#pragma unroll
        for (int m = 0; m < TILES; m++)
            a[e][m] = WHOLE || i < rows ? number_as<typename Walk::number_type>(panel[m][i0 + 4 * e])
                                        : typename Walk::number_type{};
    }
#pragma unroll
    for (int e = 0; e < STEPS; e++)
#pragma unroll
        for (int m = 0; m < TILES; m++)
            walk.add_product_warp(sum[m], a[e][m], b[e]);
}

/* A pack; b: its own rows. */
template <gsv_pack_form FORM, typename Walk>
__device__ __forceinline__ void eight_backward_pack(const Walk &walk, const gsv_branch_pack &pack, double b,
                                                    double *y, int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int rows = pack.rows, some = g < GSV_PACK_COLUMNS ? rows : 0; /* of the lane's column */
    const uint16_t *list = walk.rows + pack.list;
    const int first = 32 * pack.numbers + g; /* number of row 0 */
    const double *vectors = reinterpret_cast<const double *>(walk.vectors) + g % 2;
    double sum[2] = {0, 0};
    walk.add_product_warp(sum, walk.template pack_number<FORM>(first + GSV_PACK_COLUMNS * q, q < some),
                          walk.template factor_of<true>(b));
    for (int t = GSV_PACK_COLUMNS; t < rows; t += 12) {
        typename Walk::factor v[3];
        typename Walk::number_type a[3];
#pragma unroll
        for (int e = 0; e < 3; e++) {
            const int r = t + 4 * e + q;
            v[e] = walk.template factor_of<true>(vectors[2 * (list[r < rows ? r : rows - 1] ^ g / 2)]);
            a[e] = walk.template pack_number<FORM>(first + GSV_PACK_COLUMNS * r, r < some);
        }
#pragma unroll
        for (int e = 0; e < 3; e++)
            walk.add_product_warp(sum, a[e], v[e]);
    }
    if (g < pack.nc)
        store_run_global(y + list[g] * columns + 2 * q, sum);
}

/* A node of up to 8 TILES columns; its rows of the vectors become the solution. */
template <int TILES, typename Walk>
__device__ __forceinline__ void eight_backward_node(const Walk &walk, const gsv_branch_node &node, double *y,
                                                    int columns) {
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc, rows = nr - nc;
    const double *vectors = reinterpret_cast<const double *>(walk.vectors) + g % 2;
    decltype(walk.panels) panel[TILES];
    double sum[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int j = 8 * m + g < nc ? 8 * m + g : nc - 1;
        panel[m] = walk.panels + node.panel + gsv_narrow_column(nr, j) + q;
        sum[m][0] = sum[m][1] = 0;
    }
#pragma unroll 2
    for (int i0 = 0; i0 < nc; i0 += 4) {
        const int i = i0 + q;
        const typename Walk::factor b = walk.template factor_of<true>(
            vectors[2 * (gsv_walk_place(node.update + (i < nc ? i : nc - 1)) ^ g / 2)]);
#pragma unroll
        for (int m = 0; m < TILES; m++)
            walk.add_product_warp(sum[m],
                                  i < nc && i >= 8 * m + g
                                      ? number_as<typename Walk::number_type>(panel[m][i0])
                                      : typename Walk::number_type{},
                                  b);
    }
#pragma unroll
    for (int m = 0; m < TILES; m++)
        panel[m] += nc;
    int i0 = 0;
    for (; i0 + 16 <= rows; i0 += 16)
        eight_backward_below<TILES, 4, true>(walk, node, i0, panel, sum);
    for (; i0 < rows; i0 += 8)
        eight_backward_below<TILES, 2, false>(walk, node, i0, panel, sum);
    __syncwarp(); /* x has been read by all lanes */
#pragma unroll
    for (int m = 0; m < TILES; m++) {
        const int j = 8 * m + g;
        if (j < nc) {
            store_run_global(y + (node.column + j) * columns + 2 * q, sum[m]);
            walk.vectors[gsv_walk_place(node.update + j) ^ q] = make_double2(sum[m][0], sum[m][1]);
        }
    }
}

/* Begin to copy a warp's share of the outside rows' numbers: row[0] and every 8 TEAM-th one behind it, of `rows`
 * rows. to, row: the lane's, of its first row. */
template <int TEAM>
__device__ __forceinline__ void eight_bring_outside_warp(double2 *to, const int32_t *row, int rows,
                                                         const double *from, int columns) {
    constexpr int AT_ONCE = 4, STEP = 8 * TEAM,
                  NEXT = STEP * GSV_WALK_COLUMNS / 2; /* the banks are the same */
    for (; rows > 0; rows -= AT_ONCE * STEP) {
        int32_t which[AT_ONCE];
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++)
            which[e] = e * STEP < rows ? row[e * STEP] : 0;
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++)
            if (e * STEP < rows)
                begin_copy_pair(to + e * NEXT, from + int64_t(which[e]) * columns);
        row += AT_ONCE * STEP;
        to += AT_ONCE * NEXT;
    }
}

/* What a team's backward walk begins with: it begins to bring the rows of the vectors, and requests the own rows of the
 * first packs. x, y: of the branch's first column, and of the first row of all. */
template <int TEAM, typename Walk>
__device__ __forceinline__ void eight_begin_backward(const Walk &walk, int member, const double *x,
                                                     const double *y, int columns,
                                                     double (&ahead)[EIGHT_AHEAD]) {
    const int row = 8 * member + threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
    eight_bring_outside_warp<TEAM>(walk.vectors + (gsv_walk_place(walk.own + row) ^ pair),
                                   walk.outside_row + row, walk.branch.outside_rows - row, y + 2 * pair,
                                   columns);
    for (int k = walk.count - 1 - member; k >= 0; k -= TEAM)
        walk.begin_node_warp(walk.nodes[k], x, columns);
#pragma unroll
    for (int e = 0; e < EIGHT_AHEAD; e++)
        ahead[e] = walk.request(TEAM * e + member, x, columns);
}

/* The walk for eight right-hand sides, whose rows are there. x, y: of the branch's first column. */
template <int TEAM, int TEAMS, gsv_pack_form FORM, typename Walk>
__device__ __forceinline__ void eight_walk_back(const Walk &walk, int member, const double *x, double *y,
                                                int columns, double (&ahead)[EIGHT_AHEAD]) {
    typedef team_of<TEAM, TEAMS> team;
    int level = TEAM > 1 && walk.count > 0 ? walk.nodes[walk.count - 1].unit : 0;
    for (int k = walk.count - 1; k >= 0; k--) {
        const gsv_branch_node node = walk.nodes[k];
        if (TEAM > 1 && node.unit != level) {
            level = node.unit;
            team::meet(); /* the solution of all that is above is there */
        }
        if ((walk.count - 1 - k) % TEAM != member)
            continue;
        if (node.nc <= 8)
            eight_backward_node<1>(walk, node, y, columns);
        else if (node.nc <= 16)
            eight_backward_node<2>(walk, node, y, columns);
        else
            eight_backward_node<4>(walk, node, y, columns);
        __syncwarp(); /* the node's solution is there */
    }
    if (TEAM > 1)
        team::meet(); /* and that of all nodes */
    for (int k = member; k < walk.npacks; k += TEAM * EIGHT_AHEAD) {
#pragma unroll
        for (int e = 0; e < EIGHT_AHEAD; e++) {
            if (k + TEAM * e >= walk.npacks)
                break;
            eight_backward_pack<FORM>(walk, walk.packs[k + TEAM * e], ahead[e], y, columns);
            ahead[e] = walk.request(k + TEAM * (e + EIGHT_AHEAD), x, columns);
        }
    }
}

/* splits: blocks of a branch; room: bytes of shared memory. */
template <typename P>
__global__ void __launch_bounds__(EIGHT_BLOCK)
    eight_backward_kernel(gsv_device_plan plan, const double *x, double *y, int columns, int splits, int room,
                          branch_launch launch) {
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    const int which = launch.first + blockIdx.x / splits;
    const eight_walk<P> walk(plan, reinterpret_cast<char *>(shared), room, columns, splits, which);
    const gsv_branch &branch = walk.branch;
    const int64_t first = int64_t(branch.first_column) * columns;
    for (int i = threadIdx.x; i < branch.outside_rows; i += blockDim.x)
        walk.outside_row[i] = plan.outside_row[branch.outside + i];
    wait_for_own_copies();
    __syncthreads(); /* panels and lists are there */
    if constexpr (eight_walk<P>::PACKS == GSV_PACKED)
        walk.fill_packs_block();
    __syncthreads(); /* the packs are there */
    wait_for_vectors(launch.part);

    for (int c = walk.begin; c < walk.end; c += walk.step) {
        double ahead[EIGHT_AHEAD];
        eight_begin_backward<1>(walk, 0, x + first + c, y + c, columns, ahead);
        wait_for_own_copies();
        __syncwarp(); /* the rows are there */
        eight_walk_back<1, 1, eight_walk<P>::PACKS>(walk, 0, x + first + c, y + first + c, columns, ahead);
        __syncwarp(); /* the rows may go */
    }
    wait_for_first_part(launch.part);
}

} // namespace gsv
#endif
