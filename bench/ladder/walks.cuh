/*
 * Step 3: walks. The lower tree is cut into branches: subtrees whose panels, vectors and lists together fit into a block's
 * shared memory. One launch walks all of them. A block copies its branch, and goes up level by level, or down. What is above
 * the branches goes level by level as in step 2.
 *
 * Mapping. A block has a branch. In a level a warp has a supernode, forward a lane a row, backward eight lanes a column.
 * Supernodes stand in a postorder, so a branch is one range of each array. A place in a list becomes one in shared memory
 * if the range's beginning is subtracted.
 *
 * Synchronisation. A level costs a barrier of the block, not a launch. No block waits for another: earlier launches have
 * written the outside rows, which are read backward, and forward only the root's update vector leaves a branch.
 *
 * Traffic. Panels and lists once a sweep; b, x and z of own columns; the outside rows. All other update vectors stay in shared
 * memory.
 *
 * Next: the upper tree, where each launch first waits for all of the one before it, and then for its own panels.
 */
#ifndef LADDER_WALKS_CUH
#define LADDER_WALKS_CUH

#include "ladder.cuh"

template <typename T> __device__ void copy_block(T *to, const T *from, int count) {
#pragma unroll 8 /* reads on their way together */
    for (int e = threadIdx.x; e < count; e += BLOCK)
        to[e] = from[e];
}

__global__ void __launch_bounds__(BLOCK) walks_forward(ladder_view v, const ladder_branch *branches,
                                                       const ladder_node *nodes_of, const int *levels) {
    extern __shared__ __align__(16) double memory[];
    const ladder_branch branch = branches[blockIdx.x];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double *panels = memory, *f1 = panels + branch.numbers, *u = f1 + branch.columns;
    ladder_node *nodes = reinterpret_cast<ladder_node *>(u + branch.updates);
    int *ptr = reinterpret_cast<int *>(nodes + branch.nodes), *gather = ptr + branch.rows + 1,
        *level = gather + branch.gathers;
    copy_block(panels, v.panels + branch.panel, branch.numbers);
    copy_block(f1, v.b + branch.column, branch.columns);
    copy_block(nodes, nodes_of + branch.node, branch.nodes);
    copy_block(ptr, v.gather_ptr + branch.row, branch.rows + 1);
    copy_block(gather, v.gather + branch.gather, branch.gathers);
    copy_block(level, levels + branch.level, branch.nlevels + 1);
    __syncthreads(); /* the branch is there */
    for (int l = 0; l < branch.nlevels; l++) {
        for (int k = level[l] + warp; k < level[l + 1]; k += WARPS) {
            const ladder_node s = nodes[k];
            const int ld = ladder_ld(s.nr), row = s.row - branch.row;
            const double *panel = panels + (s.panel - branch.panel);
            double *own = f1 + (s.column - branch.column), *update = u + (s.update - branch.update) - s.nc;
            for (int i = lane; i < s.nr; i += 32) {
                double sum = i < s.nc ? own[i] : 0;
                for (int g = ptr[row + i]; g < ptr[row + i + 1]; g++)
                    sum += u[gather[g - branch.gather] - branch.update];
                (i < s.nc ? own : update)[i] = sum;
            }
            __syncwarp(); /* the front is complete */
            for (int i = lane; i < s.nr; i += 32) {
                double sum = i < s.nc ? 0 : update[i];
                for (int c = 0; c <= min(i, s.nc - 1); c++)
                    sum += panel[i + c * ld] * own[c];
                if (i < s.nc)
                    v.x[s.column + i] = sum; /* not in place: other lanes still read f1 */
                else
                    update[i] = sum;
            }
        }
        __syncthreads(); /* the level's update vectors are there */
    }
    const int root = nodes[branch.nodes - 1].update - branch.update;
    copy_block(v.u + branch.update + root, u + root, branch.updates - root);
}

__global__ void __launch_bounds__(BLOCK) walks_backward(ladder_view v, const ladder_branch *branches,
                                                        const ladder_node *nodes_of, const int *levels) {
    extern __shared__ __align__(16) double memory[];
    const ladder_branch branch = branches[blockIdx.x];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double *panels = memory, *z = panels + branch.numbers; /* own columns, then outside rows */
    ladder_node *nodes = reinterpret_cast<ladder_node *>(z + branch.columns + branch.noutside);
    int *place = reinterpret_cast<int *>(nodes + branch.nodes), *level = place + branch.rows;
    copy_block(panels, v.panels + branch.panel, branch.numbers);
    copy_block(z, v.x + branch.column, branch.columns);
    for (int e = threadIdx.x; e < branch.noutside; e += BLOCK)
        z[branch.columns + e] = v.z[v.rows[branch.outside + e]];
    copy_block(nodes, nodes_of + branch.node, branch.nodes);
    copy_block(place, v.place + branch.row, branch.rows);
    copy_block(level, levels + branch.level, branch.nlevels + 1);
    __syncthreads(); /* the branch is there */
    for (int l = branch.nlevels - 1; l >= 0; l--) {
        for (int k = level[l] + warp; k < level[l + 1]; k += WARPS) {
            const ladder_node s = nodes[k];
            const int *rows = place + (s.row - branch.row);
            const double *panel = panels + (s.panel - branch.panel);
            for (int j0 = 0; j0 < s.nc; j0 += 4) {
                const int j = j0 + lane / 8;
                double sum = 0;
                if (j < s.nc)
                    for (int i = j0 + lane % 8; i < s.nr; i += 8) /* zeros above the diagonal */
                        sum += panel[i + j * ladder_ld(s.nr)] * z[rows[i]];
                for (int lanes = 4; lanes > 0; lanes /= 2)
                    sum += __shfl_xor_sync(~0u, sum, lanes);
                __syncwarp(); /* x of these four columns has been read; the next ones do not need it */
                if (lane % 8 == 0 && j < s.nc)
                    z[s.column - branch.column + j] = sum;
            }
        }
        __syncthreads(); /* the level's solution is there */
    }
    copy_block(v.z + branch.column, z, branch.columns);
}

#endif
