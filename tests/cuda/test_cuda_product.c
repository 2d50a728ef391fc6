/*
 * Products on the device: the lists stay with the factor, so that after the first product of a handle nothing is allocated; they are counted in the
 * factor's memory, serve a refresh, and are made anew if a refresh plans the factor again. Threads with a handle each make them at the same time.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_barrier_t */
#include "cuda_problem.h"

#include <pthread.h>

#include "gpusolve_product.h"
#include "memory.h"

enum { THREADS = 6, COLUMNS = 11, ROUNDS = 5 };

static int64_t factor_bytes(const problem *p) {
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_factor_info(p->handle, p->factor, 1, &info), GPUSOLVE_OK);
    return info.factor_bytes;
}

static gpusolve_dense product_of(const problem *p, gpusolve_operator operation, const gpusolve_dense *x) {
    const gpusolve_dense y = new_block(p, x->cols);
    CHECK_STATUS(gpusolve_multiply(p->handle, p->factor, operation, x, &y), GPUSOLVE_OK);
    return y;
}

/* L becomes 2 L, which is exact. */
static void double_numbers(const problem *p) {
    for (size_t k = 0; k < p->l->xsize * (p->l->xtype == CHOLMOD_COMPLEX ? 2 : 1); k++)
        ((double *)p->l->x)[k] *= 2;
}

static void check_lists(const char *spec) {
    testing_in("%s, lists", spec);
    problem p = {0};
    open_problem(&p, spec);
    const gpusolve_dense x = new_block(&p, COLUMNS);
    testing_fill(&x, 3);
    const int64_t before = factor_bytes(&p);
    const gpusolve_dense y = product_of(&p, GPUSOLVE_TIMES_A, &x);
    const int64_t with_lists = factor_bytes(&p);
    /* an update row has its row and its place in a list: 8 bytes */
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 1, &info), GPUSOLVE_OK);
    CHECK(with_lists - before >= 8 * info.update_rows && with_lists - before < 64 * (info.update_rows + p.n));

    const gpusolve_dense from = on_device(&x), to = on_device(&y), again = new_block(&p, COLUMNS);
    testing_count_allocations();
    for (int round = 0; round < ROUNDS; round++)
        for (int operation = 0; operation <= GPUSOLVE_TIMES_A; operation++)
            CHECK_STATUS(gpusolve_multiply(p.handle, p.factor, (gpusolve_operator)operation, &from, &to),
                         GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(device_read(again.values, to.values, testing_block_bytes(&again)) == 0);
    CHECK(testing_same_bits(&again, 0, &y, 0, COLUMNS));

    /* new numbers, the same lists: L x is twice as long, A x four times, and a solve takes it back */
    double_numbers(&p);
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK(factor_bytes(&p) == with_lists);
    CHECK_STATUS(gpusolve_multiply(p.handle, p.factor, GPUSOLVE_TIMES_A, &from, &to), GPUSOLVE_OK);
    CHECK(device_read(again.values, to.values, testing_block_bytes(&again)) == 0);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < p.n; i++)
            testing_set(&again, i, c, testing_get(&again, i, c) / 4);
    CHECK(testing_same_bits(&again, 0, &y, 0, COLUMNS));
    device_delete(from.values);
    device_delete(to.values);
    free(x.values);
    free(y.values);
    free(again.values);
    close_problem(&p);
}

