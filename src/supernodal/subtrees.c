/* Cutting the elimination tree into subtrees and steps; see subtrees.h. */
#include "subtrees.h"

#include "../dense_kernels/panel_host.h"
#include "../memory.h"

#include <string.h>

enum {
    PIECES = 128,        /* no subtree is heavier than this part of the whole: enough for 64 threads */
    LIGHTEST = 8192,     /* but a subtree this light is never cut: handing it over costs more than it gains */
    SUPERNODE_COST = 64, /* what a supernode costs beyond its numbers, in numbers */
    UPDATE_COST = 4      /* what a row of an update vector costs, in numbers */
};

static int64_t cost_of(const gsv_plan *plan, int32_t s) {
    const int64_t m = gsv_updates(plan, s);
    return gsv_panel_size(gsv_columns(plan, s), m) + UPDATE_COST * m + SUPERNODE_COST;
}

static int32_t tiles_below(const gsv_plan *plan, int32_t s) {
    return (int32_t)((gsv_updates(plan, s) + GSV_ROW_TILE - 1) / GSV_ROW_TILE);
}

/* cost[s] = cost of the subtree under s. Returns the weight above which a subtree is cut. */
static int64_t weigh(const gsv_plan *plan, int64_t *cost) {
    int64_t total = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        cost[s] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        cost[s] += cost_of(plan, s);
        if (plan->parent[s] >= 0)
            cost[plan->parent[s]] += cost[s];
        else
            total += cost[s];
    }
    return total / PIECES > LIGHTEST ? total / PIECES : LIGHTEST;
}

/* Put the subtree under root into order[at ..], children before parents; next is scratch, [nsuper]. */
static int32_t list_subtree(const gsv_plan *plan, int32_t root, int32_t *order, int32_t at, int32_t *next) {
    int32_t s = root;
    next[s] = plan->child_ptr[s];
    for (;;) {
        if (next[s] < plan->child_ptr[s + 1]) {
            s = plan->child[next[s]++];
            next[s] = plan->child_ptr[s];
            continue;
        }
        order[at++] = s;
        if (s == root)
            return at;
        s = plan->parent[s];
    }
}

typedef struct stacks {
    int64_t height[2], highest[2]; /* rows on the stack of even and of odd depth */
} stacks;

/*
 * Offsets of the update vectors inside one subtree, order[begin .. end). A vector is pushed when its
 * supernode is reached and popped when its parent has been: its siblings and their descendants come in
 * between, and have gone. Vectors of odd depth are marked by ~, for the odd stack's place is known at the end
 * of the task.
 */
static void stack_updates(const gsv_plan *plan, gsv_subtrees *t, int32_t begin, int32_t end, int32_t *depth,
                          stacks *stack) {
    stack->height[0] = stack->height[1] = 0;
    for (int32_t i = end - 1; i >= begin; i--) {
        const int32_t s = t->order[i];
        depth[s] = i == end - 1 ? 0 : depth[plan->parent[s]] + 1;
    }
    for (int32_t i = begin; i < end; i++) {
        const int32_t s = t->order[i], odd = depth[s] & 1;
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
            stack->height[!odd] -= gsv_updates(plan, plan->child[k]);
        if (i == end - 1) { /* the root's outlives the subtree */
            t->offset[s] = t->update_rows;
            t->update_rows += gsv_updates(plan, s);
            return;
        }
        t->offset[s] = odd ? ~stack->height[1] : stack->height[0];
        stack->height[odd] += gsv_updates(plan, s);
        if (stack->height[odd] > stack->highest[odd])
            stack->highest[odd] = stack->height[odd];
    }
}

/* Give the stacks of the task's subtrees their memory. */
static void place_stacks(const gsv_plan *plan, gsv_subtrees *t, int32_t begin, int32_t end,
                         const int64_t *cost, int64_t limit, const stacks *stack) {
    const int64_t even = t->update_rows, odd = even + stack->highest[0];
    for (int32_t i = begin; i < end; i++) {
        const int32_t s = t->order[i];
        if (plan->parent[s] < 0 || cost[plan->parent[s]] > limit)
            continue; /* a root */
        t->offset[s] = t->offset[s] < 0 ? odd + ~t->offset[s] : even + t->offset[s];
    }
    t->update_rows = odd + stack->highest[1];
}

/* Subtrees in the order of their roots; neighbours share a task until it is half as heavy as a subtree may
 * be. */
static void make_tasks(const gsv_plan *plan, gsv_subtrees *t, const int64_t *cost, int64_t limit,
                       int64_t *weight, int32_t *next, int32_t *depth) {
    int32_t at = 0;
    int64_t gathered = 0;
    stacks stack = {{0, 0}, {0, 0}};
    t->task_ptr[0] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        if (cost[s] <= limit && (plan->parent[s] < 0 || cost[plan->parent[s]] > limit)) {
            const int32_t end = list_subtree(plan, s, t->order, at, next);
            stack_updates(plan, t, at, end, depth, &stack);
            for (; at < end; at++)
                t->signal[t->order[at]] = t->ntasks;
            gathered += cost[s];
        }
        if (gathered > limit / 2 || (gathered && s == plan->l.nsuper - 1)) {
            place_stacks(plan, t, t->task_ptr[t->ntasks], at, cost, limit, &stack);
            weight[t->ntasks] = gathered;
            t->task_ptr[++t->ntasks] = at;
            stack = (stacks){{0, 0}, {0, 0}};
            gathered = 0;
        }
    }
}

