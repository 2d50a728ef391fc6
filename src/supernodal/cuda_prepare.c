/*
 * The factor on the device: the plan's arrays and the panels [W; -M], in one allocation.
 *
 * Values travel in batches: host threads copy panels into a pinned buffer, one transfer brings the batch to
 * the device, one launch inverts its narrow panels and cuBLAS its wide ones (panel_inverse.h). Two slots let
 * the host fill one batch while the device works on the other. A panel larger than a slot's pinned buffer is
 * a batch of its own and comes through pageable memory.
 *
 * While a factor is prepared, the device holds three more buffers of the largest batch: two slots and
 * cuBLAS's solution.
 */
#include "../memory.h"
#include "../trsm/panel_inverse.h"
#include "cuda_support.h"

#include <stddef.h>

enum { SLOTS = 2, BATCH_BYTES = 16 << 20, BATCH_NARROW = 1 << 16 };

/* -------------------------------------------------------------------------------------------- layout --- */

enum { TINY, SMALL, WIDE, ROWS, GATHER_PTR, GATHER, ASSEMBLE, FORWARD, BACKWARD, PERM, D, PANELS, PARTS };

typedef struct layout {
    int64_t start[PARTS + 1]; /* bytes from the start of the allocation */
    int64_t size[PARTS];      /* bytes */
} layout;

static layout make_layout(const gsv_plan *plan, gpusolve_dtype dtype, int has_d) {
    const int64_t nsuper = plan->l.nsuper, rows = plan->l.row_ptr[nsuper], n = plan->l.n;
    const gsv_tiles *tiles = plan->tiles;
    const int64_t tiny = tiles->tiny.ptr[plan->nlevels], small = tiles->small.ptr[plan->nlevels];
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    const int complex = dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;
    layout l = {.size = {
                    [ROWS] = rows * 4,
                    [GATHER_PTR] = (rows + 1) * 4,
                    [GATHER] = plan->update_ptr[nsuper] * 4,
                    [TINY] = tiny * (int64_t)sizeof(gsv_node),
                    [SMALL] = small * (int64_t)sizeof(gsv_node),
                    [WIDE] = (nsuper - tiny - small) * (int64_t)sizeof(gsv_node),
                    [ASSEMBLE] = tiles->assemble.ptr[plan->nlevels] * (int64_t)sizeof(gsv_task),
                    [FORWARD] = tiles->forward.ptr[plan->nlevels] * (int64_t)sizeof(gsv_task),
                    [BACKWARD] = tiles->backward.ptr[plan->nlevels] * (int64_t)sizeof(gsv_task),
                    [PERM] = plan->l.perm ? n * 4 : 0,
                    [D] = has_d ? n * (complex ? number / 2 : number) : 0,
                    [PANELS] = tiles->panel_ptr[nsuper] * number,
                }};
    for (int k = 0; k < PARTS; k++)
        l.start[k + 1] = (l.start[k] + l.size[k] + 255) / 256 * 256;
    return l;
}

int64_t gsv_cuda_factor_bytes(const gsv_plan *plan, gpusolve_dtype dtype, int has_d) {
    return make_layout(plan, dtype, has_d).start[PARTS];
}

/* --------------------------------------------------------------------------------------------- values --- */

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

/* Allocate for one factor. To be closed whatever the status. */
static gpusolve_status pipeline_open(pipeline *p, const gsv_plan *plan, int64_t number,
                                     gsv_message *message) {
    int64_t largest = 0, largest_wide = 0, total = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        total += nr * nc;
        if (nr * nc > largest)
            largest = nr * nc;
        if (nr * nc > largest_wide && !gsv_is_narrow(nr, nc))
            largest_wide = nr * nc;
    }
    p->capacity = BATCH_BYTES / number < total ? BATCH_BYTES / number : total;
    const int64_t raw_bytes = (largest > p->capacity ? largest : p->capacity) * number;

    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; k < SLOTS && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_malloc(&p->slots[k].raw, raw_bytes, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&p->solved, largest_wide * number, message);
    if (status == GPUSOLVE_OK && largest_wide > 0)
        status =
            gsv_cuda_malloc((void **)&p->scratch,
                            gsv_invert_wide_scratch(plan->widest) * (int64_t)sizeof *p->scratch, message);
    if (status == GPUSOLVE_OK && largest > p->capacity &&
        !(p->pageable = gsv_malloc((size_t)largest, (size_t)number)))
        status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK && largest_wide > 0 && !p->cublas &&
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
                (gsv_narrow_panel){size, plan->tiles->panel_ptr[s], device->substitute[s], nr, nc};
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
                                     device->substitute[s], nr, nc, p->stream);
            if (status != GPUSOLVE_OK)
                gsv_fail(message, status, "inverting the panel of supernode %d failed", (int)s);
        }
        at += (int64_t)nr * nc;
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaEventRecord(slot->done, p->stream), "cudaEventRecord", message);
    return status;
}

