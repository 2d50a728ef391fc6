/*
 * Limbs (limbs.h) for eight right-hand sides, real numbers, forward: a block of threads walks a subtree of
 * the upper tree, supernode by supernode.
 *
 *      f1 = y(cols) + the children's rows, f2 = the children's rows;  x1 = W f1,  u = f2 - M f1
 *
 * Roles of the warps. A producer warp brings chunk after chunk into the ring, lists and panel by bulk copies. Eight
 * warps bring what a supernode begins with, y of its columns and update rows of branches, while they multiply
 * with the supernode before it. Then they assemble its front, four lanes a row, each row's terms in the order of
 * its list: rows of its own columns in `front`, the others where the update vector will be. And each of them
 * multiplies sixteen rows of the front at a time, on FP64 tensor cores.
 *
 * Synchronisation. A block takes walks, at a distance of the grid's size, and the producer goes on to the next one while
 * this one is walked; its chunks are `known` (mbarrier) by then. A chunk goes round: full (mbarrier, its
 * copies), empty (mbarrier, the eight warps). The ring is a queue: a chunk stands behind the one before it or at
 * the beginning, and where there is no room the producer waits until the oldest ones are empty. A chunk is used
 * without waiting for a later one of its walk. For the next walk's chunks the eight warps wait with the last one
 * of this, when the producer has brought all before, and begin to bring what it begins with; only where that
 * would stand in the root's update vector they meet first. So nobody waits for ever. The eight warps meet when a
 * front is assembled, and when its update vector is complete and the next supernode's rows have come. No block
 * waits for another of its launch.
 *
 * The stream that follows does not wait for this launch but polls what it wants of it, the roots' update
 * vectors: so these blocks let it start when what is before them has ended, and it waits for them when it is
 * done (launch_part).
 *
 * Bits: a sum has what the row is owed, child by child, and then its products in the order of k, eight a tensor
 * product.
 *
 * Traffic: panels, lists, y and x once, update vectors of branches once, and those of the roots: what is between
 * them stays in shared memory.
 */
#ifndef GSV_CUDA_WALK_LIMB_CUH
#define GSV_CUDA_WALK_LIMB_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../../../dense_kernels/fragment.cuh"
#include "../stream/block_front.cuh"
#include "../../schedule/walk/limbs.h"

