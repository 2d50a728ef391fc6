/*
 * Splitting supernodes (supernodal/import/split.h), on the host: the structure with cuts, once and again, against the one it came
 * from; the numbers that the import finds for slices; what a refresh says of data that is, or is not, as planned; and
 * solves, selections and refreshes with a factor that is split at random places against products with its L.
 */
#include "random_check.h"

#include "gpusolve_selection.h"
#include "memory.h"
#include "pools.h"
#include "supernodal/api/executor.h"
#include "supernodal/import/fields.h"

static gsv_message message;

static gsv_plan make_plan(const gpusolve_factor_data *data) {
    gsv_structure structure;
    gsv_plan plan;
    REQUIRE(gsv_import_structure(data, testing_pool(2), &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, testing_pool(2), &plan, &message) == GPUSOLVE_OK);
    return plan;
}

/* One column in `in` begins a slice. */
static uint8_t *random_cuts(int64_t n, int64_t in, uint64_t *state) {
    uint8_t *at = calloc((size_t)n + 1, 1);
    REQUIRE(at);
    for (int64_t j = 0; j < n; j++)
        at[j] = (uint8_t)random_coin(state, in);
    return at;
}

static gsv_plan split(const gsv_plan *plan, const uint8_t *at) {
    gsv_structure structure;
    gsv_plan made;
    REQUIRE(gsv_structure_split(&plan->l, at, &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, testing_pool(2), &made, &message) == GPUSOLVE_OK);
    return made;
}

/* Supernodes of `from`, from first columns and cuts. */
static void check_structure(const gsv_plan *from, const uint8_t *at, const gsv_plan *to) {
    int32_t s = 0, before = 0;
    CHECK(to->nnz_l == from->nnz_l && to->l.n == from->l.n);
    CHECK(to->l.nwhole == gsv_nwhole(&from->l) && to->l.slice_ptr && to->l.whole);
    CHECK(!from->l.perm == !to->l.perm);
    CHECK(!from->l.perm || memcmp(from->l.perm, to->l.perm, (size_t)from->l.n * sizeof *from->l.perm) == 0);
    for (int32_t j = 0; j < from->l.n; j++) {
        before += j == from->l.first_column[before + 1];
        if (j != from->l.first_column[before] && !at[j])
            continue;
        REQUIRE(s < to->l.nsuper);
        CHECK(to->l.first_column[s] == j);
        CHECK(to->l.whole[s] == gsv_whole(&from->l, before));
        const int32_t skipped = j - from->l.first_column[before];
        REQUIRE(gsv_rows(to, s) == gsv_rows(from, before) - skipped);
        CHECK(memcmp(to->l.rows + to->l.row_ptr[s], from->l.rows + from->l.row_ptr[before] + skipped,
                     (size_t)gsv_rows(to, s) * sizeof *to->l.rows) == 0);
        s++;
    }
    REQUIRE(s == to->l.nsuper && to->l.first_column[s] == to->l.n);
    for (int32_t k = 0; k < to->l.nwhole; k++)
        for (int32_t slice = to->l.slice_ptr[k]; slice < to->l.slice_ptr[k + 1]; slice++) {
            CHECK(to->l.whole[slice] == k);
            CHECK(slice + 1 == to->l.slice_ptr[k + 1] || to->parent[slice] == slice + 1);
        }
    CHECK(to->l.slice_ptr[0] == 0 && to->l.slice_ptr[to->l.nwhole] == to->l.nsuper);
}

/* A slice's panel is the part of the whole panel from its first column and row on. */
static void check_numbers(const gpusolve_factor_data *data, const gsv_plan *whole, const gsv_plan *plan) {
    const size_t number = gsv_dtype_bytes(data->dtype);
    for (int32_t k = 0; k < whole->l.nsuper; k++) {
        const int32_t nr = gsv_rows(whole, k);
        char *panel = malloc((size_t)nr * (size_t)gsv_columns(whole, k) * number),
             *slice = malloc((size_t)nr * (size_t)gsv_columns(whole, k) * number);
        REQUIRE(panel && slice);
        gsv_import_panel(data, whole, k, panel);
        for (int32_t s = plan->l.slice_ptr[k]; s < plan->l.slice_ptr[k + 1]; s++) {
            const int32_t rows = gsv_rows(plan, s), skipped = nr - rows;
            int same = 1;
            gsv_import_panel(data, plan, s, slice);
            for (int32_t j = 0; j < gsv_columns(plan, s); j++)
                same &= memcmp(slice + ((size_t)j * (size_t)rows + (size_t)j) * number,
                               panel + ((size_t)(skipped + j) * (size_t)nr + (size_t)(skipped + j)) * number,
                               (size_t)(rows - j) * number) == 0;
            CHECK(same);
        }
        free(panel);
        free(slice);
    }
}

