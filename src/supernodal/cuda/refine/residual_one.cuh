/* The residual of one column: warps take rows in turn, and a row's bounds are read while the row before is summed. */
#ifndef GSV_CUDA_REFINE_RESIDUAL_ONE_CUH
#define GSV_CUDA_REFINE_RESIDUAL_ONE_CUH

#include "residual_lane.cuh"

namespace gsv {

template <typename T, bool SHARED_ROWS> struct one_column : residual_lane<T, 1, 1, SHARED_ROWS ? CHAINS : 1> {
    typedef residual_lane<T, 1, 1, SHARED_ROWS ? CHAINS : 1> lane;
    using lane::EACH, lane::SLOTS, lane::chain, lane::job, lane::slot, lane::from, lane::here;
    enum { THREADS = 256, BLOCKS = sizeof(T) == 16 ? 3 : 4 /* a multiprocessor */, WARPS = THREADS / 32 };
    static constexpr size_t SHARED = 0;

    __device__ __forceinline__ explicit one_column(const gsv_residual &job_) : lane(job_) {}

    /* X, or X + D, at row i. Where lanes share a row D has been added (refine.c). */
    __device__ __forceinline__ T solution(int64_t i) const {
        if constexpr (SHARED_ROWS)
            return from[i];
        else
            return job.d ? add(from[i], static_cast<const T *>(job.d)[i]) : from[i];
    }

    /* Entries begin .. end - 1 of these arrays, which start at a multiple of four of A's. */
    __device__ __forceinline__ void row_sum(const T *values, const int32_t *columns, int begin, int end,
                                            T (&total)[1]) const {
        T sum[EACH][1];
#pragma unroll
        for (int c = 0; c < EACH; c++)
            sum[c][0] = make<T>(0);
        const int start = begin & ~(CHAINS - 1);
        if constexpr (EACH == 1) {
#pragma unroll 8
            for (int k = start + chain + (start + chain < begin ? CHAINS : 0); k < end; k += CHAINS)
                sum[0][0] = multiply_add(sum[0][0], values[k], solution(columns[k]));
        } else {
#pragma unroll 2
            for (int k = start; k < end; k += CHAINS) {
                const int4 four = *reinterpret_cast<const int4 *>(&columns[k]);
                const int32_t at[CHAINS] = {four.x, four.y, four.z, four.w};
                alignas(16) T a[CHAINS];
                constexpr int PART = 16 / sizeof(T); /* of one load */
#pragma unroll
                for (int c = 0; c < CHAINS; c += PART)
                    *reinterpret_cast<int4 *>(&a[c]) = *reinterpret_cast<const int4 *>(&values[k + c]);
#pragma unroll
                for (int c = 0; c < CHAINS; c++)
                    if (k + c >= begin && k + c < end)
                        sum[c][0] = multiply_add(sum[c][0], a[c], solution(at[c]));
            }
        }
        lane::join(sum, total);
    }

    /* A row, or a piece of one. */
    struct share {
        int row;            /* or -1: there is none, or its pieces do it */
        int piece;          /* or -1 */
        int64_t start;      /* where its arrays begin, at a multiple of four of A's entries, */
        int begin, entries; /* and its entries in them */
    };

    /* The slot's share of the items at base: pieces of long rows come first, then the other rows. */
    __device__ __forceinline__ share share_of(int64_t base) const {
        const int64_t item = base + slot - job.a.piece_count;
        share s = {-1, -1, 0, 0, 0};
        if (item >= job.n)
            return s;
        s.row = int(item);
        int64_t begin = 0;
        if (item < 0) {
            s.piece = int(base + slot);
            const gsv_entry_piece of = job.a.pieces[s.piece];
            s.row = of.row;
            begin = int64_t(s.piece - of.first) * GSV_ENTRY_PIECE;
        }
        begin += job.a.row_ptr[s.row];
        const int64_t left = job.a.row_ptr[s.row + 1] - begin;
        s.start = begin & ~int64_t(CHAINS - 1);
        s.begin = int(begin - s.start);
        s.entries = int(s.piece >= 0 && left > GSV_ENTRY_PIECE ? GSV_ENTRY_PIECE : left);
        if (s.piece < 0 && left > GSV_LONG_ROW) {
            s.row = -1;
            s.entries = 0;
        }
        return s;
    }

    __device__ __forceinline__ void do_share(const share &s, bool any_piece) {
        T x[1] = {make<T>(0)}, b[1] = {make<T>(0)}, total[1];
        const bool prepared = s.row >= 0 && chain == 0;
        if (prepared) {
            x[0] = solution(s.row);
            b[0] = static_cast<const T *>(job.b.values)[s.row * job.b.row_stride];
        }
        row_sum(static_cast<const T *>(job.a.values) + s.start, job.a.columns + s.start, s.begin,
                s.begin + s.entries, total);
        bool ready = s.row >= 0 && s.piece < 0;
        if (any_piece)
            ready |= lane::pieces(s.piece, total);
        if (ready && chain == 0) {
            if (!SHARED_ROWS && job.d)
                static_cast<T *>(job.sum)[s.row] = x[0];
            lane::finish(s.row, x, b, total);
        }
    }

    __device__ __forceinline__ void run(char *) {
        const int warp = blockIdx.x * WARPS + threadIdx.x / 32;
        const int64_t items = int64_t(job.a.piece_count) + job.n, step = int64_t(gridDim.x) * WARPS * SLOTS;
        share next = share_of(int64_t(warp) * SLOTS);
        for (int64_t base = int64_t(warp) * SLOTS; base < items; base += step) {
            const share s = next;
            next = share_of(base + step);
            do_share(s, base < job.a.piece_count);
        }
    }

    static int stretch(const gsv_residual &, int64_t) {
        return 0;
    }

    /* Blocks that have work. */
    static int64_t blocks(const gsv_residual &job) {
        constexpr int EACH_BLOCK = WARPS * SLOTS;
        return (int64_t(job.n) + job.a.piece_count + EACH_BLOCK - 1) / EACH_BLOCK;
    }
};

} // namespace gsv
#endif
