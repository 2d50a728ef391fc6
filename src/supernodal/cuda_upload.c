/*
 * A factor's values on their way to the device: read from the caller's arrays, checked before, inverted on
 * arrival.
 *
 * They travel in batches: host threads copy panels into a pinned buffer, one transfer brings the batch to the
 * device, one launch inverts its narrow panels and cuBLAS its wide ones (panel_inverse.h). Two slots let the
 * host fill one batch while the device works on the other. A panel larger than a slot's pinned buffer is a
 * batch of its own and comes through pageable memory.
 */
#include "../memory.h"
#include "../trsm/panel_inverse.h"
#include "cuda_support.h"

enum { SLOTS = 2, BATCH_BYTES = 16 << 20, BATCH_NARROW = 1 << 16 };

typedef struct batch_slot {
    void *pinned;                  /* [host] BATCH_BYTES */
    gsv_narrow_panel *narrow_host; /* [host] pinned, BATCH_NARROW: the batch's narrow panels, */
    gsv_narrow_panel *narrow;      /* [device] and their copy */
    void *raw;                     /* [device] the batch as imported; of one call */
    cudaEvent_t done;              /* the device is through with the slot */
} batch_slot;

/* handle->scratch: what is slow to make and the same for every factor stays with the handle, so that a
 * refresh finds it there. */
typedef struct pipeline {
    cudaStream_t stream;
    cublasHandle_t cublas; /* made for the first wide panel */
    batch_slot slots[SLOTS];
    /* of one call */
    void *pageable;   /* [host] the largest panel, where it exceeds a slot */
    void *solved;     /* [device] the largest wide panel */
    double *scratch;  /* [device] gsv_invert_wide_scratch of the widest */
    int64_t capacity; /* numbers of a pinned buffer */
} pipeline;

/* Free what belongs to one call; the device is through with it. */
static void pipeline_close(pipeline *p) {
    cudaStreamSynchronize(p->stream);
    for (int k = 0; k < SLOTS; k++) {
        cudaFree(p->slots[k].raw);
        p->slots[k].raw = NULL;
    }
    cudaFree(p->solved);
    p->solved = NULL;
    cudaFree(p->scratch);
    p->scratch = NULL;
    gsv_free(p->pageable);
    p->pageable = NULL;
}

static void pipeline_destroy(pipeline *p) {
    if (p->stream)
        pipeline_close(p);
    for (int k = 0; k < SLOTS; k++) {
        cudaFreeHost(p->slots[k].pinned);
        cudaFreeHost(p->slots[k].narrow_host);
        cudaFree(p->slots[k].narrow);
        if (p->slots[k].done)
            cudaEventDestroy(p->slots[k].done);
    }
    if (p->cublas)
        cublasDestroy(p->cublas);
    if (p->stream)
        cudaStreamDestroy(p->stream);
    gsv_free(p);
}

void gsv_cuda_handle_destroy(gpusolve_handle *handle) {
    if (!handle->scratch)
        return;
    const int previous = gsv_cuda_enter(handle->device);
    pipeline_destroy(handle->scratch);
    handle->scratch = NULL;
    gsv_cuda_leave(previous);
}

