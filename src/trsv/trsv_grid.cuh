/*
 * x = inv(A) b, A lower triangular of order n, for n of more than a few blocks: one launch, one block of
 * threads for each NB rows, several for each of the last rows of large triangles. Upper triangles and
 * transposes are the same with other strides (trsv_problem).
 *
 * Algorithm. Hogg's globally synchronised TRSV, with other hand-overs. A block draws its number from a
 * counter, and with it a row k of tiles, then
 *
 *   1. reads A(k, k), A(k, k-1) and A(k, k-2), inverts W = inv(A(k, k)), judges W, and, if k is large enough
 * that there is time for it, makes F = W A(k, k-1);
 *   2. t = b(k) - sum over j < k-2 of A(k, j) x(j), each tile in registers before x(j) is waited for;
 *   3. z = W (t - A(k, k-2) x(k-2)), while the block before it is still at work;
 *   4. x(k) = z - F x(k-1)      or, without F,      W (t - A(k, k-2) x(k-2) - A(k, k-1) x(k-1))
 *
 * Step 4 is the critical path of the whole solve: one hop from block to block and one product (or two) with
 * numbers that lie in registers. A W that the judge refuses is not used: then warp 0 solves with A(k, k) by
 * substitution.
 *
 * A row from split.from on has several numbers. Each but the last is for a run of tiles, from the left: its
 * block publishes their sum and ends. The block with the last number has the tiles up to the diagonal, does
 * all the rest, and adds those sums before step 3. Such rows begin when others have ended, and one SM alone
 * reads too slowly to catch up; and runs keep all SMs reading until little is left to read.
 *
 * Mapping. 256 threads. Step 2 without transposition: a warp reads 32 rows of a column, coalesced, and has E
 * columns of a tile; its sums are a row's, one a lane. Transposed: a warp reads 32 columns of a row,
 * coalesced, and has E rows; its sums are of E rows, one column a lane, and are added over the lanes once, at
 * the end. Steps 3 and 4: see row_share. Tiles in shared memory are column-major in both cases.
 *
 * Synchronisation. x, and the sums of runs behind it, travel through `published` (published.cuh: the
 * data is the flag), which a block polls for itself (step 2: warp by warp). Blocks draw ascending numbers and
 * wait for lower ones alone, and whoever has a number runs: no wait can be for ever, in whichever order
 * blocks are started and however few fit on the device. Two buffers take turns: a launch publishes in one and
 * empties what the launch before it has left in the other, so no launch has to wait for its own cleaning and
 * the host resets nothing between replays. The block with the last number sets the counter up for the next
 * launch: nobody will draw again in this one. The next launch may begin when all have drawn, so that it draws
 * while this one is still at work; all else it does afterwards.
 *
 * Traffic. A row's own block asks for a tile, into L2, `ahead` tiles before it is requested: blocks that wait
 * for x fill the memory's idle time, and a block that starts late catches up at the speed of L2. Runs do not:
 * what they multiply with is there.
 *
 * Bits. Every sum has one order, whatever the order in which blocks run.
 *
 * Limits. `split` is of account with SPLIT alone, which takes more instructions: it is for large n. NB
 * numbers for each block of threads must fit into a buffer; split.from >= split.least >= 3.
 *
 * Cost. The triangle once: n (n + NB) / 2 numbers. Per block 2/3 NB^3 operations for W and NB^3 for F, beside
 * the reading.
 */
#ifndef GSV_TRSV_GRID_CUH
#define GSV_TRSV_GRID_CUH

#include "../dense_kernels/overlap.cuh"
#include "../dense_kernels/published.cuh"
#include "../dense_kernels/reduce_lanes.cuh"
#include "../dense_kernels/trsv_invert.cuh"
#include "../trsm/cuda/panels/inverse.h"

