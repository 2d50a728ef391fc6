/*
 * A pool of threads that does not wait for its members.
 *
 * Why not an OpenMP region for every solve: a region ends, and the next one begins, when all of its threads
 * have arrived, and GNU's threads spin for each other without giving their processor away. A solve of 50 us
 * on 16 threads of a machine with 16 processors then takes 8 ms, two time slices, whenever two of the threads
 * happen to share a processor: the one that works stands behind the one that spins. Here the door is shut
 * when the work is done, and a thread that was not there in time is not missed.
 *
 * The door is one word: the number of the run, how many helpers are asked for, and how many are inside.
 *      open     run + 1, helpers asked for, none inside: the caller, after it has written work and context
 *      enter    inside + 1, by compare and swap, if this run asks for this helper
 *      leave    inside - 1
 *      shut     nobody asked for; then the caller waits until nobody is inside
 * A helper enters a run once. A late one finds the door shut, and the word, holding the run's number, cannot
 * be mistaken for another.
 *
 * Two threads on one processor. The kernel wakes a thread on the processor of the one that wakes it, or on
 * the one where it slept, where all have been busy lately (Linux 6.18: it does not even look for an idle one
 * then), and so a whole team may stand on one processor beside fifteen idle ones; and it leaves two that spin
 * there for a second and longer, above all if they yield, because each of the two has always just run. So
 * every member claims the processor that it stands on, by writing the run's number to the processor's seat. A
 * helper that finds it taken moves to one that is free: it allows itself that one alone and then all of
 * before again; and while it sleeps, it allows itself none but its own. Where none is free it stays out of
 * the run. No thread yields, but after waits so long that something else must be in the way (measured:
 * sched_yield in every wait makes solves of 0.2 ms take two to four times as long). Where threads outnumber
 * processors there are no seats, nobody spins between runs, and waits yield soon.
 *
 * Between runs a helper spins for SPIN_US and then sleeps on a semaphore of its own. It says so first and
 * looks at the door once more; the caller opens the door first and looks for sleepers then: one of them sees
 * the other. Waking a thread costs microseconds, so the caller wakes two, and each thread that enters wakes two
 * more. A helper that comes too late, to a processor that another member stands on, sleeps at once.
 *
 * The caller's waits end: helpers inside are running threads, and all their waits end (supernodal/host/executor.c).
 *
 * The price: the caller's program may have OpenMP threads of its own, and these spin for milliseconds after a
 * parallel region on the processors that the helpers want. Measured with a region before every solve on 16
 * threads of 16 processors (wathen100, 1 column): median 279 us, one in ten above 1.1 ms, where a region of
 * OpenMP for the solve, too, took 161; with OMP_WAIT_POLICY=passive 171 and 177; on 2 threads 719 and 752.
 *
 * Helpers block all signals and stand where OMP_PROC_BIND wants threads to stand, if it is set. They start with
 * the first run that is worth them, and anew in a process that was forked off. Where none can be started the
 * caller does the work.
 */
#define _GNU_SOURCE /* pthread_attr_setaffinity_np */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "openmp.h"
#include "spin.h"

enum {
    SPIN_US = 1000,    /* a helper looks out for the next run so long before it sleeps */
    LOOKS = 64,        /* at the door, between two at the clock */
    PATIENT = 1 << 14, /* looks of a waiting thread before it yields, */
    IMPATIENT = 64,    /* and where threads outnumber processors */
    EVERYONE = 0xffff, /* asked for to go home */
    WAKES = 2,         /* sleepers that each member of a run wakes */
    STACK_BYTES = 1 << 21
};

typedef struct helper {
    _Alignas(GSV_SIGNAL_BYTES) _Atomic int asleep; /* or about to be: whoever takes the 1 away posts `wake` */
    sem_t wake;
    gsv_pool *pool;
    uint32_t index;
    uint32_t seated; /* the last run in which it looked for a processor */
    pthread_t thread;
} helper;

typedef struct seat {
    _Alignas(GSV_SIGNAL_BYTES) _Atomic uint32_t run; /* the last run with a member on this processor */
} seat;

struct gsv_pool {
    _Alignas(GSV_SIGNAL_BYTES) _Atomic uint64_t door; /* run << 32 | asked for << 16 | inside */
    _Alignas(GSV_SIGNAL_BYTES) _Atomic uint32_t next; /* helper to look at when sleepers are woken */
    gsv_pool_work *work; /* this and the context: written while nobody is inside; NULL: go home */
    void *context;
    int threads; /* the caller's included */
    int eager;   /* gsv_pool_be_eager */
    int crowded; /* more threads than processors */
    uint32_t seats;
    seat *seat; /* [seats] by processor */
    pid_t process;
    uint32_t helpers; /* that were started */
    helper helper[];
};

