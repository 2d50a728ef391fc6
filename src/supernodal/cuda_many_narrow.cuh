/*
 * Narrow supernodes of the upper tree for many right-hand sides: a block of eight warps has one supernode,
 * its panel in shared memory as it is stored, packed by columns, and C right-hand sides.
 *
 *   forward   f1 = y(own columns) + what the children owe them, in shared memory; then [x1; u] = [W; -M] f1 +
 *             [0; what the children owe], 32 rows of the front and sixteen right-hand sides a warp (complex:
 *             eight). What children owe several rows is read at the same time: latency is what this costs.
 *   backward  y1 = [W; -M]' [x1; y(rows below)], all columns, at most 32, and eight right-hand sides a warp,
 *             the vectors straight from global memory, for no other warp reads them
 *
 * All number types, in the fragments of fragment.cuh. In lane l = 4 g + q: a rows g + 8 m, terms q and q + 4;
 * v these terms, column g; sums rows g + 8 m, columns 2 q and 2 q + 1.
 *
 * Synchronisation: barriers before the vectors are read, in ready(), and before the products. Traffic: the panel, once a block, from
 * the L2 cache for all but the first group; about nr + 2 nc rows of vectors forward, nr + nc backward.
 */
#ifndef GSV_CUDA_MANY_NARROW_CUH
#define GSV_CUDA_MANY_NARROW_CUH

#include "../dense_kernels/fragment.cuh"
#include "cuda_many_gather.cuh"
#include "cuda_many_tile.cuh"

namespace gsv {

template <typename T, int C> struct many_narrow_room {
    static const int STRIDE = C + (sizeof(T) < 16 ? 4 : 2); /* of a row of f1 */
    static const int F1 = GSV_NARROW_COLUMNS * STRIDE;
    static const int FORWARD = (F1 + GSV_NARROW_ENTRIES) * int(sizeof(T)),
                     BACKWARD = GSV_NARROW_ENTRIES * int(sizeof(T));
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

/* What a warp's unit, 32 rows of a front from `first` on, begins as: what children owe rows below, right-hand
 * sides c + 8 n and the one behind it. Only the first child of each row: many_narrow_owed adds the others. */
template <typename T, int N>
__device__ __forceinline__ void many_narrow_begin(const many_children *children, const gsv_node &node,
                                                  int first, int c, int columns, const T *u,
                                                  T (&sum)[4][N][2]) {
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int i = first + 8 * m + int(threadIdx.x) % 32 / 4;
        const bool owed = i >= node.nc && i < node.nr && children[i].count > 0;
        const T *from = owed ? u + int64_t(children[i].row[0]) * columns + c : nullptr;
#pragma unroll
        for (int n = 0; n < N; n++) {
            sum[m][n][0] = sum[m][n][1] = make<T>(0);
            if (owed)
                load_run(from + 8 * n, sum[m][n]);
        }
    }
}

template <typename T, int N>
__device__ __forceinline__ void many_narrow_owed(const gsv_device_plan &plan, const many_children *children,
                                                 const gsv_node &node, int first, int c, int columns,
                                                 const T *u, T (&sum)[4][N][2]) {
    many_children owed[4];
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int i = first + 8 * m + int(threadIdx.x) % 32 / 4;
        owed[m] = {0, 0, {0, 0}};
        if (i >= node.nc && i < node.nr)
            owed[m] = children[i];
    }
    many_add_children<1, 1>(plan, u, owed, columns, c, 8, sum);
}

