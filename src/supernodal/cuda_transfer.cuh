/* Between a caller's matrix and a vector of the sweeps: which numbers are whose. The kernels are in cuda_sweep.cuh and
 * cuda_many_transfer.cuh. */
#ifndef GSV_CUDA_TRANSFER_CUH
#define GSV_CUDA_TRANSFER_CUH

#include "cuda_gather.cuh"

#include <type_traits>

namespace gsv {

/*
 * Between a user's block, whose rows may be far apart or side by side, and a vector of the sweeps, NR
 * right-hand sides a row. A block of threads has ROWS rows: neighbours in whichever of the two directions the
 * user's numbers are neighbours, and across through shared memory, so that both sides are read and written in
 * runs as long as there are. A thread requests all of its numbers before it uses one: 32 bytes or more, for
 * what limits these kernels is how many bytes are under way. CUT: so many times fewer rows and numbers of a thread,
 * where there are few blocks, for then it is how long a block takes.
 */
template <typename T, int NR, int CUT = 1> struct transfer {
    static const int ROWS = (NR >= 32 ? 64 : NR >= 8 ? 128 : BLOCK / NR) / CUT;
    static const int STRIDE = NR > 1 ? NR + 1 : 1; /* odd, against bank conflicts */
    static const int EACH = ROWS * NR / BLOCK;     /* numbers of a thread */
    static const int RUN = NR * sizeof(T) < 16 || sizeof(T) > 16 ? 1 : 16 / sizeof(T);
    static const int RUNS = (ROWS * NR / RUN + BLOCK - 1) / BLOCK; /* of a thread */
    static_assert(ROWS * NR % BLOCK == 0 && NR % RUN == 0, "whole rows, whole runs");

    /* number k of this thread, by turns: neighbours are in neighbouring rows, or in one row */
    static __device__ __forceinline__ int2 number(bool rows, int k) {
        const int e = k * BLOCK + threadIdx.x;
        return rows ? make_int2(e % ROWS, e / ROWS) : make_int2(e / NR, e % NR);
    }

    /* where run k of this thread begins; past the end where there are fewer runs than threads */
    static __device__ __forceinline__ int2 run(int k) {
        const int e = (k * BLOCK + threadIdx.x) * RUN;
        return make_int2(e / NR, e % NR);
    }

    /* rows of the vector that the runs are in, or -1 */
    static __device__ __forceinline__ void list_rows(int32_t n, const int32_t *inverse, int64_t first,
                                                     int32_t (&row)[RUNS]) {
#pragma unroll
        for (int k = 0; k < RUNS; k++) {
            const int64_t i = first + run(k).x;
            row[k] = run(k).x >= ROWS || i >= n ? -1 : inverse ? inverse[i] : int32_t(i);
        }
    }
};

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
