#include "peers.h"

#include "pardiso.h"

const char *const bench_peer_names[] = {"cholmod", "pardiso", NULL};

/* One number of right-hand sides. */
typedef struct peer_case {
    bench_problem *problem;
    bench_pardiso *pardiso;
    int64_t nrhs;
    cholmod_dense *b, *x, *y, *e;
} peer_case;

static int call_cholmod(void *context) {
    peer_case *c = context;

    return !cholmod_solve2(CHOLMOD_A, c->problem->factor, c->b, NULL, &c->x, NULL, &c->y, &c->e,
                           &c->problem->common);
}

static int call_pardiso(void *context) {
    peer_case *c = context;

    return bench_pardiso_solve(c->pardiso, c->nrhs, c->b->x, c->x->x);
}

void bench_peers_open(unsigned wanted, bench_problem *problem, int threads, bench_peers *peers) {
    *peers = (bench_peers){.problem = problem};
    for (int i = 0; i < BENCH_PEERS; i++) {
        peers->peer[i].wanted = wanted >> i & 1;
        peers->peer[i].name = bench_peer_names[i];
    }
    peers->peer[BENCH_CHOLMOD].factorise_ms = problem->factorise_ms;
    peers->peer[BENCH_CHOLMOD].nnz_l = (int64_t)problem->factor->xsize;
    if (wanted >> BENCH_PARDISO & 1) {
        bench_peer *peer = &peers->peer[BENCH_PARDISO];

        peers->pardiso = bench_pardiso_create(problem, threads, &peer->absent);
        if (peers->pardiso) {
            peer->factorise_ms = bench_pardiso_factorise_ms(peers->pardiso);
            peer->nnz_l = bench_pardiso_nnz(peers->pardiso);
        }
    }
}

void bench_peers_close(bench_peers *peers) {
    bench_pardiso_destroy(peers->pardiso);
    peers->pardiso = NULL;
}

static const char *measure(peer_case *c, bench_call *call, int repeat, bench_peer *peer) {
    bench_problem *problem = c->problem;
    const gpusolve_dtype dtype = problem->dtype;

    if (call(c))
        return peer->name;
    problem->dtype = problem->matrix->xtype == CHOLMOD_COMPLEX ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    peer->error = bench_problem_error(problem, c->nrhs, c->b->x, c->x->x);
    problem->dtype = dtype;
    return bench_time_blocking(call, c, repeat, &peer->solve) ? peer->name : NULL;
}

static const char *measure_all(bench_peers *peers, peer_case *c, const void *b, int repeat) {
    bench_problem *problem = peers->problem;
    const int xtype = problem->matrix->xtype;
    const size_t n = (size_t)problem->n;
    const size_t length = n * (size_t)c->nrhs * (xtype == CHOLMOD_COMPLEX ? 2 : 1);
    const char *failed = NULL;

    c->b = cholmod_allocate_dense(n, (size_t)c->nrhs, n, xtype, &problem->common);
    c->x = cholmod_allocate_dense(n, (size_t)c->nrhs, n, xtype, &problem->common);
    if (!c->b || !c->x)
        return "allocating memory";
    for (size_t k = 0; k < length; k++)
        ((double *)c->b->x)[k] =
            problem->single_factor ? (double)((const float *)b)[k] : ((const double *)b)[k];
    if (peers->peer[BENCH_CHOLMOD].wanted)
        failed = measure(c, call_cholmod, repeat, &peers->peer[BENCH_CHOLMOD]);
    if (!failed && peers->pardiso)
        failed = measure(c, call_pardiso, repeat, &peers->peer[BENCH_PARDISO]);
    return failed;
}

const char *bench_peers_measure(bench_peers *peers, int64_t nrhs, const void *b, int repeat) {
    peer_case c = {.problem = peers->problem, .pardiso = peers->pardiso, .nrhs = nrhs};
    const char *failed = measure_all(peers, &c, b, repeat);

    cholmod_free_dense(&c.b, &peers->problem->common);
    cholmod_free_dense(&c.x, &peers->problem->common);
    cholmod_free_dense(&c.y, &peers->problem->common);
    cholmod_free_dense(&c.e, &peers->problem->common);
    return failed;
}
