/*
 * What the warps that read pieces share (cuda_stream.cuh): their barrier, the wait for numbers of other
 * blocks, and the assembly of a front.
 */
#ifndef GSV_CUDA_STREAM_FRONT_CUH
#define GSV_CUDA_STREAM_FRONT_CUH

#include "cuda_stream_ring.cuh"

namespace gsv {

__device__ __forceinline__ void consumers_meet() {
    asm volatile("barrier.sync 1, %0;" ::"n"(int(STREAM_THREADS)) : "memory");
}

/* Poll until this thread lacks nothing; ask(stop) loads what it lacks once more, all of it at the same time,
 * or, if stop, takes NaNs instead. */
template <typename Lacks, typename Ask>
__device__ __forceinline__ void poll(Lacks lacks, Ask ask, gsv_stream_state *state) {
    for (int n = 1; lacks(); n++)
        ask(gives_up(n, state));
}

/*
 * A front that is read: number k is own[k] for k < polled, which is there, and z[rows[k]] from there on, as
 * soon as that is there. A thread has every STREAM_THREADS-th one.
 */
template <typename T> struct front_rows {
    enum { EACH = (stream_room<T>::FRONT_ROWS + STREAM_THREADS - 1) / STREAM_THREADS };
    T value[EACH];
    static __device__ __forceinline__ int place(int q) {
        return int(threadIdx.x) + STREAM_THREADS * q;
    }
    __device__ __forceinline__ void request(const T *own, int polled, const T *z, const int32_t *rows,
                                            int count) {
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q] = make<T>(0);
            if (place(q) < count)
                load_relaxed(place(q) < polled ? own + place(q) : z + rows[place(q)], value[q]);
        }
    }
    __device__ __forceinline__ bool lacks(int q, int polled, int count) const {
        return place(q) < count && place(q) >= polled && is_absent(value[q]);
    }
    __device__ __forceinline__ bool lacks_any(int polled, int count) const {
        bool any = false;
#pragma unroll
        for (int q = 0; q < EACH; q++)
            any |= lacks(q, polled, count);
        return any;
    }
    __device__ __forceinline__ void finish(T *front, int polled, const T *z, const int32_t *rows, int count,
                                           gsv_stream_state *state) {
        poll([&]() { return lacks_any(polled, count); },
             [&](bool stop) {
#pragma unroll
                 for (int q = 0; q < EACH; q++)
                     if (lacks(q, polled, count)) {
                         if (stop)
                             value[q] = not_a_number<T>();
                         else
                             load_relaxed(z + rows[place(q)], value[q]);
                     }
             },
             state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count)
                front[place(q)] = value[q];
    }
};

/*
 * What the children owe a row: gather[ptr[0]] .. gather[ptr[1] - 1], added in this order to what begins the
 * sum. Three steps: request, wait (settle), and add, so that all of a thread's rows are on their way together
 * and are polled together.
 */
template <typename T> struct owed_row {
    enum { FEW = 2 };
    const uint32_t *gather;
    uint32_t at, end, from[FEW];
    T term[FEW];

    __device__ __forceinline__ void nothing() {
        at = end = 0;
    }
    __device__ __forceinline__ void request(const T *u) {
#pragma unroll
        for (int k = 0; k < FEW; k++)
            if (at + k < end) {
                from[k] = gather[at + k];
                load_relaxed(u + from[k], term[k]);
            }
    }
    /* gather is counted from base on. */
    __device__ __forceinline__ void begin(const uint32_t *ptr, const uint32_t *list, uint32_t base,
                                          const T *u) {
        gather = list - base;
        at = ptr[0];
        end = ptr[1];
        request(u);
    }
    __device__ __forceinline__ bool lacks(int k, uint32_t upper) const {
        return at + k < end && from[k] < upper && is_absent(term[k]);
    }
    __device__ __forceinline__ bool lacks_any(uint32_t upper) const {
        bool any = false;
#pragma unroll
        for (int k = 0; k < FEW; k++)
            any |= lacks(k, upper);
        return any;
    }
    __device__ __forceinline__ void ask_again(const T *u, uint32_t upper, bool stop) {
#pragma unroll
        for (int k = 0; k < FEW; k++)
            if (lacks(k, upper)) {
                if (stop)
                    term[k] = not_a_number<T>();
                else
                    load_relaxed(u + from[k], term[k]);
            }
    }
};

/* Wait until none of the rows lacks what it has requested. */
template <typename T, typename... Rows>
__device__ __forceinline__ void settle(const T *u, uint32_t upper, gsv_stream_state *state, Rows &...rows) {
    poll([&]() { return (rows.lacks_any(upper) || ...); },
         [&](bool stop) { (rows.ask_again(u, upper, stop), ...); }, state);
}

/* What the warps of a block share and keep from piece to piece. */
template <typename T> struct stream_block {
    typedef stream_room<T> room;
    const gsv_device_plan &plan;
    gsv_stream_state *state;
    const T *u;
    uint32_t upper;
    char *memory;
    /* Each is written before a meeting and read after it. The next is written to the other half: who comes to
     * write this half again has met, since, with all who read it. */
    int fronts, owns, partials;

    __device__ __forceinline__ T *front() const {
        return reinterpret_cast<T *>(memory + room::FRONT) + fronts % 2 * room::FRONT_ROWS;
    }
    __device__ __forceinline__ T *own() const {
        return reinterpret_cast<T *>(memory + room::OWN) + owns % 2 * 128;
    }
    __device__ __forceinline__ T *partial() const {
        return reinterpret_cast<T *>(memory + room::PARTIAL) + partials % 2 * 64;
    }
    /* Of a piece in its slot: a list, and its numbers. */
    static __device__ __forceinline__ const uint32_t *list(const gsv_piece &p, int at) {
        return reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(&p) + room::HEADER + at);
    }
    static __device__ __forceinline__ const T *panel(const stream_header &header) {
        return reinterpret_cast<const T *>(reinterpret_cast<const char *>(&header) + room::HEADER +
                                           GSV_PIECE_LISTS + header.shift);
    }
    /* Request what the children owe row k of list a, or of list b. */
    __device__ __forceinline__ void begin_a(owed_row<T> &row, const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            row.begin(plan.gather_ptr + p.row + p.a_first + k, plan.gather, 0, u);
        else
            row.begin(list(p, p.a_ptr_at) + k, list(p, p.a_gather_at), p.a_gather, u);
    }
    __device__ __forceinline__ void begin_b(owed_row<T> &row, const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            row.begin(plan.gather_ptr + p.row + p.b_first + k, plan.gather, 0, u);
        else
            row.begin(list(p, p.b_ptr_at) + k, list(p, p.b_gather_at), p.b_gather, u);
    }
    template <typename... Rows> __device__ __forceinline__ void settle_rows(Rows &...rows) const {
        settle(u, upper, state, rows...);
    }
    /* What settled rows are owed is added; most have no more than they have requested. */
    __device__ __forceinline__ T add_owed(owed_row<T> &row, T sum) const {
        while (row.at < row.end) {
#pragma unroll
            for (int k = 0; k < owed_row<T>::FEW; k++)
                if (row.at + k < row.end)
                    sum = add(sum, row.term[k]);
            row.at += owed_row<T>::FEW;
            row.request(u);
            settle(u, upper, state, row);
        }
        return sum;
    }
    /* Give the slot back: this warp has read it. */
    static __device__ __forceinline__ void release(uint64_t *empty) {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(empty);
    }
};

} // namespace gsv
#endif
