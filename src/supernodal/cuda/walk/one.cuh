/*
 * Branches (branches.h) for one right-hand side. A block of threads brings a branch's panels [W; -M] and
 * lists to shared memory, and walks the subtree with barriers between its levels, its vectors in shared
 * memory too. A branch has some twenty leaves of a few columns and a few larger nodes above them: what such a
 * walk costs is not its products but what surrounds them, so eight lanes take a unit, and a warp four of
 * them, of different nodes. What a block does before its walk is a chain of reads that depend on each other:
 * its record, its places in b, b. The last warp of an earlier block prefetches all that into L2.
 *
 * Several right-hand sides of a small factor are solved side by side: blocks (., g) walk for number g, with vectors of
 * its own.
 *
 * Load and store. b may be the caller's right-hand side, and x the caller's solution, each with a permutation:
 * then the blocks after the branches' own do for the other columns what a load or a store would.
 *
 *      forward   level by level up. A unit is eight rows of a front, a row a lane. A lane first adds up what
 *                the children owe its row; those of own columns are then in f, for all units of the node; and
 *                x1 = W f, u = f2 - M f. x goes to global memory, and so do the update vectors of the
 *                branch's roots in the end.
 *      backward  level by level down. A unit is four columns, two lanes a column:
 *                y(cols) = [W; -M]' [x(cols); y(rows below)].
 *
 * Bits: a forward result is f2, then its terms in ascending k, one by one; children in
 * the order of the list. A backward result is the sum of eight partial sums, over the rows i mod 8, as a
 * tree: a lane has four of them.
 *
 * Synchronisation: barriers of the block, one mbarrier for the copies (all its bytes are under way when a
 * thread waits for it), and wait_for_vectors. No block waits for another.
 *
 * Traffic: panels, a byte or two of lists a front row, y, x and the outside rows once. A level costs a
 * barrier or two and four or five shared-memory reads that depend on each other, whatever it has to do. An SM has
 * six blocks.
 */
#ifndef GSV_CUDA_WALK_ONE_CUH
#define GSV_CUDA_WALK_ONE_CUH

#include "branch.cuh"
#include "one_upper.cuh"
#include "../stream/ring.cuh"

namespace gsv {

/* List number `which` of those that a sweep reads. */
template <bool BACKWARD>
__device__ __forceinline__ const uint16_t *list_of(const char *memory, const gsv_one_room &room,
                                                   const gsv_branch &branch, int which) {
    return reinterpret_cast<const uint16_t *>(memory + room.lists) +
           (branch.at[which] - branch.at[gsv_one_lists(BACKWARD)]);
}

/* Shared memory that a block must have. */
template <typename N> int one_bytes(const gsv_branches &branches, bool backward) {
    return branches.most_one[backward][gsv_number_size(sizeof(panel_number<N>), sizeof(vector_number<N>))];
}

/* Bring a branch's panels and lists to shared memory; every thread waits for them with end_bring_block, with a
 * barrier of the block in between. */
template <typename P, bool BACKWARD>
__device__ __forceinline__ void begin_bring_block(const gsv_device_plan &plan, const gsv_branch &branch,
                                                  char *memory, const gsv_one_room &room) {
    const int nodes = room.lists - room.nodes, rest = room.first - room.lists;
    const P *panels = static_cast<const P *>(plan.panels) + branch.panel;
    const uint16_t *lists = plan.branch_lists + branch.lists,
                   *from = lists + branch.at[gsv_one_lists(BACKWARD)];
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == ONE_BLOCK) {
        uint64_t *arrived = reinterpret_cast<uint64_t *>(memory + room.arrived);
        barrier_init(arrived, 1);
        publish_barriers();
        barrier_expect(arrived, room.first);
        bulk_copy(memory + room.nodes, lists, nodes, arrived, plan.transient_branches);
        bulk_copy(memory + room.lists, from, rest, arrived, plan.transient_branches);
        bulk_copy(memory, panels, room.nodes, arrived, plan.transient_branches);
        barrier_arrive(arrived);
    }
#else
    begin_copy_block<ONE_THREADS>(memory, panels, room.nodes);
    begin_copy_block<ONE_THREADS>(memory + room.nodes, lists, nodes);
    begin_copy_block<ONE_THREADS>(memory + room.lists, from, rest);
    wait_for_own_copies();
#endif
}

