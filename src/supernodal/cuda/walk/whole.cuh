/*
 * A factor all of whose tree is in branches (branches.h), for one right-hand side: one launch loads, walks up, walks down
 * and stores. So small a factor costs little more than its launches, and this way has one where cuda/walk/one.cuh has two.
 *
 * Mapping: a block of threads for each branch, with the walks of cuda/walk/one.cuh: the panels and the lists of both sweeps
 * come to shared memory once, and x goes from one walk to the other there. Several right-hand sides of a small
 * factor are solved side by side: blocks (., g) walk for number g.
 *
 * In place: b and x have the same permutation. If they are the same memory, by the same strides, a block reads those
 * numbers alone that it writes, and it has read all of them before it writes one.
 *
 * Synchronisation: barriers of the block, and one mbarrier for the copies. A branch without outside rows needs nothing of
 * other blocks, so no block waits for another.
 *
 * Bits: those of cuda/walk/one.cuh, with which this shares its walks.
 *
 * Traffic: panels, lists, b and x once.
 */
#ifndef GSV_CUDA_WALK_WHOLE_CUH
#define GSV_CUDA_WALK_WHOLE_CUH

#include "one.cuh"

namespace gsv {

template <typename N, bool SIDE>
__global__ void __launch_bounds__(ONE_THREADS)
    branch_whole_one_kernel(gsv_device_plan plan, one_vector<const vector_number<N>> b,
                            one_vector<vector_number<N>> to) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    if constexpr (SIDE) {
        b.values = of_group(b.values, b.apart);
        to.values = of_group(to.values, to.apart);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    const gsv_branch branch = read_branch(plan, blockIdx.x);
    const gsv_whole_room whole = gsv_branch_whole_room(&branch, sizeof(P), sizeof(T));
    const gsv_one_room room = {whole.nodes,  whole.lists,   whole.first,
                               whole.second, whole.arrived, whole.bytes};
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, columns = branch.columns;
    begin_bring_block<P, false>(plan, branch, memory, room); /* the lists of both sweeps stand side by side */
    if (thread >= ONE_BLOCK) {
        block_meets(); /* the mbarrier is there */
        prefetch_later_warp<P>(plan, gridDim.x, GSV_AT_ROW_LEVELS, GSV_AT_END, b);
        return;
    }
    const P *panels = reinterpret_cast<const P *>(memory);
    const uint16_t *nodes = reinterpret_cast<const uint16_t *>(memory + room.nodes);
    auto list = [&](int which) { return list_of<false>(memory, room, branch, which); };
    T *f = reinterpret_cast<T *>(memory + whole.first);
    T *updates = reinterpret_cast<T *>(memory + whole.second);
    T *x = reinterpret_cast<T *>(memory + whole.between);
    int32_t place[ONE_MOVES]; /* in b, and in x */
    b.places(branch.first_column, columns, place);
    load_branch<T>(b, place, branch.first_column, columns, f);
    block_meets(); /* f is there, and the mbarrier */
    end_bring_block(memory + room.arrived);
    walk_up<N>({panels, nodes, list(GSV_AT_ROW_LEVELS), list(GSV_AT_ROW_UNITS), branch.levels},
               list(GSV_AT_GATHER_PTR), list(GSV_AT_GATHER), f, updates, x, thread / 8, thread % 8);
    walk_down<N>({panels, nodes, list(GSV_AT_BACKWARD_LEVELS), list(GSV_AT_BACKWARD_UNITS), branch.levels},
                 list(GSV_AT_BELOW), f, int(x - f), warp, lane, lane % ONE_LANES);
    store_branch<T>(to, place, branch.first_column, columns, f);
}

} // namespace gsv
#endif
