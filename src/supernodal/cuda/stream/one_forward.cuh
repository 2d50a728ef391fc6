/*
 * The work on each kind of piece of the forward stream (stream.h), by the warps of a block that read it, in
 * three steps: prepare requests what the vector of a piece is made of; complete waits for it, leaves the vector
 * in shared memory and meets the other warps; multiply does the rest, and gives the slot back. A piece is
 * prepared before the one ahead of it is multiplied with, if it is in the ring by then and no warp had to wait for the
 * one ahead. A block that had to wait is on the critical path, so it does not prepare the next piece. The order of every
 * sum is that of cuda/stream/one.cuh.
 */
#ifndef GSV_CUDA_STREAM_ONE_FORWARD_CUH
#define GSV_CUDA_STREAM_ONE_FORWARD_CUH

#include "front.cuh"

namespace gsv {

/* The product of a block row with columns 0 .. columns - 1 from tile on, to be finished: half a warp has the
 * columns of two remainders mod 16, and a lane the sums of one row. */
template <typename T> struct row_sums {
    T sum[2];
    __device__ __forceinline__ void clear() {
        sum[0] = sum[1] = make<T>(0);
    }
    template <typename P> __device__ __forceinline__ void run(const P *tile, const T *front, int columns) {
        int k = threadIdx.x / 32 * 4 + threadIdx.x / 16 % 2;
        tile += 16 * k + threadIdx.x % 16;
        front += k;
#pragma unroll 6
        for (; k + 2 < columns; k += 16) {
            sum[0] = multiply_add(sum[0], number_as<T>(tile[0]), front[0]);
            sum[1] = multiply_add(sum[1], number_as<T>(tile[32]), front[2]);
            tile += 256;
            front += 16;
        }
        if (k < columns)
            sum[0] = multiply_add(sum[0], number_as<T>(tile[0]), front[0]);
    }
    /* What this warp has for row lane % 16. */
    __device__ __forceinline__ T of_warp() const {
        return add(add(sum[0], shuffle_xor(sum[0], 16)), add(sum[1], shuffle_xor(sum[1], 16)));
    }
    /* A row, of what the warps have left: at[0], at[16], ... */
    static __device__ __forceinline__ T of_block(const T *at) {
        return add(add(at[0], at[16]), add(at[32], at[48]));
    }
};

/* Does every task of the supernode read its front where a few have published it? */
__device__ __forceinline__ bool is_published(const gsv_piece &p) {
    return p.flags & GSV_PIECE_PUBLISHED;
}

/* And is the piece of such a task? The others publish it. */
__device__ __forceinline__ bool reads_published(const gsv_piece &p) {
    return p.kind != GSV_FRONT_PIECE;
}

/* What a thread has of up to EACH STREAM_THREADS published numbers. Number k is at(k). */
template <typename T, int EACH> struct published_numbers {
    T value[EACH];
    static __device__ __forceinline__ int place(int q) {
        return int(threadIdx.x) + STREAM_THREADS * q;
    }
    template <typename At> __device__ __forceinline__ void request(int count, At at) {
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count)
                load_relaxed(at(place(q)), value[q]);
    }
    __device__ __forceinline__ bool lacks(int q, int count) const {
        return place(q) < count && is_absent(value[q]);
    }
    __device__ __forceinline__ bool lacks_any(int count) const {
        if constexpr (EACH == 2)
            return lacks(0, count) || lacks(1, count);
        return lacks(0, count) || lacks(1, count) || lacks(EACH - 1, count);
    }
    /* Returns whether this thread had to wait. */
    template <typename At>
    __device__ __forceinline__ bool finish(T *to, int count, At at, gsv_stream_state *state) {
        const bool waited = poll([&]() { return lacks_any(count); },
                                 [&](bool stop) {
#pragma unroll
                                     for (int q = 0; q < EACH; q++)
                                         if (lacks(q, count)) {
                                             if (stop)
                                                 value[q] = not_a_number<T>();
                                             else
                                                 load_relaxed(at(place(q)), value[q]);
                                         }
                                 },
                                 state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count)
                to[place(q)] = value[q];
        return waited;
    }
};

/* Is this a block row's last piece? */
__device__ __forceinline__ bool ends_row(const gsv_piece &p) {
    return p.first + p.count >= gsv_block_row_columns(p.nc, p.place);
}

/* Which rows of a published front a piece multiplies with, or the next piece of its block row: sixteen of sixteen,
 * or, if its block row is shared, eight or four of them. */
