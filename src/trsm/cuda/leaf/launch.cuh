/* Host launchers of a precision: each leaf_<p>.cu makes its table from here. */
#ifndef GSV_TRSM_CUDA_LEAF_LAUNCH_CUH
#define GSV_TRSM_CUDA_LEAF_LAUNCH_CUH

#include <type_traits>

#include "cluster.cuh"
#include "multiply.cuh"
#include "panel.cuh"

namespace gsv {

/* to = from, both [rows][columns], COLUMNS columns a thread */
template <typename T, int COLUMNS>
__global__ void __launch_bounds__(LEAF_THREADS)
    copy_block_kernel(const T *from, int64_t from_ld, T *to, int64_t to_ld, int64_t rows, int64_t columns) {
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const int64_t row_blocks = (rows + LEAF_THREADS - 1) / LEAF_THREADS;
    for (int64_t k = blockIdx.x; k < row_blocks * ((columns + COLUMNS - 1) / COLUMNS); k += gridDim.x) {
        const int64_t i = k % row_blocks * LEAF_THREADS + threadIdx.x, j = k / row_blocks * COLUMNS;
        T piece[COLUMNS]; /* all asked for before the first is stored */
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (i < rows && j + c < columns)
                piece[c] = load_panel(from + i + (j + c) * from_ld);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (i < rows && j + c < columns)
                to[i + (j + c) * to_ld] = piece[c];
    }
}

/* The triangle of `from` (NULL: the identity), and zeros in the other one if it is to be filled. */
template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS)
    copy_triangle_kernel(const T *from, int64_t from_ld, T *to, int64_t to_ld, int32_t n, bool lower,
                         bool fill) {
    wait_for_earlier_kernels();
    let_next_kernel_start();
    const int32_t j = int32_t(blockIdx.x);
    for (int32_t i = threadIdx.x; i < n; i += LEAF_THREADS)
        if (lower ? i >= j : i <= j)
            to[i + j * to_ld] = from ? from[i + j * from_ld] : make<T>(i == j ? 1 : 0);
        else if (fill)
            to[i + j * to_ld] = make<T>(0);
}

template <typename T>
__global__ void __launch_bounds__(LEAF_THREADS) zero_kernel(T *b, int64_t rows, int64_t columns, int64_t ld) {
    for (int64_t e = int64_t(blockIdx.x) * LEAF_THREADS + threadIdx.x; e < rows * columns;
         e += int64_t(gridDim.x) * LEAF_THREADS)
        b[e % rows + e / rows * ld] = make<T>(0);
}

template <typename T> T number_of(gsv_number a) {
    typedef typename traits<T>::real real;
    if constexpr (traits<T>::is_complex)
        return T{real(a.re), real(a.im)};
    else
        return real(a.re);
}

template <typename T> leaf_triangle<T> triangle_of(const gsv_leaf *leaf) {
    return {static_cast<const T *>(leaf->a), leaf->a_row,    leaf->a_column, int32_t(leaf->order),
            leaf->conjugated != 0,           leaf->unit != 0};
}

