/*
 * How readily CHOLMOD merges a supernode with its parent although that stores zeros (cholmod_common.nrelax and
 * .zrelax, relaxed supernodal amalgamation): always if both together have no more columns than nrelax[0]; up to
 * nrelax[1] and nrelax[2] if less than the shares zrelax[0] and zrelax[1] of their numbers are zeros; and if less than
 * zrelax[2] are. Fewer supernodes are fewer waits and less to hand from one to the next, for a larger L.
 */
#ifndef BENCH_RELAX_H
#define BENCH_RELAX_H

#include <cholmod.h>
#include <stddef.h>

typedef struct bench_relax {
    const char *text; /* as on the command line, or NULL: CHOLMOD's defaults */
    size_t columns[3];
    double zeros[3];
} bench_relax;

/* Of "4,16,48,0.8,0.1,0.05", for example, which are the defaults. -1 if text is no such list. */
int bench_relax_parse(const char *text, bench_relax *relax);

/* What tables and records call a matrix: its own name, and behind it what is no default. */
void bench_relax_name(const bench_relax *relax, const char *matrix, char *name, size_t bytes);

/* For the next analysis. */
void bench_relax_apply(const bench_relax *relax, cholmod_common *common);

#endif
