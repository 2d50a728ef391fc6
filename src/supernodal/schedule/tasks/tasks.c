/* Tasks of the upper tree for many right-hand sides: schedule/tasks/tasks.h. Linear in the structure and in the tasks. */
#include "tasks.h"

#include "../../../memory.h"
#include "order.h"
#include "../schedule.h"

#include <stdbool.h>
#include <stdlib.h>

/* How finely a sweep's levels are divided, as an H200 is fastest with (lessons/tasks.md). Two tiles of a supernode make a
 * pair, and so does an odd one.
 *
 *      pairs    a level that is this number of pairs of tasks of equal length is not cut further
 *      few      a level with at most this number of pairs of tiles has few
 *      least    tasks that a narrow supernode has at least
 *      narrow   it has more if the narrow supernodes of its level are at most this number of tasks then */
typedef struct division {
    int32_t pairs, few, least, narrow;
} division;
static const division divisions[GSV_TASK_LISTS] = {
    {198, 99, 2, 264}, {165, 28, 1, 264}, {66, 27, 1, 132}, {44, 11, 1, 132}};

/* One sweep's list in the making. */
typedef struct builder {
    const gsv_plan *plan;
    const gsv_schedule *schedule;
    gsv_task_list *list;
    const int32_t *node; /* [nsuper] what gsv_task.node is for each */
    bool backward;
    division by;
    bool fill;        /* count, then fill */
    int32_t *longest; /* [nlevels] terms of a task at most */
    int32_t *narrow;  /* [nlevels] tasks of a narrow supernode */
    int32_t *rows;    /* [nlevels] of a tile, or its columns */
    /* [2 nlevels] tasks of each step, the products behind the others: how tasks, then the next one's place */
    int64_t *place;
    int32_t *counter; /* [nsuper] what supernode s waits for: forward its children, backward its parent */
    int32_t *count;   /* [nsuper] and what it has to reach; 0: nothing */
} builder;

void gsv_tasks_free(gsv_tasks *tasks) {
    for (int k = 0; k < GSV_TASK_LISTS; k++)
        gsv_free(tasks->list[k].task);
    *tasks = (gsv_tasks){0};
}

static void name_nodes(const gsv_plan *plan, int32_t *node) {
    const gsv_supernode_list *lists[] = {&plan->schedule->tiny, &plan->schedule->small};
    for (int kind = GSV_TASK_TINY; kind <= GSV_TASK_SMALL; kind++)
        for (int32_t k = 0; k < (int32_t)lists[kind]->count; k++)
            node[lists[kind]->supernode[k]] = kind << GSV_TASK_KIND | k;
    int32_t wide = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            node[s] = GSV_TASK_WIDE << GSV_TASK_KIND | wide++;
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static bool is_above(const builder *b, int32_t s) {
    return b->schedule->branches.of[s] < 0;
}

/* Is a supernode solved in tiles? */
static bool is_tiled(const builder *b, int32_t s) {
    return is_above(b, s) && !gsv_is_narrow(gsv_rows(b->plan, s), gsv_columns(b->plan, s));
}

static int32_t step_of(const builder *b, int32_t s) {
    return b->backward ? b->plan->nlevels - 1 - b->plan->level[s] : b->plan->level[s];
}

/* Rows, or columns, that are cut into tiles. */
static int32_t across(const builder *b, int32_t s) {
    return b->backward ? gsv_columns(b->plan, s) : gsv_rows(b->plan, s);
}

/* Terms of `rows` rows or columns from `first` on: from *begin to *end. */
static void terms(const builder *b, int32_t s, int32_t first, int32_t rows, int32_t *begin, int32_t *end) {
    *begin = b->backward ? first : 0;
    *end = b->backward ? gsv_rows(b->plan, s) : smaller(gsv_columns(b->plan, s), first + rows);
}

/* How many tasks a narrow supernode of each step is. */
static void choose_parts(builder *b) {
    const gsv_plan *plan = b->plan;
    for (int32_t k = 0; k < plan->nlevels; k++)
        b->place[k] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        b->place[step_of(b, s)] += is_above(b, s) && !is_tiled(b, s);
    for (int32_t k = 0; k < plan->nlevels; k++) {
        b->narrow[k] = b->by.least;
        while (b->narrow[k] < GSV_TASK_PARTS && 2 * b->narrow[k] * b->place[k] <= b->by.narrow)
            b->narrow[k] *= 2;
    }
}

/* How many rows a tile of each step has. */
static void choose_rows(builder *b) {
    const gsv_plan *plan = b->plan;
    for (int32_t k = 0; k < plan->nlevels; k++)
        b->place[k] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (is_tiled(b, s))
            b->place[step_of(b, s)] += gsv_pieces_of(across(b, s), 2 * GSV_TASK_ROWS);
    for (int32_t k = 0; k < plan->nlevels; k++)
        b->rows[k] = b->place[k] <= b->by.few ? GSV_TASK_ROWS / 2 : GSV_TASK_ROWS;
}

/* How long a task of each step may be. */
static void choose_lengths(builder *b) {
    const gsv_plan *plan = b->plan;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t step = step_of(b, s), pair = 2 * b->rows[step];
        for (int32_t first = 0; is_tiled(b, s) && first < across(b, s); first += pair) {
            int32_t begin, end;
            terms(b, s, first, pair, &begin, &end);
            b->place[step] += end - begin;
        }
    }
    for (int32_t k = 0; k < plan->nlevels; k++) {
        const int64_t share = b->place[k] / b->by.pairs;
        b->longest[k] = share < GSV_TASK_TERMS  ? GSV_TASK_TERMS
                        : share > INT32_MAX / 2 ? INT32_MAX / 2
                                                : gsv_whole_tiles((int32_t)share);
    }
}

