#include "peers.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../machine/gate.h"
#include "solver.h"

/* In the order of peers.h. */
static const struct {
    const bench_solver *solver; /* NULL: not in this build */
    int mode;
    int refines;
} kinds[BENCH_PEERS] = {
    {&bench_cholmod_solver, 0, 0},
    {&bench_pardiso_solver, BENCH_PARDISO_TWO_LEVELS, 0},
    {&bench_pardiso_solver, BENCH_PARDISO_ONE_LEVEL, 0},
#ifdef GPUSOLVE_WITH_CUDA
    {&bench_cusparse_solver, 0, 0},
#else
    {NULL, 0, 0},
#endif
    {&bench_cudss_solver, BENCH_CUDSS_DEFAULT, 0},
    {&bench_cudss_solver, BENCH_CUDSS_SINGLE, 0},
    {&bench_cudss_solver, BENCH_CUDSS_DETERMINISTIC, 0},
    {&bench_cudss_solver, BENCH_CUDSS_REFINE, 0},
    {&bench_cholmod_solver, 0, 1},
    {&bench_cudss_solver, BENCH_CUDSS_DEFAULT, 1},
    {&bench_cudss_solver, BENCH_CUDSS_SINGLE, 1},
};

const char *const bench_peer_names[] = {
    "cholmod",        "pardiso",      "pardiso:one-level",   "cusparse",
    "cudss",          "cudss:fp32",   "cudss:deterministic", "cudss:refine2",
    "cholmod:refine", "cudss:refine", "cudss:fp32:refine",   NULL};

unsigned bench_peers_that_refine(void) {
    unsigned set = 0;

    for (int i = 0; i < BENCH_PEERS; i++)
        set |= (unsigned)kinds[i].refines << i;
    return set;
}

int bench_solver_explain(bench_solver_facts *facts, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(facts->why, sizeof facts->why, format, arguments);
    va_end(arguments);
    return -1;
}

static void open_peer(bench_peers *peers, int i, int threads) {
    bench_peer *peer = &peers->peer[i];
    const bench_solver *solver = kinds[i].solver;
    bench_solver_facts facts = {0};

    if (!solver)
        bench_solver_explain(&facts, "not in this build: it has no CUDA");
    else if (solver->on_device && !peers->device->is_cuda)
        bench_solver_explain(&facts, "it wants the CUDA backend");
    else
        peer->state = solver->create(peers->problem, peers->device, threads, kinds[i].mode, &facts);
    if (solver && solver->on_device)
        peers->device->recover();
    peer->factorise_ms = facts.factorise_ms;
    peer->nnz_l = facts.nnz_l;
    snprintf(peer->absent, sizeof peer->absent, "%s", peer->state ? "" : facts.why);
}

void bench_peers_open(unsigned wanted, bench_problem *problem, const bench_device *device, int threads,
                      bench_peers *peers) {
    *peers = (bench_peers){.problem = problem, .device = device};
    for (int i = 0; i < BENCH_PEERS; i++) {
        peers->peer[i].wanted = wanted >> i & 1;
        peers->peer[i].name = bench_peer_names[i];
        peers->peer[i].refines = kinds[i].refines;
        if (peers->peer[i].wanted)
            open_peer(peers, i, threads);
    }
}

void bench_peers_close(bench_peers *peers) {
    for (int i = 0; i < BENCH_PEERS; i++) {
        if (peers->peer[i].state)
            kinds[i].solver->destroy(peers->peer[i].state);
        peers->peer[i].state = NULL;
    }
}

/* Operands in double, for solves on the host and on the device. */
typedef struct operands {
    size_t bytes;
    void *host_b, *host_x, *device_b, *device_x;
} operands;

/* The error of the solution in host_x: the problem's matrix is in double, whatever gpusolve solves in. */
static double error_of(bench_problem *problem, int64_t nrhs, const operands *o) {
    const gpusolve_dtype dtype = problem->dtype;
    double error;

    problem->dtype = problem->matrix->xtype == CHOLMOD_COMPLEX ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    error = bench_problem_error(problem, nrhs, o->host_b, o->host_x);
    problem->dtype = dtype;
    return error;
}

/* Few samples of a solve that takes so long. */
enum { SLOW_US = 100000, SLOW_REPEAT = 3 };

/* One solve, its answer to host_x, and what it took. */
static int solve_once(bench_peers *peers, int i, const operands *o, double *us, bench_solver_facts *facts) {
    const bench_solver *solver = kinds[i].solver;
    const bench_device *device = peers->device;
    double begin;
    int status;

    for (size_t k = 0; k < o->bytes / sizeof(double); k++) /* an earlier answer must not pass for this one */
        ((double *)o->host_x)[k] = NAN;
    if (solver->on_device && device->upload(o->device_x, o->host_x, o->bytes))
        return bench_solver_explain(facts, "copying x failed");
    begin = bench_now_us();
    if ((status = solver->solve(peers->peer[i].state)))
        return bench_solver_explain(facts, "its solve failed: status %d", status);
    if (solver->on_device && device->download(o->host_x, o->device_x, o->bytes))
        return bench_solver_explain(facts, "copying its solution failed");
    *us = bench_now_us() - begin;
    return 0;
}

static void hold(const bench_solver *solver) {
    if (solver->on_device)
        bench_gate_alone();
}

static void let_go(const bench_solver *solver, const bench_device *device) {
    if (!solver->on_device)
        return;
    device->recover();
    bench_gate_leave();
}