namespace gsv {

/* A(i, j) of the lower triangle to be solved with is a[i row_stride + j column_stride], one of the strides
 * being 1 or -1; x(i) is x[i x_stride]. */
template <typename T> struct trsv_problem {
    const T *a;
    int64_t row_stride, column_stride;
    T *x;
    int64_t x_stride;
    int n;
    bool unit, conj;
};

/* Device memory that launches of one stream share. */
struct trsv_state {
    unsigned long long counter; /* launches << 32 | numbers drawn in this one */
    unsigned used[2];           /* bytes that the launch before, and the one before that, published */
    unsigned gave_up;           /* a wait has been given up, ever */
    unsigned padding[11];
};

template <typename T> __device__ __forceinline__ T conjugate_if(bool conj, T a) {
    if constexpr (traits<T>::is_complex)
        if (conj)
            a.im = -a.im;
    return a;
}

/* Rows from `from` on are read by several blocks: one for each whole run of `run` tiles that leaves `least`
 * for the row's own. */
struct trsv_split {
    int from, run, least;
};

/* What a number stands for: part `part` of the `parts` that row k is cut into, the row's own block being part
 * `parts`; `before` parts belong to rows above it. */
struct trsv_task {
    int k, part, parts, before;
};

inline __host__ __device__ int trsv_parts(const trsv_split &split, int k) {
    return k < split.from ? 0 : (k - split.least) / split.run;
}

/* Numbers for all of `blocks` rows. */
inline int trsv_all_tasks(const trsv_split &split, int blocks) {
    int tasks = blocks;
    for (int k = split.from; k < blocks; k++)
        tasks += trsv_parts(split, k);
    return tasks;
}

/* Row by row, a row's own block last. Rows with as many parts are passed over at a time. */
inline __host__ __device__ trsv_task trsv_task_of(const trsv_split &split, int number) {
    trsv_task task = {number, 0, 0, 0};
    int left = number - split.from;
    if (left < 0)
        return task;
    for (task.k = split.from;;) {
        task.parts = trsv_parts(split, task.k);
        const int rows = split.least + (task.parts + 1) * split.run - task.k, mine = left / (task.parts + 1);
        if (mine < rows) {
            task.part = left % (task.parts + 1);
            task.k += mine;
            task.before += mine * task.parts;
            return task;
        }
        left -= rows * (task.parts + 1);
        task.before += rows * task.parts;
        task.k += rows;
    }
}

enum { DEPTH = 2 }; /* tiles in registers or on their way there */

/* Numbers of shared memory that trsv_grid_kernel wants. */
template <typename T, int NB> struct trsv_shared {
    static const int LD = NB + 4;
    static const int TILE = NB * LD;
    static const int BYTES = int(sizeof(T)) * (3 * TILE + TRSV_WARPS * NB + NB + TRSV_THREADS) +
                             2 * NB * int(sizeof(typename traits<T>::real));
};

/*
 * This thread's numbers of A's tile (k, j), requested into registers and put into shared memory: E of them,
 * at place(e). In the diagonal tile only the lower triangle is read; its diagonal is ones where A's is
 * unit and in rows that do not exist. Rows below n: zeros. Not transposed: a warp reads 32 rows of a column.
 * Transposed: 4 rows by 8 columns, 64 bytes of each at a time, which are free of bank conflicts when they are
 * stored (4 LD and LD apart).
 */
template <typename T, int NB, bool TRANS> struct tile_copy {
    static const int E = NB * NB / TRSV_THREADS, LD = trsv_shared<T, NB>::LD;
    T a[E];

    static __device__ __forceinline__ int row(int e) {
        const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, q = warp + TRSV_WARPS * e;
        return TRANS ? 4 * (q % (NB / 4)) + (lane & 3) : threadIdx.x % NB;
    }
    static __device__ __forceinline__ int column(int e) {
        const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, q = warp + TRSV_WARPS * e;
        return TRANS ? 8 * (q / (NB / 4)) + (lane >> 2) : threadIdx.x / NB + TRSV_THREADS / NB * e;
    }
    __device__ __forceinline__ void request(const trsv_problem<T> &p, int k, int j) {
        const T *from = p.a + int64_t(k) * NB * p.row_stride + int64_t(j) * NB * p.column_stride;
        const int rows = p.n - k * NB;
#pragma unroll
        for (int e = 0; e < E; e++) {
            const int i = row(e), c = column(e);
            const bool wanted = i < rows && (k != j || i > c || (i == c && !p.unit));
            a[e] = make<T>(k == j && i == c ? 1 : 0);
            if (wanted)
                a[e] = from[i * p.row_stride + c * p.column_stride];
        }
    }
    __device__ __forceinline__ void store(T *to, bool conj) {
#pragma unroll
        for (int e = 0; e < E; e++)
            to[row(e) + column(e) * LD] = conjugate_if(conj, a[e]);
    }
};

/* This thread's numbers of A's tile (k, j) in row_share's order, to registers. */
template <typename T, int NB>
__device__ __forceinline__ void request_row_numbers(const trsv_problem<T> &p, int k, int j,
                                                    T (&m)[row_share<NB>::E]) {
    typedef row_share<NB> share;
    const int row = k * NB + share::row();
    const T *from = p.a + row * p.row_stride + int64_t(j) * NB * p.column_stride;
#pragma unroll
    for (int e = 0; e < share::E; e++)
        m[e] = row < p.n ? conjugate_if(p.conj, from[share::column(e) * p.column_stride]) : make<T>(0);
}

/* Step 2's reader: this warp's numbers of one tile, and the part of x that they are multiplied with. */
template <typename T, int NB, bool TRANS> struct trsv_stream {
    static const int E = NB * NB / TRSV_THREADS, PARTS = NB / 32;
    static const int ACC = TRANS ? E : 4;
    const T *from;        /* of the tile to be requested next */
    const T *x;           /* published numbers for this lane, of that tile */
    int64_t inner, outer; /* strides from number to number and from tile to tile */
    int live;             /* numbers of this thread that exist */
    int part, group;

    __device__ __forceinline__ trsv_stream(const trsv_problem<T> &p, int k, const T *published) {
        const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
        part = warp % PARTS;
        group = warp / PARTS;
        const int row = k * NB + (TRANS ? group * E : part * 32 + lane),
                  column = TRANS ? part * 32 + lane : group * E;
        inner = TRANS ? p.row_stride : p.column_stride;
        outer = NB * p.column_stride;
        from = p.a + row * p.row_stride + column * p.column_stride;
        x = published + (TRANS ? column : column + lane % E);
        live = TRANS ? min(max(p.n - row, 0), E) : row < p.n ? E : 0;
    }
    __device__ __forceinline__ void request(T (&a)[E], T (&v)[1]) {
#pragma unroll
        for (int e = 0; e < E; e++)
            a[e] = e < live ? load_panel(from + e * inner) : make<T>(0);
        load_published(x, v);
        from += outer;
        x += NB;
    }
    __device__ __forceinline__ void move(int tiles) {
        from += tiles * outer;
        x += tiles * NB;
    }
    /* v is there: the sums of a tile. own: room for NB numbers of this warp. */
    __device__ __forceinline__ void use(const T (&a)[E], T v, bool conj, T *own, T (&acc)[ACC]) {
        if constexpr (TRANS) {
#pragma unroll
            for (int e = 0; e < E; e++)
                acc[e] = multiply_add(acc[e], conjugate_if(conj, a[e]), v);
        } else {
            const int lane = threadIdx.x & 31;
            if (lane < E)
                own[lane] = v;
            __syncwarp();
#pragma unroll
            for (int e = 0; e < E; e++)
                acc[e % 4] = multiply_add(acc[e % 4], conjugate_if(conj, a[e]), own[e]);
        }
    }
};

/* This thread's share of a row of a tile times a vector in shared memory, summed over the row's lanes. */
template <typename T, int NB>
__device__ __forceinline__ T row_product(const T (&m)[row_share<NB>::E], const T *v) {
    typedef row_share<NB> share;
    T acc[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        acc[i] = make<T>(0);
#pragma unroll
    for (int e = 0; e < share::E; e += 2) {
        T pair[2];
        load_run(v + share::column(e), pair);
        acc[e % 4] = multiply_add(acc[e % 4], m[e], pair[0]);
        acc[e % 4 + 1] = multiply_add(acc[e % 4 + 1], m[e + 1], pair[1]);
    }
    return share::sum(add(add(acc[0], acc[1]), add(acc[2], acc[3])));
}

/* The lower triangle of W, or a whole tile, to registers in row_share's order. */
template <typename T, int NB>
__device__ __forceinline__ void row_numbers(const T *tile, bool lower, T (&m)[row_share<NB>::E]) {
    typedef row_share<NB> share;
#pragma unroll
    for (int e = 0; e < share::E; e++)
        m[e] = !lower || share::column(e) <= share::row()
                   ? tile[share::row() + share::column(e) * trsv_shared<T, NB>::LD]
                   : make<T>(0);
}

/* Receive NB numbers of x and multiply this thread's share of a tile's row with them, summed over the row's
 * lanes. Warp 0 polls alone, one load at a time: more of them hold up the numbers that they wait for. v: room
 * for NB numbers, which nobody reads any more. */
template <typename T, int NB>
__device__ __forceinline__ T receive_product_block(const T *from, const T (&m)[row_share<NB>::E], T *v,
                                                   unsigned *gave_up) {
    if (threadIdx.x < 32) {
        constexpr int RUN = NB / 32;
        T received[RUN];
        load_published(from + threadIdx.x * RUN, received);
        wait_published_warp(from + threadIdx.x * RUN, received, 0, gave_up);
        store_run(v + threadIdx.x * RUN, received);
    }
    __syncthreads(); /* the numbers are there */
    return row_product<T, NB>(m, v);
}

/* Ask for the lines of tile (k, j) to come to L2: one a thread. */
template <typename T, int NB, bool TRANS>
__device__ __forceinline__ void prefetch_tile_block(const trsv_problem<T> &p, int k, int j) {
    constexpr int PER = 128 / int(sizeof(T)), LINES = NB / PER;
    const int slow = threadIdx.x / LINES, fast = threadIdx.x % LINES * PER;
    const int i = k * NB + (TRANS ? slow : fast), c = j * NB + (TRANS ? fast : slow);
    if (slow < NB && i < p.n)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p.a + i * p.row_stride + c * p.column_stride));
}

