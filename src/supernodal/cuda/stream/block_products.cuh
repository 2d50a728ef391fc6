/*
 * The products of pieces for a block of right-hand sides (cuda/stream/block.cuh), by the warps of a block that
 * multiply. A task of a wide supernode has one, two or four groups of sixteen rows or columns (stream.h), and
 * four warps; so each group has 4 / groups warps, its splits, each with a share of the terms.
 *
 * Fragments of mma.m16n8k8, lane (g, q) = (lane / 4, lane mod 4): the sum has "rows" g and g + 8 and
 * right-hand sides 8 n + 2 q and one more. Which rows those are is for each product to say.
 */
#ifndef GSV_CUDA_STREAM_BLOCK_PRODUCTS_CUH
#define GSV_CUDA_STREAM_BLOCK_PRODUCTS_CUH

#include "block_front.cuh"

namespace gsv {

/* What a warp keeps from piece to piece, and where it stands. */
template <int NR> struct block_product {
    static const int N = NR / 8, PARTIAL = NR + 2; /* distance of rows of partial sums */
    gsv_stream_state *state;
    unsigned thread; /* threadIdx.x in a register of its own: it is read in every loop */
    double acc[N][4];

    __device__ __forceinline__ int warp() const {
        return int(thread / 32);
    }
    __device__ __forceinline__ int g() const {
        return int(thread % 32 / 4);
    }
    __device__ __forceinline__ int q() const {
        return int(thread % 4);
    }
    /* The first right-hand side of this lane's results. */
    __device__ __forceinline__ int column() const {
        return 2 * q();
    }
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
    }
    /* Add a sum of sixteen terms: summed by themselves they lose less than in one chain of all terms (test_condition.c). */
    __device__ __forceinline__ void add(int n, const double (&sum)[4]) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            acc[n][e] += sum[e];
    }
    /* Give a forward piece's slot back. split: this warp's; all but split 0 have left their sums there. */
    __device__ __forceinline__ void release(uint64_t *empty, int split) const {
        if (split > 0)
            before_copies();
        arrive_warp(empty);
    }
    /* Sums of the splits of a group of rows: those of split 0 get the others' in ascending order. partial: the
     * front, which has been used for the last time. */
    __device__ __forceinline__ void combine(double *partial, int groups) {
        const int warp = this->warp();
        double *mine = partial + g() * PARTIAL + column();
        multipliers_meet(); /* everybody has read the front */
        if (warp >= groups)
#pragma unroll
            for (int n = 0; n < N; n++) {
                store_pair(mine + warp * 16 * PARTIAL + 8 * n, acc[n][0], acc[n][1]);
                store_pair(mine + (warp * 16 + 8) * PARTIAL + 8 * n, acc[n][2], acc[n][3]);
                acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
            }
        multipliers_meet(); /* the sums of all splits are there */
        if (warp < groups)
            for (int w = warp + groups; w < 4; w += groups)
#pragma unroll
                for (int n = 0; n < N; n++)
#pragma unroll
                    for (int m = 0; m < 2; m++) {
                        double other[2];
                        load_pair(mine + (w * 16 + 8 * m) * PARTIAL + 8 * n, other);
                        acc[n][2 * m] += other[0];
                        acc[n][2 * m + 1] += other[1];
                    }
    }
};

/* -------------------------------------------------------------------------------------------- forward --- */

/*
 * acc += the product of some columns of a block row, those of a piece before column `last`, with a front. The columns are
 * begin .. stop - 1 of each of the four runs: one column of each run makes four terms. panel: the lane's run of this block row.
 */
