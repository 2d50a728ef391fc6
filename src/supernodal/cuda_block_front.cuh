/*
 * The assembly of fronts for a block of right-hand sides (cuda_block_stream.cuh): the warps of a block that
 * gather, and what they leave in shared memory for those that multiply.
 */
#ifndef GSV_CUDA_BLOCK_FRONT_CUH
#define GSV_CUDA_BLOCK_FRONT_CUH

#include "../dense_kernels/fragment.cuh"
#include "cuda_stream_front.cuh"

namespace gsv {

/*
 * A block's shared memory, in bytes: a ring of slots, which have a piece, its front and, of the first piece of
 * a task, the rows that the results are added to; and room for update rows.
 */
template <int NR> struct block_room {
    static const int WARPS = 4, THREADS = 32 * WARPS; /* that multiply; as many gather */
    static const int BLOCK = 2 * THREADS + 32;        /* and one warp brings pieces */
    static const int BLOCKS = NR == 8 ? 3 : 2;        /* of an SM */
    static const int HEADER = stream_room<double>::HEADER;
    static const int PANEL = HEADER + GSV_PIECE_LISTS;
    static const int PAYLOAD = GSV_BLOCK_ROOM + GSV_BLOCK_ROOM_ROWS * (NR - 8) * 8 + SHARED_LINE;
    static const int SLOT = PANEL + PAYLOAD, SLOTS = 2;
    static const int STAGED = 96; /* update rows */
    static const int STAGE_ROWS = SLOTS * SLOT;
    static const int BARRIERS = STAGE_ROWS + STAGED * NR * 8;
    static const int STAGE = BARRIERS + 4 * SLOTS * 8;
    static const int BYTES = STAGE + HEADER;
};

/* The warps that multiply meet, or those that gather. */
template <int ID> __device__ __forceinline__ void block_meets() {
    asm volatile("barrier.sync %0, 128;" ::"n"(ID) : "memory");
}
enum { MULTIPLIERS = 1, GATHERERS = 2 };

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

/* Lists of what the children owe rows of a front: gather[ptr[k]] .. gather[ptr[k + 1] - 1] is owed row k. */
struct owed_rows {
    const uint32_t *ptr, *gather;
};

/* Some of a piece's entries of such lists: those of list a, and then of list b, counted from zero. */
struct owed_entries {
    const uint32_t *a, *b; /* the first of each */
    int of_a, of_all;
};

/* A piece in its slot. */
template <int NR> struct block_slot {
    typedef block_room<NR> room;
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

/* A row of a front, where it comes from: NULL for zeros; polled: it may be absent yet. */
struct front_row {
    const double *at;
    bool polled;
};

/* A thread of 128 that gather: its first row, the others are STEP apart, and the first of its two right-hand
 * sides. */
template <int NR> struct gather_thread {
    static const int PAIRS = NR / 2, STEP = 128 / PAIRS;
    static __device__ __forceinline__ int own() {
        return int(threadIdx.x) % 128 / PAIRS;
    }
    static __device__ __forceinline__ int pair() {
        return 2 * (int(threadIdx.x) % PAIRS);
    }
};

/*
 * Up to EACH rows of a front for each thread, in steps of STEP from its own first one, two right-hand
 * sides of each: requested all together, and asked for again, all that are absent, until they are there.
 */
template <int NR, int EACH> struct front_reader {
    typedef gather_thread<NR> thread;
    static const int STEP = thread::STEP;
    double value[EACH][2];

    template <typename From> __device__ __forceinline__ void request(int base, int count, From from) {
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int row = base + thread::own() + q * STEP;
            value[q][0] = value[q][1] = 0;
            if (row < count) {
                const front_row r = from(row);
                if (r.at)
                    load_relaxed16(r.at + thread::pair(), value[q]);
            }
        }
    }
    template <typename From>
    __device__ __forceinline__ bool lacks(int q, int base, int count, From from) const {
        const int row = base + thread::own() + q * STEP;
        return is_absent(value[q]) && row < count && from(row).polled;
    }
    template <typename From>
    __device__ __forceinline__ void wait(int base, int count, From from, gsv_stream_state *state) {
        poll(
            [&]() {
                bool any = false;
#pragma unroll
                for (int q = 0; q < EACH; q++)
                    any |= lacks(q, base, count, from);
                return any;
            },
            [&](bool stop) {
#pragma unroll
                for (int q = 0; q < EACH; q++)
                    if (lacks(q, base, count, from)) {
                        if (stop)
                            value[q][0] = value[q][1] = not_a_number<double>();
                        else
                            load_relaxed16(from(base + thread::own() + q * STEP).at + thread::pair(),
                                           value[q]);
                    }
            },
            state);
    }
    /* place(row): which row of the front that is */
    template <typename Place>
    __device__ __forceinline__ void store(int base, int count, double *front, Place place) const {
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            const int row = base + thread::own() + q * STEP;
            if (row < count)
                store_pair(front + front_place<NR>(place(row), thread::pair()), value[q][0], value[q][1]);
        }
    }
};

