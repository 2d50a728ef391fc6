/*
 * What the warps that read pieces share (cuda_stream.cuh): their barrier, the wait for numbers of other
 * blocks, and the assembly of a front.
 */
#ifndef GSV_CUDA_STREAM_FRONT_CUH
#define GSV_CUDA_STREAM_FRONT_CUH

#include "../dense_kernels/published.cuh"
#include "cuda_stream_ring.cuh"

namespace gsv {

__device__ __forceinline__ void consumers_meet() {
    asm volatile("barrier.sync 1, %0;" ::"n"(int(STREAM_THREADS)) : "memory");
}

/* Poll a number that was absent a moment ago. Gives up, with a NaN, when it or anybody else has lost
 * patience. */
template <typename T> __device__ __noinline__ T wait_for(const T *from, gsv_stream_state *state) {
    T value;
    load_relaxed(from, value);
    for (int n = 1; is_absent(value); n++) {
        if (n % 1024 == 0 && *static_cast<volatile int *>(&state->broken))
            return not_a_number<T>();
        if (n == PATIENCE) {
            *static_cast<volatile int *>(&state->broken) = 1;
            *static_cast<volatile int *>(state->report) = 1;
            return not_a_number<T>();
        }
        load_relaxed(from, value);
    }
    return value;
}

/* front[k] = *from(k), k < count <= 2 STREAM_THREADS; those from `polled` on as soon as they are there, the
 * others are. */
template <typename T, typename From>
__device__ __forceinline__ void read_front(T *front, int count, int polled, From from,
                                           gsv_stream_state *state) {
    T value[2];
#pragma unroll
    for (int q = 0; q < 2; q++)
        if (int(threadIdx.x) + STREAM_THREADS * q < count)
            load_relaxed(from(threadIdx.x + STREAM_THREADS * q), value[q]);
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int k = threadIdx.x + STREAM_THREADS * q;
        if (k < count)
            front[k] = is_absent(value[q]) && k >= polled ? wait_for(from(k), state) : value[q];
    }
}

/*
 * What the children owe a row: gather[ptr[0]] .. gather[ptr[1] - 1], added in this order to what begins the
 * sum. Two calls: the first requests, the second waits and adds, so that a thread's rows are on their way
 * together.
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
    __device__ __forceinline__ T add_to(T sum, const T *u, uint32_t upper, gsv_stream_state *state) {
        while (at < end) {
#pragma unroll
            for (int k = 0; k < FEW; k++)
                if (at + k < end) {
                    if (is_absent(term[k]) && from[k] < upper)
                        term[k] = wait_for(u + from[k], state);
                    sum = add(sum, term[k]);
                }
            at += FEW;
            request(u);
        }
        return sum;
    }
};

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
    /* the piece at hand */
    const char *lists;
    const T *panel;
    uint64_t *empty;

    __device__ __forceinline__ T *front() const {
        return reinterpret_cast<T *>(memory + room::FRONT) + fronts % 2 * 256;
    }
    __device__ __forceinline__ T *own() const {
        return reinterpret_cast<T *>(memory + room::OWN) + owns % 2 * 128;
    }
    __device__ __forceinline__ T *partial() const {
        return reinterpret_cast<T *>(memory + room::PARTIAL) + partials % 2 * 64;
    }
    __device__ __forceinline__ const uint32_t *list(int at) const {
        return reinterpret_cast<const uint32_t *>(lists + at);
    }
    /* Request what the children owe row k of list a, or of list b. */
    __device__ __forceinline__ void begin_a(owed_row<T> &row, const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            row.begin(plan.gather_ptr + p.row + p.a_first + k, plan.gather, 0, u);
        else
            row.begin(list(p.a_ptr_at) + k, list(p.a_gather_at), p.a_gather, u);
    }
    __device__ __forceinline__ void begin_b(owed_row<T> &row, const gsv_piece &p, int k) const {
        if (p.flags & GSV_PIECE_FAR)
            row.begin(plan.gather_ptr + p.row + p.b_first + k, plan.gather, 0, u);
        else
            row.begin(list(p.b_ptr_at) + k, list(p.b_gather_at), p.b_gather, u);
    }
    __device__ __forceinline__ T add_owed(owed_row<T> &row, T sum) const {
        return row.add_to(sum, u, upper, state);
    }
    /* Give the slot back: this warp has read it. */
    __device__ __forceinline__ void release() const {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(empty);
    }
};

} // namespace gsv
#endif
