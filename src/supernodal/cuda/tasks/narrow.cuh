/*
 * Narrow supernodes of the upper tree for many right-hand sides: a block, of four warps as for a tile,
 * has one supernode and some of a tile's right-hand sides, sixteen or 32 of them, a part, after the other; the
 * supernode's panel is in shared memory.
 *
 *   forward   f = y(own columns) + what the children owe them, and what they owe the rows below, all rows of
 *             the front in shared memory, or own columns and as many others as there is room for, some after the
 *             others; then [x1; u] = [W; -M] f(own) + [0; f(below)], sixteen rows a warp. The lists of what is owed
 *             are in shared memory before the children are waited for, and a thread's terms of four rows are on
 *             their way together: latency is what this costs.
 *   backward  y1 = [W; -M]' [x1; y(rows below)], the vectors straight from global memory. A warp has one of
 *             every four blocks of eight rows, and all columns, at most 32; the four sums meet in shared
 *             memory. Zeros stand where the panel has no number, so nothing is decided about one before it is read.
 *
 * Order of the sums: forward what is owed, child after child, then one chain of all terms; backward four
 * chains, of the rows i with i / 8 = 0, 1, 2, 3 mod 4, added one after the other.
 *
 * All number types, in the fragments of fragment.cuh. Forward in lane l = 4 g + q: a rows g + 8 m, terms q and q + 4;
 * v these terms, column g; sums rows g + 8 m, columns 2 q and 2 q + 1. Backward the rows of a fragment are right-hand
 * sides, of each sixteen g and g + 8 are 2 g and 2 g + 1, its columns are the supernode's, and of eight rows of the
 * panel terms q and q + 4 are 2 q and 2 q + 1: a lane has two neighbours from every read (tasks_sums_of).
 *
 * Synchronisation: barriers forward when the lists are there; before the vectors are read, in ready(); before the
 * products; and, where there is more than one part, or rows come some after the others, before what the next ones
 * write into shared memory, or backward the sums. Traffic: the panel, once a block, from the L2 cache for all but the
 * first; about nr + 2 nc rows of vectors forward, nr + nc backward.
 */
#ifndef GSV_CUDA_TASKS_NARROW_CUH
#define GSV_CUDA_TASKS_NARROW_CUH

#include "../../../dense_kernels/fragment.cuh"
#include "gather.cuh"
#include "tile.cuh"

