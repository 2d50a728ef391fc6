/*
 * gpusolve-trsv-bench: dense triangular solves with one vector on the device, beside cuBLAS and the ladder of
 * simpler kernels (ladder.cuh), in one run.
 *
 *      gpusolve-trsv-bench [--dtype sdcz] [--trans NT] [--n N,N,...] [--repeat R] [--ladder] [--json FILE]
 *
 * Every time is that of one call, in microseconds: a CUDA graph of many calls in a row, replayed; the median
 * over replays of the time of a replay over its calls. x is set back between replays. Every method's answer
 * is checked before it is timed: norm(A x - b) / (norm(A) norm(x) eps) below 30, and the program fails where
 * it is not.
 *
 * The wall is the time to read the triangle once, at the bandwidth measured in this run. A triangle that fits
 * into the L2 cache can beat it. gemv is cuBLAS's product with the whole square, gemv-half with a square that
 * has as many numbers as the triangle: its order, n / sqrt(2), is rounded up to a multiple of eight.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "../machine/bandwidth.h"
#include "gpusolve_dense.h"
#include "ladder.cuh"
#include "revision.h"

namespace {

typedef std::function<int(cudaStream_t)> call;

struct timing {
    double median, least, spread;
};

struct machine {
    cudaDeviceProp properties;
    int driver;
    double bandwidth; /* bytes per second */
    cudaStream_t stream;
    cublasHandle_t cublas;
    gpusolve_handle *handle;
    int *counters; /* the ladder's */
};

struct problem {
    gpusolve_trsv *prepared;
    char dtype, trans;
    int n;
    void *a, *b, *x, *y;
    double *errors; /* [2]: residual, norm(A) norm(x) eps, as maxima over rows */
    size_t bytes;   /* of a number */
};

