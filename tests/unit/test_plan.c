/*
 * The plan as an object: the tree, the maps, and the device's storage. Every entry of L has a place of its own, every narrow
 * supernode above the branches stands in one list, what a row is owed is listed completely and in order; and both sweeps
 * by these lists, over panels [W; -M], here in C, solve L L' x = b.
 */
#include "plan_example.h"

/* ----------------------------------------------------------------------------------------------- tree --- */

static int find(const int32_t *list, int32_t count, int32_t value) {
    for (int32_t k = 0; k < count; k++)
        if (list[k] == value)
            return k;
    return -1;
}

static void check_tree(const gsv_plan *plan) {
    int32_t deepest = -1, children = 0;
    int64_t nnz = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nc = gsv_columns(plan, s), nr = gsv_rows(plan, s), p = plan->parent[s];
        const int32_t *rows = plan->l.rows + plan->l.row_ptr[s];
        for (int32_t j = 0; j < nc; j++)
            nnz += nr - j;
        CHECK(plan->update_ptr[s + 1] - plan->update_ptr[s] == nr - nc);
        if (plan->level[s] > deepest)
            deepest = plan->level[s];
        CHECK((p < 0) == (nr == nc));
        if (p >= 0) {
            children++;
            CHECK(p > s && plan->level[p] > plan->level[s]);
            CHECK(plan->l.first_column[p] <= rows[nc] && rows[nc] < plan->l.first_column[p + 1]);
            CHECK(find(plan->child + plan->child_ptr[p], plan->child_ptr[p + 1] - plan->child_ptr[p], s) >=
                  0);
            for (int32_t i = nc; i < nr; i++)
                CHECK(plan->l.rows[plan->l.row_ptr[p] + plan->update_map[plan->update_ptr[s] + i - nc]] ==
                      rows[i]);
        }
        int32_t height = 0;
        for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
            CHECK(plan->parent[plan->child[k]] == s);
            CHECK(k == plan->child_ptr[s] || plan->child[k - 1] < plan->child[k]);
            if (plan->level[plan->child[k]] + 1 > height)
                height = plan->level[plan->child[k]] + 1;
        }
        CHECK(plan->level[s] == height);
    }
    CHECK(plan->nlevels == deepest + 1);
    CHECK(plan->child_ptr[plan->l.nsuper] == children);
    CHECK(plan->nnz_l == nnz);
}

/* -------------------------------------------------------------------------------------------- storage --- */

/* Where entry (i, j) of a wide panel stands. */
static int64_t wide_place(int32_t nc, int32_t i, int32_t j) {
    return gsv_block_row_start(nc, i / GSV_TILE) + (int64_t)GSV_TILE * j + i % GSV_TILE;
}

static int64_t place(const gsv_plan *plan, int32_t s, int32_t i, int32_t j) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    return plan->schedule->panel_ptr[s] +
           (gsv_is_narrow(nr, nc) ? gsv_narrow_column(nr, j) + i : wide_place(nc, i, j));
}

/* Entries get their own places, inside their panel, and panels do not overlap. */
static void check_storage(const gsv_plan *plan) {
    const int64_t size = plan->schedule->panel_ptr[plan->l.nsuper];
    unsigned char *used = calloc((size_t)size + 1, 1);
    REQUIRE(used);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t begin = plan->schedule->panel_ptr[s], end = begin + gsv_panel_size(nr, nc);
        CHECK(end <= plan->schedule->panel_ptr[s + 1]);
        CHECK(gsv_is_narrow(nr, nc) || begin % GSV_TILE == 0);
        for (int32_t j = 0; j < nc; j++)
            for (int32_t i = j; i < nr; i++) {
                const int64_t at = place(plan, s, i, j);
                if (CHECK(at >= begin && at < end))
                    CHECK(used[at]++ == 0);
            }
    }
    free(used);
}

