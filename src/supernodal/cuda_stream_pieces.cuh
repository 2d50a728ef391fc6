/*
 * The work on each kind of piece (stream.h), by the warps of a block that read it. Every sum has the terms
 * and the order of cuda_narrow.cuh and cuda_wide.cuh.
 */
#ifndef GSV_CUDA_STREAM_PIECES_CUH
#define GSV_CUDA_STREAM_PIECES_CUH

#include "cuda_stream_front.cuh"

namespace gsv {

/* -------------------------------------------------------------------------------------------- forward --- */

/* Columns of a narrow supernode, two rows a thread. acc goes on from piece to piece. */
template <typename T>
__device__ __forceinline__ void narrow_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                               T *u, T (&acc)[2]) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, first = p.first, end = first + p.count;
    const bool last = p.flags & GSV_PIECE_LAST, tall = nr > STREAM_THREADS;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    if (p.flags & GSV_PIECE_FIRST) {
        block.fronts++;
        T *f = block.front();
        owed_row<T> row[2];
        const T right_side = thread < nc ? own_y[thread] : make<T>(0); /* nc <= 32 */
#pragma unroll
        for (int q = 0; q < 2; q++) {
            row[q].nothing();
            if (thread + STREAM_THREADS * q < nr)
                block.begin_b(row[q], p, thread + STREAM_THREADS * q);
        }
        acc[0] = block.add_owed(row[0], right_side);
        acc[1] = block.add_owed(row[1], make<T>(0));
        if (thread < nc) {
            f[thread] = acc[0];
            acc[0] = make<T>(0);
        }
        consumers_meet(); /* the front is complete */
    }
    const T *f = block.front() + first;
    const T *column = block.panel + thread - first;
