/* Launches over branches whose blocks share an SM: how many there are, and what each has to do. Host code. */
#ifndef GSV_CUDA_BRANCH_CUT_CUH
#define GSV_CUDA_BRANCH_CUT_CUH

#include "../dense_kernels/overlap.cuh"
#include "../dense_kernels/published.cuh"
#include "cuda_gather.cuh"
#include "cuda_sweep.h"

namespace gsv {

/* Bytes of shared memory that a branch takes. */
typedef int room_function(const gsv_branch &);

inline int most_bytes(const gsv_branches *branches, room_function *room) {
    int most = 0;
    for (int32_t b = 0; b < branches->count; b++) {
        const int bytes = room(branches->branch[b]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* A sweep is one launch, or two: branches 0 .. cut - 1, and the others, which take less shared memory. */
struct branch_cut {
    int32_t cut;
    int bytes[2];
};

inline int launches_of(const branch_cut &cut) {
    return cut.cut > 0 ? 2 : 1;
}

/* A sweep's launches, one after the other: launch(first, end, bytes, part) for branches first .. end - 1. */
template <typename Launch>
cudaError_t launch_cut(const branch_cut &cut, int32_t branches, const Launch &launch) {
    if (cut.cut == 0)
        return launch(0, branches, cut.bytes[0], THE_ONLY);
    const cudaError_t error = launch(0, cut.cut, cut.bytes[0], FIRST_OF_TWO);
    return error != cudaSuccess ? error : launch(cut.cut, branches, cut.bytes[1], SECOND_OF_TWO);
}

inline int resident_blocks(int bytes, int resident) {
    const int blocks = SHARED_OF_SM / (bytes + SHARED_OF_BLOCK);
    return blocks >= resident ? resident : blocks > 0 ? blocks : 1;
}

/* Blocks' time that a second launch costs, all SMs together, as measured on an H200: for 8 and for 32 right-hand sides a
 * quarter of a block on each, for 16 a whole one. */
enum { SECOND_LAUNCH = 33, SECOND_LAUNCH_OF_16 = 132 };

/* Where the launches' blocks per SM promise most. */
inline branch_cut choose_cut(const gsv_branches *branches, room_function *room, int resident, int second) {
    const int all = most_bytes(branches, room);
    const double each = resident_blocks(all, resident);
    branch_cut best = {0, {all, all}};
    double least = branches->count / each;
    int rest = 0;
    for (int32_t b = branches->count - 1; b > 0; b--) {
        const int bytes = room(branches->branch[b]);
        rest = bytes > rest ? bytes : rest;
        const double cost =
            b / each + (branches->count - b) / double(resident_blocks(rest, resident)) + second;
        if (cost < least) {
            least = cost;
            best = {b, {all, rest}};
        }
    }
    return best;
}

/* What the blocks of branches first .. end - 1 fill with ABSENT, where all of them fill so many bytes from
 * vectors.f on. */
inline absent_fill fill_of(const gsv_branches *branches, const gsv_device_vectors *vectors, int64_t bytes,
                           int64_t first, int64_t end) {
    const int64_t units = bytes / 16, begin = units * first / branches->count;
    return {static_cast<int4 *>(vectors->f) + begin, units * end / branches->count - begin};
}

} // namespace gsv
#endif
