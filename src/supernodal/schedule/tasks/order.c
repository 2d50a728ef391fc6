/* The order of the tasks for many right-hand sides: schedule/tasks/order.h. Tasks x log(tasks). */
#include "order.h"

#include "../../../memory.h"

#include <math.h>
#include <string.h>

/* Blocks that run at a time when a tile has 256 right-hand sides: a task is four blocks then. */
enum { BLOCKS = 66 };

/* Microseconds on an H200, for 32 or 64 right-hand sides: a narrow supernode, an assembly, a tile and each
 * sixteen of its terms; and from a counter's last advance until the tasks that wait for it go on. */
static const double NARROW = 12, ASSEMBLY = 3, PRODUCT = 4, STEP = 0.9, HOP = 2;

typedef struct entry {
    double key; /* the least first */
    int64_t number;
} entry;

typedef struct heap {
    entry *entry;
    int64_t count;
} heap;

/* One sweep. Times are from its beginning. Whoever waits for a counter waits for all tasks that advance it: they stand
 * before it. */
typedef struct planner {
    const gsv_task *task;
    int64_t ntasks;
    int32_t ncounters;
    int backward;
    double *left;       /* [ntasks] from the beginning of a task to the end of the sweep, at least */
    double *reached;    /* [ncounters] when the tasks that advance a counter, so far, are done */
    int64_t *missing;   /* [ncounters] of those tasks, how many have not begun */
    int64_t *waiting;   /* [ntasks] tasks that wait, by counter: */
    int64_t *first;     /* [ncounters + 1] waiting[first[c]] .. waiting[first[c + 1] - 1] for counter c */
    heap coming, ready; /* tasks: by the time when they can begin; those that can, the longest way first */
    heap blocks;        /* by when they are free */
} planner;

static int is_before(entry a, entry b) {
    return a.key < b.key || (a.key == b.key && a.number < b.number);
}

static void push(heap *h, double key, int64_t number) {
    const entry e = {key, number};
    int64_t k = h->count++;
    for (; k > 0 && is_before(e, h->entry[(k - 1) / 2]); k = (k - 1) / 2)
        h->entry[k] = h->entry[(k - 1) / 2];
    h->entry[k] = e;
}

static entry pop(heap *h) {
    const entry top = h->entry[0], e = h->entry[--h->count];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < h->count; k = child) {
        if (child + 1 < h->count && is_before(h->entry[child + 1], h->entry[child]))
            child++;
        if (!is_before(h->entry[child], e))
            break;
        h->entry[k] = h->entry[child];
    }
    h->entry[k] = e;
    return top;
}

static double time_of_terms(int32_t terms) {
    return STEP * ((terms + GSV_TILE - 1) / GSV_TILE);
}

static double duration(const gsv_task *task) {
    return task->kind == GSV_TASK_PRODUCT    ? PRODUCT + time_of_terms(task->end - task->begin)
           : task->kind == GSV_TASK_ASSEMBLY ? ASSEMBLY
                                             : NARROW;
}

static int32_t within(int32_t term, const gsv_task *task) {
    return term < task->begin ? task->begin : term < task->end ? term : task->end;
}

/* How long a task is busy before it needs what it waits for: forward with what its rows are owed, backward with
 * all terms but the parent's. */
static double ahead(const planner *p, const gsv_task *task) {
    if (!p->backward || task->kind != GSV_TASK_PRODUCT)
        return task->owing > 0 ? PRODUCT / 2 : 0;
    return time_of_terms(task->end - task->begin - (within(task->far, task) - within(task->near, task)));
}

/* From the last task to the first: those that wait for one stand behind it. */
static void find_ways(planner *p) {
    double *from = p->reached; /* for now: from a counter's being reached to the end of the sweep */
    for (int32_t c = 0; c < p->ncounters; c++)
        from[c] = 0;
    for (int64_t t = p->ntasks - 1; t >= 0; t--) {
        const gsv_task *task = &p->task[t];
        p->left[t] = duration(task) + (task->signal >= 0 ? from[task->signal] : 0);
        if (task->count > 0)
            from[task->wait] = fmax(from[task->wait], HOP + p->left[t] - ahead(p, task));
        if (task->owing > 0)
            from[task->owed] = fmax(from[task->owed], HOP + p->left[t]);
    }
}

