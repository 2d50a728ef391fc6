/*
 * The CUDA backend of triangular.h: the recursion over cuBLAS's GEMM, with the kernels of cuda_leaf.h as
 * leaves.
 *
 * A solve starts with one launch that inverts all diagonal blocks of 64 and clears what the leaves exchange
 * (two buffers in turn: each leaf clears the next one's). Where the memory at hand does not hold that, each
 * leaf inverts its own blocks, and takes as many vectors at a time as fit. A product has leaves that copy
 * their part of B first.
 */
#include "triangular.h"

#include <string.h>

#include "../supernodal/cuda_support.h"
#include "cuda_context.h"
#include "cuda_leaf.h"
#include "cuda_tuning.h"

/* Where things lie in the memory at hand, and how much is done at a time. */
typedef struct leaf_plan {
    int group;             /* vectors side by side */
    int64_t stop;          /* rows of the largest leaf */
    int64_t panel;         /* vectors at a time */
    int64_t inverse_order; /* rows of T whose inverses are kept at once */
    int64_t tickets;
    int64_t inverse, substitute, ticket, exchange[2], end; /* bytes from the start */
} leaf_plan;

typedef struct leaf_run {
    gsv_cuda_context *cuda;
    const gsv_leaf_functions *functions;
    leaf_plan plan;
    char *memory;
    cudaStream_t stream;
    int64_t leaves; /* begun so far */
    gsv_message *message;
} leaf_run;

static const gsv_leaf_functions *functions_of(gpusolve_dtype dtype) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return &gsv_leaf_s;
    case GPUSOLVE_DOUBLE:
        return &gsv_leaf_d;
    case GPUSOLVE_COMPLEX_FLOAT:
        return &gsv_leaf_c;
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return &gsv_leaf_z;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* ---------------------------------------------------------------------------------------------- plan --- */

static int group_for(const gsv_leaf_functions *functions, int64_t vectors) {
    int group = functions->groups[0];
    for (int k = 0; k < 4 && functions->groups[k] && group < vectors; k++)
        group = functions->groups[k];
    return group;
}

/* Fill the places in, from what is to be done at a time. */
static void lay_out(const gsv_triangular *p, leaf_plan *plan) {
    const int64_t number = gsv_number_bytes(p->dtype), rows = round_up(plan->stop, GSV_LEAF_ROWS);
    const int64_t blocks = p->operation == GSV_SOLVE ? round_up(plan->inverse_order, GSV_LEAF_ROWS) / 64 : 0;
    const int64_t buffer = rows * round_up(plan->panel, plan->group) * number;
    const int two = p->operation == GSV_SOLVE && plan->inverse_order > plan->stop;
    plan->tickets = (plan->inverse_order + plan->stop - 1) / plan->stop;
    plan->inverse = 0;
    plan->substitute = round_up(blocks * 64 * 64 * number, 256);
    plan->ticket = round_up(plan->substitute + blocks * 4, 256);
    plan->exchange[0] = round_up(plan->ticket + plan->tickets * 4, 256);
    plan->exchange[1] = plan->exchange[0] + (two ? buffer : 0);
    plan->end = plan->exchange[1] + buffer;
}

/* The plan for unlimited memory. */
static leaf_plan whole_plan(const gsv_triangular *p, const gsv_leaf_functions *functions) {
    leaf_plan plan = {.group = group_for(functions, p->vectors), .panel = p->vectors};
    const int64_t stop = gsv_cuda_stop(p);
    plan.stop = smaller(p->order, stop);
    plan.inverse_order = p->order;
    lay_out(p, &plan);
    return plan;
}

/* The best plan for so much memory: at least GSV_CONTEXT_BYTES. */
static leaf_plan plan_for(const gsv_triangular *p, const gsv_leaf_functions *functions, size_t bytes) {
    leaf_plan plan = whole_plan(p, functions);
    if ((size_t)plan.end <= bytes)
        return plan;
    /* each leaf inverts its own blocks */
    plan.stop = smaller(plan.stop, GSV_SMALL_STOP);
    plan.inverse_order = plan.stop;
    lay_out(p, &plan);
    const int64_t one = plan.stop * gsv_number_bytes(p->dtype),
                  room = (int64_t)bytes - plan.exchange[0] - 65536;
    if ((size_t)plan.end > bytes)
        plan.panel = smaller(plan.panel, room / one / plan.group * plan.group);
    lay_out(p, &plan);
    return plan;
}

/* -------------------------------------------------------------------------------------------- leaves --- */