static const uint64_t one_run = (uint64_t)1 << 32, one_asked = 1 << 16, all_asked = 0xffff0000u;

static uint32_t inside(uint64_t door) {
    return (uint32_t)door & 0xffff;
}

static uint32_t asked(uint64_t door) {
    return (uint32_t)door >> 16;
}

static uint32_t run_of(uint64_t door) {
    return (uint32_t)(door >> 32);
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* ------------------------------------------------------------------------------------------- a helper --- */

/* Wake some of the helpers that sleep and are asked for. */
static void wake_some(gsv_pool *p, uint32_t helpers) {
    helpers = helpers < p->helpers ? helpers : p->helpers;
    for (int woken = 0; woken < WAKES;) {
        if (atomic_load_explicit(&p->next, memory_order_relaxed) >= helpers)
            return;
        const uint32_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= helpers)
            return;
        helper *h = &p->helper[i];
        if (atomic_load(&h->asleep) && atomic_exchange(&h->asleep, 0)) {
            sem_post(&h->wake);
            woken++;
        }
    }
}

/* The processor that the calling thread stands on, or -1 where that is of no interest. */
static int standing_on(const gsv_pool *p) {
    const int processor = p->crowded ? -1 : sched_getcpu();
    return processor < 0 || (uint32_t)processor >= p->seats ? -1 : processor;
}

/* Whether the seat of a processor is free in this run; then it is taken. */
static int take_seat(gsv_pool *p, uint32_t processor, uint32_t run) {
    _Atomic uint32_t *taken = &p->seat[processor].run;
    return atomic_load_explicit(taken, memory_order_relaxed) != run &&
           atomic_exchange_explicit(taken, run, memory_order_relaxed) != run;
}

/* Move the calling thread to a processor that nobody has claimed in this run. 0, or -1 if there is none. */
static int move_away(gsv_pool *p, const helper *me, uint32_t from, uint32_t run) {
#ifdef __linux__
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return -1;
    for (uint32_t step = 0; step < p->seats; step++) {
        const uint32_t to = (from + 1 + me->index + step) % p->seats;
        if (to >= CPU_SETSIZE || !CPU_ISSET(to, &allowed) || !take_seat(p, to, run))
            continue;
        CPU_ZERO(&one);
        CPU_SET(to, &one);
        if (sched_setaffinity(0, sizeof one, &one))
            return -1;
        sched_setaffinity(0, sizeof allowed, &allowed);
        return 0;
    }
#else
    (void)p;
    (void)me;
    (void)from;
    (void)run;
#endif
    return -1;
}

/* Whether this helper has a processor for itself in this run. */
static int find_seat(helper *me, uint32_t run) {
    const int processor = standing_on(me->pool);
    me->seated = run;
    return processor < 0 || take_seat(me->pool, (uint32_t)processor, run) ||
           !move_away(me->pool, me, (uint32_t)processor, run);
}

/* Whether another member of the last run stands here. */
static int in_the_way(const helper *me, uint32_t run) {
    const int processor = standing_on(me->pool);
    return processor >= 0 && me->seated != run &&
           atomic_load_explicit(&me->pool->seat[processor].run, memory_order_relaxed) == run;
}

static int wanted(const helper *me, uint64_t door, uint32_t seen) {
    return asked(door) > me->index && run_of(door) != seen;
}

#ifdef __linux__
/* Allow the calling thread its present processor alone. 0, and what was allowed before, or -1. */
static int stay_here(const helper *me, cpu_set_t *before) {
    const int processor = standing_on(me->pool);
    cpu_set_t one;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof *before, before))
        return -1;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    return sched_setaffinity(0, sizeof one, &one);
}
#endif

/* Sleep until somebody posts, but not if the door is in a state that this helper waits for. */
static void sleep_on(helper *me, uint32_t seen) {
    atomic_store(&me->asleep, 1);
    if (wanted(me, atomic_load(&me->pool->door), seen) && atomic_exchange(&me->asleep, 0))
        return;
    while (sem_wait(&me->wake) && errno == EINTR) {
    }
}

