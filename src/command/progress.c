/* A thread that looks five times a second how long the stage has taken. */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include "command.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t stops;
    pthread_t thread;
    int is_running, is_stopping;
    int shown; /* the seconds that stand on the terminal; 0: nothing does */
    char stage[160];
    double began;
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER, .stops = PTHREAD_COND_INITIALIZER};

static void wipe(void) {
    if (progress.shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress.shown = 0;
}

static void *show(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&progress.mutex);
    while (!progress.is_stopping) {
        struct timespec until;
        const int seconds = progress.stage[0] ? (int)(1e-3 * (command_now_ms() - progress.began)) : 0;
        if (seconds > progress.shown) {
            fprintf(stderr, "\r\033[K%s, %d s", progress.stage, seconds);
            fflush(stderr);
            progress.shown = seconds;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&progress.stops, &progress.mutex, &until);
    }
    pthread_mutex_unlock(&progress.mutex);
    return NULL;
}

void progress_start(void) {
    sigset_t all, before;
    if (!isatty(STDERR_FILENO))
        return;
    sigfillset(&all); /* signals go to the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress.is_running = !pthread_create(&progress.thread, NULL, show, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_stage(const char *format, ...) {
    pthread_mutex_lock(&progress.mutex);
    wipe();
    progress.stage[0] = '\0';
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(progress.stage, sizeof progress.stage, format, arguments);
        va_end(arguments);
    }
    progress.began = command_now_ms();
    pthread_mutex_unlock(&progress.mutex);
}

void progress_stop(void) {
    if (!progress.is_running)
        return;
    progress_stage(NULL);
    pthread_mutex_lock(&progress.mutex);
    progress.is_stopping = 1;
    pthread_cond_signal(&progress.stops);
    pthread_mutex_unlock(&progress.mutex);
    pthread_join(progress.thread, NULL);
    progress.is_running = 0;
}
