/*
 * Where b, x and what refinement writes may lie: every pair of blocks of a small arena, in both orders and with padding,
 * is refused if a byte belongs to both, and otherwise solved right, however their runs interleave. Numbers and indices
 * that are not aligned are refused.
 */
#include "testing.h"

#include "gpusolve_selection.h"
#include "memory.h"

enum { N = 2, ARENA = 48 };

typedef struct world {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    gpusolve_workspace *workspace; /* of one column: blocks are solved one after the other */
    gpusolve_selection *selection;
    int on_device;
    long accepted, refused, in_place; /* pairs */
} world;

/* L = [2 .; 1 3], A = [4 2; 2 10]. */
static const int32_t p[] = {0, 2, 3}, i[] = {0, 1, 1}, a_ptr[] = {0, 2, 4}, a_index[] = {0, 1, 0, 1};
static const double l[] = {2, 1, 3}, a[] = {4, 2, 2, 10};

static gpusolve_factor_data factor_data(void) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = N;
    data.p = p;
    data.i = i;
    data.x = l;
    data.xsize = 3;
    return data;
}

static gpusolve_matrix_data matrix_data(void) {
    return (gpusolve_matrix_data){.size = sizeof(gpusolve_matrix_data),
                                  .dtype = GPUSOLVE_DOUBLE,
                                  .n = N,
                                  .ptr = a_ptr,
                                  .index = a_index,
                                  .x = a};
}