bool check(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fprintf(stderr, "gpusolve-trsv-bench: %s: %s\n", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

/* A: numbers in [-1, 1) / n below and above the diagonal, 1 on it, so that a thousand solves in a row neither
 * overflow nor vanish. b in [1, 2). As reals: a complex number is two. */
template <typename R>
__global__ void fill_kernel(R *to, int64_t rows, int64_t columns, int parts, bool matrix) {
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (int64_t k = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; k < rows * columns * parts;
         k += stride) {
        uint64_t h = uint64_t(k) * 6364136223846793005u + 1442695040888963407u;
        h ^= h >> 31;
        h *= 0x9e3779b97f4a7c15u;
        const double v = double(h >> 11) * 0x1p-53;
        const int64_t i = k / parts % rows, j = k / parts / rows;
        to[k] = R(!matrix ? 1 + v : i == j ? (k % parts == 0 ? 1 : 0) : (2 * v - 1) / double(rows));
    }
}

__device__ void raise(double *to, double v) { /* v >= 0, or a NaN, which is larger than all */
    atomicMax(reinterpret_cast<unsigned long long *>(to),
              (unsigned long long)__double_as_longlong(v != v ? NAN : v));
}

/* Residual of one row a block, in double: |b - op(A) x| and |op(A)| max |x| eps. Lower triangle. */
template <typename R>
__global__ void residual_kernel(int n, const R *a, bool trans, int parts, const R *x, const R *b, double eps,
                                double *errors) {
    const int row = blockIdx.x;
    double re = 0, im = 0, norm = 0, size = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        const double xr = x[int64_t(j) * parts], xi = parts == 2 ? double(x[int64_t(j) * 2 + 1]) : 0;
        size = fmax(size, fabs(xr) + fabs(xi));
        if (trans ? j < row : j > row)
            continue;
        const int64_t at = (trans ? j + int64_t(row) * n : row + int64_t(j) * n) * parts;
        const double ar = a[at], ai = parts == 2 ? double(a[at + 1]) : 0;
        re += ar * xr - ai * xi;
        im += ar * xi + ai * xr;
        norm += hypot(ar, ai);
    }
    __shared__ double sums[4][128];
    const double mine[4] = {re, im, norm, size};
    for (int k = 0; k < 4; k++)
        sums[k][threadIdx.x] = mine[k];
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (unsigned t = 1; t < blockDim.x; t++) {
        re += sums[0][t];
        im += sums[1][t];
        norm += sums[2][t];
        size = fmax(size, sums[3][t]);
    }
    raise(&errors[0],
          hypot(re - b[int64_t(row) * parts], im - (parts == 2 ? double(b[int64_t(row) * 2 + 1]) : 0)));
    raise(&errors[1], norm * size * eps);
}

template <typename R> bool fill(const machine &m, const problem &p, int parts) {
    fill_kernel<R><<<4096, 256, 0, m.stream>>>(static_cast<R *>(p.a), p.n, p.n, parts, true);
    fill_kernel<R><<<64, 256, 0, m.stream>>>(static_cast<R *>(p.b), p.n, 1, parts, false);
    return check(cudaStreamSynchronize(m.stream), "filling the operands");
}

bool is_single(const problem &p) {
    return p.dtype == 's' || p.dtype == 'c';
}

/* The ratio of the solution that a method leaves in x; NaN where it failed. */
double ratio(const machine &m, const problem &p, const call &method) {
    const int parts = p.dtype == 'c' || p.dtype == 'z' ? 2 : 1;
    const double eps = is_single(p) ? 0x1p-23 : 0x1p-52;
    double errors[2] = {NAN, NAN};
    if (cudaMemcpyAsync(p.x, p.b, p.n * p.bytes, cudaMemcpyDeviceToDevice, m.stream) != cudaSuccess ||
        method(m.stream) || cudaMemsetAsync(p.errors, 0, sizeof errors, m.stream) != cudaSuccess)
        return NAN;
    if (is_single(p))
        residual_kernel<float><<<p.n, 128, 0, m.stream>>>(p.n, static_cast<float *>(p.a), p.trans == 'T',
                                                          parts, static_cast<float *>(p.x),
                                                          static_cast<float *>(p.b), eps, p.errors);
    else
        residual_kernel<double><<<p.n, 128, 0, m.stream>>>(p.n, static_cast<double *>(p.a), p.trans == 'T',
                                                           parts, static_cast<double *>(p.x),
                                                           static_cast<double *>(p.b), eps, p.errors);
    if (!check(cudaStreamSynchronize(m.stream), "checking an answer") ||
        !check(cudaMemcpy(errors, p.errors, sizeof errors, cudaMemcpyDeviceToHost), "checking an answer"))
        return NAN;
    return errors[0] / errors[1];
}

bool measure(const machine &m, const problem &p, const call &method, int repeat, timing *t) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    const int calls = p.n <= 2048 ? 50 : p.n <= 8192 ? 20 : 10;
    std::vector<double> samples;
    bool ok = check(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int k = 0; k < calls && ok; k++)
        ok = method(m.stream) == 0;
    ok = check(cudaStreamEndCapture(m.stream, &graph), "capturing") && ok &&
         check(cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph") &&
         check(cudaEventCreate(&begin), "creating an event") &&
         check(cudaEventCreate(&end), "creating an event");
    for (int k = -2; k < repeat && ok; k++) {
        float ms = 0;
        ok = check(cudaMemcpyAsync(p.x, p.b, p.n * p.bytes, cudaMemcpyDeviceToDevice, m.stream),
                   "setting x back") &&
             check(cudaEventRecord(begin, m.stream), "timing") &&
             check(cudaGraphLaunch(exec, m.stream), "timing") &&
             check(cudaEventRecord(end, m.stream), "timing") && check(cudaEventSynchronize(end), "timing") &&
             check(cudaEventElapsedTime(&ms, begin, end), "timing");
        if (k >= 0)
            samples.push_back(1e3 * ms / calls);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    if (!ok)
        return false;
    std::sort(samples.begin(), samples.end());
    const size_t count = samples.size();
    t->median = samples[count / 2];
    t->least = samples[0];
    t->spread = (samples[3 * count / 4] - samples[count / 4]) / t->median;
    return true;
}

int own(const machine &m, const problem &p) {
    const gpusolve_trans trans = p.trans == 'T' ? GPUSOLVE_TRANS : GPUSOLVE_NO_TRANS;
    switch (p.dtype) {
    case 's':
        return gpusolve_strsv(m.handle, GPUSOLVE_LOWER, trans, GPUSOLVE_NON_UNIT, p.n,
                              static_cast<float *>(p.a), p.n, static_cast<float *>(p.x), 1);
    case 'd':
        return gpusolve_dtrsv(m.handle, GPUSOLVE_LOWER, trans, GPUSOLVE_NON_UNIT, p.n,
                              static_cast<double *>(p.a), p.n, static_cast<double *>(p.x), 1);
    case 'c':
        return gpusolve_ctrsv(m.handle, GPUSOLVE_LOWER, trans, GPUSOLVE_NON_UNIT, p.n, p.a, p.n, p.x, 1);
    default:
        return gpusolve_ztrsv(m.handle, GPUSOLVE_LOWER, trans, GPUSOLVE_NON_UNIT, p.n, p.a, p.n, p.x, 1);
    }
}

int cublas_trsv(const machine &m, const problem &p) {
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    const cublasOperation_t op = p.trans == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasDiagType_t diag = CUBLAS_DIAG_NON_UNIT;
    switch (p.dtype) {
    case 's':
        return cublasStrsv(m.cublas, lower, op, diag, p.n, (float *)p.a, p.n, (float *)p.x, 1);
    case 'd':
        return cublasDtrsv(m.cublas, lower, op, diag, p.n, (double *)p.a, p.n, (double *)p.x, 1);
    case 'c':
        return cublasCtrsv(m.cublas, lower, op, diag, p.n, (cuComplex *)p.a, p.n, (cuComplex *)p.x, 1);
    default:
        return cublasZtrsv(m.cublas, lower, op, diag, p.n, (cuDoubleComplex *)p.a, p.n,
                           (cuDoubleComplex *)p.x, 1);
    }
}

int cublas_gemv(const machine &m, const problem &p, int n) {
    const cublasOperation_t op = p.trans == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N;
    static const float one_s = 1, zero_s = 0;
    static const double one_d = 1, zero_d = 0;
    static const cuComplex one_c = {1, 0}, zero_c = {0, 0};
    static const cuDoubleComplex one_z = {1, 0}, zero_z = {0, 0};
    switch (p.dtype) {
    case 's':
        return cublasSgemv(m.cublas, op, n, n, &one_s, (float *)p.a, n, (float *)p.b, 1, &zero_s,
                           (float *)p.y, 1);
    case 'd':
        return cublasDgemv(m.cublas, op, n, n, &one_d, (double *)p.a, n, (double *)p.b, 1, &zero_d,
                           (double *)p.y, 1);
    case 'c':
        return cublasCgemv(m.cublas, op, n, n, &one_c, (cuComplex *)p.a, n, (cuComplex *)p.b, 1, &zero_c,
                           (cuComplex *)p.y, 1);
    default:
        return cublasZgemv(m.cublas, op, n, n, &one_z, (cuDoubleComplex *)p.a, n, (cuDoubleComplex *)p.b, 1,
                           &zero_z, (cuDoubleComplex *)p.y, 1);
    }
}

/* Of a square with the numbers of a triangle of order n, no larger than n itself. */
int half_order(int n) {
    return std::min(n, (int(ceil(n * sqrt(0.5))) + 7) / 8 * 8);
}

const int SHARED = (LADDER_MOST * LADDER_LD + LADDER_MOST) * int(sizeof(double));

int ladder_shared(const problem &p, cudaStream_t stream) {
    ladder_shared_kernel<<<1, 512, SHARED, stream>>>(p.n, (double *)p.a, p.n, (double *)p.x);
    return cudaGetLastError();
}

template <int RUN> int ladder_register_run(const problem &p, cudaStream_t stream) {
    const double *a = (double *)p.a;
    double *x = (double *)p.x;
    if (p.n <= 32)
        ladder_register_kernel<32, RUN>
            <<<1, 32 * ladder_register<32, RUN>::WARPS, 0, stream>>>(p.n, a, p.n, x);
    else if (p.n <= 64)
        ladder_register_kernel<64, RUN>
            <<<1, 32 * ladder_register<64, RUN>::WARPS, 0, stream>>>(p.n, a, p.n, x);
    else
        ladder_register_kernel<128, RUN>
            <<<1, 32 * ladder_register<128, RUN>::WARPS, 0, stream>>>(p.n, a, p.n, x);
    return cudaGetLastError();
}

int ladder_launch(const problem &p, cudaStream_t stream) {
    const double *a = (double *)p.a;
    double *x = (double *)p.x;
    for (int k = 0; k < p.n; k += LADDER_MOST) {
        const int columns = std::min<int>(p.n - k, LADDER_MOST), rows = p.n - k - columns;
        const double *diagonal = a + int64_t(k) * (p.n + 1);
        ladder_shared_kernel<<<1, 512, SHARED, stream>>>(columns, diagonal, p.n, x + k);
        if (rows > 0)
            ladder_below_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(rows, columns, diagonal + columns,
                                                                        p.n, x + k, x + k + columns);
    }
    return cudaGetLastError();
}

int ladder_global(const machine &m, const problem &p, cudaStream_t stream) {
    ladder_reset_kernel<<<1, 2, 0, stream>>>(m.counters);
    ladder_global_kernel<<<(p.n + 31) / 32, 256, 0, stream>>>(p.n, (double *)p.a, p.n, (double *)p.x,
                                                              m.counters);
    return cudaGetLastError();
}

struct method {
    const char *name;
    call run;
    bool solves;
};

std::vector<method> methods(const machine &m, const problem &p, bool ladder) {
    std::vector<method> list = {
        {"gpusolve", [&](cudaStream_t) { return own(m, p); }, true},
        {"prepared", [&](cudaStream_t) { return int(gpusolve_trsv_solve(m.handle, p.prepared, p.x, 1)); },
         true},
        {"cublas", [&](cudaStream_t) { return cublas_trsv(m, p); }, true},
        {"gemv", [&](cudaStream_t) { return cublas_gemv(m, p, p.n); }, false},
        {"gemv-half", [&](cudaStream_t) { return cublas_gemv(m, p, half_order(p.n)); }, false},
    };
    if (!ladder || p.dtype != 'd' || p.trans != 'N')
        return list;
    if (p.n <= LADDER_MOST) {
        list.push_back({"shared", [&](cudaStream_t s) { return ladder_shared(p, s); }, true});
        list.push_back({"register-a", [&](cudaStream_t s) { return ladder_register_run<1>(p, s); }, true});
        list.push_back({"register-b", [&](cudaStream_t s) { return ladder_register_run<16>(p, s); }, true});
    }
    list.push_back({"launch", [&](cudaStream_t s) { return ladder_launch(p, s); }, true});
    list.push_back({"global", [&](cudaStream_t s) { return ladder_global(m, p, s); }, true});
    return list;
}

/* All methods on one problem; the number of those that failed. */
int run(const machine &m, problem p, int repeat, bool ladder, FILE *json) {
    const double bytes = 0.5 * p.n * (p.n + 1.0) * double(p.bytes), wall = 1e6 * bytes / m.bandwidth;
    const bool filled =
        is_single(p) ? fill<float>(m, p, p.dtype == 'c' ? 2 : 1) : fill<double>(m, p, p.dtype == 'z' ? 2 : 1);
    static const char letters[] = "sdcz";
    const gpusolve_status status = gpusolve_trsv_prepare(
        m.handle, gpusolve_dtype(strchr(letters, p.dtype) - letters), GPUSOLVE_LOWER,
        p.trans == 'T' ? GPUSOLVE_TRANS : GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, p.n, p.a, p.n, &p.prepared);
    int failed = !filled || status != GPUSOLVE_OK;
    printf("%c%c %6d  wall %8.2f", p.dtype, p.trans, p.n, wall);
    for (const method &how : methods(m, p, ladder)) {
        const double error = how.solves ? ratio(m, p, how.run) : 0;
        timing t = {NAN, NAN, NAN};
        const bool right = error < 30 && measure(m, p, how.run, repeat, &t);
        failed += !right;
        printf("  %s %8.2f%s", how.name, t.median, right ? "" : " WRONG");
        fflush(stdout);
        if (json && right)
            fprintf(json,
                    "{\"git\": \"%s\", \"operation\": \"trsv\", \"method\": \"%s\", \"dtype\": \"%c\", "
                    "\"uplo\": \"L\", "
                    "\"trans\": \"%c\", \"n\": %d, \"device\": \"%s\", \"driver\": %d, \"us\": %.3f, "
                    "\"us_min\": %.3f, "
                    "\"spread\": %.5f, \"bytes\": %.0f, \"gb_per_s\": %.1f, \"bandwidth_gb_per_s\": %.1f, "
                    "\"wall_us\": %.3f, \"wall_fraction\": %.4f, \"error\": %.4f}\n",
                    BENCH_REVISION, how.name, p.dtype, p.trans, p.n, m.properties.name, m.driver, t.median,
                    t.least, t.spread, bytes, 1e-3 * bytes / t.median, 1e-9 * m.bandwidth, wall,
                    wall / t.median, error);
    }
    printf("\n");
    gpusolve_trsv_destroy(p.prepared);
    return failed;
}

bool open(machine *m) {
    if (!check(cudaGetDeviceProperties(&m->properties, 0), "no device") ||
        !check(cudaDriverGetVersion(&m->driver), "the driver's version") ||
        !check(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking), "creating a stream") ||
        !check(cudaMalloc(&m->counters, 2 * sizeof(int)), "allocating counters") ||
        !check(
            cudaFuncSetAttribute(ladder_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED),
            "shared memory"))
        return false;
    if (cublasCreate(&m->cublas) != CUBLAS_STATUS_SUCCESS ||
        cublasSetStream(m->cublas, m->stream) != CUBLAS_STATUS_SUCCESS ||
        gpusolve_create(&m->handle, nullptr) != GPUSOLVE_OK ||
        gpusolve_get_backend(m->handle) != GPUSOLVE_BACKEND_CUDA ||
        gpusolve_set_stream(m->handle, m->stream) != GPUSOLVE_OK)
        return false;
    const size_t size = size_t(4) << 30;
    void *memory = nullptr;
    cudaEvent_t begin, end;
    m->bandwidth = 0;
    if (!check(cudaMalloc(&memory, size), "allocating") ||
        !check(cudaMemsetAsync(memory, 0, size, m->stream), "memset") ||
        !check(cudaEventCreate(&begin), "event") || !check(cudaEventCreate(&end), "event"))
        return false;
    for (int k = 0; k < 8; k++) {
        float ms = 0;
        cudaEventRecord(begin, m->stream);
        if (bench_bandwidth_read(memory, size, m->stream))
            return false;
        cudaEventRecord(end, m->stream);
        if (!check(cudaEventSynchronize(end), "reading") ||
            !check(cudaEventElapsedTime(&ms, begin, end), "reading"))
            return false;
        m->bandwidth = std::max(m->bandwidth, double(size) / ms * 1e3);
    }
    cudaFree(memory);
    return true;
}

std::vector<int> numbers(const char *text) {
    std::vector<int> list;
    for (char *end; *text; text = *end ? end + 1 : end) {
        list.push_back(int(strtol(text, &end, 10)));
        if (end == text || list.back() < 1) {
            fprintf(stderr, "gpusolve-trsv-bench: not a list of sizes\n");
            exit(2);
        }
    }
    return list;
}

} // namespace

