/* The lists of the ladder's steps: units level by level, branches, and tasks. */
#include <stdlib.h>
#include <string.h>

#include "ladder.h"

static int32_t ceil_div(int32_t a, int32_t b) {
    return (a - 1) / b + 1;
}

/* ------------------------------------------------------------------------------------------------- units --- */

int ladder_units_make(const ladder_tree *t, const int32_t *branch_of, int32_t size, int backward,
                      ladder_units *units) {
    int32_t count = 0, last = -1;

    memset(units, 0, sizeof *units);
    for (int32_t s = 0; s < t->nsuper; s++)
        if (!branch_of || branch_of[s] < 0)
            count += ceil_div(backward ? t->node[s].nc : t->node[s].nr, size);
    units->unit = malloc(((size_t)count + 1) * sizeof *units->unit);
    units->level = malloc(((size_t)t->nsuper + 1) * sizeof *units->level);
    if (!units->unit || !units->level) {
        ladder_units_free(units);
        return -1;
    }
    for (int32_t k = 0; k < t->nsuper; k++) {
        const int32_t s = t->order[backward ? t->nsuper - 1 - k : k];
        const int32_t end = backward ? t->node[s].nc : t->node[s].nr;

        if (branch_of && branch_of[s] >= 0)
            continue;
        if (t->level[s] != last)
            units->level[units->nlevels++] = units->count;
        last = t->level[s];
        for (int32_t first = 0; first < end; first += size)
            units->unit[units->count++] = (ladder_unit){t->node[s], first};
    }
    units->level[units->nlevels] = units->count;
    return 0;
}

void ladder_units_free(ladder_units *units) {
    free(units->unit);
    free(units->level);
    memset(units, 0, sizeof *units);
}

/* ---------------------------------------------------------------------------------------------- branches --- */

/* The subtree of supernodes first .. root as a branch, but for its levels. */
static ladder_branch branch_of_subtree(const ladder_tree *t, int32_t first, int32_t root) {
    const ladder_node *begin = &t->node[first], *top = &t->node[root], *end = top + 1;
    ladder_branch b = {.panel = begin->panel,
                       .node = first,
                       .nodes = root + 1 - first,
                       .column = begin->column,
                       .columns = end->column - begin->column,
                       .row = begin->row,
                       .rows = end->row - begin->row,
                       .update = begin->update,
                       .updates = end->update - begin->update,
                       .gather = t->gather_ptr[begin->row],
                       .nlevels = t->level[root] + 1,
                       .outside = top->row + top->nc,
                       .noutside = top->nr - top->nc};

    b.gathers = t->gather_ptr[end->row] - b.gather;
    b.numbers = end->panel - begin->panel < LADDER_BRANCH_BYTES ? (int32_t)(end->panel - begin->panel)
                                                                : LADDER_BRANCH_BYTES;
    return b;
}

/* Shared memory of its walk up, which needs more than the one down (walks.cuh). */
static int64_t branch_bytes(const ladder_branch *b) {
    return 8 * ((int64_t)b->numbers + b->columns + b->updates) + (int64_t)sizeof(ladder_node) * b->nodes +
           4 * ((int64_t)b->rows + 1 + b->gathers + b->nlevels + 1);
}

/* Nodes level by level, and the places of their rows. */
static void fill_branch(const ladder_tree *t, ladder_branch *b, ladder_branches *to) {
    ladder_node *node = to->node + b->node;
    int32_t at = 0;

    b->level = to->nlevel;
    for (int32_t l = 0; l < b->nlevels; l++) {
        to->level[to->nlevel++] = at;
        for (int32_t s = b->node; s < b->node + b->nodes; s++)
            if (t->level[s] == l)
                node[at++] = t->node[s];
    }
    to->level[to->nlevel++] = at;
    for (int32_t s = b->node; s < b->node + b->nodes; s++)
        for (int32_t i = 0, k = 0; i < t->node[s].nr; i++) {
            const int32_t r = t->node[s].row + i, row = t->rows[r];

            if (row < b->column + b->columns) {
                to->place[r] = row - b->column;
                continue;
            }
            while (t->rows[b->outside + k] != row) /* both ascend */
                k++;
            to->place[r] = b->columns + k;
        }
}

