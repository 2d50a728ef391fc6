/*
 * A real factor with complex blocks: each part of x is what a real solve of that part of b gives, bit for bit on the host,
 * to rounding on a device, where the parts may be solved in another company. All systems, orders, paddings and widths, in
 * place and not, selections and refinement; a real x with a complex b, and the other way round, are refused.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "memory.h"

typedef struct world {
    gpusolve_backend backend;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_dtype real, pair;
    int32_t n;
    int on_device;
} world;

/* Part p of a complex block, 0 real and 1 imaginary, as a real one of the same order. */
static gpusolve_dense part_of(const gpusolve_dense *block, gpusolve_dtype real, int p) {
    gpusolve_dense part = testing_block(real, block->order, block->rows, block->cols, 0);
    for (int64_t j = 0; j < block->cols; j++)
        for (int64_t i = 0; i < block->rows; i++) {
            const double complex value = testing_get(block, i, j);
            testing_set(&part, i, j, p ? cimag(value) : creal(value));
        }
    return part;
}

/* Part p of x against a real block. */
static void compare(const world *w, const gpusolve_dense *x, const gpusolve_dense *expected, int p) {
    double most = 0, largest = 1e-30;
    int same = 1;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < x->rows; i++) {
            const double complex z = testing_get(x, i, j);
            const double got = p ? cimag(z) : creal(z), wanted = creal(testing_get(expected, i, j));
            same &= got == wanted;
            most = testing_worse(most, fabs(got - wanted));
            largest = testing_worse(largest, fabs(wanted));
        }
    CHECK_BELOW(most / largest, 1e4 * testing_epsilon(w->real));
    CHECK(same || w->backend == GPUSOLVE_BACKEND_CUDA);
}

static void check_solve(const world *w, gpusolve_workspace *workspace, gpusolve_system system, int orders,
                        int64_t cols, int64_t padding, int in_place) {
    testing_in(
        "dtype %d, on device %d, workspace %d, system %d, orders %d, %d columns, padding %d, in place %d",
        (int)w->real, w->on_device, workspace != NULL, (int)system, orders, (int)cols, (int)padding,
        in_place);
    gpusolve_dense b = testing_block(w->pair, (gpusolve_order)(orders / 2), w->n, cols, padding);
    gpusolve_dense own = testing_block(w->pair, (gpusolve_order)(orders % 2), w->n, cols, 2 * padding);
    testing_fill(&b, 5);
    gpusolve_dense part[2] = {part_of(&b, w->real, 0), part_of(&b, w->real, 1)};
    const gpusolve_dense *x = in_place ? &b : &own;
    CHECK_STATUS(testing_solve(w->handle, w->factor, workspace, system, &b, x, w->on_device), GPUSOLVE_OK);
    for (int p = 0; p < 2; p++) {
        CHECK_STATUS(testing_solve(w->handle, w->factor, workspace, system, &part[p], &part[p], w->on_device),
                     GPUSOLVE_OK);
        compare(w, x, &part[p], p);
        free(part[p].values);
    }
    CHECK(testing_padding_untouched(x));
    free(b.values);
    free(own.values);
}

static void check_solves(const world *w) {
    static const int64_t widths[] = {0, 1, 2, 3, 8, 17, 33, 70};
    const int few = testing_few(); /* one of the paddings, three of the systems, others for each width */
    gpusolve_workspace *one, *many;
    REQUIRE(gpusolve_workspace_create(w->handle, w->factor, 1, &one) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w->handle, w->factor, 100, &many) == GPUSOLVE_OK);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (int orders = 0; orders < 4; orders++)
            for (int64_t padding = 0; padding <= 3; padding += 3) {
                if (few && (k + (size_t)orders) % 2 != (size_t)padding % 2)
                    continue;
                for (int system = few ? (int)k % 3 : 0; system < 9; system += few ? 3 : 1)
                    check_solve(w, NULL, (gpusolve_system)system, orders, widths[k], padding, 0);
                check_solve(w, many, GPUSOLVE_A, orders, widths[k], padding, 0);
                check_solve(w, one, GPUSOLVE_A, orders, widths[k], padding, 0);
                if (orders == 0 || orders == 3)
                    check_solve(w, NULL, GPUSOLVE_A, orders, widths[k], padding, 1);
            }
    gpusolve_workspace_destroy(one);
    gpusolve_workspace_destroy(many);
}

/* ------------------------------------------------------------------------------------------ selections --- */

