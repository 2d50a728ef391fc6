/*
 * Products with tiles of a wide panel (tiles.h: block rows of 16, 16 numbers a column), for NR right-hand
 * sides that lie side by side: row i of a vector is NR numbers at i NR.
 *
 *      tile_product            sum(r, c)  = sum over k of tile(r, k) v(k, c)           16 x NR results
 *      transposed_product      sum(j, c) += sum over r of conj(tile(r, j)) f(r, c)     16 x NR results
 *
 * Mapping. Sixteen threads make a group. In a group each thread owns an RT x CT patch of the 16 x NR results,
 * with RT CT = NR: patches grow with NR, so that one load serves several multiply-adds.
 *
 * Request before use. What a thread reads of the panel depends on nothing but the task, so a product is two
 * calls: one that requests the first numbers into registers, made before the vectors are known to be there,
 * and one that uses them and reads on.
 *
 * Bits. What a result is the sum of, and in which order, follows from the panel's shape and never from NR:
 * tile_product splits k over the groups by k mod KG and each group adds its terms in ascending k;
 * transposed_product gives row r of every tile to thread r. A column alone and the same column among 32 are
 * the same sums.
 */
#ifndef GSV_TILE_PRODUCT_CUH
#define GSV_TILE_PRODUCT_CUH

#include "panel_layout.h"
#include "scalar.cuh"

