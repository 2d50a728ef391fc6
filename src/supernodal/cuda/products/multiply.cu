/*
 * Products with the factor on the device: the kernels of multiply.cuh, COLUMNS columns at a time, on the handle's stream.
 *
 *      v = P x,   v = L' v,   v = D v,   v = L v,   y = P' v
 *
 * The lists that they read follow from the pattern. They are made and copied for each call: no solve wants them, and they would be a tenth of the
 * factor.
 */
#include "multiply.cuh"

#include <cstring>

#include "../../../memory.h"
#include "../shared/for_numbers.cuh"
#include "../support.h"
#include "products.h"

namespace gsv {

enum { COLUMNS = 8 };

/* Parts of one allocation, and the same on the host. */
struct product_lists {
    product_node *nodes;          /* [nsuper] */
    int64_t *ptr;                 /* [n + 1] */
    product_task *below, *within; /* update rows and columns, 32 at a time */
    int32_t *rows, *update;       /* [updates] */
    int64_t below_count, within_count, bytes;
};

static int64_t pieces_of(int64_t count) {
    return (count + WARP - 1) / WARP;
}

/* The arrays in memory, which may be NULL: then their bytes alone. */
static product_lists place_lists(const gsv_plan *plan, char *memory) {
    const int64_t updates = plan->update_ptr[plan->l.nsuper], nsuper = plan->l.nsuper, n = plan->l.n;
    product_lists l = {};
    for (int32_t s = 0; s < nsuper; s++) {
        l.below_count += pieces_of(gsv_updates(plan, s));
        l.within_count += pieces_of(gsv_columns(plan, s));
    }
    const int64_t ptr = nsuper * int64_t(sizeof(product_node)), below = ptr + (n + 1) * 8,
                  within = below + l.below_count * 8, rows = within + l.within_count * 8,
                  update = rows + updates * 4;
    l.bytes = update + updates * 4;
    if (memory) {
        l.nodes = reinterpret_cast<product_node *>(memory);
        l.ptr = reinterpret_cast<int64_t *>(memory + ptr);
        l.below = reinterpret_cast<product_task *>(memory + below);
        l.within = reinterpret_cast<product_task *>(memory + within);
        l.rows = reinterpret_cast<int32_t *>(memory + rows);
        l.update = reinterpret_cast<int32_t *>(memory + update);
    }
    return l;
}

static void fill_lists(const gsv_plan *plan, const product_lists &l) {
    const int64_t n = plan->l.n;
    int64_t below = 0, within = 0;
    memset(l.ptr, 0, size_t(n + 1) * sizeof *l.ptr);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nc = gsv_columns(plan, s), m = int32_t(gsv_updates(plan, s));
        const int32_t *rows = plan->l.rows + plan->l.row_ptr[s] + nc;
        l.nodes[s] = product_node{plan->schedule->panel_ptr[s], plan->update_ptr[s], plan->l.first_column[s],
                                  nc, nc + m};
        for (int32_t begin = 0; begin < m; begin += WARP)
            l.below[below++] = product_task{s, begin};
        for (int32_t begin = 0; begin < nc; begin += WARP)
            l.within[within++] = product_task{s, begin};
        memcpy(l.rows + plan->update_ptr[s], rows, size_t(m) * sizeof *rows);
        for (int32_t k = 0; k < m; k++)
            l.ptr[rows[k] + 1]++;
    }
    for (int64_t i = 0; i < n; i++)
        l.ptr[i + 1] += l.ptr[i];
    for (int64_t k = 0; k < plan->update_ptr[plan->l.nsuper];
         k++) /* ascending in each row; ptr moves up by one row */
        l.update[l.ptr[l.rows[k]]++] = int32_t(k);
    for (int64_t i = n; i > 0; i--)
        l.ptr[i] = l.ptr[i - 1];
    l.ptr[0] = 0;
}

/* ------------------------------------------------------------------------------------------- launches --- */

struct product {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    cudaStream_t stream;
    unsigned steps;
    product_lists lists; /* on the device */
    void *v, *w, *u, *staged;
    int x_on_host, y_on_host;
};

