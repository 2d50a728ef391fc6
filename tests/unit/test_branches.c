/*
 * The branches of the device's plan: which supernodes they take, and their lists, walked here as the kernels
 * walk them. Numbers are integers modulo 2^64, so that both sweeps must agree with the plan's own maps to the
 * last bit; and no place for update rows may be written in the level in which it is read.
 */
#include "plan_example.h"

#include "supernodal/schedule/walk/packs.h"

/* Something arbitrary. */
static uint64_t number(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + 1;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* Entry (i, j) of the panel of supernode s. */
static uint64_t entry(int32_t s, int32_t i, int32_t j) {
    return number((uint64_t)s, (uint64_t)i * 4096 + (uint64_t)j);
}

static void check_choice(const gsv_plan *plan) {
    const gsv_branches *branches = &plan->schedule->branches;
    int32_t inside = 0;
    for (int32_t b = 0; b < branches->count; b++) {
        const gsv_branch *branch = &branches->branch[b];
        int64_t numbers = 0, rows = 0, columns = 0;
        CHECK(b == 0 || gsv_branch_walk_bytes(branch - 1, GSV_PACKED, GSV_TEAM_VECTORS) >=
                            gsv_branch_walk_bytes(branch, GSV_PACKED, GSV_TEAM_VECTORS));
        CHECK(branch->end - branch->first >= 2);
        CHECK(branch->panel == plan->schedule->panel_ptr[branch->first] && branch->panel % GSV_TILE == 0);
        CHECK(branch->first_column == plan->l.first_column[branch->first]);
        for (int32_t s = branch->first; s < branch->end; s++, inside++) {
            const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
            CHECK(branches->of[s] == b && gsv_is_narrow(nr, nc));
            numbers += gsv_panel_size(nr, nc);
            rows += nr;
            columns += nc;
            for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
                CHECK(branches->of[plan->child[k]] == b); /* whole subtrees */
        }
        CHECK(numbers == branch->numbers && numbers <= GSV_BRANCH_NUMBERS && rows <= GSV_BRANCH_ROWS);
        CHECK(columns == branch->columns);
        for (int backward = 0; backward < 2; backward++) {
            const gsv_one_room room = gsv_branch_one_room(branch, backward, 8, 8);
            CHECK(room.bytes <= GSV_BRANCH_BYTES && room.bytes <= branches->most_one[backward][1]);
            CHECK(room.lists % 16 == 0 && room.first % 16 == 0 && room.arrived % 16 == 0);
        }
        CHECK(branch->lists % 8 == 0 && branch->lists + branch->at[GSV_AT_END] <= branches->nlists);
        CHECK(branch->at[GSV_AT_LEVEL_NODES] % 8 == 0 && branch->at[GSV_AT_BACKWARD_LEVELS] % 8 == 0 &&
              branch->at[GSV_AT_END] % 8 == 0);
    }
    int32_t upper = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        inside -= branches->of[s] >= 0;
        for (int32_t k = plan->l.first_column[s]; branches->of[s] < 0 && k < plan->l.first_column[s + 1]; k++)
            CHECK(upper < branches->upper_columns && branches->upper_column[upper++] == k);
    }
    CHECK(inside == 0 && upper == branches->upper_columns);
}

/* The smaller units of the forward sweep: each row of each front once, in its level. */
static void check_row_units(const gsv_branch *branch, const uint16_t *lists) {
    const gsv_branch_node *nodes = (const gsv_branch_node *)lists;
    const uint16_t *level_nodes = lists + branch->at[GSV_AT_LEVEL_NODES];
    const uint16_t *levels = lists + branch->at[GSV_AT_ROW_LEVELS];
    const uint16_t *units = lists + branch->at[GSV_AT_ROW_UNITS];
    int32_t unit = 0;
    CHECK(branch->at[GSV_AT_ROW_LEVELS] % 8 == 0);
    for (int32_t level = 0; level < branch->levels; level++) {
        CHECK(levels[level] == unit);
        for (int32_t k = level_nodes[level]; k < level_nodes[level + 1]; k++) {
            CHECK(nodes[k].unit == unit);
            for (int32_t i = 0; i < nodes[k].nr; i += GSV_ROW_UNIT, unit++)
                CHECK(units[unit] == k);
        }
    }
    CHECK(levels[branch->levels] == unit);
    CHECK(branch->at[GSV_AT_ROW_UNITS] + unit <= branch->at[GSV_AT_GATHER_PTR]);
}

