/*
 * The upper tree (stream.h) for a block of 8 right-hand sides, real numbers, backward also of 16: each sweep is
 * one launch, as for one right-hand side (cuda/stream/one.cuh), two blocks an SM, or three. The producer is the same.
 *
 *      forward   [x1; u] = [W; -M] f1 + [0; f2]      backward   x1 = [W; -M]' [x1; x(rows below)]
 *
 * What differs is the shape of a piece (the vectors weigh as much as the panels, so a task has up to 64 rows
 * or columns), the products (FP64 tensor cores, panel and front from shared memory), and the roles of the warps. One
 * warp brings pieces. Eight warps, backward four, gather what a piece is multiplied with into the piece's slot, all of
 * it together, and what its results are added to. Four other warps multiply, and give the slot back. So the next
 * piece's vectors are on their way while this one's are multiplied with, and a wait for them stops nothing
 * that is ahead of them. Near the root several forward tasks share block rows, dealt out piece by piece
 * of them; the last one adds up what all have published.
 *
 * Synchronisation between blocks. As in cuda/stream/one.cuh: u, f and z are handed over where the data is the
 * flag, two right-hand sides in one store of 16 bytes, each of which is asked for; and it ends for the same
 * reason, or after about two seconds (gives_up): a piece waits for tasks of lower number, and so does the last of those
 * that share rows.
 *
 * SIDE: a launch solves several groups of right-hand sides (gsv_device_vectors.groups), and blocks (., g) group g, with
 * vectors and a state of its own, the counters from which blocks take tasks, too. So no group waits for another.
 *
 * Synchronisation in a block. A slot goes round: listed and full (mbarriers; its lists have come, and its
 * panel), ready (its front is there), empty (gathered for, and multiplied with). The gatherers wait for its lists, the
 * multipliers for its panel and front, so a slot's front has been read when the slot is filled again; a proxy
 * fence stands between their writes and the producer's copies. Each thread that gathers has rows of its own, so
 * these warps wait for nobody but the slot.
 *
 * A task that assembles its front for several groups of block rows has it from its first ones' pieces: a slot's front
 * stands behind its panel, where a piece of the same columns leaves it alone. If there is one such piece the gatherers
 * give its slot back only when they have copied the front to the other one; the next piece is on its way there by then,
 * for which that slot is not waited for.
 *
 * Registers. With this number of blocks and warps on an SM a thread has 72, backward with sixteen columns 96. Spilled
 * numbers go to L2 and back, for shared memory leaves L1 little room; that takes as long as the product of a
 * piece. So what few pieces need is read when they need it (end_rows_forward), and the compiler is kept from keeping
 * what follows from a thread's number.
 *
 * Bits: a sum takes the terms in the order of a task's pieces. Sixteen terms are summed by themselves, and each split is; then
 * the splits are added, and then the tasks that share the sum. It does not depend on NR, but on how many tasks a level has, and it is
 * not the sum of the other kernels.
 *
 * Traffic: forward, for a piece of 80 columns of 64 rows, 40 KB, 80 rows of the front, or none, and the 64 that
 * results are added to, assembled from y and the children's update rows, 24 NR bytes of L2 each or more; backward,
 * for 48 rows of 64 columns, 48 rows of the solution, 8 NR bytes each. At the top of the tree, where there are fewer
 * tasks than blocks, a task has 16 rows or columns, and its pieces four times the vectors.
 */
#ifndef GSV_CUDA_STREAM_BLOCK_CUH
#define GSV_CUDA_STREAM_BLOCK_CUH

#include "block_gather.cuh"
#include "block_products.cuh"

