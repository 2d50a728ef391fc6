/* Tiles of the upper tree for many right-hand sides: many.h. Linear in the structure and in the tasks. */
#include "many.h"

#include "../memory.h"
#include "tiles.h"

#include <stdbool.h>
#include <stdlib.h>

typedef struct builder {
    const gsv_plan *plan;
    const gsv_tiles *tiles;
    gsv_many *many;
    int32_t *node;    /* [nsuper] what gsv_many_task.node is for each */
    int32_t *longest; /* [2][nlevels] terms of a task at most, forward and backward */
    int64_t *slots;   /* [2][nlevels] taken so far in each level; before that, the terms of its tiles */
    bool fill;        /* count, then fill */
} builder;

void gsv_many_free(gsv_many *many) {
    for (int k = 0; k < GSV_MANY_LISTS; k++) {
        gsv_free(many->list[k].ptr);
        gsv_free(many->list[k].task);
    }
    *many = (gsv_many){0};
}

static void name_nodes(builder *b) {
    const gsv_plan *plan = b->plan;
    const gsv_supernode_list *lists[] = {&b->tiles->tiny, &b->tiles->small};
    for (int kind = GSV_MANY_TINY; kind <= GSV_MANY_SMALL; kind++) {
        const gsv_supernode_list *list = lists[kind];
        for (int32_t level = 0; level < plan->nlevels; level++)
            for (int64_t k = list->outside[level]; k < list->outside[level + 1]; k++) {
                const int32_t s = list->supernode[list->ptr[level] + k - list->outside[level]];
                b->node[s] = kind << GSV_MANY_KIND | (int32_t)k;
            }
    }
    int32_t wide = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            b->node[s] = GSV_MANY_WIDE << GSV_MANY_KIND | wide++;
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t round_up(int32_t a) {
    return (a + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
}

/* Is a supernode solved in tiles? */
static bool is_tiled(const builder *b, int32_t s) {
    return b->tiles->branches.of[s] < 0 && !gsv_is_narrow(gsv_rows(b->plan, s), gsv_columns(b->plan, s));
}

/* Terms of the tile that begins at row or column `first`: from *begin to *end. */
static void terms(int32_t nr, int32_t nc, bool backward, int32_t first, int32_t *begin, int32_t *end) {
    *begin = backward ? first : 0;
    *end = backward ? nr : smaller(nc, first + GSV_MANY_ROWS);
}

/* How long a task of each level may be. */
static void choose_lengths(builder *b) {
    const gsv_plan *plan = b->plan;
    int64_t *total = b->slots; /* [2 nlevels] */
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        for (int sweep = 0; sweep < 2 && is_tiled(b, s); sweep++)
            for (int32_t first = 0; first < (sweep ? nc : nr); first += GSV_MANY_ROWS) {
                int32_t begin, end;
                terms(nr, nc, sweep, first, &begin, &end);
                total[sweep * plan->nlevels + plan->level[s]] += end - begin;
            }
    }
    for (int32_t k = 0; k < 2 * plan->nlevels; k++) {
        const int64_t share = total[k] / GSV_MANY_TASKS;
        b->longest[k] = share < GSV_MANY_TERMS  ? GSV_MANY_TERMS
                        : share > INT32_MAX / 2 ? INT32_MAX / 2
                                                : round_up((int32_t)share);
    }
}

static void append(builder *b, int list, int32_t level, gsv_many_task task) {
    gsv_many_list *to = &b->many->list[list];
    if (b->fill)
        to->task[to->ptr[level]] = task;
    to->ptr[level + !b->fill]++;
}

/* The tiles of one sweep over supernode s. */
static void add_tiles(builder *b, int32_t s, bool backward) {
    const gsv_plan *plan = b->plan;
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), level = plan->level[s];
    const int32_t longest = b->longest[backward * plan->nlevels + level];
    const int tiles = backward ? GSV_MANY_BACKWARD : GSV_MANY_FORWARD;
    int64_t *slots = &b->slots[backward * plan->nlevels + level];
    for (int32_t first = 0; first < (backward ? nc : nr); first += GSV_MANY_ROWS) {
        int32_t begin, end;
        terms(nr, nc, backward, first, &begin, &end);
        const int32_t parts = (end - begin + longest - 1) / longest;
        const int32_t each = round_up((end - begin + parts - 1) / parts);
        if (parts == 1) {
            append(b, tiles, level, (gsv_many_task){b->node[s], first, begin, end, -1, 0});
            continue;
        }
        const int32_t slot = (int32_t)*slots;
        for (int32_t at = begin; at < end; at += each)
            append(b, tiles, level,
                   (gsv_many_task){b->node[s], first, at, smaller(at + each, end), (int32_t)(*slots)++, 0});
        append(b, tiles + 1, level,
               (gsv_many_task){b->node[s], first, begin, end, slot, (int32_t)*slots - slot});
    }
}

