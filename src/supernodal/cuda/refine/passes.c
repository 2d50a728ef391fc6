/*
 * The passes of a Krylov method on the device, in the order of the stream (api/krylov.h). Its scalars are in device memory: no pass waits, but
 * `ask`.
 */
#include "refinement.h"

typedef gsv_refinement refinement;

static char *vector(const refinement *r, int number) {
    const int64_t bytes = r->job.n * r->job.stride * (int64_t)gsv_dtype_bytes(r->workspace->dtype);
    return number == GSV_VECTOR_R   ? r->v->r
           : number == GSV_VECTOR_D ? r->v->d
                                    : r->basis + (number - GSV_VECTOR_BASIS) * bytes;
}

static gpusolve_status pass_solve(void *context, int from, int to) {
    const refinement *r = context;
    const gpusolve_dense b = gsv_refine_by_rows(r->workspace, vector(r, from), r->user_b->cols);
    return gsv_refine_solve(r, &b, vector(r, to));
}

/* A residual without a decision, of the columns that are on. */
static gpusolve_status bare_residual(const refinement *r, gsv_residual *job) {
    job->first = 0;
    job->d = NULL;
    job->v.columns = r->krylov.k.inner;
    job->v.report_on_device = NULL;
    return gsv_cuda_check(gsv_refine_some_residual(r, job), "multiplying by the matrix", &r->handle->message);
}

/* The b of this residual is one zero. */
static gpusolve_status pass_product(void *context, int of, int to) {
    const refinement *r = context;
    gsv_residual job = r->job;
    job.b = (gsv_device_dense){(void *)r->zero, 0, 0, r->job.columns};
    job.b_packed = 0;
    job.rule.twice = job.rule.componentwise = 0;
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
                                  .stage = (int)stage,
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
                                  .stage = (int)stage,
                                  .step = step};
    return launch(r, &pass);
}

static gpusolve_status pass_stage(void *context, gsv_krylov_stage stage, int step) {
    const refinement *r = context;
    return gsv_cuda_check(gsv_krylov_launch_stage(&r->krylov, (int)stage, step, r->stream), "refining",
                          &r->handle->message);
}

static gpusolve_status pass_judge(void *context, int correction) {
    return gsv_refine_judge_columns(context, correction);
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

static gpusolve_status pass_may_end(void *context, int on) {
    gsv_refinement *r = context;
    return gsv_refine_add_body(r, on ? GSV_REFINE_STEPS : GSV_REFINE_CORRECTIONS,
                               on ? r->krylov.k.inner : r->v->columns);
}
static gpusolve_status pass_ended(void *context, int on) {
    return gsv_refine_end_chain(context, on ? GSV_REFINE_STEPS : GSV_REFINE_CORRECTIONS);
}

const gsv_krylov_passes gsv_cuda_krylov_passes = {.may_end = pass_may_end,
                                                  .ended = pass_ended,
                                                  .solve = pass_solve,
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

/* Memory for a Krylov method, in this order: a zero, the count of sums that are complete, counts of blocks; partial sums; scalars; vectors. */
enum { ZERO = 16, COUNTS = 32 };
typedef struct regions {
    int64_t counts, partial, scalars, vectors; /* bytes */
} regions;

static regions regions_of(const gpusolve_workspace *workspace, const gsv_krylov_method *method) {
    const gpusolve_dtype dtype = workspace->dtype;
    const int64_t n = workspace->n, most = workspace->max_nrhs, dots = method->length + 1,
                  tiles = gsv_krylov_tiles(most);
    return (regions){
        whole_lines(COUNTS + dots * tiles * (int64_t)sizeof(int)),
        whole_lines(dots * tiles * gsv_krylov_blocks(n) * GSV_KRYLOV_TILE * (int64_t)sizeof(gsv_pair)),
        whole_lines(most * gsv_krylov_scalar_bytes(method->length)),
        gsv_krylov_vectors(method->conjugate, method->length) * n * gsv_refine_stride(dtype, most) *
            (int64_t)gsv_dtype_bytes(dtype)};
}

int64_t gsv_refine_krylov_bytes(const gpusolve_workspace *workspace, const gsv_krylov_method *method) {
    const regions have = regions_of(workspace, method);
    return have.counts + have.partial + have.scalars + have.vectors;
}

/* The counts are made zero, for another method may have had its sums there. */
gpusolve_status gsv_refine_place_krylov(refinement *r) {
    const regions have = regions_of(r->workspace, &r->method);
    char *base = r->v->krylov;
    r->zero = base;
    r->basis = base + have.counts + have.partial + have.scalars;
    r->krylov = (gsv_krylov_device){.k = {.columns = r->job.columns,
                                          .length = r->method.length,
                                          .max_steps = r->options->max_steps,
                                          .tolerance = r->options->tolerance,
                                          .rounding = gsv_rounding_of(r->workspace->dtype),
                                          .twice = r->options->twice,
                                          .outer = r->v->columns},
                                    .n = r->job.n,
                                    .stride = r->job.stride,
                                    .partial = (gsv_pair *)(base + have.counts),
                                    .arrived = (int *)(base + COUNTS),
                                    .done = (int *)(base + ZERO),
                                    .report = r->v->report_on_device};
    gsv_krylov_place(&r->krylov.k, base + have.counts + have.partial);
    return gsv_cuda_check(cudaMemsetAsync(base, 0, (size_t)have.counts, r->stream),
                          "preparing vectors for refinement", &r->handle->message);
}
