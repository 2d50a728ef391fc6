/*
 * The ring of slots in a block's shared memory, and the warp that fills it (cuda/stream/one.cuh): bulk copies
 * that complete on a slot's mbarrier `full`; the readers give a slot back on its `empty`.
 */
#ifndef GSV_CUDA_STREAM_RING_CUH
#define GSV_CUDA_STREAM_RING_CUH

#include <type_traits>

#include "../../../dense_kernels/kept.cuh"
#include "../../../dense_kernels/overlap.cuh"
#include "../shared/gather.cuh"
#include "../shared/l2.cuh"

namespace gsv {

enum { STREAM_THREADS = 128, STREAM_WARPS = STREAM_THREADS / 32, STREAM_BLOCK = STREAM_THREADS + 32 };

/* A block's shared memory, in bytes, for numbers N. What is copied stands in its lines as it does in memory: so a slot begins
 * with one, and has room for one more than it copies. */
template <typename N> struct stream_room {
    typedef panel_number<N> P;
    typedef vector_number<N> T;
    static const bool PRODUCER_FENCES = false; /* what others write in a slot: they write nothing */
    static const int COPIES = 1;               /* of block_runs: there are none */
    static const int HEADER = 128;             /* stream_header */
    static const bool MIXED = sizeof(P) < sizeof(T);
    static const int NUMBERS = MIXED && sizeof(P) == sizeof(float) ? GSV_PIECE_FLOATS : GSV_PIECE_NUMBERS;
    static const int SLOT = HEADER + GSV_PIECE_LISTS + NUMBERS * int(sizeof(P)) + SHARED_LINE;
    static_assert(SLOT % SHARED_LINE == 0 && (HEADER + GSV_PIECE_LISTS) % SHARED_LINE == 0, "whole lines");
    static const int BLOCKS = sizeof(T) < 16 ? 3 : MIXED ? 2 : 1; /* of an SM */
    static const int SLOTS = sizeof(T) < 16 || MIXED ? 2 : 3;
    static const int FRONT_ROWS = GSV_PIECE_ROWS;    /* that a backward piece reads, at most */
    static const int PUBLISHED = NUMBERS / GSV_TILE; /* rows of a published front, the same forward */
    static const int KEPT_ROWS = GSV_FOLD_COLUMNS;   /* of a task's front, which its pieces share */
    static const int FRONT = SLOTS * SLOT;           /* 2 x KEPT_ROWS numbers */
    static const int OWN = FRONT + 2 * KEPT_ROWS * int(sizeof(T)); /* 2 x 128 */
    static const int PARTIAL = OWN + 2 * 128 * int(sizeof(T));     /* 2 x 128 */
    static const int TERMS = PARTIAL + 2 * 128 * int(sizeof(T));   /* of GSV_PIECE_LISTS / 4 entries */
    static const int BARRIERS = TERMS + GSV_PIECE_LISTS / 4 * int(sizeof(T));
    static const int STAGE = BARRIERS + 3 * SLOTS * 8; /* HEADER */
    static const int BYTES = STAGE + HEADER;
};

struct stream_header {
    gsv_piece piece;
    int32_t shift; /* bytes from the start of the slot's panel to the piece's first number */
};

/* ------------------------------------------------------------------------------------------ mbarriers --- */

__device__ __forceinline__ unsigned shared_address(const void *at) {
    return unsigned(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void barrier_init(uint64_t *barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count)
                 : "memory");
}

/* After all of them, and before a copy arrives at one. */
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* In a build with GSV_TARRY a warp that has arrived at a barrier waits, some warps longer than others. If it still reads a
 * slot that it has given back, what it reads is another piece's by then, and a test fails (tests/README.md). */
__device__ __forceinline__ void tarry() {
#ifdef GSV_TARRY
    __nanosleep(1500 + (clock() / 64 + threadIdx.x / 32) % 8 * 250);
#endif
}

__device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/* Arrive, for a warp that has read, or written: one lane does. compute-sanitizer's racecheck does not take that for
 * an order, and reports every slot that is used again, in the smallest ring too. In a build for it, GSV_RACECHECK,
 * all lanes arrive (tests/README.md). */
#ifdef GSV_RACECHECK
enum { ARRIVALS = 32 };
#else
enum { ARRIVALS = 1 };
#endif

__device__ __forceinline__ void arrive_warp(uint64_t *barrier) {
    __syncwarp();
    if (threadIdx.x % 32 < ARRIVALS)
        barrier_arrive(barrier);
    tarry();
}

/* Expect `bytes` bytes in this phase. */
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

/* Is this phase over? Does not wait for it. */
__device__ __forceinline__ bool barrier_is_over(uint64_t *barrier, unsigned parity) {
    unsigned over;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}\n"
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
    return over;
}

