#include "measure.h"

#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bandwidth.h"
#include "peers.h"

enum { CHECKED_COLUMNS = 8, MOST_REPLAYS = 101, CUBLAS_BYTES = 64 << 20 };

#define TRY(call)                                                               \
    do {                                                                        \
        const int code_ = (int)(call);                                          \
        if (code_ != 0) {                                                       \
            fprintf(stderr, "gpusolve-trsm-bench: %s gave %d\n", #call, code_); \
            return -1;                                                          \
        }                                                                       \
    } while (0)

/* Device memory of the run: A, and B before, during and elsewhere. */
static struct {
    void *a, *before, *b, *other, *workspace, *cublas_workspace;
    size_t bytes, workspace_bytes;
    int64_t n;
    char dtype;
} memory;

int bench_dtype_index(char letter) {
    return letter == 's' ? 0 : letter == 'd' ? 1 : letter == 'c' ? 2 : 3;
}

static size_t number_bytes(int dtype) {
    return dtype == 0 ? 4 : dtype == 3 ? 16 : 8;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static double random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* --------------------------------------------------------------------------------------------- timing --- */

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Replay a graph: median, least and spread of one, in microseconds. Replays are grouped to at least 0.2 ms.
 */
static int replay(cudaGraph_t graph, cudaStream_t stream, double *median, double *least, double *spread) {
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    double samples[MOST_REPLAYS], total = 0;
    float ms = 0;
    int count = 0, group = 1;
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (int warm = 0; warm < 3; warm++) {
        TRY(cudaEventRecord(begin, stream));
        TRY(cudaGraphLaunch(exec, stream));
        TRY(cudaEventRecord(end, stream));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&ms, begin, end));
    }
    while (ms * (float)group < 0.2f && group < 64)
        group *= 2;
    while (count < 5 || (count < MOST_REPLAYS && total < 40e3)) {
        TRY(cudaEventRecord(begin, stream));
        for (int k = 0; k < group; k++)
            TRY(cudaGraphLaunch(exec, stream));
        TRY(cudaEventRecord(end, stream));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&ms, begin, end));
        samples[count] = 1e3 * ms / group;
        total += samples[count++] * group;
    }
    qsort(samples, (size_t)count, sizeof *samples, compare);
    *median = samples[count / 2];
    *least = samples[0];
    *spread = (samples[count * 9 / 10] - samples[count / 10]) / samples[count / 2];
    TRY(cudaEventDestroy(begin));
    TRY(cudaEventDestroy(end));
    TRY(cudaGraphExecDestroy(exec));
    return 0;
}

/* -------------------------------------------------------------------------------------------- operands ---
 */

static int reserve(size_t bytes) {
    if (bytes <= memory.bytes)
        return 0;
    void **all[] = {&memory.a, &memory.before, &memory.b, &memory.other};
    for (int k = 0; k < 4; k++) {
        cudaFree(*all[k]);
        *all[k] = NULL;
        TRY(cudaMalloc(all[k], bytes));
    }
    memory.bytes = bytes;
    memory.n = 0;
    return 0;
}

static void store(int dtype, void *to, size_t k, double re, double im) {
    switch (dtype) {
    case 0:
        ((float *)to)[k] = (float)re;
        break;
    case 1:
        ((double *)to)[k] = re;
        break;
    case 2:
        ((float *)to)[2 * k] = (float)re;
        ((float *)to)[2 * k + 1] = (float)im;
        break;
    default:
        ((double *)to)[2 * k] = re;
        ((double *)to)[2 * k + 1] = im;
    }
}

/* A: ones on the diagonal, rows sum to about 1.25, so that B keeps its size however often it is solved for.
 */
static int fill(const bench_call *call, int dtype) {
    const size_t bytes = number_bytes(dtype), n = (size_t)call->n, columns = larger(n, (size_t)call->nrhs);
    uint64_t state = 1;
    TRY(reserve(n * columns * bytes));
    if (memory.n == call->n && memory.dtype == call->dtype)
        return 0;
    void *host = malloc(n * columns * bytes);
    if (!host)
        return -1;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            const double re = 0.5 * random_number(&state) / (double)n,
                         im = 0.5 * random_number(&state) / (double)n;
            store(dtype, host, i + j * n, i == j ? 1 : re, i == j ? 0 : im);
        }
    TRY(cudaMemcpy(memory.a, host, n * n * bytes, cudaMemcpyHostToDevice));
    for (size_t k = 0; k < n * columns; k++) {
        const double re = random_number(&state);
        store(dtype, host, k, re, random_number(&state));
    }
    TRY(cudaMemcpy(memory.before, host, n * columns * bytes, cudaMemcpyHostToDevice));
    free(host);
    memory.n = call->n;
    memory.dtype = call->dtype;
    return 0;
}

