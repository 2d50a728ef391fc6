/* Cutting the elimination tree into subtrees and steps; see subtrees.h. */
#include "subtrees.h"

#include "../../dense_kernels/panel_host.h"
#include "../../memory.h"
#include "subtree_times.h"

#include <string.h>

enum {
    PIECES = 128, /* no subtree is heavier than this part of the whole: enough for 64 threads */
    APART = 32    /* rows between the stacks of two tasks, which two threads write: no line has both */
};

/* But a subtree this light is never cut: handing it over costs more than it gains. */
static const double LIGHTEST_NS = 4500;

/* A subtree is not cut if its longest path takes this part of its time. A supernode is not shared if sharing it takes
 * this part of the time that one thread needs. */
static const double MOSTLY_PATH = 0.9, HARDLY_SHARED = 0.85;

static int32_t tiles_below(const gsv_plan *plan, int32_t s) {
    return (int32_t)((gsv_updates(plan, s) + GSV_ROW_TILE - 1) / GSV_ROW_TILE);
}

/* For each supernode. */
typedef struct weights {
    double *tree; /* time of the subtree under it, on one thread */
    double *path; /* time of the longest path in that subtree, however many threads there are */
    unsigned char *top, *narrow[2]; /* in the top; too small to be shared, up and down */
} weights;

static int is_task_root(const gsv_plan *plan, const weights *w, int32_t s) {
    return !w->top[s] && (plan->parent[s] < 0 || w->top[plan->parent[s]]);
}

/* Fills the weights. Returns that above which a subtree is cut. */
static double weigh(const gsv_plan *plan, weights *w) {
    const int32_t nsuper = plan->l.nsuper;
    double total = 0;
    for (int32_t s = 0; s < nsuper; s++)
        w->tree[s] = w->path[s] = 0;
    for (int32_t s = 0; s < nsuper; s++) {
        const gsv_supernode_ns ns = gsv_supernode_time(plan, s);
        const int32_t parent = plan->parent[s];
        for (int way = GSV_UP; way <= GSV_DOWN; way++) {
            w->narrow[way][s] = ns.shared[way] > HARDLY_SHARED * ns.alone[way];
            w->tree[s] += ns.alone[way];
            w->path[s] += w->narrow[way][s] ? ns.alone[way] : ns.shared[way];
        }
        if (parent >= 0) {
            w->tree[parent] += w->tree[s];
            w->path[parent] = w->path[s] > w->path[parent] ? w->path[s] : w->path[parent];
        } else {
            total += w->tree[s];
        }
    }
    const double limit = total / PIECES > LIGHTEST_NS ? total / PIECES : LIGHTEST_NS;
    for (int32_t s = nsuper - 1; s >= 0; s--)
        w->top[s] = (plan->parent[s] < 0 || w->top[plan->parent[s]]) && w->tree[s] > limit &&
                    w->path[s] < MOSTLY_PATH * w->tree[s];
    return limit;
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
static void place_stacks(const gsv_plan *plan, gsv_subtrees *t, int32_t begin, int32_t end, const weights *w,
                         const stacks *stack) {
    const int64_t even = t->update_rows, odd = even + stack->highest[0];
    for (int32_t i = begin; i < end; i++) {
        const int32_t s = t->order[i];
        if (is_task_root(plan, w, s))
            continue;
        t->offset[s] = t->offset[s] < 0 ? odd + ~t->offset[s] : even + t->offset[s];
    }
    t->update_rows = odd + stack->highest[1] + APART;
}

/* Subtrees in the order of their roots; neighbours share a task until it is half as heavy as a subtree may
 * be. */
static void make_tasks(const gsv_plan *plan, gsv_subtrees *t, const weights *w, double limit, double *weight,
                       int32_t *next, int32_t *depth) {
    int32_t at = 0;
    double gathered = 0;
    stacks stack = {{0, 0}, {0, 0}};
    t->task_ptr[0] = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        if (is_task_root(plan, w, s)) {
            const int32_t end = list_subtree(plan, s, t->order, at, next);
            stack_updates(plan, t, at, end, depth, &stack);
            for (; at < end; at++)
                t->signal[t->order[at]] = t->ntasks;
            gathered += w->tree[s];
        }
        if (gathered > limit / 2 || (gathered > 0 && s == plan->l.nsuper - 1)) {
            place_stacks(plan, t, t->task_ptr[t->ntasks], at, w, &stack);
            weight[t->ntasks] = gathered;
            t->task_ptr[++t->ntasks] = at;
            stack = (stacks){{0, 0}, {0, 0}};
            gathered = 0;
        }
    }
}

