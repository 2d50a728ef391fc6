/*
 * Memory of every kind as operands of dense calls and of sparse solves, refinements and selections: pageable,
 * pinned, mapped, registered, managed, of cudaMalloc, of a memory pool, mapped by the driver's functions, of
 * another device.
 * What a call takes gives the right answer; what it does not take is refused with a sentence, nothing changes,
 * and the CUDA context lives on. Memory of another device is refused everywhere, with peer access and without;
 * this part needs two devices.
 */
#include "cuda_problem.h"

#include <time.h>

#include "gpusolve_dense.h"
#include "gpusolve_selection.h"
#include "memory_kinds.h"
#include "src/device.h"

enum { N = 90, RHS = 7, COLUMNS = 5 };

/* --------------------------------------------------------------------------------------------- dense calls --- */

typedef enum operation { TRSM, TRMM, POTRS, POTRI, TRSV, PREPARED, STAGED, OPERATIONS } operation;

static const char *const operations[] = {"trsm", "trmm",          "potrs",      "potri",
                                         "trsv", "prepared trsv", "staged trsm"};

/* The staging object of the handle that was used last; NULL frees it. */
static gpusolve_staging *staging_of(gpusolve_handle *handle) {
    static gpusolve_staging *staging;
    static gpusolve_handle *owner;
    const gpusolve_staging_options options = {sizeof options, 64 << 20, 8 << 20};
    if (owner == handle)
        return staging;
    gpusolve_staging_destroy(staging);
    staging = NULL;
    owner = handle;
    if (handle)
        REQUIRE(gpusolve_staging_create(handle, &options, &staging) == GPUSOLVE_OK);
    return staging;
}

static gpusolve_status staged_call(gpusolve_handle *handle, const double *a, double *b) {
    gpusolve_staging *staging = staging_of(handle);
    const double one = 1;
    gpusolve_status status =
        gpusolve_trsm_staged(staging, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                             GPUSOLVE_NON_UNIT, N, RHS, &one, a, N, b, N);
    if (status == GPUSOLVE_OK)
        return gpusolve_staging_wait(staging);
    const char *text = gpusolve_staging_last_error(staging);
    CHECK(strncmp(text, "A: is in the memory of CUDA device ", 35) == 0);
    return status;
}

/* B := what the operation makes of it with A = 2 I plus a small lower triangle; TRSV: of column 0. */
static gpusolve_status dense_call(gpusolve_handle *h, operation which, double *a, double *b, void *workspace,
                                  size_t bytes) {
    const gpusolve_uplo low = GPUSOLVE_LOWER;
    const gpusolve_trans plain = GPUSOLVE_NO_TRANS;
    const gpusolve_diag full = GPUSOLVE_NON_UNIT;
    gpusolve_trsv *prepared = NULL;
    gpusolve_status status;
    switch (which) {
    case TRSM:
        return gpusolve_dtrsm(h, GPUSOLVE_LEFT, low, plain, full, N, RHS, 1, a, N, b, N, workspace, bytes);
    case TRMM:
        return gpusolve_dtrmm(h, GPUSOLVE_LEFT, low, plain, full, N, RHS, 1, a, N, b, N, workspace, bytes);
    case POTRS:
        return gpusolve_dpotrs(h, low, N, RHS, a, N, b, N, workspace, bytes);
    case POTRI:
        return gpusolve_dpotri(h, low, N, b, N, workspace, bytes);
    case TRSV:
        return gpusolve_dtrsv(h, low, plain, full, N, a, N, b, 1);
    case PREPARED:
        status = gpusolve_trsv_prepare(h, GPUSOLVE_DOUBLE, low, plain, full, N, a, N, &prepared);
        if (status == GPUSOLVE_OK)
            status = gpusolve_trsv_solve(h, prepared, b, 1);
        if (gpusolve_get_backend(h) == GPUSOLVE_BACKEND_CUDA)
            CHECK(cudaDeviceSynchronize() == cudaSuccess);
        gpusolve_trsv_destroy(prepared);
        return status;
    default:
        return staged_call(h, a, b);
    }
}

static void dense_numbers(double *a, double *b) {
    uint64_t state = 5;
    for (int k = 0; k < N * N; k++) {
        a[k] = k % (N + 1) == 0 ? 2 : testing_random(&state) / N;
        b[k] = k % (N + 1) == 0 ? 2 : testing_random(&state) / N;
    }
}

static double difference(const double *x, const double *y, int64_t count) {
    double worst = 0;
    for (int64_t k = 0; k < count; k++)
        worst = testing_worse(worst, fabs(x[k] - y[k]) / (1 + fabs(y[k])));
    return worst;
}