static peer_triangle triangle_of(const bench_call *call) {
    const int left = call->variant[0] == 'L', n = (int)call->n, nrhs = (int)call->nrhs;
    return (peer_triangle){
        left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
        call->variant[1] == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
        call->variant[2] == 'N'   ? CUBLAS_OP_N
        : call->variant[2] == 'T' ? CUBLAS_OP_T
                                  : CUBLAS_OP_C,
        call->variant[3] == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
        left ? n : nrhs,
        left ? nrhs : n,
        memory.a,
        n,
    };
}

/* ---------------------------------------------------------------------------------------------- calls --- */

static int is(const bench_call *call, const char *operation) {
    return strcmp(call->operation, operation) == 0;
}

/* gpusolve's call on memory.b (potri: on memory.b as the factor) */
static gpusolve_status own_call(gpusolve_handle *handle, const bench_call *call, int dtype) {
    const peer_triangle t = triangle_of(call);
    const gpusolve_side side = call->variant[0] == 'L' ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT;
    const gpusolve_uplo uplo = call->variant[1] == 'L' ? GPUSOLVE_LOWER : GPUSOLVE_UPPER;
    const gpusolve_trans trans = call->variant[2] == 'N'   ? GPUSOLVE_NO_TRANS
                                 : call->variant[2] == 'T' ? GPUSOLVE_TRANS
                                                           : GPUSOLVE_CONJ_TRANS;
    const gpusolve_diag diag = call->variant[3] == 'U' ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT;
    const float one_s[2] = {1, 0};
    const double one_d[2] = {1, 0};
    void *w = memory.workspace;
    const size_t bytes = memory.workspace_bytes;
    const int multiply = is(call, "trmm");
    if (is(call, "potrs"))
        switch (dtype) {
        case 0:
            return gpusolve_spotrs(handle, uplo, t.n ? call->n : 0, call->nrhs, memory.a, call->n, memory.b,
                                   call->n, w, bytes);
        case 1:
            return gpusolve_dpotrs(handle, uplo, call->n, call->nrhs, memory.a, call->n, memory.b, call->n, w,
                                   bytes);
        case 2:
            return gpusolve_cpotrs(handle, uplo, call->n, call->nrhs, memory.a, call->n, memory.b, call->n, w,
                                   bytes);
        default:
            return gpusolve_zpotrs(handle, uplo, call->n, call->nrhs, memory.a, call->n, memory.b, call->n, w,
                                   bytes);
        }
    if (is(call, "potri"))
        switch (dtype) {
        case 0:
            return gpusolve_spotri(handle, uplo, call->n, memory.b, call->n, w, bytes);
        case 1:
            return gpusolve_dpotri(handle, uplo, call->n, memory.b, call->n, w, bytes);
        case 2:
            return gpusolve_cpotri(handle, uplo, call->n, memory.b, call->n, w, bytes);
        default:
            return gpusolve_zpotri(handle, uplo, call->n, memory.b, call->n, w, bytes);
        }
    switch (dtype) {
    case 0:
        return (multiply ? gpusolve_strmm : gpusolve_strsm)(handle, side, uplo, trans, diag, t.m, t.n, 1,
                                                            memory.a, call->n, memory.b, t.m, w, bytes);
    case 1:
        return (multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(handle, side, uplo, trans, diag, t.m, t.n, 1,
                                                            memory.a, call->n, memory.b, t.m, w, bytes);
    case 2:
        return (multiply ? gpusolve_ctrmm : gpusolve_ctrsm)(handle, side, uplo, trans, diag, t.m, t.n, one_s,
                                                            memory.a, call->n, memory.b, t.m, w, bytes);
    default:
        return (multiply ? gpusolve_ztrmm : gpusolve_ztrsm)(handle, side, uplo, trans, diag, t.m, t.n, one_d,
                                                            memory.a, call->n, memory.b, t.m, w, bytes);
    }
}

static int workspace_for(gpusolve_handle *handle, const bench_call *call, int dtype) {
    const peer_triangle t = triangle_of(call);
    const gpusolve_side side = call->variant[0] == 'L' ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT;
    size_t bytes = 0;
    if (is(call, "potri"))
        TRY(gpusolve_potri_workspace(handle, (gpusolve_dtype)dtype, call->n, &bytes));
    else if (is(call, "potrs"))
        TRY(gpusolve_potrs_workspace(handle, (gpusolve_dtype)dtype, call->n, call->nrhs, &bytes));
    else
        TRY((is(call, "trmm") ? gpusolve_trmm_workspace : gpusolve_trsm_workspace)(
            handle, (gpusolve_dtype)dtype, side, t.m, t.n, &bytes));
    if (bytes > memory.workspace_bytes) {
        cudaFree(memory.workspace);
        memory.workspace_bytes = 0;
        TRY(cudaMalloc(&memory.workspace, bytes));
        memory.workspace_bytes = bytes;
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- checks ---
 */

/* Largest part of count numbers of got - want and of want, NaN if there is one. */
static void compare_parts(int dtype, const void *got, const void *want, size_t count, double *difference,
                          double *size) {
    const size_t parts = count * (dtype >= 2 ? 2 : 1);
    for (size_t k = 0; k < parts; k++) {
        const int single = dtype % 2 == 0;
        const double g = single ? ((const float *)got)[k] : ((const double *)got)[k];
        const double w = single ? ((const float *)want)[k] : ((const double *)want)[k];
        if (!(fabs(g - w) <= *difference))
            *difference = fabs(g - w);
        if (!(fabs(w) <= *size))
            *size = fabs(w);
    }
}

/* The ratio of the numbers at got [device] to those at want [device], on the first columns of ld numbers. */
static int ratio_of(int dtype, const void *got, const void *want, size_t ld, size_t columns, double *ratio) {
    const size_t count = ld * (columns < CHECKED_COLUMNS ? columns : CHECKED_COLUMNS),
                 bytes = number_bytes(dtype);
    void *g = malloc(count * bytes), *w = malloc(count * bytes);
    double difference = 0, size = 0;
    if (!g || !w)
        return -1;
    TRY(cudaMemcpy(g, got, count * bytes, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(w, want, count * bytes, cudaMemcpyDeviceToHost));
    compare_parts(dtype, g, w, count, &difference, &size);
    *ratio = difference / (size * (dtype % 2 == 0 ? (double)FLT_EPSILON : DBL_EPSILON));
    free(g);
    free(w);
    return 0;
}

/*
 * The ratio of what the own call left in memory.b. norm(A) is about one, and so are the vectors:
 *      trsm   op(A) b against before; trmm  b against cuBLAS's product;
 *      potrs  L (L' b) against before; potri  the same with b's inverse taken from the peer (see bench_run)
 */
static int check(bench_machine *machine, const bench_call *call, int dtype, double *ratio) {
    peer_triangle t = triangle_of(call);
    const size_t columns = (size_t)(is(call, "potri") ? call->n : t.n);
    const size_t ld = (size_t)(is(call, "potri") || is(call, "potrs") ? call->n : t.m);
    if (is(call, "trsm")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, memory.b, t.m, memory.other, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, memory.other, memory.before, ld, columns, ratio);
    }
    if (is(call, "trmm")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, memory.before, t.m, memory.other, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, memory.b, memory.other, ld, columns, ratio);
    }
    t = (peer_triangle){CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C, CUBLAS_DIAG_NON_UNIT,
                        (int)call->n,     (int)call->nrhs,        memory.a,    (int)call->n};
    if (is(call, "potrs")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, memory.b, t.m, memory.other, t.m));
        t.trans = CUBLAS_OP_N;
        TRY(peer_trmm(machine->cublas, dtype, &t, memory.other, t.m, memory.b, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, memory.b, memory.before, ld, columns, ratio);
    }
    return ratio_of(dtype, memory.b, memory.other, ld, columns, ratio);
}

/* ------------------------------------------------------------------------------------------------- run ---
 */

static int capture_begin(bench_machine *machine) {
    TRY(cudaStreamBeginCapture(machine->stream, cudaStreamCaptureModeThreadLocal));
    return 0;
}

static int restore(bench_machine *machine, const bench_call *call, int dtype) {
    const size_t n = (size_t)call->n, columns = is(call, "potri") ? n : (size_t)call->nrhs;
    TRY(cudaMemcpyAsync(memory.b, is(call, "potri") ? memory.a : memory.before,
                        n * columns * number_bytes(dtype), cudaMemcpyDeviceToDevice, machine->stream));
    TRY(cudaStreamSynchronize(machine->stream));
    return 0;
}

/* One sample around a stream call, for what cannot be captured; median of five, after a warm-up. */
static int time_stream(bench_machine *machine, int (*run)(bench_machine *, const bench_call *, int),
                       const bench_call *call, int dtype, double *median, double *least) {
    double samples[6];
    cudaEvent_t begin, end;
    float ms;
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (int k = 0; k < 6; k++) {
        TRY(restore(machine, call, dtype));
        TRY(cudaEventRecord(begin, machine->stream));
        TRY(run(machine, call, dtype));
        TRY(cudaEventRecord(end, machine->stream));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&ms, begin, end));
        samples[k] = 1e3 * ms;
    }
    qsort(samples + 1, 5, sizeof *samples, compare);
    *median = samples[3];
    *least = samples[1];
    TRY(cudaEventDestroy(begin));
    TRY(cudaEventDestroy(end));
    return 0;
}

