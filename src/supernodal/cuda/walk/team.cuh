/*
 * Branches (branches.h) for few right-hand sides, real numbers: the walk of cuda/walk/eight.cuh by a team of warps
 * for each eight of them.
 *
 *      backward  a team of four for 8 or 16, where the upper tree is a stream (cuda/stream/block.cuh), of two for
 *                GSV_TASKS_32. The packs' numbers are looked up, not packed: each is wanted once or twice
 *      forward   a team of two for 8 or 16. Every other pack and every other node is one warp's. What a node owes it adds
 *                to vectors of the warp's own; whoever has the node that it is owed to adds up both, in their order
 *
 * Bits. As in cuda/walk/eight.cuh, but that forward, what a row is owed is summed in two parts. They follow from the
 * branch alone.
 *
 * Synchronisation: barriers of the block until panels and rows are there, and then of the team, one for each level.
 * No block waits for another of its launch (launch_part says what two launches wait for). What the stream wants filled (gsv_device_vectors) the forward
 * blocks fill before they wait for the vectors, unless a block begins late (vectors_wait).
 *
 * Traffic: panels and lists once; y, x and the outside rows once. What limits it is that blocks begin together: all read,
 * and then all walk, each some microseconds. So an SM has as many of them as it has room for, which registers are to
 * allow. A block that has requested what it needs prefetches into L2 what a later block will read (prefetch_branch_warp).
 */
#ifndef GSV_CUDA_WALK_TEAM_CUH
#define GSV_CUDA_WALK_TEAM_CUH

#include "eight.cuh"

