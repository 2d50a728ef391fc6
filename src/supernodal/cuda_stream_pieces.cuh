/*
 * The work on each kind of piece (stream.h), by the warps of a block that read it, in three steps: prepare
 * requests what the vector of a piece is made of; complete waits for it, leaves the vector in shared memory
 * and meets the other warps; multiply does the rest, and gives the slot back. A piece is prepared before the
 * one ahead of it is multiplied with, if it is in its slot by then. Every sum has the terms and the order of
 * cuda_narrow.cuh and cuda_wide.cuh.
 */
#ifndef GSV_CUDA_STREAM_PIECES_CUH
#define GSV_CUDA_STREAM_PIECES_CUH

#include "cuda_stream_front.cuh"

namespace gsv {

/* -------------------------------------------------------------------------------------------- forward --- */

/* The product of a block row with columns 0 .. columns - 1 from tile on, to be finished: half a warp has the
 * columns of two remainders mod 16, and a lane the sums of one row. */
template <typename T> struct row_sums {
    T sum[2];
    __device__ __forceinline__ void clear() {
        sum[0] = sum[1] = make<T>(0);
    }
    __device__ __forceinline__ void run(const T *tile, const T *front, int columns) {
        int k = threadIdx.x / 32 * 4 + threadIdx.x / 16 % 2;
        tile += 16 * k + threadIdx.x % 16;
        front += k;
#pragma unroll 6
        for (; k + 2 < columns; k += 16) {
            sum[0] = multiply_add(sum[0], tile[0], front[0]);
            sum[1] = multiply_add(sum[1], tile[32], front[2]);
            tile += 256;
            front += 16;
        }
        if (k < columns)
            sum[0] = multiply_add(sum[0], tile[0], front[0]);
    }
    /* What this warp has for row lane % 16. */
    __device__ __forceinline__ T of_warp() const {
        return add(add(sum[0], shuffle_xor(sum[0], 16)), add(sum[1], shuffle_xor(sum[1], 16)));
    }
    /* Row thread < 16, of what the warps have left in partial. */
    static __device__ __forceinline__ T of_block(const T *partial) {
        const T *at = partial + threadIdx.x;
        return add(add(at[0], at[16]), add(at[32], at[48]));
    }
};

/* Does every task of the supernode read its front where a few have published it? */
__device__ __forceinline__ bool is_published(const gsv_piece &p, int parts) {
    return p.kind == GSV_ROW_PIECE && (parts > 1 || p.nc > GSV_FOLD_COLUMNS);
}

/* What a thread has requested for the vector of a piece: two rows of the front, and one of the rows that the
 * piece has results for. */
template <typename T> struct forward_rows {
    owed_row<T> front[2], own;
    T right_side[2];

    __device__ __forceinline__ void prepare(const stream_block<T> &block, const stream_header &header,
                                            const T *y) {
        const gsv_piece &p = header.piece;
        const int thread = threadIdx.x, row = STREAM_THREADS - 1 - thread;
        if (is_published(p, header.parts))
            return; /* nothing can be requested early */
        const bool narrow = p.kind == GSV_NARROW_PIECE;
        const int rows = narrow ? p.b_rows : p.a_rows, columns = narrow ? p.nc : rows;
        own.nothing();
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int k = thread + STREAM_THREADS * q;
            front[q].nothing();
            right_side[q] = make<T>(0);
            if (k < rows) {
                if (k < columns)
                    right_side[q] = y[p.first_column + (narrow ? 0 : p.a_first) + k];
                if (narrow)
                    block.begin_b(front[q], p, k);
                else
                    block.begin_a(front[q], p, k);
            }
        }
        /* the other end first: those threads have the shorter list of the front */
        if (!narrow && row < p.b_rows && p.b_first + row >= p.nc)
            block.begin_b(own, p, row);
    }
};

