/*
 * NVIDIA cuDSS 1.x as a peer: its own ordering; a symmetric (Hermitian) positive definite matrix given by its upper triangle; the solve phase
 * alone, permutations included, is what is timed, with as many steps of its own refinement as are asked for. Everything that a mode
 * does not name is its default. cudss_library.h has what is used of the library.
 */
#include <stdlib.h>

#include "cudss_library.h"

static int set_steps(void *solver, int steps) {
    bench_cudss *s = solver;

    return s->f.config_set(s->config, BENCH_CUDSS_IR_STEPS, &steps, sizeof steps);
}

static int configure(bench_cudss *s, int mode, bench_solver_facts *facts) {
    const int yes = 1, downcast = BENCH_CUDSS_KEEP_BLOCK_DIAGONAL;

    switch (mode) {
    case BENCH_CUDSS_SINGLE:
        return bench_cudss_check(
            s->f.config_set(s->config, BENCH_CUDSS_DOWNCAST_FACTORS, &downcast, sizeof downcast),
            "single precision factors", facts);
    case BENCH_CUDSS_DETERMINISTIC:
        return bench_cudss_check(s->f.config_set(s->config, BENCH_CUDSS_SAME_BITS, &yes, sizeof yes),
                                 "deterministic mode", facts);
    case BENCH_CUDSS_REFINE:
        return bench_cudss_check(set_steps(s, 2), "refinement", facts);
    default:
        return 0;
    }
}

static int set_matrix(bench_cudss *s, bench_problem *problem, bench_solver_facts *facts) {
    return bench_cudss_upload(s, problem, 1, facts) ||
           bench_cudss_check(s->f.create_csr(&s->a, s->n, s->n, s->nnz, s->memory[0], NULL, s->memory[1],
                                             s->memory[2], BENCH_CUDSS_INT32, BENCH_CUDSS_INT32,
                                             s->value_type, s->matrix_type, BENCH_CUDSS_UPPER, 0),
                             "the matrix", facts);
}

/* Dense blocks that the solver shall work on from now on. */
static int set_blocks(bench_cudss *s, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    const int64_t ld = s->n > 0 ? s->n : 1;

    bench_cudss_drop_blocks(s);
    if (bench_cudss_check(
            s->f.create_dense(&s->b, s->n, nrhs, ld, b, s->value_type, BENCH_CUDSS_COLUMN_MAJOR), "b", facts))
        return -1;
    return bench_cudss_check(
        s->f.create_dense(&s->x, s->n, nrhs, ld, x, s->value_type, BENCH_CUDSS_COLUMN_MAJOR), "x", facts);
}

/* Analysis and factorisation want no right-hand sides, but something to call so. */
static int factorise(bench_cudss *s, bench_solver_facts *facts) {
    const double begin = bench_now_us();
    void *vector = s->device->allocate((size_t)s->n * 16 + 1);
    int status = vector ? set_blocks(s, 1, vector, vector, facts)
                        : bench_solver_explain(facts, "out of memory for a vector");
    int info = 0;
    size_t written = 0;

    if (!status)
        status = bench_cudss_check(bench_cudss_execute(s, BENCH_CUDSS_ANALYSIS), "its analysis", facts);
    if (!status)
        status =
            bench_cudss_check(bench_cudss_execute(s, BENCH_CUDSS_FACTORISATION), "its factorisation", facts);
    if (!status) /* waits for the factorisation */
        status = bench_cudss_check(
            s->f.data_get(s->handle, s->data, BENCH_CUDSS_INFO, &info, sizeof info, &written), "info", facts);
    if (!status && info)
        status = bench_solver_explain(facts, "its factorisation broke off at %d", info);
    if (!status)
        status = bench_cudss_check(s->f.data_get(s->handle, s->data, BENCH_CUDSS_LU_NNZ, &facts->nnz_l,
                                                 sizeof facts->nnz_l, &written),
                                   "numbers in its factor", facts);
    facts->factorise_ms = 1e-3 * (bench_now_us() - begin);
    if (vector)
        s->device->release(vector);
    return status;
}

static void destroy(void *solver) {
    bench_cudss *s = solver;

    if (!s)
        return;
    bench_cudss_close(s);
    free(s);
}

static void *create(bench_problem *problem, const bench_device *device, int threads, int mode,
                    bench_solver_facts *facts) {
    bench_cudss *s = calloc(1, sizeof *s);

    (void)threads; /* its host threads are for its ordering, which is not timed here */
    if (!s) {
        bench_solver_explain(facts, "out of memory");
        return NULL;
    }
    if (!bench_cudss_open(s, problem, device, facts) && !configure(s, mode, facts) &&
        !set_matrix(s, problem, facts) && !factorise(s, facts))
        return s;
    destroy(s);
    return NULL;
}

static int bind(void *solver, int64_t nrhs, void *b, void *x, bench_solver_facts *facts) {
    return set_blocks(solver, nrhs, b, x, facts);
}

static int solve(void *solver) {
    bench_cudss *s = solver;

    return bench_cudss_execute(s, BENCH_CUDSS_SOLVE);
}

const bench_solver bench_cudss_solver = {1, create, destroy, bind, solve, set_steps};
