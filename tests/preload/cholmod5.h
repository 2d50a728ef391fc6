/* A stand-in for CHOLMOD 5: as much of it as program_single.c calls, with a cholmod_common unlike any other. */
#ifndef PRELOAD_CHOLMOD5_H
#define PRELOAD_CHOLMOD5_H

#include "preload/cholmod_objects.h"

struct preload_common {
    char unlike[3000];
    int status;
    long blocks; /* allocated, not freed */
};

#define STAND_IN __attribute__((visibility("default")))

STAND_IN int cholmod_start(preload_common *common);
STAND_IN preload_dense *cholmod_solve(int sys, preload_factor *L, preload_dense *B, preload_common *common);
STAND_IN int cholmod_solve2(int sys, preload_factor *L, preload_dense *B, preload_sparse *Bset,
                            preload_dense **X, preload_sparse **Xset, preload_dense **Y, preload_dense **E,
                            preload_common *common);
STAND_IN preload_dense *cholmod_ensure_dense(preload_dense **X, size_t nrow, size_t ncol, size_t d,
                                             int xdtype, preload_common *common);
STAND_IN int cholmod_free_dense(preload_dense **X, preload_common *common);
STAND_IN int cholmod_pack_factor(preload_factor *L, preload_common *common);

#endif
