/* Streams, events and memory of a stage, made and given back. */
#include "cuda_stage.h"

#include <string.h>

#include "../../device.h"
#include "../../memory.h"
#include "../cuda/context.h"

enum { DEFAULT_PINNED = 256 << 20 };

static gpusolve_status make(gsv_stage *stage, size_t device_bytes, size_t pinned_bytes) {
    gpusolve_handle *inner = stage->inner;
    gsv_message *message = &inner->message;
    cudaEvent_t *const events[] = {
        &stage->arrived,   &stage->left,    &stage->finished[0], &stage->finished[1], &stage->stored[0],
        &stage->stored[1], &stage->used[0], &stage->used[1],     &stage->used[2],     &stage->used[3],
        &stage->used[4],   &stage->used[5], &stage->used[6],     &stage->used[7]};
    const int threads = inner->threads > 1 ? inner->threads / 2 : 1; /* for each direction */
    gsv_cuda_context *cuda = NULL;
    gpusolve_status status = gsv_cuda_stream(&stage->compute, message);
    for (size_t k = 0; k < sizeof events / sizeof *events && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_event(events[k], message);
    const size_t pinned = pinned_bytes ? pinned_bytes / 2 : DEFAULT_PINNED;
    if (status == GPUSOLVE_OK)
        status = gsv_transfer_create(&stage->in, pinned, threads, message);
    if (status == GPUSOLVE_OK)
        status = gsv_transfer_create(&stage->out, pinned, threads, message);
    if (status == GPUSOLVE_OK)
        status = gpusolve_set_stream(inner, stage->compute);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_context_of(inner, &cuda);
    size_t available = 0, total = 0;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo", message);
    const size_t wanted = device_bytes ? device_bytes : available / 4 * 3;
    stage->bytes = wanted < INT64_MAX ? (int64_t)wanted / 256 * 256 : INT64_MAX;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_malloc((void **)&stage->memory, stage->bytes, message);
    return status;
}

gpusolve_status gsv_stage_create(gpusolve_handle *inner, size_t device_bytes, size_t pinned_bytes,
                                 gsv_stage **stage) {
    gsv_stage *made = gsv_calloc(1, sizeof *made);
    *stage = NULL;
    if (!made)
        return gsv_fail(&inner->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for staging");
    made->inner = inner;
    const int previous = gsv_cuda_enter(inner->device);
    const gpusolve_status status = make(made, device_bytes, pinned_bytes);
    gsv_cuda_leave(previous);
    if (status == GPUSOLVE_OK)
        *stage = made;
    else
        gsv_stage_destroy(made);
    return status;
}

void gsv_stage_destroy(gsv_stage *stage) {
    if (!stage)
        return;
    const int previous = gsv_cuda_enter(stage->inner->device);
    cudaEvent_t events[6 + GSV_TILE_RING] = {stage->arrived,     stage->left,      stage->finished[0],
                                             stage->finished[1], stage->stored[0], stage->stored[1]};
    memcpy(events + 6, stage->used, sizeof stage->used);
    for (int k = 0; k < 6 + GSV_TILE_RING; k++)
        gsv_cuda_event_free(events[k]);
    gpusolve_set_stream(stage->inner, NULL); /* inner lives on, its stream does not */
    gsv_transfer_destroy(&stage->in);
    gsv_transfer_destroy(&stage->out);
    gsv_cuda_stream_free(stage->compute);
    gsv_cuda_free(stage->memory);
    gsv_free(stage);
    gsv_cuda_leave(previous);
}