namespace gsv {

template <typename Kind, int C, bool BACKWARD> struct tasks_narrow_room {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    static const int SIXTEENS = C == GSV_TASKS_64 ? 2 : 1; /* of a part's right-hand sides */
    static const int WIDTH = 16 * SIXTEENS, PARTS = C / WIDTH;
    static const int STRIDE = WIDTH + (sizeof(T) < 16 ? 4 : 2); /* of a row of it in shared memory */
    static const int SUM_STRIDE = WIDTH + 2;                    /* of a row of sums */
    static const int THREADS = shape::THREADS, WARPS = THREADS / 32;
    static const int SHARES = WARPS;                  /* of a backward sum, one for each warp, */
    static const int EIGHTS = GSV_NARROW_COLUMNS / 8; /* and of its columns, in eights */
    static const int SUMS = SHARES * GSV_NARROW_COLUMNS * SUM_STRIDE;
    static const int PADDING = 15; /* of a column at most (tasks_narrow_stride) */
    /* Shared memory: backward for sums and the panel, forward a tile's, for the panel and as many rows of a front as there
     * is room for. */
    static const int BYTES =
        BACKWARD ? SUMS * int(sizeof(T)) +
                       (GSV_NARROW_ENTRIES + GSV_NARROW_COLUMNS * PADDING) * int(sizeof(panel_number<Kind>))
                 : shape::BYTES;
    /* Room for a panel's numbers, a multiple of sixteen, counted in vectors' numbers. */
    static __host__ __device__ constexpr int panel_room(int numbers) {
        return numbers * int(sizeof(panel_number<Kind>)) / int(sizeof(T));
    }
    static_assert(BACKWARD || (BYTES / int(sizeof(T)) - panel_room(GSV_NARROW_ENTRIES)) / STRIDE >=
                                  GSV_NARROW_COLUMNS + GSV_TILE,
                  "there is room for own columns and a tile");
    static const int EACH = GSV_TASK_PARTS / PARTS; /* parts of a task that one part holds here */
    static_assert(PARTS * EACH == GSV_TASK_PARTS && EIGHTS * 8 == GSV_NARROW_COLUMNS, "equal shares");
};

/* The first part that begins in a task's part of GSV_TASK_PARTS, or behind it. */
template <typename Kind, int C, bool BACKWARD> __device__ __forceinline__ int tasks_narrow_part(int part) {
    constexpr int EACH = tasks_narrow_room<Kind, C, BACKWARD>::EACH;
    return (part + EACH - 1) / EACH;
}

/* Numbers of the panel, as it is stored; and rounded up to whole tiles. */
__device__ __forceinline__ int tasks_narrow_numbers(const gsv_node &node) {
    return node.nr * node.nc - node.nc * (node.nc - 1) / 2;
}
__device__ __forceinline__ int tasks_narrow_panel(const gsv_node &node) {
    return gsv_whole_tiles(tasks_narrow_numbers(node));
}

/* Begin to bring the panel, as it is stored. */
template <int THREADS, typename T>
__device__ __forceinline__ void begin_packed_panel_block(const gsv_device_plan &plan, const gsv_node &node,
                                                         T *to) {
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const int numbers = tasks_narrow_numbers(node);
    for (int e = threadIdx.x; e < numbers; e += THREADS)
        begin_copy<int(sizeof(T))>(to + e, panel + e, true);
    commit_copies();
}

/* Backward, from a column of the panel in shared memory to the next: eight numbers more than a multiple of sixteen, so
 * that a warp's lanes, eight columns by four pairs of rows, read different banks. */
__device__ __forceinline__ int tasks_narrow_stride(int nr) {
    return (nr + 7) / 16 * 16 + 8;
}

/* Begin to bring the panel so: row i of column j is at j stride + i. Zeros are written where it has no number, above
 * the diagonal and behind the last row. */
template <int THREADS, typename T>
__device__ __forceinline__ void begin_panel_columns_block(const gsv_device_plan &plan, const gsv_node &node,
                                                          T *to) {
    const int lane = threadIdx.x % 32, nr = node.nr, nc = node.nc, stride = tasks_narrow_stride(nr);
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    for (int j = threadIdx.x / 32; j < nc; j += THREADS / 32) {
        const T *from = panel + gsv_narrow_column(nr, j);
        T *column = to + j * stride;
        for (int i = j + lane; i < nr; i += 32)
            begin_copy<int(sizeof(T))>(column + i, from + i, true);
        if (lane < j)
            column[lane] = make<T>(0);
        if (nr + lane < stride)
            column[nr + lane] = make<T>(0);
    }
    commit_copies();
}

/* What rows of a front begin as. A thread has two right-hand sides, and every STEP-th row: of ROWS rows at a time the
 * first AHEAD terms are asked for all together. */
template <typename Kind, int C> struct tasks_narrow_front {
    typedef vector_number<Kind> T;
    typedef tasks_narrow_room<Kind, C, false> room;
    static const int PER_ROW = room::WIDTH / 2,
                     STEP = room::THREADS / PER_ROW; /* threads of a row, rows of a step */
    static const int ROWS = 4, AHEAD = sizeof(T) < 16 ? 2 : 1;
    const gsv_node &node;
    const gsv_task &task;
    const tasks_lists<false> &lists; /* what is owed */
    const uint32_t *list;
    int columns, before; /* before: this thread's next row */
    tasks_owed_sums<T, ROWS, AHEAD> owed;

    /* The next rows' first terms, from row `begin` on; lists are there. */
    __device__ __forceinline__ void look_up(int begin) {
        before = begin + int(threadIdx.x) / PER_ROW;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int i = before + r * STEP;
            owed.at[r] = owed.end[r] = 0;
            if (i < node.nr) {
                owed.at[r] = lists.begin_of(task, i);
                owed.end[r] = lists.begin_of(task, i + 1);
            }
        }
        owed.look_up(list);
    }

