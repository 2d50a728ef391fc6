/*
 * The routines that solve: cholmod_solve, cholmod_solve2, cholmod_spsolve and their l_ forms, as the program finds them.
 *
 * What is unusual goes to CHOLMOD at once. Otherwise CHOLMOD first solves the same system with no columns: that checks the arguments as
 * it always does, sets Common->status, and tells which type X has, all without knowing the layout of cholmod_common. If
 * it refuses, its answer is the call's answer. Then X is made ready by CHOLMOD, and filled by gpusolve. Whatever gpusolve does not
 * want to solve goes to CHOLMOD.
 */
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "log.h"
#include "serve.h"
#include "settings.h"

#define EXPORTED __attribute__((visibility("default")))

typedef preload_dense *solve_type(int sys, preload_factor *L, preload_dense *B, preload_common *common);
typedef int solve2_type(int sys, preload_factor *L, preload_dense *B, preload_sparse *Bset, preload_dense **X,
                        preload_sparse **Xset, preload_dense **Y, preload_dense **E, preload_common *common);
typedef preload_sparse *spsolve_type(int sys, preload_factor *L, preload_sparse *B, preload_common *common);
typedef preload_dense *ensure_dense_type(preload_dense **X, size_t nrow, size_t ncol, size_t d, int xdtype,
                                         preload_common *common);
typedef int free_dense_type(preload_dense **X, preload_common *common);
typedef preload_sparse *allocate_sparse_type(size_t nrow, size_t ncol, size_t nzmax, int sorted, int packed,
                                             int stype, int xdtype, preload_common *common);
typedef int free_sparse_type(preload_sparse **X, preload_common *common);

/* CHOLMOD's cholmod_solve calls cholmod_solve2, which comes here again: inside a call that was passed on. */
static __thread int passing;

/* A call, however it came. */
typedef struct call {
    const char *name;
    const preload_library *library;
    int is_long, sys;
    preload_factor *L;
    preload_common *common;
    bool large; /* a dense solve on a supernodal factor above the size limit */
} call;

static const char *const systems[] = {"A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"};

/* ------------------------------------------------------------------------------------------- the log --- */

static void log_call(const call *c, size_t columns, const char *answer, const char *why) {
    const preload_factor *L = c->L;
    if (!preload_is_logging())
        return;
    preload_log("%s %s%s sys=%s n=%zu columns=%zu %s %s: %s", answer, c->is_long ? "l_" : "", c->name,
                c->sys >= 0 && c->sys <= GPUSOLVE_Pt ? systems[c->sys] : "?", L ? L->n : 0, columns,
                !L            ? "no factor"
                : L->is_super ? "supernodal"
                : L->is_ll    ? "simplicial LL'"
                              : "simplicial LDL'",
                !L || L->xtype == PRELOAD_REAL ? "real" : "complex", why);
}

static void count_served(const call *c, size_t columns, const char *how) {
    preload_add(COUNT_SERVED);
    if (c->large)
        preload_add(COUNT_LARGE_SERVED);
    log_call(c, columns, "served", how);
}

static void count_passed(const call *c, size_t columns, const char *why) {
    preload_add(COUNT_PASSED);
    log_call(c, columns, "passed on", why);
}

/* ----------------------------------------------------------------------------------- what is unusual --- */

/* Why L is CHOLMOD's to solve with; NULL: it may be gpusolve's. */
static const char *unusual_factor(const call *c) {
    const preload_factor *L = c->L;
    if (!L || !c->common)
        return "L or Common is NULL";
    if (c->sys < GPUSOLVE_A || c->sys > GPUSOLVE_Pt)
        return "no such system";
    if (L->itype != (c->is_long ? PRELOAD_LONG : PRELOAD_INT))
        return "the integers of L are of another type";
    if (L->xtype != PRELOAD_REAL && L->xtype != PRELOAD_COMPLEX && L->xtype != PRELOAD_ZOMPLEX)
        return "L has no numbers";
    if (L->dtype != PRELOAD_DOUBLE && L->dtype != PRELOAD_SINGLE)
        return "L is of an unknown precision";
    if (L->is_super ? !L->super || !L->pi || !L->px || !L->s : !L->p || !L->i || !L->nz)
        return "arrays of L are missing";
    if (!L->x || (L->xtype == PRELOAD_ZOMPLEX && !L->z))
        return "L has no numbers";
    if (L->minor < L->n)
        return "L is of a matrix that is not positive definite";
    if (preload_factor_bytes(L) < preload_get_settings()->least_bytes)
        return "L is smaller than GPUSOLVE_PRELOAD_MIN_BYTES";
    return preload_get_settings()->mode == PRELOAD_OFF ? "GPUSOLVE_PRELOAD=off" : NULL;
}

