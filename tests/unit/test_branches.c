/*
 * The branches of the device's plan: which supernodes they take, and their lists, walked here as the kernels
 * walk them. Numbers are integers modulo 2^64, so that both sweeps must agree with the plan's own maps to the
 * last bit; and no place for update rows may be written in the level in which it is read.
 */
#include "testing.h"

#include <cholmod.h>

#include "cholmod_helpers.h"
#include "memory.h"
#include "supernodal/import.h"
#include "supernodal/tiles.h"

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
    const gsv_branches *branches = &plan->tiles->branches;
    int32_t inside = 0;
    for (int32_t b = 0; b < branches->count; b++) {
        const gsv_branch *branch = &branches->branch[b];
        int64_t numbers = 0, rows = 0, columns = 0;
        CHECK(b == 0 || branch[-1].numbers >= branch->numbers);
        CHECK(branch->end - branch->first >= 2);
        CHECK(branch->panel == plan->tiles->panel_ptr[branch->first] && branch->panel % GSV_TILE == 0);
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
        CHECK(branches->most_numbers >= branch->numbers && branches->most_updates >= branch->updates);
        CHECK(branches->most_vector >= branch->columns + branch->outside_rows);
        CHECK(branches->most_lists >= branch->at[GSV_AT_END]);
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
    const gsv_supernode_list *lists[] = {&plan->tiles->tiny, &plan->tiles->small};
    for (int which = 0; which < 2; which++)
        for (int32_t k = 0; k < plan->nlevels; k++)
            for (int64_t t = lists[which]->ptr[k]; t < lists[which]->ptr[k + 1]; t++)
                CHECK((branches->of[lists[which]->supernode[t]] < 0) ==
                      (t - lists[which]->ptr[k] < lists[which]->outside[k + 1] - lists[which]->outside[k]));
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
                    v->u[plan->tiles->update_place[plan->child[k]] + e - plan->update_ptr[plan->child[k]]];
        for (int32_t i = 0; i < nr; i++) {
            uint64_t sum = i < nc ? 0 : f[i];
            for (int32_t k = 0; k < nc && k <= i; k++)
                sum += entry(s, i, k) * f[k];
            if (i < nc)
                v->x[first + i] = sum;
            else
                v->u[plan->tiles->update_place[s] + i - nc] = sum;
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
    const gsv_branches *branches = &plan->tiles->branches;
    const gsv_branch *branch = &branches->branch[b];
    const uint16_t *lists = branches->lists + branch->lists;
    const gsv_branch_node *nodes = (const gsv_branch_node *)lists;
    const uint16_t *level_nodes = lists + branch->at[GSV_AT_LEVEL_NODES];
    const uint16_t *levels = lists + branch->at[GSV_AT_FORWARD_LEVELS];
    const uint16_t *units = lists + branch->at[GSV_AT_FORWARD_UNITS];
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
            const gsv_branch_node *node = &nodes[units[2 * unit]];
            CHECK(units[2 * unit] >= level_nodes[level] && units[2 * unit] < level_nodes[level + 1]);
            const int32_t s = supernode_of(plan, branch->first_column + node->column);
            CHECK(node->nr == gsv_rows(plan, s) && node->nc == gsv_columns(plan, s));
            CHECK(node->panel == plan->tiles->panel_ptr[s] - branch->panel);
            for (int32_t i = units[2 * unit + 1]; i < node->nr && i < units[2 * unit + 1] + GSV_FORWARD_UNIT;
                 i++, rows++) {
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
        CHECK(u[k] == v->u[plan->tiles->upper_updates + branch->outside + k]);
    free(f);
    free(u);
    free(read);
    free(written);
}

static void walk_backward(const gsv_plan *plan, int32_t b, const vectors *v) {
    const gsv_branches *branches = &plan->tiles->branches;
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

static void check_matrix(const char *spec, int some, cholmod_common *common) {
    testing_in("%s", spec);
    cholmod_sparse *a = testing_load(spec, common);
    if (!a && !strchr(spec, ':')) {
        printf("left out: no file %s\n", spec);
        return;
    }
    REQUIRE(a);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l);
    const gpusolve_factor_data data = testing_factor_data(l);
    const int64_t live = gsv_live_allocations();
    gsv_structure structure;
    gsv_plan plan;
    gsv_message message;
    REQUIRE(gsv_import_structure(&data, 2, &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, 2, &plan, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_tiles_create(&plan, 2, &message) == GPUSOLVE_OK);
    CHECK((plan.tiles->branches.count > 0) == some);
    check_choice(&plan);
    const size_t n = (size_t)plan.l.n + 1, updates = (size_t)plan.update_ptr[plan.l.nsuper] + 1;
    const vectors v = {calloc(n, 8), calloc(n, 8), calloc(updates, 8), calloc(n, 8)};
    REQUIRE(v.b && v.x && v.u && v.y);
    for (int32_t i = 0; i < plan.l.n; i++)
        v.b[i] = number(99, (uint64_t)i);
    reference(&plan, &v);
    for (int32_t b = 0; b < plan.tiles->branches.count; b++) {
        walk_forward(&plan, b, &v);
        walk_backward(&plan, b, &v);
    }
    free(v.b);
    free(v.x);
    free(v.u);
    free(v.y);
    gsv_plan_free(&plan);
    CHECK(gsv_live_allocations() == live);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
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
    check_matrix("bcsstk18", 1, &common);
    cholmod_finish(&common);
    return testing_done();
}