/* The same, to wake up on this processor, if it is not in the way of another member there. */
static void sleep_here(helper *me, uint32_t seen) {
#ifdef __linux__
    cpu_set_t before;
    if (!in_the_way(me, run_of(atomic_load_explicit(&me->pool->door, memory_order_relaxed))) &&
        !stay_here(me, &before)) {
        sleep_on(me, seen);
        sched_setaffinity(0, sizeof before, &before);
        return;
    }
#endif
    sleep_on(me, seen);
}

/* Look out for a run that wants this helper, for a while. */
static void look_out(const helper *me, uint32_t seen) {
    const gsv_pool *p = me->pool;
    const double end = now_us() + SPIN_US;
    uint64_t door;
    do {
        for (int look = 0; look < LOOKS; look++) {
            door = atomic_load_explicit(&p->door, memory_order_relaxed);
            if (wanted(me, door, seen))
                return;
            gsv_pause();
        }
    } while (!in_the_way(me, run_of(door)) && now_us() < end);
}

static void *live(void *argument) {
    helper *me = argument;
    gsv_pool *p = me->pool;
    uint32_t seen = 0;
    for (;;) {
        uint64_t door = atomic_load_explicit(&p->door, memory_order_acquire);
        if (!wanted(me, door, seen)) {
            if (!p->crowded)
                look_out(me, seen);
            door = atomic_load_explicit(&p->door, memory_order_acquire);
            if (!wanted(me, door, seen))
                sleep_here(me, seen);
            continue;
        }
        wake_some(p, asked(door));
        if (asked(door) != EVERYONE && !find_seat(me, run_of(door))) {
            seen = run_of(door);
            sleep_on(me, seen);
            continue;
        }
        while (wanted(me, door, seen) &&
               !atomic_compare_exchange_weak_explicit(&p->door, &door, door + 1, memory_order_acquire,
                                                      memory_order_relaxed)) {
        }
        if (!wanted(me, door, seen))
            continue; /* shut in the meantime */
        seen = run_of(door);
        if (!p->work)
            return NULL;
        p->work(p->context, (int)me->index + 1);
        atomic_fetch_sub_explicit(&p->door, 1, memory_order_release);
    }
}

/* ------------------------------------------------------------------------------------- start and end --- */

/* Where OpenMP binds its threads, the caller stands on one place and would hand it on to all it starts. */
static void bind(pthread_attr_t *attributes, int index) {
#ifdef __linux__
    int processors[CPU_SETSIZE];
    const int count = gsv_place_of_thread(index, CPU_SETSIZE, processors);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        if (processors[i] >= 0 && processors[i] < CPU_SETSIZE)
            CPU_SET((size_t)processors[i], &set);
    if (CPU_COUNT(&set) > 0)
        pthread_attr_setaffinity_np(attributes, sizeof set, &set);
#else
    (void)attributes;
    (void)index;
#endif
}

/* A thread on its place; where the system refuses the place, on the caller's. */
static int create_thread(helper *h, int bound) {
    pthread_attr_t attributes;
    int failed = gsv_thread_fails() ? EAGAIN : pthread_attr_init(&attributes);
    if (failed)
        return failed;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (bound)
        bind(&attributes, (int)h->index);
    failed = pthread_create(&h->thread, &attributes, live, h);
    pthread_attr_destroy(&attributes);
    return failed == EINVAL && bound ? create_thread(h, 0) : failed;
}

static int start_helper(gsv_pool *p, uint32_t index) {
    helper *h = &p->helper[index];
    h->pool = p;
    h->index = index;
    h->seated = 0;
    atomic_store(&h->asleep, 0);
    if (sem_init(&h->wake, 0, 0))
        return -1;
    const int failed = create_thread(h, 1);
    if (failed)
        sem_destroy(&h->wake);
    return failed;
}

