/*
 * The walk over the forward stream's block rows for a block of right-hand sides (test_stream.c): the fronts that a task
 * keeps in its two slots from some of its pieces to later ones, and the sums.
 */
#ifndef GSV_STREAM_BLOCK_WALK_H
#define GSV_STREAM_BLOCK_WALK_H

#include "stream_walk.h"

static int most_shares;         /* how many tasks of a block shared rows, */
static int block_together_seen; /* and how many groups of block rows a task had, at most */
static int kept_seen;           /* bits: how fronts were kept */
static int widest_folded;       /* columns of a front that its tasks assemble, at most */
enum { COPIED = 1, IN_PLACE = 2, OF_TWO = 4 };

/* Does the second of two pieces of a task begin with other block rows? */
static int follows(const gsv_piece *p, const gsv_piece *next) {
    return p->kind == GSV_BLOCK_PIECE && next->kind == GSV_BLOCK_PIECE && next->place != p->place;
}

static void clear_slots(walk *w) {
    for (int k = 0; k < 2; k++)
        w->slot[k].count = -1;
    w->together = 1;
}

/* Piece k of a task of block rows in its slot, and the next one, or NULL: what is in the front, or NULL if that is
 * published. A front stays where it is only if the next piece that comes there has as many numbers. */
static const uint64_t *slot_front(walk *w, const gsv_piece *p, int k, const gsv_piece *next) {
    kept_front *mine = &w->slot[k % 2], *other = &w->slot[(k + 1) % 2];
    const int published = p->flags & GSV_PIECE_PUBLISHED;
    const int copies = next && !(next->flags & GSV_PIECE_PUBLISHED) && next->a_rows == 0 && next->ago == 1;
    CHECK(!(p->flags & GSV_PIECE_KEPT) == !copies);
    if (next && follows(p, next)) {
        CHECK(next->place == p->place + p->groups && p->nc <= gsv_stream_fold(&w->plan->schedule->stream));
        CHECK(p->groups == GSV_GROUPS); /* splits would leave sums where the front is */
        w->together++;
        CHECK(w->together <= GSV_BLOCK_TOGETHER);
        block_together_seen = w->together > block_together_seen ? w->together : block_together_seen;
    }
    if (published) {
        mine->count = -1;
        return NULL;
    }
    if (p->a_rows > 0) {
        REQUIRE(p->count <= gsv_stream_fold(&w->plan->schedule->stream) && p->a_rows == p->count);
        widest_folded = p->nc > widest_folded ? p->nc : widest_folded;
        *mine = (kept_front){p->first_column, p->first, p->count, {0}};
        for (int32_t c = 0; c < p->count; c++)
            mine->front[c] = w->v->b[p->first_column + p->first + c] + gather(w, p, 0, c);
    } else {
        CHECK(p->ago == 1 || p->ago == 2);
        if (p->ago == 1)
            *mine = *other;
        kept_seen |= p->ago == 1 ? COPIED : p->count == p->nc ? IN_PLACE : OF_TWO;
    }
    CHECK(mine->first_column == p->first_column && mine->first == p->first && mine->count == p->count);
    return mine->front;
}

/* Which of the tasks is this that share rows for a block of right-hand sides? Their sums have a place of their own. */
static void check_share(walk *w, const gsv_piece *p, int first, int *share, int *shares) {
    *share = p->flags & GSV_PIECE_PUBLISHED ? p->share : 0;
    *shares = p->flags & GSV_PIECE_PUBLISHED ? p->shares : 1;
    CHECK(*share == w->share && *share < *shares && *shares <= GSV_BLOCK_SHARES);
    if (*shares > 1 && *share == 0 && first) {
        CHECK(p->numbers >= w->sums);
        w->sums = p->numbers + (int64_t)*shares * 16 * p->groups;
        CHECK(w->sums <= w->plan->schedule->stream.published);
        most_shares = *shares > most_shares ? *shares : most_shares;
    }
    if (p->flags & GSV_PIECE_LAST)
        w->share = *share + 1 == *shares ? 0 : *share + 1;
}

/* Columns of some block rows of a task; front: of its columns, if they are assembled; sum: one for each of the rows. */
static void block_forward(walk *w, const gsv_piece *p, int first, const uint64_t *front, uint64_t *sum) {
    const int32_t s = supernode_at(w->plan, p);
    CHECK(p->groups == 1 || p->groups == 2 || p->groups == 4);
    CHECK(p->panel == w->plan->schedule->panel_ptr[s] && p->place % p->groups == 0);
    CHECK(p->first % 8 == 0);
    CHECK(8 * ((p->count + 3) / 4 * 4 * p->groups * GSV_TILE + 2 +
               8 * ((p->count + 7) / 8 * 8 + GSV_TILE * p->groups)) <=
          GSV_BLOCK_FORWARD_ROOM);
    int share, shares;
    check_share(w, p, first, &share, &shares);
    const int folded = !(p->flags & GSV_PIECE_PUBLISHED), last = (p->flags & GSV_PIECE_LAST) != 0;
    const int32_t top = GSV_TILE * p->place, end = top + GSV_TILE * p->groups;
    CHECK((p->a_rows == 0 || folded) && folded == (p->nc <= gsv_stream_fold(&w->plan->schedule->stream)));
    CHECK(p->a_rows == 0 || (p->a_first == p->first && p->a_rows == p->count));
    CHECK((p->b_rows > 0) == (first && share == 0 && (folded || (end > p->nc && p->nr > p->nc))));
    CHECK(p->b_rows == 0 || p->b_first == (folded || top > p->nc ? top : p->nc));
    w->published += !folded;
    for (int32_t r = 0; r < end - top && top + r < p->nr; r++) {
        const int32_t i = top + r;
        if (first)
            sum[r] = p->b_rows > 0 && i >= p->nc ? gather(w, p, 1, i - p->b_first) : 0;
        for (int32_t c = p->first; c < p->first + p->count && c <= i; c++) {
            CHECK(folded || *front_done(w, p, c));
            sum[r] += w->v->panels[place(w->plan, s, i, c)] *
                      (folded ? front[c - p->first] : published_front(w, p, c));
        }
        if (last) {
            w->shared[r] = sum[r] + (share > 0 ? w->shared[r] : 0);
            if (share + 1 == shares)
                finish(w, p, i, w->shared[r]);
        }
    }
}

#endif
