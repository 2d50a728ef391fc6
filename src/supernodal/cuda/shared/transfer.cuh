/* Between a caller's matrix and a vector of the sweeps: which numbers are whose. The kernels are in cuda/stream/load_store.cuh and
 * cuda/tasks/transfer.cuh. */
#ifndef GSV_CUDA_SHARED_TRANSFER_CUH
#define GSV_CUDA_SHARED_TRANSFER_CUH

#include "gather.cuh"

#include <type_traits>

namespace gsv {

/*
 * Between a user's block, whose rows may be far apart or side by side, and a vector of the sweeps, NR
 * right-hand sides a row. A block of threads has ROWS rows: neighbours in whichever of the two directions the
 * user's numbers are neighbours, and across through shared memory, so that both sides are read and written in
 * runs as long as there are. A thread requests all of its numbers before it uses one: 32 bytes or more, for
 * what limits these kernels is how many bytes are under way. CUT: divides the number of rows of a block and of numbers of a thread,
 * where there are few blocks, for then it is how long a block takes.
 */
template <typename T, int NR, int CUT = 1> struct transfer {
    static const int ROWS = (NR >= 32 ? 64 : NR >= 8 ? 128 : BLOCK / NR) / CUT;
    static const int STRIDE = NR > 1 ? NR + 1 : 1; /* odd, against bank conflicts */
    static const int EACH = ROWS * NR / BLOCK;     /* numbers of a thread */
    static const int RUN = NR * sizeof(T) < 16 || sizeof(T) > 16 ? 1 : 16 / sizeof(T);
    static const int RUNS = (ROWS * NR / RUN + BLOCK - 1) / BLOCK; /* of a thread */
    static_assert(ROWS * NR % BLOCK == 0 && NR % RUN == 0 && BLOCK * RUN % NR == 0, "whole rows, whole runs");

    /* A thread's numbers, of which `there` exist: where the first one is in the user's block and in the tile in
     * shared memory, and how far apart they are. */
    struct share {
        int64_t place, step;
        int tile, tile_step, there;
    };

    /* This thread's share of the rows from first_row on and the right-hand sides from first_column on. Neighbours are in neighbouring rows,
     * if the block's rows are side by side, or in one row. */
    static __device__ __forceinline__ share share_of_thread(const gsv_device_dense &block, int32_t n,
                                                            int64_t first_row, int first_column) {
        constexpr int DOWN = BLOCK / NR, ACROSS = BLOCK / ROWS;
        const bool down = block.row_stride == 1;
        const unsigned e = threadIdx.x;
        const int row = down ? e % ROWS : e / NR, column = down ? e / ROWS : e % NR;
        const int rows = int(n - first_row) - row, columns = block.columns - first_column - column;
        share own;
        own.place = (first_row + row) * block.row_stride + (first_column + column) * block.column_stride;
        own.step = down ? ACROSS * block.column_stride : DOWN * block.row_stride;
        own.tile = row * STRIDE + column;
        own.tile_step = down ? ACROSS : DOWN * STRIDE;
        own.there = rows <= 0 || columns <= 0 ? 0
                    : down                    ? (unsigned(columns) - 1) / ACROSS + 1
                                              : (unsigned(rows) - 1) / DOWN + 1;
        return own;
    }

    /* Run k of this thread begins in row run_row(k), and in column run_column() of the tile. */
    static __device__ __forceinline__ int run_row(int k) {
        return threadIdx.x * RUN / NR + k * (BLOCK * RUN / NR);
    }
    static __device__ __forceinline__ int run_column() {
        return threadIdx.x * RUN % NR;
    }
    static __device__ __forceinline__ int run_place(int k) {
        return run_row(k) * STRIDE + run_column();
    }

    /* rows of the vector that the runs are in, or -1 */
    static __device__ __forceinline__ void list_rows(int32_t n, const int32_t *inverse, int64_t first,
                                                     int32_t (&row)[RUNS]) {
        const int left = n - first < ROWS ? int(n - first) : ROWS;
#pragma unroll
        for (int k = 0; k < RUNS; k++)
            row[k] = run_row(k) >= left ? -1
                     : inverse          ? inverse[first + run_row(k)]
                                        : int32_t(first) + run_row(k);
    }

    /* From the tile, whose numbers are P's, to a vector with rows of `columns` numbers, from column c0 on. */
    template <typename P>
    static __device__ __forceinline__ void store_runs(const int32_t (&row)[RUNS], const P *tile, T *to,
                                                      int columns, int c0) {
#pragma unroll
        for (int k = 0; k < RUNS; k++)
            if (row[k] >= 0) {
                T run[RUN];
#pragma unroll
                for (int j = 0; j < RUN; j++)
                    run[j] = number_as<T>(tile[run_place(k) + j]);
                store_run_global(&to[int64_t(row[k]) * columns + c0 + run_column()], run);
            }
    }

    /* From such a vector to registers, from there to the tile, and to the user's block. */
    static __device__ __forceinline__ void load_runs(const int32_t (&row)[RUNS], const T *from, int columns,
                                                     int c0, T (&run)[RUNS][RUN]) {
#pragma unroll
        for (int k = 0; k < RUNS; k++)
            if (row[k] >= 0)
                load_run(&from[int64_t(row[k]) * columns + c0 + run_column()], run[k]);
    }
    static __device__ __forceinline__ void put_runs(const int32_t (&row)[RUNS], const T (&run)[RUNS][RUN],
                                                    T *tile) {
#pragma unroll
        for (int k = 0; k < RUNS; k++)
            if (row[k] >= 0) {
#pragma unroll
                for (int j = 0; j < RUN; j++)
                    tile[run_place(k) + j] = run[k][j];
            }
    }
    template <typename P>
    static __device__ __forceinline__ void store_share(const share &own, const T *tile, P *values) {
        P *at = values + own.place;
        const T *number = tile + own.tile;
#pragma unroll
        for (int k = 0; k < EACH; k++, at += own.step, number += own.tile_step)
            if (k < own.there)
                *at = number_as<P>(*number);
    }
};

/* A block's rows from `first` on, and right-hand sides from c0 on, of a vector with rows of `columns` numbers, to the user's. share(): this
 * thread's; it is called while the vector's numbers are on their way. change(row, run): what becomes of its numbers when they are there. */
template <typename transfer, typename T, typename P, typename Share, typename Change>
static __device__ __forceinline__ void store_changed_block(int32_t n, const int32_t *inverse, int64_t first,
                                                           const T *from, int columns, int c0, P *values,
                                                           Share share, Change change) {
    __shared__ T tile[transfer::ROWS * transfer::STRIDE];
    int32_t row[transfer::RUNS];
    transfer::list_rows(n, inverse, first, row);
    wait_for_vectors();
    T run[transfer::RUNS][transfer::RUN];
    transfer::load_runs(row, from, columns, c0, run);
    const typename transfer::share own = share();
    change(row, run);
    transfer::put_runs(row, run, tile);
    __syncthreads(); /* the tile is complete */
    transfer::store_share(own, tile, values);
}

/* The same, as they are. */
template <typename transfer, typename T, typename P, typename Share>
static __device__ __forceinline__ void store_block(int32_t n, const int32_t *inverse, int64_t first,
                                                   const T *from, int columns, int c0, P *values,
                                                   Share share) {
    store_changed_block<transfer>(n, inverse, first, from, columns, c0, values, share,
                                  [](const auto &, auto &) {});
}

/* Calls launch(blocks, cut) for n rows of NR right-hand sides, `groups` times: cut, an integral constant, is CUT. */
template <typename T, int NR, typename Launch>
cudaError_t launch_transfer(int32_t n, int groups, Launch launch) {
    enum { FEW = 3 }; /* blocks for each multiprocessor */
    const auto blocks = [&](int rows) { return (int64_t(n) + rows - 1) / rows * groups; };
    const int64_t whole = blocks(transfer<T, NR>::ROWS);
    if constexpr (NR >= 8)
        if (whole < FEW * MULTIPROCESSORS)
            return launch(blocks(transfer<T, NR, 2>::ROWS), std::integral_constant<int, 2>());
    return launch(whole, std::integral_constant<int, 1>());
}

} // namespace gsv
#endif
