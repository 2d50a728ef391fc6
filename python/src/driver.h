/*
 * The few calls of NVIDIA's driver that the binding makes itself. libcuda is opened when it is first needed; without it
 * every call is a quick return.
 */
#ifndef GPUSOLVE_PYTHON_DRIVER_H
#define GPUSOLVE_PYTHON_DRIVER_H

#include <cstdint>

namespace driver {

/* The calling thread's current device; 0 if it has none. */
int current_device();

/* Whether the stream is being captured into a graph, and which capture that is: 0 if none is under way. */
uint64_t capture_of(void *stream);

/* Waits for all work of the device. */
void wait_for_device(int device);

/* Waits for the work of one stream of the device. */
void wait_for_stream(int device, void *stream);

/* While it lives, the calling thread may allocate and free device memory although a stream is being captured. */
class Relaxed {
    int mode_;

  public:
    Relaxed();
    ~Relaxed();
    Relaxed(const Relaxed &) = delete;
    Relaxed &operator=(const Relaxed &) = delete;
};

} // namespace driver

#endif