/* acc += the `count` tiles from `in` on, each requested DEPTH tiles before its numbers of x are waited for,
 * and asked for, into L2, `ahead` tiles before that if ASK. Tile i is (k, first + i). */
template <typename T, int NB, bool TRANS, bool ASK>
__device__ __forceinline__ void
stream_tiles_block(const trsv_problem<T> &p, trsv_stream<T, NB, TRANS> &in, int k, int first, int count,
                   int ahead, T *own, unsigned *gave_up, T (&acc)[trsv_stream<T, NB, TRANS>::ACC]) {
    typedef trsv_stream<T, NB, TRANS> stream;
    T a[DEPTH][stream::E], v[DEPTH][1];
    const T *x = in.x;
    if (ASK)
        for (int i = DEPTH; i < min(ahead, count); i++)
            prefetch_tile_block<T, NB, TRANS>(p, k, first + i);
#pragma unroll
    for (int h = 0; h < DEPTH; h++)
        if (h < count)
            in.request(a[h], v[h]);
#pragma unroll 1
    for (int i = 0; i < count; i += DEPTH)
#pragma unroll
        for (int h = 0; h < DEPTH; h++)
            if (i + h < count) {
                if (ASK && i + h + ahead < count)
                    prefetch_tile_block<T, NB, TRANS>(p, k, first + i + h + ahead);
                wait_published_warp(x, v[h], 0, gave_up);
                in.use(a[h], v[h][0], p.conj, own + (h & 1) * stream::E, acc);
                if (i + h + DEPTH < count)
                    in.request(a[h], v[h]);
                x += NB;
            }
}