struct published_rows {
    int first, shift, count;
    __device__ __forceinline__ published_rows(const gsv_piece &p, bool next = false) {
        const bool share = p.kind == GSV_SHARE_PIECE;
        const int start = p.first + (next ? p.count : 0), left = gsv_block_row_columns(p.nc, p.place) - start,
                  columns = p.count < left ? p.count : left;
        first = start + (share ? p.left : 0);
        shift = share ? share_shift(p) : 4;
        count = share ? shared_columns(p, columns) : columns;
    }
    __device__ __forceinline__ int operator()(int k) const {
        return first + ((k >> shift) << 4) + (k & ((1 << shift) - 1));
    }
};

/* What a thread has requested for the vector of a piece: what the children owe, and the right-hand side of up
 * to two rows; or published rows. */
template <typename N> struct forward_rows {
    typedef vector_number<N> T;
    owed_terms<N> owed;
    T right_side[2];
    published_numbers<T, (stream_room<N>::PUBLISHED + STREAM_THREADS - 1) / STREAM_THREADS> read;

    __device__ __forceinline__ void request_published(const gsv_piece &p, const T *published,
                                                      bool next = false) {
        const T *f = published + p.published;
        const published_rows of(p, next);
        read.request(of.count, [&](int k) { return f + of(k); });
    }
    __device__ __forceinline__ void prepare(const stream_block<N> &block, const stream_header &header,
                                            const T *y, const T *published) {
        const gsv_piece &p = header.piece;
        int first = p.a_first, rows = p.a_rows;
        if (p.kind == GSV_NARROW_PIECE) {
            first = 0;
            rows = p.nc;
        } else if (is_published(p)) {
            first = p.b_first;
            rows = p.nc - first < p.b_rows ? p.nc - first : p.b_rows;
            if (reads_published(p))
                request_published(p, published);
        }
        owed.request(block, p);
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int k = threadIdx.x + STREAM_THREADS * q;
            right_side[q] = make<T>(0);
            if (k < rows)
                right_side[q] = y[p.first_column + first + k];
        }
    }
};

/* The vector of a piece, unless the task has it from pieces before; a narrow supernode's rows below its columns
 * stay in acc. Returns whether this thread had to wait. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ bool complete_forward(stream_block<N> &block, const gsv_piece &p,
                                                 forward_rows<N> &rows, T (&acc)[2]) {
    const int thread = threadIdx.x;
    const bool narrow = p.kind == GSV_NARROW_PIECE;
    const bool begins = p.flags & GSV_PIECE_FIRST, first = !narrow && begins;
    if (!begins && (narrow || p.a_rows == 0))
        return false;
    block.fronts += begins;
    T *f = block.front() + (narrow ? 0 : p.a_first);
    const int rows_of = narrow ? p.nr : p.a_rows, columns = narrow ? p.nc : p.a_rows;
    /* the other end first: those threads have less to do for the front */
    const int row = STREAM_THREADS - 1 - thread;
    const bool owns = first && row < p.b_rows && p.b_first + row >= p.nc;
    owed_span owed[3];
    T sum[3] = {rows.right_side[0], rows.right_side[1], make<T>(0)};
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int k = thread + STREAM_THREADS * q;
        owed[q] = {-1, 0, 0};
        if (k < rows_of)
            owed[q] = narrow ? block.owed_b(p, k) : block.owed_a(p, k);
    }
    owed[2] = {-1, 0, 0};
    if (owns)
        owed[2] = block.owed_b(p, row);
    const bool far = p.flags & GSV_PIECE_FAR;
    const bool waited = rows.owed.finish(block);
    consumers_meet(); /* the terms are there */
    block.add_owed(far, owed, sum);
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int k = thread + STREAM_THREADS * q;
        if (k < columns)
            f[k] = sum[q];
        if (narrow)
            acc[q] = k < columns ? make<T>(0) : sum[q];
    }
    if (first) {
        block.owns++;
        if (owns)
            block.own()[row] = sum[2];
    }
    consumers_meet(); /* the front, and own, are complete */
    return waited;
}