/* A and B of these kinds, on the current device; refused: the name that a refusal begins with, or NULL. */
static void check_dense(gpusolve_handle *handle, operation which, kind kind_a, kind kind_b,
                        const char *refused, int device) {
    static double a[N * N], b[N * N], right[N * N], got[N * N];
    int current = 0;
    REQUIRE(cudaGetDevice(&current) == cudaSuccess);
    dense_numbers(a, b);
    memcpy(right, b, sizeof b);
    gpusolve_handle *host = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    const gpusolve_status expected = dense_call(host, which == STAGED ? TRSM : which, a, right, NULL, 0);
    gpusolve_destroy(host);
    if (expected != GPUSOLVE_OK) /* a build without a CBLAS: no right answer to compare with */
        return;
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    memory memory_a = new_memory(kind_a, a, sizeof a), memory_b = new_memory(kind_b, b, sizeof b);
    REQUIRE(cudaSetDevice(current) == cudaSuccess);
    testing_in("%s, A %s, B %s, memory of device %d", operations[which], kind_names[kind_a],
               kind_names[kind_b], device);
    const gpusolve_status status =
        dense_call(handle, which, (double *)memory_a.values, (double *)memory_b.values, NULL, 0);
    read_memory(got, &memory_b);
    if (refused) {
        CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
        if (which != STAGED)
            CHECK(strncmp(gpusolve_last_error(handle), refused, strlen(refused)) == 0);
        CHECK(memcmp(got, b, sizeof b) == 0);
    } else if (CHECK_STATUS(status, GPUSOLVE_OK)) {
        CHECK_BELOW(difference(got, right, N * N), 1e-12);
    }
    delete_memory(&memory_a);
    delete_memory(&memory_b);
}

static void check_dense_kinds(gpusolve_handle *handle, int kinds) {
    for (int which = 0; which < OPERATIONS; which++)
        for (int a = 0; a < kinds; a++)
            for (int b = 0; b < kinds; b++) {
                const char *refused = which == STAGED                      ? NULL
                                      : which != POTRI && is_host((kind)a) ? "A: is not in device memory"
                                      : !is_host((kind)b)                  ? NULL
                                      : which == POTRI                     ? "A: is not in device memory"
                                      : which == TRSV || which == PREPARED ? "x: is not in device memory"
                                                                           : "B: is not in device memory";
                if (which != POTRI || a == 0)
                    check_dense(handle, (operation)which, (kind)a, (kind)b, refused, 0);
            }
}

/* The workspace of a kind that it must not be. */
static void check_workspaces(gpusolve_handle *handle, kind which, int device, const char *refused) {
    static double a[N * N], b[N * N], space[4096];
    int current = 0;
    REQUIRE(cudaGetDevice(&current) == cudaSuccess);
    dense_numbers(a, b);
    memory memory_a = new_memory(DEVICE, a, sizeof a), memory_b = new_memory(DEVICE, b, sizeof b);
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    memory workspace = new_memory(which, space, sizeof space);
    REQUIRE(cudaSetDevice(current) == cudaSuccess);
    for (int k = TRSM; k <= POTRI; k++) {
        testing_in("%s, workspace %s of device %d", operations[k], kind_names[which], device);
        const uintptr_t past = (uintptr_t)workspace.values % 256; /* pageable memory is aligned to 16 */
        char *aligned = workspace.values + (past ? 256 - past : 0);
        const gpusolve_status status = dense_call(handle, (operation)k, (double *)memory_a.values,
                                                  (double *)memory_b.values, aligned, sizeof space - 256);
        if (refused)
            CHECK_REFUSED(handle, status, GPUSOLVE_INVALID_ARGUMENT, refused);
        else
            CHECK_STATUS(status, GPUSOLVE_OK);
    }
    delete_memory(&memory_a);
    delete_memory(&memory_b);
    delete_memory(&workspace);
}

/* -------------------------------------------------------------------------------------------- sparse calls --- */

typedef enum sparse_call { SOLVE, REFINE, SELECTION, SPARSE_CALLS } sparse_call;

static const char *const sparse_calls[] = {"solve", "refine", "selection"};

static gpusolve_status call_sparse(const problem *p, const gpusolve_matrix *matrix,
                                   gpusolve_selection *selection, sparse_call which, const gpusolve_dense *b,
                                   const gpusolve_dense *x) {
    switch (which) {
    case SOLVE:
        return gpusolve_solve(p->handle, p->factor, NULL, GPUSOLVE_A, b, x);
    case REFINE:
        return gpusolve_refine(p->handle, p->factor, matrix, NULL, b, x, NULL, NULL, NULL);
    default:
        return gpusolve_solve_selected(p->handle, p->factor, selection, b, x);
    }
}