/* A refresh with worse numbers cuts supernodes: the lists follow. ex15 of the examples would, too; here the diagonal of dense columns falls. */
static void check_planned_again(void) {
    testing_in("planned again");
    problem p = {0};
    open_problem(&p, "grid2d:40");
    const gpusolve_dense x = new_block(&p, 2);
    testing_fill(&x, 5);
    const gpusolve_dense before = product_of(&p, GPUSOLVE_TIMES_A, &x);
    gpusolve_info info = {.size = sizeof info};
    int32_t *super = p.l->super, *pi = p.l->pi, *px = p.l->px;
    for (size_t s = 0; s < p.l->nsuper; s++) /* rows of a triangle far larger than its diagonal */
        for (int32_t j = 0; j < super[s + 1] - super[s]; j++)
            for (int32_t i = j + 1; i < super[s + 1] - super[s]; i++)
                ((double *)p.l->x)[px[s] + j * (pi[s + 1] - pi[s]) + i] *= 1e3;
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 1, &info), GPUSOLVE_OK);
    CHECK(info.plans == 2);
    testing_explicit e;
    REQUIRE(testing_explicit_create(p.l, p.a, &p.common, &e) == 0);
    const gpusolve_dense after = product_of(&p, GPUSOLVE_TIMES_L, &x);
    for (int64_t c = 0; c < 2; c++) {
        double worst = 0, largest = 0;
        for (int i = 0; i < e.n; i++) {
            double complex sum = 0;
            double size = 0;
            for (int j = 0; j <= i; j++)
                for (int k = e.p[j]; k < e.p[j + 1]; k++)
                    if (e.i[k] == i) {
                        sum += e.x[k] * testing_get(&x, j, c);
                        size += cabs(e.x[k] * testing_get(&x, j, c));
                    }
            worst = testing_worse(worst, cabs(sum - testing_get(&after, i, c)));
            largest = size > largest ? size : largest;
        }
        CHECK_BELOW(worst / largest, 1e4 * DBL_EPSILON);
    }
    testing_explicit_free(&e);
    free(x.values);
    free(before.values);
    free(after.values);
    close_problem(&p);
}

typedef struct thread_task {
    const gpusolve_factor *factor;
    pthread_barrier_t *start;
    gpusolve_dense x, expected;
    int failures;
} thread_task;

/* Counts what goes wrong; the main thread checks. */
static void *multiply_often(void *argument) {
    thread_task *mine = argument;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_dense y = mine->x;
    gpusolve_handle *handle = NULL;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.threads = 1;
    y.values = malloc(testing_block_bytes(&y));
    const int made = y.values && gpusolve_create(&handle, &options) == GPUSOLVE_OK;
    pthread_barrier_wait(mine->start);
    for (int round = 0; round < ROUNDS; round++)
        if (!made || gpusolve_multiply(handle, mine->factor, GPUSOLVE_TIMES_A, &mine->x, &y) != GPUSOLVE_OK ||
            !testing_same_bits(&y, 0, &mine->expected, 0, y.cols))
            mine->failures++;
    gpusolve_destroy(handle);
    free(y.values);
    return NULL;
}

static void check_threads(void) {
    testing_in("threads");
    problem p = {0};
    open_problem(&p, "grid2d:60");
    const gpusolve_dense x = new_block(&p, COLUMNS);
    testing_fill(&x, 7);
    const gpusolve_dense expected = product_of(&p, GPUSOLVE_TIMES_A, &x);
    for (int round = 0; round < 3; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        thread_task tasks[THREADS];
        import_as(&p, GPUSOLVE_DOUBLE); /* a factor without lists */
        REQUIRE(pthread_barrier_init(&start, NULL, THREADS) == 0);
        for (int t = 0; t < THREADS; t++) {
            tasks[t] = (thread_task){p.factor, &start, x, expected, 0};
            REQUIRE(pthread_create(&threads[t], NULL, multiply_often, &tasks[t]) == 0);
        }
        for (int t = 0; t < THREADS; t++) {
            REQUIRE(pthread_join(threads[t], NULL) == 0);
            CHECK(tasks[t].failures == 0);
        }
        pthread_barrier_destroy(&start);
    }
    free(x.values);
    free(expected.values);
    close_problem(&p);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: wants a CUDA device\n");
        return TESTING_SKIPPED;
    }
    check_lists("grid2d:70");
    check_lists("grid3d:16"); /* a triangle of more than one stage */
    check_planned_again();
    check_threads();
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