static int peer_call(bench_machine *machine, const bench_call *call, int dtype) {
    static void *work;
    static int *info;
    static size_t work_bytes;
    const peer_triangle t = triangle_of(call);
    int numbers = 0;
    if (is(call, "trsm"))
        return peer_trsm(machine->cublas, dtype, &t, memory.b, t.m);
    if (is(call, "trmm"))
        return peer_trmm(machine->cublas, dtype, &t, memory.b, t.m, memory.other, t.m);
    if (!info)
        TRY(cudaMalloc((void **)&info, sizeof *info));
    if (is(call, "potrs"))
        return peer_potrs(machine->cusolver, dtype, (int)call->n, (int)call->nrhs, memory.a, memory.b, info);
    TRY(peer_potri_bytes(machine->cusolver, dtype, (int)call->n, memory.b, &numbers));
    const size_t bytes = (size_t)numbers * number_bytes(dtype);
    if (bytes > work_bytes) {
        cudaFree(work);
        work_bytes = 0;
        TRY(cudaMalloc(&work, bytes));
        work_bytes = bytes;
    }
    return peer_potri(machine->cusolver, dtype, (int)call->n, memory.b, work, numbers, info);
}

static int own_on_stream(bench_machine *machine, const bench_call *call, int dtype) {
    return (int)own_call(machine->handle, call, dtype);
}