/* Both sweeps over the whole tree by the plan's maps: x, u and the solution y. */
typedef struct vectors {
    uint64_t *b, *x, *u, *y;
} vectors;

static void reference(const gsv_plan *plan, const vectors *v) {
    uint64_t *f = calloc((size_t)plan->l.n + 1, sizeof *f);
    REQUIRE(f);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), first = plan->l.first_column[s];
        for (int32_t i = 0; i < nr; i++)
            f[i] = i < nc ? v->b[first + i] : 0;
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++)
            for (int64_t e = plan->update_ptr[plan->child[k]]; e < plan->update_ptr[plan->child[k] + 1]; e++)
                f[plan->update_map[e]] +=
                    v->u[plan->schedule->update_place[plan->child[k]] + e - plan->update_ptr[plan->child[k]]];
        for (int32_t i = 0; i < nr; i++) {
            uint64_t sum = i < nc ? 0 : f[i];
            for (int32_t k = 0; k < nc && k <= i; k++)
                sum += entry(s, i, k) * f[k];
            if (i < nc)
                v->x[first + i] = sum;
            else
                v->u[plan->schedule->update_place[s] + i - nc] = sum;
        }
    }
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), first = plan->l.first_column[s];
        for (int32_t j = 0; j < nc; j++) {
            uint64_t sum = 0;
            for (int32_t i = j; i < nr; i++)
                sum +=
                    entry(s, i, j) * (i < nc ? v->x[first + i] : v->y[plan->l.rows[plan->l.row_ptr[s] + i]]);
            v->y[first + j] = sum;
        }
    }
    free(f);
}

static int32_t supernode_of(const gsv_plan *plan, int32_t column) {
    int32_t s = 0;
    while (plan->l.first_column[s + 1] <= column)
        s++;
    return s;
}

/* Row i of a node's front, own columns left out, as its children leave it. */
static uint64_t gathered(const uint16_t *lists, const gsv_branch *branch, const gsv_branch_node *node,
                         int32_t i, const uint64_t *updates, int32_t *read, int32_t stamp) {
    if (node->gather == GSV_NO_GATHER)
        return 0;
    const uint16_t *ptr = lists + branch->at[GSV_AT_GATHER_PTR] + node->gather + i;
    uint64_t sum = 0;
    for (int32_t g = ptr[0]; g < ptr[1]; g++) {
        const int32_t place = lists[branch->at[GSV_AT_GATHER] + g];
        sum += updates[place];
        read[place] = stamp;
    }
    return sum;
}

