/*
 * Residuals of several columns. A warp takes chunks of consecutive rows (rows.h). While one chunk is worked on, the entries of the next
 * are on their way to shared memory, all at once: a lane never waits for an index before it can ask for x. A block's warps
 * take consecutive chunks: its rows share in L1 what they read of X. No warp waits for another.
 */
#ifndef GSV_CUDA_REFINE_RESIDUAL_CHUNKS_CUH
#define GSV_CUDA_REFINE_RESIDUAL_CHUNKS_CUH

#include "residual_lane.cuh"

#include <cuda_pipeline.h>

namespace gsv {

/* Of C columns, a lane has as many as make 16 bytes. Where lanes share rows, those that are left over have chains of the same row. */
template <typename T, int C> struct chunk_shape {
    static constexpr int V = 16 / sizeof(T), GROUP = C / V;
    static constexpr int LANES = 32 / GROUP < CHAINS ? 32 / GROUP : CHAINS;
};

template <typename T, int C, bool SHARED_ROWS>
struct chunk_columns : residual_lane<T, C, chunk_shape<T, C>::V, SHARED_ROWS ? chunk_shape<T, C>::LANES : 1> {
    static constexpr int V = chunk_shape<T, C>::V, LANES = SHARED_ROWS ? chunk_shape<T, C>::LANES : 1;
    typedef residual_lane<T, C, V, LANES> lane;
    using lane::EACH, lane::SLOTS, lane::chain, lane::job, lane::slot, lane::from, lane::here;
    enum {
        THREADS = 128,
        BLOCKS = 5 /* a multiprocessor */,
        WARPS = THREADS / 32,
        STRETCHES = 4,
        LONGEST_STRETCH = 16
    };

    /* What a warp has of a chunk. */
    struct room {
        alignas(16) T values[GSV_CHUNK_ENTRIES + CHAINS];
        alignas(16) int32_t columns[GSV_CHUNK_ENTRIES + CHAINS];
        alignas(16) int64_t bounds[GSV_CHUNK_ROWS + 1]; /* of the rows */
    };
    static constexpr size_t SHARED = 2 * WARPS * sizeof(room);

    __device__ __forceinline__ explicit chunk_columns(const gsv_residual &job_) : lane(job_) {}

    /* Entries k + chain, k + chain + LANES, ..: one for each of the lane's chains. */
    template <bool WHOLE>
    __device__ __forceinline__ void add_entries(const T *values, const int32_t *columns, int k, int end,
                                                T (&sum)[EACH][V]) const {
        T a[EACH];
        alignas(16) T x[EACH][V];
#pragma unroll
        for (int c = 0; c < EACH; c++)
            if (WHOLE || k + chain + c * LANES < end) {
                a[c] = values[k + chain + c * LANES];
                load_columns(lane::row_of(from, columns[k + chain + c * LANES]), x[c]);
            }
#pragma unroll
        for (int c = 0; c < EACH; c++)
            if (WHOLE || k + chain + c * LANES < end) {
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[c][v] = multiply_add(sum[c][v], a[c], x[c][v]);
            }
    }