__device__ __forceinline__ void end_bring_block(char *arrived) {
#if __CUDA_ARCH__ >= 900
    barrier_wait(reinterpret_cast<uint64_t *>(arrived), 0);
#endif
}

/* A gsv_branch_node in one read. */
struct node_of_branch {
    uint4 word;
    __device__ __forceinline__ void read(const uint16_t *nodes, int k) {
        word = reinterpret_cast<const uint4 *>(nodes)[k];
    }
    __device__ __forceinline__ void nothing() {
        word = make_uint4(0, 0, 0, 0);
    }
    __device__ __forceinline__ int panel() const {
        return word.x & 0xffff;
    }
    __device__ __forceinline__ int nr() const {
        return word.x >> 16;
    }
    __device__ __forceinline__ int nc() const {
        return word.y & 0xffff;
    }
    __device__ __forceinline__ int column() const {
        return word.y >> 16;
    }
    __device__ __forceinline__ int update() const {
        return word.z & 0xffff;
    }
    __device__ __forceinline__ int gather() const {
        return word.z >> 16;
    }
    __device__ __forceinline__ int below() const {
        return word.w & 0xffff;
    }
    __device__ __forceinline__ int unit() const {
        return word.w >> 16;
    }
};

/*
 * The last warp of a block prefetches into L2 what a later block will read. That block makes half a dozen reads one after
 * the other before it can begin, and so each waits for L2 and not for memory. vector: the one whose rows, for its columns,
 * the later block reads. outside: the list of the branches' outside rows that it reads, or NULL.
 */
template <typename P, typename V>
__device__ void prefetch_later_warp(const gsv_device_plan &plan, int count, int begin, int end,
                                    const one_vector<V> &vector, const int32_t *outside = nullptr) {
    const int later = blockIdx.x + ONE_AHEAD, lane = threadIdx.x % 32;
    if (later >= count)
        return;
    if (lane == 0)
        prefetch(&plan.branches[later + ONE_AHEAD < count ? later + ONE_AHEAD : count - 1]);
    const gsv_branch &branch = plan.branches[later];
    const uint16_t *lists = plan.branch_lists + branch.lists;
    if (lane == 0)
        prefetch_run(static_cast<const P *>(plan.panels) + branch.panel,
                     round_up_16(branch.numbers * int64_t(sizeof(P))));
    if (lane == 1)
        prefetch_run(lists, 2 * branch.at[GSV_AT_LEVEL_NODES]);
    if (lane == 2)
        prefetch_run(lists + branch.at[begin], 2 * (branch.at[end] - branch.at[begin]));
    if (outside && 32 * lane < branch.outside_rows)
        prefetch(outside + branch.outside + 32 * lane);
    const int columns = branch.columns, step = vector.perm ? 32 : 32 * 128 / int(sizeof(V));
    for (int e = vector.perm ? lane : lane * 128 / int(sizeof(V)); e < columns; e += step)
        prefetch(vector.at(branch.first_column + e));
}

/* sum += what the children owe a row. */
template <typename T>
__device__ __forceinline__ T add_owed_row(T sum, const uint16_t *ptr, const uint16_t *gather,
                                          const T *updates) {
    const int end = ptr[1];
#pragma unroll 1
    for (int g = ptr[0]; g < end; g++)
        sum = add(sum, updates[gather[g]]);
    return sum;
}

/* All of a block, each warp from where it is in the code: __syncthreads would want one place. */
__device__ __forceinline__ void block_meets() {
    asm volatile("barrier.sync 2, %0;" ::"n"(int(ONE_THREADS)) : "memory");
}

/* The walkers of a block, all warps but the last. */
__device__ __forceinline__ void walkers_meet() {
    asm volatile("barrier.sync 1, %0;" ::"n"(int(ONE_BLOCK)) : "memory");
}

/* A branch's columns of b into shared memory. place: of the first ones, by b.places(). */
template <typename T>
__device__ __forceinline__ void load_branch(const one_vector<const T> &b, const int32_t (&place)[ONE_MOVES],
                                            int64_t first_column, int columns, T *f) {
    const int thread = threadIdx.x;
    T value[ONE_MOVES];
#pragma unroll
    for (int q = 0; q < ONE_MOVES; q++)
        value[q] = b.values[place[q] * b.stride];
#pragma unroll
    for (int q = 0; q < ONE_MOVES; q++)
        if (thread + ONE_BLOCK * q < columns)
            f[thread + ONE_BLOCK * q] = value[q];
#pragma unroll 1
    for (int e = thread + ONE_BLOCK * ONE_MOVES; e < columns; e += ONE_BLOCK)
        f[e] = *b.at(first_column + e);
}

