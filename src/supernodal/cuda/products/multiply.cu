/*
 * Products with the factor on the device: the kernels of multiply.cuh and triangle.cuh, COLUMNS columns at a time, on the handle's stream.
 *
 *      v = P x,   w = L' v,   w = D w,   w = L v,   y = P' w
 *
 * Their lists stay with the factor (lists.h). The vectors are in the memory that the handle keeps for uploads, for a product waits for its end.
 */
#include "../../../dense_kernels/overlap.cuh"
#include "../pipeline.h"
#include "../shared/for_numbers.cuh"
#include "../support.h"
#include "products.h"
#include "triangle.cuh"

namespace gsv {

enum { COLUMNS = 8 };

struct product {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const gsv_product_lists *lists;
    cudaStream_t stream;
    unsigned steps;
    void *v, *w, *u, *staged;
    int x_on_host, y_on_host;
    int32_t columns; /* at work */
};

template <typename P> static product_vectors<P> vectors_of(const product &c) {
    typedef wide_number<P> T;
    const gsv_plan *plan = &c.factor->plan;
    return product_vectors<P>{static_cast<const P *>(c.device->plan.panels),
                              c.lists->narrow,
                              c.lists->wide,
                              c.lists->rows,
                              plan->l.n,
                              plan->update_ptr[plan->l.nsuper],
                              uint32_t(c.columns),
                              static_cast<T *>(c.v),
                              static_cast<T *>(c.w),
                              static_cast<T *>(c.u)};
}

template <typename P, bool BACKWARD>
static void launch_narrow(const product &c, const product_vectors<P> &p) {
    const int64_t count = c.lists->narrow_count, blocks = (count * c.columns + WARPS - 1) / WARPS;
    if (blocks > 0)
        narrow_supernodes<P, BACKWARD><<<unsigned(blocks), THREADS, 0, c.stream>>>(p, count);
}

template <typename P, bool BACKWARD>
static void launch_stage(const product &c, const product_vectors<P> &p, int32_t stage) {
    const int64_t blocks = c.lists->in_stage[stage] * c.columns;
    stage_triangles<P, BACKWARD><<<unsigned(blocks), THREADS, stage_bytes<P>(), c.stream>>>(p, stage);
}

/* A block's shared memory, of which complex numbers want more than a block has unasked. */
template <typename P, bool BACKWARD> static cudaError_t allow_stage() {
    return stage_bytes<P>() <= 48 << 10
               ? cudaSuccess
               : allow_shared(reinterpret_cast<const void *>(stage_triangles<P, BACKWARD>), stage_bytes<P>());
}

/* Where the stage's blocks of stage_rows and stage_columns are. */
static dim3 beside_stage(const product &c, int32_t stage, int32_t columns) {
    return dim3(unsigned(c.lists->in_stage[stage] * c.columns),
                unsigned((columns + GSV_TILE - 1) / GSV_TILE));
}

/* w = L v, but for the update rows, which are in u. */
template <typename P> static cudaError_t times_l(const product &c) {
    const product_vectors<P> p = vectors_of<P>(c);
    const gsv_product_lists &l = *c.lists;
    const cudaError_t error = allow_stage<P, false>();
    if (error != cudaSuccess)
        return error;
    launch_narrow<P, false>(c, p);
    for (int32_t stage = 0; stage < l.stages; stage++) {
        if (stage > 0)
            stage_rows<P>
                <<<beside_stage(c, stage, l.widest - stage * STAGE), THREADS, 0, c.stream>>>(p, stage);
        launch_stage<P, false>(c, p, stage);
    }
    if (l.below_count > 0)
        times_below<P><<<unsigned(l.below_count * c.columns), THREADS, 0, c.stream>>>(p, l.below);
    return cudaGetLastError();
}

/* w = L' v */
template <typename P> static cudaError_t times_lt(const product &c) {
    const product_vectors<P> p = vectors_of<P>(c);
    const gsv_product_lists &l = *c.lists;
    const cudaError_t error = allow_stage<P, true>();
    if (error != cudaSuccess)
        return error;
    launch_narrow<P, true>(c, p);
    if (l.across_count > 0)
        transposed_below<P><<<unsigned(l.across_count * c.columns), THREADS, 0, c.stream>>>(p, l.across);
    for (int32_t stage = l.stages - 1; stage >= 0; stage--) {
        launch_stage<P, true>(c, p, stage);
        if (stage > 0)
            stage_columns<P><<<beside_stage(c, stage, stage * STAGE), THREADS, 0, c.stream>>>(p, stage);
    }
    return cudaGetLastError();
}

/* N: a number of x and y. The panels may have others. */
template <typename N>
static cudaError_t run(product c, const gsv_device_dense &x, const gsv_device_dense &y) {
    typedef wide_number<N> T;
    const int64_t n = c.factor->plan.l.n;
    const gpusolve_dtype panels = gsv_panel_dtype(c.factor->numbers);
    const dim3 rows(unsigned((n + THREADS - 1) / THREADS), unsigned(c.columns));
    const int32_t *perm = c.device->plan.perm;
    const int adds = (c.steps & GSV_TIMES_L) != 0; /* update rows */
    load_product<N>
        <<<rows, THREADS, 0, c.stream>>>(n, static_cast<T *>(c.v), c.steps & GSV_TIMES_P ? perm : nullptr, x);
    const auto swap = [&] {
        void *other = c.v;
        c.v = c.w;
        c.w = other;
    };
    cudaError_t error = cudaSuccess;
    if (c.steps & GSV_TIMES_LT)
        error = for_numbers(panels, [&](auto number) { return times_lt<decltype(number)>(c); });
    if (c.steps & GSV_TIMES_D && c.factor->has_d)
        scale_product<N><<<rows, THREADS, 0, c.stream>>>(
            n, static_cast<T *>(c.w), static_cast<const typename traits<N>::real *>(c.device->plan.d));
    if (adds && (c.steps & GSV_TIMES_LT))
        swap();
    if (adds && error == cudaSuccess)
        error = for_numbers(panels, [&](auto number) { return times_l<decltype(number)>(c); });
    if (error != cudaSuccess)
        return error;
    store_product<N><<<rows, THREADS, 0, c.stream>>>(
        n, static_cast<const T *>(c.w), adds ? c.lists->ptr : nullptr, c.lists->update,
        static_cast<const T *>(c.u), c.factor->plan.update_ptr[c.factor->plan.l.nsuper],
        c.steps & GSV_TIMES_PT ? perm : nullptr, y);
    return cudaGetLastError();
}

static cudaError_t multiply_columns(const product &c, const gpusolve_dense *x, const gpusolve_dense *y) {
    cudaError_t error = cudaSuccess;
    if (c.x_on_host)
        error = gsv_cuda_copy_block(c.handle, x, c.staged, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = for_numbers(c.factor->dtype, [&](auto number) {
            return run<decltype(number)>(c, c.x_on_host ? gsv_cuda_packed(x, c.staged) : gsv_cuda_dense(x),
                                         c.y_on_host ? gsv_cuda_packed(y, c.staged) : gsv_cuda_dense(y));
        });
    if (error == cudaSuccess && c.y_on_host)
        error = gsv_cuda_copy_block(c.handle, y, c.staged, cudaMemcpyDeviceToHost);
    return error;
}

/* Lists, and vectors for `cols` columns in the pipeline's room. */
static gpusolve_status make_room(product &c, int64_t cols, gsv_pipeline **pipeline) {
    const gsv_plan *plan = &c.factor->plan;
    gsv_message *message = &c.handle->message;
    const int64_t wide = gsv_is_complex(c.factor->dtype) ? 16 : 8, n = plan->l.n * cols * wide,
                  u = plan->update_ptr[plan->l.nsuper] * cols * wide;
    void *room = nullptr;
    gpusolve_status status = gsv_cuda_product_lists(c.factor, message, &c.lists);
    if (status == GPUSOLVE_OK)
        status = gsv_pipeline_of(c.handle, pipeline);
    if (status == GPUSOLVE_OK)
        status =
            gsv_pipeline_room(*pipeline, 2 * n + u + (c.x_on_host || c.y_on_host ? n : 0), &room, message);
    char *at = static_cast<char *>(room);
    c.v = at;
    c.w = at + n;
    c.u = at + 2 * n;
    c.staged = at + 2 * n + u;
    return status;
}

} // namespace gsv

extern "C" gpusolve_status gsv_cuda_multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                             unsigned steps, const gpusolve_dense *x,
                                             const gpusolve_dense *y) {
    const int previous = gsv_cuda_enter(handle->device);
    gsv_message *message = &handle->message;
    const int64_t most = x->cols < gsv::COLUMNS ? x->cols : gsv::COLUMNS;
    gsv::product c = {};
    gsv_pipeline *pipeline = nullptr;
    c.handle = handle;
    c.factor = factor;
    c.device = static_cast<const gsv_cuda_factor *>(factor->prepared);
    c.stream = static_cast<cudaStream_t>(handle->stream);
    c.steps = steps;
    c.x_on_host = !gsv_cuda_is_device(x->values);
    c.y_on_host = !gsv_cuda_is_device(y->values);
    gpusolve_status status = gsv::make_room(c, most, &pipeline);
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
