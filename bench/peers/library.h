/* Peers' libraries, looked for at run time. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "solver.h"

/* The library at the path that the environment variable holds, if it is set, else the first of the names
 * (NULL ends them) on the loader's path. NULL: not found. It stays loaded: threads of its own may outlive a
 * solver. */
void *bench_library_load(const char *variable, const char *const *names);

/* *function, a pointer to a function, is what the library calls so. 0, or -1 with the reason in facts. */
int bench_library_find(void *library, const char *name, void *function, bench_solver_facts *facts);

#endif