static gpusolve_status solve_selected(const world *w, gpusolve_selection *selection, const gpusolve_dense *b,
                                      const gpusolve_dense *x) {
    if (!w->on_device)
        return gpusolve_solve_selected(w->handle, w->factor, selection, b, x);
    gpusolve_dense from = *b, to = *x;
    from.values = device_new(b->values, testing_block_bytes(b));
    to.values = device_new(x->values, testing_block_bytes(x));
    const gpusolve_status status = gpusolve_solve_selected(w->handle, w->factor, selection, &from, &to);
    CHECK(device_read(x->values, to.values, testing_block_bytes(x)) == 0);
    device_delete(from.values);
    device_delete(to.values);
    return status;
}

static void check_selections(const world *w) {
    const int64_t b_rows[] = {3, 40, 7}, x_rows[] = {11, 3, 11, 60, 0};
    gpusolve_selection *selection;
    REQUIRE(gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 3, b_rows, 5, x_rows, 8,
                                      &selection) == GPUSOLVE_OK);
    for (int64_t cols = 1; cols <= 21; cols += testing_few() ? 8 : 4)
        for (int orders = 0; orders < 4; orders++) {
            testing_in("selection, dtype %d, on device %d, %d columns, orders %d", (int)w->real, w->on_device,
                       (int)cols, orders);
            gpusolve_dense b = testing_block(w->pair, (gpusolve_order)(orders / 2), 3, cols, 1);
            gpusolve_dense x = testing_block(w->pair, (gpusolve_order)(orders % 2), 5, cols, 2);
            testing_fill(&b, 9);
            CHECK_STATUS(solve_selected(w, selection, &b, &x), GPUSOLVE_OK);
            CHECK(testing_padding_untouched(&x));
            for (int p = 0; p < 2; p++) {
                gpusolve_dense part = part_of(&b, w->real, p);
                gpusolve_dense expected = testing_block(w->real, GPUSOLVE_COL_MAJOR, 5, cols, 0);
                CHECK_STATUS(solve_selected(w, selection, &part, &expected), GPUSOLVE_OK);
                compare(w, &x, &expected, p);
                free(part.values);
                free(expected.values);
            }
            free(b.values);
            free(x.values);
        }
    gpusolve_selection_destroy(selection);
}

/* ------------------------------------------------------------------------------------------ refinement --- */

static void check_refine(const world *w) {
    for (int64_t cols = 1; cols <= 35; cols += 17)
        for (int orders = 0; orders < 4; orders += testing_few() ? 3 : 1) {
            testing_in("refine, dtype %d, %d columns, orders %d", (int)w->real, (int)cols, orders);
            gpusolve_dense b = testing_block(w->pair, (gpusolve_order)(orders / 2), w->n, cols, 1);
            gpusolve_dense x = testing_block(w->pair, (gpusolve_order)(orders % 2), w->n, cols, 2);
            double errors[35], real_errors[35], worst[35] = {0};
            int steps[35], real_steps[35], most[35] = {0};
            testing_fill(&b, 11);
            for (int64_t i = 0; i < w->n; i++) /* a column without an imaginary part */
                testing_set(&b, i, 0, creal(testing_get(&b, i, 0)));
            CHECK_STATUS(gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &b, &x, NULL, errors, steps),
                         GPUSOLVE_OK);
            CHECK(testing_padding_untouched(&x));
            for (int p = 0; p < 2; p++) {
                gpusolve_dense part = part_of(&b, w->real, p);
                gpusolve_dense expected = testing_block(w->real, GPUSOLVE_COL_MAJOR, w->n, cols, 0);
                CHECK_STATUS(gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &part, &expected, NULL,
                                             real_errors, real_steps),
                             GPUSOLVE_OK);
                compare(w, &x, &expected, p);
                for (int64_t j = 0; j < cols; j++) {
                    worst[j] = testing_worse(worst[j], real_errors[j]);
                    most[j] = real_steps[j] > most[j] ? real_steps[j] : most[j];
                }
                free(part.values);
                free(expected.values);
            }
            for (int64_t j = 0; j < cols; j++) {
                CHECK_BELOW(errors[j], 4 * testing_epsilon(w->real));
                CHECK((errors[j] == worst[j] && steps[j] == most[j]) || w->backend == GPUSOLVE_BACKEND_CUDA);
            }
            free(b.values);
            free(x.values);
        }
    /* a NaN in one part of one column is that column's error */
    gpusolve_dense b = testing_block(w->pair, GPUSOLVE_COL_MAJOR, w->n, 3, 0);
    gpusolve_dense x = testing_block(w->pair, GPUSOLVE_COL_MAJOR, w->n, 3, 0);
    double errors[3];
    for (int p = 0; p < 2; p++) {
        testing_in("refine, dtype %d, NaN in part %d", (int)w->real, p);
        testing_fill(&b, 3);
        testing_set(&b, 2, 1, p ? CMPLX(1, NAN) : CMPLX(NAN, 1));
        CHECK_STATUS(gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &b, &x, NULL, errors, NULL),
                     GPUSOLVE_OK);
        CHECK(isnan(errors[1]) && !isnan(errors[0]) && !isnan(errors[2]));
    }
    free(b.values);
    free(x.values);
}

