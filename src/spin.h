/* Memory that threads share: waiting for it, and the least of what they write. C alone. */
#ifndef GSV_SPIN_H
#define GSV_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

enum { GSV_SIGNAL_BYTES = 64 }; /* a cache line: what threads hand to each other has one to itself */

/* A little rest between two looks at memory that another thread will write. */
static inline void gsv_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The same after `spins` looks in vain. From `patience` on the awaited thread may be one that wants this
 * thread's processor. */
static inline void gsv_give_way(int64_t spins, int64_t patience) {
    if (spins >= patience && spins % 64 == 0)
        sched_yield();
    else
        gsv_pause();
}

/* Make *least the value if that is less. */
static inline void gsv_lower(_Atomic int64_t *least, int64_t value) {
    int64_t seen = atomic_load_explicit(least, memory_order_relaxed);
    while (value < seen && !atomic_compare_exchange_weak_explicit(least, &seen, value, memory_order_relaxed,
                                                                  memory_order_relaxed)) {
    }
}

#endif
