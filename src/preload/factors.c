#define _GNU_SOURCE /* sysconf */
#include "factors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "log.h"
#include "record.h"
#include "settings.h"

enum { RECORDS = 256, MOST_EVICTIONS = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static preload_record *records[RECORDS];
static atomic_int
    record_count; /* read without the lock by the hooks, which have nothing to do while it is 0 */
static uint64_t clock_now;

/* ---------------------------------------------------------------------------------------- the limits --- */

/* Bytes that all imports together may take. */
static int64_t most_bytes(void) {
    if (preload_get_settings()->most_bytes > 0)
        return preload_get_settings()->most_bytes;
    if (preload_engine_is_cuda())
        return INT64_C(64) << 30;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (int64_t)pages / 4 * page : INT64_C(1) << 30;
}

/* The solve, counted from the last change, at which the factor is imported. */
static int wanted_solves(const preload_record *r) {
    if (r->evictions > 0)
        return 2 << (r->evictions < MOST_EVICTIONS ? r->evictions : MOST_EVICTIONS);
    return preload_get_settings()->mode == PRELOAD_ALWAYS || r->reused ? 1 : 2;
}

/* Take the import out of a record, to the front of the list. */
static bool take_import(preload_record *r, preload_import **list) {
    preload_import *taken = malloc(sizeof *taken);
    if (!taken)
        return false;
    *taken = r->import;
    taken->next = *list;
    *list = taken;
    memset(&r->import, 0, sizeof r->import);
    r->evictions++;
    r->solves = 0;
    return true;
}

/* Take all imports that nobody uses. */
static preload_import *take_idle_imports(const preload_record *but) {
    preload_import *list = NULL;
    for (int k = 0; k < RECORDS; k++) {
        preload_record *r = records[k];
        if (r && r != but && r->import.factor && !r->users && !r->preparing && !take_import(r, &list))
            break;
    }
    return list;
}

/* Take imports out of the table's records, the least recently used first, until one of `bytes` more fits; they come back in
 * a list, to be destroyed outside of the lock. False: those in use leave no room. */
static bool make_room(int64_t bytes, const preload_record *but, preload_import **out) {
    const int64_t limit = most_bytes(), most = preload_get_settings()->most_factors;
    for (;;) {
        int64_t total = bytes, count = 1;
        preload_record *oldest = NULL;
        for (int k = 0; k < RECORDS; k++) {
            preload_record *r = records[k];
            if (!r || r == but || !(r->import.factor || r->preparing))
                continue;
            total += r->preparing ? r->expected_bytes : preload_import_bytes(&r->import);
            count++;
            if (r->users == 0 && !r->preparing && (!oldest || r->last_used < oldest->last_used))
                oldest = r;
        }
        if (total <= limit && count <= most)
            return true;
        if (!oldest || bytes > limit || most < 1)
            return false;
        if (!take_import(oldest, out))
            return false;
    }
}

static void destroy_list(const preload_engine *engine, preload_import *list) {
    while (list) {
        preload_import *next = list->next;
        preload_import_destroy(engine, list);
        free(list);
        list = next;
    }
}

/* ----------------------------------------------------------------------------------------- the table --- */

static preload_record *find(const void *L) {
    for (int k = 0; k < RECORDS; k++)
        if (records[k] && records[k]->key == L)
            return records[k];
    return NULL;
}

/* Takes a record out of the table. Returned if nobody uses it: the caller destroys it outside of the lock. */
static preload_record *remove_record(preload_record *r) {
    for (int k = 0; k < RECORDS; k++)
        if (records[k] == r) {
            records[k] = NULL;
            atomic_fetch_sub(&record_count, 1);
        }
    r->removed = true;
    return r->users == 0 && !r->preparing ? r : NULL;
}

static void destroy_record(preload_record *r) {
    const char *why;
    if (!r)
        return;
    if (r->import.factor)
        preload_import_destroy(preload_get_engine(&why), &r->import);
    free(r);
}

/* A new record, in the place of the one least recently used if the table is full. */
static preload_record *add_record(const void *L, preload_record **old) {
    int place = -1;
    preload_record *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    for (int k = 0; k < RECORDS && (place < 0 || records[place]); k++)
        if (!records[k] || place < 0 || records[k]->last_used < records[place]->last_used)
            place = k;
    if (records[place])
        *old = remove_record(records[place]);
    r->key = L;
    records[place] = r;
    atomic_fetch_add(&record_count, 1);
    return r;
}

/* The factor has other numbers from now on. Of several changes between two solves the first one counts. */
static void begin_anew(preload_record *r) {
    r->changes++;
    if (r->has_guard) {
        r->reused = r->solves >= 2;
        r->solves = 0;
        r->refused[0] = '\0';
    }
    r->has_guard = false;
}

/* ---------------------------------------------------------------------------------- import or refresh --- */

/* With the lock held, which is released meanwhile. True: r's import has the numbers of L. */
static bool prepare(preload_record *r, const preload_factor *L, preload_lease *lease) {
    preload_import *evicted = NULL;
    const uint64_t changes = r->changes;
    r->expected_bytes = preload_factor_bytes(L);
    if (!make_room(r->expected_bytes, r, &evicted)) {
        snprintf(lease->why, sizeof lease->why, "no room: GPUSOLVE_PRELOAD_MAX_BYTES or _MAX_FACTORS");
        destroy_list(lease->engine, evicted);
        return false;
    }
    /* Meanwhile the record has no import, so that nobody else looks at it. */
    preload_import import = r->import;
    memset(&r->import, 0, sizeof r->import);
    r->preparing = true;
    pthread_mutex_unlock(&lock);
    destroy_list(lease->engine, evicted);
    gpusolve_status status = preload_import_make(lease, &import, L);
    if (status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY) {
        /* Once more, without the imports that nobody uses. */
        pthread_mutex_lock(&lock);
        evicted = take_idle_imports(r);
        pthread_mutex_unlock(&lock);
        if (evicted) {
            destroy_list(lease->engine, evicted);
            status = preload_import_make(lease, &import, L);
        }
    }
    pthread_mutex_lock(&lock);
    r->preparing = false;
    r->import = import;
    if (status == GPUSOLVE_OK)
        r->import.of_change = changes;
    else
        snprintf(r->refused, sizeof r->refused, "%s", lease->why);
    return status == GPUSOLVE_OK && r->changes == changes;
}

/* With the lock held: may this solve use r's import? It is made or refreshed first, if it is time. */
static bool ready(preload_record *r, const preload_factor *L, preload_lease *lease) {
    if (r->preparing) {
        snprintf(lease->why, sizeof lease->why, "another thread is importing the factor");
        return false;
    }
    if (r->import.factor && r->import.of_change == r->changes)
        return true;
    if (r->refused[0]) {
        snprintf(lease->why, sizeof lease->why, "%s", r->refused);
        return false;
    }
    if (r->solves < wanted_solves(r)) {
        snprintf(lease->why, sizeof lease->why, "solve %d with these numbers; from solve %d on it is served",
                 r->solves, wanted_solves(r));
        return false;
    }
    if (r->users > 0) {
        snprintf(lease->why, sizeof lease->why, "the old numbers are in use by another thread");
        return false;
    }
    return prepare(r, L, lease);
}

bool preload_borrow(const preload_factor *L, const preload_common *common, preload_lease *lease) {
    preload_guard guard;
    preload_record *old = NULL, *unwanted = NULL;
    const char *why = "out of memory";
    lease->record = NULL;
    lease->engine = preload_get_engine(&why);
    lease->handle = lease->engine ? preload_take_handle(&why) : NULL;
    if (!lease->handle) {
        snprintf(lease->why, sizeof lease->why, "%s", why);
        return false;
    }
    preload_take_guard(L, &guard);

    pthread_mutex_lock(&lock);
    preload_record *r = find(L);
    if (!r)
        r = add_record(L, &old);
    bool borrowed = false;
    if (r) {
        if (r->has_guard && !preload_same_guard(&r->guard, &guard))
            begin_anew(r);
        r->guard = guard;
        r->has_guard = true;
        r->common = common;
        r->last_used = ++clock_now;
        r->solves += r->solves < 1 << 30;
        borrowed = ready(r, L, lease);
        if (r->removed) { /* while this thread imported: nobody else can have used it */
            borrowed = false;
            unwanted = r;
            snprintf(lease->why, sizeof lease->why, "the factor was freed meanwhile");
        } else if (borrowed) {
            r->users++;
            lease->record = r;
            lease->factor = r->import.factor;
        }
    } else {
        snprintf(lease->why, sizeof lease->why, "%s", why);
    }
    pthread_mutex_unlock(&lock);
    destroy_record(old);
    destroy_record(unwanted);
    if (!borrowed) {
        preload_return_handle(lease->handle);
        lease->handle = NULL;
    }
    return borrowed;
}

void preload_give_back(preload_lease *lease) {
    preload_record *r = lease->record, *unwanted = NULL;
    preload_return_handle(lease->handle);
    lease->handle = NULL;
    pthread_mutex_lock(&lock);
    if (--r->users == 0 && r->removed)
        unwanted = r;
    pthread_mutex_unlock(&lock);
    destroy_record(unwanted);
}

/* -------------------------------------------------------------------- what belongs to a lent import --- */

void preload_lock_tools(void) {
    pthread_mutex_lock(&lock);
}

void preload_unlock_tools(void) {
    pthread_mutex_unlock(&lock);
}

/* ----------------------------------------------------------------------------------------- changes --- */

void preload_factor_changes(const void *L) {
    if (!L || atomic_load(&record_count) == 0)
        return;
    pthread_mutex_lock(&lock);
    preload_record *r = find(L);
    if (r)
        begin_anew(r);
    pthread_mutex_unlock(&lock);
}

void preload_factor_ends(const void *L) {
    preload_record *unwanted = NULL;
    if (!L || atomic_load(&record_count) == 0)
        return;
    pthread_mutex_lock(&lock);
    preload_record *r = find(L);
    if (r)
        unwanted = remove_record(r);
    pthread_mutex_unlock(&lock);
    destroy_record(unwanted);
}

void preload_common_ends(const preload_common *common) {
    if (atomic_load(&record_count) == 0)
        return;
    for (int k = 0; k < RECORDS; k++) {
        preload_record *unwanted = NULL;
        pthread_mutex_lock(&lock);
        if (records[k] && records[k]->common == common)
            unwanted = remove_record(records[k]);
        pthread_mutex_unlock(&lock);
        destroy_record(unwanted);
    }
}

void preload_factors_before_fork(void) {
    pthread_mutex_lock(&lock);
}

/* The child forgets its parent's imports, and does not free them: another thread may have been inside one of them. */
void preload_factors_after_fork(bool child) {
    if (child) {
        memset(records, 0, sizeof records);
        atomic_store(&record_count, 0);
    }
    pthread_mutex_unlock(&lock);
}
