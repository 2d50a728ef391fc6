#define _POSIX_C_SOURCE 200809L
#include "saved.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpusolve_store.h"

enum { MOST = 5 }; /* times that a factor is loaded, which takes long */

typedef struct saved_case {
    gpusolve_handle *handle;
    const char *path;
    double logdet; /* of the factor that was saved */
    int same;
} saved_case;

/* Milliseconds of one load, with options of mapping, or NULL; or a negative number. What is outside the clock frees the factor. */
static double load_once(saved_case *c, const gpusolve_map_options *map) {
    gpusolve_factor *factor;
    double logdet = NAN;
    const double begin = bench_now_us();
    const gpusolve_status status = map ? gpusolve_factor_map(c->handle, c->path, map, &factor)
                                       : gpusolve_factor_load(c->handle, c->path, &factor);
    const double ms = 1e-3 * (bench_now_us() - begin);

    if (status)
        return -1;
    if (gpusolve_factor_logdet(c->handle, factor, &logdet, NULL) || !(logdet == c->logdet))
        c->same = 0;
    gpusolve_factor_destroy(factor);
    return ms;
}

/* The median. The first load warms up: the library's pinned memory, the page cache. */
static int time_loads(saved_case *c, const gpusolve_map_options *map, int repeat, double *ms) {
    double samples[MOST];
    const int count = repeat < MOST ? repeat : MOST;

    if (load_once(c, map) < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if ((samples[i] = load_once(c, map)) < 0)
            return -1;
    *ms = bench_summarise(samples, count).median;
    return 0;
}

static int time_all(saved_case *c, int repeat, bench_saved *saved) {
    gpusolve_map_options map = GPUSOLVE_MAP_OPTIONS_INIT, trusted = GPUSOLVE_MAP_OPTIONS_INIT;

    trusted.verify = 0;
    return time_loads(c, NULL, repeat, &saved->load_ms) || time_loads(c, &map, repeat, &saved->map_ms) ||
           time_loads(c, &trusted, repeat, &saved->trusted_ms);
}

const char *bench_saved_measure(const bench_device *device, gpusolve_handle *handle,
                                const gpusolve_factor *factor, const bench_problem *problem, int repeat,
                                bench_saved *saved) {
    const gpusolve_factor_data data = bench_problem_factor(problem);
    char path[PATH_MAX];
    saved_case c = {.handle = handle, .path = path, .same = 1};
    const char *failed = NULL;
    struct stat file;
    double begin;

    if (!saved->folder)
        return NULL;
    if (snprintf(path, sizeof path, "%s/gpusolve-bench-%ld.factor", saved->folder, (long)getpid()) >=
        (int)sizeof path)
        return "naming the file of the saved factor";
    if (gpusolve_factor_logdet(handle, factor, &c.logdet, NULL))
        return "asking for the determinant";
    saved->bus = device->bus();
    begin = bench_now_us();
    if (gpusolve_factor_data_save(handle, &data, path) || stat(path, &file))
        return "saving the factor";
    saved->save_ms = 1e-3 * (bench_now_us() - begin);
    saved->bytes = (double)file.st_size;
    if (time_all(&c, repeat, saved))
        failed = "loading the factor";
    saved->same = c.same;
    remove(path);
    return failed;
}
