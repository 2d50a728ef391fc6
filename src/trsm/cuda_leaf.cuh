/*
 * solve and multiply of cuda_leaf.h.
 *
 * Solve, after Hogg's triangular solve with one launch, for N vectors at a time:
 *
 *      x(i) = W_i (alpha b(i) - sum over j < i of T(i, j) x(j)),      blocks i of 64 rows, W_i = inv(T(i, i))
 *
 * A task is one block i of one group of N vectors. Thread blocks draw tasks in the order of i, so what a task
 * waits for was drawn by a thread block that is running, the lowest unfinished task waits for nothing, and
 * every wait ends. x(j) is handed over as data that is its own flag (published.cuh): [group][row][N].
 *
 * The sum over j < i - 1 is split over the warps: warp w takes columns 8 w .. 8 w + 7 of every T(i, j), all
 * 64 rows, with tensor cores (fragment.cuh). So every entry of T is read by one lane, straight into the
 * register that the product wants it in, requested one block ahead, before x(j) is waited for; every entry of
 * x(j) by one warp (four lanes hold the same without tensor cores). No barrier, no shared memory. At the end
 * the eight warps' sums are added in the order of w.
 *
 * What the next task waits for is the short way from x(i - 1) to x(i): T(i, i - 1) and W_i are in registers
 * by then, x(i - 1) goes through shared memory, and eight warps form 16 rows each of two products, with two
 * barriers.
 *
 * Multiply: the same sum over j <= i, T(i, i) with zeros above its diagonal, from a copy of b; tasks depend
 * on nothing.
 *
 * Traffic: T once for each group of vectors (from L2 where groups run together), b once in, once out.
 * Bits: every sum has one order, which depends on nothing but the sizes and N.
 * Registers bound N: 32 for double, 16 for float, 8 for complex numbers.
 */
#ifndef GSV_CUDA_LEAF_CUH
#define GSV_CUDA_LEAF_CUH

#include "../dense_kernels/fragment.cuh"
#include "../dense_kernels/published.cuh"
#include "cuda_invert.cuh"

namespace gsv {

template <typename T> struct leaf_problem {
    leaf_triangle<T> t;
    T *b;
    int64_t b_row, b_column;
    int32_t vectors, blocks, groups;
    T alpha;
    const T *inverse;
    const int32_t *substitute;
    T *exchange, *next_exchange;
    int64_t exchange_rows;
    uint32_t *ticket;
};

template <typename T, int N> struct leaf_shape {
    static const int SIDES = N >= 16 ? 2 : 1; /* warps side by side in the short way */
    static const int WIDTH = N / SIDES;       /* vectors of each */
    static const int LD = N + 4;              /* vectors in shared memory: no bank conflicts */
    static const int SUM_LD = N + 8;          /* partial sums */
    static const int SUMS = LEAF_WARPS * GSV_LEAF_ROWS * SUM_LD;
    static const int BYTES = (SUMS + 2 * GSV_LEAF_ROWS * LD) * int(sizeof(T));
    static const int CHUNK = 16 / int(sizeof(T)); /* numbers in 16 bytes */
};

/* x(k, .) for k = column, column + 4 of block j's rows: what fragment wants of them. */
template <typename T, int N, typename F>
__device__ __forceinline__ void load_vectors(const T *from, int g, T (&x)[2][F::XS]) {
#pragma unroll
    for (int s = 0; s < 2; s++)
        if constexpr (uses_tensor_cores<T>::value) {
#pragma unroll
            for (int t = 0; t < F::XS; t++)
                load_relaxed(from + 4 * s * N + g + 8 * t, x[s][t]);
        } else {
#pragma unroll
            for (int t = 0; t < F::XS; t += leaf_shape<T, N>::CHUNK)
                load_relaxed16(from + 4 * s * N + t, x[s] + t);
        }
}

/* Reload until all that the warp holds is there. patience: polls left, 0 once something was lost. */
template <typename T, int N, typename F>
__device__ __forceinline__ void wait_for_vectors_warp(const T *from, int g, T (&x)[2][F::XS], int &patience) {
    for (;;) {
        bool absent = false;
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int t = 0; t < F::XS; t++)
                absent |= is_absent(x[s][t]);
        if (!__any_sync(~0u, absent) || patience == 0)
            return;
        patience--;
        load_vectors<T, N, F>(from, g, x);
    }
}

