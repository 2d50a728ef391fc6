#include "operands.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REPLAYS = 101 };

bench_device_memory bench_memory;

int bench_dtype_index(char letter) {
    return letter == 's' ? 0 : letter == 'd' ? 1 : letter == 'c' ? 2 : 3;
}

size_t bench_number_bytes(int dtype) {
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

int bench_compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int bench_replay(cudaGraph_t graph, cudaStream_t stream, double *median, double *least, double *spread) {
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
    qsort(samples, (size_t)count, sizeof *samples, bench_compare_numbers);
    *median = samples[count / 2];
    *least = samples[0];
    *spread = (samples[count * 9 / 10] - samples[count / 10]) / samples[count / 2];
    TRY(cudaEventDestroy(begin));
    TRY(cudaEventDestroy(end));
    TRY(cudaGraphExecDestroy(exec));
    return 0;
}

int bench_capture(bench_machine *machine) {
    TRY(cudaStreamBeginCapture(machine->stream, cudaStreamCaptureModeThreadLocal));
    return 0;
}

/* ------------------------------------------------------------------------------------------- operands --- */

static int reserve(size_t bytes) {
    if (bytes <= bench_memory.bytes)
        return 0;
    void **all[] = {&bench_memory.a, &bench_memory.before, &bench_memory.b, &bench_memory.other};
    for (int k = 0; k < 4; k++) {
        cudaFree(*all[k]);
        *all[k] = NULL;
        TRY(cudaMalloc(all[k], bytes));
    }
    bench_memory.bytes = bytes;
    bench_memory.n = 0;
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

int bench_fill(const bench_call *call, int dtype) {
    const size_t bytes = bench_number_bytes(dtype), n = (size_t)call->n,
                 columns = larger(n, (size_t)call->nrhs);
    uint64_t state = 1;
    TRY(reserve(n * columns * bytes));
    if (bench_memory.n == call->n && bench_memory.dtype == call->dtype)
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
    TRY(cudaMemcpy(bench_memory.a, host, n * n * bytes, cudaMemcpyHostToDevice));
    for (size_t k = 0; k < n * columns; k++) {
        const double re = random_number(&state);
        store(dtype, host, k, re, random_number(&state));
    }
    TRY(cudaMemcpy(bench_memory.before, host, n * columns * bytes, cudaMemcpyHostToDevice));
    free(host);
    bench_memory.n = call->n;
    bench_memory.dtype = call->dtype;
    return 0;
}

peer_triangle bench_triangle_of(const bench_call *call) {
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
        bench_memory.a,
        n,
    };
}