static void start_helpers(gsv_pool *p) {
    sigset_t all, before;
    p->process = getpid();
    p->crowded = p->threads > gsv_processors();
    for (uint32_t i = 0; i < p->seats; i++)
        atomic_store_explicit(&p->seat[i].run, 0, memory_order_relaxed);
    p->helpers = 0;
    atomic_store(&p->door, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->helpers < (uint32_t)p->threads - 1 && !start_helper(p, p->helpers))
        p->helpers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int gsv_pool_create(int threads, gsv_pool **pool) {
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    *pool = NULL;
    if (threads <= 1)
        return 0;
    gsv_pool *p = gsv_calloc(1, sizeof *p + (size_t)(threads - 1) * sizeof p->helper[0]);
    if (!p)
        return -1;
    p->threads = threads;
    p->seats = processors > 0 && processors < 1 << 16 ? (uint32_t)processors : 0;
    p->seat = gsv_calloc(p->seats, sizeof *p->seat);
    if (!p->seat) {
        gsv_free(p);
        return -1;
    }
    *pool = p;
    return 0;
}

void gsv_pool_reserve(gsv_pool *p) {
    if (p && p->process != getpid()) /* none were started, or in the process that this one was forked from */
        start_helpers(p);
}

static void open_door(gsv_pool *p, uint32_t helpers, gsv_pool_work *work, void *context) {
    const uint64_t door = atomic_load_explicit(&p->door, memory_order_relaxed);
    const int processor = standing_on(p);
    if (processor >= 0)
        take_seat(p, (uint32_t)processor, run_of(door) + 1);
    p->work = work;
    p->context = context;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    atomic_store(&p->door, (door & ~(one_run - 1)) + one_run + helpers * one_asked);
    wake_some(p, helpers);
}

void gsv_pool_destroy(gsv_pool *p) {
    if (!p)
        return;
    if (p->process == getpid()) { /* in a child process there is none to send home */
        open_door(p, EVERYONE, NULL, NULL);
        for (uint32_t i = 0; i < p->helpers; i++) {
            if (atomic_exchange(&p->helper[i].asleep, 0))
                sem_post(&p->helper[i].wake);
            pthread_join(p->helper[i].thread, NULL);
            sem_destroy(&p->helper[i].wake);
        }
    }
    gsv_free(p->seat);
    gsv_free(p);
}

/* ----------------------------------------------------------------------------------------------- runs --- */

int gsv_pool_threads(const gsv_pool *p) {
    return !p || gsv_in_full_region() ? 1 : p->threads;
}

int gsv_pool_share(const gsv_pool *p, int64_t work, int64_t grain) {
    const int64_t worth = p && p->eager ? work : work / grain;
    if (!p || worth <= 1)
        return 1;
    const int threads = gsv_pool_threads(p);
    return worth < threads ? (int)worth : threads;
}

void gsv_pool_be_eager(gsv_pool *p) {
    if (p)
        p->eager = 1;
}

int64_t gsv_pool_patience(const gsv_pool *p) {
    return p && p->crowded ? IMPATIENT : PATIENT;
}

void gsv_pool_run(gsv_pool *p, int threads, gsv_pool_work *work, void *context) {
    if (threads > 1)
        gsv_pool_reserve(p);
    const uint32_t helpers = !p || threads <= 1               ? 0
                             : p->helpers < (uint32_t)threads ? p->helpers
                                                              : (uint32_t)threads - 1;
    if (helpers == 0) {
        work(context, 0);
        return;
    }
    open_door(p, helpers, work, context);
    work(context, 0);
    atomic_fetch_and_explicit(&p->door, ~all_asked, memory_order_relaxed);
    for (int64_t spins = 0; inside(atomic_load_explicit(&p->door, memory_order_acquire)) > 0; spins++)
        gsv_give_way(spins, gsv_pool_patience(p));
}

typedef struct ranges {
    _Atomic int64_t next;
    int64_t count, block;
    gsv_pool_range *range;
    void *context;
} ranges;

static void draw_ranges(void *context, int member) {
    ranges *all = context;
    for (int64_t i;
         (i = atomic_fetch_add_explicit(&all->next, all->block, memory_order_relaxed)) < all->count;)
        all->range(all->context, i, all->count - i < all->block ? all->count : i + all->block, member);
}

void gsv_pool_ranges(gsv_pool *p, int threads, int64_t count, int64_t block, gsv_pool_range *range,
                     void *context) {
    ranges all = {.count = count, .block = block, .range = range, .context = context};
    const int64_t blocks = count / block + (count % block != 0);
    atomic_init(&all.next, 0);
    gsv_pool_run(p, threads < blocks ? threads : (int)blocks, draw_ranges, &all);
}

typedef struct items {
    gsv_pool_item *item;
    void *context;
} items;

static void do_items(void *context, int64_t begin, int64_t end, int member) {
    const items *all = context;
    for (int64_t i = begin; i < end; i++)
        all->item(all->context, i, member);
}

void gsv_pool_each(gsv_pool *p, int threads, int64_t count, gsv_pool_item *item, void *context) {
    items all = {item, context};
    gsv_pool_ranges(p, threads, count, 1, do_items, &all);
}
