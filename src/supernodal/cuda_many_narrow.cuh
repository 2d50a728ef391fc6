/*
 * Narrow supernodes of the upper tree for many right-hand sides: a block of eight warps has one supernode,
 * its panel in shared memory as it is stored, packed by columns, and GSV_MANY_COLUMNS right-hand sides.
 *
 *   forward   f1 = y(own columns) + what the children owe them, in shared memory; then [x1; u] = [W; -M] f1 +
 *             [0; what the children owe], 32 rows of the front and sixteen right-hand sides a warp (complex:
 *             eight). What children owe several rows is read at the same time: latency is what this costs.
 *   backward  y1 = [W; -M]' [x1; y(rows below)], all columns, at most 32, and eight right-hand sides a warp,
 *             the vectors straight from global memory, for no other warp reads them
 *
 * All number types: the fragments of m8n8k4 (tensor_product.cuh), four real products for a complex one, and
 * single precision widened, as in fragment.cuh. In lane l = 4 g + q: a row g, term q; v term q, column g;
 * sums row g, columns 2 q and 2 q + 1.
 *
 * Synchronisation: a barrier before the products; wait_for_vectors. Traffic: the panel, once a block, from
 * the L2 cache for all but the first group; about nr + 2 nc rows of vectors forward, nr + nc backward.
 */
#ifndef GSV_CUDA_MANY_NARROW_CUH
#define GSV_CUDA_MANY_NARROW_CUH

#include "../dense_kernels/tensor_product.cuh"
#include "cuda_many_gather.cuh"
#include "cuda_many_tile.cuh"

