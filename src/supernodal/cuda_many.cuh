/*
 * The sweeps for many right-hand sides, 64 to 256 columns at a time, or 32.
 *
 * The same products as in cuda_sweep.cuh, [x1; u] = [W; -M] f1 + [0; f2] and its transpose, but the vectors
 * are blocks as wide as a matrix: a solve is bound by flops, 4 nnz(L) a column, and by what its vectors move,
 * no longer by the panels. For 216000 columns of L with 88 million numbers (grid3d:60) and 256 right-hand
 * sides: 90 Gflop are 1.6 ms at the rate of DGEMM (57.5 Tflop/s); y and x, written and read once a sweep and
 * brought in and out, are 3.5 GB, 0.8 ms; 0.8 million rows of update vectors (5 a column of L in all, but a
 * branch keeps its own in shared memory), written, and read forward and, as rows of the solution, backward,
 * are 5 GB, 1.1 ms of the memory's time or less, for the upper tree's are in the L2 cache now and then.
 *
 * - Branches (branches.h): a block walks a branch for a few right-hand sides at a time, all of its vectors in
 *   shared memory (cuda_many_branch.cuh).
 * - The upper tree: tasks (many.h), each for C right-hand sides, 64 or 32: a narrow supernode, for all or some
 *   of these (cuda_many_narrow.cuh); rows of own columns of a wide one, to which is added what its children owe
 *   (cuda_many_gather.cuh); or a tile (cuda_many_tile.cuh), which writes x(own columns) and u, the children's
 *   rows added as it goes, or the solution. A supernode whose triangle is inverted in parts has its tiles once
 *   for each part, a pass (many_order.h). A launch has all tasks of a run of levels: of those that have such
 *   supernodes, or of others. 33 to 64 right-hand sides are two tiles of 32 where the sweep is short, for it is
 *   latency then (cuda_many_launch.cuh).
 *
 * Synchronisation. There is a block for each task, but which one is its task a block learns from a ticket in
 * memory when it begins: the tasks begin in their order (many_order.h). A block waits for its task's counter, one
 * thread polling, after it has asked for its panel, and advances another counter when its results are written
 * (release and acquire, device scope). That ends: a task waits for tasks before it alone, and these have
 * blocks that run already, the first of them without waiting. A forward tile waits twice: for its children,
 * to what they owe its rows below its sums add, and then for its own columns to be assembled. Not where it is
 * one of several passes, for then its sums may add to own columns too. A backward tile waits for the rows above
 * its parent's and for the parent's when it comes to them, and has terms of own columns before; if it is of a
 * later pass, for the rows above its supernode and for those of the passes before. Of a tile that is cut, the
 * block whose range is done last adds the partial sums, so nobody waits for them. A wait that takes about two
 * seconds is given up (gives_up): what the block then writes is NaN. A launch begins when all blocks of the one
 * before have begun, takes its tasks, and waits in wait_for_vectors() for all of it.
 *
 * Bits. The sums have a fixed order: what the children owe, in the order of gsv_tiles.gather, then sixteen
 * terms after sixteen, range after range (cuda_many_tile.cuh; in branches, and forward in narrow supernodes,
 * one chain, backward in narrow ones four). It depends on the factor alone, so a column has the same bits
 * wherever it stands and whatever stands beside it. But it is not the order of cuda_sweep.cuh, where a sum has
 * sixteen chains: that many sums of a 32 x 32 tile do not fit into a warp's registers.
 *
 * Cost. A low tile of 64 columns and sixteen terms are 65536 multiply-adds, 512 cycles of an SM's tensor cores,
 * and 48 KB through its shared memory, 384 cycles. What a task takes besides is latency, one trip after the
 * other: ticket, task and node; lists; the counter; children's rows and the first vectors; the results' way
 * out. So blocks share an SM, and tiles of real numbers in double precision are half as high, low: three
 * blocks, or four with 32 columns, for two.
 *
 * Limits: supernodes that are solved by substitution are refused (NaN): the executor takes such factors 32
 * columns at a time, by cuda_sweep.cuh.
 */
#ifndef GSV_CUDA_MANY_CUH
#define GSV_CUDA_MANY_CUH

#include "cuda_many_narrow.cuh"