#pragma unroll 4
    for (int k = first; k < end; k++) {
        const T b = *f++;
        if (thread >= k && thread < nr)
            acc[0] = multiply_add(acc[0], column[0], b);
        if (tall && thread + STREAM_THREADS < nr)
            acc[1] = multiply_add(acc[1], column[STREAM_THREADS], b);
        column += nr - k - 1;
    }
    block.release();
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
__device__ __forceinline__ void tiles_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                              T *u) {
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int nr = p.nr, nc = p.nc, count = p.count, first = p.first, rows = p.b_rows;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    block.fronts++;
    block.owns++;
    T *f = block.front(), *own = block.own();
    {
        owed_row<T> of_front, of_own;
        of_front.nothing();
        of_own.nothing();
        const T right_side = thread < nc ? own_y[thread] : make<T>(0);
        const int row = STREAM_THREADS - 1 - thread; /* the other end first: those threads have no column */
        if (thread < nc)
            block.begin_a(of_front, p, thread);
        if (row < rows && GSV_TILE * first + row >= nc)
            block.begin_b(of_own, p, row);
        f[thread] = block.add_owed(of_front, right_side);
        own[row] = block.add_owed(of_own, make<T>(0));
    }
    consumers_meet(); /* the front is complete */
    const int start = int(gsv_block_row_start(nc, first));
    T acc[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        acc[q] = make<T>(0);
        const int b = warp + STREAM_WARPS * q;
        if (b < count) {
            const int columns = gsv_block_row_columns(nc, first + b);
            const T *tile = block.panel + (int(gsv_block_row_start(nc, first + b)) - start) + lane;
            const T *v = f + lane / 16;
#pragma unroll 4
            for (int k = lane / 16; k < columns; k += 2) {
                acc[q] = multiply_add(acc[q], *tile, *v);
                tile += 32;
                v += 2;
            }
        }
    }
    block.release();
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

/* The product of a block row with columns 0 .. columns - 1 from tile on, to be finished: half a warp has the
 * columns of two remainders mod 16, and a lane the sums of one row. */
template <typename T> struct row_sums {
    T sum[2];
    __device__ __forceinline__ void clear() {
        sum[0] = sum[1] = make<T>(0);
    }
    __device__ __forceinline__ void run(const T *tile, const T *front, int columns) {
        const int k0 = threadIdx.x / 32 * 4 + threadIdx.x / 16 % 2;
        tile += 16 * k0 + threadIdx.x % 16;
        front += k0;
#pragma unroll 3
        for (int k = k0; k < columns; k += 16) {
            sum[0] = multiply_add(sum[0], tile[0], front[0]);
            if (k + 2 < columns)
                sum[1] = multiply_add(sum[1], tile[32], front[2]);
            tile += 256;
            front += 16;
        }
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

/* Columns of one block row, of a supernode that is inverted in one part: every task assembles the columns
 * that it multiplies with. */
template <typename T>
__device__ __forceinline__ void row_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                            T *u, row_sums<T> &sums) {
    const int thread = threadIdx.x, nc = p.nc, first = p.first, count = p.count, top = GSV_TILE * p.place;
    const T *own_y = y + p.first_column + first;
    block.fronts++;
    {
        T *f = block.front();
        owed_row<T> of_front[2], of_own;
        T right_side[2];
        const int row = STREAM_THREADS - 1 - thread;
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int k = thread + STREAM_THREADS * q;
            of_front[q].nothing();
            right_side[q] = k < count ? own_y[k] : make<T>(0);
            if (k < count)
                block.begin_a(of_front[q], p, k);
        }
        of_own.nothing();
        if (row < p.b_rows && top + row >= nc) /* list b comes with the first piece */
            block.begin_b(of_own, p, row);
#pragma unroll
        for (int q = 0; q < 2; q++)
            f[thread + STREAM_THREADS * q] = block.add_owed(of_front[q], right_side[q]);
        if (p.flags & GSV_PIECE_FIRST) {
            block.owns++;
            sums.clear();
            if (row < GSV_TILE)
                block.own()[row] = block.add_owed(of_own, make<T>(0));
        }
    }
    const T *f = block.front();
    consumers_meet(); /* the front, and own, are complete */
    sums.run(block.panel, f, count);
    const bool last = p.flags & GSV_PIECE_LAST;
    const int i = top + thread, nr = p.nr;
    T *to_x = x + p.first_column + i, *to_u = u + p.update + (i - nc);
    block.release();
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

/*
 * The same for a supernode that is inverted in parts or has many columns. A block row of the triangle
 * assembles its own sixteen rows, adds what the parts before bring, and publishes them; all tasks read them
 * there.
 */
template <typename T>
__device__ __forceinline__ void row_forward_published(stream_block<T> &block, const gsv_piece &p, int parts,
                                                      const T *y, T *x, T *u, T *published,
                                                      row_sums<T> &sums) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, end = p.first + p.count, top = GSV_TILE * p.place;
    const int width = parts > 1 ? gsv_part_columns(nc, parts) : nc, part = top / width;
    const bool last = p.flags & GSV_PIECE_LAST;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update, *f = published + p.published;
    if (p.flags & GSV_PIECE_FIRST) {
        block.owns++;
        sums.clear();
        const int row = STREAM_THREADS - 1 - thread, i = top + row;
        if (row < p.b_rows) {
            owed_row<T> owed;
            block.begin_b(owed, p, row);
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
        T *front = block.front();
        read_front(
            front, to - first, 0, [&](int k) { return &f[first + k]; }, block.state);
        consumers_meet(); /* the front, and own, are complete */
        sums.run(block.panel + 16 * (first - p.first), front, to - first);
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
    block.release();
}

/* ------------------------------------------------------------------------------------------- backward --- */

/* Columns of a narrow supernode, four a warp at a time, eight lanes a column. */
template <typename T>
__device__ __forceinline__ void narrow_backward(stream_block<T> &block, const gsv_piece &p, const T *x, T *y,
                                                T *z) {
    const int thread = threadIdx.x, lane = thread % 32, nr = p.nr, nc = p.nc, first = p.first;
    const int end = first + p.count;
    const T *own_x = x + p.first_column;
    T *own_y = y + p.first_column, *own_z = z + p.published;
    if (p.flags & GSV_PIECE_FIRST) {
        block.fronts++;
        T *f = block.front();
        const int32_t *rows = p.flags & GSV_PIECE_FAR
                                  ? block.plan.upper_rows + p.row
                                  : reinterpret_cast<const int32_t *>(block.list(p.b_ptr_at));
        read_front(
            f, nr, nc, [&](int i) { return i < nc ? own_x + i : z + rows[i]; }, block.state);
        consumers_meet(); /* the front is complete */
    }
    const T *f = block.front();
    const T *panel = block.panel - (gsv_narrow_column(nr, first) + first);
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
    block.release();
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

/* Block rows of sixteen columns, from the last up: a thread has a row of the tiles and columns j and j + 8;
 * every other block row is of another sum, counted from the last. acc: column by column, even and odd. */
template <typename T>
__device__ __forceinline__ void columns_backward(stream_block<T> &block, const gsv_piece &p, int parts,
                                                 const T *x, T *y, T *z, T (&acc)[4]) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, count = p.count, start = GSV_TILE * p.first;
    const int left = 16 * p.place;
    int own_end = nc; /* rows before it have x, those from it on their solution */
    if (parts > 1) {
        const int width = gsv_part_columns(nc, parts), part_end = (left / width + 1) * width;
        own_end = part_end < nc ? part_end : nc;
    }
    const T *own_x = x + p.first_column;
    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int k = 0; k < 4; k++)
            acc[k] = make<T>(0);
    block.fronts++;
    T *f = block.front();
    const int32_t *rows = p.flags & GSV_PIECE_FAR ? block.plan.upper_rows + p.row + start
                                                  : reinterpret_cast<const int32_t *>(block.list(p.b_ptr_at));
    const int rest = nr - start < GSV_TILE * count ? nr - start : GSV_TILE * count;
    read_front(
        f, rest, own_end - start,
        [&](int k) { return start + k < own_end ? own_x + start + k : z + rows[k]; }, block.state);
    for (int k = rest + thread; k < GSV_TILE * count; k += STREAM_THREADS)
        f[k] = make<T>(0);
    consumers_meet(); /* the front is complete */
    {
        const T *at = block.panel + thread, *v = f + thread % 16;
        int b = count - 1; /* a full piece has an even number of block rows: the last one is always even */
        at += 256 * b;
        v += 16 * b;
#pragma unroll 2
        for (; b > 0; b -= 2) {
            const T v0 = v[0], v1 = v[-16];
#pragma unroll
            for (int c = 0; c < 2; c++) {
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v0);
                acc[2 * c + 1] = multiply_add(acc[2 * c + 1], conjugate(at[128 * c - 256]), v1);
            }
            at -= 512;
            v -= 32;
        }
        if (b == 0)
#pragma unroll
            for (int c = 0; c < 2; c++)
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v[0]);
    }
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column;
    const uint32_t place = p.published;
    block.release();
    if (last) {
        /* sums over the sixteen rows, then even and odd: lane bit 3 comes to say which column, bit 2 which of
         * the two */
        int result = 0;
        reduce_lanes<T, 4, 8>::run(acc, thread % 16, result);
        const T total = add(acc[0], shuffle_xor(acc[0], 4));
        const int column = left + thread / 16 + 8 * (result / 2);
        if (thread % 8 == 0 && column < nc) {
            publish(&z[int64_t(place) + column], total);
            y[first_column + column] = total;
        }
    }
}

} // namespace gsv
#endif
