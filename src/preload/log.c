#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "settings.h"

static atomic_long counts[COUNT_KINDS];

void preload_add(preload_count which) {
    atomic_fetch_add_explicit(&counts[which], 1, memory_order_relaxed);
}

bool preload_is_logging(void) {
    return preload_get_settings()->log != NULL;
}

void preload_log(const char *format, ...) {
    const char *name = preload_get_settings()->log;
    char line[512];
    if (!name)
        return;
    const int saved = errno;
    int used = snprintf(line, sizeof line, "gpusolve_preload[%ld]: ", (long)getpid());
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    const bool to_stderr = !strcmp(name, "stderr");
    const int file = to_stderr ? 2 : open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0) {
        const ssize_t written = write(file, line, strlen(line));
        (void)written; /* nobody is left to be told */
        if (!to_stderr)
            close(file);
    }
    errno = saved;
}

void preload_log_counts(void) {
    long now[COUNT_KINDS];
    for (int k = 0; k < COUNT_KINDS; k++)
        now[k] = atomic_load(&counts[k]);
    if (now[COUNT_SERVED] + now[COUNT_PASSED] == 0)
        return;
    preload_log("total: %ld solves, %ld served, %ld passed on; %ld of %ld large supernodal dense served; "
                "%ld sparse and %ld Bset served, %ld of them selected; %ld imports, %ld refreshes",
                now[COUNT_SERVED] + now[COUNT_PASSED], now[COUNT_SERVED], now[COUNT_PASSED],
                now[COUNT_LARGE_SERVED], now[COUNT_LARGE], now[COUNT_SPARSE_SERVED], now[COUNT_BSET_SERVED],
                now[COUNT_SELECTED_SERVED], now[COUNT_IMPORTS], now[COUNT_REFRESHES]);
}

void preload_reset_counts(void) {
    for (int k = 0; k < COUNT_KINDS; k++)
        atomic_store(&counts[k], 0);
}
