/*
 * What part of the tree a solve must walk when b has few nonzero rows, or few rows of x are wanted. Plain C,
 * from the pattern alone.
 *
 * Forward substitution of a b that is zero outside some rows is zero outside the supernodes on the paths from
 * these rows' supernodes to their roots; and backward substitution at a supernode reads its ancestors alone.
 * Both reaches are closed under "parent", so that a reach, renumbered, is the structure of a factor by
 * itself: whatever runs a plan runs it.
 *
 * The first: J. Gilbert, Predicting structure in sparse matrix computations, SIAM J. Matrix Anal. Appl. 15
 * (1994); for a Cholesky factor paths in the elimination tree are all there is to it.
 */
#ifndef GSV_TREE_REACH_H
#define GSV_TREE_REACH_H

#include "plan.h"

/* The supernode that holds column j. */
int32_t gsv_supernode_of(const gsv_plan *plan, int32_t j);

/* Mark in reach [nsuper] the supernodes from those of the rows, counted in L's order, up to the roots. Marks
 * that are there stay, and what is above them is taken for marked. Returns how many are new. */
int32_t gsv_reach_mark(const gsv_plan *plan, int64_t count, const int32_t *rows, uint8_t *reach);

/*
 * The structure of L with the columns of a reach alone: supernode k of it is supernodes[k] of the plan,
 * ascending. shift [nsuper]: column j of a marked supernode s is column j + shift[s] of it; other entries
 * are not written. supernodes has room for as many as are marked. GPUSOLVE_OUT_OF_MEMORY.
 */
gpusolve_status gsv_reach_structure(const gsv_plan *plan, const uint8_t *reach, int32_t *supernodes,
                                    int32_t *shift, gsv_structure *structure, gsv_message *message);

#endif