static gpusolve_status allocate_pinned(void **memory, int64_t bytes, gsv_message *message) {
    *memory = NULL;
    if (gsv_allocation_fails() || cudaMallocHost(memory, (size_t)bytes) != cudaSuccess) {
        cudaGetLastError();
        *memory = NULL;
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of pinned host memory: %lld bytes",
                        (long long)bytes);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status create_slot(batch_slot *slot, gsv_message *message) {
    const int64_t narrow_bytes = BATCH_NARROW * (int64_t)sizeof(gsv_narrow_panel);
    gpusolve_status status = allocate_pinned(&slot->pinned, BATCH_BYTES, message);
    if (status == GPUSOLVE_OK)
        status = allocate_pinned((void **)&slot->narrow_host, narrow_bytes, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc((void **)&slot->narrow, narrow_bytes, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming),
                                "cudaEventCreate", message);
    return status;
}

/* The handle's pipeline, made if it is not there. */
static gpusolve_status pipeline_of(gpusolve_handle *handle, pipeline **found) {
    gsv_message *message = &handle->message;
    if (!handle->scratch) {
        pipeline *p = gsv_calloc(1, sizeof *p);
        if (!p)
            return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
        gpusolve_status status = gsv_cuda_check(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking),
                                                "cudaStreamCreate", message);
        for (int k = 0; k < SLOTS && status == GPUSOLVE_OK; k++)
            status = create_slot(&p->slots[k], message);
        if (status != GPUSOLVE_OK) {
            pipeline_destroy(p);
            return status;
        }
        handle->scratch = p;
    }
    *found = handle->scratch;
    return GPUSOLVE_OK;
}

/* What the panels of a plan ask of the pipeline, in numbers. */
typedef struct panel_sizes {
    int64_t largest, largest_wide; /* panels, rows x columns; 0: none */
    int64_t capacity;              /* a batch of more than one panel holds no more */
} panel_sizes;

static panel_sizes measure_panels(const gsv_plan *plan, int64_t number) {
    panel_sizes sizes = {0};
    int64_t total = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        total += nr * nc;
        if (nr * nc > sizes.largest)
            sizes.largest = nr * nc;
        if (nr * nc > sizes.largest_wide && !gsv_is_narrow(nr, nc))
            sizes.largest_wide = nr * nc;
    }
    sizes.capacity = BATCH_BYTES / number < total ? BATCH_BYTES / number : total;
    return sizes;
}

static int64_t raw_bytes(const panel_sizes *sizes, int64_t number) {
    return (sizes->largest > sizes->capacity ? sizes->largest : sizes->capacity) * number;
}

static int64_t scratch_bytes(const gsv_plan *plan, const panel_sizes *sizes) {
    return sizes->largest_wide > 0 ? gsv_invert_wide_scratch(plan->widest) * (int64_t)sizeof(double) : 0;
}

int64_t gsv_cuda_upload_bytes(const gsv_plan *plan, gpusolve_dtype dtype) {
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    const panel_sizes sizes = measure_panels(plan, number);
    return SLOTS * (raw_bytes(&sizes, number) + BATCH_NARROW * (int64_t)sizeof(gsv_narrow_panel)) +
           sizes.largest_wide * number + scratch_bytes(plan, &sizes);
}

/* Allocate for one factor. To be closed whatever the status. */
static gpusolve_status pipeline_open(pipeline *p, const gsv_plan *plan, int64_t number,
                                     gsv_message *message) {
    const panel_sizes sizes = measure_panels(plan, number);
    p->capacity = sizes.capacity;
    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; k < SLOTS && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_malloc(&p->slots[k].raw, raw_bytes(&sizes, number), message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&p->solved, sizes.largest_wide * number, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc((void **)&p->scratch, scratch_bytes(plan, &sizes), message);
    if (status == GPUSOLVE_OK && sizes.largest > p->capacity &&
        !(p->pageable = gsv_malloc((size_t)sizes.largest, (size_t)number)))
        status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK && sizes.largest_wide > 0 && !p->cublas &&
        (cublasCreate(&p->cublas) != CUBLAS_STATUS_SUCCESS ||
         cublasSetStream(p->cublas, p->stream) != CUBLAS_STATUS_SUCCESS))
        status = gsv_fail(message, GPUSOLVE_CUDA_ERROR, "cublasCreate failed");
    return status;
}

