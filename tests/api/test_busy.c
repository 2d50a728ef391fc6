/*
 * A handle that another thread is using: every call with it returns GPUSOLVE_BUSY and changes nothing, and works again once
 * the other thread is through. Then threads that do share one handle, without a rule: each solve is refused or right.
 */
#include <pthread.h>

#include "folder.h"

#include "testing.h"

#include "gpusolve_batch.h"
#include "gpusolve_dense.h"
#include "gpusolve_inverse.h"
#include "gpusolve_product.h"
#include "gpusolve_sample.h"
#include "gpusolve_selection.h"
#include "gpusolve_store.h"
#include "handle.h"
#include "memory.h"

static const int32_t p[] = {0, 2, 3}, i[] = {0, 1, 1}, a_ptr[] = {0, 2, 4}, a_index[] = {0, 1, 0, 1};
static const double l[] = {2, 1, 3}, a[] = {4, 2, 2, 10};

typedef struct world {
    gpusolve_handle *handle;
    gpusolve_factor_data data;
    gpusolve_matrix_data matrix_data;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    gpusolve_selection *selection;
    gpusolve_status expected; /* of every call */
} world;

static world make_world(gpusolve_backend backend) {
    const gpusolve_factor_data init = GPUSOLVE_FACTOR_DATA_INIT;
    world w = {.handle = testing_handle(backend, 2),
               .data = init,
               .matrix_data = {.size = sizeof w.matrix_data,
                               .dtype = GPUSOLVE_DOUBLE,
                               .n = 2,
                               .ptr = a_ptr,
                               .index = a_index,
                               .x = a}};
    w.data.kind = GPUSOLVE_SIMPLICIAL_LL;
    w.data.n = w.data.minor = 2;
    w.data.xsize = 3;
    w.data.p = p;
    w.data.i = i;
    w.data.x = l;
    REQUIRE(gpusolve_factor_create(w.handle, &w.data, &w.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(w.handle, &w.matrix_data, &w.matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w.handle, w.factor, 1, &w.workspace) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(w.handle, w.factor, GPUSOLVE_A, 2, NULL, 2, NULL, 1, &w.selection) ==
            GPUSOLVE_OK);
    return w;
}

static void free_world(world *w) {
    gpusolve_selection_destroy(w->selection);
    gpusolve_workspace_destroy(w->workspace);
    gpusolve_matrix_destroy(w->matrix);
    gpusolve_factor_destroy(w->factor);
    gpusolve_destroy(w->handle);
}

#define GIVES(call) CHECK_STATUS(call, w->expected)

static void call_dense(world *w) {
    size_t bytes = 0;
    gpusolve_trsv *prepared = NULL;
    gpusolve_staging *staging = NULL;
    double full[] = {2, 1, 0, 3}, x[] = {8, 22};
    GIVES(gpusolve_trsm_workspace(w->handle, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, 2, 1, &bytes));
    GIVES(gpusolve_potri_workspace(w->handle, GPUSOLVE_DOUBLE, 2, &bytes));
    GIVES(gpusolve_trsv_query(w->handle, GPUSOLVE_DOUBLE, 2, &bytes));
    GIVES(gpusolve_staging_create(w->handle, NULL, &staging));
    gpusolve_staging_destroy(staging);
    if (gpusolve_get_backend(w->handle) == GPUSOLVE_BACKEND_CUDA) /* these want device memory */
        return;
    GIVES(gpusolve_dtrsv(w->handle, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, 2, full, 2, x, 1));
    GIVES(gpusolve_dtrsm(w->handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, 2, 1,
                         1, full, 2, x, 2, NULL, 0));
    GIVES(gpusolve_dtrmm(w->handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, 2, 1,
                         1, full, 2, x, 2, NULL, 0));
    GIVES(gpusolve_dpotrs(w->handle, GPUSOLVE_LOWER, 2, 1, full, 2, x, 2, NULL, 0));
    GIVES(gpusolve_trsv_prepare(w->handle, GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                GPUSOLVE_NON_UNIT, 2, full, 2, &prepared));
    gpusolve_trsv_destroy(prepared);
    GIVES(gpusolve_dpotri(w->handle, GPUSOLVE_LOWER, 2, full, 2, NULL, 0));
}

static void call_batch(world *w) {
    gpusolve_batch *batch = NULL;
    gpusolve_batch_workspace *workspace = NULL;
    gpusolve_batch_info info = {.size = sizeof info};
    int64_t offsets[2];
    double b_numbers[] = {8, 22}, x_numbers[] = {-1, -1};
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b_numbers},
                         x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, x_numbers};
    GIVES(gpusolve_batch_create(w->handle, 1, &w->data, NULL, &batch));
    GIVES(gpusolve_batch_refresh(w->handle, batch, 0, 1, &w->data, NULL));
    GIVES(gpusolve_batch_get_info(w->handle, batch, 1, &info));
    GIVES(gpusolve_batch_get_offsets(w->handle, batch, offsets));
    GIVES(gpusolve_batch_workspace_create(w->handle, batch, 1, &workspace));
    GIVES(gpusolve_batch_workspace_check(w->handle, workspace));
    GIVES(gpusolve_batch_solve(w->handle, batch, workspace, GPUSOLVE_A, &b, &x, NULL));
    GIVES(gpusolve_batch_solve_strided(w->handle, batch, workspace, GPUSOLVE_A, &b, 2, &x, 2, NULL));
    CHECK(w->expected ? !batch && !workspace && x_numbers[0] == -1
                      : batch && workspace && fabs(x_numbers[0] - 1) < 1e-14);
    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
}