static void walk_forward(const gsv_plan *plan, int32_t b, const vectors *v) {
    const gsv_branches *branches = &plan->schedule->branches;
    const gsv_branch *branch = &branches->branch[b];
    const uint16_t *lists = branches->lists + branch->lists;
    const gsv_branch_node *nodes = (const gsv_branch_node *)lists;
    const uint16_t *level_nodes = lists + branch->at[GSV_AT_LEVEL_NODES];
    const uint16_t *levels = lists + branch->at[GSV_AT_ROW_LEVELS];
    const uint16_t *units = lists + branch->at[GSV_AT_ROW_UNITS];
    uint64_t *f = calloc((size_t)branch->columns, sizeof *f), *u = calloc(branch->updates + 1u, sizeof *u);
    int32_t *read = calloc(branch->updates + 1u, sizeof *read),
            *written = calloc(branch->updates + 1u, sizeof *read);
    int32_t rows = 0, all_rows = 0;
    REQUIRE(f && u && read && written);
    check_row_units(branch, lists);
    for (int32_t j = 0; j < branch->columns; j++)
        f[j] = v->b[branch->first_column + j];
    for (int32_t level = 0; level < branch->levels; level++) {
        for (int32_t k = level_nodes[level]; k < level_nodes[level + 1]; k++) {
            all_rows += nodes[k].nr;
            CHECK((nodes[k].gather == GSV_NO_GATHER) == (level == 0));
            for (int32_t i = 0; i < nodes[k].nc; i++)
                f[nodes[k].column + i] += gathered(lists, branch, &nodes[k], i, u, read, level + 1);
        }
        for (int32_t unit = levels[level]; unit < levels[level + 1]; unit++) {
            const gsv_branch_node *node = &nodes[units[unit]];
            const int32_t from = GSV_ROW_UNIT * (unit - node->unit);
            CHECK(units[unit] >= level_nodes[level] && units[unit] < level_nodes[level + 1]);
            const int32_t s = supernode_of(plan, branch->first_column + node->column);
            CHECK(node->nr == gsv_rows(plan, s) && node->nc == gsv_columns(plan, s));
            CHECK(node->panel == plan->schedule->panel_ptr[s] - branch->panel);
            for (int32_t i = from; i < node->nr && i < from + GSV_ROW_UNIT; i++, rows++) {
                uint64_t sum = i < node->nc ? 0 : gathered(lists, branch, node, i, u, read, level + 1);
                for (int32_t k = 0; k < node->nc && k <= i; k++)
                    sum += entry(s, i, k) * f[node->column + k];
                if (i < node->nc) {
                    CHECK(sum == v->x[branch->first_column + node->column + i]);
                } else {
                    const int32_t place = node->update + i - node->nc;
                    CHECK(place < branch->updates);
                    u[place] = sum;
                    written[place] = level + 1;
                }
            }
        }
        for (int32_t place = 0; place < branch->updates; place++)
            CHECK(read[place] != level + 1 || written[place] != level + 1);
    }
    CHECK(rows == all_rows);
    for (int32_t k = 0; k < branch->outside_rows; k++)
        CHECK(u[k] == v->u[plan->schedule->upper_updates + branch->outside + k]);
    free(f);
    free(u);
    free(read);
    free(written);
}

static void walk_backward(const gsv_plan *plan, int32_t b, const vectors *v) {
    const gsv_branches *branches = &plan->schedule->branches;
    const gsv_branch *branch = &branches->branch[b];
    const uint16_t *lists = branches->lists + branch->lists;
    const gsv_branch_node *nodes = (const gsv_branch_node *)lists;
    const uint16_t *levels = lists + branch->at[GSV_AT_BACKWARD_LEVELS];
    const uint16_t *units = lists + branch->at[GSV_AT_BACKWARD_UNITS];
    uint64_t *y = calloc((size_t)branch->columns + branch->outside_rows, sizeof *y);
    REQUIRE(y);
    int32_t columns = 0;
    for (int32_t k = 0; k < branch->outside_rows; k++)
        y[branch->columns + k] = v->y[branches->outside_row[branch->outside + k]];
    for (int32_t level = branch->levels - 1; level >= 0; level--)
        for (int32_t unit = levels[level]; unit < levels[level + 1]; unit++) {
            const gsv_branch_node *node = &nodes[units[2 * unit]];
            const uint16_t *below = lists + branch->at[GSV_AT_BELOW] + node->below;
            const int32_t s = supernode_of(plan, branch->first_column + node->column);
            const uint64_t *x = v->x + branch->first_column + node->column;
            for (int32_t j = units[2 * unit + 1]; j < node->nc && j < units[2 * unit + 1] + GSV_BACKWARD_UNIT;
                 j++, columns++) {
                uint64_t sum = 0;
                for (int32_t i = j; i < node->nr; i++)
                    sum += entry(s, i, j) * (i < node->nc ? x[i] : y[below[i - node->nc]]);
                CHECK(sum == v->y[branch->first_column + node->column + j]);
                y[node->column + j] = sum;
            }
        }
    CHECK(columns == branch->columns);
    free(y);
}

