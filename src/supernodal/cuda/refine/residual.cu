/*
 * The residual R = B - A X of a block of columns, the norms that its backward errors need, and what follows from them for each column,
 * in one launch. A is read once for up to 32 M columns.
 *
 * Mapping: C lanes of a warp stand for columns, M of them each; the warp's other lanes divide rows and, where A's rows are long, the
 * entries of a row. Warps take rows in turn, and a row's bounds are read while the row before is summed. The sum is always made of four
 * chains, A's entry k going to chain k mod 4, and so its bits do not depend on the number of columns. Either a lane has all four, and
 * reads four entries at once, which is best for short rows and for many columns; or four lanes have a chain each (LONG).
 *
 * A row of more than GSV_LONG_ROW entries is done in pieces, so that no warp has much more to do than others. Each piece leaves its
 * sums in memory and counts itself there; the warp that counts the last piece of a row adds up the sums, in the order of the pieces. It
 * has seen all of them: each warp has a fence between its sums and its count, and this one has a fence between the count and its
 * reads.
 *
 * Norms are maxima of bit patterns: those of numbers >= 0 compare like the numbers, and NaN is above infinity. So one NaN makes
 * the norm NaN, and no norm depends on the order of the atomics. The block that ends last decides (refine_step.h), tells the host, and
 * makes the norms and counts zero for the next launch.
 *
 * Nothing waits for another block, so nothing can deadlock.
 */
#include "../../../dense_kernels/scalar.cuh"
#include "refine.h"

