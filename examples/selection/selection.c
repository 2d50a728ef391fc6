/* Sparse right-hand sides and a few entries of x: only their part of the elimination tree is walked.
 *
 * A is the five-point Laplacian on a grid: heat is put in at two points and the temperature wanted at three. A
 * selection is made once for these points; each solve with it reads a part of the factor. selection -v prints how
 * much that is, which depends on CHOLMOD's ordering. */
#include <gpusolve_cholmod.h>
#include <gpusolve_selection.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { side = 100, n = side * side, sources = 2, sensors = 3 };

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

int main(int argc, char **argv) {
    static double b[n], x[n];
    const int64_t b_rows[sources] = {25 * side + 25, 70 * side + 60};
    const int64_t x_rows[sensors] = {50 * side + 50, 10 * side + 90, 70 * side + 61};
    double b_part[sources] = {1, -2}, x_part[sensors];
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_selection *selection = NULL;
    gpusolve_info whole = {.size = sizeof whole};
    gpusolve_selection_info part = {.size = sizeof part};
    const gpusolve_dense B_part = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, sources, 1, sources, b_part};
    const gpusolve_dense X_part = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, sensors, 1, sensors, x_part};
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x};

    cholmod_start(&common);
    cholmod_sparse *A = laplacian(&common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common); /* the import says so if this has failed */

    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_cholmod_import(handle, L, &factor));
    check(handle, gpusolve_selection_create(handle, factor, GPUSOLVE_A, sources, b_rows, sensors, x_rows, 1,
                                            &selection));
    check(handle, gpusolve_solve_selected(handle, factor, selection, &B_part, &X_part));

    check(handle, gpusolve_factor_info(handle, factor, 1, &whole));
    check(handle, gpusolve_selection_get_info(handle, selection, &part));
    if (argc > 1 && !strcmp(argv[1], "-v"))
        printf("of %lld supernodes: forward %lld, backward %lld; of %lld bytes: %lld, %lld\n",
               (long long)whole.supernodes, (long long)part.forward_supernodes,
               (long long)part.backward_supernodes, (long long)whole.stored_bytes,
               (long long)part.forward_bytes, (long long)part.backward_bytes);

    /* The whole of b and x, to compare with. */
    for (int k = 0; k < sources; k++)
        b[b_rows[k]] = b_part[k];
    check(handle, gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &B, &X));
    double difference = 0; /* a sum, so that one NaN makes it NaN */
    for (int k = 0; k < sensors; k++) {
        printf("x(%d, %d) = %.6f\n", (int)x_rows[k] / side, (int)x_rows[k] % side, x_part[k]);
        difference += fabs(x_part[k] - x[x_rows[k]]);
    }
    const int smaller =
        part.forward_bytes < whole.stored_bytes / 2 && part.backward_bytes < whole.stored_bytes / 2;
    printf("less than half of the factor is read: %s\n", smaller ? "yes" : "no");
    printf("difference from the whole solve %.1e\n", difference);

    gpusolve_selection_destroy(selection);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return difference < 1e-13 && smaller ? 0 : 1;
}
