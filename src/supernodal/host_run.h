/*
 * What the host executor's sweeps share: one run over one block of columns, and the signals that its threads wait for.
 */
#ifndef GSV_HOST_RUN_H
#define GSV_HOST_RUN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../dense_kernels/lanes_host.h"
#include "executor.h"
#include "subtrees.h"

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
    const void *values;   /* packed panels */
    const int64_t *start; /* [nsuper] where in values, in real numbers */
    const void *d;        /* [n] real numbers, or NULL */
    const int32_t *perm_in, *perm_out; /* NULL: not permuted */
    void *y;              /* n rows: right-hand side, then L \ it, then the solution */
    void *u;              /* update vectors */
    gsv_signal *signals;
    uint32_t number;      /* of this run, the same in no other run of this workspace that could be mixed up with it */
    unsigned steps;
    int32_t cols;         /* columns of b and x; the rest of a row of y is zero */
    const void *b;
    void *x;
    int64_t b_row, b_col, x_row, x_col; /* strides in numbers */
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

/* Wait until the signal holds the number. The work that sets it is in a running thread's hands (subtrees.h), so the
 * wait ends; a thread that has lost its processor gets it back because the waiting ones give theirs away. */
static inline void gsv_wait(_Atomic uint32_t *signal, uint32_t number)
{
    enum { PATIENCE = 4000 };
    for (int spins = 0; atomic_load_explicit(signal, memory_order_acquire) != number; spins++) {
        if (spins > PATIENCE)
            sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        else
            __builtin_ia32_pause();
#endif
    }
}

static inline void gsv_raise(_Atomic uint32_t *signal, uint32_t number)
{
    atomic_store_explicit(signal, number, memory_order_release);
}

#endif
