/*
 * What the soak's threads share: factors behind locks, in two sets of numbers, and the right answers for each.
 *
 *      lock, for reading     solves, selections, refinement, queries: any number of threads at once
 *      lock, for writing     refresh, destroy, create
 */
#ifndef SOAK_WORLD_H
#define SOAK_WORLD_H

#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"

enum { SLOTS = 5, SYSTEMS = 9, VARIANTS = 2, WIDTH = 40 };
enum { WORKSPACES = 4, SELECTIONS = 3, MOST_ROWS = 12, MOST_OPERATIONS = 16, SHOWN = 20 };

/* One factor. Variant 0 has the numbers of A, variant 1 those of 4 A, or of 2 A for L D L'. */
typedef struct slot {
    const char *spec;
    gpusolve_factor_kind kind;
    int is_single;
    cholmod_sparse *a;
    cholmod_factor *l;
    void *numbers[VARIANTS], *values[VARIANTS]; /* of L and of A, where they are not CHOLMOD's own */
    gpusolve_factor_data data[VARIANTS];
    gpusolve_matrix *matrix[VARIANTS];
    gpusolve_dense b, expected[VARIANTS][SYSTEMS]; /* WIDTH columns, column-major */

    pthread_rwlock_t lock;
    gpusolve_factor *factor;
    int variant;
    long generation; /* counts the factors that were here */
} slot;

static const struct {
    const char *spec;
    gpusolve_factor_kind kind;
    int is_single;
} slot_specs[SLOTS] = {{"elasticity3d:5", GPUSOLVE_SUPERNODAL_LL, 0},
                       {"grid2d:12@c", GPUSOLVE_SIMPLICIAL_LL, 0},
                       {"grid2d:15", GPUSOLVE_SIMPLICIAL_LDL, 0},
                       {"grid3d:6", GPUSOLVE_SUPERNODAL_LL, 1},
                       {"elasticity3d:9", GPUSOLVE_SUPERNODAL_LL, 0}};

/* count numbers of double precision, twice or four times as large, in double or in single precision. */
static void *scaled(const double *from, int64_t count, double by, int is_single) {
    void *to = malloc((size_t)count * (is_single ? sizeof(float) : sizeof(double)) + 1);
    REQUIRE(to != NULL);
    for (int64_t k = 0; k < count; k++)
        if (is_single)
            ((float *)to)[k] = (float)(by * from[k]);
        else
            ((double *)to)[k] = by * from[k];
    return to;
}

static void make_variant(slot *s, int variant, gpusolve_handle *handle) {
    const int is_ldl = s->kind == GPUSOLVE_SIMPLICIAL_LDL;
    const int parts = s->a->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    const double by = variant ? 2 : 1;
    gpusolve_factor_data *data = &s->data[variant];
    *data = testing_factor_data(s->l);
    double *numbers = scaled(data->x, parts * data->xsize, is_ldl ? 1 : by, 0);
    for (int64_t j = 0; is_ldl && j < data->n; j++) /* D alone, which stands on the diagonal */
        numbers[((const int32_t *)data->p)[j]] *= by;
    s->numbers[variant] = s->is_single ? scaled(numbers, parts * data->xsize, 1, 1) : numbers;
    if (s->is_single)
        free(numbers);
    data->x = s->numbers[variant];
    data->dtype = s->is_single ? GPUSOLVE_FLOAT : data->dtype;

    gpusolve_matrix_data matrix = testing_matrix_data(s->a);
    const int64_t entries = ((const int32_t *)s->a->p)[s->a->ncol];
    s->values[variant] = scaled(s->a->x, parts * entries, variant ? (is_ldl ? 2 : 4) : 1, s->is_single);
    matrix.x = s->values[variant];
    matrix.dtype = data->dtype;
    REQUIRE(gpusolve_matrix_create(handle, &matrix, &s->matrix[variant]) == GPUSOLVE_OK);
}

