/*
 * Sparse right-hand sides and selected entries of x: the numbers of the whole solve, for every system with a
 * triangle, every kind of factor, few rows and all of them, in any order. The numbers are the same but for a zero's
 * sign. On a device that holds for up to four columns, as these factors are small. Thirteen columns agree to rounding there,
 * and all columns if the handle has same_bits: the order of tasks' sums depends on the tree.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "memory.h"

/* SIDE_BY_SIDE: so many columns of every factor here have the bits of one, for each is smaller than the limits in
 * cuda/workspace.c. */
enum { MAX_NRHS = 5, SIDE_BY_SIDE = 4 };

typedef struct selection_world {
    gpusolve_backend backend;
    int same_bits;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_dtype dtype;
    int64_t n;
} selection_world;

/* Some rows, in any order; each at most once if `once`. */
static int64_t *choose(int64_t n, int64_t count, int once, uint64_t *state) {
    int64_t *rows = malloc(((size_t)count + 1) * sizeof *rows);
    uint8_t *taken = calloc((size_t)n + 1, 1);
    REQUIRE(rows != NULL && taken != NULL);
    for (int64_t k = 0; k < count; k++) {
        int64_t row = (int64_t)((testing_random(state) + 1) / 2 * (double)n);
        while (once && taken[row])
            row = (row + 1) % n;
        taken[row] = 1;
        rows[k] = row;
    }
    free(taken);
    return rows;
}

static int64_t row_at(const int64_t *rows, int64_t k) {
    return rows ? rows[k] : k;
}

/* The whole solve, of b with zeros in the other rows. */
static gpusolve_dense solve_whole(selection_world *w, gpusolve_system system, const gpusolve_dense *b,
                                  const int64_t *b_rows) {
    gpusolve_dense whole = testing_block(w->dtype, GPUSOLVE_COL_MAJOR, w->n, b->cols, 0);
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < w->n; i++)
            testing_set(&whole, i, j, 0);
        for (int64_t k = 0; k < b->rows; k++)
            testing_set(&whole, row_at(b_rows, k), j, testing_get(b, k, j));
    }
    CHECK_STATUS(gpusolve_solve(w->handle, w->factor, NULL, system, &whole, &whole), GPUSOLVE_OK);
    return whole;
}

static int same_numbers(const selection_world *w, const gpusolve_dense *x, const gpusolve_dense *whole,
                        const int64_t *x_rows) {
    const int exact = w->backend == GPUSOLVE_BACKEND_HOST || (!w->same_bits && x->cols <= SIDE_BY_SIDE);
    const double tolerance = testing_epsilon(w->dtype) > 1e-10 ? 1e-3 : 1e-11;
    for (int64_t j = 0; j < x->cols; j++) {
        double largest = 0; /* number of the column */
        for (int64_t i = 0; i < whole->rows; i++)
            largest = testing_worse(largest, cabs(testing_get(whole, i, j)));
        for (int64_t k = 0; k < x->rows; k++)
            if (!(cabs(testing_get(x, k, j) - testing_get(whole, row_at(x_rows, k), j)) <=
                  (exact ? 0 : tolerance * largest)))
                return 0;
    }
    return 1;
}

/* The operands as they are, or copies of them in device memory. */
static gpusolve_status solve_selected(selection_world *w, gpusolve_selection *selection,
                                      const gpusolve_dense *b, const gpusolve_dense *x, int b_on_device,
                                      int x_on_device) {
    gpusolve_dense device_b = *b, device_x = *x;
    if (b_on_device)
        device_b.values = device_new(b->values, testing_block_bytes(b));
    if (x_on_device)
        device_x.values = device_new(x->values, testing_block_bytes(x));
    REQUIRE(device_b.values != NULL && device_x.values != NULL);
    const gpusolve_status status =
        gpusolve_solve_selected(w->handle, w->factor, selection, &device_b, &device_x);
    if (x_on_device) {
        CHECK(device_read(x->values, device_x.values, testing_block_bytes(x)) == 0);
        device_delete(device_x.values);
    }
    if (b_on_device)
        device_delete(device_b.values);
    return status;
}