namespace gsv {

enum { RESIDUAL_THREADS = 256, CHAINS = 4 };

__device__ __forceinline__ double magnitude(float a) {
    return fabs(double(a));
}
__device__ __forceinline__ double magnitude(double a) {
    return fabs(a);
}
template <typename R> __device__ __forceinline__ double magnitude(complex<R> a) {
    return isnan(a.re) || isnan(a.im) ? double(NAN) : hypot(double(a.re), double(a.im));
}

__device__ __forceinline__ void raise(unsigned long long &norm, double magnitude) {
    const unsigned long long bits = __double_as_longlong(magnitude) & 0x7fffffffffffffffull;
    norm = bits > norm ? bits : norm;
}

/* Past L1, where an earlier number may stand. */
template <typename T> __device__ __forceinline__ T load_fresh(const T *from) {
    if constexpr (sizeof(T) == 16) {
        const double2 pair = __ldcg(reinterpret_cast<const double2 *>(from));
        return T{pair.x, pair.y};
    } else if constexpr (traits<T>::is_complex) {
        const float2 pair = __ldcg(reinterpret_cast<const float2 *>(from));
        return T{pair.x, pair.y};
    } else {
        return __ldcg(from);
    }
}

/* What a lane knows: its columns and its place among the lanes of a warp. */
template <typename T, int C, int M, bool LONG> struct residual_lane {
    static constexpr int LANES = LONG && 32 / C >= CHAINS ? CHAINS : 1; /* that have the chains of a row */
    static constexpr int EACH = CHAINS / LANES;                         /* chains in a lane */
    static constexpr int SLOTS = 32 / (C * LANES);                      /* rows of a warp at a time */

    const gsv_residual &job;
    int column[M];
    int place[M];     /* of a column that is worked on; of others -1 */
    const T *from[M]; /* X's, or what it is added to */
    unsigned long long norms[3][M];
    int chain, slot;

    __device__ __forceinline__ residual_lane(const gsv_residual &job_) : job(job_) {
        const int lane = threadIdx.x % 32;
        chain = lane / C % LANES;
        slot = lane / (C * LANES);
#pragma unroll
        for (int m = 0; m < M; m++) {
            column[m] = (blockIdx.y * M + m) * C + lane % C;
            place[m] = -1;
            if (column[m] < job.columns) {
                const gsv_refine_column &state = job.v.columns[column[m]];
                place[m] = job.first ? GSV_REFINE_FIRST : state.active ? state.place : -1;
            }
            const int read = job.first || job.d ? place[m] : 1 - place[m];
            from[m] = static_cast<const T *>(read == GSV_REFINE_SECOND ? job.v.x[1] : job.v.x[0]) + column[m];
#pragma unroll
            for (int k = 0; k < 3; k++)
                norms[k][m] = 0;
        }
    }

    __device__ __forceinline__ bool live(int m) const {
        return place[m] >= 0;
    }

    /* X, or X + D, at row i. Rows that are long have had D added (refine.c). */
    __device__ __forceinline__ T solution(int64_t i, int m) const {
        const T x = from[m][i * job.columns];
        if constexpr (LONG)
            return x;
        else
            return job.d ? add(x, static_cast<const T *>(job.d)[i * job.columns + column[m]]) : x;
    }

    __device__ __forceinline__ void take(T (&sum)[M], T a, int64_t i) const {
#pragma unroll
        for (int m = 0; m < M; m++)
            if (live(m))
                sum[m] = multiply_add(sum[m], a, solution(i, m));
    }

    /* The sum of a row's chains, in every lane that has one. */
    __device__ __forceinline__ void join(T (&sum)[EACH][M], T (&total)[M]) const {
#pragma unroll
        for (int m = 0; m < M; m++) {
            if constexpr (EACH == CHAINS) {
                total[m] = add(add(sum[0][m], sum[2][m]), add(sum[1][m], sum[3][m]));
            } else {
                const T half = add(sum[0][m], shuffle_xor(sum[0][m], 2 * C));
                total[m] = add(half, shuffle_xor(half, C));
            }
        }
    }

    static __device__ __forceinline__ void clear(T (&sum)[EACH][M]) {
#pragma unroll
        for (int c = 0; c < EACH; c++)
#pragma unroll
            for (int m = 0; m < M; m++)
                sum[c][m] = make<T>(0);
    }

    /* Entries begin .. end - 1. All lanes of the warp come here. */
    __device__ __forceinline__ void row_sum(int64_t begin, int64_t end, T (&total)[M]) const {
        T sum[EACH][M];
        clear(sum);
        const T *values = static_cast<const T *>(job.a.values);
        const int64_t start = begin & ~int64_t(CHAINS - 1);
        if constexpr (EACH == 1) {
#pragma unroll 8
            for (int64_t k = start + chain + (start + chain < begin ? CHAINS : 0); k < end; k += CHAINS)
                take(sum[0], values[k], job.a.columns[k]);
        } else {
#pragma unroll 1
            for (int64_t k = start; k < end; k += CHAINS) {
                const int4 four = *reinterpret_cast<const int4 *>(&job.a.columns[k]);
                const int32_t at[CHAINS] = {four.x, four.y, four.z, four.w};
                T a[CHAINS];
                constexpr int PART = 16 / sizeof(T); /* of one load */
#pragma unroll
                for (int c = 0; c < CHAINS; c += PART)
                    *reinterpret_cast<int4 *>(&a[c]) = *reinterpret_cast<const int4 *>(&values[k + c]);
#pragma unroll
                for (int c = 0; c < CHAINS; c++)
                    if (k + c >= begin && k + c < end)
                        take(sum[c], a[c], at[c]);
            }
        }
        join(sum, total);
    }

    /* The sums of a row's pieces. All lanes of the warp come here. */
    __device__ __forceinline__ void piece_sum(int first, int count, T (&total)[M]) const {
        const T *partial = static_cast<const T *>(job.v.partial) + int64_t(first) * job.columns;
        T sum[EACH][M];
        clear(sum);
#pragma unroll 1
        for (int k = EACH == 1 ? chain : 0; k < count; k += LANES)
#pragma unroll
            for (int m = 0; m < M; m++)
                if (live(m)) {
                    const T part = load_fresh(&partial[int64_t(k) * job.columns + column[m]]);
#pragma unroll
                    for (int c = 0; c < EACH; c++)
                        if (EACH == 1 || k % CHAINS == c)
                            sum[c][m] = add(sum[c][m], part);
                }
        join(sum, total);
    }

    /* What row i of R is made of besides its sum. */
    __device__ __forceinline__ void prepare(int64_t i, T (&x)[M], T (&b)[M]) const {
#pragma unroll
        for (int m = 0; m < M; m++)
            if (live(m)) {
                x[m] = solution(i, m);
                b[m] = static_cast<const T *>(
                    job.b.values)[i * job.b.row_stride + column[m] * job.b.column_stride];
            }
    }

    __device__ __forceinline__ void finish(int64_t i, const T (&x)[M], const T (&b)[M], const T (&total)[M]) {
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (!live(m))
                continue;
            const T r = add(b[m], negate(total[m]));
            if (!LONG && job.d)
                static_cast<T *>(job.v.x[1 - place[m]])[i * job.columns + column[m]] = x[m];
            static_cast<T *>(job.v.r)[i * job.columns + column[m]] = r;
            raise(norms[0][m], magnitude(r));
            raise(norms[1][m], magnitude(x[m]));
            raise(norms[2][m], magnitude(b[m]));
        }
    }

