/*
 * What the host executor's sweeps share: one run over one block of columns, and the signals that its threads
 * wait for.
 */
#ifndef GSV_HOST_RUN_H
#define GSV_HOST_RUN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../dense_kernels/lanes_host.h"
#include "executor.h"
#include "subtrees.h"

enum {
    GSV_COLUMNS_AHEAD = 2,
    GSV_ROWS_AHEAD = 64
};                              /* of b and x, asked for ahead of the one that is moved */
enum { GSV_ROWS_AT_ONCE = 64 }; /* rows of b or x that a subtree task moves together, to stay on few pages */
enum { GSV_SIGNAL_BYTES = 64 }; /* a cache line each */

/* What has happened to a column block of the top, or to a subtree task, in the run whose number it holds. */
typedef struct gsv_signal {
    _Alignas(GSV_SIGNAL_BYTES) _Atomic uint32_t forward; /* the column block is solved with L */
    _Atomic uint32_t backward;                           /* ... and with L' */
    _Atomic uint32_t done;  /* first block or task: the update vectors are complete */
    _Atomic uint32_t tiles; /* first block: row tiles of the update vector that are complete so far */
} gsv_signal;

typedef struct gsv_host_run {
    const gsv_plan *plan;
    const gsv_subtrees *tree;
    const void *values; /* packed panels */
    int64_t value_bytes;
    const int64_t *start;              /* [nsuper] where in values, in real numbers */
    const void *d;                     /* [n] real numbers, or NULL */
    const int32_t *perm_in, *perm_out; /* NULL: not permuted */
    void *y;                           /* n rows: right-hand side, then L \ it, then the solution */
    void *u;                           /* update vectors */
    gsv_signal *signals;
    uint32_t
        number; /* of this run, the same in no other run of this workspace that could be mixed up with it */
    unsigned steps;
    int32_t cols; /* columns of b and x; the rest of a row of y is zero */
    const void *b;
    void *x;
    int64_t b_row, b_col, x_row, x_col; /* strides in numbers */
    int64_t patience;                   /* looks at a signal before the processor is given away */
    _Atomic int64_t forward_ticket, backward_ticket;
} gsv_host_run;

/* The sweeps for one type, instruction set and number of columns side by side. */
typedef struct gsv_host_sweep {
    void (*load)(const gsv_host_run *run, int32_t begin, int32_t end);  /* rows of y from b */
    void (*store)(const gsv_host_run *run, int32_t begin, int32_t end); /* rows of x from y, D applied */
    void (*forward_task)(const gsv_host_run *run, int32_t task);
    void (*forward_step)(const gsv_host_run *run, gsv_step step);
    void (*backward_task)(const gsv_host_run *run, int32_t task);
    void (*backward_step)(const gsv_host_run *run, gsv_step step);
} gsv_host_sweep;

/* NULL for an instruction set that this build lacks. */
extern const gsv_host_sweep *const gsv_host_sweep_s[GSV_ISA_COUNT][GSV_WIDTHS];
extern const gsv_host_sweep *const gsv_host_sweep_d[GSV_ISA_COUNT][GSV_WIDTHS];
extern const gsv_host_sweep *const gsv_host_sweep_c[GSV_ISA_COUNT][GSV_WIDTHS];
extern const gsv_host_sweep *const gsv_host_sweep_z[GSV_ISA_COUNT][GSV_WIDTHS];

/*
 * Asking for panels ahead of their use. A supernode of a few columns takes as long to compute with as to read
 * from memory, and the processor, left alone, does one after the other: its own look-ahead does not reach
 * beyond the short loops (measured on a 5-point grid of a quarter of a million points, one thread: 18.6 ms
 * alone, 14.3 with this, 8.5 for the bytes of L). So each supernode asks, in GSV_PORTIONS portions between
 * the steps of its work, for as many bytes as it uses itself: forwards GSV_AHEAD bytes further on, backwards,
 * where the panels of a task are met from the last to the first, in the window below the one that is worked
 * on, in rising order, for that is how a panel is read. They come to the second-level cache.
 */