template <typename T, int NB, bool TRANS, bool SPLIT>
__global__ void __launch_bounds__(TRSV_THREADS, 1)
    trsv_grid_kernel(trsv_problem<T> p, trsv_state *state, T *buffers, int64_t capacity, int blocks,
                     trsv_split split, int fold_from, int ahead) {
    typedef typename traits<T>::real real;
    typedef row_share<NB> share;
    typedef trsv_stream<T, NB, TRANS> stream;
    constexpr int TILE = trsv_shared<T, NB>::TILE, LD = trsv_shared<T, NB>::LD;
    extern __shared__ __align__(16) unsigned char raw[];
    T *l = reinterpret_cast<T *>(raw), *w = l + TILE, *s = w + TILE;
    T *all = s + TILE, *own = all + (threadIdx.x >> 5) * NB, *y = all + TRSV_WARPS * NB, *partial = y + NB;
    real *scratch = reinterpret_cast<real *>(partial + TRSV_THREADS);
    __shared__ unsigned long long drawn;
    if (threadIdx.x == 0) {
        const unsigned long long number = atomicAdd(&state->counter, 1ull);
        if (unsigned(number) == gridDim.x - 1) { /* the last: nobody draws any more */
            *(volatile unsigned long long *)&state->counter = ((number >> 32) + 1) << 32;
            __threadfence(); /* before the next launch draws */
        }
        drawn = number;
    }
    __syncthreads(); /* the number is there */
    let_next_kernel_start();
    wait_for_earlier_kernels();
    const int task = int(unsigned(drawn)), turn = int(drawn >> 32) & 1;
    const trsv_task what = SPLIT ? trsv_task_of(split, task) : trsv_task{task, 0, 0, 0};
    const int k = what.k;
    const bool helps = SPLIT && what.part < what.parts;
    const int tid = threadIdx.x, row = share::row();
    T *published = buffers + turn * capacity, *parts = published + int64_t(blocks + what.before) * NB;

    T far[share::E], m[share::E], near[share::E]; /* A(k, k-2), W, and F or A(k, k-1) */
    if (!helps) {
        tile_copy<T, NB, TRANS> diagonal, beside;
        diagonal.request(p, k, k);
        if (k > 0)
            beside.request(p, k, k - 1);
        if (k > 1)
            request_row_numbers<T, NB>(p, k, k - 2, far);
        diagonal.store(l, p.conj);
        if (k > 0)
            beside.store(s, p.conj);
    }
    const int first = SPLIT ? what.part * split.run : 0, count = helps ? split.run : k - 2 - first;
    T b = make<T>(0);
    if (tid < NB && k * NB + tid < p.n)
        b = p.x[int64_t(k * NB + tid) * p.x_stride];
    { /* empty what the launch before has published in the other buffer */
        const unsigned words = *(volatile unsigned *)&state->used[turn ^ 1] / 16;
        int4 *other = reinterpret_cast<int4 *>(buffers + (turn ^ 1) * capacity);
        for (unsigned i = unsigned(task) * TRSV_THREADS + tid; i < words; i += gridDim.x * TRSV_THREADS)
            other[i] = make_int4(-1, -1, -1, -1);
        if (task == int(gridDim.x) - 1 && tid == 0)
            *(volatile unsigned *)&state->used[turn] = unsigned(gridDim.x * NB * sizeof(T));
    }
    bool inverted = false, folded = false;
    if (!helps) {
        __syncthreads(); /* the tiles are there */
        invert_block<T, NB>(l, w, LD);
        inverted = judge_inverse_block<T, NB>(l, w, LD, real(GSV_INVERSION_LIMIT), scratch);
        folded = inverted && k >= fold_from;
        if (folded)
            fold_block<T, NB>(w, s, LD);
        row_numbers<T, NB>(w, true, m);
        row_numbers<T, NB>(s, false, near);
    }
    if (k > 2) {
        stream in(p, k, published);
        T acc[stream::ACC];
#pragma unroll
        for (int i = 0; i < stream::ACC; i++)
            acc[i] = make<T>(0);
        in.move(first);
        if (helps)
            stream_tiles_block<T, NB, TRANS, false>(p, in, k, first, count, 0, own, &state->gave_up, acc);
        else
            stream_tiles_block<T, NB, TRANS, true>(p, in, k, first, count, ahead, own, &state->gave_up, acc);
        if constexpr (TRANS) {
            int base = 0;
            reduce_lanes<T, stream::E, 16>::run(acc, tid & 31, base);
            if (tid % reduce_lanes<T, stream::E, 16>::COPIES == 0)
                partial[in.part * NB + in.group * stream::E + base] = acc[0];
        } else {
            partial[in.group * NB + in.part * 32 + (tid & 31)] =
                add(add(acc[0], acc[1]), add(acc[2], acc[3]));
        }
        constexpr int GROUPS = TRSV_WARPS / stream::PARTS;
        if (SPLIT && !helps && what.parts > 0) { /* a group of warps adds every GROUPS-th of the parts */
            T sum = make<T>(0);
#pragma unroll 1
            for (int q = in.group; q < what.parts; q += GROUPS) {
                const T *from = parts + q * NB + in.part * 32 + (tid & 31);
                T other[1];
                load_published(from, other);
                wait_published_warp(from, other, 0, &state->gave_up);
                sum = add(sum, other[0]);
            }
            __syncwarp(); /* all have done with this warp's numbers of x */
            own[tid & 31] = sum;
        }
        __syncthreads(); /* the partial sums are complete */
        if (tid < NB) {
            T sum = partial[tid];
#pragma unroll
            for (int i = 1; i < (TRANS ? stream::PARTS : GROUPS); i++)
                sum = add(sum, partial[i * NB + tid]);
            if (helps)
                publish(parts + what.part * NB + tid, sum);
            else if (SPLIT && what.parts > 0)
#pragma unroll
                for (int i = 0; i < GROUPS; i++)
                    sum = add(sum, all[(i * stream::PARTS + tid / 32) * NB + tid % 32]);
            b = add(b, negate(sum));
        }
        if (helps)
            return;
    }
    if (tid < NB)
        y[tid] = b;
    __syncthreads(); /* b less the sums stands in y */

    /* With x(k-2), then with x(k-1): one piece of code, so that the second round, for which all others wait,
     * finds its instructions at hand; the first one publishes to where nobody looks. */
    T result = y[row];
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        const int from = k - 2 + round;
        if (from >= 0)
            result =
                add(result,
                    negate(receive_product_block<T, NB>(published + from * NB, far, all, &state->gave_up)));
        if (round == 0 || !folded) {
            T *v = partial + round * NB;
            if (tid % share::LANES == 0)
                v[row] = result;
            __syncthreads(); /* the right-hand side of this block is complete */
            if (inverted && (round == 1 || folded)) {
                result = row_product<T, NB>(m, v);
            } else if (round == 1) {
                if (tid < 32)
                    substitute_warp<T, NB, LD>(l, v);
                __syncthreads(); /* x(k) is complete */
                result = v[row];
            }
        }
        T *to = round == 0 ? buffers + 2 * capacity : published + k * NB;
        if (tid % share::LANES == 0 && k * NB + row < p.n)
            publish(to + row, result);
#pragma unroll
        for (int e = 0; e < share::E; e++)
            far[e] = near[e];
    }
    if (tid % share::LANES == 0 && k * NB + row < p.n)
        p.x[int64_t(k * NB + row) * p.x_stride] = result;
}

} // namespace gsv
#endif
