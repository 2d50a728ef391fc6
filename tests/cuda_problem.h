/* What tests of the CUDA backend share: a matrix, CHOLMOD's factor, and its import on the device. */
#ifndef GPUSOLVE_TESTS_CUDA_PROBLEM_H
#define GPUSOLVE_TESTS_CUDA_PROBLEM_H

#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

typedef struct problem {
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    int64_t n;
} problem;

static inline void open_problem(problem *p, const char *spec) {
    cholmod_start(&p->common);
    p->a = testing_load(spec, &p->common);
    REQUIRE(p->a);
    p->l = testing_factorize(p->a, GPUSOLVE_SUPERNODAL_LL, &p->common);
    REQUIRE(p->l);
    p->handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 0);
    REQUIRE(gpusolve_cholmod_import(p->handle, p->l, &p->factor) == GPUSOLVE_OK);
    p->n = (int64_t)p->l->n;
}

static inline void close_problem(problem *p) {
    gpusolve_factor_destroy(p->factor);
    gpusolve_destroy(p->handle);
    cholmod_free_factor(&p->l, &p->common);
    cholmod_free_sparse(&p->a, &p->common);
    cholmod_finish(&p->common);
}

/* A block of the user's in device memory, filled from the host's. */
static inline gpusolve_dense on_device(const gpusolve_dense *host) {
    gpusolve_dense device = *host;
    device.values = device_new(host->values, testing_block_bytes(host));
    REQUIRE(device.values);
    return device;
}

#endif
