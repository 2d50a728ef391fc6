/*
 * The wide supernodes' tasks for 8 right-hand sides and more, on FP64 tensor cores, through a pipeline in
 * shared memory. The sums are those of cuda_tensor.cuh, chain by chain, so the bits are too.
 *
 *      forward     [x1; u] += [W; -M] f1           a task: one or two block rows, 16 or 32 rows
 *      backward    y(cols) = [W; -M]' [x; y]       a task: 16 columns, all block rows from theirs on
 *
 * Mapping: as many blocks as the device has SMs, 16 warps each; block b takes tasks b, b + blocks, ... of the
 * level's list, which begins with the longest. A task is a run of stages: 64 columns forward, 8 block rows
 * backward. All threads copy the stages ahead, across the end of a task into the next, 16 bytes at a time
 * (cp.async), the panel's part and the vectors' part that it meets; and all multiply the stage that has
 * arrived. What says where a stage's numbers are, the task, its supernode and its rows, is copied as early
 * before. A warp has two chains of 16 x NR or 32 x NR results in registers. At a task's end the chains meet
 * in shared memory, while the next stages are on their way.
 *
 * Traffic, per number of the panel: the number, and from L2 NR / 16 numbers of the vectors backward, NR / 32
 * forward where a task has two block rows. What limits a level of many tasks is L2: about 24 bytes a cycle
 * for each SM, where a stage is 33 to 51 KB. The multiplications need a quarter of that time.
 *
 * Synchronisation: a barrier a stage, one more a task. The buffer that is filled anew is that of the stage
 * before, which all threads have left at the barrier. No block waits for another, so all end.
 *
 * Bank conflicts: a fragment's four k are 16 columns (forward) or two block rows (backward) apart; the
 * paddings below set them, and the fragment's rows, in different banks, but for panels backward (two ways).
 */
#ifndef GSV_CUDA_PIPE_CUH
#define GSV_CUDA_PIPE_CUH

#include "cuda_tensor.cuh"

namespace gsv {

enum { PIPE_BLOCK = 32 * GSV_PIPE_WARPS };

/* What a block keeps of a task from its planning until its last stage has arrived; no stages: the end. */
struct pipe_task {
    gsv_node node;
    int first, stages;
    int columns[2]; /* forward: of each of its block rows, from the column block's first on; backward: from
                     * the task's first on; 0: nothing to do in this pass, in one stage */
    column_block block;
};

/* The tasks of a block that are on their way. They are walked three times: planned, the rows of their vectors
 * listed, and copied, each AHEAD stages or more before the next, so that nobody waits for a read. */
struct pipe_tasks {
    gsv_task task[32]; /* as in the list */
    gsv_node node[16];
    pipe_task ready[32];
};

template <int BYTES> __device__ __forceinline__ void copy_word_async(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(BYTES)
                 : "memory");
}

/* 16 bytes to shared memory in the background; zeros where nothing is there. */
__device__ __forceinline__ void copy_or_clear_async(double *to, const double *from, bool there) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
        "l"(from), "r"(there ? 16 : 0)
        : "memory");
}

/* This lane's right-hand sides of fragment pairs p: two neighbours for B at fragment_column(), and the four
 * results from result_column() on; with 8 right-hand sides there is one fragment. */
template <int NR> struct pipe_fragments {
    static const int N = NR / 8, EACH = N > 1 ? 2 : 1;

    static __device__ __forceinline__ void load(const double *at, double (&b)[N]) {
        if constexpr (N == 1)
            b[0] = at[0];
        else
#pragma unroll
            for (int n = 0; n < N; n += 2) {
                const double2 both = *reinterpret_cast<const double2 *>(at + 8 * n);
                b[n] = both.x;
                b[n + 1] = both.y;
            }
    }

    static __device__ __forceinline__ void store(double *at, const double (&c)[N][2]) {
        if constexpr (N == 1)
            *reinterpret_cast<double2 *>(at) = make_double2(c[0][0], c[0][1]);
        else
#pragma unroll
            for (int n = 0; n < N; n += 2) {
                *reinterpret_cast<double2 *>(at + 8 * n) = make_double2(c[n][0], c[n + 1][0]);
                *reinterpret_cast<double2 *>(at + 8 * n + 2) = make_double2(c[n][1], c[n + 1][1]);
            }
    }

    static __device__ __forceinline__ int fragment_column() {
        return threadIdx.x % 32 / 4 * EACH;
    }

    static __device__ __forceinline__ int result_column() {
        return threadIdx.x % 4 * 2 * EACH;
    }
};

