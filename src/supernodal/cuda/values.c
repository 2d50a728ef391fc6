/*
 * A factor's values on the device, in an allocation of their own: D, the panels [W; -M], which cuda/upload.c brings, and the determinant.
 * They come before the plan's other arrays (cuda/factor.c), for it may turn out that supernodes must be split (split.h).
 */
#include "../../memory.h"
#include "../../recording.h"
#include "../../trsm/cuda/panels/inverse.h"
#include "products/lists.h"

#include <math.h>
#include <string.h>

/* -------------------------------------------------------------------------------------------- memory --- */

/* D, the panels from `panels` on, and the determinant. */
typedef struct values_layout {
    int64_t d, panels, determinant, bytes; /* d: bytes of D */
} values_layout;

static values_layout make_values_layout(const gsv_plan *plan, gsv_numbers numbers, int has_d) {
    const int64_t number = (int64_t)gsv_panel_bytes(numbers);
    values_layout l = {.d = has_d ? plan->l.n * (int64_t)gsv_real_bytes(gsv_vector_dtype(numbers)) : 0};
    l.panels = (l.d + 255) / 256 * 256;
    l.determinant = l.panels + (plan->schedule->panel_ptr[plan->l.nsuper] * number + 255) / 256 * 256;
    l.bytes = l.determinant + 256;
    return l;
}

int64_t gsv_cuda_values_bytes(const gsv_plan *plan, gsv_numbers numbers, int has_d) {
    return make_values_layout(plan, numbers, has_d).bytes;
}

static void free_one(gsv_cuda_factor *device) {
    gsv_cuda_free(device->memory);
    gsv_cuda_free(device->values);
    gsv_upload_plan_free(device->upload);
    gsv_cuda_product_lists_free(device->products);
    gsv_free(device->well);
    gsv_free(device->k);
    gsv_free(device);
}

/* Every number that a sweep multiplies by becomes NaN, and so does every number that it computes. */
gpusolve_status gsv_cuda_expire(gpusolve_factor *factor, gsv_message *message) {
    const gsv_cuda_factor *device = factor->prepared;
    cudaError_t error = device->values_bytes > 0
                            ? cudaMemset(device->values, 0xff, (size_t)device->values_bytes)
                            : cudaSuccess;
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(cudaStreamLegacy);
    return gsv_cuda_check(error, "telling graphs that their factor is another", message);
}

/* What there is of an earlier plan. A graph that was captured with it reads its memory, to the end, and stores NaN. */
static gpusolve_status retire(gpusolve_factor *factor, gsv_message *message) {
    gsv_cuda_factor *old = factor->prepared;
    gpusolve_status status = GPUSOLVE_OK;
    if (old && old->captured) {
        status = gsv_cuda_expire(factor, message);
        gsv_cuda_product_lists_free(old->products); /* no graph reads them */
        old->products = NULL;
        old->next = factor->retired;
        factor->retired = old;
    } else if (old) {
        free_one(old);
    }
    factor->prepared = NULL;
    return status;
}

gpusolve_status gsv_cuda_make_values(gpusolve_factor *factor, gsv_message *message) {
    gpusolve_status status = retire(factor, message);
    if (status != GPUSOLVE_OK)
        return status;
    gsv_cuda_factor *device = gsv_calloc(1, sizeof *device);
    if (!device)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    factor->prepared = device;
    const values_layout l = make_values_layout(&factor->plan, factor->numbers, factor->has_d);
    status = gsv_cuda_malloc(&device->values, l.bytes, message);
    if (status != GPUSOLVE_OK)
        return status;
    device->values_bytes = l.bytes;
    device->plan.panels = (char *)device->values + l.panels;
    device->plan.d = factor->has_d ? device->values : NULL;
    device->determinant = (double *)((char *)device->values + l.determinant);
    /* branches are copied with the gaps between panels */
    return gsv_cuda_check(gsv_cuda_clear(device->values, (size_t)l.bytes), "cudaMemset", message);
}

static void free_list(int device, gsv_cuda_factor *list) {
    if (!list)
        return;
    const int previous = gsv_cuda_enter(device);
    while (list) {
        gsv_cuda_factor *next = list->next;
        free_one(list);
        list = next;
    }
    gsv_cuda_leave(previous);
}

/* What graphs have that were captured with it stays. */
void gsv_cuda_drop(gpusolve_factor *factor) {
    const int previous = gsv_cuda_enter(factor->device);
    gsv_message ignored;
    retire(factor, &ignored);
    gsv_cuda_leave(previous);
}

