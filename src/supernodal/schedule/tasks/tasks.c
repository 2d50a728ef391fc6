/* Tasks of the upper tree for many right-hand sides: schedule/tasks/tasks.h. Linear in the structure and in the tasks. */
#include "tasks.h"

#include "../../../memory.h"
#include "order.h"
#include "../schedule.h"

#include <stdbool.h>
#include <string.h>

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

/* A supernode of the upper tree, as the lists want it; they stand in ascending order. */
typedef struct supernode {
    int32_t s, parent; /* parent: its place among these, or -1 */
    int32_t nr, nc, level;
    int32_t node;   /* gsv_task.node */
    int32_t behind; /* tiled: behind_parent() */
    bool tiled;     /* it is solved in tiles */
    bool adds;      /* it has children */
} supernode;

struct gsv_tasks_draft {
    const gsv_plan *plan;
    int64_t count;
    supernode *supernode; /* [count] */
    int64_t numbers;      /* of the upper tree */
    gsv_task_planner *planner[GSV_TASK_LISTS];
};

/* One sweep's list in the making. */
typedef struct builder {
    const gsv_tasks_draft *draft;
    const gsv_schedule *schedule;
    gsv_task_list *list;
    bool backward;
    division by;
    int32_t nlevels;
    int32_t *longest; /* [nlevels] terms of a task at most */
    int32_t *narrow;  /* [nlevels] tasks of a narrow supernode */
    int32_t *rows;    /* [nlevels] of a tile, or its columns */
    int64_t *sum;     /* [nlevels] what a level has of something */
    int32_t *counter; /* [count] what a supernode waits for: forward its children, backward its parent */
    int32_t *count;   /* [count] and what it has to reach; 0: nothing */
    uint32_t *step;   /* of each task, as gsv_tasks_rank() wants it */
    int64_t tasks;    /* so far */
} builder;