int bench_run(bench_machine *machine, const bench_call *call, int with_peer, bench_result *result) {
    const int dtype = bench_dtype_index(call->dtype), solver = is(call, "potrs") || is(call, "potri");
    cudaGraph_t graph;
    double least, spread;
    *result = (bench_result){.peer = solver ? "cuSOLVER" : "cuBLAS"};
    TRY(fill(call, dtype));
    TRY(workspace_for(machine->handle, call, dtype));
    if (is(call, "potri")) { /* the peer's inverse, to compare with */
        TRY(restore(machine, call, dtype));
        TRY(peer_call(machine, call, dtype));
        TRY(cudaMemcpyAsync(memory.other, memory.b, (size_t)(call->n * call->n) * number_bytes(dtype),
                            cudaMemcpyDeviceToDevice, machine->stream));
    }
    TRY(restore(machine, call, dtype));
    TRY(own_call(machine->handle, call, dtype));
    TRY(cudaStreamSynchronize(machine->stream));
    TRY(check(machine, call, dtype, &result->own_error));
    result->wrong = !(result->own_error < 30);

    TRY(restore(machine, call, dtype));
    if (is(call,
           "potri")) { /* its result is no factor: restored before each call, so not replayed back to back */
        TRY(time_stream(machine, own_on_stream, call, dtype, &result->own_us, &result->own_min_us));
        return with_peer ? time_stream(machine, peer_call, call, dtype, &result->peer_us, &least) : 0;
    }
    TRY(capture_begin(machine));
    TRY(own_call(machine->handle, call, dtype));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(replay(graph, machine->stream, &result->own_us, &result->own_min_us, &result->own_spread));
    TRY(cudaGraphDestroy(graph));
    if (!with_peer)
        return 0;
    TRY(restore(machine, call, dtype));
    if (solver)
        return time_stream(machine, peer_call, call, dtype, &result->peer_us, &least);
    TRY(capture_begin(machine));
    TRY(peer_call(machine, call, dtype));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(replay(graph, machine->stream, &result->peer_us, &least, &spread));
    TRY(cudaGraphDestroy(graph));
    return 0;
}

