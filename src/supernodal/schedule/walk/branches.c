/* The branches of the device's plan: branches.h; which supernodes they are of is chosen in branch_choice.c. Linear in the
 * structure. */
#include "branches.h"

#include "../../../memory.h"
#include "../schedule.h"
#include "packs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What filling one branch works with; the arrays have room for any. */
typedef struct work {
    gsv_branch_node node[GSV_BRANCH_ROWS]; /* level by level */
    int32_t supernode[GSV_BRANCH_ROWS];
    uint16_t level_start[GSV_BRANCH_ROWS + 2]; /* of the nodes */
    uint16_t place[GSV_BRANCH_ROWS];           /* of supernode first + k among the nodes */
    uint16_t root[GSV_BRANCH_ROWS];            /* of supernode first + k: the root above it, less first */
    uint16_t outside[GSV_BRANCH_ROWS];         /* of root first + k: its first outside row */
    struct {
        int32_t start, count;
    } hole[GSV_BRANCH_ROWS]; /* free places for update rows, ascending */
    int32_t holes;
    uint16_t list[56 * GSV_BRANCH_ROWS + 64]; /* of the branch, up to 24 a row, and of its walk */
    int32_t length;
    gsv_branches most; /* most_one and most_whole of the branches so far */
} work;

/* What branches are sorted by. */
typedef struct order {
    int32_t bytes, branch;
} order;

static void open_list(work *w, gsv_branch *branch, int which) {
    if (which == GSV_AT_LEVEL_NODES || which == GSV_AT_ROW_LEVELS || which == GSV_AT_BACKWARD_LEVELS ||
        which == GSV_AT_END)
        while (w->length % 8)
            w->list[w->length++] = 0;
    branch->at[which] = (uint16_t)w->length;
}

static void append(work *w, int32_t value) {
    w->list[w->length++] = (uint16_t)value;
}

/* count places: the first hole that has them, or new ones at the end. */
static int32_t take_places(work *w, gsv_branch *branch, int32_t count) {
    for (int32_t k = 0; k < w->holes; k++)
        if (w->hole[k].count >= count) {
            const int32_t start = w->hole[k].start;
            w->hole[k].start += count;
            w->hole[k].count -= count;
            return start;
        }
    branch->updates = (uint16_t)(branch->updates + count);
    return branch->updates - count;
}

static void give_places(work *w, int32_t start, int32_t count) {
    int32_t k = w->holes;
    while (k > 0 && w->hole[k - 1].start > start)
        k--;
    if (k > 0 && w->hole[k - 1].start + w->hole[k - 1].count == start) {
        w->hole[k - 1].count += count;
    } else {
        memmove(&w->hole[k + 1], &w->hole[k], (size_t)(w->holes - k) * sizeof *w->hole);
        w->hole[k].start = start;
        w->hole[k].count = count;
        w->holes++;
        k++;
    }
    if (k < w->holes && w->hole[k - 1].start + w->hole[k - 1].count == w->hole[k].start) {
        w->hole[k - 1].count += w->hole[k].count;
        memmove(&w->hole[k], &w->hole[k + 1], (size_t)(w->holes - k - 1) * sizeof *w->hole);
        w->holes--;
    }
}