static void check_refusals(const world *w) {
    testing_in("refusals, dtype %d", (int)w->real);
    gpusolve_dense b = testing_block(w->pair, GPUSOLVE_COL_MAJOR, w->n, 1, 0);
    gpusolve_dense x = testing_block(w->real, GPUSOLVE_COL_MAJOR, w->n, 1, 0);
    gpusolve_dense other = testing_block(w->pair, GPUSOLVE_COL_MAJOR, w->n, 1, 0);
    const gpusolve_status wrong = GPUSOLVE_TYPE_MISMATCH;
    CHECK_REFUSED(w->handle, gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &b, &x), wrong,
                  "x->dtype");
    CHECK_REFUSED(w->handle, gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &x, &b), wrong,
                  "x->dtype");
    other.dtype = w->real == GPUSOLVE_FLOAT ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_COMPLEX_FLOAT;
    CHECK_REFUSED(w->handle, gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, &other, &other), wrong,
                  "b->dtype");
    free(b.values);
    free(x.values);
    free(other.values);
}

/* ---------------------------------------------------------------------------------------------- factors --- */

/* The numbers of an array as floats, if they are to be. */
static void *as_floats(const double *numbers, size_t count) {
    float *floats = malloc(count * sizeof *floats);
    REQUIRE(floats != NULL);
    for (size_t k = 0; k < count; k++)
        floats[k] = (float)numbers[k];
    return floats;
}

static void check_world(gpusolve_backend backend, gpusolve_dtype real, int simplicial,
                        cholmod_common *common) {
    cholmod_sparse *a = testing_load("grid2d:14", common);
    REQUIRE(a != NULL);
    cholmod_factor *l =
        testing_factorize(a, simplicial ? GPUSOLVE_SIMPLICIAL_LDL : GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    world w = {.backend = backend,
               .handle = testing_handle(backend, 2),
               .real = real,
               .pair = real == GPUSOLVE_FLOAT ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE,
               .n = (int32_t)l->n};
    gpusolve_factor_data data;
    const char *text;
    REQUIRE(gpusolve_cholmod_describe_(l, &data, &text) == GPUSOLVE_OK);
    gpusolve_matrix_data matrix = {
        .size = sizeof matrix, .dtype = real, .n = w.n, .ptr = a->p, .index = a->i, .x = a->x};
    matrix.triangle = a->stype < 0 ? GPUSOLVE_LOWER : GPUSOLVE_UPPER;
    void *floats[2] = {as_floats(data.x, (size_t)data.xsize), as_floats(a->x, a->nzmax)};
    data.dtype = real;
    if (real == GPUSOLVE_FLOAT) {
        data.x = floats[0];
        matrix.x = floats[1];
    }
    REQUIRE(gpusolve_factor_create(w.handle, &data, &w.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(w.handle, &matrix, &w.matrix) == GPUSOLVE_OK);
    for (w.on_device = 0; w.on_device <= (backend == GPUSOLVE_BACKEND_CUDA); w.on_device++) {
        check_solves(&w);
        check_selections(&w);
    }
    check_refine(&w);
    check_refusals(&w);
    gpusolve_matrix_destroy(w.matrix);
    gpusolve_factor_destroy(w.factor);
    gpusolve_destroy(w.handle);
    free(floats[0]);
    free(floats[1]);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++)
        for (int simplicial = 0; simplicial <= 1; simplicial++) {
            check_world(backends[k], GPUSOLVE_DOUBLE, simplicial, &common);
            check_world(backends[k], GPUSOLVE_FLOAT, simplicial, &common);
        }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