template <int NR, typename P>
__device__ __forceinline__ void multiply_row(block_product<NR> &block, const P *panel, const double *front,
                                             const forward_runs<NR> &runs, int begin, int stop, int last) {
    constexpr int N = NR / 8;
    const int g = block.g(), q = block.q();
    const P *at = panel + GSV_TILE * begin + 2 * g;
    const double *v[N]; /* rows four apart stand alike */
#pragma unroll
    for (int n = 0; n < N; n++)
        v[n] = front + begin * 4 * NR + front_place<NR>(q, 8 * n + g);
    auto multiply = [&](auto is_there) {
        double2 a[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            a[k] = is_there(k) ? load_two(at + GSV_TILE * k) : make_double2(0, 0);
#pragma unroll
        for (int n = 0; n < N; n++) {
            double x[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[k] = is_there(k) ? v[n][4 * k * NR] : 0;
            double sum[4] = {0, 0, 0, 0};
            mma_warp(sum, {a[0].x, a[1].x, a[2].x, a[3].x}, {a[0].y, a[1].y, a[2].y, a[3].y}, x);
            block.add(n, sum);
            v[n] += 16 * NR;
        }
        at += 4 * GSV_TILE;
    };
    int left = stop - begin;
    if (last >= 4 * runs.length)
#pragma unroll 3
        for (; left >= 4; left -= 4)
            multiply([](int) { return true; });
    const int behind = last - (q * runs.length + stop);
#pragma unroll 1
    for (; left > 0; left -= 4)
        multiply([&](int k) { return k < left && k - left < behind; });
}

/* The rows that a task's results are added to. */
template <int NR> __device__ __forceinline__ void add_to_own(block_product<NR> &block, const double *own) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < NR / 8; n++)
            load_pair(own + front_place<NR>(2 * block.g() + m, 8 * n + block.column()), &block.acc[n][2 * m]);
}

/* Where a group's results go: rows top .. top + 15 of the front, before nc to x, then to u. */
struct forward_results {
    double *x, *u; /* of the supernode */
    int top, nr, nc;
};

template <int NR>
__device__ __forceinline__ void store_results(const block_product<NR> &block, const forward_results &to) {
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int i = to.top + 2 * block.g() + m;
#pragma unroll
        for (int n = 0; n < NR / 8; n++) {
            const int c = 8 * n + block.column();
            if (i < to.nc)
                publish_pair(&to.x[int64_t(i) * NR + c], block.acc[n][2 * m], block.acc[n][2 * m + 1]);
            else if (i < to.nr)
                publish_pair(&to.u[int64_t(i - to.nc) * NR + c], block.acc[n][2 * m],
                             block.acc[n][2 * m + 1]);
        }
    }
}

/* The end of the last of the tasks that share rows: it adds up the sums of all, its own too, in ascending order. sums:
 * this lane's, `step` numbers from one task's to the next's. */
template <int NR>
__device__ __forceinline__ void collect(block_product<NR> &block, const double *sums, int shares, int step) {
    constexpr int N = NR / 8, EACH = 2 / N; /* more would cost registers in every loop */
    block.clear();
    for (int share = 0; share < shares; share += EACH) {
        double term[EACH][N][2][2];
        auto each = [&](auto visit) {
#pragma unroll
            for (int k = 0; k < EACH; k++)
#pragma unroll
                for (int n = 0; n < N; n++)
#pragma unroll
                    for (int m = 0; m < 2; m++)
                        if (share + k < shares)
                            visit(term[k][n][m], sums + int64_t(share + k) * step + m * NR + 8 * n,
                                  &block.acc[n][2 * m]);
        };
        each([](double(&value)[2], const double *from, double *) { load_relaxed16(from, value); });
        poll(
            [&]() {
                bool any = false;
                each([&](double(&value)[2], const double *, double *) { any |= is_absent(value); });
                return any;
            },
            [&](bool stop) {
                each([&](double(&value)[2], const double *from, double *) {
                    if (!is_absent(value))
                        return;
                    if (stop)
                        value[0] = value[1] = not_a_number<double>();
                    else
                        load_relaxed16(from, value);
                });
            },
            block.state);
        each([](double(&value)[2], const double *, double *sum) {
            sum[0] += value[0];
            sum[1] += value[1];
        });
    }
}

