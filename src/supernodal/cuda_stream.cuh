/*
 * The upper tree (stream.h) for one right-hand side: each sweep is one launch of blocks that stay, three an
 * SM.
 *
 * Block. Its last warp brings pieces of panels, with their lists, into a ring of slots in shared memory, by
 * bulk copies that complete on an mbarrier; nothing that it brings depends on the solve, so a block that
 * waits for a vector already holds what it will multiply with it, and memory is read all the time. Four
 * warps take the pieces as they come: they assemble the vector of a piece, a row or two a thread, wait for
 * each other, multiply from shared memory, and give the slot back.
 *
 * Synchronisation between blocks. Update vectors u, published fronts f and solutions z are handed over where
 * the data is the flag (published.cuh): a launch before fills them with ABSENT. What else is read was written
 * by earlier launches.
 *
 * Why it ends. Blocks take tasks from a counter, in the order of the stream. A task waits for tasks of lower
 * number alone, or for itself. So of all tasks that are taken and not finished, the one with the lowest
 * number waits for none, and it is at the head of its block's ring, since a block takes its tasks in
 * ascending order too. That does not ask that all blocks of the launch run at the same time. The last block
 * to leave sets the counter back.
 *
 * Bits. Every sum has the terms and the order of cuda_narrow.cuh and cuda_wide.cuh.
 *
 * Traffic: the panels once, lists and vectors. A level of the tree costs the hand-over of the vector through
 * L2, about half a microsecond, and the work on a piece or two, another half.
 */
#ifndef GSV_CUDA_STREAM_CUH
#define GSV_CUDA_STREAM_CUH

#include "../dense_kernels/published.cuh"
#include "cuda_gather.cuh"

