/*
 * What the warps of a block share that gather, and those that multiply, for a block of right-hand sides
 * (cuda/stream/block.cuh): where a piece, its lists and its front stand in shared memory, and reads of what other
 * blocks hand over.
 */
#ifndef GSV_CUDA_STREAM_BLOCK_FRONT_CUH
#define GSV_CUDA_STREAM_BLOCK_FRONT_CUH

#include "../../../dense_kernels/fragment.cuh"
#include "front.cuh"

namespace gsv {

/* Where a slot's lists end, and its panel begins, in bytes. */
struct block_slot_room {
    static const int HEADER = stream_room<double>::HEADER;
    static const int PANEL = HEADER + GSV_PIECE_LISTS;
};

/*
 * A block's warps, and its shared memory, in bytes: a ring of slots, which have a piece, its front and, of the first
 * piece of forward block rows, the rows that the results are added to. Forward, to gather takes longer than to multiply:
 * eight warps, for which two blocks of an SM have registers.
 */
template <int NR, bool BACKWARD> struct block_room : block_slot_room {
    static const int WARPS = 4, THREADS = 32 * WARPS; /* that multiply */
    static const int GATHER_WARPS = BACKWARD ? 4 : 8, GATHER_THREADS = 32 * GATHER_WARPS;
    static const int BLOCK = THREADS + GATHER_THREADS + 32; /* and one warp brings pieces */
    static const int BLOCKS = NR == 8 && BACKWARD ? 3 : 2;  /* of an SM */
    static const int COPIES = 2;                            /* of block_runs, forward */
    /* Backward the producer sees to it that its copies come after what was written in a slot. Forward, where pieces wait
     * for it, whoever writes does: the fence waits for all that a thread has asked for. */
    static const bool PRODUCER_FENCES = BACKWARD;
    static const int PAYLOAD =
        (BACKWARD ? GSV_BLOCK_ROOM + GSV_BLOCK_ROOM_ROWS * (NR - 8) * 8 : int(GSV_BLOCK_FORWARD_ROOM)) +
        SHARED_LINE;
    static const int SLOT = PANEL + PAYLOAD, SLOTS = 2;
    static const int BARRIERS = SLOTS * SLOT;
    static const int STAGE = BARRIERS + 4 * SLOTS * 8;
    static const int BYTES = STAGE + HEADER;
};

template <int NR> using forward_runs = block_runs<block_room<NR, false>::COPIES>;

/* The warps that multiply meet. Those that gather never do. */
__device__ __forceinline__ void multipliers_meet() {
    asm volatile("barrier.sync 1, 128;" ::: "memory");
}

__device__ __forceinline__ bool is_absent(const double (&value)[2]) {
    return is_absent(value[0]) || is_absent(value[1]);
}

__device__ __forceinline__ void load_pair(const double *from, double *value) {
    const double2 v = *reinterpret_cast<const double2 *>(from);
    value[0] = v.x;
    value[1] = v.y;
}

__device__ __forceinline__ void store_pair(double *to, double a, double b) {
    *reinterpret_cast<double2 *>(to) = make_double2(a, b);
}

/* Where right-hand side c of a front's row stands: fragments of four rows find all banks. */
template <int NR> __device__ __forceinline__ int front_place(int row, int c) {
    return row * NR + (c ^ (NR == 8 ? (row & 2) << 1 : (row & 3) << 2));
}

/* Backward the fragments' rows are even ones, or odd ones: of eight, four even ones come first. */
__device__ __forceinline__ int backward_row(int row) {
    return (row & ~7) | (row >> 1 & 3) | (row & 1) << 2;
}

/* What one row is owed: places of update rows. */
struct owed_row {
    const uint32_t *first;
    int count;
};
static const uint32_t NOTHING = ~0u; /* no place */

/* Lists of what the children owe rows of a front: gather[ptr[k]] .. gather[ptr[k + 1] - 1] is owed row k. */
struct owed_rows {
    const uint32_t *ptr, *gather;
    __device__ __forceinline__ owed_row of(int k) const {
        return {gather + ptr[k], int(ptr[k + 1] - ptr[k])};
    }
};

/* A piece in its slot. P: a panel's number; whichever it is, there is room for doubles. */
template <typename P, int NR> struct block_slot {
    typedef block_slot_room room;
    char *memory;
    __device__ __forceinline__ const stream_header &header() const {
        return *reinterpret_cast<const stream_header *>(memory);
    }
    __device__ __forceinline__ const gsv_piece &piece() const {
        return header().piece;
    }
    __device__ __forceinline__ const P *panel() const {
        return reinterpret_cast<const P *>(memory + room::PANEL + header().shift);
    }
    __device__ __forceinline__ double *payload() const {
        return reinterpret_cast<double *>(memory + room::PANEL);
    }
    /* The front of a piece whose panel has `numbers` numbers. */
    __device__ __forceinline__ double *front(int numbers) const {
        return payload() + (numbers + SHARED_LINE / 8 + 1) / 2 * 2;
    }
    static __device__ __forceinline__ int numbers(const gsv_piece &p, bool backward) {
        return p.kind != GSV_BLOCK_PIECE ? p.numbers
               : backward                ? p.groups * p.count * GSV_TILE * GSV_TILE
                                         : (p.count + 3) / 4 * 4 * p.groups * GSV_TILE;
    }
    /* Numbers of the last piece of a narrow supernode whose first piece this is. */
    static __device__ __forceinline__ int last_numbers(const gsv_piece &p) {
        return p.flags & GSV_PIECE_LAST
                   ? p.numbers
                   : int(gsv_narrow_column(p.nr, p.nc) + p.nc - gsv_narrow_column(p.nr, p.count) - p.count);
    }
    /* Behind the front of a forward piece: the rows of its results. */
    static __device__ __forceinline__ double *own(double *front, const gsv_piece &p) {
        return front + (p.count + 7) / 8 * 8 * NR;
    }
    __device__ __forceinline__ const uint32_t *list(int at) const {
        return reinterpret_cast<const uint32_t *>(memory + room::HEADER + at);
    }
    __device__ __forceinline__ owed_rows owed(const gsv_device_plan &plan, bool b) const {
        const gsv_piece &p = piece();
        if (p.flags & GSV_PIECE_FAR)
            return {plan.gather_ptr + p.row + (b ? p.b_first : p.a_first), plan.gather};
        return {list(b ? p.b_ptr_at : p.a_ptr_at),
                list(b ? p.b_gather_at : p.a_gather_at) - (b ? p.b_gather : p.a_gather)};
    }
    /* Backward: they always fit. */
    __device__ __forceinline__ const int32_t *rows() const {
        return reinterpret_cast<const int32_t *>(list(piece().b_ptr_at));
    }
};

/* A thread of those that gather: its first row, the others are STEP apart, and the first of its two right-hand
 * sides. */
template <int NR, bool BACKWARD> struct gather_thread {
    static const int THREADS = block_room<NR, BACKWARD>::GATHER_THREADS, PAIRS = NR / 2,
                     STEP = THREADS / PAIRS;
    static __device__ __forceinline__ int number() {
        return int(threadIdx.x) % THREADS;
    }
    static __device__ __forceinline__ int own() {
        return number() / PAIRS;
    }
    static __device__ __forceinline__ int pair() {
        return 2 * (int(threadIdx.x) % PAIRS);
    }
};

/* Ask again for pairs of numbers, at(q), all that this thread lacks, until they are there. */
template <int EACH, typename Lacks, typename At>
__device__ __forceinline__ void poll_pairs(double (&value)[EACH][2], Lacks lacks, At at,
                                           gsv_stream_state *state) {
    poll(
        [&]() {
            bool any = false;
#pragma unroll
            for (int q = 0; q < EACH; q++)
                any |= lacks(q);
            return any;
        },
        [&](bool stop) {
#pragma unroll
            for (int q = 0; q < EACH; q++)
                if (lacks(q)) {
                    if (stop)
                        value[q][0] = value[q][1] = not_a_number<double>();
                    else
                        load_relaxed16(at(q), value[q]);
                }
        },
        state);
}

/* Rows of a front that follow each other and are published: requested all together, and asked for
 * again, all that are absent, until they are there. */
template <int NR> struct published_rows_reader {
    typedef gather_thread<NR, false> thread;
    static const int EACH = (GSV_BLOCK_FIT_1 * NR / 2 + thread::THREADS - 1) / thread::THREADS;
    double value[EACH][2];
    static __device__ __forceinline__ int place(int q) {
        return thread::number() + thread::THREADS * q;
    }
    __device__ __forceinline__ void request(const double *from, int count) {
        const double *at = from + 2 * place(0);
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q][0] = value[q][1] = 0;
            if (place(q) < count * (NR / 2))
                load_relaxed16(at + 2 * thread::THREADS * q, value[q]);
        }
    }
    __device__ __forceinline__ void finish(const double *from, int count, const forward_runs<NR> &runs,
                                           double *front, gsv_stream_state *state) {
        /* what was not asked for is zero */
        poll_pairs(
            value, [&](int q) { return is_absent(value[q]); }, [&](int q) { return from + 2 * place(q); },
            state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count * (NR / 2))
                store_pair(front +
                               front_place<NR>(runs.place(place(q) / (NR / 2)), 2 * (place(q) % (NR / 2))),
                           value[q][0], value[q][1]);
    }
};

