/* Solving one call with gpusolve, once it is known that L, B and the rest are as CHOLMOD wants them. */
#ifndef PRELOAD_SERVE_H
#define PRELOAD_SERVE_H

#include "factors.h"
#include "libraries.h"

/* Is the solution of L and B computed in complex numbers? */
static inline bool preload_is_complex(int l_xtype, int b_xtype) {
    return l_xtype != PRELOAD_REAL || b_xtype != PRELOAD_REAL;
}

gpusolve_dtype preload_dtype(bool is_complex, int dtype);

/* X = system \ B, both dense, X allocated. False, with lease->why. X and B share no byte. */
bool preload_serve_dense(preload_lease *lease, int system, const preload_factor *L, const preload_dense *B,
                         preload_dense *X);

/* The same with one column, for the rows of Bset alone. Xset, which has room for all rows, gets those that they reach. */
bool preload_serve_rows(preload_lease *lease, int system, const preload_factor *L, const preload_dense *B,
                        const preload_sparse *Bset, preload_dense *X, preload_sparse *Xset);

/* X = system \ B, both sparse. like: a matrix of X's type, and with its rows. The new X, by this CHOLMOD; or NULL, with lease->why. */
preload_sparse *preload_serve_sparse(preload_lease *lease, int system, const preload_factor *L,
                                     const preload_sparse *B, const preload_sparse *like,
                                     const preload_library *library, preload_common *common);

#endif
