/* The order of the tasks for many right-hand sides: many_order.h. Tasks x log(tasks). */
#include "many_order.h"

#include "../memory.h"
#include "many_parts.h"
#include "tiles.h"

#include <math.h>
#include <string.h>

/* Blocks that run at a time when a tile has 256 right-hand sides: a task is four blocks then. */
enum { BLOCKS = 66 };

/* Microseconds on an H200, for 32 or 64 right-hand sides: a narrow supernode, an assembly, a tile and each
 * sixteen of its terms; and from a counter's last advance until those who wait for it go on. */
static const double NARROW = 12, ASSEMBLY = 3, PRODUCT = 4, STEP = 0.9, HOP = 2;

typedef struct entry {
    double key; /* the least first */
    int64_t number;
} entry;

typedef struct heap {
    entry *entry;
    int64_t count;
} heap;

/* One launch. Times are from its beginning. Whoever waits for a counter waits for all tasks of this launch that
 * advance it, or, if it is a supernode's own, for those of earlier passes: they stand before it. */
typedef struct planner {
    const gsv_many_task *task;
    int64_t ntasks;
    int32_t ncounters, chain; /* from counter `chain` on: supernodes' own */
    int backward;
    double *left;       /* [ntasks] from the beginning of a task to the end of the sweep, at least */
    double *reached;    /* [ncounters] when the tasks that advance a counter, so far, are done */
    double *later;      /* [ncounters] for find_ways(), as is */
    int32_t *pass;      /* [ncounters] this */
    int64_t *begun;     /* [ncounters] of those tasks, how many have begun */
    int64_t *need;      /* [ntasks] how many of them a task waits for */
    int64_t *waiting;   /* [ntasks] tasks that wait, by counter: */
    int64_t *first;     /* [ncounters + 1] waiting[first[c]] .. waiting[first[c + 1] - 1] for counter c */
    int64_t *next;      /* [ncounters] the first of them that still does */
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

static double duration(const gsv_many_task *task) {
    return task->kind == GSV_MANY_PRODUCT    ? PRODUCT + time_of_terms(task->end - task->begin)
           : task->kind == GSV_MANY_ASSEMBLY ? ASSEMBLY
                                             : NARROW;
}

static int32_t within(int32_t term, const gsv_many_task *task) {
    return term < task->begin ? task->begin : term < task->end ? term : task->end;
}

/* How long a task is busy before it needs what it waits for: forward with what its rows are owed, backward with
 * all terms but the parent's. */
static double ahead(const planner *p, const gsv_many_task *task) {
    if (!p->backward || task->kind != GSV_MANY_PRODUCT)
        return task->owing > 0 ? PRODUCT / 2 : 0;
    return time_of_terms(task->end - task->begin - (within(task->far, task) - within(task->near, task)));
}

/* From the last task to the first: those that wait for one stand behind it. Of a supernode's own counter there
 * are times for the pass that is being looked at, and for the one behind it. */
static void find_ways(planner *p) {
    double *from = p->reached; /* for now: from a counter's being reached to the end of the sweep */
    for (int32_t c = 0; c < p->ncounters; c++) {
        from[c] = p->later[c] = 0;
        p->pass[c] = 0;
    }
    for (int64_t t = p->ntasks - 1; t >= 0; t--) {
        const gsv_many_task *task = &p->task[t];
        const int32_t c = task->signal;
        p->left[t] = duration(task);
        if (c >= 0)
            p->left[t] += c >= p->chain && p->pass[c] == task->pass ? p->later[c] : from[c];
        if (task->count > 0) {
            if (task->wait >= p->chain && p->pass[task->wait] != task->pass) {
                p->pass[task->wait] = task->pass;
                p->later[task->wait] = from[task->wait];
                from[task->wait] = 0;
            }
            from[task->wait] = fmax(from[task->wait], HOP + p->left[t] - ahead(p, task));
        }
        if (task->owing > 0)
            from[task->owed] = fmax(from[task->owed], HOP + p->left[t]);
    }
}

static void list_waiting(planner *p) {
    int64_t *seen = p->begun; /* for now: tasks that advance a counter, so far */
    memset(p->first, 0, ((size_t)p->ncounters + 1) * sizeof *p->first);
    memset(seen, 0, (size_t)p->ncounters * sizeof *seen);
    for (int32_t c = 0; c < p->ncounters; c++)
        p->pass[c] = 0;
    for (int64_t t = 0; t < p->ntasks; t++) {
        const gsv_many_task *task = &p->task[t];
        if (task->count > 0) {
            p->first[task->wait]++;
            if (task->wait >= p->chain && p->pass[task->wait] != task->pass) {
                p->pass[task->wait] = task->pass;
                p->next[task->wait] = seen[task->wait]; /* for now: what this pass waits for */
            }
            if (task->wait >= p->chain)
                p->need[t] = p->next[task->wait];
        }
        if (task->signal >= 0)
            seen[task->signal]++;
    }
    for (int64_t t = 0; t < p->ntasks; t++)
        if (p->task[t].count > 0 && p->task[t].wait < p->chain)
            p->need[t] = seen[p->task[t].wait];
    int64_t sum = 0;
    for (int32_t c = 0; c <= p->ncounters; c++) {
        sum += p->first[c];
        p->first[c] = sum;
    }
    for (int64_t t = p->ntasks - 1; t >= 0; t--)
        if (p->task[t].count > 0)
            p->waiting[--p->first[p->task[t].wait]] = t;
    memset(p->begun, 0, (size_t)p->ncounters * sizeof *p->begun);
    memcpy(p->next, p->first, (size_t)p->ncounters * sizeof *p->next);
}

/* A task of which all that it waits for has begun can begin when that ends, or a while before. */
static void announce(planner *p, int64_t t) {
    const gsv_many_task *task = &p->task[t];
    double time = 0;
    if (task->count > 0)
        time = fmax(0, p->reached[task->wait] + HOP - ahead(p, task));
    if (task->owing > 0)
        time = fmax(time, p->reached[task->owed] + HOP);
    push(&p->coming, time, t);
}

/* Those that wait for a counter and need no more than has begun. */
static void announce_waiting(planner *p, int32_t c) {
    for (; p->next[c] < p->first[c + 1] && p->need[p->waiting[p->next[c]]] <= p->begun[c]; p->next[c]++)
        announce(p, p->waiting[p->next[c]]);
}

static void simulate(planner *p, gsv_many_task *order) {
    memset(p->reached, 0, (size_t)p->ncounters * sizeof *p->reached);
    for (int64_t t = 0; t < p->ntasks; t++)
        if (p->task[t].count == 0)
            announce(p, t);
    for (int32_t c = 0; c < p->ncounters; c++)
        announce_waiting(p, c); /* what the launches before have done */
    p->blocks.count = 0;
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
        const gsv_many_task *task = &p->task[pop(&p->ready).number];
        const double end = now + duration(task);
        order[n] = *task;
        push(&p->blocks, end, block.number);
        if (task->signal < 0)
            continue;
        p->reached[task->signal] = fmax(p->reached[task->signal], end);
        p->begun[task->signal]++;
        announce_waiting(p, task->signal);
    }
}