static void list_waiting(planner *p) {
    memset(p->first, 0, ((size_t)p->ncounters + 1) * sizeof *p->first);
    memset(p->missing, 0, (size_t)p->ncounters * sizeof *p->missing);
    for (int64_t t = 0; t < p->ntasks; t++) {
        const gsv_task *task = &p->task[t];
        if (task->count > 0)
            p->first[task->wait]++;
        if (task->signal >= 0)
            p->missing[task->signal]++;
    }
    int64_t sum = 0;
    for (int32_t c = 0; c <= p->ncounters; c++) {
        sum += p->first[c];
        p->first[c] = sum;
    }
    for (int64_t t = p->ntasks - 1; t >= 0; t--)
        if (p->task[t].count > 0)
            p->waiting[--p->first[p->task[t].wait]] = t;
}

/* A task of which all that it waits for has begun can begin when that ends, or a while before. */
static void announce(planner *p, int64_t t) {
    const gsv_task *task = &p->task[t];
    double time = 0;
    if (task->count > 0)
        time = fmax(0, p->reached[task->wait] + HOP - ahead(p, task));
    if (task->owing > 0)
        time = fmax(time, p->reached[task->owed] + HOP);
    push(&p->coming, time, t);
}

static void simulate(planner *p, gsv_task *order) {
    memset(p->reached, 0, (size_t)p->ncounters * sizeof *p->reached);
    for (int64_t t = 0; t < p->ntasks; t++)
        if (p->task[t].count == 0)
            announce(p, t);
    for (int32_t k = 0; k < BLOCKS; k++)
        push(&p->blocks, 0, k);
    for (int64_t n = 0; n < p->ntasks; n++) {
        const entry block = pop(&p->blocks);
        double now = block.key;
        if (p->ready.count == 0 && p->coming.entry[0].key > now)
            now = p->coming.entry[0].key;
        while (p->coming.count > 0 && p->coming.entry[0].key <= now) {
            const int64_t t = pop(&p->coming).number;
            push(&p->ready, -p->left[t], t);
        }
        const gsv_task *task = &p->task[pop(&p->ready).number];
        const int32_t c = task->signal;
        const double end = now + duration(task);
        order[n] = *task;
        push(&p->blocks, end, block.number);
        if (c < 0)
            continue;
        p->reached[c] = fmax(p->reached[c], end);
        if (--p->missing[c] == 0)
            for (int64_t k = p->first[c]; k < p->first[c + 1]; k++)
                announce(p, p->waiting[k]);
    }
}

int gsv_tasks_order(gsv_task_list *list, int backward) {
    const size_t ntasks = (size_t)list->tasks, ncounters = (size_t)list->counters;
    gsv_task *order = gsv_malloc(ntasks, sizeof *order);
    double *times = gsv_malloc(ntasks + ncounters, sizeof *times);
    int64_t *numbers = gsv_malloc(ntasks + 2 * ncounters + 1, sizeof *numbers);
    entry *entries = gsv_malloc(2 * ntasks + BLOCKS, sizeof *entries);
    const int good = order && times && numbers && entries;
    if (good) {
        planner p = {.task = list->task,
                     .ntasks = list->tasks,
                     .ncounters = list->counters,
                     .backward = backward,
                     .left = times,
                     .reached = times + ntasks,
                     .waiting = numbers,
                     .missing = numbers + ntasks,
                     .first = numbers + ntasks + ncounters,
                     .coming.entry = entries,
                     .ready.entry = entries + ntasks,
                     .blocks.entry = entries + 2 * ntasks};
        find_ways(&p);
        list_waiting(&p);
        simulate(&p, order);
        gsv_free(list->task);
        list->task = order;
    } else {
        gsv_free(order);
    }
    gsv_free(times);
    gsv_free(numbers);
    gsv_free(entries);
    return good;
}
