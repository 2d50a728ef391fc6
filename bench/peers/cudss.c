/*
 * NVIDIA cuDSS 1.x, looked for at run time ($GPUSOLVE_CUDSS is the path of libcudss.so.1; else the loader's
 * path) and no dependency: what is used of it is declared here. Its own ordering; a symmetric (Hermitian)
 * positive definite matrix given by its upper triangle; the solve phase alone, permutations included, is what
 * is timed, with as many steps of its own refinement as are asked for. Everything that a mode does not name is its default.
 */
#include <stdlib.h>

#include "library.h"

enum { /* of cuDSS's enumerations, version 1 */
       MAJOR_VERSION = 0,
       CONFIG_REFINEMENT_STEPS = 5,
       CONFIG_HOST_THREADS = 14,
       CONFIG_DETERMINISTIC = 24,
       CONFIG_DOWNCAST_FACTORS = 28,
       KEEP_BLOCK_DIAGONAL = 1,
       DATA_INFO = 0,
       DATA_LU_NNZ = 1,
       PHASE_ANALYSIS = 1 | 2,
       PHASE_FACTORISATION = 4,
       PHASE_SOLVE = 16 | 32 | 64 | 128 | 256 | 512,
       TYPE_SPD = 3,
       TYPE_HPD = 4,
       VIEW_UPPER = 2,
       BASE_ZERO = 0,
       COLUMN_MAJOR = 0,
       REAL_DOUBLE = 1, /* of cudaDataType */
       COMPLEX_DOUBLE = 5,
       INT32 = 10
};

/* Handles are pointers; statuses and enumerations ints. */
typedef struct functions {
    int (*get_property)(int property, int *value);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*config_create)(void **config);
    int (*config_destroy)(void *config);
    int (*config_set)(void *config, int parameter, const void *value, size_t bytes);
    int (*data_create)(void *handle, void **data);
    int (*data_destroy)(void *handle, void *data);
    int (*data_get)(void *handle, void *data, int parameter, void *value, size_t bytes, size_t *written);
    int (*create_csr)(void **matrix, int64_t rows, int64_t columns, int64_t nnz, const void *row_start,
                      const void *row_end, const void *column, const void *values, int offset_type,
                      int index_type, int value_type, int matrix_type, int view, int base);
    int (*create_dense)(void **matrix, int64_t rows, int64_t columns, int64_t ld, const void *values,
                        int value_type, int layout);
    int (*matrix_destroy)(void *matrix);
    int (*execute)(void *handle, int phase, void *config, void *data, void *a, void *x, void *b);
} functions;

typedef struct cudss {
    functions f;
    const bench_device *device;
    int64_t n;
    int value_type;
    void *handle, *config, *data, *a, *b, *x;
    void *memory[3]; /* row starts, columns, values of A on the device */
} cudss;

static const char *const libraries[] = {"libcudss.so.1", "libcudss.so", NULL};

static int find_all(void *library, functions *f, bench_solver_facts *facts) {
    return bench_library_find(library, "cudssGetProperty", &f->get_property, facts) ||
           bench_library_find(library, "cudssCreate", &f->create, facts) ||
           bench_library_find(library, "cudssDestroy", &f->destroy, facts) ||
           bench_library_find(library, "cudssSetStream", &f->set_stream, facts) ||
           bench_library_find(library, "cudssConfigCreate", &f->config_create, facts) ||
           bench_library_find(library, "cudssConfigDestroy", &f->config_destroy, facts) ||
           bench_library_find(library, "cudssConfigSet", &f->config_set, facts) ||
           bench_library_find(library, "cudssDataCreate", &f->data_create, facts) ||
           bench_library_find(library, "cudssDataDestroy", &f->data_destroy, facts) ||
           bench_library_find(library, "cudssDataGet", &f->data_get, facts) ||
           bench_library_find(library, "cudssMatrixCreateCsr", &f->create_csr, facts) ||
           bench_library_find(library, "cudssMatrixCreateDn", &f->create_dense, facts) ||
           bench_library_find(library, "cudssMatrixDestroy", &f->matrix_destroy, facts) ||
           bench_library_find(library, "cudssExecute", &f->execute, facts);
}

static int check(int status, const char *what, bench_solver_facts *facts) {
    static const char *const names[] = {"success",        "not initialised",  "allocation failed",
                                        "invalid value",  "not supported",    "execution failed",
                                        "internal error", "refinement failed"};
    const int known = status >= 0 && (size_t)status < sizeof names / sizeof names[0];

    return status ? bench_solver_explain(facts, "%s: status %d, %s", what, status,
                                         known ? names[status] : "unknown")
                  : 0;
}

static int set_steps(void *solver, int steps) {
    cudss *s = solver;

    return s->f.config_set(s->config, CONFIG_REFINEMENT_STEPS, &steps, sizeof steps);
}

static int configure(cudss *s, int threads, int mode, bench_solver_facts *facts) {
    const int yes = 1, downcast = KEEP_BLOCK_DIAGONAL;
    const functions *f = &s->f;

    (void)threads; /* its host threads are for its ordering, which is not timed here */
    switch (mode) {
    case BENCH_CUDSS_SINGLE:
        return check(f->config_set(s->config, CONFIG_DOWNCAST_FACTORS, &downcast, sizeof downcast),
                     "single precision factors", facts);
    case BENCH_CUDSS_DETERMINISTIC:
        return check(f->config_set(s->config, CONFIG_DETERMINISTIC, &yes, sizeof yes), "deterministic mode",
                     facts);
    case BENCH_CUDSS_REFINE:
        return check(set_steps(s, 2), "refinement", facts);
    default:
        return 0;
    }
}

