/*
 * Samples on the device: z over the roots of D, drawn or the caller's; x = mean + P' L' \ that.
 *
 * Numbers that are drawn go to the vector that the backward sweep reads, where the upper tree is tasks: they are never loaded. Otherwise they go to x,
 * from where the solve loads them. The mean is added by the store of tasks (mean.cu), and elsewhere, for few columns, by a kernel of its own.
 *
 * Kernels of one kind: a thread has a pair of neighbouring rows (or a row of complex numbers) of one column, and neighbouring threads what is
 * neighbouring in memory: rows of a column-major block, columns of a row-major one. Nothing waits, no number is written by two threads. `draw`
 * writes each number once, and takes some 200 instructions for two, 70 of them in double precision: on an H200 256 million
 * numbers add 0.33 ms to half a solve that loads them. `scale` and `add_mean` read and write each once.
 */
#include "../../../dense_kernels/normal.h"
#include "../shared/for_numbers.cuh"
#include "../workspace.h"
#include "lists.h"
#include "products.h"

namespace gsv {

enum { BLOCK = 256, MOST = 65535 };

/* Which items a thread has: `inner` ones lie side by side. Item (i, c) for every i < count, c < columns. */
struct grid_of_items {
    int64_t count, columns;
    int by_columns; /* columns are neighbours */
};

template <typename Item>
static __device__ __forceinline__ void for_each_item(const grid_of_items &items, Item item) {
    const int64_t inner = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t inner_end = items.by_columns ? items.columns : items.count,
                  outer_end = items.by_columns ? items.count : items.columns,
                  step = int64_t(gridDim.y) * blockDim.y;
    if (inner >= inner_end)
        return;
    for (int64_t outer = int64_t(blockIdx.y) * blockDim.y + threadIdx.y; outer < outer_end; outer += step)
        items.by_columns ? item(outer, inner) : item(inner, outer);
}

template <typename R> static __device__ __forceinline__ double over_root(double z, const R *d, int64_t i) {
    return d ? z / sqrt(double(d[i])) : z;
}

/* Row k of complex numbers in first, or rows 2 k and 2 k + 1 of real ones in both; the second may be beyond the end: then it is not divided. */
template <typename P>
static __device__ __forceinline__ void draw_pair(const gsv_drawing &of, int64_t k, int64_t c, P &first,
                                                 P &second) {
    typedef typename traits<P>::real R;
    const R *d = static_cast<const R *>(of.d);
    const gsv_normals z = gsv_normal(of.seed, k, of.first + c, traits<P>::is_complex);
    if constexpr (traits<P>::is_complex) {
        first = second = P{R(over_root(z.a, d, k)), R(over_root(z.b, d, k))};
    } else {
        first = R(over_root(z.a, d, 2 * k));
        second = R(over_root(z.b, 2 * k + 1 < of.n ? d : nullptr, 2 * k + 1));
    }
}

/* Into x. Rows that are neighbours are stored as one number of twice the size, where memory is aligned for it. */
template <typename P>
static __global__ void __launch_bounds__(BLOCK)
    draw(grid_of_items items, gsv_drawing of, gsv_device_dense x) {
    P *values = static_cast<P *>(x.values);
    for_each_item(items, [=](int64_t k, int64_t c) {
        P pair[2];
        draw_pair(of, k, c, pair[0], pair[1]);
        P *to = values + c * x.column_stride;
        if constexpr (traits<P>::is_complex) {
            to[k * x.row_stride] = pair[0];
        } else {
            struct alignas(2 * sizeof(P)) both {
                P one, two;
            };
            to += 2 * k * x.row_stride;
            if (x.row_stride == 1 && 2 * k + 1 < of.n && uintptr_t(to) % sizeof(both) == 0) {
                *reinterpret_cast<both *>(to) = both{pair[0], pair[1]};
            } else {
                to[0] = pair[0];
                if (2 * k + 1 < of.n)
                    to[x.row_stride] = pair[1];
            }
        }
    });
}

/* Into a vector: items are by columns. Numbers are rounded to the factor's precision as in draw. */
template <typename P>
static __global__ void __launch_bounds__(BLOCK)
    draw_vectors(grid_of_items items, gsv_drawing of, wide_number<P> *to, int drawn, int *broken) {
    typedef wide_number<P> T;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0)
        *broken = 0; /* the waits of the solve before have ended */
    for_each_item(items, [=](int64_t k, int64_t c) {
        P pair[2] = {P(), P()};
        if (c < drawn)
            draw_pair(of, k, c, pair[0], pair[1]);
        if constexpr (traits<P>::is_complex) {
            to[k * items.columns + c] = number_as<T>(pair[0]);
        } else {
            to[2 * k * items.columns + c] = number_as<T>(pair[0]);
            if (2 * k + 1 < of.n)
                to[(2 * k + 1) * items.columns + c] = number_as<T>(pair[1]);
        }
    });
}