enum { GSV_AHEAD = 32768, GSV_PORTIONS = 4 };

typedef struct gsv_ahead {
    const char *first;            /* of the task's panels; backwards */
    const char *begin, *at, *end; /* the window that is asked for, and how far */
    const char *goal;             /* how far the present supernode should ask, */
    int64_t portion;              /* so many bytes at a time */
} gsv_ahead;

static inline void gsv_ahead_until(gsv_ahead *ahead, const char *until) {
    for (; ahead->at < until; ahead->at += 64)
        __builtin_prefetch(ahead->at, 0, 2);
}

/* One portion. */
static inline void gsv_ahead_ask(gsv_ahead *ahead) {
    const char *until = ahead->at + ahead->portion;
    gsv_ahead_until(ahead, until < ahead->goal ? until : ahead->goal);
}

/* The present supernode has so many bytes; what the one before has left is asked for now. A large one,
 * forwards, asks for nothing: its own loops are long enough. */
static inline void gsv_ahead_begin(gsv_ahead *ahead, int64_t bytes) {
    gsv_ahead_until(ahead, ahead->goal);
    const int64_t left = ahead->end - ahead->at;
    ahead->goal = left > bytes ? ahead->at + bytes : ahead->end;
    if (bytes > GSV_AHEAD && left > GSV_AHEAD)
        ahead->at = ahead->goal;
    ahead->portion = bytes / GSV_PORTIONS + 63;
    gsv_ahead_ask(ahead);
}

/* Backwards: the next window, below the present one. */
static inline void gsv_ahead_lower(gsv_ahead *ahead) {
    ahead->end = ahead->begin;
    ahead->begin = ahead->end - ahead->first > GSV_AHEAD ? ahead->end - GSV_AHEAD : ahead->first;
    ahead->at = ahead->goal = ahead->begin;
}

/* Backwards: the sweep has come to the panel at p. */
static inline void gsv_ahead_move(gsv_ahead *ahead, const char *p) {
    gsv_ahead_until(ahead, ahead->goal);
    while (p < ahead->end)
        gsv_ahead_lower(ahead);
}

/* At the start of a task: the first GSV_AHEAD bytes that it will use, at once. */
static inline gsv_ahead gsv_ahead_of(const gsv_host_run *run, int32_t task, int32_t real_bytes,
                                     int backward) {
    const gsv_subtrees *tree = run->tree;
    const int32_t next = tree->task_ptr[task + 1], nsuper = run->plan->l.nsuper;
    const char *values = run->values;
    gsv_ahead ahead = {.first = values + run->start[tree->order[tree->task_ptr[task]]] * real_bytes};
    ahead.end = values + (next < nsuper ? run->start[tree->order[next]] * real_bytes : run->value_bytes);
    if (backward) {
        ahead.begin = ahead.end;
        gsv_ahead_lower(&ahead);
        gsv_ahead_until(&ahead, ahead.end);
        gsv_ahead_lower(&ahead);
    } else {
        ahead.begin = ahead.at = ahead.first;
        gsv_ahead_begin(&ahead, GSV_AHEAD);
    }
    return ahead;
}

/* A little rest between two looks at memory that another thread will write. */
static inline void gsv_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The same after `spins` looks in vain. From `patience` on the awaited thread may be one that wants this
 * thread's processor. */
static inline void gsv_give_way(int64_t spins, int64_t patience) {
    if (spins >= patience && spins % 64 == 0)
        sched_yield();
    else
        gsv_pause();
}

/* Wait until the signal holds the run's number. The work that sets it is in a running thread's hands
 * (subtrees.h), so the wait ends. */
static inline void gsv_wait(const gsv_host_run *run, _Atomic uint32_t *signal) {
    for (int64_t spins = 0; atomic_load_explicit(signal, memory_order_acquire) != run->number; spins++)
        gsv_give_way(spins, run->patience);
}

static inline void gsv_raise(_Atomic uint32_t *signal, uint32_t number) {
    atomic_store_explicit(signal, number, memory_order_release);
}

#endif
