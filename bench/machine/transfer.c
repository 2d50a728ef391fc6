/*
 * gpusolve-transfer-bench: how fast b gets to a CUDA device and x gets back, through gpusolve_solve.
 *
 *      gpusolve-transfer-bench [--threads T] [--runs K] [--json FILE]
 *
 * The system is GPUSOLVE_P of a diagonal factor with another order: all that the device does is one copy in its own
 * memory, whose time is measured with both operands there and taken off. In: b in host memory, x on the device; out: the
 * reverse. Memory is pageable, of a handle with all threads and of one with a single thread, which leaves it to the driver; and
 * pinned, which is the bus. Medians; every solution is compared with b. Fails where one is wrong.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpusolve.h"
#include "revision.h"

enum { N = 1 << 15, MOST_COLUMNS = 256, MOST_RUNS = 101 }; /* a column is 256 KB */

#define TRY(call)                                                                   \
    do {                                                                            \
        const int code_ = (int)(call);                                              \
        if (code_ != 0) {                                                           \
            fprintf(stderr, "gpusolve-transfer-bench: %s gave %d\n", #call, code_); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

typedef struct problem {
    gpusolve_handle *handle; /* with this many threads */
    gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    int32_t *perm;
    int threads, runs;
} problem;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *host_new(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory)
        exit(1);
    return memset(memory, 0, bytes); /* its pages are there before the first run */
}

/* The identity as a factor, with row i of P A P' row N - 1 - i of A. */
static problem problem_new(int threads, int runs) {
    problem p = {.threads = threads, .runs = runs};
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.threads = threads;
    TRY(gpusolve_create(&p.handle, &options));
    int32_t *start = host_new((N + 1) * sizeof *start), *row = host_new(N * sizeof *row);
    double *one = host_new(N * sizeof *one);
    p.perm = host_new(N * sizeof *p.perm);
    for (int32_t i = 0; i < N; i++) {
        start[i + 1] = i + 1;
        row[i] = i;
        one[i] = 1;
        p.perm[i] = N - 1 - i;
    }
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = data.xsize = N;
    data.perm = p.perm;
    data.p = start;
    data.i = row;
    data.x = one;
    TRY(gpusolve_factor_create(p.handle, &data, &p.factor));
    TRY(gpusolve_workspace_create(p.handle, p.factor, MOST_COLUMNS, &p.workspace));
    free(start);
    free(row);
    free(one);
    return p;
}

static void problem_delete(problem *p) {
    gpusolve_workspace_destroy(p->workspace);
    gpusolve_factor_destroy(p->factor);
    gpusolve_destroy(p->handle);
    free(p->perm);
}

static gpusolve_dense block(double *values, int64_t columns) {
    return (gpusolve_dense){GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, columns, N, values};
}

/* Median time of a solve, in microseconds. */
static double time_solve(const problem *p, int64_t columns, double *b, double *x) {
    const gpusolve_dense from = block(b, columns), to = block(x, columns);
    double samples[MOST_RUNS] = {0};
    for (int k = -3; k < p->runs; k++) {
        const double begin = now_us();
        TRY(gpusolve_solve(p->handle, p->factor, p->workspace, GPUSOLVE_P, &from, &to));
        TRY(cudaDeviceSynchronize());
        if (k >= 0)
            samples[k] = now_us() - begin;
    }
    qsort(samples, (size_t)p->runs, sizeof *samples, compare);
    return samples[p->runs / 2];
}

static void check(const problem *p, const double *b, const double *x, int64_t columns) {
    int64_t wrong = 0;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < N; i++)
            wrong += !(x[j * N + i] == b[j * N + p->perm[i]]);
    if (wrong) {
        fprintf(stderr, "gpusolve-transfer-bench: %lld numbers of x are wrong\n", (long long)wrong);
        exit(1);
    }
}

typedef struct rates {
    double in, out; /* GB/s */
} rates;

static rates measure(const problem *p, int64_t columns, double *b, double *x, double *device_b,
                     double *device_x) {
    const size_t bytes = (size_t)(columns * N) * sizeof *b;
    const double beside = time_solve(p, columns, device_b, device_x);
    const double in = time_solve(p, columns, b, device_x);
    const double out = time_solve(p, columns, device_b, x);
    memset(x, 0, bytes);
    const gpusolve_dense from = block(b, columns), to = block(x, columns);
    TRY(gpusolve_solve(p->handle, p->factor, p->workspace, GPUSOLVE_P, &from, &to));
    check(p, b, x, columns);
    return (rates){1e-3 * (double)bytes / (in - beside), 1e-3 * (double)bytes / (out - beside)};
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads(), runs = 21;
    FILE *json = NULL;
    for (int k = 1; k < argc; k += 2) {
        if (k + 1 < argc && !strcmp(argv[k], "--threads") && atoi(argv[k + 1]) > 0)
            threads = atoi(argv[k + 1]);
        else if (k + 1 < argc && !strcmp(argv[k], "--runs") && atoi(argv[k + 1]) > 0)
            runs = atoi(argv[k + 1]) < MOST_RUNS ? atoi(argv[k + 1]) : MOST_RUNS;
        else if (!(k + 1 < argc && !strcmp(argv[k], "--json") && (json = fopen(argv[k + 1], "a")) != NULL)) {
            fprintf(stderr, "usage: gpusolve-transfer-bench [--threads T] [--runs K] [--json FILE]\n");
            return 2;
        }
    }
    const size_t bytes = (size_t)N * MOST_COLUMNS * sizeof(double);
    double *b = host_new(bytes), *x = host_new(bytes), *pinned[2], *device[2];
    for (int64_t i = 0; i < (int64_t)N * MOST_COLUMNS; i++)
        b[i] = (double)i;
    for (int k = 0; k < 2; k++) {
        TRY(cudaHostAlloc((void **)&pinned[k], bytes, cudaHostAllocDefault));
        TRY(cudaMalloc((void **)&device[k], bytes));
    }
    memcpy(pinned[0], b, bytes);
    TRY(cudaMemcpy(device[0], b, bytes, cudaMemcpyHostToDevice));
    problem all = problem_new(threads, runs), single = problem_new(1, runs);
    struct cudaDeviceProp properties;
    TRY(cudaGetDeviceProperties(&properties, 0));
    printf("%s, %d threads, GB/s\n%9s  %-15s %-15s %-15s\n%9s  %-7s %-7s %-7s %-7s %-7s %-7s\n",
           properties.name, threads, "MB", "all threads", "the driver", "pinned", "", "in", "out", "in",
           "out", "in", "out");
    for (int64_t columns = 1; columns <= MOST_COLUMNS; columns *= 2) {
        const rates a = measure(&all, columns, b, x, device[0], device[1]),
                    s = measure(&single, columns, b, x, device[0], device[1]),
                    q = measure(&all, columns, pinned[0], pinned[1], device[0], device[1]);
        printf("%9.2f  %-7.1f %-7.1f %-7.1f %-7.1f %-7.1f %-7.1f\n", (double)columns * N * 8e-6, a.in, a.out,
               s.in, s.out, q.in, q.out);
        if (json)
            fprintf(json,
                    "{\"operation\": \"transfer\", \"git\": \"%s\", \"device\": \"%s\", \"threads\": %d, "
                    "\"bytes\": %lld, "
                    "\"all_in\": %.2f, \"all_out\": %.2f, \"driver_in\": %.2f, \"driver_out\": %.2f, "
                    "\"pinned_in\": %.2f, \"pinned_out\": %.2f}\n",
                    BENCH_REVISION, properties.name, threads, (long long)columns * N * 8, a.in, a.out, s.in,
                    s.out, q.in, q.out);
    }
    problem_delete(&all);
    problem_delete(&single);
    for (int k = 0; k < 2; k++) {
        cudaFreeHost(pinned[k]);
        cudaFree(device[k]);
    }
    free(b);
    free(x);
    return json && fclose(json) ? 1 : 0;
}