namespace gsv {

enum { STREAM_THREADS = 128, STREAM_WARPS = STREAM_THREADS / 32, STREAM_BLOCK = STREAM_THREADS + 32 };

/* A block's shared memory, in bytes. */
template <typename T> struct stream_room {
    static const int HEADER = 128; /* stream_header */
    static const int SLOT = HEADER + GSV_PIECE_LISTS + GSV_PIECE_NUMBERS * int(sizeof(T)) + 16;
    static const int BLOCKS = sizeof(T) == 16 ? 1 : 3; /* of an SM */
    static const int SLOTS = sizeof(T) == 16 ? 3 : 2;
    static const int FRONT = SLOTS * SLOT;                     /* 2 x 256 numbers */
    static const int OWN = FRONT + 2 * 256 * int(sizeof(T));   /* 2 x 128 */
    static const int PARTIAL = OWN + 2 * 128 * int(sizeof(T)); /* 2 x 64 */
    static const int BARRIERS = PARTIAL + 2 * 64 * int(sizeof(T));
    static const int BYTES = BARRIERS + 2 * SLOTS * 8;
};

struct stream_header {
    gsv_piece piece;
    int32_t parts; /* of a wide supernode */
    int32_t shift; /* bytes from the start of the slot's panel to the piece's first number */
};

/* -------------------------------------------------------------------------------------------- mbarriers ---
 */

__device__ __forceinline__ unsigned shared_address(const void *at) {
    return unsigned(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void barrier_init(uint64_t *barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/* Expect so many bytes in this phase. */
__device__ __forceinline__ void barrier_expect(uint64_t *barrier, unsigned bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* bytes and both addresses are multiples of 16. */
__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

/* ----------------------------------------------------------------------------------------- the producer ---
 */

/* One copy, widened to whole units of 16 bytes; returns how many bytes. */
struct widened {
    const char *from;
    unsigned bytes;
    __device__ __forceinline__ widened(const void *start, int64_t size) {
        const uintptr_t at = reinterpret_cast<uintptr_t>(start), end = at + size;
        from = reinterpret_cast<const char *>(at / 16 * 16);
        bytes = size > 0 ? unsigned((end + 15) / 16 * 16 - at / 16 * 16) : 0;
    }
};

/* What lane `lane` of the producer copies for a piece: at most one range. */
template <typename T, bool BACKWARD>
__device__ __forceinline__ unsigned range_of_lane(const gsv_device_plan &plan, const gsv_piece &p, int lane,
                                                  char *slot, char *&to, const char *&from) {
    char *lists = slot + stream_room<T>::HEADER, *panel = lists + GSV_PIECE_LISTS;
    const T *panels = static_cast<const T *>(plan.panels) + p.panel;
    widened range(nullptr, 0);
    to = panel;
    if (lane < 16) {
        if (BACKWARD && p.kind == GSV_COLUMNS_PIECE) {
            if (lane < p.count) { /* the sixteen columns, or what there is of them, of one block row */
                const int live = p.nc - 16 * p.place < 16 ? p.nc - 16 * p.place : 16;
                range = widened(panels + gsv_block_row_start(p.nc, p.first + lane) + 256 * p.place,
                                live * 16 * int(sizeof(T)));
                to = panel + lane * 256 * sizeof(T);
            }
        } else if (lane == 0) {
            range = widened(panels, p.numbers * int(sizeof(T)));
        }
    } else if (lane < 20 && !(p.flags & GSV_PIECE_FAR)) {
        const bool b = lane >= 18, gather = lane & 1;
        const int rows = b ? p.b_rows : p.a_rows;
        if (rows > 0 && !(BACKWARD && lane != 18)) {
            if (gather)
                range =
                    widened(plan.gather + (b ? p.b_gather : p.a_gather), 4 * (b ? p.b_gathers : p.a_gathers));
            else if (BACKWARD)
                range = widened(plan.rows + p.row + p.b_first, 4 * rows);
            else
                range = widened(plan.gather_ptr + p.row + (b ? p.b_first : p.a_first), 4 * (rows + 1));
            const int at = gather ? (b ? p.b_gather_at : p.a_gather_at) : (b ? p.b_ptr_at : p.a_ptr_at);
            to = lists + at / 16 * 16;
        }
    }
    from = range.from;
    return range.bytes;
}

/* The ring of a block. */
struct ring {
    char *slots;
    uint64_t *full, *empty;
};

/* The last warp's work: all pieces of all tasks that this block takes, and then one that says that it is
 * over. Unless there is a crowd of them, a task is taken only when there is room for its first piece: who
 * takes more than that takes them from blocks that have nothing to do. */
template <typename T, bool BACKWARD>
__device__ void produce(const gsv_device_plan &plan, const gsv_device_pieces &list, gsv_stream_state *state,
                        const ring &ring) {
    typedef stream_room<T> room;
    constexpr int WORDS = sizeof(gsv_piece) / 8;
    const int lane = threadIdx.x % 32;
    int *ticket = BACKWARD ? &state->backward : &state->forward;
    const uint64_t *pieces = reinterpret_cast<const uint64_t *>(list.piece);
    auto words = [&](int piece) {
        return lane < WORDS ? __ldg(pieces + int64_t(piece) * WORDS + lane) : uint64_t(0);
    };
    auto take = [&]() { return lane == 0 ? atomicAdd(ticket, 1) : 0; };
    int n = 0;
    auto wait_for_room = [&]() {
        barrier_wait(&ring.empty[n % room::SLOTS], (n / room::SLOTS & 1) ^ 1);
        return ring.slots + n % room::SLOTS * room::SLOT;
    };
    int next = 0;
    bool ahead = false; /* next is taken, or on its way */
    for (;;) {
        if (!ahead) {
            wait_for_room();
            next = take();
        }
        const int task = __shfl_sync(~0u, next, 0);
        if (task >= list.tasks)
            break;
        const int first = __ldg(&list.task[task]), end = __ldg(&list.task[task + 1]);
        uint64_t word = words(first);
        for (int at = first; at < end; at++, n++) {
            char *slot = wait_for_room();
            stream_header *header = reinterpret_cast<stream_header *>(slot);
            if (lane < WORDS)
                reinterpret_cast<uint64_t *>(&header->piece)[lane] = word;
            __syncwarp();
            if (at + 1 < end)
                word = words(at + 1);
            const gsv_piece &p = header->piece;
            if (at == first) {
                ahead = p.flags & GSV_PIECE_CROWD;
                if (ahead)
                    next = take();
            }
            char *to = nullptr;
            const char *from = nullptr;
            const unsigned bytes = range_of_lane<T, BACKWARD>(plan, p, lane, slot, to, from);
            const unsigned total = __reduce_add_sync(~0u, bytes);
            uint64_t *full = &ring.full[n % room::SLOTS];
            if (lane == 0)
                barrier_expect(full, total);
            __syncwarp();
            if (bytes > 0)
                bulk_copy(to, from, bytes, full);
            if (lane == 0) {
                header->parts = p.node >= 0 ? plan.wide[p.node].parts : 1;
                header->shift =
                    int(reinterpret_cast<uintptr_t>(static_cast<const T *>(plan.panels) + p.panel) % 16);
                barrier_arrive(full);
            }
        }
    }
    wait_for_room();
    if (lane == 0) {
        reinterpret_cast<stream_header *>(ring.slots + n % room::SLOTS * room::SLOT)->piece.kind =
            GSV_NO_PIECE;
        barrier_arrive(&ring.full[n % room::SLOTS]);
        int *left = BACKWARD ? &state->backward_left : &state->forward_left;
        if (atomicAdd(left, 1) == int(gridDim.x) - 1) {
            *left = 0;
            *ticket = 0;
        }
    }
}

/* ---------------------------------------------------------------------------------------- the consumers ---
 */

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

/* --------------------------------------------------------------------------------------------- forward ---
 */

/* Columns of a narrow supernode, two rows a thread. acc goes on from piece to piece. */
template <typename T>
__device__ __forceinline__ void narrow_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                               T *u, T (&acc)[2]) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, first = p.first, end = first + p.count;
    const bool last = p.flags & GSV_PIECE_LAST, tall = nr > STREAM_THREADS;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    if (p.flags & GSV_PIECE_FIRST) {
        block.fronts++;
        T *f = block.front();
        owed_row<T> row[2];
        const T right_side = thread < nc ? own_y[thread] : make<T>(0); /* nc <= 32 */
#pragma unroll
        for (int q = 0; q < 2; q++) {
            row[q].nothing();
            if (thread + STREAM_THREADS * q < nr)
                block.begin_b(row[q], p, thread + STREAM_THREADS * q);
        }
        acc[0] = block.add_owed(row[0], right_side);
        acc[1] = block.add_owed(row[1], make<T>(0));
        if (thread < nc) {
            f[thread] = acc[0];
            acc[0] = make<T>(0);
        }
        consumers_meet(); /* the front is complete */
    }
    const T *f = block.front() + first;
    const T *column = block.panel + thread - first;
#pragma unroll 4
    for (int k = first; k < end; k++) {
        const T b = *f++;
        if (thread >= k && thread < nr)
            acc[0] = multiply_add(acc[0], column[0], b);
        if (tall && thread + STREAM_THREADS < nr)
            acc[1] = multiply_add(acc[1], column[STREAM_THREADS], b);
        column += nr - k - 1;
    }
    block.release();
    if (last) {
        if (thread < nc)
            own_x[thread] = acc[0];
        else if (thread < nr)
            publish(&own_u[thread - nc], acc[0]);
        if (thread + STREAM_THREADS < nr)
            publish(&own_u[thread + STREAM_THREADS - nc], acc[1]);
    }
}

/* Block rows of a supernode of few columns, a warp each, by turns. */
template <typename T>
__device__ __forceinline__ void tiles_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                              T *u) {
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int nr = p.nr, nc = p.nc, count = p.count, first = p.first, rows = p.b_rows;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update;
    block.fronts++;
    block.owns++;
    T *f = block.front(), *own = block.own();
    {
        owed_row<T> of_front, of_own;
        of_front.nothing();
        of_own.nothing();
        const T right_side = thread < nc ? own_y[thread] : make<T>(0);
        const int row = STREAM_THREADS - 1 - thread; /* the other end first: those threads have no column */
        if (thread < nc)
            block.begin_a(of_front, p, thread);
        if (row < rows && GSV_TILE * first + row >= nc)
            block.begin_b(of_own, p, row);
        f[thread] = block.add_owed(of_front, right_side);
        own[row] = block.add_owed(of_own, make<T>(0));
    }
    consumers_meet(); /* the front is complete */
    const int start = int(gsv_block_row_start(nc, first));
    T acc[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        acc[q] = make<T>(0);
        const int b = warp + STREAM_WARPS * q;
        if (b < count) {
            const int columns = gsv_block_row_columns(nc, first + b);
            const T *tile = block.panel + (int(gsv_block_row_start(nc, first + b)) - start) + lane;
            const T *v = f + lane / 16;
#pragma unroll 4
            for (int k = lane / 16; k < columns; k += 2) {
                acc[q] = multiply_add(acc[q], *tile, *v);
                tile += 32;
                v += 2;
            }
        }
    }
    block.release();
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int b = warp + STREAM_WARPS * q;
        if (b < count) {
            const T sum = add(acc[q], shuffle_xor(acc[q], 16));
            const int i = GSV_TILE * (first + b) + lane;
            if (lane < 16) {
                if (i < nc)
                    own_x[i] = sum;
                else if (i < nr)
                    publish(&own_u[i - nc], add(own[GSV_TILE * b + lane], sum));
            }
        }
    }
}

/* The product of a block row with columns 0 .. columns - 1 from tile on, to be finished: half a warp has the
 * columns of two remainders mod 16, and a lane the sums of one row. */
template <typename T> struct row_sums {
    T sum[2];
    __device__ __forceinline__ void clear() {
        sum[0] = sum[1] = make<T>(0);
    }
    __device__ __forceinline__ void run(const T *tile, const T *front, int columns) {
        const int k0 = threadIdx.x / 32 * 4 + threadIdx.x / 16 % 2;
        tile += 16 * k0 + threadIdx.x % 16;
        front += k0;
#pragma unroll 3
        for (int k = k0; k < columns; k += 16) {
            sum[0] = multiply_add(sum[0], tile[0], front[0]);
            if (k + 2 < columns)
                sum[1] = multiply_add(sum[1], tile[32], front[2]);
            tile += 256;
            front += 16;
        }
    }
    /* What this warp has for row lane % 16. */
    __device__ __forceinline__ T of_warp() const {
        return add(add(sum[0], shuffle_xor(sum[0], 16)), add(sum[1], shuffle_xor(sum[1], 16)));
    }
    /* Row thread < 16, of what the warps have left in partial. */
    static __device__ __forceinline__ T of_block(const T *partial) {
        const T *at = partial + threadIdx.x;
        return add(add(at[0], at[16]), add(at[32], at[48]));
    }
};

/* Columns of one block row, of a supernode that is inverted in one part: every task assembles the columns
 * that it multiplies with. */
template <typename T>
__device__ __forceinline__ void row_forward(stream_block<T> &block, const gsv_piece &p, const T *y, T *x,
                                            T *u, row_sums<T> &sums) {
    const int thread = threadIdx.x, nc = p.nc, first = p.first, count = p.count, top = GSV_TILE * p.place;
    const T *own_y = y + p.first_column + first;
    block.fronts++;
    {
        T *f = block.front();
        owed_row<T> of_front[2], of_own;
        T right_side[2];
        const int row = STREAM_THREADS - 1 - thread;
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int k = thread + STREAM_THREADS * q;
            of_front[q].nothing();
            right_side[q] = k < count ? own_y[k] : make<T>(0);
            if (k < count)
                block.begin_a(of_front[q], p, k);
        }
        of_own.nothing();
        if (row < p.b_rows && top + row >= nc) /* list b comes with the first piece */
            block.begin_b(of_own, p, row);
#pragma unroll
        for (int q = 0; q < 2; q++)
            f[thread + STREAM_THREADS * q] = block.add_owed(of_front[q], right_side[q]);
        if (p.flags & GSV_PIECE_FIRST) {
            block.owns++;
            sums.clear();
            if (row < GSV_TILE)
                block.own()[row] = block.add_owed(of_own, make<T>(0));
        }
    }
    const T *f = block.front();
    consumers_meet(); /* the front, and own, are complete */
    sums.run(block.panel, f, count);
    const bool last = p.flags & GSV_PIECE_LAST;
    const int i = top + thread, nr = p.nr;
    T *to_x = x + p.first_column + i, *to_u = u + p.update + (i - nc);
    block.release();
    if (last) {
        block.partials++;
        T *partial = block.partial();
        const T mine = sums.of_warp();
        if (thread % 32 < 16)
            partial[thread / 32 * 16 + thread % 16] = mine;
        consumers_meet(); /* the warps' sums are there */
        if (thread < 16) {
            const T total = row_sums<T>::of_block(partial);
            if (i < nc)
                *to_x = total;
            else if (i < nr)
                publish(to_u, add(block.own()[thread], total));
        }
    }
}

