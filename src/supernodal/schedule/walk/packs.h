/*
 * What a warp reads that walks a branch for many right-hand sides (cuda/walk/eight.cuh). Plain C; follows from
 * the branch's lists alone.
 *
 * The warp's vectors have a row for each column of the branch, and then one for each outside row; a place is
 * where a row begins, in pairs of right-hand sides (gsv_walk_place). Small leaves, most of all nodes, stand in
 * packs: neighbours with up to GSV_PACK_COLUMNS columns in all, multiplied with as if they were one node. Its
 * rows are the leaves' columns, GSV_PACK_COLUMNS places for them, and from there on the union of their rows
 * below; its numbers are GSV_PACK_COLUMNS a row, zeros where a leaf has none. A block may have them packed, a copy in
 * the order in which they are read, or look up each one where it is wanted. Nobody adds to the columns of a
 * pack and nobody below reads them: they have no rows in the vectors.
 *
 * For few right-hand sides a team of warps walks for each eight of them (cuda/walk/team.cuh). Forward, for up to 16,
 * each of its warps has vectors of its own, which are added up. That takes time for every outside row: shells and elasticity,
 * which have many, take longer so than if the team had one vector, and grids in two and three dimensions less.
 *
 * Lists, 16-bit numbers in an array of their own, gsv_branches.walks:
 *
 *      nodes   gsv_branch_node for each that is in no pack, level by level; .update: its first row of the
 *              vectors; .below: where its rows below begin; .unit: its level
 *      packs   gsv_branch_pack
 *      below   for each row below a node's columns: its place
 *      rows    of the packs: columns of the branch, then places of the rows below
 *      map     of the packs' numbers: where each stands in the branch's panels, or GSV_NO_NUMBER for a zero
 */
#ifndef GSV_SCHEDULE_WALK_PACKS_H
#define GSV_SCHEDULE_WALK_PACKS_H

#include "../../../dense_kernels/panel_layout.h"
#include "branches.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_WALK_COLUMNS = 8, /* right-hand sides of a warp at a time, real ones, or real and imaginary parts */
    GSV_WALK_NUMBER = 8,  /* bytes of such a number */
    GSV_PACK_LEAF = 16,   /* rows of a small leaf at most; of its columns, as many as a pack has */
    GSV_PACK_COLUMNS = 4,
    GSV_PACK_HEIGHT = 8, /* a pack has numbers for a multiple of this number of rows */
    GSV_NO_NUMBER = 0xffff,
    GSV_WALK_LINE = 128, /* bytes: numbers and vectors in shared memory begin on multiples */
    GSV_TEAM_VECTORS = 4 /* vectors of a block at most, where teams walk forward */
};

typedef struct gsv_branch_pack {
    uint16_t numbers; /* start of its numbers in the map, in units of GSV_PACK_HEIGHT rows */
    uint16_t list;    /* start of its rows */
    uint16_t rows, nc;
} gsv_branch_pack;

/* Where row `row` of the vectors begins; its pair p is at this ^ p. Rows of a fragment are in different banks. */
static inline GSV_HOST_DEVICE int gsv_walk_place(int row) {
    return row * (GSV_WALK_COLUMNS / 2) + (row & 2);
}

/* The row that begins there. */
static inline GSV_HOST_DEVICE int gsv_walk_row(int place) {
    return place / (GSV_WALK_COLUMNS / 2);
}

/* 16-bit numbers that the lists have at most for a node with `below` rows below. */
static inline int64_t gsv_branch_walk_most(int64_t below) {
    return 8 + 4 + GSV_PACK_COLUMNS * (below + GSV_PACK_COLUMNS + GSV_PACK_HEIGHT) + 2 * below;
}

/* How the packs' numbers stand: looked up in the panels, or packed. */
typedef enum gsv_pack_form { GSV_LOOKED_UP, GSV_PACKED } gsv_pack_form;

/* Where things are in the shared memory of a block that walks the branch, in bytes; the panels begin at 0. */
typedef struct gsv_walk_room {
    int32_t lists, outside, numbers; /* the lists, the rows that the outside rows are, the packs' numbers */
    int32_t vectors, each;           /* of the warps, and bytes of a warp's */
} gsv_walk_room;

static inline GSV_HOST_DEVICE int32_t gsv_walk_up(int32_t bytes) {
    return (bytes + GSV_WALK_LINE - 1) / GSV_WALK_LINE * GSV_WALK_LINE;
}

/* number: bytes of a panel's, and of a pack's. */
static inline GSV_HOST_DEVICE gsv_walk_room gsv_branch_walk_room_of(const gsv_branch *branch,
                                                                    gsv_pack_form form, int32_t number) {
    enum { OVER = 31 }; /* numbers past the panels that a product may read, of what nobody writes */
    const int32_t map = branch->walk[GSV_WALK_END] - branch->walk[GSV_WALK_MAP];
    gsv_walk_room room;
    room.lists = gsv_walk_up(branch->numbers * number);
    room.outside = room.lists + 2 * branch->walk[GSV_WALK_END];
    room.numbers = gsv_walk_up(room.outside + 4 * branch->outside_rows);
    room.vectors = room.numbers + (form == GSV_PACKED ? map * number : 0);
    if (room.vectors < room.lists + gsv_walk_up(OVER * number))
        room.vectors = room.lists + gsv_walk_up(OVER * number);
    room.each = (branch->walk_rows + branch->outside_rows) * GSV_WALK_COLUMNS * GSV_WALK_NUMBER;
    return room;
}

/* For real numbers. */
static inline GSV_HOST_DEVICE gsv_walk_room gsv_branch_walk_room(const gsv_branch *branch,
                                                                 gsv_pack_form form) {
    return gsv_branch_walk_room_of(branch, form, GSV_WALK_NUMBER);
}

/* Bytes of shared memory of a block that walks the branch with `vectors` vectors. */
static inline GSV_HOST_DEVICE int32_t gsv_branch_walk_bytes(const gsv_branch *branch, gsv_pack_form form,
                                                            int vectors) {
    const gsv_walk_room room = gsv_branch_walk_room(branch, form);
    return room.vectors + vectors * room.each;
}

/* Fills branch->walk_rows and .walk, and writes the lists; `lists`: the branch's. Returns their length. It works in as much of `to` as
 * gsv_branch_walk_most says of all nodes, and 8 more. */
int32_t gsv_branch_walk_fill(gsv_branch *branch, const uint16_t *lists, uint16_t *to);

#ifdef __cplusplus
}
#endif
#endif
