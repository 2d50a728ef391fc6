/*
 * The refinement of a block of columns on the device:
 *
 *      x = A \ b;   until no column is active: r = b - A x,  d = A \ r,  x = x + d
 *
 * A step is a solve, a launch that adds d, and one that computes the next residual and decides what becomes of each column; the host
 * waits for it, for it must know whether any column goes on. A Krylov method's d is made by passes (krylov.cu) whose order api/krylov.c
 * has. Of one column the residual adds d itself, where rows of A are short: else
 * each sum would be made once for every entry of its row.
 */
#include "refinement.h"

#include "../../../memory.h"

typedef gsv_refinement refinement;

/* The vectors that every method has. */
static gpusolve_status make_vectors(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    gsv_message *message = &handle->message;
    gsv_refine_vectors *v = gsv_calloc(1, sizeof *v);
    if (!v)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    workspace->refine = v;
    const int64_t columns = workspace->max_nrhs, vectors = 5,
                  stride = gsv_refine_stride(workspace->dtype, columns);
    const int64_t vector =
        (workspace->n * stride * (int64_t)gsv_dtype_bytes(workspace->dtype) + 255) / 256 * 256;
    const int64_t rest =
        columns * (int64_t)(sizeof *v->columns + 3 * sizeof *v->norms) + (int64_t)sizeof *v->done;
    void *report = NULL;
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = gsv_cuda_malloc(&v->memory, vectors * vector + rest, message);
    if (!status)
        status = gsv_cuda_pin(&report, sizeof *v->report + (size_t)columns * sizeof *v->columns,
                              cudaHostAllocMapped, message);
    v->report = report;
    for (int k = 0; !status && k < GSV_REFINE_CHAINS; k++)
        status = gsv_cuda_stream(&v->bodies[k], message);
    if (!status) {
        char *base = v->memory;
        v->b = base;
        v->x[0] = base + vector;
        v->x[1] = base + 2 * vector;
        v->r = base + 3 * vector;
        v->d = base + 4 * vector;
        v->norms = (unsigned long long *)(base + vectors * vector);
        v->columns = (gsv_refine_column *)(v->norms + 3 * columns);
        v->done = (int *)(v->columns + columns);
        cudaError_t error = cudaHostGetDevicePointer((void **)&v->report_on_device, report, 0);
        if (error == cudaSuccess)
            error = gsv_cuda_clear(v->norms, (size_t)rest);
        status = gsv_cuda_check(error, "preparing vectors for refinement", message);
    }
    gsv_cuda_leave(previous);
    if (status)
        gsv_cuda_refine_release(workspace);
    return status;
}

void gsv_cuda_refine_release(gpusolve_workspace *workspace) {
    gsv_refine_vectors *v = workspace->refine;
    if (!v)
        return;
    gsv_cuda_free(v->memory);
    gsv_cuda_free(v->partial);
    gsv_cuda_free(v->arrived);
    gsv_cuda_free(v->krylov);
    gsv_cuda_unpin(v->report);
    for (int k = 0; k < GSV_REFINE_CHAINS; k++)
        gsv_cuda_stream_free(v->bodies[k]);
    gsv_free(v);
    workspace->refine = NULL;
}

/* At least `bytes` bytes of zeros. */
static gpusolve_status make_room(void **memory, int64_t *have, int64_t bytes, gsv_message *message) {
    if (*have >= bytes)
        return GPUSOLVE_OK;
    gsv_cuda_free(*memory);
    *have = 0;
    const gpusolve_status status = gsv_cuda_malloc(memory, bytes, message);
    if (status)
        return status;
    *have = bytes;
    return gsv_cuda_check(gsv_cuda_clear(*memory, (size_t)bytes), "preparing vectors for refinement",
                          message);
}

/* Bytes of the sums of A's pieces, and of the counts of those that are there. */
static int64_t partial_bytes(const gpusolve_matrix *matrix, int64_t max_nrhs) {
    const gsv_device_matrix *a = matrix->state;
    return a->piece_count * gsv_refine_stride(matrix->dtype, max_nrhs) *
           (int64_t)gsv_dtype_bytes(matrix->dtype);
}
static int64_t arrived_bytes(const gpusolve_matrix *matrix, int64_t max_nrhs) {
    const gsv_device_matrix *a = matrix->state;
    return a->piece_count * gsv_residual_tiles(max_nrhs) * (int64_t)sizeof(int);
}

gpusolve_status gsv_cuda_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                        const gpusolve_refine_options *options) {
    gsv_message *message = &handle->message;
    const gsv_krylov_method method = gsv_krylov_method_of(options, factor);
    const int previous = gsv_cuda_enter(handle->device);
    gpusolve_status status = workspace->refine ? GPUSOLVE_OK : make_vectors(handle, workspace);
    gsv_refine_vectors *v = workspace->refine;
    if (!status && matrix)
        status =
            make_room(&v->partial, &v->partial_bytes, partial_bytes(matrix, workspace->max_nrhs), message);
    if (!status && matrix)
        status = make_room((void **)&v->arrived, &v->arrived_bytes,
                           arrived_bytes(matrix, workspace->max_nrhs), message);
    if (!status && method.any)
        status =
            make_room(&v->krylov, &v->krylov_bytes, gsv_refine_krylov_bytes(workspace, &method), message);
    gsv_cuda_leave(previous);
    return status;
}