void gsv_tasks_free(gsv_tasks *tasks) {
    for (int k = 0; k < GSV_TASK_LISTS; k++)
        gsv_free(tasks->list[k].task);
    *tasks = (gsv_tasks){0};
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* ------------------------------------------------------------------------------------- supernodes --- */

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

/* place [nsuper]: memory for where each supernode stands; a parent comes after its children. */
static void list_supernodes(const gsv_plan *plan, const gsv_supernode_list *upper, gsv_tasks_draft *draft,
                            int32_t *place) {
    int32_t nodes[] = {[GSV_TASK_TINY] = 0, [GSV_TASK_SMALL] = 0, [GSV_TASK_WIDE] = 0};
    for (int64_t k = upper->count - 1; k >= 0; k--) {
        const int32_t s = upper->supernode[k], parent = plan->parent[s];
        place[s] = (int32_t)k;
        draft->supernode[k].parent = parent < 0 ? -1 : place[parent];
    }
    for (int64_t k = 0; k < upper->count; k++) {
        supernode *here = &draft->supernode[k];
        const int32_t s = upper->supernode[k], nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int kind = !gsv_is_narrow(nr, nc) ? GSV_TASK_WIDE
                         : gsv_is_tiny(nr, nc)  ? GSV_TASK_TINY
                                                : GSV_TASK_SMALL;
        here->s = s;
        here->nr = nr;
        here->nc = nc;
        here->level = plan->level[s];
        here->node = kind << GSV_TASK_KIND | nodes[kind]++;
        here->tiled = kind == GSV_TASK_WIDE;
        here->behind = here->tiled ? behind_parent(plan, s) : 0;
        here->adds = plan->child_ptr[s] < plan->child_ptr[s + 1];
        draft->numbers += gsv_trapezoid(plan, s);
    }
}

gpusolve_status gsv_tasks_begin(const gsv_plan *plan, const gsv_supernode_list *upper,
                                gsv_tasks_draft **draft, gsv_message *message) {
    int32_t *place = gsv_malloc((size_t)plan->l.nsuper, sizeof *place);
    gsv_tasks_draft *made = gsv_calloc(1, sizeof *made);
    *draft = made;
    if (made) {
        made->plan = plan;
        made->count = upper->count;
        made->supernode = gsv_malloc((size_t)upper->count, sizeof *made->supernode);
    }
    const bool good = place && made && made->supernode;
    if (good)
        list_supernodes(plan, upper, made, place);
    gsv_free(place);
    return good ? GPUSOLVE_OK : gsv_plan_no_memory(message);
}

/* ----------------------------------------------------------------------------------------- levels --- */

static int32_t step_of(const builder *b, const supernode *s) {
    return b->backward ? b->nlevels - 1 - s->level : s->level;
}

/* Rows, or columns, that are cut into tiles. */
static int32_t across(const builder *b, const supernode *s) {
    return b->backward ? s->nc : s->nr;
}

/* Terms of `rows` rows or columns from `first` on: from *begin to *end. */
static void terms(const builder *b, const supernode *s, int32_t first, int32_t rows, int32_t *begin,
                  int32_t *end) {
    *begin = b->backward ? first : 0;
    *end = b->backward ? s->nr : smaller(s->nc, first + rows);
}

/* How many tasks a narrow supernode of each step is. */
static void choose_parts(builder *b) {
    memset(b->sum, 0, (size_t)b->nlevels * sizeof *b->sum);
    for (int64_t k = 0; k < b->draft->count; k++)
        b->sum[step_of(b, &b->draft->supernode[k])] += !b->draft->supernode[k].tiled;
    for (int32_t k = 0; k < b->nlevels; k++) {
        b->narrow[k] = b->by.least;
        while (b->narrow[k] < GSV_TASK_PARTS && 2 * b->narrow[k] * b->sum[k] <= b->by.narrow)
            b->narrow[k] *= 2;
    }
}

/* How many rows a tile of each step has. */
static void choose_rows(builder *b) {
    memset(b->sum, 0, (size_t)b->nlevels * sizeof *b->sum);
    for (int64_t k = 0; k < b->draft->count; k++) {
        const supernode *s = &b->draft->supernode[k];
        if (s->tiled)
            b->sum[step_of(b, s)] += gsv_pieces_of(across(b, s), 2 * GSV_TASK_ROWS);
    }
    for (int32_t k = 0; k < b->nlevels; k++)
        b->rows[k] = b->sum[k] <= b->by.few ? GSV_TASK_ROWS / 2 : GSV_TASK_ROWS;
}

/* How long a task of each step may be. */
static void choose_lengths(builder *b) {
    memset(b->sum, 0, (size_t)b->nlevels * sizeof *b->sum);
    for (int64_t k = 0; k < b->draft->count; k++) {
        const supernode *s = &b->draft->supernode[k];
        const int32_t step = step_of(b, s), pair = 2 * b->rows[step];
        for (int32_t first = 0; s->tiled && first < across(b, s); first += pair) {
            int32_t begin, end;
            terms(b, s, first, pair, &begin, &end);
            b->sum[step] += end - begin;
        }
    }
    for (int32_t k = 0; k < b->nlevels; k++) {
        const int64_t share = b->sum[k] / b->by.pairs;
        b->longest[k] = share < GSV_TASK_TERMS  ? GSV_TASK_TERMS
                        : share > INT32_MAX / 2 ? INT32_MAX / 2
                                                : gsv_whole_tiles((int32_t)share);
    }
}

/* --------------------------------------------------------------------------------------- counters --- */

/* Does the tile have rows of the update vector, which the parent waits for? */
static bool is_owed(const builder *b, const supernode *s, int32_t first) {
    return first + b->rows[step_of(b, s)] > s->nc && s->nr > s->nc;
}

/* What every supernode waits for. */
static void choose_counters(builder *b) {
    const int64_t count = b->draft->count;
    memset(b->count, 0, (size_t)count * sizeof *b->count);
    for (int64_t k = 0; k < count; k++) {
        const supernode *s = &b->draft->supernode[k],
                        *parent = s->parent < 0 ? NULL : &b->draft->supernode[s->parent];
        if (!parent)
            continue;
        int32_t signals = b->narrow[step_of(b, b->backward ? parent : s)];
        if (!b->backward && s->tiled) {
            signals = 0;
            for (int32_t first = 0; first < across(b, s); first += b->rows[step_of(b, s)])
                signals += is_owed(b, s, first);
        } else if (b->backward && parent->tiled) {
            signals = gsv_pieces_of(across(b, parent), b->rows[step_of(b, parent)]);
        }
        if (b->backward)
            b->count[k] = signals;
        else
            b->count[s->parent] += signals;
    }
    /* forward a counter for each parent, backward one for each one's children */
    memset(b->counter, 0xff, (size_t)count * sizeof *b->counter); /* -1 */
    for (int64_t k = 0; k < count; k++) {
        const int64_t owner = b->backward ? b->draft->supernode[k].parent : k;
        if (b->count[k] > 0 && b->counter[owner] < 0)
            b->counter[owner] = b->list->counters++;
    }
}

/* The counter that tasks of supernode k wait for. */
static int32_t awaited(const builder *b, int64_t k) {
    return b->count[k] == 0 ? 0 : b->counter[b->backward ? b->draft->supernode[k].parent : k];
}

/* The counter that supernode k advances when it, or one of its tiles, is done. */
static int32_t advanced(const builder *b, int64_t k) {
    const int32_t parent = b->draft->supernode[k].parent;
    return b->backward ? b->counter[k] : parent < 0 ? -1 : b->counter[parent];
}

/* ------------------------------------------------------------------------------------------ tasks --- */

static void append(builder *b, const supernode *s, gsv_task task) {
    task.node = s->node;
    b->step[b->tasks] = 2 * (uint32_t)step_of(b, s) + (task.kind == GSV_TASK_PRODUCT);
    b->list->task[b->tasks++] = task;
}

/* A task lists rows first .. end - 1 of a front. */
static void list_rows(const builder *b, const supernode *s, int32_t first, int32_t end, gsv_task *task) {
    const int64_t row = b->schedule->row_place[s->s] + first;
    const uint32_t *ptr = b->schedule->gather_ptr + row, count = ptr[end - first] - ptr[0];
    task->row = (uint32_t)row;
    task->list = ptr[0];
    task->listed_rows = (int16_t)(end - first);
    task->listed = (int16_t)(count > GSV_TASK_LISTED ? GSV_TASK_LISTED + 1 : count);
}

/* Rows that the assemblies of a supernode have. */
static int32_t assembled_rows(const builder *b, const supernode *s) {
    return b->backward || !s->adds ? 0 : s->nc;
}

/* Assemblies of supernode s: *wait and *count become what its tiles wait for. */
static void add_assemblies(builder *b, const supernode *s, int32_t *wait, int32_t *count) {
    const int32_t rows = assembled_rows(b, s);
    if (rows == 0)
        return;
    const int32_t ready = b->list->counters++;
    for (int32_t first = 0; first < rows; first += GSV_TASK_ASSEMBLE) {
        gsv_task task = {.kind = GSV_TASK_ASSEMBLY,
                         .first = first,
                         .end = smaller(first + GSV_TASK_ASSEMBLE, rows),
                         .wait = *wait,
                         .count = *count,
                         .signal = ready};
        list_rows(b, s, first, task.end, &task);
        append(b, s, task);
    }
    *wait = ready;
    *count = gsv_pieces_of(rows, GSV_TASK_ASSEMBLE);
}

/* A tile has `count` terms. How many ranges they are cut into; *each becomes the terms of a range, of which the last one may have fewer. */
static int32_t ranges_of(int32_t count, int32_t longest, int32_t *each) {
    *each = count;
    if (count <= longest)
        return 1;
    *each = gsv_whole_tiles(gsv_pieces_of(count, gsv_pieces_of(count, longest)));
    return gsv_pieces_of(count, *each);
}

/* The tiles of supernode s; owed, owing: what its assemblies wait for, or backward its parent. */
static void add_tiles(builder *b, int64_t k, int32_t wait, int32_t count, int32_t owed, int32_t owing) {
    const supernode *s = &b->draft->supernode[k];
    const int32_t longest = b->longest[step_of(b, s)], rows = b->rows[step_of(b, s)];
    for (int32_t first = 0; first < across(b, s); first += rows) {
        int32_t begin, end, each;
        terms(b, s, first, rows, &begin, &end);
        const int32_t ranges = ranges_of(end - begin, longest, &each);
        const bool is_first_owed = is_owed(b, s, first);
        gsv_task task = {.kind = GSV_TASK_PRODUCT,
                         .first = first,
                         .rows = (int16_t)rows,
                         .wait = wait,
                         .count = count,
                         .signal = b->backward || is_first_owed ? advanced(b, k) : -1,
                         .owed = owed};
        if (b->backward) {
            task.near = s->nc / GSV_TILE * GSV_TILE;
            task.far = s->behind;
        }
        if (ranges > 1) {
            task.slot = (int32_t)b->list->slots;
            task.met = b->list->counters;
            task.slots = (int16_t)ranges;
            b->list->counters++;
            b->list->slots += ranges;
        }
        for (; task.range < ranges; task.range++) {
            task.begin = begin + task.range * each;
            task.end = smaller(task.begin + each, end);
            const bool adds = !b->backward && task.range == 0 && is_first_owed;
            task.owing = b->backward || adds ? owing : 0;
            if (adds)
                list_rows(b, s, larger(first, s->nc), smaller(first + rows, s->nr), &task);
            else if (!b->backward)
                task.listed_rows = task.listed = 0;
            append(b, s, task);
        }
    }
}

static int64_t count_tasks(const builder *b) {
    int64_t tasks = 0;
    for (int64_t k = 0; k < b->draft->count; k++) {
        const supernode *s = &b->draft->supernode[k];
        const int32_t step = step_of(b, s);
        if (!s->tiled) {
            tasks += b->narrow[step];
            continue;
        }
        tasks += gsv_pieces_of(assembled_rows(b, s), GSV_TASK_ASSEMBLE);
        for (int32_t first = 0; first < across(b, s); first += b->rows[step]) {
            int32_t begin, end, each;
            terms(b, s, first, b->rows[step], &begin, &end);
            tasks += ranges_of(end - begin, b->longest[step], &each);
        }
    }
    return tasks;
}

static void add_all(builder *b) {
    choose_counters(b);
    for (int64_t k = 0; k < b->draft->count; k++) {
        const supernode *s = &b->draft->supernode[k];
        int32_t wait = awaited(b, k), count = b->count[k];
        if (s->tiled) {
            const int64_t of = b->backward ? s->parent : k;
            const int32_t owed = of < 0 ? 0 : awaited(b, of), owing = of < 0 ? 0 : b->count[of];
            add_assemblies(b, s, &wait, &count);
            add_tiles(b, k, wait, count, owed, owing);
            continue;
        }
        const int32_t each = GSV_TASK_PARTS / b->narrow[step_of(b, s)];
        for (int32_t part = 0; part < GSV_TASK_PARTS; part += each) {
            gsv_task task = {.kind = GSV_TASK_NARROW,
                             .begin = part,
                             .end = part + each,
                             .wait = wait,
                             .count = count,
                             .signal = advanced(b, k)};
            list_rows(b, s, 0, s->nr, &task);
            append(b, s, task);
        }
    }
}

/* NULL: out of memory. */
static gsv_task_planner *make_list(builder *b) {
    gsv_task_planner *planner = NULL;
    choose_parts(b);
    choose_rows(b);
    choose_lengths(b);
    b->list->tasks = count_tasks(b);
    b->list->task = gsv_malloc((size_t)b->list->tasks, sizeof *b->list->task);
    b->step = gsv_malloc((size_t)b->list->tasks, sizeof *b->step);
    if (b->list->task && b->step) {
        add_all(b);
        planner = gsv_tasks_rank(b->list, b->step, b->backward);
    }
    gsv_free(b->step);
    return planner;
}

static bool is_backward(int list) {
    return list == gsv_task_list_of(1, 0) || list == gsv_task_list_of(1, 1);
}

gpusolve_status gsv_tasks_add(gsv_tasks_draft *draft, int list, gsv_tasks *tasks, gsv_message *message) {
    const size_t count = (size_t)draft->count, nlevels = (size_t)draft->plan->nlevels;
    int32_t *numbers = gsv_malloc(3 * nlevels + 2 * count, sizeof *numbers);
    int64_t *sum = gsv_malloc(nlevels, sizeof *sum);
    if (numbers && sum) {
        builder b = {.draft = draft,
                     .schedule = draft->plan->schedule,
                     .list = &tasks->list[list],
                     .backward = is_backward(list),
                     .by = divisions[list],
                     .nlevels = draft->plan->nlevels,
                     .longest = numbers,
                     .narrow = numbers + nlevels,
                     .rows = numbers + 2 * nlevels,
                     .counter = numbers + 3 * nlevels,
                     .count = numbers + 3 * nlevels + count,
                     .sum = sum};
        draft->planner[list] = make_list(&b);
    }
    gsv_free(numbers);
    gsv_free(sum);
    return draft->planner[list] ? GPUSOLVE_OK : gsv_plan_no_memory(message);
}

gpusolve_status gsv_tasks_sort(const gsv_tasks_draft *draft, int list, gsv_message *message) {
    return gsv_tasks_order(draft->planner[list]) ? GPUSOLVE_OK : gsv_plan_no_memory(message);
}

static bool is_short(const gsv_task_list *forward) {
    int64_t terms = 0;
    for (int64_t t = 0; t < forward->tasks; t++)
        if (forward->task[t].kind == GSV_TASK_PRODUCT)
            terms += forward->task[t].end - forward->task[t].begin;
    return forward->tasks <= GSV_TASK_SHORT_TASKS && terms <= GSV_TASK_SHORT_TERMS;
}

void gsv_tasks_end(gsv_tasks_draft *draft, gsv_tasks *tasks) {
    if (draft && tasks) {
        tasks->updates = draft->plan->schedule->shared_updates;
        tasks->is_short = is_short(&tasks->list[gsv_task_list_of(0, 0)]);
        tasks->streams_back = draft->numbers < GSV_TASK_STREAMED;
        tasks->bytes = 0;
        for (int k = 0; k < GSV_TASK_LISTS; k++)
            tasks->bytes += tasks->list[k].tasks * (int64_t)sizeof *tasks->list[k].task;
    }
    for (int k = 0; k < GSV_TASK_LISTS && draft; k++)
        gsv_tasks_planner_free(draft->planner[k]);
    if (draft)
        gsv_free(draft->supernode);
    gsv_free(draft);
}
