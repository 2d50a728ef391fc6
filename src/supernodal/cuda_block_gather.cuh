/*
 * The assembly of fronts for a block of right-hand sides (cuda_block_stream.cuh): what the warps of a block that
 * gather leave in a piece's slot for those that multiply.
 */
#ifndef GSV_CUDA_BLOCK_GATHER_CUH
#define GSV_CUDA_BLOCK_GATHER_CUH

#include "cuda_block_front.cuh"

namespace gsv {

/* List b of a piece, at most 64 rows: calls keep(row, sum) for each of 64 rows with what it is owed, and, before
 * `columns`, with the right-hand side, from y on. Of more rows than there are the sums are zeros. */
template <int NR, typename Keep>
__device__ __forceinline__ void gather_owed(const block_gather<NR> &block, const block_slot<NR> &slot,
                                            const double *y, int columns, Keep keep) {
    typedef block_gather<NR> shape;
    constexpr int OWN = GSV_TILE * GSV_GROUPS / shape::STEP;
    const gsv_piece &p = slot.piece();
    const int pair = shape::thread::pair(), mine = shape::thread::own();
    const owed_rows b = slot.owed(block.plan, true);
    const int rows = p.b_rows;
    const uint32_t start = b.ptr[0];
    const owed_entries owed = {b.gather + start, 0, 0, int(b.ptr[rows] - start)};
    auto entries_of = [&](int row) -> row_entries {
        return row < rows ? b.of(row, start) : row_entries{0, 0};
    };
    double sum[OWN][2];
    row_entries of[OWN];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const int row = mine + k * shape::STEP;
        sum[k][0] = sum[k][1] = 0;
        if (shape::AHEAD)
            of[k] = entries_of(row);
        if (row < rows && row < columns)
            load_pair(y + int64_t(row) * NR + pair, sum[k]);
    }
    for (int staged = 0; staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < OWN; k++)
            block.add_staged(sum[k], shape::AHEAD ? of[k] : entries_of(mine + k * shape::STEP), staged);
    }
#pragma unroll
    for (int k = 0; k < OWN; k++)
        keep(mine + k * shape::STEP, sum[k]);
}

/* The rows that each task assembles: those that it multiplies with, of a triangle of few columns, and those
 * that its results are added to. */
template <int NR>
__device__ __forceinline__ void gather_folded(const block_gather<NR> &block, const block_slot<NR> &slot,
                                              const double *y) {
    typedef block_gather<NR> shape;
    constexpr int EACH = (GSV_FOLDED + shape::STEP - 1) / shape::STEP,
                  OWN = GSV_TILE * GSV_GROUPS / shape::STEP;
    const gsv_piece &p = slot.piece();
    const block_runs runs(p);
    const int pair = shape::thread::pair(), mine = shape::thread::own();
    const int count = p.count, above = p.nc - GSV_TILE * p.place, own_rows = GSV_TILE * p.groups;
    const bool b_now = p.flags & GSV_PIECE_FIRST;
    const int b_rows = p.b_rows, b_least = b_now ? max(0, min(above, b_rows)) : 0;
    const owed_rows a = slot.owed(block.plan, false), b = slot.owed(block.plan, true);
    double *front = slot.front(slot.numbers(p, false)), *own = slot.own(front, p);
    const double *own_y = y + int64_t(p.first_column + p.first) * NR + pair;
    const uint32_t a_start = a.ptr[0], b_start = b_now ? b.ptr[b_least] : 0;
    const int of_a = int(a.ptr[count] - a_start);
    const uint32_t *first = a.gather + a_start;
    const owed_entries owed = {first, b_now ? uint32_t(b.gather + b_start - first) - uint32_t(of_a) : 0, of_a,
                               of_a + (b_now ? int(b.ptr[b_rows] - b_start) : 0)};
    auto entries_of = [&](int row) -> row_entries {
        return row < count ? a.of(row, a_start) : row_entries{0, 0};
    };
    double right[EACH][2];
    row_entries of[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int row = mine + k * shape::STEP;
        right[k][0] = right[k][1] = 0;
        if (shape::AHEAD)
            of[k] = entries_of(row);
        if (row < count)
            load_pair(own_y + int64_t(row) * NR, right[k]);
    }
    for (int staged = 0; staged == 0 || staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            block.add_staged(right[k], shape::AHEAD ? of[k] : entries_of(mine + k * shape::STEP), staged);
        if (b_now)
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const int row = mine + k * shape::STEP;
                double sum[2] = {0, 0};
                double *to = own + front_place<NR>(row, pair);
                if (row < own_rows) {
                    if (staged > 0)
                        load_pair(to, sum);
                    if (row >= b_least && row < b_rows)
                        block.add_staged(
                            sum, {int(b.ptr[row] - b_start) + of_a, int(b.ptr[row + 1] - b_start) + of_a},
                            staged);
                    store_pair(to, sum[0], sum[1]);
                }
            }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (mine + k * shape::STEP < count)
            store_pair(front + front_place<NR>(runs.place(mine + k * shape::STEP), pair), right[k][0],
                       right[k][1]);
}

