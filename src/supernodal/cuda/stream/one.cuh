/*
 * The upper tree (stream.h) for one right-hand side: each sweep is one launch of blocks that stay, three an
 * SM. A piece is 24 KB of doubles, or of floats where vectors are doubles: what a piece costs besides its products does not depend
 * on its size.
 *
 * Block. Its last warp brings pieces of panels, with their lists, into a ring of slots in shared memory, by
 * bulk copies that complete on an mbarrier; nothing that it brings depends on the solve, so a block that
 * waits for a vector already holds what it will multiply with it, and memory is read all the time. Four
 * warps take the pieces as they come: they request what the vector of a piece is made of, all of it together,
 * a term a thread whatever row it belongs to; when all terms are in shared memory they add them up, row by row,
 * multiply, and give the slot back. Before they multiply they request what the next piece's vector is made of,
 * if that piece has come and they did not have to wait for this one's. A task of several block rows assembles its
 * front once.
 *
 * Forward, nobody waits for a triangle's rows, so those come last in their level (stream.h).
 *
 * Which block takes which task. A level of few tasks is on the critical path, so no block has two of them while another
 * has none: it takes the next one when it no longer waits for this one's vector. In a level of very many a
 * block takes the next task before it has done its own, but not where others may wait for what that one
 * publishes. Where there are fewer tasks than blocks, several share a block row of a wide supernode: each
 * has some columns of every sixteen, so that the sums keep their order, and the last one adds up what they
 * have.
 *
 * Synchronisation between blocks. Update vectors u, published fronts f and solutions z are handed over where
 * the data is the flag (published.cuh): a launch before fills them with ABSENT. What else is read was written
 * by earlier launches.
 *
 * Why it ends. Blocks take tasks from a counter, in the order of the stream. A task waits for tasks of lower
 * number alone, or for itself. So of all tasks that are taken and not finished, the one with the lowest
 * number waits for none, and it is at the head of its block's ring, since a block takes its tasks in
 * ascending order too. That does not ask that all blocks of the launch run at the same time. The last block
 * to leave sets the counter back. The next sweep's blocks may start when those of this one leave, for all of
 * these have started by then; they wait for its end before they read a vector.
 *
 * Bits. Every sum has an order of its own, which follows from its supernode's shape: forward a narrow supernode's is one chain,
 * a wide one's sixteen, or two where it has no more than GSV_WARP_TILE_COLUMNS columns, which meet as a tree; backward eight
 * chains, or two times sixteen. So it depends on nothing else in the tree.
 *
 * Traffic: the panels once, lists and vectors. A level of the tree costs the hand-over of the vector through
 * L2 and the work on a piece, more forward than backward: there its terms are gathered first.
 */
#ifndef GSV_CUDA_STREAM_ONE_CUH
#define GSV_CUDA_STREAM_ONE_CUH

#include <type_traits>

#include "one_backward.cuh"
#include "one_published.cuh"

