#include "cblas.h"

#ifdef GPUSOLVE_CBLAS_NAME /* the shared library's SONAME; GPUSOLVE_CBLAS_PATH: where the build found it */

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static _Atomic(const gsv_cblas *) opened;

static void *do_nothing(void *argument) {
    return argument;
}

/* Whether a thread can be started now. */
static int has_threads(void) {
    pthread_t thread;
    if (gsv_thread_fails() || pthread_create(&thread, NULL, do_nothing, NULL) != 0)
        return 0;
    pthread_join(thread, NULL);
    return 1;
}

/* By its name, which the loader's search path and the program's own copy answer to; else the one that the build
 * found. */
static void *open_library(int flags) {
    void *library = dlopen(GPUSOLVE_CBLAS_NAME, RTLD_NOW | RTLD_LOCAL | flags);
    return library ? library : dlopen(GPUSOLVE_CBLAS_PATH, RTLD_NOW | RTLD_LOCAL | flags);
}

/* The first function that is missing, or NULL. */
static const char *find_functions(void *library, gsv_cblas *blas) {
#define FIND(name, parameters)                        \
    {                                                 \
        void *found = dlsym(library, "cblas_" #name); \
        if (!found)                                   \
            return "cblas_" #name;                    \
        memcpy(&blas->name, &found, sizeof found);    \
    }
    GSV_CBLAS_LIST(FIND)
#undef FIND
    return NULL;
}

/* The table is the process' own, so it is never freed and no handle's allocation. */
gpusolve_status gsv_cblas_open(const gsv_cblas **blas, gsv_message *message) {
    *blas = atomic_load_explicit(&opened, memory_order_acquire);
    if (*blas)
        return GPUSOLVE_OK;
    void *library = open_library(RTLD_NOLOAD); /* it has its threads already */
    if (!library && !has_threads())
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY,
                        "dense calls on the host: " GPUSOLVE_CBLAS_NAME
                        " needs threads, and none can be started");
    if (!library)
        library = open_library(0);
    if (!library)
        return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED, "dense calls on the host: %s", dlerror());
    gsv_cblas *table = gsv_allocation_fails() ? NULL : calloc(1, sizeof *table);
    const char *missing = table ? find_functions(library, table) : NULL;
    if (!table || missing) {
        free(table);
        dlclose(library);
        return missing ? gsv_fail(message, GPUSOLVE_NOT_SUPPORTED,
                                  "dense calls on the host: " GPUSOLVE_CBLAS_NAME " has no %s", missing)
                       : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for the CBLAS");
    }
    const gsv_cblas *none = NULL;
    if (!atomic_compare_exchange_strong(&opened, &none, table)) { /* another thread was faster */
        free(table);
        dlclose(library);
    }
    *blas = atomic_load_explicit(&opened, memory_order_acquire);
    return GPUSOLVE_OK;
}

#else

gpusolve_status gsv_cblas_open(const gsv_cblas **blas, gsv_message *message) {
    *blas = NULL;
    return gsv_fail(message, GPUSOLVE_NOT_SUPPORTED, "dense calls on the host: this build has no CBLAS");
}

#endif
