/*
 * Batches: every member's solution is the one that it has alone. On the host, and on CUDA with one column, to the last bit. Blocks in every
 * layout, in host and in device memory, in place, with members left out; one pattern and several; orders 0 and 1; none, one and a thousand members;
 * every type and kind; and refreshes of some members.
 */
#include "batch_members.h"

#include "gpusolve_determinant.h"
#include "gpusolve_selection.h"
#include "memory.h"

typedef struct batch_world {
    gpusolve_backend backend;
    gpusolve_handle *handle;
    batch_members members;
    gpusolve_batch *batch;
    gpusolve_batch_workspace *workspace;
    int64_t max_nrhs;
} batch_world;

/* One way to call. */
typedef struct batch_case {
    gpusolve_system system;
    gpusolve_dtype dtype;
    batch_layout b, x;
    int64_t cols;
    int in_place, on_device, active; /* active: 1 in host memory, 2 in device memory */
} batch_case;

static int is_active(const batch_case *c, int64_t m) {
    return !c->active || m % 3 != 1;
}

/* What x should hold, each member solved alone. */
static void solve_alone(const batch_world *w, const batch_case *c, const batch_blocks *b,
                        const batch_blocks *expected) {
    for (int64_t m = 0; m < w->members.count; m++) {
        if (!is_active(c, m) || b->block[m].cols == 0)
            continue;
        gpusolve_workspace *workspace;
        REQUIRE(gpusolve_workspace_create(w->handle, w->members.alone[m], w->max_nrhs, &workspace) ==
                GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_solve(w->handle, w->members.alone[m], workspace, c->system, &b->block[m],
                                    &expected->block[m]),
                     GPUSOLVE_OK);
        gpusolve_workspace_destroy(workspace);
    }
}

static gpusolve_status call_batch(const batch_world *w, const batch_case *c, const gpusolve_dense *b,
                                  int64_t b_stride, const gpusolve_dense *x, int64_t x_stride,
                                  const uint8_t *active) {
    return layout_is_strided(c->b)
               ? gpusolve_batch_solve_strided(w->handle, w->batch, w->workspace, c->system, b, b_stride, x,
                                              x_stride, active)
               : gpusolve_batch_solve(w->handle, w->batch, w->workspace, c->system, b, x, active);
}

/* The call, on copies in device memory if that is wanted. */
static void solve_batch(const batch_world *w, const batch_case *c, const batch_blocks *b,
                        const batch_blocks *x) {
    uint8_t *bytes = malloc((size_t)w->members.count + 1);
    REQUIRE(bytes != NULL);
    for (int64_t m = 0; m < w->members.count; m++)
        bytes[m] = (uint8_t)(is_active(c, m) ? 1 + m % 5 : 0);
    uint8_t *active = !c->active       ? NULL
                      : c->active == 1 ? bytes
                                       : device_new(bytes, (size_t)w->members.count + 1);
    void *of_b = b->memory, *of_x = x->memory;
    if (c->on_device) {
        of_b = device_new(b->memory, b->bytes + 1);
        of_x = c->in_place ? of_b : device_new(x->memory, x->bytes + 1);
    }
    gpusolve_dense *b_blocks = blocks_moved(&w->members, b, of_b),
                   *x_blocks = blocks_moved(&w->members, x, of_x);
    CHECK_STATUS(call_batch(w, c, b_blocks, b->stride, x_blocks, x->stride, active), GPUSOLVE_OK);
    if (c->on_device) {
        CHECK(device_read(x->memory, of_x, x->bytes) == 0);
        CHECK_STATUS(gpusolve_batch_workspace_check(w->handle, w->workspace), GPUSOLVE_OK);
        device_delete(of_b);
        if (!c->in_place)
            device_delete(of_x);
    }
    if (c->active == 2)
        device_delete(active);
    free(bytes);
    free(b_blocks);
    free(x_blocks);
}

