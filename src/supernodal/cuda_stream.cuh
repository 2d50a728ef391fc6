/*
 * The upper tree (stream.h) for one right-hand side: each sweep is one launch of blocks that stay, three an
 * SM.
 *
 * Block. Its last warp brings pieces of panels, with their lists, into a ring of slots in shared memory, by
 * bulk copies that complete on an mbarrier; nothing that it brings depends on the solve, so a block that
 * waits for a vector already holds what it will multiply with it, and memory is read all the time. Four
 * warps take the pieces as they come: they assemble the vector of a piece, a row or two a thread, wait for
 * each other, multiply from shared memory, and give the slot back.
 *
 * Synchronisation between blocks. Update vectors u, published fronts f and solutions z are handed over where
 * the data is the flag (published.cuh): a launch before fills them with ABSENT. What else is read was written
 * by earlier launches.
 *
 * Why it ends. Blocks take tasks from a counter, in the order of the stream. A task waits for tasks of lower
 * number alone, or for itself. So of all tasks that are taken and not finished, the one with the lowest
 * number waits for none, and it is at the head of its block's ring, since a block takes its tasks in
 * ascending order too. That does not ask that all blocks of the launch run at the same time. The last block
 * to leave sets the counter back.
 *
 * Bits. Every sum has the terms and the order of cuda_narrow.cuh and cuda_wide.cuh.
 *
 * Traffic: the panels once, lists and vectors. A level of the tree costs the hand-over of the vector through
 * L2, about half a microsecond, and the work on a piece or two, another half.
 */
#ifndef GSV_CUDA_STREAM_CUH
#define GSV_CUDA_STREAM_CUH

#include "cuda_stream_pieces.cuh"

namespace gsv {

/* Forward: from = y, to = x, published = f. Backward: from = x, to = y, published = z. */
template <typename T, bool BACKWARD>
__global__ void __launch_bounds__(STREAM_BLOCK, stream_room<T>::BLOCKS)
    stream_kernel(gsv_device_plan plan, gsv_device_pieces list, const T *from, T *to, T *u, T *published,
                  gsv_stream_state *state) {
#if __CUDA_ARCH__ >= 900
    typedef stream_room<T> room;
    extern __shared__ int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    ring slots = {memory, reinterpret_cast<uint64_t *>(memory + room::BARRIERS),
                  reinterpret_cast<uint64_t *>(memory + room::BARRIERS) + room::SLOTS};
    if (threadIdx.x == 0) {
        for (int k = 0; k < room::SLOTS; k++) {
            barrier_init(&slots.full[k], 1);
            barrier_init(&slots.empty[k], STREAM_WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads(); /* the barriers are ready */
    if (threadIdx.x >= STREAM_THREADS) {
        produce<T, BACKWARD>(plan, list, state, slots);
        return;
    }
    stream_block<T> block = {plan, state, u, list.upper, memory, 0, 0, 0, nullptr, nullptr, nullptr};
    T acc[4] = {make<T>(0), make<T>(0), make<T>(0), make<T>(0)};
    wait_for_vectors();
    for (int n = 0;; n++) {
        const char *slot = memory + n % room::SLOTS * room::SLOT;
        barrier_wait(&slots.full[n % room::SLOTS], n / room::SLOTS & 1);
        const stream_header &header = *reinterpret_cast<const stream_header *>(slot);
        const gsv_piece &p = header.piece;
        const int kind = p.kind;
        if (kind == GSV_NO_PIECE)
            break;
        block.lists = slot + room::HEADER;
        block.panel = reinterpret_cast<const T *>(block.lists + GSV_PIECE_LISTS + header.shift);
        block.empty = &slots.empty[n % room::SLOTS];
        if constexpr (BACKWARD) {
            if (kind == GSV_NARROW_PIECE)
                narrow_backward<T>(block, p, from, to, published);
            else
                columns_backward<T>(block, p, header.parts, from, to, published, acc);
        } else {
            if (kind == GSV_NARROW_PIECE) {
                narrow_forward<T>(block, p, from, to, u, reinterpret_cast<T(&)[2]>(acc));
            } else if (kind == GSV_TILES_PIECE) {
                tiles_forward<T>(block, p, from, to, u);
            } else {
                row_sums<T> &sums = reinterpret_cast<row_sums<T> &>(acc);
                if (header.parts > 1 || p.nc > GSV_FOLD_COLUMNS)
                    row_forward_published<T>(block, p, header.parts, from, to, u, published, sums);
                else
                    row_forward<T>(block, p, from, to, u, sums);
            }
        }
    }
#endif
}

} // namespace gsv
#endif
