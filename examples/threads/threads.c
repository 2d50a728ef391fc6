/* Threads that share one factor: each has a handle and a workspace of its own.
 *
 * A factor is immutable, so nothing is locked. A is the five-point Laplacian on a grid; every thread solves 50
 * systems with it, one after the other. */
#include <gpusolve_cholmod.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 40, n = side * side, threads = 4, solves = 50 };

typedef struct {
    const gpusolve_factor *factor;
    int number;
    int good; /* solves with a small residual */
    double b[n], x[n];
} work;

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* 4 on the diagonal, -1 for each neighbour on the grid; the lower triangle. */
static cholmod_sparse *laplacian(cholmod_common *common) {
    cholmod_sparse *A = cholmod_allocate_sparse(n, n, 3 * n, 1, 1, -1, CHOLMOD_REAL, common);
    if (!A) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    int *p = A->p, *i = A->i, k = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j, x[k++] = 4;
        if (j % side < side - 1)
            i[k] = j + 1, x[k++] = -1;
        if (j + side < n)
            i[k] = j + side, x[k++] = -1;
    }
    p[n] = k;
    return A;
}

/* norm(b - A x) / (norm(A) norm(x) + norm(b)), with norm(A) <= 8. A sum, so that one NaN makes it NaN. */
static double backward_error(const double *b, const double *x) {
    double rr = 0, xx = 0, bb = 0;
    for (int j = 0; j < n; j++) {
        double r = b[j] - 4 * x[j];
        r += (j % side > 0 ? x[j - 1] : 0) + (j % side < side - 1 ? x[j + 1] : 0);
        r += (j >= side ? x[j - side] : 0) + (j + side < n ? x[j + side] : 0);
        rr += r * r;
        xx += x[j] * x[j];
        bb += b[j] * b[j];
    }
    return sqrt(rr) / (8 * sqrt(xx) + sqrt(bb));
}

static void *run(void *argument) {
    work *w = argument;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_workspace *workspace = NULL;
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, w->b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, w->x};

    options.threads = 1; /* on the host: the threads of this program are enough */
    check(NULL, gpusolve_create(&handle, &options));
    check(handle, gpusolve_workspace_create(handle, w->factor, 1, &workspace));
    for (int solve = 0; solve < solves; solve++) {
        for (int j = 0; j < n; j++)
            w->b[j] = sin(1.0 + w->number + (solve + 1) * j);
        check(handle, gpusolve_solve(handle, w->factor, workspace, GPUSOLVE_A, &B, &X));
        w->good += backward_error(w->b, w->x) < 1e-14; /* a NaN is not below it */
    }
    gpusolve_workspace_destroy(workspace);
    gpusolve_destroy(handle);
    return NULL;
}

int main(void) {
    static work works[threads];
    pthread_t ids[threads];
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    int good = 0;

    cholmod_start(&common);
    cholmod_sparse *A = laplacian(&common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common); /* the import says so if this has failed */
    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_cholmod_import(handle, L, &factor));

    for (int k = 0; k < threads; k++) {
        works[k].factor = factor;
        works[k].number = k;
        if (pthread_create(&ids[k], NULL, run, &works[k])) {
            fputs("a thread cannot be started\n", stderr);
            exit(1);
        }
    }
    for (int k = 0; k < threads; k++) {
        pthread_join(ids[k], NULL);
        printf("thread %d: %d of %d solves are right, last backward error %.1e\n", k, works[k].good, solves,
               backward_error(works[k].b, works[k].x));
        good += works[k].good;
    }

    gpusolve_factor_destroy(factor); /* nobody solves with it any more */
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return good == threads * solves ? 0 : 1;
}
