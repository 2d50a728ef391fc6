/* A record of a factor, and its import: shared by factors.c, the table, and import.c, what is done with one import. */
#ifndef PRELOAD_RECORD_H
#define PRELOAD_RECORD_H

#include "factors.h"
#include "guard.h"

enum { PRELOAD_KEPT_SELECTIONS = 4 };

typedef struct preload_workspace {
    struct preload_workspace *next;
    gpusolve_workspace *workspace;
    int64_t max_nrhs;
} preload_workspace;

typedef struct preload_import {
    struct preload_import *next; /* in a list of those that go */
    gpusolve_factor *factor;     /* NULL: not imported */
    uint64_t of_change;          /* the record's `changes` whose numbers it has */
    int64_t factor_bytes;
    int64_t tool_bytes;            /* of the workspaces and selections, also those in use */
    preload_workspace *workspaces; /* that nobody uses */
    preload_selection *selections; /* that nobody uses, the last used first */
} preload_import;

struct preload_record {
    const void *key;              /* the cholmod_factor */
    const preload_common *common; /* of the last solve */
    uint64_t changes;             /* how often its numbers changed */
    bool has_guard;               /* no routine of CHOLMOD has changed it since the guard was taken */
    preload_guard guard;
    int solves;  /* since the last change */
    bool reused; /* the numbers before the last change were solved with more than once */
    int evictions;
    uint64_t last_used;
    char refused[256]; /* why these numbers cannot be imported, or "" */
    bool preparing;    /* a thread imports or refreshes, outside of the lock */
    bool removed;      /* no longer in the table: the last user destroys it */
    int users;
    int64_t expected_bytes;
    preload_import import;
    uint64_t last_rows; /* hash of the rows of the last sparse right-hand side */
};

/* Import L, or refresh the import that there is. On failure lease->why says why; the old import stays if its pattern fits. */
gpusolve_status preload_import_make(preload_lease *lease, preload_import *import, const preload_factor *L);
void preload_import_destroy(const preload_engine *engine, preload_import *import);

static inline int64_t preload_import_bytes(const preload_import *import) {
    return import->factor_bytes + import->tool_bytes;
}

/* The table's lock, for the lists of idle workspaces and selections. */
void preload_lock_tools(void);
void preload_unlock_tools(void);

#endif