/* c = a v for 16 rows, WIDTH vectors: a in registers, [8 columns of a][row][s]; v in shared memory at this
 * warp's first vector; steps of 8 columns from 0 to `steps`. Two sums in turn, to halve the chain. */
template <typename T, int N>
__device__ __forceinline__ void short_product(const T (&a)[8][2][2], const T *v, int steps,
                                              T (&c)[2][leaf_shape<T, N>::WIDTH / 8][2]) {
    typedef leaf_shape<T, N> S;
    typedef fragment<T, 2, S::WIDTH> F;
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    F even, odd;
    even.clear();
    odd.clear();
#pragma unroll
    for (int h = 0; h < 8; h++)
        if (h < steps) {
            T x[2][F::XS];
#pragma unroll
            for (int s = 0; s < 2; s++)
#pragma unroll
                for (int t = 0; t < F::XS; t++)
                    x[s][t] = v[(8 * h + 4 * s + q) * S::LD + F::at(g) + t * F::STEP];
            if (h % 2)
                odd.add_product(a[h], x);
            else
                even.add_product(a[h], x);
        }
    T d[2][S::WIDTH / 8][2];
    even.result(c);
    odd.result(d);
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < S::WIDTH / 8; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                c[u][t][e] = add(c[u][t][e], d[u][t][e]);
}

/* r = T_ii \ r by columns, in shared memory, by the whole block. */
template <typename T, int N>
__device__ __noinline__ void substitute_block(const leaf_triangle<T> &t, int first, int rows, T *r) {
    const int ld = leaf_shape<T, N>::LD;
    for (int k = 0; k < rows; k++) {
        if (threadIdx.x < N)
            r[k * ld + threadIdx.x] = quotient(r[k * ld + threadIdx.x], t.diagonal(first + k));
        __syncthreads(); /* x(k) is there */
        for (int e = threadIdx.x; e < (rows - k - 1) * N; e += LEAF_THREADS) {
            const int i = k + 1 + e / N, c = e % N;
            r[i * ld + c] = multiply_add(r[i * ld + c], negate(t.load(first + i, first + k)), r[k * ld + c]);
        }
        __syncthreads(); /* x(k) is taken off all rows below */
    }
}

