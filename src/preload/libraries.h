/*
 * The copies of CHOLMOD in this process, and the one that a call belongs to.
 *
 * A call that this library takes would have gone somewhere without it. That place is found again from the return address:
 *   1. the object that made the call, if it defines the function itself: CHOLMOD calling itself;
 *   2. what comes after this library in the global scope (RTLD_NEXT);
 *   3. the dependencies of the object that made the call: Python opens extensions with RTLD_LOCAL, so theirs are not in 2;
 *   4. any loaded object that defines the function, in the order of loading.
 * 2 before 3 is the loader's own order, so the functions that are not taken go to the same copy. GPUSOLVE_CHOLMOD=/path replaces all four.
 */
#ifndef PRELOAD_LIBRARIES_H
#define PRELOAD_LIBRARIES_H

#include <stdbool.h>

/* cholmod_NAME and cholmod_l_NAME: what is taken, and what the preload library calls itself. */
/* clang-format off */
#define PRELOAD_REAL_FUNCTIONS(X)                                                                       \
    X(solve) X(solve2) X(spsolve) X(ensure_dense) X(free_dense) X(allocate_sparse)                      \
    X(reallocate_sparse) X(free_sparse) X(factorize) X(factorize_p) X(super_numeric)                    \
    X(super_symbolic) X(super_symbolic2) X(rowfac) X(rowfac_mask) X(rowfac_mask2) X(updown)             \
    X(updown_solve) X(updown_mark) X(updown_mask) X(updown_mask2) X(rowadd) X(rowadd_solve)             \
    X(rowadd_mark) X(rowdel) X(rowdel_solve) X(rowdel_mark) X(resymbol) X(resymbol_noperm)              \
    X(change_factor) X(pack_factor) X(factor_xtype) X(factor_to_sparse) X(reallocate_factor)            \
    X(reallocate_column) X(free_factor) X(finish)
/* clang-format on */

enum {
#define PRELOAD_REAL_PLACE(name) REAL_##name,
    PRELOAD_REAL_FUNCTIONS(PRELOAD_REAL_PLACE)
#undef PRELOAD_REAL_PLACE
        REAL_FUNCTIONS
};

typedef void preload_function(void); /* to be cast to its own type */

typedef struct preload_library {
    void *base;                                /* where the object that defines cholmod_solve2 lies */
    preload_function *call[2][REAL_FUNCTIONS]; /* [1] of the l_ form; NULL: not in this version */
} preload_library;

/* The real function, as a pointer to its own type. */
#define PRELOAD_REAL(type, library, is_long, name) ((type *)(library)->call[is_long][REAL_##name])

/* The CHOLMOD that a call from this return address belongs to; NULL: none is loaded. *from_itself (or NULL): CHOLMOD made the
 * call. */
const preload_library *preload_find_library(const void *return_address, bool *from_itself);

void preload_libraries_before_fork(void);
void preload_libraries_after_fork(void);

#endif
