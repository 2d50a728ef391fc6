/*
 * Products of tiles that pass through shared memory: T(i, j), 64 x 64, against 64 x N vectors, by eight
 * warps.
 *
 * A tile is copied in the background, in the order of global memory, whole lines at a time: runs of
 * neighbouring numbers stay runs, whichever way T lies and is numbered. So where entry (i, k) is in shared
 * memory is for a tile_view to say.
 *
 * Warp w has rows 16 (w mod 4) .. + 15 of the product, all N vectors, and half w / 4 of the 64 terms, as
 * fragments (fragment.cuh); the two halves are added through shared memory, in that order.
 */
#ifndef GSV_TRSM_CUDA_LEAF_TILE_CUH
#define GSV_TRSM_CUDA_LEAF_TILE_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "leaf.cuh"

namespace gsv {

template <typename T, int N> struct tile_shape : leaf_shape<T, N> {
    typedef leaf_shape<T, N> base;
    static const int RUN = leaf_tile<T>::LD; /* of 64 numbers, padded: no bank conflicts either way */
    static const int TILE = GSV_LEAF_ROWS * RUN;
    static const int ROWS_OF_VECTORS = GSV_LEAF_ROWS * base::LD, RUNS_OF_VECTORS = N * RUN;
    static const int VECTORS = ROWS_OF_VECTORS > RUNS_OF_VECTORS ? ROWS_OF_VECTORS : RUNS_OF_VECTORS;
};

/* Entry (i, k) at at[i row + k column]. */
template <typename T> struct tile_view {
    const T *at;
    int row, column;
};

/* `runs` runs of LENGTH numbers that are next to each other, `step` apart in global and `ld` in shared
 * memory. inside(run, place): is it one that may be read? Others become zero. whole: all of them are. */
template <typename T, int LENGTH, typename Inside>
__device__ __forceinline__ void copy_runs_block(T *to, int ld, const T *from, int64_t step, int runs,
                                                bool whole, Inside inside) {
    enum { PIECE = sizeof(T) < 16 ? 16 / sizeof(T) : 1, PIECES = LENGTH / PIECE };
    if (whole && (uintptr_t(from) | uintptr_t(step * int64_t(sizeof(T)))) % 16 == 0) {
#pragma unroll 4
        for (int e = threadIdx.x; e < runs * PIECES; e += LEAF_THREADS)
            copy_16_bytes_async(to + e / PIECES * ld + e % PIECES * PIECE,
                                from + e / PIECES * step + e % PIECES * PIECE);
        return;
    }
#pragma unroll 4
    for (int e = threadIdx.x; e < runs * LENGTH; e += LEAF_THREADS) {
        const int run = e / LENGTH, place = e % LENGTH;
        const bool read = inside(run, place);
        copy_number_async(to + run * ld + place, read ? from + run * step + place : from, read);
    }
}

/* T(block, j) to `to`, zeros for rows beyond the order; j == block: the triangle, without its diagonal where
 * that is ones by agreement, and zeros. */
template <typename T>
__device__ __forceinline__ void request_view_block(const leaf_triangle<T> &t, int block, int j, T *to) {
    enum { LAST = GSV_LEAF_ROWS - 1 };
    const int rows = t.order - block * GSV_LEAF_ROWS;
    const bool by_rows = t.row == 1 || t.row == -1, diagonal = j == block;
    const int64_t along = by_rows ? t.row : t.column, step = by_rows ? t.column : t.row;
    const T *from = t.a + int64_t(block * GSV_LEAF_ROWS) * t.row + int64_t(j * GSV_LEAF_ROWS) * t.column;
    copy_runs_block<T, GSV_LEAF_ROWS>(to, leaf_tile<T>::LD, along > 0 ? from : from - LAST, step,
                                      GSV_LEAF_ROWS, !diagonal && rows > LAST, [&](int run, int place) {
                                          const int at = along > 0 ? place : LAST - place;
                                          const int i = by_rows ? at : run, k = by_rows ? run : at;
                                          return i < rows && (!diagonal || k < i || (k == i && !t.unit));
                                      });
}

template <typename T>
__device__ __forceinline__ tile_view<T> view_of_tile(const leaf_triangle<T> &t, const T *tile) {
    enum { LAST = GSV_LEAF_ROWS - 1, LD = leaf_tile<T>::LD };
    const bool by_rows = t.row == 1 || t.row == -1;
    const int sign = (by_rows ? t.row : t.column) > 0 ? 1 : -1;
    const T *const at = tile + (sign > 0 ? 0 : LAST);
    return by_rows ? tile_view<T>{at, sign, LD} : tile_view<T>{at, LD, sign};
}

/* b(j) of a group of vectors to `to`, zeros where there is none. In the view, rows are those of b. */
template <typename T, int N>
__device__ __forceinline__ void request_vectors_view_block(const leaf_problem<T> &p, int j, int group,
                                                           T *to) {
    typedef tile_shape<T, N> S;
    enum { LAST = GSV_LEAF_ROWS - 1 };
    const int rows = p.t.order - j * GSV_LEAF_ROWS, vectors = p.vectors - group * N;
    const T *from = p.b + int64_t(j * GSV_LEAF_ROWS) * p.b_row + int64_t(group * N) * p.b_column;
    const bool whole = rows > LAST && vectors >= N, up = p.b_row > 0;
    if (p.b_row == 1 || p.b_row == -1)
        copy_runs_block<T, GSV_LEAF_ROWS>(
            to, S::RUN, up ? from : from - LAST, p.b_column, N, whole,
            [&](int run, int place) { return run < vectors && (up ? place : LAST - place) < rows; });
    else
        copy_runs_block<T, N>(to, S::LD, from, p.b_row, GSV_LEAF_ROWS, whole,
                              [&](int run, int place) { return run < rows && place < vectors; });
}

template <typename T, int N>
__device__ __forceinline__ tile_view<T> view_of_vectors(const leaf_problem<T> &p, const T *vectors) {
    typedef tile_shape<T, N> S;
    if (p.b_row == 1)
        return {vectors, 1, S::RUN};
    if (p.b_row == -1)
        return {vectors + GSV_LEAF_ROWS - 1, -1, S::RUN};
    return {vectors, S::LD, 1};
}

/* sum += a v, this warp's rows and half of the terms. */
template <typename T, int N>
__device__ __forceinline__ void product_warp(fragment<T, 2, N> &sum, const tile_view<T> &a, bool conjugated,
                                             const tile_view<T> &v) {
    const leaf_lane lane;
    const int half = lane.warp / 4 * 32;
    const T *const a_at = a.at + lane.row() * a.row + (half + lane.q) * a.column;
    const T *const v_at = v.at + (half + lane.q) * v.row + lane.g * v.column;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        T row[2][4], x[4][N / 8];
#pragma unroll
        for (int s = 0; s < 4; s++) {
#pragma unroll
            for (int u = 0; u < 2; u++) {
                row[u][s] = a_at[8 * u * a.row + (16 * h + 4 * s) * a.column];
                if (traits<T>::is_complex && conjugated)
                    row[u][s] = conjugate(row[u][s]);
            }
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                x[s][t] = v_at[(16 * h + 4 * s) * v.row + 8 * t * v.column];
        }
        sum.add_product(row, x);
    }
}