/* Every public function with a handle and a status. */
static void *call_all(void *context) {
    world *w = context;
    gpusolve_info info = {.size = sizeof info};
    gpusolve_cost cost = {.size = sizeof cost};
    gpusolve_selection_info selected = {.size = sizeof selected};
    gpusolve_inverse_info inverse = {.size = sizeof inverse};
    const int64_t pair = 1;
    gpusolve_factor *factor = NULL, *loaded = NULL, *mapped = NULL;
    gpusolve_matrix *matrix = NULL;
    gpusolve_workspace *workspace = NULL;
    gpusolve_selection *selection = NULL;
    char saved[256];
    snprintf(saved, sizeof saved, "%s/gpusolve-busy-%ld", testing_folder(), (long)getpid());
    double b_numbers[] = {8, 22}, x_numbers[] = {-1, -1}, numbers[] = {-1, -1, -1, -1, -1};
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b_numbers},
                         x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, x_numbers};
    GIVES(gpusolve_factor_create(w->handle, &w->data, &factor));
    GIVES(gpusolve_factor_refresh(w->handle, w->factor, &w->data));
    GIVES(gpusolve_factor_data_save(w->handle, &w->data, saved));
    GIVES(gpusolve_factor_save(w->handle, w->factor, saved));
    GIVES(gpusolve_factor_load(w->handle, saved, &loaded));
    GIVES(gpusolve_factor_map(w->handle, saved, NULL, &mapped));
    CHECK(w->expected ? remove(saved) != 0 && !loaded && !mapped : remove(saved) == 0 && loaded && mapped);
    gpusolve_factor_destroy(loaded);
    gpusolve_factor_destroy(mapped);
    GIVES(gpusolve_query(w->handle, &w->data, 1, &info));
    GIVES(gpusolve_factor_info(w->handle, w->factor, 1, &info));
    GIVES(gpusolve_factor_summary(w->handle, w->factor, NULL, 0, NULL));
    GIVES(gpusolve_factor_cost(w->handle, w->factor, 1, 0, &cost));
    GIVES(gpusolve_factor_logdet(w->handle, w->factor, &numbers[0], &numbers[1]));
    GIVES(gpusolve_factor_diagonal(w->handle, w->factor, &numbers[2], &numbers[3]));
    GIVES(gpusolve_factor_rcond(w->handle, w->factor, NULL, w->matrix, 0, &numbers[4]));
    for (int k = 0; k < 5; k++)
        CHECK(w->expected ? numbers[k] == -1 : numbers[k] > 0);
    GIVES(gpusolve_workspace_create(w->handle, w->factor, 1, &workspace));
    GIVES(gpusolve_workspace_check(w->handle, NULL));
    GIVES(gpusolve_matrix_create(w->handle, &w->matrix_data, &matrix));
    GIVES(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 2, NULL, 2, NULL, 1, &selection));
    GIVES(gpusolve_selection_get_info(w->handle, w->selection, &selected));
    GIVES(gpusolve_set_stream(w->handle, NULL));
    GIVES(gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &b, &x));
    CHECK(w->expected ? x_numbers[0] == -1 : fabs(x_numbers[0] - 1) < 1e-14);
    GIVES(gpusolve_solve_selected(w->handle, w->factor, w->selection, &b, &x));
    GIVES(gpusolve_sample(w->handle, w->factor, NULL, NULL, &x));
    CHECK(w->expected ? x_numbers[0] == -1 : x_numbers[0] != 1);
    GIVES(gpusolve_multiply(w->handle, w->factor, GPUSOLVE_TIMES_A, &b, &x));
    GIVES(gpusolve_inverse_entries(w->handle, w->factor, 1, &pair, &pair, &numbers[0]));
    GIVES(gpusolve_inverse_diagonal(w->handle, w->factor, numbers));
    GIVES(gpusolve_inverse_cost(w->handle, w->factor, 1, &pair, &pair, &inverse));
    GIVES(gpusolve_refine_reserve(w->handle, w->factor, w->matrix, w->workspace, NULL));
    const int on_device =
        gpusolve_get_backend(w->handle) == GPUSOLVE_BACKEND_CUDA; /* it wants memory there */
    CHECK_STATUS(
        gpusolve_refine_async(w->handle, w->factor, w->matrix, w->workspace, &b, &x, NULL, NULL, NULL),
        w->expected ? w->expected
        : on_device ? GPUSOLVE_INVALID_ARGUMENT
                    : GPUSOLVE_OK);
    GIVES(gpusolve_refine(w->handle, w->factor, w->matrix, w->workspace, &b, &x, NULL, NULL, NULL));
    CHECK(w->expected ? x_numbers[0] == -1 : fabs(x_numbers[0] - 1) < 1e-14);
    CHECK(w->expected ? !factor && !matrix && !workspace && !selection
                      : factor && matrix && workspace && selection);
    gpusolve_selection_destroy(selection);
    gpusolve_workspace_destroy(workspace);
    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
    call_batch(w);
    call_dense(w);
    CHECK_STATUS(gpusolve_report(w->handle, GPUSOLVE_NOT_SUPPORTED, "reported"),
                 w->expected ? w->expected : GPUSOLVE_NOT_SUPPORTED);
    return NULL;
}

