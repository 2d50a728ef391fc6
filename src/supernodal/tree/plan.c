/*
 * The supernodal elimination tree and the maps from update vectors into the parents' fronts.
 *
 * Every loop below visits each supernode, each row index or each tree edge a constant number of times:
 * planning is linear in the structure, whatever the shape of the tree.
 */
#include "plan.h"

#include "../../memory.h"
#include "../../spin.h"

#include <stdatomic.h>
#include <string.h>

enum {
    ROWS = 1 << 15,          /* of all fronts that are worth waking a thread */
    MOST_THREADS = 8,        /* each needs memory for all rows */
    SUPERNODES_AT_ONCE = 256 /* of a thread */
};

int gsv_structure_reserve(gsv_structure *structure, int32_t nsuper, int64_t rows) {
    structure->nsuper = nsuper;
    structure->first_column = gsv_malloc((size_t)nsuper + 1, sizeof *structure->first_column);
    structure->row_ptr = gsv_malloc((size_t)nsuper + 1, sizeof *structure->row_ptr);
    structure->rows = gsv_malloc((size_t)rows, sizeof *structure->rows);
    return structure->first_column && structure->row_ptr && structure->rows;
}

void gsv_structure_free(gsv_structure *structure) {
    gsv_free(structure->first_column);
    gsv_free(structure->row_ptr);
    gsv_free(structure->rows);
    gsv_free(structure->perm);
    gsv_free(structure->slice_ptr);
    gsv_free(structure->whole);
    memset(structure, 0, sizeof *structure);
}

void gsv_plan_free(gsv_plan *plan) {
    gsv_structure_free(&plan->l);
    gsv_free(plan->parent);
    gsv_free(plan->child_ptr);
    gsv_free(plan->child);
    gsv_free(plan->level);
    gsv_free(plan->update_ptr);
    gsv_free(plan->update_map);
    if (plan->free_part)
        plan->free_part(plan);
    memset(plan, 0, sizeof *plan);
}

gpusolve_status gsv_plan_no_memory(gsv_message *message) {
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while planning");
}

/* What the pool's threads share while they plan. */
typedef struct planning {
    gsv_plan *plan;
    int32_t *owner;          /* [n] the supernode of each column */
    int32_t *position;       /* [threads][n] */
    int begun[MOST_THREADS]; /* threads whose part of it is clear */
    _Atomic int64_t first;   /* the first parent at fault so far, or nsuper */
} planning;

static void own_columns(void *context, int64_t begin, int64_t end, int member) {
    const planning *p = context;
    const int32_t *first_column = p->plan->l.first_column;
    (void)member;
    for (int64_t s = begin; s < end; s++)
        for (int32_t j = first_column[s]; j < first_column[s + 1]; j++)
            p->owner[j] = (int32_t)s;
}

/* parent(s) = the supernode that holds the first row below s */
static void find_parents(void *context, int64_t begin, int64_t end, int member) {
    const planning *p = context;
    const gsv_plan *plan = p->plan;
    (void)member;
    for (int32_t s = (int32_t)begin; s < end; s++)
        plan->parent[s] = gsv_rows(plan, s) > gsv_columns(plan, s)
                              ? p->owner[plan->l.rows[plan->l.row_ptr[s] + gsv_columns(plan, s)]]
                              : -1;
}

/* Children by counting sort, ascending; levels in one ascending pass, for a parent comes after its children.
 */
static void find_children_and_levels(gsv_plan *plan) {
    const int32_t nsuper = plan->l.nsuper;
    int32_t *next =
        plan->child_ptr + 1; /* child_ptr[p + 1] serves as the cursor of p until it ends as its end */
    for (int32_t s = 0; s < nsuper; s++)
        if (plan->parent[s] >= 0)
            next[plan->parent[s]]++;
    int32_t start = 0;
    for (int32_t s = 0; s < nsuper; s++) {
        const int32_t count = next[s];
        next[s] = start;
        start += count;
    }
    for (int32_t s = 0; s < nsuper; s++) {
        const int32_t p = plan->parent[s];
        if (plan->level[s] + 1 > plan->nlevels)
            plan->nlevels = plan->level[s] + 1;
        if (p < 0)
            continue;
        plan->child[next[p]++] = s;
        if (plan->level[p] < plan->level[s] + 1)
            plan->level[p] = plan->level[s] + 1;
    }
}

/* update_map of the children of p. position[row] is the row's place in p's front where there is one, and any
 * number where there is none. The child with a row that p does not have, or -1; *lost is that row. */
