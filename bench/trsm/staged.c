/*
 * gpusolve-staged-bench: TRSM and TRMM on operands in host memory, beside the time that their transfers alone
 * take and the time that the device takes with everything in its memory.
 *
 *      gpusolve-staged-bench [--operation trsm|trmm] [--n N] [--nrhs R] [--memory pinned|pageable|device]
 *          [--device-mib M] [--pinned-mib M] [--tile ROWS] [--runs K] [--json FILE]
 *
 * Double precision, left, lower, N; nrhs 0 stands for n. Transfers alone: from pinned memory the triangle of
 * A and B to the device while B comes back, in large copies; to and from pageable memory the same bytes
 * copied within host memory by all threads, or the pinned time if that is more. The device alone: one
 * gpusolve_dtrsm, and the operation's flops at the rate of DGEMM, n = 8192. The result is checked on a few
 * columns: op(A) X against B (or X against op(A) B) by cuBLAS; the program fails if it is wrong.
 */
#define _POSIX_C_SOURCE 200809L
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpusolve_dense.h"
#include "revision.h"
#include "trsm/staged/plan.h"

enum { CHECKED = 8, MOST_RUNS = 21 };

#define TRY(call)                                                                 \
    do {                                                                          \
        const int code_ = (int)(call);                                            \
        if (code_ != 0) {                                                         \
            fprintf(stderr, "gpusolve-staged-bench: %s gave %d\n", #call, code_); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

typedef struct options {
    const char *operation;
    int64_t n, nrhs;
    int pinned, on_device, runs; /* where the operands are; neither: pageable */
    size_t device_bytes, pinned_bytes;
    FILE *json;
} options;

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

/* ------------------------------------------------------------------------------------------- operands --- */

static void *host_new(size_t bytes, int pinned) {
    void *memory = NULL;
    if (pinned)
        TRY(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
    else if (!(memory = malloc(bytes)))
        exit(1);
    return memory;
}

/* Column j depends on (seed, j) alone: in [-1, 1) times scale, and ones on the diagonal of a triangle. */
static void fill_column(double *column, int64_t rows, uint64_t seed, int64_t j, double scale, int triangle) {
    uint64_t state = seed * 1000003u + (uint64_t)j;
    for (int64_t i = 0; i < rows; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        column[i] = scale * ((double)(state >> 11) * 0x1p-52 - 1);
    }
    if (triangle)
        column[j] = 1;
}

static void fill(double *x, int64_t rows, int64_t columns, uint64_t seed, double scale, int triangle) {
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < columns; j++)
        fill_column(x + j * rows, rows, seed, j, scale, triangle);
}

/* ---------------------------------------------------------------------------------------------- walls --- */

typedef struct walls {
    double transfer_ms, device_ms, gemm_ms;
} walls;

/* Bytes that go in and out, and the copies of them that pageable memory takes within the host. */
static double transfer_ms(const options *o, double *a, double *b, double *device) {
    const size_t triangle = (size_t)o->n * (size_t)o->n * 4, block = (size_t)o->n * (size_t)o->nrhs * 8;
    const size_t piece = 256 << 20;
    char *pinned_in = o->pinned ? (char *)b : host_new(piece, 1), *pinned_out = host_new(piece, 1);
    cudaStream_t in, out;
    TRY(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    double samples[3];
    for (int k = 0; k < 3; k++) {
        const double begin = seconds();
        for (size_t done = 0; done < triangle + block; done += piece)
            TRY(cudaMemcpyAsync(device, pinned_in,
                                piece < triangle + block - done ? piece : triangle + block - done,
                                cudaMemcpyHostToDevice, in));
        for (size_t done = 0; done < block; done += piece)
            TRY(cudaMemcpyAsync(pinned_out, (char *)device + piece,
                                piece < block - done ? piece : block - done, cudaMemcpyDeviceToHost, out));
        TRY(cudaDeviceSynchronize());
        samples[k] = 1e3 * (seconds() - begin);
    }
    double ms = median(samples, 3);
    if (!o->pinned) {
        for (int k = 0; k < 3; k++) {
            const int64_t rows = 1 << 20;
            const double begin = seconds();
#pragma omp parallel for schedule(static)
            for (int64_t r = 0; r < (int64_t)(piece / (size_t)rows); r++)
                memcpy(pinned_in + r * rows, (char *)a + r * rows, (size_t)rows);
            samples[k] = 1e3 * (seconds() - begin) * (double)(triangle + 2 * block) / (double)piece;
        }
        ms = fmax(ms, median(samples, 3));
        cudaFreeHost(pinned_in);
    }
    cudaFreeHost(pinned_out);
    cudaStreamDestroy(in);
    cudaStreamDestroy(out);
    return ms;
}

static gpusolve_status on_device(gpusolve_handle *handle, const options *o, const double *a, double *b,
                                 void *workspace, size_t bytes) {
    return (strcmp(o->operation, "trmm") == 0 ? gpusolve_dtrmm : gpusolve_dtrsm)(
        handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, o->n, o->nrhs, 1, a,
        o->n, b, o->n, workspace, bytes);
}

static double device_ms(gpusolve_handle *handle, const options *o, const double *a, double *b) {
    size_t bytes = 0;
    void *workspace = NULL;
    TRY((strcmp(o->operation, "trmm") == 0 ? gpusolve_trmm_workspace : gpusolve_trsm_workspace)(
        handle, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, o->n, o->nrhs, &bytes));
    TRY(cudaMalloc(&workspace, bytes));
    double samples[3];
    for (int k = -1; k < 3; k++) {
        TRY(cudaDeviceSynchronize());
        const double begin = seconds();
        TRY(on_device(handle, o, a, b, workspace, bytes));
        TRY(cudaDeviceSynchronize());
        if (k >= 0)
            samples[k] = 1e3 * (seconds() - begin);
    }
    TRY(cudaFree(workspace));
    return median(samples, 3);
}

static double gemm_ms(cublasHandle_t cublas, const options *o, double *a, double *b) {
    const int n = o->n < 8192 ? (int)o->n : 8192;
    const double one = 1, zero = 0;
    double samples[3], *c = NULL;
    TRY(cudaMalloc((void **)&c, (size_t)n * (size_t)n * 8));
    for (int k = -1; k < 3; k++) {
        TRY(cudaDeviceSynchronize());
        const double begin = seconds();
        TRY(cublasDgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, (int)o->n, a, (int)o->n, &zero, c,
                        n));
        TRY(cudaDeviceSynchronize());
        if (k >= 0)
            samples[k] = 1e3 * (seconds() - begin);
    }
    (void)b;
    TRY(cudaFree(c));
    return median(samples, 3) * ((double)o->n * (double)o->n * (double)o->nrhs) /
           (2.0 * (double)n * (double)n * (double)n);
}

/* ---------------------------------------------------------------------------------------------- check --- */

/* The tests' ratio over CHECKED columns of the result x; norm(A) is about one. device_a holds A. */
static double check(cublasHandle_t cublas, const options *o, const double *x, const double *device_a) {
    const int n = (int)o->n, solve = strcmp(o->operation, "trsm") == 0;
    const size_t bytes = (size_t)n * 8;
    const double one = 1;
    double *device = NULL, *before = malloc(bytes), *found = malloc(bytes), *product = malloc(bytes),
           worst = 0;
    TRY(cudaMalloc((void **)&device, bytes));
    for (int k = 0; k < CHECKED; k++) {
        const int64_t j = (o->nrhs - 1) * k / (CHECKED - 1);
        fill_column(before, n, 2, j, 1, 0);
        TRY(cudaMemcpy(found, x + j * n, bytes, cudaMemcpyDefault));
        TRY(cudaMemcpy(device, solve ? found : before, bytes, cudaMemcpyHostToDevice));
        TRY(cublasDtrmm(cublas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                        n, 1, &one, device_a, n, device, n, device, n));
        TRY(cudaMemcpy(product, device, bytes, cudaMemcpyDeviceToHost));
        const double *want = solve ? before : found;
        double difference = 0, size = 0;
        for (int i = 0; i < n; i++) {
            if (fabs(product[i] - want[i]) > difference || isnan(fabs(product[i] - want[i])))
                difference = fabs(product[i] - want[i]);
            if (fabs(want[i]) > size || isnan(fabs(want[i])))
                size = fabs(want[i]);
        }
        if (difference / (size * DBL_EPSILON) > worst || isnan(difference / (size * DBL_EPSILON)))
            worst = difference / (size * DBL_EPSILON);
    }
    free(before);
    free(found);
    free(product);
    TRY(cudaFree(device));
    return worst;
}

/* ----------------------------------------------------------------------------------------------- main --- */

static options parse(int argc, char **argv) {
    options o = {"trsm", 16384, 0, 1, 0, 5, 0, 0, NULL};
    for (int k = 1; k < argc; k += 2) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (!strcmp(argv[k], "--operation"))
            o.operation = value;
        else if (!strcmp(argv[k], "--n"))
            o.n = atoll(value);
        else if (!strcmp(argv[k], "--nrhs"))
            o.nrhs = atoll(value);
        else if (!strcmp(argv[k], "--memory"))
            o.pinned = !strcmp(value, "pinned"), o.on_device = !strcmp(value, "device");
        else if (!strcmp(argv[k], "--device-mib"))
            o.device_bytes = (size_t)atoll(value) << 20;
        else if (!strcmp(argv[k], "--pinned-mib"))
            o.pinned_bytes = (size_t)atoll(value) << 20;
        else if (!strcmp(argv[k], "--tile"))
            gsv_staged_force_tile(atoll(value));
        else if (!strcmp(argv[k], "--runs"))
            o.runs = atoi(value);
        else if (!strcmp(argv[k], "--json"))
            o.json = fopen(value, "a");
        else {
            fprintf(stderr, "gpusolve-staged-bench: unknown option %s\n", argv[k]);
            exit(2);
        }
    }
    o.nrhs = o.nrhs ? o.nrhs : o.n;
    if (o.runs < 1 || o.runs > MOST_RUNS || o.n < 1 || o.nrhs < 1)
        exit(2);
    return o;
}

static walls measure_walls(gpusolve_handle *handle, cublasHandle_t cublas, const options *o, double *a,
                           double *b, double *device_a) {
    const size_t block = (size_t)o->n * (size_t)o->nrhs * 8, staging = (size_t)2 * (256 << 20);
    double *device_b = NULL;
    walls w;
    TRY(cudaMalloc((void **)&device_b, block > staging ? block : staging));
    w.transfer_ms = transfer_ms(o, a, b, device_b);
    TRY(cudaMemcpy(device_b, b, block, cudaMemcpyHostToDevice));
    w.device_ms = device_ms(handle, o, device_a, device_b);
    w.gemm_ms = gemm_ms(cublas, o, device_a, device_b);
    TRY(cudaFree(device_b));
    return w;
}

int main(int argc, char **argv) {
    const options o = parse(argc, argv);
    const size_t n = (size_t)o.n, r = (size_t)o.nrhs;
    struct cudaDeviceProp properties;
    int driver = 0;
    TRY(cudaGetDeviceProperties(&properties, 0));
    TRY(cudaDriverGetVersion(&driver));
    gpusolve_options handle_options = GPUSOLVE_OPTIONS_INIT;
    handle_options.backend = GPUSOLVE_BACKEND_CUDA;
    gpusolve_handle *handle = NULL;
    TRY(gpusolve_create(&handle, &handle_options));
    cublasHandle_t cublas;
    TRY(cublasCreate(&cublas));
    double *a = host_new(n * n * 8, o.pinned), *b = host_new(n * r * 8, o.pinned), *device_a = NULL;
    fill(a, o.n, o.n, 1, 0.5 / (double)o.n, 1);
    fill(b, o.n, o.nrhs, 2, 1, 0);
    TRY(cudaMalloc((void **)&device_a, n * n * 8));
    TRY(cudaMemcpy(device_a, a, n * n * 8, cudaMemcpyHostToDevice));
    const walls w = measure_walls(handle, cublas, &o, a, b, device_a);

    gpusolve_staging_options staging_options = GPUSOLVE_STAGING_OPTIONS_INIT;
    staging_options.device_bytes = o.device_bytes;
    staging_options.pinned_bytes = o.pinned_bytes;
    gpusolve_staging *staging = NULL;
    TRY(gpusolve_staging_create(handle, &staging_options, &staging));
    const char *kind = o.on_device ? "device" : o.pinned ? "pinned" : "pageable";
    double *operand_a = a, *operand_b = b; /* what the call sees */
    if (o.on_device) {
        operand_a = device_a;
        TRY(cudaMalloc((void **)&operand_b, n * r * 8));
        TRY(cudaMemcpy(operand_b, b, n * r * 8, cudaMemcpyHostToDevice));
        TRY(cudaDeviceSynchronize()); /* the copy may end after its call, and staging does not wait for it */
    }
    const double one = 1;
    double samples[MOST_RUNS] = {0}, issued = 0, error = NAN;
    for (int k = -1; k < o.runs; k++) {
        const double begin = seconds();
        TRY((strcmp(o.operation, "trmm") == 0 ? gpusolve_trmm_staged : gpusolve_trsm_staged)(
            staging, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT,
            o.n, o.nrhs, &one, operand_a, o.n, operand_b, o.n));
        issued = 1e3 * (seconds() - begin);
        TRY(gpusolve_staging_wait(staging));
        if (k >= 0)
            samples[k] = 1e3 * (seconds() - begin);
        else
            error = check(cublas, &o, operand_b, device_a);
    }
    const double ms = median(samples, o.runs), wall = fmax(w.transfer_ms, w.device_ms);
    printf(
        "%s staged, %s, n %lld nrhs %lld: %.2f ms (%.2f to %.2f), returns after %.3f ms; transfers alone "
        "%.2f ms, "
        "device alone %.2f ms, at the rate of DGEMM %.2f ms: %.3f times the larger, %.3f times the larger of "
        "transfers and DGEMM; error %.1f%s\n",
        o.operation, kind, (long long)o.n, (long long)o.nrhs, ms, samples[0], samples[o.runs - 1], issued,
        w.transfer_ms, w.device_ms, w.gemm_ms, ms / wall, ms / fmax(w.transfer_ms, w.gemm_ms), error,
        error < 30 ? "" : "  WRONG");
    if (o.json) {
        fprintf(
            o.json,
            "{\"git\": \"%s\", \"operation\": \"%s-staged\", \"dtype\": \"d\", \"variant\": \"LLNN\", \"n\": "
            "%lld, \"nrhs\": %lld, \"device\": \"%s\", \"driver\": %d, \"memory\": \"%s\", \"device_bytes\": "
            "%zu, "
            "\"threads\": %d, \"ms\": %.3f, \"ms_min\": %.3f, \"ms_max\": %.3f, \"transfer_ms\": %.3f, "
            "\"device_ms\": %.3f, \"gemm_ms\": %.3f, \"error\": %.3f}\n",
            BENCH_REVISION, o.operation, (long long)o.n, (long long)o.nrhs, properties.name, driver, kind,
            o.device_bytes, omp_get_max_threads(), ms, samples[0], samples[o.runs - 1], w.transfer_ms,
            w.device_ms, w.gemm_ms, error);
        fclose(o.json);
    }
    gpusolve_staging_destroy(staging);
    gpusolve_destroy(handle);
    return !(error < 30);
}
