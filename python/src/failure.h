/* A call that failed, on its way to Python: gpusolve/_errors.py chooses the exception's class. */
#ifndef GPUSOLVE_PYTHON_FAILURE_H
#define GPUSOLVE_PYTHON_FAILURE_H

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpusolve.h"

struct Failure : std::runtime_error {
    gpusolve_status status;
    int64_t column; /* at which a factorisation stopped; -1: none */
    Failure(gpusolve_status status_, const std::string &text, int64_t column_ = -1)
        : std::runtime_error(text), status(status_), column(column_) {}
};

/* Throws a Failure with the handle's sentence, or with the status's own where there is no handle. */
inline void check(gpusolve_status status, const gpusolve_handle *handle) {
    if (status == GPUSOLVE_OK)
        return;
    const char *text = handle ? gpusolve_last_error(handle) : "";
    throw Failure(status, *text ? text : gpusolve_status_message(status));
}

#endif
