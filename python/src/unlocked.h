/*
 * The interpreter's lock, let go for as long as an Unlocked lives.
 *
 * A thread that wants the lock back while the interpreter ends is unwound by Python before 3.14, which no C++ program
 * survives. So at the end, from Python's atexit on, such a thread sleeps until the process is gone.
 */
#ifndef GPUSOLVE_PYTHON_UNLOCKED_H
#define GPUSOLVE_PYTHON_UNLOCKED_H

#include <nanobind/nanobind.h>

class Unlocked {
    PyThreadState *state_;

  public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
};

/* Called at exit by the thread that ends the interpreter: no other thread gets the lock back from an Unlocked afterwards. */
void keep_locked();

#endif
