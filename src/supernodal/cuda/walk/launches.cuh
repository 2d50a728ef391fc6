/* Launches over branches whose blocks share an SM: how many there are, and what each has to do. Host code. */
#ifndef GSV_CUDA_WALK_LAUNCHES_CUH
#define GSV_CUDA_WALK_LAUNCHES_CUH

#include "../../../dense_kernels/overlap.cuh"
#include "../../../dense_kernels/published.cuh"
#include "branch.cuh"
#include "../device_plan.h"

namespace gsv {

/* Calls call(p, columns): a number of the panels, and 8 or 16 right-hand sides, an integral constant. */
template <typename Call> auto dispatch_panels(int floats, int nr, Call call) {
    typedef std::integral_constant<int, 8> eight;
    typedef std::integral_constant<int, 16> sixteen;
    if (floats)
        return nr == 8 ? call(float(), eight()) : call(float(), sixteen());
    return nr == 8 ? call(double(), eight()) : call(double(), sixteen());
}

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

/* Blocks of `bytes` bytes of shared memory that share an SM, if it has registers and barriers for `resident`. */
inline int resident_blocks(int bytes, int resident) {
    const int blocks = SHARED_OF_SM / (bytes + SHARED_OF_BLOCK);
    return blocks >= resident ? resident : blocks > 0 ? blocks : 1;
}

/* Shared memory for `blocks` blocks, of which an SM has room for at most `resident`. If they are fewer than the device has
 * room for, each asks for more, so that they are spread evenly: an SM that is free early would take more than its share, and the
 * others would wait for it. But never more than half of an SM's shared memory, so that a block can begin beside another. */
inline int spread_bytes(int64_t blocks, int bytes, int resident) {
    const int64_t share = (blocks + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
    const int spread = SHARED_OF_SM / int(share > 1 ? share : 2) - SHARED_OF_BLOCK;
    int device = 0, most = 0;
    if (share >= resident_blocks(bytes, resident) || spread <= bytes ||
        cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
        return bytes;
    return spread <= most - SHARED_OF_BLOCK ? spread : bytes;
}

/* A sweep's launches, one after the other: launch(end, bytes, of) for branches of.first .. end - 1. resident: number
 * of its blocks that an SM has room for, at most; splits: number of blocks for each branch. */
template <typename Launch>
cudaError_t launch_cut(const branch_cut &cut, int32_t branches, int resident, int splits,
                       const Launch &launch) {
    const auto launch_from = [&](int32_t first, int32_t end, int bytes, launch_part part) {
        return launch(end, spread_bytes(int64_t(end - first) * splits, bytes, resident),
                      branch_launch{first, branches,
                                    MULTIPROCESSORS * resident_blocks(bytes, resident) / splits, part});
    };
    if (cut.cut == 0)
        return launch_from(0, branches, cut.bytes[0], THE_ONLY);
    const cudaError_t error = launch_from(0, cut.cut, cut.bytes[0], FIRST_OF_TWO);
    return error != cudaSuccess ? error : launch_from(cut.cut, branches, cut.bytes[1], SECOND_OF_TWO);
}

/* Blocks' time that a second launch costs, all SMs together, as measured on an H200: for 8 and for 32 right-hand sides a
 * quarter of a block on each, for 16 a whole one. */
enum { SECOND_LAUNCH = 33, SECOND_LAUNCH_OF_16 = 132 };

/* The cut that promises the least time, by the number of blocks that an SM has room for. The first launch's blocks begin before
 * what is ahead of both launches has ended, and have half of their work done by then. What the first launch has too few
 * blocks for is lost. */
inline branch_cut choose_cut(const gsv_branches *branches, room_function *room, int resident, int second) {
    const int all = most_bytes(branches, room);
    const double each = resident_blocks(all, resident);
    branch_cut best = {0, {all, all}};
    double least = branches->count / each;
    int rest = 0;
    for (int32_t b = branches->count - 1; b > 0; b--) {
        const int bytes = room(branches->branch[b]);
        rest = bytes > rest ? bytes : rest;
        const double lost = b < MULTIPROCESSORS * each ? (MULTIPROCESSORS - b / each) / 2 : 0;
        const double cost =
            b / each + (branches->count - b) / double(resident_blocks(rest, resident)) + second + lost;
        if (cost < least) {
            least = cost;
            best = {b, {all, rest}};
        }
    }
    return best;
}

/* What the blocks of branches first .. end - 1 fill with ABSENT, where all of them fill `bytes` bytes from
 * vectors.f on. */
inline absent_fill fill_of(const gsv_branches *branches, const gsv_device_vectors *vectors, int64_t bytes,
                           int64_t first, int64_t end) {
    const int64_t units = bytes / 16, begin = units * first / branches->count;
    return {static_cast<int4 *>(vectors->f) + begin, units * end / branches->count - begin};
}

/* Is there room for these kernels? If not, nothing is left of the error. */
inline bool has_room(cudaError_t reserved) {
    if (reserved != cudaSuccess)
        cudaGetLastError();
    return reserved == cudaSuccess;
}

} // namespace gsv
#endif
