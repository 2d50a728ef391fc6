/*
 * Trees that no ordering of a grid makes, solved with one thread and with more: does any of them take longer
 * with the threads that the library chooses?
 *
 *      gpusolve-trees-bench [--threads N] [--seconds S] [--nrhs 1,8,32] [--json FILE] [TREE...]
 *
 * A solve with one thread and one with N take turns for S seconds a tree and number of columns; the best and
 * the median of each are printed, and their ratios: below 1 the threads gain. Uses the public API alone.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpusolve.h"
#include "tests/tree_shapes.h"

static void fail(const char *what) {
    fprintf(stderr, "trees: %s\n", what);
    exit(1);
}

/* ------------------------------------------------------------------------------------ measurement --- */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

typedef struct solver {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace;
} solver;

static void must(gpusolve_handle *handle, gpusolve_status status) {
    if (status != GPUSOLVE_OK)
        fail(handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
}

static solver make_solver(const gpusolve_factor_data *data, int threads, int64_t nrhs) {
    solver s;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_HOST;
    options.threads = threads;
    must(NULL, gpusolve_create(&s.handle, &options));
    must(s.handle, gpusolve_factor_create(s.handle, data, &s.factor));
    must(s.handle, gpusolve_workspace_create(s.handle, s.factor, nrhs, &s.workspace));
    return s;
}

static void free_solver(solver *s) {
    gpusolve_workspace_destroy(s->workspace);
    gpusolve_factor_destroy(s->factor);
    gpusolve_destroy(s->handle);
}

/* As many solves as last 50 us or longer; the time of one. */
static double sample(const solver *s, const gpusolve_dense *b, const gpusolve_dense *x) {
    const double begin = now_us();
    double end = begin;
    int calls = 0;
    do {
        must(s->handle, gpusolve_solve(s->handle, s->factor, s->workspace, GPUSOLVE_A, b, x));
        calls++;
        end = now_us();
    } while (end - begin < 50);
    return (end - begin) / calls;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES = 2000 };

typedef struct timing {
    double best, median;
} timing;

static timing timing_of(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, compare);
    return (timing){samples[0], samples[count / 2]};
}

static double predicted(const solver *s, int64_t nrhs) {
    gpusolve_cost cost = {.size = sizeof cost};
    must(s->handle, gpusolve_factor_cost(s->handle, s->factor, nrhs, 1e15, &cost));
    return cost.predicted_us;
}

static void measure(const char *name, const gpusolve_factor_data *data, int threads, int64_t nrhs,
                    double seconds, FILE *json) {
    static double one[SAMPLES], more[SAMPLES];
    const size_t numbers = (size_t)data->n * (size_t)nrhs;
    double *values = tree_array(2 * numbers, sizeof *values);
    for (size_t i = 0; i < numbers; i++)
        values[i] = 1 + (double)(i % 17);
    const gpusolve_dense b = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, data->n, nrhs, data->n, values};
    gpusolve_dense x = b;
    x.values = values + numbers;
    solver alone = make_solver(data, 1, nrhs), many = make_solver(data, threads, nrhs);
    for (int k = 0; k < 3; k++) {
        sample(&alone, &b, &x);
        sample(&many, &b, &x);
    }
    int count = 0;
    const double end = now_us() + 1e6 * seconds;
    while (count < 5 || (count < SAMPLES && now_us() < end)) {
        one[count] = sample(&alone, &b, &x);
        more[count++] = sample(&many, &b, &x);
    }
    const timing with_one = timing_of(one, count), with_more = timing_of(more, count);
    printf("%-14s %4d  %9.1f %9.1f  %9.1f %9.1f  %5.2f %5.2f  %9.1f %9.1f%s\n", name, (int)nrhs,
           with_one.best, with_one.median, with_more.best, with_more.median, with_more.best / with_one.best,
           with_more.median / with_one.median, predicted(&alone, nrhs), predicted(&many, nrhs),
           with_more.best > 1.1 * with_one.best && with_more.median > 1.1 * with_one.median ? "  SLOWER"
                                                                                            : "");
    fflush(stdout);
    if (json)
        fprintf(json,
                "{\"tree\": \"%s\", \"nrhs\": %d, \"threads\": %d, \"one_best_us\": %.2f, \"one_median_us\": "
                "%.2f, \"best_us\": %.2f, \"median_us\": %.2f}\n",
                name, (int)nrhs, threads, with_one.best, with_one.median, with_more.best, with_more.median);
    free_solver(&alone);
    free_solver(&many);
    free(values);
}

static int wanted(const char *name, char **names, int count) {
    for (int k = 0; k < count; k++)
        if (strstr(name, names[k]))
            return 1;
    return count == 0;
}

int main(int argc, char **argv) {
    int threads = 2, first = 1;
    double seconds = 0.1;
    const char *columns = "1,8,32";
    FILE *json = NULL;
    for (; first + 1 < argc && !strncmp(argv[first], "--", 2); first += 2) {
        if (!strcmp(argv[first], "--threads"))
            threads = atoi(argv[first + 1]);
        else if (!strcmp(argv[first], "--seconds"))
            seconds = atof(argv[first + 1]);
        else if (!strcmp(argv[first], "--nrhs"))
            columns = argv[first + 1];
        else if (!strcmp(argv[first], "--json"))
            json = fopen(argv[first + 1], "a");
        else
            fail("options are --threads N, --seconds S, --nrhs LIST and --json FILE");
    }
    printf(
        "tree           nrhs  1 thread:           %2d threads:         ratio:       predicted:\n"
        "                         best    median       best    median   best   med.  1 thread  %d threads\n",
        threads, threads);
    for (size_t k = 0; k < sizeof tree_shapes / sizeof *tree_shapes; k++) {
        if (!wanted(tree_shapes[k].name, argv + first, argc - first))
            continue;
        tree t = tree_of(&tree_shapes[k]);
        gpusolve_factor_data data = tree_factor(&t);
        for (const char *at = columns; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            measure(tree_shapes[k].name, &data, threads, atoi(at), seconds, json);
        tree_factor_free(&data);
        tree_free(&t);
    }
    if (json)
        fclose(json);
    return 0;
}
