/* The sweeps for many right-hand sides (cuda/tasks/tasks.cuh): a tile from what its sums begin as to where they go. What is
 * between is in cuda/tasks/tile.cuh. */
#ifndef GSV_CUDA_TASKS_ENDS_CUH
#define GSV_CUDA_TASKS_ENDS_CUH

#include "task.cuh"
#include "tile.cuh"

namespace gsv {

/* This thread's place in a tile: rows row(i), i < rows, ascending, and right-hand sides column + APART t and the one
 * behind it. */
template <typename Kind, int C, bool BACKWARD> struct tasks_place_of_thread {
    typedef tasks_sums_of<Kind, C, BACKWARD> sums_of;
    int first, column, rows;
    __device__ __forceinline__ explicit tasks_place_of_thread(const tasks_tile &tile) {
        const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        first = tasks_warp_row<Kind, C, BACKWARD>(tile.height) + (sums_of::TURNED ? 2 * q : g);
        column = tasks_warp_column<Kind, C, BACKWARD>() + 2 * (sums_of::TURNED ? g : q);
        rows = tasks_warp_rows<Kind, C, BACKWARD>(tile.height) / (sums_of::TURNED ? 4 : 8);
    }
    __device__ __forceinline__ int row(int i) const {
        return first + (sums_of::TURNED ? i / 2 * 8 + i % 2 : 8 * i);
    }
};

/* The range of a tile that is cut: leaves its sums, and, if it is the last of them, all ranges' in result. */
template <typename Kind, int C, bool BACKWARD, int I, int RUNS>
__device__ __forceinline__ bool tasks_add_ranges_block(tasks_work &work, const tasks_tile &tile,
                                                       vector_number<Kind> *partial,
                                                       vector_number<Kind> (&result)[I][RUNS][2]) {
    typedef vector_number<Kind> T;
    const tasks_place_of_thread<Kind, C, BACKWARD> place(tile);
    constexpr int APART = tasks_sums_of<Kind, C, BACKWARD>::APART,
                  ROWS = tasks_shape<Kind, C, BACKWARD>::ROWS;
    const gsv_task &task = work.task;
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
        int *met = tasks_counter(work, task.met);
        work.last = tasks_meet(met) == task.slots - 1;
    }
    __syncthreads(); /* it is known whether this block is the last */
    if (!work.last)
        return false;
    /* rows of a range whose sums are requested at a time */
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
template <typename T> __device__ __forceinline__ T *tasks_row_of(const tasks_tile &tile, int i, T *x, T *u) {
    const gsv_node &node = tile.node;
    return i < node.nc ? x + int64_t(node.first_column + i) * tile.columns
                       : u + (node.update + i - node.nc) * tile.columns;
}

/* What a forward tile's sums begin as: what the children owe its rows. */
template <typename Kind, int C, int I, int RUNS>
__device__ __forceinline__ void tasks_begin_forward(const gsv_device_plan &plan, const tasks_tile &tile,
                                                    const gsv_task &task, const tasks_lists<false> &lists,
                                                    const vector_number<Kind> *u,
                                                    vector_number<Kind> (&sum)[I][RUNS][2]) {
    typedef vector_number<Kind> T;
    const tasks_place_of_thread<Kind, C, false> place(tile);
    const int c = tile.c0 + place.column;
    const int own = tile.first < tile.node.nc ? tile.node.nc - tile.first : 0; /* rows that are in no list */
    const uint32_t *list = lists.list_of(plan, task);
    auto term_of = [&](int i, uint32_t k) { return list[lists.begin_of(task, place.row(i) - own) + k]; };
    uint32_t count[I], most = 0;
#pragma unroll
    for (int i = 0; i < I; i++) {
        const int k = place.row(i) - own;
        count[i] = 0;
        if (i < place.rows && k >= 0 && k < task.listed_rows)
            count[i] = lists.ptr[k + 1] - lists.ptr[k];
        most = count[i] > most ? count[i] : most;
        const T *from = nullptr;
        if (count[i] > 0)
            from = tasks_row(u, term_of(i, 0), tile.columns);
#pragma unroll
        for (int t = 0; t < RUNS; t++) {
            sum[i][t][0] = sum[i][t][1] = make<T>(0);
            if (from)
                load_run_once(from + c + 8 * t, sum[i][t]);
        }
    }
    /* as many rows' terms at a time as there are registers for */
    constexpr int NUMBERS = sizeof(T) < sizeof(double) ? 1 : sizeof(T) / sizeof(double);
    constexpr int SIDE = 16 / (RUNS * NUMBERS), GROUP = SIDE > I ? I : SIDE;
    auto add_terms = [&](uint32_t k) {
#pragma unroll
        for (int i0 = 0; i0 < I; i0 += GROUP) {
            T term[GROUP][RUNS][2];
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
#pragma unroll
                for (int t = 0; t < RUNS; t++)
                    term[i][t][0] = term[i][t][1] = make<T>(0);
                if (k < count[i0 + i]) {
                    const T *from = tasks_row(u, term_of(i0 + i, k), tile.columns) + c;
#pragma unroll
                    for (int t = 0; t < RUNS; t++)
                        load_run_once(from + 8 * t, term[i][t]);
                }
            }
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                if (k < count[i0 + i])
#pragma unroll
                    for (int t = 0; t < RUNS; t++)
#pragma unroll
                        for (int e = 0; e < 2; e++)
                            sum[i0 + i][t][e] = add(sum[i0 + i][t][e], term[i][t][e]);
        }
    };
#pragma unroll 1
    for (uint32_t k = 1; k < most; k++)
        add_terms(k);
}

