/* The backward sweep of cuda_lower.cuh. */
#ifndef GSV_CUDA_LOWER_BACK_CUH
#define GSV_CUDA_LOWER_BACK_CUH

#include "cuda_lower.cuh"

namespace gsv {

/* Columns first .. first + 7 of a node: their sums. */
template <int N, typename P>
__device__ __forceinline__ void backward_group_warp(const P *panels, const gsv_branch_node &node, int first,
                                                    const double *solution, const uint16_t *below,
                                                    lower_tile<N> &total) {
    const int lane = threadIdx.x % 32, part = lane % 4, nr = node.nr, nc = node.nc;
    const int j = first + lane / 4, rows = j < nc ? nr : 0;
    const P *a = panels + node.panel + gsv_narrow_column(nr, j < nc ? j : 0);
    const double *v = solution + lane / 4;
    double acc[8][N][2];
#pragma unroll
    for (int e = 0; e < 8 * N * 2; e++)
        (&acc[0][0][0])[e] = 0;
    for (int i = first + 8 * part; i - 8 * part < nr; i += 32) {
        const uint16_t *list = below + node.below + i - nc;
        double left[8], right[8][N];
#pragma unroll
        for (int p = 0; p < 8; p++) {
            int row = node.column + i + p;
            if (i + p >= nc && i + p < nr)
                row = list[p];
            left[p] = i + p >= j && i + p < rows ? a[i + p] : 0;
#pragma unroll
            for (int n = 0; n < N; n++)
                right[p][n] = i + p < nr ? v[row * lower_row<N>::STRIDE + 8 * n] : 0;
        }
#pragma unroll
        for (int p = 0; p < 8; p++)
#pragma unroll
            for (int n = 0; n < N; n++)
                multiply_add_warp(acc[p][n], left[p], right[p][n]);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            double kinds[8];
#pragma unroll
            for (int p = 0; p < 8; p++)
                kinds[p] = acc[p][n][c];
            total[n][c] = add_eight(kinds);
        }
}

template <typename P, int N, int WARPS, int RESIDENT>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    lower_backward_kernel(gsv_device_plan plan, const double *x, double *y, int nrhs, int splits,
                          branch_launch launch) {
    constexpr int CHUNK = lower_row<N>::NUMBERS, STRIDE = lower_row<N>::STRIDE;
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    const int which = launch.first + blockIdx.x / splits;
    const gsv_branch branch = read_branch(plan, which);
    const lower_room room = backward_room<P, N>(branch);
    const int early = early_lists(branch), late = branch.at[GSV_AT_BACKWARD_LEVELS];
    begin_copy_bytes<WARPS>(memory, static_cast<const P *>(plan.panels) + branch.panel, room.lists);
    begin_copy_bytes<WARPS>(memory + room.lists, plan.branch_lists + branch.lists, 2 * early);
    begin_copy_bytes<WARPS>(memory + room.lists + 2 * early, plan.branch_lists + branch.lists + late,
                            2 * (branch.at[GSV_AT_END] - late));
    const P *panels = reinterpret_cast<const P *>(memory);
    const uint16_t *lists = reinterpret_cast<const uint16_t *>(memory + room.lists);
    const gsv_branch_node *nodes = reinterpret_cast<const gsv_branch_node *>(lists);
    const uint16_t *level_nodes = lists + branch.at[GSV_AT_LEVEL_NODES];
    const uint16_t *level_units = lists + early;
    const uint16_t *units = lists + early + branch.at[GSV_AT_BACKWARD_UNITS] - late;
    const uint16_t *below = lists + early + branch.at[GSV_AT_BELOW] - late;
    double *solution = reinterpret_cast<double *>(memory + room.vector);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int columns = branch.columns, outside = branch.outside_rows;
    const bool refuse = branch.refuse;
    const int32_t *outside_row = plan.outside_row + branch.outside;
    const int64_t first_column = branch.first_column;
    wait_for_vectors(launch.part);

    for (int c0 = CHUNK * (blockIdx.x % splits); c0 < nrhs; c0 += CHUNK * splits) {
        for (int e = threadIdx.x; e < (columns + outside) * (CHUNK / 2); e += 32 * WARPS) {
            const int i = e / (CHUNK / 2), c = e % (CHUNK / 2) * 2;
            const double *from =
                i < columns ? x + (first_column + i) * nrhs : y + int64_t(outside_row[i - columns]) * nrhs;
            begin_copy_16(&solution[i * STRIDE + c], from + c0 + c);
        }
        wait_for_own_copies();
        __syncthreads(); /* panels, lists, x and the outside rows are there */
        auto finish = [&](const gsv_branch_node &node, int first, lower_tile<N> &total) {
            const int j = node.column + first + lane / 4, c = lane % 4 * 2;
            if (first + lane / 4 < node.nc)
#pragma unroll
                for (int n = 0; n < N; n++) {
                    if (refuse)
                        total[n][0] = total[n][1] = not_a_number<double>();
                    store_run(&solution[j * STRIDE + 8 * n + c], total[n]);
                    store_run(&y[(first_column + j) * nrhs + c0 + 8 * n + c], total[n]);
                }
        };
        for (int level = branch.levels - 1; level >= 0; level--) {
            const int begin = level_units[level], count = level_units[level + 1] - begin;
            lower_tile<N> total;
            if (count <= WARPS) {
                const int k = begin + (warp < count ? warp : 0), first = units[2 * k + 1];
                const bool active = warp < count && first % 8 == 0;
                const gsv_branch_node node = nodes[units[2 * k]];
                if (active)
                    backward_group_warp<N>(panels, node, first, solution, below, total);
                __syncthreads(); /* all of the level's x has been read */
                if (active)
                    finish(node, first, total);
            } else {
                for (int k = level_nodes[level] + warp; k < level_nodes[level + 1]; k += WARPS) {
                    const gsv_branch_node node = nodes[k];
                    for (int first = 0; first < node.nc; first += 8) {
                        backward_group_warp<N>(panels, node, first, solution, below, total);
                        __syncwarp(); /* the group's x has been read */
                        finish(node, first, total);
                    }
                }
            }
            __syncthreads(); /* the level's solution is there; after the last one, nobody reads any more */
        }
    }
    wait_for_first_part(launch.part);
}

} // namespace gsv
#endif
