/*
 * NVIDIA cuDSS's two batches: the uniform one, whose members share A's pattern and lie at equal distances (one matrix object, and
 * CUDSS_CONFIG_UBATCH_SIZE), and the one whose members may differ (cudssMatrixCreateBatchCsr and cudssMatrixCreateBatchDn: an array of pointers in
 * device memory for each of their arrays). Every member has its own values and factor. Its own ordering, everything its default; the solve
 * phase alone is timed.
 */
#include <stdlib.h>

#include "batch_solver.h"
#include "cudss_library.h"

/* Which arrays of pointers there are on the device. */
enum { ROW_STARTS, COLUMNS, VALUES, OF_B, OF_X, LISTS };

typedef struct cudss_batch {
    bench_cudss c;
    int64_t members;
    int is_uniform;
    size_t number; /* bytes */
    /* of a batch whose members may differ */
    int (*create_csr)(void **matrix, int64_t count, const void *rows, const void *columns, const void *nnz,
                      const void *const *row_start, const void *const *row_end, const void *const *column,
                      const void *const *values, int offset_type, int index_type, int value_type,
                      int matrix_type, int view, int base);
    int (*create_dense)(void **matrix, int64_t count, const void *rows, const void *columns, const void *ld,
                        const void *const *values, int integer_type, int value_type, int layout);
    int *rows, *nnz, *nrhs; /* [members] in host memory, for as long as the matrices live */
    void **pointers;        /* [members] a list on its way to the device */
    void *list[LISTS];      /* [members] pointers each, in device memory */
} cudss_batch;

/* ----------------------------------------------------------------------------- members that may differ --- */

/* list[which] holds base + m stride for each member. */
static int set_list(cudss_batch *s, int which, void *base, size_t stride, bench_solver_facts *facts) {
    const size_t bytes = (size_t)s->members * sizeof *s->pointers;

    for (int64_t m = 0; m < s->members; m++)
        s->pointers[m] = (char *)base + (size_t)m * stride;
    if (!s->list[which])
        s->list[which] = s->c.device->allocate(bytes);
    return !s->list[which] || s->c.device->upload(s->list[which], s->pointers, bytes)
               ? bench_solver_explain(facts, "out of memory for pointers")
               : 0;
}

static const void *const *pointers(const cudss_batch *s, int which) {
    return (const void *const *)s->list[which];
}

static int set_matrices(cudss_batch *s, bench_solver_facts *facts) {
    const bench_cudss *c = &s->c;

    if (bench_library_find(c->library, "cudssMatrixCreateBatchCsr", &s->create_csr, facts) ||
        bench_library_find(c->library, "cudssMatrixCreateBatchDn", &s->create_dense, facts))
        return -1;
    s->rows = calloc((size_t)s->members, sizeof *s->rows);
    s->nnz = calloc((size_t)s->members, sizeof *s->nnz);
    s->nrhs = calloc((size_t)s->members, sizeof *s->nrhs);
    s->pointers = calloc((size_t)s->members, sizeof *s->pointers);
    if (!s->rows || !s->nnz || !s->nrhs || !s->pointers)
        return bench_solver_explain(facts, "out of memory for sizes");
    for (int64_t m = 0; m < s->members; m++) {
        s->rows[m] = (int)c->n;
        s->nnz[m] = (int)c->nnz;
    }
    if (set_list(s, ROW_STARTS, s->c.memory[0], 0, facts) || set_list(s, COLUMNS, s->c.memory[1], 0, facts) ||
        set_list(s, VALUES, s->c.memory[2], (size_t)c->nnz * s->number, facts))
        return -1;
    return bench_cudss_check(s->create_csr(&s->c.a, s->members, s->rows, s->rows, s->nnz,
                                           pointers(s, ROW_STARTS), NULL, pointers(s, COLUMNS),
                                           pointers(s, VALUES), BENCH_CUDSS_INT32, BENCH_CUDSS_INT32,
                                           c->value_type, c->matrix_type, BENCH_CUDSS_UPPER, 0),
                             "the matrices", facts);
}

static int set_block(cudss_batch *s, void **block, int which, int64_t nrhs, void *values,
                     bench_solver_facts *facts) {
    for (int64_t m = 0; m < s->members; m++)
        s->nrhs[m] = (int)nrhs;
    if (set_list(s, which, values, (size_t)(s->c.n * nrhs) * s->number, facts))
        return -1;
    return bench_cudss_check(s->create_dense(block, s->members, s->rows, s->nrhs, s->rows, pointers(s, which),
                                             BENCH_CUDSS_INT32, s->c.value_type, BENCH_CUDSS_COLUMN_MAJOR),
                             which == OF_B ? "b" : "x", facts);
}

