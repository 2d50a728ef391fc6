#include "shared.h"

#include <algorithm>
#include <new>

#include "driver.h"
#include "unlocked.h"

namespace {

enum { MAX_ROOMS = 16 }; /* that are kept, those of graphs aside */

/*
 * How many columns the workspace for a solve of `columns` right-hand sides has. There are few sizes, and the call alone
 * chooses one: on CUDA the bits of a column depend on its workspace's size, and must not depend on earlier solves.
 */
int64_t room_size(int64_t columns) {
    for (int64_t size : {1, 4, 8, 16, 32})
        if (columns <= size)
            return size;
    return std::min<int64_t>(256, (columns + 63) / 64 * 64);
}

} // namespace

/* A child has a copy of the host's memory, but not the threads that may have held the lock. */
void Shared::renew_after_fork() {
    check_process();
    if (generation_ == process_generation())
        return;
    gate_.release(); /* somebody may be inside for ever */
    gate_ = std::make_unique<Gate>();
    generation_ = process_generation();
}

void Shared::check_process() const {
    if (is_foreign())
        throw Failure(GPUSOLVE_CUDA_ERROR,
                      std::string("the ") + name_ +
                          " is on a CUDA device and was made by the process that this one was "
                          "forked from; make it here, or start processes with the method 'spawn'");
}

Room Shared::take_room(gpusolve_handle *handle, int64_t columns, void *stream) {
    Room room{nullptr, room_size(columns), stream, 0, refreshes_};
    const uint64_t capture = is_on_device() ? driver::capture_of(stream) : 0;
    /* One of the same capture; else, for a capture too, one that no graph has. */
    for (const uint64_t wanted : {capture, static_cast<uint64_t>(0)})
        for (size_t k = rooms_.size(); k-- > 0;) {
            if (rooms_[k].columns != room.columns || rooms_[k].stream != stream ||
                rooms_[k].capture != wanted || (capture && rooms_[k].refreshes != refreshes_))
                continue;
            room = rooms_[k];
            room.capture = capture;
            room.refreshes = refreshes_;
            rooms_.erase(rooms_.begin() + static_cast<std::ptrdiff_t>(k));
            return room;
        }
    room.capture = capture;
    gpusolve_status status;
    {
        const Unlocked unlocked;
        const driver::Relaxed relaxed;
        status = make_room(handle, room.columns, &room.memory);
    }
    check(status, handle);
    return room;
}

void Shared::return_room(const Room &room) {
    try {
        rooms_.push_back(room);
    } catch (const std::bad_alloc &) {
        free_room(room.memory);
        return;
    }
    if (std::count_if(rooms_.begin(), rooms_.end(), [](const Room &r) { return r.capture == 0; }) <=
        MAX_ROOMS)
        return;
    const auto oldest =
        std::find_if(rooms_.begin(), rooms_.end(), [](const Room &r) { return r.capture == 0; });
    void *const unwanted = oldest->memory;
    rooms_.erase(oldest);
    const Unlocked unlocked;
    const driver::Relaxed relaxed;
    if (is_on_device())
        driver::wait_for_device(place.device);
    free_room(unwanted);
}

void Shared::free_rooms() {
    if (is_on_device())
        driver::wait_for_device(place.device);
    for (const Room &room : rooms_)
        free_room(room.memory);
    rooms_.clear();
}

void Shared::check_place(bool is_on_a_device, const char *operand) const {
    if (is_on_a_device && !is_on_device())
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, std::string(operand) + ": is on a CUDA device, but the " +
                                                     name_ + " is on the host: make the " + name_ +
                                                     " with device=\"cuda\", or copy the array to the host");
}

/* ------------------------------------------------------------------------------------------- turns --- */

bool Gate::try_enter(bool alone) {
    const std::lock_guard<std::mutex> locked(mutex_);
    if (!is_free(alone))
        return false;
    inside_ += !alone;
    is_alone_ = alone;
    return true;
}

void Gate::enter(bool alone) {
    std::unique_lock<std::mutex> locked(mutex_);
    waiting_ += alone;
    changed_.wait(locked, [&] { return is_free(alone); });
    waiting_ -= alone;
    inside_ += !alone;
    is_alone_ = alone;
}

void Gate::leave(bool alone) {
    const std::lock_guard<std::mutex> locked(mutex_);
    inside_ -= !alone;
    is_alone_ = false;
    changed_.notify_all();
}

Turn::Turn(Shared &state, bool alone) : gate_(nullptr), alone_(alone) {
    state.renew_after_fork();
    gate_ = state.gate_.get();
    if (gate_->try_enter(alone))
        return;
    const Unlocked unlocked;
    gate_->enter(alone);
}

Turn::~Turn() {
    gate_->leave(alone_);
}
