/*
 * x = inv(A) b, A lower triangular of order n <= NMAX, by one block of threads. Upper triangles and
 * transposes are the same with other strides (trsv_problem).
 *
 * Algorithm. With 16 x 16 blocks, W(k) = inv(A(k, k)) and M(k) = A(k, k-1) W(k-1):
 *
 *   1. all of A and b are requested at once (Hogg: the latency of memory is paid once);
 *   2. all W(k) at the same time, a warp each; then all M(k);
 *   3. for k = 0, 1, ...: a barrier, then at the same time
 *          warp k          x(k) = W(k) b(k)
 *          warp k + 1      b(k+1) = b(k+1) - M(k+1) b(k) - A(k+1, k-1) x(k-1)
 *          warps i below   b(i) = b(i) - A(i, k-1) x(k-1)
 *
 * So a step of the chain is a barrier and one product of a warp with 16 numbers (two side by side): neither W
 * nor any other product stands on it. Meanwhile warps of their own judge every W(k). If one is refused, A is
 * read again and warp 0 solves by substitution.
 *
 * Mapping of step 3. Warp w has rows 16 w ...; lanes 0 .. 15 the first eight columns of a tile, lanes 16 ..
 * 31 the others.
 *
 * Traffic: A's lower triangle once, b once. Synchronisation: barriers of the block, in step 3 of its first
 * warps alone. Limits: 0 < n <= NMAX, which must fit into shared memory.
 */
#ifndef GSV_TRSV_SMALL_CUH
#define GSV_TRSV_SMALL_CUH

#include "trsv_grid.cuh"