/* And its columns of x out of shared memory. */
template <typename T>
__device__ __forceinline__ void store_branch(const one_vector<T> &to, const int32_t (&place)[ONE_MOVES],
                                             int64_t first_column, int columns, const T *solution) {
    const int thread = threadIdx.x;
#pragma unroll
    for (int q = 0; q < ONE_MOVES; q++)
        if (thread + ONE_BLOCK * q < columns)
            to.values[place[q] * to.stride] = solution[thread + ONE_BLOCK * q];
#pragma unroll 1
    for (int e = thread + ONE_BLOCK * ONE_MOVES; e < columns; e += ONE_BLOCK)
        *to.at(first_column + e) = solution[e];
}

/* A branch in shared memory: panels, nodes, and one sweep's units. */
template <typename P> struct branch_lists {
    const P *panels;
    const uint16_t *nodes, *level_units, *units;
    int levels;
};

/* The forward walk, by all walkers. f: right-hand side, columns of the branch; becomes complete level by level. x: the
 * result, in shared or global memory. group, lane: thread / 8 and thread % 8. The caller computes them before it waits for
 * anything: computed here they cost registers and 2 % of a small solve. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void walk_up(const branch_lists<panel_number<N>> &list, const uint16_t *gather_ptr,
                                        const uint16_t *gather, T *f, T *updates, T *x, int group, int lane) {
    for (int level = 0; level < list.levels; level++) {
        const int end = list.level_units[level + 1];
        int k = list.level_units[level] + group, i = 0;
        node_of_branch node;
        node.nothing();
        T sum = make<T>(0);
        auto take_unit = [&]() {
            node.read(list.nodes, list.units[k]);
            i = 8 * (k - node.unit()) + lane;
        };
        if (k < end)
            take_unit();
        if (level > 0) {
            if (i < node.nr()) {
                const bool own = i < node.nc();
                T *row = &f[node.column() + i];
                sum = add_owed_row(own ? *row : sum, gather_ptr + node.gather() + i, gather, updates);
                if (own) {
                    *row = sum;
                    sum = make<T>(0);
                }
            }
#pragma unroll 1
            for (int other = k + ONE_GROUPS; other < end; other += ONE_GROUPS) {
                node_of_branch of;
                of.read(list.nodes, list.units[other]);
                const int j = 8 * (other - of.unit()) + lane;
                T *row = &f[of.column() + j];
                if (j < of.nc())
                    *row = add_owed_row(*row, gather_ptr + of.gather() + j, gather, updates);
            }
            walkers_meet(); /* f of the level is complete */
        }
#pragma unroll 1
        while (k < end) {
            const int nr = node.nr(), nc = node.nc();
            const panel_number<N> *column = list.panels + node.panel() + i;
            const T *v = f + node.column();
            const int last = i < nc ? i + 1 : i < nr ? nc : 0;
            int step = nr - 1;
#pragma unroll 4
            for (int p = 0; p < last; p++) {
                sum = multiply_add(sum, number_as<T>(*column), *v);
                column += step--;
                v++;
            }
            if (i < nc)
                x[node.column() + i] = sum;
            else if (i < nr)
                updates[node.update() + i - nc] = sum;
            k += ONE_GROUPS;
            if (k < end) {
                take_unit();
                sum = make<T>(0);
                if (level > 0 && i >= node.nc() && i < node.nr())
                    sum = add_owed_row(sum, gather_ptr + node.gather() + i, gather, updates);
            }
        }
        walkers_meet(); /* the level's updates are complete */
    }
}

