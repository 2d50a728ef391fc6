/* The tuning (schedule/machine.h) that a test changes: what its handles and plans have in the place of the default. */
#ifndef GPUSOLVE_TESTS_TUNING_H
#define GPUSOLVE_TESTS_TUNING_H

#include "handle.h"
#include "supernodal/schedule/machine.h"
#include "testing.h"

static gsv_machine tuning = GSV_MACHINE_DEFAULT;

static inline gpusolve_handle *tuned_handle(gpusolve_backend backend, int threads) {
    gpusolve_handle *handle = testing_handle(backend, threads);
    handle->machine = &tuning;
    return handle;
}

#endif