static void check_sparse(const problem *p, const gpusolve_matrix *matrix, gpusolve_selection *selection,
                         sparse_call which, kind kind_b, kind kind_x, const char *refused, int device_b,
                         int device_x) {
    const gpusolve_dense b = new_block(p, COLUMNS), x = new_block(p, COLUMNS), right = new_block(p, COLUMNS);
    gpusolve_dense there_b = b, there_x = x;
    int current = 0;
    REQUIRE(cudaGetDevice(&current) == cudaSuccess);
    testing_fill(&b, 7);
    testing_fill(&x, 8);
    testing_in("%s, b %s of device %d, x %s of device %d", sparse_calls[which], kind_names[kind_b], device_b,
               kind_names[kind_x], device_x);
    CHECK_STATUS(call_sparse(p, matrix, selection, which, &b, &right), GPUSOLVE_OK);
    REQUIRE(cudaSetDevice(device_b) == cudaSuccess);
    memory memory_b = new_memory(kind_b, b.values, testing_block_bytes(&b));
    REQUIRE(cudaSetDevice(device_x) == cudaSuccess);
    memory memory_x = new_memory(kind_x, x.values, testing_block_bytes(&x));
    REQUIRE(cudaSetDevice(current) == cudaSuccess);
    there_b.values = memory_b.values;
    there_x.values = memory_x.values;
    const gpusolve_status status = call_sparse(p, matrix, selection, which, &there_b, &there_x);
    const gpusolve_dense got = new_block(p, COLUMNS);
    read_memory(got.values, &memory_x);
    if (refused) {
        CHECK_STATUS(status, GPUSOLVE_INVALID_ARGUMENT);
        CHECK(strncmp(gpusolve_last_error(p->handle), refused, strlen(refused)) == 0);
        CHECK(testing_same_bits(&got, 0, &x, 0, COLUMNS));
    } else if (CHECK_STATUS(status, GPUSOLVE_OK)) {
        CHECK_BELOW(difference(got.values, right.values, p->n * COLUMNS), 1e-12);
    }
    delete_memory(&memory_b);
    delete_memory(&memory_x);
    free(b.values);
    free(x.values);
    free(right.values);
    free(got.values);
}

typedef struct sparse {
    problem p;
    gpusolve_matrix *matrix;
    gpusolve_selection *selection;
} sparse;

static sparse open_sparse(void) {
    sparse s = {0};
    open_problem(&s.p, "grid2d:25");
    REQUIRE(gpusolve_cholmod_matrix(s.p.handle, s.p.a, &s.matrix) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(s.p.handle, s.p.factor, GPUSOLVE_A, s.p.n, NULL, s.p.n, NULL, COLUMNS,
                                      &s.selection) == GPUSOLVE_OK);
    return s;
}

static void close_sparse(sparse *s) {
    gpusolve_selection_destroy(s->selection);
    gpusolve_matrix_destroy(s->matrix);
    close_problem(&s->p);
}

/* A solve that is captured takes every memory of the device's, and none of the host's. */
static void check_capture(const sparse *s, kind which) {
    testing_in("captured, %s", kind_names[which]);
    const gpusolve_dense b = new_block(&s->p, 1), x = new_block(&s->p, 1), right = new_block(&s->p, 1);
    gpusolve_workspace *workspace = NULL;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    testing_fill(&b, 3);
    CHECK_STATUS(gpusolve_solve(s->p.handle, s->p.factor, NULL, GPUSOLVE_A, &b, &right), GPUSOLVE_OK);
    memory memory_b = new_memory(which, b.values, testing_block_bytes(&b)),
           memory_x = new_memory(which, x.values, testing_block_bytes(&x));
    gpusolve_dense there_b = b, there_x = x;
    there_b.values = memory_b.values;
    there_x.values = memory_x.values;
    REQUIRE(gpusolve_workspace_create(s->p.handle, s->p.factor, 1, &workspace) == GPUSOLVE_OK);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(s->p.handle, stream), GPUSOLVE_OK);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve(s->p.handle, s->p.factor, workspace, GPUSOLVE_A, &there_b, &there_x),
                 is_host(which) ? GPUSOLVE_INVALID_ARGUMENT : GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    if (!is_host(which)) {
        REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        read_memory(x.values, &memory_x);
        CHECK_BELOW(difference(x.values, right.values, s->p.n), 1e-12);
        cudaGraphExecDestroy(exec);
    }
    CHECK_STATUS(gpusolve_set_stream(s->p.handle, NULL), GPUSOLVE_OK);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    gpusolve_workspace_destroy(workspace);
    delete_memory(&memory_b);
    delete_memory(&memory_x);
    free(b.values);
    free(x.values);
    free(right.values);
}