/*
 * The same for a supernode that is inverted in parts or has many columns. A block row of the triangle
 * assembles its own sixteen rows, adds what the parts before bring, and publishes them; all tasks read them
 * there.
 */
template <typename T>
__device__ __forceinline__ void row_forward_published(stream_block<T> &block, const gsv_piece &p, int parts,
                                                      const T *y, T *x, T *u, T *published,
                                                      row_sums<T> &sums) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, end = p.first + p.count, top = GSV_TILE * p.place;
    const int width = parts > 1 ? gsv_part_columns(nc, parts) : nc, part = top / width;
    const bool last = p.flags & GSV_PIECE_LAST;
    const T *own_y = y + p.first_column;
    T *own_x = x + p.first_column, *own_u = u + p.update, *f = published + p.published;
    if (p.flags & GSV_PIECE_FIRST) {
        block.owns++;
        sums.clear();
        const int row = STREAM_THREADS - 1 - thread, i = top + row;
        if (row < p.b_rows) {
            owed_row<T> owed;
            block.begin_b(owed, p, row);
            const T sum = block.add_owed(owed, i < nc ? own_y[i] : make<T>(0));
            block.own()[row] = sum;
            if (i < nc && part == 0)
                publish(&f[i], sum);
        }
    }
    T *own = block.own();
    for (int first = p.first, to; first < end; first = to) {
        const int part_end = (first / width + 1) * width;
        to = part_end < end ? part_end : end;
        block.fronts++;
        T *front = block.front();
        read_front(
            front, to - first, 0, [&](int k) { return &f[first + k]; }, block.state);
        consumers_meet(); /* the front, and own, are complete */
        sums.run(block.panel + 16 * (first - p.first), front, to - first);
        if (to == part_end || (last && to == end)) {
            block.partials++;
            T *partial = block.partial();
            const T mine = sums.of_warp();
            sums.clear();
            if (thread % 32 < 16)
                partial[thread / 32 * 16 + thread % 16] = mine;
            consumers_meet(); /* the warps' sums are there */
            const int i = top + thread;
            if (thread < 16 && i < nr) {
                const T total = row_sums<T>::of_block(partial);
                if (i < nc && first / width == part) {
                    own_x[i] = total;
                } else {
                    const T sum = add(own[thread], total);
                    own[thread] = sum;
                    if (i >= nc && last && to == end)
                        publish(&own_u[i - nc], sum);
                    else if (i < nc && first / width == part - 1)
                        publish(&f[i], sum);
                }
            }
        }
    }
    block.release();
}