template <int NR> struct backward_pipe {
    typedef pipe_fragments<NR> fragments;
    static const int N = NR / 8, TILES = 8; /* block rows of a stage */
    static const int COLUMN = GSV_TILE + 2, TILE = 16 * COLUMN + 2, ROWS = 16 * NR + 2;
    static const int STAGE = TILES * (TILE + ROWS), RESULTS = 16 * 16 * NR, LIST = TILES * 16;
    static const int STAGES = NR == 8 ? 7 : NR == 16 ? 5 : 3;
    static const int RUNS = NR / 2, EACH = TILES * 16 * RUNS / PIPE_BLOCK; /* of a row; of a thread */

    const gsv_device_plan &plan;
    const double *x;
    double *y;
    const gsv_task *tasks;
    wide_pass turn;

    /* the stages to be copied, and to be listed, next */
    struct place {
        int nr, at, top; /* block rows from `at` down to top */
        __device__ __forceinline__ bool has(int i) const {
            const int block_row = at - i / 16;
            return block_row >= top && 16 * block_row + i % 16 < nr;
        }
    } copied, listed;
    const double *panel;
    const int32_t *list;
    int columns, nc, end;

    double acc[2][2][N][2]; /* chain, eight columns, fragment */

    static __device__ __forceinline__ int last_tile(const gsv_node &node) {
        return (node.nr + GSV_TILE - 1) / GSV_TILE - 1;
    }

    __device__ __forceinline__ void describe(const gsv_task &found, const gsv_node &node,
                                             pipe_task &task) const {
        const column_block block(node, turn, true);
        const int first = GSV_TILE * found.first;
        const bool nothing = first < block.first || first >= block.end;
        task.node = node;
        task.first = first;
        task.stages = nothing ? 1 : (last_tile(node) - found.first + TILES) / TILES;
        task.columns[0] = nothing ? 0 : node.nc - first;
        task.block = block;
    }

    static __device__ __forceinline__ place place_of(const pipe_task &task) {
        return task.columns[0] > 0 ? place{task.node.nr, last_tile(task.node), task.first / GSV_TILE}
                                   : place{0, 0, 0};
    }

    __device__ __forceinline__ void begin_list(const pipe_task &task) {
        listed = place_of(task);
        list = plan.rows + task.node.rows;
    }

    /* Which rows of the vectors a stage meets. */
    __device__ __forceinline__ void copy_list(int32_t *to) {
        const int i = threadIdx.x;
        if (i < LIST && listed.has(i))
            copy_word_async<4>(to + i, list + 16 * (listed.at - i / 16) + i % 16);
        listed.at -= TILES;
    }

    __device__ __forceinline__ void begin_copies(const pipe_task &task) {
        copied = place_of(task);
        panel = static_cast<const double *>(plan.panels) + task.node.panel + GSV_TILE * int64_t(task.first);
        columns = task.columns[0];
        nc = task.node.nc;
        end = task.node.first_column + task.block.end; /* rows before it read x: y is for them to write */
    }

    __device__ __forceinline__ void copy_panel(int ahead, double *stage) const {
        const int column = threadIdx.x % 128 / 8, pair = 2 * (threadIdx.x % 8);
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int b = threadIdx.x / 128 + 4 * q, block_row = copied.at - TILES * ahead - b;
            const bool there = block_row >= copied.top && column < columns;
            copy_or_clear_async(stage + b * TILE + column * COLUMN + pair,
                                panel + (there ? gsv_block_row_start(nc, block_row) + 16 * column + pair : 0),
                                there);
        }
    }

    __device__ __forceinline__ void copy_vectors(double *stage, const int32_t *rows) const {
        const int run = 2 * (threadIdx.x % RUNS);
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int i = threadIdx.x / RUNS + PIPE_BLOCK / RUNS * q;
            const bool there = copied.has(i);
            const int row = there ? rows[i] : 0;
            const double *from = row < end ? x : y;
            copy_or_clear_async(stage + TILES * TILE + i / 16 * ROWS + i % 16 * NR + run,
                                from + int64_t(row) * NR + run, there);
        }
    }

    __device__ __forceinline__ void step() {
        copied.at -= TILES;
    }

    /* A chain is row r of every other block row; this warp has r and r + 8 of one half. */
    __device__ __forceinline__ void multiply(const double *stage, const pipe_task &, int) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int r = warp % 8, tile = warp / 8 + 2 * (lane % 4);
        const double *from = stage + tile * TILE + lane / 4 * COLUMN + r;
        const double *vectors = stage + TILES * TILE + tile * ROWS + r * NR + fragments::fragment_column();