/* Those in no branch, each once, ascending; tiny ones in the other list than small ones. */
static void check_narrow(const gsv_plan *plan) {
    const gsv_supernode_list *lists[] = {&plan->schedule->tiny, &plan->schedule->small};
    unsigned char *listed = calloc((size_t)plan->l.nsuper + 1, 1);
    REQUIRE(listed);
    for (int small = 0; small < 2; small++)
        for (int64_t k = 0; k < lists[small]->count; k++) {
            const int32_t s = lists[small]->supernode[k], nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
            listed[s]++;
            CHECK(gsv_is_narrow(nr, nc) && gsv_is_tiny(nr, nc) == !small);
            CHECK(k == 0 || lists[small]->supernode[k - 1] < s);
        }
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        CHECK(listed[s] ==
              (plan->schedule->branches.of[s] < 0 && gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s))));
    free(listed);
}

/* What children owe a row is listed completely and in order. */
static void check_gather(const gsv_plan *plan) {
    const gsv_schedule *schedule = plan->schedule;
    const int64_t updates = plan->update_ptr[plan->l.nsuper];
    int32_t *owner = malloc((size_t)updates * sizeof *owner + 1); /* of the update row at each place */
    REQUIRE(owner);
    for (int64_t k = 0; k < updates; k++)
        owner[k] = -1;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        for (int64_t k = 0; k < plan->update_ptr[s + 1] - plan->update_ptr[s]; k++)
            if (CHECK(schedule->update_place[s] + k < updates)) {
                CHECK(owner[schedule->update_place[s] + k] == -1);
                CHECK((schedule->update_place[s] + k < schedule->upper_updates) ==
                      (schedule->branches.of[s] < 0));
                owner[schedule->update_place[s] + k] = s;
            }
    for (int inside = 0, done = 0; inside < 2; inside++) /* the upper tree's fronts, and then the others */
        for (int32_t s = 0; s < plan->l.nsuper; s++)
            if ((schedule->branches.of[s] >= 0) == inside) {
                CHECK(schedule->row_place[s] == done);
                done += gsv_rows(plan, s);
                CHECK(inside == (done > schedule->upper_rows));
            }
    int64_t listed = 0, owed = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        owed += nr - nc;
        for (int32_t i = 0; i < nr; i++) {
            const uint32_t *ptr = schedule->gather_ptr + schedule->row_place[s] + i;
            listed += ptr[1] - ptr[0];
            for (uint32_t k = ptr[0]; k < ptr[1]; k++) {
                const int32_t c = owner[schedule->gather[k]];
                const int64_t u = plan->update_ptr[c] + schedule->gather[k] - schedule->update_place[c];
                CHECK(plan->parent[c] == s && plan->update_map[u] == i);
                CHECK(k == ptr[0] || owner[schedule->gather[k - 1]] < c);
            }
        }
    }
    CHECK(listed == owed);
    free(owner);
}

/* ---------------------------------------------------------------------------------------- both sweeps --- */

/* [W; -M] of one panel, by substitution, into its place. */
static void invert_panel(const gsv_plan *plan, int32_t s, const double *l, double *panels) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    double *w = malloc((size_t)nc * sizeof *w);
    REQUIRE(w);
    for (int32_t i = 0; i < nr; i++) {
        const int32_t last = i < nc ? i : nc - 1;
        for (int32_t k = last; k >= 0; k--) {
            double sum = i >= nc ? -l[i + (int64_t)k * nr] : i == k;
            for (int32_t m = k + 1; m <= last; m++)
                sum -= w[m] * l[m + (int64_t)k * nr];
            w[k] = sum / l[k + (int64_t)k * nr];
        }
        for (int32_t k = 0; k <= last; k++)
            panels[place(plan, s, i, k)] = w[k];
    }
    free(w);
}

static double owed_to(const gsv_plan *plan, int32_t s, int32_t i, const double *u) {
    const uint32_t *ptr = plan->schedule->gather_ptr + plan->schedule->row_place[s] + i;
    double sum = 0;
    for (uint32_t k = ptr[0]; k < ptr[1]; k++)
        sum += u[plan->schedule->gather[k]];
    return sum;
}

