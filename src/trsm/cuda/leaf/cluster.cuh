/*
 * Multiply in place by a cluster of thread blocks for each group of N vectors:
 *
 *      b(i) = alpha sum over j <= i of T(i, j) b(j)
 *
 * A thread block has several blocks of 64 rows, c, 2 C - 1 - c, 2 C + c, ... in a cluster of C, so that all
 * have about as many tiles. Tiles of T and of b pass through SLOTS slots of shared memory, one of which is
 * multiplied with while the others are on their way. Results stay in shared memory until the whole cluster
 * has read what it needs, and are written then: no copy of b, no second launch.
 *
 * Synchronisation: one barrier a tile; one barrier of the cluster, which all its thread blocks reach.
 * Traffic: T once for each group of vectors, b once for each block of rows below it, from L2.
 * Bits: every sum has one order, which depends on nothing but the sizes, N and C.
 * Limits: sm_90, for clusters; the rows of a thread block are bound by shared memory.
 */
#ifndef GSV_TRSM_CUDA_LEAF_CLUSTER_CUH
#define GSV_TRSM_CUDA_LEAF_CLUSTER_CUH

#include "tile.cuh"

namespace gsv {

template <typename T, int N> struct product_shape : tile_shape<T, N> {
    typedef tile_shape<T, N> base;
    static const int SLOT = base::TILE + base::VECTORS;
    static const int SLOTS = 200 * 1024 / int(sizeof(T)) / SLOT < 4 ? 200 * 1024 / int(sizeof(T)) / SLOT : 4;
    static const int RESULT = base::ROWS_OF_VECTORS; /* of a block of rows */
    static constexpr int bytes(int rows) {
        return (SLOTS * SLOT + rows * RESULT) * int(sizeof(T));
    }
};

__device__ __forceinline__ void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#endif
}

/* The m-th block of rows of thread block `rank`: there and back again through the cluster. */
__device__ __forceinline__ int block_of_rank(int m, int rank, int size) {
    return m * size + (m % 2 ? size - 1 - rank : rank);
}

template <typename T, int N>
__global__ void __launch_bounds__(LEAF_THREADS, 1)
    product_kernel(const __grid_constant__ leaf_problem<T> p, int cluster) {
    typedef product_shape<T, N> S;
    enum { SLOTS = S::SLOTS };
    extern __shared__ __align__(16) unsigned char shared[];
    T *const slots = reinterpret_cast<T *>(shared); /* [SLOTS] T(i, j), b(j) */
    T *const results = slots + SLOTS * S::SLOT;     /* [blocks of rows][64][LD] */
    const leaf_lane lane;
    const int rank = int(blockIdx.x) % cluster, group = int(blockIdx.x) / cluster;
    wait_for_earlier_kernels();
    let_next_kernel_start();
    int next_m = 0, next_j = 0, next_slot = 0;
    const auto request = [&]() {
        const int block = block_of_rank(next_m, rank, cluster);
        if (block < p.blocks) {
            T *const to = slots + next_slot * S::SLOT;
            request_view_block(p.t, block, next_j, to);
            request_vectors_view_block<T, N>(p, next_j, group, to + S::TILE);
            if (next_j++ == block) {
                next_m++;
                next_j = 0;
            }
        }
        commit_copies(); /* empty groups too: they are counted */
        next_slot = next_slot + 1 == SLOTS ? 0 : next_slot + 1;
    };
    for (int k = 0; k < SLOTS - 1; k++)
        request();
    int slot = 0;
    for (int m = 0; block_of_rank(m, rank, cluster) < p.blocks; m++) {
        const int block = block_of_rank(m, rank, cluster);
        fragment<T, 2, N> sum;
        sum.clear();
        for (int j = 0; j <= block; j++) {
            wait_for_copies<SLOTS - 2>();
            __syncthreads(); /* T(i, j) and b(j) are there, and all have done with the turn before */
            const tile_view<T> tile = view_of_tile(p.t, slots + slot * S::SLOT);
            if (j == block && p.t.unit) {
                if (threadIdx.x < GSV_LEAF_ROWS)
                    const_cast<T *>(tile.at)[int(threadIdx.x) * (tile.row + tile.column)] = make<T>(1);
                __syncthreads(); /* the diagonal, too */
            }
            request();
            product_warp<T, N>(sum, tile, p.t.conjugated,
                               view_of_vectors<T, N>(p, slots + slot * S::SLOT + S::TILE));
            slot = slot + 1 == SLOTS ? 0 : slot + 1;
        }
        T c[2][N / 8][2];
        add_two_halves_block<T, N>(sum, results + m * S::RESULT, c);
        for_each_result<N>([&](int u, int t, int e, int i, int n) {
            if (lane.warp < 4)
                results[m * S::RESULT + i * S::LD + n] = multiply(p.alpha, c[u][t][e]);
        });
    }
    wait_for_cluster(); /* b has been read */
    for (int m = 0; block_of_rank(m, rank, cluster) < p.blocks; m++) {
        const int64_t first = block_of_rank(m, rank, cluster) * GSV_LEAF_ROWS;
        for_each_result<N>([&](int, int, int, int i, int n) {
            const int64_t row = first + i, vector = int64_t(group) * N + n;
            if (lane.warp < 4 && row < p.t.order && vector < p.vectors)
                p.b[row * p.b_row + vector * p.b_column] = results[m * S::RESULT + i * S::LD + n];
        });
    }
}

} // namespace gsv
#endif
