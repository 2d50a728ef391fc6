/*
 * Block rows of supernodes whose triangles are inverted in parts, for a block of right-hand sides
 * (cuda_block_stream.cuh).
 */
#ifndef GSV_CUDA_BLOCK_PARTS_CUH
#define GSV_CUDA_BLOCK_PARTS_CUH

#include "cuda_block_pieces.cuh"

namespace gsv {

/* rows_forward where the triangle is inverted in parts: its rows get what the parts before bring, and are published; the
 * front is read here, part by part. kept: the sums, from piece to piece. */
template <int NR>
__device__ __noinline__ void rows_forward_parts(double (*kept)[4], gsv_stream_state *state, unsigned thread,
                                                block_slot<NR> slot, uint64_t *empty, double *x, double *u,
                                                double *published) {
    constexpr int N = NR / 8;
    block_product<NR> block = {state, thread};
    double(&acc)[N][4] = block.acc;
    const gsv_piece &p = slot.piece();
    const int warp = block.warp(), g = block.g(), column = block.column();
    const int nr = p.nr, nc = p.nc, first = p.first, end = first + p.count, groups = p.groups;
    const int fold = groups / 2, splits = 4 >> fold, group = warp & (groups - 1), split = warp >> fold;
    const int block_row = p.place + group, top = GSV_TILE * block_row;
    const int live = top < nr ? gsv_block_row_columns(nc, block_row) : 0;
    const bool last = p.flags & GSV_PIECE_LAST;
    const int width = gsv_part_columns(nc, slot.header().parts), part = top / width;
    double *own_x = x + int64_t(p.first_column) * NR, *own_u = u + int64_t(p.update) * NR;
    double *f = published + int64_t(p.published) * NR;
    double *front = slot.front(slot.numbers(p, false));
    const block_runs runs(p);
    const double *tile = slot.panel() + GSV_TILE * group * runs.length;
    if (p.flags & GSV_PIECE_FIRST) {
        block.clear();
        if (split == 0)
            add_to_own<NR>(block, slot.own(front, p) + GSV_TILE * group * NR);
    } else {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                acc[n][k] = kept[n][k];
    }
    for (int from = first, to; from < end; from = to) {
        const int now = from / width, part_end = (now + 1) * width; /* this part */
        to = part_end < end ? part_end : end;
        const int count = to - from;
        const double *rows = f + int64_t(from) * NR;
        block_meets<MULTIPLIERS>(); /* nobody reads the front that was there */
        published_rows_reader<NR> reader;
        reader.request(rows, count);
        reader.finish(rows, from - first, count, runs, front, block.state);
        block_meets<MULTIPLIERS>(); /* the front is complete */
        const group_split my(groups, warp);
        const int begin = split * runs_of_split(runs, my);
        multiply_row<NR>(block, tile, front, runs, begin, min(begin + runs_of_split(runs, my), runs.length),
                         from - first, min(to, live) - first);
        if (to < part_end && !(last && to == end))
            continue;
        if (splits > 1)
            block.combine(front, groups);
        if (split > 0)
            continue;
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int i = top + 2 * g + m;
#pragma unroll
            for (int n = 0; n < N; n++) {
                const int c = 8 * n + column;
                if (i < nc && now == part - 1) {
                    publish_pair(f + int64_t(i) * NR + c, acc[n][2 * m], acc[n][2 * m + 1]);
                    acc[n][2 * m] = acc[n][2 * m + 1] = 0;
                } else if (i < nc && now == part) {
                    store_pair(&own_x[int64_t(i) * NR + c], acc[n][2 * m], acc[n][2 * m + 1]);
                } else if (i >= nc && i < nr && last && to == end) {
                    publish_pair(&own_u[int64_t(i - nc) * NR + c], acc[n][2 * m], acc[n][2 * m + 1]);
                }
            }
        }
    }
    arrive_warp(empty);
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            kept[n][k] = acc[n][k];
}

} // namespace gsv
#endif