static int solve_refined(bench_peers *peers, int i, int64_t nrhs, const operands *o, int steps, double *error,
                         bench_solver_facts *facts) {
    const bench_solver *solver = kinds[i].solver;
    double us;
    int status;

    hold(solver);
    if ((status = solver->refine(peers->peer[i].state, steps)))
        bench_solver_explain(facts, "refinement failed: status %d", status);
    else
        status = solve_once(peers, i, o, &us, facts);
    let_go(solver, peers->device);
    if (!status && (*error = error_of(peers->problem, nrhs, o)) < 0)
        status = bench_solver_explain(facts, "out of memory for checking its solution");
    return status;
}

/* How many steps it takes (bench_peers_measure); the next solves take them. */
static int find_steps(bench_peers *peers, int i, int64_t nrhs, const operands *o, double wanted, int most,
                      bench_solver_facts *facts) {
    const double enough = fmax(wanted, DBL_EPSILON / 2);
    bench_peer *peer = &peers->peer[i];
    double before = INFINITY, error = 0;

    for (peer->steps = 0;; peer->steps++, before = error) {
        if (solve_refined(peers, i, nrhs, o, peer->steps, &error, facts))
            return -1;
        if (error <= enough)
            return 0;
        if (peer->steps == most || (peer->steps > 0 && !(2 * error <= before)))
            break;
    }
    peer->steps -= peer->steps > 0 && !(error < before);
    return kinds[i].solver->refine(peer->state, peer->steps)
               ? bench_solver_explain(facts, "refinement failed")
               : 0;
}

/* Bind, solve and time one peer, then check its answer. 0, or -1 with the reason in peer->refused. */
static int measure_one(bench_peers *peers, int i, int64_t nrhs, const operands *o, int repeat, double wanted,
                       int most_steps) {
    const bench_solver *solver = kinds[i].solver;
    const bench_device *device = peers->device;
    bench_peer *peer = &peers->peer[i];
    bench_solver_facts facts = {0};
    double us = 0;
    int status;

    hold(solver);
    status = solver->bind(peer->state, nrhs, solver->on_device ? o->device_b : o->host_b,
                          solver->on_device ? o->device_x : o->host_x, &facts);
    let_go(solver, device);
    if (!status && peer->refines)
        status = find_steps(peers, i, nrhs, o, wanted, most_steps, &facts);
    hold(solver);
    if (!status)
        status = solve_once(peers, i, o, &us, &facts);
    if (us > SLOW_US && repeat > SLOW_REPEAT)
        repeat = SLOW_REPEAT;
    if (!status && !peer->untimed) {
        status = solver->on_device
                     ? device->time_peer(device, solver->solve, peer->state, repeat, &peer->solve)
                     : bench_time_blocking(solver->solve, peer->state, repeat, &peer->solve);
        if (status)
            bench_solver_explain(&facts, "timing its solve failed: status %d", status);
    }
    let_go(solver, device);
    if (!status && (peer->error = error_of(peers->problem, nrhs, o)) < 0)
        status = bench_solver_explain(&facts, "out of memory for checking its solution");
    snprintf(peer->refused, sizeof peer->refused, "%s", status ? facts.why : "");
    return status ? -1 : 0;
}

static int allocate(const bench_peers *peers, int64_t nrhs, int on_device, operands *o) {
    const int parts = peers->problem->matrix->xtype == CHOLMOD_COMPLEX ? 2 : 1;

    o->bytes = (size_t)(peers->problem->n * nrhs * parts) * sizeof(double);
    o->host_b = malloc(o->bytes + 1);
    o->host_x = malloc(o->bytes + 1);
    if (on_device) {
        o->device_b = peers->device->allocate(o->bytes + 1);
        o->device_x = peers->device->allocate(o->bytes + 1);
    }
    return o->host_b && o->host_x && (!on_device || (o->device_b && o->device_x)) ? 0 : -1;
}

static const char *measure_all(bench_peers *peers, int64_t nrhs, const void *b, int repeat, double wanted,
                               int most_steps, operands *o) {
    int present = 0, on_device = 0, failed;

    for (int i = 0; i < BENCH_PEERS; i++)
        if (peers->peer[i].state) {
            present = 1;
            on_device |= kinds[i].solver->on_device;
        }
    if (!present)
        return NULL;
    if (on_device)
        bench_gate_share();
    failed = allocate(peers, nrhs, on_device, o);
    if (on_device)
        bench_gate_leave();
    if (failed)
        return "allocating memory for the peers";
    for (size_t k = 0; k < o->bytes / sizeof(double); k++)
        ((double *)o->host_b)[k] =
            peers->problem->single_factor ? (double)((const float *)b)[k] : ((const double *)b)[k];
    if (on_device) {
        bench_gate_share();
        failed = peers->device->upload(o->device_b, o->host_b, o->bytes);
        bench_gate_leave();
    }
    if (failed)
        return "copying right-hand sides for the peers";
    for (int i = 0; i < BENCH_PEERS; i++)
        if (peers->peer[i].state && measure_one(peers, i, nrhs, o, repeat, wanted, most_steps) &&
            i == BENCH_CHOLMOD)
            return "cholmod"; /* what answers are measured by */
    return NULL;
}

const char *bench_peers_measure(bench_peers *peers, int64_t nrhs, const void *b, int repeat, double wanted,
                                int most_steps) {
    operands o = {0};
    const char *failed = measure_all(peers, nrhs, b, repeat, wanted, most_steps, &o);

    free(o.host_b);
    free(o.host_x);
    if (o.device_b || o.device_x)
        bench_gate_share();
    if (o.device_b)
        peers->device->release(o.device_b);
    if (o.device_x)
        peers->device->release(o.device_x);
    bench_gate_leave();
    return failed;
}
