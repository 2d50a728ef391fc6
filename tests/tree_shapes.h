/*
 * Trees that no ordering of a grid makes: chains, bands, stars, combs, bushes, brooms and forests, thin and
 * wide, and a factor L L' of each. What threads can gain on them differs most.
 */
#ifndef TREE_SHAPES_H
#define TREE_SHAPES_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusolve.h"

/* Supernodes by rising number, parents after children: columns, rows below, parent (-1: a root). The rows
 * below are the first ones of the parent's. */
typedef struct tree {
    int32_t count;
    int32_t *columns, *below, *parent;
} tree;

static inline void *tree_array(size_t count, size_t bytes) {
    void *memory = calloc(count + 1, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static inline tree tree_new(int32_t count) {
    return (tree){count, tree_array((size_t)count, 4), tree_array((size_t)count, 4),
                  tree_array((size_t)count, 4)};
}

static inline void tree_free(tree *t) {
    free(t->columns);
    free(t->below);
    free(t->parent);
}

static inline void tree_set(tree *t, int32_t s, int32_t columns, int32_t below, int32_t parent) {
    t->columns[s] = columns;
    t->below[s] = below;
    t->parent[s] = parent;
}

/* Chains side by side: supernode s of the k-th is at k * length + s. With `joined`, their ends have one
 * parent more. */
static inline tree tree_chains(int32_t count, int32_t length, int32_t columns, int32_t below, int joined) {
    tree t = tree_new(count * length + joined);
    for (int32_t k = 0; k < count; k++)
        for (int32_t s = 0; s < length; s++)
            tree_set(&t, k * length + s, columns, below,
                     s < length - 1 ? k * length + s + 1
                     : joined       ? count * length
                                    : -1);
    if (joined)
        tree_set(&t, count * length, columns, 0, -1);
    return t;
}

/* Leaves under one root. */
static inline tree tree_star(int32_t leaves, int32_t columns, int32_t below, int32_t root) {
    tree t = tree_new(leaves + 1);
    for (int32_t s = 0; s < leaves; s++)
        tree_set(&t, s, columns, below, leaves);
    tree_set(&t, leaves, root, 0, -1);
    return t;
}

/* A chain, the back, and on each of its supernodes a chain, the tooth. */
static inline tree tree_comb(int32_t teeth, int32_t length, int32_t columns, int32_t below, int32_t back,
                             int32_t back_below) {
    const int32_t group = length + 1;
    tree t = tree_new(teeth * group);
    for (int32_t k = 0; k < teeth; k++) {
        for (int32_t s = 0; s < length; s++)
            tree_set(&t, k * group + s, columns, below, k * group + s + 1);
        tree_set(&t, k * group + length, back, back_below, k < teeth - 1 ? (k + 1) * group + length : -1);
    }
    return t;
}

/* Every supernode has `arity` children, `levels` deep; in the order of a postorder. Columns and rows grow by
 * `growth` from level to level. */
static inline int32_t tree_grow(tree *t, int32_t at, int32_t level, int32_t arity, double columns,
                                double below, double growth) {
    int32_t first = at, child[64] = {0};
    for (int32_t k = 0; level > 0 && k < arity; k++)
        child[k] = first = tree_grow(t, first, level - 1, arity, columns, below, growth);
    tree_set(t, first, (int32_t)(columns * pow(growth, level)), (int32_t)(below * pow(growth, level)), -1);
    for (int32_t k = 0; level > 0 && k < arity; k++)
        t->parent[child[k] - 1] = first;
    return first + 1;
}

static inline tree tree_bush(int32_t levels, int32_t arity, double columns, double below, double growth) {
    int32_t count = 1;
    for (int32_t k = 0; k < levels; k++)
        count = count * arity + 1;
    tree t = tree_new(count);
    tree_grow(&t, 0, levels, arity, columns, below, growth);
    return t;
}

/* A bush under a chain. */
static inline tree tree_broom(int32_t levels, int32_t length, int32_t columns, int32_t below) {
    tree from = tree_bush(levels, 2, columns, below, 1);
    tree t = tree_new(from.count + length);
    for (int32_t s = 0; s < from.count; s++)
        tree_set(&t, s, from.columns[s], from.below[s], from.parent[s] < 0 ? from.count : from.parent[s]);
    for (int32_t s = 0; s < length; s++)
        tree_set(&t, from.count + s, columns, below, s < length - 1 ? from.count + s + 1 : -1);
    tree_free(&from);
    return t;
}

typedef enum tree_kind { TREE_CHAINS, TREE_STAR, TREE_COMB, TREE_BUSH, TREE_BROOM } tree_kind;

typedef struct tree_shape {
    const char *name;
    tree_kind kind;
    int32_t a, b, c, d, e, f;
} tree_shape;

static const tree_shape tree_shapes[] = {
    {"chain-1x1", TREE_CHAINS, 1, 200000, 1, 1, 0, 0},     {"chain-4x4", TREE_CHAINS, 1, 60000, 4, 4, 0, 0},
    {"band-10", TREE_CHAINS, 1, 20000, 5, 10, 0, 0},       {"band-40", TREE_CHAINS, 1, 4000, 20, 40, 0, 0},
    {"band-150", TREE_CHAINS, 1, 500, 40, 150, 0, 0},      {"band-300", TREE_CHAINS, 1, 200, 64, 300, 0, 0},
    {"band-600", TREE_CHAINS, 1, 60, 64, 600, 0, 0},       {"wide-128", TREE_CHAINS, 1, 200, 128, 128, 0, 0},
    {"wide-300", TREE_CHAINS, 1, 40, 300, 300, 0, 0},      {"wide-1000", TREE_CHAINS, 1, 4, 1000, 1000, 0, 0},
    {"dense-2000", TREE_CHAINS, 1, 1, 2000, 0, 0, 0},      {"dense-64", TREE_CHAINS, 1, 1, 64, 0, 0, 0},
    {"dense-300", TREE_CHAINS, 1, 1, 300, 0, 0, 0},        {"two-chains", TREE_CHAINS, 2, 100000, 1, 1, 1, 0},
    {"two-bands", TREE_CHAINS, 2, 2000, 20, 40, 1, 0},     {"forest-64", TREE_CHAINS, 64, 300, 8, 16, 0, 0},
    {"forest-100000", TREE_CHAINS, 100000, 1, 2, 0, 0, 0}, {"forest-small", TREE_CHAINS, 40, 10, 4, 8, 0, 0},
    {"star-thin", TREE_STAR, 100000, 1, 1, 1, 0, 0},       {"star-64", TREE_STAR, 20000, 4, 60, 64, 0, 0},
    {"star-wide", TREE_STAR, 300, 20, 200, 600, 0, 0},     {"star-small", TREE_STAR, 200, 2, 4, 4, 0, 0},
    {"comb-thin", TREE_COMB, 50000, 1, 1, 1, 1, 1},        {"comb-leaves", TREE_COMB, 10000, 1, 4, 8, 8, 16},
    {"comb-teeth", TREE_COMB, 300, 100, 4, 8, 8, 16},      {"comb-back", TREE_COMB, 1000, 3, 2, 4, 30, 60},
    {"comb-wide", TREE_COMB, 60, 30, 8, 16, 100, 200},     {"comb-small", TREE_COMB, 30, 4, 4, 8, 8, 16},
    {"binary-thin", TREE_BUSH, 16, 2, 1, 2, 100, 0},       {"binary-equal", TREE_BUSH, 11, 2, 8, 16, 100, 0},
    {"binary-growing", TREE_BUSH, 10, 2, 4, 8, 140, 0},    {"binary-small", TREE_BUSH, 6, 2, 4, 8, 110, 0},
    {"broom-thin", TREE_BROOM, 14, 30000, 2, 4, 0, 0},     {"broom-long", TREE_BROOM, 10, 10000, 8, 16, 0, 0},
};

static inline tree tree_of(const tree_shape *s) {
    switch (s->kind) {
    case TREE_CHAINS:
        return tree_chains(s->a, s->b, s->c, s->d, s->e);
    case TREE_STAR:
        return tree_star(s->a, s->b, s->c, s->d);
    case TREE_COMB:
        return tree_comb(s->a, s->b, s->c, s->d, s->e, s->f);
    case TREE_BUSH:
        return tree_bush(s->a, s->b, s->c, s->d, s->e / 100.0);
    default:
        return tree_broom(s->a, s->b, s->c, s->d);
    }
}

/* ------------------------------------------------------------------------------------- the factor --- */

/* L of a tree: as CHOLMOD has it, small numbers beside a diagonal of ones. */
static inline gpusolve_factor_data tree_factor(const tree *t) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    int32_t *super = tree_array((size_t)t->count + 1, 4), *pi = tree_array((size_t)t->count + 1, 4),
            *px = tree_array((size_t)t->count + 1, 4), *below = tree_array((size_t)t->count, 4);
    for (int32_t s = t->count - 1; s >= 0; s--) {
        const int32_t p = t->parent[s], most = p < 0 ? 0 : t->columns[p] + below[p];
        below[s] = t->below[s] < most ? t->below[s] : most;
    }
    for (int32_t s = 0; s < t->count; s++) {
        const int32_t rows = t->columns[s] + below[s];
        super[s + 1] = super[s] + t->columns[s];
        pi[s + 1] = pi[s] + rows;
        px[s + 1] = px[s] + rows * t->columns[s];
    }
    int32_t *row = tree_array((size_t)pi[t->count], 4);
    double *x = tree_array((size_t)px[t->count], sizeof *x);
    for (int32_t s = t->count - 1; s >= 0; s--) {
        const int32_t nc = t->columns[s], nr = nc + below[s];
        for (int32_t i = 0; i < nc; i++)
            row[pi[s] + i] = super[s] + i;
        if (below[s] > 0)
            memcpy(row + pi[s] + nc, row + pi[t->parent[s]], (size_t)below[s] * sizeof *row);
        for (int32_t k = 0; k < nc; k++)
            for (int32_t i = k; i < nr; i++)
                x[px[s] + k * nr + i] = i == k ? 1 : 0.1 * ((i + 7 * k) % 11 - 5) / nr;
    }
    free(below);
    data.kind = GPUSOLVE_SUPERNODAL_LL;
    data.n = data.minor = super[t->count];
    data.nsuper = t->count;
    data.ssize = pi[t->count];
    data.xsize = px[t->count];
    data.super = super;
    data.pi = pi;
    data.px = px;
    data.s = row;
    data.x = x;
    return data;
}

static inline void tree_factor_free(gpusolve_factor_data *data) {
    free((void *)data->super);
    free((void *)data->pi);
    free((void *)data->px);
    free((void *)data->s);
    free((void *)data->x);
}

#endif
