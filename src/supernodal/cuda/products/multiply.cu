/*
 * Products with the factor on the device: the kernels of multiply.cuh and triangle.cuh, up to COLUMNS columns at a time, on the handle's stream.
 *
 *      v = P x,   w = L' v,   w = D w,   w = L v,   y = P' w
 *
 * Their lists stay with the factor (lists.h). The vectors are in the memory that the handle keeps for uploads, for a product waits for its end.
 */
#include "../../../dense_kernels/overlap.cuh"
#include "../pipeline.h"
#include "../shared/for_numbers.cuh"
#include "../support.h"
#include "narrow.cuh"
#include "products.h"
#include "triangle.cuh"

namespace gsv {

/* Columns at a time: as many as ROOM bytes hold, up to COLUMNS, but no less than a group. */
enum { COLUMNS = 64, ROOM = 512 << 20 };

/* Blocks that keep a multiprocessor busy. */
enum { FULL = 8 };

struct product {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const gsv_product_lists *lists;
    cudaStream_t stream;
    unsigned steps;
    void *v, *w, *u, *staged;
    int x_on_host, y_on_host;
    int32_t columns, groups; /* at work */
    int multiprocessors;
};

template <typename P, int C> static product_vectors<P, C> vectors_of(const product &c) {
    typedef wide_number<P> T;
    const gsv_plan *plan = &c.factor->plan;
    return product_vectors<P, C>{static_cast<const P *>(c.device->plan.panels),
                                 c.lists->narrow,
                                 c.lists->wide,
                                 c.lists->rows,
                                 plan->l.n,
                                 plan->update_ptr[plan->l.nsuper],
                                 uint32_t(c.groups),
                                 static_cast<T *>(c.v),
                                 static_cast<T *>(c.w),
                                 static_cast<T *>(c.u)};
}

/* How many blocks share the groups of a piece. Each of them reads, or inverts, what the piece's groups have in common. So a piece has one block if there are enough
 * pieces to give every multiprocessor `most` of them, and more if there are fewer. */
static unsigned share_of(const product &c, int64_t pieces, int64_t most) {
    const int64_t fit = most * c.multiprocessors / pieces;
    return unsigned(fit < 1 ? 1 : fit < c.groups ? fit : c.groups);
}

template <typename P, int C, bool BACKWARD>
static void launch_narrow(const product &c, const product_vectors<P, C> &p) {
    const int64_t count = c.lists->narrow_count, blocks = (count * c.groups + WARPS - 1) / WARPS;
    if (blocks > 0)
        narrow_supernodes<P, C, BACKWARD><<<unsigned(blocks), THREADS, 0, c.stream>>>(p, count);
}

template <typename P, int C, bool BACKWARD>
static void launch_stage(const product &c, const product_vectors<P, C> &p, int32_t stage) {
    const int64_t nodes = c.lists->in_stage[stage];
    const unsigned share = share_of(c, nodes, 1);
    stage_triangles<P, C, BACKWARD>
        <<<unsigned(nodes) * share, THREADS, stage_bytes<P>(), c.stream>>>(p, stage, share);
}

/* A block's shared memory, of which complex numbers want more than a block has unasked. */
template <typename P, int C, bool BACKWARD> static cudaError_t allow_stage() {
    return stage_bytes<P>() <= 48 << 10
               ? cudaSuccess
               : allow_shared(reinterpret_cast<const void *>(stage_triangles<P, C, BACKWARD>),
                              stage_bytes<P>());
}

/* stage_rows before a stage, stage_columns behind it. */
template <typename P, int C, bool BACKWARD>
static void launch_beside_stage(const product &c, const product_vectors<P, C> &p, int32_t stage) {
    const int64_t nodes = c.lists->in_stage[stage];
    const int32_t columns = BACKWARD ? stage * STAGE : c.lists->widest - stage * STAGE,
                  tiles = (columns + GSV_TILE - 1) / GSV_TILE;
    const unsigned share = share_of(c, nodes * tiles, FULL);
    const dim3 blocks(unsigned(nodes) * share, unsigned(tiles));
    if constexpr (BACKWARD)
        stage_columns<P, C><<<blocks, THREADS, 0, c.stream>>>(p, stage, share);
    else
        stage_rows<P, C><<<blocks, THREADS, 0, c.stream>>>(p, stage, share);
}

/* w = L v, but for the update rows, which are in u. */
template <typename P, int C> static cudaError_t times_l(const product &c) {
    const product_vectors<P, C> p = vectors_of<P, C>(c);
    const gsv_product_lists &l = *c.lists;
    const cudaError_t error = allow_stage<P, C, false>();
    if (error != cudaSuccess)
        return error;
    launch_narrow<P, C, false>(c, p);
    for (int32_t stage = 0; stage < l.stages; stage++) {
        if (stage > 0)
            launch_beside_stage<P, C, false>(c, p, stage);
        launch_stage<P, C, false>(c, p, stage);
    }
    if (l.below_count > 0) {
        const unsigned share = share_of(c, l.below_count, FULL);
        times_below<P, C><<<unsigned(l.below_count) * share, THREADS, 0, c.stream>>>(p, l.below, share);
    }
    return cudaGetLastError();
}

/* w = L' v */
template <typename P, int C> static cudaError_t times_lt(const product &c) {
    const product_vectors<P, C> p = vectors_of<P, C>(c);
    const gsv_product_lists &l = *c.lists;
    const cudaError_t error = allow_stage<P, C, true>();
    if (error != cudaSuccess)
        return error;
    launch_narrow<P, C, true>(c, p);
    if (l.across_count > 0) {
        const unsigned share = share_of(c, l.across_count, FULL);
        transposed_below<P, C>
            <<<unsigned(l.across_count) * share, THREADS, 0, c.stream>>>(p, l.across, share);
    }
    for (int32_t stage = l.stages - 1; stage >= 0; stage--) {
        launch_stage<P, C, true>(c, p, stage);
        if (stage > 0)
            launch_beside_stage<P, C, true>(c, p, stage);
    }
    return cudaGetLastError();
}

/* N: a number of x and y. The panels may have others. C: columns of a group. */
template <typename N, int C>
static cudaError_t run(product c, const gsv_device_dense &x, const gsv_device_dense &y) {
    typedef wide_number<N> T;
    const int64_t n = c.factor->plan.l.n;
    const gpusolve_dtype panels = gsv_panel_dtype(c.factor->numbers);
    c.groups = (c.columns + C - 1) / C;
    const dim3 rows(unsigned((n + THREADS - 1) / THREADS), unsigned(c.groups));
    const int32_t *perm = c.device->plan.perm;
    const int adds = (c.steps & GSV_TIMES_L) != 0; /* update rows */
    load_product<N, C><<<rows, THREADS, 0, c.stream>>>(n, static_cast<T *>(c.v),
                                                       c.steps & GSV_TIMES_P ? perm : nullptr, x, c.columns);
    const auto swap = [&] {
        void *other = c.v;
        c.v = c.w;
        c.w = other;
    };
    cudaError_t error = cudaSuccess;
    if (c.steps & GSV_TIMES_LT)
        error = for_numbers(panels, [&](auto number) { return times_lt<decltype(number), C>(c); });
    if (c.steps & GSV_TIMES_D && c.factor->has_d)
        scale_product<N, C><<<rows, THREADS, 0, c.stream>>>(
            n, static_cast<T *>(c.w), static_cast<const typename traits<N>::real *>(c.device->plan.d));
    if (adds && (c.steps & GSV_TIMES_LT))
        swap();
    if (adds && error == cudaSuccess)
        error = for_numbers(panels, [&](auto number) { return times_l<decltype(number), C>(c); });
    if (error != cudaSuccess)
        return error;
    store_product<N, C><<<rows, THREADS, 0, c.stream>>>(
        n, static_cast<const T *>(c.w), adds ? c.lists->ptr : nullptr, c.lists->update,
        static_cast<const T *>(c.u), c.factor->plan.update_ptr[c.factor->plan.l.nsuper],
        c.steps & GSV_TIMES_PT ? perm : nullptr, y, c.columns);
    return cudaGetLastError();
}

static cudaError_t multiply_columns(const product &c, const gpusolve_dense *x, const gpusolve_dense *y) {
    cudaError_t error = cudaSuccess;
    if (c.x_on_host)
        error = gsv_cuda_copy_block(c.handle, x, c.staged, cudaMemcpyHostToDevice);
    const gsv_device_dense from = c.x_on_host ? gsv_cuda_packed(x, c.staged) : gsv_cuda_dense(x),
                           to = c.y_on_host ? gsv_cuda_packed(y, c.staged) : gsv_cuda_dense(y);
    if (error == cudaSuccess)
        error = for_numbers(c.factor->dtype, [&](auto number) {
            typedef decltype(number) N;
            return c.columns > 1 ? run<N, GROUP>(c, from, to) : run<N, 1>(c, from, to);
        });
    if (error == cudaSuccess && c.y_on_host)
        error = gsv_cuda_copy_block(c.handle, y, c.staged, cudaMemcpyDeviceToHost);
    return error;
}

/* Lists, and vectors for up to `cols` columns in the pipeline's room; c.columns: how many it has room for. */
static gpusolve_status make_room(product &c, int64_t cols, gsv_pipeline **pipeline) {
    const gsv_plan *plan = &c.factor->plan;
    gsv_message *message = &c.handle->message;
    const int64_t wide = gsv_is_complex(c.factor->dtype) ? 16 : 8,
                  staged = c.x_on_host || c.y_on_host ? plan->l.n : 0,
                  column = (2 * plan->l.n + plan->update_ptr[plan->l.nsuper] + staged) * wide;
    int64_t most = ROOM / column / GROUP * GROUP;
    most = most < GROUP ? GROUP : most > COLUMNS ? COLUMNS : most;
    if (cols < most)
        most = cols > 1 ? (cols + GROUP - 1) / GROUP * GROUP : 1;
    void *room = nullptr;
    gpusolve_status status = gsv_cuda_product_lists(c.factor, message, &c.lists);
    if (status == GPUSOLVE_OK)
        status = gsv_pipeline_of(c.handle, pipeline);
    if (status == GPUSOLVE_OK)
        status = gsv_pipeline_room(*pipeline, most * column, &room, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(
            cudaDeviceGetAttribute(&c.multiprocessors, cudaDevAttrMultiProcessorCount, c.handle->device),
            "asking how many multiprocessors there are", message);
    char *at = static_cast<char *>(room);
    const int64_t vector = plan->l.n * most * wide;
    c.v = at;
    c.w = at + vector;
    c.u = at + 2 * vector;
    c.staged = at + most * column - staged * most * wide;
    c.columns = int32_t(most);
    return status;
}

} // namespace gsv

extern "C" gpusolve_status gsv_cuda_multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                             unsigned steps, const gpusolve_dense *x,
                                             const gpusolve_dense *y) {
    const int previous = gsv_cuda_enter(handle->device);
    gsv_message *message = &handle->message;
    gsv::product c = {};
    gsv_pipeline *pipeline = nullptr;
    c.handle = handle;
    c.factor = factor;
    c.device = static_cast<const gsv_cuda_factor *>(factor->prepared);
    c.stream = static_cast<cudaStream_t>(handle->stream);
    c.steps = steps;
    c.x_on_host = !gsv_cuda_is_device(x->values);
    c.y_on_host = !gsv_cuda_is_device(y->values);
    gpusolve_status status = gsv::make_room(c, x->cols, &pipeline);
    const int64_t most = c.columns;
    for (int64_t first = 0; first < x->cols && status == GPUSOLVE_OK; first += most) {
        c.columns = int32_t(x->cols - first < most ? x->cols - first : most);
        const gpusolve_dense from = gsv_dense_columns(x, first, c.columns),
                             to = gsv_dense_columns(y, first, c.columns);
        status = gsv_cuda_check(gsv::multiply_columns(c, &from, &to), "multiplying", message);
    }
    const cudaError_t error =
        cudaStreamSynchronize(c.stream); /* also after a failure: it may be using the memory */
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(error, "waiting for a product", message);
    if (pipeline)
        gsv_pipeline_room_end(pipeline);
    gsv_cuda_leave(previous);
    return status;
}
