/*
 * Tiles of 64 x 64 of a product C = A B by a block of four warps, on the FP64 tensor cores (fragment.cuh: so
 * for every precision).
 *
 * Warp w has rows 32 (w mod 2) .. + 31 and columns 32 (w / 2) .. + 31. Sixteen columns of A and rows of B at
 * a time are a stage in shared memory; three stages, so that two are on their way, number by number in the
 * background, while one is multiplied: what is read may stand anywhere. A term is read from memory once for
 * each tile, from shared memory twice. Sums are in ascending k, whatever the timing.
 */
#ifndef GSV_TRSM_CUDA_PANELS_PRODUCT_CUH
#define GSV_TRSM_CUDA_PANELS_PRODUCT_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../leaf/invert.cuh"

namespace gsv {

enum { PRODUCT_THREADS = 128, PRODUCT_TERMS = 16, PRODUCT_STAGES = 3 };

template <typename T> struct product_shape {
    static const int LDA = leaf_tile<T>::LD; /* A, and B where rows of it are runs: [terms][64] */
    static const int LDB = 20; /* B where columns of it are runs: [64][terms]; no bank conflicts */
    static const int A = PRODUCT_TERMS * LDA;
    static const int B = 64 * LDB;
    static const int STAGE = A + B;
    static const int BYTES = PRODUCT_STAGES * STAGE * int(sizeof(T));
    static const int BLOCKS = traits<T>::is_complex ? 1 : 3; /* of an SM, for registers' sake */
    static const int STEP = traits<T>::is_complex ? 2 : 4;   /* terms of four a fragment takes: registers */
};

template <typename T> using product_sum = fragment<T, 4, 32>;

/* Where lane's results are: rows row() + 8 i, i < 4, columns column() + 8 t + e, t < 4, e < 2. */
struct product_lane {
    __device__ __forceinline__ static int row() {
        return threadIdx.x / 32 % 2 * 32 + threadIdx.x % 32 / 4;
    }
    __device__ __forceinline__ static int column() {
        return threadIdx.x / 64 * 32 + threadIdx.x % 4 * 2;
    }
};

/* Every second entry of a row, from one on: of a matrix whose columns are `step` / 2 apart, */
template <typename T> struct dense_row {
    const T *at;
    int64_t step;
    __device__ __forceinline__ void next() {
        at += step;
    }
};

/* and of a trapezoid, whose columns grow shorter. */
template <typename T> struct raw_row {
    const T *at;
    int64_t step; /* to the column after the next */
    __device__ __forceinline__ void next() {
        at += step;
        step -= 4;
    }
};

/* The row and the first term, less begin, of A that a thread brings. */
__device__ __forceinline__ int product_row() {
    return threadIdx.x % 64;
}
__device__ __forceinline__ int product_term() {
    return threadIdx.x / 64;
}

/*
 * sum += A B over the terms begin .. end - 1. All threads of the block.
 *   a       from row product_row() and term begin + product_term() of A on; inside: there is such a row
 *   b, ldb  ROWS: entry (k, j), k counted from begin on, at b + k ldb + j; else at b + k + j ldb
 */
template <typename T, bool ROWS, typename Row>
__device__ __forceinline__ void product_block(product_sum<T> &sum, int64_t begin, int64_t end, Row a,
                                              bool inside, const T *b, int64_t ldb, T *shared) {
    typedef product_shape<T> S;
    const int t = threadIdx.x, g = t % 32 / 4, q = t % 4;
    const int terms = int(end - begin), steps = (terms + PRODUCT_TERMS - 1) / PRODUCT_TERMS;
    const T *const valid = b;
    dense_row<T> b_row = {b + int64_t(product_term()) * ldb + product_row(), 2 * ldb};
    const T *b_column = b + t % PRODUCT_TERMS + int64_t(t / PRODUCT_TERMS) * ldb;
    T *const a_to = shared + product_term() * S::LDA + product_row();
    T *const b_to =
        shared + S::A +
        (ROWS ? product_term() * S::LDA + product_row() : t / PRODUCT_TERMS * S::LDB + t % PRODUCT_TERMS);
    auto request = [&](int step) {
        const int place = step % PRODUCT_STAGES * S::STAGE, left = terms - step * PRODUCT_TERMS;
        if (step < steps) {
#pragma unroll
            for (int m = 0; m < PRODUCT_TERMS / 2; m++) {
                const bool read = inside && product_term() + 2 * m < left;
                copy_number_async(a_to + place + 2 * m * S::LDA, read ? a.at : valid, read);
                a.next();
            }
#pragma unroll
            for (int m = 0; m < PRODUCT_TERMS / 2; m++) {
                if constexpr (ROWS) {
                    const bool read = product_term() + 2 * m < left;
                    copy_number_async(b_to + place + 2 * m * S::LDA, read ? b_row.at : valid, read);
                    b_row.next();
                } else {
                    const bool read = t % PRODUCT_TERMS < left;
                    copy_number_async(b_to + place + 8 * m * S::LDB, read ? b_column + 8 * m * ldb : valid,
                                      read);
                }
            }
            b_column += PRODUCT_TERMS;
        }
        commit_copies();
    };
    for (int step = 0; step < PRODUCT_STAGES - 1; step++)
        request(step);
    for (int step = 0; step < steps; step++) {
        wait_for_copies<PRODUCT_STAGES - 2>();
        __syncthreads(); /* this step is there, and the one before it has been read */
        request(step + PRODUCT_STAGES - 1);
        const T *from = shared + step % PRODUCT_STAGES * S::STAGE;
        const T *a_at = from + q * S::LDA + t / 32 % 2 * 32 + g;
        const T *b_at = from + S::A + (ROWS ? q * S::LDA + t / 64 * 32 + g : (t / 64 * 32 + g) * S::LDB + q);
#pragma unroll
        for (int h = 0; h < PRODUCT_TERMS / 4; h += S::STEP) {
            T row[4][S::STEP], x[S::STEP][4];
#pragma unroll
            for (int s = 0; s < S::STEP; s++) {
#pragma unroll
                for (int u = 0; u < 4; u++)
                    row[u][s] = a_at[4 * (h + s) * S::LDA + 8 * u];
#pragma unroll
                for (int u = 0; u < 4; u++)
                    x[s][u] = ROWS ? b_at[4 * (h + s) * S::LDA + 8 * u] : b_at[8 * u * S::LDB + 4 * (h + s)];
            }
            sum.add_product(row, x);
        }
    }
    wait_for_copies<0>();
    __syncthreads(); /* shared memory may go */
}

} // namespace gsv
#endif
