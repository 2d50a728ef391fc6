/*
 * A pool of host threads: each handle has one, for imports, plans, uploads, host solves and refinement.
 *
 * A run calls one function on several threads at once: on the calling one, and on as many helpers as come in
 * time. Nobody waits for a helper that has not come, so the function must hand out its work piece by piece
 * (gsv_pool_each does), and one thread alone must be able to do it all. pool.c says why.
 *
 * One thread at a time runs work on a pool. NULL is a pool of the calling thread alone.
 */
#ifndef GSV_POOL_H
#define GSV_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsv_pool gsv_pool;

/* Member 0 is the caller; no two have the same number, 0 <= member < threads. */
typedef void gsv_pool_work(void *context, int member);

/* Item by item, 0 <= item < count. */
typedef void gsv_pool_item(void *context, int64_t item, int member);

/* Items begin .. end - 1. */
typedef void gsv_pool_range(void *context, int64_t begin, int64_t end, int member);

/* A pool of `threads` threads, the caller's included. No thread is started yet. One thread needs no pool:
 * *pool is NULL then. 0, or -1 without memory. */
int gsv_pool_create(int threads, gsv_pool **pool);

/* End the threads and free the pool. NULL is accepted. */
void gsv_pool_destroy(gsv_pool *pool);

/* Start the pool's threads, unless they run already, so that no later run has to. Where threads cannot be had
 * there are fewer of them, or none. */
void gsv_pool_reserve(gsv_pool *pool);

/* Threads that a run may use now: those of the pool, or 1 inside a parallel region of OpenMP that may not be
 * nested. */
int gsv_pool_threads(const gsv_pool *pool);

/* The same for `work` units of which `grain` are worth waking a thread: at most work / grain, at least 1. */
int gsv_pool_share(const gsv_pool *pool, int64_t work, int64_t grain);

/* Test hook: from now on gsv_pool_share finds every unit worth waking a thread. */
void gsv_pool_be_eager(gsv_pool *pool);

/* Looks that a member of a run may take at what another one does before it gives its processor away. */
int64_t gsv_pool_patience(const gsv_pool *pool);

/* Run the work on at most `threads` threads. Returns when all threads that came are through; what they
 * wrote is visible then. */
void gsv_pool_run(gsv_pool *pool, int threads, gsv_pool_work *work, void *context);

/* The same for `count` items, each done by the first thread that is free. */
void gsv_pool_each(gsv_pool *pool, int threads, int64_t count, gsv_pool_item *item, void *context);

/* The same for `count` items, handed out `block` at a time. */
void gsv_pool_ranges(gsv_pool *pool, int threads, int64_t count, int64_t block, gsv_pool_range *range,
                     void *context);

#ifdef __cplusplus
}
#endif
#endif
