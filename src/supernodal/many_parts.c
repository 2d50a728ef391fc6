/* The tasks of supernodes whose triangles are inverted in parts: many_parts.h. Linear in the tasks. */
#include "many_parts.h"

#include "tiles.h"

#include <stdbool.h>
#include <string.h>

/* A supernode's tiles in the making. */
typedef struct divider {
    int backward;
    gsv_many_schedule *schedule;
    const gsv_many_task *tasks; /* of the level; of the supernode: */
    const int64_t *next;        /* first, next[first], ..., until -1 */
    int64_t first;
    int32_t chain;         /* the supernode's counter */
    int32_t nr, nc, width; /* width: columns of a part */
    int32_t slot;          /* the next one */
} divider;

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static void append(gsv_many_schedule *schedule, const gsv_many_task *task) {
    if (schedule->task)
        schedule->task[schedule->tasks] = *task;
    schedule->tasks++;
}

/* Column block of a pass: late ones may be empty, so backward begins with the last that is not. */
static int32_t first_of_pass(const divider *d, int32_t pass) {
    return (d->backward ? gsv_many_pieces(d->nc, d->width) - 1 - pass : pass) * d->width;
}

/* Does a tile take part in a pass? */
static bool is_concerned(const divider *d, const gsv_many_task *tile, int32_t pass) {
    const int32_t first = first_of_pass(d, pass), last = smaller(tile->first + tile->rows, d->nr);
    return last > first && (!d->backward || tile->first < smaller(first + d->width, d->nc));
}

/* Terms of a tile in a pass. */
static void terms(const divider *d, const gsv_many_task *tile, int32_t pass, int32_t *begin, int32_t *end) {
    const int32_t first = first_of_pass(d, pass), last = smaller(first + d->width, d->nc);
    *begin = d->backward ? larger(tile->first, first) : first;
    *end = d->backward ? d->nr : smaller(last, tile->first + tile->rows);
}

/* A tile in a pass, of which `before` tiles were in those before. longest: terms of a range. */
static void add_tile(divider *d, const gsv_many_task *tile, int32_t pass, int32_t before, int32_t longest) {
    const int32_t last = smaller(first_of_pass(d, pass) + d->width, d->nc);
    int32_t begin, end;
    terms(d, tile, pass, &begin, &end);
    gsv_many_task task = *tile;
    task.pass = (uint8_t)pass;
    if (pass + 1 < gsv_many_pieces(d->nc, d->width))
        task.signal = d->chain;
    if (pass > 0) {
        task.owed = task.wait;
        task.owing = d->backward ? task.count : 0; /* rows of the ancestors */
        if (d->backward) {
            task.near = last / GSV_TILE * GSV_TILE;
            task.far = smaller(gsv_many_whole_tiles(d->nc), d->nr);
        }
        task.wait = d->chain;
        task.count = before;
    }
    const bool assembles =
        !d->backward && tile->first < d->nc; /* its sums add to rows that are being assembled */
    const int32_t parts = gsv_many_pieces(end - begin, longest),
                  each = gsv_many_whole_tiles(gsv_many_pieces(end - begin, parts));
    const int32_t ranges = gsv_many_pieces(end - begin, each);
    task.slots = (int16_t)(ranges > 1 ? ranges : 0);
    task.slot = d->slot;
    d->slot += task.slots;
    for (task.range = 0; task.range < ranges; task.range++) {
        task.begin = begin + task.range * each;
        task.end = smaller(task.begin + each, end);
        if (!d->backward) {
            const bool is_first = pass == 0 && task.range == 0;
            task.owing = is_first && !assembles ? tile->owing : 0;
            task.listed_rows = is_first ? tile->listed_rows : 0;
            task.listed = is_first ? tile->listed : 0;
        }
        append(d->schedule, &task);
    }
}

/* Pass by pass. Each becomes about as many tasks as the list has of the supernode, if it has tiles that are cut: no
 * more than there are slots. */
