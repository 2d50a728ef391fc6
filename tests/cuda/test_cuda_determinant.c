/*
 * Log-determinant and diagonal on the device: in the stream's order, without an allocation, captured into a graph that follows every refresh, and
 * stores NaN once the factor was planned again; to memory of every kind. What waits is refused inside a capture.
 */
#include "cuda_problem.h"

#include <cuda_runtime_api.h>

#include "memory.h"

enum { RESULTS = 4 }; /* logdet, sign, smallest, largest */

/* By host memory. */
static void ask(const problem *p, double results[RESULTS]) {
    memset(results, 0xff, RESULTS * sizeof *results);
    CHECK_STATUS(gpusolve_factor_logdet(p->handle, p->factor, results, results + 1), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_diagonal(p->handle, p->factor, results + 2, results + 3), GPUSOLVE_OK);
    CHECK(isfinite(results[0]) && fabs(results[1]) == 1 && results[2] > 0 && results[3] >= results[2]);
}

static gpusolve_status queue(const problem *p, double *device) {
    const gpusolve_status status = gpusolve_factor_logdet(p->handle, p->factor, device, device + 1);
    return status ? status : gpusolve_factor_diagonal(p->handle, p->factor, device + 2, device + 3);
}

/* A graph of both calls. Host memory, and what waits, are refused in between. */
static cudaGraphExec_t capture(const problem *p, double *device, cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    double host = 7, rcond = 7;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_REFUSED(p->handle, gpusolve_factor_logdet(p->handle, p->factor, &host, NULL),
                  GPUSOLVE_INVALID_ARGUMENT, "logdet: is in host memory");
    CHECK_REFUSED(p->handle, gpusolve_factor_logdet(p->handle, p->factor, device, &host),
                  GPUSOLVE_INVALID_ARGUMENT, "sign: is in host memory");
    CHECK_REFUSED(p->handle, gpusolve_factor_diagonal(p->handle, p->factor, &host, device),
                  GPUSOLVE_INVALID_ARGUMENT, "smallest: is in host memory");
    CHECK_REFUSED(p->handle, gpusolve_factor_rcond(p->handle, p->factor, NULL, NULL, 1, &rcond),
                  GPUSOLVE_INVALID_ARGUMENT, "captured");
    CHECK(host == 7 && rcond == 7);
    CHECK_STATUS(queue(p, device), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);
    return exec;
}

/* What the graph stores is what the factor has now. */
static void check_replay(const problem *p, cudaGraphExec_t exec, const double *device, cudaStream_t stream) {
    double expected[RESULTS], got[RESULTS];
    ask(p, expected);
    CHECK(device_fill((void *)device, 0xff, sizeof got) == 0);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(got, device, sizeof got) == 0);
    CHECK(memcmp(got, expected, sizeof got) == 0);
}

/* It stores NaN. */
static void check_expired(cudaGraphExec_t exec, const double *device, cudaStream_t stream) {
    double got[RESULTS];
    CHECK(device_fill((void *)device, 0, sizeof got) == 0);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(got, device, sizeof got) == 0);
    for (int k = 0; k < RESULTS; k++)
        CHECK(isnan(got[k]));
}

/* L1 of the widest supernode such that its inverse grows by this. */
static void spoil_widest(const problem *p, double growth) {
    const int32_t *super = p->l->super, *pi = p->l->pi, *px = p->l->px;
    size_t widest = 0;
    for (size_t s = 1; s < p->l->nsuper; s++)
        if (super[s + 1] - super[s] > super[widest + 1] - super[widest])
            widest = s;
    const int nc = super[widest + 1] - super[widest], nr = pi[widest + 1] - pi[widest];
    double *panel = (double *)p->l->x + px[widest];
    for (int j = 0; j < nc; j++)
        for (int i = j + 1; i < nc; i++)
            panel[i + (int64_t)j * nr] = -(pow(growth, 1.0 / nc) - 1) * panel[i + (int64_t)i * nr];
}

