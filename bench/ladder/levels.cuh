/*
 * Step 1: level sets.
 *
 *      forward    x1 = L1 \ f1,  u = f2 - L2 x1,  f = [b; 0] + what the children owe
 *      backward   z1 = L1' \ (x1 - L2' z(rows below))
 *
 * A launch for each level of the elimination tree, forward from the leaves on, backward from the roots on. Supernodes of a level
 * know nothing of each other. A parent gathers what its children owe. No block adds to another's vector, so there are no
 * atomics, and the sums have one order.
 *
 * Mapping. A block has a supernode, a thread every 256th row of its front. Backward a warp has a column of L2.
 *
 * Synchronisation. The end of a launch orders levels. In a supernode a barrier for each column: all rows below need x(k).
 *
 * Traffic. L once a sweep, and the vectors. That is not what takes the time. A column costs a division, a barrier and a trip
 * through L2, one after the other, and a large supernode has hundreds of columns, on one multiprocessor.
 *
 * Next: inverted panels, where no column waits for another.
 */
#ifndef LADDER_LEVELS_CUH
#define LADDER_LEVELS_CUH

#include "ladder.cuh"

__global__ void __launch_bounds__(BLOCK) levels_forward(ladder_view v, const ladder_unit *units) {
    const ladder_node s = units[blockIdx.x].node;
    const int ld = ladder_ld(s.nr), *ptr = v.gather_ptr + s.row;
    const double *panel = v.panels + s.panel;
    double *f1 = v.b + s.column, *f2 = v.u + s.update - s.nc;
    for (int i = threadIdx.x; i < s.nr; i += BLOCK) {
        double sum = i < s.nc ? f1[i] : 0;
        for (int g = ptr[i]; g < ptr[i + 1]; g++)
            sum += v.u[v.gather[g]];
        (i < s.nc ? f1 : f2)[i] = sum;
    }
    for (int k = 0; k < s.nc; k++, panel += ld) {
        __syncthreads(); /* f(k) is complete */
        const double x = f1[k] / panel[k];
        if (threadIdx.x == 0)
            v.x[s.column + k] = x; /* not in place: others still read f(k) */
        for (int i = k + 1 + threadIdx.x; i < s.nr; i += BLOCK)
            (i < s.nc ? f1 : f2)[i] -= panel[i] * x;
    }
}

__global__ void __launch_bounds__(BLOCK) levels_backward(ladder_view v, const ladder_unit *units) {
    const ladder_node s = units[blockIdx.x].node;
    const int ld = ladder_ld(s.nr), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const double *panel = v.panels + s.panel;
    double *x = v.x + s.column;
    for (int j = warp; j < s.nc; j += WARPS) { /* rows below: a warp a column */
        double sum = 0;
        for (int i = s.nc + lane; i < s.nr; i += 32)
            sum += panel[i + int64_t(j) * ld] * v.z[v.rows[s.row + i]];
        sum = sum_warp(sum);
        if (lane == 0)
            x[j] -= sum;
    }
    for (int k = s.nc - 1; k >= 0; k--) {
        __syncthreads(); /* x(k) is complete */
        const double z = x[k] / panel[k + int64_t(k) * ld];
        if (threadIdx.x == 0)
            v.z[s.column + k] = z;
        for (int j = threadIdx.x; j < k; j += BLOCK)
            x[j] -= panel[k + int64_t(j) * ld] * z;
    }
}

#endif
