/*
 * x = inv(A) b, A lower triangular of order n <= NMAX, by one block of threads. Upper triangles and
 * transposes are the same with other strides (trsv_problem).
 *
 * Algorithm. With 16 x 16 blocks, W(k) = inv(A(k, k)) and M(i, k) = A(i, k) W(k):
 *
 *   1. all of A and b are requested at once (Hogg: the latency of memory is paid once);
 *   2. all W(k) at the same time, a warp each; then all M(i, k), 8 x 8 x 4 products;
 *   3. for k = 0, 1, ...:  b(i) = b(i) - M(i, k) b(k), i > k
 *   4. x(k) = W(k) b(k)
 *
 * The chain is step 3 alone: a barrier, a product of a warp with 16 numbers, one shuffle. While it runs, the
 * second half of the warps judges every W(k). If one is refused, A is read again and warp 0 solves by
 * substitution.
 *
 * Mapping of step 3. Warp w has rows 16 w ...; lanes 0 .. 15 the first eight columns of M(w, k), lanes 16 ..
 * 31 the others.
 *
 * Traffic: A's lower triangle once, b once. Synchronisation: barriers of the block. Limits: 0 < n <= NMAX,
 * which must fit into shared memory.
 */
#ifndef GSV_TRSV_SMALL_CUH
#define GSV_TRSV_SMALL_CUH

#include "trsv_grid.cuh"

namespace gsv {

template <typename T, int NMAX> struct small_shared {
    static const int LD = NMAX + 4, WLD = 20, WARPS = NMAX / 16, THREADS = 64 * WARPS;
    static const int BYTES = int(sizeof(T)) * (NMAX * LD + WARPS * 16 * WLD + NMAX) +
                             48 * WARPS * int(sizeof(typename traits<T>::real));
};

/* The lower triangle into shared memory, rows and columns from n on as the identity's. */
template <typename T, int NMAX, bool TRANS>
__device__ __forceinline__ void copy_triangle_block(const trsv_problem<T> &p, T *to) {
    constexpr int LD = small_shared<T, NMAX>::LD, WARPS = small_shared<T, NMAX>::THREADS / 32;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, top = (p.n + 15) / 16 * 16;
    for (int slow = warp; slow < top; slow += WARPS)
        for (int fast = lane + (TRANS ? 0 : slow & ~31); fast < (TRANS ? slow + 1 : top); fast += 32) {
            const int i = TRANS ? slow : fast, c = TRANS ? fast : slow;
            if (i < c)
                continue;
            const bool wanted = i < p.n && (i > c || !p.unit);
            if (i == c && !wanted)
                to[i + c * LD] = make<T>(1);
            else
                copy_async(to + i + c * LD, wanted ? p.a + i * p.row_stride + c * p.column_stride : p.a,
                           wanted);
        }
    copies_done();
    if constexpr (traits<T>::is_complex)
        if (p.conj) {
            __syncthreads(); /* every copy is there */
            for (int c = warp; c < top; c += WARPS)
                for (int i = c + lane; i < top; i += 32)
                    to[i + c * LD] = conjugate(to[i + c * LD]);
        }
}

/* judge_inverse_block for a 16 x 16 triangle, by one warp; scratch: 48 numbers. */
template <typename T>
__device__ __forceinline__ bool judge_inverse_16_warp(const T *l, int ld, const T *w, int wld,
                                                      typename traits<T>::real limit,
                                                      typename traits<T>::real *scratch) {
    typedef typename traits<T>::real real;
    const int lane = threadIdx.x & 31, row = lane & 15, first = lane & 16 ? 8 : 0;
    real *e = scratch, *columns = scratch + 16, *v = scratch + 32, rows = 0, below = 0, sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int other = first + k;
        rows += other <= row ? magnitude1(l[row + other * ld]) : 0;
        below += other >= row ? magnitude1(w[other + row * wld]) : 0;
    }
    rows += __shfl_xor_sync(~0u, rows, 16);
    below += __shfl_xor_sync(~0u, below, 16);
    if (lane < 16) {
        e[row] = rows;
        columns[row] = below;
    }
    __syncwarp();
    below = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int other = first + k;
        sum += other <= row ? magnitude1(w[row + other * wld]) * e[other] : 0;
        below += other >= row ? magnitude1(l[other + row * ld]) * columns[other] : 0;
    }
    sum += __shfl_xor_sync(~0u, sum, 16);
    below += __shfl_xor_sync(~0u, below, 16);
    if (lane < 16)
        v[row] = sum;
    __syncwarp();
    sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += first + k <= row ? magnitude1(l[row + (first + k) * ld]) * v[first + k] : 0;
    sum += __shfl_xor_sync(~0u, sum, 16);
    return __all_sync(~0u, sum <= limit * rows && below <= limit);
}

