/*
 * The routines that change a factor, or free it: each tells factors.c and goes on to CHOLMOD. An import that stands for the
 * factor's old numbers is refreshed or dropped at a later solve. CHOLMOD calls many of these itself; telling twice does no harm.
 */
#include "factors.h"
#include "libraries.h"

#define EXPORTED __attribute__((visibility("default")))

/* int prefix##name(parameters) that changes L; arguments are the parameters' names. A version without it gives FALSE. */
#define CHANGES(prefix, is_long, name, parameters, arguments)                                     \
    EXPORTED int prefix##name parameters;                                                         \
    int prefix##name parameters {                                                                 \
        typedef int name##_type parameters;                                                       \
        const preload_library *library = preload_find_library(__builtin_return_address(0), NULL); \
        preload_factor_changes(L);                                                                \
        if (!library || !library->call[is_long][REAL_##name])                                     \
            return 0;                                                                             \
        return PRELOAD_REAL(name##_type, library, is_long, name) arguments;                       \
    }

#define COMMON preload_common *common
#define FACTOR preload_factor *L
#define MATRIX preload_sparse
#define DENSE preload_dense

/* integer: int32_t or int64_t. */
#define ALL_CHANGES(prefix, is_long, integer)                                                                \
    CHANGES(prefix, is_long, factorize, (MATRIX * A, FACTOR, COMMON), (A, L, common))                        \
    CHANGES(prefix, is_long, factorize_p,                                                                    \
            (MATRIX * A, double beta[2], integer *fset, size_t fsize, FACTOR, COMMON),                       \
            (A, beta, fset, fsize, L, common))                                                               \
    CHANGES(prefix, is_long, super_numeric, (MATRIX * A, MATRIX * F, double beta[2], FACTOR, COMMON),        \
            (A, F, beta, L, common))                                                                         \
    CHANGES(prefix, is_long, super_symbolic, (MATRIX * A, MATRIX * F, integer * Parent, FACTOR, COMMON),     \
            (A, F, Parent, L, common))                                                                       \
    CHANGES(prefix, is_long, super_symbolic2,                                                                \
            (int for_whom, MATRIX *A, MATRIX *F, integer *Parent, FACTOR, COMMON),                           \
            (for_whom, A, F, Parent, L, common))                                                             \
    CHANGES(prefix, is_long, rowfac,                                                                         \
            (MATRIX * A, MATRIX * F, double beta[2], size_t kstart, size_t kend, FACTOR, COMMON),            \
            (A, F, beta, kstart, kend, L, common))                                                           \
    CHANGES(prefix, is_long, rowfac_mask,                                                                    \
            (MATRIX * A, MATRIX * F, double beta[2], size_t kstart, size_t kend, integer *mask,              \
             integer *RLinkUp, FACTOR, COMMON),                                                              \
            (A, F, beta, kstart, kend, mask, RLinkUp, L, common))                                            \
    CHANGES(prefix, is_long, rowfac_mask2,                                                                   \
            (MATRIX * A, MATRIX * F, double beta[2], size_t kstart, size_t kend, integer *mask,              \
             integer maskmark, integer *RLinkUp, FACTOR, COMMON),                                            \
            (A, F, beta, kstart, kend, mask, maskmark, RLinkUp, L, common))                                  \
    CHANGES(prefix, is_long, updown, (int update, MATRIX *C, FACTOR, COMMON), (update, C, L, common))        \
    CHANGES(prefix, is_long, updown_solve, (int update, MATRIX *C, FACTOR, DENSE *X, DENSE *DeltaB, COMMON), \
            (update, C, L, X, DeltaB, common))                                                               \
    CHANGES(prefix, is_long, updown_mark,                                                                    \
            (int update, MATRIX *C, integer *colmark, FACTOR, DENSE *X, DENSE *DeltaB, COMMON),              \
            (update, C, colmark, L, X, DeltaB, common))                                                      \
    CHANGES(                                                                                                 \
        prefix, is_long, updown_mask,                                                                        \
        (int update, MATRIX *C, integer *colmark, integer *mask, FACTOR, DENSE *X, DENSE *DeltaB, COMMON),   \
        (update, C, colmark, mask, L, X, DeltaB, common))                                                    \
    CHANGES(prefix, is_long, updown_mask2,                                                                   \
            (int update, MATRIX *C, integer *colmark, integer *mask, integer maskmark, FACTOR, DENSE *X,     \
             DENSE *DeltaB, COMMON),                                                                         \
            (update, C, colmark, mask, maskmark, L, X, DeltaB, common))                                      \
    CHANGES(prefix, is_long, rowadd, (size_t k, MATRIX * R, FACTOR, COMMON), (k, R, L, common))              \
    CHANGES(prefix, is_long, rowadd_solve,                                                                   \
            (size_t k, MATRIX * R, double bk[2], FACTOR, DENSE *X, DENSE *DeltaB, COMMON),                   \
            (k, R, bk, L, X, DeltaB, common))                                                                \
    CHANGES(prefix, is_long, rowadd_mark,                                                                    \
            (size_t k, MATRIX * R, double bk[2], integer *colmark, FACTOR, DENSE *X, DENSE *DeltaB, COMMON), \
            (k, R, bk, colmark, L, X, DeltaB, common))                                                       \
    CHANGES(prefix, is_long, rowdel, (size_t k, MATRIX * R, FACTOR, COMMON), (k, R, L, common))              \
    CHANGES(prefix, is_long, rowdel_solve,                                                                   \
            (size_t k, MATRIX * R, double yk[2], FACTOR, DENSE *X, DENSE *DeltaB, COMMON),                   \
            (k, R, yk, L, X, DeltaB, common))                                                                \
    CHANGES(prefix, is_long, rowdel_mark,                                                                    \
            (size_t k, MATRIX * R, double yk[2], integer *colmark, FACTOR, DENSE *X, DENSE *DeltaB, COMMON), \
            (k, R, yk, colmark, L, X, DeltaB, common))                                                       \
    CHANGES(prefix, is_long, resymbol, (MATRIX * A, integer * fset, size_t fsize, int pack, FACTOR, COMMON), \
            (A, fset, fsize, pack, L, common))                                                               \
    CHANGES(prefix, is_long, resymbol_noperm,                                                                \
            (MATRIX * A, integer * fset, size_t fsize, int pack, FACTOR, COMMON),                            \
            (A, fset, fsize, pack, L, common))                                                               \
    CHANGES(prefix, is_long, change_factor,                                                                  \
            (int to_xtype, int to_ll, int to_super, int to_packed, int to_monotonic, FACTOR, COMMON),        \
            (to_xtype, to_ll, to_super, to_packed, to_monotonic, L, common))                                 \
    CHANGES(prefix, is_long, pack_factor, (FACTOR, COMMON), (L, common))                                     \
    CHANGES(prefix, is_long, factor_xtype, (int to_xtype, FACTOR, COMMON), (to_xtype, L, common))            \
    CHANGES(prefix, is_long, reallocate_factor, (size_t nznew, FACTOR, COMMON), (nznew, L, common))          \
    CHANGES(prefix, is_long, reallocate_column, (size_t j, size_t need, FACTOR, COMMON),                     \
            (j, need, L, common))                                                                            \
    OTHERS(prefix, is_long)

/* The three of another shape. */
#define OTHERS(prefix, is_long)                                                                    \
    EXPORTED preload_sparse *prefix##factor_to_sparse(FACTOR, COMMON);                             \
    EXPORTED int prefix##free_factor(preload_factor **L, COMMON);                                  \
    EXPORTED int prefix##finish(COMMON);                                                           \
    preload_sparse *prefix##factor_to_sparse(FACTOR, COMMON) {                                     \
        typedef preload_sparse *type(FACTOR, COMMON);                                              \
        const preload_library *library = preload_find_library(__builtin_return_address(0), NULL);  \
        preload_factor_changes(L);                                                                 \
        return library ? PRELOAD_REAL(type, library, is_long, factor_to_sparse)(L, common) : NULL; \
    }                                                                                              \
    int prefix##free_factor(preload_factor **L, COMMON) {                                          \
        typedef int type(preload_factor **L, COMMON);                                              \
        const preload_library *library = preload_find_library(__builtin_return_address(0), NULL);  \
        preload_factor_ends(L ? *L : NULL);                                                        \
        return library ? PRELOAD_REAL(type, library, is_long, free_factor)(L, common) : 0;         \
    }                                                                                              \
    int prefix##finish(COMMON) {                                                                   \
        typedef int type(COMMON);                                                                  \
        const preload_library *library = preload_find_library(__builtin_return_address(0), NULL);  \
        preload_common_ends(common);                                                               \
        return library ? PRELOAD_REAL(type, library, is_long, finish)(common) : 0;                 \
    }

ALL_CHANGES(cholmod_, 0, int32_t)
ALL_CHANGES(cholmod_l_, 1, int64_t)