/* What the warps that gather share and keep from piece to piece, forward. */
template <int NR> struct block_gather {
    typedef block_room<NR, false> room;
    typedef gather_thread<NR, false> thread;
    static const int STEP = thread::STEP;
    static_assert(GSV_TILE * GSV_GROUPS % STEP == 0, "whole steps");
    const gsv_device_plan &plan;
    gsv_stream_state *state;
    const double *u;
    uint32_t upper;

    /*
     * sum[k] += what row k of ROWS, of(k), is owed, term by term. FEW terms of all rows are on their way together: few
     * rows are owed more, so nearly every front costs one trip through L2, and no warp waits for another. Places are
     * read before the first term is asked for, and anew for the next terms: so nothing is kept but sums.
     */
    template <int ROWS, int FEW, typename Of>
    __device__ __forceinline__ void add_owed(Of of, double (&sum)[ROWS][2]) const {
        const double *from = u + thread::pair();
        for (int skip = 0;; skip += FEW) {
            uint32_t place[ROWS * FEW];
            bool more = false;
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const owed_row row = of(k);
#pragma unroll
                for (int e = 0; e < FEW; e++)
                    place[k * FEW + e] = skip + e < row.count ? row.first[skip + e] : NOTHING;
                more |= skip + FEW < row.count;
            }
            double term[ROWS * FEW][2];
#pragma unroll
            for (int j = 0; j < ROWS * FEW; j++) {
                term[j][0] = term[j][1] = 0;
                if (place[j] != NOTHING)
                    load_relaxed16(from + int64_t(place[j]) * NR, term[j]);
            }
            /* what was not asked for is zero */
            poll_pairs(
                term, [&](int j) { return is_absent(term[j]) && place[j] < upper; },
                [&](int j) { return from + int64_t(place[j]) * NR; }, state);
#pragma unroll
            for (int j = 0; j < ROWS * FEW; j++) {
                sum[j / FEW][0] += term[j][0];
                sum[j / FEW][1] += term[j][1];
            }
            if (!more)
                break;
        }
    }
};

} // namespace gsv
#endif