/* The tasks of one launch, from where they stand to where they shall. */
static void order_run(planner *p, const gsv_many_task *from, const gsv_many_run *run, gsv_many_task *order) {
    p->task = from + run->begin;
    p->ntasks = run->end - run->begin;
    find_ways(p);
    list_waiting(p);
    simulate(p, order + run->begin);
}

/* Levels that have a divided supernode, or none, as launches. */
static void find_runs(const gsv_plan *plan, int backward, const uint8_t *divided, const int64_t *ptr,
                      gsv_many_schedule *schedule) {
    schedule->runs = 0;
    for (int32_t k = 0, end; k < plan->nlevels; k = end) {
        const int is_divided = divided[backward ? plan->nlevels - 1 - k : k];
        for (end = k + 1;
             end < plan->nlevels && divided[backward ? plan->nlevels - 1 - end : end] == is_divided;)
            end++;
        if (ptr[end] > ptr[k])
            schedule->run[schedule->runs++] = (gsv_many_run){ptr[k], ptr[end], is_divided};
    }
}

static gpusolve_status out_of_memory(gsv_message *message) {
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
}

/* schedule->task becomes the order of what `from` has. */
static gpusolve_status order_runs(const gsv_many_list *list, int backward, const gsv_many_task *from,
                                  gsv_many_schedule *schedule, gsv_message *message) {
    const size_t ntasks = (size_t)schedule->tasks, ncounters = (size_t)list->counters;
    planner p = {.ncounters = list->counters, .chain = list->chain, .backward = backward};
    p.left = gsv_malloc(ntasks, sizeof *p.left);
    p.reached = gsv_malloc(ncounters, sizeof *p.reached);
    p.later = gsv_malloc(ncounters, sizeof *p.later);
    p.pass = gsv_malloc(ncounters, sizeof *p.pass);
    p.begun = gsv_malloc(ncounters, sizeof *p.begun);
    p.need = gsv_malloc(ntasks, sizeof *p.need);
    p.next = gsv_malloc(ncounters, sizeof *p.next);
    p.waiting = gsv_malloc(ntasks, sizeof *p.waiting);
    p.first = gsv_malloc(ncounters + 1, sizeof *p.first);
    p.coming.entry = gsv_malloc(ntasks, sizeof *p.coming.entry);
    p.ready.entry = gsv_malloc(ntasks, sizeof *p.ready.entry);
    p.blocks.entry = gsv_malloc(BLOCKS, sizeof *p.blocks.entry);
    const int good = p.left && p.reached && p.later && p.pass && p.begun && p.need && p.next && p.waiting &&
                     p.first && p.coming.entry && p.ready.entry && p.blocks.entry;
    for (int32_t k = 0; good && k < schedule->runs; k++)
        order_run(&p, from, &schedule->run[k], schedule->task);
    gsv_free(p.left);
    gsv_free(p.reached);
    gsv_free(p.later);
    gsv_free(p.pass);
    gsv_free(p.begun);
    gsv_free(p.need);
    gsv_free(p.next);
    gsv_free(p.waiting);
    gsv_free(p.first);
    gsv_free(p.coming.entry);
    gsv_free(p.ready.entry);
    gsv_free(p.blocks.entry);
    return good ? GPUSOLVE_OK : out_of_memory(message);
}

