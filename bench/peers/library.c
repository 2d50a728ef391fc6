#define _POSIX_C_SOURCE 200809L
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *bench_library_load(const char *variable, const char *const *names) {
    const char *path = getenv(variable);
    void *library = NULL;

    if (path && *path)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

int bench_library_find(void *library, const char *name, void *function, bench_solver_facts *facts) {
    void *found =
        dlsym(library, name); /* POSIX, not ISO C, lets a pointer to an object be one to a function */

    memcpy(function, &found, sizeof found);
    return found ? 0 : bench_solver_explain(facts, "the library has no %s", name);
}