/* The vector of a piece; a narrow supernode's rows below its columns stay in acc. */
template <typename T>
__device__ __forceinline__ void complete_forward(stream_block<T> &block, const gsv_piece &p,
                                                 forward_rows<T> &rows, T (&acc)[2]) {
    const int thread = threadIdx.x;
    const bool narrow = p.kind == GSV_NARROW_PIECE;
    if (narrow && !(p.flags & GSV_PIECE_FIRST))
        return; /* the front of the pieces before */
    block.fronts++;
    T *f = block.front();
    block.settle_rows(rows.front[0], rows.front[1], rows.own);
    const T first = block.add_owed(rows.front[0], rows.right_side[0]);
    const T second = block.add_owed(rows.front[1], rows.right_side[1]);
    if (narrow) {
        if (thread < p.nc)
            f[thread] = first;
        acc[0] = thread < p.nc ? make<T>(0) : first; /* nc <= 32 */
        acc[1] = second;
    } else {
        f[thread] = first;
        f[thread + STREAM_THREADS] = second;
        if (p.flags & GSV_PIECE_FIRST) {
            block.owns++;
            acc[0] = acc[1] = make<T>(0);
            block.own()[STREAM_THREADS - 1 - thread] = block.add_owed(rows.own, make<T>(0));
        }
    }
    consumers_meet(); /* the front, and own, are complete */
}

/* Columns of a narrow supernode, two rows a thread. acc goes on from piece to piece. */
template <typename T>
__device__ __forceinline__ void narrow_forward(stream_block<T> &block, const stream_header &header,
                                               uint64_t *empty, T *x, T *u, T (&acc)[2]) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, first = p.first, end = first + p.count;
    const bool last = p.flags & GSV_PIECE_LAST, tall = nr > STREAM_THREADS;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    const T *f = block.front() + first;
    const T *column = block.panel(header) + thread - first;
#pragma unroll 4
    for (int k = first; k < end; k++) {
        const T b = *f++;
        if (thread >= k && thread < nr)
            acc[0] = multiply_add(acc[0], column[0], b);
        if (tall && thread + STREAM_THREADS < nr)
            acc[1] = multiply_add(acc[1], column[STREAM_THREADS], b);
        column += nr - k - 1;
    }
    block.release(empty);
    if (last) {
        if (thread < nc)
            own_x[thread] = acc[0];
        else if (thread < nr)
            publish(&own_u[thread - nc], acc[0]);
        if (thread + STREAM_THREADS < nr)
            publish(&own_u[thread + STREAM_THREADS - nc], acc[1]);
    }
}

/* Block rows of a supernode of few columns, a warp each, by turns. */
template <typename T>
__device__ __forceinline__ void tiles_forward(stream_block<T> &block, const stream_header &header,
                                              uint64_t *empty, T *x, T *u) {
    const gsv_piece &p = header.piece;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int nr = p.nr, nc = p.nc, count = p.count, first = p.first;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    const T *f = block.front(), *own = block.own();
    const int start = int(gsv_block_row_start(nc, first));
    T acc[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        acc[q] = make<T>(0);
        const int b = warp + STREAM_WARPS * q;
        if (b < count) {
            const int columns = gsv_block_row_columns(nc, first + b);
            const T *tile = block.panel(header) + (int(gsv_block_row_start(nc, first + b)) - start) + lane;
            const T *v = f + lane / 16;
#pragma unroll 8
            for (int k = lane / 16; k < columns; k += 2) {
                acc[q] = multiply_add(acc[q], *tile, *v);
                tile += 32;
                v += 2;
            }
        }
    }
    block.release(empty);
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int b = warp + STREAM_WARPS * q;
        if (b < count) {
            const T sum = add(acc[q], shuffle_xor(acc[q], 16));
            const int i = GSV_TILE * (first + b) + lane;
            if (lane < 16) {
                if (i < nc)
                    own_x[i] = sum;
                else if (i < nr)
                    publish(&own_u[i - nc], add(own[GSV_TILE * b + lane], sum));
            }
        }
    }
}

/* Columns of one block row, of a supernode that is inverted in one part: every task assembles the columns
 * that it multiplies with. */