/* The sum of both halves, in the warps 0 to 3. part: 64 x LD of shared memory, free before; the caller's
 * barrier frees it. */
template <typename T, int N>
__device__ __forceinline__ void add_two_halves_block(const fragment<T, 2, N> &sum, T *part,
                                                     T (&c)[2][N / 8][2]) {
    enum { LD = leaf_shape<T, N>::LD };
    const leaf_lane lane;
    sum.result(c);
    T *at = part + lane.row() * LD + 2 * lane.q;
    if (lane.warp >= 4)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++)
                store_run(at + 8 * u * LD + 8 * t, c[u][t]);
    __syncthreads(); /* the other half is there */
    if (lane.warp < 4)
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int t = 0; t < N / 8; t++) {
                T other[2];
                load_run(at + 8 * u * LD + 8 * t, other);
                c[u][t][0] = add(c[u][t][0], other[0]);
                c[u][t][1] = add(c[u][t][1], other[1]);
            }
}

/* f(u, t, e, row, vector) for what a lane of the warps 0 to 3 has of a product. */
template <int N, typename F> __device__ __forceinline__ void for_each_result(F f) {
    const leaf_lane lane;
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int t = 0; t < N / 8; t++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                f(u, t, e, lane.row() + 8 * u, 8 * t + 2 * lane.q + e);
}

} // namespace gsv
#endif