template <typename T, int N, bool SOLVE>
__global__ void __launch_bounds__(LEAF_THREADS, 1) leaf_kernel(const __grid_constant__ leaf_problem<T> p) {
    typedef leaf_shape<T, N> S;
    typedef fragment<T, 8, N> F;
    enum { PATCH = S::WIDTH / 8 };
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ uint32_t drawn;
    T *sums = reinterpret_cast<T *>(shared), *xs = sums + S::SUMS, *rs = xs + GSV_LEAF_ROWS * S::LD;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;

    wait_for_earlier_kernels();
    let_next_kernel_start();
    if (SOLVE && threadIdx.x == 0)
        drawn = atomicAdd(p.ticket, 1);
    if (SOLVE)
        __syncthreads(); /* drawn is there */
    const int task = SOLVE ? int(drawn) : int(blockIdx.x), group = task % p.groups;
    const int block =
        SOLVE ? task / p.groups : p.blocks - 1 - task / p.groups; /* multiply: long rows first */
    const int first = block * GSV_LEAF_ROWS, left = p.t.order - first;
    const int rows = left < GSV_LEAF_ROWS ? left : GSV_LEAF_ROWS;
    T *const published = p.exchange + int64_t(group) * p.exchange_rows * N;

    /* b(i), in the places of the results of the short way */
    const int row_at = warp % 4 * 16 + g, column_at = warp / 4 * S::WIDTH + 2 * q;
    const bool active = warp < 4 * S::SIDES;
    T b[2][PATCH][2];
    if (SOLVE)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int i = row_at + 8 * u, v = group * N + column_at + 8 * t + e;
                    b[u][t][e] = active && i < rows && v < p.vectors
                                     ? p.b[int64_t(first + i) * p.b_row + v * p.b_column]
                                     : make<T>(0);
                }

    /* the long sum */
    F sum;
    sum.clear();
    int patience = PATIENCE;
    const int tiles = SOLVE ? block - 1 : block + 1;
    const T *const a_start = p.t.a + int64_t(first + g) * p.t.row + (8 * warp + q) * p.t.column;
    const auto load_tile = [&](int j, T(&a)[8][2]) {
        const T *from = a_start + int64_t(GSV_LEAF_ROWS) * j * p.t.column;
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int r = g + 8 * i, k = 8 * warp + q + 4 * s;
                const bool inside = r < rows && (SOLVE || j < block || k < r || (k == r && !p.t.unit));
                a[i][s] = inside ? load_panel(from + 8 * i * p.t.row + 4 * s * p.t.column) : make<T>(0);
                if (!SOLVE && j == block && k == r && p.t.unit)
                    a[i][s] = make<T>(1);
            }
    };
    const T *x_at = published + (8 * warp + q) * N;
    T a[8][2], x[2][F::XS];
    if (tiles > 0) {
        load_tile(0, a);
        load_vectors<T, N, F>(x_at, g, x);
    }
    for (int j = 0; j < tiles; j++, x_at += GSV_LEAF_ROWS * N) {
        T a_next[8][2], x_next[2][F::XS];
        if (j + 1 < tiles) {
            load_tile(j + 1, a_next);
            load_vectors<T, N, F>(x_at + GSV_LEAF_ROWS * N, g, x_next);
        }
        if (SOLVE)
            wait_for_vectors_warp<T, N, F>(x_at, g, x, patience);
        if (traits<T>::is_complex && p.t.conjugated)
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int s = 0; s < 2; s++)
                    a[i][s] = conjugate(a[i][s]);
        sum.add_product(a, x);
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int s = 0; s < 2; s++)
                a[i][s] = a_next[i][s];
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int t = 0; t < F::XS; t++)
                x[s][t] = x_next[s][t];
    }

    /* the warps' sums, added */
    T r[2][PATCH][2];
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < PATCH; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                r[u][t][e] = make<T>(0);
    if (tiles > 0) {
        T part[8][N / 8][2];
        sum.result(part);
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                T *to = sums + (warp * GSV_LEAF_ROWS + g + 8 * i) * S::SUM_LD + 8 * t + 2 * q;
                store_run(to, part[i][t]);
            }
        __syncthreads(); /* the partial sums are there */
        if (active)
            for (int w = 0; w < LEAF_WARPS; w++)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < PATCH; t++) {
                        T other[2];
                        load_run(sums + (w * GSV_LEAF_ROWS + row_at + 8 * u) * S::SUM_LD + column_at + 8 * t,
                                 other);
#pragma unroll
                        for (int e = 0; e < 2; e++)
                            r[u][t][e] = add(r[u][t][e], other[e]);
                    }
    }

    if (SOLVE) {
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    r[u][t][e] = add(multiply(p.alpha, b[u][t][e]), negate(r[u][t][e]));
        const bool keep = p.substitute[block] != 0;
        const T *w_at = p.inverse + int64_t(block) * (64 * 64) + q * 64 + row_at;
        T w[8][2][2]; /* 16 rows of W, eight columns a step */
        const auto load_inverse = [&]() {
#pragma unroll
            for (int h = 0; h < 8; h++)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int s = 0; s < 2; s++)
                        w[h][u][s] = active ? load_panel(w_at + (8 * h + 4 * s) * 64 + 8 * u) : make<T>(0);
        };
        if (sizeof(T) <= 8)
            load_inverse();
        if (block > 0) {
            T last[8][2][2]; /* 16 rows of T(i, i - 1) */
            const T *from =
                p.t.a + int64_t(first + row_at) * p.t.row + (first - GSV_LEAF_ROWS + q) * p.t.column;
#pragma unroll
            for (int h = 0; h < 8; h++)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int s = 0; s < 2; s++) {
                        last[h][u][s] =
                            active && row_at + 8 * u < rows
                                ? load_panel(from + 8 * u * p.t.row + (8 * h + 4 * s) * p.t.column)
                                : make<T>(0);
                        if (traits<T>::is_complex && p.t.conjugated)
                            last[h][u][s] = conjugate(last[h][u][s]);
                    }
            const T *x_last = published + int64_t(first - GSV_LEAF_ROWS) * N;
            for (int k = threadIdx.x; k < GSV_LEAF_ROWS * N / S::CHUNK; k += LEAF_THREADS) {
                T piece[S::CHUNK];
                for (;;) {
                    load_relaxed16(x_last + k * S::CHUNK, piece);
                    bool absent = false;
#pragma unroll
                    for (int e = 0; e < S::CHUNK; e++)
                        absent |= is_absent(piece[e]);
                    if (!absent || patience == 0)
                        break;
                    patience--;
                }
                store_run(xs + k * S::CHUNK / N * S::LD + k * S::CHUNK % N, piece);
            }
            __syncthreads(); /* x(i - 1) is in shared memory */
            if (active) {
                T c[2][PATCH][2];
                short_product<T, N>(last, xs + warp / 4 * S::WIDTH, 8, c);
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < PATCH; t++)
#pragma unroll
                        for (int e = 0; e < 2; e++)
                            r[u][t][e] = add(r[u][t][e], negate(c[u][t][e]));
            }
        }
        if (sizeof(T) > 8)
            load_inverse();
        if (active)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < PATCH; t++)
                    store_run(rs + (row_at + 8 * u) * S::LD + column_at + 8 * t, r[u][t]);
        __syncthreads(); /* the right-hand side of T_ii is in shared memory */
        if (keep) {
            substitute_block<T, N>(p.t, first, rows, rs);
            if (active)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < PATCH; t++)
                        load_run(rs + (row_at + 8 * u) * S::LD + column_at + 8 * t, r[u][t]);
        } else if (active) {
            short_product<T, N>(w, rs + warp / 4 * S::WIDTH, 2 * (warp % 4) + 2, r);
        }
        if (active && block + 1 < p.blocks)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < PATCH; t++)
                    publish_pair(published + int64_t(first + row_at + 8 * u) * N + column_at + 8 * t,
                                 r[u][t][0], r[u][t][1]);
        if (p.next_exchange) {
            int4 *clear = reinterpret_cast<int4 *>(p.next_exchange + (group * p.exchange_rows + first) * N);
            const int4 absent = {-1, -1, -1, -1};
            for (int k = threadIdx.x; k < GSV_LEAF_ROWS * N / S::CHUNK; k += LEAF_THREADS)
                clear[k] = absent;
        }
    } else {
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    r[u][t][e] = multiply(p.alpha, r[u][t][e]);
    }
    if (active)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < PATCH; t++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int i = row_at + 8 * u, v = group * N + column_at + 8 * t + e;
                    if (i < rows && v < p.vectors)
                        p.b[int64_t(first + i) * p.b_row + v * p.b_column] = r[u][t][e];
                }
}

