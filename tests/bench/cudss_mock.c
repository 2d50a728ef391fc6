/*
 * Stands in for NVIDIA cuDSS where there is none: the functions that bench/cudss.c looks for, on host memory,
 * by CHOLMOD. $CUDSS_MOCK names what goes wrong: version, analysis, factorisation, info, solve, steps (refinement is not to be set), stuck
 * (refinement changes nothing), wrong (the answer is b), last (the last member's is), uniform (there are no uniform batches) or batch (nor
 * others). With factors in single precision each solution is rounded.
 */
#include <cholmod.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    NOT_SUPPORTED = 4,
    EXECUTION_FAILED = 5,
    REFINEMENT_STEPS = 5,
    UNIFORM_BATCH = 18,
    DETERMINISTIC = 24,
    DOWNCAST = 28,
    SETTINGS = 32
};

typedef struct matrix {
    int64_t rows, columns;
    const int *start, *index; /* NULL: dense */
    void *values;
    int is_complex;
    /* of a batch whose members may differ: its members and their arrays; else 0 */
    int64_t count;
    const int *rows_of, *columns_of;
    void *const *starts, *const *indices, *const *values_of;
} matrix;

typedef struct data {
    cholmod_common common;
    int64_t members;
    cholmod_factor **factor; /* [members] */
    cholmod_sparse **a;
} data;

static int live;

/* Objects that were created and not destroyed. */
EXPORT int cudss_mock_live(void);
EXPORT int cudss_mock_live(void) {
    return live;
}

static int goes_wrong(const char *what) {
    const char *named = getenv("CUDSS_MOCK");

    return named && !strcmp(named, what);
}

static int create(void **object, size_t bytes) {
    *object = calloc(1, bytes);
    live += *object != NULL;
    return *object ? 0 : 2;
}

static int destroy(void *object) {
    free(object);
    live--;
    return 0;
}

EXPORT int cudssGetProperty(int property, int *value);
EXPORT int cudssGetProperty(int property, int *value) {
    *value = property == 0 && !goes_wrong("version");
    return 0;
}

EXPORT int cudssCreate(void **handle);
EXPORT int cudssCreate(void **handle) {
    return create(handle, 1);
}

EXPORT int cudssDestroy(void *handle);
EXPORT int cudssDestroy(void *handle) {
    return destroy(handle);
}

EXPORT int cudssSetStream(void *handle, void *stream);
EXPORT int cudssSetStream(void *handle, void *stream) {
    return handle && !stream ? 0 : 3;
}

EXPORT int cudssConfigCreate(void **config);
EXPORT int cudssConfigCreate(void **config) {
    return create(config, SETTINGS * sizeof(int));
}

EXPORT int cudssConfigDestroy(void *config);
EXPORT int cudssConfigDestroy(void *config) {
    return destroy(config);
}

EXPORT int cudssConfigSet(void *config, int parameter, const void *value, size_t bytes);
EXPORT int cudssConfigSet(void *config, int parameter, const void *value, size_t bytes) {
    if (parameter < 0 || parameter >= SETTINGS || bytes != sizeof(int) ||
        (parameter == REFINEMENT_STEPS && goes_wrong("steps")))
        return 3;
    if (parameter == UNIFORM_BATCH && goes_wrong("uniform"))
        return NOT_SUPPORTED;
    memcpy((int *)config + parameter, value, bytes);
    return 0;
}

EXPORT int cudssDataCreate(void *handle, void **object);
EXPORT int cudssDataCreate(void *handle, void **object) {
    const int status = handle ? create(object, sizeof(data)) : 3;

    if (!status)
        cholmod_start(&((data *)*object)->common);
    return status;
}

EXPORT int cudssDataDestroy(void *handle, void *object);
EXPORT int cudssDataDestroy(void *handle, void *object) {
    data *d = object;

    for (int64_t m = 0; m < d->members; m++) {
        cholmod_free_factor(&d->factor[m], &d->common);
        cholmod_free_sparse(&d->a[m], &d->common);
    }
    free(d->factor);
    free(d->a);
    cholmod_finish(&d->common);
    return handle ? destroy(object) : 3;
}

EXPORT int cudssDataGet(void *handle, void *object, int parameter, void *value, size_t bytes,
                        size_t *written);
EXPORT int cudssDataGet(void *handle, void *object, int parameter, void *value, size_t bytes,
                        size_t *written) {
    const data *d = object;

    (void)handle;
    if (parameter == 0 && bytes == sizeof(int))
        *(int *)value = goes_wrong("info") ? 7 : 0;
    else if (parameter == 1 && bytes == sizeof(int64_t))
        *(int64_t *)value = (int64_t)d->factor[0]->xsize;
    else
        return 3;
    *written = bytes;
    return 0;
}

