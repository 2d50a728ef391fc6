/*
 * Steps that are left out when they are not wanted. A refinement that is captured in a CUDA graph becomes a chain of such steps: each is the body of
 * a conditional node, which runs only if some column still goes on when the graph comes to it. So max_steps may be large, and a replay
 * takes the steps that its right-hand sides want. A node that does nothing takes 9 us on an H200. So each step lies in the body of the step before, at
 * its end, and one such node ends the chain; but a chain has no more than GSV_REFINE_CHAIN nodes, and the next one lies beside it.
 *
 * Mapping: one block looks at the columns and sets the node's condition, in the launch before the node. The order of the stream is all the
 * synchronisation there is, so nothing can deadlock.
 *
 * Bodies are captured from a stream of the workspace, which takes the place of the handle's until the chain ends. A correction may have a chain of its
 * own, the steps of its Krylov method.
 */
#include "refinement.h"

namespace gsv {

#if CUDART_VERSION >= 13000

enum { CONDITION_THREADS = 256 };

static __global__ void __launch_bounds__(CONDITION_THREADS)
    condition_kernel(cudaGraphConditionalHandle condition, int count, const gsv_refine_column *columns) {
    int wanted = 0;
    for (int j = threadIdx.x; j < count; j += CONDITION_THREADS)
        wanted |= columns[j].active;
    if (__syncthreads_or(wanted) && threadIdx.x == 0)
        cudaGraphSetConditional(condition, 1);
}

/* A conditional node behind all that the stream has captured; `body` is what it does. */
static cudaError_t add_node(cudaStream_t stream, int count, const gsv_refine_column *columns,
                            cudaGraph_t *body) {
    cudaStreamCaptureStatus capture;
    cudaGraph_t graph = nullptr;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &capture, nullptr, &graph);
    if (error == cudaSuccess) /* not wanted, unless the kernel says otherwise */
        error = cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 0,
                                                 cudaGraphCondAssignDefault);
    if (error != cudaSuccess)
        return error;
    condition_kernel<<<1, CONDITION_THREADS, 0, stream>>>(params.conditional.handle, count, columns);
    const cudaGraphNode_t *before = nullptr;
    const cudaGraphEdgeData *edges = nullptr;
    size_t edge_count = 0;
    cudaGraphNode_t node = nullptr;
    error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaStreamGetCaptureInfo(stream, &capture, nullptr, &graph, &before, &edges, &edge_count);
    if (error == cudaSuccess)
        error = cudaGraphAddNode(&node, graph, before, edges, edge_count, &params);
    if (error == cudaSuccess)
        error =
            cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies);
    *body = error == cudaSuccess ? params.conditional.phGraph_out[0] : nullptr;
    return error;
}

/* What is queued from now on goes to that body. */
static cudaError_t enter(gsv_refinement *r, cudaGraph_t body) {
    const cudaStream_t inside = r->v->bodies[r->depth];
    const cudaError_t error =
        cudaStreamBeginCaptureToGraph(inside, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed);
    if (error == cudaSuccess) {
        r->outside[r->depth++] = r->stream;
        r->handle->stream = r->stream = inside;
    }
    return error;
}

/* It goes to where it went before, and the body is whole. */
static cudaError_t leave(gsv_refinement *r) {
    cudaGraph_t body = nullptr;
    const cudaError_t error = cudaStreamEndCapture(r->stream, &body);
    r->handle->stream = r->stream = r->outside[--r->depth];
    return error;
}

/* The next body of a chain, in the one before or, where a chain begins, outside. */
static cudaError_t add_body(gsv_refinement *r, int chain, const gsv_refine_column *columns) {
    cudaGraph_t body = nullptr;
    cudaError_t error = cudaSuccess;
    if (r->depth > chain && r->bodies[chain] == GSV_REFINE_CHAIN)
        error = leave(r);
    const bool begins = r->depth == chain;
    if (error == cudaSuccess)
        error = add_node(r->stream, r->job.columns, columns, &body);
    if (error == cudaSuccess && !begins)
        error = leave(r);
    if (error == cudaSuccess)
        error = enter(r, body);
    r->bodies[chain] = begins ? 1 : r->bodies[chain] + 1;
    return error;
}

static bool is_captured(cudaStream_t stream) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &capture) == cudaSuccess && capture == cudaStreamCaptureStatusActive;
}

#else /* these calls have other arguments in CUDA 12: all steps are queued */

static cudaError_t add_body(gsv_refinement *, int, const gsv_refine_column *) {
    return cudaErrorNotSupported;
}
static cudaError_t leave(gsv_refinement *) {
    return cudaErrorNotSupported;
}
static bool is_captured(cudaStream_t) {
    return false;
}

#endif

} // namespace gsv

void gsv_refine_use_conditions(gsv_refinement *r) {
    r->conditional = r->to && gsv::is_captured(r->stream);
}

gpusolve_status gsv_refine_add_body(gsv_refinement *r, int chain, const gsv_refine_column *columns) {
    return r->conditional ? gsv_cuda_check(gsv::add_body(r, chain, columns), "capturing a step of refinement",
                                           &r->handle->message)
                          : GPUSOLVE_OK;
}

gpusolve_status gsv_refine_end_chain(gsv_refinement *r, int chain) {
    gpusolve_status status = GPUSOLVE_OK;
    while (r->depth > chain) {
        const gpusolve_status ended =
            gsv_cuda_check(gsv::leave(r), "capturing a step of refinement", &r->handle->message);
        status = status ? status : ended;
    }
    return status;
}