/* exchange = b, zeros where there is none: multiply's copy. A thread block a block of rows of one group. */
template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS)
    copy_vectors_kernel(const __grid_constant__ leaf_problem<T> p) {
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const int group = int(blockIdx.x) % p.groups, first = int(blockIdx.x) / p.groups * GSV_LEAF_ROWS;
    T *to = p.exchange + (group * p.exchange_rows + first) * N;
    const bool by_rows = p.b_row == 1 || p.b_row == -1;
    for (int e = threadIdx.x; e < GSV_LEAF_ROWS * N; e += LEAF_THREADS) {
        const int i = by_rows ? e % GSV_LEAF_ROWS : e / N, c = by_rows ? e / GSV_LEAF_ROWS : e % N;
        const int v = group * N + c;
        to[i * N + c] = first + i < p.t.order && v < p.vectors
                            ? p.b[int64_t(first + i) * p.b_row + v * p.b_column]
                            : make<T>(0);
    }
}

template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS) zero_kernel(T *b, int64_t rows, int64_t columns, int64_t ld) {
    for (int64_t e = int64_t(blockIdx.x) * LEAF_THREADS + threadIdx.x; e < rows * columns;
         e += int64_t(gridDim.x) * LEAF_THREADS)
        b[e % rows + e / rows * ld] = make<T>(0);
}

/* ------------------------------------------------------------------------------------------ launchers --- */

template <typename T> T number_of(gsv_number a) {
    typedef typename traits<T>::real real;
    if constexpr (traits<T>::is_complex)
        return T{real(a.re), real(a.im)};
    else
        return real(a.re);
}

template <typename T> leaf_triangle<T> triangle_of(const gsv_leaf *leaf) {
    return {static_cast<const T *>(leaf->a), leaf->a_row,    leaf->a_column, int32_t(leaf->order),
            leaf->conjugated != 0,           leaf->unit != 0};
}

