/*
 * The upper tree (stream.h) for a block of 8 or 16 right-hand sides in double precision: each sweep is one
 * launch, as for one right-hand side (cuda_stream.cuh), three blocks an SM, or two. The producer and its ring
 * are the same.
 *
 *      forward   [x1; u] = [W; -M] f1 + [0; f2]      backward   x1 = [W; -M]' [x1; x(rows below)]
 *
 * What differs is the shape of a piece (the vectors weigh as much as the panels, so a task has up to 64 rows
 * or columns), and the products: FP64 tensor cores, panel and front from shared memory. Four warps take a
 * piece: they gather what it is multiplied with into shared memory, all at once, meet, add up the front's
 * rows, meet, multiply, and give the slot back.
 *
 * Synchronisation between blocks. As in cuda_stream.cuh: u, f and z are handed over where the data is the
 * flag, two right-hand sides in one store of 16 bytes, each of which is asked for; and it ends for the same
 * reason, or after about two seconds (wait_for_pair).
 *
 * Synchronisation in a block. The front and what is staged for it have one place each. Staged rows are
 * written when all have read those before, which the meeting that completes a front says; the front is
 * written after the meeting that completes what is staged, or after one of its own.
 *
 * Bits: a sum has the terms in the order of the pieces, each split for itself, and then the splits. It does
 * not depend on NR, but on how many tasks a level has, and it is not the sum of the other kernels.
 *
 * Traffic of a piece of 24 KB: forward, for 48 columns of 64 rows, 48 rows of the front, assembled from y and
 * the children's update rows, 24 NR bytes of L2 each or more; backward, for 48 rows of 64 columns, 48 rows of
 * the solution, 8 NR bytes each. At the top of the tree, where there are fewer tasks than blocks, a task has
 * 16 rows or columns, and its pieces four times the vectors. Cost: on an H200 a piece of a forward task took
 * 3 to 4 us, and of a backward one 2: a warp's instructions one after the other, a trip through L2, meetings.
 */
#ifndef GSV_CUDA_BLOCK_STREAM_CUH
#define GSV_CUDA_BLOCK_STREAM_CUH

#include "cuda_block_pieces.cuh"

namespace gsv {

/* Forward: from = y, to = x, published = f. Backward: from = x, to = y, published = z. */
template <int NR, bool BACKWARD>
__global__ void __launch_bounds__(block_room<NR>::THREADS + 32, block_room<NR>::BLOCKS)
    block_stream_kernel(gsv_device_plan plan, gsv_device_pieces list, const double *from, double *to,
                        double *u, double *published, gsv_stream_state *state) {
#if __CUDA_ARCH__ >= 900
    typedef block_room<NR> room;
    typedef stream_room<double> slots_room;
    extern __shared__ int4 shared[];
    char *memory = reinterpret_cast<char *>(shared);
    ring slots = {memory, reinterpret_cast<uint64_t *>(memory + room::BARRIERS),
                  reinterpret_cast<uint64_t *>(memory + room::BARRIERS) + slots_room::SLOTS, nullptr,
                  memory + room::STAGE};
    if (threadIdx.x == 0) {
        for (int k = 0; k < slots_room::SLOTS; k++) {
            barrier_init(&slots.full[k], 1);
            barrier_init(&slots.empty[k], room::WARPS * ARRIVALS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads(); /* the barriers are ready */
    if (threadIdx.x >= room::THREADS) {
        produce<double, BACKWARD>(plan, list, state, slots);
        return;
    }
    block_stream<NR> block = {plan, state, u, list.upper, memory, nullptr, nullptr, nullptr};
    double acc[block_stream<NR>::N][4];
    auto panel_of = [&](int n) {
        const char *slot = memory + n % slots_room::SLOTS * slots_room::SLOT;
        const stream_header &header = *reinterpret_cast<const stream_header *>(slot);
        return reinterpret_cast<const double *>(slot + slots_room::HEADER + GSV_PIECE_LISTS + header.shift);
    };
    auto wait_for_slot = [&](int n) {
        barrier_wait(&slots.full[n % slots_room::SLOTS], n / slots_room::SLOTS & 1);
    };
    wait_for_vectors();
    for (int n = 0;; n++) {
        const char *slot = memory + n % slots_room::SLOTS * slots_room::SLOT;
        wait_for_slot(n);
        const stream_header &header = *reinterpret_cast<const stream_header *>(slot);
        const gsv_piece &p = header.piece;
        const int kind = p.kind;
        if (kind == GSV_NO_PIECE)
            break;
        block.lists = slot + slots_room::HEADER;
        block.panel = panel_of(n);
        block.empty = &slots.empty[n % slots_room::SLOTS];
        if (kind == GSV_BLOCK_PIECE) {
            if constexpr (BACKWARD)
                columns_backward<NR>(block, p, header.parts, from, to, published, acc);
            else
                rows_forward<NR>(block, p, header.parts, from, to, u, published, acc);
            continue;
        }
        /* a narrow supernode has two pieces at most: wait for both */
        const bool whole = p.flags & GSV_PIECE_LAST;
        narrow_panel panel = {block.panel, nullptr, p.nr, p.nc, p.count};
        if (!whole) {
            wait_for_slot(n + 1);
            panel.high = panel_of(n + 1) - (gsv_narrow_column(p.nr, p.count) + p.count);
        }
        if constexpr (BACKWARD)
            narrow_backward<NR>(block, p, panel, from, to, published);
        else
            narrow_forward<NR>(block, p, panel, from, to, u);
        block.release();
        if (!whole) {
            n++;
            block.empty = &slots.empty[n % slots_room::SLOTS];
            block.release();
        }
    }
#endif
}

} // namespace gsv
#endif
