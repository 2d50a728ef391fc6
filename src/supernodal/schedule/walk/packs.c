/* See schedule/walk/packs.h. */
#include "packs.h"

#include <string.h>

/* A branch as it is listed. */
typedef struct walk {
    const gsv_branch *branch;
    const gsv_branch_node *nodes;
    const uint16_t *below, *levels;  /* levels: nodes of level k are levels[k] .. */
    int32_t count, leaves;           /* nodes, and those of the lowest level */
    uint16_t place[GSV_BRANCH_ROWS]; /* of the branch's columns that have one */
    /* by row of the vectors, the branch's columns and its outside rows: the last pack that has it, counted from 1, and where */
    uint16_t pack[2 * GSV_BRANCH_ROWS], at[2 * GSV_BRANCH_ROWS];
    uint16_t *to;
    int32_t length;
} walk;

static int is_small(const walk *w, int32_t k) {
    return k < w->leaves && w->nodes[k].nr <= GSV_PACK_LEAF && w->nodes[k].nc <= GSV_PACK_COLUMNS;
}

static void append(walk *w, int32_t value) {
    w->to[w->length++] = (uint16_t)value;
}

/* Place of row i below a node's columns. */
static int32_t place_below(const walk *w, const gsv_branch_node *node, int32_t i, int32_t own) {
    const int32_t row = w->below[node->below + i], columns = w->branch->columns;
    return row < columns ? w->place[row] : gsv_walk_place(own + row - columns);
}

/* Nodes in no pack; returns how many rows of the vectors their columns have. */
static int32_t list_nodes(walk *w) {
    int32_t own = 0, below = 0, level = 0;
    for (int32_t k = 0; k < w->count; k++) {
        level += k == w->levels[level + 1];
        if (is_small(w, k))
            continue;
        gsv_branch_node node = w->nodes[k];
        for (int32_t j = 0; j < node.nc; j++)
            w->place[node.column + j] = (uint16_t)gsv_walk_place(own + j);
        node.update = (uint16_t)own;
        node.below = (uint16_t)below;
        node.unit = (uint16_t)level;
        own += node.nc;
        below += node.nr - node.nc;
        memcpy(w->to + w->length, &node, sizeof node);
        w->length += (int32_t)(sizeof node / sizeof *w->to);
    }
    return own;
}

/* Where the pack that begins with leaf `first`, a small one, ends: as many columns as it can have. */
static int32_t end_of_pack(const walk *w, int32_t first) {
    int32_t columns = 0, k = first;
    for (; k < w->leaves; k++) {
        columns += is_small(w, k) ? w->nodes[k].nc : 0;
        if (columns > GSV_PACK_COLUMNS)
            break;
    }
    return k;
}

static int32_t next_small(const walk *w, int32_t k) {
    while (k < w->leaves && !is_small(w, k))
        k++;
    return k;
}

/* Another row of a pack; the map has GSV_NO_NUMBER for it and for as many as make a multiple of GSV_PACK_HEIGHT. */
static int32_t add_row(gsv_branch_pack *pack, uint16_t *map) {
    const int32_t at = pack->rows++;
    if (at % GSV_PACK_HEIGHT == 0)
        memset(map + GSV_PACK_COLUMNS * at, 0xff, GSV_PACK_COLUMNS * GSV_PACK_HEIGHT * sizeof *map);
    return at;
}

