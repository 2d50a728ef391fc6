/*
 * Pieces of the forward stream whose supernode's front is published (cuda/stream/one_forward.cuh): a few tasks assemble its rows,
 * and all others read them there. That is so for many columns, and for columns that several tasks share.
 */
#ifndef GSV_CUDA_STREAM_ONE_PUBLISHED_CUH
#define GSV_CUDA_STREAM_ONE_PUBLISHED_CUH

#include "one_forward.cuh"

namespace gsv {

/* complete_forward where the front is published. The first piece of a task assembles the rows that the task adds to, or
 * publishes. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ bool complete_published(stream_block<N> &block, const stream_header &header,
                                                   forward_rows<N> &rows, T *published, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x;
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
            waited = rows.owed.finish(block);
            consumers_meet(); /* the terms are there */
            if (mine) {
                T sum[1] = {rows.right_side[0]};
                block.add_owed(far, owed, sum);
                block.own()[thread] = sum[0];
                if (p.kind == GSV_FRONT_PIECE)
                    publish(&f[p.b_first + thread], sum[0]);
            }
        }
    }
    if (reads_published(p)) {
        const published_rows of(p);
        block.fronts++;
        waited |= rows.read.finish(
            block.front(), of.count, [&](int k) { return f + of(k); }, block.state);
    }
    consumers_meet(); /* own, and the front, are complete */
    return waited;
}

/*
 * Columns of one block row that several tasks share: a thread has a row, and one of the task's columns of each
 * sixteen. The last task collects the others' sums.
 */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void share_forward(stream_block<N> &block, const stream_header &header,
                                              uint64_t *empty, T *x, T *u, T *published, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, top = GSV_TILE * p.place, i = top + thread;
    const int shift = share_shift(p), each = 1 << shift, share = p.left >> shift;
    const int columns = shared_columns(p, p.count);
    const bool last = p.flags & GSV_PIECE_LAST, collects = p.left + each == GSV_TILE;
    T &sum = sums.sum[0];
    const int column = thread / GSV_TILE;
    if (column < each) {
        const panel_number<N> *tile = block.panel(header) + thread;
        const T *v = block.front() + column;
        const int step = GSV_TILE * each;
#pragma unroll 8
        for (int k = column; k < columns; k += each) {
            sum = multiply_add(sum, number_as<T>(*tile), *v);
            tile += step;
            v += each;
        }
    }
    T *own_x = x + p.first_column, *own_u = u + p.update, *f = published + p.published;
    block.release(empty);
    if (!last)
        return;
    T *others = f + nc + 3 * top + thread; /* three times sixteen sums, of the tasks before the last */
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
#pragma unroll
            for (int q = 0; q < 3; q++)
                if (q < share)
                    load_relaxed(others + GSV_TILE * q, other[q]);
            poll(
                [&]() {
                    bool any = false;
#pragma unroll
                    for (int q = 0; q < 3; q++)
                        any |= q < share && is_absent(other[q]);
                    return any;
                },
                [&](bool stop) {
#pragma unroll
                    for (int q = 0; q < 3; q++)
                        if (q < share && is_absent(other[q])) {
                            if (stop)
                                other[q] = not_a_number<T>();
                            else
                                load_relaxed(others + GSV_TILE * q, other[q]);
                        }
                },
                block.state);
            total = each == 8 ? add(other[0], total) : add(add(other[0], other[1]), add(other[2], total));
            if (i < nc)
                own_x[i] = total;
            else if (i < nr)
                publish(&own_u[i - nc], add(block.own()[thread], total));
        }
    }
}

} // namespace gsv
#endif
