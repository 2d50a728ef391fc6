/*
 * gpusolve_create and what belongs to a handle alone: which backend runs, on which device, with how many
 * threads. Reads no environment variable but OpenMP's own: what runs is what the options say and what the
 * machine has.
 */
#include "handle.h"

#include <stdio.h>

#include "memory.h"
#include "openmp.h"
#include "pool.h"
#include "supernodal/api/executor.h"

static gpusolve_status check_options(const gpusolve_options *options) {
    if (options->size != sizeof *options)
        return GPUSOLVE_INVALID_ARGUMENT;
    if (options->backend != GPUSOLVE_BACKEND_AUTO && options->backend != GPUSOLVE_BACKEND_HOST &&
        options->backend != GPUSOLVE_BACKEND_CUDA)
        return GPUSOLVE_INVALID_ARGUMENT;
    if (options->device < -1)
        return GPUSOLVE_INVALID_ARGUMENT;
    if (options->threads < 0 || options->threads > GSV_MAX_THREADS)
        return GPUSOLVE_INVALID_ARGUMENT;
    return GPUSOLVE_OK;
}

static void use_host(gpusolve_handle *handle) {
    handle->backend = GPUSOLVE_BACKEND_HOST;
    handle->executor = &gsv_host_executor;
    handle->device = -1;
    handle->stream = NULL;
    snprintf(handle->device_name, sizeof handle->device_name, "host, %d thread%s", handle->threads,
             handle->threads == 1 ? "" : "s");
}

static gpusolve_status use_cuda(gpusolve_handle *handle, const gpusolve_options *options) {
#ifdef GPUSOLVE_WITH_CUDA
    handle->backend = GPUSOLVE_BACKEND_CUDA;
    handle->executor = &gsv_cuda_executor;
    handle->device = options->device;
    handle->stream = options->stream;
    return gsv_cuda_probe(&handle->device, handle->device_name, sizeof handle->device_name, &handle->message);
#else
    (void)handle;
    (void)options;
    return GPUSOLVE_NO_DEVICE;
#endif
}

gpusolve_status gpusolve_create(gpusolve_handle **handle, const gpusolve_options *options) {
    static const gpusolve_options defaults = GPUSOLVE_OPTIONS_INIT;
    if (!handle)
        return GPUSOLVE_INVALID_ARGUMENT;
    *handle = NULL;
    if (!options)
        options = &defaults;
    gpusolve_status status = check_options(options);
    if (status)
        return status;

    gpusolve_handle *created = gsv_calloc(1, sizeof *created);
    if (!created)
        return GPUSOLVE_OUT_OF_MEMORY;
    created->same_bits = options->same_bits != 0;
    created->threads = options->threads ? options->threads : gsv_default_threads();
    if (gsv_pool_create(created->threads, &created->pool)) {
        gsv_free(created);
        return GPUSOLVE_OUT_OF_MEMORY;
    }
    status = options->backend == GPUSOLVE_BACKEND_HOST ? GPUSOLVE_NO_DEVICE : use_cuda(created, options);
    if (status && options->backend == GPUSOLVE_BACKEND_CUDA) {
        gsv_pool_destroy(created->pool);
        gsv_free(created);
        return status;
    }
    if (status) {
        created->message.text[0] = '\0'; /* that there is no device is no failure here */
        use_host(created);
    }
    *handle = created;
    return GPUSOLVE_OK;
}

gsv_turn gsv_turn_take(gpusolve_handle *handle) {
    static _Thread_local char here; /* each thread has one, at another address */
    const uintptr_t me = (uintptr_t)&here;
    uintptr_t nobody = 0;
    if (!handle)
        return (gsv_turn){NULL, GPUSOLVE_INVALID_ARGUMENT};
    if (__atomic_load_n(&handle->user, __ATOMIC_RELAXED) == me)
        return (gsv_turn){NULL, GPUSOLVE_OK}; /* an outer call has the turn */
    if (__atomic_compare_exchange_n(&handle->user, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return (gsv_turn){handle, GPUSOLVE_OK};
    return (gsv_turn){NULL, GPUSOLVE_BUSY};
}

void gsv_turn_end(gsv_turn *turn) {
    if (turn->handle)
        __atomic_store_n(&turn->handle->user, 0, __ATOMIC_RELEASE);
}

void gsv_handle_wait(const gpusolve_handle *handle) {
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA)
        gsv_cuda_synchronize(handle->device, handle->stream);
#else
    (void)handle;
#endif
}

void gpusolve_destroy(gpusolve_handle *handle) {
    if (!handle)
        return;
    gsv_handle_wait(handle);
    if (handle->own_destroy)
        handle->own_destroy(handle);
    if (handle->executor->handle_destroy)
        handle->executor->handle_destroy(handle);
    if (handle->trsv_destroy)
        handle->trsv_destroy(handle);
    if (handle->dense_destroy)
        handle->dense_destroy(handle);
    gsv_pool_destroy(handle->pool);
    gsv_free(handle);
}

const char *gpusolve_last_error(const gpusolve_handle *handle) {
    return handle ? handle->message.text : "";
}

gpusolve_backend gpusolve_get_backend(const gpusolve_handle *handle) {
    return handle ? handle->backend : GPUSOLVE_BACKEND_HOST;
}

const char *gpusolve_get_device_name(const gpusolve_handle *handle) {
    return handle ? handle->device_name : "";
}

gpusolve_status gpusolve_set_stream(gpusolve_handle *handle, void *stream) {
    GSV_ENTER(handle);
    if (handle->backend == GPUSOLVE_BACKEND_CUDA)
        handle->stream = stream;
    return GPUSOLVE_OK;
}