/* Eight numbers of a tile's row times eight of a vector, added to those of the row's other lane. */
template <typename T> __device__ __forceinline__ T half_row_product(const T *m, int ld, const T *v) {
    T acc[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        acc[i] = make<T>(0);
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
        T pair[2];
        load_run(v + k, pair);
        acc[k % 4] = multiply_add(acc[k % 4], m[k * ld], pair[0]);
        acc[k % 4 + 1] = multiply_add(acc[k % 4 + 1], m[(k + 1) * ld], pair[1]);
    }
    const T sum = add(add(acc[0], acc[1]), add(acc[2], acc[3]));
    return add(sum, shuffle_xor(sum, 16));
}

template <typename T, int NMAX, bool TRANS>
__global__ void __launch_bounds__(small_shared<T, NMAX>::THREADS, 1) trsv_small_kernel(trsv_problem<T> p) {
    typedef typename traits<T>::real real;
    typedef small_shared<T, NMAX> shape;
    constexpr int LD = shape::LD, WLD = shape::WLD, WARPS = shape::WARPS;
    extern __shared__ __align__(16) unsigned char raw[];
    T *a = reinterpret_cast<T *>(raw), *w = a + NMAX * LD, *y = w + WARPS * 16 * WLD;
    real *scratch = reinterpret_cast<real *>(y + NMAX);
    const int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31, r = lane & 15, first = lane & 16 ? 8 : 0;
    const int blocks = (p.n + 15) / 16, row = 16 * (warp % WARPS) + r;

    T b = make<T>(0);
    if (row < p.n)
        b = p.x[int64_t(row) * p.x_stride];
    copy_triangle_block<T, NMAX, TRANS>(p, a);
    __syncthreads(); /* A is there */
    if (warp < blocks && warp < WARPS)
        invert_16_warp(a + 16 * warp * (LD + 1), LD, w + warp * 16 * WLD, WLD, lane);
    __syncthreads(); /* every W(k) is there */
    for (int tile = warp; tile < blocks * (blocks - 1) / 2; tile += 2 * WARPS) {
        int k = 0, rest = tile;
        while (rest >= blocks - 1 - k)
            rest -= blocks - 1 - k++;
        T *m = a + 16 * (k + 1 + rest) + 16 * k * LD, top[4], low[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            top[i] = low[i] = make<T>(0);
        multiply_tiles_warp<T, 2>(m, LD, w + k * 16 * WLD, WLD, 0, 16, lane, top);
        multiply_tiles_warp<T, 2>(m + 8, LD, w + k * 16 * WLD, WLD, 0, 16, lane, low);
        __syncwarp(); /* A(i, k) is read */
        store_tiles_warp<T, 2>(m, LD, lane, false, top);
        store_tiles_warp<T, 2>(m + 8, LD, lane, false, low);
    }
    __syncthreads(); /* every M(i, k) is there */
    bool refused = false;
    if (warp < WARPS) {
        for (int k = 0; k < blocks; k++) {
            if (warp == k) {
                if (lane < 16)
                    y[row] = b;
                __syncwarp();
                b = half_row_product(w + k * 16 * WLD + r + first * WLD, WLD, y + 16 * k + first);
            }
            if (k + 1 < blocks) {
                asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory"); /* b(k) stands in y */
                if (warp > k && warp < blocks)
                    b = add(
                        b, negate(half_row_product(a + row + (16 * k + first) * LD, LD, y + 16 * k + first)));
            }
        }
    } else if (warp - WARPS < blocks) {
        const int k = warp - WARPS;
        refused = !judge_inverse_16_warp(a + 16 * k * (LD + 1), LD, w + k * 16 * WLD, WLD, real(300),
                                         scratch + 48 * k);
    }
    if (__syncthreads_or(refused)) {
        copy_triangle_block<T, NMAX, TRANS>(p, a);
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
