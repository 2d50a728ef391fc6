/*
 * NVIDIA cuDSS 1.x as a peer: its own ordering; a symmetric (Hermitian) positive definite matrix given by its upper triangle; the solve phase
 * alone, permutations included, is what is timed, with as many steps of its own refinement as are asked for. Everything that a mode
 * does not name is its default. cudss_library.h has what is used of the library.
 */
#include <stdlib.h>

#include "cudss_library.h"

typedef struct cudss {
    bench_cudss c;
    void *a, *b, *x;
    void *memory[3]; /* row starts, columns, values of A on the device */
} cudss;

static int set_steps(void *solver, int steps) {
    cudss *s = solver;

    return s->c.f.config_set(s->c.config, BENCH_CUDSS_IR_STEPS, &steps, sizeof steps);
}

static int configure(cudss *s, int mode, bench_solver_facts *facts) {
    const int yes = 1, downcast = BENCH_CUDSS_KEEP_BLOCK_DIAGONAL;
    const bench_cudss *c = &s->c;

    switch (mode) {
    case BENCH_CUDSS_SINGLE:
        return bench_cudss_check(
            c->f.config_set(c->config, BENCH_CUDSS_DOWNCAST_FACTORS, &downcast, sizeof downcast),
            "single precision factors", facts);
    case BENCH_CUDSS_DETERMINISTIC:
        return bench_cudss_check(c->f.config_set(c->config, BENCH_CUDSS_SAME_BITS, &yes, sizeof yes),
                                 "deterministic mode", facts);
    case BENCH_CUDSS_REFINE:
        return bench_cudss_check(set_steps(s, 2), "refinement", facts);
    default:
        return 0;
    }
}

static int set_matrix(cudss *s, bench_problem *problem, bench_solver_facts *facts) {
    bench_cudss *c = &s->c;

    return bench_cudss_upload(c, problem, 1, s->memory, facts) ||
           bench_cudss_check(c->f.create_csr(&s->a, c->n, c->n, c->nnz, s->memory[0], NULL, s->memory[1],
                                             s->memory[2], BENCH_CUDSS_INT32, BENCH_CUDSS_INT32,
                                             c->value_type, c->matrix_type, BENCH_CUDSS_UPPER, 0),
                             "the matrix", facts);
}

/* Dense blocks that the solver shall work on from now on. */
static int set_blocks(cudss *s, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    const int64_t ld = s->c.n > 0 ? s->c.n : 1;

    if (s->b)
        s->c.f.matrix_destroy(s->b);
    if (s->x)
        s->c.f.matrix_destroy(s->x);
    s->b = s->x = NULL;
    if (bench_cudss_check(
            s->c.f.create_dense(&s->b, s->c.n, nrhs, ld, b, s->c.value_type, BENCH_CUDSS_COLUMN_MAJOR), "b",
            facts))
        return -1;
    return bench_cudss_check(
        s->c.f.create_dense(&s->x, s->c.n, nrhs, ld, x, s->c.value_type, BENCH_CUDSS_COLUMN_MAJOR), "x",
        facts);
}

static int execute(cudss *s, int phase) {
    return s->c.f.execute(s->c.handle, phase, s->c.config, s->c.data, s->a, s->x, s->b);
}

/* Analysis and factorisation want no right-hand sides, but something to call so. */
static int factorise(cudss *s, bench_solver_facts *facts) {
    const double begin = bench_now_us();
    void *vector = s->c.device->allocate((size_t)s->c.n * 16 + 1);
    int status = vector ? set_blocks(s, 1, vector, vector, facts)
                        : bench_solver_explain(facts, "out of memory for a vector");
    int info = 0;
    size_t written = 0;

    if (!status)
        status = bench_cudss_check(execute(s, BENCH_CUDSS_ANALYSIS), "its analysis", facts);
    if (!status)
        status = bench_cudss_check(execute(s, BENCH_CUDSS_FACTORISATION), "its factorisation", facts);
    if (!status) /* waits for the factorisation */
        status = bench_cudss_check(
            s->c.f.data_get(s->c.handle, s->c.data, BENCH_CUDSS_INFO, &info, sizeof info, &written), "info",
            facts);
    if (!status && info)
        status = bench_solver_explain(facts, "its factorisation broke off at %d", info);
    if (!status)
        status = bench_cudss_check(s->c.f.data_get(s->c.handle, s->c.data, BENCH_CUDSS_LU_NNZ, &facts->nnz_l,
                                                   sizeof facts->nnz_l, &written),
                                   "numbers in its factor", facts);
    facts->factorise_ms = 1e-3 * (bench_now_us() - begin);
    if (vector)
        s->c.device->release(vector);
    return status;
}

static void destroy(void *solver) {
    cudss *s = solver;

    if (!s)
        return;
    if (s->b)
        s->c.f.matrix_destroy(s->b);
    if (s->x)
        s->c.f.matrix_destroy(s->x);
    if (s->a)
        s->c.f.matrix_destroy(s->a);
    bench_cudss_close(&s->c);
    for (int i = 0; i < 3; i++)
        if (s->memory[i])
            s->c.device->release(s->memory[i]);
    free(s);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    cudss *s = calloc(1, sizeof *s);

    (void)threads; /* its host threads are for its ordering, which is not timed here */
    if (!s) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    if (!bench_cudss_open(&s->c, problem, device, facts) && !configure(s, mode, facts) &&
        !set_matrix(s, problem, facts) && !factorise(s, facts))
        return s;
    destroy(s);
    return NULL;
}

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    return set_blocks(solver, nrhs, b, x, facts);
}

static int solve(void *solver) {
    return execute(solver, BENCH_CUDSS_SOLVE);
}

const bench_solver bench_cudss_solver = {1, create, destroy, bind, solve, set_steps};
