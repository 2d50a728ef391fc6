/*
 * Reaches in the supernodal forest against fill counted entry by entry, and the structure of a reach against
 * the one it was cut out of.
 */
#include "testing.h"

#include <cholmod.h>

#include "cholmod_helpers.h"
#include "memory.h"
#include "pools.h"
#include "supernodal/import/import.h"
#include "supernodal/tree/reach.h"

/* Supernodes where L \ b can be nonzero, by walking all columns: b is nonzero in `rows`. */
static void brute_force(const gsv_plan *plan, int64_t count, const int32_t *rows, uint8_t *reach) {
    uint8_t *nonzero = calloc((size_t)plan->l.n + 1, 1);
    REQUIRE(nonzero != NULL);
    for (int64_t k = 0; k < count; k++)
        nonzero[rows[k]] = 1;
    memset(reach, 0, (size_t)plan->l.nsuper);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        for (int32_t j = plan->l.first_column[s]; j < plan->l.first_column[s + 1]; j++) {
            if (!nonzero[j])
                continue;
            reach[s] = 1;
            for (int64_t i = plan->l.row_ptr[s]; i < plan->l.row_ptr[s + 1]; i++)
                nonzero[plan->l.rows[i]] |= plan->l.rows[i] > j;
        }
    free(nonzero);
}

/* The structure is that of the marked supernodes, with their columns renumbered. */
static void check_structure(const gsv_plan *plan, const uint8_t *reach, int32_t marked) {
    int32_t *supernodes = malloc(((size_t)marked + 1) * sizeof *supernodes);
    int32_t *shift = malloc(((size_t)plan->l.nsuper + 1) * sizeof *shift);
    gsv_structure l;
    gsv_message message = {{0}};
    REQUIRE(supernodes != NULL && shift != NULL);
    REQUIRE(gsv_reach_structure(plan, reach, supernodes, shift, &l, &message) == GPUSOLVE_OK);
    CHECK(l.nsuper == marked && l.perm == NULL);
    int32_t columns = 0;
    for (int32_t k = 0; k < marked; k++) {
        const int32_t s = supernodes[k];
        CHECK(reach[s] && (k == 0 || supernodes[k - 1] < s));
        CHECK(l.first_column[k] == columns && l.first_column[k] == plan->l.first_column[s] + shift[s]);
        columns += gsv_columns(plan, s);
        CHECK(l.first_column[k + 1] == columns);
        REQUIRE(l.row_ptr[k + 1] - l.row_ptr[k] == gsv_rows(plan, s));
        for (int32_t i = 0; i < gsv_rows(plan, s); i++) {
            const int32_t row = plan->l.rows[plan->l.row_ptr[s] + i], owner = gsv_supernode_of(plan, row);
            CHECK(plan->l.first_column[owner] <= row && row < plan->l.first_column[owner + 1]);
            CHECK(reach[owner] && l.rows[l.row_ptr[k] + i] == row + shift[owner]);
        }
    }
    CHECK(l.n == columns);
    gsv_plan part;
    REQUIRE(gsv_plan_create(&l, testing_pool(2), &part, &message) == GPUSOLVE_OK);
    for (int32_t k = 0; k < marked; k++) {
        const int32_t parent = plan->parent[supernodes[k]];
        CHECK(parent < 0 ? part.parent[k] < 0 : supernodes[part.parent[k]] == parent);
    }
    gsv_plan_free(&part);
    free(supernodes);
    free(shift);
}

static void check_rows(const gsv_plan *plan, int64_t count, const int32_t *rows) {
    uint8_t *reach = calloc((size_t)plan->l.nsuper + 1, 1), *expected = malloc((size_t)plan->l.nsuper + 1);
    int32_t marked = 0;
    REQUIRE(reach != NULL && expected != NULL);
    CHECK(gsv_reach_mark(plan, count, rows, reach) >= (count > 0));
    brute_force(plan, count, rows, expected);
    CHECK(memcmp(reach, expected, (size_t)plan->l.nsuper) == 0);
    CHECK(gsv_reach_mark(plan, count, rows, reach) == 0);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        marked += reach[s];
    check_structure(plan, reach, marked);
    free(reach);
    free(expected);
}

static void check_matrix(const char *spec, cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    const gpusolve_factor_data data = testing_factor_data(l);
    gsv_structure structure;
    gsv_plan plan;
    gsv_message message = {{0}};
    REQUIRE(gsv_import_structure(&data, testing_pool(2), &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, testing_pool(2), &plan, &message) == GPUSOLVE_OK);
    const int32_t n = plan.l.n;
    int32_t *rows = malloc((size_t)n * sizeof *rows);
    uint64_t state = 7;
    REQUIRE(rows != NULL);
    for (int32_t count = 0; count <= 40 && count <= n; count += 1 + count / 3)
        for (int repeat = 0; repeat < 5; repeat++) {
            testing_in("%s, %d rows", spec, (int)count);
            for (int32_t k = 0; k < count; k++)
                rows[k] = (int32_t)((testing_random(&state) + 1) / 2 * n);
            check_rows(&plan, count, rows);
        }
    for (int32_t k = 0; k < n; k++)
        rows[k] = n - 1 - k;
    testing_in("%s, all rows", spec);
    check_rows(&plan, n, rows);
    testing_in("%s, the last row", spec);
    check_rows(&plan, 1, rows);
    free(rows);
    gsv_plan_free(&plan);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    check_matrix("grid2d:1", &common);
    check_matrix("grid2d:9", &common);
    check_matrix("grid2d:40", &common);
    check_matrix("grid3d:9", &common);
    check_matrix("arrow:400,5,3", &common);
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