#pragma unroll
        for (int g = 0; g < 2; g++) {
            double a[2], b[N];
#pragma unroll
            for (int m = 0; m < 2; m++)
                a[m] = from[8 * m * COLUMN + 8 * g];
            fragments::load(vectors + 8 * g * NR, b);
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(acc[g][m][n], a[m], b[n]);
        }
    }

    /* The chains meet in the order of reduce_lanes: those 8 apart, 4 apart, 2 apart, neighbours, halves. */
    __device__ __forceinline__ void finish(const pipe_task &task, double *results) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
        for (int m = 0; m < 2; m++) {
            double sum[N][2];
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int c = 0; c < 2; c++)
                    sum[n][c] = acc[0][m][n][c] + acc[1][m][n][c];
            fragments::store(results + (warp * 16 + lane / 4 + 8 * m) * NR + fragments::result_column(), sum);
        }
        __syncthreads(); /* all chains are there */
        const int e = threadIdx.x, column = task.first + e / NR;
        if (e < 16 * NR && e / NR < task.columns[0]) {
            double half[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                double p[8];
#pragma unroll
                for (int r = 0; r < 8; r++)
                    p[r] = results[(8 * h + r) * 16 * NR + e];
                half[h] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
            }
            y[int64_t(task.node.first_column + column) * NR + e % NR] =
                task.block.refuse ? not_a_number<double>() : half[0] + half[1];
        }
    }
};

template <int NR> struct forward_pipe {
    typedef pipe_fragments<NR> fragments;
    static const int N = NR / 8, GROUPS = 4; /* of 16 columns: a stage */
    static const int GROUP = 16 * GSV_TILE + 4, ROWS = 16 * NR + 4, PANEL = 2 * GROUPS * GROUP;
    static const int STAGE = PANEL + GROUPS * ROWS, RESULTS = 2 * 8 * 16 * NR, LIST = 0;
    static const int STAGES = NR == 8 ? 7 : NR == 16 ? 6 : 4;
    static const int RUNS = NR / 2;

    const gsv_device_plan &plan;
    double *x, *y, *u;
    const gsv_task *tasks;
    wide_pass turn;
    bool leaf;

    /* the stage to be copied next */
    const double *panel[2], *vectors;
    int columns[2], most, k;

    double acc[2][2][N][2]; /* chain, eight rows, fragment */

    __device__ __forceinline__ void describe(const gsv_task &found, const gsv_node &node,
                                             pipe_task &task) const {
        const column_block block(node, turn, false);
        int widest = 1;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int block_row = found.first + h;
            const bool there =
                h < found.count && block.first < node.nc && GSV_TILE * block_row >= block.first;
            task.columns[h] = there ? columns_of(node, block, block_row) : 0;
            widest = task.columns[h] > widest ? task.columns[h] : widest;
        }
        task.node = node;
        task.first = found.first;
        task.stages = (widest + 16 * GROUPS - 1) / (16 * GROUPS);
        task.block = block;
    }

    /* A stage's vectors are neighbours. */
    __device__ __forceinline__ void begin_list(const pipe_task &) {}
    __device__ __forceinline__ void copy_list(int32_t *) {}

    __device__ __forceinline__ void begin_copies(const pipe_task &task) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            columns[h] = task.columns[h];
            panel[h] = static_cast<const double *>(plan.panels) + task.node.panel +
                       gsv_block_row_start(task.node.nc, task.first + h) +
                       GSV_TILE * int64_t(task.block.first);
        }
        most = columns[0] > columns[1] ? columns[0] : columns[1];
        vectors = y + int64_t(task.node.first_column + task.block.first) * NR;
        k = 0;
    }

    __device__ __forceinline__ void copy_panel(int ahead, double *stage) const {
        const int i = threadIdx.x / 8, pair = 2 * (threadIdx.x % 8), column = k + 16 * GROUPS * ahead + i;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const bool there = column < columns[h];
            copy_or_clear_async(stage + (h * GROUPS + i / 16) * GROUP + i % 16 * GSV_TILE + pair,
                                there ? panel[h] + GSV_TILE * int64_t(column) + pair : vectors, there);
        }
    }

    __device__ __forceinline__ void copy_vectors(double *stage, const int32_t *) const {
#pragma unroll
        for (int e = threadIdx.x; e < 16 * GROUPS * RUNS; e += PIPE_BLOCK) {
            const int i = e / RUNS, run = 2 * (e % RUNS);
            const bool there = k + i < most;
            copy_or_clear_async(stage + PANEL + i / 16 * ROWS + i % 16 * NR + run,
                                vectors + (there ? int64_t(k + i) * NR : 0) + run, there);
        }
    }

    __device__ __forceinline__ void step() {
        k += 16 * GROUPS;
    }

    /* A chain is the columns k of one k mod 16; this warp has two neighbours of one block row. */
    __device__ __forceinline__ void multiply(const double *stage, const pipe_task &task, int turn_of) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int h = warp / 8, first = 2 * (warp % 8), group = lane % 4;
        const int left = task.columns[h] - 16 * GROUPS * turn_of;
        if (left <= 0)
            return;
        const double *from = stage + (h * GROUPS + group) * GROUP + first * GSV_TILE + lane / 4;
        const double *rows = stage + PANEL + group * ROWS + first * NR + fragments::fragment_column();
