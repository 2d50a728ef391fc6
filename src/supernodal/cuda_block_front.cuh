/*
 * What the warps that read pieces for a block of right-hand sides share (cuda_block_stream.cuh): their shared
 * memory, the assembly of a front, and the products on tensor cores.
 *
 * Fragments of mma.m16n8k8, lane (g, q) = (lane / 4, lane mod 4): the sum has "rows" g and g + 8 and
 * right-hand sides 8 n + 2 q and one more. Which rows those are is for each product to say.
 */
#ifndef GSV_CUDA_BLOCK_FRONT_CUH
#define GSV_CUDA_BLOCK_FRONT_CUH

#include "../dense_kernels/fragment.cuh"
#include "cuda_stream_front.cuh"

namespace gsv {

/*
 * A block's shared memory, in bytes: the ring, and room for a front.
 */
template <int NR> struct block_room {
    typedef stream_room<double> ring;
    static const int WARPS = 4, THREADS = 32 * WARPS;
    static const int ROWS = 192; /* of a front; half of them where what it is made of takes the other half */
    static const int FRONT = ring::SLOTS * ring::SLOT;
    static const int FRONT_NUMBERS = ROWS * (NR + 4);
    static const int BARRIERS = FRONT + FRONT_NUMBERS * int(sizeof(double));
    static const int STAGE = BARRIERS + 2 * ring::SLOTS * 8;
    static const int BYTES = STAGE + ring::HEADER;
    static const int BLOCKS = NR == 8 ? 3 : 2; /* of an SM */
};

template <int NR> __device__ __forceinline__ void block_meets() {
    asm volatile("barrier.sync 1, %0;" ::"n"(int(block_room<NR>::THREADS)) : "memory");
}

__device__ __forceinline__ bool is_absent(const double (&value)[2]) {
    return is_absent(value[0]) || is_absent(value[1]);
}

/* Poll two right-hand sides of a row that were absent a moment ago. Gives up as wait_for does. */
inline __device__ __noinline__ double2 wait_for_pair(const double *from, gsv_stream_state *state) {
    double value[2];
    load_relaxed16(from, value);
    for (int n = 1; is_absent(value); n++) {
        const bool lost = n == PATIENCE;
        if (lost) {
            *static_cast<volatile int *>(&state->broken) = 1;
            *static_cast<volatile int *>(state->report) = 1;
        }
        if (lost || (n % 1024 == 0 && *static_cast<volatile int *>(&state->broken)))
            return make_double2(not_a_number<double>(), not_a_number<double>());
        load_relaxed16(from, value);
    }
    return make_double2(value[0], value[1]);
}

/* K pairs that a thread has requested, those from `from(k)` on that may be absent yet: polled(k). Whenever it
 * had to wait for one, it asks for the others again, which have perhaps come meanwhile. */
template <int K, typename From, typename Polled>
__device__ __forceinline__ void wait_for_pairs(double (&value)[K][2], From from, Polled polled,
                                               gsv_stream_state *state) {
#pragma unroll
    for (int j = 0; j < K; j++)
        if (polled(j) && is_absent(value[j])) {
            const double2 pair = wait_for_pair(from(j), state);
            value[j][0] = pair.x;
            value[j][1] = pair.y;
#pragma unroll
            for (int k = j + 1; k < K; k++)
                if (polled(k) && is_absent(value[k]))
                    load_relaxed16(from(k), value[k]);
        }
}

__device__ __forceinline__ void load_pair(const double *from, double *value) {
    const double2 v = *reinterpret_cast<const double2 *>(from);
    value[0] = v.x;
    value[1] = v.y;
}

__device__ __forceinline__ void store_pair(double *to, double a, double b) {
    *reinterpret_cast<double2 *>(to) = make_double2(a, b);
}

/* Lists of what the children owe rows of a front: gather[ptr[k]] .. gather[ptr[k + 1] - 1] is owed row k. */
struct owed_rows {
    const uint32_t *ptr, *gather;
};

/* Some of a piece's entries of such lists: those of list a, and then of list b, counted from zero. */
struct owed_entries {
    const uint32_t *a, *b; /* the first of each */
    int of_a, of_all;
};

/* What the warps of a block share and keep from piece to piece. */
template <int NR> struct block_stream {
    typedef block_room<NR> room;
    static const int N = NR / 8, PAIRS = NR / 2, STEP = room::THREADS / PAIRS;
    static const int THREADS = room::THREADS;
    static const int STAGED = NR == 8 ? 128 : 96; /* update rows in the front's second half */
    static const int ITEMS = STAGED / STEP;       /* of a thread */
    static const int ROWS = room::ROWS;
    static const int OWNED = ROWS / 2 / STEP; /* rows that a thread assembles */
    static const int EACH = 6;                /* rows that it requests together, at most */
    static_assert(STAGED * NR <= room::FRONT_NUMBERS / 2 && GSV_FOLDED <= ROWS / 2, "they fit");
    static const int PARTIAL = NR + 2; /* distance of rows of partial sums */
    const gsv_device_plan &plan;
    gsv_stream_state *state;
    const double *u;
    uint32_t upper;
    char *memory;
    /* the piece at hand */
    const char *lists;
    const double *panel;
    uint64_t *empty;

    __device__ __forceinline__ double *front() const {
        return reinterpret_cast<double *>(memory + room::FRONT);
    }
    __device__ __forceinline__ double *staged() const {
        return front() + room::FRONT_NUMBERS / 2;
    }
    __device__ __forceinline__ const uint32_t *list(int at) const {
        return reinterpret_cast<const uint32_t *>(lists + at);
    }
    __device__ __forceinline__ owed_rows owed(const gsv_piece &p, bool b) const {
        if (p.flags & GSV_PIECE_FAR)
            return {plan.gather_ptr + p.row + (b ? p.b_first : p.a_first), plan.gather};
        return {list(b ? p.b_ptr_at : p.a_ptr_at),
                list(b ? p.b_gather_at : p.a_gather_at) - (b ? p.b_gather : p.a_gather)};
    }
    __device__ __forceinline__ const int32_t *rows(const gsv_piece &p) const {
        return p.flags & GSV_PIECE_FAR ? plan.upper_rows + p.row + p.b_first
                                       : reinterpret_cast<const int32_t *>(list(p.b_ptr_at));
    }

    /*
     * Entries first .. first + STAGED - 1 of the update rows that a piece gathers, into the second half of
     * the front: they are all on their way together, so that a front costs one trip through L2, however
     * many children owe it how much. Nobody reads the half; a meeting must follow.
     */
    __device__ __forceinline__ void stage(const owed_entries &owed, int first) const {
        const double *from = u + 2 * (threadIdx.x % PAIRS);
        double *to = staged() + 2 * threadIdx.x;
        uint32_t place[ITEMS];
        double value[ITEMS][2];
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            const int e = first + int(threadIdx.x) / PAIRS + j * STEP;
            place[j] = ~0u;
            if (e < owed.of_all)
                place[j] = e < owed.of_a ? owed.a[e] : owed.b[e - owed.of_a];
            if (e < owed.of_all)
                load_relaxed16(from + int64_t(place[j]) * NR, value[j]);
        }
        wait_for_pairs(
            value, [&](int j) { return from + int64_t(place[j]) * NR; },
            [&](int j) { return place[j] < upper; }, state);
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            if (place[j] != ~0u)
                store_pair(to + 2 * THREADS * j, value[j][0], value[j][1]);
    }