EXPORT int cudssMatrixCreateCsr(void **object, int64_t rows, int64_t columns, int64_t nnz, const void *start,
                                const void *end, const void *index, const void *values, int offset_type,
                                int index_type, int value_type, int type, int view, int base);
EXPORT int cudssMatrixCreateCsr(void **object, int64_t rows, int64_t columns, int64_t nnz, const void *start,
                                const void *end, const void *index, const void *values, int offset_type,
                                int index_type, int value_type, int type, int view, int base) {
    const int is_complex = value_type == 5;

    if (end || offset_type != 10 || index_type != 10 || type != (is_complex ? 4 : 3) || view != 2 || base ||
        ((const int *)start)[rows] != nnz || create(object, sizeof(matrix)))
        return 3;
    *(matrix *)*object = (matrix){.rows = rows,
                                  .columns = columns,
                                  .start = start,
                                  .index = index,
                                  .values = (void *)(uintptr_t)values,
                                  .is_complex = is_complex};
    return 0;
}

EXPORT int cudssMatrixCreateDn(void **object, int64_t rows, int64_t columns, int64_t ld, const void *values,
                               int value_type, int layout);
EXPORT int cudssMatrixCreateDn(void **object, int64_t rows, int64_t columns, int64_t ld, const void *values,
                               int value_type, int layout) {
    if (ld != rows || layout || create(object, sizeof(matrix)))
        return 3;
    *(matrix *)*object = (matrix){
        .rows = rows, .columns = columns, .values = (void *)(uintptr_t)values, .is_complex = value_type == 5};
    return 0;
}

EXPORT int cudssMatrixCreateBatchCsr(void **object, int64_t count, const int *rows, const int *columns,
                                     const int *nnz, void *const *start, void *const *end, void *const *index,
                                     void *const *values, int offset_type, int index_type, int value_type,
                                     int type, int view, int base);
EXPORT int cudssMatrixCreateBatchCsr(void **object, int64_t count, const int *rows, const int *columns,
                                     const int *nnz, void *const *start, void *const *end, void *const *index,
                                     void *const *values, int offset_type, int index_type, int value_type,
                                     int type, int view, int base) {
    const int is_complex = value_type == 5;

    if (goes_wrong("batch"))
        return NOT_SUPPORTED;
    if (count < 1 || end || offset_type != 10 || index_type != 10 || type != (is_complex ? 4 : 3) ||
        view != 2 || base)
        return 3;
    for (int64_t m = 0; m < count; m++)
        if (rows[m] != columns[m] || ((const int *)start[m])[rows[m]] != nnz[m])
            return 3;
    if (create(object, sizeof(matrix)))
        return 2;
    *(matrix *)*object = (matrix){.is_complex = is_complex,
                                  .count = count,
                                  .rows_of = rows,
                                  .columns_of = columns,
                                  .starts = start,
                                  .indices = index,
                                  .values_of = values};
    return 0;
}

EXPORT int cudssMatrixCreateBatchDn(void **object, int64_t count, const int *rows, const int *columns,
                                    const int *ld, void *const *values, int integer_type, int value_type,
                                    int layout);
EXPORT int cudssMatrixCreateBatchDn(void **object, int64_t count, const int *rows, const int *columns,
                                    const int *ld, void *const *values, int integer_type, int value_type,
                                    int layout) {
    if (count < 1 || integer_type != 10 || layout)
        return 3;
    for (int64_t m = 0; m < count; m++)
        if (ld[m] != rows[m] || columns[m] < 1 || !values[m])
            return 3;
    if (create(object, sizeof(matrix)))
        return 2;
    *(matrix *)*object = (matrix){.is_complex = value_type == 5,
                                  .count = count,
                                  .rows_of = rows,
                                  .columns_of = columns,
                                  .values_of = values};
    return 0;
}

EXPORT int cudssMatrixDestroy(void *object);
EXPORT int cudssMatrixDestroy(void *object) {
    return destroy(object);
}

/* Member m: of a batch, or of a uniform one, whose members' numbers lie behind each other. */
static matrix member_of(const matrix *of, int64_t m) {
    matrix member = *of;

    if (of->count) {
        member.rows = of->rows_of[m];
        member.columns = of->columns_of[m];
        member.start = of->starts ? of->starts[m] : NULL;
        member.index = of->indices ? of->indices[m] : NULL;
        member.values = of->values_of[m];
    } else {
        const int64_t numbers = of->start ? of->start[of->rows] : of->rows * of->columns;

        member.values = (double *)of->values + m * numbers * (of->is_complex ? 2 : 1);
    }
    return member;
}