static void add_assemblies(builder *b, int32_t s) {
    const gsv_plan *plan = b->plan;
    const int32_t nc = gsv_columns(plan, s);
    if (plan->child_ptr[s] == plan->child_ptr[s + 1])
        return;
    for (int32_t first = 0; first < nc; first += GSV_MANY_ASSEMBLE)
        append(b, GSV_MANY_ASSEMBLIES, plan->level[s],
               (gsv_many_task){b->node[s], first, 0, smaller(first + GSV_MANY_ASSEMBLE, nc), -1, 0});
}

static void add_all(builder *b) {
    for (int32_t k = 0; k < 2 * b->plan->nlevels; k++)
        b->slots[k] = 0;
    for (int32_t s = 0; s < b->plan->l.nsuper; s++)
        if (is_tiled(b, s)) {
            add_assemblies(b, s);
            add_tiles(b, s, false);
            add_tiles(b, s, true);
        } else if (b->tiles->branches.of[s] < 0) {
            append(b, GSV_MANY_NARROWS, b->plan->level[s],
                   (gsv_many_task){b->node[s], 0, 0, gsv_rows(b->plan, s), -1, 0});
        }
}

static int by_length(const void *a, const void *b) {
    const gsv_many_task *x = a, *y = b;
    const int32_t p = x->end - x->begin, q = y->end - y->begin;
    if (p != q)
        return p < q ? 1 : -1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool make_lists(builder *b) {
    const gsv_plan *plan = b->plan;
    for (int k = 0; k < GSV_MANY_LISTS; k++) {
        b->many->list[k].ptr = gsv_calloc((size_t)plan->nlevels + 1, sizeof(int64_t));
        if (!b->many->list[k].ptr)
            return false;
    }
    add_all(b);
    for (int k = 0; k < GSV_MANY_LISTS; k++) {
        gsv_many_list *list = &b->many->list[k];
        for (int32_t level = 0; level < plan->nlevels; level++)
            list->ptr[level + 1] += list->ptr[level];
        list->task = gsv_malloc((size_t)list->ptr[plan->nlevels], sizeof *list->task);
        if (!list->task)
            return false;
    }
    b->fill = true;
    add_all(b);
    for (int k = 0; k < GSV_MANY_LISTS; k++) {
        gsv_many_list *list = &b->many->list[k];
        for (int32_t level = plan->nlevels; level > 0; level--) /* ptr[k] stands where level k ends */
            list->ptr[level] = list->ptr[level - 1];
        list->ptr[0] = 0;
        for (int32_t level = 0; level < plan->nlevels; level++)
            if (list->ptr[level + 1] - list->ptr[level] > 1)
                qsort(list->task + list->ptr[level], (size_t)(list->ptr[level + 1] - list->ptr[level]),
                      sizeof *list->task, by_length);
        b->many->bytes += list->ptr[plan->nlevels] * (int64_t)sizeof *list->task + 8 * (plan->nlevels + 1);
    }
    for (int32_t k = 0; k < 2 * plan->nlevels; k++)
        b->many->slots = b->slots[k] > b->many->slots ? b->slots[k] : b->many->slots;
    return true;
}

gpusolve_status gsv_many_create(const gsv_plan *plan, gsv_many *many, gsv_message *message) {
    builder b = {.plan = plan, .tiles = plan->tiles, .many = many};
    const size_t levels = 2 * (size_t)plan->nlevels;
    *many = (gsv_many){0};
    b.node = gsv_malloc((size_t)plan->l.nsuper, sizeof *b.node);
    b.longest = gsv_malloc(levels, sizeof *b.longest);
    b.slots = gsv_calloc(levels, sizeof *b.slots);
    bool good = b.node && b.longest && b.slots;
    if (good) {
        name_nodes(&b);
        choose_lengths(&b);
        good = make_lists(&b);
    }
    gsv_free(b.node);
    gsv_free(b.longest);
    gsv_free(b.slots);
    if (good) {
        many->updates = plan->tiles->shared_updates;
        return GPUSOLVE_OK;
    }
    gsv_many_free(many);
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
}