/* A narrow supernode of the top goes on the path of the child from which it is longest, if that is narrow. */
static void find_paths(const gsv_plan *plan, const weights *w, gsv_way way, int32_t *path_child) {
    const unsigned char *narrow = w->narrow[way];
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        path_child[s] = w->top[s] && narrow[s] ? -1 : GSV_NO_PATH;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t parent = plan->parent[s];
        if (!w->top[s] || !narrow[s] || parent < 0 || !narrow[parent])
            continue;
        const int32_t other = path_child[parent];
        if (other < 0 || w->path[s] > w->path[other])
            path_child[parent] = s;
    }
}

static int is_path_end(const gsv_plan *plan, const int32_t *path_child, int32_t s) {
    return plan->parent[s] < 0 || path_child[plan->parent[s]] != s;
}

/* The top by rising level, paths by the level of their ends, which is above all that their supernodes wait
 * for (counting sort). first: scratch, [nlevels + 1]; end: [nsuper]. */
static void sort_top(const gsv_plan *plan, const weights *w, const int32_t *path_child, int32_t *first,
                     int32_t *end, int32_t *order) {
    for (int32_t level = 0; level <= plan->nlevels; level++)
        first[level] = 0;
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--) {
        end[s] = is_path_end(plan, path_child, s) ? plan->level[s] : end[plan->parent[s]];
        if (w->top[s])
            first[end[s] + 1]++;
    }
    for (int32_t level = 0; level < plan->nlevels; level++)
        first[level + 1] += first[level];
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (w->top[s])
            order[first[end[s]]++] = s;
}

/* Signals and update vectors of the top, and the numbers of its steps. */
static void measure_top(const gsv_plan *plan, gsv_subtrees *t) {
    const int32_t begin = t->task_ptr[t->ntasks];
    t->ntop = plan->l.nsuper - begin;
    for (int32_t i = begin; i < plan->l.nsuper; i++) {
        const int32_t s = t->order[i], blocks = gsv_block_count(gsv_columns(plan, s));
        t->signal[s] = t->top_blocks;
        t->top_blocks += blocks;
        t->offset[s] = t->update_rows;
        t->update_rows += gsv_updates(plan, s);
        if (t->path_child[GSV_UP][s] < 0)
            t->nforward += t->path_child[GSV_UP][s] == GSV_NO_PATH ? blocks + tiles_below(plan, s) : 1;
        if (t->path_child[GSV_DOWN][s] < 0)
            t->nbackward += t->path_child[GSV_DOWN][s] == GSV_NO_PATH ? blocks : 1;
    }
    for (int32_t i = 0; i < begin; i++)
        t->signal[t->order[i]] += t->top_blocks;
}

static void list_forward(const gsv_plan *plan, gsv_subtrees *t) {
    const int32_t *path_child = t->path_child[GSV_UP];
    gsv_step *to = t->forward;
    for (int32_t i = t->task_ptr[t->ntasks]; i < plan->l.nsuper; i++) {
        const int32_t s = t->order[i];
        if (path_child[s] == -1)
            *to++ = (gsv_step){s, GSV_WHOLE_PATH};
        if (path_child[s] != GSV_NO_PATH)
            continue;
        const int32_t parts = gsv_block_count(gsv_columns(plan, s)) + tiles_below(plan, s);
        for (int32_t part = 0; part < parts; part++)
            *to++ = (gsv_step){s, part};
    }
}

/* From the last step to the first. */
static void list_backward(const gsv_plan *plan, gsv_subtrees *t, const int32_t *order) {
    const int32_t *path_child = t->path_child[GSV_DOWN];
    gsv_step *to = t->backward + t->nbackward;
    for (int32_t i = 0; i < t->ntop; i++) {
        const int32_t s = order[i];
        if (path_child[s] == GSV_NO_PATH)
            for (int32_t part = 0; part < gsv_block_count(gsv_columns(plan, s)); part++)
                *--to = (gsv_step){s, part};
        else if (is_path_end(plan, path_child, s))
            *--to = (gsv_step){s, GSV_WHOLE_PATH};
    }
}

