/*
 * gpusolve itself. The preload library is in every program that is started under it, so it depends on nothing: libgpusolve.so,
 * and with it CUDA's libraries, is opened when the first factor is imported.
 */
#ifndef PRELOAD_ENGINE_H
#define PRELOAD_ENGINE_H

#include <stdbool.h>

#include "gpusolve.h"
#include "gpusolve_selection.h"

/* clang-format off */
#define PRELOAD_ENGINE_FUNCTIONS(X)                                                                     \
    X(version) X(status_name) X(status_message) X(create) X(destroy) X(last_error) X(get_backend)       \
    X(get_device_name) X(factor_create) X(factor_refresh) X(factor_destroy) X(factor_info)              \
    X(workspace_create) X(workspace_destroy) X(solve) X(selection_create) X(selection_destroy)          \
    X(selection_get_info) X(solve_selected)
/* clang-format on */

typedef struct preload_engine {
#define PRELOAD_ENGINE_MEMBER(name) __typeof__(gpusolve_##name) *name;
    PRELOAD_ENGINE_FUNCTIONS(PRELOAD_ENGINE_MEMBER)
#undef PRELOAD_ENGINE_MEMBER
} preload_engine;

/* The functions of libgpusolve.so, which is opened by the first call; NULL, and why, where it cannot be used. */
const preload_engine *preload_get_engine(const char **why);

/* A handle that nobody else uses, until it is returned; NULL, and why. */
gpusolve_handle *preload_take_handle(const char **why);
void preload_return_handle(gpusolve_handle *handle);

/* Has a CUDA device been used in this process? */
bool preload_engine_is_cuda(void);

/* Around a fork, in this order: before, then in the parent or in the child. The child leaves the parent's handles alone; after CUDA
 * it has no engine. */
void preload_engine_before_fork(void);
void preload_engine_after_fork(bool child);

#endif
