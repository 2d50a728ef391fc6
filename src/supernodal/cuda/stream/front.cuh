/*
 * What the warps that read pieces share (cuda/stream/one.cuh): their barrier, the wait for numbers of other
 * blocks, and the assembly of a front.
 */
#ifndef GSV_CUDA_STREAM_FRONT_CUH
#define GSV_CUDA_STREAM_FRONT_CUH

#include "ring.cuh"

namespace gsv {

__device__ __forceinline__ void consumers_meet() {
    asm volatile("barrier.sync 1, %0;" ::"n"(int(STREAM_THREADS)) : "memory");
}

/* Poll until this thread lacks nothing; ask(stop) loads what it lacks once more, all of it at the same time,
 * or, if stop, takes NaNs instead. Returns whether it lacked anything. */
template <typename Lacks, typename Ask>
__device__ __forceinline__ bool poll(Lacks lacks, Ask ask, gsv_stream_state *state) {
    int n = 1;
    for (; lacks(); n++)
        ask(gives_up(n, state));
    return n > 1;
}

/*
 * A front that is read: row i is own[i] for i < known, which is there, and z[rows[i]] from there on, as soon as
 * that is there. A thread has every STREAM_THREADS-th number of `count`: of the rows in order, or, skip = ~15, of
 * sixteen in every thirty-two.
 */
template <typename T> struct front_rows {
    enum { EACH = (stream_room<T>::FRONT_ROWS + STREAM_THREADS - 1) / STREAM_THREADS };
    T value[EACH];
    const T *at[EACH]; /* where it is: a thread that polls does not look it up again */
    unsigned polled;   /* bit q: value[q] is */
    static __device__ __forceinline__ int place(int q) {
        return int(threadIdx.x) + STREAM_THREADS * q;
    }
    static __device__ __forceinline__ int row(int q, int skip) {
        return place(q) + (place(q) & skip);
    }
    /* known: number of own rows. All places are looked up before one number is asked for. */
    __device__ __forceinline__ void request(const T *own, int known, const T *z, const int32_t *rows,
                                            int count, int skip) {
        polled = 0;
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int i = row(q, skip);
            const bool waits = place(q) < count && i >= known;
            int below = 0;
            if (waits)
                below = rows[i];
            at[q] = waits ? z + below : own + i;
            polled |= waits ? 1u << q : 0u;
        }
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q] = make<T>(0);
            if (place(q) < count)
                load_relaxed(at[q], value[q]);
        }
    }
    __device__ __forceinline__ bool lacks(int q) const {
        return polled >> q & 1 && is_absent(value[q]);
    }
    /* Returns whether it had to wait. */
    __device__ __forceinline__ bool finish(T *front, int count, gsv_stream_state *state) {
        const bool waited = poll(
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
                            value[q] = not_a_number<T>();
                        else
                            load_relaxed(at[q], value[q]);
                    }
            },
            state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count)
                front[place(q)] = value[q];
        return waited;
    }
};

/* sum and what a row is owed, terms one after the other, from lists in memory: of the few pieces whose lists do
 * not fit into a slot. */
template <typename T>
__device__ __noinline__ T add_far(const uint32_t *ptr, const uint32_t *gather, const T *u, uint32_t upper,
                                  gsv_stream_state *state, T sum) {
    const uint32_t end = ptr[1];
#pragma unroll 1
    for (uint32_t g = ptr[0]; g < end; g++) {
        const uint32_t from = gather[g];
        T term;
        load_relaxed(u + from, term);
        poll([&]() { return from < upper && is_absent(term); },
             [&](bool stop) {
                 if (stop)
                     term = not_a_number<T>();
                 else
                     load_relaxed(u + from, term);
             },
             state);
        sum = add(sum, term);
    }
    return sum;
}

/* The terms of one row: begin .. end - 1 of stream_block::terms(), or, if its lists are in memory, the row. */
struct owed_span {
    int64_t row;
    int begin, end;
};