static const char *unusual_dense(const preload_factor *L, const preload_dense *B) {
    if (!B)
        return "B is NULL";
    if (B->xtype != PRELOAD_REAL && B->xtype != PRELOAD_COMPLEX && B->xtype != PRELOAD_ZOMPLEX)
        return "B has no numbers";
    if (B->dtype != L->dtype)
        return "B is of another precision than L";
    if (B->nrow != L->n || B->d < B->nrow || B->nrow == 0 || B->ncol == 0)
        return "the sizes of B";
    if (!B->x || (B->xtype == PRELOAD_ZOMPLEX && !B->z) || B->ncol > INT64_MAX / 16 / B->d)
        return "the arrays of B";
    return NULL;
}

static const char *unusual_sparse(const preload_sparse *A, const preload_factor *L, bool with_numbers) {
    if (!A)
        return "B is NULL";
    if (with_numbers && A->xtype != PRELOAD_REAL && A->xtype != PRELOAD_COMPLEX &&
        A->xtype != PRELOAD_ZOMPLEX)
        return "B has no numbers";
    if ((with_numbers && A->dtype != L->dtype) || A->itype != L->itype)
        return "B is of another type than L";
    if (A->stype != 0 || A->nrow != L->n || A->nrow == 0 || A->ncol == 0)
        return "the sizes or the symmetry of B";
    if (!A->p || !A->i || (!A->packed && !A->nz) ||
        (with_numbers && (!A->x || (A->xtype == PRELOAD_ZOMPLEX && !A->z))))
        return "the arrays of B";
    return NULL;
}

static const char *unusual_set(const call *c, const preload_dense *B, const preload_sparse *Bset,
                               preload_sparse **Xset) {
    const char *why = unusual_sparse(Bset, c->L, false);
    if (why)
        return why;
    if (!Xset || B->ncol != 1 || Bset->ncol != 1)
        return "Bset is not for this B";
    if (c->L->is_super) /* CHOLMOD's documentation says so, and programs read L->nz afterwards */
        return "Bset makes a supernodal L simplicial";
    return c->sys > GPUSOLVE_Lt ? "Bset with a system that has no L" : NULL;
}

static bool shares_memory(const preload_dense *X, const preload_dense *B) {
    const uintptr_t x = (uintptr_t)X->x, b = (uintptr_t)B->x;
    const uintptr_t x_end = x + X->nzmax * preload_number_bytes(X->xtype, X->dtype);
    const uintptr_t b_end = b + B->d * B->ncol * preload_number_bytes(B->xtype, B->dtype);
    return x < b_end && b < x_end;
}

/* ------------------------------------------------------------------------------------ CHOLMOD's part --- */

/* CHOLMOD's answer to the same call with no columns. False: its error is the answer. *xtype: of X. */
static bool ask_dense(const call *c, const preload_dense *B, int *xtype) {
    preload_dense none = *B, *X = NULL, *Y = NULL, *E = NULL;
    none.ncol = 0;
    solve2_type *solve2 = PRELOAD_REAL(solve2_type, c->library, c->is_long, solve2);
    free_dense_type *free_dense = PRELOAD_REAL(free_dense_type, c->library, c->is_long, free_dense);
    passing++;
    const int fine = solve2(c->sys, c->L, &none, NULL, &X, NULL, &Y, &E, c->common);
    passing--;
    *xtype = X ? X->xtype : PRELOAD_PATTERN;
    free_dense(&X, c->common);
    free_dense(&Y, c->common);
    free_dense(&E, c->common);
    return fine && *xtype != PRELOAD_PATTERN;
}

/* X as CHOLMOD makes it ready: the caller's where it fits. NULL: CHOLMOD has reported why. */
static preload_dense *ensure(const call *c, preload_dense **X, const preload_dense *B, int xtype) {
    return PRELOAD_REAL(ensure_dense_type, c->library, c->is_long, ensure_dense)(X, B->nrow, B->ncol, B->nrow,
                                                                                 xtype + B->dtype, c->common);
}