#pragma unroll
        for (int g = 0; g < 2; g++) {
            double a[2], b[N];
#pragma unroll
            for (int m = 0; m < 2; m++)
                a[m] = from[g * GSV_TILE + 8 * m];
            fragments::load(rows + g * NR, b);
            if (16 * group + first + g >= left) /* the other block row's columns */
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[n] = 0;
            __syncwarp(); /* the multiplications are the warp's */
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply_add_warp(acc[g][m][n], a[m], b[n]);
        }
    }

    __device__ __forceinline__ void finish(const pipe_task &task, double *results) {
        constexpr int RUN = NR >= 16 ? NR / 16 : 1;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
        for (int m = 0; m < 2; m++) {
            double sum[N][2];
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int c = 0; c < 2; c++)
                    sum[n][c] = acc[0][m][n][c] + acc[1][m][n][c];
            fragments::store(results + (warp * 16 + lane / 4 + 8 * m) * NR + fragments::result_column(), sum);
        }
        __syncthreads(); /* all chains are there */
        const int h = threadIdx.x / 256, e = threadIdx.x % 256 * RUN;
        if (e < 16 * NR && task.columns[h] > 0) {
            double sum[RUN];
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                double p[8];
#pragma unroll
                for (int w = 0; w < 8; w++)
                    p[w] = results[(8 * h + w) * 16 * NR + e + j];
                sum[j] = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
            }
            finish_row<double, NR, RUN>(task.node, task.block, y, x, u, GSV_TILE * (task.first + h) + e / NR,
                                        e % NR, leaf, sum);
        }
    }
};

/* Bytes of shared memory of a block: the stages, the chains' sums, and the lists of the stages' rows. */
template <class WORK> constexpr int pipe_bytes() {
    return (WORK::STAGES * WORK::STAGE + WORK::RESULTS) * int(sizeof(double)) +
           2 * WORK::STAGES * WORK::LIST * int(sizeof(int32_t));
}

