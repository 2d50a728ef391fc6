/* The order of the tasks for many right-hand sides: schedule/tasks/order.h. Tasks x log(tasks that wait at a time). */
#include "order.h"

#include "../../../memory.h"

#include <math.h>
#include <string.h>

/* Blocks that run at a time when a tile has 256 right-hand sides: a task is four blocks then. */
enum { BLOCKS = 66 };

/* Microseconds on an H200, for 32 or 64 right-hand sides: a narrow supernode, an assembly, a tile and each
 * sixteen of its terms; and from a counter's last advance until the tasks that wait for it go on. */
static const double NARROW = 12, ASSEMBLY = 3, PRODUCT = 4, STEP = 0.9, HOP = 2;

/* A number to sort by, and what it belongs to. */
typedef struct entry {
    uint64_t key;
    uint32_t task;
} entry;

/* Tasks that can begin at a time: waiting[first] .. waiting[end - 1]. */
typedef struct arrival {
    double time;
    uint32_t first, end;
} arrival;

/* A set of numbers below `numbers`, of which the least one is taken: bit k of level[l + 1] says whether word k of level[l] has
 * bits. */
enum { WORD = 64, LEVELS = 6 };
typedef struct set {
    uint64_t *level[LEVELS];
    int levels;
    int64_t count;
} set;

/* One sweep. Times are from its beginning. Whoever waits for a counter waits for all tasks that advance it. */
typedef struct gsv_task_planner {
    gsv_task_list *list;
    const gsv_task *task;
    int64_t ntasks;
    int32_t ncounters;
    int backward;
    double *left;      /* [ntasks] from the beginning of a task to the end of the sweep, at least */
    double *reached;   /* [ncounters] when the tasks that advance a counter, so far, are done */
    uint32_t *missing; /* [ncounters] of those tasks, how many have not begun */
    uint32_t *waiting; /* [ntasks] tasks that wait, by counter: */
    uint32_t *first;   /* [ncounters + 1] waiting[first[c]] .. waiting[first[c + 1] - 1] for counter c */
    uint32_t *rank;    /* [ntasks] of a task among all, and */
    uint32_t *ranked;  /* [ntasks] the task of a rank: the one with the longest way first */
    set ready;         /* ranks of the tasks that can begin */
    arrival *coming;   /* a heap of those that can begin later, by time */
    int64_t arrivals;
    double block[BLOCKS]; /* a heap: when each is free */
    uint64_t *words;      /* of `ready` */
    void *entries;        /* what tasks are ranked with, and then `coming` */
} planner;

/* ------------------------------------------------------------------------------------- containers --- */

/* Sorts by key, equal ones as they stand: digit by digit, without those in which all keys agree. `spare`: as long. Returns
 * where the result stands, in one of the two. */