/* What the warps of a block share and keep from piece to piece. */
template <typename N> struct stream_block {
    typedef stream_room<N> room;
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    const gsv_device_plan &plan;
    gsv_stream_state *state;
    const T *u;
    uint32_t upper;
    char *memory;
    /* Each is written before a meeting and read after it. The next is written to the other half: a thread that comes to
     * write this half again has since met all threads that read it. */
    int fronts, owns, partials;

    __device__ __forceinline__ T *front() const {
        return reinterpret_cast<T *>(memory + room::FRONT) + fronts % 2 * room::KEPT_ROWS;
    }
    __device__ __forceinline__ T *own() const {
        return reinterpret_cast<T *>(memory + room::OWN) + owns % 2 * 128;
    }
    __device__ __forceinline__ T *partial() const {
        return reinterpret_cast<T *>(memory + room::PARTIAL) + partials % 2 * 128;
    }
    /* A list of a piece in its slot, and the piece's numbers. */
    static __device__ __forceinline__ const uint32_t *list(const gsv_piece &p, int at) {
        return reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(&p) + room::HEADER + at);
    }
    static __device__ __forceinline__ const P *panel(const stream_header &header) {
        return reinterpret_cast<const P *>(reinterpret_cast<const char *>(&header) + room::HEADER +
                                           GSV_PIECE_LISTS + header.shift);
    }
    /* What the children owe the rows of a piece, in its lists' order, once it is there (owed_terms). */
    __device__ __forceinline__ T *terms() const {
        return reinterpret_cast<T *>(memory + room::TERMS);
    }
    /* Which terms row k of list a, or of list b, is owed; of lists in memory, all are read anew. */
    __device__ __forceinline__ owed_span owed_a(const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            return {p.row + p.a_first + k, 0, 0};
        const uint32_t *ptr = list(p, p.a_ptr_at) + k;
        return {0, int(ptr[0] - p.a_gather), int(ptr[1] - p.a_gather)};
    }
    __device__ __forceinline__ owed_span owed_b(const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            return {p.row + p.b_first + k, 0, 0};
        const uint32_t *ptr = list(p, p.b_ptr_at) + k;
        return {0, int(ptr[0] - p.b_gather) + p.a_gathers, int(ptr[1] - p.b_gather) + p.a_gathers};
    }
    /* sum[q] and what row q is owed, one by one in the lists' order, for all rows of a thread together: two terms
     * at a time, and where there is none another one is read all the same, for branches would cost more. far: as
     * in the piece's flags. */
    template <int ROWS>
    __device__ __forceinline__ void add_owed(bool far, const owed_span (&owed)[ROWS], T (&sum)[ROWS]) const {
        const T *terms = this->terms();
        int most = 0;
#pragma unroll
        for (int q = 0; q < ROWS; q++)
            most = max(most, owed[q].end - owed[q].begin);
#pragma unroll 1
        for (int k = 0; k < most; k += 2) {
            T term[ROWS][2];
#pragma unroll
            for (int q = 0; q < ROWS; q++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int at = owed[q].begin + k + h;
                    term[q][h] = terms[at < owed[q].end ? at : 0];
                }
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int q = 0; q < ROWS; q++) {
                    const T next = add(sum[q], term[q][h]);
                    if (owed[q].begin + k + h < owed[q].end)
                        sum[q] = next;
                }
        }
        if (far)
#pragma unroll
            for (int q = 0; q < ROWS; q++)
                if (owed[q].row >= 0)
                    sum[q] = add_far(plan.gather_ptr + owed[q].row, plan.gather, u, upper, state, sum[q]);
    }
    /* Give the slot back: this warp has read it. So it reads nothing of it any more, nor of its header. */
    static __device__ __forceinline__ void release(uint64_t *empty) {
        arrive_warp(empty);
    }
};

/*
 * What the children owe the rows of a piece, list a and then list b: a thread has every STREAM_THREADS-th
 * term, whatever row it belongs to, so that all are on their way together and a row of many costs no further
 * trip. Those of branches are there; the others are polled.
 */
template <typename N> struct owed_terms {
    typedef vector_number<N> T;
    enum { EACH = GSV_PIECE_LISTS / 4 / STREAM_THREADS, FEW = 2 };
    T term[EACH];
    uint32_t from[EACH];
    unsigned polled; /* bit q: term[q] is */
    int count;
    static __device__ __forceinline__ int place(int q) {
        return int(threadIdx.x) + STREAM_THREADS * q;
    }
    __device__ __forceinline__ void request_term(const stream_block<N> &block, const gsv_piece &p, int q) {
        if (place(q) < count) {
            const int k = place(q), b = k - p.a_gathers;
            from[q] = *stream_block<N>::list(p, b < 0 ? p.a_gather_at + 4 * k : p.b_gather_at + 4 * b);
            load_relaxed(block.u + from[q], term[q]);
            polled |= from[q] < block.upper ? 1u << q : 0u;
        }
    }
    /* Most pieces have few terms, or none. No more decisions than these: one for each term would have them wait for
     * each other. */
    __device__ __forceinline__ void request(const stream_block<N> &block, const gsv_piece &p) {
        count = p.flags & GSV_PIECE_FAR ? 0 : p.a_gathers + p.b_gathers;
        polled = 0;
        if (count == 0)
            return;
#pragma unroll
        for (int q = 0; q < FEW; q++)
            request_term(block, p, q);
        if (count > FEW * STREAM_THREADS)
#pragma unroll
            for (int q = FEW; q < EACH; q++)
                request_term(block, p, q);
    }
    __device__ __forceinline__ bool lacks(int q) const {
        return polled >> q & 1 && is_absent(term[q]);
    }
    /* Into block.terms(); the caller lets the warps meet. */
    __device__ __forceinline__ bool finish(const stream_block<N> &block) {
        const bool waited = poll(
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
                            term[q] = not_a_number<T>();
                        else
                            load_relaxed(block.u + from[q], term[q]);
                    }
            },
            block.state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count)
                block.terms()[place(q)] = term[q];
        return waited;
    }
};

} // namespace gsv
#endif