static void check_case(const batch_world *w, const batch_case *c) {
    const batch_members *members = &w->members;
    batch_blocks b = blocks_new(members, c->b, c->dtype, c->cols),
                 x = blocks_new(members, c->x, c->dtype, c->cols),
                 expected = blocks_new(members, c->x, c->dtype, c->cols);
    for (int64_t m = 0; m < members->count; m++)
        testing_fill(&b.block[m], (uint64_t)m + 17);
    if (c->in_place)
        memcpy(expected.memory, b.memory, b.bytes);
    solve_alone(w, c, &b, &expected);
    const int exact = w->backend == GPUSOLVE_BACKEND_HOST || (c->cols == 1 && c->dtype == members->vectors);
    solve_batch(w, c, &b, c->in_place ? &b : &x);
    testing_check(blocks_agree(c->in_place ? &b : &x, &expected, c->dtype, members_epsilon(members), exact),
                  __FILE__, __LINE__,
                  "system %d, layouts %d and %d, %d columns, dtype %d, in place %d, on device %d, active %d",
                  (int)c->system, (int)c->b, (int)c->x, (int)c->cols, (int)c->dtype, c->in_place,
                  c->on_device, c->active);
    blocks_free(&b);
    blocks_free(&x);
    blocks_free(&expected);
}

/* Layouts with each other; strided ones where all members have one order. */
static void check_layouts(const batch_world *w, gpusolve_system system, gpusolve_dtype dtype, int64_t cols,
                          int one_order) {
    static const batch_layout pairs[][2] = {
        {APART, APART},      {APART_ROWS, APART_ROWS}, {BOTH, APART},          {RAGGED, RAGGED},
        {WHOLE, WHOLE},      {WHOLE_ROWS, WHOLE_ROWS}, {WHOLE, BOTH},          {APART_ROWS, WHOLE},
        {WHOLE_ROWS, APART}, {PACKED, PACKED},         {PACKED, STRIDED_ROWS}, {STRIDED_ROWS, STRIDED_ROWS}};
    const int cuda = w->backend == GPUSOLVE_BACKEND_CUDA;
    int turn = (int)cols + (int)system;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        for (int in_place = 0; in_place < 1 + (pairs[k][0] == pairs[k][1]); in_place++, turn++) {
            if (layout_is_strided(pairs[k][0]) && !one_order)
                continue;
            batch_case c = {
                system, dtype,    pairs[k][0],           pairs[k][1],
                cols,   in_place, cuda && turn % 3 != 0, turn % 2 ? 0 : 1 + (cuda && turn % 4 == 2)};
            check_case(w, &c);
            c.active = c.active ? 0 : 1;
            if (!testing_few())
                check_case(w, &c);
        }
}

static void open_batch(batch_world *w, int64_t max_nrhs) {
    const int64_t count = w->members.count;
    gpusolve_status *statuses = malloc(((size_t)count + 1) * sizeof *statuses);
    REQUIRE(statuses != NULL);
    memset(statuses, 0xff, ((size_t)count + 1) * sizeof *statuses);
    REQUIRE(gpusolve_batch_create(w->handle, count, w->members.data, statuses, &w->batch) == GPUSOLVE_OK);
    for (int64_t m = 0; m < count; m++)
        CHECK_STATUS(statuses[m], GPUSOLVE_OK);
    free(statuses);
    w->max_nrhs = max_nrhs;
    REQUIRE(gpusolve_batch_workspace_create(w->handle, w->batch, max_nrhs, &w->workspace) == GPUSOLVE_OK);
}

static void close_batch(batch_world *w) {
    gpusolve_batch_workspace_destroy(w->workspace);
    gpusolve_batch_destroy(w->batch);
}

static void check_info(const batch_world *w, int64_t patterns) {
    gpusolve_batch_info info = {.size = sizeof info};
    int64_t *offsets = malloc(((size_t)w->members.count + 1) * sizeof *offsets);
    REQUIRE(offsets != NULL);
    REQUIRE(gpusolve_batch_get_info(w->handle, w->batch, 3, &info) == GPUSOLVE_OK);
    CHECK(info.count == w->members.count && info.n == w->members.n && info.patterns == patterns);
    CHECK(info.factor_bytes > 0 && info.workspace_bytes > 0 && info.host_bytes > 0);
    REQUIRE(gpusolve_batch_get_offsets(w->handle, w->batch, offsets) == GPUSOLVE_OK);
    CHECK(memcmp(offsets, w->members.row, ((size_t)w->members.count + 1) * sizeof *offsets) == 0);
    CHECK(gpusolve_batch_get_factor(w->batch) != NULL);
    CHECK(gpusolve_batch_get_count(w->batch) == w->members.count);
    CHECK(gpusolve_batch_get_dtype(w->batch) == w->members.vectors);
    free(offsets);
}

