/*
 * What the warps of a block share that gather, and those that multiply, for a block of right-hand sides
 * (cuda_block_stream.cuh): where a piece, its lists and its front stand in shared memory, and reads of what other
 * blocks hand over.
 */
#ifndef GSV_CUDA_BLOCK_FRONT_CUH
#define GSV_CUDA_BLOCK_FRONT_CUH

#include "../dense_kernels/fragment.cuh"
#include "cuda_stream_front.cuh"

namespace gsv {

/* Where a slot's lists end, and its panel begins, in bytes. */
struct block_slot_room {
    static const int HEADER = stream_room<double>::HEADER;
    static const int PANEL = HEADER + GSV_PIECE_LISTS;
};

/*
 * A block's warps, and its shared memory, in bytes: a ring of slots, which have a piece, its front and, of the first
 * piece of a forward task, the rows that the results are added to; and, forward, room for update rows. Forward, to
 * gather takes several times as long as to multiply: eight warps, for which two blocks of an SM have registers.
 */
template <int NR, bool BACKWARD> struct block_room : block_slot_room {
    static const int WARPS = 4, THREADS = 32 * WARPS; /* that multiply */
    static const int GATHER_WARPS = BACKWARD ? 4 : 8, GATHER_THREADS = 32 * GATHER_WARPS;
    static const int BLOCK = THREADS + GATHER_THREADS + 32; /* and one warp brings pieces */
    static const int BLOCKS = NR == 8 && BACKWARD ? 3 : 2;  /* of an SM */
    static const int PAYLOAD = (BACKWARD ? GSV_BLOCK_ROOM + GSV_BLOCK_ROOM_ROWS * (NR - 8) * 8
                                         : GSV_BLOCK_FORWARD_ROOM + GSV_BLOCK_FORWARD_ROWS * (NR - 8) * 8) +
                               SHARED_LINE;
    static const int SLOT = PANEL + PAYLOAD, SLOTS = 2;
    static const int STAGED = BACKWARD ? 0 : NR == 8 ? 128 : 64; /* update rows */
    static const int STAGE_ROWS = SLOTS * SLOT;
    static const int BARRIERS = STAGE_ROWS + STAGED * NR * 8;
    static const int STAGE = BARRIERS + 4 * SLOTS * 8;
    static const int BYTES = STAGE + HEADER;
};

/* The warps that multiply meet, or those that gather, so many threads. */
enum { MULTIPLIERS = 1, GATHERERS = 2 };
template <int ID, int THREADS = 128> __device__ __forceinline__ void block_meets() {
    asm volatile("barrier.sync %0, %1;" ::"n"(ID), "n"(THREADS) : "memory");
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

/* Entries of one row. */
struct row_entries {
    int begin, end;
};

/* Lists of what the children owe rows of a front: gather[ptr[k]] .. gather[ptr[k + 1] - 1] is owed row k. */
struct owed_rows {
    const uint32_t *ptr, *gather;
    /* Those of row k, counted from `start` on. */
    __device__ __forceinline__ row_entries of(int k, uint32_t start) const {
        return {int(ptr[k] - start), int(ptr[k + 1] - start)};
    }
};

/* Some of a piece's entries of such lists: those of list a, and then of list b, which stands behind it, counted from
 * zero. */
struct owed_entries {
    const uint32_t *first;
    uint32_t between; /* the two */
    int of_a, of_all;
    __device__ __forceinline__ uint32_t at(int e) const {
        return first[uint32_t(e) + (e < of_a ? 0u : between)];
    }
};

/* A piece in its slot. */
template <int NR> struct block_slot {
    typedef block_slot_room room;
    char *memory;
    __device__ __forceinline__ const stream_header &header() const {
        return *reinterpret_cast<const stream_header *>(memory);
    }
    __device__ __forceinline__ const gsv_piece &piece() const {
        return header().piece;
    }
    __device__ __forceinline__ const double *panel() const {
        return reinterpret_cast<const double *>(memory + room::PANEL + header().shift);
    }
    __device__ __forceinline__ double *payload() const {
        return reinterpret_cast<double *>(memory + room::PANEL);
    }
    /* The front of a piece whose panel takes so many numbers. */
    __device__ __forceinline__ double *front(int numbers) const {
        return payload() + (numbers + SHARED_LINE / 8 + 1) / 2 * 2;
    }
    static __device__ __forceinline__ int numbers(const gsv_piece &p, bool backward) {
        return p.kind != GSV_BLOCK_PIECE ? p.numbers
               : backward                ? p.groups * p.count * GSV_TILE * GSV_TILE
                                         : (p.count + 3) / 4 * 4 * p.groups * GSV_TILE;
    }
    /* Of the last piece of a narrow supernode, whose first one this is. */
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
    __device__ __forceinline__ void finish(const double *from, int count, const block_runs &runs,
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
    static const int STEP = thread::STEP, STAGED = room::STAGED, ITEMS = STAGED / STEP;
    static_assert(STAGED % STEP == 0 && GSV_TILE * GSV_GROUPS % STEP == 0, "whole steps");
    static const bool AHEAD = NR == 8; /* there are registers for rows' entries before they are staged */
    const gsv_device_plan &plan;
    gsv_stream_state *state;
    const double *u;
    uint32_t upper;
    double *staged;

    /*
     * Entries first .. first + STAGED - 1 of the update rows that a piece gathers, into shared memory: they
     * are all on their way together, so that a front costs one trip through L2, however many children owe it
     * how much. Meets before they are written and when they are there.
     */
    __device__ __forceinline__ void stage(const owed_entries &owed, int first) const {
        uint32_t place[ITEMS];
        double value[ITEMS][2];
        const double *from = u + thread::pair();
        const int own = first + thread::own();
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            place[j] = own + j * STEP < owed.of_all ? owed.at(own + j * STEP) : 0;
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            value[j][0] = value[j][1] = 0;
            if (own + j * STEP < owed.of_all)
                load_relaxed16(from + int64_t(place[j]) * NR, value[j]);
        }
        /* what was not asked for is zero */
        poll_pairs(
            value, [&](int j) { return is_absent(value[j]) && place[j] < upper; },
            [&](int j) { return from + int64_t(place[j]) * NR; }, state);
        block_meets<GATHERERS, thread::THREADS>(); /* everybody has read what was staged before */
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            store_pair(staged + (thread::own() + j * STEP) * NR + thread::pair(), value[j][0], value[j][1]);
        block_meets<GATHERERS, thread::THREADS>(); /* what is staged is there */
    }

    /* sum += what is staged of a row's entries, in this order. */
    __device__ __forceinline__ void add_staged(double (&sum)[2], row_entries of, int first) const {
        const int last = of.end < first + STAGED ? of.end : first + STAGED;
        int begin = of.begin > first ? of.begin : first;
        const double *term = staged + (begin - first) * NR + thread::pair();
        for (; begin < last; begin++, term += NR) {
            double two[2];
            load_pair(term, two);
            sum[0] += two[0];
            sum[1] += two[1];
        }
    }
};

} // namespace gsv
#endif