namespace gsv {

/* The sums of a fragment of 8 x 8. */
template <typename T> struct many_sums {
    double c[2];
    __device__ __forceinline__ void clear() {
        c[0] = c[1] = 0;
    }
    __device__ __forceinline__ void add_product(T a, T x) {
        multiply_add_warp(c, double(a), double(x));
    }
    __device__ __forceinline__ void result(T (&to)[2]) const {
        to[0] = T(c[0]);
        to[1] = T(c[1]);
    }
};
template <typename R> struct many_sums<complex<R>> {
    double re[2], im[2];
    __device__ __forceinline__ void clear() {
        re[0] = re[1] = im[0] = im[1] = 0;
    }
    __device__ __forceinline__ void add_product(complex<R> a, complex<R> x) {
        multiply_add_warp(re, double(a.re), double(x.re));
        multiply_add_warp(im, double(a.re), double(x.im));
        multiply_add_warp(re, -double(a.im), double(x.im));
        multiply_add_warp(im, double(a.im), double(x.re));
    }
    __device__ __forceinline__ void result(complex<R> (&to)[2]) const {
        to[0] = {R(re[0]), R(im[0])};
        to[1] = {R(re[1]), R(im[1])};
    }
};

template <typename T> struct many_narrow_room {
    static const int STRIDE = GSV_MANY_COLUMNS + (sizeof(T) < 16 ? 4 : 2); /* of a row of f1 */
    static const int F1 = GSV_NARROW_COLUMNS * STRIDE;
    static const int FORWARD = (F1 + GSV_NARROW_ENTRIES) * int(sizeof(T)),
                     BACKWARD = GSV_NARROW_ENTRIES * int(sizeof(T));
    static const int FORWARD_RESIDENT = 2, BACKWARD_RESIDENT = 3; /* blocks of an SM, by registers */
};

/* Begin to bring the panel. */
template <typename T>
__device__ __forceinline__ void begin_narrow_panel_block(const gsv_device_plan &plan, const gsv_node &node,
                                                         T *to) {
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const int numbers = node.nr * node.nc - node.nc * (node.nc - 1) / 2;
    for (int e = threadIdx.x; e < numbers; e += BLOCK)
        begin_copy<int(sizeof(T))>(to + e, panel + e, true);
    commit_copies();
}

template <typename T>
__device__ __forceinline__ void many_narrow_forward_block(const gsv_device_plan &plan, const gsv_node &node,
                                                          int columns, int c0, const T *y, T *x, T *u,
                                                          T *shared) {
    /* right-hand sides of a warp, by eight; rows whose children are read at the same time */
    constexpr int STRIDE = many_narrow_room<T>::STRIDE, N = traits<T>::is_complex ? 1 : 2;
    constexpr int ROWS = 4, OWN = 4;
    __shared__ many_children children[GSV_NARROW_ROWS];
    T *f1 = shared, *panel = shared + many_narrow_room<T>::F1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const int nr = node.nr, nc = node.nc;
    begin_narrow_panel_block(plan, node, panel);
    if (int(threadIdx.x) < nr)
        children[threadIdx.x] = many_children_of(plan, node.rows + threadIdx.x);
    __syncthreads(); /* the children's lists are there */
    wait_for_vectors();
    for (int i0 = warp; i0 < nc; i0 += OWN * BLOCK_WARPS) {
        T sum[OWN][1][2];
        many_children owed[OWN];
#pragma unroll
        for (int r = 0; r < OWN; r++) {
            const int i = i0 + r * BLOCK_WARPS;
            owed[r] = {0, 0, {0, 0}};
            if (i < nc) {
                owed[r] = children[i];
                load_run(y + int64_t(node.first_column + i) * columns + c0 + 2 * lane, sum[r][0]);
            }
        }
        many_add_children(plan, u, owed, columns, c0 + 2 * lane, 0, sum);
#pragma unroll
        for (int r = 0; r < OWN; r++) {
            const int i = i0 + r * BLOCK_WARPS;
            if (node.parts != 1)
                sum[r][0][0] = sum[r][0][1] = not_a_number<T>(); /* this kernel cannot (cuda_sweep.cuh) */
            if (i < nc)
                store_run(f1 + i * STRIDE + 2 * lane, sum[r][0]);
        }
    }
    wait_for_copies<0>();
    __syncthreads(); /* f1 and the panel are there */
    constexpr int PARTS = GSV_MANY_COLUMNS / (8 * N);
    const int units = (nr + 31) / 32 * PARTS;
    for (int unit = warp; unit < units; unit += BLOCK_WARPS) {
        const int first = unit / PARTS * 32, c = unit % PARTS * 8 * N;
        const int last = first + 32 < nc ? first + 32 : nc; /* terms */
        many_sums<T> sums[4][N];
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
            for (int n = 0; n < N; n++)
                sums[m][n].clear();
        int at = gsv_narrow_column(nr, q) + first + g;
        for (int k0 = 0; k0 < last; k0 += 4) {
            const int k = k0 + q;
            T v[N];
#pragma unroll
            for (int n = 0; n < N; n++)
                v[n] = k < nc ? f1[k * STRIDE + c + 8 * n + g] : make<T>(0);
#pragma unroll
            for (int m = 0; m < 4; m++) {
                const int i = first + 8 * m + g;
                if (first + 8 * m >= nr)
                    continue;
                const T a = k < nc && i >= k && i < nr ? panel[at + 8 * m] : make<T>(0);
#pragma unroll
                for (int n = 0; n < N; n++)
                    sums[m][n].add_product(a, v[n]);
            }
            at += 4 * nr - 4 * k - 10; /* to column k + 4 */
        }
        const int place = c0 + c + 2 * q;
#pragma unroll
        for (int m = 0; m < 4; m += ROWS) {
            T sum[ROWS][N][2];
            many_children owed[ROWS];
#pragma unroll
            for (int e = 0; e < ROWS; e++) {
                const int i = first + 8 * (m + e) + g;
#pragma unroll
                for (int n = 0; n < N; n++)
                    sums[m + e][n].result(sum[e][n]);
                owed[e] = {0, 0, {0, 0}};
                if (i >= nc && i < nr)
                    owed[e] = children[i];
            }
            many_add_children(plan, u, owed, columns, place, 8, sum);
#pragma unroll
            for (int e = 0; e < ROWS; e++) {
                const int i = first + 8 * (m + e) + g;
                if (i >= nr)
                    continue;
                T *to = i < nc ? x + int64_t(node.first_column + i) * columns + place
                               : u + (node.update + i - nc) * columns + place;
#pragma unroll
                for (int n = 0; n < N; n++)
                    store_run(to + 8 * n, sum[e][n]);
            }
        }
        __syncwarp(); /* the multiplications are the warp's */
    }
}

template <typename T>
__device__ __forceinline__ void many_narrow_backward_block(const gsv_device_plan &plan, const gsv_node &node,
                                                           int columns, int c0, const T *x, T *y, T *panel) {
    __shared__ int32_t rows[GSV_NARROW_ROWS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const int nr = node.nr, nc = node.nc;
    begin_narrow_panel_block(plan, node, panel);
    if (int(threadIdx.x) < nr)
        rows[threadIdx.x] = plan.rows[node.rows + threadIdx.x];
    wait_for_copies<0>();
    __syncthreads(); /* panel and rows are there */
    wait_for_vectors();
    const int c = c0 + 8 * warp;
    many_sums<T> sums[4];
    int at[4]; /* row q of this lane's column of each fragment */
#pragma unroll
    for (int m = 0; m < 4; m++) {
        sums[m].clear();
        at[m] = gsv_narrow_column(nr, 8 * m + g) + q;
    }
#pragma unroll 8
    for (int i0 = 0; i0 < nr; i0 += 4) {
        const int i = i0 + q;
        T v = make<T>(0);
        if (i < nr)
            v = (i < nc ? x : y)[int64_t(rows[i]) * columns + c + g];
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const int j = 8 * m + g;
            if (8 * m < nc)
                sums[m].add_product(conjugate(j < nc && i >= j && i < nr ? panel[at[m] + i0] : make<T>(0)),
                                    v);
        }
    }
#pragma unroll
    for (int m = 0; m < 4; m++) {
        T sum[2];
        sums[m].result(sum);
        if (node.parts != 1)
            sum[0] = sum[1] = not_a_number<T>();
        if (8 * m + g < nc)
            store_run(y + int64_t(node.first_column + 8 * m + g) * columns + c + 2 * q, sum);
    }
}

/* The narrow supernodes of a level, forward: first blocks; and the assemble tasks of the others. */
template <typename T>
__global__ void __launch_bounds__(BLOCK, many_narrow_room<T>::FORWARD_RESIDENT)
    many_first_kernel(gsv_device_plan plan, const gsv_many_task *narrow, int count,
                      const gsv_many_task *assemblies, int groups, T *y, T *x, T *u) {
    extern __shared__ int4 shared[];
    const int task = blockIdx.x / groups, columns = groups * GSV_MANY_COLUMNS;
    const int c0 = blockIdx.x % groups * GSV_MANY_COLUMNS;
    if (task < count)
        many_narrow_forward_block(plan, many_node(plan, narrow[task].node), columns, c0, y, x, u,
                                  reinterpret_cast<T *>(shared));
    else
        many_assemble_block(plan, assemblies[task - count], columns, c0, y, u);
}

template <typename T>
__global__ void __launch_bounds__(BLOCK, many_narrow_room<T>::BACKWARD_RESIDENT)
    many_narrow_backward_kernel(gsv_device_plan plan, const gsv_many_task *narrow, int groups, const T *x,
                                T *y) {
    extern __shared__ int4 shared[];
    many_narrow_backward_block(plan, many_node(plan, narrow[blockIdx.x / groups].node),
                               groups * GSV_MANY_COLUMNS, blockIdx.x % groups * GSV_MANY_COLUMNS, x, y,
                               reinterpret_cast<T *>(shared));
}

} // namespace gsv
#endif