/* Rows that follow each other, all of them published: the same, with fewer instructions. */
template <int NR> struct published_rows_reader {
    static const int EACH = (160 * NR / 2 + 127) / 128;
    double value[EACH][2];
    static __device__ __forceinline__ int place(int q) {
        return int(threadIdx.x) % 128 + 128 * q;
    }
    __device__ __forceinline__ void request(const double *from, int count) {
        const double *at = from + 2 * place(0);
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q][0] = value[q][1] = 0;
            if (place(q) < count * (NR / 2))
                load_relaxed16(at + 256 * q, value[q]);
        }
    }
    __device__ __forceinline__ void finish(const double *from, int count, const block_runs &runs,
                                           double *front, gsv_stream_state *state) {
        /* what was not asked for is zero */
        poll(
            [&]() {
                bool any = false;
#pragma unroll
                for (int q = 0; q < EACH; q++)
                    any |= is_absent(value[q]);
                return any;
            },
            [&](bool stop) {
                const double *at = from + 2 * place(0);
#pragma unroll
                for (int q = 0; q < EACH; q++)
                    if (is_absent(value[q])) {
                        if (stop)
                            value[q][0] = value[q][1] = not_a_number<double>();
                        else
                            load_relaxed16(at + 256 * q, value[q]);
                    }
            },
            state);
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (place(q) < count * (NR / 2))
                store_pair(front +
                               front_place<NR>(runs.place(place(q) / (NR / 2)), 2 * (place(q) % (NR / 2))),
                           value[q][0], value[q][1]);
    }
};

/* What the warps that gather share and keep from piece to piece. */
template <int NR> struct block_gather {
    typedef block_room<NR> room;
    typedef gather_thread<NR> thread;
    static const int STEP = thread::STEP, STAGED = room::STAGED, ITEMS = STAGED / STEP;
    static const int EACH = (160 + STEP - 1) / STEP; /* rows of a front, of a thread */
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
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            const int e = first + thread::own() + j * STEP;
            place[j] = ~0u;
            if (e < owed.of_all) {
                place[j] = e < owed.of_a ? owed.a[e] : owed.b[e - owed.of_a];
                load_relaxed16(from + int64_t(place[j]) * NR, value[j]);
            }
        }
        poll(
            [&]() {
                bool any = false;
#pragma unroll
                for (int j = 0; j < ITEMS; j++)
                    any |= place[j] < upper && is_absent(value[j]);
                return any;
            },
            [&](bool stop) {
#pragma unroll
                for (int j = 0; j < ITEMS; j++)
                    if (place[j] < upper && is_absent(value[j])) {
                        if (stop)
                            value[j][0] = value[j][1] = not_a_number<double>();
                        else
                            load_relaxed16(from + int64_t(place[j]) * NR, value[j]);
                    }
            },
            state);
        block_meets<GATHERERS>(); /* everybody has read what was staged before */
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            if (place[j] != ~0u)
                store_pair(staged + (thread::own() + j * STEP) * NR + thread::pair(), value[j][0],
                           value[j][1]);
        block_meets<GATHERERS>(); /* what is staged is there */
    }

    /* sum += what is staged of entries begin .. end - 1, in this order. */
    __device__ __forceinline__ void add_staged(double (&sum)[2], int begin, int end, int first) const {
        const int last = end < first + STAGED ? end : first + STAGED;
        begin = begin > first ? begin : first;
        const double *term = staged + (begin - first) * NR + thread::pair();
        for (; begin < last; begin++, term += NR) {
            double two[2];
            load_pair(term, two);
            sum[0] += two[0];
            sum[1] += two[1];
        }
    }
};