/* Tasks by falling weight, equal ones in their order: merge sort, for there may be many. */
static void sort_tasks(gsv_subtrees *t, const double *weight, int32_t *scratch) {
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

static void free_subtrees(gsv_subtrees *subtrees) {
    if (!subtrees)
        return;
    gsv_free(subtrees->task_ptr);
    gsv_free(subtrees->heaviest);
    gsv_free(subtrees->order);
    gsv_free(subtrees->path_child[GSV_UP]);
    gsv_free(subtrees->path_child[GSV_DOWN]);
    gsv_free(subtrees->signal);
    gsv_free(subtrees->offset);
    gsv_free(subtrees->forward);
    gsv_free(subtrees->backward);
    gsv_free(subtrees);
}

static void free_part(gsv_plan *plan) {
    free_subtrees(plan->subtrees);
}

gpusolve_status gsv_subtrees_create(gsv_plan *plan, gsv_message *message) {
    const size_t nsuper = (size_t)plan->l.nsuper, levels = (size_t)plan->nlevels + 1;
    plan->subtrees = NULL;
    gsv_subtrees *t = gsv_calloc(1, sizeof *t);
    double *times = gsv_malloc(3 * nsuper, sizeof *times);
    unsigned char *flags = gsv_malloc(3 * nsuper, sizeof *flags);
    int32_t *scratch = gsv_malloc(2 * nsuper + levels, sizeof *scratch);
    if (!t || !times || !flags || !scratch)
        goto failed;
    t->task_ptr = gsv_malloc(nsuper + 1, sizeof *t->task_ptr);
    t->heaviest = gsv_malloc(nsuper, sizeof *t->heaviest);
    t->order = gsv_malloc(nsuper, sizeof *t->order);
    t->path_child[GSV_UP] = gsv_malloc(nsuper, sizeof **t->path_child);
    t->path_child[GSV_DOWN] = gsv_malloc(nsuper, sizeof **t->path_child);
    t->signal = gsv_malloc(nsuper, sizeof *t->signal);
    t->offset = gsv_malloc(nsuper, sizeof *t->offset);
    if (!t->task_ptr || !t->heaviest || !t->order || !t->path_child[GSV_UP] || !t->path_child[GSV_DOWN] ||
        !t->signal || !t->offset)
        goto failed;

    weights w = {times, times + nsuper, flags, {flags + nsuper, flags + 2 * nsuper}};
    double *weight = times + 2 * nsuper;
    int32_t *const other = scratch + nsuper, *const first = other + nsuper;
    const double limit = weigh(plan, &w);
    make_tasks(plan, t, &w, limit, weight, scratch, other);
    sort_tasks(t, weight, scratch);
    for (int way = GSV_UP; way <= GSV_DOWN; way++)
        find_paths(plan, &w, (gsv_way)way, t->path_child[way]);
    sort_top(plan, &w, t->path_child[GSV_UP], first, scratch, t->order + t->task_ptr[t->ntasks]);
    measure_top(plan, t);
    t->forward = gsv_malloc((size_t)t->nforward, sizeof *t->forward);
    t->backward = gsv_malloc((size_t)t->nbackward, sizeof *t->backward);
    if (!t->forward || !t->backward)
        goto failed;
    list_forward(plan, t);
    sort_top(plan, &w, t->path_child[GSV_DOWN], first, scratch, other);
    list_backward(plan, t, other);
    if (gsv_subtrees_time(plan, t))
        goto failed;
    t->bytes = (int64_t)(sizeof *t + (6 * nsuper + 1) * sizeof(int32_t) + nsuper * sizeof(int64_t)) +
               (t->nforward + t->nbackward) * (int64_t)sizeof(gsv_step);
    gsv_free(times);
    gsv_free(flags);
    gsv_free(scratch);
    plan->subtrees = t;
    plan->free_part = free_part;
    return GPUSOLVE_OK;

failed:
    gsv_free(times);
    gsv_free(flags);
    gsv_free(scratch);
    free_subtrees(t);
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY,
                    "out of host memory while cutting the tree into subtrees");
}