/* -------------------------------------------------------------------------------------------- backward ---
 */

/* Columns of a narrow supernode, four a warp at a time, eight lanes a column. */
template <typename T>
__device__ __forceinline__ void narrow_backward(stream_block<T> &block, const gsv_piece &p, const T *x, T *y,
                                                T *z) {
    const int thread = threadIdx.x, lane = thread % 32, nr = p.nr, nc = p.nc, first = p.first;
    const int end = first + p.count;
    const T *own_x = x + p.first_column;
    T *own_y = y + p.first_column, *own_z = z + p.first_column;
    if (p.flags & GSV_PIECE_FIRST) {
        block.fronts++;
        T *f = block.front();
        const int32_t *rows = p.flags & GSV_PIECE_FAR
                                  ? block.plan.rows + p.row
                                  : reinterpret_cast<const int32_t *>(block.list(p.b_ptr_at));
        read_front(
            f, nr, nc, [&](int i) { return i < nc ? own_x + i : z + rows[i]; }, block.state);
        consumers_meet(); /* the front is complete */
    }
    const T *f = block.front();
    const T *panel = block.panel - (gsv_narrow_column(nr, first) + first);
    T sum[2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int group = thread / 32 * 4 + 16 * q, j = group + lane / 8;
        sum[q] = make<T>(0);
        if (group >= first && group < end && j < nc) {
            const T *column = panel + gsv_narrow_column(nr, j);
#pragma unroll 4
            for (int i = group / 8 * 8 + lane % 8; i < nr; i += 8)
                if (i >= j)
                    sum[q] = multiply_add(sum[q], conjugate(column[i]), f[i]);
        }
    }
    block.release();
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const int group = thread / 32 * 4 + 16 * q, j = group + lane / 8;
        if (group >= first && group < end) {
            int result = 0;
            reduce_lanes<T, 1, 4>::run(&sum[q], lane, result);
            if (lane % 8 == 0 && j < nc) {
                publish(&own_z[j], sum[q]);
                own_y[j] = sum[q];
            }
        }
    }
}

