/* Many small systems in one call: a rod for each of 64 thicknesses, of which some are not wanted, and one gets other numbers.
 *
 * Rod m has A = (1 + m) T, T tridiagonal with 2 on the diagonal and -1 beside it. A x = b with b = (1, 0, ..., 0, 1) has
 * x(j) = 1 / (1 + m) for all j. */
#include <gpusolve_batch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { rods = 64, n = 30, entries = 2 * n - 1 };

static int32_t p[n + 1], i[entries];
static double l[rods][entries], b[rods][n], x[rods][n];

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* L of scale T by compressed columns, the diagonal first: what a factorisation would have computed. */
static void factorise(double scale, double *numbers) {
    double below = 0;
    int32_t k = 0;
    for (int32_t j = 0; j < n; j++) {
        const double diagonal = sqrt(2 - below * below);
        p[j] = k;
        i[k] = j;
        numbers[k++] = sqrt(scale) * diagonal;
        below = -1 / diagonal;
        if (j < n - 1) {
            i[k] = j + 1;
            numbers[k++] = sqrt(scale) * below;
        }
    }
    p[n] = k;
}

int main(void) {
    gpusolve_factor_data members[rods];
    gpusolve_handle *handle = NULL;
    gpusolve_batch *batch = NULL;
    gpusolve_batch_workspace *workspace = NULL;
    uint8_t active[rods];
    double error = 0;
    check(NULL, gpusolve_create(&handle, NULL));
    for (int m = 0; m < rods; m++) {
        factorise(1 + m, l[m]);
        members[m] = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
        members[m].kind = GPUSOLVE_SIMPLICIAL_LL;
        members[m].n = members[m].minor = n;
        members[m].xsize = entries;
        members[m].p = p; /* one pattern for all */
        members[m].i = i;
        members[m].x = l[m];
        b[m][0] = b[m][n - 1] = 1;
        active[m] = m % 4 != 3;
    }
    check(handle, gpusolve_batch_create(handle, rods, members, NULL, &batch));
    check(handle, gpusolve_batch_workspace_create(handle, batch, 1, &workspace));

    factorise(100, l[5]); /* rod 5 becomes another one */
    check(handle, gpusolve_batch_refresh(handle, batch, 5, 1, &members[5], NULL));

    /* rods one behind the other: the rods' vectors are one vector */
    const gpusolve_dense of_b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, b};
    const gpusolve_dense of_x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x};
    check(handle,
          gpusolve_batch_solve_strided(handle, batch, workspace, GPUSOLVE_A, &of_b, n, &of_x, n, active));

    for (int m = 0; m < rods; m++)
        for (int j = 0; j < n; j++)
            error = fmax(error, fabs(x[m][j] - (active[m] ? 1 / (m == 5 ? 100 : 1.0 + m) : 0)));
    printf("rod 0: %.6f, rod 5: %.6f, rod 7: %.6f, rod 62: %.6f\n", x[0][1], x[5][1], x[7][1], x[62][1]);
    printf("largest error %.1e\n", error);

    gpusolve_batch_workspace_destroy(workspace);
    gpusolve_batch_destroy(batch);
    gpusolve_destroy(handle);
    return error < 1e-12 ? 0 : 1; /* a NaN is not below */
}