template <typename T> leaf_problem<T> problem_of(const gsv_leaf *leaf) {
    leaf_problem<T> p = {};
    p.t = triangle_of<T>(leaf);
    p.b = static_cast<T *>(leaf->b);
    p.b_row = leaf->b_row;
    p.b_column = leaf->b_column;
    p.vectors = int32_t(leaf->vectors);
    p.blocks = int32_t((leaf->order + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS);
    p.groups = int32_t((leaf->vectors + leaf->group - 1) / leaf->group);
    p.alpha = number_of<T>(leaf->alpha);
    p.inverse = static_cast<const T *>(leaf->inverse);
    p.substitute = leaf->substitute;
    p.exchange = static_cast<T *>(leaf->exchange);
    p.next_exchange = static_cast<T *>(leaf->next_exchange);
    p.exchange_rows = leaf->exchange_rows;
    p.ticket = leaf->ticket;
    p.premultiplied = leaf->premultiplied != 0;
    return p;
}

template <typename T, int N> cudaError_t solve_group(const gsv_leaf *leaf, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    return launch_overlapped(solve_kernel<T, N>, int64_t(p.blocks) * p.groups, LEAF_THREADS,
                             solve_shape<T, N>::BYTES, stream, p);
}

template <typename T, int N> cudaError_t panel_group(const gsv_leaf *leaf, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    if constexpr (N == 8)
        if (p.blocks * GSV_LEAF_ROWS > GSV_PANEL_ROWS)
            return launch_overlapped(solve_panel_kernel<T, N, GSV_TALL_PANEL_ROWS>, p.groups, LEAF_THREADS,
                                     panel_shape<T, N, GSV_TALL_PANEL_ROWS>::BYTES, stream, p);
    return launch_overlapped(solve_panel_kernel<T, N, GSV_PANEL_ROWS>, p.groups, LEAF_THREADS,
                             panel_shape<T, N, GSV_PANEL_ROWS>::BYTES, stream, p);
}

/* launch_overlapped in clusters of `cluster` thread blocks. */
template <typename... Parameters, typename... Arguments>
cudaError_t launch_clusters(void (*kernel)(Parameters...), int64_t blocks, int cluster, size_t shared,
                            cudaStream_t stream, Arguments... arguments) {
    const void *const function = reinterpret_cast<const void *>(kernel);
    cudaError_t error =
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
    if (error == cudaSuccess && cluster > 8)
        error = cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess)
        return error;
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = unsigned(cluster);
    attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(unsigned(blocks));
    config.blockDim = dim3(LEAF_THREADS);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

template <typename T, int N>
cudaError_t product_group(const gsv_leaf *leaf, int cluster, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    return launch_clusters(product_kernel<T, N>, int64_t(p.groups) * cluster, cluster,
                           product_shape<T, N>::bytes((p.blocks + cluster - 1) / cluster), stream, p,
                           cluster);
}

template <typename T, int N> cudaError_t multiply_group(const gsv_leaf *leaf, cudaStream_t stream) {
    const leaf_problem<T> p = problem_of<T>(leaf);
    const int64_t tasks = int64_t(p.blocks) * p.groups;
    const int chunk = leaf->chunk, chunks = (p.blocks + chunk - 1) / chunk;
    T *partial = static_cast<T *>(leaf->partial);
    cudaError_t error = launch_overlapped(copy_vectors_kernel<T, N>, tasks, LEAF_THREADS, 0, stream, p);
    if (error == cudaSuccess)
        error = launch_overlapped(multiply_kernel<T, N>, tasks * chunks, LEAF_THREADS,
                                  leaf_shape<T, N>::SUMS * sizeof(T), stream, p, chunk, chunks, partial);
    if (error == cudaSuccess && chunks > 1)
        error = launch_overlapped(add_chunks_kernel<T, N>, tasks, LEAF_THREADS, 0, stream, p, chunk, chunks,
                                  partial);
    return error;
}

template <typename T> constexpr int widest_group() {
    return !traits<T>::is_complex ? 32 : sizeof(T) == 8 ? 16 : 8;
}

/* Calls call(group), an integral constant: vectors of a group. */
template <typename T, typename Call> cudaError_t by_group(int group, Call call) {
    if (group == 8)
        return call(std::integral_constant<int, 8>());
    if constexpr (widest_group<T>() >= 16)
        if (group == 16)
            return call(std::integral_constant<int, 16>());
    if constexpr (widest_group<T>() >= 32)
        if (group == 32)
            return call(std::integral_constant<int, 32>());
    return cudaErrorInvalidValue;
}

template <typename T> struct leaf_launcher {
    static cudaError_t invert(const gsv_leaf *leaf, void *clear, int64_t clear_bytes, cudaStream_t stream) {
        return launch_overlapped(invert_blocks_kernel<T>, (leaf->order + GSV_LEAF_ROWS - 1) / GSV_LEAF_ROWS,
                                 LEAF_THREADS, invert_shared<T>::BYTES, stream, triangle_of<T>(leaf),
                                 static_cast<T *>(leaf->inverse), leaf->substitute,
                                 static_cast<int4 *>(clear), clear_bytes / 16);
    }
    static cudaError_t solve(const gsv_leaf *leaf, cudaStream_t stream) {
        return by_group<T>(leaf->group, [&](auto group) { return solve_group<T, group>(leaf, stream); });
    }
    static cudaError_t multiply(const gsv_leaf *leaf, cudaStream_t stream) {
        return by_group<T>(leaf->group, [&](auto group) { return multiply_group<T, group>(leaf, stream); });
    }
    static cudaError_t solve_panel(const gsv_leaf *leaf, cudaStream_t stream) {
        return by_group<T>(leaf->group, [&](auto group) { return panel_group<T, group>(leaf, stream); });
    }
    static cudaError_t product(const gsv_leaf *leaf, int cluster, cudaStream_t stream) {
        return by_group<T>(leaf->group,
                           [&](auto group) { return product_group<T, group>(leaf, cluster, stream); });
    }
    static cudaError_t zero(void *b, int64_t rows, int64_t columns, int64_t ld, cudaStream_t stream) {
        const int64_t blocks = (rows * columns + 4 * LEAF_THREADS - 1) / (4 * LEAF_THREADS);
        zero_kernel<T><<<unsigned(blocks < 4096 ? blocks : 4096), LEAF_THREADS, 0, stream>>>(
            static_cast<T *>(b), rows, columns, ld);
        return cudaGetLastError();
    }
    static cudaError_t copy(const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t rows,
                            int64_t columns, cudaStream_t stream) {
        const int64_t row_blocks = (rows + LEAF_THREADS - 1) / LEAF_THREADS;
        const T *source = static_cast<const T *>(from);
        T *target = static_cast<T *>(to);
        if (row_blocks * columns <= 1056) /* few numbers: many threads */
            return launch_overlapped(copy_block_kernel<T, 1>, row_blocks * columns, LEAF_THREADS, 0, stream,
                                     source, from_ld, target, to_ld, rows, columns);
        const int64_t pieces = row_blocks * ((columns + 7) / 8);
        return launch_overlapped(copy_block_kernel<T, 8>, pieces < 2112 ? pieces : 2112, LEAF_THREADS, 0,
                                 stream, source, from_ld, target, to_ld, rows, columns);
    }
    static cudaError_t copy_triangle(const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t n,
                                     int lower, int fill, cudaStream_t stream) {
        return launch_overlapped(copy_triangle_kernel<T>, n, LEAF_THREADS, 0, stream,
                                 static_cast<const T *>(from), from_ld, static_cast<T *>(to), to_ld,
                                 int32_t(n), lower != 0, fill != 0);
    }
};

/* The table of a precision. Bytes of shared memory: those of a solve serve the inversion before it, too. */
template <typename T> constexpr gsv_leaf_functions leaf_table() {
    gsv_leaf_functions table = {};
    constexpr int INVERT = invert_shared<T>::BYTES, WIDEST = widest_group<T>();
    const int groups[] = {8, 16, 32};
    const int solve[] = {solve_shape<T, 8>::BYTES, solve_shape<T, 16>::BYTES, solve_shape<T, 32>::BYTES};
    const int panel[] = {panel_shape<T, 8, GSV_PANEL_ROWS>::BYTES, panel_shape<T, 16, GSV_PANEL_ROWS>::BYTES,
                         panel_shape<T, 32, GSV_PANEL_ROWS>::BYTES};
    const int tall = panel_shape<T, 8, GSV_TALL_PANEL_ROWS>::BYTES;
    const int product[] = {product_shape<T, 8>::bytes(0), product_shape<T, 16>::bytes(0),
                           product_shape<T, 32>::bytes(0)};
    const int row[] = {product_shape<T, 8>::RESULT, product_shape<T, 16>::RESULT,
                       product_shape<T, 32>::RESULT};
    for (int k = 0; k < 3 && groups[k] <= WIDEST; k++) {
        table.groups[k] = groups[k];
        table.solve_shared[k] = solve[k] > INVERT ? solve[k] : INVERT;
        table.panel_shared[k] = panel[k] > INVERT ? panel[k] : INVERT;
        table.product_shared[k] = product[k];
        table.product_row_shared[k] = row[k] * int(sizeof(T));
    }
    table.tall_panel_shared = tall > INVERT ? tall : INVERT;
    table.invert = leaf_launcher<T>::invert;
    table.solve = leaf_launcher<T>::solve;
    table.solve_panel = leaf_launcher<T>::solve_panel;
    table.multiply = leaf_launcher<T>::multiply;
    table.product = leaf_launcher<T>::product;
    table.zero = leaf_launcher<T>::zero;
    table.copy = leaf_launcher<T>::copy;
    table.copy_triangle = leaf_launcher<T>::copy_triangle;
    return table;
}

} // namespace gsv
#endif
