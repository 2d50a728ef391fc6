/* Sums over neighbouring lanes of a warp. */
#ifndef GSV_REDUCE_LANES_CUH
#define GSV_REDUCE_LANES_CUH

#include "scalar.cuh"

namespace gsv {

/*
 * Sum the N partial results of 2 STEP neighbouring lanes. Each step adds the lanes that differ in one bit,
 * from STEP down to 1, and hands half of the results over, so that a lane ends with results base .. base +
 * RESULTS - 1 and every result is the same tree of sums for every N.
 */
template <typename T, int N, int STEP> struct reduce_lanes {
    static const int RESULTS = N > 2 * STEP ? N / (2 * STEP) : 1;
    static const int COPIES = N > 2 * STEP ? 1 : 2 * STEP / N; /* neighbouring lanes with the same results */
    static __device__ __forceinline__ void run(T *acc, int lane, int &base) {
        if constexpr (N > 1) {
            constexpr int HALF = N / 2;
            const bool upper = lane & STEP;
#pragma unroll
            for (int q = 0; q < HALF; q++) {
                const T give = upper ? acc[q] : acc[q + HALF];
                const T keep = upper ? acc[q + HALF] : acc[q];
                acc[q] = add(keep, shuffle_xor(give, STEP));
            }
            base += upper ? HALF : 0;
            if constexpr (STEP > 1)
                reduce_lanes<T, HALF, STEP / 2>::run(acc, lane, base);
        } else {
            acc[0] = add(acc[0], shuffle_xor(acc[0], STEP));
            if constexpr (STEP > 1)
                reduce_lanes<T, 1, STEP / 2>::run(acc, lane, base);
        }
    }
};

} // namespace gsv
#endif
