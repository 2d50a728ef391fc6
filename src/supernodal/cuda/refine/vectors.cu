/* The vectors of refinement: to and from the caller's blocks, and x + d where the residual does not add it up. */
#include "../shared/for_numbers.cuh"
#include "residual_lane.cuh"

namespace gsv {

enum {
    THREADS = 256,
    TILE_COLUMNS = 32,
    LOG_TILE_NUMBERS = 10,
    TILE_NUMBERS = 1 << LOG_TILE_NUMBERS,
    EACH = TILE_NUMBERS / THREADS
};

/* A tile: 2^across columns, and as many rows as make TILE_NUMBERS with them: the fewer columns, the more rows. */
struct tile_shape {
    int across;
    __host__ __device__ int columns() const {
        return 1 << across;
    }
    __host__ __device__ int rows() const {
        return TILE_NUMBERS >> across;
    }
    __device__ int down() const {
        return LOG_TILE_NUMBERS - across;
    }
};

inline tile_shape shape_of(int32_t columns) {
    tile_shape shape = {0};
    while (shape.columns() < columns && shape.columns() < TILE_COLUMNS)
        shape.across++;
    return shape;
}

/* A tile's numbers in the order in which they lie in memory: columns are contiguous, or nearly, or rows are. */
struct tile_walk {
    tile_shape shape;
    bool down;
    __device__ int row(int k) const {
        return down ? k & (shape.rows() - 1) : k >> shape.across;
    }
    __device__ int column(int k) const {
        return down ? k >> shape.down() : k & (shape.columns() - 1);
    }
};

__device__ __forceinline__ bool goes_down(const gsv_device_dense &dense) {
    return dense.row_stride <= dense.column_stride;
}

/* to(i, j) = from(i, j), or, with `kept`, the x that is kept of column j: in from or in second, or zeros. Grid: x over tiles of rows,
 * y over tiles of columns. Either side is read and written in the order of its memory: the tile is turned in shared memory. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 6)
    copy_kernel(int32_t n, tile_shape shape, gsv_device_dense from, gsv_device_dense to,
                const gsv_refine_column *kept, const void *second) {
    __shared__ T tile[TILE_NUMBERS + TILE_COLUMNS];
    const tile_walk in = {shape, goes_down(from)}, out = {shape, goes_down(to)};
    const int pitch = shape.rows() + 1;
    const int64_t first = int64_t(blockIdx.x) * shape.rows();
    const int rows = int(n - first < shape.rows() ? n - first : shape.rows());
    const int64_t column = int64_t(blockIdx.y) * shape.columns();
    const int columns = int(to.columns - column < shape.columns() ? to.columns - column : shape.columns());
    T numbers[EACH]; /* all of a thread's are under way at once */
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int k = threadIdx.x + e * THREADS, i = in.row(k), j = in.column(k);
        numbers[e] = make<T>(0);
        if (i >= rows || j >= columns)
            continue;
        const int place = kept ? kept[column + j].place : int(GSV_REFINE_FIRST);
        const T *source = static_cast<const T *>(place == GSV_REFINE_SECOND ? second : from.values);
        if (place != GSV_REFINE_ZEROS)
            numbers[e] = source[(first + i) * from.row_stride + (column + j) * from.column_stride];
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int k = threadIdx.x + e * THREADS;
        tile[in.column(k) * pitch + in.row(k)] = numbers[e];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int k = threadIdx.x + e * THREADS, i = out.row(k), j = out.column(k);
        if (i < rows && j < columns)
            static_cast<T *>(to.values)[(first + i) * to.row_stride + (column + j) * to.column_stride] =
                tile[j * pitch + i];
    }
}