    /* sum += what is staged of entries begin .. end - 1, in this order; at: the right-hand side of sum[0]. */
    __device__ __forceinline__ void add_staged(double (&sum)[2], int begin, int end, int first,
                                               int at) const {
        const int last = end < first + STAGED ? end : first + STAGED;
        begin = begin > first ? begin : first;
        const double *term = staged() + (begin - first) * NR + at;
        for (; begin < last; begin++, term += NR) {
            double two[2];
            load_pair(term, two);
            sum[0] += two[0];
            sum[1] += two[1];
        }
    }

    /* Rows 0 .. count - 1 of a front, STRIDE numbers apart, EACH of a thread on their way together: from(row),
     * NULL for zeros; polled: it may be absent yet. */
    template <int STRIDE, typename From> __device__ __forceinline__ void read(int count, From from) const {
        const int c = 2 * (threadIdx.x % PAIRS);
        double *f = front() + c;
        for (int base = threadIdx.x / PAIRS; base < count; base += EACH * STEP) {
            const double *at[EACH];
            bool polled[EACH];
            double value[EACH][2];
#pragma unroll
            for (int q = 0; q < EACH; q++) {
                const int row = base + q * STEP;
                polled[q] = false;
                at[q] = row < count ? from(row, polled[q]) : nullptr;
                value[q][0] = value[q][1] = 0;
                if (at[q])
                    load_relaxed16(at[q] + c, value[q]);
            }
            wait_for_pairs(
                value, [&](int q) { return at[q] + c; }, [&](int q) { return polled[q]; }, state);
#pragma unroll
            for (int q = 0; q < EACH; q++)
                if (base + q * STEP < count)
                    store_pair(f + (base + q * STEP) * STRIDE, value[q][0], value[q][1]);
        }
    }

    static __device__ __forceinline__ int warp() {
        return threadIdx.x / 32;
    }
    /* The first right-hand side of this lane's results. */
    static __device__ __forceinline__ int column() {
        return 2 * (threadIdx.x % 4);
    }

    /* Sums of the splits of a group of rows: those of split 0 get the others' in ascending order. All warps;
     * this half of the fronts has been used for the last time. */
    __device__ __forceinline__ void combine(int groups, double (&acc)[N][4]) const {
        const int warp = this->warp(), lane = threadIdx.x % 32;
        double *mine = front() + lane / 4 * PARTIAL + column();
        block_meets<NR>(); /* everybody has read the front */
        if (warp >= groups)
#pragma unroll
            for (int n = 0; n < N; n++) {
                store_pair(mine + warp * 16 * PARTIAL + 8 * n, acc[n][0], acc[n][1]);
                store_pair(mine + (warp * 16 + 8) * PARTIAL + 8 * n, acc[n][2], acc[n][3]);
                acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
            }
        block_meets<NR>(); /* the sums of all splits are there */
        if (warp < groups)
            for (int w = warp + groups; w < 4; w += groups)
#pragma unroll
                for (int n = 0; n < N; n++)
#pragma unroll
                    for (int m = 0; m < 2; m++) {
                        double other[2];
                        load_pair(mine + (w * 16 + 8 * m) * PARTIAL + 8 * n, other);
                        acc[n][2 * m] += other[0];
                        acc[n][2 * m + 1] += other[1];
                    }
    }

    /* Give the slot back: this warp has read it. */
    __device__ __forceinline__ void release() const {
        arrive_warp(empty);
    }
};

} // namespace gsv
#endif
