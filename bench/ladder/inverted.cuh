/*
 * Step 2: inverted panels. With W = inv(L1) and M = L2 W, computed once for each factor, both sweeps are products:
 *
 *      forward    [x1; u] = [W; -M] f1 + [0; f2]
 *      backward   z1 = [W; -M]' [x1; z(rows below)]
 *
 * The panel takes no more room than L's, and no row of the product waits for another. So a supernode is cut into units of 16
 * rows, backward of 16 columns, a block each. The root is worked on by many multiprocessors. A level still is a launch.
 *
 * Mapping. Forward a thread has one of 16 rows and every 16th column, so 16 neighbours read 128 bytes of a column. Backward a
 * warp has two columns, and a lane every 32nd row.
 *
 * Synchronisation. Barriers of the block: the vector is there; the sums are there. The end of a launch orders levels.
 *
 * Traffic. The panels once a sweep. Each unit assembles f1 for itself, so that f1 and its lists are read once a unit.
 *
 * Next: most supernodes are small and at the bottom of the tree. There a launch takes as long as a few trips to memory one
 * after the other, however little it has to do. Walks do the lower levels without launches.
 */
#ifndef LADDER_INVERTED_CUH
#define LADDER_INVERTED_CUH

#include "ladder.cuh"

__global__ void __launch_bounds__(BLOCK) inverted_forward(ladder_view v, const ladder_unit *units) {
    extern __shared__ __align__(16) double memory[];
    const ladder_unit unit = units[blockIdx.x];
    const ladder_node &s = unit.node;
    const int i = unit.first + threadIdx.x % UNIT, ld = ladder_ld(s.nr);
    const int columns = min(s.nc, unit.first + UNIT); /* W is a triangle */
    const double *row = v.panels + s.panel + i;
    assemble_block<false>(v, unit, columns, memory);
    __syncthreads(); /* the front is there */
    double sum = 0;
    if (i < s.nr)
#pragma unroll 4
        for (int k = threadIdx.x / UNIT; k < columns; k += SLICES)
            sum += row[int64_t(k) * ld] * memory[k];
    store_rows_block(v, unit, memory + columns, sum);
}

__global__ void __launch_bounds__(BLOCK) inverted_backward(ladder_view v, const ladder_unit *units) {
    extern __shared__ __align__(16) double memory[];
    const ladder_unit unit = units[blockIdx.x];
    const ladder_node &s = unit.node;
    const int j = unit.first + threadIdx.x / 32 * 2, ld = ladder_ld(s.nr);
    const double *column = v.panels + s.panel + int64_t(j) * ld;
    vector_block<false>(v, unit, memory);
    __syncthreads(); /* the vector is there */
    double sum[2] = {0, 0};
#pragma unroll 4
    for (int i = unit.first + threadIdx.x % 32; i < s.nr; i += 32)
        for (int q = 0; q < 2; q++)
            if (j + q < s.nc)
                sum[q] += column[i + int64_t(q) * ld] * memory[i - unit.first];
    store_columns_warp(v, s, j, sum);
}

#endif
