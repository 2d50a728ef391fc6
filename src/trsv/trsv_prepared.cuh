/*
 * x = inv(A) b with a prepared lower triangular A: one launch in which a solve is products alone.
 *
 * Operation. A is cut into superblocks of SUPER rows, W(K) = inv(A(K, K)). For K = 0, 1, ...
 *
 *      t(K) = b(K) - sum over J < K of A(K, J) x(J),      x(K) = W(K) t(K)
 *
 * Layout. Slabs of eight rows: slab s has its columns 0 .. 8 s + 7, eight numbers each, one after the other,
 * those of W(K) in the place of A(K, K); it starts at 32 s (s + 1). Everything is read once, in the order in
 * which it lies.
 *
 * Mapping. A block of threads for each slab, in the order in which they are drawn from a counter. 16 bytes,
 * one to four rows of a column, a thread and load; DEPTH loads, and as many numbers of the vector, are under
 * way while as many are summed up. Two or three blocks an SM: more of them with fewer loads each are slower.
 * Sums go over lanes, then over warps, in one order.
 *
 * Synchronisation. t and x are published number by number (published.cuh), buffers and counter as in
 * trsv_grid.cuh. A slab waits for x of superblocks before and for t of slabs up to itself: all drawn before.
 *
 * Cost: n (n + 8) / 2 numbers read; two hops a superblock.
 */
#ifndef GSV_TRSV_PREPARED_CUH
#define GSV_TRSV_PREPARED_CUH

#include "trsv_grid.cuh"

namespace gsv {

enum { SLAB = 8, SUPER = 2048 };

inline __host__ __device__ int64_t slab_start(int64_t slab) {
    return SLAB * SLAB / 2 * slab * (slab + 1);
}

/*
 * A thread's share of a slab: rows ROWS (lane % LANES) .. of every COLUMNS-th column, AHEAD of them a round.
 * The numbers of a round, and those of the vector that they are multiplied with, are asked for while the
 * round before it is summed up. A number of the vector that was not there yet is asked for again, with all
 * others of its round.
 */
template <typename T, int DEPTH> struct slab_stream {
    static const int ROWS = sizeof(T) == 4 ? 4 : 16 / int(sizeof(T)), LANES = SLAB / ROWS;
    static const int COLUMNS = TRSV_THREADS / LANES, AHEAD = DEPTH;
    static const int ROUND = AHEAD * COLUMNS;
    static_assert(SUPER % ROUND == 0, "a round is of one vector");
    T sum[ROWS], a[AHEAD][ROWS], x[AHEAD][1];
    const T *from;   /* this thread's numbers in the columns of the round to be asked for next */
    const T *vector; /* this thread's number of the vector for the round at hand */
    int left;        /* columns of the slab from this thread's first of the round to be asked for */

    __device__ __forceinline__ slab_stream(const T *slab, int end)
        : from(slab + threadIdx.x * ROWS), vector(nullptr), left(end - int(threadIdx.x) / LANES) {
        clear();
    }
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sum[r] = make<T>(0);
    }
    __device__ __forceinline__ void request_numbers(int i) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            a[i][r] = make<T>(0);
        if (i * COLUMNS < left)
            load_panel_run(from + i * (COLUMNS * SLAB), a[i]);
    }
    /* to: this thread's number of the vector in that round. */
    __device__ __forceinline__ void request_vector(int i, const T *to) {
        x[i][0] = make<T>(0);
        if (i * COLUMNS < left)
            load_published(to + i * COLUMNS, x[i]);
    }
    __device__ __forceinline__ void requested(const T *to) {
        from += ROUND * SLAB;
        left -= ROUND;
        vector = to;
    }
    /* sum += the round at hand; ask for the next. */
    __device__ __forceinline__ void run(const T *next, unsigned *gave_up) {
        wait_warp(gave_up);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] = multiply_add(sum[r], a[i][r], x[i][0]);
            request_numbers(i);
            request_vector(i, next);
        }
        requested(next);
    }
    /* Until the numbers of the round at hand are there; as wait_published_warp. */
    __device__ __forceinline__ void wait_warp(unsigned *gave_up) {
        long long begin = 0;
        for (;;) {
            bool empty = false;
#pragma unroll
            for (int i = 0; i < AHEAD; i++)
                empty |= is_absent(x[i][0]);
            if (!__any_sync(~0u, empty))
                return;
            if (begin == 0)
                begin = clock64();
            if (__any_sync(~0u, clock64() - begin > WAIT_LIMIT))
                break;
#pragma unroll
            for (int i = 0; i < AHEAD; i++)
                if (i * COLUMNS < left + ROUND)
                    load_published(vector + i * COLUMNS, x[i]);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            x[i][0] = not_a_number<T>();
        *gave_up = 1;
    }
    /* Thread i < SLAB of the block gets the sum of row i; partial: SLAB TRSV_WARPS numbers. */
    __device__ __forceinline__ T total_block(T *partial) {
#pragma unroll
        for (int step = 16; step >= LANES; step /= 2)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] = add(sum[r], shuffle_xor(sum[r], step));
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        if (lane < LANES)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                partial[warp * SLAB + lane * ROWS + r] = sum[r];
        __syncthreads(); /* the warps' sums are complete */
        T total = make<T>(0);
        if (threadIdx.x < SLAB)
#pragma unroll
            for (int w = 0; w < TRSV_WARPS; w++)
                total = add(total, partial[w * SLAB + threadIdx.x]);
        return total;
    }
};

