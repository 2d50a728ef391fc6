#define _GNU_SOURCE /* dladdr1, dl_iterate_phdr, RTLD_NEXT */
#include "libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "settings.h"

enum { CALLERS = 256 };

typedef struct known_caller {
    const void *return_address;
    unsigned long long
        unloads; /* of objects, when it was looked up: later the address may be another object's */
    const preload_library *library;
    bool from_itself;
} known_caller;

typedef struct known_library {
    struct known_library *next;
    preload_library library;
} known_library;

/* Guards the two tables. The loader's lock is never taken inside it: a constructor that runs inside the loader may call us. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known_caller callers[CALLERS];
static known_library *libraries;

static const char *const names[2][REAL_FUNCTIONS] = {
#define NAME(name) "cholmod_" #name,
    {PRELOAD_REAL_FUNCTIONS(NAME)},
#undef NAME
#define NAME(name) "cholmod_l_" #name,
    {PRELOAD_REAL_FUNCTIONS(NAME)},
#undef NAME
};

/* ------------------------------------------------------------------------------ the loader's answers --- */

static void *base_of(const void *address) {
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool is_own(const void *address) {
    return base_of(address) == base_of(callers);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *unloads) {
    (void)size;
    *(unsigned long long *)unloads = info->dlpi_subs;
    return 1;
}

static unsigned long long count_unloads(void) {
    unsigned long long unloads = 0;
    dl_iterate_phdr(first_object, &unloads);
    return unloads;
}

/* cholmod_solve2 as an object's scope has it, unless that is ours; NULL. name "": the program. */
static void *in_scope_of(const char *name) {
    void *handle = dlopen(name[0] ? name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = handle ? dlsym(handle, names[0][REAL_solve2]) : NULL;
    if (handle)
        dlclose(handle); /* what it found is loaded all the same */
    return symbol && !is_own(symbol) ? symbol : NULL;
}

typedef struct object_names {
    char **name;
    size_t count, room;
} object_names;

static int note_name(struct dl_phdr_info *info, size_t size, void *data) {
    object_names *list = data;
    (void)size;
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        char **grown = realloc(list->name, room * sizeof *grown);
        if (!grown)
            return 1;
        list->name = grown;
        list->room = room;
    }
    list->name[list->count] = strdup(info->dlpi_name ? info->dlpi_name : "");
    return !list->name[list->count] || (list->count++, 0);
}

/* The first of all loaded objects that has it in its scope. */
static void *in_any_object(void) {
    object_names list = {0};
    void *symbol = NULL;
    dl_iterate_phdr(note_name, &list);
    for (size_t k = 0; k < list.count; k++) {
        if (!symbol)
            symbol = in_scope_of(list.name[k]);
        free(list.name[k]);
    }
    free(list.name);
    return symbol;
}

/* cholmod_solve2 of the CHOLMOD that a call from return_address belongs to. */
static void *find_symbol(const void *return_address, bool *from_itself) {
    Dl_info info;
    struct link_map *map = NULL;
    void *symbol = NULL, *local = NULL;
    const char *named = preload_get_settings()->cholmod;
    *from_itself = false;
    if (dladdr1(return_address, &info, (void **)&map, RTLD_DL_LINKMAP) && map) {
        local = in_scope_of(map->l_name);
        *from_itself = local && base_of(local) == info.dli_fbase;
    }
    if (named) {
        void *handle = dlopen(named, RTLD_LAZY | RTLD_LOCAL);
        symbol = handle ? dlsym(handle, names[0][REAL_solve2]) : NULL;
        if (!symbol)
            preload_log("GPUSOLVE_CHOLMOD=%.200s cannot be opened, or is no CHOLMOD", named);
    }
    if (!symbol && *from_itself)
        symbol = local;
    if (!symbol)
        symbol = dlsym(RTLD_NEXT, names[0][REAL_solve2]);
    if (!symbol)
        symbol = local;
    return symbol ? symbol : in_any_object();
}

/* ---------------------------------------------------------------------------------------- the tables --- */

/* The library that holds this symbol. It is kept loaded from now on, so that the pointers stay good. */
static const preload_library *library_of(void *symbol) {
    struct link_map *map = NULL;
    Dl_info info;
    void *handle = NULL;
    if (!dladdr1(symbol, &info, (void **)&map, RTLD_DL_LINKMAP))
        return NULL;
    pthread_mutex_lock(&lock);
    known_library *known = libraries;
    while (known && known->library.base != info.dli_fbase)
        known = known->next;
    pthread_mutex_unlock(&lock);
    if (known)
        return &known->library;

    if (map)
        handle = dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    known = handle ? calloc(1, sizeof *known) : NULL;
    if (!known)
        return NULL;
    known->library.base = info.dli_fbase;
    for (int form = 0; form < 2; form++)
        for (int k = 0; k < REAL_FUNCTIONS; k++) {
            void *found = dlsym(handle, names[form][k]);
            if (found && is_own(found))
                found = dlsym(RTLD_NEXT, names[form][k]);
            *(void **)(&known->library.call[form][k]) = found;
        }
    preload_log("CHOLMOD found: %.300s", map->l_name[0] ? map->l_name : "the program itself");
    pthread_mutex_lock(&lock);
    known->next = libraries; /* perhaps a second time, by another thread: no harm */
    libraries = known;
    pthread_mutex_unlock(&lock);
    return &known->library;
}

const preload_library *preload_find_library(const void *return_address, bool *from_itself) {
    const unsigned long long unloads = count_unloads();
    known_caller *place = &callers[((uintptr_t)return_address >> 2) % CALLERS], found;
    pthread_mutex_lock(&lock);
    found = *place;
    pthread_mutex_unlock(&lock);
    if (found.return_address != return_address || found.unloads != unloads || !found.library) {
        void *symbol = find_symbol(return_address, &found.from_itself);
        found.return_address = return_address;
        found.unloads = unloads;
        found.library = symbol ? library_of(symbol) : NULL;
        pthread_mutex_lock(&lock);
        *place = found;
        pthread_mutex_unlock(&lock);
    }
    if (from_itself)
        *from_itself = found.from_itself;
    return found.library;
}

void preload_libraries_before_fork(void) {
    pthread_mutex_lock(&lock);
}

void preload_libraries_after_fork(void) {
    pthread_mutex_unlock(&lock);
}