namespace gsv {

/* Forward: from = y, to = x, published = f. Backward: from = x, to = y, published = z. P: the panels' numbers. */
template <typename P, int NR, bool BACKWARD, bool SIDE>
__global__ void __launch_bounds__(block_room<NR, BACKWARD>::BLOCK, block_room<NR, BACKWARD>::BLOCKS)
    block_stream_kernel(gsv_device_plan plan, gsv_device_pieces list, const double *from, double *to,
                        double *u, double *published, gsv_stream_state *state, launch_part part) {
#if __CUDA_ARCH__ >= 900
    typedef block_room<NR, BACKWARD> room;
    typedef block_slot<P, NR> slot_of;
    static_assert(room::BLOCKS * (room::BYTES + SHARED_OF_BLOCK) <= SHARED_OF_SM, "the blocks have room");
    static_assert(room::SLOT % SHARED_LINE == 0, "whole lines");
    static_assert(BACKWARD || room::SLOTS == 2, "a front that is kept is in both slots");
    static_assert(room::PAYLOAD >= GSV_BLOCK_ROOM + GSV_NARROW_ROWS * (NR - 8) * 8 + SHARED_LINE,
                  "a narrow supernode's front has room");
    if constexpr (SIDE) {
        from = of_group(from, plan.side_vector);
        to = of_group(to, plan.side_vector);
        u = of_group(u, plan.side_upper);
        published = of_group(published, plan.side_upper);
        state = of_group(state, 1);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = shared_at<char>(kept_shared(shared));
    uint64_t *full = reinterpret_cast<uint64_t *>(memory + room::BARRIERS), *empty = full + room::SLOTS,
             *ready = empty + room::SLOTS,      /* a piece's front is */
                 *listed = ready + room::SLOTS; /* its lists are */
    if (threadIdx.x == 0) {
        for (int k = 0; k < room::SLOTS; k++) {
            barrier_init(&full[k], ARRIVALS);
            barrier_init(&listed[k], ARRIVALS);
            barrier_init(&empty[k], (room::WARPS + room::GATHER_WARPS) * ARRIVALS);
            barrier_init(&ready[k], room::GATHER_WARPS * ARRIVALS);
        }
        publish_barriers();
    }
    __syncthreads(); /* the barriers are ready */
    auto slot = [&](int n) { return slot_of{memory + n % room::SLOTS * room::SLOT}; };
    auto wait_for = [&](uint64_t *barrier, int n) {
        barrier_wait(&barrier[n % room::SLOTS], n / room::SLOTS & 1);
    };
    if (threadIdx.x >= room::THREADS + room::GATHER_THREADS) {
        produce<P, BACKWARD, room>(plan, list, state,
                                   ring{memory, full, empty, ready, memory + room::STAGE, listed});
        wait_for_first_part(part);
        return;
    }
    wait_for_vectors(part);
    if (threadIdx.x >= room::THREADS) {
        const block_gather<NR> block = {plan, state, u, list.upper};
        for (int n = 0;; n++) {
            wait_for(listed, n);
            const gsv_piece &p = slot(n).piece();
            if (p.kind == GSV_NO_PIECE)
                break;
            const bool two = p.kind == GSV_NARROW_PIECE && !(p.flags & GSV_PIECE_LAST);
            bool kept = false; /* the slot is given back when its front has been copied */
            if (p.kind == GSV_NARROW_PIECE) {
                if (two)
                    wait_for(listed, n + 1); /* whose slot the front is in */
                double *front = slot(n + two).front(slot_of::last_numbers(p));
                if constexpr (BACKWARD)
                    gather_solution<NR>(state, (p.nr + 15) / 16 * 16, p.nr, p.nc, slot(n).rows(),
                                        from + int64_t(p.first_column) * NR, published, front);
                else
                    gather_narrow<NR>(block, slot(n), front, from);
            } else if constexpr (BACKWARD) {
                const int start = GSV_TILE * p.first;
                gather_solution<NR>(state, GSV_TILE * p.count, p.nr - start, p.nc - start, slot(n).rows(),
                                    from + (int64_t(p.first_column) + start) * NR, published,
                                    slot(n).front(slot_of::numbers(p, true)));
            } else if (p.kind == GSV_FRONT_PIECE) {
                gather_front<NR>(block, slot(n), from, published);
            } else if (p.flags & GSV_PIECE_PUBLISHED) {
                gather_published<NR>(block, slot(n), from, published);
            } else {
                if (p.a_rows == 0 && p.ago == 1) {
                    /* the front is in the slot before, which has been kept for that */
                    copy_front<NR>(slot(n - 1), slot(n));
                    arrive_warp(&empty[(n - 1) % room::SLOTS]);
                }
                gather_folded<NR>(block, slot(n), from);
                kept = p.flags & GSV_PIECE_KEPT;
            }
            for (int k = n; k <= n + two; k++)
                arrive_warp(&ready[k % room::SLOTS]);
            if (!room::PRODUCER_FENCES)
                before_copies();
            if (!kept)
                for (int k = n; k <= n + two; k++)
                    arrive_warp(&empty[k % room::SLOTS]);
            n += two;
        }
        return;
    }
    block_product<NR> block = {state, __shfl_sync(~0u, threadIdx.x, threadIdx.x % 32)};
    for (int n = 0;; n++) {
        asm volatile("" : "+r"(block.thread)); /* what follows from it is not kept from piece to piece */
        wait_for(full, n);
        const slot_of at = slot(n);
        const gsv_piece &p = at.piece();
        if (p.kind == GSV_NO_PIECE)
            break;
        wait_for(ready, n);
        if (p.kind == GSV_BLOCK_PIECE) {
            if constexpr (BACKWARD)
                columns_backward<NR>(block, at, &empty[n % room::SLOTS], to, published);
            else
                rows_forward<NR>(block, at, &empty[n % room::SLOTS], to, u, published);
            continue;
        }
        if (p.kind == GSV_FRONT_PIECE) {
            arrive_warp(&empty[n % room::SLOTS]);
            continue;
        }
        /* a narrow supernode has two pieces at most: wait for both */
        const bool two = !(p.flags & GSV_PIECE_LAST);
        narrow_panel<P> panel = {at.panel(), nullptr, p.nr, p.nc, p.count};
        const slot_of last = slot(n + two);
        if (two) {
            wait_for(full, n + 1);
            wait_for(ready, n + 1);
            panel.high = last.panel() - (gsv_narrow_column(p.nr, p.count) + p.count);
        }
        const double *front = last.front(slot_of::last_numbers(p));
        if constexpr (BACKWARD)
            narrow_backward<NR>(block, p, panel, front, last.payload(), to, published);
        else
            narrow_forward<NR>(block, p, panel, front, to, u);
        arrive_warp(&empty[n % room::SLOTS]);
        if (two)
            arrive_warp(&empty[(n + 1) % room::SLOTS]);
        n += two;
    }
#endif
}

} // namespace gsv
#endif
