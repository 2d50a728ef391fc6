/* op(A) x = b with device pointers: the handle's device memory, made by its first call, and the launch. */
#include "trsv_launch.h"

#include <stdatomic.h>

#include "../handle.h"
#include "../memory.h"
#include "trsv_cuda.h"
#include "../device.h"

enum {
    CAPACITY = 2 << 20,
    ROUND = 64,
    DUMP = 2048
}; /* bytes of a buffer and after both; rows of a block, at most */

/* handle->trsv */
typedef struct trsv_memory {
    gsv_trsv_scratch scratch;
    void *memory;
    int ready[4]; /* by dtype: the kernels have their shared memory */
} trsv_memory;

static gsv_trsv_setup *const setups[4] = {gsv_trsv_setup_s, gsv_trsv_setup_d, gsv_trsv_setup_c,
                                          gsv_trsv_setup_z};
static gsv_trsv_launch *const launches[4] = {gsv_trsv_launch_s, gsv_trsv_launch_d, gsv_trsv_launch_c,
                                             gsv_trsv_launch_z};

static void destroy(gpusolve_handle *handle) {
    trsv_memory *memory = handle->trsv;
    const int previous = gsv_cuda_enter(handle->device);
    gsv_cuda_free(memory->memory);
    gsv_cuda_leave(previous);
    gsv_free(memory);
    handle->trsv = NULL;
    handle->trsv_destroy = NULL;
}

/* Set the memory up on a stream of its own, so that the handle's may be under capture. */
static gpusolve_status initialise(const trsv_memory *memory, gsv_message *message) {
    cudaStream_t stream = NULL;
    const gpusolve_status status = gsv_cuda_stream(&stream, message);
    if (status)
        return status;
    cudaError_t error = cudaMemsetAsync(memory->scratch.state, 0, GSV_TRSV_STATE_BYTES, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(memory->scratch.buffers, 0xff, 2 * (size_t)CAPACITY, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    gsv_cuda_stream_free(stream);
    return gsv_cuda_check(error, "setting up TRSV's device memory", message);
}

static _Atomic int forced_split;

void gsv_trsv_force_split(int from) {
    atomic_store(&forced_split, from);
}

static gpusolve_status create(gpusolve_handle *handle) {
    trsv_memory *memory = gsv_calloc(1, sizeof *memory);
    if (!memory)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for TRSV");
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* allocating is no part of a graph */
    const int exchanged = cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess;
    gpusolve_status status =
        gsv_cuda_malloc(&memory->memory, 256 + 2 * (int64_t)CAPACITY + DUMP, &handle->message);
    if (status == GPUSOLVE_OK) {
        memory->scratch.state = memory->memory;
        memory->scratch.buffers = (char *)memory->memory + 256;
        memory->scratch.capacity = CAPACITY;
        status = initialise(memory, &handle->message);
    }
    if (exchanged)
        cudaThreadExchangeStreamCaptureMode(&mode);
    if (status) {
        gsv_cuda_free(memory->memory);
        gsv_free(memory);
        return status;
    }
    handle->trsv = memory;
    handle->trsv_destroy = destroy;
    return GPUSOLVE_OK;
}

gpusolve_status gsv_trsv_cuda_check(gpusolve_handle *handle, const gsv_trsv *p) {
    static const int64_t number_bytes[4] = {4, 8, 8, 16};
    if ((p->n + ROUND - 1) / ROUND * ROUND * number_bytes[p->dtype] > CAPACITY)
        return gsv_fail(&handle->message, GPUSOLVE_TOO_LARGE, "n: %lld, the vector has more than 2 MiB",
                        (long long)p->n);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_trsv_cuda(gpusolve_handle *handle, const gsv_trsv *p) {
    if (!handle->trsv) {
        const gpusolve_status status = create(handle);
        if (status)
            return status;
    }
    trsv_memory *memory = handle->trsv;
    if (!memory->ready[p->dtype]) {
        if (setups[p->dtype]() != cudaSuccess) {
            cudaGetLastError();
            return gsv_fail(&handle->message, GPUSOLVE_NOT_SUPPORTED,
                            "TRSV wants 160 KB of shared memory for a block, which this device has not");
        }
        memory->ready[p->dtype] = 1;
    }
    gsv_trsv_scratch scratch = memory->scratch;
    scratch.split_from = atomic_load(&forced_split);
    return gsv_cuda_check(launches[p->dtype](p, &scratch, (cudaStream_t)handle->stream), "launching TRSV",
                          &handle->message);
}
