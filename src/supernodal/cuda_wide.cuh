/*
 * Wide supernodes (panel_layout.h): the assemble, forward and backward tasks, on panels in tiles of 16 rows.
 */
#ifndef GSV_CUDA_WIDE_CUH
#define GSV_CUDA_WIDE_CUH

#include "cuda_gather.cuh"

namespace gsv {

/* An assemble task: rows of a wide front, each the right-hand side's number (own columns) or nothing, and
 * what the children owe. */
template <typename T, int NR>
__device__ void assemble_wide(const gsv_device_plan &plan, const gsv_task &task, T *y, T *u) {
    const gsv_node node = plan.wide[task.supernode];
    wait_for_vectors();
    constexpr int CT = patch<NR>::CT;
    for (int e = threadIdx.x * CT; e < task.count * NR; e += BLOCK * CT) {
        const int i = task.first + e / NR, c = e % NR;
        T *at = i < node.nc ? &y[int64_t(node.first_column + i) * NR + c]
                            : &u[(node.update + i - node.nc) * NR + c];
        T sum[1][CT];
#pragma unroll
        for (int j = 0; j < CT; j++)
            sum[0][j] = make<T>(0);
        if (i < node.nc)
            load_run(at, sum[0]);
        gather<T, NR, 1, CT, 1>(plan, u, node.rows + i, 1, c, sum);
        store_run(at, sum[0]);
    }
}

/*
 * The pass of a launch over a level's wide supernodes, of so many. One that is inverted in parts takes as
 * many passes: one column block each, forward in ascending order, backward in descending order. A supernode
 * with more parts than there are passes, or none, is one that the launch was not made for: the answer is NaN
 * (cuda_sweep.cuh).
 */
struct wide_pass {
    int pass, passes;
};

/* Columns first .. end - 1 of a supernode's triangle, the ones of this pass; first is nc if it has none. */
struct column_block {
    int first, end;
    bool refuse;
    __device__ __forceinline__ column_block(const gsv_node &node, wide_pass turn, bool backward)
        : refuse(node.parts == 0 || node.parts > turn.passes) {
        const int parts = refuse ? 1 : node.parts, part = backward ? parts - 1 - turn.pass : turn.pass;
        const int width = parts == 1 ? node.nc : gsv_part_columns(node.nc, parts);
        first = part < 0 || part * width > node.nc ? node.nc : part * width;
        end = first + width < node.nc ? first + width : node.nc;
    }
};

/*
 * Result row i, right-hand sides c and on, of a wide supernode: it goes into x, or onto what the rows of the
 * column blocks to come have in y, or onto what is in u. What is there already is requested before the
 * product, which takes as long as it does to arrive.
 */
template <typename T, int NR, int N> struct result_row {
    T *to, there[N];

    __device__ __forceinline__ void request(const gsv_node &node, const column_block &block, T *y, T *x, T *u,
                                            int i, int c, bool leaf) {
        bool adds = false;
        to = nullptr;
        if (i < block.end) {
            to = &x[int64_t(node.first_column + i) * NR + c];
        } else if (i < node.nr) {
            to = i < node.nc ? &y[int64_t(node.first_column + i) * NR + c]
                             : &u[(node.update + i - node.nc) * NR + c];
            adds = !leaf || i < node.nc || block.first > 0;
        }
#pragma unroll
        for (int j = 0; j < N; j++)
            there[j] = make<T>(0);
        if (adds)
            load_run(to, there);
    }

    __device__ __forceinline__ void finish(const column_block &block, T (&sum)[N]) {
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] = block.refuse ? not_a_number<T>() : add(there[j], sum[j]);
        if (to)
            store_run(to, sum);
    }
};

/* How many columns of the column block are in a block row. */
__device__ __forceinline__ int columns_of(const gsv_node &node, const column_block &block, int block_row) {
    const int end = gsv_block_row_columns(node.nc, block_row);
    return (end < block.end ? end : block.end) - block.first;
}

