/*
 * The work on each kind of piece of the backward stream, in the steps of cuda/stream/one_forward.cuh.
 */
#ifndef GSV_CUDA_STREAM_ONE_BACKWARD_CUH
#define GSV_CUDA_STREAM_ONE_BACKWARD_CUH

#include "front.cuh"

namespace gsv {

/* The vector of a piece: which rows. Rows of its own columns before `polled` have x, those from there on have
 * their solution. */
template <typename T> struct backward_front {
    const T *own; /* x */
    const int32_t *rows;
    int count, polled, skip;
    __device__ __forceinline__ backward_front(const gsv_device_plan &plan, const stream_header &header,
                                              const T *x) {
        const gsv_piece &p = header.piece;
        const bool narrow = p.kind == GSV_NARROW_PIECE;
        const int start = narrow ? 0 : GSV_TILE * p.first;
        const int most = narrow ? (p.flags & GSV_PIECE_FIRST ? p.nr : 0) : GSV_TILE * p.count;
        own = x + p.first_column + start;
        rows = p.flags & GSV_PIECE_FAR
                   ? plan.upper_rows + p.row + start
                   : reinterpret_cast<const int32_t *>(stream_block<T>::list(p, p.b_ptr_at));
        /* every other block row: the last one may end early */
        skip = !narrow && p.groups == 2 ? ~15 : 0;
        const int left = p.nr - start - (skip ? GSV_TILE * (p.count - 1) : 0);
        count = left < most ? left : most;
        polled = p.nc - start;
    }
};

template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ bool complete_backward(stream_block<N> &block, const stream_header &header,
                                                  front_rows<T> &rows, const T *x, T (&acc)[4]) {
    const gsv_piece &p = header.piece;
    const bool narrow = p.kind == GSV_NARROW_PIECE;
    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int k = 0; k < 4; k++)
            acc[k] = make<T>(0);
    if (narrow && !(p.flags & GSV_PIECE_FIRST))
        return false; /* the front of the pieces before */
    block.fronts++;
    T *f = block.front();
    const backward_front<T> front(block.plan, header, x);
    const bool waited = rows.finish(f, front.count, block.state);
    if (!narrow)
        for (int k = front.count + threadIdx.x; k < GSV_TILE * p.count; k += STREAM_THREADS)
            f[k] = make<T>(0);
    consumers_meet(); /* the front is complete */
    return waited;
}

/* Columns of a narrow supernode, four a warp at a time, eight lanes a column. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void narrow_backward(stream_block<N> &block, const stream_header &header,
                                                uint64_t *empty, T *y, T *z) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, lane = thread % 32, nr = p.nr, nc = p.nc, first = p.first;
    const int end = first + p.count;
    T *own_y = y + p.first_column, *own_z = z + p.published;
    const T *f = block.front();
    const panel_number<N> *panel = block.panel(header) - (gsv_narrow_column(nr, first) + first);
    T sum[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int group = thread / 32 * 4 + 16 * q, j = group + lane / 8;
        sum[q] = make<T>(0);
        if (group >= first && group < end && j < nc) {
            const panel_number<N> *column = panel + gsv_narrow_column(nr, j);
#pragma unroll 4
            for (int i = group / 8 * 8 + lane % 8; i < nr; i += 8)
                if (i >= j)
                    sum[q] = multiply_add(sum[q], conjugate(number_as<T>(column[i])), f[i]);
        }
    }
    block.release(empty);
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int group = thread / 32 * 4 + 16 * q, j = group + lane / 8;
        if (group >= first && group < end) {
            int result = 0;
            reduce_lanes<T, 1, 4>::run(&sum[q], lane, result);
            if (lane % 8 == 0 && j < nc) {
                publish(&own_z[j], sum[q]);
                own_y[j] = sum[q];
            }
        }
    }
}

/* Block rows of WIDTH columns, from the last up: a thread has a row of the tiles, and columns j and j + 8 of
 * sixteen, or column j of eight; every other block row is of another sum, counted from the last. acc: column
 * by column, even and odd. */
template <typename N, int WIDTH, typename T = vector_number<N>>
__device__ __forceinline__ void columns_backward(stream_block<N> &block, const stream_header &header,
                                                 uint64_t *empty, T *y, T *z, T (&acc)[4]) {
    constexpr int EACH = WIDTH / 8, TILE = 16 * WIDTH; /* columns of a thread, numbers of a block row */
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, left = p.left;
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column, place = p.published;
    {
        int b = p.count - 1; /* a full piece has an even number of block rows: the last one is always even */
        const panel_number<N> *at = block.panel(header) + thread + TILE * b;
        const T *v = block.front() + thread % 16 + 16 * b;
#pragma unroll 3
        for (; b > 0; b -= 2) {
#pragma unroll
            for (int c = 0; c < EACH; c++) {
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(number_as<T>(at[128 * c])), v[0]);
                acc[2 * c + 1] =
                    multiply_add(acc[2 * c + 1], conjugate(number_as<T>(at[128 * c - TILE])), v[-16]);
            }
            at -= 2 * TILE;
            v -= 32;
        }
        if (b == 0)
#pragma unroll
            for (int c = 0; c < EACH; c++)
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(number_as<T>(at[128 * c])), v[0]);
    }
    block.release(empty);
    if (last) {
        /* sums over the sixteen rows, then even and odd: bit 3 of the lane comes to say which of two columns,
         * and the next one which of the two sums */
        constexpr int APART = 4 * (16 / WIDTH);
        int result = 0;
        reduce_lanes<T, 2 * EACH, 8>::run(acc, thread % 16, result);
        const T total = add(acc[0], shuffle_xor(acc[0], APART));
        const int column = left + thread / 16 + 8 * (result / 2);
        if (thread % (2 * APART) == 0 && column < nc) {
            publish(&z[place + column], total);
            y[first_column + column] = total;
        }
    }
}

/*
 * Every other block row of eight columns, from the last up: one of the two sums of columns_backward, which two
 * tasks have. A thread has a row of the tiles, and a column. The first task hands its sums to the second.
 */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void half_backward(stream_block<N> &block, const stream_header &header,
                                              uint64_t *empty, T *y, T *z, T *sums, T (&acc)[4]) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, column = p.left + thread / 16;
    const bool last = p.flags & GSV_PIECE_LAST, odd = p.flags & GSV_PIECE_ODD;
    const int64_t first_column = p.first_column, place = p.published;
    T *shared_sum = sums + p.numbers + column;
    {
        const panel_number<N> *at = block.panel(header) + thread + 128 * (p.count - 1);
        const T *v = block.front() + thread % 16 + 16 * (p.count - 1);
#pragma unroll 6
        for (int b = p.count; b > 0; b--) {
            acc[0] = multiply_add(acc[0], conjugate(number_as<T>(*at)), *v);
            at -= 128;
            v -= 16;
        }
    }
    block.release(empty);
    if (!last)
        return;
    T sum = acc[0];
#pragma unroll
    for (int away = 8; away > 0; away /= 2)
        sum = add(sum, shuffle_xor(sum, away));
    if (thread % 16 != 0 || column >= nc)
        return;
    if (!odd) {
        publish(shared_sum, sum);
        return;
    }
    T other;
    load_relaxed(shared_sum, other);
    poll([&]() { return is_absent(other); },
         [&](bool stop) {
             if (stop)
                 other = not_a_number<T>();
             else
                 load_relaxed(shared_sum, other);
         },
         block.state);
    const T total = add(other, sum);
    publish(&z[place + column], total);
    y[first_column + column] = total;
}

} // namespace gsv
#endif