static world make_world(gpusolve_backend backend) {
    world w = {.handle = testing_handle(backend, 2)};
    const gpusolve_factor_data data = factor_data();
    const gpusolve_matrix_data matrix = matrix_data();
    REQUIRE(gpusolve_factor_create(w.handle, &data, &w.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(w.handle, &matrix, &w.matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(w.handle, w.factor, 1, &w.workspace) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(w.handle, w.factor, GPUSOLVE_A, N, NULL, N, NULL, 1, &w.selection) ==
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

/* ------------------------------------------------------------------------------------------- overlap --- */

enum { SOLVE, SOLVE_WIDE, SELECTED, REFINE, CALLS };

static gpusolve_status run(const world *w, int call, const gpusolve_dense *b, const gpusolve_dense *x) {
    switch (call) {
    case SOLVE:
        return gpusolve_solve(w->handle, w->factor, w->workspace, GPUSOLVE_A, b, x);
    case SOLVE_WIDE:
        return gpusolve_solve(w->handle, w->factor, NULL, GPUSOLVE_A, b, x);
    case SELECTED:
        return gpusolve_solve_selected(w->handle, w->factor, w->selection, b, x);
    default:
        return gpusolve_refine(w->handle, w->factor, w->matrix, w->workspace, b, x, NULL, NULL, NULL);
    }
}

/* Places of the arena that belong to a block. */
static void mark(const gpusolve_dense *block, int64_t start, unsigned char places[ARENA]) {
    memset(places, 0, ARENA);
    for (int64_t j = 0; j < block->cols; j++)
        for (int64_t k = 0; k < block->rows; k++)
            places[start + testing_place(block, k, j)] = 1;
}

static int64_t end_of(const gpusolve_dense *block) {
    return block->rows > 0 && block->cols > 0 ? testing_place(block, block->rows - 1, block->cols - 1) + 1
                                              : 0;
}

/* b and x at these places of one arena. */
static void check_pair(world *w, int call, gpusolve_dense b, int64_t b_start, gpusolve_dense x,
                       int64_t x_start) {
    unsigned char in_b[ARENA], in_x[ARENA];
    double arena[ARENA], before[ARENA];
    mark(&b, b_start, in_b);
    mark(&x, x_start, in_x);
    int shared = 0;
    for (int k = 0; k < ARENA; k++) {
        shared |= in_b[k] && in_x[k];
        before[k] = arena[k] = 36 * (k + 1);
    }
    const int same = b_start == x_start && b.order == x.order && b.ld == x.ld;
    const int fine = same ? call != REFINE : !shared;
    double *memory = w->on_device ? device_new(arena, sizeof arena) : arena;
    REQUIRE(memory != NULL);
    b.values = memory + b_start;
    x.values = memory + x_start;
    const gpusolve_status status = run(w, call, &b, &x);
    if (w->on_device) {
        CHECK(device_read(arena, memory, sizeof arena) == 0);
        device_delete(memory);
    }
    testing_in("call %d, on device %d: b at %d, order %d, ld %d; x at %d, order %d, ld %d; %d columns", call,
               w->on_device, (int)b_start, (int)b.order, (int)b.ld, (int)x_start, (int)x.order, (int)x.ld,
               (int)b.cols);
    w->accepted += fine;
    w->refused += !fine;
    w->in_place += fine && same;
    if (!fine) {
        CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
        CHECK(memcmp(arena, before, sizeof arena) == 0);
        CHECK(strstr(gpusolve_last_error(w->handle), "x->values") != NULL);
        return;
    }
    if (!CHECK_STATUS(status, GPUSOLVE_OK))
        return;
    for (int64_t j = 0; j < b.cols; j++) {
        const double b0 = before[b_start + testing_place(&b, 0, j)],
                     b1 = before[b_start + testing_place(&b, 1, j)];
        CHECK_BELOW(fabs(arena[x_start + testing_place(&x, 0, j)] - (10 * b0 - 2 * b1) / 36), 1e-11);
        CHECK_BELOW(fabs(arena[x_start + testing_place(&x, 1, j)] - (4 * b1 - 2 * b0) / 36), 1e-11);
    }
    for (int k = 0; k < ARENA; k++)
        CHECK(in_x[k] || arena[k] == before[k]);
}

static gpusolve_dense block_of(int order, int64_t cols, int64_t padding) {
    gpusolve_dense block = {GPUSOLVE_DOUBLE, (gpusolve_order)order, N, cols, 0, NULL};
    block.ld = (order == GPUSOLVE_COL_MAJOR ? N : cols) + padding;
    return block;
}

/* x from 16 numbers before b to 16 behind, at every step-th place, b's own among them. A quick run leaves out two of three
 * pairs of paddings. */
static void check_all_pairs(world *w, int call, int64_t step) {
    for (int orders = 0; orders < 4; orders++)
        for (int64_t cols = 1; cols <= 3; cols += 2)
            for (int64_t padding = 0; padding < 16; padding += testing_few() ? 3 : 1) {
                const gpusolve_dense b = block_of(orders / 2, cols, padding / 4),
                                     x = block_of(orders % 2, cols, padding % 4);
                for (int64_t at = 16 % step; at + end_of(&x) <= ARENA; at += step)
                    if (16 + end_of(&b) <= ARENA)
                        check_pair(w, call, b, 16, x, at);
            }
}

/* ------------------------------------------------------------------------------------ what refine writes --- */

static void check_results(world *w) {
    testing_in("results of refine");
    double b_numbers[8] = {8, 22}, x_numbers[8], errors[4];
    int steps[4];
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, 2, 3, b_numbers},
                         x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, 2, 3, x_numbers};
#define REFINE_INTO(errors, steps) \
    gpusolve_refine(w->handle, w->factor, w->matrix, NULL, &b, &x, NULL, errors, steps)
    CHECK_STATUS(REFINE_INTO(errors, steps), GPUSOLVE_OK);
    const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;
    CHECK_REFUSED(w->handle, REFINE_INTO(b_numbers, NULL), wrong, "backward_error: overlaps b");
    CHECK_REFUSED(w->handle, REFINE_INTO(b_numbers + 4, NULL), wrong, "backward_error: overlaps b");
    CHECK_REFUSED(w->handle, REFINE_INTO(x_numbers + 1, NULL), wrong, "backward_error: overlaps x");
    CHECK_REFUSED(w->handle, REFINE_INTO(NULL, (int *)x_numbers), wrong, "steps: overlaps x");
    CHECK_REFUSED(w->handle, REFINE_INTO(NULL, (int *)b_numbers + 1), wrong, "steps: overlaps b");
    CHECK_REFUSED(w->handle, REFINE_INTO(errors, (int *)errors + 3), wrong, "steps: overlaps backward_error");
    CHECK_REFUSED(w->handle, REFINE_INTO((double *)((char *)errors + 4), NULL), wrong, "aligned to 8 bytes");
    CHECK_REFUSED(w->handle, REFINE_INTO(NULL, (int *)((char *)steps + 2)), wrong, "aligned to 4 bytes");
    CHECK_STATUS(REFINE_INTO(x_numbers + 5, (int *)(x_numbers + 2)),
                 GPUSOLVE_OK); /* behind x, in its padding */
    CHECK_STATUS(REFINE_INTO(errors, (int *)(errors + 2)), GPUSOLVE_OK);
#undef REFINE_INTO
}

/* ------------------------------------------------------------------------------------------- alignment --- */

static void *off(const void *array, size_t bytes) {
    return (char *)(uintptr_t)array + bytes;
}

static void check_factor_alignment(world *w) {
    testing_in("alignment of a factor's arrays");
    static const int32_t super[] = {0, 2, 0}, pi[] = {0, 2, 0}, px[] = {0, 4, 0}, s[] = {0, 1, 0},
                         perm[] = {0, 1, 0}, nz[] = {2, 1, 0};
    static const double panel[] = {2, 1, 0, 3, 0, 0, 0, 0}, zeros[8];
    const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_factor *factor;
    gpusolve_info info = {.size = sizeof info};
    gpusolve_factor_data good = factor_data(), bad;
#define MISALIGNED(field, bytes, word)                                                                   \
    bad = good;                                                                                          \
    bad.field = off(good.field, bytes);                                                                  \
    CHECK_REFUSED(w->handle, gpusolve_factor_create(w->handle, &bad, &factor), wrong, "data->" word);    \
    CHECK_REFUSED(w->handle, gpusolve_query(w->handle, &bad, 1, &info), wrong, "data->" word);           \
    CHECK_REFUSED(w->handle, gpusolve_factor_refresh(w->handle, w->factor, &bad), wrong, "data->" word); \
    CHECK(strstr(gpusolve_last_error(w->handle), "aligned") != NULL)
    good.nz = nz;
    good.perm = perm;
    MISALIGNED(p, 2, "p: ");
    MISALIGNED(i, 1, "i: ");
    MISALIGNED(nz, 3, "nz: ");
    MISALIGNED(perm, 2, "perm: ");
    MISALIGNED(x, 4, "x: ");
    good = factor_data();
    good.kind = GPUSOLVE_SUPERNODAL_LL;
    good.nsuper = 1;
    good.ssize = 2;
    good.xsize = 4;
    good.super = super;
    good.pi = pi;
    good.px = px;
    good.s = s;
    good.x = panel;
    MISALIGNED(super, 2, "super: ");
    MISALIGNED(pi, 1, "pi: ");
    MISALIGNED(px, 2, "px: ");
    MISALIGNED(s, 3, "s: ");
    MISALIGNED(x, 1, "x: ");
    good.in_place = 1;
    MISALIGNED(x, 4, "x: ");
    good.in_place = 0;
    good.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    good.z = zeros;
    MISALIGNED(z, 4, "z: ");
    good.dtype = GPUSOLVE_COMPLEX_FLOAT;
    MISALIGNED(z, 2, "z: ");
    good.dtype = GPUSOLVE_DOUBLE;
    good.z = NULL;
    good.itype = GPUSOLVE_INT64;
    MISALIGNED(super, 4, "super: ");
#undef MISALIGNED
    CHECK_STATUS(gpusolve_factor_refresh(w->handle, w->factor, &(gpusolve_factor_data){0}), wrong);
}

static void check_other_alignment(world *w) {
    testing_in("alignment of matrices, rows, b and x");
    static const int32_t nz[] = {2, 2, 0};
    static const int64_t rows[] = {0, 1, 0};
    static const double zeros[8];
    const gpusolve_status wrong = GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_matrix *matrix;
    gpusolve_matrix_data good = matrix_data(), bad;
#define MISALIGNED(field, bytes, word)                                                \
    bad = good;                                                                       \
    bad.field = off(good.field, bytes);                                               \
    CHECK_REFUSED(w->handle, gpusolve_matrix_create(w->handle, &bad, &matrix), wrong, \
                  "data->" word ": is not aligned")
    good.nz = nz;
    MISALIGNED(ptr, 2, "ptr");
    MISALIGNED(nz, 1, "nz");
    MISALIGNED(index, 2, "index");
    MISALIGNED(x, 4, "x");
    good.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    good.z = zeros;
    MISALIGNED(z, 4, "z");
#undef MISALIGNED

    gpusolve_selection *selection;
    CHECK_REFUSED(
        w->handle,
        gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, off(rows, 4), 1, rows, 1, &selection),
        wrong, "b_rows: is not aligned");
    CHECK_REFUSED(
        w->handle,
        gpusolve_selection_create(w->handle, w->factor, GPUSOLVE_A, 1, rows, 1, off(rows, 1), 1, &selection),
        wrong, "x_rows: is not aligned");

    double numbers[16] = {0};
    for (int call = 0; call < CALLS; call++)
        for (size_t bytes = 1; bytes < 8; bytes++) {
            gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, 1, N, off(numbers, bytes)};
            gpusolve_dense x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, 1, N, numbers + 8};
            CHECK_REFUSED(w->handle, run(w, call, &b, &x), wrong, "b->values: is not aligned to 8 bytes");
            CHECK_REFUSED(w->handle, run(w, call, &x, &b), wrong, "x->values: is not aligned to 8 bytes");
            b.dtype = x.dtype = GPUSOLVE_COMPLEX_DOUBLE; /* real and imaginary parts are aligned alike */
            CHECK_REFUSED(w->handle, run(w, call, &b, &x), wrong, "b->values: is not aligned to 8 bytes");
            b.cols = x.cols = 0; /* no numbers, no place */
            CHECK_STATUS(run(w, call, &b, &x), GPUSOLVE_OK);
        }
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        world w = make_world(backends[k]);
        const int cuda = backends[k] == GPUSOLVE_BACKEND_CUDA;
        for (w.on_device = 0; w.on_device <= cuda; w.on_device++) {
            for (int call = 0; call < CALLS; call++)
                check_all_pairs(&w, call, !cuda ? 1 : testing_few() ? 7 : 3);
            const long least = testing_few() ? 100 : 1000;
            CHECK(w.accepted > least && w.refused > least && w.in_place > 10);
        }
        check_results(&w);
        check_factor_alignment(&w);
        check_other_alignment(&w);
        free_world(&w);
    }
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
