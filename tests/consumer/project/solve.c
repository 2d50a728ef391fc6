/* The smallest use of gpusolve without CHOLMOD: A = [4 2; 2 5] = L L' with L = [2 0; 1 2], A x = [8; 12]. */
#include <gpusolve.h>
#include <gpusolve_dense.h>

#include <stdio.h>

/* The same system with the factor as a dense matrix, on the host; unless the library was built without a
 * CBLAS. */
static int dense(void) {
    const double l[] = {2, 1, 0, 2};
    double b[] = {8, 12};
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_status status;

    options.backend = GPUSOLVE_BACKEND_HOST;
    status = gpusolve_create(&handle, &options);
    if (!status)
        status = gpusolve_dpotrs(handle, GPUSOLVE_LOWER, 2, 1, l, 2, b, 2, NULL, 0);
    gpusolve_destroy(handle);
    return status == GPUSOLVE_NOT_SUPPORTED ? 0 : status || b[0] != 1 || b[1] != 2;
}

int main(void) {
    const int32_t super[] = {0, 2}, pi[] = {0, 2}, px[] = {0, 4}, s[] = {0, 1};
    const double panel[] = {2, 1, 0, 2};
    double b[] = {8, 12}, x[2] = {0, 0};
    gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, b};
    gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 2, 1, 2, x};
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_status status;

    data.n = data.minor = 2;
    data.nsuper = 1;
    data.ssize = 2;
    data.xsize = 4;
    data.super = super;
    data.pi = pi;
    data.px = px;
    data.s = s;
    data.x = panel;
    status = gpusolve_create(&handle, NULL);
    if (!status)
        status = gpusolve_factor_create(handle, &data, &factor);
    if (!status)
        status = gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &B, &X);
    if (status)
        fprintf(stderr, "%s: %s\n", gpusolve_status_name(status), handle ? gpusolve_last_error(handle) : "");
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return status || x[0] != 1 || x[1] != 2 || dense();
}