/* Rows start .. start + size - 1 of the problem, vectors from `vector` on. */
static gsv_leaf leaf_of(const leaf_run *run, const gsv_triangular *p, int64_t start, int64_t size,
                        int64_t vector, int64_t vectors, gsv_number alpha) {
    const int64_t number = gsv_number_bytes(p->dtype);
    const int transposed = (p->side == GPUSOLVE_RIGHT) != (p->trans != GPUSOLVE_NO_TRANS);
    const int64_t sign = gsv_is_forward(p) ? 1 : -1;
    const int64_t first = sign > 0 ? start : start + size - 1; /* where row 0 of the canonical form is */
    const int64_t b_row = p->side == GPUSOLVE_LEFT ? 1 : p->ldb,
                  b_column = p->side == GPUSOLVE_LEFT ? p->ldb : 1;
    return (gsv_leaf){
        .a = (const char *)p->a + gsv_place_in_a(p, first, first) * number,
        .a_row = sign * (transposed ? p->lda : 1),
        .a_column = sign * (transposed ? 1 : p->lda),
        .order = size,
        .conjugated = p->trans == GPUSOLVE_CONJ_TRANS,
        .unit = p->diag == GPUSOLVE_UNIT,
        .b = (char *)p->b + (first * b_row + vector * b_column) * number,
        .b_row = sign * b_row,
        .b_column = b_column,
        .vectors = vectors,
        .alpha = alpha,
        .group = run->plan.group,
        .inverse = run->memory + run->plan.inverse,
        .substitute = (int32_t *)(run->memory + run->plan.substitute),
        .exchange = run->memory + run->plan.exchange[0],
        .exchange_rows = round_up(run->plan.stop, GSV_LEAF_ROWS),
        .ticket = (uint32_t *)(run->memory + run->plan.ticket),
    };
}

static gpusolve_status checked(cudaError_t error, const leaf_run *run) {
    return gsv_cuda_check(error, "a triangular kernel", run->message);
}

/* Clears the first exchange buffer, and all tickets. */
static gpusolve_status invert(leaf_run *run, const gsv_triangular *p, int64_t start, int64_t size) {
    const leaf_plan *plan = &run->plan;
    const gsv_leaf all = leaf_of(run, p, start, size, 0, plan->panel, (gsv_number){1, 0});
    const int64_t one = plan->exchange[1] - plan->exchange[0],
                  buffer = one ? one : plan->end - plan->exchange[0];
    run->leaves = 0;
    return checked(run->functions->invert(&all, run->memory + plan->exchange[0], buffer,
                                          (uint32_t *)(run->memory + plan->ticket), plan->tickets,
                                          run->stream),
                   run);
}

/* A leaf with the inverses at hand: this leaf's exchange buffer and ticket are clear. */
static gpusolve_status solve_prepared(leaf_run *run, const gsv_triangular *p, int64_t start, int64_t size,
                                      int64_t vector, int64_t vectors, gsv_number alpha) {
    const leaf_plan *plan = &run->plan;
    gsv_leaf leaf = leaf_of(run, p, start, size, vector, vectors, alpha);
    const int64_t which = run->leaves % 2, number = gsv_number_bytes(p->dtype);
    if (plan->inverse_order > plan->stop) {
        /* canonical row of the first row: inverses lie in that order */
        const int64_t block = (gsv_is_forward(p) ? start : p->order - start - size) / GSV_LEAF_ROWS;
        leaf.inverse = (char *)leaf.inverse + block * 64 * 64 * number;
        leaf.substitute += block;
        leaf.exchange = run->memory + plan->exchange[which];
        leaf.next_exchange = run->memory + plan->exchange[1 - which];
    }
    leaf.ticket += run->leaves;
    run->leaves++;
    return checked(run->functions->solve(&leaf, run->stream), run);
}

static gpusolve_status solve_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                  gsv_number alpha) {
    leaf_run *run = context;
    if (run->plan.inverse_order == p->order)
        return solve_prepared(run, p, start, size, 0, p->vectors, alpha);
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t v = 0; v < p->vectors && status == GPUSOLVE_OK; v += run->plan.panel) {
        status = invert(run, p, start, size);
        if (status == GPUSOLVE_OK)
            status = solve_prepared(run, p, start, size, v, smaller(run->plan.panel, p->vectors - v), alpha);
    }
    return status;
}