/* A on the device. */
static int upload(cudss *s, bench_problem *problem, bench_solver_facts *facts) {
    const cholmod_sparse *a = problem->matrix;
    const int *p = a->p;
    const size_t n = (size_t)s->n, nnz = (size_t)p[n];
    const size_t number = a->xtype == CHOLMOD_COMPLEX ? 16 : 8;
    const size_t bytes[] = {(n + 1) * sizeof *p, nnz * sizeof *p, nnz * number};
    double *owned;
    const double *values = bench_problem_upper(problem, &owned);
    const void *const from[] = {p, a->i, values};
    int failed = !values;

    for (int i = 0; i < 3 && !failed; i++) {
        s->memory[i] = s->device->allocate(bytes[i] + 1);
        failed = !s->memory[i] || s->device->upload(s->memory[i], from[i], bytes[i]);
    }
    free(owned);
    if (failed)
        return bench_solver_explain(facts, "out of memory for the matrix");
    return check(s->f.create_csr(&s->a, s->n, s->n, (int64_t)nnz, s->memory[0], NULL, s->memory[1],
                                 s->memory[2], INT32, INT32, s->value_type,
                                 a->xtype == CHOLMOD_COMPLEX ? TYPE_HPD : TYPE_SPD, VIEW_UPPER, BASE_ZERO),
                 "the matrix", facts);
}

/* Dense blocks that the solver shall work on from now on. */
static int set_blocks(cudss *s, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    const int64_t ld = s->n > 0 ? s->n : 1;

    if (s->b)
        s->f.matrix_destroy(s->b);
    if (s->x)
        s->f.matrix_destroy(s->x);
    s->b = s->x = NULL;
    if (check(s->f.create_dense(&s->b, s->n, nrhs, ld, b, s->value_type, COLUMN_MAJOR), "b", facts))
        return -1;
    return check(s->f.create_dense(&s->x, s->n, nrhs, ld, x, s->value_type, COLUMN_MAJOR), "x", facts);
}

static int execute(cudss *s, int phase) {
    return s->f.execute(s->handle, phase, s->config, s->data, s->a, s->x, s->b);
}

/* Analysis and factorisation want no right-hand sides, but something to call so. */
static int factorise(cudss *s, bench_solver_facts *facts) {
    const double begin = bench_now_us();
    void *vector = s->device->allocate((size_t)s->n * 16 + 1);
    int status = vector ? set_blocks(s, 1, vector, vector, facts)
                        : bench_solver_explain(facts, "out of memory for a vector");
    int info = 0;
    size_t written = 0;

    if (!status)
        status = check(execute(s, PHASE_ANALYSIS), "its analysis", facts);
    if (!status)
        status = check(execute(s, PHASE_FACTORISATION), "its factorisation", facts);
    if (!status) /* waits for the factorisation */
        status =
            check(s->f.data_get(s->handle, s->data, DATA_INFO, &info, sizeof info, &written), "info", facts);
    if (!status && info)
        status = bench_solver_explain(facts, "its factorisation broke off at %d", info);
    if (!status)
        status = check(
            s->f.data_get(s->handle, s->data, DATA_LU_NNZ, &facts->nnz_l, sizeof facts->nnz_l, &written),
            "numbers in its factor", facts);
    facts->factorise_ms = 1e-3 * (bench_now_us() - begin);
    if (vector)
        s->device->release(vector);
    return status;
}

static void destroy(void *solver) {
    cudss *s = solver;

    if (!s)
        return;
    if (s->b)
        s->f.matrix_destroy(s->b);
    if (s->x)
        s->f.matrix_destroy(s->x);
    if (s->a)
        s->f.matrix_destroy(s->a);
    if (s->data)
        s->f.data_destroy(s->handle, s->data);
    if (s->config)
        s->f.config_destroy(s->config);
    if (s->handle)
        s->f.destroy(s->handle);
    for (int i = 0; i < 3; i++)
        if (s->memory[i])
            s->device->release(s->memory[i]);
    free(s);
}

static int prepare(cudss *s, bench_problem *problem, int threads, int mode, bench_solver_facts *facts) {
    void *library = bench_library_load("GPUSOLVE_CUDSS", libraries);
    const functions *f = &s->f;
    int major = 0;

    if (!library)
        return bench_solver_explain(facts, "not found: $GPUSOLVE_CUDSS may be the path of libcudss.so.1");
    if (find_all(library, &s->f, facts) ||
        check(f->get_property(MAJOR_VERSION, &major), "its version", facts))
        return -1;
    if (major != 1)
        return bench_solver_explain(facts, "its version is %d, known is 1", major);
    if (check(f->create(&s->handle), "its handle", facts) ||
        check(f->set_stream(s->handle, s->device->stream), "its stream", facts) ||
        check(f->config_create(&s->config), "its settings", facts) ||
        check(f->data_create(s->handle, &s->data), "its data", facts))
        return -1;
    return configure(s, threads, mode, facts) || upload(s, problem, facts) || factorise(s, facts);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    cudss *s = calloc(1, sizeof *s);

    if (!s) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    s->device = device;
    s->n = problem->n;
    s->value_type = problem->matrix->xtype == CHOLMOD_COMPLEX ? COMPLEX_DOUBLE : REAL_DOUBLE;
    if (!prepare(s, problem, threads, mode, facts))
        return s;
    destroy(s);
    return NULL;
}

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    return set_blocks(solver, nrhs, b, x, facts);
}

static int solve(void *solver) {
    return execute(solver, PHASE_SOLVE);
}

const bench_solver bench_cudss_solver = {1, create, destroy, bind, solve, set_steps};