void gsv_cuda_release(gpusolve_factor *factor) {
    free_list(factor->device, factor->prepared);
    factor->prepared = NULL;
    free_list(factor->device, factor->retired);
    factor->retired = NULL;
}

/* --------------------------------------------------------------------------------------------- values --- */

/* By way of memory on the host, as large as D. */
static gpusolve_status copy_d(const gpusolve_factor *factor, const gsv_cuda_factor *device,
                              const gpusolve_factor_data *data, void *memory, gsv_message *message) {
    if (!factor->has_d)
        return GPUSOLVE_OK;
    const values_layout l = make_values_layout(&factor->plan, factor->numbers, 1);
    gsv_import_d(data, memory);
    return gsv_cuda_check(gsv_cuda_fill(device->values, memory, (size_t)l.d), "copying D to the device",
                          message);
}

/*
 * How much finer than it need be a supernode is cut when a refresh has made that necessary. A sequence of refreshes, of an
 * interior-point method say, makes triangles worse step by step. So what a triangle's k has grown by since the last values
 * is taken to go on for STEPS refreshes more, within limits. A jump says nothing of what is to come.
 */
static float finer_than_needed(float now, float before) {
    enum { STEPS = 5 };
    static const double MOST = 16, JUMP = 4;
    const double growth = fabs((double)now) / (double)before;
    if (!(growth <= JUMP))
        return (float)GSV_FINER;
    const double finer = pow(growth, STEPS);
    return (float)(finer < GSV_FINER ? GSV_FINER : finer > MOST ? MOST : finer);
}

/* The cuts for the values of a refresh, k [nsuper], and for those to come: sent again, for the device finds them. */
static gpusolve_status find_cuts_ahead(gpusolve_handle *handle, gpusolve_factor *factor,
                                       gsv_cuda_factor *device, const gpusolve_factor_data *data, float *k,
                                       double *diagonal, gsv_determinant *determinant, gsv_cuts *cuts,
                                       int *touched) {
    const size_t nsuper = (size_t)factor->plan.l.nsuper;
    float *finer = gsv_malloc(nsuper, sizeof *finer);
    if (!finer)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    for (size_t s = 0; s < nsuper; s++)
        finer[s] = finer_than_needed(k[s], device->k[s]);
    gsv_cuts_free(cuts);
    const gpusolve_status status =
        gsv_cuda_upload(handle, factor, device, data, finer, k, diagonal, determinant, cuts, touched);
    gsv_free(finer);
    return status;
}

static gpusolve_status empty_determinant(gpusolve_handle *handle, gpusolve_factor *factor,
                                         const gsv_cuda_factor *device) {
    factor->determinant = gsv_import_determinant(NULL, 0, factor->has_d, handle->pool);
    return gsv_cuda_check(
        gsv_cuda_fill(device->determinant, &factor->determinant, sizeof factor->determinant),
        "copying the determinant to the device", &handle->message);
}

/* All values, as gsv_cuda_upload says. Memory is asked for before the first number changes. */
static gpusolve_status fill_values(gpusolve_handle *handle, gpusolve_factor *factor, gsv_cuda_factor *device,
                                   const gpusolve_factor_data *data, gsv_cuts *cuts, int *touched) {
    if (factor->plan.l.n == 0)
        return empty_determinant(handle, factor, device);
    gsv_determinant determinant;
    const double start = gsv_milliseconds();
    const values_layout l = make_values_layout(&factor->plan, factor->numbers, factor->has_d);
    float *k = gsv_malloc((size_t)factor->plan.l.nsuper, sizeof *k);
    void *d = factor->has_d ? gsv_malloc((size_t)l.d, 1) : NULL;
    double *diagonal = gsv_malloc((size_t)factor->plan.l.n, sizeof *diagonal);
    gpusolve_status status =
        k && diagonal && (d || !factor->has_d)
            ? gsv_cuda_upload(handle, factor, device, data, NULL, k, diagonal, &determinant, cuts, touched)
            : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK && cuts->at && device->k)
        status = find_cuts_ahead(handle, factor, device, data, k, diagonal, &determinant, cuts, touched);
    if (status == GPUSOLVE_OK && !cuts->at)
        status = copy_d(factor, device, data, d, &handle->message);
    if (status == GPUSOLVE_OK && !cuts->at) {
        gsv_free(device->k);
        device->k = k;
        factor->determinant = determinant;
    } else {
        gsv_free(k);
    }
    gsv_free(d);
    gsv_free(diagonal);
    device->values_ms = gsv_milliseconds() - start;
    return status;
}

