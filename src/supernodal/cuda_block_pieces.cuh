/*
 * The work on each kind of piece for a block of right-hand sides (cuda_block_stream.cuh), by the warps of a
 * block that read it. A task of a wide supernode has one, two or four groups of sixteen rows or columns
 * (stream.h), and four warps; so each group has 4 / groups warps, its splits, each with a share of the terms.
 */
#ifndef GSV_CUDA_BLOCK_PIECES_CUH
#define GSV_CUDA_BLOCK_PIECES_CUH

#include "cuda_block_front.cuh"

namespace gsv {

/* -------------------------------------------------------------------------------------------- forward --- */

/* Publish a lane's two rows of a front, or so many as there are; their sums begin anew. */
template <int NR>
__device__ __forceinline__ void publish_front(double *to, int rows, double (&acc)[block_stream<NR>::N][4]) {
#pragma unroll
    for (int m = 0; m < 2; m++)
        if (m < rows)
#pragma unroll
            for (int n = 0; n < block_stream<NR>::N; n++) {
                publish_pair(to + m * NR + 8 * n, acc[n][2 * m], acc[n][2 * m + 1]);
                acc[n][2 * m] = acc[n][2 * m + 1] = 0;
            }
}

/*
 * Columns of the block rows of a wide supernode. Fragments: rows g and g + 8 are rows 2 g and 2 g + 1 of the
 * tile, which one load of 16 bytes brings.
 *
 * Where the triangle is inverted in parts, or has many columns, the rows of the triangle are assembled here,
 * get what the parts before bring, and are published; every task reads them there. Else every task assembles
 * the columns that it multiplies with.
 */
template <int NR>
__device__ __forceinline__ void rows_forward(block_stream<NR> &block, const gsv_piece &p, int parts,
                                             const double *y, double *x, double *u, double *published,
                                             double (&acc)[block_stream<NR>::N][4]) {
    typedef block_stream<NR> shape;
    constexpr int N = shape::N, STRIDE = NR + 4, OWNED = shape::OWNED;
    const int warp = block.warp(), lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc, first = p.first, end = first + p.count, groups = p.groups;
    const int fold = groups / 2, splits = 4 >> fold, group = warp & (groups - 1), split = warp >> fold;
    const int block_row = p.place + group, top = GSV_TILE * block_row;
    const int live = top < nr ? gsv_block_row_columns(nc, block_row) : 0;
    const bool divided = parts > 1; /* no division but for these */
    const bool publishes = divided || nc > GSV_FOLD_COLUMNS, last = p.flags & GSV_PIECE_LAST;
    const int width = divided ? gsv_part_columns(nc, parts) : nc, part = divided ? top / width : 0;
    const double *own_y = y + int64_t(p.first_column) * NR;
    double *own_x = x + int64_t(p.first_column) * NR, *own_u = u + int64_t(p.update) * NR;
    double *f = published + int64_t(p.published) * NR;
    double *front = f + int64_t(top + 2 * g) * NR + column; /* this lane's rows, if they are the triangle's */
    const double *tile = block.panel + GSV_TILE * group * p.count + 2 * g;

    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;

    /* what is gathered here: the columns' rows, and rows b_least and on of list b */
    const bool b_now = publishes ? p.flags & GSV_PIECE_FIRST : last;
    int b_least = publishes || nc < GSV_TILE * p.place ? 0 : nc - GSV_TILE * p.place;
    b_least = b_now && b_least < p.b_rows ? b_least : p.b_rows;
    const owed_rows a = block.owed(p, false), b = block.owed(p, true);
    owed_entries owed = {nullptr, nullptr, 0, 0};
    uint32_t a_start = 0, b_start = 0;
    if (!publishes) {
        a_start = a.ptr[0];
        owed.a = a.gather + a_start;
        owed.of_all = owed.of_a = int(a.ptr[p.count] - a_start);
    }
    if (b_now) {
        b_start = b.ptr[b_least];
        owed.b = b.gather + b_start;
        owed.of_all += int(b.ptr[p.b_rows] - b_start);
    }
    if (!publishes || b_now) {
        const int pair = 2 * (threadIdx.x % shape::PAIRS), own = threadIdx.x / shape::PAIRS;
        double sum[OWNED][2];
#pragma unroll
        for (int k = 0; k < OWNED; k++) {
            sum[k][0] = sum[k][1] = 0;
            if (!publishes && own + k * shape::STEP < p.count)
                load_pair(own_y + int64_t(first + own + k * shape::STEP) * NR + pair, sum[k]);
        }
        if (publishes && split == 0)
#pragma unroll
            for (int m = 0; m < 2; m++)
                if (top + 2 * g + m < nc)
#pragma unroll
                    for (int n = 0; n < N; n++)
                        load_pair(own_y + int64_t(top + 2 * g + m) * NR + 8 * n + column, &acc[n][2 * m]);
        int staged = 0;
        do {
            if (staged > 0)
                block_meets<NR>(); /* everybody has read what was staged */
            block.stage(owed, staged);
            block_meets<NR>(); /* what is staged is there; everybody has left the front of the piece before */
#pragma unroll
            for (int k = 0; k < OWNED; k++) {
                const int row = own + k * shape::STEP;
                if (!publishes && row < p.count)
                    block.add_staged(sum[k], int(a.ptr[row] - a_start), int(a.ptr[row + 1] - a_start), staged,
                                     pair);
            }
            if (b_now && split == 0)
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    const int row = GSV_TILE * group + 2 * g + m;
                    if (row >= b_least && row < p.b_rows)
#pragma unroll
                        for (int n = 0; n < N; n++) {
                            double two[2] = {acc[n][2 * m], acc[n][2 * m + 1]};
                            block.add_staged(two, int(b.ptr[row] - b_start) + owed.of_a,
                                             int(b.ptr[row + 1] - b_start) + owed.of_a, staged,
                                             8 * n + column);
                            acc[n][2 * m] = two[0];
                            acc[n][2 * m + 1] = two[1];
                        }
                }
            staged += shape::STAGED;
        } while (staged < owed.of_all);
        if (publishes && part == 0 && split == 0 && top < nr)
            publish_front<NR>(front, nc - top - 2 * g, acc);
        if (!publishes) {
#pragma unroll
            for (int k = 0; k < OWNED; k++) /* eight rows are multiplied at a time */
                if (own + k * shape::STEP < (p.count + 7) / 8 * 8)
                    store_pair(block.front() + (own + k * shape::STEP) * STRIDE + pair, sum[k][0], sum[k][1]);
            block_meets<NR>(); /* the front is complete */
        }
    }