namespace gsv {

template <typename T, int NMAX, bool TRANS> struct small_shared {
    /* transposed numbers of 8 bytes are stored 2 rows by 8 columns at a time */
    static const int LD = TRANS && sizeof(T) == 8 ? NMAX + 2 : NMAX + 4, WLD = 20, WARPS = NMAX / 16,
                     JUDGES = NMAX > 64 ? 4 : WARPS;
    static const int THREADS = 4 * NMAX; /* of which WARPS solve and JUDGES judge; all of them load A */
    static const int BYTES = int(sizeof(T)) * (NMAX * LD + WARPS * 16 * WLD + 2 * NMAX) +
                             16 * WARPS * int(sizeof(typename traits<T>::real));
};

/*
 * The lower triangle into shared memory, rows and columns from n on as the identity's, all of it requested
 * before any is stored. A warp reads 32 rows of a column or, transposed, 4 rows by 8 columns (2 by 16 of 8
 * bytes), so that it finds whole lines and stores without bank conflicts.
 * A thread has every I-th row of every C-th column. What is above the diagonal is not read; some of it
 * becomes zero.
 */
template <typename T, int NMAX, bool TRANS>
__device__ __forceinline__ void copy_triangle_block(const trsv_problem<T> &p, T *to) {
    constexpr int LD = small_shared<T, NMAX, TRANS>::LD, WARPS = small_shared<T, NMAX, TRANS>::THREADS / 32;
    constexpr int ROWS = !TRANS ? 32 : sizeof(T) == 8 ? 2 : 4, COLUMNS = 32 / ROWS;
    constexpr int DOWN = WARPS < 32 / ROWS ? WARPS : 32 / ROWS; /* warps below one another */
    constexpr int I = ROWS * DOWN, C = COLUMNS * (WARPS / DOWN), TALL = NMAX / I, WIDE = NMAX / C;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = ROWS * (warp % DOWN) + lane % ROWS, column = COLUMNS * (warp / DOWN) + lane / ROWS;
    const T *from = p.a + row * p.row_stride + column * p.column_stride;
    const int64_t down = I * p.row_stride, across = C * p.column_stride;
    T a[WIDE][TALL];
#pragma unroll
    for (int w = 0; w < WIDE; w++) {
#pragma unroll
        for (int t = 0; t < TALL; t++) {
            if (I * (t + 1) <= C * w) /* all above the diagonal */
                continue;
            const bool below = I * t >= C * (w + 1); /* all of it */
            const int i = row + I * t, c = column + C * w;
            a[w][t] = make<T>(!below && i == c ? 1 : 0);
            if (i < p.n && (below || i >= c + int(p.unit)))
                a[w][t] = from[t * down];
        }
        from += across;
    }
    to += row + column * LD;
#pragma unroll
    for (int w = 0; w < WIDE; w++)
#pragma unroll
        for (int t = 0; t < TALL; t++)
            if (I * (t + 1) > C * w)
                to[I * t + C * w * LD] = conjugate_if(p.conj, a[w][t]);
}

/* w = inv(l), 16 x 16, zeros above the diagonal, by one warp. */
template <typename T>
__device__ __forceinline__ void invert_16_warp(const T *l, int ld, T *w, int wld, int lane) {
    const int second = lane >> 3 & 1; /* lanes 16 .. 31 do the same */
    invert_8_warp(l + 8 * second * (ld + 1), ld, w + 8 * second * (wld + 1), wld, lane);
    __syncwarp();
    T sum[2] = {make<T>(0), make<T>(0)};
    multiply_tiles_warp<T, 1>(l + 8, ld, w, wld, 0, 8, lane, sum);
    store_tiles_warp<T, 1>(w + 8 * wld, wld, lane, false, sum);
    __syncwarp();
    sum[0] = sum[1] = make<T>(0);
    multiply_tiles_warp<T, 1>(w + 8 * (wld + 1), wld, w + 8 * wld, wld, 0, 8, lane, sum);
    __syncwarp();
    store_tiles_warp<T, 1>(w + 8, wld, lane, true, sum);
    sum[0] = sum[1] = make<T>(0);
    store_tiles_warp<T, 1>(w + 8 * wld, wld, lane, false, sum);
}

/* May w stand in for l, 16 x 16? By one warp, with norm(|w| |l|, inf), which is a bound of what
 * judge_inverse_block takes and sooner there. scratch: 16 numbers. */
template <typename T>
__device__ __forceinline__ bool judge_inverse_16_warp(const T *l, int ld, const T *w, int wld,
                                                      typename traits<T>::real limit,
                                                      typename traits<T>::real *scratch) {
    typedef typename traits<T>::real real;
    const int lane = threadIdx.x & 31, row = lane & 15, first = lane & 16 ? 8 : 0;
    real rows = 0, sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        rows += first + k <= row ? magnitude1(l[row + (first + k) * ld]) : 0;
    rows += __shfl_xor_sync(~0u, rows, 16);
    if (lane < 16)
        scratch[row] = rows;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += magnitude1(w[row + (first + k) * wld]) * scratch[first + k];
    sum += __shfl_xor_sync(~0u, sum, 16);
    return __all_sync(~0u, sum <= limit);
}

/* Eight numbers of a tile's row to registers, and their product with eight of a vector. */
template <typename T> __device__ __forceinline__ void half_row(const T *from, int ld, T (&m)[8]) {
#pragma unroll
    for (int k = 0; k < 8; k++)
        m[k] = from[k * ld];
}
template <typename T>
__device__ __forceinline__ void half_row_product(const T (&m)[8], const T *v, T (&acc)[4]) {
    T run[8];
    load_run(v, run);
#pragma unroll
    for (int k = 0; k < 8; k++)
        acc[k % 4] = multiply_add(acc[k % 4], m[k], run[k]);
}

template <typename T, int NMAX, bool TRANS>
__global__ void __launch_bounds__(small_shared<T, NMAX, TRANS>::THREADS, 1)
    trsv_small_kernel(trsv_problem<T> p) {
    typedef typename traits<T>::real real;
    typedef small_shared<T, NMAX, TRANS> shape;
    constexpr int LD = shape::LD, WLD = shape::WLD, WARPS = shape::WARPS;
    extern __shared__ __align__(16) unsigned char raw[];
    T *a = reinterpret_cast<T *>(raw), *w = a + NMAX * LD, *y = w + WARPS * 16 * WLD, *x = y + NMAX;
    real *scratch = reinterpret_cast<real *>(x + NMAX);
    const int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, r = lane & 15, first = lane & 16 ? 8 : 0;
    const int blocks = (p.n + 15) / 16, row = 16 * (warp % WARPS) + r;

    let_next_kernel_start();
    wait_for_earlier_kernels();
    T b = make<T>(0);
    if (row < p.n)
        b = p.x[int64_t(row) * p.x_stride];
    copy_triangle_block<T, NMAX, TRANS>(p, a);
    __syncthreads(); /* A is there */
    if (warp < blocks && warp < WARPS)
        invert_16_warp(a + 16 * warp * (LD + 1), LD, w + warp * 16 * WLD, WLD, lane);
    __syncthreads(); /* every W(k) is there */
    bool refused = false;
    if (warp < WARPS) {
        /* M(w, w-1) in the place of A(w, w-1) */
        T *beside = a + 16 * warp + 16 * (warp - 1) * LD;
        if (warp > 0 && warp < blocks) {
            const T *with = w + (warp - 1) * 16 * WLD;
            T top[4], low[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                top[i] = low[i] = make<T>(0);
            multiply_tiles_warp<T, 2>(beside, LD, with, WLD, 0, 16, lane, top);
            multiply_tiles_warp<T, 2>(beside + 8, LD, with, WLD, 0, 16, lane, low);
            __syncwarp(); /* A(w, w-1) is read */
            store_tiles_warp<T, 2>(beside, LD, lane, false, top);
            store_tiles_warp<T, 2>(beside + 8, LD, lane, false, low);
            __syncwarp(); /* M(w, w-1) is there */
        }
        /* near: M(w, w-1), in the end W(w); far: A(w, k-1) */
        T near[8], far[8];
        half_row(warp > 0 ? beside + r + first * LD : w + r + first * WLD, warp > 0 ? LD : WLD, near);
        half_row(a + row + first * LD, LD, far);
        if (warp == 0 && lane < 16)
            y[row] = b;
#pragma unroll 1
        for (int k = 0; k < blocks; k++) {
            asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory"); /* b(k) and x(k-1) are there */
            if (warp >= blocks || warp < k)
                continue;
            T acc[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                acc[i] = make<T>(0);
            if (warp <= k + 1)
                half_row_product(near, y + 16 * k + first, acc);
            if (warp > k && k > 0)
                half_row_product(far, x + 16 * (k - 1) + first, acc);
            T sum = add(add(acc[0], acc[1]), add(acc[2], acc[3]));
            sum = add(sum, shuffle_xor(sum, 16));
            b = warp == k ? sum : add(b, negate(sum));
            if (warp <= k + 1 && lane < 16)
                (warp == k ? x : y)[row] = b; /* before anything else: others wait for y */
            if (warp == k + 1)
                half_row(w + warp * 16 * WLD + r + first * WLD, WLD, near);
            if (warp > k + 1 && k > 0)
                half_row(a + row + (16 * k + first) * LD, LD, far);
        }
    } else if (warp < WARPS + shape::JUDGES) {
        for (int k = warp - WARPS; k < blocks; k += shape::JUDGES)
            refused |= !judge_inverse_16_warp(a + 16 * k * (LD + 1), LD, w + k * 16 * WLD, WLD,
                                              real(GSV_INVERSION_LIMIT), scratch + 16 * k);
    }
    if (__syncthreads_or(refused)) {
        trsv_problem<T> again = p; /* its places are not kept from the first time: registers are short */
        asm volatile("" : "+l"(again.a), "+l"(again.row_stride), "+l"(again.column_stride));
        copy_triangle_block<T, NMAX, TRANS>(again, a);
        if (warp < WARPS && lane < 16)
            y[row] = row < p.n ? p.x[int64_t(row) * p.x_stride] : make<T>(0);
        __syncthreads(); /* A and b are there again */
        if (warp == 0)
            substitute_warp<T, NMAX, LD>(a, y);
        __syncthreads(); /* x stands in y */
        b = y[row];
    }
    if (warp < WARPS && lane < 16 && row < p.n)
        p.x[int64_t(row) * p.x_stride] = b;
}

} // namespace gsv
#endif