namespace gsv {

/* Forward: from = y, to = x, published = f. Backward: from = x, to = y, published = z, u = f. */
template <typename N, bool BACKWARD, bool SIDE>
__global__ void __launch_bounds__(STREAM_BLOCK, stream_room<N>::BLOCKS)
    stream_kernel(gsv_device_plan plan, gsv_device_pieces list, const vector_number<N> *from,
                  vector_number<N> *to, vector_number<N> *u, vector_number<N> *published,
                  gsv_stream_state *state) {
#if __CUDA_ARCH__ >= 900
    typedef vector_number<N> T;
    typedef stream_room<N> room;
    static_assert(room::BLOCKS * (room::BYTES + SHARED_OF_BLOCK) <= SHARED_OF_SM, "the blocks have room");
    if constexpr (SIDE) {
        from = of_group(from, plan.one_vector);
        to = of_group(to, plan.one_vector);
        u = of_group(u, plan.one_upper);
        published = of_group(published, plan.one_upper);
        state = of_group(state, 1);
    }
    extern __shared__ __align__(SHARED_LINE) int4 shared[];
    char *memory = shared_at<char>(kept_shared(shared));
    uint64_t *barriers = reinterpret_cast<uint64_t *>(memory + room::BARRIERS);
    ring slots = {memory, barriers, barriers + room::SLOTS, barriers + 2 * room::SLOTS, memory + room::STAGE};
    if (threadIdx.x == 0) {
        for (int k = 0; k < room::SLOTS; k++) {
            barrier_init(&slots.full[k], ARRIVALS);
            barrier_init(&slots.empty[k], STREAM_WARPS * ARRIVALS);
            barrier_init(&slots.begun[k], STREAM_WARPS * ARRIVALS);
        }
        publish_barriers();
    }
    __syncthreads(); /* the barriers are ready */
    if (threadIdx.x >= STREAM_THREADS) {
        produce<N, BACKWARD>(plan, list, state, slots);
        return;
    }
    stream_block<N> block = {plan, state, u, list.upper, memory, 0, 0, 0};
    T acc[4] = {make<T>(0), make<T>(0), make<T>(0), make<T>(0)};
    typename std::conditional<BACKWARD, front_rows<T>, forward_rows<N>>::type rows;
    auto header_of = [&](int n) -> const stream_header & {
        return *reinterpret_cast<const stream_header *>(memory + n % room::SLOTS * room::SLOT);
    };
    auto prepare = [&](const stream_header &header) {
        if constexpr (BACKWARD) {
            const backward_front<T> front(plan, header, from);
            rows.request(front.own, front.polled, published, front.rows, front.count, front.skip);
        } else {
            rows.prepare(block, header, from, published);
        }
    };
    wait_for_vectors();
    bool there = false, prepared = false; /* piece n is in its slot; its vector has been requested */
    for (int n = 0;; n++) {
        if (!there)
            barrier_wait(&slots.full[n % room::SLOTS], n / room::SLOTS & 1);
        const stream_header &header = header_of(n);
        const gsv_piece &p = header.piece;
        const int kind = p.kind, width = p.width, shared_by = p.groups;
        if (kind == GSV_NO_PIECE)
            break;
        if (!prepared)
            prepare(header);
        const bool in_public = !BACKWARD && is_published(p);
        bool waited = false;
        if constexpr (BACKWARD)
            waited = complete_backward<N>(block, header, rows, from, acc);
        else if (in_public)
            waited =
                complete_published<N>(block, header, rows, published, reinterpret_cast<row_sums<T> &>(acc));
        else
            waited = complete_forward<N>(block, p, rows, reinterpret_cast<T(&)[2]>(acc));
        arrive_warp(&slots.begun[n % room::SLOTS]);
        const bool calm = __all_sync(~0u, !waited);
        there = __all_sync(
            ~0u, calm && barrier_is_over(&slots.full[(n + 1) % room::SLOTS], (n + 1) / room::SLOTS & 1));
        prepared = there && header_of(n + 1).piece.kind != GSV_NO_PIECE;
        if (prepared)
            prepare(header_of(n + 1));
        if constexpr (!BACKWARD)
            if (calm && !prepared && in_public && reads_published(p) && !(p.flags & GSV_PIECE_LAST)) {
                prepared = true; /* whether it is there or not: the next piece is known from this one */
                rows.request_published(p, published, true);
            }
        uint64_t *empty = &slots.empty[n % room::SLOTS];
        if constexpr (BACKWARD) {
            if (kind == GSV_NARROW_PIECE)
                narrow_backward<N>(block, header, empty, to, published);
            else if (shared_by == 2)
                half_backward<N>(block, header, empty, to, published, u, acc);
            else if (width == 16)
                columns_backward<N, 16>(block, header, empty, to, published, acc);
            else
                columns_backward<N, 8>(block, header, empty, to, published, acc);
        } else {
            row_sums<T> &sums = reinterpret_cast<row_sums<T> &>(acc);
            if (kind == GSV_FRONT_PIECE)
                block.release(empty);
            else if (kind == GSV_NARROW_PIECE)
                narrow_forward<N>(block, header, empty, to, u, reinterpret_cast<T(&)[2]>(acc));
            else if (kind == GSV_TILES_PIECE)
                tiles_forward<N>(block, header, empty, to, u);
            else if (kind == GSV_SHARE_PIECE)
                share_forward<N>(block, header, empty, to, u, published, sums);
            else if (shared_by == 2)
                pair_forward<N>(block, header, empty, to, u);
            else
                row_forward<N>(block, header, empty, to, u, sums);
        }
    }
#endif
}

} // namespace gsv
#endif
