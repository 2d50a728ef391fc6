#define _GNU_SOURCE /* secure_getenv */
#include "settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static preload_settings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static void complain(const char *name, const char *value, const char *wanted) {
    if (!settings.complaint[0])
        snprintf(settings.complaint, sizeof settings.complaint, "%s=%.60s is not understood; it may be %s",
                 name, value, wanted);
}

/* The place of the variable's value in the list, or `standard`. */
static int choice(const char *name, const char *const *list, int standard, const char *wanted) {
    const char *value = secure_getenv(name);
    if (!value || !value[0])
        return standard;
    for (int k = 0; list[k]; k++)
        if (!strcmp(value, list[k]))
            return k;
    complain(name, value, wanted);
    return standard;
}

/* A whole number, for bytes with an ending k, M, G or T. */
static bool whole_number(const char *value, bool bytes, int64_t *number) {
    static const char endings[] = "kMGT";
    char *end;
    errno = 0;
    const long long read = strtoll(value, &end, 10);
    if (errno || end == value || read < 0)
        return false;
    int64_t unit = 1;
    if (bytes && *end) {
        const char *ending = strchr(endings, *end == 'K' ? 'k' : *end);
        if (!ending)
            return false;
        unit = INT64_C(1) << (10 * (ending - endings + 1));
        end++;
    }
    if (*end || read > INT64_MAX / unit)
        return false;
    *number = read * unit;
    return true;
}

static int64_t number(const char *name, bool bytes, int64_t standard) {
    const char *value = secure_getenv(name);
    int64_t read = standard;
    if (value && value[0] && !whole_number(value, bytes, &read))
        complain(name, value, bytes ? "a number of bytes, such as 4M" : "a whole number");
    return read;
}

static const char *text(const char *name) {
    const char *value = secure_getenv(name);
    return value && value[0] ? strdup(value)
                             : NULL; /* kept for good: the program may change its environment */
}

static void read_environment(void) {
    static const char *const modes[] = {"off", "second", "always", NULL};
    static const char *const backends[] = {"auto", "host", "cuda", NULL};
    settings.mode = (preload_mode)choice("GPUSOLVE_PRELOAD", modes, PRELOAD_SECOND, "always, second or off");
    settings.backend = (gpusolve_backend)choice("GPUSOLVE_PRELOAD_BACKEND", backends, GPUSOLVE_BACKEND_AUTO,
                                                "auto, cuda or host");
    const int64_t device = number("GPUSOLVE_PRELOAD_DEVICE", false, 0);
    settings.device = device > 1023 ? 1023 : (int)device;
    settings.least_bytes = number("GPUSOLVE_PRELOAD_MIN_BYTES", true, INT64_C(4) << 20);
    settings.most_bytes = number("GPUSOLVE_PRELOAD_MAX_BYTES", true, 0);
    settings.most_factors = number("GPUSOLVE_PRELOAD_MAX_FACTORS", false, 16);
    settings.log = text("GPUSOLVE_LOG");
    settings.cholmod = text("GPUSOLVE_CHOLMOD");
    settings.gpusolve = text("GPUSOLVE_LIBRARY");
}

const preload_settings *preload_get_settings(void) {
    pthread_once(&settings_once, read_environment);
    return &settings;
}