/* Nodes level by level, supernodes ascending in a level; roots and outside rows. */
static void place_nodes(const gsv_plan *plan, const int64_t *panel_ptr, gsv_branches *branches,
                        gsv_branch *branch, work *w) {
    const int32_t first = branch->first, count = branch->end - first;
    branch->panel = panel_ptr[first];
    branch->first_column = plan->l.first_column[first];
    branch->columns = (uint16_t)(plan->l.first_column[branch->end] - branch->first_column);
    branch->levels = 0;
    for (int32_t k = 0; k < count; k++)
        if (plan->level[first + k] >= branch->levels)
            branch->levels = (uint16_t)(plan->level[first + k] + 1);
    int32_t outside = 0;
    for (int32_t k = count - 1; k >= 0; k--) {
        const int32_t parent = plan->parent[first + k];
        w->root[k] = parent >= 0 && parent < branch->end ? w->root[parent - first] : (uint16_t)k;
    }
    for (int32_t k = 0; k < count; k++)
        if (w->root[k] == k) {
            const int32_t s = first + k, nc = gsv_columns(plan, s), nr = gsv_rows(plan, s);
            w->outside[k] = (uint16_t)outside;
            for (int32_t i = nc; i < nr; i++, outside++)
                branches->outside_row[branch->outside + outside] = plan->l.rows[plan->l.row_ptr[s] + i];
        }
    branch->outside_rows = branch->updates = (uint16_t)outside;

    /* by counting: level_start[level] advances to the next level's start as nodes take their places */
    memset(w->level_start, 0, ((size_t)branch->levels + 1) * sizeof *w->level_start);
    for (int32_t k = 0; k < count; k++)
        w->level_start[plan->level[first + k] + 1]++;
    for (int32_t level = 0; level < branch->levels; level++)
        w->level_start[level + 1] = (uint16_t)(w->level_start[level + 1] + w->level_start[level]);
    for (int32_t k = 0; k < count; k++) {
        const int32_t s = first + k, at = w->level_start[plan->level[s]]++;
        w->place[k] = (uint16_t)at;
        w->supernode[at] = s;
        w->node[at] = (gsv_branch_node){
            .panel = (uint16_t)(panel_ptr[s] - branch->panel),
            .nr = (uint16_t)gsv_rows(plan, s),
            .nc = (uint16_t)gsv_columns(plan, s),
            .column = (uint16_t)(plan->l.first_column[s] - branch->first_column),
            .gather = GSV_NO_GATHER,
        };
    }
    for (int32_t level = branch->levels; level > 0; level--)
        w->level_start[level] = w->level_start[level - 1];
    w->level_start[0] = 0;
}

/* Places of the update rows: a level's are taken before those that it reads are given back. */
static void place_updates(const gsv_plan *plan, gsv_branch *branch, work *w) {
    const int32_t first = branch->first;
    w->holes = 0;
    for (int32_t level = 0; level < branch->levels; level++) {
        const int32_t begin = w->level_start[level], end = w->level_start[level + 1];
        for (int32_t k = begin; k < end; k++) {
            const int32_t local = w->supernode[k] - first, rows = w->node[k].nr - w->node[k].nc;
            w->node[k].update =
                (uint16_t)(w->root[local] == local ? w->outside[local] : take_places(w, branch, rows));
        }
        for (int32_t k = begin; k < end; k++) {
            const int32_t s = w->supernode[k];
            for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
                const gsv_branch_node *child = &w->node[w->place[plan->child[c] - first]];
                if (child->nr > child->nc)
                    give_places(w, child->update, child->nr - child->nc);
            }
        }
    }
}

/* What each front row of a node with children is owed, by counting. */
static void list_gathers(const gsv_plan *plan, gsv_branch *branch, work *w) {
    const int32_t first = branch->first, count = branch->end - first;
    int32_t pointers = 0;
    for (int32_t k = 0; k < count; k++) {
        const int32_t s = w->supernode[k];
        if (plan->child_ptr[s] < plan->child_ptr[s + 1]) {
            w->node[k].gather = (uint16_t)pointers;
            pointers += w->node[k].nr + 1;
        }
    }
    open_list(w, branch, GSV_AT_GATHER_PTR);
    uint16_t *pointer = &w->list[w->length];
    w->length += pointers;
    open_list(w, branch, GSV_AT_GATHER);
    uint16_t *gather = &w->list[w->length];
    int32_t begin = 0;
    for (int32_t k = 0; k < count; k++) {
        const gsv_branch_node *node = &w->node[k];
        if (node->gather == GSV_NO_GATHER)
            continue;
        const int32_t s = w->supernode[k];
        uint16_t *ptr = pointer + node->gather;
        /* ptr[i] counts row i, then stands where it ends, and goes down to where it begins as its last children come first */
        memset(ptr, 0, (size_t)node->nr * sizeof *ptr);
        for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++) {
            const int32_t *map = plan->update_map + plan->update_ptr[plan->child[c]],
                          rows = (int32_t)gsv_updates(plan, plan->child[c]);
            for (int32_t u = 0; u < rows; u++)
                ptr[map[u]]++;
        }
        for (int32_t i = 0; i < node->nr; i++) {
            begin += ptr[i];
            ptr[i] = (uint16_t)begin;
        }
        ptr[node->nr] = (uint16_t)begin;
        for (int32_t c = plan->child_ptr[s + 1] - 1; c >= plan->child_ptr[s]; c--) {
            const int32_t child = plan->child[c], update = w->node[w->place[child - first]].update;
            const int32_t *map = plan->update_map + plan->update_ptr[child],
                          rows = (int32_t)gsv_updates(plan, child);
            for (int32_t u = 0; u < rows; u++)
                gather[--ptr[map[u]]] = (uint16_t)(update + u);
        }
    }
    w->length += begin;
}

