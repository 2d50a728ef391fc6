/* What the children owe, for the kernels for many right-hand sides: lists that are in shared memory before
 * they are wanted, and sums over them in their order. */
#ifndef GSV_CUDA_MANY_GATHER_CUH
#define GSV_CUDA_MANY_GATHER_CUH

#include "../dense_kernels/kept.cuh"
#include "cuda_gather.cuh"
#include "cuda_l2.cuh"
#include "cuda_many.h"

namespace gsv {

__device__ __forceinline__ gsv_node many_node(const gsv_device_plan &plan, int32_t node) {
    const int kind = node >> GSV_MANY_KIND, at = node & ((1 << GSV_MANY_KIND) - 1);
    return (kind == GSV_MANY_TINY ? plan.tiny : kind == GSV_MANY_SMALL ? plan.small : plan.wide)[at];
}

/* Row `row` of vectors with so many columns: one multiplication of 32 by 32 bits. */
template <typename T>
__device__ __forceinline__ const T *many_row(const T *vectors, uint32_t row, int columns) {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(vectors) +
                                       uint64_t(row) * (uint32_t(columns) * uint32_t(sizeof(T))));
}

/* What the children owe a row: how many rows of update vectors, where their list begins, and the first ones. */
struct alignas(16) many_children {
    enum { LISTED = 6 };
    uint32_t count, begin, row[LISTED];
};

/* row: counted over all fronts */
__device__ __forceinline__ many_children many_children_of(const gsv_device_plan &plan, int64_t row) {
    many_children children = {0, plan.gather_ptr[row], {}};
    children.count = plan.gather_ptr[row + 1] - children.begin;
#pragma unroll
    for (int k = 0; k < many_children::LISTED; k++)
        if (children.count > k)
            children.row[k] = plan.gather[children.begin + k];
    return children;
}

/* Sums of two right-hand sides over ROWS rows' children, list[at[r]] .. list[end[r] - 1] for row r. AHEAD terms
 * of all rows are looked up, and then asked for, together, and the next ones are looked up while they come. What is
 * read under a condition is zero before: else the compiler keeps registers for it all round a kernel's loop over a
 * tile. */
template <typename T, int ROWS, int AHEAD> struct many_owed_sums {
    uint32_t at[ROWS], end[ROWS], row[AHEAD][ROWS];
    T sum[ROWS][2], term[AHEAD][ROWS][2];

    /* The AHEAD terms that are `skip` behind those that are next. */
    __device__ __forceinline__ void look_up(const uint32_t *list, int skip = 0) {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                row[a][r] = 0;
                if (at[r] + skip + a < end[r])
                    row[a][r] = list[at[r] + skip + a];
            }
    }

    /* u: of the right-hand sides */
    __device__ __forceinline__ void ask(const T *u, int columns) {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                term[a][r][0] = term[a][r][1] = make<T>(0);
                if (at[r] + a < end[r])
                    load_run_once(many_row(u, row[a][r], columns), term[a][r]);
            }
    }

    __device__ __forceinline__ void add_terms() {
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (at[r] + a < end[r]) {
                    sum[r][0] = add(sum[r][0], term[a][r][0]);
                    sum[r][1] = add(sum[r][1], term[a][r][1]);
                }
    }

    /* All terms, of which the first ones have been asked for. */
    __device__ __forceinline__ void add_all(const uint32_t *list, const T *u, int columns) {
        for (;;) {
            bool more = false;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                more |= at[r] + AHEAD < end[r];
            look_up(list, AHEAD);
            add_terms();
            if (!more)
                return;
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                at[r] += AHEAD;
            ask(u, columns);
        }
    }
};

/* y(own columns) += what the children owe, right-hand sides c0 on; NaN, if ready() says that it is not there.
 * All rows at the same time, two numbers a thread. */
template <typename T, int C, int THREADS, typename Ready>
__device__ __forceinline__ void many_assemble_block(const gsv_device_plan &plan, const gsv_node &node,
                                                    int first, int end, int columns, int c0, T *y, const T *u,
                                                    Ready ready) {
    constexpr int AT_ONCE = THREADS / (C / 2), ROWS = GSV_MANY_ASSEMBLE / AT_ONCE;
    constexpr int AHEAD = sizeof(T) < 16 ? 3 : 2;
    const int c = c0 + int(threadIdx.x) % (C / 2) * 2, i0 = first + int(threadIdx.x) / (C / 2);
    many_owed_sums<T, ROWS, AHEAD> owed;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int64_t row = node.rows + i0 + r * AT_ONCE;
        owed.at[r] = owed.end[r] = 0;
        if (i0 + r * AT_ONCE < end) {
            owed.at[r] = plan.gather_ptr[row];
            owed.end[r] = plan.gather_ptr[row + 1];
        }
    }
    owed.look_up(plan.gather);
    const bool refuse = !ready();
    bool owing[ROWS]; /* the others stay as they are */
    T *to[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        owing[r] = owed.at[r] < owed.end[r];
        to[r] = y + int64_t(node.first_column + i0 + r * AT_ONCE) * columns + c;
        if (owing[r])
            load_run(to[r], owed.sum[r]);
    }
    owed.ask(u + c, columns);
    owed.add_all(plan.gather, u + c, columns);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (refuse)
            owed.sum[r][0] = owed.sum[r][1] = not_a_number<T>();
        if (owing[r])
            store_run(to[r], owed.sum[r]);
    }
}

} // namespace gsv
#endif
