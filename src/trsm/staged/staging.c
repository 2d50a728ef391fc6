/*
 * gpusolve_staging and the calls on operands in host memory: arguments, the thread that carries a call out,
 * and waiting for it. On the host backend a call is carried out at once.
 */
#include <pthread.h>

#include "../../memory.h"
#include "../dense_checks.h"

#ifdef GPUSOLVE_WITH_CUDA
#include "cuda_staged.h"
#endif

struct gpusolve_staging {
    gpusolve_handle *inner;  /* of its own: the caller's may be used meanwhile */
    struct gsv_stage *stage; /* CUDA */
    gsv_triangular p;        /* the call that was made last */
    gsv_number alpha;
    gpusolve_status status; /* and how it ended */
    pthread_t thread;
    int running; /* a thread is there to be joined */
    _Atomic int done;
};

/* -------------------------------------------------------------------------------------------- objects --- */

gpusolve_status gpusolve_staging_create(gpusolve_handle *handle, const gpusolve_staging_options *options,
                                        gpusolve_staging **staging) {
    static const gpusolve_staging_options defaults = GPUSOLVE_STAGING_OPTIONS_INIT;
    if (staging)
        *staging = NULL;
    GSV_ENTER(handle);
    if (!options)
        options = &defaults;
    if (options->size != sizeof *options)
        return gsv_dense_invalid(handle, "options: size is not that of gpusolve_staging_options");
    if (!staging)
        return gsv_dense_invalid(handle, "staging: is NULL");
    gpusolve_staging *made = gsv_calloc(1, sizeof *made);
    if (!made)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for staging");
    gpusolve_options inner = GPUSOLVE_OPTIONS_INIT;
    inner.backend = handle->backend;
    inner.device = handle->device;
    inner.threads = handle->threads;
    gpusolve_status status = gpusolve_create(&made->inner, &inner);
    if (status != GPUSOLVE_OK) {
        gsv_free(made);
        return gsv_fail(&handle->message, status, "staging could not make a handle of its own: %s",
                        gpusolve_status_message(status));
    }
#ifdef GPUSOLVE_WITH_CUDA
    if (handle->backend == GPUSOLVE_BACKEND_CUDA)
        status = gsv_stage_create(made->inner, options->device_bytes, options->pinned_bytes, &made->stage);
#endif
    if (status != GPUSOLVE_OK) {
        handle->message = made->inner->message;
        gpusolve_staging_destroy(made);
        return status;
    }
    *staging = made;
    return GPUSOLVE_OK;
}

gpusolve_status gpusolve_staging_wait(gpusolve_staging *staging) {
    if (!staging)
        return GPUSOLVE_INVALID_ARGUMENT;
    if (staging->running)
        pthread_join(staging->thread, NULL);
    staging->running = 0;
    return staging->status;
}

int gpusolve_staging_is_done(const gpusolve_staging *staging) {
    return !staging || !staging->running || staging->done;
}

const char *gpusolve_staging_last_error(const gpusolve_staging *staging) {
    return staging && !staging->running ? staging->inner->message.text : "";
}

void gpusolve_staging_destroy(gpusolve_staging *staging) {
    if (!staging)
        return;
    gpusolve_staging_wait(staging);
#ifdef GPUSOLVE_WITH_CUDA
    gsv_stage_destroy(staging->stage);
#endif
    gpusolve_destroy(staging->inner);
    gsv_free(staging);
}

/* ---------------------------------------------------------------------------------------------- calls --- */

#ifdef GPUSOLVE_WITH_CUDA
static void *carry_out(void *context) {
    gpusolve_staging *staging = context;
    staging->status = gsv_stage_run(staging->stage, &staging->p, staging->alpha);
    staging->done = 1;
    return NULL;
}
#endif

static gpusolve_status start(gpusolve_staging *staging) {
#ifdef GPUSOLVE_WITH_CUDA
    if (staging->stage) {
        staging->done = 0;
        staging->running =
            !gsv_thread_fails() && pthread_create(&staging->thread, NULL, carry_out, staging) == 0;
        return staging->running ? GPUSOLVE_OK
                                : gsv_fail(&staging->inner->message, GPUSOLVE_OUT_OF_MEMORY,
                                           "cannot start a thread for a staged call");
    }
#endif
    return staging->status = gsv_triangular_host(staging->inner, &staging->p, staging->alpha);
}

static gpusolve_status call(gpusolve_staging *staging, gsv_triangular p, int64_t m, int64_t n,
                            const void *alpha) {
    if (!staging)
        return GPUSOLVE_INVALID_ARGUMENT;
    gpusolve_staging_wait(staging);
    gpusolve_handle *inner = staging->inner;
    staging->status = GPUSOLVE_OK;
    gsv_number value = {0, 0};
    gpusolve_status status = gsv_dense_check_dtype(inner, p.dtype);
    if (status == GPUSOLVE_OK) {
        if (alpha)
            value = gsv_number_at(p.dtype, alpha);
        status = gsv_triangular_check(inner, &p, m, n, alpha ? &value : NULL, 1);
    }
    if (status == GPUSOLVE_OK)
        status = gsv_triangular_check_apart(inner, &p, value, (gsv_workspace_argument){NULL, 0});
    if (status != GPUSOLVE_OK || m == 0 || n == 0)
        return status;
    staging->p = p;
    staging->alpha = value;
    return start(staging);
}

gpusolve_status gpusolve_trsm_staged(gpusolve_staging *staging, gpusolve_dtype dtype, gpusolve_side side,
                                     gpusolve_uplo uplo, gpusolve_trans trans, gpusolve_diag diag, int64_t m,
                                     int64_t n, const void *alpha, const void *A, int64_t lda, void *B,
                                     int64_t ldb) {
    return call(staging, (gsv_triangular){GSV_SOLVE, dtype, side, uplo, trans, diag, 0, 0, A, lda, B, ldb}, m,
                n, alpha);
}

gpusolve_status gpusolve_trmm_staged(gpusolve_staging *staging, gpusolve_dtype dtype, gpusolve_side side,
                                     gpusolve_uplo uplo, gpusolve_trans trans, gpusolve_diag diag, int64_t m,
                                     int64_t n, const void *alpha, const void *A, int64_t lda, void *B,
                                     int64_t ldb) {
    return call(staging, (gsv_triangular){GSV_MULTIPLY, dtype, side, uplo, trans, diag, 0, 0, A, lda, B, ldb},
                m, n, alpha);
}