namespace gsv {

enum { TEAM_FORWARD = 2 };

template <int TEAM, int NR> constexpr int team_threads() {
    return 32 * TEAM * NR / GSV_WALK_COLUMNS;
}

static_assert(TEAM_FORWARD * int(GSV_BLOCK_COLUMNS) / int(GSV_WALK_COLUMNS) == int(GSV_TEAM_VECTORS),
              "vectors of a block");

/* room: bytes of shared memory, enough for all vectors. SIDE: there are several groups of right-hand sides
 * (gsv_device_vectors.groups). */
template <typename P, int NR, bool SIDE>
__global__ void __launch_bounds__(team_threads<TEAM_FORWARD, NR>())
    team_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int room,
                        absent_fill fill, branch_launch launch) {
    typedef team_of<TEAM_FORWARD, NR / GSV_WALK_COLUMNS> team;
    if constexpr (SIDE) {
        y = of_group(y, plan.side_vector);
        x = of_group(x, plan.side_vector);
        u = of_group(u, plan.side_upper);
        fill.at = of_group(fill.at, plan.side_upper / 2);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    const int which = launch.first + blockIdx.x;
    const vectors_wait vectors(launch.part, launch.at_once);
    const eight_walk<P> walk(plan, reinterpret_cast<char *>(shared), room, NR, 1, which,
                             {TEAM_FORWARD, true, GSV_PACKED});
    const gsv_branch &branch = walk.branch;
    const int lane = threadIdx.x % 32, member = team::member(), outside = branch.outside_rows;
    const int64_t first = int64_t(branch.first_column) * NR;
    const int each = 4 * (walk.own + outside); /* pairs of a vector */
    double2 *all = walk.vectors - member * each;
    fill.write_block(); /* while lists and panels are on their way */
    wait_for_copies<1>();
    vectors.finish();
    __syncthreads(); /* the lists are there */

    const double *from = y + first + walk.begin;
    double *to = x + first + walk.begin, *out = u + (plan.outside_update + branch.outside) * NR + walk.begin;
    for (int k = 0; k < walk.count; k++)
        if (k % TEAM_FORWARD == member) {
            walk.begin_node_warp(walk.nodes[k], from, NR);
        } else {
            const int update = walk.nodes[k].update, nc = walk.nodes[k].nc;
            for (int e = lane; e < 4 * nc; e += 32)
                walk.vectors[gsv_walk_place(update + e / 4) ^ e % 4] = make_double2(0, 0);
        }
    for (int e = 4 * walk.own + lane; e < each; e += 32)
        walk.vectors[e] = make_double2(0, 0);
    double ahead[EIGHT_AHEAD];
#pragma unroll
    for (int e = 0; e < EIGHT_AHEAD; e++)
        ahead[e] = walk.request(TEAM_FORWARD * e + member, from, NR);
    if (threadIdx.x >= blockDim.x - 32)
        prefetch_branch_warp<P, false>(plan, which, launch, walk_lists{plan.branch_walks});
    commit_copies();
    wait_for_copies<1>();
    __syncthreads(); /* the panels are there */
    walk.fill_packs_block();
    wait_for_own_copies();
    __syncthreads(); /* the packs are there, and each warp's rows */
    eight_forward_packs<TEAM_FORWARD>(walk, member, ahead, from, to, NR);
    /* what is owed, summed over the warps' vectors in their order */
    auto sum_of = [&](int at) {
        double2 sum = all[at];
#pragma unroll
        for (int m = 1; m < TEAM_FORWARD; m++) {
            const double2 more = all[m * each + at];
            sum.x += more.x;
            sum.y += more.y;
        }
        return sum;
    };
    int level = 0;
    for (int k = 0; k < walk.count; k++) {
        const gsv_branch_node node = walk.nodes[k];
        if (node.unit != level) {
            level = node.unit;
            team::meet(); /* all that is below has added what it owes */
        }
        if (k % TEAM_FORWARD != member)
            continue;
        if (level > 0) {
            for (int e = lane; e < 4 * node.nc; e += 32) {
                const int at = gsv_walk_place(node.update + e / 4) ^ e % 4;
                walk.vectors[at] = sum_of(at);
            }
            __syncwarp(); /* the node's rows are complete */
        }
        eight_forward_node(walk, node, to, NR);
        __syncwarp(); /* what it owes is there */
    }
    team::meet(); /* all has been added */
    for (int i = lane / 4 + 8 * member; i < outside; i += 8 * TEAM_FORWARD) {
        const int at = gsv_walk_place(walk.own + i) ^ lane % 4;
        store_run_global(out + i * NR + 2 * (lane % 4), sum_of(at));
    }
    wait_for_first_part(launch.part);
}

template <int NR> struct team_backward {
    static const int TEAM = NR < GSV_TASKS_32 ? 4 : 2, THREADS = team_threads<TEAM, NR>(),
                     RESIDENT = NR == 8 ? 5 : 3; /* blocks an SM at most: there are registers for these */
};

/* room: bytes of shared memory, enough for all vectors, or with GSV_TASKS_32 right-hand sides for some. SIDE: as
 * above. */
template <typename P, int NR, bool SIDE>
__global__ void __launch_bounds__(team_backward<NR>::THREADS, team_backward<NR>::RESIDENT)
    team_backward_kernel(gsv_device_plan plan, const double *x, double *y, int room, branch_launch launch) {
    constexpr int TEAM = team_backward<NR>::TEAM, TEAMS = NR / GSV_WALK_COLUMNS;
    typedef team_of<TEAM, TEAMS> team;
    if constexpr (SIDE) {
        x = of_group(x, plan.side_vector);
        y = of_group(y, plan.side_vector);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    const int which = launch.first + blockIdx.x;
    const vectors_wait vectors(launch.part, launch.at_once);
    const eight_walk<P> walk(plan, reinterpret_cast<char *>(shared), room, NR, 1, which,
                             {TEAM, false, GSV_LOOKED_UP});
    const gsv_branch &branch = walk.branch;
    const int member = team::member();
    const int64_t first = int64_t(branch.first_column) * NR;
    for (int i = threadIdx.x; i < branch.outside_rows; i += blockDim.x)
        walk.outside_row[i] = plan.outside_row[branch.outside + i];
    wait_for_copies<1>();
    vectors.finish();
    __syncthreads(); /* lists are there */

    double ahead[EIGHT_AHEAD];
    if (walk.begin < walk.end)
        eight_begin_backward<TEAM>(walk, member, x + first + walk.begin, y + walk.begin, NR, ahead);
    if (threadIdx.x >= blockDim.x - 32)
        prefetch_branch_warp<P, true>(plan, which, launch, walk_lists{plan.branch_walks});
    wait_for_own_copies();
    __syncthreads(); /* panels and rows are there */
    for (int c = walk.begin; c < walk.end;) {
        eight_walk_back<TEAM, TEAMS, GSV_LOOKED_UP>(walk, member, x + first + c, y + first + c, NR, ahead);
        c += walk.step;
        if (NR < GSV_TASKS_32 || c >= walk.end) /* for so few there is room at once */
            break;
        team::meet(); /* the rows may go */
        eight_begin_backward<TEAM>(walk, member, x + first + c, y + c, NR, ahead);
        wait_for_own_copies();
        team::meet(); /* the rows are there */
    }
    wait_for_first_part(launch.part);
}

} // namespace gsv
#endif