/* ------------------------------------------------------------------------------------------- two devices --- */

static void check_two_devices(const sparse *s, gpusolve_handle *dense, int kinds) {
    for (int k = MANAGED; k < kinds; k++) {
        const int other = k != MANAGED; /* managed memory belongs to all devices */
        for (int which = 0; which < OPERATIONS; which++) {
            const char *refused = "A: is in the memory of CUDA device 1, the handle's device is 0";
            check_dense(dense, (operation)which, (kind)k, (kind)k, other ? refused : NULL, 1);
        }
        for (int which = 0; which < SPARSE_CALLS; which++) {
            check_sparse(&s->p, s->matrix, s->selection, (sparse_call)which, (kind)k, DEVICE,
                         other ? "b" : NULL, 1, 0);
            check_sparse(&s->p, s->matrix, s->selection, (sparse_call)which, DEVICE, (kind)k,
                         other ? "x" : NULL, 0, 1);
            check_sparse(&s->p, s->matrix, s->selection, (sparse_call)which, (kind)k, (kind)k,
                         other ? "b" : NULL, 1, 1);
            check_sparse(&s->p, s->matrix, s->selection, (sparse_call)which, (kind)k, PAGEABLE,
                         other ? "b" : NULL, 1, 0);
            check_sparse(&s->p, s->matrix, s->selection, (sparse_call)which, PAGEABLE, (kind)k,
                         other ? "x" : NULL, 0, 1);
        }
    }
    check_workspaces(dense, DEVICE, 1, "workspace: is in the memory of CUDA device 1");
    /* host memory that was pinned while the other device was current serves both */
    for (int k = PINNED; k <= REGISTERED; k++) {
        check_sparse(&s->p, s->matrix, s->selection, SOLVE, (kind)k, (kind)k, NULL, 1, 1);
        check_dense(dense, STAGED, (kind)k, (kind)k, NULL, 1);
    }
}

/* The handle of device 1 while device 0 is current: memory of 1 is right, that of 0 is refused. */
static void check_other_handle(void) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    options.device = 1;
    REQUIRE(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    for (int which = 0; which < OPERATIONS; which++) {
        check_dense(handle, (operation)which, DEVICE, DEVICE, NULL, 1);
        check_dense(handle, (operation)which, DEVICE, DEVICE,
                    "A: is in the memory of CUDA device 0, the handle's device is 1", 0);
    }
    staging_of(NULL);
    gpusolve_destroy(handle);
}

/* ------------------------------------------------------------------------------------------------ cost --- */

/* Printed, not judged: what each operand costs in a call. */
static void print_cost(void) {
    enum { ROUNDS = 100000 };
    const double zero = 0;
    gsv_message message;
    for (int k = PAGEABLE; k <= DEVICE; k++) {
        memory m = new_memory((kind)k, &zero, sizeof zero);
        int where = 0;
        struct timespec begin, end;
        timespec_get(&begin, TIME_UTC);
        for (int round = 0; round < ROUNDS; round++)
            gsv_cuda_check_pointer(0, "b", m.values, &where, &message);
        timespec_get(&end, TIME_UTC);
        printf("%s: %.0f ns\n", kind_names[k],
               ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / ROUNDS);
        delete_memory(&m);
    }
}

int main(void) {
    gpusolve_backend backends[2];
    int devices = 0;
    if (testing_backends(backends) < 2 || cudaGetDeviceCount(&devices) != cudaSuccess) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    const int kinds = open_driver() ? KINDS : VIRTUAL;
    gpusolve_handle *dense = testing_handle(GPUSOLVE_BACKEND_CUDA, 0);
    sparse s = open_sparse();
    check_dense_kinds(dense, kinds);
    for (int k = 0; k < kinds; k++) {
        check_workspaces(dense, (kind)k, 0, is_host((kind)k) ? "workspace: is not in device memory" : NULL);
        for (int x = 0; x < kinds; x++)
            for (int which = 0; which < SPARSE_CALLS; which++)
                check_sparse(&s.p, s.matrix, s.selection, (sparse_call)which, (kind)k, (kind)x, NULL, 0, 0);
        check_capture(&s, (kind)k);
    }
    if (devices > 1) {
        int can = 0;
        check_two_devices(&s, dense, kinds);
        check_other_handle();
        if (cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess && can) {
            REQUIRE(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
            check_two_devices(&s, dense, kinds);
            CHECK(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
        }
        check_dense_kinds(dense, kinds);
    } else {
        printf("left out: memory of another device, of which there is none\n");
    }
    print_cost();
    staging_of(NULL);
    close_sparse(&s);
    gpusolve_destroy(dense);
    return testing_done();
}