/* TO = X + D in active columns, by rows of `packs` times V numbers. A block has some rows, or one. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS) add_kernel(int32_t n, int32_t columns, int packs, const T *x,
                                                      const T *d, T *to, const gsv_refine_column *state) {
    const int across = packs < THREADS ? packs : THREADS;
    const int64_t i = int64_t(blockIdx.x) * (THREADS / across) + threadIdx.x / across;
    if (int(threadIdx.x) >= THREADS / across * across || i >= n)
        return;
    for (int p = threadIdx.x % across; p < packs; p += across) {
        const int64_t at = (i * packs + p) * V;
        alignas(16) T a[V], b[V];
        bool every = true;
        load_columns(&x[at], a);
        load_columns(&d[at], b);
#pragma unroll
        for (int v = 0; v < V; v++) {
            a[v] = add(a[v], b[v]);
            every &= p * V + v >= columns || state[p * V + v].active; /* what is no column may be written */
        }
        if (every)
            store_columns(&to[at], a);
        else
#pragma unroll
            for (int v = 0; v < V; v++)
                if (p * V + v < columns && state[p * V + v].active)
                    to[at + v] = a[v];
    }
}

/* What is known of the columns, to the caller: by one block, second parts after first ones. */
__global__ void __launch_bounds__(THREADS)
    tell_kernel(const gsv_refine_column *columns, int32_t count, const gsv_refine_results to) {
    const gsv_refine_column nothing = {};
    for (int second = 0; second < 2; second++) {
        for (int j = threadIdx.x; j < count; j += THREADS)
            if (gsv_refine_is_second(&to, j) == (second != 0))
                gsv_refine_note(&to, j, columns ? &columns[j] : &nothing);
        __syncthreads(); /* the first parts are there */
    }
}

template <typename T> struct vector_calls {
    static cudaError_t copy(int32_t n, gsv_device_dense from, gsv_device_dense to,
                            const gsv_refine_column *kept, const void *second, cudaStream_t stream) {
        const tile_shape shape = shape_of(to.columns);
        const dim3 grid(unsigned((int64_t(n) + shape.rows() - 1) / shape.rows()),
                        unsigned((int64_t(to.columns) + shape.columns() - 1) / shape.columns()));
        copy_kernel<T><<<grid, THREADS, 0, stream>>>(n, shape, from, to, kept, second);
        return cudaGetLastError();
    }
    template <int V> static cudaError_t add_packs(const gsv_residual *job, cudaStream_t stream) {
        const int packs = int(job->stride / V), rows = packs < THREADS ? THREADS / packs : 1;
        add_kernel<T, V><<<unsigned((int64_t(job->n) + rows - 1) / rows), THREADS, 0, stream>>>(
            job->n, job->columns, packs, static_cast<const T *>(job->x), static_cast<const T *>(job->d),
            static_cast<T *>(job->sum), job->v.columns);
        return cudaGetLastError();
    }
    static cudaError_t add(const gsv_residual *job, cudaStream_t stream) {
        return job->columns == 1 ? add_packs<1>(job, stream) : add_packs<16 / sizeof(T)>(job, stream);
    }
};

} // namespace gsv

cudaError_t gsv_refine_copy(gpusolve_dtype dtype, int32_t n, gsv_device_dense from, gsv_device_dense to,
                            cudaStream_t stream) {
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::vector_calls<decltype(number)>::copy(n, from, to, nullptr, nullptr, stream);
    });
}

cudaError_t gsv_refine_keep(gpusolve_dtype dtype, int32_t n, const gsv_refine_vectors *v, gsv_device_dense to,
                            cudaStream_t stream) {
    const gsv_device_dense from = {v->x[0], gsv_refine_stride(dtype, to.columns), 1, to.columns};
    return gsv::for_numbers(dtype, [&](auto number) {
        return gsv::vector_calls<decltype(number)>::copy(n, from, to, v->columns, v->x[1], stream);
    });
}

cudaError_t gsv_refine_add(gpusolve_dtype dtype, const gsv_residual *job, cudaStream_t stream) {
    return gsv::for_numbers(
        dtype, [&](auto number) { return gsv::vector_calls<decltype(number)>::add(job, stream); });
}

cudaError_t gsv_refine_tell(const gsv_refine_column *columns, int32_t count, const gsv_refine_results *to,
                            cudaStream_t stream) {
    gsv::tell_kernel<<<1, gsv::THREADS, 0, stream>>>(columns, count, *to);
    return cudaGetLastError();
}