/* Units of the nodes of each level: `levels` and `units` are the two lists; per_unit rows or columns. A unit is
 * listed as its node and where it begins in the node, or, if the node counts its units, as its node alone. */
static void list_units(gsv_branch *branch, work *w, int levels, int units, int per_unit) {
    const int counted = units == GSV_AT_ROW_UNITS;
    open_list(w, branch, levels);
    uint16_t *start = &w->list[w->length];
    w->length += branch->levels + 1;
    open_list(w, branch, units);
    int32_t count = 0;
    for (int32_t level = 0; level < branch->levels; level++) {
        start[level] = (uint16_t)count;
        for (int32_t k = w->level_start[level]; k < w->level_start[level + 1]; k++) {
            const int32_t size = units == GSV_AT_BACKWARD_UNITS ? w->node[k].nc : w->node[k].nr;
            if (counted)
                w->node[k].unit = (uint16_t)count;
            for (int32_t i = 0; i < size; i += per_unit, count++) {
                append(w, k);
                if (!counted)
                    append(w, i);
            }
        }
    }
    start[branch->levels] = (uint16_t)count;
}

/* Parents first: where a row stands in the parent's front says which row it is. */
static void list_below(const gsv_plan *plan, gsv_branch *branch, work *w) {
    const int32_t first = branch->first, count = branch->end - first;
    open_list(w, branch, GSV_AT_BELOW);
    uint16_t *below = &w->list[w->length];
    int32_t length = 0;
    for (int32_t k = 0; k < count; k++) {
        w->node[k].below = (uint16_t)length;
        length += w->node[k].nr - w->node[k].nc;
    }
    for (int32_t k = count - 1; k >= 0; k--) {
        const gsv_branch_node *node = &w->node[w->place[k]];
        const int32_t rows = node->nr - node->nc, *map = plan->update_map + plan->update_ptr[first + k];
        uint16_t *list = below + node->below;
        if (w->root[k] == k) {
            for (int32_t i = 0; i < rows; i++)
                list[i] = (uint16_t)(branch->columns + w->outside[k] + i);
            continue;
        }
        const gsv_branch_node *parent = &w->node[w->place[plan->parent[first + k] - first]];
        for (int32_t i = 0; i < rows; i++)
            list[i] = (uint16_t)(map[i] < parent->nc ? parent->column + map[i]
                                                     : below[parent->below + map[i] - parent->nc]);
    }
    w->length += length;
}

/* The lists of one branch, in w->list. */
static void fill_branch(const gsv_plan *plan, const int64_t *panel_ptr, gsv_branches *branches,
                        gsv_branch *branch, work *w) {
    const int32_t count = branch->end - branch->first;
    w->length = 0;
    place_nodes(plan, panel_ptr, branches, branch, w);
    place_updates(plan, branch, w);
    open_list(w, branch, GSV_AT_NODES);
    w->length += count * (int32_t)(sizeof(gsv_branch_node) / sizeof(uint16_t)); /* copied below */
    open_list(w, branch, GSV_AT_LEVEL_NODES);
    for (int32_t level = 0; level <= branch->levels; level++)
        append(w, w->level_start[level]);
    list_units(branch, w, GSV_AT_ROW_LEVELS, GSV_AT_ROW_UNITS, GSV_ROW_UNIT);
    list_gathers(plan, branch, w);
    list_units(branch, w, GSV_AT_BACKWARD_LEVELS, GSV_AT_BACKWARD_UNITS, GSV_BACKWARD_UNIT);
    list_below(plan, branch, w);
    open_list(w, branch, GSV_AT_END);
    memcpy(w->list, w->node, (size_t)count * sizeof *w->node);
    w->length += gsv_branch_walk_fill(branch, w->list, w->list + w->length);
}