/* Block rows of sixteen columns, from the last up: a thread has a row of the tiles and columns j and j + 8;
 * every other block row is of another sum, counted from the last. acc: column by column, even and odd. */
template <typename T>
__device__ __forceinline__ void columns_backward(stream_block<T> &block, const gsv_piece &p, int parts,
                                                 const T *x, T *y, T *z, T (&acc)[4]) {
    const int thread = threadIdx.x, nr = p.nr, nc = p.nc, count = p.count, start = GSV_TILE * p.first;
    const int left = 16 * p.place;
    int own_end = nc; /* rows before it have x, those from it on their solution */
    if (parts > 1) {
        const int width = gsv_part_columns(nc, parts), part_end = (left / width + 1) * width;
        own_end = part_end < nc ? part_end : nc;
    }
    const T *own_x = x + p.first_column;
    if (p.flags & GSV_PIECE_FIRST)
#pragma unroll
        for (int k = 0; k < 4; k++)
            acc[k] = make<T>(0);
    block.fronts++;
    T *f = block.front();
    const int32_t *rows = p.flags & GSV_PIECE_FAR ? block.plan.rows + p.row + start
                                                  : reinterpret_cast<const int32_t *>(block.list(p.b_ptr_at));
    const int rest = nr - start < GSV_TILE * count ? nr - start : GSV_TILE * count;
    read_front(
        f, rest, own_end - start,
        [&](int k) { return start + k < own_end ? own_x + start + k : z + rows[k]; }, block.state);
    for (int k = rest + thread; k < GSV_TILE * count; k += STREAM_THREADS)
        f[k] = make<T>(0);
    consumers_meet(); /* the front is complete */
    {
        const T *at = block.panel + thread, *v = f + thread % 16;
        int b = count - 1; /* a full piece has an even number of block rows: the last one is always even */
        at += 256 * b;
        v += 16 * b;
#pragma unroll 2
        for (; b > 0; b -= 2) {
            const T v0 = v[0], v1 = v[-16];
#pragma unroll
            for (int c = 0; c < 2; c++) {
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v0);
                acc[2 * c + 1] = multiply_add(acc[2 * c + 1], conjugate(at[128 * c - 256]), v1);
            }
            at -= 512;
            v -= 32;
        }
        if (b == 0)
#pragma unroll
            for (int c = 0; c < 2; c++)
                acc[2 * c] = multiply_add(acc[2 * c], conjugate(at[128 * c]), v[0]);
    }
    const bool last = p.flags & GSV_PIECE_LAST;
    const int64_t first_column = p.first_column;
    block.release();
    if (last) {
        /* sums over the sixteen rows, then even and odd: lane bit 3 comes to say which column, bit 2 which of
         * the two */
        int result = 0;
        reduce_lanes<T, 4, 8>::run(acc, thread % 16, result);
        const T total = add(acc[0], shuffle_xor(acc[0], 4));
        const int column = left + thread / 16 + 8 * (result / 2);
        if (thread % 8 == 0 && column < nc) {
            publish(&z[first_column + column], total);
            y[first_column + column] = total;
        }
    }
}