/* The thread counts checks, so this one counts none until it has ended. */
static void in_another_thread(void *(*function)(void *), void *context) {
    pthread_t thread;
    const int created = pthread_create(&thread, NULL, function, context) == 0;
    const int joined = created && pthread_join(thread, NULL) == 0;
    REQUIRE(joined);
}

static void test_one_inside(gpusolve_backend backend) {
    world w = make_world(backend);
    testing_in("%s: not busy", testing_backend_name(backend));
    call_all(&w);
    in_another_thread(call_all, &w);
    CHECK(!strcmp(gpusolve_last_error(w.handle), "reported"));
    CHECK_STATUS(gpusolve_report(w.handle, GPUSOLVE_NOT_SUPPORTED, "of this thread"), GPUSOLVE_NOT_SUPPORTED);

    testing_in("%s: busy", testing_backend_name(backend));
    gsv_turn turn = gsv_turn_take(w.handle);
    REQUIRE(turn.status == GPUSOLVE_OK);
    w.expected = GPUSOLVE_BUSY;
    in_another_thread(call_all, &w);
    CHECK(!strcmp(gpusolve_last_error(w.handle), "of this thread"));
    testing_in("%s: inside once more", testing_backend_name(backend));
    w.expected = GPUSOLVE_OK;
    call_all(&w);
    testing_in("%s: still busy", testing_backend_name(backend));
    w.expected = GPUSOLVE_BUSY;
    in_another_thread(call_all, &w);
    gsv_turn_end(&turn);
    testing_in("%s: not busy any more", testing_backend_name(backend));
    w.expected = GPUSOLVE_OK;
    in_another_thread(call_all, &w);
    free_world(&w);
}

/* ----------------------------------------------------------------------------------------- without a rule --- */

enum { THREADS = 4, SOLVES = 2000 };

typedef struct sharer {
    const world *w;
    int right, busy, wrong;
    unsigned char padding[64];
} sharer;

static void *share(void *context) {
    sharer *s = context;
    for (int k = 0; k < SOLVES; k++) {
        double b_numbers[] = {8, 22}, x_numbers[] = {0, 0};
        const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b_numbers},
                             x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, x_numbers};
        const gpusolve_status status = gpusolve_solve(s->w->handle, s->w->factor, NULL, GPUSOLVE_A, &b, &x);
        const int is_right = fabs(x_numbers[0] - 1) < 1e-14 && fabs(x_numbers[1] - 2) < 1e-14;
        s->right += status == GPUSOLVE_OK && is_right;
        s->busy += status == GPUSOLVE_BUSY && x_numbers[0] == 0 && x_numbers[1] == 0;
    }
    return NULL;
}

static void test_sharing(gpusolve_backend backend) {
    testing_in("%s: threads that share a handle", testing_backend_name(backend));
    world w = make_world(backend);
    sharer sharers[THREADS] = {{0}};
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++) {
        sharers[k].w = &w;
        REQUIRE(pthread_create(&threads[k], NULL, share, &sharers[k]) == 0);
    }
    for (int k = 0; k < THREADS; k++) {
        REQUIRE(pthread_join(threads[k], NULL) == 0);
        CHECK(sharers[k].right + sharers[k].busy == SOLVES);
    }
    w.expected = GPUSOLVE_OK;
    call_all(&w);
    free_world(&w);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        test_one_inside(backends[k]);
        test_sharing(backends[k]);
    }
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
