/*
 * gpusolve-trsm-host-bench: the host backend's TRSM and TRMM, the recursion over a CBLAS, beside the same
 * CBLAS's own calls, in one run.
 *
 *      gpusolve-trsm-host-bench [--runs K] [--json FILE]
 *
 * Double precision, left, lower, N, non-unit: square right-hand sides and tall and skinny ones. The two calls
 * alternate, so that both meet the same machine; a sample is as many calls as take 5 ms. Results are compared
 * before; the program fails if they differ by more than rounding.
 */
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpusolve_dense.h"
#include "revision.h"

enum { MOST_RUNS = 101 };

typedef struct problem {
    int multiply;
    int64_t n, nrhs;
    double *a, *b, *before;
} problem;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, compare);
    return samples[count / 2];
}

static double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* Rows of A sum to about one, so that B keeps its size however often it is solved for. */
static problem new_problem(int multiply, int64_t n, int64_t nrhs) {
    problem p = {multiply,
                 n,
                 nrhs,
                 malloc((size_t)(n * n) * 8),
                 malloc((size_t)(n * nrhs) * 8),
                 malloc((size_t)(n * nrhs) * 8)};
    uint64_t state = 1;
    if (!p.a || !p.b || !p.before)
        exit(1);
    for (int64_t k = 0; k < n * n; k++)
        p.a[k] = k % (n + 1) == 0 ? 1 : 0.5 * random_number(&state) / (double)n;
    for (int64_t k = 0; k < n * nrhs; k++)
        p.before[k] = random_number(&state);
    return p;
}

static void end_problem(const problem *p) {
    free(p->a);
    free(p->b);
    free(p->before);
}

static void own(gpusolve_handle *handle, const problem *p) {
    if ((p->multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER,
                                                        GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, p->n, p->nrhs,
                                                        1, p->a, p->n, p->b, p->n, NULL, 0) != GPUSOLVE_OK) {
        fprintf(stderr, "gpusolve-trsm-host-bench: %s\n", gpusolve_last_error(handle));
        exit(1);
    }
}

static void peer(const problem *p) {
    (p->multiply ? cblas_dtrmm : cblas_dtrsm)(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans,
                                              CblasNonUnit, (int)p->n, (int)p->nrhs, 1, p->a, (int)p->n, p->b,
                                              (int)p->n);
}

static void restore(const problem *p) {
    memcpy(p->b, p->before, (size_t)(p->n * p->nrhs) * 8);
}

/* Largest difference of the two results over the largest number, in units of rounding and the root of n. */
static double difference(gpusolve_handle *handle, const problem *p) {
    const size_t count = (size_t)(p->n * p->nrhs);
    double *want = malloc(count * 8), worst = 0, size = 0;
    if (!want)
        exit(1);
    restore(p);
    peer(p);
    memcpy(want, p->b, count * 8);
    restore(p);
    own(handle, p);
    for (size_t k = 0; k < count; k++) {
        if (fabs(p->b[k] - want[k]) > worst || isnan(fabs(p->b[k] - want[k])))
            worst = fabs(p->b[k] - want[k]);
        if (fabs(want[k]) > size || isnan(fabs(want[k])))
            size = fabs(want[k]);
    }
    free(want);
    return worst / (size * DBL_EPSILON);
}

static double sample(gpusolve_handle *handle, const problem *p, int is_own, int calls) {
    restore(p);
    const double begin = seconds();
    for (int k = 0; k < calls; k++)
        if (is_own)
            own(handle, p);
        else
            peer(p);
    return 1e6 * (seconds() - begin) / calls;
}

static int measure(gpusolve_handle *handle, const problem *p, int runs, FILE *json) {
    const double error = difference(handle, p);
    const int wrong = !(error < 30);
    const double once = sample(handle, p, 0, 1);
    const int calls = once < 5e3 ? (int)(5e3 / once) + 1 : 1;
    double mine[MOST_RUNS] = {0}, theirs[MOST_RUNS] = {0};
    for (int k = -1; k < runs; k++) {
        const int first = k % 2 != 0; /* who begins alternates too */
        double us[2];
        us[first] = sample(handle, p, first, calls);
        us[!first] = sample(handle, p, !first, calls);
        if (k >= 0) {
            mine[k] = us[1];
            theirs[k] = us[0];
        }
    }
    const double own_us = median(mine, runs), peer_us = median(theirs, runs);
    printf("%s n %5lld nrhs %5lld  %10.1f us  CBLAS %10.1f us  %5.2f times  error %.1f%s\n",
           p->multiply ? "trmm" : "trsm", (long long)p->n, (long long)p->nrhs, own_us, peer_us,
           peer_us / own_us, error, wrong ? "  WRONG" : "");
    fflush(stdout);
    if (json)
        fprintf(json,
                "{\"git\": \"%s\", \"operation\": \"%s-host\", \"dtype\": \"d\", \"variant\": \"LLNN\", "
                "\"n\": %lld, "
                "\"nrhs\": %lld, \"us\": %.3f, \"us_min\": %.3f, \"spread\": %.5f, \"peer\": \"CBLAS\", "
                "\"peer_us\": %.3f, \"peer_us_min\": %.3f, \"error\": %.3f}\n",
                BENCH_REVISION, p->multiply ? "trmm" : "trsm", (long long)p->n, (long long)p->nrhs, own_us,
                mine[0], (mine[runs * 9 / 10] - mine[runs / 10]) / own_us, peer_us, theirs[0], error);
    return wrong != 0;
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{256, 256}, {512, 512}, {1024, 1024}, {1536, 1536}, {1024, 4},
                                        {1024, 16}, {1024, 64}, {1024, 256},  {2048, 1},    {2048, 4},
                                        {2048, 8},  {2048, 16}, {2048, 32},   {2048, 64},   {2048, 128},
                                        {4096, 4},  {4096, 16}, {4096, 64}};
    int runs = 9, failed = 0;
    FILE *json = NULL;
    for (int k = 1; k + 1 < argc; k += 2)
        if (!strcmp(argv[k], "--runs"))
            runs = atoi(argv[k + 1]);
        else if (!strcmp(argv[k], "--json"))
            json = fopen(argv[k + 1], "a");
    if (runs < 1 || runs > MOST_RUNS)
        return 2;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_HOST;
    gpusolve_handle *handle = NULL;
    if (gpusolve_create(&handle, &options) != GPUSOLVE_OK)
        return 1;
    for (int multiply = 0; multiply < 2; multiply++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            const problem p = new_problem(multiply, shapes[k][0], shapes[k][1]);
            failed |= measure(handle, &p, runs, json);
            end_problem(&p);
        }
    gpusolve_destroy(handle);
    if (json)
        fclose(json);
    return failed;
}