namespace gsv {

/* Patch of a thread: RT panel rows (or columns) by CT right-hand sides; AHEAD steps are requested early, and
 * so many at a time afterwards. */
template <int NR> struct patch {
    static const int RT = NR >= 32 ? 4 : NR >= 8 ? 2 : 1;
    static const int CT = NR / RT;
    static const int AHEAD = NR == 1 ? 8 : NR <= 4 ? 4 : NR <= 16 ? 2 : 1;
};

/* The terms k = kg, kg + KG, ... of a patch (rows rg RT .., right-hand sides cg CT ..); all threads of a
 * group have the same kg. Over all groups the tile is read once, coalesced; v comes from L1. */
template <typename T, int NR, int KG> struct tile_product {
    static const int RT = patch<NR>::RT, CT = patch<NR>::CT, AHEAD = patch<NR>::AHEAD;
    const T *tile; /* of this thread's rows and first k */
    int columns, kg, cg;
    T ahead[AHEAD][RT];

    __device__ __forceinline__ tile_product(const T *from, int columns, int kg, int member)
        : tile(from + member % (16 / RT) * RT + 16 * kg), columns(columns), kg(kg), cg(member / (16 / RT)) {
        request(0);
    }

    __device__ __forceinline__ void request(int step) {
#pragma unroll
        for (int p = 0; p < AHEAD; p++)
            if (kg + (step + p) * KG < columns)
                load_panel_run(tile + int64_t(step + p) * (16 * KG), ahead[p]);
    }

    /* v: [columns][NR]. Ends with acc = the sum. */
    __device__ __forceinline__ void run(const T *v, T (&acc)[RT][CT]) {
        const T *b_at = v + int64_t(NR) * kg + cg * CT;
#pragma unroll
        for (int i = 0; i < RT; i++)
#pragma unroll
            for (int j = 0; j < CT; j++)
                acc[i][j] = make<T>(0);
        for (int step = 0; kg + step * KG < columns; step += AHEAD) {
            T b[AHEAD][CT];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (kg + (step + p) * KG < columns)
                    load_run(b_at + int64_t(step + p) * (NR * KG), b[p]);
            T a[AHEAD][RT];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
#pragma unroll
                for (int i = 0; i < RT; i++)
                    a[p][i] = ahead[p][i];
            request(step + AHEAD);
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (kg + (step + p) * KG < columns)
#pragma unroll
                    for (int i = 0; i < RT; i++)
#pragma unroll
                        for (int j = 0; j < CT; j++)
                            acc[i][j] = multiply_add(acc[i][j], a[p][i], b[p][j]);
        }
    }
};

/*
 * Columns first_column .. first_column + 7 of a wide panel, from the last block row up to their diagonal
 * block, for the rows below are the ones whose numbers are there first. The sixteen groups of a block are two
 * halves: half h takes steps h, h + 2, ...; step s is block row last - 1 - s. In a half, a group has columns
 * jg JT .. and right-hand sides cg CT ...; thread r of a group has row r of each tile. The tile of block row
 * I, less the panel's start, is at gsv_block_row_start(nc, I).
 */
template <typename T, int NR> struct transposed_product {
    static const int JT = patch<NR>::RT, CT = patch<NR>::CT, AHEAD = patch<NR>::AHEAD;
    const T *panel; /* start of the panel, moved to this thread's row and first column */
    int nc, last, steps, live, half, jg, cg;
    T ahead[AHEAD][JT];

    /* top .. last - 1: the block rows. live: those of this thread's columns that exist. */
    __device__ __forceinline__ transposed_product(const T *start, int nc, int first_column, int last, int r,
                                                  int group)
        : nc(nc), last(last), steps(last - first_column / 16), half(group / 8), jg(group % 8 % (8 / JT)),
          cg(group % 8 / (8 / JT)) {
        const int column = first_column + jg * JT;
        panel = start + 16 * int64_t(column) + r;
        live = nc - column;
        request(0);
    }

    /* For AHEAD steps of this half, the first of which is step + half. */
    __device__ __forceinline__ void request(int step) {
#pragma unroll
        for (int p = 0; p < AHEAD; p++)
#pragma unroll
            for (int i = 0; i < JT; i++)
                if (step + half + 2 * p < steps && i < live)
                    ahead[p][i] = load_panel(
                        panel + gsv_block_row_start(nc, last - 1 - (step + half + 2 * p)) + 16 * i);
    }

    /* Steps first .. end - 1; f: row r of the first step's block row, in shared memory, steps `stride` apart.
     */
    __device__ __forceinline__ void run(int first, int end, const T *f, int stride, T (&acc)[JT * CT]) {
        for (int step = first; step < end; step += 2 * AHEAD) {
            T a[AHEAD][JT];
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
#pragma unroll
                for (int i = 0; i < JT; i++)
                    a[p][i] = ahead[p][i];
            request(step + 2 * AHEAD);
#pragma unroll
            for (int p = 0; p < AHEAD; p++)
                if (step + half + 2 * p < end) {
                    T b[CT];
                    load_run(f + (step + half + 2 * p - first) * stride + cg * CT, b);
#pragma unroll
                    for (int i = 0; i < JT; i++)
                        if (i < live)
#pragma unroll
                            for (int c = 0; c < CT; c++)
                                acc[i * CT + c] = multiply_add(acc[i * CT + c], conjugate(a[p][i]), b[c]);
                }
        }
    }
};

/*
 * Sum the N partial results of 2 STEP neighbouring lanes. Each step adds the lanes that differ in one bit,
 * from STEP down to 1, and hands half of the results over, so that a lane ends with results base .. base +
 * RESULTS - 1 and every result is the same tree of sums for every N.
 */
template <typename T, int N, int STEP> struct reduce_lanes {
    static const int RESULTS = N > 2 * STEP ? N / (2 * STEP) : 1;
    static const int COPIES = N > 2 * STEP ? 1 : 2 * STEP / N; /* neighbouring lanes with the same results */
    static __device__ __forceinline__ void run(T *acc, int lane, int &base) {
        if constexpr (N > 1) {
            constexpr int HALF = N / 2;
            const bool upper = lane & STEP;
#pragma unroll
            for (int q = 0; q < HALF; q++) {
                const T give = upper ? acc[q] : acc[q + HALF];
                const T keep = upper ? acc[q + HALF] : acc[q];
                acc[q] = add(keep, shuffle_xor(give, STEP));
            }
            base += upper ? HALF : 0;
            if constexpr (STEP > 1)
                reduce_lanes<T, HALF, STEP / 2>::run(acc, lane, base);
        } else {
            acc[0] = add(acc[0], shuffle_xor(acc[0], STEP));
            if constexpr (STEP > 1)
                reduce_lanes<T, 1, STEP / 2>::run(acc, lane, base);
        }
    }
};

} // namespace gsv
#endif
