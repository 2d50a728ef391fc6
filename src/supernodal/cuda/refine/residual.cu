/*
 * The residual R = B - A X of a block of columns, the norms that its backward errors need, and what follows from them for each column,
 * in one launch. A is read once for up to 32 columns.
 *
 * Mapping: C lanes of a warp stand for a column each; the warp's other lanes divide rows and, where A's rows are long, the entries of a row.
 * The sum of a row is always made of four chains, A's entry k going to chain k mod 4, and so its bits do not depend on the number of
 * columns. Either a lane has all four, and reads four entries at once, which is best for short rows and for many columns; or four
 * lanes have a chain each (LONG).
 *
 * One column: warps take rows in turn, and a row's bounds are read while the row before is summed. More columns: blocks take chunks of
 * consecutive rows (refine.h). While one chunk is worked on, the entries of the next are on their way to shared memory, all at once: a
 * lane never waits for an index before it can ask for x. Rows of a chunk are done at about the same time, on one multiprocessor, and
 * share what they read of X in L1.
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

#include <cuda_pipeline.h>

namespace gsv {

enum { CHAINS = 4 };

/* Of the blocks for C columns. */
template <typename T, int C> struct residual_block {
    static constexpr int THREADS = C == 1 ? 256 : 512;
    static constexpr int EACH = C == 1            ? (sizeof(T) == 16 ? 3 : 4)
                                : sizeof(T) == 16 ? 1
                                                  : 2; /* multiprocessor */
};

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