/* The handle solves with the same bits whatever the width. */
static void open_slot(slot *s, int k, gpusolve_handle *handle, cholmod_common *common) {
    *s = (slot){.spec = slot_specs[k].spec, .kind = slot_specs[k].kind, .is_single = slot_specs[k].is_single};
    s->a = testing_load(s->spec, common);
    REQUIRE(s->a != NULL);
    s->l = testing_factorize(s->a, s->kind, common);
    REQUIRE(s->l != NULL && s->l->minor == s->l->n);
    REQUIRE(pthread_rwlock_init(&s->lock, NULL) == 0);
    for (int variant = VARIANTS - 1; variant >= 0; variant--) {
        make_variant(s, variant, handle);
        if (!s->b.values) {
            s->b = testing_block(s->data[variant].dtype, GPUSOLVE_COL_MAJOR, s->data[variant].n, WIDTH, 0);
            testing_fill(&s->b, 17 + (uint64_t)k);
        }
        gpusolve_factor_destroy(s->factor);
        REQUIRE(gpusolve_factor_create(handle, &s->data[variant], &s->factor) == GPUSOLVE_OK);
        for (int system = 0; system < SYSTEMS; system++) {
            gpusolve_dense *x = &s->expected[variant][system];
            *x = testing_block(s->b.dtype, GPUSOLVE_COL_MAJOR, s->b.rows, WIDTH, 0);
            REQUIRE(gpusolve_solve(handle, s->factor, NULL, (gpusolve_system)system, &s->b, x) ==
                    GPUSOLVE_OK);
        }
    }
}

static void close_slot(slot *s, cholmod_common *common) {
    gpusolve_factor_destroy(s->factor);
    for (int variant = 0; variant < VARIANTS; variant++) {
        gpusolve_matrix_destroy(s->matrix[variant]);
        free(s->numbers[variant]);
        free(s->values[variant]);
        for (int system = 0; system < SYSTEMS; system++)
            free(s->expected[variant][system].values);
    }
    free(s->b.values);
    pthread_rwlock_destroy(&s->lock);
    cholmod_free_factor(&s->l, common);
    cholmod_free_sparse(&s->a, common);
}

/* Columns first .. first + x->cols - 1 of the right answer: the same bits, or, on a device whose sums depend on the
 * width, nearly the same numbers. A NaN is neither. */
static int is_answer(const gpusolve_dense *x, const gpusolve_dense *expected, int64_t first, int bits) {
    if (bits)
        return testing_same_bits(x, 0, expected, first, x->cols);
    for (int64_t j = 0; j < x->cols; j++) {
        double largest = 0, difference = 0;
        for (int64_t i = 0; i < x->rows; i++) {
            const double complex e = testing_get(expected, i, first + j);
            largest = testing_worse(largest, cabs(e));
            difference = testing_worse(difference, cabs(testing_get(x, i, j) - e));
        }
        if (!(difference <= 1e5 * testing_epsilon(x->dtype) * largest))
            return 0;
    }
    return 1;
}

/* A block in memory of its own with b's columns first .. first + cols - 1, of either order, with a gap between runs. */
static gpusolve_dense copy_columns(const gpusolve_dense *b, int64_t first, int64_t cols, gpusolve_order order,
                                   int64_t padding) {
    const int64_t run = order == GPUSOLVE_COL_MAJOR ? b->rows : cols;
    const int64_t runs = order == GPUSOLVE_COL_MAJOR ? cols : b->rows;
    gpusolve_dense copy = {b->dtype, order, b->rows, cols, run + padding, NULL};
    const size_t bytes = (size_t)(copy.ld * runs) * testing_bytes(b->dtype);
    copy.values = malloc(bytes);
    if (!copy.values)
        return copy;
    memset(copy.values, 0xff, bytes);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < b->rows; i++)
            testing_set(&copy, i, j, testing_get(b, i, first + j));
    return copy;
}

/* ------------------------------------------------------------------------------------------- a thread --- */

typedef struct owned_workspace {
    gpusolve_workspace *workspace;
    int slot, same_bits;
    long generation; /* of the factor that it was made for */
} owned_workspace;

typedef struct owned_selection {
    gpusolve_selection *selection;
    int slot;
    long generation;
    gpusolve_system system;
    int64_t b_count, x_count, b_rows[MOST_ROWS], x_rows[MOST_ROWS];
} owned_selection;