static gpusolve_status multiply_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                     gsv_number alpha) {
    leaf_run *run = context;
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t v = 0; v < p->vectors && status == GPUSOLVE_OK; v += run->plan.panel) {
        const gsv_leaf leaf =
            leaf_of(run, p, start, size, v, smaller(run->plan.panel, p->vectors - v), alpha);
        status = checked(run->functions->multiply(&leaf, run->stream), run);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------- GEMM --- */

static gpusolve_status multiply(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta) {
    static const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    leaf_run *run = context;
    const int left = p->side == GPUSOLVE_LEFT, lda = (int)p->lda, ldb = (int)p->ldb;
    const int64_t number = gsv_number_bytes(p->dtype);
    const void *a = (const char *)p->a + gsv_place_in_a(p, to, from) * number;
    const void *b = (const char *)p->b + gsv_place_in_b(p, from) * number;
    void *c = (char *)p->b + gsv_place_in_b(p, to) * number;
    /* left: C = op(A) B; right: C = B op(A) */
    const int m = (int)(left ? to_size : p->vectors), n = (int)(left ? p->vectors : to_size),
              k = (int)from_size;
    const void *first = left ? a : b, *second = left ? b : a;
    const cublasOperation_t op1 = left ? operations[p->trans] : CUBLAS_OP_N;
    const cublasOperation_t op2 = left ? CUBLAS_OP_N : operations[p->trans];
    const int ld1 = left ? lda : ldb, ld2 = left ? ldb : lda;
    const float alpha_s = (float)alpha.re, beta_s = (float)beta.re;
    const cuComplex alpha_c = {alpha_s, (float)alpha.im}, beta_c = {beta_s, (float)beta.im};
    const cuDoubleComplex alpha_z = {alpha.re, alpha.im}, beta_z = {beta.re, beta.im};
    cublasHandle_t cublas = run->cuda->cublas;
    cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
    switch (p->dtype) {
    case GPUSOLVE_FLOAT:
        status = cublasSgemm(cublas, op1, op2, m, n, k, &alpha_s, first, ld1, second, ld2, &beta_s, c, ldb);
        break;
    case GPUSOLVE_DOUBLE:
        status = cublasDgemm(cublas, op1, op2, m, n, k, &alpha.re, first, ld1, second, ld2, &beta.re, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        status = cublasCgemm(cublas, op1, op2, m, n, k, &alpha_c, first, ld1, second, ld2, &beta_c, c, ldb);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        status = cublasZgemm(cublas, op1, op2, m, n, k, &alpha_z, first, ld1, second, ld2, &beta_z, c, ldb);
        break;
    }
    if (status == CUBLAS_STATUS_SUCCESS)
        return GPUSOLVE_OK;
    cudaGetLastError();
    return gsv_fail(run->message, GPUSOLVE_CUDA_ERROR, "cuBLAS GEMM: %s", cublasGetStatusString(status));
}

/* ------------------------------------------------------------------------------------------- interface ---
 */

gpusolve_status gsv_triangular_cuda_workspace(gpusolve_handle *handle, const gsv_triangular *p,
                                              size_t *bytes) {
    gsv_cuda_context *cuda = NULL;
    const gpusolve_status status = gsv_cuda_context_of(handle, &cuda);
    if (status == GPUSOLVE_OK && p->order > 0 && p->vectors > 0)
        *bytes = (size_t)whole_plan(p, functions_of(p->dtype)).end;
    return status;
}

gpusolve_status gsv_triangular_cuda(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                    void *workspace, size_t workspace_bytes) {
    leaf_run run = {.functions = functions_of(p->dtype),
                    .stream = (cudaStream_t)handle->stream,
                    .message = &handle->message};
    if (alpha.re == 0 && alpha.im == 0) {
        const int left = p->side == GPUSOLVE_LEFT;
        return checked(run.functions->zero(p->b, left ? p->order : p->vectors, left ? p->vectors : p->order,
                                           p->ldb, run.stream),
                       &run);
    }
    gpusolve_status status = gsv_cuda_context_of(handle, &run.cuda);
    if (status != GPUSOLVE_OK)
        return status;
    const int own = workspace_bytes < GSV_CONTEXT_BYTES; /* the handle's memory is larger */
    run.memory = own ? run.cuda->scratch : workspace;
    run.plan = plan_for(p, run.functions, own ? GSV_CONTEXT_BYTES : workspace_bytes);
    const int solve = p->operation == GSV_SOLVE;
    if (solve && run.plan.inverse_order == p->order)
        status = invert(&run, p, 0, p->order);
    const gsv_triangular_backend backend = {&run, run.plan.stop, multiply,
                                            solve ? solve_leaf : multiply_leaf};
    return status == GPUSOLVE_OK ? gsv_triangular_run(p, alpha, &backend) : status;
}
