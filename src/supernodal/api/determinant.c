/*
 * gpusolve_factor_logdet and gpusolve_factor_diagonal: numbers that were computed when the values came in (import/determinant.h). To host memory
 * they are written at once. To device memory they are copied from the factor's memory there, in the stream's order.
 */
#include "checks.h"

/* Two results, side by side in the array that gsv_determinant is. */
typedef struct results {
    const char *names[2];
    double *to[2]; /* the caller's, or NULL */
    int on_device[2];
    int first; /* its place in the array */
} results;

/* A graph does not write what was written while it was captured. */
static gpusolve_status check_capture(gpusolve_handle *handle, const results *r) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; k < 2 && !status; k++)
        if (r->to[k])
            status = gsv_check_captured_memory(handle, r->names[k], r->on_device[k]);
    return status;
}

static gpusolve_status check(gpusolve_handle *handle, const gpusolve_factor *factor, results *r) {
    gpusolve_status status = gsv_check_factor(handle, factor);
    for (int k = 0; k < 2 && !status; k++)
        if (r->to[k])
            status = gsv_check_memory(handle, r->names[k], r->to[k], sizeof *r->to[k], sizeof *r->to[k],
                                      &r->on_device[k]);
    if (!status && r->to[0] && r->to[0] == r->to[1])
        status = gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "%s: is %s", r->names[1], r->names[0]);
    return status ? status : check_capture(handle, r);
}

static gpusolve_status write_results(gpusolve_handle *handle, const gpusolve_factor *factor, results *r) {
    const gpusolve_status status = check(handle, factor, r);
    if (status)
        return status;
    const gsv_determinant *d = &factor->determinant;
    const double values[GSV_DETERMINANT_NUMBERS] = {d->logdet, d->sign, d->smallest, d->largest, d->negative};
    const int together = r->on_device[0] && r->on_device[1] && r->to[1] == r->to[0] + 1;
    if (together)
        return handle->executor->copy_determinant(handle, factor, r->first, 2, r->to[0]);
    for (int k = 0; k < 2; k++) {
        if (r->on_device[k]) {
            const gpusolve_status copied =
                handle->executor->copy_determinant(handle, factor, r->first + k, 1, r->to[k]);
            if (copied)
                return copied;
        } else if (r->to[k]) {
            *r->to[k] = values[r->first + k];
        }
    }
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_factor_logdet(gpusolve_handle *handle, const gpusolve_factor *factor, double *logdet,
                                       double *sign) {
    GSV_ENTER(handle);
    results r = {.names = {"logdet", "sign"}, .to = {logdet, sign}, .first = GSV_LOGDET};
    return write_results(handle, factor, &r);
}

gpusolve_status gpusolve_factor_diagonal(gpusolve_handle *handle, const gpusolve_factor *factor,
                                         double *smallest, double *largest) {
    GSV_ENTER(handle);
    results r = {.names = {"smallest", "largest"}, .to = {smallest, largest}, .first = GSV_SMALLEST};
    return write_results(handle, factor, &r);
}
