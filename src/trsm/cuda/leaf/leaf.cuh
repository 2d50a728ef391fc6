/*
 * What solve and multiply of trsm/cuda/leaf/leaf.h share: the sum over blocks of T times the vectors, for one block of
 * 64 rows and N vectors,
 *
 *      sum over j from `begin` to `end` - 1 of T(block, j) x(j)
 *
 * split over the eight warps: warp w takes columns 8 w .. 8 w + 7 of every T(block, j), all 64 rows. So every
 * entry of T is read by one lane, straight into the register that the product (fragment.cuh) wants it in,
 * requested DEPTH blocks ahead, whether x(j) is there or not; every entry of x(j) by one warp. No barrier, no
 * shared memory. In the end the eight warps' sums are added: warps 4 to 7 to 0 to 3, then those in the order
 * of w: one order whatever the timing.
 */
#ifndef GSV_TRSM_CUDA_LEAF_LEAF_CUH
#define GSV_TRSM_CUDA_LEAF_LEAF_CUH

#include "../../../dense_kernels/fragment.cuh"
#include "../../../dense_kernels/published.cuh"
#include "invert.cuh"

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
    bool premultiplied;
};

template <typename T, int N> struct leaf_shape {
    static const int SIDES = N >= 16 ? 2 : 1; /* warps side by side where a warp has 16 rows */
    static const int WIDTH = N / SIDES;       /* vectors of each */
    static const int PATCH = WIDTH / 8;       /* of which a lane has two in eight */
    static const int LD = N + 4;              /* vectors in shared memory: no bank conflicts */
    static const int SUM_LD = N + 8;          /* partial sums */
    static const int SUMS = LEAF_WARPS / 2 * GSV_LEAF_ROWS * SUM_LD;
    static const int CHUNK = 16 / int(sizeof(T)); /* numbers in 16 bytes */
    /* How many blocks of T are asked for ahead, and whether the next vectors are: as registers allow. */
    static const int SUM_REGISTERS = (traits<T>::is_complex ? 8 : 4) * N;
    static const int DEPTH = sizeof(T) > 8 ? 1 : SUM_REGISTERS >= 128 ? 2 : 3;
    static const bool ASK_EARLY = SUM_REGISTERS < 128;
};

/* Where a lane is. In the sums, row g + 8 i; in the end, 16 rows and WIDTH vectors a warp. */
struct leaf_lane {
    int warp, g, q;
    __device__ __forceinline__ leaf_lane()
        : warp(threadIdx.x / 32), g(threadIdx.x % 32 / 4), q(threadIdx.x % 4) {}
    __device__ __forceinline__ int row() const {
        return warp % 4 * 16 + g;
    }
    template <typename S> __device__ __forceinline__ int column() const {
        return warp / 4 * S::WIDTH + 2 * q;
    }
    template <typename S> __device__ __forceinline__ bool active() const {
        return warp < 4 * S::SIDES;
    }
};

/* Rows q and q + 4 of eight rows of vectors: what fragment wants of them. from: row q. */
template <typename T, int N, typename F>
__device__ __forceinline__ void load_vectors(const T *from, int g, T (&x)[2][F::XS]) {
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
        for (int t = 0; t < F::XS; t++)
            load_relaxed(from + 4 * s * N + g + 8 * t, x[s][t]);
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
        __nanosleep(32); /* leave L2 to those whose data is there */
        load_vectors<T, N, F>(from, g, x);
    }
}

/* The sum, this warp's part. T(block, j) is read above its diagonal by nobody: for j == block zeros stand
 * there. WAIT: x(j) may not be there yet. */
template <typename T, int N, bool WAIT>
__device__ __forceinline__ void sum_blocks_warp(const leaf_problem<T> &p, const T *vectors, int block,
                                                int begin, int end, fragment<T, 8, N> &sum, int &patience) {
    typedef leaf_shape<T, N> S;
    typedef fragment<T, 8, N> F;
    const leaf_lane lane;
    const int first = block * GSV_LEAF_ROWS, rows = p.t.order - first, column = 8 * lane.warp + lane.q;
    const T *const a_start = p.t.a + int64_t(first + lane.g) * p.t.row + column * p.t.column;
    const auto load_tile = [&](int j, T(&a)[8][2]) {
        const T *from = a_start + int64_t(GSV_LEAF_ROWS) * j * p.t.column;
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int r = lane.g + 8 * i, k = column + 4 * s;
                const bool inside = r < rows && (WAIT || j < block || k < r || (k == r && !p.t.unit));
                a[i][s] = inside ? load_panel(from + 8 * i * p.t.row + 4 * s * p.t.column) : make<T>(0);
                if (!WAIT && j == block && k == r && p.t.unit)
                    a[i][s] = make<T>(1);
            }
    };
    const T *x_at = vectors + (int64_t(GSV_LEAF_ROWS) * begin + column) * N;
    T a[S::DEPTH][8][2], x[2][F::XS];
