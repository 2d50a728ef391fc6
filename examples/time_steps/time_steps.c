/* The heat equation u' = -K u on a square by backward Euler, (I + dt K) u_new = u, with a step that changes.
 *
 * As long as dt stays, every step is one solve with the same factor. When dt changes CHOLMOD factorises again on the
 * same pattern, and a refresh brings the new numbers in; the plan and its memory stay. u begins as an eigenvector of
 * K, so that each step divides it by 1 + dt lambda: the answer is known. */
#include <gpusolve_cholmod.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 63, n = side * side, steps = 5 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

static cholmod_sparse *allocate(cholmod_common *common) {
    cholmod_sparse *A = cholmod_allocate_sparse(n, n, 3 * n, 1, 1, -1, CHOLMOD_REAL, common);
    if (!A) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return A;
}

/* The lower triangle of I + dt K, where K is the five-point Laplacian divided by h^2. */
static void set(cholmod_sparse *A, double dt_over_h2) {
    int *p = A->p, *i = A->i, k = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j, x[k++] = 1 + 4 * dt_over_h2;
        if (j % side < side - 1)
            i[k] = j + 1, x[k++] = -dt_over_h2;
        if (j + side < n)
            i[k] = j + side, x[k++] = -dt_over_h2;
    }
    p[n] = k;
}

int main(void) {
    static double u[n], first[n];
    const double pi = acos(-1), h = 1.0 / (side + 1), s = sin(pi * h / 2), lambda = 8 * s * s / (h * h);
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    const gpusolve_dense U = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, u};
    double time = 0, decay = 1, dt = 0.0005;
    int good = 1;

    for (int j = 0; j < n; j++)
        u[j] = first[j] = sin(pi * h * (j % side + 1)) * sin(pi * h * (j / side + 1));

    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL; /* its pattern does not depend on the numbers */
    cholmod_sparse *A = allocate(&common);
    set(A, dt / (h * h));
    cholmod_factor *L = cholmod_analyze(A, &common); /* once */
    check(NULL, gpusolve_create(&handle, NULL));

    for (int change = 0; change < 5; change++, dt *= 2) {
        set(A, dt / (h * h));
        cholmod_factorize(A, L, &common); /* import and refresh say so if this has failed */
        if (!factor)
            check(handle, gpusolve_cholmod_import(handle, L, &factor));
        else
            check(handle, gpusolve_cholmod_refresh(handle, factor, L));
        for (int step = 0; step < steps; step++) {
            check(handle, gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &U, &U)); /* in place */
            time += dt;
            decay /= 1 + dt * lambda;
        }
        double difference = 0, size = 0; /* sums, so that one NaN makes them NaN */
        for (int j = 0; j < n; j++) {
            difference += (u[j] - decay * first[j]) * (u[j] - decay * first[j]);
            size += decay * first[j] * decay * first[j];
        }
        const double error = sqrt(difference / size);
        printf("dt %.4f, time %.4f: u in the middle %.6f, relative error %.1e\n", dt, time, u[n / 2], error);
        good = good && error < 1e-11;
    }

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return good ? 0 : 1;
}
