#include "device.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bandwidth.h"

static void *allocate(size_t bytes) {
    void *memory = NULL;

    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}

static void release(void *memory) {
    cudaFree(memory);
}

static int upload(void *to, const void *from, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
           cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess; /* the copy may end after its call */
}

static int download(void *to, const void *from, size_t bytes) {
    return cudaDeviceSynchronize() != cudaSuccess ||
           cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}

enum { WARM_UP = 3 }; /* calls before anything is timed */

/* One operation that is timed: a plain call, or the launch of a graph. */
typedef struct operation {
    bench_call *call;
    void *context;
    cudaGraphExec_t graph; /* NULL: make the call */
    cudaStream_t stream;
} operation;

static int run(const operation *o) {
    return o->graph ? (int)cudaGraphLaunch(o->graph, o->stream) : o->call(o->context);
}

/* Events around enough operations, back to back, to make a sample long. samples[i] is the time of one in us.
 * The first round has so many calls. */
static int sample(const operation *o, int calls, int repeat, double *samples) {
    enum { SAMPLE_US = 5000, MOST = 1000 };
    cudaEvent_t begin = NULL, end = NULL;
    int status = (int)cudaEventCreate(&begin);

    if (!status)
        status = (int)cudaEventCreate(&end);
    for (int i = -2; i < repeat && !status;
         i++) { /* two rounds of warm-up, which also say how many make a sample */
        float ms = 0;

        status = (int)cudaEventRecord(begin, o->stream);
        for (int j = 0; j < calls && !status; j++)
            status = run(o);
        if (!status)
            status = (int)cudaEventRecord(end, o->stream);
        if (!status)
            status = (int)cudaEventSynchronize(end);
        if (!status)
            status = (int)cudaEventElapsedTime(&ms, begin, end);
        if (status)
            break;
        double us = 1e3 * (double)ms / calls;
        if (i >= 0)
            samples[i] = us;
        else
            calls = us * MOST < SAMPLE_US ? MOST : 1 + (int)(SAMPLE_US / us);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return status;
}

/* The graph of one call. */
static int capture(bench_call *call, void *context, cudaStream_t stream, cudaGraphExec_t *exec) {
    cudaGraph_t graph = NULL;
    int status = (int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    int ended;

    if (status)
        return status;
    status = call(context);
    ended = (int)cudaStreamEndCapture(stream, &graph);
    if (!status)
        status = ended;
    if (!status)
        status = (int)cudaGraphInstantiate(exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

/* The hot time is that of the call as a CUDA graph, replayed back to back. */
static int time_calls(const bench_device *device, bench_call *call, void *context, int repeat,
                      bench_times *times) {
    operation o = {call, context, NULL, device->stream};
    double *samples = malloc((size_t)repeat * sizeof *samples);
    double stream_us = 0;
    int status = samples ? sample(&o, WARM_UP, repeat, samples) : -1;

    if (!status) {
        stream_us = bench_summarise(samples, repeat).median;
        status = capture(call, context, o.stream, &o.graph);
    }
    if (!status)
        status = sample(&o, WARM_UP, repeat, samples);
    if (!status) {
        *times = bench_summarise(samples, repeat);
        times->stream = stream_us;
        times->graph = times->median;
    }
    if (o.graph)
        cudaGraphExecDestroy(o.graph);
    free(samples);
    return status;
}

static void recover(void) {
    cudaDeviceSynchronize();
    cudaGetLastError();
}

/* A call of more than SLOW_US gets no graph, which would spare it microseconds. */
static int time_peer(const bench_device *device, bench_call *call, void *context, int repeat,
                     bench_times *times) {
    enum { SLOW_US = 50000 };
    operation o = {call, context, NULL, device->stream};
    double *samples = malloc((size_t)repeat * sizeof *samples), first = 0;
    int status = samples ? sample(&o, 1, 1, &first) : -1;
    const int slow = first > SLOW_US;

    if (!status)
        status = sample(&o, 1, repeat, samples);
    if (!status) {
        *times = bench_summarise(samples, repeat);
        if (!slow && !capture(call, context, o.stream, &o.graph) && !sample(&o, WARM_UP, repeat, samples)) {
            bench_times graph = bench_summarise(samples, repeat);

            graph.stream = times->median;
            graph.graph = graph.median;
            if (graph.median < times->median)
                *times = graph;
            else
                times->graph = graph.median;
        }
    }
    recover();
    if (o.graph)
        cudaGraphExecDestroy(o.graph);
    free(samples);
    return status;
}

static int64_t taken(void) {
    size_t available = 0, all = 0;

    return cudaMemGetInfo(&available, &all) == cudaSuccess ? (int64_t)(all - available) : -1;
}

static double measure_bus(void) {
    enum { REPEAT = 10 };
    const size_t bytes = (size_t)256 << 20;
    void *host = NULL, *memory = NULL;
    double best = NAN;

    if (cudaMallocHost(&host, bytes) == cudaSuccess && cudaMalloc(&memory, bytes) == cudaSuccess)
        for (int i = 0; i < REPEAT; i++) {
            const double begin = bench_now_us();

            if (upload(memory, host, bytes)) {
                best = NAN;
                break;
            }
            best = fmax(best, (double)bytes / (bench_now_us() - begin) * 1e6);
        }
    cudaFree(memory);
    cudaFreeHost(host);
    return best;
}

static void close_device(bench_device *device) {
    cudaStreamDestroy(device->stream);
}

/* Bytes a second of a read-only stream that is larger than any cache; 0 on failure. */
static double measure_bandwidth(cudaStream_t stream) {
    enum { REPEAT = 10 };
    size_t bytes = (size_t)8 << 30, available = 0, all = 0;
    cudaEvent_t begin = NULL, end = NULL;
    void *x = NULL;
    double best = 0;

    if (cudaMemGetInfo(&available, &all) != cudaSuccess)
        return 0;
    while (bytes > available / 2)
        bytes /= 2;
    if (cudaMalloc(&x, bytes) == cudaSuccess && cudaEventCreate(&begin) == cudaSuccess &&
        cudaEventCreate(&end) == cudaSuccess && cudaMemsetAsync(x, 0, bytes, stream) == cudaSuccess) {
        for (int i = 0; i < REPEAT; i++) {
            float ms = 0;

            if (cudaEventRecord(begin, stream) != cudaSuccess || bench_bandwidth_read(x, bytes, stream) ||
                cudaEventRecord(end, stream) != cudaSuccess || cudaEventSynchronize(end) != cudaSuccess ||
                cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) {
                best = 0;
                break;
            }
            if ((double)bytes / (double)ms * 1e3 > best)
                best = (double)bytes / (double)ms * 1e3;
        }
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(x);
    return best;
}

/* The driver's own version, such as 580.65.06, from NVML where that is installed; else the CUDA version it
 * speaks. */
static void name_driver(char *text, unsigned bytes) {
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
    int (*start)(void) = NULL, (*stop)(void) = NULL, (*version)(char *, unsigned) = NULL;
    int driver = 0;

    if (nvml) { /* POSIX gives functions as void *: the conversion that ISO C lacks */
        *(void **)&start = dlsym(nvml, "nvmlInit_v2");
        *(void **)&stop = dlsym(nvml, "nvmlShutdown");
        *(void **)&version = dlsym(nvml, "nvmlSystemGetDriverVersion");
    }
    if (!start || !stop || !version || start() || version(text, bytes)) {
        cudaDriverGetVersion(&driver);
        snprintf(text, bytes, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    }
    if (start && stop)
        stop();
    if (nvml)
        dlclose(nvml);
}

int bench_device_open_cuda(bench_device *device, double bandwidth) {
    cudaStream_t stream = NULL;

    *device = (bench_device){.is_cuda = 1,
                             .allocate = allocate,
                             .release = release,
                             .upload = upload,
                             .download = download,
                             .time = time_calls,
                             .time_peer = time_peer,
                             .recover = recover,
                             .taken = taken,
                             .bus = measure_bus,
                             .close = close_device};
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
        !((device->bandwidth = bandwidth > 0 ? bandwidth : measure_bandwidth(stream)) > 0)) {
        fprintf(stderr, "gpusolve-bench: CUDA failed: %s\n", cudaGetErrorString(cudaGetLastError()));
        if (stream)
            cudaStreamDestroy(stream);
        return -1;
    }
    device->stream = stream;
    name_driver(device->driver, sizeof device->driver);
    return 0;
}
