/*
 * Simplicial factors turned into supernodes, checked as objects: parents contain their children
 * (gsv_plan_create refuses what does not), every entry stands in its place with its value, zeros stand
 * everywhere else, and there are not too many of them. CHOLMOD's factors, in all the forms it keeps them in,
 * and patterns with entries missing.
 */
#include "import_cases.h"

static int64_t entries_of(const gpusolve_factor_data *data) {
    int64_t entries = 0;
    for (int64_t j = 0; j < data->n; j++)
        entries += data->nz ? get_index(data->nz, data->itype, j)
                            : get_index(data->p, data->itype, j + 1) - get_index(data->p, data->itype, j);
    return entries;
}

/* Returns the numbers in the supernodes' trapezoids. */
static int64_t check_conversion(const gpusolve_factor_data *data) {
    const int64_t live = gsv_live_allocations();
    gsv_message message = {""};
    gsv_plan plan = plan_of(data);
    CHECK(plan.l.n == data->n && plan.nnz_l >= entries_of(data));
    testing_check(gsv_import_check_values(data, &plan, testing_pool(2), NULL, &message) == GPUSOLVE_OK,
                  __FILE__, __LINE__, "%s", message.text);
    CHECK_STATUS(gsv_import_check_pattern(data, &plan, &message), GPUSOLVE_OK);
    check_panels(data, &plan);
    const int64_t stored = plan.nnz_l;
    gsv_plan_free(&plan);
    CHECK(gsv_live_allocations() == live);
    return stored;
}

/* ------------------------------------------------------------------------------------------ CHOLMOD's --- */

/* FNV-1a over everything that L owns. */
static uint64_t hash(uint64_t state, const void *memory, size_t bytes) {
    for (size_t k = 0; memory && k < bytes; k++)
        state = (state ^ ((const unsigned char *)memory)[k]) * UINT64_C(1099511628211);
    return state;
}

static uint64_t fingerprint(const cholmod_factor *l) {
    const size_t index = l->itype == CHOLMOD_LONG ? 8 : 4, numbers = l->is_super ? l->xsize : l->nzmax;
    uint64_t state = hash(UINT64_C(14695981039346656037), l, sizeof *l);
    state = hash(state, l->Perm, l->n * index);
    state = hash(state, l->ColCount, l->n * index);
    state = hash(state, l->p, (l->n + 1) * index);
    state = hash(state, l->nz, l->n * index);
    state = hash(state, l->i, l->nzmax * index);
    state = hash(state, l->super, (l->nsuper + 1) * index);
    state = hash(state, l->pi, (l->nsuper + 1) * index);
    state = hash(state, l->px, (l->nsuper + 1) * index);
    state = hash(state, l->s, l->ssize * index);
    state = hash(state, l->x, numbers * (l->xtype == CHOLMOD_COMPLEX ? 16 : 8));
    return hash(state, l->z, l->xtype == CHOLMOD_ZOMPLEX ? numbers * 8 : 0);
}

static int64_t check_factor(const cholmod_factor *l, const char *form) {
    testing_in("%s: n %zu, xtype %d, is_ll %d, is_monotonic %d", form, l->n, l->xtype, l->is_ll,
               l->is_monotonic);
    const uint64_t before = fingerprint(l);
    const gpusolve_factor_data data = describe(l);
    const int64_t stored = check_conversion(&data);
    CHECK(fingerprint(l) == before);
    return stored;
}

/* The same factor packed, with room between its columns, and with columns moved to the end. */
static void check_forms(cholmod_factor *l, int to_ll, cholmod_common *common) {
    REQUIRE(cholmod_change_factor(l->xtype, to_ll, 0, 1, 1, l, common));
    const int64_t stored = check_factor(l, "packed");
    const gpusolve_factor_data data = describe(l);
    CHECK(l->n < 50 || stored <= 2 * entries_of(&data)); /* relaxed supernodes: a few zeros */

    cholmod_factor *loose = cholmod_copy_factor(l, common);
    REQUIRE(loose && cholmod_change_factor(l->xtype, to_ll, 0, 0, 1, loose, common));
    for (size_t j = 0; j < loose->n; j += 5) /* a column that outgrows its place goes to the end */
        REQUIRE(cholmod_reallocate_column(j, (size_t)((int *)loose->nz)[j] + 9, loose, common));
    CHECK(!loose->is_monotonic || loose->n < 50); /* in a small factor no column can outgrow its place */
    CHECK(check_factor(loose, "loose") == stored);
    cholmod_free_factor(&loose, common);
}