/* Has gsv_cuda_refine_reserve been here? */
static int is_reserved(const refinement *r) {
    const gsv_refine_vectors *v = r->v;
    return v && v->partial_bytes >= partial_bytes(r->matrix, r->workspace->max_nrhs) &&
           v->arrived_bytes >= arrived_bytes(r->matrix, r->workspace->max_nrhs) &&
           (!r->method.any || v->krylov_bytes >= gsv_refine_krylov_bytes(r->workspace, &r->method));
}

gpusolve_dense gsv_refine_by_rows(const gpusolve_workspace *workspace, void *values, int64_t cols) {
    const int64_t stride = gsv_refine_stride(workspace->dtype, cols);
    return (gpusolve_dense){workspace->dtype, GPUSOLVE_ROW_MAJOR, workspace->n, cols, stride, values};
}

/* A caller's block, by rows in one of the vectors. d is free for what comes from the host. */
static cudaError_t load(const refinement *r, const gpusolve_dense *from, void *to) {
    const gpusolve_dense target = gsv_refine_by_rows(r->workspace, to, from->cols);
    gsv_device_dense source = gsv_cuda_dense(from);
    if (!gsv_cuda_is_device(from->values)) {
        const cudaError_t error = gsv_cuda_copy_block(r->handle, from, r->v->d, cudaMemcpyHostToDevice);
        if (error != cudaSuccess)
            return error;
        source = gsv_cuda_packed(from, r->v->d);
    }
    return gsv_refine_copy(r->workspace->dtype, r->workspace->n, source, gsv_cuda_dense(&target), r->stream);
}

/* Where the residual reads b: in the caller's block, if a row's numbers lie side by side there, or if there are so few columns that a copy
 * would take longer than reading them apart. */
static cudaError_t place_b(refinement *r) {
    const gsv_device_dense b = gsv_cuda_dense(r->user_b);
    enum { FEW = 8 };
    if (gsv_cuda_is_device(r->user_b->values) && (b.columns <= FEW || b.column_stride < b.row_stride)) {
        const int64_t pack = 16 / (int64_t)gsv_dtype_bytes(r->workspace->dtype);
        r->job.b = b;
        r->job.b_packed = b.column_stride == 1 && b.columns % pack == 0 && b.row_stride % pack == 0 &&
                          (uintptr_t)b.values % 16 == 0;
        return cudaSuccess;
    }
    const gpusolve_dense own = gsv_refine_by_rows(r->workspace, r->v->b, b.columns);
    r->job.b = gsv_cuda_dense(&own);
    r->job.b_packed = 1;
    return load(r, r->user_b, r->v->b);
}

gpusolve_status gsv_refine_solve(const refinement *r, const gpusolve_dense *from, void *to) {
    const gpusolve_dense x = gsv_refine_by_rows(r->workspace, to, from->cols);
    return gsv_cuda_solve(r->handle, r->factor, r->workspace,
                          GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT, from,
                          &x);
}

/* x = A \ b, or the caller's guess. */
static gpusolve_status start(refinement *r) {
    cudaError_t error = place_b(r);
    if (error == cudaSuccess && !r->options->solve_first)
        error = load(r, r->user_x, r->v->x[0]);
    const gpusolve_status status =
        gsv_cuda_check(error, "copying a vector for refinement", &r->handle->message);
    if (status || !r->options->solve_first)
        return status;
    const gpusolve_dense own = gsv_refine_by_rows(r->workspace, r->v->b, r->user_b->cols);
    return gsv_refine_solve(r, r->job.b.values == r->v->b ? &own : r->user_b, r->v->x[0]);
}

cudaError_t gsv_refine_some_residual(const refinement *r, const gsv_residual *job) {
    const gpusolve_dtype dtype = r->workspace->dtype;
    return gsv_refine_with_care(job) ? gsv_refine_careful_residual(dtype, job, r->multiprocessors, r->stream)
                                     : gsv_refine_residual(dtype, job, r->multiprocessors, r->stream);
}

gpusolve_status gsv_refine_judge_columns(refinement *r, int corrections) {
    const int to = corrections % 2;
    cudaError_t error = cudaSuccess;
    r->job.first = corrections == 0;
    r->job.x = r->v->x[corrections == 0 ? to : 1 - to];
    r->job.sum = r->v->x[to];
    r->job.d = corrections == 0 ? NULL : r->v->d;
    r->job.change = r->job.d;
    if (r->job.d && (r->job.columns > 1 || r->job.a.shares_rows || gsv_refine_with_care(&r->job))) {
        error = gsv_refine_add(r->workspace->dtype, &r->job, r->stream);
        r->job.x = r->job.sum;
        r->job.d = NULL;
    }
    if (error == cudaSuccess)
        error = gsv_refine_some_residual(r, &r->job);
    return gsv_cuda_check(error, "computing the residual", &r->handle->message);
}

