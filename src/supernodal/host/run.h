/*
 * What the host executor's sweeps share: one run over one block of columns, and the signals that its threads
 * wait for.
 */
#ifndef GSV_HOST_RUN_H
#define GSV_HOST_RUN_H

#include <stdatomic.h>
#include <stdint.h>

#include "../../dense_kernels/lanes_host.h"
#include "../../spin.h"
#include "../api/executor.h"
#include "subtrees.h"

enum {
    GSV_ROWS_AHEAD = 32,  /* of b and x, asked for ahead of the one that is moved */
    GSV_ROWS_NEAR = 8192, /* of one column that stay in the cache: asking for them costs more than it saves */
    GSV_COLUMNS_AT_ONCE = 8, /* of b and x that are moved together */
    GSV_ROWS_AT_ONCE = 8192  /* numbers of b or x, all columns together, that a subtree task moves at once: so
                                many misses of the cache at a time, and not each in the way of a supernode */
};

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
    const void *values;                /* panels, packed, or as the caller has them */
    int in_place;                      /* the latter */
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
extern const gsv_host_sweep *const gsv_host_sweep_ds[GSV_ISA_COUNT][GSV_WIDTHS];
extern const gsv_host_sweep *const gsv_host_sweep_zc[GSV_ISA_COUNT][GSV_WIDTHS];

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