double bench_wall(const bench_call *call, const bench_machine *machine) {
    const int dtype = bench_dtype_index(call->dtype);
    const double n = (double)call->n, r = (double)call->nrhs, number = (double)number_bytes(dtype);
    const double times = dtype >= 2 ? 4 : 1; /* real flops in a complex one, counted as the GEMM's are */
    double bytes = number * (n * n / 2 + 2 * n * r), flops = times * n * n * r;
    if (is(call, "potrs"))
        flops *= 2;
    if (is(call, "potri")) {
        bytes = number * n * n;
        flops = times * 2 / 3 * n * n * n;
    }
    return fmax(bytes / (1e3 * machine->bandwidth), flops / (1e3 * machine->gflops[dtype]));
}

/* --------------------------------------------------------------------------------------------- machine ---
 */

static int measure_bandwidth(bench_machine *machine) {
    enum { BYTES = 1 << 30 };
    void *x;
    cudaGraph_t graph;
    double median, least, spread;
    TRY(cudaMalloc(&x, BYTES));
    TRY(cudaMemset(x, 0, BYTES));
    TRY(capture_begin(machine));
    TRY(bench_bandwidth_read(x, BYTES, machine->stream));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(replay(graph, machine->stream, &median, &least, &spread));
    machine->bandwidth = BYTES / median * 1e-3;
    TRY(cudaGraphDestroy(graph));
    TRY(cudaFree(x));
    return 0;
}

static int measure_gemm(bench_machine *machine, char letter) {
    const int dtype = bench_dtype_index(letter), n = 8192;
    const bench_call call = {"gemm", letter, "LLNN", n, n};
    cudaGraph_t graph;
    double median, least, spread;
    TRY(fill(&call, dtype));
    TRY(capture_begin(machine));
    TRY(peer_gemm(machine->cublas, dtype, n, memory.a, memory.before, memory.other));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(replay(graph, machine->stream, &median, &least, &spread));
    machine->gflops[dtype] = (dtype >= 2 ? 8.0 : 2.0) * n * n * n / median * 1e-3;
    TRY(cudaGraphDestroy(graph));
    return 0;
}

int bench_open(bench_machine *machine, const char *dtypes) {
    struct cudaDeviceProp properties;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    memset(machine, 0, sizeof *machine);
    TRY(cudaGetDeviceProperties(&properties, 0));
    snprintf(machine->name, sizeof machine->name, "%s", properties.name);
    TRY(cudaDriverGetVersion(&machine->driver));
    TRY(cudaStreamCreate((cudaStream_t *)&machine->stream));
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.stream = machine->stream;
    TRY(gpusolve_create(&machine->handle, &options));
    TRY(cublasCreate((cublasHandle_t *)&machine->cublas));
    TRY(cublasSetStream(machine->cublas, machine->stream));
    TRY(cudaMalloc(&memory.cublas_workspace, CUBLAS_BYTES));
    TRY(cublasSetWorkspace(machine->cublas, memory.cublas_workspace, CUBLAS_BYTES));
    TRY(cusolverDnCreate((cusolverDnHandle_t *)&machine->cusolver));
    TRY(cusolverDnSetStream(machine->cusolver, machine->stream));
    TRY(measure_bandwidth(machine));
    for (const char *d = dtypes; *d; d++)
        TRY(measure_gemm(machine, *d));
    return 0;
}

void bench_close(bench_machine *machine) {
    gpusolve_destroy(machine->handle);
    cusolverDnDestroy(machine->cusolver);
    cublasDestroy(machine->cublas);
    cudaStreamDestroy(machine->stream);
    void *all[] = {memory.a,     memory.before,    memory.b,
                   memory.other, memory.workspace, memory.cublas_workspace};
    for (int k = 0; k < 6; k++)
        cudaFree(all[k]);
}