namespace gsv {

struct limb_room {
    static const int WARPS = 8, THREADS = 32 * WARPS, BLOCK = THREADS + 32, BLOCKS = 2; /* of an SM */
    static const int ROW = GSV_LIMB_VECTORS;                                            /* numbers */
    static const int ROWS = GSV_LIMB_RING; /* the ring comes first */
    static const int FRONT = ROWS + GSV_LIMB_ROWS * ROW * 8;
    static const int CHUNKS = FRONT + GSV_LIMB_WIDEST * ROW * 8; /* of two walks */
    static const int BARRIERS = CHUNKS + 2 * GSV_LIMB_CHUNKS * int(sizeof(gsv_limb_chunk));
    static const int PLACES = BARRIERS + (2 * GSV_LIMB_AHEAD + 2) * 8;
    static const int BYTES = PLACES + (GSV_LIMB_AHEAD + 2) * 4;
};

/* What a block's warps share: number n of its walks has buffer n % 2, number g of its chunks barrier
 * g % GSV_LIMB_AHEAD. */
struct limb_shared {
    char *memory;
    __device__ __forceinline__ gsv_limb_chunk *chunks(int n) const {
        return reinterpret_cast<gsv_limb_chunk *>(memory + limb_room::CHUNKS) + n % 2 * GSV_LIMB_CHUNKS;
    }
    __device__ __forceinline__ uint64_t *barriers() const {
        return reinterpret_cast<uint64_t *>(memory + limb_room::BARRIERS);
    }
    __device__ __forceinline__ uint64_t *full(int g) const {
        return barriers() + g % GSV_LIMB_AHEAD;
    }
    __device__ __forceinline__ uint64_t *empty(int g) const {
        return barriers() + GSV_LIMB_AHEAD + g % GSV_LIMB_AHEAD;
    }
    __device__ __forceinline__ uint64_t *known(int n) const {
        return barriers() + 2 * GSV_LIMB_AHEAD + n % 2;
    }
    /* Where a chunk stands in the ring, in bytes, */
    __device__ __forceinline__ int &place(int g) const {
        return reinterpret_cast<int *>(memory + limb_room::PLACES)[g % GSV_LIMB_AHEAD];
    }
    /* and how many a walk has. */
    __device__ __forceinline__ int &count(int n) const {
        return reinterpret_cast<int *>(memory + limb_room::PLACES)[GSV_LIMB_AHEAD + n % 2];
    }
    __device__ __forceinline__ void wait_full(int g) const {
        barrier_wait(full(g), g / GSV_LIMB_AHEAD & 1);
    }
    __device__ __forceinline__ void wait_empty(int g) const {
        barrier_wait(empty(g), g / GSV_LIMB_AHEAD & 1);
    }
    __device__ __forceinline__ void wait_known(int n) const {
        barrier_wait(known(n), n / 2 & 1);
    }
};

/* Number n of a block's walks: there and back, as the longest ones come first. */
__device__ __forceinline__ int limb_walk_number(int n) {
    return n * gridDim.x + (n % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
}

/* The eight warps meet; the producer never does. */
__device__ __forceinline__ void limb_warps_meet() {
    asm volatile("barrier.sync 1, %0;" ::"n"(limb_room::THREADS) : "memory");
}

/* The producer. P: the panels' numbers. */
template <typename P> struct limb_producer {
    const gsv_device_plan &plan;
    limb_shared shared;
    int oldest, next, head; /* chunks that are not known to be empty; where the ring's next one begins */

    /* Room for `bytes` bytes in the ring. */
    __device__ __forceinline__ int take_room(int bytes) {
        for (;; oldest++) {
            if (oldest == next) {
                head = 0;
                break;
            }
            const int tail = shared.place(oldest);
            if (next - oldest < GSV_LIMB_AHEAD) {
                if (head > tail && head + bytes > GSV_LIMB_RING && bytes <= tail)
                    head = 0;
                if (head + bytes <= (head > tail ? int(GSV_LIMB_RING) : tail))
                    break;
            }
            shared.wait_empty(oldest);
        }
        const int at = head;
        head += bytes;
        return at;
    }

    __device__ __forceinline__ void bring_warp(const gsv_limb_chunk &chunk) {
        const int at = take_room(gsv_limb_bytes(&chunk));
        if (threadIdx.x % 32 == 0) {
            uint64_t *full = shared.full(next);
            char *to = shared.memory + at;
            const widened panel(static_cast<const P *>(plan.panels) + chunk.panel,
                                int64_t(sizeof(P)) * chunk.numbers);
            shared.place(next) = at;
            barrier_expect(full, panel.bytes + 2 * chunk.list_length);
            if (chunk.list_length > 0)
                bulk_copy(to, plan.limb_lists + chunk.lists, 2 * chunk.list_length, full);
            bulk_copy(to + gsv_limb_panel(&chunk), panel.from, panel.bytes, full, plan.transient);
            barrier_arrive(full);
        }
        __syncwarp(); /* its place is known */
        next++;
    }

    /* Begin to bring what is to be known of walk n. */
    __device__ __forceinline__ void tell_warp(int n, const gsv_limb &limb) const {
        if (threadIdx.x % 32 == 0) {
            uint64_t *known = shared.known(n);
            const unsigned bytes = limb.chunks * unsigned(sizeof(gsv_limb_chunk));
            shared.count(n) = limb.chunks;
            barrier_expect(known, bytes);
            bulk_copy(shared.chunks(n), plan.limb_chunks + limb.first, bytes, known);
            barrier_arrive(known);
        }
    }

    /* All of a block's walks. */
    __device__ __forceinline__ void run_warp(int end) {
        gsv_limb limb = plan.limbs[limb_walk_number(0)];
        tell_warp(0, limb);
        int last = 0; /* where the walk before this one ends, among the chunks */
        for (int n = 0; limb_walk_number(n) < end; n++) {
            const int count = limb.chunks, after = limb_walk_number(n + 1);
            bool more = after < end;
            if (more)
                limb = plan.limbs[after];
            shared.wait_known(n);
            for (int c = 0; c < count; c++) {
                bring_warp(shared.chunks(n)[c]);
                if (more && (oldest >= last || c == count - 1)) {
                    for (; oldest < last; oldest++)
                        shared.wait_empty(oldest); /* the walk whose buffer it is has ended */
                    tell_warp(n + 1, limb);
                    more = false;
                }
            }
            last = next;
        }
    }
};

/* What the eight warps share. y, x, u: rows of eight right-hand sides. */
struct limb_walk {
    static const int ROW = limb_room::ROW;
    double *rows, *front;
    const double *y;
    double *x, *u;

    /* Begin to bring rows from `from` on to those from number `to` on. */
    __device__ __forceinline__ void stage(const double *from, int count, int to) const {
        const int pair = threadIdx.x % 4 * 2;
        double *at = rows + to * ROW + pair;
        for (int i = threadIdx.x / 4; i < count; i += limb_room::THREADS / 4)
            copy_16_bytes_async(at + i * ROW, from + int64_t(i) * ROW + pair);
    }

    /* Begin to bring what a supernode begins with. */
    __device__ __forceinline__ void stage(const gsv_limb_chunk &chunk) const {
        stage(y + int64_t(chunk.first_column) * ROW, chunk.nc, chunk.staged);
        for (int run = 0, to = chunk.staged + chunk.nc; run < GSV_LIMB_RUNS; to += chunk.brought[run++])
            stage(u + int64_t(chunk.from[run]) * ROW, chunk.brought[run], to);
    }

    __device__ __forceinline__ double *row_of(const gsv_limb_chunk &chunk, int i, int pair) const {
        return i < chunk.nc ? front + front_place<8>(i, pair)
                            : rows + (chunk.place + i - chunk.nc) * ROW + pair;
    }

    /* Row `row` but for GSV_LIMB_MORE. What is not there is not asked for: these reads are as much as shared
     * memory delivers. */
    __device__ __forceinline__ void add_term(double (&sum)[2], unsigned row, int pair) const {
        double term[2] = {0, 0};
        row &= ~GSV_LIMB_MORE;
        if (row < GSV_LIMB_NOTHING)
            load_pair(rows + row * ROW + pair, term);
        sum[0] += term[0];
        sum[1] += term[1];
    }

    /* The front's rows, lists in shared memory. */
    __device__ __forceinline__ void assemble(const gsv_limb_chunk &chunk, const uint16_t *lists) const {
        constexpr int STEP = limb_room::THREADS / 4,
                      EACH = 192 / STEP; /* rows of a thread; fronts of up to 192 at once */
        const int pair = threadIdx.x % 4 * 2, nr = chunk.nr, nc = chunk.nc;
        for (int first = threadIdx.x / 4; first < nr; first += EACH * STEP) {
            double sum[EACH][2];
            unsigned one[EACH], two[EACH]; /* the first terms */
            const uint16_t *others[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int i = first + e * STEP;
                one[e] = i < nr ? lists[i] : GSV_LIMB_NOTHING;
                sum[e][0] = sum[e][1] = 0;
                if (i < nc)
                    load_pair(rows + (chunk.staged + i) * ROW + pair, sum[e]);
            }
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                two[e] = GSV_LIMB_NOTHING;
                others[e] = lists + (one[e] & ~GSV_LIMB_MORE);
                if (one[e] & GSV_LIMB_MORE) {
                    one[e] = *others[e]++;
                    two[e] = *others[e]++;
                }
            }
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                add_term(sum[e], one[e], pair);
                add_term(sum[e], two[e], pair);
            }
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int i = first + e * STEP;
                while (two[e] & GSV_LIMB_MORE) {
                    two[e] = *others[e]++;
                    add_term(sum[e], two[e], pair);
                }
                if (i < nr)
                    store_pair(row_of(chunk, i, pair), sum[e][0], sum[e][1]);
            }
        }
        if (int(threadIdx.x) < (8 - nc % 8) % 8 * 4) { /* up to a multiple of eight columns */
            const int i = nc + threadIdx.x / 4;
            store_pair(front + front_place<8>(i, pair), 0, 0);
        }
    }

    /* Sixteen rows of the front from `row` on. next(k, a): numbers (g, k), (g + 8, k), (g, k + 4), (g + 8, k + 4)
     * of the panel, g the lane's row, for k = q, q + 8 and so on. */
    template <typename Next>
    __device__ __forceinline__ void multiply_warp(const gsv_limb_chunk &chunk, int row, int columns,
                                                  Next next) const {
        const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = chunk.nr, nc = chunk.nc;
        const int i = row + g;
        double *update = rows + (chunk.place + i - nc) * ROW + 2 * q;
        double sum[4] = {0, 0, 0, 0};
        if (i >= nc && i < nr)
            load_pair(update, &sum[0]);
        if (i + 8 >= nc && i + 8 < nr)
            load_pair(update + 8 * ROW, &sum[2]);
        const double *f = front + front_place<8>(q, g);
#pragma unroll 2
        for (int k = q; k < columns + q; k += 8) {
            double a[4];
            next(k, a);
            mma_warp(sum, a[0], a[1], a[2], a[3], f[0], f[4 * ROW]);
            f += 8 * ROW;
        }
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int r = i + 8 * m;
            if (r < nc)
                store_pair(x + int64_t(chunk.first_column + r) * ROW + 2 * q, sum[2 * m], sum[2 * m + 1]);
            else if (r < nr && chunk.root)
                publish_pair(u + int64_t(chunk.update + r - nc) * ROW + 2 * q, sum[2 * m], sum[2 * m + 1]);
            else if (r < nr)
                store_pair(update + 8 * m * ROW, sum[2 * m], sum[2 * m + 1]);
        }
    }

    /* The rows of a chunk. */
    template <typename P>
    __device__ __forceinline__ void multiply(const gsv_limb_chunk &chunk, const P *panel) const {
        const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, nr = chunk.nr, nc = chunk.nc;
        for (int r = GSV_TILE * (threadIdx.x / 32); r < chunk.rows; r += GSV_TILE * limb_room::WARPS) {
            const int row = chunk.row + r;
            if (chunk.narrow) {
                const P *at = panel + gsv_narrow_column(nr, q) + row + g;
                multiply_warp(chunk, row, min(nc, row + GSV_TILE), [&](int k, double(&a)[4]) {
                    const unsigned i = row + g - k, some = k < nc ? nr - k : 0,
                                   others = k + 4 < nc ? nr - k - 4 : 0;
                    const P *later = at + 4 * nr - 4 * k - 10; /* column k + 4 */
                    a[0] = i < some ? at[0] : 0;
                    a[1] = i + 8 < some ? at[8] : 0;
                    a[2] = i - 4 < others ? later[0] : 0;
                    a[3] = i + 4 < others ? later[8] : 0;
                    at += 8 * nr - 8 * k - 36;
                });
            } else {
                const int columns = gsv_block_row_columns(nc, row / GSV_TILE);
                /* a tile's columns are in the same banks: while two of the four that are read together have the upper
                 * eight rows, the others have the lower ones */
                const int upper = q % 2 * 8, lower = 8 - upper;
                const P *at = panel +
                              (gsv_block_row_start(nc, row / GSV_TILE) -
                               gsv_block_row_start(nc, chunk.row / GSV_TILE)) +
                              GSV_TILE * q + g;
                multiply_warp(chunk, row, columns, [&](int k, double(&a)[4]) {
#pragma unroll
                    for (int h = 0; h < 2; h++) {
                        const bool some = k + 4 * h < columns;
                        const double one = some ? at[4 * GSV_TILE * h + upper] : 0,
                                     two = some ? at[4 * GSV_TILE * h + lower] : 0;
                        a[2 * h] = upper ? two : one;
                        a[2 * h + 1] = upper ? one : two;
                    }
                    at += 8 * GSV_TILE;
                });
            }
        }
    }
};