/*
 * Sparse right-hand sides of some members, and parts of their solutions: a selection of the batch's factor. Rows of member m are counted from
 * its first row. It is made before the refreshes, and follows them.
 */
typedef struct batch_selection {
    gpusolve_selection *selection;
    int64_t count, *b_rows,
        *x_rows; /* of every second member: three rows of b, and of x these and the last one */
} batch_selection;

static batch_selection open_selection(const batch_world *w) {
    const batch_members *members = &w->members;
    batch_selection s = {.b_rows = malloc(((size_t)members->count + 1) * 4 * sizeof(int64_t)),
                         .x_rows = malloc(((size_t)members->count + 1) * 4 * sizeof(int64_t))};
    REQUIRE(s.b_rows && s.x_rows);
    for (int64_t m = 0; m < members->count; m += 2)
        if (members->data[m].n > 3) {
            const int64_t n = members->data[m].n, rows[] = {0, n / 3, n / 2, n - 1};
            for (int k = 0; k < 4; k++, s.count++) {
                s.b_rows[s.count] = members->row[m] + rows[(k + m) % 4];
                s.x_rows[s.count] = members->row[m] + rows[k];
            }
        }
    REQUIRE(gpusolve_selection_create(w->handle, gpusolve_batch_get_factor(w->batch), GPUSOLVE_A, s.count,
                                      s.b_rows, s.count, s.x_rows, 3, &s.selection) == GPUSOLVE_OK);
    return s;
}

static void check_selection(const batch_world *w, const batch_selection *s) {
    enum { COLUMNS = 2 };
    const batch_members *members = &w->members;
    const gpusolve_dtype dtype = members->vectors;
    const gpusolve_factor *factor = gpusolve_batch_get_factor(w->batch);
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, s->count, COLUMNS, 0),
                   x = testing_block(dtype, GPUSOLVE_COL_MAJOR, s->count, COLUMNS, 0);
    batch_blocks whole = blocks_new(members, WHOLE, dtype, COLUMNS);
    testing_fill(&b, 3);
    memset(whole.memory, 0, whole.bytes);
    gpusolve_dense all = {dtype, GPUSOLVE_COL_MAJOR, members->n, COLUMNS, members->n + 3, whole.memory};
    double largest = 0, apart = 0;
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t k = 0; k < s->count; k++)
            testing_set(&all, s->b_rows[k], c, testing_get(&b, k, c));
    CHECK_STATUS(
        gpusolve_batch_solve(w->handle, w->batch, w->workspace, GPUSOLVE_A, whole.block, whole.block, NULL),
        GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(w->handle, factor, s->selection, &b, &x), GPUSOLVE_OK);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t k = 0; k < s->count; k++) {
            const double complex expected = testing_get(&all, s->x_rows[k], c);
            largest = testing_worse(largest, cabs(expected));
            apart = testing_worse(apart, cabs(testing_get(&x, k, c) - expected));
        }
    CHECK(largest > 0);
    CHECK(apart <= 1e4 * members_epsilon(members) * largest);
    blocks_free(&whole);
    free(b.values);
    free(x.values);
}

/* That of the batch is the product of its members', which have new numbers or old ones. */
static void check_determinant(const batch_world *w) {
    double sum = 0, size = 0, sign = 1, of_batch = NAN, sign_of_batch = NAN;
    for (int64_t m = 0; m < w->members.count; m++) {
        double own, own_sign;
        CHECK_STATUS(gpusolve_factor_logdet(w->handle, w->members.alone[m], &own, &own_sign), GPUSOLVE_OK);
        sum += own;
        size += fabs(own);
        sign *= own_sign;
    }
    CHECK_STATUS(
        gpusolve_factor_logdet(w->handle, gpusolve_batch_get_factor(w->batch), &of_batch, &sign_of_batch),
        GPUSOLVE_OK);
    CHECK_BELOW(fabs(of_batch - sum), (double)(w->members.count + 1) * DBL_EPSILON * (size + 1));
    CHECK(sign_of_batch == sign);
}

