/*
 * The assembly of fronts for a block of right-hand sides (cuda/stream/block.cuh): what the warps of a block that
 * gather leave in a piece's slot for those that multiply.
 */
#ifndef GSV_CUDA_STREAM_BLOCK_GATHER_CUH
#define GSV_CUDA_STREAM_BLOCK_GATHER_CUH

#include "block_front.cuh"

namespace gsv {

/* List b of a piece, at most 64 rows: calls keep(row, sum) for each of 64 rows with what it is owed, and, before
 * `columns`, with the right-hand side, from y on. The sums of rows that do not exist are zeros. */
template <int NR, typename Slot, typename Keep>
__device__ __forceinline__ void gather_owed(const block_gather<NR> &block, const Slot &slot, const double *y,
                                            int columns, Keep keep) {
    typedef block_gather<NR> shape;
    constexpr int OWN = GSV_TILE * GSV_GROUPS / shape::STEP;
    const gsv_piece &p = slot.piece();
    const int pair = shape::thread::pair(), mine = shape::thread::own();
    const owed_rows b = slot.owed(block.plan, true);
    const int rows = p.b_rows;
    double sum[OWN][2];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const int row = mine + k * shape::STEP;
        sum[k][0] = sum[k][1] = 0;
        if (row < rows && row < columns)
            load_pair(y + int64_t(row) * NR + pair, sum[k]);
    }
    block.template add_owed<OWN, 2 / OWN>(
        [&](int k) {
            const int row = mine + k * shape::STEP;
            return row < rows ? b.of(row) : owed_row{nullptr, 0};
        },
        sum);
#pragma unroll
    for (int k = 0; k < OWN; k++)
        keep(mine + k * shape::STEP, sum[k]);
}

/* The rows that each task assembles: those that it multiplies with, of a triangle of few columns, with the pieces of
 * its first block rows, and those that its results are added to. */
template <int NR, typename Slot>
__device__ __forceinline__ void gather_folded(const block_gather<NR> &block, const Slot &slot,
                                              const double *y) {
    typedef block_gather<NR> shape;
    const gsv_piece &p = slot.piece();
    const forward_runs<NR> runs(p);
    const int pair = shape::thread::pair();
    const int count = p.a_rows, above = p.nc - GSV_TILE * p.place;
    const bool b_now = p.flags & GSV_PIECE_FIRST;
    const int b_rows = b_now ? p.b_rows : 0, b_least = max(0, min(above, b_rows));
    const int own_rows = b_now ? GSV_TILE * p.groups : 0, all = max(count, own_rows);
    const owed_rows a = slot.owed(block.plan, false), b = slot.owed(block.plan, true);
    double *front = slot.front(slot.numbers(p, false)), *own = slot.own(front, p);
    const double *own_y = y + int64_t(p.first_column + p.first) * NR + pair;
#pragma unroll 1
    for (int row = shape::thread::own(); row < all; row += shape::STEP) {
        double sum[2][2] = {{0, 0}, {0, 0}};
        if (row < count)
            load_pair(own_y + int64_t(row) * NR, sum[0]);
        block.template add_owed<2, 2>(
            [&](int k) {
                const bool is_owed = k == 0 ? row < count : row >= b_least && row < b_rows;
                return is_owed ? (k == 0 ? a : b).of(row) : owed_row{nullptr, 0};
            },
            sum);
        if (row < count)
            store_pair(front + front_place<NR>(runs.place(row), pair), sum[0][0], sum[0][1]);
        if (row < own_rows)
            store_pair(own + front_place<NR>(row, pair), sum[1][0], sum[1][1]);
    }
}

/* The front of the piece before, whose slot is `old`, of the same columns: so it stands alike, and each thread copies
 * what it wrote itself. */
template <int NR, typename Slot>
__device__ __forceinline__ void copy_front(const Slot &old, const Slot &slot) {
    typedef gather_thread<NR, false> thread;
    const gsv_piece &p = slot.piece();
    const forward_runs<NR> runs(p);
    const int numbers = slot.numbers(p, false);
    double *to = slot.front(numbers);
    const double *from = old.front(numbers);
#pragma unroll 1
    for (int row = thread::own(); row < p.count; row += thread::STEP) {
        const int at = front_place<NR>(runs.place(row), thread::pair());
        double value[2];
        load_pair(from + at, value);
        store_pair(to + at, value[0], value[1]);
    }
}