static void check_graphs(const char *spec, double growth, int split) {
    testing_in("%s, growth %g", spec, growth);
    problem p = {0};
    open_problem(&p, spec);
    cudaStream_t stream = NULL;
    gpusolve_info info = {.size = sizeof info};
    double before[RESULTS], after[RESULTS];
    double *device = device_new(before, sizeof before);
    REQUIRE(device && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    ask(&p, before);
    cudaGraphExec_t old = capture(&p, device, stream);
    for (int round = 0; round < 3; round++)
        check_replay(&p, old, device, stream);

    for (size_t k = 0; k < p.l->xsize; k++)
        ((double *)p.l->x)[k] *= 2;
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    check_replay(&p, old, device, stream);
    ask(&p, after);
    CHECK(after[2] == 2 * before[2] && after[3] == 2 * before[3]);
    CHECK_BELOW(fabs(after[0] - before[0] - 2 * log(2) * (double)p.n), 1e-14 * fabs(after[0]));

    spoil_widest(&p, growth);
    CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 1, &info), GPUSOLVE_OK);
    CHECK(info.plans == 1 + split);
    if (split)
        check_expired(old, device, stream);
    else
        check_replay(&p, old, device, stream);
    cudaGraphExec_t new = capture(&p, device, stream);
    check_replay(&p, new, device, stream);
    ask(&p, before);
    CHECK(memcmp(before, after, sizeof before) == 0); /* what lies below the diagonal does not count */

    testing_count_allocations();
    for (int round = 0; round < 20; round++)
        CHECK_STATUS(queue(&p, device), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(after, device, sizeof after) == 0 && memcmp(before, after, sizeof before) == 0);

    close_problem(&p);
    cudaGraphExecDestroy(old);
    cudaGraphExecDestroy(new);
    cudaStreamDestroy(stream);
    device_delete(device);
}

/* Pinned memory has the numbers on return, managed memory when the stream has come to it; one result here, one there. */
static void check_memory(void) {
    testing_in("memory of several kinds");
    problem p = {0};
    open_kind(&p, "grid2d:20", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_FLOAT);
    double expected[RESULTS], host = NAN, *managed = NULL, *pinned = NULL,
                              *device = device_new(&host, sizeof host);
    REQUIRE(device &&
            cudaMallocManaged((void **)&managed, 2 * sizeof *managed, cudaMemAttachGlobal) == cudaSuccess);
    REQUIRE(cudaHostAlloc((void **)&pinned, 2 * sizeof *pinned, cudaHostAllocDefault) == cudaSuccess);
    ask(&p, expected);
    CHECK_STATUS(gpusolve_factor_logdet(p.handle, p.factor, pinned, pinned + 1), GPUSOLVE_OK);
    CHECK(memcmp(pinned, expected, 2 * sizeof *pinned) == 0);
    CHECK_STATUS(gpusolve_factor_logdet(p.handle, p.factor, managed, managed + 1), GPUSOLVE_OK);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(memcmp(managed, expected, 2 * sizeof *managed) == 0);
    CHECK_STATUS(gpusolve_factor_diagonal(p.handle, p.factor, device, &host), GPUSOLVE_OK);
    CHECK(host == expected[3]);
    CHECK(device_read(&host, device, sizeof host) == 0 && host == expected[2]);
    CHECK_REFUSED(p.handle, gpusolve_factor_logdet(p.handle, p.factor, (double *)((char *)device + 4), NULL),
                  GPUSOLVE_INVALID_ARGUMENT, "logdet");
    close_problem(&p);
    cudaFree(managed);
    cudaFreeHost(pinned);
    device_delete(device);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: wants a CUDA device\n");
        return TESTING_SKIPPED;
    }
    check_graphs("grid3d:14", 30, 0);
    check_graphs("grid3d:14", 1e60, 1);
    check_graphs("grid3d:26", 1e4, 1);
    check_memory();
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