/* x(i, c) = z(i, c) / sqrt(d(i)) */
template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scale(grid_of_items items, const typename traits<T>::real *d, gsv_device_dense z, gsv_device_dense x) {
    typedef typename traits<T>::real R;
    for_each_item(items, [=](int64_t i, int64_t c) {
        T number = static_cast<const T *>(z.values)[i * z.row_stride + c * z.column_stride];
        if constexpr (traits<T>::is_complex)
            number = T{R(over_root(number.re, d, i)), R(over_root(number.im, d, i))};
        else
            number = R(over_root(number, d, i));
        static_cast<T *>(x.values)[i * x.row_stride + c * x.column_stride] = number;
    });
}

/* x(i, c) += mean(i) */
template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    add_mean(grid_of_items items, const T *mean, gsv_device_dense x) {
    T *values = static_cast<T *>(x.values);
    for_each_item(items, [=](int64_t i, int64_t c) {
        const int64_t place = i * x.row_stride + c * x.column_stride;
        values[place] = add(values[place], mean[i]);
    });
}

/* ------------------------------------------------------------------------------------------- launches --- */

/* Columns are neighbours in a row-major block that fills a warp with them. */
static grid_of_items items_of(int64_t n, const gsv_device_dense &x) {
    return grid_of_items{n, x.columns, x.column_stride < x.row_stride && x.columns >= 32};
}

/* A launch for these items: where fewer than BLOCK lie side by side, a block has several runs of them. */
struct shape {
    dim3 grid, block;
};

static shape shape_for(const grid_of_items &items) {
    const int64_t inner = items.by_columns ? items.columns : items.count,
                  outer = items.by_columns ? items.count : items.columns;
    unsigned side = 1;
    while (side < BLOCK && side < inner)
        side *= 2;
    const int64_t runs = BLOCK / side, blocks = (outer + runs - 1) / runs;
    return shape{dim3(unsigned((inner + side - 1) / side), unsigned(blocks < MOST ? blocks : MOST)),
                 dim3(side, unsigned(runs))};
}

/* What the steps of one block of columns are told. Everything is on the device. */
struct sampling {
    const gsv_sample *sample;
    int64_t n;
    const void *d, *mean;
    const gpusolve_dense *z; /* or NULL */
    gpusolve_dense x;
    cudaStream_t stream;
};

/* How many items a column has. */
template <typename P> static int64_t draws_of(int64_t n) {
    return traits<P>::is_complex ? n : (n + 1) / 2;
}

template <typename P>
static cudaError_t draw_as(const gsv_drawing &of, gsv_device_dense x, cudaStream_t stream) {
    const grid_of_items items = items_of(draws_of<P>(of.n), x);
    const shape as = shape_for(items);
    draw<P><<<as.grid, as.block, 0, stream>>>(items, of, x);
    return cudaGetLastError();
}

template <typename P>
static cudaError_t draw_vectors_as(const gsv_drawing &of, void *to, int columns, int drawn, int *broken,
                                   cudaStream_t stream) {
    const grid_of_items items = {draws_of<P>(of.n), columns, 1};
    const shape as = shape_for(items);
    draw_vectors<P>
        <<<as.grid, as.block, 0, stream>>>(items, of, static_cast<wide_number<P> *>(to), drawn, broken);
    return cudaGetLastError();
}

template <typename T> static cudaError_t divide(const sampling &s) {
    typedef const typename traits<T>::real *reals;
    const gsv_device_dense x = gsv_cuda_dense(&s.x);
    const grid_of_items items = items_of(s.n, x);
    const shape as = shape_for(items);
    scale<T><<<as.grid, as.block, 0, s.stream>>>(items, static_cast<reals>(s.d), gsv_cuda_dense(s.z), x);
    return cudaGetLastError();
}

template <typename T>
static cudaError_t shift(int64_t n, const void *mean, gsv_device_dense x, cudaStream_t stream) {
    const grid_of_items items = items_of(n, x);
    const shape as = shape_for(items);
    add_mean<T><<<as.grid, as.block, 0, stream>>>(items, static_cast<const T *>(mean), x);
    return cudaGetLastError();
}

/* All is on the device. */
static gpusolve_status sample_on_device(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        gpusolve_workspace *workspace, const sampling &s) {
    gsv_message *message = &handle->message;
    const int as_it_is = s.z && !s.d; /* the caller's numbers */
    gpusolve_status status = GPUSOLVE_OK;
    if (s.z && !as_it_is)
        status = gsv_cuda_check(
            for_numbers(factor->dtype, [&](auto number) { return divide<decltype(number)>(s); }),
            "dividing by the roots of D", message);
    return status ? status
                  : gsv_cuda_solve_sample(handle, factor, workspace, s.sample,
                                          !s.z       ? nullptr
                                          : as_it_is ? s.z
                                                     : &s.x,
                                          s.mean, &s.x);
}

