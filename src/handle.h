/* The handle: which backend runs the solves, where, and what went wrong last. One thread at a time. */
#ifndef GSV_HANDLE_H
#define GSV_HANDLE_H

#include <stdint.h>

#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsv_executor;

enum {
    GSV_OWN_WORKSPACES = 4
}; /* factors a handle keeps a workspace of its own for; the least recently used goes */

struct gpusolve_handle {
    gpusolve_backend backend; /* HOST or CUDA */
    const struct gsv_executor *executor;
    int device;            /* CUDA ordinal, or -1 on the host */
    int threads;           /* host threads, >= 1 */
    struct gsv_pool *pool; /* these threads; NULL for one */
    void *stream;          /* cudaStream_t */
    int same_bits;
    const struct gsv_machine *machine; /* for its plans (supernodal/schedule/machine.h); NULL: the default */
    char device_name[128];
    void *scratch; /* the executor's, kept from one prepare to the next; NULL at first */
    void *trsv;    /* the device memory of gpusolve_?trsv, or NULL */
    void (*trsv_destroy)(struct gpusolve_handle *handle);  /* NULL where trsv is */
    void *dense;                                           /* the dense calls', or NULL */
    void (*dense_destroy)(struct gpusolve_handle *handle); /* NULL where dense is */
    gsv_message message;
    gpusolve_workspace *own[GSV_OWN_WORKSPACES];  /* most recently used first */
    void (*own_destroy)(gpusolve_handle *handle); /* destroys them; NULL: there are none */
    uintptr_t user; /* the thread inside a public call, as gsv_turn_take names it; 0: none. Atomic */
};

/* A public call's turn with the handle. */
typedef struct gsv_turn {
    gpusolve_handle *handle; /* to be given back at the end, or NULL */
    gpusolve_status status;
} gsv_turn;

/* GPUSOLVE_BUSY if another thread is inside a call with the handle, GPUSOLVE_INVALID_ARGUMENT if it is NULL. The library
 * itself calls public functions inside public ones: a thread that is inside comes in once more. */
gsv_turn gsv_turn_take(gpusolve_handle *handle);
void gsv_turn_end(gsv_turn *turn);

/* First in every public function that has a handle and returns a status: the turn ends when the function returns. */
#define GSV_ENTER(handle)                                                                  \
    __attribute__((cleanup(gsv_turn_end))) gsv_turn gsv_turn_here = gsv_turn_take(handle); \
    if (gsv_turn_here.status != GPUSOLVE_OK)                                               \
    return gsv_turn_here.status

/* Return when nothing that was queued on the handle's stream runs any more; at once on the host. */
void gsv_handle_wait(const gpusolve_handle *handle);

#ifdef __cplusplus
}
#endif
#endif
