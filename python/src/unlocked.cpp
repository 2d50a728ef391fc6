#include "unlocked.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<bool> ends{false};
std::atomic<int> returning{
    0}; /* threads that want the lock back and have not seen that the interpreter ends */
pthread_t ending;

} // namespace

Unlocked::Unlocked() : state_(PyEval_SaveThread()) {}

/* Either a thread sees `ends`, or keep_locked() sees it `returning`: both are written before the other is read. */
Unlocked::~Unlocked() {
    returning++;
    if (ends && !pthread_equal(ending, pthread_self())) {
        returning--;
        for (;;)
            pause();
    }
    PyEval_RestoreThread(state_);
    returning--;
}

void keep_locked() {
    ending = pthread_self();
    ends = true;
    PyThreadState *const state = PyEval_SaveThread();
    while (returning > 0)
        usleep(100);
    PyEval_RestoreThread(state);
}