/* The warps of a block among its block rows: which one this warp has part of, and which part. */
struct group_split {
    int groups, splits, group, split;
    __device__ __forceinline__ group_split(int groups, int warp)
        : groups(groups), splits(4 >> groups / 2), group(warp & (groups - 1)), split(warp >> groups / 2) {}
};

/* Columns of each run. */
__device__ __forceinline__ int columns_of_split(int length, const group_split &my) {
    return (((length + my.splits - 1) >> (2 - my.groups / 2)) + 3) / 4 * 4;
}

/* After the last piece of a task. It reads anew what it needs of the piece: no register is kept for it before. */
template <int NR, typename Slot>
__device__ __forceinline__ void end_rows_forward(block_product<NR> &block, const Slot &slot, uint64_t *empty,
                                                 double *x, double *u, double *published) {
    asm volatile("" : "+r"(block.thread)::"memory");
    const gsv_piece &p = slot.piece();
    const group_split my(p.groups, block.warp());
    if (my.splits > 1)
        block.combine(slot.front(slot.numbers(p, false)), my.groups);
    const int top = GSV_TILE * (p.place + my.group), nr = p.nr, nc = p.nc;
    const forward_results to = {x + int64_t(p.first_column) * NR, u + int64_t(p.update) * NR, top, nr, nc};
    const bool shared = p.flags & GSV_PIECE_PUBLISHED && p.shares > 1; /* with other tasks */
    const int share = p.share, shares = p.shares, step = GSV_TILE * my.groups * NR;
    const int64_t row = int64_t(uint32_t(p.numbers)) + GSV_TILE * my.group + 2 * block.g();
    block.release(empty, my.split);
    if (my.split > 0)
        return;
    if (shared) {
        double *sums = published + row * NR + block.column();
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < NR / 8; n++)
                publish_pair(sums + share * step + m * NR + 8 * n, block.acc[n][2 * m],
                             block.acc[n][2 * m + 1]);
        if (share < shares - 1)
            return;
        collect<NR>(block, sums, shares, step);
    }
    store_results<NR>(block, to);
}

/*
 * Columns of the block rows of a wide supernode. Fragments: rows g and g + 8 are rows 2 g and 2 g + 1 of the
 * tile, which one load of 16 bytes brings.
 */
template <int NR, typename Slot>
__device__ __forceinline__ void rows_forward(block_product<NR> &block, const Slot &slot, uint64_t *empty,
                                             double *x, double *u, double *published) {
    const gsv_piece &p = slot.piece();
    const int count = p.count;
    const group_split my(p.groups, block.warp());
    const forward_runs<NR> runs(p);
    const double *front = slot.front(slot.numbers(p, false));
    if (p.flags & GSV_PIECE_FIRST) {
        block.clear();
        if (my.split == 0 && p.b_rows > 0)
            add_to_own<NR>(block, front + ((count + 7) / 8 * 8 + GSV_TILE * my.group) * NR);
    }
    const int begin = my.split * columns_of_split(runs.length, my);
    const int top = GSV_TILE * (p.place + my.group),
              live = top < p.nr ? min(min(p.nc, top + GSV_TILE) - p.first, count) : 0;
    multiply_row<NR>(block, slot.panel() + runs.start(block.q(), my.group), front, runs, begin,
                     min(begin + columns_of_split(runs.length, my), live > 0 ? runs.length : 0), live);
    if (p.flags & GSV_PIECE_LAST)
        end_rows_forward<NR>(block, slot, empty, x, u, published);
    else
        arrive_warp(empty);
}

/* Where the columns of a narrow supernode are, in one slot or two: entry (i, j) is at base(j) + i. */
template <typename P> struct narrow_panel {
    const P *low, *high;
    int nr, nc, second; /* column that the second piece begins with */

    __device__ __forceinline__ double at(int i, int j) const {
        if (j >= nc || i < j || i >= nr)
            return 0;
        return (j < second ? low : high)[gsv_narrow_column(nr, j) + i];
    }
};