int main(int argc, char **argv) {
    const char *dtypes = "d", *transposes = "NT";
    std::vector<int> sizes = {16,   32,   33,   64,   96,   128,  129,  192,  256,  384,   512,   768,
                              1000, 1024, 1536, 2048, 3001, 4096, 5003, 6144, 8192, 11585, 12288, 16384};
    int repeat = 15;
    bool ladder = false;
    FILE *json = nullptr;
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (!strcmp(argv[k], "--ladder")) {
            ladder = true;
            continue;
        }
        if (!strcmp(argv[k], "--dtype"))
            dtypes = value;
        else if (!strcmp(argv[k], "--trans"))
            transposes = value;
        else if (!strcmp(argv[k], "--n"))
            sizes = numbers(value);
        else if (!strcmp(argv[k], "--repeat"))
            repeat = std::max(atoi(value), 1);
        else if (!strcmp(argv[k], "--json"))
            json = fopen(value, "a");
        else {
            fprintf(stderr, "gpusolve-trsv-bench: unknown option %s\n", argv[k]);
            return 2;
        }
        k++;
    }
    machine m = {};
    if (!open(&m)) {
        fprintf(stderr, "gpusolve-trsv-bench: no usable device\n");
        return 1;
    }
    printf("gpusolve %s (%s) on %s, reading %.0f GB/s; microseconds a call\n", gpusolve_version(),
           BENCH_REVISION, m.properties.name, 1e-9 * m.bandwidth);
    int failed = 0;
    const int64_t most = *std::max_element(sizes.begin(), sizes.end());
    for (const char *d = dtypes; *d; d++) {
        problem p = {};
        p.dtype = *d;
        p.bytes = *d == 's' ? 4 : *d == 'z' ? 16 : 8;
        if (!check(cudaMalloc(&p.a, size_t(most * most) * p.bytes), "allocating A") ||
            !check(cudaMalloc(&p.b, 3 * size_t(most) * p.bytes), "allocating vectors") ||
            !check(cudaMalloc(&p.errors, 2 * sizeof(double)), "allocating errors"))
            return 1;
        p.x = static_cast<char *>(p.b) + size_t(most) * p.bytes;
        p.y = static_cast<char *>(p.x) + size_t(most) * p.bytes;
        for (const char *t = transposes; *t; t++)
            for (int n : sizes) {
                p.trans = *t;
                p.n = n;
                failed += run(m, p, repeat, ladder, json);
            }
        cudaFree(p.a);
        cudaFree(p.b);
        cudaFree(p.errors);
    }
    if (json)
        fclose(json);
    gpusolve_destroy(m.handle);
    return failed != 0;
}
