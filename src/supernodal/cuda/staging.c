/*
 * b and x between host memory and the device.
 *
 * The driver copies pageable memory through pinned buffers of its own on one thread, at 7 to 16 GB/s. 16 threads copy 42 GB/s in and
 * 51 out (bench/results/h100-transfer.jsonl), so large pageable blocks go by the handle's threads through the pinned buffers of an
 * upload (pipeline.h), chunk by chunk (src/chunks.h). No upload is under way then: both are calls of one handle. The next upload
 * waits until the device is through with the buffers.
 * All else goes by the driver: pinned memory, which it reads directly; small blocks, for which it would take longer to
 * wake threads; and every block where there is no memory for the buffers.
 */
#include "pipeline.h"

#include <stdatomic.h>

#include "../../chunks.h"

/* Bytes from which the threads are faster than the driver, by gpusolve-transfer-bench with 16 threads beside an H100; and bytes that
 * are worth a thread. */
enum { LEAST_IN = 3 << 20, LEAST_OUT = 1 << 20, LEAST_LIST = 1 << 20, GRAIN = 1 << 17 };

_Static_assert((int)GSV_CHUNK_RING == (int)GSV_BUFFERS, "the ring is the buffers of an upload");
_Static_assert(GSV_CHUNK_BYTES % GSV_CHUNK_PIECE == 0, "a chunk is whole pieces");

static _Atomic int64_t forced_least;

void gsv_cuda_stage_from(int64_t bytes) {
    atomic_store(&forced_least, bytes);
}

/* A block on its way. */
typedef struct passage {
    gsv_pipeline *pipeline;
    cudaStream_t stream;
    int device, out;
    char *on_device;
} passage;

/* Calls by several threads, each of which may have another device, or run beside a capture that forbids more than these need. */
typedef struct visit {
    int previous;
    enum cudaStreamCaptureMode mode;
} visit;

static visit begin_visit(const passage *p) {
    visit v = {gsv_cuda_enter(p->device), cudaStreamCaptureModeRelaxed};
    cudaThreadExchangeStreamCaptureMode(&v.mode);
    return v;
}

static int end_visit(visit v, cudaError_t error) {
    cudaThreadExchangeStreamCaptureMode(&v.mode);
    gsv_cuda_leave(v.previous);
    return (int)error;
}

static int wait_for_buffer(void *context, int buffer) {
    const passage *p = context;
    const visit v = begin_visit(p);
    return end_visit(v, cudaEventSynchronize(p->pipeline->copied[buffer])); /* never recorded: complete */
}

static int pass_buffer(void *context, int buffer, size_t begin, size_t end) {
    const passage *p = context;
    const visit v = begin_visit(p);
    char *pinned = p->pipeline->pinned + (size_t)buffer * GSV_CHUNK_BYTES, *device = p->on_device + begin;
    cudaError_t error = p->out
                            ? cudaMemcpyAsync(pinned, device, end - begin, cudaMemcpyDeviceToHost, p->stream)
                            : cudaMemcpyAsync(device, pinned, end - begin, cudaMemcpyHostToDevice, p->stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(p->pipeline->copied[buffer], p->stream);
    return end_visit(v, error);
}

/* How many threads copy a block; 1: the driver does. */
static int threads_for(const gpusolve_handle *handle, const void *host, int64_t bytes, int out) {
    const int64_t forced = atomic_load(&forced_least);
    int where = GSV_PAGEABLE;
    if (bytes < (forced > 0 ? forced : out ? LEAST_OUT : LEAST_IN))
        return 1;
    const int threads =
        forced > 0 ? gsv_pool_threads(handle->pool) : gsv_pool_share(handle->pool, bytes, GRAIN);
    if (threads == 1 || gsv_cuda_check_pointer(handle->device, "host", host, &where, NULL) != GPUSOLVE_OK)
        return 1;
    return where == GSV_PAGEABLE ? threads : 1;
}

/* The pinned buffers, or NULL. That there are none is no failure of the call. */
static gsv_pipeline *find_buffers(gpusolve_handle *handle) {
    gsv_pipeline *pipeline = NULL;
    const gsv_message before = handle->message;
    if (gsv_pipeline_of(handle, &pipeline) == GPUSOLVE_OK)
        return pipeline;
    handle->message = before;
    return NULL;
}

/* `height` rows of `width` bytes, by the threads. */
static cudaError_t copy_by_threads(gpusolve_handle *handle, gsv_pipeline *pipeline, int threads,
                                   cudaStream_t stream, gsv_chunks chunks, void *device) {
    passage p = {pipeline, stream, handle->device, chunks.out, device};
    chunks.buffers = pipeline->pinned;
    chunks.buffer_bytes = GSV_CHUNK_BYTES;
    chunks.context = &p;
    chunks.wait = wait_for_buffer;
    chunks.pass = pass_buffer;
    pipeline->lent = 1;
    return (cudaError_t)gsv_chunks_copy(&chunks, handle->pool, threads);
}

cudaError_t gsv_cuda_copy_block(gpusolve_handle *handle, const gpusolve_dense *host, void *device,
                                enum cudaMemcpyKind kind) {
    const size_t number = gsv_dtype_bytes(host->dtype);
    const int row_major = host->order == GPUSOLVE_ROW_MAJOR, out = kind == cudaMemcpyDeviceToHost;
    const size_t width = (size_t)(row_major ? host->cols : host->rows) * number;
    const size_t height = (size_t)(row_major ? host->rows : host->cols);
    const size_t pitch = height > 1 ? (size_t)host->ld * number : width;
    cudaStream_t stream = (cudaStream_t)handle->stream;

    const int threads = threads_for(handle, host->values, (int64_t)(width * height), out);
    gsv_pipeline *pipeline = threads > 1 ? find_buffers(handle) : NULL;
    if (!pipeline)
        return out ? cudaMemcpy2DAsync(host->values, pitch, device, width, width, height, kind, stream)
                   : cudaMemcpy2DAsync(device, width, host->values, pitch, width, height, kind, stream);

    const gsv_chunks chunks = {
        .block = host->values, .width = width, .height = height, .pitch = pitch, .out = out};
    return copy_by_threads(handle, pipeline, threads, stream, chunks, device);
}

cudaError_t gsv_cuda_fill_shared(gpusolve_handle *handle, void *device, const void *host, size_t bytes) {
    const int threads = bytes < LEAST_LIST ? 1 : gsv_pool_share(handle->pool, (int64_t)bytes, GRAIN);
    gsv_pipeline *pipeline = threads > 1 ? find_buffers(handle) : NULL;
    if (!pipeline)
        return gsv_cuda_fill(device, host, bytes);
    const gsv_chunks chunks = {.block = (char *)(uintptr_t)host, .width = bytes, .height = 1, .pitch = bytes};
    const cudaError_t error = copy_by_threads(handle, pipeline, threads, pipeline->transfer, chunks, device);
    return error == cudaSuccess ? cudaStreamSynchronize(pipeline->transfer) : error;
}
