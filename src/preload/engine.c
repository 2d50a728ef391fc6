#define _GNU_SOURCE /* dladdr */
#include "engine.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "settings.h"

typedef struct idle_handle {
    struct idle_handle *next;
    gpusolve_handle *handle;
} idle_handle;

static preload_engine engine;
static const char *engine_fault = "not opened"; /* NULL: it can be used */
static char fault_text[256];
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows */
static idle_handle *idle;
static bool is_cuda, forked_from_cuda;
static const char *handle_fault; /* why no handle can be made: asked for once */

/* libgpusolve.so.0: the one that the environment names, the one beside this library or in the folder above, or the loader's. */
static void *open_library(void) {
    char path[PATH_MAX];
    Dl_info own;
    const char *named = preload_get_settings()->gpusolve;
    if (named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    static const char *const places[] = {"", "/.."}; /* packages have this library in a folder below */
    if (dladdr((void *)&engine, &own) && own.dli_fname && strrchr(own.dli_fname, '/')) {
        const int folder = (int)(strrchr(own.dli_fname, '/') - own.dli_fname);
        for (int k = 0; k < 2; k++) {
            const int length =
                snprintf(path, sizeof path, "%.*s%s/libgpusolve.so.0", folder, own.dli_fname, places[k]);
            void *library = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
            if (library)
                return library;
        }
    }
    return dlopen("libgpusolve.so.0", RTLD_NOW | RTLD_LOCAL);
}

static void open_engine(void) {
    const char *missing = NULL;
    void *library = open_library();
    engine_fault = fault_text;
    if (!library) {
        const char *error = dlerror();
        snprintf(fault_text, sizeof fault_text, "libgpusolve.so cannot be opened: %.200s",
                 error ? error : "");
        return;
    }
#define FIND(name)                                                \
    *(void **)(&engine.name) = dlsym(library, "gpusolve_" #name); \
    if (!engine.name)                                             \
        missing = "gpusolve_" #name;
    PRELOAD_ENGINE_FUNCTIONS(FIND)
#undef FIND
    int major = -1, minor = -1;
    if (missing)
        snprintf(fault_text, sizeof fault_text, "libgpusolve.so has no %s", missing);
    else if (sscanf(engine.version(), "%d.%d", &major, &minor) != 2 || major != GPUSOLVE_VERSION_MAJOR ||
             minor != GPUSOLVE_VERSION_MINOR)
        snprintf(fault_text, sizeof fault_text, "libgpusolve.so is of version %.20s", engine.version());
    else
        engine_fault = NULL;
}

const preload_engine *preload_get_engine(const char **why) {
    pthread_once(&engine_once, open_engine);
    if (engine_fault)
        *why = engine_fault;
    return engine_fault ? NULL : &engine;
}

static gpusolve_handle *make_handle(const char **why) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    options.backend = preload_get_settings()->backend;
    options.device = preload_get_settings()->device;
    const gpusolve_status status = engine.create(&handle, &options);
    pthread_mutex_lock(&lock);
    if (status == GPUSOLVE_OK) {
        if (engine.get_backend(handle) == GPUSOLVE_BACKEND_CUDA)
            is_cuda = true;
    } else {
        *why = engine.status_message(status);
        if (status != GPUSOLVE_OUT_OF_MEMORY)
            handle_fault = *why;
    }
    pthread_mutex_unlock(&lock);
    if (status == GPUSOLVE_OK)
        preload_log("solving on: %s", engine.get_device_name(handle));
    return status == GPUSOLVE_OK ? handle : NULL;
}

gpusolve_handle *preload_take_handle(const char **why) {
    gpusolve_handle *handle = NULL;
    if (!preload_get_engine(why))
        return NULL;
    pthread_mutex_lock(&lock);
    const char *fault = forked_from_cuda ? "this process was forked after CUDA had been used" : handle_fault;
    idle_handle *taken = fault ? NULL : idle;
    if (taken)
        idle = taken->next;
    pthread_mutex_unlock(&lock);
    if (fault) {
        *why = fault;
        return NULL;
    }
    if (taken) {
        handle = taken->handle;
        free(taken);
        return handle;
    }
    return make_handle(why);
}

void preload_return_handle(gpusolve_handle *handle) {
    idle_handle *kept = handle ? malloc(sizeof *kept) : NULL;
    if (!kept) {
        if (handle)
            engine.destroy(handle);
        return;
    }
    kept->handle = handle;
    pthread_mutex_lock(&lock);
    kept->next = idle;
    idle = kept;
    pthread_mutex_unlock(&lock);
}

bool preload_engine_is_cuda(void) {
    pthread_mutex_lock(&lock);
    const bool answer = is_cuda;
    pthread_mutex_unlock(&lock);
    return answer;
}

void preload_engine_before_fork(void) {
    pthread_mutex_lock(&lock);
}

void preload_engine_after_fork(bool child) {
    if (child) {
        forked_from_cuda = forked_from_cuda || is_cuda;
        idle = NULL; /* the parent's: another thread may have been inside one */
    }
    pthread_mutex_unlock(&lock);
}
