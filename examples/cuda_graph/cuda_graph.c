/* Device pointers, a stream and a CUDA graph: a solve is captured once and replayed with other right-hand sides.
 *
 * A is the five-point Laplacian on a grid. With b and x in device memory gpusolve_solve is asynchronous on the handle's
 * stream and allocates nothing, so a capture is all it takes. Without a device the program says so and ends with 0. */
#include <gpusolve_cholmod.h>

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 40, n = side * side, replays = 10 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

static void check_cuda(cudaError_t status) {
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", cudaGetErrorName(status), cudaGetErrorString(status));
    exit(1);
}

/* 4 on the diagonal, -1 for each neighbour on the grid; the lower triangle. */
static cholmod_sparse *laplacian(cholmod_common *common) {
    cholmod_sparse *A = cholmod_allocate_sparse(n, n, 3 * n, 1, 1, -1, CHOLMOD_REAL, common);
    if (!A) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    int *p = A->p, *i = A->i, k = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j, x[k++] = 4;
        if (j % side < side - 1)
            i[k] = j + 1, x[k++] = -1;
        if (j + side < n)
            i[k] = j + side, x[k++] = -1;
    }
    p[n] = k;
    return A;
}

/* norm(b - A x) / (norm(A) norm(x) + norm(b)), with norm(A) <= 8. A sum, so that one NaN makes it NaN. */
static double backward_error(const double *b, const double *x) {
    double rr = 0, xx = 0, bb = 0;
    for (int j = 0; j < n; j++) {
        double r = b[j] - 4 * x[j];
        r += (j % side > 0 ? x[j - 1] : 0) + (j % side < side - 1 ? x[j + 1] : 0);
        r += (j >= side ? x[j - side] : 0) + (j + side < n ? x[j + side] : 0);
        rr += r * r;
        xx += x[j] * x[j];
        bb += b[j] * b[j];
    }
    return sqrt(rr) / (8 * sqrt(xx) + sqrt(bb));
}

int main(void) {
    static double b[n], x[n];
    cholmod_common common;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    double *device_b, *device_x, largest = 0;
    int good = 0;

    options.backend = GPUSOLVE_BACKEND_CUDA;
    gpusolve_status status = gpusolve_create(&handle, &options);
    if (status == GPUSOLVE_NO_DEVICE) {
        printf("skipped: no usable CUDA device\n");
        return 0;
    }
    check(NULL, status);
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(handle, gpusolve_set_stream(handle, stream));
    check_cuda(cudaMalloc((void **)&device_b, sizeof b));
    check_cuda(cudaMalloc((void **)&device_x, sizeof x));
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, device_b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, device_x};

    cholmod_start(&common);
    cholmod_sparse *A = laplacian(&common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common); /* the import says so if this has failed */
    check(handle, gpusolve_cholmod_import(handle, L, &factor));
    check(handle, gpusolve_workspace_create(handle, factor, 1, &workspace)); /* the graph's own */

    check_cuda(cudaMemsetAsync(device_b, 0, sizeof b, stream));
    check(handle, gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &B, &X)); /* queued on the stream */

    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    check(handle, gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &B, &X)); /* recorded, not run */
    check_cuda(cudaStreamEndCapture(stream, &graph));
    check_cuda(cudaGraphInstantiateWithFlags(&executable, graph, 0));

    for (int replay = 0; replay < replays; replay++) {
        for (int j = 0; j < n; j++)
            b[j] = sin(1 + (replay + 1.0) * j);
        check_cuda(cudaMemcpyAsync(device_b, b, sizeof b, cudaMemcpyHostToDevice, stream));
        check_cuda(cudaGraphLaunch(executable, stream));
        check_cuda(cudaMemcpyAsync(x, device_x, sizeof x, cudaMemcpyDeviceToHost, stream));
        check_cuda(cudaStreamSynchronize(stream));
        check(handle, gpusolve_workspace_check(handle, workspace)); /* has the solve given up? */
        const double error = backward_error(b, x);
        good += error < 1e-14; /* a NaN is not below it */
        largest = error > largest ? error : largest;
    }
    printf("one graph: %d of %d replays are right, largest backward error %.1e\n", good, replays, largest);

    check_cuda(cudaGraphExecDestroy(executable));
    check_cuda(cudaGraphDestroy(graph));
    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle); /* before its stream */
    check_cuda(cudaFree(device_x));
    check_cuda(cudaFree(device_b));
    check_cuda(cudaStreamDestroy(stream));
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return good == replays ? 0 : 1;
}