/* walks: one for each limb. SIDE: there are several groups of right-hand sides (gsv_device_vectors.groups). */
template <typename P, bool SIDE>
__global__ void __launch_bounds__(limb_room::BLOCK, limb_room::BLOCKS)
    limb_forward_kernel(gsv_device_plan plan, const double *y, double *x, double *u, int walks) {
#if __CUDA_ARCH__ >= 900
    if constexpr (SIDE) {
        y = of_group(y, plan.side_vector);
        x = of_group(x, plan.side_vector);
        u = of_group(u, plan.side_upper);
    }
    static_assert(limb_room::BLOCKS * (limb_room::BYTES + SHARED_OF_BLOCK) <= SHARED_OF_SM,
                  "the blocks have room");
    static_assert(sizeof(gsv_limb_chunk) == 64 && sizeof(gsv_limb) == 8, "bulk copies, and one read");
    extern __shared__ __align__(SHARED_LINE) int4 memory[];
    const limb_shared shared = {shared_at<char>(kept_shared(memory))};
    double *rows = reinterpret_cast<double *>(shared.memory + limb_room::ROWS);
    if (threadIdx.x == 0) {
        for (int k = 0; k < GSV_LIMB_AHEAD; k++) {
            barrier_init(shared.full(k), 1);
            barrier_init(shared.empty(k), limb_room::WARPS * ARRIVALS);
        }
        barrier_init(shared.known(0), 1);
        barrier_init(shared.known(1), 1);
        publish_barriers();
    }
    __syncthreads(); /* the barriers are ready */
    if (threadIdx.x >= limb_room::THREADS) {
        limb_producer<P> producer = {plan, shared, 0, 0, 0};
        producer.run_warp(walks);
        return;
    }
    wait_for_vectors(FIRST_OF_TWO);
    const limb_walk walk = {rows, reinterpret_cast<double *>(shared.memory + limb_room::FRONT), y, x, u};
    shared.wait_known(0);
    walk.stage(shared.chunks(0)[0]);
    wait_for_own_copies();
    limb_warps_meet(); /* the first supernode's rows have come */
    for (int n = 0, g = 0; limb_walk_number(n) < walks; n++) {
        const gsv_limb_chunk *chunks = shared.chunks(n);
        const int count = shared.count(n);
        for (int c = 0; c < count; c++, g++) {
            const gsv_limb_chunk chunk = chunks[c];
            shared.wait_full(g);
            const char *at = shared.memory + shared.place(g);
            if (chunk.chunks > 0) {
                walk.assemble(chunk, reinterpret_cast<const uint16_t *>(at));
                limb_warps_meet(); /* the front is assembled, and what it was from has been read */
                if (c + chunk.chunks < count)
                    walk.stage(chunks[c + chunk.chunks]);
            }
            const bool next_walk = c + 1 == count && limb_walk_number(n + 1) < walks;
            bool collides = false;
            if (next_walk) {
                /* told when all chunks of this walk had been asked for */
                shared.wait_known(n + 1);
                const gsv_limb_chunk &next = shared.chunks(n + 1)[0];
                collides = gsv_limb_collides(&chunk, &next);
                if (!collides)
                    walk.stage(next);
            }
            const int shift =
                int(reinterpret_cast<uintptr_t>(static_cast<const P *>(plan.panels) + chunk.panel) % 16);
            walk.multiply(chunk, reinterpret_cast<const P *>(at + gsv_limb_panel(&chunk) + shift));
            before_copies();
            arrive_warp(shared.empty(g));
            if (collides) {
                limb_warps_meet(); /* the root's update vector has been read */
                walk.stage(shared.chunks(n + 1)[0]);
            }
            if (chunk.last) {
                wait_for_own_copies();
                limb_warps_meet(); /* the update vector is complete, and the next one's rows have come */
            }
        }
    }
#endif
}

} // namespace gsv
#endif