/* What this thread has written in a slot, or knows that others have, comes before what is copied there next, by this
 * thread or by whoever knows that this one has come here. */
__device__ __forceinline__ void before_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* bytes and both addresses are multiples of 16. */
__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

/* The same of what is transient in L2, or not. A policy for what is not makes large factors slower. */
__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier,
                                          bool transient) {
    if (!transient) {
        bulk_copy(to, from, bytes, barrier);
        return;
    }
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
        "[%3], %4;" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(l2_first())
        : "memory");
}

/* --------------------------------------------------------------------------------------- the producer --- */

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

/* Where a piece's numbers begin in the room for them, if they are one range; else at its beginning. */
template <typename P>
__device__ __forceinline__ int shift_of(const gsv_device_plan &plan, const gsv_piece &p) {
    if (p.kind == GSV_BLOCK_PIECE || p.kind == GSV_COLUMNS_PIECE || p.kind == GSV_SHARE_PIECE)
        return 0;
    return int(reinterpret_cast<uintptr_t>(static_cast<const P *>(plan.panels) + p.panel) % SHARED_LINE);
}

/*
 * How columns of block rows stand in a slot: in four runs of `length` columns. A warp reads one column of each run at
 * a time, sixteen bytes a lane. COPIES copies bring them, each for all groups one after the other, with a gap between copies.
 * Four copies, one run each, would use all banks; two copies, whose two runs share banks, are fewer instructions.
 */
template <int COPIES> struct block_runs {
    static const int EACH = 4 / COPIES; /* runs of a copy */
    int length;                         /* columns of a run; the last ones may have fewer */
    int apart;                          /* numbers from one copy to the next */
    __device__ __forceinline__ explicit block_runs(const gsv_piece &p)
        : length((p.count + 3) / 4), apart(GSV_TILE * p.groups * EACH * length + 4) {}
    /* Where the front's row for column i of the piece stands: rows for columns read together follow each other. */
    __device__ __forceinline__ int place(int i) const {
        const int run = (i >= length) + (i >= 2 * length) + (i >= 3 * length);
        return 4 * (i - run * length) + run;
    }
    /* Where a group's numbers of a run begin. */
    __device__ __forceinline__ int start(int run, int group) const {
        return run / EACH * apart + GSV_TILE * length * (group * EACH + run % EACH);
    }
};

