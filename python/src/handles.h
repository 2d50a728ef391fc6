/*
 * Handles of the C library, kept for reuse. A handle serves one thread at a time, so as many exist as calls were ever
 * under way at once. All functions are called with the interpreter's lock held.
 */
#ifndef GPUSOLVE_PYTHON_HANDLES_H
#define GPUSOLVE_PYTHON_HANDLES_H

#include "failure.h"

struct Place { /* where a factor lives */
    gpusolve_backend backend = GPUSOLVE_BACKEND_AUTO;
    int device = -1; /* of CUDA */
    int threads = 0;
    bool same_bits = false;
    bool operator==(const Place &other) const {
        return backend == other.backend && device == other.device && threads == other.threads &&
               same_bits == other.same_bits;
    }
};

inline Place place_of(int backend, int device, int threads, bool same_bits) {
    Place place;
    place.backend = static_cast<gpusolve_backend>(backend);
    place.device = device;
    place.threads = threads;
    place.same_bits = same_bits;
    return place;
}

/* How often this process was forked off another one: state of another generation belongs to the parent. */
unsigned process_generation();

/* A handle for the time of one call. Ordered on the stream; on return the handle keeps no stream of the caller's. */
class Handle {
    gpusolve_handle *handle_ = nullptr;
    Place place_;

  public:
    explicit Handle(const Place &place, void *stream = nullptr);
    ~Handle();
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    operator gpusolve_handle *() const {
        return handle_;
    }
    Place place() const { /* with the backend that runs, never AUTO */
        return place_;
    }
};

#endif
