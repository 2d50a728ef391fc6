/* The log that GPUSOLVE_LOG asks for, and the counts that it ends with. Without it nothing is ever printed. */
#ifndef PRELOAD_LOG_H
#define PRELOAD_LOG_H

#include <stdbool.h>

/* What is counted. */
typedef enum preload_count {
    COUNT_SERVED,          /* calls whose solution came from gpusolve */
    COUNT_PASSED,          /* calls that CHOLMOD answered */
    COUNT_LARGE,           /* dense solves on supernodal factors above the size limit, */
    COUNT_LARGE_SERVED,    /* those of them that were served */
    COUNT_SPARSE_SERVED,   /* calls of spsolve among the served */
    COUNT_BSET_SERVED,     /* calls with Bset among the served */
    COUNT_SELECTED_SERVED, /* of the two: by a selection, not by dense columns */
    COUNT_IMPORTS,
    COUNT_REFRESHES,
    COUNT_KINDS
} preload_count;

void preload_add(preload_count which);

bool preload_is_logging(void);

/* One line, printf's format. It is written at once, and the file is closed again: a program may close, or reuse, any descriptor. */
__attribute__((format(printf, 1, 2))) void preload_log(const char *format, ...);

/* The counts, as one line; nothing if nothing was counted. */
void preload_log_counts(void);

/* In a forked child: its counts start at zero. */
void preload_reset_counts(void);

#endif