/* Those of fresh columns. *trusted 0: they ask for cuts. */
static gpusolve_status fill_fresh(gpusolve_handle *handle, gpusolve_factor *factor, gsv_cuda_factor *device,
                                  const gpusolve_factor_data *data, const gsv_fresh *fresh, int *trusted,
                                  int *touched) {
    const double start = gsv_milliseconds();
    const size_t real = gsv_real_bytes(factor->dtype), d_bytes = (size_t)(fresh->end - fresh->first) * real;
    float *k = gsv_malloc((size_t)factor->plan.l.nsuper, sizeof *k);
    void *d = factor->has_d ? gsv_malloc(d_bytes, 1) : NULL;
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    if (k && (d || !factor->has_d)) {
        memcpy(k, device->k, (size_t)factor->plan.l.nsuper * sizeof *k);
        status = gsv_cuda_upload_fresh(handle, factor, device, data, fresh, k, trusted, touched);
    } else {
        gsv_fail(&handle->message, status, "out of host memory while preparing");
    }
    if (status == GPUSOLVE_OK && *trusted && d) {
        gsv_fresh_d(fresh, gsv_is_single(factor->dtype), d);
        status =
            gsv_cuda_check(gsv_cuda_fill((char *)device->values + (size_t)fresh->first * real, d, d_bytes),
                           "copying D to the device", &handle->message);
    }
    if (status == GPUSOLVE_OK && *trusted)
        memcpy(device->k, k, (size_t)factor->plan.l.nsuper * sizeof *k);
    gsv_free(k);
    gsv_free(d);
    device->values_ms = gsv_milliseconds() - start;
    return status;
}

gpusolve_status gsv_cuda_fill_factor(gpusolve_handle *handle, gpusolve_factor *factor,
                                     const gpusolve_factor_data *data, gsv_cuts *cuts) {
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = gsv_cuda_make_values(factor, &handle->message);
    if (status == GPUSOLVE_OK)
        status = fill_values(handle, factor, factor->prepared, data, cuts, NULL);
    if (status != GPUSOLVE_OK)
        gsv_cuda_drop(factor);
    gsv_cuda_leave(previous);
    return status;
}

gpusolve_status gsv_cuda_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data, const gsv_fresh *fresh, gsv_cuts *cuts) {
    const int previous = gsv_cuda_enter(handle->device);
    gsv_cuda_factor *device = factor->prepared;
    int touched = 0, trusted = 0;
    gpusolve_status status =
        gsv_cuda_synchronize_device("waiting for the solves before a refresh", &handle->message);
    device->plan_ms = 0;
    if (status == GPUSOLVE_OK && fresh && device->k)
        status = fill_fresh(handle, factor, device, data, fresh, &trusted, &touched);
    if (status == GPUSOLVE_OK && !trusted) /* of all: what asks for cuts is looked at with the others */
        status = fill_values(handle, factor, device, data, cuts, &touched);
    const double filled = gsv_milliseconds();
    if (status == GPUSOLVE_OK && !cuts->at && factor->plan.l.n > 0)
        status = gsv_cuda_place_nodes(factor, device, &handle->message);
    device->nodes_ms = gsv_milliseconds() - filled;
    factor->unusable = status != GPUSOLVE_OK && (touched || factor->unusable);
    gsv_cuda_leave(previous);
    return status;
}

/* A captured copy reads the factor's memory when the graph runs: it follows a refresh, and after another plan it finds NaN. */
gpusolve_status gsv_cuda_copy_determinant(gpusolve_handle *handle, const gpusolve_factor *factor, int first,
                                          int count, double *to) {
    gsv_cuda_factor *device = factor->prepared;
    int capturing = 0;
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = gsv_cuda_is_capturing(handle, &capturing);
    if (status == GPUSOLVE_OK)
        status =
            gsv_cuda_check(cudaMemcpyAsync(to, device->determinant + first, (size_t)count * sizeof(double),
                                           cudaMemcpyDefault, (cudaStream_t)handle->stream),
                           "copying the determinant", &handle->message);
    if (status == GPUSOLVE_OK && capturing)
        __atomic_store_n(&device->captured, 1, __ATOMIC_RELAXED);
    gsv_cuda_leave(previous);
    return status;
}
