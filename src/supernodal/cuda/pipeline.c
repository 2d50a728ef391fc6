/* What an upload works with: cuda/pipeline.h. */
#include "pipeline.h"

#include "../../memory.h"

static void free_room(gsv_pipeline *p) {
    gsv_cuda_free(p->room);
    p->room = NULL;
    p->room_bytes = 0;
}

void gsv_pipeline_room_end(gsv_pipeline *p) {
    if (p->room_bytes > GSV_KEPT_ROOM)
        free_room(p);
}

void gsv_pipeline_close(gsv_pipeline *p) {
    cudaStreamSynchronize(p->transfer);
    cudaStreamSynchronize(p->narrow);
    for (int k = 0; k < GSV_MOST_LANES; k++)
        cudaStreamSynchronize(p->lanes[k].stream);
    gsv_pipeline_room_end(p);
}

static void pipeline_destroy(gsv_pipeline *p) {
    free_room(p); /* no call is under way */
    for (int k = 0; k < GSV_HOST_LISTS; k++)
        gsv_cuda_unpin(p->lists[k]);
    for (int k = 0; k < GSV_MOST_SLOTS; k++) {
        gsv_cuda_event_free(p->slots[k].arrived);
        gsv_cuda_event_free(p->slots[k].done);
        gsv_cuda_event_free(p->slots[k].narrow);
    }
    for (int k = 0; k < GSV_BUFFERS; k++)
        gsv_cuda_event_free(p->copied[k]);
    gsv_cuda_unpin(p->pinned);
    gsv_cuda_stream_free(p->transfer);
    gsv_cuda_stream_free(p->narrow);
    for (int k = 0; k < GSV_MOST_LANES; k++)
        gsv_cuda_stream_free(p->lanes[k].stream);
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

static gpusolve_status allocate_pinned(char **memory, int64_t bytes, gsv_message *message) {
    void *found;
    const gpusolve_status status = gsv_cuda_pin(&found, (size_t)bytes, cudaHostAllocDefault, message);
    *memory = found;
    return status;
}

static gpusolve_status fill_pipeline(gsv_pipeline *p, gsv_message *message) {
    gpusolve_status status = gsv_cuda_stream(&p->transfer, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_stream(&p->narrow, message);
    for (int k = 0; k < GSV_MOST_LANES && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_stream(&p->lanes[k].stream, message);
    if (status == GPUSOLVE_OK)
        status = allocate_pinned(&p->pinned, (int64_t)GSV_BUFFERS * GSV_CHUNK_BYTES, message);
    for (int k = 0; k < GSV_BUFFERS && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_event(&p->copied[k], message);
    for (int k = 0; k < GSV_HOST_LISTS && status == GPUSOLVE_OK; k++)
        status = allocate_pinned(&p->lists[k], GSV_LIST_BYTES, message);
    for (int k = 0; k < GSV_MOST_SLOTS && status == GPUSOLVE_OK; k++) {
        gsv_batch_slot *slot = &p->slots[k];
        status = gsv_cuda_event(&slot->arrived, message);
        if (status == GPUSOLVE_OK)
            status = gsv_cuda_event(&slot->done, message);
        if (status == GPUSOLVE_OK)
            status = gsv_cuda_event(&slot->narrow, message);
    }
    return status;
}

gpusolve_status gsv_pipeline_of(gpusolve_handle *handle, gsv_pipeline **found) {
    gsv_message *message = &handle->message;
    if (!handle->scratch) {
        gsv_pipeline *p = gsv_calloc(1, sizeof *p);
        if (!p)
            return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
        const gpusolve_status status = fill_pipeline(p, message);
        if (status != GPUSOLVE_OK) {
            pipeline_destroy(p);
            return status;
        }
        handle->scratch = p;
    }
    *found = handle->scratch;
    return GPUSOLVE_OK;
}

static int64_t round_up(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Where things are in a pipeline's room, in bytes; batches arrive at its beginning. */
typedef struct layout {
    int64_t lists; /* of the first slot */
    int64_t inverse[GSV_MOST_LANES], sums[GSV_MOST_LANES];
    int64_t k, cut, bytes;
} layout;

static layout lay_out(const gsv_upload_room *room, int64_t number, const gsv_plan *plan) {
    layout l = {.lists = round_up(room->raw)};
    int64_t at = l.lists + room->slots * round_up(GSV_LIST_BYTES);
    for (int k = 0; k <= room->lanes; k++) {
        const gsv_batch_size *size = k == 0 ? &room->first : &room->most;
        l.inverse[k] = at;
        l.sums[k] = at + round_up(size->inverse * number);
        at = l.sums[k] + round_up(size->sums * (int64_t)sizeof(double));
    }
    l.k = at;
    l.cut = l.k + plan->l.nsuper * (int64_t)sizeof(float);
    l.bytes = l.cut + plan->l.n;
    return l;
}

int64_t gsv_cuda_upload_bytes(const gsv_plan *plan, gsv_numbers numbers) {
    const int64_t number = (int64_t)gsv_panel_bytes(numbers);
    const gsv_upload_room room = gsv_upload_room_of(plan, number);
    return lay_out(&room, number, plan).bytes;
}

gpusolve_status gsv_pipeline_room(gsv_pipeline *p, int64_t bytes, void **room, gsv_message *message) {
    gpusolve_status status = GPUSOLVE_OK;
    if (p->room_bytes < bytes) {
        free_room(p);
        status = gsv_cuda_malloc(&p->room, bytes, message);
        if (status == GPUSOLVE_OK)
            p->room_bytes = bytes;
    }
    *room = p->room;
    return status;
}

gpusolve_status gsv_pipeline_open(gsv_pipeline *p, const gsv_upload_room *room, const gsv_plan *plan,
                                  gpusolve_dtype dtype, gsv_message *message) {
    const layout l = lay_out(room, (int64_t)gsv_dtype_bytes(dtype), plan);
    for (int k = 0; p->lent && k < GSV_BUFFERS; k++) {
        const gpusolve_status status =
            gsv_cuda_check(cudaEventSynchronize(p->copied[k]), "waiting for a copy to the device", message);
        if (status != GPUSOLVE_OK)
            return status;
    }
    p->lent = 0;
    void *memory;
    const gpusolve_status status = gsv_pipeline_room(p, l.bytes, &memory, message);
    if (status != GPUSOLVE_OK)
        return status;
    p->raw = memory;
    for (int k = 0; k < room->slots; k++)
        p->slots[k].lists = p->raw + l.lists + k * round_up(GSV_LIST_BYTES);
    for (int k = 0; k <= room->lanes; k++) {
        p->lanes[k].inverse = p->raw + l.inverse[k];
        p->lanes[k].sums = (double *)(p->raw + l.sums[k]);
    }
    p->k = (float *)(p->raw + l.k);
    p->cut = (uint8_t *)(p->raw + l.cut);
    return room->first.inverse + room->most.inverse > 0
               ? gsv_cuda_check(gsv_invert_reserve(dtype), "asking what the device can run", message)
               : GPUSOLVE_OK;
}
