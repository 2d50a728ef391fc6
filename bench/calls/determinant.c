#include "determinant.h"

#include <math.h>

typedef struct determinant_case {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    double *results; /* logdet and sign, where the operands are */
    double rcond;
} determinant_case;

static int call_logdet(void *context) {
    determinant_case *c = context;

    return (int)gpusolve_factor_logdet(c->handle, c->factor, c->results, c->results + 1);
}

static int call_rcond(void *context) {
    determinant_case *c = context;

    return (int)gpusolve_factor_rcond(c->handle, c->factor, c->workspace, NULL, 1, &c->rcond);
}

const char *bench_determinant_measure(const bench_device *device, gpusolve_handle *handle,
                                      const gpusolve_factor *factor, gpusolve_workspace *workspace,
                                      int repeat, bench_determinant *determinant) {
    determinant_case c = {.handle = handle, .factor = factor, .workspace = workspace};
    double results[2] = {NAN, NAN};
    const char *failed = NULL;

    if (!determinant->wanted)
        return NULL;
    c.results = device->allocate(sizeof results);
    if (!c.results)
        return "allocating memory for the determinant";
    if (device->time(device, call_logdet, &c, repeat, &determinant->copy) ||
        device->download(results, c.results, sizeof results))
        failed = "timing the determinant";
    else if (bench_time_blocking(call_rcond, &c, repeat, &determinant->estimate))
        failed = "timing the condition number";
    determinant->logdet = results[0];
    determinant->rcond = c.rcond;
    device->release(c.results);
    return failed;
}

static double number_at(const gpusolve_factor_data *data, int64_t at) {
    const int is_complex = data->dtype == GPUSOLVE_COMPLEX_FLOAT || data->dtype == GPUSOLVE_COMPLEX_DOUBLE;

    at *= is_complex && !data->z ? 2 : 1;
    return data->dtype == GPUSOLVE_FLOAT || data->dtype == GPUSOLVE_COMPLEX_FLOAT
               ? (double)((const float *)data->x)[at]
               : ((const double *)data->x)[at];
}

static int64_t index_at(const gpusolve_factor_data *data, const void *array, int64_t k) {
    return data->itype == GPUSOLVE_INT32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

int bench_determinant_is_right(const bench_problem *problem, const bench_determinant *determinant) {
    const gpusolve_factor_data data = bench_problem_factor(problem);
    long double sum = 0;

    if (data.kind != GPUSOLVE_SUPERNODAL_LL)
        return 0;
    for (int64_t s = 0; s < data.nsuper; s++) {
        const int64_t nr = index_at(&data, data.pi, s + 1) - index_at(&data, data.pi, s);
        const int64_t nc = index_at(&data, data.super, s + 1) - index_at(&data, data.super, s);

        for (int64_t k = 0; k < nc; k++)
            sum += logl((long double)number_at(&data, index_at(&data, data.px, s) + k * (nr + 1)));
    }
    return fabs(determinant->logdet - 2 * (double)sum) <= 1e-14 * fabs(2 * (double)sum);
}