/* The backward walk, by all walkers. The right-hand side is at solution + own; behind the solution's columns are the
 * outside rows. warp, lane, phase: thread / 32, thread % 32 and thread % ONE_LANES, computed early as in walk_up. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void walk_down(const branch_lists<panel_number<N>> &list, const uint16_t *below,
                                          T *solution, int own, int warp, int lane, int phase) {
    constexpr int LANES = ONE_LANES, SUMS = 8 / LANES, GROUPS = ONE_BLOCK / (4 * LANES);
    for (int level = list.levels - 1; level >= 0; level--) {
        const int end = list.level_units[level + 1];
#pragma unroll 1
        for (int base = list.level_units[level] + warp * (8 / LANES); base < end; base += GROUPS) {
            const int k = base + lane / (4 * LANES);
            node_of_branch node;
            node.nothing();
            int first = 0;
            if (k < end) {
                node.read(list.nodes, list.units[2 * k]);
                first = list.units[2 * k + 1];
            }
            const int nr = node.nr(), nc = node.nc(), j = first + lane / LANES % 4, stop = j < nc ? nr : 0;
            const panel_number<N> *column = list.panels + node.panel() + gsv_narrow_column(nr, j);
            const uint16_t *rows = below + node.below() - nc;
            T sum[SUMS];
#pragma unroll
            for (int q = 0; q < SUMS; q++)
                sum[q] = make<T>(0);
#pragma unroll 1
            for (int i0 = first / 8 * 8 + phase; i0 < stop; i0 += 8) {
                /* numbers that are not used are read all the same: branches would cost more */
                T a[SUMS], v[SUMS];
#pragma unroll
                for (int q = 0; q < SUMS; q++) {
                    const int i = i0 + LANES * q;
                    int from = own + node.column() + (i < nc ? i : 0);
                    if (i >= nc && i < nr)
                        from = rows[i];
                    v[q] = solution[from];
                    a[q] = conjugate(number_as<T>(column[i]));
                }
#pragma unroll
                for (int q = 0; q < SUMS; q++) {
                    const int i = i0 + LANES * q;
                    if (i >= j && i < nr)
                        sum[q] = multiply_add(sum[q], a[q], v[q]);
                }
            }
#pragma unroll
            for (int away = SUMS / 2; away > 0; away /= 2)
#pragma unroll
                for (int q = 0; q < away; q++)
                    sum[q] = add(sum[q], sum[q + away]);
#pragma unroll
            for (int away = LANES / 2; away > 0; away /= 2)
                sum[0] = add(sum[0], shuffle_xor(sum[0], away));
            if (phase == 0 && j < nc)
                solution[node.column() + j] = sum[0];
        }
        walkers_meet(); /* the level's solution is there */
    }
}

template <typename N, bool SIDE>
__global__ void __launch_bounds__(ONE_THREADS, ONE_RESIDENT)
    branch_forward_one_kernel(gsv_device_plan plan, one_vector<const vector_number<N>> b,
                              one_upper<vector_number<N>> upper, vector_number<N> *x, vector_number<N> *u) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    if constexpr (SIDE) {
        b.values = of_group(b.values, b.apart);
        upper.take_group(plan);
        x = of_group(x, plan.one_vector);
        u = of_group(u, plan.one_upper);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    if (blockIdx.x >= upper.first) {
        load_upper_block(upper, b);
        return;
    }
    char *memory = reinterpret_cast<char *>(shared);
    const gsv_branch branch = read_branch(plan, blockIdx.x);
    const gsv_one_room room = gsv_branch_one_room(&branch, false, sizeof(P), sizeof(T));
    const int thread = threadIdx.x;
    begin_bring_block<P, false>(plan, branch, memory, room);
    if (thread >= ONE_BLOCK) {
        wait_for_vectors();
        block_meets(); /* the mbarrier is there */
        prefetch_later_warp<P>(plan, upper.first, GSV_AT_ROW_LEVELS, GSV_AT_BACKWARD_LEVELS, b);
        return;
    }
    const P *panels = reinterpret_cast<const P *>(memory);
    const uint16_t *nodes = reinterpret_cast<const uint16_t *>(memory + room.nodes);
    const uint16_t *level_units = list_of<false>(memory, room, branch, GSV_AT_ROW_LEVELS);
    const uint16_t *units = list_of<false>(memory, room, branch, GSV_AT_ROW_UNITS);
    const uint16_t *gather_ptr = list_of<false>(memory, room, branch, GSV_AT_GATHER_PTR);
    const uint16_t *gather = list_of<false>(memory, room, branch, GSV_AT_GATHER);
    T *f = reinterpret_cast<T *>(memory + room.first);
    T *updates = reinterpret_cast<T *>(memory + room.second);
    const int columns = branch.columns, levels = branch.levels, outside = branch.outside_rows;
    const int64_t first_column = branch.first_column;
    const int group = thread / 8, lane = thread % 8;
    T *outside_u = u + (plan.outside_update + branch.outside);
    int32_t place[ONE_MOVES];
    b.places(branch.first_column, columns, place);
    x += first_column;
    wait_for_vectors();

    load_branch<T>(b, place, branch.first_column, columns, f);
    block_meets(); /* f is there, and the mbarrier */
    end_bring_block(memory + room.arrived);
    walk_up<N>({panels, nodes, level_units, units, levels}, gather_ptr, gather, f, updates, x, group, lane);
#pragma unroll 1
    for (int e = thread; e < outside; e += ONE_BLOCK)
        outside_u[e] = updates[e];
}