int ladder_branches_make(const ladder_tree *t, ladder_branches *to) {
    const size_t nsuper = (size_t)t->nsuper;
    int32_t *first = malloc((nsuper + 1) * sizeof *first), *size = malloc((nsuper + 1) * sizeof *size);
    int32_t root = 0;

    memset(to, 0, sizeof *to);
    to->branch = malloc((nsuper + 1) * sizeof *to->branch);
    to->of = malloc((nsuper + 1) * sizeof *to->of);
    to->node = malloc((nsuper + 1) * sizeof *to->node);
    to->level = malloc((2 * nsuper + 1) * sizeof *to->level);
    to->place = calloc((size_t)t->node[t->nsuper].row + 1, sizeof *to->place);
    if (!first || !size || !to->branch || !to->of || !to->node || !to->level || !to->place) {
        free(first);
        free(size);
        ladder_branches_free(to);
        return -1;
    }
    for (int32_t s = 0; s < t->nsuper; s++) {
        first[s] = s;
        size[s] = 1;
        to->of[s] = -1;
    }
    for (int32_t s = 0; s < t->nsuper; s++) {
        const int32_t parent = t->node[s].parent;

        if (parent >= 0) {
            size[parent] += size[s];
            if (first[parent] > first[s])
                first[parent] = first[s];
        }
    }
    /* from the roots down: the largest subtrees that have room, and are a range */
    for (root = t->nsuper - 1; root >= 0; root--) {
        ladder_branch branch = branch_of_subtree(t, first[root], root);

        if (to->of[root] >= 0 || size[root] != branch.nodes || branch_bytes(&branch) > LADDER_BRANCH_BYTES)
            continue;
        for (int32_t s = first[root]; s <= root; s++)
            to->of[s] = to->count;
        fill_branch(t, &branch, to);
        to->branch[to->count++] = branch;
    }
    free(first);
    free(size);
    return 0;
}

void ladder_branches_free(ladder_branches *branches) {
    free(branches->branch);
    free(branches->of);
    free(branches->node);
    free(branches->level);
    free(branches->place);
    memset(branches, 0, sizeof *branches);
}

/* ------------------------------------------------------------------------------------------------- tasks --- */

enum { CHILDREN, ASSEMBLED, SOLVED };

static int32_t counter(int which, int32_t s) {
    return LADDER_COUNTERS * s + which;
}

/* Tasks of a supernode's rows or columns 0 .. end - 1. */
static void add(ladder_tasks *to, ladder_task task, int32_t end, int32_t size) {
    for (int32_t first = 0; first < end; first += size) {
        task.first = first;
        task.last = first + size < end ? first + size : end;
        to->task[to->count++] = task;
    }
}

/* A supernode of one tile is one task. Others have tasks that assemble own columns, and tiles that wait for these. */
static void add_forward(const ladder_tree *t, int32_t s, const int32_t *owing, int tiles, ladder_tasks *to) {
    const ladder_node node = t->node[s];
    const int32_t parent = node.parent < 0 ? -1 : counter(CHILDREN, node.parent);
    ladder_task task = {.node = node, .wait = counter(CHILDREN, s), .count = owing[s]};

    if (node.nr <= LADDER_TILE) {
        task.kind = LADDER_ASSEMBLE | LADDER_MULTIPLY;
        task.signal = parent;
        if (!tiles)
            add(to, task, node.nr, LADDER_TILE);
    } else if (tiles) {
        task.kind = LADDER_MULTIPLY;
        task.wait = counter(ASSEMBLED, s);
        task.count = ceil_div(node.nc, LADDER_TILE);
        task.signal = parent;
        add(to, task, node.nr, LADDER_TILE);
    } else {
        task.kind = LADDER_ASSEMBLE;
        task.signal = counter(ASSEMBLED, s);
        add(to, task, node.nc, LADDER_TILE);
    }
}

static void add_backward(const ladder_tree *t, int32_t s, ladder_tasks *to) {
    const int32_t parent = t->node[s].parent;
    ladder_task task = {.node = t->node[s], .kind = LADDER_MULTIPLY, .signal = counter(SOLVED, s)};

    if (parent >= 0) {
        task.wait = counter(SOLVED, parent);
        task.count = ceil_div(t->node[parent].nc, LADDER_TILE);
    }
    add(to, task, t->node[s].nc, LADDER_TILE);
}

int ladder_tasks_make(const ladder_tree *t, int backward, ladder_tasks *to) {
    int32_t *owing = calloc((size_t)t->nsuper + 1, sizeof *owing); /* tiles of the children */
    size_t most = 1;

    memset(to, 0, sizeof *to);
    for (int32_t s = 0; s < t->nsuper; s++)
        most += 2 * (size_t)ceil_div(t->node[s].nr, LADDER_TILE);
    to->task = malloc(most * sizeof *to->task);
    for (int32_t s = 0; owing && s < t->nsuper; s++)
        if (t->node[s].parent >= 0)
            owing[t->node[s].parent] += ceil_div(t->node[s].nr, LADDER_TILE);
    for (int32_t k = 0, begin = 0; owing && to->task && k < t->nsuper; k++) {
        const int32_t s = t->order[backward ? t->nsuper - 1 - k : k];

        if (backward) {
            add_backward(t, s, to);
            continue;
        }
        add_forward(t, s, owing, 0, to);
        if (k + 1 == t->nsuper || t->level[t->order[k + 1]] != t->level[s])
            for (; begin <= k; begin++) /* the tiles of a level come behind what they wait for */
                add_forward(t, t->order[begin], owing, 1, to);
    }
    if (!owing || !to->task) {
        free(owing);
        ladder_tasks_free(to);
        return -1;
    }
    free(owing);
    return 0;
}

void ladder_tasks_free(ladder_tasks *tasks) {
    free(tasks->task);
    memset(tasks, 0, sizeof *tasks);
}
