#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/gate.h"
#include "batch_solver.h"

/* In the order of batch.h. */
static const bench_batch_solver *const solvers[BENCH_BATCH_PEERS] = {
    &bench_cholmod_batch_solver, &bench_cudss_uniform_batch_solver, &bench_cudss_batch_solver};

const char *const bench_batch_peer_names[] = {"cholmod", "cudss:uniform", "cudss", NULL};

static void open_peer(bench_batch_peers *peers, int i, int threads) {
    bench_peer *peer = &peers->peer[i];
    bench_solver_facts facts = {0};

    if (solvers[i]->on_device && !peers->device->is_cuda)
        bench_solver_explain(&facts, "it wants the CUDA backend");
    else
        peer->state = solvers[i]->create(peers->problem, peers->device, threads, peers->members, &facts);
    if (solvers[i]->on_device)
        peers->device->recover();
    peer->factorise_ms = facts.factorise_ms;
    peer->nnz_l = facts.nnz_l;
    snprintf(peer->absent, sizeof peer->absent, "%s", peer->state ? "" : facts.why);
}

void bench_batch_peers_open(unsigned wanted, int64_t members, bench_problem *problem,
                            const bench_device *device, int threads, bench_batch_peers *peers) {
    *peers = (bench_batch_peers){.members = members, .problem = problem, .device = device};
    for (int i = 0; i < BENCH_BATCH_PEERS; i++) {
        peers->peer[i].wanted = wanted >> i & 1;
        peers->peer[i].name = bench_batch_peer_names[i];
        if (peers->peer[i].wanted)
            open_peer(peers, i, threads);
    }
}

void bench_batch_peers_close(bench_batch_peers *peers) {
    for (int i = 0; i < BENCH_BATCH_PEERS; i++) {
        if (peers->peer[i].state)
            solvers[i]->destroy(peers->peer[i].state);
        peers->peer[i].state = NULL;
    }
}

/* Operands in double of all members. */
typedef struct operands {
    size_t member_bytes, bytes; /* of one member, and of all */
    char *host_b, *host_x;
    void *device_b, *device_x;
} operands;

/* The larger error of the first and the last member's solution in host_x. Negative: out of memory. */
static double error_of(bench_batch_peers *peers, int64_t nrhs, const operands *o) {
    bench_problem *problem = peers->problem;
    const gpusolve_dtype dtype = problem->dtype; /* of what gpusolve solves in */
    double first, last;

    problem->dtype = problem->matrix->xtype == CHOLMOD_COMPLEX ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    first = bench_problem_error(problem, nrhs, o->host_b, o->host_x);
    last = bench_problem_error(problem, nrhs, o->host_b, o->host_x + (o->bytes - o->member_bytes));
    problem->dtype = dtype;
    return first < 0 || last < 0 ? -1 : last > first || isnan(last) ? last : first;
}

/* Few samples of a solve that takes so long. */
enum { SLOW_US = 100000, SLOW_REPEAT = 3 };

/* Bind, solve once, its answer to host_x, and time it. */
static int solve_and_time(bench_batch_peers *peers, int i, int64_t nrhs, const operands *o, int repeat,
                          bench_solver_facts *facts) {
    const bench_batch_solver *solver = solvers[i];
    const bench_device *device = peers->device;
    bench_peer *peer = &peers->peer[i];
    double begin;
    int status;

    if (solver->bind(peer->state, nrhs, solver->on_device ? o->device_b : o->host_b,
                     solver->on_device ? o->device_x : o->host_x, facts))
        return -1;
    for (size_t k = 0; k < o->bytes / sizeof(double); k++) /* an earlier answer must not pass for this one */
        ((double *)o->host_x)[k] = NAN;
    if (solver->on_device && device->upload(o->device_x, o->host_x, o->bytes))
        return bench_solver_explain(facts, "copying x failed");
    begin = bench_now_us();
    if ((status = solver->solve(peer->state)))
        return bench_solver_explain(facts, "its solve failed: status %d", status);
    if (solver->on_device && device->download(o->host_x, o->device_x, o->bytes))
        return bench_solver_explain(facts, "copying its solution failed");
    if (bench_now_us() - begin > SLOW_US && repeat > SLOW_REPEAT)
        repeat = SLOW_REPEAT;
    status = solver->on_device ? device->time_peer(device, solver->solve, peer->state, repeat, &peer->solve)
                               : bench_time_blocking(solver->solve, peer->state, repeat, &peer->solve);
    return status ? bench_solver_explain(facts, "timing its solve failed: status %d", status) : 0;
}

static void measure_one(bench_batch_peers *peers, int i, int64_t nrhs, const operands *o, int repeat) {
    bench_peer *peer = &peers->peer[i];
    bench_solver_facts facts = {0};
    int status;

    if (solvers[i]->on_device)
        bench_gate_alone();
    status = solve_and_time(peers, i, nrhs, o, repeat, &facts);
    if (solvers[i]->on_device) {
        peers->device->recover();
        bench_gate_leave();
    }
    if (!status && (peer->error = error_of(peers, nrhs, o)) < 0)
        status = bench_solver_explain(&facts, "out of memory for checking its solution");
    snprintf(peer->refused, sizeof peer->refused, "%s", status ? facts.why : "");
}

/* Every member gets b. */
static int make_operands(const bench_batch_peers *peers, int64_t nrhs, const void *b, int on_device,
                         operands *o) {
    const int parts = peers->problem->matrix->xtype == CHOLMOD_COMPLEX ? 2 : 1;
    const size_t numbers = (size_t)(peers->problem->n * nrhs * parts);

    o->member_bytes = numbers * sizeof(double);
    o->bytes = o->member_bytes * (size_t)peers->members;
    o->host_b = malloc(o->bytes + 1);
    o->host_x = malloc(o->bytes + 1);
    if (!o->host_b || !o->host_x)
        return -1;
    for (size_t k = 0; k < numbers; k++)
        ((double *)o->host_b)[k] =
            peers->problem->single_factor ? (double)((const float *)b)[k] : ((const double *)b)[k];
    for (int64_t m = 1; m < peers->members; m++)
        memcpy(o->host_b + (size_t)m * o->member_bytes, o->host_b, o->member_bytes);
    if (!on_device)
        return 0;
    o->device_b = peers->device->allocate(o->bytes + 1);
    o->device_x = peers->device->allocate(o->bytes + 1);
    return !o->device_b || !o->device_x || peers->device->upload(o->device_b, o->host_b, o->bytes);
}

const char *bench_batch_peers_measure(bench_batch_peers *peers, int64_t nrhs, const void *b, int repeat) {
    operands o = {0};
    int present = 0, on_device = 0, failed = 0;

    for (int i = 0; i < BENCH_BATCH_PEERS; i++)
        if (peers->peer[i].state) {
            present = 1;
            on_device |= solvers[i]->on_device;
        }
    if (!present)
        return NULL;
    if (on_device)
        bench_gate_share();
    failed = make_operands(peers, nrhs, b, on_device, &o);
    if (on_device)
        bench_gate_leave();
    for (int i = 0; i < BENCH_BATCH_PEERS && !failed; i++)
        if (peers->peer[i].state)
            measure_one(peers, i, nrhs, &o, repeat);
    free(o.host_b);
    free(o.host_x);
    if (on_device)
        bench_gate_share();
    if (o.device_b)
        peers->device->release(o.device_b);
    if (o.device_x)
        peers->device->release(o.device_x);
    if (on_device)
        bench_gate_leave();
    return failed ? "making operands for the batch's peers" : NULL;
}