/* The walk for many right-hand sides, as its warps go: its lists, and the branch's panels. */
typedef struct walk {
    const gsv_branch *branch;
    const gsv_branch_node *nodes;
    const gsv_branch_pack *packs;
    const uint16_t *below, *rows, *map;
    int32_t count, npacks;
    uint64_t *panels;
    uint64_t *vectors; /* by place */
    int32_t columns;   /* that have been solved for */
} walk;

static walk begin_walk(const gsv_plan *plan, int32_t b) {
    const gsv_branch *branch = &plan->schedule->branches.branch[b];
    const uint16_t *lists = plan->schedule->branches.walks + branch->walks, *at = branch->walk;
    walk w = {.branch = branch,
              .nodes = (const gsv_branch_node *)(lists + at[GSV_WALK_NODES]),
              .packs = (const gsv_branch_pack *)(lists + at[GSV_WALK_PACKS]),
              .below = lists + at[GSV_WALK_BELOW],
              .rows = lists + at[GSV_WALK_ROWS],
              .map = lists + at[GSV_WALK_MAP],
              .count = (at[GSV_WALK_PACKS] - at[GSV_WALK_NODES]) / 8,
              .npacks = (at[GSV_WALK_BELOW] - at[GSV_WALK_PACKS]) / 4,
              .panels = calloc((size_t)branch->numbers + 1, sizeof *w.panels),
              .vectors =
                  calloc(4u * ((size_t)branch->walk_rows + branch->outside_rows) + 4, sizeof *w.vectors)};
    REQUIRE(w.panels && w.vectors);
    CHECK(branch->walks % 8 == 0 && branch->walks + at[GSV_WALK_END] <= plan->schedule->branches.nwalks);
    CHECK(at[GSV_WALK_NODES] == 0 && at[GSV_WALK_MAP] % 8 == 0 && at[GSV_WALK_END] % 8 == 0);
    for (int32_t s = branch->first; s < branch->end; s++)
        for (int32_t j = 0; j < gsv_columns(plan, s); j++)
            for (int32_t i = j; i < gsv_rows(plan, s); i++)
                w.panels[plan->schedule->panel_ptr[s] - branch->panel +
                         gsv_narrow_column(gsv_rows(plan, s), j) + i] = entry(s, i, j);
    const gsv_walk_room room = gsv_branch_walk_room(branch, GSV_PACKED);
    const int32_t packs = at[GSV_WALK_END] - at[GSV_WALK_MAP];
    CHECK(room.lists >= 8 * branch->numbers && room.outside >= room.lists + 2 * at[GSV_WALK_END]);
    CHECK(room.numbers >= room.outside + 4 * branch->outside_rows &&
          room.vectors >= room.numbers + 8 * packs);
    const gsv_walk_room looked_up = gsv_branch_walk_room(branch, GSV_LOOKED_UP);
    CHECK(looked_up.vectors >= looked_up.numbers && looked_up.vectors + 8 * packs >= room.vectors);
    CHECK(looked_up.vectors >= looked_up.lists + 31 * 8 && looked_up.each == room.each);
    CHECK(room.vectors >= room.lists + 31 * 8 && room.numbers % GSV_WALK_LINE == 0);
    return w;
}

static void end_walk(walk *w) {
    CHECK(w->columns == w->branch->columns); /* each once: a wrong one would not agree with the reference */
    free(w->panels);
    free(w->vectors);
}

static uint64_t *row_of(const walk *w, int32_t row) {
    CHECK(row < w->branch->walk_rows + w->branch->outside_rows);
    return &w->vectors[gsv_walk_place(row)];
}

/* Number (row, column) of a pack. */
static uint64_t of_pack(const walk *w, const gsv_branch_pack *pack, int32_t row, int32_t column) {
    const int32_t unit = GSV_PACK_COLUMNS * GSV_PACK_HEIGHT;
    const int32_t at = w->map[unit * pack->numbers + GSV_PACK_COLUMNS * row + column];
    CHECK(at == GSV_NO_NUMBER || at < w->branch->numbers);
    return at == GSV_NO_NUMBER ? 0 : w->panels[at];
}

