/*
 * Limbs: the lowest part of the upper tree (what is in no branch, branches.h) for a block of right-hand sides,
 * forward. A limb is a subtree of the upper tree that one block of threads walks from its leaves to its root,
 * with the update vectors in shared memory, and the panels on their way there long before they are wanted
 * (cuda/walk/limb.cuh). What the rest of the tree sees of it is its root's update vector. Plain C; follows from the
 * pattern alone.
 *
 * The walk is a sequence of chunks: a chunk is a supernode's panel, or some block rows of it, and with the first
 * one of a supernode come its lists.
 *
 * A limb works with GSV_LIMB_ROWS rows of eight right-hand sides: update vectors, and what a supernode begins with,
 * y of its columns and behind them the update rows of branches below it, which come while the supernode before it
 * is being multiplied with (the first one's while the root of another limb is). Whoever has been read makes room
 * for others. The first supernode's are the first rows, the root's update vector has the last that are free, so
 * that they are rarely in each other's way (gsv_limb_collides). Lists of a supernode, 16-bit numbers:
 *
 *      owed     [nr] which of these rows a row of the front is owed, or GSV_LIMB_NOTHING; of several,
 *               GSV_LIMB_MORE and where in the lists they begin
 *      several  one after the other, children ascending; all but a row's last one with GSV_LIMB_MORE
 */
#ifndef GSV_SCHEDULE_WALK_LIMBS_H
#define GSV_SCHEDULE_WALK_LIMBS_H

#include "../../../dense_kernels/panel_layout.h"
#include "../../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_LIMB_COST = 4096, /* the cost of a supernode by itself, in numbers of a panel */
    GSV_LIMB_WIDEST = 64, /* columns of a supernode at most */
    GSV_LIMB_ROWS = 864,
    GSV_LIMB_NOTHING = GSV_LIMB_ROWS, /* no row */
    GSV_LIMB_MORE = 32768,            /* a bit of a list's numbers */
    GSV_LIMB_RING = 51200,            /* bytes */
    GSV_LIMB_CHUNK = 24576, /* bytes of a chunk at most, but of a narrow supernode, and of one block row */
    GSV_LIMB_CHUNKS = 32,   /* of a limb at most */
    GSV_LIMB_RUNS = 2,      /* runs of update rows that a supernode has of branches, at most */
    GSV_LIMB_OWED = 4096,   /* terms of a front at most */
    GSV_LIMB_AHEAD = 8,     /* chunks in the ring at most */
    GSV_LIMB_VECTORS = 8,   /* right-hand sides of a walk */
    GSV_LIMB_LINE = 128     /* bytes: places in the ring are multiples of it */
};

/* 64 bytes, for a device's sake. What is of the supernode is the same in all its chunks, but for list_length and
 * chunks. */
typedef struct gsv_limb_chunk {
    int64_t panel;   /* its first number */
    int32_t numbers; /* of its panel */
    uint32_t lists;  /* where the supernode's begin, in 16-bit numbers: a multiple of eight */
    uint32_t update; /* of a limb's root: row of its update vector */
    int32_t first_column;
    uint32_t from[GSV_LIMB_RUNS];    /* update rows that branches leave the supernode: first ones, */
    uint16_t brought[GSV_LIMB_RUNS]; /* and how many follow each other */
    uint16_t nr, nc;
    uint16_t row, rows;         /* of the front: first one and number of those that it has; narrow: all */
    uint16_t place, staged;     /* rows of its update vector, and of what it begins with: the first ones */
    uint16_t list_length;       /* 16-bit numbers, a multiple of eight; 0: not the first chunk */
    uint16_t chunks;            /* of its supernode, with the first one; else 0 */
    uint8_t narrow, root, last; /* last: of its supernode */
    uint8_t unused[9];
} gsv_limb_chunk;

typedef struct gsv_limb {
    int32_t first, chunks;
} gsv_limb;

typedef struct gsv_limb_root {
    int32_t cost, s;
    int32_t chunks, lists; /* as many as it can have */
} gsv_limb_root;

typedef struct gsv_limbs {
    int32_t count, nchunks;
    gsv_limb_root *root;   /* [count] the one that costs most first */
    gsv_limb *limb;        /* [count] in the same order */
    gsv_limb_chunk *chunk; /* [nchunks] */
    int64_t nlists;
    uint16_t *lists; /* [nlists] */
    uint8_t *in;     /* [nsuper] 1: it is in a limb */
    int64_t bytes;   /* memory of all this */
} gsv_limbs;

/* Where a chunk's panel stands in its place in the ring, behind the lists, in bytes: up to 12 more. */
static inline GSV_HOST_DEVICE int32_t gsv_limb_panel(const gsv_limb_chunk *c) {
    return (2 * c->list_length + GSV_LIMB_LINE - 1) / GSV_LIMB_LINE * GSV_LIMB_LINE;
}

static inline GSV_HOST_DEVICE int32_t gsv_limb_bytes(const gsv_limb_chunk *c) {
    return gsv_limb_panel(c) + (8 * (c->numbers + 2) + GSV_LIMB_LINE - 1) / GSV_LIMB_LINE * GSV_LIMB_LINE;
}

/* Rows of what a supernode begins with. */
static inline GSV_HOST_DEVICE int32_t gsv_limb_staged_rows(const gsv_limb_chunk *c) {
    return c->nc + c->brought[0] + c->brought[1];
}

/* Are some of the first supernode's where another limb's root has its update vector? */
static inline GSV_HOST_DEVICE int gsv_limb_collides(const gsv_limb_chunk *root, const gsv_limb_chunk *first) {
    return first->staged < root->place + root->nr - root->nc &&
           root->place < first->staged + gsv_limb_staged_rows(first);
}

/* Which supernodes are in limbs: fills count, root and in. of: gsv_branches.of; upper: the supernodes in no branch, ascending. */
struct gsv_supernode_list;
gpusolve_status gsv_limbs_choose(const gsv_plan *plan, const int32_t *of,
                                 const struct gsv_supernode_list *upper, gsv_limbs *limbs,
                                 gsv_message *message);
/* The rest, once plan->schedule has panel_ptr and update_place, and `of` as it was: memory for `threads` threads; then they fill limbs begin
 * .. end - 1, in any order, each as another member; and when all are filled their lists lose the gaps. After gsv_limbs_begin
 * gsv_limbs_end has to come in any case. */
typedef struct gsv_limbs_draft gsv_limbs_draft;
gpusolve_status gsv_limbs_begin(const gsv_plan *plan, int threads, gsv_limbs *limbs, gsv_limbs_draft **draft,
                                gsv_message *message);
void gsv_limbs_fill(const gsv_limbs_draft *draft, int32_t begin, int32_t end, int member);
void gsv_limbs_close(const gsv_limbs_draft *draft);
void gsv_limbs_end(gsv_limbs_draft *draft);
void gsv_limbs_free(gsv_limbs *limbs); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