template <typename T> leaf_problem<T> problem_of(const gsv_leaf *leaf) {
    leaf_problem<T> p = {};
    p.t = triangle_of<T>(leaf);
    p.b = static_cast<T *>(leaf->b);
    p.b_row = leaf->b_row;
    p.b_column = leaf->b_column;
    p.vectors = int32_t(leaf->vectors);
    p.blocks = int32_t((leaf->order + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS);
    p.groups = int32_t((leaf->vectors + leaf->group - 1) / leaf->group);
    p.alpha = number_of<T>(leaf->alpha);
    p.inverse = static_cast<const T *>(leaf->inverse);
    p.substitute = leaf->substitute;
    p.exchange = static_cast<T *>(leaf->exchange);
    p.next_exchange = static_cast<T *>(leaf->next_exchange);
    p.exchange_rows = leaf->exchange_rows;
    p.ticket = leaf->ticket;
    return p;
}

template <typename T, int N> cudaError_t solve_group(const gsv_leaf *leaf, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    return launch_overlapped(leaf_kernel<T, N, true>, int64_t(p.blocks) * p.groups, LEAF_THREADS,
                             leaf_shape<T, N>::BYTES, stream, p);
}

template <typename T, int N> cudaError_t multiply_group(const gsv_leaf *leaf, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    const int64_t tasks = int64_t(p.blocks) * p.groups;
    const cudaError_t error = launch_overlapped(copy_vectors_kernel<T, N>, tasks, LEAF_THREADS, 0, stream, p);
    if (error != cudaSuccess)
        return error;
    return launch_overlapped(leaf_kernel<T, N, false>, tasks, LEAF_THREADS, leaf_shape<T, N>::BYTES, stream,
                             p);
}

template <typename T> struct leaf_launcher {
    static cudaError_t invert(const gsv_leaf *leaf, void *clear, int64_t clear_bytes, uint32_t *tickets,
                              int64_t ticket_count, cudaStream_t stream) {
        return launch_overlapped(invert_blocks_kernel<T>, (leaf->order + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS,
                                 LEAF_THREADS, invert_shared<T>::BYTES, stream, triangle_of<T>(leaf),
                                 static_cast<T *>(leaf->inverse), leaf->substitute,
                                 static_cast<int4 *>(clear), clear_bytes / 16, tickets, ticket_count);
    }
    static cudaError_t solve(const gsv_leaf *leaf, cudaStream_t stream) {
        switch (leaf->group) {
        case 8:
            return solve_group<T, 8>(leaf, stream);
        case 16:
            if constexpr (!traits<T>::is_complex)
                return solve_group<T, 16>(leaf, stream);
            break;
        case 32:
            if constexpr (sizeof(T) == 8 && !traits<T>::is_complex)
                return solve_group<T, 32>(leaf, stream);
            break;
        }
        return cudaErrorInvalidValue;
    }
    static cudaError_t multiply(const gsv_leaf *leaf, cudaStream_t stream) {
        switch (leaf->group) {
        case 8:
            return multiply_group<T, 8>(leaf, stream);
        case 16:
            if constexpr (!traits<T>::is_complex)
                return multiply_group<T, 16>(leaf, stream);
            break;
        case 32:
            if constexpr (sizeof(T) == 8 && !traits<T>::is_complex)
                return multiply_group<T, 32>(leaf, stream);
            break;
        }
        return cudaErrorInvalidValue;
    }
    static cudaError_t zero(void *b, int64_t rows, int64_t columns, int64_t ld, cudaStream_t stream) {
        const int64_t blocks = (rows * columns + 4 * LEAF_THREADS - 1) / (4 * LEAF_THREADS);
        zero_kernel<T><<<unsigned(blocks < 4096 ? blocks : 4096), LEAF_THREADS, 0, stream>>>(
            static_cast<T *>(b), rows, columns, ld);
        return cudaGetLastError();
    }
};

/* clang-format off */
#define GSV_DEFINE_LEAF(name, type)                                                                          \
    extern "C" const gsv_leaf_functions name = {                                                             \
        {8, gsv::traits<type>::is_complex ? 0 : 16, sizeof(type) == 8 && !gsv::traits<type>::is_complex ? 32 : 0, 0}, \
        gsv::leaf_launcher<type>::invert, gsv::leaf_launcher<type>::solve,                                   \
        gsv::leaf_launcher<type>::multiply, gsv::leaf_launcher<type>::zero}
/* clang-format on */

} // namespace gsv
#endif