namespace gsv {

__device__ __forceinline__ int many_within(int k, int least, int most) {
    return k < least ? least : k < most ? k : most;
}

__device__ __forceinline__ many_tile many_tile_of(const gsv_device_plan &plan, const gsv_many_task &task,
                                                  bool backward, int columns, int c0) {
    const gsv_node node = many_node(plan, task.node);
    /* late column blocks may be empty: backward, pass 0 is the last one that is not */
    const int parts = node.parts > 1 ? node.parts : 1;
    const int empty =
        backward && parts > 1 ? parts - (node.nc - 1) / gsv_part_columns(node.nc, parts) - 1 : 0;
    const column_block block(node, wide_pass{task.pass + empty, parts}, backward);
    many_tile tile = {node,
                      block,
                      task.first,
                      task.begin > block.first ? task.begin : block.first,
                      backward || task.end < block.end ? task.end : block.end,
                      task.first + task.rows,
                      task.rows,
                      columns,
                      c0,
                      0,
                      0,
                      0,
                      0};
    const int corner = tile.last < node.nc ? tile.last : node.nc, behind = backward ? block.end : node.nr;
    tile.last = tile.last < behind ? tile.last : behind;
    tile.inside = backward ? (corner + GSV_TILE - 1) / GSV_TILE * GSV_TILE - GSV_TILE : tile.begin;
    tile.near = backward ? many_within(task.near, tile.begin, tile.end) : tile.begin;
    tile.far = backward ? many_within(task.far, tile.near, tile.end) : tile.end;
    tile.inside_end = backward || tile.end < task.first + GSV_TILE ? tile.end : task.first + GSV_TILE;
    return tile;
}

/* Rows of a tile's front that it adds to: rows below, and own columns of column blocks to come. */
__device__ __forceinline__ bool many_adds(const many_tile &tile, int i) {
    return i >= tile.block.end && i < tile.last;
}

/* What the children owe row i, where the tile is to add it. */
__device__ __forceinline__ many_children many_owed(const gsv_device_plan &plan, const many_tile &tile,
                                                   int i) {
    if (!many_adds(tile, i) || i < tile.node.nc || tile.block.first > 0)
        return {0, 0, {0, 0}};
    return many_children_of(plan, tile.node.rows + i);
}

/* 2^32 / groups, rounded up: k / groups is this times k, >> 32, for k < 2^30, without a division. */
__device__ __forceinline__ uint64_t many_reciprocal(int groups) {
    static_assert(GSV_MANY_GROUPS <= 4, "exact for these");
    return groups == 1 ? 1ull << 32 : groups == 2 ? 1ull << 31 : groups == 3 ? 0x55555556ull : 1ull << 30;
}

/* The task that a ticket is for. */
__device__ __forceinline__ int many_task_of(int ticket, int groups) {
    return int(uint32_t(ticket) * many_reciprocal(groups) >> 32);
}

/* Lets L2 have a task that a block takes some time from now; its own will be near that of ticket blockIdx.x. A task
 * that is not there yet takes memory's time, half of what passes before a block knows its supernode. */
__device__ __forceinline__ void many_ask_for_later(const gsv_many_task *tasks, int groups) {
    constexpr unsigned LATER = 128; /* blocks */
    if (blockIdx.x + LATER >= gridDim.x)
        return;
    const char *task = reinterpret_cast<const char *>(tasks + many_task_of(blockIdx.x + LATER, groups));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(task));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(task + sizeof(gsv_many_task) - 1));
}

/* What a block is at, in its shared memory. */
struct many_work {
    gsv_many_task task;
    int *counters; /* of the task's right-hand sides */
    int lost, last, there, stale;
};

/* Counter k of the task's right-hand sides. */
__device__ __forceinline__ int *many_counter(const many_work &work, int k) {
    return work.counters + int64_t(k) * GSV_MANY_GROUPS;
}

/* Has a counter reached `count`? By one thread. */
__device__ __forceinline__ bool many_has(const int *counter, int count) {
    int value;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value >= count;
}

/* Sooner or later? By one thread. */
__device__ __forceinline__ bool many_reaches(const int *counter, int count, gsv_stream_state *state) {
    for (int n = 1;; n++) {
        if (many_has(counter, count))
            return true;
        if (gives_up(n, state))
            return false;
    }
}

