/*
 * What a factor and a batch have in common: where they live, the gate before them, and workspaces.
 *
 * Threads. All members are called with the interpreter's lock held; long calls of the library let it go. Solves share the
 * gate, a refresh has it alone. A call keeps what it uses alive, so close() may be called at any time.
 */
#ifndef GPUSOLVE_PYTHON_SHARED_H
#define GPUSOLVE_PYTHON_SHARED_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "handles.h"
#include "operand.h"

/* A workspace that no call uses now. */
struct Room {
    void *memory;     /* gpusolve_workspace, or gpusolve_batch_workspace */
    int64_t columns;  /* that it was made for */
    void *stream;     /* on which its last solve may still be under way */
    uint64_t capture; /* the capture whose graph it belongs to, for good; 0: none */
    int refreshes; /* that there had been when it was last used: a new plan lays it out anew, which no capture allows */

    gpusolve_workspace *workspace() const {
        return static_cast<gpusolve_workspace *>(memory);
    }
};

/* Shared or alone; a thread that wants it alone waits for those that have it, and those that come later wait for it. */
class Gate {
    std::mutex mutex_;
    std::condition_variable changed_;
    int inside_ = 0, waiting_ = 0; /* sharing it; wanting it alone */
    bool is_alone_ = false;

    bool is_free(bool alone) const {
        return alone ? inside_ == 0 && !is_alone_ : waiting_ == 0 && !is_alone_;
    }

  public:
    bool try_enter(bool alone);
    void enter(bool alone);
    void leave(bool alone);
};

class Shared {
    const char *const name_; /* "factor" or "batch" */
    std::vector<Room> rooms_;
    std::unique_ptr<Gate> gate_ = std::make_unique<Gate>();
    unsigned generation_ = process_generation();

    void renew_after_fork();
    friend class Turn;

  protected:
    int refreshes_ = 0;

    explicit Shared(const char *name) : name_(name) {}
    virtual ~Shared() = default;
    virtual gpusolve_status make_room(gpusolve_handle *handle, int64_t columns, void **memory) = 0;
    virtual void free_room(void *memory) = 0;
    /* Another process's: nothing on its device can be freed from here. */
    bool is_foreign() const {
        return is_on_device() && generation_ != process_generation();
    }
    /* Once solves under way are done. Without the interpreter's lock. */
    void free_rooms();

  public:
    Place place;
    int64_t n = 0;
    gpusolve_dtype dtype = GPUSOLVE_DOUBLE;

    Shared(const Shared &) = delete;
    Shared &operator=(const Shared &) = delete;

    bool is_on_device() const {
        return place.backend == GPUSOLVE_BACKEND_CUDA;
    }
    /* Takes a workspace for at least this many columns; made if need be. */
    Room take_room(gpusolve_handle *handle, int64_t columns, void *stream);
    void return_room(const Room &room);
    /* Refuses operands in the memory of a device that the backend cannot read. */
    void check_place(bool is_on_a_device, const char *operand) const;
    void check_place(const Operand &operand, const char *name) const {
        check_place(operand.is_on_device, name);
    }
    void check_process() const;
};

/* Inside the gate, for as long as this lives: with others or alone. Waits without the interpreter's lock. */
class Turn {
    Gate *gate_;
    bool alone_;

  public:
    Turn(Shared &state, bool alone);
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
};

#endif