/* List b of a piece, at most 64 rows: calls keep(row, sum) for each of 64 rows with what it is owed, and, before
 * `columns`, with the right-hand side, from y on. Of more rows than there are the sums are zeros. */
template <int NR, typename Keep>
__device__ __forceinline__ void gather_owed(const block_gather<NR> &block, const block_slot<NR> &slot,
                                            const double *y, int columns, Keep keep) {
    typedef block_gather<NR> shape;
    constexpr int OWN = GSV_TILE * GSV_GROUPS / shape::STEP;
    const gsv_piece &p = slot.piece();
    const int pair = gather_thread<NR>::pair(), mine = gather_thread<NR>::own();
    const owed_rows b = slot.owed(block.plan, true);
    const uint32_t b_start = b.ptr[0];
    const owed_entries owed = {nullptr, b.gather + b_start, 0, int(b.ptr[p.b_rows] - b_start)};
    double sum[OWN][2];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const int row = mine + k * shape::STEP;
        sum[k][0] = sum[k][1] = 0;
        if (row < p.b_rows && row < columns)
            load_pair(y + int64_t(row) * NR + pair, sum[k]);
    }
    for (int staged = 0; staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < OWN; k++) {
            const int row = mine + k * shape::STEP;
            if (row < p.b_rows)
                block.add_staged(sum[k], int(b.ptr[row] - b_start), int(b.ptr[row + 1] - b_start), staged);
        }
    }
#pragma unroll
    for (int k = 0; k < OWN; k++)
        keep(mine + k * shape::STEP, sum[k]);
}

/* The rows that each task assembles: those that it multiplies with, of a triangle of few columns, and those
 * that its results are added to. */
template <int NR>
__device__ __forceinline__ void gather_folded(const block_gather<NR> &block, const block_slot<NR> &slot,
                                              const double *y) {
    typedef block_gather<NR> shape;
    constexpr int EACH = (GSV_FOLDED + shape::STEP - 1) / shape::STEP, OWN = 64 / shape::STEP;
    const gsv_piece &p = slot.piece();
    const block_runs runs(p);
    const int pair = gather_thread<NR>::pair(), mine = gather_thread<NR>::own();
    const int above = p.nc - GSV_TILE * p.place;
    const bool b_now = p.flags & GSV_PIECE_FIRST;
    const int b_least = b_now ? above < 0 ? 0 : above < p.b_rows ? above : p.b_rows : p.b_rows;
    const owed_rows a = slot.owed(block.plan, false), b = slot.owed(block.plan, true);
    double *front = slot.front(slot.numbers(p, false)), *own = slot.own(front, p);
    const double *own_y = y + int64_t(p.first_column + p.first) * NR + pair;
    double right[EACH][2];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        right[k][0] = right[k][1] = 0;
        if (mine + k * shape::STEP < p.count)
            load_pair(own_y + int64_t(mine + k * shape::STEP) * NR, right[k]);
    }
    const uint32_t a_start = a.ptr[0], b_start = b_now ? b.ptr[b_least] : 0;
    const int of_a = int(a.ptr[p.count] - a_start);
    const owed_entries owed = {a.gather + a_start, b.gather + b_start, of_a,
                               of_a + (b_now ? int(b.ptr[p.b_rows] - b_start) : 0)};
    for (int staged = 0; staged == 0 || staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int row = mine + k * shape::STEP;
            if (row < p.count)
                block.add_staged(right[k], int(a.ptr[row] - a_start), int(a.ptr[row + 1] - a_start), staged);
        }
        if (b_now)
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const int row = mine + k * shape::STEP;
                double sum[2] = {0, 0};
                double *to = own + front_place<NR>(row, pair);
                if (row < GSV_TILE * p.groups) {
                    if (staged > 0)
                        load_pair(to, sum);
                    if (row >= b_least && row < p.b_rows)
                        block.add_staged(sum, int(b.ptr[row] - b_start) + of_a,
                                         int(b.ptr[row + 1] - b_start) + of_a, staged);
                    store_pair(to, sum[0], sum[1]);
                }
            }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (mine + k * shape::STEP < p.count)
            store_pair(front + front_place<NR>(runs.place(mine + k * shape::STEP), pair), right[k][0],
                       right[k][1]);
}

