/*
 * Step 5: tasks, for 32 right-hand sides side by side. The products are those of step 2, now of matrices: a tile of 64 rows
 * of a panel, backward 64 columns, times 32 vectors, on tensor cores. Vectors are stored row by row, 32 numbers a row. A
 * sweep over the whole tree is one launch.
 *
 * Tasks. A supernode of up to 64 rows is one task. A larger one has tasks that assemble 64 rows of f1 each, in place in b, and
 * a task for each tile, which reads f1. Otherwise each tile would assemble all of f1 again. Backward there are only tiles.
 *
 * Mapping. A block has a task. In assembly a warp has a row, a lane a right-hand side. In a tile a warp has 8 x 32 sums, as
 * four fragments of 8 x 8; 32 terms at a time go through shared memory.
 *
 * Synchronisation between blocks. A task reads thousands of numbers, so it waits for a counter: children done, front
 * assembled, or parent solved. One thread polls the counter with acquire. A task ends with a barrier of the block, and then
 * one thread adds 1 with release. Acquire and release add up along a chain: a task that waits for its parent alone sees
 * what the parent saw, the solution of all ancestors.
 *
 * Why waits end. A task waits only for tasks before it in the list. A block learns from a ticket, when it begins, which task
 * it has. So all tasks before its own have blocks that run already, and the first of these that is not done waits for
 * none. That does not ask that all blocks run at the same time.
 *
 * Traffic. Panels once a sweep. A vector's row once for each tile that reads it, mostly from L2.
 *
 * Next: src/supernodal/cuda/tasks. There walks do the lower tree; a panel is requested before the wait, into a ring of stages;
 * the list is in the order of a simulated run; the terms of a long tile are cut into ranges, a block each.
 */
#ifndef LADDER_TASKS_CUH
#define LADDER_TASKS_CUH

#include <mma.h>
#include <type_traits>

#include "ladder.cuh"

enum { TILE = LADDER_TILE, COLUMNS = LADDER_COLUMNS, TERMS = 32 };
/* Distances in shared memory: 4 mod 16, so that the lanes of a fragment, 4 terms by 8, read different banks. */
enum { TILE_LD = TILE + 4, TERMS_LD = TERMS + 4, COLUMNS_LD = COLUMNS + 4 };

/* By one thread: false if the wait was given up. */
__device__ inline bool reaches(const int *counter, int count) {
    for (int polls = 0;; polls++) {
        int value;
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
        if (value >= count)
            return true;
        if (gives_up(polls))
            return false;
    }
}

/* sum += what the children owe row i of the front, for one right-hand side. */
__device__ inline double add_owed(const ladder_view &v, const ladder_node &s, int i, int column, double sum) {
    for (int g = v.gather_ptr[s.row + i]; g < v.gather_ptr[s.row + i + 1]; g++)
        sum += v.u[int64_t(v.gather[g]) * COLUMNS + column];
    return sum;
}

/* The product of a tile, 64 x 32 by rows, in a, which has the tile's terms before:
 * [W; -M](first .. first + 63, :) f1, backward [W; -M](:, first .. first + 63)' [x1; z(rows below)]. */
