/* Which supernodes are in branches (branches.h). Linear in the structure. */
#include "branches.h"

#include "../../../memory.h"
#include "../schedule.h"

/* The sizes of a subtree.
 *
 *      numbers             of its panels
 *      outside             rows below its roots
 *      forward, backward   16-bit numbers of the lists that a sweep with one right-hand side reads, without those of the
 *                          nodes and levels
 *      cost                of its walk by a block of threads, counted in numbers of a panel
 */
typedef struct extent {
    int32_t low, count; /* its first supernode, and how many it has: a range if they agree */
    int64_t numbers, rows, columns, outside;
    int64_t forward, backward;
    int64_t cost;
} extent;

/* The same of a subtree that fits, or numbers = -1. */
typedef struct subtree {
    int32_t low, count, numbers, rows, columns, outside, forward, backward, cost;
} subtree;

static extent extent_of(const subtree *t) {
    return (extent){t->low,     t->count,   t->numbers,  t->rows, t->columns,
                    t->outside, t->forward, t->backward, t->cost};
}

/* Shared memory for one right-hand side in double precision at most: gsv_branch_one_room, with places for all update
 * rows at once, a level for each node, and lists that end in the midst of 16 bytes. */
static int64_t bytes_of(const extent *e) {
    const int64_t forward = 2 * e->forward + 8 * e->rows,
                  backward = 2 * e->backward + 8 * (2 * e->columns + e->outside);
    return 8 * e->numbers + (forward > backward ? forward : backward) + 18 * (int64_t)e->count + 128;
}

static int fits(const extent *e, int64_t most) {
    return e->cost <= most && e->rows <= GSV_BRANCH_ROWS && bytes_of(e) <= GSV_BRANCH_BYTES;
}

/* And another one beside it. */
static extent join(const extent *a, const extent *b) {
    return (extent){.low = a->low < b->low ? a->low : b->low,
                    .count = a->count + b->count,
                    .numbers = a->numbers + b->numbers,
                    .rows = a->rows + b->rows,
                    .columns = a->columns + b->columns,
                    .outside = a->outside + b->outside,
                    .forward = a->forward + b->forward,
                    .backward = a->backward + b->backward,
                    .cost = a->cost + b->cost};
}

static int64_t units(int64_t size, int64_t each) {
    return (size + each - 1) / each;
}

/* Numbers of the panels of narrow supernodes, of each, or -1; returns their sum. */
static int64_t measure_narrow(const gsv_plan *plan, subtree *trees) {
    int64_t all = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int is_narrow = gsv_is_narrow(nr, nc);
        trees[s].numbers = is_narrow ? (int32_t)gsv_panel_size(nr, nc) : -1;
        all += is_narrow ? trees[s].numbers : 0;
    }
    return all;
}

/* From the panels' numbers to those of the subtrees. least: what a node costs at least. */
static void measure_subtrees(const gsv_plan *plan, int64_t most, int64_t least, subtree *trees) {
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t begin = plan->child_ptr[s], end = plan->child_ptr[s + 1];
        const int64_t numbers = trees[s].numbers;
        int whole = numbers >= 0;
        for (int32_t k = begin; k < end && whole; k++)
            whole = trees[plan->child[k]].numbers >= 0;
        trees[s].numbers = -1;
        if (!whole)
            continue;
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        extent e = {.low = s,
                    .count = 1,
                    .numbers = numbers,
                    .rows = nr,
                    .columns = nc,
                    .forward = units(nr, GSV_ROW_UNIT),
                    .backward = 2 * units(nc, GSV_BACKWARD_UNIT) + nr - nc,
                    .cost = numbers > least ? numbers : least};
        if (begin < end)
            e.forward += nr + 1; /* where each row's list begins, of what its children owe */
        for (int32_t k = begin; k < end; k++) {
            const extent child = extent_of(&trees[plan->child[k]]);
            e = join(&e, &child);
        }
        e.forward += e.outside; /* the lists themselves: all that was outside is owed to this one */
        e.outside = nr - nc;
        if (s - e.low + 1 == e.count && fits(&e, most))
            trees[s] = (subtree){e.low,
                                 e.count,
                                 (int32_t)e.numbers,
                                 (int32_t)e.rows,
                                 (int32_t)e.columns,
                                 (int32_t)e.outside,
                                 (int32_t)e.forward,
                                 (int32_t)e.backward,
                                 (int32_t)e.cost};
    }
}