/* Tasks first, first + step, ... of `count`. shared: pipe_bytes. */
template <class WORK>
__device__ __forceinline__ void pipe(WORK &work, int first, int step, int count, double *shared) {
    __shared__ pipe_tasks on_their_way;
    pipe_tasks &way = on_their_way;
    constexpr int STAGES = WORK::STAGES, AHEAD = STAGES - 1;
    static_assert(AHEAD + 1 < 15 && 2 * AHEAD + 2 < 31, "rings with room for a task that is still read");
    double *results = shared + STAGES * WORK::STAGE;
    int32_t *lists = reinterpret_cast<int32_t *>(results + WORK::RESULTS);
    const int thread = threadIdx.x, mine = (count - first + step - 1) / step;

    auto fetch_task = [&](int t) {
        if (t < mine && thread < 3)
            copy_word_async<4>(reinterpret_cast<int32_t *>(&way.task[t % 32]) + thread,
                               reinterpret_cast<const int32_t *>(work.tasks + first + int64_t(step) * t) +
                                   thread);
    };
    auto fetch_node = [&](int t) {
        if (t < mine && thread < 5)
            copy_word_async<8>(
                reinterpret_cast<int64_t *>(&way.node[t % 16]) + thread,
                reinterpret_cast<const int64_t *>(work.plan.wide + way.task[t % 32].supernode) + thread);
    };
    auto arrive = [&]() {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads(); /* and those of the other threads */
    };

    int planned = 0, to_list = 0; /* tasks; stages of the task planned last */
    auto plan_task = [&]() {
        pipe_task task;
        task.stages = 0;
        if (planned < mine) {
            work.describe(way.task[planned % 32], way.node[planned % 16], task);
            work.begin_list(task);
        }
        to_list = task.stages;
        if (thread == 0)
            way.ready[planned % 32] = task;
        fetch_node(planned + AHEAD + 1);
        fetch_task(planned + 2 * AHEAD + 2);
        planned++;
    };
    int listed = 0; /* stages */
    auto list_stage = [&]() {
        if (to_list > 0) {
            work.copy_list(lists + listed++ % (2 * STAGES) * WORK::LIST);
            if (--to_list == 0)
                plan_task();
        }
    };
    int begun = 0, to_copy = 0; /* tasks; stages of the task begun last */
    auto begin_task = [&]() {
        const pipe_task &task = way.ready[begun++ % 32];
        to_copy = task.stages;
        if (to_copy > 0)
            work.begin_copies(task);
    };
    int copied = 0, there = 0; /* stages; those whose panels are copied before the vectors */
    auto copy_stage = [&]() {
        double *stage = shared + copied % STAGES * WORK::STAGE;
        if (to_copy > 0) {
            if (copied >= there)
                work.copy_panel(0, stage);
            work.copy_vectors(stage, lists + copied % (2 * STAGES) * WORK::LIST);
            work.step();
            if (--to_copy == 0)
                begin_task();
        }
        copied++;
        list_stage();
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    for (int t = 0; t < 2 * AHEAD + 2; t++)
        fetch_task(t);
    arrive();
    for (int t = 0; t < AHEAD + 1; t++)
        fetch_node(t);
    arrive();
    plan_task();
    for (int k = 0; k < AHEAD; k++)
        list_stage();
    arrive();
    begin_task();
    for (; there < AHEAD && there < to_copy; there++)
        work.copy_panel(there, shared + there * WORK::STAGE);
    wait_for_vectors();
    for (int k = 0; k < AHEAD; k++)
        copy_stage();

    int stage = 0, task = 0;
    for (int multiplied = 0;; multiplied++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        __syncthreads(); /* the stage is there, and the one before has been left */
        const pipe_task &now = way.ready[task % 32];
        if (now.stages == 0)
            break;
        copy_stage();
        if (stage == 0)
#pragma unroll
            for (int e = 0; e < 2 * 2 * WORK::N * 2; e++)
                (&work.acc[0][0][0][0])[e] = 0;
        work.multiply(shared + multiplied % STAGES * WORK::STAGE, now, stage);
        if (++stage == now.stages) {
            work.finish(now, results);
            stage = 0;
            task++;
        }
    }
}

/* A level's wide supernodes forward: `pipes` blocks, and behind them one for each task of narrower ones. */
template <int NR>
__global__ void __launch_bounds__(PIPE_BLOCK, 1)
    pipe_forward_kernel(gsv_device_plan plan, double *y, double *x, double *u, const gsv_task *tasks,
                        int count, int pipes, const gsv_task *tiles, wide_pass turn, bool leaf) {
    extern __shared__ int4 shared[];
    if (int(blockIdx.x) < pipes) {
        forward_pipe<NR> work = {plan, x, y, u, tasks, turn, leaf};
        pipe(work, blockIdx.x, pipes, count, reinterpret_cast<double *>(shared));
        return;
    }
    const gsv_task task = tiles[blockIdx.x - pipes];
    const gsv_node node = plan.wide[task.supernode];
    const column_block block(node, turn, false);
    if (block.first >= node.nc)
        wait_for_vectors();
    else
        forward_warp_tiles_tensor<NR>(plan, task, node, block, y, x, u, leaf);
}

/* A level of the backward sweep. */
template <int NR, kernel_mode MODE>
__global__ void __launch_bounds__(PIPE_BLOCK, 1)
    pipe_backward_kernel(gsv_device_plan plan, const double *x, double *y, level_part part, int pipes) {
    extern __shared__ int4 shared[];
    if (int(blockIdx.x) < pipes) {
        backward_pipe<NR> work = {plan, x, y, part.tasks, part.turn};
        pipe(work, blockIdx.x, pipes, part.task_count, reinterpret_cast<double *>(shared));
        return;
    }
    backward_narrow_level<double, NR, MODE, GSV_PIPE_WARPS>(plan, x, y, part, blockIdx.x - pipes);
}

} // namespace gsv
#endif