static entry *sort(entry *from, entry *spare, int64_t count) {
    enum { BITS = 8, DIGITS = 64 / BITS, VALUES = 1 << BITS };
    uint32_t begin[DIGITS][VALUES] = {{0}};
    for (int64_t k = 0; k < count; k++)
        for (int d = 0; d < DIGITS; d++)
            begin[d][from[k].key >> (BITS * d) & (VALUES - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t *at = begin[d], sum = 0;
        if (count == 0 || at[from[0].key >> (BITS * d) & (VALUES - 1)] == count)
            continue;
        for (int v = 0; v < VALUES; v++) {
            const uint32_t here = at[v];
            at[v] = sum;
            sum += here;
        }
        for (int64_t k = 0; k < count; k++)
            spare[at[from[k].key >> (BITS * d) & (VALUES - 1)]++] = from[k];
        entry *sorted = spare;
        spare = from;
        from = sorted;
    }
    return from;
}

/* Words of a set's levels for `numbers` numbers. */
static int64_t words_of(int64_t numbers) {
    int64_t words = 0, here = numbers;
    do {
        here = (here + WORD - 1) / WORD;
        words += here;
    } while (here > 1);
    return words;
}

/* An empty one in words_of(numbers) words. */
static set make_set(uint64_t *words, int64_t numbers) {
    set s = {.levels = 0};
    memset(words, 0, (size_t)words_of(numbers) * sizeof *words);
    do {
        numbers = (numbers + WORD - 1) / WORD;
        s.level[s.levels++] = words;
        words += numbers;
    } while (numbers > 1);
    return s;
}

static void put(set *s, uint32_t number) {
    s->count++;
    for (int l = 0; l < s->levels; l++, number /= WORD) {
        uint64_t *word = &s->level[l][number / WORD];
        const uint64_t before = *word;
        *word |= (uint64_t)1 << number % WORD;
        if (before)
            return;
    }
}

static uint32_t take_least(set *s) {
    uint32_t number = 0;
    s->count--;
    for (int l = s->levels - 1; l >= 0; l--)
        number = WORD * number + (uint32_t)__builtin_ctzll(s->level[l][number]);
    uint32_t at = number;
    for (int l = 0; l < s->levels; l++, at /= WORD) {
        uint64_t *word = &s->level[l][at / WORD];
        *word &= ~((uint64_t)1 << at % WORD);
        if (*word)
            break;
    }
    return number;
}

static void push(planner *p, arrival a) {
    arrival *heap = p->coming;
    int64_t k = p->arrivals++;
    for (; k > 0 && a.time < heap[(k - 1) / 2].time; k = (k - 1) / 2)
        heap[k] = heap[(k - 1) / 2];
    heap[k] = a;
}

static arrival pop(planner *p) {
    arrival *heap = p->coming;
    const arrival top = heap[0], a = heap[--p->arrivals];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < p->arrivals; k = child) {
        child += child + 1 < p->arrivals && heap[child + 1].time < heap[child].time;
        if (!(heap[child].time < a.time))
            break;
        heap[k] = heap[child];
    }
    heap[k] = a;
    return top;
}

/* The block that is free first is free at `time` now. */
static void occupy(double *heap, double time) {
    int k = 0;
    for (int child; (child = 2 * k + 1) < BLOCKS; k = child) {
        child += child + 1 < BLOCKS && heap[child + 1] < heap[child];
        if (!(heap[child] < time))
            break;
        heap[k] = heap[child];
    }
    heap[k] = time;
}

/* ------------------------------------------------------------------------------------------ times --- */

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

/* A task's way comes after those of the tasks that wait for it, which are a parent's forward, a child's backward, or the tiles of
 * its own supernode. */