/* ------------------------------------------------------------------------------------------ host memory --- */

/* A block on the device, without padding, in the order of the one in host memory. */
static gpusolve_dense packed_at(const gpusolve_dense *host, void *memory) {
    gpusolve_dense packed = *host;
    packed.ld = host->order == GPUSOLVE_ROW_MAJOR ? host->cols : host->rows;
    packed.values = memory;
    return packed;
}

/* What is in host memory goes through device memory that lives for this call: z through x's, if that is there, too. */
static gpusolve_status sample_staged(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     gpusolve_workspace *workspace, sampling s, const gpusolve_dense *x,
                                     int x_on_host, int z_on_host, int mean_on_host) {
    gsv_message *message = &handle->message;
    const int64_t number = int64_t(gsv_dtype_bytes(factor->dtype)),
                  block = (s.n * x->cols * number + 255) / 256 * 256;
    void *memory = nullptr;
    gpusolve_status status = gsv_cuda_malloc(
        &memory, block * (x_on_host + z_on_host) + (mean_on_host ? s.n * number : 0), message);
    char *room = static_cast<char *>(memory);
    gpusolve_dense z;
    cudaError_t error = cudaSuccess;
    if (status == GPUSOLVE_OK && x_on_host) {
        s.x = packed_at(x, room);
        room += block;
    }
    if (status == GPUSOLVE_OK && z_on_host) {
        z = packed_at(s.z, room);
        error = gsv_cuda_copy_block(handle, s.z, room, cudaMemcpyHostToDevice);
        s.z = &z;
        room += block;
    }
    if (status == GPUSOLVE_OK && mean_on_host && error == cudaSuccess) {
        error = cudaMemcpyAsync(room, s.mean, size_t(s.n * number), cudaMemcpyHostToDevice, s.stream);
        s.mean = room;
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(error, "copying to the device", message);
    if (status == GPUSOLVE_OK)
        status = sample_on_device(handle, factor, workspace, s);
    if (status == GPUSOLVE_OK && x_on_host)
        status = gsv_cuda_check(gsv_cuda_copy_block(handle, x, s.x.values, cudaMemcpyDeviceToHost),
                                "copying samples to the host", message);
    error = cudaStreamSynchronize(s.stream); /* also after a failure: it may be using the memory */
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(error, "waiting for samples", message);
    gsv_cuda_free(memory);
    return status ? status : gsv_cuda_workspace_check(handle, workspace);
}

} // namespace gsv

extern "C" cudaError_t gsv_cuda_draw(gpusolve_dtype dtype, const gsv_drawing *drawing, gsv_device_dense x,
                                     cudaStream_t stream) {
    return gsv::for_numbers(dtype,
                            [&](auto number) { return gsv::draw_as<decltype(number)>(*drawing, x, stream); });
}

extern "C" cudaError_t gsv_cuda_draw_vectors(gpusolve_dtype dtype, const gsv_drawing *drawing, void *to,
                                             int columns, int drawn, int *broken, cudaStream_t stream) {
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::draw_vectors_as<decltype(number)>(*drawing, to, columns, drawn, broken, stream);
    });
}

extern "C" cudaError_t gsv_cuda_add_mean(gpusolve_dtype dtype, int64_t n, const void *mean,
                                         gsv_device_dense x, cudaStream_t stream) {
    return gsv::for_numbers(dtype,
                            [&](auto number) { return gsv::shift<decltype(number)>(n, mean, x, stream); });
}

static gpusolve_status draw_and_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, const gsv_sample *sample,
                                      const gpusolve_dense *x) {
    const int previous = gsv_cuda_enter(handle->device);
    const gsv_cuda_factor *device = static_cast<const gsv_cuda_factor *>(factor->prepared);
    const gsv::sampling s = {sample,    x->rows, factor->has_d ? device->plan.d : nullptr, sample->mean,
                             sample->z, *x,      static_cast<cudaStream_t>(handle->stream)};
    const int x_on_host = !gsv_cuda_is_device(x->values),
              z_on_host = sample->z && !gsv_cuda_is_device(sample->z->values),
              mean_on_host = sample->mean && !gsv_cuda_is_device(sample->mean);
    const gpusolve_status status =
        x_on_host || z_on_host || mean_on_host
            ? gsv::sample_staged(handle, factor, workspace, s, x, x_on_host, z_on_host, mean_on_host)
            : gsv::sample_on_device(handle, factor, workspace, s);
    gsv_cuda_leave(previous);
    return status;
}

extern "C" const gsv_product_functions gsv_cuda_products = {draw_and_solve, gsv_cuda_multiply,
                                                            gsv_cuda_product_bytes};