    __device__ __forceinline__ static int pieces_of(int64_t entries) {
        return int((entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE);
    }

    /* Pieces of long rows whose sums are known. Where one is the last of its row the sum of the row takes its place, and the answer is
     * true. All lanes of the warp come here; `piece` is one for the lanes of a slot, or -1. */
    __device__ __forceinline__ bool pieces(int piece, T (&total)[M]) const {
        constexpr int GROUP = C * LANES; /* lanes of a slot */
        int *arrived = job.v.arrived + int64_t(blockIdx.y) * job.a.piece_count;
        const gsv_entry_piece of = job.a.pieces[piece < 0 ? 0 : piece];
        const int count = pieces_of(job.a.row_ptr[of.row + 1] - job.a.row_ptr[of.row]);
#pragma unroll
        for (int m = 0; m < M; m++)
            if (piece >= 0 && chain == 0 && live(m))
                static_cast<T *>(job.v.partial)[int64_t(piece) * job.columns + column[m]] = total[m];
        __threadfence();
        __syncwarp();
        int ticket = 0;
        if (piece >= 0 && threadIdx.x % GROUP == 0)
            ticket = atomicAdd(&arrived[of.first], 1);
        const bool last = __shfl_sync(~0u, ticket, 0, GROUP) + 1 == count && piece >= 0;
#pragma unroll 1
        for (int s = 0; s < SLOTS; s++) { /* all lanes go together */
            if (!__shfl_sync(~0u, last, s * GROUP))
                continue;
            const int first = __shfl_sync(~0u, of.first, s * GROUP);
            T sum[M];
            __threadfence();
            piece_sum(first, __shfl_sync(~0u, count, s * GROUP), sum);
#pragma unroll
            for (int m = 0; m < M; m++)
                total[m] = slot == s ? sum[m] : total[m];
            if (threadIdx.x % 32 == 0)
                arrived[first] = 0;
        }
        return last;
    }

    /* A row, or a piece of one. */
    struct share {
        int row;   /* or -1: there is none, or its pieces do it */
        int piece; /* or -1 */
        int64_t begin;
        int entries;
    };

    /* The slot's share of the items at base: pieces of long rows come first, then the other rows. */
    __device__ __forceinline__ share share_of(int64_t base) const {
        const int64_t item = base + slot - job.a.piece_count;
        share s = {-1, -1, 0, 0};
        if (item >= job.n)
            return s;
        s.row = int(item);
        int64_t skipped = 0;
        if (item < 0) {
            s.piece = int(base + slot);
            const gsv_entry_piece of = job.a.pieces[s.piece];
            s.row = of.row;
            skipped = int64_t(s.piece - of.first) * GSV_ENTRY_PIECE;
        }
        s.begin = job.a.row_ptr[s.row] + skipped;
        const int64_t left = job.a.row_ptr[s.row + 1] - s.begin;
        s.entries = int(s.piece >= 0 && left > GSV_ENTRY_PIECE ? GSV_ENTRY_PIECE : left);
        if (s.piece < 0 && left > GSV_LONG_ROW) {
            s.row = -1;
            s.entries = 0;
        }
        return s;
    }

    __device__ __forceinline__ void work(int warp, int warps) {
        const int64_t items = int64_t(job.a.piece_count) + job.n, step = int64_t(warps) * SLOTS;
        share next = share_of(int64_t(warp) * SLOTS);
        for (int64_t base = int64_t(warp) * SLOTS; base < items; base += step) {
            const share s = next;
            next = share_of(base + step);
            bool ready = s.row >= 0 && s.piece < 0;
            T x[M], b[M], total[M];
            if (s.row >= 0 && chain == 0)
                prepare(s.row, x, b);
            row_sum(s.begin, s.begin + s.entries, total);
            if (base < job.a.piece_count)
                ready |= pieces(s.piece, total);
            if (ready && chain == 0)
                finish(s.row, x, b, total);
        }
    }

    /* The block's norms, to those of the columns. */
    __device__ __forceinline__ void publish() const {
        __shared__ unsigned long long of_block[3][C * M];
#pragma unroll 1
        for (int k = threadIdx.x; k < 3 * C * M; k += RESIDUAL_THREADS)
            of_block[k / (C * M)][k % (C * M)] = 0;
        __syncthreads();
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int k = 0; k < 3; k++)
                if (norms[k][m] > 0)
                    atomicMax(&of_block[k][m * C + threadIdx.x % C], norms[k][m]);
        __syncthreads();
#pragma unroll 1
        for (int k = threadIdx.x; k < 3 * C * M; k += RESIDUAL_THREADS) {
            const unsigned long long norm = of_block[k / (C * M)][k % (C * M)];
            if (norm > 0)
                atomicMax(&job.v.norms[3 * (blockIdx.y * C * M + k % (C * M)) + k / (C * M)], norm);
        }
    }
};