/* A narrow supernode: sixty-four rows at a time, sixteen a warp. Fragments: rows 2 g and 2 g + 1. */
template <int NR, typename P>
__device__ __forceinline__ void narrow_forward(block_product<NR> &block, const gsv_piece &p,
                                               const narrow_panel<P> &panel, const double *front, double *x,
                                               double *u) {
    constexpr int N = NR / 8;
    double(&acc)[N][4] = block.acc;
    const int g = block.g(), q = block.q();
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc;
    double *own_x = x + int64_t(p.first_column) * NR, *own_u = u + int64_t(p.update) * NR;
    for (int top = 16 * block.warp(); top < nr; top += 64) {
        const int i = top + 2 * g, stop = nc < top + 16 ? nc : top + 16;
        block.clear();
#pragma unroll
        for (int m = 0; m < 2; m++)
            if (i + m >= nc && i + m < nr)
#pragma unroll
                for (int n = 0; n < N; n++)
                    load_pair(front + front_place<NR>(i + m, 8 * n + column), &acc[n][2 * m]);
        for (int k = 0; k < stop; k += 8) {
            const double a[4] = {panel.at(i, k + q), panel.at(i + 1, k + q), panel.at(i, k + q + 4),
                                 panel.at(i + 1, k + q + 4)};
            const double *v = front + k * NR;
#pragma unroll
            for (int n = 0; n < N; n++)
                mma_warp(acc[n], a[0], a[1], a[2], a[3], k + q < stop ? v[front_place<NR>(q, 8 * n + g)] : 0,
                         k + q + 4 < stop ? v[front_place<NR>(q + 4, 8 * n + g)] : 0);
        }
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < N; n++)
                if (i + m < nc)
                    store_pair(&own_x[int64_t(i + m) * NR + 8 * n + column], acc[n][2 * m],
                               acc[n][2 * m + 1]);
                else if (i + m < nr)
                    publish_pair(&own_u[int64_t(i + m - nc) * NR + 8 * n + column], acc[n][2 * m],
                                 acc[n][2 * m + 1]);
    }
}

/* ------------------------------------------------------------------------------------------- backward --- */

/*
 * Block rows of groups of sixteen columns of a wide supernode, from the last up. Fragments: rows g and g + 8
 * are columns g and g + 8 of the tile, and the terms q and q + 4 of eight are its rows 2 q and 2 q + 1, which
 * one load of 16 bytes brings. Lanes of odd g read the other half of a tile's column first, against bank
 * conflicts.
 */
template <int NR, typename Slot>
__device__ __forceinline__ void columns_backward(block_product<NR> &block, const Slot &slot, uint64_t *empty,
                                                 double *y, double *z) {
    constexpr int N = NR / 8;
    double(&acc)[N][4] = block.acc;
    const gsv_piece &p = slot.piece();
    const int warp = block.warp(), g = block.g(), q = block.q();
    const int column = block.column(); /* of this lane's results */
    const int nc = p.nc, groups = p.groups, fold = groups / 2, splits = 4 >> fold;
    const int group = p.place + (warp & (groups - 1)), split = warp >> fold;
    double *front = slot.front(slot.numbers(p, true));
    if (p.flags & GSV_PIECE_FIRST)
        block.clear();
    for (int t = p.count - 1 - split; t >= 0 && p.first + t >= group; t -= splits) {
        const auto *tile = slot.panel() + (t * groups + group - p.place) * 256 + 16 * g + 2 * q;
        const double *v = front + GSV_TILE * t * NR;
        const int other = g % 2 * 8;
        const double2 a0 = load_two(tile + other), a1 = load_two(tile + (8 - other));
        const double2 b0 = load_two(tile + 128 + other), b1 = load_two(tile + 128 + (8 - other));
        const double2 low[2] = {other ? a1 : a0, other ? a0 : a1};
        const double2 high[2] = {other ? b1 : b0, other ? b0 : b1};
        double sum[N][4] = {};
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < N; n++) /* rows 2 q and 2 q + 1 stand at q and q + 4 (backward_row) */
                mma_warp(sum[n], low[h].x, high[h].x, low[h].y, high[h].y,
                         v[8 * h * NR + front_place<NR>(q, 8 * n + g)],
                         v[(8 * h + 4) * NR + front_place<NR>(q, 8 * n + g)]);
#pragma unroll
        for (int n = 0; n < N; n++)
            block.add(n, sum[n]);
    }
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column, place = p.published;
    if (last && splits > 1)
        block.combine(front, groups);
    arrive_warp(empty);
    if (!last || split > 0)
        return;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int j = 16 * group + g + 8 * m;
        if (j < nc)