/* Of a triangle of many columns some tasks assemble the rows, and publish them; every other task reads them there. */
template <int NR>
__device__ __forceinline__ void gather_front(const block_gather<NR> &block, const block_slot<NR> &slot,
                                             const double *y, double *published) {
    const gsv_piece &p = slot.piece();
    if (!(p.flags & GSV_PIECE_PUBLISHES))
        return;
    double *f = published + (int64_t(p.published) + p.b_first) * NR + block_gather<NR>::thread::pair();
    gather_owed<NR>(block, slot, y + int64_t(p.first_column + p.b_first) * NR, p.b_rows,
                    [&](int row, const double(&sum)[2]) {
                        if (row < p.b_rows)
                            publish_pair(f + int64_t(row) * NR, sum[0], sum[1]);
                    });
}

/* What such a task multiplies with, and what its results are added to: for the rows below the triangle, and those of a
 * part that is not the first one. */
template <int NR>
__device__ __forceinline__ void gather_published(const block_gather<NR> &block, const block_slot<NR> &slot,
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
        gather_owed<NR>(block, slot, y + int64_t(p.first_column + p.b_first) * NR, p.nc - p.b_first,
                        [&](int row, const double(&sum)[2]) {
                            if (row < GSV_TILE * p.groups - above)
                                store_pair(own + front_place<NR>(above + row, thread::pair()), sum[0],
                                           sum[1]);
                        });
        for (int row = thread::own(); row < above; row += thread::STEP)
            store_pair(own + front_place<NR>(row, thread::pair()), 0, 0);
    }
    reader.finish(from, p.count, block_runs(p), front, block.state);
}

/* A narrow supernode, forward: all its rows. front: in the slot of its last piece. */
template <int NR>
__device__ __forceinline__ void gather_narrow(const block_gather<NR> &block, const block_slot<NR> &slot,
                                              double *front, const double *y) {
    typedef block_gather<NR> shape;
    constexpr int OWN = (GSV_NARROW_COLUMNS + shape::STEP - 1) / shape::STEP;
    const gsv_piece &p = slot.piece();
    const int pair = shape::thread::pair(), mine = shape::thread::own(), nr = p.nr, nc = p.nc;
    const double *own_y = y + int64_t(p.first_column) * NR + pair;
    const owed_rows b = slot.owed(block.plan, true);
    const uint32_t b_start = b.ptr[0];
    const owed_entries owed = {b.gather + b_start, 0, 0, int(b.ptr[nr] - b_start)};
    double right[OWN][2];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        right[k][0] = right[k][1] = 0;
        if (mine + k * shape::STEP < nc)
            load_pair(own_y + int64_t(mine + k * shape::STEP) * NR, right[k]);
    }
    auto add = [&](int row, double(&sum)[2], int staged) {
        double *to = front + front_place<NR>(row, pair);
        if (staged > 0)
            load_pair(to, sum);
        block.add_staged(sum, b.of(row, b_start), staged);
        store_pair(to, sum[0], sum[1]);
    };
    for (int staged = 0; staged == 0 || staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (mine + k * shape::STEP < nr)
                add(mine + k * shape::STEP, right[k], staged);
#pragma unroll 2
        for (int row = mine + OWN * shape::STEP; row < nr; row += shape::STEP) {
            double sum[2] = {0, 0};
            add(row, sum, staged);
        }
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