template <typename T, int C, typename Ready>
__device__ __forceinline__ void many_narrow_forward_block(const gsv_device_plan &plan, const gsv_node &node,
                                                          int columns, int c0, const T *y, T *x, T *u,
                                                          T *shared, Ready ready) {
    /* right-hand sides of a warp, by eight; rows that a warp brings at the same time */
    constexpr int STRIDE = many_narrow_room<T, C>::STRIDE, N = traits<T>::is_complex ? 1 : 2;
    constexpr int PARTS = C / (8 * N), STEP = 32 * BLOCK_WARPS / PARTS;
    constexpr int AT_ONCE = BLOCK / (C / 2), OWN = GSV_NARROW_COLUMNS / AT_ONCE;
    __shared__ many_children children[GSV_NARROW_ROWS];
    T *f1 = shared, *panel = shared + many_narrow_room<T, C>::F1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const int nr = node.nr, nc = node.nc;
    begin_narrow_panel_block(plan, node, panel);
    const int last_row = BLOCK - 1 - int(threadIdx.x); /* not by the thread that polls */
    if (last_row < nr)
        children[last_row] = many_children_of(plan, node.rows + last_row);
    const bool refuse = !ready() || node.parts != 1; /* this kernel cannot (cuda_sweep.cuh) */
    /* the warp's units: right-hand sides c on, rows first, first + STEP, ... */
    const int c = c0 + warp % PARTS * 8 * N, place = c + 2 * q;
    T sum[4][N][2], ahead[4][N][2];
    many_narrow_begin(children, node, warp / PARTS * 32, place, columns, u, ahead);
    T f[OWN][1][2];
    many_children owed[OWN];
    const int own = int(threadIdx.x) / (C / 2), two = int(threadIdx.x) % (C / 2) * 2;
#pragma unroll
    for (int r = 0; r < OWN; r++) {
        const int i = own + r * AT_ONCE;
        owed[r] = {0, 0, {0, 0}};
        if (i < nc) {
            owed[r] = children[i];
            load_run(y + int64_t(node.first_column + i) * columns + c0 + two, f[r][0]);
        }
    }
    many_add_children<0, traits<T>::is_complex ? 1 : 2>(plan, u, owed, columns, c0 + two, 0, f);
#pragma unroll
    for (int r = 0; r < OWN; r++) {
        const int i = own + r * AT_ONCE;
        if (refuse)
            f[r][0][0] = f[r][0][1] = not_a_number<T>();
        if (i < nc)
            store_run(f1 + i * STRIDE + two, f[r][0]);
    }
    wait_for_copies<0>();
    __syncthreads(); /* f1 and the panel are there */
    const T *v = f1 + q * STRIDE + c - c0 + g;
    for (int first = warp / PARTS * 32; first < nr; first += STEP) {
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    sum[m][n][e] = ahead[m][n][e];
        many_narrow_owed(plan, children, node, first, place, columns, u, sum);
        many_narrow_begin(children, node, first + STEP, place, columns, u, ahead);
        fragment<T, 4, 8 * N> sums;
        sums.set(sum);
        const int last = first + 32 < nc ? first + 32 : nc; /* terms */
        int at[2] = {gsv_narrow_column(nr, q) + first + g, gsv_narrow_column(nr, q + 4) + first + g};
        for (int k0 = 0; k0 < last; k0 += 8) {
            T a[4][2], b[2][N];
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int k = k0 + 4 * s + q;
#pragma unroll
                for (int n = 0; n < N; n++)
                    b[s][n] = k < nc ? v[(k0 + 4 * s) * STRIDE + 8 * n] : make<T>(0);
#pragma unroll
                for (int m = 0; m < 4; m++) {
                    const int i = first + 8 * m + g;
                    a[m][s] = k < nc && i >= k && i < nr ? panel[at[s] + 8 * m] : make<T>(0);
                }
                at[s] += 8 * nr - 8 * k - 36; /* to column k + 8 */
            }
            sums.add_product(a, b);
        }
        sums.result(sum);
#pragma unroll
        for (int m = 0; m < 4; m++) {
            const int i = first + 8 * m + g;
            if (i >= nr)
                continue;
            T *to = i < nc ? x + int64_t(node.first_column + i) * columns + place
                           : u + (node.update + i - nc) * columns + place;
#pragma unroll
            for (int n = 0; n < N; n++)
                store_run(to + 8 * n, sum[m][n]);
        }
        __syncwarp(); /* the multiplications are the warp's */
    }
}

template <typename T, int C, typename Ready>
__device__ __forceinline__ void many_narrow_backward_block(const gsv_device_plan &plan, const gsv_node &node,
                                                           int columns, int c0, const T *x, T *y, T *panel,
                                                           Ready ready) {
    /* rows of a lane that are asked for at the same time; columns of the panel of a warp, by eight */
    constexpr int AHEAD = 64 / int(sizeof(T)) * 2, M = C / 16;
    __shared__ int32_t rows[GSV_NARROW_ROWS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
    const int nr = node.nr, nc = node.nc;
    begin_narrow_panel_block(plan, node, panel);
    if (int(threadIdx.x) < nr)
        rows[threadIdx.x] = plan.rows[node.rows + threadIdx.x];
    const bool refuse = !ready() || node.parts != 1;
    const int c = c0 + warp % (C / 8) * 8,
              column = warp / (C / 8) * 8 * M + g; /* right-hand sides; first column */
    T ahead[AHEAD];
    auto ask = [&](int i0) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = i0 + 4 * k + q;
            ahead[k] = make<T>(0);
            if (i < nr)
                ahead[k] = (i < nc ? x : y)[int64_t(rows[i]) * columns + c + g];
        }
    };
    ask(0);
    fragment<T, M, 8> sums;
    sums.clear();
    int at[M]; /* row q of this lane's column of each fragment */
#pragma unroll
    for (int m = 0; m < M; m++)
        at[m] = gsv_narrow_column(nr, column + 8 * m) + q;
    wait_for_copies<0>();
    __syncthreads(); /* the panel is there */
    for (int first = 0; first < nr; first += 4 * AHEAD) {
        T v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            v[k] = ahead[k];
        ask(first + 4 * AHEAD);
#pragma unroll
        for (int k = 0; k < AHEAD; k += 2) {
            const int i0 = first + 4 * k;
            if (i0 >= nr)
                break;
            T a[M][2], b[2][1] = {{v[k]}, {v[k + 1]}};
#pragma unroll
            for (int s = 0; s < 2; s++)
#pragma unroll
                for (int m = 0; m < M; m++) {
                    const int i = i0 + 4 * s + q, j = column + 8 * m;
                    a[m][s] = conjugate(j < nc && i >= j && i < nr ? panel[at[m] + i0 + 4 * s] : make<T>(0));
                }
            sums.add_product(a, b);
        }
    }
    T sum[M][1][2];
    sums.result(sum);
#pragma unroll
    for (int m = 0; m < M; m++) {
        if (refuse)
            sum[m][0][0] = sum[m][0][1] = not_a_number<T>();
        if (column + 8 * m < nc)
            store_run(y + int64_t(node.first_column + column + 8 * m) * columns + c + 2 * q, sum[m][0]);
    }
}

} // namespace gsv
#endif
