/*
 * The threads of a handle on the host. host_pool.c says why they are not OpenMP's.
 *
 * A run calls one function on several threads at once: on the calling one, and on as many helpers as come in
 * time. Nobody waits for a helper that has not come, so the function must hand out its work piece by piece
 * (gsv_pool_each does), and one thread alone must be able to do it all.
 */
#ifndef GSV_HOST_POOL_H
#define GSV_HOST_POOL_H

#include "../handle.h"

/* Member 0 is the caller; no two have the same number, 0 <= member < threads. */
typedef void gsv_pool_work(void *context, int member);

/* Item by item, 0 <= item < count. */
typedef void gsv_pool_item(void *context, int64_t item, int member);

/* Start the handle's threads, if they do not run yet, so that no later run has to allocate. Where memory or
 * threads cannot be had there are fewer of them, or none. */
void gsv_pool_reserve(gpusolve_handle *handle);

/* Threads that a run of the handle may use now: handle->threads, or 1 inside a parallel region of OpenMP that
 * may not be nested. */
int gsv_pool_threads(const gpusolve_handle *handle);

/* Looks that a member of a run may take at what another one does before it gives its processor away. */
int64_t gsv_pool_patience(const gpusolve_handle *handle);

/* Run the work on at most `threads` threads. Returns when all who came are through; what they wrote is
 * visible then. */
void gsv_pool_run(gpusolve_handle *handle, int threads, gsv_pool_work *work, void *context);

/* The same for `count` items, each done by the first thread that is free. */
void gsv_pool_each(gpusolve_handle *handle, int threads, int64_t count, gsv_pool_item *item, void *context);

/* End the threads and free what the handle keeps for them. */
void gsv_pool_destroy(gpusolve_handle *handle);

#endif