/* Xset as CHOLMOD makes it ready: one column with room for all rows. */
static preload_sparse *ensure_set(const call *c, preload_sparse **Xset) {
    preload_sparse *set = *Xset;
    const size_t n = c->L->n;
    if (!set || set->nrow != n || set->ncol != 1 || set->nzmax < n || set->itype != c->L->itype ||
        !set->packed) {
        PRELOAD_REAL(free_sparse_type, c->library, c->is_long, free_sparse)(Xset, c->common);
        *Xset = set = PRELOAD_REAL(allocate_sparse_type, c->library, c->is_long, allocate_sparse)(
            n, 1, n, 0, 1, 0, PRELOAD_PATTERN + c->L->dtype, c->common);
    }
    if (set) {
        set->sorted = 0;
        set->stype = 0;
    }
    return set;
}

/* ------------------------------------------------------------------------------------ what is served --- */

enum { SERVED = 1, REFUSED = 0, PASS = -1 };

/* cholmod_solve2 by gpusolve. PASS: it is CHOLMOD's, and CHOLMOD has not been called, or has prepared X alone. */
static int serve_solve2(call *c, preload_dense *B, preload_sparse *Bset, preload_dense **X,
                        preload_sparse **Xset) {
    preload_lease lease = {0};
    int xtype;
    const size_t columns = B ? B->ncol : 0;
    const char *why = unusual_factor(c);
    if (!why)
        why = unusual_dense(c->L, B);
    if (!why && Bset)
        why = unusual_set(c, B, Bset, Xset);
    if (!why && (!X || *X == B))
        why = "X is NULL, or B";
    if (!why && *X && shares_memory(*X, B))
        why = "X shares memory with B";
    if (why) {
        count_passed(c, columns, why);
        return PASS;
    }
    c->large = c->L->is_super && !Bset;
    if (c->large)
        preload_add(COUNT_LARGE);
    if (!ask_dense(c, B, &xtype) || !ensure(c, X, B, xtype) || (Bset && !ensure_set(c, Xset))) {
        count_passed(c, columns, "refused by CHOLMOD");
        return REFUSED;
    }
    if (!preload_borrow(c->L, c->common, &lease)) {
        count_passed(c, columns, lease.why);
        return PASS;
    }
    const bool solved = Bset ? preload_serve_rows(&lease, c->sys, c->L, B, Bset, *X, *Xset)
                             : preload_serve_dense(&lease, c->sys, c->L, B, *X);
    preload_give_back(&lease);
    if (!solved) {
        count_passed(c, columns, lease.why);
        return PASS;
    }
    if (Bset)
        preload_add(COUNT_BSET_SERVED);
    count_served(c, columns, Bset ? "a selection" : "a solve");
    return SERVED;
}

/* cholmod_spsolve by gpusolve. *X: the answer, if it is not PASS. */
static int serve_spsolve(call *c, preload_sparse *B, preload_sparse **X) {
    preload_lease lease = {0};
    int64_t pointers[2] = {0, 0};
    const size_t columns = B ? B->ncol : 0;
    const char *why = unusual_factor(c);
    *X = NULL;
    if (!why)
        why = unusual_sparse(B, c->L, true);
    if (!why && c->sys > GPUSOLVE_Lt)
        why = "a system without L";
    if (why) {
        count_passed(c, columns, why);
        return PASS;
    }
    preload_sparse none = *B;
    none.ncol = 0;
    none.p = pointers;
    none.nz = NULL;
    none.packed = 1;
    passing++;
    preload_sparse *like =
        PRELOAD_REAL(spsolve_type, c->library, c->is_long, spsolve)(c->sys, c->L, &none, c->common);
    passing--;
    if (!like) {
        count_passed(c, columns, "refused by CHOLMOD");
        return REFUSED;
    }
    bool borrowed = preload_borrow(c->L, c->common, &lease);
    if (borrowed) {
        *X = preload_serve_sparse(&lease, c->sys, c->L, B, like, c->library, c->common);
        preload_give_back(&lease);
    }
    PRELOAD_REAL(free_sparse_type, c->library, c->is_long, free_sparse)(&like, c->common);
    if (!*X) {
        count_passed(c, columns, lease.why);
        return PASS;
    }
    preload_add(COUNT_SPARSE_SERVED);
    count_served(c, columns, "sparse");
    return SERVED;
}

