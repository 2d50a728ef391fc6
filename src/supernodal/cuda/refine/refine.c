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
#include "refine.h"

#include "../../api/krylov.h"
#include "../../../memory.h"
#include "krylov.h"

gpusolve_status gsv_cuda_refine_reserve(gpusolve_handle *handle, gpusolve_workspace *workspace) {
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

/* For the sums of A's pieces. */
static gpusolve_status make_piece_room(gsv_refine_vectors *v, const gpusolve_matrix *matrix, int64_t max_nrhs,
                                       gsv_message *message) {
    const gsv_device_matrix *a = matrix->state;
    const gpusolve_status status = make_room(&v->partial, &v->partial_bytes,
                                             a->piece_count * gsv_refine_stride(matrix->dtype, max_nrhs) *
                                                 (int64_t)gsv_dtype_bytes(matrix->dtype),
                                             message);
    return status ? status
                  : make_room((void **)&v->arrived, &v->arrived_bytes,
                              a->piece_count * gsv_residual_tiles(max_nrhs) * (int64_t)sizeof *v->arrived,
                              message);
}

/* A vector of `cols` columns, by rows. */
static gpusolve_dense by_rows(const gpusolve_workspace *workspace, void *values, int64_t cols) {
    const int64_t stride = gsv_refine_stride(workspace->dtype, cols);
    return (gpusolve_dense){workspace->dtype, GPUSOLVE_ROW_MAJOR, workspace->n, cols, stride, values};
}

typedef struct refinement {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    const gpusolve_refine_options *options;
    const gpusolve_dense *user_b, *user_x;
    gsv_refine_vectors *v;
    gsv_residual job;
    gsv_krylov_method method;
    gsv_krylov_device krylov;
    char *basis; /* a Krylov method's vectors */
    const void *zero;
    int multiprocessors;
    cudaStream_t stream;
} refinement;

/* A caller's block, by rows in one of the vectors. d is free for what comes from the host. */
static cudaError_t load(const refinement *r, const gpusolve_dense *from, void *to) {
    const gpusolve_dense target = by_rows(r->workspace, to, from->cols);
    gsv_device_dense source = gsv_cuda_dense(from);
    if (!gsv_cuda_is_device(from->values)) {
        const cudaError_t error = gsv_cuda_copy_block(r->handle, from, r->v->d, cudaMemcpyHostToDevice);
        if (error != cudaSuccess)
            return error;
        source = gsv_cuda_packed(from, r->v->d);
    }
    return gsv_refine_copy(r->workspace->dtype, r->workspace->n, source, gsv_cuda_dense(&target), r->stream);
}

/* Where the residual reads b: in the caller's block, if a row's numbers lie side by side there, or a column is all there is. */
static cudaError_t place_b(refinement *r) {
    const gsv_device_dense b = gsv_cuda_dense(r->user_b);
    if (gsv_cuda_is_device(r->user_b->values) && (b.columns == 1 || b.column_stride < b.row_stride)) {
        const int64_t pack = 16 / (int64_t)gsv_dtype_bytes(r->workspace->dtype);
        r->job.b = b;
        r->job.b_packed = b.column_stride == 1 && b.columns % pack == 0 && b.row_stride % pack == 0 &&
                          (uintptr_t)b.values % 16 == 0;
        return cudaSuccess;
    }
    const gpusolve_dense own = by_rows(r->workspace, r->v->b, b.columns);
    r->job.b = gsv_cuda_dense(&own);
    r->job.b_packed = 1;
    return load(r, r->user_b, r->v->b);
}

static gpusolve_status solve(const refinement *r, const gpusolve_dense *from, void *to) {
    const gpusolve_dense x = by_rows(r->workspace, to, from->cols);
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
    const gpusolve_dense own = by_rows(r->workspace, r->v->b, r->user_b->cols);
    return solve(r, r->job.b.values == r->v->b ? &own : r->user_b, r->v->x[0]);
}

/* The residual after `corrections` corrections, of which d is the last one, not yet added. All columns that are still active have kept
 * every correction, so their x are in the same vector. */
static gpusolve_status residual(refinement *r, int corrections) {
    const int to = corrections % 2;
    cudaError_t error = cudaSuccess;
    r->job.first = corrections == 0;
    r->job.x = r->v->x[corrections == 0 ? to : 1 - to];
    r->job.sum = r->v->x[to];
    r->job.d = corrections == 0 ? NULL : r->v->d;
    if (r->job.d && (r->job.columns > 1 || r->job.a.shares_rows)) {
        error = gsv_refine_add(r->workspace->dtype, &r->job, r->stream);
        r->job.x = r->job.sum;
        r->job.d = NULL;
    }
    if (error == cudaSuccess)
        error = gsv_refine_residual(r->workspace->dtype, &r->job, r->multiprocessors, r->stream);
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
    const gpusolve_dense from = by_rows(r->workspace, r->v->r, r->user_b->cols);
    int active = 1;
    gpusolve_status status = GPUSOLVE_OK;
    for (int i = 0; !status && i < r->options->max_steps; i++) {
        if (i > 0 || r->options->tolerance > 0)
            status = ask(r, &active);
        if (status || !active)
            break;
        status = solve(r, &from, r->v->d);
        if (!status)
            status = residual(r, i + 1);
    }
    return status;
}

/* ----------------------------------------------------------------------- passes of a Krylov method --- */

static char *vector(const refinement *r, int number) {
    const int64_t bytes = r->job.n * r->job.stride * (int64_t)gsv_dtype_bytes(r->workspace->dtype);
    return number == GSV_VECTOR_R   ? r->v->r
           : number == GSV_VECTOR_D ? r->v->d
                                    : r->basis + (number - GSV_VECTOR_BASIS) * bytes;
}

static gpusolve_status pass_solve(void *context, int from, int to) {
    const refinement *r = context;
    const gpusolve_dense b = by_rows(r->workspace, vector(r, from), r->user_b->cols);
    return solve(r, &b, vector(r, to));
}

/* A residual without a decision, of the columns that are on. */
static gpusolve_status bare_residual(const refinement *r, gsv_residual *job) {
    job->first = 0;
    job->d = NULL;
    job->v.columns = r->krylov.k.inner;
    job->v.report_on_device = NULL;
    return gsv_cuda_check(gsv_refine_residual(r->workspace->dtype, job, r->multiprocessors, r->stream),
                          "multiplying by the matrix", &r->handle->message);
}

/* The b of this residual is one zero. */
static gpusolve_status pass_product(void *context, int of, int to) {
    const refinement *r = context;
    gsv_residual job = r->job;
    job.b = (gsv_device_dense){(void *)r->zero, 0, 0, r->job.columns};
    job.b_packed = 0;
    job.x = vector(r, of);
    job.v.r = vector(r, to);
    return bare_residual(r, &job);
}

static gpusolve_status launch(const refinement *r, const gsv_krylov_pass *pass) {
    return gsv_cuda_check(gsv_krylov_launch_pass(r->workspace->dtype, &r->krylov, pass, r->stream),
                          "combining vectors for refinement", &r->handle->message);
}

static gpusolve_status pass_dots(void *context, int first, int count, int with, gsv_krylov_stage stage,
                                 int step) {
    const refinement *r = context;
    const gsv_krylov_pass pass = {.vectors = vector(r, first),
                                  .with = vector(r, with),
                                  .vector = r->job.n * r->job.stride,
                                  .count = count,
                                  .stage = stage,
                                  .step = step};
    return launch(r, &pass);
}

static gpusolve_status pass_sum(void *context, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step) {
    const refinement *r = context;
    const gsv_krylov_pass pass = {.vectors = vector(r, sum->first),
                                  .with = sum->with < 0 ? NULL : vector(r, sum->with),
                                  .vector = r->job.n * r->job.stride,
                                  .out = vector(r, sum->out),
                                  .scale = sum->scale,
                                  .count = sum->count,
                                  .finished = sum->finished,
                                  .norm = sum->norm,
                                  .stage = stage,
                                  .step = step};
    return launch(r, &pass);
}

static gpusolve_status pass_stage(void *context, gsv_krylov_stage stage, int step) {
    const refinement *r = context;
    return gsv_cuda_check(gsv_krylov_launch_stage(&r->krylov, stage, step, r->stream), "refining",
                          &r->handle->message);
}

static gpusolve_status pass_judge(void *context, int correction) {
    return residual(context, correction);
}

/* The x of columns that are behind is copied to where the others' is. */
static gpusolve_status pass_restore(void *context, int correction) {
    const refinement *r = context;
    const int to = correction % 2;
    const gsv_krylov_pass copy = {
        .vectors = r->v->x[1 - to], .with = r->v->x[1 - to], .out = r->v->x[to], .scale = 1};
    gsv_residual job = r->job;
    gpusolve_status status = pass_stage(context, GSV_KRYLOV_RESTORE, 0);
    if (!status)
        status = launch(r, &copy);
    job.x = r->v->x[to];
    return status ? status : bare_residual(r, &job);
}

static gpusolve_status pass_ask(void *context, gsv_krylov_counts *counts) {
    const refinement *r = context;
    const volatile gsv_refine_report *report = r->v->report;
    const gpusolve_status status =
        gsv_cuda_check(cudaStreamSynchronize(r->stream), "waiting for the residual", &r->handle->message);
    if (!status)
        *counts = (gsv_krylov_counts){report->on, report->active, report->krylov, report->behind};
    return status;
}

static const gsv_krylov_passes passes = {.solve = pass_solve,
                                         .product = pass_product,
                                         .dots = pass_dots,
                                         .sum = pass_sum,
                                         .stage = pass_stage,
                                         .judge = pass_judge,
                                         .restore = pass_restore,
                                         .ask = pass_ask};

static int64_t whole_lines(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Memory for a Krylov method, in this order: a zero, the count of sums that are complete, counts of blocks, partial sums, scalars, vectors. */
static gpusolve_status place_krylov(refinement *r) {
    enum { ZERO = 16, COUNTS = 32 };
    const gsv_krylov_method *method = &r->method;
    const gpusolve_dtype dtype = r->workspace->dtype;
    const int64_t n = r->workspace->n, most = r->workspace->max_nrhs, dots = method->length + 1;
    const int64_t arrived = whole_lines(COUNTS + dots * gsv_krylov_tiles(most) * (int64_t)sizeof(int));
    const int64_t partial = whole_lines(dots * gsv_krylov_tiles(most) * gsv_krylov_blocks(n) *
                                        GSV_KRYLOV_TILE * (int64_t)sizeof(gsv_pair));
    const int64_t scalars = whole_lines(most * gsv_krylov_scalar_bytes(method->length));
    const int64_t vectors = gsv_krylov_vectors(method->conjugate, method->length) * n *
                            gsv_refine_stride(dtype, most) * (int64_t)gsv_dtype_bytes(dtype);
    const gpusolve_status status = make_room(&r->v->krylov, &r->v->krylov_bytes,
                                             arrived + partial + scalars + vectors, &r->handle->message);
    if (status)
        return status;
    char *base = r->v->krylov;
    r->zero = base;
    r->basis = base + arrived + partial + scalars;
    r->krylov = (gsv_krylov_device){.k = {.columns = r->job.columns,
                                          .length = method->length,
                                          .max_steps = r->options->max_steps,
                                          .tolerance = r->options->tolerance,
                                          .rounding = gsv_rounding_of(dtype),
                                          .outer = r->v->columns},
                                    .n = r->job.n,
                                    .stride = r->job.stride,
                                    .partial = (gsv_pair *)(base + arrived),
                                    .arrived = (int *)(base + COUNTS),
                                    .done = (int *)(base + ZERO),
                                    .report = r->v->report_on_device};
    gsv_krylov_place(&r->krylov.k, base + arrived + partial);
    return gsv_cuda_check(cudaMemsetAsync(base, 0, (size_t)arrived, r->stream),
                          "preparing vectors for refinement", &r->handle->message);
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
        error = cudaStreamSynchronize(r->stream);
    return gsv_cuda_check(error, "copying the refined solution", &r->handle->message);
}

static gpusolve_status refine_block(refinement *r) {
    gpusolve_status status = gsv_cuda_check(
        cudaDeviceGetAttribute(&r->multiprocessors, cudaDevAttrMultiProcessorCount, r->handle->device),
        "cudaDeviceGetAttribute", &r->handle->message);
    if (!status)
        status = make_piece_room(r->v, r->matrix, r->workspace->max_nrhs, &r->handle->message);
    if (status)
        return status;
    if (r->method.any)
        status = place_krylov(r);
    r->job.v = *r->v;
    if (!status)
        status = start(r);
    if (!status)
        status = residual(r, 0);
    if (!status)
        status = r->method.any ? gsv_krylov_run(&passes, r, &r->method, r->options) : run_plain(r);
    return status ? status : store(r);
}

gpusolve_status gsv_cuda_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns) {
    gsv_refine_vectors *v = workspace->refine;
    refinement r = {.handle = handle,
                    .factor = factor,
                    .matrix = matrix,
                    .workspace = workspace,
                    .options = options,
                    .user_b = b,
                    .user_x = x,
                    .v = v,
                    .method = gsv_krylov_method_of(options, factor),
                    .stream = (cudaStream_t)handle->stream};
    r.job = (gsv_residual){.a = *(const gsv_device_matrix *)matrix->state,
                           .rule = gsv_refine_rule_of(options, factor, matrix),
                           .n = workspace->n,
                           .columns = (int32_t)b->cols,
                           .stride = gsv_refine_stride(workspace->dtype, b->cols)};
    r.job.row_bytes = (uint32_t)(r.job.stride * (int64_t)gsv_dtype_bytes(workspace->dtype));
    const int previous = gsv_cuda_enter(handle->device);
    const gpusolve_status status = refine_block(&r);
    gsv_cuda_leave(previous);
    for (int64_t j = 0; !status && j < b->cols; j++)
        columns[j] = v->report->columns[j];
    return status;
}
