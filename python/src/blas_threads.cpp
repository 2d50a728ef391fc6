#include "blas_threads.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "handles.h"

namespace {

/* Work that is worth another thread: about 0.1 s of one. */
const double FLOPS_A_THREAD = 2.0e9;

/* The calls of the BLAS; null where it has none. BLIS counts in 64 bits. */
struct Calls {
    int (*get)() = nullptr;
    void (*set)(int) = nullptr;
    int64_t (*get_wide)() = nullptr;
    void (*set_wide)(int64_t) = nullptr;
    int (*set_for_this_thread)(int) = nullptr; /* MKL's, gives the number before */

    template <typename F> static bool find(void *from, const char *name, F *function) {
        *function = reinterpret_cast<F>(dlsym(from, name));
        return *function != nullptr;
    }

    /* dlsym looks into the library and those that it was linked with. */
    explicit Calls(void *library) {
        if (find(library, "MKL_Get_Max_Threads", &get) &&
            find(library, "MKL_Set_Num_Threads_Local", &set_for_this_thread))
            return;
        for (const char *const end : {"", "64_", "_64"}) {
            const std::string suffix(end);
            if (find(library, ("openblas_get_num_threads" + suffix).c_str(), &get) &&
                find(library, ("openblas_set_num_threads" + suffix).c_str(), &set))
                return;
        }
        if (find(library, "flexiblas_get_num_threads", &get) &&
            find(library, "flexiblas_set_num_threads", &set))
            return;
        get = nullptr;
        if (!find(library, "bli_thread_get_num_threads", &get_wide) ||
            !find(library, "bli_thread_set_num_threads", &set_wide))
            get_wide = nullptr;
    }
    int number() const {
        return get ? get() : get_wide ? static_cast<int>(get_wide()) : 0;
    }
    void put(int threads) const {
        if (set)
            set(threads);
        else
            set_wide(threads);
    }
};

/* CHOLMOD is opened once for the life of the process. */
const Calls &calls_of(void *cholmod) {
    static const Calls found(cholmod);
    return found;
}

/* The process's number: the limits that hold now, what was there before them, and what was set. Never destroyed: a thread may
 * factorise when static objects are. */
struct Number {
    std::multiset<int> limits;
    int before = 0, now = 0;
    unsigned generation = process_generation();
};

Number &number = *new Number;

/* Sets the least limit; without limits what was there before. Leaves a number alone that somebody else has set. */
void apply(const Calls &calls) {
    if (number.now && calls.number() != number.now)
        return;
    const int wanted = number.limits.empty() ? number.before : *number.limits.begin();
    calls.put(wanted);
    number.now = number.limits.empty() ? 0 : wanted;
}

/* A forked child has the number, but not the threads whose factorisations asked for it. */
void forget_parent(const Calls &calls) {
    if (number.generation == process_generation())
        return;
    number.generation = process_generation();
    number.limits.clear();
    if (number.now)
        apply(calls);
}

} // namespace

namespace blas {

int threads_for(double flops) {
    return flops < FLOPS_A_THREAD ? 1 : static_cast<int>(std::min(1024.0, flops / FLOPS_A_THREAD));
}

Threads::Threads(void *cholmod, int threads) : limit_(0) {
    const Calls &calls = calls_of(cholmod);
    forget_parent(calls);
    if ((number.limits.empty() ? calls.number() : number.before) <= threads)
        return;
    limit_ = threads;
    if (calls.set_for_this_thread) {
        before_ = calls.set_for_this_thread(threads);
        return;
    }
    if (number.limits.empty()) {
        number.before = calls.number();
        number.now = 0;
    }
    number.limits.insert(threads);
    apply(calls);
}

Threads::~Threads() {
    if (!limit_)
        return;
    const Calls &calls = calls_of(nullptr);
    if (calls.set_for_this_thread) {
        calls.set_for_this_thread(before_);
        return;
    }
    const auto mine = number.limits.find(limit_);
    if (mine == number.limits.end())
        return; /* forgotten: the factorisation began before a fork */
    number.limits.erase(mine);
    apply(calls);
}

} // namespace blas