template <typename N, bool SIDE>
__global__ void __launch_bounds__(ONE_THREADS, ONE_RESIDENT)
    branch_backward_one_kernel(gsv_device_plan plan, const vector_number<N> *x, const vector_number<N> *y,
                               one_vector<vector_number<N>> to, one_upper<vector_number<N>> upper) {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    if constexpr (SIDE) {
        x = of_group(x, plan.one_vector);
        y = of_group(y, plan.one_vector);
        to.values = of_group(to.values, to.apart);
        upper.take_group(plan);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    if (blockIdx.x >= upper.first) {
        store_upper_block(upper, to);
        return;
    }
    char *memory = reinterpret_cast<char *>(shared);
    const gsv_branch branch = read_branch(plan, blockIdx.x);
    const gsv_one_room room = gsv_branch_one_room(&branch, true, sizeof(P), sizeof(T));
    const int thread = threadIdx.x;
    begin_bring_block<P, true>(plan, branch, memory, room);
    if (thread >= ONE_BLOCK) {
        wait_for_vectors();
        block_meets(); /* the mbarrier is there */
        prefetch_later_warp<P>(plan, upper.first, GSV_AT_BACKWARD_LEVELS, GSV_AT_END,
                               one_vector<const T>{x, nullptr, 1, 0}, plan.outside_row);
        return;
    }
    const P *panels = reinterpret_cast<const P *>(memory);
    const uint16_t *nodes = reinterpret_cast<const uint16_t *>(memory + room.nodes);
    const uint16_t *level_units = list_of<true>(memory, room, branch, GSV_AT_BACKWARD_LEVELS);
    const uint16_t *units = list_of<true>(memory, room, branch, GSV_AT_BACKWARD_UNITS);
    const uint16_t *below = list_of<true>(memory, room, branch, GSV_AT_BELOW);
    T *solution = reinterpret_cast<T *>(memory + room.first);
    T *f = reinterpret_cast<T *>(memory + room.second);
    const int own = int(f - solution);
    const int warp = thread / 32, lane = thread % 32, phase = lane % ONE_LANES;
    const int columns = branch.columns, outside = branch.outside_rows;
    const int32_t *outside_row = plan.outside_row + branch.outside;
    const int32_t row = thread < outside ? outside_row[thread] : 0;
    const int64_t first_column = branch.first_column;
    int32_t place[ONE_MOVES]; /* of the results, which come last */
    to.places(branch.first_column, columns, place);
    x += first_column;
    wait_for_vectors();

    T value[ONE_MOVES], beyond;
#pragma unroll
    for (int q = 0; q < ONE_MOVES; q++)
        value[q] = x[thread + ONE_BLOCK * q < columns ? thread + ONE_BLOCK * q : 0];
    if (thread < outside)
        beyond = y[row];
    if (thread < outside)
        solution[columns + thread] = beyond;
#pragma unroll
    for (int q = 0; q < ONE_MOVES; q++)
        if (thread + ONE_BLOCK * q < columns)
            f[thread + ONE_BLOCK * q] = value[q];
#pragma unroll 1
    for (int e = thread + ONE_BLOCK * ONE_MOVES; e < columns; e += ONE_BLOCK)
        f[e] = x[e];
#pragma unroll 1
    for (int e = thread + ONE_BLOCK; e < outside; e += ONE_BLOCK)
        solution[columns + e] = y[outside_row[e]];
    block_meets(); /* f and the outside rows are there, and the mbarrier */
    end_bring_block(memory + room.arrived);
    walk_down<N>({panels, nodes, level_units, units, branch.levels}, below, solution, own, warp, lane, phase);
    store_branch<T>(to, place, branch.first_column, columns, solution);
}

} // namespace gsv
#endif
