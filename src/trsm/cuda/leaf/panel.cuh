/*
 * Solve for many vectors: a thread block has a group of N vectors and takes all blocks of the leaf, one after
 * the other, so that nothing is handed over between thread blocks,
 *
 *      x(i) = W_i (alpha b(i) - sum over j < i of T(i, j) x(j)),      W_i = inv(T(i, i))
 *
 * x stays in shared memory. The tiles pass through it in the order W_0, T(1, 0), W_1, T(2, 0), ...,
 * SLOTS - 1 of them on their way while one is multiplied with (trsm/cuda/leaf/tile.cuh); so is the next b(i), in
 * registers.
 *
 * Blocks whose inverse is not to be trusted are solved with by substitution.
 *
 * Synchronisation: a barrier a tile, two more a block.
 * Traffic: T and W once for each group, from L2, which bounds the rate with N = 8; b once in, once out.
 * Limits: a leaf has ROWS rows at most, which shared memory bounds; the fewer, the more slots for tiles.
 */
#ifndef GSV_TRSM_CUDA_LEAF_PANEL_CUH
#define GSV_TRSM_CUDA_LEAF_PANEL_CUH

#include "solve.cuh"
#include "tile.cuh"

namespace gsv {

template <typename T, int N, int ROWS> struct panel_shape : tile_shape<T, N> {
    typedef tile_shape<T, N> base;
    static const int OTHERS = (ROWS + 2 * GSV_LEAF_ROWS) * base::LD;
    static const int FIT = (227 * 1024 / int(sizeof(T)) - OTHERS) / base::TILE;
    static const int MOST = sizeof(T) == 4 ? 5 : 4; /* double, n = 8192: 1.709 ms with 4, 1.717 with 5 */
    static const int SLOTS = FIT < 2 ? 2 : FIT < MOST ? FIT : MOST;
    static const int BYTES = (OTHERS + SLOTS * base::TILE) * int(sizeof(T));
};

template <typename T, int N, int ROWS>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    solve_panel_kernel(const __grid_constant__ leaf_problem<T> p) {
    typedef panel_shape<T, N, ROWS> S;
    enum { LD = S::LD, SLOTS = S::SLOTS };
    extern __shared__ __align__(16) unsigned char shared[];
    T *const tiles = reinterpret_cast<T *>(shared), *const xs = tiles + SLOTS * S::TILE;
    T *const part = xs + ROWS * LD, *const rs = part + GSV_LEAF_ROWS * LD;
    const leaf_lane lane;
    const bool owner = lane.warp < 4; /* of 16 rows' results */
    T c[2][N / 8][2], b[2][N / 8][2];
    fragment<T, 2, N> sum;
    wait_for_earlier_kernels();
    let_next_kernel_start();

    /* T(i, j), j < i, or W_i, j == i; T_ii where W_i is not to be trusted */
    int next_i = 0, next_j = 0, next_slot = 0;
    const auto request = [&]() {
        T *const to = tiles + next_slot * S::TILE;
        if (next_i < p.blocks) {
            if (next_j < next_i)
                request_view_block(p.t, next_i, next_j, to);
            else if (p.substitute[next_i] != 0)
                request_tile_block(p.t, next_i, next_i, to, S::RUN);
            else
                copy_runs_block<T, GSV_LEAF_ROWS>(
                    to, S::RUN, p.inverse + int64_t(next_i) * (GSV_LEAF_ROWS * GSV_LEAF_ROWS), GSV_LEAF_ROWS,
                    GSV_LEAF_ROWS, true, [](int, int) { return true; });
        }
        commit_copies(); /* empty groups too: they are counted */
        if (next_j++ == next_i) {
            next_i++;
            next_j = 0;
        }
        next_slot = next_slot + 1 == SLOTS ? 0 : next_slot + 1;
    };
    const auto ask = [&](int first) {
        for_each_result<N>([&](int u, int t, int e, int i, int n) {
            const int64_t row = first + i, v = int64_t(blockIdx.x) * N + n;
            b[u][t][e] =
                owner && row < p.t.order && v < p.vectors ? p.b[row * p.b_row + v * p.b_column] : make<T>(0);
        });
    };
    for (int k = 0; k < SLOTS - 1; k++)
        request();
    ask(0);
    int slot = 0;
    const auto next_tile = [&]() {
        const T *const tile = tiles + slot * S::TILE;
        slot = slot + 1 == SLOTS ? 0 : slot + 1;
        return tile;
    };
    for (int block = 0; block < p.blocks; block++) {
        const int first = block * GSV_LEAF_ROWS, rows = min(p.t.order - first, int(GSV_LEAF_ROWS));
        const bool substitute = p.substitute[block] != 0;
        sum.clear();
        for (int j = 0; j < block; j++) {
            wait_for_copies<SLOTS - 2>();
            __syncthreads(); /* T(i, j) and x(j) are there, and all have done with the tile before */
            request();
            product_warp<T, N>(sum, view_of_tile(p.t, next_tile()), p.t.conjugated,
                               tile_view<T>{xs + j * GSV_LEAF_ROWS * LD, LD, 1});
        }
        add_two_halves_block<T, N>(sum, part, c);
        if (owner)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < N / 8; t++) {
                    c[u][t][0] = add(multiply(p.alpha, b[u][t][0]), negate(c[u][t][0]));
                    c[u][t][1] = add(multiply(p.alpha, b[u][t][1]), negate(c[u][t][1]));
                    store_run(rs + (lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
                }
        ask(first + GSV_LEAF_ROWS);
        T *const last = tiles + slot * S::TILE;
        next_tile();
        wait_for_copies<SLOTS - 2>();
        if (substitute)
            conjugate_tile_block(p.t, last, S::RUN);
        __syncthreads(); /* W_i and its right-hand side are there, and part may go */
        request();
        if (substitute) {
            substitute_block<T, N>(last, rows, p.t.unit, rs);
            if (owner)
#pragma unroll
                for (int u = 0; u < 2; u++)
#pragma unroll
                    for (int t = 0; t < N / 8; t++)
                        load_run(rs + (lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
        } else {
            sum.clear();
            product_warp<T, N>(sum, tile_view<T>{last, 1, S::RUN}, false, tile_view<T>{rs, LD, 1});
            add_two_halves_block<T, N>(sum, part, c);
        }
        if (owner)
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int t = 0; t < N / 8; t++)
                    store_run(xs + (first + lane.row() + 8 * u) * LD + 8 * t + 2 * lane.q, c[u][t]);
        for_each_result<N>([&](int u, int t, int e, int i, int n) {
            const int64_t row = first + i, v = int64_t(blockIdx.x) * N + n;
            if (owner && row < p.t.order && v < p.vectors)
                p.b[row * p.b_row + v * p.b_column] = c[u][t][e];
        });
    }
}

} // namespace gsv
#endif
