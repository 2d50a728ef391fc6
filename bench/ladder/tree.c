/* From the arrays of a factor to a ladder_tree: supernodes, what each owes to which row, and the panels inverted. */
#include <stdlib.h>
#include <string.h>

#include "ladder.h"

static void *allocate(int64_t count, size_t size) {
    return calloc((size_t)count + 1, size);
}

/* Nodes, rows and L's panels, with zeros above the diagonal. */
static int copy_factor(const gpusolve_factor_data *f, ladder_tree *t) {
    const int32_t *super = f->super, *pi = f->pi, *px = f->px;
    ladder_node at = {0};

    for (int32_t s = 0; s < t->nsuper; s++) {
        const int32_t nc = super[s + 1] - super[s], nr = pi[s + 1] - pi[s];

        at.nc = nc;
        at.nr = nr;
        at.parent = -1;
        t->node[s] = at;
        at.panel += (int64_t)nc * ladder_ld(nr);
        at.column += nc;
        at.row += nr;
        at.update += nr - nc;
    }
    t->node[t->nsuper] = at;
    t->numbers = at.panel;
    t->rows = allocate(at.row, sizeof *t->rows);
    t->l = allocate(at.panel, sizeof *t->l);
    if (!t->rows || !t->l)
        return -1;
    memcpy(t->rows, f->s, (size_t)at.row * sizeof *t->rows);
    for (int32_t s = 0; s < t->nsuper; s++) {
        const ladder_node *node = &t->node[s];
        const double *from = (const double *)f->x + px[s];

        for (int32_t k = 0; k < node->nc; k++)
            memcpy(t->l + node->panel + (int64_t)k * ladder_ld(node->nr) + k,
                   from + (int64_t)k * node->nr + k, (size_t)(node->nr - k) * sizeof *from);
    }
    return 0;
}

/* The parent holds the first row below a supernode's columns. owner: [n] the supernode of a column. start: [nsuper + 2]
 * zeros, for a sort by levels. */
static void find_parents(ladder_tree *t, const int32_t *owner, int32_t *start) {
    for (int32_t s = 0; s < t->nsuper; s++) {
        ladder_node *node = &t->node[s];

        start[t->level[s] + 1]++; /* all of its children have been here */
        if (node->nr == node->nc)
            continue;
        node->parent = owner[t->rows[node->row + node->nc]];
        if (t->level[node->parent] <= t->level[s])
            t->level[node->parent] = t->level[s] + 1;
    }
    for (int32_t l = 0; l < t->nsuper; l++)
        start[l + 1] += start[l];
    for (int32_t s = 0; s < t->nsuper; s++)
        t->order[start[t->level[s]]++] = s;
}

/* Each number of each update vector is owed to one row of the parent's front. to: [updates] that row. */
static int find_owed(ladder_tree *t, int32_t *to) {
    const int32_t rows = t->node[t->nsuper].row, updates = t->node[t->nsuper].update;

    for (int32_t s = 0; s < t->nsuper; s++) {
        const ladder_node *node = &t->node[s];
        const ladder_node *parent = node->parent < 0 ? NULL : &t->node[node->parent];
        int32_t k = 0; /* both lists ascend */

        for (int32_t i = node->nc; i < node->nr; i++) {
            while (k < parent->nr && t->rows[parent->row + k] != t->rows[node->row + i])
                k++;
            if (k == parent->nr)
                return -1;
            to[node->update + i - node->nc] = parent->row + k;
            t->gather_ptr[parent->row + k + 1]++;
        }
    }
    for (int32_t r = 0; r < rows; r++)
        t->gather_ptr[r + 1] += t->gather_ptr[r];
    for (int32_t e = updates - 1; e >= 0; e--) /* from the back: each row's end becomes its beginning */
        t->gather[--t->gather_ptr[to[e] + 1]] = e;
    memmove(t->gather_ptr, t->gather_ptr + 1, (size_t)rows * sizeof *t->gather_ptr);
    t->gather_ptr[rows] = updates;
    return 0;
}

/* [W; -M]: column k is what forward substitution makes of the k-th unit vector. */
static void invert(ladder_tree *t, const int32_t *owner) {
#pragma omp parallel for schedule(dynamic, 16)
    for (int32_t column = 0; column < t->n; column++) {
        const ladder_node *node = &t->node[owner[column]];
        const int64_t ld = ladder_ld(node->nr), first = column - node->column;
        const double *l = t->l + node->panel + first * ld;
        double *v = t->inverse + node->panel + first * ld;

        v[first] = 1;
        for (int64_t k = first; k < node->nc; k++, l += ld) {
            const double x = v[k] /= l[k];

            for (int64_t i = k + 1; i < node->nr; i++)
                v[i] -= l[i] * x;
        }
    }
}

int ladder_tree_make(const gpusolve_factor_data *f, ladder_tree *t) {
    int32_t *owner = allocate(f->n, sizeof *owner), *to = allocate(f->ssize, sizeof *to);
    int32_t *start = allocate(f->nsuper + 1, sizeof *start);
    int failed = 1;

    memset(t, 0, sizeof *t);
    t->n = (int32_t)f->n;
    t->nsuper = (int32_t)f->nsuper;
    t->node = allocate(f->nsuper + 1, sizeof *t->node);
    t->level = allocate(f->nsuper, sizeof *t->level);
    t->order = allocate(f->nsuper, sizeof *t->order);
    t->perm = allocate(f->n, sizeof *t->perm);
    t->gather_ptr = allocate(f->ssize + 1, sizeof *t->gather_ptr);
    t->gather = allocate(f->ssize, sizeof *t->gather);
    if (owner && to && start && t->node && t->level && t->order && t->perm && t->gather_ptr && t->gather &&
        !copy_factor(f, t)) {
        for (int32_t s = 0; s < t->nsuper; s++)
            for (int32_t k = 0; k < t->node[s].nc; k++)
                owner[t->node[s].column + k] = s;
        for (int32_t i = 0; i < t->n; i++)
            t->perm[i] = f->perm ? ((const int32_t *)f->perm)[i] : i;
        find_parents(t, owner, start);
        t->inverse = allocate(t->numbers, sizeof *t->inverse);
        failed = !t->inverse || find_owed(t, to);
        if (!failed)
            invert(t, owner);
    }
    free(owner);
    free(to);
    free(start);
    if (failed)
        ladder_tree_free(t);
    return failed ? -1 : 0;
}

void ladder_tree_free(ladder_tree *t) {
    free(t->node);
    free(t->level);
    free(t->order);
    free(t->perm);
    free(t->rows);
    free(t->gather_ptr);
    free(t->gather);
    free(t->l);
    free(t->inverse);
    memset(t, 0, sizeof *t);
}