    /* Entries begin .. end - 1 of these arrays. All lanes of the warp come here. */
    __device__ __forceinline__ void row_sum(const T *values, const int32_t *columns, int begin, int end,
                                            T (&total)[V]) const {
        T sum[EACH][V];
#pragma unroll
        for (int c = 0; c < EACH; c++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[c][v] = make<T>(0);
        if (here) {
            int k = begin;
#pragma unroll EACH == CHAINS ? 1 : 2
            for (; k + CHAINS <= end; k += CHAINS)
                add_entries<true>(values, columns, k, end, sum);
            if (k < end)
                add_entries<false>(values, columns, k, end, sum);
        }
        __syncwarp();
        lane::join(sum, total);
    }

    /* What a warp does at a time: a chunk, or as much of a long row as there is room for. */
    struct part {
        gsv_chunk of;
        int done; /* entries of the chunk that other parts have */
        __device__ __forceinline__ int64_t entry() const {
            return of.entry + done;
        }
        __device__ __forceinline__ bool is_of_long_row() const {
            return SHARED_ROWS && of.rows == 1 && of.entries > GSV_LONG_ROW;
        }
        __device__ __forceinline__ bool is_last() const {
            return !is_of_long_row() || of.entries - done <= GSV_ENTRY_PIECE;
        }
        __device__ __forceinline__ int entries() const {
            return is_last() ? of.entries - done : int(GSV_ENTRY_PIECE);
        }
    };

    /* The entries and bounds of a part are on their way. All lanes of the warp come here. */
    __device__ __forceinline__ void fetch(const part &next, room *to) const {
        const int own = threadIdx.x % 32;
        const int64_t start = next.entry() & ~int64_t(CHAINS - 1);
        const int fours = int(next.entry() + next.entries() - start + CHAINS - 1) / CHAINS;
        constexpr int PARTS = CHAINS * sizeof(T) / 16; /* copies of four values */
        const char *values = reinterpret_cast<const char *>(static_cast<const T *>(job.a.values) + start);
        for (int k = own; k < fours; k += 32)
            __pipeline_memcpy_async(&to->columns[CHAINS * k], &job.a.columns[start + CHAINS * k], 16);
        for (int k = own; k < fours * PARTS; k += 32)
            __pipeline_memcpy_async(reinterpret_cast<char *>(to->values) + 16 * k, values + 16 * k, 16);
        if (next.of.piece < 0 && next.of.rows > 0 && !next.is_of_long_row())
            for (int k = own; k <= next.of.rows; k += 32)
                __pipeline_memcpy_async(&to->bounds[k], &job.a.row_ptr[next.of.row + k], 8);
    }

    /* Rows of a chunk, SLOTS at a time. */
    __device__ __forceinline__ void chunk_rows(const gsv_chunk &chunk, const room &in) {
        const int64_t start = chunk.entry & ~int64_t(CHAINS - 1);
        for (int base = 0; base < chunk.rows; base += SLOTS) {
            const int q = base + slot;
            const bool there = q < chunk.rows;
            const int32_t row = chunk.row + q;
            const int begin = there ? int(in.bounds[q] - start) : 0,
                      end = there ? int(in.bounds[q + 1] - start) : 0;
            const bool own = there && here && chain == 0;
            alignas(16) T x[V], b[V];
            T total[V];
            if (own)
                lane::prepare(row, x, b);
            row_sum(in.values, in.columns, begin, end, total);
            if (own)
                lane::finish(row, x, b, total);
        }
    }

    /* A chunk that is a piece of a long row: all slots but the first do nothing. */
    __device__ __forceinline__ void chunk_piece(const gsv_chunk &chunk, const room &in) {
        const int begin = int(chunk.entry % CHAINS), end = begin + (slot == 0 ? chunk.entries : 0);
        const bool own = slot == 0 && here && chain == 0;
        alignas(16) T x[V], b[V];
        alignas(16) T total[V];
        if (own)
            lane::prepare(chunk.row, x, b);
        row_sum(in.values, in.columns, begin, end, total);
        if (lane::pieces(slot == 0 ? chunk.piece : -1, total) && own)
            lane::finish(chunk.row, x, b, total);
    }

    /* A part of a long row, which is also a piece of it. The sums of pieces are added up in four chains, as those of pieces that are
     * chunks are. */
    __device__ __forceinline__ void part_of_row(const part &now, const room &in, T (&sums)[EACH][V]) {
        const int begin = int(now.entry() % CHAINS), end = begin + (slot == 0 ? now.entries() : 0);
        const bool own = now.is_last() && slot == 0 && here && chain == 0;
        alignas(16) T x[V], b[V];
        T total[V];
        if (own)
            lane::prepare(now.of.row, x, b);
        row_sum(in.values, in.columns, begin, end, total);
#pragma unroll
        for (int c = 0; c < EACH; c++)
#pragma unroll
            for (int v = 0; v < V; v++) {
                const T before = now.done == 0 ? make<T>(0) : sums[c][v];
                const bool its = now.done / GSV_ENTRY_PIECE % CHAINS == chain + c * LANES;
                sums[c][v] = its ? add(before, total[v]) : before;
            }
        if (now.is_last())
            lane::join(sums, total);
        if (own)
            lane::finish(now.of.row, x, b, total);
    }

    /* The block's chunk number k; without rows from its last one on. Chunks are dealt to blocks `stretch` at a time. */
    __device__ __forceinline__ gsv_chunk chunk_of(int k) const {
        const gsv_chunk none = {0, 0, 0, 0, -1};
        const int64_t c = (int64_t(k / job.stretch) * gridDim.x + blockIdx.x) * job.stretch + k % job.stretch;
        return c < job.a.chunk_count ? job.a.chunks[c] : none;
    }

    __device__ __forceinline__ void run(char *memory) {
        room *rooms = reinterpret_cast<room *>(memory) + threadIdx.x / 32 * 2;
        int turn = threadIdx.x / 32 + WARPS;
        part now = {chunk_of(turn - WARPS), 0};
        gsv_chunk ahead = chunk_of(turn);
        T sums[EACH][V]; /* of the pieces of a long row */
        fetch(now, &rooms[0]);
        __pipeline_commit();
        for (int which = 0; now.of.rows > 0; which = 1 - which) {
            part next = now;
            if (now.is_last()) {
                next = part{ahead, 0};
                turn += WARPS;
                ahead = chunk_of(turn);
            } else {
                next.done += GSV_ENTRY_PIECE;
            }
            fetch(next, &rooms[1 - which]);
            __pipeline_commit();
            __pipeline_wait_prior(1); /* this lane's part of what is now done is there, */
            __syncwarp();             /* and the warp's */
            if (now.of.piece >= 0)
                chunk_piece(now.of, rooms[which]);
            else if (now.is_of_long_row())
                part_of_row(now, rooms[which], sums);
            else
                chunk_rows(now.of, rooms[which]);
            __syncwarp(); /* before what comes after next is fetched to this room */
            now = next;
        }
    }

    /* The block's warps take consecutive chunks for as long as leaves every block some stretches. */
    static int stretch(const gsv_residual &job, int64_t blocks) {
        const int64_t each = job.a.chunk_count / (blocks * STRETCHES) / WARPS;
        return WARPS * int(each < 1 ? 1 : each > LONGEST_STRETCH ? LONGEST_STRETCH : each);
    }

    /* Blocks that have work. */
    static int64_t blocks(const gsv_residual &job) {
        return (int64_t(job.a.chunk_count) + WARPS - 1) / WARPS;
    }
};

} // namespace gsv
#endif