/* Numbers that a branch may have, if narrow supernodes have `narrow`: fewer where the tree is small, so that there are branches for
 * every SM. All of them run at the same time then, and the sweep waits for the last: small nodes, which cost as much time as
 * larger ones, count for more. */
static int64_t most_numbers(int64_t narrow) {
    const int64_t share = narrow / GSV_BRANCH_COUNT;
    return share < GSV_BRANCH_FEWEST    ? GSV_BRANCH_FEWEST
           : share < GSV_BRANCH_NUMBERS ? share
                                        : GSV_BRANCH_NUMBERS;
}

/* Give a branch the supernodes first .. end - 1, if it is worth a block of threads. */
static void close_branch(gsv_branches *branches, int32_t first, int32_t end, int64_t numbers) {
    if (end - first < 2)
        return;
    for (int32_t s = first; s < end; s++)
        branches->of[s] = branches->count;
    branches->branch[branches->count++] =
        (gsv_branch){.first = first, .end = end, .numbers = (uint16_t)numbers};
}

/* Cut the tree into branches of at most `most`. */
static void choose(const gsv_plan *plan, int64_t most, const subtree *trees, gsv_branches *branches) {
    int32_t first = 0, end = 0; /* the open branch */
    extent open = {0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        branches->of[s] = -1;
        if (trees[s].numbers < 0 || (plan->parent[s] >= 0 && trees[plan->parent[s]].numbers >= 0))
            continue;
        const extent e = extent_of(&trees[s]), both = join(&open, &e);
        if (e.low == end && fits(&both, most)) {
            open = both;
        } else {
            close_branch(branches, first, end, open.numbers);
            first = e.low;
            open = e;
        }
        end = s + 1;
    }
    close_branch(branches, first, end, open.numbers);
}

static int has_upper(const gsv_plan *plan, const gsv_branches *branches) {
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (branches->of[s] < 0)
            return 1;
    return 0;
}

/* Make a tree one branch if it fits, so that one launch solves (cuda/walk/whole.cuh): a block of threads walks so small a tree in less
 * time than three more launches take. */
static void choose_whole(const gsv_plan *plan, subtree *trees, gsv_branches *branches) {
    const int32_t nsuper = plan->l.nsuper;
    extent all = {0};
    measure_narrow(plan, trees);
    measure_subtrees(plan, GSV_WHOLE_COST, GSV_BRANCH_NODE, trees);
    for (int32_t s = 0; s < nsuper; s++) {
        if (trees[s].numbers < 0)
            return;
        const extent e = extent_of(&trees[s]);
        if (plan->parent[s] < 0)
            all = join(&all, &e);
    }
    if (!fits(&all, GSV_WHOLE_COST))
        return;
    branches->count = 0;
    close_branch(branches, 0, nsuper, all.numbers);
}

gpusolve_status gsv_branches_choose(const gsv_plan *plan, gsv_branches *branches, gsv_message *message) {
    const int32_t nsuper = plan->l.nsuper;
    subtree *trees = gsv_malloc((size_t)nsuper, sizeof *trees);
    *branches = (gsv_branches){.of = gsv_malloc((size_t)nsuper, sizeof(int32_t)),
                               .branch = gsv_malloc((size_t)nsuper / 2 + 1, sizeof(gsv_branch))};
    if (!trees || !branches->of || !branches->branch) {
        gsv_free(trees);
        gsv_branches_free(branches);
        return gsv_plan_no_memory(message);
    }
    const int64_t most = most_numbers(measure_narrow(plan, trees));
    measure_subtrees(plan, most, most < GSV_BRANCH_NUMBERS ? GSV_BRANCH_NODE : 0, trees);
    choose(plan, most, trees, branches);
    if (nsuper <= GSV_WHOLE_COST / GSV_BRANCH_NODE && has_upper(plan, branches))
        choose_whole(plan, trees, branches);
    gsv_free(trees);
    return GPUSOLVE_OK;
}