    /* y, of the supernode's columns, and u: of this thread's first right-hand side */
    __device__ __forceinline__ void ask(const T *y, const T *u) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int i = before + r * STEP;
            owed.sum[r][0] = owed.sum[r][1] = make<T>(0);
            if (i < node.nc)
                load_run(tasks_row(y, i, columns), owed.sum[r]);
        }
        owed.ask(u, columns);
    }

    /* What has been asked for and the other rows before `end` into f, row i to i - shift. */
    __device__ __forceinline__ void finish(const T *y, const T *u, int end, int shift, bool lost, T *f) {
        for (;;) {
            owed.add_all(list, u, columns);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int i = before + r * STEP;
                if (lost)
                    owed.sum[r][0] = owed.sum[r][1] = not_a_number<T>();
                if (i < end)
                    store_run(f + (i - shift) * room::STRIDE + threadIdx.x % PER_ROW * 2, owed.sum[r]);
            }
            const int next = before - int(threadIdx.x) / PER_ROW + ROWS * STEP;
            if (next >= end)
                break;
            look_up(next);
            ask(y, u);
        }
    }
};

/* [x1; u] = [W; -M] f(own) + [0; f(below)], rows begin .. end - 1 and right-hand sides c0 on; begin: whole tiles; f has
 * row i, if it is not one of own columns, at i - shift; x and u: of these right-hand sides. */
template <typename Kind, int C>
__device__ __forceinline__ void
tasks_narrow_product_block(const gsv_node &node, const panel_number<Kind> *panel,
                           const vector_number<Kind> *f, int begin, int end, int shift, int columns,
                           vector_number<Kind> *x, vector_number<Kind> *u) {
    typedef vector_number<Kind> T;
    constexpr int STRIDE = tasks_narrow_room<Kind, C, false>::STRIDE,
                  N = tasks_narrow_room<Kind, C, false>::WIDTH / 8;
    const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = node.nr, nc = node.nc;
    const T *v = f + q * STRIDE + g;
    for (int first = begin + int(threadIdx.x) / 32 * 16; first < end;
         first += 16 * tasks_narrow_room<Kind, C, false>::WARPS) {
        T sum[2][N][2];
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int i = first + 8 * m + g;
#pragma unroll
            for (int n = 0; n < N; n++) {
                sum[m][n][0] = sum[m][n][1] = make<T>(0);
                if (i >= nc && i < nr)
                    load_run(f + (i - shift) * STRIDE + 8 * n + 2 * q, sum[m][n]);
            }
        }
        fragment<T, 2, 8 * N> sums;
        sums.set(sum);
        const int last = first + 16 < nc ? first + 16 : nc; /* terms */
        int at[2] = {gsv_narrow_column(nr, q) + first + g, gsv_narrow_column(nr, q + 4) + first + g};
#pragma unroll 2
        for (int k0 = 0; k0 < last; k0 += 8) {
            T a[2][2], b[2][N];
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int k = k0 + 4 * s + q;
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[s][n] = k < nc ? v[(k0 + 4 * s) * STRIDE + 8 * n] : make<T>(0);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    const int i = first + 8 * m + g;
                    a[m][s] = k < nc && i >= k && i < nr ? number_as<T>(panel[at[s] + 8 * m]) : make<T>(0);
                }
                at[s] += 8 * nr - 8 * k - 36; /* to column k + 8 */
            }
            sums.add_product(a, b);
        }
        sums.result(sum);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int i = first + 8 * m + g;
            if (i >= nr)
                continue;
            T *to = (i < nc ? x + int64_t(i) * columns : u + int64_t(i - nc) * columns) + 2 * q;