/* [x1; u] = [W; -M] f1 + [0; f2] */
static void forward(const gsv_plan *plan, int32_t s, const double *panels, const double *f1, double *x,
                    double *u) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    for (int32_t i = 0; i < nr; i++) {
        double sum = i < nc ? 0 : owed_to(plan, s, i, u);
        for (int32_t k = 0; k <= i && k < nc; k++)
            sum += panels[place(plan, s, i, k)] * f1[k];
        if (i < nc)
            x[plan->l.first_column[s] + i] = sum;
        else
            u[plan->schedule->update_place[s] + i - nc] = sum;
    }
}

/* y1 = [W; -M]' [x1; y(rows below)] */
static void backward(const gsv_plan *plan, int32_t s, const double *panels, const double *x, double *y) {
    const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), column = plan->l.first_column[s];
    for (int32_t j = 0; j < nc; j++) {
        double sum = 0;
        for (int32_t i = j; i < nr; i++)
            sum += panels[place(plan, s, i, j)] *
                   (i < nc ? x[column + i] : y[plan->l.rows[plan->l.row_ptr[s] + i]]);
        y[column + j] = sum;
    }
}

static void run_sweeps(const gsv_plan *plan, const double *panels, double *y, double *x, double *u) {
    double *f1 = malloc((size_t)plan->widest * sizeof *f1 + 1);
    REQUIRE(f1);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        for (int32_t i = 0; i < gsv_columns(plan, s); i++)
            f1[i] = y[plan->l.first_column[s] + i] + owed_to(plan, s, i, u);
        forward(plan, s, panels, f1, x, u);
    }
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--)
        backward(plan, s, panels, x, y);
    free(f1);
}

static void check_solution(const gsv_plan *plan, const gpusolve_factor_data *data, const cholmod_sparse *a) {
    const int32_t n = plan->l.n;
    double *panels = calloc((size_t)plan->schedule->panel_ptr[plan->l.nsuper] + 1, sizeof *panels);
    double *raw = malloc((size_t)data->xsize * sizeof *raw + 1);
    double *y = calloc((size_t)n + 1, sizeof *y), *x = calloc((size_t)n + 1, sizeof *x);
    double *u = calloc((size_t)plan->update_ptr[plan->l.nsuper] + 1, sizeof *u);
    double complex *b = calloc((size_t)n + 1, sizeof *b), *solution = calloc((size_t)n + 1, sizeof *solution);
    REQUIRE(panels && raw && y && x && u && b && solution);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        gsv_import_panel(data, plan, s, raw);
        invert_panel(plan, s, raw, panels);
    }
    uint64_t seed = 7;
    for (int32_t i = 0; i < n; i++)
        b[i] = testing_random(&seed);
    for (int32_t i = 0; i < n; i++)
        y[i] = creal(b[plan->l.perm[i]]);
    run_sweeps(plan, panels, y, x, u);
    for (int32_t i = 0; i < n; i++)
        solution[plan->l.perm[i]] = y[i];
    const double error = testing_backward_error(a, testing_sparse_norm(a), solution, b);
    CHECK_BELOW(error, 30 * DBL_EPSILON);
    free(panels);
    free(raw);
    free(y);
    free(x);
    free(u);
    free(b);
    free(solution);
}

/* ---------------------------------------------------------------------------------------------- cases --- */

static int same(const void *a, const void *b, int64_t count, size_t size) {
    return count == 0 || memcmp(a, b, (size_t)count * size) == 0;
}