    for (int from = first, to; from < end; from = to) {
        const int now = divided ? from / width : 0, part_end = (now + 1) * width; /* this part */
        to = part_end < end ? part_end : end;
        if (publishes) {
            const int count = (to - from + 7) / 8 * 8;
            block_meets<NR>(); /* nobody reads the front that was there */
            block.template read<STRIDE>(count, [&](int row, bool &polled) {
                polled = from + row < to;
                return polled ? f + int64_t(from + row) * NR : nullptr;
            });
            block_meets<NR>(); /* the front is complete */
        }
        const int each = (((to - from + splits - 1) >> (2 - fold)) + 7) / 8 * 8; /* columns of a split */
        const int begin = from + split * each;
        int stop = begin + each < to ? begin + each : to;
        stop = stop < live ? stop : live;
        const double *v = block.front() + (begin - from + q) * STRIDE + g;
#pragma unroll 2
        for (int k = begin; k < stop; k += 8) {
            const double *at = tile + 16 * (k + q - first);
            const bool low_there = k + q < stop, high_there = k + q + 4 < stop;
            double2 low = make_double2(0, 0), high = low;
            if (low_there)
                low = *reinterpret_cast<const double2 *>(at);
            if (high_there)
                high = *reinterpret_cast<const double2 *>(at + 64);
#pragma unroll
            for (int n = 0; n < N; n++)
                mma_warp(acc[n], low.x, low.y, high.x, high.y, low_there ? v[8 * n] : 0,
                         high_there ? v[8 * n + 4 * STRIDE] : 0);
            v += 8 * STRIDE;
        }
        if (to == end)
            block.release();
        if (publishes && to == end)
            block_meets<NR>(); /* nobody reads the front, for what is staged next takes its place */
        if (to < part_end && !(last && to == end))
            continue;
        if (splits > 1)
            block.combine(groups, acc);
        if (split > 0)
            continue;
        if (top < nc && now == part - 1)
            publish_front<NR>(front, nc - top - 2 * g, acc);
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int i = top + 2 * g + m;
            if (i < nc && now == part) {
#pragma unroll
                for (int n = 0; n < N; n++)
                    store_pair(&own_x[int64_t(i) * NR + 8 * n + column], acc[n][2 * m], acc[n][2 * m + 1]);
            } else if (i >= nc && i < nr && last && to == end) {
#pragma unroll
                for (int n = 0; n < N; n++)
                    publish_pair(&own_u[int64_t(i - nc) * NR + 8 * n + column], acc[n][2 * m],
                                 acc[n][2 * m + 1]);
            }
        }
    }
}

