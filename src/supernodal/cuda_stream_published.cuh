/*
 * Pieces of the forward stream whose supernode's front is published (cuda_stream_pieces.cuh): a few tasks assemble
 * its rows, and all tasks read them there. That is so for many columns, for columns that several tasks share, and
 * for a triangle that is inverted in parts, which wait for each other: there the block rows of the triangle assemble
 * the rows that they have.
 */
#ifndef GSV_CUDA_STREAM_PUBLISHED_CUH
#define GSV_CUDA_STREAM_PUBLISHED_CUH

#include "cuda_stream_pieces.cuh"

namespace gsv {

/* complete_forward where the front is published. The first piece of a task assembles the rows that the task adds to,
 * and publishes those that it is to publish, unless parts before add to them first (parts_forward, share_forward).
 * Columns of several parts wait for each other: of a task that has such, no more than that is done here. */
template <typename T>
__device__ __forceinline__ bool complete_published(stream_block<T> &block, const stream_header &header,
                                                   forward_rows<T> &rows, T *published, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, i = GSV_TILE * p.place + thread;
    const int width = header.parts > 1 ? gsv_part_columns(nc, header.parts) : nc;
    T *f = published + p.published;
    bool waited = false;
    if (p.flags & GSV_PIECE_FIRST) {
        block.owns++;
        sums.clear();
        if (p.b_rows > 0) {
            owed_span owed[1] = {{-1, 0, 0}};
            if (thread < p.b_rows)
                owed[0] = block.owed_b(p, thread);
            const bool mine = thread < p.b_rows, far = p.flags & GSV_PIECE_FAR;
            const bool publishes = p.flags & GSV_PIECE_PUBLISHES && p.kind != GSV_SHARE_PIECE;
            waited = rows.owed.finish(block);
            consumers_meet(); /* the terms are there */
            if (mine) {
                T sum[1] = {rows.right_side[0]};
                block.add_owed(far, owed, sum);
                block.own()[thread] = sum[0];
                if (publishes && i < nc && i < width)
                    publish(&f[i], sum[0]);
            }
        }
    }
    if (reads_published(p, header.parts)) {
        const published_rows of(p);
        block.fronts++;
        waited |= rows.pair.finish(
            block.front(), of.count, [&](int k) { return f + of(k); }, block.state);
    }
    consumers_meet(); /* own, and the front, are complete */
    return waited;
}

/* Columns first .. end - 1 of block row `row`, which stand from panel on, part by part. */
template <typename T>
__device__ __forceinline__ void parts_forward(stream_block<T> &block, const stream_header &header, int row,
                                              const T *panel, int first, int end, T *x, T *u, T *f,
                                              row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, top = GSV_TILE * row;
    const bool last = end == gsv_block_row_columns(nc, row);
    const int width = header.parts > 1 ? gsv_part_columns(nc, header.parts) : nc, part = top / width;
    constexpr int MOST = GSV_PIECE_NUMBERS / GSV_TILE;
    T *own_x = x + p.first_column, *own_u = u + p.update, *own = block.own() + (top - p.b_first);
    for (int to; first < end; first = to) {
        const int part_end = (first / width + 1) * width, stop = part_end < end ? part_end : end;
        to = first + MOST < stop ? first + MOST : stop;
        block.fronts++;
        published_pair<T> pair;
        pair.request(to - first, [&](int k) { return f + first + k; });
        pair.finish(
            block.front(), to - first, [&](int k) { return f + first + k; }, block.state);
        consumers_meet(); /* the front is complete */
        sums.run(panel, block.front(), to - first);
        panel += GSV_TILE * (to - first);
        if (to == part_end || (last && to == end)) {
            block.partials++;
            T *partial = block.partial();
            const T mine = sums.of_warp();
            sums.clear();
            if (thread % 32 < 16)
                partial[thread / 32 * 16 + thread % 16] = mine;
            consumers_meet(); /* the warps' sums are there */
            const int i = top + thread;
            if (thread < 16 && i < nr) {
                const T total = row_sums<T>::of_block(partial + thread);
                if (i < nc && first / width == part) {
                    own_x[i] = total;
                } else {
                    const T sum = add(own[thread], total);
                    own[thread] = sum;
                    if (i >= nc && last && to == end)
                        publish(&own_u[i - nc], sum);
                    else if (i < nc && first / width == part - 1)
                        publish(&f[i], sum);
                }
            }
        }
    }
}

/*
 * Columns of one block row, or all of two, of a supernode that is inverted in parts. A block row of the
 * triangle adds to its rows what the parts before bring, and publishes them; all tasks read them there.
 */
template <typename T>
__device__ __forceinline__ void row_forward_parts(stream_block<T> &block, const stream_header &header,
                                                  uint64_t *empty, T *x, T *u, T *published,
                                                  row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const T *panel = block.panel(header);
    T *f = published + p.published;
    for (int row = p.place; row < p.place + p.groups; row++) {
        /* all columns of each of two */
        const int columns = p.groups == 1 ? p.count : gsv_block_row_columns(p.nc, row);
        parts_forward<T>(block, header, row, panel, p.first, p.first + columns, x, u, f, sums);
        panel += GSV_TILE * columns;
    }
    block.release(empty);
}

/*
 * Columns of one block row that several tasks share: a thread has a row, and one of the task's columns of each
 * sixteen. The last task collects the others' sums.
 *
 * Where the triangle is inverted in two parts, four tasks that share a row of the second one, or one below the triangle,
 * are two and two: those with columns of the first part publish the row of the front, or, below, what it comes to so
 * far.
 */
template <typename T>
__device__ __forceinline__ void share_forward(stream_block<T> &block, const stream_header &header,
                                              uint64_t *empty, T *x, T *u, T *published, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, top = GSV_TILE * p.place, i = top + thread;
    const int shift = share_shift(p), each = 1 << shift, share = p.left >> shift;
    const int columns = shared_columns(p, p.count);
    const bool last = p.flags & GSV_PIECE_LAST, collects = p.left + each == GSV_TILE;
    T &sum = sums.sum[0];
    const int column = thread / GSV_TILE;
    if (column < each) {
        const T *tile = block.panel(header) + thread, *v = block.front() + column;
        const int step = GSV_TILE * each;
#pragma unroll 8
        for (int k = column; k < columns; k += each) {
            sum = multiply_add(sum, *tile, *v);
            tile += step;
            v += each;
        }
    }
    const int width = header.parts > 1 ? gsv_part_columns(nc, header.parts) : nr;
    const bool halved = top >= width, before = halved && p.first < width;
    T *own_x = x + p.first_column, *own_u = u + p.update, *f = published + p.published;
    block.release(empty);
    if (!last)
        return;
    /* three times sixteen sums: of the tasks before the last; or of the first half's first task, of a row below the
     * triangle in the first half, of the second half's first task */
    const bool begun = halved && !before && i >= nc && i < nr; /* a row below, in the second half */
    T *others = f + nc + 3 * top + thread, *halves = others + GSV_TILE;
    if (halved && !before)
        others += 2 * GSV_TILE;
    block.partials++;
    T *partial = block.partial();
    const T mine = add(sum, shuffle_xor(sum, 16));
    if (thread % 32 < 16)
        partial[thread / 32 * 16 + thread % 16] = mine;
    consumers_meet(); /* the warps' sums are there */
    if (thread < 16) {
        const T *at = partial + thread;
        T total = add(at[0], at[16]);
        if (each == 8)
            total = add(total, add(at[32], at[48]));
        if (!collects) {
            publish(others + GSV_TILE * share, total);
        } else {
            T other[3];
            const int wanted = begun ? 2 : share; /* halves have one share each before the last */
            auto at = [&](int q) { return begun && q == 1 ? halves : others + GSV_TILE * q; };
#pragma unroll
            for (int q = 0; q < 3; q++)
                if (q < wanted)
                    load_relaxed(at(q), other[q]);
            poll(
                [&]() {
                    bool any = false;
#pragma unroll
                    for (int q = 0; q < 3; q++)
                        any |= q < wanted && is_absent(other[q]);
                    return any;
                },
                [&](bool stop) {
#pragma unroll
                    for (int q = 0; q < 3; q++)
                        if (q < wanted && is_absent(other[q])) {
                            if (stop)
                                other[q] = not_a_number<T>();
                            else
                                load_relaxed(at(q), other[q]);
                        }
                },
                block.state);
            total = each == 8 ? add(other[0], total) : add(add(other[0], other[1]), add(other[2], total));
            if (before && i < nr)
                publish(i < nc ? f + i : halves, add(block.own()[thread], total));
            else if (i < nc)
                own_x[i] = total;
            else if (i < nr)
                publish(&own_u[i - nc], add(begun ? other[1] : block.own()[thread], total));
        }
    }
}

} // namespace gsv
#endif