/* numbers: the slabs. buffers: 2 turns of t and x, `capacity` numbers each. */
template <typename T, int DEPTH, int RESIDENT>
__global__ void __launch_bounds__(TRSV_THREADS, RESIDENT)
    trsv_prepared_kernel(int n, const T *numbers, T *x, int64_t x_stride, trsv_state *state, T *buffers,
                         int64_t capacity, int slabs, bool prefetch) {
    typedef slab_stream<T, DEPTH> stream;
    __shared__ unsigned long long drawn;
    __shared__ T partial[2][SLAB * TRSV_WARPS];
    const int tid = threadIdx.x;
    if (tid == 0) {
        const unsigned long long number = atomicAdd(&state->counter, 1ull);
        if (unsigned(number) == unsigned(slabs - 1)) { /* the last: nobody draws any more */
            *(volatile unsigned long long *)&state->counter = ((number >> 32) + 1) << 32;
            __threadfence(); /* before the next launch draws */
        }
        drawn = number;
    }
    __syncthreads(); /* the number is there */
    const int s = int(unsigned(drawn)), turn = int(drawn >> 32) & 1;
    const int row = s * SLAB + tid, before = s * SLAB / SUPER * SUPER, end = min((s + 1) * SLAB, n);
    T *t = buffers + int64_t(turn) * 2 * capacity, *published = t + capacity;
    const T *slab = numbers + slab_start(s), *mine = published + tid / stream::LANES;
    const int rounds = (end + stream::ROUND - 1) / stream::ROUND, change = before / stream::ROUND;

    stream in(slab, end);
#pragma unroll
    for (int i = 0; i < stream::AHEAD; i++)
        in.request_numbers(i);
    /* what comes before was written by gpusolve_trsv_prepare, which waited, or is this kernel's alone */
    wait_for_earlier_kernels();
#pragma unroll
    for (int i = 0; i < stream::AHEAD; i++)
        in.request_vector(i, change == 0 ? mine - capacity : mine);
    in.requested(change == 0 ? mine - capacity : mine);
    T b = make<T>(0);
    if (tid < SLAB && row < n)
        b = x[int64_t(row) * x_stride];
    if (tid < 2 * SLAB) { /* empty what the launch before has published: this slab's share of t and x */
        T *other =
            buffers + int64_t(turn ^ 1) * 2 * capacity + (tid < SLAB ? 0 : capacity) + s * SLAB + tid % SLAB;
#pragma unroll
        for (int i = 0; i < int(sizeof(T)) / 4; i++)
            reinterpret_cast<int *>(other)[i] = -1;
    }
    /* what will be read of W, into L2, while x is waited for */
    if (change > 0 && prefetch)
        for (int line = tid * 128; line < (end - before) * SLAB * int(sizeof(T)); line += TRSV_THREADS * 128)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(
                reinterpret_cast<const char *>(slab + int64_t(before) * SLAB) + line));
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        if (r == change) { /* all x before the superblock's are in: t */
            if (r > 0)
                b = add(b, negate(in.total_block(partial[0])));
            if (tid < SLAB && row < n)
                publish(t + row, b);
            in.clear();
        }
        const T *next = mine + (r + 1) * stream::ROUND;
        in.run(r + 1 < change ? next : next - capacity, &state->gave_up);
    }
    /* not sooner: its blocks would take places among this one's, and the work would be dealt out unevenly */
    let_next_kernel_start();
    const T result = in.total_block(partial[1]);
    if (tid < SLAB && row < n) {
        publish(published + row, result);
        x[int64_t(row) * x_stride] = result;
    }
}

/* Slabs from the lower triangle p and, in superblock K, from w with its own strides: rows and columns first
 * .. first + size - 1
 * of the triangle, a block of threads for each slab. */
template <typename T>
__global__ void pack_slabs_kernel(trsv_problem<T> p, const T *w, int64_t w_row_stride,
                                  int64_t w_column_stride, int first, T *numbers) {
    const int s = first / SLAB + int(blockIdx.x);
    T *to = numbers + slab_start(s);
    for (int k = threadIdx.x; k < (s + 1) * SLAB * SLAB; k += blockDim.x) {
        const int i = s * SLAB + k % SLAB, j = k / SLAB;
        T v = make<T>(0);
        if (i < p.n && j < first)
            v = p.a[i * p.row_stride + j * p.column_stride];
        else if (i < p.n && j <= i)
            v = w[(i - first) * w_row_stride + (j - first) * w_column_stride];
        to[k] = conjugate_if(p.conj, v);
    }
}

/* The identity of order n, leading dimension n. */
template <typename T> __global__ void identity_kernel(int n, T *to) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n * n; k += gridDim.x * blockDim.x)
        to[k] = make<T>(k % n == k / n ? 1 : 0);
}

/* A step of judge_inverse_block for a large lower triangle m: out(i) = sum over j of |m(i, j)| v(j); v NULL:
 * ones. A warp for each i. With `over`, out(0) becomes at least out(i) / over(i) instead; a NaN becomes
 * infinity. */
template <typename T>
__global__ void absolute_product_kernel(int n, const T *m, int64_t row_stride, int64_t column_stride,
                                        bool unit, const double *v, const double *over, double *out) {
    const int i = blockIdx.x;
    double sum = 0;
    for (int j = threadIdx.x; j <= i; j += 32) {
        const double a = i == j && unit ? 1 : double(magnitude1(m[i * row_stride + j * column_stride]));
        sum += a * (v ? v[j] : 1);
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x > 0)
        return;
    if (!over) {
        out[i] = sum;
        return;
    }
    const double ratio = sum / over[i];
    atomicMax(reinterpret_cast<unsigned long long *>(out),
              (unsigned long long)__double_as_longlong(ratio <= 1e300 ? ratio : INFINITY));
}

} // namespace gsv
#endif
