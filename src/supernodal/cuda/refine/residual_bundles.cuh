/*
 * Residuals of several columns where rows of A have many entries. A warp takes bundles: neighbouring rows with one pattern (rows.h), of which an index
 * and a row of X are read once. While a part of a bundle is worked on, up to 64 entries of each row, the entries of the next part
 * are on their way to shared memory. A block's warps take neighbouring bundles, which share in L1 what they read of X. No warp waits for another.
 *
 * Mapping: a group of 8 lanes has V columns each of every fourth entry, one of a sum's four chains, and has all rows of the bundle. The groups then
 * exchange chains so that each lane has whole sums: of one column of every row where V is 4, of one column of one row where V is 1.
 */
#ifndef GSV_CUDA_REFINE_RESIDUAL_BUNDLES_CUH
#define GSV_CUDA_REFINE_RESIDUAL_BUNDLES_CUH

#include "residual_lane.cuh"

#include <cuda_pipeline.h>

namespace gsv {

template <typename T, int V> struct bundle_columns {
    enum {
        THREADS = sizeof(T) > 8 ? 256 : 512,
        BLOCKS = 1, /* a multiprocessor */
        WARPS = THREADS / 32,
        GROUP = 8,
        C = GROUP * V,
        ROWS = GSV_BUNDLE_ROWS,
        PART = 64,                          /* entries of a row that are fetched at a time */
        PACK = V == 1 ? 1 : 16 / sizeof(T), /* columns that are read at once */
        PACKS = V / PACK,
        DEPTH = V == 1 ? 8 : 4,  /* entries of a chain that are under way together */
        OWN = V == 1 ? 1 : ROWS, /* sums of a lane in the end */
        STRETCHES = 4,
        LONGEST_STRETCH = 16
    };
    static_assert(CHAINS == 4 && ROWS == 3 && (V == 4 || V == 1), "four sums are exchanged among four lanes");

    /* What a warp has of a part: values and columns of its entries, then zeros up to a multiple of four. */
    struct room {
        T values[ROWS][PART];
        int32_t columns[PART];
    };
    static constexpr size_t SHARED = 2 * WARPS * sizeof(room);

    /* What a warp does at a time: entries `done` and on of the rows of a bundle. */
    struct part {
        gsv_bundle of;
        int done;
        __device__ __forceinline__ bool is_last() const {
            return of.entries - done <= PART;
        }
        __device__ __forceinline__ int entries() const {
            return is_last() ? of.entries - done : int(PART);
        }
    };

    const gsv_residual &job;
    const int chain;
    const char *from[PACKS]; /* X's numbers that the lane reads, in row 0 */
    const int column;        /* the one whose sums it has in the end */
    const bool live[1], here;
    unsigned long long norms[3][1];

    __device__ __forceinline__ explicit bundle_columns(const gsv_residual &job_)
        : job(job_), chain(threadIdx.x % 32 / GROUP),
          column(column_of(V == 1 ? 0 : chain)), live{column < job.columns &&
                                                      (job.first || job.v.columns[column].active)},
          here(live[0]), norms{} {
#pragma unroll
        for (int p = 0; p < PACKS; p++) { /* of columns that are not there, the tile's first ones */
            const int first = column_of(p * PACK);
            from[p] = reinterpret_cast<const char *>(static_cast<const T *>(job.x) +
                                                     (first < job.columns ? first : blockIdx.y * C));
            asm volatile("" : "+l"(from[p])); /* stays in registers, not computed again for every entry */
            __builtin_assume(__isGlobal(from[p]));
        }
    }

    /* Number v of those that the lane reads of a row. */
    __device__ __forceinline__ static int column_of(int v) {
        return blockIdx.y * C + v / PACK * GROUP * PACK + threadIdx.x % GROUP * PACK + v % PACK;
    }

    /* The entries of a part are on their way. All lanes of the warp come here. */
    __device__ __forceinline__ void fetch(const part &next, room *to) const {
        const int count = next.entries(), padded = (count + CHAINS - 1) / CHAINS * CHAINS;
        const T *values = static_cast<const T *>(job.a.values);
#pragma unroll 1
        for (int k = threadIdx.x % 32; k < padded; k += 32) {
            const bool there = k < count;
            const int64_t entry = next.of.entry + next.done + (there ? k : 0);
            __pipeline_memcpy_async(&to->columns[k], &job.a.columns[entry], sizeof(int32_t),
                                    there ? 0 : sizeof(int32_t));
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (r < next.of.rows)
                    __pipeline_memcpy_async(&to->values[r][k], &values[entry + int64_t(r) * next.of.entries],
                                            sizeof(T), there ? 0 : sizeof(T));
        }
    }

    /* Up to DEPTH entries of the lane's chain, of which `left` are there. */
    template <int COUNT, bool WHOLE>
    __device__ __forceinline__ void add_some(int left, const int32_t *index, const T *values,
                                             T (&sum)[ROWS][V]) const {
        alignas(16) T x[DEPTH][V];
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            if (WHOLE || d < left) {
                const uint64_t at = uint64_t(uint32_t(index[d * CHAINS])) * job.row_bytes;
#pragma unroll
                for (int p = 0; p < PACKS; p++)
                    load_columns(reinterpret_cast<const T *>(from[p] + at),
                                 *reinterpret_cast<T(*)[PACK]>(&x[d][p * PACK]));
            }
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            if (WHOLE || d < left) {
#pragma unroll
                for (int r = 0; r < COUNT; r++) {
                    const T a = values[r * PART + d * CHAINS];
#pragma unroll
                    for (int v = 0; v < V; v++)
                        sum[r][v] = multiply_add(sum[r][v], a, x[d][v]);
                }
            }
    }

    /* sum[r] += the lane's chain of row r, for its V columns, of COUNT rows */
    template <int COUNT>
    __device__ __forceinline__ void add_up(int entries, const room &in, T (&sum)[ROWS][V]) const {
        const int32_t *index = in.columns + chain;
        const T *values = in.values[0] + chain;
        int left = (entries + CHAINS - 1) / CHAINS;
#pragma unroll 1
        for (; left >= DEPTH; left -= DEPTH, index += CHAINS * DEPTH, values += CHAINS * DEPTH)
            add_some<COUNT, true>(left, index, values, sum);
        if (left > 0)
            add_some<COUNT, false>(left, index, values, sum);
    }

    /* Of four sums whose chains are in four lanes each, one, in each of these lanes: (0 + 2) + (1 + 3). */
    __device__ __forceinline__ T exchange(T a, T b, T c, T d) const {
        const bool high = chain & 2, odd = chain & 1;
        const T even_sum = add(high ? c : a, shuffle_xor(high ? a : c, 2 * GROUP)),
                odd_sum = add(high ? d : b, shuffle_xor(high ? b : d, 2 * GROUP));
        return add(odd ? odd_sum : even_sum, shuffle_xor(odd ? even_sum : odd_sum, GROUP));
    }

    /* The sum of a piece of a long row waits in memory for the last one's; then all are added up in four chains, by the lane that wrote them. */
    __device__ __forceinline__ void add_pieces(const part &now, int r, T &total) const {
        const int count = piece_count(now.of.entries);
        T *partial =
            static_cast<T *>(job.v.partial) + (now.of.first_piece + r * int64_t(count)) * job.stride + column;
        partial[now.done / GSV_ENTRY_PIECE * job.stride] = total;
        if (!now.is_last())
            return;
        T sum[CHAINS] = {make<T>(0), make<T>(0), make<T>(0), make<T>(0)};
#pragma unroll 1
        for (int k = 0; k < count; k += CHAINS)
#pragma unroll
            for (int c = 0; c < CHAINS; c++)
                if (k + c < count)
                    sum[c] = add(sum[c], partial[(k + c) * job.stride]);
        total = add(add(sum[0], sum[2]), add(sum[1], sum[3]));
    }

    /* sum: of the piece so far. */
    __device__ __forceinline__ void do_part(const part &now, const room &in, T (&sum)[ROWS][V]) {
        T b[OWN], total[OWN];
#pragma unroll
        for (int o = 0; o < OWN; o++) {
            const int r = V == 1 ? chain : o;
            b[o] = make<T>(0);
            if (live[0] && r < now.of.rows && now.is_last())
                b[o] = static_cast<const T *>(
                    job.b.values)[(now.of.row + r) * job.b.row_stride + column * job.b.column_stride];
        }
        if (now.done % GSV_ENTRY_PIECE == 0)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[r][v] = make<T>(0);
        if (now.of.rows == 1)
            add_up<1>(now.entries(), in, sum);
        else if (now.of.rows == 2)
            add_up<2>(now.entries(), in, sum);
        else
            add_up<3>(now.entries(), in, sum);
        __syncwarp();
        if (!now.is_last() && (now.done + PART) % GSV_ENTRY_PIECE != 0)
            return; /* within a piece */
        if constexpr (V == 1)
            total[0] = exchange(sum[0][0], sum[1][0], sum[2][0], make<T>(0));
        else
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (r < now.of.rows)
                    total[r] = exchange(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
#pragma unroll
        for (int o = 0; o < OWN; o++) {
            const int r = V == 1 ? chain : o;
            if (!live[0] || r >= now.of.rows)
                continue;
            if (now.of.first_piece >= 0)
                add_pieces(now, r, total[o]);
            if (!now.is_last())
                continue;
            const int64_t row = (now.of.row + r) * job.stride + column;
            const T residual = add(b[o], negate(total[o]));
            raise(norms[0][0], magnitude(residual));
            raise(norms[1][0], magnitude(static_cast<const T *>(job.x)[row]));
            if (job.first)
                raise(norms[2][0], magnitude(b[o]));
            static_cast<T *>(job.v.r)[row] = residual;
        }
    }

    /* The block's bundle number k; without rows from its last one on. Bundles are dealt to blocks `stretch` at a time. */
    __device__ __forceinline__ gsv_bundle bundle_of(int k) const {
        const gsv_bundle none = {0, 0, 0, 0, -1};
        const int64_t c = (int64_t(k / job.stretch) * gridDim.x + blockIdx.x) * job.stretch + k % job.stretch;
        return c < job.a.bundle_count ? job.a.bundles[c] : none;
    }

    __device__ __forceinline__ void run(char *memory) {
        room *rooms = reinterpret_cast<room *>(memory) + threadIdx.x / 32 * 2;
        int turn = threadIdx.x / 32 + WARPS;
        part now = {bundle_of(turn - WARPS), 0};
        gsv_bundle ahead = bundle_of(turn);
        T sum[ROWS][V];
        fetch(now, &rooms[0]);
        __pipeline_commit();
        for (int which = 0; now.of.rows > 0; which = 1 - which) {
            part next = {now.of, now.done + now.entries()};
            if (now.is_last()) {
                next = part{ahead, 0};
                turn += WARPS;
                ahead = bundle_of(turn);
            }
            fetch(next, &rooms[1 - which]);
            __pipeline_commit();
            __pipeline_wait_prior(1); /* this lane's part of what is now done is there, */
            __syncwarp();             /* and the warp's */
            do_part(now, rooms[which], sum);
            __syncwarp(); /* before what comes after next is fetched to this room */
            now = next;
        }
    }

    __device__ __forceinline__ void publish() const {
        publish_norms<C>(job, column - blockIdx.y * C, live, norms);
    }

    /* The block's warps take consecutive bundles for as long as leaves every block some stretches. */
    static int stretch(const gsv_residual &job, int64_t blocks) {
        const int64_t each = job.a.bundle_count / (blocks * STRETCHES) / WARPS;
        return WARPS * int(each < 1 ? 1 : each > LONGEST_STRETCH ? LONGEST_STRETCH : each);
    }

    /* Blocks that have work. */
    static int64_t blocks(const gsv_residual &job) {
        return (int64_t(job.a.bundle_count) + WARPS - 1) / WARPS;
    }
};

} // namespace gsv
#endif