static void check_solve(selection_world *w, gpusolve_selection *selection, gpusolve_system system,
                        int64_t b_count, const int64_t *b_rows, int64_t x_count, const int64_t *x_rows,
                        int64_t nrhs, gpusolve_order order) {
    const int64_t padding = nrhs % 3;
    gpusolve_dense b = testing_block(w->dtype, order, b_count, nrhs, padding);
    gpusolve_dense x = testing_block(w->dtype, order, x_count, nrhs, padding);
    testing_fill(&b, 3);
    gpusolve_dense whole = solve_whole(w, system, &b, b_rows);
    /* b and x in host or device memory: two of the four ways in a quick run, others for one column than for four */
    const int cuda = w->backend == GPUSOLVE_BACKEND_CUDA, few = cuda && testing_few();
    for (int where = few ? (int)(nrhs % 2) : 0; where < (cuda ? 4 : 1); where += few ? 2 : 1) {
        CHECK_STATUS(solve_selected(w, selection, &b, &x, where & 1, where & 2), GPUSOLVE_OK);
        CHECK(same_numbers(w, &x, &whole, x_rows));
        CHECK(testing_padding_untouched(&x));
        memset(x.values, 0xff, testing_block_bytes(&x));
    }
    if (b_count == x_count) { /* in place */
        CHECK_STATUS(gpusolve_solve_selected(w->handle, w->factor, selection, &b, &b), GPUSOLVE_OK);
        CHECK(same_numbers(w, &b, &whole, x_rows));
    }
    free(b.values);
    free(x.values);
    free(whole.values);
}

/* What the selection says of itself: no more than the factor, all of it for all rows, less for one row. */
static void check_info(selection_world *w, const gpusolve_selection *selection, gpusolve_system system,
                       int64_t b_count, int64_t x_count) {
    gpusolve_selection_info part = {.size = sizeof part};
    gpusolve_info whole = {.size = sizeof whole};
    REQUIRE(gpusolve_factor_info(w->handle, w->factor, 1, &whole) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_get_info(w->handle, selection, &part) == GPUSOLVE_OK);
    const int forward = system != GPUSOLVE_Lt && system != GPUSOLVE_DLt;
    const int backward = system != GPUSOLVE_L && system != GPUSOLVE_LD;
    CHECK(part.memory_bytes > 0);
    CHECK(part.forward_bytes <= whole.stored_bytes && part.backward_bytes <= whole.stored_bytes);
    if (b_count == w->n && forward)
        CHECK(part.forward_bytes == whole.stored_bytes && part.forward_supernodes == whole.supernodes);
    if (x_count == w->n && backward)
        CHECK(part.backward_bytes == whole.stored_bytes && part.backward_supernodes == whole.supernodes);
    if (b_count <= 1 || !forward)
        CHECK(part.forward_supernodes <= whole.levels * b_count * forward);
    if (x_count <= 1 || !backward)
        CHECK(part.backward_supernodes <= whole.levels * x_count * backward);
}

static void check_rows(selection_world *w, gpusolve_system system, int64_t b_count, const int64_t *b_rows,
                       int64_t x_count, const int64_t *x_rows) {
    static const int64_t nrhs[] = {1, 4, 13, 0};
    gpusolve_selection *selection;
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, system, b_count, b_rows, x_count, x_rows,
                                      MAX_NRHS, &selection) == GPUSOLVE_OK);
    const int few = testing_few(); /* 1 and 13 for some rows, 4 and 0 for others */
    for (size_t k = few ? (size_t)b_count % 2 : 0; k < sizeof nrhs / sizeof nrhs[0]; k += few ? 2 : 1)
        check_solve(w, selection, system, b_count, b_rows, x_count, x_rows, nrhs[k],
                    k % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR);
    check_info(w, selection, system, b_count, x_count);
    gpusolve_selection_destroy(selection);
}

static void check_system(selection_world *w, gpusolve_system system, uint64_t *state) {
    static const int64_t counts[][2] = {{1, 1}, {2, 7}, {9, 1}, {0, 3}, {3, 0}, {20, 20}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t b_count = counts[i][0] < w->n ? counts[i][0] : w->n, x_count = counts[i][1];
        int64_t *b_rows = choose(w->n, b_count, 1, state), *x_rows = choose(w->n, x_count, 0, state);
        check_rows(w, system, b_count, b_rows, x_count, x_rows);
        check_rows(w, system, b_count, b_rows, b_count, b_rows); /* one reach for both sweeps */
        check_rows(w, system, w->n, NULL, x_count, x_rows);
        check_rows(w, system, b_count, b_rows, w->n, NULL);
        free(b_rows);
        free(x_rows);
    }
    check_rows(w, system, w->n, NULL, w->n, NULL);
}