/* A forward task of a supernode of at most GSV_WARP_TILE_COLUMNS columns: a block row for each warp. */
template <typename T, int NR>
__device__ void forward_warp_tiles(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                                   const column_block &block, T *y, T *x, T *u, bool leaf) {
    constexpr int RT = patch<NR>::RT, CT = patch<NR>::CT;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, member = lane % 16;
    const int block_row = task.first + warp;
    if (warp >= task.count || GSV_TILE * block_row < block.first) {
        wait_for_vectors();
        return;
    }
    tile_product<T, NR, 2> product(static_cast<const T *>(plan.panels) + node.panel +
                                       gsv_block_row_start(node.nc, block_row) + GSV_TILE * block.first,
                                   columns_of(node, block, block_row), lane / 16, member);
    wait_for_vectors();
    T acc[RT][CT];
    product.run(y + int64_t(node.first_column + block.first) * NR, acc);
#pragma unroll
    for (int i = 0; i < RT; i++) {
#pragma unroll
        for (int j = 0; j < CT; j++)
            acc[i][j] = add(acc[i][j], shuffle_xor(acc[i][j], 16));
        /* the two halves of the warp hold the same sums: they take the rows by turns */
        if (RT == 1 ? lane < 16 : i % 2 == lane / 16) {
            result_row<T, NR, CT> result;
            result.request(node, block, y, x, u, GSV_TILE * block_row + member % (16 / RT) * RT + i,
                           member / (16 / RT) * CT, leaf);
            result.finish(block, acc[i]);
        }
    }
}

/* One block row by the whole block, sixteen groups of sixteen threads. The 16 x NR results are for the first
 * 16 NR / RUN threads, RUN each: thread t has row t RUN / NR, right-hand sides t RUN mod NR and on. Ends with
 * a barrier behind the last read of `partial` still to come. */
template <typename T, int NR> struct block_row {
    static const int RT = patch<NR>::RT, CT = patch<NR>::CT;
    static const int RUN = NR >= 16 ? NR / 16 : 1;
    static const int PARTIALS = 8 * 16 * NR; /* numbers of shared memory */
    tile_product<T, NR, 16> product;

    __device__ __forceinline__ block_row(const T *tile, int columns)
        : product(tile, columns, threadIdx.x / 16, threadIdx.x % 16) {}

    static __device__ __forceinline__ bool has_result() {
        return threadIdx.x * RUN < 16 * NR;
    }

    __device__ __forceinline__ void run(const T *v, T *partial, T (&sum)[RUN]) {
        const int group = threadIdx.x / 16, member = threadIdx.x % 16;
        const int r = member % (16 / RT) * RT, c = member / (16 / RT) * CT;
        T acc[RT][CT];
        product.run(v, acc);
#pragma unroll
        for (int i = 0; i < RT; i++) {
#pragma unroll
            for (int j = 0; j < CT; j++)
                acc[i][j] = add(acc[i][j], shuffle_xor(acc[i][j], 16));
            if (group % 2 == 0)
                store_run(&partial[(group / 2 * 16 + r + i) * NR + c], acc[i]);
        }
        __syncthreads(); /* the eight partial sums of a result come from eight warps */
        if (has_result())
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                T p[8];
#pragma unroll
                for (int w = 0; w < 8; w++)
                    p[w] = partial[w * 16 * NR + threadIdx.x * RUN + j];
                sum[j] = add(add(add(p[0], p[1]), add(p[2], p[3])), add(add(p[4], p[5]), add(p[6], p[7])));
            }
    }
};

/* Rows of [x(cols); y(rows below)] that a block keeps in shared memory at a time, in two buffers by turns,
 * and how they are padded: rows of 16 bytes or more start 16 bytes further round the banks each. */
template <typename T, int NR> struct stage {
    static const int ROWS = NR == 1 ? 512 : NR == 4 ? 256 : NR == 8 ? 128 : 64;
    static const int PAD = NR * sizeof(T) >= 16 ? 16 / int(sizeof(T)) : 0;
    static const int STRIDE = NR + PAD;
    static const int VALUES = ROWS * NR / BLOCK; /* numbers that a thread brings */
    static const int BYTES = 2 * ROWS * STRIDE * int(sizeof(T));
    static_assert(ROWS / GSV_TILE % (2 * patch<NR>::AHEAD) == 0, "a stage holds whole steps");
    static_assert(BYTES <= 48 * 1024, "what a launch may have without asking");
};

/*
 * GSV_BACKWARD_COLUMNS columns of a wide supernode times the front vector, all block rows from the last up to
 * the diagonal, by a block. vector(i, c): entry i of the front, for i < nr; it is called after the wait.
 * finish(j, c, total): what column first_column + j comes to, a run of right-hand sides from c on. While a
 * stage is multiplied, the next one is on its way in registers.
 */
