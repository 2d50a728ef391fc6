/* What the children owe, for the kernels for many right-hand sides: lists that are in shared memory before
 * they are wanted, and sums over them in their order. */
#ifndef GSV_CUDA_MANY_GATHER_CUH
#define GSV_CUDA_MANY_GATHER_CUH

#include "cuda_gather.cuh"
#include "cuda_many.h"

namespace gsv {

__device__ __forceinline__ gsv_node many_node(const gsv_device_plan &plan, int32_t node) {
    const int kind = node >> GSV_MANY_KIND, at = node & ((1 << GSV_MANY_KIND) - 1);
    return (kind == GSV_MANY_TINY ? plan.tiny : kind == GSV_MANY_SMALL ? plan.small : plan.wide)[at];
}

/* What the children owe a row: how many rows of update vectors, where their list begins, and the first two.
 */
struct many_children {
    uint32_t count, begin, row[2];
};

/* row: counted over all fronts */
__device__ __forceinline__ many_children many_children_of(const gsv_device_plan &plan, int64_t row) {
    many_children children = {0, plan.gather_ptr[row], {0, 0}};
    children.count = plan.gather_ptr[row + 1] - children.begin;
#pragma unroll
    for (int k = 0; k < 2; k++)
        if (children.count > k)
            children.row[k] = plan.gather[children.begin + k];
    return children;
}

/* sum += what the children owe R rows, N runs of two right-hand sides each from c on, `apart` apart: the
 * reads of all rows at the same time. */
template <typename T, int R, int N>
__device__ __forceinline__ void many_add_children(const gsv_device_plan &plan, const T *u,
                                                  const many_children (&children)[R], int columns, int c,
                                                  int apart, T (&sum)[R][N][2]) {
    uint32_t most = 0;
#pragma unroll
    for (int r = 0; r < R; r++)
        most = children[r].count > most ? children[r].count : most;
    for (uint32_t k = 0; k < most; k++) {
        T term[R][N][2];
#pragma unroll
        for (int r = 0; r < R; r++)
            if (k < children[r].count) {
                const uint32_t row = k == 0   ? children[r].row[0]
                                     : k == 1 ? children[r].row[1]
                                              : plan.gather[children[r].begin + k];
#pragma unroll
                for (int t = 0; t < N; t++)
                    load_run(u + int64_t(row) * columns + c + t * apart, term[r][t]);
            }
#pragma unroll
        for (int r = 0; r < R; r++)
            if (k < children[r].count)
#pragma unroll
                for (int t = 0; t < N; t++)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        sum[r][t][e] = add(sum[r][t][e], term[r][t][e]);
    }
}

/* y(own columns) += what the children owe, right-hand sides c0 on. A warp: a row, two numbers a thread. */
template <typename T>
__device__ __forceinline__ void many_assemble_block(const gsv_device_plan &plan, const gsv_many_task &task,
                                                    int columns, int c0, T *y, const T *u) {
    const gsv_node node = many_node(plan, task.node);
    const int c = c0 + threadIdx.x % 32 * 2;
    for (int i = task.first + int(threadIdx.x) / 32; i < task.end; i += BLOCK_WARPS) {
        const many_children children[1] = {many_children_of(plan, node.rows + i)};
        wait_for_vectors();
        if (children[0].count == 0)
            continue;
        T *to = y + int64_t(node.first_column + i) * columns + c, sum[1][1][2];
        load_run(to, sum[0][0]);
        many_add_children(plan, u, children, columns, c, 0, sum);
        store_run(to, sum[0][0]);
    }
    wait_for_vectors(); /* every thread */
}

} // namespace gsv
#endif