static gpusolve_status copy_d(const gpusolve_factor *factor, const gsv_cuda_factor *device,
                              const gpusolve_factor_data *data, gsv_message *message) {
    if (!factor->has_d)
        return GPUSOLVE_OK;
    const layout l = make_layout(&factor->plan, factor->dtype, 1);
    void *d = gsv_malloc((size_t)l.size[D], 1);
    if (!d)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    gsv_import_d(data, d);
    const cudaError_t error =
        cudaMemcpy((void *)device->plan.d, d, (size_t)l.size[D], cudaMemcpyHostToDevice);
    gsv_free(d);
    return gsv_cuda_check(error, "copying D to the device", message);
}

/* How many triangles are kept for substitution. */
static gpusolve_status count_substituted(const gpusolve_factor *factor, gsv_cuda_factor *device,
                                         gsv_message *message) {
    const layout l = make_layout(&factor->plan, factor->dtype, factor->has_d);
    const int parts[] = {TINY, SMALL, WIDE};
    device->substituted = 0;
    for (int k = 0; k < 3; k++) {
        const int64_t bytes = l.size[parts[k]];
        gsv_node *nodes = gsv_malloc((size_t)bytes, 1);
        if (!nodes)
            return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
        const cudaError_t error = cudaMemcpy(nodes, (char *)device->memory + l.start[parts[k]], (size_t)bytes,
                                             cudaMemcpyDeviceToHost);
        for (int64_t i = 0; i < bytes / (int64_t)sizeof *nodes && error == cudaSuccess; i++)
            device->substituted += nodes[i].substitute;
        gsv_free(nodes);
        if (error != cudaSuccess)
            return gsv_cuda_check(error, "reading the nodes", message);
    }
    device->plan.substitute |= device->substituted > 0;
    return GPUSOLVE_OK;
}

/* All panels and D. *touched is set before the first number on the device changes. */
static gpusolve_status fill_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                   gsv_cuda_factor *device, const gpusolve_factor_data *data, int *touched) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    if (plan->l.n == 0)
        return GPUSOLVE_OK;
    pipeline *p = NULL;
    gpusolve_status status = pipeline_of(handle, &p);
    if (status != GPUSOLVE_OK)
        return status;
    status = pipeline_open(p, plan, (int64_t)gsv_dtype_bytes(factor->dtype), message);
    if (status == GPUSOLVE_OK) {
        *touched = 1;
        status = copy_d(factor, device, data, message);
    }
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
    if (status == GPUSOLVE_OK)
        status = count_substituted(factor, device, message);
    pipeline_close(p);
    return status;
}

/* ------------------------------------------------------------------------------------------- interface ---
 */

/* Node k of a list on the host, and where the device will have its switch. */
static void place_node(const gsv_plan *plan, int32_t s, gsv_node *list, char *device_list, int64_t k,
                       int32_t **substitute) {
    list[k] = (gsv_node){.panel = plan->tiles->panel_ptr[s],
                         .rows = plan->l.row_ptr[s],
                         .update = plan->update_ptr[s],
                         .first_column = plan->l.first_column[s],
                         .nc = gsv_columns(plan, s),
                         .nr = gsv_rows(plan, s)};
    substitute[s] = (int32_t *)(device_list + k * (int64_t)sizeof(gsv_node) + offsetof(gsv_node, substitute));
}

/* Staging for the parts that the device has in another form than the plan. */
typedef struct plan_copy {
    gsv_node *tiny, *small, *wide;
    gsv_task *tasks[3];
    int32_t *wide_index; /* [nsuper] */
} plan_copy;

static void free_copy(plan_copy *copy) {
    gsv_free(copy->tiny);
    gsv_free(copy->small);
    gsv_free(copy->wide);
    for (int k = 0; k < 3; k++)
        gsv_free(copy->tasks[k]);
    gsv_free(copy->wide_index);
}

/* Nodes by kind, and tasks that name their supernode by its place among the wide ones. Zero if out of memory.
 */
static int make_copy(const gsv_plan *plan, const layout *l, void *memory, int32_t **substitute,
                     plan_copy *copy) {
    const gsv_tiles *tiles = plan->tiles;
    const gsv_task_list *lists[3] = {&tiles->assemble, &tiles->forward, &tiles->backward};
    copy->tiny = gsv_malloc((size_t)l->size[TINY], 1);
    copy->small = gsv_malloc((size_t)l->size[SMALL], 1);
    copy->wide = gsv_malloc((size_t)l->size[WIDE], 1);
    copy->wide_index = gsv_malloc((size_t)plan->l.nsuper, sizeof *copy->wide_index);
    if (!copy->tiny || !copy->small || !copy->wide || !copy->wide_index)
        return 0;
    for (int64_t k = 0; k < tiles->tiny.ptr[plan->nlevels]; k++)
        place_node(plan, tiles->tiny.supernode[k], copy->tiny, (char *)memory + l->start[TINY], k,
                   substitute);
    for (int64_t k = 0; k < tiles->small.ptr[plan->nlevels]; k++)
        place_node(plan, tiles->small.supernode[k], copy->small, (char *)memory + l->start[SMALL], k,
                   substitute);
    int32_t wide = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s))) {
            copy->wide_index[s] = wide;
            place_node(plan, s, copy->wide, (char *)memory + l->start[WIDE], wide++, substitute);
        }
    for (int list = 0; list < 3; list++) {
        const int64_t count = lists[list]->ptr[plan->nlevels];
        gsv_task *tasks = copy->tasks[list] = gsv_malloc((size_t)count, sizeof *tasks);
        if (!tasks)
            return 0;
        for (int64_t k = 0; k < count; k++) {
            tasks[k] = lists[list]->task[k];
            tasks[k].supernode = copy->wide_index[tasks[k].supernode];
        }
    }
    return 1;
}