/* What a refresh asks of the plan. */
static void check_pattern(const random_factor *f, const gsv_plan *plan, uint64_t *state) {
    const gpusolve_factor_data *data = &f->data;
    const int super = data->kind == GPUSOLVE_SUPERNODAL_LL;
    CHECK(gsv_import_check_pattern(data, plan, &message) == GPUSOLVE_OK);
    CHECK(gsv_import_is_planned(data, plan, testing_pool(2)) == super);
    CHECK(gsv_import_check_values(data, plan, testing_pool(2), NULL, &message) == GPUSOLVE_OK);
    if (!super)
        return;
    int32_t *const arrays[] = {f->super + 1, f->pi + 1, f->s};
    const int64_t counts[] = {f->nsuper - 1, f->nsuper - 1, f->pi[f->nsuper]};
    for (int k = 0; k < 3; k++) {
        if (counts[k] < 1)
            continue;
        int32_t *one = arrays[k] + testing_random_below(state, counts[k]);
        ++*one;
        CHECK(!gsv_import_is_planned(data, plan, testing_pool(2)));
        const gpusolve_status status = gsv_import_check_pattern(data, plan, &message);
        CHECK(status == GPUSOLVE_PATTERN_MISMATCH || status == GPUSOLVE_INVALID_FACTOR);
        --*one;
    }
    gpusolve_factor_data fewer = *data;
    fewer.nsuper--;
    CHECK(!gsv_import_is_planned(&fewer, plan, testing_pool(2)));
}

static void check_plans(random_factor *f, uint64_t *state) {
    gsv_plan whole = make_plan(&f->data);
    uint8_t *first = random_cuts(f->data.n, 5, state), *second = random_cuts(f->data.n, 3, state);
    gsv_plan once = split(&whole, first), twice = split(&once, second);
    check_structure(&whole, first, &once);
    check_structure(&once, second, &twice);
    check_numbers(&f->data, &whole, &once);
    check_numbers(&f->data, &whole, &twice);
    check_pattern(f, &once, state);
    check_pattern(f, &twice, state);
    gsv_plan_free(&whole);
    gsv_plan_free(&once);
    gsv_plan_free(&twice);
    free(first);
    free(second);
}

/* ---------------------------------------------------------------------------------------------- solves --- */

static void check_solve(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                        uint64_t *state) {
    static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt};
    for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) {
        gpusolve_dense b = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 3, 0),
                       x = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 3, 0);
        testing_fill(&b, testing_random_bits(state));
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, systems[k], &b, &x), GPUSOLVE_OK);
        CHECK_BELOW(random_error(f, systems[k], &b, &x, state), RANDOM_LIMIT);
        free(b.values);
        free(x.values);
    }
}

/* A selection of the split factor has the numbers of the whole solve. */
static void check_selection(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                            gpusolve_selection *selection, int64_t row, uint64_t *state) {
    gpusolve_dense b = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 1, 0),
                   x = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 1, 0),
                   own = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, 1, 1, 0);
    testing_fill(&b, testing_random_bits(state));
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, selection, &b, &own), GPUSOLVE_OK);
    CHECK(testing_get(&own, 0, 0) == testing_get(&x, row, 0));
    free(b.values);
    free(x.values);
    free(own.values);
}

/* As preparing does where there are cuts (factor.c). */
static void split_factor(gpusolve_handle *handle, gpusolve_factor *factor, const gpusolve_factor_data *data,
                         const uint8_t *at) {
    gsv_plan plan = split(&factor->plan, at);
    REQUIRE(factor->executor->plan(&plan, handle->pool, &message) == GPUSOLVE_OK);
    factor->executor->release(factor);
    gsv_plan_free(&factor->plan);
    factor->plan = plan;
    factor->plans++;
    factor->refreshes++;
    REQUIRE(factor->executor->prepare(handle, factor, data) == GPUSOLVE_OK);
}

static void check_factor(random_factor *f, uint64_t *state) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 2);
    gpusolve_factor *factor;
    gpusolve_selection *selection;
    uint8_t *at = random_cuts(f->data.n, 4, state);
    const int64_t row = testing_random_below(state, f->data.n);
    REQUIRE(gpusolve_factor_create(handle, &f->data, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(handle, factor, GPUSOLVE_A, f->data.n, NULL, 1, &row, 1, &selection) ==
            GPUSOLVE_OK);
    check_selection(f, handle, factor, selection, row, state);
    gpusolve_destroy(handle); /* whose own workspace is of the plan before */
    handle = testing_handle(GPUSOLVE_BACKEND_HOST, 2);
    split_factor(handle, factor, &f->data, at);
    check_solve(f, handle, factor, state);
    check_selection(f, handle, factor, selection, row, state);
    random_numbers(f, state);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f->data), GPUSOLVE_OK);
    check_solve(f, handle, factor, state);
    check_selection(f, handle, factor, selection, row, state);
    gpusolve_selection_destroy(selection);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    free(at);
}

int main(void) {
    const random_limits most = {60000, 1500, 900};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t state = random_start(seed);
        random_factor f = random_factor_new(most, &state);
        random_numbers(&f, &state);
        testing_in("seed %d, %s, kind %d, n %d, %d supernodes, dtype %d", (int)seed, f.tree, (int)f.data.kind,
                   (int)f.data.n, (int)f.nsuper, (int)f.data.dtype);
        check_plans(&f, &state);
        check_factor(&f, &state);
        random_factor_free(&f);
    }
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
