/* The shared memory of a block of cuda_lower.cuh. */
#ifndef GSV_CUDA_LOWER_ROOM_CUH
#define GSV_CUDA_LOWER_ROOM_CUH

#include "cuda_branch.cuh"

namespace gsv {

/* A row of vectors in shared memory: 8 N numbers, and a quarter as much again, so that the rows of a fragment
 * are in different banks. */
template <int N> struct lower_row { static const int NUMBERS = 8 * N, STRIDE = 10 * N; };

/* Where things are in a block's shared memory, in bytes; panels, of numbers P, begin at 0. */
struct lower_room {
    int lists, vector, updates, bytes;
};

template <typename P, int N> __host__ __device__ lower_room forward_room(const gsv_branch &branch) {
    const int row = lower_row<N>::STRIDE * int(sizeof(double));
    lower_room room;
    room.lists = round_up_16(branch.numbers * int64_t(sizeof(P)));
    room.vector = room.lists + 2 * branch.at[GSV_AT_BACKWARD_LEVELS];
    room.updates = room.vector + branch.columns * row;
    room.bytes = room.updates + (branch.updates - branch.outside_rows) * row;
    return room;
}

/* Of the lists, the backward sweep wants those before GSV_AT_FORWARD_LEVELS, so many with what fills the last
 * 16 bytes, and those from GSV_AT_BACKWARD_LEVELS on. */
__host__ __device__ inline int early_lists(const gsv_branch &branch) {
    return (branch.at[GSV_AT_FORWARD_LEVELS] + 7) / 8 * 8;
}

template <typename P, int N> __host__ __device__ lower_room backward_room(const gsv_branch &branch) {
    const int row = lower_row<N>::STRIDE * int(sizeof(double));
    lower_room room;
    room.lists = round_up_16(branch.numbers * int64_t(sizeof(P)));
    room.vector =
        room.lists + 2 * (early_lists(branch) + branch.at[GSV_AT_END] - branch.at[GSV_AT_BACKWARD_LEVELS]);
    room.updates = room.bytes = room.vector + (branch.columns + branch.outside_rows) * row;
    return room;
}

} // namespace gsv
#endif