/* What lane `lane` of the producer copies for a piece: at most one range. */
template <typename P, bool BACKWARD, int COPIES>
__device__ __forceinline__ unsigned range_of_lane(const gsv_device_plan &plan, const gsv_piece &p, int lane,
                                                  char *slot, char *&to, const char *&from) {
    char *lists = slot + stream_room<P>::HEADER, *panel = lists + GSV_PIECE_LISTS;
    const P *panels = static_cast<const P *>(plan.panels) + p.panel;
    widened range(nullptr, 0);
    to = panel;
    if (lane < 16) {
        if (p.kind == GSV_BLOCK_PIECE) {
            /* forward: a run of a block row's columns; backward: the groups' columns of one block row */
            const block_runs<COPIES> runs(p);
            const int each = block_runs<COPIES>::EACH * runs.length;
            const int k = BACKWARD ? lane : lane / 4, group = BACKWARD ? 0 : lane % 4;
            const int row = BACKWARD ? p.first + k : p.place + group;
            const int left = BACKWARD ? 16 * p.place : p.first + k * each;
            const int most = BACKWARD ? 16 * p.groups : min(each, p.count - k * each);
            if ((BACKWARD ? k < p.count : k < COPIES && group < p.groups) && GSV_TILE * row < p.nr) {
                const int columns = gsv_block_row_columns(p.nc, row) - left;
                const int live = columns < most ? columns : most;
                range = widened(panels + gsv_block_row_start(p.nc, row) + GSV_TILE * left,
                                live * GSV_TILE * int(sizeof(P)));
                to = panel + sizeof(P) * (BACKWARD ? int64_t(k) * most * GSV_TILE
                                                   : runs.start(k * block_runs<COPIES>::EACH, group));
            }
        } else if (lane == 0 && p.kind != GSV_COLUMNS_PIECE) {
            range = widened(panels, p.numbers * int(sizeof(P)));
            to += reinterpret_cast<uintptr_t>(range.from) % SHARED_LINE;
        }
    } else if (lane < 20 && !(p.flags & GSV_PIECE_FAR)) {
        const bool b = lane >= 18, gather = lane & 1;
        const int rows = b ? p.b_rows : p.a_rows;
        if (rows > 0 && !(BACKWARD && lane != 18)) {
            if (gather)
                range =
                    widened(plan.gather + (b ? p.b_gather : p.a_gather), 4 * (b ? p.b_gathers : p.a_gathers));
            else if (BACKWARD)
                range = widened(plan.upper_rows + p.row + p.b_first, 4 * rows);
            else
                range = widened(plan.gather_ptr + p.row + (b ? p.b_first : p.a_first), 4 * (rows + 1));
            const int at = gather ? (b ? p.b_gather_at : p.a_gather_at) : (b ? p.b_ptr_at : p.a_ptr_at);
            to = lists + at / 16 * 16;
        }
    }
    from = range.from;
    return range.bytes;
}

/* Bytes of one block row of a piece of a few columns, or of what there is of them. */
template <typename P> __device__ __forceinline__ unsigned column_bytes(const gsv_piece &p) {
    return (p.nc - p.left < p.width ? p.nc - p.left : p.width) * 16 * unsigned(sizeof(P));
}

/* And its copies, by the lanes in turn. */
template <typename P>
__device__ __forceinline__ void copy_columns_warp(const gsv_device_plan &plan, const gsv_piece &p, char *slot,
                                                  int lane, uint64_t *full, bool transient) {
    const P *panels = static_cast<const P *>(plan.panels) + p.panel;
    P *panel = reinterpret_cast<P *>(slot + stream_room<P>::HEADER + GSV_PIECE_LISTS);
    for (int b = lane; b < p.count; b += 32)
        bulk_copy(panel + b * 16 * p.width,
                  panels + gsv_block_row_start(p.nc, p.first + b * p.groups) + 16 * int64_t(p.left),
                  column_bytes<P>(p), full, transient);
}

/* A task has 1 << share_shift of each sixteen columns of a shared block row: eight or four; */
__device__ __forceinline__ int share_shift(const gsv_piece &p) {
    return p.groups == 2 ? 3 : 2;
}

/* how many it has of `columns` side by side. */
__device__ __forceinline__ int shared_columns(const gsv_piece &p, int columns) {
    const int shift = share_shift(p), each = 1 << shift, rest = columns % GSV_TILE - p.left;
    return (columns / GSV_TILE << shift) + (rest < 0 ? 0 : rest < each ? rest : each);
}