/* What several threads fill in is the same with any number of them. */
static void check_threads(const gsv_plan *plan, const gpusolve_factor_data *data) {
    static const int counts[] = {1, 3, 7};
    for (int k = 0; k < 3; k++) {
        gsv_structure structure;
        gsv_plan other;
        gsv_message message;
        REQUIRE(gsv_import_structure(data, testing_pool(counts[k]), &structure, &message) == GPUSOLVE_OK);
        REQUIRE(gsv_plan_create(&structure, testing_pool(counts[k]), &other, &message) == GPUSOLVE_OK);
        REQUIRE(gsv_schedule_create(&other, testing_pool(counts[k]), &message) == GPUSOLVE_OK);
        const gsv_schedule *a = plan->schedule, *b = other.schedule;
        CHECK(same(a->gather_ptr, b->gather_ptr, plan->l.row_ptr[plan->l.nsuper] + 1, sizeof *a->gather_ptr));
        CHECK(same(a->row_place, b->row_place, plan->l.nsuper, sizeof *a->row_place));
        CHECK(same(a->gather, b->gather, plan->update_ptr[plan->l.nsuper], sizeof *a->gather));
        CHECK(a->limbs.count == b->limbs.count && a->limbs.nchunks == b->limbs.nchunks &&
              a->limbs.nlists == b->limbs.nlists);
        CHECK(same(a->limbs.limb, b->limbs.limb, a->limbs.count, sizeof *a->limbs.limb));
        CHECK(same(a->limbs.chunk, b->limbs.chunk, a->limbs.nchunks, sizeof *a->limbs.chunk));
        CHECK(same(a->limbs.lists, b->limbs.lists, a->limbs.nlists, sizeof *a->limbs.lists));
        const gsv_branches *x = &a->branches, *y = &b->branches;
        CHECK(x->count == y->count && x->nlists == y->nlists && x->noutside == y->noutside);
        CHECK(same(x->lists, y->lists, x->nlists, sizeof *x->lists));
        CHECK(x->nwalks == y->nwalks && same(x->walks, y->walks, x->nwalks, sizeof *x->walks));
        CHECK(same(x->outside_row, y->outside_row, x->noutside, sizeof *x->outside_row));
        for (int32_t i = 0; i < x->count; i++) {
            const gsv_branch *p = &x->branch[i], *q = &y->branch[i];
            CHECK(p->first == q->first && p->end == q->end && p->lists == q->lists);
            CHECK(p->outside == q->outside && p->updates == q->updates && p->levels == q->levels);
            CHECK(memcmp(p->at, q->at, sizeof p->at) == 0);
        }
        gsv_plan_free(&other);
    }
}

static void check_matrix(const char *spec, cholmod_common *common) {
    testing_in("%s", spec);
    plan_example e;
    open_example(&e, testing_load(spec, common), common);
    const gsv_plan *plan = &e.plan;
    check_tree(plan);
    check_storage(plan);
    check_narrow(plan);
    check_gather(plan);
    check_solution(plan, &e.data, e.a);
    check_threads(plan, &e.data);
    close_example(&e, common);
}

/* A pattern that no Cholesky factor has: supernode 0 reaches row 2, its parent, supernode 1, does not. */
static void check_containment(void) {
    testing_in("rows that the parent lacks");
    const int64_t live = gsv_live_allocations();
    gsv_structure structure = {.n = 3,
                               .nsuper = 3,
                               .first_column = gsv_malloc(4, 4),
                               .row_ptr = gsv_malloc(4, 8),
                               .rows = gsv_malloc(5, 4)};
    REQUIRE(structure.first_column && structure.row_ptr && structure.rows);
    memcpy(structure.first_column, (int32_t[]){0, 1, 2, 3}, 4 * sizeof(int32_t));
    memcpy(structure.row_ptr, (int64_t[]){0, 3, 4, 5}, 4 * sizeof(int64_t));
    memcpy(structure.rows, (int32_t[]){0, 1, 2, 1, 2}, 5 * sizeof(int32_t));
    gsv_plan plan;
    gsv_message message = {""};
    CHECK_STATUS(gsv_plan_create(&structure, testing_pool(2), &plan, &message), GPUSOLVE_INVALID_FACTOR);
    CHECK(strstr(message.text, "row 2 of supernode 0") != NULL);
    CHECK(structure.rows == NULL && gsv_live_allocations() == live);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_matrix("diag:50", &common);
    check_matrix("tridiag:100", &common);
    check_matrix("forest:200", &common);
    check_matrix("grid2d:30", &common);
    check_matrix("grid3d:9", &common);
    check_matrix("arrow:300,20,7", &common);
    check_matrix("elasticity3d:5", &common);
    cholmod_finish(&common);
    check_containment();
    return testing_done();
}
