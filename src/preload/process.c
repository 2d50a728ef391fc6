/* What the process as a whole does: it starts, forks, and ends. */
#include <pthread.h>

#include "engine.h"
#include "factors.h"
#include "libraries.h"
#include "log.h"
#include "settings.h"

static void before_fork(void) {
    preload_libraries_before_fork();
    preload_factors_before_fork();
    preload_engine_before_fork();
}

static void in_parent(void) {
    preload_engine_after_fork(false);
    preload_factors_after_fork(false);
    preload_libraries_after_fork();
}

static void in_child(void) {
    preload_engine_after_fork(true);
    preload_factors_after_fork(true);
    preload_libraries_after_fork();
    preload_reset_counts();
}

__attribute__((constructor)) static void process_starts(void) {
    pthread_atfork(before_fork, in_parent, in_child);
    if (preload_get_settings()->complaint[0])
        preload_log("%s", preload_get_settings()->complaint);
}

__attribute__((destructor)) static void process_ends(void) {
    preload_log_counts();
}