/* And its copies: sixteen rows of a few columns each. */
template <typename P>
__device__ __forceinline__ void copy_share_warp(const gsv_device_plan &plan, const gsv_piece &p, char *slot,
                                                int lane, uint64_t *full, bool transient) {
    const int each = 1 << share_shift(p);
    const P *panels = static_cast<const P *>(plan.panels) + p.panel;
    P *panel = reinterpret_cast<P *>(slot + stream_room<P>::HEADER + GSV_PIECE_LISTS);
    for (int g = lane; GSV_TILE * g + p.left < p.count; g += 32) {
        const int left = p.count - GSV_TILE * g - p.left, live = left < each ? left : each;
        bulk_copy(panel + GSV_TILE * each * g, panels + GSV_TILE * GSV_TILE * g,
                  live * GSV_TILE * int(sizeof(P)), full, transient);
    }
}

/* The ring of a block. */
struct ring {
    char *slots;
    uint64_t *full, *empty, *begun; /* of piece n: n mod SLOTS; begun: its vector is complete */
    char *stage;                    /* stream_room::HEADER bytes of the producer's own */
    uint64_t *listed; /* if not NULL: the header and the lists are there; full is for the panel alone */
};

/* The last warp's work: all pieces of all tasks that this block takes, and then one that says that it is
 * over. Unless there is a crowd of them, a task is taken only when there is room for its first piece, and, if
 * there are few, when no piece is left that waits: a block that took more would take them from blocks that
 * have nothing to do. */
