#include "measure.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operands.h"

enum { CHECKED_COLUMNS = 8 };

/* ---------------------------------------------------------------------------------------------- calls --- */

static int is(const bench_call *call, const char *operation) {
    return strcmp(call->operation, operation) == 0;
}

/* gpusolve's call on bench_memory.b (potri: on bench_memory.b as the factor) */
static gpusolve_status own_call(gpusolve_handle *handle, const bench_call *call, int dtype) {
    const peer_triangle t = bench_triangle_of(call);
    const gpusolve_side side = call->variant[0] == 'L' ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT;
    const gpusolve_uplo uplo = call->variant[1] == 'L' ? GPUSOLVE_LOWER : GPUSOLVE_UPPER;
    const gpusolve_trans trans = call->variant[2] == 'N'   ? GPUSOLVE_NO_TRANS
                                 : call->variant[2] == 'T' ? GPUSOLVE_TRANS
                                                           : GPUSOLVE_CONJ_TRANS;
    const gpusolve_diag diag = call->variant[3] == 'U' ? GPUSOLVE_UNIT : GPUSOLVE_NON_UNIT;
    const float one_s[2] = {1, 0};
    const double one_d[2] = {1, 0};
    void *w = bench_memory.workspace;
    const size_t bytes = bench_memory.workspace_bytes;
    const int multiply = is(call, "trmm");
    if (is(call, "potrs"))
        switch (dtype) {
        case 0:
            return gpusolve_spotrs(handle, uplo, t.n ? call->n : 0, call->nrhs, bench_memory.a, call->n,
                                   bench_memory.b, call->n, w, bytes);
        case 1:
            return gpusolve_dpotrs(handle, uplo, call->n, call->nrhs, bench_memory.a, call->n, bench_memory.b,
                                   call->n, w, bytes);
        case 2:
            return gpusolve_cpotrs(handle, uplo, call->n, call->nrhs, bench_memory.a, call->n, bench_memory.b,
                                   call->n, w, bytes);
        default:
            return gpusolve_zpotrs(handle, uplo, call->n, call->nrhs, bench_memory.a, call->n, bench_memory.b,
                                   call->n, w, bytes);
        }
    if (is(call, "potri"))
        switch (dtype) {
        case 0:
            return gpusolve_spotri(handle, uplo, call->n, bench_memory.b, call->n, w, bytes);
        case 1:
            return gpusolve_dpotri(handle, uplo, call->n, bench_memory.b, call->n, w, bytes);
        case 2:
            return gpusolve_cpotri(handle, uplo, call->n, bench_memory.b, call->n, w, bytes);
        default:
            return gpusolve_zpotri(handle, uplo, call->n, bench_memory.b, call->n, w, bytes);
        }
    switch (dtype) {
    case 0:
        return (multiply ? gpusolve_strmm : gpusolve_strsm)(handle, side, uplo, trans, diag, t.m, t.n, 1,
                                                            bench_memory.a, call->n, bench_memory.b, t.m, w,
                                                            bytes);
    case 1:
        return (multiply ? gpusolve_dtrmm : gpusolve_dtrsm)(handle, side, uplo, trans, diag, t.m, t.n, 1,
                                                            bench_memory.a, call->n, bench_memory.b, t.m, w,
                                                            bytes);
    case 2:
        return (multiply ? gpusolve_ctrmm : gpusolve_ctrsm)(handle, side, uplo, trans, diag, t.m, t.n, one_s,
                                                            bench_memory.a, call->n, bench_memory.b, t.m, w,
                                                            bytes);
    default:
        return (multiply ? gpusolve_ztrmm : gpusolve_ztrsm)(handle, side, uplo, trans, diag, t.m, t.n, one_d,
                                                            bench_memory.a, call->n, bench_memory.b, t.m, w,
                                                            bytes);
    }
}

