/*
 * What a tile for many right-hand sides reads (cuda/tasks/tile.cuh), stage by stage: sixteen terms at a time, a
 * tile of the panel, 64 x 16, and sixteen rows of v, travel through a ring of stages in shared memory, by
 * asynchronous copies.
 *
 * In shared memory the sixteen numbers of a panel's tile that stand side by side, and so each sixteen of a
 * row of v, are permuted: number p of run k is at p ^ 4 (k mod 4), so that the lanes of a fragment, four
 * runs by eight numbers, read different banks; sixteen bytes stay together. Runs k, k + 4, k + 8 and k + 12 of a
 * stage stand side by side (tasks_place); where terms are in a run, backward, see tasks_place_in_run.
 * The ring begins with a line (SHARED_LINE), as all that is copied does.
 */
#ifndef GSV_CUDA_TASKS_STAGES_CUH
#define GSV_CUDA_TASKS_STAGES_CUH

#include "../../../dense_kernels/async_copy.cuh"
#include "../../../dense_kernels/fragment.cuh"
#include "../shared/l2.cuh"
#include "gather.cuh"

namespace gsv {

/* May sixteen terms be summed by themselves? See Order in cuda/tasks/tile.cuh. In mixed<complex<float>> no such terms
 * stand side by side (tasks_place), because two numbers are copied at once. */
template <typename Kind> struct tasks_chains {
    static const bool value =
        sizeof(typename traits<Kind>::real) == sizeof(double) || !traits<Kind>::is_complex;
};

/* Kind: of the panel's and the vectors' numbers (scalar.cuh); C: right-hand sides of a tile. */
template <typename Kind, int C, bool BACKWARD> struct tasks_shape {
    typedef vector_number<Kind> T;
    typedef panel_number<Kind> P;
    static const bool CHAINS = tasks_chains<Kind>::value, REAL = CHAINS && !traits<T>::is_complex;
    static const bool AHEAD = REAL && C <= GSV_TASKS_32, /* it has registers (tasks_lane) */
        HALVES = C == GSV_TASKS_64,                      /* so has it (multiply_halves) */
        DISCARDS = REAL && C <= GSV_TASKS_32;            /* it is worth it (cuda/tasks/discard.cuh) */
    static const int ROWS = GSV_TASK_ROWS, COLUMNS = C, DEPTH = GSV_TILE;
    static_assert(REAL || C <= GSV_TASKS_32, "complex sums of 64 columns spill");
    static const int STAGES = C <= GSV_TASKS_32 || !BACKWARD ? 4 : 3;
    /* Columns of a warp's sums; warps beside and above each other: two beside each other, or one where a tile has at most
     * sixteen columns. */
    static const int WARP_COLUMNS = C > GSV_TASKS_16 ? C / 2 : C, RUNS = WARP_COLUMNS / 8,
                     WARP_ROWS = C > GSV_TASKS_16 ? 32 : 16, EIGHTS = WARP_ROWS / 8;
    static const int ACROSS = C / WARP_COLUMNS, DOWN = ROWS / WARP_ROWS, THREADS = 32 * ACROSS * DOWN;
    static const int A = ROWS * DEPTH, V = DEPTH * COLUMNS; /* numbers of a stage: first the panel's */
    static const int A_BYTES = A * int(sizeof(P)), STAGE = A_BYTES + V * int(sizeof(T)); /* bytes */
    static const int CHUNK = 16 / int(sizeof(P)), V_CHUNK = 16 / int(sizeof(T)); /* numbers of a copy */
    static const int BYTES = STAGES * STAGE;
    /* Blocks of an SM, by registers and shared memory. Much of a task is latency, so that more of them with smaller tiles
     * are better (lessons/tasks.md). */
    static const int RESIDENT = REAL                                         ? (C <= GSV_TASKS_32 ? 4 : 3)
                                : sizeof(P) < sizeof(T) && C <= GSV_TASKS_16 ? 3
                                                                             : 2;
};

/* Where number p of run k is, in its run. */
__device__ __forceinline__ int swizzle(int p, int k) {
    return p ^ 4 * (k & 3);
}

/* Which of sixteen runs term k is: the terms k, k + 4, k + 8, k + 12 stand side by side. */
template <typename Kind> __device__ __forceinline__ int tasks_place(int k) {
    return tasks_chains<Kind>::value ? k % 4 * 4 + k / 4 : k;
}

/* Where term p of run k of the panel is, backward, where a run is sixteen terms. Two doubles, or the four floats of a
 * copy, stay side by side and are read together. */
template <typename Kind> __device__ __forceinline__ int tasks_place_in_run(int p, int k) {
    if constexpr (sizeof(panel_number<Kind>) < sizeof(double))
        return p;
    if constexpr (tasks_chains<Kind>::value && !traits<Kind>::is_complex)
        return p ^ 2 * (k & 1);
    return swizzle(tasks_place<Kind>(p), k);
}

/* 16 bytes of a panel. */
__device__ __forceinline__ void begin_copy_panel(void *to, const void *from, bool there,
                                                 const l2_policy &policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                     unsigned(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(there ? 16 : 0), "l"(policy)
                 : "memory");
}

/* What a tile is about. */
struct tasks_tile {
    gsv_node node;
    int first, begin, end; /* gsv_task */
    int last;              /* row, or column, behind the last one that there is */
    int height;            /* GSV_TASK_ROWS, or half of it */
    int columns;           /* numbers of a row of the vectors */
    int c0;                /* right-hand sides c0 .. c0 + C - 1 */
    /* Terms inside .. inside_end - 1 are inside of a wide panel: in all rows, or columns, of this tile they are numbers of
     * full tiles of the panel. */
    int inside, inside_end;
    int near, far; /* backward: terms near .. far - 1 are those that wait longest (tasks_cursor) */
};

/* Which sixteen terms come next. Forward, one after the other. Backward those of own columns, then those of
 * rows of the grandparent and what is above it, which have been known for long, and last those of the
 * parent's rows. */
template <bool BACKWARD> struct tasks_cursor {
    int term;
    __device__ __forceinline__ explicit tasks_cursor(const tasks_tile &tile) : term(tile.begin) {}
    /* returns how far it is from the terms before */
    __device__ __forceinline__ int advance(const tasks_tile &) {
        term += GSV_TILE;
        return GSV_TILE;
    }
};

template <> struct tasks_cursor<true> {
    int term, stop; /* where its segment ends */
    int wait;       /* where the last segment began that has to be waited for */

    __device__ __forceinline__ explicit tasks_cursor(const tasks_tile &tile)
        : term(tile.begin), stop(tile.near), wait(-1) {
        if (term == stop)
            turn(tile);
    }
    __device__ __forceinline__ void turn(const tasks_tile &tile) {
        const bool above = stop == tile.near && tile.far < tile.end;
        term = wait = above ? tile.far : tile.near;
        stop = above ? tile.end : tile.far;
    }
    __device__ __forceinline__ bool begins() const {
        return term == wait;
    }
    __device__ __forceinline__ int advance(const tasks_tile &tile) {
        const int before = term;
        term += GSV_TILE;
        if (term >= stop)
            turn(tile);
        return term - before;
    }
};

/*
 * Brings stage after stage. A thread makes the same few copies for every stage. They are of one row of v, and of the panel:
 * forward of one column of its tiles, backward of columns that stand side by side. So it has one pointer to each, which
 * advances from stage to stage, and constant distances from there. At a panel's edges and in the triangle some copies are
 * of zeros (`at_edge`). Backward, the row of v is looked up a step ahead. own, below and columns stay as they are, the
 * kernel's parameters, which need no registers: what the compiler keeps in local memory instead may come out of L2 in
 * every stage, for whoever acquires a counter empties the L1 cache.
 */
template <typename Kind, int C, bool BACKWARD> struct tasks_stream {
    typedef vector_number<Kind> T;
    typedef panel_number<Kind> P;
    typedef tasks_shape<Kind, C, BACKWARD> shape;
    static const int CHUNK = shape::CHUNK, THREADS = shape::THREADS;
    /* Copies of a thread that stand side by side: two, where one for each would not be a whole tile of the panel, or not
     * sixteen of a row of v. */
    static const int SIDE = THREADS * CHUNK < GSV_TILE * GSV_TILE ? 2 : 1,
                     V_SIDE = THREADS / shape::DEPTH * shape::V_CHUNK < GSV_TILE ? 2 : 1;
    static const int PER_RUN = GSV_TILE / CHUNK / SIDE,
                     COPIES = shape::A / CHUNK / SIDE / THREADS, /* of the panel, */
        APART = THREADS / PER_RUN;                               /* runs from one to the next */
    static const int PER_ROW = THREADS / shape::DEPTH,           /* threads that have copies of a row of v, */
        V_COPIES = shape::V / shape::V_CHUNK / V_SIDE / THREADS, /* copies of a thread, */
        V_APART = PER_ROW * shape::V_CHUNK * V_SIDE;             /* numbers from one to the next */
    /* From the place of the first of two copies to that of the other, in bytes of a line: terms p and p + 1 of a run, p
     * even, or neighbours in a tile's column (place_in_stage). */
    static const int BESIDE = (BACKWARD ? 4 : 1) * int(sizeof(P));
    static_assert(SIDE == 1 || (CHUNK == 1 && tasks_chains<Kind>::value), "these are their places");
    static_assert(APART % GSV_TILE == 0, "the copies of a thread are of one column of their tiles");
    static_assert(V_APART % GSV_TILE == 0, "a thread's copies of v have the same place in their sixteens");
    const tasks_tile &tile;
    const P *panel;       /* the next stage's first copy; backward, of its block row */
    const T *own, *below; /* v; forward own: the next stage's first copy */
    const int32_t *next;  /* backward: the row that ask() asks for next */
    int columns, column;  /* of v; this thread's first one of a copy */
    int nc, split, inside, inside_end;
    int run, place, v_place;       /* of the first copies: their panel's column; in a stage, in bytes */
    tasks_cursor<BACKWARD> cursor; /* of the next stage; at first, of its panel */
    int left;                      /* rows of v that it has, from this thread's on */
    uint32_t down[COPIES];         /* forward: bytes from the first copy on */
    uint32_t there;                /* bit k: copy k is of rows, or columns, that the panel has */
    l2_policy policy;              /* of the panel */
    int32_t row;                   /* backward: of the next stage's v */

    /* From the stage on at which `from` is; row, backward: as below, or 0, and then ask() comes first. */
    __device__ __forceinline__ tasks_stream(const gsv_device_plan &plan, const tasks_tile &tile, const T *own,
                                            const T *below, int columns, const l2_policy &policy,
                                            const tasks_cursor<BACKWARD> &from, int32_t row)
        : tile(tile), own(own), below(below), columns(columns), nc(tile.node.nc),
          split(tile.node.first_column + tile.node.nc), inside(tile.inside), inside_end(tile.inside_end),
          cursor(from), there(0), policy(policy), row(row) {
        const unsigned thread = kept(threadIdx.x); /* not what the compiler knows already */
        run = thread / PER_RUN;
        const int p = thread % PER_RUN * CHUNK * SIDE;
        const int64_t first = BACKWARD ? tile.first + run : cursor.term + run % shape::DEPTH; /* its column */
        const int64_t start = start_of(BACKWARD ? cursor.term : tile.first + run);
        panel = static_cast<const P *>(plan.panels) + tile.node.panel + start + GSV_TILE * first + p;
        place = place_in_stage(run, p) * int(sizeof(P));
#pragma unroll
        for (int k = 0; k < COPIES; k++) {
            const int at = tile.first + run + k * APART;
            if (!BACKWARD)
                down[k] = uint32_t((start_of(at) - start) * int64_t(sizeof(P)));
            there |= uint32_t((BACKWARD ? at : at / GSV_TILE * GSV_TILE) < tile.last) << k;
        }
        const int r = thread / PER_ROW, v = thread % PER_ROW * shape::V_CHUNK * V_SIDE;
        column = tile.c0 + v;
        left = tile.end - cursor.term - r;
        next = plan.rows + tile.node.rows + (tile.end - left);
        v_place = shape::A_BYTES +
                  (tasks_place<Kind>(r) * shape::COLUMNS + swizzle(v, tasks_place<Kind>(r))) * int(sizeof(T));
        if (!BACKWARD)
            this->own = tasks_row(own + column, tile.node.first_column + cursor.term + r, columns);
    }

    /* Where the block row of this row begins in the panel. */
    __device__ __forceinline__ int64_t start_of(int row) const {
        return gsv_block_row_start(tile.node.nc, row / GSV_TILE);
    }

    __device__ __forceinline__ void ask() {
        if (BACKWARD)
            row = left > 0 ? *next : 0;
    }

    /* Where number p of run `run` of the panel goes. */
    static __device__ __forceinline__ int place_in_stage(int run, int p) {
        if (BACKWARD)
            return run * GSV_TILE + tasks_place_in_run<Kind>(p, run);
        const int place = tasks_place<Kind>(run % shape::DEPTH);
        return (run / shape::DEPTH * shape::DEPTH + place) * GSV_TILE + swizzle(p, place);
    }

    /* The next stage. */
    template <typename Await> __device__ __forceinline__ void bring(unsigned stage, Await await) {
        const tasks_cursor<BACKWARD> at = cursor;
        const int further = cursor.advance(tile);
        bring_vectors(stage, at, further, await);
        bring_panel(stage, at.term, further);
    }
    /* Its panel alone, before anything is waited for; then the rows of v of the first stages: `at` is theirs. */
    __device__ __forceinline__ void bring_panel_ahead(unsigned stage) {
        const int term = cursor.term, further = cursor.advance(tile);
        bring_panel(stage, term, further);
    }
    template <typename Await>
    __device__ __forceinline__ void bring_vectors_after(unsigned stage, tasks_cursor<BACKWARD> &at,
                                                        Await await) {
        const tasks_cursor<BACKWARD> before = at;
        const int further = at.advance(tile);
        bring_vectors(stage, before, further, await);
    }

    /* The rows of v at `at`, to which the next ones are `further`. Backward, await(whether they are of the
     * parent's rows) returns when those of their segment are there. */
    template <typename Await>
    __device__ __forceinline__ void bring_vectors(unsigned stage, const tasks_cursor<BACKWARD> &at,
                                                  int further, Await await) {
        if constexpr (BACKWARD)
            if (at.begins())
                await(at.term < tile.far);
        const T *from = own;
        if (BACKWARD)
            from = tasks_row(row < split ? own : below, row, columns) + column;
#pragma unroll
        for (int k = 0; k < V_COPIES; k++)
#pragma unroll
            for (int s = 0; s < V_SIDE * shape::V_CHUNK; s += shape::V_CHUNK)
                begin_copy<16>(shared_at<T>(stage + v_place) + k * V_APART + s, from + k * V_APART + s,
                               left > 0);
        left -= further;
        next += further;
        if (BACKWARD)
            ask();
        else
            own = tasks_row(own, shape::DEPTH, columns);
    }

    /* The panel's columns, or rows, from `term` on, to which the next ones are `further`. */
    __device__ __forceinline__ void bring_panel(unsigned stage, int term, int further) {
        uint32_t here = there;
        if ((BACKWARD && term < inside) || term + shape::DEPTH > inside_end)
            here &= at_edge(run, term);
        unsigned to = stage + place;
        /* of two sums of a uniform and another register nvcc 13.0 makes an illegal instruction, with this policy */
        if (SIDE == 2)
            to = kept(to);
#pragma unroll
        for (int k = 0; k < COPIES; k++) {
            const P *from =
                BACKWARD ? panel + k * APART * GSV_TILE
                         : reinterpret_cast<const P *>(reinterpret_cast<const char *>(panel) + down[k]);
            begin_copy_panel(shared_at<P>(to) + k * APART * GSV_TILE, from, here & 1u << k, policy);
            if constexpr (SIDE == 2)
                begin_copy_panel(shared_at<P>(to ^ BESIDE) + k * APART * GSV_TILE, from + CHUNK,
                                 here & 1u << k, policy);
        }
        if (!BACKWARD)
            panel += shape::DEPTH * GSV_TILE;
        else if (further == GSV_TILE)
            panel += GSV_TILE * gsv_block_row_columns(nc, term / GSV_TILE);
        else
            panel += start_of(term + further) - start_of(term);
    }

    /* Bit k: the panel has the numbers of copy k of the terms from `term` on. A block row of the triangle ends
     * with the sixteen columns of its diagonal; from copy to copy it is APART rows further down, backward the
     * column APART further to the right. */
    __device__ __forceinline__ uint32_t at_edge(int run, int term) const {
        const int column = BACKWARD ? tile.first + run : term + run % shape::DEPTH;
        if (BACKWARD ? term >= tile.node.nr : column >= tile.end)
            return 0;
        const int block_row = BACKWARD ? term : tile.first + run / GSV_TILE * GSV_TILE; /* its first row */
        const int past = column - block_row - GSV_TILE + 1; /* so far is copy 0 behind that end, if > 0 */
        if (BACKWARD)
            return past > 0 ? 0 : past + (COPIES - 1) * APART <= 0 ? ~0u : (1u << (1 - past / APART)) - 1;
        return past > 0 ? ~0u << (past + APART - 1) / APART : ~0u;
    }
};

} // namespace gsv
#endif