gpusolve_status gsv_many_schedule_create(const gsv_plan *plan, int number, const int32_t *parts,
                                         gsv_many_schedule *schedule, gsv_message *message) {
    const int backward = gsv_many_is_backward(number);
    const gsv_many_list *list = &plan->tiles->many.list[number];
    const size_t nsuper = (size_t)plan->l.nsuper, nlevels = (size_t)plan->nlevels;
    gpusolve_status status = GPUSOLVE_OK;
    *schedule = (gsv_many_schedule){0};
    gsv_many_schedule divided = {0};
    const gsv_many_index index = {
        .wide = gsv_malloc(nsuper, sizeof *index.wide),
        .first = gsv_malloc(nsuper, sizeof *index.first),
        .next = gsv_malloc((size_t)list->ptr[nlevels], sizeof *index.next),
    };
    int32_t *done = gsv_malloc((size_t)list->counters, sizeof *done);
    int64_t *ptr = gsv_malloc(nlevels + 1, sizeof *ptr);
    uint8_t *levels = gsv_calloc(nlevels, 1);
    schedule->run = gsv_malloc(nlevels, sizeof *schedule->run);
    if (!index.wide || !index.first || !index.next || !done || !ptr || !levels || !schedule->run)
        status = out_of_memory(message);
    if (status == GPUSOLVE_OK) {
        for (int32_t s = 0, count = 0; s < plan->l.nsuper; s++) {
            if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
                index.wide[count++] = s;
            levels[plan->level[s]] |= gsv_parts_of(parts[s]) > 1;
        }
        gsv_many_divide(plan, list, backward, parts, &index, &divided, ptr);
        divided.task = gsv_malloc((size_t)divided.tasks, sizeof *divided.task);
        schedule->task = gsv_malloc((size_t)divided.tasks, sizeof *schedule->task);
        if (!divided.task || !schedule->task)
            status = out_of_memory(message);
    }
    if (status == GPUSOLVE_OK) {
        gsv_many_divide(plan, list, backward, parts, &index, &divided, ptr);
        gsv_many_recount(list, &divided, done);
        schedule->tasks = divided.tasks;
        find_runs(plan, backward, levels, ptr, schedule);
        status = order_runs(list, backward, divided.task, schedule, message);
    }
    gsv_free(divided.task);
    gsv_free(index.wide);
    gsv_free(index.first);
    gsv_free(index.next);
    gsv_free(done);
    gsv_free(ptr);
    gsv_free(levels);
    if (status != GPUSOLVE_OK)
        gsv_many_schedule_free(schedule);
    return status;
}

void gsv_many_schedule_free(gsv_many_schedule *schedule) {
    gsv_free(schedule->task);
    gsv_free(schedule->run);
    *schedule = (gsv_many_schedule){0};
}