/* A tile; false: another block has the ranges that are missing, and does the rest. lists: on their way, for owed() to
 * wait for; owed(), ready() and await() as in tasks_product_block. */
template <typename Kind, int C, bool BACKWARD, typename Owed, typename Ready, typename Await>
__device__ __forceinline__ bool
tasks_tile_block(const gsv_device_plan &plan, tasks_work &work, const tasks_tile &tile,
                 const tasks_lists<BACKWARD> &lists, vector_number<Kind> *y, vector_number<Kind> *x,
                 vector_number<Kind> *u, int columns, vector_number<Kind> *partial,
                 vector_number<Kind> *shared, Owed owed, Ready ready, Await await) {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    typedef tasks_sums_of<Kind, C, BACKWARD> sums_of;
    constexpr int RUNS = sums_of::RUNS, I = sums_of::ROWS;
    typename sums_of::type sums;
    tasks_product_block<Kind, C, BACKWARD>(
        plan, tile, BACKWARD ? x : y, y, columns, shared, sums,
        [&] {
            if (!BACKWARD)
                wait_for_copies<0>(); /* of the lists: the panels' are no group yet */
            return owed();
        },
        ready, await,
        [&](typename sums_of::type &of) {
            if (BACKWARD || work.task.range > 0) {
                of.clear();
            } else if constexpr (!BACKWARD) {
                T first[I][RUNS][2];
                tasks_begin_forward<Kind, C>(plan, tile, work.task, lists, u, first);
                of.set(first);
            }
        });
    T result[I][RUNS][2];
    tasks_result<Kind, C, BACKWARD>(sums, result);
    if (work.lost) {
#pragma unroll
        for (int i = 0; i < I; i++)
#pragma unroll
            for (int t = 0; t < RUNS; t++)
                result[i][t][0] = result[i][t][1] = not_a_number<T>();
    }
    if (work.task.slots > 0 && !tasks_add_ranges_block<Kind, C, BACKWARD>(work, tile, partial, result))
        return false;
    const tasks_place_of_thread<Kind, C, BACKWARD> place(tile);
    const int c = tile.c0 + place.column;
#pragma unroll
    for (int i = 0; i < I; i++) {
        const int at = tile.first + place.row(i);
        if (i >= place.rows || at >= tile.last)
            continue;
        T *to =
            BACKWARD ? y + int64_t(tile.node.first_column + at) * tile.columns : tasks_row_of(tile, at, x, u);
#pragma unroll
        for (int t = 0; t < RUNS; t++)
            store_run(to + c + sums_of::APART * t, result[i][t]);
    }
    return true;
}

} // namespace gsv
#endif
