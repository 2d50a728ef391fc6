/*
 * The factors that have been solved with: what is known of each cholmod_factor, and its import, if there is one.
 *
 * A record begins with the first solve and ends when the factor is freed, or when there are too many records. Its numbers have
 * changed when a routine of CHOLMOD that changes factors was called with it, or when its guard differs. Solves are counted from the
 * last change on. The second one imports (or refreshes an old import); after a change the first one does, if the numbers
 * before were solved with more than once. Imports that are least recently used make room for new ones; an import that had to
 * go waits for twice as many solves each time, so that programs with too many factors do not import all the time.
 *
 * Locks: one mutex guards the table and is held for microseconds. Imports and solves run outside of it. While one
 * thread imports, the others' solves pass on to CHOLMOD.
 */
#ifndef PRELOAD_FACTORS_H
#define PRELOAD_FACTORS_H

#include <stdbool.h>

#include "cholmod_objects.h"
#include "engine.h"

typedef struct preload_record preload_record;

/* The right to solve with an import until it is given back. */
typedef struct preload_lease {
    preload_record *record;
    const preload_engine *engine;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    char why[256]; /* of a failure */
} preload_lease;

/* A selection with its rows; all arrays stand in one allocation. */
typedef struct preload_selection {
    struct preload_selection *next;
    gpusolve_selection *selection;
    int system;
    bool all_x;      /* x has all n rows, and x_rows is NULL */
    int64_t b_count; /* rows of b, */
    int64_t x_count; /* and of x */
    int64_t *b_rows; /* as they were asked for: the key */
    int64_t *x_rows;
    int64_t max_nrhs; /* the block that it is for */
    int64_t bytes;
} preload_selection;

/* A solve is about to happen. False, with why: it is CHOLMOD's. */
bool preload_borrow(const preload_factor *L, const preload_common *common, preload_lease *lease);
void preload_give_back(preload_lease *lease);

/* x = system \ b with a workspace of the factor's. False, with why. */
bool preload_lease_solve(preload_lease *lease, int system, const gpusolve_dense *b, const gpusolve_dense *x);

/* The selection with these rows of b, kept from before or new. x_rows NULL: all n. It belongs to the caller until it is put back.
 * NULL, with why. */
preload_selection *preload_take_selection(preload_lease *lease, int system, int64_t b_count,
                                          const int64_t *b_rows, int64_t max_nrhs);
preload_selection *preload_make_selection(preload_lease *lease, int system, int64_t b_count,
                                          const int64_t *b_rows, int64_t x_count, const int64_t *x_rows,
                                          int64_t max_nrhs);
void preload_put_selection(preload_lease *lease, preload_selection *selection);

/* Were these rows of b the last ones of a sparse solve with the factor, too? They are from now on. */
bool preload_rows_again(preload_lease *lease, int system, int64_t b_count, const int64_t *b_rows);

/* The numbers, or the form, of L are about to change. */
void preload_factor_changes(const void *L);
/* L is about to be freed. */
void preload_factor_ends(const void *L);
/* All factors that were last solved with this cholmod_common. */
void preload_common_ends(const preload_common *common);

void preload_factors_before_fork(void);
void preload_factors_after_fork(bool child);

#endif