/* New numbers for members first .. first + count - 1, in the batch and alone. */
static void refresh_some(batch_world *w, int64_t first, int64_t count, double scale) {
    for (int64_t m = first; m < first + count; m++) {
        members_scale(&w->members, m, scale * members_first_scale(m));
        REQUIRE(gpusolve_factor_refresh(w->handle, w->members.alone[m], &w->members.data[m]) == GPUSOLVE_OK);
    }
    CHECK_STATUS(gpusolve_batch_refresh(w->handle, w->batch, first, count, w->members.data + first, NULL),
                 GPUSOLVE_OK);
    const batch_case c = {GPUSOLVE_A, w->members.vectors, APART, APART, 2, 0, 0, 0};
    check_case(w, &c);
    check_determinant(w);
}

static void check_refresh(batch_world *w) {
    const int64_t count = w->members.count;
    batch_selection selection = open_selection(w);
    check_selection(w, &selection);
    refresh_some(w, count / 2, 1, 0.75);
    check_selection(w, &selection);
    refresh_some(w, 0, count, 1.5);
    refresh_some(w, count - 1, 1, 2);
    refresh_some(w, 1, 0, 1);
    check_selection(w, &selection);
    gpusolve_selection_destroy(selection.selection);
    free(selection.b_rows);
    free(selection.x_rows);

    /* one with a number that is none: nothing changes */
    gpusolve_factor_data *bad = malloc(3 * sizeof *bad);
    gpusolve_status statuses[3];
    REQUIRE(bad != NULL && count >= 3);
    for (int m = 0; m < 3; m++)
        bad[m] = w->members.data[m];
    void *numbers = calloc((size_t)bad[1].xsize, testing_bytes(w->members.dtype)); /* zeros on the diagonal */
    REQUIRE(numbers != NULL);
    bad[1].x = numbers;
    CHECK_STATUS(gpusolve_batch_refresh(w->handle, w->batch, 0, 3, bad, statuses), GPUSOLVE_SINGULAR);
    CHECK(statuses[0] == GPUSOLVE_OK && statuses[1] == GPUSOLVE_SINGULAR && statuses[2] == GPUSOLVE_OK);
    CHECK(strstr(gpusolve_last_error(w->handle), "members[1]") != NULL);
    refresh_some(w, 0, 1, 1);
    free(numbers);
    free(bad);
}

static void check_batch(gpusolve_backend backend, int threads, const char *const *specs, int64_t count,
                        gpusolve_factor_kind kind, batch_precision precision, int one_order,
                        cholmod_common *common) {
    static const int64_t columns[] = {1, 3, 8, 21};
    static const gpusolve_system systems[] = {GPUSOLVE_A,   GPUSOLVE_LDLt, GPUSOLVE_LD,
                                              GPUSOLVE_DLt, GPUSOLVE_L,    GPUSOLVE_Lt,
                                              GPUSOLVE_D,   GPUSOLVE_P,    GPUSOLVE_Pt};
    batch_world w = {.backend = backend, .handle = testing_handle(backend, threads)};
    w.members = members_new(w.handle, specs, count, kind, precision, common);
    testing_in("%s, %d threads, %lld members of %s, kind %d, precision %d", testing_backend_name(backend),
               threads, (long long)count, specs[0], (int)kind, (int)precision);
    open_batch(&w, 16);
    check_info(&w, w.members.sources == 1 ? 1 : count);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        check_layouts(&w, GPUSOLVE_A, w.members.vectors, columns[k], one_order);
        check_layouts(&w, systems[(1 + 2 * k + (size_t)kind) % 9], w.members.vectors, columns[k], one_order);
    }
    if (!testing_is_complex(w.members.dtype))
        check_layouts(&w, GPUSOLVE_A,
                      w.members.vectors == GPUSOLVE_FLOAT ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE,
                      3, one_order);
    check_refresh(&w);
    close_batch(&w);
    members_free(&w.members, common);
    gpusolve_destroy(w.handle);
}