#pragma unroll
            for (int n = 0; n < N; n++)
                store_run(to + 8 * n, sum[m][n]);
        }
        __syncwarp(); /* the multiplications are the warp's */
    }
}

/* Parts begin .. end - 1 of the right-hand sides c0 on, one at least. */
template <typename Kind, int C, typename Ready>
__device__ __forceinline__ void
tasks_narrow_forward_block(const gsv_device_plan &plan, const gsv_node &node, const gsv_task &task,
                           const tasks_lists<false> &lists, int begin, int end, int columns, int c0,
                           const vector_number<Kind> *y, vector_number<Kind> *x, vector_number<Kind> *u,
                           vector_number<Kind> *shared, Ready ready) {
    typedef vector_number<Kind> T;
    typedef tasks_narrow_room<Kind, C, false> room;
    panel_number<Kind> *panel = reinterpret_cast<panel_number<Kind> *>(shared);
    T *f = shared + room::panel_room(tasks_narrow_panel(node));
    const int nr = node.nr, rows = (int(room::BYTES / sizeof(T)) - int(f - shared)) / room::STRIDE;
    begin_packed_panel_block<room::THREADS>(plan, node, panel);
    tasks_narrow_front<Kind, C> front = {node, task, lists, lists.list_of(plan, task), columns, 0, {}};
    wait_for_copies<1>();
    __syncthreads(); /* the lists are there; the panel is on its way */
    front.look_up(0);
    const bool lost = !ready();
    for (int part = begin; part < end; part++) {
        const int c = c0 + part * room::WIDTH, mine = c + int(threadIdx.x) % front.PER_ROW * 2;
        const T *owns = y + int64_t(node.first_column) * columns + mine, *owes = u + mine;
        for (int from = 0, to; from < nr; from = to) { /* rows; those of own columns stay where they are */
            const int shift = from > 0 ? from - GSV_NARROW_COLUMNS : 0;
            to = nr <= shift + rows ? nr : (shift + rows) / GSV_TILE * GSV_TILE;
            if (part > begin || from > 0)
                front.look_up(from);
            front.ask(owns, owes);
            if (part > begin || from > 0)
                __syncthreads(); /* f of the part, or the rows, before has been read */
            front.finish(owns, owes, to, shift, lost, f);
            wait_for_copies<0>();
            __syncthreads(); /* f and the panel are there */
            tasks_narrow_product_block<Kind, C>(node, panel, f, from, to, shift, columns,
                                                x + int64_t(node.first_column) * columns + c,
                                                u + int64_t(node.update) * columns + c);
        }
    }
}

/* Not inlined: the compiler finds a better loop of a tile in a kernel without it. */
template <typename Kind, int C, typename Ready>
__device__ __noinline__ void tasks_narrow_backward_block(const gsv_device_plan &plan, const gsv_node &node,
                                                         int begin, int end, int columns, int c0,
                                                         const vector_number<Kind> *x, vector_number<Kind> *y,
                                                         vector_number<Kind> *shared, Ready ready) {
    typedef vector_number<Kind> T;
    typedef tasks_narrow_room<Kind, C, true> room;
    constexpr int STRIDE = room::SUM_STRIDE, SHARES = room::SHARES, EIGHTS = room::EIGHTS,
                  SIXTEENS = room::SIXTEENS;
    constexpr int AHEAD = 2; /* blocks of eight rows that a warp asks for at the same time */
    const int32_t *rows = tasks_block_lists<true>().row;
    T *sums_of = shared;
    panel_number<Kind> *panel = reinterpret_cast<panel_number<Kind> *>(shared + room::SUMS);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const int nr = node.nr, nc = node.nc, stride = tasks_narrow_stride(nr);
    auto row_of = [&](int turn, int k) { return turn + 8 * (warp + SHARES * k); };
    begin_panel_columns_block<room::THREADS>(plan, node, panel);
    wait_for_copies<1>(); /* the list of rows; the panel is on its way */
    const bool lost = !ready();
    T ahead[AHEAD][2][SIXTEENS][2];
    auto ask = [&](int part, int turn) {
        const int c = c0 + part * room::WIDTH + 2 * g;
        const T *above = kept(x + c), *below = kept(y + c);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int i = row_of(turn, k) + 2 * q + s;
                const T *from = tasks_row(i < nc ? above : below, i < nr ? rows[i] : 0, columns);
#pragma unroll
                for (int w = 0; w < SIXTEENS; w++) {
                    ahead[k][s][w][0] = ahead[k][s][w][1] = make<T>(0);
                    if (i < nr)
                        load_run(from + 16 * w, ahead[k][s][w]);
                }
            }
    };
    ask(begin, 0);
    int at[EIGHTS]; /* of this lane's columns; where there are none, the last one's */
