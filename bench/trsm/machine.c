#include <string.h>

#include "bench/machine/bandwidth.h"
#include "operands.h"

enum { CUBLAS_BYTES = 64 << 20 };

static int measure_bandwidth(bench_machine *machine) {
    enum { BYTES = 1 << 30 };
    void *x;
    cudaGraph_t graph;
    double median, least, spread;
    TRY(cudaMalloc(&x, BYTES));
    TRY(cudaMemset(x, 0, BYTES));
    TRY(bench_capture(machine));
    TRY(bench_bandwidth_read(x, BYTES, machine->stream));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(bench_replay(graph, machine->stream, &median, &least, &spread));
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
    TRY(bench_fill(&call, dtype));
    TRY(bench_capture(machine));
    TRY(peer_gemm(machine->cublas, dtype, n, bench_memory.a, bench_memory.before, bench_memory.other));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(bench_replay(graph, machine->stream, &median, &least, &spread));
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
    TRY(cudaMalloc(&bench_memory.cublas_workspace, CUBLAS_BYTES));
    TRY(cublasSetWorkspace(machine->cublas, bench_memory.cublas_workspace, CUBLAS_BYTES));
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
    void *all[] = {bench_memory.a,     bench_memory.before,    bench_memory.b,
                   bench_memory.other, bench_memory.workspace, bench_memory.cublas_workspace};
    for (int k = 0; k < 6; k++)
        cudaFree(all[k]);
}
