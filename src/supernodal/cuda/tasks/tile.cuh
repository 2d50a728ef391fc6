/*
 * One tile of the sweeps for many right-hand sides: GSV_TASK_ROWS x C sums, or half as many rows, over a range of terms, by
 * a block of four warps; C is 64, 32 or 16.
 *
 *      forward    c = A v          A: rows of the panel, v: rows of y
 *      backward   c = A' v         A: columns of the panel, v: rows of x (own) and y (below)
 *
 * Sixteen terms at a time travel through a ring of stages in shared memory, by asynchronous copies: a tile of
 * A, 64 x 16, and sixteen rows of v (cuda/tasks/stages.cuh). A warp has 32 x 32 of the sums, or 32 x 16 where C is
 * 32, 16 x 16 where it is 16, in the fragments of the tensor cores (fragment.cuh). Where a tile has half of the rows,
 * so has every warp, or, of 16 x 16, half of the warps have none. A tile of 64 columns has 168 registers a thread, of
 * which 64 are sums, and three blocks an SM; of 32 or 16 columns 128, and four. Sums and stages of complex numbers
 * take twice as much: C is 32 or 16, and an SM has two blocks, or three in single precision with 16.
 *
 * Registers. What a thread knows of its copies is worked out anew before the first panels, before their vectors
 * and before the loop (stream_from), which is there for each order of sums, and with 64 columns once more, for one
 * chain in whole tiles (multiply_halves): what lives longer the compiler keeps in local memory, because some other
 * loop, or the beginning of the sums, wants its registers, and then every loop reads it from there in every stage.
 *
 * Order. A forward sum begins as what is owed to its row (cuda/tasks/ends.cuh), which is brought in while the first
 * stages are. Where the triangle is well-conditioned (GSV_WELL_LIMIT) the terms of a range are one chain, as in
 * DGEMM. Elsewhere not, for each would be rounded at the size of the total, and the inverse of an
 * ill-conditioned triangle makes totals large before they cancel: sixteen terms are summed by themselves, and
 * their sum is added to the total, which the tensor cores do not hide (gpusolve-orders-bench, test_condition.c). Of
 * mixed<complex<float>>, summed in double, all terms are one chain.
 *
 * The terms of a backward sum begin with those of own columns, which are known; then come those of rows above
 * the parent's, and last the parent's, which the block waits for when it gets there (tasks_cursor).
 *
 * Synchronisation: a barrier for each sixteen terms: the stage is there, and the one before has been read.
 * Shared memory traffic of it, C = 64: 8 KB + 8 KB in, and by each of four warps (32 + 32) x 16 numbers
 * out, for 64 x 64 x 16 multiply-adds.
 */
#ifndef GSV_CUDA_TASKS_TILE_CUH
#define GSV_CUDA_TASKS_TILE_CUH

#include "../../../dense_kernels/overlap.cuh"
#include "stages.cuh"