#pragma unroll
    for (int d = 0; d < S::DEPTH; d++)
        if (begin + d < end)
            load_tile(begin + d, a[d]);
    if (begin < end)
        load_vectors<T, N, F>(x_at, lane.g, x);
    for (int j0 = begin; j0 < end; j0 += S::DEPTH)
#pragma unroll
        for (int d = 0; d < S::DEPTH; d++) {
            const int j = j0 + d;
            if (j < end) {
                T x_next[2][F::XS];
                if (S::ASK_EARLY && j + 1 < end)
                    load_vectors<T, N, F>(x_at + GSV_LEAF_ROWS * N, lane.g, x_next);
                if (WAIT)
                    wait_for_vectors_warp<T, N, F>(x_at, lane.g, x, patience);
                if (traits<T>::is_complex && p.t.conjugated)
#pragma unroll
                    for (int i = 0; i < 8; i++)
#pragma unroll
                        for (int s = 0; s < 2; s++)
                            a[d][i][s] = conjugate(a[d][i][s]);
                sum.add_product(a[d], x);
                if (j + S::DEPTH < end)
                    load_tile(j + S::DEPTH, a[d]);
                x_at += GSV_LEAF_ROWS * N;
                if (!S::ASK_EARLY && j + 1 < end)
                    load_vectors<T, N, F>(x_at, lane.g, x);
#pragma unroll
                for (int s = 0; s < 2; s++)
#pragma unroll
                    for (int t = 0; t < F::XS && S::ASK_EARLY; t++)
                        x[s][t] = x_next[s][t];
            }
        }
}

/* The warps' sums added, 16 rows and WIDTH vectors of the total for each warp. sums: SUMS numbers of shared
 * memory, free before; free again after the next barrier. */
template <typename T, int N>
__device__ __forceinline__ void add_warps_block(const fragment<T, 8, N> &sum, T *sums,
                                                T (&r)[2][leaf_shape<T, N>::PATCH][2]) {
    typedef leaf_shape<T, N> S;
    const leaf_lane lane;
    T part[8][N / 8][2];
    sum.result(part);
    T *mine = sums + (lane.warp % 4 * GSV_LEAF_ROWS + lane.g) * S::SUM_LD + 2 * lane.q;
    if (lane.warp >= 4)
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                store_run(mine + 8 * i * S::SUM_LD + 8 * t, part[i][t]);
    __syncthreads(); /* the sums of warps 4 to 7 are there */
    if (lane.warp < 4)
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                T other[2];
                load_run(mine + 8 * i * S::SUM_LD + 8 * t, other);
                other[0] = add(part[i][t][0], other[0]);
                other[1] = add(part[i][t][1], other[1]);
                store_run(mine + 8 * i * S::SUM_LD + 8 * t, other);
            }
    __syncthreads(); /* four sums are there */
    if (lane.active<S>())
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < S::PATCH; t++) {
                    T other[2];
                    load_run(sums + (w * GSV_LEAF_ROWS + lane.row() + 8 * u) * S::SUM_LD + lane.column<S>() +
                                 8 * t,
                             other);
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        r[u][t][e] = w == 0 ? other[e] : add(r[u][t][e], other[e]);
                }
}

/* b(block) = r, in the places of add_warps_block's result. */
template <typename T, int N>
__device__ __forceinline__ void store_block(const leaf_problem<T> &p, int block, int group,
                                            const T (&r)[2][leaf_shape<T, N>::PATCH][2]) {
    typedef leaf_shape<T, N> S;
    const leaf_lane lane;
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < S::PATCH; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int64_t i = block * GSV_LEAF_ROWS + lane.row() + 8 * u;
                const int64_t v = group * N + lane.column<S>() + 8 * t + e;
                if (lane.active<S>() && i < p.t.order && v < p.vectors)
                    p.b[i * p.b_row + v * p.b_column] = r[u][t][e];
            }
}

} // namespace gsv
#endif