static void raise(int32_t *most, int32_t value) {
    *most = value > *most ? value : *most;
}

/* The most of any branch, for numbers of every size (gsv_number_size). */
static void raise_rooms(const gsv_branch *branch, gsv_branches *branches) {
    for (int32_t panel = 4; panel <= 16; panel *= 2)
        for (int32_t vector = panel; vector <= 2 * panel && vector <= 16; vector *= 2) {
            const int k = gsv_number_size((size_t)panel, (size_t)vector);
            for (int backward = 0; backward < 2; backward++)
                raise(&branches->most_one[backward][k],
                      gsv_branch_one_room(branch, backward, panel, vector).bytes);
            raise(&branches->most_whole[k], gsv_branch_whole_room(branch, panel, vector).bytes);
        }
}

/* ------------------------------------------------------------------------------------- all branches --- */

/* Where a branch's lists begin, and its walk's, if all are as long as they can be. */
typedef struct room {
    int64_t lists, walks;
} room;

struct gsv_branches_draft {
    const gsv_plan *plan;
    const int64_t *panel_ptr;
    gsv_branches *branches;
    int threads;
    work *works;        /* [threads] */
    room *room;         /* [count] */
    order *order;       /* [count] */
    gsv_branch *sorted; /* [count] */
};

/* And where each branch's outside rows begin. Returns where the last one's lists end. */
static room reserve_lists(const gsv_plan *plan, gsv_branches *branches, room *rooms) {
    room end = {0, 0};
    for (int32_t b = 0; b < branches->count; b++) {
        gsv_branch *branch = &branches->branch[b];
        rooms[b] = end;
        branch->outside = branches->noutside;
        for (int32_t s = branch->first; s < branch->end; s++) {
            const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), updates = nr - nc;
            end.lists += 8 + 3 + 2 * (nc / GSV_BACKWARD_UNIT + 1) + nr / GSV_ROW_UNIT + 1 + updates + 32;
            if (plan->child_ptr[s] < plan->child_ptr[s + 1])
                end.lists += nr + 1;
            end.walks += gsv_branch_walk_most(updates);
            if (plan->parent[s] < 0 || plan->parent[s] >= branch->end)
                branches->noutside += updates;
            else
                end.lists += updates; /* the parent's list */
        }
    }
    return end;
}

gpusolve_status gsv_branches_begin(const gsv_plan *plan, const gsv_supernode_list *upper,
                                   const int64_t *panel_ptr, int threads, gsv_branches *branches,
                                   gsv_branches_draft **draft, gsv_message *message) {
    const size_t count = (size_t)branches->count;
    gsv_branches_draft *d = *draft = gsv_calloc(1, sizeof *d);
    if (!d)
        return gsv_plan_no_memory(message);
    *d = (gsv_branches_draft){.plan = plan,
                              .panel_ptr = panel_ptr,
                              .branches = branches,
                              .threads = threads,
                              .works = gsv_malloc((size_t)threads, sizeof *d->works),
                              .room = gsv_malloc(count, sizeof *d->room),
                              .order = gsv_malloc(count, sizeof *d->order),
                              .sorted = gsv_malloc(count, sizeof *d->sorted)};
    for (int64_t k = 0; k < upper->count; k++)
        branches->upper_columns += gsv_columns(plan, upper->supernode[k]);
    branches->upper_column = gsv_malloc((size_t)branches->upper_columns, sizeof *branches->upper_column);
    if (d->room) {
        const room end = reserve_lists(plan, branches, d->room);
        branches->lists = gsv_malloc((size_t)end.lists, sizeof *branches->lists);
        branches->walks = gsv_malloc((size_t)end.walks, sizeof *branches->walks);
    }
    branches->outside_row = gsv_malloc((size_t)branches->noutside, sizeof *branches->outside_row);
    if (!d->works || !d->room || !d->order || !d->sorted || !branches->lists || !branches->walks ||
        !branches->upper_column || !branches->outside_row)
        return gsv_plan_no_memory(message);
    for (int t = 0; t < threads; t++)
        d->works[t].most = (gsv_branches){0};
    int32_t column = 0;
    for (int64_t k = 0; k < upper->count; k++) {
        const int32_t s = upper->supernode[k];
        for (int32_t j = plan->l.first_column[s]; j < plan->l.first_column[s + 1]; j++)
            branches->upper_column[column++] = j;
    }
    return GPUSOLVE_OK;
}