template <typename T>
__device__ __forceinline__ void row_forward(stream_block<T> &block, const stream_header &header,
                                            uint64_t *empty, T *x, T *u, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, nr = p.nr, i = GSV_TILE * p.place + thread;
    const bool last = p.flags & GSV_PIECE_LAST;
    T *to_x = x + p.first_column + i, *to_u = u + p.update + (i - nc);
    sums.run(block.panel(header), block.front(), p.count);
    block.release(empty);
    if (last) {
        block.partials++;
        T *partial = block.partial();
        const T mine = sums.of_warp();
        if (thread % 32 < 16)
            partial[thread / 32 * 16 + thread % 16] = mine;
        consumers_meet(); /* the warps' sums are there */
        if (thread < 16) {
            const T total = row_sums<T>::of_block(partial);
            if (i < nc)
                *to_x = total;
            else if (i < nr)
                publish(to_u, add(block.own()[thread], total));
        }
    }
}

/* Up to 2 STREAM_THREADS neighbouring published numbers, as soon as they are there. */
template <typename T>
__device__ __forceinline__ void read_published(T *to, const T *from, int count, gsv_stream_state *state) {
    T value[2];
    auto place = [](int q) { return int(threadIdx.x) + STREAM_THREADS * q; };
#pragma unroll
    for (int q = 0; q < 2; q++) {
        value[q] = make<T>(0);
        if (place(q) < count)
            load_relaxed(from + place(q), value[q]);
    }
    poll([&]() { return is_absent(value[0]) || is_absent(value[1]); },
         [&](bool stop) {
#pragma unroll
             for (int q = 0; q < 2; q++)
                 if (is_absent(value[q])) {
                     if (stop)
                         value[q] = not_a_number<T>();
                     else
                         load_relaxed(from + place(q), value[q]);
                 }
         },
         state);
#pragma unroll
    for (int q = 0; q < 2; q++)
        if (place(q) < count)
            to[place(q)] = value[q];
}

/*
 * The same for a supernode that is inverted in parts or has many columns. A block row of the triangle
 * assembles its own sixteen rows, adds what the parts before bring, and publishes them; all tasks read them
 * there. All three steps.
 */
