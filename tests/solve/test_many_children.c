/*
 * Supernodes that very many children owe something: lists that are longer than what a block has room for in shared memory,
 * for each kind of task of the sweeps for many right-hand sides (schedule/tasks/tasks.h), and long ones for all others.
 */
#include "random_check.h"

#ifdef GPUSOLVE_WITH_CUDA
#include "supernodal/api/executor.h"
#include "supernodal/schedule/schedule.h"
#endif

/* A root, a supernode that has all of the root's columns below its own, and its children, of one column each, which owe all
 * rows of it something. */
typedef struct family {
    int32_t children, columns, root;
} family;

static random_factor make_family(family of, gpusolve_dtype dtype) {
    random_factor f = {.data = GPUSOLVE_FACTOR_DATA_INIT, .nsuper = of.children + 2, .tree = "family"};
    const int32_t n = of.children + of.columns + of.root, parents = of.columns + of.root;
    f.data.n = f.data.minor = n;
    f.super = random_array(f.nsuper, sizeof *f.super);
    f.pi = random_array(f.nsuper, sizeof *f.pi);
    f.px = random_array(f.nsuper, sizeof *f.px);
    f.s = random_array((int64_t)(of.children + 2) * (parents + 1), sizeof *f.s);
    const int32_t columns[] = {1, of.columns, of.root}, below[] = {parents, of.root, 0};
    for (int32_t s = 0; s < of.children + 2; s++) {
        const int generation = s < of.children ? 0 : s - of.children + 1;
        const int32_t nc = columns[generation], shared = below[generation];
        f.super[s + 1] = f.super[s] + nc;
        f.pi[s + 1] = f.pi[s] + nc + shared;
        f.px[s + 1] = f.px[s] + (nc + shared) * nc;
        for (int32_t k = 0; k < nc + shared; k++)
            f.s[f.pi[s] + k] = k < nc ? f.super[s] + k : n - shared + k - nc;
    }
    f.numbers = f.px[f.nsuper];
    random_by_supernodes(&f);
    random_make_room(&f, dtype);
    return f;
}

static void check_solve(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                        int64_t columns, uint64_t *state) {
    static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt};
    const gpusolve_dense b = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, columns, 0);
    const gpusolve_dense x = testing_block(f->data.dtype, GPUSOLVE_ROW_MAJOR, f->data.n, columns, 0);
    testing_fill(&b, 7);
    for (int k = 0; k < 3; k++) {
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, systems[k], &b, &x), GPUSOLVE_OK);
        CHECK_BELOW(random_error(f, systems[k], &b, &x, state), RANDOM_LIMIT);
    }
    free(b.values);
    free(x.values);
}

/* long_lists: of tasks of each kind; on a device alone. */
static void count_long_lists(const gpusolve_factor *factor, int64_t *long_lists) {
#ifdef GPUSOLVE_WITH_CUDA
    const gsv_plan *plan = &factor->plan;
    if (!plan->schedule)
        return;
    const gsv_task_list *list = &plan->schedule->tasks.list[gsv_task_list_of(0, 0)];
    for (int64_t t = 0; t < list->tasks; t++)
        long_lists[list->task[t].kind] += list->task[t].listed > GSV_TASK_LISTED;
#else
    (void)factor;
    (void)long_lists;
#endif
}

int main(void) {
    static const family families[] = {{40, 200, 100}, {300, 20, 40}, {300, 200, 1}};
    static const int64_t widths[] = {1, 3, 8, 16, 32, 64, 130};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    uint64_t state = random_start(3);
    for (int k = 0; k < count; k++) {
        int64_t long_lists[] = {0, 0, 0};
        gpusolve_handle *handle = testing_handle(backends[k], 2);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            for (int dtype = 0; dtype < 4; dtype++) {
                random_factor f = make_family(families[i], (gpusolve_dtype)dtype);
                gpusolve_factor *factor;
                random_numbers(&f, &state);
                REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
                count_long_lists(factor, long_lists);
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                    testing_in("%s, %d children, %d columns above, dtype %d, nrhs %d",
                               testing_backend_name(backends[k]), (int)families[i].children,
                               (int)families[i].columns, dtype, (int)widths[w]);
                    check_solve(&f, handle, factor, widths[w], &state);
                }
                gpusolve_factor_destroy(factor);
                random_factor_free(&f);
            }
        for (int kind = 0; kind < 3 && backends[k] == GPUSOLVE_BACKEND_CUDA; kind++)
            CHECK(long_lists[kind] > 0);
        gpusolve_destroy(handle);
    }
    return testing_done();
}
