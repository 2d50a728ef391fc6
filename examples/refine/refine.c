/* Iterative refinement: full accuracy for a matrix that has changed, with the factor of the matrix as it was.
 *
 * A0 is the five-point Laplacian, A = A0 with a diagonal that is larger by up to 0.001 %. Only A0 is factorised. A
 * solve with its factor leaves a backward error of some 4e-6; each step of gpusolve_refine lowers it. */
#include <gpusolve_cholmod.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 40, n = side * side, columns = 3 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* The lower triangle: 4 + change * (0 .. 1) on the diagonal, -1 for each neighbour on the grid. */
static cholmod_sparse *laplacian(double change, cholmod_common *common) {
    cholmod_sparse *A = cholmod_allocate_sparse(n, n, 3 * n, 1, 1, -1, CHOLMOD_REAL, common);
    if (!A) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    int *p = A->p, *i = A->i, k = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j, x[k++] = 4 + change * j / n;
        if (j % side < side - 1)
            i[k] = j + 1, x[k++] = -1;
        if (j + side < n)
            i[k] = j + side, x[k++] = -1;
    }
    p[n] = k;
    return A;
}

int main(void) {
    static double b[columns][n], x[columns][n];
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_matrix *matrix = NULL;
    gpusolve_refine_options solve_only = GPUSOLVE_REFINE_OPTIONS_INIT, refine = GPUSOLVE_REFINE_OPTIONS_INIT;
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, columns, n, b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, columns, n, x};
    double before[columns], after[columns];
    int steps[columns], good = 1;

    for (int column = 0; column < columns; column++)
        for (int j = 0; j < n; j++)
            b[column][j] = cos(0.01 * (column + 1) * j);

    cholmod_start(&common);
    cholmod_sparse *A0 = laplacian(0, &common), *A = laplacian(4e-5, &common);
    cholmod_factor *L = cholmod_analyze(A0, &common);
    cholmod_factorize(A0, L, &common); /* the import says so if this has failed */

    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_cholmod_import(handle, L, &factor)); /* of A0 */
    check(handle, gpusolve_cholmod_matrix(handle, A, &matrix)); /* the equations to be solved */

    solve_only.max_steps = 0; /* x = A0 \ b, and its backward error for A */
    check(handle, gpusolve_refine(handle, factor, matrix, NULL, &B, &X, &solve_only, before, NULL));
    refine.solve_first = 0; /* x is the first guess */
    refine.tolerance = 1e-15;
    check(handle, gpusolve_refine(handle, factor, matrix, NULL, &B, &X, &refine, after, steps));

    for (int column = 0; column < columns; column++) {
        printf("column %d: backward error %.1e, after %d steps %.1e\n", column, before[column], steps[column],
               after[column]);
        good = good && after[column] <= 1e-14; /* a NaN is not */
    }

    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_free_sparse(&A0, &common);
    cholmod_finish(&common);
    return good ? 0 : 1;
}