template <typename T, int NR, typename Vector, typename Finish>
__device__ void transposed_columns(const gsv_device_plan &plan, const gsv_node &node, int first_column,
                                   T *shared, Vector vector, Finish finish) {
    constexpr int JT = patch<NR>::RT, CT = patch<NR>::CT;
    typedef stage<T, NR> stage;
    const int r = threadIdx.x % 16, group = threadIdx.x / 16;
    const int nr = node.nr, nc = node.nc;
    const int last = (nr + GSV_TILE - 1) / GSV_TILE;
    transposed_product<T, NR> product(static_cast<const T *>(plan.panels) + node.panel, nc, first_column,
                                      last, r, group);
    wait_for_vectors();

    T next[stage::VALUES];
    auto bring = [&](int step) {
#pragma unroll
        for (int k = 0; k < stage::VALUES; k++) {
            const int e = k * BLOCK + threadIdx.x, row = e / NR, c = e % NR;
            const int i = GSV_TILE * (last - 1 - step - row / GSV_TILE) + row % GSV_TILE;
            next[k] = i >= 0 && i < nr ? vector(i, c) : make<T>(0);
        }
    };
    auto put = [&](T *f) {
#pragma unroll
        for (int k = 0; k < stage::VALUES; k++) {
            const int e = k * BLOCK + threadIdx.x;
            f[e / NR * stage::STRIDE + e % NR] = next[k];
        }
    };
    T acc[JT * CT];
#pragma unroll
    for (int k = 0; k < JT * CT; k++)
        acc[k] = make<T>(0);
    T *f = shared, *other = shared + stage::ROWS * stage::STRIDE;
    const int steps = product.steps;
    bring(0);
    put(f);
    __syncthreads(); /* the first stage is complete */
    for (int start = 0; start < steps; start += stage::ROWS / GSV_TILE) {
        const int end = start + stage::ROWS / GSV_TILE;
        if (end < steps)
            bring(end);
        product.run(start, end < steps ? end : steps, f + r * stage::STRIDE, GSV_TILE * stage::STRIDE, acc);
        if (end < steps)
            put(other); /* all threads have left the stage that was there: the barrier before this one says so
                         */
        __syncthreads(); /* the next stage is complete; after the last: shared memory is free */
        T *swap = f;
        f = other;
        other = swap;
    }

    typedef reduce_lanes<T, NR, 8> reduce;
    int result = 0;
    reduce::run(acc, r, result);
    const int j = product.jg * JT + result / CT, c = product.cg * CT + result % CT;
    T total[reduce::RESULTS];
#pragma unroll
    for (int k = 0; k < reduce::RESULTS; k++)
        total[k] = acc[k];
    if (product.half == 1 && r % reduce::COPIES == 0)
        store_run(&shared[j * NR + c], total);
    __syncthreads(); /* the second half's sums are there */
    if (product.half == 0 && r % reduce::COPIES == 0 && first_column + j < nc) {
        T there[reduce::RESULTS];
        load_run(&shared[j * NR + c], there);
#pragma unroll
        for (int k = 0; k < reduce::RESULTS; k++)
            total[k] = add(total[k], there[k]);
        finish(j, c, total);
    }
}

/* A backward task. Rows below the column block, in the triangle and below it, have their solution in y. */
template <typename T, int NR>
__device__ void backward_wide(const gsv_device_plan &plan, const gsv_task &task, const gsv_node &node,
                              const column_block &block, const T *x, T *y, T *shared) {
    const int first_column = GSV_BACKWARD_COLUMNS * task.first;
    if (first_column < block.first || first_column >= block.end) {
        wait_for_vectors();
        return;
    }
    const int32_t *rows = plan.rows + node.rows;
    const T *own = x + int64_t(node.first_column) * NR;
    T *to = y + int64_t(node.first_column + first_column) * NR;
    transposed_columns<T, NR>(
        plan, node, first_column, shared,
        [&](int i, int c) { return i < block.end ? own[int64_t(i) * NR + c] : y[int64_t(rows[i]) * NR + c]; },
        [&](int j, int c, auto &total) {
            if (block.refuse)
                for (T &value : total)
                    value = not_a_number<T>();
            store_run(&to[j * NR + c], total);
        });
}

} // namespace gsv
#endif