/* Does the tile have rows of the update vector, which the parent waits for? */
static bool is_owed(const builder *b, int32_t s, int32_t first) {
    return first + b->rows[step_of(b, s)] > gsv_columns(b->plan, s) &&
           gsv_rows(b->plan, s) > gsv_columns(b->plan, s);
}

/* What every supernode waits for. */
static void choose_counters(builder *b) {
    const gsv_plan *plan = b->plan;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        b->count[s] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t parent = plan->parent[s];
        if (!is_above(b, s) || parent < 0)
            continue;
        int32_t signals = b->narrow[step_of(b, b->backward ? parent : s)];
        if (!b->backward && is_tiled(b, s)) {
            signals = 0;
            for (int32_t first = 0; first < across(b, s); first += b->rows[step_of(b, s)])
                signals += is_owed(b, s, first);
        } else if (b->backward && is_tiled(b, parent)) {
            signals = gsv_pieces_of(across(b, parent), b->rows[step_of(b, parent)]);
        }
        if (b->backward)
            b->count[s] = signals;
        else
            b->count[parent] += signals;
    }
    /* forward a counter for each parent, backward one for each one's children */
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        b->counter[s] = -1;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t owner = b->backward ? plan->parent[s] : s;
        if (b->count[s] > 0 && b->counter[owner] < 0)
            b->counter[owner] = b->list->counters++;
    }
}

/* The counter that tasks of supernode s wait for. */
static int32_t awaited(const builder *b, int32_t s) {
    return b->count[s] == 0 ? 0 : b->counter[b->backward ? b->plan->parent[s] : s];
}

/* The counter that s advances when it, or one of its tiles, is done. */
static int32_t advanced(const builder *b, int32_t s) {
    if (b->backward)
        return b->counter[s];
    return b->plan->parent[s] < 0 ? -1 : b->counter[b->plan->parent[s]];
}

static void append(builder *b, int32_t s, gsv_task task) {
    int64_t *place = &b->place[2 * (int64_t)step_of(b, s) + (task.kind == GSV_TASK_PRODUCT)];
    task.node = b->node[s];
    if (b->fill)
        b->list->task[*place] = task;
    ++*place;
}

/* A task lists rows first .. end - 1 of a front. */
static void list_rows(const builder *b, int32_t s, int32_t first, int32_t end, gsv_task *task) {
    const int64_t row = b->schedule->row_place[s] + first;
    const uint32_t *ptr = b->schedule->gather_ptr + row, count = ptr[end - first] - ptr[0];
    task->row = (uint32_t)row;
    task->list = ptr[0];
    task->listed_rows = (int16_t)(end - first);
    task->listed = (int16_t)(count > GSV_TASK_LISTED ? GSV_TASK_LISTED + 1 : count);
}