void gsv_branches_fill(const gsv_branches_draft *d, int32_t begin, int32_t end, int member) {
    work *w = &d->works[member];
    for (int32_t b = begin; b < end; b++) {
        gsv_branch *branch = &d->branches->branch[b];
        fill_branch(d->plan, d->panel_ptr, d->branches, branch, w);
        const size_t lists = branch->at[GSV_AT_END], walk = branch->walk[GSV_WALK_END];
        memcpy(d->branches->lists + d->room[b].lists, w->list, lists * sizeof *w->list);
        memcpy(d->branches->walks + d->room[b].walks, w->list + lists, walk * sizeof *w->list);
        raise_rooms(branch, &w->most);
        d->order[b] = (order){gsv_branch_walk_bytes(branch, GSV_PACKED, GSV_TEAM_VECTORS), b};
    }
}

void gsv_branches_place(const gsv_branches_draft *d) {
    gsv_branches *branches = d->branches;
    for (int32_t b = 0; b < branches->count; b++) {
        gsv_branch *branch = &branches->branch[b];
        branch->lists = branches->nlists;
        branch->walks = branches->nwalks;
        branches->nlists += branch->at[GSV_AT_END];
        branches->nwalks += branch->walk[GSV_WALK_END];
    }
}

void gsv_branches_close(const gsv_branches_draft *d, int walks) {
    const gsv_branches *branches = d->branches;
    uint16_t *lists = walks ? branches->walks : branches->lists;
    for (int32_t b = 0; b < branches->count; b++) {
        const gsv_branch *branch = &branches->branch[b];
        const int64_t from = walks ? d->room[b].walks : d->room[b].lists,
                      to = walks ? branch->walks : branch->lists;
        const size_t length = walks ? branch->walk[GSV_WALK_END] : branch->at[GSV_AT_END];
        memmove(lists + to, lists + from, length * sizeof *lists);
    }
}

/* The longest first, and together those of which several share an SM. */
static int by_room(const void *a, const void *b) {
    const order *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1)
                                : (x->branch > y->branch) - (x->branch < y->branch);
}

void gsv_branches_sort(const gsv_branches_draft *d) {
    const gsv_branches *branches = d->branches;
    if (branches->count > 1)
        qsort(d->order, (size_t)branches->count, sizeof *d->order, by_room);
    for (int32_t b = 0; b < branches->count; b++) {
        d->sorted[b] = branches->branch[d->order[b].branch];
        for (int32_t s = d->sorted[b].first; s < d->sorted[b].end; s++)
            branches->of[s] = b;
    }
}

/* What blocks must have room for. */
static void raise_all(const gsv_branches_draft *d, gsv_branches *branches) {
    for (int t = 0; t < d->threads; t++)
        for (int k = 0; k < GSV_NUMBER_SIZES; k++) {
            for (int backward = 0; backward < 2; backward++)
                raise(&branches->most_one[backward][k], d->works[t].most.most_one[backward][k]);
            raise(&branches->most_whole[k], d->works[t].most.most_whole[k]);
        }
}

void gsv_branches_end(gsv_branches_draft *d, int good) {
    if (!d)
        return;
    gsv_branches *branches = d->branches;
    if (good) {
        raise_all(d, branches);
        gsv_free(branches->branch);
        branches->branch = d->sorted;
        branches->bytes = branches->count * (int64_t)sizeof *branches->branch +
                          2 * (branches->nlists + branches->nwalks) + 4 * branches->noutside +
                          4 * (int64_t)branches->upper_columns + 4 * (int64_t)d->plan->l.nsuper;
    } else {
        gsv_free(d->sorted);
    }
    gsv_free(d->works);
    gsv_free(d->room);
    gsv_free(d->order);
    gsv_free(d);
}

void gsv_branches_free(gsv_branches *branches) {
    gsv_free(branches->branch);
    gsv_free(branches->lists);
    gsv_free(branches->walks);
    gsv_free(branches->outside_row);
    gsv_free(branches->of);
    gsv_free(branches->upper_column);
    *branches = (gsv_branches){0};
}
