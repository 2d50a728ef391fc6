/*
 * The CUDA backend of triangular.h: the recursion over cuBLAS's GEMM, with the kernels of trsm/cuda/leaf/leaf.h as
 * leaves; trsm/cuda/plan.h says how.
 */
#include "../triangular.h"

#include "../../device.h"
#include "context.h"
#include "gemm.h"
#include "leaf/leaf.h"
#include "plan.h"
#include "tuning.h"

typedef struct leaf_run {
    gsv_cuda_context *cuda;
    const gsv_leaf_functions *functions;
    gsv_leaf_plan plan;
    char *memory;
    cudaStream_t stream;
    int64_t leaves; /* solved since the last inversion */
    gsv_message *message;
} leaf_run;

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static gpusolve_status checked(cudaError_t error, const leaf_run *run) {
    return gsv_cuda_check(error, "a triangular kernel", run->message);
}

/* Rows start .. start + size - 1 of the problem, vectors from `vector` on, in canonical form. */
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
        .exchange_rows = (run->plan.stop + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS * GSV_LEAF_ROWS,
        .ticket = run->cuda->ticket,
        .chunk = (int32_t)run->plan.chunk,
        .partial = run->memory + run->plan.partial,
    };
}

/* ---------------------------------------------------------------------------------------------- solve --- */

/* Clears the first exchange buffer, too. */
static gpusolve_status invert(leaf_run *run, const gsv_triangular *p, int64_t start, int64_t size) {
    const gsv_leaf_plan *plan = &run->plan;
    const gsv_leaf all = leaf_of(run, p, start, size, 0, plan->panel, (gsv_number){1, 0});
    run->leaves = 0;
    return checked(
        run->functions->invert(&all, run->memory + plan->exchange[0], plan->buffer_bytes, run->stream), run);
}

/* A leaf with its inverses at hand; its exchange buffer and ticket are clear. */
static gpusolve_status solve_prepared(leaf_run *run, const gsv_triangular *p, int64_t start, int64_t size,
                                      int64_t vector, int64_t vectors, gsv_number alpha) {
    const gsv_leaf_plan *plan = &run->plan;
    gsv_leaf leaf = leaf_of(run, p, start, size, vector, vectors, alpha);
    const int64_t which = run->leaves % 2, number = gsv_number_bytes(p->dtype);
    const int64_t blocks = (size + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS;
    leaf.premultiplied = blocks * ((vectors + plan->group - 1) / plan->group) <= GSV_FULL_MACHINE;
    if (plan->inverse_order > plan->stop) {
        /* canonical row of the first row: inverses lie in that order */
        const int64_t block = (gsv_is_forward(p) ? start : p->order - start - size) / GSV_LEAF_ROWS;
        leaf.inverse = (char *)leaf.inverse + block * GSV_LEAF_ROWS * GSV_LEAF_ROWS * number;
        leaf.substitute += block;
        leaf.exchange = run->memory + plan->exchange[which];
        leaf.next_exchange = run->memory + plan->exchange[1 - which];
    }
    run->leaves++;
    return checked((plan->serial ? run->functions->solve_panel : run->functions->solve)(&leaf, run->stream),
                   run);
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

/* Where the device has too little shared memory for the library's own kernel. */
static gpusolve_status cublas_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                   gsv_number alpha) {
    const leaf_run *run = context;
    return gsv_cuda_trsm(run->cuda->cublas, p, start, size, alpha, run->message);
}

/* ------------------------------------------------------------------------------------------- multiply --- */

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

static gpusolve_status product_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                    gsv_number alpha) {
    leaf_run *run = context;
    const gsv_leaf leaf = leaf_of(run, p, start, size, 0, p->vectors, alpha);
    return checked(run->functions->product(&leaf, run->plan.cluster, run->stream), run);
}

/* The same through a copy of some vectors and cuBLAS. */
static gpusolve_status copy_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                 gsv_number alpha) {
    leaf_run *run = context;
    const int left = p->side == GPUSOLVE_LEFT;
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t v = 0; v < p->vectors && status == GPUSOLVE_OK; v += run->plan.panel) {
        const int64_t vectors = smaller(run->plan.panel, p->vectors - v);
        const int64_t rows = left ? size : vectors, columns = left ? vectors : size;
        void *b =
            (char *)p->b + (gsv_place_in_b(p, start) + (left ? v * p->ldb : v)) * gsv_number_bytes(p->dtype);
        status = checked(run->functions->copy(b, p->ldb, run->memory, rows, rows, columns, run->stream), run);
        if (status == GPUSOLVE_OK)
            status = gsv_cuda_trmm(run->cuda->cublas, p, start, size, vectors, alpha, run->memory, rows, b,
                                   run->message);
    }
    return status;
}

static gpusolve_status multiply(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta) {
    const leaf_run *run = context;
    const int64_t number = gsv_number_bytes(p->dtype);
    return gsv_cuda_gemm(run->cuda->cublas, p, (const char *)p->a + gsv_place_in_a(p, to, from) * number,
                         (const char *)p->b + gsv_place_in_b(p, from) * number,
                         (char *)p->b + gsv_place_in_b(p, to) * number, to_size, from_size, alpha, beta,
                         run->message);
}

/* ------------------------------------------------------------------------------------------ interface --- */

gpusolve_status gsv_triangular_cuda_workspace(gpusolve_handle *handle, const gsv_triangular *p,
                                              size_t *bytes) {
    gsv_cuda_context *cuda = NULL;
    const gpusolve_status status = gsv_cuda_context_of(handle, &cuda);
    if (status == GPUSOLVE_OK && p->order > 0 && p->vectors > 0)
        *bytes = (size_t)gsv_leaf_whole_plan(p, cuda->device).end;
    return status;
}

gpusolve_status gsv_triangular_cuda(gpusolve_handle *handle, const gsv_triangular *p, gsv_number alpha,
                                    void *workspace, size_t workspace_bytes) {
    leaf_run run = {.functions = gsv_leaf_functions_of(p->dtype),
                    .stream = (cudaStream_t)handle->stream,
                    .message = &handle->message};
    if (gsv_is_zero(alpha)) {
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
    run.plan = gsv_leaf_plan_for(p, run.cuda->device, own ? GSV_CONTEXT_BYTES : workspace_bytes);
    gsv_triangular_backend backend = {&run, run.plan.stop, multiply, NULL};
    if (p->operation == GSV_MULTIPLY)
        backend.leaf = run.plan.cluster ? product_leaf : run.plan.group ? multiply_leaf : copy_leaf;
    else
        backend.leaf = run.plan.group ? solve_leaf : cublas_leaf;
    if (backend.leaf == solve_leaf && run.plan.inverse_order == p->order)
        status = invert(&run, p, 0, p->order);
    return status == GPUSOLVE_OK ? gsv_triangular_run(p, alpha, &backend) : status;
}