static gpusolve_status copy_plan(const gpusolve_factor *factor, gsv_cuda_factor *device,
                                 gsv_message *message) {
    const gsv_plan *plan = &factor->plan;
    const layout l = make_layout(plan, factor->dtype, factor->has_d);
    char *base = device->memory;
    plan_copy copy = {0};
    device->substitute = gsv_malloc((size_t)plan->l.nsuper, sizeof *device->substitute);
    if (!device->substitute || !make_copy(plan, &l, base, device->substitute, &copy)) {
        free_copy(&copy);
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    }
    const void *from[PARTS] = {
        [TINY] = copy.tiny,
        [SMALL] = copy.small,
        [WIDE] = copy.wide,
        [ROWS] = plan->l.rows,
        [GATHER_PTR] = plan->tiles->gather_ptr,
        [GATHER] = plan->tiles->gather,
        [ASSEMBLE] = copy.tasks[0],
        [FORWARD] = copy.tasks[1],
        [BACKWARD] = copy.tasks[2],
        [PERM] = plan->l.perm,
    };
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < PARTS && error == cudaSuccess; k++)
        if (from[k] && l.size[k] > 0)
            error = cudaMemcpy(base + l.start[k], from[k], (size_t)l.size[k], cudaMemcpyHostToDevice);
    free_copy(&copy);
    device->plan = (gsv_device_plan){
        .tiny = (const gsv_node *)(base + l.start[TINY]),
        .small = (const gsv_node *)(base + l.start[SMALL]),
        .wide = (const gsv_node *)(base + l.start[WIDE]),
        .rows = (const int32_t *)(base + l.start[ROWS]),
        .gather_ptr = (const uint32_t *)(base + l.start[GATHER_PTR]),
        .gather = (const uint32_t *)(base + l.start[GATHER]),
        .assemble = (const gsv_task *)(base + l.start[ASSEMBLE]),
        .forward = (const gsv_task *)(base + l.start[FORWARD]),
        .backward = (const gsv_task *)(base + l.start[BACKWARD]),
        .perm = plan->l.perm ? (const int32_t *)(base + l.start[PERM]) : NULL,
        .panels = base + l.start[PANELS],
        .d = factor->has_d ? base + l.start[D] : NULL,
    };
    return gsv_cuda_check(error, "copying the plan to the device", message);
}

gpusolve_status gsv_cuda_prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data) {
    const int previous = gsv_cuda_enter(handle->device);
    gsv_message *message = &handle->message;
    gpusolve_status status = GPUSOLVE_OK;
    gsv_cuda_factor *device = gsv_calloc(1, sizeof *device);
    if (!device)
        status = gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc(&device->memory,
                                 gsv_cuda_factor_bytes(&factor->plan, factor->dtype, factor->has_d), message);
    if (status == GPUSOLVE_OK)
        status = copy_plan(factor, device, message);
    int touched = 0;
    if (status == GPUSOLVE_OK)
        status = fill_values(handle, factor, device, data, &touched);
    factor->prepared = device;
    if (status != GPUSOLVE_OK)
        gsv_cuda_release(factor);
    gsv_cuda_leave(previous);
    return status;
}

gpusolve_status gsv_cuda_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data) {
    const int previous = gsv_cuda_enter(handle->device);
    int touched = 0;
    gpusolve_status status =
        gsv_cuda_check(cudaDeviceSynchronize(), "waiting for the solves before a refresh", &handle->message);
    if (status == GPUSOLVE_OK)
        status = fill_values(handle, factor, factor->prepared, data, &touched);
    factor->unusable = status != GPUSOLVE_OK && (touched || factor->unusable);
    gsv_cuda_leave(previous);
    return status;
}

void gsv_cuda_release(gpusolve_factor *factor) {
    gsv_cuda_factor *device = factor->prepared;
    if (!device)
        return;
    const int previous = gsv_cuda_enter(factor->device);
    cudaFree(device->memory);
    gsv_free(device->substitute);
    gsv_free(device);
    factor->prepared = NULL;
    gsv_cuda_leave(previous);
}