static void check_supernodal(const cholmod_factor *l) {
    testing_in("supernodal: n %zu, xtype %d", l->n, l->xtype);
    const uint64_t before = fingerprint(l);
    const gpusolve_factor_data data = describe(l);
    gsv_plan plan = plan_of(&data);
    CHECK_STATUS(gsv_import_check_values(&data, &plan, testing_pool(2), NULL, NULL), GPUSOLVE_OK);
    CHECK_STATUS(gsv_import_check_pattern(&data, &plan, NULL), GPUSOLVE_OK);
    check_panels(&data, &plan);
    gsv_plan_free(&plan);
    CHECK(fingerprint(l) == before);
}

static void test_grids(cholmod_common *common) {
    const int sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {9, 1, 1}, {17, 13, 1}, {7, 6, 5}, {40, 40, 1}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int xtype = CHOLMOD_REAL; xtype <= CHOLMOD_ZOMPLEX; xtype++)
            for (int super = 0; super <= 1; super++) {
                cholmod_factor *l = grid_factor(sizes[k][0], sizes[k][1], sizes[k][2], xtype, super, common);
                if (super)
                    check_supernodal(l);
                check_forms(l, 1, common);
                check_forms(l, 0, common);
                cholmod_free_factor(&l, common);
            }
}

/* L D L' of an indefinite matrix is a factor like any other. */
static void test_indefinite(cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(8, 7, 1, CHOLMOD_REAL, common);
    const int *p = a->p, *i = a->i;
    for (size_t j = 0; j < a->ncol; j++)
        for (int t = p[j]; t < p[j + 1]; t++)
            if (i[t] == (int)j && j % 2)
                ((double *)a->x)[t] *= -1;
    common->final_ll = 0;
    cholmod_factor *l = factorize(a, 0, common);
    REQUIRE(l->minor == l->n && !l->is_ll);
    check_factor(l, "indefinite");
    const gpusolve_factor_data data = describe(l);
    double d[56];
    int negative = 0;
    gsv_import_d(&data, d);
    for (int j = 0; j < 56; j++)
        negative += d[j] < 0;
    CHECK(negative == 28);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* Rank-one updates and deleted rows change patterns; the result is still a factor. */
static void test_updated(cholmod_common *common) {
    cholmod_sparse *a = grid_matrix(12, 11, 1, CHOLMOD_REAL, common);
    cholmod_factor *l = factorize(a, 0, common);
    for (int trial = 0; trial < 20; trial++) {
        cholmod_sparse *c = cholmod_allocate_sparse(l->n, 1, 3, 1, 1, 0, CHOLMOD_REAL, common);
        REQUIRE(c != NULL);
        const int first = trial * 4;
        for (int k = 0; k < 3; k++) {
            ((int *)c->i)[k] = first + k * 20;
            ((double *)c->x)[k] = 0.5;
        }
        ((int *)c->p)[0] = 0;
        ((int *)c->p)[1] = 3;
        REQUIRE(cholmod_updown(1, c, l, common));
        cholmod_free_sparse(&c, common);
        check_factor(l, "updated");
    }
    REQUIRE(cholmod_rowdel(60, NULL, l, common));
    check_factor(l, "row deleted");
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* ------------------------------------------------------------------------------------ made-up columns --- */

typedef struct pattern {
    int32_t n, *p, *i;
    double *x;
    gpusolve_factor_data data;
} pattern;

/* Column j has each row below it with probability 1 / sparsity, or the row below alone, or none. */
static pattern random_pattern(int32_t n, int64_t sparsity, uint64_t *state) {
    pattern a = {.n = n};
    a.p = malloc(((size_t)n + 1) * sizeof *a.p);
    a.i = malloc((size_t)n * ((size_t)n + 1) / 2 * sizeof *a.i);
    a.x = malloc((size_t)n * ((size_t)n + 1) / 2 * sizeof *a.x);
    REQUIRE(a.p && a.i && a.x);
    int32_t count = 0;
    for (int32_t j = 0; j < n; j++) {
        a.p[j] = count;
        a.i[count++] = j;
        const int64_t kind = testing_random_below(state, 4);
        for (int32_t row = j + 1; row < n && kind > 0; row++)
            if (kind == 1 ? row == j + 1 : testing_random_below(state, sparsity) == 0)
                a.i[count++] = row;
    }
    a.p[n] = count;
    for (int32_t t = 0; t < count; t++)
        a.x[t] = 1 + (double)t;
    const gpusolve_factor_data init = GPUSOLVE_FACTOR_DATA_INIT;
    a.data = init;
    a.data.kind = GPUSOLVE_SIMPLICIAL_LL;
    a.data.n = a.data.minor = n;
    a.data.xsize = count;
    a.data.p = a.p;
    a.data.i = a.i;
    a.data.x = a.x;
    a.data.allow_fill = 1;
    return a;
}

static void free_pattern(pattern *a) {
    free(a->p);
    free(a->i);
    free(a->x);
}

/* The entries of the smallest closed pattern that contains a, the slow way; closed[i + j n] says where. */
static int64_t close_pattern(const pattern *a, unsigned char *closed) {
    const size_t n = (size_t)a->n;
    int64_t entries = 0;
    memset(closed, 0, n * n);
    for (size_t j = 0; j < n; j++)
        for (int32_t t = a->p[j]; t < a->p[j + 1]; t++)
            closed[(size_t)a->i[t] + j * n] = 1;
    for (size_t j = 0; j < n; j++) {
        size_t parent = j + 1;
        while (parent < n && !closed[parent + j * n])
            parent++;
        for (size_t row = parent; row < n; row++)
            closed[row + parent * n] |= closed[row + j * n];
        for (size_t row = j; row < n; row++)
            entries += closed[row + j * n];
    }
    return entries;
}

/* Every entry of the closed pattern has a place; relaxing adds zeros only within CHOLMOD's bounds. */
static void check_against_closed(const pattern *a) {
    unsigned char *closed = malloc((size_t)a->n * (size_t)a->n);
    REQUIRE(closed != NULL);
    const int64_t entries = close_pattern(a, closed);
    gsv_plan plan = plan_of(&a->data);
    CHECK(plan.nnz_l >= entries);
    for (int32_t s = 0; s < plan.l.nsuper; s++) {
        const int32_t *rows = plan.l.rows + plan.l.row_ptr[s], nr = gsv_rows(&plan, s),
                      nc = gsv_columns(&plan, s);
        int64_t held = 0, places = (int64_t)nr * nc - (int64_t)nc * (nc - 1) / 2;
        for (int32_t k = 0; k < nc; k++) {
            const unsigned char *column = closed + (size_t)rows[k] * (size_t)a->n;
            int64_t wanted = 0, found = 0;
            for (int32_t row = rows[k]; row < a->n; row++)
                wanted += column[row];
            for (int32_t r = k; r < nr; r++)
                found += column[rows[r]];
            CHECK(found == wanted);
            held += found;
        }
        const double zeros = (double)(places - held) / (double)places;
        CHECK(places == held || nc <= 4 || (nc <= 16 && zeros < 0.8) || (nc <= 48 && zeros < 0.1) ||
              zeros < 0.05);
    }
    gsv_plan_free(&plan);
    free(closed);
}

/* Without allow_fill: refused exactly if the closed pattern has more than 4 times the entries. */
static int check_fill(const pattern *a) {
    unsigned char *closed = malloc((size_t)a->n * (size_t)a->n);
    REQUIRE(closed != NULL);
    const int too_many = close_pattern(a, closed) > 4 * (int64_t)a->p[a->n];
    gpusolve_factor_data data = a->data;
    gsv_structure structure;
    gsv_message message = {""};
    data.allow_fill = 0;
    const gpusolve_status status = gsv_import_structure(&data, testing_pool(2), &structure, &message);
    CHECK_STATUS(status, too_many ? GPUSOLVE_INVALID_FACTOR : GPUSOLVE_OK);
    if (status == GPUSOLVE_OK)
        gsv_structure_free(&structure);
    else
        CHECK(strstr(message.text, "data->i: the factor is incomplete") != NULL);
    free(closed);
    return too_many;
}

static void test_random_patterns(void) {
    uint64_t state = 88172645463325252u;
    int refused = 0;
    for (int trial = 0; trial < 400; trial++) {
        pattern a = random_pattern((int32_t)(1 + testing_random_below(&state, 60)),
                                   2 + testing_random_below(&state, 40), &state);
        testing_in("random pattern %d, n %d, %d entries", trial, a.n, a.p[a.n]);
        check_against_closed(&a);
        refused += check_fill(&a);
        check_conversion(&a.data);
        gpusolve_factor_data wide = copy_factor(&a.data, GPUSOLVE_INT64, GPUSOLVE_COMPLEX_DOUBLE, 1);
        check_conversion(&wide);
        free_factor(&wide);
        free_pattern(&a);
    }
    testing_in("random patterns");
    CHECK(refused > 0 && refused < 400);
}

/* An arrow that points up: one column with all rows, the others with none, closes to a full triangle. */
static void test_shapes(void) {
    enum { ORDER = 300 };
    for (int shape = 0; shape < 3; shape++) {
        uint64_t state = 1;
        pattern a = random_pattern(ORDER, ORDER, &state);
        int32_t count = 0;
        for (int32_t j = 0; j < ORDER; j++) {
            a.p[j] = count;
            a.i[count++] = j;
            if (shape == 1 && j < ORDER - 1) /* an arrow that points down: a star of leaves */
                a.i[count++] = ORDER - 1;
            for (int32_t row = j + 1; shape == 2 && j == 0 && row < ORDER; row++)
                a.i[count++] = row;
        }
        a.p[ORDER] = count;
        for (int32_t t = 0; t < count; t++)
            a.x[t] = 1 + t;
        a.data.xsize = count;
        testing_in("shape %d", shape);
        check_against_closed(&a);
        CHECK(check_fill(&a) == (shape == 2));
        const int64_t stored = check_conversion(&a.data);
        if (shape == 0)
            CHECK(stored == ORDER); /* diagonal: a forest of ORDER roots */
        if (shape == 2)
            CHECK(stored == ORDER * (ORDER + 1) / 2);
        free_pattern(&a);
    }
}

/* L of an incomplete factorisation without fill: that of a grid in its natural order has 3 entries a column, and complete
 * ones have `side` and more. */
static void test_incomplete(void) {
    for (int32_t side = 2; side <= 1024; side *= 2) {
        const int32_t n = side * side;
        int32_t *p = malloc(((size_t)n + 1) * sizeof *p), *i = malloc(3 * (size_t)n * sizeof *i), count = 0;
        double *x = malloc(3 * (size_t)n * sizeof *x);
        REQUIRE(p && i && x);
        for (int32_t j = 0; j < n; j++) {
            p[j] = count;
            const int32_t rows[] = {j, j % side + 1 < side ? j + 1 : n, j + side};
            for (int k = 0; k < 3; k++)
                if (rows[k] < n) {
                    i[count] = rows[k];
                    x[count++] = k == 0 ? 2 : -0.5;
                }
        }
        p[n] = count;
        gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
        data.kind = GPUSOLVE_SIMPLICIAL_LL;
        data.n = data.minor = n;
        data.xsize = count;
        data.p = p;
        data.i = i;
        data.x = x;
        testing_in("incomplete factor of a grid of %d", (int)side);
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 2);
        gpusolve_info info = {.size = sizeof info};
        gpusolve_factor *factor = NULL;
        const int64_t live = gsv_live_allocations();
        if (side >= 16) {
            char given[32];
            snprintf(given, sizeof given, "%d entries are given", (int)count);
            CHECK_REFUSED(handle, gpusolve_query(handle, &data, 1, &info), GPUSOLVE_INVALID_FACTOR, given);
            CHECK_REFUSED(handle, gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_INVALID_FACTOR,
                          "data->allow_fill");
            CHECK(factor == NULL && gsv_live_allocations() == live);
            data.allow_fill = 1;
        }
        if (side <= 64) {
            CHECK_STATUS(gpusolve_query(handle, &data, 1, &info), GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_OK);
            CHECK(info.nnz_l > (side >= 16 ? 4 * count : count));
        }
        data.allow_fill = 2;
        CHECK_REFUSED(handle, gpusolve_query(handle, &data, 1, &info), GPUSOLVE_INVALID_ARGUMENT,
                      "data->allow_fill");
        gpusolve_factor_destroy(factor);
        gpusolve_destroy(handle);
        free(p);
        free(i);
        free(x);
    }
}

int main(void) {
    cholmod_common common;
    REQUIRE(cholmod_start(&common));
    common.print = 0;
    test_grids(&common);
    test_indefinite(&common);
    test_updated(&common);
    test_random_patterns();
    test_shapes();
    test_incomplete();
    cholmod_finish(&common);
    CHECK(common.malloc_count == 0);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
