/*
 * Wide supernodes whose triangle is too ill-conditioned to be inverted (cuda_panel_inverse.h says which).
 * Their panel holds [L1; -L2], L1 negated but for its diagonal, and one block does all of a supernode, block
 * row by block row:
 *
 *      forward    x(I) = L(I, I) \ (f(I) - sum over J < I of L(I, J) x(J))         then u = f2 - L2 x
 *      backward   y(J) = L(J, J)' \ (x(J) - sum over I > J of L(I, J)' y(I))       from the last to the first
 *
 * the sums as products with tiles, the 16 x 16 triangles by substitution in shared memory, a barrier a
 * column. Slow beside the products, nc / 16 dependent steps of a few microseconds, but such supernodes are
 * few. The task with first == 0 does the work in the first pass, the supernode's other tasks return.
 */
#ifndef GSV_CUDA_SUBSTITUTE_CUH
#define GSV_CUDA_SUBSTITUTE_CUH

#include "cuda_wide.cuh"

namespace gsv {

/* shared: 16 x NR numbers, the block row at work, then block_row::PARTIALS. */
template <typename T, int NR>
__device__ void substitute_forward_wide(const gsv_device_plan &plan, const gsv_node &node, const T *y, T *x,
                                        T *u, bool leaf, T *shared) {
    typedef block_row<T, NR> row;
    const int nr = node.nr, nc = node.nc, e = threadIdx.x * row::RUN;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    T *s = shared, *partial = shared + 16 * NR;
    T *own = x + int64_t(node.first_column) * NR;
    wait_for_vectors();
    for (int block_row = 0; GSV_TILE * block_row < nr; block_row++) {
        const int top = GSV_TILE * block_row, before = top < nc ? top : nc;
        const int live = nc - before < GSV_TILE ? nc - before : GSV_TILE;
        const T *tile = panel + gsv_block_row_start(nc, block_row);
        row product(tile, before);
        T sum[row::RUN];
        product.run(own, partial, sum);
        if (row::has_result() && top + e / NR < nr) {
            const int i = top + e / NR, c = e % NR;
            T f[row::RUN];
#pragma unroll
            for (int k = 0; k < row::RUN; k++)
                f[k] = make<T>(0);
            if (i < nc)
                load_run(&y[int64_t(node.first_column + i) * NR + c], f);
            else if (!leaf)
                load_run(&u[(node.update + i - nc) * NR + c], f);
#pragma unroll
            for (int k = 0; k < row::RUN; k++)
                s[e + k] = add(f[k], sum[k]);
        }
        __syncthreads(); /* the sums are complete */
        const T *triangle = tile + 16 * int64_t(before);
        for (int j = 0; j < live; j++) {
            for (int k = threadIdx.x; k < 16 * NR; k += BLOCK)
                if (k / NR > j)
                    s[k] = multiply_add(s[k], triangle[16 * j + k / NR],
                                        divide(s[j * NR + k % NR], triangle[17 * j]));
            __syncthreads(); /* row j + 1 is complete; nobody writes row j */
        }
        for (int k = threadIdx.x; k < 16 * NR && top + k / NR < nr; k += BLOCK) {
            const int r = k / NR, i = top + r, c = k % NR;
            if (i < nc)
                own[int64_t(i) * NR + c] = divide(s[k], triangle[17 * r]);
            else
                u[(node.update + i - nc) * NR + c] = s[k];
        }
        __syncthreads(); /* own is there for the block rows to come, and s may go */
    }
}

template <typename T, int NR>
__device__ void substitute_backward_wide(const gsv_device_plan &plan, const gsv_node &node, const T *x, T *y,
                                         T *shared) {
    const int nc = node.nc;
    const T *panel = static_cast<const T *>(plan.panels) + node.panel;
    const int32_t *rows = plan.rows + node.rows;
    T *own = y + int64_t(node.first_column) * NR;
    for (int block = (nc - 1) / GSV_TILE; block >= 0; block--) {
        const int top = GSV_TILE * block, below = top + GSV_TILE < nc ? top + GSV_TILE : nc,
                  live = below - top;
        for (int first = top; first < below; first += GSV_BACKWARD_COLUMNS) {
            T *to = own + int64_t(first) * NR;
            const T *from = x + int64_t(node.first_column + first) * NR;
            transposed_columns<T, NR>(
                plan, node, first, shared,
                [&](int i, int c) { /* the triangle's own rows wait for D' */
                                    return i < below ? make<T>(0)
                                           : i < nc  ? own[int64_t(i) * NR + c]
                                                     : y[int64_t(rows[i]) * NR + c];
                },
                [&](int j, int c, auto &total) {
                    constexpr int RUN = sizeof(total) / sizeof(T);
#pragma unroll
                    for (int k = 0; k < RUN; k++)
                        to[j * NR + c + k] = add(from[j * NR + c + k], total[k]);
                });
            __syncthreads(); /* shared memory is free, and these columns of own are there */
        }
        const T *triangle = panel + gsv_block_row_start(nc, block) + 16 * int64_t(top);
        for (int k = threadIdx.x; k < live * NR; k += BLOCK)
            shared[k] = own[int64_t(top) * NR + k];
        __syncthreads(); /* the sums are complete */
        for (int j = live - 1; j >= 0; j--) {
            for (int k = threadIdx.x; k < j * NR; k += BLOCK)
                shared[k] = multiply_add(shared[k], conjugate(triangle[16 * (k / NR) + j]),
                                         divide(shared[j * NR + k % NR], triangle[17 * j]));
            __syncthreads(); /* row j - 1 is complete; nobody writes row j */
        }
        for (int k = threadIdx.x; k < live * NR; k += BLOCK)
            own[int64_t(top) * NR + k] = divide(shared[k], triangle[17 * (k / NR)]);
        __syncthreads(); /* shared memory is free, and these rows of own are there for the block columns
                            before */
    }
}

} // namespace gsv
#endif