/* The rows of a triangle of many columns: some tasks assemble and publish them, and every other task reads them there. */
template <int NR, typename Slot>
__device__ __forceinline__ void gather_front(const block_gather<NR> &block, const Slot &slot, const double *y,
                                             double *published) {
    const gsv_piece &p = slot.piece();
    double *f = published + (int64_t(p.published) + p.b_first) * NR + block_gather<NR>::thread::pair();
    gather_owed<NR>(block, slot, y + int64_t(p.first_column + p.b_first) * NR, p.b_rows,
                    [&](int row, const double(&sum)[2]) {
                        if (row < p.b_rows)
                            publish_pair(f + int64_t(row) * NR, sum[0], sum[1]);
                    });
}

/* What such a task multiplies with, and what its results are added to, for the rows below the triangle. */
template <int NR, typename Slot>
__device__ __forceinline__ void gather_published(const block_gather<NR> &block, const Slot &slot,
                                                 const double *y, const double *published) {
    typedef gather_thread<NR, false> thread;
    const gsv_piece &p = slot.piece();
    double *front = slot.front(slot.numbers(p, false));
    published_rows_reader<NR> reader;
    const double *from = published + (int64_t(p.published) + p.first) * NR;
    reader.request(from, p.count);
    if (p.b_rows > 0) { /* the first piece's */
        double *own = slot.own(front, p);
        const int above = p.b_first - GSV_TILE * p.place;
        /* none of these rows is before nc; but what the compiler knows of that costs it registers */
        gather_owed<NR>(block, slot, y + int64_t(p.first_column + p.b_first) * NR, p.nc - p.b_first,
                        [&](int row, const double(&sum)[2]) {
                            if (row < GSV_TILE * p.groups - above)
                                store_pair(own + front_place<NR>(above + row, thread::pair()), sum[0],
                                           sum[1]);
                        });
        for (int row = thread::own(); row < above; row += thread::STEP)
            store_pair(own + front_place<NR>(row, thread::pair()), 0, 0);
    }
    reader.finish(from, p.count, forward_runs<NR>(p), front, block.state);
}

/* A narrow supernode, forward: all its rows. front: in the slot of its last piece. */
template <int NR, typename Slot>
__device__ __forceinline__ void gather_narrow(const block_gather<NR> &block, const Slot &slot, double *front,
                                              const double *y) {
    typedef block_gather<NR> shape;
    constexpr int ROWS = 2;
    const gsv_piece &p = slot.piece();
    const int pair = shape::thread::pair(), nr = p.nr, nc = p.nc;
    const double *own_y = y + int64_t(p.first_column) * NR + pair;
    const owed_rows b = slot.owed(block.plan, true);
#pragma unroll 1
    for (int first = shape::thread::own(); first < nr; first += ROWS * shape::STEP) {
        double sum[ROWS][2];
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const int row = first + k * shape::STEP;
            sum[k][0] = sum[k][1] = 0;
            if (row < nc)
                load_pair(own_y + int64_t(row) * NR, sum[k]);
        }
        block.template add_owed<ROWS, 2>(
            [&](int k) {
                const int row = first + k * shape::STEP;
                return row < nr ? b.of(row) : owed_row{nullptr, 0};
            },
            sum);
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            if (first + k * shape::STEP < nr)
                store_pair(front + front_place<NR>(first + k * shape::STEP, pair), sum[k][0], sum[k][1]);
    }
}

/*
 * Backward: `count` rows of a front, of which the first `own` are in x, from own_x on, and the
 * others before `live` in z, where `rows` says, as soon as they are there; the rest are zeros.
 */
template <int NR>
__device__ __forceinline__ void gather_solution(gsv_stream_state *state, int count, int live, int own,
                                                const int32_t *rows, const double *own_x, const double *z,
                                                double *front) {
    typedef gather_thread<NR, true> thread;
    constexpr int STEP = thread::STEP, EACH = 160 / STEP;
    static_assert(STEP % 8 == 0, "rows a step apart stand alike");
    own_x += thread::pair();
    z += thread::pair();
    live = live < count ? live : count;
    for (int first = thread::own(); first - thread::own() < count; first += EACH * STEP) {
        double value[EACH][2];
        auto at = [&](int q) {
            const int row = first + q * STEP;
            return row < own ? own_x + int64_t(row) * NR : z + int64_t(rows[row]) * NR;
        };
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q][0] = value[q][1] = 0;
            if (first + q * STEP < live)
                load_relaxed16(at(q), value[q]);
        }
        /* what was not asked for is zero */
        poll_pairs(
            value, [&](int q) { return is_absent(value[q]) && first + q * STEP >= own; }, at, state);
        double *to = front + front_place<NR>(backward_row(first), thread::pair());
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (first + q * STEP < count)
                store_pair(to + q * STEP * NR, value[q][0], value[q][1]);
    }
}

} // namespace gsv
#endif