/* Of a triangle of many columns some tasks assemble the rows, and publish them; every other task reads them there. */
template <int NR>
__device__ __forceinline__ void gather_front(const block_gather<NR> &block, const block_slot<NR> &slot,
                                             const double *y, double *published) {
    const gsv_piece &p = slot.piece();
    if (!(p.flags & GSV_PIECE_PUBLISHES))
        return;
    double *f = published + (int64_t(p.published) + p.b_first) * NR + gather_thread<NR>::pair();
    gather_owed<NR>(block, slot, y + int64_t(p.first_column + p.b_first) * NR, p.b_rows,
                    [&](int row, const double(&sum)[2]) {
                        if (row < p.b_rows)
                            publish_pair(f + int64_t(row) * NR, sum[0], sum[1]);
                    });
}

/* What such a task multiplies with, and, for the rows below the triangle, what its results are added to. */
template <int NR>
__device__ __forceinline__ void gather_published(const block_gather<NR> &block, const block_slot<NR> &slot,
                                                 const double *published) {
    const gsv_piece &p = slot.piece();
    double *front = slot.front(slot.numbers(p, false));
    published_rows_reader<NR> reader;
    const double *from = published + (int64_t(p.published) + p.first) * NR;
    reader.request(from, p.count);
    if (p.b_rows > 0) { /* the first piece's */
        double *own = slot.own(front, p);
        const int above = p.b_first - GSV_TILE * p.place;
        gather_owed<NR>(block, slot, nullptr, 0, [&](int row, const double(&sum)[2]) {
            if (row < GSV_TILE * p.groups - above)
                store_pair(own + front_place<NR>(above + row, gather_thread<NR>::pair()), sum[0], sum[1]);
        });
        for (int row = gather_thread<NR>::own(); row < above; row += gather_thread<NR>::STEP)
            store_pair(own + front_place<NR>(row, gather_thread<NR>::pair()), 0, 0);
    }
    reader.finish(from, p.count, block_runs(p), front, block.state);
}

/* Where the triangle is inverted in parts, its rows are assembled by the tasks that have results for them. Those that
 * multiply read the front, for they wait for each other. */
template <int NR>
__device__ __forceinline__ void gather_parts(const block_gather<NR> &block, const block_slot<NR> &slot,
                                             const double *y, double *published) {
    const gsv_piece &p = slot.piece();
    if (!(p.flags & GSV_PIECE_FIRST))
        return;
    const int pair = gather_thread<NR>::pair(), nc = p.nc, top = GSV_TILE * p.place;
    const int width = gsv_part_columns(nc, slot.header().parts);
    double *own = slot.own(slot.front(slot.numbers(p, false)), p);
    double *f = published + int64_t(p.published) * NR + pair;
    gather_owed<NR>(
        block, slot, y + int64_t(p.first_column + top) * NR, nc - top, [&](int row, const double(&sum)[2]) {
            if (row >= GSV_TILE * p.groups)
                return;
            /* rows of the first part are complete */
            const bool complete = top + row < nc && (top + row) / GSV_TILE * GSV_TILE < width;
            if (complete)
                publish_pair(f + int64_t(top + row) * NR, sum[0], sum[1]);
            store_pair(own + front_place<NR>(row, pair), complete ? 0 : sum[0], complete ? 0 : sum[1]);
        });
}