static void add_passes(divider *d) {
    int32_t ntasks = 0, base = 0, before = 0;
    bool cut = false;
    for (int64_t t = d->first; t >= 0; t = d->next[t]) {
        ntasks++;
        cut |= d->tasks[t].slots > 0;
        if (d->tasks[t].first == 0)
            base = d->tasks[t].slot;
    }
    for (int32_t pass = 0; pass < gsv_many_pieces(d->nc, d->width); pass++) {
        int64_t sum = 0;
        int32_t tiles = 0;
        for (int fill = 0; fill < 2; fill++) {
            const int64_t share = (sum + ntasks - 1) / ntasks;
            const int32_t longest = !cut                     ? d->nr
                                    : share < GSV_MANY_TERMS ? GSV_MANY_TERMS
                                                             : gsv_many_whole_tiles((int32_t)share);
            d->slot = base;
            for (int64_t t = d->first; t >= 0; t = d->next[t]) {
                const gsv_many_task *tile = &d->tasks[t];
                if (tile->range > 0 || !is_concerned(d, tile, pass))
                    continue;
                int32_t begin, end;
                terms(d, tile, pass, &begin, &end);
                if (fill)
                    add_tile(d, tile, pass, before, longest);
                else
                    sum += end - begin;
                tiles += fill;
            }
        }
        before += tiles;
    }
}

/* The divided supernode whose tile a task is, or -1. */
static int32_t divided_of(const gsv_many_index *index, const int32_t *parts, const gsv_many_task *task) {
    const int32_t s =
        task->kind == GSV_MANY_PRODUCT ? index->wide[task->node & ((1 << GSV_MANY_KIND) - 1)] : -1;
    return s >= 0 && gsv_parts_of(parts[s]) > 1 ? s : -1;
}

void gsv_many_divide(const gsv_plan *plan, const gsv_many_list *list, int backward, const int32_t *parts,
                     const gsv_many_index *index, gsv_many_schedule *schedule, int64_t *ptr) {
    schedule->tasks = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        index->first[s] = -1;
    for (int32_t k = 0; k < plan->nlevels; k++) {
        const gsv_many_task *tasks = list->task + list->ptr[k];
        const int64_t count = list->ptr[k + 1] - list->ptr[k];
        ptr[k] = schedule->tasks;
        for (int64_t t = count - 1; t >= 0; t--) {
            const int32_t s = divided_of(index, parts, &tasks[t]);
            if (s < 0)
                continue;
            index->next[t] = index->first[s];
            index->first[s] = t;
        }
        for (int64_t t = 0; t < count; t++) {
            const int32_t s = divided_of(index, parts, &tasks[t]);
            if (s < 0) {
                append(schedule, &tasks[t]);
            } else if (tasks[t].first == 0 && tasks[t].range == 0) { /* the others with it */
                const int32_t nc = gsv_columns(plan, s);
                divider d = {.backward = backward,
                             .schedule = schedule,
                             .tasks = tasks,
                             .next = index->next,
                             .first = index->first[s],
                             .chain = list->chain + (tasks[t].node & ((1 << GSV_MANY_KIND) - 1)),
                             .nr = gsv_rows(plan, s),
                             .nc = nc,
                             .width = gsv_part_columns(nc, gsv_parts_of(parts[s]))};
                add_passes(&d);
            }
        }
    }
    ptr[plan->nlevels] = schedule->tasks;
}

void gsv_many_recount(const gsv_many_list *list, gsv_many_schedule *schedule, int32_t *done) {
    memset(done, 0, (size_t)list->counters * sizeof *done);
    for (int64_t t = 0; t < schedule->tasks; t++)
        if (schedule->task[t].signal >= 0 && schedule->task[t].range == 0)
            done[schedule->task[t].signal]++;
    for (int64_t t = 0; t < schedule->tasks; t++) {
        gsv_many_task *task = &schedule->task[t];
        if (task->count > 0 && task->wait < list->chain)
            task->count = done[task->wait];
        if (task->owing > 0)
            task->owing = done[task->owed];
    }
}