/* Many members; a member of order 0 among others; a batch of one, and of none. */
static void check_counts(gpusolve_backend backend, cholmod_common *common) {
    static const char *const small[] = {"grid2d:4", "grid2d:1", "grid2d:3", NULL};
    static const int64_t counts[] = {1, 2, 1000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        batch_world w = {.backend = backend, .handle = testing_handle(backend, 2)};
        testing_in("%s, %lld members", testing_backend_name(backend), (long long)counts[k]);
        w.members = members_new(w.handle, small, counts[k], GPUSOLVE_SUPERNODAL_LL, IN_DOUBLE, common);
        open_batch(&w, 4);
        for (batch_layout layout = APART; layout <= WHOLE_ROWS; layout++) {
            const batch_case c = {GPUSOLVE_A,
                                  GPUSOLVE_DOUBLE,
                                  layout,
                                  layout,
                                  1 + (int64_t)layout % 3,
                                  0,
                                  backend == GPUSOLVE_BACKEND_CUDA,
                                  (int)layout % 2};
            check_case(&w, &c);
        }
        close_batch(&w);
        members_free(&w.members, common);
        gpusolve_destroy(w.handle);
    }
}

/* More members, of one pattern and of two in turn: on a device with streams, tasks, and columns side by side. */
static void check_more(gpusolve_backend backend, const char *spec, int64_t count, batch_precision precision,
                       cholmod_common *common) {
    static const int64_t columns[] = {1, 2, 8, 17, 40};
    const char *const specs[] = {spec, strchr(spec, (int)'@') ? "grid2d:7@c" : "grid2d:7", NULL};
    batch_world w = {.backend = backend, .handle = testing_handle(backend, 2)};
    testing_in("%s, %lld members of %s, precision %d", testing_backend_name(backend), (long long)count, spec,
               (int)precision);
    w.members = members_new(w.handle, specs, count, GPUSOLVE_SUPERNODAL_LL, precision, common);
    open_batch(&w, 64);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        const batch_layout layout = k % 2 ? APART : WHOLE;
        const batch_case c = {
            GPUSOLVE_A, w.members.vectors, layout, layout, columns[k], 0, backend == GPUSOLVE_BACKEND_CUDA,
            k == 1};
        check_case(&w, &c);
    }
    const batch_case in_place = {GPUSOLVE_A, w.members.vectors, WHOLE, WHOLE, 1, 1, 0, 0},
                     lower = {GPUSOLVE_L, w.members.vectors, WHOLE, WHOLE, 1, 0, 0, 0},
                     upper = {GPUSOLVE_Lt, w.members.vectors, WHOLE, WHOLE, 1, 0, 0, 0};
    check_case(&w, &in_place);
    check_case(&w, &lower);
    check_case(&w, &upper);
    close_batch(&w);
    members_free(&w.members, common);
    gpusolve_destroy(w.handle);
}

static void check_empty(gpusolve_backend backend) {
    testing_in("%s, empty batches", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor_data nothing = GPUSOLVE_FACTOR_DATA_INIT;
    const double one = 2, b = 8;
    double x = 0;
    const int32_t zero_one[] = {0, 1}, zero[] = {0};
    gpusolve_factor_data single = GPUSOLVE_FACTOR_DATA_INIT;
    single.kind = GPUSOLVE_SIMPLICIAL_LL;
    single.n = single.minor = single.xsize = 1;
    single.p = zero_one;
    single.i = zero;
    single.x = &one;
    const gpusolve_factor_data members[] = {nothing, single, nothing};
    const gpusolve_dense none = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 0, 1, 1, NULL};
    const gpusolve_dense of_b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 1, 1, 1, (void *)&b};
    const gpusolve_dense of_x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 1, 1, 1, &x};
    const gpusolve_dense all_b[] = {none, of_b, none}, all_x[] = {none, of_x, none};
    for (int count = 0; count <= 3; count++) {
        gpusolve_batch *batch;
        gpusolve_batch_workspace *workspace;
        int64_t offsets[4];
        x = 0;
        REQUIRE(gpusolve_batch_create(handle, count, members, NULL, &batch) == GPUSOLVE_OK);
        REQUIRE(gpusolve_batch_workspace_create(handle, batch, 2, &workspace) == GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_batch_solve(handle, batch, workspace, GPUSOLVE_A, all_b, all_x, NULL),
                     GPUSOLVE_OK);
        CHECK(x == (count > 1 ? 2 : 0));
        CHECK_STATUS(gpusolve_batch_get_offsets(handle, batch, offsets), GPUSOLVE_OK);
        CHECK(offsets[count] == (count > 1));
        CHECK_STATUS(gpusolve_batch_refresh(handle, batch, 0, count, members, NULL), GPUSOLVE_OK);
        gpusolve_batch_workspace_destroy(workspace);
        gpusolve_batch_destroy(batch);
    }
    gpusolve_destroy(handle);
}