/* How many columns are active, when the device has found out. */
static gpusolve_status ask(const refinement *r, int *active) {
    const gpusolve_status status =
        gsv_cuda_check(cudaStreamSynchronize(r->stream), "waiting for the residual", &r->handle->message);
    *active = status ? 0 : *(volatile int *)&r->v->report->active;
    return status;
}

/* Corrections are d = F \ r. The host asks whether one is wanted, but before the first one with a tolerance of zero: nearly every column
 * takes that. */
static gpusolve_status run_plain(refinement *r) {
    const gpusolve_dense from = gsv_refine_by_rows(r->workspace, r->v->r, r->user_b->cols);
    int active = 1;
    gpusolve_status status = GPUSOLVE_OK;
    for (int i = 0; !status && i < r->options->max_steps; i++) {
        const int may_end = i > 0 || r->options->tolerance > 0;
        if (may_end && !r->to)
            status = ask(r, &active);
        if (status || !active)
            break;
        if (may_end)
            status = gsv_refine_add_body(r, GSV_REFINE_CORRECTIONS, r->v->columns);
        if (!status)
            status = gsv_refine_solve(r, &from, r->v->d);
        if (!status)
            status = gsv_refine_judge_columns(r, i + 1);
    }
    return status;
}

/* The x that are kept, to the caller. r is free for what goes to the host. */
static gpusolve_status store(const refinement *r) {
    const gpusolve_dense *to = r->user_x;
    const int on_device = gsv_cuda_is_device(to->values);
    cudaError_t error =
        gsv_refine_keep(r->workspace->dtype, r->workspace->n, r->v,
                        on_device ? gsv_cuda_dense(to) : gsv_cuda_packed(to, r->v->r), r->stream);
    if (error == cudaSuccess && !on_device)
        error = gsv_cuda_copy_block(r->handle, to, r->v->r, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = r->to ? gsv_refine_tell(r->v->columns, r->job.columns, r->to, r->stream)
                      : cudaStreamSynchronize(r->stream);
    return gsv_cuda_check(error, "copying the refined solution", &r->handle->message);
}

static gpusolve_status refine_block(refinement *r) {
    gpusolve_status status = gsv_cuda_check(
        cudaDeviceGetAttribute(&r->multiprocessors, cudaDevAttrMultiProcessorCount, r->handle->device),
        "cudaDeviceGetAttribute", &r->handle->message);
    if (!status && !is_reserved(r))
        status = gsv_fail(&r->handle->message, GPUSOLVE_INVALID_ARGUMENT,
                          "workspace: has no room for this refinement; gpusolve_refine_reserve makes some");
    if (!status && r->method.any)
        status = gsv_refine_place_krylov(r);
    if (status)
        return status;
    r->job.v = *r->v;
    gsv_refine_use_conditions(r);
    status = start(r);
    if (!status)
        status = gsv_refine_judge_columns(r, 0);
    if (!status && !r->method.any)
        status = run_plain(r);
    else if (!status)
        status = r->to ? gsv_krylov_run_unasked(&gsv_cuda_krylov_passes, r, &r->method, r->options)
                       : gsv_krylov_run(&gsv_cuda_krylov_passes, r, &r->method, r->options);
    const gpusolve_status ended = gsv_refine_end_chain(r, GSV_REFINE_CORRECTIONS);
    status = status ? status : ended;
    return status ? status : store(r);
}

gpusolve_status gsv_cuda_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns,
                                const gsv_refine_results *to) {
    gsv_refine_vectors *v = workspace->refine;
    refinement r = {.handle = handle,
                    .factor = factor,
                    .matrix = matrix,
                    .workspace = workspace,
                    .options = options,
                    .user_b = b,
                    .user_x = x,
                    .v = v,
                    .to = to,
                    .method = gsv_krylov_method_of(options, factor),
                    .stream = (cudaStream_t)handle->stream};
    r.job = (gsv_residual){.a = *(const gsv_device_matrix *)matrix->state,
                           .rule = gsv_refine_rule_of(options, factor, matrix),
                           .n = workspace->n,
                           .columns = (int32_t)b->cols,
                           .stride = gsv_refine_stride(workspace->dtype, b->cols)};
    r.job.row_bytes = (uint32_t)(r.job.stride * (int64_t)gsv_dtype_bytes(workspace->dtype));
    const int previous = gsv_cuda_enter(handle->device);
    /* without rows every column has the error 0, as in memory that was never written */
    const gpusolve_status status = workspace->n > 0
                                       ? refine_block(&r)
                                       : gsv_cuda_check(gsv_refine_tell(NULL, r.job.columns, to, r.stream),
                                                        "refining", &handle->message);
    gsv_cuda_leave(previous);
    for (int64_t j = 0; !status && !to && j < b->cols; j++)
        columns[j] = v->report->columns[j];
    return status;
}