/* The top by rising level (counting sort; first is scratch, [nlevels + 1]), with its signals and update
 * vectors. */
static void list_top(const gsv_plan *plan, gsv_subtrees *t, const int64_t *cost, int64_t limit,
                     int32_t *first) {
    const int32_t begin = t->task_ptr[t->ntasks];
    for (int32_t level = 0; level <= plan->nlevels; level++)
        first[level] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (cost[s] > limit)
            first[plan->level[s] + 1]++;
    first[0] = begin;
    for (int32_t level = 0; level < plan->nlevels; level++)
        first[level + 1] += first[level];
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (cost[s] > limit)
            t->order[first[plan->level[s]]++] = s;
    t->ntop = plan->l.nsuper - begin;
    for (int32_t i = begin; i < plan->l.nsuper; i++) {
        const int32_t s = t->order[i], blocks = gsv_block_count(gsv_columns(plan, s));
        t->signal[s] = t->top_blocks;
        t->top_blocks += blocks;
        t->nforward += blocks + tiles_below(plan, s);
        t->offset[s] = t->update_rows;
        t->update_rows += gsv_updates(plan, s);
    }
    t->nbackward = t->top_blocks;
    for (int32_t i = 0; i < begin; i++)
        t->signal[t->order[i]] += t->top_blocks;
}

static void list_steps(const gsv_plan *plan, gsv_subtrees *t) {
    int64_t at = 0, back = t->nbackward;
    for (int32_t i = t->task_ptr[t->ntasks]; i < plan->l.nsuper; i++) {
        const int32_t s = t->order[i], blocks = gsv_block_count(gsv_columns(plan, s));
        for (int32_t part = 0; part < blocks + tiles_below(plan, s); part++)
            t->forward[at++] = (gsv_step){s, part};
        for (int32_t part = 0; part < blocks; part++)
            t->backward[--back] = (gsv_step){s, part};
    }
}

/* Tasks by falling weight, equal ones in their order: merge sort, for there may be many. */
static void sort_tasks(gsv_subtrees *t, const int64_t *weight, int32_t *scratch) {
    const int32_t count = t->ntasks;
    int32_t *from = t->heaviest, *to = scratch;
    for (int32_t i = 0; i < count; i++)
        from[i] = i;
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * run) {
            const int64_t middle = begin + run < count ? begin + run : count;
            const int64_t end = begin + 2 * run < count ? begin + 2 * run : count;
            int64_t a = begin, b = middle;
            for (int64_t i = begin; i < end; i++)
                to[i] =
                    b == end || (a < middle && weight[from[a]] >= weight[from[b]]) ? from[a++] : from[b++];
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != t->heaviest)
        memcpy(t->heaviest, from, (size_t)count * sizeof *from);
}

gpusolve_status gsv_subtrees_create(const gsv_plan *plan, gsv_subtrees **subtrees, gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper;
    const size_t levels = (size_t)plan->nlevels + 1;
    *subtrees = NULL;
    gsv_subtrees *t = gsv_calloc(1, sizeof *t);
    int64_t *cost = gsv_malloc(2 * nsuper, sizeof *cost);
    int32_t *scratch = gsv_malloc(2 * nsuper > levels ? 2 * nsuper : levels, sizeof *scratch);
    if (!t || !cost || !scratch)
        goto failed;
    t->task_ptr = gsv_malloc(nsuper + 1, sizeof *t->task_ptr);
    t->heaviest = gsv_malloc(nsuper, sizeof *t->heaviest);
    t->order = gsv_malloc(nsuper, sizeof *t->order);
    t->signal = gsv_malloc(nsuper, sizeof *t->signal);
    t->offset = gsv_malloc(nsuper, sizeof *t->offset);
    if (!t->task_ptr || !t->heaviest || !t->order || !t->signal || !t->offset)
        goto failed;

    int64_t *weight = cost + nsuper;
    const int64_t limit = weigh(plan, cost);
    make_tasks(plan, t, cost, limit, weight, scratch, scratch + nsuper);
    list_top(plan, t, cost, limit, scratch);
    sort_tasks(t, weight, scratch);
    t->forward = gsv_malloc((size_t)t->nforward, sizeof *t->forward);
    t->backward = gsv_malloc((size_t)t->nbackward, sizeof *t->backward);
    if (!t->forward || !t->backward)
        goto failed;
    list_steps(plan, t);
    t->bytes = (int64_t)(sizeof *t + (4 * nsuper + 1) * sizeof(int32_t) + nsuper * sizeof(int64_t)) +
               (t->nforward + t->nbackward) * (int64_t)sizeof(gsv_step);
    gsv_free(cost);
    gsv_free(scratch);
    *subtrees = t;
    return GPUSOLVE_OK;

failed:
    gsv_free(cost);
    gsv_free(scratch);
    gsv_subtrees_free(t);
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY,
                    "out of host memory while cutting the tree into subtrees");
}

void gsv_subtrees_free(gsv_subtrees *subtrees) {
    if (!subtrees)
        return;
    gsv_free(subtrees->task_ptr);
    gsv_free(subtrees->heaviest);
    gsv_free(subtrees->order);
    gsv_free(subtrees->signal);
    gsv_free(subtrees->offset);
    gsv_free(subtrees->forward);
    gsv_free(subtrees->backward);
    gsv_free(subtrees);
}
