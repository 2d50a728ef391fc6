/* Solve A X = B for many columns at once, with B and X in C's own order: row by row.
 *
 * A is the five-point Laplacian on a grid. B lies in an array with longer rows than it has columns, and X takes
 * B's place. */
#include <gpusolve_cholmod.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 40, n = side * side, columns = 100, ld = 104 };

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

/* norm(b - A x) / (norm(A) norm(x) + norm(b)) of one column, with norm(A) <= 8. */
static double backward_error(double (*B)[ld], double (*X)[ld], int column) {
    double rr = 0, xx = 0, bb = 0;
    for (int j = 0; j < n; j++) {
        double r = B[j][column] - 4 * X[j][column];
        if (j % side > 0)
            r += X[j - 1][column];
        if (j % side < side - 1)
            r += X[j + 1][column];
        if (j >= side)
            r += X[j - side][column];
        if (j + side < n)
            r += X[j + side][column];
        rr += r * r;
        xx += X[j][column] * X[j][column];
        bb += B[j][column] * B[j][column];
    }
    return sqrt(rr) / (8 * sqrt(xx) + sqrt(bb));
}

int main(void) {
    static double B[n][ld], X[n][ld];
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_workspace *workspace = NULL;
    const gpusolve_dense in_place = {GPUSOLVE_DOUBLE, GPUSOLVE_ROW_MAJOR, n, columns, ld, X};

    for (int j = 0; j < n; j++)
        for (int column = 0; column < columns; column++)
            B[j][column] = X[j][column] = sin(1 + j * (column + 1.0));

    cholmod_start(&common);
    cholmod_sparse *A = laplacian(&common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common); /* the import says so if this has failed */

    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_cholmod_import(handle, L, &factor));
    /* Without a workspace for as many, the handle's own would take 32 columns at a time. */
    check(handle, gpusolve_workspace_create(handle, factor, columns, &workspace));
    check(handle, gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &in_place, &in_place));

    int good = 0, worst = 0;
    for (int column = 0; column < columns; column++) {
        const double error = backward_error(B, X, column);
        good += error < 1e-14; /* a NaN is not below it */
        if (error > backward_error(B, X, worst))
            worst = column;
    }
    printf("order %d, %d columns by rows of %d\n", n, columns, ld);
    printf("%d of %d columns are right, largest backward error %.1e\n", good, columns,
           backward_error(B, X, worst));

    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return good == columns ? 0 : 1;
}