/* Forward: from = y, to = x, published = f. Backward: from = x, to = y, published = z. */
template <typename T, bool BACKWARD>
__global__ void __launch_bounds__(STREAM_BLOCK, stream_room<T>::BLOCKS)
    stream_kernel(gsv_device_plan plan, gsv_device_pieces list, const T *from, T *to, T *u, T *published,
                  gsv_stream_state *state) {
#if __CUDA_ARCH__ >= 900
    typedef stream_room<T> room;
    extern __shared__ int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    ring slots = {memory, reinterpret_cast<uint64_t *>(memory + room::BARRIERS),
                  reinterpret_cast<uint64_t *>(memory + room::BARRIERS) + room::SLOTS};
    if (threadIdx.x == 0) {
        for (int k = 0; k < room::SLOTS; k++) {
            barrier_init(&slots.full[k], 1);
            barrier_init(&slots.empty[k], STREAM_WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads(); /* the barriers are ready */
    if (threadIdx.x >= STREAM_THREADS) {
        produce<T, BACKWARD>(plan, list, state, slots);
        return;
    }
    stream_block<T> block = {plan, state, u, list.upper, memory, 0, 0, 0, nullptr, nullptr, nullptr};
    T acc[4] = {make<T>(0), make<T>(0), make<T>(0), make<T>(0)};
    wait_for_vectors();
    for (int n = 0;; n++) {
        const char *slot = memory + n % room::SLOTS * room::SLOT;
        barrier_wait(&slots.full[n % room::SLOTS], n / room::SLOTS & 1);
        const stream_header &header = *reinterpret_cast<const stream_header *>(slot);
        const gsv_piece &p = header.piece;
        const int kind = p.kind;
        if (kind == GSV_NO_PIECE)
            break;
        block.lists = slot + room::HEADER;
        block.panel = reinterpret_cast<const T *>(block.lists + GSV_PIECE_LISTS + header.shift);
        block.empty = &slots.empty[n % room::SLOTS];
        if constexpr (BACKWARD) {
            if (kind == GSV_NARROW_PIECE)
                narrow_backward<T>(block, p, from, to, published);
            else
                columns_backward<T>(block, p, header.parts, from, to, published, acc);
        } else {
            if (kind == GSV_NARROW_PIECE) {
                narrow_forward<T>(block, p, from, to, u, reinterpret_cast<T(&)[2]>(acc));
            } else if (kind == GSV_TILES_PIECE) {
                tiles_forward<T>(block, p, from, to, u);
            } else {
                row_sums<T> &sums = reinterpret_cast<row_sums<T> &>(acc);
                if (header.parts > 1 || p.nc > GSV_FOLD_COLUMNS)
                    row_forward_published<T>(block, p, header.parts, from, to, u, published, sums);
                else
                    row_forward<T>(block, p, from, to, u, sums);
            }
        }
    }
#endif
}

} // namespace gsv
#endif
