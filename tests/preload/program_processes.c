/* Threads on one factor, and forked children. */
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SOLVES = 60 };

typedef struct worker {
    problem *shared;
    unsigned seed;
    cholmod_dense *last; /* the solution of the last solve with the shared factor */
    double own;          /* a number of the last solve with a factor of its own */
    int different;       /* solves whose solution is not that of the first */
} worker;

/* The same right-hand side again and again with the shared factor; a factor of its own that changes. */
static void *work(void *data) {
    worker *w = data;
    const api *call = w->shared->call;
    problem own, view = *w->shared;
    call->start(&view.common);
    view.common.print = 0;
    start_problem(&own, call, 5, 0, SUPERNODAL);
    cholmod_dense *b = make_dense(&view, 1 + w->seed % 3, CHOLMOD_REAL, w->seed);
    cholmod_dense *c = make_dense(&own, 1, CHOLMOD_REAL, w->seed);
    for (int k = 0; k < SOLVES; k++) {
        cholmod_dense *x = call->solve(CHOLMOD_A, view.l, b, &view.common);
        for (size_t i = 0; w->last && i < x->nzmax; i++) {
            const double off = ((double *)x->x)[i] - ((double *)w->last->x)[i];
            if (!(off < 1e-12 && off > -1e-12)) {
                w->different++;
                break;
            }
        }
        if (w->last)
            call->free_dense(&w->last, &view.common);
        w->last = x;
        if (k % 5 == 4)
            call->factorize(own.a, own.l, &own.common);
        x = call->solve(CHOLMOD_A, own.l, c, &own.common);
        w->own = ((double *)x->x)[7];
        call->free_dense(&x, &own.common);
    }
    call->free_dense(&b, &view.common);
    call->free_dense(&c, &own.common);
    call->free_factor(&own.l, &own.common);
    call->free_sparse(&own.a, &own.common);
    call->finish(&own.common);
    call->finish(&view.common);
    return NULL;
}

void section_threads(void) {
    problem shared;
    worker workers[THREADS];
    pthread_t threads[THREADS];
    start_problem(&shared, &apis[0], 9, 0, SUPERNODAL);
    /* So that no thread finds another one importing: how many solves that takes depends on how busy the machine is. */
    cholmod_dense *b = make_dense(&shared, 1, CHOLMOD_REAL, 9);
    for (int k = 0; k < 3; k++)
        solve_and_note(&shared, CHOLMOD_A, b, "before the threads");
    shared.call->free_dense(&b, &shared.common);
    for (unsigned k = 0; k < THREADS; k++) {
        workers[k] = (worker){.shared = &shared, .seed = k + 1};
        if (pthread_create(&threads[k], NULL, work, &workers[k]))
            abort();
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        note_dense(workers[k].last, "thread %d", k);
        note_number(workers[k].own, "thread %d, its own factor", k);
        note_number(workers[k].different, "thread %d, solutions that differ", k);
        shared.call->free_dense(&workers[k].last, &shared.common);
    }
    finish_problem(&shared);
}

/* Solves and changes without end, all of it without BLAS: OpenBLAS's locks do not survive a fork, so no other thread may be in one. */
static void *churn(void *stop) {
    problem own;
    start_problem(&own, &apis[0], 5, 0, SIMPLICIAL_LDL);
    cholmod_dense *b = make_dense(&own, 1, CHOLMOD_REAL, 4);
    for (int k = 0; !atomic_load((atomic_int *)stop); k++) {
        cholmod_dense *x = own.call->solve(CHOLMOD_A, own.l, b, &own.common);
        own.call->free_dense(&x, &own.common);
        if (k % 4 == 3)
            own.call->pack_factor(own.l, &own.common);
    }
    own.call->free_dense(&b, &own.common);
    own.call->free_factor(&own.l, &own.common);
    own.call->free_sparse(&own.a, &own.common);
    own.call->finish(&own.common);
    return NULL;
}

/* In a child: the parent's factor, and one of its own; the numbers go through the pipe. */
static void child(problem *p, cholmod_dense *b, int pipe_end) {
    for (int round = 0; round < 4; round++) {
        if (round == 2) /* other numbers; CHOLMOD's own threads do not work in a child */
            for (size_t k = 0; k < p->l->xsize; k++)
                ((double *)p->l->x)[k] *= 2;
        cholmod_dense *x = p->call->solve(CHOLMOD_A, p->l, b, &p->common);
        if (write(pipe_end, x->x, x->nzmax * sizeof(double)) < 0)
            _exit(1);
        p->call->free_dense(&x, &p->common);
    }
    _exit(0);
}

static size_t read_all(int file, char *to, size_t bytes) {
    size_t had = 0;
    for (ssize_t got = 1; got > 0 && had<bytes; had += got> 0 ? (size_t)got : 0)
        got = read(file, to + had, bytes - had);
    return had;
}

void section_fork(void) {
    problem p;
    atomic_int stop = 0;
    pthread_t thread;
    start_problem(&p, &apis[0], 8, 0, SUPERNODAL);
    cholmod_dense *b = make_dense(&p, 1, CHOLMOD_REAL, 3);
    const int with_thread = !getenv("PRELOAD_TEST_QUIET_FORKS");
    double *numbers = calloc(4 * p.l->n, sizeof *numbers);
    for (int round = 0; round < 4; round++)
        solve_and_note(&p, CHOLMOD_A, b, "before the fork");
    if (with_thread && pthread_create(&thread, NULL, churn, &stop))
        abort();
    for (int turn = 0; turn < 3; turn++) {
        int ends[2], status = -1;
        if (pipe(ends))
            abort();
        const pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            child(&p, b, ends[1]);
        }
        close(ends[1]);
        memset(numbers, 0, 4 * p.l->n * sizeof *numbers);
        read_all(ends[0], (char *)numbers, 4 * p.l->n * sizeof *numbers);
        close(ends[0]);
        waitpid(pid, &status, 0);
        note_number(status, "child %d", turn);
        note(numbers, 4 * p.l->n, "child %d: solutions", turn);
        solve_and_note(&p, CHOLMOD_A, b, "after the fork");
    }
    atomic_store(&stop, 1);
    if (with_thread)
        pthread_join(thread, NULL);
    p.call->free_dense(&b, &p.common);
    free(numbers);
    finish_problem(&p);
}
