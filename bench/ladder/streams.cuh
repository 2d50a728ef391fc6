/*
 * Step 4: streams. The upper tree is one launch a sweep, of blocks that stay. The units are those of step 3, in the same
 * order. Where a launch ended there is now a wait for the numbers themselves. No panel depends on the solve. So each block
 * brings pieces of panels into a ring buffer, two ahead of the one that it multiplies, across the ends of units. A block that
 * waits for a vector already holds what it will multiply with it, and memory is read all the time.
 *
 * Mapping. Block k of g has units k, k + g, ... A piece is 16 rows by 128 columns of a panel, backward 16 columns by 128 rows.
 * Threads have the sums that they have in step 2.
 *
 * Synchronisation between blocks. Update vectors and the solution are handed over where the data is the flag. They are
 * filled with an absent number before the solve, and a reader polls each number (await). So a hand-over is one trip through
 * L2, with no fence and no counter. What else a block reads was written by earlier launches.
 *
 * Why waits end. A unit waits only for units before it in the list, and a block does its units in ascending order. So the
 * first of all units that are not done waits for none, and its block is at it. That block runs, since the launch is
 * cooperative: all of its blocks run at the same time.
 *
 * Synchronisation in a block. Copies are asynchronous. A thread waits for its own copies of a piece, and then for the other
 * threads at a barrier. The same barrier says that all have read the piece before, so that its slot may be filled again.
 *
 * Traffic. The panels once a sweep, at the memory's rate where the tree is wide. At its top a level costs the hand-over, three
 * trips through L2 one after the other: list, place, number.
 *
 * Next: with many right-hand sides vectors are as large as panels. To poll each number would cost more than to multiply it.
 */
#ifndef LADDER_STREAMS_CUH
#define LADDER_STREAMS_CUH

#include <cuda_pipeline.h>

#include "ladder.cuh"

enum { PIECE = 128, SLOTS = 3, SLOT = UNIT * PIECE };

/* The pieces of a block's units, in the order in which they are read. A slot has column after column of a piece: forward 128
 * columns of 16 rows, backward 16 columns of 128 rows. */
template <bool BACKWARD> struct ladder_ring {
    const ladder_view &v;
    const ladder_unit *units;
    double *slots;
    int count, which, at, end, slot; /* the next piece: of unit `which`, from column (backward row) `at` on */
    ladder_unit unit, next;          /* the next one is read ahead of its time */

    __device__ ladder_ring(const ladder_view &view, const ladder_unit *list, int n, double *memory)
        : v(view), units(list), slots(memory), count(n), which(blockIdx.x), slot(0) {
        next = units[min(which, count - 1)];
        begin_unit();
        for (int k = 0; k < SLOTS - 1; k++)
            request_block();
    }
    __device__ void begin_unit() {
        unit = next;
        next = units[min(which + int(gridDim.x), count - 1)];
        at = BACKWARD ? unit.first : 0;
        end = BACKWARD ? unit.node.nr : min(unit.node.nc, unit.first + UNIT);
    }
    /* Begin to copy the next piece, 16 bytes at a time. Without one, the group is empty. */
    __device__ void request_block() {
        const int ld = ladder_ld(unit.node.nr), length = BACKWARD ? PIECE : UNIT;
        const int row = BACKWARD ? at : unit.first, column = BACKWARD ? unit.first : at;
        const int columns = BACKWARD ? unit.node.nc : end;
        if (which < count)
            for (int e = 2 * threadIdx.x; e < SLOT; e += 2 * BLOCK) {
                const int i = row + e % length, k = column + e / length;
                if (i < ld && k < columns)
                    __pipeline_memcpy_async(slots + slot * SLOT + e,
                                            v.panels + unit.node.panel + i + int64_t(k) * ld, 16);
            }
        __pipeline_commit();
        slot = (slot + 1) % SLOTS;
        at += PIECE;
        if (which < count && at >= end) {
            which += gridDim.x;
            begin_unit();
        }
    }
    /* The next piece, when all of the block have it. */
    __device__ const double *piece_block() {
        __pipeline_wait_prior(SLOTS - 2);
        __syncthreads(); /* the piece is there, and its vector; the one before has been read */
        const double *piece = slots + (slot + 1) % SLOTS * SLOT;
        request_block();
        return piece;
    }
};

__global__ void __launch_bounds__(BLOCK) streams_forward(ladder_view v, const ladder_unit *units, int count) {
    extern __shared__ __align__(16) double memory[];
    double *front = memory + SLOTS * SLOT;
    const int r = threadIdx.x % UNIT, slice = threadIdx.x / UNIT;
    ladder_ring<false> ring(v, units, count, memory);
    ladder_unit unit, next = units[min(int(blockIdx.x), count - 1)];
    for (int which = blockIdx.x; which < count; which += gridDim.x) {
        unit = next;
        next = units[min(which + int(gridDim.x), count - 1)]; /* it will be there when it is wanted */
        const int columns = min(unit.node.nc, unit.first + UNIT);
        assemble_block<true>(v, unit, columns, front);
        double sum = 0;
        for (int k0 = 0; k0 < columns; k0 += PIECE) {
            const double *piece = ring.piece_block();
            const int end = min(PIECE, columns - k0);
            for (int k = slice; k < end; k += SLICES)
                sum += piece[r + UNIT * k] * front[k0 + k];
        }
        store_rows_block(v, unit, front + columns, sum);
    }
}

__global__ void __launch_bounds__(BLOCK)
    streams_backward(ladder_view v, const ladder_unit *units, int count) {
    extern __shared__ __align__(16) double memory[];
    double *vector = memory + SLOTS * SLOT;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    ladder_ring<true> ring(v, units, count, memory);
    ladder_unit unit, next = units[min(int(blockIdx.x), count - 1)];
    for (int which = blockIdx.x; which < count; which += gridDim.x) {
        unit = next;
        next = units[min(which + int(gridDim.x), count - 1)]; /* it will be there when it is wanted */
        vector_block<true>(v, unit, vector);
        double sum[2] = {0, 0};
        for (int i0 = unit.first; i0 < unit.node.nr; i0 += PIECE) {
            const double *column = ring.piece_block() + 2 * warp * PIECE;
            const int end = min(PIECE, unit.node.nr - i0);
            for (int i = lane; i < end; i += 32)
                for (int q = 0; q < 2; q++)
                    sum[q] += column[i + q * PIECE] * vector[i0 - unit.first + i];
        }
        store_columns_warp(v, unit.node, unit.first + 2 * warp, sum);
        __syncthreads(); /* the vector may be written again */
    }
}

#endif