/* What a lane knows: its column and its place among the lanes of a warp. */
template <typename T, int C, bool LONG> struct residual_lane {
    static constexpr int LANES = LONG && 32 / C >= CHAINS ? CHAINS : 1; /* that have the chains of a row */
    static constexpr int EACH = CHAINS / LANES;                         /* chains in a lane */
    static constexpr int SLOTS = 32 / (C * LANES);                      /* rows of a warp at a time */
    static constexpr int THREADS = residual_block<T, C>::THREADS, WARPS = THREADS / 32;

    const gsv_residual &job;
    const int column, chain, slot;
    int place;     /* of a column that is worked on; of others -1 */
    const T *from; /* X's, or what it is added to */
    unsigned long long norms[3];

    __device__ __forceinline__ residual_lane(const gsv_residual &job_)
        : job(job_), column(blockIdx.y * C + threadIdx.x % C), chain(threadIdx.x % 32 / C % LANES),
          slot(threadIdx.x % 32 / (C * LANES)), place(-1), norms{0, 0, 0} {
        if (column < job.columns) {
            const gsv_refine_column &state = job.v.columns[column];
            place = job.first ? GSV_REFINE_FIRST : state.active ? state.place : -1;
        }
        const int read = job.first || job.d ? place : 1 - place;
        from = static_cast<const T *>(read == GSV_REFINE_SECOND ? job.v.x[1] : job.v.x[0]) + column;
    }

    __device__ __forceinline__ bool live() const {
        return place >= 0;
    }

    /* X, or X + D, at row i. Rows that are long have had D added (refine.c). */
    __device__ __forceinline__ T solution(int64_t i) const {
        const T x = from[i * job.columns];
        if constexpr (LONG)
            return x;
        else
            return job.d ? add(x, static_cast<const T *>(job.d)[i * job.columns + column]) : x;
    }

    /* The sum of a row's chains, in every lane that has one. */
    __device__ __forceinline__ T join(const T (&sum)[EACH]) const {
        if constexpr (EACH == CHAINS)
            return add(add(sum[0], sum[2]), add(sum[1], sum[3]));
        const T half = add(sum[0], shuffle_xor(sum[0], 2 * C));
        return add(half, shuffle_xor(half, C));
    }

    /* Entries begin .. end - 1 of these arrays, which start at a multiple of four of A's. All lanes of the warp come here. */
    __device__ __forceinline__ T row_sum(const T *values, const int32_t *columns, int begin, int end) const {
        T sum[EACH];
#pragma unroll
        for (int c = 0; c < EACH; c++)
            sum[c] = make<T>(0);
        const int start = begin & ~(CHAINS - 1);
        if constexpr (EACH == 1) {
#pragma unroll 8
            for (int k = start + chain + (start + chain < begin ? CHAINS : 0); k < end; k += CHAINS)
                if (live())
                    sum[0] = multiply_add(sum[0], values[k], solution(columns[k]));
        } else {
#pragma unroll 2
            for (int k = start; k < end; k += CHAINS) {
                const int4 four = *reinterpret_cast<const int4 *>(&columns[k]);
                const int32_t at[CHAINS] = {four.x, four.y, four.z, four.w};
                T a[CHAINS];
                constexpr int PART = 16 / sizeof(T); /* of one load */
#pragma unroll
                for (int c = 0; c < CHAINS; c += PART)
                    *reinterpret_cast<int4 *>(&a[c]) = *reinterpret_cast<const int4 *>(&values[k + c]);
#pragma unroll
                for (int c = 0; c < CHAINS; c++)
                    if (k + c >= begin && k + c < end && live())
                        sum[c] = multiply_add(sum[c], a[c], solution(at[c]));
            }
        }
        return join(sum);
    }

    /* The sums of a row's pieces. All lanes of the warp come here. */
    __device__ __forceinline__ T piece_sum(int first, int count) const {
        const T *partial = static_cast<const T *>(job.v.partial) + int64_t(first) * job.columns + column;
        T sum[EACH];
#pragma unroll
        for (int c = 0; c < EACH; c++)
            sum[c] = make<T>(0);
#pragma unroll 1
        for (int k = EACH == 1 ? chain : 0; k < count && live(); k += LANES) {
            const T part = load_fresh(&partial[int64_t(k) * job.columns]);
#pragma unroll
            for (int c = 0; c < EACH; c++)
                if (EACH == 1 || k % CHAINS == c)
                    sum[c] = add(sum[c], part);
        }
        __syncwarp();
        return join(sum);
    }

    /* What row i of R is made of besides its sum. */
    __device__ __forceinline__ void prepare(int64_t i, T *x, T *b) const {
        if (!live())
            return;
        *x = solution(i);
        *b = static_cast<const T *>(job.b.values)[i * job.b.row_stride + column * job.b.column_stride];
    }

    __device__ __forceinline__ void finish(int64_t i, T x, T b, T total) {
        if (!live())
            return;
        const T r = add(b, negate(total));
        if (!LONG && job.d)
            static_cast<T *>(job.v.x[1 - place])[i * job.columns + column] = x;
        static_cast<T *>(job.v.r)[i * job.columns + column] = r;
        raise(norms[0], magnitude(r));
        raise(norms[1], magnitude(x));
        raise(norms[2], magnitude(b));
    }

    __device__ __forceinline__ static int pieces_of(int64_t entries) {
        return int((entries + GSV_ENTRY_PIECE - 1) / GSV_ENTRY_PIECE);
    }

    /* Pieces of long rows whose sums are known. Where one is the last of its row the sum of the row takes its place, and the answer is
     * true. All lanes of the warp come here; `piece` is one for the lanes of a slot, or -1. */
    __device__ __forceinline__ bool pieces(int piece, T *total) const {
        constexpr int GROUP = C * LANES; /* lanes of a slot */
        int *arrived = job.v.arrived + int64_t(blockIdx.y) * job.a.piece_count;
        const gsv_entry_piece of = job.a.pieces[piece < 0 ? 0 : piece];
        const int count = pieces_of(job.a.row_ptr[of.row + 1] - job.a.row_ptr[of.row]);
        if (piece >= 0 && chain == 0 && live())
            static_cast<T *>(job.v.partial)[int64_t(piece) * job.columns + column] = *total;
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
            __threadfence();
            const T sum = piece_sum(first, __shfl_sync(~0u, count, s * GROUP));
            if (slot == s)
                *total = sum;
            if (threadIdx.x % 32 == 0)
                arrived[first] = 0;
        }
        return last;
    }

    /* A row, or a piece of one. */
    struct share {
        int row;            /* or -1: there is none, or its pieces do it */
        int piece;          /* or -1 */
        int begin, entries; /* where its arrays begin at a multiple of four of A's entries */
    };

    __device__ __forceinline__ void do_share(const share &s, const T *values, const int32_t *columns,
                                             bool any_piece) {
        T x = make<T>(0), b = make<T>(0);
        if (s.row >= 0 && chain == 0)
            prepare(s.row, &x, &b);
        T total = row_sum(values, columns, s.begin, s.begin + s.entries);
        bool ready = s.row >= 0 && s.piece < 0;
        if (any_piece)
            ready |= pieces(s.piece, &total);
        if (ready && chain == 0)
            finish(s.row, x, b, total);
    }

    /* ---- one column: the slot's share of the items at base: pieces of long rows come first, then the other rows */
    __device__ __forceinline__ share share_of(int64_t base, int64_t *start) const {
        const int64_t item = base + slot - job.a.piece_count;
        share s = {-1, -1, 0, 0};
        *start = 0;
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
        *start = begin & ~int64_t(CHAINS - 1);
        s.begin = int(begin - *start);
        s.entries = int(s.piece >= 0 && left > GSV_ENTRY_PIECE ? GSV_ENTRY_PIECE : left);
        if (s.piece < 0 && left > GSV_LONG_ROW) {
            s.row = -1;
            s.entries = 0;
        }
        return s;
    }

    __device__ __forceinline__ void rows_in_turn() {
        const int warp = blockIdx.x * WARPS + threadIdx.x / 32;
        const int64_t items = int64_t(job.a.piece_count) + job.n, step = int64_t(gridDim.x) * WARPS * SLOTS;
        int64_t next_start;
        share next = share_of(int64_t(warp) * SLOTS, &next_start);
        for (int64_t base = int64_t(warp) * SLOTS; base < items; base += step) {
            const share s = next;
            const int64_t start = next_start;
            next = share_of(base + step, &next_start);
            do_share(s, static_cast<const T *>(job.a.values) + start, job.a.columns + start,
                     base < job.a.piece_count);
        }
    }

    /* ---- more columns: chunks in shared memory */
    struct room {
        alignas(16) T values[GSV_CHUNK_ENTRIES + CHAINS];
        alignas(16) int32_t columns[GSV_CHUNK_ENTRIES + CHAINS];
        alignas(16) int64_t bounds[GSV_CHUNK_ROWS + 1]; /* of the rows */
    };

    /* The entries and bounds of a chunk are on their way. All threads of the block come here. */
    __device__ __forceinline__ void fetch(const gsv_chunk &chunk, room *to) const {
        const int64_t start = chunk.entry & ~int64_t(CHAINS - 1);
        const int fours = int(chunk.entry + chunk.entries - start + CHAINS - 1) / CHAINS;
        constexpr int PARTS = CHAINS * sizeof(T) / 16; /* copies of four values */
        const char *values = reinterpret_cast<const char *>(static_cast<const T *>(job.a.values) + start);
        for (int k = threadIdx.x; k < fours; k += THREADS)
            __pipeline_memcpy_async(&to->columns[CHAINS * k], &job.a.columns[start + CHAINS * k], 16);
        for (int k = threadIdx.x; k < fours * PARTS; k += THREADS)
            __pipeline_memcpy_async(reinterpret_cast<char *>(to->values) + 16 * k, values + 16 * k, 16);
        if (chunk.piece < 0)
            for (int k = threadIdx.x; k <= chunk.rows; k += THREADS)
                __pipeline_memcpy_async(&to->bounds[k], &job.a.row_ptr[chunk.row + k], 8);
    }

    __device__ __forceinline__ void chunk_rows(const gsv_chunk &chunk, const room &in) {
        const int64_t start = chunk.entry & ~int64_t(CHAINS - 1);
        for (int base = threadIdx.x / 32 * SLOTS; base < chunk.rows; base += WARPS * SLOTS) {
            const int q = base + slot;
            share s = {-1, -1, 0, 0};
            if (q < chunk.rows && chunk.piece < 0) {
                s.row = chunk.row + q;
                s.begin = int(in.bounds[q] - start);
                s.entries = int(in.bounds[q + 1] - in.bounds[q]);
            } else if (q < chunk.rows) {
                s.row = chunk.row;
                s.piece = chunk.piece + q;
                s.begin = int(chunk.entry - start) + q * GSV_ENTRY_PIECE;
                const int left = chunk.entries - q * GSV_ENTRY_PIECE;
                s.entries = left < GSV_ENTRY_PIECE ? left : GSV_ENTRY_PIECE;
            }
            do_share(s, in.values, in.columns, chunk.piece >= 0);
        }
    }

    __device__ __forceinline__ void chunks(room *rooms) {
        const gsv_chunk none = {0, 0, 0, 0, -1};
        const int step = gridDim.x, count = job.a.chunk_count;
        gsv_chunk now = int(blockIdx.x) < count ? job.a.chunks[blockIdx.x] : none;
        fetch(now, &rooms[0]);
        __pipeline_commit();
        int which = 0;
        for (int c = blockIdx.x; c < count; c += step, which = 1 - which) {
            const gsv_chunk next = c + step < count ? job.a.chunks[c + step] : none;
            if (c + step < count)
                fetch(next, &rooms[1 - which]);
            __pipeline_commit();
            __pipeline_wait_prior(1); /* this thread's part of this chunk is there, */
            __syncthreads();          /* and everybody's */
            chunk_rows(now, rooms[which]);
            __syncthreads(); /* before the chunk after next comes to this room */
            now = next;
        }
    }

    /* The block's norms, to those of the columns. */
    __device__ __forceinline__ void publish() const {
        __shared__ unsigned long long of_block[3][C];
        if (threadIdx.x < 3 * C)
            of_block[threadIdx.x / C][threadIdx.x % C] = 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 3; k++)
            if (norms[k] > 0)
                atomicMax(&of_block[k][threadIdx.x % C], norms[k]);
        __syncthreads();
        if (threadIdx.x < 3 * C) {
            const unsigned long long norm = of_block[threadIdx.x / C][threadIdx.x % C];
            if (norm > 0)
                atomicMax(&job.v.norms[3 * (blockIdx.y * C + threadIdx.x % C) + threadIdx.x / C], norm);
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
    for (int base = 0; base < count; base += blockDim.x) {
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

template <typename T, int C, bool LONG>
__global__ void __launch_bounds__(residual_block<T, C>::THREADS, residual_block<T, C>::EACH)
    residual_kernel(const gsv_residual job) {
    typedef residual_lane<T, C, LONG> lane_type;
    lane_type lane(job);
    if (__syncthreads_or(lane.live())) { /* else every column of the tile has ended */
        if constexpr (C == 1) {
            lane.rows_in_turn();
        } else {
            extern __shared__ __align__(16) char memory[];
            lane.chunks(reinterpret_cast<typename lane_type::room *>(memory));
        }
        lane.publish();
    }
    if (ends_last(job.v.done))
        decide(job.columns, job.first, job.rule.norm_a, job.rule.tolerance, job.rule.min_gain, job.v.norms,
               job.v.columns, job.v.report_on_device);
}

template <typename T, int C, bool LONG>
cudaError_t launch(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    typedef residual_lane<T, C, LONG> lane;
    constexpr int EACH = lane::WARPS * lane::SLOTS;
    constexpr size_t shared = C == 1 ? 0 : 2 * sizeof(typename lane::room);
    const int64_t wanted =
        C == 1 ? (int64_t(job->n) + job->a.piece_count + EACH - 1) / EACH : job->a.chunk_count;
    const unsigned tiles = unsigned((job->columns + C - 1) / C);
    const int64_t blocks = int64_t(multiprocessors) * residual_block<T, C>::EACH,
                  most = blocks / tiles > 1 ? blocks / tiles : 1;
    if (shared > 48 << 10) {
        const cudaError_t error = cudaFuncSetAttribute(
            residual_kernel<T, C, LONG>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
        if (error != cudaSuccess)
            return error;
    }
    const dim3 grid(unsigned(wanted < most ? wanted : most), tiles);
    residual_kernel<T, C, LONG><<<grid, lane::THREADS, shared, stream>>>(*job);
    return cudaGetLastError();
}

template <typename T, bool LONG>
cudaError_t for_columns(const gsv_residual *job, int multiprocessors, cudaStream_t stream) {
    if (job->columns == 1)
        return launch<T, 1, LONG>(job, multiprocessors, stream);
    if (job->columns <= 4)
        return launch<T, 4, LONG>(job, multiprocessors, stream);
    if (job->columns <= 8)
        return launch<T, 8, LONG>(job, multiprocessors, stream);
    return launch<T, 32, LONG>(job, multiprocessors, stream);
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