template <typename N, bool BACKWARD, typename Room = stream_room<N>>
__device__ void produce(const gsv_device_plan &plan, const gsv_device_pieces &list, gsv_stream_state *state,
                        const ring &ring) {
    typedef Room room;
    typedef panel_number<N> P;
    constexpr int WORDS = sizeof(gsv_piece) / 8;
    constexpr int LATER = 300; /* tasks: about as many as blocks take in turn */
    /* the next sweep's blocks may start where this one's have left, and bring their first pieces */
    let_next_kernel_start();
    const int lane = threadIdx.x % 32;
    const bool transient =
        std::is_same<Room, stream_room<N>>::value ? plan.transient_for_one : plan.transient;
    int *ticket = BACKWARD ? &state->backward : &state->forward;
    const uint64_t *pieces = reinterpret_cast<const uint64_t *>(list.piece);
    auto words = [&](int piece) {
        return lane < WORDS ? __ldg(pieces + int64_t(piece) * WORDS + lane) : uint64_t(0);
    };
    /* a task's record is small, and memory is far: prefetch it into L2 for the block that takes the task */
    auto let_l2_have = [&](int task) {
        if (task < list.tasks && lane < 2)
            prefetch(lane == 0 ? static_cast<const void *>(pieces + int64_t(task) * WORDS)
                               : &list.task[task]);
    };
    /* not add, for which the assembler adds up what the lanes want and waits for the answer at once */
    auto take = [&]() {
        int taken = 0;
        if (lane == 0)
            asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff;"
                         : "=r"(taken)
                         : "l"(ticket)
                         : "memory");
        return taken;
    };
    int n = 0;
    auto wait_for_room = [&]() {
        barrier_wait(&ring.empty[n % room::SLOTS], (n / room::SLOTS & 1) ^ 1);
        /* over by then, but every phase of a barrier is to be waited for */
        if (!ring.listed && n >= room::SLOTS)
            barrier_wait(&ring.begun[n % room::SLOTS], (n / room::SLOTS & 1) ^ 1);
    };
    const gsv_piece &p = *reinterpret_cast<const gsv_piece *>(ring.stage);
    int next = 0;
    bool ahead = false; /* next is taken, or on its way */
    bool alone = false; /* not before the last piece has begun */
    /* of the next task: its first piece, and where the others stand */
    int task = 0, more = 0;
    uint64_t first = 0;
    auto look_up = [&]() {
        task = __shfl_sync(~0u, next, 0);
        if (task >= list.tasks)
            return;
        first = words(task);
        more = lane < 2 ? __ldg(&list.task[task + lane]) : 0;
        let_l2_have(task + LATER);
    };
    for (;;) {
        if (alone)
            barrier_wait(&ring.begun[(n - 1) % room::SLOTS], (n - 1) / room::SLOTS & 1);
        if (!ahead) {
            wait_for_room();
            next = take();
            look_up();
        }
        if (task >= list.tasks)
            break;
        uint64_t word = first;
        const int second = __shfl_sync(~0u, more, 0), end = __shfl_sync(~0u, more, 1);
        for (int at = second; at <= end; at++, n++) { /* all but the first piece stand side by side */
            /* whatever can be known of the piece is known before there is room for it */
            char *slot = ring.slots + n % room::SLOTS * room::SLOT;
            stream_header *header = reinterpret_cast<stream_header *>(slot);
            const uint64_t own = word;
            __syncwarp(); /* the piece before has been read */
            if (lane < WORDS)
                reinterpret_cast<uint64_t *>(ring.stage)[lane] = own;
            __syncwarp();
            if (at < end)
                word = words(at);
            if (at == second) {
                ahead = p.flags & GSV_PIECE_CROWD;
                alone = p.flags & GSV_PIECE_ALONE;
            }
            if (ahead && at == end)
                next = take();
            char *to = nullptr;
            const char *from = nullptr;
            const unsigned bytes = range_of_lane<P, BACKWARD, Room::COPIES>(plan, p, lane, slot, to, from);
            const bool is_list = lane >= 16 && ring.listed;
            const unsigned lists = ring.listed ? __reduce_add_sync(~0u, is_list ? bytes : 0) : 0;
            unsigned total = __reduce_add_sync(~0u, is_list ? 0 : bytes);
            const bool columns = BACKWARD && p.kind == GSV_COLUMNS_PIECE;
            const bool share = !BACKWARD && p.kind == GSV_SHARE_PIECE;
            if (columns)
                total += p.count * column_bytes<P>(p);
            if (share)
                total += shared_columns(p, p.count) * GSV_TILE * int(sizeof(P));
            uint64_t *full = &ring.full[n % room::SLOTS];
            wait_for_room();
            if (Room::PRODUCER_FENCES)
                before_copies();
            if (at == end && ahead)
                look_up(); /* while this piece is on its way */
            if (lane < WORDS)
                reinterpret_cast<uint64_t *>(&header->piece)[lane] = own;
            if (lane == 0) {
                header->shift = shift_of<P>(plan, p);
                barrier_expect(full, total);
                if (ring.listed)
                    barrier_expect(&ring.listed[n % room::SLOTS], lists);
            }
            __syncwarp();
            if (bytes > 0 && is_list)
                bulk_copy(to, from, bytes, &ring.listed[n % room::SLOTS], transient);
            if (bytes > 0 && !is_list)
                bulk_copy(to, from, bytes, full, transient);
            if (columns)
                copy_columns_warp<P>(plan, p, slot, lane, full, transient);
            if (share)
                copy_share_warp<P>(plan, p, slot, lane, full, transient);
            if (lane < ARRIVALS) {
                if (ring.listed)
                    barrier_arrive(&ring.listed[n % room::SLOTS]);
                barrier_arrive(full);
            }
        }
    }
    wait_for_room();
    if (lane == 0)
        reinterpret_cast<stream_header *>(ring.slots + n % room::SLOTS * room::SLOT)->piece.kind =
            GSV_NO_PIECE;
    if (lane < ARRIVALS) {
        barrier_arrive(&ring.full[n % room::SLOTS]);
        if (ring.listed)
            barrier_arrive(&ring.listed[n % room::SLOTS]);
    }
    if (lane == 0) {
        int *left = BACKWARD ? &state->backward_left : &state->forward_left;
        if (atomicAdd(left, 1) == int(gridDim.x) - 1) {
            *left = 0;
            *ticket = 0;
        }
    }
}

} // namespace gsv
#endif