template <typename T>
__device__ __forceinline__ void row_forward_published(stream_block<T> &block, const stream_header &header,
                                                      uint64_t *empty, const T *y, T *x, T *u, T *published,
                                                      row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, end = p.first + p.count, top = GSV_TILE * p.place;
    const int width = header.parts > 1 ? gsv_part_columns(nc, header.parts) : nc, part = top / width;
    const bool last = p.flags & GSV_PIECE_LAST;
    const T *own_y = y + p.first_column, *panel = block.panel(header);
    T *own_x = x + p.first_column, *own_u = u + p.update, *f = published + p.published;
    if (p.flags & GSV_PIECE_FIRST) {
        block.owns++;
        sums.clear();
        const int row = STREAM_THREADS - 1 - thread, i = top + row;
        if (row < p.b_rows) {
            owed_row<T> owed;
            block.begin_b(owed, p, row);
            block.settle_rows(owed);
            const T sum = block.add_owed(owed, i < nc ? own_y[i] : make<T>(0));
            block.own()[row] = sum;
            if (i < nc && part == 0)
                publish(&f[i], sum);
        }
    }
    T *own = block.own();
    for (int first = p.first, to; first < end; first = to) {
        const int part_end = (first / width + 1) * width;
        to = part_end < end ? part_end : end;
        block.fronts++;
        read_published(block.front(), f + first, to - first, block.state);
        consumers_meet(); /* the front, and own, are complete */
        sums.run(panel + 16 * (first - p.first), block.front(), to - first);
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
                const T total = row_sums<T>::of_block(partial);
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
    block.release(empty);
}

/* ------------------------------------------------------------------------------------------- backward --- */

/* The vector of a piece: which rows. Of its columns' rows those before `polled` have x, those from there on
 * their solution. */
template <typename T> struct backward_front {
    const T *own; /* x */
    const int32_t *rows;
    int count, polled;
    __device__ __forceinline__ backward_front(const gsv_device_plan &plan, const stream_header &header,
                                              const T *x) {
        const gsv_piece &p = header.piece;
        const bool narrow = p.kind == GSV_NARROW_PIECE;
        const int start = narrow ? 0 : GSV_TILE * p.first;
        const int most = narrow ? (p.flags & GSV_PIECE_FIRST ? p.nr : 0) : GSV_TILE * p.count;
        int own_end = p.nc;
        if (header.parts > 1) {
            const int width = gsv_part_columns(p.nc, header.parts), part_end = (p.left / width + 1) * width;
            own_end = part_end < p.nc ? part_end : p.nc;
        }
        own = x + p.first_column + start;
        rows = p.flags & GSV_PIECE_FAR
                   ? plan.upper_rows + p.row + start
                   : reinterpret_cast<const int32_t *>(stream_block<T>::list(p, p.b_ptr_at));
        count = p.nr - start < most ? p.nr - start : most;
        polled = own_end - start;
    }
};

template <typename T>
__device__ __forceinline__ void complete_backward(stream_block<T> &block, const stream_header &header,
                                                  front_rows<T> &rows, const T *x, const T *z, T (&acc)[4]) {
    const gsv_piece &p = header.piece;
    const bool narrow = p.kind == GSV_NARROW_PIECE;
    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int k = 0; k < 4; k++)
            acc[k] = make<T>(0);
    if (narrow && !(p.flags & GSV_PIECE_FIRST))
        return; /* the front of the pieces before */
    block.fronts++;
    T *f = block.front();
    const backward_front<T> front(block.plan, header, x);
    rows.finish(f, front.polled, z, front.rows, front.count, block.state);
    if (!narrow)
        for (int k = front.count + threadIdx.x; k < GSV_TILE * p.count; k += STREAM_THREADS)
            f[k] = make<T>(0);
    consumers_meet(); /* the front is complete */
}

/* Columns of a narrow supernode, four a warp at a time, eight lanes a column. */
template <typename T>
__device__ __forceinline__ void narrow_backward(stream_block<T> &block, const stream_header &header,
                                                uint64_t *empty, T *y, T *z) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, lane = thread % 32, nr = p.nr, nc = p.nc, first = p.first;
    const int end = first + p.count;
    T *own_y = y + p.first_column, *own_z = z + p.published;
    const T *f = block.front();
    const T *panel = block.panel(header) - (gsv_narrow_column(nr, first) + first);
    T sum[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int group = thread / 32 * 4 + 16 * q, j = group + lane / 8;
        sum[q] = make<T>(0);
        if (group >= first && group < end && j < nc) {
            const T *column = panel + gsv_narrow_column(nr, j);
#pragma unroll 4
            for (int i = group / 8 * 8 + lane % 8; i < nr; i += 8)
                if (i >= j)
                    sum[q] = multiply_add(sum[q], conjugate(column[i]), f[i]);
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
template <typename T, int WIDTH>
__device__ __forceinline__ void columns_backward(stream_block<T> &block, const stream_header &header,
                                                 uint64_t *empty, T *y, T *z, T (&acc)[4]) {
    constexpr int EACH = WIDTH / 8, TILE = 16 * WIDTH; /* columns of a thread, numbers of a block row */
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, left = p.left;
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column, place = p.published;
    {
        int b = p.count - 1; /* a full piece has an even number of block rows: the last one is always even */
        const T *at = block.panel(header) + thread + TILE * b, *v = block.front() + thread % 16 + 16 * b;
#pragma unroll 3
        for (; b > 0; b -= 2) {
#pragma unroll
            for (int c = 0; c < EACH; c++) {
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v[0]);
                acc[2 * c + 1] = multiply_add(acc[2 * c + 1], conjugate(at[128 * c - TILE]), v[-16]);
            }
            at -= 2 * TILE;
            v -= 32;
        }
        if (b == 0)
#pragma unroll
            for (int c = 0; c < EACH; c++)
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v[0]);
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

} // namespace gsv
#endif