/* Columns of a narrow supernode, two rows a thread. acc goes on from piece to piece. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void narrow_forward(stream_block<N> &block, const stream_header &header,
                                               uint64_t *empty, T *x, T *u, T (&acc)[2]) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, first = p.first, end = first + p.count;
    const bool last = p.flags & GSV_PIECE_LAST, tall = nr > STREAM_THREADS;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    const T *f = block.front() + first;
    const panel_number<N> *column = block.panel(header) + thread - first;
#pragma unroll 4
    for (int k = first; k < end; k++) {
        const T b = *f++;
        if (thread >= k && thread < nr)
            acc[0] = multiply_add(acc[0], number_as<T>(column[0]), b);
        if (tall && thread + STREAM_THREADS < nr)
            acc[1] = multiply_add(acc[1], number_as<T>(column[STREAM_THREADS]), b);
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
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void tiles_forward(stream_block<N> &block, const stream_header &header,
                                              uint64_t *empty, T *x, T *u) {
    const gsv_piece &p = header.piece;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int nr = p.nr, nc = p.nc, count = p.count, first = p.first;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    const T *f = block.front(), *own = block.own();
    const int start = int(gsv_block_row_start(nc, first));
    T acc[2] = {make<T>(0), make<T>(0)};
    int columns[2] = {0, 0};
    const panel_number<N> *tile[2];
    const T *v = f + lane / 16;
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int b = warp + STREAM_WARPS * q;
        if (b < count)
            columns[q] = gsv_block_row_columns(nc, first + b);
        tile[q] = block.panel(header) + (int(gsv_block_row_start(nc, first + b)) - start) + lane;
    }
    /* the second, if there is one, has no fewer columns: they go together as far as the first goes */
    const bool second = columns[1] > 0;
    const int together = second ? columns[0] : 0;
    int k = lane / 16;
#pragma unroll 4
    for (; k < together; k += 2) {
        acc[0] = multiply_add(acc[0], number_as<T>(*tile[0]), *v);
        acc[1] = multiply_add(acc[1], number_as<T>(*tile[1]), *v);
        tile[0] += 32;
        tile[1] += 32;
        v += 2;
    }
    T rest = second ? acc[1] : acc[0];
    const panel_number<N> *at = second ? tile[1] : tile[0];
#pragma unroll 8
    for (const int end = second ? columns[1] : columns[0]; k < end; k += 2) {
        rest = multiply_add(rest, number_as<T>(*at), *v);
        at += 32;
        v += 2;
    }
    acc[0] = second ? acc[0] : rest;
    acc[1] = second ? rest : acc[1];
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

/* Columns of one block row. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void row_forward(stream_block<N> &block, const stream_header &header,
                                            uint64_t *empty, T *x, T *u, row_sums<T> &sums) {
    const gsv_piece &p = header.piece;
    const int thread = threadIdx.x, nc = p.nc, nr = p.nr, i = GSV_TILE * p.place + thread,
              below = i - p.b_first;
    const bool last = ends_row(p);
    T *to_x = x + p.first_column + i, *to_u = u + p.update + (i - nc);
    if (p.first == 0)
        sums.clear();
    sums.run(block.panel(header), block.front() + p.a_first, p.count);
    block.release(empty);
    if (last) {
        block.partials++;
        T *partial = block.partial();
        const T mine = sums.of_warp();
        if (thread % 32 < 16)
            partial[thread / 32 * 16 + thread % 16] = mine;
        consumers_meet(); /* the warps' sums are there */
        if (thread < 16) {
            const T total = row_sums<T>::of_block(partial + thread);
            if (i < nc)
                *to_x = total;
            else if (i < nr)
                publish(to_u, add(block.own()[below], total));
        }
    }
}

/* All columns of two block rows. */
template <typename N, typename T = vector_number<N>>
__device__ __forceinline__ void pair_forward(stream_block<N> &block, const stream_header &header,
                                             uint64_t *empty, T *x, T *u) {
    const gsv_piece &p = header.piece;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, nc = p.nc, nr = p.nr;
    const int columns = gsv_block_row_columns(nc, p.place),
              below = GSV_TILE * (p.place + warp) - p.b_first + lane;
    const int i = p.b_first + below;
    T *to_x = x + p.first_column + i, *to_u = u + p.update + (i - nc);
    const panel_number<N> *panel = block.panel(header);
    const T *f = block.front();
    row_sums<T> sums[2];
    sums[0].clear();
    sums[1].clear();
    sums[0].run(panel, f, columns);
    sums[1].run(panel + GSV_TILE * columns, f, p.count);
    block.release(empty);
    block.partials++;
    T *partial = block.partial();
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const T mine = sums[q].of_warp();
        if (lane < 16)
            partial[64 * q + 16 * warp + lane] = mine;
    }
    consumers_meet(); /* the warps' sums are there */
    if (lane < 16 && warp < 2) {
        const T total = row_sums<T>::of_block(partial + 64 * warp + lane);
        if (i < nc)
            *to_x = total;
        else if (i < nr)
            publish(to_u, add(block.own()[below], total));
    }
}

} // namespace gsv
#endif