/* The small ones of the leaves first .. end - 1 as pack number `number`, counted from 1: its rows, and the map of its numbers. */
static void fill_pack(walk *w, int32_t first, int32_t end, int32_t own, int32_t number, gsv_branch_pack *pack,
                      uint16_t *rows, uint16_t *map) {
    memset(rows, 0, GSV_PACK_COLUMNS * sizeof *rows);
    pack->rows = 0;
    pack->nc = 0;
    while (pack->rows < GSV_PACK_COLUMNS)
        add_row(pack, map);
    for (int32_t k = first; k < end; k++) {
        if (!is_small(w, k))
            continue;
        const gsv_branch_node *node = &w->nodes[k];
        const int32_t nr = node->nr, nc = node->nc;
        for (int32_t i = 0; i < nr; i++) {
            int32_t at = pack->nc + i;
            if (i < nc) {
                rows[at] = (uint16_t)(node->column + i);
            } else { /* a row of one of the leaves before, or a new one */
                const int32_t place = place_below(w, node, i - nc, own), row = gsv_walk_row(place);
                if (w->pack[row] != number) {
                    w->pack[row] = (uint16_t)number;
                    w->at[row] = (uint16_t)add_row(pack, map);
                }
                at = w->at[row];
                rows[at] = (uint16_t)place;
            }
            for (int32_t j = 0; j < nc && j <= i; j++)
                map[GSV_PACK_COLUMNS * at + pack->nc + j] =
                    (uint16_t)(node->panel + gsv_narrow_column(nr, j) + i);
        }
        pack->nc = (uint16_t)(pack->nc + nc);
    }
}

/* Packs and their rows, and the map, whose length it returns. */
static int32_t list_packs(walk *w, int32_t own, gsv_branch_pack *packs, uint16_t *rows, uint16_t *map) {
    int32_t list = 0, heights = 0, count = 0;
    memset(w->pack, 0, sizeof w->pack);
    for (int32_t k = next_small(w, 0); k < w->leaves; count++) {
        const int32_t end = end_of_pack(w, k);
        gsv_branch_pack *pack = &packs[count];
        fill_pack(w, k, end, own, count + 1, pack, rows + list,
                  map + GSV_PACK_COLUMNS * GSV_PACK_HEIGHT * heights);
        pack->list = (uint16_t)list;
        pack->numbers = (uint16_t)heights;
        list += pack->rows;
        heights += (pack->rows + GSV_PACK_HEIGHT - 1) / GSV_PACK_HEIGHT;
        k = next_small(w, end);
    }
    w->length += list;
    return GSV_PACK_COLUMNS * GSV_PACK_HEIGHT * heights;
}

/* Rows that the packs have at most. */
static int32_t most_rows(const walk *w) {
    int32_t rows = 0;
    for (int32_t k = 0; k < w->leaves; k++)
        rows += is_small(w, k) ? GSV_PACK_COLUMNS + w->nodes[k].nr - w->nodes[k].nc : 0;
    return rows;
}

int32_t gsv_branch_walk_fill(gsv_branch *branch, const uint16_t *lists, uint16_t *to) {
    walk w = {.branch = branch,
              .nodes = (const gsv_branch_node *)lists,
              .below = lists + branch->at[GSV_AT_BELOW],
              .count = branch->end - branch->first,
              .levels = lists + branch->at[GSV_AT_LEVEL_NODES],
              .leaves = lists[branch->at[GSV_AT_LEVEL_NODES] + 1],
              .to = to};
    uint16_t *at = branch->walk;
    at[GSV_WALK_NODES] = 0;
    const int32_t own = list_nodes(&w);
    branch->walk_rows = (uint16_t)own;

    at[GSV_WALK_PACKS] = (uint16_t)w.length;
    gsv_branch_pack *packs = (gsv_branch_pack *)(to + w.length);
    for (int32_t k = next_small(&w, 0); k < w.leaves; k = next_small(&w, end_of_pack(&w, k)))
        w.length += (int32_t)(sizeof *packs / sizeof *to);

    at[GSV_WALK_BELOW] = (uint16_t)w.length;
    for (int32_t k = 0; k < w.count; k++)
        for (int32_t i = 0; !is_small(&w, k) && i < w.nodes[k].nr - w.nodes[k].nc; i++)
            append(&w, place_below(&w, &w.nodes[k], i, own));

    at[GSV_WALK_ROWS] = (uint16_t)w.length;
    uint16_t *rows = to + w.length, *behind = rows + most_rows(&w) + 7; /* where the map is made */
    const int32_t map = list_packs(&w, own, packs, rows, behind);
    while (w.length % 8)
        append(&w, 0);
    at[GSV_WALK_MAP] = (uint16_t)w.length;
    memmove(to + w.length, behind, (size_t)map * sizeof *to);
    at[GSV_WALK_END] = (uint16_t)(at[GSV_WALK_MAP] + map);
    return at[GSV_WALK_END];
}