/* Against CHOLMOD's own A: the backward error of each member's solution. */
static void check_against_cholmod(gpusolve_backend backend, cholmod_common *common) {
    static const char *const specs[] = {"grid2d:30", "grid3d:7", NULL};
    testing_in("%s, backward errors", testing_backend_name(backend));
    batch_world w = {.backend = backend, .handle = testing_handle(backend, 2)};
    w.members = members_new(w.handle, specs, 4, GPUSOLVE_SUPERNODAL_LL, IN_DOUBLE, common);
    for (int64_t m = 0; m < 4; m++)
        members_scale(&w.members, m, 1);
    open_batch(&w, 1);
    batch_blocks b = blocks_new(&w.members, APART, GPUSOLVE_DOUBLE, 1),
                 x = blocks_new(&w.members, APART, GPUSOLVE_DOUBLE, 1);
    for (int64_t m = 0; m < 4; m++)
        testing_fill(&b.block[m], (uint64_t)m);
    CHECK_STATUS(gpusolve_batch_solve(w.handle, w.batch, w.workspace, GPUSOLVE_A, b.block, x.block, NULL),
                 GPUSOLVE_OK);
    for (int64_t m = 0; m < 4; m++) {
        const int64_t n = w.members.data[m].n;
        double complex *of_b = calloc((size_t)n, sizeof *of_b), *of_x = calloc((size_t)n, sizeof *of_x);
        REQUIRE(of_b && of_x);
        for (int64_t i = 0; i < n; i++) {
            of_b[i] = testing_get(&b.block[m], i, 0);
            of_x[i] = testing_get(&x.block[m], i, 0);
        }
        const cholmod_sparse *a = w.members.a[m % 2];
        CHECK(testing_backward_error(a, testing_sparse_norm(a), of_x, of_b) <= 1e-15);
        free(of_b);
        free(of_x);
    }
    blocks_free(&b);
    blocks_free(&x);
    close_batch(&w);
    members_free(&w.members, common);
    gpusolve_destroy(w.handle);
}

int main(void) {
    static const char *const mixed[] = {"grid2d:9", "grid3d:4", "grid2d:1", "grid2d:21", NULL},
                             *const mixed_complex[] = {"grid2d:6@c", "grid3d:4@c", NULL},
                             *const one[] = {"grid2d:13", NULL}, *const one_complex[] = {"grid3d:5@c", NULL};
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends), few = testing_few();
    for (int i = 0; i < count; i++) {
        for (int kind = 0; kind < 3; kind++)
            for (batch_precision as = IN_DOUBLE; as <= SINGLE_STORED; as++) {
                if (few && (kind + (int)as) % 2)
                    continue;
                check_batch(backends[i], 1 + kind, mixed, 7, (gpusolve_factor_kind)kind, as, 0, &common);
                check_batch(backends[i], 3 - kind, one, 5, (gpusolve_factor_kind)kind, as, 1, &common);
                check_batch(backends[i], 2, kind % 2 ? one_complex : mixed_complex, 4,
                            (gpusolve_factor_kind)kind, as, kind % 2, &common);
            }
        check_counts(backends[i], &common);
        check_more(backends[i], "grid2d:20", 70, IN_DOUBLE, &common);
        check_more(backends[i], "grid2d:20", 65, IN_SINGLE, &common);
        check_more(backends[i], "grid2d:16@c", 66, IN_DOUBLE, &common);
        check_more(backends[i], "grid2d:20", 40, IN_DOUBLE, &common);
        check_more(backends[i], "grid2d:26", 66, IN_DOUBLE, &common);
        check_more(backends[i], "grid2d:20", 70, DOUBLE_STORED, &common);
        check_more(backends[i], "grid2d:16@c", 66, DOUBLE_STORED, &common);
        check_more(backends[i], "grid2d:26", 66, SINGLE_STORED, &common);
        check_empty(backends[i]);
        check_against_cholmod(backends[i], &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