template <typename P>
static void run(const product &c, product_vectors<P> p, const gsv_device_dense &x,
                const gsv_device_dense &y) {
    const gsv_plan *plan = &c.factor->plan;
    const product_lists &l = c.lists;
    const unsigned groups = unsigned((p.columns + WARPS - 1) / WARPS), columns = unsigned(p.columns);
    const dim3 nodes(unsigned(plan->l.nsuper), groups), below(unsigned(l.below_count), groups),
        within(unsigned(l.within_count), groups), rows(unsigned((p.n + THREADS - 1) / THREADS), columns);
    const int32_t *perm = c.device->plan.perm;
    load_product<P><<<rows, THREADS, 0, c.stream>>>(p, c.steps & GSV_TIMES_P ? perm : nullptr, x);
    if (c.steps & GSV_TIMES_LT) {
        transposed_below<P><<<within, THREADS, 0, c.stream>>>(p, l.within);
        transposed_lower<P><<<nodes, THREADS, 0, c.stream>>>(p);
        wide_number<P> *other = p.v;
        p.v = p.w;
        p.w = other;
    }
    if (c.steps & GSV_TIMES_D && c.factor->has_d)
        scale_product<P><<<rows, THREADS, 0, c.stream>>>(
            p, static_cast<const typename traits<P>::real *>(c.device->plan.d));
    if (c.steps & GSV_TIMES_L) {
        times_lower<P><<<nodes, THREADS, 0, c.stream>>>(p);
        if (l.below_count > 0)
            times_below<P><<<below, THREADS, 0, c.stream>>>(p, l.below);
        add_updates<P><<<rows, THREADS, 0, c.stream>>>(p, l.ptr, l.update);
        p.v = p.w;
    }
    store_product<P><<<rows, THREADS, 0, c.stream>>>(p, c.steps & GSV_TIMES_PT ? perm : nullptr, y);
}

template <typename P>
static cudaError_t multiply_columns(const product &c, const gpusolve_dense *x, const gpusolve_dense *y) {
    typedef wide_number<P> T;
    const gsv_plan *plan = &c.factor->plan;
    product_vectors<P> p = {static_cast<const P *>(c.device->plan.panels),
                            c.lists.nodes,
                            c.lists.rows,
                            plan->l.n,
                            plan->update_ptr[plan->l.nsuper],
                            int32_t(x->cols),
                            static_cast<T *>(c.v),
                            static_cast<T *>(c.w),
                            static_cast<T *>(c.u)};
    cudaError_t error = cudaSuccess;
    if (c.x_on_host)
        error = gsv_cuda_copy_block(c.handle, x, c.staged, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        run<P>(c, p, c.x_on_host ? gsv_cuda_packed(x, c.staged) : gsv_cuda_dense(x),
               c.y_on_host ? gsv_cuda_packed(y, c.staged) : gsv_cuda_dense(y));
        error = cudaGetLastError();
    }
    if (error == cudaSuccess && c.y_on_host)
        error = gsv_cuda_copy_block(c.handle, y, c.staged, cudaMemcpyDeviceToHost);
    return error;
}

/* Lists and vectors, for `cols` columns. *memory is freed by the caller, also after a failure. */
static gpusolve_status make_room(product &c, int64_t cols, void **memory) {
    const gsv_plan *plan = &c.factor->plan;
    gsv_message *message = &c.handle->message;
    const int64_t wide = gsv_is_complex(c.factor->dtype) ? 16 : 8, n = plan->l.n * cols * wide,
                  u = plan->update_ptr[plan->l.nsuper] * cols * wide,
                  lists = (place_lists(plan, nullptr).bytes + 255) / 256 * 256;
    char *host = static_cast<char *>(gsv_malloc(size_t(lists), 1));
    gpusolve_status status =
        host ? gsv_cuda_malloc(memory, lists + 2 * n + u + (c.x_on_host || c.y_on_host ? n : 0), message)
             : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "multiply: out of host memory");
    if (status == GPUSOLVE_OK) {
        fill_lists(plan, place_lists(plan, host));
        status = gsv_cuda_check(gsv_cuda_fill(*memory, host, size_t(lists)), "copying lists", message);
    }
    gsv_free(host);
    char *at = static_cast<char *>(*memory);
    if (status == GPUSOLVE_OK) {
        c.lists = place_lists(plan, at);
        c.v = at + lists;
        c.w = at + lists + n;
        c.u = at + lists + 2 * n;
        c.staged = at + lists + 2 * n + u;
    }
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
    void *memory = nullptr;
    c.handle = handle;
    c.factor = factor;
    c.device = static_cast<const gsv_cuda_factor *>(factor->prepared);
    c.stream = static_cast<cudaStream_t>(handle->stream);
    c.steps = steps;
    c.x_on_host = !gsv_cuda_is_device(x->values);
    c.y_on_host = !gsv_cuda_is_device(y->values);
    gpusolve_status status = gsv::make_room(c, most, &memory);
    for (int64_t first = 0; first < x->cols && status == GPUSOLVE_OK; first += most) {
        const int64_t cols = x->cols - first < most ? x->cols - first : most;
        const gpusolve_dense from = gsv_dense_columns(x, first, cols), to = gsv_dense_columns(y, first, cols);
        const cudaError_t error = gsv::for_numbers(factor->dtype, [&](auto number) {
            return gsv::multiply_columns<decltype(number)>(c, &from, &to);
        });
        status = gsv_cuda_check(error, "multiplying", message);
    }
    const cudaError_t error =
        cudaStreamSynchronize(c.stream); /* also after a failure: it may be using the memory */
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(error, "waiting for a product", message);
    gsv_cuda_free(memory);
    gsv_cuda_leave(previous);
    return status;
}