template <bool BACKWARD>
__device__ void multiply_block(const ladder_view &v, const ladder_task &task, double *a) {
    using namespace nvcuda::wmma;
    typedef typename std::conditional<BACKWARD, row_major, col_major>::type layout;
    __shared__ __align__(32) double w[TERMS * COLUMNS_LD];
    const ladder_node &s = task.node;
    const int warp = threadIdx.x / 32, ld = ladder_ld(s.nr), first = task.first;
    const int end = BACKWARD ? s.nr : min(s.nc, task.last);
    const double *panel = v.panels + s.panel;
    fragment<accumulator, 8, 8, 4, double> sum[COLUMNS / 8];
    for (int q = 0; q < COLUMNS / 8; q++)
        fill_fragment(sum[q], 0.0);
    for (int t0 = BACKWARD ? first : 0; t0 < end; t0 += TERMS) {
        __syncthreads();                                        /* the terms before have been used */
        for (int e = threadIdx.x; e < TILE * TERMS; e += BLOCK) /* neighbours read neighbours of a column */
            if (BACKWARD) {
                const int t = e % TERMS, j = e / TERMS;
                a[t + j * TERMS_LD] =
                    t0 + t < end && first + j < s.nc ? panel[t0 + t + int64_t(first + j) * ld] : 0;
            } else {
                const int i = e % TILE, t = e / TILE;
                a[i + t * TILE_LD] =
                    t0 + t < end && first + i < s.nr ? panel[first + i + int64_t(t0 + t) * ld] : 0;
            }
        for (int e = threadIdx.x; e < TERMS * COLUMNS; e += BLOCK) {
            const int c = e % COLUMNS, t = t0 + e / COLUMNS;
            const double *from = t >= s.nc ? v.z + int64_t(t < end ? v.rows[s.row + t] : 0) * COLUMNS
                                           : (BACKWARD ? v.x : v.b) + int64_t(s.column + t) * COLUMNS;
            w[c + e / COLUMNS * COLUMNS_LD] = t < end ? from[c] : 0;
        }
        __syncthreads(); /* the terms are there */
        for (int t = 0; t < TERMS; t += 4) {
            fragment<matrix_a, 8, 8, 4, double, layout> left;
            load_matrix_sync(left, BACKWARD ? a + t + 8 * warp * TERMS_LD : a + 8 * warp + t * TILE_LD,
                             BACKWARD ? TERMS_LD : TILE_LD);
            for (int q = 0; q < COLUMNS / 8; q++) {
                fragment<matrix_b, 8, 8, 4, double, row_major> right;
                load_matrix_sync(right, w + 8 * q + t * COLUMNS_LD, COLUMNS_LD);
                mma_sync(sum[q], left, right, sum[q]);
            }
        }
    }
    __syncthreads(); /* the last terms have been used */
    for (int q = 0; q < COLUMNS / 8; q++)
        store_matrix_sync(a + 8 * warp * COLUMNS + 8 * q, sum[q], COLUMNS, mem_row_major);
}

template <bool BACKWARD>
__global__ void __launch_bounds__(BLOCK)
    tasks_sweep(ladder_view v, const ladder_task *tasks, int *ticket, int *counters) {
    __shared__ ladder_task task;
    __shared__ double lost;                                   /* NaN if a wait was given up, else 0 */
    __shared__ __align__(32) double product[TILE * TERMS_LD]; /* enough for TERMS * TILE_LD */
    if (threadIdx.x == 0) {
        task = tasks[atomicAdd(ticket, 1)];
        lost = reaches(counters + task.wait, task.count) ? 0 : __longlong_as_double(0x7ff8000000000000);
    }
    __syncthreads(); /* the task is there, and what it reads */
    const ladder_node &s = task.node;
    const int row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS;
    if (task.kind & LADDER_ASSEMBLE) {
        for (int i = task.first + row; i < min(task.last, s.nc); i += BLOCK / COLUMNS) {
            double *f = v.b + int64_t(s.column + i) * COLUMNS + column;
            *f = add_owed(v, s, i, column, *f + lost);
        }
        __syncthreads(); /* f1 is there */
    }
    if (task.kind & LADDER_MULTIPLY) {
        multiply_block<BACKWARD>(v, task, product);
        __syncthreads(); /* the product is there */
        for (int i = task.first + row; i < task.last; i += BLOCK / COLUMNS) {
            const double sum = product[(i - task.first) * COLUMNS + column] + lost;
            if (BACKWARD || i < s.nc)
                (BACKWARD ? v.z : v.x)[int64_t(s.column + i) * COLUMNS + column] = sum;
            else
                v.u[int64_t(s.update + i - s.nc) * COLUMNS + column] = add_owed(v, s, i, column, sum);
        }
    }
    __syncthreads(); /* the results are written */
    if (threadIdx.x == 0 && task.signal >= 0)
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counters + task.signal) : "memory");
}

#endif