typedef struct thread {
    pthread_t thread;
    int id;
    uint64_t state;
    gpusolve_backend backend;
    void *stream; /* on a device */
    gpusolve_handle *handle;
    int same_bits; /* of the handle */
    owned_workspace workspace[WORKSPACES];
    owned_selection selection[SELECTIONS];
    long done[MOST_OPERATIONS];
    const char *doing; /* and how many operations it has begun */
    long begun;
} thread;

static slot slots[SLOTS];
static _Atomic long failures;

/* Counts; the first are printed. */
static int right(thread *t, int passed, const char *what) {
    if (!passed && atomic_fetch_add(&failures, 1) < SHOWN)
        printf("FAILED thread %d, %s, operation %ld: %s; last error: %s\n", t->id, t->doing, t->begun, what,
               gpusolve_last_error(t->handle));
    return passed;
}

#define RIGHT(t, condition) right(t, !!(condition), #condition)

static int64_t below(thread *t, int64_t n) {
    return testing_random_below(&t->state, n);
}

static slot *some_slot(thread *t, int *index) {
    *index = (int)below(t, SLOTS);
    return &slots[*index];
}

/* Do answers have the bits of those from the start, in a workspace with or without same_bits? */
static int has_bits(const thread *t, int same_bits) {
    return t->backend == GPUSOLVE_BACKEND_HOST || same_bits;
}

static void new_handle(thread *t) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = t->backend;
    options.threads = 1 + (int)below(t, 4);
    options.stream = t->stream;
    options.same_bits = t->same_bits = (int)below(t, 2);
    RIGHT(t, gpusolve_create(&t->handle, &options) == GPUSOLVE_OK);
}

/* gpusolve_solve with operands on the device, where b is overwritten or x is. The stream has ended with it. */
static gpusolve_status solve_on_device(thread *t, gpusolve_handle *handle, const gpusolve_factor *factor,
                                       gpusolve_workspace *workspace, gpusolve_system system,
                                       const gpusolve_dense *b, const gpusolve_dense *x) {
    const int in_place = b->values == x->values;
    gpusolve_dense device_b = *b, device_x = *x;
    device_b.values = device_new(b->values, testing_block_bytes(b));
    device_x.values = in_place ? device_b.values : device_new(x->values, testing_block_bytes(x));
    RIGHT(t, device_b.values && device_x.values);
    gpusolve_status status = gpusolve_solve(handle, factor, workspace, system, &device_b, &device_x);
    RIGHT(t, device_wait(t->stream) == 0);
    if (status == GPUSOLVE_OK) /* of a wait that was given up, known now */
        status = gpusolve_workspace_check(handle, workspace);
    RIGHT(t, device_read(x->values, device_x.values, testing_block_bytes(x)) == 0);
    device_delete(device_b.values);
    if (!in_place)
        device_delete(device_x.values);
    return status;
}

/* A solve of some columns, in blocks of some layout, and whether its answer is right. */
static void solve_some(thread *t, gpusolve_handle *handle, const slot *s, const gpusolve_factor *factor,
                       int variant, gpusolve_workspace *workspace, int bits) {
    static const int64_t widths[] = {1, 1, 1, 2, 3, 5, 8, 9, 16, 17, 32, 33, WIDTH};
    const int64_t cols = widths[below(t, sizeof widths / sizeof *widths)], first = below(t, WIDTH - cols + 1);
    const gpusolve_system system = (gpusolve_system)below(t, SYSTEMS);
    const gpusolve_order order = (gpusolve_order)below(t, 2);
    const gpusolve_dense b = copy_columns(&s->b, first, cols, order, below(t, 3));
    const int in_place = below(t, 4) == 0;
    const gpusolve_dense x =
        in_place ? b : copy_columns(&s->b, first, cols, (gpusolve_order)below(t, 2), below(t, 3));
    if (RIGHT(t, b.values && x.values)) {
        const int on_device = t->backend == GPUSOLVE_BACKEND_CUDA && below(t, 2);
        const gpusolve_status status = on_device
                                           ? solve_on_device(t, handle, factor, workspace, system, &b, &x)
                                           : gpusolve_solve(handle, factor, workspace, system, &b, &x);
        if (RIGHT(t, status == GPUSOLVE_OK))
            RIGHT(t, is_answer(&x, &s->expected[variant][system], first, bits));
    }
    free(b.values);
    if (!in_place)
        free(x.values);
}

#endif