/* The upper triangle by rows is the lower one by columns, but for the conjugates. */
static int analyse_member(data *d, const matrix *a, int64_t m) {
    const size_t n = (size_t)a->rows, nnz = (size_t)a->start[n];
    cholmod_sparse *lower = cholmod_allocate_sparse(
        n, n, nnz, 1, 1, -1, a->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, &d->common);
    double *x;

    if (!(d->a[m] = lower))
        return 2;
    memcpy(lower->p, a->start, (n + 1) * sizeof(int));
    memcpy(lower->i, a->index, nnz * sizeof(int));
    memcpy(x = lower->x, a->values, nnz * sizeof(double) * (a->is_complex ? 2 : 1));
    for (size_t k = 0; k < nnz && a->is_complex; k++)
        x[2 * k + 1] = -x[2 * k + 1];
    d->common.supernodal = CHOLMOD_SUPERNODAL;
    d->factor[m] = cholmod_analyze(lower, &d->common);
    return d->factor[m] ? 0 : EXECUTION_FAILED;
}

static int analyse(data *d, const int *config, const matrix *a) {
    int status = 0;

    d->members = a->count ? a->count : config[UNIFORM_BATCH] ? config[UNIFORM_BATCH] : 1;
    d->factor = calloc((size_t)d->members, sizeof *d->factor);
    d->a = calloc((size_t)d->members, sizeof *d->a);
    if (!d->factor || !d->a) {
        d->members = 0;
        return 2;
    }
    for (int64_t m = 0; m < d->members && !status; m++) {
        const matrix member = member_of(a, m);

        status = analyse_member(d, &member, m);
    }
    return status;
}

static int factorise(data *d) {
    int failed = 0;

    for (int64_t m = 0; m < d->members; m++)
        failed |= !cholmod_factorize(d->a[m], d->factor[m], &d->common);
    return failed ? EXECUTION_FAILED : 0;
}

/* x = x + A \ r, and to single precision and back if the factors are; NULL: it failed. */
static cholmod_dense *add_solution(data *d, int64_t m, const int *config, cholmod_dense *r, double *x) {
    cholmod_dense *solution = cholmod_solve(CHOLMOD_A, d->factor[m], r, &d->common);
    const size_t count = r->nrow * r->ncol * (r->xtype == CHOLMOD_COMPLEX ? 2 : 1);

    for (size_t k = 0; solution && k < count; k++) {
        const double value = ((double *)solution->x)[k];

        x[k] += config[DOWNCAST] ? (double)(float)value : value;
    }
    return solution;
}

static int solve_member(data *d, int64_t m, const int *config, const matrix *b, matrix *x) {
    const size_t parts = b->is_complex ? 2 : 1,
                 bytes = (size_t)(b->rows * b->columns) * parts * sizeof(double);
    double one[2] = {1, 0}, minus[2] = {-1, 0};
    const int steps = goes_wrong("stuck") ? 0 : config[REFINEMENT_STEPS];
    cholmod_dense *r, *solution,
        view = {.nrow = (size_t)x->rows,
                .ncol = (size_t)x->columns,
                .nzmax = (size_t)(x->rows * x->columns),
                .d = (size_t)x->rows,
                .x = x->values,
                .xtype = x->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL,
                .dtype = CHOLMOD_DOUBLE};
    int failed = 0;

    if (config[DETERMINISTIC] && b->columns > 1)
        return NOT_SUPPORTED;
    if (!(r = cholmod_allocate_dense(view.nrow, view.ncol, view.d, view.xtype, &d->common)))
        return 2;
    memset(x->values, 0, bytes);
    for (int k = 0; k <= steps && !failed; k++) {
        memcpy(r->x, b->values, bytes);
        if (k > 0)
            failed = !cholmod_sdmult(d->a[m], 0, minus, one, &view, r, &d->common);
        failed = failed || !(solution = add_solution(d, m, config, r, x->values));
        if (!failed)
            cholmod_free_dense(&solution, &d->common);
    }
    if (goes_wrong("wrong") || (goes_wrong("last") && m == d->members - 1))
        memcpy(x->values, b->values, bytes);
    cholmod_free_dense(&r, &d->common);
    return failed ? EXECUTION_FAILED : 0;
}

static int solve(data *d, const int *config, const matrix *b, const matrix *x) {
    int status = 0;

    for (int64_t m = 0; m < d->members && !status; m++) {
        const matrix of_b = member_of(b, m);
        matrix of_x = member_of(x, m);

        status = solve_member(d, m, config, &of_b, &of_x);
    }
    return status;
}

EXPORT int cudssExecute(void *handle, int phase, void *config, void *object, void *a, void *x, void *b);
EXPORT int cudssExecute(void *handle, int phase, void *config, void *object, void *a, void *x, void *b) {
    data *d = object;

    if (!handle || !config || !d || !a || !x || !b)
        return 3;
    switch (phase) {
    case 3:
        return goes_wrong("analysis") ? EXECUTION_FAILED : analyse(d, config, a);
    case 4:
        return goes_wrong("factorisation") ? EXECUTION_FAILED : factorise(d);
    case 1008:
        return goes_wrong("solve") ? EXECUTION_FAILED : solve(d, config, b, x);
    default:
        return 3;
    }
}