/* Where the columns of a narrow supernode are, in one slot or two: entry (i, j) is at base(j) + i. */
struct narrow_panel {
    const double *low, *high;
    int nr, nc, second; /* column that the second piece begins with */

    __device__ __forceinline__ double at(int i, int j) const {
        if (j >= nc || i < j || i >= nr)
            return 0;
        return (j < second ? low : high)[gsv_narrow_column(nr, j) + i];
    }
};

/* A narrow supernode: sixty-four rows at a time, sixteen a warp. Fragments: rows 2 g and 2 g + 1. */
template <int NR>
__device__ __forceinline__ void narrow_forward(block_stream<NR> &block, const gsv_piece &p,
                                               const narrow_panel &panel, const double *y, double *x,
                                               double *u) {
    typedef block_stream<NR> shape;
    constexpr int N = shape::N, STRIDE = NR + 4, OWNED = GSV_NARROW_COLUMNS / shape::STEP, ROWS = 64;
    const int warp = block.warp(), lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc;
    const double *own_y = y + int64_t(p.first_column) * NR;
    double *own_x = x + int64_t(p.first_column) * NR, *own_u = u + int64_t(p.update) * NR;
    const owed_rows b = block.owed(p, true);
    for (int start = 0; start < nr; start += ROWS) {
        const uint32_t b_start = b.ptr[start];
        const owed_entries owed = {nullptr, b.gather + b_start, 0,
                                   int(b.ptr[start + ROWS < nr ? start + ROWS : nr] - b_start)};
        const int top = start + 16 * warp, i = top + 2 * g, stop = nc < top + 16 ? nc : top + 16;
        const int pair = 2 * (threadIdx.x % shape::PAIRS), own = threadIdx.x / shape::PAIRS;
        double acc[N][4], sum[OWNED][2];
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
#pragma unroll
        for (int k = 0; k < OWNED; k++) {
            sum[k][0] = sum[k][1] = 0;
            if (start == 0 && own + k * shape::STEP < nc)
                load_pair(own_y + int64_t(own + k * shape::STEP) * NR + pair, sum[k]);
        }
        int staged = 0;
        do {
            if (staged > 0)
                block_meets<NR>(); /* everybody has read what was staged */
            block.stage(owed, staged);
            block_meets<NR>(); /* what is staged is there; everybody has left the front of the piece before */
            if (start == 0)
#pragma unroll
                for (int k = 0; k < OWNED; k++) {
                    const int row = own + k * shape::STEP;
                    if (row < nc)
                        block.add_staged(sum[k], int(b.ptr[row] - b_start), int(b.ptr[row + 1] - b_start),
                                         staged, pair);
                }
#pragma unroll
            for (int m = 0; m < 2; m++)
                if (i + m >= nc && i + m < nr)
#pragma unroll
                    for (int n = 0; n < N; n++) {
                        double two[2] = {acc[n][2 * m], acc[n][2 * m + 1]};
                        block.add_staged(two, int(b.ptr[i + m] - b_start), int(b.ptr[i + m + 1] - b_start),
                                         staged, 8 * n + column);
                        acc[n][2 * m] = two[0];
                        acc[n][2 * m + 1] = two[1];
                    }
            staged += shape::STAGED;
        } while (staged < owed.of_all);
        if (start == 0) {
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                store_pair(block.front() + (own + k * shape::STEP) * STRIDE + pair, sum[k][0], sum[k][1]);
        }
        block_meets<NR>(); /* the front is complete; everybody has read what was staged */
        const double *v = block.front() + q * STRIDE + g;
        for (int k = 0; k < stop && top < nr; k += 8) {
            const double a[4] = {panel.at(i, k + q), panel.at(i + 1, k + q), panel.at(i, k + q + 4),
                                 panel.at(i + 1, k + q + 4)};
#pragma unroll
            for (int n = 0; n < N; n++)
                mma_warp(acc[n], a[0], a[1], a[2], a[3], k + q < stop ? v[8 * n] : 0,
                         k + q + 4 < stop ? v[8 * n + 4 * STRIDE] : 0);
            v += 8 * STRIDE;
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
template <int NR>
__device__ __forceinline__ void columns_backward(block_stream<NR> &block, const gsv_piece &p, int parts,
                                                 const double *x, double *y, double *z,
                                                 double (&acc)[block_stream<NR>::N][4]) {
    constexpr int N = block_stream<NR>::N, STRIDE = NR + 2;
    const int warp = block.warp(), lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc, groups = p.groups, fold = groups / 2, splits = 4 >> fold;
    const int group = p.place + (warp & (groups - 1)), split = warp >> fold;
    int own_end = nc; /* rows before it have x, those from it on their solution */
    if (parts > 1) {
        const int width = gsv_part_columns(nc, parts), part_end = (16 * p.place / width + 1) * width;
        own_end = part_end < nc ? part_end : nc;
    }
    const double *own_x = x + int64_t(p.first_column) * NR;
    const int32_t *rows = block.rows(p);
    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int n = 0; n < N; n++)
            acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
    const int start = GSV_TILE * p.first;
    block_meets<NR>(); /* nobody reads the front of the piece before */
    block.template read<STRIDE>(GSV_TILE * p.count, [&](int row, bool &polled) -> const double * {
        const int i = start + row;
        if (i < own_end)
            return own_x + int64_t(i) * NR;
        polled = i < nr;
        return polled ? z + int64_t(rows[row]) * NR : nullptr;
    });
    block_meets<NR>(); /* the front is complete */
    for (int t = p.count - 1 - split; t >= 0 && p.first + t >= group; t -= splits) {
        const double *tile = block.panel + (t * groups + group - p.place) * 256 + 16 * g + 2 * q;
        const double *v = block.front() + (GSV_TILE * t + 2 * q) * STRIDE + g;
        const int other = g % 2 * 8;
        const double2 a0 = *reinterpret_cast<const double2 *>(tile + other);
        const double2 a1 = *reinterpret_cast<const double2 *>(tile + (8 - other));
        const double2 b0 = *reinterpret_cast<const double2 *>(tile + 128 + other);
        const double2 b1 = *reinterpret_cast<const double2 *>(tile + 128 + (8 - other));
        const double2 low[2] = {other ? a1 : a0, other ? a0 : a1};
        const double2 high[2] = {other ? b1 : b0, other ? b0 : b1};
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < N; n++)
                mma_warp(acc[n], low[h].x, high[h].x, low[h].y, high[h].y, v[8 * h * STRIDE + 8 * n],
                         v[(8 * h + 1) * STRIDE + 8 * n]);
    }
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column, place = p.published;
    block.release();
    if (!last)
        return;
    if (splits > 1)
        block.combine(groups, acc);
    if (split > 0)
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

/* A narrow supernode: sixteen rows of sixty-four a warp, and then the four sums. Fragments: rows g and g + 8 are columns, terms are rows as above. */
template <int NR>
__device__ __forceinline__ void narrow_backward(block_stream<NR> &block, const gsv_piece &p,
                                                const narrow_panel &panel, const double *x, double *y,
                                                double *z) {
    constexpr int N = block_stream<NR>::N, STRIDE = NR + 2, PARTIAL = NR + 2;
    constexpr int ROWS = block_stream<NR>::ROWS; /* at a time */
    const int warp = block.warp(), lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int column = block.column(); /* of this lane's results */
    const int nr = p.nr, nc = p.nc;
    const double *own_x = x + int64_t(p.first_column) * NR;
    const int32_t *rows = block.rows(p);
    double acc[2][N][4];
#pragma unroll
    for (int e = 0; e < 2 * N * 4; e++)
        (&acc[0][0][0])[e] = 0;
    for (int start = (nr - 1) / ROWS * ROWS; start >= 0; start -= ROWS) {
        const int end = nr < start + ROWS ? nr : start + ROWS, even = (end - start + 15) / 16 * 16;
        block_meets<NR>(); /* nobody reads the front that was there */
        block.template read<STRIDE>(even, [&](int row, bool &polled) -> const double * {
            const int i = start + row;
            if (i < nc)
                return own_x + int64_t(i) * NR;
            polled = i < nr;
            return polled ? z + int64_t(rows[i]) * NR : nullptr;
        });
        block_meets<NR>(); /* the front is complete */
        for (int top = start + 16 * warp; top < end; top += 64) {
            const double *v = block.front() + (top - start + 2 * q) * STRIDE + g;
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
                            mma_warp(acc[group][n], a[0], a[1], a[2], a[3], v[8 * h * STRIDE + 8 * n],
                                     v[(8 * h + 1) * STRIDE + 8 * n]);
                    }
                }
            }
        }
    }
    const int64_t first_column = p.first_column, place = p.published;
    block_meets<NR>(); /* everybody has read the front */
    double *partial = block.front();
#pragma unroll
    for (int group = 0; group < 2; group++)
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < N; n++)
                store_pair(&partial[(warp * 32 + 16 * group + 8 * m + g) * PARTIAL + 8 * n + column],
                           acc[group][n][2 * m], acc[group][n][2 * m + 1]);
    block_meets<NR>(); /* the four sums are there */
    for (int e = threadIdx.x; e < nc * NR / 2; e += block_room<NR>::THREADS) {
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