namespace gsv {

/* This warp's sums of a tile: WARP_COLUMNS columns, and an equal share of the rows of a tile of this height, but at least
 * sixteen rows, so that some warps may have none. */
template <typename Kind, int C, bool BACKWARD> __device__ __forceinline__ int tasks_warp_share(int height) {
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    return shape::WARP_ROWS == GSV_TILE ? int(GSV_TILE) : height / shape::DOWN;
}
template <typename Kind, int C, bool BACKWARD> __device__ __forceinline__ int tasks_warp_row(int height) {
    return threadIdx.x / (32 * tasks_shape<Kind, C, BACKWARD>::ACROSS) *
           tasks_warp_share<Kind, C, BACKWARD>(height);
}
template <typename Kind, int C, bool BACKWARD> __device__ __forceinline__ int tasks_warp_rows(int height) {
    const int share = tasks_warp_share<Kind, C, BACKWARD>(height);
    if (tasks_shape<Kind, C, BACKWARD>::WARP_ROWS == GSV_TILE)
        return tasks_warp_row<Kind, C, BACKWARD>(height) < height ? share : 0;
    return share;
}
template <typename Kind, int C, bool BACKWARD> __device__ __forceinline__ int tasks_warp_column() {
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    return threadIdx.x / 32 % shape::ACROSS * shape::WARP_COLUMNS;
}

/* A warp's sums of a tile, and what a lane has of them: ROWS rows, of each RUNS pairs of right-hand sides, APART from
 * each other. Real numbers backward are turned: the rows of a fragment are right-hand sides, its columns are sums'
 * rows. So what a lane reads at once, two terms of a run of the panel or two right-hand sides of a term, are the
 * registers of one operand, and none is moved. */
template <typename Kind, int C, bool BACKWARD> struct tasks_sums_of {
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    static const bool TURNED = BACKWARD && shape::REAL;
    static const int ROWS = TURNED ? 2 * shape::EIGHTS : shape::EIGHTS,
                     RUNS = shape::WARP_COLUMNS / (TURNED ? 16 : 8), APART = TURNED ? 16 : 8;
    typedef fragment<vector_number<Kind>, TURNED ? shape::RUNS : shape::EIGHTS,
                     TURNED ? shape::WARP_ROWS : shape::WARP_COLUMNS>
        type;
};

template <typename Kind, int C, bool BACKWARD>
__device__ __forceinline__ void
tasks_result(const typename tasks_sums_of<Kind, C, BACKWARD>::type &sums,
             vector_number<Kind> (
                 &to)[tasks_sums_of<Kind, C, BACKWARD>::ROWS][tasks_sums_of<Kind, C, BACKWARD>::RUNS][2]) {
    typedef tasks_sums_of<Kind, C, BACKWARD> of;
    if constexpr (of::TURNED) {
#pragma unroll
        for (int i = 0; i < of::ROWS; i++)
#pragma unroll
            for (int t = 0; t < of::RUNS; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    to[i][t][e] = sums.c[t][i / 2][2 * e + i % 2];
    } else
        sums.result(to);
}

/* How sixteen terms are added to a total (Order, above). */
enum tasks_sums { ONE_CHAIN, BY_THEMSELVES };

/* sum += a x over sixteen terms, 16 x 8 sums, a[c] and x[c] of the terms c, c + 4, c + 8, c + 12. */
template <tasks_sums SUMS>
__device__ __forceinline__ void add_run_warp(double (&sum)[4], const double (&a)[4][2],
                                             const double (&x)[4]) {
    if constexpr (SUMS == ONE_CHAIN) {
        mma_warp(sum, a[0][0], a[0][1], a[1][0], a[1][1], x[0], x[1]);
        mma_warp(sum, a[2][0], a[2][1], a[3][0], a[3][1], x[2], x[3]);
        return;
    }
    double run[4] = {0, 0, 0, 0};
    mma_warp(run, a[0][0], a[0][1], a[1][0], a[1][1], x[0], x[1]);
    mma_warp(run, a[2][0], a[2][1], a[3][0], a[3][1], x[2], x[3]);
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum[e] += run[e];
}

template <tasks_sums SUMS, int I, int N>
__device__ __forceinline__ void add_runs_warp(fragment<double, I, N> &sums, int i, int t,
                                              const double (&a)[4][2], const double (&x)[4]) {
    add_run_warp<SUMS>(sums.c[i][t], a, x);
}

template <tasks_sums SUMS, int I, int N>
__device__ __forceinline__ void add_runs_warp(fragment<complex<double>, I, N> &sums, int i, int t,
                                              const complex<double> (&a)[4][2],
                                              const complex<double> (&x)[4]) {
    double re[4][2], im[4][2], x_re[4], x_im[4], minus[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        x_re[c] = x[c].re;
        x_im[c] = x[c].im;
        minus[c] = -x[c].im;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            re[c][r] = a[c][r].re;
            im[c][r] = a[c][r].im;
        }
    }
    add_run_warp<SUMS>(sums.re[i][t], re, x_re);
    add_run_warp<SUMS>(sums.re[i][t], im, minus);
    add_run_warp<SUMS>(sums.im[i][t], re, x_im);
    add_run_warp<SUMS>(sums.im[i][t], im, x_re);
}

/* Where a lane's numbers of a stage are: a few places, and constants from there. */
template <typename Kind, int C, bool BACKWARD> struct tasks_lane {
    typedef vector_number<Kind> T;
    typedef panel_number<Kind> P;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    typedef tasks_sums_of<Kind, C, BACKWARD> sums_of;
    static const bool TURNED = sums_of::TURNED;
    static const int PLACES = TURNED ? 2 : BACKWARD ? 4 : 1;
    /* In bytes. Unless turned, places of the first eight of every sixteen numbers; the others are at ^ OTHER. */
    int a[PLACES], v;

    __device__ __forceinline__ explicit tasks_lane(int height) {
        const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
        const int row = tasks_warp_row<Kind, C, BACKWARD>(height);
        v = shape::A_BYTES +
            (q * shape::COLUMNS + tasks_warp_column<Kind, C, BACKWARD>() + swizzle(TURNED ? 2 * g : g, q)) *
                int(sizeof(T));
#pragma unroll
        for (int h = 0; h < PLACES; h++)
            a[h] =
                int(sizeof(P)) * (TURNED ? (row + g) * GSV_TILE + tasks_place_in_run<Kind>(4 * q + 2 * h, g)
                                  : BACKWARD ? (row + g) * GSV_TILE + swizzle(4 * h, g) + q
                                             : (row + q) * GSV_TILE + swizzle(g, q));
    }

    /* Where the numbers of the first eights are, or of the others. */
    template <typename Number>
    static __device__ __forceinline__ const Number *at(unsigned stage, int place, int other) {
        constexpr int OTHER = 8 * int(sizeof(Number));
        if (OTHER < SHARED_LINE) /* a stage begins with a line */
            return shared_at<Number>((stage + place) ^ OTHER * other);
        return shared_at<Number>(stage + (place ^ OTHER * other));
    }

    /* Row 8 i + g of the warp's; term 4 s + q, or 4 q + s where sixteen are summed by themselves. */
    __device__ __forceinline__ T a_of(unsigned stage, int i, int s) const {
        if (BACKWARD)
            return conjugate(number_as<T>(shared_at<P>(stage + a[s])[8 * i * GSV_TILE]));
        return number_as<T>(at<P>(stage, a[0], i % 2)[(i / 2 * shape::DEPTH + 4 * s) * GSV_TILE]);
    }

    /* That term, right-hand side 8 t + g of the warp's. */
    __device__ __forceinline__ T v_of(unsigned stage, int s, int t) const {
        return at<T>(stage, v, t % 2)[4 * s * shape::COLUMNS + t / 2 * 16];
    }

    /* The operands of a warp's products: terms 4 q + 2 H and 4 q + 2 H + 1, half of a stage's, in all rows of the warp. */
    struct operands {
        double a[TURNED ? sums_of::RUNS : shape::EIGHTS / 2][2][2],
            x[TURNED ? shape::EIGHTS : shape::RUNS][2];
    };
    static const int XS = TURNED ? shape::EIGHTS : shape::RUNS,
                     PRODUCTS = (TURNED ? sums_of::RUNS : shape::EIGHTS / 2) * XS;

    template <int H> __device__ __forceinline__ void read_half(unsigned stage, operands &of) const {
        if constexpr (TURNED) {
#pragma unroll
            for (int t = 0; t < sums_of::RUNS; t++)
#pragma unroll
                for (int s = 0; s < 2; s++)
                    load_run(shared_at<double>(stage + v) + 4 * (2 * H + s) * shape::COLUMNS + 16 * t,
                             of.a[t][s]);
#pragma unroll
            for (int i = 0; i < shape::EIGHTS; i++)
                load_pair_of_panel(shared_at<P>(stage + a[H]) + 8 * i * GSV_TILE, of.x[i]);
        } else {
#pragma unroll
            for (int s = 0; s < 2; s++) {
#pragma unroll
                for (int t = 0; t < shape::RUNS; t++)
                    of.x[t][s] = v_of(stage, 2 * H + s, t);
#pragma unroll
                for (int i = 0; i < shape::EIGHTS; i++)
                    of.a[i / 2][s][i % 2] = a_of(stage, i, 2 * H + s);
            }
        }
    }

    /* Products FROM .. TO - 1 of these, to sums that are one chain. */
    template <int FROM, int TO>
    static __device__ __forceinline__ void multiply_half(const operands &of, typename sums_of::type &sums) {
#pragma unroll
        for (int k = FROM; k < TO; k++) {
            const double(&a)[2][2] = of.a[k / XS], (&x)[2] = of.x[k % XS];
            mma_warp(sums.c[k / XS][k % XS], a[0][0], a[0][1], a[1][0], a[1][1], x[0], x[1]);
        }
    }

    /* The first `active` of the warp's runs of sixteen rows, or, where it has registers to read the next one's
     * numbers while one is multiplied with, ALL of the first SIXTEENS, without a branch among them. */
    template <tasks_sums SUMS, int SIXTEENS, bool ALL>
    __device__ __forceinline__ void multiply_warp(unsigned stage, int active,
                                                  typename sums_of::type &sums) const {
        if constexpr (TURNED) { /* right-hand sides in place of rows, and rows in place of right-hand sides */
            double x[sums_of::RUNS][4][2]; /* right-hand sides 16 t + 2 g and the next one; terms 4 q + s */
#pragma unroll
            for (int t = 0; t < sums_of::RUNS; t++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    load_run(shared_at<double>(stage + v) + 4 * s * shape::COLUMNS + 16 * t, x[t][s]);
#pragma unroll
            for (int i = 0; i < 2 * SIXTEENS; i++) {
                if (!ALL && i / 2 >= active)
                    break;
                double row[4]; /* row 8 i + g; terms 4 q + s */
#pragma unroll
                for (int h = 0; h < 2; h++)
                    load_pair_of_panel(shared_at<P>(stage + a[h]) + 8 * i * GSV_TILE,
                                       *reinterpret_cast<double(*)[2]>(&row[2 * h]));
#pragma unroll
                for (int t = 0; t < sums_of::RUNS; t++)
                    add_run_warp<SUMS>(sums.c[t][i], x[t], row);
            }
        } else if constexpr (shape::CHAINS) {
            T x[shape::RUNS][4];
#pragma unroll
            for (int t = 0; t < shape::RUNS; t++)
#pragma unroll
                for (int s = 0; s < 4; s++)
                    x[t][s] = v_of(stage, s, t);
#pragma unroll
            for (int i = 0; i < 2 * SIXTEENS; i += 2) {
                if (!ALL && i / 2 >= active)
                    break;
                T rows[4][2]; /* rows 8 i + g and 8 (i + 1) + g; terms 4 q + s */
#pragma unroll
                for (int r = 0; r < 2; r++)
#pragma unroll
                    for (int s = 0; s < 4; s++)
                        rows[s][r] = a_of(stage, i + r, s);
#pragma unroll
                for (int t = 0; t < shape::RUNS; t++)
                    add_runs_warp<SUMS>(sums, i / 2, t, rows, x[t]);
            }
        } else {
#pragma unroll
            for (int s0 = 0; s0 < shape::DEPTH / 4; s0 += 2) {
                T rows[shape::EIGHTS][2], x[2][shape::RUNS];
#pragma unroll
                for (int s = 0; s < 2; s++) {
#pragma unroll
                    for (int i = 0; i < shape::EIGHTS; i++)
                        rows[i][s] = a_of(stage, i, s0 + s);
#pragma unroll
                    for (int t = 0; t < shape::RUNS; t++)
                        x[s][t] = v_of(stage, s0 + s, t);
                }
                sums.add_product(rows, x);
            }
        }
    }
};

/* All terms of a tile. The first panels are asked for before anything is waited for. owed() returns when what
 * begin() reads is there, true if the vectors are as well, or backward, if they may be asked for; begin()
 * gives the sums what they begin as, while the first vectors are on their way or still to come; ready()
 * returns when they are there; await as in tasks_stream. Ends without a barrier: shared memory is still being
 * read. */
template <typename Kind, int C, bool BACKWARD, typename Owed, typename Ready, typename Await, typename Begin>
__device__ __forceinline__ void
tasks_product_block(const gsv_device_plan &plan, const tasks_tile &tile, const vector_number<Kind> *own,
                    const vector_number<Kind> *below, int columns, vector_number<Kind> *memory,
                    typename tasks_sums_of<Kind, C, BACKWARD>::type &sums, Owed owed, Ready ready,
                    Await await, Begin begin) {
    typedef vector_number<Kind> T;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    const unsigned shared = kept_shared(memory);
    constexpr unsigned STAGE = shape::STAGE;
    static_assert(STAGE % SHARED_LINE == 0, "stages begin with a line");
    const int steps = (tile.end - tile.begin + shape::DEPTH - 1) / shape::DEPTH;
    /* nothing to multiply behind the last row or column */
    const int left = tile.last - tile.first - tasks_warp_row<Kind, C, BACKWARD>(tile.height);
    const int rows = tasks_warp_rows<Kind, C, BACKWARD>(tile.height),
              active = ((left < rows ? left : rows) + 15) / 16;
    /* tiles of other right-hand sides want the panel, too, and soon */
    const l2_policy policy = l2_policy_of(plan.transient && columns == C);
    const tasks_cursor<BACKWARD> begins(tile);
    auto stream_from = [&](const tasks_cursor<BACKWARD> &at, int32_t row) {
        return tasks_stream<Kind, C, BACKWARD>(plan, tile, own, below, columns, policy, at, row);
    };
    auto ahead = stream_from(begins, 0);
    ahead.ask();
    for (int step = 0; step < shape::STAGES - 1 && step < steps; step++)
        ahead.bring_panel_ahead(shared + step * STAGE);
    int32_t row = ahead.row;
    auto bring_first = [&] {
        auto first = stream_from(begins, row);
        tasks_cursor<BACKWARD> at = begins;
        for (int step = 0; step < shape::STAGES - 1; step++) {
            if (step < steps)
                first.bring_vectors_after(shared + step * STAGE, at, await);
            commit_copies();
        }
        row = first.row;
    };
    const bool there = owed();
    if (there)
        bring_first();
    begin(sums);
    if (!there) {
        ready();
        bring_first();
    }
    const tasks_lane<Kind, C, BACKWARD> lane(tile.height);
    constexpr unsigned LAST = (shape::STAGES - 1) * STAGE;
    auto multiply = [&](auto sums_of) {
        auto rest = stream_from(ahead.cursor, row);
        unsigned at = shared; /* the stage */
        for (int more = steps; more > 0; more--) {
            wait_for_copies<shape::STAGES - 2>();
            __syncthreads(); /* the stage is there; the one before, which is brought next, has been read by all */
            if (more >= shape::STAGES)
                rest.bring(at == shared ? at + LAST : at - STAGE, await);
            commit_copies();
            constexpr int MOST = shape::EIGHTS / 2, HALF = MOST / 2;
            constexpr tasks_sums SUMS = decltype(sums_of)::value;
            if (active > (shape::AHEAD ? HALF : 0))
                lane.template multiply_warp<SUMS, MOST, shape::AHEAD>(at, active, sums);
            else if (shape::AHEAD && active > 0)
                lane.template multiply_warp<SUMS, HALF, true>(at, active, sums);
            at = at == shared + LAST ? shared : at + STAGE;
        }
    };
    /* The same for one chain and a warp all of whose rows are active. While one half of a stage is multiplied with the
     * next one is read, across the barrier, too: each stands behind the last reads of a stage, not its products. The
     * next stage is asked for when most of these are on their way. (The lane is an argument, so that this is compiled
     * only where it is called.) */
    auto multiply_halves = [&](auto lane) {
        typedef decltype(lane) lane_of;
        constexpr int ALL = lane_of::PRODUCTS, MOST = ALL * 3 / 4;
        auto rest = stream_from(ahead.cursor, row);
        typename lane_of::operands first, second;
        unsigned at = shared;
        wait_for_copies<shape::STAGES - 2>();
        __syncthreads(); /* the first stage is there */
        if (steps >= shape::STAGES)
            rest.bring(shared + LAST, await);
        commit_copies();
        lane.template read_half<0>(at, first);
        for (int more = steps - 1;; more--) {
            lane.template read_half<1>(at, second);
            lane_of::template multiply_half<0, ALL>(first, sums);
            if (more == 0)
                break;
            const unsigned before = at;
            at = at == shared + LAST ? shared : at + STAGE;
            wait_for_copies<shape::STAGES - 2>();
            __syncthreads(); /* the stage is there; the one before, whose place is next, has been read by all */
            lane.template read_half<0>(at, first);
            lane_of::template multiply_half<0, MOST>(second, sums);
            if (more >= shape::STAGES)
                rest.bring(before, await);
            commit_copies();
            lane_of::template multiply_half<MOST, ALL>(second, sums);
        }
        lane_of::template multiply_half<0, ALL>(second, sums);
    };
    if constexpr (shape::HALVES)
        if (tile.node.well_conditioned && active == shape::EIGHTS / 2 && steps > 0) {
            multiply_halves(lane);
            return;
        }
    if (shape::CHAINS && tile.node.well_conditioned)
        multiply(std::integral_constant<tasks_sums, ONE_CHAIN>());
    else
        multiply(std::integral_constant<tasks_sums, BY_THEMSELVES>());
}

} // namespace gsv
#endif