/* Assemblies of supernode s: *wait and *count become what its tiles wait for. */
static void add_assemblies(builder *b, int32_t s, int32_t *wait, int32_t *count) {
    const gsv_plan *plan = b->plan;
    const int32_t nc = gsv_columns(plan, s);
    if (b->backward || plan->child_ptr[s] == plan->child_ptr[s + 1])
        return;
    const int32_t ready = b->list->counters++;
    for (int32_t first = 0; first < nc; first += GSV_TASK_ASSEMBLE) {
        gsv_task task = {.kind = GSV_TASK_ASSEMBLY,
                         .first = first,
                         .end = smaller(first + GSV_TASK_ASSEMBLE, nc),
                         .wait = *wait,
                         .count = *count,
                         .signal = ready};
        list_rows(b, s, first, task.end, &task);
        append(b, s, task);
    }
    *wait = ready;
    *count = gsv_pieces_of(nc, GSV_TASK_ASSEMBLE);
}

/* Behind the parent's rows: the first multiple of GSV_TILE from which on row k of s is none of them. */
static int32_t behind_parent(const gsv_plan *plan, int32_t s) {
    const int32_t nr = gsv_rows(plan, s), parent = plan->parent[s];
    const int32_t *rows = plan->l.rows + plan->l.row_ptr[s];
    int32_t low = gsv_columns(plan, s), high = nr;
    while (parent >= 0 && low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (rows[middle] < plan->l.first_column[parent + 1])
            low = middle + 1;
        else
            high = middle;
    }
    return smaller(gsv_whole_tiles(low), nr);
}

/* The tiles of supernode s; owed, owing: what its assemblies wait for, or backward its parent. */
static void add_tiles(builder *b, int32_t s, int32_t wait, int32_t count, int32_t owed, int32_t owing) {
    const int32_t near = b->backward ? gsv_columns(b->plan, s) / GSV_TILE * GSV_TILE : 0;
    const int32_t far = b->backward ? behind_parent(b->plan, s) : 0;
    const int32_t longest = b->longest[step_of(b, s)], rows = b->rows[step_of(b, s)];
    for (int32_t first = 0; first < across(b, s); first += rows) {
        int32_t begin, end;
        terms(b, s, first, rows, &begin, &end);
        const int32_t parts = gsv_pieces_of(end - begin, longest);
        const int32_t each = gsv_whole_tiles(gsv_pieces_of(end - begin, parts)),
                      slots = gsv_pieces_of(end - begin, each);
        gsv_task task = {.kind = GSV_TASK_PRODUCT,
                         .first = first,
                         .rows = (int16_t)rows,
                         .begin = begin,
                         .end = end,
                         .wait = wait,
                         .count = count,
                         .signal = b->backward || is_owed(b, s, first) ? advanced(b, s) : -1,
                         .owed = owed};
        if (b->backward) {
            task.near = near;
            task.far = far;
        }
        if (slots > 1) {
            task.slot = (int32_t)b->list->slots;
            task.met = b->list->counters;
            task.slots = (int16_t)slots;
            b->list->counters++;
            b->list->slots += slots;
        }
        for (; task.range < (slots > 1 ? slots : 1); task.range++) {
            task.begin = begin + task.range * each;
            task.end = slots > 1 ? smaller(task.begin + each, end) : end;
            const bool adds = !b->backward && task.range == 0 && is_owed(b, s, first);
            task.owing = b->backward || adds ? owing : 0;
            if (adds)
                list_rows(b, s, larger(first, gsv_columns(b->plan, s)),
                          smaller(first + rows, gsv_rows(b->plan, s)), &task);
            else if (!b->backward)
                task.listed_rows = task.listed = 0;
            append(b, s, task);
        }
    }
}

static void add_all(builder *b) {
    b->list->counters = 0;
    b->list->slots = 0;
    choose_counters(b);
    for (int32_t s = 0; s < b->plan->l.nsuper; s++) {
        int32_t wait = awaited(b, s), count = b->count[s];
        if (is_tiled(b, s)) {
            const int32_t of = b->backward ? b->plan->parent[s] : s;
            const int32_t owed = of < 0 ? 0 : awaited(b, of), owing = of < 0 ? 0 : b->count[of];
            add_assemblies(b, s, &wait, &count);
            add_tiles(b, s, wait, count, owed, owing);
        } else if (is_above(b, s)) {
            const int32_t each = GSV_TASK_PARTS / b->narrow[step_of(b, s)];
            for (int32_t part = 0; part < GSV_TASK_PARTS; part += each) {
                gsv_task task = {.kind = GSV_TASK_NARROW,
                                 .begin = part,
                                 .end = part + each,
                                 .wait = wait,
                                 .count = count,
                                 .signal = advanced(b, s)};
                list_rows(b, s, 0, gsv_rows(b->plan, s), &task);
                append(b, s, task);
            }
        }
    }
}