/* One more; what the block wrote before its last barrier is there for who finds it so. By one thread. */
__device__ __forceinline__ void many_advance(int *counter) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ int many_meet(int *counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

/* Backward, of what a task waits for: 2 if its parent's rows are there, or else 1 if those above them are. By
 * one thread. */
__device__ __forceinline__ int many_known(const many_work &work) {
    const gsv_many_task &task = work.task;
    if (task.count == 0 || many_has(many_counter(work, task.wait), task.count))
        return 2;
    return task.owing == 0 || many_has(many_counter(work, task.owed), task.owing);
}

/* This thread's place in a tile: rows row(i), i < rows, ascending, and right-hand sides column + APART t and the one
 * behind it. */
template <typename T, int C, bool BACKWARD> struct many_place_of_thread {
    typedef many_sums_of<T, C, BACKWARD> sums_of;
    int first, column, rows;
    __device__ __forceinline__ explicit many_place_of_thread(const many_tile &tile) {
        const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        first = many_warp_row<T, C, BACKWARD>(tile.height) + (sums_of::TURNED ? 2 * q : g);
        column = many_warp_column<C>() + 2 * (sums_of::TURNED ? g : q);
        rows = many_warp_rows<T, C, BACKWARD>(tile.height) / (sums_of::TURNED ? 4 : 8);
    }
    __device__ __forceinline__ int row(int i) const {
        return first + (sums_of::TURNED ? i / 2 * 8 + i % 2 : 8 * i);
    }
};

/* The range of a tile that is cut: leaves its sums, and, if it is the last of them, all ranges' in result. */
template <typename T, int C, bool BACKWARD, int I, int RUNS>
__device__ __forceinline__ bool many_add_ranges_block(many_work &work, const many_tile &tile, T *partial,
                                                      T (&result)[I][RUNS][2]) {
    const many_place_of_thread<T, C, BACKWARD> place(tile);
    constexpr int APART = many_sums_of<T, C, BACKWARD>::APART, ROWS = many_shape<T, C, BACKWARD>::ROWS;
    const gsv_many_task &task = work.task;
    auto at = [&](int slot, int i) {
        return partial + (int64_t(slot) * ROWS + place.row(i)) * tile.columns + tile.c0 + place.column;
    };
    auto ends = [&](int i) { return i >= place.rows || tile.first + place.row(i) >= tile.last; };
#pragma unroll
    for (int i = 0; i < I; i++) {
        if (ends(i))
            break;
        T *to = at(task.slot + task.range, i);
#pragma unroll
        for (int t = 0; t < RUNS; t++)
            store_run(to + APART * t, result[i][t]);
    }
    __syncthreads(); /* all sums are written */
    if (threadIdx.x == 0) {
        int *met = many_counter(work, task.met);
        work.last = many_meet(met) == task.slots - 1;
        if (work.last)
            *met = 0; /* for the next pass */
    }
    __syncthreads(); /* it is known who is the last */
    if (!work.last)
        return false;
    /* so many rows' sums of a range are asked for at a time */
    constexpr int NUMBERS = sizeof(T) < sizeof(double) ? 1 : sizeof(T) / sizeof(double);
    constexpr int SIDE = 8 / (RUNS * NUMBERS), GROUP = SIDE > I ? I : SIDE;
#pragma unroll
    for (int i0 = 0; i0 < I; i0 += GROUP) {
        if (ends(i0))
            break;
        const T *from = at(task.slot, i0);
        auto load = [&](T(&to)[GROUP][RUNS][2]) {
#pragma unroll
            for (int i = 0; i < GROUP; i++)
#pragma unroll
                for (int t = 0; t < RUNS; t++) {
                    to[i][t][0] = to[i][t][1] = make<T>(0);
                    if (!ends(i0 + i))
                        load_run(from + (place.row(i0 + i) - place.row(i0)) * tile.columns + APART * t,
                                 to[i][t]);
                }
        };
        T total[GROUP][RUNS][2];
        load(total);
#pragma unroll 2
        for (int k = 1; k < task.slots; k++) {
            from += int64_t(ROWS) * tile.columns;
            T term[GROUP][RUNS][2];
            load(term);
#pragma unroll
            for (int i = 0; i < GROUP; i++)
#pragma unroll
                for (int t = 0; t < RUNS; t++)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        total[i][t][e] = add(total[i][t][e], term[i][t][e]);
        }
#pragma unroll
        for (int i = 0; i < GROUP; i++)
#pragma unroll
            for (int t = 0; t < RUNS; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    result[i0 + i][t][e] = total[i][t][e];
    }
    return true;
}

/* Row i of a front, in the vector that the tile writes. */
template <typename T>
__device__ __forceinline__ T *many_row_of(const many_tile &tile, int i, T *y, T *x, T *u) {
    const gsv_node &node = tile.node;
    return i < tile.block.end ? x + int64_t(node.first_column + i) * tile.columns
           : i < node.nc      ? y + int64_t(node.first_column + i) * tile.columns
                              : u + (node.update + i - node.nc) * tile.columns;
}

/* What a forward tile's sums begin as: what its rows hold already, of passes before, or what their children
 * owe them. */
template <typename T, int I, int RUNS>
__device__ __forceinline__ void many_begin_forward(const gsv_device_plan &plan, const many_tile &tile,
                                                   const many_children *children, T *y, T *x, T *u,
                                                   T (&sum)[I][RUNS][2]) {
    const many_place_of_thread<T, 16 * RUNS, false> place(tile);
    const int c = tile.c0 + place.column;
    many_children owed[I];
#pragma unroll
    for (int i = 0; i < I; i++) {
        const int row = tile.first + place.row(i);
        owed[i] = i < place.rows ? children[place.row(i)] : many_children{0, 0, {0, 0}};
        const T *from = nullptr;
        if (owed[i].count > 0)
            from = many_row(u, owed[i].row[0], tile.columns);
        else if (i < place.rows && many_adds(tile, row) && (row < tile.node.nc || tile.block.first > 0))
            from = many_row_of(tile, row, y, x, u);
#pragma unroll
        for (int t = 0; t < RUNS; t++) {
            sum[i][t][0] = sum[i][t][1] = make<T>(0);
            if (from)
                load_run(from + c + 8 * t, sum[i][t]);
        }
    }
#pragma unroll
    for (int i = 0; i < I; i += 2) {
        const many_children two[2] = {owed[i], owed[i + 1]};
        many_add_children<1, 1>(plan, u, two, tile.columns, c, 8,
                                *reinterpret_cast<T(*)[2][RUNS][2]>(&sum[i]));
    }
}

/* A tile; false: another block has the ranges that are missing, and does the rest. children: in shared
 * memory, for owed() to wait for; owed(), ready() and await() as in many_product_block. */
template <typename T, int C, bool BACKWARD, bool DIVIDED, typename Owed, typename Ready, typename Await>
__device__ __forceinline__ bool
many_tile_block(const gsv_device_plan &plan, many_work &work, const many_tile &tile, many_children *children,
                T *y, T *x, T *u, int columns, T *partial, T *shared, Owed owed, Ready ready, Await await) {
    typedef many_shape<T, C, BACKWARD> shape;
    typedef many_sums_of<T, C, BACKWARD> sums_of;
    constexpr int RUNS = sums_of::RUNS, I = sums_of::ROWS;
    typename sums_of::type sums;
    many_product_block<T, C, BACKWARD, DIVIDED>(
        plan, tile, BACKWARD ? x : y, y, columns, shared, sums,
        [&] {
            /* thread 0, which polls, has the last row, or none */
            const int row = shape::THREADS - 1 - int(threadIdx.x);
            if (!BACKWARD && row < shape::ROWS)
                children[row] = many_owed(plan, tile, tile.first + row);
            return owed();
        },
        ready, await,
        [&](typename sums_of::type &of) {
            if (BACKWARD || work.task.range > 0) {
                of.clear();
            } else if constexpr (!BACKWARD) {
                T first[I][RUNS][2];
                many_begin_forward(plan, tile, children, y, x, u, first);
                of.set(first);
            }
        });
    /* a range may not have needed to, but its slot may still be in use; single precision has one kernel for all */
    if (BACKWARD && (DIVIDED || !shape::CHAINS) && work.task.pass > 0)
        await(true);
    T result[I][RUNS][2];
    many_result<T, C, BACKWARD>(sums, result);
    if (work.lost || tile.block.refuse) {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < RUNS; t++)
                result[i][t][0] = result[i][t][1] = not_a_number<T>();
    }
    if (work.task.slots > 0 && !many_add_ranges_block<T, C, BACKWARD>(work, tile, partial, result))
        return false;
    const many_place_of_thread<T, C, BACKWARD> place(tile);
    const int c = tile.c0 + place.column;
#pragma unroll
    for (int i = 0; i < I; i++) {
        const int at = tile.first + place.row(i);
        if (i >= place.rows || at < tile.block.first || at >= tile.last)
            continue;
        T *to = BACKWARD ? y + int64_t(tile.node.first_column + at) * tile.columns
                         : many_row_of(tile, at, y, x, u);
#pragma unroll
        for (int t = 0; t < RUNS; t++)
            store_run(to + c + sums_of::APART * t, result[i][t]);
    }
    return true;
}

/*
 * Tasks, each for each group of right-hand sides, a block for each of both. ticket: the next task, counting
 * groups first. DIVIDED: some are of supernodes whose triangles are inverted in parts (cuda_many_tile.cuh). The
 * plan stays among the parameters: not all that reads it is inlined.
 */
template <typename T, int C, bool BACKWARD, bool DIVIDED>
__global__ void __launch_bounds__(many_shape<T, C, BACKWARD>::THREADS, many_shape<T, C, BACKWARD>::RESIDENT)
    many_sweep_kernel(const __grid_constant__ gsv_device_plan plan, const gsv_many_task *tasks, int groups,
                      gsv_many_vectors v, int *ticket, int *counters, gsv_stamp stamp) {
    typedef many_shape<T, C, BACKWARD> shape;
    extern __shared__ __align__(SHARED_LINE) int4 memory[];
    __shared__ many_work work;
    __shared__ alignas(16) char tile_memory[sizeof(many_tile)];
    __shared__ many_children children[BACKWARD ? 1 : shape::ROWS];
    many_tile &tile = *reinterpret_cast<many_tile *>(tile_memory);
    T *y = static_cast<T *>(v.y), *x = static_cast<T *>(v.x), *u = static_cast<T *>(v.u);
    T *shared = reinterpret_cast<T *>(memory);
    if (threadIdx.x == 32 && !is_stale(stamp))
        many_ask_for_later(tasks, groups);
    if (threadIdx.x == 0) {
        const bool stale = is_stale(stamp); /* on its way together with the ticket */
        const int taken = atomicAdd(ticket, 1), which = many_task_of(taken, groups),
                  group = taken - which * groups;
        work.stale = stale;
        if (!stale) {
            work.task = tasks[which];
            work.counters = counters + group;
            work.lost = 0;
            tile = many_tile_of(plan, work.task, BACKWARD, C * groups, C * group);
        }
    }
    __syncthreads(); /* the task is there */
    if (work.stale) {
        wait_for_vectors();
        return;
    }
    auto ready = [&]() {
        wait_for_vectors();
        if (threadIdx.x == 0)
            work.lost |= work.task.count > 0 &&
                         !many_reaches(many_counter(work, work.task.wait), work.task.count, v.state);
        __syncthreads(); /* what the task reads is there, and its lists in shared memory */
        return !work.lost;
    };
    /* The first range of a tile waits for what is owed to its rows before it waits for its vectors, which are
     * being assembled from the same children meanwhile. */
    auto owed = [&]() {
        if (!BACKWARD && work.task.owing == 0) {
            ready();
            return true;
        }
        wait_for_vectors();
        if (BACKWARD) {
            if (threadIdx.x == 0)
                work.there = many_known(work);
            __syncthreads(); /* it is known what is there, and lists are in shared memory */
            return true;
        }
        if (threadIdx.x == 0) {
            work.lost = !many_reaches(many_counter(work, work.task.owed), work.task.owing, v.state);
            work.there = many_has(many_counter(work, work.task.wait), work.task.count);
        }
        __syncthreads(); /* what is owed is there, and its lists in shared memory */
        return work.there != 0;
    };
    /* Backward: for the rows of the parent, or for those of its parent and what is above it. */
    auto await = [&](bool nearest) {
        if (work.there >= (nearest ? 2 : 1))
            return;
        if (threadIdx.x == 0)
            work.lost |= nearest
                             ? !many_reaches(many_counter(work, work.task.wait), work.task.count, v.state)
                             : !many_reaches(many_counter(work, work.task.owed), work.task.owing, v.state);
        __syncthreads(); /* they are there */
    };
    bool done = true;
    if (work.task.kind == GSV_MANY_PRODUCT) {
        T *partial = static_cast<T *>(v.partial);
        done = many_tile_block<T, C, BACKWARD, DIVIDED>(plan, work, tile, children, y, x, u, C * groups,
                                                        partial, shared, owed, ready, await);
    } else if (work.task.kind == GSV_MANY_NARROW) {
        const int begin = many_narrow_part<T, C, BACKWARD>(work.task.begin),
                  end = many_narrow_part<T, C, BACKWARD>(work.task.end);
        if (begin == end)
            ready(); /* another task has its right-hand sides */
        else if (BACKWARD)
            many_narrow_backward_block<T, C>(plan, tile.node, begin, end, tile.columns, tile.c0, x, y, shared,
                                             ready);
        else
            many_narrow_forward_block<T, C>(plan, tile.node, begin, end, tile.columns, tile.c0, y, x, u,
                                            shared, ready);
    } else if constexpr (!BACKWARD) {
        many_assemble_block<T, C, shape::THREADS>(plan, tile.node, work.task.first, work.task.end,
                                                  tile.columns, tile.c0, y, u, ready);
    }
    if (!done || work.task.signal < 0)
        return;
    __syncthreads(); /* the results are written */
    if (threadIdx.x == 0)
        many_advance(many_counter(work, work.task.signal));
}

} // namespace gsv
#endif