static void find_ways(planner *p) {
    double *from = p->reached; /* for now: from a counter's being reached to the end of the sweep */
    memset(from, 0, (size_t)p->ncounters * sizeof *from);
    for (int64_t k = 0; k < p->ntasks; k++) {
        const int64_t t = p->backward ? k : p->ntasks - 1 - k;
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
    uint32_t sum = 0;
    for (int32_t c = 0; c <= p->ncounters; c++) {
        sum += p->first[c];
        p->first[c] = sum;
    }
    for (int64_t t = p->ntasks - 1; t >= 0; t--)
        if (p->task[t].count > 0)
            p->waiting[--p->first[p->task[t].wait]] = (uint32_t)t;
}

/* The longest way first; of equal ones, step by step, the longest products first, and then as they stand. Ways are positive: their
 * bits have the order of their values. */
static void rank_tasks(planner *p, const uint32_t *step, entry *entries) {
    entry *spare = entries + p->ntasks;
    for (int64_t t = 0; t < p->ntasks; t++) {
        const gsv_task *task = &p->task[t];
        const uint32_t length = task->kind == GSV_TASK_PRODUCT ? (uint32_t)(task->end - task->begin) : 0;
        entries[t] = (entry){(uint64_t)step[t] << 32 | (UINT32_MAX - length), (uint32_t)t};
    }
    entry *sorted = sort(entries, spare, p->ntasks);
    for (int64_t k = 0; k < p->ntasks; k++) {
        uint64_t bits;
        memcpy(&bits, &p->left[sorted[k].task], sizeof bits);
        sorted[k].key = ~bits;
    }
    sorted = sort(sorted, sorted == entries ? spare : entries, p->ntasks);
    for (int64_t k = 0; k < p->ntasks; k++) {
        p->ranked[k] = sorted[k].task;
        p->rank[sorted[k].task] = (uint32_t)k;
    }
}

/* ------------------------------------------------------------------------------------------ order --- */

/* When a task can begin of which all that it waits for has begun: when that ends, or a while before. */
static double time_of(const planner *p, const gsv_task *task) {
    double time = 0;
    if (task->count > 0)
        time = fmax(0, p->reached[task->wait] + HOP - ahead(p, task));
    if (task->owing > 0)
        time = fmax(time, p->reached[task->owed] + HOP);
    return time;
}

/* waiting[first] .. waiting[end - 1] can begin: those that can before any block is free are ready. */
static void announce(planner *p, uint32_t first, uint32_t end) {
    for (uint32_t next; first < end; first = next) {
        const double time = time_of(p, &p->task[p->waiting[first]]);
        for (next = first + 1; next < end && time_of(p, &p->task[p->waiting[next]]) == time;)
            next++;
        if (time <= p->block[0])
            for (uint32_t k = first; k < next; k++)
                put(&p->ready, p->rank[p->waiting[k]]);
        else
            push(p, (arrival){time, first, next});
    }
}

/* Tasks that wait for nothing stand in `waiting` behind all that do. */
static void announce_first(planner *p) {
    uint32_t end = p->first[p->ncounters];
    memset(p->reached, 0, (size_t)p->ncounters * sizeof *p->reached);
    memset(p->block, 0, sizeof p->block);
    for (int64_t t = 0; t < p->ntasks; t++)
        if (p->task[t].count == 0)
            p->waiting[end++] = (uint32_t)t;
    announce(p, p->first[p->ncounters], end);
}

static void simulate(planner *p, gsv_task *order) {
    announce_first(p);
    for (int64_t n = 0; n < p->ntasks; n++) {
        double now = p->block[0];
        if (p->ready.count == 0 && p->coming[0].time > now)
            now = p->coming[0].time;
        while (p->arrivals > 0 && p->coming[0].time <= now) {
            const arrival a = pop(p);
            for (uint32_t k = a.first; k < a.end; k++)
                put(&p->ready, p->rank[p->waiting[k]]);
        }
        const gsv_task *task = &p->task[p->ranked[take_least(&p->ready)]];
        const int32_t c = task->signal;
        const double end = now + duration(task);
        order[n] = *task;
        occupy(p->block, end);
        if (c < 0)
            continue;
        p->reached[c] = fmax(p->reached[c], end);
        if (--p->missing[c] == 0)
            announce(p, p->first[c], p->first[c + 1]);
    }
}

void gsv_tasks_planner_free(planner *p) {
    if (!p)
        return;
    gsv_free(p->left);
    gsv_free(p->waiting);
    gsv_free(p->words);
    gsv_free(p->entries);
    gsv_free(p);
}

planner *gsv_tasks_rank(gsv_task_list *list, const uint32_t *step, int backward) {
    const size_t ntasks = (size_t)list->tasks, ncounters = (size_t)list->counters;
    planner *p = list->tasks < UINT32_MAX ? gsv_malloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    *p = (planner){
        .list = list,
        .task = list->task,
        .ntasks = list->tasks,
        .ncounters = list->counters,
        .backward = backward,
        .left = gsv_malloc(ntasks + ncounters, sizeof *p->left),
        .waiting = gsv_malloc(3 * ntasks + 2 * ncounters + 1, sizeof *p->waiting),
        .words = gsv_malloc((size_t)words_of(list->tasks), sizeof *p->words),
        .entries = gsv_malloc(2 * ntasks, sizeof(entry) > sizeof(arrival) ? sizeof(entry) : sizeof(arrival))};
    if (!p->left || !p->waiting || !p->words || !p->entries) {
        gsv_tasks_planner_free(p);
        return NULL;
    }
    p->reached = p->left + ntasks;
    p->rank = p->waiting + ntasks;
    p->ranked = p->rank + ntasks;
    p->missing = p->ranked + ntasks;
    p->first = p->missing + ncounters;
    p->ready = make_set(p->words, list->tasks);
    p->coming = p->entries;
    find_ways(p);
    list_waiting(p);
    rank_tasks(p, step, p->entries);
    return p;
}

int gsv_tasks_order(planner *p) {
    gsv_task *order = gsv_malloc((size_t)p->ntasks, sizeof *order);
    if (!order)
        return 0;
    simulate(p, order);
    gsv_free(p->list->task);
    p->list->task = order;
    return 1;
}
