/* What the environment asks for: read once, when it is first needed. README.md lists the variables. */
#ifndef PRELOAD_SETTINGS_H
#define PRELOAD_SETTINGS_H

#include <stdint.h>

#include "gpusolve.h"

typedef enum preload_mode { PRELOAD_OFF, PRELOAD_SECOND, PRELOAD_ALWAYS } preload_mode;

typedef struct preload_settings {
    preload_mode mode;
    gpusolve_backend backend;
    int device;
    int64_t least_bytes; /* of the numbers of L: smaller factors stay with CHOLMOD */
    int64_t most_bytes;  /* of all imported factors together; 0: the default for the backend */
    int64_t most_factors;
    const char *log;      /* NULL, "stderr", or a file */
    const char *cholmod;  /* path of the CHOLMOD to use, or NULL */
    const char *gpusolve; /* path of libgpusolve.so, or NULL */
    char complaint[160];  /* a variable that could not be understood, or "" */
} preload_settings;

const preload_settings *preload_get_settings(void);

#endif