static int by_length(const void *a, const void *b) {
    const gsv_task *x = a, *y = b;
    const int32_t p = x->end - x->begin, q = y->end - y->begin;
    if (p != q)
        return p < q ? 1 : -1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool make_list(builder *b) {
    const int32_t nlevels = b->plan->nlevels;
    gsv_task_list *list = b->list;
    choose_parts(b);
    choose_rows(b);
    for (int32_t k = 0; k < nlevels; k++)
        b->place[k] = 0;
    choose_lengths(b);
    for (int32_t k = 0; k < 2 * nlevels; k++)
        b->place[k] = 0;
    add_all(b);
    for (int32_t k = 0; k < 2 * nlevels; k++) {
        const int64_t count = b->place[k];
        b->place[k] = list->tasks;
        list->tasks += count;
    }
    list->task = gsv_malloc((size_t)list->tasks, sizeof *list->task);
    if (!list->task)
        return false;
    b->fill = true;
    add_all(b);
    for (int32_t k = 0; k < nlevels; k++) { /* now where tasks of each kind end */
        const int64_t first = b->place[2 * (int64_t)k], count = b->place[2 * (int64_t)k + 1] - first;
        if (count > 1)
            qsort(list->task + first, (size_t)count, sizeof *list->task, by_length);
    }
    return gsv_tasks_order(list, b->backward);
}

static bool make_sweep(const gsv_plan *plan, const int32_t *node, bool backward, bool broad,
                       gsv_tasks *tasks) {
    const size_t nsuper = (size_t)plan->l.nsuper, nlevels = (size_t)plan->nlevels;
    gsv_task_list *list = &tasks->list[gsv_task_list_of(backward, broad)];
    int32_t *numbers = gsv_malloc(3 * nlevels + 2 * nsuper, sizeof *numbers);
    int64_t *place = gsv_malloc(2 * nlevels, sizeof *place);
    bool good = numbers && place;
    if (good) {
        builder b = {.plan = plan,
                     .schedule = plan->schedule,
                     .list = list,
                     .node = node,
                     .backward = backward,
                     .by = divisions[gsv_task_list_of(backward, broad)],
                     .longest = numbers,
                     .narrow = numbers + nlevels,
                     .rows = numbers + 2 * nlevels,
                     .counter = numbers + 3 * nlevels,
                     .count = numbers + 3 * nlevels + nsuper,
                     .place = place};
        good = make_list(&b);
    }
    gsv_free(numbers);
    gsv_free(place);
    if (good)
        tasks->bytes += list->tasks * (int64_t)sizeof *list->task;
    return good;
}

static bool is_short(const gsv_task_list *forward) {
    int64_t terms = 0;
    for (int64_t t = 0; t < forward->tasks; t++)
        if (forward->task[t].kind == GSV_TASK_PRODUCT)
            terms += forward->task[t].end - forward->task[t].begin;
    return forward->tasks <= GSV_TASK_SHORT_TASKS && terms <= GSV_TASK_SHORT_TERMS;
}

/* Numbers of the supernodes that are in no branch. */
static int64_t upper_numbers(const gsv_plan *plan) {
    int64_t numbers = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        numbers += plan->schedule->branches.of[s] < 0 ? gsv_trapezoid(plan, s) : 0;
    return numbers;
}

gpusolve_status gsv_tasks_create(const gsv_plan *plan, gsv_tasks *tasks, gsv_message *message) {
    *tasks = (gsv_tasks){0};
    int32_t *node = gsv_malloc((size_t)plan->l.nsuper, sizeof *node);
    bool good = node;
    if (good)
        name_nodes(plan, node);
    for (int broad = 0; broad < 2; broad++)
        good =
            good && make_sweep(plan, node, false, broad, tasks) && make_sweep(plan, node, true, broad, tasks);
    gsv_free(node);
    if (good) {
        tasks->updates = plan->schedule->shared_updates;
        tasks->is_short = is_short(&tasks->list[gsv_task_list_of(0, 0)]);
        tasks->streams_back = upper_numbers(plan) < GSV_TASK_STREAMED;
        return GPUSOLVE_OK;
    }
    gsv_tasks_free(tasks);
    return gsv_plan_no_memory(message);
}