#pragma unroll
            for (int n = 0; n < N; n++) {
                publish_pair(&z[(place + j) * NR + 8 * n + column], acc[n][2 * m], acc[n][2 * m + 1]);
                store_pair(&y[(first_column + j) * NR + 8 * n + column], acc[n][2 * m], acc[n][2 * m + 1]);
            }
    }
}

/* A narrow supernode: sixteen rows of sixty-four a warp, and then the four sums. Fragments: rows g and g + 8 are
 * columns, terms are rows as above. partial: the slot's panel and front, when all have read them. */
template <int NR, typename P>
__device__ __forceinline__ void narrow_backward(block_product<NR> &block, const gsv_piece &p,
                                                const narrow_panel<P> &panel, const double *front,
                                                double *partial, double *y, double *z) {
    constexpr int N = NR / 8, PARTIAL = block_product<NR>::PARTIAL;
    const int warp = block.warp(), g = block.g(), q = block.q();
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc;
    double acc[2][N][4];
#pragma unroll
    for (int e = 0; e < 2 * N * 4; e++)
        (&acc[0][0][0])[e] = 0;
    for (int top = 16 * warp; top < nr; top += 64) {
        const double *v = front + top * NR;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = top + 8 * h + 2 * q;
#pragma unroll
            for (int group = 0; group < 2; group++) {
                const int j = 16 * group + g;
                if (16 * group < nc) {
                    const double a[4] = {panel.at(i, j), panel.at(i, j + 8), panel.at(i + 1, j),
                                         panel.at(i + 1, j + 8)};
#pragma unroll
                    for (int n = 0; n < N; n++)
                        mma_warp(acc[group][n], a[0], a[1], a[2], a[3],
                                 v[8 * h * NR + front_place<NR>(q, 8 * n + g)],
                                 v[(8 * h + 4) * NR + front_place<NR>(q, 8 * n + g)]);
                }
            }
        }
    }
    multipliers_meet(); /* everybody has read the panel and the front */
#pragma unroll
    for (int group = 0; group < 2; group++)
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < N; n++)
                store_pair(&partial[(warp * 32 + 16 * group + 8 * m + g) * PARTIAL + 8 * n + column],
                           acc[group][n][2 * m], acc[group][n][2 * m + 1]);
    multipliers_meet(); /* the four sums are there */
    const int64_t first_column = p.first_column, place = p.published;
    for (int e = int(block.thread); e < nc * NR / 2; e += block_room<NR, true>::THREADS) {
        const int j = e / (NR / 2), c = e % (NR / 2) * 2;
        double sum[2] = {0, 0};
#pragma unroll
        for (int w = 0; w < 4; w++) {
            double term[2];
            load_pair(&partial[(w * 32 + j) * PARTIAL + c], term);
            sum[0] += term[0];
            sum[1] += term[1];
        }
        publish_pair(&z[(place + j) * NR + c], sum[0], sum[1]);
        store_pair(&y[(first_column + j) * NR + c], sum[0], sum[1]);
    }
}

} // namespace gsv
#endif