/* ---------------------------------------------------------------------------------------- of one pattern --- */

static int set_uniform_matrix(cudss_batch *s, bench_solver_facts *facts) {
    const bench_cudss *c = &s->c;
    const int members = (int)s->members;

    return bench_cudss_check(c->f.config_set(c->config, BENCH_CUDSS_UNIFORM_BATCH, &members, sizeof members),
                             "uniform batches", facts) ||
           bench_cudss_check(c->f.create_csr(&s->c.a, c->n, c->n, c->nnz, s->c.memory[0], NULL,
                                             s->c.memory[1], s->c.memory[2], BENCH_CUDSS_INT32,
                                             BENCH_CUDSS_INT32, c->value_type, c->matrix_type,
                                             BENCH_CUDSS_UPPER, 0),
                             "the matrices", facts);
}

static int set_uniform_block(cudss_batch *s, void **block, int64_t nrhs, void *values, const char *name,
                             bench_solver_facts *facts) {
    return bench_cudss_check(
        s->c.f.create_dense(block, s->c.n, nrhs, s->c.n, values, s->c.value_type, BENCH_CUDSS_COLUMN_MAJOR),
        name, facts);
}

/* -------------------------------------------------------------------------------------------------- both --- */

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    cudss_batch *s = solver;

    bench_cudss_drop_blocks(&s->c);
    return s->is_uniform
               ? set_uniform_block(s, &s->c.b, nrhs, b, "b", facts) ||
                     set_uniform_block(s, &s->c.x, nrhs, x, "x", facts)
               : set_block(s, &s->c.b, OF_B, nrhs, b, facts) || set_block(s, &s->c.x, OF_X, nrhs, x, facts);
}

/* Analysis and factorisation want no right-hand sides, but something to call so. */
static int factorise(cudss_batch *s, bench_solver_facts *facts) {
    const double begin = bench_now_us();
    void *vectors = s->c.device->allocate((size_t)(s->c.n * s->members) * s->number + 1);
    int status = vectors ? bind(s, 1, vectors, vectors, facts)
                         : bench_solver_explain(facts, "out of memory for vectors");

    if (!status)
        status = bench_cudss_check(bench_cudss_execute(&s->c, BENCH_CUDSS_ANALYSIS), "its analysis", facts);
    if (!status)
        status = bench_cudss_check(bench_cudss_execute(&s->c, BENCH_CUDSS_FACTORISATION), "its factorisation",
                                   facts);
    s->c.device->recover(); /* waits for it */
    facts->factorise_ms = 1e-3 * (bench_now_us() - begin);
    if (vectors)
        s->c.device->release(vectors);
    return status;
}

static void destroy(void *solver) {
    cudss_batch *s = solver;

    if (!s)
        return;
    bench_cudss_close(&s->c);
    for (int i = 0; i < LISTS; i++)
        if (s->list[i])
            s->c.device->release(s->list[i]);
    free(s->rows);
    free(s->nnz);
    free(s->nrhs);
    free(s->pointers);
    free(s);
}

static void *create(bench_problem *problem, const bench_device *device, int is_uniform, int64_t members,
                    bench_solver_facts *facts) {
    cudss_batch *s = calloc(1, sizeof *s);

    if (!s) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    s->members = members;
    s->is_uniform = is_uniform;
    s->number = problem->matrix->xtype == CHOLMOD_COMPLEX ? 16 : 8;
    if (!bench_cudss_open(&s->c, problem, device, facts) &&
        !bench_cudss_upload(&s->c, problem, members, facts) &&
        !(is_uniform ? set_uniform_matrix(s, facts) : set_matrices(s, facts)) && !factorise(s, facts))
        return s;
    destroy(s);
    return NULL;
}

static void *create_uniform(bench_problem *problem, const bench_device *device, int threads, int64_t members,
                            bench_solver_facts *facts) {
    (void)threads; /* its host threads are for its ordering, which is not timed here */
    return create(problem, device, 1, members, facts);
}

static void *create_each(bench_problem *problem, const bench_device *device, int threads, int64_t members,
                         bench_solver_facts *facts) {
    (void)threads;
    return create(problem, device, 0, members, facts);
}

static int solve(void *solver) {
    cudss_batch *s = solver;

    return bench_cudss_execute(&s->c, BENCH_CUDSS_SOLVE);
}

const bench_batch_solver bench_cudss_uniform_batch_solver = {1, create_uniform, destroy, bind, solve};
const bench_batch_solver bench_cudss_batch_solver = {1, create_each, destroy, bind, solve};
