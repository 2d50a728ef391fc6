#include "handles.h"

#include <pthread.h>

#include <utility>
#include <vector>

#include "driver.h"

namespace {

unsigned generation = 0;

using Idle = std::vector<std::pair<Place, gpusolve_handle *>>;

/* Never destroyed: at the end of the process the driver may be gone before static objects are. */
Idle *idle = new Idle;

/* The parent's handles may be in use by threads that the child does not have; the child forgets them. */
void in_child() {
    generation++;
    idle = new Idle;
}

const int watching = pthread_atfork(nullptr, nullptr, in_child);

} // namespace

unsigned process_generation() {
    (void)watching;
    return generation;
}

Handle::Handle(const Place &place, void *stream) : place_(place) {
    if (place_.backend != GPUSOLVE_BACKEND_HOST && place_.device < 0)
        place_.device = driver::current_device();
    for (size_t k = idle->size(); k-- > 0 && !handle_;)
        if ((*idle)[k].first == place_) {
            handle_ = (*idle)[k].second;
            idle->erase(idle->begin() + static_cast<std::ptrdiff_t>(k));
        }
    if (!handle_) {
        gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
        options.backend = place_.backend;
        options.device = place_.device;
        options.threads = place_.threads;
        options.same_bits = place_.same_bits;
        check(gpusolve_create(&handle_, &options), nullptr);
    }
    if (place_.backend == GPUSOLVE_BACKEND_AUTO)
        place_.backend = gpusolve_get_backend(handle_);
    if (place_.backend == GPUSOLVE_BACKEND_HOST)
        place_.device = -1;
    else
        gpusolve_set_stream(handle_, stream);
}

Handle::~Handle() {
    if (place_.backend == GPUSOLVE_BACKEND_CUDA)
        gpusolve_set_stream(handle_, nullptr);
    try {
        idle->emplace_back(place_, handle_);
    } catch (const std::bad_alloc &) {
        gpusolve_destroy(handle_);
    }
}