/* NaNs, for all that a piece is multiplied with. */
template <int NR> __device__ __forceinline__ void gather_nothing(const block_slot<NR> &slot) {
    const gsv_piece &p = slot.piece();
    double *front = slot.front(slot.numbers(p, false));
    const int rows = (p.count + 7) / 8 * 8 + (p.flags & GSV_PIECE_FIRST ? GSV_TILE * p.groups : 0);
    for (int row = gather_thread<NR>::own(); row < rows; row += gather_thread<NR>::STEP)
        store_pair(front + front_place<NR>(row, gather_thread<NR>::pair()), not_a_number<double>(),
                   not_a_number<double>());
}

/* A narrow supernode, forward: all its rows. front: in the slot of its last piece. */
template <int NR>
__device__ __forceinline__ void gather_narrow(const block_gather<NR> &block, const block_slot<NR> &slot,
                                              double *front, const double *y) {
    typedef block_gather<NR> shape;
    constexpr int OWN = GSV_NARROW_COLUMNS / shape::STEP;
    const gsv_piece &p = slot.piece();
    const int pair = gather_thread<NR>::pair(), mine = gather_thread<NR>::own(), nr = p.nr, nc = p.nc;
    const double *own_y = y + int64_t(p.first_column) * NR + pair;
    const owed_rows b = slot.owed(block.plan, true);
    const uint32_t b_start = b.ptr[0];
    const owed_entries owed = {nullptr, b.gather + b_start, 0, int(b.ptr[nr] - b_start)};
    double right[OWN][2];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        right[k][0] = right[k][1] = 0;
        if (mine + k * shape::STEP < nc)
            load_pair(own_y + int64_t(mine + k * shape::STEP) * NR, right[k]);
    }
    auto add = [&](int row, double(&sum)[2], int staged) {
        double *to = front + front_place<NR>(row, pair);
        if (staged > 0)
            load_pair(to, sum);
        block.add_staged(sum, int(b.ptr[row] - b_start), int(b.ptr[row + 1] - b_start), staged);
        store_pair(to, sum[0], sum[1]);
    };
    for (int staged = 0; staged == 0 || staged < owed.of_all; staged += shape::STAGED) {
        block.stage(owed, staged);
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (mine + k * shape::STEP < nr)
                add(mine + k * shape::STEP, right[k], staged);
#pragma unroll 2
        for (int row = mine + OWN * shape::STEP; row < nr; row += shape::STEP) {
            double sum[2] = {0, 0};
            add(row, sum, staged);
        }
    }
}

/*
 * Backward: `count` rows of a front, of which the first `own` are in x, from own_x on, and the
 * others before `live` in z, where `rows` says, as soon as they are there; the rest are zeros.
 */
template <int NR>
__device__ __forceinline__ void gather_solution(gsv_stream_state *state, int count, int live, int own,
                                                const int32_t *rows, const double *own_x, const double *z,
                                                double *front) {
    typedef gather_thread<NR> thread;
    constexpr int STEP = thread::STEP, EACH = 160 / STEP;
    static_assert(STEP % 8 == 0, "rows a step apart stand alike");
    own_x += thread::pair();
    z += thread::pair();
    live = live < count ? live : count;
    for (int first = thread::own(); first - thread::own() < count; first += EACH * STEP) {
        double value[EACH][2];
        auto at = [&](int q) {
            const int row = first + q * STEP;
            return row < own ? own_x + int64_t(row) * NR : z + int64_t(rows[row]) * NR;
        };
#pragma unroll
        for (int q = 0; q < EACH; q++) {
            value[q][0] = value[q][1] = 0;
            if (first + q * STEP < live)
                load_relaxed16(at(q), value[q]);
        }
        /* what was not asked for is zero */
        auto lacks = [&](int q) { return is_absent(value[q]) && first + q * STEP >= own; };
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
        double *to = front + front_place<NR>(backward_row(first), thread::pair());
#pragma unroll
        for (int q = 0; q < EACH; q++)
            if (first + q * STEP < count)
                store_pair(to + q * STEP * NR, value[q][0], value[q][1]);
    }
}

} // namespace gsv
#endif