static uint64_t of_node(const walk *w, const gsv_branch_node *node, int32_t i, int32_t j) {
    return w->panels[node->panel + gsv_narrow_column(node->nr, j) + i];
}

/* Levels ascend, and what is below a node's columns is of a higher one: a team's warps meet between levels. */
static void check_levels(const walk *w) {
    const int32_t own = w->branch->walk_rows;
    uint16_t *level = calloc((size_t)own + 1, sizeof *level);
    REQUIRE(level);
    for (int32_t k = w->count - 1; k >= 0; k--) {
        const gsv_branch_node *node = &w->nodes[k];
        CHECK(node->unit < w->branch->levels && (k + 1 == w->count || node->unit <= node[1].unit));
        for (int32_t j = 0; j < node->nc; j++)
            level[node->update + j] = node->unit;
        for (int32_t i = 0; i < node->nr - node->nc; i++) {
            const int32_t row = w->below[node->below + i] / (GSV_WALK_COLUMNS / 2);
            CHECK(row >= own || level[row] > node->unit);
        }
    }
    for (int32_t k = 0; k < w->npacks; k++)
        for (int32_t i = GSV_PACK_COLUMNS; i < w->packs[k].rows; i++) {
            const int32_t row = w->rows[w->packs[k].list + i] / (GSV_WALK_COLUMNS / 2);
            CHECK(row >= own || level[row] > 0);
        }
    free(level);
}

static void walk_many_forward(const gsv_plan *plan, int32_t b, const vectors *v) {
    walk w = begin_walk(plan, b);
    check_levels(&w);
    const int32_t own = w.branch->walk_rows;
    const uint64_t *right = v->b + w.branch->first_column, *x = v->x + w.branch->first_column;
    for (int32_t k = 0; k < w.count; k++)
        for (int32_t j = 0; j < w.nodes[k].nc; j++)
            *row_of(&w, w.nodes[k].update + j) = right[w.nodes[k].column + j];
    for (const gsv_branch_pack *pack = w.packs; pack < w.packs + w.npacks; pack++) {
        const uint16_t *rows = w.rows + pack->list;
        CHECK(pack->nc > 0 && pack->nc <= GSV_PACK_COLUMNS);
        for (int32_t i = 0; i < pack->rows; i++) {
            uint64_t sum = 0;
            for (int32_t j = 0; j < pack->nc; j++)
                sum += of_pack(&w, pack, i, j) * right[rows[j]];
            for (int32_t j = pack->nc; j < GSV_PACK_COLUMNS; j++)
                CHECK(of_pack(&w, pack, i, j) == 0);
            if (i < pack->nc)
                CHECK(sum == x[rows[i]]);
            else if (i < GSV_PACK_COLUMNS)
                CHECK(sum == 0);
            else
                w.vectors[rows[i]] += sum;
        }
        for (int32_t i = pack->rows; i % GSV_PACK_HEIGHT > 0; i++)
            for (int32_t j = 0; j < GSV_PACK_COLUMNS; j++)
                CHECK(of_pack(&w, pack, i, j) == 0);
        w.columns += pack->nc;
    }
    for (const gsv_branch_node *node = w.nodes; node < w.nodes + w.count; node++) {
        for (int32_t i = 0; i < node->nr; i++) {
            uint64_t sum = 0;
            for (int32_t j = 0; j < node->nc && j <= i; j++)
                sum += of_node(&w, node, i, j) * *row_of(&w, node->update + j);
            if (i < node->nc)
                CHECK(sum == x[node->column + i]);
            else
                w.vectors[w.below[node->below + i - node->nc]] += sum;
        }
        w.columns += node->nc;
    }
    for (int32_t k = 0; k < w.branch->outside_rows; k++)
        CHECK(*row_of(&w, own + k) == v->u[plan->schedule->upper_updates + w.branch->outside + k]);
    end_walk(&w);
}