#pragma unroll
    for (int m = 0; m < EIGHTS; m++)
        at[m] = (8 * m + g < nc ? 8 * m + g : nc - 1) * stride + 2 * q;
    wait_for_copies<0>();
    __syncthreads(); /* the panel is there */
    for (int part = begin; part < end; part++) {
        fragment<T, 2 * SIXTEENS, 8> sums[EIGHTS];
#pragma unroll
        for (int m = 0; m < EIGHTS; m++)
            sums[m].clear();
        for (int turn = 0; turn < nr; turn += 8 * SHARES * AHEAD) {
            T v[AHEAD][2 * SIXTEENS][2];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
#pragma unroll
                for (int s = 0; s < 2; s++)
#pragma unroll
                    for (int e = 0; e < 2 * SIXTEENS; e++)
                        v[k][e][s] = ahead[k][s][e / 2][e % 2];
            if (turn + 8 * SHARES * AHEAD < nr)
                ask(part, turn + 8 * SHARES * AHEAD);
            else if (part + 1 < end)
                ask(part + 1, 0);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const int i = row_of(turn, k);
                if (i >= nr)
                    break;
#pragma unroll
                for (int m = 0; m < EIGHTS; m++) {
                    if (8 * m >= nc)
                        break;
                    T two[2];
                    load_pair_of_panel(panel + at[m] + i, two);
                    const T b[2][1] = {{conjugate(two[0])}, {conjugate(two[1])}};
                    sums[m].add_product(v[k], b);
                }
            }
        }
        if (part > begin)
            __syncthreads(); /* the sums of the part before have been read */
#pragma unroll
        for (int m = 0; m < EIGHTS; m++) {
            /* of every sixteen right-hand sides 2 g and 2 g + 1; columns 2 q and 2 q + 1 */
            T sum[2 * SIXTEENS][1][2];
            sums[m].result(sum);
#pragma unroll
            for (int e = 0; e < 2 * SIXTEENS; e++) {
                const int j = 8 * m + 2 * q + e % 2, w = e / 2;
                const T two[2] = {sum[2 * w][0][e % 2], sum[2 * w + 1][0][e % 2]};
                if (j < nc)
                    store_run(sums_of + (warp * GSV_NARROW_COLUMNS + j) * STRIDE + 16 * w + 2 * g, two);
            }
        }
        __syncthreads(); /* the sums are there */
        constexpr int PER_ROW = room::WIDTH / 2;
        const int c = int(threadIdx.x) % PER_ROW * 2;
        for (int j = int(threadIdx.x) / PER_ROW; j < nc; j += room::THREADS / PER_ROW) {
            T total[2];
            load_run(sums_of + j * STRIDE + c, total);
#pragma unroll
            for (int k = 1; k < SHARES; k++) {
                T term[2];
                load_run(sums_of + (k * GSV_NARROW_COLUMNS + j) * STRIDE + c, term);
                total[0] = add(total[0], term[0]);
                total[1] = add(total[1], term[1]);
            }
            if (lost)
                total[0] = total[1] = not_a_number<T>();
            store_run(y + int64_t(node.first_column + j) * columns + c0 + part * room::WIDTH + c, total);
        }
    }
}

} // namespace gsv
#endif