static const gpusolve_system systems[] = {GPUSOLVE_A,   GPUSOLVE_LDLt, GPUSOLVE_LD,
                                          GPUSOLVE_DLt, GPUSOLVE_L,    GPUSOLVE_Lt};

static void check_refresh(selection_world *w, cholmod_factor *l) {
    const int64_t rows[2] = {w->n - 1, 0}, some = w->n > 1 ? 2 : 1;
    gpusolve_selection *selection;
    double *x = l->x;
    const size_t count = (l->is_super ? l->xsize : l->nzmax) * (l->xtype == CHOLMOD_REAL ? 1 : 2);
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, some, rows, some, rows, 2,
                                      &selection) == GPUSOLVE_OK);
    check_solve(w, selection, GPUSOLVE_A, some, rows, some, rows, 2, GPUSOLVE_COL_MAJOR);
    for (size_t k = 0; k < count; k++)
        x[k] *= 0.75;
    REQUIRE(gpusolve_cholmod_refresh(w->handle, w->factor, l) == GPUSOLVE_OK);
    check_solve(w, selection, GPUSOLVE_A, some, rows, some, rows, 2, GPUSOLVE_COL_MAJOR);
    gpusolve_selection_destroy(selection);
}

/* The same L rounded to single precision. */
static void check_single(const selection_world *whole, const char *spec, cholmod_factor *l, uint64_t *state) {
    selection_world world = *whole;
    gpusolve_factor_data data = testing_factor_data(l);
    float *rounded = testing_round(l, &data);
    REQUIRE(rounded != NULL);
    world.dtype = data.dtype;
    REQUIRE(gpusolve_factor_create(world.handle, &data, &world.factor) == GPUSOLVE_OK);
    testing_in("%s, same bits %d, %s, single", testing_backend_name(world.backend), world.same_bits, spec);
    check_system(&world, GPUSOLVE_A, state);
    gpusolve_factor_destroy(world.factor);
    free(rounded);
}

static void check_matrix(gpusolve_backend backend, int threads, int same_bits, const char *spec,
                         gpusolve_factor_kind kind, cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL);
    selection_world world = {.backend = backend,
                             .same_bits = same_bits,
                             .handle = testing_handle_bits(backend, threads, same_bits),
                             .dtype = a->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE,
                             .n = (int64_t)a->nrow};
    uint64_t state = 11;
    REQUIRE(gpusolve_cholmod_import(world.handle, l, &world.factor) == GPUSOLVE_OK);
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i += testing_few() ? 3 : 1) {
        testing_in("%s, %d threads, same bits %d, %s, kind %d, system %d", testing_backend_name(backend),
                   threads, same_bits, spec, (int)kind, (int)systems[i]);
        check_system(&world, systems[i], &state);
    }
    check_refresh(&world, l);
    gpusolve_factor_destroy(world.factor);
    if (kind == GPUSOLVE_SUPERNODAL_LL)
        check_single(&world, spec, l, &state);
    if (backend == GPUSOLVE_BACKEND_HOST && kind == GPUSOLVE_SUPERNODAL_LL) { /* L stays with the caller */
        gpusolve_factor_data data = testing_factor_data(l);
        data.in_place = 1;
        REQUIRE(gpusolve_factor_create(world.handle, &data, &world.factor) == GPUSOLVE_OK);
        testing_in("%s, %d threads, %s, in place", testing_backend_name(backend), threads, spec);
        check_system(&world, GPUSOLVE_A, &state);
        gpusolve_factor_destroy(world.factor);
    }
    gpusolve_destroy(world.handle);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends), few = testing_few();
    for (int k = 0; k < count + (count > 1); k++) {
        const int i = k < count ? k : 1, same_bits = k == count;
        for (int kind = 0; kind < (few ? 1 : 3); kind++) {
            check_matrix(backends[i], 1, same_bits, "grid2d:30", (gpusolve_factor_kind)kind, &common);
            check_matrix(backends[i], 2, same_bits, "grid3d:7@c", (gpusolve_factor_kind)kind, &common);
        }
        if (!few)
            check_matrix(backends[i], 2, same_bits, "grid2d:90", GPUSOLVE_SUPERNODAL_LL, &common);
        check_matrix(backends[i], 2, same_bits, "grid2d:1", GPUSOLVE_SUPERNODAL_LL, &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
