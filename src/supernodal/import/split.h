/*
 * Splitting supernodes. CUDA multiplies by the inverses of the diagonal triangles (schedule/schedule.h). Where a triangle is
 * too ill-conditioned for its inverse to be trusted (trsm/cuda/panels/inverse.h), its supernode is split into
 * slices, narrower supernodes whose triangles are not: columns a .. m - 1 keep all rows, columns m .. b - 1 keep
 * the rows from m on, and so forth. A slice's parent is the next slice. One column can always be inverted, so
 * there is always a split. What follows from the structure, the tree and all tasks, is planned anew, and nobody
 * else knows of slices but the import, which finds a slice's numbers inside the caller's panel.
 *
 *      filling in values finds cuts --> gsv_structure_split --> tree --> filling, which finds none --> the rest
 */
#ifndef GSV_IMPORT_SPLIT_H
#define GSV_IMPORT_SPLIT_H

#include "../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where supernodes must be cut, as preparing a factor has found. */
typedef struct gsv_cuts {
    uint8_t *at; /* [n] 1: a supernode must begin with this column; NULL: there are no cuts */
} gsv_cuts;

void gsv_cuts_free(gsv_cuts *cuts); /* frees the array, leaves NULL */

/* The structure with these cuts, which may be split already; `from` is left as it is. to->slice_ptr leads back to
 * the caller's supernodes. Linear in the rows of the result. GPUSOLVE_OUT_OF_MEMORY: to is empty. */
gpusolve_status gsv_structure_split(const gsv_structure *from, const uint8_t *at, gsv_structure *to,
                                    gsv_message *message);

#ifdef __cplusplus
}
#endif
#endif