/* Supernodes first .. last - 1, in one slot. */
static gpusolve_status run_batch(pipeline *p, batch_slot *slot, int32_t first, int32_t last,
                                 const gpusolve_factor *factor, const gsv_cuda_factor *device,
                                 const gpusolve_factor_data *data, int threads, gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    const int64_t number = (int64_t)gsv_dtype_bytes(factor->dtype);
    gpusolve_status status =
        gsv_cuda_check(cudaEventSynchronize(slot->done), "preparing the panels", message);
    if (status != GPUSOLVE_OK)
        return status;

    /* where each panel of the batch starts in the slot: the narrow ones' list, in passing */
    int64_t narrow = 0, size = 0;
    for (int32_t s = first; s < last; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        if (gsv_is_narrow(nr, nc))
            slot->narrow_host[narrow++] =
                (gsv_narrow_panel){size, plan->tiles->panel_ptr[s], device->parts[s], nr, nc};
        size += (int64_t)nr * nc;
    }
    char *buffer = size > p->capacity ? p->pageable : slot->pinned;
    if (last - first == 1) {
        gsv_import_panel(data, plan, first, buffer);
    } else {
        /* px of the batch: prefix sums again, by rows x columns, so that threads need no order */
#pragma omp parallel num_threads(threads)
        {
            int64_t at = 0;
            int32_t reached = first;
#pragma omp for schedule(static)
            for (int32_t s = first; s < last; s++) {
                for (; reached < s; reached++)
                    at += (int64_t)gsv_rows(plan, reached) * gsv_columns(plan, reached);
                gsv_import_panel(data, plan, s, buffer + at * number);
            }
        }
    }

    char *panels = (char *)device->plan.panels;
    status = gsv_cuda_check(
        cudaMemcpyAsync(slot->raw, buffer, (size_t)(size * number), cudaMemcpyHostToDevice, p->stream),
        "copying panels to the device", message);
    if (status == GPUSOLVE_OK && narrow > 0)
        status = gsv_cuda_check(cudaMemcpyAsync(slot->narrow, slot->narrow_host,
                                                (size_t)narrow * sizeof *slot->narrow, cudaMemcpyHostToDevice,
                                                p->stream),
                                "copying panels to the device", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(
            gsv_invert_narrow(factor->dtype, slot->narrow, narrow, slot->raw, panels, p->stream),
            "inverting narrow panels", message);
    int64_t at = 0;
    for (int32_t s = first; s < last && status == GPUSOLVE_OK; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        if (!gsv_is_narrow(nr, nc)) {
            status = gsv_invert_wide(factor->dtype, p->cublas, (char *)slot->raw + at * number, p->solved,
                                     p->scratch, panels + plan->tiles->panel_ptr[s] * number,
                                     device->parts[s], nr, nc, p->stream);
            if (status != GPUSOLVE_OK)
                gsv_fail(message, status, "inverting the panel of supernode %d failed", (int)s);
        }
        at += (int64_t)nr * nc;
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaEventRecord(slot->done, p->stream), "cudaEventRecord", message);
    return status;
}

gpusolve_status gsv_cuda_upload(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gsv_cuda_factor *device, const gpusolve_factor_data *data,
                                int *touched) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    pipeline *p = NULL;
    gpusolve_status status = pipeline_of(handle, &p);
    if (status != GPUSOLVE_OK)
        return status;
    status = pipeline_open(p, plan, (int64_t)gsv_dtype_bytes(factor->dtype), message);
    if (status == GPUSOLVE_OK)
        *touched = 1;
    int turn = 0;
    for (int32_t first = 0, last = 0; first < plan->l.nsuper && status == GPUSOLVE_OK; first = last, turn++) {
        int64_t size = 0;
        while (last < plan->l.nsuper) {
            const int64_t panel = (int64_t)gsv_rows(plan, last) * gsv_columns(plan, last);
            if (last > first && (size + panel > p->capacity || last - first == BATCH_NARROW))
                break;
            size += panel;
            last++;
        }
        status = run_batch(p, &p->slots[turn % SLOTS], first, last, factor, device, data, handle->threads,
                           message);
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamSynchronize(p->stream), "preparing the panels", message);
    pipeline_close(p);
    return status;
}