static int32_t map_children(const gsv_plan *plan, int32_t p, int32_t *position, int32_t *lost) {
    const gsv_structure *l = &plan->l;
    const int32_t *front = l->rows + l->row_ptr[p];
    const int32_t nr = gsv_rows(plan, p);
    if (plan->child_ptr[p] == plan->child_ptr[p + 1])
        return -1;
    for (int32_t i = 0; i < nr; i++)
        position[front[i]] = i;
    for (int32_t k = plan->child_ptr[p]; k < plan->child_ptr[p + 1]; k++) {
        const int32_t c = plan->child[k];
        const int32_t *below = l->rows + l->row_ptr[c] + gsv_columns(plan, c);
        int32_t *map = plan->update_map + plan->update_ptr[c];
        const int64_t count = gsv_updates(plan, c);
        for (int64_t i = 0; i < count; i++) {
            map[i] = position[below[i]];
            if (map[i] >= nr || front[map[i]] != below[i]) {
                *lost = below[i];
                return c;
            }
        }
    }
    return -1;
}

static void map_range(void *context, int64_t begin, int64_t end, int member) {
    planning *p = context;
    const size_t n = (size_t)p->plan->l.n;
    int32_t *position = p->position + n * (size_t)member, row;
    if (!p->begun[member])
        memset(position, 0, n * sizeof *position);
    p->begun[member] = 1;
    for (int64_t s = begin; s < end && s < p->first; s++)
        if (map_children(p->plan, (int32_t)s, position, &row) >= 0)
            gsv_lower(&p->first, s);
}

/* The first parent at fault is named, whichever thread meets it. */
static gpusolve_status map_updates(planning *p, gsv_pool *pool, int threads, gsv_message *message) {
    const gsv_plan *plan = p->plan;
    const int32_t nsuper = plan->l.nsuper;
    int32_t lost = 0;
    atomic_init(&p->first, nsuper);
    gsv_pool_ranges(pool, threads, nsuper, SUPERNODES_AT_ONCE, map_range, p);
    const int32_t first = (int32_t)p->first;
    if (first == nsuper)
        return GPUSOLVE_OK;
    const int32_t c = map_children(plan, first, p->position, &lost);
    return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                    "row %d of supernode %d is not among the rows of its parent, supernode %d", (int)lost,
                    (int)c, (int)first);
}

static void count_sizes(gsv_plan *plan) {
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        plan->update_ptr[s + 1] = plan->update_ptr[s] + (nr - nc);
        plan->nnz_l += nr * nc - nc * (nc - 1) / 2;
        if (nc > plan->widest)
            plan->widest = (int32_t)nc;
    }
    const int64_t n = plan->l.n, nsuper = plan->l.nsuper;
    plan->bytes = 4 * ((plan->l.perm ? n : 0) + (plan->l.slice_ptr ? plan->l.nwhole + 1 + nsuper : 0) +
                       plan->l.row_ptr[nsuper] + 5 * nsuper + 2 + plan->update_ptr[nsuper]) +
                  16 * (nsuper + 1);
}

gpusolve_status gsv_plan_create(gsv_structure *structure, gsv_pool *pool, gsv_plan *plan,
                                gsv_message *message) {
    memset(plan, 0, sizeof *plan);
    plan->l = *structure;
    memset(structure, 0, sizeof *structure);

    const size_t nsuper = (size_t)plan->l.nsuper, n = (size_t)plan->l.n;
    const int share = gsv_pool_share(pool, plan->l.row_ptr[nsuper], ROWS);
    const int threads = share < MOST_THREADS ? share : MOST_THREADS;
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    int32_t *scratch = gsv_malloc((size_t)threads * n, sizeof *scratch);
    plan->parent = gsv_malloc(nsuper, sizeof *plan->parent);
    plan->child_ptr = gsv_calloc(nsuper + 1, sizeof *plan->child_ptr);
    plan->child = gsv_malloc(nsuper, sizeof *plan->child);
    plan->level = gsv_calloc(nsuper, sizeof *plan->level);
    plan->update_ptr = gsv_calloc(nsuper + 1, sizeof *plan->update_ptr);
    if (!scratch || !plan->parent || !plan->child_ptr || !plan->child || !plan->level || !plan->update_ptr)
        goto done;
    count_sizes(plan);
    plan->update_map = gsv_malloc((size_t)plan->update_ptr[nsuper], sizeof *plan->update_map);
    if (!plan->update_map)
        goto done;
    planning p = {.plan = plan, .owner = scratch, .position = scratch};
    gsv_pool_ranges(pool, threads, plan->l.nsuper, SUPERNODES_AT_ONCE, own_columns, &p);
    gsv_pool_ranges(pool, threads, plan->l.nsuper, SUPERNODES_AT_ONCE, find_parents, &p);
    find_children_and_levels(plan);
    status = map_updates(&p, pool, threads, message);

done:
    gsv_free(scratch);
    if (status == GPUSOLVE_OUT_OF_MEMORY)
        gsv_plan_no_memory(message);
    if (status != GPUSOLVE_OK)
        gsv_plan_free(plan);
    return status;
}