/* ---------------------------------------------------------------------------- as the program finds them --- */

/* The call's CHOLMOD, in c. False: the call comes from a CHOLMOD that a call was passed on to, or there is none. */
static bool begin(call *c, const void *return_address) {
    bool from_itself = false;
    c->library = preload_find_library(return_address, &from_itself);
    if (!c->library) {
        preload_log("%s%s: no CHOLMOD is loaded; GPUSOLVE_CHOLMOD=/path names one", c->is_long ? "l_" : "",
                    c->name);
        return false;
    }
    return !(passing && from_itself);
}

static int any_solve2(call *c, const void *return_address, preload_dense *B, preload_sparse *Bset,
                      preload_dense **X, preload_sparse **Xset, preload_dense **Y, preload_dense **E) {
    if (begin(c, return_address)) {
        passing = 0; /* an error handler may have left by a longjmp */
        const int answer = serve_solve2(c, B, Bset, X, Xset);
        if (answer != PASS)
            return answer;
    }
    if (!c->library)
        return 0;
    passing++;
    const int answer = PRELOAD_REAL(solve2_type, c->library, c->is_long, solve2)(c->sys, c->L, B, Bset, X,
                                                                                 Xset, Y, E, c->common);
    passing--;
    return answer;
}

static preload_dense *any_solve(call *c, const void *return_address, preload_dense *B) {
    preload_dense *X = NULL;
    if (begin(c, return_address)) {
        passing = 0;
        const int answer = serve_solve2(c, B, NULL, &X, NULL);
        if (answer == SERVED)
            return X;
        if (X)
            PRELOAD_REAL(free_dense_type, c->library, c->is_long, free_dense)(&X, c->common);
        if (answer == REFUSED)
            return NULL;
    }
    if (!c->library)
        return NULL;
    passing++;
    X = PRELOAD_REAL(solve_type, c->library, c->is_long, solve)(c->sys, c->L, B, c->common);
    passing--;
    return X;
}

/* CHOLMOD's own spsolve solves four columns at a time by cholmod_solve, which are served if they can be. */
static preload_sparse *any_spsolve(call *c, const void *return_address, preload_sparse *B) {
    preload_sparse *X = NULL;
    if (begin(c, return_address)) {
        passing = 0;
        if (serve_spsolve(c, B, &X) != PASS)
            return X;
    }
    return c->library
               ? PRELOAD_REAL(spsolve_type, c->library, c->is_long, spsolve)(c->sys, c->L, B, c->common)
               : NULL;
}

#define SOLVES(prefix, is_long)                                                                              \
    EXPORTED preload_dense *prefix##solve(int sys, preload_factor *L, preload_dense *B,                      \
                                          preload_common *common);                                           \
    EXPORTED int prefix##solve2(int sys, preload_factor *L, preload_dense *B, preload_sparse *Bset,          \
                                preload_dense **X, preload_sparse **Xset, preload_dense **Y,                 \
                                preload_dense **E, preload_common *common);                                  \
    EXPORTED preload_sparse *prefix##spsolve(int sys, preload_factor *L, preload_sparse *B,                  \
                                             preload_common *common);                                        \
    preload_dense *prefix##solve(int sys, preload_factor *L, preload_dense *B, preload_common *common) {     \
        call c = {"solve", NULL, is_long, sys, L, common, false};                                            \
        return any_solve(&c, __builtin_return_address(0), B);                                                \
    }                                                                                                        \
    int prefix##solve2(int sys, preload_factor *L, preload_dense *B, preload_sparse *Bset,                   \
                       preload_dense **X, preload_sparse **Xset, preload_dense **Y, preload_dense **E,       \
                       preload_common *common) {                                                             \
        call c = {"solve2", NULL, is_long, sys, L, common, false};                                           \
        return any_solve2(&c, __builtin_return_address(0), B, Bset, X, Xset, Y, E);                          \
    }                                                                                                        \
    preload_sparse *prefix##spsolve(int sys, preload_factor *L, preload_sparse *B, preload_common *common) { \
        call c = {"spsolve", NULL, is_long, sys, L, common, false};                                          \
        return any_spsolve(&c, __builtin_return_address(0), B);                                              \
    }

SOLVES(cholmod_, 0)
SOLVES(cholmod_l_, 1)