static void walk_many_backward(const gsv_plan *plan, int32_t b, const vectors *v) {
    walk w = begin_walk(plan, b);
    const int32_t own = w.branch->walk_rows;
    const uint64_t *x = v->x + w.branch->first_column, *y = v->y + w.branch->first_column;
    for (int32_t k = 0; k < w.branch->outside_rows; k++)
        *row_of(&w, own + k) = v->y[plan->schedule->branches.outside_row[w.branch->outside + k]];
    for (const gsv_branch_node *node = w.nodes + w.count; node-- > w.nodes;) {
        uint64_t sum[GSV_NARROW_COLUMNS] = {0};
        for (int32_t j = 0; j < node->nc; j++)
            for (int32_t i = j; i < node->nr; i++)
                sum[j] +=
                    of_node(&w, node, i, j) *
                    (i < node->nc ? x[node->column + i] : w.vectors[w.below[node->below + i - node->nc]]);
        for (int32_t j = 0; j < node->nc; j++) {
            CHECK(sum[j] == y[node->column + j]);
            *row_of(&w, node->update + j) = sum[j];
        }
        w.columns += node->nc;
    }
    for (const gsv_branch_pack *pack = w.packs; pack < w.packs + w.npacks; pack++) {
        const uint16_t *rows = w.rows + pack->list;
        for (int32_t j = 0; j < pack->nc; j++) {
            uint64_t sum = 0;
            for (int32_t i = 0; i < pack->rows; i++)
                sum += of_pack(&w, pack, i, j) * (i < pack->nc           ? x[rows[i]]
                                                  : i < GSV_PACK_COLUMNS ? 0
                                                                         : w.vectors[rows[i]]);
            CHECK(sum == y[rows[j]]);
        }
        w.columns += pack->nc;
    }
    end_walk(&w);
}

/* some: there are branches. */
enum { MAYBE = -1 };

static void check_matrix(const char *spec, int some, cholmod_common *common) {
    testing_in("%s", spec);
    plan_example e;
    if (strchr(spec, ':')) {
        open_named(&e, spec, common);
    } else {
        cholmod_sparse *a = testing_load(spec, common);
        if (!a) {
            printf("left out: no file %s\n", spec);
            return;
        }
        open_example(&e, a, common);
    }
    const gsv_plan *plan = &e.plan;
    CHECK(some == MAYBE || (plan->schedule->branches.count > 0) == some);
    check_choice(plan);
    const size_t n = (size_t)plan->l.n + 1, updates = (size_t)plan->update_ptr[plan->l.nsuper] + 1;
    const vectors v = {calloc(n, 8), calloc(n, 8), calloc(updates, 8), calloc(n, 8)};
    REQUIRE(v.b && v.x && v.u && v.y);
    for (int32_t i = 0; i < plan->l.n; i++)
        v.b[i] = number(99, (uint64_t)i);
    reference(plan, &v);
    for (int32_t b = 0; b < plan->schedule->branches.count; b++) {
        walk_forward(plan, b, &v);
        walk_backward(plan, b, &v);
        walk_many_forward(plan, b, &v);
        walk_many_backward(plan, b, &v);
    }
    free(v.b);
    free(v.x);
    free(v.u);
    free(v.y);
    close_example(&e, common);
}

static void check_random(const char *spec, cholmod_common *common) {
    check_matrix(spec, MAYBE, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_matrix("diag:1", 0, &common);
    check_matrix("diag:50", 1, &common);
    check_matrix("tridiag:3000", 1, &common);
    check_matrix("forest:2000", 1, &common);
    check_matrix("grid2d:30", 1, &common);
    check_matrix("grid2d:90", 1, &common);
    check_matrix("grid3d:9", 1, &common);
    check_matrix("grid3d:14", 1, &common);
    check_matrix("arrow:300,20,7", 1, &common);
    check_matrix("elasticity3d:7", 1, &common);
    check_matrix("shell:30", 1, &common);
    check_matrix("bcsstk18", 1, &common);
    with_random(100, check_random, &common);
    cholmod_finish(&common);
    return testing_done();
}