static int workspace_for(gpusolve_handle *handle, const bench_call *call, int dtype) {
    const peer_triangle t = bench_triangle_of(call);
    const gpusolve_side side = call->variant[0] == 'L' ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT;
    size_t bytes = 0;
    if (is(call, "potri"))
        TRY(gpusolve_potri_workspace(handle, (gpusolve_dtype)dtype, call->n, &bytes));
    else if (is(call, "potrs"))
        TRY(gpusolve_potrs_workspace(handle, (gpusolve_dtype)dtype, call->n, call->nrhs, &bytes));
    else
        TRY((is(call, "trmm") ? gpusolve_trmm_workspace : gpusolve_trsm_workspace)(
            handle, (gpusolve_dtype)dtype, side, t.m, t.n, &bytes));
    if (bytes > bench_memory.workspace_bytes) {
        cudaFree(bench_memory.workspace);
        bench_memory.workspace_bytes = 0;
        TRY(cudaMalloc(&bench_memory.workspace, bytes));
        bench_memory.workspace_bytes = bytes;
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- checks --- */

/* Largest part of count numbers of got - want and of want, NaN if there is one. */
static void compare_parts(int dtype, const void *got, const void *want, size_t count, double *difference,
                          double *size) {
    const size_t parts = count * (dtype >= 2 ? 2 : 1);
    for (size_t k = 0; k < parts; k++) {
        const int single = dtype % 2 == 0;
        const double g = single ? ((const float *)got)[k] : ((const double *)got)[k];
        const double w = single ? ((const float *)want)[k] : ((const double *)want)[k];
        if (fabs(g - w) > *difference || isnan(fabs(g - w)))
            *difference = fabs(g - w);
        if (fabs(w) > *size || isnan(fabs(w)))
            *size = fabs(w);
    }
}

/* The ratio of the numbers at got [device] to those at want [device], on the first columns of ld numbers. */
static int ratio_of(int dtype, const void *got, const void *want, size_t ld, size_t columns, double *ratio) {
    const size_t count = ld * (columns < CHECKED_COLUMNS ? columns : CHECKED_COLUMNS),
                 bytes = bench_number_bytes(dtype);
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
 * The ratio of what the own call left in bench_memory.b. norm(A) is about one, and so are the vectors:
 *      trsm   op(A) b against before; trmm  b against cuBLAS's product;
 *      potrs  L (L' b) against before; potri  the same with b's inverse taken from the peer (see bench_run)
 */
static int check(bench_machine *machine, const bench_call *call, int dtype, double *ratio) {
    peer_triangle t = bench_triangle_of(call);
    const size_t columns = (size_t)(is(call, "potri") ? call->n : t.n);
    const size_t ld = (size_t)(is(call, "potri") || is(call, "potrs") ? call->n : t.m);
    if (is(call, "trsm")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, bench_memory.b, t.m, bench_memory.other, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, bench_memory.other, bench_memory.before, ld, columns, ratio);
    }
    if (is(call, "trmm")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, bench_memory.before, t.m, bench_memory.other, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, bench_memory.b, bench_memory.other, ld, columns, ratio);
    }
    t = (peer_triangle){CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C,    CUBLAS_DIAG_NON_UNIT,
                        (int)call->n,     (int)call->nrhs,        bench_memory.a, (int)call->n};
    if (is(call, "potrs")) {
        TRY(peer_trmm(machine->cublas, dtype, &t, bench_memory.b, t.m, bench_memory.other, t.m));
        t.trans = CUBLAS_OP_N;
        TRY(peer_trmm(machine->cublas, dtype, &t, bench_memory.other, t.m, bench_memory.b, t.m));
        TRY(cudaStreamSynchronize(machine->stream));
        return ratio_of(dtype, bench_memory.b, bench_memory.before, ld, columns, ratio);
    }
    return ratio_of(dtype, bench_memory.b, bench_memory.other, ld, columns, ratio);
}

/* ------------------------------------------------------------------------------------------------ run --- */

static int restore(bench_machine *machine, const bench_call *call, int dtype) {
    const size_t n = (size_t)call->n, columns = is(call, "potri") ? n : (size_t)call->nrhs;
    TRY(cudaMemcpyAsync(bench_memory.b, is(call, "potri") ? bench_memory.a : bench_memory.before,
                        n * columns * bench_number_bytes(dtype), cudaMemcpyDeviceToDevice, machine->stream));
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
    qsort(samples + 1, 5, sizeof *samples, bench_compare_numbers);
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
    const peer_triangle t = bench_triangle_of(call);
    int numbers = 0;
    if (is(call, "trsm"))
        return peer_trsm(machine->cublas, dtype, &t, bench_memory.b, t.m);
    if (is(call, "trmm"))
        return peer_trmm(machine->cublas, dtype, &t, bench_memory.b, t.m, bench_memory.other, t.m);
    if (!info)
        TRY(cudaMalloc((void **)&info, sizeof *info));
    if (is(call, "potrs"))
        return peer_potrs(machine->cusolver, dtype, (int)call->n, (int)call->nrhs, bench_memory.a,
                          bench_memory.b, info);
    TRY(peer_potri_bytes(machine->cusolver, dtype, (int)call->n, bench_memory.b, &numbers));
    const size_t bytes = (size_t)numbers * bench_number_bytes(dtype);
    if (bytes > work_bytes) {
        cudaFree(work);
        work_bytes = 0;
        TRY(cudaMalloc(&work, bytes));
        work_bytes = bytes;
    }
    return peer_potri(machine->cusolver, dtype, (int)call->n, bench_memory.b, work, numbers, info);
}

static int own_on_stream(bench_machine *machine, const bench_call *call, int dtype) {
    return (int)own_call(machine->handle, call, dtype);
}

int bench_run(bench_machine *machine, const bench_call *call, int with_peer, bench_result *result) {
    const int dtype = bench_dtype_index(call->dtype), solver = is(call, "potrs") || is(call, "potri");
    cudaGraph_t graph;
    double least, spread;
    *result = (bench_result){.peer = solver ? "cuSOLVER" : "cuBLAS"};
    TRY(bench_fill(call, dtype));
    TRY(workspace_for(machine->handle, call, dtype));
    if (is(call, "potri")) { /* the peer's inverse, to bench_compare_numbers with */
        TRY(restore(machine, call, dtype));
        TRY(peer_call(machine, call, dtype));
        TRY(cudaMemcpyAsync(bench_memory.other, bench_memory.b,
                            (size_t)(call->n * call->n) * bench_number_bytes(dtype), cudaMemcpyDeviceToDevice,
                            machine->stream));
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
    TRY(bench_capture(machine));
    TRY(own_call(machine->handle, call, dtype));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(bench_replay(graph, machine->stream, &result->own_us, &result->own_min_us, &result->own_spread));
    TRY(cudaGraphDestroy(graph));
    if (!with_peer)
        return 0;
    TRY(restore(machine, call, dtype));
    if (solver)
        return time_stream(machine, peer_call, call, dtype, &result->peer_us, &least);
    TRY(bench_capture(machine));
    TRY(peer_call(machine, call, dtype));
    TRY(cudaStreamEndCapture(machine->stream, &graph));
    TRY(bench_replay(graph, machine->stream, &result->peer_us, &least, &spread));
    TRY(cudaGraphDestroy(graph));
    return 0;
}

double bench_wall(const bench_call *call, const bench_machine *machine) {
    const int dtype = bench_dtype_index(call->dtype);
    const double n = (double)call->n, r = (double)call->nrhs, number = (double)bench_number_bytes(dtype);
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