/* Every column's decision, by the block that ends last. One function for all kernels, so its arguments are plain. */
__device__ __noinline__ void decide(int count, int first, double norm_a, double tolerance, double min_gain,
                                    unsigned long long *norms_of, gsv_refine_column *columns,
                                    gsv_refine_report *report) {
    const gsv_refine_rule rule = {norm_a, tolerance, min_gain};
    int active = 0;
#pragma unroll 1
    for (int base = 0; base < count; base += RESIDUAL_THREADS) {
        const int j = base + threadIdx.x;
        bool on = false;
        if (j < count) {
            double norms[3];
            for (int k = 0; k < 3; k++) {
                norms[k] = __longlong_as_double(__ldcg(&norms_of[3 * j + k]));
                norms_of[3 * j + k] = 0;
            }
            gsv_refine_column column = columns[j];
            if (first)
                gsv_refine_begin(&rule, norms, &column);
            else if (column.active)
                gsv_refine_judge(&rule, norms, &column);
            columns[j] = column;
            report->columns[j] = column;
            on = column.active;
        }
        active += __syncthreads_count(on);
    }
    if (threadIdx.x == 0)
        report->active = active;
}

/* Is this the block that ends last? Then it sees what all of them have written. */
__device__ __forceinline__ bool ends_last(int *done) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(done, 1) + 1 == int(gridDim.x * gridDim.y);
        if (last)
            *done = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

/* Blocks of a multiprocessor: as many as the registers allow that a lane needs. */
template <typename T, int M> constexpr int blocks_each() {
    return M > 1 ? 2 : sizeof(T) == 16 ? 3 : 4;
}

template <typename T, int C, int M, bool LONG>
__global__ void __launch_bounds__(RESIDUAL_THREADS, blocks_each<T, M>())
    residual_kernel(const gsv_residual job) {
    residual_lane<T, C, M, LONG> lane(job);
    bool any = false;
    for (int m = 0; m < M; m++)
        any |= lane.live(m);
    if (__syncthreads_or(any)) { /* else every column of the tile has ended */
        const int warps = gridDim.x * (RESIDUAL_THREADS / 32),
                  warp = blockIdx.x * (RESIDUAL_THREADS / 32) + threadIdx.x / 32;
        lane.work(warp, warps);
        lane.publish();
    }
    if (ends_last(job.v.done))
        decide(job.columns, job.first, job.rule.norm_a, job.rule.tolerance, job.rule.min_gain, job.v.norms,
               job.v.columns, job.v.report_on_device);
}

template <typename T, int C, int M, bool LONG>
cudaError_t launch(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    constexpr int EACH = RESIDUAL_THREADS / 32 * residual_lane<T, C, M, LONG>::SLOTS;
    const int64_t wanted = (int64_t(job->n) + job->a.piece_count + EACH - 1) / EACH;
    const unsigned tiles = unsigned((job->columns + C * M - 1) / (C * M));
    const int64_t blocks = int64_t(multiprocessors) * blocks_each<T, M>(),
                  most = blocks / tiles > 1 ? blocks / tiles : 1;
    const dim3 grid(unsigned(wanted < most ? wanted : most), tiles);
    residual_kernel<T, C, M, LONG><<<grid, RESIDUAL_THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}

template <typename T, bool LONG>
cudaError_t for_columns(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    if (job->columns == 1)
        return launch<T, 1, 1, LONG>(job, multiprocessors, stream);
    if (job->columns <= 4)
        return launch<T, 4, 1, LONG>(job, multiprocessors, stream);
    if (job->columns <= 8)
        return launch<T, 8, 1, LONG>(job, multiprocessors, stream);
    if (job->columns <= 32)
        return launch<T, 32, 1, LONG>(job, multiprocessors, stream);
    return launch < T, 32, traits<T>::is_complex ? 2 : 4, LONG > (job, multiprocessors, stream);
}

template <typename T>
cudaError_t residual(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    return job->a.has_long_rows ? for_columns<T, true>(job, multiprocessors, stream)
                                : for_columns<T, false>(job, multiprocessors, stream);
}

} // namespace gsv

cudaError_t gsv_refine_residual(gpusolve_dtype dtype, const gsv_residual *job, int multiprocessors,
                                cudaStream_t stream) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gsv::residual<float>(job, multiprocessors, stream);
    case GPUSOLVE_DOUBLE:
        return gsv::residual<double>(job, multiprocessors, stream);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gsv::residual<gsv::complex<float>>(job, multiprocessors, stream);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return gsv::residual<gsv::complex<double>>(job, multiprocessors, stream);
    }
    return cudaErrorInvalidValue;
}
